-- Tests that counts, matched rows, groups and blocks that the join computes equal what SQL computes from stored pairs.
\set schema answers
\i sql/fixtures/prologue.sql

-- Ids that do not ascend, ids that repeat, objects of several rows, and rows without pairs
CREATE TABLE red AS
SELECT (i * 7 % 601)::bigint AS id, i % 40 AS few, 'o' || i % 90 AS name, i / 3 AS object,
	x AS ax, y AS ay, z AS az, x + i % 3 AS bx, y + i % 4 AS by, z + i % 2 AS bz, x - i % 5 AS cx, y + i % 3 AS cy, z + i % 7 AS cz
FROM (SELECT i, (i * 7919 % 31)::float8 AS x, (i * 104729 % 29)::float8 AS y, (i * 1299709 % 23)::float8 AS z FROM generate_series(1, 600::int8) i) s;
CREATE TABLE blue AS
SELECT -i AS id, i % 40 AS few, i / 5 AS object,
	x AS ax, y AS ay, z AS az, x + i % 4 AS bx, y - i % 3 AS by, z + i % 5 AS bz, x AS cx, y + i % 2 AS cy, z - i % 3 AS cz
FROM (SELECT i, (i * 15485863 % 31)::float8 AS x, (i * 32452843 % 29)::float8 AS y, (i * 49979687 % 23)::float8 AS z FROM generate_series(1, 600::int8) i) s;
CREATE VIEW red_line AS SELECT id, few, object, ax, ay, az, bx, by, bz FROM red;
CREATE VIEW blue_line AS SELECT id, few, object, ax, ay, az, bx, by, bz FROM blue;
CREATE VIEW red_box AS SELECT id, few, object, least(ax, bx) AS lx, least(ay, by) AS ly, greatest(ax, bx) AS hx, greatest(ay, by) AS hy FROM red;
CREATE VIEW blue_box AS SELECT id, few, object, least(ax, bx) AS lx, least(ay, by) AS ly, greatest(ax, bx) AS hx, greatest(ay, by) AS hy FROM blue;
CREATE VIEW nothing AS SELECT * FROM red WHERE false;
ANALYZE;

CREATE FUNCTION unpack(packed bytea) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((SELECT sum(get_byte(packed, 8 * k + j)::bigint << 8 * j)::bigint FROM generate_series(0, 7) j) ORDER BY k)
	FROM generate_series(0, length(packed) / 8 - 1) k $$;

-- Number of rows that differ between the results of a join and those of its stored pairs, with the custom scan and without; expected: none
CREATE TEMP TABLE pair (a bigint, b bigint);
CREATE FUNCTION differences(base text, sides text, form text DEFAULT '', OUT pairs bigint, OUT ids bigint, OUT differ text) LANGUAGE plpgsql AS $$
DECLARE
	self boolean := base LIKE '%self';
	stored text := CASE WHEN self THEN '(SELECT a, b FROM pair UNION ALL SELECT b, a FROM pair) p' ELSE 'pair p' END;
	call text := format('redblue_%s_pairs%s(%s)', base, form, sides);
	joined text := call || CASE WHEN self THEN ' AS q (x, y), LATERAL (VALUES (x, y), (y, x)) AS p (a, b)' ELSE ' AS p (a, b)' END;
	query text;
	n bigint;
