-- Tests that functions see what a SELECT in their place would see.
\set schema transactions
\i sql/fixtures/prologue.sql

CREATE TABLE t (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
CREATE FUNCTION add(n int) RETURNS void LANGUAGE sql AS $$INSERT INTO t SELECT n, n, 0, 0, n + 1, 0, 0, n, 1, 0$$;
SELECT add(1), add(2);
SELECT count(*) FROM redblue_triangle_self_pairs('t');

-- Rows of the same transaction before the commit, and after a rollback
BEGIN;
SELECT add(3);
SELECT count(*) FROM redblue_triangle_self_pairs('t');
SAVEPOINT s;
SELECT add(4);
DELETE FROM t WHERE id = 1;
SELECT * FROM redblue_triangle_self_pairs('t') ORDER BY 1, 2;
ROLLBACK TO s;
SELECT * FROM redblue_triangle_self_pairs('t') ORDER BY 1, 2;
UPDATE t SET id = id + 100;
SELECT * FROM redblue_triangle_self_pairs('t') ORDER BY 1, 2;
ROLLBACK;
SELECT * FROM redblue_triangle_self_pairs('t') ORDER BY 1, 2;
-- Rows of the same statement are not visible.
WITH i AS (INSERT INTO t SELECT 9, 2, 0, 0, 3, 0, 0, 2, 1, 0 RETURNING id) SELECT (SELECT count(*) FROM i) AS inserted, count(*) FROM redblue_triangle_self_pairs('t');
DELETE FROM t WHERE id = 9;

-- Read-only and serializable transactions
BEGIN READ ONLY;
SELECT count(*) FROM redblue_triangle_self_pairs('t');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT count(*) FROM redblue_triangle_self_pairs_query('TABLE t');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT add(3);
SELECT count(*) FROM redblue_triangle_self_pairs('t');
ROLLBACK;

-- An error in a block rolls back the block.
DO $$
BEGIN
	PERFORM add(3);
	BEGIN
		PERFORM add(4);
		PERFORM * FROM redblue_triangle_self_pairs('t', mesh_id => 'none');
	EXCEPTION WHEN undefined_column THEN
		NULL;
	END;
	ASSERT (SELECT count(*) FROM redblue_triangle_self_pairs('t')) = 2;
	FOR i IN 1 .. 50 LOOP
		BEGIN
			PERFORM * FROM redblue_triangle_self_pairs_query('SELECT 1 / (id - 3) AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM t');
			RAISE 'no error';
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
END $$;
SELECT count(*) FROM t;
DELETE FROM t WHERE id = 3;

-- If the table changes during a loop over a join, the join does not.
DO $$
DECLARE
	p record;
	n int := 0;
BEGIN
	FOR p IN SELECT * FROM redblue_triangle_pairs('t', 't') LOOP
		PERFORM add(10 + n);
		n := n + 1;
	END LOOP;
	ASSERT n = 4;
END $$;
DELETE FROM t WHERE id > 2;

-- Writing is done by the statement that contains the function.
CREATE TABLE pairs (red_id bigint, blue_id bigint, PRIMARY KEY (red_id, blue_id));
INSERT INTO pairs SELECT * FROM redblue_triangle_pairs('t', 't');
INSERT INTO pairs SELECT * FROM redblue_triangle_pairs('t', 't') ON CONFLICT DO NOTHING;
SELECT count(*) FROM pairs;
UPDATE t SET az = 5, bz = 5, cz = 5 FROM redblue_triangle_self_pairs('t') p WHERE t.id = p.id2;
SELECT count(*) FROM redblue_triangle_self_pairs('t');
DELETE FROM t USING redblue_triangle_pairs('t', 't') p WHERE t.id = p.red_id AND t.id = 2;
SELECT count(*) FROM t;
CREATE TABLE made AS SELECT * FROM redblue_triangle_pairs('t', 't');
SELECT * FROM made;

-- Cursors that outlive their transaction
SELECT add(2);
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT * FROM redblue_triangle_pairs('t', 't') ORDER BY 1, 2;
COMMIT;
FETCH ALL FROM c;
CLOSE c;

-- A function that is not read to its end
SELECT redblue_triangle_pairs('t', 't') IS NOT NULL AS pair LIMIT 1;
SELECT EXISTS (SELECT FROM redblue_triangle_pairs('t', 't'));

SET client_min_messages = warning;
DROP SCHEMA transactions CASCADE;
