-- Tests redblue_postgis: a join on a function of two geometries as one node returns the same rows as without the node.
\set schema postgis_join
\i sql/fixtures/prologue.sql
\i sql/fixtures/redblue_postgis.sql
SET enable_nestloop = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; SET max_parallel_workers_per_gather = 0;

-- The lines of a plan that describe such joins
CREATE FUNCTION node(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'redblue join|Join (Type|Cond|Filter):' AND line !~ 'Nested Loop' THEN RETURN NEXT regexp_replace(line, '^\s*(->)?\s*', ''); END IF;
	END LOOP;
END $$;
-- The number of nodes in the plan with the setting on, the number of rows, and whether the setting changes the result
CREATE FUNCTION alike(query text, OUT nodes int, OUT rows text, OUT alike boolean) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	counted text := 'SELECT count(*) || '' '' || coalesce(md5(string_agg(t::text, E''\n'' ORDER BY t::text)), '''') FROM (' || query || ') t';
	with_node text;
	without text;
BEGIN
	nodes := 0;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || counted LOOP nodes := nodes + (line LIKE '%Custom Scan (redblue join)%')::int; END LOOP;
	EXECUTE counted INTO with_node;
	PERFORM set_config('redblue.join', 'off', true);
	EXECUTE counted INTO without;
	PERFORM set_config('redblue.join', 'on', true);
	rows := split_part(with_node, ' ', 1);
	alike := with_node = without;
END $$;
-- For a statement that changes rows, with the setting on and off; the changes are undone.
CREATE FUNCTION changed(statement text, seen text, OUT nodes int, OUT rows text, OUT alike boolean) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text[];
	switch text;
BEGIN
	nodes := 0;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || statement LOOP nodes := nodes + (line LIKE '%Custom Scan (redblue join)%')::int; END LOOP;
	FOREACH switch IN ARRAY ARRAY['on', 'off'] LOOP
		BEGIN
			PERFORM set_config('redblue.join', switch, true);
			EXECUTE statement;
			EXECUTE 'SELECT count(*) || '' '' || md5(string_agg(t::text, E''\n'' ORDER BY t::text)) FROM (' || seen || ') t' INTO line;
			RAISE EXCEPTION USING ERRCODE = 'RB001';
		EXCEPTION WHEN SQLSTATE 'RB001' THEN
			found := found || line;
		END;
	END LOOP;
	PERFORM set_config('redblue.join', 'on', true);
	rows := split_part(found[1], ' ', 1);
	alike := found[1] = found[2];
END $$;
-- SQLSTATE and message with the setting on, and off
CREATE FUNCTION refused(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE switch text; line text; nodes int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP nodes := nodes + (line LIKE '%Custom Scan (redblue join)%')::int; END LOOP;
	FOREACH switch IN ARRAY ARRAY['on', 'off'] LOOP
		BEGIN
			PERFORM set_config('redblue.join', switch, true);
			EXECUTE query INTO line;
			RETURN NEXT format('%s: %s', switch, line);
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT format('%s: %s: %s', switch, SQLSTATE, SQLERRM);
		END;
	END LOOP;
	PERFORM set_config('redblue.join', 'on', true);
	RETURN NEXT nodes || ' nodes';
END $$;

-- Faces, and lines some of which meet some of them; also without a geometry, and with an empty one
CREATE TABLE face AS SELECT i AS id, i % 7 AS kind, 'face ' || i AS name,
	CASE WHEN i % 29 = 0 THEN NULL WHEN i % 31 = 0 THEN 'POLYGON Z EMPTY' ELSE ST_GeomFromText(format('POLYGON Z ((%s %s %s, %s %s %s, %s %s %s, %1$s %2$s %3$s))', i % 17, i / 17 % 16, i * 5 % 4, i * 3 % 18, i % 15, i % 3, i * 11 % 19, i * 13 % 17, i / 5 % 5)) END AS geom
FROM generate_series(1, 300) i;
CREATE TABLE line AS SELECT md5(i::text)::uuid AS id, i AS number, i % 5 AS kind, repeat('line ', i % 40) || i AS name,
	CASE WHEN i % 23 = 0 THEN NULL WHEN i % 37 = 0 THEN 'LINESTRING Z EMPTY' ELSE ST_MakeLine(ST_MakePoint(i % 19, i / 19 % 16, -1), ST_MakePoint(i * 7 % 19, i * 5 % 16, 6)) END AS geom
FROM generate_series(1, 300) i;
CREATE TABLE street AS SELECT i AS id, ST_MakeLine(ST_MakePoint(i % 19, i / 19 % 16), ST_MakePoint(i * 7 % 19, i * 5 % 16)) AS geom FROM generate_series(1, 150) i;
CREATE TABLE several AS SELECT id, kind, geom FROM face WHERE id % 3 <> 0 UNION ALL SELECT 1000 + id, 9, geom FROM street;
CREATE TABLE nothing (LIKE face);
ANALYZE face, line, street, several, nothing;

-- ---- types of joins ----
SELECT * FROM node('SELECT f.id, l.id FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom)');
SELECT * FROM alike('SELECT f.id, l.id FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom)');
SELECT * FROM alike('SELECT f.id, l.id FROM face f, line l WHERE redblue_crosses(l.geom, f.geom)');
SELECT * FROM alike('SELECT f.id, l.id FROM face f JOIN line l ON redblue_dwithin(f.geom, l.geom, 0.25)');
SELECT * FROM node('SELECT f.id, l.id FROM face f LEFT JOIN line l ON redblue_crosses(f.geom, l.geom) AND l.number > f.id');
SELECT * FROM alike('SELECT f.id, l.id FROM face f LEFT JOIN line l ON redblue_crosses(f.geom, l.geom) AND l.number > f.id');
SELECT * FROM alike('SELECT f.id, l.id FROM face f LEFT JOIN line l ON redblue_crosses(f.geom, l.geom) AND f.id > 200');
SELECT * FROM alike('SELECT f.id, l.id FROM face f LEFT JOIN line l ON redblue_intersects(f.geom, l.geom) WHERE l.id IS NULL OR l.number > 100');
SELECT * FROM node('SELECT f.id, l.id FROM face f RIGHT JOIN line l ON redblue_intersects(l.geom, f.geom)');
SELECT * FROM alike('SELECT f.id, l.id FROM face f RIGHT JOIN line l ON redblue_intersects(l.geom, f.geom)');
SELECT * FROM node('SELECT f.id FROM face f WHERE EXISTS (SELECT FROM line l WHERE redblue_intersects(f.geom, l.geom) AND l.kind = f.kind)');
SELECT * FROM alike('SELECT f.id FROM face f WHERE EXISTS (SELECT FROM line l WHERE redblue_intersects(f.geom, l.geom) AND l.kind = f.kind)');
SELECT * FROM node('SELECT f.id FROM face f WHERE NOT EXISTS (SELECT FROM line l WHERE redblue_intersects(f.geom, l.geom))');
SELECT * FROM alike('SELECT f.id FROM face f WHERE NOT EXISTS (SELECT FROM line l WHERE redblue_intersects(f.geom, l.geom))');
SELECT * FROM alike('SELECT f.id FROM face f WHERE NOT EXISTS (SELECT FROM line l WHERE redblue_intersects(f.geom, l.geom) AND l.kind <> f.kind)');
SELECT * FROM alike('SELECT f.id FROM face f WHERE NOT EXISTS (SELECT FROM nothing l WHERE redblue_intersects(f.geom, l.geom))');
SELECT * FROM alike('SELECT f.id FROM nothing f LEFT JOIN line l ON redblue_intersects(f.geom, l.geom)');
-- Not supported: full joins, OR, NOT, a distance that depends on the row, volatile functions
SELECT * FROM alike('SELECT f.id, l.id FROM face f FULL JOIN line l ON redblue_intersects(f.geom, l.geom) AND f.kind = l.kind');
SELECT * FROM alike('SELECT f.id, l.id FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) OR redblue_dwithin(f.geom, l.geom, 0)');
SELECT * FROM alike('SELECT f.id, l.id FROM face f JOIN line l ON NOT redblue_intersects(f.geom, l.geom)');
SELECT * FROM alike('SELECT f.id, l.id FROM face f JOIN line l ON redblue_dwithin(f.geom, l.geom, f.kind / 4.0)');
SELECT * FROM node('SELECT f.id, l.id FROM face f JOIN line l ON redblue_intersects(ST_Translate(f.geom, random(), 0), l.geom)');
-- Several joins
SELECT * FROM node('SELECT f.id, l.id, g.id FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) JOIN face g ON redblue_crosses(l.geom, g.geom) AND f.id < g.id');
SELECT * FROM alike('SELECT f.id, l.id, g.id FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) JOIN face g ON redblue_crosses(l.geom, g.geom) AND f.id < g.id');
SELECT * FROM alike('SELECT f.id, l.id, g.id FROM face f LEFT JOIN (line l LEFT JOIN face g ON redblue_crosses(l.geom, g.geom) AND g.kind = 3) ON redblue_crosses(f.geom, l.geom) AND coalesce(g.id, 0) % 2 = 0');
SELECT * FROM alike('SELECT a.id, b.id FROM face a JOIN face b ON redblue_intersects(a.geom, b.geom) AND a.id < b.id');
SELECT * FROM alike('SELECT a.id, b.id FROM face a JOIN face b ON redblue_intersects(a.geom, b.geom) AND redblue_dwithin(b.geom, a.geom, 0) AND redblue_crosses(a.geom, b.geom)');
SELECT * FROM alike('SELECT a.id, b.id FROM face a JOIN line b ON redblue_intersects(a.geom, b.geom) WHERE EXISTS (SELECT FROM line c WHERE redblue_crosses(a.geom, c.geom) AND c.number < b.number)');

-- ---- with Z and without ----
SELECT * FROM alike('SELECT a.id, b.id FROM several a JOIN street b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM alike('SELECT a.id, b.id FROM street a LEFT JOIN several b ON redblue_dwithin(a.geom, b.geom, 0.5)');
SELECT * FROM alike('SELECT a.id, b.id FROM several a JOIN several b ON redblue_crosses(a.geom, b.geom)');
SELECT * FROM alike('SELECT a.id FROM several a WHERE NOT EXISTS (SELECT FROM several b WHERE redblue_crosses(a.geom, b.geom) AND a.id <> b.id)');
SELECT * FROM alike('SELECT a.id, b.id FROM several a JOIN face b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM alike('SELECT a.id, b.id FROM face a JOIN street b ON redblue_intersects(a.geom, b.geom)');
-- Known from the type
CREATE TABLE typed (id int, geom geometry(GeometryZ));
INSERT INTO typed SELECT id, geom FROM face;
ANALYZE typed;
SELECT * FROM alike('SELECT a.id, b.id FROM several a JOIN typed b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM alike('SELECT a.id, b.id FROM typed a JOIN several b ON redblue_intersects(a.geom, b.geom)');

-- ---- distances ----
SELECT d, q.* FROM unnest(ARRAY['0', '1e-300', '2', '1e308', '''Infinity''', 'NULL', '1 + 1.5']) d, alike(format('SELECT f.id, l.id FROM face f LEFT JOIN line l ON redblue_dwithin(f.geom, l.geom, %s) AND l.number < 40', d)) q;
SELECT d, q.* FROM unnest(ARRAY['-1', '''NaN''']) d, refused(format('SELECT count(*) FROM face f JOIN line l ON redblue_dwithin(f.geom, l.geom, %s)', d)) q;
SELECT * FROM alike('SELECT d, (SELECT count(*) FROM face f JOIN line l ON redblue_dwithin(f.geom, l.geom, d) WHERE f.id < 60) FROM (VALUES (0::float8), (NULL), (2), (0.5)) AS d (d)');
PREPARE near (float8) AS SELECT count(*), sum(f.id * l.number) FROM face f LEFT JOIN line l ON redblue_dwithin(f.geom, l.geom, $1);
EXECUTE near (0.5);
SET plan_cache_mode = force_generic_plan;
SELECT * FROM node('EXECUTE near (0)');
EXECUTE near (0);
EXECUTE near (0.5);
EXECUTE near (NULL);
EXECUTE near (-1);
PREPARE moved (float8, int) AS SELECT count(*) FROM face f JOIN line l ON redblue_intersects(ST_Translate(f.geom, $1, 0), l.geom) AND l.number > $2;
EXECUTE moved (0, 0);
EXECUTE moved (1, 0);
EXECUTE moved (0, 250);
SET redblue."join" = off;
DEALLOCATE ALL;
PREPARE near (float8) AS SELECT count(*), sum(f.id * l.number) FROM face f LEFT JOIN line l ON redblue_dwithin(f.geom, l.geom, $1);
EXECUTE near (0.5);
EXECUTE near (NULL);
PREPARE moved (float8, int) AS SELECT count(*) FROM face f JOIN line l ON redblue_intersects(ST_Translate(f.geom, $1, 0), l.geom) AND l.number > $2;
EXECUTE moved (0, 0);
EXECUTE moved (1, 0);
EXECUTE moved (0, 250);
RESET redblue."join"; RESET plan_cache_mode;
DEALLOCATE ALL;

-- The distance is only evaluated if there is something to compare, because it may cause an error.
PREPARE over (float8, int) AS SELECT count(*) FROM face f LEFT JOIN (SELECT * FROM line WHERE number < $2) l ON redblue_dwithin(f.geom, l.geom, 1 / $1);
PREPARE over_none (float8, int) AS SELECT count(*) FROM (SELECT * FROM line WHERE number < $2) l JOIN face f ON redblue_dwithin(f.geom, l.geom, 1 / $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE over (0, 0);
EXECUTE over_none (0, 0);
EXECUTE over (0, 20);
EXECUTE over (4, 20);
RESET plan_cache_mode;
DEALLOCATE ALL;
SELECT * FROM refused('SELECT string_agg((SELECT count(*) FROM (SELECT * FROM line WHERE number < k) l JOIN face f ON redblue_dwithin(f.geom, l.geom, 1.0 / k))::text, '' '' ORDER BY k) FROM generate_series(0, 9, 3) k');
SELECT * FROM refused('SELECT string_agg((SELECT count(*) FROM line l JOIN face f ON redblue_dwithin(f.geom, l.geom, 1.0 / k) WHERE l.number < 4)::text, '' '' ORDER BY k) FROM generate_series(0, 9, 3) k');

-- ---- invalid geometries, and those that are compared with nothing ----
CREATE TABLE curve AS SELECT i AS id, CASE i WHEN 2 THEN 'CIRCULARSTRING (0 0, 1 1, 2 0)' WHEN 3 THEN NULL ELSE 'POINT (0 0)'::geometry END AS geom FROM generate_series(1, 4) i;
CREATE TABLE abroad AS SELECT i AS id, ST_SetSRID('POINT (0 0)'::geometry, i / 4 * 4326) AS geom FROM generate_series(1, 4) i;
CREATE TABLE folded AS SELECT 1 AS id, 'POLYGON Z ((0 0 0, 1 0 5, 2 2 0, 0 2 7, -1 1 3, 0 0 0))'::geometry AS geom;
ANALYZE curve, abroad, folded;
SELECT * FROM refused('SELECT count(*) FROM curve a JOIN street b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM refused('SELECT count(*) FROM street a JOIN curve b ON redblue_crosses(b.geom, a.geom)');
SELECT * FROM refused('SELECT count(*) FROM curve a LEFT JOIN nothing b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM refused('SELECT count(*) FROM nothing a RIGHT JOIN curve b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM refused('SELECT count(*) FROM abroad a JOIN street b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM refused('SELECT count(*) FROM street a JOIN (SELECT * FROM abroad WHERE id = 4) b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM refused('SELECT count(*) FROM abroad a LEFT JOIN nothing b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM refused('SELECT count(*) FROM street a LEFT JOIN nothing b ON redblue_dwithin(a.geom, b.geom, -1)');
SELECT * FROM refused('SELECT count(*) FROM (SELECT id, geom FROM curve UNION ALL SELECT id, geom FROM abroad) a LEFT JOIN street b ON redblue_dwithin(a.geom, b.geom, NULL)');
SELECT * FROM refused('SELECT count(*) FROM folded a JOIN face b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM refused('SELECT count(*) FROM folded a JOIN street b ON redblue_intersects(a.geom, b.geom)');
SELECT * FROM refused('SELECT count(*) FROM street a JOIN folded b ON redblue_intersects(a.geom, b.geom)');

-- ---- inputs: views, subqueries, partitions, functions ----
CREATE VIEW pair AS SELECT f.id, f.kind, l.number, l.name, coalesce(l.name, 'none') AS known, f.geom FROM face f LEFT JOIN line l ON redblue_crosses(f.geom, l.geom) AND f.kind = l.kind;
SELECT * FROM alike('SELECT p.id, p.number, p.known, s.id FROM pair p JOIN street s ON redblue_intersects(p.geom, s.geom) WHERE s.id < 15');
SELECT * FROM alike('SELECT s.id, p.id, p.known, p FROM (SELECT * FROM street WHERE id < 30) s LEFT JOIN pair p ON redblue_crosses(p.geom, s.geom) AND p.known <> ''none''');
-- Expressions of a nullable side
SELECT * FROM alike('SELECT l.number, q.k, q.g IS NULL FROM line l LEFT JOIN (SELECT coalesce(kind, 0) + 1 AS k, ST_Translate(geom, 1, 0) AS g, ''x'' AS c FROM face) q ON redblue_intersects(l.geom, q.g)');
SELECT * FROM alike('SELECT l.number, q.k, q.c, r.c FROM line l LEFT JOIN (SELECT kind + 1 AS k, geom, ''x''::text AS c FROM face) q ON redblue_crosses(l.geom, q.geom) LEFT JOIN (SELECT geom, ''y''::text AS c FROM street) r ON redblue_crosses(r.geom, q.geom) AND q.c <> r.c AND q.k = 3');
SELECT * FROM alike('WITH w AS MATERIALIZED (SELECT * FROM face WHERE kind < 4) SELECT a.id, b.id FROM w a JOIN w b ON redblue_intersects(a.geom, b.geom) AND a.id <= b.id');
SELECT * FROM alike('WITH RECURSIVE w AS (SELECT id, geom, 0 AS level FROM face WHERE id = 1 UNION SELECT f.id, f.geom, level + 1 FROM w JOIN face f ON redblue_crosses(w.geom, f.geom) WHERE level < 2) SELECT id, level FROM w');
SELECT * FROM alike('SELECT k.kind, l.number FROM (SELECT kind, ST_Collect(geom) AS geom FROM face GROUP BY kind) k JOIN line l ON redblue_crosses(k.geom, l.geom)');
SELECT * FROM alike('SELECT v.a, l.number FROM (VALUES (1, ''LINESTRING Z (0 0 0, 9 9 9)''::geometry), (2, NULL), (3, ''POINT (3 3)'')) AS v (a, geom) LEFT JOIN line l ON redblue_dwithin(v.geom, l.geom, 1)');
SELECT * FROM alike('SELECT i, l.number FROM generate_series(1, 10) i JOIN line l ON redblue_dwithin(ST_MakePoint(i, i, i), l.geom, 1)');
SELECT * FROM alike('SELECT f.id, d.id, d.face FROM face f JOIN (SELECT g.id, t.face, t.geom FROM face g, redblue_faces(g.geom) t WHERE g.id < 50) d ON redblue_crosses(f.geom, d.geom)');
CREATE TABLE part (id int, kind int, geom geometry) PARTITION BY LIST (kind);
CREATE TABLE part_a PARTITION OF part FOR VALUES IN (0, 1, 2);
CREATE TABLE part_b PARTITION OF part FOR VALUES IN (3, 4);
-- A partition whose columns are in another order
CREATE TABLE part_c (geom geometry, dropped text, kind int, id int);
ALTER TABLE part_c DROP COLUMN dropped;
ALTER TABLE part ATTACH PARTITION part_c DEFAULT;
CREATE TABLE part2 (LIKE part) PARTITION BY LIST (kind);
CREATE TABLE part2_a PARTITION OF part2 FOR VALUES IN (0, 1, 2);
CREATE TABLE part2_b PARTITION OF part2 FOR VALUES IN (3, 4);
CREATE TABLE part2_c PARTITION OF part2 DEFAULT;
INSERT INTO part SELECT id, kind, geom FROM face;
INSERT INTO part2 SELECT number, kind, geom FROM line;
ANALYZE part, part2;
SELECT * FROM alike('SELECT p, p.tableoid::regclass, l.id FROM part p JOIN line l ON redblue_intersects(p.geom, l.geom)');
SELECT * FROM alike('SELECT a.id, b.id FROM part a LEFT JOIN part2 b ON redblue_intersects(a.geom, b.geom) AND a.kind = b.kind');
SET enable_partitionwise_join = on;
SELECT * FROM alike('SELECT a, b FROM part a LEFT JOIN part2 b ON redblue_intersects(a.geom, b.geom) AND a.kind = b.kind');
SELECT * FROM alike('SELECT a.id, b.id FROM part a JOIN part2 b ON redblue_intersects(a.geom, b.geom) AND a.kind = b.kind AND a.kind IN (1, 3, 5)');
RESET enable_partitionwise_join;
CREATE TABLE parent (id int, geom geometry);
CREATE TABLE child (more text) INHERITS (parent);
INSERT INTO parent SELECT id, geom FROM face WHERE id <= 50;
INSERT INTO child SELECT id, geom, 'more' FROM face WHERE id > 50;
ANALYZE parent, child;
SELECT * FROM alike('SELECT p, p.tableoid::regclass, p.ctid, l.number FROM parent p JOIN line l ON redblue_crosses(p.geom, l.geom)');

