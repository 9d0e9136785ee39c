-- Tests redblue_postgis: positions of geometries relative to solids, alone, in loops and in joins.
\set schema postgis_position
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
\i sql/fixtures/refused.sql
-- A box from 0 to 4, a box with a cavity from 1 to 3, and an L
CREATE FUNCTION box(x float8, y float8, z float8, dx float8, dy float8, dz float8) RETURNS geometry LANGUAGE sql IMMUTABLE AS $$
SELECT ST_Translate(ST_Scale('POLYHEDRALSURFACE Z (((0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0)), ((0 0 1, 1 0 1, 1 1 1, 0 1 1, 0 0 1)), ((0 0 0, 1 0 0, 1 0 1, 0 0 1, 0 0 0)), ((1 0 0, 1 1 0, 1 1 1, 1 0 1, 1 0 0)), ((1 1 0, 0 1 0, 0 1 1, 1 1 1, 1 1 0)), ((0 1 0, 0 0 0, 0 0 1, 0 1 1, 0 1 0)))', dx, dy, dz), x, y, z) $$;
CREATE TABLE solid (id int PRIMARY KEY, what text, geom geometry);
INSERT INTO solid SELECT 1, 'box', box(0, 0, 0, 4, 4, 4);
INSERT INTO solid SELECT 2, 'box with a cavity', ST_Collect(ARRAY(SELECT (ST_Dump(g)).geom FROM unnest(ARRAY[box(0, 0, 0, 4, 4, 4), box(1, 1, 1, 2, 2, 2)]) g));
INSERT INTO solid VALUES (3, 'L', 'POLYHEDRALSURFACE Z (((0 0 0, 0 4 0, 2 4 0, 2 2 0, 4 2 0, 4 0 0, 0 0 0)), ((0 0 4, 4 0 4, 4 2 4, 2 2 4, 2 4 4, 0 4 4, 0 0 4)), ((0 0 0, 4 0 0, 4 0 4, 0 0 4, 0 0 0)), ((4 0 0, 4 2 0, 4 2 4, 4 0 4, 4 0 0)), ((4 2 0, 2 2 0, 2 2 4, 4 2 4, 4 2 0)), ((2 2 0, 2 4 0, 2 4 4, 2 2 4, 2 2 0)), ((2 4 0, 0 4 0, 0 4 4, 2 4 4, 2 4 0)), ((0 4 0, 0 0 0, 0 0 4, 0 4 4, 0 4 0)))');
CREATE TABLE thing (id int PRIMARY KEY, what text, geom geometry);
INSERT INTO thing VALUES (1, 'panel inside', 'POLYGON Z ((0.25 0.25 0.25, 0.75 0.25 0.25, 0.75 0.75 0.5, 0.25 0.75 0.5, 0.25 0.25 0.25))'),
	(2, 'panel through a wall', 'POLYGON Z ((0.25 0.5 0.5, 5 0.5 0.5, 5 0.5 1, 0.25 0.5 1, 0.25 0.5 0.5))'), (3, 'panel outside', 'TRIANGLE Z ((5 5 5, 6 5 5, 5 6 5, 5 5 5))'),
	(4, 'panel in a wall', 'POLYGON Z ((0 1 1, 0 1.5 1, 0 1.5 1.5, 0 1 1.5, 0 1 1))'), (5, 'a whole wall', 'POLYGON Z ((0 0 0, 0 2 0, 0 2 4, 0 0 4, 0 0 0))'),
	(6, 'panel in the plane of a wall and beyond', 'POLYGON Z ((0 1 1, 0 9 1, 0 9 2, 0 1 2, 0 1 1))'), (7, 'floor from wall to wall', 'POLYGON Z ((0 0 2, 4 0 2, 4 4 2, 0 4 2, 0 0 2))'),
	(8, 'floor from wall to wall below the cavity', 'POLYGON Z ((0 0 0.5, 4 0 0.5, 4 4 0.5, 0 4 0.5, 0 0 0.5))'), (9, 'floor on which the cavity stands', 'POLYGON Z ((0 0 1, 4 0 1, 4 4 1, 0 4 1, 0 0 1))'),
	(10, 'panel in the cavity', 'TRIANGLE Z ((1.5 1.5 1.5, 2.5 1.5 1.5, 1.5 2.5 1.5, 1.5 1.5 1.5))'), (11, 'touches a wall from inside in a point', 'TRIANGLE Z ((0 0.5 0.5, 0.5 0.25 0.5, 0.5 0.75 0.5, 0 0.5 0.5))'),
	(12, 'touches a wall from outside in a point', 'TRIANGLE Z ((0 0.5 0.5, -1 0.25 0.5, -1 0.75 0.5, 0 0.5 0.5))'), (13, 'stands on the floor', 'TRIANGLE Z ((0.25 0.25 0, 0.75 0.25 0, 0.5 0.5 0.75, 0.25 0.25 0))'),
	(14, 'stands on the roof', 'TRIANGLE Z ((0.25 0.25 4, 0.75 0.25 4, 0.5 0.5 5, 0.25 0.25 4))'), (15, 'across the notch of the L', 'TRIANGLE Z ((1 3 1, 3 1 1, 1 1 1, 1 3 1))'),
	(16, 'over the notch of the L', 'TRIANGLE Z ((1 3.5 1, 3.5 1 1, 1 1 1, 1 3.5 1))'), (17, 'no area, inside', 'TRIANGLE Z ((0.25 0.25 0.25, 0.5 0.5 0.5, 0.75 0.75 0.75, 0.25 0.25 0.25))'),
	(18, 'no area, through a wall', 'TRIANGLE Z ((0.5 0.5 0.5, 5 0.5 0.5, 2 0.5 0.5, 0.5 0.5 0.5))'), (19, 'no area, a point on a wall', 'TRIANGLE Z ((0 1 1, 0 1 1, 0 1 1, 0 1 1))'),
	(20, 'an open box', (SELECT ST_Collect(geom) FROM (SELECT (ST_Dump(box(0.25, 0.25, 0.25, 0.5, 0.5, 0.5))).* LIMIT 5) f)), (21, 'a box', box(0.25, 0.25, 0.25, 0.5, 0.5, 0.5)), (22, 'the box itself', box(0, 0, 0, 4, 4, 4)),
	(23, 'the cavity', box(1, 1, 1, 2, 2, 2)), (24, 'a box beside', box(4, 0, 0, 1, 4, 4)), (25, 'a box across', box(3, 3, 3, 3, 3, 3)), (26, 'a box around', box(-1, -1, -1, 6, 6, 6)),
	(27, 'point', 'POINT Z (0.5 0.5 0.5)'), (28, 'point on a wall', 'POINT Z (0 1 1)'), (29, 'points', 'MULTIPOINT Z ((0.5 0.5 0.5), (9 9 9))'), (30, 'line', 'LINESTRING Z (0.5 0.5 0.5, 0.5 0.5 9)'),
	(31, 'line along a wall', 'LINESTRING Z (0 0.5 0.5, 0 1 1)'), (32, 'line inside, and one that is a point outside', 'MULTILINESTRING Z ((0.25 0.25 0.25, 0.5 0.5 0.5), (9 9 9, 9 9 9))'), (33, 'nothing', 'POLYGON Z EMPTY'), (34, 'nothing', NULL),
	(35, 'panels inside and outside', 'MULTIPOLYGON Z (((0.25 0.25 0.25, 0.75 0.25 0.25, 0.5 0.5 0.5, 0.25 0.25 0.25)), ((7 7 7, 8 7 7, 7 8 7, 7 7 7)))');
