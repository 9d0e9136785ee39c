# Tests meshes: the same bits under all conditions, prompt cancellation, nothing left behind, and SQL's privileges.
# run: quick
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

# The limit is 200 ms; a loaded machine gets more time.
my $node = new_server('mesh', "redblue.memory_limit = 2GB\n");
load_off($node, 'spot', data_file('spot.off.xz'));
$node->safe_psql('postgres', <<'SQL');
SELECT setseed(0.5);
CREATE TABLE cloud AS SELECT i AS id, random() * 1000 AS x, random() * 1000 AS y, random() * 1000 AS z FROM generate_series(1, 600000) i;
CREATE TABLE few AS SELECT * FROM cloud WHERE id <= 2000;
-- planes that cross each other all over: what crosses is looked for at length
CREATE TABLE slats AS
SELECT i AS id, 0::float8 AS ax, i::float8 AS ay, i * 0.5 AS az, 1000::float8 AS bx, i::float8 AS by, i * 0.25 AS bz, 500::float8 AS cx, i + 300.0::float8 AS cy, i * 0.75 AS cz
FROM generate_series(1, 20000) i;
ANALYZE;
SQL
add_stopwatch($node);
my $session = session($node);
my $watch = session($node);

# ---- a closed mesh ----

my $counts = $session->ask("SELECT vertices, tets > 5000, faces, regions FROM redblue_tetrahedralize('spot', 's')");
like($counts, qr/^\d+\|t\|\d+\|1$/, "spot: $counts");
is($session->ask("SELECT count(*) FROM redblue_mesh_check('s', 'spot')"), 0, 'its mesh has no fault');
is($session->ask('SELECT count(DISTINCT facet_id) FROM s_faces'), $session->ask('SELECT count(*) FROM spot'), 'every facet is there');
my $digest = "SELECT md5(string_agg(format('%s %s %s %s %s %s %s', v1, v2, v3, v4, x1, y1, z1), ',' ORDER BY id)) FROM redblue_tetrahedra('spot', 'few')";
$session->ask("SET redblue.threads = 1");
my $first = $session->ask($digest);
$session->ask("SET redblue.threads = 4");
is($session->ask($digest), $first, 'the same bits on one thread and on four');
$session->ask('RESET redblue.threads');
is($watch->ask($digest), $first, 'and in another session');

# ---- cancel ----

my %query = (
	'reading' => "SELECT count(*) FROM redblue_tetrahedra_query(points => 'SELECT i AS id, 1 AS x, 2 AS y, 3 AS z FROM generate_series(1, 1000000000) i')",
	'making tetrahedra' => "SELECT count(*) FROM redblue_tetrahedra(points => 'cloud', keep => 'hull')",
	'looking for crossings' => "SELECT count(*) FROM redblue_tetrahedra('slats')",
	'making tables' => "SELECT tets FROM redblue_tetrahedralize(points => 'cloud', mesh => 'cancelled', keep => 'hull')");
for my $name (sort keys %query)
{
	stops_soon($session, $watch, $name, $query{$name}, 0.05, 0.2, 0.5, 1, 2);
	is($session->ask("SELECT pg_backend_pid()"), $session->{pid}, "the session lives after $name");
}
is($session->ask("SELECT count(*) FROM pg_class WHERE relname LIKE 'cancelled%'"), 0, 'no table is left');
my $threads = backend_threads($session->{pid});
is($threads, 1, 'nor a thread');
my $rss = emptied_rss_kb($session);
for my $i (1 .. 20)
{
	$session->ask(under_timeout(20 + 7 * $i, $query{'making tetrahedra'}));
}
my $grown = emptied_rss_kb($session) - $rss;
cmp_ok($grown, '<', 20_000, "twenty timeouts: $rss kB, then $grown kB more");

# ---- progress ----

my %seen;
# A query may end before it was looked at.
for my $try (1 .. 5)
{
	last if $seen{'mesh points'} || $seen{tetrahedralize};
	$session->send($query{'making tetrahedra'});
	for (1 .. 12_000)
	{
		my $row = $watch->ask("SELECT function, stage FROM redblue_progress WHERE pid = $session->{pid}");
		$seen{$1} = 1 if $row =~ /^redblue_tetrahedra\|(.+)$/;
		last if $seen{'mesh points'} || $seen{tetrahedralize} || $session->ready;
		sleep(0.005);
	}
	$watch->ask("SELECT pg_cancel_backend($session->{pid})");
	$session->wait_for;
}
ok($seen{'mesh points'} || $seen{tetrahedralize}, 'progress: ' . join(', ', sort keys %seen));
is($watch->ask("SELECT count(*) FROM redblue_progress WHERE pid = $session->{pid}"), 0, 'and none after it');

# ---- memory ----

