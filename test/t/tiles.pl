# Tests pairs of tiles with larger data: each pair belongs to one tile, for joins of each kind, however rows are read,
# cached or joined; a tile needs a fraction of the memory; and its join can be canceled.
# run: quick once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $device = place_for_device();
my $node = new_server('tiles', "redblue.duplicate_notice = off\nmax_worker_processes = 8\n");
add_stopwatch($node);
my $s = session($node);
my $watch = session($node);
$s->ask('SET client_min_messages = warning');

load_volmesh($node, 'red', 18, 1, 0.2);
load_volmesh($node, 'blue', 18, 2, 0.2, 0.31, 0.17, 0.23);
load_boxes($node, 'gauss', 'gauss', 60000, 1);
load_boxes($node, 'uniform', 'uniform', 60000, 2);
$s->ask(<<'SQL');
CREATE VIEW flat AS SELECT id, lx, ly, hx, hy FROM gauss;
CREATE TABLE line AS SELECT id, lx AS ax, ly AS ay, hx AS bx, hy AS by FROM gauss;
CREATE TABLE street AS SELECT id, hx AS ax, ly AS ay, lx AS bx, hy AS by FROM gauss;
CREATE TABLE hole AS SELECT id, ax, ay, az, bx, by, bz FROM blue WHERE id % 10 = 0;
-- many small rows, and some from end to end
CREATE TABLE skew AS SELECT id, lx, ly, lz, CASE WHEN id % 5000 = 0 THEN 20000 ELSE hx END AS hx, CASE WHEN id % 7000 = 0 THEN 20000 ELSE hy END AS hy, hz FROM uniform;
ALTER TABLE red ADD PRIMARY KEY (id);
ANALYZE;
CREATE TABLE tile3 AS SELECT * FROM redblue_tiles('red', 'blue', 16);
CREATE TABLE box3 AS SELECT * FROM redblue_tiles('gauss', 'uniform', 16);
CREATE TABLE plane AS SELECT * FROM redblue_tiles('flat', 'line', 16);
CREATE TABLE few AS SELECT * FROM redblue_tiles('red', 'blue', 3);
SQL
# Numbers of pairs and order-independent checksums, for all pairs and for those of all tiles together
my %joins = (
	'triangles' => [ 'redblue_triangle_pairs', "'red', 'blue'", 'tile3' ],
	'a mesh with itself' => [ 'redblue_triangle_self_pairs', "'red'", 'tile3' ],
	'queries' => [ 'redblue_triangle_pairs_query', "'TABLE red', 'SELECT * FROM blue WHERE id % 3 = 0'", 'few' ],
	'objects' => [ 'redblue_triangle_pairs_query', "'SELECT *, id / 24 AS o FROM red', 'SELECT *, id % 500 AS o FROM blue', red_object => 'o', blue_object => 'o'", 'few' ],
	'within a distance' => [ 'redblue_triangle_pairs_within', "'hole_mesh', 'blue', 0.02", 'tile3' ],
	'contacts' => [ 'redblue_triangle_contacts', "'red', 'blue'", 'few' ],
	'segments in space' => [ 'redblue_segment_triangle_pairs', "'hole', 'red'", 'tile3' ],
	'segments' => [ 'redblue_segment_pairs', "'line', 'street'", 'plane' ],
	'segments within a distance' => [ 'redblue_segment_self_pairs_within', "'line', 2", 'plane' ],
	'boxes' => [ 'redblue_box_pairs', "'gauss', 'uniform'", 'box3' ],
	'boxes of all sizes' => [ 'redblue_box_self_pairs', "'skew'", 'box3' ],
	'boxes in the plane' => [ 'redblue_box_self_pairs', "'flat'", 'plane' ]);
$s->ask('CREATE TABLE hole_mesh AS SELECT * FROM red WHERE id % 20 = 0; ANALYZE hole_mesh');

sub summed
{
	my ($from) = @_;
	return "SELECT count(*), sum(hashint8extended(a, 1) + 3 * hashint8extended(b, 2)::numeric) FROM $from";
}

sub whole
{
	my ($function, $arguments) = @_;
	return summed("$function($arguments) AS p(a, b)");
}

sub parts
{
	my ($function, $arguments, $tiles) = @_;
	return summed("$tiles, LATERAL $function($arguments, tile_low => tile_low, tile_high => tile_high) AS p(a, b)");
}

