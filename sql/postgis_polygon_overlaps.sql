-- Tests the common areas of polygons of the plane.
\set schema postgis_polygon_overlaps
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/refused.sql
SET redblue.threads = 2;

CREATE TABLE parcel (id int PRIMARY KEY, geom geometry);
INSERT INTO parcel VALUES
	(1, 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))'),
	(2, 'POLYGON ((4 0, 8 0, 8 4, 4 4, 4 0), (5 1, 5 3, 7 3, 7 1, 5 1))'),
	(3, 'MULTIPOLYGON (((0 4, 4 4, 4 8, 0 8, 0 4)), ((6 6, 8 6, 8 8, 6 6)))'),
	(4, 'POLYGON Z ((5 1 3, 7 1 4, 7 3 5, 5 3 6, 5 1 3))'),
	(5, 'POLYGON EMPTY');
CREATE TABLE land (id bigint PRIMARY KEY, geom geometry);
INSERT INTO land VALUES
	(10, 'POLYGON ((2 2, 6 2, 6 6, 2 6, 2 2))'),
	(20, 'POLYGON ((8 0, 9 0, 9 9, 8 9, 8 0))'),
	(30, 'GEOMETRYCOLLECTION (POLYGON ((0 0, 1 0, 0 1, 0 0)), POLYGON ((-1 -1, 0 -1, 0 0, -1 -1)))');
SELECT * FROM redblue_polygon_overlaps('parcel', 'land') ORDER BY 1, 2;
SELECT * FROM redblue_polygon_overlaps_query('SELECT * FROM parcel WHERE id < 4', 'SELECT id + 1 AS name, geom AS shape FROM land', blue_id => 'name', blue_geom => 'shape') ORDER BY 1, 2;
-- Each pair once, the smaller id first; neighbors share no area.
SELECT * FROM redblue_polygon_self_overlaps('parcel');
SELECT * FROM redblue_polygon_self_overlaps_query('SELECT -id AS id, geom FROM parcel UNION ALL TABLE land') ORDER BY 1, 2;
-- A polygon shares all of itself, and the same areas come from the other order.
SELECT red_id, area, ST_Area(geom) FROM redblue_polygon_overlaps('parcel', 'parcel') JOIN parcel ON id = red_id WHERE red_id = blue_id ORDER BY 1;
SELECT count(*) FROM redblue_polygon_overlaps('parcel', 'land') a FULL JOIN redblue_polygon_overlaps('land', 'parcel') b ON a.red_id = b.blue_id AND a.blue_id = b.red_id WHERE a.area IS DISTINCT FROM b.area;
-- The nearest double: of 8/3 / 2, 94906267 * 94906265, the smallest and no double
SELECT area = 4 / 3.0::float8 AS nearest FROM redblue_polygon_overlaps_query($$SELECT 1 AS id, 'POLYGON ((0 0, 4 0, 0 4, 0 0))'::geometry AS geom$$, $$SELECT 1 AS id, 'POLYGON ((0 0, 2 4, 0 4, 0 0))'::geometry AS geom$$);
SELECT area::numeric FROM redblue_polygon_overlaps_query('SELECT 1 AS id, ST_MakeEnvelope(0, 0, 94906267, 94906265) AS geom', 'SELECT 1 AS id, ST_MakeEnvelope(0, -3, 94906267, 94906268) AS geom');
SELECT area FROM redblue_polygon_overlaps_query('SELECT 1 AS id, ST_MakeEnvelope(0, 0, 1e-200, 1e-200) AS geom', 'SELECT 1 AS id, ST_MakeEnvelope(-1, -1, 1, 1) AS geom');
SELECT area FROM redblue_polygon_overlaps_query('SELECT 1 AS id, ST_MakeEnvelope(0, 0, 1e200, 1e200) AS geom', 'SELECT 1 AS id, ST_MakeEnvelope(-1e300, -1, 1e300, 1e300) AS geom');
-- In the select list, with a filter, with LIMIT, in an outer join
SELECT (o).* FROM (SELECT redblue_polygon_overlaps('parcel', 'land') AS o OFFSET 0) s WHERE (o).area > 1 ORDER BY 1, 2;
SELECT count(*) FROM (SELECT * FROM redblue_polygon_overlaps('parcel', 'land') LIMIT 2) s;
SELECT p.id, sum(area) FROM parcel p LEFT JOIN redblue_polygon_overlaps('parcel', 'land') o ON o.red_id = p.id GROUP BY 1 ORDER BY 1;
SET redblue.custom_scan = on;
SET redblue.backend = auto;
EXPLAIN (COSTS OFF) SELECT sum(area) FROM redblue_polygon_overlaps('parcel', 'land') WHERE area > 1;
RESET redblue.backend;
RESET redblue.custom_scan;
-- Two geometries
SELECT p.id, l.id, redblue_overlap_area(p.geom, l.geom) FROM parcel p, land l WHERE redblue_overlap_area(p.geom, l.geom) > 0 ORDER BY 1, 2;
SELECT redblue_overlap_area('POLYGON EMPTY', geom) IS NULL AS empty, redblue_overlap_area(NULL, geom) IS NULL AS none, redblue_overlap_area(ST_MakeEnvelope(50, 50, 51, 51), geom) AS apart, redblue_overlap_area(ST_MakeEnvelope(4, 0, 5, 4), geom) AS touching FROM parcel WHERE id = 1;

