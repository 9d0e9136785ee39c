-- counts, hits, groups and blocks are what SQL makes of the pairs
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS redblue;
RESET client_min_messages;
CREATE SCHEMA answers;
SET search_path = answers, public;
SET redblue.backend = cpu;
SET redblue.threads = 2;

-- ids that do not ascend, ids that repeat, objects of several rows, and rows that meet nothing
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

-- what differs between the four answers of a join and its pairs, with the scan and without: nothing
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