-- ---- above the join ----
SELECT * FROM alike('SELECT f, l.kind, f.ctid, l.tableoid::regclass FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom)');
SELECT * FROM alike('SELECT f.kind, count(*), sum(l.number), max(l.name), count(DISTINCT l.kind) FROM face f LEFT JOIN line l ON redblue_intersects(f.geom, l.geom) GROUP BY f.kind HAVING count(*) > 10');
SELECT * FROM alike('SELECT count(*) FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom)');
SELECT * FROM alike('SELECT 1 FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom)');
SELECT * FROM alike('SELECT DISTINCT f.kind, l.kind FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom)');
SELECT * FROM alike('SELECT f.id, l.number FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom) ORDER BY f.id DESC, l.number LIMIT 7 OFFSET 3');
SELECT * FROM alike('SELECT f.id, l.number, rank() OVER (PARTITION BY f.kind ORDER BY f.id, l.number), count(*) OVER () FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom)');
SELECT * FROM alike('SELECT f.id FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) UNION SELECT s.id FROM street s JOIN street t ON redblue_crosses(s.geom, t.geom) EXCEPT SELECT 3');
SELECT * FROM alike('SELECT f.id, length(f.name || l.name), redblue_distance(f.geom, l.geom), ST_AsText(l.geom) FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom) WHERE length(f.name || l.name) > 20');
SELECT * FROM alike('SELECT generate_series(1, f.kind), l.number FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom)');
SELECT * FROM alike('SELECT f.id, (SELECT count(*) FROM line m WHERE m.kind = l.kind AND m.number < f.id) FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) AND l.number NOT IN (SELECT id FROM street WHERE id % 3 = f.kind)');

