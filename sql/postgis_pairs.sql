-- Tests redblue_postgis: exact functions of two geometries, one pair at a time, and with PostGIS's indexes.
\set schema postgis_pairs
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/refused.sql

-- ---- in space, and in the plane ----
CREATE FUNCTION pg_temp.asked(a geometry, b geometry) RETURNS TABLE (meets boolean, crosses boolean, contact text, distance float8, within_1 boolean) LANGUAGE sql AS
'SELECT redblue_intersects(a, b), redblue_crosses(a, b), redblue_contact(a, b), redblue_distance(a, b), redblue_dwithin(a, b, 1)';
WITH asked (what, a, b) AS (VALUES
	('line in an area', 'LINESTRING (1 1, 2 2)', 'POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))'),
	('line in a hole', 'LINESTRING (1 1, 2 2)', 'POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0), (0.5 0.5, 5 0.5, 5 5, 0.5 5, 0.5 0.5))'),
	('line on the edge of a hole', 'LINESTRING (0.5 1, 0.5 2)', 'POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0), (0.5 0.5, 5 0.5, 5 5, 0.5 5, 0.5 0.5))'),
	('areas side by side', 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))', 'POLYGON ((1 0.5, 2 0, 2 1, 1 1, 1 0.5))'),
	('areas at a corner', 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))', 'POLYGON ((1 1, 2 1, 2 2, 1 2, 1 1))'),
	('an area within another', 'POLYGON ((1 1, 2 1, 2 2, 1 2, 1 1))', 'POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0))'),
	('lines that cross', 'LINESTRING (0 0, 2 2)', 'LINESTRING (0 2, 2 0)'),
	('lines that touch', 'LINESTRING (0 0, 2 2)', 'LINESTRING (1 1, 2 0)'),
	('points', 'POINT (0 0)', 'POINT (3 4)'),
	('a point on a line', 'MULTIPOINT (7 7, 1 1)', 'LINESTRING (0 0, 3 3)'),
	('a point nearly on a line', 'POINT (0.1 0.1)', 'LINESTRING (0 0, 1 1.0000000000000002)'),
	('a point above an area', 'POINT Z (5 5 1)', 'POLYGON Z ((0 0 0, 10 0 0, 10 10 0, 0 10 0, 0 0 0))'),
	('the same without its Z', 'POINT (5 5)', 'POLYGON Z ((0 0 0, 10 0 0, 10 10 0, 0 10 0, 0 0 0))'),
	('a wall, seen from above', 'POINT (5 0)', 'POLYGON Z ((0 0 0, 10 0 0, 10 0 10, 0 0 10, 0 0 0))'),
	('lines one above the other', 'LINESTRING Z (0 0 0, 2 2 0)', 'LINESTRING Z (0 2 3, 2 0 3)'),
	('the same without Z', 'LINESTRING (0 0, 2 2)', 'LINESTRING Z (0 2 3, 2 0 3)'),
	('M does not matter', 'POINT ZM (5 5 0 1)', 'LINESTRING ZM (0 0 0 7, 9 9 0 8)'),
	('a drill hole and a surface', 'LINESTRING Z (1 1 -5, 1 1 5)', 'TIN Z (((0 0 0, 4 0 0, 0 4 0, 0 0 0)), ((4 0 0, 4 4 0, 0 4 0, 4 0 0)))'),
	('of one that ends on it', 'LINESTRING Z (1 1 0, 1 1 5)', 'TIN Z (((0 0 0, 4 0 0, 0 4 0, 0 0 0)), ((4 0 0, 4 4 0, 0 4 0, 4 0 0)))'),
	('a collection', 'GEOMETRYCOLLECTION (POINT (9 9), POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0)))', 'GEOMETRYCOLLECTION (LINESTRING (5 5, 9 9), POINT EMPTY)'),
	('nothing', 'POLYGON EMPTY', 'POINT (0 0)'),
	('null', NULL, 'POINT (0 0)'))
SELECT what, q.* FROM asked, pg_temp.asked(a, b) q;

-- The boundary of "within" is exact: one part in 2^53 makes a difference.
SELECT redblue_dwithin('POINT (0 0)', 'POINT (3 4)', 5) AS at, redblue_dwithin('POINT (0 0)', 'POINT (3 4)', 4.999999999999999) AS less,
	redblue_dwithin('POINT (0 0)', 'POINT (3 4)', 'Infinity') AS any, redblue_dwithin('POINT (0 0)', 'POINT EMPTY', 'Infinity') AS nothing, redblue_dwithin('POINT (0 0)', 'POINT (0 0)', 0) AS zero;

