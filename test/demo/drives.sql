\echo '-- Drives through the ore body: eight-sided tubes, a haulage, five crosscuts on each of two other levels, and a raise.'
CREATE EXTENSION postgis;
CREATE EXTENSION redblue_postgis;
CREATE TABLE axis AS SELECT row_number() OVER () AS id, a.* FROM (
	SELECT 'x' AS along, -400 AS x, 10 AS y, -330 AS z, 800 AS length, 20 AS radius
	UNION ALL SELECT 'y', n * 90, -300, z, 600, 15 FROM (VALUES (-280), (-380)) l (z), generate_series(-2, 2) n
	UNION ALL SELECT 'z', -45, 0, -600, 600, 18) a;
CREATE TABLE drive AS
WITH p AS (
	SELECT id AS solid, j, array_agg(ARRAY[CASE along WHEN 'x' THEN x + j * length ELSE x + u END, CASE along WHEN 'x' THEN y + u WHEN 'y' THEN y + j * length ELSE y + v END, CASE along WHEN 'z' THEN z + j * length ELSE z + v END] ORDER BY i) AS ring
	FROM axis, generate_series(1, 8) i, generate_series(0, 1) j, LATERAL (SELECT radius * cosd(45 * i + 22.5) AS u, radius * sind(45 * i + 22.5) AS v) c GROUP BY 1, 2)
SELECT row_number() OVER () AS id, solid, a[1] AS ax, a[2] AS ay, a[3] AS az, b[1] AS bx, b[2] AS by, b[3] AS bz, c[1] AS cx, c[2] AS cy, c[3] AS cz
FROM (SELECT solid, low.ring AS r, high.ring AS s FROM p low JOIN p high USING (solid) WHERE low.j = 0 AND high.j = 1) t, generate_series(1, 8) i, LATERAL (SELECT i % 8 + 1 AS k) next,
	LATERAL (VALUES (r[i:i], r[k:k], s[k:k], true), (r[i:i], s[k:k], s[i:i], true), (r[1:1], r[k:k], r[i:i], i BETWEEN 2 AND 7), (s[1:1], s[i:i], s[k:k], i BETWEEN 2 AND 7)) f (p, q, o, used),
	LATERAL (SELECT ARRAY(SELECT unnest(p)) AS a, ARRAY(SELECT unnest(q)) AS b, ARRAY(SELECT unnest(o)) AS c) corners WHERE used;
\echo '-- The ore without all drives that meet it, and its volume'
CREATE TABLE remaining AS SELECT red_id AS id, geom, volume FROM redblue_solid_differences('solid', 'drive', red_solid => 'solid', blue_solid => 'solid');
SELECT * FROM redblue_last_run();
SELECT count(*) AS drives, round(sum(i.volume)) AS in_drives, round(min(m.volume)) AS ore, round(min(r.volume)) AS remaining
	FROM redblue_solid_intersections('solid', 'drive', red_solid => 'solid', blue_solid => 'solid') i, redblue_solid_measures('solid', solid => 'solid') m, remaining r;

-- For the picture: what is left of that without the front, the faces of which belong to the ore, to the cut or to a drive
\set QUIET on
\set ECHO none
CREATE TABLE side_of_rest AS SELECT row_number() OVER () AS id, f.geom FROM redblue_solid_differences_query('TABLE remaining', $$SELECT 1 AS id, 'POLYHEDRALSURFACE Z (((-500 -500 -900,-500 0 -900,500 0 -900,500 -500 -900,-500 -500 -900)),((-500 -500 100,500 -500 100,500 0 100,-500 0 100,-500 -500 100)),
	((-500 -500 -900,500 -500 -900,500 -500 100,-500 -500 100,-500 -500 -900)),((500 -500 -900,500 0 -900,500 0 100,500 -500 100,500 -500 -900)),((500 0 -900,-500 0 -900,-500 0 100,500 0 100,500 0 -900)),((-500 0 -900,-500 -500 -900,-500 -500 100,-500 0 100,-500 0 -900)))'::geometry AS geom$$) d, redblue_faces(d.geom) f;
CREATE VIEW shown_side AS SELECT id, geom, ST_X(p[1]) AS ax, ST_Y(p[1]) AS ay, ST_Z(p[1]) AS az, ST_X(p[2]) AS bx, ST_Y(p[2]) AS by, ST_Z(p[2]) AS bz, ST_X(p[3]) AS cx, ST_Y(p[3]) AS cy, ST_Z(p[3]) AS cz FROM side_of_rest, LATERAL (SELECT ARRAY(SELECT (d).geom FROM ST_DumpPoints(side_of_rest.geom) d ORDER BY (d).path) AS p) c;
-- The middle of a face, as a triangle without area, is on a drive up to rounding.
CREATE TABLE on_drive AS SELECT DISTINCT red_id AS id FROM redblue_triangle_pairs_within_query($$SELECT id, x AS ax, y AS ay, z AS az, x AS bx, y AS by, z AS bz, x AS cx, y AS cy, z AS cz FROM (SELECT id, (ax + bx + cx) / 3 AS x, (ay + by + cy) / 3 AS y, (az + bz + cz) / 3 AS z FROM shown_side) m$$, 'TABLE drive', 1e-6);
\set store '\\copy (SELECT 0, CASE WHEN greatest(ay, by, cy) < 1e-6 THEN 1 WHEN o.id IS NOT NULL THEN 2 ELSE 0 END, ax, ay, az, bx, by, bz, cx, cy, cz FROM shown_side LEFT JOIN on_drive o USING (id)) TO ' :'rows' ' WITH (FORMAT csv)'
:store
