-- Tests 20 pairs of triangles on which PostGIS 3.3 is wrong (ST_3DIntersects or ST_3DDistance), with exact truth.
\set schema wrong_cases
\i sql/fixtures/prologue.sql
SET client_min_messages = warning;
CREATE TABLE wrong_case (id int PRIMARY KEY, note text, truth boolean, a float8[], b float8[]);
INSERT INTO wrong_case VALUES
	(1, 'vertex touches a face exactly at the face centroid (small integers)', true, '{9, 3, 0, 6, -9, 6, 9, -9, -6}', '{8, -5, 0, -8, 0, -9, -1, 6, 3}'),
	(2, 'same mechanism, axis-aligned', true, '{0, 0, 0, 3, 0, 0, 0, 3, 0}', '{1, 1, 0, 1, 1, 5, 2, 1, 5}'),
	(3, 'spike ends 5e-13 above the centroid: disjoint, but distance is garbage', false, '{0, 0, 0, 3, 0, 0, 0, 3, 0}', '{1, 1, 5e-13, 1, 1, 5, 2, 1, 5}'),
	(4, 'clean piercing, edge length 4e6 (mm units of a 4 km site)', true, '{0, 0, 0, 4000000, 0, 0, 0, 4000000, 0}', '{1000000, 1000000, -1000000, 1000000, 1000000, 1000000, 10000000, 10000000, 3000000}'),
	(5, 'clean piercing, edges 4e-7', true, '{0, 0, 0, 4e-07, 0, 0, 0, 4e-07, 0}', '{1e-07, 1e-07, -1e-07, 1e-07, 1e-07, 1e-07, 1e-06, 1e-06, 3e-07}'),
	(6, 'parallel plates 1e6 wide with a gap of 0.05: disjoint', false, '{0, 0, 0, 1000000, 0, 0, 0, 1000000, 0}', '{200000, 200000, 0.05, 333333.3333333333, 200000, 0.05, 200000, 333333.3333333333, 0.05}'),
	(7, 'probe 1e-4 above a slab of edge 1e5: disjoint', false, '{0, 0, 0, 100000, 0, 0, 0, 100000, 0}', '{20000, 20000, 0.0001, 20001, 20000, 1.0001, 20000, 20001, 1.0001}'),
	(8, 'coplanar overlap, integer millimetre coordinates', true, '{-2712, -11856, 6550, 1372, 6691, 770, -15514, 14414, 3360}', '{-9996.5, -23835.5, 11532.5, 2255.5, 31805.5, -5807.5, -945, 38373, -6605}'),
	(9, 'two edges cross in one point, integer millimetre coordinates', true, '{4124, 12396, -16950, 2455, 10629, -4966, -6529, 13944, -11134}', '{6354.5, 27661.5, 7098, 224.5, -4636.5, -29014, 6543.5, -6588.5, -21790}'),
	(10, 'vertex on face, UTM metres with 1/1024 m grid', true, '{500001.5703125, 5399998.546875, 298, 499999.4970703125, 5400002.1806640625, 303.15625, 500002.751953125, 5399999.853515625, 298.685546875}', '{500000.8291015625, 5400000.6904296875, 300.74951171875, 500004.01171875, 5400002.7509765625, 300.93701171875, 500001.0302734375, 5400002.4755859375, 300.65185546875}'),
	(11, 'coplanar triangle strictly inside another, UTM metres', true, '{500001.6279296875, 5400003.736328125, 303, 500000.32421875, 5400002.7490234375, 299.71484375, 500002.9599609375, 5399996.75, 301.48828125}', '{500001.6350097656, 5400001.742919922, 301.80078125, 500001.30908203125, 5400001.49609375, 300.9794921875, 500001.9680175781, 5399999.996337891, 301.4228515625}'),
	(12, 'edge-edge crossing, 4 mm triangles stored in metres', true, '{0.0019683837890625, -0.00251007080078125, 0.0028076171875, 0.00103759765625, -0.00153350830078125, 0.002227783203125, -0.002593994140625, 0.00089263916015625, -0.00167083740234375}', '{0.0037689208984375, -0.0005035400390625, 0.00104522705078125, -0.000762939453125, -0.0035400390625, 0.00399017333984375, -0.0017852783203125, -0.0037689208984375, 0.0060882568359375}'),
	(13, 'coplanar overlap, 4 mm triangles stored in metres', true, '{0.00225830078125, -0.00360107421875, 0.0015869140625, 0.001190185546875, 0.0004425048828125, 0.00208282470703125, 0.00238037109375, 0.00106048583984375, 0.0014801025390625}', '{0.00335693359375, -0.0064792633056640625, 0.001064300537109375, 0.000152587890625, 0.0056514739990234375, 0.002552032470703125, 0.00018310546875, 0.006816864013671875, 0.00252532958984375}'),
	(14, 'vertex on edge, triangles of 1e-6 units: answer depends on argument order', true, '{12.999999532476068, 52.00000090710819, 6.73346221446991e-07, 13.000000294297934, 51.99999921116978, 5.364418029785156e-07, 12.999999734573066, 51.999999947845936, -6.640329957008362e-07}', '{12.999999913387, 52.00000005913898, 6.048940122127533e-07, 12.99999999254942, 52.00000027613714, 2.48197466135025e-07, 13.000000273808837, 52.00000048195943, 1.5585683286190033e-06}'),
	(15, 'edge-edge crossing, triangles of 1e-6 units', true, '{12.999999363906682, 51.99999982211739, 3.9301812648773193e-07, 12.999999836087227, 52.00000087264925, 9.071081876754761e-07, 12.999999158084393, 51.9999992903322, 5.587935447692871e-07}', '{13.00000016996637, 52.00000040605664, 7.888302206993103e-07, 12.999999030027539, 52.00000028871, 5.112960934638977e-07, 12.999999667983502, 52.00000059790909, -1.30385160446167e-08}'),
	(16, 'vertex one ulp off the face, disjoint', false, '{6746, 2897, -1350, 18987, -11262, 356, 4737, -16379, 2718}', '{9304, -5461.75, 93.49999999999999, -4361, 9584.25, -9564.5, -7864, 7426.25, -8629.5}'),
	(17, 'vertex one ulp off the face, disjoint, UTM', false, '{500001.6279296875, 5400003.736328125, 303, 500000.32421875, 5400002.7490234375, 299.71484375, 500002.9599609375, 5399996.75, 301.48828125}', '{500001.96801757807, 5399999.996337891, 301.4228515625, 499999.62036132807, 5399997.385986328, 299.5546875, 500001.52758789057, 5399998.990478516, 304.2421875}'),
	(18, 'scanned-model pair in metres: true gap 3.6e-8, reported 6.1e-4 (distance and DWithin wrong)', false, '{0.004303, 0.062577, -0.032554, 0.004296, 0.064052, -0.033197, 0.005295, 0.064011, -0.032686}', '{0.005090259170740987, 0.0627031915687287, -0.03278943691586462, 0.005235421029974312, 0.06252505155743407, -0.03178439752807931, 0.004225618731560321, 0.06380140672304778, -0.032371033539017116}'),
	(19, '1 mm triangles in metres: simple edge-edge gap', false, '{0, 0, 0, 0.001, 0, 0, 0, -0.001, 0}', '{0.0005, 0.0002, -0.0005, 0.0005, 0.0002, 0.0005, 0.0005, 0.0012, 0}'),
	(20, 'zero-area (point) triangle at a centroid', true, '{0, 0, 0, 3, 0, 0, 0, 3, 0}', '{1, 1, 0, 1, 1, 0, 1, 1, 0}');
