-- Tests that PostGIS and redblue are independent: they are created and dropped in any order.
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS redblue;
CREATE EXTENSION IF NOT EXISTS postgis;
CREATE EXTENSION redblue;
CREATE TABLE postgis_install AS SELECT i AS id, format('TRIANGLE Z ((%s 0 0, %s 0 0, %1$s 1 0, %1$s 0 0))', i, i + 1)::geometry AS geom FROM generate_series(1, 3) i;
SELECT * FROM redblue_triangle_self_pairs('postgis_install') ORDER BY 1, 2;
-- Neither depends on the other.
SELECT count(*) FROM pg_depend d JOIN pg_extension a ON d.refobjid = a.oid AND d.refclassid = 'pg_extension'::regclass
	JOIN pg_extension b ON d.objid = b.oid AND d.classid = 'pg_extension'::regclass WHERE 'redblue' IN (a.extname, b.extname);
-- The type may be in any schema.
CREATE SCHEMA gis;
DROP TABLE postgis_install;
DROP EXTENSION postgis;
CREATE EXTENSION postgis SCHEMA gis;
CREATE TABLE postgis_install AS SELECT i AS id, format('TRIANGLE Z ((%s 0 0, %s 0 0, %1$s 1 0, %1$s 0 0))', i, i + 1)::gis.geometry AS geom FROM generate_series(1, 3) i;
SELECT * FROM redblue_triangle_self_pairs('postgis_install') ORDER BY 1, 2;
-- Geometries that cannot be read from their bytes are read through gis.st_asewkb.
CREATE FUNCTION bytes(gis.geometry) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
CREATE FUNCTION geom(bytea) RETURNS gis.geometry LANGUAGE internal IMMUTABLE STRICT AS 'numeric_uplus';
SELECT * FROM redblue_triangle_self_pairs_query('SELECT id, geom(set_byte(bytes(geom), 3, get_byte(bytes(geom), 3) & 15)) AS geom FROM postgis_install') ORDER BY 1, 2;
-- Without the privilege to execute gis.st_asewkb, these geometries are an error.
REVOKE EXECUTE ON FUNCTION gis.st_asewkb(gis.geometry) FROM public;
CREATE ROLE regress_redblue_reader;
GRANT USAGE ON SCHEMA gis TO regress_redblue_reader;
GRANT SELECT ON postgis_install TO regress_redblue_reader;
SET ROLE regress_redblue_reader;
SELECT count(*) FROM redblue_triangle_self_pairs('postgis_install');
SELECT * FROM redblue_triangle_self_pairs_query('SELECT id, geom(set_byte(bytes(geom), 3, get_byte(bytes(geom), 3) & 15)) AS geom FROM postgis_install');
RESET ROLE;
DROP FUNCTION bytes, geom;
DROP TABLE postgis_install;
DROP EXTENSION postgis;
DROP SCHEMA gis;
DROP ROLE regress_redblue_reader;
SELECT redblue_version() IS NOT NULL AS still_here;
