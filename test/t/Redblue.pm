# Provides what the TAP scripts share: a server with redblue, meshes in tables, and the checksum of a set of pairs.
#
# Meshes and lines come from the tree (test/data), from the folder REDBLUE_DATA if it exists (files that are large or
# whose license does not allow shipping them), and from the generators VOLMESH and BOXES.
package Redblue;

use strict;
use warnings;

use Exporter 'import';
use File::Path qw(make_path);
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

our @EXPORT = qw(new_server kill_and_restart long_run data_file load_off load_lines load_boxes load_volmesh count_and_sum checksum_of counts_of groups_of both_ways
  geometry_table backend_rss_kb emptied_rss_kb backend_faults backend_fds backend_threads session waits_for_lock last_run have_postgis add_stopwatch stops_soon under_timeout timed_out work_ms $late_ms $stop_seconds
  place_for_device fake did comes_true);

our $columns = 'id int8 NOT NULL, '
  . join(', ', map { "$_ float8 NOT NULL" } qw(ax ay az bx by bz cx cy cz));

# REDBLUE_LONG=1 adds the data that takes minutes.
sub long_run { return $ENV{REDBLUE_LONG} // 0 }

# Starts a server whose database postgres has redblue, and PostGIS if it is installed.
# REDBLUE_CUSTOM_SCAN=off disables the scan, so that each join runs in the function.
# REDBLUE_SCAN_SIZE=0 makes several processes read small tables, too.
# JIT compilation is off, because it takes longer than most statements of the tests.
# Commits remain synchronous, because VACUUM marks no page all-visible before the commit that wrote it is on disk.
sub new_server
{
	my ($name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', <<"CONF" . ($conf // ''));
shared_buffers = 256MB
max_wal_size = 4GB
fsync = off
full_page_writes = off
autovacuum = off
jit = off
redblue.custom_scan = @{[$ENV{REDBLUE_CUSTOM_SCAN} // 'on']}
min_parallel_table_scan_size = @{[$ENV{REDBLUE_SCAN_SIZE} // '8MB']}
parallel_setup_cost = @{[($ENV{REDBLUE_SCAN_SIZE} // '8MB') eq '0' ? 0 : 1000]}
CONF
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION redblue');
	$node->safe_psql('postgres', 'CREATE EXTENSION postgis') if have_postgis($node);
	return $node;
}

sub have_postgis
{
	my ($node) = @_;
	return $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = 'postgis'") > 0;
}

# Returns the path of 'mesh/spot.off.xz' or the like, or undef.
sub data_file
{
	my ($name) = @_;
	my ($base) = $name =~ m{([^/]*)$};
	for my $path ("$FindBin::Bin/../data/$base",
		defined $ENV{REDBLUE_DATA} ? "$ENV{REDBLUE_DATA}/$name" : ())
	{
		return $path if -r $path;
	}
	# Tetrahedra are not stored, but computed from a surface that is.
	my $maker = ($ENV{REDBLUE_DATA} // '') . '/make_tets.sh';
	if ($name eq 'armadillo_tets.off' && long_run() && -r $maker)
	{
		my $made = "$ENV{TESTDIR}/$name";
		return $made if -r $made || system("sh '$maker' '$made' >/dev/null") == 0;
	}
	return undef;
}

sub copy_csv
{
	my ($node, $table, $csv) = @_;
	$node->safe_psql('postgres', "\\copy $table FROM '$csv' WITH (FORMAT csv)\nANALYZE $table");
	unlink $csv;
	return;
}

# Loads an OFF file (xz or plain) as a table of corners. Coordinates are sent to the server as text, so that only the
# input function of float8 interprets them.
sub load_off
{
	my ($node, $table, $path) = @_;
	my $csv = "$ENV{TESTDIR}/$table.csv";
	open(my $in, '-|', 'xz', '-dcf', $path) or die "xz: $!";
	open(my $out, '>', $csv) or die "$csv: $!";
	my (@vertex, $id);
	<$in> =~ /^OFF/ or die "$path is no OFF file";
	my ($nv, $nf) = split ' ', <$in>;
	for (1 .. $nv)
	{
		push @vertex, join(',', split ' ', <$in>);
	}
	for $id (0 .. $nf - 1)
	{
		my (undef, $p, $q, $r) = split ' ', <$in>;
		print $out "$id,$vertex[$p],$vertex[$q],$vertex[$r]\n";
	}
	close $in;
	close $out;
	$node->safe_psql('postgres', "CREATE TABLE $table ($columns)");
	copy_csv($node, $table, $csv);
	return;
}

# Loads segments (xz, CSV with a header) as a table, with 2 or 3 dimensions.
sub load_lines
{
	my ($node, $table, $path, $dims) = @_;
	my $columns = join ', ', map { my $end = $_; map { "$end$_ float8 NOT NULL" } (qw(x y z))[ 0 .. $dims - 1 ] } qw(a b);
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id int8 NOT NULL, $columns);
\\copy $table FROM PROGRAM 'xz -dc $path' WITH (FORMAT csv, HEADER)
ANALYZE $table
SQL
	return;
}

# load_boxes($node, 'red', 'gauss', 100000, 1)
sub load_boxes
{
	my ($node, $table, @args) = @_;
	my $csv = "$ENV{TESTDIR}/$table.csv";
	system("$ENV{BOXES} @args > $csv") == 0 or die "boxes failed";
	$node->safe_psql('postgres', "CREATE TABLE $table (id int8 NOT NULL, "
		  . join(', ', map { "$_ float8 NOT NULL" } qw(lx ly lz hx hy hz)) . ')');
	copy_csv($node, $table, $csv);
	return;
}

# load_volmesh($node, 'red', 18, 1, 0.2, 0.31, 0.17, 0.23)
sub load_volmesh
{
	my ($node, $table, @args) = @_;
	my $csv = "$ENV{TESTDIR}/$table.csv";
	system("$ENV{VOLMESH} @args --csv > $csv") == 0 or die "volmesh failed";
	$node->safe_psql('postgres', "CREATE TABLE $table ($columns)");
	copy_csv($node, $table, $csv);
	return;
}

# Creates a table with the triangles of another one, each as a PostGIS geometry with SRID 0.
sub geometry_table
{
	my ($node, $table, $from) = @_;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table AS
SELECT id, ST_GeomFromText(format('TRIANGLE Z((%s %s %s,%s %s %s,%s %s %s,%1\$s %2\$s %3\$s))',
	ax, ay, az, bx, by, bz, cx, cy, cz)) AS geom FROM $from;
ANALYZE $table;
SQL
	return;
}

# Return subqueries for FROM, without an alias: the number of pairs ("pairs"), or the ids of the partners ("ids"), of each
# id in a column of the pairs.
sub counts_of
{
	my ($pairs, $id) = @_;
	return "(SELECT $id AS id, count(*) AS pairs FROM $pairs GROUP BY $id)";
}

sub groups_of
{
	my ($pairs, $id, $other) = @_;
	return "(SELECT $id AS id, array_agg($other ORDER BY $other) AS ids FROM $pairs GROUP BY $id)";
}

# Returns what stands in FROM for both directions of each pair of a self join, as columns "id" and "other".
sub both_ways
{
	my ($pairs) = @_;
	return "$pairs, LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other)";
}

# Returns SQL for the number and checksum of pairs red_id, blue_id. No step overflows for ids below 4e9, and the order
# of the pairs does not matter.
sub checksum_of
{
	my ($pairs) = @_;
	return <<"SQL";
SELECT count(*) || ' ' || coalesce(sum(((y * y % 2147483647) * x) % 2147483647), 0)
FROM (SELECT x, x * x % 2147483647 AS y
	FROM (SELECT (red_id * 1000003 + blue_id * 7919 + 12345) % 2147483647 AS x FROM $pairs) a) b
SQL
}

# Returns the number and checksum of $pairs ("redblue_triangle_pairs('a', 'b')"), after running $set.
sub count_and_sum
{
	my ($node, $pairs, $set) = @_;
	return $node->safe_psql('postgres', ($set // '') . ';' . checksum_of($pairs));
}

# ---- how soon a statement stops ----

# Elapsed time proves little if other processes use the machine. Therefore a test measures the work of a statement after
# it was asked to stop: at most 0.3 s of each processor that it uses. A statement that waits instead of working must
# stop within half a minute, and is made to last longer. test/bench/stops measures elapsed times, on an idle machine.
our $stop_seconds = 30;
my $stop_work_ms = 300;
chomp(my $processors = `nproc`);

# CPU time that a process has used so far, with all its threads
sub work_ms
{
	my @fields = stat_fields($_[0]);
	return @fields ? ($fields[11] + $fields[12]) * 10 : 0;
}

# The fields of /proc/PID/stat, from the third one on
sub stat_fields
{
	open(my $in, '<', "/proc/$_[0]/stat") or return;
	my ($fields) = <$in> =~ /\) (.*)/;
	return split ' ', $fields;
}

# Creates an SQL function that cancels a session, and returns after how many ms it was idle and how much it worked until
# then (work_ms); no row if there was nothing to cancel.
sub add_stopwatch
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION work_ms(who int) RETURNS float8 LANGUAGE sql VOLATILE AS $$
	SELECT sum(n::float8) * 10 FROM string_to_table(substring(pg_read_file(format('/proc/%s/stat', who)) FROM '\) (.*)'), ' ')
		WITH ORDINALITY AS f (n, i) WHERE i IN (12, 13)
$$;
CREATE FUNCTION stop(who int) RETURNS TABLE (ms float8, work float8) LANGUAGE plpgsql AS $$
DECLARE
	t0 timestamptz;
BEGIN
	PERFORM pg_stat_clear_snapshot();
	IF (SELECT state FROM pg_stat_activity WHERE pid = who) IS DISTINCT FROM 'active' THEN
		RETURN;
	END IF;
	work := work_ms(who);
	t0 := clock_timestamp();
	PERFORM pg_cancel_backend(who);
	LOOP
		PERFORM pg_stat_clear_snapshot();
		EXIT WHEN (SELECT state FROM pg_stat_activity WHERE pid = who) IS DISTINCT FROM 'active';
		PERFORM pg_sleep(0.001);
	END LOOP;
	ms := extract(epoch FROM clock_timestamp() - t0) * 1000;
	work := work_ms(who) - work;
	RETURN NEXT;
END $$;
SQL
	return;
}

# Runs a query, and cancels it from another session after a delay (s). Returns how long it then took and worked (ms),
# and on how many processors, or nothing if it had ended before.
sub stop_after
{
	my ($session, $watch, $query, $delay) = @_;
	$session->send($query);
	Time::HiRes::sleep($delay);
	my $threads = backend_threads($session->{pid});
	my ($ms, $work) = split /\|/, $watch->ask("SELECT * FROM stop($session->{pid})");
	my (undef, $err) = $session->wait_for;
	return undef if !defined $work || $err !~ /57014/;
	return { ms => $ms, work => $work, processors => $threads < $processors ? $threads : $processors };
}

# Tests that a query stops soon when it is canceled, at each of these moments (s after the start) at which it still
# runs, and at one of them at least. A late stop is tried again: a stage that does not check for interrupts is late each
# time. So is the first moment if the query had ended at each of them, because this process was delayed.
sub stops_soon
{
	my ($session, $watch, $what, $query, @delays) = @_;
	my @stops;
	for my $delay (@delays, ($delays[0]) x 4)
	{
		last if @stops > 0 && @stops >= @delays;
		my $stop;
		for my $try (1 .. 5)
		{
			my $next = stop_after($session, $watch, $query, $delay) // last;
			$stop = $next;
			$stop->{soon} = $stop->{ms} < $stop_seconds * 1000 && $stop->{work} <= $stop_work_ms * $stop->{processors};
			last if $stop->{soon};
		}
		push @stops, $stop if defined $stop;
	}
	return ok(@stops > 0 && !(grep { !$_->{soon} } @stops),
		"cancel while $what: " . join(', ', map { sprintf '%.0f ms (%.0f of work)', $_->{ms}, $_->{work} } @stops));
}

# Returns SQL that runs a statement with a statement_timeout (ms). The setting ends with the statement: one that had to
# be reset would also end the statement that resets it, on a machine that stops for a moment.
sub under_timeout
{
	my ($timeout, $statement) = @_;
	return "SET LOCAL statement_timeout = $timeout\\; $statement";
}

# Runs a query with a statement_timeout (ms). Returns whether it ran into it, and a lower bound of how much it worked
# after that (ms) for each processor; the work before is not known, but bounded. Work of more than $late_ms is measured
# again: a stage that does not check for interrupts is late each time.
our $late_ms = 500;

sub timed_out
{
	my ($session, $query, $timeout) = @_;
	my ($so, $late) = (0);
	for my $try (1 .. 5)
	{
		my $before = work_ms($session->{pid});
		my (undef, $err) = $session->ask(under_timeout($timeout, $query));
		my $worked = (work_ms($session->{pid}) - $before) / $processors - $timeout;
		$so = 1 if $err =~ /57014/;
		$late = $worked if !defined $late || $worked < $late;
		last if $late < $late_ms;
	}
	return ($so, $late);
}

# ---- a fake device (fake_device.c) ----

my $tree;

# Makes the next servers run from a separate tree; returns the path of the device's file in it, which does not exist
# yet.
sub place_for_device
{
	my %dir;
	for my $which (qw(bindir pkglibdir sharedir))
	{
		chomp($dir{$which} = `pg_config --$which`);
	}
	my @common = split m{/}, $dir{bindir};
	pop @common while grep { index("$_/", join('/', @common) . '/') != 0 } values %dir;
	my $above = length join('/', @common);
	$tree = "$ENV{TESTDIR}/tree";
	my %own = map { $_ => $tree . substr($dir{$_}, $above) } keys %dir;
	make_path(values %own);
	for my $which (qw(pkglibdir sharedir))
	{
		system("cp -rs '$dir{$which}/.' '$own{$which}/'") == 0 or die;
	}
	system("cp -L '$dir{bindir}'/* '$own{bindir}/'") == 0 or die;
	$ENV{PATH} = "$own{bindir}:$ENV{PATH}";
	$ENV{REDBLUE_FAKE} = "$ENV{TESTDIR}/fake";
	unlink "$own{pkglibdir}/redblue_cuda.so";
	return "$own{pkglibdir}/redblue_cuda.so";
}
END { my $status = $?; system("rm -rf '$tree'") if defined $tree; $? = $status }

# Sets what the fake device does from now on.
sub fake
{
	open(my $out, '>', "$ENV{REDBLUE_FAKE}.new") or die;
	print $out "$_\n" for @_;
	close $out;
	rename "$ENV{REDBLUE_FAKE}.new", $ENV{REDBLUE_FAKE};
	return;
}

# Lines of what it did: "join 1234 1"
sub did
{
	my ($what) = @_;
	my @lines = -e "$ENV{REDBLUE_FAKE}.log" ? grep { /^$what / } split /\n/, slurp_file("$ENV{REDBLUE_FAKE}.log") : ();
	return @lines;
}

# Waits until the condition is true, or the time is over.
sub comes_true
{
	my ($so, $seconds) = @_;
	my $until = Time::HiRes::time() + ($seconds // 300);
	until ($so->())
	{
		return 0 if Time::HiRes::time() > $until;
		Time::HiRes::sleep(0.01);
	}
	return 1;
}

# Waits until a session waits for a lock. Another session asks, also within a transaction, where pg_stat_activity would
# not change.
sub waits_for_lock
{
	my ($session, $watch) = @_;
	return comes_true(sub { $watch->ask("SELECT count(*) > 0 FROM pg_locks WHERE pid = $session->{pid} AND NOT granted") eq 't' });
}

# Kills a process of a server, and waits until the server has noticed it and restarted. Until then it still accepts
# connections, which it would terminate.
sub kill_and_restart
{
	my ($node, $pid) = @_;
	my $offset = -s $node->logfile;
	kill 'KILL', $pid;
	comes_true(sub { slurp_file($node->logfile, $offset) =~ /all server processes terminated; reinitializing/ })
	  or die "the server does not notice that process $pid was killed";
	$node->poll_query_until('postgres', 'SELECT true') or die;
	return;
}

# ---- a session that remains connected, and the memory of its process ----

# Starts a psql that remains connected. ask() sends SQL and returns its output, errors included; error lines are
# "SQLSTATE: message".
sub session
{
	my ($node) = @_;
	my $self = bless { n => 0, in => '', out => '', err => '' }, 'Redblue::Session';
	$self->{run} = IPC::Run::start(
		[
			$node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'),
			'-v', 'VERBOSITY=verbose', '-f', '-'
		],
		\$self->{in}, '>', \$self->{out}, '2>', \$self->{err});
	$self->ask("\\set ON_ERROR_STOP off");
	$self->{pid} = $self->ask('SELECT pg_backend_pid()');
	return $self;
}

sub proc_status
{
	my ($pid, $field) = @_;
	open(my $in, '<', "/proc/$pid/status") or return 0;
	my ($line) = grep { /^$field:/ } <$in>;
	return $line =~ /(\d+)/ ? $1 : 0;
}

# Resident memory without the pages of shared buffers that the process happened to touch
sub backend_rss_kb { return proc_status($_[0], 'RssAnon') }

# As above, after a join with the lowest limit releases all idle memory above it, and ends there.
# memory_limit.pl tests that sessions release it by themselves.
sub emptied_rss_kb
{
	my ($session) = @_;
	my (undef, $err) = $session->ask(<<'SQL');
BEGIN; SET LOCAL redblue.memory_limit = '1MB';
SELECT redblue_box_self_pair_count_query('SELECT 1 AS id, 0 AS lx, 0 AS ly, 1 AS hx, 1 AS hy');
ROLLBACK
SQL
	die $err if $err !~ /^$|53200.*memory_limit is 1024 kB/s;
	return backend_rss_kb($session->{pid});
}

# Pages that were new to the process so far
sub backend_faults
{
	return (stat_fields($_[0]))[7] // 0;
}
sub backend_threads { return proc_status($_[0], 'Threads') }
sub backend_fds
{
	my @fds = glob("/proc/$_[0]/fd/*");
	return scalar @fds;
}

package Redblue::Session;

use Time::HiRes ();

sub send
{
	my ($self, $sql) = @_;
	$self->{n}++;
	$self->{out} = $self->{err} = '';
	$self->{in} .= "$sql;\n\\echo done $self->{n}\n\\warn done $self->{n}\n";
	$self->{run}->pump_nb;
	return;
}

# Checks whether all results have arrived.
sub ready
{
	my ($self) = @_;
	$self->{run}->pump_nb if $self->{run}->pumpable;
	return $self->{out} =~ /^done $self->{n}\n/m && $self->{err} =~ /^done $self->{n}\n/m;
}

# Output since send: stdout, and stderr in list context
sub wait_for
{
	my ($self, $seconds) = @_;
	my $until = Time::HiRes::time() + ($seconds // 1800);
	while (!$self->ready)
	{
		die "session gone or no answer: $self->{out} $self->{err}"
		  if Time::HiRes::time() > $until || !$self->{run}->pumpable;
		Time::HiRes::sleep(0.0005);
	}
	(my $out = $self->{out}) =~ s/^done \d+\n//m;
	(my $err = $self->{err}) =~ s/^done \d+\n//m;
	chomp $out;
	return wantarray ? ($out, $err) : $out . ($err ? "\n$err" : '');
}

sub ask
{
	my ($self, $sql, $seconds) = @_;
	$self->send($sql);
	return $self->wait_for($seconds);
}

sub quit
{
	my ($self) = @_;
	$self->{in} .= "\\q\n";
	$self->{run}->finish;
	return;
}

1;