-- Lines in polygons; parts on the border count.
CREATE TABLE road (id int PRIMARY KEY, geom geometry);
INSERT INTO road VALUES (1, 'LINESTRING (-1 1, 3 1, 6 5)'), (2, 'LINESTRING (4 -1, 4 9)'), (3, 'MULTILINESTRING ((5 1, 5 3), (5 2, 6 2), (0 4, -1 5))'), (4, 'LINESTRING (9 9, 9 9)'), (5, 'LINESTRING EMPTY');
SELECT * FROM redblue_lines_in_polygons('road', 'parcel') ORDER BY 1, 2;
SELECT count(*) AS rows, count(*) FILTER (WHERE abs(length - ST_Length(ST_Intersection(r.geom, p.geom))) > 1e-12) AS other FROM redblue_lines_in_polygons_query('TABLE road', 'SELECT * FROM parcel WHERE id < 5') JOIN road r ON r.id = line_id JOIN parcel p ON p.id = polygon_id;
SELECT refused($$SELECT count(*) FROM redblue_lines_in_polygons_query('TABLE road', $q$SELECT 7 AS id, 'POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))'::geometry AS geom$q$)$$);
SELECT count(*) FROM redblue_lines_in_polygons_query('TABLE road', $q$SELECT 7 AS id, 'POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))'::geometry AS geom$q$, on_bad => 'skip');

