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
-- With 0, no column mentions slivers
SELECT bad, bad_angle, not_delaunay, smallest_angle < 5 AS slivers FROM redblue_refine('crate', 'plain', 'dust', min_dihedral => 0);
SELECT count(*) > 0 AS tets, bool_and(delaunay) AS delaunay FROM plain_tets;
SELECT detail ~ 'slivers' AS slivers FROM redblue_last_run() WHERE stage = 'refine';
SELECT count(*) FROM redblue_mesh_check('plain', 'crate', 'dust');
-- The default is 5
SELECT bad, not_delaunay > 0 AS not_delaunay, smallest_angle >= 5 AND smallest_angle < 8 AS reached FROM redblue_refine('crate', 'usual', 'dust');
SELECT count(*) FROM redblue_mesh_check('usual', 'crate', 'dust');
CREATE TABLE counts AS SELECT * FROM redblue_refine('crate', 'm', 'dust', min_dihedral => 8);
SELECT detail ~ '; slivers: [1-9]\d*; to remove them, flips: [1-9]\d*, moved vertices: \d+, added vertices: \d+; faces that are not Delaunay: [1-9]\d*' AS slivers FROM redblue_last_run() WHERE stage = 'refine';
SELECT bad, bad_angle, not_delaunay > 0 AS not_delaunay, smallest_angle >= 8 AS reached, abs(smallest_angle - (SELECT min(min_dihedral) FROM m_tets)) <= 0.0006 AS measured,
	vertices <= 1.1 * (SELECT count(*) FROM plain_vertices) AS few FROM counts;
