-- Tests tiles that fill space, computed from a sample, and the function that assigns rows to tiles.
\set schema kd_tiles
\i sql/fixtures/prologue.sql
\i sql/fixtures/refused.sql

CREATE TABLE red (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO red SELECT i, i % 8, i / 8, 0, i % 8 + 0.5, i / 8, 0, i % 8, i / 8 + 0.5, 0.25 FROM generate_series(0, 63) i;
CREATE TABLE blue (LIKE red);
INSERT INTO blue SELECT id, ax + 0.25, ay + 0.25, az, bx + 0.25, by + 0.25, bz, cx + 0.25, cy + 0.25, cz FROM red;
CREATE TABLE other (id int, name text);
CREATE VIEW box AS SELECT id, ax AS lx, ay AS ly, az AS lz, bx AS hx, cy AS hy, cz AS hz FROM red;
CREATE VIEW blue_box AS SELECT id, ax AS lx, ay AS ly, az AS lz, bx AS hx, cy AS hy, cz AS hz FROM blue;
CREATE VIEW flat AS SELECT id, ax AS lx, ay AS ly, bx AS hx, cy AS hy FROM red;
CREATE VIEW line AS SELECT id, ax, ay, az, bx, by, bz FROM red;
CREATE VIEW map AS SELECT id, ax, ay, bx, by FROM red;
CREATE VIEW place AS SELECT id, ax AS x, ay AS y, az AS z FROM red;

SELECT * FROM redblue_tiles('red', 'blue', 4);
SELECT * FROM redblue_tiles('red', NULL, 3);
SELECT * FROM redblue_tiles('red', 'red', 3);
SELECT * FROM redblue_tiles('red', 'blue', 1);
SELECT * FROM redblue_tiles('red', 'blue', 4, distance => 0.6);
SELECT * FROM redblue_tiles('red', 'blue', 2, dimensions => 2);
-- Rows of every kind
SELECT * FROM redblue_tiles('box', 'red', 2);
SELECT * FROM redblue_tiles('flat', 'map', 2);
SELECT * FROM redblue_tiles('line', 'blue', 2);
SELECT * FROM redblue_tiles('place', 'blue', 2);
SELECT * FROM redblue_tiles_query('SELECT * FROM red WHERE id < 32', 'TABLE blue', 2);
-- Rows need no id.
SELECT count(*) FROM redblue_tiles_query('SELECT lx, ly, lz, hx, hy, hz FROM box', NULL, 5);
SELECT count(*) FROM redblue_tiles_query('SELECT id::text AS id, lx, ly, lz, hx, hy, hz FROM box', NULL, 5);
-- The rows of an object count as one.
SELECT sum(estimated_cost) FROM redblue_tiles_query('SELECT id / 2 AS pair, * FROM box', NULL, 1, red_object => 'pair');
SELECT sum(estimated_cost) FROM redblue_tiles('box', NULL, 1);

-- The tiles fill space: each point is in exactly one of them.
CREATE TABLE tiles AS SELECT * FROM redblue_tiles('red', 'blue', 13);
SELECT n, count(*) FROM (SELECT count(*) AS n FROM generate_series(-1, 9, 0.25) x, generate_series(-1, 9, 0.25) y, generate_series(-1, 1, 0.5) z, tiles
	WHERE x >= tile_low[1] AND x < tile_high[1] AND y >= tile_low[2] AND y < tile_high[2] AND z >= tile_low[3] AND z < tile_high[3] GROUP BY x, y, z) a GROUP BY n;
-- The low corner of the intersection of two boxes is in exactly one of the tiles to which both rows belong.
SELECT n, count(*) FROM (SELECT count(*) AS n FROM redblue_box_pairs('box', 'blue_box') JOIN box r ON r.id = red_id JOIN blue_box b ON b.id = blue_id, tiles
	WHERE greatest(r.lx, b.lx) >= tile_low[1] AND greatest(r.lx, b.lx) < tile_high[1] AND greatest(r.ly, b.ly) >= tile_low[2] AND greatest(r.ly, b.ly) < tile_high[2]
		AND greatest(r.lz, b.lz) >= tile_low[3] AND greatest(r.lz, b.lz) < tile_high[3]
		AND redblue_meets_tile(ARRAY[r.lx, r.ly, r.lz], ARRAY[r.hx, r.hy, r.hz], tile_low, tile_high)
		AND redblue_meets_tile(ARRAY[b.lx, b.ly, b.lz], ARRAY[b.hx, b.hy, b.hz], tile_low, tile_high) GROUP BY red_id, blue_id) a GROUP BY n;

-- Empty sides, and fewer rows than tiles
CREATE TABLE none (LIKE red);
CREATE TABLE same AS SELECT i AS id, 1 AS lx, 2 AS ly, 1 AS hx, 2 AS hy FROM generate_series(1, 1000) i;
SELECT count(*), count(*) FILTER (WHERE estimated_cost > 0), count(DISTINCT tile_low) FROM redblue_tiles('none', NULL, 7);
SELECT * FROM redblue_tiles('none', 'none', 2);
SELECT * FROM redblue_tiles('same', NULL, 2);
SELECT count(*), count(*) FILTER (WHERE estimated_cost > 0), max(estimated_cost), count(DISTINCT (tile_low, tile_high)) FROM redblue_tiles('same', NULL, 100);
SELECT count(*), sum(estimated_cost) FROM redblue_tiles_query('SELECT * FROM red WHERE id = 1', NULL, 50);
SELECT count(*), sum(estimated_cost) FROM redblue_tiles('red', 'none', 50);
SELECT array_length(tile_low, 1) FROM redblue_tiles_query('SELECT * FROM flat LIMIT 0', NULL, 1);

-- Tiles to which a row belongs
SELECT redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{1,1}', '{2,2}') AS touches, redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{-1,-1}', '{0,0}') AS at_its_high_end,
	redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{1.5,0}', '{2,2}') AS apart, redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{1.5,0}', '{2,2}', 0.5) AS within,
	redblue_meets_tile('{0,0}'::float8[], '{1,1}', NULL, '{2,2}') AS no_low_end, redblue_meets_tile('{0,0,0}'::float8[], '{1,1,1}', NULL, NULL) AS no_end,
	redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{-Infinity,0}', '{Infinity,1}') AS endless, redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{0,1}', '{0,1}') AS empty,
	redblue_meets_tile(NULL::float8[], '{1,1}', '{0,0}', '{2,2}') AS unknown;
