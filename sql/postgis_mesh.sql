-- Tests tetrahedra of geometries: polygons of any shape, points, lines.
\set SHOW_CONTEXT never
\set schema postgis_mesh
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql
CREATE FUNCTION volume(x1 float8, y1 float8, z1 float8, x2 float8, y2 float8, z2 float8, x3 float8, y3 float8, z3 float8, x4 float8, y4 float8, z4 float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
	SELECT abs((x2 - x1) * ((y3 - y1) * (z4 - z1) - (z3 - z1) * (y4 - y1)) - (y2 - y1) * ((x3 - x1) * (z4 - z1) - (z3 - z1) * (x4 - x1)) + (z2 - z1) * ((x3 - x1) * (y4 - y1) - (y3 - y1) * (x4 - x1))) / 6 $$;
\i sql/fixtures/box_geometry.sql
-- A row of six polygons; another row within it
CREATE TABLE rooms (id int PRIMARY KEY, geom geometry(GeometryZ, 7415));
INSERT INTO rooms VALUES (1, box(0, 0, 0, 10, 10, 10)), (2, box(2, 2, 2, 4, 4, 4, 'MULTIPOLYGON'));
CREATE TABLE sensors (id int PRIMARY KEY, geom geometry(GeometryZ, 7415));
INSERT INTO sensors VALUES (1, 'SRID=7415;POINT Z (5 5 1)'), (2, 'SRID=7415;MULTIPOINT Z (5 5 6, 6 6 6, 7 1 8)'), (3, 'SRID=7415;POINT Z EMPTY'), (4, NULL);
CREATE TABLE pipes (id int PRIMARY KEY, geom geometry(GeometryZ, 7415));
INSERT INTO pipes VALUES (1, 'SRID=7415;LINESTRING Z (1 1 1, 1 1 9, 9 1 9)'), (2, 'SRID=7415;MULTILINESTRING Z ((9 9 1, 9 9 9), (8 9 1, 8 9 9))');
CREATE TABLE seeds (id int PRIMARY KEY, geom geometry(GeometryZ, 7415));
INSERT INTO seeds VALUES (100, 'SRID=7415;POINT Z (3 3 3)'), (200, 'SRID=7415;MULTIPOINT Z (1 1 1)');
SELECT vertices > 8 AS some, regions FROM redblue_tetrahedralize('rooms', 'm', 'sensors', 'pipes', 'seeds');
SELECT * FROM redblue_mesh_check('m', 'rooms', 'sensors', 'pipes');
SELECT facet_id, count(DISTINCT polygon), min(polygon), max(polygon) FROM m_faces GROUP BY 1 ORDER BY 1;
SELECT segment_id, count(DISTINCT segment) FROM m_segments WHERE segment_id IS NOT NULL GROUP BY 1 ORDER BY 1;
SELECT parent_id, count(*) FROM m_vertices WHERE kind = 'input' GROUP BY 1 ORDER BY 1;
SELECT region, round(sum(volume(x1, y1, z1, x2, y2, z2, x3, y3, z3, x4, y4, z4))::numeric, 9) AS volume FROM redblue_tetrahedra('rooms', 'sensors', 'pipes', 'seeds') GROUP BY 1 ORDER BY 1;
-- The diagonal of a square side is not a segment: only edges on the boundary of a polygon are.
SELECT count(*) FROM (SELECT DISTINCT segment FROM m_segments WHERE segment_id IS NULL) s;
-- A side with a hole, and the polygon that closes it
CREATE TABLE pierced AS SELECT (d).path[1] AS id, (d).geom FROM (SELECT ST_Dump(box(0, 0, 0, 4, 4, 4)) AS d) s WHERE (d).path[1] <> 2;
INSERT INTO pierced VALUES (7, ST_GeomFromText('POLYGON Z ((0 0 4,4 0 4,4 4 4,0 4 4,0 0 4),(1 1 4,1 3 4,3 3 4,3 1 4,1 1 4))', 7415));
SELECT count(*) FROM redblue_tetrahedra('pierced');
INSERT INTO pierced VALUES (8, ST_GeomFromText('POLYGON Z ((1 1 4,1 3 4,3 3 4,3 1 4,1 1 4))', 7415));
SELECT round(sum(volume(x1, y1, z1, x2, y2, z2, x3, y3, z3, x4, y4, z4))::numeric, 9) AS volume FROM redblue_tetrahedra('pierced');
SELECT tets > 0 AS some FROM redblue_tetrahedralize('pierced', 'p');
SELECT * FROM redblue_mesh_check('p', 'pierced');
-- Rows that share an id
UPDATE pierced SET id = 9;
TRUNCATE p_vertices, p_tets, p_faces, p_segments;
SELECT tets > 0 AS some FROM redblue_tetrahedralize('pierced', 'p', facets_id => 'id', facets_geom => 'geom');
SELECT facet_id, count(DISTINCT polygon) FROM p_faces GROUP BY 1;
SELECT * FROM redblue_mesh_check('p', 'pierced');
-- Which polygon an error names
SELECT count(*) FROM redblue_tetrahedra_query('SELECT 1 AS id, ST_Collect(box(0, 0, 0, 4, 4, 4, ''MULTIPOLYGON''), box(2, 2, 2, 6, 6, 6, ''MULTIPOLYGON'')) AS geom');
-- Invalid rows
SELECT count(*) FROM redblue_tetrahedra('rooms', 'pipes');
SELECT count(*) FROM redblue_tetrahedra('rooms', segments => 'sensors');
SELECT count(*) FROM redblue_tetrahedra('sensors');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE rooms', 'SELECT id, ST_SetSRID(geom, 4979) AS geom FROM sensors');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE rooms', regions => 'SELECT id, ST_SetSRID(geom, 4979) AS geom FROM seeds');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE rooms', 'SELECT id, ST_Force2D(geom) AS geom FROM sensors');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE rooms', 'SELECT 1 AS id, ''SRID=7415;POINT Z (0 NaN 0)''::geometry AS geom');
SELECT count(*) FROM redblue_tetrahedra_query('SELECT 1 AS id, ''POLYGON Z ((0 0 0, 1 0 0, 1 1 1, 0 1 0, 0 0 0))''::geometry AS geom', face_tolerance => 0.1, keep => 'hull');
-- The default tolerance is a fraction of the face's extent.
SELECT count(*) FROM redblue_tetrahedra_query('SELECT 1 AS id, ''POLYGON Z ((0 0 0, 1 0 0, 1 1 0.05, 0 1 0, 0 0 0))''::geometry AS geom', keep => 'hull');
SELECT count(*) FROM redblue_tetrahedra_query('SELECT 1 AS id, ''POLYGON Z ((0 0 0, 1 0 0, 1 1 0.001, 0 1 0, 0 0 0))''::geometry AS geom', 'SELECT 1 AS id, ''POINT Z (0 0 1)''::geometry AS geom', keep => 'hull');
-- A wall through a floor: the line in which they cross is split, too, because points are close to it.
CREATE TABLE wall (id int PRIMARY KEY, geom geometry);
INSERT INTO wall VALUES (1, 'POLYGON Z ((0 0 0, 10 0 0, 10 10 0, 0 10 0, 0 0 0))'), (2, 'POLYGON Z ((2 5 -3, 8 5 -3, 8 5 3, 2 5 3, 2 5 -3))');
CREATE TABLE near AS SELECT row_number() OVER () AS id, ST_MakePoint(x, 5 + y, z) AS geom FROM generate_series(3, 7, 2) x, unnest(ARRAY[-0.2, 0.2]) y, unnest(ARRAY[-0.3, 0.3]) z;
SELECT on_segments > 0 AS cut, crossings FROM redblue_tetrahedralize('wall', 'w', 'near', points_id => 'id', keep => 'hull', on_crossing => 'split');
SELECT * FROM redblue_mesh_check('w', 'wall', 'near', points_id => 'id', keep => 'hull', on_crossing => 'split');
SELECT * FROM redblue_mesh_check('w', keep => 'hull');
-- Points in solids still accept one point per row.
SELECT count(*) FROM redblue_points_in_solids('sensors', 'rooms');