-- ---- repeated execution ----
-- With unchanged inputs, and with changed ones
SELECT * FROM alike('SELECT f.id, (SELECT count(*) FROM line l JOIN street s ON redblue_intersects(l.geom, s.geom) WHERE l.number < 40 AND s.id < 40) FROM face f WHERE f.id < 10');
SELECT * FROM alike('SELECT f.id, (SELECT count(*) FROM line l JOIN street s ON redblue_intersects(l.geom, s.geom) WHERE l.number < 40 AND s.id < f.id) FROM face f WHERE f.id < 40');
SELECT * FROM alike('SELECT f.id, (SELECT count(s.id) FROM line l LEFT JOIN street s ON redblue_intersects(l.geom, s.geom) AND s.id % 40 = f.id WHERE l.number < 40) FROM face f WHERE f.id < 40');
SELECT * FROM alike('SELECT f.id, q.* FROM face f, LATERAL (SELECT l.number, s.id AS street FROM line l JOIN street s ON redblue_intersects(l.geom, s.geom) WHERE l.number = f.id ORDER BY 1, 2 LIMIT 3) q WHERE f.id < 20');
SELECT * FROM alike('SELECT f.id, q.number FROM face f, LATERAL (SELECT l.number FROM line l WHERE redblue_crosses(f.geom, l.geom) ORDER BY 1 LIMIT 3) q');
SELECT * FROM alike('SELECT f.id FROM face f WHERE f.id < 40 AND f.id NOT IN (SELECT l.number FROM line l JOIN street s ON redblue_crosses(l.geom, s.geom) WHERE s.id > f.kind)');
SET enable_nestloop = on; SET enable_material = off;
SELECT * FROM alike('SELECT v.i, q.* FROM (VALUES (1), (2), (3)) AS v (i) LEFT JOIN (SELECT f.id, s.id AS street FROM face f JOIN street s ON redblue_crosses(f.geom, s.geom)) q ON q.id % 4 > v.i');
SELECT * FROM alike('SELECT v.i, q.* FROM (VALUES (1), (2), (3)) AS v (i) LEFT JOIN (SELECT f.id, s.id AS street FROM face f LEFT JOIN street s ON redblue_crosses(f.geom, s.geom)) q ON q.id % 4 > v.i');
SET enable_nestloop = off; RESET enable_material;

