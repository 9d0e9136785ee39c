-- Tests that settings do not change results.
\set schema settings
\i sql/fixtures/prologue.sql

-- Small integers: a third of the pairs touch or are coplanar.
CREATE TABLE red AS
SELECT i AS id, x AS ax, y AS ay, z AS az, x + i % 3 AS bx, y + i % 4 AS by, z + i % 2 AS bz, x - i % 5 AS cx, y + i % 3 AS cy, z + i % 7 AS cz
FROM (SELECT i, (i * 7919 % 31)::float8 AS x, (i * 104729 % 29)::float8 AS y, (i * 1299709 % 23)::float8 AS z FROM generate_series(1, 3000::int8) i) s;
CREATE TABLE blue AS
SELECT i AS id, x AS ax, y AS ay, z AS az, x + i % 4 AS bx, y - i % 3 AS by, z + i % 5 AS bz, x AS cx, y + i % 2 AS cy, z - i % 3 AS cz
FROM (SELECT i, (i * 15485863 % 31)::float8 AS x, (i * 32452843 % 29)::float8 AS y, (i * 49979687 % 23)::float8 AS z FROM generate_series(1, 3000::int8) i) s;
ANALYZE;

-- Number and checksum of the pairs
CREATE FUNCTION answer(red text, blue text) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || coalesce(sum((red_id * 1000003 + blue_id * 7919 + 12345) % 2147483647), 0) FROM redblue_triangle_pairs_query(red, blue) $$;
CREATE FUNCTION self_answer(mesh text) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || coalesce(sum((least(id1, id2) * 1000003 + greatest(id1, id2) * 7919 + 12345) % 2147483647), 0) FROM redblue_triangle_self_pairs_query(mesh) $$;
SELECT answer('TABLE red', 'TABLE blue') AS pairs, self_answer('TABLE red') AS self \gset
SELECT :'pairs' AS pairs, :'self' AS self;
-- The self join, compared with the join with itself
SELECT count(*) = split_part(:'self', ' ', 1)::int AS same FROM redblue_triangle_pairs('red', 'red') WHERE red_id < blue_id;

