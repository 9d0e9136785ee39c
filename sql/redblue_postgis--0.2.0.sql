/* redblue_postgis: exact questions about two geometries, in WHERE and JOIN ... ON */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION redblue_postgis" to load this file. \quit

CREATE FUNCTION redblue_geometry_support(internal) RETURNS internal
AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION redblue_geometry_support IS
'Provides the planner with usable indexes and selectivities for functions of two geometries (planner support function).';

CREATE FUNCTION redblue_reach(geometry, distance float8 DEFAULT 0) RETURNS geometry
AS 'MODULE_PATHNAME', 'redblue_geometry_reach' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION redblue_reach IS
'Returns the bounding box of a geometry, expanded by a distance (in units of its SRID) on all sides, as a line from its lower to its upper
corner, with Z if the geometry has Z, and without M. The box of any geometry within that distance overlaps it (&&, &&&). Returns null for an
empty geometry. Errors: 22023 distance is negative or NaN.';

CREATE FUNCTION redblue_intersects(geom1 geometry, geom2 geometry) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_intersects' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT redblue_geometry_support;
COMMENT ON FUNCTION redblue_intersects IS
'Returns true if two geometries share a point. The result is exact, for all types except curves. If both have Z, they are compared in space:
a surface is the union of its faces, each with any number of vertices and holes, and a solid is its surface; otherwise they are compared in
the plane, where polygons are areas. Returns false if one is empty. GiST, SP-GiST and BRIN indexes on geometry are used.
Errors: 22023 different SRIDs or invalid faces; 0A000 curves; 22003 coordinates that are not finite.';

CREATE FUNCTION redblue_crosses(geom1 geometry, geom2 geometry) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_crosses' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT redblue_geometry_support;
COMMENT ON FUNCTION redblue_crosses IS
'Returns true if two geometries share a point in the relative interior of a face or segment of each, rather than only touching, like column
crosses of redblue_triangle_contacts. Works like redblue_intersects in all other respects.';

CREATE FUNCTION redblue_contact(geom1 geometry, geom2 geometry) RETURNS text
AS 'MODULE_PATHNAME', 'redblue_geometry_contact' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION redblue_contact IS
'Describes how two geometries meet: disjoint, or touch or cross (see redblue_crosses) in points, along lines or along areas, according to the
highest dimension of their intersection. Works like redblue_intersects in all other respects.';

CREATE FUNCTION redblue_dwithin(geom1 geometry, geom2 geometry, distance float8) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_dwithin' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT redblue_geometry_support;
COMMENT ON FUNCTION redblue_dwithin IS
'Returns true if two geometries are at most the given distance apart (in units of their SRID). The result is exact. Errors: 22023 distance is
negative or NaN, and those of redblue_intersects.';

CREATE FUNCTION redblue_distance(geom1 geometry, geom2 geometry) RETURNS float8
AS 'MODULE_PATHNAME', 'redblue_geometry_distance' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION redblue_distance IS
'Returns the double nearest to the distance of two geometries (in units of their SRID), which is 0 only if they share a point, or null if one
is empty. Works like redblue_intersects in all other respects.';

CREATE FUNCTION redblue_inside(geom geometry, solid geometry) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_inside' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 20000 SUPPORT redblue_geometry_support;
COMMENT ON FUNCTION redblue_inside IS
'Returns true if a geometry lies in a solid, which is a closed surface with Z that does not intersect itself. The result is exact. Points,
lines and surfaces that are not closed lie in the solid if none of their points is outside and some are not on the boundary (see
redblue_points_in_solids and redblue_segments_in_solids); a closed surface is itself treated as a solid (see inside in redblue_solid_pairs).
Returns false if one is empty. GiST, SP-GiST and BRIN indexes on geometry are used.
Errors: 22023 invalid solid, different SRIDs or geometries without Z; and those of redblue_intersects.';

