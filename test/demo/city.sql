\echo '-- The city: a CityJSON file. Each row is a triangle, with the object to which it belongs.'
CREATE TABLE cityjson (doc jsonb);
\set load '\\copy cityjson FROM ' :'city' ' WITH (FORMAT csv, QUOTE E''\\x01'', DELIMITER E''\\x02'')'
:load
CREATE TABLE vertex AS
WITH t AS MATERIALIZED (SELECT doc->'transform'->'scale' AS scale FROM cityjson)
SELECT n - 1 AS n, (p->>0)::float8 * (scale->>0)::float8 AS x, (p->>1)::float8 * (scale->>1)::float8 AS y, (p->>2)::float8 * (scale->>2)::float8 AS z
FROM t, cityjson, jsonb_array_elements(doc->'vertices') WITH ORDINALITY v (p, n);
CREATE UNIQUE INDEX ON vertex (n);
ANALYZE vertex;
CREATE TABLE city AS
SELECT row_number() OVER () AS id, dense_rank() OVER (ORDER BY o.key) AS object, o.value->>'type' AS type,
	a.x AS ax, a.y AS ay, a.z AS az, b.x AS bx, b.y AS by, b.z AS bz, c.x AS cx, c.y AS cy, c.z AS cz
FROM cityjson, jsonb_each(doc->'CityObjects') o, jsonb_array_elements(o.value->'geometry') g,
	jsonb_array_elements(CASE g->>'type' WHEN 'Solid' THEN g->'boundaries' ELSE jsonb_build_array(g->'boundaries') END) shell,
	jsonb_array_elements(shell) face
	JOIN vertex a ON a.n = (face->0->>0)::int JOIN vertex b ON b.n = (face->0->>1)::int JOIN vertex c ON c.n = (face->0->>2)::int;

\echo '-- The planned line: a tube with a diameter of 3.4 m, 3 to 9 m above the ground.'
CREATE TABLE line AS
WITH p AS (
	SELECT i, j, x - r * cos(v) * sin(a) AS x, y + r * cos(v) * cos(a) AS y, z + r * sin(v) AS z
	FROM generate_series(0, 170) i, generate_series(0, 15) j, LATERAL (SELECT i / 170.0 AS t) t,
		LATERAL (SELECT 205 + 240 * t AS x, 82 + 45 * t + 16 * sin(2 * pi() * t) AS y, 3.4 + 5 * (2 * t - 1) ^ 6 AS z,
			atan2(45 + 32 * pi() * cos(2 * pi() * t), 240) AS a, radians(22.5 * j) AS v, 1.7 AS r) tube)
SELECT row_number() OVER () AS id, t.*
FROM p a JOIN p b ON b.i = a.i + 1 AND b.j = a.j
	JOIN p c ON c.i = b.i AND c.j = (a.j + 1) % 16
	JOIN p d ON d.i = a.i AND d.j = c.j,
	LATERAL (VALUES (a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z), (a.x, a.y, a.z, c.x, c.y, c.z, d.x, d.y, d.z))
	AS t (ax, ay, az, bx, by, bz, cx, cy, cz);

\echo '-- Which buildings does it intersect? Rows are triangles, results are buildings.'
CREATE VIEW building AS SELECT * FROM city WHERE type = 'Building';
CREATE TABLE hit AS SELECT DISTINCT red_id AS object FROM redblue_triangle_pairs('building', 'line', red_object => 'object');
SELECT * FROM redblue_last_run();
SELECT count(*) AS triangles, count(DISTINCT object) AS buildings, (SELECT count(*) FROM line) AS line, (SELECT count(*) FROM hit) AS met FROM building;

-- For the picture, without trees: 0 buildings, 1 line, 2 ground, 3 roads, 4 water, 5 plants
\set QUIET on
\set ECHO none
\set store '\\copy (SELECT CASE type WHEN ''Building'' THEN 0 WHEN ''Road'' THEN 3 WHEN ''Bridge'' THEN 3 WHEN ''WaterBody'' THEN 4 WHEN ''PlantCover'' THEN 5 ELSE 2 END, (type = ''Building'' AND object IN (SELECT object FROM hit))::int, ax, ay, az, bx, by, bz, cx, cy, cz FROM city WHERE type <> ''PlantCover'' OR greatest(az, bz, cz) - least(az, bz, cz) < 1.5 UNION ALL SELECT 1, 0, ax, ay, az, bx, by, bz, cx, cy, cz FROM line) TO ' :'faces' ' WITH (FORMAT csv)'
:store
