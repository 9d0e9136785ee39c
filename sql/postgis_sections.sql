-- Tests sections of solids and surfaces by planes: faces and corners in the plane, holes, rows of faces, flat coordinates, refusals.
\set schema postgis_sections
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql

-- The boundary of a box with edges along the axes, outward
CREATE FUNCTION box(lx float8, ly float8, lz float8, hx float8, hy float8, hz float8, outward boolean DEFAULT true) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg('((' || CASE WHEN outward THEN f ELSE array_to_string(ARRAY(SELECT p FROM unnest(string_to_array(f, ',')) WITH ORDINALITY AS u (p, n) ORDER BY n DESC), ',') END || '))', ',')
	FROM unnest(ARRAY[
		format('%1$s %2$s %3$s,%1$s %5$s %3$s,%4$s %5$s %3$s,%4$s %2$s %3$s,%1$s %2$s %3$s', lx, ly, lz, hx, hy, hz),
		format('%1$s %2$s %6$s,%4$s %2$s %6$s,%4$s %5$s %6$s,%1$s %5$s %6$s,%1$s %2$s %6$s', lx, ly, lz, hx, hy, hz),
		format('%1$s %2$s %3$s,%4$s %2$s %3$s,%4$s %2$s %6$s,%1$s %2$s %6$s,%1$s %2$s %3$s', lx, ly, lz, hx, hy, hz),
		format('%1$s %5$s %3$s,%1$s %5$s %6$s,%4$s %5$s %6$s,%4$s %5$s %3$s,%1$s %5$s %3$s', lx, ly, lz, hx, hy, hz),
		format('%1$s %2$s %3$s,%1$s %2$s %6$s,%1$s %5$s %6$s,%1$s %5$s %3$s,%1$s %2$s %3$s', lx, ly, lz, hx, hy, hz),
		format('%4$s %2$s %3$s,%4$s %5$s %3$s,%4$s %5$s %6$s,%4$s %2$s %6$s,%4$s %2$s %3$s', lx, ly, lz, hx, hy, hz)]) AS f $$;
-- A cube, one with a cavity, a roof, and a surface that is not closed
CREATE TABLE solid (id int PRIMARY KEY, geom geometry(GeometryZ, 28992));
INSERT INTO solid VALUES
	(1, 'SRID=28992; POLYHEDRALSURFACE Z (' || box(0, 0, 0, 4, 4, 4) || ')'),
	(2, 'SRID=28992; POLYHEDRALSURFACE Z (' || box(10, 0, 0, 14, 4, 4) || ',' || box(11, 1, 1, 13, 3, 3, false) || ')'),
	(3, 'SRID=28992; POLYHEDRALSURFACE Z (((20 0 0,20 4 0,24 4 0,24 0 0,20 0 0)),((20 0 0,24 0 0,24 2 2,20 2 2,20 0 0)),((20 4 0,20 2 2,24 2 2,24 4 0,20 4 0)),((20 0 0,20 2 2,20 4 0,20 0 0)),((24 0 0,24 4 0,24 2 2,24 0 0)))'),
	(4, 'SRID=28992; TIN Z (((0 9 0,8 9 0,0 9 8,0 9 0)),((8 9 0,8 9 8,0 9 8,8 9 0)))');
CREATE TABLE level (id int PRIMARY KEY, x float8, y float8, z float8, nx float8, ny float8, nz float8);
INSERT INTO level VALUES (0, 0, 0, 0, 0, 0, 1), (1, 0, 0, 1, 0, 0, 1), (2, 0, 0, 2, 0, 0, 3), (3, 0, 0, 3, 0, 0, 1), (4, 0, 0, 4, 0, 0, 0.5), (5, 0, 0, 5, 0, 0, 1);
SELECT solid_id, plane_id, ST_AsEWKT(geom), area FROM redblue_sections('solid', 'level') ORDER BY 1, 2;
-- The other direction: the solid must be on the other side of a face.
SELECT solid_id, plane_id, ST_AsText(geom), area FROM redblue_sections_query('TABLE solid', 'SELECT id, x, y, z, nx, ny, -nz AS nz FROM level WHERE id IN (0, 2, 4)') ORDER BY 1, 2;
-- Three points, as geometries and as columns; slanted planes and their own coordinates
CREATE TABLE slope AS SELECT 1 AS id, 'SRID=28992; POLYGON Z ((0 0 0,4 0 0,4 4 4,0 0 0))'::geometry AS geom UNION ALL SELECT 2, 'SRID=28992; POLYGON Z ((2 0 0,2 4 0,2 4 1,2 0 1,2 0 0))';
SELECT solid_id, plane_id, ST_AsText(geom), area FROM redblue_sections('solid', 'slope') ORDER BY 1, 2;
SELECT solid_id, plane_id, ST_SRID(geom), ST_AsText(geom, 15), area FROM redblue_sections('solid', 'slope', flat => true) ORDER BY 1, 2;
SELECT solid_id, ST_AsText(geom), area FROM redblue_sections_query('TABLE solid', 'SELECT 1 AS id, 12 AS ax, 0 AS ay, 0 AS az, 12 AS bx, 1 AS by, 0 AS bz, 12 AS cx, 0 AS cy, 1 AS cz', flat => true);
-- Section lines: the vertical plane through a line of two points, whether or not it has Z
CREATE TABLE line AS SELECT 1 AS id, 'SRID=28992; LINESTRING (1 1,3 2)'::geometry AS geom UNION ALL SELECT 2, 'SRID=28992; LINESTRING Z (12 0 7,12 1 8)' UNION ALL SELECT 3, 'SRID=28992; LINESTRING (24 1,20 3)';
SELECT solid_id, plane_id, ST_AsText(geom, 15), area FROM redblue_sections('solid', 'line', flat => true) ORDER BY 1, 2;
SELECT count(*), bool_and(l.area = p.area AND l.geom::bytea = p.geom::bytea) FROM redblue_sections('solid', 'line') l
	JOIN redblue_sections_query('TABLE solid', 'SELECT id, ST_X(a) AS ax, ST_Y(a) AS ay, -3 AS az, ST_X(b) AS bx, ST_Y(b) AS by, -3 AS bz, ST_X(b) AS cx, ST_Y(b) AS cy, 5 AS cz FROM (SELECT id, ST_StartPoint(geom) AS a, ST_EndPoint(geom) AS b FROM line) t') p USING (solid_id, plane_id);
