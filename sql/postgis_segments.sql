-- Tests segments from geometry columns.
\set schema postgis_segments
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql

-- Drill holes: a row is one hole, no matter how many parts it has and how often it enters and leaves
CREATE TABLE ore (id int, geom geometry);
INSERT INTO ore VALUES
	(1, 'TIN Z (((0 0 0, 4 0 0, 0 4 0, 0 0 0)), ((4 0 0, 4 4 0, 0 4 0, 4 0 0)))'),
	(2, 'POLYGON Z ((0 0 10, 4 0 10, 0 4 10, 0 0 10))');
CREATE TABLE hole (id serial, note text, geom geometry);
INSERT INTO hole (note, geom) VALUES
	('one piece', 'LINESTRING Z (1 1 -1, 1 1 1)'),
	('three pieces, in and out', 'LINESTRING Z (1 1 1, 1 1 -1, 2 1 -1, 2 1 11)'),
	('a corner on a face', 'LINESTRING Z (0 1 1, 1 1 0, 2 1 1)'),
	('past it', 'LINESTRING Z (5 5 1, 5 5 -1, 9 9 -1)'),
	('two lines', 'MULTILINESTRING Z ((9 9 9, 8 8 8), (1 1 9, 1 1 11))'),
	('a collection', 'GEOMETRYCOLLECTION Z (LINESTRING Z (9 9 9, 8 8 8), GEOMETRYCOLLECTION Z (MULTILINESTRING Z ((3 3 1, 3 3 -1))))'),
	('with M', 'LINESTRING ZM (1 1 -1 7, 1 1 1 NaN)'),
	('of no length', 'LINESTRING Z (1 1 0, 1 1 0)'),
	('of no length, four points', 'LINESTRING Z (1 1 0, 1 1 0, 1 1 0, 1 1 0)'),
	('one point', ST_MakeLine(ARRAY['POINT Z (1 1 0)'::geometry])),
	('null', NULL), ('empty', 'LINESTRING EMPTY'), ('empty', 'MULTILINESTRING Z EMPTY'), ('empty', 'POINT EMPTY'), ('empty', 'CURVEPOLYGON EMPTY'),
	('empty within', 'MULTILINESTRING Z (EMPTY, (1 1 -1, 1 1 1))');
SELECT h.id, note, string_agg(triangle_id::text, ' ' ORDER BY triangle_id) AS ore
FROM hole h LEFT JOIN redblue_segment_triangle_pairs('hole', 'ore') p ON segment_id = h.id GROUP BY h.id, note ORDER BY h.id;
SELECT split_part(detail, ', workers', 1) AS detail FROM redblue_last_run() WHERE stage = 'read';
SELECT detail FROM redblue_last_run() WHERE stage = 'emit';
-- Named columns, the query form, and columns of numbers on the other side
SELECT count(*) FROM redblue_segment_triangle_pairs('hole', 'ore', segments_geom => 'geom', triangles_geom => 'geom');
SELECT count(*) FROM redblue_segment_triangle_pairs_query('SELECT id, geom AS path FROM hole', 'SELECT 5 AS id, 0 AS ax, 0 AS ay, 0 AS az, 4 AS bx, 0 AS by, 0 AS bz, 0 AS cx, 4 AS cy, 0 AS cz');

-- A winding hole of 400 parts, compared with one row per part
CREATE TABLE winding AS SELECT k AS id, ST_MakeLine(ARRAY(SELECT ST_MakePoint(cos(i * 0.3 + k), sin(i * 0.3 + k) * 2, 5 - i * 0.02) FROM generate_series(0, 400) i ORDER BY i)) AS geom FROM generate_series(1, 20) k;
CREATE TABLE piece AS SELECT id * 1000 + i AS id, ST_X(ST_PointN(geom, i)) AS ax, ST_Y(ST_PointN(geom, i)) AS ay, ST_Z(ST_PointN(geom, i)) AS az,
	ST_X(ST_PointN(geom, i + 1)) AS bx, ST_Y(ST_PointN(geom, i + 1)) AS by, ST_Z(ST_PointN(geom, i + 1)) AS bz FROM winding, generate_series(1, 400) i;
