# Tests pairs that are returned while the join runs: what an idle cursor holds, and that each way to end it (cancel,
# terminate, error, rollback, end of the session) stops its threads and releases everything.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('stream', "redblue.threads = 2\nredblue.backend = cpu\n");
my $streams = ($ENV{REDBLUE_CUSTOM_SCAN} // 'on') eq 'on';
$node->safe_psql('postgres', <<'SQL');
-- all meet each other: 9 million pairs, 70 MB of them
CREATE TABLE crowd AS
SELECT i AS id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 1 + (i % 97)::float8 AS bx, 0::float8 AS by, 0::float8 AS bz,
	0::float8 AS cx, 1 + (i % 89)::float8 AS cy, 1::float8 AS cz FROM generate_series(1, 3000::int8) i;
CREATE TABLE few AS SELECT * FROM crowd WHERE id <= 500;
ANALYZE;
SQL
my $all = "SELECT * FROM redblue_triangle_pairs('crowd', 'crowd')";
my $few = "SELECT * FROM redblue_triangle_pairs('few', 'few')";

my $session = session($node);
my $watch = session($node);
my $pid = $session->{pid};
$session->ask("SELECT count(*) FROM ($few) t");
my $threads = backend_threads($pid);
my $rss = emptied_rss_kb($session);
is($threads, 1, 'one thread when nothing runs');

SKIP:
{
	skip 'the function collects its pairs', 4 if !$streams;

	# A cursor that is not read holds a bounded part of the result.
	$session->ask("BEGIN; DECLARE c NO SCROLL CURSOR FOR $all; MOVE 10 IN c");
	sleep(1);
	cmp_ok(backend_threads($pid), '>', 1, 'the join of an idle cursor waits in its threads');
	cmp_ok(backend_rss_kb($pid) - $rss, '<', 32 * 1024, 'and holds a part of its answer');
	is($session->ask("SELECT count(*) FROM ($few) t"), 250000, 'another join runs beside it');
	$session->ask('CLOSE c');
	is(backend_threads($pid), 1, 'closing the cursor ends its threads');
	$session->ask('COMMIT');
}

# Ways to end a cursor in the middle
my %leave = (
	'ROLLBACK' => 'ROLLBACK',
	'COMMIT' => 'COMMIT',
	'an error' => 'SELECT 1 / 0; ROLLBACK',
	'ROLLBACK TO' => 'ROLLBACK TO s; COMMIT',
	'DISCARD ALL' => 'COMMIT; DISCARD ALL');
for my $way (sort keys %leave)
{
	$session->ask("BEGIN; SAVEPOINT s; DECLARE c NO SCROLL CURSOR FOR $few; DECLARE d NO SCROLL CURSOR FOR $few; MOVE 10 IN c; MOVE 1000 IN d");
	$session->ask($leave{$way});
	is(backend_threads($pid), 1, "$way ends the threads of two cursors");
}

# Many timeouts and LIMITs: nothing grows.
sub leave_early
{
	for my $i (1 .. $_[0])
	{
		$session->ask("SELECT count(*) FROM ($few LIMIT 1000) t");
		$session->ask("SELECT sum(1 / (red_id - 400)) FROM ($few) t");
		$session->ask("SELECT count(*) FROM generate_series(1, 3), LATERAL ($few LIMIT 10) t");
	}
	return;
}
leave_early(10);
my $fds = backend_fds($pid);
$rss = emptied_rss_kb($session);
leave_early($streams ? 60 : 15);
is(backend_threads($pid), 1, 'no thread is left');
is(backend_fds($pid), $fds, 'no descriptor is left');
cmp_ok(emptied_rss_kb($session) - $rss, '<', 2048, 'no memory is left');

# The session is terminated while the join of a cursor waits, and while a cursor is read.
for my $query ('MOVE 10 IN c', 'MOVE ALL IN c')
{
	my $victim = session($node);
	$victim->ask("BEGIN; DECLARE c NO SCROLL CURSOR FOR $all");
	$victim->send($query);
	sleep(0.5);
	$watch->ask("SELECT pg_terminate_backend($victim->{pid})");
	ok(comes_true(sub { !-d "/proc/$victim->{pid}" }), "terminated in $query");
	eval { $victim->quit };
}
# Below a Gather: a worker ends, the leader ends, the query is canceled.
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2; ';
my $slow = "SELECT count(*) FROM redblue_triangle_pairs('few', 'few') WHERE pg_sleep(0.0005 + red_id * 0) IS NOT NULL";
# Returns the pid of a worker of the Gather, or ''. Processes that only read a table have the same leader, but never
# sleep.
sub workers_of
{
	return $watch->ask("SELECT pid FROM pg_stat_activity WHERE leader_pid = $_[0] AND wait_event = 'PgSleep' LIMIT 1");
}
SKIP:
{
	skip 'the function runs without workers', 8 if !$streams;
	my $victim = session($node);
	$victim->ask($parallel);
	for my $way ('worker', 'cancel', 'leader')
	{
		$victim->send($slow);
		my $worker = '';
		comes_true(sub { ($worker = workers_of($victim->{pid})) ne '' });
		sleep(0.3);
		isnt($worker, '', "$way: there are workers");
		$watch->ask('SELECT '
			  . ($way eq 'worker' ? "pg_terminate_backend($worker)"
				: $way eq 'cancel' ? "pg_cancel_backend($victim->{pid})"
				: "pg_terminate_backend($victim->{pid})"));
		if ($way ne 'leader')
		{
			my (undef, $err) = $victim->wait_for;
			like($err, $way eq 'worker' ? qr/57P01|administrator command/ : qr/57014/, "$way: the query ends");
			is(backend_threads($victim->{pid}), 1, "$way: no thread is left");
		}
	}
	ok(comes_true(sub { $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE $victim->{pid} IN (pid, leader_pid)") eq '0' }), 'leader: it goes with its workers');
	eval { $victim->quit };
}
# The client disconnects without a message.
{
	my $victim = session($node);
	$victim->ask("BEGIN; DECLARE c NO SCROLL CURSOR FOR $few; MOVE 10 IN c");
	$victim->{run}->kill_kill;
	ok(comes_true(sub { !-d "/proc/$victim->{pid}" }), 'the backend of a lost client ends');
}
is($watch->ask("SELECT count(*) FROM ($few) t"), 250000, 'the server lives on');
is($session->ask("SELECT count(*) FROM ($few) t"), 250000, 'and so does the session');
$session->quit;
$watch->quit;
$node->stop('fast');

# The server reported no crash and no leak.
my $log = slurp_file($node->logfile);
unlike($log, qr/terminated by signal|PANIC|leak|was not (?:closed|freed)/, 'a clean log');

done_testing();
