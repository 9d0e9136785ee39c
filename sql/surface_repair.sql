-- Tests redblue_surface_repair: surfaces with gaps, doubled, flat, turned and crossing faces become solids; what remains is reported.
\set SHOW_CONTEXT never
\set schema surface_repair
\i sql/fixtures/prologue.sql

\i sql/fixtures/box.sql
-- summary(name): solids of a result in this table, by redblue_solid_check
CREATE FUNCTION summary(regclass) RETURNS TABLE (solid_id bigint, faces bigint, closed bool, oriented bool, self_intersections bigint, valid bool) LANGUAGE sql AS $$
	SELECT c.id, c.faces, c.closed, c.oriented, c.self_intersections, c.valid FROM redblue_solid_check_query(format('SELECT face AS id, coalesce(solid_id, 0) AS s, ax, ay, az, bx, by, bz, cx, cy, cz FROM %s WHERE face IS NOT NULL', $1), solid => 's') c ORDER BY 1 $$;

-- A solid that needs no repair is returned as it is.
CREATE TABLE cube AS SELECT n AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM box(0, 0, 0, 1, 1, 1);
SELECT solid_id, face, id, change, move, faults FROM redblue_surface_repair('cube') ORDER BY face LIMIT 3;
SELECT count(*), bool_and((r.ax, r.ay, r.az, r.bx, r.by, r.bz, r.cx, r.cy, r.cz) = (c.ax, c.ay, c.az, c.bx, c.by, c.bz, c.cx, c.cy, c.cz)) AS same FROM redblue_surface_repair('cube', 0.001) r JOIN cube c USING (id);

-- A damaged cube: corners 0.0001 apart, faces that are turned, doubled, and without area
CREATE TABLE damaged AS SELECT n AS id, ax + e AS ax, ay - e AS ay, az, bx, by + e AS by, bz - e AS bz, cx - e AS cx, cy, cz + e AS cz
	FROM (SELECT *, 0.0001 * (n % 4) AS e FROM box(0, 0, 0, 1, 1, 1)) b;
UPDATE damaged SET (bx, by, bz, cx, cy, cz) = (cx, cy, cz, bx, by, bz) WHERE id IN (2, 7, 11);
INSERT INTO damaged SELECT 20, bx, by, bz, ax, ay, az, cx, cy, cz FROM damaged WHERE id = 3;
INSERT INTO damaged SELECT 21, ax, ay, az, bx, by, bz, bx + 0.0001, by, bz FROM damaged WHERE id = 5;
CREATE TABLE repaired AS SELECT * FROM redblue_surface_repair('damaged', weld => 0.001);
SELECT * FROM summary('repaired');
SELECT change, count(*), count(face) AS faces, max(move) < 0.001 AS near FROM repaired GROUP BY change ORDER BY change;
SELECT id, change, ax, move FROM repaired WHERE face IS NULL ORDER BY id;
SELECT volume FROM redblue_solid_measures_query('SELECT face AS id, 0 AS s, ax, ay, az, bx, by, bz, cx, cy, cz FROM repaired WHERE face IS NOT NULL', solid => 's');
-- Without weld, the corners stay apart.
SELECT count(*) FILTER (WHERE 'open edge' = ANY (faults)) AS open, count(*) FILTER (WHERE 'moved' = ANY (change)) AS moved FROM redblue_surface_repair('damaged', orient => false);
-- The repaired solid is one for all other functions.
SELECT vertices, regions FROM redblue_tetrahedralize_query('SELECT face AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM repaired WHERE face IS NOT NULL', 'filled');
SELECT count(*) FROM redblue_mesh_check('filled');

-- Several solids, each by itself: two crossing cubes, a cube in a cube, two cubes with a wall, a cube twice, a cube without a face
CREATE TABLE solids AS
	SELECT 100 * s + row_number() OVER (PARTITION BY s) AS id, s, ax, ay, az, bx, by, bz, cx, cy, cz FROM (
		SELECT 1 AS s, b.* FROM box(0, 0, 0, 2, 2, 2) b UNION ALL SELECT 1, b.* FROM box(1, 1, 1, 3, 3, 3) b
		UNION ALL SELECT 2, b.* FROM box(0, 0, 0, 3, 3, 3) b UNION ALL SELECT 2, b.* FROM box(1, 1, 1, 2, 2, 2) b
		UNION ALL SELECT 3, b.* FROM box(0, 0, 0, 1, 1, 1) b UNION ALL SELECT 3, b.* FROM box(1, 0, 0, 2, 1, 1) b
		UNION ALL SELECT 4, b.* FROM box(0, 0, 0, 1, 1, 1) b UNION ALL SELECT 4, b.* FROM box(0, 0, 0, 1, 1, 1) b
		UNION ALL SELECT 5, b.* FROM box(0, 0, 0, 1, 1, 1) b WHERE n > 2) f;
