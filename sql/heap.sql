-- Tests that plain tables, which are read without the executor, give the rows that SELECT sees.
\set schema heap
\i sql/fixtures/prologue.sql
-- Rows that were updated and inserted again share an id on purpose.
SET redblue.duplicate_notice = off;
CREATE FUNCTION triangles(n int) RETURNS TABLE (id bigint, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8)
LANGUAGE sql IMMUTABLE AS $$
	SELECT i, x, y, z, x + i % 3, y + i % 4, z + i % 2, x - i % 5, y + i % 3, z + i % 7
	FROM (SELECT i, (i * 7919 % 31)::float8 AS x, (i * 104729 % 29)::float8 AS y, (i * 1299709 % 23)::float8 AS z FROM generate_series(1, n::int8) i) s $$;
CREATE TABLE plain AS SELECT * FROM triangles(600);

-- Compares a table with itself, read directly, with its rows from a query: number of pairs, and whether they are equal
CREATE FUNCTION compare(t text) RETURNS TABLE (pairs bigint, same boolean) LANGUAGE sql AS $$
	WITH direct AS MATERIALIZED (SELECT * FROM redblue_triangle_pairs(t::regclass, 'plain')),
	query AS MATERIALIZED (SELECT * FROM redblue_triangle_pairs_query('TABLE ' || t, 'TABLE plain'))
	SELECT (SELECT count(*) FROM direct), (SELECT count(*) FROM direct) = (SELECT count(*) FROM query)
		AND NOT EXISTS (SELECT * FROM direct EXCEPT ALL SELECT * FROM query) $$;
SELECT * FROM compare('plain');

-- Other columns before, between and after; other orders and types; NULLs in other columns
CREATE TABLE around AS SELECT 'x'::text AS before, ax, ay, az, NULL::int AS nothing, id, bx, by, bz, cx, now() AS at, cy, cz, repeat('long', 1000) AS after FROM plain;
SELECT * FROM compare('around');
CREATE TABLE fixed AS SELECT true AS flag, id::smallint, cz, cy, cx, bz, by, bx, az, ay, ax, 1::"char" AS c FROM plain;
SELECT * FROM compare('fixed');
CREATE TABLE types AS SELECT id::int, ax::float4, ay::int, az::numeric, bx::int8, by::int2, bz, cx, cy, cz FROM plain;
SELECT * FROM compare('types');
CREATE DOMAIN coordinate AS float8 CHECK (VALUE < 1e6);
CREATE TABLE domains AS SELECT id, ax::coordinate, ay::coordinate, az, bx, by, bz, cx, cy, cz FROM plain;
SELECT * FROM compare('domains');
-- NULLs in another column of some rows
CREATE TABLE some_nulls AS SELECT *, CASE WHEN id % 3 = 0 THEN 1 END AS note FROM plain;
SELECT * FROM compare('some_nulls');

-- Columns dropped and added; rows from before and after
CREATE TABLE changed (junk text, id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8);
INSERT INTO changed SELECT 'x', id, ax, ay, az, bx, by, bz, cx, cy FROM plain WHERE id <= 300;
ALTER TABLE changed DROP COLUMN junk;
INSERT INTO changed SELECT id, ax, ay, az, bx, by, bz, cx, cy FROM plain WHERE id BETWEEN 301 AND 400;
ALTER TABLE changed ADD COLUMN cz float8 DEFAULT 3.5;
INSERT INTO changed SELECT * FROM plain WHERE id > 400;
ALTER TABLE changed ADD COLUMN later int;
SELECT * FROM compare('changed');
ALTER TABLE changed DROP COLUMN ax;
ALTER TABLE changed ADD COLUMN ax float8 DEFAULT 2;
SELECT * FROM compare('changed');
ALTER TABLE changed ADD COLUMN x int, ALTER COLUMN id TYPE bigint;
SELECT * FROM compare('changed');

