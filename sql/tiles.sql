-- Tests the pairs of a tile: if tiles fill space, each pair belongs to one of them, for each function with tile_low and
-- tile_high.
\set schema tiles
\i sql/fixtures/prologue.sql
\i sql/fixtures/refused.sql

CREATE TABLE red (id int PRIMARY KEY, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8, whole int);
INSERT INTO red SELECT i, i % 8, i / 8, 0, i % 8 + 1.5, i / 8, 0, i % 8, i / 8 + 1.25, 0.25, i * 7 % 20 FROM generate_series(0, 63) i;
CREATE TABLE blue (LIKE red);
INSERT INTO blue SELECT id, ax + 0.25, ay + 0.25, az, bx + 0.25, by, bz, cx + 0.25, cy + 0.25, cz, whole FROM red;
CREATE VIEW line AS SELECT id, ax + 0.75 AS ax, ay + 0.5 AS ay, -1 AS az, ax + 0.75 AS bx, ay + 0.5 AS by, 1 AS bz, whole FROM red;
CREATE VIEW map AS SELECT id, ax, ay, bx, cy AS by, whole FROM red;
CREATE VIEW street AS SELECT id, cx AS ax, cy AS ay, bx, by, whole FROM red;
CREATE VIEW net AS SELECT id, ax, ay, bx, by FROM map UNION ALL SELECT id + 100, ax, ay, bx, by FROM street;
CREATE VIEW mesh AS SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz, id / 2 AS whole FROM red UNION ALL SELECT id + 100, ax, ay, az, bx, by, bz, cx, cy, cz, id / 2 FROM blue;
CREATE VIEW box AS SELECT id, ax AS lx, ay AS ly, az AS lz, bx AS hx, cy AS hy, cz AS hz, whole FROM red;
CREATE VIEW blue_box AS SELECT id, ax AS lx, ay AS ly, az AS lz, bx AS hx, cy AS hy, cz AS hz, whole FROM blue;
CREATE VIEW flat AS SELECT id, ax AS lx, ay AS ly, bx AS hx, cy AS hy, whole FROM red;
-- Solids: cubes of twelve triangles
CREATE TABLE cube AS SELECT row_number() OVER () AS id, b, x + (f[1] & 1) * 2.5 AS ax, y + (f[1] >> 1 & 1) * 2.5 AS ay, (f[1] >> 2) * 2.5 AS az, x + (f[2] & 1) * 2.5 AS bx, y + (f[2] >> 1 & 1) * 2.5 AS by, (f[2] >> 2) * 2.5 AS bz,
	x + (f[3] & 1) * 2.5 AS cx, y + (f[3] >> 1 & 1) * 2.5 AS cy, (f[3] >> 2) * 2.5 AS cz
	FROM (SELECT i AS b, i % 3 * 2.0 AS x, i / 3 * 2.0 AS y FROM generate_series(0, 8) i) a, (VALUES (ARRAY[0, 2, 1]), ('{1,2,3}'), ('{4,5,6}'), ('{5,7,6}'), ('{0,1,4}'), ('{1,5,4}'), ('{2,6,3}'), ('{3,6,7}'), ('{0,4,2}'), ('{2,4,6}'), ('{1,3,5}'), ('{3,7,5}')) v(f);
CREATE VIEW place AS SELECT id, ax + 0.5 AS x, ay + 0.5 AS y, 1.0 AS z FROM red;

-- Tiles computed from data, with bounds that contain corners, and an empty tile
CREATE TABLE tile AS SELECT tile_low, tile_high FROM redblue_tiles('red', 'blue', 7)
	WHERE false;
INSERT INTO tile VALUES (NULL, '{2,infinity,infinity}'), ('{2,-infinity,-infinity}', '{infinity,3.25,infinity}'), ('{2,3.25,-infinity}', '{4,infinity,infinity}'), ('{4,3.25,-infinity}', '{infinity,infinity,0}'), ('{4,3.25,0}', NULL),
	('{4,3.25,0}', '{4,9,9}'), ('{9,9,9}', '{4,3,2}');
CREATE TABLE from_data AS SELECT tile_low, tile_high FROM redblue_tiles('red', 'blue', 7);
CREATE TABLE plane AS SELECT tile_low, tile_high FROM redblue_tiles('map', 'street', 5);

