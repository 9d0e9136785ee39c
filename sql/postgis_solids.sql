-- Tests solids given as geometries.
-- An error may come from a parallel worker and then has a CONTEXT.
\set SHOW_CONTEXT never
\set schema postgis_solids
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql
\i sql/fixtures/box_geometry.sql
CREATE TABLE rooms (id int PRIMARY KEY, geom geometry(GeometryZ, 7415));
INSERT INTO rooms VALUES (1, box(0, 0, 0, 10, 10, 3)), (2, box(10, 0, 0, 20, 10, 3, 'MULTIPOLYGON')), (3, box(0, 0, 3, 10, 10, 6)),
	(4, ST_GeomFromText('TIN Z (((0 0 10,0 1 10,1 0 10,0 0 10)),((0 0 10,1 0 10,0 0 11,0 0 10)),((0 0 10,0 0 11,0 1 10,0 0 10)),((1 0 10,0 1 10,0 0 11,1 0 10)))', 7415));
CREATE TABLE pipes (id int PRIMARY KEY, geom geometry(GeometryZ, 7415));
INSERT INTO pipes VALUES (1, 'SRID=7415;LINESTRING Z (5 5 -2, 5 5 8)'), (2, 'SRID=7415;LINESTRING Z (-5 5 1, 5 5 1, 5 5 2, 25 5 2)'),
	(3, 'SRID=7415;MULTILINESTRING Z ((1 1 1, 2 1 1), (11 1 1, 12 1 1))'), (4, 'SRID=7415;LINESTRING Z (0 0 3, 10 0 3, 10 10 3)'), (5, 'SRID=7415;LINESTRING Z EMPTY');
CREATE TABLE sensors (id int PRIMARY KEY, geom geometry(PointZ, 7415));
INSERT INTO sensors VALUES (1, 'SRID=7415;POINT Z (5 5 1)'), (2, 'SRID=7415;POINT Z (10 5 1)'), (3, 'SRID=7415;POINT Z (5 5 3)'), (4, 'SRID=7415;POINT Z (10 10 3)'), (5, 'SRID=7415;POINT Z (50 50 3)');
SELECT * FROM redblue_solid_check('rooms') ORDER BY id;
SELECT * FROM redblue_points_in_solids('sensors', 'rooms') ORDER BY 1, 2;
SELECT segment_id, solid_id, from_fraction::numeric(6,4), to_fraction::numeric(6,4), length, on_boundary FROM redblue_segments_in_solids('pipes', 'rooms') ORDER BY 1, 2, 3;
-- Length of each pipe within a room
SELECT p.id, sum(length) FROM pipes p LEFT JOIN redblue_segments_in_solids('pipes', 'rooms') ON segment_id = p.id GROUP BY 1 ORDER BY 1;
-- Faces with holes, and missing faces
INSERT INTO rooms SELECT 5, ST_Collect(ARRAY(SELECT (d).geom FROM (SELECT ST_Dump(box(0, 0, 20, 4, 4, 24)) AS d) s WHERE (d).path[1] <> 2) || ST_GeomFromText('POLYGON Z ((0 0 24,4 0 24,4 4 24,0 4 24,0 0 24),(1 1 24,1 3 24,3 3 24,3 1 24,1 1 24))', 7415));
SELECT * FROM redblue_solid_check('rooms') WHERE reason IS NOT NULL ORDER BY id;
SELECT * FROM redblue_segments_in_solids('pipes', 'rooms') ORDER BY 1, 2, 3;
SELECT count(*) FROM redblue_segments_in_solids('pipes', 'rooms', on_bad => 'skip');
SELECT substring(detail FROM '[0-9]+ invalid solids?') AS detail FROM redblue_last_run() WHERE stage = 'read';
INSERT INTO rooms SELECT 6, ST_Collect(geom) FROM rooms WHERE id = 4;
SELECT count(*) FROM redblue_solid_check('rooms');
SELECT count(*) FROM redblue_segments_in_solids('sensors', 'rooms', on_bad => 'skip');
DROP SCHEMA postgis_solids CASCADE;
