-- Tests redblue_postgis: intersections of all pairs of solids, and differences of solids and all that meet them.
\set schema postgis_solid_sets
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/ball_geometry.sql
\i sql/fixtures/box_geometry.sql
\i sql/fixtures/refused.sql
-- Blocks of rock, and drives: through one block, through two, along a face, along an edge, in a block, around it, in another drive
CREATE TABLE rock (gid int PRIMARY KEY, geom geometry(GeometryZ, 7415));
INSERT INTO rock VALUES (5, box(0, 0, 0, 4, 4, 4)), (2, box(4, 0, 0, 8, 4, 4)), (9, box(20, 0, 0, 22, 2, 2)), (7, box(30, 0, 0, 32, 2, 2)), (1, NULL), (3, 'SRID=7415;POLYHEDRALSURFACE Z EMPTY');
CREATE TABLE drive (id int PRIMARY KEY, what text, geom geometry(GeometryZ, 7415));
INSERT INTO drive VALUES (1, 'through one', box(1, -1, 1, 2, 5, 2)), (2, 'through two', box(1, 1, 1, 7, 2, 2)), (3, 'along a face', box(0, 0, 4, 8, 4, 5)), (4, 'along an edge', box(-1, -1, 0, 0, 0, 4)),
	(5, 'inside', box(2.5, 2.5, 2.5, 3, 3, 3)), (6, 'around', box(19, -1, -1, 23, 3, 3)), (7, 'in a drive', box(1, 1, 1, 2, 2, 2)), (8, 'a corner', box(8, 4, 4, 9, 9, 9)), (9, 'nowhere', box(90, 90, 90, 91, 91, 91)), (10, 'empty', NULL);
SELECT red_id, blue_id, volume, ST_AsEWKT(geom) FROM redblue_solid_intersections('rock', 'drive') WHERE blue_id IN (1, 7);
SELECT red_id, blue_id, what, volume, ST_NumGeometries(i.geom) AS faces FROM redblue_solid_intersections('rock', 'drive') i JOIN drive ON id = blue_id ORDER BY 1, 2;
SELECT red_id, volume, ST_NumGeometries(geom) AS faces, ST_SRID(geom), ST_GeometryType(geom), ST_Zmflag(geom) FROM redblue_solid_differences('rock', 'drive');
-- A block that no drive meets has its faces, and one that is in a drive has none left.
SELECT red_id, ST_AsEWKT(geom), volume FROM redblue_solid_differences('rock', 'drive') WHERE red_id IN (7, 9);
SELECT red_id, redblue_position(d.geom, r.geom) AS position FROM redblue_solid_differences('rock', 'drive') d JOIN rock r ON gid = red_id WHERE red_id = 7;
-- The rows are those of pairs whose interiors meet, in the order of ids, and the geometries those of two solids; nothing is rounded here.
CREATE TABLE shared AS SELECT row_number() OVER () AS place, i.* FROM redblue_solid_intersections('rock', 'drive') i;
SELECT count(*) AS pairs, count(*) FILTER (WHERE s.geom::bytea = redblue_solid_intersection(r.geom, d.geom)::bytea) AS same, count(*) FILTER (WHERE s.volume = o.volume AND o.volume = redblue_volume(s.geom)) AS volumes
FROM (SELECT * FROM redblue_solid_overlaps('rock', 'drive') WHERE volume > 0) o FULL JOIN shared s USING (red_id, blue_id) JOIN rock r ON gid = red_id JOIN drive d ON d.id = blue_id;
SELECT bool_and(place = n) AS ordered FROM (SELECT place, row_number() OVER (ORDER BY red_id, blue_id) AS n FROM shared) t;
-- A difference subtracts the drive that meets the block, or the union of all of them in the order of their ids.
CREATE TABLE rest AS SELECT row_number() OVER () AS place, d.* FROM redblue_solid_differences('rock', 'drive') d;
CREATE VIEW expected AS SELECT gid AS red_id, r.geom AS whole, redblue_solid_difference(r.geom, coalesce(u.geom, 'SRID=7415;TIN Z EMPTY')) AS geom, redblue_volume(r.geom) - coalesce(redblue_overlap_volume(r.geom, u.geom), 0) AS volume
FROM rock r LEFT JOIN LATERAL (SELECT CASE count(*) WHEN 1 THEN (array_agg(d.geom))[1] ELSE redblue_solid_union_agg(d.geom ORDER BY d.id) END AS geom FROM drive d WHERE redblue_overlap_volume(r.geom, d.geom) > 0) u ON true WHERE NOT ST_IsEmpty(r.geom);
SELECT red_id, r.geom::bytea = e.geom::bytea AS same, r.volume = e.volume AS volume FROM rest r FULL JOIN expected e USING (red_id) ORDER BY 1;
SELECT bool_and(place = n) AS ordered FROM (SELECT place, row_number() OVER (ORDER BY red_id) AS n FROM rest) t;
-- Queries, names of columns, and rows that are faces
CREATE TABLE face AS SELECT gid AS body, (ST_Dump(geom)).geom AS wall FROM rock;
ALTER TABLE face ADD face serial;
SELECT count(*) AS rows, count(*) FILTER (WHERE s.volume = q.volume AND redblue_position(s.geom, q.geom) = 'equal') AS same FROM shared s FULL JOIN redblue_solid_intersections_query('SELECT * FROM face', 'SELECT geom AS g, id AS n FROM drive',
	red_id => 'face', red_geom => 'wall', red_solid => 'body', blue_id => 'n', blue_geom => 'g') q USING (red_id, blue_id);
