-- Tests tetrahedral meshes: as rows, in tables, and the check of a mesh.
\set SHOW_CONTEXT never
\set schema mesh
\i sql/fixtures/prologue.sql

\i sql/fixtures/box.sql
CREATE FUNCTION volume(x1 float8, y1 float8, z1 float8, x2 float8, y2 float8, z2 float8, x3 float8, y3 float8, z3 float8, x4 float8, y4 float8, z4 float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
	SELECT abs((x2 - x1) * ((y3 - y1) * (z4 - z1) - (z3 - z1) * (y4 - y1)) - (y2 - y1) * ((x3 - x1) * (z4 - z1) - (z3 - z1) * (x4 - x1)) + (z2 - z1) * ((x3 - x1) * (y4 - y1) - (y3 - y1) * (x4 - x1))) / 6 $$;

-- One tetrahedron
CREATE TABLE tet AS SELECT id, ax::float8, ay::float8, az::float8, bx::float8, by::float8, bz::float8, cx::float8, cy::float8, cz::float8 FROM (VALUES
	(11, 0, 0, 0, 1, 0, 0, 0, 1, 0), (12, 0, 0, 0, 1, 0, 0, 0, 0, 1), (13, 0, 0, 0, 0, 1, 0, 0, 0, 1), (14, 1, 0, 0, 0, 1, 0, 0, 0, 1)) f (id, ax, ay, az, bx, by, bz, cx, cy, cz);
SELECT id, region, volume(x1, y1, z1, x2, y2, z2, x3, y3, z3, x4, y4, z4), redblue_orient3d(x1, y1, z1, x2, y2, z2, x3, y3, z3, x4, y4, z4) FROM redblue_tetrahedra('tet');
SELECT stage, count, detail ~ '^4 facets' AS facets FROM redblue_last_run();

-- A box in a box: two regions, which seeds can name; a hole
CREATE TABLE nested AS SELECT row_number() OVER () AS id, n, ax, ay, az, bx, by, bz, cx, cy, cz FROM (SELECT * FROM box(0, 0, 0, 10, 10, 10) UNION ALL SELECT * FROM box(3, 3, 3, 7, 7, 7)) b;
CREATE TABLE seeds (id int, x float8, y float8, z float8);
INSERT INTO seeds VALUES (-5, 5, 5, 5), (70, 1, 1, 1);
SELECT region, round(sum(volume(x1, y1, z1, x2, y2, z2, x3, y3, z3, x4, y4, z4))::numeric, 9) AS volume FROM redblue_tetrahedra('nested', regions => 'seeds') GROUP BY 1 ORDER BY 1;
SELECT region, round(sum(volume(x1, y1, z1, x2, y2, z2, x3, y3, z3, x4, y4, z4))::numeric, 9) AS volume FROM redblue_tetrahedra_query('TABLE nested', regions => 'SELECT * FROM seeds WHERE id > 0', holes => 'SELECT * FROM seeds WHERE id < 0') GROUP BY 1 ORDER BY 1;
SELECT count(DISTINCT region), round(sum(volume(x1, y1, z1, x2, y2, z2, x3, y3, z3, x4, y4, z4))::numeric, 9) AS volume FROM redblue_tetrahedra('nested');
-- A seed outside of all regions
SELECT count(DISTINCT region) FROM redblue_tetrahedra_query('TABLE nested', regions => 'SELECT 1 AS id, 99 AS x, 0 AS y, 0 AS z');
-- An open surface encloses nothing.
SELECT count(*) FROM redblue_tetrahedra_query('SELECT * FROM tet WHERE id < 14');
-- Without tetrahedra, no tables are created, so the name remains free for the next call.
SELECT tets FROM redblue_tetrahedralize_query('SELECT * FROM tet WHERE id < 14', 'shut');
SELECT to_regclass('shut_vertices'), to_regclass('shut_tets');
CREATE TABLE shut_tets (id int8, v1 int8, v2 int8, v3 int8, v4 int8, region int8);
SELECT tets FROM redblue_refine_query('SELECT * FROM tet WHERE id < 14', 'shut');
SELECT to_regclass('shut_vertices'), to_regclass('shut_tets');
SELECT tets > 0 AS made FROM redblue_tetrahedralize('tet', 'shut');
SELECT count(*) FROM redblue_tetrahedra_query('SELECT * FROM tet WHERE id < 14', keep => 'hull');
-- Only points
SELECT round(sum(volume(x1, y1, z1, x2, y2, z2, x3, y3, z3, x4, y4, z4))::numeric, 9) AS volume FROM redblue_tetrahedra_query(points => 'SELECT x + 10 * y + 100 * z AS id, x, y, z FROM generate_series(0, 4) x, generate_series(0, 4) y, generate_series(0, 4) z', keep => 'hull');

-- Tables, with points and segments
CREATE TABLE points (id int PRIMARY KEY, x float8, y float8, z float8);
INSERT INTO points SELECT i, 0.5 + i % 9, 0.25 + i / 9 % 9, 0.7 + i / 81 FROM generate_series(0, 728) i;
CREATE TABLE lines (id int PRIMARY KEY, ax float8, ay float8, az float8, bx float8, by float8, bz float8);
INSERT INTO lines VALUES (801, 0.1, 0.1, 0.1, 0.1, 0.1, 9.9), (802, 0.1, 0.1, 9.9, 9.9, 9.9, 9.9);
CREATE TABLE counts AS SELECT * FROM redblue_tetrahedralize('nested', 'm', 'points', 'lines', 'seeds');
SELECT vertices = (SELECT count(*) FROM m_vertices) AS vertices, tets = (SELECT count(*) FROM m_tets) AS tets, faces = (SELECT count(*) FROM m_faces) AS faces, segments = (SELECT count(*) FROM m_segments) AS segments,
	on_segments = (SELECT count(*) FROM m_vertices WHERE kind IN ('segment', 'edge')) AS on_segments, regions, fill_ms > 0 AS filled FROM counts;
\d m_vertices
\d m_tets
\d m_faces
\d m_segments
SELECT kind, count(parent_id) = count(*) AS parents, count(*) > 0 AS some FROM m_vertices GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM points p WHERE NOT EXISTS (SELECT FROM m_vertices v WHERE v.kind = 'input' AND v.parent_id = p.id AND (v.x, v.y, v.z) = (p.x, p.y, p.z));
SELECT count(DISTINCT facet_id) FILTER (WHERE polygon = 1) AS facets FROM m_faces;
SELECT region, count(*) > 0 FROM m_tets GROUP BY 1 ORDER BY 1;
SELECT count(DISTINCT segment_id) AS given, count(DISTINCT segment) > 2 AS more FROM m_segments;
SELECT stage FROM redblue_last_run();
-- No faults: with the original rows, with rows in another order, or for the mesh alone
SELECT * FROM redblue_mesh_check('m', 'nested', 'points', 'lines', 'seeds');
UPDATE nested SET n = 0 WHERE id IN (2, 7); UPDATE points SET x = x WHERE id = 100; UPDATE lines SET id = id WHERE id = 801;
SELECT * FROM redblue_mesh_check('m', 'nested', 'points', 'lines');
SELECT * FROM redblue_mesh_check('m');
SELECT stage, detail ~ 'volume 1000' AS volume FROM redblue_last_run();
-- Equal rows give equal bits.
SELECT count(*) FROM (SELECT v1, v2, v3, v4 FROM m_tets EXCEPT SELECT v1, v2, v3, v4 FROM redblue_tetrahedra_query('SELECT * FROM nested ORDER BY id', 'SELECT * FROM points ORDER BY id', 'SELECT * FROM lines ORDER BY id', keep => 'inside')) d;
-- Faults
BEGIN;
UPDATE m_vertices SET x = x + 0.25 WHERE kind = 'input' AND parent_id = 364;
SELECT fault, count(*) > 0 AS some, min(amount) AS amount FROM redblue_mesh_check('m', 'nested', 'points', 'lines') GROUP BY 1 HAVING min(amount) > 0 ORDER BY 1;
ROLLBACK;
BEGIN;
UPDATE m_tets SET v1 = v2, v2 = v1 WHERE id = 1;
SELECT * FROM redblue_mesh_check('m', 'nested', 'points', 'lines') WHERE fault ~ 'inverted';
UPDATE m_tets SET v1 = 100000 WHERE id = 2;
SELECT fault, tets FROM redblue_mesh_check('m') WHERE fault ~ 'not a vertex';
ROLLBACK;
BEGIN;
DELETE FROM m_faces WHERE facet_id IN (5, 6);
SELECT DISTINCT fault, facet_id, polygon FROM redblue_mesh_check('m', 'nested', 'points', 'lines') WHERE facet_id IS NOT NULL ORDER BY 1, 2;
DELETE FROM m_segments WHERE segment_id = 802;
SELECT DISTINCT fault, segment_id FROM redblue_mesh_check('m', 'nested', 'points', 'lines') WHERE segment_id IS NOT NULL ORDER BY 1, 2;
ROLLBACK;

-- Files
SELECT substring(convert_from(substring(f FROM 1 FOR 120), 'LATIN1') FROM '<VTKFile type="[A-Za-z]+"') AS vtu, length(f) > 100000 AS long FROM redblue_mesh_vtu('m') f;
SELECT convert_from(substring(f FROM 1 FOR 11), 'LATIN1') AS gmsh, length(f) > 100000 AS long FROM redblue_mesh_gmsh('m') f;
SELECT redblue_mesh_vtu(NULL) IS NULL, redblue_mesh_gmsh(NULL) IS NULL;
BEGIN;
UPDATE m_tets SET v3 = -1 WHERE id = 3;
SELECT redblue_mesh_vtu('m');
ROLLBACK;
SELECT redblue_mesh_gmsh('nowhere');

-- Groups in files: a column of the facets, of the regions, or of the tables of the mesh
CREATE TABLE layers AS SELECT id AS gid, CASE WHEN id <= 2 THEN 'bottom' WHEN id <= 10 THEN 'top "A"' END AS "Layer", id % 2 AS parity FROM nested;
CREATE FUNCTION names(file bytea) RETURNS SETOF text AS $$
	SELECT regexp_split_to_table(trim(E'\n' FROM substring(encode(file, 'escape') FROM '\$PhysicalNames(.*)\$EndPhysicalNames')), E'\n')
$$ LANGUAGE sql;
SELECT names(redblue_mesh_gmsh('m', facets => 'layers', facets_id => 'gid', facets_group => 'Layer'));
SELECT names(redblue_mesh_gmsh('m', 'layers', facets_id => 'gid', facets_group => 'parity', regions_group => 'region'));
SELECT names(redblue_mesh_gmsh('m', facets_group => 'polygon'));
SELECT redblue_mesh_vtu('m', facets => 'layers');
SELECT redblue_mesh_vtu('m', facets_id => 'gid', facets_group => 'polygon');
SELECT redblue_mesh_vtu('m', facets => 'layers', facets_group => 'Layer');
SELECT redblue_mesh_vtu('m', facets => 'layers', facets_id => 'gid', facets_group => 'layer');
SELECT redblue_mesh_gmsh('m', regions_group => 'unit');
SELECT redblue_mesh_gmsh('m', regions_group => '');
INSERT INTO layers SELECT gid, 'other' FROM layers WHERE gid IN (1, 3);
SELECT redblue_mesh_gmsh('m', facets => 'layers', facets_id => 'gid', facets_group => '"Layer"');
SELECT regexp_matches(convert_from(redblue_mesh_xdmf('m', regions_group => 'region'), 'UTF8'), '<Attribute Name="[a-z]+"|<map .*</map>', 'g');
SELECT regexp_matches(convert_from(redblue_mesh_xdmf('m', part => 'facets', facets_group => 'polygon'), 'UTF8'), '<Attribute Name="[a-z]+"|<map .*</map>', 'g');
SELECT redblue_mesh_xdmf('m', 'faces');
SELECT regexp_matches(convert_from(redblue_mesh_abaqus('m', facets_group => 'polygon'), 'UTF8'), E'\\*[A-Z][^\n]*', 'g');
SELECT regexp_matches(convert_from(redblue_mesh_ogs('m'), 'LATIN1'), 'Name="[^"]+"', 'g');
SELECT regexp_matches(convert_from(redblue_mesh_ogs('m', surface => '5'), 'LATIN1'), 'Name="[^"]+"', 'g');
SELECT length(redblue_mesh_ogs('m', '1', facets_group => 'polygon')) > length(redblue_mesh_ogs('m', '5')) AS longer;
SELECT redblue_mesh_ogs('m', '99');
SELECT redblue_mesh_ogs('m', '');
SELECT redblue_mesh_ogs('m', 'top', facets_group => 'polygon');
SELECT redblue_mesh_ogs(NULL) IS NULL, redblue_mesh_xdmf(NULL) IS NULL, redblue_mesh_abaqus(NULL) IS NULL;
-- Doubled vertices along a fault: a square of eight triangles inside a box, with an inner vertex
CREATE TABLE fault AS SELECT row_number() OVER () AS id, b.* FROM (SELECT n, ax, ay, az, bx, by, bz, cx, cy, cz FROM box(0, 0, 0, 10, 10, 10)
	UNION ALL SELECT 100 + n, 5, 5, 5, 5 + 2 * x[n], 5 + 2 * y[n], 5, 5 + 2 * x[n % 8 + 1], 5 + 2 * y[n % 8 + 1], 5
	FROM generate_series(1, 8) n, (VALUES (ARRAY[1, 1, 0, -1, -1, -1, 0, 1], ARRAY[0, 1, 1, 1, 0, -1, -1, -1])) c (x, y)) b;
SELECT regions FROM redblue_tetrahedralize('fault', 'faulted', merge => 'none');
CREATE FUNCTION cells(file bytea) RETURNS text AS $$ SELECT substring(encode(file, 'escape') FROM '<Piece[^>]*>') $$ LANGUAGE sql;
SELECT cells(redblue_mesh_vtu('faulted')), cells(redblue_mesh_vtu('faulted', split_faults => true)), cells(redblue_mesh_vtu('m')) = cells(redblue_mesh_vtu('m', split_faults => true)) AS none;
DROP FUNCTION cells;
DROP FUNCTION names;
DROP TABLE layers;

-- Tables that exist already
SELECT * FROM redblue_tetrahedralize('tet', 'm');
CREATE TABLE own_tets (region bigint, v4 bigint, v3 bigint, v2 bigint, v1 bigint, id bigint CHECK (id > 0), made text DEFAULT 'by default');
CREATE TABLE own_faces (id bigint, v1 bigint, v2 bigint, v3 bigint, facet_id bigint);
SELECT vertices, tets, faces, segments, on_segments, on_facets, inside, regions FROM redblue_tetrahedralize('tet', 'own');
TABLE own_vertices; TABLE own_tets; TABLE own_faces; TABLE own_segments;
SELECT * FROM redblue_mesh_check('own', 'tet');
TRUNCATE own_vertices, own_tets, own_faces, own_segments;
ALTER TABLE own_faces ADD polygon int;
SELECT tets FROM redblue_tetrahedralize(facets => 'tet', mesh => 'own');
SELECT * FROM redblue_mesh_check('own', 'tet');
TRUNCATE own_vertices, own_tets, own_faces, own_segments;
ALTER TABLE own_tets DROP v4;
SELECT tets FROM redblue_tetrahedralize('tet', 'own');
ALTER TABLE own_tets ADD v4 int;
SELECT tets FROM redblue_tetrahedralize('tet', 'own');
-- Rows added by an earlier call in the same command count as rows.
CREATE TABLE plain_vertices (LIKE own_vertices); CREATE TABLE plain_tets (LIKE m_tets); CREATE TABLE plain_faces (LIKE own_faces); CREATE TABLE plain_segments (LIKE own_segments);
SELECT (redblue_tetrahedralize('tet', 'plain')).tets FROM generate_series(1, 2);
SELECT count(*) FROM plain_tets;
-- A trigger of one table changes another one; a rule discards the rows.
CREATE FUNCTION meanwhile() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE tg_argv[0]; RETURN NULL; END $$;
BEGIN;
CREATE TRIGGER t AFTER INSERT ON plain_vertices EXECUTE FUNCTION meanwhile('ALTER TABLE plain_tets RENAME v4 TO fourth');
SELECT tets FROM redblue_tetrahedralize('tet', 'plain');
ROLLBACK;
BEGIN;
CREATE TRIGGER t AFTER INSERT ON plain_vertices EXECUTE FUNCTION meanwhile('DROP TABLE plain_tets');
\set VERBOSITY sqlstate
SELECT tets FROM redblue_tetrahedralize('tet', 'plain');
\set VERBOSITY default
ROLLBACK;
-- A table that cannot be filled is reported before the mesh is computed, which is not possible here either.
BEGIN;
ALTER TABLE plain_vertices DROP z, ADD z float8 GENERATED ALWAYS AS (x + y) STORED;
SELECT tets FROM redblue_tetrahedralize_query('SELECT * FROM tet LIMIT 0', 'plain');
ROLLBACK;
BEGIN;
CREATE RULE r AS ON INSERT TO plain_tets DO INSTEAD NOTHING;
SELECT tets FROM redblue_tetrahedralize('tet', 'plain');
SELECT (SELECT count(*) FROM plain_vertices) AS vertices, (SELECT count(*) FROM plain_tets) AS tets;
ALTER TABLE plain_segments ALTER segment DROP NOT NULL;
SAVEPOINT a;
UPDATE plain_segments SET segment = NULL WHERE id = 3;
SELECT * FROM redblue_mesh_check('plain');
ROLLBACK TO a;
-- The input query alters the tables of the mesh.
CREATE FUNCTION alter_mesh() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN ALTER TABLE plain_vertices ALTER x TYPE text; RETURN true; END $$;
CREATE VIEW altering AS SELECT tet.* FROM (SELECT alter_mesh() AS done OFFSET 0) a, tet WHERE done;
SELECT * FROM redblue_mesh_check('plain', 'altering');
ROLLBACK;
-- Names
CREATE SCHEMA "Other one";
SELECT tets FROM redblue_tetrahedralize('tet', '"Other one"."The mesh"');
SELECT count(*) FROM "Other one"."The mesh_tets";
SELECT * FROM redblue_mesh_check('"Other one"."The mesh"', 'tet');
SELECT tets FROM redblue_tetrahedralize('tet', 'pg_temp.t');
SELECT count(*) FROM pg_temp.t_tets;
SELECT tets FROM redblue_tetrahedralize('tet', 'nowhere.m');
SELECT tets FROM redblue_tetrahedralize('tet', 'a.b.c');
SELECT tets FROM redblue_tetrahedralize('tet', '');
SELECT tets FROM redblue_tetrahedralize('tet', repeat('x', 55));
SELECT tets FROM redblue_tetrahedralize('tet');
SELECT * FROM redblue_mesh_check('nowhere.m');
SELECT * FROM redblue_mesh_check('nowhere');
SELECT * FROM redblue_mesh_check(NULL);

-- Arguments
SELECT count(*) FROM redblue_tetrahedra();
SELECT count(*) FROM redblue_tetrahedra('tet', keep => 'some');
SELECT count(*) FROM redblue_tetrahedra('tet', on_crossing => 'ignore');
SELECT count(*) FROM redblue_tetrahedra('tet', face_tolerance => -1);
SELECT count(*) FROM redblue_tetrahedra('tet', facets_id => 'number');
SELECT count(*) FROM redblue_tetrahedra('points');
SELECT count(*) FROM redblue_tetrahedra('tet', points => 'tet');
SELECT count(*) FROM redblue_tetrahedra_query('tet');
-- Invalid rows
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet', 'SELECT 5 AS id, ''NaN''::float8 AS x, 0 AS y, 0 AS z');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet', 'SELECT 5 AS id, NULL::float8 AS x, 0 AS y, 0 AS z');
SELECT count(*) FROM redblue_tetrahedra_query('SELECT * FROM tet WHERE id = 11', keep => 'hull');
SELECT count(*) FROM redblue_tetrahedra_query('SELECT * FROM tet WHERE id = 11', 'SELECT 1 AS id, 1 AS x, 1 AS y, 0 AS z');
SELECT count(*) FROM redblue_tetrahedra_query('SELECT * FROM tet LIMIT 0');
CREATE TABLE two AS SELECT * FROM nested UNION ALL SELECT 100 + n, n, ax, ay, az, bx, by, bz, cx, cy, cz FROM box(5, 5, 5, 15, 15, 15);
SELECT count(*) FROM redblue_tetrahedra('two');
-- Crossing facets are split where they cross.
SELECT on_segments >= 0 AS cut, crossings, regions FROM redblue_tetrahedralize('two', 'cut', on_crossing => 'split');
SELECT kind, count(*), count(parent_id) FROM cut_vertices WHERE kind = 'crossing' GROUP BY 1;
SELECT count(*) > 0 AS lines FROM cut_segments WHERE segment_id IS NULL AND facet_id IS NULL;
SELECT * FROM redblue_mesh_check('cut', 'two', on_crossing => 'split');
SELECT region, round(sum(volume(a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, d.x, d.y, d.z))::numeric, 6) AS volume FROM cut_tets t JOIN cut_vertices a ON a.id = v1 JOIN cut_vertices b ON b.id = v2 JOIN cut_vertices c ON c.id = v3 JOIN cut_vertices d ON d.id = v4 GROUP BY 1 ORDER BY 2;
-- Parts of facets outside the mesh are removed, together with the points that were added there.
CREATE TABLE sticking AS TABLE tet UNION ALL SELECT 20, -1, -1, 0.25, 2, -1, 0.25, -1, 2, 0.25
UNION ALL SELECT 30, 0.5, 0.5, 0.375, 0.5, 0.5, 3, 0.625, 0.5, 3 UNION ALL SELECT 31, 0.5, 0.5, 0.125, 0.5, 0.5, -3, 0.625, 0.5, -3;
SELECT vertices, tets, faces, segments, on_segments, crossings, regions FROM redblue_tetrahedralize('sticking', 'stuck', on_crossing => 'split');
SELECT on_segments FROM redblue_tetrahedralize('sticking', 'hull', keep => 'hull', on_crossing => 'split');
SELECT kind, count(*) FROM stuck_vertices GROUP BY kind ORDER BY kind;
SELECT * FROM redblue_mesh_check('stuck', 'sticking', on_crossing => 'split');
SELECT * FROM redblue_mesh_check('stuck');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet UNION ALL SELECT 20, bx, by, bz, ax, ay, az, cx, cy, cz FROM tet WHERE id = 11');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet UNION ALL SELECT 20, ax, ay, az, bx / 2, by, bz, cx, cy / 2, cz FROM tet WHERE id = 11');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet UNION ALL SELECT 20, 0, 0, 0, 1, 1, 1, 2, 2, 2');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet', 'SELECT 5 AS id, 0.25 AS x, 0.25 AS y, 0 AS z');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet', 'SELECT 5 AS id, 0.5 AS x, 0 AS y, 0 AS z');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet', segments => 'SELECT 5 AS id, 0.1 AS ax, 0.1 AS ay, 0.1 AS az, 0.1 AS bx, 0.1 AS by, -1 AS bz');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet', segments => 'SELECT 5 AS id, 0.1 AS ax, 0.1 AS ay, 0.1 AS az, 0.3 AS bx, 0.3 AS by, 0.1 AS bz UNION ALL SELECT 6, 0.3, 0.1, 0.1, 0.1, 0.3, 0.1');
SELECT count(*) FROM redblue_tetrahedra_query('TABLE tet', 'SELECT 6 AS id, 0.2 AS x, 0.2 AS y, 0.1 AS z', 'SELECT 5 AS id, 0.1 AS ax, 0.1 AS ay, 0.1 AS az, 0.3 AS bx, 0.3 AS by, 0.1 AS bz');
-- A cube with a diagonal wall, which splits two sides; and one whose sides do not contain the wall's edges
SELECT count(*) FROM redblue_tetrahedra_query('SELECT n AS id, b.* FROM box(0, 0, 0, 1, 1, 1) b UNION ALL SELECT n + 20, b.* FROM (VALUES (1, 1, 0, 0, 0, 0, 1, 0, 1, 1), (2, 1, 0, 0, 0, 1, 1, 1, 0, 1)) b (n, ax, ay, az, bx, by, bz, cx, cy, cz)');
SELECT count(*) FROM redblue_tetrahedra_query('SELECT n AS id, b.* FROM box(0, 0, 0, 1, 1, 1) b UNION ALL SELECT n + 20, b.* FROM (VALUES (1, 0, 0, 0, 1, 1, 0, 1, 1, 1), (2, 0, 0, 0, 1, 1, 1, 0, 0, 1)) b (n, ax, ay, az, bx, by, bz, cx, cy, cz)');

