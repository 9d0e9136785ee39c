# Tests refinement on a device, by the worker, with the same bits as on the CPU, and its failures: a device that is
# full, fails, hangs or is missing. The device is a fake (fake_device.c).
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# The limit is 200 ms; a loaded machine gets more time.
my $device = place_for_device();
fake();
my $node = new_server('refine_device', "max_worker_processes = 8\nredblue.threads = 1\nlog_min_messages = info\n");
load_off($node, 'spot', data_file('spot.off.xz'));
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE box AS
	WITH corner AS (SELECT i, (i & 1)::float8 AS x, (i >> 1 & 1)::float8 AS y, (i >> 2 & 1)::float8 AS z FROM generate_series(0, 7) i)
	SELECT f.n AS id, a.x AS ax, a.y AS ay, a.z AS az, b.x AS bx, b.y AS by, b.z AS bz, c.x AS cx, c.y AS cy, c.z AS cz
	FROM (VALUES (1, 0, 2, 1), (2, 1, 2, 3), (3, 4, 5, 6), (4, 5, 7, 6), (5, 0, 1, 4), (6, 1, 5, 4), (7, 2, 6, 3), (8, 3, 6, 7), (9, 0, 4, 2), (10, 2, 4, 6), (11, 1, 3, 5), (12, 3, 7, 5)) f (n, i, j, k)
	JOIN corner a ON a.i = f.i JOIN corner b ON b.i = f.j JOIN corner c ON c.i = f.k;
-- a size field with a tiny size far from every point: many tetrahedra are expected, few are made
CREATE TABLE far AS SELECT i AS id, 100.0 * i AS x, 100.0 * i AS y, 100.0 * i AS z, 1e-7 ^ i AS volume FROM generate_series(0, 1) i;
CREATE TABLE dust AS SELECT i AS id, 0.1 * i AS x, 0.03 * i AS y, 0.5 AS z, 0.0003 * i AS volume FROM generate_series(1, 5) i;
CREATE TABLE place AS SELECT 7 AS id, 0.4 AS x, 0.4 AS y, 0.4 AS z, 0.003 AS volume;
CREATE FUNCTION digest(mesh text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	d text;
BEGIN
	EXECUTE format('SELECT md5(concat((SELECT md5(string_agg((v.*)::text, %2$L ORDER BY id)) FROM %1$s_vertices v), (SELECT md5(string_agg((v.*)::text, %2$L ORDER BY id)) FROM %1$s_tets v),
		(SELECT md5(string_agg((v.*)::text, %2$L ORDER BY id)) FROM %1$s_faces v), (SELECT md5(string_agg((v.*)::text, %2$L ORDER BY id)) FROM %1$s_segments v)))', mesh, ',') INTO d;
	RETURN d;
