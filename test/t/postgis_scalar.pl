# Tests redblue_postgis: functions of two geometries that are canceled, short of memory, called in parallel, and called
# again when data of an earlier call may remain.
# run: quick long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

# The C library overwrites freed memory, so that a function which reads it gives other answers.
$ENV{MALLOC_PERTURB_} = 165;
my $node = new_server('pairs');
plan skip_all => 'no PostGIS' if !have_postgis($node);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION redblue_postgis;
-- a wave of 2 n^2 triangles with corners on an integer lattice of heights, so that two of them meet everywhere
CREATE FUNCTION wave(n int, k int) RETURNS geometry LANGUAGE sql AS $$
WITH corner AS (SELECT i, j, format('%s %s %s', i, j, (i * k + j * 3) % 4) AS at FROM generate_series(0, n) i, generate_series(0, n) j)
SELECT ST_GeomFromText('TIN Z (' || string_agg(format('((%s, %s, %s, %1$s)), ((%2$s, %4$s, %3$s, %2$s))', a.at, b.at, c.at, d.at), ', ' ORDER BY a.i, a.j) || ')')
FROM corner a JOIN corner b ON (b.i, b.j) = (a.i + 1, a.j) JOIN corner c ON (c.i, c.j) = (a.i, a.j + 1) JOIN corner d ON (d.i, d.j) = (a.i + 1, a.j + 1) $$;
CREATE TABLE large AS SELECT k, wave(300, k) AS geom FROM generate_series(1, 2) k;
-- many lines side by side, of a hundred pieces each
CREATE TABLE line AS SELECT i AS id, ST_MakeLine(ARRAY(SELECT ST_MakePoint(x, i + 0.4 * (x % 2), (x * i) % 3) FROM generate_series(1, 60) x)) AS geom FROM generate_series(1, 3000) i;
CREATE TABLE far AS SELECT id, ST_Translate(geom, 0, 0.5) AS geom FROM line;
-- few faces, of which each overlaps most others
CREATE TABLE pile AS SELECT k, ST_Collect(ST_MakePolygon(ST_MakeLine(ARRAY[p[1], p[2], p[3], p[1]]))) AS geom FROM (SELECT k, i, array_agg(ST_MakePoint((k * 7919 + i * 104729 + c * 1299709) % 1009 / 7.0, (k * 611953 + i * 15485863 + c * 7919) % 1013 / 7.0)) AS p
	FROM generate_series(1, 2) k, generate_series(1, 60) i, generate_series(1, 3) c GROUP BY 1, 2) t GROUP BY 1;
-- a box: a solid
CREATE FUNCTION box(x float8, y float8, z float8, size float8) RETURNS geometry LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT ST_Translate(ST_Scale('POLYHEDRALSURFACE Z (((0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0)), ((0 0 1, 1 0 1, 1 1 1, 0 1 1, 0 0 1)), ((0 0 0, 1 0 0, 1 0 1, 0 0 1, 0 0 0)), ((1 0 0, 1 1 0, 1 1 1, 1 0 1, 1 0 0)), ((1 1 0, 0 1 0, 0 1 1, 1 1 1, 1 1 0)), ((0 1 0, 0 0 0, 0 0 1, 0 1 1, 0 1 0)))', size, size, size), x, y, z) $$;
-- large solids: balls of 2 m (r - 1) triangles
CREATE FUNCTION ball(r int, m int, x float8, radius float8) RETURNS geometry LANGUAGE sql AS $$
WITH p AS (SELECT i, j, ST_MakePoint(x + radius * CASE WHEN i IN (0, r) THEN 0 ELSE sin(pi() * i / r) END * cos(2 * pi() * j / m), x + radius * CASE WHEN i IN (0, r) THEN 0 ELSE sin(pi() * i / r) END * sin(2 * pi() * j / m), x + radius * cos(pi() * i / r)) AS at
	FROM generate_series(0, r) i, generate_series(0, m - 1) j)
