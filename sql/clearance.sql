-- Tests pairs within a distance, and their distances.
-- An error may come from a parallel worker and then has a CONTEXT.
\set SHOW_CONTEXT never
\set schema clearance
\i sql/fixtures/prologue.sql
SET redblue.duplicate_notice = off;

-- Stairs of triangles, 2 apart on each axis, with edges of length 1
CREATE TABLE grid AS SELECT i::int8 AS id, x AS ax, y AS ay, z AS az, x + 1 AS bx, y AS by, z AS bz, x AS cx, y + 1 AS cy, z AS cz
	FROM (SELECT i, (i % 10) * 2.0::float8 AS x, (i / 10 % 10) * 2::float8 AS y, (i / 100) * 2::float8 AS z FROM generate_series(0, 999) i) s;
SELECT distance, count(*) FROM redblue_triangle_self_pairs_within('grid', 2) GROUP BY 1 ORDER BY 1;
-- Exactly this distance, and the adjacent double below it
SELECT count(*) FROM redblue_triangle_self_pairs_within('grid', 1);
SELECT count(*) FROM redblue_triangle_self_pairs_within('grid', 0.9999999999999999);
-- The double nearest to the square root of 2 is above it; 1.414213562373095 is below it.
SELECT count(*) FILTER (WHERE distance > 1) FROM redblue_triangle_self_pairs_within('grid', sqrt(2::float8));
SELECT count(*) FILTER (WHERE distance > 1) FROM redblue_triangle_self_pairs_within('grid', 1.414213562373095);
-- With distance 0, the pairs are those of the join.
SELECT count(*), max(distance) FROM redblue_triangle_pairs_within('grid', 'grid', 0);
SELECT redblue_triangle_pair_count('grid', 'grid');

-- Rows of several parts: the smallest distance counts.
SELECT * FROM redblue_triangle_pairs_within_query('SELECT id / 500 AS o, * FROM grid', 'SELECT 7 AS o, id, ax, ay, az + 100 AS az, bx, by, bz + 100 AS bz, cx, cy, cz + 100.5 AS cz FROM grid WHERE id % 100 < 3', 100,
	red_object => 'o', blue_object => 'o') ORDER BY 1, 2;

-- Lines in the plane and in space
CREATE TABLE lines AS SELECT i::int8 AS id, i::float8 AS ax, 0::float8 AS ay, i + 0.5::float8 AS bx, 0::float8 AS by FROM generate_series(1, 100) i;
SELECT distance, count(*) FROM redblue_segment_self_pairs_within('lines', 0.5) GROUP BY 1 ORDER BY 1;
SELECT distance, count(*) FROM redblue_segment_pairs_within('lines', 'lines', 1.5) GROUP BY 1 ORDER BY 1;
SELECT * FROM redblue_segment_pairs_within_query('SELECT 0 AS id, 0 AS ax, 3 AS ay, 50 AS bx, 3 AS by', 'SELECT * FROM lines WHERE id IN (1, 50, 51, 52)', 3.05) ORDER BY 2;
SELECT * FROM redblue_segment_triangle_pairs_within_query('SELECT 1 AS id, -1 AS ax, -1 AS ay, -1 AS az, -1 AS bx, -1 AS by, 5 AS bz', 'TABLE grid', 1.5) ORDER BY 2;

-- Estimates
CREATE FUNCTION expected(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan #> '{0,Plan,Plan Rows}';
END $$;
ANALYZE grid;
SELECT expected($$SELECT * FROM redblue_triangle_pairs_within('grid', 'grid', 2)$$) / (SELECT count(*) FROM redblue_triangle_pairs_within('grid', 'grid', 2)) BETWEEN 0.5 AND 2 AS about;
SELECT expected($$SELECT * FROM redblue_triangle_pairs_within('grid', 'grid', 0)$$) / (SELECT count(*) FROM redblue_triangle_pairs_within('grid', 'grid', 0)) BETWEEN 0.5 AND 2 AS about;
-- The k nearest are estimated as k for each row, but not more than there are rows.
SELECT expected($$SELECT * FROM redblue_triangle_nearest('grid', 'grid', 3)$$), expected($$SELECT * FROM redblue_triangle_nearest('grid', 'grid', 2000000000)$$);

-- Invalid calls
SELECT * FROM redblue_triangle_pairs_within('grid', 'grid', -1);
SELECT * FROM redblue_triangle_pairs_within('grid', 'grid', NULL);
SELECT * FROM redblue_triangle_pairs_within('grid', 'grid', 'NaN');
SELECT * FROM redblue_triangle_self_pairs_within('grid', 'infinity');
SELECT count(*) FROM redblue_triangle_self_pairs_within('grid', '-0');
SET redblue.backend = cpu; SET redblue.custom_scan = on; SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT * FROM redblue_triangle_pairs_within('grid', 'grid', -1);
RESET redblue.backend; RESET redblue.custom_scan; RESET max_parallel_workers_per_gather;

-- Very small and very large numbers
CREATE TABLE far AS SELECT id, ax * s AS ax, ay * s AS ay, az * s AS az, bx * s AS bx, by * s AS by, bz * s AS bz, cx * s AS cx, cy * s AS cy, cz * s AS cz FROM grid, (VALUES (1e-200::float8)) v (s) WHERE id < 100;
SELECT distance, count(*) FROM redblue_triangle_self_pairs_within('far', 1e-200) GROUP BY 1;
UPDATE far SET ax = ax * 1e300, ay = ay * 1e300, bx = bx * 1e300, by = by * 1e300, cx = cx * 1e300, cy = cy * 1e300;
SELECT distance, count(*) FROM redblue_triangle_self_pairs_within('far', 1.1e100) GROUP BY 1;

-- The scan and the function give the same.
SELECT count(*), sum(distance::numeric) FROM redblue_triangle_self_pairs_within('grid', 1.5);
SELECT count(*), sum((p).distance::numeric) FROM (SELECT redblue_triangle_self_pairs_within('grid', 1.5) AS p OFFSET 0) s;
SELECT i, count(*) FROM generate_series(0, 2) i, LATERAL (SELECT * FROM redblue_triangle_self_pairs_within('grid', i::float8) OFFSET 0) p GROUP BY 1 ORDER BY 1;
DROP SCHEMA clearance CASCADE;
