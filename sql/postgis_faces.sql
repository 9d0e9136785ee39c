-- Tests faces of any shape.
\set schema postgis_faces
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql

-- Needles on a grid of points (i + 0.3, j + 0.4), with id 10 i + j: which of them pierce a face
CREATE TABLE needle AS SELECT 10 * i + j AS id, i + 0.3 AS x, j + 0.4 AS y,
	format('TRIANGLE Z ((%s %s -50, %1$s %2$s 50, %1$s %2$s 0, %1$s %2$s -50))', i + 0.3, j + 0.4)::geometry AS geom
	FROM generate_series(0, 9) i, generate_series(0, 9) j;
CREATE TABLE shape (id serial, note text, geom geometry);
INSERT INTO shape (note, geom) VALUES
	('square', 'POLYGON Z ((0 0 0, 4 0 0, 4 4 0, 0 4 0, 0 0 0))'),
	('clockwise', 'POLYGON Z ((0 4 0, 4 4 0, 4 0 0, 0 0 0, 0 4 0))'),
	('not quite flat', 'POLYGON Z ((0 0 0, 4 0 0, 4 4 0.001, 0 4 0, 0 0 0))'),
	('hole', 'POLYGON Z ((0 0 0, 9 0 0, 9 9 0, 0 9 0, 0 0 0), (2 2 0, 2 7 0, 7 7 0, 7 2 0, 2 2 0))'),
	('two holes that touch', 'POLYGON Z ((0 0 0, 9 0 0, 9 9 0, 0 9 0, 0 0 0), (2 2 0, 2 4 0, 4 4 0, 4 2 0, 2 2 0), (4 4 0, 4 6 0, 6 6 0, 6 4 0, 4 4 0))'),
	('keyhole', 'POLYGON Z ((0 0 0, 9 0 0, 9 9 0, 0 9 0, 0 0 0, 2 2 0, 2 7 0, 7 7 0, 7 2 0, 2 2 0, 0 0 0))'),
	('L', 'POLYGON Z ((0 0 0, 9 0 0, 9 2 0, 2 2 0, 2 9 0, 0 9 0, 0 0 0))'),
	('twenty corners', ST_Force3D(ST_Buffer('POINT (5 5)', 3, 5))),
	('repeated corners', 'POLYGON Z ((0 0 0, 0 0 0, 4 0 0, 4 0 0, 4 4 0, 4 4 0, 4 4 0, 0 4 0, 0 0 0))'),
	('steep', 'POLYGON Z ((0 0 0, 9 0 0, 9 9 45, 0 9 45, 0 0 0))'),
	('spike', 'POLYGON Z ((0 0 0, 4 0 0, 4 4 0, 8 8 0, 4 4 0, 0 4 0, 0 0 0))'),
	('surface', 'POLYHEDRALSURFACE Z (((0 0 0, 4 0 0, 4 4 0, 0 4 0, 0 0 0)), ((5 5 0, 9 5 0, 9 9 0, 5 9 0, 5 5 0)))'),
	('several', 'MULTIPOLYGON Z (((0 0 0, 4 0 0, 4 4 0, 0 4 0, 0 0 0)), EMPTY, ((5 5 0, 9 5 0, 9 9 0, 5 9 0, 5 5 0), (6 6 0, 6 8 0, 8 8 0, 8 6 0, 6 6 0)))'),
	('nested', 'GEOMETRYCOLLECTION Z (GEOMETRYCOLLECTION Z (POLYGON Z ((0 0 0, 4 0 0, 4 4 0, 0 4 0, 0 0 0))), POLYGON Z ((5 5 0, 9 5 0, 9 9 0, 5 5 0)))'),
	('with M', 'POLYGON ZM ((0 0 0 1, 4 0 0 2, 4 4 0 3, 0 4 0 4, 0 0 0 5))');
CREATE TABLE pierced AS SELECT red_id, count(*), sum(blue_id) FROM redblue_triangle_pairs('shape', 'needle') GROUP BY red_id;
SELECT s.id, note, p.count, p.sum FROM shape s LEFT JOIN pierced p ON p.red_id = s.id ORDER BY s.id;
-- PostGIS finds the same needles, seen from above.
SELECT count(*) FROM shape s JOIN pierced p ON p.red_id = s.id
	WHERE p.count <> (SELECT count(*) FROM needle n WHERE EXISTS (SELECT FROM ST_Dump(s.geom) d
		WHERE ST_Intersects(ST_MakeValid(ST_Force2D(d.geom)), ST_Point(n.x, n.y))));

