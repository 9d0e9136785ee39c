# Tests redblue_tiles: tiles are balanced when measured with all rows and pairs, are computed from a sample only, of
# anything that a join can read, with the caller's privileges; and the computation can be canceled.
# run: quick once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('kd_tiles', "redblue.duplicate_notice = off\nmax_parallel_workers_per_gather = 0\n");
my $s = session($node);
$s->ask('SET client_min_messages = warning');
add_stopwatch($node);

# ---- balance: largest cost over mean cost of n tiles, from all rows and pairs ----

# The bounding boxes of a table's rows
sub boxes
{
	my ($table) = @_;
	my @x = split /\n/, scalar $s->ask("SELECT attname FROM pg_attribute WHERE attrelid = '$table'::regclass AND attname ~ '^[abclh][xyz]\$' AND NOT attisdropped ORDER BY attnum");
	my %of;
	push @{ $of{ substr($_, 1) } }, $_ for @x;
	my @columns = map { "least(" . join(', ', @{ $of{$_} }) . ") AS l$_, greatest(" . join(', ', @{ $of{$_} }) . ") AS h$_" } sort keys %of;
	$s->ask("DROP TABLE IF EXISTS box_$table; CREATE TABLE box_$table AS SELECT id, " . join(', ', @columns) . " FROM $table; ANALYZE box_$table");
	return [ sort keys %of ];
}

