-- Tests what lies in a solid.
-- An error may come from a parallel worker and then has a CONTEXT.
\set SHOW_CONTEXT never
\set schema solids
\i sql/fixtures/prologue.sql
SET redblue.duplicate_notice = off;

\i sql/fixtures/box.sql
-- 1 is a box; 2 is a box in it, with a cavity that contains 3; 4 is next to 1.
CREATE TABLE ore AS SELECT row_number() OVER () AS id, ore, ax, ay, az, bx, by, bz, cx, cy, cz FROM (
	SELECT 1 AS ore, * FROM box(0, 0, 0, 10, 10, 10)
	UNION ALL SELECT 2, * FROM box(1, 1, 1, 9, 9, 9)
	UNION ALL SELECT 2, * FROM box(2, 2, 2, 8, 8, 8)
	UNION ALL SELECT 3, * FROM box(3, 3, 3, 7, 7, 7)
	UNION ALL SELECT 4, * FROM box(10, 0, 0, 20, 10, 10)) s;
CREATE TABLE points (id int8 PRIMARY KEY, name text, x float8, y float8, z float8);
INSERT INTO points VALUES
	(1, 'in the middle', 5, 5, 5),
	(2, 'in the outer one only', 0.5, 0.5, 0.5),
	(3, 'in the wall of the second', 1.5, 5, 5),
	(4, 'in the cavity', 2.5, 5, 5),
	(5, 'on the wall between 1 and 4', 10, 5, 5),
	(6, 'on an edge of both', 10, 0, 5),
	(7, 'on a corner', 0, 0, 0),
	(8, 'below a corner', 0, 0, -1),
	(9, 'above', 5, 5, 11),
	(10, 'below', 5, 5, -1),
	(11, 'in one plane with a face, outside', -1, 5, 0),
	(12, 'on a diagonal', 5, 5, 0),
	(13, 'on a wall of the cavity', 2, 5, 5);
SELECT p.id, name, solid_id, side FROM points p LEFT JOIN redblue_points_in_solids('points', 'ore', solid => 'ore') b ON b.point_id = p.id ORDER BY 1, 3;
SELECT * FROM redblue_points_in_solids_query('SELECT * FROM points WHERE id < 4', 'SELECT ore AS id, * FROM (SELECT ore, ax, ay, az, bx, by, bz, cx, cy, cz FROM ore) o', solid => 'ore') ORDER BY 1, 2;
-- As a function, and in the plan
SELECT (p).side, count(*) FROM (SELECT redblue_points_in_solids('points', 'ore', solid => 'ore') AS p OFFSET 0) s GROUP BY 1 ORDER BY 1;
SET redblue.backend = cpu; SET redblue.custom_scan = on; SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT solid_id, count(*) FROM redblue_points_in_solids('points', 'ore', solid => 'ore') WHERE side = 'inside' GROUP BY 1;
RESET redblue.backend; RESET redblue.custom_scan; RESET max_parallel_workers_per_gather;
-- All grid points: those inside, those on the boundary, and their expected numbers
CREATE TABLE lattice AS SELECT row_number() OVER () AS id, x::float8, y::float8, z::float8 FROM generate_series(-1, 21) x, generate_series(-1, 11) y, generate_series(-1, 11) z;
SELECT solid_id, side, count(*), CASE side || solid_id WHEN 'inside1' THEN 9^3 WHEN 'boundary1' THEN 11^3 - 9^3 WHEN 'inside2' THEN 7^3 - 7^3 WHEN 'boundary2' THEN 9^3 - 7^3 + 7^3 - 5^3 WHEN 'inside3' THEN 3^3 WHEN 'boundary3' THEN 5^3 - 3^3 WHEN 'inside4' THEN 9^3 WHEN 'boundary4' THEN 11^3 - 9^3 END AS wanted
	FROM redblue_points_in_solids('lattice', 'ore', solid => 'ore') GROUP BY 1, 2 ORDER BY 1, 2;

