-- Tests how much of each box lies in a solid.
\set SHOW_CONTEXT never
\set schema boxes_in_solids
\i sql/fixtures/prologue.sql
SET redblue.duplicate_notice = off;

\i sql/fixtures/box.sql
-- 1 is a box; 2 a box with a cavity that contains a box; 3 a tetrahedron, with some of its faces turned over.
CREATE TABLE ore AS SELECT row_number() OVER () AS id, ore, ax, ay, az, bx, by, bz, cx, cy, cz FROM (
	SELECT 1 AS ore, * FROM box(0, 0, 0, 4, 4, 4)
	UNION ALL SELECT 2, * FROM box(-8, -8, -8, -1, -1, -1)
	UNION ALL SELECT 2, * FROM box(-7, -7, -7, -2, -2, -2)
	UNION ALL SELECT 2, * FROM box(-6, -6, -6, -3, -3, -3)
	UNION ALL SELECT 3, n, f.* FROM (VALUES (1, 0, 0, 0, 0, 4, 0, 4, 0, 0), (2, 4, 0, 0, 0, 0, 0, 0, 0, 4), (3, 0, 0, 0, 0, 0, 4, 0, 4, 0), (4, 0, 4, 0, 4, 0, 0, 0, 0, 4)) v (n, a, b, c, d, e, f, g, h, i),
		LATERAL (SELECT a + 10, b, c, d + 10, e, f, g + 10, h, i) f) s;
-- 1 lies inside and 2 is the same box; 3 and 4 overlap; 5 and 6 touch from outside; 7 lies in a cavity, 8 around a cavity; 9 is around the tetrahedron, 10 has no volume.
CREATE TABLE block (id int PRIMARY KEY, lx float8, ly float8, lz float8, hx float8, hy float8, hz float8);
INSERT INTO block VALUES (1, 1, 1, 1, 2, 2, 2), (2, 0, 0, 0, 4, 4, 4), (3, 3, 3, 3, 5, 5, 5), (4, -1, -1, -1, 1, 1, 1), (5, 4, 0, 0, 5, 4, 4), (6, 4, 4, 4, 5, 5, 5),
	(7, -7, -7, -7, -6, -6, -6), (8, -8, -8, -8, -1, -1, -1), (9, 9, -1, -1, 15, 5, 5), (10, 1, 1, 1, 1, 2, 2);
SELECT * FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore') ORDER BY 1, 2;
SELECT * FROM redblue_boxes_in_solids_query('SELECT id AS b, * FROM block WHERE id < 4', 'SELECT ore AS body, * FROM ore WHERE ore = 1', boxes_id => 'b', solid => 'body') ORDER BY 1, 2;
-- The blocks of a regular model fill a solid, to the last bit: all sizes are powers of two.
CREATE TABLE model AS SELECT row_number() OVER () AS id, x, y, z, 0.5::float8 AS dx, 0.25::float8 AS dy, 1::float8 AS dz
	FROM generate_series(-8.75, 14.75, 0.5) x, generate_series(-8.125, 4.875, 0.25) y, generate_series(-8, 5) z;
SELECT solid_id, count(*), count(*) FILTER (WHERE fraction = 1) AS full, sum(p.volume) = m.volume AS exact FROM redblue_boxes_in_solids('model', 'ore', solid => 'ore') p
	JOIN redblue_solid_measures('ore', solid => 'ore') m ON m.id = solid_id WHERE solid_id < 3 GROUP BY 1, m.volume ORDER BY 1;
-- Center and size give the same as ends, where those are doubles; a query may have either, too.
CREATE TABLE model_ends AS SELECT id, x - dx / 2 AS lx, y - dy / 2 AS ly, z - dz / 2 AS lz, x + dx / 2 AS hx, y + dy / 2 AS hy, z + dz / 2 AS hz FROM model;
CREATE TABLE of_ends AS SELECT * FROM redblue_boxes_in_solids('model_ends', 'ore', solid => 'ore');
SELECT count(*), (SELECT count(*) FROM (TABLE of_ends EXCEPT SELECT * FROM redblue_boxes_in_solids('model', 'ore', solid => 'ore')) d) AS other,
	(SELECT count(*) FROM (TABLE of_ends EXCEPT SELECT * FROM redblue_boxes_in_solids_query('TABLE model', 'TABLE ore', solid => 'ore')) d) AS other_query FROM of_ends;
