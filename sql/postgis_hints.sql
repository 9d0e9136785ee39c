-- Tests hints for tables as new users have them.
\set schema hints
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql

-- A shapefile: gid, and a geometry column of any name
CREATE TABLE shapes (gid serial PRIMARY KEY, the_geom geometry);
INSERT INTO shapes (the_geom) VALUES ('TRIANGLE Z ((0 0 0, 4 0 0, 0 4 0, 0 0 0))'), ('TRIANGLE Z ((1 1 -1, 1 1 1, 5 5 5, 1 1 -1))');
SELECT * FROM redblue_triangle_self_pairs('shapes');
SELECT count(*) FROM redblue_triangle_pairs('shapes', 'shapes', 'gid', 'gid');
-- The geometry column in place of the id
SELECT * FROM redblue_triangle_pairs('shapes', 'shapes', 'the_geom');

-- Geography, text, bytes and JSON
CREATE TABLE spheres (gid int PRIMARY KEY, place geography);
SELECT * FROM redblue_triangle_self_pairs('spheres');
SELECT * FROM redblue_triangle_self_pairs('spheres', mesh_geom => 'place');
SELECT * FROM redblue_triangle_self_pairs_query('SELECT gid AS id, place FROM spheres');
CREATE TABLE texts (gid int PRIMARY KEY, geom text, wkb_geometry bytea, geojson jsonb);
SELECT * FROM redblue_triangle_self_pairs('texts');
SELECT * FROM redblue_segment_self_pairs('texts', lines_geom => 'wkb_geometry');
SELECT * FROM redblue_box_self_pairs_query('SELECT gid, geojson FROM texts', 'gid');
SELECT * FROM redblue_box_self_pairs('texts', boxes_geom => 'gid');
-- The view of the hint, pasted
CREATE TABLE polygons (gid int PRIMARY KEY, wkt text);
INSERT INTO polygons VALUES (1, 'TRIANGLE Z ((0 0 0, 4 0 0, 0 4 0, 0 0 0))'), (2, 'TRIANGLE Z ((1 1 -1, 1 1 1, 5 5 5, 1 1 -1))');
SELECT * FROM redblue_triangle_self_pairs('polygons');
CREATE VIEW shapes_of AS SELECT gid AS id, ST_GeomFromText(wkt) AS geom FROM hints.polygons;
SELECT * FROM redblue_triangle_self_pairs('shapes_of');

-- Drill holes and ore bodies on the wrong sides
CREATE TABLE holes (hole int PRIMARY KEY, path geometry);
INSERT INTO holes VALUES (1, 'LINESTRING Z (1 1 5, 1 1 -5)');
SELECT * FROM redblue_segment_triangle_pairs('holes', 'shapes') ORDER BY 1, 2;
SELECT * FROM redblue_segment_triangle_pairs('shapes', 'holes');
SELECT * FROM redblue_segment_triangle_pairs('holes', 'holes');
SELECT * FROM redblue_triangle_self_pairs('holes');

-- Ids of a dump
CREATE TABLE building (gid int PRIMARY KEY, geom geometry);
INSERT INTO building VALUES (7, 'TIN Z (((0 0 0, 1 0 0, 0 1 0, 0 0 0)), ((1 0 0, 1 1 0, 0 1 0, 1 0 0)))');
CREATE VIEW dumped AS SELECT gid AS id, (ST_Dump(geom)).geom FROM building;
SELECT * FROM redblue_triangle_self_pairs('dumped');
SELECT * FROM redblue_triangle_self_pairs('dumped', mesh_object => 'id');

-- Hints about the call that was intended
CREATE TABLE hint_line AS SELECT 1 AS id, 'LINESTRING Z (0 0 0, 1 1 1)'::geometry AS geom;
CREATE TABLE hint_point AS SELECT 1 AS id, 'POINT Z (0 0 0)'::geometry AS geom;
CREATE TABLE hint_numbered (gid int PRIMARY KEY, x1 float8, y1 float8, z1 float8, x2 float8, y2 float8, z2 float8, "X3" float8, y3 float8, z3 float8);
CREATE TABLE hint_ranges (id int, minx float8, miny float8, maxx float8, maxy float8);
SELECT * FROM redblue_triangle_pairs('hint_line', 'hint_line');
SELECT * FROM redblue_triangle_self_pairs('hint_line');
SELECT * FROM redblue_triangle_pairs_within('hint_line', 'hint_line', 1);
SELECT * FROM redblue_triangle_pairs('hint_point', 'hint_line');
SELECT * FROM redblue_segment_pairs('hint_point', 'hint_line');
SELECT * FROM redblue_triangle_pairs('hint_numbered', 'hint_line');
SELECT * FROM redblue_box_pairs('hint_ranges', 'hint_ranges');
SELECT * FROM redblue_segment_pairs_query('SELECT 1 AS id, 0.5 AS x1, 0.5 AS y1, 1 AS x2, 2 AS y2', 'SELECT 1');
-- One nearest row if no number is given
SELECT * FROM redblue_triangle_nearest_query('SELECT 1 AS id, ''TRIANGLE Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))''::geometry AS geom',
	'SELECT i AS id, ST_Translate(''TRIANGLE Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))''::geometry, 0, 0, i) AS geom FROM generate_series(1, 3) i');

SET client_min_messages = warning;
DROP SCHEMA hints CASCADE;
