-- Tests what two solids share.
\set SHOW_CONTEXT never
\set schema solid_overlaps
\i sql/fixtures/prologue.sql
SET redblue.duplicate_notice = off;

\i sql/fixtures/box.sql
-- 1 is a box; 2 a box with a cavity that contains a box; 3 two boxes that share an edge; 4 is 1 with all faces, and 5 with every third face, turned over.
CREATE TABLE ore AS SELECT row_number() OVER () AS id, ore, ax, ay, az, bx, by, bz, cx, cy, cz FROM (
	SELECT 1 AS ore, * FROM box(0, 0, 0, 10, 10, 10)
	UNION ALL SELECT 2, * FROM box(1, 1, 1, 9, 9, 9)
	UNION ALL SELECT 2, * FROM box(2, 2, 2, 8, 8, 8)
	UNION ALL SELECT 2, * FROM box(3, 3, 3, 7, 7, 7)
	UNION ALL SELECT 3, * FROM box(0, 0, 0, 1, 1, 1)
	UNION ALL SELECT 3, * FROM box(1, 1, 0, 3, 2, 1)
	UNION ALL SELECT 4, n, bx, by, bz, ax, ay, az, cx, cy, cz FROM box(0, 0, 0, 10, 10, 10)
	UNION ALL SELECT 5, n, CASE WHEN n % 3 = 0 THEN bx ELSE ax END, CASE WHEN n % 3 = 0 THEN by ELSE ay END, CASE WHEN n % 3 = 0 THEN bz ELSE az END,
		CASE WHEN n % 3 = 0 THEN ax ELSE bx END, CASE WHEN n % 3 = 0 THEN ay ELSE by END, CASE WHEN n % 3 = 0 THEN az ELSE bz END, cx, cy, cz FROM box(0, 0, 0, 10, 10, 10)) s;
-- 1 overlaps; 2 has a wall in common with ore 1 from outside, 3 only an edge, and 4 only a corner; 5 lies in ore 1 and 6 around it; 7 goes through it like a duct; 8 is far away.
CREATE TABLE zones AS SELECT row_number() OVER () AS id, zone, ax, ay, az, bx, by, bz, cx, cy, cz FROM (
	SELECT 1 AS zone, * FROM box(5, 5, 5, 15, 15, 15)
	UNION ALL SELECT 2, * FROM box(10, 2, 2, 12, 8, 8)
	UNION ALL SELECT 3, * FROM box(10, 10, 2, 12, 12, 8)
	UNION ALL SELECT 4, * FROM box(10, 10, 10, 12, 12, 12)
	UNION ALL SELECT 5, * FROM box(4, 4, 4, 5, 5, 6)
	UNION ALL SELECT 6, * FROM box(-1, -1, -1, 11, 11, 11)
	UNION ALL SELECT 7, * FROM box(-5, 4, 4, 15, 5, 5)
	UNION ALL SELECT 8, * FROM box(100, 100, 100, 101, 101, 101)) s;
SELECT * FROM redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone') ORDER BY 1, 2;
SELECT * FROM redblue_solid_overlaps('ore', 'ore', red_solid => 'ore', blue_solid => 'ore') WHERE red_id < 3 ORDER BY 1, 2;
SELECT * FROM redblue_solid_overlaps_query('SELECT ore AS body, * FROM ore WHERE ore = 2', 'TABLE zones', red_solid => 'body', blue_solid => 'zone') ORDER BY 1, 2;
-- Both orders of the arguments give the same bits.
SELECT count(*) FROM redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone', depth => true) a FULL JOIN redblue_solid_overlaps('zones', 'ore', red_solid => 'zone', blue_solid => 'ore', depth => true) b
	ON a.red_id = b.blue_id AND a.blue_id = b.red_id AND (a.volume, a.cx, a.cy, a.cz, a.contact_area, a.depth) IS NOT DISTINCT FROM (b.volume, b.cx, b.cy, b.cz, b.contact_area, b.depth) WHERE a IS NULL OR b IS NULL;
-- A solid shares all of itself with itself, and the rows are the pairs of redblue_solid_pairs that share more than edges and vertices.
SELECT red_id, o.volume = m.volume AND (o.cx, o.cy, o.cz) = (m.cx, m.cy, m.cz) AS same FROM redblue_solid_overlaps('ore', 'ore', red_solid => 'ore', blue_solid => 'ore') o
	JOIN redblue_solid_measures('ore', solid => 'ore') m ON m.id = red_id WHERE red_id = blue_id ORDER BY 1;
SELECT relation, count(*), count(o), count(*) FILTER (WHERE volume > 0) AS positive FROM redblue_solid_pairs('ore', 'zones', red_solid => 'ore', blue_solid => 'zone') p
	LEFT JOIN redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone') o USING (red_id, blue_id) GROUP BY 1 ORDER BY 1;