CREATE FUNCTION redblue_position(geom geometry, solid geometry) RETURNS text
AS 'MODULE_PATHNAME', 'redblue_geometry_position' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 20000;
COMMENT ON FUNCTION redblue_position IS
'Describes the exact position of a point, line, surface or solid relative to a solid: inside (see redblue_inside: no point is outside, and
some are not on the boundary), boundary (all of it lies on the boundary), crossing (some of it is inside and some outside), outside (no
point is inside; it may touch the boundary) or, for two solids, equal. Returns null if one is empty. Errors are those of redblue_inside.';

CREATE FUNCTION redblue_volume(solid geometry) RETURNS double precision
AS 'MODULE_PATHNAME', 'redblue_geometry_volume' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 20000;
COMMENT ON FUNCTION redblue_volume IS
'Returns the volume of a solid, which is a closed surface with Z that does not intersect itself, without its cavities: the double nearest
to the exact volume, in cubic units of the coordinates. Faces may be oriented either way. The result is never 0, is Infinity beyond
the largest double, and null if the geometry is empty.
Errors: 22023 invalid solid, or geometry without Z; and those of redblue_intersects.';

CREATE FUNCTION redblue_area(surface geometry) RETURNS double precision
AS 'MODULE_PATHNAME', 'redblue_geometry_area' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION redblue_area IS
'Returns the sum of the areas of the faces of a surface or solid, in space if it has Z, otherwise in the plane: the double nearest to the exact
sum, in square units of the coordinates. A surface need be neither closed nor a solid; a face that is not flat counts as the triangles
of redblue_faces. The result is 0 only if no face has an area, is Infinity beyond the largest double, and null if the geometry is empty.
Errors: 42804 points and lines; and those of redblue_intersects.';

CREATE FUNCTION redblue_overlap_volume(a geometry, b geometry) RETURNS double precision
AS 'MODULE_PATHNAME', 'redblue_geometry_overlap_volume' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 20000;
COMMENT ON FUNCTION redblue_overlap_volume IS
'Returns the volume of what two solids share (see redblue_volume): the double nearest to the exact volume, in cubic units of the coordinates.
It is 0 only if their interiors do not intersect, Infinity beyond the largest double, and null if a geometry is empty. Solids with disjoint
boxes are not checked.
Errors: 22023 invalid solid, different SRIDs or geometries without Z; and those of redblue_intersects.';

CREATE FUNCTION redblue_overlap_depth(a geometry, b geometry) RETURNS double precision
AS 'MODULE_PATHNAME', 'redblue_geometry_overlap_depth' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 50000;
COMMENT ON FUNCTION redblue_overlap_depth IS
'Returns the depth of what two solids share (see redblue_solid_overlaps), in units of the coordinates: its least width across the plane of one
of its own faces, the largest one if it consists of several pieces. It is the double nearest to the exact depth, 0 only if the interiors do
not intersect, Infinity beyond the largest double, and null if a geometry is empty. Solids with disjoint boxes are not checked.
Errors: those of redblue_overlap_volume.';

CREATE FUNCTION redblue_overlap_area(a geometry, b geometry) RETURNS double precision
AS 'MODULE_PATHNAME', 'redblue_geometry_overlap_area' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 20000;
COMMENT ON FUNCTION redblue_overlap_area IS
'Returns the area of what two polygons or multipolygons of the plane share: the double nearest to the exact area of the stored X and Y, in
square units of the coordinates. It is 0 only if their interiors do not intersect, Infinity beyond the largest double, and null if a geometry
is empty. Polygons with disjoint boxes are not checked.
Errors: 22023 polygon that is not valid (ST_IsValid), or different SRIDs; 42804 other types; and those of redblue_intersects.';

-- ---- geometries out ----

CREATE FUNCTION redblue_faces(surface geometry, OUT face int, OUT part int, OUT geom geometry) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_geometry_faces' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 1000 ROWS 20;
COMMENT ON FUNCTION redblue_faces IS
'Returns the triangles into which redblue divides the faces of a surface or solid: the number of the face and the number of the triangle
(part), both from 1, as the joins count them (empty faces are not counted), and the triangle, with the SRID of the geometry, and with Z if
the geometry has Z. The parts of a face without area are its edges. Errors: 42804 points and lines; and those of redblue_intersects.';

