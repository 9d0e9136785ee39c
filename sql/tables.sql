-- Tests everything that can be read like a table.
\set schema tables
\i sql/fixtures/prologue.sql

-- Five steps of a staircase; each meets the next one.
CREATE TABLE t (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO t SELECT i, i, i, i, i + 1, i + 1, i + 1, i, i + 1, i FROM generate_series(1, 5) i;
CREATE FUNCTION pairs(t regclass) RETURNS text LANGUAGE sql AS
	$$SELECT string_agg(id1 || '-' || id2, ' ' ORDER BY id1, id2) FROM redblue_triangle_self_pairs(t)$$;
SELECT pairs('t');

-- Views; only the necessary columns are computed.
CREATE VIEW v AS SELECT *, 1 / (id - id) AS never FROM t WHERE id < 4;
SELECT pairs('v');
CREATE VIEW u AS SELECT id + 10 AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM t UNION ALL TABLE t;
SELECT count(*) FROM redblue_triangle_self_pairs('u');
CREATE MATERIALIZED VIEW m AS TABLE t;
SELECT pairs('m');
CREATE MATERIALIZED VIEW unfilled AS TABLE t WITH NO DATA;
SELECT pairs('unfilled');
CREATE UNLOGGED TABLE unlogged AS TABLE t;
SELECT pairs('unlogged');
CREATE TEMP TABLE temporary AS TABLE t;
SELECT pairs('temporary');
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE f (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8) SERVER nowhere;
SELECT pairs('f');
CREATE TABLE "Odd ""name""" AS TABLE t;
SELECT pairs('"Odd ""name"""');
SELECT pairs('pg_am');

-- Partitions, with columns in another order, dropped and added
CREATE TABLE p (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE p1 (cz float8, junk text, cy float8, cx float8, bz float8, by float8, bx float8, az float8, ay float8, ax float8, id int);
ALTER TABLE p1 DROP junk;
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (3);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (3) TO (4);
CREATE TABLE p3 PARTITION OF p DEFAULT;
INSERT INTO p TABLE t;
SELECT pairs('p'), pairs('p1'), pairs('p2'), pairs('p3');

-- Inheritance: a table is read with its children.
CREATE TABLE parent AS SELECT * FROM t WHERE id < 3;
CREATE TABLE child (extra text) INHERITS (parent);
INSERT INTO child SELECT * FROM t WHERE id >= 3;
SELECT pairs('parent'), pairs('child');
SELECT string_agg(id1 || '-' || id2, ' ' ORDER BY id1) FROM redblue_triangle_self_pairs_query('SELECT * FROM ONLY parent');

-- Dropped columns before, between and after; added columns with and without a default
CREATE TABLE changed (before text, id int, ax float8, ay float8, between int, az float8, bx float8, by float8, bz float8, cx float8, cy float8, behind text);
INSERT INTO changed SELECT 'x', id, ax, ay, 1, az, bx, by, bz, cx, cy, 'y' FROM t WHERE id < 3;
ALTER TABLE changed DROP before, DROP between, DROP behind;
INSERT INTO changed SELECT id, ax, ay, az, bx, by, bz, cx, cy FROM t WHERE id = 3;
SELECT pairs('changed');
ALTER TABLE changed ADD cz float8 DEFAULT 2;
SELECT pairs('changed');
UPDATE changed SET cz = id;
SELECT pairs('changed');
INSERT INTO changed SELECT * FROM t WHERE id > 3;
SELECT pairs('changed');
ALTER TABLE changed ADD more text, ALTER ax TYPE numeric, ALTER by TYPE float4;
SELECT pairs('changed');
-- An added column without a value is NULL.
ALTER TABLE changed DROP cz, ADD cz float8;
SELECT pairs('changed');

-- Fixed-width columns first, a NULL in another column, columns of odd widths in between
CREATE TABLE widths (flag bool, small int2, ax float8, c "char", ay float8, az float8, u uuid, bx float8, by float8, d date, bz float8, cx float8, cy float8, n name, cz float8, id int2, tail int);
INSERT INTO widths SELECT true, 1, ax, 'c', ay, az, '00000000-0000-0000-0000-000000000000', bx, by, '2000-01-01', bz, cx, cy, 'n', cz, id, CASE WHEN id % 2 = 0 THEN 1 END FROM t;
SELECT pairs('widths');
UPDATE widths SET flag = NULL WHERE id = 2;
SELECT pairs('widths');

-- Generated columns
CREATE TABLE generated (id int, ax float8, ay float8 GENERATED ALWAYS AS (ax) STORED, az float8 GENERATED ALWAYS AS (ax) STORED, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO generated (id, ax, bx, by, bz, cx, cy, cz) SELECT id, ax, bx, by, bz, cx, cy, cz FROM t;
SELECT pairs('generated');

-- A materialized view on the function depends on its tables, and can be refreshed with any search_path.
CREATE MATERIALIZED VIEW clashes AS SELECT row_number() OVER ()::int AS qid, p.* FROM public.redblue_triangle_self_pairs('tables.t') p;
SELECT count(*) FROM clashes;
INSERT INTO t VALUES (6, 6, 6, 6, 7, 7, 7, 6, 7, 6);
SET search_path = pg_catalog;
REFRESH MATERIALIZED VIEW tables.clashes;
SET search_path = tables, public;
SELECT count(*) FROM clashes;
DROP TABLE t;
ALTER TABLE t RENAME TO renamed;
REFRESH MATERIALIZED VIEW clashes;
SELECT count(*) FROM clashes;

SET client_min_messages = warning;
DROP SCHEMA tables CASCADE;
DROP FOREIGN DATA WRAPPER nowhere CASCADE;
DROP TABLE temporary;
