-- Tests aggregates of pairs: which the join computes without pairs, and that the results do not change.
\set schema upper
\i sql/fixtures/prologue.sql
SET redblue.backend = cpu;
SET redblue.threads = 2;
SET redblue.duplicate_notice = off;
-- Plans are printed and must not depend on how the tests are run.
SET parallel_setup_cost = 1000;
SET min_parallel_table_scan_size = '8MB';
SET redblue.custom_scan = on;

-- Boxes: ids of red repeat, and some of blue are negative; one table has consecutive ids.
CREATE TABLE red AS SELECT i % 300 AS id, i AS n, i / 7 AS part_of, x AS lx, y AS ly, x + i % 5 AS hx, y + i % 3 AS hy
FROM (SELECT i, (i * 7919 % 101)::float8 AS x, (i * 104729 % 97)::float8 AS y FROM generate_series(1, 400::int8) i) s;
CREATE TABLE blue AS SELECT 200 - i AS id, x AS lx, y AS ly, x + i % 4 AS hx, y + i % 7 AS hy
FROM (SELECT i, (i * 15485863 % 101)::float8 AS x, (i * 32452843 % 97)::float8 AS y FROM generate_series(1, 500::int8) i) s;
CREATE TABLE lines AS SELECT n AS id, lx AS ax, ly AS ay, hx AS bx, hy AS by, part_of FROM red;
CREATE TABLE none (LIKE red);
CREATE TABLE k AS SELECT i AS k FROM generate_series(1, 3) i;
ANALYZE;
CREATE VIEW pairs AS SELECT * FROM redblue_box_pairs('red', 'blue');

-- The node that answers a query, and whether its rows equal those without it
CREATE FUNCTION node_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	node text := 'pairs';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ '\(redblue (count|counts|matched rows|groups)\)' THEN
			node := substring(line FROM '\(redblue (?:matched )?(\w+)\)');
		END IF;
	END LOOP;
	RETURN node;
