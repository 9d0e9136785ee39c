\echo '-- The mine: an ore body, a bumpy ellipsoid that dips to the north, in meters. Its surface consists of triangles.'
CREATE TABLE ore AS
WITH p AS (
	SELECT i, j, x * 0.94 + z * 0.34 AS x, y, z * 0.94 - x * 0.34 - 330 AS z
	FROM generate_series(0, 71) i, generate_series(0, 36) j,
		LATERAL (SELECT radians(5.0 * i) AS u, radians(5.0 * j) AS v, CASE j WHEN 36 THEN 0 ELSE sin(radians(5.0 * j)) END AS s) angles,
		LATERAL (SELECT 1 + s * (0.16 * sin(3 * u + 2 * v) + 0.10 * cos(5 * u - 3 * v) + 0.05 * sin(11 * u + 8 * v)) AS r) bumps,
		LATERAL (SELECT 290 * r * s * cos(u) AS x, 150 * r * s * sin(u) AS y, 105 * r * cos(v) AS z) solid)
SELECT row_number() OVER () AS id, t.*
FROM p a JOIN p b ON b.i = (a.i + 1) % 72 AND b.j = a.j
	JOIN p c ON c.i = b.i AND c.j = a.j + 1
	JOIN p d ON d.i = a.i AND d.j = c.j,
	LATERAL (VALUES (a.x, a.y, a.z, d.x, d.y, d.z, c.x, c.y, c.z), (a.x, a.y, a.z, c.x, c.y, c.z, b.x, b.y, b.z))
	AS t (ax, ay, az, bx, by, bz, cx, cy, cz);

\echo '-- The drill holes: three from each of 21 collars. Each hole consists of pieces of 10 m and bends slightly.'
CREATE TABLE piece AS
WITH p AS (
	SELECT hole, n, x0 + 10 * n * lean * (1 + n / 150.0) AS x, y0 + 10 * n * side * (1 - n / 400.0) AS y, 25 * cos(x0 / 170) - 10 * n * 0.95 AS z
	FROM generate_series(0, 62) hole, generate_series(0, 55) n,
		LATERAL (SELECT hole / 3 % 7 * 90 - 270 AS x0, hole / 21 * 110 - 110 AS y0, (hole % 3 - 1) * 0.17 + 0.05 AS lean, (hole * 7 % 5 - 2) * 0.06 AS side) collar)
SELECT a.hole * 100 + a.n AS id, a.hole, a.n * 10 AS depth, a.x AS ax, a.y AS ay, a.z AS az, b.x AS bx, b.y AS by, b.z AS bz
FROM p a JOIN p b ON b.hole = a.hole AND b.n = a.n + 1;

\echo '-- Does the surface bound a solid? It is closed at both poles, where sin(pi) was replaced by 0.'
CREATE VIEW solid AS SELECT 1 AS solid, * FROM ore;
SELECT * FROM redblue_solid_check('solid', solid => 'solid');
\echo '-- Which pieces pierce the surface of the solid?'
CREATE TABLE pierced AS SELECT * FROM redblue_segment_triangle_pairs('piece', 'ore');
SELECT * FROM redblue_last_run();
SELECT (SELECT count(*) FROM piece) AS pieces, (SELECT count(*) FROM ore) AS triangles, count(*) AS pairs,
	count(DISTINCT segment_id / 100) AS holes_in_ore FROM pierced;
\echo '-- Meters of ore per hole'
CREATE TABLE in_ore AS SELECT * FROM redblue_segments_in_solids('piece', 'solid', solid => 'solid');
SELECT hole, round(sum(length)::numeric, 2) AS metres, min(depth + round((10 * from_fraction)::numeric, 1)) AS from_depth, max(depth + round((10 * to_fraction)::numeric, 1)) AS to_depth
FROM in_ore JOIN piece ON id = segment_id GROUP BY hole ORDER BY hole LIMIT 5;

-- For the picture: the intervals in ore, and the rest of each piece
\set QUIET on
\set ECHO none
\set store '\\copy (SELECT 0, EXISTS (SELECT FROM pierced WHERE triangle_id = id)::int, ax, ay, az, bx, by, bz, cx, cy, cz FROM ore UNION ALL SELECT 1, 0, ax, ay, az, bx, by, bz, NULL, NULL, NULL FROM piece UNION ALL SELECT 1, 1, ax + f * (bx - ax), ay + f * (by - ay), az + f * (bz - az), ax + t * (bx - ax), ay + t * (by - ay), az + t * (bz - az), NULL, NULL, NULL FROM in_ore JOIN piece ON id = segment_id, LATERAL (SELECT from_fraction AS f, to_fraction AS t) s) TO ' :'mine' ' WITH (FORMAT csv)'
:store
