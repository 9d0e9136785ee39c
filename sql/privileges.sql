-- who may read what: the functions read as their caller
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS redblue;
RESET client_min_messages;
CREATE SCHEMA privileges;
SET search_path = privileges, public;

CREATE TABLE t (secret text, id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8, owner name);
INSERT INTO t SELECT 'hush', i, i, 0, 0, i + 1, 0, 0, i, 1, 0, CASE WHEN i < 3 THEN 'regress_redblue_reader' ELSE 'somebody' END FROM generate_series(1, 4) i;
CREATE VIEW v AS SELECT * FROM t;
CREATE ROLE regress_redblue_reader;
GRANT USAGE ON SCHEMA privileges TO regress_redblue_reader;

SET ROLE regress_redblue_reader;
-- nothing
SELECT count(*) FROM redblue_triangle_pairs('t', 't');
SELECT count(*) FROM redblue_triangle_self_pairs('t');
SELECT count(*) FROM redblue_triangle_self_pairs('v');
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT * FROM t');
-- the columns that are needed are enough
RESET ROLE;
GRANT SELECT (id, ax, ay, az, bx, by, bz, cx, cy, cz) ON t TO regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT count(*) FROM redblue_triangle_self_pairs('t');
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT * FROM t');
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT id, ax, ay, az, bx, by, bz, cx, cy, cz FROM t');
-- but each of them is needed
RESET ROLE;
REVOKE SELECT (cz) ON t FROM regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT count(*) FROM redblue_triangle_self_pairs('t');
-- a view reads as its owner
RESET ROLE;
GRANT SELECT ON v TO regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT count(*) FROM redblue_triangle_self_pairs('v');
-- and a function that is made for it as its definer
RESET ROLE;
CREATE FUNCTION definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = privileges, public AS $$SELECT count(*) FROM redblue_triangle_self_pairs('t')$$;
SET ROLE regress_redblue_reader;
SELECT definer();

-- row-level security
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
-- no way into a schema that is closed
REVOKE USAGE ON SCHEMA privileges FROM regress_redblue_reader;
SELECT 'privileges.t'::regclass::oid AS t \gset
SET ROLE regress_redblue_reader;
SELECT * FROM redblue_triangle_self_pairs(:t);
-- the settings of the machine's GPU are not everybody's
SET redblue.gpu_memory_limit = '1GB';
SET redblue.memory_limit = '1GB';
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA privileges CASCADE;
DROP ROLE regress_redblue_reader;