CREATE FUNCTION redblue_intersection(geom1 geometry, geom2 geometry) RETURNS geometry
AS 'MODULE_PATHNAME', 'redblue_geometry_intersection' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION redblue_intersection IS
'Returns the intersection of two geometries: points, lines and polygons, as a multi geometry if there are several of one kind, as a
collection if there are several kinds, and as an empty collection if there is none. Each curve in which faces meet is one line, closed if
the curve is closed; common areas of faces are polygons with holes, with the orientation of the first geometry. Each coordinate is the
double nearest to the exact one. The result has the SRID of the two geometries, and Z if both have Z; otherwise the intersection is computed
in the plane. Errors are those of redblue_intersects.';

CREATE FUNCTION redblue_solid_intersection(a geometry, b geometry) RETURNS geometry
AS 'MODULE_PATHNAME', 'redblue_geometry_solid_intersection' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 50000;
COMMENT ON FUNCTION redblue_solid_intersection IS
'Returns the solid that two solids share (see redblue_volume): a POLYHEDRALSURFACE Z of polygons with holes, which does not intersect itself,
with the faces of all pieces and cavities, counterclockwise as seen from outside. Coplanar faces that share an edge are merged. Common faces,
edges and corners without a volume are not part of the result, which is empty if nothing is left. Each new corner is the double nearest to
the exact one, unless a face would cross another one after rounding. An empty geometry is a solid without points. The result has the SRID of
the solids. Solids with disjoint boxes are not checked.
Errors: 22023 invalid solid, different SRIDs or geometries without Z; and those of redblue_intersects.';

CREATE FUNCTION redblue_solid_union(a geometry, b geometry) RETURNS geometry
AS 'MODULE_PATHNAME', 'redblue_geometry_solid_union' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 50000;
COMMENT ON FUNCTION redblue_solid_union(geometry, geometry) IS
'Returns the solid of all points of two solids, as redblue_solid_intersection returns what they share. Faces where the solids touch vanish.
Errors: those of redblue_solid_intersection.';

CREATE FUNCTION redblue_solid_union(solids geometry[]) RETURNS geometry
AS 'MODULE_PATHNAME', 'redblue_geometry_solid_union_all' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 1000000;
COMMENT ON FUNCTION redblue_solid_union(geometry[]) IS
'Returns the solid of all points of the solids of an array, which are united two by two. Nulls are ignored; the result is null if there is no
other geometry. Errors: those of redblue_solid_intersection.';

CREATE AGGREGATE redblue_solid_union_agg(geometry) (SFUNC = array_append, STYPE = geometry[], FINALFUNC = redblue_solid_union, COMBINEFUNC = array_cat, PARALLEL = SAFE);
COMMENT ON AGGREGATE redblue_solid_union_agg(geometry) IS
'Returns the solid of all points of the solids of a group, as redblue_solid_union does. Errors: those of redblue_solid_intersection.';

CREATE FUNCTION redblue_solid_difference(a geometry, b geometry) RETURNS geometry
AS 'MODULE_PATHNAME', 'redblue_geometry_solid_difference' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 50000;
COMMENT ON FUNCTION redblue_solid_difference IS
'Returns the first solid without the second, as redblue_solid_intersection returns what they share. A second solid in the interior of the
first becomes a cavity. Errors: those of redblue_solid_intersection.';

