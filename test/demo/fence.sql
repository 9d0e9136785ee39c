\echo '-- A fence: a section line with a bend, through the ore body and its drives. A line of two points is a vertical plane.'
CREATE TABLE panel AS SELECT * FROM (VALUES
	(1, 0.0, 'LINESTRING(-390 -150,-50 90)'::geometry),
	(2, sqrt(340 ^ 2 + 240 ^ 2), 'LINESTRING(-50 90,390 -50)'::geometry)) v (id, before, geom);
\echo '-- The sections, in coordinates of the panels: distance along the line, elevation. Each is clipped to its panel, and the panels are unrolled.'
CREATE TABLE fence AS
	SELECT s.what, s.plane_id AS panel, s.solid_id, s.area, ST_Translate(ST_Intersection(s.geom, ST_MakeEnvelope(0, -1000, ST_Length(p.geom), 1000)), p.before, 0) AS geom
	FROM (SELECT 'ore' AS what, * FROM redblue_sections('solid', 'panel', planes_geom => 'geom', solid => 'solid', flat => true)
		UNION ALL SELECT 'drive', * FROM redblue_sections('drive', 'panel', planes_geom => 'geom', solid => 'solid', flat => true)) s JOIN panel p ON p.id = s.plane_id;
DELETE FROM fence WHERE ST_IsEmpty(geom);
SELECT what, panel, count(*) AS solids, round(sum(ST_Area(geom))) AS area, round(min(ST_XMin(geom))) AS first, round(max(ST_XMax(geom))) AS last FROM fence GROUP BY 1, 2 ORDER BY 1 DESC, 2;
\echo '-- A level, for the map of the line'
CREATE TABLE level AS SELECT 'ore' AS what, geom FROM redblue_sections_query('TABLE solid', 'SELECT 1 AS id, 0 AS x, 0 AS y, -330 AS z, 0 AS nx, 0 AS ny, 1 AS nz', solid => 'solid', flat => true)
	UNION ALL SELECT 'drive', geom FROM redblue_sections_query('TABLE drive', 'SELECT 1 AS id, 0 AS x, 0 AS y, -330 AS z, 0 AS nx, 0 AS ny, 1 AS nz', solid => 'solid', flat => true);

-- The picture: the map at half the scale, and the fence below it
\set QUIET on
\set ECHO none
CREATE FUNCTION label(x float8, y float8, text, anchor text DEFAULT 'middle', size int DEFAULT 16) RETURNS text LANGUAGE sql AS $$
	SELECT format('<text x="%s" y="%s" font-family="sans-serif" font-size="%s" fill="#222222" text-anchor="%s">%s</text>', round(x::numeric, 1), round(y::numeric, 1), $5, $4, $3) $$;
CREATE FUNCTION shape(what text, geom geometry) RETURNS text LANGUAGE sql AS $$
	SELECT format('<path d="%s" fill="%s" stroke="#55555f" stroke-width="1" fill-rule="evenodd" vector-effect="non-scaling-stroke"/>', ST_AsSVG(geom, 0, 1), CASE what WHEN 'ore' THEN '#ffd054' ELSE '#96aac4' END) $$;
CREATE FUNCTION stroke(x1 float8, y1 float8, x2 float8, y2 float8, style text) RETURNS text LANGUAGE sql AS $$
	SELECT format('<line x1="%s" y1="%s" x2="%s" y2="%s" %s/>', x1, y1, x2, y2, style) $$;
CREATE TABLE picture AS
WITH bend AS (SELECT * FROM (VALUES ('A', 0.0, -390, -150), ('B', sqrt(340 ^ 2 + 240 ^ 2), -50, 90), ('C', sqrt(340 ^ 2 + 240 ^ 2) + sqrt(440 ^ 2 + 140 ^ 2), 390, -50)) v (name, u, x, y)), svg AS (
	SELECT 1 AS part, 0::float8 AS n, '<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="790" viewBox="0 0 1000 790"><rect width="1000" height="790" fill="#f4f5f8"/>' AS line
	-- The map: one pixel is two meters
	UNION ALL SELECT 2, 0, label(60, 40, 'Level at -330 m', 'start') || '<g transform="translate(270 160) scale(0.5)">'
	UNION ALL SELECT 3, CASE what WHEN 'ore' THEN 0 ELSE 1 END, shape(what, geom) FROM level
	UNION ALL SELECT 4, 0, format('<path d="%s" fill="none" stroke="#222222" stroke-width="5"/>', ST_AsSVG(ST_MakeLine(ST_MakePoint(x, y) ORDER BY u), 0, 1)) FROM bend
	UNION ALL SELECT 5, u, label(x, -y - 14, name, 'middle', 32) FROM bend
	UNION ALL SELECT 6, 0, '</g>' || stroke(60, 275, 110, 275, 'stroke="#222222" stroke-width="3"') || label(118, 280, '100 m', 'start', 14)
	-- The fence: one pixel is one meter
	UNION ALL SELECT 7, 0, label(60, 322, 'Fence A, B, C: elevation against distance along the line', 'start') || '<g transform="translate(70 258)">'
	UNION ALL SELECT 8, z, stroke(0, -z, 878, -z, 'stroke="#c8ccd4" stroke-width="1"') || label(-8, 5 - z, z || ' m', 'end', 14) FROM generate_series(-450, -150, 100) z
	UNION ALL SELECT 8, u, stroke(u, 484, u, 492, 'stroke="#222222" stroke-width="1"') || label(u, 510, u || CASE u WHEN 800 THEN ' m' ELSE '' END, 'middle', 14) FROM generate_series(0, 800, 100) u
	UNION ALL SELECT 9, CASE what WHEN 'ore' THEN 0 ELSE 1 END, shape(what, geom) FROM fence
	UNION ALL SELECT 10, u, stroke(u, 110, u, 484, 'stroke="#222222" stroke-width="2" stroke-dasharray="6 4"') || label(u, 104, name, 'middle', 20) FROM bend
	UNION ALL SELECT 11, 0, '</g>'
	UNION ALL SELECT 12, n, format('<rect x="620" y="%s" width="22" height="16" fill="%s"/>', 60 + 26 * n, color) || label(652, 74 + 26 * n, name, 'start')
		FROM (VALUES (0, 'ore: its section', '#ffd054'), (1, 'drives: their sections', '#96aac4')) k (n, name, color)
	UNION ALL SELECT 13, 0, '</svg>')
SELECT row_number() OVER (ORDER BY part, n, line) AS n, line FROM svg;
\set store '\\copy (SELECT line FROM picture ORDER BY n) TO ' :'picture'
:store