-- ---- invalid calls ----
SELECT * FROM refused($$SELECT redblue_intersects('SRID=4326; POINT (0 0)', 'SRID=25832; POINT (0 0)')$$);
SELECT * FROM refused($$SELECT redblue_intersects('POINT (0 0)', 'CIRCULARSTRING (0 0, 1 1, 2 0)')$$);
SELECT * FROM refused($$SELECT redblue_crosses('POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))', 'POINT (0 0)')$$);
SELECT * FROM refused($$SELECT redblue_distance('POINT (0 0)', 'MULTIPOINT (1 1, NaN 0)')$$);
SELECT * FROM refused($$SELECT redblue_dwithin('POINT (0 0)', 'POINT (3 4)', -1)$$);
SELECT * FROM refused($$SELECT redblue_dwithin('POINT (0 0)', 'POINT (3 4)', 'NaN')$$);
SELECT * FROM refused($$SELECT * FROM redblue_faces('LINESTRING (0 0, 1 1)')$$);

-- ---- the triangles ----
SELECT face, part, ST_AsText(geom), ST_SRID(geom) FROM
	redblue_faces('SRID=25832; POLYHEDRALSURFACE Z (((0 0 0, 0 6 0, 4 6 0, 4 0 0, 0 0 0), (1 1 0, 2 1 0, 2 2 0, 1 2 0, 1 1 0)), ((0 0 0, 4 0 0, 4 0 3, 0 0 0)))');
SELECT face, part, ST_AsText(geom) FROM redblue_faces('MULTIPOLYGON (((0 0, 1 0, 1 1, 0 1, 0 0)), ((3 3, 4 3, 3 4, 3 3)))');
SELECT count(*) FROM redblue_faces('POLYGON EMPTY');

-- ---- comparison with the joins ----
CREATE TABLE pile AS
SELECT i AS id, ST_SetSRID(ST_GeomFromText(format('POLYGON Z ((%s %s %s, %s %s %s, %s %s %s, %1$s %2$s %3$s))', i % 7, i / 7 % 6, i * 5 % 4, i * 3 % 8, i % 5, i % 3, i * 11 % 9, i * 13 % 7, i / 5 % 5)), 5514) AS geom
FROM generate_series(1, 200) i;
SELECT count(*) AS join, count(*) FILTER (WHERE redblue_intersects(a.geom, b.geom)) AS meet FROM redblue_triangle_pairs('pile', 'pile') p JOIN pile a ON a.id = red_id JOIN pile b ON b.id = blue_id;
SELECT count(*) AS meet FROM pile a, pile b WHERE redblue_intersects(a.geom, b.geom);
SELECT count(*) AS pairs, count(*) FILTER (WHERE redblue_contact(a.geom, b.geom) = (ARRAY['touch', 'cross'])[crosses::int + 1] || (ARRAY[' in points', ' along lines', ' along areas'])[dimension + 1]) AS alike
FROM redblue_triangle_contacts('pile', 'pile') c JOIN pile a ON a.id = red_id JOIN pile b ON b.id = blue_id;
SELECT count(*) AS pairs, count(*) FILTER (WHERE distance = redblue_distance(a.geom, b.geom) AND redblue_dwithin(a.geom, b.geom, 1.5)) AS alike FROM redblue_triangle_pairs_within('pile', 'pile', 1.5) w JOIN pile a ON a.id = red_id JOIN pile b ON b.id = blue_id;
SELECT count(*) AS within FROM pile a, pile b WHERE redblue_dwithin(a.geom, b.geom, 1.5);
CREATE TABLE street AS SELECT i AS id, ST_SetSRID(ST_MakeLine(ARRAY[ST_MakePoint(i % 17, i / 17), ST_MakePoint(i * 7 % 19, i * 5 % 13), ST_MakePoint(i * 3 % 11, i % 12)]), 25832) AS geom FROM generate_series(1, 150) i;
SELECT count(*) FROM redblue_segment_pairs('street', 'street');
SELECT count(*) AS meet, count(*) FILTER (WHERE redblue_crosses(a.geom, b.geom)) AS cross FROM street a, street b WHERE redblue_intersects(a.geom, b.geom);
SELECT count(*) FILTER (WHERE crosses) AS cross FROM redblue_segment_contacts('street', 'street');
-- Geometries with many parts, which are joined
SELECT redblue_intersects(a.all_of, b.all_of), redblue_distance(a.all_of, ST_Translate(b.all_of, 0, 0, 100)), redblue_contact(a.all_of, b.all_of), redblue_dwithin(a.all_of, ST_Translate(b.all_of, 0, 0, 100), 96), redblue_dwithin(a.all_of, ST_Translate(b.all_of, 0, 0, 100), 95)
FROM (SELECT ST_Collect(geom) AS all_of FROM pile WHERE id % 2 = 0) a, (SELECT ST_Collect(geom) AS all_of FROM pile WHERE id % 2 = 1) b;

