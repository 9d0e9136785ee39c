-- Tests the error about facets between which double precision coordinates leave no room, and that its hint helps.
\set SHOW_CONTEXT never
\set schema mesh_gap
\i sql/fixtures/prologue.sql

-- Thin facets in one plane, up to rounding, which do not cross
CREATE TABLE close (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO close VALUES
	(21, 0.5225281742869127, -0.017376291355190865, 0.1788229886015638, -1.5506034299712748, 0.01182852919792532, -0.6029535082840121, -0.034196827082748044, -0.00953354093402299, -0.03111762510835598),
	(40, -0.053192809582660774, -0.05401678377043366, -0.11970167402237301, 0.29862530287829653, 0.46606256439595867, 0.9682299215005952, 0.18639329610270425, 0.30015428316652754, 0.6211735232662539),
	(7, 1.253121715156877, -0.12042257611465304, 0.28557027162584153, -0.9185285793881578, -0.318051384180503, -0.9485887835184064, -0.4881885842100909, -0.2788949892237469, -0.704035924917721);
SELECT count(*) FROM redblue_triangle_self_intersections('close');
SELECT count(*) > 0 FROM redblue_tetrahedra('close', keep => 'hull');
SELECT count(*) > 0 FROM redblue_tetrahedra('close', keep => 'hull', on_crossing => 'split');

-- Such facets on a map, where another origin helps, too
CREATE TABLE map (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO map VALUES
	(5, 391782.48227074876, 5820105.889037133, 39.1379210321336, 391776.41404690995, 5820112.137343577, 34.15392980490601, 391777.63709253265, 5820110.878002471, 35.1584492502198),
	(6, 391778.50009619276, 5820107.227662981, 31.637239284992056, 391779.6065395962, 5820112.634191204, 42.57192574066802, 391779.25070423144, 5820110.881711443, 39.03427757055567);
SELECT count(*) FROM redblue_triangle_self_intersections('map');
SELECT count(*) > 0 FROM redblue_tetrahedra('map', keep => 'hull');
SELECT count(*) > 0 FROM redblue_tetrahedra('map', keep => 'hull', on_crossing => 'split');
CREATE VIEW moved AS SELECT id, ax - x AS ax, ay - y AS ay, az - z AS az, bx - x AS bx, by - y AS by, bz - z AS bz, cx - x AS cx, cy - y AS cy, cz - z AS cz
	FROM map, (SELECT floor(min(least(ax, bx, cx))) AS x, floor(min(least(ay, by, cy))) AS y, floor(min(least(az, bz, cz))) AS z FROM map) o;
SELECT count(*) > 0 FROM redblue_tetrahedra('moved', keep => 'hull');