BEGIN
	differ := '';
	TRUNCATE pair;
	EXECUTE format('INSERT INTO pair SELECT * FROM %s', call);
	EXECUTE format('SELECT count(*), count(DISTINCT a) FROM %s', stored) INTO pairs, ids;
	FOREACH query IN ARRAY ARRAY[
		format('SELECT a, count(*) FROM %s GROUP BY a / SELECT a, count(*) FROM %s GROUP BY a', stored, joined),
		format('SELECT DISTINCT a FROM %s / SELECT DISTINCT a FROM %s', stored, joined),
		format('SELECT a, array_agg(b ORDER BY b) FROM %s GROUP BY a / SELECT a, array_agg(b ORDER BY b) FROM %s GROUP BY a', stored, joined),
		format('SELECT b, array_agg(a ORDER BY a), count(*) FROM %s GROUP BY b / SELECT b, array_agg(a ORDER BY a), count(*) FROM %s GROUP BY b', stored, joined),
		format('SELECT a, array_agg(b ORDER BY b) FROM pair GROUP BY a / SELECT a, array_agg(b ORDER BY b) FROM %s AS p (a, b) GROUP BY a', call),
		format('SELECT b, array_agg(a ORDER BY a), count(*) FROM pair GROUP BY b / SELECT b, array_agg(a ORDER BY a), count(*) FROM %s AS p (a, b) GROUP BY b', call),
		format('SELECT a, b FROM pair / SELECT a, b FROM redblue_%s_pair_blocks%s(%s) AS k (n, r, s), unnest(unpack(r), unpack(s)) AS u (a, b) WHERE length(r) = 8 * n AND length(s) = 8 * n',
			base, form, sides)]
	LOOP
		query := format('WITH x AS MATERIALIZED (%s), y AS MATERIALIZED (%s) SELECT count(*) FROM ((TABLE x EXCEPT ALL TABLE y) UNION ALL (TABLE y EXCEPT ALL TABLE x)) d', split_part(query, ' / ', 1), split_part(query, ' / ', 2));
		SET LOCAL redblue.custom_scan = on;
		EXECUTE query INTO n;
		differ := differ || n || ' ';
		SET LOCAL redblue.custom_scan = off;
		EXECUTE query INTO n;
		differ := differ || n || ' ';
	END LOOP;
END $$;

SET redblue.duplicate_notice = off;
SELECT t.*, d.*
FROM (VALUES
	('triangle', $$'red', 'blue'$$, ''),
	('triangle', $$'red', 'blue', red_id => 'few', blue_id => 'few'$$, ''),
	('triangle', $$'red', 'blue', red_object => 'object'$$, ''),
	('triangle', $$'red', 'blue', red_id => 'few', blue_object => 'object'$$, ''),
	('triangle', $$'red', 'nothing'$$, ''),
	('triangle', $$'nothing', 'blue'$$, ''),
	('triangle', $$'SELECT * FROM red WHERE ax < 9', 'TABLE blue', blue_object => 'object'$$, '_query'),
	('triangle_self', $$'red'$$, ''),
	('triangle_self', $$'red', mesh_id => 'few'$$, ''),
	('triangle_self', $$'red', mesh_object => 'object'$$, ''),
	('triangle_self', $$'nothing'$$, ''),
	('triangle_self', $$'TABLE red', 'few'$$, '_query'),
	('segment_triangle', $$'red_line', 'blue'$$, ''),
	('segment_triangle', $$'red_line', 'blue', segments_id => 'few', triangles_object => 'object'$$, ''),
	('segment_triangle', $$'TABLE red_line', 'TABLE blue', segments_object => 'object'$$, '_query'),
	('segment', $$'red_line', 'blue_line'$$, ''),
	('segment', $$'TABLE red_line', 'TABLE blue_line', red_id => 'few'$$, '_query'),
	('segment_self', $$'red_line', lines_object => 'object'$$, ''),
	('segment_self', $$'TABLE blue_line'$$, '_query'),
	('box', $$'red_box', 'blue_box'$$, ''),
	('box', $$'TABLE red_box', 'TABLE blue_box', blue_id => 'few', red_object => 'object'$$, '_query'),
	('box_self', $$'red_box'$$, ''),
	('box_self', $$'TABLE red_box', boxes_id => 'few'$$, '_query')) AS t (base, sides, form),
	differences(base, sides, form) AS d;
