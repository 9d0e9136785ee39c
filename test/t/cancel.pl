# Tests that cancellation and statement_timeout take effect at once in each stage, and leave nothing behind: no memory,
# no descriptor, no thread.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(max);

# A large work_mem keeps results out of temporary files, because a write can last as long as the kernel wants.
my $node = new_server('cancel', "work_mem = '2047MB'\n");
my $sql = <<'SQL';
-- a million small triangles spread out: reading and the grid take the time
CREATE TABLE spread AS
SELECT i AS id, x AS ax, y AS ay, z AS az, x + 1 AS bx, y AS by, z AS bz, x AS cx, y + 1 AS cy, z + 0.5 AS cz
FROM (SELECT i, (i * 7919 % 1000003)::float8 AS x, (i * 104729 % 1000003)::float8 AS y, (i * 1299709 % 1000003)::float8 AS z
	FROM generate_series(1, 1000000::int8) i) s;
-- long parallel slivers along the diagonal: all boxes overlap, nothing meets
CREATE TABLE slivers AS
SELECT i AS id, -1e5 + i AS ax, -1e5 - i AS ay, -1e5::float8 AS az, 1e5 + i AS bx, 1e5 - i AS by, 1e5::float8 AS bz,
	1e5 + i + 0.01 AS cx, 1e5 - i AS cy, 1e5::float8 AS cz
FROM generate_series(1, 30000::int8) i;
CREATE VIEW slivers_between AS
SELECT id, ax + 0.5 AS ax, ay - 0.5 AS ay, az, bx + 0.5 AS bx, by - 0.5 AS by, bz, cx + 0.5 AS cx, cy - 0.5 AS cy, cz FROM slivers;
-- one tilted plane full of overlapping triangles whose exponents no filter survives: all signs are exact
CREATE TABLE plane AS
SELECT i AS id, x AS ax, y AS ay, x + y AS az, x + 4096 AS bx, y AS by, x + 4096 + y AS bz, x AS cx, y + 4096 AS cy, x + y + 4096 AS cz
FROM (SELECT i, (i % 173)::float8 AS x, (i / 173)::float8 AS y FROM generate_series(0, 29999::int8) i) s;
-- the same plane, a third of a unit finer than the filters' grid: needs long integers
CREATE TABLE long_plane AS
SELECT id, ax * 1e-200 AS ax, ay * 1e-200 AS ay, 0::float8 AS az, bx * 1e150 AS bx, by * 1e-200 AS by, 0::float8 AS bz,
	cx * 1e-200 AS cx, cy * 1e150 AS cy, 0::float8 AS cz FROM plane;
-- ten thousand times the same triangle: all time goes into rows
CREATE TABLE same AS
SELECT i AS id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 1::float8 AS bx, 0::float8 AS by, 0::float8 AS bz,
	0::float8 AS cx, 1::float8 AS cy, 1::float8 AS cz FROM generate_series(1, 20000::int8) i;
-- the same box over and over: all time goes into counting
CREATE TABLE crowd AS
SELECT i AS id, 0::float8 AS lx, 0::float8 AS ly, 1::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 400000::int8) i;
-- long keys without end
CREATE VIEW keyed AS SELECT repeat(md5(id::text), 20) AS key, s.* FROM spread s, generate_series(1, 100);
-- one row of very many triangles, as PostGIS would store them
CREATE SCHEMA fake;
CREATE TYPE fake.geometry;
CREATE FUNCTION fake.geometry_in(cstring) RETURNS fake.geometry LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
CREATE FUNCTION fake.geometry_out(fake.geometry) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'byteaout';
CREATE TYPE fake.geometry (INPUT = fake.geometry_in, OUTPUT = fake.geometry_out, STORAGE = external);
CREATE CAST (bytea AS fake.geometry) WITHOUT FUNCTION;
CREATE TABLE huge AS SELECT 1 AS id, decode('HEAD' || repeat('TRIANGLE', COUNT), 'hex')::fake.geometry AS geom;
ANALYZE;
SQL
my $triangles = 2_000_000;
my %bytes = (
	HEAD => pack('x3 C V2', 65, 15, $triangles),
	TRIANGLE => pack('V2 d<12', 14, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0));
$sql =~ s/HEAD/unpack('H*', $bytes{HEAD})/e;
$sql =~ s/'TRIANGLE', COUNT/"'" . unpack('H*', $bytes{TRIANGLE}) . "', $triangles"/e;
$node->safe_psql('postgres', $sql);
add_stopwatch($node);