-- ---- the surfaces of its regions ----
-- Two rooms with a wall between them, and a box in one of them
CREATE TABLE flat AS SELECT 10 * room + (d).path[1] AS id, (d).geom FROM (SELECT 1 AS room, ST_Dump(box(0, 0, 0, 2, 2, 2)) AS d UNION ALL SELECT 2, ST_Dump(box(2, 0, 0, 4, 2, 2)) UNION ALL SELECT 3, ST_Dump(box(0.5, 0.5, 0.5, 1, 1, 1))) s WHERE (room, (d).path[1]) <> (2, 5);
SELECT regions FROM redblue_tetrahedralize('flat', 'flatmesh');
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS redblue_postgis;
RESET client_min_messages;
SELECT region, ST_GeometryType(geom), ST_SRID(geom), (SELECT count(*) FROM ST_Dump(geom)) > 11 AS some FROM redblue_mesh_to_geometry('flatmesh', 7415) ORDER BY 1;
SELECT id, faces > 11 AS some, closed, oriented, self_intersections, reason FROM redblue_solid_check_query($$SELECT region AS id, geom FROM redblue_mesh_to_geometry('flatmesh')$$) ORDER BY 1;
SELECT a.region, b.region, redblue_contact(a.geom, b.geom) FROM redblue_mesh_to_geometry('flatmesh') a JOIN redblue_mesh_to_geometry('flatmesh') b ON a.region < b.region ORDER BY 1, 2;
-- The volumes equal those of the tetrahedra.
SELECT s.region, round(s.volume::numeric, 9) = round(t.volume::numeric, 9) AS same FROM (SELECT region, sum(x1 * (y2 * z3 - z2 * y3) - y1 * (x2 * z3 - z2 * x3) + z1 * (x2 * y3 - y2 * x3)) / 6 AS volume FROM (SELECT region, ST_X(p[1]) AS x1, ST_Y(p[1]) AS y1, ST_Z(p[1]) AS z1, ST_X(p[2]) AS x2, ST_Y(p[2]) AS y2, ST_Z(p[2]) AS z2, ST_X(p[3]) AS x3, ST_Y(p[3]) AS y3, ST_Z(p[3]) AS z3
	FROM (SELECT region, ARRAY(SELECT geom FROM ST_DumpPoints((d).geom)) AS p FROM (SELECT region, ST_Dump(geom) AS d FROM redblue_mesh_to_geometry('flatmesh')) f) g) h GROUP BY 1) s
	JOIN (SELECT region, sum(volume(a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, d.x, d.y, d.z)) AS volume FROM flatmesh_tets t JOIN flatmesh_vertices a ON a.id = v1 JOIN flatmesh_vertices b ON b.id = v2 JOIN flatmesh_vertices c ON c.id = v3 JOIN flatmesh_vertices d ON d.id = v4 GROUP BY 1) t USING (region) ORDER BY 1;
-- The orientation of tetrahedra does not matter.
UPDATE flatmesh_tets SET v1 = v2, v2 = v1 WHERE id % 2 = 0;
SELECT count(*), bool_and(closed AND oriented) AS good FROM redblue_solid_check_query($$SELECT region AS id, geom FROM redblue_mesh_to_geometry('flatmesh')$$);
SELECT count(*) FROM redblue_mesh_to_geometry(NULL);
SELECT count(*) FROM redblue_mesh_to_geometry('flatmesh', -5);
SELECT count(*) FROM redblue_mesh_to_geometry('nomesh');
DELETE FROM flatmesh_vertices WHERE id = 1;
SELECT count(*) FROM redblue_mesh_to_geometry('flatmesh');
TRUNCATE flatmesh_tets, flatmesh_vertices, flatmesh_faces, flatmesh_segments;
SELECT count(*) FROM redblue_mesh_to_geometry('flatmesh');
SET client_min_messages = warning;
DROP SCHEMA postgis_mesh CASCADE;
