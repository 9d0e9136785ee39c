-- Tests parallel readers of plain tables: the same rows in the same order, and the same errors.
\set schema readers
\i sql/fixtures/prologue.sql
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET max_parallel_workers_per_gather = 3;
CREATE FUNCTION triangles(n int) RETURNS TABLE (id bigint, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8)
LANGUAGE sql IMMUTABLE AS $$
	SELECT i, x, y, z, x + i % 3, y + i % 4, z + i % 2, x - i % 5, y + i % 3, z + i % 7
	FROM (SELECT i, (i * 7919 % 97)::float8 AS x, (i * 104729 % 89)::float8 AS y, (i * 1299709 % 83)::float8 AS z FROM generate_series(1, n::int8) i) s $$;
CREATE TABLE plain AS SELECT * FROM triangles(20000);
CREATE TABLE probe AS SELECT * FROM triangles(300);
CREATE VIEW helped AS SELECT detail ~ ', workers: ' AS helped FROM redblue_last_run() WHERE stage = 'read';

-- With workers and without: number of pairs, whether they are equal, and whether workers helped
CREATE FUNCTION compare(t text, OUT pairs bigint, OUT same boolean, OUT helped boolean) LANGUAGE plpgsql AS $$
DECLARE
	function text := CASE WHEN t ~ 'box' THEN 'redblue_box_pairs' ELSE 'redblue_triangle_pairs' END;
	probe text := CASE WHEN t ~ 'box' THEN 'box_probe' WHEN t ~ '^tins|large|sliced' THEN 'tin_probe' ELSE 'probe' END;
BEGIN
	DROP TABLE IF EXISTS serial;
	PERFORM set_config('max_parallel_workers_per_gather', '0', true);
	EXECUTE format('CREATE TEMPORARY TABLE serial AS SELECT red_id, blue_id FROM %s(%L, %L)', function, t, probe);
	ASSERT NOT (SELECT h.helped FROM helped h);
	PERFORM set_config('max_parallel_workers_per_gather', '3', true);
	EXECUTE format('WITH p AS MATERIALIZED (SELECT * FROM %s(%L, %L)) SELECT (SELECT count(*) FROM p) = (SELECT count(*) FROM serial) AND NOT EXISTS (TABLE p EXCEPT ALL TABLE serial)', function, t, probe) INTO same;
	helped := (SELECT h.helped FROM helped h);
	pairs := (SELECT count(*) FROM serial);
END $$;
SET client_min_messages = warning;
SELECT * FROM compare('plain');

-- Rows come in the order of the table: in a self join, the first row of a pair precedes the second.
CREATE TABLE shuffled AS SELECT * FROM triangles(20000) ORDER BY id * 7919 % 20011;
SELECT count(*), bool_and(a.ctid < b.ctid) AS in_order FROM redblue_triangle_self_pairs('shuffled') JOIN shuffled a ON a.id = id1 JOIN shuffled b ON b.id = id2;
SELECT * FROM helped;

-- Other columns and types, NULLs in other columns, rows changed and deleted, columns dropped and added
CREATE TABLE changed AS SELECT 'x'::text AS before, ax, ay::int, az::numeric, NULL::int AS nothing, id::int, bx::float4, by::int2, bz, now() AS at, cx::int8, cy, cz, repeat('long', 100) AS after FROM plain;
SELECT * FROM compare('changed');
DELETE FROM changed WHERE id % 3 = 0;
UPDATE changed SET ax = ax + 1 WHERE id % 3 = 1;
ALTER TABLE changed DROP COLUMN before, ADD COLUMN more int DEFAULT 3;
SELECT * FROM compare('changed');
ALTER TABLE changed DROP COLUMN cz, ADD COLUMN cz float8 DEFAULT 2;
SELECT * FROM compare('changed');
BEGIN;
DELETE FROM changed WHERE id < 5000;
SAVEPOINT s;
INSERT INTO changed (id, ax, ay, az, bx, by, bz, cx, cy) SELECT id + 100000, ax, ay, az, bx, by, bz, cx, cy FROM triangles(3000);
UPDATE changed SET bz = bz + 0.5 WHERE id % 7 = 0;
SELECT * FROM compare('changed');
ROLLBACK TO s;
SELECT * FROM compare('changed');
COMMIT;
SELECT * FROM compare('changed');
CREATE UNLOGGED TABLE unlogged AS TABLE plain;
SELECT * FROM compare('unlogged');
CREATE MATERIALIZED VIEW kept AS TABLE plain;
SELECT * FROM compare('kept');
CREATE TABLE nothing AS SELECT * FROM plain LIMIT 0;
SELECT * FROM compare('nothing');
-- A table whose rows have all been deleted
CREATE TABLE deleted AS TABLE plain;
DELETE FROM deleted;
SELECT * FROM compare('deleted');

