# Tests refinement: the same bits, cancellation, memory, privileges, sessions that refine the same mesh, and many
# solids.
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

# The limit is 200 ms; a loaded machine gets more time.
my $node = new_server('refine', "redblue.memory_limit = 2GB\n");
load_off($node, 'spot', data_file('spot.off.xz'));
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION box(x0 float8, y0 float8, z0 float8, x1 float8, y1 float8, z1 float8)
RETURNS TABLE (n int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8) LANGUAGE sql IMMUTABLE AS $$
	WITH corner AS (SELECT i, CASE WHEN i & 1 = 0 THEN x0 ELSE x1 END AS x, CASE WHEN i & 2 = 0 THEN y0 ELSE y1 END AS y, CASE WHEN i & 4 = 0 THEN z0 ELSE z1 END AS z FROM generate_series(0, 7) i)
	SELECT f.n, a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z
	FROM (VALUES (1, 0, 2, 1), (2, 1, 2, 3), (3, 4, 5, 6), (4, 5, 7, 6), (5, 0, 1, 4), (6, 1, 5, 4), (7, 2, 6, 3), (8, 3, 6, 7), (9, 0, 4, 2), (10, 2, 4, 6), (11, 1, 3, 5), (12, 3, 7, 5)) f (n, i, j, k)
	JOIN corner a ON a.i = f.i JOIN corner b ON b.i = f.j JOIN corner c ON c.i = f.k $$;
CREATE TABLE gem AS
	WITH corner AS (SELECT row_number() OVER () AS i, 5 * x AS x, 5 * y AS y, 5 * z AS z FROM (SELECT (ARRAY[0, a, b])[1 + k] AS x, (ARRAY[b, 0, a])[1 + k] AS y, (ARRAY[a, b, 0])[1 + k] AS z
		FROM generate_series(0, 2) k, (VALUES (1.0::float8), (-1.0)) f (a), (VALUES ((1 + sqrt(5.0::float8)) / 2), ((-1 - sqrt(5.0::float8)) / 2)) g (b)) c),
	edge AS (SELECT a.i, b.i AS j FROM corner a JOIN corner b ON a.i < b.i AND (a.x - b.x) ^ 2 + (a.y - b.y) ^ 2 + (a.z - b.z) ^ 2 < 101)
	SELECT row_number() OVER (ORDER BY a.i, b.i, c.i)::int AS id, a.x AS ax, a.y AS ay, a.z AS az, b.x AS bx, b.y AS by, b.z AS bz, c.x AS cx, c.y AS cy, c.z AS cz
	FROM edge e JOIN edge f ON f.i = e.j JOIN edge g ON g.i = e.i AND g.j = f.j JOIN corner a ON a.i = e.i JOIN corner b ON b.i = f.i JOIN corner c ON c.i = f.j;
CREATE TABLE dust AS SELECT i AS id, 0.1 * i AS x, 0.03 * i * i AS y, 0.05 AS z, 1.0 * i AS volume FROM generate_series(1, 5) i;
CREATE TABLE houses AS SELECT 12 * h + n AS id, h AS house, b.* FROM generate_series(1, 1000) h, LATERAL box(2 * h, 0, 0, 2 * h + 1, 1 + h % 3, 1 + h % 7) b;
SELECT setseed(0.5);
CREATE TABLE town AS SELECT 12 * h + n AS id, h AS house, b.* FROM generate_series(1, 100000) h, LATERAL box(2 * h, 0, 0, 2 * h + 1, 1 + h % 3, 1 + h % 7) b;
CREATE TABLE cloud AS SELECT i AS id, random() * 1000 AS x, random() * 1000 AS y, random() * 1000 AS z FROM generate_series(1, 200000) i;
-- a mesh of several tables, as one text
CREATE FUNCTION digest(mesh text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	d text;
BEGIN
	EXECUTE format('SELECT md5(concat((SELECT md5(string_agg((v.*)::text, %2$L ORDER BY id)) FROM %1$s_vertices v), (SELECT md5(string_agg((v.*)::text, %2$L ORDER BY id)) FROM %1$s_tets v),
		(SELECT md5(string_agg((v.*)::text, %2$L ORDER BY id)) FROM %1$s_faces v), (SELECT md5(string_agg((v.*)::text, %2$L ORDER BY id)) FROM %1$s_segments v)))', mesh, ',') INTO d;
	RETURN d;
