# Tests redblue_postgis: intersections of all pairs of two tables, and objects in solids: canceled, short of memory,
# with cached tables.
# run: long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $device = place_for_device();
my $node = new_server('intersections');
plan skip_all => 'no PostGIS' if !have_postgis($node);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION redblue_postgis;
-- a wave of 2 n^2 triangles with corners on an integer lattice of heights, so that two of them meet everywhere
CREATE FUNCTION wave(n int, k int) RETURNS geometry LANGUAGE sql AS $$
WITH corner AS (SELECT i, j, format('%s %s %s', i, j, (i * k + j * 3) % 4) AS at FROM generate_series(0, n) i, generate_series(0, n) j)
SELECT ST_GeomFromText('TIN Z (' || string_agg(format('((%s, %s, %s, %1$s)), ((%2$s, %4$s, %3$s, %2$s))', a.at, b.at, c.at, d.at), ', ' ORDER BY a.i, a.j) || ')')
FROM corner a JOIN corner b ON (b.i, b.j) = (a.i + 1, a.j) JOIN corner c ON (c.i, c.j) = (a.i, a.j + 1) JOIN corner d ON (d.i, d.j) = (a.i + 1, a.j + 1) $$;
CREATE TABLE large AS SELECT k AS id, wave(300, k) AS geom FROM generate_series(1, 2) k;
CREATE TABLE red AS SELECT face AS id, face / 50 AS building, f.geom FROM large, redblue_faces(geom) f WHERE id = 1;
CREATE TABLE blue AS SELECT face AS id, face / 7 AS part, f.geom FROM large, redblue_faces(geom) f WHERE id = 2;
-- one line of many pieces, whose fractions are sums of roots
CREATE TABLE hole AS SELECT i AS id, ST_MakeLine(ARRAY(SELECT ST_MakePoint(300 * (x * 17 % 101) / 101.0, 300 * (x * i % 97) / 97.0, x % 5 - 1) FROM generate_series(1, 3000) x)) AS geom FROM generate_series(1, 20) i;
-- a solid of n^2 columns: a wave above, its image below, and walls between them
CREATE FUNCTION block(n int) RETURNS geometry LANGUAGE sql AS $$
WITH corner AS (SELECT i, j, format('%s %s %s', i, j, (i * 7 + j * 3) % 4) AS top, format('%s %s %s', i, j, -9 - (i * 7 + j * 3) % 4) AS low FROM generate_series(0, n) i, generate_series(0, n) j),
rim AS (SELECT * FROM corner WHERE i IN (0, n) OR j IN (0, n)),
edge AS (SELECT a.top AS p, b.top AS q, a.low AS r, b.low AS s FROM rim a JOIN rim b ON (b.i, b.j) = (a.i, a.j + 1) AND a.i IN (0, n) UNION ALL SELECT a.top, b.top, a.low, b.low FROM rim a JOIN rim b ON (b.i, b.j) = (a.i + 1, a.j) AND a.j IN (0, n))
SELECT ST_GeomFromText('TIN Z (' || string_agg(t, ', ') || ')') FROM (SELECT format('((%s, %s, %s, %1$s)), ((%2$s, %4$s, %3$s, %2$s)), ((%5$s, %6$s, %7$s, %5$s)), ((%6$s, %8$s, %7$s, %6$s))', a.top, b.top, c.top, d.top, a.low, b.low, c.low, d.low) AS t
FROM corner a JOIN corner b ON (b.i, b.j) = (a.i + 1, a.j) JOIN corner c ON (c.i, c.j) = (a.i, a.j + 1) JOIN corner d ON (d.i, d.j) = (a.i + 1, a.j + 1)
UNION ALL SELECT format('((%s, %s, %s, %1$s)), ((%2$s, %4$s, %3$s, %2$s))', p, q, r, s) FROM edge) faces $$;
CREATE TABLE block AS SELECT i AS id, ST_Translate(block(250), 0, 0, i) AS geom FROM generate_series(1, 2) i;
CREATE TABLE brick AS SELECT i AS id, ST_Translate(block(6), i * 2, i % 3, i % 4) AS geom FROM generate_series(1, 12) i;
-- few faces, of which each overlaps most others
CREATE TABLE pile AS SELECT k AS id, ST_Force3D(ST_Collect(ST_MakePolygon(ST_MakeLine(ARRAY[p[1], p[2], p[3], p[1]])))) AS geom FROM (SELECT k, i, array_agg(ST_MakePoint((k * 7919 + i * 104729 + c * 1299709) % 1009 / 7.0, (k * 611953 + i * 15485863 + c * 7919) % 1013 / 7.0)) AS p
	FROM generate_series(1, 20) k, generate_series(1, 31) i, generate_series(1, 3) c GROUP BY 1, 2) t GROUP BY 1;
VACUUM ANALYZE;
SQL
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE speck AS SELECT i AS id, i * 7919 % 1009 AS x, i * 104729::int8 % 1013 AS y, i * 1299709::int8 % 1019 AS z FROM generate_series(1, 60000) i;
SELECT tets FROM redblue_tetrahedralize(points => 'speck', mesh => 'fine', keep => 'hull');
SQL
add_stopwatch($node);
my $session = session($node);
my $watch = session($node);
my ($out, $err);

