-- Tests boxes in space and in the plane, given by columns of numbers.
\set schema boxes
\i sql/fixtures/prologue.sql

CREATE TABLE red (id int, note text, lx float8, ly float8, lz float8, hx float8, hy float8, hz float8);
CREATE TABLE blue (id int8, lx float8, ly float8, lz float8, hx float8, hy float8, hz float8);
INSERT INTO blue VALUES (1, 0, 0, 0, 1, 1, 1), (2, 1e10, 1e10, 1e10, 1.0000000001e10, 1e10, 1e10);
INSERT INTO red VALUES
	(1, 'overlap', 0.5, 0.5, 0.5, 2, 2, 2),
	(2, 'the same', 0, 0, 0, 1, 1, 1),
	(3, 'inside', 0.4, 0.4, 0.4, 0.6, 0.6, 0.6),
	(4, 'around both', -1, -1, -1, 1e11, 1e11, 1e11),
	(5, 'face on face', 1, 0, 0, 2, 1, 1),
	(6, 'edge on edge', 1, 1, 0, 2, 2, 1),
	(7, 'corner on corner', 1, 1, 1, 2, 2, 2),
	(8, 'one ulp away', 1.0000000000000002, 0, 0, 2, 1, 1),
	(9, 'one denormal below', -1, -1, -1, -5e-324, 1, 1),
	(10, 'ends at minus zero', -1, -1, -1, '-0', 1, 1),
	(11, 'flat, on a face', 0.2, 0.2, 1, 0.3, 0.3, 1),
	(12, 'a point, in it', 0.5, 0.5, 0.5, 0.5, 0.5, 0.5),
	(13, 'a point, at a corner', 1, 1, 1, 1, 1, 1),
	(14, 'a point, outside', 1, 1, 1.0000000000000002, 1, 1, 1.0000000000000002),
	(15, 'equal in float4, not in float8', 1.00000000000001e10, 1e10, 1e10, 1.00000000000002e10, 1e10, 1e10),
	(16, 'equal in float4, not in float8', 1e10, 1.00000000000001e10, 1e10, 1e10, 1.00000000000002e10, 1e10),
	(17, 'overlap in x and y only', 0, 0, 2, 1, 1, 3),
	(18, 'as large as can be', -1.7976931348623157e308, -1.7976931348623157e308, -1.7976931348623157e308, 1.7976931348623157e308, 1.7976931348623157e308, 1.7976931348623157e308);
SELECT r.id, note, string_agg(blue_id::text, ' ' ORDER BY blue_id) AS blue
FROM red r LEFT JOIN redblue_box_pairs('red', 'blue') p ON red_id = r.id GROUP BY r.id, note ORDER BY r.id;
SELECT * FROM redblue_box_pairs('red', 'blue') EXCEPT SELECT blue_id, red_id FROM redblue_box_pairs('blue', 'red');
SELECT * FROM redblue_box_pairs_query('SELECT * FROM red WHERE id IN (5, 8)', 'TABLE blue');
-- A self join returns each pair once, no row with itself, and first the row that was read first.
SELECT string_agg(id1 || '-' || id2, ' ' ORDER BY id1, id2) FROM redblue_box_self_pairs('red') WHERE id1 < 4;
SELECT count(*), count(*) FILTER (WHERE id1 >= id2) AS turned FROM redblue_box_self_pairs('red');
SELECT count(*) FROM red a JOIN red b ON a.id < b.id AND a.lx <= b.hx AND b.lx <= a.hx AND a.ly <= b.hy AND b.ly <= a.hy AND a.lz <= b.hz AND b.lz <= a.hz;
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT * FROM red WHERE id BETWEEN 2 AND 6');

-- In the plane: no columns lz and hz
CREATE VIEW red_plan AS SELECT id, hy, hx, ly, lx FROM red;
CREATE VIEW blue_plan AS SELECT id, lx, ly, hx, hy FROM blue;
SELECT string_agg(red_id || '-' || blue_id, ' ' ORDER BY red_id, blue_id) FROM redblue_box_pairs('red_plan', 'blue_plan');
SELECT count(*) FROM redblue_box_self_pairs('red_plan');
SELECT count(*) FROM red a JOIN red b ON a.id < b.id AND a.lx <= b.hx AND b.lx <= a.hx AND a.ly <= b.hy AND b.ly <= a.hy;

-- Sizes from 1e-6 to 1e6 in one table, identical boxes, and one that contains all; a nested loop finds the same pairs.
CREATE TABLE mixed AS
SELECT i AS id, x AS lx, y AS ly, z AS lz, x + s * (1 + i % 3) AS hx, y + s * (1 + i % 5) AS hy, z + s * (1 + i % 7) AS hz
FROM (SELECT i, (i * 7919 % 1009)::float8 AS x, (i * 104729 % 1013)::float8 AS y, (i * 1299709::int8 % 1019)::float8 AS z, 10::float8 ^ (i % 8 - 6) AS s FROM generate_series(1, 2000) i) b
UNION ALL SELECT 3000 + i, 5, 5, 5, 6, 6, 6 FROM generate_series(1, 50) i
UNION ALL SELECT 9000, -1e6, -1e6, -1e6, 1e6, 1e6, 1e6;
CREATE TABLE found AS SELECT * FROM redblue_box_self_pairs('mixed');
CREATE TABLE truth AS SELECT a.id AS id1, b.id AS id2 FROM mixed a JOIN mixed b
	ON a.id < b.id AND a.lx <= b.hx AND b.lx <= a.hx AND a.ly <= b.hy AND b.ly <= a.hy AND a.lz <= b.hz AND b.lz <= a.hz;