-- Flat faces that are split into triangles
CREATE TABLE flat AS SELECT row_number() OVER () AS id, CASE WHEN x < 2 THEN 17 ELSE 18 END AS part, s.*
	FROM generate_series(0, 3) x, generate_series(0, 3) y, LATERAL (VALUES
	(x, y, 0, x, y + 1, 0, x + 1, y + 1, 0), (x, y, 0, x + 1, y + 1, 0, x + 1, y, 0), (x, y, 4, x + 1, y, 4, x + 1, y + 1, 4), (x, y, 4, x + 1, y + 1, 4, x, y + 1, 4),
	(x, 0, y, x + 1, 0, y, x, 0, y + 1), (x + 1, 0, y, x + 1, 0, y + 1, x, 0, y + 1), (x, 4, y, x + 1, 4, y, x, 4, y + 1), (x + 1, 4, y, x, 4, y + 1, x + 1, 4, y + 1),
	(0, x, y, 0, x, y + 1, 0, x + 1, y), (0, x + 1, y, 0, x, y + 1, 0, x + 1, y + 1), (4, x, y, 4, x + 1, y, 4, x + 1, y + 1), (4, x, y, 4, x + 1, y + 1, 4, x, y + 1)) s (ax, ay, az, bx, by, bz, cx, cy, cz);