END $$;
CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' rows '' || coalesce(md5(string_agg(t::text, '','' ORDER BY t::text)), '''') FROM (SELECT * FROM (%s) t OFFSET 0) t', query) INTO result;
	RETURN result;
END $$;
-- The order of an array without ORDER BY is arbitrary.
CREATE FUNCTION sorted(ids bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS 'SELECT array_agg(id ORDER BY id) FROM unnest(ids) id';
CREATE FUNCTION asked(query text, OUT node text, OUT n text, OUT same boolean) LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL redblue.custom_scan = on;
	node := node_of(query);
	n := rows_of(query);
	SET LOCAL redblue.custom_scan = off;
	same := n = rows_of(query) AND node_of(query) = 'pairs';
	n := substring(n FROM '\d+ rows');
	SET LOCAL redblue.custom_scan = on;
END $$;

-- ---- queries answered without pairs ----
EXPLAIN (COSTS OFF) SELECT count(*) FROM redblue_box_pairs('red', 'blue');
EXPLAIN (COSTS OFF) SELECT blue_id, count(*) FROM redblue_box_pairs('red', 'blue') GROUP BY blue_id HAVING count(*) > 2 ORDER BY 2 DESC, 1 LIMIT 3;
EXPLAIN (COSTS OFF, VERBOSE) SELECT red_id + 1, count(red_id) * 2 FROM redblue_box_pairs('red', 'blue') GROUP BY red_id;
EXPLAIN (COSTS OFF) SELECT DISTINCT id2 FROM redblue_box_self_pairs('red') ORDER BY id2;
EXPLAIN (COSTS OFF) SELECT red_id, array_agg(blue_id ORDER BY blue_id) FROM redblue_box_pairs('red', 'blue') GROUP BY red_id HAVING count(*) > 2;
SELECT count(*), count(red_id), count(blue_id), count(1), count(*) * 2 AS twice FROM redblue_box_pairs('red', 'blue');
SELECT blue_id, count(*) FROM redblue_box_pairs('red', 'blue') GROUP BY blue_id HAVING count(*) > 2 ORDER BY 2 DESC, 1 LIMIT 3;
SELECT DISTINCT red_id FROM redblue_box_pairs('red', 'blue') ORDER BY red_id DESC LIMIT 3;

SELECT q, (asked(q)).* FROM unnest(ARRAY[
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(blue_id) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(1), count(''x'') FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''none'')',
	'SELECT red_id, count(*) FROM redblue_box_pairs(''red'', ''none'') GROUP BY 1',
	'SELECT DISTINCT red_id FROM redblue_box_pairs(''none'', ''blue'')',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') HAVING count(*) > 5',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') HAVING count(*) < 5',
	'SELECT 17 FROM redblue_box_pairs(''red'', ''blue'') HAVING count(*) > 5',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') LIMIT 0',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') OFFSET 1',
	'SELECT count(*) + (SELECT max(k) FROM k), now() IS NULL FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(*) FROM redblue_box_self_pairs(''red'')',
	'SELECT count(*) FROM redblue_segment_pairs_query(''TABLE lines'', ''SELECT * FROM lines WHERE id > 100'')',
	'SELECT count(*) FROM redblue_segment_self_pairs(''lines'', lines_object => ''part_of'')',
	'SELECT red_id, count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT blue_id, count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY blue_id',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY blue_id',
	'SELECT red_id / 2, count(red_id), count(blue_id), -count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT id1, count(*) FROM redblue_box_self_pairs(''red'') GROUP BY id1',
	'SELECT id2, count(*) FROM redblue_box_self_pairs(''red'') GROUP BY id2',
	'SELECT id2, count(*) FROM redblue_segment_self_pairs(''lines'', lines_object => ''part_of'') GROUP BY id2',
	'SELECT red_id, count(*) FROM redblue_segment_pairs(''lines'', ''lines'', red_object => ''part_of'') GROUP BY red_id',
	'SELECT blue_id, count(*) FROM redblue_segment_pairs(''lines'', ''lines'', red_object => ''part_of'') GROUP BY blue_id',
	'SELECT blue_id, count(*) FROM redblue_box_pairs_query(''TABLE red'', ''SELECT * FROM blue WHERE id > 0'') GROUP BY blue_id',
	'SELECT r, count(*) FROM redblue_box_pairs(''red'', ''blue'') AS p (r, b) GROUP BY r HAVING count(b) BETWEEN 2 AND 3',
	'SELECT red_id FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id HAVING count(*) = 1',
	'SELECT red_id, (SELECT max(k) FROM k WHERE k <= red_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id HAVING EXISTS (SELECT FROM k WHERE k = count(red_id))',
	'SELECT red_id FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT 1 FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT DISTINCT red_id FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT DISTINCT blue_id FROM redblue_box_pairs(''red'', ''blue'') ORDER BY 1 OFFSET 3',
	'SELECT DISTINCT id1 FROM redblue_box_self_pairs(''red'')',
	'SELECT DISTINCT id2 FROM redblue_box_self_pairs(''red'')',
	'SELECT DISTINCT count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, count(*), rank() OVER (ORDER BY count(*)) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT sum(n), max(n) FROM (SELECT count(*) AS n FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id) t',
	'SELECT count(*) FROM (SELECT DISTINCT red_id FROM redblue_box_pairs(''red'', ''blue'')) t',
	'SELECT count(*) FROM pairs',
	'SELECT red_id, count(*) FROM (SELECT * FROM (SELECT * FROM pairs) t) t GROUP BY red_id',
	'WITH p AS (SELECT * FROM pairs) SELECT count(*) FROM p',
	'WITH p AS MATERIALIZED (SELECT blue_id, count(*) FROM pairs GROUP BY blue_id) SELECT a.*, b.* FROM p a, p b WHERE a.blue_id = b.blue_id + 1',
	'SELECT r.id, c.n FROM red r LEFT JOIN (SELECT red_id, count(*) AS n FROM pairs GROUP BY red_id) c ON c.red_id = r.id',
	'SELECT * FROM blue WHERE id IN (SELECT DISTINCT blue_id FROM pairs)',
	'SELECT count(*) FROM pairs UNION ALL SELECT count(*) FROM redblue_box_self_pairs(''red'') UNION ALL SELECT id1 FROM redblue_box_self_pairs(''red'') GROUP BY id1',
	'SELECT k, (SELECT count(*) FROM redblue_box_pairs_query(format(''SELECT * FROM red WHERE n > %s'', k), ''TABLE blue'')) FROM k',
	'SELECT k, n FROM k, LATERAL (SELECT red_id, count(*) AS n FROM redblue_box_pairs_query(format(''SELECT * FROM red WHERE n %% 3 = %s'', k % 2), ''TABLE blue'') GROUP BY red_id HAVING count(*) >= k) c',
	'SELECT k, (SELECT count(*) FROM redblue_box_pairs_query((SELECT format(''SELECT * FROM red WHERE n > %s'', max(k)) FROM k), ''TABLE blue'')) FROM k',
	'SELECT k, (SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') HAVING count(*) > k) FROM k',
	'SELECT red_id, sorted(array_agg(blue_id)) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT blue_id, sorted(array_agg(red_id)) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY blue_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT array_agg(red_id ORDER BY red_id ASC NULLS LAST), blue_id / 2 FROM redblue_box_pairs(''red'', ''blue'') GROUP BY blue_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id), sorted(array_agg(blue_id)), count(*), cardinality(array_agg(blue_id)) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id HAVING count(*) > 2',
	'SELECT red_id FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id HAVING (array_agg(blue_id ORDER BY blue_id))[1] < 0 AND count(blue_id) < 4',
	'SELECT max(array_agg(blue_id ORDER BY blue_id)) OVER (), red_id FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT r, array_agg(b ORDER BY b) FROM redblue_box_pairs(''red'', ''blue'') AS p (r, b) GROUP BY r ORDER BY r DESC LIMIT 4',
	'SELECT red_id, array_agg(blue_id) FROM redblue_box_pairs(''red'', ''none'') GROUP BY red_id',
	'SELECT id1, array_agg(id2 ORDER BY id2) FROM redblue_box_self_pairs(''red'') GROUP BY id1',
	'SELECT id2, array_agg(id1 ORDER BY id1), count(*) FROM redblue_box_self_pairs(''red'') GROUP BY id2',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id) FROM redblue_segment_pairs(''lines'', ''lines'', red_object => ''part_of'') GROUP BY red_id',
	'SELECT blue_id, array_agg(red_id ORDER BY red_id) FROM redblue_segment_pairs(''lines'', ''lines'', red_object => ''part_of'') GROUP BY blue_id',
	'SELECT (array_agg(blue_id ORDER BY blue_id))[1:2] FROM (SELECT red_id, blue_id FROM pairs) t GROUP BY red_id OFFSET 0',
	'SELECT r.id, c.ids FROM red r LEFT JOIN (SELECT red_id, array_agg(blue_id ORDER BY blue_id) AS ids FROM pairs GROUP BY red_id) c ON c.red_id = r.id',
	'SELECT k, ids FROM k, LATERAL (SELECT red_id, array_agg(blue_id ORDER BY blue_id) AS ids FROM redblue_box_pairs_query(format(''SELECT * FROM red WHERE n %% 3 = %s'', k % 2), ''TABLE blue'') GROUP BY red_id HAVING count(*) >= k) c',
	'SELECT k, (SELECT max(ids) FROM (SELECT array_agg(blue_id ORDER BY blue_id) AS ids FROM pairs GROUP BY red_id OFFSET 0) g WHERE ids[1] < k) FROM k',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2)) AS p (id) GROUP BY id',
	'SELECT DISTINCT id FROM redblue_box_self_pairs(''red'') AS s, LATERAL (VALUES (s.id1, s.id2), (s.id2, s.id1)) AS p (id, other)',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1)) AS p (id) GROUP BY id',
	'SELECT id, array_agg(other ORDER BY other), count(other) FROM redblue_box_self_pairs(''red'') CROSS JOIN LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other) GROUP BY id HAVING count(*) > 1',
	'SELECT other, array_agg(id ORDER BY id) FROM redblue_box_self_pairs(''red'') JOIN LATERAL (VALUES (id1, 0, id2), (id2, 1, id1)) AS p (id, direction, other) ON true GROUP BY other',
	'SELECT id, array_agg(other ORDER BY other) FROM redblue_box_self_pairs_query(''SELECT n AS id, lx, ly, hx, hy FROM red''), LATERAL (VALUES (id2, id1), (id1, id2)) AS p (id, other) GROUP BY id',
	'SELECT id, array_agg(other ORDER BY other) FROM redblue_segment_self_pairs(''lines'', lines_object => ''part_of''), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other) GROUP BY id']) q;

-- ---- queries that need the pairs ----
SELECT q, (asked(q)).* FROM unnest(ARRAY[
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') WHERE red_id > 5',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') WHERE (SELECT max(k) FROM k) = 3',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') WHERE false',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') WHERE random() < 2',
	'SELECT count(*) FROM (SELECT * FROM redblue_box_pairs(''red'', ''blue'') WHERE blue_id > 0) t',
	'SELECT red_id, count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id HAVING red_id > 5',
	'SELECT count(*) FILTER (WHERE red_id > 5) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(*), count(*) FILTER (WHERE red_id > 5) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(DISTINCT red_id) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(red_id ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(nullif(red_id, 5)) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(NULL) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(p) FROM redblue_box_pairs(''red'', ''blue'') p',
	'SELECT count(*), sum(red_id) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT max(red_id) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT sum(1) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT red_id, count(*), max(blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id HAVING max(blue_id) > 5',
	'SELECT red_id, blue_id, count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id, blue_id',
	'SELECT red_id % 10, count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id % 10',
	'SELECT red_id, count(*) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY ROLLUP (red_id)',
	'SELECT red_id, count(*), grouping(red_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY GROUPING SETS ((red_id), ())',
	'SELECT count(*), generate_series(1, 2) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT DISTINCT red_id, generate_series(1, 2) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT DISTINCT red_id, blue_id FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT DISTINCT red_id % 10 FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT DISTINCT red_id FROM redblue_box_pairs(''red'', ''blue'') WHERE blue_id > 5',
	'SELECT DISTINCT ON (red_id) red_id FROM redblue_box_pairs(''red'', ''blue'') ORDER BY red_id',
	'SELECT DISTINCT ON (red_id) red_id, blue_id FROM redblue_box_pairs(''red'', ''blue'') ORDER BY red_id, blue_id',
	'SELECT DISTINCT red_id, count(*) OVER () FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(*) OVER () FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT count(*) FROM (SELECT * FROM redblue_box_pairs(''red'', ''blue'') LIMIT 5) t',
	'SELECT count(*) FROM (SELECT * FROM redblue_box_pairs(''red'', ''blue'') OFFSET 5) t',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue''), k',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') JOIN red ON red.id = red_id',
	'SELECT red_id, count(*) FROM redblue_box_pairs(''red'', ''blue'') LEFT JOIN k ON k = red_id GROUP BY red_id',
	'SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') WITH ORDINALITY',
	'SELECT count(*) FROM ROWS FROM (redblue_box_pairs(''red'', ''blue''), generate_series(1, 3))',
	'SELECT count(*) FROM redblue_box_pairs_by_key(''red'', ''blue'', ''n'', ''id'') AS (a int8, b int8)',
	'SELECT count(*) FROM (SELECT * FROM pairs UNION ALL SELECT * FROM pairs) t',
	'SELECT count(*) FROM (SELECT redblue_box_pairs(''red'', ''blue'')) t',
	'SELECT k, n FROM k, LATERAL (SELECT count(*) + k AS n FROM redblue_box_pairs_query(''SELECT * FROM red'', ''TABLE blue'') WHERE red_id > k) c',
	'SELECT array_agg(blue_id ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'')',
	'SELECT red_id, array_agg(red_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id DESC) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id NULLS FIRST) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY -blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY red_id, blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(DISTINCT blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id) FILTER (WHERE blue_id > 3) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id::int ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id + 0 ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id), sum(blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id), count(DISTINCT blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id HAVING max(blue_id) > 3',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'') WHERE blue_id > 3 GROUP BY red_id',
	'SELECT red_id, string_agg(blue_id::text, '','' ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, json_agg(blue_id ORDER BY blue_id)::text FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(ARRAY[blue_id] ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY red_id',
	'SELECT red_id, array_agg(blue_id ORDER BY blue_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY ROLLUP (red_id)',
	'SELECT red_id, array_agg(blue_id) OVER (PARTITION BY red_id) IS NULL FROM (SELECT red_id, blue_id FROM redblue_box_pairs(''red'', ''blue'')) t WHERE false',
	'SELECT red_id, array_agg(n ORDER BY n) FROM redblue_box_pairs(''red'', ''blue''), LATERAL (VALUES (blue_id), (red_id)) AS p (n) GROUP BY red_id',
	'SELECT id, count(*) FROM redblue_box_pairs(''red'', ''blue''), LATERAL (VALUES (red_id), (blue_id)) AS p (id) GROUP BY id',
	'SELECT count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2)) AS p (id)',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2), (id2)) AS p (id) GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id1)) AS p (id) GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2 + 1)) AS p (id) GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), (VALUES (1::bigint), (2)) AS p (id) GROUP BY id',
	'SELECT id, array_agg(other ORDER BY other) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1, id2), (id2, id2)) AS p (id, other) GROUP BY id',
	'SELECT id, array_agg(id1 ORDER BY id1) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other) GROUP BY id',
	'SELECT id, count(id1) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other) GROUP BY id',
	'SELECT id, other, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other) GROUP BY id, other',
	'SELECT direction, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1, 0), (id2, 1)) AS p (id, direction) GROUP BY direction',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2)) AS p (id) WHERE id > 5 GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2)) AS p (id) WHERE id = id1 GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2)) AS p (id) WHERE id1 > 5 GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2)) AS p (id) WHERE id1 + 1 = id2 GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2)) AS p (id) WHERE (SELECT max(k) FROM k) = 3 GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red'') JOIN LATERAL (VALUES (id1), (id2)) AS p (id) ON random() < 2 GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red'') LEFT JOIN LATERAL (VALUES (id1), (id2)) AS p (id) ON id > 5 GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red'') LEFT JOIN LATERAL (VALUES (id1), (id2)) AS p (id) ON true GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2)) AS p (id), k GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (SELECT id1 UNION ALL SELECT id2) AS p (id) GROUP BY id',
	'SELECT id, count(*) FROM redblue_box_self_pairs(''red''), LATERAL (VALUES (id1), (id2) LIMIT 1) AS p (id) GROUP BY id',
	'SELECT k, (SELECT sum(id) FROM (SELECT id FROM (VALUES (k::bigint), (2)) AS p (id) GROUP BY id) s) FROM k']) q;
-- With a primary key, the planner can remove the join, so the pairs are only counted.
CREATE TABLE keyed (k int PRIMARY KEY);
SELECT (asked('SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'') LEFT JOIN keyed ON k = red_id')).*;

-- ---- random queries, with and without the node ----
SELECT setseed(0.25);
CREATE TABLE tried AS
SELECT q, (asked(q)).* FROM (
	SELECT format('SELECT %s%s FROM %s%s%s%s%s%s',
		CASE WHEN what = 'DISTINCT' THEN 'DISTINCT ' END,
		CASE what WHEN 'DISTINCT' THEN col WHEN 'GROUP' THEN (ARRAY[col || ', count(*)', 'count(' || col || ') + 1, ' || col || ' - 1', col, 'count(*)', 'max(count(*)) OVER (), ' || col, 'count(*), sum(' || col || ')',
				col || ', array_agg(' || other || ' ORDER BY ' || other || ')', 'count(*), sorted(array_agg(' || other || '))', 'sorted(array_agg(' || col || '))'])[1 + floor(random() * 9)]
			ELSE (ARRAY['count(*)', 'count(' || col || '), count(*) - 3', '''x'' || count(2)', 'count(*), min(' || col || ')'])[1 + floor(random() * 4)] END,
		source,
		CASE WHEN random() < 0.15 THEN ' WHERE ' || col || ' > 40' END,
		CASE WHEN what = 'GROUP' THEN ' GROUP BY ' || col END,
		CASE WHEN what <> 'DISTINCT' AND random() < 0.4 THEN (ARRAY[' HAVING count(*) > 2', ' HAVING count(*) % 2 = 1 AND count(1) < 7', ' HAVING random() < 2', ' HAVING count(' || other || ') < 1', ' HAVING 3 = ANY (array_agg(' || other || '))'])[1 + floor(random() * 5)] END,
		CASE WHEN random() < 0.3 THEN ' ORDER BY 1' END, NULL) AS q
	FROM (
		SELECT (ARRAY['GROUP', 'GROUP', 'DISTINCT', ''])[1 + floor(random() * 4)] AS what, source,
			(string_to_array(columns, ' '))[pick] AS col, (string_to_array(columns, ' '))[3 - pick] AS other
		FROM (SELECT 1 + floor(random() * 2)::int AS pick, i FROM generate_series(1, 40) i) i,
			(VALUES ('redblue_box_pairs(''red'', ''blue'')', 'red_id blue_id'), ('pairs', 'red_id blue_id'), ('redblue_box_self_pairs(''red'')', 'id1 id2'),
				('redblue_box_self_pairs(''red'', boxes_object => ''part_of'')', 'id1 id2'), ('redblue_segment_pairs(''lines'', ''lines'', blue_object => ''part_of'')', 'red_id blue_id'),
				('redblue_segment_self_pairs(''lines'')', 'id1 id2'), ('redblue_segment_self_pairs(''lines''), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other)', 'id other'),
				('redblue_box_pairs_query(''SELECT * FROM red WHERE n < 200'', ''TABLE blue'')', 'red_id blue_id')) s (source, columns)
		OFFSET 0) p) q;
