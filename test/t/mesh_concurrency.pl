# Tests meshes while something else happens: a cancel during each stage, the end of a session or of the server, another
# session that uses the same tables.
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = new_server('mesh_contexts');
$node->safe_psql('postgres', <<'SQL');
SELECT setseed(0.5);
CREATE TABLE cloud AS SELECT i AS id, random() * 1000 AS x, random() * 1000 AS y, random() * 1000 AS z FROM generate_series(1, 20000) i;
CREATE TABLE tet AS SELECT id, ax::float8, ay::float8, az::float8, bx::float8, by::float8, bz::float8, cx::float8, cy::float8, cz::float8 FROM (VALUES
	(11, 0, 0, 0, 1, 0, 0, 0, 1, 0), (12, 0, 0, 0, 1, 0, 0, 0, 0, 1), (13, 0, 0, 0, 0, 1, 0, 0, 0, 1), (14, 1, 0, 0, 0, 1, 0, 0, 0, 1)) f (id, ax, ay, az, bx, by, bz, cx, cy, cz);
-- tables of a mesh that is none: nearly all is wrong with it
CREATE TABLE wrong_vertices AS SELECT i::bigint AS id, (ARRAY[0, 1, 0.5, 'NaN', 'Infinity', 1e308, -1e308, 5e-324, random(), -0.0]::float8[])[1 + i % 10] AS x, random() AS y, random() AS z,
	(ARRAY['input', 'crossing', 'segment', 'edge', 'facet', 'inside', 'none', ''])[1 + i % 8] AS kind, (ARRAY[NULL, -1, 11, 99]::bigint[])[1 + i % 4] AS parent_id FROM generate_series(1, 50000) i;
CREATE TABLE wrong_tets AS SELECT i::bigint / 2 AS id, (random() * 50000)::bigint AS v1, (random() * 50000)::bigint AS v2, (random() * 50000)::bigint AS v3, (random() * 51000)::bigint AS v4, i::bigint % 3 AS region FROM generate_series(1, 50000) i;
CREATE TABLE wrong_faces AS SELECT i::bigint AS id, (random() * 50000)::bigint AS v1, (random() * 50000)::bigint AS v2, (random() * 51000)::bigint AS v3, (ARRAY[11, 12, 15, -1, 9223372036854775807])[1 + i % 5] AS facet_id, (ARRAY[1, 1, 0, -2147483648])[1 + i % 4]::int AS polygon FROM generate_series(1, 50000) i;
CREATE TABLE wrong_segments AS SELECT i::bigint AS id, (random() * 50000)::bigint AS v1, (random() * 51000)::bigint AS v2, NULL::bigint AS segment_id, NULL::bigint AS facet_id, (ARRAY[0, 1, 2, -1, 9223372036854775807])[1 + i % 5] AS segment FROM generate_series(1, 50000) i;
ANALYZE;
SQL
my $session = session($node);
my $watch = session($node);

sub server_lives
{
	my ($when) = @_;
	unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, "the server lives $when");
	return;
}

# ---- cancel: memory to which the thread writes must outlive the function that is left ----

my $check = "SELECT count(*) FROM redblue_mesh_check('wrong', 'tet')";
cmp_ok($session->ask($check), '>', 100_000, 'tables that are no mesh have many faults');
$session->ask('SET client_min_messages = error');
# The timeouts are spread over the time that a check took. A statement repeats the check, so that none ends before its
# timeout.
my $start = time;
$session->ask($check);
my $took = time - $start;
my $cancelled = 0;
my $repeated = "SELECT count(*) FROM generate_series(1, 100000) i, LATERAL redblue_mesh_check('wrong' || left(i::text, 0), 'tet')";
for my $i (1 .. 24)
{
	my $statement = $i % 2 ? $repeated : "DO \$\$ BEGIN LOOP $check; END LOOP; EXCEPTION WHEN query_canceled THEN RAISE EXCEPTION 'it was %', sqlstate; END \$\$";
	$statement =~ s/LOOP SELECT/LOOP PERFORM/;
	my (undef, $err) = eval { $session->ask(under_timeout(int(1 + 1000 * $took * $i / 25), $statement)) };
	last if $@;
	$cancelled++ if $err =~ /57014/;
}
is($cancelled, 24, 'all checks are cancelled');
is(eval { $session->ask("SELECT pg_backend_pid()") }, $session->{pid}, 'the session lives');
server_lives('after them');

# ---- two sessions, the same tables ----

