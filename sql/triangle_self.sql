-- Tests redblue_triangle_self_pairs: each unordered pair of rows once, and no row with itself.
\set schema triangle_self
\i sql/fixtures/prologue.sql

-- A strip of ten triangles that share edges, and one far from it
CREATE TABLE strip AS
SELECT i AS id, i::float8 AS ax, (i % 2)::float8 AS ay, 0::float8 AS az, i + 1.0::float8 AS bx, ((i + 1) % 2)::float8 AS by, 0::float8 AS bz,
	i + 2.0::float8 AS cx, (i % 2)::float8 AS cy, 0::float8 AS cz
FROM generate_series(1, 10) i;
INSERT INTO strip VALUES (99, 50, 0, 0, 51, 0, 0, 50, 1, 0);
SELECT * FROM redblue_triangle_self_pairs('strip') ORDER BY 1, 2;
-- The self join is half of the join with itself, without the diagonal.
SELECT count(*) FROM redblue_triangle_pairs('strip', 'strip') WHERE red_id < blue_id;
SELECT count(*) FROM redblue_triangle_pairs('strip', 'strip');
-- id1 belongs to the row that was read first.
SELECT * FROM redblue_triangle_self_pairs_query('SELECT * FROM strip WHERE id < 4 ORDER BY id DESC') ORDER BY 1, 2;
-- Rows with equal ids are different rows.
SELECT * FROM redblue_triangle_self_pairs_query('SELECT 7 AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM strip WHERE id < 3');
-- Identical triangles
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT i AS id, 0 AS ax, 0 AS ay, 0 AS az, 1 AS bx, 0 AS by, 0 AS bz, 0 AS cx, 1 AS cy, 0 AS cz FROM generate_series(1, 100) i');
-- Another name for the id; no rows; one row
ALTER TABLE strip RENAME id TO face;
SELECT count(*) FROM redblue_triangle_self_pairs('strip', mesh_id => 'face');
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT face AS id, * FROM strip WHERE false');
SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT face AS id, * FROM strip WHERE face = 1');

SET client_min_messages = warning;
DROP SCHEMA triangle_self CASCADE;
