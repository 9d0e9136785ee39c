\echo '-- The block model: cubes of 20 m around the ore body, along the axes of the ore, which dips by 20 degrees to the east.'
CREATE TABLE block AS SELECT row_number() OVER () AS id, x * 20 AS x, y * 20 AS y, z * 20 AS z, 20 AS dx, 20 AS dy, 20 AS dz
	FROM generate_series(-19, 19) x, generate_series(-12, 11) y, generate_series(-8, 8) z;
\echo '-- Which fraction of each block is ore?'
CREATE TABLE share AS SELECT * FROM redblue_boxes_in_solids('block', 'solid', boxes_id => 'id', solid => 'solid', dip => 20, origin => '{0,10,-330}');
SELECT * FROM redblue_last_run();
SELECT count(*) AS blocks, count(*) FILTER (WHERE fraction = 1) AS whole, round(sum(s.volume)) AS volume, round(min(m.volume)) AS volume_of_ore
	FROM share s, redblue_solid_measures('solid', solid => 'solid') m;

-- For the picture: the blocks behind a section, without the faces between two blocks
\set QUIET on
\set ECHO none
CREATE VIEW shown AS SELECT x, y, z, CASE WHEN fraction = 1 THEN 5 ELSE 1 + floor(fraction * 4) END AS class FROM share JOIN block ON id = box_id WHERE y >= 0 OR x < -100;
CREATE VIEW side AS SELECT s.class, s.x, s.y, s.z, a, b, c FROM shown s,
	(VALUES (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)) d (a, b, c)
	WHERE NOT EXISTS (SELECT FROM shown o WHERE (o.x, o.y, o.z) = (s.x + 20 * a, s.y + 20 * b, s.z + 20 * c));
-- Two triangles of each side: (a, b, c) is its normal, and (c, a, b) and (b, c, a) are its axes.
\set store '\\copy (SELECT 0, class, p.* FROM (SELECT class, x, y, z, a, b, c, n, array_agg(ARRAY[cosd(20) * px + sind(20) * pz, py + 10, cosd(20) * pz - sind(20) * px - 330] ORDER BY k) AS p FROM (SELECT class, x, y, z, a, b, c, n, k, x + 10 * (a + u * c + v * w * b) AS px, y + 10 * (b + u * a + v * w * c) AS py, z + 10 * (c + u * b + v * w * a) AS pz FROM side, LATERAL (SELECT a + b + c AS w) o, (VALUES (1, 1, -1, -1), (1, 2, 1, -1), (1, 3, 1, 1), (2, 1, -1, -1), (2, 2, 1, 1), (2, 3, -1, 1)) t (n, k, u, v)) q GROUP BY 1, 2, 3, 4, 5, 6, 7, 8) s, LATERAL (SELECT p[1][1], p[1][2], p[1][3], p[2][1], p[2][2], p[2][3], p[3][1], p[3][2], p[3][3]) p) TO ' :'rows' ' WITH (FORMAT csv)'
:store
