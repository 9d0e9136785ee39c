/* redblue_postgis: exact questions about two geometries, in WHERE and JOIN ... ON */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION redblue_postgis" to load this file. \quit

CREATE FUNCTION redblue_geometry_support(internal) RETURNS internal
AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION redblue_geometry_support IS
'what the planner asks of functions of two geometries: which index serves them, and how many rows are left';

CREATE FUNCTION redblue_reach(geometry, distance float8 DEFAULT 0) RETURNS geometry
AS 'MODULE_PATHNAME', 'redblue_geometry_reach' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION redblue_reach IS
'the box of a geometry, larger by a distance (in units of its SRID) on all sides, as a line from its low corner to its high one; with Z if the geometry has Z, without M.
What is within that distance has a box that overlaps (&&, &&&). Null of an empty geometry; 22023 for a distance that is negative or no number';

CREATE FUNCTION redblue_intersects(geom1 geometry, geom2 geometry) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_intersects' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT redblue_geometry_support;
COMMENT ON FUNCTION redblue_intersects IS
'do two geometries share a point? Exactly, of all types but curves. Where both have Z, in space: a surface is its faces, of which each has any number of corners and holes, and a
solid is its surface; else as they lie in the plane, where polygons are areas. False where one is empty. GiST, SP-GiST and BRIN indexes of geometry serve it. Errors: 22023
for different SRIDs and for faces that are none, 0A000 for curves, 22003 for coordinates that are not finite';

CREATE FUNCTION redblue_crosses(geom1 geometry, geom2 geometry) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_crosses' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT redblue_geometry_support;
COMMENT ON FUNCTION redblue_crosses IS
'do two geometries meet in a point that is inside of a face or segment of both (of its relative interior), and not only touch? As in the column crosses of redblue_triangle_contacts. Else as redblue_intersects';

CREATE FUNCTION redblue_contact(geom1 geometry, geom2 geometry) RETURNS text
AS 'MODULE_PATHNAME', 'redblue_geometry_contact' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION redblue_contact IS
'how two geometries meet: disjoint, or touch or cross (redblue_crosses), in points, along lines or along areas, by what of most dimensions they share. Else as redblue_intersects';

CREATE FUNCTION redblue_dwithin(geom1 geometry, geom2 geometry, distance float8) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_dwithin' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT redblue_geometry_support;
COMMENT ON FUNCTION redblue_dwithin IS
'are two geometries at most that distance apart (in units of their SRID), exactly? 22023 for a distance that is negative or no number; else as redblue_intersects';

CREATE FUNCTION redblue_distance(geom1 geometry, geom2 geometry) RETURNS float8
AS 'MODULE_PATHNAME', 'redblue_geometry_distance' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION redblue_distance IS
'the double nearest to the distance of two geometries (in units of their SRID), 0 only where they share a point; null where one is empty. Else as redblue_intersects';

CREATE FUNCTION redblue_inside(geom geometry, body geometry) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_inside' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 20000 SUPPORT redblue_geometry_support;
COMMENT ON FUNCTION redblue_inside IS
'does a geometry lie in a body, exactly? The body is a closed surface with Z that does not cross itself. Points, lines: no point of them is outside, and some are not on the boundary
(redblue_points_in_bodies, redblue_segments_in_bodies). A surface that is not closed: the same of its points. A closed one is a body, too: is it inside of the second (redblue_body_pairs)? False where one
is empty. GiST, SP-GiST and BRIN indexes of geometry serve it. Errors: 22023 for what is no body, for different SRIDs and for geometries without Z, and those of redblue_intersects';

CREATE FUNCTION redblue_position(geom geometry, body geometry) RETURNS text
AS 'MODULE_PATHNAME', 'redblue_geometry_position' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 20000;
COMMENT ON FUNCTION redblue_position IS
'how a point, line, surface or body lies to a body, exactly: inside (redblue_inside: no point of it is outside, and some are not on the boundary), boundary (all of it is on the boundary), crossing (some of it is
inside, and some outside), outside (no point of it is inside; it may touch the boundary), or, of two bodies, equal. Null where one is empty. Errors as of redblue_inside';

-- ---- geometries out ----

CREATE FUNCTION redblue_faces(surface geometry, OUT face int, OUT part int, OUT geom geometry) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_geometry_faces' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 1000 ROWS 20;
COMMENT ON FUNCTION redblue_faces IS
'the triangles that the faces of a surface or solid are for redblue: the number of the face, that of the triangle (part), both from 1 as the joins count them (empty faces
are not counted), and the triangle, with the SRID of the geometry and with Z if it has Z. Of faces without an area the parts are their edges. Errors: 42804 for points and lines, and those of redblue_intersects';

CREATE FUNCTION redblue_intersection(geom1 geometry, geom2 geometry) RETURNS geometry
AS 'MODULE_PATHNAME', 'redblue_geometry_intersection' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION redblue_intersection IS
'what two geometries share: points, lines, polygons, several of one kind as a multi geometry, of several kinds as a collection; an empty collection where it is nothing. Curves in which faces meet
are as few lines as there are curves, closed where they close; areas that faces have in common are polygons with holes, turned as those of the first geometry. Each coordinate is the
double nearest to where the point is exactly. With the SRID of the two, and with Z if both have Z; else as they lie in the plane. Errors as of redblue_intersects';

