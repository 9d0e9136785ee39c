-- Tests refinement: of rows, of an existing mesh, of many solids.
\set SHOW_CONTEXT never
\set schema refine
\i sql/fixtures/prologue.sql

\i sql/fixtures/box.sql
-- The tetrahedra of a mesh with their volumes and centroids
CREATE FUNCTION tets(mesh text) RETURNS TABLE (region bigint, radius_edge float8, min_dihedral float8, volume float8, x float8, y float8, z float8) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT t.region, t.radius_edge, t.min_dihedral,
		abs((b.x - a.x) * ((c.y - a.y) * (d.z - a.z) - (c.z - a.z) * (d.y - a.y)) - (b.y - a.y) * ((c.x - a.x) * (d.z - a.z) - (c.z - a.z) * (d.x - a.x)) + (b.z - a.z) * ((c.x - a.x) * (d.y - a.y) - (c.y - a.y) * (d.x - a.x))) / 6,
		(a.x + b.x + c.x + d.x) / 4, (a.y + b.y + c.y + d.y) / 4, (a.z + b.z + c.z + d.z) / 4
		FROM %1$s_tets t JOIN %1$s_vertices a ON a.id = v1 JOIN %1$s_vertices b ON b.id = v2 JOIN %1$s_vertices c ON c.id = v3 JOIN %1$s_vertices d ON d.id = v4', mesh);
