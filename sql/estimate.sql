-- Tests the planner's estimates of numbers of rows: from a few rows of plain tables, within a factor of ten; of other
-- sources, from their size. An estimate causes no error, and leaves no lock.
\set schema estimate
\i sql/fixtures/prologue.sql
-- Plans are printed and must not depend on how the tests are run.
SET redblue.custom_scan = on;
SET redblue.backend = auto;
\i sql/fixtures/estimates.sql

-- Two surfaces of triangles
CREATE FUNCTION height(shape int, u float8, v float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
	'SELECT CASE shape WHEN 1 THEN 0.1 * sin(9 * u) * cos(7 * v) ELSE 0.13 * cos(8 * u + 3 * v) END';
CREATE FUNCTION surface(shape int, n int) RETURNS TABLE (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8) LANGUAGE sql AS $$
	SELECT (i * n + j) * 2 + half, a.x, a.y, height(shape, a.x, a.y), b.x, b.y, height(shape, b.x, b.y), c.x, c.y, height(shape, c.x, c.y)
	FROM generate_series(0, n - 1) i, generate_series(0, n - 1) j, generate_series(0, 1) half,
		LATERAL (SELECT (i + half)::float8 / n AS x, (j + half)::float8 / n AS y) a,
		LATERAL (SELECT (i + 1)::float8 / n AS x, j::float8 / n AS y) b,
		LATERAL (SELECT i::float8 / n AS x, (j + 1)::float8 / n AS y) c $$;
CREATE TABLE red AS SELECT * FROM surface(1, 120);
CREATE TABLE blue AS SELECT * FROM surface(2, 60);
CREATE TABLE away AS SELECT id, ax + 9 AS ax, ay, az, bx + 9 AS bx, by, bz, cx + 9 AS cx, cy, cz FROM red;
SELECT * FROM compare($$redblue_triangle_pairs('red', 'blue')$$);
SELECT * FROM compare($$redblue_triangle_pairs('blue', 'red')$$);
SELECT * FROM compare($$redblue_triangle_pairs('red', 'red')$$);
SELECT * FROM compare($$redblue_triangle_self_pairs('red')$$);
SELECT expected($$redblue_triangle_pairs('red', 'away')$$);
-- The estimate is the same when repeated, with statistics and without.
CREATE TABLE before AS SELECT expected($$redblue_triangle_pairs('red', 'blue')$$) AS n;
ANALYZE;
SELECT n = expected($$redblue_triangle_pairs('red', 'blue')$$) AS same FROM before;
-- Rows in another order
CREATE TABLE mixed AS SELECT * FROM red ORDER BY id::bigint * 7919 % 28793;
SELECT * FROM compare($$redblue_triangle_pairs('mixed', 'blue')$$);
SELECT * FROM compare($$redblue_triangle_self_pairs('mixed')$$);

-- Segments and boxes, in space and in the plane, with other numeric types
CREATE TABLE holes AS SELECT id, 'x' AS gone, ax, ay::numeric AS ay, -1::real AS az, (ax + 0.001)::real AS bx, ay AS by FROM blue;
ALTER TABLE holes DROP COLUMN gone;
ALTER TABLE holes ADD COLUMN bz int DEFAULT 1;
SELECT * FROM compare($$redblue_segment_triangle_pairs('holes', 'red')$$);
CREATE TABLE lines AS SELECT i AS id, (i % 97)::float8 AS ax, i * 7919 % 1009 AS ay, (i % 97 + 20)::numeric AS bx, (i * 7919 % 1009 + i % 31)::real AS by FROM generate_series(1, 20000) i;
SELECT * FROM compare($$redblue_segment_pairs('lines', 'lines')$$);
SELECT * FROM compare($$redblue_segment_self_pairs('lines')$$);
CREATE TABLE boxes AS SELECT i AS id, x AS lx, y AS ly, z AS lz, x + 40 AS hx, y + 30 AS hy, z + 50 AS hz
	FROM generate_series(1, 20000) i, LATERAL (SELECT hashint4(i) & 1023 AS x, hashint4(i + 100000) & 1023 AS y, hashint4(i + 200000) & 1023 AS z) p;
CREATE TABLE flat AS SELECT id, lx, ly, hx, hy FROM boxes WHERE id % 3 = 0;
CREATE MATERIALIZED VIEW kept AS SELECT * FROM boxes WHERE id % 4 = 0;
SELECT * FROM compare($$redblue_box_self_pairs('boxes')$$);
SELECT * FROM compare($$redblue_box_pairs('boxes', 'kept')$$);
SELECT * FROM compare($$redblue_box_pairs('flat', 'flat')$$);
SELECT * FROM compare($$redblue_box_self_pairs('flat')$$);
-- Small tables are counted.
CREATE TABLE few AS SELECT * FROM boxes WHERE id <= 300;
INSERT INTO few SELECT id + 1000, lx + 1, ly + 1, lz + 1, hx, hy, hz FROM few;
SELECT expected($$redblue_box_self_pairs('few')$$) AS expected, count(*) FROM redblue_box_self_pairs('few');
SELECT expected($$redblue_box_pairs('few', 'few')$$) AS expected, count(*) FROM redblue_box_pairs('few', 'few');
-- Deleted and inserted rows are seen as the statement will see them.
BEGIN;
DELETE FROM few WHERE id > 1000;
SELECT expected($$redblue_box_self_pairs('few')$$) AS expected, count(*) FROM redblue_box_self_pairs('few');
ROLLBACK;
SELECT expected($$redblue_box_self_pairs('few')$$);

-- Rows that the join rejects or skips
CREATE TABLE odd AS TABLE boxes;
UPDATE odd SET lx = NULL WHERE id % 5 = 0;
ALTER TABLE odd ALTER COLUMN hx TYPE float8;
UPDATE odd SET hx = 'NaN' WHERE id % 5 = 1;
UPDATE odd SET hx = lx - 1 WHERE id % 5 = 2;
SELECT expected($$redblue_box_self_pairs('odd')$$) BETWEEN n / 20 AND n / 2 AS fewer FROM expected($$redblue_box_self_pairs('boxes')$$) n;
CREATE TABLE large (id int, lx numeric, ly numeric, hx numeric, hy numeric);
INSERT INTO large VALUES (1, 1e300, '1e400', 1e1000, '2e400'), (2, 0, 0, 1, 1);
SELECT expected($$redblue_box_self_pairs('large')$$);

-- Where rows are not read, the estimate is a guess from the size, without an error.
CREATE VIEW seen AS TABLE boxes;
CREATE TABLE guarded AS TABLE boxes;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE TABLE parts (LIKE boxes) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parts DEFAULT;
INSERT INTO parts TABLE boxes;
CREATE TABLE parent (LIKE boxes);
CREATE TABLE child () INHERITS (parent);
INSERT INTO child TABLE boxes;
CREATE MATERIALIZED VIEW without AS TABLE boxes WITH NO DATA;
CREATE TABLE anything (id int, name text);
INSERT INTO anything SELECT i, 'x' FROM generate_series(1, 3000) i;
CREATE TABLE empty (LIKE boxes);
ANALYZE;
SELECT pairs, expected(format('redblue_box_pairs(%s)', pairs)) FROM (VALUES ($$'seen', 'few'$$), ($$'guarded', 'boxes'$$), ($$'parts', 'boxes'$$), ($$'parent', 'boxes'$$),
	($$'without', 'boxes'$$), ($$'anything', 'boxes'$$), ($$'boxes', 'pg_class_oid_index'$$), ($$4000000000, 'few'$$), ($$NULL, 'few'$$), ($$'few', 'few', red_geom => 'hz'$$),
	($$'few', 'few', blue_geom => 'nothing'$$), ($$(SELECT 'few'::regclass), 'few'$$), ($$'few', 'few', red_id => 'nothing'$$), ($$'few', 'few', red_id => 'hx'$$), ($$'boxes', 'flat'$$)) v (pairs);
SELECT expected($$redblue_box_pairs_query('TABLE few', 'TABLE few')$$);
-- An empty table may have rows when the plan is executed; the estimate is as for a SELECT.
SELECT expected($$redblue_box_pairs('empty', 'few')$$) > 0 AS some, expected('empty') > 0 AS some;
TRUNCATE few;
SELECT expected($$redblue_box_self_pairs('few')$$) > 0 AS some, (SELECT count(*) FROM redblue_box_self_pairs('few'));

-- Without privileges
CREATE ROLE regress_redblue_estimate;
GRANT USAGE ON SCHEMA estimate TO regress_redblue_estimate;
GRANT SELECT ON red TO regress_redblue_estimate;
GRANT SELECT (id, lx, ly, lz, hx, hy, hz) ON boxes TO regress_redblue_estimate;
SET ROLE regress_redblue_estimate;
SELECT expected($$redblue_triangle_pairs('red', 'blue')$$), expected($$redblue_box_self_pairs('boxes')$$), expected($$redblue_triangle_self_pairs('red')$$) > 100000 AS looked;
RESET ROLE;

-- Estimates in every context: prepared, in a function, in a cursor, with an old snapshot
PREPARE p AS SELECT * FROM redblue_triangle_pairs('red', 'blue');
EXPLAIN (COSTS OFF) EXECUTE p;
PREPARE q (regclass) AS SELECT * FROM redblue_triangle_pairs($1, 'blue');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE q ('red');
RESET plan_cache_mode;
CREATE FUNCTION inlined() RETURNS SETOF bigint LANGUAGE sql STABLE AS $$ SELECT red_id FROM estimate.blue JOIN redblue_triangle_pairs('estimate.red', 'estimate.blue') ON blue_id = id $$;
SELECT count(*) > 0 AS some FROM inlined();
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT expected($$redblue_triangle_pairs('red', 'blue')$$) = n AS same FROM before;
SAVEPOINT s;
SELECT 1 / 0 FROM redblue_triangle_pairs('red', 'blue');
ROLLBACK TO s;
SELECT expected($$redblue_triangle_pairs('red', 'blue')$$) = n AS same FROM before;
-- Neither locks nor memory remain.
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('red'::regclass, 'blue'::regclass);
SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'redblue%';
COMMIT;

-- Numbers of a hundred thousand digits do not take long.
CREATE TABLE long AS SELECT i AS id, n AS ax, n AS ay, n AS az, n AS bx, n AS by, n AS bz, n AS cx, n AS cy, n AS cz FROM generate_series(1, 4000) i, (VALUES (1e131000)) v (n);
SET statement_timeout = '2min';
SELECT expected($$redblue_triangle_self_pairs('long')$$);
RESET statement_timeout;

-- A table that is being rewritten is not read, because its rows do not match its columns yet.
CREATE TABLE rewritten AS SELECT * FROM red LIMIT 100;
CREATE FUNCTION expecting(x float8) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
	PERFORM estimate.expected('redblue_triangle_pairs(''estimate.rewritten'', ''estimate.blue'')');
	RETURN x;
END $$;
ALTER TABLE rewritten ALTER ax TYPE numeric USING expecting(ax);
SELECT count(*) FROM rewritten WHERE ax IS NOT NULL;

SET client_min_messages = warning;
DROP SCHEMA estimate CASCADE;
DROP ROLE regress_redblue_estimate;
