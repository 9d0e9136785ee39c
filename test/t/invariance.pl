# Tests that results do not depend on threads, grid, memory, the order of sides, corners and rows, or scaling by a power
# of two.
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('invariance');
load_volmesh($node, 'red', 8, 1, 0.2);
load_volmesh($node, 'blue', 8, 2, 0.2, 0.31, 0.17, 0.23);
load_volmesh($node, 'lattice', 8, 1, 0);
load_volmesh($node, 'lattice2', 8, 2, 0, 0.5, 0.25, 0);

for my $case ([ 'red', 'blue' ], [ 'lattice', 'lattice2' ], [ 'lattice', 'lattice' ], [ 'red', 'lattice2' ])
{
	my ($red, $blue) = @$case;
	my $pairs = "redblue_triangle_pairs('$red', '$blue')";
	my $name = "$red, $blue";
	my $want = count_and_sum($node, $pairs);
	like($want, qr/^\d{4,} /, "$name: $want");

	for my $set (
		'SET redblue.threads = 1', 'SET redblue.threads = 2', 'SET redblue.threads = 7',
		map({ "SET redblue.grid_resolution = $_" } 0, 1, 2, 7, 33, 100),
		map({ "SET redblue.memory_limit = '$_'" } '64MB', '200MB', '16GB'),
		"SET redblue.threads = 7; SET redblue.grid_resolution = 3",
		"SET redblue.backend = 'cpu'", "SET work_mem = '64kB'")
	{
		is(count_and_sum($node, $pairs, $set), $want, "$name: $set");
	}
	is(count_and_sum($node, "(SELECT blue_id AS red_id, red_id AS blue_id FROM redblue_triangle_pairs('$blue', '$red')) p"),
		$want, "$name: sides swapped");

	my $xyz = sub { my ($from, $to) = @_; return "${from}x AS ${to}x, ${from}y AS ${to}y, ${from}z AS ${to}z" };
	for my $turn ([qw(b c a)], [qw(c a b)], [qw(b a c)], [qw(a c b)])
	{
		my $list = join ', ', map { $xyz->($turn->[$_], (qw(a b c))[$_]) } 0 .. 2;
		is(count_and_sum($node, "redblue_triangle_pairs_query('SELECT id, $list FROM $red', 'TABLE $blue')"),
			$want, "$name: corners of red as @$turn");
	}
	is(count_and_sum($node, "redblue_triangle_pairs_query('SELECT * FROM $red ORDER BY cz, id', 'SELECT * FROM $blue ORDER BY id DESC')"),
		$want, "$name: rows in another order");

	# Axes rotated; a mirror image
	my $axes = join ', ', map { "${_}y AS ${_}x, ${_}z AS ${_}y, ${_}x AS ${_}z" } qw(a b c);
	my $mirror = join ', ', map { "-${_}x AS ${_}x, ${_}y, ${_}z" } qw(a b c);
	for my $list ($axes, $mirror)
	{
		is(count_and_sum($node, "redblue_triangle_pairs_query('SELECT id, $list FROM $red', 'SELECT id, $list FROM $blue')"),
			$want, "$name: " . ($list eq $axes ? 'axes turned' : 'mirrored'));
	}
	# Multiplication by 2^k does not round: from 2^-900, where the smallest bits are still represented, to about 1e300.
	for my $k (-900, -500, -60, -1, 1, 30, 300, 900)
	{
		my $list = join ', ', map { my $c = $_; map { "$c$_ * 2::float8 ^ $k AS $c$_" } qw(x y z) } qw(a b c);
		is(count_and_sum($node, "redblue_triangle_pairs_query('SELECT id, $list FROM $red', 'SELECT id, $list FROM $blue')"),
			$want, "$name: times 2^$k");
	}
}

$node->stop;
done_testing();