CREATE FUNCTION redblue_solid_symdifference(a geometry, b geometry) RETURNS geometry
AS 'MODULE_PATHNAME', 'redblue_geometry_solid_symdifference' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 50000;
COMMENT ON FUNCTION redblue_solid_symdifference IS
'Returns the solid of all points that are in one of two solids but not in both, as redblue_solid_intersection returns what they share.
Errors: those of redblue_solid_intersection.';

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
'Returns the pairs of redblue_triangle_pairs with the intersection of each: a POINT Z, LINESTRING Z or POLYGON Z, as a multi geometry if
there are several of one kind, or as a collection if there are several kinds. Each curve in which faces meet is one line, closed if the
curve is closed. Each coordinate is the double nearest to the exact one, in units of the SRID, which is that of the tables (0 for coordinate
columns). Arguments and errors are those of redblue_triangle_pairs.';

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
'Returns the result of redblue_triangle_intersections for the rows of two queries. Each text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_triangle_intersections.';

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
'Returns the pairs of redblue_segment_triangle_pairs with the intersection of each (points and lines, as in redblue_triangle_intersections)
and its location on the line, as fractions (0 to 1) of the length of the whole line, which are the doubles nearest to the exact values: the
start of the first and the end of the last interval, and in fractions each interval, {{from, to}, ...}, in order; from equals to where the
line meets the triangles in a point. Arguments and errors are those of redblue_segment_triangle_pairs.';

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
'Returns the result of redblue_segment_triangle_intersections for the rows of two queries. Each text is a single read-only SELECT (including
WITH, VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other
text; and those of redblue_segment_triangle_intersections.';

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
'Returns the pairs of redblue_segment_pairs with the intersection of each in the plane: points and lines without Z, as in
redblue_triangle_intersections. Arguments and errors are those of redblue_segment_pairs.';

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
'Returns the result of redblue_segment_intersections for the rows of two queries. Each text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_segment_intersections.';

-- ---- sections ----

