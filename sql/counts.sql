-- Tests functions that return only the number of pairs.
\set schema counts
\i sql/fixtures/prologue.sql
CREATE TABLE mesh AS SELECT i AS id, x AS ax, y AS ay, z AS az, x + i % 3 AS bx, y + i % 4 AS by, z + i % 2 AS bz, x - i % 5 AS cx, y + i % 3 AS cy, z + i % 7 AS cz
FROM (SELECT i, i * 7919 % 31 AS x, i * 104729 % 29 AS y, i * 1299709::int8 % 23 AS z FROM generate_series(1, 2000) i) s;
CREATE VIEW box AS SELECT id, least(ax, bx, cx) AS lx, least(ay, by, cy) AS ly, least(az, bz, cz) AS lz, greatest(ax, bx, cx) AS hx, greatest(ay, by, cy) AS hy, greatest(az, bz, cz) AS hz FROM mesh;
CREATE VIEW plan AS SELECT id, lx, ly, hx, hy FROM box;
SELECT redblue_triangle_pair_count('mesh', 'mesh') = (SELECT count(*) FROM redblue_triangle_pairs('mesh', 'mesh')) AS pairs,
	redblue_triangle_pair_count_query('SELECT * FROM mesh WHERE id < 99', 'TABLE mesh') = (SELECT count(*) FROM redblue_triangle_pairs('mesh', 'mesh') WHERE red_id < 99) AS query,
	redblue_triangle_self_pair_count('mesh') = (SELECT count(*) FROM redblue_triangle_self_pairs('mesh')) AS self,
	redblue_triangle_self_pair_count_query('TABLE mesh') = redblue_triangle_self_pair_count('mesh') AS self_query,
	redblue_triangle_self_pair_count('mesh') > 1000 AS many;
SELECT redblue_box_pair_count('box', 'box') = (SELECT count(*) FROM redblue_box_pairs('box', 'box')) AS pairs,
	redblue_box_pair_count_query('SELECT * FROM box WHERE id < 99', 'TABLE box') = (SELECT count(*) FROM redblue_box_pairs('box', 'box') WHERE red_id < 99) AS query,
	redblue_box_self_pair_count('box') = (SELECT count(*) FROM redblue_box_self_pairs('box')) AS self,
	redblue_box_self_pair_count_query('TABLE box') = redblue_box_self_pair_count('box') AS self_query,
	redblue_box_self_pair_count('plan') = (SELECT count(*) FROM redblue_box_self_pairs('plan')) AS plane,
	redblue_box_self_pair_count('box') > 10000 AS many;
CREATE VIEW line AS SELECT id, ax, ay, bx, by FROM mesh;
CREATE VIEW hole AS SELECT id, ax, ay, az, bx, by, bz FROM mesh WHERE id % 3 = 0;
SELECT redblue_segment_pair_count('line', 'line') = (SELECT count(*) FROM redblue_segment_pairs('line', 'line')) AS pairs,
	redblue_segment_pair_count_query('SELECT * FROM line WHERE id < 99', 'TABLE line') = (SELECT count(*) FROM redblue_segment_pairs('line', 'line') WHERE red_id < 99) AS query,
	redblue_segment_self_pair_count('line') = (SELECT count(*) FROM redblue_segment_self_pairs('line')) AS self,
	redblue_segment_self_pair_count_query('TABLE line') = redblue_segment_self_pair_count('line') AS self_query,
	redblue_segment_triangle_pair_count('hole', 'mesh') = (SELECT count(*) FROM redblue_segment_triangle_pairs('hole', 'mesh')) AS segment_triangle,
	redblue_segment_triangle_pair_count_query('TABLE hole', 'TABLE mesh') = redblue_segment_triangle_pair_count('hole', 'mesh') AS segment_triangle_query,
	redblue_segment_triangle_pair_count('hole', 'mesh') > 100 AS many;
