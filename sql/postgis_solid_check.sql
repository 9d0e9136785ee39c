-- Tests the report of all rows, with any faults: reasons, codes, locations, and rows that are ignored.
\set SHOW_CONTEXT never
\set schema postgis_solid_check
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql
-- A block of 2 x 2 x 2 with its corner at (x, 0, 0), with another bottom face or additional faces
CREATE FUNCTION block(x int, bottom text DEFAULT '((0 0 0,0 2 0,2 2 0,2 0 0,0 0 0))', more text DEFAULT '', head text DEFAULT 'POLYHEDRALSURFACE Z') RETURNS geometry LANGUAGE sql IMMUTABLE AS $$
	SELECT ST_Translate((head || ' (' || bottom || ',((0 0 2,2 0 2,2 2 2,0 2 2,0 0 2)),((0 0 0,2 0 0,2 0 2,0 0 2,0 0 0)),((2 0 0,2 2 0,2 2 2,2 0 2,2 0 0)),((2 2 0,0 2 0,0 2 2,2 2 2,2 2 0)),((0 2 0,0 0 0,0 0 2,0 2 2,0 2 0))' || more || ')')::geometry, x, 0, 0) $$;
CREATE TABLE blocks (id int PRIMARY KEY, what text, geom geometry);
INSERT INTO blocks VALUES
	(1, 'good', block(0)),
	(2, 'good, and a triangle without area', ST_Collect(block(5), 'TRIANGLE Z ((0 0 9,0 0 9,0 0 9,0 0 9))')),
	(104, 'a ring that crosses itself', block(10, '((0 0 0,0 2 0,2 0 0,2 2 0,0 0 0))')),
	(201, 'a hole across the outer ring', block(20, '((0 0 0,0 2 0,2 2 0,2 0 0,0 0 0),(1 1 0,3 1 0,1 1.5 0,1 1 0))')),
	(202, 'a hole twice', block(30, '((0 0 0,0 2 0,2 2 0,2 0 0,0 0 0),(0.5 0.5 0,1 0.5 0,0.5 1 0,0.5 0.5 0),(0.5 0.5 0,1 0.5 0,0.5 1 0,0.5 0.5 0))')),
	(203, 'bent', block(40, '((0 0 0,0 2 0,2 2 0.5,2 0 0,0 0 0))')),
	(204, 'a corner above another', block(50, '((0 0 0,0 2 0,1 1 0,2 2 0,2 0 0,1 1 0.5,0 0 0))')),
	(206, 'a hole outside', block(60, '((0 0 0,0 2 0,2 2 0,2 0 0,0 0 0),(5 5 0,6 5 0,5 6 0,5 5 0))')),
	(207, 'a hole in a hole', block(70, '((0 0 0,0 2 0,2 2 0,2 0 0,0 0 0),(0.25 0.25 0,1.75 0.25 0,1.75 1.75 0,0.25 1.75 0,0.25 0.25 0),(0.5 0.5 0,1 0.5 0,0.5 1 0,0.5 0.5 0))')),
	(301, 'two faces', 'POLYHEDRALSURFACE Z (((80 0 0,80 2 0,82 2 0,82 0 0,80 0 0)),((80 0 1,82 0 1,82 2 1,80 2 1,80 0 1)))'),
	(302, 'a hole and no floor', block(90, '((0 0 0,0 2 0,2 2 0,2 0 0,0 0 0),(0.5 0.5 0,1 0.5 0,0.5 1 0,0.5 0.5 0))')),
	(303, 'a fin on an edge', block(100, more => ',((0 0 2,2 0 2,1 -1 3,0 0 2)),((2 0 2,1 -1 3,3 -1 2,2 0 2))')),
	(306, 'a spike through the top', block(110, '((0 0 0,0 2 0,1 1 3,0 0 0)),((0 2 0,2 2 0,1 1 3,0 2 0)),((2 2 0,2 0 0,1 1 3,2 2 0)),((2 0 0,0 0 0,1 1 3,2 0 0))')),
	(307, 'one face turned', block(120, '((0 0 0,2 0 0,2 2 0,0 2 0,0 0 0))')),
	(401, 'two blocks in one', ST_Collect(block(130), ST_Translate(block(130), 1, 1, 1))),
	(402, 'a block twice', ST_Collect(block(140), block(140))),
	(405, 'inside out', 'POLYHEDRALSURFACE Z (((150 0 0,151 0 0,150 1 0,150 0 0)),((150 0 0,150 0 1,151 0 0,150 0 0)),((150 0 0,150 1 0,150 0 1,150 0 0)),((151 0 0,150 0 1,150 1 0,151 0 0)))'),
	(900, 'NaN', block(160, '((0 0 0,0 2 NaN,2 2 0,2 0 0,0 0 0))')),
	(901, 'no Z', ST_Force2D(block(170, head => 'MULTIPOLYGON Z'))),
	(902, 'a line', 'LINESTRING Z (0 0 0, 1 1 1)'),
	(903, 'a curve', 'CURVEPOLYGON Z (CIRCULARSTRING Z (0 0 0,1 1 0,0 2 0,-1 1 0,0 0 0))'),
	(904, 'another SRID', ST_SetSRID(block(180), 7415)),
	(905, 'nothing', NULL),
	(906, 'empty', 'POLYHEDRALSURFACE Z EMPTY');