-- Within one table: each pair once, the smaller id first, whatever the order of the rows
SELECT * FROM redblue_solid_self_overlaps('ore', solid => 'ore') ORDER BY 1, 2;
SELECT count(*), count(*) FILTER (WHERE id1 < id2) AS ascending FROM redblue_solid_self_overlaps_query('SELECT -ore AS body, * FROM ore ORDER BY ore, id', solid => 'body');
-- Overlaps with at least some volume, which is compared with the exact one, 9007199515875289, and not with the double nearest to it
SELECT red_id, blue_id, volume FROM redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone', min_volume => 10) ORDER BY 1, 2;
SELECT id1, id2, volume FROM redblue_solid_self_overlaps('ore', solid => 'ore', min_volume => 360) ORDER BY 1, 2;
SELECT min_volume, volume FROM (VALUES (9007199515875288), (9007199515875290)) v (min_volume) LEFT JOIN LATERAL
	(SELECT volume FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 94906267, 94906267, 1)', 'SELECT 1 AS body, * FROM box(0, 0, -1, 94906268, 94906270, 7)', red_solid => 'body', blue_solid => 'body', min_volume => v.min_volume)) o ON true;
SELECT count(*) FROM redblue_solid_self_overlaps('ore', solid => 'ore', min_volume => 0);
SELECT count(*) FROM redblue_solid_self_overlaps('ore', solid => 'ore', min_volume => NULL);
SELECT count(*) FROM redblue_solid_self_overlaps('ore', solid => 'ore', min_volume => -1);
SELECT count(*) FROM redblue_solid_self_overlaps('ore', solid => 'ore', min_volume => 'NaN');
SELECT count(*) FROM redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone', min_volume => 'Infinity');

-- Areas that the boundaries share: walls side by side, flush faces, or both; 7 has its ends outside
SELECT a.red_id, a.blue_id, a.volume, a.contact_area AS against, f.contact_area AS flush, b.contact_area AS both FROM redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone', contact => 'against') a
	JOIN redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone', contact => 'flush') f USING (red_id, blue_id) JOIN redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone') b USING (red_id, blue_id)
	WHERE b.contact_area > 0 ORDER BY 1, 2;
SELECT id1, id2, volume, contact_area FROM redblue_solid_self_overlaps('ore', solid => 'ore', contact => 'flush') ORDER BY 1, 2;
-- The slanted face of two tetrahedra that lie against each other
SELECT red_id, blue_id, contact_area = sqrt(3::float8) / 2 AS root_of_3 FROM redblue_solid_overlaps_query('SELECT 1 AS body, f.* FROM (VALUES (0, 0, 0, 0, 1, 0, 1, 0, 0), (0, 0, 0, 1, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 1, 0, 1, 0), (1, 0, 0, 0, 1, 0, 0, 0, 1)) f (ax, ay, az, bx, by, bz, cx, cy, cz)',
	'SELECT 2 AS body, f.* FROM (VALUES (1, 0, 0, 0, 1, 0, 0, 0, 1), (1, 0, 0, 0, 1, 0, 1, 1, 1), (0, 1, 0, 0, 0, 1, 1, 1, 1), (0, 0, 1, 1, 0, 0, 1, 1, 1)) f (ax, ay, az, bx, by, bz, cx, cy, cz)', red_solid => 'body', blue_solid => 'body');
-- An area in the middle of two doubles: 9007199515875289
SELECT volume, contact_area::bigint FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 94906267, 94906267, 1)', 'SELECT 1 AS body, * FROM box(0, 0, 1, 94906267, 94906270, 7)', red_solid => 'body', blue_solid => 'body');
-- Areas beyond the range of doubles
SELECT volume, contact_area FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 1e-200, 1e-200, 1)', 'SELECT 1 AS body, * FROM box(-1, -1, 1, 1, 1, 2)', red_solid => 'body', blue_solid => 'body');
SELECT volume, contact_area FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 1e200, 1e200, 1)', 'SELECT 1 AS body, * FROM box(-1, -1, 1, 1e200, 1e200, 2)', red_solid => 'body', blue_solid => 'body');
SELECT count(*) FROM redblue_solid_self_overlaps('ore', solid => 'ore', contact => NULL);
SELECT count(*) FROM redblue_solid_self_overlaps('ore', solid => 'ore', contact => 'none');