-- ---- rows that do not fit into work_mem ----
CREATE TABLE wide AS SELECT id, geom, repeat(md5(id::text), 60 + id % 200) AS much FROM face;
ALTER TABLE wide ALTER much SET STORAGE EXTERNAL;
ALTER TABLE wide ADD again text;
UPDATE wide SET again = substr(much, 1, 1500);
ANALYZE wide;
SET work_mem = '64kB';
SELECT * FROM alike('SELECT w.id, md5(w.again), md5(v.again), md5(w.much), v.id FROM wide w JOIN wide v ON redblue_crosses(w.geom, v.geom)');
SELECT * FROM alike('SELECT w.again, s.id FROM several s LEFT JOIN wide w ON redblue_crosses(w.geom, s.geom)');
SELECT * FROM alike('SELECT a.id, b.id FROM several a JOIN several b ON redblue_crosses(a.geom, b.geom)');
SELECT * FROM alike('SELECT v.i, q.* FROM (VALUES (1), (2)) AS v (i), LATERAL (SELECT max(w.again || u.again), count(*) FROM wide w LEFT JOIN wide u ON redblue_crosses(w.geom, u.geom) AND u.id % v.i = 0) q');
RESET work_mem;

-- ---- changes ----
SELECT * FROM changed('UPDATE face f SET name = ''crossed'' FROM line l WHERE redblue_crosses(f.geom, l.geom) AND l.kind = 2', 'SELECT id, name FROM face');
SELECT * FROM changed('DELETE FROM face f USING line l WHERE redblue_crosses(f.geom, l.geom) AND l.kind = 2', 'SELECT id FROM face');
SELECT * FROM changed('DELETE FROM face f WHERE NOT EXISTS (SELECT FROM line l WHERE redblue_crosses(f.geom, l.geom))', 'SELECT id FROM face');
SELECT * FROM changed('INSERT INTO nothing SELECT f.id, l.number, l.name, f.geom FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom)', 'SELECT * FROM nothing');
SELECT * FROM changed('INSERT INTO face SELECT f.id + 1000, l.number, l.name, f.geom FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom)', 'SELECT * FROM face');
SELECT * FROM changed('UPDATE part p SET kind = (p.kind + 1) % 7 FROM part2 q WHERE redblue_crosses(p.geom, q.geom) AND q.kind = 2', 'SELECT id, kind, tableoid::regclass FROM part');
SELECT * FROM changed('WITH gone AS (DELETE FROM face f USING line l WHERE redblue_crosses(f.geom, l.geom) RETURNING f.id, f.geom) INSERT INTO nothing SELECT g.id, s.id, NULL, g.geom FROM gone g JOIN street s ON redblue_crosses(g.geom, s.geom)', 'SELECT * FROM nothing UNION ALL SELECT * FROM face');
SELECT count(*) FROM (SELECT f.id FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) FOR UPDATE OF f) q;
-- A table with children: each child has its own row identity.
SELECT * FROM changed('UPDATE parent p SET id = -p.id FROM line l WHERE redblue_crosses(p.geom, l.geom) AND l.kind = 2', 'SELECT id, tableoid::regclass FROM parent');
SELECT * FROM changed('DELETE FROM parent p USING line l WHERE redblue_crosses(p.geom, l.geom) AND l.kind = 2', 'SELECT id, tableoid::regclass FROM parent');
SELECT * FROM changed('DELETE FROM parent p WHERE NOT EXISTS (SELECT FROM line l WHERE redblue_crosses(p.geom, l.geom))', 'SELECT id, tableoid::regclass FROM parent');
SELECT * FROM changed('WITH u AS (UPDATE part p SET id = -p.id FROM line l JOIN street s ON redblue_crosses(l.geom, s.geom) WHERE redblue_crosses(p.geom, l.geom) AND l.kind = 2 RETURNING p, p.tableoid::regclass AS relation) INSERT INTO nothing SELECT (u.p).id, (u.p).kind, relation::text, (u.p).geom FROM u', 'SELECT * FROM nothing UNION ALL SELECT id, kind, tableoid::regclass::text, geom FROM part');
-- MERGE requires PostgreSQL 15.
CREATE TABLE pole AS SELECT id, id AS kind, ST_MakePoint(id, 0, 0) AS geom FROM generate_series(1, 40) id;
CREATE TABLE pole_a (LIKE parent);
CREATE TABLE pole_b (more text, LIKE parent);
CREATE TABLE post (LIKE parent) PARTITION BY RANGE (id);
ALTER TABLE post ATTACH PARTITION pole_a FOR VALUES FROM (MINVALUE) TO (15);
ALTER TABLE pole_b DROP COLUMN more;
ALTER TABLE post ATTACH PARTITION pole_b FOR VALUES FROM (15) TO (MAXVALUE);
INSERT INTO post SELECT id, ST_MakePoint(id, 0, 0) FROM generate_series(10, 25) id;
ANALYZE pole, post;
SELECT * FROM changed(CASE WHEN current_setting('server_version_num')::int >= 150000 THEN 'MERGE INTO post p USING pole q ON redblue_intersects(p.geom, q.geom) WHEN MATCHED AND q.id % 3 = 0 THEN DELETE WHEN MATCHED AND p.id <> 13 THEN UPDATE SET id = p.id + 5 WHEN NOT MATCHED THEN INSERT VALUES (q.id, q.geom)'
	ELSE 'WITH d AS (SELECT q.id, q.geom FROM pole q LEFT JOIN post p ON redblue_intersects(p.geom, q.geom) WHERE p.id IS NULL), e AS (DELETE FROM post WHERE id % 3 = 0), f AS (UPDATE post SET id = id + 5 WHERE id <> 13 AND id % 3 <> 0) INSERT INTO post SELECT * FROM d' END, 'SELECT id, tableoid::regclass, ST_AsText(geom) FROM post');