-- A row without pairs does not appear.
CREATE VIEW counts AS SELECT red_id, count(*) AS pairs FROM redblue_triangle_pairs('red', 'blue') GROUP BY red_id;
CREATE VIEW matched AS SELECT DISTINCT red_id FROM redblue_triangle_pairs('red', 'blue');
CREATE VIEW groups AS SELECT red_id, array_agg(blue_id ORDER BY blue_id) AS blue_ids FROM redblue_triangle_pairs('red', 'blue') GROUP BY red_id;
SELECT * FROM counts ORDER BY red_id LIMIT 5;
SELECT * FROM matched ORDER BY red_id LIMIT 5;
SELECT * FROM groups ORDER BY red_id LIMIT 5;
SELECT id, array_agg(other ORDER BY other) FROM redblue_triangle_self_pairs('red'), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other) GROUP BY id ORDER BY id LIMIT 3;
SELECT triangle_id, array_agg(segment_id ORDER BY segment_id) FROM redblue_segment_triangle_pairs('red_line', 'blue') GROUP BY triangle_id ORDER BY 1 LIMIT 3;
SELECT n, length(red), length(blue) FROM redblue_triangle_pair_blocks('red', 'blue');
SELECT n, unpack(id1) @> '{7}' AS one FROM redblue_triangle_self_pair_blocks('red');
SELECT n, length(segments), length(triangles) FROM redblue_segment_triangle_pair_blocks('red_line', 'nothing');
SELECT (SELECT count(*) FROM redblue_triangle_pairs('nothing', 'blue')) AS pairs, (SELECT count(*) FROM redblue_triangle_pair_blocks('nothing', 'blue')) AS blocks;
-- The arrays of the join ascend, even without ORDER BY.
SET redblue.custom_scan = on;
SELECT bool_and(blue_ids = (SELECT array_agg(b ORDER BY b) FROM unnest(blue_ids) b)) AS ascending, max(cardinality(blue_ids)) AS longest, pg_typeof(max(blue_ids))
FROM (SELECT array_agg(blue_id) AS blue_ids FROM redblue_triangle_pairs('red', 'blue', red_id => 'few') GROUP BY red_id) g;
RESET redblue.custom_scan;

-- Positions in a statement: with and without columns, repeated, in the select list, with a filter, in a cursor
SELECT count(*) FROM counts;
SELECT count(*) FROM matched;
SELECT count(*) FROM red WHERE id IN (TABLE matched);
SELECT count(*) FROM (SELECT (SELECT g FROM groups g WHERE g.red_id = red.id) AS g FROM red) s WHERE cardinality((g).blue_ids) > 1;
SELECT (redblue_triangle_pair_blocks('red', 'blue')).n;
SELECT sum(c.pairs), count(DISTINCT c) AS whole FROM counts c WHERE c.pairs BETWEEN 2 AND 3;
SELECT k, g.* FROM generate_series(1, 2) k, LATERAL (SELECT count(*), sum(cardinality(blue_ids)) FROM groups WHERE cardinality(blue_ids) > k) g;
SELECT k, (SELECT sum(n) FROM redblue_segment_pair_blocks_query(format('SELECT * FROM red_line WHERE few < %s', k), 'TABLE blue_line')) AS n FROM generate_series(1, 3) k;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM groups ORDER BY red_id;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH 2 FROM c;
DECLARE d SCROLL CURSOR FOR SELECT * FROM groups;
MOVE 5 IN d;
MOVE BACKWARD ALL IN d;
MOVE FORWARD ALL IN d;
COMMIT;
PREPARE matching(text) AS SELECT count(*) FROM (SELECT DISTINCT red_id FROM redblue_triangle_pairs_query($1, 'TABLE blue')) t;
EXECUTE matching('TABLE red');
EXECUTE matching('SELECT * FROM red WHERE id < 100');

-- A single column, columns in another order or twice, and repeated scans give the same with the custom scan and without.
CREATE FUNCTION asked_again() RETURNS TABLE (k int, counts numeric, matched numeric, groups numeric, blocks numeric, pairs numeric, turned numeric, twice numeric) LANGUAGE sql AS $$
SELECT k, (SELECT sum(pairs) FROM counts WHERE pairs > k / 50),
	(SELECT sum(red_id) FROM (SELECT * FROM matched OFFSET 0) m WHERE red_id > k),
	(SELECT sum(blue_ids[1]) FROM (SELECT * FROM groups OFFSET 0) g WHERE red_id > k),
	(SELECT sum(n) FROM redblue_triangle_pair_blocks('red', 'blue') WHERE n > k),
	(SELECT sum(blue_id) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id > k),
	(SELECT sum(pairs * (red_id + k)) FROM (SELECT pairs, red_id FROM counts OFFSET 0) s),
	(SELECT sum(b * b2 + k) FROM (SELECT blue_id AS b, red_id, blue_id AS b2 FROM redblue_triangle_pairs('red', 'blue') OFFSET 0) s)
