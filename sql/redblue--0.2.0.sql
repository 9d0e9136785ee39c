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

CREATE TYPE redblue_count AS (red_id bigint, pairs bigint);
COMMENT ON TYPE redblue_count IS
'an id of the red side, and how many pairs have it';

CREATE TYPE redblue_self_count AS (id bigint, pairs bigint);
COMMENT ON TYPE redblue_self_count IS
'an id of a table, and how many pairs of its rows have it, as the one or the other';

CREATE TYPE redblue_segment_count AS (segment_id bigint, pairs bigint);
COMMENT ON TYPE redblue_segment_count IS
'an id of segments, and how many pairs with triangles have it';

CREATE TYPE redblue_group AS (red_id bigint, blue_ids bigint[]);
COMMENT ON TYPE redblue_group IS
'an id of the red side, and all ids of the blue side that it is paired with, ascending';

CREATE TYPE redblue_self_group AS (id bigint, ids bigint[]);
COMMENT ON TYPE redblue_self_group IS
'an id of a table, and all ids that it is paired with, ascending';

CREATE TYPE redblue_segment_group AS (segment_id bigint, triangle_ids bigint[]);
COMMENT ON TYPE redblue_segment_group IS
'an id of segments, and all ids of triangles that it is paired with, ascending';

CREATE TYPE redblue_block AS (n int, red bytea, blue bytea);
COMMENT ON TYPE redblue_block IS
'up to 8192 pairs: their number, and the ids of either side, eight bytes each, lowest byte first';

CREATE TYPE redblue_self_block AS (n int, id1 bytea, id2 bytea);
COMMENT ON TYPE redblue_self_block IS
'up to 8192 pairs of rows of one table: their number, and the ids, eight bytes each, lowest byte first';

CREATE TYPE redblue_segment_triangle_block AS (n int, segments bytea, triangles bytea);
COMMENT ON TYPE redblue_segment_triangle_block IS
'up to 8192 pairs: their number, and the ids of segments and triangles, eight bytes each, lowest byte first';

CREATE TYPE redblue_contact AS (red_id bigint, blue_id bigint, dimension smallint, crosses boolean);
COMMENT ON TYPE redblue_contact IS
'a row of the red side and a row of the blue side that share a point; the dimension of all that they share: 0 points, 1 curves, 2 areas;
and whether a point of it is in the relative interiors of both';

CREATE TYPE redblue_self_contact AS (id1 bigint, id2 bigint, dimension smallint, crosses boolean);
COMMENT ON TYPE redblue_self_contact IS
'two rows of one table that share a point; the dimension of all that they share: 0 points, 1 curves, 2 areas; and whether a point of it is
in the relative interiors of both';

CREATE TYPE redblue_segment_triangle_contact AS (segment_id bigint, triangle_id bigint, dimension smallint, crosses boolean);
COMMENT ON TYPE redblue_segment_triangle_contact IS
'a row of segments and a row of triangles that share a point; the dimension of all that they share: 0 points, 1 segments; and whether
a point of it is in the relative interiors of both';

CREATE TYPE redblue_self_intersection AS (id1 bigint, id2 bigint, dimension smallint);
COMMENT ON TYPE redblue_self_intersection IS
'two rows of one mesh that share more than corners and edges that both have; the dimension of all that they share: 0 points, 1 curves, 2 areas';

CREATE TYPE redblue_part_self_intersection AS (id bigint, part1 int, part2 int, dimension smallint);
COMMENT ON TYPE redblue_part_self_intersection IS
'a row, and two triangles of it, counted from 1, that share more than corners and edges that both have; the dimension of all that they
share: 0 points, 1 curves, 2 areas';

CREATE TYPE redblue_distance AS (red_id bigint, blue_id bigint, distance double precision);
COMMENT ON TYPE redblue_distance IS
'a row of the red side and a row of the blue side, and their distance: 0 where they share a point';

CREATE TYPE redblue_self_distance AS (id1 bigint, id2 bigint, distance double precision);
COMMENT ON TYPE redblue_self_distance IS
'two rows of one table, and their distance: 0 where they share a point';

CREATE TYPE redblue_segment_triangle_distance AS (segment_id bigint, triangle_id bigint, distance double precision);
COMMENT ON TYPE redblue_segment_triangle_distance IS
'a row of segments and a row of triangles, and their distance: 0 where they share a point';

CREATE TYPE redblue_point_side AS (point_id bigint, body_id bigint, side text);
COMMENT ON TYPE redblue_point_side IS
'a point and a body that it is in: inside, or on its boundary';

CREATE TYPE redblue_segment_stretch AS (segment_id bigint, body_id bigint, from_fraction double precision, to_fraction double precision,
	length double precision, on_boundary boolean);
COMMENT ON TYPE redblue_segment_stretch IS
'a row of segments and a body, and a stretch of the line that lies in the body: from where to where, as fractions of the length of the line; its length;
and whether it lies on the boundary of the body';

CREATE TYPE redblue_body_relation AS (red_id bigint, blue_id bigint, relation text);
COMMENT ON TYPE redblue_body_relation IS
'a body of the red side and one of the blue side that share a point, and how they lie: the red one crosses, touches, is inside, contains or is equal to the blue one';

CREATE TYPE redblue_body_report AS (id bigint, faces int, closed boolean, oriented boolean, self_intersections bigint, reason text,
	valid boolean, code int, x float8, y float8, z float8);
COMMENT ON TYPE redblue_body_report IS
'a row, and whether it is a body: the number of its faces; is each edge shared by an even number of them? do all normals point outward? how many pairs of its
triangles cross each other; in words what is wrong, or null; is nothing wrong? the number of the first fault in val3dity''s list of errors of ISO 19107, and
where it is, or nulls';

-- ---- planner ----

CREATE FUNCTION redblue_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'redblue_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION redblue_support(internal) IS
'planner support: rows and cost of the functions that join, from the sizes of their tables';

