-- Tests the scan that returns pairs while the join runs: where it is used, and that it returns the function's rows.
\set schema custom_scan
\i sql/fixtures/prologue.sql
SET redblue.backend = cpu;
SET redblue.threads = 2;
-- Plans are printed and must not depend on how the tests are run.
SET parallel_setup_cost = 1000;

CREATE TABLE red AS
SELECT i AS id, x AS ax, y AS ay, z AS az, x + i % 3 AS bx, y + i % 4 AS by, z + i % 2 AS bz, x - i % 5 AS cx, y + i % 3 AS cy, z + i % 7 AS cz
FROM (SELECT i, (i * 7919 % 31)::float8 AS x, (i * 104729 % 29)::float8 AS y, (i * 1299709 % 23)::float8 AS z FROM generate_series(1, 600::int8) i) s;
CREATE TABLE blue AS
SELECT i AS id, x AS ax, y AS ay, z AS az, x + i % 4 AS bx, y - i % 3 AS by, z + i % 5 AS bz, x AS cx, y + i % 2 AS cy, z - i % 3 AS cz
FROM (SELECT i, (i * 15485863 % 31)::float8 AS x, (i * 32452843 % 29)::float8 AS y, (i * 49979687 % 23)::float8 AS z FROM generate_series(1, 600::int8) i) s;
-- All triangles touch each other: 360,000 pairs, more than the stream holds at once.
CREATE TABLE crowd AS SELECT i AS id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, i::float8 AS bx, 0::float8 AS by, 0::float8 AS bz,
	0::float8 AS cx, i::float8 AS cy, 0::float8 AS cz FROM generate_series(1, 600) i;
-- A table whose rows cause an error while they are read
CREATE SEQUENCE counted;
CREATE TABLE broken AS SELECT * FROM red;
UPDATE broken SET ax = 'NaN' WHERE id = 500;
ANALYZE;

