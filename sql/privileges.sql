-- Tests privileges: functions read with those of their caller.
\set schema privileges
\i sql/fixtures/prologue.sql

CREATE TABLE t (secret text, id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8, owner name);
INSERT INTO t SELECT 'hush', i, i, 0, 0, i + 1, 0, 0, i, 1, 0, CASE WHEN i < 3 THEN 'regress_redblue_reader' ELSE 'somebody' END FROM generate_series(1, 4) i;
CREATE VIEW v AS SELECT * FROM t;
CREATE ROLE regress_redblue_reader;
GRANT USAGE ON SCHEMA privileges TO regress_redblue_reader;

SET ROLE regress_redblue_reader;
-- No privileges
SELECT count(*) FROM redblue_triangle_pairs('t', 't');
SELECT count(*) FROM redblue_triangle_self_pairs('t');
SELECT count(*) FROM redblue_triangle_self_pairs('v');
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT * FROM t');
-- Privileges for the columns that are read are sufficient.
RESET ROLE;
GRANT SELECT (id, ax, ay, az, bx, by, bz, cx, cy, cz) ON t TO regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT count(*) FROM redblue_triangle_self_pairs('t');
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT * FROM t');
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM t');
-- Each of the columns that are read needs a privilege.
RESET ROLE;
REVOKE SELECT (cz) ON t FROM regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT count(*) FROM redblue_triangle_self_pairs('t');
-- A view reads with its owner's privileges.
RESET ROLE;
GRANT SELECT ON v TO regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT count(*) FROM redblue_triangle_self_pairs('v');
-- A SECURITY DEFINER function reads with its owner's privileges.
RESET ROLE;
CREATE FUNCTION definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = privileges, public AS $$SELECT count(*) FROM redblue_triangle_self_pairs('t')$$;
SET ROLE regress_redblue_reader;
SELECT definer();

-- Row-level security
RESET ROLE;
GRANT SELECT ON t TO regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT * FROM redblue_triangle_self_pairs('t') ORDER BY 1, 2;
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON t USING (owner = current_user);
SET ROLE regress_redblue_reader;
SELECT * FROM redblue_triangle_self_pairs('t') ORDER BY 1, 2;
SELECT * FROM redblue_triangle_pairs('t', 'v') ORDER BY 1, 2;
SELECT * FROM redblue_triangle_self_pairs_query('TABLE t') ORDER BY 1, 2;
SET row_security = off;
SELECT * FROM redblue_triangle_self_pairs('t') ORDER BY 1, 2;
RESET row_security;
RESET ROLE;
SELECT count(*) FROM redblue_triangle_self_pairs('t');
-- An OID gives no access to a schema without the privilege to use it, whatever kind of relation it is.
CREATE TABLE plain AS SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM t;
CREATE MATERIALIZED VIEW kept AS TABLE plain;
CREATE TABLE parted (LIKE plain) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted DEFAULT;
INSERT INTO parted TABLE plain;
CREATE TABLE filled (red_id bigint, blue_id bigint);
CREATE TABLE filled_by_row (red_id bigint, blue_id bigint DEFAULT 7);
CREATE SCHEMA privileges_open;
GRANT USAGE ON SCHEMA privileges_open TO regress_redblue_reader;
-- A view or function refers to the relation, but does not carry the privilege to use its schema.
CREATE VIEW privileges_open.pairs AS SELECT * FROM redblue_triangle_self_pairs('plain');
CREATE FUNCTION privileges_open.pairs() RETURNS SETOF redblue_self_pair LANGUAGE sql BEGIN ATOMIC SELECT * FROM redblue_triangle_self_pairs('plain'); END;
CREATE FUNCTION privileges_open.definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER BEGIN ATOMIC SELECT count(*) FROM redblue_triangle_self_pairs('plain'); END;
CREATE FUNCTION privileges_open.count_of(what regclass) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT count(*) FROM redblue_triangle_self_pairs(what));
EXCEPTION WHEN insufficient_privilege THEN
	RAISE NOTICE '%', sqlerrm;
	RETURN NULL;
