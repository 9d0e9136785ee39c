-- Tests geometry columns of PostGIS.
\set schema postgis_geometry
\i sql/fixtures/prologue.sql
\i sql/fixtures/postgis.sql

-- Types that consist of triangles
CREATE TABLE shapes (id serial, note text, geom geometry);
INSERT INTO shapes (note, geom) VALUES
	('triangle', 'TRIANGLE Z ((0 0 0, 4 0 0, 0 4 0, 0 0 0))'),
	('polygon', 'POLYGON Z ((0 0 10, 4 0 10, 0 4 10, 0 0 10))'),
	('tin', 'TIN Z (((0 0 0, 4 0 0, 0 4 0, 0 0 0)), ((4 0 0, 4 4 0, 0 4 0, 4 0 0)))'),
	('polyhedral surface', 'POLYHEDRALSURFACE Z (((0 0 10, 4 0 10, 0 4 10, 0 0 10)), ((0 0 10, 4 0 10, 0 0 20, 0 0 10)))'),
	('multipolygon', 'MULTIPOLYGON Z (((0 0 0, 4 0 0, 0 4 0, 0 0 0)), ((0 0 10, 4 0 10, 0 4 10, 0 0 10)))'),
	('collection', 'GEOMETRYCOLLECTION Z (POLYGON Z ((0 0 0, 4 0 0, 0 4 0, 0 0 0)), TIN Z (((0 0 10, 4 0 10, 0 4 10, 0 0 10))))'),
	('nested collection', 'GEOMETRYCOLLECTION Z (GEOMETRYCOLLECTION Z (GEOMETRYCOLLECTION Z (TRIANGLE Z ((0 0 10, 4 0 10, 0 4 10, 0 0 10)))))'),
	('with M', 'TRIANGLE ZM ((0 0 0 1, 4 0 0 2, 0 4 0 3, 0 0 0 1))'),
	('tin with M', 'TIN ZM (((0 0 10 1, 4 0 10 2, 0 4 10 3, 0 0 10 4)))'),
	('a point of a triangle', 'TRIANGLE Z ((1 1 0, 1 1 0, 1 1 0, 1 1 0))'),
	('far away', 'TRIANGLE Z ((100 0 0, 104 0 0, 100 4 0, 100 0 0))'),
	('null', NULL),
	('empty', 'TRIANGLE EMPTY'), ('empty', 'POLYGON Z EMPTY'), ('empty', 'TIN Z EMPTY'), ('empty', 'GEOMETRYCOLLECTION EMPTY'), ('empty', 'POINT EMPTY'),
	('empty within', 'GEOMETRYCOLLECTION Z (POLYGON Z EMPTY, POLYGON Z ((0 0 0, 4 0 0, 0 4 0, 0 0 0)))');
