-- Tests redblue_cache, redblue_uncache and redblue_cached: what they accept, refuse and return.
\set schema cache
\i sql/fixtures/prologue.sql
SET redblue.cache = auto;

-- Pages written by COPY FREEZE are all-visible at once.
BEGIN;
CREATE TABLE t (id int8, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
COPY t FROM STDIN (FREEZE);
1	0	0	0	1	0	0	0	1	0
2	0	0	0	1	0	1	0	1	1
3	5	0	0	6	0	0	5	1	0
4	5	0	0	6	0	1	5	1	1
\.
COMMIT;
BEGIN;
CREATE TABLE all_kinds (id int4, name text, ax float4, ay int4, az numeric, bx float8, by float8, bz float8, cx float8, cy float8, cz float8,
	lx float8, ly float8, hx float8, hy float8);
COPY all_kinds FROM STDIN (FREEZE);
7	seven	0	0	0	1	0	0	0	1	0	0	0	1	1
8	eight	0	0	0	1	0	1	0	1	1	1	1	2	2
\.
COMMIT;
CREATE VIEW shown AS SELECT relation, kind, rows, bytes > 0 AS bytes, device_bytes >= 0 AS device, pages, kept, hits, last_used <= now() AS used, reason FROM redblue_cached() ORDER BY 1, 2;

-- Rows are cached, used and evicted.
SELECT rows, bytes > 0 AS bytes, pages, kept FROM redblue_cache('t');
TABLE shown;
SELECT count(*) FROM redblue_triangle_pairs('t', 't');
SELECT substring(detail FROM '; (.* cached .*)') AS kept FROM redblue_last_run() WHERE stage = 'read';
SELECT count(*) FROM redblue_triangle_self_pairs('t');
SELECT substring(detail FROM '; (.* cached .*)') AS kept FROM redblue_last_run() WHERE stage = 'read';
TABLE shown;
SELECT rows, bytes > 0 AS bytes, pages, kept FROM redblue_cache('t', 'triangles');
INSERT INTO t VALUES (5, 0, 0, 0, 9, 0, 9, 0, 9, 9);
SELECT count(*) FROM redblue_triangle_self_pairs('t');
SELECT redblue_uncache('t') > 0 AS freed;
TABLE shown;
SELECT redblue_uncache('t');
SELECT redblue_uncache();

-- A set of each kind, and columns given by name
SELECT rows, pages, kept FROM redblue_cache('all_kinds', 'triangles');
SELECT rows, pages, kept FROM redblue_cache('all_kinds', 'segments', 'id');
SELECT rows, pages, kept FROM redblue_cache('all_kinds', kind => 'segments2d');
SELECT rows, pages, kept FROM redblue_cache(relation => 'all_kinds', kind => 'boxes', face_tolerance => 0.5);
SELECT kind, rows, pages, kept FROM shown WHERE relation = 'all_kinds'::regclass;
SELECT count(*) FROM redblue_triangle_self_pairs('all_kinds');
SELECT count(*) FROM redblue_segment_self_pairs('all_kinds');
SELECT count(*) FROM redblue_segment_triangle_pairs('all_kinds', 'all_kinds');
SELECT substring(detail FROM '; (.* cached .*)') AS kept FROM redblue_last_run() WHERE stage = 'read';
SELECT count(*) FROM redblue_box_self_pairs('all_kinds');
SELECT redblue_uncache() > 0 AS freed;

-- The setting
SET redblue.cache = off;
SELECT * FROM redblue_cache('all_kinds', 'boxes');
SET redblue.cache = on;
SELECT count(*) FROM redblue_box_self_pairs('all_kinds');
SELECT count(*) FROM redblue_box_self_pairs('all_kinds');
SELECT substring(detail FROM '; (.* cached .*)') AS kept FROM redblue_last_run() WHERE stage = 'read';
SET redblue.cache = off;
SELECT count(*) FROM redblue_box_self_pairs('all_kinds');
SELECT substring(detail FROM '; (.* cached .*)') AS kept FROM redblue_last_run() WHERE stage = 'read';
SET redblue.cache = auto;
SELECT count(*) FROM redblue_box_self_pairs('all_kinds');
SELECT substring(detail FROM '; (.* cached .*)') AS kept FROM redblue_last_run() WHERE stage = 'read';
SET redblue.cache = maybe;
SET redblue.cache_memory = '1GB';
SHOW redblue.cache_memory;
RESET redblue.cache;

-- All but a few pages are cached already.
SELECT rows, pages, kept FROM redblue_cache('all_kinds', 'boxes');

-- Nothing to cache
CREATE TABLE empty (LIKE all_kinds);
SELECT * FROM redblue_cache('empty', 'boxes');
CREATE TABLE fresh AS SELECT * FROM all_kinds;
SELECT rows, pages, kept FROM redblue_cache('fresh', 'boxes');
SELECT relation, reason FROM shown WHERE reason IS NOT NULL;

-- Tables that cannot be cached
SELECT * FROM redblue_cache(NULL);
SELECT * FROM redblue_cache('nothing');
SELECT * FROM redblue_cache(0::oid::regclass);
SELECT * FROM redblue_cache('t', 'tetrahedra');
SELECT * FROM redblue_cache('t', '');
SELECT rows FROM redblue_cache('t', NULL);
SELECT * FROM redblue_cache('t', 'boxes');
SELECT * FROM redblue_cache('t', 'triangles', 'gid');
CREATE TABLE no_id AS SELECT id AS gid, ax, ay, az, bx, by, bz, cx, cy, cz FROM t;
SELECT * FROM redblue_cache('no_id');
SELECT rows FROM redblue_cache('no_id', id => 'gid');
-- Notices about ids belong to joins.
INSERT INTO no_id SELECT * FROM no_id;
SELECT rows FROM redblue_cache('no_id', id => 'gid');
SELECT * FROM redblue_cache('t', 'triangles', '');
SELECT * FROM redblue_cache('t', 'triangles', 'id', 'geom');
SELECT * FROM redblue_cache('t', 'triangles', face_tolerance => -1);
SELECT * FROM redblue_cache('t', 'triangles', face_tolerance => 'NaN');
SELECT * FROM redblue_cache('all_kinds', 'boxes', 'name');
CREATE VIEW v AS TABLE t;
SELECT * FROM redblue_cache('v');
CREATE TABLE p (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
SELECT * FROM redblue_cache('p');
CREATE FOREIGN DATA WRAPPER regress_redblue_wrapper;
CREATE SERVER regress_redblue_server FOREIGN DATA WRAPPER regress_redblue_wrapper;
CREATE FOREIGN TABLE far (id int8, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8) SERVER regress_redblue_server;
SELECT * FROM redblue_cache('far');
CREATE UNLOGGED TABLE u AS TABLE t;
SELECT * FROM redblue_cache('u');
CREATE TEMPORARY TABLE tmp AS TABLE t;
SELECT * FROM redblue_cache('tmp');
CREATE INDEX t_id ON t (id);
SELECT * FROM redblue_cache('t_id');
CREATE SEQUENCE s;
SELECT * FROM redblue_cache('s');
CREATE TABLE parent (LIKE t);
CREATE TABLE child () INHERITS (parent);
SELECT * FROM redblue_cache('parent');
CREATE MATERIALIZED VIEW m AS TABLE t;
SELECT rows, pages FROM redblue_cache('m');
CREATE MATERIALIZED VIEW later AS TABLE t WITH NO DATA;
SELECT * FROM redblue_cache('later');
CREATE TABLE ruled (LIKE t);
CREATE RULE also AS ON INSERT TO ruled DO ALSO NOTIFY x;
SELECT * FROM redblue_cache('ruled');
CREATE TABLE wrong AS SELECT * FROM t;
INSERT INTO wrong VALUES (6, 'NaN', 0, 0, 9, 0, 9, 0, 9, 9);
SELECT * FROM redblue_cache('wrong');
BEGIN;
CREATE TABLE mine AS SELECT * FROM t;
SELECT rows, pages, kept FROM redblue_cache('mine');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT rows, pages, kept FROM redblue_cache('all_kinds', 'boxes');
COMMIT;
ALTER TABLE all_kinds ADD COLUMN lz float8 DEFAULT 0, ADD COLUMN hz float8 DEFAULT 1;
SELECT rows, pages, kept FROM redblue_cache('all_kinds', 'boxes');
BEGIN READ ONLY;
SELECT rows, pages, kept FROM redblue_cache('all_kinds', 'segments');
COMMIT;

-- Privileges
CREATE ROLE regress_redblue_reader;
GRANT USAGE ON SCHEMA cache TO regress_redblue_reader;
SELECT rows, pages FROM redblue_cache('all_kinds', 'segments');
SET ROLE regress_redblue_reader;
SELECT * FROM redblue_cache('t');
SELECT count(*) FROM redblue_cached();
SELECT redblue_uncache('t');
SELECT redblue_uncache('all_kinds');
SELECT redblue_uncache();
RESET ROLE;
GRANT SELECT (id, ax, ay, az, bx, by, bz, cx, cy, cz) ON t TO regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT * FROM redblue_cache('t');
RESET ROLE;
GRANT SELECT ON t TO regress_redblue_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE regress_redblue_reader;
SELECT * FROM redblue_cache('t');
RESET ROLE;
SELECT * FROM redblue_cache('t');
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
SET ROLE regress_redblue_reader;
SELECT rows FROM redblue_cache('t');
SELECT redblue_uncache('t');
RESET ROLE;
SELECT redblue_uncache('nothing');
SELECT redblue_uncache(0::oid::regclass);
SELECT redblue_uncache('v');
SELECT redblue_uncache(NULL) > 0 AS freed;

SET client_min_messages = warning;
DROP SCHEMA cache CASCADE;
DROP FOREIGN DATA WRAPPER regress_redblue_wrapper CASCADE;
DROP ROLE regress_redblue_reader;
