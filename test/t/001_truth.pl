# The pairs of real and generated meshes against answers that were computed with
# another exact method: count and checksum, through every way in.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('truth');
my $biggest = long_run() ? 1e9 : 400_000;
my %loaded;

# loads a mesh once; undef when its file is not here
sub mesh
{
	my ($name) = @_;
	return $loaded{$name} if exists $loaded{$name};
	my $path = data_file($name);
	return $loaded{$name} = undef unless $path;
	(my $table = $name) =~ s{.*/|\.off.*}{}g;
	load_off($node, $table, $path);
	return $loaded{$name} = $table;
}

# blue is moved by one double addition per coordinate
sub shifted
{
	my ($table, @by) = @_;
	return $table unless grep { $_ != 0 } @by;
	my $view = "${table}_shifted";
	my $list = join ', ', map {
		my $corner = $_;
		map { "$corner" . (qw(x y z))[$_] . " + $by[$_]::float8 AS $corner" . (qw(x y z))[$_] } 0 .. 2
	} qw(a b c);
	$node->safe_psql('postgres', "CREATE OR REPLACE VIEW $view AS SELECT id, $list FROM $table");
	return $view;
}

sub expect_boxes
{
	my ($red, $blue, $boxes, $name) = @_;
	my $got = $node->safe_psql('postgres', <<"SQL");
DO \$\$ BEGIN PERFORM count(*) FROM redblue_triangle_pairs('$red', '$blue'); END \$\$;
SELECT count FROM redblue_last_run() WHERE stage = 'candidates';
SQL
	is($got, $boxes, "$name: pairs of overlapping boxes");
	return;
}

my ($truth) = grep { -r } "$FindBin::Bin/../data/truth.csv",
  defined $ENV{REDBLUE_DATA} ? "$ENV{REDBLUE_DATA}/truth.csv" : ();
open(my $in, '<', $truth) or die "truth.csv: $!";
chomp(my $head = <$in>);
my @names = split /,/, $head;
while (my $line = <$in>)
{
	chomp $line;
	my %row;
	@row{@names} = split /,/, $line;
	next unless $row{kind} eq 'tri';
  SKIP:
	{
		skip "$row{name}: left to make test-long", 1
		  if $row{red_count} + $row{blue_count} > $biggest;
		my $red = mesh($row{red});
		my $blue = mesh($row{blue});
		skip "$row{name}: $row{red} or $row{blue} is not here", 1 unless $red && $blue;

		my $moved = shifted($blue, @row{qw(tx ty tz)});
		my $want = "$row{pairs} $row{checksum}";
		is(count_and_sum($node, "redblue_triangle_pairs('$red', '$moved')"), $want, "$row{name}: tables");
		is(count_and_sum($node,
				"redblue_triangle_pairs_query('SELECT * FROM $red', 'TABLE $moved')"),
			$want, "$row{name}: queries");
		expect_boxes($red, $moved, $row{box_pairs}, $row{name});

		# a self join has each pair once, and no triangle with itself
		if ($red eq $moved)
		{
			is(count_and_sum($node, <<"SQL"), $want, "$row{name}: self join");
(WITH pairs AS MATERIALIZED (SELECT * FROM redblue_triangle_self_pairs('$red'))
 SELECT id1 AS red_id, id2 AS blue_id FROM pairs UNION ALL SELECT id2, id1 FROM pairs
 UNION ALL SELECT id, id FROM $red) all_pairs
SQL
		}

		next if $row{red_count} + $row{blue_count} > 20_000;
		skip "$row{name}: geometry (no PostGIS here)", 1 unless have_postgis($node);
		geometry_table($node, "${red}_geom", $red)
		  unless $node->safe_psql('postgres', "SELECT to_regclass('${red}_geom') IS NOT NULL") eq 't';
		$node->safe_psql('postgres', "DROP TABLE IF EXISTS blue_geom");
		geometry_table($node, 'blue_geom', $moved);
		is(count_and_sum($node, "redblue_triangle_pairs('${red}_geom', 'blue_geom')"),
			$want, "$row{name}: geometry");

		# a row of many triangles is one object
		$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS red_tin, blue_tin;
CREATE TABLE red_tin AS SELECT id / 50 AS id, ST_Collect(geom ORDER BY id) AS geom FROM ${red}_geom GROUP BY id / 50;
CREATE TABLE blue_tin AS SELECT id / 50 AS id, ST_Collect(geom ORDER BY id) AS geom FROM blue_geom GROUP BY id / 50;
SQL
		is(count_and_sum($node, "redblue_triangle_pairs('red_tin', 'blue_tin')"),
			count_and_sum($node,
				"(SELECT DISTINCT red_id / 50 AS red_id, blue_id / 50 AS blue_id FROM redblue_triangle_pairs('$red', '$moved')) objects"),
			"$row{name}: rows of 50 triangles");
	}
}
close $in;

# generated volumes: ids from 0, second one shifted
my @volumes = (
	[ 18, 0.2, '0.31 0.17 0.23', '838640 899945720207035', 4652607 ],
	[ 18, 0, '0.5 0.25 0', '1036817 1113670983893248', 5514844 ],
	[ 40, 0.2, '0.31 0.17 0.23', '9434144 10132551968125008', 53190546 ]);
for my $volume (@volumes)
{
	my ($n, $jitter, $shift, $want, $boxes) = @$volume;
  SKIP:
	{
		skip "volmesh $n: left to make test-long", 1 if $n > 18 && !long_run();
		my $name = "volmesh $n, jitter $jitter";
		$node->safe_psql('postgres', 'DROP TABLE IF EXISTS vol_red, vol_blue');
		load_volmesh($node, 'vol_red', $n, 1, $jitter);
		load_volmesh($node, 'vol_blue', $n, 2, $jitter, $shift);
		is(count_and_sum($node, "redblue_triangle_pairs('vol_red', 'vol_blue')"), $want, "$name: tables");
		is(count_and_sum($node, "(SELECT blue_id AS red_id, red_id AS blue_id FROM redblue_triangle_pairs('vol_blue', 'vol_red')) p"),
			$want, "$name: swapped");
		expect_boxes('vol_red', 'vol_blue', $boxes, $name);
	}
}

$node->stop;
done_testing();