my %query = (
	'pairs of parts' => "SELECT count(geom) FROM redblue_triangle_intersections('red', 'blue')",
	'pairs of objects' => "SELECT count(geom) FROM redblue_triangle_intersections('red', 'blue', red_object => 'building', blue_object => 'part')",
	'few parts that are cut by each other' => "SELECT count(geom) FROM redblue_triangle_intersections('pile', 'pile')",
	'one large pair' => "SELECT count(geom) FROM redblue_triangle_intersections_query('SELECT * FROM large WHERE id = 1', 'SELECT * FROM large WHERE id = 2')",
	'a set in the select list' => "SELECT count(i) FROM (SELECT redblue_triangle_intersections('red', 'blue') AS i OFFSET 0) t",
	'a solid that is looked at' => "SELECT count(*) FROM generate_series(1, 50), block WHERE redblue_inside('POINT Z (5.5 5.5 -2)', geom)",
	'lines in a solid' => "SELECT count(*) FROM hole h, block b, generate_series(1, 50) i WHERE redblue_inside(ST_Translate(h.geom, 0, 0, i * 1e-9), b.geom) AND b.id = 1",
	'surfaces of a mesh' => "SELECT count(m) FROM generate_series(1, 20) i, redblue_mesh_to_geometry(left('fine', i + 4)) m",
	'fractions' => "SELECT sum(to_fraction) FROM redblue_segment_triangle_intersections('hole', 'red', triangles_object => 'building')");
for my $name (sort keys %query)
{
	stops_soon($session, $watch, $name, $query{$name}, 0.2, 0.6, 1.2);
}

is($session->ask("SELECT redblue_inside('POINT Z (5.5 5.5 -2)', geom), redblue_inside('POINT Z (5.5 5.5 -200)', geom) FROM block WHERE id = 1"), 't|f', 'and the session answers');
($out, $err) = $session->ask("SET redblue.memory_limit = '20MB'; SELECT redblue_inside('POINT Z (5.5 5.5 -2)', geom) FROM block WHERE id = 1");
like($err, qr/53200.*redblue_inside: out of memory.*redblue.memory_limit is 20480 kB/s, 'no room for a solid');
$session->ask('RESET redblue.memory_limit');

# ---- memory: if it is too small, joins run slice by slice ----
my $objects = "SELECT count(*), sum(hashtext(geom::text)) FROM redblue_triangle_intersections('red', 'blue', red_object => 'building', blue_object => 'part')";
my $whole = $session->ask($objects);
like($whole, qr/^85272\|/, 'objects');
is($session->ask("SET redblue.memory_limit = '45MB'; $objects"), $whole, 'the same in slices');
($out, $err) = $session->ask("SET redblue.memory_limit = '34MB'; $objects");
like($err, qr/53200.*redblue_triangle_intersections: out of memory.*redblue.memory_limit is 34816 kB/s, 'no room for the join');
($out, $err) = $session->ask("SET redblue.memory_limit = '80MB'; $query{'one large pair'}");
like($err, qr/53200.*redblue_triangle_intersections_query: out of memory.*HINT:  Increase redblue.memory_limit or use smaller geometries/s, 'no room for the geometry of one pair');
$session->ask('RESET redblue.memory_limit');
is($session->ask('SET redblue.threads = 1; ' . $objects), $whole, 'the same on one thread');
$session->ask('RESET redblue.threads');

# ---- a table that is cached, by the worker or here, and changes ----
my $parts = "SELECT count(*), sum(hashtext(geom::text)) FROM redblue_triangle_intersections('red', 'blue')";
my $solids = "SELECT count(*), sum(volume), sum(hashtext(geom::text)) FROM (SELECT geom, volume FROM redblue_solid_intersections('brick', 'brick') UNION ALL SELECT geom, volume FROM redblue_solid_differences_query('TABLE brick', 'SELECT * FROM brick WHERE id % 3 = 0')) s";
my $before = $session->ask($parts);
my $bricks = $session->ask($solids);
like($bricks, qr/^\d{2,}\|/, 'solids');
$session->ask("SELECT redblue_cache('red'), redblue_cache('blue'), redblue_cache('brick')");
is($session->ask($parts), $before, 'tables that are kept');
is($session->ask($solids), $bricks, 'solids of a table that is kept');
$session->ask("UPDATE red SET geom = ST_Translate(geom, 0, 0, 100) WHERE id BETWEEN 500 AND 600; SELECT redblue_cache('red')");
my $after = $session->ask($parts);
isnt($after, $before, 'some rows have changed');
is($session->ask("SET redblue.cache = off; $parts"), $after, 'as they are without');

# ---- the worker joins, on a fake device ----
$_->quit for $session, $watch;
fake();
system("cp '$ENV{FAKE_DEVICE}' '$device'") == 0 or die;
# A server that has found no device must be restarted.
$node->restart;
$session = session($node);
$session->ask("SET redblue.backend = cuda");
is($session->ask($parts), $after, 'pairs of parts from a device');
is($session->ask("SET redblue.cache = off; $parts"), $after, 'and again, of tables that are not kept');
my @changed = map { scalar $session->ask("SET redblue.backend = $_; $objects") } qw(cuda cpu);
is($changed[0], $changed[1], 'objects from a device');
is($session->ask("SET redblue.backend = $_; $solids"), $bricks, "solids with $_") for qw(cuda cpu);
ok(did('join') >= 3, 'it did join');
$session->quit;
$node->stop;
done_testing();
