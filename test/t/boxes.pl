# Compares the pairs of generated boxes with those that two other programs found: number and two checksums, for self
# joins and for two sets; and their number alone.
# run: quick long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('boxes');
my $biggest = long_run() ? 1_000_000 : 100_000;
my %loaded;

# The boxes of a workload, number and seed; created once
sub boxes
{
	my ($workload, $n, $seed) = @_;
	(my $table = "${workload}_${n}_$seed") =~ s/[:.]/_/g;
	load_boxes($node, $table, $workload, $n, $seed) unless $loaded{$table}++;
	return $table;
}

# The pairs are printed as text and summed while they are read.
sub sums
{
	my ($pairs, $how) = @_;
	my $connection = $node->connstr('postgres');
	chomp(my $sums = qx{psql -XAtq -d "$connection" -c "COPY (SELECT * FROM $pairs) TO STDOUT (FORMAT csv)" | $ENV{BOXES} $how});
	return $sums;
}

open(my $in, '<', "$FindBin::Bin/../data/boxes_truth.tsv") or die "boxes_truth.tsv: $!";
<$in>;
while (my $line = <$in>)
{
	chomp $line;
	my ($join, $workload, $n, $pairs, $mix, $ij) = split /\t/, $line;
	my $name = "$join $workload $n";
  SKIP:
	{
		skip "$name: left to make test-long, or to a larger machine", 1 if $n > $biggest;
		my $red = boxes($workload, $n, 1);
		my $want = "$pairs $mix $ij";
		my $count;
		if ($join eq 'self')
		{
			is(sums("redblue_box_self_pairs('$red')", '--sum-self'), $want, "$name: pairs");
			$count = "redblue_box_self_pair_count('$red')";
		}
		else
		{
			my $blue = boxes($workload, $n, 2);
			is(sums("redblue_box_pairs('$red', '$blue')", '--sum'), $want, "$name: pairs");
			$count = "redblue_box_pair_count('$red', '$blue')";
		}
		# Counting needs no memory for pairs.
		is($node->safe_psql('postgres', "SET redblue.memory_limit = '300MB'; SELECT $count"), $pairs, "$name: number");
	}
}
close $in;

# Values of type cube give the same pairs.
SKIP:
{
	skip 'no cube here', 1 unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'cube'");
	my $table = boxes('gauss', 100_000, 1);
	my ($want) = map { join ' ', (split /\t/)[ 3 .. 5 ] } grep { /^self\tgauss\t100000\t/ }
	  split /\n/, slurp_file("$FindBin::Bin/../data/boxes_truth.tsv");
	$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION cube;
CREATE TABLE cubes AS SELECT id, cube(ARRAY[hx, ly, lz], ARRAY[lx, hy, hz]) AS c FROM $table;
SQL
	is(sums("redblue_box_self_pairs('cubes')", '--sum-self'), $want, 'cubes, corners in another order');
	$node->safe_psql('postgres', 'DROP TABLE cubes');
}

$node->stop;
done_testing();
