/* redblue: which triangles, segments or boxes of two tables share a point, exactly */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION redblue" to load this file. \quit

-- ---- what comes out ----

CREATE TYPE redblue_pair AS (red_id bigint, blue_id bigint);
COMMENT ON TYPE redblue_pair IS
'Holds the ids of a red row and a blue row that share a point.';

CREATE TYPE redblue_self_pair AS (id1 bigint, id2 bigint);
COMMENT ON TYPE redblue_self_pair IS
'Holds the ids of two rows of one table that share a point; id1 belongs to the row that was read first.';

CREATE TYPE redblue_segment_triangle_pair AS (segment_id bigint, triangle_id bigint);
COMMENT ON TYPE redblue_segment_triangle_pair IS
'Holds the ids of a row of segments and a row of triangles that share a point.';

CREATE TYPE redblue_block AS (n int, red bytea, blue bytea);
COMMENT ON TYPE redblue_block IS
'Holds up to 8192 pairs: their number, and the ids of each side as 8-byte little-endian integers.';

CREATE TYPE redblue_self_block AS (n int, id1 bytea, id2 bytea);
COMMENT ON TYPE redblue_self_block IS
'Holds up to 8192 pairs of rows of one table: their number, and the ids as 8-byte little-endian integers.';

CREATE TYPE redblue_segment_triangle_block AS (n int, segments bytea, triangles bytea);
COMMENT ON TYPE redblue_segment_triangle_block IS
'Holds up to 8192 pairs: their number, and the ids of segments and triangles as 8-byte little-endian integers.';

CREATE TYPE redblue_contact AS (red_id bigint, blue_id bigint, dimension smallint, crosses boolean);
COMMENT ON TYPE redblue_contact IS
'Holds the ids of a red row and a blue row that share a point, the dimension of their intersection (0 points, 1 curves, 2 areas), and whether
their relative interiors share a point.';

CREATE TYPE redblue_self_contact AS (id1 bigint, id2 bigint, dimension smallint, crosses boolean);
COMMENT ON TYPE redblue_self_contact IS
'Holds the ids of two rows of one table that share a point, the dimension of their intersection (0 points, 1 curves, 2 areas), and whether
their relative interiors share a point.';

CREATE TYPE redblue_segment_triangle_contact AS (segment_id bigint, triangle_id bigint, dimension smallint, crosses boolean);
COMMENT ON TYPE redblue_segment_triangle_contact IS
'Holds the ids of a row of segments and a row of triangles that share a point, the dimension of their intersection (0 points, 1 segments),
and whether their relative interiors share a point.';

CREATE TYPE redblue_self_intersection AS (id1 bigint, id2 bigint, dimension smallint);
COMMENT ON TYPE redblue_self_intersection IS
'Holds the ids of two rows of one mesh that share more than common vertices and edges, and the dimension of their intersection (0 points, 1
curves, 2 areas).';

CREATE TYPE redblue_part_self_intersection AS (id bigint, part1 int, part2 int, dimension smallint);
COMMENT ON TYPE redblue_part_self_intersection IS
'Holds the id of a row, the numbers, from 1, of two of its triangles that share more than common vertices and edges, and the dimension of
their intersection (0 points, 1 curves, 2 areas).';

CREATE TYPE redblue_distance AS (red_id bigint, blue_id bigint, distance double precision);
COMMENT ON TYPE redblue_distance IS
'Holds the ids of a red row and a blue row, and their distance, which is 0 if they share a point.';

CREATE TYPE redblue_self_distance AS (id1 bigint, id2 bigint, distance double precision);
COMMENT ON TYPE redblue_self_distance IS
'Holds the ids of two rows of one table, and their distance, which is 0 if they share a point.';

CREATE TYPE redblue_segment_triangle_distance AS (segment_id bigint, triangle_id bigint, distance double precision);
COMMENT ON TYPE redblue_segment_triangle_distance IS
'Holds the ids of a row of segments and a row of triangles, and their distance, which is 0 if they share a point.';

CREATE TYPE redblue_segment_hit AS (segment_id bigint, triangle_id bigint, fraction float8, x float8, y float8, z float8);
COMMENT ON TYPE redblue_segment_hit IS
'Holds the ids of a row of segments and of a row of triangles that it meets, and the first point where it does: as a fraction of the length of
the line, and its coordinates.';

CREATE TYPE redblue_point_side AS (point_id bigint, solid_id bigint, side text);
COMMENT ON TYPE redblue_point_side IS
'Holds the ids of a point and of a solid that contains it, and whether the point is inside the solid or on its boundary.';

CREATE TYPE redblue_segment_stretch AS (segment_id bigint, solid_id bigint, from_fraction double precision, to_fraction double precision,
	length double precision, on_boundary boolean);
COMMENT ON TYPE redblue_segment_stretch IS
'Holds the ids of a row of segments and of a solid, and an interval of the line that lies in the solid: its ends as fractions of the length
of the line, its length, and whether it lies on the boundary of the solid.';

CREATE TYPE redblue_solid_relation AS (red_id bigint, blue_id bigint, relation text);
COMMENT ON TYPE redblue_solid_relation IS
'Holds the ids of a red and a blue solid that share a point, and their relation: the red solid crosses, touches, is inside, contains or is
equal to the blue one.';

CREATE TYPE redblue_box_share AS (box_id bigint, solid_id bigint, volume float8, fraction float8);
COMMENT ON TYPE redblue_box_share IS
'Holds the ids of a box and of a solid, the volume of what they share, and its fraction of the volume of the box.';

CREATE TYPE redblue_solid_overlap AS (red_id bigint, blue_id bigint, volume float8, cx float8, cy float8, cz float8,
	contact_area float8, depth float8);
COMMENT ON TYPE redblue_solid_overlap IS
'Holds the ids of a red and a blue solid, the volume of what they share, its centroid (cx, cy, cz), which is null if they share only a part of
their boundaries, the area of that part, and the depth of the overlap, if requested.';

CREATE TYPE redblue_solid_self_overlap AS (id1 bigint, id2 bigint, volume float8, cx float8, cy float8, cz float8,
	contact_area float8, depth float8);
COMMENT ON TYPE redblue_solid_self_overlap IS
'Holds the ids of two solids of one table, the smaller one first, the volume of what they share, its centroid (cx, cy, cz), which is null if
they share only a part of their boundaries, the area of that part, and the depth of the overlap, if requested.';

CREATE TYPE redblue_polygon_overlap AS (red_id bigint, blue_id bigint, area float8);
COMMENT ON TYPE redblue_polygon_overlap IS
'Holds the ids of two polygons of the plane whose interiors intersect, and the area of what they share.';

CREATE TYPE redblue_polygon_self_overlap AS (id1 bigint, id2 bigint, area float8);
COMMENT ON TYPE redblue_polygon_self_overlap IS
'Holds the ids of two polygons of one table whose interiors intersect, the smaller one first, and the area of what they share.';

CREATE TYPE redblue_line_in_polygon AS (line_id bigint, polygon_id bigint, length float8);
COMMENT ON TYPE redblue_line_in_polygon IS
'Holds the ids of a line and of a polygon of the plane, and the length of the part of the line that is in the polygon.';

CREATE TYPE redblue_solid_report AS (id bigint, faces int, closed boolean, oriented boolean, self_intersections bigint, reason text,
	valid boolean, code int, x float8, y float8, z float8);
COMMENT ON TYPE redblue_solid_report IS
'Holds the id of a row and the result of its validity check: the number of faces; whether each edge is shared by an even number of faces
(closed); whether all normals point outward (oriented); the number of pairs of triangles that intersect; a description of the fault, or
null; whether the row is a valid solid; and the code and location of the first fault in val3dity''s list of ISO 19107 errors, or null.';

CREATE TYPE redblue_solid_measure AS (id bigint, volume float8, area float8, cx float8, cy float8, cz float8, lx float8, ly float8, lz float8,
	hx float8, hy float8, hz float8);
COMMENT ON TYPE redblue_solid_measure IS
'Holds the id of a solid, its volume, the area of its boundary, its centroid (cx, cy, cz), and its bounding box (lx, ly, lz, hx, hy, hz).';

-- ---- planner ----

CREATE FUNCTION redblue_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'redblue_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION redblue_support(internal) IS
'Estimates rows and cost of the join functions from the sizes of their tables (planner support function).';

CREATE FUNCTION redblue_at_run_time(OUT at_run_time boolean, OUT while_planning boolean)
AS 'SELECT true, false' LANGUAGE sql IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION redblue_at_run_time() IS
'Returns a record whose fields are passed by plans to counting functions, so that the planner does not evaluate these functions for its
estimates (planner support).';

-- ---- triangles ----