-- Not closed, self-intersecting, flat: an error that names the solid, or ignored and counted
CREATE TABLE bad AS SELECT * FROM ore;
DELETE FROM bad WHERE id = 5;
SELECT count(*) FROM redblue_points_in_solids('points', 'bad', solid => 'ore');
SELECT solid_id, count(*) FROM redblue_points_in_solids('points', 'bad', solid => 'ore', on_bad => 'skip') GROUP BY 1 ORDER BY 1;
SELECT substring(detail FROM '[0-9]+ invalid solids?') AS detail FROM redblue_last_run() WHERE stage = 'read';
INSERT INTO bad SELECT 5, 1, ax, ay, az, bx, by, bz, cx, cy, cz FROM ore WHERE id = 5;
INSERT INTO bad SELECT 1000 + n, 1, ax, ay, az, bx, by, bz, cx, cy, cz FROM box(5, 5, 5, 15, 15, 15);
SELECT count(*) FROM redblue_points_in_solids('points', 'bad', solid => 'ore');
SELECT count(*) FROM redblue_points_in_solids_query('TABLE points', 'SELECT 9 AS b, * FROM ore WHERE id = 1', solid => 'b');
SELECT count(*) FROM redblue_points_in_solids_query('TABLE points', 'SELECT 9 AS b, id, ax, ay, az, ax AS bx, ay AS by, az AS bz, cx, cy, cz FROM ore WHERE id < 4', solid => 'b');
-- Each row of this table is one triangle.
SELECT count(*) FROM redblue_points_in_solids('points', 'ore');
SELECT count(*) FROM redblue_points_in_solids('points', 'ore', solid => 'ore', on_bad => 'ignore');
SELECT count(*) FROM redblue_points_in_solids('points', 'ore', solid => '');
SELECT count(*) FROM redblue_points_in_solids('points', 'ore', solid => 'solids');
SELECT count(*) FROM redblue_points_in_solids('ore', 'points', solid => 'ore');
SELECT count(*) FROM redblue_points_in_solids('points', NULL);
INSERT INTO points VALUES (14, 'nowhere', 'NaN', 0, 0);
SELECT count(*) FROM redblue_points_in_solids('points', 'ore', solid => 'ore');
DELETE FROM points WHERE id = 14;
-- No rows
SELECT count(*) FROM redblue_points_in_solids_query('SELECT * FROM points LIMIT 0', 'TABLE ore', solid => 'ore');
SELECT count(*) FROM redblue_points_in_solids_query('TABLE points', 'SELECT * FROM ore LIMIT 0', solid => 'ore');

-- Intervals of lines
CREATE TABLE holes (id int8 PRIMARY KEY, name text, ax float8, ay float8, az float8, bx float8, by float8, bz float8);
INSERT INTO holes VALUES
	(1, 'through all', -5, 5, 5, 25, 5, 5),
	(2, 'from the middle up', 5, 5, 5, 5, 5, 15),
	(3, 'on the wall between 1 and 4', 10, 5, 5, 10, 5, 15),
	(4, 'on an edge of both', 10, 0, -5, 10, 0, 5),
	(5, 'beside', -1, 5, -5, -1, 5, 15),
	(6, 'to a corner', 0, 0, 0, -1, -1, -1),
	(7, 'within 3', 4, 4, 4, 6, 6, 6),
	(8, 'a point within 3', 4, 4, 4, 4, 4, 4),
	(9, 'a point on 1', 0, 5, 5, 0, 5, 5),
	(10, 'along a diagonal of a face, out', 0, 0, 10, 11, 11, 10);
SELECT segment_id, name, solid_id, from_fraction, to_fraction, length, on_boundary FROM redblue_segments_in_solids('holes', 'ore', solid => 'ore') JOIN holes ON id = segment_id ORDER BY 1, 3, 4;
-- Length of ore per hole
SELECT name, solid_id AS ore, sum(length) AS metres FROM redblue_segments_in_solids('holes', 'ore', solid => 'ore') JOIN holes ON id = segment_id WHERE NOT on_boundary GROUP BY 1, 2 ORDER BY 1, 2;
-- As a function, as a scan, and materialized by the scan
SELECT count(*), sum((s).length) FROM (SELECT redblue_segments_in_solids('holes', 'ore', solid => 'ore') AS s OFFSET 0) t;
SET redblue.backend = cpu; SET redblue.custom_scan = on; SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT sum(length) FROM redblue_segments_in_solids('holes', 'ore', solid => 'ore') WHERE NOT on_boundary;
RESET redblue.backend; RESET redblue.custom_scan; RESET max_parallel_workers_per_gather;
SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT n, count(*), sum(length), max(to_fraction), count(*) FILTER (WHERE on_boundary) FROM generate_series(1, 3) n LEFT JOIN redblue_segments_in_solids('holes', 'ore', solid => 'ore') s ON s.segment_id % 3 = n % 3 GROUP BY 1 ORDER BY 1;
RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin;
SELECT * FROM redblue_segments_in_solids_query('SELECT * FROM holes WHERE id = 1', 'TABLE ore', solid => 'ore') ORDER BY 2, 3 LIMIT 2;
-- The inside and the outside of a hole add up to the hole.
SELECT count(*) AS holes, bool_and(abs(inside + (SELECT sum(length) FROM redblue_segments_in_solids_query(format('SELECT * FROM holes WHERE id = %s', id),
	'SELECT 1 AS b, ax, ay, az, bx, by, bz, cx, cy, cz FROM ore WHERE ore = 1 UNION ALL SELECT 1, (b).* FROM (SELECT ax, ay, az, bx, by, bz, cx, cy, cz FROM box(-50, -50, -50, 50, 50, 50)) b', solid => 'b')) - sqrt((bx - ax) ^ 2 + (by - ay) ^ 2 + (bz - az) ^ 2)) < 1e-12) AS whole
	FROM (SELECT id, ax, ay, az, bx, by, bz, sum(length) AS inside FROM redblue_segments_in_solids('holes', 'ore', solid => 'ore') JOIN holes ON id = segment_id WHERE solid_id = 1 AND id IN (1, 2, 6, 7) GROUP BY 1) s;