-- ---- indexes ----
-- The index condition of a plan
CREATE FUNCTION index_condition(query text) RETURNS SETOF text LANGUAGE plpgsql SET redblue."join" = off AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%Index Cond%' THEN RETURN NEXT regexp_replace(trim(line), '''[0-9A-F]{20,}''', '''...''', 'g'); END IF;
	END LOOP;
END $$;
SET redblue."join" = off;
CREATE TABLE parcel AS SELECT i AS id, ST_SetSRID(ST_MakeEnvelope(i % 100, i / 100, i % 100 + 1, i / 100 + 1), 25832) AS geom FROM generate_series(0, 9999) i;
CREATE INDEX parcel_gist ON parcel USING gist (geom);
ANALYZE parcel;
SELECT * FROM index_condition($q$SELECT s.id, count(*) FROM street s JOIN parcel p ON redblue_intersects(p.geom, s.geom) GROUP BY s.id$q$);
SELECT count(*), sum(s.id * p.id) FROM street s JOIN parcel p ON redblue_intersects(p.geom, s.geom);
SELECT count(*), sum(s.id * p.id) FROM street s JOIN parcel p ON redblue_dwithin(s.geom, p.geom, 0.25);
SELECT * FROM index_condition($q$SELECT * FROM parcel WHERE redblue_dwithin(geom, 'SRID=25832; POINT (50.5 20.5)', 2)$q$);
SELECT count(*) FROM parcel WHERE redblue_dwithin(geom, 'SRID=25832; POINT (50.5 20.5)', 2);
DROP INDEX parcel_gist;
CREATE INDEX parcel_spgist ON parcel USING spgist (geom);
SELECT * FROM index_condition($q$SELECT * FROM parcel WHERE redblue_crosses(geom, 'SRID=25832; LINESTRING (50.5 20.5, 52.5 20.5)')$q$);
SELECT count(*) FROM parcel WHERE redblue_crosses(geom, 'SRID=25832; LINESTRING (50.5 20.5, 52.5 20.5)');
DROP INDEX parcel_spgist;
SELECT count(*), sum(s.id * p.id) FROM street s JOIN parcel p ON redblue_intersects(p.geom, s.geom);
SELECT count(*), sum(s.id * p.id) FROM street s JOIN parcel p ON redblue_dwithin(s.geom, p.geom, 0.25);
-- Indexes with n dimensions: M is part of the index, but does not matter.
CREATE TABLE sample AS SELECT i AS id, ST_MakePoint(i % 20, i / 20, i % 2, i) AS geom FROM generate_series(1, 4000) i;
CREATE INDEX sample_nd ON sample USING gist (geom gist_geometry_ops_nd);
ANALYZE sample;
SELECT * FROM index_condition($q$SELECT * FROM sample WHERE redblue_intersects(geom, 'LINESTRING ZM (0 0 1 99999, 20 20 1 99999)')$q$);
SELECT count(*) FROM sample WHERE redblue_intersects(geom, 'LINESTRING ZM (0 0 1 99999, 20 20 1 99999)');
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT count(*) FROM sample WHERE redblue_intersects(geom, 'LINESTRING ZM (0 0 1 99999, 20 20 1 99999)');
SET enable_indexscan = off; SET enable_seqscan = on;
SELECT count(*) FROM sample WHERE redblue_intersects(geom, 'LINESTRING ZM (0 0 1 99999, 20 20 1 99999)');
RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_indexscan;
SELECT ST_AsText(redblue_reach('LINESTRING ZM (0 0 1 99999, 20 20 1 99999)')), redblue_reach('POINT EMPTY') IS NULL AS empty, ST_XMin(redblue_reach('POINT (0.1 2)', 0.2)) <= 0.1::numeric - 0.2::numeric AS outward;

-- ---- repeated evaluation of an expression: large values, in TOAST, the same value again, and other values ----
CREATE TABLE long_line AS SELECT k AS id, ST_MakeLine(ARRAY(SELECT ST_MakePoint(i, sin(i + k) * 1e6) FROM generate_series(1, 3000) i)) AS geom FROM generate_series(1, 3) k;
ALTER TABLE long_line ALTER geom SET STORAGE EXTERNAL;
INSERT INTO long_line SELECT id + 3, geom FROM long_line;
SELECT a.id, string_agg(redblue_intersects(a.geom, ST_MakePoint(b.id * 10, sin(b.id * 10 + b.id % 4) * 1e6))::text, ' ' ORDER BY b.id) FROM long_line a, generate_series(1, 6) AS b (id) GROUP BY a.id ORDER BY a.id;
CREATE FUNCTION pg_temp.twice(a geometry, b geometry) RETURNS boolean[] LANGUAGE plpgsql IMMUTABLE AS
$$ DECLARE found boolean[]; BEGIN FOR i IN 1 .. 4 LOOP found := found || redblue_intersects(CASE WHEN i % 2 = 0 THEN a ELSE b END, a); END LOOP; RETURN found; END $$;
SELECT pg_temp.twice('POINT (0 0)', 'POINT (0 1)');
PREPARE at (geometry) AS SELECT count(*) FROM parcel WHERE redblue_intersects(geom, $1);
EXECUTE at ('SRID=25832; POINT (3 3)');
EXECUTE at ('SRID=25832; POINT (3.5 3.5)');

-- ---- intersections ----
SELECT what, ST_AsText(redblue_intersection(a, b)) AS shared, redblue_contact(a, b) FROM (VALUES
	('areas', 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))'::geometry, 'POLYGON ((2 2, 6 2, 6 6, 2 6, 2 2))'::geometry),
	('the first one turned the other way', 'POLYGON ((0 0, 0 4, 4 4, 4 0, 0 0))', 'POLYGON ((2 2, 6 2, 6 6, 2 6, 2 2))'),
	('around a hole', 'POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (3 3, 6 3, 6 6, 3 6, 3 3))', 'POLYGON ((2 2, 7 2, 7 7, 2 7, 2 2))'),
	('two of one', 'POLYGON ((0 0, 9 0, 9 2, 0 2, 0 0))', 'POLYGON ((1 1, 2 1, 2 3, 7 3, 7 1, 8 1, 8 4, 1 4, 1 1))'),
	('side by side', 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))', 'POLYGON ((1 0.5, 2 0, 2 1, 1 1, 1 0.5))'),
	('line over a hole', 'LINESTRING (0 0, 10 10)', 'POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (3 3, 6 3, 6 6, 3 6, 3 3))'),
	('lines', 'LINESTRING (0 0, 2 2)', 'LINESTRING (0 2, 2 0)'),
	('lines in one', 'LINESTRING (0 0, 3 0, 3 3)', 'LINESTRING (1 0, 5 0)'),
	('points', 'MULTIPOINT (1 1, 2 2, 0 5, 12 12)', 'POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0))'),
	('of several kinds', 'GEOMETRYCOLLECTION (POINT (1 1), LINESTRING (2 2, 2 9), POLYGON ((4 4, 8 4, 8 8, 4 8, 4 4)))', 'GEOMETRYCOLLECTION (POLYGON ((0 0, 6 0, 6 6, 0 6, 0 0)))'),
	('nothing', 'POINT (1 1)', 'POINT (0 0)'),
	('a house and a level: a closed curve', 'POLYHEDRALSURFACE Z (((0 0 0, 0 2 0, 2 2 0, 2 0 0, 0 0 0)), ((0 0 2, 2 0 2, 2 2 2, 0 2 2, 0 0 2)), ((0 0 0, 2 0 0, 2 0 2, 0 0 2, 0 0 0)), ((2 0 0, 2 2 0, 2 2 2, 2 0 2, 2 0 0)), ((2 2 0, 0 2 0, 0 2 2, 2 2 2, 2 2 0)), ((0 2 0, 0 0 0, 0 0 2, 0 2 2, 0 2 0)))',
		'POLYGON Z ((-3 -3 1, 3 -3 1, 3 3 1, -3 3 1, -3 -3 1))'),
	('a drill hole and a surface', 'LINESTRING Z (1 1 -1, 1 1.5 1)', 'TIN Z (((0 0 0, 4 0 0, 0 4 0, 0 0 0)), ((4 0 0, 4 4 0, 0 4 0, 4 0 0)))'),
	('faces of two solids', 'POLYGON Z ((2 0 0, 2 2 0, 2 2 2, 2 0 2, 2 0 0))', 'POLYHEDRALSURFACE Z (((2 1 1, 2 3 1, 4 3 1, 4 1 1, 2 1 1)), ((2 1 1, 2 1 3, 2 3 3, 2 3 1, 2 1 1)))')) AS v (what, a, b);
SELECT ST_AsEWKT(redblue_intersection('SRID=25832; LINESTRING ZM (0 0 0 5, 1 1 1 6)', 'SRID=25832; POLYGON Z ((0 0 0.3, 1 0 0.3, 1 1 0.3, 0 1 0.3, 0 0 0.3))'));
-- Nearest doubles: a third
SELECT ST_X(p) = 1 / 3.0::float8 AS x, ST_Y(p) = 1 / 3.0::float8 AS y FROM redblue_intersection('LINESTRING (0 0, 1 1)', 'LINESTRING (0 0.5, 1 0)') p;
-- Many faces: a wave and a plane; there are as few lines as curves, each closed or with both ends on the rim
WITH corner AS (SELECT i, j, ST_MakePoint(i, j, sin(i / 3.0) * cos(j / 3.0)) AS p FROM generate_series(0, 30) i, generate_series(0, 30) j), wave AS (
	SELECT ST_Collect(t) AS w FROM corner a JOIN corner b ON (b.i, b.j) = (a.i + 1, a.j) JOIN corner c ON (c.i, c.j) = (a.i + 1, a.j + 1) JOIN corner d ON (d.i, d.j) = (a.i, a.j + 1),
		LATERAL (VALUES (ST_MakePolygon(ST_MakeLine(ARRAY[a.p, b.p, c.p, a.p]))), (ST_MakePolygon(ST_MakeLine(ARRAY[a.p, c.p, d.p, a.p])))) f (t)),
shape AS (SELECT redblue_intersection(w, 'POLYGON Z ((-1 -1 0.25, 40 -1 0.25, 40 40 0.25, -1 40 0.25, -1 -1 0.25))') AS s FROM wave)
SELECT GeometryType(s), ST_NumGeometries(s) AS lines, (SELECT count(*) FROM ST_Dump(s) WHERE ST_IsClosed(geom)) AS closed, ST_ZMin(s), ST_ZMax(s) FROM shape;
SELECT * FROM refused($$SELECT redblue_intersection('SRID=4326; POINT (0 0)', 'SRID=25832; POINT (0 0)')$$);
SELECT * FROM refused($$SELECT redblue_intersection('CIRCULARSTRING (0 0, 1 1, 2 0)', 'POINT (0 0)')$$);
-- A corner of one polygon on an edge of another one, whose ends are rounded: the edge also has this corner, so that the
-- corner lies on the correct side of it
SELECT ST_IsValid(s) AS valid, ST_AsText(s, 3) AS shared FROM redblue_intersection('POLYGON ((0 3, 0 7, 1 9, 9 9, 9 3, 0 3))', 'MULTIPOLYGON (((-4 5, 0 9, 2 7, 3 6, 4 7, 6 9, 10 5, 7 2, 0 1, -4 5)), ((2 7, 2 9, 3 8, 4 8, 4 7, 2 7)))') s;

-- ---- coordinates beyond the range of float, the type of PostGIS's boxes ----
SELECT redblue_intersects(a, b), redblue_distance(a, b), redblue_dwithin(a, b, 1), redblue_contact(a, b), ST_AsText(redblue_intersection(a, b)) FROM (VALUES
	('POLYGON ((0 0, 1e300 0, 0 1e300, 0 0))'::geometry, 'POINT (1e300 0)'::geometry), ('POINT (0 -1e300)', 'LINESTRING (0 0, 0 -1e300, 1 1)'), ('LINESTRING (1e300 0, -1e300 0)', 'POLYGON ((1e39 -1, 2e39 -1, 2e39 1, 1e39 -1))')) v (a, b);