-- Ends of a center and a size that are no doubles: 0.1 - 0.3/2 and 0.1 + 0.3/2
SELECT fraction, volume FROM redblue_boxes_in_solids_query('SELECT 1 AS id, 0.1 AS x, 1 AS y, 1 AS z, 0.3 AS dx, 1 AS dy, 1 AS dz', 'SELECT * FROM ore WHERE ore = 1', solid => 'ore');
-- Blocks so small that their volume is no double; a solid's corner in a block; results in the middle of two doubles
SELECT fraction, volume FROM redblue_boxes_in_solids_query('SELECT 1 AS id, 0 AS x, 1 AS y, 1 AS z, 1e-150 AS dx, 1e-150 AS dy, 1e-150 AS dz', 'SELECT * FROM ore WHERE ore = 1', solid => 'ore');
SELECT fraction, volume FROM redblue_boxes_in_solids_query('SELECT 1 AS id, 2 AS x, 2 AS y, 2 AS z, 1e160 AS dx, 1e160 AS dy, 1e160 AS dz', 'SELECT * FROM ore WHERE ore = 1', solid => 'ore');
SELECT fraction, volume = 32 / 3.0::float8 AS rounded FROM redblue_boxes_in_solids_query('SELECT 1 AS id, 10 AS lx, 0 AS ly, 0 AS lz, 14 AS hx, 4 AS hy, 4 AS hz', 'SELECT * FROM ore WHERE ore = 3', solid => 'ore');
SELECT fraction, volume::bigint FROM redblue_boxes_in_solids_query('SELECT 1 AS id, 0 AS lx, 0 AS ly, 0 AS lz, 94906267 AS hx, 94906267 AS hy, 2 AS hz', 'SELECT 1 AS body, * FROM box(0, 0, -1, 94906268, 94906270, 1)', solid => 'body');
-- Boxes of other types
SELECT fraction FROM redblue_boxes_in_solids_query('SELECT 1 AS id, 2::numeric AS x, 2::real AS y, 2::smallint AS z, 2::bigint AS dx, 4::numeric AS dy, 4 AS dz', 'SELECT * FROM ore WHERE ore = 1', solid => 'ore');

-- Rotated models. A turn by 90 degrees is exact: the y axis of the model points east, and its x axis south.
SELECT * FROM redblue_boxes_in_solids_query('SELECT 1 AS id, -3 AS lx, 1 AS ly, 0 AS lz, 1 AS hx, 2 AS hy, 2 AS hz', 'SELECT * FROM ore WHERE ore = 1', solid => 'ore', azimuth => 90);
SELECT * FROM redblue_boxes_in_solids_query('SELECT 1 AS id, -3 AS lx, 1 AS ly, 0 AS lz, 1 AS hx, 2 AS hy, 2 AS hz', 'SELECT * FROM ore WHERE ore = 1', solid => 'ore', rotation => '{0,-1,0, 1,0,0, 0,0,1}');
-- Plunge: the y axis points down, and z to the north. Dip: the x axis points down, and z to the east.
SELECT volume FROM redblue_boxes_in_solids_query('SELECT 1 AS id, 0 AS lx, -4 AS ly, 0 AS lz, 4 AS hx, 0 AS hy, 3 AS hz', 'SELECT * FROM ore WHERE ore = 1', solid => 'ore', plunge => 90);
SELECT volume FROM redblue_boxes_in_solids_query('SELECT 1 AS id, -4 AS lx, 0 AS ly, 0 AS lz, 0 AS hx, 4 AS hy, 3 AS hz', 'SELECT * FROM ore WHERE ore = 1', solid => 'ore', dip => 90);
-- An origin alone moves the model; all blocks of a rotated model fill the solid.
SELECT * FROM redblue_boxes_in_solids_query('SELECT 1 AS id, 0 AS lx, 0 AS ly, 0 AS lz, 2 AS hx, 2 AS hy, 2 AS hz', 'SELECT * FROM ore WHERE ore = 1', solid => 'ore', origin => '{3,3,3}');
CREATE TABLE around AS SELECT row_number() OVER () AS id, x, y, z, 1.5 AS dx, 1.5 AS dy, 1.5 AS dz FROM generate_series(-9, 9, 1.5) x, generate_series(-9, 9, 1.5) y, generate_series(-9, 9, 1.5) z;
SELECT solid_id, count(*) > 0 AS found, abs(sum(p.volume) / m.volume - 1) < 1e-14 AS filled FROM redblue_boxes_in_solids('around', 'ore', solid => 'ore', azimuth => 37, plunge => 20, dip => -11, origin => '{2,2,2}') p
	JOIN redblue_solid_measures('ore', solid => 'ore') m ON m.id = solid_id WHERE solid_id = 1 GROUP BY 1, m.volume;

