-- Tests redblue_postgis: whether a geometry lies in a solid.
\set schema postgis_pairs_inside
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/refused.sql

CREATE TABLE solid (id int PRIMARY KEY, geom geometry);
INSERT INTO solid VALUES (1, 'POLYHEDRALSURFACE Z (((0 0 0, 0 4 0, 4 4 0, 4 0 0, 0 0 0)), ((0 0 4, 4 0 4, 4 4 4, 0 4 4, 0 0 4)), ((0 0 0, 4 0 0, 4 0 4, 0 0 4, 0 0 0)), ((4 0 0, 4 4 0, 4 4 4, 4 0 4, 4 0 0)), ((4 4 0, 0 4 0, 0 4 4, 4 4 4, 4 4 0)), ((0 4 0, 0 0 0, 0 0 4, 0 4 4, 0 4 0)))');
-- A solid with a cavity
INSERT INTO solid SELECT 2, ST_Collect(ARRAY(SELECT geom FROM ST_Dump((SELECT geom FROM solid WHERE id = 1)) UNION ALL SELECT ST_Translate(ST_Scale(geom, 0.25, 0.25, 0.25), 1.5, 1.5, 1.5) FROM ST_Dump((SELECT geom FROM solid WHERE id = 1))));
INSERT INTO solid SELECT 3, ST_Translate(ST_Scale(geom, 0.5, 0.5, 0.5), 1, 1, 1) FROM solid WHERE id = 1;
INSERT INTO solid SELECT 4, ST_Translate(ST_Scale(geom, 0.5, 0.5, 0.5), 0, 1, 1) FROM solid WHERE id = 1;
INSERT INTO solid SELECT 5, ST_Translate(geom, 10, 0, 0) FROM solid WHERE id = 1;
SELECT a.id, b.id, redblue_inside(a.geom, b.geom), relation FROM solid a CROSS JOIN solid b LEFT JOIN redblue_solid_pairs('solid', 'solid') ON red_id = a.id AND blue_id = b.id WHERE redblue_inside(a.geom, b.geom) OR relation <> 'equal' ORDER BY 1, 2;
SELECT count(*) FROM solid a JOIN solid b ON redblue_inside(a.geom, b.geom) <> EXISTS (SELECT FROM redblue_solid_pairs('solid', 'solid') WHERE relation = 'inside' AND red_id = a.id AND blue_id = b.id);
CREATE TABLE thing (id int PRIMARY KEY, what text, geom geometry);
INSERT INTO thing VALUES (1, 'point inside', 'POINT Z (1 1 1)'), (2, 'point on the boundary', 'POINT Z (0 1 1)'), (3, 'point in the cavity', 'POINT Z (2 2 2)'), (4, 'points inside and on the boundary', 'MULTIPOINT Z ((1 1 1), (0 1 1), (4 4 4))'),
	(5, 'points on the boundary', 'MULTIPOINT Z ((0 1 1), (4 4 4))'), (6, 'points inside and outside', 'MULTIPOINT Z ((1 1 1), (5 1 1))'), (7, 'line inside', 'LINESTRING Z (1 1 1, 1 1 3)'), (8, 'line from wall to wall', 'LINESTRING Z (0 1 1, 4 1 1)'),
	(9, 'line in a wall', 'LINESTRING Z (0 1 1, 0 2 1)'), (10, 'line that leaves', 'LINESTRING Z (1 1 1, 1 1 4.0000000000000009)'), (11, 'line through the cavity', 'LINESTRING Z (0 2 2, 4 2 2)'), (12, 'line along the cavity', 'LINESTRING Z (0 1.5 2, 4 1.5 2)'),
	(13, 'lines inside and outside', 'MULTILINESTRING Z ((1 1 1, 1 1 3), (1 1 5, 1 1 6))'), (14, 'line to a wall and along it', 'LINESTRING Z (1 1 1, 0 1 1, 0 3 1)'), (15, 'line that is a point inside', 'LINESTRING Z (1 1 1, 1 1 1)'), (16, 'nothing', 'POINT Z EMPTY'), (17, 'nothing', NULL),
	(18, 'line over an edge and back', 'LINESTRING Z (1 1 1, 4 0 1, 3 3 3)'), (19, 'collection of lines', 'GEOMETRYCOLLECTION Z (LINESTRING Z (1 1 1, 1 1 3), MULTILINESTRING Z ((1 1 1, 2 1 1)))');
