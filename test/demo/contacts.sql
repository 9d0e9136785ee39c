\echo '-- A floor, and objects on it: a diamond-shaped bar, boxes, octahedra.'
CREATE TABLE floor AS
SELECT * FROM (VALUES (1, -11, -6, 0, 13, -6, 0, 13, 9, 0), (2, -11, -6, 0, 13, 9, 0, -11, 9, 0)) AS t (id, ax, ay, az, bx, by, bz, cx, cy, cz);
CREATE TABLE thing AS
WITH shape (shape, n, x, y, z) AS (VALUES
		('box', 0, -1, -1, -1), ('box', 1, 1, -1, -1), ('box', 2, 1, 1, -1), ('box', 3, -1, 1, -1), ('box', 4, -1, -1, 1), ('box', 5, 1, -1, 1), ('box', 6, 1, 1, 1), ('box', 7, -1, 1, 1),
		('bar', 0, 0, -1, -1), ('bar', 1, 1, -1, 0), ('bar', 2, 1, 1, 0), ('bar', 3, 0, 1, -1), ('bar', 4, -1, -1, 0), ('bar', 5, 0, -1, 1), ('bar', 6, 0, 1, 1), ('bar', 7, -1, 1, 0)),
	side (a, b, c, d) AS (VALUES (0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (2, 3, 7, 6), (1, 2, 6, 5), (3, 0, 4, 7)),
	octahedron AS (SELECT 'octahedron' AS shape, x, y, z FROM (VALUES (-1), (1)) AS x (x), (VALUES (-1), (1)) AS y (y), (VALUES (-1), (1)) AS z (z)),
	face (shape, ax, ay, az, bx, by, bz, cx, cy, cz) AS (
		SELECT p.shape, p.x, p.y, p.z, q.x, q.y, q.z, r.x, r.y, r.z
		FROM side, LATERAL (VALUES (a, b, c), (a, c, d)) AS t (i, j, k) JOIN shape p ON p.n = i JOIN shape q ON q.n = j AND q.shape = p.shape JOIN shape r ON r.n = k AND r.shape = p.shape
		UNION ALL SELECT shape, x, 0, 0, 0, CASE WHEN even THEN y ELSE 0 END, CASE WHEN even THEN 0 ELSE z END, 0, CASE WHEN even THEN 0 ELSE y END, CASE WHEN even THEN z ELSE 0 END
		FROM octahedron, LATERAL (SELECT x * y * z = 1 AS even) s)
SELECT row_number() OVER () AS id, object, x + s * ax AS ax, y + s * ay AS ay, z + s * az AS az, x + s * bx AS bx, y + s * by AS by, z + s * bz AS bz, x + s * cx AS cx, y + s * cy AS cy, z + s * cz AS cz
FROM (VALUES ('stands', 'box', -8.0, -2.5, 1.5, 1.5), ('lies on an edge', 'bar', -3.5, -1.0, 1.5, 1.5), ('stands on a corner', 'octahedron', 1.5, -1.5, 1.7, 1.7), ('sunk in', 'box', 5.5, -2.0, 0.4, 1.4),
		('sunk in, too', 'octahedron', 10.0, -1.0, 0.6, 1.8), ('floats', 'box', -6.0, 5.0, 2.6, 1.3), ('floats, too', 'octahedron', 5.0, 5.5, 2.4, 1.6), ('on top of the floor', 'bar', 0.0, 5.5, 1.2, 1.2)) AS o (object, shape, x, y, z, s)
	JOIN face USING (shape);

\echo '-- How does each of them meet the floor? Dimension 0: in a point, 1: along a line, 2: with a face; crosses: it passes through the floor.'
CREATE TABLE contact AS SELECT * FROM redblue_triangle_contacts_query('SELECT *, dense_rank() OVER (ORDER BY object) AS o FROM thing', 'SELECT *, 1 AS o FROM floor', red_object => 'o', blue_object => 'o');
CREATE TABLE how AS SELECT DISTINCT object, dimension, crosses FROM (SELECT object, dense_rank() OVER (ORDER BY object) AS o FROM thing) t LEFT JOIN contact ON red_id = o;
SELECT * FROM how ORDER BY crosses DESC NULLS LAST, dimension DESC NULLS LAST, object;

-- For the picture: 0 objects by kind of contact, 2 floor
\set QUIET on
\set ECHO none
\set store '\\copy (SELECT 0, CASE WHEN crosses AND dimension = 1 THEN 1 ELSE coalesce(4 - dimension, 0) END, ax, ay, az, bx, by, bz, cx, cy, cz FROM thing JOIN how USING (object) UNION ALL SELECT 2, 0, ax, ay, az, bx, by, bz, cx, cy, cz FROM floor) TO ' :'contacts' ' WITH (FORMAT csv)'
:store
