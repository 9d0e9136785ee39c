# Tests a system that refuses threads or memory: joins become slower or end with an ERROR, but neither a session nor the
# server ends.
#
# RLIMIT_NPROC limits the threads of all processes of a user, and RLIMIT_AS the address space of a process; both are set
# from outside for running sessions. A preloaded library (refuse.c) refuses other calls.
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(max min);
use Time::HiRes qw(sleep time);

plan skip_all => 'these limits do not bind root' if $> == 0;

# Numbers of sessions, seconds without threads, steps, and megabytes of address space
my ($sessions, $seconds, $steps, $most) = long_run() ? (12, 90, 60, 96) : (12, 8, 16, 32);
my $node = new_server('refusals');
load_volmesh($node, 'red', 12, 1, 0.2);
load_volmesh($node, 'blue', 12, 2, 0.2, 0.31, 0.17, 0.23);

# Queries, and the results that the same session gives when nothing is refused
my @ask = (
	"SELECT count(*) FROM redblue_triangle_pairs('red', 'blue')",
	"SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id >= 0",
	"SELECT sum(n) FROM (SELECT blue_id, count(*) AS n FROM redblue_triangle_pairs('red', 'blue') GROUP BY blue_id) t",
	"SELECT redblue_triangle_pair_count('red', 'blue')",
	"SELECT redblue_triangle_self_pair_count('blue')",
	"SELECT count(*) FROM redblue_triangle_pairs_query('SELECT id % 100 AS id, ax, ay, az, bx, by, bz, cx, cy, cz FROM red', 'TABLE blue') WHERE red_id < 50");
# Meshes, which do not report missing threads; rows come in order, because points are numbered in their order.
my $joins = @ask;
$node->safe_psql('postgres', "CREATE TABLE few AS SELECT id, ax AS x, ay AS y, az AS z FROM red WHERE id % 16 = 0;\nSELECT tets FROM redblue_tetrahedralize(points => 'few', mesh => 'm', keep => 'hull')");
push @ask,
  "SELECT sum(v1 + v2) FROM redblue_tetrahedra(points => 'few', keep => 'hull')",
  "SELECT sum(v1 + v2) FROM redblue_tetrahedra_query('SELECT * FROM red WHERE id % 97 = 0 ORDER BY id', keep => 'hull', on_crossing => 'split')",
  "SELECT 1000 + count(*) + length(redblue_mesh_vtu('m')) FROM redblue_mesh_check('m', points => 'few', keep => 'hull')";
my @s = map { session($node) } 1 .. $sessions;
$_->ask('SET redblue.threads = 8; SET redblue.duplicate_notice = off; SET client_min_messages = warning') for @s;
my @answer = map { scalar $s[0]->ask($_) } @ask;
like($_, qr/^\d{4,}$/, "without a limit: $_") for @answer;

# No other processes took their places, and the sessions are the same.
my $children = "SELECT string_agg(pid::text, ',' ORDER BY pid) FROM pg_stat_activity WHERE backend_type IN ('checkpointer', 'background writer', 'walwriter')";
my $before = scalar $s[0]->ask($children);
sub all_alive
{
	my ($when) = @_;
	my @gone = grep { my $s = $_; eval { $s->ask('SELECT pg_backend_pid()') eq $s->{pid} } ? 0 : 1 } @s;
	is(scalar(@gone), 0, "all sessions live $when");
	is(eval { $node->safe_psql('postgres', $children) }, $before, "the server was not restarted $when");
	my @died = grep { /terminated by signal|PANIC|libgomp/ } split /\n/, slurp_file($node->logfile);
	is("@died", '', "nothing died $when");
	return;
}

# Only the soft limit, which can be raised again
sub limit
{
	my ($pid, $which, $n) = @_;
	system('prlimit', "--pid=$pid", "--$which=$n:") == 0 or BAIL_OUT('prlimit does not work here');
	return;
}
my ($processes) = slurp_file("/proc/$s[0]->{pid}/limits") =~ /^Max processes\s+(\w+)/m;

