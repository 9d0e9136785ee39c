-- Tests redblue_postgis: measures of geometries.
\set schema postgis_measures
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/refused.sql
-- A box of any size, and one of 4 with a cavity of 2
CREATE FUNCTION box(x float8, y float8, z float8, dx float8, dy float8, dz float8) RETURNS geometry LANGUAGE sql IMMUTABLE AS $$
SELECT ST_Translate(ST_Scale('POLYHEDRALSURFACE Z (((0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0)), ((0 0 1, 1 0 1, 1 1 1, 0 1 1, 0 0 1)), ((0 0 0, 1 0 0, 1 0 1, 0 0 1, 0 0 0)), ((1 0 0, 1 1 0, 1 1 1, 1 0 1, 1 0 0)), ((1 1 0, 0 1 0, 0 1 1, 1 1 1, 1 1 0)), ((0 1 0, 0 0 0, 0 0 1, 0 1 1, 0 1 0)))', dx, dy, dz), x, y, z) $$;
CREATE TABLE solids (id int PRIMARY KEY, what text, geom geometry);
INSERT INTO solids VALUES
	(1, 'box', box(0, 0, 0, 2, 3, 4)),
	(2, 'box with a cavity', ST_Collect(box(0, 0, 0, 4, 4, 4), box(1, 1, 1, 2, 2, 2))),
	(3, 'tetrahedron', 'TIN Z (((0 0 0, 0 1 0, 1 0 0, 0 0 0)), ((0 0 0, 1 0 0, 0 0 1, 0 0 0)), ((0 0 0, 0 0 1, 0 1 0, 0 0 0)), ((1 0 0, 0 1 0, 0 0 1, 1 0 0)))'),
	(4, 'tetrahedron turned inside out', 'TIN Z (((0 0 0, 1 0 0, 0 1 0, 0 0 0)), ((0 0 0, 0 0 1, 1 0 0, 0 0 0)), ((0 0 0, 0 1 0, 0 0 1, 0 0 0)), ((1 0 0, 0 0 1, 0 1 0, 1 0 0)))');
SELECT id, what, redblue_volume(geom), redblue_area(geom) FROM solids ORDER BY id;
-- Both functions agree with redblue_solid_measures.
SELECT count(*) AS rows, count(*) FILTER (WHERE redblue_volume(geom) = volume AND redblue_area(geom) = area) AS same FROM solids JOIN redblue_solid_measures('solids') USING (id);
SELECT id, volume, area, cx, cy, cz FROM redblue_solid_measures('solids') WHERE volume > 1 ORDER BY id;
SELECT id FROM solids WHERE redblue_volume(geom) BETWEEN 1 AND 30 ORDER BY id;
-- Areas of open surfaces, and in the plane
SELECT redblue_area('POLYGON Z ((0 0 0, 3 0 0, 3 0 4, 0 0 4, 0 0 0), (1 0 1, 2 0 1, 2 0 2, 1 0 2, 1 0 1))') AS wall, redblue_area('POLYGON ((0 0, 3 0, 3 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))') AS plane,
	redblue_area('TRIANGLE Z ((0 0 0, 1 0 0, 0 1 1, 0 0 0))') = sqrt(0.5) AS slanted, redblue_area('TRIANGLE ((0 0, 1 1, 2 2, 0 0))') AS none,
	redblue_area('MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))') AS two;
SELECT redblue_area('POLYGON EMPTY') IS NULL AS empty, redblue_area(NULL) IS NULL AS none, redblue_volume('TIN Z EMPTY') IS NULL AS empty_solid;
-- Results beyond the range of doubles
SELECT redblue_volume(box(0, 0, 0, 1e-200, 1e-200, 1e-200)), redblue_volume(box(0, 0, 0, 1e150, 1e150, 1e150)), redblue_area(box(0, 0, 0, 1e150, 1e150, 1e150));
-- The volume that two solids share
SELECT a.id, b.id, redblue_overlap_volume(a.geom, b.geom) FROM solids a JOIN solids b ON a.id <= b.id ORDER BY 1, 2;
SELECT redblue_overlap_volume(a.geom, box(2, 0, 0, 1, 1, 1)) AS touching, redblue_overlap_volume(a.geom, box(9, 0, 0, 1, 1, 1)) AS apart, redblue_overlap_volume(a.geom, box(1.5, 1, 1, 9, 9, 9)) AS box,
	redblue_overlap_volume(a.geom, 'TIN Z EMPTY') IS NULL AS empty, redblue_overlap_volume(a.geom, NULL) IS NULL AS none FROM solids a WHERE id = 1;
SELECT count(*) AS pairs, count(*) FILTER (WHERE volume = redblue_overlap_volume(a.geom, b.geom)) AS same FROM redblue_solid_overlaps('solids', 'solids') JOIN solids a ON a.id = red_id JOIN solids b ON b.id = blue_id;
-- The depth of what they share
SELECT a.id, b.id, redblue_overlap_depth(a.geom, b.geom) FROM solids a JOIN solids b ON a.id <= b.id ORDER BY 1, 2;
SELECT redblue_overlap_depth(a.geom, box(2, 0, 0, 1, 1, 1)) AS touching, redblue_overlap_depth(a.geom, box(9, 0, 0, 1, 1, 1)) AS apart, redblue_overlap_depth(a.geom, box(1.5, 1, 1, 9, 9, 9)) AS box,
	redblue_overlap_depth(a.geom, 'TIN Z EMPTY') IS NULL AS empty, redblue_overlap_depth(a.geom, NULL) IS NULL AS none FROM solids a WHERE id = 1;
SELECT count(*) AS pairs, count(*) FILTER (WHERE depth = redblue_overlap_depth(a.geom, b.geom)) AS same FROM redblue_solid_overlaps('solids', 'solids', depth => true) JOIN solids a ON a.id = red_id JOIN solids b ON b.id = blue_id;
SELECT redblue_overlap_depth(geom, 'POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))') FROM solids WHERE id = 1;
SELECT redblue_overlap_volume(geom, 'POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))') FROM solids WHERE id = 1;
SELECT redblue_overlap_volume('POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))', geom) FROM solids WHERE id = 1;
SELECT refused($$SELECT redblue_overlap_volume('POLYGON ((0 0, 1 0, 0 1, 0 0))', geom) FROM solids WHERE id = 1$$);
SELECT refused($$SELECT redblue_overlap_volume(geom, ST_SetSRID(geom, 4979)) FROM solids WHERE id = 1$$);
-- Refusals
SELECT refused($$SELECT redblue_volume('POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))')$$);
SELECT redblue_volume('TIN Z (((0 0 0, 0 1 0, 1 0 0, 0 0 0)), ((0 0 0, 1 0 0, 0 0 1, 0 0 0)), ((0 0 0, 0 0 1, 0 1 0, 0 0 0)))');
SELECT refused($$SELECT redblue_volume('POLYGON ((0 0, 1 0, 0 1, 0 0))')$$);
SELECT refused($$SELECT redblue_volume('POINT Z (0 0 0)')$$);
SELECT refused($$SELECT redblue_area('LINESTRING (0 0, 1 1)')$$);
SELECT refused($$SELECT redblue_area('POLYGON Z ((0 0 0, 1 1 0, 1 0 0, 0 1 0, 0 0 0))')$$);
SET client_min_messages = warning;
DROP SCHEMA postgis_measures CASCADE;
