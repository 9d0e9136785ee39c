# Tests redblue_postgis: a join as one node on a device of the worker: the same rows, and cancellation and failures of
# the device, which is a fake (fake_device.c).
# run: quick once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $device = place_for_device();
fake();
my $node = new_server('join_device');
plan skip_all => 'no PostGIS' if !have_postgis($node);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION redblue_postgis;
CREATE TABLE roof AS SELECT i AS id, 'roof ' || i AS name, ST_MakeLine(ST_MakePoint(i % 300, i / 300, 0), ST_MakePoint(i % 300 + 1, i / 300 + 1, 1)) AS geom FROM generate_series(0, 59999) i;
CREATE TABLE wall AS SELECT i AS id, ST_Translate('POLYGON Z ((0.25 0 -1, 0.25 0.6 -1, 0.25 0.6 2, 0.25 0 2, 0.25 0 -1))'::geometry, i % 300, i / 300, 0) AS geom FROM generate_series(0, 59999) i;
CREATE TABLE mixed AS SELECT id, CASE WHEN id % 5 = 0 THEN ST_Force2D(geom) ELSE geom END AS geom FROM wall WHERE id < 9000;
ANALYZE roof, wall, mixed;
SQL
my $worker = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'redblue worker'";
my $s = session($node);
my $watch = session($node);
$_->ask('SET enable_nestloop = off; SET max_parallel_workers_per_gather = 0') for $s, $watch;

my %ask = (
	'intersects' => 'SELECT count(*), sum(a.id * 7 + b.id) FROM roof a JOIN wall b ON redblue_intersects(a.geom, b.geom)',
	'crosses, with a name' => 'SELECT count(*), sum(length(a.name) + b.id) FROM roof a LEFT JOIN wall b ON redblue_crosses(b.geom, a.geom)',
	'within a distance' => 'SELECT count(*), sum(a.id * 7 + b.id) FROM roof a JOIN wall b ON redblue_dwithin(a.geom, b.geom, 0.3)',
	'none' => 'SELECT count(*), sum(a.id) FROM roof a WHERE NOT EXISTS (SELECT FROM wall b WHERE redblue_intersects(a.geom, b.geom))',
	'with Z and without' => 'SELECT count(*), sum(a.id * 7 + b.id) FROM roof a JOIN mixed b ON redblue_intersects(a.geom, b.geom)',
	'again and again' => 'SELECT d, (SELECT count(*) FROM roof a JOIN mixed b ON redblue_dwithin(a.geom, b.geom, d)) FROM (VALUES (0::float8), (0.5), (NULL)) v (d)',
	'a LIMIT' => 'SELECT count(*) FROM (SELECT a.id FROM roof a JOIN wall b ON redblue_intersects(a.geom, b.geom) LIMIT 5) q');
my %answer = map { $_ => scalar $s->ask($ask{$_}) } keys %ask;
is(join(', ', grep { $answer{$_} =~ /ERROR/ || $answer{$_} !~ /\d/ } keys %ask), '', 'all has an answer');

sub explained { return scalar $s->ask("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $ask{$_[0]}") }

# ---- without the file of a device ----

like(explained('intersects'), qr/Backend: cpu\s+Device: \d+ threads?; no GPU used: redblue_cuda\.so is not installed/, 'no file for a device');
$s->ask('SET redblue.backend = cuda');
my ($out, $err) = $s->ask($ask{intersects});
like($err, qr/58000: .*redblue_intersects: no usable GPU/, 'cuda is an error');
is($watch->ask($worker), '', 'no process is started');

# The setting changes between two joins of one node.
$s->ask("BEGIN; SET LOCAL redblue.backend = auto; DECLARE c CURSOR FOR $ask{'again and again'}");
my $first = $s->ask('FETCH c');
is($first, (split /\n/, $answer{'again and again'})[0], 'the first join of a cursor');
($out, $err) = $s->ask('SET LOCAL redblue.backend = cuda; FETCH c');
like($err, qr/58000: .*redblue_dwithin: no usable GPU/, 'cuda is an error of the second one');
$s->ask('ROLLBACK');

system("cp '$ENV{FAKE_DEVICE}' '$device'") == 0 or die;

# ---- results ----

for my $way ('cuda', 'auto', 'cpu')
{
	$s->quit;
	$s = session($node);
	$s->ask("SET enable_nestloop = off; SET max_parallel_workers_per_gather = 0; SET redblue.backend = $way; SET redblue.threads = 1");
	my $n = did('join');
	is(scalar $s->ask($ask{$_}), $answer{$_}, "$way: $_") for sort keys %ask;
	if ($way eq 'cuda')
	{
		cmp_ok(did('join') - $n, '>=', 2 + scalar(keys %ask), 'all of them on the device');
		like(explained('intersects'), qr/Backend: cuda\s+Device: .*fake/i, 'and EXPLAIN knows');
	}
	is(scalar(did('join')), $n, 'none on the device') if $way eq 'cpu';
}

# ---- cancel ----

$s->ask('SET redblue.backend = cuda');
fake('join_ms 60000');
my $n = did('join');
$s->send($ask{intersects});
ok(comes_true(sub { scalar(did('join')) > $n }), 'the device has it');
like($watch->ask('SELECT function FROM redblue_progress'), qr/redblue_intersects/, 'and redblue_progress tells');
my $t0 = time();
$watch->ask("SELECT pg_cancel_backend($s->{pid})");
($out, $err) = $s->wait_for;
my $ms = 1000 * (time() - $t0);
like($err, qr/57014/, 'it is cancelled');
cmp_ok($ms, '<', $stop_seconds * 1000, sprintf('in %.0f ms', $ms));
is($watch->ask('SELECT count(*) FROM redblue_progress'), '0', 'and gone');
fake();
is(scalar $s->ask($ask{intersects}), $answer{intersects}, 'and the session answers');

# ---- a device that fails: before there are pairs, this process joins itself, if it may ----

fake('fail 0');
$s->ask('SET redblue.backend = auto');
is(scalar $s->ask($ask{intersects}), $answer{intersects}, 'auto: here');
$s->ask('SET redblue.backend = cuda');
($out, $err) = $s->ask($ask{intersects});
like($err, qr/58000: .*redblue_intersects: /, 'cuda: an error');
fake();
$s->quit;
$watch->quit;
done_testing();