for my $limit ('1MB', '8MB', '32MB')
{
	my (undef, $err) = $session->ask("SET redblue.memory_limit = '$limit';\n$query{'making tetrahedra'}");
	like($err, qr/53200.*out of memory\nDETAIL: +The mesh needs about \d+ [kM]B, but redblue.memory_limit is/, "a limit of $limit");
}
my ($needed) = ($session->ask($query{'making tetrahedra'}))[1] =~ /needs about (\d+) MB/;
$session->ask("SET redblue.memory_limit = '" . 2 * ($needed // 0) . "MB'");
like($session->ask("SELECT count(*) > 1000000 FROM redblue_tetrahedra(points => 'cloud', keep => 'hull')"), qr/^t$/, "twice what was asked for ($needed MB) is enough");
$session->ask('RESET redblue.memory_limit');

# ---- the session ends ----

my $doomed = session($node);
$doomed->send($query{'making tetrahedra'});
sleep(0.5);
$watch->ask("SELECT pg_terminate_backend($doomed->{pid})");
my $gone = 0;
for (1 .. 6000)
{
	$gone = $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE pid = $doomed->{pid}") eq '0';
	last if $gone;
	sleep(0.01);
}
ok($gone, 'a session that is terminated ends at once');
eval { $doomed->{run}->finish };
is($watch->ask("SELECT count(*) FROM redblue_progress"), 0, 'and is no longer shown');
my $log = slurp_file($node->logfile);
unlike($log, qr/terminated by signal|PANIC/, 'the server did not notice');

# ---- privileges ----

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE guest;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
CREATE TABLE tet AS SELECT id, ax::float8, ay::float8, az::float8, bx::float8, by::float8, bz::float8, cx::float8, cy::float8, cz::float8 FROM (VALUES
	(11, 0, 0, 0, 1, 0, 0, 0, 1, 0), (12, 0, 0, 0, 1, 0, 0, 0, 0, 1), (13, 0, 0, 0, 0, 1, 0, 0, 0, 1), (14, 1, 0, 0, 0, 1, 0, 0, 0, 1)) f (id, ax, ay, az, bx, by, bz, cx, cy, cz);
SQL
my $guest = session($node);
$guest->ask('SET ROLE guest');
sub refused
{
	my ($sql, $pattern, $name) = @_;
	my (undef, $err) = $guest->ask($sql);
	like($err, $pattern, $name);
	return;
}
refused("SELECT count(*) FROM redblue_tetrahedra('tet')", qr/42501.*permission denied for table tet/, 'no right to read the facets');
$watch->ask('GRANT SELECT ON tet TO guest');
is($guest->ask("SELECT count(*) FROM redblue_tetrahedra('tet')"), 1, 'with it there are rows');
refused("SELECT * FROM redblue_tetrahedralize('tet', 'g')", qr/42501.*permission denied for schema public/, 'no right to make tables');
$watch->ask("SELECT tets FROM redblue_tetrahedralize('tet', 'g')");
refused("SELECT * FROM redblue_mesh_check('g')", qr/42501.*permission denied for table g_vertices/, 'no right to read a mesh');
refused("SELECT redblue_mesh_vtu('g')", qr/42501.*permission denied for table g_vertices/, 'nor to have it as a file');
$watch->ask('GRANT SELECT ON g_vertices, g_tets, g_faces, g_segments TO guest');
is($guest->ask("SELECT count(*) FROM redblue_mesh_check('g', 'tet')"), 0, 'with it it can be checked');
$watch->ask('TRUNCATE g_vertices, g_tets, g_faces, g_segments');
refused("SELECT * FROM redblue_tetrahedralize('tet', 'g')", qr/42501.*permission denied for table g_vertices/, 'nor to fill it');
$watch->ask('GRANT INSERT ON g_vertices, g_tets, g_faces TO guest');
refused("SELECT * FROM redblue_tetrahedralize('tet', 'g')", qr/42501.*permission denied for table g_segments/, 'all four are asked for');
$watch->ask('GRANT INSERT ON g_segments TO guest');
is($guest->ask("SELECT tets FROM redblue_tetrahedralize('tet', 'g')"), 1, 'with these rights it is filled');
$guest->ask("SELECT tets FROM redblue_tetrahedralize('tet', 'pg_temp.own')");
is($guest->ask("SELECT count(*) FROM redblue_mesh_check('pg_temp.own', 'tet')"), 0, 'a temporary mesh needs none');
is($watch->ask('SELECT count(*) FROM redblue_last_run()') > 0 ? 1 : 0, 1, 'a session sees what it did');
is($guest->ask("SELECT count(*) FROM redblue_last_run();\nRESET ROLE;\nSELECT count(*) FROM redblue_last_run()"), "4\n0", 'another role does not');

# Policies and triggers apply.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE p_tets (LIKE g_tets INCLUDING ALL);
CREATE FUNCTION shift_region() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.region := NEW.region + 41; RETURN NEW; END';
CREATE TRIGGER shift BEFORE INSERT ON p_tets FOR EACH ROW EXECUTE FUNCTION shift_region();
CREATE TABLE p_vertices (LIKE g_vertices) PARTITION BY HASH (id);
CREATE TABLE p_vertices0 PARTITION OF p_vertices FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p_vertices1 PARTITION OF p_vertices FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT tets FROM redblue_tetrahedralize('tet', 'p');
SQL
is($watch->ask('SELECT region FROM p_tets'), 42, 'a trigger');
is($watch->ask('SELECT count(*) FROM p_vertices0') + $watch->ask('SELECT count(*) FROM p_vertices1'), 4, 'partitions');
is($watch->ask("SELECT count(*) FROM redblue_mesh_check('p', 'tet')"), 0, 'and the mesh is one');

# A transaction that is rolled back leaves no mesh; also within a savepoint and a function.
is($watch->ask("BEGIN;\nSELECT tets FROM redblue_tetrahedralize('tet', 'r');\nSELECT count(*) FROM redblue_mesh_check('r', 'tet');\nROLLBACK;\nSELECT to_regclass('r_tets') IS NULL"), "1\n0\nt", 'rolled back');
is($watch->ask("BEGIN;\nCREATE TABLE t2 AS TABLE tet;\nSELECT tets FROM redblue_tetrahedralize('t2', 'r');\nUPDATE t2 SET id = id + 100;\nSELECT min(facet_id) FROM r_faces;\nCOMMIT"), "1\n11", 'a table of the same transaction');

for my $s ($session, $watch, $guest)
{
	$s->quit;
}
$node->stop;
done_testing();