SELECT ST_Collect(ST_MakePolygon(ST_MakeLine(ARRAY[t.a, t.b, t.c, t.a])))
FROM p JOIN p q ON q.i = p.i AND q.j = (p.j + 1) % m JOIN p s ON s.i = p.i + 1 AND s.j = p.j JOIN p u ON u.i = s.i AND u.j = q.j, LATERAL (VALUES (p.at, s.at, u.at), (p.at, u.at, q.at)) t (a, b, c)
WHERE NOT (t.a = t.b OR t.b = t.c OR t.a = t.c) $$;
CREATE TABLE balls AS SELECT ball(200, 300, 0, 10) AS a, ball(201, 299, 1, 10) AS b;
CREATE TABLE room AS SELECT i AS id, box(i * 0.5, i * 3, -1, 40) AS geom FROM generate_series(1, 200) i;
ANALYZE;
SQL
# A face with as many corners as take seconds to read: a comb
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE comb AS SELECT ST_GeomFromText('POLYGON Z ((' || string_agg(format('%s %s 0', i, CASE i % 2 WHEN 0 THEN 1 ELSE 1000 + i::bigint * 7919 % 1000 END), ', ' ORDER BY i) || ', 2000001 0 0, 0 0 0, 1 ' || 1000 + 7919 % 1000 || ' 0))') AS geom
FROM generate_series(1, 1000000) i;
SQL
add_stopwatch($node);
my $session = session($node);
my $watch = session($node);
# The JIT compiler does not check for interrupts. Pairs must be evaluated one by one (postgis_join.pl tests joins).
$session->ask('SET redblue."join" = off');

my %query = (
	'reading' => "SELECT redblue_intersects(geom, 'POINT Z (5 5 0)') FROM comb, generate_series(1, 3)",
	'a join of two' => "SELECT redblue_contact(a.geom, ST_Translate(b.geom, 0.25, 0.25 + i * 1e-9)) FROM large a, large b, generate_series(1, 30) i WHERE a.k = 1 AND b.k = 2",
	'a distance of two' => "SELECT redblue_distance(a.geom, ST_Translate(b.geom, 0, 0, 50 + i)) FROM large a, large b, generate_series(1, 100) i WHERE a.k = 1 AND b.k = 2",
	'pairs one by one' => "SELECT count(*) FROM line a JOIN far b ON redblue_dwithin(a.geom, b.geom, 0.01)",
	'distances one by one' => "SELECT sum(redblue_distance(a.geom, b.geom)) FROM line a, far b",
	'solids one by one' => "SELECT count(*) FROM line a JOIN room b ON redblue_inside(ST_Force3D(a.geom), b.geom), generate_series(1, 20)",
	'a large solid is looked at' => "SELECT count(redblue_inside('POINT Z (5 5 50)', ST_Collect(a.geom, ST_Translate(b.geom, 0, 0, 90 + i)))) FROM large a, large b, generate_series(1, 30) i WHERE a.k = 1 AND b.k = 2",
	'a few faces are cut by each other' => "SELECT redblue_intersection(a.geom, b.geom) FROM pile a, pile b WHERE a.k = 1 AND b.k = 2",
	'large solids are combined' => "SELECT redblue_solid_symdifference(a, b) FROM balls",
	'small solids are united' => "SELECT redblue_solid_union_agg(geom) FROM room",
	'triangles' => "SELECT count(f.geom) FROM large, generate_series(1, 50), redblue_faces(geom) f");
for my $name (sort keys %query)
{
	stops_soon($session, $watch, $name, $query{$name}, 0.1, 0.5, 1.1);
}
is($session->ask("SELECT redblue_intersects('POINT (1 1)', 'LINESTRING (0 0, 2 2)')"), 't', 'and the session answers');

