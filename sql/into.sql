-- Tests redblue_into, which adds the rows of a join to a table: in blocks if the result is the same, else like INSERT.
\set schema into
\i sql/fixtures/prologue.sql
CREATE TABLE red AS SELECT i AS id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 1 + (i % 7)::float8 AS bx, 0::float8 AS by, 0::float8 AS bz,
	0::float8 AS cx, 1::float8 AS cy, i::float8 AS cz FROM generate_series(1, 100::int8) i;
ANALYZE red;
\set all 'SELECT * FROM redblue_triangle_pairs(''red'', ''red'')'

CREATE TABLE plain (red_id bigint, blue_id bigint);
SELECT redblue_into('plain', :'all');
SELECT count(*), count(DISTINCT (red_id, blue_id)) FROM plain;
SELECT redblue_into('plain', 'SELECT * FROM plain LIMIT 15000');
SELECT count(*) FROM plain;
SELECT redblue_into('plain', 'SELECT * FROM plain WHERE false');
SELECT redblue_into('plain', 'VALUES (1::bigint, NULL::bigint), (NULL, NULL); -- the end');
SELECT redblue_into('plain', 'WITH x AS (SELECT 5::bigint) SELECT *, 6::bigint FROM x');
TABLE plain ORDER BY 1 NULLS FIRST, 2 NULLS FIRST LIMIT 1;

-- Values of any length, also out of line
CREATE TABLE wide (id bigint NOT NULL, t text, n numeric, a int[]);
SELECT redblue_into('wide', $$ SELECT i, repeat(md5(i::text), (i % 200)::int), i / 7.0, ARRAY[i, NULL, 3]::int[] FROM generate_series(1, 3000::bigint) i $$);
SELECT count(*), sum(length(t)), bool_and(t = repeat(md5(id::text), (id % 200)::int) AND n = id / 7.0 AND a = ARRAY[id, NULL, 3]::int[]) FROM wide;
SELECT redblue_into('wide', 'SELECT NULL::bigint, NULL::text, NULL::numeric, NULL::int[]');
SELECT redblue_into('wide', 'SELECT i, repeat(''x'', 100000), 1 / (i - 2000)::numeric, NULL::int[] FROM generate_series(1, 3000::bigint) i');
SELECT count(*) FROM wide;

-- Tables that cannot be filled in blocks are filled row by row.
CREATE TABLE other_types (red_id int, blue_id text);
SELECT redblue_into('other_types', :'all');
CREATE TABLE defaults (red_id bigint, blue_id bigint, at int DEFAULT 7);
SELECT redblue_into('defaults', :'all');
CREATE TABLE checked (red_id bigint, blue_id bigint CHECK (blue_id < 50));
SELECT redblue_into('checked', :'all' || ' ORDER BY 1, 2');
CREATE TABLE keyed (red_id bigint, blue_id bigint, PRIMARY KEY (red_id, blue_id));
SELECT redblue_into('keyed', :'all');
SELECT redblue_into('keyed', :'all' || ' ORDER BY 1, 2 LIMIT 1');
CREATE TABLE parted (red_id bigint, blue_id bigint) PARTITION BY RANGE (red_id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (50);
SELECT redblue_into('parted', :'all' || ' WHERE red_id < 50');
SELECT redblue_into('part', :'all' || ' ORDER BY 1, 2');
CREATE TABLE computed (red_id bigint, blue_id bigint GENERATED ALWAYS AS (red_id * 2) STORED);
SELECT redblue_into('computed', 'SELECT 3::bigint');
CREATE TABLE fired (red_id bigint, blue_id bigint);
CREATE FUNCTION double_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.red_id := NEW.red_id * 2; RETURN NEW; END $$;
CREATE TRIGGER double_it BEFORE INSERT ON fired FOR EACH ROW EXECUTE FUNCTION double_it();
SELECT redblue_into('fired', 'SELECT 3::bigint, 4::bigint');
CREATE TABLE ruled (red_id bigint, blue_id bigint);
CREATE RULE elsewhere AS ON INSERT TO ruled DO INSTEAD INSERT INTO plain VALUES (-NEW.red_id, NEW.blue_id);
SELECT redblue_into('ruled', 'SELECT 3::bigint, 4::bigint');
CREATE TABLE dropped (x int, red_id bigint, blue_id bigint);
ALTER TABLE dropped DROP COLUMN x;
SELECT redblue_into('dropped', 'SELECT 3::bigint, 4::bigint');
CREATE VIEW seen AS SELECT * FROM fired;
SELECT redblue_into('seen', 'SELECT 5::bigint, 6::bigint');
CREATE TEMPORARY TABLE mine (red_id bigint, blue_id bigint);
SELECT redblue_into('mine', :'all');
CREATE UNLOGGED TABLE unlogged (red_id bigint, blue_id bigint);
SELECT redblue_into('unlogged', :'all');
TABLE fired ORDER BY 1;
TABLE dropped;
SELECT * FROM plain WHERE red_id < 0;
SELECT (SELECT count(*) FROM keyed) AS keyed, (SELECT count(*) FROM part) AS part, (SELECT count(*) FROM defaults WHERE at = 7) AS defaults,
	(SELECT count(*) FROM mine) AS mine, (SELECT count(*) FROM unlogged) AS unlogged, (SELECT count(*) FROM other_types WHERE blue_id = '7') AS seven;

-- Transactions
BEGIN;
SELECT redblue_into('plain', :'all');
ROLLBACK;
BEGIN;
TRUNCATE plain;
SELECT redblue_into('plain', :'all');
SELECT count(*) FROM plain;
SAVEPOINT s;
SELECT redblue_into('plain', :'all');
SELECT count(*) FROM plain;
ROLLBACK TO s;
SELECT count(*) FROM plain;
COMMIT;
BEGIN READ ONLY;
SELECT redblue_into('mine', 'SELECT 1::bigint, 2::bigint');
SELECT redblue_into('plain', :'all');
ROLLBACK;

-- Invalid calls
SELECT redblue_into(NULL, :'all');
SELECT redblue_into('plain', NULL);
SELECT redblue_into('plain', 'DELETE FROM plain');
SELECT redblue_into('plain', 'SELECT 1::bigint, 2::bigint; SELECT 1');
SELECT redblue_into('plain', 'SELECT 1::bigint, 2::bigint, 3');
SELECT redblue_into('plain', 'SELECT now(), now()');
SELECT redblue_into('plain', 'SELECT * FROM nowhere');
SELECT redblue_into('pg_class_oid_index', :'all');
SELECT redblue_into(0, :'all');
CREATE ROLE regress_redblue_into;
GRANT USAGE ON SCHEMA "into" TO regress_redblue_into;
GRANT SELECT ON red, plain TO regress_redblue_into;
SET ROLE regress_redblue_into;
SELECT redblue_into('plain', :'all');
RESET ROLE;
GRANT INSERT ON plain TO regress_redblue_into;
SET ROLE regress_redblue_into;
SELECT redblue_into('plain', 'SELECT 1::bigint, 2::bigint');
SELECT redblue_into('plain', 'SELECT * FROM fired');
RESET ROLE;
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
SET ROLE regress_redblue_into;
SELECT redblue_into('plain', 'SELECT 1::bigint, 2::bigint');
RESET ROLE;
REVOKE ALL ON red, plain FROM regress_redblue_into;
REVOKE ALL ON SCHEMA "into" FROM regress_redblue_into;
DROP ROLE regress_redblue_into;

SET client_min_messages = warning;
DROP SCHEMA "into" CASCADE;