# Number of threads of all processes of this user
sub threads_of_user
{
	my $n = 0;
	for my $status (glob '/proc/[0-9]*/status')
	{
		open(my $in, '<', $status) or next;
		my $text = join '', <$in>;
		my ($uid) = $text =~ /^Uid:\s*(\d+)/m;
		my ($threads) = $text =~ /^Threads:\s*(\d+)/m;
		$n += $threads if defined $uid && defined $threads && $uid == $>;
	}
	return $n;
}

# Runs all sessions concurrently for a number of seconds, and counts correct results and errors.
sub storm
{
	my ($for) = @_;
	my %count = (right => 0, wrong => 0, refused => 0, fewer => 0);
	my $until = time + $for;
	my $n = 0;
	my $next = sub {
		my ($s) = @_;
		$s->{asked} = $n++ % @ask;
		$s->send("$ask[$s->{asked}];\nSELECT device FROM redblue_last_run() LIMIT 1");
	};
	$next->($_) for @s;
	my @busy = @s;
	while (@busy)
	{
		for my $s (@busy)
		{
			if (!$s->ready)
			{
				die "session $s->{pid} is gone\n" unless $s->{run}->pumpable;
				die "session $s->{pid} does not answer\n" if time > $until + 600;
				next;
			}
			my ($out, $err) = $s->wait_for;
			my ($pairs, $device) = split /\n/, $out;
			if ($err =~ /ERROR:  (53000|53200)/) { $count{refused}++; }
			elsif ($err eq '' && ($pairs // '') eq $answer[ $s->{asked} ])
			{
				$count{right}++;
				$count{fewer}++ if $s->{asked} < $joins && $device =~ /^(\d+) thread/ && $1 < 8;
			}
			else { $count{wrong}++; diag("$ask[$s->{asked}]: $out $err"); }
			$s->{asked} = undef;
			# On a slow machine, continue until one query has been answered.
			$next->($s) if time < $until || ($for > 0 && !$count{right} && time < $until + 60);
		}
		@busy = grep { defined $_->{asked} } @busy;
		sleep 0.001;
	}
	return %count;
}

# ---- threads ----

my $room = threads_of_user() + (long_run() ? 60 : 30);
limit($_->{pid}, 'nproc', $room) for @s;
my %got = eval { storm($seconds) };
my $gone = $@;
is($gone, '', 'every session answers, short of threads');
all_alive('short of threads');
BAIL_OUT('the server is gone') if $gone ne '';
is($got{wrong}, 0, "right answers or errors: $got{right}, of these $got{fewer} with fewer threads; $got{refused} errors");
cmp_ok($got{fewer} + $got{refused}, '>', 0, 'threads were refused');
cmp_ok($got{right}, '>', 0, 'some joins ran');

# No thread at all
limit($s[0]->{pid}, 'nproc', 1);
for my $scan ('on', 'off')
{
	my (undef, $err) = $s[0]->ask("SET redblue.custom_scan = $scan;\n$ask[0]");
	like($err, qr/ERROR:  53000: redblue_triangle_pairs: could not create a thread/, "no thread at all, custom_scan = $scan");
	like($err, qr/HINT: .*ulimit -u.*pids\.max/, 'the hint names the limit');
	unlike($err, qr/memory_limit/, 'and not that on memory');
}
$s[0]->ask('RESET redblue.custom_scan');
limit($_->{pid}, 'nproc', $processes) for @s;
%got = eval { storm(1) };
is($@, '', 'every session answers again');
is($got{wrong} + $got{refused} + $got{fewer}, 0, "with all threads: $got{right}");

# ---- address space ----

# Each step leaves a little more; the threads of a session share what is available.
my %seen = (right => 0, refused => 0);
for my $step (0 .. $steps)
{
	my $more = int($most * 2**20 * $step / $steps);
	for my $s (@s)
	{
		my $size = 1024 * Redblue::proc_status($s->{pid}, 'VmSize');
		limit($s->{pid}, 'as', $size + $more + 65536 * int(rand 16));
	}
	%got = eval { storm(0) };
	is($@, '', sprintf('%d kB more of address space: every session answers', $more / 1024));
	is($got{wrong}, 0, "right answers or errors: $got{right} and $got{refused}");
	$seen{$_} += $got{$_} for keys %seen;
	limit($_->{pid}, 'as', 'unlimited') for @s;
	# Reset for the next step: a lower limit also applies to idle memory.
	$_->ask("SET redblue.memory_limit = '1MB'; SELECT redblue_triangle_pair_count_query('SELECT * FROM red LIMIT 0', 'SELECT * FROM blue LIMIT 0'); RESET redblue.memory_limit") for @s;
}
cmp_ok($seen{refused}, '>', 0, "memory was refused $seen{refused} times");
cmp_ok($seen{right}, '>', 0, "and sufficed $seen{right} times");
all_alive('short of memory');

# ---- loading the library ----

unlike(slurp_file("/proc/$s[0]->{pid}/maps"), qr/libgomp/, 'no OpenMP runtime, which would end the process');

# ---- the end of a session during a join ----

my %end = (
	'a scan' => $ask[0],
	'a function' => "SET redblue.custom_scan = off;\n$ask[0]",
	'a count' => $ask[1],
	'a block' => "DO \$\$ BEGIN LOOP PERFORM redblue_triangle_pair_count('red', 'blue'); END LOOP; END \$\$",
	'a cursor' => "BEGIN;\nDECLARE c CURSOR FOR SELECT * FROM redblue_triangle_pairs('red', 'blue');\nFETCH 10 FROM c;\nSELECT pg_sleep(100)",
	'a mesh' => $ask[$joins],
	'a plan' => "PREPARE p AS SELECT 1 WHERE redblue_triangle_pair_count('red', 'blue') > 0;\nEXECUTE p");
my @ended;
for my $name (sort keys %end)
{
	for my $delay (0.005, 0.02, 0.05)
	{
		my $s = session($node);
		my $sql = "SET redblue.threads = 8;\n" . ("$end{$name};\n" x ($name eq 'a cursor' ? 1 : 200));
		$s->send($sql);
		$s->{run}->pump_nb while $s->{in} ne '';
		sleep $delay;
		my $t0 = time;
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($s->{pid}, 60000)");
		push @ended, time - $t0;
		ok(!-e "/proc/$s->{pid}", "$name ends with its session") or diag("after $ended[-1] s");
		eval { $s->{run}->finish };
	}
}
note(sprintf('the slowest took %.0f ms', 1000 * max(@ended)));
all_alive('after that');

$_->quit for @s;
$node->stop;

# ---- random failures of one in many calls, in all processes of a server ----

SKIP:
{
	skip 'there is no library to preload (REFUSE_SO)', 1 unless -r ($ENV{REFUSE_SO} // '');
	for my $one_in (long_run() ? (2, 7, 30, 100, 400) : (10, 100))
	{
		{
			local $ENV{REFUSE} = $one_in;
			local $ENV{LD_PRELOAD} = $ENV{REFUSE_SO};
			$node->start;
		}
		@s = map { session($node) } 1 .. 4;
		# Two of them have tables read by workers, and share the pairs with workers.
		$_->ask('SET redblue.threads = 8; SET redblue.duplicate_notice = off; SET client_min_messages = warning') for @s;
		$_->ask('SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0') for @s[ 0, 1 ];
		$before = scalar $s[0]->ask($children);
		%got = eval { storm(long_run() ? 20 : 4) };
		is($@, '', "one call in $one_in refused: every session answers");
		is($got{wrong}, 0, "right answers or errors: $got{right} and $got{refused}");
		cmp_ok($got{refused}, '>', 0, 'calls were refused');
		all_alive("one call in $one_in refused");
		$_->quit for @s;
		$node->stop;
	}
}
done_testing();