-- Depth: 7 goes through ore 1 like a duct, and 2 only touches it; the overlap of 5 with 2 is a box in a cavity
SELECT red_id, blue_id, volume, depth FROM redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone', depth => true) ORDER BY 1, 2;
SELECT id1, id2, depth FROM redblue_solid_self_overlaps('ore', solid => 'ore', depth => true, min_volume => 1) ORDER BY 1, 2;
SELECT count(*), count(depth) FROM redblue_solid_self_overlaps('ore', solid => 'ore', depth => NULL);
-- Walls of 0.2 and 0.3 that cross flush, a duplicate, a scrape of 5 mm, and two pieces
SELECT name, depth FROM (VALUES ('walls', 'SELECT * FROM box(0, 0, 0, 10, 0.2, 3)', 'SELECT * FROM box(5, -5, 0, 5.3, 5, 3)'), ('duplicate', 'SELECT * FROM box(0, 0, 0, 1, 2, 3)', 'SELECT * FROM box(0, 0, 0, 1, 2, 3)'),
	('scrape', 'SELECT * FROM box(0, 0, 0, 1, 1, 1)', 'SELECT * FROM box(0.995, 0, 0, 2, 1, 1)'), ('pieces', 'SELECT * FROM box(0, 0, 0, 1, 9, 1) UNION ALL SELECT * FROM box(3, 0, 0, 7, 9, 1)', 'SELECT * FROM box(-1, 4, 0.25, 9, 5.5, 1)')) v (name, red, blue),
	LATERAL redblue_solid_overlaps_query('SELECT 1 AS body, s.* FROM (' || red || ') s', 'SELECT 1 AS body, s.* FROM (' || blue || ') s', red_solid => 'body', blue_solid => 'body', depth => true) ORDER BY name;
-- A depth in the middle of two doubles, and depths beyond their range
SELECT depth::bigint FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(-1, 0, 0, 9007199254740992, 1e20, 1e20)', 'SELECT 1 AS body, * FROM box(-2, -1, -1, 1e18, 1e21, 1e21)', red_solid => 'body', blue_solid => 'body', depth => true);
SELECT depth FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 1e-200, 1e-200, 1)', 'SELECT 1 AS body, * FROM box(-1, -1, -1, 1e-300, 1, 2)', red_solid => 'body', blue_solid => 'body', depth => true);
SELECT depth FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(-1.5e308, -1.5e308, -1.5e308, 1.5e308, 1.5e308, 1.5e308)', 'SELECT 1 AS body, * FROM box(-1.6e308, -1.6e308, -1.6e308, 1.6e308, 1.6e308, 1.6e308)', red_solid => 'body', blue_solid => 'body', depth => true);

-- A box without a solid, and the solid, share with another solid what the box does: exact volumes add up.
CREATE FUNCTION star(body int, n int, x float8, y float8, z float8, r float8) RETURNS TABLE (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8) LANGUAGE sql IMMUTABLE AS $$
	WITH p AS (SELECT i, x + floor(r * (0.6 + 0.4 * (i % 3)) * cosd(360.0 * i / n)) / 8 AS px, y + floor(r * (0.6 + 0.4 * (i % 3)) * sind(360.0 * i / n)) / 8 AS py FROM generate_series(0, n - 1) i)
	SELECT body, a.px, a.py, z, b.px, b.py, z, x, y, z + s * r / 8 FROM p a JOIN p b ON b.i = (a.i + 1) % n, (VALUES (1), (-1)) v (s) $$;
CREATE TABLE a AS SELECT s.* FROM generate_series(1, 6) i, star(i, 12, i, 0, 0, 20 + i) s;
CREATE TABLE b AS SELECT s.* FROM generate_series(1, 6) i, star(i, 9, i / 4.0, i / 2.0, 0.25, 24 - i) s;
CREATE TABLE b_and_box AS SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM b UNION ALL SELECT i, ax, ay, az, bx, by, bz, cx, cy, cz FROM generate_series(1, 6) i, box(-32, -32, -32, 32, 32, 32);
SELECT count(*) AS pairs, count(*) FILTER (WHERE o.volume > 0 AND abs(o.volume + rest.volume - m.volume) <= 1e-15 * m.volume) AS sums FROM redblue_solid_overlaps('a', 'b', red_solid => 'id', blue_solid => 'id') o
	JOIN redblue_solid_overlaps('a', 'b_and_box', red_solid => 'id', blue_solid => 'id') rest USING (red_id, blue_id) JOIN redblue_solid_measures('a', solid => 'id') m ON m.id = red_id;