SELECT count(*) AS rows, count(*) FILTER (WHERE r.volume = q.volume) AS same FROM rest r FULL JOIN redblue_solid_differences('face', 'drive', red_id => 'face', red_geom => 'wall', red_solid => 'body') q USING (red_id);
SELECT count(*) AS rows, count(*) FILTER (WHERE r.volume = q.volume) AS same FROM rest r FULL JOIN redblue_solid_differences_query('SELECT gid AS id, geom FROM rock', 'TABLE drive') q USING (red_id);
-- Coordinate columns have no SRID.
CREATE TABLE corner AS SELECT row_number() OVER () AS id, s, ST_X(p[1]) AS ax, ST_Y(p[1]) AS ay, ST_Z(p[1]) AS az, ST_X(p[2]) AS bx, ST_Y(p[2]) AS by, ST_Z(p[2]) AS bz, ST_X(p[3]) AS cx, ST_Y(p[3]) AS cy, ST_Z(p[3]) AS cz
FROM (VALUES (1, 0), (2, 1)) v (s, x), LATERAL (SELECT ARRAY(SELECT (d).geom FROM ST_DumpPoints(f.geom) d) AS p FROM redblue_faces(box(x, x, x, x + 2, x + 2, x + 2)) f) t;
SELECT red_id, blue_id, ST_SRID(geom), volume FROM redblue_solid_intersections('corner', 'corner', red_solid => 's', blue_solid => 's');
SELECT red_id, ST_SRID(geom), volume FROM redblue_solid_differences_query('SELECT * FROM corner WHERE s = 1', 'SELECT * FROM corner WHERE s = 2', red_solid => 's', blue_solid => 's');
-- Tables without rows
SELECT count(*) FROM redblue_solid_intersections_query('SELECT gid AS id, geom FROM rock', 'SELECT * FROM drive WHERE id = 10');
SELECT red_id, volume FROM redblue_solid_differences_query('SELECT gid AS id, geom FROM rock', 'SELECT * FROM drive WHERE id = 10');
SELECT count(*) FROM redblue_solid_differences_query('SELECT gid AS id, geom FROM rock WHERE geom IS NULL', 'SELECT * FROM drive');
-- A pair belongs to one tile.
SELECT t.tile, count(*), sum(volume) FROM (VALUES (1, ARRAY['-Infinity', '-Infinity', '-Infinity']::float8[], ARRAY[2, 'Infinity', 'Infinity']::float8[]), (2, ARRAY[2, '-Infinity', '-Infinity']::float8[], ARRAY['Infinity', 'Infinity', 'Infinity']::float8[])) t (tile, low, high),
	redblue_solid_intersections('rock', 'drive', tile_low => low, tile_high => high) GROUP BY 1 ORDER BY 1;
