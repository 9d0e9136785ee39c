/* redblue: which triangles of two tables share a point, exactly */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION redblue" to load this file. \quit

-- ---- what comes out ----

CREATE TYPE redblue_pair AS (red_id bigint, blue_id bigint);
COMMENT ON TYPE redblue_pair IS
'a row of the red side and a row of the blue side that share a point, by their ids';

CREATE TYPE redblue_self_pair AS (id1 bigint, id2 bigint);
COMMENT ON TYPE redblue_self_pair IS
'two rows of one table that share a point, by their ids; id1 is of the row read first';

-- ---- planner ----

CREATE FUNCTION redblue_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'redblue_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION redblue_support(internal) IS
'planner support: rows and cost of the pairs functions, from the sizes of their tables';

-- ---- triangles ----

CREATE FUNCTION redblue_triangle_pairs(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, red_geom name DEFAULT NULL,
	blue_id name DEFAULT NULL, blue_geom name DEFAULT NULL)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_triangle_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pairs(regclass, regclass, name, name, name, name) IS
'the pairs of rows of two tables or views whose closed triangles share a point, exactly, in no promised order.
Each side: an integer column id (or red_id, blue_id), and nine numbers ax ay az bx by bz cx cy cz or a geometry with Z
(or red_geom, blue_geom): Triangle, Polygon of three corners, Tin, PolyhedralSurface, MultiPolygon, GeometryCollection of these.
Where both are there the numbers count, unless the geometry is named. A row is one object; NULL and EMPTY geometries are skipped.
Coordinates mean exactly the stored float8, in any unit that both sides share.
Errors: 22004 null id or coordinate, 22003 NaN or infinity, 22023 no Z, mixed SRIDs, faces that are no triangles, 42703, 42702 and 42804
columns that are missing, ambiguous, of a wrong type, 53200 redblue.memory_limit';

CREATE FUNCTION redblue_triangle_pairs_query(red text, blue text)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_triangle_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pairs_query(text, text) IS
'redblue_triangle_pairs over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name: id, and ax ay az bx by bz cx cy cz or a geometry. Errors: 0A000 and 42601 for any other text, and those of
redblue_triangle_pairs';

CREATE FUNCTION redblue_triangle_self_pairs(
	mesh regclass, mesh_id name DEFAULT NULL, mesh_geom name DEFAULT NULL)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pairs(regclass, name, name) IS
'the pairs of rows of one table or view whose closed triangles share a point: each unordered pair once, no row with itself.
Columns, units and errors as in redblue_triangle_pairs';

CREATE FUNCTION redblue_triangle_self_pairs_query(mesh text)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pairs_query(text) IS
'redblue_triangle_self_pairs over one query; its text as in redblue_triangle_pairs_query';

-- ---- into a table ----

CREATE FUNCTION redblue_into(target regclass, source text) RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_into' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_into(regclass, text) IS
'INSERT INTO target source, and the number of rows: source is one SELECT, most often over a join, whose columns are those of the target in order.
Rows go in blocks to a plain table without indexes, triggers, constraints but NOT NULL, defaults to fill in, policies, partitions;
in any other case one by one, as INSERT does it. Privileges and errors are those of INSERT';

-- ---- exact signs ----

CREATE FUNCTION redblue_orient2d(
	ax float8, ay float8, bx float8, by float8, cx float8, cy float8)
RETURNS int
AS 'MODULE_PATHNAME', 'redblue_orient2d' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION redblue_orient2d(float8, float8, float8, float8, float8, float8) IS
'1 where c lies to the left of the line from a to b, -1 to the right, 0 on it; exact. Errors: 22003 NaN or infinity';

CREATE FUNCTION redblue_orient3d(
	ax float8, ay float8, az float8, bx float8, by float8, bz float8,
	cx float8, cy float8, cz float8, dx float8, dy float8, dz float8)
RETURNS int
AS 'MODULE_PATHNAME', 'redblue_orient3d' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION redblue_orient3d(float8, float8, float8, float8, float8, float8,
	float8, float8, float8, float8, float8, float8) IS
'1 where the corners a, b, c of the triangle run counterclockwise as seen from d, -1 clockwise, 0 where all four lie in one plane; exact:
the sign of (b - a) x (c - a) . (d - a). Errors: 22003 NaN or infinity';

CREATE FUNCTION redblue_incircle(
	ax float8, ay float8, bx float8, by float8, cx float8, cy float8, dx float8, dy float8)
RETURNS int
AS 'MODULE_PATHNAME', 'redblue_incircle' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION redblue_incircle(float8, float8, float8, float8, float8, float8, float8, float8) IS
'1 where d lies inside the circle through a, b, c, -1 outside, 0 on it, if a, b, c turn left; the opposite if they turn right; exact.
Errors: 22003 NaN or infinity';

CREATE FUNCTION redblue_insphere(
	ax float8, ay float8, az float8, bx float8, by float8, bz float8,
	cx float8, cy float8, cz float8, dx float8, dy float8, dz float8,
	ex float8, ey float8, ez float8)
RETURNS int
AS 'MODULE_PATHNAME', 'redblue_insphere' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 15;
COMMENT ON FUNCTION redblue_insphere(float8, float8, float8, float8, float8, float8, float8, float8,
	float8, float8, float8, float8, float8, float8, float8) IS
'1 where e lies inside the sphere through a, b, c, d, -1 outside, 0 on it, if redblue_orient3d(a, b, c, d) = 1;
the opposite if it is -1; exact. Errors: 22003 NaN or infinity';

-- ---- about itself ----

CREATE FUNCTION redblue_version() RETURNS text
AS 'MODULE_PATHNAME', 'redblue_version' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION redblue_version() IS 'version of the library that is loaded';

CREATE FUNCTION redblue_info(
	OUT version text, OUT build text, OUT gmp text, OUT openmp text, OUT threads int,
	OUT cuda boolean, OUT cuda_device text)
AS 'MODULE_PATHNAME', 'redblue_info' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION redblue_info() IS
'what a bug report needs: versions and build; the threads that a join would take; is a GPU usable, and its description or why not';

CREATE FUNCTION redblue_last_run()
RETURNS TABLE (stage text, count bigint, milliseconds float8, detail text, backend text, device text)
AS 'MODULE_PATHNAME', 'redblue_last_run' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 9;
COMMENT ON FUNCTION redblue_last_run() IS
'what the last join of this session that came to its end did: one row per stage with its count and its milliseconds; no rows before the first.
On the CPU, device has the number of threads, and why no GPU was used';