END $$;
CREATE FUNCTION empty(mesh text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('TRUNCATE %1$s_vertices, %1$s_tets, %1$s_faces, %1$s_segments', mesh); END $$;

-- An icosahedron, without a sharp angle, with points in it, around which tetrahedra are bad
CREATE TABLE gem AS
	WITH corner AS (SELECT row_number() OVER () AS i, 5 * x AS x, 5 * y AS y, 5 * z AS z FROM (SELECT (ARRAY[0, a, b])[1 + k] AS x, (ARRAY[b, 0, a])[1 + k] AS y, (ARRAY[a, b, 0])[1 + k] AS z
		FROM generate_series(0, 2) k, (VALUES (1.0::float8), (-1.0)) f (a), (VALUES ((1 + sqrt(5.0::float8)) / 2), ((-1 - sqrt(5.0::float8)) / 2)) g (b)) c),
	edge AS (SELECT a.i, b.i AS j FROM corner a JOIN corner b ON a.i < b.i AND (a.x - b.x) ^ 2 + (a.y - b.y) ^ 2 + (a.z - b.z) ^ 2 < 101)
	SELECT row_number() OVER (ORDER BY a.i, b.i, c.i)::int AS id, a.x AS ax, a.y AS ay, a.z AS az, b.x AS bx, b.y AS by, b.z AS bz, c.x AS cx, c.y AS cy, c.z AS cz
	FROM edge e JOIN edge f ON f.i = e.j JOIN edge g ON g.i = e.i AND g.j = f.j JOIN corner a ON a.i = e.i JOIN corner b ON b.i = f.i JOIN corner c ON c.i = f.j;
CREATE TABLE dust AS SELECT i AS id, 0.1 * i AS x, 0.03 * i * i AS y, 0.05 AS z FROM generate_series(1, 5) i;
SELECT count(*) FROM gem;
SELECT vertices, regions FROM redblue_tetrahedralize('gem', 'f', 'dust');
SELECT max(radius_edge) > 5 AS bad FROM f_tets;
CREATE TABLE counts AS SELECT * FROM redblue_refine('gem', 'g', 'dust');
SELECT stage FROM redblue_last_run();
SELECT detail ~ '^rounds: [1-9]\d*, cavities tried: [1-9]\d*, remaining bad tetrahedra: 0(; slivers: .*)?(; on the GPU: .*)?$' AS refine FROM redblue_last_run() WHERE stage = 'refine';
SELECT bad, bad_input, bad_surface, bad_full, bad_fine, rounds > 0 AS rounds, crossings, regions, solids, inside > 0 AS inside, on_segments + on_facets + on_hull + inside = vertices - 17 AS added FROM counts;
SELECT vertices = (SELECT count(*) FROM g_vertices) AS vertices, tets = (SELECT count(*) FROM g_tets) AS tets, faces = (SELECT count(*) FROM g_faces) AS faces, segments = (SELECT count(*) FROM g_segments) AS segments,
	on_segments = (SELECT count(*) FROM g_vertices WHERE kind IN ('segment', 'edge')) AS on_segments, on_facets = (SELECT count(*) FROM g_vertices WHERE kind = 'facet') AS on_facets,
	inside = (SELECT count(*) FROM g_vertices WHERE kind = 'inside') AS inside, fill_ms > 0 AS filled FROM counts;
SELECT max(radius_edge) <= 2 AS good, min(min_dihedral) > 0 AS dihedral, max(min_dihedral) < 71 AS regular FROM g_tets;
SELECT round(sum(volume)::numeric, 9) = round((SELECT sum(volume) FROM tets('f'))::numeric, 9) AS volume FROM tets('g');
SELECT * FROM redblue_mesh_check('g', 'gem', 'dust');
SELECT count(DISTINCT facet_id) FROM g_faces;
-- Quality measures are correct for a regular corner.
SELECT count(*) FROM (SELECT redblue_tetrahedralize_query('SELECT i AS id, ax::float8, ay::float8, az::float8, bx::float8, by::float8, bz::float8, cx::float8, cy::float8, cz::float8 FROM (VALUES
	(11, 0, 0, 0, 1, 0, 0, 0, 1, 0), (12, 0, 0, 0, 1, 0, 0, 0, 0, 1), (13, 0, 0, 0, 0, 1, 0, 0, 0, 1), (14, 1, 0, 0, 0, 1, 0, 0, 0, 1)) f (i, ax, ay, az, bx, by, bz, cx, cy, cz)', 'corner')) t;
SELECT round(radius_edge::numeric, 12) = round(sqrt(0.75), 12) AS radius_edge, round(min_dihedral::numeric, 10) = round(degrees(atan(sqrt(2)))::numeric, 10) AS min_dihedral FROM corner_tets;

-- Maximum volumes: for all, by region, and by the nearest of some points; the smallest one applies.
CREATE TABLE nested AS SELECT row_number() OVER () AS id, n, ax, ay, az, bx, by, bz, cx, cy, cz FROM (SELECT * FROM box(0, 0, 0, 10, 10, 10) UNION ALL SELECT * FROM box(3, 3, 3, 7, 7, 7)) b;
CREATE TABLE seeds (id int PRIMARY KEY, x float8, y float8, z float8, volume real, "most" numeric);
INSERT INTO seeds VALUES (-5, 5, 5, 5, -1, 0.5), (70, 1, 1, 1, -1, NULL);
CREATE TABLE of_v AS SELECT * FROM redblue_refine('nested', 'v', regions => 'seeds', max_volume => 8, regions_volume => 'most');
-- Boxes of triangles have sharp angles.
SELECT bad = bad_input + bad_fine AS because, bad = (SELECT count(*) FROM tets('v') WHERE radius_edge > 2 OR volume > CASE region WHEN -5 THEN 0.5 ELSE 8 END) AS bad, 5 * bad < tets AS few FROM of_v;
SELECT region, max(volume) > 0.1 AS large, round(sum(volume)::numeric, 9) AS volume FROM tets('v') GROUP BY 1 ORDER BY 1;
SELECT * FROM redblue_mesh_check('v', 'nested');
SELECT empty('v');
-- Two points; the second one applies to the lower half.
CREATE TABLE sizes (id int, x int, y int, z int, volume numeric);
INSERT INTO sizes VALUES (1, 0, 0, 4, 'Infinity'), (2, 0, 0, -4, 0.5);
SELECT bad FROM redblue_refine('gem', 'w', sizes => 'sizes');
SELECT z < -2 AS below, max(volume) <= 0.5 AS small, max(radius_edge) <= 2 AS good FROM tets('w') GROUP BY 1 ORDER BY 1;
SELECT empty('w');
SELECT bad FROM redblue_refine_query('TABLE gem', 'w', sizes => 'SELECT 1 AS id, 0 AS x, 0 AS y, 0 AS z, 2::int2 AS large', sizes_volume => 'large', radius_edge => NULL);
SELECT max(volume) <= 2 AS small FROM tets('w');
SELECT empty('w');

-- The surface remains unchanged.
SELECT on_segments, on_facets, on_hull, bad = bad_surface AS because, inside > 0 AS inside FROM redblue_refine('gem', 'w', 'dust', keep_surface => true);
SELECT count(*) FROM w_faces;
SELECT * FROM redblue_mesh_check('w', 'gem', 'dust');
SELECT empty('w');
-- A limit on the number of points
\set VERBOSITY terse
SELECT vertices <= 60 AS few, bad > 0 AS bad, bad_full > 0 AS because FROM redblue_refine('gem', 'w', max_points => 60, max_volume => 1);
\set VERBOSITY default
SELECT * FROM redblue_mesh_check('w', 'gem');
-- Continued without the limit
SELECT bad, vertices > 60 AS more FROM redblue_refine(mesh => 'w', max_volume => 1);
SELECT stage FROM redblue_last_run();
SELECT max(volume) <= 1 AS small, max(radius_edge) <= 2 AS good, round(sum(volume)::numeric, 9) = round((SELECT sum(volume) FROM tets('f'))::numeric, 9) AS volume FROM tets('w');
SELECT * FROM redblue_mesh_check('w', 'gem');

-- Up to the convex hull: only points
SELECT on_segments, on_facets, bad = bad_input + bad_fine AS because, 5 * bad < tets AS few FROM redblue_refine_query(points => 'SELECT x + 10 * y + 100 * z AS id, x, y, z FROM generate_series(0, 4, 4) x, generate_series(0, 4) y, generate_series(0, 4, 2) z', mesh => 'cloud', keep => 'hull', max_volume => 0.5);
SELECT round(sum(volume)::numeric, 9) AS volume FROM tets('cloud');
SELECT count(parent_id) FROM cloud_vertices WHERE kind IN ('hull', 'inside');
SELECT * FROM redblue_mesh_check('cloud', keep => 'hull');
SELECT inside > 0 AS inside, regions FROM redblue_refine(mesh => 'cloud', max_volume => 0.25);

-- An existing mesh with points and segments, in tables that users have changed
CREATE TABLE points (id int PRIMARY KEY, x float8, y float8, z float8);
INSERT INTO points SELECT i, 0.5 + i % 9, 0.25 + i / 9 % 9, 0.7 + i / 81 FROM generate_series(0, 728) i;
CREATE TABLE lines (id int PRIMARY KEY, ax float8, ay float8, az float8, bx float8, by float8, bz float8);
INSERT INTO lines VALUES (801, 0.1, 0.1, 0.1, 0.1, 0.1, 9.9), (-1, 0.1, 0.1, 9.9, 9.9, 9.9, 9.9);
SELECT vertices > 748 AS vertices FROM redblue_tetrahedralize('nested', 'm', 'points', 'lines', 'seeds');
ALTER TABLE m_vertices ADD note text DEFAULT 'new';
UPDATE m_vertices SET id = 10 * id + 100000, note = 'old';
UPDATE m_tets SET id = -id, v1 = 10 * v1 + 100000, v2 = 10 * v2 + 100000, v3 = 10 * v3 + 100000, v4 = 10 * v4 + 100000;
UPDATE m_faces SET v1 = 10 * v1 + 100000, v2 = 10 * v2 + 100000, v3 = 10 * v3 + 100000, facet_id = facet_id - 2, polygon = 7;
UPDATE m_segments SET v1 = 10 * v1 + 100000, v2 = 10 * v2 + 100000, segment = -3 * segment, facet_id = facet_id - 2;
CREATE TABLE vertices AS TABLE m_vertices; CREATE TABLE segments AS SELECT DISTINCT segment, segment_id, facet_id FROM m_segments; CREATE TABLE facets AS SELECT DISTINCT facet_id, polygon FROM m_faces; CREATE TABLE n AS SELECT count(*) AS tets FROM m_tets;
SELECT bad_full, regions, r.tets > n.tets AS more, r.vertices > (SELECT count(*) FROM vertices) AS vertices, on_segments + on_facets + on_hull + inside = r.vertices - (SELECT count(*) FROM vertices) AS added
	FROM redblue_refine(mesh => 'm', max_volume => 0.5, regions => 'seeds', regions_volume => 'most') r, n;
-- Old vertices remain, and new ones follow them.
SELECT count(*) FROM (TABLE vertices EXCEPT TABLE m_vertices) v;
SELECT note, count(*) > 0 AS some FROM m_vertices GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM m_vertices n WHERE note = 'new' AND (id <= (SELECT max(id) FROM vertices) OR kind = 'input' OR (kind IN ('segment', 'edge', 'facet')) <> (parent_id IS NOT NULL));
SELECT kind, count(*) FILTER (WHERE NOT CASE kind WHEN 'segment' THEN parent_id IN (801, -1) WHEN 'input' THEN parent_id IS NULL OR parent_id BETWEEN 0 AND 728 ELSE parent_id BETWEEN -1 AND 24 END) AS wrong FROM m_vertices WHERE kind <> 'inside' GROUP BY 1 HAVING count(*) > 0 ORDER BY 1;
(SELECT DISTINCT segment, segment_id, facet_id FROM m_segments EXCEPT TABLE segments) UNION ALL (TABLE segments EXCEPT SELECT DISTINCT segment, segment_id, facet_id FROM m_segments);
(SELECT DISTINCT facet_id, polygon FROM m_faces EXCEPT TABLE facets) UNION ALL (TABLE facets EXCEPT SELECT DISTINCT facet_id, polygon FROM m_faces);
SELECT region, round(sum(volume)::numeric, 9) AS volume FROM tets('m') GROUP BY 1 ORDER BY 1;
UPDATE m_faces SET polygon = 1, facet_id = facet_id + 2;
SELECT * FROM redblue_mesh_check('m', 'nested', 'points', 'lines');
-- Regions that do not exist
SELECT bad, bad_angle FROM redblue_refine_query(mesh => 'm', max_volume => 0.5, regions => 'SELECT i AS id, 0 AS x, 0 AS y, 0 AS z, 0.5 AS volume FROM generate_series(68, 71) i', regions_volume => 'volume');
-- In a transaction with statements that read it, or rolled back
BEGIN;
SELECT bad FROM redblue_refine(mesh => 'g', max_volume => 0.25, radius_edge => NULL);
SELECT max(volume) <= 0.25 AS small FROM tets('g');
ROLLBACK;
SELECT max(volume) > 0.25 AS large FROM tets('g');

-- Contexts of a call
CREATE FUNCTION further(mesh text, volume float8) RETURNS SETOF redblue_refine_counts LANGUAGE sql AS 'SELECT * FROM redblue_refine(mesh => mesh, max_volume => volume)';
BEGIN;
SELECT volume, r.bad, r.tets >= (SELECT count(*) FROM g_tets) AS then FROM (VALUES (50), (25), (12)) v (volume), LATERAL redblue_refine(mesh => 'g', max_volume => volume) r;
SELECT max(volume) <= 12 AS small FROM tets('g');
WITH once AS (SELECT * FROM further('g', 10)) SELECT a.tets = b.tets AS once FROM once a, once b, generate_series(1, 2);
PREPARE further (float8) AS SELECT bad FROM redblue_refine(mesh => 'g', max_volume => $1);
EXECUTE further(9); EXECUTE further(8); EXECUTE further(7); EXECUTE further(6); EXECUTE further(5); EXECUTE further(4); EXECUTE further(3);
SELECT max(volume) <= 3 AS small FROM tets('g');
DECLARE further CURSOR FOR SELECT bad FROM redblue_refine(mesh => 'g', max_volume => 2), generate_series(1, 2);
FETCH 1 FROM further;
SELECT max(volume) <= 2 AS small FROM tets('g');
FETCH 1 FROM further;
CLOSE further;
-- A block that fails is rolled back.
DO $$
DECLARE
	before bigint := (SELECT count(*) FROM g_tets);
BEGIN
	FOR i IN 1 .. 3 LOOP
		BEGIN
			RAISE NOTICE '%', (redblue_refine(mesh => 'g', max_volume => 1)).tets > before;
			PERFORM redblue_refine('gem', 'none', max_points => i);
		EXCEPTION WHEN invalid_parameter_value THEN
			RAISE NOTICE '%, %', sqlerrm, (SELECT count(*) FROM g_tets) - before;
		END;
	END LOOP;
END $$;
SELECT * FROM redblue_mesh_check('g', 'gem', 'dust');
ROLLBACK;
SELECT to_regclass('none_tets');
DEALLOCATE further;

-- User-defined tables, without quality columns and with them
CREATE TABLE own_tets (region bigint, v4 bigint, v3 bigint, v2 bigint, v1 bigint, id bigint CHECK (id > 0), made text DEFAULT 'by default');
SELECT tets > 0 AS tets FROM redblue_refine('gem', 'own');
SELECT DISTINCT made FROM own_tets;
ALTER TABLE own_tets ADD min_dihedral float8, ADD radius_edge text;
SELECT tets > 0 AS tets FROM redblue_refine(mesh => 'own');
ALTER TABLE own_tets DROP radius_edge;
SELECT tets > 0 AS tets FROM redblue_refine(mesh => 'own');
SELECT count(*) FROM own_tets WHERE min_dihedral IS NULL;
SELECT * FROM redblue_mesh_check('own', 'gem');
-- Other schemas, quoted names, updatable views
CREATE SCHEMA "Elsewhere";
SELECT tets > 0 AS tets FROM redblue_refine('gem', '"Elsewhere"."Gem"');
SELECT tets > 0 AS tets FROM redblue_refine(mesh => '"Elsewhere"."Gem"', max_volume => 1);
SELECT * FROM redblue_mesh_check('"Elsewhere"."Gem"', 'gem');
CREATE VIEW seen_vertices AS TABLE own_vertices; CREATE VIEW seen_tets AS TABLE own_tets; CREATE VIEW seen_faces AS TABLE own_faces; CREATE VIEW seen_segments AS TABLE own_segments;
SELECT tets > 0 AS tets FROM redblue_refine(mesh => 'seen', max_volume => 1);
ALTER TABLE own_tets ADD radius_edge float8;
SELECT max(volume) <= 1 AS small FROM tets('own');

-- Solids: thirty houses, whose rows come in any order
CREATE TABLE houses AS SELECT 12 * h + n AS id, 100 - h AS house, b.* FROM generate_series(1, 30) h, LATERAL box(2 * h, 0, 0, 2 * h + 1, 1 + h % 3, 1 + h % 7) b ORDER BY n, h;
CREATE TABLE of_h AS SELECT * FROM redblue_refine('houses', 'h', solid => 'house', max_volume => 0.25);
SELECT solids, regions, bad = bad_input + bad_fine AS because, crossings FROM of_h;
\d h_segments
SELECT count(*), sum(found), bool_and(volume) AS volume FROM (SELECT h.house, count(*) AS found, abs(sum(t.volume) - (1 + (100 - h.house) % 3) * (1 + (100 - h.house) % 7)) < 1e-9 AS volume
	FROM (SELECT DISTINCT house FROM houses) h CROSS JOIN LATERAL (SELECT sum(abs((b.x - a.x) * ((c.y - a.y) * (d.z - a.z) - (c.z - a.z) * (d.y - a.y)) - (b.y - a.y) * ((c.x - a.x) * (d.z - a.z) - (c.z - a.z) * (d.x - a.x)) + (b.z - a.z) * ((c.x - a.x) * (d.y - a.y) - (c.y - a.y) * (d.x - a.x))) / 6) AS volume
		FROM h_tets t JOIN h_vertices a ON a.id = v1 JOIN h_vertices b ON b.id = v2 JOIN h_vertices c ON c.id = v3 JOIN h_vertices d ON d.id = v4
		WHERE t.solid_id = h.house AND a.solid_id = h.house AND b.solid_id = h.house AND c.solid_id = h.house AND d.solid_id = h.house) t GROUP BY 1) h;
SELECT bad = (SELECT count(*) FROM tets('h') WHERE radius_edge > 2 OR volume > 0.25 * (1 + 1e-12)) AS bad, vertices > 240 AS more FROM of_h;
SELECT count(*) FROM h_faces f JOIN houses h ON h.id = f.facet_id WHERE h.house <> f.solid_id;
SELECT count(*) - count(DISTINCT id) AS twice, count(DISTINCT solid_id) FROM h_vertices;
SELECT count(*) FROM (SELECT segment FROM h_segments GROUP BY 1 HAVING count(DISTINCT solid_id) > 1) s;
-- A solid is meshed as if it were alone.
CREATE VIEW one_vertices AS SELECT * FROM h_vertices WHERE solid_id = 83; CREATE VIEW one_tets AS SELECT * FROM h_tets WHERE solid_id = 83; CREATE VIEW one_faces AS SELECT * FROM h_faces WHERE solid_id = 83; CREATE VIEW one_segments AS SELECT * FROM h_segments WHERE solid_id = 83;
CREATE VIEW house AS SELECT * FROM houses WHERE house = 83;
SELECT * FROM redblue_mesh_check('one', 'house');
SELECT solids FROM redblue_refine('house', 'alone', max_volume => 0.25);
SELECT (SELECT array_agg((x, y, z, kind, parent_id)::text ORDER BY id) FROM alone_vertices) = (SELECT array_agg((x, y, z, kind, parent_id)::text ORDER BY id) FROM one_vertices) AS vertices,
	(SELECT array_agg((v1, v2, v3, v4, region, radius_edge, min_dihedral)::text ORDER BY id) FROM alone_tets) = (SELECT array_agg((v1 - v, v2 - v, v3 - v, v4 - v, region, radius_edge, min_dihedral)::text ORDER BY id) FROM one_tets, (SELECT min(id) - 1 AS v FROM one_vertices) v) AS tets,
	(SELECT array_agg((facet_id, polygon)::text ORDER BY id) FROM alone_faces) = (SELECT array_agg((facet_id, polygon)::text ORDER BY id) FROM one_faces) AS faces;
-- Several sizes; a user-defined table must have a column for solids.
CREATE TABLE town_faces (LIKE own_faces);
SELECT solids FROM redblue_refine('houses', 'town', solid => 'house', sizes => 'sizes');
ALTER TABLE town_faces ADD solid_id int;
SELECT solids FROM redblue_refine('houses', 'town', solid => 'house', sizes => 'sizes');
ALTER TABLE town_faces ALTER solid_id TYPE bigint;
SELECT solids FROM redblue_refine_query('SELECT *, house::int2 AS "House" FROM houses', 'town', solid => '"House"', sizes => 'TABLE sizes');
SELECT count(DISTINCT solid_id) FROM town_faces;
-- Without refinement
SELECT solids, regions, vertices, tets FROM redblue_tetrahedralize('houses', 'plain', solid => 'house');
SELECT count(*) AS houses, bool_and(vertices = 8 AND tets BETWEEN 5 AND 6) AS boxes
FROM (SELECT solid_id, count(*) AS tets, (SELECT count(*) FROM plain_vertices v WHERE v.solid_id = t.solid_id) AS vertices FROM plain_tets t GROUP BY solid_id) s;
CREATE VIEW plain83_vertices AS SELECT * FROM plain_vertices WHERE solid_id = 83;
CREATE VIEW plain83_tets AS SELECT * FROM plain_tets WHERE solid_id = 83;
CREATE VIEW plain83_faces AS SELECT * FROM plain_faces WHERE solid_id = 83;
CREATE VIEW plain83_segments AS SELECT * FROM plain_segments WHERE solid_id = 83;
SELECT * FROM redblue_mesh_check('plain83', 'house');
-- No rows, no solids
SELECT solids, tets FROM redblue_tetrahedralize_query('SELECT * FROM houses LIMIT 0', 'nowhere', solid => 'house');
SELECT solids, vertices, tets FROM redblue_refine_query('SELECT * FROM houses LIMIT 0', 'nowhere', solid => 'house');
-- An open solid, and solids that cannot be meshed, are identified by their ids.
DELETE FROM houses WHERE house = 90 AND n = 3;
SELECT solids, tets > 0 AS tets FROM redblue_refine('houses', 'open', solid => 'house', radius_edge => NULL);
UPDATE houses SET bx = ax, by = ay, bz = az WHERE house = 95 AND n = 4;
UPDATE houses SET az = az + 3 WHERE house IN (80, 85) AND n = 5;
UPDATE houses SET id = 7 WHERE house = 80 AND n <= 6;
SELECT solids FROM redblue_refine('houses', 'bad', solid => 'house');
SELECT solids FROM redblue_refine_query('SELECT * FROM houses WHERE house > 80', 'bad', solid => 'house');
SELECT solids FROM redblue_refine_query('SELECT * FROM houses WHERE house > 85', 'bad', solid => 'house');
SELECT solids, regions, tets > 0 AS tets FROM redblue_refine('houses', 'bad', solid => 'house', on_bad => 'skip', radius_edge => 'infinity');
SELECT * FROM redblue_last_skipped();
SELECT count(DISTINCT solid_id), count(*) FILTER (WHERE solid_id IN (80, 85, 95)) AS bad FROM bad_vertices;
SELECT solids, vertices FROM redblue_refine_query('SELECT * FROM houses WHERE house IN (80, 85)', 'worse', solid => 'house', on_bad => 'skip');
SELECT solid_id, message FROM redblue_last_skipped();
SELECT solids FROM redblue_refine_query('SELECT * FROM houses WHERE house < 80', 'worse', solid => 'house', on_bad => 'skip', max_points => 7);
SELECT reason, count(*), min(message), min(detail) FROM redblue_last_skipped() GROUP BY 1;
-- A run that skips nothing
SELECT solids FROM redblue_refine_query('SELECT * FROM houses WHERE house < 80', 'better', solid => 'house', on_bad => 'skip');
SELECT count(*) FROM redblue_last_skipped();
SELECT solids FROM redblue_tetrahedralize('houses', 'raw', solid => 'house');
SELECT solids, tets > 0 AS tets FROM redblue_tetrahedralize('houses', 'raw', solid => 'house', on_bad => 'skip');
SELECT count(DISTINCT solid_id), count(*) FILTER (WHERE solid_id IN (80, 85, 95)) AS bad FROM raw_vertices;
SELECT redblue_tetrahedralize('houses', 'x', solid => 'house', points => 'points');
SELECT redblue_tetrahedralize(points => 'points', mesh => 'x', solid => 'house');

-- Invalid calls
SELECT redblue_refine('gem');
SELECT redblue_refine();
SELECT redblue_refine('gem', 'x', radius_edge => 0);
SELECT redblue_refine('gem', 'x', radius_edge => 'NaN');
SELECT redblue_refine('gem', 'x', radius_edge => 0.6);
SELECT redblue_refine('gem', 'x', max_volume => -1);
SELECT redblue_refine('gem', 'x', max_volume => 'NaN');
SELECT redblue_refine('gem', 'x', max_points => 0);
SELECT redblue_refine('gem', 'x', max_points => 11);
SELECT redblue_refine(mesh => 'f', max_points => 11);
SELECT redblue_refine_query('SELECT *, id % 2 AS half FROM gem', 'x', solid => 'half', max_points => 11);
SELECT pg_get_function_arguments(p.oid) ~ 'max_points bigint DEFAULT 10000000' AS limited FROM pg_proc p WHERE proname ~ '^redblue_refine' ORDER BY proname;
SELECT bad FROM redblue_refine('gem', 'unlimited', max_points => NULL);
SELECT redblue_refine('gem', 'x', sizes_volume => 'volume');
SELECT redblue_refine('gem', 'x', on_bad => 'drop');
SELECT redblue_refine('gem', 'x', keep => 'all');
SELECT redblue_refine('gem', 'x', regions_volume => 'volume');
SELECT redblue_refine('nested', 'x', regions => 'seeds', regions_volume => 'most ');
SELECT redblue_refine('nested', 'x', regions => 'seeds', regions_volume => '');
SELECT redblue_refine('nested', 'x', regions => 'seeds', regions_volume => 'volume');
SELECT redblue_refine_query('TABLE nested', 'x', regions => 'SELECT id, x, y, z, id::text AS v FROM seeds', regions_volume => 'v');
SELECT redblue_refine('nested', 'x', sizes => 'points');
SELECT redblue_refine_query('TABLE nested', 'x', sizes => 'SELECT id, x, y, z, id AS volume FROM points');
SELECT redblue_refine_query('TABLE nested', 'x', sizes => $$SELECT 17 AS id, 1 AS x, 2 AS y, 3 AS z, 'NaN'::float8 AS volume$$);
SELECT redblue_refine_query('TABLE nested', 'x', sizes => $$SELECT 17 AS id, 1 AS x, 'NaN'::float8 AS y, 3 AS z, 1 AS volume$$);
SELECT redblue_refine('houses', 'x', solid => 'nothing');
SELECT redblue_refine('houses', 'x', solid => 'ax');
SELECT redblue_refine('houses', 'x', solid => '');
SELECT redblue_refine_query('SELECT *, nullif(house, 83) AS h FROM houses', 'x', solid => 'h');
SELECT redblue_refine('houses', 'x', solid => 'house', points => 'points');
SELECT redblue_refine('houses', 'x', solid => 'house', holes => 'seeds');
SELECT redblue_refine(points => 'points', mesh => 'x', solid => 'house');
SELECT redblue_refine('gem', 'g');
SELECT redblue_refine('gem', 'a.b.c');
SELECT redblue_refine(mesh => 'nothing');
SELECT redblue_refine(mesh => 'nowhere.nothing');
SELECT redblue_refine(mesh => 'nowhere');
SELECT redblue_refine(mesh => 'h');
SELECT redblue_refine(mesh => 'm', holes => 'seeds');
SELECT redblue_refine(mesh => 'm', regions => 'seeds');
SELECT redblue_refine(mesh => 'm', solid => 'house');
SELECT redblue_refine_query('DELETE FROM gem', 'x');
SELECT to_regclass('x_vertices');
-- A mesh that has been changed
CREATE FUNCTION changed(change text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE change; PERFORM redblue_refine(mesh => 'f'); END $$;
SELECT changed('UPDATE f_vertices SET x = x + 3 WHERE parent_id = 3');
SELECT changed('UPDATE f_tets SET v1 = v2, v2 = v1 WHERE id = 1');
SELECT changed('UPDATE f_tets SET v1 = v2 WHERE id = 1');
SELECT changed('UPDATE f_tets SET v1 = -1 WHERE id = 1');
SELECT changed('ALTER TABLE f_tets ALTER v1 DROP NOT NULL; UPDATE f_tets SET v1 = NULL WHERE id = 7');
SELECT changed('DELETE FROM f_tets WHERE id = 1');
SELECT changed('DELETE FROM f_tets WHERE id % 2 = 0');
SELECT changed($$DELETE FROM f_tets WHERE id % 2 = 0; DELETE FROM f_faces; DELETE FROM f_segments; UPDATE f_vertices SET kind = 'inside' WHERE kind <> 'input'$$);
\set VERBOSITY terse
SELECT changed('UPDATE f_vertices SET id = -id; UPDATE f_vertices SET id = id + 9223372036854775807; UPDATE f_tets SET v1 = 9223372036854775807 - v1, v2 = 9223372036854775807 - v2, v3 = 9223372036854775807 - v3, v4 = 9223372036854775807 - v4;
	UPDATE f_faces SET v1 = 9223372036854775807 - v1, v2 = 9223372036854775807 - v2, v3 = 9223372036854775807 - v3; UPDATE f_segments SET v1 = 9223372036854775807 - v1, v2 = 9223372036854775807 - v2');
\set VERBOSITY default
SELECT changed($$UPDATE f_vertices SET kind = 'none' WHERE id = 1$$);
SELECT changed($$UPDATE f_vertices SET x = 'NaN' WHERE id = 1$$);
\set VERBOSITY terse
SELECT changed('UPDATE f_tets SET region = NULL');
\set VERBOSITY default
SELECT changed('ALTER TABLE f_segments DROP segment');
SELECT changed('ALTER TABLE f_tets ALTER v1 TYPE int');
SELECT changed('TRUNCATE f_tets');
SELECT changed('DROP TABLE f_faces');
-- Rows that cannot be replaced, for any reason
CREATE FUNCTION stays() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SELECT changed('ALTER TABLE f_tets DROP CONSTRAINT f_tets_pkey; CREATE TRIGGER stays BEFORE DELETE ON f_tets FOR EACH ROW EXECUTE FUNCTION stays()');
SELECT changed('CREATE RULE stays AS ON DELETE TO f_faces DO INSTEAD NOTHING');
-- A constraint, a trigger
\set VERBOSITY terse
SELECT changed('ALTER TABLE f_tets ADD CHECK (id > 1) NOT VALID');
\set VERBOSITY default
SELECT * FROM redblue_mesh_check('f', 'gem', 'dust');
BEGIN READ ONLY;
SELECT redblue_refine('gem', 'x');
ROLLBACK;
BEGIN READ ONLY;
SELECT redblue_refine(mesh => 'g');
ROLLBACK;

SET client_min_messages = warning;
DROP SCHEMA refine, "Elsewhere" CASCADE;