CREATE TABLE plate AS SELECT i AS id, x AS ax, -1 AS ay, z AS az, x + 0.4 AS bx, 1 AS by, z AS bz, x AS cx, 0.5 AS cy, z + 0.5 AS cz
FROM (SELECT i, i % 10 * 0.2 - 1 AS x, i / 10 * 0.25 - 3 AS z FROM generate_series(0, 299) i) s;
CREATE TABLE by_piece AS SELECT DISTINCT segment_id / 1000 AS segment_id, triangle_id FROM redblue_segment_triangle_pairs('piece', 'plate');
SELECT count(*) > 1000 AS many FROM by_piece;
(TABLE by_piece EXCEPT SELECT * FROM redblue_segment_triangle_pairs('winding', 'plate')) UNION ALL (SELECT * FROM redblue_segment_triangle_pairs('winding', 'plate') EXCEPT TABLE by_piece);
SELECT count(*) = (SELECT count(*) FROM by_piece) AS once FROM redblue_segment_triangle_pairs('winding', 'plate');

-- In the plane: lines, and rings of polygons; Z and M are ignored.
CREATE TABLE map (id serial, note text, geom geometry);
INSERT INTO map (note, geom) VALUES
	('line', 'LINESTRING (0 0, 10 0)'),
	('line high above', 'LINESTRING Z (5 -1 100, 5 1 200)'),
	('line with M', 'LINESTRING M (6 -1 1, 6 1 NaN)'),
	('Z is NaN', 'LINESTRING Z (7 -1 NaN, 7 1 0)'),
	('polygon around', 'POLYGON ((-5 -5, 20 -5, 20 5, -5 5, -5 -5))'),
	('polygon across', 'POLYGON ((8 -1, 12 -1, 12 1, 8 1, 8 -1))'),
	('hole touches', 'POLYGON ((-9 -9, 30 -9, 30 9, -9 9, -9 -9), (10 0, 11 3, 10 3, 10 0))'),
	('two polygons', 'MULTIPOLYGON (((0 50, 1 50, 0 51, 0 50)), ((1 0, 2 0, 1 -1, 1 0)))'),
	('collection', 'GEOMETRYCOLLECTION (LINESTRING (90 90, 91 91), POLYGON ((3 -1, 4 -1, 3 1, 3 -1)))'),
	('point on it', 'LINESTRING (4 0, 4 0)'),
	('null', NULL), ('empty', 'POLYGON EMPTY'), ('empty', 'MULTILINESTRING EMPTY');
SELECT m.id, note, EXISTS (SELECT FROM redblue_segment_self_pairs('map') WHERE (id1, id2) = (1, m.id)) AS redblue,
	ST_Intersects(ST_Force2D(geom), 'LINESTRING (0 0, 10 0)') AS postgis
FROM map m WHERE id > 1 AND geom IS NOT NULL AND NOT ST_IsEmpty(geom) ORDER BY m.id;
-- A line inside a polygon does not meet its rings.
SELECT string_agg(id1 || '-' || id2, ' ' ORDER BY id1, id2) FROM redblue_segment_self_pairs('map') WHERE id2 = 5 OR id1 = 5;
SELECT count(*) FROM redblue_segment_pairs('map', 'map');
SELECT count(*) FROM redblue_segment_self_pairs('map');
SELECT * FROM redblue_segment_pairs_query('SELECT 1 AS id, 2 AS ax, -1 AS ay, 2 AS bx, 1 AS by', 'TABLE map') ORDER BY 2;
-- Each ring of each polygon, and each part of each line
CREATE TABLE cells AS SELECT i AS id, ST_Buffer(ST_MakePoint(i * 7919 % 100, i * 104729 % 97), 1 + i % 5, 3) AS geom FROM generate_series(1, 300) i;
CREATE TABLE cell_edge AS SELECT id * 1000 + path[2] AS id, ST_X(geom) AS ax, ST_Y(geom) AS ay,
	lead(ST_X(geom)) OVER w AS bx, lead(ST_Y(geom)) OVER w AS by FROM (SELECT id, (ST_DumpPoints(geom)).* FROM cells) p WINDOW w AS (PARTITION BY id, path[1] ORDER BY path[2]);
