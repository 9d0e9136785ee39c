-- Tests that redblue_last_run shows a join only to the role that ran it, until the session is reset.
\set schema last_run
\i sql/fixtures/prologue.sql
CREATE TABLE one AS SELECT 1 AS id, 0::float8 AS lx, 0::float8 AS ly, 1::float8 AS hx, 1::float8 AS hy;
CREATE TABLE three AS SELECT i AS id, 0::float8 AS lx, 0::float8 AS ly, 1::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 3) i;
CREATE ROLE regress_redblue_runner;
CREATE ROLE regress_redblue_other;
GRANT USAGE ON SCHEMA last_run TO regress_redblue_runner, regress_redblue_other;
GRANT SELECT ON one TO regress_redblue_runner;
GRANT regress_redblue_runner TO regress_redblue_other;
CREATE FUNCTION secret() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = last_run, public AS $$ SELECT redblue_box_self_pair_count('three') $$;
CREATE FUNCTION secret_rows() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = last_run, public AS $$
BEGIN
	RETURN (SELECT count FROM redblue_last_run() WHERE stage = 'read');
END $$;
CREATE FUNCTION secret_cursor() RETURNS refcursor LANGUAGE plpgsql SECURITY DEFINER SET search_path = last_run, public AS $$
DECLARE
	c refcursor := 'c';
BEGIN
	OPEN c FOR SELECT * FROM redblue_box_self_pairs('three');
	MOVE NEXT FROM c;
	RETURN c;
END $$;
-- Number of rows that the last join read
CREATE VIEW shown AS SELECT count FROM redblue_last_run() WHERE stage = 'read';
GRANT SELECT ON shown TO regress_redblue_runner, regress_redblue_other;

TABLE shown;
SELECT redblue_box_self_pair_count('three');
TABLE shown;
-- Other roles do not see it, be they members of the role or the roles of which it is a member.
SET ROLE regress_redblue_runner;
TABLE shown;
SELECT redblue_box_self_pair_count('one');
TABLE shown;
SET ROLE regress_redblue_other;
TABLE shown;
RESET ROLE;
TABLE shown;
SET SESSION AUTHORIZATION regress_redblue_runner;
TABLE shown;
-- A join within a SECURITY DEFINER function belongs to the function's owner.
SELECT secret();
TABLE shown;
SELECT secret_rows();
-- A join belongs to the role that opened its cursor, even if another role closes it.
BEGIN;
SELECT secret_cursor();
CLOSE c;
TABLE shown;
COMMIT;
SELECT secret_rows();
-- A failed join leaves the previous statistics.
SELECT redblue_box_self_pair_count('one');
SELECT redblue_box_self_pair_count('three');
TABLE shown;
RESET SESSION AUTHORIZATION;
TABLE shown;

-- Skipped solids of a mesh are shown to its role only, too.
CREATE TABLE solid AS SELECT i AS id, i / 5 AS solid, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 4 * (i % 4 % 2)::float8 AS bx, 4 * (i % 4 / 2)::float8 AS by, 4::float8 AS bz, 4::float8 AS cx, 1::float8 AS cy, i::float8 AS cz FROM generate_series(1, 9) i;
SELECT solids FROM redblue_tetrahedralize('solid', 'meshed', solid => 'solid', on_bad => 'skip');
SELECT solid_id, reason, message FROM redblue_last_skipped();
SET ROLE regress_redblue_runner;
SELECT solid_id, reason, message FROM redblue_last_skipped();
RESET ROLE;
SELECT count(*) FROM redblue_last_skipped();
SELECT redblue_box_self_pair_count('one');
SELECT count(*) FROM redblue_last_skipped();
SELECT solids FROM redblue_tetrahedralize('solid', 'meshed', solid => 'solid', on_bad => 'skip');
DISCARD ALL;
SET search_path = last_run, public;
SELECT count(*) FROM redblue_last_skipped();
-- A reset session has no statistics.
SELECT redblue_box_self_pair_count('three');
DISCARD PLANS;
DISCARD TEMP;
DISCARD SEQUENCES;
RESET ALL;
SET search_path = last_run, public;
TABLE shown;
BEGIN;
DISCARD ALL;
ROLLBACK;
TABLE shown;
DECLARE held CURSOR WITH HOLD FOR SELECT * FROM redblue_box_self_pairs('three');
DISCARD ALL;
SET search_path = last_run, public;
TABLE shown;
SELECT redblue_box_self_pair_count('one');
TABLE shown;

SET client_min_messages = warning;
DROP SCHEMA last_run CASCADE;
DROP ROLE regress_redblue_runner, regress_redblue_other;
