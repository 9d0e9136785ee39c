# Tests tables that several processes read: each way to end the reading in the middle (timeout, cancel, an error, a
# worker that is terminated, the end of the session) ends the workers and releases their memory.
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(max);
use Time::HiRes qw(sleep);

my $node = new_server('readers', <<'CONF');
max_worker_processes = 12
max_parallel_workers = 4
max_parallel_workers_per_gather = 3
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
dynamic_shared_memory_type = mmap
redblue.cache = off
CONF
$node->safe_psql('postgres', <<'SQL');
-- numeric columns are cast one by one: reading takes the time
CREATE TABLE slow AS
SELECT i AS id, x AS ax, x AS ay, x AS az, x + 1 AS bx, x AS by, x AS bz, x AS cx, x + 1 AS cy, x + 1 AS cz
FROM (SELECT i, (i % 100003) + 0.12345678901234567890 AS x FROM generate_series(1, 400000::int8) i) s;
CREATE TABLE bad AS SELECT id, CASE WHEN id = 390000 THEN 'NaN' ELSE ax END AS ax, ay, az, bx, by, bz, cx, cy, cz FROM slow;
CREATE TABLE nothing AS SELECT * FROM slow LIMIT 0;
CREATE TABLE few AS SELECT * FROM slow WHERE id <= 1000;
-- taken from its pages without a slot
CREATE TABLE alone AS SELECT id, ax::float8, ay::float8, az::float8, bx::float8, by::float8, bz::float8, cx::float8, cy::float8, cz::float8 FROM slow;
VACUUM ANALYZE;
SQL
my $read = "SELECT count(*) FROM redblue_triangle_pairs('slow', 'nothing')";
my $helped = "SELECT detail ~ 'workers: red 3' FROM redblue_last_run() WHERE stage = 'read'";

# Segments of dynamic shared memory are files in the server's data directory, apart from those of other servers.
my $segment_files = $node->data_dir . '/pg_dynshmem';

# Returns the names of the segments that a process has mapped.
sub mapped
{
	my %seen;
	open(my $in, '<', "/proc/$_[0]/maps") or return;
	while (<$in>)
	{
		$seen{$1} = 1 if m{/pg_dynshmem/(mmap\.\d+)};
	}
	return keys %seen;
}

sub segments { return scalar(my @names = mapped($_[0])) }

# Returns the number of segments that no process has mapped, and that would remain forever.
sub lost_segments
{
	my %lost = map { m{([^/]+)$} => 1 } glob("$segment_files/*");
	delete @lost{ mapped($_) } for map { m{(\d+)} } glob('/proc/[0-9]*');
	return scalar keys %lost;
}

my $session = session($node);
my $watch = session($node);
my $pid = $session->{pid};
is($session->ask($read), 0, 'a table is read');
is($session->ask($helped), 't', 'by workers');

