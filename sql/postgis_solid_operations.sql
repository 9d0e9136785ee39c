-- Tests redblue_postgis: intersection, union and differences of two solids.
\set schema postgis_solid_operations
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/ball_geometry.sql
\i sql/fixtures/box_geometry.sql
\i sql/fixtures/refused.sql
-- A tetrahedron with three edges along the axes
CREATE FUNCTION tetrahedron(x float8, y float8, z float8, size float8) RETURNS geometry LANGUAGE sql IMMUTABLE AS $$
SELECT ST_SetSRID(ST_Translate(ST_Scale('TIN Z (((0 0 0, 0 1 0, 1 0 0, 0 0 0)), ((0 0 0, 1 0 0, 0 0 1, 0 0 0)), ((0 0 0, 0 0 1, 0 1 0, 0 0 0)), ((1 0 0, 0 1 0, 0 0 1, 1 0 0)))', size, size, size), x, y, z), 7415) $$;
CREATE TABLE pairs (id int PRIMARY KEY, what text, a geometry(GeometryZ, 7415), b geometry(GeometryZ, 7415));
INSERT INTO pairs VALUES
	(1, 'cubes that are shifted', box(0, 0, 0, 2, 2, 2), box(1, 1, 1, 3, 3, 3)),
	(2, 'a cube in a cube', box(0, 0, 0, 4, 4, 4), box(1, 1, 1, 3, 3, 3)),
	(3, 'a cube around a cube', box(1, 1, 1, 3, 3, 3), box(0, 0, 0, 4, 4, 4)),
	(4, 'a common face', box(0, 0, 0, 2, 2, 2), box(2, 0, 0, 4, 2, 2)),
	(5, 'a common edge', box(0, 0, 0, 2, 2, 2), box(2, 2, 0, 4, 4, 2)),
	(6, 'a common corner', box(0, 0, 0, 2, 2, 2), box(2, 2, 2, 4, 4, 4)),
	(7, 'disjoint cubes', box(0, 0, 0, 2, 2, 2), box(5, 5, 5, 6, 6, 6)),
	(8, 'equal cubes', box(0, 0, 0, 2, 2, 2), box(0, 0, 0, 2, 2, 2)),
	(9, 'a notch', box(0, 0, 0, 4, 4, 4), box(1, 1, 2, 3, 3, 4)),
	(10, 'a tunnel', box(0, 0, 0, 4, 4, 4), box(1, 1, -1, 3, 3, 5)),
	(11, 'a slab through the middle', box(0, 0, 0, 4, 4, 4), box(-1, -1, 1, 5, 5, 3)),
	(12, 'a cube and a tetrahedron', box(0, 0, 0, 2, 2, 2), tetrahedron(1, 1, 1, 4)),
	(13, 'a corner cut off', box(0, 0, 0, 2, 2, 2), tetrahedron(0, 0, 0, 3)),
	(14, 'turned inside out', ST_Reverse(box(0, 0, 0, 2, 2, 2)), box(1, 1, 1, 3, 3, 3)),
	(15, 'with a cavity', ST_Collect(box(0, 0, 0, 4, 4, 4), ST_Reverse(box(1, 1, 1, 3, 3, 3))), box(2, 2, 2, 6, 6, 6)),
	(16, 'fills the cavity', ST_Collect(box(0, 0, 0, 4, 4, 4), ST_Reverse(box(1, 1, 1, 3, 3, 3))), box(1, 1, 1, 3, 3, 3)),
	(17, 'of two pieces', ST_Collect(box(0, 0, 0, 2, 2, 2), box(4, 0, 0, 6, 2, 2)), box(1, 0, 0, 5, 2, 2)),
	(18, 'an empty solid', box(0, 0, 0, 2, 2, 2), 'SRID=7415;TIN Z EMPTY'),
	(19, 'an empty first solid', 'SRID=7415;POLYHEDRALSURFACE Z EMPTY', box(0, 0, 0, 2, 2, 2)),
	(20, 'empty solids', 'SRID=7415;TIN Z EMPTY', 'SRID=7415;TIN Z EMPTY');
CREATE VIEW operations AS SELECT id, operation, a, b, geom FROM pairs, LATERAL (VALUES ('intersection', redblue_solid_intersection(a, b)), ('union', redblue_solid_union(a, b)),
	('difference', redblue_solid_difference(a, b)), ('symdifference', redblue_solid_symdifference(a, b))) o (operation, geom);
