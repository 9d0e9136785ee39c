-- Layers of the town of make demo CITY=file: after test/demo/city.sql, which makes city, line and hit.
CREATE EXTENSION redblue_postgis;
CREATE FUNCTION outlines(shared geometry) RETURNS geometry LANGUAGE sql IMMUTABLE
	RETURN ST_Multi(ST_CollectionExtract(ST_Collect(shared, ST_Boundary(ST_CollectionExtract(shared, 3))), 2));
CREATE FUNCTION triangle(ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8) RETURNS geometry LANGUAGE sql IMMUTABLE
	RETURN ST_MakePolygon(ST_MakeLine(ARRAY[ST_MakePoint(ax, ay, az), ST_MakePoint(bx, by, bz), ST_MakePoint(cx, cy, cz), ST_MakePoint(ax, ay, az)]));

-- the file's numbers are metres from a corner of the town: no SRID
CREATE MATERIALIZED VIEW town_building AS
SELECT object::int AS gid, object IN (SELECT object FROM hit) AS met, ST_Collect(triangle(ax, ay, az, bx, by, bz, cx, cy, cz) ORDER BY id)::geometry(MultiPolygonZ) AS geom
FROM city WHERE type = 'Building' GROUP BY object;
-- without trees
CREATE MATERIALIZED VIEW town_ground AS
SELECT object::int AS gid, type, ST_Collect(triangle(ax, ay, az, bx, by, bz, cx, cy, cz) ORDER BY id)::geometry(MultiPolygonZ) AS geom
FROM city WHERE type <> 'Building' AND (type <> 'PlantCover' OR greatest(az, bz, cz) - least(az, bz, cz) < 1.5) GROUP BY object, type;
CREATE MATERIALIZED VIEW town_line AS SELECT 1 AS gid, ST_Collect(triangle(ax, ay, az, bx, by, bz, cx, cy, cz) ORDER BY id)::geometry(MultiPolygonZ) AS geom FROM line;
CREATE UNIQUE INDEX ON town_building (gid);
CREATE UNIQUE INDEX ON town_ground (gid);
CREATE UNIQUE INDEX ON town_line (gid);
ANALYZE town_building, town_ground, town_line;

CREATE MATERIALIZED VIEW town_contact AS
SELECT a.gid::bigint << 32 | b.gid AS qid, b.kind, outlines(redblue_intersection(a.geom, b.geom))::geometry(MultiLineStringZ) AS geom
FROM town_building a JOIN (SELECT gid, 'ground' AS kind, geom FROM town_ground UNION ALL SELECT gid, 'building', geom FROM town_building UNION ALL SELECT 0, 'line', geom FROM town_line) b
	ON redblue_intersects(a.geom, b.geom) AND (kind <> 'building' OR a.gid < b.gid);
CREATE UNIQUE INDEX ON town_contact (qid);
ANALYZE town_contact;
SELECT kind, count(*) AS pairs, sum(ST_NumGeometries(geom)) AS curves, round(sum(ST_3DLength(geom))::numeric) AS metres FROM town_contact GROUP BY kind ORDER BY kind;