SELECT count(*) AS pairs, count(DISTINCT (id1, id2)) AS distinct FROM found;
(TABLE found EXCEPT TABLE truth) UNION ALL (TABLE truth EXCEPT TABLE found);
SELECT count(*) FROM redblue_box_pairs('mixed', 'mixed');
SELECT 2 * (SELECT count(*) FROM truth) + (SELECT count(*) FROM mixed);

-- Columns in any order and of any numeric type
CREATE TABLE shuffled (hz numeric, note text, lz int2, ly int4, hx real, id int2, lx int8, hy float8);
INSERT INTO shuffled VALUES (1, 'n', 0, 0, 1, 1, 0, 1), (3, 'n', 1, 1, 2, 2, 1, 2.5), (3, 'n', 2, 2, 3, 3, 3, 3);
SELECT * FROM redblue_box_self_pairs('shuffled');
SELECT * FROM redblue_box_pairs('shuffled', 'blue', red_id => 'lz') ORDER BY 1, 2;

-- Bad input
\i sql/fixtures/fault.sql
\pset format unaligned
\pset tuples_only on
-- Lower bound above the upper bound
CREATE TABLE turned (LIKE blue);
INSERT INTO turned VALUES (1, 0, 0, 0, 1, 1, 1), (42, 0, 1.5, 0, 1, 1.4999999999999998, 1);
SELECT * FROM fault($$redblue_box_pairs('turned', 'blue')$$);
SELECT * FROM fault($$redblue_box_pairs('blue', 'turned')$$);
SELECT * FROM fault($$redblue_box_self_pairs('turned')$$);
SELECT * FROM fault($$redblue_box_self_pairs_query('SELECT id, lx, ly, hx, hy FROM turned')$$);
SELECT * FROM fault($$redblue_box_self_pairs_query('SELECT id, lx, ly, lz, hx, hy::real, hz FROM turned')$$);
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT id, lx, least(ly, hy) AS ly, lz, hx, greatest(ly, hy) AS hy, hz FROM turned');
-- NULL, NaN, infinity
UPDATE turned SET hy = NULL WHERE id = 42;
SELECT * FROM fault($$redblue_box_pairs('turned', 'blue')$$);
UPDATE turned SET hy = 'NaN' WHERE id = 42;
SELECT * FROM fault($$redblue_box_pairs('turned', 'blue')$$);
UPDATE turned SET hy = 'Infinity' WHERE id = 42;
SELECT * FROM fault($$redblue_box_pairs('turned', 'blue')$$);
-- Two dimensions with three
SELECT * FROM fault($$redblue_box_pairs('red', 'blue_plan')$$);
SELECT * FROM fault($$redblue_box_pairs('red_plan', 'blue')$$);
SELECT * FROM fault($$redblue_box_pairs_query('SELECT * FROM red WHERE false', 'TABLE blue_plan')$$);
-- Columns
SELECT * FROM fault($$redblue_box_self_pairs_query('SELECT id, lx, ly, lz, hx, hy FROM blue')$$);
SELECT * FROM fault($$redblue_box_self_pairs_query('SELECT id, lx, ly, hx FROM blue')$$);
SELECT * FROM fault($$redblue_box_self_pairs_query('SELECT id FROM blue')$$);
SELECT * FROM fault($$redblue_box_self_pairs('red', boxes_geom => 'note')$$);
SELECT * FROM fault($$redblue_box_self_pairs_query('SELECT id, box ''1,1,2,2'' AS geom FROM blue')$$);
-- A type named box3d or cube that is not the known one
CREATE TYPE cube AS (x float8);
SELECT * FROM fault($$redblue_box_self_pairs_query('SELECT id, ROW(1)::boxes.cube AS geom FROM blue')$$);
SELECT * FROM fault($$redblue_box_pairs(NULL, 'blue')$$);
SELECT * FROM fault($$redblue_box_self_pairs('red', boxes_id => '')$$);
-- Empty tables, with any number of dimensions
SELECT count(*) FROM redblue_box_pairs_query('SELECT * FROM red WHERE false', 'TABLE blue');
SELECT count(*) FROM redblue_box_pairs_query('TABLE red_plan', 'SELECT * FROM blue_plan WHERE false');
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT * FROM blue_plan WHERE false');
\pset format aligned
\pset tuples_only off
SET client_min_messages = warning;
DROP SCHEMA boxes CASCADE;
