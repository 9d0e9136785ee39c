-- Tests privileges to read and fill relations of all kinds: the outcome must be that of plain SQL for each set of grants.
\set schema asked
\i sql/fixtures/prologue.sql
CREATE SCHEMA verdicts;
-- Thousands of calls: none of them is worth a worker.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE plain AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 1::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 3) i;
CREATE TABLE policy AS TABLE plain;
ALTER TABLE policy ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON policy USING (id % 2 = 1);
CREATE TABLE forced AS TABLE plain;
ALTER TABLE forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE TABLE parted (LIKE plain) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted DEFAULT;
INSERT INTO parted TABLE plain;
CREATE TABLE parent (LIKE plain);
CREATE TABLE child () INHERITS (parent);
INSERT INTO child TABLE plain;
CREATE VIEW seen AS TABLE plain;
CREATE MATERIALIZED VIEW kept AS TABLE plain;
CREATE UNLOGGED TABLE unlogged AS TABLE plain;
CREATE TABLE keyed (LIKE plain, UNIQUE (id));
CREATE TABLE ruled (LIKE plain);
CREATE RULE r AS ON INSERT TO ruled DO INSTEAD INSERT INTO plain VALUES (NEW.id, 0, 0, 1, 1);
CREATE TABLE dropped (x int, LIKE plain);
INSERT INTO dropped SELECT 0, * FROM plain;
ALTER TABLE dropped DROP COLUMN x;
CREATE ROLE regress_redblue_one;
CREATE ROLE regress_redblue_group;
GRANT regress_redblue_group TO regress_redblue_one;

GRANT USAGE ON SCHEMA verdicts TO public;
-- The result of a statement, or its SQLSTATE; the statement is rolled back.
CREATE FUNCTION verdicts.verdict(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	IF query ^@ 'INSERT' THEN
		EXECUTE query;
		n := 1;
	ELSE
		EXECUTE query INTO n;
	END IF;
	RAISE 'done' USING DETAIL = n;
EXCEPTION WHEN OTHERS THEN
	DECLARE
		d text;
	BEGIN
		GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
		RETURN CASE WHEN sqlerrm = 'done' THEN d ELSE sqlstate || ' ' || sqlerrm END;
	END;
END $$;

CREATE TABLE verdicts.verdicts (rel name, grants text, usage text, form text, sql text, ours text);
DO $$
DECLARE
	rel record;
	g text;
	u text;
	result jsonb;
BEGIN
	FOR rel IN SELECT oid, relname FROM pg_class WHERE relnamespace = 'asked'::regnamespace AND relkind IN ('r', 'v', 'm', 'p') LOOP
		FOREACH g IN ARRAY ARRAY['', 'SELECT', 'INSERT', 'SELECT, INSERT', 'UPDATE', 'SELECT (id, lx, ly, hx, hy)', 'SELECT (id, lx)', 'INSERT (id, lx, ly, hx, hy)', 'INSERT (id)', 'group SELECT, INSERT', 'public SELECT', 'owner'] LOOP
			FOREACH u IN ARRAY ARRAY['', 'USAGE', 'CREATE', 'group'] LOOP
				BEGIN
					IF g = 'owner' THEN
						EXECUTE format('ALTER TABLE %I OWNER TO regress_redblue_one', rel.relname);
					ELSIF g <> '' THEN
						EXECUTE format('GRANT %s ON %I TO %s', regexp_replace(g, '^(group|public) ', ''), rel.relname,
							CASE WHEN g ^@ 'group' THEN 'regress_redblue_group' WHEN g ^@ 'public' THEN 'public' ELSE 'regress_redblue_one' END);
					END IF;
					IF u <> '' THEN
						EXECUTE format('GRANT %s ON SCHEMA asked TO %s', CASE u WHEN 'CREATE' THEN u ELSE 'USAGE' END,
							CASE u WHEN 'group' THEN 'regress_redblue_group' WHEN 'public' THEN 'public' ELSE 'regress_redblue_one' END);
					END IF;
					SET LOCAL ROLE regress_redblue_one;
					result := jsonb_build_array(
						jsonb_build_object('form', 'count', 'sql', verdicts.verdict(format('SELECT count(*) FROM (SELECT id, lx, ly, hx, hy FROM asked.%I) a JOIN (SELECT id, lx, ly, hx, hy FROM asked.%I) b ON a.id < b.id AND a.lx <= b.hx AND b.lx <= a.hx', rel.relname, rel.relname)),
							'ours', verdicts.verdict(format('SELECT redblue_box_self_pair_count(%s)', rel.oid))),
						jsonb_build_object('form', 'scan', 'ours', verdicts.verdict(format('SELECT count(*) FROM redblue_box_self_pairs(%s)', rel.oid))),
						jsonb_build_object('form', 'into', 'sql', verdicts.verdict(format('INSERT INTO asked.%I SELECT 9, 0::float8, 0::float8, 1::float8, 1::float8', rel.relname)),
							'ours', verdicts.verdict(format('SELECT redblue_into(%s, ''SELECT 9, 0::float8, 0::float8, 1::float8, 1::float8'')', rel.oid))));
					RESET ROLE;
					RAISE 'undo';
				EXCEPTION WHEN raise_exception THEN
					INSERT INTO verdicts.verdicts SELECT rel.relname, g, u, form, sql, ours FROM jsonb_to_recordset(result) AS x(form text, sql text, ours text);
				END;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
UPDATE verdicts.verdicts v SET sql = c.sql FROM verdicts.verdicts c WHERE v.form = 'scan' AND c.form = 'count' AND (c.rel, c.grants, c.usage) = (v.rel, v.grants, v.usage);
SELECT form, count(*), count(*) FILTER (WHERE left(sql, 5) = '42501') AS refused, count(*) FILTER (WHERE sql NOT LIKE '_____ %') AS answered FROM verdicts.verdicts GROUP BY form ORDER BY form;
SELECT * FROM verdicts.verdicts WHERE sql IS DISTINCT FROM ours ORDER BY rel, form, grants, usage;

SET client_min_messages = warning;
DROP SCHEMA asked, verdicts CASCADE;
DROP ROLE regress_redblue_one, regress_redblue_group;