CREATE VIEW a AS SELECT id, a[1] AS ax, a[2] AS ay, a[3] AS az, a[4] AS bx, a[5] AS by, a[6] AS bz, a[7] AS cx, a[8] AS cy, a[9] AS cz FROM wrong_case;
CREATE VIEW b AS SELECT id, b[1] AS ax, b[2] AS ay, b[3] AS az, b[4] AS bx, b[5] AS by, b[6] AS bz, b[7] AS cx, b[8] AS cy, b[9] AS cz FROM wrong_case;

-- The truth, compared with the results in both orders
SELECT w.id, w.truth, ab.red_id IS NOT NULL AS ab, ba.red_id IS NOT NULL AS ba,
	CASE WHEN truth = (ab.red_id IS NOT NULL) AND truth = (ba.red_id IS NOT NULL) THEN 'right' ELSE 'WRONG' END AS verdict, w.note
FROM wrong_case w
	LEFT JOIN redblue_triangle_pairs('a', 'b') ab ON ab.red_id = w.id AND ab.blue_id = w.id
	LEFT JOIN redblue_triangle_pairs('b', 'a') ba ON ba.red_id = w.id AND ba.blue_id = w.id
ORDER BY w.id;

-- With the corners in any order
SELECT DISTINCT truth = EXISTS (SELECT FROM redblue_triangle_pairs_query(
	format('SELECT id, %s FROM a WHERE id = %s', turn, id), format('SELECT * FROM b WHERE id = %s', id))) AS right