-- Each setting
CREATE FUNCTION under(setting text, value text, red text, blue text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before text := current_setting(setting);
	result text;
BEGIN
	PERFORM set_config(setting, value, false);
	result := answer(red, blue) || ' ' || self_answer(red);
	PERFORM set_config(setting, before, false);
	RETURN result;
END $$;
SELECT setting, value, under(setting, value, 'TABLE red', 'TABLE blue') = :'pairs' || ' ' || :'self' AS same
FROM (VALUES ('redblue.threads', '1'), ('redblue.threads', '2'), ('redblue.threads', '7'),
	('redblue.grid_resolution', '1'), ('redblue.grid_resolution', '2'), ('redblue.grid_resolution', '3'), ('redblue.grid_resolution', '10'),
	('redblue.grid_resolution', '50'),
	('redblue.memory_limit', '64MB'), ('redblue.memory_limit', '1TB'), ('redblue.backend', 'cpu'), ('redblue.backend', 'auto'),
	('work_mem', '64kB'), ('redblue.gpu_memory_limit', '64MB'), ('redblue.gpu_devices', '0')) v (setting, value);
-- The finest grid, with few rows
SELECT under('redblue.grid_resolution', '1024', 'SELECT * FROM red LIMIT 50', 'SELECT * FROM blue LIMIT 50')
	= answer('SELECT * FROM red LIMIT 50', 'SELECT * FROM blue LIMIT 50') || ' ' || self_answer('SELECT * FROM red LIMIT 50') AS same;
SET redblue.threads = 7;
SELECT under('redblue.grid_resolution', '5', 'TABLE red', 'TABLE blue') = :'pairs' || ' ' || :'self' AS same;
SELECT device LIKE '7 threads%' OR backend = 'cuda' AS seven FROM redblue_last_run() LIMIT 1;
RESET redblue.threads;

-- Sides swapped, corners permuted, axes rotated, mirrored, scaled by powers of two, rows in another order
SELECT count(*) || ' ' || sum((blue_id * 1000003 + red_id * 7919 + 12345) % 2147483647) = :'pairs' AS same FROM redblue_triangle_pairs('blue', 'red');
SELECT what, answer(format('SELECT id, %s FROM red', r), format('SELECT id, %s FROM blue', b)) = :'pairs' AS same
FROM (VALUES
	('b c a', 'bx AS ax, by AS ay, bz AS az, cx AS bx, cy AS by, cz AS bz, ax AS cx, ay AS cy, az AS cz', 'ax, ay, az, bx, by, bz, cx, cy, cz'),
	('c a b', 'cx AS ax, cy AS ay, cz AS az, ax AS bx, ay AS by, az AS bz, bx AS cx, by AS cy, bz AS cz', 'ax, ay, az, bx, by, bz, cx, cy, cz'),
	('b a c', 'bx AS ax, by AS ay, bz AS az, ax AS bx, ay AS by, az AS bz, cx, cy, cz', 'ax, ay, az, bx, by, bz, cx, cy, cz'),
	('a c b', 'ax, ay, az, cx AS bx, cy AS by, cz AS bz, bx AS cx, by AS cy, bz AS cz', 'bx AS ax, by AS ay, bz AS az, ax AS bx, ay AS by, az AS bz, cx, cy, cz'),
	('y z x', 'ay AS ax, az AS ay, ax AS az, by AS bx, bz AS by, bx AS bz, cy AS cx, cz AS cy, cx AS cz', 'ay AS ax, az AS ay, ax AS az, by AS bx, bz AS by, bx AS bz, cy AS cx, cz AS cy, cx AS cz'),
	('-x y z', '-ax AS ax, ay, az, -bx AS bx, by, bz, -cx AS cx, cy, cz', '-ax AS ax, ay, az, -bx AS bx, by, bz, -cx AS cx, cy, cz'),
	('+2^40', 'ax + 1099511627776 AS ax, ay, az, bx + 1099511627776 AS bx, by, bz, cx + 1099511627776 AS cx, cy, cz', 'ax + 1099511627776 AS ax, ay, az, bx + 1099511627776 AS bx, by, bz, cx + 1099511627776 AS cx, cy, cz')) v (what, r, b);
SELECT k, answer(format('SELECT id, %s FROM red', list), format('SELECT id, %s FROM blue', list)) = :'pairs' AS same
FROM unnest(ARRAY[-1074, -1000, -500, -60, -1, 1, 60, 500, 1000]) k,
	LATERAL (SELECT string_agg(format('%s * %L::float8 AS %s', c, 2::float8 ^ greatest(k, -1000), c), ', ') FROM unnest('{ax,ay,az,bx,by,bz,cx,cy,cz}'::text[]) c) l (list) WHERE k > -1074
UNION ALL
SELECT -1074, answer(format('SELECT id, %s FROM red', list), format('SELECT id, %s FROM blue', list)) = :'pairs'
FROM (SELECT string_agg(format('%s * 5e-324::float8 AS %s', c, c), ', ') FROM unnest('{ax,ay,az,bx,by,bz,cx,cy,cz}'::text[]) c) l (list);
SELECT answer('SELECT * FROM red ORDER BY cz, id', 'SELECT * FROM blue ORDER BY id DESC') = :'pairs' AS same,
	self_answer('SELECT * FROM red ORDER BY ay, id DESC') = :'self' AS self_same;

-- A backend that is missing: an error for cuda; auto uses the other one.
SELECT cuda FROM redblue_info() \gset
SET redblue.backend = cuda;
\if :cuda
SELECT answer('TABLE red', 'TABLE blue') = :'pairs' AS same \gset
\else
DO $$
DECLARE
	advice text;
BEGIN
	PERFORM * FROM redblue_triangle_pairs('settings.red', 'settings.blue');
	RAISE 'no error';
EXCEPTION WHEN system_error THEN
	GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;
	IF SQLERRM <> 'redblue_triangle_pairs: no usable GPU' OR advice = '' THEN
		RAISE;
	END IF;
END $$;
SELECT true AS same \gset
\endif
SELECT :'same' AS same;
SET redblue.backend = auto;
SELECT answer('TABLE red', 'TABLE blue') = :'pairs' AS same;
SELECT DISTINCT backend = 'cpu' OR :'cuda' AS backend, backend = 'cuda' OR device LIKE '%no GPU used: %' AS reason FROM redblue_last_run();
-- A successful run prints nothing.
SET client_min_messages = notice;
SELECT answer('TABLE red', 'TABLE blue') = :'pairs' AS same;

SET client_min_messages = warning;
DROP SCHEMA settings CASCADE;