CREATE FUNCTION redblue_at_run_time(OUT at_run_time boolean, OUT while_planning boolean)
AS 'SELECT true, false' LANGUAGE sql IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION redblue_at_run_time() IS
'planner support: a record, of which plans give a field to the functions that count, so that they are not computed to estimate with
their value';

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
'the pairs of rows of two tables or views whose closed triangles share a point, exactly, in no promised order.
Each side: an id (red_id, blue_id; else a primary key of one integer column, else a column id), an integer or a number that holds one;
and nine numbers ax ay az bx by bz cx cy cz, or a geometry with Z (red_geom, blue_geom): Triangle, Polygon, Tin, PolyhedralSurface,
MultiPolygon, GeometryCollection of these. A face of more than three corners, or with holes, is its triangulation, in the plane of the
two axes that it is steepest against; where face_tolerance is given, one whose corners lie farther from its plane is an error.
Where both are there the numbers count, unless the geometry is named. A row is one object; rows with the same value in red_object
(blue_object) are one together, and the pairs are of these values. NULL and EMPTY geometries are skipped.
Coordinates mean exactly the stored float8, in any unit that both sides share. With tile_low, tile_high (half open; null or infinite: no
end) only those pairs for which the larger of the low ends of the two boxes is in the tile, along each axis.
Errors: 22004 null id or coordinate, 22003 NaN or infinity, 22023 no Z, mixed SRIDs, an id with a fraction, faces that cross
themselves, 42703, 42702 and 42804 columns that are missing, ambiguous, of a wrong type, 53200 redblue.memory_limit';

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
'redblue_triangle_pairs over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_triangle_pairs';

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
'redblue_triangle_pairs for keys of any type and of several columns: the pairs are records of the red key and the blue key, as they are
stored, and a column definition list names and types them: AS (a uuid, b uuid). red_key: names of columns as SQL writes them, separated
by commas; left out, the primary key. red_object in its place: rows with equal values there are one object. Errors: 42804 another
list of columns, 22004 a null in a key, and those of redblue_triangle_pairs';

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
'the pairs of rows of one table or view whose closed triangles share a point: each unordered pair once, no row with itself; with
mesh_object the pairs of objects, none with itself. Columns, units and errors as in redblue_triangle_pairs';

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
'redblue_triangle_self_pairs over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_triangle_self_pairs';

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
'redblue_triangle_self_pairs for keys of any type and of several columns: the pairs are records of the two keys, as they are
stored, and a column definition list names and types them: AS (a uuid, b uuid). mesh_key: names of columns as SQL writes them, separated
by commas; left out, the primary key. mesh_object in its place: rows with equal values there are one object. Errors: 42804 another
list of columns, 22004 a null in a key, and those of redblue_triangle_self_pairs';

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
'the pairs of a row of segments and a row of triangles, in three dimensions, that share a point, exactly, in no promised order.
Segments: six numbers ax ay az bx by bz, or a geometry with Z: LineString, MultiLineString, GeometryCollection of these; a row
is one object, however many pieces it has. Triangles, ids, objects, units and errors as in redblue_triangle_pairs. Curves are error 0A000';

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
'redblue_segment_triangle_pairs over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_triangle_pairs';

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
'redblue_segment_triangle_pairs for keys of any type and of several columns: the pairs are records of the two keys, as they are
stored, and a column definition list names and types them: AS (a uuid, b uuid). segments_key: names of columns as SQL writes them, separated
by commas; left out, the primary key. segments_object in its place: rows with equal values there are one object. Errors: 42804 another
list of columns, 22004 a null in a key, and those of redblue_segment_triangle_pairs';

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
'the pairs of rows of two tables or views whose closed segments in the plane share a point, exactly, in no promised order.
Each side: an id, and four numbers ax ay bx by or a geometry, of which x and y count: LineString, MultiLineString,
Polygon and MultiPolygon (their rings, not what these enclose), GeometryCollection of these. A row is one object. Ids, objects and
errors as in redblue_triangle_pairs, 0A000 curves';

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
'redblue_segment_pairs over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_pairs';

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
'redblue_segment_pairs for keys of any type and of several columns: the pairs are records of the red key and the blue key, as they are
stored, and a column definition list names and types them: AS (a uuid, b uuid). red_key: names of columns as SQL writes them, separated
by commas; left out, the primary key. red_object in its place: rows with equal values there are one object. Errors: 42804 another
list of columns, 22004 a null in a key, and those of redblue_segment_pairs';

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
'the pairs of rows of one table or view whose closed segments in the plane share a point: each unordered pair once, no row with
itself. Columns and errors as in redblue_segment_pairs';

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
'redblue_segment_self_pairs over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_self_pairs';

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
'redblue_segment_self_pairs for keys of any type and of several columns: the pairs are records of the two keys, as they are
stored, and a column definition list names and types them: AS (a uuid, b uuid). lines_key: names of columns as SQL writes them, separated
by commas; left out, the primary key. lines_object in its place: rows with equal values there are one object. Errors: 42804 another
list of columns, 22004 a null in a key, and those of redblue_segment_self_pairs';

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
'the pairs of rows of two tables or views whose closed boxes share a point, exactly, in no promised order.
Each side: an id, and six numbers lx ly lz hx hy hz, or lx ly hx hy, low <= high; or a geometry without curves, whose
box is that of its points, not the rounded one in its header, in three dimensions where it has Z; or box3d, box2d, or cube of two
dimensions or three. All boxes of a call have the same number of dimensions.
Errors: 22023 low > high, mixed dimensions or SRIDs, and those of redblue_triangle_pairs. Ids and objects as there';

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
'redblue_box_pairs over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_box_pairs';

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
'redblue_box_pairs for keys of any type and of several columns: the pairs are records of the red key and the blue key, as they are
stored, and a column definition list names and types them: AS (a uuid, b uuid). red_key: names of columns as SQL writes them, separated
by commas; left out, the primary key. red_object in its place: rows with equal values there are one object. Errors: 42804 another
list of columns, 22004 a null in a key, and those of redblue_box_pairs';

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
'the pairs of rows of one table or view whose closed boxes share a point: each unordered pair once, no row with itself.
Columns and errors as in redblue_box_pairs';

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
'redblue_box_self_pairs over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_box_self_pairs';

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
'redblue_box_self_pairs for keys of any type and of several columns: the pairs are records of the two keys, as they are
stored, and a column definition list names and types them: AS (a uuid, b uuid). boxes_key: names of columns as SQL writes them, separated
by commas; left out, the primary key. boxes_object in its place: rows with equal values there are one object. Errors: 42804 another
list of columns, 22004 a null in a key, and those of redblue_box_self_pairs';

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
'the pairs of redblue_triangle_pairs, exactly, and of what kind each is: the dimension of what the two share (0 points, 1 curves, 2 areas),
and whether their relative interiors share a point. A row of several triangles has the highest dimension of its triangles, and crosses
where one of them does. A triangle without area is the segment or the point that it is; the interior of a point is itself. Sides, units and errors
as in redblue_triangle_pairs';

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
'redblue_triangle_contacts over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_triangle_contacts';

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
'the pairs of redblue_triangle_self_pairs, exactly, and of what kind each is, as in redblue_triangle_contacts';

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
'redblue_triangle_self_contacts over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_triangle_self_contacts';

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
'the pairs of redblue_segment_triangle_pairs, exactly, and of what kind each is: the dimension of what the two share (0 points, 1 segments), and
whether their relative interiors share a point. A row of several pieces or triangles has the highest dimension of these, and crosses where one of them does';

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
'redblue_segment_triangle_contacts over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_triangle_contacts';

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
'the pairs of redblue_segment_pairs, exactly, and of what kind each is: the dimension of what the two share (0 points, 1 segments), and whether
their relative interiors share a point. A row of several pieces has the highest dimension of these, and crosses where one of them does';

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
'redblue_segment_contacts over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_contacts';

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
'the pairs of redblue_segment_self_pairs, exactly, and of what kind each is, as in redblue_segment_contacts';

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
'redblue_segment_self_contacts over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_self_contacts';

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
'where a mesh cuts itself: the pairs of rows of redblue_triangle_self_pairs that share more than corners and edges that both have, exactly, by
their coordinates; with the dimension of all that they share. A triangle that is there twice is reported. Columns, units and errors as in redblue_triangle_self_pairs';

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
'redblue_triangle_self_intersections over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_triangle_self_intersections';

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
'where a row of many triangles (a Tin, a PolyhedralSurface, all rows of one mesh_object) cuts itself: the pairs of its triangles that share more than
corners and edges that both have, exactly, by their coordinates; with the dimension of all that they share. Triangles are counted from 1 in the order in which the row has
them; of a face with more than three corners, those of its triangulation. Columns, units and errors as in redblue_triangle_self_pairs';

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
'redblue_part_self_intersections over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_part_self_intersections';

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
'the pairs of rows of two tables or views whose closed triangles are no farther from each other than distance, decided exactly, and how far they are:
the double that is nearest to the true distance, 0 where they share a point. Of rows of several triangles that is the least distance of these. With
distance 0 these are the pairs of redblue_triangle_pairs. distance is in the unit of the coordinates. Sides and errors as in redblue_triangle_pairs, and
22004 and 22023 for a distance that is null, negative or not finite';

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
'redblue_triangle_pairs_within over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_triangle_pairs_within';

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
'the pairs of rows of one table or view whose closed triangles are no farther from each other than distance, each unordered pair once, and how far they are,
as in redblue_triangle_pairs_within. Columns and errors as in redblue_triangle_self_pairs';

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
'redblue_triangle_self_pairs_within over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_triangle_self_pairs_within';

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
'the pairs of a row of segments and a row of triangles, in three dimensions, that are no farther from each other than distance, and how far they are, as in
redblue_triangle_pairs_within. Sides and errors as in redblue_segment_triangle_pairs';

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
'redblue_segment_triangle_pairs_within over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_triangle_pairs_within';

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
'the pairs of rows of two tables or views whose closed segments in the plane are no farther from each other than distance, and how far they are, as in
redblue_triangle_pairs_within. Sides and errors as in redblue_segment_pairs';

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
'redblue_segment_pairs_within over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_pairs_within';

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
'the pairs of rows of one table or view whose closed segments in the plane are no farther from each other than distance, each unordered pair once, and how far
they are, as in redblue_triangle_pairs_within. Columns and errors as in redblue_segment_self_pairs';

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
'redblue_segment_self_pairs_within over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_self_pairs_within';

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
'for each row of red the k rows of blue that are nearest to it, none farther than max_distance (null: any distance), and how far they are, as in
redblue_triangle_pairs_within. The order is exact; of rows at one distance those with the least id come first. Fewer than k where there are no more. Sides and
errors as in redblue_triangle_pairs, and 22004 and 22023 for a k that is null or less than 1, or a max_distance that is negative or not finite';

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
'redblue_triangle_nearest over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_triangle_nearest';

