# Tests redblue.memory_limit, and a system without free memory: an ERROR states the required amount, and the session
# continues. Also tests how much memory an idle session keeps.
# run: long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('memory');
load_volmesh($node, 'red', 30, 1, 0.2);
load_volmesh($node, 'blue', 30, 2, 0.2, 0.31, 0.17, 0.23);

# The condition makes the join return pairs instead of counting them.
my $join = "SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id >= 0";
my $session = session($node);
my $answer = $session->ask($join);
like($answer, qr/^\d{7}$/, "the join without a narrow limit: $answer pairs");

# Returns true if the last join did not fit into memory and ran tile by tile (spill.pl).
sub tiled { return $session->ask("SELECT detail LIKE '% tile%, % kB in temporary files%' FROM redblue_last_run() WHERE stage = 'read'") eq 't' }

# 330,000 triangles per side have 24 MB of coordinates each. These limits are too low even for a tile.
for my $limit ('1MB', '4MB', '10MB')
{
	my (undef, $err) = $session->ask("SET redblue.memory_limit = '$limit';\n$join");
	like($err, qr/53200/, "$limit: out of memory");
	like($err, qr/redblue\.memory_limit/, "$limit: names the setting");
	like($err, qr/\d+ MB|\d+ kB|\d+ bytes/, "$limit: names numbers");
	is($session->ask('SELECT pg_backend_pid()'), $session->{pid}, "$limit: the session lives");
}
for my $limit ('20MB', '60MB')
{
	is($session->ask("SET redblue.memory_limit = '$limit';\n$join"), $answer, "$limit: the same answer");
	ok(tiled(), 'by tiles');
}
is($session->ask("RESET redblue.memory_limit;\n$join"), $answer, 'the same session answers with the limit gone');

# At the lowest limit that avoids tiles (found by bisection), and below it, the result is the same.
my ($too_small, $enough) = (60, 512);
while ($enough - $too_small > 16)
{
	my $mb = int(($too_small + $enough) / 2);
	my ($out, $err) = $session->ask("SET redblue.memory_limit = '${mb}MB';\n$join");
	if ($out eq $answer && tiled()) { $too_small = $mb; }
	elsif ($out eq $answer) { $enough = $mb; }
	else { fail("$mb MB: $out $err"); last; }
}
pass("$enough MB suffice");
# In addition to the 72 bytes of its coordinates, a triangle costs at most 160 bytes, without pairs.
my $triangles = $session->ask("SELECT (SELECT count(*) FROM red) + (SELECT count(*) FROM blue)");
cmp_ok($enough * 2**20 / $triangles, '<', 72 + 160 + 40,
	sprintf('%.0f bytes a triangle', $enough * 2**20 / $triangles));
$session->ask("RESET redblue.memory_limit");

# The amount that the error requests is sufficient. If it is computed from the sizes of the tables, everything fits into
# memory; if only from the rows, it may be too low for that, and the join runs by tiles.
$session->ask(<<'SQL');
CREATE TABLE statless AS TABLE blue;
CREATE TABLE lattice AS SELECT i AS id, i % 50 AS lx, i / 50 % 50 AS ly, i / 2500 AS lz, i % 50 + 1 AS hx, i / 50 % 50 + 1 AS hy, i / 2500 + 1 AS hz FROM generate_series(0, 124999) i;
CREATE TABLE lines AS SELECT i AS id, (i % 997)::float8 AS ax, (i / 997)::float8 AS ay, i % 997 + 0.8 AS bx, (i / 997 + 0.7)::float8 AS by FROM generate_series(1, 300000) i;
CREATE VIEW seen AS TABLE red;
ANALYZE lattice, lines;
SQL
my %needs = (
	'two volumes' => [ "redblue_triangle_pair_count('red', 'blue')", 1 ],
	'a volume and itself' => [ "redblue_triangle_self_pair_count('red')", 1 ],
	'a volume without statistics' => [ "redblue_triangle_pair_count('red', 'statless')", 1 ],
	'it comes first' => [ "redblue_triangle_pair_count('statless', 'red')", 1 ],
	'boxes of a lattice' => [ "redblue_box_self_pair_count('lattice')", 1 ],
	'lines' => [ "count(*) FROM redblue_segment_pairs('lines', 'lines')", 1 ],
	'a view' => [ "redblue_triangle_pair_count('seen', 'blue')", 0 ],
	'queries' => [ "redblue_triangle_pair_count_query('TABLE red', 'TABLE blue')", 0 ]);
