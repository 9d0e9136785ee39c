\echo '-- Groundwater: the ground, the tops of clay and gravel as heights every 50 m, a fault that lowers all layers below the ground by 30 m, and the sides.'
CREATE TABLE stratum AS
WITH height AS (
	SELECT part, x, y, layer, CASE layer WHEN 1 THEN 20 + 14 * sin(x / 150.0) * cos(y / 130.0)
		WHEN 2 THEN -50 + 16 * sin((x + y) / 170.0) - 30 * part ELSE -130 + 12 * cos(x / 160.0 - y / 200.0) - 30 * part END AS z
	FROM generate_series(0, 1) part, generate_series(500 * part, 500 * part + 500, 50) x, generate_series(0, 600, 50) y, generate_series(1, 3) layer),
wall AS (
	SELECT * FROM (VALUES (0, 0, 0, 600), (500, 0, 500, 600), (1000, 0, 1000, 600), (0, 0, 1000, 0), (0, 600, 1000, 600)) AS w (x, y, u, v))
SELECT row_number() OVER () AS id, t.*
FROM (SELECT a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z
	FROM height a JOIN height d USING (part, layer), height b, height c
	WHERE (d.x, d.y) = (a.x + 50, a.y + 50) AND (c.part, c.layer, c.x, c.y) = (d.part, d.layer, d.x, d.y) AND (b.part, b.layer) = (a.part, a.layer) AND ((b.x, b.y) = (d.x, a.y) OR (b.x, b.y) = (a.x, d.y))
	UNION ALL SELECT x, y, -220, u, v, -220, u, v, 60 FROM wall UNION ALL SELECT x, y, -220, u, v, 60, x, y, 60 FROM wall
	UNION ALL SELECT 0, 0, -220, 1000, 0, -220, x, y, -220 FROM (VALUES (1000, 600)) AS p (x, y) UNION ALL SELECT 0, 0, -220, 1000, 600, -220, 0, 600, -220)
	AS t (ax, ay, az, bx, by, bz, cx, cy, cz);
CREATE TABLE compartment AS
SELECT 10 * layer + part AS id, layer, 10 + 980 * part AS x, 10 AS y, -10 - 80 * (layer - 1) - 20 * sign(layer - 1) * part AS z, CASE layer WHEN 2 THEN 3000 END AS volume
FROM generate_series(1, 3) layer, generate_series(0, 1) part;
SET client_min_messages = warning;
SELECT regions FROM redblue_refine('stratum', 'water', regions => 'compartment', regions_volume => 'volume', on_crossing => 'split');

\echo '-- Tetrahedra near the location of a well must be smaller: the nearest of these points gives the largest volume. The existing mesh is refined further.'
CREATE TABLE wanted AS
SELECT row_number() OVER () AS id, x, y, z, CASE WHEN d < 200 THEN 20 + (d / 4) ^ 3 / 8 END AS volume
FROM (SELECT x, y, z, sqrt((x - 260) ^ 2 + (y - 300) ^ 2 + (greatest(-z - 70, 0)) ^ 2) AS d FROM generate_series(10, 1000, 25) x, generate_series(0, 600, 25) y, generate_series(-220, 60, 20) z) s;
SELECT bad, bad_input FROM redblue_refine(mesh => 'water', sizes => 'wanted');
SELECT count(*) AS faults FROM redblue_mesh_check('water', 'stratum', regions => 'compartment', on_crossing => 'split');

\echo '-- Quality: the largest ratio of circumradius to shortest edge, and the median of the smallest angles between faces. A tetrahedron of clay may have 3000 cubic meters.'
SELECT layer, region, count(*) AS tets, round(max(radius_edge)::numeric, 2) AS radius_edge, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY min_dihedral)::numeric) AS middle_angle
FROM water_tets JOIN compartment c ON c.id = region GROUP BY layer, region ORDER BY region;

-- For the picture: each layer is cut away slightly less than the one above it, and less in the east of the fault than in the west.
\set QUIET on
\set ECHO none
CREATE VIEW kept AS
SELECT t.*, 0 AS thing, CASE WHEN radius_edge <= 1 THEN 1 WHEN radius_edge <= 1.3 THEN 2 WHEN radius_edge <= 1.6 THEN 3 WHEN radius_edge <= 2 THEN 4 ELSE 5 END AS cut
FROM water_tets t JOIN compartment r ON r.id = region
	JOIN water_vertices a ON a.id = v1 JOIN water_vertices b ON b.id = v2 JOIN water_vertices c ON c.id = v3 JOIN water_vertices d ON d.id = v4
WHERE (a.y + b.y + c.y + d.y) / 4 > 300 - 100 * (layer - 1) - 100 * (region % 10);
\set mesh water
\ir cut.sql