# ---- memory ----
my ($out, $err) = $session->ask("SET redblue.memory_limit = '1MB'; SELECT redblue_intersects(geom, geom) FROM large WHERE k = 1");
like($err, qr/53200.*redblue_intersects: out of memory.*redblue.memory_limit is 1024 kB/s, 'a geometry that has no room');
($out, $err) = $session->ask("SELECT redblue_faces(geom) FROM large");
like($err, qr/53200.*redblue_faces: out of memory/s, 'the same, of its triangles');
is($session->ask("SELECT redblue_intersects('POINT (1 1)', 'LINESTRING (0 0, 2 2)')"), 't', 'and the session answers');
$session->ask('RESET redblue.memory_limit');

($out, $err) = $session->ask("SET redblue.memory_limit = '40MB'; SELECT redblue_solid_union(a, b) FROM balls");
like($err, qr/53200.*redblue_solid_union: out of memory/s, 'solids that have no room');
($out, $err) = $session->ask("SELECT redblue_solid_union_agg(geom) FROM balls, LATERAL (VALUES (a), (b)) v (geom)");
like($err, qr/53200.*redblue_solid_union_agg: out of memory/s, 'the same, of an aggregate');
$session->ask('RESET redblue.memory_limit');

# A statement releases what it holds, also if it fails in the middle, thousands of times.
my $again = <<'SQL';
DO $$
BEGIN
	FOR i IN 1 .. 3000 LOOP
		BEGIN
			PERFORM redblue_intersects(ST_MakeEnvelope(0, 0, i, i), ST_MakePoint(i, i)), redblue_distance(ST_MakePoint(i, 0), 'LINESTRING (0 0, 1 1)'),
				redblue_crosses('POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))', ST_MakePoint(i, 0));
		EXCEPTION WHEN invalid_parameter_value THEN NULL;
		END;
	END LOOP;
END $$
SQL
$session->ask($again);
my $before = emptied_rss_kb($session);
$session->ask($again) for 1 .. 2;
my $grown = emptied_rss_kb($session) - $before;
cmp_ok($grown, '<', 2048, "6000 statements that fail leave nothing: $grown kB");

# Values that differ each time are not all cached, nor is anything derived from them.
sub different
{
	my ($from, $n) = @_;
	return "SELECT count(redblue_inside(ST_MakePoint(i, i, i), box(i, i, i, 1 + i % 7))) + count(redblue_distance(ST_MakePoint(0, 0, i), box(i, i, i, 1))) + count(redblue_position(box(i, i, i, 1), box(i, i, 0, 90000))) FROM generate_series($from, $from + $n) i";
}
$session->ask(different(1, 2000));
$before = emptied_rss_kb($session);
$session->ask(different(3000, 30000));
$grown = emptied_rss_kb($session) - $before;
cmp_ok($grown, '<', 2048, "30000 solids of one statement leave nothing: $grown kB");
sub united
{
	my ($from, $n) = @_;
	return "SELECT count(redblue_solid_union(box(i, i, i, 1), box(i, i + 0.5, i, 1))) + count(redblue_solid_union(ARRAY[box(i, i, i, 1), box(i, i + 0.5, i, 1)])) FROM generate_series($from, $from + $n) i";
}
$session->ask(united(1, 300));
$before = emptied_rss_kb($session);
$session->ask(united(1000, 2000));
$grown = emptied_rss_kb($session) - $before;
cmp_ok($grown, '<', 2048, "4000 unions of one statement leave nothing: $grown kB");
my $fresh = session($node);
$fresh->ask("SELECT count(redblue_distance(ST_MakePoint(0, 0, i), ST_Translate(geom, 0, 0, i))) FROM large, generate_series(1, 30) i WHERE k = 1");
my $peak = $fresh->ask("SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)')::int / 1024");
cmp_ok($peak, '<', 450, "30 geometries of 35 MB each, one after the other: $peak MB at most");