-- ---- cursors ----
BEGIN;
DECLARE forth CURSOR FOR SELECT f.id, l.number, length(l.name) FROM face f LEFT JOIN line l ON redblue_crosses(f.geom, l.geom) ORDER BY f.id, l.number;
DECLARE plain CURSOR FOR SELECT f.id FROM face f LEFT JOIN line l ON redblue_crosses(f.geom, l.geom);
DECLARE back SCROLL CURSOR FOR SELECT f.id, l.number FROM (SELECT * FROM face WHERE id = 8) f LEFT JOIN line l ON redblue_dwithin(f.geom, l.geom, 0.1) AND l.number = 8;
FETCH 2 FROM forth;
-- The rollback of a savepoint does not affect the cursor.
SAVEPOINT s;
SET LOCAL work_mem = '64kB';
MOVE 10 FROM plain;
FETCH 1 FROM back;
ROLLBACK TO s;
MOVE 10 FROM plain;
SAVEPOINT s;
SELECT 1 / 0;
ROLLBACK TO s;
FETCH 2 FROM forth;
MOVE 10 FROM plain;
FETCH ALL FROM back;
FETCH BACKWARD ALL FROM back;
FETCH ALL FROM back;
DECLARE held CURSOR WITH HOLD FOR SELECT f.id, l.number FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) ORDER BY 1, 2;
DECLARE changing CURSOR FOR SELECT f.id FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) WHERE f.id = 8 FOR UPDATE OF f;
MOVE 1 FROM changing;
UPDATE face SET name = 'here' WHERE CURRENT OF changing RETURNING id, name;
UPDATE face SET name = 'face 8' WHERE id = 8;
COMMIT;
FETCH 1 FROM held;
CLOSE held;
DO $$
DECLARE
	r record;
	n int := 0;
	failed int := 0;