CREATE TABLE results AS SELECT id * 10 + row_number() OVER (PARTITION BY id ORDER BY operation) AS result, id, operation, geom FROM operations;
-- Volume and number of faces of each result
SELECT id, what, operation, redblue_volume(geom) AS volume, ST_NumGeometries(geom) AS faces FROM results JOIN pairs USING (id) ORDER BY result;
SELECT ST_AsText(geom) FROM results WHERE (id, operation) IN ((1, 'intersection'), (20, 'union')) ORDER BY result;
-- Faces with holes
SELECT result, ST_AsText((d).geom) AS face FROM results, ST_Dump(geom) d WHERE id IN (9, 10) AND operation = 'difference' AND ST_NumInteriorRings((d).geom) > 0 ORDER BY result, (d).path;
-- Each result is a valid solid, a POLYHEDRALSURFACE Z with the SRID of the solids.
SELECT count(*) AS results, count(*) FILTER (WHERE ST_IsEmpty(geom)) AS empty, count(*) FILTER (WHERE ST_SRID(geom) = 7415 AND ST_GeometryType(geom) = 'ST_PolyhedralSurface' AND ST_Zmflag(geom) = 2) AS typed FROM results;
SELECT count(*) AS solids, count(*) FILTER (WHERE valid AND oriented) AS valid FROM redblue_solid_check_query('SELECT result AS id, geom FROM results');
-- Its volume is that of the overlap, or of the solids without it.
SELECT count(*) AS results, count(*) FILTER (WHERE coalesce(redblue_volume(geom), 0) = CASE operation WHEN 'intersection' THEN o WHEN 'union' THEN va + vb - o WHEN 'difference' THEN va - o ELSE va + vb - 2 * o END) AS same
FROM operations, LATERAL (SELECT coalesce(redblue_volume(a), 0) AS va, coalesce(redblue_volume(b), 0) AS vb, coalesce(redblue_overlap_volume(a, b), 0) AS o) v WHERE id NOT IN (12, 13);
-- Operations on results
SELECT redblue_position(redblue_solid_union(redblue_solid_difference(a, b), redblue_solid_intersection(a, b)), a) AS parts, redblue_position(redblue_solid_difference(redblue_solid_union(a, b), redblue_solid_symdifference(a, b)), redblue_solid_intersection(a, b)) AS rest,
	ST_NumGeometries(redblue_solid_union(redblue_solid_difference(a, b), redblue_solid_intersection(a, b))) AS faces FROM pairs WHERE id IN (1, 10, 11) ORDER BY id;
-- The flag of ST_MakeSolid is set, and a box is stored unless the result is empty.
CREATE FUNCTION bytes(geometry) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
SELECT DISTINCT ST_IsEmpty(geom) AS empty, get_byte(bytes(geom), 3) & 16 > 0 AS flags, get_byte(bytes(geom), 4) | get_byte(bytes(geom), 11) AS solid, get_byte(bytes(geom), 3) & 4 > 0 AS box FROM results ORDER BY 1;
SELECT box3d(geom), ST_AsEWKT(ST_SetSRID(geom, 4979)) LIKE 'SRID=4979;POLYHEDRALSURFACE(((%' AS text, geom && ST_MakeEnvelope(0, 0, 1, 1, 7415) AS meets FROM results WHERE id = 1 ORDER BY result;
-- Corners that are not doubles: balls of triangles, which are twisted against each other
CREATE TABLE round AS SELECT i AS id, ball(6, 8, 500000, 5800000, 100, 10) AS a, ball(5, 7, 500000 + i, 5800000 + i % 3, 100 + i % 4, 7 + i % 5) AS b FROM generate_series(0, 19) i;
CREATE TABLE round_results AS SELECT row_number() OVER (ORDER BY id, operation) AS result, o.* FROM (SELECT id, operation, geom FROM round, LATERAL (VALUES ('intersection', redblue_solid_intersection(a, b)), ('union', redblue_solid_union(a, b)),
	('difference', redblue_solid_difference(a, b)), ('symdifference', redblue_solid_symdifference(a, b))) o (operation, geom)) o;