SELECT count(*) AS tried, count(*) FILTER (WHERE node = 'pairs') BETWEEN 20 AND 140 AS some_need_pairs, count(DISTINCT node) AS nodes FROM tried;
SELECT * FROM tried WHERE NOT same;

-- ---- contexts of queries ----
-- Prepared: with its parameters, and with a generic plan
PREPARE some_rows (text, bigint) AS SELECT count(*) FROM redblue_box_pairs_query($1, 'TABLE blue') HAVING count(*) > $2;
EXECUTE some_rows('TABLE red', 0);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE some_rows('SELECT * FROM red WHERE n < 50', 0);
EXECUTE some_rows('SELECT * FROM red WHERE n < 50', 0);
EXECUTE some_rows('SELECT * FROM red WHERE n < 50', 1000000);
PREPARE of_table (regclass) AS SELECT red_id, count(*) FROM redblue_box_pairs($1, 'blue') GROUP BY red_id ORDER BY 2 DESC, 1 LIMIT 2;
EXECUTE of_table('red');
EXECUTE of_table('none');
INSERT INTO none SELECT * FROM red WHERE n = 14;
EXECUTE of_table('none');
ALTER TABLE none RENAME TO few;
EXECUTE of_table('few');
PREPARE arrays (regclass, bigint) AS SELECT blue_id, array_agg(red_id ORDER BY red_id) FROM redblue_box_pairs($1, 'blue') GROUP BY blue_id HAVING count(*) > $2 ORDER BY blue_id LIMIT 2;
EXECUTE arrays('red', 2);
EXECUTE arrays('few', 0);
EXPLAIN (COSTS OFF) EXECUTE arrays('few', 0);
RESET plan_cache_mode;
-- A cached plan is planned again if the setting changes or the table is dropped.
PREPARE kept AS SELECT count(*) FROM redblue_box_pairs('few', 'blue');
EXECUTE kept;
DROP TABLE few;
EXECUTE kept;
-- Cursors, forward and backward
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT red_id, count(*) FROM redblue_box_pairs('red', 'blue') GROUP BY red_id ORDER BY red_id;
FETCH 2 FROM c;
MOVE LAST IN c;
FETCH FIRST FROM c;
DECLARE d SCROLL CURSOR FOR SELECT count(*) FROM redblue_box_pairs('red', 'blue');
FETCH ALL FROM d;
FETCH BACKWARD ALL FROM d;
DECLARE e NO SCROLL CURSOR FOR SELECT DISTINCT red_id FROM redblue_box_pairs('red', 'blue');
MOVE 1 IN e;
ROLLBACK;
-- Stored, updated, in PL/pgSQL
CREATE TABLE stored AS SELECT red_id, count(*) AS n FROM pairs GROUP BY red_id;
INSERT INTO stored SELECT blue_id, count(*) FROM pairs GROUP BY blue_id;
SELECT count(*), sum(n) FROM stored;
UPDATE stored SET n = (SELECT count(*) FROM redblue_box_pairs_query('SELECT * FROM red WHERE id = ' || red_id, 'TABLE blue')) WHERE red_id BETWEEN 7 AND 8 RETURNING *;
DELETE FROM stored USING (SELECT DISTINCT red_id FROM pairs) p WHERE p.red_id = stored.red_id AND n > 0;
SELECT count(*) < 700 AS fewer FROM stored;
DO $$
DECLARE
	n bigint := 0;
	r record;