BEGIN
	FOR r IN SELECT f.id, l.number FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) LOOP
		BEGIN
			n := n + 1;
			PERFORM 1 / (r.id % 2);
		EXCEPTION WHEN division_by_zero THEN
			failed := failed + 1;
		END;
	END LOOP;
	IF n <> (SELECT count(*) FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom)) OR failed = 0 THEN
		RAISE EXCEPTION '% %', n, failed;
	END IF;
END $$;
CREATE FUNCTION crossed(k int) RETURNS TABLE (id int, number int) LANGUAGE sql STABLE AS 'SELECT f.id, l.number FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) WHERE f.kind = k';
CREATE FUNCTION count_crossed(k int) RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT count(*) FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) WHERE f.kind = k); END';
SELECT k, (SELECT count(*) FROM crossed(k)), count_crossed(k) FROM generate_series(0, 7) k;
-- A join in a function that a join calls
SELECT * FROM alike('SELECT f.id, l.number FROM (SELECT * FROM face WHERE id < 12) f JOIN (SELECT * FROM line WHERE number < 40) l ON redblue_crosses(f.geom, l.geom) AND count_crossed(l.kind) > f.id');

-- ---- other clauses ----
CREATE SEQUENCE asked;
CREATE FUNCTION ask(int) RETURNS boolean LANGUAGE plpgsql VOLATILE COST 1 AS 'BEGIN PERFORM nextval(''asked''); RETURN true; END';
SELECT count(*) AS pairs FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) AND ask(f.id + l.number);
SELECT last_value AS asked FROM asked;
SELECT * FROM node('SELECT count(*) AS pairs FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) AND ask(f.id + l.number) AND f.kind = l.kind');
-- The cheaper clause is evaluated first; of two with equal costs, the one written first.
ALTER FUNCTION ask COST 1000;
ALTER SEQUENCE asked RESTART;
SELECT count(*) AS pairs FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) AND ask(f.id + l.number) AND f.kind = l.kind;
SELECT last_value AS asked FROM asked;
SELECT * FROM node('SELECT count(*) AS pairs FROM face f LEFT JOIN line l ON ask(f.id + l.number) AND f.kind = l.kind AND redblue_crosses(f.geom, l.geom) AND ask(f.id + l.kind) AND f.id < l.number');
-- Clauses that are always false or null
SELECT * FROM alike('SELECT f.id, l.number FROM face f LEFT JOIN line l ON redblue_crosses(f.geom, l.geom) AND false');
SELECT * FROM alike('SELECT f.id, l.number FROM face f LEFT JOIN line l ON redblue_crosses(f.geom, l.geom) AND (SELECT false)');
SELECT * FROM alike('SELECT f.id, l.number FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) AND (SELECT true)');
SELECT * FROM alike('SELECT f.id, l.number FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) WHERE (f.kind = l.kind) IS NOT FALSE AND NULLIF(l.kind, 3) > 1');