-- For each function: its pairs, those in tiles, and whether they are the same
CREATE FUNCTION shared_out(function text, arguments text, tiles text DEFAULT 'tile', as_ text DEFAULT '')
RETURNS TABLE (name text, pairs int8, in_tiles int8, missing int8, too_many int8) LANGUAGE plpgsql AS $$
DECLARE
	whole text := format('SELECT p.* FROM %s(%s) AS p%s', function, arguments, as_);
	parts text := format('SELECT p.* FROM %I t, LATERAL %s(%s, tile_low => t.tile_low, tile_high => t.tile_high) AS p%s', tiles, function, arguments, as_);
BEGIN
	RETURN QUERY EXECUTE format('WITH whole AS MATERIALIZED (%s), parts AS MATERIALIZED (%s) SELECT %L::text, (SELECT count(*) FROM whole), (SELECT count(*) FROM parts), (SELECT count(*) FROM (TABLE whole EXCEPT ALL TABLE parts) a), (SELECT count(*) FROM (TABLE parts EXCEPT ALL TABLE whole) a)',
		whole, parts, function);
END $$;
SELECT * FROM shared_out('redblue_triangle_pairs', $$'red', 'blue'$$);
SELECT * FROM shared_out('redblue_triangle_pairs', $$'red', 'blue'$$, 'from_data');
SELECT * FROM shared_out('redblue_triangle_pairs_query', $$'TABLE red', 'SELECT * FROM blue WHERE id > 9'$$);
SELECT * FROM shared_out('redblue_triangle_pairs_by_key', $$'red', 'blue', red_key => 'id, whole', blue_key => 'id'$$, 'tile', '(a int, b int, c int)');
SELECT * FROM shared_out('redblue_triangle_self_pairs', $$'red'$$);
SELECT * FROM shared_out('redblue_triangle_self_pairs_query', $$'TABLE red'$$, 'from_data');
SELECT * FROM shared_out('redblue_triangle_self_pairs_by_key', $$'red'$$, 'tile', '(a int, b int)');
SELECT * FROM shared_out('redblue_segment_triangle_pairs', $$'line', 'blue'$$);
SELECT * FROM shared_out('redblue_segment_triangle_pairs_query', $$'TABLE line', 'TABLE blue'$$);
SELECT * FROM shared_out('redblue_segment_pairs', $$'map', 'street'$$, 'plane');
SELECT * FROM shared_out('redblue_segment_pairs_query', $$'TABLE map', 'TABLE street'$$, 'plane');
SELECT * FROM shared_out('redblue_segment_self_pairs', $$'net'$$, 'plane');
SELECT * FROM shared_out('redblue_box_pairs', $$'box', 'blue_box'$$);
SELECT * FROM shared_out('redblue_box_pairs_query', $$'TABLE box', 'TABLE blue_box'$$, 'from_data');
SELECT * FROM shared_out('redblue_box_self_pairs', $$'box'$$);
SELECT * FROM shared_out('redblue_box_self_pairs', $$'flat'$$, 'plane');
-- Pairs with a payload
SELECT * FROM shared_out('redblue_triangle_contacts', $$'red', 'blue'$$);
SELECT * FROM shared_out('redblue_triangle_contacts_query', $$'TABLE red', 'TABLE blue'$$);
SELECT * FROM shared_out('redblue_triangle_self_contacts', $$'red'$$);
SELECT * FROM shared_out('redblue_segment_triangle_contacts', $$'line', 'blue'$$);
SELECT * FROM shared_out('redblue_segment_contacts', $$'map', 'street'$$, 'plane');
SELECT * FROM shared_out('redblue_segment_self_contacts', $$'net'$$, 'plane');
SELECT * FROM shared_out('redblue_triangle_self_intersections', $$'red'$$);
SELECT * FROM shared_out('redblue_part_self_intersections', $$'mesh', mesh_object => 'whole'$$);
SELECT * FROM shared_out('redblue_triangle_pairs_within', $$'red', 'blue', 0.5$$);
SELECT * FROM shared_out('redblue_triangle_pairs_within_query', $$'TABLE red', 'TABLE blue', 1$$, 'from_data');
SELECT * FROM shared_out('redblue_triangle_self_pairs_within', $$'red', 0.75$$);
SELECT * FROM shared_out('redblue_segment_triangle_pairs_within', $$'line', 'blue', 0.3$$);
SELECT * FROM shared_out('redblue_segment_pairs_within', $$'map', 'street', 0.5$$, 'plane');
SELECT * FROM shared_out('redblue_segment_self_pairs_within', $$'net', 0.125$$, 'plane');
SELECT * FROM shared_out('redblue_points_in_solids', $$'place', 'cube', solid => 'b'$$);
SELECT * FROM shared_out('redblue_segments_in_solids', $$'line', 'cube', solid => 'b'$$);
SELECT * FROM shared_out('redblue_boxes_in_solids', $$'box', 'cube', solid => 'b'$$);
SELECT * FROM shared_out('redblue_solid_pairs', $$'cube', 'cube', red_solid => 'b', blue_solid => 'b'$$);
SELECT * FROM shared_out('redblue_solid_overlaps', $$'cube', 'cube', red_solid => 'b', blue_solid => 'b'$$);
SELECT * FROM shared_out('redblue_solid_self_overlaps', $$'cube', solid => 'b'$$);
-- Objects of several rows
SELECT * FROM shared_out('redblue_triangle_pairs', $$'red', 'blue', red_object => 'whole', blue_object => 'whole'$$);
SELECT * FROM shared_out('redblue_triangle_pairs', $$'red', 'blue', blue_object => 'whole'$$, 'from_data');
SELECT * FROM shared_out('redblue_triangle_self_pairs', $$'red', mesh_object => 'whole'$$);
SELECT * FROM shared_out('redblue_triangle_self_pairs_within', $$'red', 0.5, mesh_object => 'whole'$$);
SELECT * FROM shared_out('redblue_box_pairs_by_key', $$'box', 'blue_box', red_object => 'whole', blue_key => 'id'$$, 'tile', '(a int, b int)');
SELECT * FROM shared_out('redblue_segment_contacts', $$'map', 'street', red_object => 'whole'$$, 'plane');

