# Tests doc/servers.md unchanged, with four servers and a coordinator: one join on all of them at once, with the result
# of one server. Then tests what the page says about changing rows, several sessions, unavailable servers, cancellation,
# privileges, and other kinds of rows.
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use Pages;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

my $page = "$FindBin::Bin/../doc/servers.md";
my $hosts = PostgreSQL::Test::Utils::tempdir_short();

# Creates a server with a database gis. Hosts of the page are folders here, each with a link to the socket of its
# server.
sub node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', "autovacuum = off\nfull_page_writes = off\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE gis');
	mkdir "$hosts/$name" or die;
	symlink $node->host . '/.s.PGSQL.' . $node->port, "$hosts/$name/.s.PGSQL.5432" or die;
	return $node;
}

my $coordinator = node('coordinator');
plan skip_all => 'no postgres_fdw here' unless $coordinator->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
my @servers = map { node("server$_") } 1 .. 4;
my $version = $coordinator->safe_psql('postgres', 'SHOW server_version_num') / 10000;
$ENV{PGHOST} = "$hosts/coordinator";
$ENV{PGPORT} = 5432;
$ENV{PGDATABASE} = 'gis';

# Replaces the servers of the page with those of this test.
sub placed
{
	my ($body) = @_;
	$body =~ s/host 'server%s'/host '$hosts\/server%s', port '5432'/g;
	$body =~ s/-h \$server\b/-h $hosts\/\$server/g;
	return $body;
}
sub tidy { my $text = shift; $text =~ s/[ \t]+$//mg; $text =~ s/\s+\z//; return $text }
sub ask { return $coordinator->safe_psql('gis', $_[0]) }
sub on_servers { $_->safe_psql('gis', $_[0]) for @servers; return }
sub sum_of { return ask(checksum_of($_[0])) }
my $pairs = '(SELECT ore_id AS red_id, tunnel_id AS blue_id FROM pair) p';
my $here = "redblue_triangle_pairs('ore', 'tunnel')";

# ---- the page ----

# The blocks under each heading, and the output of the last block
my (%block, %count, $ran);
my $n = 0;
for (page_blocks($page))
{
	my ($heading, $kind, $body) = @$_;
	$n++ if $kind ne 'text';
	my $name = "$heading, example $n";
	if ($kind eq 'text')
	{
	  SKIP:
		{
			skip "$name: plans are those of PostgreSQL 15, here is $version", 1 if $body =~ /QUERY PLAN/ && int $version != 15;
			is(tidy($ran), tidy($body), "$name prints what the page says");
		}
		next;
	}
	# The page says: "once more, FROM next_tile".
	if ($body =~ /^INSERT INTO tile TABLE next_tile/m)
	{
		my ($status, undef, $err) = run_block('sh', placed($block{'On each server, 1'} =~ s/FROM tile/FROM next_tile/r));
		is("$status $err", '0 ', 'new tiles: the servers have tables');
	}
	$block{"$heading, " . ++$count{$heading}} = $body;
	(my $status, $ran, my $err) = run_block($kind, placed($body));
	is($status, 0, "$name runs") or diag($err);
	is($err, '', "$name without a warning");
}
# ---- one result, from all servers at once ----

# Compares number and checksum on the coordinator with those on all servers, and checks that each row is in its
# partition.
sub same
{
	my ($what) = @_;
	is(sum_of($pairs), sum_of($here), "$what: the pairs of one server");
	is(ask('SELECT count(*) FROM astray'), 0, "$what: all rows where they belong");
	return;
}
run_block('sh', placed($block{'Rows go to servers, 3'}));
same('the page');
is(ask("SELECT count(*) FROM (SELECT ore_id, tunnel_id FROM pair EXCEPT ALL SELECT * FROM $here) a"), 0, 'each pair once');
cmp_ok(ask('SELECT min(pairs) FROM pair_count'), '>', 0, 'all tiles have some');
my @tiles = split /\n/, ask('SELECT tile FROM tile ORDER BY tile');

# The shapes of plans, which are not on the page because they depend on the version
sub plan_has
{
	my ($query, $what, @patterns) = @_;
	my $plan = ask("EXPLAIN (VERBOSE, COSTS OFF) $query");
	is(scalar(grep { 4 == (() = $plan =~ /$_/g) } @patterns), scalar(@patterns), "$what, on four servers") or diag($plan);
	return;
}
plan_has('SELECT * FROM pair', 'pairs', 'Async Foreign Scan');
plan_has('SELECT sum(pairs) FROM pair_count', 'a count', 'Async Foreign Scan', 'Remote SQL: SELECT [^\n]*count\(\*\)[^\n]* FROM public.pair_\d GROUP BY');
plan_has('SELECT ore_id, sum(n) FROM (SELECT ore_id, count(*) AS n FROM pair GROUP BY tile, ore_id) a GROUP BY ore_id', 'groups', 'Async Foreign Scan', 'Relations: Aggregate on');
plan_has('SELECT * FROM by_kind', 'joins', 'Async Foreign Scan', 'Relations: Aggregate on .* INNER JOIN');
plan_has('SELECT * FROM pair WHERE ore_id = 7', 'WHERE', 'Remote SQL: .* WHERE \(\(ore_id = 7\)\)');
plan_has("SELECT id FROM ore_part WHERE redblue_meets_tile(ARRAY[ax, ay, az], ARRAY[ax, ay, az], '{1,1,1}', NULL)", 'immutable functions', 'Remote SQL: .* WHERE .*redblue_meets_tile');
is(ask('SELECT sum(n) FROM by_kind'), ask('SELECT count(*) FROM pair'), 'a join has a row for each pair');
is(ask('SELECT ore_id, sum(n) FROM (SELECT ore_id, count(*) AS n FROM pair GROUP BY tile, ore_id) a GROUP BY ore_id ORDER BY ore_id'),
	ask("SELECT red_id, count(*) FROM $here GROUP BY red_id ORDER BY red_id"), 'GROUP BY as on one server');

# The servers work concurrently: each joins rows one of which is slow to read.
for my $i (0 .. 3)
{
	my $t = $tiles[$i];
	$servers[$i]->safe_psql('gis', <<"SQL");
CREATE FUNCTION slow(float8) RETURNS float8 LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(current_setting(''slow.s'', true)::float8); RETURN \$1; END';
ALTER DATABASE gis SET slow.s = 0.5;
CREATE VIEW slow_ore AS SELECT id, CASE WHEN id = (SELECT min(id) FROM ore_$t) THEN slow(ax) ELSE ax END AS ax, ay, az, bx, by, bz, cx, cy, cz FROM ore_$t;
CREATE VIEW slow_pair_$t AS SELECT $t AS tile, clock_timestamp() AS began, (SELECT count(*) FROM redblue_triangle_pairs('slow_ore', 'tunnel_$t')) AS pairs, clock_timestamp() AS ended;
SQL
}
ask('CREATE TABLE slow_pair (tile int, began timestamptz, pairs bigint, ended timestamptz) PARTITION BY LIST (tile)');
ask("CREATE FOREIGN TABLE slow_pair_$tiles[$_] PARTITION OF slow_pair FOR VALUES IN ($tiles[$_]) SERVER server@{[$_ + 1]}") for 0 .. 3;
is(ask('SELECT count(*), sum(pairs) > 0, max(began) < min(ended) FROM slow_pair'), '4|t|t', 'all began before any was ready');

# ---- rows that change ----

# The point where all four tiles meet: bounds of two of them, along two axes
my ($x, $y) = split /\|/, ask(<<'SQL');
SELECT max(x), max(y) FROM (SELECT nullif(unnest(ARRAY[tile_low[1], tile_high[1]]), 'infinity') AS x, nullif(unnest(ARRAY[tile_low[2], tile_high[2]]), 'infinity') AS y FROM tile) a WHERE x > '-infinity' AND y > '-infinity'
SQL
sub tiles_of_row { return ask("SELECT string_agg(tile::text, ' ' ORDER BY tile) FROM $_[0]_part WHERE id = $_[1]") }
my $all = "@tiles";
ask("INSERT INTO ore VALUES (90001, 'rich', $x - 30, $y - 30, 0, $x + 30, $y + 30, 0, $x - 30, $y + 30, 5)");
is(tiles_of_row('ore', 90001), $all, 'a row over the corner of four tiles is on all servers');
same('INSERT');
ask("INSERT INTO tunnel VALUES (90001, 'road', 1e6, 1e6, 0, 1e6, 1e6 + 1, 0, 1e6, 1e6, 1), (90002, 'road', -1e300, 0, 0, -1e300, 1, 0, -1e300, 0, 1)");
is(ask('SELECT count(*) FROM tunnel_part WHERE id > 90000'), 2, 'tiles without an end take what is far away');
ask("UPDATE ore SET ax = 1e6, bx = 1e6, cx = 1e6, ay = 1e6, by = 1e6, cy = 1e6 WHERE id = 90001");
is(scalar(split ' ', tiles_of_row('ore', 90001)), 1, 'UPDATE: now it is on one');
same('UPDATE');
ask('UPDATE ore SET ax = ax + 20, bx = bx + 20, cx = cx + 20 WHERE id % 5 = 0');
same('UPDATE of many, to other tiles');
ask('UPDATE ore SET id = id + 200000 WHERE id % 7 = 0');
same('UPDATE of ids');
ask("UPDATE tunnel SET kind = 'canal' WHERE id % 3 = 0");
same('UPDATE of what no box is of');
is(ask("SELECT sum(n) FROM by_kind WHERE tunnel = 'canal'"), ask("SELECT count(*) FROM $here WHERE blue_id % 3 = 0"), '... is on the servers');
ask('DELETE FROM tunnel WHERE id % 4 = 0');
same('DELETE');
ask("INSERT INTO ore SELECT id - 100000, kind, ay, ax, az, by, bx, bz, cy, cx, cz FROM ore ON CONFLICT (id) DO UPDATE SET kind = 'twice'");
same('ON CONFLICT');
ask("INSERT INTO ore SELECT * FROM ore WHERE id < 500 ON CONFLICT (id) DO UPDATE SET ax = ore.ax - 10");
same('ON CONFLICT DO UPDATE');
ask("COPY (SELECT 300000 + id, kind, ax, ay, az, bx, by, bz, cx, cy, cz FROM tunnel) TO '$hosts/coordinator/rows'; COPY tunnel FROM '$hosts/coordinator/rows'");
same('COPY');
SKIP:
{
	skip 'no MERGE before 15', 2 if $version < 15;
	ask(<<'SQL');
MERGE INTO ore USING tunnel t ON t.id = ore.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET ay = ore.ay + 9
WHEN NOT MATCHED THEN INSERT VALUES (t.id, t.kind, t.ax, t.ay, t.az, t.bx, t.by, t.bz, t.cx, t.cy, t.cz)
SQL
	same('MERGE');
}
ask('BEGIN; DELETE FROM ore; SAVEPOINT a; INSERT INTO tunnel SELECT id + 600000, kind, ax, ay, az, bx, by, bz, cx, cy, cz FROM tunnel; ROLLBACK TO a; ROLLBACK');
same('ROLLBACK');
ask('BEGIN; CREATE TEMP TABLE kept AS TABLE ore; TRUNCATE ore; INSERT INTO ore TABLE kept; COMMIT');
same('TRUNCATE');
ask('DELETE FROM ore WHERE false; UPDATE ore SET ax = ax WHERE false; INSERT INTO ore SELECT * FROM ore WHERE false');
same('no rows');

# The coordinator rejects what a server cannot reject.
my ($code, $out, $err) = $coordinator->psql('gis', "\\set VERBOSITY verbose\nINSERT INTO ore_part SELECT $tiles[0], o.* FROM ore o WHERE id = (SELECT min(id) FROM ore_part WHERE tile = $tiles[0])");
like($err, qr/23505.*duplicate key/s, 'a row that is there already is refused');
($code, $out, $err) = $servers[0]->psql('gis', "\\set VERBOSITY verbose\nINSERT INTO ore_$tiles[0] SELECT $tiles[1], id + 700000, kind, ax, ay, az, bx, by, bz, cx, cy, cz FROM ore_$tiles[0] LIMIT 1");
like($err, qr/23514/, 'and one of another tile');

# ---- several sessions ----

my ($one, $two) = map { session($coordinator) } 1, 2;
$_->ask('\connect gis') for $one, $two;
$_->{pid} = $_->ask('SELECT pg_backend_pid()') for $one, $two;
# One session computes the location of a row; another session has moved it there by then.
my $at = sub { my ($x, $y) = @_; return "ax = $x, bx = $x, cx = $x, ay = $y, by = $y, cy = $y" };
ask('UPDATE ore SET ' . $at->($x - 5, $y - 5) . ' WHERE id = 90001');
my ($home) = split ' ', tiles_of_row('ore', 90001);
ask('UPDATE ore SET ' . $at->($x + 5, $y + 5) . ' WHERE id = 90001');
isnt(tiles_of_row('ore', 90001), $home, 'a row moves from one server to another');
for my $change ('DELETE FROM ore', 'UPDATE ore SET ' . $at->($x + 4, $y + 4))
{
	$one->ask("BEGIN; SELECT count(*) FROM ore_part WHERE tile = $home");
	$two->ask('UPDATE ore SET ' . $at->($x - 5, $y - 5) . ' WHERE id = 90001');
	like($one->ask("$change WHERE id = 90001"), qr/40001: rows of ore in tile $home have changed\nDETAIL:  Expected: 1, found: 0\./, 'what came to a server after it was asked: 40001');
	$one->ask('ROLLBACK');
	is(ask('SELECT count(*) FROM astray'), 0, 'and nothing has changed');
	$two->ask('UPDATE ore SET ' . $at->($x + 5, $y + 5) . ' WHERE id = 90001');
}
# The row at its old location
$one->ask("BEGIN; SELECT count(*) FROM ore_part");
$two->ask('UPDATE ore SET ' . $at->($x + 6, $y + 6) . ' WHERE id = 90001');
like($one->ask('DELETE FROM ore WHERE id = 90001'), qr/40001/, 'what was replaced on it: 40001');
$one->ask('ROLLBACK');
# One snapshot per server, for the duration of the transaction
$one->ask('BEGIN');
my $before = $one->ask('SELECT sum(pairs) FROM pair_count');
$two->ask('BEGIN; DELETE FROM tunnel WHERE id % 5 = 1');
is($one->ask('SELECT sum(pairs) FROM pair_count'), $before, 'what is not committed is not seen');
$two->ask('COMMIT');
is($one->ask('SELECT sum(pairs) FROM pair_count'), $before, 'nor what was committed after the first question');
$one->ask('COMMIT');
isnt($one->ask('SELECT sum(pairs) FROM pair_count'), $before, 'afterwards it is');
# A session that holds the tables sees all of a change, or nothing of it.
$two->ask('BEGIN; UPDATE ore SET ax = ax + 1 WHERE id % 3 = 0');
$one->send('BEGIN; LOCK TABLE ore, tunnel IN SHARE MODE; SELECT count(*) FROM astray; COMMIT');
ok($coordinator->poll_query_until('gis', "SELECT count(*) = 1 FROM pg_locks WHERE pid = $one->{pid} AND NOT granted"), 'LOCK TABLE waits for a writer');
$two->ask('COMMIT');
is($one->wait_for, 0, 'and then all is in its place');
like($one->ask("BEGIN; SELECT sum(pairs) FROM pair_count; PREPARE TRANSACTION 'a'"), qr/0A000|cannot PREPARE/, 'PREPARE TRANSACTION is refused');
$one->ask('ROLLBACK');

# Two sessions change the same rows, in any order: some changes are rejected, but none is lost.
my @refused = (0, 0);
for my $round (1 .. 16)
{
	my $k = 0;
	for my $s ($one, $two)
	{
		my $r = ($round * 2 + $k++) * 37 % 23;
		$s->send("SET lock_timeout = '3min'; BEGIN; UPDATE ore SET ax = ax + $r - 11, ay = ay - $r + 11 WHERE id % 23 = $r; "
			  . ($round % 3 ? "DELETE FROM tunnel WHERE id % 601 = $r; " : "INSERT INTO tunnel SELECT id + 1000000 * (2 * $round + $k), kind, ax, ay, az, bx, by, bz, cx, cy, cz FROM tunnel WHERE id % 601 = $r; ")
			  . "UPDATE ore SET ay = ay + 3 WHERE id % 29 = $r; COMMIT");
	}
	for my $k (0, 1)
	{
		my (undef, $said) = ($one, $two)[$k]->wait_for;
		$refused[$k]++ if $said;
		my @others = grep { !/^(?:40001|40P01|25P02)$/ } $said =~ /ERROR:  (\w{5}):/g;
		fail("round $round: $said") if @others;
		($one, $two)[$k]->ask('ROLLBACK') if $said;
	}
}
note("refused: @refused");
same('two sessions at once');

# A server that rejects the COMMIT after others have accepted it
$servers[2]->safe_psql('gis', <<"SQL");
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''not today''; END';
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON ore_$tiles[2] DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
SQL
($code, $out, $err) = $coordinator->psql('gis', 'UPDATE ore SET ax = ax + 1 WHERE id < 2000');
like($err, qr/not today.*COMMIT TRANSACTION/s, 'COMMIT fails where a server refuses it');
$servers[2]->safe_psql('gis', 'DROP FUNCTION refuse CASCADE');
my @astray = split /\n/, ask('SELECT DISTINCT tile FROM astray ORDER BY tile');
note("astray: @astray");
for my $tile (@astray)
{
	my ($status, undef, $said) = run_block('sql', $block{'Are the servers right?, 2'} =~ s/tile = 2\b/tile = $tile/gr);
	is("$status $said", '0 ', "tile $tile is sent again");
}
same('mended');

# ---- servers that are down ----

my $answer = ask('SELECT sum(pairs) FROM pair_count');
for my $query ('SELECT sum(pairs) FROM pair_count', 'SELECT * FROM pair', 'SELECT * FROM by_kind', 'SELECT * FROM astray', 'UPDATE ore SET kind = kind')
{
	my $which = $servers[2];
	$which->stop('fast') if $query eq 'SELECT sum(pairs) FROM pair_count';
	my ($code, $out, $err) = $coordinator->psql('gis', "\\set VERBOSITY verbose\n$query");
	like($err, qr/08001: could not connect to server "server3"/, "$query: a server that is down is an error that names it");
	is($out, '', '... and there are no rows');
}
# A session that used the server before; and after the server is available again
like($one->ask('SELECT sum(pairs) FROM pair_count'), qr/08\d\d\d.*server3/s, 'so it is for a session that was connected to it');
like(ask("UPDATE ore SET kind = 'here' WHERE id = (SELECT min(id) FROM ore_part o WHERE tile = $tiles[0] AND NOT EXISTS (SELECT FROM ore_route r WHERE r.id = o.id AND r.tile <> $tiles[0])) RETURNING kind"),
	qr/^here/, 'rows of other servers can be changed');
$servers[2]->start;
is(ask('SELECT sum(pairs) FROM pair_count'), $answer, 'it is there again: the answer is, too');
is($one->ask('SELECT sum(pairs) FROM pair_count'), $answer, '... and for the session');

# ---- joins that end: a server stops, a cancellation ----

# Joins that take a long time: rows that are read slowly, one after the other
for my $i (0 .. 3)
{
	my $t = $tiles[$i];
	$servers[$i]->safe_psql('gis', <<"SQL");
CREATE VIEW long_ore AS SELECT id, CASE WHEN slow(0.01) IS NULL THEN 0 ELSE ax END AS ax, ay, az, bx, by, bz, cx, cy, cz FROM ore_$t;
ALTER DATABASE gis SET slow.s = 0.05;
CREATE VIEW long_pair_$t AS SELECT $t AS tile, red_id AS ore_id FROM redblue_triangle_pairs('long_ore', 'tunnel_$t');
SQL
}
ask('CREATE TABLE long_pair (tile int, ore_id bigint) PARTITION BY LIST (tile)');
ask("CREATE FOREIGN TABLE long_pair_$tiles[$_] PARTITION OF long_pair FOR VALUES IN ($tiles[$_]) SERVER server@{[$_ + 1]}") for 0 .. 3;
my $joining = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'FETCH%' AND application_name = 'postgres_fdw'";
my $long = 'SELECT tile, count(*) FROM long_pair GROUP BY tile';
$one->send($long);
ok($_->poll_query_until('gis', "SELECT ($joining) = 1"), $_->name . ' joins') for @servers;
$servers[2]->safe_psql('gis', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postgres_fdw'");
like($one->wait_for, qr/ERROR:  (?:57P01|08006).*long_pair_$tiles[2]\b/s, 'a server that goes while it joins: an error that tells of which tile');
ok($_->poll_query_until('gis', "SELECT ($joining) = 0"), $_->name . ' joins no more') for @servers;

my $watch = session($coordinator);
$watch->ask('\connect gis');
add_stopwatch($coordinator);
$coordinator->safe_psql('postgres', 'DROP FUNCTION IF EXISTS nothing');
$watch->ask('\connect postgres');
stops_soon($one, $watch, 'servers join', $long, 0.5, 1, 1.5);
ok($_->poll_query_until('gis', "SELECT ($joining) = 0"), $_->name . ' joins no more') for @servers;
like($one->ask(under_timeout(700, $long)), qr/57014/, 'statement_timeout');
ok($_->poll_query_until('gis', "SELECT ($joining) = 0"), $_->name . ' joins no more') for @servers;
is($one->ask('SELECT sum(pairs) FROM pair_count'), $answer, 'the session lives, and answers');

# ---- privileges ----

on_servers('CREATE ROLE joiner LOGIN');
for my $i (0 .. 3)
{
	my $t = $tiles[$i];
	$servers[$i]->safe_psql('gis', "GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ore_$t, tunnel_$t TO joiner; GRANT SELECT ON pair_$t TO joiner");
}
ask("ALTER USER MAPPING FOR CURRENT_USER SERVER server$_ OPTIONS (ADD user 'joiner')") for 1 .. 4;
ask('CREATE ROLE reader; GRANT SELECT ON pair_count TO reader; CREATE ROLE writer; GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ore TO writer');
is(ask('SET ROLE reader; SELECT sum(pairs) FROM pair_count'), $answer, 'a reader of a view needs no more rights than to that');
like(($coordinator->psql('gis', 'SET ROLE reader; SELECT * FROM pair'))[2], qr/user mapping not found|permission denied/, '... and has none to the pairs');
ask("SET ROLE writer; UPDATE ore SET ax = ax + 2 WHERE id % 11 = 0; DELETE FROM ore WHERE id % 101 = 0; INSERT INTO ore VALUES (90007, 'rich', $x, $y, 0, $x, $y, 1, $x, $y, 2); RESET ROLE");
same('a writer has rights to the table alone');
ask('SET ROLE writer; BEGIN; TRUNCATE ore; ROLLBACK');
$servers[1]->safe_psql('gis', "REVOKE SELECT ON tunnel_$tiles[1] FROM joiner");
like(($coordinator->psql('gis', 'SELECT sum(pairs) FROM pair_count'))[2], qr/permission denied for table tunnel_$tiles[1]/, 'a view of pairs reads with the rights of whoever asks it');
$servers[1]->safe_psql('gis', "GRANT SELECT ON tunnel_$tiles[1] TO joiner");

# ---- other kinds of rows ----

# other_rows(name, columns of a row, two queries of rows, options of redblue_tiles, argument of redblue_tiles_of,
# function of pairs, its options)
sub other_rows
{
	my ($what, $columns, $red, $blue, $options, $corners, $function, $more) = @_;
	ask("DROP TABLE IF EXISTS r, b, cut, r_part, b_part, rb CASCADE; CREATE TABLE r (id bigint PRIMARY KEY, $columns); CREATE TABLE b (LIKE r INCLUDING ALL); INSERT INTO r $red; INSERT INTO b $blue");
	ask("CREATE TABLE cut AS SELECT * FROM redblue_tiles('r', 'b', 4$options)");
	ask("CREATE TABLE ${_}_part (tile int, LIKE $_) PARTITION BY LIST (tile)") for 'r', 'b';
	ask('CREATE TABLE rb (tile int, red_id bigint, blue_id bigint) PARTITION BY LIST (tile)');
	for my $t (1 .. 4)
	{
		my ($low, $high) = split /\|/, ask("SELECT tile_low, tile_high FROM cut WHERE tile = $t");
		$servers[$t - 1]->safe_psql('gis', <<"SQL");
DROP TABLE IF EXISTS r_$t, b_$t CASCADE; DROP VIEW IF EXISTS rb_$t;
CREATE TABLE r_$t (tile int NOT NULL CHECK (tile = $t), id bigint PRIMARY KEY, $columns); CREATE TABLE b_$t (LIKE r_$t INCLUDING ALL);
CREATE VIEW rb_$t AS SELECT $t AS tile, red_id, blue_id FROM $function('r_$t', 'b_$t'$more, tile_low => '$low', tile_high => '$high');
GRANT ALL ON r_$t, b_$t, rb_$t TO joiner;
SQL
		ask("CREATE FOREIGN TABLE ${_}_$t PARTITION OF @{[$_ eq 'rb' ? $_ : \"${_}_part\"]} FOR VALUES IN ($t) SERVER server$t") for 'r', 'b', 'rb';
	}
	ask("INSERT INTO ${_}_part SELECT t, $_.* FROM $_, redblue_tiles_of($corners, (SELECT array_agg(tile_low ORDER BY tile) FROM cut), (SELECT array_agg(tile_high ORDER BY tile) FROM cut)" . ($options =~ /distance/ ? $options : '') . ') t') for 'r', 'b';
	my $one = sum_of("$function('r', 'b'$more)");
	is(sum_of('rb'), $one, "$what: $one");
	isnt((split ' ', $one)[0], 0, '... which are some');
	return;
}
my $grid = 'SELECT i, i % 40, i / 40, 0, i % 40 + 1.25, i / 40 + 1.5, 1 FROM generate_series(0, 1599) i';
other_rows('boxes', join(', ', map { "$_ float8" } qw(lx ly lz hx hy hz)), $grid, $grid =~ s/1\.25/1.75/r, '', 'ARRAY[lx, ly, lz], ARRAY[hx, hy, hz]', 'redblue_box_pairs', '');
other_rows('segments in the plane', join(', ', map { "$_ float8" } qw(ax ay bx by)), 'SELECT i, i % 40, i / 40, i % 40 + 2.5, i / 40 + 0.25 FROM generate_series(0, 1599) i',
	'SELECT i, i % 40 + 0.5, i / 40 - 1.5, i % 40, i / 40 + 1.5 FROM generate_series(0, 1599) i', '', 'ARRAY[least(ax, bx), least(ay, by)], ARRAY[greatest(ax, bx), greatest(ay, by)]', 'redblue_segment_pairs', '');
my $triangle = join(', ', map { my $p = $_; map { "$p$_ float8" } qw(x y z) } qw(a b c));
my $corners = join ', ', map { my $f = $_; 'ARRAY[' . join(', ', map { "$f(a$_, b$_, c$_)" } qw(x y z)) . ']' } qw(least greatest);
other_rows('triangles within a distance', $triangle, 'SELECT i, i % 40, i / 40, 0, i % 40 + 0.5, i / 40, 0, i % 40, i / 40 + 0.5, 0 FROM generate_series(0, 1599) i',
	'SELECT i, i % 40 + 0.5, i / 40 + 0.5, 0.5, i % 40 + 0.75, i / 40, 1, i % 40, i / 40 + 0.5, 1 FROM generate_series(0, 1599) i', ', distance => 0.75', $corners, 'redblue_triangle_pairs_within', ', 0.75');
SKIP:
{
	skip 'no PostGIS here', 2 unless have_postgis($coordinator);
	$_->safe_psql('gis', 'SET client_min_messages = warning; CREATE EXTENSION redblue_postgis CASCADE') for $coordinator, @servers;
	ask("ALTER SERVER server$_ OPTIONS (SET extensions 'redblue, redblue_postgis, postgis')") for 1 .. 4;
	my $tin = "SELECT i, format('TIN Z (((%1\$s %2\$s 0, %3\$s %2\$s 0, %1\$s %4\$s 1, %1\$s %2\$s 0)), ((%3\$s %2\$s 0, %3\$s %4\$s 2, %1\$s %4\$s 1, %3\$s %2\$s 0)))', i % 40, i / 40, i % 40 + 1.5, i / 40 + 1.75) FROM generate_series(0, 1599) i";
	other_rows('geometries', 'geom geometry', $tin, $tin =~ s/i % 40 \+ 1\.5/i % 40 + 0.75/r, '', 'geom', 'redblue_triangle_pairs', '');
}

$_->quit for $one, $two, $watch;
$coordinator->stop;
$_->stop for @servers;
done_testing();
