# Tests sides that the worker has cached for all sessions: one session has them cached, others use them, and whatever
# happens to the worker, the cache or a session, the result is that of the table.
# run: long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# The limit is 200 ms; a loaded machine gets more time.
my $node = new_server('worker_cache', <<'CONF');
max_worker_processes = 8
restart_after_crash = on
autovacuum = off
synchronous_commit = on
fsync = off
redblue.backend = cpu
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE big AS SELECT i AS id, (i * 7919 % 100000)::float8 AS lx, 0::float8 AS ly, (i * 7919 % 100000)::float8 + 1.5 AS hx, 1::float8 AS hy FROM generate_series(1, 130000::int8) i;
CREATE TABLE few AS SELECT i AS id, i * 10::float8 AS lx, 0::float8 AS ly, i * 10 + 1::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 500::int8) i;
-- ids that do not count up, and repeat
CREATE TABLE ids AS SELECT id * 7919 % 3000 AS id, lx, ly, hx, hy FROM big WHERE id <= 20000;
CREATE TABLE mesh AS SELECT i AS id, x AS ax, y AS ay, 0::float8 AS az, x + 2 AS bx, y AS by, 1::float8 AS bz, x AS cx, y + 2 AS cy, 0.5::float8 AS cz
FROM (SELECT i, (i % 100)::float8 AS x, (i / 100)::float8 AS y FROM generate_series(1, 4000::int8) i) s;
CREATE TABLE parts AS SELECT id % 500 AS id, lx, ly, hx, hy FROM big WHERE id <= 5000;
-- more pairs than a small memory limit holds
CREATE TABLE crowd AS SELECT i AS id, CASE WHEN i < 100 THEN i / 2 ELSE i END AS object, 0::float8 AS lx, 0::float8 AS ly, 1::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 2000::int8) i;
CREATE ROLE reader LOGIN;
GRANT SELECT ON few TO reader;
SQL

