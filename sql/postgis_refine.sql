-- Tests refinement of geometries: polygons of any shape, and solids identified by their ids.
\set SHOW_CONTEXT never
\set schema postgis_refine
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql
\i sql/fixtures/box_geometry.sql
CREATE FUNCTION volume(mesh text) RETURNS TABLE (region bigint, largest float8, total numeric) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT region, max(v), round(sum(v)::numeric, 9) FROM (SELECT t.region,
		abs((b.x - a.x) * ((c.y - a.y) * (d.z - a.z) - (c.z - a.z) * (d.y - a.y)) - (b.y - a.y) * ((c.x - a.x) * (d.z - a.z) - (c.z - a.z) * (d.x - a.x)) + (b.z - a.z) * ((c.x - a.x) * (d.y - a.y) - (c.y - a.y) * (d.x - a.x))) / 6 AS v
		FROM %1$s_tets t JOIN %1$s_vertices a ON a.id = v1 JOIN %1$s_vertices b ON b.id = v2 JOIN %1$s_vertices c ON c.id = v3 JOIN %1$s_vertices d ON d.id = v4) t GROUP BY 1', mesh);
END $$;

-- A row of six polygons without a sharp angle: no tetrahedron is bad.
CREATE TABLE rooms (id int PRIMARY KEY, floor int, geom geometry(GeometryZ, 7415));
INSERT INTO rooms VALUES (1, 1, box(0, 0, 0, 10, 10, 1)), (2, 2, box(20, 2, 2, 24, 4, 4, 'MULTIPOLYGON'));
SELECT bad, regions, on_facets + on_segments > 0 AS surface FROM redblue_refine('rooms', 'm');
SELECT max(radius_edge) <= 2 AS good FROM m_tets;
SELECT sum(total) FROM volume('m');
SELECT * FROM redblue_mesh_check('m', 'rooms');
SELECT facet_id, count(DISTINCT polygon), min(polygon), max(polygon) FROM m_faces GROUP BY 1 ORDER BY 1;
-- Refined further: polygons and rows remain the same.
SELECT bad FROM redblue_refine(mesh => 'm', max_volume => 0.25);
SELECT max(largest) <= 0.25 AS small, sum(total) FROM volume('m');
SELECT * FROM redblue_mesh_check('m', 'rooms');
SELECT facet_id, count(DISTINCT polygon), min(polygon), max(polygon) FROM m_faces GROUP BY 1 ORDER BY 1;

-- Maximum volumes by region and of points; sizes from a MultiPoint
CREATE TABLE seeds (id int PRIMARY KEY, geom geometry(PointZ, 7415), largest float8);
INSERT INTO seeds VALUES (100, 'SRID=7415;POINT Z (5 5 0.5)', 0.5), (200, 'SRID=7415;POINT Z (21 3 3)', 0.05);
SELECT bad FROM redblue_refine('rooms', 'v', regions => 'seeds', regions_volume => 'largest');
SELECT region, largest <= CASE region WHEN 100 THEN 0.5 ELSE 0.05 END AS small, total FROM volume('v') ORDER BY 1;
CREATE TABLE sizes (id int PRIMARY KEY, volume float8, place geometry(GeometryZ, 7415), other geometry);
INSERT INTO sizes VALUES (1, 1, 'SRID=7415;MULTIPOINT Z (0 0 0, 10 10 1)', NULL), (2, 0.0625, 'SRID=7415;POINT Z (22 3 3)', NULL), (3, -1, NULL, NULL);
SELECT bad FROM redblue_refine('rooms', 's', sizes => 'sizes', sizes_geom => 'place');
SELECT sum(total) FROM volume('s');
SELECT max(radius_edge) <= 2 AS good FROM s_tets;