SELECT max(radius_edge) <= 2 AS ratio FROM m_tets;
-- Vertices on edges and facets are where they were, and the faces of facets are the same
SELECT count(*) FROM plain_vertices p JOIN m_vertices m USING (id) WHERE p.kind <> 'inside' AND (p.x, p.y, p.z, p.kind) IS DISTINCT FROM (m.x, m.y, m.z, m.kind);
SELECT count(*) FROM (SELECT facet_id, least(v1, v2, v3), greatest(v1, v2, v3), v1 + v2 + v3 FROM plain_faces EXCEPT SELECT facet_id, least(v1, v2, v3), greatest(v1, v2, v3), v1 + v2 + v3 FROM m_faces) d;
-- Column delaunay is false at exactly the faces that are not Delaunay. The check accepts these, unless all faces have to be Delaunay, and
-- checks everything else in any case
CREATE TABLE faults AS SELECT * FROM redblue_mesh_check('m', 'crate', 'dust', delaunay => true);
SELECT fault, count(*) = (SELECT not_delaunay FROM counts) AS all FROM faults GROUP BY fault;
SELECT array_agg(id ORDER BY id) = (SELECT array_agg(DISTINCT t ORDER BY t) FROM faults, unnest(tets) t) AS marked FROM m_tets WHERE NOT delaunay;
SELECT count(*) FROM redblue_mesh_check('m', 'crate', 'dust');
SELECT count(*) FROM redblue_mesh_check('m', 'crate', 'dust', delaunay => NULL);
SELECT count(*) FROM redblue_mesh_check('m', 'crate', 'dust', delaunay => false);
BEGIN;
UPDATE m_tets SET v1 = v2, v2 = v1 WHERE id = 1;
SELECT fault, tets FROM redblue_mesh_check('m', 'crate', 'dust', delaunay => false) WHERE fault ~ 'negative|orient|invert';
ROLLBACK;
BEGIN;
UPDATE m_tets SET delaunay = CASE id WHEN (SELECT tets[1] FROM faults ORDER BY tets LIMIT 1) THEN true END WHERE NOT delaunay;
SELECT fault, count(*) = (SELECT not_delaunay FROM counts) AS all FROM redblue_mesh_check('m', 'crate', 'dust') GROUP BY fault;
ALTER TABLE m_tets DROP delaunay;
SELECT fault, count(*) = (SELECT not_delaunay FROM counts) AS all FROM redblue_mesh_check('m', 'crate', 'dust') GROUP BY fault;
SELECT count(*) FROM redblue_mesh_check('m', 'crate', 'dust', delaunay => false);
ALTER TABLE m_tets ADD delaunay text;
SELECT redblue_mesh_check('m', 'crate', 'dust');
ROLLBACK;
-- Such a mesh becomes Delaunay before it is refined further; all vertices stay
CREATE TABLE old AS TABLE m_vertices;
SELECT bad, smallest_angle >= 8 AS reached, vertices > (SELECT count(*) FROM old) AS more FROM redblue_refine(mesh => 'm', max_volume => 0.1, min_dihedral => 8);
SELECT count(*) FROM (TABLE old EXCEPT TABLE m_vertices) v;
SELECT count(*) FROM redblue_mesh_check('m', 'crate', 'dust');
SELECT bad, not_delaunay FROM redblue_refine(mesh => 'm', max_volume => 0.09, min_dihedral => 0);
SELECT count(*) FROM redblue_mesh_check('m', 'crate', 'dust', delaunay => true);
-- Around a long segment, a Delaunay mesh needs a vertex on it
CREATE TABLE axle_vertices AS SELECT id, x, y, z, 'input' AS kind, NULL::bigint AS parent_id FROM (VALUES (1::bigint, 0::float8, 0::float8, -4::float8), (2, 0, 0, 4), (3, 1, 0, 0), (4, -0.5, 0.9, 0), (5, -0.5, -0.9, 0)) v (id, x, y, z);
CREATE TABLE axle_tets AS SELECT * FROM (VALUES (1::bigint, 1::bigint, 3::bigint, 4::bigint, 2::bigint, 0::bigint), (2, 1, 4, 5, 2, 0), (3, 1, 5, 3, 2, 0)) t (id, v1, v2, v3, v4, region);
CREATE TABLE axle_faces (id bigint, v1 bigint, v2 bigint, v3 bigint, facet_id bigint, polygon int);
CREATE TABLE axle_segments AS SELECT 1::bigint AS id, 1::bigint AS v1, 2::bigint AS v2, 7::bigint AS segment_id, NULL::bigint AS facet_id, 1::bigint AS segment;
SELECT fault, tets, vertices FROM redblue_mesh_check('axle', keep => 'hull');
SELECT redblue_refine(mesh => 'axle', radius_edge => NULL, keep_surface => true);
SELECT redblue_refine(mesh => 'axle', radius_edge => NULL, max_points => 5);
SELECT vertices, on_segments, tets FROM redblue_refine(mesh => 'axle', radius_edge => NULL);
SELECT count(*) FROM redblue_mesh_check('axle', keep => 'hull');
-- An existing mesh keeps its vertices.
CREATE TABLE vertices AS TABLE plain_vertices;
SELECT bad_angle > 0 AS bad FROM redblue_refine(mesh => 'plain', min_dihedral => 40);
SELECT count(*) FROM redblue_mesh_check('plain', 'crate', 'dust');
SELECT count(*) FROM (TABLE vertices EXCEPT TABLE plain_vertices) v;
-- Solids
SELECT solids, bad_angle, smallest_angle >= 8 AS reached FROM redblue_refine_query('SELECT id + 12 * k AS id, k AS solid, ax + 10 * k AS ax, ay, az, bx + 10 * k AS bx, "by", bz, cx + 10 * k AS cx, cy, cz FROM crate, generate_series(1, 3) k', mesh => 's', solid => 'solid', max_volume => 0.05, min_dihedral => 8);
SELECT count(*) > 0 AS any FROM s_tets WHERE NOT delaunay;
SELECT count(*) FROM redblue_mesh_check('s');
-- Invalid values
SELECT redblue_refine('crate', 'x', min_dihedral => 61);
SELECT redblue_refine('crate', 'x', min_dihedral => -1);
SELECT redblue_refine('crate', 'x', min_dihedral => 'NaN');
SELECT bad_angle, not_delaunay FROM redblue_refine('crate', 'x', min_dihedral => NULL);

SET client_min_messages = warning;
DROP SCHEMA slivers CASCADE;