if (have_postgis($node))
{
	geometry_table($node, 'red_geom', 'red');
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE red_rows AS SELECT id / 100 AS id, ST_Collect(geom ORDER BY id) AS geom FROM red_geom GROUP BY 1;
CREATE TABLE blue_rows AS SELECT id / 7 AS id, ST_Collect(ST_GeomFromText(format('TRIANGLE Z((%s %s %s,%s %s %s,%s %s %s,%1$s %2$s %3$s))', ax, ay, az, bx, by, bz, cx, cy, cz))) AS geom FROM blue GROUP BY 1;
CREATE TABLE one_row AS SELECT 1 AS id, ST_Collect(geom) AS geom FROM red_geom WHERE id < 100000;
SQL
	$needs{'a face a row'} = [ "redblue_triangle_pair_count('red_geom', 'blue')", 1 ];
	$needs{'their boxes'} = [ "redblue_box_self_pair_count('red_geom')", 1 ];
	$needs{'rows of many faces'} = [ "redblue_triangle_pair_count('red_rows', 'blue_rows')", 0 ];
	$needs{'rows of many faces and of one'} = [ "redblue_triangle_pair_count('blue', 'red_rows')", 0 ];
	$needs{'one row'} = [ "redblue_triangle_pair_count('one_row', 'blue')", 0 ];
}
for my $what (sort keys %needs)
{
	my ($count, $by_size) = @{ $needs{$what} };
	for my $start ('1MB', '4MB', '12MB')
	{
		my ($limit, $rounds, $err, $said) = ($start, 0);
		while ($rounds < 2)
		{
			(undef, $err) = $session->ask("SET redblue.memory_limit = '$limit';\nSELECT $count");
			last unless $err =~ /needs about (\d+) (kB|MB), but redblue\.memory_limit is/;
			$limit = "$1$2";
			$said .= " $limit";
			$rounds++;
		}
		is($err, '', "$what, from $start: enough") or diag($said);
		ok(!tiled(), 'for all of it at once') or diag($said) if $by_size;
		is($rounds, 1, "$what, from $start: that is known after $rounds errors:" . ($said // ''));
	}
}
$session->ask('RESET redblue.memory_limit');

# A repeated join reuses its pages.
my $again = session($node);
$again->ask("SET redblue.memory_limit = '1GB'; SET redblue.threads = 1");
my %repeated = (
	'a count' => "SELECT redblue_triangle_pair_count('red', 'blue')",
	'a count without statistics' => "SELECT redblue_triangle_pair_count('statless', 'red')",
	'a count of queries' => "SELECT redblue_triangle_pair_count_query('TABLE red', 'TABLE blue')");
for my $what (sort keys %repeated)
{
	my $empty = emptied_rss_kb($again);
	my @faults = (backend_faults($again->{pid}));
	my ($pid, $kept) = ($again->{pid}, 0);
	for (1 .. 6)
	{
		$again->ask($repeated{$what});
		push @faults, backend_faults($pid);
		$kept = backend_rss_kb($pid) if $_ == 3;
	}
	my ($first, $last) = ($faults[1] - $faults[0], $faults[6] - $faults[5]);
	cmp_ok($last, '<', $first / 4, "$what: $first new pages at first, $last at the sixth time");
	cmp_ok($kept - $empty, '>', 30_000, "$what: pages are kept meanwhile");
	cmp_ok(backend_rss_kb($pid) - $kept, '<', 20_000, "$what: and not more of them each time");
}
# Idle and used memory together stay within the limit, so a low limit leaves little idle memory.
$again->ask("SET redblue.memory_limit = '40MB'; SELECT count(*) FROM redblue_triangle_pairs_query('SELECT * FROM red LIMIT 1000', 'SELECT * FROM blue LIMIT 1000')");
cmp_ok(backend_rss_kb($again->{pid}), '<', 60_000, 'a lower limit holds for what is idle, too');
$again->quit;

# An idle session keeps a few megabytes, whatever it did before.
$node->safe_psql('postgres', "CREATE TABLE $_ AS SELECT * FROM red WHERE id < 100000") for ('third', 'third2');
my $third = "SELECT count(*) FROM redblue_triangle_pairs('third', 'third2') WHERE red_id >= 0";
my %large = (
	'a join' => $third,
	'a count' => "SELECT redblue_triangle_pair_count('third', 'third2')",
	'a join in a transaction' => "BEGIN;\n$third;\nCOMMIT",
	'a transaction that is left open' => "BEGIN;\n$third",
	'a join of a subtransaction' => "BEGIN;\nSAVEPOINT s;\n$third;\nROLLBACK TO s;\nCOMMIT",
	'a subtransaction that failed' => "BEGIN;\nSAVEPOINT s;\n$third;\nSELECT 1 / 0",
	'an error' => "SET redblue.memory_limit = '10MB';\n$third;\nRESET redblue.memory_limit",
	'an error of another statement' => "$third;\nSELECT 1 / 0",
	'a cancel' => under_timeout(100, $join),
	'a cursor that is left open' => "BEGIN;\nDECLARE c CURSOR FOR SELECT * FROM redblue_triangle_pairs('third', 'third2');\nFETCH 10 FROM c;\nROLLBACK");
my %fails = ('a subtransaction that failed' => '22012', 'an error' => '53200', 'an error of another statement' => '22012', 'a cancel' => '57014');
my (%idle, %small);
# A session that is busy with other work keeps no more.
for my $what (sort(keys %large), 'busy')
{
	my $s = $idle{$what} = session($node);
	$s->ask('SET redblue.threads = 8');
	$s->ask("SELECT redblue_triangle_pair_count_query('SELECT * FROM red LIMIT 100', 'SELECT * FROM blue LIMIT 100')");
	$small{$what} = backend_rss_kb($s->{pid});
	my (undef, $err) = $s->ask($large{$what} // $third);
	like($err, $fails{$what} ? qr/$fails{$what}/ : qr/^$/, "$what: " . ($fails{$what} // 'no error'));
}
my $holder = session($node);
$holder->ask('SELECT pg_advisory_lock(1)');
$idle{busy}->send('SELECT pg_advisory_lock(1)');
for my $what ('busy', sort keys %large)
{
	my $more;
	comes_true(sub { ($more = backend_rss_kb($idle{$what}{pid}) - $small{$what}) < 8_000 }, 120);
	cmp_ok($more, '<', 8_000, "$more kB more are kept after $what");
	next if $what eq 'busy';
	$idle{$what}->quit;
}
ok(waits_for_lock($idle{busy}, $holder), 'a statement that runs for long keeps no memory of the one before');
$holder->quit;
is($idle{busy}->wait_for, '', 'and ends as if nothing had been');
$idle{busy}->quit;

# The operating system refuses: a limited address space for this process
my $size = 1024 * Redblue::proc_status($session->{pid}, 'VmSize');
$session->quit;
for my $more (4, 16, 32, 48)
{
	my $s = session($node);
	# The library is loaded before, because its own mapping would need more than the first limit.
	$s->ask("LOAD 'redblue'; SET redblue.threads = 1");
	$size = 1024 * Redblue::proc_status($s->{pid}, 'VmSize');
	system('prlimit', "--pid=$s->{pid}", '--as=' . ($size + $more * 2**20)) == 0
	  or BAIL_OUT('prlimit does not work here');
	my ($out, $err) = $s->ask($join);
	like($err, qr/ERROR:  53200/, "$more MB of address space: an error") or diag("$out $err");
	my $pid = $s->ask('SELECT pg_backend_pid()');
	is($pid, $s->{pid}, "$more MB of address space: the session lives");
	$s->quit;
}
is($node->safe_psql('postgres', $join), $answer, 'the server answers');
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process died');

$node->stop;
done_testing();