# Measures the costs of tiles: largest / mean, sum / estimate, and whether each pair is in exactly one tile.
sub measure
{
	my ($red, $blue, $n, $options) = @_;
	my $sides = "'$red', " . (defined $blue ? "'$blue'" : 'NULL');
	my $axes = boxes($red);
	boxes($blue) if defined $blue;
	my $corner = sub { my ($end, $row) = @_; return 'ARRAY[' . join(', ', map { "$row.$end$_" } @$axes) . ']' };
	my $point = 'ARRAY[' . join(', ', map { "greatest(r.l$_, b.l$_)" } @$axes) . ']';
	my $tiles = '(SELECT array_agg(tile_low ORDER BY tile) FROM tiles), (SELECT array_agg(tile_high ORDER BY tile) FROM tiles)';
	my $pairs = defined $blue ? "redblue_box_pairs('box_$red', 'box_$blue')" : "redblue_box_self_pairs('box_$red') AS p(red_id, blue_id)";
	my $of = $blue // $red;
	my $said = $s->ask("DROP TABLE IF EXISTS tiles, cost; CREATE TABLE tiles AS SELECT * FROM redblue_tiles($sides, $n" . ($options // '') . ')');
	die $said if $said;
	$s->ask("CREATE TABLE cost (tile int, cost float8, pairs int8)");
	for my $table ($red, defined $blue ? $blue : ())
	{
		$s->ask("INSERT INTO cost SELECT tile, count(*), 0 FROM box_$table r, redblue_tiles_of(" . $corner->('l', 'r') . ', ' . $corner->('h', 'r') . ", $tiles) tile GROUP BY tile");
	}
	$s->ask("INSERT INTO cost SELECT tile, 0.1 * count(*), count(*) FROM $pairs JOIN box_$red r ON r.id = red_id JOIN box_$of b ON b.id = blue_id, redblue_tiles_of($point, $point, $tiles) tile GROUP BY tile");
	return split /\|/, scalar $s->ask(<<"SQL");
SELECT max(c) * $n / sum(c), sum(e) / sum(c), sum(p), (SELECT count(*) FROM $pairs), count(*)
FROM (SELECT tile, sum(cost) AS c, sum(pairs) AS p FROM cost GROUP BY tile) a FULL JOIN (SELECT tile, estimated_cost AS e FROM tiles) b USING (tile)
SQL
}

sub even
{
	my ($name, $red, $blue, $n, $options) = @_;
	my ($worst, $estimate, $pairs, $all, $tiles) = measure($red, $blue, $n, $options);
	note(sprintf '%s, %d tiles: heaviest / mean %.3f, estimated / true %.3f', $name, $n, $worst, $estimate);
	cmp_ok($worst, '<=', 1.3, "$name: heaviest / mean of $n tiles is $worst");
	is($pairs, $all, "$name: each pair is in one tile");
	is($tiles, $n, "$name: there are $n tiles");
	ok($estimate > 0.7 && $estimate < 1.4, "$name: the estimate is $estimate of the truth");
	return;
}

load_boxes($node, 'uniform', 'uniform', 600000, 1);
load_boxes($node, 'gauss', 'gauss', 400000, 1);
load_boxes($node, 'gauss2', 'gauss', 50000, 2);
even('uniform', 'uniform', undef, 16);
even('Gauss', 'gauss', undef, 16);
even('Gauss twice', 'gauss', 'gauss2', 16);
even('uniform and Gauss', 'uniform', 'gauss2', 11);
load_volmesh($node, 'mesh1', 18, 1, 0.2);
load_volmesh($node, 'mesh2', 18, 2, 0.2, 0.31, 0.17, 0.23);
even('meshes', 'mesh1', 'mesh2', 16);

my %real = (
	'a city, coarse and fine' => [ [ 'city/delft_fine.off.xz', 0 ], [ 'city/delft_coarse.off.xz', 0 ] ],
	'a city, ground and models' => [ [ 'city/delft_tin.off.xz', 0 ], [ 'city/delft_model.off.xz', 0 ] ],
	'a mine, made up' => [ [ 'mine/synth_holes.csv.xz', 3 ], [ 'mine/synth_ore.off.xz', 0 ] ],
	'a mine' => [ [ 'mine/babbitt_intervals.csv.xz', 3 ], [ 'mine/babbitt_ore.off.xz', 0 ] ],
	'maps' => [ [ 'map/rivers.csv.xz', 2 ], [ 'map/borders.csv.xz', 2 ] ]);
for my $name (sort keys %real)
{
  SKIP:
	{
		my @paths = map { data_file($_->[0]) } @{ $real{$name} };
		skip "$name: the files are not here", 4 if grep { !defined } @paths;
		my @tables = ('real_red', 'real_blue');
		$s->ask('DROP TABLE IF EXISTS real_red, real_blue');
		for my $k (0, 1)
		{
			my $dims = $real{$name}[$k][1];
			$dims ? load_lines($node, $tables[$k], $paths[$k], $dims) : load_off($node, $tables[$k], $paths[$k]);
		}
		even($name, @tables, 16);
	}
}

# ---- from a sample ----

my $pages = $s->ask("SELECT pg_relation_size('uniform') / 8192");
my $seen = sub { return scalar $s->ask("SELECT pg_stat_clear_snapshot(), heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = 'uniform'") =~ s/.*\|//r };
$s->ask('SELECT pg_stat_force_next_flush()');
my $before = $seen->();
my $first = $s->ask("SELECT * FROM redblue_tiles('uniform', 'gauss', 16)");
$s->ask('SELECT pg_stat_force_next_flush()');
SKIP:
{
	my $server = $node->safe_psql('postgres', 'SHOW server_version_num');
	skip 'counts of pages come late', 1 if $server < 150000;
	my $read = $seen->() - $before;
	cmp_ok($read, '<', 0.75 * $pages, "$read of $pages pages are read");
	cmp_ok($read, '>', 0, 'some are');
}
is($s->ask("SELECT * FROM redblue_tiles('uniform', 'gauss', 16)"), $first, 'the same tables have the same tiles');
isnt($s->ask("SELECT * FROM redblue_tiles('uniform', 'gauss2', 16)"), $first, 'others have others');

# ---- everything that can be read ----

my $near = sub {
	my ($what, $sides) = @_;
	my $sum = $s->ask("SELECT count(*) || ' ' || sum(estimated_cost) FROM redblue_tiles($sides)");
	my ($n, $cost) = split ' ', $sum;
	my ($m, $of) = split ' ', $s->ask("SELECT count(*) || ' ' || sum(estimated_cost) FROM redblue_tiles('uniform', NULL, 8)");
	ok($n eq $m && $cost > 0.9 * $of && $cost < 1.1 * $of, "$what: as the table itself") or diag("$sum, not $m $of");
};
$s->ask(<<'SQL');
CREATE TABLE parted (LIKE uniform) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parted FOR VALUES FROM (0) TO (100000);
CREATE TABLE part2 PARTITION OF parted FOR VALUES FROM (100000) TO (10000000);
INSERT INTO parted TABLE uniform;
CREATE TABLE parent (LIKE uniform);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT * FROM uniform WHERE id < 1000;
INSERT INTO child SELECT * FROM uniform WHERE id >= 1000;
CREATE VIEW view AS TABLE uniform;
CREATE MATERIALIZED VIEW matview AS TABLE uniform;
CREATE TEMP TABLE temp AS TABLE uniform;
ANALYZE;
SQL
$near->('partitions', "'parted', NULL, 8");
$near->('inheritance', "'parent', NULL, 8");
$near->('a view', "'view', NULL, 8");
$near->('a materialized view', "'matview', NULL, 8");
$near->('a temporary table', "'temp', 'temp', 8");
SKIP:
{
	skip 'no postgres_fdw here', 1 unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
	my ($host, $port) = ($node->host, $node->port);
	$s->ask(<<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER me FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', fetch_size '10000');
CREATE USER MAPPING FOR CURRENT_USER SERVER me;
CREATE TABLE mixed (LIKE uniform) PARTITION BY RANGE (id);
CREATE TABLE here PARTITION OF mixed FOR VALUES FROM (0) TO (300000);
CREATE TABLE there_rows (LIKE uniform);
INSERT INTO there_rows SELECT * FROM uniform WHERE id >= 300000;
CREATE FOREIGN TABLE there PARTITION OF mixed FOR VALUES FROM (300000) TO (10000000) SERVER me OPTIONS (table_name 'there_rows');
INSERT INTO here SELECT * FROM uniform WHERE id < 300000;
SQL
	$near->('partitions, one of them elsewhere', "'mixed', NULL, 8");
}

# Objects of several rows are not split.
$s->ask("CREATE TABLE objects AS SELECT id / 2 AS object, id, lx, ly, lz, lx AS hx, ly AS hy, lz AS hz FROM uniform WHERE id % 2 = 0");
$s->ask("INSERT INTO objects SELECT id / 2, id, hx, hy, hz, hx, hy, hz FROM uniform WHERE id % 2 = 0");
$s->ask('CREATE TABLE halves AS SELECT * FROM uniform WHERE id % 2 = 0');
my ($objects, $halves) = map { scalar $s->ask("SELECT sum(estimated_cost) FROM redblue_tiles($_)") } "'objects', NULL, 8, red_object => 'object'", "'halves', NULL, 8";
ok($objects > 0.95 * $halves && $objects < 1.05 * $halves, "objects of two rows: $objects, $halves");

SKIP:
{
	skip 'no PostGIS here', 3 unless have_postgis($node);
	# Values of megabytes, not all of which are read
	$s->ask('CREATE EXTENSION redblue_postgis');
	$s->ask(<<'SQL');
CREATE TABLE large AS SELECT i AS id, ST_MakeLine(ARRAY(SELECT ST_MakePoint(i + cos(k), i % 10 + sin(k), k * 1e-6) FROM generate_series(1, 10000) k)) AS geom
FROM generate_series(1, 200) i;
SQL
	my $sum = $s->ask("SELECT sum(estimated_cost) FROM redblue_tiles('large', NULL, 4)");
	ok($sum > 200 && $sum < 800, "lines of 10000 points: $sum");
	is($s->ask("SELECT array_length(tile_low, 1) FROM redblue_tiles('large', NULL, 1)"), 3, 'with Z: in space');
	is($s->ask("SELECT array_length(tile_low, 1) FROM redblue_tiles('large', NULL, 1, dimensions => 2)"), 2, 'in the plane, too');
}

# ---- privileges, policies, snapshots ----

$s->ask(<<'SQL');
CREATE ROLE reader;
GRANT SELECT (id, lx, ly, lz, hx, hy, hz) ON uniform TO reader;
CREATE TABLE secret AS SELECT id, lx, ly, lz, hx, hy, hz, id % 4 = 0 AS open FROM uniform;
GRANT SELECT ON secret TO reader;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY open_ones ON secret FOR SELECT TO reader USING (open);
SET ROLE reader;
SQL
$near->('rights to columns', "'uniform', NULL, 8");
my $quarter = $s->ask("SELECT sum(estimated_cost) FROM redblue_tiles('secret', NULL, 1)");
ok($quarter > 140000 && $quarter < 175000, "rows that a policy hides do not count: $quarter");
like($s->ask("SELECT * FROM redblue_tiles('gauss', NULL, 8)"), qr/42501/, 'no right: an error');
like($s->ask("SELECT * FROM redblue_tiles('uniform', 'gauss', 8)"), qr/42501/, 'none for blue');
$s->ask('RESET ROLE');
my $other = session($node);
$s->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM halves');
$other->ask('DELETE FROM halves WHERE id % 3 = 0');
my $then = $s->ask("SELECT sum(estimated_cost) FROM redblue_tiles('halves', NULL, 1)");
$s->ask('COMMIT');
my $now = $s->ask("SELECT sum(estimated_cost) FROM redblue_tiles('halves', NULL, 1)");
ok($now < 0.75 * $then, "what another session deleted is there for an older snapshot: $then, $now");
like($s->ask("SET default_transaction_read_only = on; SELECT count(*) FROM redblue_tiles('gauss', NULL, 8); RESET default_transaction_read_only"), qr/^8$/, 'a read-only transaction may ask');

# ---- memory, and the lack of it ----

like($s->ask("SET redblue.memory_limit = '1MB'; SELECT count(*) FROM redblue_tiles('uniform', NULL, 100000)"), qr/53200.*redblue_tiles: out of memory/s, 'no memory: an error');
$s->ask('RESET redblue.memory_limit');
$s->ask("SELECT count(*) FROM redblue_tiles('uniform', NULL, 64)") for 1 .. 3;
my $rss = emptied_rss_kb($s);
$s->ask("SELECT count(*) FROM redblue_tiles('uniform', NULL, 64)") for 1 .. 20;
my $grown = emptied_rss_kb($s) - $rss;
cmp_ok($grown, '<', 2000, "twenty calls leave $grown kB");

# ---- cancel ----

$s->ask("CREATE FUNCTION slow(float8) RETURNS float8 LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.001); RETURN \$1; END'");
$s->ask("CREATE VIEW slow_view AS SELECT id, slow(lx) AS lx, ly, lz, hx, hy, hz FROM uniform");
my @waits;
my $watch = session($node);
for my $case (
	[ 'a sample', "SELECT count(*) FROM redblue_tiles('slow_view', NULL, 16)", 0.2, 0.5 ],
	[ 'many tiles', "SELECT count(*) FROM redblue_tiles('uniform', NULL, 1000000)", 0.1, 0.4, 0.8, 1.2, 2 ],
	[ 'many rows', "SELECT count(*) FROM redblue_tiles('uniform', 'gauss', 2000)", 0.05, 0.3, 0.6 ])
{
	my ($name, $query, @delays) = @$case;
	stops_soon($s, $watch, $name, $query, @delays);
}
like($s->ask("SELECT count(*) FROM redblue_tiles('gauss', NULL, 8)"), qr/^8$/, 'the session lives on');

$_->quit for $s, $other, $watch;
$node->stop;
done_testing();
