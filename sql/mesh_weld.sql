-- Tests the argument weld of mesh functions: vertices that are near each other become one.
\set SHOW_CONTEXT never
\set schema mesh_weld
\i sql/fixtures/prologue.sql

\i sql/fixtures/box.sql
-- A box whose corners differ by up to 0.0003 from row to row, with a row that occurs twice and one that has no area then
CREATE TABLE gaping AS SELECT row_number() OVER () AS id, ax + e AS ax, ay - e AS ay, az, bx, by + e AS by, bz - e AS bz, cx - e AS cx, cy, cz + e AS cz
	FROM (SELECT *, 0.0001 * (row_number() OVER () % 4) AS e FROM box(0, 0, 0, 2, 2, 2)) b;
INSERT INTO gaping SELECT 100, bx, by, bz, cx, cy, cz + 0.0002, ax, ay, az FROM gaping WHERE id = 3;
INSERT INTO gaping SELECT 101, ax, ay, az, bx, by, bz, bx + 0.0001, by, bz FROM gaping WHERE id = 5;
SELECT count(*) FROM redblue_tetrahedra('gaping');
SELECT vertices, tets > 0 AS meshed, regions FROM redblue_tetrahedralize('gaping', 'closed', weld => 0.002);
SELECT count(*) FROM redblue_mesh_check('closed', 'gaping', weld => 0.002);
SELECT count(*) > 0 AS faults FROM redblue_mesh_check('closed', 'gaping', on_crossing => 'split');
-- The vertices are those of the first rows.
SELECT count(*) AS kept FROM closed_vertices v WHERE kind = 'input' AND EXISTS (SELECT FROM gaping WHERE (ax, ay, az) = (v.x, v.y, v.z) OR (bx, by, bz) = (v.x, v.y, v.z) OR (cx, cy, cz) = (v.x, v.y, v.z));
SELECT bad FROM redblue_refine('gaping', 'refined', weld => 0.002, max_volume => 0.5);
SELECT count(*) FROM redblue_mesh_check('refined', 'gaping', weld => 0.002);
-- Vertices are joined before facets are split where they cross.
CREATE TABLE crossed AS TABLE gaping UNION ALL SELECT 200 + n, ax, ay, az, bx, by, bz, cx, cy, cz FROM box(1, 1, 1, 3, 3, 3);
SELECT regions, crossings > 0 AS crossed FROM redblue_tetrahedralize('crossed', 'both', weld => 0.002, on_crossing => 'split');
SELECT count(*) FROM redblue_mesh_check('both', 'crossed', weld => 0.002, on_crossing => 'split');
-- A closed surface stays closed without its triangle that has no area: the middle vertex splits the edge of the neighbor.
CREATE TABLE flat AS SELECT id, ax::float8, ay::float8, az::float8, bx::float8, by::float8, bz::float8, cx::float8, cy::float8, cz::float8 FROM (VALUES
	(1, 0, 0, 0, 2, 1, 0, 0, 8, 0), (2, 2, 1, 0, 8, 4, 0, 0, 8, 0), (3, 0, 0, 0, 8, 4, 0, 0, 0, 6), (4, 8, 4, 0, 0, 8, 0, 0, 0, 6), (5, 0, 8, 0, 0, 0, 0, 0, 0, 6), (6, 8, 4, 0, 0, 0, 0, 2, 1, 0)) f (id, ax, ay, az, bx, by, bz, cx, cy, cz);
SELECT count(*) FROM redblue_tetrahedra('flat');
SELECT vertices, regions FROM redblue_tetrahedralize('flat', 'filled', weld => 0.001);
SELECT count(*) FROM redblue_mesh_check('filled', 'flat', weld => 0.001);
-- Too wide a group is split.
SELECT count(*) FROM redblue_tetrahedra_query(points => 'SELECT i AS id, i AS x, i * i % 7 AS y, i % 3 AS z FROM generate_series(1, 20) i', weld => 2.5, keep => 'hull');
SELECT count(*) > 0 AS meshed FROM redblue_tetrahedra_query('SELECT * FROM box(0, 0, 0, 2, 2, 2)', facets_id => 'n', weld => 0);
-- Errors
SELECT count(*) FROM redblue_tetrahedra('gaping', weld => -1);
SELECT count(*) FROM redblue_tetrahedra('gaping', weld => 'infinity');
SELECT count(*) FROM redblue_tetrahedra('gaping', weld => 'NaN');
SELECT bad FROM redblue_refine(mesh => 'closed', weld => 0.1);

SET client_min_messages = warning;
DROP SCHEMA mesh_weld CASCADE;
