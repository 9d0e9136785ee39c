# Tests conditions under which the cache of sides would be wrong. Each case fails without the rule of the same name
# (test/cache_rules removes the rules one by one). Also tests the cost of the cache, its memory, and its privileges.
#
# REDBLUE_CASES="logged created" runs only these cases.
# run: long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my %only = map { $_ => 1 } split ' ', $ENV{REDBLUE_CASES} // '';
my @nodes;
my $copies = PostgreSQL::Test::Utils::tempdir();

sub server
{
	my ($name, $conf) = @_;
	# VACUUM marks a page only if the commits of its rows are on disk.
	push @nodes, new_server($name, ($conf // '') . "synchronous_commit = on\nfsync = off\nlock_timeout = '20s'\n");
	return $nodes[-1];
}

# Boxes in a row, each of which meets the next one; ten per page
sub boxes_table
{
	my ($table, $n, $how) = @_;
	return 'CREATE ' . ($how // '') . " TABLE $table (id int8, lx float8, ly float8, hx float8, hy float8, pad text);\n"
	  . "ALTER TABLE $table ALTER pad SET STORAGE plain;\n" . boxes($table, 1, $n);
}

sub boxes
{
	my ($table, $from, $to) = @_;
	return "INSERT INTO $table SELECT i, i, 0, i + 1.5, 1, repeat('x', 700) FROM generate_series($from, $to) i";
}

# A file of small rows, more than a hundred of which fit on one page
sub boxes_file
{
	my ($name, $from, $to) = @_;
	my $file = "$copies/$name";
	unlink $file;
	append_to_file($file, join '', map { join("\t", $_, $_, 0, $_ + 1.5, 1) . "\n" } $from .. $to);
	return $file;
}

sub pairs_of { return "SELECT array_agg(p)::text FROM redblue_box_self_pairs('$_[0]') p" }

sub answer
{
	my ($s, $mode, $question) = @_;
	return clean(scalar $s->ask("SET redblue.cache = $mode;\n$question"));
}

# psql prefixes messages with line numbers.
sub clean { return $_[0] =~ s/^psql:\S*: //mgr }

# Numbers of cached rows, of pages read, and of pages, for the last side of the last join
sub used
{
	my ($s) = @_;
	my $detail = $s->ask("SELECT detail FROM redblue_last_run() WHERE stage = 'read'");
	return $detail =~ /cached (\d+) rows?, read (\d+) of (\d+) pages?(?!.*cached)/ ? ($1, $2, $3) : (0, -1, -1);
}

# Repeats a call until the side is completely cached.
sub warm
{
	my ($s, $question, $name) = @_;
	answer($s, 'on', $question) for 1 .. 2;
	my ($rows, $read) = used($s);
	ok($rows > 0 && $read == 0, "$name: it is kept, $rows rows")
	  or diag(scalar $s->ask('SELECT relation, kind, pages, kept, reason FROM redblue_cached() ORDER BY last_used DESC LIMIT 3'));
	return;
}

# Checks that the results with on and off are equal, and whether cached rows were used.
sub same
{
	my ($s, $question, $name, $kept) = @_;
	my $on = answer($s, 'on', $question);
	my ($rows) = used($s);
	is(answer($s, 'off', $question), $on, $name);
	ok($rows > 0 == $kept, $kept ? "$name: with what is kept" : "$name: nothing was kept of it, $rows") if defined $kept;
	return;
}

my @cases;
sub rule { push @cases, [@_]; return; }

# ---- rows that no one else can see ----

my $node = server('holes', "max_prepared_transactions = 2\n");
my $major = $node->safe_psql('postgres', 'SHOW server_version_num') / 10000 | 0;
my $postgis = have_postgis($node);
my $hundred = boxes_file('hundred', 1, 90);
my $ten = boxes_file('ten', 91, 100);
my $others = boxes_file('others', 201, 290);
my $copy = 'COPY f (id, lx, ly, hx, hy)';

# Rows are added to all-visible pages, and neither bit nor LSN shows it.
rule created => sub {
	for my $savepoint (0, 1)
	{
		my $s = session($node);
		$s->ask("BEGIN;\n" . ($savepoint ? 'SAVEPOINT p;' : '')
			  . "CREATE TABLE f (id int8, lx float8, ly float8, hx float8, hy float8);\n$copy FROM '$hundred' (FREEZE)");
		same($s, pairs_of('f'), 'COPY FREEZE into a table of this transaction', 0) for 1 .. 2;
		$s->ask("$copy FROM '$ten' (FREEZE)");
		is($s->ask("SELECT pg_relation_size('f') / 8192"), 1, 'COPY FREEZE once more, onto the same page');
		same($s, pairs_of('f'), 'and it is seen', 0);
		$s->ask('COMMIT; VACUUM f');
		warm($s, pairs_of('f'), 'after the commit');
		$s->ask('DROP TABLE f');
		$s->quit;
	}
};
rule rewritten => sub {
	my $s = session($node);
	$s->ask("CREATE TABLE f (id int8, lx float8, ly float8, hx float8, hy float8); $copy FROM '$others'; VACUUM f");
	warm($s, pairs_of('f'), 'before TRUNCATE');
	for my $end ('ROLLBACK', 'COMMIT')
	{
		$s->ask("BEGIN;\nTRUNCATE f");
		same($s, pairs_of('f'), 'after TRUNCATE');
		$s->ask("$copy FROM '$hundred' (FREEZE)");
		same($s, pairs_of('f'), 'COPY FREEZE after TRUNCATE', 0) for 1 .. 2;
		$s->ask("$copy FROM '$ten' (FREEZE)");
		same($s, pairs_of('f'), 'and once more', 0);
		$s->ask("SAVEPOINT p; TRUNCATE f; $copy FROM '$others' (FREEZE)");
		same($s, pairs_of('f'), 'and in a savepoint', 0);
		$s->ask('ROLLBACK TO p');
		same($s, pairs_of('f'), 'and after ROLLBACK TO', 0);
		$s->ask($end);
		same($s, pairs_of('f'), "and after $end");
	}
	warm($s, pairs_of('f'), 'after the commit');
	$s->ask('DROP TABLE f');
	$s->quit;
};

# ---- without WAL ----

rule logged => sub {
	my $s = session($node);
	for my $how ('UNLOGGED', 'TEMPORARY')
	{
		$s->ask(boxes_table('u', 100, $how) . ";\nVACUUM u");
		same($s, pairs_of('u'), "$how", 0) for 1 .. 2;
		$s->ask("UPDATE u SET lx = lx - 5 WHERE id = 50;\nVACUUM u");
		same($s, pairs_of('u'), "$how, after UPDATE and VACUUM", 0);
		$s->ask('DROP TABLE u');
	}
	$s->ask(boxes_table('u', 100) . ";\nVACUUM u");
	warm($s, pairs_of('u'), 'logged');
	$s->ask("ALTER TABLE u SET UNLOGGED; UPDATE u SET lx = lx - 5 WHERE id = 50;\nVACUUM u");
	same($s, pairs_of('u'), 'SET UNLOGGED', 0);
	$s->ask("ALTER TABLE u SET LOGGED; UPDATE u SET lx = lx - 5 WHERE id = 40;\nVACUUM u");
	same($s, pairs_of('u'), 'SET LOGGED');
	$s->ask('DROP TABLE u');
	$s->quit;
};

# The LSN remains 0 while a transaction fills a file of its own.
rule minimal => sub {
	# The file is not logged at commit, either.
	my $minimal = server('minimal', "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
	my $s = session($minimal);
	$s->ask("BEGIN;\nCREATE TABLE f (id int8, lx float8, ly float8, hx float8, hy float8);\n$copy FROM '$hundred' (FREEZE)");
	same($s, pairs_of('f'), 'wal_level = minimal', 0) for 1 .. 2;
	$s->ask("TRUNCATE f; $copy FROM '$others' (FREEZE)");
	same($s, pairs_of('f'), 'TRUNCATE, which keeps the file, and other rows', 0);
	$s->ask('COMMIT; VACUUM f');
	warm($s, pairs_of('f'), 'after the commit');
	$s->ask('UPDATE f SET lx = lx - 5 WHERE id = 210; VACUUM f');
	same($s, pairs_of('f'), 'after UPDATE and VACUUM');
	$s->ask("BEGIN; TRUNCATE f; $copy FROM '$hundred' (FREEZE); COMMIT");
	same($s, pairs_of('f'), 'after TRUNCATE and COPY FREEZE') for 1 .. 2;
	# Another file, whose LSNs are also 0
	$s->ask("BEGIN; TRUNCATE f; $copy FROM '$others' (FREEZE); COMMIT");
	same($s, pairs_of('f'), 'and once more') for 1 .. 2;
	$s->ask('UPDATE f SET lx = lx - 5 WHERE id = 210; VACUUM f');
	same($s, pairs_of('f'), 'after another UPDATE and VACUUM');
	# Another table
	$s->ask("BEGIN; CREATE TABLE g (LIKE f); $copy FROM '$others' (FREEZE); COMMIT; VACUUM f" =~ s/COPY f/COPY g/r);
	same($s, pairs_of($_), "beside another table, $_") for 'f', 'g', 'f', 'g';
	$s->quit;
};

# ---- snapshots ----

# VACUUM ignores an old snapshot, and a scan reports it.
rule old_snapshot => sub {
	my $old;
  SKIP:
	{
		skip 'no old_snapshot_threshold', 3 if $major >= 17;
		$old = server('old', "old_snapshot_threshold = 0\n");
		my ($s, $t) = (session($old), session($old));
		$s->ask(boxes_table('f', 100) . ";\nVACUUM f");
		same($s, pairs_of('f'), 'old_snapshot_threshold', 0) for 1 .. 2;
		$s->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
		# A snapshot is old after five seconds.
		sleep 6;
		$t->ask('UPDATE f SET lx = lx - 5 WHERE id = 50;');
		$t->ask('VACUUM f') for 1 .. 3;
		$s->ask('SAVEPOINT p');
		for my $mode ('on', 'off')
		{
			like(answer($s, $mode, pairs_of('f')), qr/72000.*snapshot too old/, "an old snapshot is an error, cache = $mode");
			$s->ask('ROLLBACK TO p');
		}
		$_->quit for $s, $t;
	}
};

# Each transaction reads what the other one writes.
rule serializable => sub {
	my ($one, $two) = (session($node), session($node));
	$one->ask(boxes_table('f', 100) . ";\n" . boxes_table('g', 100) . ";\nVACUUM f, g");
	for ([ $one, 'f' ], [ $two, 'g' ]) { warm($_->[0], pairs_of($_->[1]), "before SERIALIZABLE, $_->[1]"); }
	$_->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; SET redblue.cache = on') for $one, $two;
	same($one, pairs_of('f'), 'SERIALIZABLE', 0);
	same($two, pairs_of('g'), 'SERIALIZABLE', 0);
	my $said = join "\n", map { scalar $_ } $one->ask('UPDATE g SET lx = lx - 5 WHERE id = 50'), $two->ask('UPDATE f SET lx = lx - 5 WHERE id = 50'),
	  $one->ask('COMMIT'), $two->ask('COMMIT');
	like($said, qr/40001/, 'SERIALIZABLE finds write skew');
	$one->ask('DROP TABLE f, g');
	$_->quit for $one, $two;
};

# A snapshot on a standby sees less than the bits of the primary say.
rule mvcc => sub {
	my $primary = PostgreSQL::Test::Cluster->new('primary');
	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf', "autovacuum = off\n");
	$primary->start;
	push @nodes, $primary;
	$primary->safe_psql('postgres', "CREATE EXTENSION redblue;\n" . boxes_table('f', 100) . ";\nVACUUM f");
	$primary->backup('copy');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($primary, 'copy', has_streaming => 1);
	$standby->start;
	push @nodes, $standby;
	$primary->wait_for_catchup($standby);
	my $s = session($standby);
	$s->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
	same($s, pairs_of('f'), 'on a standby', 0);
	$standby->promote;
	same($s, pairs_of('f'), 'promoted, with a snapshot from before', 0) for 1 .. 2;
	# A snapshot is reused while no transaction has ended.
	$s->ask('COMMIT; CREATE TABLE another ()');
	warm($s, pairs_of('f'), 'promoted');
	$s->quit;
};

# The lock comes first, then the number of pages and the map; rows follow the snapshot of the statement.
rule order => sub {
	my ($s, $t) = (session($node), session($node));
	$t->ask(boxes_table('f', 300) . ";\nVACUUM f");
	my $oid = $t->ask("SELECT 'f'::regclass::oid");
	my $call = "SELECT redblue_box_self_pair_count((SELECT ${oid}::oid::regclass))";
	warm($s, $call, 'before the lock');
	# Others change the table while the reader waits for its lock.
	for my $change ('UPDATE f SET lx = lx - 5 WHERE id = 150', boxes('f', 301, 305), 'DELETE FROM f WHERE id > 295')
	{
		$t->ask("BEGIN; LOCK TABLE f IN ACCESS EXCLUSIVE MODE; $change");
		$s->send("SET redblue.cache = on;\n$call");
		ok(comes_true(sub { $t->ask("SELECT count(*) FROM pg_locks WHERE pid = $s->{pid} AND NOT granted") }), "waits: $change");
		$t->ask('COMMIT');
		my $on = $s->wait_for;
		# The snapshot of the statement was taken before the wait.
		same($s, $call, "changed while it waited: $change");
		$t->ask('VACUUM f');
		same($s, $call, 'and after VACUUM');
	}
	# Snapshots that remain in use
	$t->ask('VACUUM (INDEX_CLEANUP ON) f');
	warm($s, pairs_of('f'), 'before a snapshot');
	$s->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $before = answer($s, 'on', pairs_of('f'));
	for my $change ('UPDATE f SET lx = lx - 5 WHERE id = 100', 'DELETE FROM f WHERE id = 60', 'INSERT INTO f SELECT 1000, 10, 0, 20, 1, NULL')
	{
		$t->ask("$change;\nVACUUM f");
		is(answer($s, 'on', pairs_of('f')), $before, "a snapshot is held: $change");
		isnt(answer($t, 'on', pairs_of('f')), $before, 'others see it');
	}
	my $id = $s->ask('SELECT pg_export_snapshot()');
	$t->ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$id'");
	is(answer($t, 'on', pairs_of('f')), $before, 'and in a session that takes it over');
	$_->ask('COMMIT') for $s, $t;
	same($_, pairs_of('f'), 'and when it has gone') for $s, $t;
	$t->ask('DROP TABLE f');
	$_->quit for $s, $t;
};

# ---- bits and LSNs ----

# VACUUM has set the bit of a page again: the LSN of the map has changed, so the LSN of the page decides.
rule page_lsn => sub {
	my ($s, $t) = (session($node), session($node));
	$t->ask(boxes_table('f', 300) . ";\nVACUUM f");
	for my $n (100, 120)
	{
		my $freeze = $n == 100 ? '' : '(FREEZE)';
		for my $change ("UPDATE f SET lx = lx - 5 WHERE id = $n", "DELETE FROM f WHERE id = $n + 10", "INSERT INTO f SELECT $n, 10, 0, 20, 1, NULL",
			"UPDATE f SET hx = hx + 5 WHERE id = 2 * $n; DELETE FROM f WHERE id = 2 * $n + 1")
		{
			$t->ask('VACUUM f');
			warm($s, pairs_of('f'), "before $change");
			my $before = answer($s, 'on', pairs_of('f'));
			$t->ask("$change;\nVACUUM $freeze f");
			same($s, pairs_of('f'), "VACUUM $freeze after $change");
			isnt(answer($s, 'off', pairs_of('f')), $before, 'which changes the answer');
		}
	}
	$t->ask('DROP TABLE f');
	$_->quit for $s, $t;
};

# A page that was not all-visible when it was read is not cached, even if its LSN is the same later.
rule kept_bits => sub {
	my ($s, $t) = (session($node), session($node));
	$t->ask(boxes_table('f', 300) . ";\nVACUUM f");
	$t->ask("BEGIN; INSERT INTO f SELECT 1000, 10, 0, 20, 1, NULL");
	answer($s, 'on', pairs_of('f')) for 1 .. 2;
	my ($rows, $read) = used($s);
	ok($rows > 0 && $read == 1, 'a page that somebody writes to is read again');
	$t->ask('COMMIT; SELECT count(*) FROM f; VACUUM f');
	same($s, pairs_of('f'), 'and when it is all-visible');
	$t->ask('DROP TABLE f');
	$_->quit for $s, $t;
};

# The flag of the page is lost, but the bit of the map remains.
rule page_flag => sub {
	my $s = session($node);
	$s->ask(boxes_table('f', 300) . ";\nVACUUM f; CHECKPOINT");
	my $file = $node->data_dir . '/' . $s->ask("SELECT pg_relation_filepath('f')");
	$s->quit;
	$node->stop('fast');
	# In PostgreSQL 18, pages have checksums.
	system_or_bail('pg_checksums', '--disable', '-D', $node->data_dir) if $major >= 18;
	open(my $page, '+<', $file) or die "$file: $!";
	binmode $page;
	seek $page, 5 * 8192 + 10, 0;
	read $page, my $flags, 2;
	is(unpack('S', $flags) & 4, 4, 'the page is all-visible');
	seek $page, 5 * 8192 + 10, 0;
	print $page pack('S', unpack('S', $flags) & ~4);
	close $page;
	$node->start;
	$s = session($node);
	answer($s, 'on', pairs_of('f')) for 1 .. 2;
	my ($rows, $read) = used($s);
	ok($rows > 0 && $read == 1, 'a page without the flag is not kept');
	my $id = $s->ask("SELECT id FROM f WHERE ctid = '(5,3)'");
	$s->ask("UPDATE f SET lx = lx - 5 WHERE id = $id; DELETE FROM f WHERE ctid = '(5,5)'");
	same($s, pairs_of('f'), 'and what is done to it is seen');
	$s->ask('DROP TABLE f');
	$s->quit;
};

# Changes to a page that has been read, while others are read
rule moved_while_reading => sub {
  SKIP:
	{
		my $surgery = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_surgery'");
		skip 'no pg_surgery, or no PostGIS', 3 if !$surgery || !$postgis;
		my ($s, $t, $u) = (session($node), session($node), session($node));
		# The last row is in the TOAST table, whose index another session has locked.
		$t->ask(<<'SQL');
CREATE EXTENSION IF NOT EXISTS pg_surgery;
CREATE TABLE g (id int8, geom geometry, pad text);
ALTER TABLE g ALTER pad SET STORAGE plain;
ALTER TABLE g ALTER geom SET STORAGE external;
INSERT INTO g SELECT i, ST_GeomFromText(format('TRIANGLE Z((%s 0 0,%s 2 0,%s 0 2,%1$s 0 0))', i, i + 1, i + 2)), repeat('x', 600) FROM generate_series(1, 200) i;
INSERT INTO g SELECT 1000, ST_GeomFromText('TIN Z(' || string_agg(format('((%s 0 0,%s 2 0,%s 0 2,%1$s 0 0))', i, i + 1, i + 2), ',') || ')') FROM generate_series(1, 100) i;
VACUUM g;
SQL
		my $toast = $t->ask("SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'g'::regclass");
		my $q = "SELECT redblue_triangle_self_pair_count('g')";
		$t->ask("BEGIN; REINDEX TABLE $toast");
		$s->send("SET redblue.custom_scan = off; SET redblue.cache = on;\nSELECT redblue_triangle_self_pair_count((SELECT 'g'::regclass))");
		my $waits = 0;
		for (1 .. 30_000)
		{
			# The session, or one of the processes that read for it
			last if $waits = $u->ask("SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE $s->{pid} IN (a.pid, a.leader_pid) AND NOT granted");
			sleep 0.01;
		}
		cmp_ok($waits, '>', 0, 'reading waits for the last row');
		$u->ask("SELECT heap_force_kill('g', ARRAY['(0,3)'::tid]);\nVACUUM (PROCESS_TOAST off) g");
		$t->ask('COMMIT');
		$s->wait_for;
		same($s, $q, 'what was changed behind it is seen');
		$u->ask('DROP TABLE g');
		$_->quit for $s, $t, $u;
	}
};

# ---- pages come and go ----

rule shrunk => sub {
	my ($s, $t) = (session($node), session($node));
	$t->ask(boxes_table('f', 300) . ";\nVACUUM f");
	warm($s, pairs_of('f'), 'before it shrinks');
	my (undef, undef, $pages) = used($s);
	$t->ask("DELETE FROM f WHERE id > 285;\nVACUUM f");
	same($s, pairs_of('f'), 'cut off by VACUUM', 0);
	my (undef, undef, $fewer) = used($s);
	warm($s, pairs_of('f'), 'when it has shrunk');
	$t->ask(boxes('f', 1001, 1015));
	same($s, pairs_of('f'), 'the pages are there again', 1);
	$t->ask('VACUUM f');
	same($s, pairs_of('f'), 'and all-visible');
	$t->ask(boxes('f', 2001, 2300) . ";\nVACUUM f");
	same($s, pairs_of('f'), 'and twice as many');
	$t->ask('DELETE FROM f; VACUUM f');
	same($s, pairs_of('f'), 'and none');
	$t->ask(boxes('f', 1, 300) . ";\nVACUUM f");
	same($s, pairs_of('f'), 'and filled again');
	$t->ask('DROP TABLE f');
	$_->quit for $s, $t;
};

# ---- columns ----

rule columns => sub {
	my $s = session($node);
	$s->ask(boxes_table('f', 300) . ";\nUPDATE f SET ly = id % 7, hy = id % 7 + 1; VACUUM FULL f; VACUUM f");
	warm($s, pairs_of('f'), 'before ALTER TABLE');
	# These changes do not touch any page.
	my $before = answer($s, 'off', pairs_of('f'));
	$s->ask('ALTER TABLE f RENAME lx TO was; ALTER TABLE f RENAME ly TO lx; ALTER TABLE f RENAME was TO ly;'
		  . 'ALTER TABLE f RENAME hx TO was; ALTER TABLE f RENAME hy TO hx; ALTER TABLE f RENAME was TO hy');
	same($s, pairs_of('f'), 'axes swapped');
	$s->ask('ALTER TABLE f RENAME lx TO was; ALTER TABLE f RENAME hx TO lx; ALTER TABLE f RENAME was TO hx');
	same($s, pairs_of('f'), 'low and high swapped');
	$s->ask('ALTER TABLE f RENAME lx TO was; ALTER TABLE f RENAME hx TO lx; ALTER TABLE f RENAME was TO hx');
	$s->ask('ALTER TABLE f ADD COLUMN key int8; UPDATE f SET key = -id; VACUUM FULL f; VACUUM f');
	warm($s, pairs_of('f'), 'with another key');
	same($s, "SELECT array_agg(p)::text FROM redblue_box_self_pairs('f', boxes_id => 'key') p", 'rows called by another column');
	$s->ask('ALTER TABLE f RENAME id TO was; ALTER TABLE f RENAME key TO id');
	same($s, pairs_of('f'), 'ids renamed');
	$s->ask('ALTER TABLE f DROP COLUMN id');
	same($s, pairs_of('f'), 'without an id');
	$s->ask('ALTER TABLE f RENAME was TO id');
	same($s, pairs_of('f'), 'and with one');
	$s->ask('ALTER TABLE f ADD COLUMN grp int4; UPDATE f SET grp = id % 10; VACUUM FULL f; VACUUM f');
	warm($s, pairs_of('f'), 'without objects');
	same($s, "SELECT array_agg(p)::text FROM redblue_box_self_pairs('f', boxes_object => 'grp') p", 'with objects') for 1 .. 3;
	same($s, "SELECT array_agg(p)::text FROM redblue_box_self_pairs('f', boxes_id => 'grp') p", 'the same column as an id') for 1 .. 2;
	same($s, "SELECT array_agg(p)::text FROM redblue_box_self_pairs('f', boxes_object => 'grp') p", 'and as an object again');
	$s->ask('ALTER TABLE f ALTER lx TYPE int, ALTER hx TYPE numeric; VACUUM f');
	same($s, pairs_of('f'), 'of other types') for 1 .. 2;
	$s->ask('DROP TABLE f');
	# One table as all kinds
	$s->ask('CREATE TABLE k AS SELECT i AS id, i::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, i + 1.5::float8 AS bx, 1::float8 AS by, 1::float8 AS bz,'
		  . ' i::float8 AS cx, 1::float8 AS cy, 0::float8 AS cz, i::float8 AS lx, 0::float8 AS ly, i + 1.2::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 500) i; VACUUM k');
	for (1 .. 2)
	{
		same($s, "SELECT array_agg(p)::text FROM redblue_triangle_self_pairs('k') p", 'as triangles');
		same($s, "SELECT array_agg(p)::text FROM redblue_segment_self_pairs('k') p", 'as 2D segments');
		same($s, "SELECT array_agg(p)::text FROM redblue_segment_triangle_pairs('k', 'k') p", 'as 3D segments');
		same($s, "SELECT array_agg(p)::text FROM redblue_box_self_pairs('k') p", 'as boxes');
		same($s, "SELECT array_agg(p)::text FROM redblue_triangle_self_pairs_by_key('k', 'id, lx') p(a int, b float8, c int, d float8)", 'by key');
	}
	$s->ask('ALTER TABLE k ADD COLUMN lz float8, ADD COLUMN hz float8');
	same($s, pairs_of('k'), 'boxes have three dimensions');
	$s->ask('UPDATE k SET lz = id % 3, hz = id % 3; VACUUM k');
	same($s, pairs_of('k'), 'with values') for 1 .. 2;
	$s->ask('DROP TABLE k');
	$s->quit;
};

# A default of a column is not stored in pages.
rule missing => sub {
	my $s = session($node);
	$s->ask("CREATE TABLE f (id int8, lx float8, ly float8, hx float8); INSERT INTO f SELECT i, i, 0, i + 1.5 FROM generate_series(1, 900) i; VACUUM f");
	for my $height (1, 2, 5)
	{
		$s->ask("BEGIN; ALTER TABLE f ADD COLUMN hy float8 DEFAULT $height");
		same($s, pairs_of('f'), "a default of $height", 0) for 1 .. 2;
		$s->ask('ROLLBACK');
	}
	$s->ask("ALTER TABLE f ADD COLUMN hy float8 DEFAULT 1");
	same($s, pairs_of('f'), 'a default that stays', 0) for 1 .. 2;
	$s->ask('VACUUM FULL f; VACUUM f');
	warm($s, pairs_of('f'), 'written to the rows');
	$s->ask('DROP TABLE f');
	$s->quit;
};

# The tolerance for faces is part of the key.
rule face_tolerance => sub {
  SKIP:
	{
		skip 'no PostGIS', 4 if !$postgis;
		my $s = session($node);
		$s->ask("CREATE TABLE g AS SELECT i AS id, ST_GeomFromText(format('POLYGON Z((%s 0 0,%s 0 0.1,%s 2 0,%1\$s 2 0.1,%1\$s 0 0))', i, i + 3, i + 3)) AS geom FROM generate_series(1, 300) i; VACUUM g");
		my $q = "SELECT array_agg(p)::text FROM redblue_triangle_self_pairs('g') p";
		warm($s, $q, 'faces');
		same($s, $q =~ s/'g'/'g', face_tolerance => 0.001/r, 'face_tolerance') for 1 .. 2;
		same($s, $q =~ s/'g'/'g', face_tolerance => 1/r, 'a larger one') for 1 .. 2;
		same($s, $q, 'none again');
		$s->ask('DROP TABLE g');
		$s->quit;
	}
};

# ---- files ----

rule files => sub {
	my $space = PostgreSQL::Test::Utils::tempdir();
	$node->safe_psql('postgres', "CREATE TABLESPACE other LOCATION '$space'");
	my ($s, $t) = (session($node), session($node));
	$t->ask(boxes_table('f', 300) . ";\nCREATE INDEX f_id ON f (id); VACUUM f");
	for my $change ('ALTER TABLE f SET TABLESPACE other', 'UPDATE f SET lx = lx - 5 WHERE id = 20', 'ALTER TABLE f SET TABLESPACE pg_default',
		'VACUUM FULL f', 'CREATE INDEX f_lx ON f (lx DESC); CLUSTER f USING f_lx', 'CLUSTER f USING f_id', 'TRUNCATE f; ' . boxes('f', 1, 300),
		'DROP TABLE f; ' . boxes_table('f', 280), 'BEGIN; TRUNCATE f; ' . boxes('f', 1, 300) . '; ROLLBACK',
		'BEGIN; DROP TABLE f; ' . boxes_table('f', 280) . '; ROLLBACK', 'ALTER TABLE f RENAME TO was; ' . boxes_table('f', 290))
	{
		$s->ask('VACUUM f');
		warm($s, pairs_of('f'), "before $change");
		my $before = $s->ask('SELECT sum(bytes) FROM redblue_cached() WHERE reason IS NULL');
		$t->ask($change);
		same($s, pairs_of('f'), "after $change");
		$t->ask('VACUUM f');
		same($s, pairs_of('f'), 'and VACUUM');
		cmp_ok($s->ask('SELECT coalesce(sum(bytes), 0) FROM redblue_cached() WHERE reason IS NULL'), '<=', 2 * $before + 50000, 'what is of no use is given up');
	}
	$t->ask('DROP TABLE f, was');
	# A database is copied with its visibility maps and their LSNs.
	$t->ask('CREATE DATABASE template_of; ALTER DATABASE template_of SET redblue.cache = on');
	my $file;
	for my $db ('template_of', 'copy_of')
	{
		$node->safe_psql($db, 'CREATE EXTENSION redblue;' . boxes_table('f', 300) . ";\nVACUUM f") if $db eq 'template_of';
		$node->safe_psql('postgres', 'CREATE DATABASE copy_of TEMPLATE template_of') if $db eq 'template_of';
		my $out = $node->safe_psql($db, "SET redblue.cache = on;\n" . pairs_of('f') . ";\nUPDATE f SET lx = lx - " . ($db eq 'copy_of' ? 7 : 3) . " WHERE id = 30;\nVACUUM f;\n"
			  . pairs_of('f') . ";\nSET redblue.cache = off;\n" . pairs_of('f'));
		my @said = grep { /^\{/ } split /\n/, $out;
		is($said[1], $said[2], "in the database $db");
		isnt($said[0], $said[1], 'where something has changed');
	}
	$_->quit for $s, $t;
};

# The cache ends with the server; changes that are replayed are seen.
rule restart => sub {
	for my $how ('immediate', 'fast')
	{
		my $s = session($node);
		$s->ask("DROP TABLE IF EXISTS f;\n" . boxes_table('f', 300) . ";\nVACUUM f; CHECKPOINT");
		warm($s, pairs_of('f'), "before stop $how");
		$s->ask('UPDATE f SET lx = lx - 5 WHERE id = 50; DELETE FROM f WHERE id = 60');
		my $before = answer($s, 'off', pairs_of('f'));
		is(answer($s, 'on', pairs_of('f')), $before, 'a change');
		$node->stop($how);
		$node->start;
		eval { $s->quit };
		$s = session($node);
		is($s->ask('SELECT count(*) FROM redblue_cached()'), 0, "nothing is kept after stop $how");
		is(answer($s, 'on', pairs_of('f')), $before, 'and the answer is the same') for 1 .. 3;
		$s->ask('VACUUM f');
		is(answer($s, 'on', pairs_of('f')), $before, 'and after VACUUM') for 1 .. 2;
		$s->quit;
	}
};

# ---- costs ----

rule costs => sub {
	my ($s, $t) = (session($node), session($node));
	$t->ask("CREATE TABLE f (id int8 PRIMARY KEY, lx float8, ly float8, hx float8, hy float8);"
		  . "INSERT INTO f SELECT i, i, 0, i + 1.5, 1 FROM generate_series(1, 60000) i; VACUUM ANALYZE f");
	my $q = "SELECT redblue_box_self_pair_count((SELECT 'f'::regclass))";
	warm($s, $q, 'many pages');
	my ($rows, undef, $pages) = used($s);
	is($rows, 60000, 'all rows are kept');
	cmp_ok($pages, '>', 400, "of $pages pages");
	my $on_page = $t->ask("SELECT count(*) FROM f WHERE ctid >= '(100,0)' AND ctid < '(101,0)'");
	my $id = $t->ask("SELECT id FROM f WHERE ctid = '(100,7)'");
	$t->ask("UPDATE f SET lx = lx - 5 WHERE id = $id");
	same($s, $q, 'after UPDATE of one row', 1);
	answer($s, 'on', $q);
	($rows, my $read) = used($s);
	cmp_ok($read, '<=', 3, 'its page is read, and that of the new row');
	cmp_ok($rows, '>=', 60000 - 3 * $on_page, 'the rows of the others are not');
	$t->ask('VACUUM f');
	same($s, $q, 'VACUUM, which leaves a page with few dead rows as it is', 1) for 1 .. 2;
	answer($s, 'on', $q);
	($rows, $read) = used($s);
	cmp_ok($read, '<=', 3, "it reads $read pages");
	cmp_ok($rows, '>=', 60000 - 3 * $on_page, 'and keeps the others');
	$t->ask('VACUUM (INDEX_CLEANUP ON) f');
	same($s, $q, 'INDEX_CLEANUP', 1);
	# Checking the cache reads the visibility map, but no page of the table.
	answer($s, 'on', $q) for 1 .. 2;
	$t->ask('VACUUM (INDEX_CLEANUP ON) f; SELECT redblue_uncache()');
	$s->ask('SELECT redblue_uncache()');
	answer($s, 'on', $q) for 1 .. 2;
	my $hits = sub { my ($plan) = map { scalar $s->ask("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF) $q") } 1; my $n = 0; $n += $1 while $plan =~ /shared hit=(\d+)/g; $n += $1 while $plan =~ /read=(\d+)/g; return $n; };
	$hits->();
	my $look = $hits->();
	cmp_ok($look, '<', 60, "a look at what is kept takes $look buffers");
	$s->ask('SET redblue.cache = off');
	cmp_ok($hits->(), '>', 400, 'reading takes more');
	# It writes nothing.
	$t->ask('CHECKPOINT');
	my $written = -1;
	for (1 .. 5)
	{
		my $before = $t->ask('SELECT pg_current_wal_insert_lsn()');
		$s->ask('SELECT redblue_uncache()');
		answer($s, 'on', $q) for 1 .. 3;
		$written = $t->ask("SELECT pg_current_wal_insert_lsn() - '$before'");
		last if $written == 0;
	}
	is($written, 0, 'no WAL is written by it');
	my $bloat = $t->ask("SELECT count(*) FROM pg_stat_user_tables WHERE relname = 'f' AND n_tup_ins + n_tup_upd > 200000");
	is($bloat, 0, 'no row');
	$t->ask('DROP TABLE f');
	$_->quit for $s, $t;
};

# auto: at least 8 MB, and unchanged twice
rule auto => sub {
	my ($s, $t) = (session($node), session($node));
	$t->ask(boxes_table('f', 1000) . ";\n" . boxes_table('big', 11000) . ";\nVACUUM f, big");
	my $reason = sub { return scalar $s->ask("SELECT reason FROM redblue_cached() WHERE relation = '$_[0]'::regclass") };
	my $q = sub { return "SELECT redblue_box_self_pair_count('$_[0]')" };
	answer($s, 'auto', $q->('f')) for 1 .. 3;
	is((used($s))[0], 0, 'a small table is not kept in auto');
	like($reason->('f'), qr/smaller than 8 MB/, 'and this is reported');
	answer($s, 'auto', $q->('big'));
	is((used($s))[0], 0, 'a large one is read');
	like($reason->('big'), qr/once/, 'once');
	answer($s, 'auto', $q->('big'));
	is((used($s))[0], 0, 'and again');
	is($reason->('big'), '', 'which keeps it');
	answer($s, 'auto', $q->('big'));
	is((used($s))[0], 11000, 'and the third time it is kept');
	answer($s, 'off', $q->('big'));
	is((used($s))[0], 0, 'off does not look for it');
	answer($s, 'auto', $q->('big'));
	is((used($s))[0], 11000, 'but leaves it');
	# A table that changed between two calls is not cached.
	$s->ask('SELECT redblue_uncache()');
	$t->ask('UPDATE big SET lx = lx - 1 WHERE id = 10; VACUUM big');
	answer($s, 'auto', $q->('big'));
	$t->ask('UPDATE big SET lx = lx - 1 WHERE id = 10; VACUUM big');
	answer($s, 'auto', $q->('big'));
	like($reason->('big'), qr/changed/, 'a table that changes is not kept');
	# Too many pages without a bit
	$t->ask('UPDATE big SET lx = lx - 1');
	answer($s, 'auto', $q->('big')) for 1 .. 3;
	is((used($s))[0], 0, 'nor one that VACUUM has not seen');
	like($reason->('big'), qr/VACUUM/, 'and this is reported');
	$t->ask('VACUUM big');
	like($s->ask("SELECT rows, kept > 0, kept <= pages FROM redblue_cache('big', 'boxes')"), qr/^11000\|t\|t$/, 'redblue_cache keeps at once');
	same($s, $q->('big'), 'for the next join', 1);
	$t->ask('DROP TABLE f, big');
	is($s->ask('SELECT count(*) FROM redblue_cached()'), 0, 'tables that are gone are not shown');
	$_->quit for $s, $t;
};

# ---- memory ----

# Memory of a session, and of the process that stores cached sides
sub held_kb
{
	my ($s) = @_;
	my $worker = $s->ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'redblue worker'");
	return backend_rss_kb($s->{pid}) + ($worker =~ /^\d+$/ ? backend_rss_kb($worker) : 0);
}

rule budget => sub {
	my $t = session($node);
	my $n = 20000;
	$t->ask("CREATE TABLE t$_ AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 1.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, $n) i; VACUUM t$_") for 1 .. 10;
	my $s = session($node);
	answer($s, 'on', "SELECT redblue_box_self_pair_count('t1')");
	my $one = $s->ask('SELECT sum(bytes) FROM redblue_cached()');
	cmp_ok($one, '>', $n * 32, "a table takes $one bytes");
	my $budget = int($one * 3.5 / 1024);
	$s->ask("ALTER SYSTEM SET redblue.cache_memory = $budget; SELECT pg_reload_conf()");
	ok(comes_true(sub { $s->ask('SHOW redblue.cache_memory') =~ /$budget|kB/ }), 'a new limit');
	my ($most, $rss) = (0, 0);
	my $rounds = long_run() ? 1000 : 60;
	for my $round (1 .. $rounds)
	{
		for my $k (map { $_ * 7 % 10 + 1 } 1 .. 10)
		{
			answer($s, 'on', "SELECT redblue_box_self_pair_count('t$k')");
		}
		my $bytes = $s->ask('SELECT sum(bytes) FROM redblue_cached()');
		$most = $bytes if $bytes > $most;
		$rss = held_kb($s) if $round == 10;
	}
	cmp_ok($most, '<=', $budget * 1024, "ten tables, room for three: $most bytes of $budget kB");
	cmp_ok($most, '>', 2 * $one, 'which is used');
	cmp_ok(held_kb($s) - $rss, '<', 8192, 'memory of the processes does not grow');
	# Two sides, each of which would have to be evicted for the other
	same($s, "SELECT redblue_box_pair_count('t$_', 't" . ($_ + 1) . "')", 'two tables') for 1 .. 9;
	my $kept = $s->ask('SELECT sum(bytes) FROM redblue_cached()');
	my $gone = $s->ask('SELECT redblue_uncache()');
	cmp_ok($gone, '>=', $kept, "redblue_uncache gives back $gone bytes");
	is($s->ask('SELECT count(*) FROM redblue_cached() WHERE reason IS NULL'), 0, 'all');
	is($s->ask('SELECT redblue_uncache()'), 0, 'and then nothing');
	# Less than one table; nothing
	for my $setting ('100kB', '0')
	{
		$s->ask("ALTER SYSTEM SET redblue.cache_memory = '$setting'; SELECT pg_reload_conf()");
		ok(comes_true(sub { $s->ask('SHOW redblue.cache_memory') eq $setting }), 'another one');
		same($s, "SELECT redblue_box_self_pair_count('t1')", "cache_memory = $setting", 0) for 1 .. 2;
		is($s->ask('SELECT coalesce(sum(bytes), 0) FROM redblue_cached()'), 0, 'nothing is kept');
	}
	$s->ask('ALTER SYSTEM RESET redblue.cache_memory; SELECT pg_reload_conf()');
	$t->ask("DROP TABLE t$_") for 1 .. 10;
	$_->quit for $s, $t;
};

# ---- privileges ----

rule rights => sub {
	my ($s, $t) = (session($node), session($node));
	$t->ask(boxes_table('f', 300) . ";\n" . boxes_table('h', 300) . ";\nALTER TABLE h ADD PRIMARY KEY (id); VACUUM f, h; CREATE ROLE reader; CREATE ROLE stranger; GRANT SELECT ON f, h TO reader; GRANT CREATE ON SCHEMA public TO reader");
	my $call = "SELECT redblue_box_self_pair_count((SELECT 'f'::regclass))";
	$s->ask('SET ROLE reader');
	warm($s, $call, 'a reader');
	$t->ask('REVOKE SELECT ON f FROM reader');
	like(answer($s, 'on', $call), qr/42501/, 'REVOKE');
	is($s->ask("SELECT count(*) FROM redblue_cached() WHERE relation = 'f'::regclass"), 0, 'and is not shown either');
	$t->ask('GRANT SELECT (id, lx, ly, hx, hy) ON f TO reader');
	same($s, $call, 'rights on columns', 0);
	$t->ask('REVOKE SELECT (id, lx, ly, hx, hy) ON f FROM reader; GRANT SELECT (id, lx, ly, hx) ON f TO reader');
	like(answer($s, 'on', $call), qr/42501/, 'on some columns');
	$t->ask('GRANT SELECT ON f TO reader');
	warm($s, $call, 'GRANT');
	my $all = answer($s, 'off', $call);
	$t->ask('CREATE POLICY some ON f USING (id < 100); ALTER TABLE f ENABLE ROW LEVEL SECURITY');
	same($s, $call, 'row-level security', 0);
	cmp_ok(answer($s, 'on', $call), '<', $all, 'which hides rows');
	$t->ask('ALTER TABLE f DISABLE ROW LEVEL SECURITY');
	is(answer($s, 'on', $call), $all, 'which is off again');
	# Sides cached by one role are not used by another one.
	warm($s, $call, 'kept for the reader');
	$s->ask('RESET ROLE; SET ROLE stranger');
	like(answer($s, 'on', $call), qr/42501/, 'a stranger in the same session');
	is($s->ask("SELECT count(*) FROM redblue_cached()"), 0, 'sees nothing of it');
	like($s->ask("SELECT * FROM redblue_cache('f', 'boxes')"), qr/42501/, 'may not keep it');
	like($s->ask("SELECT redblue_uncache('f')"), qr/42501/, 'nor have it forgotten');
	is($s->ask('SELECT redblue_uncache()'), 0, 'nor all');
	$s->ask('RESET ROLE; SET ROLE reader');
	same($s, $call, 'the reader still has it', 1);
	like($s->ask("SELECT redblue_uncache('f')"), qr/42501/, 'but is not its owner');
	$s->ask('RESET ROLE');
	same($s, $call, 'and so has the owner', 1);
	# A function with its owner's privileges
	$s->ask("CREATE FUNCTION theirs() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS \$\$ $call \$\$; REVOKE SELECT ON f FROM reader; SET ROLE reader");
	is(answer($s, 'on', 'SELECT theirs()'), $all, 'SECURITY DEFINER');
	like(answer($s, 'on', $call), qr/42501/, 'and not without');
	$s->ask('RESET ROLE');
	$t->ask('GRANT SELECT ON f TO reader; ALTER TABLE f OWNER TO reader');
	$s->ask('SET ROLE reader');
	same($s, $call, 'its owner', 1);
	cmp_ok($s->ask("SELECT redblue_uncache('f')"), '>', 0, 'may have it forgotten');
	# Rules and children
	warm($s, $call, 'before a child');
	$t->ask('CREATE TABLE child () INHERITS (f); ' . boxes('child', 1, 5));
	same($s, $call, 'a child', 0);
	$t->ask('DROP TABLE child');
	same($s, $call, 'no child');
	$s->ask('RESET ROLE');
	$t->ask('DROP TABLE f, h; DROP FUNCTION theirs(); REVOKE ALL ON SCHEMA public FROM reader; DROP ROLE reader; DROP ROLE stranger');
	$_->quit for $s, $t;
};

# ---- contexts of calls ----

rule contexts => sub {
	my ($s, $t) = (session($node), session($node));
	$t->ask(boxes_table('f', 300) . ";\nVACUUM f");
	warm($s, pairs_of('f'), 'contexts');
	my $plain = "SELECT redblue_box_self_pair_count('f')";
	my $want = answer($s, 'off', $plain);
	$s->ask('SET redblue.cache = on');
	# An error in between
	is($s->ask("DO \$\$ DECLARE n bigint; BEGIN FOR i IN 1 .. 20 LOOP BEGIN SELECT redblue_box_self_pair_count('f') INTO n; PERFORM 1 / (i % 2); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; IF n <> $want THEN RAISE 'n'; END IF; END \$\$"), '', 'exceptions');
	# Cached in a transaction that fails
	$s->ask('SELECT redblue_uncache(); BEGIN');
	$s->ask("$plain; SAVEPOINT p; SELECT redblue_uncache(); $plain; ROLLBACK TO p; $plain; ROLLBACK");
	same($s, $plain, 'after ROLLBACK');
	# A cursor that is open while another session changes the table
	$s->ask("BEGIN; SET redblue.cache = on; DECLARE c CURSOR FOR SELECT * FROM redblue_box_self_pairs('f'); FETCH 3 FROM c");
	$t->ask('DELETE FROM f WHERE id BETWEEN 200 AND 210');
	$s->ask('SELECT redblue_uncache()');
	my @rest = split /\n/, $s->ask('FETCH ALL FROM c');
	is(@rest + 3, $want, 'a cursor whose side was given up, over a table that was changed');
	$s->ask('COMMIT');
	same($s, $plain, 'and then');
	$want = answer($s, 'off', $plain);
	# WITH HOLD, not read
	$s->ask("BEGIN; SET redblue.cache = on; DECLARE h CURSOR WITH HOLD FOR SELECT * FROM redblue_box_self_pairs('f'); COMMIT");
	$t->ask('DELETE FROM f WHERE id BETWEEN 100 AND 110; VACUUM f');
	is(scalar(my @held = split /\n/, $s->ask('FETCH ALL FROM h; CLOSE h')), $want, 'WITH HOLD');
	# A cursor that reads after a change by the same transaction
	$s->ask("BEGIN; SET redblue.cache = on; DECLARE c CURSOR FOR SELECT count(*) FROM redblue_box_self_pairs('f'); UPDATE f SET lx = lx - 50 WHERE id = 60");
	my $old = $s->ask('FETCH c');
	my $new = $s->ask($plain);
	$s->ask('ROLLBACK');
	is($old, answer($s, 'off', $plain), 'a cursor does not see what came after it');
	isnt($new, $old, 'a statement does');
	# A nested loop, LATERAL, in the select list, a parallel plan
	for my $q ("SELECT sum(n) FROM generate_series(1, 5) i, LATERAL (SELECT count(*) AS n FROM redblue_box_self_pairs('f') WHERE id1 % i = 0) x",
		"SELECT count(*), count(r) FROM (SELECT redblue_box_self_pairs('f') AS r) x",
		"SELECT count(*) FROM f LEFT JOIN redblue_box_self_pairs('f') p ON p.id1 = f.id WHERE f.id < 50",
		"SELECT count(*) FROM redblue_box_pairs('f', 'f') a JOIN redblue_box_self_pairs('f') b ON a.red_id = b.id1",
		"SELECT array_agg(redblue_box_self_pair_count('f')) FROM generate_series(1, 10)",
		"WITH RECURSIVE r AS (SELECT 1::int8 AS id UNION SELECT p.id2 FROM r, redblue_box_self_pairs('f') p WHERE p.id1 = r.id AND p.id2 < 30) SELECT count(*) FROM r")
	{
		same($s, $q, "SELECT " . substr($q, 7, 60));
		same($s, "SET enable_hashjoin = off; SET enable_mergejoin = off;\n$q;\nRESET enable_hashjoin; RESET enable_mergejoin", 'nested loop');
		same($s, "SET " . ($major >= 16 ? 'debug_parallel_query' : 'force_parallel_mode') . " = on; SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_tuple_cost = 0;\n$q;\n"
			  . "RESET ALL; SET redblue.cache = on", 'parallel plan');
	}
	unlike($s->ask("EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM redblue_box_self_pairs('f')"), qr/ERROR/, 'EXPLAIN ANALYZE');
	# A trigger that runs a join while rows of the table change
	$s->ask("CREATE TABLE log (n bigint, m bigint); CREATE FUNCTION asked() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN "
		  . "PERFORM set_config('redblue.cache', 'on', false); INSERT INTO log SELECT redblue_box_self_pair_count('f'); "
		  . "PERFORM set_config('redblue.cache', 'off', false); UPDATE log SET m = redblue_box_self_pair_count('f') WHERE m IS NULL; RETURN NULL; END \$\$;"
		  . "CREATE TRIGGER each AFTER INSERT OR UPDATE OR DELETE ON f FOR EACH ROW EXECUTE FUNCTION asked()");
	$s->ask('UPDATE f SET lx = lx - 1 WHERE id < 20; DELETE FROM f WHERE id BETWEEN 21 AND 25; ' . boxes('f', 501, 505));
	is($s->ask('SELECT count(*) > 20, bool_and(n = m) FROM log'), 't|t', 'in a trigger');
	$s->ask('DROP TRIGGER each ON f; DROP TABLE log');
	# Prepared, with a generic plan
	$s->ask("SET plan_cache_mode = force_generic_plan; SET redblue.cache = on; VACUUM f; PREPARE q AS SELECT count(*) FROM redblue_box_self_pairs('f')");
	for my $change ('SELECT 1', 'DELETE FROM f WHERE id = 290', 'TRUNCATE f', boxes('f', 1, 300), 'VACUUM f', 'ALTER TABLE f RENAME lx TO was; ALTER TABLE f RENAME hx TO lx; ALTER TABLE f RENAME was TO hx')
	{
		$t->ask($change);
		same($s, 'EXECUTE q', "prepared: $change") for 1 .. 2;
	}
	$t->ask('ALTER TABLE f RENAME lx TO was; ALTER TABLE f RENAME hx TO lx; ALTER TABLE f RENAME was TO hx');
	# Duplicate ids are reported each time.
	$t->ask('INSERT INTO f SELECT * FROM f WHERE id < 10; VACUUM f');
	$s->ask('DEALLOCATE q');
	for my $round (1 .. 3)
	{
		my ($on, $off) = (answer($s, 'on', $plain), answer($s, 'off', $plain));
		is($on, $off, 'the same notice');
		like($on, qr/309 rows of boxes have 300 ids/, 'of ids that repeat');
	}
	# DISCARD ALL, and a new installation of the extension
	$s->ask("SET redblue.cache = on; $plain");
	$s->ask('DISCARD ALL');
	$s->ask('SET redblue.duplicate_notice = off');
	same($s, $plain, 'after DISCARD ALL');
	$s->ask('SET redblue.cache = on');
	$s->ask($plain) for 1 .. 2;
	$t->ask('DROP EXTENSION redblue CASCADE; CREATE EXTENSION redblue');
	same($s, $plain, 'the extension is created again');
	$t->ask('DROP TABLE f');
	$_->quit for $s, $t;
};

# ---- interruptions ----

rule cancel => sub {
	my ($s, $t) = (session($node), session($node));
	$t->ask("CREATE TABLE f AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 1.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 300000) i; VACUUM f");
	my $q = "SELECT redblue_box_self_pair_count('f')";
	my $want = answer($s, 'off', $q);
	my %end = (cancelled => 0, done => 0);
	my ($wrong, $rss) = (0, 0);
	for my $k (1 .. 60)
	{
		$s->ask('SELECT redblue_uncache()') if $k % 3 == 0;
		$t->ask("UPDATE f SET lx = lx WHERE id % 20000 = $k") if $k % 5 == 0;
		$t->ask('VACUUM f') if $k % 10 == 0;
		my $said = $s->ask("SET redblue.cache = on;\n" . under_timeout(1 + $k % 20 * 4, $q));
		if ($said =~ /57014/) { $end{cancelled}++ }
		elsif ($said eq $want) { $end{done}++ }
		else { $wrong++; diag($said); }
		$rss = held_kb($s) if $k == 30;
	}
	is($wrong, 0, "statement_timeout: $end{cancelled} were cancelled, $end{done} were not");
	cmp_ok($end{cancelled}, '>', 0, 'some were');
	cmp_ok(held_kb($s) - $rss, '<', 32768, 'nothing stays behind');
	is(answer($s, 'on', $q), $want, 'the next call works') for 1 .. 2;
	# Refused by the join's memory limit
	for my $limit ('1MB', '8MB', '12MB', '16MB', '32MB')
	{
		my ($on, $off) = map { clean(scalar $s->ask("SET redblue.cache = $_; SET redblue.memory_limit = '$limit';\n$q;\nRESET redblue.memory_limit")) } 'on', 'off';
		# The required amount is an estimate.
		s/needs about \d+ kB//, s/^CONTEXT.*\n//m for $on, $off;
		is($on, $off, "redblue.memory_limit = $limit");
	}
	$t->ask('DROP TABLE f');
	$_->quit for $s, $t;
};

# The system refuses memory and threads: the result is correct, or there is an error, and nothing is lost.
rule refused => sub {
  SKIP:
	{
		skip 'there is no library to preload (REFUSE_SO)', 3 unless -r ($ENV{REFUSE_SO} // '');
		my $poor = server('poor');
		$poor->safe_psql('postgres', boxes_table('f', 3000) . ";\n" . boxes_table('g', 2000) . ";\nVACUUM f, g");
		my %count = (right => 0, refused => 0, kept => 0, wrong => 0);
		for my $one_in (10, 30, 200)
		{
			$poor->stop;
			{
				local $ENV{REFUSE} = $one_in;
				local $ENV{LD_PRELOAD} = $ENV{REFUSE_SO};
				$poor->start;
			}
			my $s = session($poor);
			$s->ask('SET redblue.threads = 2');
			# Random refusals: the last server, with the fewest, continues until enough has been cached.
			for my $n (1 .. 600)
			{
				last if $n > 60 && ($one_in < 200 || $count{kept} > 20);
				my $q = $n % 2 ? "SELECT redblue_box_self_pair_count('f')" : "SELECT md5(array_agg(p)::text) FROM redblue_box_pairs('f', 'g') p";
				$s->ask('SELECT redblue_uncache()') if $n % 10 == 0;
				$s->ask("UPDATE f SET pad = pad WHERE id = 10 * $n; DELETE FROM f WHERE id = -1") if $n % 4 == 0;
				$s->ask('VACUUM f') if $n % 20 == 0;
				# Runs without the cache until there is a result.
				my $off = '';
				for (1 .. 200) { $off = answer($s, 'off', $q); last if $off !~ /ERROR/; }
				next if $off =~ /ERROR/;
				my $on = answer($s, 'on', $q);
				if ($on =~ /ERROR:  (53|54)/) { $count{refused}++ }
				elsif ($on eq $off) { $count{right}++; my ($rows) = used($s); $count{kept}++ if $rows > 0; }
				else { $count{wrong}++; diag("$on, not $off"); }
			}
			my $bytes = $s->ask('SELECT coalesce(sum(bytes), 0) FROM redblue_cached()');
			cmp_ok($s->ask('SELECT redblue_uncache()'), '>=', $bytes, 'what is kept can be given up');
			is($s->ask('SELECT redblue_uncache()'), 0, 'all of it');
			$s->quit;
		}
		is($count{wrong}, 0, "$count{right} right answers, $count{kept} of them with what was kept; $count{refused} errors");
		cmp_ok($count{refused}, '>', 10, 'calls were refused');
		cmp_ok($count{kept}, '>', 20, 'and sides were kept');
	}
};

for (@cases)
{
	my ($name, $code) = @$_;
	next if %only && !$only{$name};
	my $start = time;
	subtest $name => sub {
		eval { $code->(); 1 } or fail("$name: $@");
		$node->psql('postgres', 'DROP TABLE IF EXISTS f, g, h, k, u CASCADE');
		cmp_ok(time - $start, '<', 600, 'in time');
	};
	note(sprintf '%s: %.1f s', $name, time - $start);
}
for (@nodes)
{
	eval { $_->stop('fast') };
	unlike(slurp_file($_->logfile), qr/terminated by signal|PANIC|TRAP/, 'a clean log of ' . $_->name);
}
done_testing();
