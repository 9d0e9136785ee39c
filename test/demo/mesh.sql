\echo '-- The mine as tetrahedra: the ore body in a block of rock, and points in the whole block, at which a model needs values.'
\echo '-- At its poles, the solid has triangles of zero area. They are left out, because they are not facets.'
CREATE TABLE surface AS
WITH square AS (
	SELECT side, CASE side WHEN 'x' THEN ARRAY[w * 10, u, v] WHEN 'y' THEN ARRAY[u, w * 5, v] ELSE ARRAY[u, v, w * 5] END AS a, CASE side WHEN 'x' THEN ARRAY[w * 10, u + 1, v] WHEN 'y' THEN ARRAY[u + 1, w * 5, v] ELSE ARRAY[u + 1, v, w * 5] END AS b,
		CASE side WHEN 'x' THEN ARRAY[w * 10, u + 1, v + 1] WHEN 'y' THEN ARRAY[u + 1, w * 5, v + 1] ELSE ARRAY[u + 1, v + 1, w * 5] END AS c, CASE side WHEN 'x' THEN ARRAY[w * 10, u, v + 1] WHEN 'y' THEN ARRAY[u, w * 5, v + 1] ELSE ARRAY[u, v + 1, w * 5] END AS d
	FROM (VALUES ('x', 5, 5), ('y', 10, 5), ('z', 10, 5)) s (side, m, n), generate_series(-m, m - 1) u, generate_series(-n, n - 1) v, (VALUES (-1), (1)) AS w (w))
SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM ore
WHERE (ax, ay, az) <> (bx, by, bz) AND (bx, by, bz) <> (cx, cy, cz) AND (cx, cy, cz) <> (ax, ay, az)
UNION ALL
SELECT 10000 + row_number() OVER (), 40 * a[1], 40 * a[2], 40 * a[3] - 330, 40 * p[1], 40 * p[2], 40 * p[3] - 330, 40 * q[1], 40 * q[2], 40 * q[3] - 330
FROM square, LATERAL (VALUES (b, c), (c, d)) AS t (p, q);
CREATE TABLE node AS
SELECT row_number() OVER () AS id, 40 * (x + h) AS x, 40 * (y + h) AS y, 40 * (z + h) - 330 AS z
FROM (VALUES (0.0), (0.5)) AS h (h), generate_series(-10, 9) x, generate_series(-5, 4) y, generate_series(-5, 4) z WHERE h > 0 OR x > -10 AND y > -5 AND z > -5;
CREATE TABLE rock AS SELECT * FROM (VALUES (1, 0, 0, -330), (2, -399, -199, -529)) AS t (id, x, y, z);

\echo '-- Every point is a vertex, and every triangle of both surfaces is a union of faces. Region 1 is ore, region 2 is rock.'
SELECT vertices, tets, faces, on_segments, on_facets, regions FROM redblue_tetrahedralize('surface', 'mine', points => 'node', regions => 'rock');
SELECT count(*) AS faults FROM redblue_mesh_check('mine', 'surface', 'node', regions => 'rock');

\echo '-- Volumes of the ore, of the rock, and of both together, which is the volume of the block, 800 x 400 x 400.'
CREATE VIEW tet AS
SELECT t.*, (a.y + b.y + c.y + d.y) / 4 AS y, (a.x + b.x + c.x + d.x) / 4 AS x,
	((b.x - a.x) * ((c.y - a.y) * (d.z - a.z) - (c.z - a.z) * (d.y - a.y))
	+ (b.y - a.y) * ((c.z - a.z) * (d.x - a.x) - (c.x - a.x) * (d.z - a.z))
	+ (b.z - a.z) * ((c.x - a.x) * (d.y - a.y) - (c.y - a.y) * (d.x - a.x))) / 6 AS volume
FROM mine_tets t JOIN mine_vertices a ON a.id = v1 JOIN mine_vertices b ON b.id = v2 JOIN mine_vertices c ON c.id = v3 JOIN mine_vertices d ON d.id = v4;
SELECT coalesce(region::text, 'all') AS region, count(*) AS tets, round(sum(volume)::numeric, 3) AS volume FROM tet GROUP BY ROLLUP (region) ORDER BY region;

-- For the picture: without the rock in front of a plane, and without the ore in front of it on the right. 0 ore, 1 rock
\set QUIET on
\set ECHO none
CREATE VIEW kept AS SELECT t.*, CASE region WHEN 1 THEN 0 ELSE 1 END AS thing, 1 AS cut FROM tet t WHERE y > 0 OR region = 1 AND x < 0;
\set mesh mine
\ir cut.sql