CREATE FUNCTION redblue_triangle_pairs(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_triangle_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pairs IS
'Returns the pairs of rows of two tables or views whose closed triangles share a point. The result is exact; its order is undefined.
Each side needs an id (red_id, blue_id; by default, a primary key of one integer column, or else the column id), which is an integer or a
number with an integer value; and either nine numbers ax ay az bx by bz cx cy cz, or a geometry with Z (red_geom, blue_geom) of type
Triangle, Polygon, Tin, PolyhedralSurface, MultiPolygon, or GeometryCollection of these. The numbers have precedence if a table has both,
unless the geometry is named.
A face with more than three vertices, or with holes, is triangulated in the coordinate plane in which its projection is largest; if
face_tolerance is given, a vertex farther than that from the plane of its face is an error.
Each row is one object; with red_object (blue_object), all rows with the same value in that column form one object, and pairs contain these
values. NULL and EMPTY geometries are skipped. Coordinates are exactly the stored float8 values, in any unit common to both sides.
With tile_low and tile_high, which form a half-open box that is unbounded where they are null or infinite, returns only pairs for which the
maximum of the lower corners of the two bounding boxes lies in the tile.
Errors: 22004 null id or coordinate; 22003 NaN or infinity; 22023 no Z, mixed SRIDs, non-integer id, self-intersecting face; 42703, 42702
and 42804 missing, ambiguous or wrongly typed column; 53200 redblue.memory_limit exceeded.';

CREATE FUNCTION redblue_triangle_pairs_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_triangle_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pairs_query IS
'Returns the result of redblue_triangle_pairs for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_triangle_pairs.';

CREATE FUNCTION redblue_triangle_pairs_by_key(
	red regclass, blue regclass,
	red_key text DEFAULT NULL, blue_key text DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object text DEFAULT NULL, blue_object text DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_triangle_pairs_by_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pairs_by_key IS
'Returns pairs, as redblue_triangle_pairs does, for keys of any type, including keys of several columns. Each result row consists of the two
keys as stored, and a column definition list names and types its columns: AS (a uuid, b uuid). red_key and blue_key are comma-separated
lists of column names, written as in SQL; the default is the primary key. Use red_object or blue_object instead of a key to treat all rows
with equal values in these columns as one object. Errors: 42804 column definition list does not match the keys; 22004 null in a key; and
those of redblue_triangle_pairs.';

CREATE FUNCTION redblue_triangle_self_pairs(
	mesh regclass,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pairs IS
'Returns the pairs of rows of one table or view whose closed triangles share a point. Each unordered pair is returned once, and no row is
paired with itself; with mesh_object, the pairs are pairs of different objects. Columns, units and errors are those of
redblue_triangle_pairs.';

CREATE FUNCTION redblue_triangle_self_pairs_query(
	mesh text,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pairs_query IS
'Returns the result of redblue_triangle_self_pairs for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_triangle_self_pairs.';

CREATE FUNCTION redblue_triangle_self_pairs_by_key(
	mesh regclass,
	mesh_key text DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object text DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pairs_by_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pairs_by_key IS
'Returns pairs, as redblue_triangle_self_pairs does, for keys of any type, including keys of several columns. Each result row consists of the
two keys as stored, and a column definition list names and types its columns: AS (a uuid, b uuid). mesh_key is a comma-separated list of
column names, written as in SQL; the default is the primary key. Use mesh_object instead of the key to treat all rows with equal values in
these columns as one object. Errors: 42804 column definition list does not match the keys; 22004 null in a key; and those of
redblue_triangle_self_pairs.';

-- ---- segments ----

CREATE FUNCTION redblue_segment_triangle_pairs(
	segments regclass, triangles regclass,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_triangle_pair
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pairs IS
'Returns the pairs of a row of segments and a row of triangles that share a point in three dimensions. The result is exact; its order is
undefined.
Segments are six numbers ax ay az bx by bz, or a geometry with Z of type LineString, MultiLineString, or GeometryCollection of these; each
row is one object, regardless of its number of segments. Triangles, ids, objects, units and errors are those of redblue_triangle_pairs.
Curves raise error 0A000.';

CREATE FUNCTION redblue_segment_triangle_pairs_query(
	segments text, triangles text,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_triangle_pair
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pairs_query IS
'Returns the result of redblue_segment_triangle_pairs for the rows of two queries. Each text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_segment_triangle_pairs.';

CREATE FUNCTION redblue_segment_triangle_pairs_by_key(
	segments regclass, triangles regclass,
	segments_key text DEFAULT NULL, triangles_key text DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object text DEFAULT NULL, triangles_object text DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pairs_by_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pairs_by_key IS
'Returns pairs, as redblue_segment_triangle_pairs does, for keys of any type, including keys of several columns. Each result row consists of
the two keys as stored, and a column definition list names and types its columns: AS (a uuid, b uuid). segments_key and triangles_key are
comma-separated lists of column names, written as in SQL; the default is the primary key. Use segments_object or triangles_object instead of
a key to treat all rows with equal values in these columns as one object. Errors: 42804 column definition list does not match the keys;
22004 null in a key; and those of redblue_segment_triangle_pairs.';

CREATE FUNCTION redblue_segment_pairs(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_segment_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pairs IS
'Returns the pairs of rows of two tables or views whose closed segments share a point in the plane. The result is exact; its order is
undefined.
Each side needs an id, and either four numbers ax ay bx by or a geometry, of which only X and Y are used: LineString, MultiLineString,
Polygon and MultiPolygon (their rings, not their areas), or GeometryCollection of these. Each row is one object. Ids, objects and errors are
those of redblue_triangle_pairs; curves raise error 0A000.';

CREATE FUNCTION redblue_segment_pairs_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_segment_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pairs_query IS
'Returns the result of redblue_segment_pairs for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_segment_pairs.';

CREATE FUNCTION redblue_segment_pairs_by_key(
	red regclass, blue regclass,
	red_key text DEFAULT NULL, blue_key text DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object text DEFAULT NULL, blue_object text DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_segment_pairs_by_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pairs_by_key IS
'Returns pairs, as redblue_segment_pairs does, for keys of any type, including keys of several columns. Each result row consists of the two
keys as stored, and a column definition list names and types its columns: AS (a uuid, b uuid). red_key and blue_key are comma-separated
lists of column names, written as in SQL; the default is the primary key. Use red_object or blue_object instead of a key to treat all rows
with equal values in these columns as one object. Errors: 42804 column definition list does not match the keys; 22004 null in a key; and
those of redblue_segment_pairs.';

CREATE FUNCTION redblue_segment_self_pairs(
	lines regclass,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_segment_self_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pairs IS
'Returns the pairs of rows of one table or view whose closed segments share a point in the plane. Each unordered pair is returned once, and
no row is paired with itself. Columns and errors are those of redblue_segment_pairs.';

CREATE FUNCTION redblue_segment_self_pairs_query(
	lines text,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_segment_self_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pairs_query IS
'Returns the result of redblue_segment_self_pairs for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_segment_self_pairs.';

CREATE FUNCTION redblue_segment_self_pairs_by_key(
	lines regclass,
	lines_key text DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object text DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_segment_self_pairs_by_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pairs_by_key IS
'Returns pairs, as redblue_segment_self_pairs does, for keys of any type, including keys of several columns. Each result row consists of the
two keys as stored, and a column definition list names and types its columns: AS (a uuid, b uuid). lines_key is a comma-separated list of
column names, written as in SQL; the default is the primary key. Use lines_object instead of the key to treat all rows with equal values in
these columns as one object. Errors: 42804 column definition list does not match the keys; 22004 null in a key; and those of
redblue_segment_self_pairs.';

-- ---- boxes ----

CREATE FUNCTION redblue_box_pairs(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_box_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pairs IS
'Returns the pairs of rows of two tables or views whose closed boxes share a point. The result is exact; its order is undefined.
Each side needs an id, and either six numbers lx ly lz hx hy hz or four numbers lx ly hx hy, low <= high; or a geometry without curves,
whose box is computed from its points, not taken from the rounded box in its header, and has three dimensions if the geometry has Z; or a
box3d, a box2d, or a cube with two or three dimensions. All boxes of a call must have the same number of dimensions. Ids and objects are
those of redblue_triangle_pairs.
Errors: 22023 low > high, mixed dimensions or SRIDs; and those of redblue_triangle_pairs.';

CREATE FUNCTION redblue_box_pairs_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_pair
AS 'MODULE_PATHNAME', 'redblue_box_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pairs_query IS
'Returns the result of redblue_box_pairs for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_box_pairs.';

CREATE FUNCTION redblue_box_pairs_by_key(
	red regclass, blue regclass,
	red_key text DEFAULT NULL, blue_key text DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object text DEFAULT NULL, blue_object text DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_box_pairs_by_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pairs_by_key IS
'Returns pairs, as redblue_box_pairs does, for keys of any type, including keys of several columns. Each result row consists of the two keys
as stored, and a column definition list names and types its columns: AS (a uuid, b uuid). red_key and blue_key are comma-separated lists of
column names, written as in SQL; the default is the primary key. Use red_object or blue_object instead of a key to treat all rows with equal
values in these columns as one object. Errors: 42804 column definition list does not match the keys; 22004 null in a key; and those of
redblue_box_pairs.';

CREATE FUNCTION redblue_box_self_pairs(
	boxes regclass,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_box_self_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pairs IS
'Returns the pairs of rows of one table or view whose closed boxes share a point. Each unordered pair is returned once, and no row is paired
with itself. Columns and errors are those of redblue_box_pairs.';

CREATE FUNCTION redblue_box_self_pairs_query(
	boxes text,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_pair
AS 'MODULE_PATHNAME', 'redblue_box_self_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pairs_query IS
'Returns the result of redblue_box_self_pairs for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_box_self_pairs.';

CREATE FUNCTION redblue_box_self_pairs_by_key(
	boxes regclass,
	boxes_key text DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object text DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_box_self_pairs_by_key'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pairs_by_key IS
'Returns pairs, as redblue_box_self_pairs does, for keys of any type, including keys of several columns. Each result row consists of the two
keys as stored, and a column definition list names and types its columns: AS (a uuid, b uuid). boxes_key is a comma-separated list of column
names, written as in SQL; the default is the primary key. Use boxes_object instead of the key to treat all rows with equal values in these
columns as one object. Errors: 42804 column definition list does not match the keys; 22004 null in a key; and those of
redblue_box_self_pairs.';

-- ---- kinds of contact ----

CREATE FUNCTION redblue_triangle_contacts(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_contact
AS 'MODULE_PATHNAME', 'redblue_triangle_contacts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_contacts IS
'Returns the pairs of redblue_triangle_pairs with the kind of each contact: the dimension of the intersection (0 points, 1 curves, 2 areas),
and whether the relative interiors share a point (crosses). The result is exact.
For a row with several triangles, the dimension is the maximum over its triangles, and crosses is true if it is true for one of them. A
degenerate triangle is treated as a segment or point; the interior of a point is the point itself. Arguments, units and errors are those of
redblue_triangle_pairs.';

CREATE FUNCTION redblue_triangle_contacts_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_contact
AS 'MODULE_PATHNAME', 'redblue_triangle_contacts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_contacts_query IS
'Returns the result of redblue_triangle_contacts for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_triangle_contacts.';

CREATE FUNCTION redblue_triangle_self_contacts(
	mesh regclass,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_contact
AS 'MODULE_PATHNAME', 'redblue_triangle_self_contacts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_contacts IS
'Returns the pairs of redblue_triangle_self_pairs with the kind of each contact, as redblue_triangle_contacts does. The result is exact.';

CREATE FUNCTION redblue_triangle_self_contacts_query(
	mesh text,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_contact
AS 'MODULE_PATHNAME', 'redblue_triangle_self_contacts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_contacts_query IS
'Returns the result of redblue_triangle_self_contacts for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_triangle_self_contacts.';

CREATE FUNCTION redblue_segment_triangle_contacts(
	segments regclass, triangles regclass,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_triangle_contact
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_contacts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_contacts IS
'Returns the pairs of redblue_segment_triangle_pairs with the kind of each contact: the dimension of the intersection (0 points, 1 segments),
and whether the relative interiors share a point (crosses). The result is exact. For a row with several segments or triangles, the dimension
is the maximum over these, and crosses is true if it is true for one of them.';

CREATE FUNCTION redblue_segment_triangle_contacts_query(
	segments text, triangles text,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_triangle_contact
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_contacts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_contacts_query IS
'Returns the result of redblue_segment_triangle_contacts for the rows of two queries. Each text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_segment_triangle_contacts.';

CREATE FUNCTION redblue_segment_contacts(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_contact
AS 'MODULE_PATHNAME', 'redblue_segment_contacts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_contacts IS
'Returns the pairs of redblue_segment_pairs with the kind of each contact: the dimension of the intersection (0 points, 1 segments), and
whether the relative interiors share a point (crosses). The result is exact. For a row with several segments, the dimension is the maximum
over these, and crosses is true if it is true for one of them.';

CREATE FUNCTION redblue_segment_contacts_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_contact
AS 'MODULE_PATHNAME', 'redblue_segment_contacts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_contacts_query IS
'Returns the result of redblue_segment_contacts for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_segment_contacts.';

CREATE FUNCTION redblue_segment_self_contacts(
	lines regclass,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_contact
AS 'MODULE_PATHNAME', 'redblue_segment_self_contacts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_contacts IS
'Returns the pairs of redblue_segment_self_pairs with the kind of each contact, as redblue_segment_contacts does. The result is exact.';

CREATE FUNCTION redblue_segment_self_contacts_query(
	lines text,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_contact
AS 'MODULE_PATHNAME', 'redblue_segment_self_contacts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_contacts_query IS
'Returns the result of redblue_segment_self_contacts for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_segment_self_contacts.';

CREATE FUNCTION redblue_triangle_self_intersections(
	mesh regclass,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_intersection
AS 'MODULE_PATHNAME', 'redblue_triangle_self_intersections'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_intersections IS
'Finds self-intersections of a mesh: returns the pairs of rows of redblue_triangle_self_pairs that share more than common vertices and edges,
which are identified by their coordinates, with the dimension of the intersection. The result is exact. Duplicate triangles are reported.
Columns, units and errors are those of redblue_triangle_self_pairs.';

CREATE FUNCTION redblue_triangle_self_intersections_query(
	mesh text,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_intersection
AS 'MODULE_PATHNAME', 'redblue_triangle_self_intersections_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_intersections_query IS
'Returns the result of redblue_triangle_self_intersections for the rows of a query. The text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_triangle_self_intersections.';

CREATE FUNCTION redblue_part_self_intersections(
	mesh regclass,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_part_self_intersection
AS 'MODULE_PATHNAME', 'redblue_part_self_intersections'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_part_self_intersections IS
'Finds self-intersections of rows with many triangles (a Tin, a PolyhedralSurface, or all rows with one value of mesh_object): returns the
pairs of triangles of one row that share more than common vertices and edges, which are identified by their coordinates, with the dimension
of the intersection. The result is exact. Triangles are numbered from 1 in the order of the row; a face with more than three vertices counts
as the triangles of its triangulation. Columns, units and errors are those of redblue_triangle_self_pairs.';

CREATE FUNCTION redblue_part_self_intersections_query(
	mesh text,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_part_self_intersection
AS 'MODULE_PATHNAME', 'redblue_part_self_intersections_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_part_self_intersections_query IS
'Returns the result of redblue_part_self_intersections for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_part_self_intersections.';

-- ---- clearance ----

CREATE FUNCTION redblue_triangle_pairs_within(
	red regclass, blue regclass, distance float8,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_distance
AS 'MODULE_PATHNAME', 'redblue_triangle_pairs_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pairs_within IS
'Returns the pairs of rows of two tables or views whose closed triangles are at most distance apart, with their distance: the double nearest
to the exact distance, and 0 if they share a point. The selection of pairs is exact. For rows with several triangles, the distance is the
minimum over these. With distance 0, the pairs are those of redblue_triangle_pairs. Distances are in the units of the coordinates. Arguments
and errors are those of redblue_triangle_pairs; a distance that is null, or is negative or not finite, raises error 22004 or 22023.';

CREATE FUNCTION redblue_triangle_pairs_within_query(
	red text, blue text, distance float8,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_distance
AS 'MODULE_PATHNAME', 'redblue_triangle_pairs_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pairs_within_query IS
'Returns the result of redblue_triangle_pairs_within for the rows of two queries. Each text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_triangle_pairs_within.';

CREATE FUNCTION redblue_triangle_self_pairs_within(
	mesh regclass, distance float8,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_distance
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pairs_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pairs_within IS
'Returns the pairs of rows of one table or view whose closed triangles are at most distance apart, each unordered pair once, with their
distance, as redblue_triangle_pairs_within does. Columns and errors are those of redblue_triangle_self_pairs.';

CREATE FUNCTION redblue_triangle_self_pairs_within_query(
	mesh text, distance float8,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_distance
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pairs_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pairs_within_query IS
'Returns the result of redblue_triangle_self_pairs_within for the rows of a query. The text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_triangle_self_pairs_within.';

CREATE FUNCTION redblue_segment_triangle_pairs_within(
	segments regclass, triangles regclass, distance float8,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_triangle_distance
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pairs_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pairs_within IS
'Returns the pairs of a row of segments and a row of triangles that are at most distance apart in three dimensions, with their distance, as
redblue_triangle_pairs_within does. Arguments and errors are those of redblue_segment_triangle_pairs.';

CREATE FUNCTION redblue_segment_triangle_pairs_within_query(
	segments text, triangles text, distance float8,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_triangle_distance
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pairs_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pairs_within_query IS
'Returns the result of redblue_segment_triangle_pairs_within for the rows of two queries. Each text is a single read-only SELECT (including
WITH, VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other
text; and those of redblue_segment_triangle_pairs_within.';

CREATE FUNCTION redblue_segment_pairs_within(
	red regclass, blue regclass, distance float8,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_distance
AS 'MODULE_PATHNAME', 'redblue_segment_pairs_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pairs_within IS
'Returns the pairs of rows of two tables or views whose closed segments are at most distance apart in the plane, with their distance, as
redblue_triangle_pairs_within does. Arguments and errors are those of redblue_segment_pairs.';

CREATE FUNCTION redblue_segment_pairs_within_query(
	red text, blue text, distance float8,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_distance
AS 'MODULE_PATHNAME', 'redblue_segment_pairs_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pairs_within_query IS
'Returns the result of redblue_segment_pairs_within for the rows of two queries. Each text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_segment_pairs_within.';

CREATE FUNCTION redblue_segment_self_pairs_within(
	lines regclass, distance float8,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_distance
AS 'MODULE_PATHNAME', 'redblue_segment_self_pairs_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pairs_within IS
'Returns the pairs of rows of one table or view whose closed segments are at most distance apart in the plane, each unordered pair once, with
their distance, as redblue_triangle_pairs_within does. Columns and errors are those of redblue_segment_self_pairs.';

CREATE FUNCTION redblue_segment_self_pairs_within_query(
	lines text, distance float8,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_distance
AS 'MODULE_PATHNAME', 'redblue_segment_self_pairs_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pairs_within_query IS
'Returns the result of redblue_segment_self_pairs_within for the rows of a query. The text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_segment_self_pairs_within.';

CREATE FUNCTION redblue_triangle_nearest(
	red regclass, blue regclass, k int DEFAULT 1, max_distance float8 DEFAULT NULL,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL)
RETURNS SETOF redblue_distance
AS 'MODULE_PATHNAME', 'redblue_triangle_nearest'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_nearest IS
'Returns for each row of red the k nearest rows of blue that are at most max_distance away (null: any distance), with their distance as in
redblue_triangle_pairs_within. The order by distance is exact; rows at the same distance are ordered by id. Returns fewer than k rows if
there are no more. Arguments and errors are those of redblue_triangle_pairs; a k that is null, or is less than 1, raises error 22004 or
22023, and so does a max_distance that is negative or not finite (22023).';

CREATE FUNCTION redblue_triangle_nearest_query(
	red text, blue text, k int DEFAULT 1, max_distance float8 DEFAULT NULL,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL)
RETURNS SETOF redblue_distance
AS 'MODULE_PATHNAME', 'redblue_triangle_nearest_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_nearest_query IS
'Returns the result of redblue_triangle_nearest for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_triangle_nearest.';

-- ---- first hits ----

CREATE FUNCTION redblue_segment_first_hits(
	segments regclass, triangles regclass, limit_hits int DEFAULT 1,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL)
RETURNS SETOF redblue_segment_hit
AS 'MODULE_PATHNAME', 'redblue_segment_first_hits'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_first_hits IS
'Returns for each row of segments the first limit_hits rows of triangles that it meets from its first corner on, with the first point that
they share: its position as a fraction of the length of the line, and its coordinates. The order along the line is exact; rows that it meets
at the same fraction are ordered by id. Fractions and coordinates are the doubles nearest to the exact values. A line that starts on a
triangle meets it at 0, and one that lies in the plane of a triangle meets it where they begin to overlap. The segments of a row are one line,
and so are the rows with one value in segments_object. A line that meets no triangle has no row. Arguments and errors are those of
redblue_segment_triangle_pairs; a limit_hits that is null, or is less than 1, raises error 22004 or 22023.';

CREATE FUNCTION redblue_segment_first_hits_query(
	segments text, triangles text, limit_hits int DEFAULT 1,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL)
RETURNS SETOF redblue_segment_hit
AS 'MODULE_PATHNAME', 'redblue_segment_first_hits_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_first_hits_query IS
'Returns the result of redblue_segment_first_hits for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_segment_first_hits.';

-- ---- solids ----

CREATE FUNCTION redblue_points_in_solids(
	points regclass, solids regclass,
	points_id name DEFAULT NULL, solids_id name DEFAULT NULL,
	points_geom name DEFAULT NULL, solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_point_side
AS 'MODULE_PATHNAME', 'redblue_points_in_solids'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_points_in_solids IS
'Returns the points that lie in a solid, with their side: inside or boundary. The result is exact.
A solid is a row with a closed surface (PolyhedralSurface, Tin or MultiPolygon with Z, with either orientation of faces), or all rows of
triangles with the same value in column solid; points in a cavity are outside. Points are an id, and three numbers x y z or a geometry of
type Point with Z.
A solid that is not closed or intersects itself raises error 22023, which names it; with on_bad => ''skip'' it is skipped, as is a row that
cannot be read, and a notice reports the number of skipped solids with reasons. Ids, units and other errors are those of
redblue_triangle_pairs.';

CREATE FUNCTION redblue_points_in_solids_query(
	points text, solids text,
	points_id name DEFAULT NULL, solids_id name DEFAULT NULL,
	points_geom name DEFAULT NULL, solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_point_side
AS 'MODULE_PATHNAME', 'redblue_points_in_solids_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_points_in_solids_query IS
'Returns the result of redblue_points_in_solids for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_points_in_solids.';

CREATE FUNCTION redblue_segments_in_solids(
	segments regclass, solids regclass,
	segments_id name DEFAULT NULL, solids_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_stretch
AS 'MODULE_PATHNAME', 'redblue_segments_in_solids'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segments_in_solids IS
'Returns the parts of each row of segments (one or several LineStrings, or six numbers) that lie in a solid: one row for each interval, with
its ends as fractions of the length of the line, which are the doubles nearest to the exact values; its length, in the units of the
coordinates, with an error below one unit in the last place; and on_boundary, which is true if the interval lies on the boundary and not
inside.
A line that only touches a solid in points has no interval; a degenerate line has an interval of length 0. Segments are read as by
redblue_segment_triangle_pairs; solids and errors are those of redblue_points_in_solids.';

CREATE FUNCTION redblue_segments_in_solids_query(
	segments text, solids text,
	segments_id name DEFAULT NULL, solids_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_stretch
AS 'MODULE_PATHNAME', 'redblue_segments_in_solids_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segments_in_solids_query IS
'Returns the result of redblue_segments_in_solids for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_segments_in_solids.';

CREATE FUNCTION redblue_solid_pairs(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_solid name DEFAULT NULL, blue_solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_solid_relation
AS 'MODULE_PATHNAME', 'redblue_solid_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_pairs IS
'Returns the pairs of solids of two tables or views that share a point, with their exact relation: touches (their boundaries share points,
but their interiors do not), crosses (their interiors intersect, and neither lies in the other), inside (red lies in blue), contains (blue
lies in red) or equal (they have the same boundary, however it is divided into faces). Solids, red_solid and blue_solid (as solid), on_bad and
errors are those of redblue_points_in_solids.';

CREATE FUNCTION redblue_solid_pairs_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_solid name DEFAULT NULL, blue_solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_solid_relation
AS 'MODULE_PATHNAME', 'redblue_solid_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_pairs_query IS
'Returns the result of redblue_solid_pairs for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_solid_pairs.';

CREATE FUNCTION redblue_solid_check(
	solids regclass,
	solids_id name DEFAULT NULL,
	solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL)
RETURNS SETOF redblue_solid_report
AS 'MODULE_PATHNAME', 'redblue_solid_check'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_check IS
'Checks whether each row (a closed surface, or all rows of triangles with the same value in column solid) is a valid solid. Returns one row
for each: faces, the number of faces; closed, true if every edge belongs to an even number of faces; oriented, true if it is closed and all
normals point outward, including those of cavities; self_intersections, the number of pairs of triangles that share more than common
vertices and edges; reason, a description of the fault with the first edge or faces, or null; valid, true if there is no fault; code, the
number of the first fault in val3dity''s list of ISO 19107 errors, if it is listed; and x, y, z, its location.
A row that cannot be read, for example because a face intersects itself, is not planar or has a NaN coordinate, raises no error: its reason
is reported, and faces and self_intersections are null. Functions that read solids require them to be closed and free of self-intersections,
but accept either orientation of faces. Columns are those of redblue_part_self_intersections.';

CREATE FUNCTION redblue_solid_check_query(
	solids text,
	solids_id name DEFAULT NULL,
	solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL)
RETURNS SETOF redblue_solid_report
AS 'MODULE_PATHNAME', 'redblue_solid_check_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_check_query IS
'Returns the result of redblue_solid_check for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES and TABLE),
which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_solid_check.';

CREATE FUNCTION redblue_solid_overlaps(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_solid name DEFAULT NULL, blue_solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	contact text DEFAULT 'both',
	depth boolean DEFAULT false,
	min_volume float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_solid_overlap
AS 'MODULE_PATHNAME', 'redblue_solid_overlaps'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_overlaps IS
'Returns the volume and the centroid of what two solids share, and the area that their boundaries share (contact_area), for all pairs of
solids of two tables or views whose interiors intersect or whose boundaries share an area. Solids of the second kind have volume 0 and no
centroid. Results are the doubles nearest to the exact values for the stored coordinates, in the units of these; the volume is 0 only if the
interiors do not intersect, contact_area only if the boundaries share no area, and both are Infinity beyond the largest double.
contact selects the faces that contact_area counts: both; against, where the solids are on different sides of the faces, like two boxes that
stand side by side; or flush, where they are on the same side. depth: also computes the depth of the overlap, which is null otherwise: its
least width across the plane of one of its own faces, the largest one if it consists of several pieces; 0 if the interiors do not intersect.
min_volume: leaves out pairs with a smaller exact volume.
Solids, red_solid and blue_solid (as solid), on_bad and errors are those of redblue_points_in_solids; and 22023 invalid contact or
min_volume.';

CREATE FUNCTION redblue_solid_overlaps_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_solid name DEFAULT NULL, blue_solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	contact text DEFAULT 'both',
	depth boolean DEFAULT false,
	min_volume float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_solid_overlap
AS 'MODULE_PATHNAME', 'redblue_solid_overlaps_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_overlaps_query IS
'Returns the result of redblue_solid_overlaps for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_solid_overlaps.';

CREATE FUNCTION redblue_solid_self_overlaps(
	solids regclass,
	solids_id name DEFAULT NULL,
	solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	contact text DEFAULT 'both',
	depth boolean DEFAULT false,
	min_volume float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_solid_self_overlap
AS 'MODULE_PATHNAME', 'redblue_solid_self_overlaps'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_self_overlaps IS
'Returns what two solids of one table or view share, once for each pair of solids whose interiors intersect or whose boundaries share an
area; id1 is the smaller id. Columns, contact, depth, min_volume, solids, solid, on_bad and errors are those of redblue_solid_overlaps.';

CREATE FUNCTION redblue_solid_self_overlaps_query(
	solids text,
	solids_id name DEFAULT NULL,
	solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	contact text DEFAULT 'both',
	depth boolean DEFAULT false,
	min_volume float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_solid_self_overlap
AS 'MODULE_PATHNAME', 'redblue_solid_self_overlaps_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_self_overlaps_query IS
'Returns the result of redblue_solid_self_overlaps for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_solid_self_overlaps.';

CREATE FUNCTION redblue_boxes_in_solids(
	boxes regclass, solids regclass,
	boxes_id name DEFAULT NULL, solids_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL, solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	azimuth float8 DEFAULT NULL, dip float8 DEFAULT NULL, plunge float8 DEFAULT NULL,
	origin float8[] DEFAULT NULL, rotation float8[] DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_box_share
AS 'MODULE_PATHNAME', 'redblue_boxes_in_solids'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_boxes_in_solids IS
'Returns the volume of the part of each box that lies in a solid, and its fraction of the volume of the box, for all boxes and solids whose
interiors intersect: the percent model of a block model. Both are the doubles nearest to the exact values for the stored numbers. The fraction
of a box that lies wholly inside is 1; volume and fraction are never 0, and the volume is Infinity beyond the largest double.
Boxes are an id, and six numbers: ends lx ly lz hx hy hz, or center and size x y z dx dy dz, from x - dx/2 to x + dx/2 exactly; or they are
read as by redblue_box_pairs, in space. The axes of a rotated model are given by azimuth (of its y axis, clockwise from north), plunge (of
its y axis below the horizontal), and dip (of its x axis), in degrees; or by rotation, a matrix R of three rows, which are the axes, as unit
vectors. A point p lies in a box if R (p - origin) lies between its ends, for exactly these doubles; volumes are those in these coordinates.
Solids, solid, on_bad and errors are those of redblue_points_in_solids; error 22023 is also raised if a box has a lower end above the upper
one, a negative size or two dimensions, or if R is not orthogonal within 1e-6; and 0A000 if axes are combined with a tile.';

CREATE FUNCTION redblue_boxes_in_solids_query(
	boxes text, solids text,
	boxes_id name DEFAULT NULL, solids_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL, solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	azimuth float8 DEFAULT NULL, dip float8 DEFAULT NULL, plunge float8 DEFAULT NULL,
	origin float8[] DEFAULT NULL, rotation float8[] DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_box_share
AS 'MODULE_PATHNAME', 'redblue_boxes_in_solids_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_boxes_in_solids_query IS
'Returns the result of redblue_boxes_in_solids for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_boxes_in_solids.';

CREATE FUNCTION redblue_polygon_overlaps(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_polygon_overlap
AS 'MODULE_PATHNAME', 'redblue_polygon_overlaps'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_polygon_overlaps IS
'Returns the area of what two polygons of the plane share, for all pairs of polygons and multipolygons of two tables or views whose interiors
intersect. The area is the double nearest to the exact value for the stored coordinates, in square units of these: what ST_Area of
ST_Intersection approximates. It is never 0, and is Infinity beyond the largest double. X and Y count; Z and M are ignored. Polygons must be
valid by the rules of OGC (ST_IsValid); on_bad => ''skip'' skips invalid ones, and rows that cannot be read, instead of raising an error.
Errors: 22023 invalid polygons, different SRIDs; 42804 other geometry types; and those of redblue_triangle_pairs.';

CREATE FUNCTION redblue_polygon_overlaps_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_polygon_overlap
AS 'MODULE_PATHNAME', 'redblue_polygon_overlaps_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_polygon_overlaps_query IS
'Returns the result of redblue_polygon_overlaps for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_polygon_overlaps.';

CREATE FUNCTION redblue_polygon_self_overlaps(
	polygons regclass,
	polygons_id name DEFAULT NULL,
	polygons_geom name DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_polygon_self_overlap
AS 'MODULE_PATHNAME', 'redblue_polygon_self_overlaps'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_polygon_self_overlaps IS
'Returns the area of what two polygons of one table or view share, for all pairs of different rows whose interiors intersect, each pair once
with the smaller id as id1. Otherwise as redblue_polygon_overlaps.';

CREATE FUNCTION redblue_polygon_self_overlaps_query(
	polygons text,
	polygons_id name DEFAULT NULL,
	polygons_geom name DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_polygon_self_overlap
AS 'MODULE_PATHNAME', 'redblue_polygon_self_overlaps_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_polygon_self_overlaps_query IS
'Returns the result of redblue_polygon_self_overlaps for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_polygon_self_overlaps.';

CREATE FUNCTION redblue_lines_in_polygons(
	lines regclass, polygons regclass,
	lines_id name DEFAULT NULL, polygons_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL, polygons_geom name DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_line_in_polygon
AS 'MODULE_PATHNAME', 'redblue_lines_in_polygons'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_lines_in_polygons IS
'Returns the length of the part of each line that is in each polygon of the plane, for all lines and polygons of two tables or views that
share more than points. A part on the border counts. The length is the double nearest to the exact value for the stored coordinates, in the
units of these; it is never 0, and is Infinity beyond the largest double. Lines are those of redblue_segment_pairs, without Z; polygons,
on_bad and errors are those of redblue_polygon_overlaps.';

CREATE FUNCTION redblue_lines_in_polygons_query(
	lines text, polygons text,
	lines_id name DEFAULT NULL, polygons_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL, polygons_geom name DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_line_in_polygon
AS 'MODULE_PATHNAME', 'redblue_lines_in_polygons_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_lines_in_polygons_query IS
'Returns the result of redblue_lines_in_polygons for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES
and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those
of redblue_lines_in_polygons.';

CREATE FUNCTION redblue_solid_measures(
	solids regclass,
	solids_id name DEFAULT NULL,
	solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error')
RETURNS SETOF redblue_solid_measure
AS 'MODULE_PATHNAME', 'redblue_solid_measures'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_measures IS
'Returns the volume, the area of the boundary, the centroid and the bounding box of each solid. Cavities do not belong to a solid; their walls
count as area. Volume, area and centroid are the doubles nearest to the exact values for the stored coordinates, in the units of these;
a volume or area is never 0, and is Infinity beyond the largest double.
Solids, solid, on_bad, ids and errors are those of redblue_points_in_solids; faces may be oriented either way.';

CREATE FUNCTION redblue_solid_measures_query(
	solids text,
	solids_id name DEFAULT NULL,
	solids_geom name DEFAULT NULL,
	solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error')
RETURNS SETOF redblue_solid_measure
AS 'MODULE_PATHNAME', 'redblue_solid_measures_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_measures_query IS
'Returns the result of redblue_solid_measures for the rows of a query. The text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_solid_measures.';

-- ---- how many ----

CREATE FUNCTION redblue_triangle_pair_count(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_count IS
'Returns the number of rows of redblue_triangle_pairs with the same arguments. Pairs are counted as they are found; if each row is a single
triangle, none are stored.';

CREATE FUNCTION redblue_triangle_pair_count_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_count_query IS
'Returns the number of rows of redblue_triangle_pairs_query with the same arguments.';

CREATE FUNCTION redblue_triangle_self_pair_count(
	mesh regclass,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_count IS
'Returns the number of rows of redblue_triangle_self_pairs with the same arguments. Pairs are counted as they are found; if each row is a
single triangle, none are stored.';

CREATE FUNCTION redblue_triangle_self_pair_count_query(
	mesh text,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_count_query IS
'Returns the number of rows of redblue_triangle_self_pairs_query with the same arguments.';

CREATE FUNCTION redblue_box_pair_count(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_box_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pair_count IS
'Returns the number of rows of redblue_box_pairs with the same arguments. Pairs are counted as they are found; if each row is a single box,
none are stored.';

CREATE FUNCTION redblue_box_pair_count_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_box_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pair_count_query IS
'Returns the number of rows of redblue_box_pairs_query with the same arguments.';

CREATE FUNCTION redblue_box_self_pair_count(
	boxes regclass,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_box_self_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pair_count IS
'Returns the number of rows of redblue_box_self_pairs with the same arguments. Pairs are counted as they are found; if each row is a single
box, none are stored.';

CREATE FUNCTION redblue_box_self_pair_count_query(
	boxes text,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_box_self_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pair_count_query IS
'Returns the number of rows of redblue_box_self_pairs_query with the same arguments.';

CREATE FUNCTION redblue_segment_triangle_pair_count(
	segments regclass, triangles regclass,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pair_count IS
'Returns the number of rows of redblue_segment_triangle_pairs with the same arguments. Pairs are counted as they are found; if each row is a
single segment or triangle, none are stored.';

CREATE FUNCTION redblue_segment_triangle_pair_count_query(
	segments text, triangles text,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pair_count_query IS
'Returns the number of rows of redblue_segment_triangle_pairs_query with the same arguments.';

CREATE FUNCTION redblue_segment_pair_count(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pair_count IS
'Returns the number of rows of redblue_segment_pairs with the same arguments. Pairs are counted as they are found; if each row is a single
segment, none are stored.';

CREATE FUNCTION redblue_segment_pair_count_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pair_count_query IS
'Returns the number of rows of redblue_segment_pairs_query with the same arguments.';

CREATE FUNCTION redblue_segment_self_pair_count(
	lines regclass,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_self_pair_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pair_count IS
'Returns the number of rows of redblue_segment_self_pairs with the same arguments. Pairs are counted as they are found; if each row is a
single segment, none are stored.';

CREATE FUNCTION redblue_segment_self_pair_count_query(
	lines text,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_self_pair_count_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pair_count_query IS
'Returns the number of rows of redblue_segment_self_pairs_query with the same arguments.';

CREATE FUNCTION redblue_triangle_pair_count_within(
	red regclass, blue regclass, distance float8,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_count_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_count_within IS
'Returns the number of rows of redblue_triangle_pairs_within with the same arguments. Pairs are counted as they are found, without being
stored.';

CREATE FUNCTION redblue_triangle_pair_count_within_query(
	red text, blue text, distance float8,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_count_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_count_within_query IS
'Returns the number of rows of redblue_triangle_pairs_within_query with the same arguments.';

CREATE FUNCTION redblue_triangle_self_pair_count_within(
	mesh regclass, distance float8,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_count_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_count_within IS
'Returns the number of rows of redblue_triangle_self_pairs_within with the same arguments. Pairs are counted as they are found, without being
stored.';

CREATE FUNCTION redblue_triangle_self_pair_count_within_query(
	mesh text, distance float8,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_count_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_count_within_query IS
'Returns the number of rows of redblue_triangle_self_pairs_within_query with the same arguments.';

CREATE FUNCTION redblue_segment_triangle_pair_count_within(
	segments regclass, triangles regclass, distance float8,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pair_count_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pair_count_within IS
'Returns the number of rows of redblue_segment_triangle_pairs_within with the same arguments. Pairs are counted as they are found, without
being stored.';

CREATE FUNCTION redblue_segment_triangle_pair_count_within_query(
	segments text, triangles text, distance float8,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pair_count_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pair_count_within_query IS
'Returns the number of rows of redblue_segment_triangle_pairs_within_query with the same arguments.';

CREATE FUNCTION redblue_segment_pair_count_within(
	red regclass, blue regclass, distance float8,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_pair_count_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pair_count_within IS
'Returns the number of rows of redblue_segment_pairs_within with the same arguments. Pairs are counted as they are found, without being
stored.';

CREATE FUNCTION redblue_segment_pair_count_within_query(
	red text, blue text, distance float8,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_pair_count_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pair_count_within_query IS
'Returns the number of rows of redblue_segment_pairs_within_query with the same arguments.';

CREATE FUNCTION redblue_segment_self_pair_count_within(
	lines regclass, distance float8,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_self_pair_count_within'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pair_count_within IS
'Returns the number of rows of redblue_segment_self_pairs_within with the same arguments. Pairs are counted as they are found, without being
stored.';

CREATE FUNCTION redblue_segment_self_pair_count_within_query(
	lines text, distance float8,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_segment_self_pair_count_within_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pair_count_within_query IS
'Returns the number of rows of redblue_segment_self_pairs_within_query with the same arguments.';

-- ---- pairs in blocks ----

CREATE FUNCTION redblue_triangle_pair_blocks(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_block
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_blocks'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_blocks IS
'Returns the pairs of redblue_triangle_pairs in blocks of up to 8192, for programs that process arrays: the number of pairs, and the ids of
each side as bytes, in 8-byte little-endian integers (numpy: frombuffer(red, "<i8")). Arguments and errors are those of
redblue_triangle_pairs.';

CREATE FUNCTION redblue_triangle_pair_blocks_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_block
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_blocks_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_blocks_query IS
'Returns the result of redblue_triangle_pair_blocks for the rows of two queries, given as in redblue_triangle_pairs_query.';

CREATE FUNCTION redblue_triangle_self_pair_blocks(
	mesh regclass,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_block
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_blocks'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_blocks IS
'Returns the pairs of redblue_triangle_self_pairs in blocks of up to 8192, for programs that process arrays: the number of pairs, and the ids
as bytes, in 8-byte little-endian integers (numpy: frombuffer(id1, "<i8")). Arguments and errors are those of redblue_triangle_self_pairs.';

CREATE FUNCTION redblue_triangle_self_pair_blocks_query(
	mesh text,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_block
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_blocks_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_blocks_query IS
'Returns the result of redblue_triangle_self_pair_blocks for the rows of a query, given as in redblue_triangle_self_pairs_query.';

CREATE FUNCTION redblue_segment_triangle_pair_blocks(
	segments regclass, triangles regclass,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_triangle_block
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pair_blocks'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pair_blocks IS
'Returns the pairs of redblue_segment_triangle_pairs in blocks of up to 8192, for programs that process arrays: the number of pairs, and the
ids of each side as bytes, in 8-byte little-endian integers (numpy: frombuffer(segments, "<i8")). Arguments and errors are those of
redblue_segment_triangle_pairs.';

CREATE FUNCTION redblue_segment_triangle_pair_blocks_query(
	segments text, triangles text,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_triangle_block
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pair_blocks_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pair_blocks_query IS
'Returns the result of redblue_segment_triangle_pair_blocks for the rows of two queries, given as in redblue_segment_triangle_pairs_query.';

CREATE FUNCTION redblue_segment_pair_blocks(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_block
AS 'MODULE_PATHNAME', 'redblue_segment_pair_blocks'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pair_blocks IS
'Returns the pairs of redblue_segment_pairs in blocks of up to 8192, for programs that process arrays: the number of pairs, and the ids of
each side as bytes, in 8-byte little-endian integers (numpy: frombuffer(red, "<i8")). Arguments and errors are those of
redblue_segment_pairs.';

CREATE FUNCTION redblue_segment_pair_blocks_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_block
AS 'MODULE_PATHNAME', 'redblue_segment_pair_blocks_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pair_blocks_query IS
'Returns the result of redblue_segment_pair_blocks for the rows of two queries, given as in redblue_segment_pairs_query.';

CREATE FUNCTION redblue_segment_self_pair_blocks(
	lines regclass,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_block
AS 'MODULE_PATHNAME', 'redblue_segment_self_pair_blocks'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pair_blocks IS
'Returns the pairs of redblue_segment_self_pairs in blocks of up to 8192, for programs that process arrays: the number of pairs, and the ids
as bytes, in 8-byte little-endian integers (numpy: frombuffer(id1, "<i8")). Arguments and errors are those of redblue_segment_self_pairs.';

CREATE FUNCTION redblue_segment_self_pair_blocks_query(
	lines text,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_block
AS 'MODULE_PATHNAME', 'redblue_segment_self_pair_blocks_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pair_blocks_query IS
'Returns the result of redblue_segment_self_pair_blocks for the rows of a query, given as in redblue_segment_self_pairs_query.';

CREATE FUNCTION redblue_box_pair_blocks(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_block
AS 'MODULE_PATHNAME', 'redblue_box_pair_blocks'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pair_blocks IS
'Returns the pairs of redblue_box_pairs in blocks of up to 8192, for programs that process arrays: the number of pairs, and the ids of each
side as bytes, in 8-byte little-endian integers (numpy: frombuffer(red, "<i8")). Arguments and errors are those of redblue_box_pairs.';

CREATE FUNCTION redblue_box_pair_blocks_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_block
AS 'MODULE_PATHNAME', 'redblue_box_pair_blocks_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pair_blocks_query IS
'Returns the result of redblue_box_pair_blocks for the rows of two queries, given as in redblue_box_pairs_query.';

CREATE FUNCTION redblue_box_self_pair_blocks(
	boxes regclass,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_block
AS 'MODULE_PATHNAME', 'redblue_box_self_pair_blocks'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pair_blocks IS
'Returns the pairs of redblue_box_self_pairs in blocks of up to 8192, for programs that process arrays: the number of pairs, and the ids as
bytes, in 8-byte little-endian integers (numpy: frombuffer(id1, "<i8")). Arguments and errors are those of redblue_box_self_pairs.';

CREATE FUNCTION redblue_box_self_pair_blocks_query(
	boxes text,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_block
AS 'MODULE_PATHNAME', 'redblue_box_self_pair_blocks_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pair_blocks_query IS
'Returns the result of redblue_box_self_pair_blocks for the rows of a query, given as in redblue_box_self_pairs_query.';

-- ---- tetrahedra ----

CREATE FUNCTION redblue_tetrahedra(
	facets regclass DEFAULT NULL,
	points regclass DEFAULT NULL, segments regclass DEFAULT NULL,
	regions regclass DEFAULT NULL, holes regclass DEFAULT NULL,
	facets_id name DEFAULT NULL, points_id name DEFAULT NULL, segments_id name DEFAULT NULL,
	regions_id name DEFAULT NULL, holes_id name DEFAULT NULL,
	facets_geom name DEFAULT NULL, points_geom name DEFAULT NULL, segments_geom name DEFAULT NULL,
	regions_geom name DEFAULT NULL, holes_geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	keep text DEFAULT 'inside',
	on_crossing text DEFAULT 'error',
	merge "any" DEFAULT 'coplanar'::text,
	weld float8 DEFAULT NULL)
RETURNS TABLE (
	id bigint, v1 bigint, v2 bigint, v3 bigint, v4 bigint, region bigint,
	x1 float8, y1 float8, z1 float8, x2 float8, y2 float8, z2 float8,
	x3 float8, y3 float8, z3 float8, x4 float8, y4 float8, z4 float8)
AS 'MODULE_PATHNAME', 'redblue_tetrahedra'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 100000;
COMMENT ON FUNCTION redblue_tetrahedra IS
'Returns a constrained Delaunay tetrahedralization of facets (triangles or planar polygons of any shape, as read by redblue_triangle_pairs; a
row may have many), points (x y z, or a Point or MultiPoint with Z) and segments (as in redblue_segment_triangle_pairs), each of which is
optional. Each row is a positively oriented tetrahedron: v1 to v4 are the numbers of its vertices, and x1 to z4 their coordinates, in the
units of the input. Every input point is a vertex, with identical coordinates.
keep: inside keeps the tetrahedra that facets enclose (points outside then belong to none); hull keeps all. regions: points whose ids are
assigned as region to the tetrahedra around them, up to the next facets; other regions have numbers that occur in no row. holes: points
around which tetrahedra are removed. The result depends only on the rows and their order.
Facets and segments may share only common vertices and edges; with on_crossing => ''split'' they are split where they cross, at points that
are exact up to rounding, and a notice reports the number of added points. Vertices of facets that still cross after rounding are moved to a
grid as fine as possible; the notice states the largest move.
merge: coplanar makes facets that share an edge and are exactly coplanar one facet; none keeps every edge; an angle in degrees, such as 0.1,
also merges facets inclined by at most that angle to the plane of the largest triangle among them and within a tolerance of it.
weld: a distance; vertices at most that far apart become one, that of the first row; facets that are then equal or have no area are left out, and
a notice reports the numbers and the largest move.
Errors: 22023 facets that cross, overlap, are equal or have no area, a point or segment on a facet of which it is not a vertex or edge,
mixed SRIDs, all points in one plane; 22003 NaN or infinity; 53200 redblue.memory_limit exceeded; and those of redblue_triangle_pairs.';

CREATE FUNCTION redblue_tetrahedra_query(
	facets text DEFAULT NULL,
	points text DEFAULT NULL, segments text DEFAULT NULL,
	regions text DEFAULT NULL, holes text DEFAULT NULL,
	facets_id name DEFAULT NULL, points_id name DEFAULT NULL, segments_id name DEFAULT NULL,
	regions_id name DEFAULT NULL, holes_id name DEFAULT NULL,
	facets_geom name DEFAULT NULL, points_geom name DEFAULT NULL, segments_geom name DEFAULT NULL,
	regions_geom name DEFAULT NULL, holes_geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	keep text DEFAULT 'inside',
	on_crossing text DEFAULT 'error',
	merge "any" DEFAULT 'coplanar'::text,
	weld float8 DEFAULT NULL)
RETURNS TABLE (
	id bigint, v1 bigint, v2 bigint, v3 bigint, v4 bigint, region bigint,
	x1 float8, y1 float8, z1 float8, x2 float8, y2 float8, z2 float8,
	x3 float8, y3 float8, z3 float8, x4 float8, y4 float8, z4 float8)
AS 'MODULE_PATHNAME', 'redblue_tetrahedra_query'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 100000;
COMMENT ON FUNCTION redblue_tetrahedra_query IS
'Returns the result of redblue_tetrahedra for the rows of queries. Each text is a single read-only SELECT (including WITH, VALUES and TABLE),
which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_tetrahedra.';

CREATE TYPE redblue_mesh_counts AS (
	vertices bigint, tets bigint, faces bigint, segments bigint,
	on_segments bigint, on_facets bigint, inside bigint, crossings bigint, regions bigint, solids bigint,
	read_ms float8, weld_ms float8, validate_ms float8, points_ms float8,
	segments_ms float8, facets_ms float8, regions_ms float8, fill_ms float8);
COMMENT ON TYPE redblue_mesh_counts IS
'Holds the numbers of rows of the four tables of a mesh; the numbers of vertices that were added on segments and edges, on facets, elsewhere,
and where facets cross; the numbers of regions and of solids; and the milliseconds of each stage.';

CREATE FUNCTION redblue_tetrahedralize(
	facets regclass DEFAULT NULL,
	mesh text DEFAULT NULL,
	points regclass DEFAULT NULL, segments regclass DEFAULT NULL,
	regions regclass DEFAULT NULL, holes regclass DEFAULT NULL,
	facets_id name DEFAULT NULL, points_id name DEFAULT NULL, segments_id name DEFAULT NULL,
	regions_id name DEFAULT NULL, holes_id name DEFAULT NULL,
	facets_geom name DEFAULT NULL, points_geom name DEFAULT NULL, segments_geom name DEFAULT NULL,
	regions_geom name DEFAULT NULL, holes_geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	keep text DEFAULT 'inside',
	on_crossing text DEFAULT 'error',
	merge "any" DEFAULT 'coplanar'::text,
	weld float8 DEFAULT NULL,
	solid name DEFAULT NULL,
	on_bad text DEFAULT 'error')
RETURNS redblue_mesh_counts
AS 'MODULE_PATHNAME', 'redblue_tetrahedralize'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_tetrahedralize IS
'Stores the mesh of redblue_tetrahedra in four tables: mesh_vertices (id, x, y, z, kind, parent_id), mesh_tets (id, v1, v2, v3, v4, region,
radius_edge, min_dihedral, delaunay), mesh_faces (id, v1, v2, v3, facet_id, polygon) and mesh_segments (id, v1, v2, segment_id, facet_id, segment),
where mesh stands for the argument mesh, with or without a schema. Missing tables are created, with id as primary key; existing tables must
be empty. Columns are found by name, and other columns get their defaults. Ids begin at 1.
kind is input (parent_id is the id in points, or null for a vertex of a facet or an endpoint of a segment), segment (added on the segment
with id parent_id), edge (added on the boundary of the facet with id parent_id), facet (added inside the facet with id parent_id), inside
(added elsewhere) or crossing (added where facets and segments were split). radius_edge is the ratio of circumradius to shortest edge;
min_dihedral is in degrees; delaunay is false where a face on no facet is not Delaunay (redblue_refine). mesh_faces contains the faces that form facets; polygon is the number of the polygon among the rows with that
id. Edges of one segment have the same number in column segment; segment_id is null on the boundary of a facet.
solid, on_bad: mesh each solid separately into the same tables, with a column solid_id, as redblue_refine does.
Errors: 0A000 solid together with sides other than facets; 55000 table is not empty; 42703 and 42804 missing or wrongly typed column; 42501 insufficient privilege; 22004 mesh is null; 42602
mesh is not a valid name; 25006 read-only transaction; and those of redblue_tetrahedra.';

CREATE FUNCTION redblue_tetrahedralize_query(
	facets text DEFAULT NULL,
	mesh text DEFAULT NULL,
	points text DEFAULT NULL, segments text DEFAULT NULL,
	regions text DEFAULT NULL, holes text DEFAULT NULL,
	facets_id name DEFAULT NULL, points_id name DEFAULT NULL, segments_id name DEFAULT NULL,
	regions_id name DEFAULT NULL, holes_id name DEFAULT NULL,
	facets_geom name DEFAULT NULL, points_geom name DEFAULT NULL, segments_geom name DEFAULT NULL,
	regions_geom name DEFAULT NULL, holes_geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	keep text DEFAULT 'inside',
	on_crossing text DEFAULT 'error',
	merge "any" DEFAULT 'coplanar'::text,
	weld float8 DEFAULT NULL,
	solid name DEFAULT NULL,
	on_bad text DEFAULT 'error')
RETURNS redblue_mesh_counts
AS 'MODULE_PATHNAME', 'redblue_tetrahedralize_query'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_tetrahedralize_query IS
'Stores a mesh, as redblue_tetrahedralize does, for the rows of queries, which are given as in redblue_tetrahedra_query.';

CREATE FUNCTION redblue_surface_repair(
	faces regclass,
	weld float8 DEFAULT NULL,
	split boolean DEFAULT true,
	orient boolean DEFAULT true,
	fill_holes integer DEFAULT 0,
	faces_id name DEFAULT NULL,
	faces_geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	solid name DEFAULT NULL)
RETURNS TABLE (
	solid_id bigint, face bigint, id bigint,
	ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8,
	change text[], move float8, faults text[])
AS 'MODULE_PATHNAME', 'redblue_surface_repair'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;
COMMENT ON FUNCTION redblue_surface_repair IS
'Returns the triangles of a surface after repairing it, so that it bounds a solid, with a row for each change. All decisions are exact, and the
result depends only on the coordinates and ids of the rows. Rows of faces are triangles or polygons, or geometries of several, as facets of
redblue_tetrahedra.
weld: vertices connected by steps of at most this distance become the one with the lowest id, as in redblue_tetrahedra; null or 0 joins equal
ones only. Triangles without area are dropped, as are all but one of those with equal vertices; all are dropped where the edges around them
belong to an even number of other faces, as with the wall between two solids.
split: cuts triangles that share more than common vertices and edges.
orient: turns the faces of closed surfaces to the outside, which a ray from there crosses an even number of times; so what two crossing boxes
share is outside. Other surfaces are turned to agree with most faces of each connected part.
fill_holes: closes each loop of at most this number of open edges, which belong to an odd number of faces, by triangles between its vertices; 0
closes none. The triangles meet others in common vertices and edges only. They minimize angles to their neighbors, then the lengths of new edges
or the area, by dynamic programming (Barequet and Sharir 1995, Liepa 2003), in time cubic in the number of edges.
solid: a column of faces; all rows with the same value form a solid, and each is repaired separately, in parallel.
face is the number of the triangle; it and the coordinates are null for triangles that were dropped. id is that of the row it comes from, or
null if it fills a hole.
change is kept, or consists of: moved (move is the largest distance by which a vertex of the input triangle moved), split (it is a piece of a
triangle), turned, filled (it fills a hole), doubled, no area, merged (after cutting, equal to pieces of others, or thinner than rounding). faults is null or contains:
open edge (an edge belongs to an odd number of faces), one-sided (the part cannot be oriented, so none of its faces were turned), or why the hole at
an edge stays open: large hole (more than fill_holes edges), flat hole (collinear vertices), blocked hole (all triangulations that were tried
meet other faces or themselves). Notices report the numbers of changes, holes and faults, and the largest move.
Errors: 22004 faces is null; 22023 invalid weld or fill_holes, a solid that is null, crossing faces that could not be split; 22003, 22P02, 42703, 42804 and 42501 rows or columns that cannot
be read; 53200 memory limit exceeded.';

CREATE FUNCTION redblue_surface_repair_query(
	faces text,
	weld float8 DEFAULT NULL,
	split boolean DEFAULT true,
	orient boolean DEFAULT true,
	fill_holes integer DEFAULT 0,
	faces_id name DEFAULT NULL,
	faces_geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	solid name DEFAULT NULL)
RETURNS TABLE (
	solid_id bigint, face bigint, id bigint,
	ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8,
	change text[], move float8, faults text[])
AS 'MODULE_PATHNAME', 'redblue_surface_repair_query'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;
COMMENT ON FUNCTION redblue_surface_repair_query IS
'Returns the result of redblue_surface_repair for the rows of a query, whose text is a single read-only SELECT.';

CREATE TYPE redblue_refine_counts AS (
	vertices bigint, tets bigint, faces bigint, segments bigint,
	on_segments bigint, on_facets bigint, on_hull bigint, inside bigint, crossings bigint, regions bigint, solids bigint,
	bad bigint, bad_input bigint, bad_surface bigint, bad_full bigint, bad_fine bigint, bad_angle bigint,
	not_delaunay bigint, rounds bigint, smallest_angle float8,
	read_ms float8, weld_ms float8, validate_ms float8, points_ms float8,
	segments_ms float8, facets_ms float8, regions_ms float8, refine_ms float8, fill_ms float8);
COMMENT ON TYPE redblue_refine_counts IS
'Holds the numbers of rows of the four tables of a refined mesh; the numbers of vertices that this call added on segments and edges, on
facets, on the convex hull, elsewhere, and where facets cross; the numbers of regions and of solids; the number of tetrahedra that are still
bad, and of these the numbers caused by angles of the input, by keep_surface, by max_points, by the resolution of doubles, and only by an
angle below min_dihedral; the number of faces on no facet that are not Delaunay, because slivers were removed; the number of rounds; the
smallest dihedral angle in degrees, or null without tetrahedra; and the milliseconds of each stage.';

CREATE FUNCTION redblue_refine(
	facets regclass DEFAULT NULL,
	mesh text DEFAULT NULL,
	points regclass DEFAULT NULL, segments regclass DEFAULT NULL,
	regions regclass DEFAULT NULL, holes regclass DEFAULT NULL,
	facets_id name DEFAULT NULL, points_id name DEFAULT NULL, segments_id name DEFAULT NULL,
	regions_id name DEFAULT NULL, holes_id name DEFAULT NULL,
	facets_geom name DEFAULT NULL, points_geom name DEFAULT NULL, segments_geom name DEFAULT NULL,
	regions_geom name DEFAULT NULL, holes_geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	keep text DEFAULT 'inside',
	on_crossing text DEFAULT 'error',
	merge "any" DEFAULT 'coplanar'::text,
	weld float8 DEFAULT NULL,
	radius_edge float8 DEFAULT 2.0,
	max_volume float8 DEFAULT NULL,
	regions_volume name DEFAULT NULL,
	sizes regclass DEFAULT NULL,
	sizes_id name DEFAULT NULL, sizes_geom name DEFAULT NULL, sizes_volume name DEFAULT NULL,
	keep_surface boolean DEFAULT false,
	max_points bigint DEFAULT 10000000,
	solid name DEFAULT NULL,
	on_bad text DEFAULT 'error',
	min_dihedral float8 DEFAULT 5)
RETURNS redblue_refine_counts
AS 'MODULE_PATHNAME', 'redblue_refine'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_refine IS
'Stores the mesh of redblue_tetrahedralize in the same tables after refining it: adds points until no tetrahedron that can be improved is
bad. A tetrahedron is bad if its circumradius exceeds radius_edge (null: no limit) times its shortest edge, or if its volume exceeds the
limit there: max_volume everywhere; in a region, the value of column regions_volume of regions; and the value of the nearest row of sizes
(points with a column volume, or sizes_volume). NULL or infinity means no limit.
keep_surface: adds no points on segments, facets and the convex hull. max_points: stops, with a notice, at that number of vertices (null: no
limit). The mesh has all properties guaranteed by redblue_tetrahedralize, which redblue_mesh_check verifies. mesh_tets has the radius_edge
and min_dihedral (in degrees) of each tetrahedron; a vertex that was added on the convex hull, off all facets, has kind hull.
Without facets, points and segments, refines the mesh stored in the tables: adds vertices, and replaces the other three tables, whose
readers see the old mesh until the transaction ends; facet_id, polygon, segment_id, segment and region are preserved.
min_dihedral: removes tetrahedra with a dihedral angle below that number of degrees (slivers), as far as possible, by flips, moves of vertices
that this call added inside, and at most one more vertex in ten; 0 or null keeps them. Those that remain are bad. Segments and regions
do not change; faces of a flat facet may be replaced by others with the same corners, unless keep_surface is true. Where something changed,
faces may not be Delaunay, and column delaunay of mesh_tets is false. To refine such a mesh further, it is first made Delaunay by flips, or
built again from its vertices, segments and facets.
solid: a column of facets; all rows with the same value form a solid, and each solid is meshed separately, in parallel, into the same tables,
which have a column solid_id. A solid that cannot be meshed raises an error, that of the smallest such value; with on_bad => ''skip'' it is
skipped, as is a solid with a row that cannot be read; a notice reports the number of skipped solids with reasons, and redblue_last_skipped()
returns them.
Errors: 22023 invalid radius_edge, volume, max_points or min_dihedral; 0A000 solid together with sides other than facets, or refinement of an existing mesh
of several solids; 55000 existing mesh has faults or cannot be built again; and those of redblue_tetrahedralize.';

CREATE FUNCTION redblue_refine_query(
	facets text DEFAULT NULL,
	mesh text DEFAULT NULL,
	points text DEFAULT NULL, segments text DEFAULT NULL,
	regions text DEFAULT NULL, holes text DEFAULT NULL,
	facets_id name DEFAULT NULL, points_id name DEFAULT NULL, segments_id name DEFAULT NULL,
	regions_id name DEFAULT NULL, holes_id name DEFAULT NULL,
	facets_geom name DEFAULT NULL, points_geom name DEFAULT NULL, segments_geom name DEFAULT NULL,
	regions_geom name DEFAULT NULL, holes_geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	keep text DEFAULT 'inside',
	on_crossing text DEFAULT 'error',
	merge "any" DEFAULT 'coplanar'::text,
	weld float8 DEFAULT NULL,
	radius_edge float8 DEFAULT 2.0,
	max_volume float8 DEFAULT NULL,
	regions_volume name DEFAULT NULL,
	sizes text DEFAULT NULL,
	sizes_id name DEFAULT NULL, sizes_geom name DEFAULT NULL, sizes_volume name DEFAULT NULL,
	keep_surface boolean DEFAULT false,
	max_points bigint DEFAULT 10000000,
	solid name DEFAULT NULL,
	on_bad text DEFAULT 'error',
	min_dihedral float8 DEFAULT 5)
RETURNS redblue_refine_counts
AS 'MODULE_PATHNAME', 'redblue_refine_query'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_refine_query IS
'Stores a refined mesh, as redblue_refine does, for the rows of queries, which are given as in redblue_tetrahedra_query.';

CREATE FUNCTION redblue_mesh_check(
	mesh text,
	facets regclass DEFAULT NULL,
	points regclass DEFAULT NULL, segments regclass DEFAULT NULL,
	regions regclass DEFAULT NULL, holes regclass DEFAULT NULL,
	facets_id name DEFAULT NULL, points_id name DEFAULT NULL, segments_id name DEFAULT NULL,
	regions_id name DEFAULT NULL, holes_id name DEFAULT NULL,
	facets_geom name DEFAULT NULL, points_geom name DEFAULT NULL, segments_geom name DEFAULT NULL,
	regions_geom name DEFAULT NULL, holes_geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	keep text DEFAULT 'inside',
	on_crossing text DEFAULT 'error',
	merge "any" DEFAULT 'coplanar'::text,
	weld float8 DEFAULT NULL,
	delaunay boolean DEFAULT NULL)
RETURNS TABLE (
	fault text, vertices bigint[], tets bigint[], faces bigint[], edges bigint[],
	facet_id bigint, polygon int, segment_id bigint, segment bigint, amount float8, region bigint)
AS 'MODULE_PATHNAME', 'redblue_mesh_check'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION redblue_mesh_check IS
'Checks the four tables of a mesh (redblue_tetrahedralize) with exact predicates. Returns one row for each fault, and none for a valid mesh.
Every tetrahedron must have a volume and be positively oriented; faces must be shared by two tetrahedra or lie on the boundary; no vertex
may lie in the circumsphere of a tetrahedron that is adjacent across a face on no facet. If the rows that the mesh was built from are given,
in any order: all input points must be vertices, with identical coordinates; every facet must be a union of faces, and every segment a union
of edges; and regions must have the volumes that their facets enclose, up to rounding.
fault is a description; vertices, tets, faces, edges are ids of rows of the tables; facet_id, polygon, segment_id identify the input;
segment is that of mesh_segments; amount is the size of the fault, which for a volume is the excess as a fraction; region is the region with
the wrong volume. keep, on_crossing, merge and weld must be those with which the mesh was built. Vertices in
circumspheres are accepted between two tetrahedra whose column delaunay is false, as redblue_refine leaves them where it removed slivers;
with delaunay => false everywhere, and with true nowhere.
Errors: 42P01 and 42703 missing table or column; 42501 insufficient privilege; and those of redblue_tetrahedra.';

CREATE FUNCTION redblue_mesh_vtu(
	mesh text,
	facets regclass DEFAULT NULL, regions regclass DEFAULT NULL,
	facets_id name DEFAULT NULL, regions_id name DEFAULT NULL,
	facets_group name DEFAULT NULL, regions_group name DEFAULT NULL,
	split_faults boolean DEFAULT false)
RETURNS bytea
AS 'MODULE_PATHNAME', 'redblue_mesh_vtu'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_mesh_vtu IS
'Returns a mesh (redblue_tetrahedralize) as a file for ParaView (VTK XML, UnstructuredGrid, binary), or null if mesh is null. Cells are the
tetrahedra, followed by the faces of facets. Cell arrays are region, MaterialIDs (the rank of the region, from 0), facet (facet_id),
radius_edge and min_dihedral; the values of cells of the other kind are -1, and NaN for the last two.
facets_group, regions_group: columns of facets and regions, or without these of mesh_faces and mesh_tets, by whose values the file groups
faces and tetrahedra. MaterialIDs then is the rank of the group of the tetrahedron, or -1 for NULL.
split_faults: gives both sides of faces inside a region vertices of their own, except on the rim of such a fault; the faces of the second
sides follow the others.
Errors: 21000 rows with one id belong to different groups; 22023 facets, regions or their ids without a group; 54000 file exceeds the maximum size of a value (1 GB); and those of redblue_mesh_check.';

CREATE FUNCTION redblue_mesh_ogs(
	mesh text,
	surface text DEFAULT NULL,
	facets regclass DEFAULT NULL, regions regclass DEFAULT NULL,
	facets_id name DEFAULT NULL, regions_id name DEFAULT NULL,
	facets_group name DEFAULT NULL, regions_group name DEFAULT NULL,
	split_faults boolean DEFAULT false)
RETURNS bytea
AS 'MODULE_PATHNAME', 'redblue_mesh_ogs'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_mesh_ogs IS
'Returns a mesh (redblue_tetrahedralize) as a file for OpenGeoSys (VTU): the tetrahedra with MaterialIDs, as in redblue_mesh_vtu; or, with
surface (a value of facets_group, or a facet_id), the faces of that group as a boundary mesh with bulk_node_ids, bulk_element_ids and
bulk_face_ids, which refer to the file of the tetrahedra. Errors are those of redblue_mesh_vtu; and 22023 no face belongs to surface.';

CREATE FUNCTION redblue_mesh_gmsh(
	mesh text,
	facets regclass DEFAULT NULL, regions regclass DEFAULT NULL,
	facets_id name DEFAULT NULL, regions_id name DEFAULT NULL,
	facets_group name DEFAULT NULL, regions_group name DEFAULT NULL,
	split_faults boolean DEFAULT false)
RETURNS bytea
AS 'MODULE_PATHNAME', 'redblue_mesh_gmsh'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_mesh_gmsh IS
'Returns a mesh (redblue_tetrahedralize) as a file for Gmsh (MSH 4.1, binary), including the faces of facets, with a physical group for each
region and facet, or for each value of regions_group and facets_group (redblue_mesh_vtu), which is then the name of the group.
Errors are those of redblue_mesh_vtu.';

CREATE FUNCTION redblue_mesh_xdmf(
	mesh text,
	part text DEFAULT 'tets',
	facets regclass DEFAULT NULL, regions regclass DEFAULT NULL,
	facets_id name DEFAULT NULL, regions_id name DEFAULT NULL,
	facets_group name DEFAULT NULL, regions_group name DEFAULT NULL,
	split_faults boolean DEFAULT false)
RETURNS bytea
AS 'MODULE_PATHNAME', 'redblue_mesh_xdmf'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_mesh_xdmf IS
'Returns the tetrahedra of a mesh (redblue_tetrahedralize), or with part => ''facets'' the faces of its facets, as a file for FEniCS (XDMF
with numbers as text). The grid is called mesh; its attribute region or facet has the tags of groups, which are formed and numbered as by
redblue_mesh_gmsh. Both files have the same points. Errors are those of redblue_mesh_vtu; and 22023 invalid part.';

CREATE FUNCTION redblue_mesh_abaqus(
	mesh text,
	facets regclass DEFAULT NULL, regions regclass DEFAULT NULL,
	facets_id name DEFAULT NULL, regions_id name DEFAULT NULL,
	facets_group name DEFAULT NULL, regions_group name DEFAULT NULL,
	split_faults boolean DEFAULT false)
RETURNS bytea
AS 'MODULE_PATHNAME', 'redblue_mesh_abaqus'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_mesh_abaqus IS
'Returns a mesh (redblue_tetrahedralize) as an input file for Abaqus and CalculiX: nodes, an element set of C3D4 for each group of
tetrahedra, and a node set and an element surface for each group of faces. Groups are formed as by redblue_mesh_gmsh. If their names are not
distinct names in Abaqus, all begin with G and a number. Coordinates are rounded to 20 characters. Errors are those of redblue_mesh_vtu.';

-- ---- into a table ----

CREATE FUNCTION redblue_into(target regclass, source text) RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_into' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_into(regclass, text) IS
'Executes INSERT INTO target source and returns the number of rows. source is a single SELECT, typically over a join, whose columns are those
of the target, in order.
Rows are inserted in batches if the target is a plain table without indexes, triggers, constraints other than NOT NULL, column defaults to
apply, policies or partitions; otherwise they are inserted one by one, as by INSERT. Privileges and errors are those of INSERT.';

-- ---- tiles ----

CREATE FUNCTION redblue_tiles(
	red regclass, blue regclass, n int,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	distance float8 DEFAULT 0, dimensions int DEFAULT NULL,
	OUT tile int, OUT tile_low float8[], OUT tile_high float8[], OUT estimated_cost float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_tiles'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 16;
COMMENT ON FUNCTION redblue_tiles IS
'Returns n tiles that partition space into parts of similar cost, for a join of two tables or views, or of one with itself (blue null). Each
row is a tile: its number, from 1; its lower and upper corners, in the units of the coordinates, half open (low <= x < high), and infinite
on the outer sides; and its cost: the number of rows that a join of this tile must read, plus a tenth of the number of pairs with
overlapping boxes that lie in it. The partition is a k-d tree built from a sample of both sides; the same tables always give the same tiles.
Rows are triangles, segments, points or boxes in columns, as in the joins, or any geometry, box3d, box2d or cube (red_geom, blue_geom); with
red_object or blue_object, rows with the same value form one object, and all rows are read, as is also the case for views and foreign
tables. distance: the distance of the join. dimensions: 2 for joins in the plane of rows that have Z.
Errors: 22023 n below 1 or above 1000000, sides with different dimensions; and those of the joins.';

CREATE FUNCTION redblue_tiles_query(
	red text, blue text, n int,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	distance float8 DEFAULT 0, dimensions int DEFAULT NULL,
	OUT tile int, OUT tile_low float8[], OUT tile_high float8[], OUT estimated_cost float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_tiles_query'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 16;
COMMENT ON FUNCTION redblue_tiles_query IS
'Returns tiles, as redblue_tiles does, for the rows of two queries, which are read completely. Each text is a single read-only SELECT
(including WITH, VALUES and TABLE), which is run as the caller. Errors: 0A000 and 42601 any other text; and those of redblue_tiles.';

CREATE FUNCTION redblue_meets_tile(low float8[], high float8[], tile_low float8[], tile_high float8[], distance float8 DEFAULT 0)
RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_meets_tile' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION redblue_meets_tile(float8[], float8[], float8[], float8[], float8) IS
'Returns true if a row with the box from low to high may belong to a pair that lies in the tile (redblue_tiles), for pairs at most distance
apart: if low < tile_high and high + distance >= tile_low along each axis. A join of the tile must read such rows. Corners have two or three
coordinates; the tile is unbounded on a side if tile_low or tile_high is null. Returns null if low or high is null. Errors: 22023 low >
high, NaN, different numbers of dimensions; 22004 null coordinate.';

CREATE FUNCTION redblue_tiles_of(low float8[], high float8[], tile_lows float8[], tile_highs float8[], distance float8 DEFAULT 0)
RETURNS SETOF int
AS 'MODULE_PATHNAME', 'redblue_tiles_of' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100 ROWS 1;
COMMENT ON FUNCTION redblue_tiles_of(float8[], float8[], float8[], float8[], float8) IS
'Returns the tiles to which a row with the box from low to high belongs (redblue_meets_tile), as positions, from 1, in the arrays of corners
array_agg(tile_low ORDER BY tile) and array_agg(tile_high ORDER BY tile) of the result of redblue_tiles. A box belongs to at least one of
the tiles if they fill space. Returns no rows if low or high is null. Errors: 22004 arrays of tiles are null; and those of
redblue_meets_tile.';

-- ---- exact signs ----

CREATE FUNCTION redblue_orient2d(
	ax float8, ay float8, bx float8, by float8, cx float8, cy float8)
RETURNS int
AS 'MODULE_PATHNAME', 'redblue_orient2d' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION redblue_orient2d(float8, float8, float8, float8, float8, float8) IS
'Returns 1 if c lies to the left of the line from a to b, -1 if to the right, and 0 if on it. The result is exact. Errors: 22003 NaN or
infinity.';

CREATE FUNCTION redblue_orient3d(
	ax float8, ay float8, az float8, bx float8, by float8, bz float8,
	cx float8, cy float8, cz float8, dx float8, dy float8, dz float8)
RETURNS int
AS 'MODULE_PATHNAME', 'redblue_orient3d' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION redblue_orient3d(float8, float8, float8, float8, float8, float8,
	float8, float8, float8, float8, float8, float8) IS
'Returns 1 if the vertices a, b, c of the triangle appear counterclockwise from d, -1 if clockwise, and 0 if all four points are coplanar.
The result is the exact sign of (b - a) x (c - a) . (d - a). Errors: 22003 NaN or infinity.';

CREATE FUNCTION redblue_incircle(
	ax float8, ay float8, bx float8, by float8, cx float8, cy float8, dx float8, dy float8)
RETURNS int
AS 'MODULE_PATHNAME', 'redblue_incircle' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION redblue_incircle(float8, float8, float8, float8, float8, float8, float8, float8) IS
'Returns 1 if d lies inside the circle through a, b, c, -1 if outside, and 0 if on it, provided that a, b, c are in counterclockwise order;
the sign is reversed if they are in clockwise order. The result is exact. Errors: 22003 NaN or infinity.';

CREATE FUNCTION redblue_insphere(
	ax float8, ay float8, az float8, bx float8, by float8, bz float8,
	cx float8, cy float8, cz float8, dx float8, dy float8, dz float8,
	ex float8, ey float8, ez float8)
RETURNS int
AS 'MODULE_PATHNAME', 'redblue_insphere' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 15;
COMMENT ON FUNCTION redblue_insphere(float8, float8, float8, float8, float8, float8, float8, float8,
	float8, float8, float8, float8, float8, float8, float8) IS
'Returns 1 if e lies inside the sphere through a, b, c, d, -1 if outside, and 0 if on it, provided that redblue_orient3d(a, b, c, d) = 1; the
sign is reversed if it is -1. The result is exact. Errors: 22003 NaN or infinity.';

-- ---- about itself ----

CREATE FUNCTION redblue_version() RETURNS text
AS 'MODULE_PATHNAME', 'redblue_version' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION redblue_version() IS
'Returns the version of the loaded library.';

CREATE FUNCTION redblue_info(
	OUT version text, OUT build text, OUT gmp text, OUT openmp text, OUT threads int,
	OUT cuda boolean, OUT cuda_device text)
AS 'MODULE_PATHNAME', 'redblue_info' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION redblue_info() IS
'Returns information for bug reports: versions and build, the number of threads of a join, and whether a GPU is usable, with its description
or the reason.';

-- ---- what stays in memory ----

CREATE FUNCTION redblue_cache(
	relation regclass,
	kind text DEFAULT 'triangles',
	id name DEFAULT NULL,
	geom name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	OUT rows bigint, OUT bytes bigint, OUT pages bigint, OUT kept bigint)
AS 'MODULE_PATHNAME', 'redblue_cache'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION redblue_cache IS
'Reads a table as a join would and caches it in memory, so that later joins with the same columns read only pages that have changed. kind is
triangles, segments, segments2d, boxes, polygons or points; id, geom and face_tolerance are those of the joins.
Returns rows, the number of rows with an object; bytes, the size in memory; pages, the number of pages of the table; and kept, the number of
pages that VACUUM has marked all-visible (if it is less than pages, run VACUUM on the table). Caching never changes results.
Errors: 42809 not a plain logged table; 55000 redblue.cache is off; 22023 invalid kind; and those of the joins.';

CREATE FUNCTION redblue_uncache(relation regclass DEFAULT NULL) RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_uncache'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION redblue_uncache IS
'Removes a table, or all tables that the caller owns, from the cache and returns the number of bytes freed. Errors: 42501 the caller does not
own the table.';

CREATE FUNCTION redblue_cached(
	OUT relation regclass, OUT kind text, OUT rows bigint, OUT bytes bigint, OUT device_bytes bigint, OUT pages bigint,
	OUT kept bigint, OUT hits bigint, OUT last_used timestamptz, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_cached'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION redblue_cached IS
'Returns the tables that are cached in memory, and recently joined tables that are not cached, with the reason; only tables that the caller
may read are shown. bytes is the size in main memory, and device_bytes the size in GPU memory; pages is the number of pages of the table,
and kept the number of pages whose cached rows are valid; hits is the number of joins that used the table.';

CREATE FUNCTION redblue_progress(
	OUT pid int, OUT function text, OUT stage text, OUT done bigint, OUT total bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_progress' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION redblue_progress() IS
'Returns the joins that are currently running, one row each: the process ID of the session, the function, the current stage and its progress;
total is null if it is not known. Users see their own sessions; members of pg_read_all_stats see all.';
CREATE VIEW redblue_progress AS SELECT * FROM redblue_progress();
GRANT SELECT ON redblue_progress TO PUBLIC;
COMMENT ON VIEW redblue_progress IS
'Shows the joins that are currently running, as returned by the function redblue_progress().';

CREATE FUNCTION redblue_last_skipped()
RETURNS TABLE (solid_id bigint, reason text, message text, detail text)
AS 'MODULE_PATHNAME', 'redblue_last_skipped' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100;
COMMENT ON FUNCTION redblue_last_skipped() IS
'Returns the solids that the last run of this session skipped because of on_bad => ''skip'', if it was redblue_tetrahedralize or redblue_refine:
one row per solid, with a short reason and with a message that names the rows and the location of the fault. Returns no rows after DISCARD
ALL, and if another role ran it.';

CREATE FUNCTION redblue_last_run()
RETURNS TABLE (stage text, count bigint, milliseconds float8, detail text, backend text, device text)
AS 'MODULE_PATHNAME', 'redblue_last_run' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 9;
COMMENT ON FUNCTION redblue_last_run() IS
'Returns the statistics of the last completed join of this session: one row per stage with its count and its time in milliseconds. Returns no
rows before the first join, after DISCARD ALL, and if another role ran the join. For a join on the CPU, device contains the number of
threads and the reason why no GPU was used.';