FROM generate_series(0, 400, 200) k $$;
SET redblue.custom_scan = on;
SELECT * FROM asked_again();
SET redblue.custom_scan = off;
SELECT * FROM asked_again();
RESET redblue.custom_scan;

-- Plans, with and without the custom scan; numbers of rows that the planner expects
SET redblue.custom_scan = on;
SET redblue.backend = cpu;
EXPLAIN (COSTS OFF) SELECT * FROM counts WHERE pairs > 1;
EXPLAIN (COSTS OFF) SELECT n FROM redblue_triangle_self_pair_blocks('red');
SET redblue.custom_scan = off;
EXPLAIN (COSTS OFF) SELECT n FROM redblue_triangle_self_pair_blocks('red') WHERE n > 1;
SET redblue.custom_scan = on;
RESET redblue.backend;
CREATE FUNCTION expected(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
SELECT expected($$SELECT * FROM redblue_triangle_pairs('red', 'blue')$$) AS pairs,
	expected('TABLE counts') AS counts, expected('TABLE matched') AS matched, expected('TABLE groups') AS groups,
	expected($$SELECT * FROM redblue_triangle_pair_blocks('red', 'blue')$$) AS blocks,
	expected($$SELECT DISTINCT id FROM redblue_triangle_self_pairs('red'), LATERAL (VALUES (id1), (id2)) AS p (id)$$) AS self;

-- The statistics are those of any join: the numbers of counted pairs and matched rows.
SELECT sum(pairs) FROM counts;
SELECT stage, count FROM redblue_last_run() WHERE stage IN ('read', 'emit');
SELECT count(*) FROM matched;
SELECT stage, count FROM redblue_last_run() WHERE stage IN ('read', 'emit');
SELECT sum(cardinality(blue_ids)) FROM groups;
SELECT stage, count FROM redblue_last_run() WHERE stage IN ('read', 'emit');

-- More pairs than fit into memory: 4,000,000
CREATE TABLE crowd AS SELECT i AS id, i % 2 AS half, 0 AS lx, 0 AS ly, 1 AS hx, 1 AS hy FROM generate_series(1, 2000) i;
SET redblue.memory_limit = '32MB';
SELECT count(*), sum(pairs), min(pairs), max(pairs) FROM (SELECT count(*) AS pairs FROM redblue_box_pairs('crowd', 'crowd') GROUP BY red_id) c;
SELECT count(*), sum(pairs), min(pairs), max(pairs) FROM (SELECT count(*) AS pairs FROM redblue_box_self_pairs('crowd'), LATERAL (VALUES (id1), (id2)) AS p (id) GROUP BY id) c;
SELECT count(*), sum(cardinality(blue_ids)), min(blue_ids[1]), max(blue_ids[2000]), array_agg(red_id ORDER BY red_id) = array_agg(red_id) AS in_order
FROM (SELECT red_id, array_agg(blue_id) AS blue_ids FROM redblue_box_pairs('crowd', 'crowd') GROUP BY red_id) g;
SELECT count FROM redblue_last_run() WHERE stage = 'emit';
SELECT count(*), sum(cardinality(red_ids)), min(red_ids[1]), max(red_ids[2000])
FROM (SELECT blue_id, array_agg(red_id) AS red_ids FROM redblue_box_pairs('crowd', 'crowd') GROUP BY blue_id) g;
SELECT count(*), sum(cardinality(ids)), min(ids[1]), max(ids[1999]), bool_or(id = ANY (ids)) AS with_itself
FROM (SELECT id, array_agg(other) AS ids FROM redblue_box_self_pairs('crowd'), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other) GROUP BY id) g;
SELECT count(*), sum(cardinality(blue_ids))
FROM (SELECT red_id, array_agg(blue_id) AS blue_ids
	FROM redblue_box_pairs_query('SELECT CASE WHEN id < 100 THEN id / 2 ELSE id END AS id, lx, ly, hx, hy FROM crowd', 'TABLE crowd', red_object => 'id') GROUP BY red_id) g;