my %answer = map { $_ => scalar $s->ask(whole(@{ $joins{$_} })) } keys %joins;
like($answer{$_}, qr/^[1-9]\d*\|-?\d+$/, "$_: all pairs") for sort keys %joins;
is(scalar $s->ask(parts(@{ $joins{$_} })), $answer{$_}, "$_: the same in tiles") for sort keys %joins;

# A tile has a fraction of the rows and pairs.
my ($least, $most) = split /\|/, scalar $s->ask("SELECT min(n), max(n) FROM (SELECT redblue_triangle_pair_count('red', 'blue', tile_low => tile_low, tile_high => tile_high) AS n FROM tile3) a");
my ($pairs) = split /\|/, $answer{triangles};
cmp_ok($least, '>', $pairs / 64, "of $pairs pairs each of 16 tiles has $least ...");
cmp_ok($most, '<', $pairs / 4, "... to $most");

# ---- by several processes ----

$s->ask('SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET max_parallel_workers_per_gather = 3');
for my $what ('triangles', 'boxes', 'a mesh with itself', 'objects')
{
	is(scalar $s->ask(parts(@{ $joins{$what} })), $answer{$what}, "$what: rows that several processes read");
}
$s->ask("SELECT count(*) FROM redblue_triangle_pairs('red', 'blue', tile_low => '{0.4,0.4,0.4}')");
like(scalar $s->ask("SELECT detail FROM redblue_last_run() WHERE stage = 'read'"), qr/worker|process/, 'they did');
SKIP:
{
	skip 'no PostGIS here', 2 unless have_postgis($node);
	$s->ask(<<'SQL');
CREATE TABLE many AS SELECT id / 50 AS id, ST_Collect(ST_GeomFromText(format('TRIANGLE Z((%s %s %s,%s %s %s,%s %s %s,%1$s %2$s %3$s))', ax, ay, az, bx, by, bz, cx, cy, cz)) ORDER BY id) AS geom FROM red GROUP BY 1;
ANALYZE many;
SQL
	my @join = ('redblue_triangle_pairs', "'many', 'blue'", 'tile3');
	my $all = $s->ask(whole(@join));
	is(scalar $s->ask(parts(@join)), $all, 'rows of many parts that several processes read');
	$s->ask('RESET min_parallel_table_scan_size; SET max_parallel_workers_per_gather = 0');
	is(scalar $s->ask(parts(@join)), $all, 'rows of many parts');
}
$s->ask('RESET min_parallel_table_scan_size; RESET parallel_setup_cost; RESET max_parallel_workers_per_gather');

# ---- cached sides: a tile uses them, and caches nothing ----

$s->ask("CHECKPOINT");
$s->ask($_) for 'VACUUM red', 'VACUUM blue';
$s->ask('SET redblue.cache = on');
my $tile = "tile_low => '{0.5,0.5,0.5}'";
my $some = $s->ask("SET redblue.cache = off; SELECT redblue_triangle_pair_count('red', 'blue', $tile)");
$s->ask('SET redblue.cache = on');
is(scalar $s->ask("SELECT redblue_triangle_pair_count('red', 'blue', $tile)"), $some, 'before they are kept');
is(scalar $s->ask("SELECT count(*) FROM redblue_cached() WHERE reason IS NULL"), '0', 'rows for a tile are not kept');
is(scalar $s->ask("SELECT redblue_triangle_pair_count('red', 'blue')"), $pairs, 'all of them');
ok(comes_true(sub { return $s->ask("SELECT count(*) FROM redblue_cached() WHERE reason IS NULL") eq '2' }), 'are kept');
for my $what ('triangles', 'a mesh with itself', 'contacts')
{
	is(scalar $s->ask(parts(@{ $joins{$what} })), $answer{$what}, "$what: in tiles, from what is kept");
}
like(scalar $s->ask("SELECT detail FROM redblue_last_run() WHERE stage = 'read'"), qr/cached/, 'it was');
# Some pages have changed.
$s->ask('DELETE FROM red WHERE id % 40000 = 7; DELETE FROM blue WHERE id = 5');
my $fewer = $s->ask("SET redblue.cache = off; SELECT redblue_triangle_pair_count('red', 'blue')");
$s->ask('SET redblue.cache = on');
is(scalar $s->ask("SELECT sum(redblue_triangle_pair_count('red', 'blue', tile_low => tile_low, tile_high => tile_high)) FROM tile3"), $fewer, 'and with pages that have changed');
$s->ask('SELECT redblue_uncache(); RESET redblue.cache');

