# Tests data that are hard for a uniform grid: distant clusters, a giant, a crowd in one cell, ten thousand copies of a
# triangle.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(min);
use Time::HiRes qw(time);

my $many = long_run() ? 1_000_000 : 200_000;
my $node = new_server('skew', "redblue.memory_limit = '4GB'\n");
$node->safe_psql('postgres', <<"SQL");
SELECT setseed(0.25);
CREATE FUNCTION small(n int8, dx float8)
RETURNS TABLE (id int8, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8)
LANGUAGE sql VOLATILE AS \$\$
	SELECT i, x, y, z, x + 1, y + random(), z, x, y + 1, z + random()
	FROM (SELECT i, dx + 50 * random() AS x, dx + 50 * random() AS y, dx + 50 * random() AS z FROM generate_series(1, n) i OFFSET 0) s
\$\$;
-- two dense clusters, 1e9 apart
CREATE TABLE clusters AS SELECT * FROM small($many / 2, 0)
	UNION ALL SELECT id + 1000000, ax, ay, az, bx, by, bz, cx, cy, cz FROM small($many / 2, 1e9);
-- the left one alone: it must cost the same alone
CREATE TABLE cluster AS SELECT * FROM clusters WHERE id <= 1000000;
-- one giant over all
CREATE TABLE giant (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO giant VALUES (1, -1e6, -1e6, 24.7, 1e6, -1e6, 25.1, 0, 1e6, 25.3);
CREATE TABLE spread AS SELECT * FROM small($many, 0);
-- a crowd inside one cell of the grid that the two corners span
CREATE TABLE crowd AS SELECT * FROM small($many, 0)
	UNION ALL SELECT 2000001, 1e7, 1e7, 1e7, 1e7, 1e7, 1e7, 1e7, 1e7, 1e7
	UNION ALL SELECT 2000002, -1e7, -1e7, -1e7, -1e7, -1e7, -1e7, -1e7, -1e7, -1e7;
CREATE TABLE same AS SELECT i AS id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 1::float8 AS bx, 0::float8 AS by,
	0::float8 AS bz, 0::float8 AS cx, 1::float8 AS cy, 1::float8 AS cz FROM generate_series(1, 10000::int8) i;
ANALYZE;
SQL

# The result, and the seconds of CPU time; elapsed time depends on what else the machine does.
my $worker = session($node);
sub timed
{
	my ($sql) = @_;
	my $before = work_ms($worker->{pid});
	my ($answer) = $worker->ask($sql);
	return ($answer, (work_ms($worker->{pid}) - $before) / 1000);
}

# Measures two statements again until the first takes less than `more` s plus `times` the time of the second. Work that
# grows out of proportion is out of it each time.
sub in_proportion
{
	my ($name, $sql, $seconds, $more, $times) = @_;
	for my $try (1 .. 4)
	{
		last if $seconds->[0] < $more + $times * $seconds->[1];
		$seconds->[$_] = min($seconds->[$_], (timed($sql->[$_]))[1]) for 0, 1;
	}
	return cmp_ok($seconds->[0], '<', $more + $times * $seconds->[1], sprintf('%s: %.1f s against %.1f s', $name, @$seconds));
}

# Clusters: each half joins itself, and there are no pairs across.
my @clusters = map { "SELECT count(*) FROM redblue_triangle_pairs('$_', '$_')" } 'clusters', 'cluster';
my ($both, $t_both) = timed($clusters[0]);
my ($left, $t_left) = timed($clusters[1]);
my ($lhs, $rhs) = split /\|/, $node->safe_psql('postgres',
	"SELECT count(*) FILTER (WHERE red_id <= 1000000 AND blue_id <= 1000000), count(*) FILTER (WHERE red_id > 1000000 AND blue_id > 1000000) FROM redblue_triangle_pairs('clusters', 'clusters')");
is($lhs, $left, sprintf('two clusters 1e9 apart: the left half alone says the same (%d pairs, %.1f s)', $left, $t_left));
is($lhs + $rhs, $both, sprintf('no pair across (%d pairs, %.1f s)', $both, $t_both));
cmp_ok(abs($rhs - $lhs), '<', $lhs / 10, 'the right half has about as many');
in_proportion('cost stays in proportion', \@clusters, [ $t_both, $t_left ], 2, 8);

# Giant: the plane sides of all corners, in numeric arithmetic, give the truth.
my ($hit, $t_hit) = timed("SELECT count(*) FROM redblue_triangle_pairs('giant', 'spread')");
my $truth = $node->safe_psql('postgres', <<'SQL');
SELECT count(*) FROM spread s, giant g,
	LATERAL (SELECT redblue_orient3d(g.ax, g.ay, g.az, g.bx, g.by, g.bz, g.cx, g.cy, g.cz, s.ax, s.ay, s.az) AS a,
		redblue_orient3d(g.ax, g.ay, g.az, g.bx, g.by, g.bz, g.cx, g.cy, g.cz, s.bx, s.by, s.bz) AS b,
		redblue_orient3d(g.ax, g.ay, g.az, g.bx, g.by, g.bz, g.cx, g.cy, g.cz, s.cx, s.cy, s.cz) AS c) o
WHERE least(a, b, c) <= 0 AND greatest(a, b, c) >= 0
SQL
is($hit, $truth, sprintf('one giant over %d small ones: %d pairs (%.1f s)', $many, $hit, $t_hit));
cmp_ok($hit, '>', 100, 'and not an empty answer');
is($node->safe_psql('postgres', "SELECT count(*) FROM redblue_triangle_pairs('spread', 'giant')"), $truth, 'swapped');

# Crowd: the result must be the same as without the two distant corners.
my @crowds = ("SELECT count(*) FROM redblue_triangle_pairs('crowd', 'crowd')",
	"SELECT count(*) FROM redblue_triangle_pairs_query('SELECT * FROM crowd WHERE id < 2000000', 'SELECT * FROM crowd WHERE id < 2000000')");
my ($alone, $t_alone) = timed($crowds[1]);
my ($crowd, $t_crowd) = timed($crowds[0]);
is($crowd, $alone + 2, sprintf('%d in one cell: %d pairs (%.1f s)', $many, $crowd, $t_crowd));
in_proportion('in proportion', \@crowds, [ $t_crowd, $t_alone ], 3, 5);

# Identical: 10^8 pairs are returned, but not held in memory.
my $session = session($node);
$session->ask("SET work_mem = '16MB'");
$session->ask("SELECT count(*) FROM redblue_triangle_pairs('giant', 'spread')");
my $n = long_run() ? 10000 : 3000;
my $before = backend_rss_kb($session->{pid});
my $peak = $before;
my $t0 = time;
$session->send("SELECT count(*) FROM redblue_triangle_pairs_query('SELECT * FROM same WHERE id <= $n', 'SELECT * FROM same WHERE id <= $n') WHERE blue_id > 0");
while ($session->{out} !~ /^done/m && time - $t0 < 3600)
{
	my $now = backend_rss_kb($session->{pid});
	$peak = $now if $now > $peak;
	Time::HiRes::sleep(0.02);
	$session->{run}->pump_nb;
}
is($session->wait_for, $n * $n, sprintf('%d x %d identical: %.0e pairs (%.1f s)', $n, $n, $n * $n, time - $t0));
cmp_ok($peak - $before, '<', 200_000, sprintf('held in at most %d kB', $peak - $before));
$_->quit for $session, $worker;

$node->stop;
done_testing();