END $$;
CREATE FUNCTION drop_mesh(mesh text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('DROP TABLE IF EXISTS %1$s_vertices, %1$s_tets, %1$s_faces, %1$s_segments', mesh); END $$;
SQL
my $watch = session($node);
my $s = session($node);
$s->ask('SET client_min_messages = warning');

sub worker { return scalar $watch->ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'redblue worker'") }
# Where the last mesh was refined
sub device_of_last { return scalar $s->ask("SELECT backend || ': ' || device FROM redblue_last_run() WHERE stage = 'refine'") }

# Refines, returns a description of the mesh or the error, and drops the mesh.
sub made
{
	my ($what) = @_;
	my $answer = $s->ask("SELECT vertices || ' ' || tets || ' ' || bad || ' ' || rounds FROM redblue_refine($what)");
	return $answer if $answer =~ /ERROR/;
	$answer .= ' ' . $s->ask("SELECT digest('m')");
	my $device_used = device_of_last();
	$s->ask("SELECT drop_mesh('m')");
	return wantarray ? ($answer, $device_used) : $answer;
}
sub no_tables { return is($s->ask("SELECT count(*) FROM pg_class WHERE relname LIKE 'm\\_%' AND relkind = 'r'"), 0, "$_[0]: no table is left") }

# A mesh that auto considers fine enough for the device
my $fine = "'box', 'm', max_volume => 0.0005, sizes => 'far'";
my %way = (
	'a volume' => $fine,
	'a surface' => "'spot', 'm'",
	'the surface kept' => "'spot', 'm', keep_surface => true",
	'at most so many points' => "'spot', 'm', max_points => 3500",
	'sizes and volumes of regions' => "'box', 'm', regions => 'place', regions_volume => 'volume', sizes => 'dust'",
	'nothing is bad' => "'box', 'm', radius_edge => 'infinity'");

# ---- without the file of a device ----

my %is = map { $_ => scalar made($way{$_}) } keys %way;
like($is{$_}, qr/^\d+ \d+ \d+ \d+ \w{32}$/, "$_: $is{$_}") for sort keys %way;
my ($answer, $device_used) = made($fine);
like($device_used, qr/^cpu: 1 thread; no GPU used: redblue_cuda\.so is not installed$/, 'no file for a device');
like($s->ask("SET redblue.backend = cuda; SELECT redblue_refine($fine)"), qr/ERROR:  58000: .*redblue_refine: no usable GPU\nDETAIL:  Reason: redblue_cuda\.so is not installed/, 'cuda is an error');
no_tables('no usable GPU');
is($s->ask('SELECT 1'), '1', 'the next statement');
is(worker(), '', 'no process was started');
$s->quit;

system("cp '$ENV{FAKE_DEVICE}' '$device'") == 0 or die;

# ---- equal bits ----

$s = session($node);
$s->ask("SET client_min_messages = warning;\nSELECT cuda FROM redblue_info()");
for my $backend ('cuda', 'cpu')
{
	$s->ask("SET redblue.backend = $backend");
	for my $name ($backend eq 'cpu' ? ('a volume') : sort keys %way)
	{
		($answer, $device_used) = made($way{$name});
		is($answer, $is{$name}, "$backend: $name");
		next if $name =~ /nothing/;
		is($device_used, $backend eq 'cuda' ? 'cuda: a fake device' : 'cpu: 1 thread', "$backend: $name: where");
	}
}
is($s->ask("SELECT backend || ': ' || device FROM redblue_last_run() WHERE stage = 'weld'"), 'cpu: 1 thread', 'rows are welded here');
unlike(slurp_file("/proc/$s->{pid}/maps"), qr/redblue_cuda/, 'the session has not opened the device');
is(scalar(grep { !/ @{[worker()]} / } did('refine')), 0, 'the worker has, for all');
$s->ask("RESET redblue.backend");
is(join('; ', made($fine)), "$is{'a volume'}; cuda: a fake device", 'auto: a fine mesh');
is(join('; ', made("'box', 'm', max_volume => 0.01")) =~ s/^[^;]*; //r =~ s/tetrahedra, \d+/tetrahedra, N/r, 'cpu: 1 thread; no GPU used: the expected number of tetrahedra, N, is too small for a GPU', 'auto: a coarse one');
# All 8 threads and 4 lanes
$s->ask("SET redblue.threads = 8;\nSET redblue.backend = cuda");
is(scalar(made($fine)), $is{'a volume'}, 'with more threads');
# An existing mesh
$s->ask("SELECT redblue_refine('box', 'm', max_volume => 0.005)");
$s->ask("SELECT redblue_refine(mesh => 'm', max_volume => 0.0003)");
is(device_of_last(), 'cuda: a fake device', 'a mesh that is there: where');
$answer = $s->ask("SELECT digest('m')");
$s->ask("SELECT drop_mesh('m');\nSET redblue.backend = cpu;\nSELECT redblue_refine('box', 'm', max_volume => 0.005)");
$s->ask("SELECT redblue_refine(mesh => 'm', max_volume => 0.0003)");
is($s->ask("SELECT digest('m')"), $answer, 'the same bits');
$s->ask("SELECT drop_mesh('m')");
# Solids
$s->ask("SET redblue.backend = cuda;\nSELECT redblue_refine_query('SELECT *, 1 AS solid FROM box', 'm', solid => 'solid')");
like(device_of_last(), qr/^cpu: \d threads?$/, 'solids are made on the processor');
$s->ask("SELECT drop_mesh('m');\nSET redblue.threads = 1");

# ---- full, failed, missing ----

for my $case ([ 'full', 'full 0', qr/no GPU used: the fake device is full$/, qr/ERROR:  53200: .*redblue_refine: out of GPU memory\nDETAIL:  the fake device is full/ ],
	[ 'it fails', 'fail 0', qr/no GPU used: the fake device has failed$/, qr/ERROR:  58000: .*redblue_refine: the GPU failed\nDETAIL:  Reason: the fake device has failed/ ])
{
	my ($name, $does, $why, $error) = @$case;
	for my $backend ('auto', 'cuda')
	{
		$s->ask("SET redblue.backend = $backend;\nSELECT cuda FROM redblue_info()");
		fake($does);
		($answer, $device_used) = made($fine);
		if ($backend eq 'auto')
		{
			is($answer, $is{'a volume'}, "$name: auto");
			like($device_used, $why, "$name: why");
		}
		else
		{
			like($answer, $error, "$name: cuda");
			no_tables($name);
		}
		fake();
		is(join('; ', made($fine)), "$is{'a volume'}; cuda: a fake device", "$name, $backend: the next one is on the device");
	}
}
# After the first rounds
$s->ask("SET redblue.backend = auto;\nSELECT cuda FROM redblue_info()");
fake('fail 1');
my $large = "'spot', 'm', max_volume => 0.001";
$answer = made($large);
$device_used = $s->ask("SELECT device FROM redblue_last_run() WHERE stage = 'refine'");
fake();
$s->ask('SET redblue.backend = cpu');
is(made($large), $answer, 'it fails between rounds');
like($device_used, qr/^a fake device; \d+ rounds by 1 thread: the fake device has failed$/, 'and the others are made here');
$s->ask('RESET redblue.backend');

# The worker ends.
for my $backend ('auto', 'cuda')
{
	$s->ask("SET redblue.backend = $backend;\nSELECT cuda FROM redblue_info()");
	my $n = did('refine');
	fake('join_ms 60000');
	$s->send("SELECT redblue_refine($fine)");
	ok(comes_true(sub { scalar(did('refine')) > $n }), 'the device refines');
	fake();
	$watch->ask("SELECT pg_terminate_backend(@{[worker()]})");
	$answer = $s->wait_for;
	if ($backend eq 'auto')
	{
		unlike($answer, qr/ERROR/, 'the worker ends: auto');
		like(device_of_last(), qr/^cpu: .*no GPU used: the background worker has exited$/, 'why');
		is($s->ask("SELECT digest('m')"), (split ' ', $is{'a volume'})[4], 'with the same bits');
		$s->ask("SELECT drop_mesh('m')");
	}
	else
	{
		like($answer, qr/ERROR:  57P0\d|ERROR:  57000: .*the background worker that ran the join has exited/, 'the worker ends: cuda');
		no_tables('the worker ends');
	}
}

# ---- cancel and progress ----

$s->ask("SET redblue.backend = cuda;\nSELECT cuda FROM redblue_info()");
for my $does ('join_ms 60000', 'hang_ms 60000')
{
	my $n = did('refine');
	ok(comes_true(sub { scalar(did('refine')) == scalar(did('refined')) }), "$does: nothing runs");
	$n = did('refine');
	fake($does);
	$s->send("SELECT redblue_refine($fine)");
	ok(comes_true(sub { scalar(did('refine')) > $n }), "$does: the device refines");
	is($watch->ask("SELECT query || ', ' || state FROM pg_stat_activity WHERE backend_type = 'redblue worker'"), "redblue_refine for process $s->{pid}, active", 'it is seen in pg_stat_activity');
	like($watch->ask('SELECT pid, function, stage FROM redblue_progress'), qr/^$s->{pid}\|redblue_refine\|(mesh )?refine$/, 'and in redblue_progress');
	my $t0 = time();
	$watch->ask("SELECT pg_cancel_backend($s->{pid})");
	my (undef, $error) = $s->wait_for;
	my $ms = (time() - $t0) * 1000;
	like($error, qr/57014/, "$does: cancelled");
	cmp_ok($ms, '<', $stop_seconds * 1000, sprintf('%s: in %.0f ms', $does, $ms));
	fake('awake 1');
	no_tables($does);
}
is(join('; ', made($fine)), "$is{'a volume'}; cuda: a fake device", 'and then');
is($watch->ask('SELECT count(*) FROM redblue_progress'), '0', 'nothing runs');
is(backend_threads($s->{pid}), 1, 'no thread is left');

# ---- memory ----

$s->ask("SET redblue.memory_limit = '8MB'");
like(scalar(made("'box', 'm', max_volume => 0.00002")), qr/ERROR:  53200: .*redblue_refine: out of memory\nDETAIL:  The mesh needs about .*, but redblue\.memory_limit is 8192 kB/, 'the memory limit');
no_tables('memory');
$s->ask('RESET redblue.memory_limit');
is(scalar(made($fine)), $is{'a volume'}, 'the next statement');

# ---- no device, no worker ----

$watch->ask("SELECT pg_terminate_backend(@{[worker()]})");
ok(comes_true(sub { worker() eq '' }), 'the worker ends');
fake('none 1');
$s->ask('SET redblue.backend = auto;SELECT cuda FROM redblue_info()');
is(join('; ', made($fine)), "$is{'a volume'}; cpu: 1 thread; no GPU used: no fake device today", 'no device');
like($s->ask("SET redblue.backend = cuda; SELECT redblue_refine($fine)"), qr/no usable GPU\nDETAIL:  Reason: no fake device today/, 'an error of cuda');
fake();
$_->quit for $s, $watch;
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
$s = session($node);
$s->ask('SET client_min_messages = warning');
is(join('; ', made($fine)) =~ s/ all \d+ of.*//r, "$is{'a volume'}; cpu: 1 thread; no GPU used: no background worker is available:", 'no worker: auto');
$s->ask('SET redblue.backend = cuda');
is(join('; ', made($fine)) =~ s/ all \d+ of.*//r, "$is{'a volume'}; cuda: a fake device; opened by this session: no background worker is available:", 'cuda: the session has the device');
fake('full 0');
like($s->ask("SELECT redblue_refine($fine)"), qr/ERROR:  53200: .*out of GPU memory/, 'which may be full');
$s->quit;
$node->stop('fast');
done_testing();