-- Tiles share out the pairs.
CREATE TABLE hexagon AS SELECT row_number() OVER () AS id, geom FROM ST_HexagonGrid(1, ST_MakeEnvelope(0, 0, 12, 12));
CREATE TABLE square AS SELECT row_number() OVER () AS id, ST_Rotate(geom, 0.3) AS geom FROM ST_SquareGrid(1.5, ST_MakeEnvelope(0, 0, 12, 12));
CREATE TABLE tile AS SELECT tile_low, tile_high FROM redblue_tiles('hexagon', 'square', 6, dimensions => 2);
CREATE TABLE shares AS SELECT * FROM redblue_polygon_overlaps('hexagon', 'square');
SELECT count(*) > 100 AS many, count(*) - (SELECT count(*) FROM tile, LATERAL redblue_polygon_overlaps('hexagon', 'square', tile_low => tile.tile_low, tile_high => tile.tile_high)) AS missing FROM shares;
SELECT count(*) FROM tile, LATERAL redblue_polygon_overlaps('hexagon', 'square', tile_low => tile.tile_low, tile_high => tile.tile_high) EXCEPT SELECT count(*) FROM shares;
-- The result does not depend on the number of threads, or on the cache.
SET redblue.threads = 7;
SELECT count(*) FROM (SELECT * FROM redblue_polygon_overlaps('hexagon', 'square') EXCEPT TABLE shares) s;
SELECT rows = (SELECT count(*) FROM hexagon) AS all FROM redblue_cache('hexagon', 'polygons');
SELECT count(*) FROM (SELECT * FROM redblue_polygon_overlaps('hexagon', 'square') EXCEPT TABLE shares) s;
UPDATE hexagon SET geom = ST_Translate(geom, 0.25, 0) WHERE id % 3 = 0;
SELECT count(*) AS other FROM redblue_polygon_overlaps('hexagon', 'square') a FULL JOIN redblue_polygon_overlaps_query('TABLE hexagon', 'TABLE square') b USING (red_id, blue_id) WHERE a.area IS DISTINCT FROM b.area;
-- Pairs come in the order of both ids, in whichever order the rows are read.
SELECT bool_and(first = sorted) AS ordered FROM (SELECT row_number() OVER () AS first, row_number() OVER (ORDER BY red_id, blue_id) AS sorted FROM redblue_polygon_overlaps_query('SELECT * FROM hexagon ORDER BY hashint8(id)', 'SELECT * FROM square ORDER BY hashint8(id + 1)')) s;
SELECT bool_and(first = sorted AND id1 < id2) AS ordered FROM (SELECT id1, id2, row_number() OVER () AS first, row_number() OVER (ORDER BY id1, id2) AS sorted FROM redblue_polygon_self_overlaps_query('SELECT id, ST_Expand(geom, 0.5) AS geom FROM hexagon ORDER BY hashint8(id)')) s;
-- Rows that change are checked, whatever is known of the others.
UPDATE hexagon SET geom = ST_Translate('POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))'::geometry, 2, 2) WHERE id = 7;
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps('hexagon', 'square')$$);
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps('hexagon', 'square')$$);
UPDATE hexagon SET geom = ST_Translate('POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))'::geometry, 2, 2) WHERE id = 7;
SELECT count(*) AS other FROM redblue_polygon_overlaps('hexagon', 'square') a FULL JOIN redblue_polygon_overlaps_query('TABLE hexagon', 'TABLE square') b USING (red_id, blue_id) WHERE a.area IS DISTINCT FROM b.area;
SELECT redblue_uncache('hexagon');
-- PostGIS computes the same areas to 12 digits.
SELECT count(*) > 100 AS many, count(*) FILTER (WHERE abs(area - ST_Area(ST_Intersection(r.geom, b.geom))) > 1e-12 * (area + 1)) AS other FROM redblue_polygon_overlaps('hexagon', 'square') JOIN hexagon r ON r.id = red_id JOIN square b ON b.id = blue_id;
SELECT count(*) FROM hexagon r JOIN square b ON ST_Intersects(r.geom, b.geom) LEFT JOIN redblue_polygon_overlaps('hexagon', 'square') ON red_id = r.id AND blue_id = b.id WHERE red_id IS NULL AND ST_Area(ST_Intersection(r.geom, b.geom)) > 1e-12;

-- Random polygons and multipolygons on a lattice: valid if PostGIS says so, with the same areas
CREATE FUNCTION random_ring(seed int, n int, size int) RETURNS geometry LANGUAGE sql IMMUTABLE AS $$
	SELECT ST_MakeLine(array_agg(p ORDER BY k) || (array_agg(p ORDER BY k))[1]) FROM (SELECT k, ST_MakePoint(abs(hashint4(seed * 64 + k * 2)) % (size + 1), abs(hashint4(seed * 64 + k * 2 + 1)) % (size + 1)) AS p FROM generate_series(1, n) k) s $$;
CREATE TABLE random AS
	SELECT s AS id, ST_MakePolygon(random_ring(s, 3 + s % 3, 5)) AS geom FROM generate_series(1, 700) s
	UNION ALL SELECT s, ST_MakePolygon(random_ring(s, 4, 9), ARRAY[random_ring(s + 9999, 3, 9)]) FROM generate_series(701, 1500) s
	UNION ALL SELECT s, ST_MakePolygon(ST_ExteriorRing(ST_MakeEnvelope(0, 0, 8, 8)), ARRAY[ST_Translate(random_ring(s, 3, 4), 0, 0), ST_Translate(random_ring(s + 9999, 3 + s % 2, 5), 3, 3)]) FROM generate_series(1501, 2300) s
	UNION ALL SELECT s, ST_Collect(ST_MakePolygon(random_ring(s, 3, 6)), ST_MakePolygon(random_ring(s + 9999, 3 + s % 2, 6))) FROM generate_series(2301, 3300) s
	UNION ALL SELECT s, ST_Collect(ST_MakePolygon(ST_ExteriorRing(ST_MakeEnvelope(0, 0, 9, 9)), ARRAY[random_ring(s, 3 + s % 2, 9)]), ST_MakePolygon(random_ring(s + 9999, 3, 9))) FROM generate_series(3301, 4500) s;
