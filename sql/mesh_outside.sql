-- Tests points, facets and segments that lie outside of closed facets, or hang off them.
\set SHOW_CONTEXT never
\set schema mesh_outside
\i sql/fixtures/prologue.sql

\i sql/fixtures/box.sql
-- A box; a triangle that hangs off a corner of it, one far off, and one inside
CREATE TABLE facet AS SELECT row_number() OVER () AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM box(0, 0, 0, 2, 2, 2) b;
INSERT INTO facet VALUES (100, 2, 2, 2, 3, 3, 3, 3, 2, 4), (101, 5, 5, 5, 6, 5, 5, 5, 6, 5), (102, 0.5, 0.5, 0.5, 1, 0.5, 0.5, 0.5, 1, 0.5);
CREATE TABLE point AS SELECT * FROM (VALUES (1, 9.0, 9.0, 9.0), (2, 1.5, 1.5, 1.5)) v (id, x, y, z);
-- Segments that hang off a corner outside and inside, and one far off
CREATE TABLE segment AS SELECT * FROM (VALUES (1, 0.0, 0.0, 0.0, -1.0, -1.0, -2.0), (2, 7.0, 7.0, 7.0, 8.0, 8.0, 8.0), (3, 0.0, 0.0, 0.0, 0.3, 0.2, 0.1)) v (id, ax, ay, az, bx, by, bz);
CREATE FUNCTION content(mesh text) RETURNS TABLE (input bigint, unused bigint, facets bigint[], segments bigint[]) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT FROM %1$I_tets t WHERE v.id IN (v1, v2, v3, v4))),
		(SELECT array_agg(DISTINCT facet_id) FILTER (WHERE facet_id >= 100) FROM %1$I_faces), (SELECT array_agg(DISTINCT segment_id) FILTER (WHERE segment_id IS NOT NULL) FROM %1$I_segments)
		FROM %1$I_vertices v WHERE kind = ''input''', mesh);
END $$;

-- All 22 points are vertices with the same coordinates. Those outside belong to no tetrahedron, and facets and segments
-- outside have no faces and edges.
SELECT vertices FROM redblue_tetrahedralize('facet', 'inside', 'point', 'segment');
SELECT * FROM content('inside');
SELECT kind, parent_id, x, y, z FROM inside_vertices WHERE x > 6 ORDER BY x;
SELECT count(*) FROM redblue_mesh_check('inside', 'facet', 'point', 'segment');
SELECT count(*) FROM redblue_mesh_check('inside');
SELECT bad FROM redblue_refine(mesh => 'inside', max_volume => 0.1);
SELECT * FROM content('inside');
SELECT count(*) FROM redblue_mesh_check('inside', 'facet', 'point', 'segment');
SELECT bad FROM redblue_refine('facet', 'refined', 'point', 'segment', max_volume => 0.1);
SELECT * FROM content('refined');
SELECT count(*) FROM redblue_mesh_check('refined', 'facet', 'point', 'segment');
-- Up to the convex hull, all of them are part of the mesh.
SELECT vertices > 21 AS all FROM redblue_tetrahedralize('facet', 'hull', 'point', 'segment', keep => 'hull');
SELECT * FROM content('hull');
SELECT count(*) FROM redblue_mesh_check('hull', 'facet', 'point', 'segment', keep => 'hull');

SET client_min_messages = warning;
DROP SCHEMA mesh_outside CASCADE;