SELECT solid_id, valid FROM (SELECT id AS solid_id, valid FROM redblue_solid_check('solids', solid => 's')) c ORDER BY 1;
DROP TABLE repaired;
CREATE TABLE repaired AS SELECT * FROM redblue_surface_repair('solids', solid => 's');
SELECT stage, count FROM redblue_last_run() WHERE stage = 'repair';
SELECT * FROM summary('repaired');
SELECT solid_id, change, faults, count(*) FROM repaired GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT id, volume FROM redblue_solid_measures_query('SELECT face AS id, solid_id AS s, ax, ay, az, bx, by, bz, cx, cy, cz FROM repaired WHERE face IS NOT NULL AND solid_id < 5', solid => 's') ORDER BY id;
-- Without split, crossing faces stay.
SELECT change, count(*) FROM redblue_surface_repair_query('SELECT * FROM solids WHERE s = 1', split => false) GROUP BY 1;
-- The result depends neither on the order of rows nor on threads.
SET redblue.threads = 1;
CREATE TABLE again AS SELECT * FROM redblue_surface_repair_query('SELECT * FROM solids ORDER BY cz, ax, id DESC', solid => 's');
RESET redblue.threads;
(TABLE repaired EXCEPT TABLE again) UNION ALL (TABLE again EXCEPT TABLE repaired);

