-- Tests that counts, matched rows, groups and blocks equal what SQL computes from the pairs.
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

-- Differences between the four aggregates of a join and its pairs, with the scan and without; expected: none
CREATE TEMP TABLE pair (a bigint, b bigint);
CREATE FUNCTION differences(base text, sides text, form text DEFAULT '', OUT pairs bigint, OUT ids bigint, OUT differ text) LANGUAGE plpgsql AS $$
DECLARE
	all_pairs text := CASE WHEN base LIKE '%self' THEN '(SELECT a, b FROM pair UNION ALL SELECT b, a FROM pair) p' ELSE 'pair p' END;
	query text;
	n bigint;
BEGIN
	differ := '';
	TRUNCATE pair;
	EXECUTE format('INSERT INTO pair SELECT * FROM redblue_%s_pairs%s(%s)', base, form, sides);
	EXECUTE format('SELECT count(*), count(DISTINCT a) FROM %s', all_pairs) INTO pairs, ids;
	FOREACH query IN ARRAY ARRAY[
		format('SELECT a, count(*) FROM %s GROUP BY a / SELECT * FROM redblue_%s_pair_counts%s(%s)', all_pairs, base, form, sides),
		format('SELECT DISTINCT a FROM %s / SELECT * FROM redblue_%s_hits%s(%s)', all_pairs, base, form, sides),
		format('SELECT a, array_agg(b ORDER BY b) FROM %s GROUP BY a / SELECT * FROM redblue_%s_pairs_grouped%s(%s)', all_pairs, base, form, sides),
		format('SELECT a, b FROM pair / SELECT a, b FROM redblue_%s_pair_blocks%s(%s) AS k (n, r, s), unnest(unpack(r), unpack(s)) AS u (a, b) WHERE length(r) = 8 * n AND length(s) = 8 * n',
			base, form, sides)]
	LOOP
		query := format('SELECT count(*) FROM ((%s EXCEPT ALL %s) UNION ALL (%2$s EXCEPT ALL %1$s)) d', split_part(query, ' / ', 1), split_part(query, ' / ', 2));
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
-- Rows come in the order in which they were read, and the ids of an array ascend. A row without pairs does not appear.
SELECT red_id, pairs FROM redblue_triangle_pair_counts('red', 'blue') LIMIT 5;
SELECT red_id FROM redblue_triangle_hits('red', 'blue') AS red_id LIMIT 5;
SELECT red_id, blue_ids FROM redblue_triangle_pairs_grouped('red', 'blue') LIMIT 5;
SELECT id, ids FROM redblue_triangle_self_pairs_grouped('red') LIMIT 3;
SELECT segment_id, triangle_ids FROM redblue_segment_triangle_pairs_grouped('red_line', 'blue') LIMIT 3;
SELECT n, length(red), length(blue) FROM redblue_triangle_pair_blocks('red', 'blue');
SELECT n, unpack(id1) @> '{7}' AS one FROM redblue_triangle_self_pair_blocks('red');
SELECT n, length(segments), length(triangles) FROM redblue_segment_triangle_pair_blocks('red_line', 'nothing');
SELECT count(*) AS in_order FROM (SELECT id, lag(n) OVER (ORDER BY at) < n AS up
	FROM redblue_triangle_pair_counts('red', 'blue') WITH ORDINALITY AS c (id, pairs, at), LATERAL (SELECT i AS n FROM generate_series(1, 600) i WHERE i * 7 % 601 = id) r) s WHERE up;
SELECT bool_and(blue_ids = (SELECT array_agg(b ORDER BY b) FROM unnest(blue_ids) b)) AS ascending, max(cardinality(blue_ids)) AS longest
FROM redblue_triangle_pairs_grouped('red', 'blue', red_id => 'few');
-- Without pairs, there are no rows and no block.
SELECT (SELECT count(*) FROM redblue_box_pair_counts('red_box', 'red_box') WHERE pairs = 0) AS zeros,
	(SELECT count(*) FROM redblue_triangle_pair_blocks('nothing', 'blue')) AS blocks;

