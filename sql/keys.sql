-- Tests what identifies rows: ids of any name and numeric type, keys of any type, objects of many rows.
\set schema keys
\i sql/fixtures/prologue.sql

-- Five steps of a staircase; each meets the next one.
CREATE VIEW steps AS SELECT i, i::float8 AS ax, i::float8 AS ay, i::float8 AS az, i + 1::float8 AS bx, i + 1::float8 AS by,
	i + 1::float8 AS bz, i::float8 AS cx, i + 1::float8 AS cy, i::float8 AS cz FROM generate_series(1, 5) i;

-- ---- ids ----

-- A primary key of one integer column is the id, whatever its name, although there is a column id.
CREATE TABLE imported AS SELECT i::int AS id, i::int + 100 AS ogc_fid, i::smallint AS storeys, steps.* FROM steps;
ALTER TABLE imported ADD PRIMARY KEY (ogc_fid);
SELECT * FROM redblue_triangle_self_pairs('imported') ORDER BY 1, 2;
SELECT redblue_triangle_self_pair_count('imported', mesh_id => 'id');
-- The key of a partitioned table is the id, too, but not keys of other types or of several columns.
CREATE TABLE parts (LIKE imported, PRIMARY KEY (ogc_fid)) PARTITION BY HASH (ogc_fid);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts2 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts TABLE imported;
SELECT least(id1, id2), greatest(id1, id2) FROM redblue_triangle_self_pairs('parts') ORDER BY 1, 2;
CREATE TABLE two AS TABLE imported;
ALTER TABLE two ADD PRIMARY KEY (ogc_fid, storeys);
SELECT * FROM redblue_triangle_self_pairs('two') ORDER BY 1, 2;
ALTER TABLE two DROP COLUMN id;
SELECT * FROM redblue_triangle_self_pairs('two');
SELECT * FROM redblue_triangle_self_pairs_query('TABLE two');
SELECT * FROM redblue_triangle_self_pairs_query('TABLE two', 'storeys') ORDER BY 1, 2;
-- The two ids are the first two arguments after the tables.
SELECT count(*) FROM redblue_triangle_pairs('two', 'imported', 'ogc_fid', 'id');
-- A view has no key. The error lists its columns.
CREATE VIEW seen AS TABLE two;
SELECT * FROM redblue_triangle_self_pairs('seen');
SELECT count(*) FROM redblue_triangle_self_pairs('seen', 'ogc_fid');

-- Columns of type numeric and float8 that contain integers
CREATE TABLE shapes AS SELECT i::numeric(10, 2) AS gid, i::float8 AS fid, steps.* FROM steps;
SELECT * FROM redblue_triangle_self_pairs('shapes', 'gid') ORDER BY 1, 2;
SELECT * FROM redblue_triangle_self_pairs('shapes', 'fid') ORDER BY 1, 2;
UPDATE shapes SET gid = 2.5, fid = 1e19 WHERE gid = 2;
SELECT * FROM redblue_triangle_self_pairs('shapes', 'gid');
SELECT * FROM redblue_triangle_self_pairs('shapes', 'fid');
SELECT * FROM redblue_triangle_self_pairs_query('SELECT 10::numeric ^ 5000 AS id, * FROM steps');
UPDATE shapes SET gid = 'NaN', fid = 'Infinity' WHERE gid = 2.5;
SELECT * FROM redblue_triangle_self_pairs('shapes', 'gid');
SELECT * FROM redblue_triangle_self_pairs('shapes', 'fid');
UPDATE shapes SET fid = '-0', gid = NULL WHERE gid = 'NaN';
SELECT * FROM redblue_triangle_self_pairs('shapes', 'fid') ORDER BY 1, 2;
SELECT * FROM redblue_triangle_self_pairs('shapes', 'gid');
SELECT * FROM redblue_triangle_self_pairs_query(format('SELECT %s::numeric AS id, s.* FROM steps s WHERE i = 1', '-9223372036854775809'));
SELECT a.id1, a.id2 FROM redblue_triangle_self_pairs_query(format('SELECT %s::numeric - i AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM steps s WHERE i < 3', '-9223372036854775806')) a;

-- Names in quotes and in another case
CREATE TABLE cased AS SELECT i AS "ID", steps.* FROM steps;
SELECT count(*) FROM redblue_triangle_self_pairs('cased', 'ID');
SELECT count(*) FROM redblue_triangle_self_pairs('cased', '"ID"');
SELECT count(*) FROM redblue_triangle_self_pairs('cased', 'Id');
SELECT count(*) FROM redblue_triangle_self_pairs('cased', '"no ""such"');
SELECT count(*) FROM redblue_triangle_self_pairs('cased', '');