SELECT t.id, t.what, redblue_position(t.geom, a.geom) AS box, redblue_position(t.geom, b.geom) AS cavity, redblue_position(t.geom, c.geom) AS l FROM thing t, solid a, solid b, solid c WHERE a.id = 1 AND b.id = 2 AND c.id = 3 ORDER BY 1;
-- "Inside" is one of the positions; also in map coordinates, and if nothing is parallel to an axis
SELECT count(*), count(*) FILTER (WHERE redblue_inside(t.geom, b.geom)) AS inside, count(*) FILTER (WHERE redblue_inside(t.geom, b.geom) <> coalesce(redblue_position(t.geom, b.geom) = 'inside', false)) AS others,
	count(*) FILTER (WHERE redblue_position(t.geom, b.geom) <> redblue_position(ST_Translate(t.geom, 500000, 5400000, 100), ST_Translate(b.geom, 500000, 5400000, 100))) AS moved,
	count(*) FILTER (WHERE redblue_position(t.geom, b.geom) <> redblue_position(ST_Affine(t.geom, 1, 2, -1, 3, 1, 1, -2, 1, 4, 0, 0, 0), ST_Affine(b.geom, 1, 2, -1, 3, 1, 1, -2, 1, 4, 0, 0, 0))) AS askew,
	count(*) FILTER (WHERE redblue_position(t.geom, b.geom) <> redblue_position(ST_Scale(t.geom, 0.0000152587890625, 0.0000152587890625, 0.0000152587890625), ST_Scale(b.geom, 0.0000152587890625, 0.0000152587890625, 0.0000152587890625))) AS small
	FROM thing t CROSS JOIN solid b WHERE t.geom IS NOT NULL;
