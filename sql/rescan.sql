-- Tests joins that are repeated in a statement: computed again if their inputs have changed, otherwise returned from
-- memory, without accumulating memory.
\set schema rescan
\i sql/fixtures/prologue.sql
-- Row i of a meets only row i of b.
CREATE TABLE a AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 0.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 6) i;
CREATE TABLE b AS TABLE a;
CREATE TABLE k AS SELECT i AS k FROM generate_series(1, 4) i;
ANALYZE;
CREATE FUNCTION upto(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT format('SELECT * FROM a WHERE id <= %s', n) $$;
-- The rows of a query with the scan, and whether they equal those without it
CREATE FUNCTION with_scan(query text, OUT rows text, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	without text;
BEGIN
	query := format('SELECT string_agg(t::text, '' '' ORDER BY t) FROM (%s) t', query);
	SET LOCAL redblue.custom_scan = on;
	EXECUTE query INTO rows;
	SET LOCAL redblue.custom_scan = off;
	EXECUTE query INTO without;
	same := rows IS NOT DISTINCT FROM without;
END $$;

-- An argument that depends on an outer row: directly, through subqueries, nested or not, hashed or not, with LATERAL
SELECT * FROM with_scan($$ SELECT k, (SELECT max(red_id) FROM redblue_box_pairs_query(upto(k), 'TABLE b')) FROM k $$);
SELECT * FROM with_scan($$ SELECT k, (SELECT count(*) FROM redblue_box_pairs_query((SELECT upto(k)), 'TABLE b')) FROM k $$);
SELECT * FROM with_scan($$ SELECT k, (SELECT max(red_id) FROM redblue_box_pairs_query(CASE WHEN 1 IN (SELECT g FROM generate_series(1, 3) g WHERE g = k) THEN upto(1) ELSE 'TABLE a' END, 'TABLE b'))
	FROM (VALUES (2), (3), (1)) v (k) $$);
SELECT * FROM with_scan($$ SELECT k, (SELECT count(*) FROM redblue_box_pairs_query(CASE WHEN 1 IN (SELECT g FROM generate_series(1, 3) g WHERE g = k) THEN upto(1) ELSE 'TABLE a' END, 'TABLE b'))
	FROM (VALUES (1), (2), (1), (3)) v (k) $$);
SELECT * FROM with_scan($$ SELECT k, (SELECT max(red_id) FROM redblue_box_pairs_query(CASE WHEN EXISTS (SELECT FROM a WHERE id = k + 4) THEN upto(k) ELSE 'TABLE a' END, 'TABLE b')) FROM k $$);
SELECT * FROM with_scan($$ SELECT k, (SELECT count(*) FROM redblue_box_pairs_query((SELECT upto(max(id)) FROM a WHERE id IN (SELECT g FROM generate_series(1, 5) g WHERE g <= k)), 'TABLE b')) FROM k $$);
SELECT * FROM with_scan($$ SELECT k, (SELECT max(red_id) FROM redblue_box_pairs_query((SELECT upto((SELECT count(*) FROM a WHERE id <= k.k OFFSET 0))), 'TABLE b')) FROM k $$);
SELECT * FROM with_scan($$ SELECT k, (SELECT count(*) FROM redblue_box_pairs_query(upto(CASE WHEN k NOT IN (SELECT id FROM a WHERE id > k.k + 1 OR id = 1) THEN k ELSE 6 END), 'TABLE b')) FROM k $$);
SELECT * FROM with_scan($$ SELECT k, (SELECT max(red_id) FROM redblue_box_pairs_query(upto(CASE WHEN (SELECT array_agg(id) FROM a WHERE id < k.k) @> ARRAY[2] THEN 2 ELSE 1 END), 'TABLE b')) FROM k $$);
SELECT * FROM with_scan($$ SELECT k, p.red_id FROM k, LATERAL redblue_box_pairs_query(CASE WHEN 1 IN (SELECT g FROM generate_series(1, 3) g WHERE g = k) THEN upto(1) ELSE upto(2) END, 'TABLE b') p $$);
SELECT * FROM with_scan($$ SELECT k, n FROM k, LATERAL (SELECT count(*) AS n FROM redblue_box_pairs_query(CASE WHEN k IN (SELECT g FROM generate_series(2, 3) g WHERE g <> k.k - 1) THEN upto(1) ELSE 'TABLE a' END, 'TABLE b') WHERE red_id > 0 OFFSET 0) s $$);
-- In a CTE within the subquery; in a recursive one; a table that a subquery selects
SELECT * FROM with_scan($$ SELECT k, (WITH t AS MATERIALIZED (SELECT upto(count(*)) AS t FROM a WHERE id <= k.k) SELECT count(*) FROM redblue_box_pairs_query((SELECT t FROM t), 'TABLE b')) FROM k $$);
SELECT * FROM with_scan($$ WITH RECURSIVE r (k, n) AS (SELECT 1, 0::bigint UNION ALL SELECT k + 1, s.n FROM r, LATERAL (SELECT count(*) AS n FROM redblue_box_pairs_query(upto(k), 'TABLE b') OFFSET 0) s WHERE k < 5) SELECT * FROM r $$);
CREATE VIEW few AS SELECT * FROM a WHERE id < 3;
SELECT * FROM with_scan($$ SELECT k, (SELECT count(*) FROM redblue_box_pairs((SELECT CASE WHEN k IN (SELECT g FROM generate_series(1, 2) g WHERE g = k) THEN 'a' ELSE 'few' END::regclass), 'b')) FROM k $$);

-- With the same arguments, there are at most two joins, because the second one is cached. The filter may change.
CREATE SEQUENCE joins;
CREATE FUNCTION counted(n int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	PERFORM nextval('joins');
	RETURN upto(n);
END $$;
SELECT setval('joins', 1);
CREATE VIEW counted AS SELECT a.* FROM a, nextval('joins');
SELECT k, (SELECT count(*) FROM redblue_box_pairs('counted', 'b') WHERE red_id >= k) FROM k;
SELECT nextval('joins') - 2 <= 2 AS twice_at_most;
-- A volatile argument is computed once, as for any function in FROM.
SELECT setval('joins', 1);
SELECT k, (SELECT count(*) FROM redblue_box_pairs_query(counted(3), 'TABLE b') WHERE red_id >= k) FROM k;
SELECT nextval('joins') - 2 AS computed;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT setval('joins', 1);
SELECT count(*) FROM k JOIN redblue_box_pairs_query(counted(3), 'TABLE b') p ON p.red_id >= k.k;
SELECT nextval('joins') - 2 AS computed;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
-- If the argument depends on the row, it is computed for each row.
SELECT setval('joins', 1);
SELECT k, (SELECT count(*) FROM redblue_box_pairs_query(counted(k), 'TABLE b')) FROM k;
SELECT nextval('joins') - 2 AS computed;

-- Many calls in one statement need the memory of one: growth in bytes per call, from the 100th to the last one. A call
-- whose result is not used is not executed.
CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT sum(used_bytes) FROM pg_backend_memory_contexts';
CREATE FUNCTION grown(query text) RETURNS TABLE (calls bigint, little boolean) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT count(s), max(m) - min(m) < 500 * (300 - 100) FROM (SELECT q.*, CASE WHEN q.k IN (100, 300) THEN memory() END AS m FROM (%s) q) s', query);
END $$;
SET redblue.threads = 1;
SELECT * FROM grown($$ SELECT k, redblue_box_pairs_query('SELECT * FROM a WHERE id = 1', 'TABLE b') FROM generate_series(1, 300) k $$);
-- Further calls do not start parallel workers, which takes most of their time.
SET min_parallel_table_scan_size = '8MB';
SELECT * FROM grown($$ SELECT k, redblue_box_self_pair_count('a') FROM generate_series(1, 300) k OFFSET 0 $$);
SELECT * FROM grown($$ SELECT k FROM generate_series(1, 300) k WHERE redblue_box_pair_count_query('SELECT * FROM a WHERE id = ' || k % 5 + 1, 'TABLE b') = 1 OFFSET 0 $$);
SELECT * FROM grown($$ SELECT k, p FROM generate_series(1, 300) k, LATERAL redblue_box_pairs_query('SELECT * FROM a WHERE id = ' || k % 5 + 1, 'TABLE b') p OFFSET 0 $$);
SELECT * FROM grown($$ SELECT k, p.red_id FROM generate_series(1, 300) k, LATERAL redblue_box_pairs_query('SELECT * FROM a WHERE id = ' || k % 5 + 1, 'TABLE b') p OFFSET 0 $$);
SELECT * FROM grown($$ SELECT k, (SELECT count(*) FROM redblue_box_pairs_query('SELECT * FROM a WHERE id = ' || k % 5 + 1, 'TABLE b')) FROM generate_series(1, 300) k OFFSET 0 $$);
SET redblue.custom_scan = off;
SELECT * FROM grown($$ SELECT k, p.red_id FROM generate_series(1, 300) k, LATERAL redblue_box_pairs_query('SELECT * FROM a WHERE id = ' || k % 5 + 1, 'TABLE b') p OFFSET 0 $$);
SELECT * FROM grown($$ SELECT k, p.red_id FROM generate_series(1, 300) k, LATERAL redblue_box_pairs('few', 'a', CASE WHEN k > 0 THEN 'id' END::name) p WHERE red_id = 1 OFFSET 0 $$);
RESET redblue.custom_scan;
-- In a loop, where some calls fail
CREATE FUNCTION calls(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	result int := 0;
BEGIN
	FOR i IN 1..n LOOP
		result := result + redblue_box_pair_count('a', 'b');
		PERFORM * FROM redblue_box_pairs_query('TABLE a', 'TABLE b') LIMIT 1;
		BEGIN
			PERFORM redblue_box_pair_count_query('TABLE a', 'SELECT 1/(id-3) AS id, lx, ly, hx, hy FROM b');
		EXCEPTION WHEN division_by_zero THEN
			result := result + 1;
		END;
	END LOOP;
	RETURN result;
END $$;
CREATE FUNCTION grown_in_loop() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
BEGIN
	PERFORM calls(50);
	before := memory();
	PERFORM calls(250);
	RETURN memory() - before < 1000 * 250;
END $$;
SELECT calls(2), grown_in_loop() AS little;
SET client_min_messages = warning;
DROP SCHEMA rescan CASCADE;