SELECT vertices, segments, on_segments, on_facets, regions FROM redblue_tetrahedralize('flat', 'f');
SELECT detail FROM redblue_last_run() WHERE stage = 'facets';
SELECT * FROM redblue_mesh_check('f', 'flat');
SELECT * FROM redblue_mesh_check('f');
CREATE FUNCTION beside(mesh text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	-- Compares three times a centroid with the bounding box of three times the triangle of its row.
	EXECUTE format('SELECT count(*) FROM %1$s_faces f JOIN flat r ON r.id = f.facet_id JOIN %1$s_vertices a ON a.id = v1 JOIN %1$s_vertices b ON b.id = v2 JOIN %1$s_vertices c ON c.id = v3
		WHERE NOT box3(a.x + b.x + c.x, 3 * r.ax, 3 * r.bx, 3 * r.cx) OR NOT box3(a.y + b.y + c.y, 3 * r.ay, 3 * r.by, 3 * r.cy) OR NOT box3(a.z + b.z + c.z, 3 * r.az, 3 * r.bz, 3 * r.cz)', mesh) INTO n;
	RETURN n;
END $$;
CREATE FUNCTION box3(x float8, a float8, b float8, c float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT x BETWEEN least(a, b, c) - 1e-9 AND greatest(a, b, c) + 1e-9';
SELECT beside('f');
-- The segments are exactly the outline of each side.
SELECT count(*) FROM f_segments s JOIN f_vertices a ON a.id = v1 JOIN f_vertices b ON b.id = v2 WHERE (a.x = b.x AND a.x IN (0, 4))::int + (a.y = b.y AND a.y IN (0, 4))::int + (a.z = b.z AND a.z IN (0, 4))::int <> 2;
-- Refinement, and further refinement without the rows: a row may lose all of its faces, but no row gains faces.
SELECT bad FROM redblue_refine('flat', 'g', max_volume => 0.5);
SELECT count(*) FROM redblue_mesh_check('g', 'flat');
SELECT beside('g');
SELECT count(*) FROM g_vertices v LEFT JOIN flat r ON r.id = v.parent_id WHERE v.kind IN ('facet', 'edge') AND r.id IS NULL;
CREATE TABLE g_was AS SELECT DISTINCT facet_id FROM g_faces;
SELECT bad FROM redblue_refine(mesh => 'g', max_volume => 0.1);
SELECT count(*) FROM redblue_mesh_check('g', 'flat');
SELECT count(*) FROM redblue_mesh_check('g');
SELECT count(*) FROM g_faces f LEFT JOIN g_was USING (facet_id) WHERE g_was.facet_id IS NULL;
-- A missing segment is still reported: two sides of a box are not one facet.
BEGIN;
DELETE FROM g_segments WHERE segment = (SELECT min(segment) FROM g_segments);
SELECT count(*) > 0 AS found FROM redblue_mesh_check('g');
ROLLBACK;
-- Ids that several rows share identify parts: the line between two parts remains a segment.
SELECT vertices, on_segments, regions FROM redblue_tetrahedralize('flat', 'parts', facets_id => 'part');
SELECT count(*) FROM redblue_mesh_check('parts', 'flat', facets_id => 'part');
SELECT facet_id, min(least(a.x, b.x, c.x)), max(greatest(a.x, b.x, c.x)) FROM parts_faces JOIN parts_vertices a ON a.id = v1 JOIN parts_vertices b ON b.id = v2 JOIN parts_vertices c ON c.id = v3 WHERE a.z = 4 AND b.z = 4 AND c.z = 4 GROUP BY 1 ORDER BY 1;
-- A wall, and a line in the input, also remain.
CREATE TABLE walled AS SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM flat UNION ALL SELECT 1000, 2, 0, 0, 2, 4, 0, 2, 0, 4 UNION ALL SELECT 1001, 2, 4, 0, 2, 4, 4, 2, 0, 4;
SELECT regions, vertices FROM redblue_tetrahedralize('walled', 'w', on_crossing => 'split');
SELECT detail FROM redblue_last_run() WHERE stage = 'facets';
SELECT count(*) FROM redblue_mesh_check('w', 'walled', on_crossing => 'split');
SELECT regions, segments FROM redblue_tetrahedralize_query('SELECT * FROM flat', 'lined', segments => 'SELECT 7 AS id, 1 AS ax, 1 AS ay, 4 AS az, 2 AS bx, 1 AS by, 4 AS bz');
SELECT segment_id, facet_id, a.x, a.y, a.z, b.x, b.y, b.z FROM lined_segments s JOIN lined_vertices a ON a.id = v1 JOIN lined_vertices b ON b.id = v2 WHERE segment_id = 7;
-- Fans need no additional point.
CREATE FUNCTION prism(n int) RETURNS TABLE (id bigint, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8) LANGUAGE sql AS $$
	WITH p AS (SELECT i, cos(2 * pi() * i / n) AS x, sin(2 * pi() * i / n) AS y FROM generate_series(0, n - 1) i)
	SELECT row_number() OVER (), t.* FROM (
	SELECT a.x, a.y, z, b.x, b.y, z, c.x, c.y, z FROM p a, p b, p c, (VALUES (0::float8), (1)) z (z) WHERE a.i = 0 AND b.i BETWEEN 1 AND n - 2 AND c.i = b.i + 1 UNION ALL
	SELECT b.x, b.y, 0, c.x, c.y, 0, c.x, c.y, 1 FROM p b, p c WHERE c.i = (b.i + 1) % n UNION ALL
	SELECT b.x, b.y, 0, c.x, c.y, 1, b.x, b.y, 1 FROM p b, p c WHERE c.i = (b.i + 1) % n) t $$;
SELECT vertices FROM redblue_tetrahedralize_query('SELECT * FROM prism(128)', 'pr');
-- A triangle without area is an error; with 'split' it is ignored.
CREATE TABLE thin AS SELECT n AS id, b.ax, b.ay, b.az, b.bx, b.by, b.bz, b.cx, b.cy, b.cz FROM box(0, 0, 0, 1, 1, 1) b UNION ALL SELECT 20, 1, 0, 0, 1, 0, .5, 1, 0, 1 UNION ALL SELECT 21, 1, 0, 0, 1, 0, 0, 1, 0, 1;
SELECT vertices FROM redblue_tetrahedralize('thin', 'thinned');
SELECT vertices, regions FROM redblue_tetrahedralize('thin', 'thinned', on_crossing => 'split');
SELECT * FROM redblue_mesh_check('thinned', 'thin', on_crossing => 'split');

-- A facet that has no mesh because of rounding: its polygons are meshed one by one.
CREATE TABLE steep AS SELECT * FROM (VALUES (1, -12, 6000004, 304, -18, 5999996, 298, -14, 6000000, 302), (2, -15, 5999996, 297, -21, 5999988, 291, -19, 5999992, 293), (3, -15, 5999996, 297, -21, 5999988, 291, -17, 5999992, 295), (4, -18, 5999996, 298, -22, 5999992, 294, -21, 5999988, 291), (5, -18, 5999996, 298, -17, 5999992, 295, -21, 5999988, 291), (6, -18, 5999996, 298, -24, 5999988, 292, -22, 5999992, 294), (7, -18, 5999996, 298, -24, 5999988, 292, -20, 5999992, 296), (8, -18, 5999984, 290, -19, 5999988, 293, -23, 5999984, 289), (9, -16, 5999992, 292, -19, 5999984, 285, -20, 5999988, 288), (10, -24, 5999992, 292, -26, 5999988, 290, -22, 5999992, 294), (11, -24, 5999992, 292, -22, 5999992, 294, -20, 5999996, 296), (12, -19, 5999980, 285, -21, 5999976, 283, -22, 5999980, 286)) t (id, ax, ay, az, bx, by, bz, cx, cy, cz);
SELECT faces > 0 AS made FROM redblue_tetrahedralize('steep', 's', keep => 'hull');
SELECT detail FROM redblue_last_run() WHERE stage = 'facets';
SELECT count(*) FROM redblue_mesh_check('s', 'steep', keep => 'hull');
-- Far from the origin, a box without a lid, whose upper edges need points: the mesh ends at the hull.
CREATE TABLE lidless AS WITH c (n, x, y) AS (VALUES (0, 1000000.3, 2000000.1), (1, 1000001.7, 2000000.9), (2, 1000000.6, 2000001.8)),
	w AS (SELECT a.n, a.x AS ax, a.y AS ay, b.x AS bx, b.y AS by FROM c a JOIN c b ON b.n = (a.n + 1) % 3)
	SELECT n AS id, ax, ay, 3e6 AS az, bx, by, 3e6 AS bz, bx AS cx, by AS cy, 3e6 + 1 AS cz FROM w
	UNION ALL SELECT 3 + n, ax, ay, 3e6, bx, by, 3e6 + 1, ax, ay, 3e6 + 1 FROM w
	UNION ALL SELECT 6, a.x, a.y, 3e6, c.x, c.y, 3e6, b.x, b.y, 3e6 FROM c a, c b, c WHERE a.n = 0 AND b.n = 1 AND c.n = 2;
CREATE TABLE beside AS SELECT n AS id, (ax + bx) / 2 + (by - ay) / 50 AS x, (ay + by) / 2 - (bx - ax) / 50 AS y, 3e6 + 1 AS z FROM (SELECT id AS n, ax, ay, bx, by FROM lidless WHERE id < 3) w UNION ALL SELECT 3, 1e6 + 1, 2e6 + 1, 3e6 - 1;
SELECT on_segments > 0 AS cut FROM redblue_tetrahedralize('lidless', 'l', 'beside', keep => 'hull');
SELECT * FROM redblue_mesh_check('l', 'lidless', 'beside', keep => 'hull');
SELECT on_segments > 3 AS cut FROM redblue_refine('lidless', 'lr', 'beside', keep => 'hull', max_volume => 0.02);
SELECT * FROM redblue_mesh_check('lr', 'lidless', 'beside', keep => 'hull');
-- The upper and lower facets of slabs touch themselves in points: two holes share a corner, or a hole and a notch do, or
-- the ends of a notch meet.
CREATE TABLE cell AS SELECT slab, x, y FROM (VALUES ('hole', '111/101/111'), ('holes', '1111/1011/1101/1111'), ('notch', '011/101/111'),
	('ends', '0110/1001/1111'), ('chain', '10101/01010/11111')) s (slab, rows), string_to_table(rows, '/') WITH ORDINALITY r (cells, y), generate_series(1, length(cells)) x
	WHERE substr(cells, x, 1) = '1';
CREATE FUNCTION slab(wanted text) RETURNS TABLE (id bigint, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8) STABLE BEGIN ATOMIC
	WITH side (dx, dy, px, py, qx, qy) AS (VALUES (0, -1, 0, 0, 1, 0), (1, 0, 1, 0, 1, 1), (0, 1, 1, 1, 0, 1), (-1, 0, 0, 1, 0, 0)),
	wall AS (SELECT x + px AS px, y + py AS py, x + qx AS qx, y + qy AS qy FROM cell c, side
		WHERE slab = wanted AND NOT EXISTS (SELECT FROM cell o WHERE o.slab = wanted AND o.x = c.x + dx AND o.y = c.y + dy)),
	t AS (SELECT px AS ax, py AS ay, 0 AS az, qx AS bx, qy AS by, 0 AS bz, qx AS cx, qy AS cy, 1 AS cz FROM wall
		UNION ALL SELECT px, py, 0, qx, qy, 1, px, py, 1 FROM wall
		UNION ALL SELECT x, y, 1, x + 1, y, 1, x + 1, y + 1, 1 FROM cell WHERE slab = wanted
		UNION ALL SELECT x, y, 1, x + 1, y + 1, 1, x, y + 1, 1 FROM cell WHERE slab = wanted
		UNION ALL SELECT x, y, 0, x + 1, y + 1, 0, x + 1, y, 0 FROM cell WHERE slab = wanted
		UNION ALL SELECT x, y, 0, x, y + 1, 0, x + 1, y + 1, 0 FROM cell WHERE slab = wanted)
	SELECT row_number() OVER (), 3 * ax + ay - az, ax + 2 * ay + az, ay + 4 * az - 2 * ax, 3 * bx + by - bz, bx + 2 * by + bz, by + 4 * bz - 2 * bx,
		3 * cx + cy - cz, cx + 2 * cy + cz, cy + 4 * cz - 2 * cx FROM t;
END;
SELECT slab, count(*) AS cells, (SELECT round(sum(volume(x1, y1, z1, x2, y2, z2, x3, y3, z3, x4, y4, z4))::numeric / 10, 6)
	FROM redblue_tetrahedra_query(format('SELECT * FROM slab(%L)', slab))) AS volume FROM cell GROUP BY slab ORDER BY slab;
CREATE TABLE touching AS SELECT * FROM slab('chain');
SELECT on_segments + on_facets AS added FROM redblue_tetrahedralize('touching', 'self');
SELECT * FROM redblue_mesh_check('self', 'touching');
SELECT bad FROM redblue_refine('touching', 'selfr');
SELECT * FROM redblue_mesh_check('selfr', 'touching');
-- Points that are closer than doubles can represent: vertices are moved to a grid.
SELECT count(*) FROM redblue_tetrahedra_query('SELECT 1 AS id, 1 AS ax, 1 AS ay, 0 AS az, 2 + 2 ^ -50 AS bx, 1 AS by, 2 + 2 ^ -50 AS bz, 0 AS cx, 0 AS cy, 2 AS cz UNION ALL SELECT 2, 1 + 2 ^ -50, 0, 0, 2 + 3 * 2 ^ -51, 1, 2, 1, 2, 2 + 2 ^ -51', on_crossing => 'split', keep => 'hull');

-- As a function in the select list, and in a join with another one
SELECT count(*) FROM (SELECT redblue_tetrahedra('tet') OFFSET 0) s;
SELECT count(*) FROM redblue_tetrahedra('tet') a JOIN redblue_tetrahedra('tet') b USING (v1, v2, v3, v4);
-- A read-only transaction may return rows and fill existing temporary tables, but not create tables.
BEGIN READ ONLY;
SELECT count(*) FROM redblue_tetrahedra('tet');
SAVEPOINT a;
SELECT tets FROM redblue_tetrahedralize('tet', 'readonly');
ROLLBACK TO a;
COMMIT;
TRUNCATE own_vertices, own_tets, own_faces, own_segments;
ALTER TABLE own_tets ALTER v4 TYPE bigint;
BEGIN READ ONLY;
SELECT tets FROM redblue_tetrahedralize('tet', 'own');
ROLLBACK;
DELETE FROM pg_temp.t_vertices; DELETE FROM pg_temp.t_tets; DELETE FROM pg_temp.t_faces; DELETE FROM pg_temp.t_segments;
BEGIN READ ONLY;
SELECT tets FROM redblue_tetrahedralize('tet', 'pg_temp.t');
COMMIT;
-- Memory
SET redblue.memory_limit = '1MB';
SELECT count(*) FROM redblue_tetrahedra_query(points => 'SELECT i AS id, sqrt(i) AS x, i * i % 1009 AS y, i % 101 AS z FROM generate_series(1, 20000) i', keep => 'hull');
RESET redblue.memory_limit;

SET client_min_messages = warning;
DROP SCHEMA mesh, "Other one" CASCADE;
