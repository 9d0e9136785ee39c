-- The table of doc/exactness.md: what PostGIS and redblue say about the cases of
-- postgis_wrong_cases.sql.  What is wrong is set in bold.
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' | '
CREATE FUNCTION pg_temp.bold(text, wrong bool) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN wrong THEN '**' || $1 || '**' ELSE $1 END $$;
CREATE FUNCTION pg_temp.short(float8) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN $1 = 0 THEN '0' ELSE trim(to_char($1, '9.9EEEE')) END $$;
CREATE FUNCTION pg_temp.meet(bool) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN $1 THEN 'yes' ELSE 'no' END $$;

SELECT '| ' || id, note, pg_temp.meet(truth),
	pg_temp.bold(CASE WHEN ab <> ba THEN pg_temp.meet(ab) || ', swapped: ' || pg_temp.meet(ba) ELSE pg_temp.meet(ab) END,
		ab <> truth OR ba <> truth),
	pg_temp.short(true_distance),
	pg_temp.bold(pg_temp.short(distance), abs(distance - true_distance) > 1e-6 * true_distance + 1e-13),
	pg_temp.bold(pg_temp.meet(redblue), redblue <> truth) || ' |'
FROM (SELECT *, ST_3DIntersects(a::geometry, b::geometry) AS ab, ST_3DIntersects(b::geometry, a::geometry) AS ba,
		ST_3DDistance(a::geometry, b::geometry) AS distance,
		EXISTS (SELECT FROM redblue_triangle_pairs_query(
			format('SELECT 1 AS id, %L::geometry AS geom', a), format('SELECT 1 AS id, %L::geometry AS geom', b))) AS redblue
	FROM wrong_case) said
ORDER BY id;
