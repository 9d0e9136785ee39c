-- Tests segments with triangles in space, and segments in the plane, given by columns of numbers.
\set schema segments
\i sql/fixtures/prologue.sql

-- One triangle, another one above it, and drill holes in all positions
CREATE TABLE ore (id int8, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO ore VALUES (1, 0, 0, 0, 4, 0, 0, 0, 4, 0), (2, 0, 0, 10, 4, 0, 10, 0, 4, 10), (3, 8, 8, 0, 8, 8, 0, 8, 8, 0), (4, 8, 0, 0, 9, 0, 0, 12, 0, 0);
CREATE TABLE hole (id int, note text, ax float8, ay float8, az float8, bx float8, by float8, bz float8);
INSERT INTO hole VALUES
	(1, 'pierces a face', 1, 1, -1, 1, 1, 1),
	(2, 'pierces both', 1, 1, -1, 1, 1, 11),
	(3, 'ends on a face', 1, 1, 0, 1, 1, 5),
	(4, 'ends one denormal above it', 1, 1, 5e-324, 1, 1, 5),
	(5, 'through an edge', 2, 0, -1, 2, 0, 1),
	(6, 'through a corner', 4, 0, -1, 4, 0, 1),
	(7, 'in the plane, across', -1, 1, 0, 9, 1, 0),
	(8, 'in the plane, within', 1, 1, 0, 2, 1, 0),
	(9, 'in the plane, touches a corner', 4, -1, 0, 4, 1, 0),
	(10, 'in the plane, beside', 3, 3, 0, 4, 4, 0),
	(11, 'along an edge', -1, 0, 0, 9, 0, 0),
	(12, 'beyond the end of an edge', 5, 0, 0, 7, 0, 0),
	(13, 'no length, on a face', 1, 1, 0, 1, 1, 0),
	(14, 'no length, above it', 1, 1, 1e-300, 1, 1, 1e-300),
	(15, 'through a triangle that is a point', 7, 7, 0, 9, 9, 0),
	(16, 'past it', 7, 7, 0, 9, 9, 1e-15),
	(17, 'across a triangle that is a segment', 8.5, -1, 0, 8.5, 1, 0),
	(18, 'misses the long edge by one ulp', 2.0000000000000004, 2, -1, 2.0000000000000004, 2, 1),
	(19, 'meets the long edge', 2, 2, -1, 2, 2, 1);
SELECT h.id, note, string_agg(triangle_id::text, ' ' ORDER BY triangle_id) AS ore
FROM hole h LEFT JOIN redblue_segment_triangle_pairs('hole', 'ore') p ON segment_id = h.id GROUP BY h.id, note ORDER BY h.id;
SELECT count(*) FROM redblue_segment_triangle_pairs_query('SELECT * FROM hole WHERE id < 7', 'TABLE ore');
SELECT * FROM redblue_segment_triangle_pairs(triangles => 'ore', segments => 'hole') WHERE segment_id = 2 ORDER BY 2;
-- A segment gives the same as a triangle without area.
CREATE VIEW hole_as_triangle AS SELECT *, bx AS cx, by AS cy, bz AS cz FROM hole;
(SELECT * FROM redblue_segment_triangle_pairs('hole', 'ore') EXCEPT SELECT * FROM redblue_triangle_pairs('hole_as_triangle', 'ore'))
UNION ALL (SELECT * FROM redblue_triangle_pairs('hole_as_triangle', 'ore') EXCEPT SELECT * FROM redblue_segment_triangle_pairs('hole', 'ore'));
-- Many short and some very long holes with many triangles give the same, too.
CREATE TABLE holes AS SELECT i AS id, x AS ax, y AS ay, z AS az, x + (i % 3 - 1) * k AS bx, y + (i % 4 - 1) * k AS by, z - k AS bz
FROM (SELECT i, i * 7919 % 31 AS x, i * 104729 % 29 AS y, i * 1299709::int8 % 23 AS z, CASE WHEN i % 50 = 0 THEN 200 ELSE 3 END AS k FROM generate_series(1, 2000) i) s;
CREATE TABLE ores AS SELECT i AS id, x AS ax, y AS ay, z AS az, x + 3 AS bx, y + i % 3 AS by, z + i % 2 AS bz, x AS cx, y + 3 AS cy, z + i % 5 - 2 AS cz
FROM (SELECT i, i * 15485863::int8 % 31 AS x, i * 32452843::int8 % 29 AS y, i * 49979687::int8 % 23 AS z FROM generate_series(1, 5000) i) s;
CREATE VIEW holes_as_triangles AS SELECT *, bx AS cx, by AS cy, bz AS cz FROM holes;
SELECT count(*) > 1000 AS many FROM redblue_segment_triangle_pairs('holes', 'ores');
(SELECT * FROM redblue_segment_triangle_pairs('holes', 'ores') EXCEPT SELECT * FROM redblue_triangle_pairs('holes_as_triangles', 'ores'))
UNION ALL (SELECT * FROM redblue_triangle_pairs('holes_as_triangles', 'ores') EXCEPT SELECT * FROM redblue_segment_triangle_pairs('holes', 'ores'));

-- In the plane
CREATE TABLE red (id int, note text, ax float8, ay float8, bx float8, by float8);
CREATE TABLE blue (id int, ax float8, ay float8, bx float8, by float8);
INSERT INTO blue VALUES (1, 0, 0, 4, 0), (2, 0, 1, 0, 1), (3, 0, 0, 1e-300, 1e-300), (4, 10, 10, 13, 11);
INSERT INTO red VALUES
	(1, 'crosses', 2, -1, 2, 1),
	(2, 'an end on it', 2, 0, 2, 1),
	(3, 'an end just above it', 2, 5e-324, 2, 1),
	(4, 'end to end', 4, 0, 9, 9),
	(5, 'overlaps in a line', 3, 0, 9, 0),
	(6, 'end to end in a line', 4, 0, 9, 0),
	(7, 'beyond it in a line', 5, 0, 9, 0),
	(8, 'the same', 0, 0, 4, 0),
	(9, 'the same, turned round', 4, 0, 0, 0),
	(10, 'inside it', 1, 0, 2, 0),
	(11, 'a point on it', 1, 0, 1, 0),
	(12, 'a point at the point', 0, 1, 0, 1),
	(13, 'a point beside', 0, 1.0000000000000002, 0, 1.0000000000000002),
	(14, 'across the point', -1, 0, 1, 2),
	(15, 'parallel', 0, 0.5, 4, 0.5),
	(16, 'across one of slope 1/3', 10, 10.5, 13, 10.5),
	(17, 'a point near it', 11, 10.333333333333334, 11, 10.333333333333334);
SELECT r.id, note, string_agg(blue_id::text, ' ' ORDER BY blue_id) AS blue
FROM red r LEFT JOIN redblue_segment_pairs('red', 'blue') p ON red_id = r.id GROUP BY r.id, note ORDER BY r.id;
SELECT * FROM redblue_segment_pairs('red', 'blue') EXCEPT SELECT blue_id, red_id FROM redblue_segment_pairs('blue', 'red');
SELECT count(*) FROM redblue_segment_pairs('blue', 'red');
SELECT * FROM redblue_segment_pairs_query('SELECT * FROM red WHERE id < 3', 'TABLE blue') ORDER BY 1, 2;
-- Segments in space are projected: the column z is not read.
SELECT count(*) FROM redblue_segment_pairs('hole', 'blue');
-- A self join returns each pair once, and no row with itself.
SELECT string_agg(id1 || '-' || id2, ' ' ORDER BY id1, id2) FROM redblue_segment_self_pairs('blue');
SELECT count(*), count(*) FILTER (WHERE id1 >= id2) AS twice FROM redblue_segment_self_pairs('red');
SELECT count(*) FROM redblue_segment_self_pairs_query('SELECT * FROM red WHERE id < 4');
-- A network of streets: crossings of 60 x 60 lines, each split in 3
CREATE TABLE street AS
SELECT row_number() OVER () AS id, k * 20 AS ax, y AS ay, k * 20 + 20 AS bx, y AS by FROM generate_series(0, 2) k, generate_series(1, 60) y
UNION ALL SELECT 1000 + row_number() OVER (), x, k * 20.5, x, k * 20.5 + 20.5 FROM generate_series(0, 2) k, generate_series(0, 59) x;
SELECT count(*) FROM redblue_segment_self_pairs('street');
SELECT count(*) FROM street a JOIN street b ON a.id < b.id AND NOT (a.bx < b.ax OR b.bx < a.ax OR a.by < b.ay OR b.by < a.ay);

-- Bad input
\i sql/fixtures/fault.sql
\pset format unaligned
\pset tuples_only on
SELECT * FROM fault($$redblue_segment_triangle_pairs(NULL, 'ore')$$);
SELECT * FROM fault($$redblue_segment_triangle_pairs('hole', NULL)$$);
SELECT * FROM fault($$redblue_segment_triangle_pairs('hole', 'ore', triangles_id => '')$$);
SELECT * FROM fault($$redblue_segment_triangle_pairs('ore', 'hole')$$);
SELECT * FROM fault($$redblue_segment_triangle_pairs('hole', 'ore', segments_id => 'gid')$$);
SELECT * FROM fault($$redblue_segment_triangle_pairs('blue', 'ore')$$);
SELECT * FROM fault($$redblue_segment_pairs_query('TABLE red', 'SELECT ax, ay, bx FROM red')$$);
SELECT * FROM fault($$redblue_segment_self_pairs(NULL)$$);
SELECT * FROM fault($$redblue_segment_self_pairs('red', lines_geom => 'note')$$);
SELECT * FROM fault($$redblue_segment_self_pairs_query('SELECT 1; SELECT 2')$$);
SELECT * FROM fault($$redblue_segment_triangle_pairs_query('SELECT 7 AS id, 1 AS ax, 2 AS ay, 3 AS az, 4 AS bx, 5 AS by, NULL::int AS bz', 'TABLE ore')$$);
SELECT * FROM fault($$redblue_segment_triangle_pairs_query('SELECT 7 AS id, 1 AS ax, 2 AS ay, 3 AS az, 4 AS bx, ''NaN''::float8 AS by, 6 AS bz', 'TABLE ore')$$);
SELECT * FROM fault($$redblue_segment_pairs_query('TABLE red', 'SELECT 7 AS id, 1 AS ax, 2 AS ay, 4 AS bx, ''-Infinity''::float8 AS by')$$);
-- Other columns may contain anything.
SELECT count(*) FROM redblue_segment_pairs_query('SELECT *, ''NaN''::float8 AS az FROM red', 'SELECT *, NULL AS bz FROM blue');
\pset format aligned
\pset tuples_only off
SET client_min_messages = warning;
DROP SCHEMA segments CASCADE;