-- Rows changed and deleted, by others and by this transaction; old and new page states
CREATE TABLE moved AS SELECT * FROM plain;
DELETE FROM moved WHERE id % 4 = 0;
SELECT * FROM compare('moved');
UPDATE moved SET ax = ax + 1 WHERE id % 4 = 1;
SELECT * FROM compare('moved');
VACUUM moved;
SELECT * FROM compare('moved');
BEGIN;
UPDATE moved SET bx = bx + 1 WHERE id % 2 = 1;
INSERT INTO moved SELECT * FROM plain WHERE id < 100;
SELECT * FROM compare('moved');
SAVEPOINT s;
DELETE FROM moved WHERE id < 300;
SELECT * FROM compare('moved');
ROLLBACK TO s;
SELECT * FROM compare('moved');
DECLARE c CURSOR FOR SELECT count(*) FROM redblue_triangle_pairs('moved', 'plain');
DELETE FROM moved;
SELECT * FROM compare('moved');
-- The cursor's snapshot is older.
FETCH c;
ROLLBACK;
SELECT * FROM compare('moved');
TRUNCATE moved;
SELECT * FROM compare('moved');

-- Kinds of tables
CREATE UNLOGGED TABLE unlogged AS TABLE plain;
SELECT * FROM compare('unlogged');
CREATE TEMPORARY TABLE temporary AS TABLE plain;
SELECT * FROM compare('temporary');
CREATE MATERIALIZED VIEW kept AS TABLE plain;
SELECT * FROM compare('kept');
-- A table with a rule is read without the executor, too: the context of an error has no SQL statement.
CREATE MATERIALIZED VIEW kept_bad AS SELECT id, CASE WHEN id = 300 THEN 'NaN' ELSE ax END AS ax, ay, az, bx, by, bz, cx, cy, cz FROM plain;
SELECT count(*) FROM redblue_triangle_pairs('kept_bad', 'plain');
REFRESH MATERIALIZED VIEW kept WITH NO DATA;
SELECT count(*) FROM redblue_triangle_pairs('kept', 'plain');
CREATE VIEW view AS SELECT * FROM plain WHERE id > 100;
SELECT * FROM compare('view');
CREATE TABLE parent AS SELECT * FROM plain WHERE id <= 300;
CREATE TABLE child () INHERITS (parent);
INSERT INTO child SELECT * FROM plain WHERE id > 300;
SELECT * FROM compare('parent');
CREATE TABLE parted (LIKE plain) PARTITION BY HASH (id);
CREATE TABLE part0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted TABLE plain;
SELECT * FROM compare('parted');
SELECT * FROM compare('part0');

-- Many pages, and rows that are too long for one page
CREATE TABLE many AS SELECT t.*, repeat('x', 200) AS filler FROM triangles(20000) t;
SELECT * FROM compare('many');
ALTER TABLE many ALTER COLUMN filler SET STORAGE external;
UPDATE many SET filler = repeat('y', 5000) WHERE id % 50 = 0;
SELECT * FROM compare('many');

-- Privileges
CREATE ROLE regress_redblue_heap;
GRANT USAGE ON SCHEMA heap TO regress_redblue_heap;
GRANT SELECT ON plain TO regress_redblue_heap;
CREATE TABLE guarded AS TABLE plain;
GRANT SELECT ON guarded TO regress_redblue_heap;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON guarded USING (id % 2 = 0);
CREATE TABLE columns AS SELECT *, 'secret'::text AS secret FROM plain;
GRANT SELECT (id, ax, ay, az, bx, by, bz, cx, cy, cz) ON columns TO regress_redblue_heap;
CREATE TABLE hidden AS TABLE plain;
SELECT count(*) FROM redblue_triangle_pairs('guarded', 'plain');
SET ROLE regress_redblue_heap;
SELECT count(*), bool_and(red_id % 2 = 0) AS even FROM redblue_triangle_pairs('guarded', 'plain');
SELECT count(*) FROM redblue_triangle_pairs('columns', 'plain');
SELECT count(*) FROM redblue_triangle_pairs('hidden', 'plain');
SET row_security = off;
SELECT count(*) FROM redblue_triangle_pairs('guarded', 'plain');
RESET row_security;
RESET ROLE;
REVOKE ALL ON plain, guarded, columns FROM regress_redblue_heap;
REVOKE ALL (id, ax, ay, az, bx, by, bz, cx, cy, cz) ON columns FROM regress_redblue_heap;
REVOKE ALL ON SCHEMA heap FROM regress_redblue_heap;
DROP ROLE regress_redblue_heap;

-- Isolation levels
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM compare('plain');
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT * FROM compare('plain');
COMMIT;

SET client_min_messages = warning;
DROP SCHEMA heap CASCADE;