CREATE TABLE probe (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO probe VALUES (1, 1, 1, -1, 1, 1, 1, 2, 1, 1), (2, 1, 1, 9, 1, 1, 11, 2, 1, 11), (3, 3, 3, -1, 3, 3, 1, 3.5, 3, 1), (4, 1, 1, 15, 1, -1, 15, 2, 1, 15);
SELECT s.id, note, string_agg(p.blue_id::text, ' ' ORDER BY p.blue_id) AS probes
FROM shapes s LEFT JOIN redblue_triangle_pairs('shapes', 'probe') p ON p.red_id = s.id GROUP BY s.id, note ORDER BY s.id;
SELECT count, split_part(detail, ', workers', 1) AS detail FROM redblue_last_run() WHERE stage = 'read';
-- A row is one object: pairs are pairs of rows, each once.
SELECT id1, string_agg(id2::text, ' ' ORDER BY id2) FROM redblue_triangle_self_pairs('shapes') GROUP BY id1 ORDER BY id1;
SELECT count(*) FROM redblue_triangle_pairs('shapes', 'shapes') WHERE red_id < blue_id;

-- Geometries written by old versions of PostGIS have other flags. They are read through ST_AsEWKB, with the same result.
CREATE FUNCTION bytes(geometry) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
CREATE FUNCTION geom(bytea) RETURNS geometry LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
CREATE TABLE old AS SELECT id, geom(set_byte(bytes(geom), 3, get_byte(bytes(geom), 3) & 15)) AS geom FROM shapes;
SELECT count(*) FROM old WHERE ST_AsEWKT(geom) <> (SELECT ST_AsEWKT(s.geom) FROM shapes s WHERE s.id = old.id);
SELECT count(*) FROM old JOIN shapes s USING (id) WHERE bytes(old.geom) <> bytes(s.geom);
(SELECT * FROM redblue_triangle_pairs('old', 'probe') EXCEPT SELECT * FROM redblue_triangle_pairs('shapes', 'probe'))
UNION ALL (SELECT * FROM redblue_triangle_pairs('shapes', 'probe') EXCEPT SELECT * FROM redblue_triangle_pairs('old', 'probe'));
SELECT count(*) FROM redblue_triangle_pairs('old', 'shapes');
SELECT count(*) FROM redblue_triangle_pairs('shapes', 'shapes');

-- With and without a box; compressed, out of line, or in the row
CREATE TABLE big (id int, geom geometry);
INSERT INTO big SELECT 1, ST_Collect(ST_SetSRID(format('TRIANGLE Z ((%s 0 0, %s 0 0, %1$s 1 0, %1$s 0 0))', i, i + 1)::geometry, 0)) FROM generate_series(1, 2000) i;
ALTER TABLE big ALTER geom SET STORAGE external;
INSERT INTO big SELECT 2, geom FROM big;
INSERT INTO big SELECT 3, postgis_dropbbox(geom) FROM big WHERE id = 1;
SELECT id1, id2 FROM redblue_triangle_self_pairs('big') ORDER BY 1, 2;
SELECT split_part(detail, ', workers', 1) AS detail FROM redblue_last_run() WHERE stage = 'read';
SELECT * FROM redblue_triangle_pairs_query('SELECT * FROM big WHERE id = 2', 'SELECT * FROM probe');

-- Choice of the column: named, called geom, the only one; of a domain; with a type modifier
CREATE DOMAIN solid AS geometry CHECK (ST_NDims(VALUE) = 3);
CREATE TABLE many (gid int8, shape solid, id int2, "The Geom" geometry(TriangleZ), geom geometry(PolygonZ));
INSERT INTO many VALUES (7, 'TRIANGLE Z ((1 1 0, 1 1 0, 1 1 0, 1 1 0))', 8, 'TRIANGLE Z ((100 0 0, 104 0 0, 100 4 0, 100 0 0))', 'POLYGON Z ((0 0 10, 4 0 10, 0 4 10, 0 0 10))');
SELECT * FROM redblue_triangle_pairs('many', 'probe');
SELECT * FROM redblue_triangle_pairs('many', 'probe', red_id => 'gid');
SELECT * FROM redblue_triangle_pairs('probe', 'many', blue_id => 'gid', blue_geom => 'shape');
SELECT blue_id FROM redblue_triangle_pairs('many', 'shapes', red_geom => 'The Geom');
SELECT * FROM redblue_triangle_self_pairs('many', 'gid', 'shape');
ALTER TABLE many DROP geom;
SELECT * FROM redblue_triangle_pairs('many', 'probe');
ALTER TABLE many DROP "The Geom";
SELECT * FROM redblue_triangle_pairs('probe', 'many');
-- Columns of numbers and a geometry: the numbers are read, unless the geometry is named.
CREATE TABLE both_ways AS SELECT p.*, 'TRIANGLE Z ((100 0 0, 104 0 0, 100 4 0, 100 0 0))'::geometry AS geom FROM probe p WHERE id = 1;
SELECT string_agg(blue_id::text, ' ' ORDER BY blue_id) FROM redblue_triangle_pairs('both_ways', 'shapes');
SELECT string_agg(blue_id::text, ' ' ORDER BY blue_id) FROM redblue_triangle_pairs('both_ways', 'shapes', red_geom => 'geom');
ALTER TABLE both_ways DROP cz;
SELECT string_agg(blue_id::text, ' ' ORDER BY blue_id) FROM redblue_triangle_pairs('both_ways', 'shapes');

-- SRIDs must agree; degrees are read as numbers.
CREATE TABLE utm AS SELECT id, ST_SetSRID(geom, 25832) AS geom FROM shapes;
SELECT count(*) FROM redblue_triangle_pairs('utm', 'utm');
SELECT count(*) FROM redblue_triangle_pairs('utm', 'probe');
CREATE TABLE degrees AS SELECT id, ST_SetSRID(geom, 4326) AS geom FROM shapes;
SELECT count(*) FROM redblue_triangle_pairs('degrees', 'degrees');

-- Errors
CREATE FUNCTION fault(shape text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text;
	message text;
	details text;
	advice text;
BEGIN
	PERFORM * FROM redblue_triangle_pairs_query('SELECT * FROM postgis_geometry.shapes', format('SELECT 42 AS id, %L::geometry AS geom', shape));
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, details = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', code || ' ' || message, nullif(details, ''), nullif(advice, ''));
END $$;
\pset format unaligned
\pset tuples_only on
SELECT fault('POLYGON ((0 0, 1 0, 0 1, 0 0))');
SELECT fault('TRIANGLE M ((0 0 1, 1 0 1, 0 1 1, 0 0 1))');
SELECT fault('TIN (((0 0, 1 0, 0 1, 0 0)))');
SELECT fault('SRID=25832;POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))');
SELECT fault('POLYGON Z ((0 0 0, 1 0 0, 1 1 0, 0 1 0, 0 0 0))');
SELECT fault('MULTIPOLYGON Z (((0 0 0, 1 0 0, 0 1 0, 0 0 0)), ((0 0 0, 1 0 0, 1 1 0, 0 1 0, 0 0 0)))');
SELECT fault('POLYHEDRALSURFACE Z (((0 0 0, 1 0 0, 1 1 0, 0 1 0, 0 0 0)))');
SELECT fault('POLYGON Z ((0 0 0, 9 0 0, 0 9 0, 0 0 0), (1 1 0, 2 1 0, 1 2 0, 1 1 0))');
SELECT fault('POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 5))');
SELECT fault('POINT Z (0 0 0)');
SELECT fault('LINESTRING Z (0 0 0, 1 1 1)');
SELECT fault('MULTIPOINT Z (0 0 0, 1 1 1)');
SELECT fault('GEOMETRYCOLLECTION Z (POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0)), POINT Z (0 0 0))');
SELECT fault('CURVEPOLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))');
SELECT fault('POLYGON Z ((0 0 NaN, 1 0 0, 0 1 0, 0 0 NaN))');
SELECT fault('LINESTRING EMPTY');
-- Errors of geometries that are read through ST_AsEWKB
CREATE FUNCTION old_fault(shape text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM * FROM redblue_triangle_pairs_query('SELECT * FROM postgis_geometry.shapes',
		format('SELECT 42 AS id, postgis_geometry.geom(set_byte(b, 3, get_byte(b, 3) & 15)) AS geom FROM postgis_geometry.bytes(%L::geometry) b', shape));
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT count(*) FROM unnest(ARRAY['POLYGON ((0 0, 1 0, 0 1, 0 0))', 'TRIANGLE M ((0 0 1, 1 0 1, 0 1 1, 0 0 1))', 'TIN (((0 0, 1 0, 0 1, 0 0)))',
	'SRID=25832;POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))', 'POLYGON Z ((0 0 0, 1 0 0, 1 1 0, 0 1 0, 0 0 0))',
	'POLYHEDRALSURFACE Z (((0 0 0, 1 0 0, 1 1 0, 0 1 0, 0 0 0)))', 'POLYGON Z ((0 0 0, 9 0 0, 0 9 0, 0 0 0), (1 1 0, 2 1 0, 1 2 0, 1 1 0))',
	'POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 5))', 'POINT Z (0 0 0)', 'LINESTRING Z (0 0 0, 1 1 1)', 'MULTIPOINT Z (0 0 0, 1 1 1)', 'CURVEPOLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))',
	'GEOMETRYCOLLECTION Z (POLYGON Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0)), POINT Z (0 0 0))', 'LINESTRING EMPTY']) shape
WHERE split_part(fault(shape), E'\n', 1) IS DISTINCT FROM old_fault(shape);
-- The hints help.
SELECT fault(ST_AsEWKT(ST_Force3D('POLYGON ((0 0, 1 0, 0 1, 0 0))'::geometry)));

-- Damaged bytes in the old form are rejected before PostGIS reads them, which would crash the server.
CREATE FUNCTION old_bytes(g geometry) RETURNS bytea LANGUAGE sql AS 'SELECT set_byte(b, 3, get_byte(b, 3) & 15) FROM postgis_geometry.bytes(g) b';
CREATE FUNCTION bytes_fault(b bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM redblue_triangle_self_pair_count_query(format('SELECT 42 AS id, postgis_geometry.geom(%L) AS geom', b));
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE damaged AS SELECT old_bytes(shape) AS b FROM unnest(ARRAY['TIN Z (((0 0 0, 1 0 0, 0 1 0, 0 0 0)), ((5 5 5, 6 5 5, 5 6 5, 5 5 5)))',
	'POLYGON Z ((0 0 0, 10 0 0, 10 10 0, 0 10 0, 0 0 0), (1 1 0, 1 2 0, 2 1 0, 1 1 0))',
	'GEOMETRYCOLLECTION Z (TRIANGLE Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0)), MULTIPOLYGON Z (((0 0 0, 1 0 0, 0 1 0, 0 0 0))))']::geometry[]) shape;
SELECT bytes_fault(b) FROM damaged;
-- Any byte changed, and with it the highest byte of its word
SELECT count(*) FILTER (WHERE f LIKE '22P03%') > 0 AS malformed, count(*) FILTER (WHERE f LIKE 'XX%' OR f IS NULL) AS other FROM damaged, generate_series(0, length(b) - 1) n,
	(VALUES (0), (1), (127), (255)) v (byte), bytes_fault(CASE WHEN n < 4 THEN set_byte(b, n, byte & 191) ELSE set_byte(set_byte(b, n, byte), n - n % 4 + 3, byte % 3 * 64) END) f;
-- Truncated at any byte; extra bytes at the end
SELECT bytes_fault(substr(b, 1, n)) AS fault, count(*) FROM damaged, generate_series(0, length(b) - 1) n GROUP BY 1;
SELECT bytes_fault(b || '\x0000000000000000') FROM damaged;
-- Nested collections, and an unknown type
SELECT n, bytes_fault(decode('00000001' || repeat('0700000001000000', n) || '0700000000000000', 'hex')) FROM (VALUES (200), (201), (100000)) t (n);
SELECT bytes_fault(decode('00000001' || '6300000000000000', 'hex')), bytes_fault(decode('00000001' || '07000000010000006300000000000000', 'hex'));

-- Mixed SRIDs: within a side, between the sides, 0 and any other
SELECT * FROM redblue_triangle_pairs('shapes', 'utm');
SELECT * FROM redblue_triangle_pairs('utm', 'degrees');
INSERT INTO utm SELECT 100, geom FROM degrees WHERE id = 2;
SELECT * FROM redblue_triangle_self_pairs('utm');
-- The error names the row by its key.
SELECT * FROM redblue_triangle_self_pairs_by_key('utm', 'id') AS (a int, b int);
SELECT ST_3DIntersects(a.geom, b.geom) FROM utm a, degrees b WHERE a.id = 1 AND b.id = 1;
-- Ambiguous or missing columns
SELECT * FROM redblue_triangle_self_pairs_query('SELECT id, geom AS a, geom AS b FROM shapes');
SELECT * FROM redblue_triangle_self_pairs_query('SELECT id, geom, geom FROM shapes');
SELECT * FROM redblue_triangle_self_pairs_query('SELECT id, ST_Force2D(geom) AS "Floor" FROM degrees');
SELECT * FROM redblue_triangle_self_pairs_query('SELECT id, geom::geography AS geom FROM degrees WHERE id = 1');
SELECT * FROM redblue_triangle_self_pairs('shapes', mesh_geom => 'note');
SELECT * FROM redblue_triangle_self_pairs_query('SELECT id, geom::box3d AS geom FROM shapes WHERE id = 1');

\pset format aligned
\pset tuples_only off
SET client_min_messages = warning;
DROP SCHEMA postgis_geometry CASCADE;