-- ---- privileges ----
CREATE ROLE postgis_join_guest;
CREATE TABLE secret AS SELECT id, kind, name, geom FROM face;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secret USING (kind = 1);
CREATE VIEW barred WITH (security_barrier) AS SELECT id, name, kind, geom FROM face WHERE kind = 2;
CREATE VIEW barred_pair WITH (security_barrier) AS SELECT f.id, f.name, l.number FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) WHERE l.number % 7 = 6 AND f.id % 7 = 6;
ANALYZE secret;
GRANT USAGE ON SCHEMA postgis_join TO postgis_join_guest;
GRANT SELECT ON secret, barred, barred_pair, line TO postgis_join_guest;
-- A function that reports each row it sees that it should not see
CREATE FUNCTION leak(allowed int, name text, number int) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
'BEGIN IF substr(name, 6)::int % 7 <> allowed THEN RAISE NOTICE ''% %'', name, number; END IF; RETURN number IS NOT NULL; END';
SET ROLE postgis_join_guest;
-- Only kind 1, only kind 2, and only pairs
SELECT * FROM node('SELECT count(*) FROM secret s JOIN line l ON redblue_crosses(s.geom, l.geom)');
SELECT s.kind, count(*) FROM secret s JOIN line l ON redblue_crosses(s.geom, l.geom) GROUP BY 1;
SELECT count(*) FROM secret s JOIN line l ON redblue_crosses(s.geom, l.geom) AND leak(1, s.name, l.number);
SELECT count(*) FROM barred s JOIN line l ON redblue_crosses(s.geom, l.geom) AND leak(2, s.name, l.number);
SELECT count(*) FROM barred s LEFT JOIN line l ON redblue_crosses(s.geom, l.geom) AND leak(2, s.name, l.number);
SELECT count(*) FROM secret s WHERE NOT EXISTS (SELECT FROM line l WHERE redblue_crosses(s.geom, l.geom) AND leak(1, s.name, l.number));
SELECT count(*) FROM barred_pair WHERE leak(6, name, number) AND id = 27;
-- No privilege for a column that is read
SELECT count(*) FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom);
RESET ROLE;