-- The rows of a query as a summary, with the scan and without, and the nodes that return pairs
CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(t::text, '','' ORDER BY t::text)), '''') FROM (%s) t', query) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION nodes_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		result := concat_ws(', ', nullif(result, ''), substring(line FROM '(?:Parallel )?Custom Scan \(redblue pairs\)'), substring(line FROM 'Function Scan on (?=redblue)'));
	END LOOP;
	RETURN replace(result, ' on ', '');
END $$;
CREATE FUNCTION both_ways(query text) RETURNS TABLE (nodes text, rows int, same boolean) LANGUAGE plpgsql AS $$
DECLARE
	with_scan text;
	without text;
BEGIN
	SET LOCAL redblue.custom_scan = on;
	with_scan := rows_of(query);
	nodes := nodes_of(query);
	SET LOCAL redblue.custom_scan = off;
	without := rows_of(query);
	IF nodes_of(query) ~ 'Custom' THEN
		RAISE EXCEPTION 'the setting has no effect';
	END IF;
	rows := split_part(with_scan, ' ', 1);
	same := with_scan = without;
	RETURN NEXT;
END $$;
SET redblue.custom_scan = on;

-- Each function
SELECT * FROM both_ways($$ SELECT * FROM redblue_triangle_pairs('red', 'blue') $$);
SELECT * FROM both_ways($$ SELECT * FROM redblue_triangle_pairs_query('TABLE red', 'SELECT * FROM blue WHERE id < 300') $$);
SELECT * FROM both_ways($$ SELECT least(id1, id2), greatest(id1, id2) FROM redblue_triangle_self_pairs('red') $$);
SELECT * FROM both_ways($$ SELECT least(id1, id2), greatest(id1, id2) FROM redblue_triangle_self_pairs_query('TABLE red') $$);
-- More pairs than the stream holds
SET max_parallel_workers_per_gather = 0;
SELECT * FROM both_ways($$ SELECT count(*), sum(red_id), sum(blue_id) FROM redblue_triangle_pairs('crowd', 'crowd') $$);
RESET max_parallel_workers_per_gather;

-- WHERE, expressions, one column, no column, constants
SELECT * FROM both_ways($$ SELECT red_id FROM redblue_triangle_pairs('red', 'blue') WHERE blue_id % 7 = 3 AND red_id > blue_id $$);
SELECT * FROM both_ways($$ SELECT blue_id + red_id, 'x' FROM redblue_triangle_pairs('red', 'blue') p (red_id, blue_id) WHERE red_id < 100 $$);
SELECT * FROM both_ways($$ SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id >= 0 $$);
SELECT * FROM both_ways($$ SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id IS NULL $$);
SELECT * FROM both_ways($$ SELECT 1 FROM redblue_triangle_pairs('red', 'blue') WHERE false $$);
SELECT * FROM both_ways($$ SELECT red_id, count(*), max(blue_id) FROM redblue_triangle_pairs('red', 'blue') GROUP BY red_id HAVING count(*) > 2 $$);
SELECT * FROM both_ways($$ SELECT DISTINCT red_id, red_id % 2 FROM redblue_triangle_pairs('red', 'blue') $$);
SELECT * FROM both_ways($$ SELECT red_id, row_number() OVER (PARTITION BY red_id ORDER BY blue_id) FROM redblue_triangle_pairs('red', 'blue') $$);

-- Joins above and below, two scans of one function in a query, set operations, CTEs
SELECT * FROM both_ways($$ SELECT red.ax, blue.bz FROM redblue_triangle_pairs('red', 'blue') JOIN red ON red.id = red_id JOIN blue ON blue.id = blue_id $$);
SELECT * FROM both_ways($$ SELECT p.red_id, q.red_id FROM redblue_triangle_pairs('red', 'blue') p JOIN redblue_triangle_pairs('red', 'blue') q USING (blue_id) $$);
SELECT * FROM both_ways($$ SELECT * FROM redblue_triangle_pairs('red', 'blue') p JOIN redblue_triangle_pairs('blue', 'red') q ON (p.red_id, p.blue_id) = (q.blue_id, q.red_id) $$);
SELECT * FROM both_ways($$ SELECT red.id, p.blue_id FROM red LEFT JOIN redblue_triangle_pairs('red', 'blue') p ON p.red_id = red.id AND p.blue_id > 300 $$);
SELECT * FROM both_ways($$ SELECT p.* FROM red FULL JOIN redblue_triangle_pairs('red', 'blue') p ON p.red_id = red.id $$);
SELECT * FROM both_ways($$ SELECT id FROM red WHERE id IN (SELECT red_id FROM redblue_triangle_pairs('red', 'blue')) $$);
SELECT * FROM both_ways($$ SELECT id FROM red WHERE NOT EXISTS (SELECT FROM redblue_triangle_pairs('red', 'blue') WHERE red_id = id) $$);
SELECT * FROM both_ways($$ SELECT * FROM redblue_triangle_pairs('red', 'blue') UNION ALL SELECT * FROM redblue_triangle_pairs('blue', 'red') $$);
SELECT * FROM both_ways($$ SELECT * FROM redblue_triangle_pairs('red', 'blue') EXCEPT SELECT blue_id, red_id FROM redblue_triangle_pairs('blue', 'red') $$);
SELECT * FROM both_ways($$ WITH p AS MATERIALIZED (SELECT * FROM redblue_triangle_pairs('red', 'blue')) SELECT a.red_id FROM p a JOIN p b ON a.red_id = b.blue_id $$);
SELECT * FROM both_ways($$ WITH RECURSIVE reach (id) AS (SELECT 1::bigint UNION SELECT CASE WHEN reach.id = id1 THEN id2 ELSE id1 END
	FROM reach, redblue_triangle_self_pairs('red') WHERE reach.id IN (id1, id2)) SELECT * FROM reach $$);
SET enable_mergejoin = off;
SET enable_hashjoin = off;
SELECT * FROM both_ways($$ SELECT red.id, p.blue_id FROM red JOIN redblue_triangle_pairs('red', 'blue') p ON p.red_id = red.id WHERE red.id < 50 $$);
SET enable_material = off;
SELECT * FROM both_ways($$ SELECT red.id, p.blue_id FROM red JOIN redblue_triangle_pairs('red', 'blue') p ON p.red_id = red.id WHERE red.id < 50 $$);
RESET enable_material;
RESET enable_hashjoin;
SET enable_mergejoin = on;
SELECT * FROM both_ways($$ SELECT p.red_id, q.red_id FROM redblue_triangle_pairs('red', 'blue') p JOIN redblue_triangle_pairs('red', 'blue') q USING (blue_id) $$);
RESET enable_mergejoin;

-- LATERAL with arguments; NULL arguments from an outer join are excluded.
SELECT * FROM both_ways($$ SELECT k, p.* FROM generate_series(1, 5) k,
	LATERAL redblue_triangle_pairs_query(format('SELECT * FROM red WHERE id %% 5 = %s', k - 1), 'TABLE blue') p $$);
SELECT * FROM both_ways($$ SELECT t, count(*) FROM (VALUES ('red'::regclass), ('blue')) v (t), redblue_triangle_self_pairs(t) GROUP BY t $$);
SELECT * FROM both_ways($$ SELECT t, n.* FROM (VALUES ('red'::regclass), ('blue')) v (t), LATERAL (SELECT count(*), min(red_id) FROM redblue_triangle_pairs('red', t) p WHERE p.blue_id > 100) n $$);
SELECT * FROM both_ways($$ SELECT p.* FROM (SELECT max(id) AS m FROM red) x, LATERAL redblue_triangle_pairs_query(format('SELECT * FROM red WHERE id < %s', m), 'TABLE blue') p $$);
-- Arguments that are queries
SELECT * FROM both_ways($$ SELECT * FROM redblue_triangle_pairs((SELECT 'red'::regclass), (SELECT oid::regclass FROM pg_class WHERE relname = 'blue' AND relnamespace = 'custom_scan'::regnamespace)) $$);
SELECT * FROM both_ways($$ SELECT k, (SELECT sum(blue_id) FROM redblue_triangle_pairs_query((SELECT format('SELECT * FROM red WHERE id <= %s', k)), 'TABLE blue')) FROM generate_series(0, 600, 200) k $$);

-- Correlated subqueries, repeated with the same arguments
SELECT * FROM both_ways($$ SELECT id, (SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id = red.id) FROM red $$);
SELECT * FROM both_ways($$ SELECT id, (SELECT blue_id FROM redblue_triangle_pairs('red', 'blue') WHERE red_id = red.id ORDER BY 1 LIMIT 1) FROM red $$);
SELECT * FROM both_ways($$ SELECT id, EXISTS (SELECT FROM redblue_triangle_pairs('red', 'blue') WHERE red_id + blue_id > red.id * 3 OFFSET 0) FROM red $$);
-- Arguments that change, and change back
SELECT * FROM both_ways($$ SELECT k, n FROM (VALUES (1, 100), (2, 100), (3, 200), (4, 200), (5, 100), (6, 300)) v (k, m),
	LATERAL (SELECT count(*) AS n FROM redblue_triangle_pairs_query(format('SELECT * FROM red WHERE id < %s', m), 'TABLE blue') WHERE blue_id % 6 = k OFFSET 0) s $$);

-- Where the scan is not possible, the function is used.
SELECT * FROM both_ways($$ SELECT p FROM redblue_triangle_pairs('red', 'blue') p $$);
SELECT * FROM both_ways($$ SELECT 1 FROM redblue_triangle_pairs('red', 'blue') p WHERE p IS NOT NULL $$);
SELECT * FROM both_ways($$ SELECT p.red_id FROM redblue_triangle_pairs('red', 'blue') p WHERE p.* <> ROW (1, 1)::redblue_pair $$);
SELECT * FROM both_ways($$ SELECT count(n) FROM redblue_triangle_pairs('red', 'blue') WITH ORDINALITY p (r, b, n) $$);
SELECT * FROM both_ways($$ SELECT r1, b2 FROM ROWS FROM (redblue_triangle_pairs('red', 'red'), redblue_triangle_pairs('red', 'red')) p (r1, b1, r2, b2) WHERE r1 = r2 $$);
SELECT * FROM both_ways($$ SELECT (q.p).red_id FROM (SELECT redblue_triangle_pairs('red', 'blue') AS p OFFSET 0) q $$);
SELECT * FROM both_ways($$ SELECT to_json(p) FROM redblue_triangle_pairs('red', 'blue') p $$);
SELECT * FROM both_ways($$ SELECT r.id, p FROM red r LEFT JOIN redblue_triangle_pairs('red', 'blue') p ON p.red_id = r.id $$);

-- Views with and without a security barrier; SQL functions, inlined or not
CREATE VIEW pairs AS SELECT * FROM redblue_triangle_pairs('red', 'blue');
CREATE VIEW pairs_barrier WITH (security_barrier) AS SELECT * FROM redblue_triangle_pairs('red', 'blue') WHERE red_id % 2 = 0;
CREATE FUNCTION pairs_of(r regclass, b regclass) RETURNS SETOF redblue_pair LANGUAGE sql STABLE AS $$ SELECT * FROM redblue_triangle_pairs(r, b) $$;
SELECT * FROM both_ways($$ SELECT * FROM pairs WHERE red_id < 100 $$);
SELECT * FROM both_ways($$ SELECT * FROM pairs_barrier WHERE blue_id < 100 $$);
SELECT * FROM both_ways($$ SELECT * FROM pairs_of('red', 'blue') $$);
SELECT * FROM both_ways($$ SELECT x FROM pairs x $$);

-- Prepared statements: custom and generic plans; settings and tables that change in between
PREPARE pairs (regclass, regclass, int) AS SELECT count(*) FROM redblue_triangle_pairs($1, $2) WHERE red_id < $3;
SET plan_cache_mode = force_custom_plan;
EXECUTE pairs ('red', 'blue', 100);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE pairs ('red', 'blue', 100);
EXECUTE pairs ('red', 'blue', 100);
EXECUTE pairs ('blue', 'red', 100);
EXECUTE pairs ('blue', NULL, 100);
BEGIN;
DELETE FROM blue WHERE id % 2 = 0;
EXECUTE pairs ('red', 'blue', 100);
ROLLBACK;
EXECUTE pairs ('red', 'blue', 100);
ALTER TABLE blue ADD COLUMN note text DEFAULT 'x';
EXECUTE pairs ('red', 'blue', 100);
RESET plan_cache_mode;
PREPARE named AS SELECT count(red_id % 2) FROM redblue_triangle_pairs('red', 'blue');
EXECUTE named;
ALTER TABLE red RENAME TO crimson;
EXECUTE named;
ALTER TABLE crimson RENAME TO red;
-- With privileges of another owner or settings of its own, the function is called, in its current form.
ALTER FUNCTION redblue_triangle_pairs SET work_mem = '1MB';
SELECT nodes_of('EXECUTE named'), nodes_of($$ SELECT count(red_id % 2) FROM redblue_triangle_pairs('red', 'blue') $$);
EXECUTE named;
ALTER FUNCTION redblue_triangle_pairs RESET work_mem;
ALTER FUNCTION redblue_triangle_pairs SECURITY DEFINER;
SELECT nodes_of('EXECUTE named');
ALTER FUNCTION redblue_triangle_pairs SECURITY INVOKER;
ALTER FUNCTION redblue_triangle_pairs STRICT;
SELECT nodes_of('EXECUTE named');
ALTER FUNCTION redblue_triangle_pairs CALLED ON NULL INPUT;
SELECT nodes_of('EXECUTE named');

\set QUIET off
-- Cursors: forward, scrolled, held, two at once, left open, closed by a rollback
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM redblue_triangle_pairs('crowd', 'crowd');
DECLARE d CURSOR FOR SELECT * FROM redblue_triangle_pairs('crowd', 'crowd');
MOVE FORWARD 150000 IN c;
MOVE FORWARD 10 IN d;
-- The sides are those of the time at which the cursor was declared.
DELETE FROM crowd;
MOVE FORWARD ALL IN c;
MOVE FORWARD ALL IN d;
DECLARE e CURSOR FOR SELECT * FROM redblue_triangle_pairs('crowd', 'crowd');
FETCH e;
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT red_id FROM redblue_triangle_pairs('red', 'blue');
MOVE FORWARD 5 IN c;
FETCH c \gset last_
MOVE FORWARD 3 IN c;
MOVE ABSOLUTE 6 IN c;
FETCH RELATIVE 0 FROM c \gset again_
SELECT :last_red_id = :again_red_id AS same;
MOVE LAST IN c;
MOVE BACKWARD ALL IN c;
COMMIT;
DECLARE h CURSOR WITH HOLD FOR SELECT * FROM redblue_triangle_pairs('red', 'blue');
MOVE FORWARD 100000 IN h;
CLOSE h;
BEGIN;
DECLARE h NO SCROLL CURSOR WITH HOLD FOR SELECT * FROM redblue_triangle_pairs('red', 'blue');
MOVE 10 IN h;
COMMIT;
MOVE FORWARD ALL IN h;
CLOSE h;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM redblue_triangle_pairs('crowd', 'crowd');
MOVE 1000 IN c;
SAVEPOINT s;
DECLARE d CURSOR FOR SELECT * FROM redblue_triangle_pairs('crowd', 'crowd');
MOVE 1000 IN d;
SELECT 1 / 0;
ROLLBACK TO s;
MOVE FORWARD ALL IN c;
COMMIT;

\set QUIET on
-- LIMIT stops the join. The statistics describe what was done until then.
SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs('crowd', 'crowd') LIMIT 7) t;
SELECT count FROM redblue_last_run() WHERE stage = 'read';
SELECT count BETWEEN 7 AND 359999 AS stopped FROM redblue_last_run() WHERE stage = 'emit';
SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs('red', 'blue') LIMIT 0) t;
SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs('crowd', 'crowd') OFFSET 359990) t;

-- PL/pgSQL: loops, exits from them, errors that are caught
CREATE FUNCTION loops() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	p record;
	n int := 0;
	caught int := 0;
BEGIN
	FOR p IN SELECT * FROM redblue_triangle_pairs('red', 'blue') LOOP
		n := n + 1;
	END LOOP;
	FOR p IN SELECT * FROM redblue_triangle_pairs('crowd', 'crowd') LOOP
		n := n + 1;
		EXIT WHEN n >= 2000;
	END LOOP;
	FOR i IN 1..20 LOOP
		BEGIN
			FOR p IN SELECT * FROM redblue_triangle_pairs('crowd', 'crowd') LOOP
				n := n + 1;
				IF n % 100 = 0 THEN
					PERFORM 1 / (n % 100);
				END IF;
			END LOOP;
		EXCEPTION WHEN division_by_zero THEN
			caught := caught + 1;
		END;
		BEGIN
			PERFORM * FROM redblue_triangle_pairs('red', 'broken');
		EXCEPTION WHEN numeric_value_out_of_range THEN
			caught := caught + 1;
		END;
	END LOOP;
	RETURN caught || ' caught';
END $$;
SELECT loops();
-- Nested scans
DO $$
DECLARE
	p record;
	q record;
	n int := 0;
BEGIN
	FOR p IN SELECT * FROM redblue_triangle_pairs('red', 'blue') WHERE red_id < 20 LOOP
		FOR q IN SELECT * FROM redblue_triangle_pairs('red', 'blue') WHERE blue_id = p.blue_id LOOP
			n := n + 1;
		END LOOP;
	END LOOP;
	IF n <> (SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') v JOIN redblue_triangle_pairs('red', 'blue') w USING (blue_id) WHERE v.red_id < 20) THEN
		RAISE EXCEPTION '% rows', n;
	END IF;
END $$;

-- Errors while rows are returned
SET max_parallel_workers_per_gather = 0;
SELECT sum(1 / (red_id - 300)) FROM redblue_triangle_pairs('crowd', 'crowd');
RESET max_parallel_workers_per_gather;
SELECT count(*) FROM redblue_triangle_pairs('broken', 'blue');
SELECT count(*) FROM redblue_triangle_pairs('red', NULL);
SELECT count(*) FROM redblue_triangle_pairs('red', 'pg_am');
\set SHOW_CONTEXT never
SET LOCAL statement_timeout = '30ms'\; SELECT count(*) FROM redblue_triangle_pairs('crowd', 'crowd') p, LATERAL (SELECT pg_sleep(0.001 + red_id * 0)) s;
\set SHOW_CONTEXT errors
SET redblue.memory_limit = '1MB';
\set VERBOSITY terse
SELECT count(*) FROM redblue_triangle_pairs('crowd', 'crowd');
\set VERBOSITY default
RESET redblue.memory_limit;

-- Rows that are inserted into tables; rows of the same transaction; the snapshot is that of the query.
CREATE TABLE found (red_id bigint, blue_id bigint, n int DEFAULT 1, PRIMARY KEY (red_id, blue_id));
INSERT INTO found SELECT * FROM redblue_triangle_pairs('red', 'blue') WHERE red_id % 2 = 0;
INSERT INTO found SELECT * FROM redblue_triangle_pairs('red', 'blue') ON CONFLICT (red_id, blue_id) DO UPDATE SET n = found.n + 1;
SELECT n, count(*) FROM found GROUP BY n ORDER BY n;
UPDATE found SET n = 7 FROM redblue_triangle_pairs('red', 'blue') p WHERE p.red_id = found.red_id AND p.blue_id = found.blue_id AND p.red_id < 100;
SELECT count(*) FROM found WHERE n = 7;
DELETE FROM found USING redblue_triangle_pairs('red', 'blue') p WHERE p.red_id = found.red_id AND p.blue_id = found.blue_id;
SELECT count(*) FROM found;
CREATE TABLE pairs_as AS SELECT * FROM redblue_triangle_pairs('red', 'blue');
CREATE MATERIALIZED VIEW pairs_kept AS SELECT * FROM redblue_triangle_pairs('red', 'blue');
REFRESH MATERIALIZED VIEW pairs_kept;
SELECT (SELECT count(*) FROM pairs_as) = (SELECT count(*) FROM pairs_kept) AS same;
BEGIN;
CREATE TEMPORARY TABLE mine (LIKE red) ON COMMIT DROP;
INSERT INTO mine SELECT * FROM red WHERE id < 300;
SELECT * FROM both_ways($$ SELECT * FROM redblue_triangle_pairs('mine', 'blue') $$);
COMMIT;
-- A join that reads the table that receives its rows
CREATE TABLE growing AS SELECT * FROM red WHERE id <= 200;
INSERT INTO growing SELECT p.red_id + 1000, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM redblue_triangle_pairs('growing', 'growing') p;
SELECT count(*) - 200 = (SELECT count(*) FROM redblue_triangle_pairs_query('SELECT * FROM red WHERE id <= 200', 'SELECT * FROM red WHERE id <= 200')) AS once FROM growing;

-- Without the privilege to execute the function, there is no scan of it.
CREATE ROLE regress_redblue_scan;
GRANT USAGE ON SCHEMA custom_scan TO regress_redblue_scan;
GRANT SELECT ON red TO regress_redblue_scan;
SET ROLE regress_redblue_scan;
SELECT count(*) FROM redblue_triangle_pairs('red', 'blue');
SELECT count(*) > 0 AS some FROM redblue_triangle_pairs('red', 'red');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION redblue_triangle_self_pairs FROM PUBLIC;
SET ROLE regress_redblue_scan;
EXPLAIN (COSTS OFF) SELECT * FROM redblue_triangle_self_pairs('red');
SELECT count(*) FROM redblue_triangle_self_pairs('red');
RESET ROLE;
GRANT EXECUTE ON FUNCTION redblue_triangle_self_pairs TO PUBLIC;
REVOKE ALL ON red FROM regress_redblue_scan;
REVOKE ALL ON SCHEMA custom_scan FROM regress_redblue_scan;
DROP ROLE regress_redblue_scan;

-- Below a Gather
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT sum(red_id) FROM redblue_triangle_pairs('red', 'blue');
SELECT * FROM both_ways($$ SELECT count(*), sum(red_id), sum(blue_id) FROM redblue_triangle_pairs('crowd', 'crowd') $$);
SELECT * FROM both_ways($$ SELECT * FROM redblue_triangle_pairs('red', 'blue') WHERE red_id > 50 $$);
SELECT * FROM both_ways($$ SELECT red_id, count(*), max(blue_id) FROM redblue_triangle_pairs('crowd', 'crowd') GROUP BY red_id $$);
SELECT * FROM both_ways($$ SELECT red.ax, p.blue_id FROM red JOIN redblue_triangle_pairs('red', 'blue') p ON p.red_id = red.id $$);
SELECT * FROM both_ways($$ SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') p JOIN redblue_triangle_pairs('blue', 'red') q ON p.red_id = q.blue_id $$);
SELECT * FROM both_ways($$ SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE false $$);
SELECT * FROM both_ways($$ SELECT max(red_id) FROM redblue_triangle_pairs_query('SELECT * FROM red LIMIT 0', 'TABLE blue') $$);
SELECT * FROM both_ways($$ SELECT count(*) FROM (SELECT blue_id FROM redblue_triangle_pairs('crowd', 'crowd') WHERE red_id > 7 LIMIT 1000) t $$);
SELECT * FROM both_ways($$ SELECT sum(n) FROM (SELECT sum(red_id) AS n FROM redblue_triangle_pairs('red', 'blue') UNION ALL SELECT sum(red_id) FROM redblue_triangle_pairs('crowd', 'crowd')) t $$);
-- Repeated
SET enable_material = off;
SELECT * FROM both_ways($$ SELECT k, s.* FROM generate_series(1, 4) k, (SELECT red_id, count(*) AS n, min(blue_id) AS least FROM redblue_triangle_pairs('red', 'blue') GROUP BY red_id OFFSET 0) s WHERE s.n > k $$);
RESET enable_material;
-- The leader takes no rows, or there is no worker.
SET parallel_leader_participation = off;
SELECT * FROM both_ways($$ SELECT count(*), sum(red_id), sum(blue_id) FROM redblue_triangle_pairs('crowd', 'crowd') $$);
RESET parallel_leader_participation;
SET max_parallel_workers = 0;
SELECT * FROM both_ways($$ SELECT count(*), sum(red_id), sum(blue_id) FROM redblue_triangle_pairs('crowd', 'crowd') $$);
RESET max_parallel_workers;
-- A scan that depends on an outer row, or cannot run in a worker, is not parallel.
SELECT * FROM both_ways($$ SELECT k, (SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id % 5 = k) FROM generate_series(0, 4) k $$);
SELECT * FROM both_ways($$ SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id <> pg_backend_pid() + nextval('counted') * 0 - 1 $$);
-- Rows of the same transaction, temporary tables
BEGIN;
CREATE TEMPORARY TABLE mine ON COMMIT DROP AS SELECT * FROM red WHERE id < 300;
DELETE FROM blue WHERE id % 3 = 0;
SELECT * FROM both_ways($$ SELECT count(*), sum(blue_id) FROM redblue_triangle_pairs('mine', 'blue') $$);
ROLLBACK;
-- Errors before, during and after the return of rows; cancellation
SELECT max(red_id) FROM redblue_triangle_pairs('broken', 'blue');
SET redblue.memory_limit = '1MB';
\set VERBOSITY terse
SELECT max(red_id) FROM redblue_triangle_pairs('crowd', 'crowd');
\set VERBOSITY default
RESET redblue.memory_limit;
\set VERBOSITY sqlstate
SELECT sum(1 / (red_id - 300)) FROM redblue_triangle_pairs('crowd', 'crowd');
SET LOCAL statement_timeout = '30ms'\; SELECT count(*) FROM redblue_triangle_pairs('crowd', 'crowd') p WHERE pg_sleep(0.001 + red_id * 0) IS NOT NULL;
\set VERBOSITY default
SELECT count(*), sum(red_id), sum(blue_id) FROM redblue_triangle_pairs('crowd', 'crowd');
SET parallel_setup_cost = 1000;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- EXPLAIN
EXPLAIN (COSTS OFF) SELECT red_id FROM redblue_triangle_pairs('red', 'blue', red_id => 'id') p WHERE p.blue_id > 3 ORDER BY 1 LIMIT 1;
EXPLAIN (COSTS OFF, VERBOSE) SELECT count(*) FILTER (WHERE true) FROM redblue_triangle_pairs_query('TABLE red', 'SELECT * FROM blue');
EXPLAIN (COSTS OFF) SELECT * FROM pg_class c, redblue_triangle_self_pairs(c.oid);
-- As all servers print it: some print numbers of rows with decimals.
CREATE FUNCTION analyzed(query text) RETURNS TABLE (plan text) LANGUAGE plpgsql SET max_parallel_workers_per_gather = 0 AS $$
BEGIN
	FOR plan IN EXECUTE 'EXPLAIN (COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		plan := regexp_replace(plan, '(rows=\d+)\.00', '\1');
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM analyzed($$ SELECT count(*) FROM redblue_triangle_pairs('crowd', 'crowd') WHERE red_id < 0 $$);
CREATE FUNCTION explained(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	result json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO result;
	RETURN result->0->'Plan';
END $$;
SELECT plan->>'Custom Plan Provider' AS provider, plan->>'Function' AS function, plan->>'Red' AS red, plan->>'Blue' AS blue, plan->>'Backend' AS backend,
	(SELECT string_agg(s->>'Stage', ', ') FROM json_array_elements(plan->'Stages') s) AS stages
FROM explained($$ SELECT * FROM redblue_triangle_pairs('red', 'blue') $$) plan;
-- Estimates from the tables, analyzed or not; for those with children, from their sizes
CREATE FUNCTION estimate(query text, OUT rows float8, OUT cost float8) LANGUAGE plpgsql SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	rows := plan->0->'Plan'->>'Plan Rows';
	cost := plan->0->'Plan'->>'Total Cost';
END $$;
CREATE TABLE tiny AS SELECT * FROM crowd WHERE id <= 10;
CREATE TABLE large AS SELECT i AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM tiny, generate_series(1, 20000) i WHERE tiny.id = 1;
CREATE TABLE heirs (LIKE tiny);
CREATE TABLE heir () INHERITS (heirs);
INSERT INTO heir SELECT * FROM large;
CREATE TABLE parts (LIKE tiny) PARTITION BY HASH (id);
CREATE TABLE part0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT * FROM large;
ANALYZE tiny, large;
SELECT f, (estimate('SELECT * FROM ' || f)).rows BETWEEN low AND high AS as_expected FROM (VALUES
	($$ redblue_triangle_pairs('tiny', 'tiny') $$, 100, 100), ($$ redblue_triangle_pairs('tiny', 'large') $$, 190000, 210000),
	($$ redblue_triangle_self_pairs('large') $$, 190000000, 210000000), ($$ redblue_triangle_pairs('heirs', 'tiny') $$, 10000, 40000),
	($$ redblue_triangle_pairs('parts', 'tiny') $$, 10000, 40000), ($$ redblue_segment_triangle_pairs('tiny', 'large') $$, 190000, 210000),
	($$ redblue_segment_pairs('large', 'tiny') $$, 190000, 210000), ($$ redblue_segment_self_pairs('tiny') $$, 45, 45),
	($$ redblue_box_pairs('large', 'large') $$, 20000, 20000), ($$ redblue_box_self_pairs('tiny') $$, 60, 60)) v (f, low, high);
SELECT (estimate($$ SELECT * FROM redblue_triangle_pairs('large', 'large') $$)).cost > 50 * (estimate($$ SELECT * FROM redblue_triangle_pairs('tiny', 'tiny') $$)).cost AS pairs,
	(estimate($$ SELECT redblue_triangle_pair_count('large', 'large') $$)).cost > 50 * (estimate($$ SELECT redblue_triangle_pair_count('tiny', 'tiny') $$)).cost AS triangles,
	(estimate($$ SELECT redblue_box_self_pair_count('large') $$)).cost > 50 * (estimate($$ SELECT redblue_box_self_pair_count('tiny') $$)).cost AS boxes;
-- A table that grows, no table, and a table that a parameter will name
INSERT INTO tiny SELECT * FROM large;
SELECT (estimate($$ SELECT * FROM redblue_triangle_pairs('tiny', 'tiny') $$)).rows > 1000 AS grown,
	(estimate($$ SELECT * FROM redblue_triangle_pairs(0, 0) $$)).rows AS none;
-- Joins above are therefore chosen by size.
CREATE TABLE facts (id bigint PRIMARY KEY, fact text);
INSERT INTO facts SELECT i, i FROM generate_series(1, 50000) i;
TRUNCATE tiny;
INSERT INTO tiny SELECT * FROM large WHERE id <= 10;
ANALYZE facts, tiny;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT * FROM redblue_triangle_pairs('tiny', 'tiny') JOIN facts ON id = red_id;
EXPLAIN (COSTS OFF) SELECT * FROM redblue_triangle_pairs('large', 'large') JOIN facts ON id = red_id;
COMMIT;

SET client_min_messages = warning;
DROP SCHEMA custom_scan CASCADE;