-- ---- keys of any type ----

CREATE TABLE red AS SELECT ('00000000-0000-0000-0000-00000000000' || i)::uuid AS gml_id, 'step ' || i AS name, steps.* FROM steps;
CREATE TABLE blue AS SELECT chr(64 + i::int) AS code, date '2026-01-01' + i::int AS day, steps.* FROM steps;
ALTER TABLE red ADD PRIMARY KEY (gml_id);
ALTER TABLE blue ADD PRIMARY KEY (code, day);
-- Primary keys
SELECT * FROM redblue_triangle_pairs_by_key('red', 'blue') AS (gml_id uuid, code text, day date) ORDER BY 1, 2 LIMIT 5;
-- Named columns: any number of them, with spaces and quotes as in SQL
SELECT * FROM redblue_triangle_pairs_by_key('red', 'blue', 'NAME', ' "code" ') AS (red text, blue text) ORDER BY 1, 2 LIMIT 3;
SELECT count(*), count(DISTINCT b), min(b), max(a) FROM redblue_triangle_self_pairs_by_key('seen', 'ogc_fid, storeys') AS (a int, a2 smallint, b int, b2 smallint);
SELECT * FROM redblue_triangle_self_pairs_by_key('imported') AS (a int, b int) ORDER BY 1;
-- Columns of a view of which only some are read, and columns after a dropped one
CREATE VIEW last AS SELECT ax, ay, az, bx, by, bz, cx, cy, cz, i AS n, 'step ' || i AS name FROM steps;
SELECT * FROM redblue_triangle_self_pairs_by_key('last', 'name, n') AS (a text, n int, b text, m int) ORDER BY 1, 3;
SELECT * FROM redblue_triangle_self_pairs_by_key('last', mesh_object => 'name') AS (a text, b text) ORDER BY 1, 2;
CREATE TABLE thinned (junk int, name text, LIKE imported INCLUDING DEFAULTS) PARTITION BY LIST (ogc_fid);
CREATE TABLE thinned1 PARTITION OF thinned DEFAULT;
INSERT INTO thinned SELECT 0, 'step ' || i, * FROM imported;
ALTER TABLE thinned DROP COLUMN junk;
SELECT * FROM redblue_triangle_self_pairs_by_key('thinned', 'name') AS (a text, b text) ORDER BY 1, 2;
SELECT * FROM redblue_triangle_self_pairs_by_key('thinned', mesh_object => 'name') AS (a text, b text) ORDER BY 1, 2;
UPDATE thinned SET ax = NULL WHERE name = 'step 3';
SELECT * FROM redblue_triangle_self_pairs_by_key('thinned', 'name') AS (a text, b text);
-- In a join, with a filter, in a view that a dump can restore
CREATE VIEW by_name AS SELECT * FROM redblue_triangle_pairs_by_key('red', 'blue', red_key => 'name', blue_key => 'code') AS (name text, code text);
SELECT b.day, v.name FROM by_name v JOIN blue b USING (code) WHERE v.name = 'step 3' ORDER BY 1;
DROP TABLE red;
SELECT * FROM by_name ORDER BY 1, 2 LIMIT 1;
-- Prepared and repeated; below a lateral join
PREPARE p(regclass) AS SELECT count(*) FROM redblue_triangle_self_pairs_by_key($1, 'storeys') AS (a smallint, b smallint);
EXECUTE p('two');
EXECUTE p('imported');
SELECT t, n FROM (VALUES ('two'), ('imported')) v(t), LATERAL (SELECT count(*) FROM redblue_triangle_self_pairs_by_key(t::regclass, 'storeys') AS (a smallint, b smallint)) c(n);
-- A domain, or varchar, can be returned as its base type.
CREATE DOMAIN label AS text;
CREATE TABLE labels AS SELECT ('L' || i)::label AS l, ('V' || i)::varchar(5) AS v, steps.* FROM steps;
SELECT * FROM redblue_triangle_self_pairs_by_key('labels', 'l, v') AS (a text, b text, c label, d varchar(5)) ORDER BY 1 LIMIT 1;
-- Long keys are returned completely.
UPDATE labels SET l = repeat(l, 100000);
SELECT left(a, 4), length(a), length(b) FROM redblue_triangle_self_pairs_by_key('labels', 'l') AS (a text, b text) ORDER BY 1 LIMIT 1;
-- Other kinds of joins
CREATE TABLE crates AS SELECT 'crate ' || i AS name, i::float8 AS lx, i::float8 AS ly, i + 1::float8 AS hx, i + 1::float8 AS hy FROM generate_series(1, 4) i;
SELECT * FROM redblue_box_self_pairs_by_key('crates', 'name') AS (a text, b text) ORDER BY 1, 2;
SELECT count(*) FROM redblue_box_pairs_by_key('crates', 'crates', 'name', 'lx') AS (a text, b float8);
CREATE TABLE roads AS SELECT 'road ' || i AS name, i::float8 AS ax, 0::float8 AS ay, i + 1::float8 AS bx, 0::float8 AS by FROM generate_series(1, 3) i;
SELECT * FROM redblue_segment_self_pairs_by_key('roads', 'name') AS (a text, b text) ORDER BY 1, 2;
SELECT count(*) FROM redblue_segment_pairs_by_key('roads', 'roads', 'name', 'name') AS (a text, b text);
SELECT count(*) FROM redblue_segment_triangle_pairs_by_key('two', 'imported', triangles_key => 'storeys, id') AS (a int, b smallint, c smallint, d int);