SELECT t.id, what, redblue_inside(t.geom, b.geom) AS box, redblue_inside(t.geom, c.geom) AS with_cavity FROM thing t, solid b, solid c WHERE b.id = 1 AND c.id = 2 ORDER BY 1;
SELECT redblue_inside('POINT Z (1 1 1)', 'POLYHEDRALSURFACE Z EMPTY'), redblue_inside(NULL, 'POLYHEDRALSURFACE Z EMPTY');
-- Geometries written by old versions of PostGIS have other flags, and a box that is not read.
CREATE FUNCTION bytes(geometry) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
CREATE FUNCTION geom(bytea) RETURNS geometry LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
CREATE TABLE old AS SELECT id, geom(set_byte(bytes(geom), 3, get_byte(bytes(geom), 3) & 15)) AS geom FROM (SELECT id, geom FROM thing UNION ALL SELECT -id, postgis_dropbbox(geom) FROM solid WHERE id < 3) g WHERE NOT ST_IsEmpty(geom);
SELECT count(*) FILTER (WHERE redblue_inside(t.geom, b.geom)) AS inside, count(*) FILTER (WHERE redblue_inside(t.geom, b.geom) <> redblue_inside(o.geom, b.geom)) AS things, count(*) FILTER (WHERE redblue_inside(t.geom, b.geom) <> redblue_inside(t.geom, c.geom)) AS solids, count(*) FILTER (WHERE redblue_inside(t.geom, b.geom) <> redblue_inside(o.geom, c.geom)) AS both
	FROM thing t JOIN old o USING (id) CROSS JOIN solid b JOIN old c ON c.id = -b.id;
-- Beyond the range of float, the type of PostGIS's boxes
SELECT redblue_inside('POINT Z (1e300 1e300 1e300)', ST_Scale(geom, 1e300, 1e300, 1e300)) FROM solid WHERE id = 1;
-- Many of both, compared with the joins
CREATE TABLE grain AS SELECT i AS id, ST_MakePoint(i % 7 - 1, i / 7 % 7 - 1, i / 49 - 1) AS geom FROM generate_series(0, 342) i;
CREATE INDEX ON grain USING gist (geom gist_geometry_ops_nd);
CREATE TABLE beam AS SELECT row_number() OVER () AS id, ST_MakeLine(a.geom, b.geom) AS geom FROM grain a JOIN grain b ON (a.id * 31 + b.id * 17) % 199 = 0 AND a.id <> b.id;
SELECT count(*), count(*) FILTER (WHERE redblue_inside(g.geom, b.geom)) AS inside, count(*) FILTER (WHERE redblue_inside(g.geom, b.geom) <> coalesce(side = 'inside', false)) AS others
	FROM grain g CROSS JOIN solid b LEFT JOIN redblue_points_in_solids('grain', 'solid') p ON point_id = g.id AND solid_id = b.id;
SELECT count(*), count(*) FILTER (WHERE redblue_inside(l.geom, b.geom)) AS inside, count(*) FILTER (WHERE redblue_inside(l.geom, b.geom) <> coalesce(metres > ST_3DLength(l.geom) - 1e-9 AND NOT on_boundary, false)) AS others
	FROM beam l CROSS JOIN solid b LEFT JOIN (SELECT segment_id, solid_id, sum(length) AS metres, bool_and(on_boundary) AS on_boundary FROM redblue_segments_in_solids('beam', 'solid') GROUP BY 1, 2) s ON segment_id = l.id AND solid_id = b.id;
ANALYZE grain;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM solid b JOIN grain g ON redblue_inside(g.geom, b.geom) WHERE b.id = 3;
RESET enable_seqscan;
SELECT b.id, count(*) FROM solid b JOIN grain g ON redblue_inside(g.geom, b.geom) GROUP BY 1 ORDER BY 1;
SELECT refused($$SELECT redblue_inside('POINT Z (1 1 1)', 'POLYGON Z ((0 0 0, 4 0 4, 0 4 4, 0 0 0))')$$);
SELECT refused($$SELECT redblue_inside('POINT (1 1)', (SELECT geom FROM solid WHERE id = 1))$$);
SELECT refused($$SELECT redblue_inside('POINT Z (1 1 NaN)', (SELECT geom FROM solid WHERE id = 1))$$);
SELECT refused($$SELECT redblue_inside('SRID=7415; POINT Z (1 1 1)', (SELECT geom FROM solid WHERE id = 1))$$);
SELECT refused($$SELECT redblue_inside('CIRCULARSTRING Z (1 1 1, 2 2 1, 3 1 1)', (SELECT geom FROM solid WHERE id = 1))$$);
SELECT refused($$SELECT redblue_inside('GEOMETRYCOLLECTION Z (POINT Z (1 1 1), LINESTRING Z (1 1 1, 2 2 2))', (SELECT geom FROM solid WHERE id = 1))$$);
SELECT refused($$SELECT redblue_inside('POINT Z (1 1 1)', 'LINESTRING Z (0 0 0, 4 4 4)')$$);
SET client_min_messages = warning;
DROP SCHEMA postgis_pairs_inside CASCADE;
