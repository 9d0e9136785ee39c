-- Tests the first triangles that lines meet: order, ties, lines of several rows, refusals, and cancellation.
\set schema first_hits
\i sql/fixtures/prologue.sql

CREATE TABLE tri (id int8, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO tri VALUES (1, 0, 0, 0, 4, 0, 0, 0, 4, 0), (3, 0, 0, 10, 4, 0, 10, 0, 4, 10), (2, 0, 0, 10, 4, 0, 10, 0, 4, 10);
CREATE TABLE seg (id int, hole int, ax float8, ay float8, az float8, bx float8, by float8, bz float8);
INSERT INTO seg VALUES
	(1, 1, 1, 1, -1, 1, 1, 1),
	(2, 1, 1, 1, 1, 1, 1, 11),
	(3, 2, 1, 1, 0, 1, 1, 5),
	(4, 2, -1, 1, 0, 9, 1, 0),
	(5, 3, 1, 1, 20, 1, 1, -10),
	(6, 3, 1, 1, 1, 1, 1, 1),
	(7, 4, 1, 1, 0, 1, 1, 0);
SELECT * FROM redblue_segment_first_hits('seg', 'tri') ORDER BY 1, 3, 2;
SELECT * FROM redblue_segment_first_hits('seg', 'tri', limit_hits => 5) ORDER BY 1, 3, 2;
-- The rows of one hole are one line.
SELECT * FROM redblue_segment_first_hits('seg', 'tri', segments_object => 'hole', limit_hits => 2) ORDER BY 1, 3, 2;
SELECT * FROM redblue_segment_first_hits_query('TABLE seg', 'SELECT * FROM tri WHERE id > 1') ORDER BY 1;
-- The rows hit are those of the pairs, and the first one is the least of all hits.
SELECT segment_id, triangle_id FROM redblue_segment_first_hits('seg', 'tri', 1000)
EXCEPT SELECT * FROM redblue_segment_triangle_pairs('seg', 'tri');
SELECT * FROM redblue_segment_triangle_pairs('seg', 'tri')
EXCEPT SELECT segment_id, triangle_id FROM redblue_segment_first_hits('seg', 'tri', 1000);

-- Refusals
SELECT * FROM redblue_segment_first_hits('seg', 'tri', 0);
SELECT * FROM redblue_segment_first_hits('seg', 'tri', NULL);
SELECT * FROM redblue_segment_first_hits('seg', NULL);
SELECT * FROM redblue_segment_first_hits_query('SELECT 1 AS id, ''NaN''::float8 AS ax, 0 AS ay, 0 AS az, 0 AS bx, 0 AS by, 0 AS bz', 'TABLE tri');

-- Cancellation: all hits of 100,000 lines with 2,000 triangles take minutes.
\set SHOW_CONTEXT never
SET statement_timeout = 300;
SELECT count(*) FROM redblue_segment_first_hits_query(
	'SELECT i AS id, 1 AS ax, 1 AS ay, -1 AS az, 1 AS bx, 1 + i * 1e-9 AS by, 1 AS bz FROM generate_series(1, 100000) i',
	'SELECT i AS id, 0 AS ax, 0 AS ay, i * 1e-4 AS az, 4 AS bx, 0 AS by, i * 1e-4 AS bz, 0 AS cx, 4 AS cy, i * 1e-4 AS cz FROM generate_series(1, 2000) i', 2000);
RESET statement_timeout;
\set SHOW_CONTEXT errors

SET client_min_messages = warning;
DROP SCHEMA first_hits CASCADE;