my $watch = session($node);
# Rows that are not flushed yet, or that an old snapshot may see, are not all-visible.
sub vacuum
{
	my $tables = join ', ', @_;
	my $names = join ', ', map { "'$_'" } @_;
	ok(comes_true(sub
	{
		$node->safe_psql('postgres', $_) for 'CHECKPOINT', "VACUUM (INDEX_CLEANUP ON) $tables";
		return $watch->ask("SELECT count(*) FROM pg_class WHERE relname IN ($names) AND relallvisible < relpages") eq '0';
	}), "all pages are all-visible: $tables");
	return;
}
sub worker { return scalar $watch->ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'redblue worker'") }
sub fresh { my $s = session($node); $s->ask('SET redblue.duplicate_notice = off'); return $s }
sub kept { return $watch->ask('SELECT string_agg(DISTINCT relation::text, \' \' ORDER BY relation::text) FROM redblue_cached() WHERE reason IS NULL') }
sub used { my ($s) = @_; my $d = $s->ask("SELECT detail FROM redblue_last_run() WHERE stage = 'read'"); return join ' ', map { s/ cached//r } $d =~ /\w+: cached \d+ rows?, read \d+ of \d+ pages?/g }
vacuum(qw(big few ids mesh parts crowd));

my %ask = (
	count => "SELECT redblue_box_pair_count('big', 'few')",
	pairs => 'SELECT count(*), sum(hashint8extended(red_id, blue_id)) FROM redblue_box_pairs(\'big\', \'few\')',
	counted => "SELECT count(*) FROM redblue_box_pairs('big', 'few')",
	self => "SELECT count(*), sum(hashint8extended(id1, id2)) FROM redblue_box_self_pairs('big')",
	counts => "SELECT count(*), sum(id * pairs) FROM " . counts_of("redblue_box_pairs('ids', 'big')", 'red_id') . ' x',
	hits => "SELECT count(*), sum(red_id) FROM (SELECT DISTINCT red_id FROM redblue_box_pairs('ids', 'few')) h",
	grouped => "SELECT count(*), sum(hashtext(id || ids::text)) FROM " . groups_of("redblue_box_pairs('ids', 'few')", 'red_id', 'blue_id') . ' x',
	'groups of many' => "SELECT count(*), sum(hashtext(id || ids::text)) FROM " . groups_of("redblue_box_pairs('few', 'ids')", 'red_id', 'blue_id') . ' x',
	blocks => "SELECT sum(n), sum(length(red)), sum(length(blue)) FROM redblue_box_pair_blocks('big', 'few')",
	'groups in slices' => "SET redblue.memory_limit = '32MB'; SELECT count(*), sum(cardinality(ids)) FROM " . groups_of("redblue_box_pairs('crowd', 'crowd')", 'red_id', 'blue_id') . ' x; RESET redblue.memory_limit',
	'groups of blue in slices' => "SET redblue.memory_limit = '32MB'; SELECT count(*), sum(cardinality(ids)) FROM " . groups_of("redblue_box_pairs('crowd', 'crowd')", 'blue_id', 'red_id') . ' x; RESET redblue.memory_limit',
	'groups of one id' => "SET redblue.memory_limit = '32MB'; SELECT count(*), sum(cardinality(ids)) FROM " . groups_of("redblue_box_pairs('crowd', 'crowd', red_id => 'object')", 'red_id', 'blue_id') . ' x; RESET redblue.memory_limit',
	'groups of objects in slices' => "SET redblue.memory_limit = '32MB'; SELECT count(*), sum(cardinality(ids)) FROM " . groups_of("redblue_box_pairs('crowd', 'crowd', red_object => 'object')", 'red_id', 'blue_id') . ' x; RESET redblue.memory_limit',
	objects => "SELECT count(*), sum(hashint8extended(red_id, blue_id)) FROM redblue_box_pairs('parts', 'big', red_object => 'id')",
	triangles => "SELECT count(*), sum(hashint8extended(id1, id2)) FROM redblue_triangle_self_pairs('mesh')",
	'by red' => "SELECT count(*), sum(red_id * n) FROM (SELECT red_id, count(*) AS n FROM redblue_box_pairs('ids', 'few') GROUP BY 1) s",
	'a query beside it' => "SELECT redblue_box_pair_count_query('TABLE few', 'SELECT * FROM big WHERE id % 2 = 0')",
	'a limit' => "SELECT count(*) FROM (SELECT * FROM redblue_box_self_pairs('big') LIMIT 100) s",
);
my $s = fresh();
$s->ask('SET redblue.cache = off');
my %answer = map { $_ => scalar $s->ask($ask{$_}) } sort keys %ask;
is(join(', ', grep { $answer{$_} =~ /ERROR/ } sort keys %ask), '', 'all has an answer');
is(worker(), '', 'no process is started while nothing is kept');

# ---- shared by all sessions ----

$s->ask('SET redblue.cache = on');
sub all_agree
{
	my ($name, @sessions) = @_;
	for my $s (@sessions)
	{
		is(join(', ', map { "$_: " . $s->ask($ask{$_}) . " for $answer{$_}" } grep { $s->ask($ask{$_}) ne $answer{$_} } sort keys %ask), '', $name);
	}
	return;
}
all_agree('kept by one', $s);
my $pid = worker();
like($pid, qr/^\d+$/, 'one process keeps them');
is(kept(), 'big crowd few ids mesh parts', 'all of them');
my $t = fresh();
is($t->ask($ask{count}), $answer{count}, 'another session has the same answer');
like(used($t), qr/130000 rows, read 0 .* 500 rows, read 0/, 'and reads nothing: ' . used($t));
all_agree('kept for another', $t);
is(worker(), $pid, 'by the same process');
$t->quit;

# A side that is read twice is cached, whichever session read it first.
$watch->ask('SELECT redblue_uncache()');
is(kept(), '', 'nothing is kept');
for my $round (1 .. 3)
{
	my $n = fresh();
	$n->ask('SET redblue.cache = auto');
	is($n->ask($ask{count}), $answer{count}, "auto, session $round");
	is(kept(), $round == 1 ? '' : 'big', $round == 1 ? 'read once' : 'read twice: kept');
	like(used($n), $round < 3 ? qr/^$/ : qr/130000 rows, read 0/, 'and used from then on');
	$n->quit;
}

# ---- a page that has changed ----

$s->ask($_) for values %ask;
my ($u, $v) = (fresh(), fresh());
$_->ask('SET redblue.cache = on') for $u, $v;
$u->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$s->ask('UPDATE big SET lx = lx + 0.25 WHERE id = 77; DELETE FROM ids WHERE ctid = (SELECT min(ctid) FROM ids WHERE id = 5)');
is($u->ask($ask{pairs}), $answer{pairs}, 'an older snapshot sees what was');
is($u->ask($ask{counts}), $answer{counts}, 'counts too');
like(used($u), qr/rows, read [1-9]/, 'with the pages that have changed read: ' . used($u));
$u->ask('COMMIT');
$v->ask('SET redblue.cache = off');
my %now = map { $_ => scalar $v->ask($ask{$_}) } sort keys %ask;
isnt($now{counts}, $answer{counts}, 'the answer is another one now');
%answer = %now;
all_agree('pages that have changed', $s, $u);
vacuum('big', 'ids');
all_agree('and were cleaned', $s, $u);
$v->ask("SET redblue.cache = auto; SELECT redblue_cache('big', 'boxes')");
all_agree('and are kept again', $s, $u, $v);
like(used($s), qr/rows/, 'used');
$_->quit for $u, $v;

# Pages that one session has checked need not be checked by the next one.
sub looked_at
{
	my ($s) = @_;
	my $plan = $s->ask("EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, SUMMARY off) SELECT redblue_box_self_pair_count('big')");
	return $plan =~ /shared hit=(\d+)/ ? $1 : 0;
}
$node->safe_psql('postgres', 'UPDATE big SET lx = lx WHERE id = 78');
vacuum('big');
my ($first, $second) = (fresh(), fresh());
$_->ask('SELECT redblue_box_self_pair_count(\'few\')') for $first, $second;
cmp_ok(looked_at($first), '>', 900, 'the first one looks at all pages');
cmp_ok(looked_at($second), '<', 300, 'the second one at few');
is($second->ask($ask{self}), $answer{self}, 'and has the same answer');
$_->quit for $first, $second;

# ---- evicted before it is used ----

# The blue side is a query that takes some time after the red side was found.
$s->ask("CREATE FUNCTION wait_a_moment() RETURNS bool LANGUAGE sql VOLATILE AS 'SELECT pg_sleep(1) IS NOT NULL'");
$s->ask("CREATE VIEW slow AS SELECT * FROM few WHERE (SELECT wait_a_moment())");
my $slow_pairs = "SELECT count(*), sum(hashint8extended(red_id, blue_id)) FROM redblue_box_pairs('big', 'slow')";
my $slow_counts = "SELECT count(*), sum(id * pairs) FROM " . counts_of("redblue_box_pairs('ids', 'slow')", 'red_id') . ' x';
for my $how ('given up', 'kept by a worker that ends')
{
	for my $what ($slow_pairs, $slow_counts)
	{
		$s->ask('SET redblue.cache = off');
		my $right = $s->ask($what);
		$s->ask('SET redblue.cache = on');
		$s->ask($_) for $ask{self}, $ask{counts}, $ask{counts};
		$s->send($what);
		sleep 0.4;
		if ($how eq 'given up') { $watch->ask('SELECT redblue_uncache()') }
		else { $watch->ask("SELECT pg_terminate_backend($1)") if worker() =~ /(\d+)/ }
		is($s->wait_for, $right, "$how while the other side is read");
	}
}
ok(comes_true(sub { worker() eq '' || kept() eq '' }), 'nothing is left of it');

# The side is evicted between two slices of a result, and the table may have changed by then.
my $slices = "SELECT id, cardinality(ids) FROM " . groups_of("redblue_box_pairs('crowd', 'crowd2')", 'red_id', 'blue_id') . ' x';
$s->ask('CREATE TABLE crowd2 AS SELECT 10000 + 3 * id AS id, lx, ly, hx, hy FROM crowd');
vacuum('crowd2');
my $evicted = 0;
for my $then ('nothing', 'TRUNCATE crowd2', 'CREATE INDEX c2 ON crowd2 (lx, (-id)); CLUSTER crowd2 USING c2', 'DROP TABLE crowd2')
{
	$s->ask("SET redblue.cache = on; SET redblue.memory_limit = '32MB'");
	$s->ask("SELECT redblue_box_pair_count('crowd', 'crowd2')") for 1 .. 3;
	$s->ask("BEGIN; DECLARE c CURSOR FOR $slices; FETCH 1 FROM c");
	$s->ask($then) if $then ne 'nothing';
	$watch->ask('SELECT redblue_uncache()');
	my @rows = split /\n/, $s->ask('FETCH ALL FROM c');
	# Without the scan, the function has all rows before the first one is returned.
	my $right = grep { /^\d+\|2000$/ } @rows;
	my $told = $then ne 'nothing' && join("\n", @rows) =~ /57000.*(?:has exited|was evicted)/;
	$evicted++ if join("\n", @rows) =~ /ERROR:  57000: redblue_\w+: the cached copy of a table was evicted during the join\n.*rows cannot be read again/s;
	ok(($right == 1999 && @rows == 1999) || $told, "given up between two slices, and $then: $right rows" . ($told ? ' and an error' : ''))
	  or diag(join "\n", @rows[ 0 .. 3 ], @rows[ -3 .. -1 ]);
	$s->ask('ROLLBACK; RESET redblue.memory_limit');
}
is($evicted, $ENV{REDBLUE_CUSTOM_SCAN} eq 'off' ? 0 : 3, 'the rows cannot be read again: an error that says so');
$s->ask('DROP TABLE crowd2');

# A session that is terminated while it sends leaves nothing behind.
$s->ask("CREATE TABLE heavy AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 0.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 1000000::int8) i");
vacuum('heavy');
$s->ask($ask{count}) for 1 .. 2;
for my $what ("SELECT * FROM redblue_cache('heavy', 'boxes')", "SET redblue.cache = on; SET redblue.threads = 4; SELECT redblue_box_pair_count('heavy', 'few')")
{
	my ($pid, $n) = (worker(), fresh());
	$n->send($what);
	my $seen = comes_true(sub { $watch->ask("SELECT query FROM pg_stat_activity WHERE pid = $pid") =~ /for process $n->{pid}\b/ }, 20);
	kill 'STOP', $pid;
	$watch->ask("SELECT pg_terminate_backend($n->{pid})");
	my $gone = 0;
	for (1 .. 20)
	{
		$gone = comes_true(sub { $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE pid = $n->{pid}") eq '0' }, 2);
		last if $gone;
		# A lock of the server that the process may hold at this moment is not tested here: continue a little.
		kill 'CONT', $pid;
		sleep 0.001;
		kill 'STOP', $pid;
	}
	ok($gone, 'it is gone while the worker is stopped');
	kill 'CONT', $pid;
	ok(comes_true(sub { $watch->ask("SELECT state FROM pg_stat_activity WHERE pid = $pid") eq 'idle' }), 'and the worker goes on without it');
	is(worker(), $pid, 'the same one');
	is($s->ask($ask{count}), $answer{count}, 'and works');
}
$s->ask('DROP TABLE heavy');

# Rows that have all changed may have another kind and number of dimensions.
SKIP:
{
	skip 'no PostGIS here', 1 unless have_postgis($node);
	$s->ask(<<'SQL');
CREATE TABLE g (id int8, geom geometry, pad text);
ALTER TABLE g ALTER pad SET STORAGE plain;
INSERT INTO g SELECT i, NULL, repeat('x', 600) FROM generate_series(1, 400) i;
INSERT INTO g SELECT 1000 + i, ST_MakeEnvelope(i * 10, 0, i * 10 + 1, 1, 4326), repeat('x', 600) FROM generate_series(1, 5) i;
CREATE TABLE h2 AS SELECT i AS id, ST_MakeEnvelope(i * 10, 0, i * 10 + 1, 1, 4326) AS geom FROM generate_series(1, 9) i;
CREATE TABLE h3 AS SELECT i AS id, ST_SetSRID(ST_MakeLine(ST_MakePoint(i * 10, 0, 0), ST_MakePoint(i * 10 + 12, 1, 1)), 4326) AS geom FROM generate_series(1, 9) i;
CREATE TABLE hs AS SELECT id, ST_SetSRID(geom, 3857) AS geom FROM h2
SQL
	my $same = sub {
		my ($name) = @_;
		for my $with ('h2', 'h3', 'hs', 'g')
		{
			my %said;
			for my $cache ('off', 'on', 'on')
			{
				$said{$cache} = $s->ask("SET redblue.cache = $cache; SELECT count(*), sum(red_id * 1000 + blue_id) FROM redblue_box_pairs('g', '$with')");
				$said{$cache} =~ s/\n(?:LOCATION|CONTEXT).*//s;
				$said{$cache} =~ s/^psql:\S+ //mg;
			}
			is($said{on}, $said{off}, "$name: with $with");
		}
	};
	for my $change ('SELECT 1', (map { "UPDATE g SET geom = $_ WHERE geom IS NOT NULL" } 'ST_SetSRID(geom, 3857)',
		'(SELECT h3.geom FROM h3 WHERE h3.id = g.id - 1000)', '(SELECT h2.geom FROM h2 WHERE h2.id = g.id - 1000)'), 'DELETE FROM g WHERE geom IS NOT NULL')
	{
		$s->ask($change);
		$same->($change);
		vacuum('g');
		$same->("$change, and cleaned");
	}
	$s->ask('DROP TABLE g, h2, h3, hs; SET redblue.cache = on');
}

# ---- a worker that dies, is stopped, or cannot start ----

for my $signal ('TERM', 'a stop')
{
	$s->ask($_) for $ask{count}, $ask{count};
	is(kept() =~ /big/ ? 1 : 0, 1, 'kept');
	my $n = fresh();
	my $worker = worker();
	if ($signal eq 'TERM')
	{
		$watch->ask("SELECT pg_terminate_backend($worker)");
		ok(comes_true(sub { worker() ne $worker }), 'it ended');
		is(kept(), '', 'and what it kept went with it');
	}
	else { kill 'STOP', $worker }
	my $start = time;
	is($s->ask($ask{count}), $answer{count}, "$signal: the session with its card");
	is($n->ask($ask{count}), $answer{count}, "$signal: a session without one");
	cmp_ok(time - $start, '<', 2 * $stop_seconds, 'and neither waits for long');
	if ($signal eq 'a stop')
	{
		$n->send($ask{count});
		sleep 0.2;
		$start = time;
		$watch->ask("SELECT pg_cancel_backend(" . $n->{pid} . ")");
		my $told = $n->wait_for;
		cmp_ok(time - $start, '<', $stop_seconds, 'cancelled while the worker is stopped: ' . $told);
		kill 'CONT', $worker;
	}
	is($n->ask($ask{pairs}), $answer{pairs}, 'then all is as before');
	$n->quit;
}

# After a kill, the server restarts with an empty cache.
$s->ask($_) for $ask{count}, $ask{count};
kill_and_restart($node, worker());
pass('the server is up again');
$watch = session($node);
$s = fresh();
$s->ask('SET redblue.cache = on');
is(kept(), '', 'with nothing kept');
all_agree('and keeps again', $s);

# ---- ownership ----

my $r = fresh();
$r->ask('SET SESSION AUTHORIZATION reader');
is($r->ask('SELECT string_agg(relation::text, \' \') FROM redblue_cached() WHERE reason IS NULL'), 'few', 'who may read one table hears of that one');
like($r->ask($ask{count}), qr/permission denied for table big/, 'and may not have the others joined');
is($r->ask("SELECT redblue_box_self_pair_count('few')"), $s->ask("SELECT redblue_box_self_pair_count('few')"), 'what it may read it may use');
like(used($r), qr/500 rows, read 0/, 'as it is kept');
like($r->ask("SELECT redblue_uncache('few')"), qr/must be owner of table few/, 'but not give up');
is($r->ask('SELECT redblue_uncache()'), 0, 'nor all');
$s->ask('REVOKE SELECT ON few FROM reader');
like($r->ask("SELECT redblue_box_self_pair_count('few')"), qr/permission denied for table few/, 'a right that is taken away is gone at once');
$r->quit;

# ---- a session that is terminated while it waits for the worker ----

# Its first request precedes its first join, which nevertheless ends after the request that it waits for.
my $log = -s $node->logfile;
for my $delay (0.002, 0.01, 0.05)
{
	my $doomed = fresh();
	$doomed->ask("SET redblue.cache = on; SELECT redblue_uncache('big'); $ask{counts}");
	$doomed->send("SELECT redblue_cache('big', 'boxes'); $ask{counts}");
	sleep $delay;
	my $stopped = worker();
	kill 'STOP', $stopped;
	is($watch->ask("SELECT pg_terminate_backend($doomed->{pid}, 60000)"), 't', "terminated after $delay s");
	kill 'CONT', $stopped;
}
all_agree('a terminated session disturbs no other one', $s);
unlike(slurp_file($node->logfile, $log), qr/terminated by signal|PANIC|TRAP/, 'no process died');

# ---- settings ----

$node->append_conf('postgresql.conf', "redblue.cache_memory = 3MB\n");
$node->reload;
ok(comes_true(sub { $watch->ask('SELECT coalesce(sum(bytes), 0) <= 3 * 1024 * 1024 FROM redblue_cached()') eq 't' }), 'a smaller budget takes effect');
all_agree('within it', $s);
is($watch->ask('SELECT coalesce(sum(bytes), 0) <= 3 * 1024 * 1024 FROM redblue_cached()'), 't', 'which holds');
like($s->ask("SELECT reason FROM redblue_cached() WHERE relation = 'big'::regclass"), qr/it needs \d+ MB, but redblue.cache_memory is 3 MB/, 'what is too large is told of');
$node->append_conf('postgresql.conf', "redblue.cache_memory = 0\n");
$node->reload;
ok(comes_true(sub { kept() eq '' }), 'none at all');
all_agree('without it', $s);
$node->append_conf('postgresql.conf', "redblue.cache_memory = 1GB\nredblue.worker_idle = 1s\n");
$node->reload;
all_agree('with it', $s);
ok(comes_true(sub { worker() eq '' }), 'it ends when nothing is asked of it');
is(kept(), '', 'and nothing is kept then');
all_agree('another starts', $s);

# No slot for a process
$node->append_conf('postgresql.conf', "max_worker_processes = 0\nredblue.worker_idle = 10min\n");
$_->quit for $s, $watch;
$node->restart;
$watch = session($node);
$s = fresh();
$s->ask('SET redblue.cache = on');
all_agree('without a place for the process', $s);
like($s->ask("SELECT * FROM redblue_cache('big', 'boxes')"), qr/^130000\|0\|\d+\|0\n.*NOTICE.*big was not cached\nDETAIL:.*no background worker is available: all 0 of max_worker_processes are in use/s, 'redblue_cache() says why');
like($s->ask("SELECT DISTINCT reason FROM redblue_cached() WHERE relation = 'big'::regclass"), qr/no background worker/, 'and so does redblue_cached()');

$_->quit for $s, $watch;
$node->stop;
done_testing();
