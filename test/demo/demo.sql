CREATE EXTENSION redblue;

\echo '-- The cow: each row is a triangle, with its corners in nine columns.'
CREATE TABLE cow (id int PRIMARY KEY,
	ax float8 NOT NULL, ay float8 NOT NULL, az float8 NOT NULL,
	bx float8 NOT NULL, by float8 NOT NULL, bz float8 NOT NULL,
	cx float8 NOT NULL, cy float8 NOT NULL, cz float8 NOT NULL);
\set load '\\copy cow FROM ' :'cow' ' WITH (FORMAT csv)'
:load

\echo '-- The spring: a tube that winds four times around the cow and passes through it.'
CREATE TABLE spring AS
WITH p AS (
	SELECT i, j, (0.38 + r * cos(v)) * cos(u) AS x, -0.05 + (0.38 + r * cos(v)) * sin(u) AS y, -0.26 + i / 200.0 + r * sin(v) AS z
	FROM generate_series(0, 240) i, generate_series(0, 23) j,
		LATERAL (SELECT radians(6.375 * i) AS u, radians(15.0 * j) AS v, 0.05 * (1 - (i / 120.0 - 1)::float8 ^ 24) AS r) tube)
SELECT row_number() OVER () AS id, t.*
FROM p a JOIN p b ON b.i = a.i + 1 AND b.j = a.j
	JOIN p c ON c.i = b.i AND c.j = (a.j + 1) % 24
	JOIN p d ON d.i = a.i AND d.j = c.j,
	LATERAL (VALUES (a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z), (a.x, a.y, a.z, c.x, c.y, c.z, d.x, d.y, d.z))
	AS t (ax, ay, az, bx, by, bz, cx, cy, cz);

\echo '-- Which triangles of the cow intersect which triangles of the spring?'
CREATE TABLE clash AS SELECT * FROM redblue_triangle_pairs('cow', 'spring');
SELECT * FROM redblue_last_run();
SELECT * FROM clash ORDER BY red_id, blue_id LIMIT 5;
SELECT (SELECT count(*) FROM cow) AS cow, (SELECT count(*) FROM spring) AS spring, count(*) AS pairs,
	count(DISTINCT red_id) AS cow_hit, count(DISTINCT blue_id) AS spring_hit FROM clash;

\echo '-- A self join: which triangles of the head touch each other, including neighbors?'
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT * FROM cow WHERE az > 0.6');

\echo '-- Exact signs: is the point above, on or below the plane?'
SELECT redblue_orient3d(0,0,0, 1,0,0, 0,1,0, 0.1,0.1,1e-300) AS above, redblue_orient3d(0,0,0, 1,0,0, 0,1,0, 0.1,0.1,0) AS on_it;

-- For the picture
\set QUIET on
\set ECHO none
\set store '\\copy (SELECT 0, EXISTS (SELECT FROM clash WHERE red_id = id)::int, ax, ay, az, bx, by, bz, cx, cy, cz FROM cow UNION ALL SELECT 1, EXISTS (SELECT FROM clash WHERE blue_id = id)::int, ax, ay, az, bx, by, bz, cx, cy, cz FROM spring) TO ' :'faces' ' WITH (FORMAT csv)'
:store