-- ---- geometries of all pairs of two tables ----

CREATE FUNCTION redblue_triangle_intersections(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL,
	OUT red_id bigint, OUT blue_id bigint, OUT geom geometry)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_triangle_intersections'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_intersections IS
'the pairs of redblue_triangle_pairs, exactly, and what the two of each share: a POINT Z, LINESTRING Z or POLYGON Z, several of one kind as a multi geometry, of several kinds
as a collection. Curves in which faces meet are as few lines as there are curves, closed where they close. Each coordinate is the double nearest to where the point is exactly, in units of the SRID, which is
that of the tables (0 for coordinates). Arguments and errors as of redblue_triangle_pairs';

CREATE FUNCTION redblue_triangle_intersections_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL,
	OUT red_id bigint, OUT blue_id bigint, OUT geom geometry)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_triangle_intersections_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_triangle_intersections_query IS
'redblue_triangle_intersections over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_triangle_intersections';

CREATE FUNCTION redblue_segment_triangle_intersections(
	segments regclass, triangles regclass,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL,
	OUT segment_id bigint, OUT triangle_id bigint, OUT geom geometry, OUT from_fraction float8, OUT to_fraction float8, OUT fractions float8[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_intersections'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_intersections IS
'Returns the pairs of redblue_segment_triangle_pairs, exactly, with what the two of each share (points and lines, as in redblue_triangle_intersections), and where on the line that is, as fractions of
the length of the whole line (0 to 1), the doubles nearest to the exact values: where it begins and ends, and in fractions each place, {{from, to}, ...}, in order; from equals to where the line meets the
triangles in a point. Arguments and errors as of redblue_segment_triangle_pairs';

CREATE FUNCTION redblue_segment_triangle_intersections_query(
	segments text, triangles text,
	segments_id name DEFAULT NULL, triangles_id name DEFAULT NULL,
	segments_geom name DEFAULT NULL, triangles_geom name DEFAULT NULL,
	segments_object name DEFAULT NULL, triangles_object name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL,
	OUT segment_id bigint, OUT triangle_id bigint, OUT geom geometry, OUT from_fraction float8, OUT to_fraction float8, OUT fractions float8[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_segment_triangle_intersections_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_triangle_intersections_query IS
'redblue_segment_triangle_intersections over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_triangle_intersections';

CREATE FUNCTION redblue_segment_intersections(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL,
	OUT red_id bigint, OUT blue_id bigint, OUT geom geometry)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_segment_intersections'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_intersections IS
'the pairs of redblue_segment_pairs, in the plane, exactly, and what the two of each share: points and lines without Z, as in redblue_triangle_intersections. Arguments and errors as of redblue_segment_pairs';

CREATE FUNCTION redblue_segment_intersections_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_object name DEFAULT NULL, blue_object name DEFAULT NULL,
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL,
	OUT red_id bigint, OUT blue_id bigint, OUT geom geometry)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_segment_intersections_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_segment_intersections_query IS
'redblue_segment_intersections over two queries. Each text is one read-only SELECT (WITH, VALUES, TABLE included), run as the caller, whose
columns are found by name, as those of a table. Errors: 0A000 and 42601 for any other text, and those of redblue_segment_intersections';

-- ---- tiles ----

CREATE FUNCTION redblue_meets_tile(geom geometry, tile_low float8[], tile_high float8[], distance float8 DEFAULT 0) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_meets_tile' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION redblue_meets_tile(geometry, float8[], float8[], float8) IS
'may a geometry be in a pair that lies in that tile (redblue_tiles), of geometries that are no farther apart than distance? By its box, of its own coordinates (not of PostGIS''s floats), as
redblue_meets_tile of two arrays. With Z it has a tile of two dimensions, too. Null of null, false of an empty geometry. Errors: 22023 for a geometry without Z and a tile of three dimensions, and those
of redblue_intersects and of redblue_meets_tile';

CREATE FUNCTION redblue_tiles_of(geom geometry, tile_lows float8[], tile_highs float8[], distance float8 DEFAULT 0) RETURNS SETOF int
AS 'MODULE_PATHNAME', 'redblue_geometry_tiles_of' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200 ROWS 1;
COMMENT ON FUNCTION redblue_tiles_of(geometry, float8[], float8[], float8) IS
'the tiles that a geometry belongs to (redblue_meets_tile), by their places, from 1, in arrays of corners: array_agg(tile_low ORDER BY tile), array_agg(tile_high ORDER BY tile) of what redblue_tiles
returns. None of null and of an empty geometry. Errors: 22004 for no tiles (null), and those of redblue_meets_tile';

-- ---- meshes ----

CREATE FUNCTION redblue_mesh_to_geometry(mesh text, srid int DEFAULT 0, OUT region bigint, OUT geom geometry) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_mesh_to_geometry' LANGUAGE C STABLE STRICT PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION redblue_mesh_to_geometry IS
'the surface of each region of a mesh (redblue_tetrahedralize, redblue_refine), as a TIN Z with that SRID: the faces of its tetrahedra behind which there is another region, or nothing, counterclockwise
seen from outside. A face between two regions is in both surfaces. Errors: 22023 for another SRID, 54000 for more than a value can hold (1 GB), and those of redblue_mesh_vtu';