-- Faces read from EWKB, with any first corner and in both directions, give the same.
CREATE FUNCTION bytes(geometry) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
CREATE FUNCTION geom(bytea) RETURNS geometry LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
CREATE TABLE old AS SELECT id, geom(set_byte(bytes(geom), 3, get_byte(bytes(geom), 3) & 15)) AS geom FROM shape;
SELECT redblue_triangle_pair_count('old', 'needle') = redblue_triangle_pair_count('shape', 'needle') AS as_many, count(*) AS others
FROM (SELECT red_id, blue_id FROM redblue_triangle_pairs('old', 'needle') EXCEPT SELECT red_id, blue_id FROM redblue_triangle_pairs('shape', 'needle')) d;
CREATE TABLE turned AS SELECT id, ST_Reverse(geom) AS geom FROM shape;
SELECT redblue_triangle_pair_count('turned', 'needle') = redblue_triangle_pair_count('shape', 'needle') AS as_many, count(*) AS others
FROM (SELECT red_id, blue_id FROM redblue_triangle_pairs('turned', 'needle') EXCEPT SELECT red_id, blue_id FROM redblue_triangle_pairs('shape', 'needle')) d;
-- A cube of six squares meets the same needles as one of twelve triangles.
CREATE TABLE cube AS SELECT 1 AS id, 'POLYHEDRALSURFACE Z (((0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0)), ((0 0 1, 1 0 1, 1 1 1, 0 1 1, 0 0 1)), ((0 0 0, 1 0 0, 1 0 1, 0 0 1, 0 0 0)),
	((1 1 0, 0 1 0, 0 1 1, 1 1 1, 1 1 0)), ((0 1 0, 0 0 0, 0 0 1, 0 1 1, 0 1 0)), ((1 0 0, 1 1 0, 1 1 1, 1 0 1, 1 0 0)))'::geometry AS geom;
CREATE TABLE ray AS SELECT n AS id, format('TRIANGLE Z ((0.5 0.5 0.5, %s %s %s, 0.5 0.5 0.5, 0.5 0.5 0.5))', 9 * sin(n), 9 * cos(n), 9 * sin(7 * n))::geometry AS geom FROM generate_series(1, 500) n;
SELECT count(*) FROM redblue_triangle_pairs('cube', 'ray');
-- A long polygon gives the same as its pieces.
CREATE TABLE long AS SELECT 1 AS id, ST_Force3D(ST_Buffer('POINT (5 5)', 4, 2500)) AS geom;
SELECT count(*) FROM redblue_triangle_pairs('long', 'needle');
SELECT ST_NPoints(geom) FROM long;
-- More than the memory limit
SET redblue.memory_limit = '1MB';
\set VERBOSITY terse
SELECT count(*) FROM redblue_triangle_pairs('long', 'needle');
\set VERBOSITY default
RESET redblue.memory_limit;

-- Canceled while a face is read
CREATE TABLE star AS SELECT 1 AS id, ST_MakePolygon(ST_AddPoint(l, ST_StartPoint(l))) AS geom
	FROM (SELECT ST_MakeLine(ST_MakePoint((1 + i % 1000 * 7919 % 1000) * cos(i * pi() / 150000), (1 + i % 1000 * 7919 % 1000) * sin(i * pi() / 150000), 0) ORDER BY i) AS l FROM generate_series(0, 299999) i) c;
SET LOCAL statement_timeout = '30ms'\; SELECT count(*) FROM redblue_triangle_pairs('star', 'needle');
SELECT count(*) FROM redblue_triangle_pairs('shape', 'needle') WHERE red_id = 1;

-- A tolerance: the corners of the second face are half a unit from its plane. A triangle always lies in its own plane.
CREATE TABLE bent (gid int PRIMARY KEY, geom geometry);
INSERT INTO bent VALUES (7, 'POLYHEDRALSURFACE Z (((0 0 0, 4 0 0, 4 4 0, 0 4 0, 0 0 0)), ((0 0 0, 4 0 1, 4 4 0, 0 4 1, 0 0 0)))'),
	(8, 'TRIANGLE Z ((1 1 -1, 1 1 9, 2 2 9, 1 1 -1))');
SELECT * FROM redblue_triangle_self_pairs('bent');
SELECT * FROM redblue_triangle_self_pairs('bent', face_tolerance => 0.5);
SELECT * FROM redblue_triangle_self_pairs('bent', face_tolerance => 0.49);
SELECT redblue_triangle_pair_count_query('TABLE bent', 'TABLE bent', 'gid', 'gid', face_tolerance => 0);
SELECT * FROM redblue_triangle_self_pairs_by_key('bent', face_tolerance => 0.1) AS (a int, b int);
SELECT * FROM redblue_triangle_pairs('bent', 'bent', face_tolerance => 1e300) WHERE red_id < blue_id;
-- Read by workers, too
CREATE TABLE many AS SELECT i AS gid, ST_Translate(geom, 3 * i, 0, 0) AS geom FROM bent, generate_series(1, 2000) i WHERE gid = 7;
SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0;
SELECT redblue_triangle_self_pair_count('many', 'gid', face_tolerance => 0.5), redblue_triangle_self_pair_count('many', 'gid');
SELECT redblue_triangle_self_pair_count('many', 'gid', face_tolerance => 0.49);
RESET min_parallel_table_scan_size; RESET parallel_setup_cost;