# Memory that a session keeps once it has used workers
my $idle;
sub workers { return $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE leader_pid = $_[0]") }

sub is_quiet
{
	my ($way) = @_;
	is(workers($pid), 0, "$way: no worker is left");
	is(segments($pid), $idle, "$way: no shared memory is left");
	is(backend_threads($pid), 1, "$way: no thread is left");
	is($session->ask("SELECT count(*) FROM redblue_triangle_pairs('few', 'nothing')"), 0, "$way: the session reads");
	return;
}

# Many timeouts and errors, at any time during the reading
sub leave_early
{
	my ($rounds) = @_;
	my ($cancelled, $latest) = (0, 0);
	for my $i (1 .. $rounds)
	{
		my $timeout = 1 + $i * 37 % 130;
		my ($so, $late) = timed_out($session, $read, $timeout);
		$latest = max($latest, $late);
		$cancelled += $so;
	}
	return ($cancelled, $latest);
}
leave_early(15);
$idle = segments($pid);
my $fds = backend_fds($pid);
my $rss = emptied_rss_kb($session);
my ($cancelled, $latest) = leave_early(50);
cmp_ok($cancelled, '>', 20, "$cancelled of 50 statements ran into their timeout");
cmp_ok($latest, '<', $late_ms, sprintf('the latest worked for %.0f ms after its time', $latest));
is(backend_fds($pid), $fds, 'no descriptor is left');
cmp_ok(emptied_rss_kb($session) - $rss, '<', 4096, 'no memory is left');
is_quiet('timeouts');

# A single process stops at a page, too: the amount read is not a multiple of the table.
{
	for my $timeout ((map { 2 * $_ } 1 .. 10), (map { 2**$_ } 5 .. 12))
	{
		my $alone = session($node);
		$alone->ask("SET max_parallel_workers_per_gather = 0; SET statement_timeout = $timeout;\nSELECT count(*) FROM redblue_triangle_pairs('alone', 'nothing')");
		$alone->quit;
	}
	my $read_of = 0;
	for (1 .. 600)
	{
		$read_of = $watch->ask("SELECT pg_stat_clear_snapshot();\nSELECT coalesce(seq_tup_read, 0) FROM pg_stat_user_tables WHERE relname = 'alone'");
		$read_of =~ s/\s//g;
		last if $read_of % 400000;
		sleep(0.1);
	}
	cmp_ok($read_of % 400000, '>', 0, "a timeout in the middle of a table: $read_of rows were read of it");
}

for my $i (1 .. 5)
{
	my (undef, $err) = $session->ask("SELECT count(*) FROM redblue_triangle_pairs('slow', 'bad')");
	like($err, qr/22003.*NaN in column "ax" of blue, id 390000/s, 'a bad row');
}
is_quiet('errors');
$session->ask("BEGIN; SAVEPOINT s;\nSELECT count(*) FROM redblue_triangle_pairs('slow', 'bad');\nROLLBACK TO s");
is(segments($pid), $idle, 'back to a savepoint: no shared memory is left');
is($session->ask($read), 0, 'back to a savepoint: the transaction reads');
$session->ask('COMMIT');
is_quiet('a savepoint');

# During the reading, the session is canceled, or a worker is terminated.
for my $way ('cancel', 'worker')
{
	my $err = '';
	# The machine decides when workers start. If the reading was over before, the attempt proves nothing.
	for (1 .. 20)
	{
		$session->send("SELECT count(*) FROM redblue_triangle_pairs('slow', 'slow')");
		my $worker = '';
		for (1 .. 50)
		{
			$worker = $watch->ask("SELECT pid FROM pg_stat_activity WHERE leader_pid = $pid LIMIT 1");
			last if $worker ne '';
			sleep(0.002);
		}
		$watch->ask($way eq 'cancel' ? "SELECT pg_cancel_backend($pid)" : "SELECT pg_terminate_backend($worker)")
		  if $worker ne '';
		(undef, $err) = $session->wait_for;
		last if $err ne '';
	}
	like($err, $way eq 'cancel' ? qr/57014/ : qr/57P01|administrator command|lost connection/, "$way: an error");
	is_quiet($way);
}

# No worker is free, because others use all of them.
{
	my $other = session($node);
	$other->send('SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET max_parallel_workers_per_gather = 4; ALTER TABLE few SET (parallel_workers = 4); '
		  . 'SELECT count(*) FROM few WHERE pg_sleep(1000) IS NOT NULL');
	comes_true(sub { workers($other->{pid}) == 4 });
	is(workers($other->{pid}), 4, 'another session has all workers');
	is($session->ask($read), 0, 'a table is read without any');
	is($session->ask("SELECT detail !~ 'workers' FROM redblue_last_run() WHERE stage = 'read'"), 't', 'and says so');
	$watch->ask("SELECT pg_cancel_backend($other->{pid})");
	$other->wait_for;
	is($session->ask("$read;\n$helped"), "0\nt", 'with them gone, by workers again');
	$other->quit;
}

# The session ends in the middle.
{
	my $victim = session($node);
	$victim->send("SELECT count(*) FROM redblue_triangle_pairs('slow', 'slow')");
	sleep(0.1);
	$watch->ask("SELECT pg_terminate_backend($victim->{pid}, 5000)");
	comes_true(sub { workers($victim->{pid}) == 0 && !-d "/proc/$victim->{pid}" });
	is(workers($victim->{pid}), 0, 'the workers of an ended session end');
	comes_true(sub { lost_segments() == 0 });
	is(lost_segments(), 0, 'and its shared memory goes');
	cmp_ok(segments($session->{pid}), '>', 0, 'while the segments of another session are found');
	eval { $victim->quit };
}
$session->quit;
$watch->quit;
$node->stop('fast');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|leak|was not (?:closed|freed)/, 'a clean log');

done_testing();
