-- Tests geometry bytes without PostGIS: a type named geometry whose input function reads bytes.
\set schema geometry_bytes
\i sql/fixtures/prologue.sql
SET client_min_messages = warning;
CREATE TYPE geometry_bytes.geometry;
CREATE FUNCTION geometry_in(cstring) RETURNS geometry_bytes.geometry LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
CREATE FUNCTION geometry_out(geometry_bytes.geometry) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'byteaout';
CREATE TYPE geometry_bytes.geometry (INPUT = geometry_in, OUTPUT = geometry_out, STORAGE = main);
CREATE CAST (bytea AS geometry_bytes.geometry) WITHOUT FUNCTION;
RESET client_min_messages;

-- Numbers in the byte order of the machine; all tested machines are little-endian.
CREATE FUNCTION turned(b bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT string_agg(substr(b, i, 1), '' ORDER BY i DESC) FROM generate_series(1, length(b)) i$$;
CREATE FUNCTION words(VARIADIC w int4[]) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT string_agg(turned(int4send(v)), '' ORDER BY n) FROM unnest(w) WITH ORDINALITY AS u (v, n)$$;
CREATE FUNCTION numbers(VARIADIC x float8[]) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT string_agg(turned(float8send(v)), '' ORDER BY n) FROM unnest(x) WITH ORDINALITY AS u (v, n)$$;
-- Flags of PostGIS 3: Z 01, M 02, box 04, further flags 10, version 2 40
CREATE FUNCTION header(srid int, flags int, rest bytea DEFAULT '') RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT substr(int4send(srid & 2097151), 2) || substr(int4send(flags), 4) || rest$$;

CREATE TABLE plane (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO plane VALUES (1, 0, 0, 0, 1, 0, 0, 0, 1, 0), (2, 0, 0, 7, 1, 0, 7, 0, 1, 7);
CREATE FUNCTION ring(z float8) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$SELECT numbers(0, 0, z, 1, 0, z, 0, 1, z, 0, 0, z)$$;
CREATE FUNCTION triangle(z float8) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$SELECT words(14, 4) || ring(z)$$;
CREATE FUNCTION polygon(z float8) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$SELECT words(3, 1, 4, 0) || ring(z)$$;

CREATE TABLE good (id serial, note text, bytes bytea);
INSERT INTO good (note, bytes) VALUES
	('triangle', header(0, 65) || triangle(0)),
	('triangle with a box', header(0, 69, numbers(0, 0, 0)) || triangle(7)),
	('triangle with further flags', header(0, 81, words(5, 0)) || triangle(0)),
	('triangle with further flags and a box', header(0, 85, words(0, 0) || numbers(0, 0, 0)) || triangle(0)),
	('triangle with M', header(0, 67) || words(14, 4) || numbers(0, 0, 0, 'NaN', 1, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 9)),
	('polygon', header(0, 65) || polygon(7)),
	('tin', header(0, 65) || words(15, 2) || triangle(0) || triangle(7)),
	('polyhedral surface', header(0, 65) || words(13, 2) || polygon(5) || polygon(7)),
	('multipolygon', header(0, 65) || words(6, 1) || polygon(0)),
	('nested collections', header(0, 65) || words(7, 2, 7, 1, 15, 1) || triangle(0) || words(6, 1) || polygon(7)),
	('empty triangle', header(0, 64) || words(14, 0)),
	('empty polygon', header(0, 65) || words(3, 0)),
	('empty ring', header(0, 65) || words(3, 1, 0, 0)),
	('empty tin', header(0, 65) || words(15, 0)),
	('empty line', header(0, 64) || words(2, 0)),
	('collection of nothing', header(4326, 65) || words(7, 2, 7, 0, 1, 0));
CREATE VIEW good_geometry AS SELECT id, bytes::geometry AS shape FROM good;
SELECT note, array_agg(red_id ORDER BY red_id) FROM good LEFT JOIN redblue_triangle_pairs('plane', 'good_geometry') ON blue_id = id GROUP BY id, note ORDER BY id;
SELECT count, split_part(detail, ', workers', 1) AS detail FROM redblue_last_run() WHERE stage = 'read';
-- From a table: toasted or not, with short headers
CREATE TABLE stored (id int, filler int2, geom geometry);
INSERT INTO stored SELECT id, 1, shape FROM good_geometry;
INSERT INTO stored SELECT 100, 1, (header(0, 65) || words(15, 300) || (SELECT string_agg(triangle(1 + i * 0.25), '') FROM generate_series(1, 300) i))::geometry;
ALTER TABLE stored ALTER geom SET STORAGE external;
INSERT INTO stored SELECT 101, 1, (header(0, 65) || words(15, 300) || (SELECT string_agg(triangle(1 + i * 0.25), '') FROM generate_series(1, 300) i))::geometry;
INSERT INTO stored VALUES (102, 1, NULL);
SELECT red_id, array_agg(blue_id ORDER BY blue_id) FROM redblue_triangle_pairs('plane', 'stored') GROUP BY red_id ORDER BY red_id;
SELECT count, split_part(detail, ', workers', 1) AS detail FROM redblue_last_run() WHERE stage = 'read';
-- Each pair of rows appears once, no matter how many of their parts meet.
SELECT id1, id2 FROM redblue_triangle_self_pairs('stored') WHERE id1 >= 100;

-- Invalid bytes, with the reason
CREATE FUNCTION fault(b bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text;
	message text;
	details text;
	advice text;
BEGIN
	PERFORM * FROM redblue_triangle_pairs_query('TABLE plane', format('SELECT 42 AS id, %L::geometry_bytes.geometry AS geom', b));
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, details = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
	RETURN concat_ws(' / ', code, message, nullif(details, ''), nullif(advice, ''));
END $$;
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on
SELECT fault(header(0, 64) || words(14, 4) || numbers(0, 0, 1, 0, 0, 1, 0, 0));
SELECT fault(header(0, 65) || words(1, 1) || numbers(0, 0, 0));
SELECT fault(header(0, 65) || words(7, 2) || triangle(0) || words(2, 2) || numbers(0, 0, 0, 1, 1, 1));
SELECT fault(header(0, 65) || words(3, 1, 5, 0) || numbers(0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0));
SELECT fault(header(0, 65) || words(14, 3) || numbers(0, 0, 0, 1, 0, 0, 0, 0, 0));
SELECT fault(header(0, 65) || words(3, 2, 4, 4) || ring(0) || ring(0));
SELECT fault(header(0, 65) || words(14, 4) || numbers(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1));
SELECT fault(header(0, 65) || words(14, 4) || numbers(0, 0, 0, 1, 'NaN', 0, 0, 1, 0, 0, 0, 0));
SELECT fault(header(0, 65) || words(14, 4) || numbers(0, 0, 0, 1, 0, 0, 0, 1, '-Infinity', 0, 0, 0));
-- Counts that do not match the number of bytes
SELECT fault(header(0, 65) || words(14, -1) || ring(0));
SELECT fault(header(0, 65) || words(14, 5) || ring(0));
SELECT fault(header(0, 65) || words(15, -1) || triangle(0));
SELECT fault(header(0, 65) || words(15, 2) || triangle(0));
SELECT fault(header(0, 65) || words(3, -1, 4, 0) || ring(0));
SELECT fault(header(0, 65) || words(3, 1073741824, 4, 0) || ring(0));
SELECT fault(header(0, 65) || words(3, 1, 1431655766, 0) || ring(0));
SELECT fault(header(0, 65) || triangle(0) || '\x00');
SELECT fault(header(0, 65) || words(7, 1, 99, 0));
-- Unknown forms
SELECT fault(header(0, 1) || triangle(0));
SELECT fault(header(0, 193) || triangle(0));
SELECT fault(header(0, 97) || triangle(0));
SELECT fault(header(0, 81, words(256, 0)) || triangle(0));
SELECT fault(header(0, 65) || words(99, 4) || ring(0));
-- Truncated at any byte
SELECT regexp_replace(fault(substr(bytes, 1, n)), 'redblue.*', ''), count(*)
FROM good, generate_series(0, length(bytes) - 1) n WHERE good.id IN (4, 6, 10) GROUP BY 1;
-- After a change of any byte, there is a result or an error, and the session continues.
SELECT count(*) FROM good, generate_series(0, length(bytes) - 1) n, (VALUES (0), (127), (255)) v (byte)
WHERE good.id IN (4, 10) AND n % 2 = 0 AND fault(set_byte(bytes, n, byte)) IS NULL;
-- Mixed SRIDs
CREATE TABLE srid (id int, geom geometry);
INSERT INTO srid VALUES (1, (header(25832, 65) || triangle(0))::geometry), (2, (header(4326, 65) || words(3, 0))::geometry);
SELECT * FROM redblue_triangle_self_pairs('srid');
INSERT INTO srid VALUES (43, (header(-1, 65) || polygon(0))::geometry);
SELECT * FROM redblue_triangle_self_pairs('srid');
-- Numbers have no SRID.
SELECT * FROM redblue_triangle_pairs('plane', 'srid');
SELECT * FROM redblue_triangle_pairs_query('TABLE plane', 'SELECT * FROM srid WHERE id < 43');
\pset format aligned
\pset tuples_only off
DROP SCHEMA geometry_bytes CASCADE;
