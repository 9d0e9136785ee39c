-- Tests the pairs of a tile if rows have many parts: each pair of rows belongs to one tile, wherever its parts meet.
\set schema postgis_tiles
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql

CREATE FUNCTION triangle(x float8, y float8, z float8, rise float8 DEFAULT 0.5) RETURNS text LANGUAGE sql AS
	$$ SELECT format('((%s %s %s,%s %s %s,%s %s %s,%1$s %2$s %3$s))', x, y, z, x + 1.5, y, z, x, y + 1.25, z + rise) $$;
-- Rows of five triangles that are far from each other, a line of many corners, areas of the plane
CREATE TABLE red AS SELECT i % 13 AS id, ST_GeomFromText('TIN Z (' || string_agg(triangle(i % 8, i / 8, 0), ',') || ')') AS geom FROM generate_series(0, 63) i GROUP BY 1;
CREATE TABLE blue AS SELECT i % 11 AS id, ST_GeomFromText('TIN Z (' || string_agg(triangle(i % 8 + 0.25, i / 8 + 0.25, 0.125, -0.5), ',') || ')') AS geom FROM generate_series(0, 63) i GROUP BY 1;
CREATE TABLE clump AS SELECT i / 5 AS id, ST_GeomFromText('TIN Z (' || string_agg(triangle(i % 8, i / 8, 0), ',') || ')') AS geom FROM generate_series(0, 63) i GROUP BY 1;
CREATE TABLE line AS SELECT i AS id, ST_MakeLine(ARRAY(SELECT ST_MakePoint(k, i + 0.25, k % 2 - 0.25) FROM generate_series(0, 8) k)) AS geom FROM generate_series(0, 7) i;
CREATE TABLE street AS SELECT i AS id, ST_MakeLine(ARRAY(SELECT ST_MakePoint(k, i + (i + k) % 2 * 1.5) FROM generate_series(0, 8) k)) AS geom FROM generate_series(0, 7) i;
CREATE TABLE area AS SELECT i AS id, ST_Collect(ST_MakeEnvelope(i, i, i + 2, i + 3), ST_MakeEnvelope(7 - i, i, 8 - i, i + 1)) AS geom FROM generate_series(0, 7) i;
CREATE TABLE tile AS SELECT tile_low, tile_high FROM redblue_tiles('red', 'blue', 6);
CREATE TABLE plane AS SELECT tile_low, tile_high FROM redblue_tiles('street', 'area', 6, dimensions => 2);
CREATE FUNCTION shared_out(function text, arguments text, tiles text DEFAULT 'tile')
RETURNS TABLE (name text, pairs int8, in_tiles int8, missing int8, too_many int8) LANGUAGE plpgsql AS $$
DECLARE
	whole text := format('SELECT to_jsonb(p) FROM %s(%s) AS p', function, arguments);
	parts text := format('SELECT to_jsonb(p) FROM %I t, LATERAL %s(%s, tile_low => t.tile_low, tile_high => t.tile_high) AS p', tiles, function, arguments);
BEGIN
	RETURN QUERY EXECUTE format('WITH whole AS MATERIALIZED (%s), parts AS MATERIALIZED (%s) SELECT %L::text, (SELECT count(*) FROM whole), (SELECT count(*) FROM parts), (SELECT count(*) FROM (TABLE whole EXCEPT ALL TABLE parts) a), (SELECT count(*) FROM (TABLE parts EXCEPT ALL TABLE whole) a)',
		whole, parts, function);
END $$;
SELECT * FROM shared_out('redblue_triangle_pairs', $$'red', 'blue'$$);
SELECT * FROM shared_out('redblue_triangle_self_pairs', $$'red'$$);
SELECT * FROM shared_out('redblue_triangle_contacts', $$'red', 'blue'$$);
SELECT * FROM shared_out('redblue_triangle_self_intersections', $$'red'$$);
SELECT * FROM shared_out('redblue_part_self_intersections', $$'clump'$$);
SELECT * FROM shared_out('redblue_triangle_pairs_within', $$'red', 'blue', 0.25$$);
SELECT * FROM shared_out('redblue_segment_triangle_pairs', $$'line', 'blue'$$);
SELECT * FROM shared_out('redblue_segment_pairs', $$'street', 'area'$$, 'plane');
SELECT * FROM shared_out('redblue_segment_self_pairs', $$'street'$$, 'plane');
SELECT * FROM shared_out('redblue_box_pairs', $$'red', 'blue'$$);
SELECT * FROM shared_out('redblue_box_pairs', $$'street', 'area'$$, 'plane');
-- Intersections of two rows
SELECT * FROM shared_out('redblue_triangle_intersections', $$'red', 'blue'$$);
SELECT * FROM shared_out('redblue_segment_triangle_intersections', $$'line', 'blue'$$);
SELECT * FROM shared_out('redblue_segment_intersections', $$'street', 'area'$$, 'plane');
SELECT * FROM shared_out('redblue_segment_intersections_query', $$'TABLE street', 'TABLE area'$$, 'plane');
SELECT * FROM shared_out('redblue_triangle_intersections', $$'red', 'blue', red_object => 'id'$$);
-- Rows of one part each
CREATE TABLE one AS SELECT id * 100 + path[1] AS id, d.geom FROM red, ST_Dump(geom) d;
CREATE TABLE other AS SELECT id * 100 + path[1] AS id, d.geom FROM blue, ST_Dump(geom) d;
SELECT * FROM shared_out('redblue_triangle_intersections', $$'one', 'other'$$);
SELECT * FROM shared_out('redblue_triangle_pairs', $$'one', 'blue'$$);
SELECT redblue_triangle_pair_count('red', 'blue'), sum(redblue_triangle_pair_count('red', 'blue', tile_low => tile_low, tile_high => tile_high)) FROM tile;

SET client_min_messages = warning;
DROP SCHEMA postgis_tiles CASCADE;