-- Holes: a cube without a top, of which half a side is missing, too, becomes a solid again. Filled faces come from no row.
CREATE TABLE holes AS SELECT * FROM cube WHERE NOT (az = 1 AND bz = 1 AND cz = 1) AND id <> (SELECT id FROM cube WHERE ax = 0 AND bx = 0 AND cx = 0 AND az + bz + cz = 2);
DROP TABLE repaired;
CREATE TABLE repaired AS SELECT * FROM redblue_surface_repair('holes', fill_holes => 5);
SELECT stage, count, detail FROM redblue_last_run() WHERE stage = 'repair';
SELECT * FROM summary('repaired');
SELECT face > 9 AS last, change, id IS NULL AS no_row, move, faults, count(*) FROM repaired GROUP BY 1, 2, 3, 4, 5 ORDER BY 1;
-- A hole of five edges is too large for four; nothing is filled without the argument.
SELECT change, faults, count(*) FROM redblue_surface_repair('holes', fill_holes => 4) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT change, faults, count(*) FROM redblue_surface_repair('holes', fill_holes => NULL) GROUP BY 1, 2 ORDER BY 1, 2;
-- A box through the hole blocks its triangles; an edge with a vertex on one side only is a flat hole, which split closes.
SELECT change, faults, count(*) FROM redblue_surface_repair_query('SELECT * FROM cube WHERE NOT (az = 1 AND bz = 1 AND cz = 1) UNION ALL SELECT 100 + n, ax, ay, az, bx, by, bz, cx, cy, cz FROM box(0.4, 0.4, 0.5, 0.6, 0.6, 1.5)', fill_holes => 5) GROUP BY 1, 2 ORDER BY 1, 2;
CREATE TABLE crack (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO crack VALUES (1, 0,0,0, 0,2,0, 1,0,0), (2, 1,0,0, 0,2,0, 2,0,0), (3, 0,0,0, 2,0,0, 0,0,2), (4, 0,0,0, 0,0,2, 0,2,0), (5, 2,0,0, 0,2,0, 0,0,2);
SELECT change, faults, count(*) FROM redblue_surface_repair('crack', split => false, fill_holes => 5) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT change, faults, count(*) FROM redblue_surface_repair('crack', fill_holes => 5) GROUP BY 1, 2 ORDER BY 1, 2;
-- Each solid by itself, on one thread and on several, in another order of the rows
DROP TABLE repaired, again;
CREATE TABLE repaired AS SELECT * FROM redblue_surface_repair('solids', solid => 's', fill_holes => 10);
SELECT solid_id, faces, closed, valid FROM summary('repaired');
SET redblue.threads = 1;
CREATE TABLE again AS SELECT * FROM redblue_surface_repair_query('SELECT * FROM solids ORDER BY cz, ax, id DESC', solid => 's', fill_holes => 10);
RESET redblue.threads;
(TABLE repaired EXCEPT TABLE again) UNION ALL (TABLE again EXCEPT TABLE repaired);

-- A Moebius strip has one side: its faces are not turned.
CREATE TABLE strip AS
	WITH corner AS (SELECT i, k, (4 + k * cos(pi() * i / 9)) * cos(2 * pi() * i / 9) AS x, (4 + k * cos(pi() * i / 9)) * sin(2 * pi() * i / 9) AS y, k * sin(pi() * i / 9) AS z FROM generate_series(0, 8) i, (VALUES (-1), (1)) f (k))
	SELECT 2 * a.i + (a.k + 1) / 2 AS id, a.x AS ax, a.y AS ay, a.z AS az, b.x AS bx, b.y AS by, b.z AS bz, c.x AS cx, c.y AS cy, c.z AS cz
	FROM corner a JOIN corner b ON b.i = (a.i + 1) % 9 AND b.k = CASE WHEN a.i = 8 THEN 1 ELSE -1 END
	JOIN corner c ON (a.k = -1 AND c.i = a.i AND c.k = 1) OR (a.k = 1 AND c.i = (a.i + 1) % 9 AND c.k = CASE WHEN a.i = 8 THEN -1 ELSE 1 END);
SELECT change, faults, count(*) FROM redblue_surface_repair('strip') GROUP BY 1, 2;
-- Nothing
SELECT count(*) FROM redblue_surface_repair_query('SELECT * FROM cube WHERE false');
SELECT count(*) FROM redblue_surface_repair_query('SELECT * FROM solids WHERE false', solid => 's');

-- Errors
SELECT count(*) FROM redblue_surface_repair(NULL);
SELECT count(*) FROM redblue_surface_repair('cube', weld => -1);
SELECT count(*) FROM redblue_surface_repair('cube', weld => 'NaN');
SELECT count(*) FROM redblue_surface_repair('cube', fill_holes => -1);
SELECT count(*) FROM redblue_surface_repair('cube', faces_id => '');
SELECT count(*) FROM redblue_surface_repair('cube', solid => '');
SELECT count(*) FROM redblue_surface_repair('cube', solid => 'absent');
SELECT count(*) FROM redblue_surface_repair_query('SELECT id, ax, ay, az, bx, by, bz, cx, cy FROM cube');
SELECT count(*) FROM redblue_surface_repair_query('SELECT id, ''NaN''::float8 AS ax, ay, az, bx, by, bz, cx, cy, cz FROM cube');
SELECT count(*) FROM redblue_surface_repair_query('SELECT NULL::int AS s, * FROM cube', solid => 's');
SELECT count(*) FROM redblue_surface_repair_query('DELETE FROM cube RETURNING *');
-- The limit on memory
SET redblue.memory_limit = '2MB';
DO $$ BEGIN PERFORM count(*) FROM redblue_surface_repair_query('SELECT 1000 * i + n AS id, i + ax AS ax, ay, az, i + bx AS bx, by, bz, i + cx AS cx, cy, cz FROM generate_series(1, 2000) i, box(0, 0, 0, 2, 2, 2)');
EXCEPTION WHEN out_of_memory THEN RAISE NOTICE '%', regexp_replace(sqlerrm, '\d+', '#', 'g'); END $$;
RESET redblue.memory_limit;
-- A statement that takes longer than its timeout is canceled.
SET statement_timeout = 200;
SELECT count(*) FROM redblue_surface_repair_query('SELECT 1000 * i + n AS id, i * 0.37 + ax AS ax, ay + i % 7 * 0.31 AS ay, az, i * 0.37 + bx AS bx, by + i % 7 * 0.31 AS by, bz, i * 0.37 + cx AS cx, cy + i % 7 * 0.31 AS cy, cz FROM generate_series(1, 20000) i, box(0, 0, 0, 2.03, 2, 2)');
-- A hole of 2,000 edges
SELECT count(*) FROM redblue_surface_repair_query('SELECT i AS id, cos(a) AS ax, sin(a) AS ay, 0 AS az, cos(b) AS bx, sin(b) AS by, 0 AS bz, 0 AS cx, 0 AS cy, -1 AS cz FROM generate_series(0, 1999) i, LATERAL (SELECT 2 * pi() * i / 2000 AS a, 2 * pi() * ((i + 1) % 2000) / 2000 AS b) x', split => false, fill_holes => 2000);
RESET statement_timeout;

SET client_min_messages = warning;
DROP SCHEMA surface_repair CASCADE;