-- Within a distance
SELECT redblue_triangle_pair_count_within('mesh', 'mesh', 0.5) - (SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs_within('mesh', 'mesh', 0.5) OFFSET 0) p) AS pairs,
	redblue_triangle_pair_count_within_query('SELECT * FROM mesh WHERE id < 99', 'TABLE mesh', 0.5) - (SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs_within('mesh', 'mesh', 0.5) OFFSET 0) p WHERE red_id < 99) AS query,
	redblue_triangle_self_pair_count_within('mesh', 0.5) - (SELECT count(*) FROM (SELECT * FROM redblue_triangle_self_pairs_within('mesh', 0.5) OFFSET 0) p) AS self,
	redblue_triangle_self_pair_count_within_query('TABLE mesh', 0.5) - redblue_triangle_self_pair_count_within('mesh', 0.5) AS self_query,
	redblue_segment_triangle_pair_count_within('hole', 'mesh', 0.5) - (SELECT count(*) FROM (SELECT * FROM redblue_segment_triangle_pairs_within('hole', 'mesh', 0.5) OFFSET 0) p) AS segment_triangle,
	redblue_segment_triangle_pair_count_within_query('TABLE hole', 'TABLE mesh', 0.5) - redblue_segment_triangle_pair_count_within('hole', 'mesh', 0.5) AS segment_triangle_query,
	redblue_segment_pair_count_within('line', 'line', 0.5) - (SELECT count(*) FROM (SELECT * FROM redblue_segment_pairs_within('line', 'line', 0.5) OFFSET 0) p) AS segments,
	redblue_segment_pair_count_within_query('TABLE line', 'TABLE line', 0.5) - redblue_segment_pair_count_within('line', 'line', 0.5) AS segments_query,
	redblue_segment_self_pair_count_within('line', 0.5) - (SELECT count(*) FROM (SELECT * FROM redblue_segment_self_pairs_within('line', 0.5) OFFSET 0) p) AS segments_self,
	redblue_segment_self_pair_count_within_query('TABLE line', 0.5) - redblue_segment_self_pair_count_within('line', 0.5) AS segments_self_query,
	redblue_triangle_pair_count_within('mesh', 'mesh', 0) - redblue_triangle_pair_count('mesh', 'mesh') AS at_0;
-- In the select list, once for each row; in WHERE; with other ids
SELECT t, redblue_triangle_self_pair_count(t) > 0 AS some FROM unnest(ARRAY['mesh'::regclass, 'mesh']) t;
SELECT k, redblue_box_self_pair_count_query(format('SELECT * FROM box WHERE id %% 100 = %s', k)) AS n FROM generate_series(1, 3) k;
SELECT count(*) FROM generate_series(1, 3) k WHERE redblue_box_pair_count_query('SELECT * FROM box WHERE id < 3', 'TABLE box') > k;
SELECT redblue_box_pair_count('box', 'box', red_id => 'lx', blue_id => 'hx') = redblue_box_pair_count('box', 'box') AS same;
SELECT redblue_triangle_pair_count_query('SELECT * FROM mesh WHERE false', 'TABLE mesh') AS none;
-- More pairs than fit into the memory limit: 200,000,000 pairs would take 1.6 GB.
CREATE TABLE crowd AS SELECT i AS id, 0 AS lx, 0 AS ly, 0 AS lz, 1 AS hx, 1 AS hy, 1 AS hz FROM generate_series(1, 20000) i;
SET redblue.memory_limit = '32MB';
SELECT redblue_box_self_pair_count('crowd') = 20000::int8 * 19999 / 2 AS all;
SELECT count FROM redblue_last_run() WHERE stage = 'emit';
RESET redblue.memory_limit;
-- Errors are those of the pairs, with the name of this function.
SELECT redblue_triangle_pair_count(NULL, 'mesh');
SELECT redblue_box_self_pair_count('mesh');
SELECT redblue_triangle_pair_count_within('mesh', 'mesh', -1);
SELECT redblue_box_pair_count('box', 'plan');
SELECT redblue_triangle_self_pair_count_query('DELETE FROM mesh');
SELECT redblue_box_self_pair_count_query('SELECT 3 AS id, 1 AS lx, 1 AS ly, 0 AS hx, 2 AS hy');
SET client_min_messages = warning;
DROP SCHEMA counts CASCADE;