-- Solids: one row each, or several rows each
SELECT solids, bad FROM redblue_refine('rooms', 'b', solid => 'id');
SELECT solid_id, count(DISTINCT facet_id), count(DISTINCT polygon), max(radius_edge) <= 2 AS good FROM b_faces JOIN b_tets USING (solid_id) GROUP BY 1 ORDER BY 1;
CREATE TABLE walls AS SELECT floor AS storey, 100 * id + path[1] AS id, d.geom FROM rooms, LATERAL ST_Dump(geom) d;
SELECT solids, bad FROM redblue_refine('walls', 'w', solid => 'storey');
SELECT solid_id, count(DISTINCT facet_id), count(DISTINCT polygon) FROM w_faces GROUP BY 1 ORDER BY 1;
SELECT (SELECT array_agg((x, y, z, solid_id)::text ORDER BY id) FROM w_vertices) = (SELECT array_agg((x, y, z, solid_id)::text ORDER BY id) FROM b_vertices) AS same;
-- The error names the solid that intersects itself.
INSERT INTO rooms VALUES (3, 3, ST_Collect(box(40, 0, 0, 44, 4, 4, 'MULTIPOLYGON'), box(42, 2, 2, 46, 6, 6, 'MULTIPOLYGON'))), (4, 4, NULL), (5, 5, 'SRID=7415;POLYHEDRALSURFACE Z EMPTY');
SELECT solids FROM redblue_refine('rooms', 'x', solid => 'id');
SELECT solids FROM redblue_refine('rooms', 'x', solid => 'id', on_bad => 'skip');
SELECT solids, regions FROM redblue_refine('rooms', 'y', solid => 'id', on_crossing => 'split', radius_edge => NULL);
SELECT round(sum(total), 6) FROM volume('y');

-- A cube with a step in its top and in two of its sides: a bent polygon is its triangles, and refinement preserves the
-- volume that they enclose.
CREATE FUNCTION stepped(step float8) RETURNS TABLE (id int, geom geometry) LANGUAGE sql AS $$
	SELECT n, ST_GeomFromText(format('POLYGON Z ((%s))', replace(replace(replace(ring, 'up', (1 + step / 2)::text), 'down', (1 - step / 2)::text), '  ', ' ')))
	FROM (VALUES (1, '0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0'), (2, '0 0 1, 1 0 1, 1 0.499 up, 1 0.501 down, 1 1 1, 0 1 1, 0 0.501 down, 0 0.499 up, 0 0 1'), (3, '0 0 0, 1 0 0, 1 0 1, 0 0 1, 0 0 0'),
		(4, '1 0 0, 1 1 0, 1 1 1, 1 0.501 down, 1 0.499 up, 1 0 1, 1 0 0'), (5, '1 1 0, 0 1 0, 0 1 1, 1 1 1, 1 1 0'), (6, '0 1 0, 0 0 0, 0 0 1, 0 0.499 up, 0 0.501 down, 0 1 1, 0 1 0')) r (n, ring) $$;