-- Positions in a statement: with and without columns, repeated, in the select list, with a filter, in a cursor
SELECT count(*) FROM redblue_triangle_pair_counts('red', 'blue');
SELECT count(*) FROM redblue_triangle_hits('red', 'blue');
SELECT count(*) FROM red WHERE id IN (SELECT redblue_triangle_hits('red', 'blue'));
SELECT count(*) FROM (SELECT redblue_triangle_pairs_grouped('red', 'blue') AS g) s WHERE cardinality((g).blue_ids) > 1;
SELECT (redblue_triangle_pair_blocks('red', 'blue')).n;
SELECT sum(c.pairs), count(DISTINCT c) AS whole FROM redblue_triangle_pair_counts('red', 'blue') c WHERE c.pairs BETWEEN 2 AND 3;
SELECT k, g.* FROM generate_series(1, 2) k, LATERAL (SELECT count(*), sum(cardinality(blue_ids)) FROM redblue_triangle_pairs_grouped('red', 'blue') WHERE cardinality(blue_ids) > k) g;
SELECT k, (SELECT sum(n) FROM redblue_segment_pair_blocks_query(format('SELECT * FROM red_line WHERE few < %s', k), 'TABLE blue_line')) AS n FROM generate_series(1, 3) k;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM redblue_triangle_pairs_grouped('red', 'blue');
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH 2 FROM c;
COMMIT;
PREPARE hits(text) AS SELECT count(*) FROM redblue_triangle_hits_query($1, 'TABLE blue');
EXECUTE hits('TABLE red');
EXECUTE hits('SELECT * FROM red WHERE id < 100');

-- A single column, columns in another order or twice, and repeated rows give the same with our own scan and without.
CREATE FUNCTION asked_again() RETURNS TABLE (k int, counts numeric, hits numeric, groups numeric, blocks numeric, pairs numeric, turned numeric, twice numeric) LANGUAGE sql AS $$
SELECT k, (SELECT sum(pairs) FROM redblue_triangle_pair_counts('red', 'blue') WHERE pairs > k / 50),
	(SELECT sum(id) FROM redblue_triangle_hits('red', 'blue') AS id WHERE id > k),
	(SELECT sum(blue_ids[1]) FROM redblue_triangle_pairs_grouped('red', 'blue') WHERE red_id > k),
	(SELECT sum(n) FROM redblue_triangle_pair_blocks('red', 'blue') WHERE n > k),
	(SELECT sum(blue_id) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id > k),
	(SELECT sum(pairs * (red_id + k)) FROM (SELECT pairs, red_id FROM redblue_triangle_pair_counts('red', 'blue') OFFSET 0) s),
	(SELECT sum(b * b2 + k) FROM (SELECT blue_id AS b, red_id, blue_id AS b2 FROM redblue_triangle_pairs('red', 'blue') OFFSET 0) s)
FROM generate_series(0, 400, 200) k $$;
SELECT * FROM asked_again();
SET redblue.custom_scan = off;
SELECT * FROM asked_again();
RESET redblue.custom_scan;
SELECT sum(pairs) FROM redblue_triangle_pair_counts('red', 'blue');
SELECT sum(red_id) FROM redblue_triangle_pair_counts('red', 'blue');

