-- Tests measures of solids.
\set SHOW_CONTEXT never
\set schema solid_measures
\i sql/fixtures/prologue.sql
SET redblue.duplicate_notice = off;

\i sql/fixtures/box.sql
-- 1 is a box; 2 a box with a cavity that contains a box; 3 two boxes that share an edge; 4 is 1 with all faces, and 5 with every third face, turned over; 6 lies far away.
CREATE TABLE ore AS SELECT row_number() OVER () AS id, ore, ax, ay, az, bx, by, bz, cx, cy, cz FROM (
	SELECT 1 AS ore, * FROM box(0, 0, 0, 10, 10, 10)
	UNION ALL SELECT 2, * FROM box(1, 1, 1, 9, 9, 9)
	UNION ALL SELECT 2, * FROM box(2, 2, 2, 8, 8, 8)
	UNION ALL SELECT 2, * FROM box(3, 3, 3, 7, 7, 7)
	UNION ALL SELECT 3, * FROM box(0, 0, 0, 1, 1, 1)
	UNION ALL SELECT 3, * FROM box(1, 1, 0, 3, 2, 1)
	UNION ALL SELECT 4, n, bx, by, bz, ax, ay, az, cx, cy, cz FROM box(0, 0, 0, 10, 10, 10)
	UNION ALL SELECT 5, n, CASE WHEN n % 3 = 0 THEN bx ELSE ax END, CASE WHEN n % 3 = 0 THEN by ELSE ay END, CASE WHEN n % 3 = 0 THEN bz ELSE az END,
		CASE WHEN n % 3 = 0 THEN ax ELSE bx END, CASE WHEN n % 3 = 0 THEN ay ELSE by END, CASE WHEN n % 3 = 0 THEN az ELSE bz END, cx, cy, cz FROM box(0, 0, 0, 10, 10, 10)
	UNION ALL SELECT 6, * FROM box(391777.123, 5820111.456, 34.5, 391778.123, 5820112.456, 35.5)) s;
SELECT * FROM redblue_solid_measures('ore', solid => 'ore') ORDER BY id;
SELECT * FROM redblue_solid_measures_query('SELECT ore AS body, * FROM ore WHERE ore < 3', solid => 'body') ORDER BY id;
-- A tetrahedron with a slanted face of area sqrt(3) / 2
CREATE TABLE tetrahedron AS SELECT 1 AS id, f.* FROM (VALUES (0, 0, 0, 0, 1, 0, 1, 0, 0), (0, 0, 0, 1, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 1, 0, 1, 0), (1, 0, 0, 0, 1, 0, 0, 0, 1)) f (ax, ay, az, bx, by, bz, cx, cy, cz);
SELECT volume, volume = 1 / 6.0::float8 AS sixth, area, area = (1.5 + sqrt(0.75::numeric(60, 50)))::float8 AS nearest, cx, cy, cz, hx, hy, hz FROM redblue_solid_measures('tetrahedron', solid => 'id');
-- Results beyond the range of doubles
SELECT * FROM redblue_solid_measures_query('SELECT 1 AS body, * FROM box(0, 0, 0, 1e-150, 1e-150, 1e-150)', solid => 'body');
SELECT * FROM redblue_solid_measures_query('SELECT 1 AS body, * FROM box(0, 0, 0, 1e-200, 1e-200, 1e-200)', solid => 'body');
SELECT * FROM redblue_solid_measures_query('SELECT 1 AS body, * FROM box(0, 0, 0, 1e150, 1e150, 1e150)', solid => 'body');
SELECT * FROM redblue_solid_measures_query('SELECT 1 AS body, * FROM box(-1.5e308, 0, 0, 1.5e308, 1e308, 1e-300)', solid => 'body');
-- As a function, as a scan, in a join, on one thread and on several
SELECT (m).id, (m).volume, (m).hz FROM (SELECT redblue_solid_measures('ore', solid => 'ore') AS m OFFSET 0) s ORDER BY 1;
SET redblue.backend = cpu; SET redblue.custom_scan = on; SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT sum(volume) FROM redblue_solid_measures('ore', solid => 'ore') WHERE area > 100;
RESET redblue.backend; RESET redblue.custom_scan; RESET max_parallel_workers_per_gather;
SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT n, count(*), sum(volume), max(hx) FROM generate_series(1, 3) n LEFT JOIN redblue_solid_measures('ore', solid => 'ore') m ON m.id % 3 = n % 3 GROUP BY 1 ORDER BY 1;
RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin;
CREATE TABLE balls AS SELECT b AS ball, i * 100 + j AS id, x[1] AS ax, y[1] AS ay, z[1] AS az, x[2] AS bx, y[2] AS by, z[2] AS bz, x[3] AS cx, y[3] AS cy, z[3] AS cz
	FROM generate_series(1, 40) b, generate_series(0, 8) i, generate_series(0, 11) j, generate_series(0, 1) h,
	LATERAL (SELECT array_agg(3 * b + r * cosd(30 * s) ORDER BY k) AS x, array_agg(r * sind(30 * s) ORDER BY k) AS y, array_agg(cosd(20 * band) ORDER BY k) AS z
		FROM (SELECT k, band, s, sind(20 * band) AS r FROM (SELECT k, i + (CASE WHEN k = 1 THEN 0 WHEN h = 0 OR k = 2 THEN 1 ELSE 0 END) AS band, (j + CASE WHEN k = 1 THEN 0 WHEN h = 0 THEN k - 2 ELSE 1 END) % 12 AS s FROM generate_series(1, 3) k) t) u) v
	WHERE NOT (i = 0 AND h = 1) AND NOT (i = 8 AND h = 0);