# ---- a device ----

system("cp '$ENV{FAKE_DEVICE}' '$device'") == 0 or die;
$s->quit;
$s = session($node);
$s->ask('SET redblue.backend = cuda');
my $n = did('join');
for my $what ('segments', 'boxes', 'objects', 'contacts')
{
	my $want = $what eq 'objects' || $what eq 'contacts' ? $s->ask("SET redblue.backend = cpu; " . whole(@{ $joins{$what} })) : $answer{$what};
	$s->ask('SET redblue.backend = cuda');
	is(scalar $s->ask(parts(@{ $joins{$what} })), $want, "$what: in tiles, on a device");
}
is(scalar $s->ask("SELECT sum(redblue_box_pair_count('gauss', 'uniform', tile_low => tile_low, tile_high => tile_high)) FROM box3"), (split /\|/, $answer{boxes})[0], 'counted on a device');
cmp_ok(did('join') - $n, '>', 20, 'it had them');
$s->quit;
unlink $device;
$s = session($node);

# ---- memory: a sixteenth of the tiles needs about a sixteenth ----

load_volmesh($node, 'red30', 30, 1, 0.2);
load_volmesh($node, 'blue30', 30, 2, 0.2, 0.31, 0.17, 0.23);
$s->ask('CREATE TABLE tile30 AS SELECT * FROM redblue_tiles(\'red30\', \'blue30\', 16)');
$s->ask("SET redblue.backend = cpu; SET redblue.threads = 1; SET redblue.cache = off");
# The lowest limit with which all pairs can be joined at once, but for a twentieth. $enough is known to suffice.
sub least
{
	my ($query, $enough) = @_;
	my $too_small = 1;
	while ($enough - $too_small > 1 + $enough / 20)
	{
		my $mb = int(($too_small + $enough) / 2);
		my ($out, $err) = $s->ask("SET redblue.memory_limit = '${mb}MB';\n$query");
		my $tiled = $s->ask("SELECT detail LIKE '% tile%, % kB in temporary files%' FROM redblue_last_run() WHERE stage = 'read'");
		if ($err =~ /53200/ || $tiled eq 't') { $too_small = $mb; }
		elsif ($err eq '') { $enough = $mb; }
		else { fail("$mb MB: $out $err"); last; }
	}
	$s->ask('RESET redblue.memory_limit');
	return $enough;
}
my $all = least("SELECT redblue_triangle_pair_count('red30', 'blue30')", 256);
my $part = least("SELECT max(redblue_triangle_pair_count('red30', 'blue30', tile_low => tile_low, tile_high => tile_high)) FROM tile30", $all);
# A join needs at least about 6 MB, and copies rows in pieces of 64 kB.
cmp_ok($part - 8, '<', $all / 8, "all: $all MB, the largest of 16 tiles: $part MB");

# ---- cancel ----

$s->ask(<<'SQL');
CREATE TABLE crowd AS SELECT i AS id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 1 + (i % 97)::float8 AS bx, 0::float8 AS by, 0::float8 AS bz,
	0::float8 AS cx, 1 + (i % 89)::float8 AS cy, 1::float8 AS cz FROM generate_series(1, 20000::int8) i;
ANALYZE crowd;
SQL
for my $case (
	[ 'pairs of no tile', "SELECT redblue_triangle_pair_count('crowd', 'crowd', tile_low => '{0,0,0.1}')" ],
	[ 'pairs of a tile', "SELECT count(*) FROM redblue_triangle_pairs('crowd', 'crowd', tile_high => '{1,1,0.1}') WHERE red_id > 0" ],
	[ 'reading', "SELECT sum(redblue_triangle_pair_count('red30', 'blue30', tile_low => '{0.9,0.9,0.9}')) FROM generate_series(1, 50)" ])
{
	my ($name, $query) = @$case;
	stops_soon($s, $watch, $name, $query, 0.1, 0.3, 0.7);
}
is(backend_threads($s->{pid}), 1, 'no thread is left');
like(scalar $s->ask("SELECT redblue_box_pair_count('gauss', 'uniform', tile_low => '{5000,5000,5000}')"), qr/^\d+$/, 'the session lives on');

$_->quit for $s, $watch;
$node->stop;
done_testing();
