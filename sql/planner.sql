-- Tests planning: estimates with and without a planner, for any OID, without running a join; plans of every shape.
\set schema planner
\i sql/fixtures/prologue.sql
SET redblue.custom_scan = on;
SET redblue.backend = auto;
-- Plans are printed and must not depend on how the tests are run.
SET parallel_setup_cost = 1000;
SET min_parallel_table_scan_size = '8MB';
-- Row i of a meets only row i of b.
CREATE TABLE a AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 0.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 6) i;
CREATE TABLE b AS TABLE a;
CREATE TABLE nothing (LIKE a);
CREATE TABLE k AS SELECT i AS k FROM generate_series(1, 4) i;
ANALYZE;

-- An SQL function that uses its argument twice: the cost of the argument is computed without a planner.
CREATE FUNCTION pg_temp.twice(x bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT x + x';
CREATE FUNCTION thrice(x bigint) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT x + x + x';
\set VERBOSITY terse
SELECT pg_temp.twice(redblue_box_self_pair_count('pg_class'));
\set VERBOSITY default
SELECT thrice(redblue_box_pair_count('a', 'b')), thrice(redblue_box_pair_count_query('TABLE a', 'TABLE b'));
SELECT thrice(redblue_box_pair_count('a'::text::regclass, (SELECT 'b'::regclass)));
SELECT count(*) FROM k WHERE thrice(redblue_box_pair_count('a', 'b')) > k;
SELECT sum(thrice(redblue_box_pair_count('a', (ARRAY['a', 'b'])[k % 2 + 1]::regclass))) FROM k;
-- Expressions outside of queries: defaults, constraints, domains, partitions, parameters, policies, COPY, triggers
CREATE TABLE alone (n bigint DEFAULT thrice(redblue_box_pair_count('a', 'b')) CHECK (n = thrice(redblue_box_pair_count('planner.a', 'planner.b'))));
INSERT INTO alone DEFAULT VALUES;
ALTER TABLE alone ADD COLUMN m bigint DEFAULT thrice(redblue_box_pair_count('b', 'a'));
ALTER TABLE alone ALTER COLUMN m TYPE numeric USING m + thrice(redblue_box_pair_count('b', 'a'));
INSERT INTO alone VALUES (1);
CREATE DOMAIN counted AS bigint CHECK (VALUE < thrice(redblue_box_pair_count('planner.a', 'planner.b')));
SELECT 17::counted;
SELECT 18::counted;
CREATE TABLE parts (n bigint, m bigint) PARTITION BY LIST (n);
CREATE TABLE part PARTITION OF parts FOR VALUES IN (thrice(redblue_box_pair_count('a', 'b')));
SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = 'part'::regclass;
PREPARE plus (bigint) AS SELECT $1 + 1;
EXECUTE plus (thrice(redblue_box_pair_count('a', 'b')));
CREATE PROCEDURE put(n bigint) LANGUAGE sql AS 'INSERT INTO planner.alone (n) VALUES (n)';
CALL put(thrice(redblue_box_pair_count('a', 'b')));
SELECT * FROM alone;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER refuse BEFORE DELETE ON alone FOR EACH ROW WHEN (old.n < thrice(redblue_box_pair_count('planner.a', 'planner.b')) + 1) EXECUTE FUNCTION refuse();
DELETE FROM alone;
SELECT count(*) FROM alone;
COPY alone (n) FROM stdin WHERE n = thrice(redblue_box_pair_count('a', 'b'));
18
1
\.
SELECT count(*) FROM alone;
CREATE INDEX alone_n ON alone (n) WHERE n < pg_temp.twice(redblue_box_pair_count('a', 'b'));
CREATE FUNCTION counts() RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT public.redblue_box_pair_count('planner.a', 'planner.b') $$;
CREATE INDEX alone_n ON alone ((pg_temp.twice(n + counts())));
SELECT count(*) FROM alone WHERE pg_temp.twice(n + counts()) > thrice(counts());
DO $$
DECLARE
	n bigint := thrice(redblue_box_pair_count('a', 'b'));
BEGIN
	ASSERT n = 18 AND thrice(redblue_box_pair_count('a', 'b')) = n;
	FOR i IN 1..thrice(redblue_box_pair_count('a', 'b')) LOOP
		n := n - thrice(i);
	END LOOP;
	RAISE NOTICE '%', n;
END $$;

-- Relations without rows to join can be planned. Execution reports the error.
CREATE INDEX b_id ON b (id);
CREATE SEQUENCE numbers;
CREATE TYPE pair AS (one int, two int);
CREATE VIEW nowhere AS SELECT * FROM a WHERE false;
CREATE UNLOGGED TABLE unlogged AS TABLE a;
CREATE MATERIALIZED VIEW later AS TABLE a WITH NO DATA;
DO $$
DECLARE
	relation text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['0', '4294967295', 'b_id', 'numbers', 'pair', 'nowhere', 'unlogged', 'later', 'parts', 'pg_class', 'pg_database', 'pg_toast.pg_toast_2618', 'nothing'] LOOP
		BEGIN
			EXECUTE format('EXPLAIN SELECT redblue_box_pair_count(%1$L, %1$L) FROM redblue_box_self_pairs(%1$L)', relation);
			EXECUTE format('SELECT FROM redblue_box_self_pairs(%L)', relation);
			RAISE NOTICE '%: joined', relation;
		EXCEPTION WHEN OTHERS THEN
			RAISE NOTICE '%: %', relation, regexp_replace(SQLERRM, '.* does not exist|column.*', '...');
		END;
	END LOOP;
END $$;
EXPLAIN (COSTS OFF) SELECT FROM redblue_box_self_pairs(NULL);
-- A table that the caller may not read is not sampled, and its size is not shown.
CREATE FUNCTION pg_temp.rows_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan->0->'Plan'->'Plan Rows';
END $$;
CREATE ROLE regress_redblue_planner;
GRANT USAGE ON SCHEMA planner TO regress_redblue_planner;
GRANT SELECT ON a TO regress_redblue_planner;
SET ROLE regress_redblue_planner;
SELECT pg_temp.rows_of($$ SELECT * FROM redblue_box_pairs('a', 'a') $$) AS readable, pg_temp.rows_of($$ SELECT * FROM redblue_box_pairs('b', 'a') $$) AS hidden;
RESET ROLE;
REVOKE USAGE ON SCHEMA planner FROM regress_redblue_planner;
SET ROLE regress_redblue_planner;
EXPLAIN SELECT * FROM redblue_box_pairs('planner.a', 'planner.a');
RESET ROLE;
SELECT 'a'::regclass::oid AS a \gset
SET ROLE regress_redblue_planner;
SELECT pg_temp.rows_of(format('SELECT * FROM redblue_box_pairs(%s, %s)', :a, :a)) AS hidden;
RESET ROLE;
-- Locks taken for an estimate are released.
BEGIN;
EXPLAIN (COSTS OFF) SELECT FROM redblue_box_pairs('a', 'b');
SELECT count(*) FROM pg_locks WHERE relation IN ('a'::regclass, 'b'::regclass);
COMMIT;
GRANT USAGE ON SCHEMA planner TO regress_redblue_planner;

-- Planning and EXPLAIN do not run a join.
\c -
SET search_path = planner, public;
SET redblue.backend = auto;
SET client_min_messages = warning;
CREATE FUNCTION explain(query text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'EXPLAIN ' || query;
	EXECUTE 'PREPARE planned AS ' || query;
	EXECUTE 'EXPLAIN EXECUTE planned';
	DEALLOCATE planned;
END $$;
CREATE TABLE facts AS SELECT i::bigint AS n, i::text AS fact FROM generate_series(1, 1000) i;
CREATE INDEX facts_n ON facts (n);
ANALYZE facts;
SELECT explain(format(form, count)) FROM
	(VALUES ($$ redblue_box_pair_count('a', 'b') $$), ($$ redblue_box_self_pair_count('a') $$), ($$ redblue_box_pair_count_query('TABLE a', 'TABLE b') $$),
		($$ redblue_box_self_pair_count_query('TABLE a') $$), ($$ redblue_triangle_pair_count('a', 'b') $$), ($$ redblue_triangle_self_pair_count('a') $$),
		($$ redblue_triangle_pair_count_query('TABLE a', 'TABLE b') $$), ($$ redblue_triangle_self_pair_count_query('TABLE a') $$),
		($$ redblue_box_pair_count('a', 'b', 'id', NULL, 'id', NULL) $$), ($$ thrice(redblue_box_pair_count('a', blue => 'b', blue_id => 'id')) $$)) c (count),
	(VALUES ('SELECT * FROM facts WHERE n > %s'), ('SELECT * FROM facts WHERE n = %s'), ('SELECT * FROM facts WHERE n BETWEEN 3 AND %s + 1'), ('SELECT * FROM facts WHERE n IN (1, %s)'),
		('SELECT * FROM facts LIMIT %s'), ('SELECT * FROM facts ORDER BY n OFFSET %s'), ('SELECT * FROM generate_series(1, %s)'), ('SELECT n, %s FROM facts WHERE fact LIKE %1$s::text'),
		('SELECT f.n FROM facts f JOIN facts g ON f.n = g.n + %s WHERE g.n < %1$s'), ('SELECT n %% 5 FROM facts GROUP BY 1 HAVING count(*) > %s'),
		('SELECT * FROM facts TABLESAMPLE BERNOULLI (%s)'), ('SELECT * FROM facts WHERE %s > 3 OR n < CASE WHEN %1$s = 1 THEN 3 ELSE %1$s END'),
		('SELECT unnest(array_fill(1, ARRAY[%s::int]))'), ('SELECT * FROM redblue_box_pairs(CASE WHEN %s > 3 THEN ''a'' ELSE ''b'' END::regclass, ''b'')'),
		('UPDATE facts SET n = %s WHERE n < %1$s'), ('SELECT * FROM parts WHERE n = (SELECT %s)'), ('DELETE FROM facts WHERE n > %s')) f (form) OFFSET 1000;
CREATE TYPE text_row AS (q text);
CREATE FUNCTION text_of() RETURNS text_row LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN ROW('TABLE planner.a'::text); END $$;
-- Constants that appear late in planning: from a CASE, the nullable side of a join, the parts of a UNION ALL, a grouping
-- set; and EXISTS, whose parts are planned separately
SELECT explain(query) FROM (VALUES ($$ SELECT * FROM facts WHERE n > redblue_box_pair_count((CASE WHEN now() > '2000-01-01' THEN 'a' ELSE 'b' END)::regclass, 'b') $$),
	($$ SELECT * FROM facts f LEFT JOIN (SELECT 'a'::regclass t, n FROM facts) s ON f.n = s.n + 1 WHERE f.n > redblue_box_pair_count(s.t, 'b') $$),
	($$ SELECT * FROM (SELECT 'a'::regclass t, n FROM facts UNION ALL SELECT 'b', n FROM facts) s WHERE n < redblue_box_pair_count(s.t, 'b') $$),
	($$ SELECT t, n FROM (SELECT n, 'a'::regclass t FROM facts) s GROUP BY GROUPING SETS ((n, t), (n)) HAVING n < redblue_box_pair_count(t, 'b') $$),
	($$ SELECT * FROM facts WHERE n > redblue_box_self_pair_count_query((text_of()).q) $$),
	($$ SELECT n, EXISTS (SELECT FROM facts g WHERE g.n = f.n AND g.n > redblue_box_pair_count('a', 'b')) FROM facts f WHERE EXISTS (SELECT FROM facts g WHERE g.n = f.n LIMIT redblue_box_pair_count('a', 'b')) $$)) v (query) OFFSET 1000;
SELECT count(*) AS joins FROM redblue_last_run();
-- The privilege to execute redblue_at_run_time, which prevents early evaluation, is not needed.
REVOKE EXECUTE ON FUNCTION redblue_at_run_time() FROM PUBLIC;
SET ROLE regress_redblue_planner;
SELECT id FROM a WHERE id >= redblue_box_pair_count('a', 'a');
RESET ROLE;
GRANT EXECUTE ON FUNCTION redblue_at_run_time() TO PUBLIC;
-- A value that does not change is computed only once.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		RETURN NEXT regexp_replace(line, '(public\.)?redblue_box_pair_count\(.*\.at_run_time\)', 'number');
	END LOOP;
END $$;
SELECT plan_of($$ SELECT * FROM facts WHERE redblue_box_pair_count('a', 'b') > 3 $$);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT plan_of($$ SELECT fact FROM facts WHERE n = redblue_box_pair_count('a', 'b') $$);
SELECT fact FROM facts WHERE n = redblue_box_pair_count('a', 'b');
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET client_min_messages;

-- Where the planner processes an expression again: in EXISTS, below an Append, in a constraint, with an index
SELECT k, EXISTS (SELECT FROM a WHERE id = k AND id < redblue_box_pair_count('a', 'b') - 3) FROM k;
SELECT k, EXISTS (SELECT FROM a WHERE id + redblue_box_pair_count('a', 'b') = k + 6), EXISTS (SELECT FROM a WHERE id = k LIMIT redblue_box_pair_count('a', 'b')) FROM k;
SELECT k FROM k WHERE EXISTS (SELECT FROM a WHERE id = k LIMIT redblue_box_pair_count('a', 'b') - 5) AND k < redblue_box_pair_count('a', 'b') - 3;
SELECT k FROM k WHERE k NOT IN (SELECT id FROM a WHERE id < redblue_box_pair_count('a', 'b') - 3) OR EXISTS (SELECT FROM b WHERE id = k AND id > redblue_box_pair_count('a', 'b') - 3);
SELECT * FROM (SELECT 'a'::regclass AS t UNION ALL SELECT 'b' UNION ALL SELECT 'nothing') p WHERE redblue_box_pair_count(p.t, 'b') > 3;
SELECT * FROM (SELECT 'a'::regclass AS t, id FROM a UNION ALL SELECT 'nothing', id FROM b) p WHERE redblue_box_pair_count(p.t, 'b') > 3 AND id < 3;
SELECT * FROM (SELECT redblue_box_pair_count('a', 'b') AS n, id FROM a UNION ALL SELECT redblue_box_pair_count('nothing', 'b'), id FROM b) p WHERE n > id AND id > 4;
SELECT k FROM k WHERE k IN (VALUES (redblue_box_pair_count('a', 'b') - 3), (2));
BEGIN;
SET LOCAL constraint_exclusion = on;
SELECT n FROM alone WHERE n < 18;
COMMIT;
SELECT redblue_box_pair_count('a', 'b') + 1 AS n, count(*) FROM k GROUP BY redblue_box_pair_count('a', 'b') HAVING redblue_box_pair_count('a', 'b') > 3 ORDER BY redblue_box_pair_count('a', 'b');
SELECT k, sum(k) OVER (ORDER BY k ROWS redblue_box_pair_count('a', 'b') - 5 PRECEDING) FROM k;
SELECT x.n FROM k LEFT JOIN LATERAL (SELECT redblue_box_pair_count('a', 'b') AS n) x ON k > 2;
WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < redblue_box_pair_count('a', 'b')) SELECT count(*) FROM r;
CREATE FUNCTION below(n bigint) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT k FROM planner.k WHERE k < n';
SELECT * FROM below(redblue_box_pair_count('a', 'b') - 3) JOIN k ON below = k;
PREPARE compare (regclass) AS SELECT count(*) FROM k WHERE k < redblue_box_pair_count($1, 'b') AND EXISTS (SELECT FROM a WHERE id = k AND id < redblue_box_pair_count($1, 'b'));
EXECUTE compare ('a');
SET plan_cache_mode = force_generic_plan;
EXECUTE compare ('b');
RESET plan_cache_mode;

-- Rows without columns
SET redblue.custom_scan = on;
SELECT FROM redblue_box_pairs('a', 'b');
COPY (SELECT FROM redblue_box_pairs('a', 'b') WHERE red_id < 4) TO STDOUT;
CREATE TABLE no_columns AS SELECT FROM redblue_box_pairs('a', 'b');
SELECT count(*), (SELECT count(*) FROM pg_attribute WHERE attrelid = 'no_columns'::regclass AND attnum > 0) AS columns FROM no_columns;
INSERT INTO no_columns SELECT FROM redblue_box_pairs('a', 'b') LIMIT 2;
SELECT count(*) FROM (SELECT FROM no_columns UNION ALL SELECT FROM redblue_box_pairs('a', 'b') UNION ALL SELECT FROM redblue_box_pairs('b', 'a')) s;
PREPARE no_columns AS SELECT FROM redblue_box_pairs('a', $1);
EXECUTE no_columns ('b');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT FROM redblue_box_pairs('a', 'b');
FETCH 4 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
DECLARE h CURSOR WITH HOLD FOR SELECT FROM redblue_box_pairs('a', 'b');
COMMIT;
FETCH ALL FROM h;
CLOSE h;
CREATE VIEW no_column AS SELECT FROM redblue_box_pairs('a', 'b');
TABLE no_column;
SELECT 1 AS one FROM redblue_box_pairs('a', 'b') LIMIT 2;
SELECT count(*), count(*) FILTER (WHERE true) FROM redblue_box_pairs('a', 'b');
SELECT EXISTS (SELECT FROM redblue_box_pairs('a', 'b')), EXISTS (SELECT FROM redblue_box_pairs('a', 'nothing'));
SELECT k FROM k WHERE EXISTS (SELECT FROM redblue_box_pairs('a', 'b') OFFSET 3);
SELECT k, (SELECT count(*) FROM redblue_box_pairs('a', 'b')) AS n FROM k WHERE k < 3;
SELECT count(*) FROM redblue_box_pairs('a', 'b') p, redblue_box_pairs('b', 'a') q;
SELECT FROM (SELECT FROM redblue_box_pairs('a', 'b') ORDER BY random() LIMIT 1) s;
SELECT FROM redblue_box_pairs('a', 'b') WHERE red_id = 1 OR pg_backend_pid() = 0;
EXPLAIN (VERBOSE, COSTS OFF) SELECT FROM redblue_box_pairs('a', 'b');
EXPLAIN (VERBOSE, COSTS OFF) SELECT FROM redblue_box_pairs('a', 'b') WHERE red_id = 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FILTER (WHERE true) FROM redblue_box_pairs('a', 'b');
SELECT k, c, d FROM k LEFT JOIN (SELECT 7 AS c, pg_backend_pid() > 0 AS d FROM redblue_box_pairs('a', 'nothing')) p ON true ORDER BY k;
SELECT k, c, d FROM k LEFT JOIN (SELECT 7 AS c, pg_backend_pid() > 0 AS d FROM redblue_box_pairs('a', 'b') LIMIT 1) p ON k > 2 ORDER BY k;
SELECT k, c FROM k LEFT JOIN (SELECT 7 AS c FROM redblue_box_pairs('a', 'b')) p ON k > 3 ORDER BY k;
-- Cached rows
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*) FROM k, redblue_box_pairs('a', 'b');
SELECT count(*) FROM redblue_box_pairs('a', 'b') p, redblue_box_pairs('b', 'a') q;
SELECT k, (SELECT count(*) FROM redblue_box_pairs('a', 'b') OFFSET k * 0) AS n FROM k;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- Below an Append, and below a Gather
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT red_id FROM redblue_box_pairs('a', 'b') UNION ALL SELECT red_id FROM redblue_box_pairs('b', 'a');
SELECT count(*), sum(red_id) FROM (SELECT red_id FROM redblue_box_pairs('a', 'b') UNION ALL SELECT red_id FROM redblue_box_pairs('b', 'a')) s;
SELECT count(*), sum(red_id) FROM (SELECT red_id FROM redblue_box_pairs('a', 'b') UNION ALL SELECT id FROM a UNION ALL SELECT 7) s;
SELECT count(*) FROM redblue_box_pairs('a', 'b') WHERE red_id IN (SELECT red_id FROM redblue_box_pairs('a', 'b') UNION ALL SELECT id FROM a);
SELECT count(*) FROM (SELECT count(*) FROM redblue_box_pairs('a', 'b') UNION ALL SELECT count(*) FROM redblue_box_pairs('b', 'nothing')) s;
SELECT count(*) FROM (SELECT * FROM redblue_box_pairs('a', 'b') UNION SELECT * FROM redblue_box_pairs('b', 'a')) s;
SELECT FROM redblue_box_pairs('a', 'b') WHERE red_id < 3;
SELECT count(*) FROM redblue_box_pairs('a', 'nothing');