my %query = (
	'reading' => "SELECT count(*) FROM redblue_triangle_pairs_query('SELECT i AS id, i + 0.5 AS ax, 1::float8 AS ay, 1::float8 AS az, 1::float8 AS bx, 1::float8 AS by, 1::float8 AS bz, 1::float8 AS cx, 1::float8 AS cy, 1::float8 AS cz FROM generate_series(1, 1000000000::int8) i', 'TABLE same')",
	'decoding' => "SELECT count(*) FROM redblue_triangle_pairs_query('SELECT h.* FROM huge h, generate_series(1, 20) ORDER BY 1', 'TABLE same')",
	'decoding a table' => "SELECT count(*) FROM redblue_triangle_pairs('huge', 'huge')",
	'grid' => "SELECT count(*) FROM redblue_triangle_pairs('spread', 'spread')",
	'candidates' => "SELECT count(*) FROM redblue_triangle_pairs('slivers', 'slivers_between')",
	'exact' => "SELECT count(*) FROM redblue_triangle_pairs('plane', 'plane')",
	'long exact' => "SELECT count(*) FROM redblue_triangle_pairs('long_plane', 'long_plane')",
	'emitting' => "SELECT count(*), max(blue_id) FROM redblue_triangle_pairs('same', 'same')",
	'counting pairs' => "SELECT count(*) FROM redblue_box_self_pairs('crowd')",
	'counting by row' => "SELECT count(*) FROM (SELECT id1, count(*) FROM redblue_box_self_pairs('crowd') GROUP BY id1) t",
	'counting' => "SELECT redblue_box_self_pair_count('crowd')",
	'reading keys' => "SELECT count(*) FROM redblue_triangle_self_pairs_by_key('keyed', 'key') AS (a text, b text)",
	'emitting keys' => "SELECT count(*) FROM redblue_triangle_pairs_by_key('same', 'same', 'id', 'id') AS (a bigint, b bigint)",
	'grouping' => "SELECT redblue_triangle_self_pair_count_query('SELECT s.*, s.id * 7919 % 500009 * 1000000007 AS object FROM spread s, generate_series(1, 3)', mesh_object => 'object')",
	'counting rows' => "SELECT sum(pairs) FROM " . counts_of(both_ways("redblue_box_self_pairs('crowd')"), 'id') . ' x',
	'marking rows' => "SELECT count(*) FROM (SELECT DISTINCT red_id FROM redblue_triangle_pairs('slivers', 'slivers_between')) h",
	'bringing pairs together' => "SELECT sum(cardinality(ids)) FROM " . groups_of("redblue_triangle_pairs('same', 'same')", 'blue_id', 'red_id') . ' x',
	'packing pairs' => "SELECT sum(n) FROM redblue_triangle_pair_blocks('same', 'same')");
my @order = ('reading', 'decoding', 'decoding a table', 'grid', 'candidates', 'exact', 'long exact', 'emitting', 'counting', 'counting pairs', 'counting by row',
	'reading keys', 'emitting keys', 'grouping', 'counting rows', 'marking rows', 'bringing pairs together', 'packing pairs');

my $session = session($node);
my $watch = session($node);

# In the other stages, nothing changes after a moment.
my %late = map { $_ => 1 } ('grid', 'counting', 'counting pairs', 'counting by row', 'reading keys', 'grouping', 'counting rows',
	'bringing pairs together', 'packing pairs');
for my $name (@order)
{
	stops_soon($session, $watch, $name, $query{$name}, 0.05, 0.3, 0.7, $late{$name} ? 1.5 : ());
	is($session->ask("SELECT pg_backend_pid()"), $session->{pid}, "the session lives after $name");
}
is($session->ask("SELECT count(*) FROM redblue_triangle_pairs_query('SELECT * FROM same WHERE id <= 100', 'SELECT * FROM same WHERE id <= 100')"),
	10000, 'and answers');

# Interrupts without effect, in the middle of a long value, which is then read completely
is($session->ask("SET client_connection_check_interval = '2ms';\n"
	  . "SELECT count(*) FROM redblue_triangle_pairs_query('TABLE huge', 'SELECT * FROM same WHERE id < 0');\n"
	  . "SELECT count FROM redblue_last_run() WHERE stage = 'read';\nRESET client_connection_check_interval"),
	"0\n1", 'a long value is read in spite of interrupts');

# After 200 timeouts in one session, it holds no more than before.
sub timeouts
{
	my ($from, $to) = @_;
	my ($cancelled, $latest) = (0, 0);
	for my $i ($from .. $to)
	{
		my $timeout = 1 + $i * 37 % 150;
		my ($so, $late) = timed_out($session, $query{ $order[ $i % @order ] }, $timeout);
		$cancelled += $so;
		$latest = max($latest, $late);
	}
	return ($cancelled, $latest);
}

my ($cancelled, $latest) = timeouts(1, 40);
my $rss = emptied_rss_kb($session);
my ($fds, $threads) = map { $_->($session->{pid}) } \&backend_fds, \&backend_threads;
my ($more, $later) = timeouts(41, 200);
$cancelled += $more;
$latest = max($latest, $later);
cmp_ok($cancelled, '>=', 190, "$cancelled of 200 statements ran into statement_timeout");
cmp_ok($latest, '<', $late_ms, sprintf('the latest worked for %.0f ms after its time', $latest));
# PostgreSQL keeps some files open for later use. A leak in every tenth query would show as 16 descriptors.
my $opened = backend_fds($session->{pid}) - $fds;
cmp_ok($opened, '<', 8, "descriptors: $fds, then $opened more");
cmp_ok(backend_threads($session->{pid}), '<=', $threads, "threads: $threads");
my $grown = emptied_rss_kb($session) - $rss;
cmp_ok($grown, '<', 40_000, "resident memory: $rss kB, then $grown kB more");
is($session->ask("SELECT count(*) FROM redblue_triangle_pairs_query('SELECT * FROM same WHERE id <= 100', 'SELECT * FROM same WHERE id <= 100')"),
	10000, 'the session answers after 200 cancels');

$session->quit;
$watch->quit;
$node->stop;
done_testing();
