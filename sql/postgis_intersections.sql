-- Tests redblue_postgis: intersections of all pairs of rows of two tables, as geometries.
\set schema postgis_intersections
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/refused.sql

-- ---- a box, a roof, walls; in national coordinates ----
CREATE TABLE solid (id int PRIMARY KEY, geom geometry(GeometryZ, 28992));
INSERT INTO solid VALUES
	(1, 'SRID=28992; POLYHEDRALSURFACE Z (((0 0 0, 0 2 0, 2 2 0, 2 0 0, 0 0 0)), ((0 0 2, 2 0 2, 2 2 2, 0 2 2, 0 0 2)), ((0 0 0, 2 0 0, 2 0 2, 0 0 2, 0 0 0)), ((2 0 0, 2 2 0, 2 2 2, 2 0 2, 2 0 0)), ((2 2 0, 0 2 0, 0 2 2, 2 2 2, 2 2 0)), ((0 2 0, 0 0 0, 0 0 2, 0 2 2, 0 2 0)))'),
	(2, 'SRID=28992; POLYGON Z ((10 0 0, 11 0 0, 11 1 0, 10 1 0, 10 0 0))'),
	(3, NULL), (4, 'SRID=28992; POLYGON Z EMPTY');
CREATE TABLE wall (id bigint PRIMARY KEY, geom geometry(GeometryZ, 28992));
INSERT INTO wall VALUES (7000000000, 'SRID=28992; POLYGON Z ((-3 -3 1, 3 -3 1, 3 3 1, -3 3 1, -3 -3 1))'), (8, 'SRID=28992; POLYGON Z ((10.5 0.5 -1, 10.5 0.5 1, 10.5 5 1, 10.5 0.5 -1))'),
	(9, 'SRID=28992; POLYGON Z ((10.5 0.5 0, 12 0.5 0, 12 2 0, 10.5 2 0, 10.5 0.5 0))'), (10, 'SRID=28992; POLYGON Z ((50 0 0, 51 0 0, 51 1 0, 50 0 0))'), (11, 'SRID=28992; POLYGON Z ((2 2 2, 3 3 2, 3 2 3, 2 2 2))');
