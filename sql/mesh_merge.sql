-- Tests the argument merge of mesh functions: which facets become one.
\set SHOW_CONTEXT never
\set schema mesh_merge
\i sql/fixtures/prologue.sql

-- A slab whose upper side is a lattice of triangles, bent by up to 0.0002
CREATE FUNCTION height(x int, y int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT 1 + 0.0001 * ((x * 7 + y * 13) % 5 - 2) $$;
CREATE TABLE slab AS SELECT row_number() OVER () AS id, t.* FROM (
	SELECT t.* FROM generate_series(0, 5) x, generate_series(0, 5) y, LATERAL (VALUES
		(x, y, height(x, y), x + 1, y, height(x + 1, y), x + 1, y + 1, height(x + 1, y + 1)), (x, y, height(x, y), x + 1, y + 1, height(x + 1, y + 1), x, y + 1, height(x, y + 1)),
		(x, y, 0, x + 1, y + 1, 0, x + 1, y, 0), (x, y, 0, x, y + 1, 0, x + 1, y + 1, 0)) t (ax, ay, az, bx, by, bz, cx, cy, cz)
	UNION ALL SELECT t.* FROM generate_series(0, 5) i, LATERAL (VALUES
		(i, 0, 0, i + 1, 0, 0, i + 1, 0, height(i + 1, 0)), (i, 0, 0, i + 1, 0, height(i + 1, 0), i, 0, height(i, 0)),
		(i, 6, 0, i + 1, 6, height(i + 1, 6), i + 1, 6, 0), (i, 6, 0, i, 6, height(i, 6), i + 1, 6, height(i + 1, 6)),
		(0, i, 0, 0, i + 1, height(0, i + 1), 0, i + 1, 0), (0, i, 0, 0, i, height(0, i), 0, i + 1, height(0, i + 1)),
		(6, i, 0, 6, i + 1, 0, 6, i + 1, height(6, i + 1)), (6, i, 0, 6, i + 1, height(6, i + 1), 6, i, height(6, i))) t) t;

-- Exactly coplanar facets are merged by default.
SELECT vertices, segments FROM redblue_tetrahedralize('slab', 'plain');
SELECT detail FROM redblue_last_run() WHERE stage = 'facets';
SELECT vertices, segments FROM redblue_tetrahedralize('slab', 'coplanar', merge => 'coplanar');
SELECT count(*) FROM redblue_mesh_check('plain', 'slab');
SELECT count(*) FROM redblue_mesh_check('plain');

-- Every edge is kept.
SELECT vertices, segments FROM redblue_tetrahedralize('slab', 'every', merge => 'none');
SELECT detail FROM redblue_last_run() WHERE stage = 'facets';
SELECT count(*) FROM redblue_mesh_check('every', 'slab', merge => 'none');
SELECT count(*) > 0 AS faults FROM redblue_mesh_check('every', 'slab');
SELECT count(*) FROM redblue_mesh_check('every');

-- Nearly flat facets are merged, too, within a tolerance; an angle may have any numeric type.
SELECT vertices, segments FROM redblue_tetrahedralize('slab', 'near', merge => 0.1);
SELECT detail FROM redblue_last_run() WHERE stage = 'facets';
SELECT count(*) FROM redblue_mesh_check('near', 'slab', merge => 0.1);
SELECT count(*) FROM redblue_mesh_check('near', merge => 0.1);
SELECT count(*) > 0 AS faults FROM redblue_mesh_check('near', 'slab');
SELECT count(*) AS faces, count(DISTINCT (facet_id, polygon)) > 20 AS of_many_rows, count(s.id) = count(*) AS known FROM near_faces f LEFT JOIN slab s ON s.id = f.facet_id;
SELECT count(*) FROM redblue_tetrahedra('slab', merge => '0.1') a JOIN redblue_tetrahedra('slab', merge => 0.1::float8) b USING (id, v1, v2, v3, v4) JOIN redblue_tetrahedra('slab', merge => 0.1::float4::text) c USING (id, v1, v2, v3, v4);
SELECT count(*) FROM redblue_tetrahedra_query('TABLE slab', merge => 1);
PREPARE meshed (text) AS SELECT count(*) > 0 AS found FROM redblue_tetrahedra('slab', merge => $1);
EXECUTE meshed ('none');
EXECUTE meshed ('0.1');
-- Points of refinement stay within it.
SELECT bad, bad_angle FROM redblue_refine('slab', 'refined', merge => 0.1, max_volume => 0.2);
SELECT count(*) FROM redblue_mesh_check('refined', 'slab', merge => 0.1);
SELECT a.vertices < b.vertices AS fewer FROM redblue_refine('slab', 'near_b', merge => 0.1) a, redblue_refine('slab', 'none_b', merge => 'none') b;
-- A mesh of bodies
CREATE TABLE bodies AS SELECT 1 AS body, * FROM slab UNION ALL SELECT 2, id + 1000, ax + 10, ay, az, bx + 10, by, bz, cx + 10, cy, cz FROM slab;
SELECT solids, bad, bad_angle FROM redblue_refine('bodies', 'both', solid => 'body', merge => 0.1);

-- If no mesh of nearly flat facets is found, only exactly coplanar ones are merged. A thin sheet of 8 by 8 squares, differently bent for each k
CREATE FUNCTION shake(k int, x int, y int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT ((x * 7919 + y * 10477 + k * 3571 + x * y * 131) % 101) / 101.0 $$;
CREATE FUNCTION sheet(k int) RETURNS SETOF slab LANGUAGE sql AS $$
	WITH point AS (SELECT x, y, s, 0.04 * shake(k, x, y) - s * (0.001 + 0.009 * shake(k + 1, y, x)) AS z FROM generate_series(0, 8) x, generate_series(0, 8) y, generate_series(0, 1) s),
	square AS (SELECT x, y, s, CASE WHEN (x + y) % 2 = 0 THEN ARRAY[[0, 0], [1, 0], [1, 1], [0, 1]] ELSE ARRAY[[1, 0], [1, 1], [0, 1], [0, 0]] END AS v FROM point WHERE x < 8 AND y < 8),
	side (ax, ay, bx, "by") AS (SELECT i, 0, i + 1, 0 FROM generate_series(0, 7) i UNION ALL SELECT i + 1, 8, i, 8 FROM generate_series(0, 7) i
		UNION ALL SELECT 0, i + 1, 0, i FROM generate_series(0, 7) i UNION ALL SELECT 8, i, 8, i + 1 FROM generate_series(0, 7) i),
	triangle AS (SELECT x + v[1][1] AS ax, y + v[1][2] AS ay, s AS a, x + v[h][1] AS bx, y + v[h][2] AS "by", s AS b, x + v[h + 1][1] AS cx, y + v[h + 1][2] AS cy, s AS c FROM square, generate_series(2, 3) h
		UNION ALL SELECT ax, ay, 1, bx, "by", 1, bx, "by", 0 FROM side UNION ALL SELECT ax, ay, 1, bx, "by", 0, ax, ay, 0 FROM side)
	SELECT row_number() OVER (ORDER BY t), t.ax, t.ay, a.z, t.bx, t.by, b.z, t.cx, t.cy, c.z FROM triangle t
	JOIN point a ON (a.x, a.y, a.s) = (t.ax, t.ay, t.a) JOIN point b ON (b.x, b.y, b.s) = (t.bx, t.by, t.b) JOIN point c ON (c.x, c.y, c.s) = (t.cx, t.cy, t.c) $$;
CREATE TABLE thin AS SELECT * FROM sheet(1);
SELECT regions FROM redblue_tetrahedralize('thin', 'thin_a', merge => 2);
SELECT detail FROM redblue_last_run() WHERE stage = 'facets';
SELECT regions FROM redblue_tetrahedralize('thin', 'thin_b');
SELECT count(*) FROM thin_a_vertices a FULL JOIN thin_b_vertices b USING (id, x, y, z, kind) WHERE a.kind IS NULL OR b.kind IS NULL;
SELECT count(*) AS faults FROM redblue_mesh_check('thin_a', 'thin', merge => 2);
SELECT count(*) AS faults FROM redblue_mesh_check('thin_a', 'thin');
SET client_min_messages = warning;
CREATE TABLE tried (k int, unmerged boolean, faults bigint);
DO $$
BEGIN
	FOR i IN 1 .. 10 LOOP
		TRUNCATE thin;
		INSERT INTO thin SELECT * FROM sheet(i);
		PERFORM redblue_tetrahedralize('thin', 'thin_' || i, merge => 2);
		INSERT INTO tried SELECT i, detail ~ 'coplanar' FROM redblue_last_run() WHERE stage = 'facets';
		UPDATE tried SET faults = (SELECT count(*) FROM redblue_mesh_check('thin_' || i, 'thin', merge => 2)) WHERE faults IS NULL;
	END LOOP;
END $$;
RESET client_min_messages;
SELECT count(*) FILTER (WHERE unmerged) > 0 AS unmerged, count(*) FILTER (WHERE NOT unmerged) > 0 AS merged, count(*), sum(faults) AS faults FROM tried;

-- Errors
SELECT count(*) FROM redblue_tetrahedra('slab', merge => 'flat');
SELECT count(*) FROM redblue_tetrahedra('slab', merge => '');
SELECT count(*) FROM redblue_tetrahedra('slab', merge => 0);
SELECT count(*) FROM redblue_tetrahedra('slab', merge => -0.1);
SELECT count(*) FROM redblue_tetrahedra('slab', merge => 10.5);
SELECT count(*) FROM redblue_tetrahedra('slab', merge => 'NaN'::float8);
SELECT count(*) FROM redblue_tetrahedra('slab', merge => '0.1 degrees');
SELECT count(*) FROM redblue_tetrahedra('slab', merge => NULL::text);
SELECT bad FROM redblue_refine(mesh => 'near', merge => 0.1);

SET client_min_messages = warning;
DROP SCHEMA mesh_merge CASCADE;