-- Plans, with and without our own scan; numbers of rows that the planner expects
SET redblue.custom_scan = on;
SET redblue.backend = cpu;
EXPLAIN (COSTS OFF) SELECT * FROM redblue_triangle_pair_counts('red', 'blue') WHERE pairs > 1;
EXPLAIN (COSTS OFF) SELECT * FROM redblue_box_self_hits('red_box') AS id;
EXPLAIN (COSTS OFF) SELECT n FROM redblue_triangle_self_pair_blocks('red');
SET redblue.custom_scan = off;
EXPLAIN (COSTS OFF) SELECT * FROM redblue_triangle_pair_counts('red', 'blue') WHERE pairs > 1;
RESET redblue.custom_scan;
RESET redblue.backend;
CREATE FUNCTION expected(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
SELECT expected($$SELECT * FROM redblue_triangle_pairs('red', 'blue')$$) AS pairs,
	expected($$SELECT * FROM redblue_triangle_pair_counts('red', 'blue')$$) AS counts,
	expected($$SELECT * FROM redblue_triangle_hits('red', 'blue')$$) AS hits,
	expected($$SELECT * FROM redblue_triangle_pairs_grouped('red', 'blue')$$) AS groups,
	expected($$SELECT * FROM redblue_triangle_pair_blocks('red', 'blue')$$) AS blocks,
	expected($$SELECT * FROM redblue_triangle_self_hits('red')$$) AS self;

-- The statistics are those of any join: the numbers of counted pairs and matched rows.
SELECT sum(pairs) FROM redblue_triangle_pair_counts('red', 'blue');
SELECT stage, count FROM redblue_last_run() WHERE stage IN ('read', 'emit');
SELECT count(*) FROM redblue_triangle_hits('red', 'blue');
SELECT stage, count FROM redblue_last_run() WHERE stage IN ('read', 'emit');
SELECT count(*) FROM redblue_triangle_pairs_grouped('red', 'blue');
SELECT stage, count FROM redblue_last_run() WHERE stage IN ('read', 'emit');

-- More pairs than fit into memory: 4,000,000
CREATE TABLE crowd AS SELECT i AS id, i % 2 AS half, 0 AS lx, 0 AS ly, 1 AS hx, 1 AS hy FROM generate_series(1, 2000) i;
SET redblue.memory_limit = '32MB';
SELECT count(*), sum(pairs), min(pairs), max(pairs) FROM redblue_box_pair_counts('crowd', 'crowd');
SELECT count(*), sum(pairs), min(pairs), max(pairs) FROM redblue_box_self_pair_counts('crowd');
SELECT count(*), sum(cardinality(blue_ids)), min(blue_ids[1]), max(blue_ids[2000]), array_agg(red_id ORDER BY red_id) = array_agg(red_id) AS in_order
FROM redblue_box_pairs_grouped('crowd', 'crowd');
SELECT count FROM redblue_last_run() WHERE stage = 'emit';
SELECT count(*), sum(cardinality(ids)), min(ids[1]), max(ids[1999]), bool_or(id = ANY (ids)) AS with_itself FROM redblue_box_self_pairs_grouped('crowd');
SELECT count(*), sum(cardinality(blue_ids)) FROM redblue_box_pairs_grouped_query('SELECT CASE WHEN id < 100 THEN id / 2 ELSE id END AS id, lx, ly, hx, hy FROM crowd', 'TABLE crowd', red_object => 'id');
SELECT count(*), sum(n) AS pairs, max(n), sum(length(red)) AS bytes FROM redblue_box_pair_blocks('crowd', 'crowd');
SELECT n FROM redblue_box_pair_blocks('crowd', 'crowd') LIMIT 2;
-- Rows of one id that form many objects cannot be joined in portions. The error says what to do.
\set VERBOSITY terse
SELECT count(*) FROM redblue_box_pairs_grouped('crowd', 'crowd', red_id => 'half');
SELECT count(*), sum(pairs) FROM redblue_box_pair_counts('crowd', 'crowd', red_id => 'half');
RESET redblue.memory_limit;

-- Errors are those of the pairs, with the name of this function.
SELECT * FROM redblue_triangle_pair_counts(NULL, 'blue');
SELECT * FROM redblue_triangle_hits('red', 'red_box');
SELECT * FROM redblue_triangle_pairs_grouped_query('DELETE FROM red', 'TABLE blue');
SELECT * FROM redblue_box_pair_blocks('red_box', 'blue_box', red_id => 'none');
SELECT * FROM redblue_box_self_hits_query('SELECT 3 AS id, 1 AS lx, 1 AS ly, 0 AS hx, 2 AS hy');
SELECT * FROM redblue_triangle_self_pair_counts('red', face_tolerance => -1);
-- The caller's privileges apply.
CREATE ROLE answers_guest;
GRANT USAGE ON SCHEMA answers TO answers_guest;
SET ROLE answers_guest;
SELECT * FROM redblue_triangle_hits('red', 'blue');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION redblue_triangle_hits FROM public;
GRANT SELECT ON red, blue TO answers_guest;
SET ROLE answers_guest;
SELECT * FROM redblue_triangle_hits('red', 'blue');
SELECT count(*) > 0 AS allowed FROM redblue_triangle_pair_counts('red', 'blue');
RESET ROLE;
GRANT EXECUTE ON FUNCTION redblue_triangle_hits TO public;
SET client_min_messages = warning;
DROP SCHEMA answers CASCADE;
DROP ROLE answers_guest;