-- Aggregates of the pairs of a tile
SELECT redblue_triangle_pair_count('red', 'blue'), sum(redblue_triangle_pair_count('red', 'blue', tile_low => tile_low, tile_high => tile_high)) FROM tile;
SELECT redblue_triangle_self_pair_count('red'), sum(redblue_triangle_self_pair_count('red', tile_low => tile_low, tile_high => tile_high)) FROM tile;
SELECT redblue_box_pair_count_query('TABLE box', 'TABLE blue_box'), sum(redblue_box_pair_count_query('TABLE box', 'TABLE blue_box', tile_low => tile_low, tile_high => tile_high)) FROM tile;
SELECT redblue_segment_pair_count_within('map', 'street', 0.5), sum(redblue_segment_pair_count_within('map', 'street', 0.5, tile_low => tile_low, tile_high => tile_high)) FROM plane;
SELECT count(*) FROM redblue_triangle_pairs('red', 'blue', tile_low => '{2,2,0}');
SELECT red_id, count(*) FROM redblue_triangle_pairs('red', 'blue', tile_low => '{6,6,0}') GROUP BY red_id ORDER BY 1;
SELECT DISTINCT red_id FROM redblue_triangle_pairs('red', 'blue', tile_low => '{6,6,0}') ORDER BY 1;
SELECT red_id, array_agg(blue_id ORDER BY blue_id) AS blue_ids FROM redblue_triangle_pairs('red', 'blue', tile_low => '{6,6,0}') GROUP BY red_id ORDER BY 1;
SELECT id, array_agg(other ORDER BY other) AS ids
FROM redblue_triangle_self_pairs('red', tile_low => '{6,6,0}'), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other) GROUP BY id ORDER BY 1;
SELECT sum(n) FROM redblue_triangle_pair_blocks('red', 'blue', tile_low => '{6,6,0}');
SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{6,6,0}') LIMIT 3) a;
-- Bounds: a pair lies at the larger of its two low corners.
SELECT * FROM redblue_box_pairs_query('SELECT 1 AS id, 0 AS lx, 0 AS ly, 5 AS hx, 5 AS hy', 'SELECT 2 AS id, 1 AS lx, -3 AS ly, 2 AS hx, 9 AS hy', tile_low => '{1,0}', tile_high => '{1.5,1}');
SELECT * FROM redblue_box_pairs_query('SELECT 1 AS id, 0 AS lx, 0 AS ly, 5 AS hx, 5 AS hy', 'SELECT 2 AS id, 1 AS lx, -3 AS ly, 2 AS hx, 9 AS hy', tile_high => '{1,1}');
SELECT * FROM redblue_box_pairs_query('SELECT 1 AS id, 0 AS lx, 0 AS ly, 5 AS hx, 5 AS hy', 'SELECT 2 AS id, 1 AS lx, -3 AS ly, 2 AS hx, 9 AS hy', tile_low => '{-1,-4}', tile_high => '{9,0}');
SELECT * FROM redblue_box_pairs_query('SELECT 1 AS id, 0 AS lx, ''-0''::float8 AS ly, 5 AS hx, 5 AS hy', 'SELECT 2 AS id, 1 AS lx, -3 AS ly, 2 AS hx, 9 AS hy', tile_low => '{-1,0}', tile_high => '{9,1}');
-- Rows that a tile does not need are read, but not stored.
SELECT count(*) FROM redblue_triangle_pairs('red', 'blue', tile_low => '{6,6,0}');
SELECT count FROM redblue_last_run() WHERE stage = 'read';
SELECT count(*) FROM redblue_triangle_pairs('red', 'blue', red_object => 'whole', tile_low => '{6,6,0}');
SELECT count FROM redblue_last_run() WHERE stage = 'read';
-- An invalid row is an error wherever it lies.
CREATE TABLE wrong AS SELECT id, lx, ly, lz, CASE id WHEN 0 THEN 'NaN' ELSE hx END AS hx, hy, hz FROM box;
SELECT * FROM refused($$SELECT * FROM redblue_box_pairs('wrong', 'box', tile_low => '{6,6,0}')$$);