SET redblue.threads = 1;
CREATE TABLE of_one AS SELECT * FROM redblue_solid_measures('balls', solid => 'ball');
SET redblue.threads = 7;
CREATE TABLE of_seven AS SELECT * FROM redblue_solid_measures('balls', solid => 'ball');
RESET redblue.threads;
SELECT (SELECT count(*) FROM of_one) AS rows, count(*) AS different FROM (TABLE of_one EXCEPT TABLE of_seven) d;
SELECT count(DISTINCT volume::numeric(20, 8)) AS volumes, count(DISTINCT area::numeric(20, 8)) AS areas, max(abs(cx - 3 * id)) < 1e-12 AS centered FROM of_one;

-- Invalid solids: the error that redblue_solid_check explains, or skipped with a notice
CREATE TABLE bad AS SELECT * FROM ore;
DELETE FROM bad WHERE id = 5;
SELECT count(*) FROM redblue_solid_measures('bad', solid => 'ore');
SELECT id, valid, reason FROM redblue_solid_check('bad', solid => 'ore') WHERE NOT valid;
SELECT id, volume FROM redblue_solid_measures('bad', solid => 'ore', on_bad => 'skip') ORDER BY id;
INSERT INTO bad SELECT 1000 + n, 3, ax, ay, az, bx, by, bz, cx, cy, cz FROM box(0.5, 0.5, 0.5, 1.5, 1.5, 1.5);
UPDATE bad SET az = 'NaN' WHERE ore = 6 AND id = (SELECT max(id) FROM bad WHERE ore = 6);
SELECT id, volume FROM redblue_solid_measures('bad', solid => 'ore', on_bad => 'skip') ORDER BY id;
SELECT substring(detail FROM '[0-9]+ invalid solids?') AS detail FROM redblue_last_run() WHERE stage = 'read';
SELECT count(*) FROM redblue_solid_measures('bad', solid => 'ore');
-- Each row of this table is one triangle.
SELECT count(*) FROM redblue_solid_measures('ore');
SELECT count(*) FROM redblue_solid_measures('ore', solid => 'ore', on_bad => 'ignore');
SELECT count(*) FROM redblue_solid_measures('ore', solid => 'body');
SELECT count(*) FROM redblue_solid_measures(NULL);
SELECT count(*) FROM redblue_solid_measures_query('SELECT * FROM ore LIMIT 0', solid => 'ore');

SET client_min_messages = warning;
DROP SCHEMA solid_measures CASCADE;