-- Invalid calls
SELECT * FROM redblue_triangle_self_pairs_by_key('two') AS (a int, b int);
SELECT * FROM redblue_triangle_self_pairs_by_key('two') AS (a int, b int, c int, d smallint);
SELECT * FROM redblue_triangle_self_pairs_by_key('labels', 'v') AS (a varchar(3), b varchar);
SELECT redblue_triangle_self_pairs_by_key('two');
SELECT * FROM redblue_triangle_self_pairs_by_key('two');
SELECT * FROM redblue_triangle_self_pairs_by_key('steps') AS (a int, b int);
SELECT * FROM redblue_triangle_self_pairs_by_key('two', 'a,,b') AS (a int, b int);
SELECT * FROM redblue_triangle_self_pairs_by_key('two', '') AS (a int, b int);
SELECT * FROM redblue_triangle_self_pairs_by_key('two', 'nothing') AS (a int, b int);
SELECT * FROM redblue_triangle_self_pairs_by_key('two', 'ogc_fid, Nothing') AS (a int, b int);
UPDATE labels SET v = NULL, l = 'L' WHERE v = 'V2';
SELECT * FROM redblue_triangle_self_pairs_by_key('labels', 'l, v') AS (a text, b text, c text, d text);
UPDATE labels SET ax = 'NaN' WHERE v = 'V3';
SELECT * FROM redblue_triangle_self_pairs_by_key('labels', 'v') AS (a text, b text) WHERE a = 'V1';
UPDATE labels SET v = 'V2', l = 'L' WHERE v IS NULL;
SELECT * FROM redblue_triangle_self_pairs_by_key('labels', 'l, v') AS (a text, b text, c text, d text);
UPDATE labels SET l = v;
SELECT * FROM redblue_triangle_self_pairs_by_key('labels', 'l, v') AS (a text, b text, c text, d text);

-- ---- faces as rows, objects as results ----

CREATE TABLE faces AS SELECT i::int AS id, (CASE WHEN i IN (1, 2, 4) THEN 10 ELSE 20 END)::bigint AS building,
	CASE WHEN i IN (1, 2, 4) THEN 'tower' ELSE 'hall' END AS name, steps.* FROM steps;