-- ---- bodies ----

CREATE FUNCTION redblue_points_in_bodies(
	points regclass, bodies regclass,
	points_id name DEFAULT NULL, bodies_id name DEFAULT NULL,
	points_geom name DEFAULT NULL, bodies_geom name DEFAULT NULL,
	body name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_point_side
AS 'MODULE_PATHNAME', 'redblue_points_in_bodies'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_points_in_bodies IS
'the points that lie in a body, exactly, and on which side of its boundary: inside, or boundary. A body is a row that is a closed surface (PolyhedralSurface,
Tin, MultiPolygon, all with Z; its faces may be turned either way), or all rows of triangles with one value of the column body; what lies in
a cavity is outside. Points: an id, and three numbers x y z or a geometry: Point with Z. A body that is not closed or crosses itself is error 22023, which names it;
with on_bad => ''skip'' it is left out, as is one that cannot be read, and a notice says how many are, and why. Ids, units and other errors as in redblue_triangle_pairs';

CREATE FUNCTION redblue_points_in_bodies_query(
	points text, bodies text,
	points_id name DEFAULT NULL, bodies_id name DEFAULT NULL,
	points_geom name DEFAULT NULL, bodies_geom name DEFAULT NULL,
	body name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_point_side
AS 'MODULE_PATHNAME', 'redblue_points_in_bodies_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_points_in_bodies_query IS
'redblue_points_in_bodies over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_points_in_bodies';

CREATE FUNCTION redblue_segments_in_bodies(
	segments regclass, bodies regclass,
	segments_id name DEFAULT NULL, bodies_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, bodies_geom name DEFAULT NULL,
	body name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_stretch
AS 'MODULE_PATHNAME', 'redblue_segments_in_bodies'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segments_in_bodies IS
'what of each row of segments (a LineString, several, or six numbers) lies in which body: a row for each stretch, from where to where as fractions of
the length of the line, the doubles nearest to the exact values; its length, in the unit of the coordinates, with an error below one unit in the last place; on_boundary: it
lies on the boundary, not inside. Where a line only touches a body in points there is no stretch; a line that is a point has one of length 0. Segments are read as in
redblue_segment_triangle_pairs, bodies and errors as in redblue_points_in_bodies';

CREATE FUNCTION redblue_segments_in_bodies_query(
	segments text, bodies text,
	segments_id name DEFAULT NULL, bodies_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, bodies_geom name DEFAULT NULL,
	body name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_stretch
AS 'MODULE_PATHNAME', 'redblue_segments_in_bodies_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segments_in_bodies_query IS
'redblue_segments_in_bodies over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segments_in_bodies';

CREATE FUNCTION redblue_body_pairs(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_body name DEFAULT NULL, blue_body name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_body_relation
AS 'MODULE_PATHNAME', 'redblue_body_pairs'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_body_pairs IS
'the pairs of bodies of two tables or views that share a point, and how they lie to each other, exactly: touches (they share points of their boundaries, but
nothing of their insides), crosses (they share some of their insides), inside (red lies in blue), contains (blue lies in red), equal (the same boundary, however it is cut into faces).
Bodies, red_body and blue_body (body), on_bad and errors as in redblue_points_in_bodies';

CREATE FUNCTION redblue_body_pairs_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_body name DEFAULT NULL, blue_body name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_body_relation
AS 'MODULE_PATHNAME', 'redblue_body_pairs_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_body_pairs_query IS
'redblue_body_pairs over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_body_pairs';

CREATE FUNCTION redblue_body_check(
	bodies regclass,
	bodies_id name DEFAULT NULL,
	bodies_geom name DEFAULT NULL,
	body name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL)
RETURNS SETOF redblue_body_report
AS 'MODULE_PATHNAME', 'redblue_body_check'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_body_check IS
'is each row (a closed surface, or all rows of triangles with one value of the column body) a body, and if not, why? A row for each: how many faces it has;
closed: every edge belongs to an even number of faces; oriented: it is closed and all normals point outward, into cavities too; self_intersections: how many pairs of its
triangles share more than corners and edges that both have; reason: in words, with the first edge or faces at fault, null where all is well; valid: there is no reason;
code: the number of the first fault in val3dity''s list of errors of ISO 19107, where it is in that list; x, y, z: where it is. A row that cannot be read, because a face crosses itself,
is not flat, has a coordinate that is NaN, and so on, is no error but has its reason here, and null in faces and self_intersections. The functions that want bodies need
them closed and without self-intersections, and take faces turned either way. Columns as in redblue_part_self_intersections';

CREATE FUNCTION redblue_body_check_query(
	bodies text,
	bodies_id name DEFAULT NULL,
	bodies_geom name DEFAULT NULL,
	body name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL)
RETURNS SETOF redblue_body_report
AS 'MODULE_PATHNAME', 'redblue_body_check_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_body_check_query IS
'redblue_body_check over one query. The text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_body_check';

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
'the number of rows of redblue_triangle_pairs with the same arguments; the pairs are counted where they are found, none is kept where
each row is one triangle';

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
'the number of rows of redblue_triangle_pairs_query with the same arguments';

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
'the number of rows of redblue_triangle_self_pairs with the same arguments; the pairs are counted where they are found, none is kept where
each row is one triangle';

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
'the number of rows of redblue_triangle_self_pairs_query with the same arguments';

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
'the number of rows of redblue_box_pairs with the same arguments; the pairs are counted where they are found, none is kept where
each row is one box';

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
'the number of rows of redblue_box_pairs_query with the same arguments';

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
'the number of rows of redblue_box_self_pairs with the same arguments; the pairs are counted where they are found, none is kept where
each row is one box';

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
'the number of rows of redblue_box_self_pairs_query with the same arguments';

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
'the number of rows of redblue_segment_triangle_pairs with the same arguments; the pairs are counted where they are found, none is kept where
each row is one segment or triangle';

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
'the number of rows of redblue_segment_triangle_pairs_query with the same arguments';

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
'the number of rows of redblue_segment_pairs with the same arguments; the pairs are counted where they are found, none is kept where
each row is one segment';

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
'the number of rows of redblue_segment_pairs_query with the same arguments';

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
'the number of rows of redblue_segment_self_pairs with the same arguments; the pairs are counted where they are found, none is kept where
each row is one segment';

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
'the number of rows of redblue_segment_self_pairs_query with the same arguments';

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
'the number of rows of redblue_triangle_pairs_within with the same arguments; the pairs are counted where they are found';

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
'the number of rows of redblue_triangle_pairs_within_query with the same arguments';

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
'the number of rows of redblue_triangle_self_pairs_within with the same arguments; the pairs are counted where they are found';

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
'the number of rows of redblue_triangle_self_pairs_within_query with the same arguments';

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
'the number of rows of redblue_segment_triangle_pairs_within with the same arguments; the pairs are counted where they are found';

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
'the number of rows of redblue_segment_triangle_pairs_within_query with the same arguments';

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
'the number of rows of redblue_segment_pairs_within with the same arguments; the pairs are counted where they are found';

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
'the number of rows of redblue_segment_pairs_within_query with the same arguments';

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
'the number of rows of redblue_segment_self_pairs_within with the same arguments; the pairs are counted where they are found';

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
'the number of rows of redblue_segment_self_pairs_within_query with the same arguments';

-- ---- what else can be said of the pairs ----

CREATE FUNCTION redblue_triangle_pair_counts(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_count
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_counts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_counts IS
'for each id of red that is in a pair of redblue_triangle_pairs, in how many it is, in the order in which the rows were read: what GROUP BY
would give of the pairs, which are not made where each row is one object. Arguments and errors as there';

CREATE FUNCTION redblue_triangle_pair_counts_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_count
AS 'MODULE_PATHNAME', 'redblue_triangle_pair_counts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pair_counts_query IS
'redblue_triangle_pair_counts over two queries, as in redblue_triangle_pairs_query';

CREATE FUNCTION redblue_triangle_hits(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_hits'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_hits IS
'the ids of red that are in any pair of redblue_triangle_pairs, each once, in the order in which the rows were read; quicker than the pairs:
of a row that is known to meet another nothing more is asked. Arguments and errors as there';

CREATE FUNCTION redblue_triangle_hits_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_hits_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_hits_query IS
'redblue_triangle_hits over two queries, as in redblue_triangle_pairs_query';

CREATE FUNCTION redblue_triangle_pairs_grouped(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_group
AS 'MODULE_PATHNAME', 'redblue_triangle_pairs_grouped'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pairs_grouped IS
'the pairs of redblue_triangle_pairs by red_id: for each one that is in any, all ids of blue that it is paired with, ascending, in an array; in
the order in which the rows were read. Errors: 54000 an array of more than 1 GB, and those of redblue_triangle_pairs';

CREATE FUNCTION redblue_triangle_pairs_grouped_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_group
AS 'MODULE_PATHNAME', 'redblue_triangle_pairs_grouped_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_pairs_grouped_query IS
'redblue_triangle_pairs_grouped over two queries, as in redblue_triangle_pairs_query';

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
'the pairs of redblue_triangle_pairs in packs of up to 8192, for programs that want arrays: how many, and the ids of each side as bytes, eight
each, lowest byte first (numpy: frombuffer(red, "<i8")). Arguments and errors as there';

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
'redblue_triangle_pair_blocks over two queries, as in redblue_triangle_pairs_query';

CREATE FUNCTION redblue_triangle_self_pair_counts(
	mesh regclass,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_count
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_counts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_counts IS
'for each id of mesh that is in a pair of redblue_triangle_self_pairs, in how many it is, as id1 or as id2, in the order in which the rows were read;
the pairs themselves are not made where each row is one triangle. Arguments and errors as there';

CREATE FUNCTION redblue_triangle_self_pair_counts_query(
	mesh text,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_count
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pair_counts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pair_counts_query IS
'redblue_triangle_self_pair_counts over one query, as in redblue_triangle_self_pairs_query';

CREATE FUNCTION redblue_triangle_self_hits(
	mesh regclass,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_self_hits'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_hits IS
'the ids of mesh that are in any pair of redblue_triangle_self_pairs, each once, in the order in which the rows were read; quicker than the pairs: of a
row that is known to meet another nothing more is asked. Arguments and errors as there';

CREATE FUNCTION redblue_triangle_self_hits_query(
	mesh text,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_triangle_self_hits_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_hits_query IS
'redblue_triangle_self_hits over one query, as in redblue_triangle_self_pairs_query';

CREATE FUNCTION redblue_triangle_self_pairs_grouped(
	mesh regclass,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_group
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pairs_grouped'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pairs_grouped IS
'the pairs of redblue_triangle_self_pairs by id: for each id that is in any, all ids that it is paired with, as id1 or as id2, ascending, in an array;
in the order in which the rows were read. Errors: 54000 an array of more than 1 GB, and those of redblue_triangle_self_pairs';

CREATE FUNCTION redblue_triangle_self_pairs_grouped_query(
	mesh text,
	mesh_id name DEFAULT NULL,
	mesh_geom name DEFAULT NULL,
	mesh_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_group
AS 'MODULE_PATHNAME', 'redblue_triangle_self_pairs_grouped_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_self_pairs_grouped_query IS
'redblue_triangle_self_pairs_grouped over one query, as in redblue_triangle_self_pairs_query';

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
'the pairs of redblue_triangle_self_pairs in packs of up to 8192, for programs that want arrays: how many, and the ids as bytes, eight each, lowest
byte first (numpy: frombuffer(id1, "<i8")). Arguments and errors as there';

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
'redblue_triangle_self_pair_blocks over one query, as in redblue_triangle_self_pairs_query';

CREATE FUNCTION redblue_segment_triangle_pair_counts(
	segments regclass, triangles regclass,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_count
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pair_counts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pair_counts IS
'for each id of segments that is in a pair of redblue_segment_triangle_pairs, in how many it is, in the order in which the rows were read: what GROUP BY
would give of the pairs, which are not made where each row is one object. Arguments and errors as there';

CREATE FUNCTION redblue_segment_triangle_pair_counts_query(
	segments text, triangles text,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_count
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pair_counts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pair_counts_query IS
'redblue_segment_triangle_pair_counts over two queries, as in redblue_segment_triangle_pairs_query';

CREATE FUNCTION redblue_segment_triangle_hits(
	segments regclass, triangles regclass,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_hits'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_hits IS
'the ids of segments that are in any pair of redblue_segment_triangle_pairs, each once, in the order in which the rows were read; quicker than the pairs:
of a row that is known to meet another nothing more is asked. Arguments and errors as there';

CREATE FUNCTION redblue_segment_triangle_hits_query(
	segments text, triangles text,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_hits_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_hits_query IS
'redblue_segment_triangle_hits over two queries, as in redblue_segment_triangle_pairs_query';

CREATE FUNCTION redblue_segment_triangle_pairs_grouped(
	segments regclass, triangles regclass,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_group
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pairs_grouped'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pairs_grouped IS
'the pairs of redblue_segment_triangle_pairs by segment_id: for each one that is in any, all ids of triangles that it is paired with, ascending, in an array; in
the order in which the rows were read. Errors: 54000 an array of more than 1 GB, and those of redblue_segment_triangle_pairs';

CREATE FUNCTION redblue_segment_triangle_pairs_grouped_query(
	segments text, triangles text,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_segment_group
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_pairs_grouped_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_pairs_grouped_query IS
'redblue_segment_triangle_pairs_grouped over two queries, as in redblue_segment_triangle_pairs_query';

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
'the pairs of redblue_segment_triangle_pairs in packs of up to 8192, for programs that want arrays: how many, and the ids of each side as bytes, eight
each, lowest byte first (numpy: frombuffer(segments, "<i8")). Arguments and errors as there';

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
'redblue_segment_triangle_pair_blocks over two queries, as in redblue_segment_triangle_pairs_query';

CREATE FUNCTION redblue_segment_pair_counts(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_count
AS 'MODULE_PATHNAME', 'redblue_segment_pair_counts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pair_counts IS
'for each id of red that is in a pair of redblue_segment_pairs, in how many it is, in the order in which the rows were read: what GROUP BY
would give of the pairs, which are not made where each row is one object. Arguments and errors as there';

CREATE FUNCTION redblue_segment_pair_counts_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_count
AS 'MODULE_PATHNAME', 'redblue_segment_pair_counts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pair_counts_query IS
'redblue_segment_pair_counts over two queries, as in redblue_segment_pairs_query';

CREATE FUNCTION redblue_segment_hits(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_segment_hits'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_hits IS
'the ids of red that are in any pair of redblue_segment_pairs, each once, in the order in which the rows were read; quicker than the pairs:
of a row that is known to meet another nothing more is asked. Arguments and errors as there';

CREATE FUNCTION redblue_segment_hits_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_segment_hits_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_hits_query IS
'redblue_segment_hits over two queries, as in redblue_segment_pairs_query';

CREATE FUNCTION redblue_segment_pairs_grouped(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_group
AS 'MODULE_PATHNAME', 'redblue_segment_pairs_grouped'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pairs_grouped IS
'the pairs of redblue_segment_pairs by red_id: for each one that is in any, all ids of blue that it is paired with, ascending, in an array; in
the order in which the rows were read. Errors: 54000 an array of more than 1 GB, and those of redblue_segment_pairs';

CREATE FUNCTION redblue_segment_pairs_grouped_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_group
AS 'MODULE_PATHNAME', 'redblue_segment_pairs_grouped_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_pairs_grouped_query IS
'redblue_segment_pairs_grouped over two queries, as in redblue_segment_pairs_query';

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
'the pairs of redblue_segment_pairs in packs of up to 8192, for programs that want arrays: how many, and the ids of each side as bytes, eight
each, lowest byte first (numpy: frombuffer(red, "<i8")). Arguments and errors as there';

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
'redblue_segment_pair_blocks over two queries, as in redblue_segment_pairs_query';

CREATE FUNCTION redblue_segment_self_pair_counts(
	lines regclass,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_count
AS 'MODULE_PATHNAME', 'redblue_segment_self_pair_counts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pair_counts IS
'for each id of lines that is in a pair of redblue_segment_self_pairs, in how many it is, as id1 or as id2, in the order in which the rows were read;
the pairs themselves are not made where each row is one segment. Arguments and errors as there';

CREATE FUNCTION redblue_segment_self_pair_counts_query(
	lines text,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_count
AS 'MODULE_PATHNAME', 'redblue_segment_self_pair_counts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pair_counts_query IS
'redblue_segment_self_pair_counts over one query, as in redblue_segment_self_pairs_query';

CREATE FUNCTION redblue_segment_self_hits(
	lines regclass,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_segment_self_hits'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_hits IS
'the ids of lines that are in any pair of redblue_segment_self_pairs, each once, in the order in which the rows were read; quicker than the pairs: of a
row that is known to meet another nothing more is asked. Arguments and errors as there';

CREATE FUNCTION redblue_segment_self_hits_query(
	lines text,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_segment_self_hits_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_hits_query IS
'redblue_segment_self_hits over one query, as in redblue_segment_self_pairs_query';

CREATE FUNCTION redblue_segment_self_pairs_grouped(
	lines regclass,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_group
AS 'MODULE_PATHNAME', 'redblue_segment_self_pairs_grouped'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pairs_grouped IS
'the pairs of redblue_segment_self_pairs by id: for each id that is in any, all ids that it is paired with, as id1 or as id2, ascending, in an array;
in the order in which the rows were read. Errors: 54000 an array of more than 1 GB, and those of redblue_segment_self_pairs';

CREATE FUNCTION redblue_segment_self_pairs_grouped_query(
	lines text,
	lines_id name DEFAULT NULL,
	lines_geom name DEFAULT NULL,
	lines_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_group
AS 'MODULE_PATHNAME', 'redblue_segment_self_pairs_grouped_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_self_pairs_grouped_query IS
'redblue_segment_self_pairs_grouped over one query, as in redblue_segment_self_pairs_query';

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
'the pairs of redblue_segment_self_pairs in packs of up to 8192, for programs that want arrays: how many, and the ids as bytes, eight each, lowest
byte first (numpy: frombuffer(id1, "<i8")). Arguments and errors as there';

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
'redblue_segment_self_pair_blocks over one query, as in redblue_segment_self_pairs_query';

CREATE FUNCTION redblue_box_pair_counts(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_count
AS 'MODULE_PATHNAME', 'redblue_box_pair_counts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pair_counts IS
'for each id of red that is in a pair of redblue_box_pairs, in how many it is, in the order in which the rows were read: what GROUP BY
would give of the pairs, which are not made where each row is one object. Arguments and errors as there';

CREATE FUNCTION redblue_box_pair_counts_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_count
AS 'MODULE_PATHNAME', 'redblue_box_pair_counts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pair_counts_query IS
'redblue_box_pair_counts over two queries, as in redblue_box_pairs_query';

CREATE FUNCTION redblue_box_hits(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_box_hits'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_hits IS
'the ids of red that are in any pair of redblue_box_pairs, each once, in the order in which the rows were read; quicker than the pairs:
of a row that is known to meet another nothing more is asked. Arguments and errors as there';

CREATE FUNCTION redblue_box_hits_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_box_hits_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_hits_query IS
'redblue_box_hits over two queries, as in redblue_box_pairs_query';

CREATE FUNCTION redblue_box_pairs_grouped(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_group
AS 'MODULE_PATHNAME', 'redblue_box_pairs_grouped'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pairs_grouped IS
'the pairs of redblue_box_pairs by red_id: for each one that is in any, all ids of blue that it is paired with, ascending, in an array; in
the order in which the rows were read. Errors: 54000 an array of more than 1 GB, and those of redblue_box_pairs';

CREATE FUNCTION redblue_box_pairs_grouped_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_group
AS 'MODULE_PATHNAME', 'redblue_box_pairs_grouped_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_pairs_grouped_query IS
'redblue_box_pairs_grouped over two queries, as in redblue_box_pairs_query';

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
'the pairs of redblue_box_pairs in packs of up to 8192, for programs that want arrays: how many, and the ids of each side as bytes, eight
each, lowest byte first (numpy: frombuffer(red, "<i8")). Arguments and errors as there';

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
'redblue_box_pair_blocks over two queries, as in redblue_box_pairs_query';

CREATE FUNCTION redblue_box_self_pair_counts(
	boxes regclass,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_count
AS 'MODULE_PATHNAME', 'redblue_box_self_pair_counts'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pair_counts IS
'for each id of boxes that is in a pair of redblue_box_self_pairs, in how many it is, as id1 or as id2, in the order in which the rows were read;
the pairs themselves are not made where each row is one box. Arguments and errors as there';

CREATE FUNCTION redblue_box_self_pair_counts_query(
	boxes text,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_count
AS 'MODULE_PATHNAME', 'redblue_box_self_pair_counts_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pair_counts_query IS
'redblue_box_self_pair_counts over one query, as in redblue_box_self_pairs_query';

CREATE FUNCTION redblue_box_self_hits(
	boxes regclass,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_box_self_hits'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_hits IS
'the ids of boxes that are in any pair of redblue_box_self_pairs, each once, in the order in which the rows were read; quicker than the pairs: of a
row that is known to meet another nothing more is asked. Arguments and errors as there';

CREATE FUNCTION redblue_box_self_hits_query(
	boxes text,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'redblue_box_self_hits_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_hits_query IS
'redblue_box_self_hits over one query, as in redblue_box_self_pairs_query';

CREATE FUNCTION redblue_box_self_pairs_grouped(
	boxes regclass,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_group
AS 'MODULE_PATHNAME', 'redblue_box_self_pairs_grouped'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pairs_grouped IS
'the pairs of redblue_box_self_pairs by id: for each id that is in any, all ids that it is paired with, as id1 or as id2, ascending, in an array;
in the order in which the rows were read. Errors: 54000 an array of more than 1 GB, and those of redblue_box_self_pairs';

CREATE FUNCTION redblue_box_self_pairs_grouped_query(
	boxes text,
	boxes_id name DEFAULT NULL,
	boxes_geom name DEFAULT NULL,
	boxes_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL)
RETURNS SETOF redblue_self_group
AS 'MODULE_PATHNAME', 'redblue_box_self_pairs_grouped_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_box_self_pairs_grouped_query IS
'redblue_box_self_pairs_grouped over one query, as in redblue_box_self_pairs_query';

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
'the pairs of redblue_box_self_pairs in packs of up to 8192, for programs that want arrays: how many, and the ids as bytes, eight each, lowest
byte first (numpy: frombuffer(id1, "<i8")). Arguments and errors as there';

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
'redblue_box_self_pair_blocks over one query, as in redblue_box_self_pairs_query';

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
	on_crossing text DEFAULT 'error')
RETURNS TABLE (
	id bigint, v1 bigint, v2 bigint, v3 bigint, v4 bigint, region bigint,
	x1 float8, y1 float8, z1 float8, x2 float8, y2 float8, z2 float8,
	x3 float8, y3 float8, z3 float8, x4 float8, y4 float8, z4 float8)
AS 'MODULE_PATHNAME', 'redblue_tetrahedra'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 100000;
COMMENT ON FUNCTION redblue_tetrahedra IS
'a constrained Delaunay tetrahedralization of facets (triangles, or planar polygons of any shape: what redblue_triangle_pairs reads; a row may have many), points (x y z, or a Point or
MultiPoint with Z) and segments (as in redblue_segment_triangle_pairs), any of which may be left out: a row for each tetrahedron, positively oriented. v1 to v4: numbers of its
corners; x1 to z4: these themselves, in the unit of the coordinates; every point that was given is one of them, bit for bit. keep: inside, the tetrahedra that facets shut off from
outside, or hull, all of them. regions: points whose ids tetrahedra around them, up to the next facets, get as region; other regions get numbers that no row has. holes: points around which
there are to be none. Nothing depends on anything but the rows and their order. Facets and segments may meet in corners and edges that both have, and nowhere else; with on_crossing => ''split'' they
are cut where they do, at points that are exact but for rounding, and a notice says how many. Errors: 22023
facets that cross, overlap, are the same or have no area, a point or segment on a facet that does not list it, mixed SRID, all points in one plane; 22003 NaN or infinity; 53200
redblue.memory_limit; and those of redblue_triangle_pairs';

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
	on_crossing text DEFAULT 'error')
RETURNS TABLE (
	id bigint, v1 bigint, v2 bigint, v3 bigint, v4 bigint, region bigint,
	x1 float8, y1 float8, z1 float8, x2 float8, y2 float8, z2 float8,
	x3 float8, y3 float8, z3 float8, x4 float8, y4 float8, z4 float8)
AS 'MODULE_PATHNAME', 'redblue_tetrahedra_query'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 100000;
COMMENT ON FUNCTION redblue_tetrahedra_query IS
'redblue_tetrahedra over queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_tetrahedra';

CREATE TYPE redblue_mesh_counts AS (
	vertices bigint, tets bigint, faces bigint, segments bigint,
	on_segments bigint, on_facets bigint, inside bigint, crossings bigint, regions bigint,
	read_ms float8, weld_ms float8, validate_ms float8, points_ms float8,
	segments_ms float8, facets_ms float8, regions_ms float8, fill_ms float8);
COMMENT ON TYPE redblue_mesh_counts IS
'rows of the four tables of a mesh; of the vertices, those that were added on segments and edges, on facets, elsewhere, and where facets cross; regions; milliseconds of each stage';

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
	on_crossing text DEFAULT 'error')
RETURNS redblue_mesh_counts
AS 'MODULE_PATHNAME', 'redblue_tetrahedralize'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_tetrahedralize IS
'the mesh of redblue_tetrahedra in four tables: mesh_vertices (id, x, y, z, kind, parent_id), mesh_tets (id, v1, v2, v3, v4, region, radius_edge, min_dihedral), mesh_faces (id, v1, v2, v3, facet_id, polygon),
mesh_segments (id, v1, v2, segment_id, facet_id, segment), where mesh stands for the argument of that name, with a schema or without. They are made, with id as primary key, if they are
not there; filled if they are and hold no rows: columns are found by name, other columns get their defaults. Ids begin at 1. kind: input (parent_id is the id in points, null
for a corner of a facet or an end of a segment), segment (added on a row of segments, whose id is parent_id), edge (on the boundary of a facet: its id), facet (inside of one), inside (elsewhere), crossing (where facets and segments were cut). radius_edge: circumradius to shortest edge; min_dihedral: in degrees.
faces are those that facets are made of: polygon is which polygon of the rows with that id it is. Pieces of one segment have the same number segment; segment_id is null where it is
on the boundary of a facet. Errors: 55000 a table that is not empty, 42703 and 42804 one without these columns, 42501 no right to it, 22004 mesh is null, 42602 it is no name, 25006 a read-only transaction; and those of redblue_tetrahedra';

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
	on_crossing text DEFAULT 'error')
RETURNS redblue_mesh_counts
AS 'MODULE_PATHNAME', 'redblue_tetrahedralize_query'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_tetrahedralize_query IS
'redblue_tetrahedralize over queries, as in redblue_tetrahedra_query';

CREATE TYPE redblue_refine_counts AS (
	vertices bigint, tets bigint, faces bigint, segments bigint,
	on_segments bigint, on_facets bigint, on_hull bigint, inside bigint, crossings bigint, regions bigint, bodies bigint,
	bad bigint, bad_input bigint, bad_surface bigint, bad_full bigint, bad_fine bigint, rounds bigint,
	read_ms float8, weld_ms float8, validate_ms float8, points_ms float8,
	segments_ms float8, facets_ms float8, regions_ms float8, refine_ms float8, fill_ms float8);
COMMENT ON TYPE redblue_refine_counts IS
'rows of the four tables of a refined mesh; vertices that this call has added: on segments and edges, on facets, on the hull, elsewhere, and where facets cross; regions; bodies; tetrahedra
that are still bad, and of these how many because of angles of the input, of keep_surface, of max_points, and because doubles are too coarse; rounds; milliseconds of each stage';

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
	radius_edge float8 DEFAULT 2.0,
	max_volume float8 DEFAULT NULL,
	regions_volume name DEFAULT NULL,
	sizes regclass DEFAULT NULL,
	sizes_id name DEFAULT NULL, sizes_geom name DEFAULT NULL, sizes_volume name DEFAULT NULL,
	keep_surface boolean DEFAULT false,
	max_points bigint DEFAULT NULL,
	body name DEFAULT NULL,
	on_bad text DEFAULT 'error')
RETURNS redblue_refine_counts
AS 'MODULE_PATHNAME', 'redblue_refine'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_refine IS
'the mesh of redblue_tetrahedralize, into the same tables, with points added until no tetrahedron is bad that can be helped: whose circumradius is more than radius_edge (null: any) times its shortest edge, or whose
volume is more than it may be there: max_volume everywhere; in a region what the column regions_volume of regions says; and what the nearest row of sizes says (points with a column volume, or sizes_volume). Null or infinity: any.
keep_surface: no point is added on segments, facets and hull. max_points: it ends, with a notice, at so many vertices. Every promise of redblue_tetrahedralize holds, and redblue_mesh_check checks it. Without facets, points and segments the
mesh that the tables hold is refined: vertices stay and get company, the other three tables are replaced, whose readers see the old mesh until the transaction ends; facet_id, polygon, segment_id, segment and region stay what they
were. mesh_tets has radius_edge and min_dihedral (degrees) of each; a vertex added on the convex hull, off all facets, is of kind hull. body: a column of facets; rows with one value there are a body, and each body is meshed by itself, in parallel;
all go into the same tables, with a column body_id. A body of which no mesh can be made is an error, that of the smallest such value; with on_bad => ''skip'' it is left out, as is one with a row that cannot be read, and a notice says how many are, and why. Errors: 22023
radius_edge, a volume or max_points that is none; 0A000 body with other sides than facets, or a mesh of bodies that is to be refined again; 55000 a mesh that has faults; and those of redblue_tetrahedralize';

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
	radius_edge float8 DEFAULT 2.0,
	max_volume float8 DEFAULT NULL,
	regions_volume name DEFAULT NULL,
	sizes text DEFAULT NULL,
	sizes_id name DEFAULT NULL, sizes_geom name DEFAULT NULL, sizes_volume name DEFAULT NULL,
	keep_surface boolean DEFAULT false,
	max_points bigint DEFAULT NULL,
	body name DEFAULT NULL,
	on_bad text DEFAULT 'error')
RETURNS redblue_refine_counts
AS 'MODULE_PATHNAME', 'redblue_refine_query'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_refine_query IS
'redblue_refine over queries, as in redblue_tetrahedra_query';

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
	on_crossing text DEFAULT 'error')
RETURNS TABLE (
	fault text, vertices bigint[], tets bigint[], faces bigint[], edges bigint[],
	facet_id bigint, polygon int, segment_id bigint, segment bigint, amount float8, region bigint)
AS 'MODULE_PATHNAME', 'redblue_mesh_check'
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION redblue_mesh_check IS
'what is wrong with the four tables of a mesh (redblue_tetrahedralize), by exact signs: a row for each fault, none for a good mesh. Every tetrahedron has a volume and is positively
oriented; faces are shared by two tetrahedra or lie on the boundary; no vertex lies in the sphere of a tetrahedron on the other side of a face that is on no facet. With the rows that it was made of, in any order:
all their points are vertices, bit for bit; every facet is a union of faces, every segment one of edges; regions have the volumes that their facets enclose, but for what rounding explains. fault: in words;
vertices, tets, faces, edges: ids of rows of the tables; facet_id, polygon, segment_id: of the rows; segment: as in mesh_segments; amount: how far, or how much; of a volume the share that the mesh has
too much; region: whose volume that is. keep, on_crossing: as the mesh was made. Errors: 42P01 and 42703 no such table or column,
42501 no right to it, and those of redblue_tetrahedra';

CREATE FUNCTION redblue_mesh_vtu(mesh text) RETURNS bytea
AS 'MODULE_PATHNAME', 'redblue_mesh_vtu'
LANGUAGE C STABLE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_mesh_vtu IS
'the vertices and tetrahedra of a mesh (redblue_tetrahedralize), with their regions, as a file for ParaView: VTK XML, UnstructuredGrid, binary. Null where mesh is null. Errors: 54000 more than a
value can hold (1 GB), and those of redblue_mesh_check';

CREATE FUNCTION redblue_mesh_gmsh(mesh text) RETURNS bytea
AS 'MODULE_PATHNAME', 'redblue_mesh_gmsh'
LANGUAGE C STABLE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_mesh_gmsh IS
'the same as a file for Gmsh, MSH 4.1, binary, with the faces of facets, and regions and facets as physical groups. Errors as in redblue_mesh_vtu';

-- ---- into a table ----

CREATE FUNCTION redblue_into(target regclass, source text) RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_into' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION redblue_into(regclass, text) IS
'INSERT INTO target source, and the number of rows: source is one SELECT, most often over a join, whose columns are those of the target in order.
Rows go in blocks to a plain table without indexes, triggers, constraints but NOT NULL, defaults to fill in, policies, partitions;
in any other case one by one, as INSERT does it. Privileges and errors are those of INSERT';

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
'n tiles that fill space without an overlap and cost about the same, for a join of two tables or views, or of one with itself (blue null): tile, from 1; its low
and high corner, in units of the coordinates, half open (low <= x < high), at the outer sides infinite; its cost: the rows that whoever joins it must read, and a tenth for each pair
whose boxes overlap and that lies in it. Cut by some rows of both sides (k-d tree); the same for the same tables. Rows are triangles, segments, points or boxes in
columns as the joins have them, or any geometry, box3d, box2d or cube (red_geom, blue_geom); red_object, blue_object: rows with one value are one object, and then all are
read, as they are of views and foreign tables. distance: of the pairs that are wanted. dimensions: 2 for joins in the plane of rows that have z. Errors: 22023 for n below 1
or above 1000000 and for sides of different dimensions, and those of the joins';

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
'redblue_tiles for the rows of two queries, which are read to their ends. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller.
Errors: 0A000 and 42601 for any other text, and those of redblue_tiles';

CREATE FUNCTION redblue_meets_tile(low float8[], high float8[], tile_low float8[], tile_high float8[], distance float8 DEFAULT 0)
RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_meets_tile' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION redblue_meets_tile(float8[], float8[], float8[], float8[], float8) IS
'may a row whose box is from low to high be in a pair that lies in that tile (redblue_tiles), of rows that are no farther apart than distance? Along each axis: low < tile_high and high + distance
>= tile_low. So whoever joins the tile needs it. In units of the coordinates, two or three of them; tile_low or tile_high null: no end on that side. Null where low or high is. Errors: 22023 for what is no
box, NaN, different numbers of dimensions, 22004 for a null among the coordinates';

CREATE FUNCTION redblue_tiles_of(low float8[], high float8[], tile_lows float8[], tile_highs float8[], distance float8 DEFAULT 0)
RETURNS SETOF int
AS 'MODULE_PATHNAME', 'redblue_tiles_of' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100 ROWS 1;
COMMENT ON FUNCTION redblue_tiles_of(float8[], float8[], float8[], float8[], float8) IS
'the tiles that a row whose box is from low to high belongs to (redblue_meets_tile), by their places, from 1, in arrays of corners: array_agg(tile_low ORDER BY tile), array_agg(tile_high ORDER BY tile)
of what redblue_tiles returns. Of tiles that fill space a box meets one at least. None where low or high is null. Errors: 22004 for no tiles (null), and those of redblue_meets_tile';

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
'reads a table as a join would, and keeps it in memory: later joins with the same columns read only pages that have changed. kind: triangles,
segments, segments2d, boxes; id, geom, face_tolerance as in the joins. rows: those with an object; bytes: of memory; pages: of the
table; kept: of these, those that VACUUM has marked all-visible (fewer than pages: VACUUM the table). It is never needed for an answer.
Errors: 42809 what is no plain logged table, 55000 redblue.cache is off, 22023 an unknown kind, and those of the joins';

CREATE FUNCTION redblue_uncache(relation regclass DEFAULT NULL) RETURNS bigint
AS 'MODULE_PATHNAME', 'redblue_uncache'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION redblue_uncache IS
'gives up what is kept of a table, or of all tables that the caller owns, and returns the bytes that were freed. Errors: 42501 the caller
does not own the table';

CREATE FUNCTION redblue_cached(
	OUT relation regclass, OUT kind text, OUT rows bigint, OUT bytes bigint, OUT device_bytes bigint, OUT pages bigint,
	OUT kept bigint, OUT hits bigint, OUT last_used timestamptz, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_cached'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION redblue_cached IS
'the tables that are kept in memory, and those lately joined that are not, with the reason; of those that the caller may read. bytes: of
memory, device_bytes: of the GPU''s; pages: of the table, kept: those of them that are valid; hits: joins that used it';

CREATE FUNCTION redblue_progress(
	OUT pid int, OUT function text, OUT stage text, OUT done bigint, OUT total bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_progress' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION redblue_progress() IS
'the joins that run now, one row each: the process of the session, the function, the stage at work, and how much of it is done;
total is null where it is not known. Shown are the caller''s own sessions, to members of pg_read_all_stats all';
CREATE VIEW redblue_progress AS SELECT * FROM redblue_progress();
GRANT SELECT ON redblue_progress TO PUBLIC;
COMMENT ON VIEW redblue_progress IS 'the joins that run now, as the function of that name tells';

CREATE FUNCTION redblue_last_run()
RETURNS TABLE (stage text, count bigint, milliseconds float8, detail text, backend text, device text)
AS 'MODULE_PATHNAME', 'redblue_last_run' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 9;
COMMENT ON FUNCTION redblue_last_run() IS
'what the last join of this session that came to its end did: one row per stage with its count and its milliseconds; no rows before the first,
after DISCARD ALL, and where another role ran it.
On the CPU, device has the number of threads, and why no GPU was used';