END $$;
-- The owner of a view reads the tables below it.
CREATE VIEW privileges_open.rows AS TABLE plain;
-- A partition is reached through its parent.
CREATE TABLE privileges_open.parent (LIKE plain);
CREATE TABLE child () INHERITS (privileges_open.parent);
INSERT INTO child TABLE plain;
GRANT SELECT ON plain, kept, parted, part, child, privileges_open.pairs, privileges_open.rows, privileges_open.parent TO regress_redblue_reader;
GRANT SELECT, INSERT ON filled, filled_by_row TO regress_redblue_reader;
SELECT 't'::regclass::oid AS t, 'v'::regclass::oid AS v, 'plain'::regclass::oid AS plain, 'kept'::regclass::oid AS kept,
	'parted'::regclass::oid AS parted, 'part'::regclass::oid AS part, 'filled'::regclass::oid AS filled, 'filled_by_row'::regclass::oid AS by_row \gset
REVOKE USAGE ON SCHEMA privileges FROM regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT * FROM redblue_triangle_self_pairs(:t);
SELECT * FROM redblue_triangle_self_pairs(:v);
SELECT * FROM redblue_triangle_self_pairs(:plain);
SELECT * FROM redblue_triangle_pairs('privileges_open.rows', :plain);
SELECT redblue_triangle_self_pair_count(:plain);
SELECT * FROM redblue_triangle_self_pairs(:kept);
SELECT * FROM redblue_triangle_self_pairs(:parted);
SELECT * FROM redblue_triangle_self_pairs(:part);
SELECT redblue_into(:filled, 'VALUES (1::bigint, 2::bigint)');
SELECT redblue_into(:by_row, 'VALUES (1::bigint)');
SELECT * FROM privileges_open.pairs;
SELECT * FROM privileges_open.pairs();
SELECT privileges_open.count_of(:plain);
SELECT privileges_open.definer();
SELECT count(*) FROM redblue_triangle_self_pairs('privileges_open.rows');
SELECT count(*) FROM redblue_triangle_self_pairs('privileges_open.parent');
-- Privileges are checked at each call, not when the call is planned.
RESET ROLE;
GRANT USAGE ON SCHEMA privileges TO regress_redblue_reader;
SET plan_cache_mode = force_generic_plan;
PREPARE again AS SELECT count(*) FROM redblue_triangle_self_pairs(:plain);
PREPARE fill AS SELECT redblue_into(:filled, 'VALUES (1::bigint, 2::bigint)');
SET ROLE regress_redblue_reader;
EXECUTE again;
EXECUTE fill;
SELECT privileges_open.count_of(:plain);
RESET ROLE;
REVOKE USAGE ON SCHEMA privileges FROM regress_redblue_reader;
SET ROLE regress_redblue_reader;
EXECUTE again;
EXECUTE fill;
SELECT privileges_open.count_of(:plain);
RESET ROLE;
GRANT USAGE ON SCHEMA privileges TO regress_redblue_reader;
REVOKE SELECT ON plain FROM regress_redblue_reader;
REVOKE INSERT ON filled FROM regress_redblue_reader;
SET ROLE regress_redblue_reader;
EXECUTE again;
EXECUTE fill;
SELECT privileges_open.count_of(:plain);
RESET ROLE;
DEALLOCATE ALL;
RESET plan_cache_mode;
-- Privileges for some columns are also sufficient for INSERT.
REVOKE INSERT ON filled_by_row FROM regress_redblue_reader;
GRANT INSERT (red_id) ON filled_by_row TO regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT redblue_into(:by_row, 'VALUES (1::bigint)');
SELECT redblue_into(:by_row, 'VALUES (1::bigint, 2::bigint)');
TABLE filled_by_row;
-- Only superusers can change the settings of the GPU.
SET redblue.gpu_memory_limit = '1GB';
SET redblue.gpu_devices = '0';
SET redblue.memory_limit = '1GB';
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA privileges, privileges_open CASCADE;
DROP ROLE regress_redblue_reader;
