\echo '-- A plant room: walls, a column, a beam and the planned services. All are closed surfaces of triangles.'
CREATE TABLE bar (element int PRIMARY KEY, discipline text, name text, lx float8, ly float8, lz float8, hx float8, hy float8, hz float8, rise float8);
INSERT INTO bar VALUES
	(1, 'structure', 'wall A', 4, 0, 0, 4.3, 6, 3, 0), (2, 'structure', 'wall B', 0, 6, 0, 7, 6.25, 3, 0), (3, 'structure', 'column', 2, 2.8, 0, 2.4, 3.2, 3, 0), (4, 'structure', 'beam', 5.5, 0, 2.5, 5.8, 6, 3, 0),
	(11, 'services', 'supply duct', 0.2, 1, 1.9, 6.9, 1.8, 2.3, 0), (12, 'services', 'cable tray', 0.5, 3.1, 2.2, 3.8, 3.5, 2.26, 0),
	(13, 'services', 'drain', 4.4, 4.5, 2.37, 6.9, 4.61, 2.48, 0.07), (14, 'services', 'heating pipe', 0.3, 5.95, 0.3, 3.9, 6, 0.35, 0), (15, 'services', 'sprinkler pipe', 0.3, 2.2, 1.2, 3.9, 2.25, 1.25, 0);
CREATE TABLE face AS
SELECT row_number() OVER () AS id, element, discipline, x[1] AS ax, y[1] AS ay, z[1] AS az, x[2] AS bx, y[2] AS by, z[2] AS bz, x[3] AS cx, y[3] AS cy, z[3] AS cz
FROM bar, (VALUES (0, 2, 3), (0, 3, 1), (4, 5, 7), (4, 7, 6), (0, 1, 5), (0, 5, 4), (2, 6, 7), (2, 7, 3), (0, 4, 6), (0, 6, 2), (1, 3, 7), (1, 7, 5)) AS t (a, b, c),
	LATERAL (SELECT array_agg(CASE k & 1 WHEN 0 THEN lx ELSE hx END ORDER BY n) AS x, array_agg(CASE k & 2 WHEN 0 THEN ly ELSE hy END ORDER BY n) AS y,
		array_agg(CASE k & 4 WHEN 0 THEN lz ELSE hz END + CASE k & 1 WHEN 0 THEN 0 ELSE rise END ORDER BY n) AS z FROM (VALUES (1, a), (2, b), (3, c)) AS v (n, k)) corner;
CREATE VIEW structure AS SELECT * FROM face WHERE discipline = 'structure';
CREATE VIEW services AS SELECT * FROM face WHERE discipline = 'services';
\echo '-- Which services clash with which elements, how deep, and how much do they share? The deepest clashes come first.'
CREATE TABLE common_part AS SELECT * FROM redblue_solid_overlaps('services', 'structure', red_solid => 'element', blue_solid => 'element', depth => true);
SELECT s.name AS service, e.name AS element, round(1000 * depth::numeric, 1) AS mm, round(1000 * volume::numeric, 2) AS liters, round(contact_area::numeric, 3) AS contact
FROM common_part JOIN bar s ON s.element = red_id JOIN bar e ON e.element = blue_id ORDER BY depth DESC, volume DESC, contact_area DESC;

-- For the picture: the surface of the services in pieces, which are colored by the depth of their clash, and the structure
\set QUIET on
\set ECHO none
SET client_min_messages = warning;
SELECT FROM redblue_tetrahedralize('face', 'plant', on_crossing => 'split') \g /dev/null
CREATE VIEW middle AS SELECT t.id, (a.x + b.x + c.x + d.x) / 4 AS x, (a.y + b.y + c.y + d.y) / 4 AS y, (a.z + b.z + c.z + d.z) / 4 AS z
	FROM plant_tets t JOIN plant_vertices a ON a.id = v1 JOIN plant_vertices b ON b.id = v2 JOIN plant_vertices c ON c.id = v3 JOIN plant_vertices d ON d.id = v4;
CREATE VIEW service_piece AS SELECT v1, v2, v3, v4, CASE WHEN blue_id IS NULL THEN 1 WHEN depth < 0.05 THEN 2 WHEN depth < 0.2 THEN 3 ELSE 4 END AS class
	FROM plant_tets t JOIN redblue_points_in_solids('middle', 'services', solid => 'element') s ON s.point_id = t.id
	LEFT JOIN redblue_points_in_solids('middle', 'structure', solid => 'element') e ON e.point_id = t.id LEFT JOIN common_part ON red_id = s.solid_id AND blue_id = e.solid_id;
CREATE VIEW service_side AS SELECT class, x.a, x.b, x.c, count(*) OVER (PARTITION BY least(x.a, x.b, x.c), greatest(x.a, x.b, x.c), x.a + x.b + x.c) AS sides
	FROM service_piece, LATERAL (VALUES (v2, v3, v4), (v1, v4, v3), (v1, v2, v4), (v1, v3, v2)) AS x (a, b, c);
\set store '\\copy (SELECT 0, class, a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z FROM service_side JOIN plant_vertices a ON a.id = service_side.a JOIN plant_vertices b ON b.id = service_side.b JOIN plant_vertices c ON c.id = service_side.c WHERE sides = 1 UNION ALL SELECT 1, 0, ax, ay, az, bx, by, bz, cx, cy, cz FROM structure) TO ' :'rows' ' WITH (FORMAT csv)'
:store