SELECT least(id1, id2), greatest(id1, id2) FROM redblue_triangle_self_pairs('faces') ORDER BY 1, 2;
-- Faces 1 and 2 belong to one building; the pairs 2-3, 3-4 and 4-5 are of the same two buildings.
SELECT * FROM redblue_triangle_self_pairs('faces', mesh_object => 'building');
SELECT * FROM redblue_triangle_pairs('faces', 'faces', red_object => 'building') ORDER BY 1, 2;
SELECT * FROM redblue_triangle_pairs('faces', 'faces', red_object => 'building', blue_object => 'building') ORDER BY 1, 2;
SELECT * FROM redblue_triangle_self_pairs_query('TABLE faces', mesh_object => 'building');
SELECT redblue_triangle_self_pair_count('faces', mesh_object => 'building'), redblue_triangle_pair_count('faces', 'faces', blue_object => 'building');
SELECT * FROM redblue_triangle_self_pairs_by_key('faces', mesh_object => 'name') AS (a text, b text);
SELECT * FROM redblue_triangle_pairs_by_key('faces', 'faces', red_object => 'name, building', blue_key => 'id') AS (a text, b bigint, c int) ORDER BY 3, 1;
SELECT stage, count, detail FROM redblue_last_run() WHERE stage IN ('read', 'emit');
-- Objects that are equal in SQL are one object: 1.0 and 1.00.
CREATE TABLE versions AS SELECT CASE WHEN i < 3 THEN 1.0 WHEN i = 3 THEN 1.00 ELSE 2 END AS v, steps.* FROM steps;
SELECT * FROM redblue_triangle_self_pairs_by_key('versions', mesh_object => 'v') AS (a numeric, b numeric);
-- If both are given, results are objects, but the id column must exist.
SELECT * FROM redblue_triangle_self_pairs('faces', mesh_id => 'id', mesh_object => 'building');
SELECT * FROM redblue_triangle_self_pairs('faces', mesh_id => 'face', mesh_object => 'building');
CREATE VIEW seen_faces AS TABLE faces;
SELECT * FROM redblue_triangle_self_pairs('seen_faces', mesh_id => 'id', mesh_object => 'building');
SELECT * FROM redblue_triangle_self_pairs('seen_faces', mesh_id => 'face', mesh_object => 'building');
SELECT * FROM redblue_triangle_self_pairs('faces', mesh_object => 'name');
SELECT * FROM redblue_triangle_self_pairs('faces', mesh_object => '');
UPDATE faces SET building = NULL WHERE id = 3;
SELECT * FROM redblue_triangle_self_pairs('faces', mesh_object => 'building');
SELECT * FROM redblue_triangle_self_pairs_by_key('faces', mesh_object => 'name, building') AS (a text, b bigint, c text, d bigint);
UPDATE faces SET building = 20, ax = 'inf' WHERE id = 3;
SELECT * FROM redblue_triangle_self_pairs('faces', mesh_object => 'building');
-- Types without a hash function
CREATE TABLE odd AS SELECT point(0, 0) AS p, steps.* FROM steps;
SELECT * FROM redblue_triangle_self_pairs_by_key('odd', mesh_object => 'p') AS (a point, b point);
SELECT count(*) FROM redblue_triangle_self_pairs_by_key('odd', 'p') AS (a point, b point);
-- A domain has the hash function of its base type.
CREATE DOMAIN storeys AS int4range;
CREATE TABLE storeyed AS SELECT int4range(i::int / 2, 9)::storeys AS s, steps.* FROM steps;
SELECT * FROM redblue_triangle_self_pairs_by_key('storeyed', mesh_object => 's') AS (a storeys, b storeys) ORDER BY 1;
-- Boxes and segments in objects of several rows
SELECT * FROM redblue_box_self_pairs_query('SELECT *, lx <= 2 AS low, (lx <= 2)::int AS half FROM crates', boxes_object => 'half');
SELECT * FROM redblue_segment_self_pairs_query('SELECT *, (ax = 2)::int AS middle FROM roads', lines_object => 'middle');

-- Pairs of long keys can be canceled between any two of them: a block of pairs exceeds the limit of temporary files.
CREATE TABLE long (k text, LIKE crates);
ALTER TABLE long ALTER k SET STORAGE EXTERNAL;
INSERT INTO long SELECT repeat('x', 1000000), c.* FROM (SELECT * FROM crates LIMIT 1) c, generate_series(1, 25);
SET work_mem = '64kB';
SET temp_file_limit = '900MB';
\set VERBOSITY terse
SET LOCAL statement_timeout = '100ms'\; SELECT count(*) FROM redblue_box_pairs_by_key('long', 'long', 'k', 'k') AS (a text, b text);
\set VERBOSITY default
RESET temp_file_limit;
RESET work_mem;

-- ---- duplicate ids ----