-- ---- EXPLAIN ----
EXPLAIN (COSTS OFF) SELECT f.id, l.id FROM face f LEFT JOIN line l ON redblue_dwithin(f.geom, l.geom, 1 + 1) AND f.kind = l.kind WHERE l.id IS NULL;
-- PostgreSQL 18 prints for each node that no setting disables it.
CREATE FUNCTION yaml(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE all_of text;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT YAML) ' || query INTO all_of;
	RETURN QUERY SELECT l FROM regexp_split_to_table(all_of, E'\n') l WHERE l !~ 'Disabled: false';
END $$;
SELECT * FROM yaml('SELECT f.id, l.id FROM face f JOIN line l ON redblue_crosses(f.geom, l.geom) AND f.kind = l.kind');
CREATE FUNCTION explained(format text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE all_of text;
BEGIN
	FOR all_of IN EXECUTE format('EXPLAIN (COSTS OFF, VERBOSE, FORMAT %s) %s', format, query) LOOP
		RETURN QUERY SELECT trim(l) FROM regexp_split_to_table(all_of, E'\n') l WHERE l ~ 'redblue|Join';
	END LOOP;
END $$;
SELECT f, e FROM unnest(ARRAY['text', 'json', 'xml', 'yaml']) f, explained(f, 'SELECT a.id FROM face a WHERE NOT EXISTS (SELECT FROM line l WHERE redblue_crosses(a.geom, l.geom) AND a.kind < l.kind)') e;
SELECT e FROM explained('text', 'SELECT p.known, s.id FROM street s LEFT JOIN pair p ON redblue_crosses(p.geom, s.geom) AND p.known <> ''none''') e;

-- ---- the setting, and the choice by cost ----
SET redblue."join" = off;
SELECT * FROM node('SELECT f.id, l.id FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom)');
RESET redblue."join";
RESET enable_nestloop; RESET enable_hashjoin; RESET enable_mergejoin;
SELECT * FROM node('SELECT f.id, l.id FROM face f JOIN line l ON redblue_intersects(f.geom, l.geom)');
CREATE TABLE many AS SELECT i AS id, ST_MakePoint(i % 200, i / 200) AS geom FROM generate_series(1, 40000) i;
CREATE INDEX ON many USING gist (geom);
ANALYZE many;
-- One row with many that have an index
SELECT * FROM node('SELECT m.id FROM many m JOIN (SELECT geom FROM street LIMIT 1) s ON redblue_intersects(m.geom, s.geom)');
-- Many with many
SELECT * FROM node('SELECT m.id FROM many m JOIN many n ON redblue_intersects(m.geom, n.geom)');
DROP SCHEMA postgis_join CASCADE;
DROP ROLE postgis_join_guest;
