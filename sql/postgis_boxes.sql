-- Tests boxes of geometries, and PostGIS's box types.
\set schema postgis_boxes
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql

-- The box of a geometry is that of its points.
CREATE TABLE shapes (id serial, geom geometry);
INSERT INTO shapes (geom) VALUES
	('POINT Z (1 2 3)'),
	('POINT ZM (1 2 3 NaN)'),
	('LINESTRING Z (3 -2 8, -1 5 7, 0 0 9)'),
	('POLYGON Z ((0 0 1, 4 0 1, 0 4 -1, 0 0 1))'),
	('POLYGON Z ((0 0 1, 9 0 1, 0 9 1, 0 0 1), (1 1 50, 2 1 1, 1 2 -50, 1 1 50))'),
	('TRIANGLE Z ((0 0 0, 4 0 0, 0 4 0, 0 0 0))'),
	('MULTIPOINT Z ((1 2 3), (-1 -2 -3))'),
	('MULTILINESTRING Z ((0 0 0, 1 1 1), (10 11 12, 9 8 7))'),
	('MULTIPOLYGON Z (((0 0 0, 4 0 0, 0 4 0, 0 0 0)), ((0 0 10, 4 0 10, 0 4 10, 0 0 10)))'),
	('TIN Z (((0 0 0, 4 0 0, 0 4 0, 0 0 0)), ((4 0 0, 4 4 0, 0 4 3, 4 0 0)))'),
	('POLYHEDRALSURFACE Z (((0 0 0, 4 0 0, 4 4 0, 0 4 0, 0 0 0)), ((0 0 0, 4 0 0, 4 0 9, 0 0 9, 0 0 0)))'),
	('GEOMETRYCOLLECTION Z (POINT Z (7 7 7), GEOMETRYCOLLECTION Z (LINESTRING Z (0 0 0, 1 1 1), POLYGON Z EMPTY, POINT Z (-7 8 9)))'),
	('MULTISURFACE Z (((0 0 1, 4 0 1, 0 4 -1, 0 0 1)))'),
	('COMPOUNDCURVE Z ((0 0 0, 5 5 5), (5 5 5, 6 0 1))');
CREATE VIEW numbers AS SELECT id, ST_XMin(geom) AS lx, ST_YMin(geom) AS ly, ST_ZMin(geom) AS lz, ST_XMax(geom) AS hx, ST_YMax(geom) AS hy, ST_ZMax(geom) AS hz FROM shapes;
-- Each box equals that of its accessors: a probe at each corner, and one ulp beyond each of the six faces.
CREATE FUNCTION beyond(x float8, up boolean) RETURNS float8 LANGUAGE sql IMMUTABLE AS
	$$SELECT CASE WHEN x = 0 THEN CASE WHEN up THEN 5e-324 ELSE -5e-324 END ELSE x + CASE WHEN up THEN 1 ELSE -1 END * abs(x) * 2e-16 END$$;
CREATE TABLE probe AS
SELECT shape * 10 + side AS id, shape, p.* FROM (SELECT id AS shape, * FROM numbers) n, LATERAL (VALUES
	(0, lx, ly, lz, lx, ly, lz), (1, hx, hy, hz, hx, hy, hz),
	(2, beyond(hx, true), ly, lz, 1e9, hy, hz), (3, lx, beyond(hy, true), lz, hx, 1e9, hz), (4, lx, ly, beyond(hz, true), hx, hy, 1e9),
	(5, -1e9, ly, lz, beyond(lx, false), hy, hz), (6, lx, -1e9, lz, hx, beyond(ly, false), hz), (7, lx, ly, -1e9, hx, hy, beyond(lz, false))) p (side, lx, ly, lz, hx, hy, hz);