-- Groups that cannot be joined in portions are sorted: those of rows that share an id, and of one direction of a self join.
SELECT red_id, cardinality(blue_ids), blue_ids[1:3], n FROM (SELECT red_id, array_agg(blue_id) AS blue_ids, count(*) AS n FROM redblue_box_pairs('crowd', 'crowd', red_id => 'half') GROUP BY red_id) g;
SELECT count FROM redblue_last_run() WHERE stage = 'emit';
SELECT count(*), sum(pairs) FROM (SELECT count(*) AS pairs FROM redblue_box_pairs('crowd', 'crowd', red_id => 'half') GROUP BY red_id) c;
SET redblue.memory_limit = '16MB';
SELECT count(*), sum(cardinality(ids)), bool_and(id1 < ALL (ids)) AS first FROM (SELECT id1, array_agg(id2) AS ids FROM redblue_box_self_pairs('crowd') GROUP BY id1) g;
SELECT count(*), sum(cardinality(ids)), bool_and(id2 > ALL (ids)) AS second FROM (SELECT id2, array_agg(id1) AS ids FROM redblue_box_self_pairs('crowd') GROUP BY id2) g;
SET redblue.memory_limit = '32MB';
SELECT count(*), sum(n) AS pairs, max(n), sum(length(red)) AS bytes FROM redblue_box_pair_blocks('crowd', 'crowd');
SELECT n FROM redblue_box_pair_blocks('crowd', 'crowd') LIMIT 2;
RESET redblue.memory_limit; RESET redblue.backend;

-- The limit is below what any join needs; that of a device is its own memory.
\set VERBOSITY terse
CREATE TABLE spot AS SELECT 1 AS id, 0 AS lx, 0 AS ly, 1 AS hx, 1 AS hy;
CREATE TABLE swarm AS SELECT i AS id, 0 AS lx, 0 AS ly, 1 AS hx, 1 AS hy FROM generate_series(1, 150000) i;
SET redblue.memory_limit = '8MB'; SET redblue.backend = cpu;
SELECT red_id, cardinality(array_agg(blue_id)) FROM redblue_box_pairs('spot', 'swarm') GROUP BY red_id;
RESET redblue.memory_limit;

-- Errors and privileges are those of the pairs.
SELECT red_id, count(*) FROM redblue_triangle_pairs(NULL, 'blue') GROUP BY red_id;
SELECT DISTINCT red_id FROM redblue_triangle_pairs('red', 'red_box');
SELECT red_id, array_agg(blue_id) FROM redblue_triangle_pairs_query('DELETE FROM red', 'TABLE blue') GROUP BY red_id;
SELECT * FROM redblue_box_pair_blocks('red_box', 'blue_box', red_id => 'none');
SELECT id1, array_agg(id2) FROM redblue_box_self_pairs_query('SELECT 3 AS id, 1 AS lx, 1 AS ly, 0 AS hx, 2 AS hy') GROUP BY id1;
CREATE ROLE answers_guest;
GRANT USAGE ON SCHEMA answers TO answers_guest;
SET ROLE answers_guest;
SELECT red_id, array_agg(blue_id) FROM redblue_triangle_pairs('red', 'blue') GROUP BY red_id;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION redblue_triangle_pair_blocks FROM public;
GRANT SELECT ON red, blue TO answers_guest;
SET ROLE answers_guest;
SELECT n FROM redblue_triangle_pair_blocks('red', 'blue');
SELECT count(*) > 0 AS allowed FROM (SELECT array_agg(blue_id) FROM redblue_triangle_pairs('red', 'blue') GROUP BY red_id) g;
RESET ROLE;
GRANT EXECUTE ON FUNCTION redblue_triangle_pair_blocks TO public;
BEGIN;
REVOKE EXECUTE ON FUNCTION array_agg(anynonarray) FROM PUBLIC;
SET LOCAL ROLE answers_guest;
SELECT red_id, array_agg(blue_id) FROM redblue_triangle_pairs('red', 'blue') GROUP BY red_id;
ROLLBACK;
SET client_min_messages = warning;
DROP SCHEMA answers CASCADE;
DROP ROLE answers_guest;