SET redblue.skip_notice = off;
CREATE TABLE kept AS SELECT red_id AS id, area FROM redblue_polygon_overlaps_query('SELECT id, ST_Translate(geom, id % 70 * 20, id / 70 * 20) AS geom FROM random', 'SELECT id, ST_Translate(geom, id % 70 * 20, id / 70 * 20) AS geom FROM random', on_bad => 'skip') WHERE red_id = blue_id;
SET client_min_messages = error; -- PostGIS explains in notices why polygons are not valid.
SELECT count(*) FILTER (WHERE valid) > 500 AS valid, count(*) FILTER (WHERE NOT valid) > 1000 AS invalid, count(*) FILTER (WHERE valid <> (k.id IS NOT NULL)) AS wrong,
	count(*) FILTER (WHERE valid AND ST_Area(geom) <> area) AS other_areas FROM (SELECT id, geom, ST_IsValid(geom) AS valid FROM random) r LEFT JOIN kept k USING (id);
SELECT r.id, ST_AsText(geom), ST_IsValidReason(geom) FROM random r LEFT JOIN kept k USING (id) WHERE ST_IsValid(geom) <> (k.id IS NOT NULL) ORDER BY 1 LIMIT 5;
CREATE TABLE valid AS SELECT * FROM random WHERE ST_IsValid(geom) AND id % 12 = 0;
SELECT count(*) > 1000 AS many, count(*) FILTER (WHERE abs(area - ST_Area(ST_Intersection(r.geom, b.geom))) > 1e-12 * (area + 1)) AS other FROM redblue_polygon_self_overlaps('valid') JOIN valid r ON r.id = id1 JOIN valid b ON b.id = id2;
SELECT count(*) > 1000 AS many, count(*) FILTER (WHERE (o.area IS NOT NULL) <> (ST_Area(ST_Intersection(r.geom, b.geom)) > 1e-9)) AS wrong_rows FROM valid r JOIN valid b ON r.id < b.id LEFT JOIN redblue_polygon_self_overlaps('valid') o ON o.id1 = r.id AND o.id2 = b.id;
RESET client_min_messages;

-- Invalid polygons
CREATE TABLE bad (id int, geom geometry);
INSERT INTO bad VALUES
	(1, 'POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))'), (2, 'POLYGON ((0 0, 4 0, 4 4, 2 0, 0 4, 0 0))'), (3, 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (5 5, 6 5, 6 6, 5 5))'),
	(4, 'POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 8 1, 8 8, 1 8, 1 1), (2 2, 3 2, 3 3, 2 2))'), (5, 'MULTIPOLYGON (((0 0, 4 0, 4 4, 0 4, 0 0)), ((1 1, 2 1, 2 2, 1 1)))'),
	(6, 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (0 2, 2 1, 4 2, 2 3, 0 2))'), (7, 'POLYGON ((1 1, 1 1, 1 1, 1 1))'), (8, 'POLYGON ((0 0, 1 1, 0 0, 1 1, 0 0))'),
	(9, 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (1 0, 2 0, 2 1, 1 0))'), (10, 'POLYGON ((0 0, 3 0, 3 3, 0 0))'), (11, 'POLYGON ((0 0, 2 2, 4 4, 2 2, 0 0))'),
	(12, 'POLYGON ((0.5 0.1, 2 2, 2 0.3, 0 2, 0.5 0.1))');