-- The distance is rounded up: 0.1 + 0.2 is less than the adjacent double.
SELECT redblue_meets_tile('{0,0}'::float8[], '{0.1,0.1}', '{0.30000000000000004,0}', '{1,1}', 0.2), redblue_meets_tile('{0,0}'::float8[], '{0.1,0.1}', '{0.3000000000000001,0}', '{1,1}', 0.2);
SELECT array_agg(t ORDER BY t) FROM redblue_tiles_of('{0.9,1.9,0}'::float8[], '{4.1,2,0}', (SELECT array_agg(tile_low ORDER BY tile) FROM tiles), (SELECT array_agg(tile_high ORDER BY tile) FROM tiles)) t;
SELECT array_agg(tile ORDER BY tile) FROM tiles WHERE redblue_meets_tile('{0.9,1.9,0}'::float8[], '{4.1,2,0}', tile_low, tile_high);
SELECT redblue_tiles_of('{0,0}'::float8[], '{1,1}', '{{-Infinity,-Infinity},{1,-Infinity},{3,-Infinity}}', '{{1,Infinity},{3,Infinity},{Infinity,Infinity}}', 2) AS within;
SELECT count(*) FROM redblue_tiles_of(NULL::float8[], NULL, '{{0,0}}', '{{1,1}}');