BEGIN
	FOR r IN SELECT red_id, count(*) AS n FROM pairs GROUP BY red_id LOOP
		n := n + r.n;
	END LOOP;
	IF n <> (SELECT count(*) FROM pairs) THEN
		RAISE 'wrong: %', n;
	END IF;
END $$;
-- Result rows cannot be locked; FOR UPDATE applies to other tables.
SELECT r.n FROM red r, (SELECT count(*) AS c FROM pairs) p WHERE r.n = 3 AND p.c > 0 FOR UPDATE OF r;

-- ---- statistics and EXPLAIN ----
SELECT count(*) > 0 AS any FROM redblue_box_pairs('red', 'blue');
SELECT stage, count > 0 AS some FROM redblue_last_run() WHERE stage IN ('read', 'emit');
CREATE FUNCTION explained(query text, OUT node text, OUT key text, OUT of text, OUT pairs boolean) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
	plan := plan->0->'Plan';
	node := plan->>'Custom Plan Provider';
	key := plan->>'Group Key';
	of := concat_ws(' ', plan->>'Function', plan->>'Red', plan->>'Blue', plan->>'Boxes');
	SELECT s->>'Detail' ~ '^[1-9]\d* pairs of parts$' INTO pairs FROM json_array_elements(plan->'Stages') s WHERE s->>'Stage' = 'emit';