-- Balls of triangles, whose common corners are not doubles
CREATE TABLE ore AS SELECT i AS id, ball(6, 8, 500000 + i % 4 * 15, 5800000 + i / 4 * 15, 100, 10) AS geom FROM generate_series(0, 15) i;
CREATE TABLE stope AS SELECT i AS id, ball(5, 7, 500000 + i * 7 % 60, 5800000 + i * 11 % 60, 95 + i % 9, 3 + i % 4) AS geom FROM generate_series(0, 39) i;
CREATE TABLE mined AS SELECT * FROM redblue_solid_intersections('ore', 'stope');
CREATE TABLE kept AS SELECT * FROM redblue_solid_differences('ore', 'stope');
SELECT count(*) > 40 AS pairs, count(*) FILTER (WHERE m.geom::bytea IS DISTINCT FROM redblue_solid_intersection(o.geom, s.geom)::bytea OR m.volume <> redblue_volume(m.geom)) AS other, count(*) FILTER (WHERE m.volume <> v.volume) > 0 AS rounded,
-- A corner moves by at most half of the distance of two doubles there, 2^-31: the volume, by less than that times the area.
	count(*) FILTER (WHERE abs(m.volume - v.volume) < 5000 * 2 ^ -30) = count(*) AS near
FROM mined m FULL JOIN (SELECT * FROM redblue_solid_overlaps('ore', 'stope') WHERE volume > 0) v USING (red_id, blue_id) JOIN ore o ON o.id = red_id JOIN stope s ON s.id = blue_id;
SELECT count(*) AS rows, count(*) FILTER (WHERE k.geom::bytea = redblue_solid_difference(o.geom, u.geom)::bytea) AS same, count(*) FILTER (WHERE abs(k.volume - (redblue_volume(o.geom) - redblue_overlap_volume(o.geom, u.geom))) < 5000 * 2 ^ -30) AS near
FROM kept k JOIN ore o ON o.id = red_id JOIN LATERAL (SELECT CASE count(*) WHEN 1 THEN (array_agg(s.geom))[1] ELSE redblue_solid_union_agg(s.geom ORDER BY s.id) END AS geom FROM mined m JOIN stope s ON s.id = m.blue_id WHERE m.red_id = o.id) u ON true;
SELECT count(*) AS solids, count(*) FILTER (WHERE valid AND oriented) AS valid FROM redblue_solid_check_query('SELECT red_id AS id, geom FROM kept UNION ALL SELECT 1000 + red_id * 1000 + blue_id, geom FROM mined');
-- The number of threads does not matter, nor does the order of the rows.
CREATE FUNCTION differ(threads int, red text, blue text, OUT intersections bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('redblue.threads', threads::text, true);
	SELECT count(*) INTO intersections FROM (SELECT red_id, blue_id, geom::bytea, volume FROM mined) m FULL JOIN redblue_solid_intersections_query(red, blue) i USING (red_id, blue_id) WHERE m.geom IS DISTINCT FROM i.geom::bytea OR m.volume <> i.volume;
	SELECT count(*) INTO differences FROM (SELECT red_id, geom::bytea, volume FROM kept) k FULL JOIN redblue_solid_differences_query(red, blue) d USING (red_id) WHERE k.geom IS DISTINCT FROM d.geom::bytea OR k.volume <> d.volume;
END $$;
SELECT t, d.* FROM unnest(ARRAY[1, 2, 7]) t, differ(t, 'SELECT * FROM ore ORDER BY -id', 'SELECT * FROM stope ORDER BY id % 7') d;
SET redblue.backend = cpu; SET redblue.custom_scan = on; SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT volume FROM redblue_solid_differences('ore', 'stope') WHERE red_id = 1;
EXPLAIN (COSTS OFF) SELECT red_id, count(*) FROM redblue_solid_intersections('ore', 'stope') GROUP BY 1;
RESET redblue.backend; RESET redblue.custom_scan; RESET max_parallel_workers_per_gather;
SELECT count(*) FROM (SELECT FROM redblue_solid_intersections('ore', 'stope') LIMIT 3) t;
SELECT red_id, count(*) FROM redblue_solid_intersections('rock', 'drive') GROUP BY 1 ORDER BY 1;
SELECT count(*), count(DISTINCT red_id) FROM redblue_solid_differences('rock', 'drive');
SELECT count, milliseconds > 0 AS timed FROM redblue_last_run() WHERE stage = 'emit';
-- Solids that are not valid
INSERT INTO rock VALUES (4, ST_Collect(box(0, 0, 0, 4, 4, 4), box(1, 1, 1, 5, 5, 5)));
INSERT INTO drive VALUES (11, 'open', ST_GeometryN(box(0, 0, 0, 4, 4, 4), 1)), (12, 'a corner on a face', box(1, 1, -1, 2, 2, 0.5));
SELECT refused($$SELECT count(*) FROM redblue_solid_intersections('rock', 'drive')$$);
SELECT refused($$SELECT count(*) FROM redblue_solid_differences_query('TABLE rock', 'SELECT * FROM drive WHERE id < 11', red_id => 'gid')$$);
SELECT refused($$SELECT count(*) FROM redblue_solid_differences_query('SELECT * FROM rock WHERE gid <> 4', 'TABLE drive', red_id => 'gid')$$);
SELECT refused($$SELECT count(*) FROM redblue_solid_differences('face', 'drive', red_geom => 'wall', red_id => 'face')$$);
SELECT red_id, blue_id, volume FROM redblue_solid_intersections('rock', 'drive', on_bad => 'skip') WHERE blue_id > 4;
SELECT red_id, volume FROM redblue_solid_differences('rock', 'drive', on_bad => 'skip');
SELECT red_id, volume FROM redblue_solid_differences_query('SELECT gid AS id, geom FROM rock', 'SELECT * FROM drive WHERE id = 10', on_bad => 'skip');
-- Refusals
SELECT refused($$SELECT count(*) FROM redblue_solid_intersections('rock', NULL)$$);
SELECT refused($$SELECT count(*) FROM redblue_solid_differences('rock', 'drive', on_bad => 'ignore')$$);
SELECT refused($$SELECT count(*) FROM redblue_solid_differences('rock', 'drive', tile_low => '{0, 0, 0}')$$);
SELECT refused($$SELECT count(*) FROM redblue_solid_differences_query('TABLE rock', 'SELECT id, ST_SetSRID(geom, 4979) AS geom FROM drive', red_id => 'gid')$$);
SELECT refused($$SELECT count(*) FROM redblue_solid_intersections_query('TABLE rock', 'SELECT id, ST_Force2D(geom) AS geom FROM drive', red_id => 'gid')$$);
SELECT refused($$SELECT count(*) FROM redblue_solid_intersections('rock', 'drive', blue_id => 'gid')$$);
SELECT refused($$SELECT count(*) FROM redblue_solid_differences_query('DELETE FROM rock', 'TABLE drive')$$);
-- Canceled statements, and some that are short of memory
CREATE TABLE large AS SELECT i AS id, ball(60, 80, i, 0, 0, 10) AS geom FROM generate_series(1, 12) i;
\set SHOW_CONTEXT never
SET LOCAL statement_timeout = '300ms'\; SELECT count(*) FROM redblue_solid_intersections('large', 'large');
SET LOCAL statement_timeout = '300ms'\; SELECT count(*) FROM redblue_solid_differences('large', 'large');
\set SHOW_CONTEXT errors
SET redblue.memory_limit = '20MB';
SELECT substring(refused FROM '^(53200: \S+ out of memory|DETAIL: The combination needs|HINT:.*)') FROM (SELECT refused($$SELECT count(*) FROM redblue_solid_differences('large', 'large')$$)) r (refused);
SET redblue.memory_limit = '4MB';
SELECT substring(refused FROM '^(53200: \S+ out of memory)') FROM (SELECT refused($$SELECT count(*) FROM redblue_solid_intersections('large', 'large')$$)) r (refused);
RESET redblue.memory_limit;
SELECT red_id, volume FROM redblue_solid_differences_query('SELECT gid AS id, geom FROM rock WHERE gid = 5', 'SELECT * FROM drive WHERE id < 4');
SET client_min_messages = warning;
DROP SCHEMA postgis_solid_sets CASCADE;
