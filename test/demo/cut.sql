-- Writes the visible faces of the tetrahedra of the view "kept" for the pictures of meshes. A face of only one of these
-- tetrahedra is visible.
--
-- mesh: name of the mesh; rows: output file; kept: tetrahedra with their object and the color of their cut faces. A face of
-- the input has color 0.
\set QUIET on
\set ECHO none
SELECT :'mesh' || '_vertices' AS vertices, :'mesh' || '_faces' AS faces \gset
CREATE TABLE seen AS
SELECT thing, cut, x.a, x.b, x.c, count(*) OVER (PARTITION BY least(x.a, x.b, x.c), greatest(x.a, x.b, x.c), x.a + x.b + x.c) AS sides
FROM kept, LATERAL (VALUES (v2, v3, v4), (v1, v4, v3), (v1, v2, v4), (v1, v3, v2)) AS x (a, b, c);
CREATE TABLE shown AS
SELECT thing, CASE WHEN EXISTS (SELECT FROM :faces WHERE ARRAY[least(v1, v2, v3), greatest(v1, v2, v3), v1 + v2 + v3] = ARRAY[least(seen.a, seen.b, seen.c), greatest(seen.a, seen.b, seen.c), seen.a + seen.b + seen.c]) THEN 0 ELSE cut END AS colour,
	a.x AS ax, a.y AS ay, a.z AS az, b.x AS bx, b.y AS by, b.z AS bz, c.x AS cx, c.y AS cy, c.z AS cz
FROM seen JOIN :vertices a ON a.id = seen.a JOIN :vertices b ON b.id = seen.b JOIN :vertices c ON c.id = seen.c WHERE sides = 1;
\set store '\\copy shown TO ' :'rows' ' WITH (FORMAT csv)'
:store
DROP TABLE seen, shown;
DROP VIEW kept;
