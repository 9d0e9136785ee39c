-- Tests the kinds of contacts, and self-intersections of a mesh.
-- An error may come from a parallel worker and then has a CONTEXT.
\set SHOW_CONTEXT never
\set schema contacts
\i sql/fixtures/prologue.sql

-- A triangle against one triangle for each kind of contact, which its name describes
CREATE TABLE one (id int8, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO one VALUES (0, 0,0,0, 4,0,0, 0,4,0);
CREATE TABLE cases (id int8, name text, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO cases VALUES
	(1, 'pierces it', 1,1,-1, 1,1,1, 3,3,0.5),
	(2, 'a common edge', 0,0,0, 4,0,0, 0,0,4),
	(3, 'a part of an edge, from outside', 1,0,0, 3,0,0, 2,-1,3),
	(4, 'a common corner', 0,0,0, -1,0,1, 0,-1,1),
	(5, 'a corner on the inside', 1,1,0, 1,1,1, 2,1,1),
	(6, 'a corner on an edge', 2,0,0, 2,0,1, 3,-1,1),
	(7, 'an edge on the inside', 1,1,0, 2,1,0, 1,1,2),
	(8, 'an edge across an edge', 2,-1,-1, 2,1,1, 2,-3,5),
	(9, 'the same', 0,4,0, 0,0,0, 4,0,0),
	(10, 'in its plane, a part', 1,1,0, 5,1,0, 1,5,0),
	(11, 'in its plane, next to it', 0,0,0, 4,0,0, 2,-2,0),
	(12, 'in its plane, a corner of both', 4,0,0, 6,0,0, 6,2,0),
	(13, 'a point on the inside', 1,1,0, 1,1,0, 1,1,0),
	(14, 'a point on an edge', 2,0,0, 2,0,0, 2,0,0),
	(15, 'a needle through it', 1,1,-1, 1,1,1, 1,1,3),
	(16, 'a needle on it', 1,1,0, 2,1,0, 1.5,1,0),
	(17, 'a needle along an edge', 1,0,0, 3,0,0, 2,0,0),
	(18, 'a needle that ends on it', 1,1,0, 1,1,1, 1,1,2),
	(19, 'above it', 0,0,1, 4,0,1, 0,4,1);
SELECT c.id, name, dimension, crosses FROM cases c LEFT JOIN redblue_triangle_contacts('one', 'cases') p ON p.blue_id = c.id ORDER BY 1;
-- With the sides swapped, the contacts are the same.
SELECT count(*) FROM redblue_triangle_contacts('one', 'cases') p FULL JOIN redblue_triangle_contacts('cases', 'one') q
	ON p.blue_id = q.red_id AND p.dimension = q.dimension AND p.crosses = q.crosses WHERE p.blue_id IS NULL OR q.red_id IS NULL;
-- Within one mesh: contacts other than shared corners and edges
SELECT c.id, name, dimension FROM cases c JOIN redblue_triangle_self_intersections_query('TABLE one UNION ALL SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM cases') p
	ON p.id1 = 0 AND p.id2 = c.id ORDER BY 1;
SELECT * FROM redblue_triangle_self_contacts_query('TABLE one UNION ALL SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM cases WHERE id < 4') ORDER BY 1, 2;
-- A row of several parts has the highest dimension of its parts, and crosses if one of them does.
SELECT * FROM redblue_triangle_contacts_query('TABLE one', 'SELECT id / 5 AS o, * FROM cases', blue_object => 'o') ORDER BY 2;
-- Within rows: parts by their numbers
SELECT * FROM redblue_part_self_intersections_query('SELECT 7 AS o, * FROM (TABLE one UNION ALL SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM cases WHERE id IN (1, 2, 9)) s ORDER BY id', mesh_object => 'o') ORDER BY 2, 3;
SELECT count(*) FROM redblue_part_self_intersections('one');

-- Segments and triangles
CREATE TABLE seg (id int8, name text, ax float8, ay float8, az float8, bx float8, by float8, bz float8);
INSERT INTO seg VALUES
	(1, 'through the inside', 1,1,-1, 1,1,1),
	(2, 'through an edge', 2,0,-1, 2,0,1),
	(3, 'through a corner', 0,0,-1, 0,0,1),
	(4, 'ends on the inside', 1,1,0, 1,1,1),
	(5, 'lies on it', 1,1,0, 2,1,0),
	(6, 'lies across it', -1,1,0, 5,1,0),
	(7, 'along an edge', 1,0,0, 9,0,0),
	(8, 'in its plane, to an edge', 2,-1,0, 2,0,0),
	(9, 'in its plane, past a corner', -1,1,0, 1,-1,0),
	(10, 'a point on it', 1,1,0, 1,1,0),
	(11, 'a point on a corner', 0,0,0, 0,0,0);
SELECT s.id, name, dimension, crosses FROM seg s LEFT JOIN redblue_segment_triangle_contacts('seg', 'one') p ON p.segment_id = s.id ORDER BY 1;

-- Segments in the plane
CREATE TABLE lines (id int8, name text, ax float8, ay float8, bx float8, by float8);
INSERT INTO lines VALUES
	(0, 'the one', 0,0, 4,0),
	(1, 'across', 1,-1, 1,1),
	(2, 'to the inside', 2,0, 2,2),
	(3, 'end to end', 4,0, 5,1),
	(4, 'a part of it', 1,0, 3,0),
	(5, 'longer', -1,0, 9,0),
	(6, 'behind it', 4,0, 6,0),
	(7, 'a point on it', 3,0, 3,0),
	(8, 'a point at its end', 4,0, 4,0),
	(9, 'elsewhere', 0,1, 4,1);
SELECT l.id, name, dimension, crosses FROM lines l LEFT JOIN redblue_segment_contacts_query('SELECT * FROM lines WHERE id = 0', 'TABLE lines') p ON p.blue_id = l.id ORDER BY 1;
SELECT id2, dimension, crosses FROM redblue_segment_self_contacts('lines') WHERE id1 = 0 ORDER BY 1;

-- The scan, the function and several processes give the same.
CREATE TABLE mesh AS SELECT i::int8 AS id, x AS ax, y AS ay, z AS az, x + 1 + i % 2 AS bx, y AS by, z + i % 3 AS bz, x AS cx, y + 1 AS cy, z + i % 2 AS cz
	FROM (SELECT i, (i * 7919 % 13)::float8 AS x, (i * 104729 % 11)::float8 AS y, (i * 1299709 % 7)::float8 AS z FROM generate_series(1, 3000::int8) i) s;
SELECT dimension, crosses, count(*), sum(id1 * 3001 + id2) AS checksum FROM redblue_triangle_self_contacts('mesh') GROUP BY 1, 2 ORDER BY 1, 2;
SELECT (p).dimension, (p).crosses, count(*), sum((p).id1 * 3001 + (p).id2) AS checksum FROM (SELECT redblue_triangle_self_contacts('mesh') AS p OFFSET 0) s GROUP BY 1, 2 ORDER BY 1, 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET redblue.backend = cpu; SET redblue.custom_scan = on;
EXPLAIN (COSTS OFF) SELECT crosses, count(*) FROM redblue_triangle_self_contacts('mesh') GROUP BY 1;
RESET redblue.backend; RESET redblue.custom_scan;
SELECT crosses, count(*), sum(dimension) FROM redblue_triangle_self_contacts('mesh') GROUP BY 1 ORDER BY 1;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
-- Contacts belong to the same pairs as those of the join.
SELECT count(*) FROM redblue_triangle_self_pairs('mesh') p FULL JOIN redblue_triangle_self_contacts('mesh') q USING (id1, id2) WHERE p.id1 IS NULL OR q.id1 IS NULL;
SELECT count(*) FROM redblue_triangle_self_intersections('mesh') p LEFT JOIN redblue_triangle_self_contacts('mesh') q USING (id1, id2, dimension) WHERE q.id1 IS NULL;
-- Repeated scans, and a subset of the columns
SELECT count(*) FROM generate_series(1, 3) i, LATERAL (SELECT dimension FROM redblue_triangle_self_contacts('one') LIMIT 1) p;
SELECT sum(n) FROM generate_series(1, 3) i, LATERAL (SELECT count(*) FILTER (WHERE crosses) AS n FROM redblue_triangle_self_contacts('mesh') WHERE id1 > i OFFSET 0) p;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT blue_id, dimension, crosses FROM redblue_triangle_contacts('one', 'cases') WHERE blue_id = 2;
MOVE ALL FROM c;
FETCH BACKWARD ALL FROM c;
ROLLBACK;
DROP SCHEMA contacts CASCADE;
