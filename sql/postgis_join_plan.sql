-- Tests redblue_postgis: how a join on a function of two geometries is planned: which clause, at what cost, with
-- ST_3DIntersects replaced; and its EXPLAIN output.
\set schema postgis_join_plan
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
SET jit = off; SET max_parallel_workers_per_gather = 0; SET redblue.threads = 1; SET redblue.backend = cpu;

CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'redblue join|Join (Type|Cond|Filter):|Nested Loop|Index Cond|Hash Join' THEN RETURN NEXT trim(regexp_replace(line, '^\s*(->)?\s*', '')); END IF;
	END LOOP;
END $$;
CREATE FUNCTION ways(query text) RETURNS TABLE ("redblue.join" text, answer text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH "redblue.join" IN ARRAY ARRAY['on', 'off'] LOOP
		PERFORM set_config('redblue.join', "redblue.join", true);
		BEGIN
			EXECUTE query INTO answer;
		EXCEPTION WHEN OTHERS THEN
			answer := SQLSTATE || ': ' || SQLERRM;
		END;
		RETURN NEXT;
	END LOOP;
	PERFORM set_config('redblue.join', 'on', true);
END $$;

CREATE TABLE roof AS SELECT i AS id, i % 3 AS kind, 'roof ' || i AS name, ST_Translate('TRIANGLE Z ((0 0 0, 1 0 0, 0 1 1, 0 0 0))'::geometry, i % 100, i / 100, 0) AS geom FROM generate_series(0, 9999) i;
CREATE TABLE wall AS SELECT i AS id, i % 5 AS kind, ST_Translate('POLYGON Z ((0.25 0 -1, 0.25 0.6 -1, 0.25 0.6 2, 0.25 0 2, 0.25 0 -1))'::geometry, i % 100, i / 100, 0) AS geom FROM generate_series(0, 9999) i;
CREATE INDEX ON roof USING gist (geom gist_geometry_ops_nd);
CREATE INDEX ON wall USING gist (geom gist_geometry_ops_nd);
ANALYZE roof, wall;

-- ---- costs ----
-- Few rows with many that have an index: a loop. Many with many: the node.
SELECT * FROM plan('SELECT count(*) FROM roof r JOIN wall w ON redblue_intersects(r.geom, w.geom) WHERE r.id < 20');
SELECT * FROM plan('SELECT count(*) FROM roof r JOIN wall w ON redblue_intersects(r.geom, w.geom) WHERE r.id < 2000');
SELECT * FROM plan('SELECT count(*) FROM roof r JOIN wall w ON redblue_intersects(r.geom, w.geom)');
SELECT * FROM plan('SELECT count(*) FROM roof r WHERE EXISTS (SELECT FROM wall w WHERE redblue_dwithin(r.geom, w.geom, 0.1))');
-- Disabled plan types count below the node, too: two table scans there, and one in a loop with an index.
CREATE TABLE shed (id int, geom geometry) PARTITION BY RANGE (id);
CREATE TABLE shed_1 PARTITION OF shed FOR VALUES FROM (0) TO (2000);
CREATE TABLE shed_2 PARTITION OF shed FOR VALUES FROM (2000) TO (4000);
INSERT INTO shed SELECT id, geom FROM roof WHERE id < 4000;
ANALYZE shed;
SELECT * FROM plan('UPDATE shed s SET id = s.id FROM wall w WHERE redblue_intersects(s.geom, w.geom)');
SET enable_seqscan = off;
SELECT * FROM plan('SELECT count(*) FROM roof r JOIN wall w ON redblue_intersects(r.geom, w.geom) WHERE r.id < 4000');
SELECT * FROM plan('SELECT r.id, w.id FROM roof r JOIN wall w ON redblue_intersects(r.geom, w.geom) WHERE r.id < 4000');
SELECT * FROM plan('UPDATE shed s SET id = s.id FROM wall w WHERE redblue_intersects(s.geom, w.geom)');
RESET enable_seqscan;
-- The estimate comes from samples: 10,000 pairs; within a distance of 5, about 90 times as many.
CREATE FUNCTION expected(query text, low float8, high float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json; n float8;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	n := (plan->0->'Plan'->>'Plan Rows')::float8;
	RETURN CASE WHEN n BETWEEN low AND high THEN 'as expected' ELSE n || ' rows' END;
END $$;
SELECT expected('SELECT r.id FROM roof r JOIN wall w ON redblue_intersects(r.geom, w.geom)', 4000, 40000);
SELECT expected('SELECT r.id FROM roof r JOIN wall w ON redblue_dwithin(r.geom, w.geom, 5)', 300000, 2500000);
SELECT expected('SELECT r.id FROM roof r WHERE EXISTS (SELECT FROM wall w WHERE redblue_dwithin(r.geom, w.geom, 5))', 9000, 10000);
-- If the distance is not known yet, as many as intersect
PREPARE near (float8) AS SELECT r.id FROM roof r JOIN wall w ON redblue_dwithin(r.geom, w.geom, $1);
SET plan_cache_mode = force_generic_plan;
SELECT expected('EXECUTE near (5)', 4000, 40000);
RESET plan_cache_mode;
DEALLOCATE near;
-- A small table with a large one
CREATE TABLE few AS SELECT id, ST_Expand(geom, 1) AS geom FROM roof WHERE id % 200 = 0;
ANALYZE few;
SELECT expected('SELECT f.id FROM few f JOIN wall w ON redblue_dwithin(f.geom, w.geom, 5)', 2000, 20000);
SELECT expected('SELECT r.id FROM roof r JOIN wall w ON redblue_intersects(r.geom, w.geom) WHERE r.kind = 1', 1300, 13000);
SELECT expected('SELECT r.id FROM roof r JOIN (SELECT ST_Force2D(geom) AS geom FROM wall OFFSET 0) w ON redblue_intersects(r.geom, w.geom)', 1, 1e8);
-- A table with itself
SELECT expected('SELECT r.id FROM roof r JOIN roof s ON redblue_intersects(r.geom, s.geom)', 10000, 200000);

-- ---- choice of the clause ----
SELECT * FROM plan('SELECT count(*) FROM roof r JOIN wall w ON redblue_dwithin(r.geom, w.geom, 3) AND redblue_intersects(r.geom, w.geom) AND r.kind <> w.kind');
SELECT * FROM ways('SELECT count(*) FROM roof r JOIN wall w ON redblue_dwithin(r.geom, w.geom, 0.5) AND redblue_intersects(r.geom, w.geom) AND r.kind <> w.kind');

-- ---- different SRIDs are an error, unless they are compared ----
CREATE TABLE here AS SELECT id, name, ST_SetSRID(geom, CASE id % 4 WHEN 0 THEN 28992 ELSE 7415 END) AS geom FROM roof WHERE id < 400;
CREATE TABLE there AS SELECT id, ST_SetSRID(geom, CASE id % 6 WHEN 0 THEN 28992 ELSE 7415 END) AS geom FROM wall WHERE id < 400;
ANALYZE here, there;
SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT * FROM ways('SELECT count(*) FROM here a JOIN there b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM plan('SELECT count(*) FROM here a JOIN there b ON redblue_intersects(a.geom, b.geom) AND ST_SRID(a.geom) = ST_SRID(b.geom)');
SELECT * FROM ways('SELECT count(*) FROM here a JOIN there b ON redblue_intersects(a.geom, b.geom) AND ST_SRID(a.geom) = ST_SRID(b.geom)');
SELECT * FROM ways('SELECT count(b.id) FROM here a LEFT JOIN there b ON redblue_dwithin(b.geom, a.geom, 0) AND ST_SRID(b.geom) = ST_SRID(a.geom)');
-- Compared by PostGIS's function, not by another one of that name
CREATE FUNCTION st_srid(geometry) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 0; END';
SELECT * FROM ways('SELECT count(*) FROM here a JOIN there b ON redblue_intersects(a.geom, b.geom) AND postgis_join_plan.st_srid(a.geom) = postgis_join_plan.st_srid(b.geom)');
DROP FUNCTION st_srid(geometry);
RESET enable_hashjoin; RESET enable_mergejoin;

-- ---- invalid distances ----
SELECT * FROM ways('SELECT count(*) FROM roof r JOIN wall w ON redblue_dwithin(r.geom, w.geom, -1)');
SELECT * FROM ways('SELECT count(*) FROM roof r JOIN wall w ON redblue_dwithin(r.geom, w.geom, ''NaN'') WHERE r.id < 3');
SELECT * FROM ways('SELECT count(*) FROM roof r JOIN wall w ON redblue_dwithin(r.geom, w.geom, NULL)');
SELECT redblue_reach('POINT (1 2)', -1);

-- ---- the row that is invalid ----
CREATE TABLE bad (id int, geom geometry) PARTITION BY RANGE (id);
CREATE TABLE bad_1 PARTITION OF bad FOR VALUES FROM (0) TO (100);
CREATE TABLE bad_2 PARTITION OF bad FOR VALUES FROM (100) TO (200);
INSERT INTO bad SELECT id, geom FROM roof WHERE id < 200;
UPDATE bad_2 SET geom = 'CIRCULARSTRING Z (0 0 0, 1 1 0, 2 0 0)' WHERE id = 150;
ANALYZE bad;
SET enable_nestloop = off;
\set VERBOSITY terse
SELECT count(*) FROM wall w JOIN bad b ON redblue_intersects(w.geom, b.geom);
SELECT count(*) FROM bad_2 JOIN wall w ON redblue_intersects(w.geom, bad_2.geom);
SELECT count(*) FROM wall w JOIN (SELECT geom FROM bad_2 ORDER BY id DESC) q ON redblue_intersects(w.geom, q.geom);
SELECT count(*) FROM wall w JOIN (SELECT ST_Collect(geom) AS geom FROM bad) q ON redblue_intersects(w.geom, q.geom);
\set VERBOSITY default
SELECT count(*) FROM roof r JOIN here h ON redblue_intersects(r.geom, h.geom);
RESET enable_nestloop;

-- ---- columns of rows: words, some of them null; many; and others ----
CREATE TABLE wide AS SELECT id, NULLIF(kind, 0) AS kind, id::float8 / 7 AS share, id % 2 = 0 AS even, date '2024-01-01' + id AS day, '"char"'::"char" AS c, id::int2 AS small, id::int8 * 1e12::int8 AS large, kind AS again, name, geom FROM roof WHERE id < 600;
ANALYZE wide;
SELECT * FROM ways('SELECT md5(string_agg(t::text, '','' ORDER BY t::text)) FROM (SELECT a.kind, a.id, b.kind, b.id FROM wide a JOIN wide b ON redblue_intersects(a.geom, b.geom)) t');
SELECT * FROM ways('SELECT md5(string_agg(t::text, '','' ORDER BY t::text)) FROM (SELECT a.kind, a.share, a.even, a.day, a.c, a.small, a.large, a.id, b.id FROM wide a LEFT JOIN wall b ON redblue_crosses(a.geom, b.geom) AND b.kind = a.kind) t');
SELECT * FROM ways('SELECT md5(string_agg(t::text, '','' ORDER BY t::text)) FROM (SELECT a.id, a.kind, a.share, a.even, a.day, a.c, a.small, a.large, a.again, b.id FROM wide a LEFT JOIN wall b ON redblue_crosses(a.geom, b.geom) AND b.kind = a.kind) t');
SELECT * FROM ways('SELECT md5(string_agg(t::text, '','' ORDER BY t::text)) FROM (SELECT a.name, b.kind FROM wide a JOIN wide b ON redblue_crosses(a.geom, b.geom)) t');

-- ---- geometries with Z compared in the plane: of all types, before their dimensions are known ----
CREATE TABLE raised AS SELECT row_number() OVER () AS id, ST_Translate(g, x, y, z) AS geom FROM
	unnest(ARRAY['POINT Z (1 1 1)', 'LINESTRING Z (0 0 0, 0 0 5)', 'MULTIPOINT Z ((0 0 0), (1 0 1))', 'MULTILINESTRING Z ((0 0 0, 1 1 1), (3 0 0, 3 1 1))', 'TRIANGLE Z ((0 0 0, 1 0 0, 1 0 1, 0 0 0))', 'TIN Z (((0 0 0, 1 0 0, 0 1 0, 0 0 0)), ((1 0 0, 1 1 5, 0 1 0, 1 0 0)))',
		'POLYGON Z ((0 0 0, 2 0 0, 2 2 2, 0 2 2, 0 0 0), (0.5 0.5 0.5, 1.5 0.5 0.5, 1.5 1.5 1.5, 0.5 0.5 0.5))', 'POLYGON Z ((0 0 0, 2 0 0, 2 0 3, 0 0 3, 0 0 0))', 'GEOMETRYCOLLECTION Z (POINT Z (1 2 3), POLYGON Z ((0 0 0, 1 0 0, 1 1 0, 0 0 0)))', 'POINT Z EMPTY', NULL]::geometry[]) g,
	generate_series(0, 9, 3) x, generate_series(0, 9, 3) y, generate_series(0, 1) z;
CREATE TABLE ground AS SELECT i AS id, CASE WHEN i % 3 = 0 THEN ST_MakePoint(i % 12, i % 11) ELSE ST_MakeLine(ST_MakePoint(i % 12, i % 7), ST_MakePoint(i % 5 * 2, i % 11)) END AS geom FROM generate_series(1, 150) i UNION ALL SELECT i, ST_MakePoint(i % 12, i % 11, i % 3) FROM generate_series(151, 300) i;
ANALYZE raised, ground;
SET enable_nestloop = off;
SELECT * FROM plan('SELECT a.id, b.id FROM raised a JOIN ground b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM ways('SELECT count(*) || '' '' || md5(string_agg(t::text, '','' ORDER BY t::text)) FROM (SELECT a.id, b.id FROM raised a JOIN ground b ON redblue_intersects(a.geom, b.geom)) t');
SELECT * FROM ways('SELECT count(*) || '' '' || md5(string_agg(t::text, '','' ORDER BY t::text)) FROM (SELECT a.id, b.id FROM ground a LEFT JOIN raised b ON redblue_crosses(a.geom, b.geom)) t');

-- ---- repeated with another distance: the inputs are read once ----
CREATE FUNCTION stages(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		-- The number of boxes that are compared depends on the processor.
		IF line ~ 'redblue join|Stage|Joins|Device|Seq Scan' THEN RETURN NEXT regexp_replace(regexp_replace(trim(line), '(grid: |candidates: |filter: |exact: ).*', '\1...'), '\.00|\.25|actual |, rows', '', 'g'); END IF;
	END LOOP;
END $$;
SELECT * FROM stages('SELECT d, (SELECT count(*) FROM raised a JOIN ground b ON redblue_dwithin(a.geom, b.geom, d)) FROM (VALUES (0::float8), (NULL), (2), (0.5)) AS v (d)');
SELECT * FROM ways('SELECT string_agg(n::text, '' '' ORDER BY d) FROM (SELECT d, (SELECT count(*) FROM raised a JOIN ground b ON redblue_dwithin(a.geom, b.geom, d)) AS n FROM (VALUES (0::float8), (NULL), (2), (0.5)) AS v (d)) t');
SELECT * FROM ways('SELECT string_agg(n::text, '' '' ORDER BY d) FROM (SELECT d, (SELECT count(*) FROM roof a JOIN wall b ON redblue_intersects(ST_Translate(a.geom, 0, 0, d), b.geom) WHERE a.id < 50 AND b.id < 50) AS n FROM (VALUES (0::float8), (NULL), (2), (0.5)) AS v (d)) t');
-- Rows removed by each clause, as in PostgreSQL's own joins
CREATE FUNCTION removed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		IF line ~ 'redblue join|Filter' AND line !~ 'Seq Scan' THEN RETURN NEXT regexp_replace(trim(line), '\.00|actual |, rows', '', 'g'); END IF;
	END LOOP;
END $$;
SELECT * FROM removed('SELECT a.id, b.id FROM (SELECT * FROM roof WHERE id < 100) a LEFT JOIN wall b ON redblue_intersects(a.geom, b.geom) AND a.kind <> b.kind WHERE b.id IS NULL OR b.kind > 2');
SELECT count(*) FILTER (WHERE redblue_intersects(a.geom, b.geom) AND a.kind = b.kind) AS by_join_filter FROM (SELECT * FROM roof WHERE id < 100) a, wall b;
SELECT count(*) FILTER (WHERE NOT (b.id IS NULL OR b.kind > 2)) AS by_filter FROM (SELECT * FROM roof WHERE id < 100) a LEFT JOIN wall b ON redblue_intersects(a.geom, b.geom) AND a.kind <> b.kind;
SELECT * FROM removed('SELECT k, (SELECT count(*) FROM (SELECT * FROM roof WHERE id < 100) a JOIN (SELECT * FROM wall WHERE id < 100) b ON redblue_intersects(a.geom, b.geom) AND a.kind < b.kind + k * 0) FROM generate_series(0, 1) k');
-- A scan that is not read to its end
SELECT count(*) > 5 AS told FROM stages('SELECT a.id FROM roof a JOIN wall b ON redblue_intersects(a.geom, b.geom) LIMIT 3');
RESET enable_nestloop;

-- ---- pairs that are only counted are not returned ----
CREATE TABLE spot AS SELECT id, kind, ST_Centroid(geom) AS geom FROM roof WHERE id < 600;
CREATE TABLE patch AS SELECT id, kind, ST_Force2D(ST_Expand(geom, 1)) AS geom FROM roof WHERE id % 7 = 0 AND id < 900;
ANALYZE spot, patch;
SET enable_nestloop = off;
SELECT * FROM plan('SELECT count(*), count(1) + 1 AS more FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom)');
SELECT * FROM plan('SELECT count(*) FROM spot s, patch p WHERE redblue_dwithin(s.geom, p.geom, 2) AND s.kind = 1 HAVING count(*) > 7');
-- Pairs are used, filtered, or inspected one by one.
SELECT * FROM plan('SELECT count(s.id) FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom)');
SELECT * FROM plan('SELECT count(*) FILTER (WHERE true), sum(1) FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom)');
SELECT * FROM plan('SELECT count(*) FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom) GROUP BY s.kind');
SELECT * FROM plan('SELECT count(*) FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom) AND s.kind <> p.kind');
SELECT * FROM plan('SELECT count(*) FROM spot s JOIN patch p ON redblue_crosses(s.geom, p.geom)');
SELECT * FROM ways('SELECT count(*) FROM spot s JOIN patch p ON redblue_crosses(s.geom, p.geom)');
SELECT * FROM plan('SELECT count(*) FROM spot s LEFT JOIN patch p ON redblue_intersects(s.geom, p.geom)');
SELECT * FROM plan('SELECT count(*) FROM spot s WHERE EXISTS (SELECT FROM patch p WHERE redblue_intersects(s.geom, p.geom))');
SELECT * FROM ways('SELECT count(*) || '' '' || count(1) + 1 FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom)');
SELECT * FROM ways('SELECT count(*) FROM spot s, patch p WHERE redblue_dwithin(s.geom, p.geom, 2) AND s.kind = 1 HAVING count(*) > 7');
SELECT * FROM ways('SELECT count(*) FROM spot s, patch p WHERE redblue_dwithin(s.geom, p.geom, 2) AND s.kind = 1 HAVING count(*) < 7');
SELECT * FROM ways('SELECT count(*) FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom) WHERE s.id < 0');
SELECT * FROM ways('SELECT count(*) FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom) WHERE current_setting(''redblue.threads'') = ''7''');
-- With parameters: new inputs, a new distance, or no change
SELECT * FROM ways('SELECT string_agg((SELECT count(*) FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom) WHERE s.kind = k)::text, '','' ORDER BY k) FROM generate_series(0, 3) k');
SELECT * FROM ways('SELECT string_agg((SELECT count(*) FROM spot s JOIN patch p ON redblue_dwithin(s.geom, p.geom, k))::text, '','' ORDER BY k) FROM generate_series(0, 3) k');
SELECT * FROM ways('SELECT string_agg((SELECT count(*) + k FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom))::text, '','' ORDER BY k) FROM generate_series(0, 3) k');
SELECT * FROM ways('WITH n AS MATERIALIZED (SELECT count(*) AS n FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom)) SELECT a.n + b.n FROM n a, n b');
-- After a repetition, pairs of the old inputs are not returned.
SELECT k, (SELECT s.kind FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom) WHERE s.kind = k LIMIT 1) FROM generate_series(0, 3) k;
SELECT k, bool_and(redblue_intersects(q.s, q.p)), count(*) FROM generate_series(0, 8) k, LATERAL (SELECT s.geom AS s, p.geom AS p FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom) WHERE s.kind = k % 4 AND s.id > 30 * k OFFSET 3 LIMIT 2) q GROUP BY k ORDER BY k;
-- In space, in the plane, and both
SELECT * FROM ways('SELECT count(*) FROM raised a JOIN ground b ON redblue_intersects(a.geom, b.geom)');
-- A cursor, and a prepared statement
BEGIN;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT count(*) FROM spot s JOIN patch p ON redblue_intersects(s.geom, p.geom);
FETCH c; FETCH c; FETCH BACKWARD c;
COMMIT;
FETCH BACKWARD ALL FROM c; FETCH ALL FROM c;
CLOSE c;
SET plan_cache_mode = force_generic_plan;
PREPARE counted(float8) AS SELECT count(*) FROM spot s JOIN patch p ON redblue_dwithin(s.geom, p.geom, $1);
EXECUTE counted(0); EXECUTE counted(3); EXECUTE counted(NULL); EXECUTE counted(-1);
DEALLOCATE counted;
RESET plan_cache_mode;

-- ---- a thread decodes geometries while rows are read: special and invalid geometries keep their position ----
CREATE FUNCTION threads(query text) RETURNS TABLE (threads text, answer text) LANGUAGE plpgsql AS $$
DECLARE message text; detail text;
BEGIN
	FOREACH threads IN ARRAY ARRAY['1', '2'] LOOP
		PERFORM set_config('redblue.threads', threads, true);
		BEGIN
			EXECUTE query INTO answer;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
			answer := SQLSTATE || ': ' || message || ': ' || detail;
		END;
		RETURN NEXT;
	END LOOP;
	PERFORM set_config('redblue.threads', '1', true);
END $$;
-- 12,000 rows, 2 MB: all simple; with polygons that are triangulated, and nulls; with a large one
CREATE TABLE alike AS SELECT i AS id, ST_Translate('TRIANGLE Z ((0 0 0, 1 0 0, 0 1 1, 0 0 0))'::geometry, i % 100, i / 100, 0) AS geom FROM generate_series(0, 11999) i;
CREATE TABLE motley AS SELECT id, CASE WHEN id % 1000 = 7 THEN NULL WHEN id % 1000 = 8 THEN ST_Expand(ST_Force2D(geom), 0.5) WHEN id % 4000 = 9 THEN ST_Translate('POLYGON Z ((0 0 0, 2 0 0, 2 2 2, 0 2 2, 0 0 0), (0.5 0.5 0.5, 1.5 0.5 0.5, 1.5 1.5 1.5, 0.5 0.5 0.5))'::geometry, id % 100, id / 100, 0) WHEN id = 6001 THEN (SELECT ST_Collect(p.geom ORDER BY p.id) FROM alike p WHERE p.id % 10 = 0) ELSE geom END AS geom FROM alike;
ANALYZE alike, motley;
SELECT * FROM threads('SELECT count(*) FROM alike a JOIN alike b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM threads('SELECT count(*) || '' '' || md5(string_agg(a.id || '' '' || b.id, '','' ORDER BY a.id, b.id)) FROM alike a JOIN motley b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM threads('SELECT count(*) || '' '' || md5(string_agg(a.id || '' '' || b.id, '','' ORDER BY a.id, b.id)) FROM motley a JOIN alike b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM threads('SELECT count(*) || '' '' || sum(a.id # b.id) FROM motley a JOIN motley b ON redblue_dwithin(a.geom, b.geom, 0.1)');
-- All without Z, or after rows with Z
SELECT * FROM threads('SELECT count(*) FROM (SELECT ST_Force2D(geom) AS geom FROM alike OFFSET 0) a JOIN motley b ON redblue_intersects(a.geom, b.geom)');
-- Invalid: in the middle, the first of several; SRIDs; and where nothing is compared with the row
CREATE TABLE wrong AS SELECT id, CASE WHEN id IN (5003, 9000) THEN 'CURVEPOLYGON (CIRCULARSTRING (0 0, 4 0, 4 4, 0 4, 0 0))'::geometry ELSE geom END AS geom FROM alike;
CREATE TABLE elsewhere AS SELECT id, CASE WHEN id >= 7000 THEN ST_SetSRID(geom, 4000 + id % 3) ELSE geom END AS geom FROM alike;
SELECT * FROM threads('SELECT count(*) FROM ground a JOIN wrong b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM threads('SELECT count(*) FROM wrong a JOIN alike b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM threads('SELECT count(*) FROM elsewhere a JOIN alike b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM threads('SELECT count(*) FROM alike a JOIN elsewhere b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM threads('SELECT count(*) FROM wrong a JOIN (SELECT geom FROM alike WHERE id < 0) b ON redblue_intersects(a.geom, b.geom)');
-- An error of the input while the thread is running
SELECT * FROM threads('SELECT count(*) FROM (SELECT geom FROM alike WHERE 1 / (id - 9999) < 2) a JOIN alike b ON redblue_intersects(a.geom, b.geom)');
RESET enable_nestloop;

-- ---- ST_3DIntersects and ST_3DDWithin, replaced if the setting requests it ----
SELECT * FROM plan('SELECT count(*) FROM roof r JOIN wall w ON ST_3DIntersects(r.geom, w.geom) WHERE r.id < 4000');
SET redblue.replace_postgis = on;
SELECT * FROM plan('SELECT count(*) FROM roof r JOIN wall w ON ST_3DIntersects(r.geom, w.geom)');
SELECT count(*) FROM roof r JOIN wall w ON ST_3DIntersects(r.geom, w.geom);
SELECT * FROM plan('SELECT count(*) FROM (SELECT * FROM roof WHERE ST_3DDWithin(geom, ''POINT Z (0 0 0)'', 9)) r WHERE EXISTS (SELECT FROM wall w WHERE ST_3DDWithin(r.geom, w.geom, 0.5))');
-- They are replaced everywhere in a statement, so that the result does not depend on the plan.
EXPLAIN (COSTS OFF, VERBOSE) WITH c AS MATERIALIZED (SELECT id, ST_3DIntersects(geom, 'POINT Z (1 2 3)') AS met FROM roof) SELECT count(*) FILTER (WHERE met) FROM c;
-- They are not replaced in security barriers and policies.
CREATE VIEW guarded WITH (security_barrier) AS SELECT * FROM roof WHERE ST_3DIntersects(geom, 'POINT Z (1 2 0)');
CREATE VIEW plain AS SELECT * FROM roof WHERE ST_3DIntersects(geom, 'POINT Z (1 2 0)');
EXPLAIN (COSTS OFF) SELECT id FROM guarded WHERE ST_3DIntersects(geom, 'POINT Z (0 0 0)');
EXPLAIN (COSTS OFF) SELECT id FROM plain WHERE ST_3DIntersects(geom, 'POINT Z (0 0 0)');
CREATE TABLE secret AS SELECT * FROM wall WHERE id < 50;
CREATE ROLE postgis_join_plan_guest;
GRANT USAGE ON SCHEMA postgis_join_plan TO postgis_join_plan_guest;
GRANT SELECT, INSERT ON secret TO postgis_join_plan_guest;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY near ON secret USING (ST_3DDWithin(geom, 'POINT Z (1 0 0)', 3)) WITH CHECK (ST_3DIntersects(geom, 'POINT Z (1 0 0)'));
SET ROLE postgis_join_plan_guest;
EXPLAIN (COSTS OFF) SELECT id FROM secret WHERE ST_3DIntersects(geom, 'POINT Z (1.25 0.5 0)');
SELECT id FROM secret WHERE ST_3DIntersects(geom, 'POINT Z (1.25 0.5 0)');
INSERT INTO secret VALUES (1000, 0, 'POINT Z (1 0 0)');
INSERT INTO secret VALUES (1001, 0, 'POINT Z (1 1 0)');
RESET ROLE;
-- Functions that run with privileges of another user are not changed. PostGIS finds this point on the line, but it is not.
CREATE FUNCTION met() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN ST_3DIntersects('LINESTRING Z (0 0 0, 9 3 9)'::geometry, 'POINT Z (5.1 1.7 5.1)'); END $$;
CREATE FUNCTION number_met() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM (VALUES ('POINT Z (5.1 1.7 5.1)'::geometry)) AS v (geom) WHERE ST_3DIntersects('LINESTRING Z (0 0 0, 9 3 9)', geom) $$;
CREATE FUNCTION for_all() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN format('%s %s %s', met(), number_met(), (SELECT count(*) FROM (VALUES ('POINT Z (5.1 1.7 5.1)'::geometry)) AS v (geom) WHERE ST_3DIntersects('LINESTRING Z (0 0 0, 9 3 9)', geom))); END $$;
CREATE FUNCTION told() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET redblue.replace_postgis = on AS 'BEGIN RETURN for_all(); END';
CREATE FUNCTION kept() RETURNS boolean LANGUAGE plpgsql SET redblue.replace_postgis = off AS $$ BEGIN RETURN ST_3DIntersects('LINESTRING Z (0 0 0, 9 3 9)'::geometry, 'POINT Z (5.1 1.7 5.1)'); END $$;
CREATE TABLE checked (geom geometry CHECK (ST_3DIntersects('LINESTRING Z (0 0 0, 9 3 9)', geom)), met boolean GENERATED ALWAYS AS (ST_3DIntersects('LINESTRING Z (0 0 0, 9 3 9)', geom)) STORED);
CREATE INDEX ON checked (ST_3DIntersects('LINESTRING Z (0 0 0, 9 3 9)', geom));
INSERT INTO checked VALUES ('POINT Z (5.1 1.7 5.1)');
SELECT met FROM checked;
CREATE MATERIALIZED VIEW filled AS SELECT ST_3DIntersects('LINESTRING Z (0 0 0, 9 3 9)', geom) AS met FROM checked;
TABLE filled;
REFRESH MATERIALIZED VIEW filled;
TABLE filled;
SET ROLE postgis_join_plan_guest;
-- The order of the first calls does not matter, although plans are cached.
SELECT met(), number_met(), for_all(), told(), kept() FROM generate_series(1, 7) GROUP BY 1, 2, 3, 4, 5;
DISCARD PLANS;
SELECT for_all(), met(), for_all(), met() FROM generate_series(1, 7) GROUP BY 1, 2, 3, 4;
RESET ROLE;
-- It is replaced in a function of the caller.
DISCARD PLANS;
SELECT for_all(), met(), told(), kept() FROM generate_series(1, 7) GROUP BY 1, 2, 3, 4;
-- A user's own function of that name is not replaced.
CREATE FUNCTION st_3dintersects(geometry, geometry) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN true; END';
EXPLAIN (COSTS OFF) SELECT id FROM roof WHERE postgis_join_plan.st_3dintersects(geom, 'POINT Z (0 0 0)');
DROP FUNCTION st_3dintersects;
-- Expressions by which ON CONFLICT names an index are not replaced.
CREATE TABLE marked (id int, geom geometry);
CREATE UNIQUE INDEX ON marked (id, ST_3DIntersects(geom, 'POINT Z (0 0 0)'));
CREATE UNIQUE INDEX ON marked (id) WHERE ST_3DDWithin(geom, 'POINT Z (0 0 0)', 1);
INSERT INTO marked SELECT 1, 'POINT Z (0 0 0)' FROM generate_series(1, 2) ON CONFLICT (id, ST_3DIntersects(geom, 'POINT Z (0 0 0)')) DO NOTHING;
INSERT INTO marked VALUES (1, 'POINT Z (0 0 0)') ON CONFLICT (id) WHERE ST_3DDWithin(geom, 'POINT Z (0 0 0)', 1) DO UPDATE SET id = 2 WHERE ST_3DIntersects(marked.geom, excluded.geom) RETURNING *;
-- A statement that was prepared before is planned again only when necessary.
SET redblue.replace_postgis = off;
PREPARE p AS SELECT count(*) FROM wall w WHERE ST_3DIntersects(geom, 'POLYGON Z ((0 0 0, 1 0 0, 1 1 0, 0 1 0, 0 0 0))');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE p;
SET redblue.replace_postgis = on;
EXPLAIN (COSTS OFF) EXECUTE p;
DISCARD PLANS;
EXPLAIN (COSTS OFF) EXECUTE p;
EXECUTE p;
RESET redblue.replace_postgis;
SET client_min_messages = warning;
DROP SCHEMA postgis_join_plan CASCADE;
DROP ROLE postgis_join_plan_guest;