DELETE FROM cell_edge WHERE bx IS NULL;
CREATE TABLE by_edge AS SELECT DISTINCT least(id1 / 1000, id2 / 1000) AS id1, greatest(id1 / 1000, id2 / 1000) AS id2 FROM redblue_segment_self_pairs('cell_edge') WHERE id1 / 1000 <> id2 / 1000;
SELECT count(*) > 100 AS many FROM by_edge;
(TABLE by_edge EXCEPT SELECT * FROM redblue_segment_self_pairs('cells')) UNION ALL (SELECT * FROM redblue_segment_self_pairs('cells') EXCEPT TABLE by_edge);

-- Geometries written by old versions of PostGIS are read through ST_AsEWKB.
CREATE FUNCTION bytes(geometry) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
CREATE FUNCTION geom(bytea) RETURNS geometry LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
CREATE TABLE old AS SELECT id, geom(set_byte(bytes(geom), 3, get_byte(bytes(geom), 3) & 15)) AS geom FROM map;
(SELECT * FROM redblue_segment_pairs('old', 'map') EXCEPT SELECT * FROM redblue_segment_pairs('map', 'old'))
UNION ALL (SELECT * FROM redblue_segment_pairs('old', 'old') EXCEPT SELECT * FROM redblue_segment_pairs('map', 'map'));
SELECT count(*) FROM redblue_segment_pairs('old', 'map');

-- Errors
CREATE FUNCTION fault(shape text, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text;
	message text;
	details text;
	advice text;
BEGIN
	EXECUTE format('SELECT count(*) FROM ' || call, format('SELECT 42 AS id, %L::geometry AS geom', shape));
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, details = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', code || ' ' || message, nullif(details, ''), nullif(advice, ''));
END $$;
\pset format unaligned
\pset tuples_only on
\set solid 'redblue_segment_triangle_pairs_query(%L, ''SELECT * FROM postgis_segments.ore'')'
\set flat 'redblue_segment_self_pairs_query(%L)'
SELECT fault('LINESTRING (0 0, 1 1)', :'solid');
SELECT fault('LINESTRING M (0 0 0, 1 1 1)', :'solid');
SELECT fault('SRID=25832;LINESTRING Z (0 0 0, 1 1 1)', :'solid');
SELECT fault('LINESTRING Z (0 0 0, 1 1 NaN)', :'solid');
SELECT fault('POINT Z (0 0 0)', :'solid');
SELECT fault('POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))', :'solid');
SELECT fault('TIN Z (((0 0 0, 4 0 0, 0 4 0, 0 0 0)))', :'solid');
SELECT fault('GEOMETRYCOLLECTION Z (LINESTRING Z (0 0 0, 1 1 1), POINT Z (0 0 0))', :'solid');
SELECT fault('CIRCULARSTRING Z (0 0 0, 1 1 0, 2 0 0)', :'solid');
SELECT fault('COMPOUNDCURVE Z (CIRCULARSTRING Z (0 0 0, 1 1 0, 2 0 0), (2 0 0, 3 0 0))', :'solid');
SELECT fault('CURVEPOLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))', :'solid');
SELECT fault('POINT (0 0)', :'flat');
SELECT fault('TRIANGLE ((0 0, 1 0, 0 1, 0 0))', :'flat');
SELECT fault('CIRCULARSTRING (0 0, 1 1, 2 0)', :'flat');
SELECT fault('MULTISURFACE (((0 0, 1 0, 0 1, 0 0)), CURVEPOLYGON ((0 0, 1 0, 0 1, 0 0)))', :'flat');
SELECT fault(ST_MakeLine(ST_MakePoint(0, 0), ST_MakePoint(1, 'Infinity'))::text, :'flat');
-- The hints help.
SELECT fault(ST_AsEWKT(ST_Force3D('LINESTRING (0 0, 1 1)'::geometry)), :'solid');
SELECT fault(ST_AsEWKT(ST_CurveToLine('CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 2 0, 1 -1, 0 0))'::geometry)), :'flat');
\pset format aligned
\pset tuples_only off
SELECT count(*) FROM redblue_segment_pairs_query('SELECT * FROM map', 'SELECT id, ST_SetSRID(geom, 4326) AS geom FROM map');
SET client_min_messages = warning;
DROP SCHEMA postgis_segments CASCADE;
