-- Tests boxes of type cube (contrib/cube).
\set schema cube_boxes
\i sql/fixtures/prologue.sql
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS cube SCHEMA public;
RESET client_min_messages;
-- The corners of a cube are any two opposite ones; a point has only one.
CREATE TABLE solid (id serial, c cube);
INSERT INTO solid (c) VALUES ('(0,0,0),(1,1,1)'), ('(3,1,2),(1,3,1)'), ('(1,1,1)'), ('(9,9,9)'), ('(0,0,5),(10,10,10)'), (NULL), ('(1,1,1),(1,1,1)');
SELECT string_agg(id1 || '-' || id2, ' ' ORDER BY id1, id2) FROM redblue_box_self_pairs('solid');
SELECT string_agg(a.id || '-' || b.id, ' ' ORDER BY a.id, b.id) FROM solid a JOIN solid b ON a.id < b.id AND a.c && b.c;
SELECT split_part(detail, ', workers', 1) AS detail FROM redblue_last_run() WHERE stage = 'read';
CREATE TABLE plan AS SELECT id, cube_subset(c, ARRAY[1, 2]) AS geom FROM solid;
SELECT count(*) FROM redblue_box_self_pairs('plan');
SELECT count(*) FROM plan a JOIN plan b ON a.id < b.id AND a.geom && b.geom;
-- Columns with these numbers
CREATE VIEW numbers AS SELECT id, cube_ll_coord(c, 1) AS lx, cube_ll_coord(c, 2) AS ly, cube_ll_coord(c, 3) AS lz,
	cube_ur_coord(c, 1) AS hx, cube_ur_coord(c, 2) AS hy, cube_ur_coord(c, 3) AS hz FROM solid WHERE c IS NOT NULL;
SELECT count(*) FROM (SELECT * FROM redblue_box_pairs('solid', 'numbers') EXCEPT SELECT * FROM redblue_box_pairs('numbers', 'solid')) t;
SELECT count(*) FROM redblue_box_pairs('solid', 'numbers');
SELECT count(*) FROM solid a JOIN solid b ON a.c && b.c;
-- Many cubes
CREATE TABLE many AS SELECT i AS id, cube(ARRAY[x, y, z]::float8[], ARRAY[x + i % 9 - 4, y + i % 7 - 3, z + i % 5 - 2]::float8[]) AS c
FROM (SELECT i, i * 7919 % 61 + 0.25 AS x, i * 104729 % 67 + 1e-9 AS y, i * 1299709::int8 % 71 AS z FROM generate_series(1, 3000) i) s;
CREATE TABLE found AS SELECT * FROM redblue_box_self_pairs('many');
CREATE TABLE truth AS SELECT a.id AS id1, b.id AS id2 FROM many a JOIN many b ON a.id < b.id AND a.c && b.c;
SELECT count(*) > 1000 AS many FROM found;
(TABLE found EXCEPT TABLE truth) UNION ALL (TABLE truth EXCEPT TABLE found);
-- Cubes in columns of any name
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT id AS gid, id, c AS a, c AS b FROM solid');
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT id, c AS a, c AS geom FROM solid');
SELECT count(*) FROM redblue_triangle_self_pairs('solid');
-- One dimension, four, none; values that are not finite; mixed dimensions
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT 7 AS id, ''(1),(2)''::cube AS c');
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT 7 AS id, ''(1,2,3,4)''::cube AS c');
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT 7 AS id, cube(ARRAY[]::float8[]) AS c');
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT 7 AS id, ''(1,2,NaN)''::cube AS c');
SELECT count(*) FROM redblue_box_self_pairs_query('SELECT 7 AS id, ''(1,2),(-Infinity,4)''::cube AS c');
SELECT count(*) FROM redblue_box_pairs('solid', 'plan');
SELECT count(*) FROM redblue_box_pairs('plan', 'numbers');
SELECT count(*) FROM redblue_box_self_pairs_query('TABLE solid UNION ALL TABLE plan');
SET client_min_messages = warning;
DROP SCHEMA cube_boxes CASCADE;
DROP EXTENSION cube;