-- Pages read by other processes are counted in the plan of the call.
CREATE FUNCTION buffers(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan #>> '{0,Plan,Shared Hit Blocks}')::bigint + (plan #>> '{0,Plan,Shared Read Blocks}')::bigint;
END $$;
SET parallel_leader_participation = off;
SELECT buffers($$SELECT redblue_triangle_self_pair_count((SELECT 'plain'::regclass))$$) >= pg_relation_size('plain') / current_setting('block_size')::int AS all_pages;
RESET parallel_leader_participation;

-- Boxes, in the plane and in space
CREATE TABLE boxes AS SELECT id, ax AS lx, ay AS ly, az AS lz, ax + id % 3 AS hx, ay + id % 5 AS hy, az + id % 4 AS hz FROM plain;
CREATE TABLE box_probe AS SELECT * FROM boxes WHERE id < 200;
INSERT INTO box_probe VALUES (0, 0, 0, 0, 50, 50, 50);
SELECT * FROM compare('boxes');
CREATE TABLE flat_boxes AS SELECT id, lx, ly, hx, hy FROM boxes;
SELECT redblue_box_pair_count('flat_boxes', 'flat_boxes');
SELECT * FROM helped;
SELECT redblue_box_pair_count_query('TABLE flat_boxes', 'TABLE flat_boxes');
SELECT * FROM helped;

-- Geometries without PostGIS: a type of that name whose input function reads bytes
CREATE TYPE readers.geometry;
CREATE FUNCTION geometry_in(cstring) RETURNS readers.geometry LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
CREATE FUNCTION geometry_out(readers.geometry) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'byteaout';
CREATE TYPE readers.geometry (INPUT = geometry_in, OUTPUT = geometry_out, STORAGE = external);
CREATE CAST (bytea AS readers.geometry) WITHOUT FUNCTION;
CREATE FUNCTION turned(b bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT string_agg(substr(b, i, 1), '' ORDER BY i DESC) FROM generate_series(1, length(b)) i$$;
CREATE FUNCTION words(VARIADIC w int4[]) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT string_agg(turned(int4send(v)), '' ORDER BY n) FROM unnest(w) WITH ORDINALITY AS u (v, n)$$;
CREATE FUNCTION numbers(VARIADIC x float8[]) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT string_agg(turned(float8send(v)), '' ORDER BY n) FROM unnest(x) WITH ORDINALITY AS u (v, n)$$;
CREATE FUNCTION header(srid int, flags int) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT substr(int4send(srid & 2097151), 2) || substr(int4send(flags), 4)$$;
CREATE FUNCTION triangle(x float8, y float8, z float8) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT words(14, 4) || numbers(x, y, z, x + 2, y, z, x, y + 2, z + 1, x, y, z)$$;
-- A TIN of n triangles
CREATE FUNCTION tin(n int, x float8, srid int = 0) RETURNS geometry LANGUAGE sql IMMUTABLE AS
	$$SELECT (header(srid, 65) || words(15, n) || decode(repeat(encode(triangle(x, 1, 1), 'hex'), n), 'hex'))::geometry$$;
CREATE FUNCTION line(n int, x float8, flags int = 64) RETURNS geometry LANGUAGE sql IMMUTABLE AS
	$$SELECT (header(0, flags) || words(2, n) || decode(repeat(encode(numbers(x, 1) || CASE WHEN flags & 1 = 1 THEN numbers(2) ELSE '' END, 'hex'), n), 'hex'))::geometry$$;
CREATE TABLE tin_probe AS SELECT i AS id, tin(1, i * 5) AS geom FROM generate_series(1, 20) i;
-- TINs of 1 to 400 triangles, inline and out of line; some NULL, some empty
CREATE TABLE tins AS SELECT i AS id, CASE WHEN i % 11 = 0 THEN NULL ELSE tin(CASE WHEN i % 13 = 0 THEN 0 WHEN i % 100 = 7 THEN 400 ELSE 1 + i % 5 END, i % 97) END AS geom FROM generate_series(1, 3000) i;
SELECT * FROM compare('tins');
-- Larger than a message, and larger than a worker's limit: the leader reads the last one.
CREATE TABLE large AS SELECT i AS id, tin(CASE i WHEN 3 THEN 4000 WHEN 5 THEN 130000 WHEN 7 THEN 114000 ELSE 10 END, i) AS geom FROM generate_series(1, 40) i;
SELECT * FROM compare('large');
-- Few pages with many TOAST chunks: a page is read in slices.
CREATE TABLE sliced AS SELECT i AS id, tin(1500, i) AS geom FROM generate_series(1, 130) i;
SELECT * FROM compare('sliced');
SELECT (SELECT relpages FROM pg_class WHERE relname = 'sliced') <= 2 AS few;
-- Lines become boxes; the first line determines their number of dimensions.
CREATE TABLE line_boxes AS SELECT i AS id, line(1 + i % 50, i % 97, 65) AS geom FROM generate_series(1, 2000) i;
SELECT * FROM compare('line_boxes');
CREATE TABLE flat_line_boxes AS SELECT i AS id, line(i % 50, i % 97) AS geom FROM generate_series(1, 2000) i;
SELECT count(*) FROM redblue_box_pairs('flat_line_boxes', 'flat_boxes');
SELECT count(*) FROM redblue_box_pairs('flat_boxes', 'flat_line_boxes');
SELECT count(*) FROM redblue_box_self_pairs('flat_line_boxes');
SELECT * FROM helped;

-- Errors are those of the first invalid row, with the text of the serial reader, every time.
CREATE FUNCTION message(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE query;
	RETURN 'no error';
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;
CREATE FUNCTION errors(t text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := CASE WHEN t ~ 'box' THEN format('SELECT count(*) FROM redblue_box_self_pairs(%L)', t) ELSE format('SELECT count(*) FROM redblue_triangle_pairs(%L, %L)', t, 'probe') END;
	serial text;
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', '0', true);
	serial := message(query);
	PERFORM set_config('max_parallel_workers_per_gather', '3', true);
	FOR i IN 1 .. 10 LOOP
		IF message(query) IS DISTINCT FROM serial THEN
			RETURN concat_ws(E'\n', message(query), 'serial:', serial);
		END IF;
	END LOOP;
	RETURN serial;
END $$;
\pset format unaligned
\pset tuples_only on
CREATE TABLE bad AS SELECT CASE WHEN id <> 18000 THEN id END AS id, ax, ay, az, CASE id WHEN 19990 THEN 'NaN' ELSE bx END AS bx, by, bz, cx, CASE WHEN id <> 17500 THEN cy END AS cy,
	CASE WHEN id > 17000 THEN '-infinity' ELSE cz END AS cz FROM plain;
SELECT errors('bad');
-- The rows remain in their order, which an UPDATE would change.
ALTER TABLE bad ALTER cz TYPE float8 USING 0;
SELECT errors('bad');
UPDATE bad SET cy = 0 WHERE cy IS NULL;
SELECT errors('bad');
UPDATE bad SET id = 18000 WHERE id IS NULL;
SELECT errors('bad');
-- A value that PostgreSQL itself cannot cast
CREATE TABLE bad_numeric AS SELECT id, ax, ay::numeric, az, bx, by, bz, cx, cy, cz FROM plain;
UPDATE bad_numeric SET ay = 1e400 WHERE id = 15000;
SELECT errors('bad_numeric');
CREATE TABLE bad_boxes AS TABLE boxes;
ALTER TABLE bad_boxes ALTER lx TYPE float8 USING CASE WHEN id > 12345 THEN hx + 1 ELSE lx END;
SELECT errors('bad_boxes');
CREATE TABLE bad_tins AS TABLE tins;
UPDATE bad_tins SET geom = tin(3, 1, 4326) WHERE id = 2500;
SELECT errors('bad_tins');
UPDATE bad_tins SET geom = line(3, 1, 65) WHERE id IN (1700, 2600);
SELECT errors('bad_tins');
UPDATE bad_tins SET geom = substr(geom::text::bytea, 1, 300)::geometry WHERE id = 1107;
SELECT errors('bad_tins');
CREATE TABLE bad_line_boxes AS SELECT id, CASE WHEN id < 1900 THEN geom ELSE line(3, 1) END AS geom FROM line_boxes;
SELECT errors('bad_line_boxes');
-- More than the memory limit
CREATE TABLE wide AS SELECT id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 1::float8 AS bx, 1::float8 AS by, 1::float8 AS bz, 0::float8 AS cx, 1::float8 AS cy, 1::float8 AS cz FROM generate_series(1, 300000) id;
SET redblue.memory_limit = '12MB';
SELECT split_part(message($$ SELECT * FROM redblue_triangle_pairs('wide', 'probe') $$), E'\n', 1);
SELECT split_part(message($$ SELECT * FROM redblue_triangle_pairs('probe', 'wide') $$), E'\n', 1);
RESET redblue.memory_limit;
\pset format aligned
\pset tuples_only off

-- Without workers: none requested, none free, none that could see the table, no memory for them
CREATE FUNCTION pairs(t text) RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM redblue_triangle_pairs(t::regclass, 'nothing') $$;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
SELECT pairs('plain');
SELECT * FROM helped;
ROLLBACK;
BEGIN;
SET LOCAL max_parallel_workers = 0;
SELECT pairs('plain');
SELECT * FROM helped;
ROLLBACK;
BEGIN;
SET LOCAL min_parallel_table_scan_size = '1GB';
SELECT pairs('plain');
SELECT * FROM helped;
-- The table sets the number of workers.
ALTER TABLE plain SET (parallel_workers = 2);
SELECT pairs('plain');
SELECT * FROM helped;
ALTER TABLE plain SET (parallel_workers = 0);
SET LOCAL min_parallel_table_scan_size = 0;
SELECT pairs('plain');
SELECT * FROM helped;
ROLLBACK;
BEGIN;
-- Too small for workers
SET LOCAL parallel_setup_cost = 1000;
SELECT pairs('plain');
SELECT * FROM helped;
ROLLBACK;
BEGIN;
CREATE TEMPORARY TABLE temporary AS TABLE plain;
SELECT pairs('temporary');
SELECT * FROM helped;
ROLLBACK;
BEGIN;
SET LOCAL redblue.memory_limit = '10MB';
SELECT pairs('plain');
SELECT * FROM helped;
ROLLBACK;
-- Workers without the leader
BEGIN;
SET LOCAL parallel_leader_participation = off;
SELECT pairs('plain');
SELECT * FROM helped;
SELECT * FROM compare('large');
ROLLBACK;

-- Contexts of queries: functions, blocks that fail, cursors that outlive the transaction, parallel plans
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM compare('plain');
COMMIT;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT count(*) FROM redblue_triangle_pairs('plain', 'probe');
DECLARE d CURSOR FOR SELECT count(*) FROM redblue_triangle_pairs('plain', 'probe');
DELETE FROM plain WHERE id % 2 = 0;
FETCH d;
COMMIT;
FETCH c;
CLOSE c;
INSERT INTO plain SELECT * FROM triangles(20000) WHERE id % 2 = 0;
CREATE TABLE pairs AS SELECT * FROM redblue_triangle_pairs('plain', 'probe');
INSERT INTO pairs SELECT * FROM redblue_triangle_pairs('plain', 'probe');
SELECT count(*) FROM pairs;
SELECT * FROM helped;
WITH gone AS (DELETE FROM pairs RETURNING *) SELECT (SELECT count(*) FROM gone) AS gone, (SELECT count(*) FROM redblue_triangle_pairs('plain', 'probe')) AS again;
SET parallel_tuple_cost = 0;
SELECT count(*), sum(red_id), sum(blue_id) FROM redblue_triangle_pairs('plain', 'probe');
SELECT (SELECT count(*) FROM redblue_triangle_pairs('plain', 'probe')) = count(*) AS same FROM redblue_triangle_pairs('plain', 'probe') p JOIN plain ON id = red_id;
RESET parallel_tuple_cost;
DO $$
BEGIN
	FOR i IN 1 .. 10 LOOP
		BEGIN
			PERFORM count(*) FROM redblue_triangle_pairs('plain', 'bad');
			RAISE 'no error';
		EXCEPTION WHEN numeric_value_out_of_range THEN
			PERFORM count(*) FROM redblue_triangle_pairs('plain', 'probe');
		END;
	END LOOP;
END $$;
SELECT * FROM helped;

-- The counts of pg_stat_user_tables, which a session reports when it ends
CREATE TABLE counted AS TABLE plain;
CREATE FUNCTION counted(expected bigint, OUT scanned boolean, OUT tuples bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 600 LOOP
		PERFORM pg_stat_clear_snapshot();
		SELECT seq_scan > 0, seq_tup_read INTO scanned, tuples FROM pg_stat_user_tables WHERE relid = 'readers.counted'::regclass;
		EXIT WHEN tuples >= expected;
		PERFORM pg_sleep(0.1);
	END LOOP;
END $$;
SELECT pairs('counted');
SELECT * FROM helped;
\c -
SET search_path = readers, public;
SELECT * FROM counted(20000);
SET max_parallel_workers_per_gather = 0;
SELECT pairs('counted');
SELECT * FROM helped;
\c -
SET search_path = readers, public;
SELECT * FROM counted(40000);

SET client_min_messages = warning;
DROP SCHEMA readers CASCADE;