-- Invalid faces: which face, where, why, and what helps
CREATE FUNCTION fault(shape text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text;
	message text;
	details text;
	advice text;
BEGIN
	PERFORM * FROM redblue_triangle_pairs_query('SELECT * FROM postgis_faces.needle', format('SELECT 42 AS id, %L::geometry AS geom', shape));
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, details = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', code || ' ' || message, nullif(details, ''), nullif(advice, ''));
END $$;
\pset format unaligned
\pset tuples_only on
SELECT fault('POLYGON Z ((0 0 0, 4 4 0, 4 0 0, 0 4 0, -1 2 0, 0 0 0))');
SELECT fault('POLYGON Z ((0 5 0, 4 5 4, 4 5 0, 0 5 4, 0 5 0))');
SELECT fault('MULTIPOLYGON Z (((0 0 0, 4 0 0, 4 4 0, 0 4 0, 0 0 0)), EMPTY, ((0 0 0, 9 0 0, 9 9 0, 4 4 0, 4 4 1, 0 9 0, 0 0 0)))');
SELECT fault('POLYHEDRALSURFACE Z (((0 0 0, 4 0 0, 4 4 0, 0 4 0, 0 0 0)), ((0 0 0, 9 0 0, 9 9 0, 0 9 0, 0 0 0), (1 1 0, 1 2 0, 2 2 0, 1 1 0), (20 1 0, 20 2 0, 21 2 0, 20 1 0)))');
SELECT fault('POLYGON Z ((0 0 0, 9 0 0, 9 9 0, 0 9 0, 0 0 0), (1 1 0, 1 8 0, 8 8 0, 8 1 0, 1 1 0), (2 2 0, 2 3 0, 3 3 0, 2 2 0))');
SELECT fault('GEOMETRYCOLLECTION Z (POLYGON Z ((0 0 0, 4 0 0, 4 4 0, 0 0 0)), POLYGON Z ((0 0 NaN, 4 0 0, 4 4 0, 0 4 0, 0 0 NaN)))');
SELECT fault('POLYHEDRALSURFACE Z (((0 0 0, 4 4 0, 4 0 0, 0 4 0, -1 2 0, 0 0 0)))');
-- The hints help: a corner where edges cross; a separate face for parts outside the ring or in a hole.
SELECT fault('POLYGON Z ((0 0 0, 2 2 0, 4 4 0, 4 0 0, 2 2 0, 0 4 0, -1 2 0, 0 0 0))');
SELECT fault(ST_AsEWKT(ST_MakeValid('POLYGON Z ((0 0 0, 4 4 0, 4 0 0, 0 4 0, -1 2 0, 0 0 0))')));
SELECT fault('MULTIPOLYGON Z (((0 0 0, 9 0 0, 9 9 0, 0 9 0, 0 0 0), (1 1 0, 1 8 0, 8 8 0, 8 1 0, 1 1 0)), ((2 2 0, 2 3 0, 3 3 0, 2 2 0)))');
\pset tuples_only off
\pset format aligned

-- Walls of no width on an edge of a cube: each ring covers this edge once, and crosses nothing.
SELECT wall, closed, self_intersections, (SELECT count(*) FROM redblue_part_self_intersections_query(format('SELECT 1 AS id, %L::geometry AS geom', cube))) AS crossings
FROM (VALUES ('1 0 0, 1 0 1, 1 0 1, 1 0 0'), ('1 0 0, 1 0 1, 1 0 1, 1 0 0, 1 0 0'), ('1 0 0, 1 0 0, 1 0 1, 1 0 1, 1 0 0'),
	('1 0 0, 1 0 1, 1 0 0, 1 0 1, 1 0 0'), ('1 0 0, 1 0 0.5, 1 0 1, 1 0 0')) wall (wall),
	LATERAL (SELECT 'POLYHEDRALSURFACE Z (((0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0)), ((0 0 1, 1 0 1, 1 1 1, 0 1 1, 0 0 1)), ((0 0 0, 1 0 0, 1 0 1, 0 0 1, 0 0 0)), ((1 0 0, 1 1 0, 1 1 1, 1 0 1, 1 0 0)),
		((1 1 0, 0 1 0, 0 1 1, 1 1 1, 1 1 0)), ((0 1 0, 0 0 0, 0 0 1, 0 1 1, 0 1 0)), ((' || wall || ')))' AS cube) c,
	LATERAL redblue_solid_check_query(format('SELECT 1 AS id, %L::geometry AS geom', cube));

-- A parallelogram with small integer coordinates is flat, and tolerances are compared exactly.
SELECT geom, (SELECT count(*) FROM redblue_triangle_pairs_query(format('SELECT 1 AS id, %L::geometry AS geom', geom), format('SELECT 1 AS id, %L::geometry AS geom', geom), face_tolerance => 0)) AS pairs
FROM (VALUES ('POLYGON Z ((0 0 0, 7 -3 5, 5 6 4, -2 9 -1, 0 0 0))'), ('POLYGON Z ((1 7 3, 4 9 -2, 7 5 -2, 4 3 3, 1 7 3))')) v (geom);

SET client_min_messages = warning;
DROP SCHEMA postgis_faces CASCADE;