-- As parameters
PREPARE of_tile(float8[], float8[]) AS SELECT count(*) FROM redblue_triangle_pairs('red', 'blue', tile_low => $1, tile_high => $2);
EXECUTE of_tile(NULL, NULL);
EXECUTE of_tile('{2,2,0}', NULL);
EXECUTE of_tile(NULL, '{2,2,1}');
SET plan_cache_mode = force_generic_plan;
EXECUTE of_tile('{2,2,0}', NULL);
EXECUTE of_tile(NULL, '{2,2,1}');
EXECUTE of_tile('{NaN,2,0}', NULL);
RESET plan_cache_mode;
-- The estimated fraction of the pairs is that of the rows.
CREATE FUNCTION expected(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Plan Rows')::float8::int;
END $$;
ANALYZE red, blue;
SELECT expected($$SELECT * FROM redblue_triangle_pairs('red', 'blue')$$) BETWEEN 40 AND 80;
SELECT expected($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{4,4,0}')$$) BETWEEN 8 AND 30;
SELECT expected($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{40,4,0}')$$);
-- Planning does not cause errors.
SELECT expected($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{NaN,1}')$$) > 0;
SELECT expected($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{1}', tile_high => NULL)$$) > 0;

-- Invalid calls
SELECT * FROM refused($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{0,0}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_segment_pairs('map', 'street', tile_high => '{0,0,0}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_box_pairs('flat', 'flat', tile_low => '{0,0,0}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_box_pairs('box', 'box', tile_low => '{0,0}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_box_pairs('box', 'box', tile_low => '{0,0}', tile_high => '{1,1,1}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{0}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{0,0,0,0}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{{0,0,0}}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_low => '{0,NULL,0}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_triangle_pairs('red', 'blue', tile_high => '{0,0,NaN}')$$);
SELECT * FROM refused($$SELECT * FROM redblue_triangle_pair_count('red', 'blue', tile_high => '{}')$$);
-- Without rows, the number of dimensions is unknown.
SELECT count(*) FROM redblue_box_pairs_query('SELECT NULL::int AS id, 1 AS lx, 1 AS ly, 1 AS hx, 1 AS hy WHERE false', 'TABLE flat', tile_low => '{0,0}');

-- Functions with a tile, and those without: results about single rows
SELECT count(*) FROM pg_proc WHERE proname LIKE 'redblue%' AND 'tile_low' = ANY (proargnames) AND prosupport <> 0 AND proname !~ '(e(nt)?|solid)_intersections';
SELECT proname FROM pg_proc WHERE prosupport <> 0 AND prosupport = (SELECT prosupport FROM pg_proc WHERE proname = 'redblue_triangle_pairs') AND NOT 'tile_low' = ANY (proargnames) AND proname !~ '_sections|_differences' ORDER BY 1;

SET client_min_messages = warning;
DROP SCHEMA tiles CASCADE;
