-- Tests that a query text writes nothing, neither directly nor through a function.
\set schema read_only
\i sql/fixtures/prologue.sql
CREATE TABLE t AS SELECT i AS id, 0::float8 AS lx, 0::float8 AS ly, 1::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 3) i;
ANALYZE t;
CREATE TABLE log (what text);
CREATE SEQUENCE ids;
CREATE FUNCTION by_plpgsql(id int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO read_only.log VALUES ('plpgsql'); RETURN id; END $$;
CREATE FUNCTION by_sql(id int) RETURNS int LANGUAGE sql AS $$ INSERT INTO read_only.log VALUES ('sql'); SELECT id $$;
CREATE FUNCTION by_definer(id int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN DELETE FROM read_only.log; RETURN id; END $$;
CREATE FUNCTION by_ddl(id int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE read_only.made (); RETURN id; END $$;
CREATE FUNCTION by_lock(id int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM FROM read_only.t FOR UPDATE; RETURN id; END $$;
CREATE FUNCTION by_block(id int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM redblue_into('read_only.log', 'SELECT ''block'''); RETURN id; END $$;
CREATE FUNCTION by_force(id int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('transaction_read_only', 'off', true); RETURN read_only.by_plpgsql(id); END $$;
CREATE FUNCTION by_block_of_its_own(id int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		INSERT INTO read_only.log VALUES ('caught');
	EXCEPTION WHEN read_only_sql_transaction THEN
		BEGIN
			PERFORM set_config('transaction_read_only', 'off', true);
			INSERT INTO read_only.log VALUES ('caught again');
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END;
	RETURN id;
END $$;
CREATE FUNCTION by_nested(id int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM redblue_box_self_pair_count_query('TABLE read_only.t');
	RETURN read_only.by_plpgsql(id);
END $$;
CREATE VIEW logged AS SELECT by_plpgsql(id) AS id, lx, ly, hx, hy FROM t;
CREATE VIEW numbered AS SELECT nextval('ids')::int AS id, lx, ly, hx, hy FROM t;

-- The error of a text, and the contents of the tables afterward
CREATE FUNCTION refusal(expression text, source text DEFAULT 't') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	SELECT count(*) INTO n FROM redblue_box_self_pairs_query(format('SELECT %s AS id, lx, ly, hx, hy FROM read_only.%s', expression, source));
	RETURN n || ' pairs';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;
SELECT refusal('id');
SELECT refusal('by_plpgsql(id)');
SELECT refusal('by_sql(id)');
SELECT refusal('by_definer(id)');
SELECT refusal('by_ddl(id)');
SELECT refusal('by_lock(id)');
SELECT refusal('by_block(id)');
SELECT refusal('by_force(id)');
SELECT refusal('by_block_of_its_own(id)');
SELECT refusal('by_nested(id)');
SELECT refusal('nextval(''ids'')');
SELECT refusal('setval(''ids'', 7)');
SELECT refusal('id', 'logged');
SELECT refusal('id', 'numbered');
SELECT refusal('id', 't WHERE by_plpgsql(1) = 1');
SELECT refusal('id', 't UNION ALL SELECT by_plpgsql(1), 0, 0, 1, 1');
TABLE log;
SELECT redblue_box_self_pair_count_query('SELECT by_plpgsql(id) AS id, lx, ly, hx, hy FROM t');
SELECT * FROM redblue_box_pairs_query('TABLE t', 'TABLE logged');

-- As in any read-only transaction, temporary tables may be written, and objects other than tables may be used.
CREATE TEMPORARY TABLE scratch (id int);
CREATE FUNCTION by_scratch(id int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO scratch VALUES (id); RETURN id; END $$;
SELECT refusal('by_scratch(id)');
SELECT refusal('CASE WHEN pg_try_advisory_xact_lock(1) AND random() >= 0 THEN id END');
TABLE scratch;

-- Only while the text is read
BEGIN;
INSERT INTO log VALUES ('before');
SELECT count(*) FROM redblue_box_self_pairs_query('TABLE t');
INSERT INTO log VALUES ('after');
SAVEPOINT s;
SELECT count(*) FROM redblue_box_self_pairs_query('TABLE logged');
ROLLBACK TO s;
INSERT INTO log VALUES ('after an error');
DO $$
BEGIN
	PERFORM redblue_box_self_pair_count_query('TABLE logged');
EXCEPTION WHEN read_only_sql_transaction THEN
	INSERT INTO log VALUES ('in the handler');
END $$;
SAVEPOINT s;
SELECT count(*) FROM redblue_box_self_pairs_query('TABLE t');
RELEASE s;
INSERT INTO log VALUES ('after a savepoint');
DECLARE c CURSOR FOR SELECT * FROM redblue_box_self_pairs_query('TABLE t');
MOVE 1 FROM c;
INSERT INTO log VALUES ('between rows');
MOVE 1 FROM c;
CLOSE c;
SHOW transaction_read_only;
TABLE log;
ROLLBACK;
-- A read-only transaction remains read-only.
BEGIN READ ONLY;
SELECT count(*) FROM redblue_box_self_pairs_query('TABLE t');
SHOW transaction_read_only;
SAVEPOINT s;
SELECT count(*) FROM redblue_box_self_pairs_query('TABLE nowhere');
ROLLBACK TO s;
INSERT INTO log VALUES ('after');
ROLLBACK;
-- Workers of the text's own plan
BEGIN READ WRITE;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT * FROM t WHERE lx + id > 1');
SHOW transaction_read_only;
ROLLBACK;

-- A view given by name is read as SELECT reads it.
SELECT redblue_box_self_pair_count('logged') AS logged, redblue_box_self_pair_count('numbered') AS numbered;
TABLE log;
-- Its functions may not change a table that is in use, including the other side's.
CREATE TABLE other AS TABLE t;
CREATE FUNCTION meanwhile(id int, what text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; RETURN id; END $$;
CREATE VIEW drops AS SELECT meanwhile(id, 'DROP TABLE read_only.other') AS id, lx, ly, hx, hy FROM t;
CREATE VIEW empties AS SELECT meanwhile(id, 'TRUNCATE read_only.other') AS id, lx, ly, hx, hy FROM t;
CREATE VIEW turns AS SELECT meanwhile(id, 'ALTER TABLE read_only.other ALTER lx TYPE numeric') AS id, lx, ly, hx, hy FROM t;
\set SHOW_CONTEXT never
SELECT redblue_box_pair_count('drops', 'other');
SELECT redblue_box_pair_count('empties', 'other');
SELECT redblue_box_pair_count('turns', 'other');
\set SHOW_CONTEXT errors
SELECT redblue_box_pair_count('t', 'other');
-- redblue_into is an INSERT. Its source may do what the source of an INSERT may do.
CREATE TABLE filled (id bigint);
SELECT redblue_into('filled', 'SELECT nextval(''ids'') FROM generate_series(1, 2)');
SELECT redblue_into('filled', 'SELECT by_plpgsql(2)::bigint');
SELECT redblue_into('filled', 'SELECT id1 + nextval(''ids'') * 0 FROM redblue_box_self_pairs_query(''SELECT by_plpgsql(id) AS id, lx, ly, hx, hy FROM t'')');
SELECT count(*) FROM filled;

SET client_min_messages = warning;
DROP SCHEMA read_only CASCADE;
