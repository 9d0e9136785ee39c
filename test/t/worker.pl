# Tests the worker, which joins on a device for all sessions: its results, its start and end, and sessions and server if
# either side is slow, stopped, killed or refused something. The device is a fake (fake_device.c).
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(max);
use Time::HiRes qw(sleep time);

my $device = place_for_device();
(my $library = $device) =~ s/redblue_cuda\.so$/redblue/;
fake();
# Shared memory segments are files, which can be counted.
my $node = new_server('service', <<'CONF');
dynamic_shared_memory_type = mmap
max_worker_processes = 8
restart_after_crash = on
log_min_messages = info
CONF
my $segments = $node->data_dir . '/pg_dynshmem';
# Segments of requests, identified by their size, because the server has segments of its own
sub segments { my @files = grep { my $size = -s $_ // 0; $size > 1_570_000 && $size < 1_590_000 } glob("$segments/*"); return @files }

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE a AS SELECT i AS id, x AS ax, y AS ay, z AS az, x + i % 3 AS bx, y + i % 4 AS by, z + i % 2 AS bz, x - i % 5 AS cx, y + i % 3 AS cy, z + i % 7 AS cz
FROM (SELECT i, (i * 7919 % 101)::float8 AS x, (i * 104729 % 97)::float8 AS y, (i * 1299709 % 89)::float8 AS z FROM generate_series(1, 40000::int8) i) s;
CREATE TABLE b AS SELECT id + 7 AS id, ax + 0.5 AS ax, ay, az, bx + 0.5 AS bx, by, bz, cx + 0.5 AS cx, cy, cz, id * 7919 % 5000 AS object, 'k' || id AS name FROM a;
ALTER TABLE b ADD PRIMARY KEY (name);
CREATE TABLE box AS SELECT id, ax AS lx, ay AS ly, ax + 0.7 AS hx, ay + 0.7 AS hy FROM a;
CREATE TABLE line AS SELECT id, ax, ay, bx + 0.3 AS bx, by + 0.2 AS by FROM a WHERE id % 8 = 0;
CREATE TABLE hole AS SELECT id, ax, ay, az, bx + 2 AS bx, by + 2 AS by, bz + 2 AS bz FROM a WHERE id % 4 = 0;
-- the same triangle many times: more pairs than a ring holds
CREATE TABLE same AS SELECT i AS id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 1::float8 AS bx, 0::float8 AS by, 0::float8 AS bz,
	0::float8 AS cx, 1::float8 AS cy, 1::float8 AS cz FROM generate_series(1, 2000::int8) i;
CREATE TABLE large AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 0.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 700000::int8) i;
-- says that pairs have arrived in the session
CREATE FUNCTION told(pair int8) RETURNS int8 LANGUAGE plpgsql PARALLEL SAFE AS $$ BEGIN
	IF random() < 0.01 THEN RAISE NOTICE 'pairs have arrived'; END IF;
	RETURN pair;
END $$;
CREATE ROLE stranger LOGIN;
CREATE ROLE watcher LOGIN IN ROLE pg_read_all_stats;
VACUUM ANALYZE;
SQL

my $worker = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'redblue worker'";
my $watch = session($node);
sub worker { return scalar $watch->ask($worker) }

sub is_idle { return $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'redblue worker' AND state <> 'idle'") eq '0' }

# Sends a statement, and waits until the device has it.
sub begins
{
	my ($who, $what) = @_;
	my $n = did('join');
	$who->send($what);
	return comes_true(sub { scalar(did('join')) > $n });
}

# The backend and device of the session's last join
sub device_of { return scalar $_[0]->ask('SELECT backend || \': \' || device FROM redblue_last_run() LIMIT 1') }

my $pairs = checksum_of("redblue_triangle_pairs('a', 'b')");
my %ask = (
	'triangles' => $pairs,
	'triangles of objects' => checksum_of("redblue_triangle_pairs('a', 'b', blue_id => 'id', blue_object => 'object')"),
	'one table' => checksum_of("(SELECT id1 AS red_id, id2 AS blue_id FROM redblue_triangle_self_pairs('a')) s"),
	'queries' => checksum_of("redblue_triangle_pairs_query('SELECT * FROM a WHERE id % 3 = 0', 'SELECT * FROM b WHERE id % 2 = 0')"),
	'a side without rows' => checksum_of("redblue_triangle_pairs_query('SELECT * FROM a WHERE id < 0', 'TABLE b')"),
	'boxes' => checksum_of("redblue_box_pairs('box', 'box')"),
	'segments' => checksum_of("(SELECT id1 AS red_id, id2 AS blue_id FROM redblue_segment_self_pairs('line')) s"),
	'segments and triangles' => checksum_of("(SELECT segment_id AS red_id, triangle_id AS blue_id FROM redblue_segment_triangle_pairs('hole', 'a')) s"),
	'a count' => "SELECT redblue_triangle_pair_count('a', 'b')",
	'a count of one table' => "SELECT redblue_box_self_pair_count('box')",
	'keys' => "SELECT count(*), sum(hashtext(r || b)) FROM redblue_triangle_pairs_by_key('b', 'b') AS (r text, b text)",
	'counts' => "SELECT count(*), sum(id * pairs) FROM " . counts_of("redblue_triangle_pairs('a', 'b', blue_id => 'id')", 'red_id') . ' x',
	'counts of one table' => "SELECT count(*), sum(id * pairs) FROM " . counts_of(both_ways("redblue_box_self_pairs('box')"), 'id') . ' x',
	'hits' => "SELECT count(*), sum(red_id) FROM (SELECT DISTINCT red_id FROM redblue_triangle_pairs('a', 'b', blue_id => 'id')) h",
	'hits of objects' => "SELECT count(*), sum(red_id) FROM (SELECT DISTINCT red_id FROM redblue_triangle_pairs('b', 'a', red_id => 'id', red_object => 'object')) h",
	'groups' => "SELECT count(*), sum(hashtext(id || ids::text)) FROM " . groups_of("redblue_triangle_pairs('a', 'b', blue_id => 'id')", 'red_id', 'blue_id') . ' x',
	'groups of blue' => "SELECT count(*), sum(hashtext(id || ids::text)) FROM " . groups_of("redblue_triangle_pairs('a', 'b', blue_id => 'id')", 'blue_id', 'red_id') . ' x',
	'groups of one table' => "SELECT count(*), sum(hashtext(id || ids::text)) FROM " . groups_of(both_ways("redblue_box_self_pairs('box')"), 'id', 'other') . ' x',
	'groups of the second ids' => "SELECT count(*), sum(hashtext(id || ids::text)) FROM " . groups_of("redblue_box_self_pairs('box')", 'id2', 'id1') . ' x',
	'groups of an id that is not unique' => "SELECT count(*), sum(hashtext(id || ids::text)) FROM "
	  . groups_of("redblue_triangle_pairs_query('SELECT id % 5000 AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM a', 'TABLE b')", 'red_id', 'blue_id') . ' x',
	'groups of no rows' => "SELECT count(ids) FROM " . groups_of("redblue_triangle_pairs_query('SELECT * FROM a WHERE id < 0', 'TABLE b')", 'red_id', 'blue_id') . ' x',
	'blocks' => "SELECT sum(n), sum(length(red)) FROM redblue_triangle_pair_blocks('same', 'same')",
	'many pairs' => checksum_of("redblue_triangle_pairs('same', 'same')"),
	'a LIMIT' => "SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs('same', 'same') LIMIT 5000) s");

# ---- without the file of a device, nothing starts ----

my $s = session($node);
$s->ask('SET redblue.duplicate_notice = off');
my %answer = map { $_ => scalar $s->ask($ask{$_}) } keys %ask;
is(join(', ', grep { $answer{$_} =~ /ERROR/ } keys %ask), '', 'all has an answer');
like($s->ask('SELECT device FROM redblue_last_run() LIMIT 1'), qr/redblue_cuda\.so is not installed/, 'no file for a device');
like($s->ask('SELECT cuda || cuda_device FROM redblue_info()'), qr/^falseredblue_cuda\.so is not installed/, 'and redblue_info knows');
is(worker(), '', 'no process is started');
like($s->ask("SET redblue.backend = cuda; SELECT redblue_box_self_pair_count('box')"), qr/no usable GPU/, 'cuda is an error');
is(worker(), '', 'nor then');
$s->quit;

system("cp '$ENV{FAKE_DEVICE}' '$device'") == 0 or die;

# ---- results ----

for my $way ('auto', 'cuda', 'cpu')
{
	$s = session($node);
	$s->ask("SET redblue.duplicate_notice = off; SET redblue.backend = $way");
	# The worker has the device open, so auto has no reason not to use it.
	$s->ask('SELECT cuda FROM redblue_info()');
	for my $what (sort keys %ask)
	{
		is($s->ask($ask{$what}), $answer{$what}, "$way: $what");
		next if $what =~ /no rows|without rows/;
		like(device_of($s), $way eq 'cpu' ? qr/^cpu: \d+ threads?$/ : qr/^cuda: a fake device$/, "$way: $what: where");
	}
	unlike(slurp_file("/proc/$s->{pid}/maps"), qr/redblue_cuda/, "$way: the session has not opened the device");
	$s->quit;
}
my $pid = worker();
is(join(',', did('found')), "found $pid 0", 'one process has found the device, once');
is(scalar(grep { !/ $pid / } did('join')), 0, 'and has made all joins');
$s = session($node);
is($s->ask("SET redblue.backend = cuda; SELECT cuda || ' ' || cuda_device FROM redblue_info()"), 'true a fake device', 'redblue_info asks it');
unlike(slurp_file("/proc/$s->{pid}/maps"), qr/redblue_cuda/, 'and does not open it');
like($s->ask("SELECT 1; SELECT redblue_box_self_pair_count_query('SELECT * FROM box LIMIT 20')"), qr/^1\n\d+$/, 'a few boxes');
$s->ask("RESET redblue.backend; SELECT redblue_box_self_pair_count_query('SELECT * FROM box LIMIT 20')");
like(device_of($s), qr/the number of parts, 20, is too small/, 'are too few for auto');

# A LIMIT, EXPLAIN, and a cursor that is not read to its end
is($s->ask("SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs('same', 'same') LIMIT 1000) s"), '1000', 'LIMIT');
like($s->ask("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM redblue_triangle_pairs('same', 'same') LIMIT 2000"), qr/Backend: cuda\s+Device: a fake device.*Stage emit: \d{3,} /s, 'EXPLAIN of it')
  if ($ENV{REDBLUE_CUSTOM_SCAN} // 'on') eq 'on';
# Skipped solids are known before the first pair, and reported under a LIMIT, too.
$s->ask(<<'SQL');
CREATE TABLE tent AS SELECT o.solid, (o.solid - 1) * 10 + f.n AS id, f.* FROM (VALUES (1), (2)) o (solid), (VALUES
	(1, 0., 0., 0., 0., 1., 0., 1., 0., 0.), (2, 0., 0., 0., 1., 0., 0., 0., 0., 1.), (3, 0., 0., 0., 0., 0., 1., 0., 1., 0.), (4, 1., 0., 0., 0., 1., 0., 0., 0., 1.)) f (n, ax, ay, az, bx, by, bz, cx, cy, cz)
WHERE (solid, n) <> (2, 4);
CREATE TABLE rain AS SELECT i AS id, 0.1 AS x, 0.1 AS y, 0.1 AS z FROM generate_series(1, 20000) i;
SQL
like($s->ask("SELECT count(*) FROM (SELECT * FROM redblue_points_in_solids('rain', 'tent', solid => 'solid', on_bad => 'skip') LIMIT 10) s"),
	qr/^10\n.*skipped 1 of 2 solids/s, 'skipped solids under a LIMIT');
is(device_of($s), 'cuda: a fake device', 'on the device');
is($s->ask("BEGIN; DECLARE c CURSOR FOR SELECT * FROM redblue_triangle_pairs('same', 'same'); MOVE 600 IN c; COMMIT; SELECT 1"), '1', 'a cursor');
# Workers of a parallel plan consume pairs that the leader's thread receives.
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2';
$s->ask($parallel);
like($s->ask('EXPLAIN ' . checksum_of("redblue_triangle_pairs('same', 'same')")), qr/Gather/, 'a parallel plan');
is($s->ask($ask{'many pairs'}), $answer{'many pairs'}, 'and its answer');
is($s->ask("SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs('same', 'same') WHERE red_id <> blue_id LIMIT 100000) s"), '100000', 'left in the middle');
ok(comes_true(\&is_idle), 'and the worker has nothing left to do');
$s->quit;

# The worker receives the first side through all lanes before the second. A process that may not start threads sends all
# lanes itself.
SKIP:
{
	$s = session($node);
	skip 'prlimit cannot limit the threads of a process', 2 if system("prlimit --pid $s->{pid} --nproc=1 2>/dev/null") != 0;
	$s->ask("SET redblue.backend = cuda; SET redblue.threads = 4; SET statement_timeout = '10min'");
	is($s->ask("SELECT redblue_box_pair_count_query('TABLE large', 'SELECT * FROM large WHERE id <= 600000')"), '600000', 'no threads for the lanes');
	like(device_of($s), qr/^cuda: a fake device$/, '... and the worker has joined');
	$s->quit;
}

# Groups that do not fit at once, but one after the other
$s = session($node);
$s->ask("SELECT cuda FROM redblue_info(); SET redblue.threads = 1; SET redblue.memory_limit = '28MB'");
my $grouped = "SELECT count(*), sum(cardinality(ids)), min(ids) = max(ids) FROM " . groups_of("redblue_triangle_pairs('same', 'same')", 'red_id', 'blue_id') . ' x';
is($s->ask($grouped), '2000|4000000|t', 'groups with little memory');
like(device_of($s), qr/^cuda: a fake device$/, 'by the worker');
$s->quit;

# ---- progress and statistics ----

$s = session($node);
fake('join_ms 60000');
$s->send("SELECT redblue_triangle_pair_count('a', 'b')");
ok(comes_true(sub { scalar(did('join')) > scalar(did('joined')) }), 'a join runs');
is($watch->ask("SELECT query || ', ' || state FROM pg_stat_activity WHERE backend_type = 'redblue worker'"),
	"redblue_triangle_pair_count for process $s->{pid}, active", 'it is seen in pg_stat_activity');
like($watch->ask('SELECT pid, function, stage FROM redblue_progress'), qr/^$s->{pid}\|redblue_triangle_pair_count\|\w+/, 'and in redblue_progress');
my %sees = map { $_ => $node->safe_psql('postgres', 'SELECT count(*) FROM redblue_progress', extra_params => [ '-U', $_ ]) } qw(stranger watcher);
is("$sees{stranger} $sees{watcher}", '0 1', 'not by strangers, but by those who see all statistics');
fake('awake 1');
is($s->wait_for, $answer{'a count'}, 'its answer');
fake();
is($watch->ask('SELECT count(*) FROM redblue_progress'), '0', 'nothing runs');
$s->ask('SET redblue.backend = cpu');
$s->send("SELECT count(*) FROM redblue_triangle_pairs_query('SELECT a.* FROM a, generate_series(1, 1000)', 'TABLE b')");
ok(comes_true(sub { $watch->ask('SELECT stage FROM redblue_progress') eq 'read' }), 'a join on the CPU is seen while it reads');
$watch->ask("SELECT pg_cancel_backend($s->{pid})");
like($s->wait_for, qr/57014/, 'it is cancelled');
is($watch->ask('SELECT count(*) FROM redblue_progress'), '0', 'and seen no more');
$s->ask("SET ROLE stranger; SET redblue.threads = 1");
$s->ask('RESET ROLE');
$s->send("SELECT redblue_triangle_self_pair_count_query('SELECT s.* FROM same s, generate_series(1, 100)')");
ok(comes_true(sub { $watch->ask('SELECT stage FROM redblue_progress') =~ /^(grid|candidates)$/ }), 'and while it joins');
$watch->ask("SELECT pg_cancel_backend($s->{pid})");
$s->wait_for;
# Stages, and their progress
my %joined = (
	read => q{DO $$ BEGIN FOR i IN 1 .. 5000 LOOP PERFORM redblue_box_self_pair_count('large'); END LOOP; END $$},
	# The other side is a view that itself joins.
	'read behind another' => q{DO $$ BEGIN FOR i IN 1 .. 5000 LOOP PERFORM redblue_box_pair_count('asks', 'large'); END LOOP; END $$},
	candidates => q{SELECT redblue_triangle_self_pair_count_query('SELECT a.* FROM a, generate_series(1, 60)')});
$s->ask(q{SET redblue.cache = off; CREATE VIEW asks AS SELECT redblue_box_pair_count_query('TABLE one', 'TABLE one') AS id, lx, ly, hx, hy FROM (VALUES (0::float8, 0::float8, 1::float8, 1::float8)) one (lx, ly, hx, hy);
	CREATE TABLE one AS SELECT 1 AS id, 0::float8 AS lx, 0::float8 AS ly, 1::float8 AS hx, 1::float8 AS hy});
for my $how (sort keys %joined)
{
	my ($stage) = $how =~ /^(\w+)/;
	my $most = 0;
	$s->send($joined{$how});
	ok(comes_true(sub
	{
		my ($done, $total) = split /\|/, $watch->ask("SELECT done, total FROM redblue_progress WHERE stage = '$stage'");
		$most = $done if ($total // '') ne '' && $done <= $total && $done > $most;
		return $most > 0;
	}), "$how on the CPU: $most is done, of a total");
	$watch->ask("SELECT pg_cancel_backend($s->{pid})");
	$s->wait_for;
}
$s->quit;

# ---- many sessions at once ----

fake('open_ms 200');
# Runs statements whose answers are known in many sessions at once.
sub crowd
{
	my ($name, $clients, $rounds, @asked) = @_;
	my $script = "$ENV{TESTDIR}/script.sql";
	open(my $file, '>', $script) or die;
	print $file "SET redblue.duplicate_notice = off; SET redblue.backend = cuda;\n",
	  map { "SELECT 1 / (CASE WHEN (SELECT (r)::text FROM ($ask{$_}) r) IN ('($answer{$_})', '(\"$answer{$_}\")') THEN 1 ELSE 0 END);\n" } @asked;
	close($file);
	$node->command_checks_all([ 'pgbench', '-n', '-c', $clients, '-j', 2, '-t', $rounds, '-f', $script, 'postgres' ],
		0, [qr{actually processed: @{[$clients * $rounds]}/}], [qr/^(?!.*ERROR)/s], $name);
	return;
}
my @asked = ('triangles', 'boxes', 'a count', 'triangles of objects');
crowd('eight sessions, three rounds each', 8, 3, @asked);
# More messages than there is room for
crowd('forty-eight sessions', 48, 1, 'triangles', 'a count');
is(worker(), $pid, 'it was one process all along');
fake('full 1');
my $before = did('joined');
crowd('eight sessions and a device with room for one join', 8, 2, @asked);
cmp_ok(scalar(grep { / 10$/ } did('joined')), '>', 0, 'it was full');
fake();
ok(comes_true(\&is_idle), 'all is over');
ok(comes_true(sub { !segments() }), 'and no segment is left');

# A session that does not read its pairs does not delay others, however large its join is.
my $slow = session($node);
$slow->ask("BEGIN; DECLARE c CURSOR FOR SELECT * FROM redblue_box_pairs('large', 'large'); FETCH 1 IN c");
$slow->ask("MOVE 600 IN c");
$s = session($node);
is($s->ask("SET statement_timeout = '5min'; SELECT redblue_box_pair_count('large', 'box') > 0"), 't', 'a slow session does not hold up a large join');
like(device_of($s), qr/^cuda/, 'which is the worker\'s');
is($s->ask($pairs), $answer{triangles}, 'nor a small one');
$slow->ask('COMMIT');
$slow->quit;
# A large join waits for another large one, and can be canceled.
fake('join_ms 60000');
my $first = session($node);
$first->send("SELECT redblue_box_self_pair_count('large')");
ok(comes_true(sub { scalar(did('join')) > scalar(did('joined')) }), 'a large join runs');
$s->send("SELECT redblue_box_pair_count('large', 'large')");
sleep(0.5);
is(scalar(did('join')) - scalar(did('joined')), 1, 'another one waits');
fake();
my $ms = cancel_ms($s);
cmp_ok($ms, '<', $stop_seconds * 1000, sprintf('and is cancelled: %.0f ms', $ms));
like($s->wait_for, qr/57014/, 'with that error');
$watch->ask("SELECT pg_cancel_backend($first->{pid})");
$first->wait_for;
$first->quit;

# ---- stops of either side, at each stage ----

sub cancel_ms
{
	my ($who, $function) = @_;
	my $t0 = time();
	$watch->ask("SELECT @{[$function // 'pg_cancel_backend']}($who->{pid})");
	return comes_true(sub { $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE pid = $who->{pid} AND state = 'active'") eq '0' })
	  ? (time() - $t0) * 1000
	  : 1e9;
}

my $reading = "SELECT redblue_triangle_pair_count_query('SELECT a.* FROM a, generate_series(1, 1000)', 'TABLE b')";
my $joining = "SELECT redblue_triangle_pair_count('a', 'b')";
my $emitting = "SELECT count(red_id + blue_id) FROM redblue_triangle_pairs('same', 'same')";
# As above; a notice says that the first pairs have arrived.
my $telling = "SELECT count(told(red_id + blue_id)) FROM redblue_triangle_pairs('same', 'same')";
sub pairs_arrive { my ($who) = @_; return comes_true(sub { $who->ready; return $who->{err} =~ /pairs have arrived/ }) }
# The statement, what the device does, and when the session reaches the stage, after a number of joins
my %stage = (
	reading => [ $reading, '', sub { $watch->ask('SELECT stage FROM redblue_progress') eq 'read' } ],
	joining => [ $joining, 'join_ms 60000', sub { scalar(did('join')) > $_[0] } ],
	'a hanging driver' => [ $joining, 'hang_ms 60000', sub { scalar(did('join')) > $_[0] } ],
	pairs => [ $telling, 'put_ms 200', sub { pairs_arrive($_[1]) } ],
	'pairs of a parallel plan' => [ $telling, 'put_ms 200', sub { pairs_arrive($_[1]) } ]);

sub begin_stage
{
	my ($name, $backend) = @_;
	my ($query, $does, $reached) = @{ $stage{$name} };
	my $session = session($node);
	ok(comes_true(\&is_idle), "$name: nothing runs");
	fake($does);
	$session->ask("SET redblue.backend = $backend;" . ($name =~ /parallel/ ? $parallel : ''));
	my $joins = did('join');
	$session->send($query);
	ok(comes_true(sub { $reached->($joins, $session) }), "$name: reached");
	return $session;
}

for my $name (sort keys %stage)
{
	$s = begin_stage($name, 'auto');
	$ms = cancel_ms($s);
	cmp_ok($ms, '<', $stop_seconds * 1000, sprintf('%s: cancelled: %.0f ms', $name, $ms));
	like($s->wait_for, qr/57014/, "$name: with that error");
	is(scalar(segments()), 1, "$name: its segment is in use") if $name =~ /driver/;
	fake();
	is($s->ask($joining), $answer{'a count'}, "$name: the session goes on");
	fake('awake 1');
	$s->quit;

	$s = begin_stage($name, 'auto');
	$ms = cancel_ms($s, 'pg_terminate_backend');
	cmp_ok($ms, '<', $stop_seconds * 1000, sprintf('%s: terminated: %.0f ms', $name, $ms));
	fake('awake 1');

	next if $name eq 'reading';
	$s = session($node);
	ok(comes_true(\&is_idle), "$name: nothing runs any more");
	fake($stage{$name}[1]);
	my $t0 = time();
	like($s->ask(($name =~ /parallel/ ? "$parallel;" : '') . under_timeout(700, $stage{$name}[0])), qr/57014.*statement timeout/, "$name: statement_timeout");
	cmp_ok(time() - $t0, '<', $stop_seconds, "$name: in time");
	fake('awake 1');
	$s->quit;
}
ok(comes_true(\&is_idle), 'the worker is idle');
ok(comes_true(sub { !segments() }), 'and has no segment left');
is($watch->ask('SELECT count(*) FROM redblue_progress'), '0', 'redblue_progress has no row');
is(worker(), $pid, 'it is still the same');

# The worker is terminated: a session that has received no pair joins itself if it may.
sub end_worker
{
	my $old = worker();
	my $t0 = time();
	$watch->ask("SELECT pg_terminate_backend($old)");
	ok(comes_true(sub { worker() ne $old }), sprintf('a worker ends, after %.0f ms', (time() - $t0) * 1000));
	return;
}
for my $name (sort keys %stage)
{
	for my $backend ('auto', 'cuda')
	{
		next if $name eq 'reading' && $backend eq 'cuda';
		$s = begin_stage($name, $backend);
		end_worker();
		my $alone = $backend eq 'auto' && $name !~ /^pairs/;
		if ($name eq 'reading')
		{
			cancel_ms($s);
			$s->wait_for;
			is($s->ask($joining), $answer{'a count'}, 'reading: another worker is there for the next one');
		}
		elsif ($alone)
		{
			is($s->wait_for, $answer{'a count'}, "$name, $backend: the session does it by itself");
			# A device that was closed in the meantime is not opened for so few parts.
			like(device_of($s), qr/^cpu: \d+ threads?; no GPU used: (?:the background worker has exited|the number of parts, 80000, is too small)/, "$name, $backend: and says so");
		}
		else
		{
			like($s->wait_for, qr/ERROR:  57000: redblue_\w+: the background worker that ran the join has exited/, "$name, $backend: an error");
		}
		fake();
		is($s->ask($joining), $answer{'a count'}, "$name, $backend: the next call has a worker");
		like(device_of($s), qr/^cuda/, "$name, $backend: a new one") if $backend eq 'cuda';
		$s->quit;
	}
}

# A wait for all processes of the server waits only for the worker's main thread.
fake('hang_ms 60000');
$s = session($node);
$s->send($joining);
ok(comes_true(sub { scalar(did('join')) > scalar(did('joined')) }), 'a driver hangs');
my $t1 = time();
is($watch->ask('CREATE DATABASE other; DROP DATABASE other'), '', 'a database is dropped');
cmp_ok(time() - $t1, '<', $stop_seconds, 'in time');
fake('awake 1');
$s->wait_for;
$s->quit;
# A driver that does not find its device at first
if (long_run())
{
	end_worker();
	fake('open_ms 22000');
	$s = session($node);
	is($s->ask("SELECT redblue_box_self_pair_count('large')"), '0', 'a device that is not found in time');
	like(device_of($s), qr/no GPU used: opening the GPU is taking too long/, 'is none');
	my $t0 = time();
	is($s->ask("SELECT redblue_box_self_pair_count('large')"), '0', 'once more');
	like(device_of($s), qr/no GPU used: opening the GPU is taking too long/, 'it is still none');
	cmp_ok(time() - $t0, '<', 8, sprintf('no session waits for it again: %.1f s', time() - $t0));
	ok(comes_true(sub { $s->ask('SELECT cuda FROM redblue_info()') eq 't' }, 20), 'when it is found after all');
	is($s->ask($joining), $answer{'a count'}, 'a join');
	is(device_of($s), 'cuda: a fake device', 'has it');
	$s->quit;
}
fake();

# The worker is stopped at any instruction.
for my $name ('joining', 'pairs')
{
	$s = begin_stage($name, 'auto');
	my $stopped = worker();
	kill 'STOP', $stopped;
	$ms = cancel_ms($s);
	cmp_ok($ms, '<', $stop_seconds * 1000, sprintf('worker stopped while %s: cancelled: %.0f ms', $name, $ms));
	$s->wait_for;
	my $t0 = time();
	like($s->ask('SET redblue.backend = cuda; ' . under_timeout(300, $joining)), qr/57014/, 'no session waits for it without end');
	is($s->ask("RESET redblue.backend; $joining"), $answer{'a count'}, 'nor gets no answer');
	like(device_of($s), qr/^cpu: .*the background worker does not respond/, 'and the statistics say why');
	kill 'CONT', $stopped;
	fake();
	ok(comes_true(\&is_idle), 'it goes on');
	is($s->ask($joining), $answer{'a count'}, 'and answers');
	like(device_of($s), qr/^cuda/, 'from the device');
	$s->quit;
}
ok(comes_true(sub { !segments() }), 'no segment is left');

# ---- a device that fails or is missing ----

# Breaks a device, whose batches are slow, when a session has received pairs from it. Returns what the session got.
sub breaks
{
	my ($who) = @_;
	$who->send($telling);
	ok(pairs_arrive($who), 'pairs arrive');
	fake('broken 1');
	return scalar $who->wait_for;
}

$s = session($node);
$s->ask('SELECT cuda FROM redblue_info()');
$pid = worker();
fake('fail 0');
is($s->ask($joining), $answer{'a count'}, 'a device fails: auto');
like(device_of($s), qr/no GPU used: the fake device has failed$/, 'why');
ok(comes_true(sub { worker() ne $pid }), 'its process ends');
like(slurp_file($node->logfile), qr/exited with exit code 1/, 'with a status of its own');
fake();
is($s->ask("SELECT cuda FROM redblue_info(); $joining"), "t\n$answer{'a count'}", 'the next call');
like(device_of($s), qr/^cuda: a fake device/, 'has a new one');
fake('fail 0');
like($s->ask("SET redblue.backend = cuda; $joining"), qr/ERROR:  58000: .*the GPU failed\nDETAIL:  Reason: the fake device has failed/, 'cuda');
fake('put_ms 200');
$s->ask('SET redblue.backend = auto; SELECT cuda FROM redblue_info()');
like(breaks($s), qr/the GPU failed/, 'after pairs were handed out');
fake();
is($s->ask("SELECT cuda FROM redblue_info(); $emitting"), "t\n4000000", 'and then');
is(device_of($s), 'cuda: a fake device', 'from the device');
end_worker();
fake('none 1');
is($s->ask("SELECT cuda || cuda_device FROM redblue_info(); $joining"), "falseno fake device today\n$answer{'a count'}", 'no device');
like(device_of($s), qr/^cpu: .*no fake device today/, 'why');
like($s->ask("SET redblue.backend = cuda; $joining"), qr/no usable GPU\nDETAIL:  Reason: no fake device today/, 'an error of cuda');
$before = did('found');
$s->quit;
$s = session($node);
is($s->ask($joining), $answer{'a count'}, 'another session');
is(scalar(did('found')), $before, 'does not ask in vain');
fake();
end_worker();
$s->quit;

# ---- a worker that ends, or must not end ----

# A join in which the device failed was canceled: the next session gets a new process.
$s = session($node);
$s->ask('SET redblue.backend = cuda; SELECT cuda FROM redblue_info()');
$pid = worker();
$before = did('joined');
fake('hang_ms 60000', 'fail 0');
ok(begins($s, $joining), 'a join that will fail');
cancel_ms($s);
like($s->wait_for, qr/57014/, 'is cancelled');
fake('awake 1');
ok(comes_true(sub { scalar(did('joined')) > $before }), 'and fails then');
fake();
is($s->ask($joining), $answer{'a count'}, 'the next call');
is(device_of($s), 'cuda: a fake device', 'has a device');
isnt(worker(), $pid, 'in another process');
$s->quit;

# A request that cannot be accepted does not end other requests.
{
	my ($first, $second) = (session($node), session($node));
	$first->ask('SELECT cuda FROM redblue_info()');
	$second->ask($joining);
	$pid = worker();
	fake('join_ms 60000');
	ok(begins($first, $joining), 'a join runs');
	my %there = map { $_ => 1 } segments();
	kill 'STOP', $pid;
	$second->send($joining);
	my @new;
	comes_true(sub { @new = grep { !$there{$_} } segments() });
	is(scalar(@new), 1, 'another one is asked for');
	chmod 0, @new;
	kill 'CONT', $pid;
	is($second->wait_for, $answer{'a count'}, 'and cannot be taken up');
	like(device_of($second), qr/^cpu: .*the background worker does not respond/, 'so the session does it');
	fake('awake 1');
	is($first->wait_for, $answer{'a count'}, 'the first one goes on');
	is(device_of($first), 'cuda: a fake device', 'on the device');
	is(worker(), $pid, 'in the same process');
	like(slurp_file($node->logfile), qr/redblue: could not accept a request: could not open shared memory segment/, 'which has said so');
	fake();
	$_->quit for $first, $second;
}

# The worker ends before it has accepted a request: the next worker does.
$s = session($node);
$s->ask('SET redblue.backend = cuda; SELECT cuda FROM redblue_info()');
$pid = worker();
kill 'STOP', $pid;
my $n = () = segments();
$s->send($joining);
ok(comes_true(sub { scalar(segments()) > $n }), 'a request is there');
kill 'TERM', $pid;
kill 'CONT', $pid;
is($s->wait_for, $answer{'a count'}, 'the worker ends without it');
is(device_of($s), 'cuda: a fake device', 'another one answers');
isnt(worker(), $pid, 'which is new');

# As before, while the worker is exiting and another join's driver delays it
{
	my ($first, $second) = (session($node), session($node));
	$_->ask('SELECT cuda FROM redblue_info()') for $first, $second;
	fake('hang_ms 60000');
	ok(begins($first, $joining), 'a driver hangs');
	fake('fail 0');
	is($second->ask($joining), $answer{'a count'}, 'and fails another join');
	fake();
	is($s->ask($joining), $answer{'a count'}, 'a third one');
	is(device_of($s), 'cuda: a fake device', 'waits for the next worker');
	is($first->wait_for, $answer{'a count'}, 'the first one has its answer');
	like(device_of($first), qr/the background worker has exited/, 'from the processor');
	$_->quit for $first, $second;
}
$s->quit;

# A worker that cannot start is not started again by each call.
$s = session($node);
$s->ask('SET redblue.backend = cuda');
$s->ask("SELECT redblue_box_self_pair_count_query('SELECT * FROM box LIMIT 20')");
rename "$library.so", "$library.away" or die;
ok(comes_true(sub { worker() =~ /^\d+$/ }), 'one worker');
$watch->ask("SELECT pg_terminate_backend($_)") for worker();
ok(comes_true(sub { worker() eq '' }), 'and then none');
$before = () = slurp_file($node->logfile) =~ /could not access file "redblue"/g;
$s->ask("SELECT redblue_box_self_pair_count_query('SELECT * FROM box LIMIT 20')") for 1 .. 3;
my $after = () = slurp_file($node->logfile) =~ /could not access file "redblue"/g;
is($after - $before, 1, 'one try');
rename "$library.away", "$library.so" or die;
$s->quit;

# ---- cached sides, and the device ----

# Which sides of the last join were cached, and where it was joined
sub used { my $d = $_[0]->ask("SELECT detail FROM redblue_last_run() WHERE stage = 'read'"); return scalar(() = $d =~ /cached \d+ rows?, read \d+ of/g) }
sub kept { return $watch->ask("SELECT string_agg(relation::text, ' ' ORDER BY relation::text) FROM redblue_cached() WHERE reason IS NULL") }

# Rows that are not flushed yet, or that an old snapshot may see, are not all-visible.
ok(comes_true(sub
{
	$node->safe_psql('postgres', 'CHECKPOINT; VACUUM a, b, box, line, hole, same, large');
	return $watch->ask("SELECT count(*) FROM pg_class WHERE relname IN ('a', 'b', 'box', 'line', 'hole', 'same', 'large') AND relallvisible < relpages") eq '0';
}), 'all pages are all-visible');
$s = session($node);
$s->ask('SET redblue.cache = on; SET redblue.duplicate_notice = off; SELECT cuda FROM redblue_info()');
for my $way ('auto', 'cuda')
{
	$s->ask("SET redblue.backend = $way");
	for my $what (sort keys %ask)
	{
		$s->ask($ask{$what});
		is($s->ask($ask{$what}), $answer{$what}, "kept, $way: $what");
		next if $what =~ /no rows|without rows|queries|not unique|keys/;
		is(device_of($s), 'cuda: a fake device', "kept, $way: $what: on the device");
		cmp_ok(used($s), '>', 0, "kept, $way: $what: of what is kept");
	}
}
is($watch->ask("SELECT count(*), bool_and(device_bytes > 0) FROM redblue_cached() WHERE relation IN ('a'::regclass, 'same'::regclass)"), '2|t', 'the device has copies');
is($watch->ask("SELECT sum(device_bytes) FROM redblue_cached() WHERE relation = 'a'::regclass AND kind = 'triangles'"), 40000 * 9 * 8, 'of that size');
$before = did('dropped');
cmp_ok($watch->ask("SELECT redblue_uncache('a')"), '>', 0, 'given up');
unlike(kept(), qr/\ba\b/, 'it is kept no longer');
is($s->ask($ask{boxes}), $answer{boxes}, 'and when the next join ends');
ok(comes_true(sub { scalar(did('dropped')) > $before }), 'nor on the device');

# Failures of a device
for my $way ('auto', 'cuda')
{
	$s->ask("SET redblue.backend = $way");
	my $cpu = $way eq 'auto';
	$s->ask($joining);
	fake('full 0');
	my $result = $s->ask($joining);
	if ($cpu) { is($result, $answer{'a count'}, 'full'); like(device_of($s), qr/^cpu: .*no GPU used: .*the fake device is full/, 'full: the processor, and why') }
	else { like($result, qr/ERROR:  53200.*\nDETAIL:  the fake device is full/, 'full: an error of cuda') }
	fake();
	is($s->ask($joining), $answer{'a count'}, 'and then');
	is(device_of($s) . used($s), 'cuda: a fake device2', 'the device again, of what is kept');

	# In the middle, and after pairs have been returned
	$pid = worker();
	fake('fail 2');
	$result = $s->ask($joining);
	if ($cpu) { is($result, $answer{'a count'}, 'it fails'); like(device_of($s), qr/^cpu: .*no GPU used: the fake device has failed/, 'the processor, and why') }
	else { like($result, qr/ERROR:  58000: .*the GPU failed/, 'it fails: an error of cuda') }
	fake();
	is($s->ask($joining), $answer{'a count'}, 'and then');
	ok(comes_true(sub { worker() ne $pid && worker() =~ /^\d+$/ }), 'another process');
	$s->ask("SELECT cuda FROM redblue_info(); $joining");
	is($s->ask($joining), $answer{'a count'}, 'which keeps them, too');
	is(device_of($s) . used($s), 'cuda: a fake device2', 'for the device');
	$s->ask($emitting) for 1 .. 2;
	fake('put_ms 200');
	like(breaks($s), qr/ERROR:  58000: .*the GPU failed/, 'it fails after pairs were handed out');
	fake();
	is($s->ask("SELECT cuda FROM redblue_info(); $emitting"), "t\n4000000", 'and then');

	# Abandoned, canceled, evicted during a join, with a lower memory limit
	$s->ask($_) for $emitting, $joining;
	is($s->ask($ask{'a LIMIT'}), $answer{'a LIMIT'}, 'a LIMIT');
	is(device_of($s) . used($s), 'cuda: a fake device2', 'of what is kept');
	fake('join_ms 60000');
	ok(begins($s, $joining), 'a join of what is kept');
	$ms = cancel_ms($s);
	cmp_ok($ms, '<', $stop_seconds * 1000, sprintf('is cancelled: %.0f ms', $ms));
	like($s->wait_for, qr/57014/, 'with that error');
	fake();
	is($s->ask($joining), $answer{'a count'}, 'and then');
	is(device_of($s) . used($s), 'cuda: a fake device2', 'it is still kept');
	fake('join_ms 60000');
	ok(begins($s, $joining), 'another one');
	like($watch->ask('SELECT redblue_uncache() > 0'), qr/^t$/, 'all is given up');
	is(kept(), '', 'kept no longer');
	fake('awake 1');
	is($s->wait_for, $answer{'a count'}, 'while a join holds it');
	$s->ask($joining);
	fake('join_ms 60000');
	ok(begins($s, $joining), 'one more');
	$node->append_conf('postgresql.conf', "redblue.cache_memory = 0\n");
	$node->reload;
	ok(comes_true(sub { kept() eq '' }), 'there is no room for it any more');
	fake('awake 1');
	is($s->wait_for, $answer{'a count'}, 'which is nothing to that join');
	fake();
	is(device_of($s) . used($s), 'cuda: a fake device2', 'on the device');
	is($s->ask($joining), $answer{'a count'}, 'the next one is read');
	is(device_of($s) . used($s), 'cuda: a fake device0', 'and not kept');
	$node->append_conf('postgresql.conf', "redblue.cache_memory = 1GB\n");
	$node->reload;

	# The worker ends.
	ok(comes_true(sub
	{
		$s->ask("SELECT cuda FROM redblue_info(); $_") for $joining, $joining, $emitting, $emitting;
		return kept() eq 'a b same';
	}), 'kept again');
	fake('join_ms 60000');
	ok(begins($s, $joining), 'a join');
	end_worker();
	fake();
	$result = $s->wait_for;
	if ($cpu) { is($result, $answer{'a count'}, 'the worker ends, with all that it kept'); like(device_of($s), qr/^cpu: .*the background worker has exited/, 'why') }
	else { like($result, qr/ERROR:  57000: redblue_\w+: the background worker that ran the join has exited/, 'an error') }
	$s->ask("SELECT cuda FROM redblue_info(); $emitting") for 1 .. 2;
	fake('put_ms 200');
	ok(begins($s, $telling) && pairs_arrive($s), 'pairs');
	end_worker();
	like($s->wait_for, qr/ERROR:  57000: redblue_\w+: the background worker that ran the join has exited/, 'an error where pairs were handed out');
	fake();
	is($s->ask($emitting), '4000000', 'the next call');
	$s->ask('SELECT cuda FROM redblue_info()');
}
end_worker();
fake('none 1');
$s->ask('RESET redblue.backend');
for my $round (1 .. 2)
{
	is($s->ask("SELECT redblue_box_self_pair_count('large')"), '0', 'kept, and no device');
	like(device_of($s), qr/^cpu: .*no GPU used: no fake device today/, 'why');
}
# The worker may have been late to keep what the first call read.
ok(comes_true(sub { used($s) == 1 || ($s->ask("SELECT redblue_box_self_pair_count('large')") && 0) }), 'of what is kept');
like($s->ask("SET redblue.backend = cuda; SELECT redblue_box_self_pair_count('large')"), qr/no usable GPU\nDETAIL:  Reason: no fake device today/, 'an error of cuda');
fake();
end_worker();
$s->quit;

# ---- nothing grows ----

$s = session($node);
$s->ask('SELECT cuda FROM redblue_info()');
$pid = worker();
my @rss;
for my $round (0 .. 5)
{
	$s->ask("SELECT $_, redblue_triangle_pair_count('a', 'b'), count(*) FROM redblue_triangle_pairs('same', 'a')") for 1 .. 20;
	push @rss, backend_rss_kb($pid);
}
is(worker(), $pid, 'two hundred joins in one process');
cmp_ok($rss[-1], '<', 1.2 * max($rss[0], $rss[1]) + 4096, "its memory: @rss kB");
ok(comes_true(sub { backend_threads($pid) <= 2 }), 'no thread is left in it');
ok(comes_true(sub { !segments() }), 'nor a segment');
cmp_ok(backend_fds($pid), '<', 60, 'nor descriptors');
$s->quit;

# ---- exit when idle ----

$node->append_conf('postgresql.conf', "redblue.worker_idle = 1s\n");
$node->reload;
$s = session($node);
$s->ask('SET redblue.backend = cuda');
$s->ask($joining);
ok(comes_true(sub { worker() eq '' }), 'idle, it ends');
fake('join_ms 2500');
is($s->ask($joining), $answer{'a count'}, 'a join that takes longer than that');
is(device_of($s), 'cuda: a fake device', 'is no idleness');
fake('open_ms 2500');
# How many processes open the device for a request. A session that the system delays for longer than the worker is idle
# needs another one, so the request is repeated.
sub openers
{
	my ($what) = @_;
	my $n;
	for my $try (1 .. 5)
	{
		ok(comes_true(sub { worker() eq '' }), 'it ends');
		my $found = did('found');
		$what->();
		$n = did('found') - $found;
		last if $n == 1;
	}
	return $n;
}
is(openers(sub
{
	is($s->ask($joining), $answer{'a count'}, 'a device that opens for longer than that');
	is(device_of($s), 'cuda: a fake device', 'is waited for');
}), 1, 'by one process');
is(openers(sub { is($s->ask('SELECT cuda FROM redblue_info()'), 't', 'and where somebody only asks for it') }), 1, 'as well');
fake();
# The second setting shows when the session has read the file.
$node->append_conf('postgresql.conf', "redblue.worker_idle = 0\nwork_mem = '5MB'\n");
$node->reload;
ok(comes_true(sub { $s->ask('SHOW work_mem') eq '5MB' }), 'no time at all');
is($s->ask('SHOW redblue.worker_idle'), '1s', 'is no setting');
$before = did('found');
is($s->ask($joining), $answer{'a count'}, 'and changes no answer') for 1 .. 10;
is(device_of($s), 'cuda: a fake device', 'nor by whom');
cmp_ok(scalar(did('found')) - $before, '<=', 5, 'nor is there a process for each');
$node->append_conf('postgresql.conf', "redblue.worker_idle = 10min\n");
$node->reload;
ok(comes_true(sub { $watch->ask('SHOW redblue.worker_idle') eq '10min' }), 'a longer time');
$s->quit;

# ---- refusals of the server ----

$s = session($node);
$s->ask('SELECT cuda FROM redblue_info()');
chmod 0500, $segments;
is($s->ask("BEGIN; $joining"), $answer{'a count'}, 'no shared memory, in a transaction');
like(device_of($s), qr/^cpu: .*no GPU used: could not allocate shared memory for the request: could not open shared memory segment/, 'why');
is($s->ask("SAVEPOINT p; $joining; COMMIT"), $answer{'a count'}, 'once more');
is($s->ask("SET redblue.backend = cuda; $joining"), $answer{'a count'}, 'cuda');
like(device_of($s), qr/^cuda: a fake device; opened by this session: could not allocate shared memory/, 'opens the device itself');
chmod 0700, $segments;
is($s->ask($joining), $answer{'a count'}, 'and then');
is(device_of($s), 'cuda: a fake device', 'it is the worker\'s again');
unlike(slurp_file($node->logfile), qr/leak/, 'nothing leaked');
$s->quit;

# ---- the server ends or loses a session ----

sub restart_after
{
	my ($name, $how) = @_;
	fake('hang_ms 60000');
	my $victim = session($node);
	$victim->ask('SELECT cuda FROM redblue_info()'); # waits for the worker; a join would run on the CPU meanwhile
	$victim->send($joining);
	ok(comes_true(sub { scalar(did('join')) > scalar(did('joined')) }), "$name: a join hangs");
	$watch->quit;
	my $t0 = time();
	$how->($victim);
	my $took = time() - $t0;
	unlink "$ENV{REDBLUE_FAKE}.log";
	fake();
	eval { $victim->quit };
	$watch = session($node);
	is($watch->ask($joining), $answer{'a count'}, "$name: works again");
	ok(comes_true(sub { !segments() }), "$name: no segment is left");
	return $took;
}
my $took = restart_after('fast shutdown', sub { $node->stop('fast'); $node->start });
cmp_ok($took, '<', $stop_seconds, sprintf('with a driver that hangs, in %.1f s', $took));
restart_after('immediate shutdown', sub { $node->stop('immediate'); $node->start });
restart_after('a session is killed', sub
{
	my ($victim) = @_;
	kill_and_restart($node, $victim->{pid});
});
unlike(slurp_file($node->logfile), qr/terminated by signal (?!9|3)/, 'nothing died but what was killed');

# ---- no free slot; preloaded ----

$watch->quit;
$node->append_conf('postgresql.conf', "max_worker_processes = 0\nmax_parallel_workers = 0\n");
$node->restart;
$watch = session($node);
unlink "$ENV{REDBLUE_FAKE}.log";
$s = session($node);
is($s->ask("SELECT cuda || ' ' || cuda_device FROM redblue_info()"),
	'false not checked: no background worker is available: all 0 of max_worker_processes are in use', 'no slot');
is($s->ask("SELECT redblue_box_self_pair_count('large')"), '0', 'auto: an answer');
is(scalar(did('found')), 0, 'no session has opened the device');
$s->ask('SET redblue.backend = cuda');
is($s->ask($joining), $answer{'a count'}, 'cuda: an answer');
like(device_of($s), qr/^cuda: a fake device; opened by this session: no background worker is available: all 0 of/, 'from the session itself');
fake('none 1');
my $none = session($node);
like($none->ask("SET redblue.backend = cuda; $joining"), qr/no usable GPU\nDETAIL:  Reason: no fake device today/, 'or an error, if there is none');
fake();
$_->quit for $s, $none, $watch;

$node->append_conf('postgresql.conf', "max_worker_processes = 8\nshared_preload_libraries = 'redblue'\n");
unlink "$ENV{REDBLUE_FAKE}.log";
$node->restart;
$watch = session($node);
ok(comes_true(sub { worker() ne '' }), 'preloaded, it comes with the server');
ok(comes_true(sub { did('found') == 1 }), 'and opens the device');
$pid = worker();
$s = session($node);
is($s->ask($joining), $answer{'a count'}, 'the first join');
is(device_of($s), 'cuda: a fake device', 'has it');
is(worker(), $pid, 'by that process');
end_worker();
is($s->ask("SELECT cuda FROM redblue_info(); $joining"), "t\n$answer{'a count'}", 'another one comes when it is needed');
$s->quit;
$watch->quit;
$node->stop;
done_testing();
