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