SELECT s.id, GeometryType(geom), string_agg(side::text, ' ' ORDER BY side) AS met
FROM shapes s LEFT JOIN (redblue_box_pairs('shapes', 'probe') JOIN probe p ON p.id = blue_id AND shape = red_id) ON red_id = s.id GROUP BY s.id, geom ORDER BY s.id;
-- PostGIS computes the box of a polygon from its outer ring; shape 5 has a hole that reaches higher.
SELECT count(*) FROM redblue_box_self_pairs('shapes');
SELECT count(*) FROM numbers a JOIN numbers b ON a.id < b.id AND a.lx <= b.hx AND b.lx <= a.hx AND a.ly <= b.hy AND b.ly <= a.hy AND a.lz <= b.hz AND b.lz <= a.hz;
-- The box in the header, which is rounded outward to float4, is not used.
CREATE TABLE near AS SELECT 1 AS id, 'LINESTRING (0 0, 1.00000001 1)'::geometry AS geom UNION ALL SELECT 2, 'LINESTRING (1.00000002 0, 2 1)';
SELECT a.geom && b.geom AS headers_overlap, (SELECT count(*) FROM redblue_box_self_pairs('near')) AS boxes_overlap FROM near a, near b WHERE a.id = 1 AND b.id = 2;
-- In the plane: geometries without Z, with and without M
CREATE TABLE flat AS SELECT id, ST_Force2D(geom) AS geom FROM shapes;
INSERT INTO flat VALUES (100, NULL), (101, 'POINT EMPTY'), (102, 'LINESTRING M (0 0 5, 1 1 7)'), (103, 'GEOMETRYCOLLECTION Z EMPTY');
SELECT count(*) FROM redblue_box_self_pairs('flat');
SELECT split_part(detail, ', workers', 1) AS detail FROM redblue_last_run() WHERE stage = 'read';
SELECT count(*) FROM flat a JOIN flat b ON a.id < b.id AND box2d(a.geom) && box2d(b.geom);
SELECT count(*) FROM redblue_box_pairs_query('SELECT id, geom FROM flat', 'SELECT 1 AS id, -100 AS lx, -100 AS ly, 100 AS hx, 100 AS hy');
-- Empty geometries have no dimensions.
SELECT count(*) FROM redblue_box_pairs_query('SELECT 1 AS id, ''POINT EMPTY''::geometry AS geom', 'TABLE shapes');
SELECT count(*) FROM redblue_box_pairs_query('SELECT 1 AS id, ''POINT Z EMPTY''::geometry AS geom', 'TABLE flat');
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT 1 AS id, ''POINT Z EMPTY''::geometry AS geom');

-- box3d and box2d
CREATE TABLE b3 AS SELECT id, box3d(geom) AS b FROM shapes UNION ALL SELECT 200, NULL;
CREATE TABLE b2 AS SELECT id, box2d(geom) AS b FROM shapes UNION ALL SELECT 200, NULL;
CREATE VIEW b3_numbers AS SELECT id, ST_XMin(b) AS lx, ST_YMin(b) AS ly, ST_ZMin(b) AS lz, ST_XMax(b) AS hx, ST_YMax(b) AS hy, ST_ZMax(b) AS hz FROM b3 WHERE b IS NOT NULL;
CREATE VIEW b2_numbers AS SELECT id, ST_XMin(b) AS lx, ST_YMin(b) AS ly, ST_XMax(b) AS hx, ST_YMax(b) AS hy FROM b2 WHERE b IS NOT NULL;
SELECT count(*) FROM redblue_box_self_pairs('b3');
SELECT count(*) FROM redblue_box_self_pairs('b3_numbers');
SELECT count(*) FROM redblue_box_self_pairs('b2');
SELECT count(*) FROM redblue_box_self_pairs('b2_numbers');
-- Numbers of all types in each position, compared with the accessors
CREATE TABLE random AS SELECT i AS id, ST_MakeBox2D(ST_MakePoint(x, y), ST_MakePoint(x + i % 13 * 0.3, y + i % 11 * 0.7)) AS b,
	ST_3DMakeBox(ST_MakePoint(x, y, z), ST_MakePoint(x + i % 13 * 0.3, y + i % 11 * 0.7, z - i % 7 * 0.1)) AS c