-- Invalid calls
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'blue', 0) $$);
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'blue', 1000001) $$);
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'blue', NULL) $$);
SELECT refused($$ SELECT * FROM redblue_tiles(NULL, 'blue', 4) $$);
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'blue', 4, distance => -1) $$);
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'blue', 4, distance => 'NaN') $$);
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'blue', 4, distance => NULL) $$);
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'blue', 4, dimensions => 4) $$);
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'blue', 4, red_geom => '') $$);
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'blue', 4, red_geom => 'shape') $$);
SELECT refused($$ SELECT * FROM redblue_tiles('red', 'map', 4) $$);
SELECT refused($$ SELECT * FROM redblue_tiles('flat', 'box', 4) $$);
SELECT refused($$ SELECT * FROM redblue_tiles('flat', 'map', 4, dimensions => 3) $$);
SELECT refused($$ SELECT * FROM redblue_tiles('other', NULL, 4) $$);
SELECT refused($$ SELECT * FROM redblue_tiles_query('SELECT * FROM nowhere', NULL, 4) $$);
SELECT refused($$ SELECT * FROM redblue_tiles_query('SELECT * FROM box; SELECT 1', NULL, 4) $$);
SELECT refused($$ SELECT * FROM redblue_tiles_query('red', NULL, 4) $$);
SELECT refused($$ SELECT * FROM redblue_tiles_query('SELECT 17 AS id, 1 AS lx, ''NaN''::float8 AS ly, 2 AS hx, 3 AS hy', NULL, 4) $$);
SELECT refused($$ SELECT * FROM redblue_tiles_query('SELECT 1 AS lx, ''NaN''::float8 AS ly, 2 AS hx, 3 AS hy', NULL, 4) $$);
SELECT refused($$ SELECT redblue_meets_tile('{0,0}'::float8[], '{1,1,1}', '{0,0}', '{2,2}') $$);
SELECT refused($$ SELECT redblue_meets_tile('{0}'::float8[], '{1}', '{0}', '{2}') $$);
SELECT refused($$ SELECT redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{0,0,0}', '{2,2,2}') $$);
SELECT refused($$ SELECT redblue_meets_tile('{0,0}'::float8[], '{1,-1}', '{0,0}', '{2,2}') $$);
SELECT refused($$ SELECT redblue_meets_tile('{0,0}'::float8[], '{Infinity,1}', '{0,0}', '{2,2}') $$);
SELECT refused($$ SELECT redblue_meets_tile('{0,NULL}'::float8[], '{1,1}', '{0,0}', '{2,2}') $$);
SELECT refused($$ SELECT redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{0,NaN}', '{2,2}') $$);
SELECT refused($$ SELECT redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{0,0}', '{2,2}', -1) $$);
SELECT refused($$ SELECT redblue_meets_tile('{0,0}'::float8[], '{1,1}', '{0,0}', '{2,2}', NULL) $$);
SELECT refused($$ SELECT redblue_tiles_of('{0,0}'::float8[], '{1,1}', NULL, NULL) $$);
SELECT refused($$ SELECT redblue_tiles_of('{0,0}'::float8[], '{1,1}', '{0,0}', '{1,1}') $$);
SELECT refused($$ SELECT redblue_tiles_of('{0,0}'::float8[], '{1,1}', '{{0,0}}', '{{1,1},{2,2}}') $$);
SELECT refused($$ SELECT redblue_tiles_of('{0,0}'::float8[], '{1,1}', '{{0,0}}', '{{1,1,1}}') $$);
SELECT refused($$ SELECT redblue_tiles_of('{0,0}'::float8[], '{1,1}', '{{0,NULL}}', '{{1,1}}') $$);
SELECT refused($$ SELECT redblue_tiles_of('{0,0}'::float8[], '{1,1}', '{{0,NaN}}', '{{1,1}}') $$);
SELECT refused($$ SELECT redblue_tiles_of('{0,0,0}'::float8[], '{1,1,1}', '{{0,0}}', '{{1,1}}') $$);
SET client_min_messages = warning;
DROP SCHEMA kd_tiles CASCADE;
