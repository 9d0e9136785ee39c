# Tests that eight concurrent sessions get the same result as a single one.
# run: quick
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('concurrency');
load_volmesh($node, 'red', 10, 1, 0.2);
load_volmesh($node, 'blue', 10, 2, 0.2, 0.31, 0.17, 0.23);
load_volmesh($node, 'lattice', 8, 2, 0, 0.5, 0.25, 0);
my $pairs = "redblue_triangle_pairs('red', 'blue')";
my $touching = "redblue_triangle_pairs('red', 'lattice')";
my $alone = count_and_sum($node, $pairs);
my $alone2 = count_and_sum($node, $touching);

# A wrong result causes a division by zero.
my $script = "$ENV{TESTDIR}/script.sql";
append_to_file($script, "SET redblue.threads = 2;\n"
	  . "SELECT 1 / (CASE WHEN (" . checksum_of($pairs) . ") = '$alone' THEN 1 ELSE 0 END);\n"
	  . "SELECT 1 / (CASE WHEN (" . checksum_of($touching) . ") = '$alone2' THEN 1 ELSE 0 END);\n"
	  . "SELECT 1 / count(*)::int FROM redblue_triangle_self_pairs('lattice');\n");
$node->command_checks_all(
	[ 'pgbench', '-n', '-c', 8, '-j', 2, '-t', 5, '-f', $script, 'postgres' ],
	0,
	[qr{transactions actually processed: 40/40}],
	[qr/^(?!.*ERROR)/s],
	'eight sessions, five rounds each');

# A session that is killed during a join does not affect others.
$node->safe_psql('postgres', "CREATE TABLE same AS SELECT i AS id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 1::float8 AS bx, 0::float8 AS by, 0::float8 AS bz, 0::float8 AS cx, 1::float8 AS cy, 1::float8 AS cz FROM generate_series(1, 20000::int8) i");
my $victim = session($node);
my $other = session($node);
$victim->send("SELECT max(red_id) FROM redblue_triangle_pairs('same', 'same')");
select(undef, undef, undef, 0.5);
is($other->ask("SELECT pg_terminate_backend($victim->{pid}, 60000)"), 't', 'pg_terminate_backend ends a running join');
is($other->ask(checksum_of($pairs)), $alone, 'the others go on');
$other->quit;
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process died');

$node->stop;
done_testing();