my $facets = "facets => 'tet', mesh => 'both'";
$watch->ask("SELECT tets FROM redblue_tetrahedralize($facets);\nALTER TABLE both_vertices DROP CONSTRAINT both_vertices_pkey;\nALTER TABLE both_tets DROP CONSTRAINT both_tets_pkey;\nALTER TABLE both_faces DROP CONSTRAINT both_faces_pkey;\nALTER TABLE both_segments DROP CONSTRAINT both_segments_pkey");
for my $level ('READ COMMITTED', 'REPEATABLE READ')
{
	$watch->ask('TRUNCATE both_vertices, both_tets, both_faces, both_segments');
	$session->ask("BEGIN ISOLATION LEVEL $level;\nSELECT count(*) FROM tet");
	$watch->ask("BEGIN;\nSELECT tets FROM redblue_tetrahedralize($facets)");
	$session->send("SELECT tets FROM redblue_tetrahedralize($facets)");
	$session->{run}->pump_nb while $session->{in} ne '';
	sleep 0.2;
	ok(!$session->ready, "$level: the second one waits");
	$watch->ask('COMMIT');
	my (undef, $err) = $session->wait_for;
	like($err, qr/55000.*table public.both_vertices is not empty/, 'and reports that there are rows');
	$session->ask('ROLLBACK');
}
# Tables that do not exist
$session->ask("BEGIN;\nSELECT count(*) FROM tet");
$watch->ask("BEGIN;\nSELECT tets FROM redblue_tetrahedralize('tet', 'new')");
$session->send("SELECT tets FROM redblue_tetrahedralize('tet', 'new')");
$session->{run}->pump_nb while $session->{in} ne '';
is($node->safe_psql('postgres', "SELECT tets FROM redblue_tetrahedralize('tet', 'newer')"), 1, 'another name need not wait');
ok(!$session->ready, 'who makes the same tables waits');
$watch->ask('COMMIT');
like(($session->wait_for)[1], qr/55000.*table public.new_vertices is not empty/, 'and reports the same');
$session->ask('ROLLBACK');
# A call that only adds rows need not wait.
$watch->ask("TRUNCATE both_vertices, both_tets, both_faces, both_segments;\nBEGIN;\nSELECT tets FROM redblue_tetrahedralize($facets)");
is($session->ask("SET lock_timeout = '1s';\nINSERT INTO both_tets VALUES (7, 1, 2, 3, 4, 5);\nRESET lock_timeout"), '', 'a row is added meanwhile');
$watch->ask('COMMIT');

# ---- the end of a session during each stage ----

my %query = (
	'reading' => "SELECT count(*) FROM redblue_tetrahedra_query(points => 'SELECT i AS id, 1 AS x, 2 AS y, 3 AS z FROM generate_series(1, 1000000000) i')",
	'a mesh' => "SELECT count(*) FROM redblue_tetrahedra(points => 'cloud', keep => 'hull')",
	'tables' => "BEGIN;\nSELECT tets FROM redblue_tetrahedralize(points => 'cloud', mesh => 'doomed', keep => 'hull');\nROLLBACK",
	'a check' => $check,
	'a file' => "SELECT length(redblue_mesh_vtu('doomed2')), length(redblue_mesh_gmsh('doomed2'))",
	'a block' => "DO \$\$ BEGIN LOOP BEGIN $check; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END \$\$");
$query{'a block'} =~ s/BEGIN SELECT/BEGIN PERFORM/;
$watch->ask("SELECT tets FROM redblue_tetrahedralize(points => 'cloud', mesh => 'doomed2', keep => 'hull')");
for my $name (sort keys %query)
{
	for my $delay (0.02, 0.1, 0.3)
	{
		my $doomed = session($node);
		$doomed->send("$query{$name};\n" x 100);
		$doomed->{run}->pump_nb while $doomed->{in} ne '';
		sleep $delay;
		is($watch->ask("SELECT pg_terminate_backend($doomed->{pid}, 60000)"), 't', "$name ends with its session");
		eval { $doomed->{run}->finish };
	}
}
is($watch->ask("SELECT count(*) FROM redblue_progress"), 0, 'none is shown any more');
server_lives('after that');

# ---- the end of the server ----

for my $mode ('fast', 'immediate')
{
	my @last = map { session($node) } 1 .. 3;
	my @queries = @query{ 'a mesh', 'tables', 'a check' };
	for my $s (@last)
	{
		$s->send((shift @queries) . ";\n" x 100);
		$s->{run}->pump_nb while $s->{in} ne '';
	}
	sleep 0.3;
	$start = time;
	$node->stop($mode);
	cmp_ok(time - $start, '<', 60, "the server stops ($mode)");
	eval { $_->{run}->finish } for @last;
	$node->start;
	is($node->safe_psql('postgres', "SELECT count(*) FROM redblue_mesh_check('doomed2', points => 'cloud', keep => 'hull')"), 0, 'and starts again, with a mesh in it');
}
server_lives('as long as it is to');
$node->stop;
done_testing();