SELECT r.id, what, faces, closed, oriented, self_intersections AS si, valid, code, x, y, z FROM redblue_solid_check('blocks', face_tolerance => 0.01) r JOIN blocks USING (id) ORDER BY id;
SELECT id, reason FROM redblue_solid_check('blocks', face_tolerance => 0.01) WHERE NOT valid ORDER BY id;
-- Without a tolerance, a face may be bent, but no corner may lie above another one.
SELECT id, valid, code, reason FROM redblue_solid_check_query('SELECT * FROM blocks WHERE id IN (203, 204)') ORDER BY id;
SELECT (SELECT count(*) FROM redblue_solid_check('blocks', face_tolerance => 0.01)) AS rows, (SELECT count(*) FROM redblue_solid_check_query('TABLE blocks', face_tolerance => 0.01)) AS of_query,
	(SELECT count(*) FROM (SELECT redblue_solid_check('blocks', face_tolerance => 0.01) OFFSET 0) s) AS of_function, (SELECT count(geom) - 1 FROM blocks) AS geometries;
-- Bad rows at any position; only bad rows; none
SELECT n, (SELECT string_agg(id || CASE WHEN valid THEN ' good' ELSE ' bad' END, ', ' ORDER BY id) FROM redblue_solid_check_query(format('SELECT row_number() OVER (ORDER BY k) AS id, CASE WHEN k & %s > 0 THEN bad.geom ELSE good.geom END AS geom FROM unnest(ARRAY[1, 2, 4]) k, blocks good, blocks bad WHERE good.id = 1 AND bad.id = 104', n)))
	FROM generate_series(0, 7) n;
SELECT count(*) FROM redblue_solid_check_query('SELECT * FROM blocks WHERE id = 0');
-- In a nested loop that repeats the scan, and with parallel workers
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
SELECT n, count(*), sum(code) FROM generate_series(1, 3) n LEFT JOIN redblue_solid_check('blocks', face_tolerance => 0.01) ON id % 3 = n % 3 GROUP BY n ORDER BY n;
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material;

-- Rows that are faces of solids
CREATE TABLE faces AS SELECT row_number() OVER () AS id, b.id AS solid, (d).geom FROM blocks b, ST_Dump(b.geom) d WHERE b.id IN (1, 104, 302, 307, 900) AND (d).geom IS NOT NULL;
SELECT id, faces, valid, code, reason FROM redblue_solid_check('faces', solid => 'solid') ORDER BY id;
INSERT INTO faces VALUES (100, NULL, (SELECT geom FROM faces LIMIT 1)), (101, 1, 'POLYGON Z ((9 9 9,9 9 NaN,9 8 9,8 8 8,9 9 9))');
SELECT id, faces, valid, code, reason FROM redblue_solid_check('faces', solid => 'solid') ORDER BY id, reason;

-- The column of solids was forgotten.
CREATE TABLE walls AS SELECT row_number() OVER () AS id, geom FROM faces WHERE solid = 1 AND id < 100;
CREATE TABLE spots (id int, x float8, y float8, z float8);
INSERT INTO spots VALUES (1, 1, 1, 1), (2, 111, 0.5, 0.5), (3, 121, 1, 1), (4, 1, 1, 2);
\set VERBOSITY default
SELECT count(*) FROM redblue_points_in_solids('spots', 'walls');
SELECT count(*) FROM redblue_solid_pairs('walls', 'walls');
SELECT reason FROM redblue_solid_check('walls') WHERE id = 1;
SELECT reason FROM redblue_solid_check_query('SELECT * FROM walls WHERE id < 6') WHERE id = 1;