SELECT id, r.* FROM generate_series(1, 12) id, LATERAL refused(format('SELECT count(*) FROM redblue_polygon_overlaps_query(''SELECT * FROM bad WHERE id = %s'', ''TABLE land'')', id)) r;
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps('parcel', 'bad')$$);
SELECT refused($$SELECT count(*) FROM redblue_polygon_self_overlaps('bad')$$);
RESET redblue.skip_notice;
SELECT * FROM redblue_polygon_overlaps('bad', 'land', on_bad => 'skip') ORDER BY 1, 2;
SELECT count(*) FROM redblue_polygon_self_overlaps('bad', on_bad => 'skip');
INSERT INTO bad VALUES (13, 'LINESTRING (0 0, 1 1)'), (14, NULL), (15, 'CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 2 0, 1 -1, 0 0))'), (16, ST_MakeEnvelope(0, 0, 'NaN', 1));
SELECT * FROM redblue_polygon_overlaps('bad', 'land', on_bad => 'skip') ORDER BY 1, 2;
SELECT id, r.* FROM generate_series(13, 16) id, LATERAL refused(format('SELECT count(*) FROM redblue_polygon_overlaps_query(''SELECT * FROM bad WHERE id = %s'', ''TABLE land'')', id)) r;
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps_query('SELECT id, ST_SetSRID(geom, 4326) AS geom FROM land', 'land')$$);
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps_query('SELECT id, ST_SetSRID(geom, 4326) AS geom FROM land', 'TABLE land')$$);
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps('land', 'land', on_bad => 'ignore')$$);
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps_query('SELECT 1 AS id, 0 AS ax', 'TABLE land')$$);
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps('land', NULL)$$);
-- Polygons have no coordinate columns.
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps_query('SELECT id AS number, geom FROM land', 'TABLE land')$$);
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps_query('TABLE land', 'TABLE land', red_geom => 'id')$$);
SELECT refused($$SELECT count(*) FROM redblue_polygon_overlaps_query('TABLE land', 'TABLE land', blue_geom => 'shape')$$);
SELECT refused($$SELECT redblue_overlap_area('POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))', geom) FROM land$$);
SELECT refused($$SELECT redblue_overlap_area('LINESTRING (0 0, 1 1)', geom) FROM land$$);
SELECT refused($$SELECT redblue_overlap_area(ST_SetSRID(geom, 4326), geom) FROM land$$);
-- Little memory, and a canceled statement, with polygons of many edges, which are made before: an interrupted function of
-- PostGIS prints a notice
CREATE TABLE fine_hexagon AS SELECT id, ST_Segmentize(geom, 0.001) AS geom FROM hexagon;
CREATE TABLE fine_square AS SELECT id, ST_Segmentize(geom, 0.001) AS geom FROM square;
SET redblue.memory_limit = '1MB';
SELECT split_part(refused, ' ', 1) AS state, refused ~ 'out of memory|The join needs about [0-9.]+ [kMG]B, but redblue.memory_limit is 1' AS refused FROM refused($$SELECT count(*) FROM redblue_polygon_overlaps('fine_hexagon', 'square')$$) LIMIT 2;
RESET redblue.memory_limit;
\set VERBOSITY terse
SET LOCAL statement_timeout = '20ms'\; SELECT count(*) FROM redblue_polygon_overlaps('fine_hexagon', 'fine_square');
-- Two disks of a million edges each: a canceled statement, and then the area of their lens
CREATE TABLE disk AS SELECT id, ST_MakePolygon(ST_MakeLine(array_agg(ST_MakePoint(id + cosd(i % 1000000 * 0.00036), sind(i % 1000000 * 0.00036)) ORDER BY i))) AS geom FROM generate_series(0, 1) id, generate_series(0, 1000000) i GROUP BY id;
SELECT min(ST_NPoints(geom)) = 1000001 AS many FROM disk;
\set SHOW_CONTEXT never
SET LOCAL statement_timeout = '20ms'\; SELECT count(*) FROM redblue_polygon_self_overlaps('disk');
\set SHOW_CONTEXT errors
SELECT id1, id2, abs(area - (2 * pi() / 3 - sqrt(3) / 2)) < 1e-9 AS right FROM redblue_polygon_self_overlaps('disk');
\set ECHO none
SET client_min_messages = warning;
DROP SCHEMA postgis_polygon_overlaps CASCADE;