FROM wrong_case, (VALUES
	('bx AS ax, by AS ay, bz AS az, cx AS bx, cy AS by, cz AS bz, ax AS cx, ay AS cy, az AS cz'),
	('cx AS ax, cy AS ay, cz AS az, ax AS bx, ay AS by, az AS bz, bx AS cx, by AS cy, bz AS cz'),
	('bx AS ax, by AS ay, bz AS az, ax AS bx, ay AS by, az AS bz, cx, cy, cz')) t (turn);

-- As geometries if PostGIS is installed, otherwise as numbers
SELECT count(*) > 0 AS have_postgis FROM pg_available_extensions WHERE name = 'postgis' \gset
\if :have_postgis
CREATE EXTENSION IF NOT EXISTS postgis;
CREATE VIEW a_geom AS SELECT id, format('TRIANGLE Z ((%s %s %s,%s %s %s,%s %s %s,%s %s %s))',
	ax, ay, az, bx, by, bz, cx, cy, cz, ax, ay, az)::geometry AS geom FROM a;
CREATE VIEW b_geom AS SELECT id, format('POLYGON Z ((%s %s %s,%s %s %s,%s %s %s,%s %s %s))',
	ax, ay, az, bx, by, bz, cx, cy, cz, ax, ay, az)::geometry AS geom FROM b;
\else
CREATE VIEW a_geom AS TABLE a;
CREATE VIEW b_geom AS TABLE b;
\endif
SELECT count(*) AS truth FROM wrong_case WHERE truth;
SELECT count(*) FROM wrong_case JOIN redblue_triangle_pairs('a_geom', 'b_geom') ON red_id = id AND blue_id = id WHERE truth;
SELECT count(*) FROM wrong_case JOIN redblue_triangle_pairs('b_geom', 'a_geom') ON red_id = id AND blue_id = id WHERE truth;
SELECT count(*) FROM wrong_case JOIN redblue_triangle_pairs('a_geom', 'b_geom') ON red_id = id AND blue_id = id WHERE NOT truth;
SELECT count(*) FROM wrong_case JOIN redblue_triangle_pairs('b_geom', 'a_geom') ON red_id = id AND blue_id = id WHERE NOT truth;
-- The pairs of different cases are also the same in both forms.
(SELECT * FROM redblue_triangle_pairs('a', 'b') EXCEPT SELECT * FROM redblue_triangle_pairs('a_geom', 'b_geom'))
UNION ALL (SELECT * FROM redblue_triangle_pairs('a_geom', 'b_geom') EXCEPT SELECT * FROM redblue_triangle_pairs('a', 'b'));

DROP SCHEMA wrong_cases CASCADE;