END $$;
CREATE FUNCTION drop_mesh(mesh text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('DROP TABLE IF EXISTS %1$s_vertices, %1$s_tets, %1$s_faces, %1$s_segments', mesh); END $$;
CREATE TABLE few AS SELECT * FROM cloud WHERE id <= 20000;
CREATE TABLE before AS SELECT * FROM redblue_tetrahedralize('gem', 'f');
CREATE TABLE of_spot AS SELECT * FROM redblue_tetrahedralize('spot', 's');
CREATE TABLE of_cloud AS SELECT * FROM redblue_tetrahedralize(points => 'cloud', mesh => 'c', keep => 'hull');
ANALYZE;
SQL
add_stopwatch($node);
my $session = session($node);
my $watch = session($node);
$_->ask("SET client_min_messages = warning") for $session, $watch;

# ---- quality ----

$session->ask("CREATE TABLE of_r AS SELECT * FROM redblue_refine('spot', 'r')");
my $refined = $session->ask("SELECT vertices > (SELECT vertices FROM of_spot), tets > (SELECT tets FROM of_spot), bad = bad_input + bad_fine + bad_angle, on_segments + on_facets + inside = vertices - (SELECT count(*) FROM s_vertices WHERE kind = 'input'), vertices, tets, bad, rounds FROM of_r");
like($refined, qr/^t\|t\|t\|t\|/, "spot: $refined");
is($session->ask("SELECT count(*) FROM redblue_mesh_check('r', 'spot')"), 0, 'its mesh has no fault');
is($session->ask('SELECT count(DISTINCT facet_id) FROM r_faces'), $session->ask('SELECT count(*) FROM spot'), 'every facet is there');
is($session->ask('SELECT count(*) FROM r_tets WHERE radius_edge > 2 OR min_dihedral < 5'), $session->ask('SELECT bad FROM of_r'), 'as many tetrahedra are bad as it says');
is($session->ask("SELECT bad FROM redblue_refine('gem', 'j', sizes => 'dust')"), 0, 'where nothing is sharp, none');
cmp_ok($session->ask('SELECT max(radius_edge) FROM j_tets'), '<=', 2, 'nor is one');

# ---- equal bits ----

my %way = ('of rows' => "'spot', 'd', max_volume => 0.001", 'of solids' => "'houses', 'd', solid => 'house', max_volume => 0.5", 'of points' => "points => 'few', mesh => 'd', keep => 'hull', max_points => 25000");
for my $name (sort keys %way)
{
	my %digest;
	for my $set ('redblue.threads = 1', 'redblue.threads = 2', 'redblue.threads = 8', 'redblue.backend = cpu')
	{
		$session->ask("SET $set;\nSELECT tets FROM redblue_refine($way{$name})");
		$digest{ $session->ask("SELECT digest('d')") } = $set;
		$session->ask("SELECT drop_mesh('d');\nRESET redblue.threads;\nRESET redblue.backend");
	}
	is(scalar(keys %digest), 1, "$name: the same bits with any number of threads");
}
# A mesh from an earlier call is continued as if it had just been computed.
$session->ask("SELECT tets FROM redblue_refine('gem', 'd', max_volume => 5);\nSELECT tets FROM redblue_refine(mesh => 'f', max_volume => 5)");
is($session->ask("SELECT digest('f')"), $session->ask("SELECT digest('d')"), 'in one step and in two');
my $good = $session->ask("SELECT digest('f')");
is($session->ask("SELECT on_segments + on_facets + inside FROM redblue_refine(mesh => 'f', max_volume => 5)"), 0, 'nothing is left to be done');
is($session->ask("SELECT digest('f')"), $good, 'and a good mesh stays what it is');

# ---- cancel ----

my %query = (
	'refining' => "SELECT tets FROM redblue_refine('spot', 'x', max_volume => 1e-9)",
	'continuing' => "SELECT tets FROM redblue_refine(mesh => 'c', max_volume => 1)",
	'reading sizes' => "SELECT tets FROM redblue_refine_query('TABLE gem', 'x', sizes => 'SELECT i AS id, 1 AS x, 2 AS y, 3 AS z, 1 AS volume FROM generate_series(1, 1000000000) i')",
	'meshing solids' => "SELECT tets FROM redblue_refine('town', 'x', solid => 'house', max_volume => 0.01)");
for my $name (sort keys %query)
{
	my $before = $session->ask("SELECT digest('c')");
	stops_soon($session, $watch, $name, $query{$name}, 0.05, 0.2, 0.5, 1, 2);
	is($session->ask("SELECT pg_backend_pid()"), $session->{pid}, "the session lives after $name");
	is($session->ask("SELECT digest('c')"), $before, 'a mesh that was there is what it was') if $name eq 'continuing';
	is($session->ask("SELECT count(*) FROM pg_class WHERE relname LIKE 'x\\_%' AND relkind = 'r'"), 0, 'no table is left');
	$session->ask("SELECT drop_mesh('x')");
}
is(backend_threads($session->{pid}), 1, 'nor a thread');
my $rss = emptied_rss_kb($session);
for my $i (1 .. 20)
{
	$session->ask(under_timeout(20 + 7 * $i, $query{'meshing solids'}));
	# Leaves a block, whose subtransaction ends with it.
	$session->ask(under_timeout(5 + 3 * $i, "DO \$\$ BEGIN PERFORM redblue_refine('spot', 'x', max_volume => 1e-9); EXCEPTION WHEN query_canceled THEN RAISE EXCEPTION 'it was %', sqlstate; END \$\$"));
}
my $grown = emptied_rss_kb($session) - $rss;
cmp_ok($grown, '<', 20_000, "forty timeouts: $rss kB, then $grown kB more");
is(backend_threads($session->{pid}), 1, 'and no thread more');

# ---- progress ----

for my $name ('meshing solids', 'continuing')
{
	my %seen;
	# A stage may end before it was looked at.
	for my $try (1 .. 5)
	{
		last if $name eq 'meshing solids' ? $seen{total} : $seen{check};
		$session->send($query{$name});
		for (1 .. 12_000)
		{
			my $row = $watch->ask("SELECT function, stage, total > 0 FROM redblue_progress WHERE pid = $session->{pid}");
			$seen{$1} = 1 if $row =~ /^redblue_refine\|([^|]+)/;
			$seen{total} = 1 if $row =~ /^redblue_refine\|tetrahedralize\|t/;
			last if $session->ready || ($name eq 'meshing solids' ? $seen{total} : $seen{check});
			sleep(0.005);
		}
		$watch->ask("SELECT pg_cancel_backend($session->{pid})");
		$session->wait_for;
	}
	ok($name eq 'meshing solids' ? $seen{tetrahedralize} && $seen{total} : $seen{check}, "progress while $name: " . join(', ', sort keys %seen));
	$session->ask("SELECT drop_mesh('x')");
}

# ---- memory ----

for my $limit ('1MB', '16MB', '64MB')
{
	my (undef, $err) = $session->ask("SET redblue.memory_limit = '$limit';\n$query{'meshing solids'}");
	like($err, qr/53200.*out of memory\nDETAIL: +The mesh needs about \d+ [kM]B, but redblue.memory_limit is/, "solids: a limit of $limit");
	(undef, $err) = $session->ask("SET redblue.memory_limit = '$limit';\n$query{'continuing'}");
	like($err, qr/53200.*out of memory\nDETAIL: +The mesh needs about \d+ [kM]B, but redblue.memory_limit is/, "a mesh that is there: a limit of $limit");
}
my (undef, $err) = $session->ask("SET redblue.memory_limit = '64MB';\n$query{'refining'}");
like($err, qr/53200.*out of memory\nDETAIL: +The mesh needs about \d+ [kM]B, but redblue.memory_limit is/, 'what has no end: a limit');
$session->ask('RESET redblue.memory_limit');
is($session->ask("SELECT count(*) FROM pg_class WHERE relname LIKE 'x\\_%' AND relkind = 'r'"), 0, 'no table is left');

# ---- max_points ----

$session->ask("SELECT drop_mesh('x');\nSET client_min_messages = notice");
my ($rows, $notice) = $session->ask("SELECT vertices <= 9000, bad > 0, bad_full > 0 FROM redblue_refine('spot', 'x', max_volume => 1e-9, max_points => 9000)");
is($rows, 't|t|t', 'max_points');
like($notice, qr/NOTICE: .*refinement stopped at max_points = 9000\n.*DETAIL: +Tetrahedra that are still bad: \d+, of which [1-9]\d* because of max_points\.\n.*HINT: +Increase max_points; call the function without facets/, 'a notice reports it');
is($session->ask("SELECT count(*) FROM redblue_mesh_check('x', 'spot')"), 0, 'and the mesh is one');
# Refinement that would not end without the limit
($rows, $notice) = $session->ask("SELECT drop_mesh('x');\nSELECT vertices <= 20000, tets > 0 FROM redblue_refine('spot', 'x', radius_edge => 1, max_points => 20000)");
like($rows, qr/t\|t$/, 'a ratio of 1 ends there, too');
is($session->ask("SELECT count(*) FROM redblue_mesh_check('x', 'spot')"), 0, 'and the mesh is one');
$session->ask("SELECT drop_mesh('x');\nSET client_min_messages = warning");

# ---- hard inputs ----

my %hard = (
	'a tetrahedron of 1e300' => ["SELECT id, 1e300 * ax AS ax, 1e300 * ay AS ay, 1e300 * az AS az, 1e300 * bx AS bx, 1e300 * \"by\" AS by, 1e300 * bz AS bz, 1e300 * cx AS cx, 1e300 * cy AS cy, 1e300 * cz AS cz FROM corner", 'vertices = 200', 'radius_edge => 0.7, max_points => 200'],
	'of 1e-300' => ["SELECT id, 1e-300 * ax AS ax, 1e-300 * ay AS ay, 1e-300 * az AS az, 1e-300 * bx AS bx, 1e-300 * \"by\" AS by, 1e-300 * bz AS bz, 1e-300 * cx AS cx, 1e-300 * cy AS cy, 1e-300 * cz AS cz FROM corner", 'vertices = 200', 'radius_edge => 0.7, max_points => 200'],
	'far from the origin, and small' => ["SELECT id, ax / 1024 + 5e5 AS ax, ay / 1024 + 5.4e6 AS ay, az / 1024 AS az, bx / 1024 + 5e5 AS bx, \"by\" / 1024 + 5.4e6 AS by, bz / 1024 AS bz, cx / 1024 + 5e5 AS cx, cy / 1024 + 5.4e6 AS cy, cz / 1024 AS cz FROM corner", 'bad = 0', 'max_volume => 1e-13'],
	'a wedge of a degree' => ["SELECT id, ax, ay * tan(radians(1)) AS ay, az, bx, \"by\" * tan(radians(1)) AS by, bz, cx, cy * tan(radians(1)) AS cy, cz FROM corner", 'bad = bad_input + bad_fine', 'radius_edge => 1.8'],
	'a needle of 1 : 100 000' => ["SELECT * FROM needle", 'bad_full > 0', 'max_points => 3000'],
	'a needle in a box' => ["SELECT row_number() OVER () AS id, b.* FROM (SELECT * FROM box(0, 0, 0, 10, 10, 10) UNION ALL SELECT * FROM box(1, 5, 5, 9, 5 + 8e-5, 5 + 8e-5)) b", 'bad = bad_input + bad_fine + bad_full + bad_angle', 'max_points => 20000']);
$session->ask("CREATE TABLE corner AS SELECT id, ax::float8, ay::float8, az::float8, bx::float8, \"by\"::float8, bz::float8, cx::float8, cy::float8, cz::float8 FROM (VALUES (11, 0, 0, 0, 1, 0, 0, 0, 1, 0), (12, 0, 0, 0, 1, 0, 0, 0, 0, 1), (13, 0, 0, 0, 0, 1, 0, 0, 0, 1), (14, 1, 0, 0, 0, 1, 0, 0, 0, 1)) f (id, ax, ay, az, bx, \"by\", bz, cx, cy, cz);
CREATE TABLE needle AS SELECT n AS id, b.* FROM box(0, 0, 0, 100000, 1, 1) b");
for my $name (sort keys %hard)
{
	my ($query, $is, $how) = @{ $hard{$name} };
	is($session->ask("SELECT tets > 0, $is FROM redblue_refine_query('$query', 'x', $how);\nSELECT count(*) FROM redblue_mesh_check('x')"), "t|t\n0", $name);
	$session->ask("SELECT drop_mesh('x')");
}

# ---- solids ----

my $bad = $session->ask("SELECT bad FROM redblue_refine('houses', 'h', solid => 'house')");
is($session->ask("SELECT count(*), count(DISTINCT solid_id) FROM h_faces") =~ /^\d+\|1000$/ ? 1 : 0, 1, 'a thousand houses');
is($session->ask("SELECT count(*) FROM h_tets WHERE radius_edge > 2"), $bad, 'as many are bad as it says');
like($session->ask("SELECT detail FROM redblue_last_run() WHERE stage = 'weld'"), qr/^12000 facets of 12000 triangles/, 'all are reported');
is($session->ask("SELECT count(*) FROM redblue_last_run() WHERE stage IN ('refine', 'fill')"), 2, 'and the stages');
my $alone = 0;
for my $house (1, 17, 500, 999, 1000)
{
	$session->ask("SELECT drop_mesh('o');\nSELECT tets FROM redblue_refine_query('SELECT * FROM houses WHERE house = $house', 'o')");
	$alone++ if $session->ask("SELECT (SELECT md5(string_agg((x, y, z, kind, parent_id)::text, ',' ORDER BY id)) FROM o_vertices) = (SELECT md5(string_agg((x, y, z, kind, parent_id)::text, ',' ORDER BY id)) FROM h_vertices WHERE solid_id = $house)
		AND (SELECT md5(string_agg((radius_edge, min_dihedral, region)::text, ',' ORDER BY id)) FROM o_tets) = (SELECT md5(string_agg((radius_edge, min_dihedral, region)::text, ',' ORDER BY id)) FROM h_tets WHERE solid_id = $house)") eq 't';
}
is($alone, 5, 'each is what it is alone');
# Many bad solids: the error names the first one by its id, whatever the threads do.
$session->ask("CREATE TABLE ruins AS TABLE houses;\nUPDATE ruins SET bx = ax, by = ay, bz = az WHERE n = 4 AND house % 7 = 3");
my %errors;
for my $threads (1, 2, 8)
{
	for (1 .. 5)
	{
		(undef, $err) = $session->ask("SET redblue.threads = $threads;\nSELECT solids FROM redblue_refine('ruins', 'x', solid => 'house')");
		$errors{ $err =~ s/^psql:<stdin>:\d+: //mgr } = 1;
	}
	is($session->ask("SELECT solids FROM redblue_refine('ruins', 'x', solid => 'house', on_bad => 'skip')"), 857, 'others are made');
	is($session->ask("SELECT count(DISTINCT solid_id), count(*) FILTER (WHERE solid_id % 7 = 3) FROM x_tets"), '857|0', 'and are there');
	$session->ask("SELECT drop_mesh('x');\nRESET redblue.threads");
}
is(scalar(keys %errors), 1, 'one error');
like((keys %errors)[0], qr/22023.*redblue_refine: solid 3: facet 40 has no area/, 'of the first');

# ---- two sessions, one mesh ----

for my $level ('READ COMMITTED', 'REPEATABLE READ')
{
	$watch->ask("SELECT drop_mesh('b');\nSELECT tets FROM redblue_tetrahedralize('gem', 'b');\nSELECT drop_mesh('b2');\nSELECT tets FROM redblue_tetrahedralize('gem', 'b2')");
	$session->ask("BEGIN ISOLATION LEVEL $level;\nSELECT count(*) FROM gem");
	$watch->ask("BEGIN;\nSELECT tets FROM redblue_refine(mesh => 'b', max_volume => 50)");
	$session->send("SELECT vertices FROM redblue_refine(mesh => 'b', max_volume => 5)");
	$session->{run}->pump_nb while $session->{in} ne '';
	sleep 0.2;
	ok(!$session->ready, "$level: the second one waits");
	my $third = session($node);
	is($third->ask("SET lock_timeout = '2s';\nSELECT count(*) FROM b_tets;\nSELECT count(*) FROM redblue_mesh_check('b', 'gem')"), $third->ask("SELECT tets FROM before") . "\n0", 'who reads need not wait, and sees the mesh as it was');
	like(($third->ask("SET lock_timeout = '100ms';\nUPDATE b_vertices SET x = 0"))[1], qr/55P03/, 'who writes waits');
	like(($third->ask("SELECT tets FROM redblue_refine(mesh => 'b2', max_volume => 50)"))[1], qr/^$/, 'another name need not wait');
	$third->quit;
	$watch->ask('COMMIT');
	my ($vertices, $error) = $session->wait_for;
	if ($level eq 'READ COMMITTED')
	{
		is($error, '', 'then it goes on where the first has ended');
		$session->ask('COMMIT');
		is($watch->ask("SELECT count(*) FROM b_vertices"), $vertices, 'all vertices are there once');
	}
	else
	{
		like($error, qr/40001/, 'and reports that its snapshot is old');
		$session->ask('ROLLBACK');
	}
	is($watch->ask("SELECT count(*) FROM redblue_mesh_check('b', 'gem')"), 0, 'the mesh is one');
}
# A mesh that is being computed
$session->ask("BEGIN;\nSELECT tets FROM redblue_refine('gem', 'n')");
$watch->send("SELECT tets > 0 FROM redblue_refine('gem', 'n')");
$watch->{run}->pump_nb while $watch->{in} ne '';
sleep 0.2;
ok(!$watch->ready, 'who makes the same tables waits');
$session->ask('COMMIT');
like(($watch->wait_for)[1], qr/55000.*table public.n_vertices is not empty/, 'and reports that they are full');

# Two meshes in two orders
$_->ask("SET deadlock_timeout = '20ms'") for $session, $watch;
$session->ask("BEGIN;\nSELECT tets FROM redblue_refine(mesh => 'b', max_volume => 20)");
$watch->ask("BEGIN;\nSELECT tets FROM redblue_refine(mesh => 'b2', max_volume => 20)");
$session->send("SELECT tets > 0 FROM redblue_refine(mesh => 'b2', max_volume => 20)");
$session->{run}->pump_nb while $session->{in} ne '';
sleep 0.2;
my (undef, $dead) = $watch->ask("SELECT tets > 0 FROM redblue_refine(mesh => 'b', max_volume => 20)");
$watch->ask('ROLLBACK');
my ($alive, $other) = $session->wait_for;
$session->ask('COMMIT');
is(($dead =~ /40P01/ ? 1 : 0) + ($other =~ /40P01/ ? 1 : 0), 1, 'one of two that wait for each other reports a deadlock');
is($watch->ask("SELECT count(*) FROM redblue_mesh_check('$_', 'gem')"), 0, "$_ is a mesh") for 'b', 'b2';
# Tables that are dropped in the meantime
$watch->ask("SELECT tets FROM redblue_refine('gem', 'gone');\nBEGIN;\nDROP TABLE gone_faces");
$session->send("SELECT tets FROM redblue_refine(mesh => 'gone')");
ok(waits_for_lock($session, $watch), 'who refines a mesh waits for one who drops a table of it');
$watch->ask('COMMIT');
like(($session->wait_for)[1], qr/42P01/, 'a table is dropped meanwhile');

# ---- exported, imported, and continued ----

my $dump = $node->basedir . '/b.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-t', 'b_*', '-t', 'gem', '-d', $node->connstr('postgres') ], 'a mesh is dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('restored', 'CREATE EXTENSION redblue');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('restored') ], 'and restored');
my $on = "SET client_min_messages = warning; SELECT tets FROM redblue_refine(mesh => 'b', max_volume => 9); SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM b_tets t";
is($node->safe_psql('restored', $on), $node->safe_psql('postgres', $on), 'and refined to the same');

# ---- transactions ----

my $was = $session->ask("SELECT digest('b')");
$session->ask("BEGIN;\nSAVEPOINT s;\nSELECT tets FROM redblue_refine(mesh => 'b', max_volume => 1);\nROLLBACK TO s;\nCOMMIT");
is($session->ask("SELECT digest('b')"), $was, 'rolled back');
like(($session->ask("SET default_transaction_read_only = on;\nSELECT tets FROM redblue_refine(mesh => 'b')"))[1], qr/25006/, 'a read-only transaction');
$session->ask('RESET default_transaction_read_only');
is($session->ask("SELECT count(*) FROM (SELECT redblue_refine(mesh => 'b', max_volume => 50.0 / i) FROM generate_series(1, 5) i) r;\nSELECT count(*) FROM redblue_mesh_check('b', 'gem')"), "5\n0", 'five times in one statement');

# ---- privileges ----

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE guest;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
SELECT drop_mesh('g'); SELECT tets FROM redblue_tetrahedralize('gem', 'g');
SQL
my $guest = session($node);
$guest->ask("SET client_min_messages = warning;\nSET ROLE guest");

sub refused
{
	my ($sql, $pattern, $name) = @_;
	like(($guest->ask($sql))[1], $pattern, $name);
	return;
}
my $again = "SELECT tets FROM redblue_refine(mesh => 'g', max_volume => 50)";
refused("SELECT tets FROM redblue_refine('gem', 'x')", qr/42501.*permission denied for table gem/, 'no right to read the facets');
refused($again, qr/42501.*permission denied for table g_vertices/, 'nor the mesh');
$watch->ask('GRANT SELECT ON g_vertices, g_tets, g_faces, g_segments TO guest');
refused($again, qr/42501.*permission denied for table g_vertices/, 'reading it is not enough');
$watch->ask('GRANT INSERT ON g_vertices, g_tets, g_faces, g_segments TO guest');
refused($again, qr/42501.*permission denied for table g_tets/, 'nor is adding rows');
$watch->ask('GRANT DELETE ON g_tets, g_faces TO guest');
refused($again, qr/42501.*permission denied for table g_segments/, 'all three are asked for');
$watch->ask('GRANT DELETE ON g_segments TO guest');
like($guest->ask($again), qr/^\d+$/, 'with these rights it is refined');
is($watch->ask("SELECT count(*) FROM redblue_mesh_check('g', 'gem')"), 0, 'and is a mesh');
$watch->ask('GRANT SELECT ON gem TO guest');
refused("SELECT tets FROM redblue_refine('gem', 'x')", qr/42501.*permission denied for schema public/, 'no right to make tables');
like($guest->ask("SELECT tets FROM redblue_refine('gem', 'pg_temp.own');\nSELECT tets > 0 FROM redblue_refine(mesh => 'pg_temp.own', max_volume => 25)"), qr/\nt$/, 'a temporary mesh needs none');
$watch->ask('REVOKE SELECT ON g_vertices FROM guest;
GRANT SELECT (id, x, y, z) ON g_vertices TO guest');
refused($again, qr/42501.*permission denied for table g_vertices/, 'some columns are not enough');

# Rows that a policy hides or protects
$watch->ask("SELECT drop_mesh('p');\nSELECT tets FROM redblue_refine('gem', 'p', max_volume => 50);\nGRANT SELECT, INSERT, DELETE ON p_vertices, p_tets, p_faces, p_segments TO guest;\nALTER TABLE p_tets ENABLE ROW LEVEL SECURITY;\nCREATE POLICY half ON p_tets USING (id % 2 = 0)");
my $of_p = "SELECT tets FROM redblue_refine(mesh => 'p', max_volume => 25)";
refused($of_p, qr/55000.*mesh "p" cannot be refined/, 'who sees half of a mesh');
$watch->ask("DROP POLICY half ON p_tets;\nALTER TABLE p_tets DROP CONSTRAINT p_tets_pkey;\nCREATE POLICY seen ON p_tets FOR SELECT USING (true);\nCREATE POLICY added ON p_tets FOR INSERT WITH CHECK (true);\nCREATE POLICY half ON p_tets FOR DELETE USING (id % 2 = 0)");
refused($of_p, qr/55000.*cannot replace rows of table public.p_tets/, 'who may delete half of it');
is($watch->ask("SELECT count(*) FROM redblue_mesh_check('p', 'gem')"), 0, 'it stays what it was');

# Other properties of tables: triggers, references, partitions
$node->safe_psql('postgres', <<'SQL');
SELECT drop_mesh('t');
CREATE TABLE t_vertices (LIKE f_vertices) PARTITION BY HASH (id);
CREATE TABLE t_vertices0 PARTITION OF t_vertices FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_vertices1 PARTITION OF t_vertices FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE log (what text);
CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (tg_op); RETURN NULL; END';
CREATE TABLE before_t AS SELECT * FROM redblue_tetrahedralize('gem', 't');
CREATE TRIGGER log AFTER INSERT OR DELETE ON t_tets EXECUTE FUNCTION log();
SELECT tets FROM redblue_refine(mesh => 't', max_volume => 50);
SQL
is($watch->ask("SELECT string_agg(DISTINCT what, ',' ORDER BY what) FROM log"), 'DELETE,INSERT', 'a trigger');
is($watch->ask("SELECT count(*) FROM redblue_mesh_check('t', 'gem')"), 0, 'partitions');
$watch->ask("CREATE TABLE names (tet bigint REFERENCES t_tets, name text);\nINSERT INTO names VALUES (1, 'first')");
like(($watch->ask("SELECT tets FROM redblue_refine(mesh => 't', max_volume => 25)"))[1], qr/23503/, 'rows that are named elsewhere stay');
is($watch->ask("SELECT count(*) FROM redblue_mesh_check('t', 'gem')"), 0, 'and so does the mesh');
$watch->ask("DROP TABLE names;\nCREATE TABLE names (vertex bigint REFERENCES g_vertices, name text);\nINSERT INTO names VALUES (1, 'first')");
like($watch->ask("SELECT tets FROM redblue_refine(mesh => 'g', max_volume => 15)"), qr/^\d+$/, 'vertices may be named');

# ---- the end of a session ----

for my $name (sort keys %query)
{
	my $doomed = session($node);
	$doomed->send($query{$name});
	$doomed->{run}->pump_nb while $doomed->{in} ne '';
	sleep 0.3;
	is($watch->ask("SELECT pg_terminate_backend($doomed->{pid}, 60000)"), 't', "$name ends with its session");
	eval { $doomed->{run}->finish };
}
is($watch->ask("SELECT count(*) FROM redblue_progress"), 0, 'none is shown any more');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'the server did not notice');

$_->quit for $session, $watch, $guest;
$node->stop;
done_testing();