-- As a function, as a scan, on one thread and on several
SELECT (p).* FROM (SELECT redblue_boxes_in_solids('block', 'ore', solid => 'ore') AS p OFFSET 0) s WHERE (p).fraction < 1 ORDER BY 1, 2;
SET redblue.backend = cpu; SET redblue.custom_scan = on; SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT sum(volume) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore') WHERE fraction > 0.5;
RESET redblue.backend; RESET redblue.custom_scan; RESET max_parallel_workers_per_gather;
SET redblue.threads = 1;
CREATE TABLE of_one AS SELECT * FROM redblue_boxes_in_solids('around', 'ore', solid => 'ore', azimuth => 37, plunge => 20);
SET redblue.threads = 7;
SELECT count(*), (SELECT count(*) FROM (TABLE of_one EXCEPT SELECT * FROM redblue_boxes_in_solids('around', 'ore', solid => 'ore', azimuth => 37, plunge => 20)) d) AS different FROM of_one;
RESET redblue.threads;

-- Errors
SELECT count(*) FROM redblue_boxes_in_solids_query('SELECT 7 AS id, 1 AS lx, 0 AS ly, 0 AS lz, 0 AS hx, 1 AS hy, 1 AS hz', 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query('SELECT 7 AS id, 1 AS x, 0 AS y, 0 AS z, 1 AS dx, -1 AS dy, 1 AS dz', 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query('SELECT 7 AS id, 1e308 AS x, 0 AS y, 0 AS z, 1.7e308 AS dx, 1 AS dy, 1 AS dz', 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query($$SELECT 7 AS id, 1 AS x, 0 AS y, 0 AS z, 1 AS dx, 'NaN'::float8 AS dy, 1 AS dz$$, 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query($$SELECT 7 AS id, 1 AS lx, 0 AS ly, 'Infinity'::float8 AS lz, 1 AS hx, 1 AS hy, 1 AS hz$$, 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query('SELECT 7 AS id, 1 AS x, NULL::int AS y, 0 AS z, 1 AS dx, 1 AS dy, 1 AS dz', 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query('SELECT 7 AS id, 1 AS lx, 0 AS ly, 2 AS hx, 1 AS hy', 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query('SELECT 7 AS id, 1 AS x, 0 AS y, 0 AS z', 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query('SELECT 7 AS id, 1 AS lx, 0 AS ly, 0 AS lz', 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore', azimuth => 'NaN');
SELECT count(*) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore', azimuth => 10, rotation => '{1,0,0, 0,1,0, 0,0,1}');
SELECT count(*) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore', rotation => '{1,0,0, 0,1,0}');
SELECT count(*) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore', rotation => '{1,0,0, 0,NULL,0, 0,0,1}');
SELECT count(*) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore', rotation => '{1,0,0, 0,NaN,0, 0,0,1}');
SELECT count(*) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore', rotation => '{0.7071,0.7071,0, -0.7071,0.7071,0, 0,0,1}');
SELECT count(*) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore', rotation => '{1,0,0, 0.6,0.8,0, 0,0,1}');
SELECT count(*) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore', origin => '{1,2}');
SELECT count(*) FROM redblue_boxes_in_solids('block', 'ore', solid => 'ore', azimuth => 10, tile_low => '{0,0,0}');
CREATE TABLE bad AS SELECT * FROM ore WHERE id <> 5;
SELECT count(*) FROM redblue_boxes_in_solids('block', 'bad', solid => 'ore');
SELECT box_id, solid_id, fraction FROM redblue_boxes_in_solids('block', 'bad', solid => 'ore', on_bad => 'skip') ORDER BY 1, 2;
SELECT count(*) FROM redblue_boxes_in_solids('ore', 'block', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids(NULL, 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query('SELECT * FROM block LIMIT 0', 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_boxes_in_solids_query('TABLE model', 'SELECT * FROM ore LIMIT 0', solid => 'ore');

SET client_min_messages = warning;
DROP SCHEMA boxes_in_solids CASCADE;