FROM (SELECT i, i * 7919 % 101 + 1 / 3.0 AS x, i * 104729 % 103 - 50.1 AS y, i * 1299709::int8 % 11 - 1e-5 AS z FROM generate_series(1, 3000) i) s;
CREATE TABLE found2 AS SELECT * FROM redblue_box_self_pairs('random', boxes_geom => 'b');
CREATE TABLE found3 AS SELECT * FROM redblue_box_self_pairs('random', boxes_geom => 'c');
CREATE TABLE truth2 AS SELECT * FROM redblue_box_self_pairs_query('SELECT id, ST_XMin(b) AS lx, ST_YMin(b) AS ly, ST_XMax(b) AS hx, ST_YMax(b) AS hy FROM random');
CREATE TABLE truth3 AS SELECT * FROM redblue_box_self_pairs_query('SELECT id, ST_XMin(c) AS lx, ST_YMin(c) AS ly, ST_ZMin(c) AS lz, ST_XMax(c) AS hx, ST_YMax(c) AS hy, ST_ZMax(c) AS hz FROM random');
SELECT (SELECT count(*) FROM found2) > 1000 AS many, (SELECT count(*) FROM found3) > 100 AS some;
(TABLE found2 EXCEPT TABLE truth2) UNION ALL (TABLE truth2 EXCEPT TABLE found2);
(TABLE found3 EXCEPT TABLE truth3) UNION ALL (TABLE truth3 EXCEPT TABLE found3);
SELECT count(*) FROM (SELECT a.id, b.id FROM random a JOIN random b ON a.id < b.id AND a.b && b.b EXCEPT TABLE found2) t;
-- Choice of the column
SELECT count(*) FROM redblue_box_self_pairs('random');
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT id, b AS geom, c FROM random WHERE id < 10');

-- Errors
CREATE FUNCTION fault(red text, blue text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text;
	message text;
	details text;
	advice text;
BEGIN
	PERFORM * FROM redblue_box_pairs_query('SELECT 42 AS id, ' || red || ' AS geom', 'SELECT 43 AS id, ' || blue || ' AS geom');
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, details = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', code || ' ' || message, nullif(details, ''), nullif(advice, ''));
END $$;
\pset format unaligned
\pset tuples_only on
\set flat '''POINT (0 0)''::geometry'
\set solid '''POINT Z (0 0 0)''::geometry'
SELECT fault(:'flat', :'solid');
SELECT fault(:'solid', :'flat');
SELECT fault(:'flat', '''BOX3D(0 0 0, 1 1 1)''::box3d');
SELECT fault('''BOX(0 0, 1 1)''::box2d', :'solid');
SELECT fault('''BOX(0 0, 1 1)''::box2d', :'flat');
SELECT fault('''BOX3D(0 0 0, 1 1 1)''::box3d', :'solid');
SELECT fault('box3d(ST_SetSRID(''POINT Z (0 0 0)''::geometry, 25832))', :'solid');
SELECT fault(:'solid', 'ST_SetSRID(''POINT Z (0 0 0)''::geometry, 25832)');
SELECT fault('''CIRCULARSTRING (0 0, 1 1, 2 0)''::geometry', :'flat');
SELECT fault('''CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 2 0, 1 -1, 0 0))''::geometry', :'flat');
SELECT fault('ST_CurveToLine(''CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 2 0, 1 -1, 0 0))''::geometry)', :'flat');
SELECT fault('''POINT Z (0 0 NaN)''::geometry', :'solid');
SELECT fault('ST_MakeLine(ST_MakePoint(0, 0), ST_MakePoint(''Infinity'', 1))', :'flat');
SELECT fault('ST_SetSRID(''POINT (0 0)''::geometry, 4326)::geography', :'flat');
\pset format aligned
\pset tuples_only off
SELECT * FROM redblue_box_pairs('shapes', 'flat');
SELECT * FROM redblue_box_pairs_by_key('shapes', 'flat', 'id', 'id') AS (a int, b int);
SET client_min_messages = warning;
DROP SCHEMA postgis_boxes CASCADE;