-- Volumes in the middle of two doubles: ties go to the even one. The exact volumes are 9007199515875289 and its product with 3.
SELECT volume::bigint, cx, cy, cz FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 94906267, 94906267, 1)', 'SELECT 1 AS body, * FROM box(0, 0, -1, 94906268, 94906270, 7)', red_solid => 'body', blue_solid => 'body');
SELECT volume::bigint, cx, cy, cz FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 94906267, 94906267, 3)', 'SELECT 1 AS body, * FROM box(0, 0, 0, 94906267, 94906267, 3)', red_solid => 'body', blue_solid => 'body');
-- The vertex of a tetrahedron in a box: a sixth, and an overlap that is thinner than doubles at this place can be
SELECT volume = 1 / 6.0::float8 AS sixth, cx, cy, cz FROM redblue_solid_overlaps_query('SELECT 1 AS body, f.* FROM (VALUES (0, 0, 0, 0, 4, 0, 4, 0, 0), (0, 0, 0, 4, 0, 0, 0, 0, 4), (0, 0, 0, 0, 0, 4, 0, 4, 0), (4, 0, 0, 0, 4, 0, 0, 0, 4)) f (ax, ay, az, bx, by, bz, cx, cy, cz)',
	'SELECT 1 AS body, * FROM box(-1, -1, 3, 5, 5, 5)', red_solid => 'body', blue_solid => 'body');
SELECT volume, cx, cy, cz FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 1, 1, 1)', 'SELECT 1 AS body, * FROM box(0.99999999999999989, 0, 0, 2, 1, 1)', red_solid => 'body', blue_solid => 'body');
-- Results beyond the range of doubles
SELECT volume, cx, cy, cz FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 1e-200, 1e-200, 1e-200)', 'SELECT 1 AS body, * FROM box(-1, -1, -1, 0.5e-200, 1e-201, 1)', red_solid => 'body', blue_solid => 'body');
SELECT volume, cx, cy, cz FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(0, 0, 0, 1e150, 1e150, 1e150)', 'SELECT 1 AS body, * FROM box(-1, -1, -1, 1e149, 1e151, 1e300)', red_solid => 'body', blue_solid => 'body');
SELECT volume, cx, cy, cz FROM redblue_solid_overlaps_query('SELECT 1 AS body, * FROM box(-1.5e308, 0, 0, 1.5e308, 1e308, 1e-300)', 'SELECT 1 AS body, * FROM box(-1e-300, -1, -1, 1e308, 1.5e308, 1)', red_solid => 'body', blue_solid => 'body');

-- As a function, as a scan, on one thread and on several
SELECT (m).* FROM (SELECT redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone') AS m OFFSET 0) s WHERE (m).volume = 0 ORDER BY 1, 2;
SET redblue.backend = cpu; SET redblue.custom_scan = on; SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT sum(volume) FROM redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone') WHERE cx > 1;
RESET redblue.backend; RESET redblue.custom_scan; RESET max_parallel_workers_per_gather;
SET redblue.threads = 1;
CREATE TABLE of_one AS SELECT * FROM redblue_solid_overlaps('a', 'b', red_solid => 'id', blue_solid => 'id', depth => true);
SET redblue.threads = 2;
CREATE TABLE of_two AS SELECT * FROM redblue_solid_overlaps('a', 'b', red_solid => 'id', blue_solid => 'id', depth => true);
SET redblue.threads = 7;
CREATE TABLE of_seven AS SELECT * FROM redblue_solid_overlaps('a', 'b', red_solid => 'id', blue_solid => 'id', depth => true);
RESET redblue.threads;
SELECT (SELECT count(*) FROM of_one) AS rows, (SELECT count(*) FROM (TABLE of_one EXCEPT TABLE of_two) d) AS different, (SELECT count(*) FROM (TABLE of_one EXCEPT TABLE of_seven) d) AS different_of_seven;

-- Invalid solids: the error that redblue_solid_check explains, or skipped with a notice
CREATE TABLE bad AS SELECT * FROM ore;
DELETE FROM bad WHERE id = 5;
SELECT count(*) FROM redblue_solid_overlaps('bad', 'zones', red_solid => 'ore', blue_solid => 'zone');
SELECT count(*) FROM redblue_solid_overlaps('zones', 'bad', red_solid => 'zone', blue_solid => 'ore');
SELECT red_id, blue_id, volume FROM redblue_solid_overlaps('bad', 'zones', red_solid => 'ore', blue_solid => 'zone', on_bad => 'skip') WHERE blue_id < 3 ORDER BY 1, 2;
SELECT count(*) FROM redblue_solid_self_overlaps('bad', solid => 'ore');
SELECT id1, id2, volume FROM redblue_solid_self_overlaps('bad', solid => 'ore', on_bad => 'skip') ORDER BY 1, 2;
SELECT count(*) FROM redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'zone', on_bad => 'ignore');
SELECT count(*) FROM redblue_solid_overlaps('ore', 'zones', red_solid => 'ore', blue_solid => 'body');
SELECT count(*) FROM redblue_solid_overlaps(NULL, 'zones');
SELECT count(*) FROM redblue_solid_overlaps('ore', 'zones', red_solid => '');
SELECT count(*) FROM redblue_solid_overlaps_query('SELECT * FROM ore LIMIT 0', 'TABLE zones', red_solid => 'ore', blue_solid => 'zone');

SET client_min_messages = warning;
DROP SCHEMA solid_overlaps CASCADE;