END $$;
SELECT * FROM explained('SELECT DISTINCT blue_id FROM redblue_box_pairs(''red'', ''blue'')');
SELECT * FROM explained('SELECT id1, count(*) FROM redblue_box_self_pairs(''red'') GROUP BY id1 HAVING count(*) > 3');
SELECT * FROM explained('SELECT count(*) FROM redblue_box_pairs(''red'', ''blue'')');
SELECT * FROM explained('SELECT blue_id, array_agg(red_id) FROM redblue_box_pairs(''red'', ''blue'') GROUP BY blue_id');
-- The estimated number of rows, if the tables are known
CREATE FUNCTION expected(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	EXECUTE 'EXPLAIN ' || query INTO line;
	RETURN substring(line FROM 'rows=(\d+)');
END $$;
SELECT expected('SELECT count(*) FROM pairs') AS one, expected('SELECT red_id, count(*) FROM pairs GROUP BY red_id') BETWEEN 150 AND 400 AS of_red,
	expected('SELECT DISTINCT blue_id FROM pairs') BETWEEN 200 AND 500 AS of_blue,
	expected('SELECT red_id, count(*) FROM pairs GROUP BY red_id HAVING count(*) > 2') BETWEEN 50 AND 150 AS having;

-- ---- errors and privileges are those of the pairs ----
CREATE TABLE broken AS TABLE red;
UPDATE broken SET lx = 'NaN' WHERE n = 17;
SELECT count(*) FROM redblue_box_pairs('broken', 'blue');
SELECT red_id, count(*) FROM redblue_box_pairs('red', 'broken') GROUP BY 1;
SET redblue.memory_limit = '1MB';
SELECT DISTINCT red_id FROM redblue_box_pairs_query('SELECT i % 100 AS id, i AS lx, i AS ly, i AS hx, i AS hy FROM generate_series(1, 100000) i', 'TABLE blue');
RESET redblue.memory_limit;
CREATE ROLE upper_stranger;
GRANT USAGE ON SCHEMA upper TO upper_stranger;
SET ROLE upper_stranger;
SELECT count(*) FROM redblue_box_pairs('red', 'blue');
SELECT DISTINCT red_id FROM redblue_box_pairs('red', 'blue');
SELECT count(*) FROM redblue_box_pairs_query('TABLE red', 'TABLE blue');
RESET ROLE;
GRANT SELECT ON red, blue TO upper_stranger;
BEGIN;
REVOKE EXECUTE ON FUNCTION redblue_box_pairs FROM PUBLIC;
SET LOCAL ROLE upper_stranger;
SELECT red_id, count(*) FROM redblue_box_pairs('red', 'blue') GROUP BY red_id;
ROLLBACK;
BEGIN;
REVOKE EXECUTE ON FUNCTION count() FROM PUBLIC;
SET LOCAL ROLE upper_stranger;
SELECT DISTINCT red_id FROM redblue_box_pairs('red', 'blue') ORDER BY 1 LIMIT 1;
SELECT count(*) FROM redblue_box_pairs('red', 'blue');
ROLLBACK;
ALTER TABLE red ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON red USING (n < 20);
SELECT count(*) AS owner FROM redblue_box_pairs('red', 'blue') \gset
SET ROLE upper_stranger;
SELECT count(*) < :owner AS fewer, count(*) = (SELECT count(*) FROM redblue_box_pairs_query('SELECT * FROM red WHERE n < 20', 'TABLE blue')) AS those FROM redblue_box_pairs('red', 'blue');
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA upper CASCADE;
DROP ROLE upper_stranger;
