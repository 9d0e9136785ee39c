-- Tests the query forms, which run one read-only SELECT with the caller's privileges.
\set schema query_form
\i sql/fixtures/prologue.sql

CREATE TABLE t (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO t VALUES (1, 0, 0, 0, 1, 0, 0, 0, 1, 0), (2, 1, 0, 0, 2, 0, 0, 1, 1, 0), (3, 5, 5, 5, 6, 5, 5, 5, 6, 5);

-- Accepted queries
CREATE TABLE accepted (n serial, query text);
INSERT INTO accepted (query) VALUES
	('SELECT * FROM t'),
	('select * from t;'),
	('  -- a comment
	SELECT * FROM t /* another */ '),
	('TABLE t'),
	('(SELECT * FROM t)'),
	('SELECT * FROM t WHERE id = 1 UNION ALL SELECT * FROM t WHERE id <> 1'),
	('WITH a AS (SELECT * FROM t), b AS MATERIALIZED (TABLE a) SELECT * FROM b'),
	('WITH RECURSIVE a(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM a WHERE i < 3) SELECT t.* FROM a JOIN t ON t.id = a.i'),
	('SELECT * FROM (VALUES (1, 0, 0, 0, 1, 0, 0, 0, 1, 0), (2, 1, 0, 0, 2, 0, 0, 1, 1, 0), (3, 5, 5, 5, 6, 5, 5, 5, 6, 5)) v (id, ax, ay, az, bx, by, bz, cx, cy, cz)'),
	('SELECT *, ''INSERT INTO t'' AS note FROM t ORDER BY cz DESC LIMIT 10');
SELECT n, (SELECT count(*) FROM redblue_triangle_pairs_query(query, query)) AS pairs,
	(SELECT count(*) FROM redblue_triangle_self_pairs_query(query)) AS self_pairs
FROM accepted ORDER BY n;
SELECT * FROM redblue_triangle_pairs_query('SELECT * FROM t WHERE id = 1', 'SELECT id + 10 AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM t') ORDER BY 1, 2;

-- Rejected queries, each with its reason
CREATE FUNCTION refusal(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text;
	message text;
	detail text;
BEGIN
	PERFORM * FROM redblue_triangle_pairs_query('TABLE t', query);
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN code || ' ' || message || ' / ' || detail;
END $$;
SELECT refusal('');
SELECT refusal('  -- nothing ');
SELECT refusal(';');
SELECT refusal('TABLE t; TABLE t');
SELECT refusal('TABLE t; DROP TABLE t');
SELECT refusal('INSERT INTO t SELECT * FROM t RETURNING *');
SELECT refusal('UPDATE t SET id = 1 RETURNING *');
SELECT refusal('DELETE FROM t RETURNING *');
SELECT refusal('WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d');
SELECT refusal('WITH i AS (INSERT INTO t TABLE t RETURNING *) TABLE i');
SELECT refusal('WITH u AS (UPDATE t SET id = 4 RETURNING *) SELECT * FROM t');
SELECT refusal('WITH a AS (WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d) SELECT * FROM a');
SELECT refusal('SELECT * INTO u FROM t');
SELECT refusal('SELECT * FROM t FOR UPDATE');
SELECT refusal('SELECT * FROM (SELECT * FROM t FOR SHARE) s');
SELECT refusal('SELECT * FROM t WHERE id IN (SELECT id FROM t FOR KEY SHARE)');
SELECT refusal('EXPLAIN SELECT * FROM t');
SELECT refusal('COPY t TO STDOUT');
SELECT refusal('COPY t FROM PROGRAM ''true''');
SELECT refusal('CREATE TABLE u AS TABLE t');
SELECT refusal('BEGIN');
SELECT refusal('COMMIT');
SELECT refusal('SET work_mem = ''1MB''');
SELECT refusal('SHOW work_mem');
SELECT refusal('DO $x$BEGIN END$x$');
SELECT refusal('CALL nothing()');
SELECT refusal('EXECUTE nothing');
SELECT refusal('FETCH 1 FROM c');
SELECT refusal('LISTEN x');
SELECT refusal('VACUUM');
SELECT count(*) FROM t;

-- PostgreSQL's own errors keep their position in the text, and their CONTEXT says which text.
SELECT * FROM redblue_triangle_pairs_query('SELECT * FROM t WHERE', 'TABLE t');
SELECT * FROM redblue_triangle_pairs_query('TABLE t', 'SELECT * FROM no_such_table');
SELECT * FROM redblue_triangle_pairs_query('TABLE t', 'SELECT * FROM t WHERE id = $1');
SELECT * FROM redblue_triangle_self_pairs_query('SELECT 1 / (id - 1) AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM t');
SELECT * FROM redblue_triangle_pairs_query(NULL, 'TABLE t');
SELECT * FROM redblue_triangle_pairs_query('TABLE t', NULL);
SELECT * FROM redblue_triangle_self_pairs_query(NULL);

-- A query that contains a join
SELECT * FROM redblue_triangle_pairs_query(
	'SELECT t.* FROM t JOIN redblue_triangle_self_pairs(''query_form.t'') p ON t.id = p.id1', 'TABLE t') ORDER BY 1, 2;

SET client_min_messages = warning;
DROP SCHEMA query_form CASCADE;
