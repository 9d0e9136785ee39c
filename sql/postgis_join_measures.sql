-- Tests redblue_postgis: measures of two geometries in the select list, in WHERE and in aggregates of a join on a function of
-- these geometries, which the join node computes in batches.
\set schema postgis_join_measures
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/refused.sql
SET jit = off; SET max_parallel_workers_per_gather = 0; SET redblue.threads = 2; SET redblue.backend = cpu;
SET enable_nestloop = off;

-- plan(query): the lines of its plan about the join; measured(query): how its measures were computed
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
		IF line ~ 'redblue join|Join Filter:|Nested Loop|Measures|Output: .*overlap' THEN RETURN NEXT trim(regexp_replace(line, '^\s*(->)?\s*', '')); END IF;
	END LOOP;
END $$;
CREATE FUNCTION measured(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Measured' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;
-- rows_of(query): its rows in order. compare(query): number of rows, and whether they are the same with and without the node.
CREATE FUNCTION rows_of(query text, OUT n bigint, OUT answer text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT count(*), md5(string_agg(t::text, '';'' ORDER BY t::text)) FROM (' || query || ') t' INTO n, answer;
EXCEPTION WHEN OTHERS THEN
	answer := SQLSTATE || ': ' || SQLERRM;
END $$;
CREATE FUNCTION compare(query text) RETURNS TABLE (n bigint, same boolean, refused text) LANGUAGE plpgsql AS $$
DECLARE with_node record; without record;
BEGIN
	PERFORM set_config('redblue.join', 'off', true), set_config('enable_nestloop', 'on', true);
	without := rows_of(query);
	PERFORM set_config('redblue.join', 'on', true), set_config('enable_nestloop', 'off', true);
	with_node := rows_of(query);
	RETURN QUERY SELECT with_node.n, with_node = without, CASE WHEN with_node.n IS NULL THEN with_node.answer END;
END $$;
CREATE FUNCTION box(x float8, y float8, z float8, dx float8, dy float8, dz float8) RETURNS geometry LANGUAGE sql IMMUTABLE AS $$
SELECT ST_Translate(ST_Scale('POLYHEDRALSURFACE Z (((0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0)), ((0 0 1, 1 0 1, 1 1 1, 0 1 1, 0 0 1)), ((0 0 0, 1 0 0, 1 0 1, 0 0 1, 0 0 0)), ((1 0 0, 1 1 0, 1 1 1, 1 0 1, 1 0 0)), ((1 1 0, 0 1 0, 0 1 1, 1 1 1, 1 1 0)), ((0 1 0, 0 0 0, 0 0 1, 0 1 1, 0 1 0)))', dx, dy, dz), x, y, z) $$;

-- Boxes and tetrahedra in a lattice: many touch, share faces, contain each other or are equal. Some have no geometry.
CREATE TABLE duct AS SELECT i AS id, i % 3 AS kind, CASE WHEN i % 50 = 7 THEN NULL WHEN i % 2 = 0 THEN box(i % 7, i / 7 % 6, i / 42, 1 + i % 2, 0.5 + i % 3, 1.25)
	ELSE ST_Translate('TIN Z (((0 0 0, 0 2 0, 2 0 0, 0 0 0)), ((0 0 0, 2 0 0, 0 0 2, 0 0 0)), ((0 0 0, 0 0 2, 0 2 0, 0 0 0)), ((2 0 0, 0 2 0, 0 0 2, 2 0 0)))'::geometry, i % 7, i / 7 % 6, i / 42) END AS geom FROM generate_series(0, 125) i;
CREATE TABLE wall AS SELECT i AS id, i % 4 AS kind, CASE WHEN i = 11 THEN NULL ELSE box(i % 5 * 1.5, i / 5 % 5, i / 25, 1, 1 + i % 4 * 0.3, 1) END AS geom FROM generate_series(0, 99) i;
ANALYZE duct, wall;

-- ---- plans ----
SELECT * FROM plan('SELECT d.id, w.id, redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM plan('SELECT d.id, redblue_overlap_volume(w.geom, d.geom) + 1 AS v, redblue_overlap_depth(d.geom, w.geom) FROM duct d, wall w WHERE redblue_intersects(d.geom, w.geom) ORDER BY v');
SELECT * FROM plan('SELECT d.id FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE d.kind < w.kind AND redblue_overlap_volume(d.geom, w.geom) > 0.5');
SELECT * FROM plan('SELECT d.kind, sum(redblue_overlap_volume(d.geom, w.geom)) FROM duct d JOIN wall w ON redblue_crosses(d.geom, w.geom) GROUP BY d.kind HAVING max(redblue_overlap_depth(d.geom, w.geom)) > 0.1');
SELECT * FROM plan('SELECT round(redblue_overlap_volume(d.geom, w.geom)) AS class, count(*) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) GROUP BY class');
SELECT * FROM plan('SELECT d.id, rank() OVER (ORDER BY redblue_overlap_volume(d.geom, w.geom)) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM plan('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM plan('SELECT d.id, w.id FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) AND redblue_overlap_volume(w.geom, d.geom) > 0.5');
SELECT * FROM plan('SELECT d.kind, sum(redblue_overlap_volume(d.geom, w.geom)) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) GROUP BY d.kind');
-- The function: calls that are not evaluated for every pair, of other geometries, or before a filter of an outer join
SELECT * FROM plan('SELECT CASE WHEN d.kind = 1 THEN redblue_overlap_volume(d.geom, w.geom) END FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM plan('SELECT sum(redblue_overlap_volume(d.geom, w.geom)) FILTER (WHERE d.kind = 1) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM plan('SELECT redblue_overlap_volume(d.geom, d.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM plan('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE w.kind IS DISTINCT FROM 1');
SELECT * FROM plan('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE d.kind = 1 OR redblue_overlap_volume(d.geom, w.geom) > 1');

-- ---- values: the same with and without the node, to the last bit ----
SET extra_float_digits = 3;
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_volume(d.geom, w.geom), redblue_overlap_volume(w.geom, d.geom), redblue_overlap_depth(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_depth(w.geom, d.geom) FROM duct d JOIN wall w ON redblue_dwithin(w.geom, d.geom, 0.3)');
SELECT * FROM compare('SELECT d.id, e.id, redblue_overlap_volume(d.geom, e.geom) FROM duct d JOIN duct e ON redblue_intersects(d.geom, e.geom) AND d.id < e.id');
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_depth(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE d.kind < w.kind AND redblue_overlap_volume(d.geom, w.geom) > 0.5');
SELECT * FROM compare('SELECT d.kind, count(*), max(redblue_overlap_volume(d.geom, w.geom)), min(redblue_overlap_depth(w.geom, d.geom)) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) GROUP BY d.kind HAVING max(redblue_overlap_volume(d.geom, w.geom)) > 0.1');
SELECT * FROM compare('SELECT round(redblue_overlap_volume(d.geom, w.geom)) AS class, count(*) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) GROUP BY class');
SELECT * FROM compare('SELECT d.id, w.id, rank() OVER (ORDER BY redblue_overlap_volume(d.geom, w.geom)), max(redblue_overlap_depth(d.geom, w.geom)) OVER (PARTITION BY d.id) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
-- Left joins: rows without a pair, or whose pairs all fail a clause, have no measure.
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_volume(d.geom, w.geom), redblue_overlap_depth(w.geom, d.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_volume(d.geom, w.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) AND d.kind = w.kind');
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_depth(d.geom, w.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) AND redblue_overlap_volume(w.geom, d.geom) > 0.5');
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_volume(d.geom, w.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE w.kind IS DISTINCT FROM 1');
SELECT * FROM compare('SELECT d.kind, count(*), max(redblue_overlap_volume(d.geom, w.geom)) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) AND w.kind = 2 GROUP BY d.kind');
SELECT * FROM compare('SELECT x.k, y.* FROM generate_series(0, 3) x (k), LATERAL (SELECT d.id, redblue_overlap_volume(d.geom, w.geom) AS v FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) AND w.kind = x.k OFFSET 0) y');
SELECT count(*) AS rows, count(*) FILTER (WHERE w IS NULL) AS alone, count(*) FILTER (WHERE v IS NULL) AS none FROM (SELECT w.id AS w, redblue_overlap_volume(d.geom, w.geom) AS v FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) AND redblue_overlap_volume(d.geom, w.geom) > 0.5 OFFSET 0) t;
-- A scan that is repeated, with and without reading the inputs again
SELECT * FROM compare('SELECT x.d, v FROM (VALUES (0.0), (0.25), (NULL)) x (d), LATERAL (SELECT max(redblue_overlap_volume(d.geom, w.geom)) AS v, count(*) FROM duct d JOIN wall w ON redblue_dwithin(d.geom, w.geom, x.d)) y');
SELECT * FROM compare('SELECT x.k, v FROM generate_series(0, 3) x (k), LATERAL (SELECT max(redblue_overlap_volume(d.geom, w.geom)) AS v, count(*) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE d.kind = x.k) y');
-- Touching pairs have volume 0, not NULL.
SELECT count(*) AS pairs, count(*) FILTER (WHERE v = 0) AS touching, count(*) FILTER (WHERE v IS NULL) AS none FROM (SELECT redblue_overlap_volume(d.geom, w.geom) AS v FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) OFFSET 0) t;
-- All are measured in batches; the clauses before are evaluated first.
SELECT * FROM measured('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM measured('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE d.kind = w.kind');
SELECT * FROM measured('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) AND d.kind = w.kind');
SELECT * FROM measured('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) LIMIT 10');

-- ---- polygons in the plane ----
CREATE TABLE parcel AS SELECT i AS id, ST_Translate('POLYGON ((0 0, 3 0, 3 2, 1.1 2.5, 0 2, 0 0), (1 1, 2 1, 2 1.5, 1 1.5, 1 1))'::geometry, i % 10 * 2.5, i / 10 * 2) AS geom FROM generate_series(0, 99) i;
CREATE TABLE soil AS SELECT i AS id, CASE WHEN i % 10 = 3 THEN NULL ELSE ST_Translate('MULTIPOLYGON (((0 0, 2 0.3, 3 3, 0 3, 0 0)), ((3 3, 4 3, 3.5 4, 3 3)))'::geometry, i % 8 * 3, i / 8 * 2) END AS geom FROM generate_series(0, 99) i;
ANALYZE parcel, soil;
SELECT * FROM plan('SELECT p.id, redblue_overlap_area(s.geom, p.geom) FROM parcel p JOIN soil s ON redblue_intersects(p.geom, s.geom)');
SELECT * FROM compare('SELECT p.id, s.id, redblue_overlap_area(s.geom, p.geom) FROM parcel p JOIN soil s ON redblue_intersects(p.geom, s.geom)');
SELECT * FROM compare('SELECT p.id, max(redblue_overlap_area(p.geom, s.geom)) FROM parcel p JOIN soil s ON redblue_intersects(p.geom, s.geom) WHERE redblue_overlap_area(p.geom, s.geom) > 0.1 GROUP BY p.id');
SELECT * FROM measured('SELECT redblue_overlap_area(p.geom, s.geom) FROM parcel p JOIN soil s ON redblue_intersects(p.geom, s.geom)');
-- Faces in space that share a point: the areas of their ground plans
CREATE TABLE face AS SELECT i AS id, ST_Translate('POLYGON Z ((0 0 0, 2 0 0, 2 2 0, 0 2 0, 0 0 0))'::geometry, i, i, 0) AS geom FROM generate_series(0, 99) i;
ANALYZE face;
SELECT * FROM compare('SELECT a.id, b.id, redblue_overlap_area(a.geom, b.geom) FROM face a JOIN face b ON redblue_intersects(a.geom, b.geom)');

-- ---- refusals: those of the functions, for the pairs that are returned only ----
-- A face in space has no volume.
SELECT * FROM compare('SELECT redblue_overlap_volume(a.geom, b.geom) FROM face a JOIN face b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM compare('SELECT redblue_overlap_volume(p.geom, s.geom) FROM parcel p JOIN soil s ON redblue_intersects(p.geom, s.geom)');
SELECT * FROM compare('SELECT redblue_overlap_area(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
-- An open solid is refused if it is in a pair that is returned.
INSERT INTO wall SELECT 1000, 9, ST_Translate('TIN Z (((0 0 0, 0 2 0, 2 0 0, 0 0 0)), ((0 0 0, 2 0 0, 0 0 2, 0 0 0)))'::geometry, 100, 0, 0);
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
UPDATE wall SET geom = ST_Translate(geom, -100, 0, 0) WHERE id = 1000;
SELECT * FROM compare('SELECT redblue_overlap_volume(w.geom, d.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT refused('SELECT redblue_overlap_volume(w.geom, d.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT refused('SELECT redblue_overlap_volume(w.geom, d.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM compare('SELECT redblue_overlap_volume(w.geom, d.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) AND w.kind < 9');
SELECT * FROM compare('SELECT redblue_overlap_volume(w.geom, d.geom) FROM duct d LEFT JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE w.kind IS DISTINCT FROM 9');
SELECT * FROM compare('SELECT redblue_overlap_volume(w.geom, d.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE w.kind < 9');
SELECT * FROM compare('SELECT CASE WHEN w.kind < 9 THEN redblue_overlap_volume(w.geom, d.geom) END FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM compare('SELECT max(redblue_overlap_volume(w.geom, d.geom)) FILTER (WHERE w.kind < 9) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM compare('SELECT max(redblue_overlap_volume(w.geom, d.geom)) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM compare('SELECT redblue_overlap_depth(w.geom, d.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE redblue_overlap_volume(w.geom, d.geom) > 0');
DELETE FROM wall WHERE id = 1000;
-- An open solid is not checked if its box is apart from those of its partners. The pairs of its batch are measured one by one.
INSERT INTO wall SELECT 1001, 9, ST_Translate('TIN Z (((0 0 0, 0 2 0, 2 0 0, 0 0 0)), ((0 0 0, 2 0 0, 0 0 2, 0 0 0)))'::geometry, -2.25, 0, 0);
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_dwithin(d.geom, w.geom, 0.25)');
SELECT measured ~ ': 0$' AS none FROM measured('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_dwithin(d.geom, w.geom, 0.25)');
DELETE FROM wall WHERE id = 1001;
-- Points and lines, and different SRIDs
INSERT INTO duct VALUES (3000, 1, 'LINESTRING Z (-1 0.5 0.5, 9 0.5 0.5)');
SELECT * FROM compare('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom)');
SELECT * FROM compare('SELECT redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) WHERE d.id < 3000');
DELETE FROM duct WHERE id = 3000;
INSERT INTO duct SELECT 3001, 1, ST_SetSRID(box(0, 0, 0, 1, 1, 1), 4979); INSERT INTO wall SELECT 3001, 1, ST_SetSRID(box(0, 0, 0, 2, 1, 1), 4979);
SELECT * FROM compare('SELECT d.id, w.id, redblue_overlap_volume(d.geom, w.geom) FROM duct d JOIN wall w ON redblue_intersects(d.geom, w.geom) AND ST_SRID(d.geom) = ST_SRID(w.geom)');
DELETE FROM duct WHERE id = 3001; DELETE FROM wall WHERE id = 3001;

-- ---- cancellation: a statement that is stopped, and the next one ----
CREATE TABLE ball AS SELECT i AS id, (SELECT ST_Translate(ST_Collect(array_agg(box(k * 0.01, k % 7 * 2, k / 7 * 2, 1, 1, 1))), i * 0.003, i * 0.002, i * 0.001) FROM generate_series(0, 48) k) AS geom FROM generate_series(0, 299) i;
ANALYZE ball;
SET LOCAL statement_timeout = '300ms'\; SELECT count(*) FROM (SELECT redblue_overlap_depth(a.geom, b.geom) AS d FROM ball a JOIN ball b ON redblue_intersects(a.geom, b.geom) AND a.id < b.id OFFSET 0) t WHERE d > 0;
SET LOCAL statement_timeout = '300ms'\; SELECT count(*) FROM (SELECT redblue_overlap_depth(a.geom, b.geom) AS d FROM ball a LEFT JOIN ball b ON redblue_intersects(a.geom, b.geom) AND a.id < b.id OFFSET 0) t WHERE d IS NULL;
SELECT * FROM compare('SELECT a.id, b.id, redblue_overlap_volume(a.geom, b.geom) FROM ball a JOIN ball b ON redblue_intersects(a.geom, b.geom) AND a.id < b.id WHERE a.id < 8 AND b.id < 8');
SET client_min_messages = warning;
DROP SCHEMA postgis_join_measures CASCADE;