-- A ring that runs back along itself, five centimeters from its plane: no ring contains the unpaired edge, so the report
-- names corners.
SELECT id, code, x, y, z, reason FROM redblue_solid_check_query($$SELECT 1 AS id, block(0, '((0 0 0,0 2 0,2 2 0,2 0 0,1 0 0.05,0 0 0))') AS geom UNION ALL
	SELECT 2, block(0, '((0 0 0,0 2 0,2 2 0,2 0 0,0 0 0,1 0 0.05,0 0 0))') UNION ALL SELECT 3, block(0, '((0 0 0,0 2 0,2 2 0,2 0 0,0.5 0 0.05,1 0 0,0 0 0))')$$) ORDER BY id;

-- A notice counts the rows that are ignored.
SELECT point_id, solid_id, side FROM redblue_points_in_solids('spots', 'blocks', face_tolerance => 0.01) ORDER BY 1, 2;
UPDATE blocks SET geom = ST_SetSRID(geom, 0) WHERE id = 904;
SELECT point_id, solid_id, side FROM redblue_points_in_solids('spots', 'blocks', face_tolerance => 0.01, on_bad => 'skip') ORDER BY 1, 2;
SELECT substring(detail FROM '[0-9]+ invalid solids?') AS detail FROM redblue_last_run() WHERE stage = 'read';
SELECT count(*) FROM redblue_points_in_solids('spots', 'blocks', face_tolerance => 0.01, on_bad => 'skip');
SELECT point_id FROM redblue_points_in_solids('spots', 'blocks', face_tolerance => 0.01, on_bad => 'skip') LIMIT 1;
SELECT count(*) FROM redblue_segments_in_solids_query('SELECT 1 AS id, -1.0 AS ax, 1.0 AS ay, 1.0 AS az, 200.0 AS bx, 1.0 AS by, 1.0 AS bz', 'SELECT * FROM blocks WHERE id IN (1, 104, 302, 306)', on_bad => 'skip');
SELECT red_id, blue_id, relation FROM redblue_solid_pairs('blocks', 'faces', blue_solid => 'solid', face_tolerance => 0.01, on_bad => 'skip') ORDER BY 1, 2;
DELETE FROM faces WHERE solid IS NULL;
SELECT red_id, blue_id, relation FROM redblue_solid_pairs('blocks', 'faces', blue_solid => 'solid', face_tolerance => 0.01, on_bad => 'skip') ORDER BY 1, 2;
SET redblue.skip_notice = off;
SELECT red_id, blue_id, relation FROM redblue_solid_pairs('blocks', 'faces', blue_solid => 'solid', face_tolerance => 0.01, on_bad => 'skip') ORDER BY 1, 2;
RESET redblue.skip_notice;
SELECT count(*) FROM redblue_points_in_solids_query('TABLE spots', 'SELECT * FROM blocks WHERE id = 1', on_bad => 'skip');

-- A cached table is complete: a row that cannot be read is an error unless the call skips it.
SET redblue.cache = on;
CREATE TABLE kept AS SELECT id, geom FROM blocks WHERE id IN (1, 307);
VACUUM kept;
SELECT count(*) FROM redblue_points_in_solids('spots', 'kept');
INSERT INTO kept SELECT id, geom FROM blocks WHERE id = 104;
SELECT count(*) FROM redblue_points_in_solids('spots', 'kept', on_bad => 'skip');
VACUUM kept;
SELECT count(*) FROM redblue_points_in_solids('spots', 'kept', on_bad => 'skip');
SELECT count(*) FROM redblue_points_in_solids('spots', 'kept', on_bad => 'skip');
SELECT count(*) FROM redblue_points_in_solids('spots', 'kept');
DELETE FROM kept WHERE id = 104;
SELECT count(*) FROM redblue_points_in_solids('spots', 'kept');
RESET redblue.cache;

-- Meshes: solids with a face that cannot be read are ignored as well.
SELECT solids FROM redblue_refine('faces', 'm', solid => 'solid', radius_edge => 'infinity');
SELECT solids FROM redblue_refine_query('SELECT * FROM faces WHERE id < 101', 'm', solid => 'solid', on_bad => 'skip', radius_edge => 'infinity');
SELECT * FROM redblue_last_skipped();
SELECT DISTINCT solid_id FROM m_vertices ORDER BY 1;
-- Solids that share a face keep one of two equal faces.
CREATE TABLE storeys AS SELECT n AS id, ST_Translate(block(0), 0, 0, 2 * n) AS geom FROM generate_series(0, 1) n;
SELECT redblue_tetrahedralize('storeys', 's');
SELECT vertices FROM redblue_tetrahedralize('storeys', 's', on_crossing => 'split');
DROP SCHEMA postgis_solid_check CASCADE;
