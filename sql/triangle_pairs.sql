-- Tests redblue_triangle_pairs with columns of numbers.
\set schema triangle_pairs
\i sql/fixtures/prologue.sql

CREATE TABLE red (id int8 NOT NULL, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
CREATE TABLE blue (LIKE red);
INSERT INTO red VALUES
	(1, 0, 0, 0, 4, 0, 0, 0, 4, 0),			-- in the plane z = 0
	(2, 0, 0, 10, 4, 0, 10, 0, 4, 10),		-- the same, 10 higher
	(3, 100, 0, 0, 104, 0, 0, 100, 4, 0);	-- far away
INSERT INTO blue VALUES
	(11, 1, 1, -1, 1, 1, 1, 2, 1, 1),		-- pierces 1
	(12, 4, 0, 0, 9, 9, 9, 9, 9, 8),		-- touches a corner of 1
	(13, 1, 1, 0, 1, 1, 5, 2, 1, 5),		-- its corner lies in the face of 1
	(14, 1, 1, 5e-324, 1, 1, 5, 2, 1, 5),	-- its corner hangs one denormal above the face
	(15, 1, 1, 0, 2, 1, 0, 1, 2, 0),		-- lies in the face of 1
	(16, -1, -1, 0, 9, -1, 0, -1, 9, 0),	-- covers 1, in its plane
	(17, 2, 2, -1, 2, 2, 1, 9, 9, 0),		-- crosses the long edge of 1
	(18, 1, 1, 10, 1, 1, 10, 1, 1, 10),		-- a point, in 2
	(19, 1, 1, 0, 1, 1, 5, 1, 1, 10),		-- a segment, from 1 to 2
	(20, 1, 1, 1, 1, 1, 5, 1, 1, 9),		-- a segment between 1 and 2
	(21, 4, 4, 0, 5, 4, 0, 4, 5, 0);		-- in the plane of 1, beside it
SELECT * FROM redblue_triangle_pairs('red', 'blue') ORDER BY 1, 2;
-- With the sides swapped, the pairs are the same.
SELECT * FROM redblue_triangle_pairs('red', 'blue')
EXCEPT SELECT blue_id, red_id FROM redblue_triangle_pairs('blue', 'red');
SELECT count(*) FROM redblue_triangle_pairs('blue', 'red');
-- In the select list, in a join, as an argument
SELECT redblue_triangle_pairs('red', 'blue') AS pair ORDER BY 1 LIMIT 3;
SELECT r.id, b.id FROM red r JOIN redblue_triangle_pairs('red', 'blue') p ON p.red_id = r.id JOIN blue b ON b.id = p.blue_id
WHERE b.id IN (11, 18) ORDER BY 1, 2;
SELECT t.n, (SELECT count(*) FROM redblue_triangle_pairs(t.n, 'blue')) FROM (VALUES ('red'::regclass), ('blue')) t (n);
SELECT count(*) FROM (SELECT 1 FROM redblue_triangle_pairs('red', 'blue') LIMIT 2) s;
SELECT count(*), max(n) FROM redblue_triangle_pairs('red', 'blue') WITH ORDINALITY AS p (r, b, n);
SELECT p FROM redblue_triangle_pairs('red', 'blue') p WHERE red_id = 2 ORDER BY p;
PREPARE pairs (regclass) AS SELECT count(*) FROM redblue_triangle_pairs($1, 'blue');
EXECUTE pairs ('red');
EXECUTE pairs ('blue');
DEALLOCATE pairs;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM redblue_triangle_pairs('red', 'blue') ORDER BY 1, 2;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
COMMIT;

-- Columns are found by name, in any order, with any numeric type, and with other columns in between.
CREATE TABLE mixed (note text, cz numeric, cy int2, cx int4, bz int8, by float4, bx numeric(20,3), az float8, ay int4, ax int8, id int2, more text);
INSERT INTO mixed SELECT 'n', cz, cy, cx, bz, by, bx, az, ay, ax, id, repeat('x', 3000) FROM red;
SELECT * FROM redblue_triangle_pairs('mixed', 'blue') EXCEPT SELECT * FROM redblue_triangle_pairs('red', 'blue');
SELECT count(*) FROM redblue_triangle_pairs('mixed', 'blue');
-- 64-bit integers become the nearest float8, as in PostgreSQL's cast.
SELECT count(*) FROM redblue_triangle_pairs_query(
	'SELECT 1 AS id, 9007199254740993 AS ax, 0 AS ay, 0 AS az, 9007199254740993 AS bx, 0 AS by, 0 AS bz, 9007199254740993 AS cx, 0 AS cy, 0 AS cz',
	'SELECT 1 AS id, 9007199254740992::float8 AS ax, 0 AS ay, 0 AS az, 9007199254740992::float8 AS bx, 0 AS by, 0 AS bz, 9007199254740992::float8 AS cx, 0 AS cy, 0 AS cz');
-- Domains are treated as their base types.
CREATE DOMAIN metre AS float8 CHECK (VALUE > -1e6);
CREATE DOMAIN object_id AS int4 NOT NULL;
CREATE TABLE domains (id object_id, ax metre, ay metre, az metre, bx metre, by metre, bz metre, cx metre, cy metre, cz metre);
INSERT INTO domains SELECT * FROM red;
SELECT count(*) FROM redblue_triangle_pairs('domains', 'blue');

-- The id may have another name.
ALTER TABLE mixed RENAME id TO gid;
SELECT count(*) FROM redblue_triangle_pairs('mixed', 'blue', red_id => 'gid');
SELECT count(*) FROM redblue_triangle_pairs('blue', 'mixed', blue_id => 'gid');
SELECT count(*) FROM redblue_triangle_pairs(red_id => 'gid', red => 'mixed', blue => 'blue');

-- Duplicate ids repeat, as in a join. Negative and very large ids are valid.
CREATE TABLE twice AS SELECT 5::int8 AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM red WHERE id = 1;
INSERT INTO twice SELECT * FROM twice;
SELECT * FROM redblue_triangle_pairs('twice', 'blue') WHERE blue_id = 11;
UPDATE twice SET id = -9223372036854775808;
SELECT DISTINCT red_id FROM redblue_triangle_pairs('twice', 'blue');

-- Empty tables are not an error.
CREATE TABLE empty (LIKE red);
SELECT * FROM redblue_triangle_pairs('empty', 'blue');
SELECT * FROM redblue_triangle_pairs('red', 'empty');
SELECT * FROM redblue_triangle_pairs('empty', 'empty');
SELECT count, detail FROM redblue_last_run() WHERE stage IN ('read', 'emit');

-- -0 equals 0; adjacent doubles are different.
CREATE TABLE fine (LIKE red);
INSERT INTO fine VALUES (1, '-0', '-0', '-0', '-0', '-0', '-0', '-0', '-0', '-0'), (2, 1, 1, 2.220446049250313e-16, 1, 1, 1, 1, 1, 2);
SELECT * FROM redblue_triangle_pairs('red', 'fine');
-- Extreme magnitudes: 1e300 and denormals
CREATE TABLE far AS SELECT id, ax * 1e300 AS ax, ay * 1e300 AS ay, az * 1e300 AS az, bx * 1e300 AS bx, by * 1e300 AS by, bz * 1e300 AS bz,
	cx * 1e300 AS cx, cy * 1e300 AS cy, cz * 1e300 AS cz FROM red;
CREATE TABLE tiny AS SELECT id, ax * 5e-324 AS ax, ay * 5e-324 AS ay, az * 5e-324 AS az, bx * 5e-324 AS bx, by * 5e-324 AS by, bz * 5e-324 AS bz,
	cx * 5e-324 AS cx, cy * 5e-324 AS cy, cz * 5e-324 AS cz FROM red;
SELECT * FROM redblue_triangle_pairs('far', 'far') ORDER BY 1, 2;
SELECT * FROM redblue_triangle_pairs('tiny', 'tiny') ORDER BY 1, 2;
SELECT * FROM redblue_triangle_pairs('tiny', 'far') ORDER BY 1, 2;

-- One row per stage
SELECT stage, count >= 0 AS count, milliseconds >= 0 AS ms, backend IN ('cpu', 'cuda') AS backend, device <> '' AS device
FROM redblue_last_run();

-- The planner uses the sizes of the tables.
ANALYZE red;
ANALYZE blue;
CREATE FUNCTION estimated_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	EXECUTE 'EXPLAIN ' || query INTO line;
	RETURN substring(line FROM 'rows=\d+');
END $$;
SELECT estimated_rows($$SELECT * FROM redblue_triangle_pairs('red', 'blue')$$);
SELECT estimated_rows($$SELECT * FROM redblue_triangle_self_pairs('blue')$$);
SELECT estimated_rows($$SELECT * FROM redblue_triangle_pairs('red', NULL)$$);

SET client_min_messages = warning;
DROP SCHEMA triangle_pairs CASCADE;