SELECT count(*) FROM redblue_triangle_pairs('line', 'line');
SELECT count(*) FROM redblue_sections_query('TABLE solid', 'SELECT 9 AS id, ''SRID=28992; LINESTRING (0 0,1 1,2 0)''::geometry AS geom');
SELECT count(*) FROM redblue_sections_query('TABLE solid', 'SELECT 9 AS id, ''SRID=28992; LINESTRING Z (0 0 0,0 0 1)''::geometry AS geom');
SELECT count(*) FROM redblue_sections_query('TABLE solid', 'SELECT 9 AS id, ST_SetSRID(ST_MakeLine(ST_MakePoint(0, 0), ST_MakePoint(''Infinity'', 1)), 28992) AS geom');
SELECT count(*) FROM redblue_sections_query('TABLE solid', 'SELECT 9 AS id, ''SRID=28992; POINT Z (0 0 0)''::geometry AS geom');
-- Rows of faces
CREATE TABLE face AS SELECT (row_number() OVER ())::int AS id, s.id AS body, (ST_Dump(s.geom)).geom FROM solid s;
SELECT count(*), bool_and(p.area = q.area AND ST_Equals(p.geom, q.geom)) FROM redblue_sections('face', 'level', solid => 'body') p JOIN redblue_sections('solid', 'level') q USING (solid_id, plane_id);
-- Many solids and planes: areas are those of the polygons, which are valid, and slices add up to the volume.
CREATE TABLE block AS SELECT i AS id, ST_GeomFromText('POLYHEDRALSURFACE Z (' || box(i % 7 * 3, i / 7 * 3, i % 5, i % 7 * 3 + 2, i / 7 * 3 + 2, i % 5 + 2) || ',' ||
	box(i % 7 * 3 + 0.5, i / 7 * 3 + 0.5, i % 5 + 0.5, i % 7 * 3 + 1, i / 7 * 3 + 1, i % 5 + 1, false) || ')') AS geom FROM generate_series(0, 48) i;
CREATE TABLE cut AS SELECT i AS id, 10.25 AS x, 10.5 AS y, i / 20.0 AS z, i % 3 - 1 AS nx, i % 4 AS ny, 1 AS nz FROM generate_series(1, 120) i;
SELECT count(*) > 1000 AS many, bool_and(ST_IsValid(geom) AND ST_Dimension(geom) = 2), max(abs(ST_Area(geom) / area - 1)) < 1e-9 AS areas FROM redblue_sections('block', 'cut', flat => true);
SELECT count(*), sum(area) FROM redblue_sections_query('TABLE block', 'SELECT i AS id, 0 AS x, 0 AS y, i / 4.0 + 0.125 AS z, 0 AS nx, 0 AS ny, 1 AS nz FROM generate_series(0, 40) i');
SELECT sum(volume) * 4 FROM redblue_solid_measures('block');
-- The number of threads does not matter.
SET redblue.threads = 1;
CREATE TABLE alone AS SELECT * FROM redblue_sections('block', 'cut');
SET redblue.threads = 7;
SELECT count(*) FROM (SELECT solid_id, plane_id, geom::bytea, area FROM alone EXCEPT SELECT solid_id, plane_id, geom::bytea, area FROM redblue_sections('block', 'cut')) t;
RESET redblue.threads;
SET redblue.backend = cpu; SET redblue.custom_scan = on; SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT area FROM redblue_sections('block', 'cut') WHERE plane_id = 1;
RESET redblue.backend; RESET redblue.custom_scan; RESET max_parallel_workers_per_gather;
SELECT count(*) FROM (SELECT FROM redblue_sections('block', 'cut') LIMIT 3) t;
-- Refusals
INSERT INTO level VALUES (7, 0, 0, 0, 0, 0, -0.0);
SELECT count(*) FROM redblue_sections('solid', 'level');
SELECT count(*) FROM redblue_sections_query('TABLE solid', 'SELECT 9 AS id, ''SRID=28992; POLYGON Z ((0 0 0,1 1 1,2 2 2,0 0 0))''::geometry AS geom');
SELECT count(*) FROM redblue_sections_query('TABLE solid', 'SELECT 9 AS id, 0 AS x, 0 AS y, 0 AS z, 0 AS nx, 0 AS ny');
SELECT count(*) FROM redblue_sections_query('TABLE solid', 'SELECT 9 AS id, 0 AS x, 0 AS y, 0 AS z, 0 AS nx, 0 AS ny, ''NaN''::float8 AS nz');
SELECT count(*) FROM redblue_sections('solid', NULL);
SELECT count(*) FROM redblue_sections('solid', 'slope', flat => NULL);
-- A solid that crosses itself
INSERT INTO solid VALUES (5, 'SRID=28992; POLYHEDRALSURFACE Z (' || box(0, 0, 0, 4, 4, 4) || ',' || box(1, 1, 1, 5, 5, 5) || ')');
SELECT count(*) FROM redblue_sections('solid', 'slope');
SELECT solid_id, plane_id, area FROM redblue_sections('solid', 'slope', on_bad => 'skip') ORDER BY 1, 2;
