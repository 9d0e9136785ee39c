-- Tests that bad input causes an error that names function, side, column and row, and has no other effect.
\set schema bad_input
\i sql/fixtures/prologue.sql
CREATE TABLE good (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO good VALUES (1, 0, 0, 0, 1, 0, 0, 0, 1, 0);
SELECT pg_backend_pid() AS pid \gset

\i sql/fixtures/fault.sql
\pset format unaligned
\pset tuples_only on

-- NULL and empty arguments
SELECT * FROM fault($$redblue_triangle_pairs(NULL, 'good')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', NULL)$$);
SELECT * FROM fault($$redblue_triangle_pairs(NULL, NULL)$$);
SELECT * FROM fault($$redblue_triangle_self_pairs(NULL)$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'good', red_id => '')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'good', blue_geom => '')$$);
SELECT * FROM fault($$redblue_triangle_self_pairs('good', mesh_id => '')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'good', red_id => NULL)$$);

-- Names that are not tables
SELECT * FROM fault($$redblue_triangle_pairs('nowhere', 'good')$$);
SELECT * FROM fault($$redblue_triangle_pairs(0, 'good')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 4294967295)$$);
CREATE INDEX good_id ON good (id);
CREATE SEQUENCE counter;
CREATE TYPE composite AS (id int);
SELECT * FROM fault($$redblue_triangle_pairs('good_id', 'good')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'counter')$$);
SELECT * FROM fault($$redblue_triangle_self_pairs('composite')$$);

-- Missing columns
CREATE TABLE no_id (gid int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
CREATE TABLE no_cz (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8);
CREATE TABLE nothing ();
CREATE TABLE only_id (id int);
SELECT * FROM fault($$redblue_triangle_pairs('no_id', 'good')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'no_cz')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'nothing')$$);
SELECT * FROM fault($$redblue_triangle_self_pairs('only_id')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'good', red_id => 'gid')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'good', blue_geom => 'the_geom')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'good', blue_geom => 'ax')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT id, ax FROM good', 'TABLE good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT FROM good', 'TABLE good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('TABLE no_id', 'TABLE good')$$);
-- A name in upper case is a different name.
SELECT * FROM fault($$redblue_triangle_pairs('good', 'good', red_id => 'ID')$$);

-- Ambiguous columns
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT a.*, b.id FROM good a, good b', 'TABLE good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('TABLE good', 'SELECT *, ax + 1 AS ax FROM good')$$);

-- Columns of a wrong type
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT id::text, ax, ay, az, bx, by, bz, cx, cy, cz FROM good', 'TABLE good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT id::numeric, ax, ay, az, bx, by, bz, cx, cy, cz FROM good', 'TABLE good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT id, ax::text, ay, az, bx, by, bz, cx, cy, cz FROM good', 'TABLE good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT id, ax, ay, az, bx, by, bz, cx, cy, ARRAY[cz] AS cz FROM good', 'TABLE good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('TABLE good', 'SELECT id, ''POINT(0 0)''::text AS geom FROM good')$$);