-- Scans that only read tables are shared by workers. Those that may run SQL of other users run as without workers.
CREATE VIEW numbered AS SELECT nextval('planner.numbers') AS id, lx, ly, hx, hy FROM a;
CREATE FUNCTION unsafe() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		RETURN nextval('planner.numbers') / 0;
	EXCEPTION WHEN division_by_zero THEN
		RETURN 1;
	END;
END $$;
CREATE FUNCTION careful() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	RETURN 1 / (random() * 0)::int;
EXCEPTION WHEN division_by_zero THEN
	RETURN 0;
END $$;
CREATE TABLE guarded AS TABLE a;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY guard ON guarded USING (id > unsafe());
CREATE TABLE children (LIKE a) PARTITION BY RANGE (id);
CREATE TABLE child1 PARTITION OF children FOR VALUES FROM (1) TO (4);
CREATE TABLE child2 PARTITION OF children FOR VALUES FROM (4) TO (10);
INSERT INTO children TABLE a;
CREATE TABLE heap AS SELECT i FROM generate_series(1, 10000) i;
ANALYZE heap;
GRANT SELECT ON ALL TABLES IN SCHEMA planner TO regress_redblue_planner;
GRANT USAGE ON SEQUENCE numbers TO regress_redblue_planner;
-- Whether pairs are shared, whether there is anything below a Gather, whether there were workers, and the rows
CREATE FUNCTION run(query text, OUT plans text, OUT workers boolean, OUT rows bigint, OUT rows_without bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan text;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	plans := concat_ws(', ', plan ~ '"redblue pairs",\s*"Parallel Aware": true', plan ~ '"Workers Planned"');
	workers := plan ~ '"Workers Launched": [1-9]';
	EXECUTE format('SELECT count(*) FROM (%s) s', query) INTO rows;
	SET LOCAL redblue.custom_scan = off;
	EXECUTE format('SELECT count(*) FROM (%s) s', query) INTO rows_without;
END $$;
CREATE FUNCTION run_of(pairs text) RETURNS TABLE (form text, plans text, workers boolean, rows bigint, rows_without bigint) LANGUAGE sql VOLATILE AS $$
	SELECT form, r.* FROM (VALUES ('SELECT sum(red_id) FROM %s p'), ('SELECT p FROM %s p, heap WHERE red_id = i'), ('SELECT count(*) FROM %s p JOIN heap ON i = red_id'),
		('SELECT %s FROM heap WHERE i <= 3'), ('SELECT n FROM %s WITH ORDINALITY p (r, b, n) WHERE r IN (SELECT i FROM heap)'),
		('SELECT i, (SELECT count(*) FROM %s) FROM heap WHERE i > 9000'), ('SELECT i FROM heap WHERE i > (SELECT count(*) FROM %s)'), ('SELECT FROM heap, %s WHERE i < 100'),
		('WITH p AS MATERIALIZED (SELECT * FROM %s) SELECT count(*) FROM heap JOIN p ON i = red_id'),
		('SELECT count(*) FROM (SELECT * FROM %s UNION ALL SELECT * FROM redblue_box_pairs(''a'', ''b'')) s JOIN heap ON red_id = i'),
		('SELECT count(*) FROM redblue_box_pairs(''a'', ''b'') JOIN %s p USING (red_id)')) f (form), run(format(form, pairs)) r $$;
SELECT * FROM run_of($$ redblue_box_pairs('a', 'b') $$);
SELECT * FROM run($$ SELECT sum(red_id) FROM redblue_box_pairs('children', 'b') $$);
SELECT * FROM run_of($$ redblue_box_pairs('numbered', 'b', blue_id => 'id') $$);
SELECT * FROM run_of($$ redblue_box_pairs_query('SELECT * FROM a WHERE id > careful()', 'TABLE b') $$);
SET ROLE regress_redblue_planner;
SELECT * FROM run_of($$ redblue_box_pairs('b', 'guarded') $$);
SELECT count(*) FROM heap WHERE i < 100 AND redblue_box_pair_count('guarded', 'b') > 3;
SELECT redblue_box_pair_count('numbered', 'b') AS pairs, count(*) FROM heap;
-- A cached plan, whose tables are replaced before it is executed again
SET plan_cache_mode = force_generic_plan;
PREPARE kept AS SELECT count(*) FROM redblue_box_pairs('a', 'b') JOIN heap ON i = red_id;
EXECUTE kept;
RESET ROLE;
ALTER TABLE b ENABLE ROW LEVEL SECURITY;
CREATE POLICY guard ON b USING (id > unsafe());
SET ROLE regress_redblue_planner;
EXECUTE kept;
-- Another role executes the plan.
RESET ROLE;
EXECUTE kept;
REVOKE SELECT ON a FROM regress_redblue_planner;
SET ROLE regress_redblue_planner;
EXECUTE kept;
RESET ROLE;
ALTER TABLE b DISABLE ROW LEVEL SECURITY;
EXECUTE kept;
RESET plan_cache_mode;
-- Counts in plans with workers, wherever they occur: in conditions, keys, lists, limits, frames
SELECT count(*) FROM heap h JOIN heap g ON g.i = redblue_box_pair_count((CASE WHEN h.i > 1 THEN 'b' ELSE 'numbered' END)::regclass, 'b', 'id') WHERE h.i < 3;
SELECT count(*) FROM (VALUES (redblue_box_pair_count('numbered', 'b', 'id')), (2)) v (n) JOIN heap ON i = n;
SELECT i FROM heap ORDER BY i LIMIT redblue_box_pair_count('numbered', 'b', 'id') - 5;
SELECT max(n) FROM (SELECT sum(i) OVER (ORDER BY i ROWS redblue_box_pair_count('numbered', 'b', 'id') PRECEDING) AS n FROM heap) s;
SELECT count(*) FROM heap TABLESAMPLE BERNOULLI (redblue_box_pair_count('numbered', 'b', 'id') * 100 / 6), (SELECT count(*) FROM heap) s;
SELECT count(*) FROM heap h JOIN heap g ON h.i = g.i AND redblue_box_pair_count((CASE WHEN h.i > g.i THEN 'b' ELSE 'numbered' END)::regclass, 'b', 'id') > 3 WHERE h.i < 3;
SELECT i, (SELECT max(id) FROM a WHERE redblue_box_pair_count((CASE WHEN h.i > 1 THEN 'b' ELSE 'numbered' END)::regclass, 'b', 'id') > 3) FROM heap h WHERE i < 3;
-- A function with privileges of another owner, or with settings, is recognized.
ALTER FUNCTION redblue_box_pairs SECURITY DEFINER;
SELECT * FROM run($$ SELECT count(*) FROM redblue_box_pairs('numbered', 'b') p JOIN heap ON i = red_id $$);
ALTER FUNCTION redblue_box_pairs SECURITY INVOKER STRICT;
SELECT * FROM run($$ SELECT redblue_box_pairs('numbered', 'b') FROM heap WHERE i = 1 $$);
ALTER FUNCTION redblue_box_pairs CALLED ON NULL INPUT;

SET client_min_messages = warning;
DROP SCHEMA planner CASCADE;
DROP ROLE regress_redblue_planner;
