/* redblue: which triangles, segments or boxes of two tables share a point, exactly */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION redblue" to load this file. \quit

-- ---- what comes out ----

CREATE TYPE redblue_pair AS (red_id bigint, blue_id bigint);
COMMENT ON TYPE redblue_pair IS
'a row of the red side and a row of the blue side that share a point, by their ids';

CREATE TYPE redblue_self_pair AS (id1 bigint, id2 bigint);
COMMENT ON TYPE redblue_self_pair IS
'two rows of one table that share a point, by their ids; id1 is of the row read first';

CREATE TYPE redblue_segment_triangle_pair AS (segment_id bigint, triangle_id bigint);
COMMENT ON TYPE redblue_segment_triangle_pair IS
'a row of segments and a row of triangles that share a point, by their ids';

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

-- ---- segments ----

CREATE FUNCTION redblue_segment_triangle_pairs(
	segments regclass, triangles regclass,
	segments_id name DEFAULT NULL, segments_geom name DEFAULT NULL,
	triangles_id name DEFAULT NULL, triangles_geom name DEFAULT NULL)
RETURNS SETOF redblue_segment_triangle_pair
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pairs(regclass, regclass, name, name, name, name) IS
'the pairs of a row of segments and a row of triangles, in three dimensions, that share a point, exactly, in no promised order.
Segments: six numbers ax ay az bx by bz, or a geometry with Z: LineString, MultiLineString, GeometryCollection of these; a row
is one object, however many pieces it has. Triangles, ids, units and errors as in redblue_triangle_pairs. Curves are error 0A000';

CREATE FUNCTION redblue_segment_triangle_pairs_query(segments text, triangles text)
RETURNS SETOF redblue_segment_triangle_pair
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pairs_query(text, text) IS
'redblue_segment_triangle_pairs over two queries; their texts as in redblue_triangle_pairs_query';

CREATE FUNCTION redblue_segment_pairs(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, red_geom name DEFAULT NULL,
	blue_id name DEFAULT NULL, blue_geom name DEFAULT NULL)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_segment_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pairs(regclass, regclass, name, name, name, name) IS
'the pairs of rows of two tables or views whose closed segments in the plane share a point, exactly, in no promised order.
Each side: an integer column id, and four numbers ax ay bx by or a geometry, of which x and y count: LineString, MultiLineString,
Polygon and MultiPolygon (their rings, not what these enclose), GeometryCollection of these. A row is one object. Errors as in
redblue_triangle_pairs, 0A000 curves';

CREATE FUNCTION redblue_segment_pairs_query(red text, blue text)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_segment_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pairs_query(text, text) IS
'redblue_segment_pairs over two queries; their texts as in redblue_triangle_pairs_query';

CREATE FUNCTION redblue_segment_self_pairs(
	lines regclass, lines_id name DEFAULT NULL, lines_geom name DEFAULT NULL)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_segment_self_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pairs(regclass, name, name) IS
'the pairs of rows of one table or view whose closed segments in the plane share a point: each unordered pair once, no row with
itself. Columns and errors as in redblue_segment_pairs';

CREATE FUNCTION redblue_segment_self_pairs_query(lines text)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_segment_self_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pairs_query(text) IS
'redblue_segment_self_pairs over one query; its text as in redblue_triangle_pairs_query';

-- ---- boxes ----

CREATE FUNCTION redblue_box_pairs(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, red_geom name DEFAULT NULL,
	blue_id name DEFAULT NULL, blue_geom name DEFAULT NULL)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_box_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pairs(regclass, regclass, name, name, name, name) IS
'the pairs of rows of two tables or views whose closed boxes share a point, exactly, in no promised order.
Each side: an integer column id, and six numbers lx ly lz hx hy hz, or lx ly hx hy, low <= high; or a geometry without curves, whose
box is that of its points, not the rounded one in its header, in three dimensions where it has Z; or box3d, box2d, or cube of two
dimensions or three. All boxes of a call have the same number of dimensions.
Errors: 22023 low > high, mixed dimensions or SRIDs, and those of redblue_triangle_pairs';

CREATE FUNCTION redblue_box_pairs_query(red text, blue text)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_box_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pairs_query(text, text) IS
'redblue_box_pairs over two queries; their texts as in redblue_triangle_pairs_query';

CREATE FUNCTION redblue_box_self_pairs(
	boxes regclass, boxes_id name DEFAULT NULL, boxes_geom name DEFAULT NULL)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_box_self_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pairs(regclass, name, name) IS
'the pairs of rows of one table or view whose closed boxes share a point: each unordered pair once, no row with itself.
Columns and errors as in redblue_box_pairs';

CREATE FUNCTION redblue_box_self_pairs_query(boxes text)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_box_self_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pairs_query(text) IS
'redblue_box_self_pairs over one query; its text as in redblue_triangle_pairs_query';

-- ---- how many ----

CREATE FUNCTION redblue_triangle_pair_count(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, red_geom name DEFAULT NULL,
	blue_id name DEFAULT NULL, blue_geom name DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_count(regclass, regclass, name, name, name, name) IS
'the number of rows of redblue_triangle_pairs with the same arguments; the pairs are counted where they are found, none is kept where
each row is one triangle';

CREATE FUNCTION redblue_triangle_pair_count_query(red text, blue text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_count_query(text, text) IS
'the number of rows of redblue_triangle_pairs_query with the same arguments';

CREATE FUNCTION redblue_triangle_self_pair_count(
	mesh regclass, mesh_id name DEFAULT NULL, mesh_geom name DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_count(regclass, name, name) IS
'the number of rows of redblue_triangle_self_pairs with the same arguments';

CREATE FUNCTION redblue_triangle_self_pair_count_query(mesh text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_count_query(text) IS
'the number of rows of redblue_triangle_self_pairs_query with the same argument';

CREATE FUNCTION redblue_box_pair_count(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, red_geom name DEFAULT NULL,
	blue_id name DEFAULT NULL, blue_geom name DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_box_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pair_count(regclass, regclass, name, name, name, name) IS
'the number of rows of redblue_box_pairs with the same arguments; the pairs are counted where they are found, none is kept where
each row is one box';

CREATE FUNCTION redblue_box_pair_count_query(red text, blue text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_box_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pair_count_query(text, text) IS
'the number of rows of redblue_box_pairs_query with the same arguments';

CREATE FUNCTION redblue_box_self_pair_count(
	boxes regclass, boxes_id name DEFAULT NULL, boxes_geom name DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_box_self_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pair_count(regclass, name, name) IS
'the number of rows of redblue_box_self_pairs with the same arguments';

CREATE FUNCTION redblue_box_self_pair_count_query(boxes text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_box_self_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pair_count_query(text) IS
'the number of rows of redblue_box_self_pairs_query with the same argument';

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