SELECT red_id, blue_id, ST_AsEWKT(geom) FROM redblue_triangle_intersections('solid', 'wall') ORDER BY 1, 2;
SELECT blue_id, red_id, ST_AsText(geom) FROM redblue_triangle_intersections_query('SELECT id AS nr, geom AS g FROM wall WHERE id < 10', 'TABLE solid', red_id => 'nr', red_geom => 'g') ORDER BY 1, 2;
-- Rows of one id are one object.
SELECT red_id, blue_id, ST_AsText(geom) FROM redblue_triangle_intersections_query('SELECT 1 AS building, * FROM solid', 'TABLE wall', red_object => 'building') ORDER BY 1, 2;
-- In the select list, with a condition, a part of the rows, and columns that are not used
SELECT (i).red_id, ST_Length((i).geom) FROM (SELECT redblue_triangle_intersections('solid', 'wall') AS i OFFSET 0) t ORDER BY 1, 2;
SET redblue.custom_scan = on; SET redblue.backend = auto;
EXPLAIN (VERBOSE, COSTS OFF) SELECT geom FROM redblue_triangle_intersections('solid', 'wall') WHERE ST_Length(geom) > 1;
RESET redblue.backend;
SELECT blue_id FROM redblue_triangle_intersections('solid', 'wall') WHERE ST_Length(geom) > 1;
SELECT count(*) FROM redblue_triangle_intersections('solid', 'wall');
SELECT count(*) FROM (SELECT FROM redblue_triangle_intersections('solid', 'wall') LIMIT 2) t;
SELECT n, count(*), sum(ST_NPoints(geom)) FROM generate_series(1, 2) n LEFT JOIN redblue_triangle_intersections('solid', 'wall') ON blue_id > n GROUP BY 1 ORDER BY 1;
SET redblue.custom_scan = off;
SELECT red_id, blue_id, ST_SRID(geom), ST_AsText(geom) FROM redblue_triangle_intersections('solid', 'wall') ORDER BY 1, 2;
RESET redblue.custom_scan;
-- Columns of numbers have no SRID; that of the other side is used.
CREATE TABLE facet (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO facet VALUES (1, 0, 0, 0, 4, 0, 0, 0, 4, 0), (2, 0, 0, 5, 4, 0, 5, 0, 4, 5), (3, 1, 1, -1, 1, 1, 2, 1, -2, 2);
SELECT red_id, blue_id, ST_AsEWKT(geom) FROM redblue_triangle_intersections('facet', 'facet') ORDER BY 1, 2;
SELECT red_id, blue_id, ST_AsEWKT(geom) FROM redblue_triangle_intersections('facet', 'solid') ORDER BY 1, 2;
-- The doubles nearest to thirds
SELECT ST_X(geom) = 1.0::float8 / 3 AND ST_Y(geom) = 2.0::float8 / 3 AS nearest FROM redblue_triangle_intersections_query($$SELECT 1 AS id, 'TRIANGLE Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))'::geometry AS geom$$,
	$$SELECT 1 AS id, 'TRIANGLE Z ((0.25 0.5 -1, 0.5 1 2, 0 3 2, 0.25 0.5 -1))'::geometry AS geom$$);

-- ---- lines and surfaces ----
CREATE TABLE hole (id int PRIMARY KEY, geom geometry(GeometryZ, 28992));
INSERT INTO hole VALUES (1, 'SRID=28992; LINESTRING Z (1 1 -1, 1 1 5)'), (2, 'SRID=28992; LINESTRING Z (-1 0 0, 0 0 0, 1 0 0, 3 0 0, 3 0 1, 3 2 1)'), (3, 'SRID=28992; LINESTRING Z (10.5 0 0, 10.5 5 0)'), (4, 'SRID=28992; LINESTRING Z (-1 -1 -1, 0 0 0)'),
	(5, 'SRID=28992; LINESTRING Z (0 1 1, 0 1 1)'), (6, 'SRID=28992; MULTILINESTRING Z ((1 1 3, 1 1 1, 1 1 1), (5 5 5, 5 5 8, 1 1 8, 1 1 2))'), (7, 'SRID=28992; LINESTRING Z (1 1 1, 1 1 1, 1 1 3)'), (8, NULL), (9, 'SRID=28992; LINESTRING Z (1 1 2, 1 1 2, 1 1 3, 1 1 3, 1 1 3)');
SELECT segment_id, triangle_id, ST_AsEWKT(geom), from_fraction, to_fraction FROM redblue_segment_triangle_intersections('hole', 'solid') ORDER BY 1, 2;
SELECT segment_id, triangle_id, ST_AsText(geom), from_fraction, to_fraction FROM redblue_segment_triangle_intersections('hole', 'wall') ORDER BY 1, 2;
-- Triangles without area
CREATE TABLE needle (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO needle VALUES (1, 1, 0, 0, 3, 0, 0, 2, 0, 0), (2, 1, 0, 0, 1, 0, 0, 1, 0, 0), (3, 3, -1, 0, 3, -1, 0, 3, 2, 0), (4, 2, 1, 1, 2, -1, -1, 2, -2, -2), (5, 7, 0, 0, -7, 0, 0, 8, 0, 0);
SELECT segment_id, triangle_id, ST_AsText(geom), from_fraction, to_fraction FROM redblue_segment_triangle_intersections_query('SELECT 1 AS id, 0 AS ax, 0 AS ay, 0 AS az, 4 AS bx, 0 AS by, 0 AS bz UNION ALL SELECT 2, 4, 0, 0, 0, 0, 0', 'TABLE needle') ORDER BY 1, 2;
-- Only one of two geometries has Z.
SELECT redblue_intersects('POLYGON Z ((0 0 0, 2 2 0, 2 0 2, 0 2 2, 0 0 0))', 'POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))');
SELECT redblue_dwithin('POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))', 'POLYHEDRALSURFACE Z (((0 0 0, 2 2 0, 2 0 2, 0 2 2, 0 0 0)))', 1);
SELECT redblue_intersects('POLYGON Z ((0 0 0, 2 2 0, 2 0 2, 0 2 2, 0 0 0))', 'POLYGON Z ((0 0 0, 1 0 0, 1 1 0, 0 1 0, 0 0 0))');
-- Each part of a line on a surface: three points, an interval that contains a corner of the line, and a jump between two
-- pieces
SELECT segment_id, triangle_id, fractions, from_fraction = fractions[1][1] AND to_fraction = fractions[array_length(fractions, 1)][2] AS ends
FROM redblue_segment_triangle_intersections_query(
	$$SELECT * FROM (VALUES (1, 'LINESTRING Z (1 1 -2, 1 1 14)'::geometry), (2, 'LINESTRING Z (-1 1 4, 1 1 4, 1 3 4, 1 3 6)'), (3, 'MULTILINESTRING Z ((1 1 -4, 1 1 0), (2 2 0, 2 2 4))'),
		(4, 'LINESTRING Z (1 1 4, 1 1 4)'), (5, 'LINESTRING Z (1 1 -1, 1 1 0, 1 1 0, 1 1 1)'), (6, 'LINESTRING Z (1 1 -1, 1 1 1, 1 1 -1)')) v (id, geom)$$,
	$$SELECT 1 AS id, 'MULTIPOLYGON Z (((0 0 0, 4 0 0, 4 4 0, 0 4 0, 0 0 0)), ((0 0 4, 4 0 4, 4 4 4, 0 4 4, 0 0 4)), ((0 0 8, 4 0 8, 4 4 8, 0 4 8, 0 0 8)))'::geometry AS geom$$) ORDER BY 1;
SELECT from_fraction = 1.0::float8 / 3 AND to_fraction = from_fraction AS thirds FROM redblue_segment_triangle_intersections_query('SELECT 1 AS id, 0 AS ax, 0 AS ay, 0 AS az, 3 AS bx, 0 AS by, 0 AS bz',
	'SELECT 1 AS id, 1 AS ax, -1 AS ay, -1 AS az, 1 AS bx, 1 AS by, -1 AS bz, 1 AS cx, 0 AS cy, 1 AS cz');

-- ---- in the plane ----
CREATE TABLE road (id int, geom geometry);
INSERT INTO road VALUES (1, 'LINESTRING (0 0, 6 3)'), (2, 'LINESTRING (0 0, 2 1, 2 5)'), (3, 'MULTILINESTRING ((4 2, 9 9), (1 3, 8 3))'), (4, 'LINESTRING Z (2 0 7, 2 9 9)'), (5, 'POLYGON ((2 0, 4 0, 4 4, 2 4, 2 0))'), (6, 'LINESTRING (20 20, 21 21)');
SELECT red_id, blue_id, ST_AsText(geom) FROM redblue_segment_intersections('road', 'road') WHERE red_id < blue_id ORDER BY 1, 2;
SELECT red_id, blue_id, ST_AsText(geom) FROM redblue_segment_intersections_query('SELECT * FROM road WHERE id < 3', 'SELECT * FROM road WHERE id > 3') ORDER BY 1, 2;

-- ---- comparison with the joins, and with the function of two geometries ----
CREATE TABLE lattice AS SELECT s AS set, i AS id, ST_GeomFromText('TIN Z (' || string_agg(t, ', ') || ')') AS geom FROM (SELECT s, i, format('((%s, %s, %s, %1$s))', p[1], p[2], p[3]) AS t FROM
	(SELECT s, i, k, ARRAY(SELECT format('%s %s %s', (i * 7 + s) % 5 + hash % 4, hash / 4 % 4, hash / 16 % 4) FROM (SELECT abs(hashtext(format('%s %s %s %s', s, i, k, c))) AS hash FROM generate_series(1, 3) c) h) AS p
	FROM generate_series(1, 2) s, generate_series(1, 60) i, generate_series(1, 3) k) corner) triangle GROUP BY 1, 2;
SELECT count(*), count(*) FILTER (WHERE p.red_id IS NULL OR i.red_id IS NULL) AS not_in_both FROM redblue_triangle_pairs_query('SELECT * FROM lattice WHERE set = 1', 'SELECT * FROM lattice WHERE set = 2') p
	FULL JOIN redblue_triangle_intersections_query('SELECT * FROM lattice WHERE set = 1', 'SELECT * FROM lattice WHERE set = 2') i USING (red_id, blue_id);
SELECT count(*), count(*) FILTER (WHERE i.geom::bytea <> redblue_intersection(a.geom, b.geom)::bytea) AS others FROM redblue_triangle_intersections_query('SELECT * FROM lattice WHERE set = 1', 'SELECT * FROM lattice WHERE set = 2') i
	JOIN lattice a ON a.set = 1 AND a.id = red_id JOIN lattice b ON b.set = 2 AND b.id = blue_id;
CREATE TABLE stick AS SELECT id, ST_MakeLine(ARRAY(SELECT geom FROM ST_DumpPoints(l.geom) LIMIT 1 + id % 5)) AS geom FROM lattice l WHERE set = 1;
SELECT count(*), count(*) FILTER (WHERE i.geom::bytea <> redblue_intersection(a.geom, b.geom)::bytea) AS others,
	count(*) FILTER (WHERE from_fraction > to_fraction OR from_fraction < 0 OR to_fraction > 1) AS not_in_order,
	count(*) FILTER (WHERE abs(ST_3DDistance(CASE WHEN ST_3DLength(a.geom) = 0 THEN a.geom ELSE ST_3DLineInterpolatePoint(a.geom, from_fraction) END, i.geom)) > 1e-12 OR ST_3DDistance(CASE WHEN ST_3DLength(a.geom) = 0 THEN a.geom ELSE ST_3DLineInterpolatePoint(a.geom, to_fraction) END, i.geom) > 1e-12) AS not_there
	FROM redblue_segment_triangle_intersections_query('SELECT * FROM stick WHERE ST_NPoints(geom) > 1', 'SELECT * FROM lattice WHERE set = 2') i JOIN stick a ON a.id = segment_id JOIN lattice b ON b.set = 2 AND b.id = triangle_id;
-- The fractions are those of the first and the last point of the intersection: nothing lies before or after them.
SELECT count(*), count(*) FILTER (WHERE from_fraction > 0 AND ST_3DIntersects(ST_MakeLine(ST_3DLineInterpolatePoint(a.geom, 0), ST_3DLineInterpolatePoint(a.geom, from_fraction - 1e-9)), b.geom)
	OR to_fraction < 1 AND ST_3DIntersects(ST_MakeLine(ST_3DLineInterpolatePoint(a.geom, to_fraction + 1e-9), ST_3DLineInterpolatePoint(a.geom, 1)), b.geom)) AS beyond
	FROM redblue_segment_triangle_intersections_query('SELECT * FROM stick WHERE ST_NPoints(geom) = 2 AND ST_3DLength(geom) > 0', 'SELECT * FROM lattice WHERE set = 2') i JOIN stick a ON a.id = segment_id JOIN lattice b ON b.set = 2 AND b.id = triangle_id;
-- With a cached table, and with one of which some rows have changed
CREATE TABLE kept AS SELECT * FROM lattice WHERE set = 1;
CREATE TABLE other AS SELECT * FROM lattice WHERE set = 2;
VACUUM kept;
SET client_min_messages = warning;
SELECT rows FROM redblue_cache('kept');
RESET client_min_messages;
SELECT count(*) FROM redblue_triangle_intersections('kept', 'other');
UPDATE kept SET geom = ST_Translate(geom, 0, 0, 0.5) WHERE id = 7;
SELECT count(*) = (SELECT count(*) FROM kept a, other b WHERE redblue_intersects(a.geom, b.geom)) AS as_many, count(*) FILTER (WHERE i.geom::bytea <> redblue_intersection(a.geom, b.geom)::bytea) AS others
	FROM redblue_triangle_intersections('kept', 'other') i JOIN kept a ON a.id = red_id JOIN other b ON b.id = blue_id;

-- ---- invalid calls ----
SELECT refused($$SELECT * FROM redblue_triangle_intersections('solid', NULL)$$);
SELECT refused($$SELECT * FROM redblue_triangle_intersections('solid', 'wall', red_geom => 'area')$$);
SELECT refused($$SELECT * FROM redblue_triangle_intersections_query('TABLE solid', 'SELECT id, ST_SetSRID(geom, 7415) AS geom FROM wall')$$);
SELECT refused($$SELECT * FROM redblue_triangle_intersections('road', 'solid')$$);
SELECT refused($$SELECT * FROM redblue_segment_triangle_intersections_query('SELECT 1 AS id, ''CIRCULARSTRING Z (0 0 0, 1 1 0, 2 0 0)''::geometry AS geom', 'TABLE solid')$$);
SET client_min_messages = warning;
DROP SCHEMA postgis_intersections CASCADE;
