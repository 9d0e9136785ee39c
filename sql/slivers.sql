-- Removal of slivers by redblue_refine (min_dihedral), and redblue_mesh_check of the mesh afterwards
\set SHOW_CONTEXT never
\set schema slivers
\i sql/fixtures/prologue.sql
-- A box with points in it, whose mesh contains slivers
CREATE TABLE crate AS
	WITH corner (i, x, y, z) AS (SELECT i, 4.0 * (i & 1), 4.0 * (i >> 1 & 1), 4.0 * (i >> 2) FROM generate_series(0, 7) i),
	face (id, a, b, c) AS (VALUES (1, 0, 2, 3), (2, 0, 3, 1), (3, 4, 5, 7), (4, 4, 7, 6), (5, 0, 1, 5), (6, 0, 5, 4),
		(7, 1, 3, 7), (8, 1, 7, 5), (9, 3, 2, 6), (10, 3, 6, 7), (11, 2, 0, 4), (12, 2, 4, 6))
	SELECT id, a.x::float8 AS ax, a.y::float8 AS ay, a.z::float8 AS az, b.x::float8 AS bx, b.y::float8 AS by, b.z::float8 AS bz, c.x::float8 AS cx, c.y::float8 AS cy, c.z::float8 AS cz
	FROM face f JOIN corner a ON a.i = f.a JOIN corner b ON b.i = f.b JOIN corner c ON c.i = f.c;
CREATE TABLE dust AS SELECT i AS id, (4 * ((i * 0.6180339887498949) % 1))::float8 AS x, (4 * ((i * 0.7548776662466927) % 1))::float8 AS y, (4 * ((i * 0.5698402909980532) % 1))::float8 AS z FROM generate_series(1, 120) i;
-- Without it, no column mentions slivers
SELECT bad, bad_angle, not_delaunay, smallest_angle < 10 AS slivers FROM redblue_refine('crate', 'plain', 'dust');
SELECT detail ~ 'slivers' AS slivers FROM redblue_last_run() WHERE stage = 'refine';
SELECT count(*) FROM redblue_mesh_check('plain', 'crate', 'dust');
CREATE TABLE counts AS SELECT * FROM redblue_refine('crate', 'm', 'dust', min_dihedral => 8);
SELECT detail ~ '; slivers: [1-9]\d*; to remove them, flips: [1-9]\d*, moved vertices: \d+, added vertices: \d+; faces that are not Delaunay: [1-9]\d*' AS slivers FROM redblue_last_run() WHERE stage = 'refine';
SELECT bad, bad_angle, not_delaunay > 0 AS not_delaunay, smallest_angle >= 8 AS reached, abs(smallest_angle - (SELECT min(min_dihedral) FROM m_tets)) <= 0.0006 AS measured,
	vertices <= 1.1 * (SELECT count(*) FROM plain_vertices) AS few FROM counts;
SELECT max(radius_edge) <= 2 AS ratio FROM m_tets;
-- Vertices on edges and facets are where they were, and the faces of facets are the same
SELECT count(*) FROM plain_vertices p JOIN m_vertices m USING (id) WHERE p.kind <> 'inside' AND (p.x, p.y, p.z, p.kind) IS DISTINCT FROM (m.x, m.y, m.z, m.kind);
SELECT count(*) FROM (SELECT facet_id, least(v1, v2, v3), greatest(v1, v2, v3), v1 + v2 + v3 FROM plain_faces EXCEPT SELECT facet_id, least(v1, v2, v3), greatest(v1, v2, v3), v1 + v2 + v3 FROM m_faces) d;
-- The check reports each face that is not Delaunay unless these are allowed, and everything else in any case
SELECT fault, count(*) = (SELECT not_delaunay FROM counts) AS all FROM redblue_mesh_check('m', 'crate', 'dust') GROUP BY fault;
SELECT count(*) FROM redblue_mesh_check('m', 'crate', 'dust', delaunay => false);
SELECT count(*) FROM redblue_mesh_check('m', 'crate', 'dust', delaunay => NULL) WHERE fault !~ 'circumsphere';
BEGIN;
UPDATE m_tets SET v1 = v2, v2 = v1 WHERE id = 1;
SELECT fault, tets FROM redblue_mesh_check('m', 'crate', 'dust', delaunay => false) WHERE fault ~ 'negative|orient|invert';
ROLLBACK;
-- Such a mesh cannot be refined again
SELECT redblue_refine(mesh => 'm', max_volume => 0.1);
-- An existing mesh keeps its vertices.
CREATE TABLE vertices AS TABLE plain_vertices;
SELECT bad_angle > 0 AS bad FROM redblue_refine(mesh => 'plain', min_dihedral => 40);
SELECT count(*) FROM redblue_mesh_check('plain', 'crate', 'dust', delaunay => false);
SELECT count(*) FROM (TABLE vertices EXCEPT TABLE plain_vertices) v;
-- Solids
SELECT solids, bad_angle, smallest_angle >= 8 AS reached FROM redblue_refine_query('SELECT id + 12 * k AS id, k AS solid, ax + 10 * k AS ax, ay, az, bx + 10 * k AS bx, "by", bz, cx + 10 * k AS cx, cy, cz FROM crate, generate_series(1, 3) k', mesh => 's', solid => 'solid', max_volume => 0.4, min_dihedral => 8);
SELECT count(*) FROM redblue_mesh_check('s', delaunay => false);
-- Invalid values
SELECT redblue_refine('crate', 'x', min_dihedral => 61);
SELECT redblue_refine('crate', 'x', min_dihedral => -1);
SELECT redblue_refine('crate', 'x', min_dihedral => 'NaN');
SELECT bad_angle, not_delaunay FROM redblue_refine('crate', 'x', min_dihedral => NULL);

SET client_min_messages = warning;
DROP SCHEMA slivers CASCADE;