CREATE FUNCTION redblue_sections(
	solids regclass, planes regclass,
	solids_id name DEFAULT NULL, planes_id name DEFAULT NULL,
	solids_geom name DEFAULT NULL, planes_geom name DEFAULT NULL,
	solid name DEFAULT NULL, face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error', flat boolean DEFAULT false,
	OUT solid_id bigint, OUT plane_id bigint, OUT geom geometry, OUT area float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_sections'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_sections IS
'Returns the section of each solid by each plane that cuts it: polygons with holes, and their area. A surface that is not closed has lines
instead, and the area 0. A row of planes is a point and a normal (columns x, y, z, nx, ny, nz), three points (a triangle, as a geometry with
Z or in the columns ax to cz), or a LINESTRING of two points, which stands for its vertical plane. A corner of a solid in the plane counts as above it, so a face in the plane belongs to the section only if
the solid is below it. Rings are counterclockwise if seen from the tip of the normal, and closed whatever the input. Each coordinate, and the
area, is the double nearest to the exact one. With flat, the geometry has coordinates in the plane, without Z: the first point of the plane is
the origin, the first axis is horizontal, and the second one points upward. Solids, solid, on_bad and errors are those of
redblue_solid_measures; 22023 a row of planes without a plane.';

CREATE FUNCTION redblue_sections_query(
	solids text, planes text,
	solids_id name DEFAULT NULL, planes_id name DEFAULT NULL,
	solids_geom name DEFAULT NULL, planes_geom name DEFAULT NULL,
	solid name DEFAULT NULL, face_tolerance float8 DEFAULT NULL,
	on_bad text DEFAULT 'error', flat boolean DEFAULT false,
	OUT solid_id bigint, OUT plane_id bigint, OUT geom geometry, OUT area float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_sections_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_sections_query IS
'Returns the result of redblue_sections for the rows of two queries. Each text is a single read-only SELECT (including WITH, VALUES and
TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and those of
redblue_sections.';

-- ---- solids of pairs of solids ----

CREATE FUNCTION redblue_solid_intersections(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_solid name DEFAULT NULL, blue_solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL, on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL,
	OUT red_id bigint, OUT blue_id bigint, OUT geom geometry, OUT volume float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_solid_intersections'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_intersections IS
'Returns the solid that two solids share, for all pairs of solids of two tables or views whose interiors intersect (redblue_solid_pairs), in
the order of their ids: the geometry is that of redblue_solid_intersection, in units of the SRID, which is that of the tables (0 for
coordinate columns), and the volume is the double nearest to the volume of this geometry, in cubic units. If all corners of the geometry
are exact, that is the volume of redblue_solid_overlaps. The geometry is empty, and the volume 0, if nothing is left after rounding.
Solids, red_solid and blue_solid (as solid), on_bad and errors are those of redblue_points_in_solids.';

CREATE FUNCTION redblue_solid_intersections_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_solid name DEFAULT NULL, blue_solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL, on_bad text DEFAULT 'error',
	tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL,
	OUT red_id bigint, OUT blue_id bigint, OUT geom geometry, OUT volume float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_solid_intersections_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_intersections_query IS
'Returns the result of redblue_solid_intersections for the rows of two queries. Each text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_solid_intersections.';

CREATE FUNCTION redblue_solid_differences(
	red regclass, blue regclass,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_solid name DEFAULT NULL, blue_solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL, on_bad text DEFAULT 'error',
	OUT red_id bigint, OUT geom geometry, OUT volume float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_solid_differences'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_differences IS
'Returns each solid of the first table or view without all solids of the second one whose interiors intersect its interior, in the order of
the ids: the geometry is the redblue_solid_difference of the solid and the other one or, if there are several, their redblue_solid_union in
the order of their ids; the volume is the double nearest to the volume of this geometry, in cubic units. A solid that none of the second
table meets is returned with its coplanar faces merged. The geometry is empty, and the volume 0, if nothing is left. Solids, red_solid and
blue_solid (as solid), on_bad and errors are those of redblue_points_in_solids.';

CREATE FUNCTION redblue_solid_differences_query(
	red text, blue text,
	red_id name DEFAULT NULL, blue_id name DEFAULT NULL,
	red_geom name DEFAULT NULL, blue_geom name DEFAULT NULL,
	red_solid name DEFAULT NULL, blue_solid name DEFAULT NULL,
	face_tolerance float8 DEFAULT NULL, on_bad text DEFAULT 'error',
	OUT red_id bigint, OUT geom geometry, OUT volume float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_solid_differences_query'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000 SUPPORT redblue_support;
COMMENT ON FUNCTION redblue_solid_differences_query IS
'Returns the result of redblue_solid_differences for the rows of two queries. Each text is a single read-only SELECT (including WITH,
VALUES and TABLE), which is run as the caller. Columns are found by name, like those of a table. Errors: 0A000 and 42601 any other text; and
those of redblue_solid_differences.';

-- ---- tiles ----

CREATE FUNCTION redblue_meets_tile(geom geometry, tile_low float8[], tile_high float8[], distance float8 DEFAULT 0) RETURNS boolean
AS 'MODULE_PATHNAME', 'redblue_geometry_meets_tile' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION redblue_meets_tile(geometry, float8[], float8[], float8) IS
'Returns true if a geometry may belong to a pair that lies in the tile (redblue_tiles), for pairs at most distance apart. The test uses the
bounding box of the coordinates, not the float box of PostGIS, as redblue_meets_tile of two arrays does. A geometry with Z may be tested
with a two-dimensional tile. Returns null for null and false for an empty geometry. Errors: 22023 geometry without Z and tile with three
dimensions; and those of redblue_intersects and of redblue_meets_tile.';

CREATE FUNCTION redblue_tiles_of(geom geometry, tile_lows float8[], tile_highs float8[], distance float8 DEFAULT 0) RETURNS SETOF int
AS 'MODULE_PATHNAME', 'redblue_geometry_tiles_of' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200 ROWS 1;
COMMENT ON FUNCTION redblue_tiles_of(geometry, float8[], float8[], float8) IS
'Returns the tiles to which a geometry belongs (redblue_meets_tile), as positions, from 1, in the arrays of corners array_agg(tile_low ORDER
BY tile) and array_agg(tile_high ORDER BY tile) of the result of redblue_tiles. Returns no rows for null and for an empty geometry. Errors:
22004 arrays of tiles are null; and those of redblue_meets_tile.';

-- ---- meshes ----

CREATE FUNCTION redblue_mesh_to_geometry(mesh text, srid int DEFAULT 0, OUT region bigint, OUT geom geometry) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'redblue_mesh_to_geometry' LANGUAGE C STABLE STRICT PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION redblue_mesh_to_geometry IS
'Returns the surface of each region of a mesh (redblue_tetrahedralize, redblue_refine) as a TIN Z with the given SRID: the faces of its
tetrahedra that border another region or the outside, counterclockwise as seen from outside. A face between two regions belongs to both
surfaces. Errors: 22023 invalid SRID; 54000 geometry exceeds the maximum size of a value (1 GB); and those of redblue_mesh_vtu.';