SELECT count(*) FROM redblue_segments_in_solids('holes', 'bad', solid => 'ore');
SELECT solid_id, count(*) FROM redblue_segments_in_solids('holes', 'bad', solid => 'ore', on_bad => 'skip') GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM redblue_segments_in_solids('points', 'ore', solid => 'ore');
SELECT count(*) FROM redblue_segments_in_solids_query('SELECT * FROM holes LIMIT 0', 'TABLE ore', solid => 'ore');

-- Faults of solids
SELECT * FROM redblue_solid_check('ore', solid => 'ore') ORDER BY id;
SELECT * FROM redblue_solid_check('bad', solid => 'ore') ORDER BY id;
SELECT * FROM redblue_solid_check_query('SELECT 9 AS b, * FROM ore WHERE ore = 1 AND id <> 5', solid => 'b');
SELECT * FROM redblue_solid_check_query('SELECT 9 AS b, id, bx AS ax, by AS ay, bz AS az, ax AS bx, ay AS by, az AS bz, cx, cy, cz FROM ore WHERE ore = 1', solid => 'b');
SELECT * FROM redblue_solid_check_query('SELECT 9 AS b, id, ax, ay, az, CASE id WHEN 3 THEN cx ELSE bx END AS bx, CASE id WHEN 3 THEN cy ELSE by END AS by, CASE id WHEN 3 THEN cz ELSE bz END AS bz, CASE id WHEN 3 THEN bx ELSE cx END AS cx,
	CASE id WHEN 3 THEN by ELSE cy END AS cy, CASE id WHEN 3 THEN bz ELSE cz END AS cz FROM ore WHERE ore = 1', solid => 'b');
SELECT * FROM redblue_solid_check_query('SELECT 9 AS b, id, ax, ay, az, ax AS bx, ay AS by, az AS bz, cx, cy, cz FROM ore WHERE ore = 1', solid => 'b');
SELECT id, reason IS NULL AS good FROM redblue_solid_check('ore', solid => 'ore') WHERE reason IS NULL ORDER BY id;
SELECT (redblue_solid_check('bad', solid => 'ore')).reason;
-- Invalid numbers are a fault of the solid, and so is a NULL id; they are not errors of the call.
CREATE TABLE holey AS SELECT id, ore, ax, ay, az, bx, by, bz, cx, cy, cz::numeric AS cz FROM ore WHERE ore <= 3;
UPDATE holey SET by = CASE ore WHEN 1 THEN 'NaN' WHEN 2 THEN NULL ELSE by END WHERE id IN (SELECT max(id) FROM holey GROUP BY ore);
SELECT id, faces, closed, valid, code, x, reason FROM redblue_solid_check('holey', solid => 'ore') ORDER BY id;
SELECT solid_id, count(*) FROM redblue_points_in_solids('points', 'holey', solid => 'ore', on_bad => 'skip') GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM redblue_points_in_solids('points', 'holey', solid => 'ore');
UPDATE holey SET cz = 1e300::numeric * 1e100 WHERE ore = 3 AND id = (SELECT min(id) FROM holey WHERE ore = 3);
INSERT INTO holey SELECT id, NULL, ax, ay, az, bx, by, bz, cx, cy, cz FROM holey WHERE ore = 3 LIMIT 2;
SELECT id, valid, reason, count(*) FROM redblue_solid_check('holey', solid => 'ore') GROUP BY 1, 2, 3 ORDER BY 1, 3;
SELECT solid_id, count(*) FROM redblue_points_in_solids_query('TABLE points', 'SELECT * FROM holey WHERE ore IS NOT NULL', solid => 'ore', on_bad => 'skip') GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM redblue_points_in_solids('points', 'holey', solid => 'ore', on_bad => 'skip');
SELECT count(*) FROM redblue_solid_check('points');
SELECT count(*) FROM redblue_solid_check(NULL);

-- Relations of two solids
SELECT * FROM redblue_solid_pairs('ore', 'ore', red_solid => 'ore', blue_solid => 'ore') ORDER BY 1, 2;
CREATE TABLE zones AS SELECT row_number() OVER () AS id, zone, ax, ay, az, bx, by, bz, cx, cy, cz FROM (
	SELECT 1 AS zone, * FROM box(-1, -1, -1, 11, 11, 11)
	UNION ALL SELECT 2, * FROM box(5, 5, 5, 15, 15, 15)
	UNION ALL SELECT 3, * FROM box(2, 2, 2, 8, 8, 8)
	UNION ALL SELECT 4, * FROM box(0, 0, 0, 10, 5, 10)
	UNION ALL SELECT 5, * FROM box(10, 10, 10, 11, 11, 11)
	UNION ALL SELECT 6, * FROM box(30, 30, 30, 31, 31, 31)
	UNION ALL SELECT 7, n, az, ax, ay, bz, bx, by, cz, cx, cy FROM box(0, 0, 0, 10, 10, 10)) s;
SELECT zone, ore, coalesce(relation, '-') AS relation FROM generate_series(1, 7) zone CROSS JOIN generate_series(1, 4) ore
	LEFT JOIN redblue_solid_pairs('zones', 'ore', red_solid => 'zone', blue_solid => 'ore') ON red_id = zone AND blue_id = ore ORDER BY 1, 2;
SELECT count(*) FROM redblue_solid_pairs('zones', 'ore', red_solid => 'zone', blue_solid => 'ore') p FULL JOIN redblue_solid_pairs('ore', 'zones', red_solid => 'ore', blue_solid => 'zone') q
	ON p.red_id = q.blue_id AND p.blue_id = q.red_id AND q.relation = CASE p.relation WHEN 'inside' THEN 'contains' WHEN 'contains' THEN 'inside' ELSE p.relation END WHERE p.red_id IS NULL OR q.red_id IS NULL;
SELECT relation, count(*) FROM redblue_solid_pairs('zones', 'ore', red_solid => 'zone', blue_solid => 'ore') GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM redblue_solid_pairs('ore', 'bad', red_solid => 'ore', blue_solid => 'ore');
SELECT count(*) FROM redblue_solid_pairs('bad', 'ore', red_solid => 'ore', blue_solid => 'ore');
SELECT red_id, blue_id, relation FROM redblue_solid_pairs('bad', 'ore', red_solid => 'ore', blue_solid => 'ore', on_bad => 'skip') ORDER BY 1, 2;
SELECT count(*) FROM redblue_solid_pairs('ore', 'ore', red_solid => '');
SELECT * FROM redblue_solid_pairs_query('SELECT * FROM ore WHERE ore = 4', 'TABLE zones', red_solid => 'ore', blue_solid => 'zone') ORDER BY 1, 2;

-- Duplicate ids: rows of solids can be combined, points cannot.
SET redblue.duplicate_notice = on;
SELECT point_id, count(*) FROM redblue_points_in_solids_query('SELECT 1 AS id, n AS x, n AS y, n AS z FROM generate_series(5, 6) n', 'TABLE ore', solid => 'ore') GROUP BY 1;
SELECT count(*) FROM redblue_points_in_solids_query('SELECT 1 AS id, n AS x, n AS y, n AS z FROM generate_series(5, 6) n',
	'SELECT ore AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM ore', on_bad => 'skip');
SET redblue.duplicate_notice = off;

-- Far from the origin, and small
SELECT solid_id, side, count(*) FROM redblue_points_in_solids_query('SELECT id, 4650000 + x * 1e-6 AS x, 500000 + y * 1e-6 AS y, z FROM lattice',
	'SELECT ore, 4650000 + ax * 1e-6 AS ax, 500000 + ay * 1e-6 AS ay, az, 4650000 + bx * 1e-6 AS bx, 500000 + by * 1e-6 AS by, bz, 4650000 + cx * 1e-6 AS cx, 500000 + cy * 1e-6 AS cy, cz FROM ore', solid => 'ore') GROUP BY 1, 2 ORDER BY 1, 2;
DROP SCHEMA solids CASCADE;