-- The join as a whole, compared with a loop over the pairs
CREATE TABLE grain AS SELECT i AS id, CASE i % 4 WHEN 0 THEN ST_MakePoint(x, y, z) WHEN 1 THEN ST_MakeLine(ST_MakePoint(x, y, z), ST_MakePoint(x + i % 3 - 1, y + i % 2, z + 0.5))
	WHEN 2 THEN ST_MakePolygon(ST_MakeLine(ARRAY[ST_MakePoint(x, y, z), ST_MakePoint(x + 1, y, z), ST_MakePoint(x, y + 1, z + i % 2), ST_MakePoint(x, y, z)])) ELSE box(x, y, z, 0.5, 0.5, 1) END AS geom
	FROM (SELECT i, i % 11 * 0.5 - 0.5 AS x, i / 11 % 11 * 0.5 - 0.5 AS y, i / 121 % 11 * 0.5 - 0.5 AS z FROM generate_series(0, 1330) i) g;
INSERT INTO grain SELECT 10000 + id, geom FROM thing;
INSERT INTO solid SELECT id + 10, what, ST_Translate(geom, 2, 1, 0) FROM solid UNION ALL SELECT 20, 'nothing', NULL UNION ALL SELECT 21, 'nothing', 'POLYHEDRALSURFACE Z EMPTY';
ANALYZE grain, solid;
CREATE FUNCTION joined(query text, OUT n bigint, OUT nodes bigint, OUT others bigint) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	SET LOCAL redblue."join" = on;
	nodes := 0;
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		nodes := nodes + (line LIKE '%(redblue join)%')::int;
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE a ON COMMIT DROP AS ' || query;
	SET LOCAL redblue."join" = off;
	SET LOCAL enable_indexscan = off;
	EXECUTE 'CREATE TEMP TABLE b ON COMMIT DROP AS ' || query;
	n := (SELECT count(*) FROM a);
	others := (SELECT count(*) FROM ((TABLE a EXCEPT ALL TABLE b) UNION ALL (TABLE b EXCEPT ALL TABLE a)) d);
	DROP TABLE a, b;