CREATE TABLE dumped AS SELECT (i / 2)::int AS gid, steps.* FROM steps;
SELECT * FROM redblue_triangle_self_pairs('dumped', 'gid') ORDER BY 1, 2;
SELECT substring(detail FROM '; (.*)') AS told FROM redblue_last_run() WHERE stage = 'read';
SELECT redblue_triangle_pair_count('dumped', 'dumped', 'gid', 'gid');
SELECT redblue_triangle_pair_count_query('TABLE dumped', 'SELECT 1 AS gid, * FROM steps', 'gid', 'gid');
SELECT redblue_triangle_self_pair_count('dumped', 'gid', mesh_object => 'gid');
SET redblue.duplicate_notice = off;
SELECT redblue_triangle_self_pair_count('dumped', 'gid');
RESET redblue.duplicate_notice;
-- Ids that are far apart, negative, and in no order
SELECT redblue_triangle_self_pair_count_query('SELECT (i % 3 - 1) * 4611686018427387904 AS id, * FROM (SELECT i, ax, ay, az, bx, by, bz, cx, cy, cz FROM steps) s');
SELECT redblue_triangle_self_pair_count_query('SELECT -i::bigint * 1000000007 AS id, * FROM (SELECT i, ax, ay, az, bx, by, bz, cx, cy, cz FROM steps) s');
-- A unique index proves that ids are distinct, but not a partial index, nor that of a parent without its children.
CREATE TABLE parent AS SELECT i::int AS gid, steps.* FROM steps;
CREATE UNIQUE INDEX ON parent (gid) WHERE gid < 3;
UPDATE parent SET gid = 4 WHERE gid = 3;
SELECT redblue_triangle_self_pair_count('parent', 'gid');
UPDATE parent SET gid = 3 WHERE i = 3;
CREATE UNIQUE INDEX ON parent (gid);
SELECT redblue_triangle_self_pair_count('parent', 'gid');
CREATE TABLE child () INHERITS (parent);
INSERT INTO child SELECT * FROM parent WHERE gid = 1;
SELECT redblue_triangle_self_pair_count('parent', 'gid');

-- ---- hints that contain the available columns and can be pasted ----

CREATE TABLE nothing (name text, note text);
SELECT * FROM redblue_triangle_self_pairs('nothing');
SELECT * FROM redblue_box_self_pair_count('nothing');
SELECT * FROM redblue_triangle_self_pairs_query('TABLE nothing');
CREATE TABLE by_uuid (id uuid PRIMARY KEY, storeys int, wkt text);
SELECT * FROM redblue_triangle_self_pairs('by_uuid');
SELECT redblue_triangle_self_pair_count('by_uuid');
SELECT * FROM redblue_triangle_self_pairs('by_uuid', 'storeys');
SELECT * FROM redblue_triangle_self_pairs('by_uuid', 'storeys', 'wkt');
SELECT * FROM redblue_triangle_self_pairs_query('TABLE by_uuid', 'storeys', 'wkt');
SELECT * FROM redblue_triangle_self_pairs_by_key('by_uuid', 'id, storeys') AS (a uuid, b int, c uuid, d int);
SELECT * FROM redblue_triangle_self_pairs('by_uuid', mesh_object => 'storeys');
-- Columns that do not match are reported before any row is read.
CREATE TABLE plane (code text PRIMARY KEY, lx float8, ly float8, hx float8, hy float8);
CREATE TABLE solid (code text PRIMARY KEY, lx float8, ly float8, lz float8, hx float8, hy float8, hz float8);
INSERT INTO plane VALUES ('f', 0, 0, 1, 1);
INSERT INTO solid VALUES ('s', 0, 0, 0, 1, 1, 1);
SELECT * FROM redblue_box_pairs_by_key('plane', 'solid') AS (a text, b text);
SELECT * FROM redblue_box_pairs_by_key('solid', 'plane') AS (a text, b text);
-- A numeric primary key must only be named.
CREATE TABLE shapefile (gid numeric PRIMARY KEY, storeys int, LIKE steps);
SELECT * FROM redblue_triangle_self_pairs('shapefile');
SELECT * FROM redblue_triangle_self_pairs('shapefile', mesh_id => 'gid');
SELECT * FROM redblue_triangle_self_pairs_query('by_uuid');
SELECT * FROM redblue_triangle_self_pairs_query('"keys".by_uuid');
SELECT * FROM redblue_triangle_self_pairs_query('');
CREATE TABLE holes AS SELECT i::int AS id, ax, ay, az, bx, by, bz FROM steps;
SELECT * FROM redblue_segment_triangle_pairs('imported', 'holes');
SELECT count(*) FROM redblue_segment_triangle_pairs('holes', 'imported');
SELECT redblue_triangle_self_pair_count('imported', face_tolerance => -1);
SELECT redblue_triangle_self_pair_count('imported', face_tolerance => 'NaN');
SELECT redblue_triangle_self_pair_count('imported', face_tolerance => 0);

SET client_min_messages = warning;
DROP SCHEMA keys CASCADE;