# ---- interrupts without effect, as other sessions send them ----
for my $kind ('redblue_inside(box(a.id * 0.1, 5, 5, 1), ST_Translate(b.geom, 0, 0, a.id * 1e-6))', 'redblue_inside(ST_Force3D(a.geom), ST_Translate(b.geom, 0, 0, a.id * 1e-6))', 'redblue_distance(a.geom, ST_Translate(b.geom, a.id * 0.001, 0, 0)) > 0', 'redblue_intersects(a.geom, ST_Translate(b.geom, a.id * 0.001, 0, 0))',
	'a.id < 20 AND b.id < 20 AND redblue_volume(redblue_solid_difference(box(5, 5, 0, a.id * 0.1 + 0.5), b.geom)) > 0.5')
{
	my $query = "SELECT count(*) FROM (SELECT * FROM line WHERE id < 300) a, room b WHERE $kind";
	my $quiet = $session->ask($query);
	my $noise = 0;

	$session->send($query);
	while ($noise < 2000 && !$session->ready)
	{
		$watch->ask("SELECT pg_log_backend_memory_contexts($session->{pid})");
		$noise++;
	}
	($out, $err) = $session->wait_for;
	is("$out $err", "$quiet ", "$kind, interrupted $noise times");
}

# ---- in parallel, and as part of an index ----
my $near = "SELECT count(*), sum(id) FROM line WHERE redblue_dwithin(geom, 'LINESTRING (0 0, 60 2000)', 0.5)";
my $serial = $session->ask($near);
like($session->ask("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; EXPLAIN (COSTS OFF) $near"),
	qr/Gather.*Parallel Seq Scan.*redblue_dwithin/s, 'a parallel plan');
is($session->ask($near), $serial, 'has the same rows');
my $within = "SELECT count(*), sum(id) FROM line WHERE redblue_inside(ST_Force3D(ST_StartPoint(geom)), box(0.5, 3, -1, 400))";
like($session->ask("SET enable_seqscan = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; EXPLAIN (COSTS OFF) $within"), qr/Gather.*Parallel Seq Scan.*redblue_inside/s, 'a parallel plan of a solid');
my $several = $session->ask($within);
is($session->ask("SET max_parallel_workers_per_gather = 0; $within"), $several, 'has the same rows');
my $pairs = "SELECT count(*), sum(l.id * r.id) FROM line l JOIN room r ON redblue_inside(ST_Force3D(ST_StartPoint(l.geom)), r.geom)";
my $loop = $session->ask("SET max_parallel_workers_per_gather = 0; $pairs");
is($session->ask("SET redblue.\"join\" = on; $pairs"), $loop, 'a join as a whole has the rows of the loop');
$session->ask('SET redblue."join" = off; RESET max_parallel_workers_per_gather');
$session->ask("CREATE INDEX at_origin ON line (redblue_distance(geom, 'POINT (0 0)'))");
is($session->ask("SELECT id FROM line ORDER BY redblue_distance(geom, 'POINT (0 0)') LIMIT 1"), 1, 'an index on distances');
$session->ask("INSERT INTO line VALUES (-1, 'LINESTRING Z (0 0.1 0, 1 0.1 0)')");
is($session->ask("SET enable_seqscan = off; SELECT id FROM line ORDER BY redblue_distance(geom, 'POINT (0 0)') LIMIT 1"), -1, 'and kept up to date');

# ---- as a user who may not execute ST_AsEWKB ----
is($session->ask("CREATE ROLE guest; SET ROLE guest; SELECT redblue_intersects('POINT (1 1)', 'LINESTRING (0 0, 2 2)')"), 't', 'anybody may call it');
$session->ask('RESET ROLE');

# ---- dump and restore of objects that use the functions: views, indexes, constraints ----
$session->ask("CREATE VIEW meeting AS SELECT a.id AS a, b.id AS b FROM line a JOIN far b ON redblue_intersects(a.geom, b.geom) WHERE a.id < 10; ALTER TABLE far ADD CHECK (redblue_dwithin(geom, 'POINT (0 0)', 1e9))");
my $truth = $session->ask('SELECT count(*), sum(b) FROM meeting');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$PostgreSQL::Test::Utils::tmp_check/dump", $node->connstr('postgres') ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('copy'), "$PostgreSQL::Test::Utils::tmp_check/dump" ], 'restored');
is($node->safe_psql('copy', 'SELECT count(*), sum(b) FROM meeting'), $truth, 'with the same rows');
done_testing();