END $$;
SELECT * FROM joined('SELECT g.id, b.id AS solid FROM grain g JOIN solid b ON redblue_inside(g.geom, b.geom)');
SELECT * FROM joined('SELECT g.id, b.id AS solid FROM solid b JOIN grain g ON redblue_inside(g.geom, b.geom) AND g.id % 3 <> b.id % 3');
SELECT * FROM joined('SELECT g.id, b.id AS solid FROM grain g LEFT JOIN solid b ON redblue_inside(g.geom, b.geom) AND b.id > 5');
SELECT * FROM joined('SELECT g.id, b.id AS solid FROM solid b LEFT JOIN grain g ON redblue_inside(g.geom, b.geom)');
SELECT * FROM joined('SELECT id FROM grain g WHERE EXISTS (SELECT FROM solid b WHERE redblue_inside(g.geom, b.geom))');
SELECT * FROM joined('SELECT id FROM grain g WHERE NOT EXISTS (SELECT FROM solid b WHERE redblue_inside(g.geom, b.geom))');
SELECT * FROM joined('SELECT id FROM solid b WHERE EXISTS (SELECT FROM grain g WHERE redblue_inside(g.geom, b.geom))');
SELECT * FROM joined('SELECT id FROM solid b WHERE NOT EXISTS (SELECT FROM grain g WHERE redblue_inside(g.geom, b.geom))');
SELECT * FROM joined('SELECT a.id, b.id AS solid FROM solid a JOIN solid b ON redblue_inside(a.geom, b.geom)');
SELECT * FROM joined('SELECT g.id, b.id AS solid FROM grain g JOIN solid b ON redblue_inside(ST_Translate(g.geom, 0.25, 0, 0), ST_Force3D(b.geom))');
SELECT * FROM joined('SELECT v, s.* FROM generate_series(0, 2) v CROSS JOIN LATERAL (SELECT g.id, b.id AS solid FROM grain g JOIN solid b ON redblue_inside(ST_Translate(g.geom, v, 0, 0), b.geom) OFFSET 0) s');
EXPLAIN (COSTS OFF) SELECT * FROM grain g LEFT JOIN solid b ON redblue_inside(g.geom, b.geom) AND b.id > 5;
EXPLAIN (COSTS OFF) SELECT count(*) FROM grain g JOIN solid b ON redblue_inside(g.geom, b.geom);
-- With a cached plan, and a solid that differs each time
PREPARE placed(float8) AS SELECT count(*) FROM grain g JOIN solid b ON redblue_inside(ST_Translate(g.geom, $1, 0, 0), b.geom);
SET plan_cache_mode = force_generic_plan;
EXECUTE placed(0);
EXECUTE placed(1);
EXECUTE placed(100);
RESET plan_cache_mode;
-- Geometries that are not solids
SELECT refused($$SELECT count(*) FROM grain g JOIN (SELECT id, CASE id WHEN 3 THEN (SELECT geom FROM thing WHERE id = 20) ELSE geom END AS geom FROM solid OFFSET 0) b ON redblue_inside(g.geom, b.geom)$$);
SELECT refused($$SELECT count(*) FROM grain g JOIN (SELECT id, CASE id WHEN 3 THEN ST_Translate((SELECT geom FROM thing WHERE id = 20), 100, 0, 0) ELSE geom END AS geom FROM solid OFFSET 0) b ON redblue_inside(g.geom, b.geom)$$);
SELECT refused($$SELECT count(*) FROM grain g JOIN (SELECT id, CASE id WHEN 3 THEN 'LINESTRING Z (0 0 0, 1 1 1)' ELSE geom END AS geom FROM solid OFFSET 0) b ON redblue_inside(g.geom, b.geom)$$);
SELECT refused($$SELECT count(*) FROM (SELECT CASE id WHEN 7 THEN 'POINT (1 1)' ELSE geom END AS geom FROM grain OFFSET 0) g JOIN solid b ON redblue_inside(g.geom, b.geom)$$);
SELECT refused($$SELECT count(*) FROM (SELECT CASE id WHEN 7 THEN ST_SetSRID(geom, 4979) ELSE geom END AS geom FROM grain OFFSET 0) g JOIN solid b ON redblue_inside(g.geom, b.geom)$$);
SELECT refused($$SELECT redblue_inside((SELECT ST_Collect(f.geom) FROM (SELECT (ST_Dump(box(0, 0, 0, 2, 2, 2))).geom UNION ALL SELECT (ST_Dump(box(1, 1, 1, 2, 2, 2))).geom) f), (SELECT geom FROM solid WHERE id = 1))$$);
SELECT refused($$SELECT redblue_position('POINT Z (1 1 1)', 'TRIANGLE Z ((0 0 0, 4 0 4, 0 4 4, 0 0 0))')$$);
-- More values than are cached, in a loop that alternates
SET redblue."join" = off;
CREATE TABLE many AS SELECT i AS id, box(i % 10 * 5, i / 10 * 5, 0, 4, 4, 4) AS geom FROM generate_series(0, 99) i;
SELECT count(*), count(*) FILTER (WHERE redblue_inside(p, geom)) AS inside, count(*) FILTER (WHERE redblue_inside(p, geom) <> (p &&& geom)) AS others, count(*) FILTER (WHERE redblue_distance(p, geom) = 0.5) AS near, count(*) FILTER (WHERE redblue_dwithin(p, geom, 1)) AS within
	FROM (SELECT ST_MakePoint(i % 10 * 5 + 0.5, i / 10 * 5 + 1, 1) AS p FROM generate_series(0, 99) i OFFSET 0) p CROSS JOIN many;
RESET redblue."join";
SET client_min_messages = warning;
DROP SCHEMA postgis_position CASCADE;
