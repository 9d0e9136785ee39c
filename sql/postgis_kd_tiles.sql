-- Tests tiles of geometries, whose boxes are those of their doubles.
\set schema postgis_kd_tiles
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/refused.sql

CREATE TABLE mixed (id int, geom geometry);
INSERT INTO mixed VALUES (1, 'POINT Z (0 0 0)'), (2, 'LINESTRING Z (1 0 0, 2 1 1)'), (3, 'POLYHEDRALSURFACE Z (((3 0 0, 4 0 0, 4 1 2, 3 0 0)), ((3 0 0, 4 1 2, 3 1 0, 3 0 0)))'),
	(4, 'TIN Z (((5 0 0, 6 0 0, 5 1 1, 5 0 0)))'), (5, 'MULTIPOINT Z (7 0 0, 8 1 1)'), (6, 'GEOMETRYCOLLECTION Z (POINT Z (9 0 0), LINESTRING Z (9 1 0, 10 0 1))'),
	(7, 'POLYGON Z EMPTY'), (8, NULL), (9, 'MULTIPOLYGON ZM (((11 0 0 9, 12 0 0 9, 12 1 1 9, 11 0 0 9)))');
SELECT * FROM redblue_tiles('mixed', NULL, 4);
SELECT * FROM redblue_tiles('mixed', NULL, 2, red_geom => 'geom', blue_geom => 'geom', dimensions => 2);
CREATE TABLE town (id int, geom geometry(Polygon, 25832));
INSERT INTO town SELECT i, ST_MakeEnvelope(i % 10, i / 10, i % 10 + 0.5, i / 10 + 0.5, 25832) FROM generate_series(0, 99) i;
SELECT * FROM redblue_tiles('town', NULL, 4);
CREATE TABLE pipe (id int, other geometry, path geometry(LineStringZ, 25832));
INSERT INTO pipe SELECT i, NULL, ST_SetSRID(ST_MakeLine(ST_MakePoint(i, 0, 5), ST_MakePoint(i, 10, 5)), 25832) FROM generate_series(0, 9) i;
-- A map, and lines in space: in the plane
SELECT * FROM redblue_tiles('town', 'pipe', 2, blue_geom => 'path', dimensions => 2);
SELECT refused($$ SELECT * FROM redblue_tiles('town', 'pipe', 2, blue_geom => 'path') $$);
SELECT refused($$ SELECT * FROM redblue_tiles('town', 'pipe', 2) $$);
-- Without rows, the type of the column determines the number of dimensions.
TRUNCATE town, pipe;
SELECT * FROM redblue_tiles('town', NULL, 1);
SELECT * FROM redblue_tiles('pipe', NULL, 1, red_geom => 'path');

-- Tiles to which a row belongs
CREATE TABLE tiles AS SELECT * FROM redblue_tiles('mixed', NULL, 4);
SELECT id, array_agg(tile ORDER BY tile) FROM mixed, tiles WHERE redblue_meets_tile(geom, tile_low, tile_high) GROUP BY id ORDER BY id;
SELECT id, array_agg(t ORDER BY t) FROM mixed, redblue_tiles_of(geom, (SELECT array_agg(tile_low ORDER BY tile) FROM tiles), (SELECT array_agg(tile_high ORDER BY tile) FROM tiles)) t
GROUP BY id ORDER BY id;
SELECT id, redblue_meets_tile(geom, '{0,0,0}', '{1,1,1}') FROM mixed WHERE id IN (7, 8) ORDER BY id;
-- PostGIS's box of floats is larger, because 16777217 is not a float.
SELECT 'LINESTRING (0 0, 16777217 1)'::geometry && 'POINT (16777218 1)'::geometry AS floats, redblue_meets_tile('LINESTRING (0 0, 16777217 1)'::geometry, '{16777218,0}', '{16777219,1}') AS doubles,
	redblue_meets_tile('LINESTRING (0 0, 16777217 1)'::geometry, '{16777217,0}', '{16777219,1}') AS at_its_end;
SELECT redblue_meets_tile('POINT Z (1 1 9)'::geometry, '{1,1}', '{2,2}') AS in_the_plane, redblue_meets_tile('POINT (0 0)'::geometry, '{1,1}', '{2,2}', 1) AS within;
SELECT refused($$ SELECT redblue_meets_tile('POINT (1 1)'::geometry, '{1,1,1}', '{2,2,2}') $$);
SELECT refused($$ SELECT redblue_tiles_of('POINT (1 1)'::geometry, '{{1,1,1}}', '{{2,2,2}}') $$);
SELECT refused($$ SELECT redblue_meets_tile('CIRCULARSTRING (0 0, 1 1, 2 0)'::geometry, '{1,1}', '{2,2}') $$);
SELECT refused($$ SELECT redblue_tiles_of('POINT (1 1)'::geometry, NULL, NULL) $$);

-- An INSERT goes to each tile to which the row belongs.
CREATE TABLE part (tile int, id int, geom geometry) PARTITION BY LIST (tile);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF part DEFAULT;
CREATE VIEW whole AS SELECT DISTINCT id, geom FROM part;
CREATE FUNCTION route() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO part SELECT t.tile, NEW.id, NEW.geom FROM tiles t WHERE redblue_meets_tile(NEW.geom, t.tile_low, t.tile_high);
	RETURN NEW;
END $$;
CREATE TRIGGER route INSTEAD OF INSERT ON whole FOR EACH ROW EXECUTE FUNCTION route();
INSERT INTO whole SELECT * FROM mixed;
INSERT INTO whole VALUES (17, 'LINESTRING Z (0 0 0, 12 1 1)');
SELECT id, array_agg(tile ORDER BY tile) FROM part GROUP BY id ORDER BY id;
SET client_min_messages = warning;
DROP SCHEMA postgis_kd_tiles CASCADE;