-- Values: NULL, NaN, infinity
CREATE TABLE bad (LIKE good);
INSERT INTO bad TABLE good;
INSERT INTO bad VALUES (NULL, 0, 0, 0, 1, 0, 0, 0, 1, 0);
SELECT * FROM fault($$redblue_triangle_pairs('bad', 'good')$$);
SELECT * FROM fault($$redblue_triangle_pairs('good', 'bad')$$);
SELECT * FROM fault($$redblue_triangle_self_pairs('bad')$$);
UPDATE bad SET id = 77, by = NULL WHERE id IS NULL;
SELECT * FROM fault($$redblue_triangle_pairs('bad', 'good')$$);
UPDATE bad SET by = 'NaN' WHERE id = 77;
SELECT * FROM fault($$redblue_triangle_pairs('bad', 'good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('TABLE good', 'SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM bad WHERE id > 1')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT id, cz, cy, cx, bz, by::float4, bx, az, ay, ax FROM bad', 'TABLE good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT id, cz, cy, cx, bz, by::numeric, bx, az, ay, ax FROM bad', 'TABLE good')$$);
UPDATE bad SET by = 0, cz = 'Infinity' WHERE id = 77;
SELECT * FROM fault($$redblue_triangle_pairs('good', 'bad')$$);
UPDATE bad SET cz = '-Infinity', ax = 'NaN' WHERE id = 77;
SELECT * FROM fault($$redblue_triangle_self_pairs('bad')$$);
-- The largest finite value is valid. A numeric beyond it causes PostgreSQL's own error.
UPDATE bad SET cz = 1.7976931348623157e308, ax = -1.7976931348623157e308 WHERE id = 77;
SELECT * FROM fault($$redblue_triangle_pairs('bad', 'good')$$);
SELECT * FROM fault($$redblue_triangle_pairs_query('SELECT id, ax, ay, az, bx, by, bz, cx, cy, 1e400::numeric AS cz FROM good', 'TABLE good')$$);

-- Invalid settings; not every server prints a range with its unit.
CREATE FUNCTION range_fault(setting text, value text) RETURNS text LANGUAGE sql AS $$
	SELECT regexp_replace(text, '(?<=\d) kB(?= \.\.|\))', '', 'g') FROM fault(format('set_config(%L, %L, false)', setting, value)) $$;
SELECT range_fault('redblue.memory_limit', '-1');
SELECT range_fault('redblue.memory_limit', '0');
SELECT range_fault('redblue.memory_limit', '1kB');
SELECT range_fault('redblue.gpu_memory_limit', '-1');
SELECT range_fault('redblue.gpu_devices', '0,two');
SELECT range_fault('redblue.gpu_devices', '99');
\pset tuples_only off
SET redblue.grid_resolution = -1;
SET redblue.grid_resolution = 1000000000;
SET redblue.grid_resolution = 'fine';
SET redblue.threads = -1;
SET redblue.threads = 100000;
SET redblue.memory_limit = '1000000TB';
SET redblue.backend = 'abacus';
SET redblue.grid_resolution = 0;
SET redblue.memory_limit = '2047GB';
SELECT count(*) FROM redblue_triangle_pairs('good', 'good');
RESET redblue.memory_limit;

-- Too little memory: the error states the required amount and the limit.
\pset tuples_only on
SET redblue.memory_limit = '1MB';
CREATE TABLE many AS SELECT i AS id, i AS ax, 0 AS ay, 0 AS az, i AS bx, 1 AS by, 0 AS bz, i AS cx, 0 AS cy, 1 AS cz FROM generate_series(1, 10000) i;
SELECT what, regexp_replace(text, '\d+ [kM]B', 'N kB', 'g') FROM fault($$redblue_triangle_self_pairs('many')$$);
RESET redblue.memory_limit;
SELECT * FROM fault($$redblue_triangle_self_pairs('many')$$);

-- Output of psql; an error only rolls back its own statement.
BEGIN;
INSERT INTO good SELECT 2, ax, ay, az, bx, by, bz, cx, cy, cz FROM good;
SAVEPOINT s;
SELECT * FROM redblue_triangle_pairs('good', 'no_cz');
ROLLBACK TO s;
SELECT * FROM redblue_triangle_pairs('good', 'bad') LIMIT 0;
UPDATE bad SET ax = 'NaN';
SELECT * FROM redblue_triangle_pairs('good', 'bad');
ROLLBACK TO s;
SELECT count(*) FROM redblue_triangle_self_pairs('good');
ROLLBACK;
SELECT count(*) FROM redblue_triangle_self_pairs('good');
SELECT pg_backend_pid() = :pid AS same_session;
-- After a failed join, the statistics are still those of the last successful one.
SELECT split_part(detail, ', workers', 1) AS detail FROM redblue_last_run() WHERE stage = 'read';

\pset format aligned
\pset tuples_only off
SET client_min_messages = warning;
DROP SCHEMA bad_input CASCADE;