CREATE TABLE step2 AS SELECT * FROM stepped(0.002);
CREATE TABLE step6 AS SELECT * FROM stepped(1e-6);
CREATE FUNCTION mesh_volume(mesh text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	v float8;
BEGIN
	EXECUTE format('SELECT sum(abs((b.x-a.x)*((c.y-a.y)*(d.z-a.z)-(c.z-a.z)*(d.y-a.y))-(b.y-a.y)*((c.x-a.x)*(d.z-a.z)-(c.z-a.z)*(d.x-a.x))+(b.z-a.z)*((c.x-a.x)*(d.y-a.y)-(c.y-a.y)*(d.x-a.x)))/6)
		FROM %1$s_tets JOIN %1$s_vertices a ON a.id = v1 JOIN %1$s_vertices b ON b.id = v2 JOIN %1$s_vertices c ON c.id = v3 JOIN %1$s_vertices d ON d.id = v4', mesh) INTO v;
	RETURN round(v::numeric, 12);
END $$;
SELECT bad FROM redblue_refine('step2', 'c2');
SELECT fault, facet_id, amount FROM redblue_mesh_check('c2', 'step2');
SELECT mesh_volume('c2');
SELECT bad FROM redblue_refine('step6', 'c6', max_points => 20000);
SELECT fault, facet_id, amount FROM redblue_mesh_check('c6', 'step6');
SELECT mesh_volume('c6');
SELECT bad FROM redblue_refine(mesh => 'c2', max_volume => 0.001);
SELECT fault, facet_id, amount FROM redblue_mesh_check('c2', 'step2');
SELECT mesh_volume('c2');
-- A mesh with another volume: one of its points is farther from its facet than rounding explains.
BEGIN;
UPDATE c2_vertices SET x = x - 1e-10 WHERE id = (SELECT min(id) FROM c2_vertices WHERE kind = 'facet' AND x = 1);
SELECT fault, region, facet_id, amount < 0 AS lost FROM redblue_mesh_check('c2', 'step2') WHERE fault ~ 'volume';
ROLLBACK;

-- A house with a gabled roof, turned, and rounded to centimeters. Its polygons bend, so that edges between their triangles are
-- segments, some of which meet at small angles: tetrahedra there remain bad. With facets that are flat within a tolerance, none does.
CREATE FUNCTION turned(x float8, y float8, z float8) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s %s %s', round((765600 + 0.955336 * x - 0.29552 * y)::numeric, 2), round((328370 + 0.29552 * x + 0.955336 * y)::numeric, 2), round((241.22 + z)::numeric, 2)) $$;
CREATE TABLE house AS SELECT id, ST_GeomFromText((SELECT 'POLYGON Z ((' || string_agg(turned(v[k + 1], v[k + 2], v[k + 3]), ', ' ORDER BY n) || '))'
	FROM (SELECT n, 3 * n % array_length(v, 1) AS k FROM generate_series(0, array_length(v, 1) / 3) n) c)) AS geom FROM (VALUES
	(1, ARRAY[0, 0, 0, 0, 11.4, 0, 5.3, 11.4, 0, 5.3, 0, 0]),
	(2, ARRAY[0, 0, 0, 5.3, 0, 0, 5.3, 0, 4.31, 2.65, 0, 6.17, 0, 0, 4.31]),
	(3, ARRAY[0, 11.4, 0, 0, 11.4, 4.31, 2.65, 11.4, 6.17, 5.3, 11.4, 4.31, 5.3, 11.4, 0]),
	(4, ARRAY[0, 0, 0, 0, 0, 4.31, 0, 0.45, 4.31, 0, 3.7, 4.31, 0, 4.1, 4.31, 0, 11.4, 4.31, 0, 11.4, 0]),
	(5, ARRAY[5.3, 0, 0, 5.3, 11.4, 0, 5.3, 11.4, 4.31, 5.3, 0, 4.31]),
	(6, ARRAY[0, 0, 4.31, 2.65, 0, 6.17, 2.65, 11.4, 6.17, 0, 11.4, 4.31, 0, 4.1, 4.31, 0, 3.7, 4.31, 0, 0.45, 4.31]),
	(7, ARRAY[5.3, 0, 4.31, 5.3, 11.4, 4.31, 2.65, 11.4, 6.17, 2.65, 0, 6.17])) f (id, v);
SELECT bad > 0 AS bad, bad = bad_input AS by_angles FROM redblue_refine('house', 'h');
SELECT fault, facet_id, amount FROM redblue_mesh_check('h', 'house');
SELECT bad FROM redblue_refine('house', 'h5', merge => 0.5);
SELECT fault, facet_id, amount FROM redblue_mesh_check('h5', 'house', merge => 0.5);
SELECT abs(mesh_volume('h') - mesh_volume('h5')) < 0.5 AS near, mesh_volume('h') BETWEEN 315.9 AND 317.5 AS house;

-- Invalid calls
SELECT redblue_refine('rooms', 'z', sizes => 'sizes');
ALTER TABLE sizes ALTER place TYPE geometry(GeometryZ) USING ST_SetSRID(place, 0);
SELECT redblue_refine('rooms', 'z', sizes => 'sizes', sizes_geom => 'place');
SELECT redblue_refine('rooms', 'z', solid => 'geom');
SELECT to_regclass('z_tets');

SET client_min_messages = warning;
DROP SCHEMA postgis_refine CASCADE;