SELECT count(*) AS solids, count(*) FILTER (WHERE valid AND oriented) AS valid FROM redblue_solid_check_query('SELECT result AS id, geom FROM round_results');
-- A corner moves by at most half of the distance of two doubles there, 2^-31: the volume, by less than that times the area.
SELECT operation, count(*) AS results, count(*) FILTER (WHERE abs(coalesce(redblue_volume(geom), 0) - CASE operation WHEN 'intersection' THEN o WHEN 'union' THEN va + vb - o WHEN 'difference' THEN va - o ELSE va + vb - 2 * o END) < 5000 * 2 ^ -30) AS near
FROM round_results JOIN round USING (id), LATERAL (SELECT redblue_volume(a) AS va, redblue_volume(b) AS vb, redblue_overlap_volume(a, b) AS o) v GROUP BY 1 ORDER BY 1;
-- Results have equal bytes with one thread and with several.
CREATE TABLE large AS SELECT ball(60, 80, 0, 0, 0, 10) AS a, ball(61, 79, 1, 1, 1, 10) AS b;
CREATE TABLE crossed AS SELECT redblue_solid_symdifference(a, b) AS geom FROM large;
SET redblue.threads = 1;
SELECT redblue_solid_symdifference(a, b)::bytea = geom::bytea AS same, redblue_volume(geom) > 0 AS valid FROM large, crossed;
RESET redblue.threads;
-- NULL gives NULL, and all other results are solids.
SELECT redblue_solid_union(a, NULL) IS NULL AS second, redblue_solid_intersection(NULL, a) IS NULL AS first, redblue_solid_difference(a, a) IS NULL AS nothing FROM pairs WHERE id = 1;
-- Refusals
SELECT refused($$SELECT redblue_solid_union(a, 'SRID=7415;POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))') FROM pairs WHERE id = 1$$);
SELECT refused($$SELECT redblue_solid_difference('SRID=7415;POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))', a) FROM pairs WHERE id = 1$$);
SELECT refused($$SELECT redblue_solid_intersection(a, 'SRID=7415;POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))') FROM pairs WHERE id = 1$$);
SELECT refused($$SELECT redblue_solid_symdifference(ST_Collect(a, b), 'SRID=7415;TIN Z EMPTY') FROM pairs WHERE id = 1$$);
SELECT refused($$SELECT redblue_solid_union('SRID=7415;TIN Z EMPTY', ST_Collect(a, b)) FROM pairs WHERE id = 1$$);
SELECT refused($$SELECT redblue_solid_intersection(a, ST_SetSRID(b, 4979)) FROM pairs WHERE id = 1$$);
SELECT refused($$SELECT redblue_solid_union(a, 'SRID=4979;TIN Z EMPTY') FROM pairs WHERE id = 1$$);
SELECT refused($$SELECT redblue_solid_union(a, ST_Force2D(b)) FROM pairs WHERE id = 1$$);
SELECT refused($$SELECT redblue_solid_union(a, 'SRID=7415;LINESTRING Z (0 0 0, 1 1 1)') FROM pairs WHERE id = 1$$);
-- The union of many solids: bars of a grid in all three directions, whose cells are counted
CREATE TABLE bars AS SELECT row_number() OVER (ORDER BY k, i) AS id, k AS direction, x0, y0, z0, x1, y1, z1, box(x0, y0, z0, x1, y1, z1) AS geom
	FROM generate_series(0, 2) k, generate_series(0, 11) i, LATERAL (SELECT CASE k WHEN 0 THEN 0 ELSE i * 5 % 7 END AS x0, CASE k WHEN 1 THEN 0 WHEN 0 THEN i * 5 % 7 ELSE i * 3 % 8 END AS y0, CASE k WHEN 2 THEN 0 ELSE i * 3 % 8 END AS z0) c,
	LATERAL (SELECT CASE k WHEN 0 THEN 9 ELSE x0 + 1 + i % 2 END AS x1, CASE k WHEN 1 THEN 9 ELSE y0 + 1 + i % 3 END AS y1, CASE k WHEN 2 THEN 9 ELSE z0 + 1 + i % 2 END AS z1) d;
