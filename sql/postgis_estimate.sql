-- Tests the planner's estimates for tables of geometries: a face per row, many faces per row, boxes; and for geometries
-- that are too large to be sampled.
\set schema estimate
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql
\i sql/fixtures/estimates.sql

-- Blocks, some of which overlap: a face per row, a block per row, a line per row
CREATE TABLE blocks AS SELECT i AS id, x, y, z FROM generate_series(1, 4000) i,
	LATERAL (SELECT hashint4(i) & 1023 AS x, hashint4(i + 100000) & 1023 AS y, hashint4(i + 200000) & 255 AS z) p;
CREATE FUNCTION face(x int, y int, z int, side int) RETURNS geometry LANGUAGE sql IMMUTABLE AS $$
	SELECT ST_GeomFromText(format(CASE side WHEN 0 THEN 'TRIANGLE Z((%1$s %2$s %3$s,%4$s %2$s %3$s,%1$s %5$s %3$s,%1$s %2$s %3$s))'
		WHEN 1 THEN 'TRIANGLE Z((%1$s %2$s %3$s,%4$s %2$s %3$s,%1$s %2$s %6$s,%1$s %2$s %3$s))'
		WHEN 2 THEN 'TRIANGLE Z((%1$s %2$s %3$s,%1$s %5$s %3$s,%1$s %2$s %6$s,%1$s %2$s %3$s))'
		ELSE 'TRIANGLE Z((%4$s %2$s %3$s,%1$s %5$s %3$s,%1$s %2$s %6$s,%4$s %2$s %3$s))' END, x, y, z, x + 70, y + 50, z + 30)) $$;
CREATE TABLE faces AS SELECT id * 4 + side AS id, face(x, y, z, side) AS geom FROM blocks, generate_series(0, 3) side WHERE id % 2 = 0;
CREATE TABLE solids AS SELECT id, (SELECT ST_Collect(face(x, y, z, side)) FROM generate_series(0, 3) side) AS the_geom FROM blocks WHERE id % 2 = 1;
CREATE TABLE lines AS SELECT id, ST_MakeLine(ST_MakePoint(x, y, z), ST_MakePoint(x + 60, y + 10, z - 40)) AS geom FROM blocks;
CREATE TABLE flat AS SELECT id, ST_Force2D(geom) AS geom FROM lines;
INSERT INTO faces SELECT -id, CASE WHEN id % 2 = 0 THEN NULL ELSE 'TIN EMPTY'::geometry END FROM faces;
ANALYZE;
SELECT * FROM compare($$redblue_triangle_pairs('faces', 'solids')$$);
SELECT * FROM compare($$redblue_triangle_self_pairs('faces')$$);
SELECT * FROM compare($$redblue_triangle_self_pairs('solids')$$);
SELECT * FROM compare($$redblue_segment_triangle_pairs('lines', 'solids')$$);
SELECT * FROM compare($$redblue_segment_pairs('flat', 'flat')$$);
SELECT * FROM compare($$redblue_box_pairs('faces', 'solids')$$);
SELECT * FROM compare($$redblue_box_self_pairs('flat')$$);
SELECT * FROM compare($$redblue_box_pairs('lines', 'solids', blue_geom => 'the_geom')$$);
-- Two geometry columns, neither named geom: an error, but not while planning. Points have no faces.
CREATE TABLE two AS SELECT id, geom AS a, geom AS b FROM faces;
CREATE TABLE points AS SELECT id, ST_MakePoint(x, y, z) AS geom FROM blocks;
SELECT expected($$redblue_triangle_self_pairs('two')$$) > 0 AS some, expected($$redblue_triangle_self_pairs('points')$$);
-- Stored out of line, or large after decompression: a guess from the number of rows
CREATE TABLE external AS SELECT i AS id, (SELECT ST_Collect(face(x, y, z, side)) FROM blocks, generate_series(0, 3) side WHERE id BETWEEN i AND i + 200) AS geom FROM generate_series(1, 30) i;
CREATE TABLE compressed (id int, geom geometry);
ALTER TABLE compressed ALTER COLUMN geom SET STORAGE MAIN;
INSERT INTO compressed SELECT i, ST_Collect(face(i, 0, 0, 0)) FROM generate_series(1, 30) i, generate_series(1, 400) GROUP BY i;
ANALYZE external, compressed;
SELECT expected($$redblue_triangle_self_pairs('external')$$), expected($$redblue_triangle_pairs('compressed', 'external')$$);

SET client_min_messages = warning;
DROP SCHEMA estimate CASCADE;