CREATE TABLE unions AS SELECT coalesce(direction, 3) AS id, redblue_solid_union_agg(geom ORDER BY id) AS geom FROM bars GROUP BY ROLLUP (direction);
SELECT u.id, redblue_volume(geom) AS volume, (SELECT count(DISTINCT (x, y, z)) FROM bars, generate_series(x0, x1 - 1) x, generate_series(y0, y1 - 1) y, generate_series(z0, z1 - 1) z WHERE u.id IN (3, direction)) AS cells, ST_SRID(geom) FROM unions u ORDER BY 1;
SELECT count(*) AS solids, count(*) FILTER (WHERE valid AND oriented) AS valid FROM redblue_solid_check('unions');
-- The array has the same result as the aggregate, the order does not matter, and nulls are ignored.
SELECT redblue_solid_union(array_agg(b.geom ORDER BY b.id))::bytea = (SELECT geom::bytea FROM unions WHERE id = 3) AS array_same, redblue_position(redblue_solid_union_agg(b.geom ORDER BY b.id DESC), (SELECT geom FROM unions WHERE id = 3)) AS other_order,
	redblue_position(redblue_solid_union_agg(CASE WHEN b.id % 2 = 0 THEN b.geom END), redblue_solid_union(array_agg(b.geom) FILTER (WHERE b.id % 2 = 0))) AS nulls FROM bars b;
-- Cubes of a pattern that touch along edges and in corners, and all of them
SELECT redblue_volume(redblue_solid_union_agg(c) FILTER (WHERE (x + y + z) % 2 = 0)) AS pattern, ST_NumGeometries(redblue_solid_union_agg(c)) AS faces, redblue_volume(redblue_solid_union_agg(c)) AS all
FROM generate_series(0, 2) x, generate_series(0, 2) y, generate_series(0, 2) z, LATERAL (SELECT box(x, y, z, x + 1, y + 1, z + 1) AS c) b;
SELECT redblue_solid_union_agg(a) IS NULL AS no_rows, redblue_solid_union('{}'::geometry[]) IS NULL AS empty_array, redblue_solid_union(NULL::geometry[]) IS NULL AS no_array FROM pairs WHERE id < 0;
SELECT ST_AsEWKT(redblue_solid_union(ARRAY['SRID=7415;TIN Z EMPTY'::geometry, NULL])) AS empty, redblue_volume(redblue_solid_union(ARRAY['SRID=7415;TIN Z EMPTY', a])) AS one, redblue_solid_union(ARRAY[NULL::geometry]) IS NULL AS none FROM pairs WHERE id = 1;
SELECT refused($$SELECT redblue_solid_union_agg(CASE id WHEN 4 THEN ST_Collect(a, box(1, 1, 1, 3, 3, 3)) ELSE a END ORDER BY id) FROM pairs WHERE id < 5$$);
SELECT refused($$SELECT redblue_solid_union(ARRAY['SRID=7415;TIN Z EMPTY', a, 'SRID=7415;POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))']) FROM pairs WHERE id = 1$$);
SELECT refused($$SELECT redblue_solid_union_agg(ST_SetSRID(a, 5500 + id) ORDER BY id) FROM pairs$$);
SELECT refused($$SELECT redblue_solid_union(ARRAY[a, 'SRID=7415;LINESTRING Z (0 0 0, 1 1 1)']) FROM pairs WHERE id = 1$$);
-- Canceled statements, and some that are short of memory
SET LOCAL statement_timeout = '30ms'\; SELECT redblue_solid_union(a, b) FROM large, generate_series(1, 100);
SET LOCAL statement_timeout = '30ms'\; SELECT redblue_solid_union_agg(geom) FROM large, LATERAL (VALUES (a), (b)) v (geom), generate_series(1, 100);
SET redblue.memory_limit = '4MB';
SELECT substring(refused FROM '^(53200: \S+ out of memory|DETAIL: The combination needs|HINT:.*)') FROM (SELECT refused($$SELECT redblue_solid_union(a, b) FROM large$$)) r (refused);
SELECT substring(refused FROM '^(53200: \S+ out of memory|DETAIL: The combination needs|HINT:.*)') FROM (SELECT refused($$SELECT redblue_solid_union(ARRAY[a, b]) FROM large$$)) r (refused);
RESET redblue.memory_limit;
SELECT redblue_volume(redblue_solid_union(a, b)) FROM pairs WHERE id = 1;
SET client_min_messages = warning;
DROP SCHEMA postgis_solid_operations CASCADE;
