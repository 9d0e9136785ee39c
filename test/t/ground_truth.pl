# Compares the pairs of real and generated meshes and lines, by number and checksum and for each way to call the join,
# with results that another exact method computed.
# run: quick long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('truth');
my $biggest = long_run() ? 1e9 : 400_000;
my $postgis = have_postgis($node);
my %loaded;

# The function for a kind of row, its columns, its form for one table, and the number of dimensions
my %join = (
	tri => [ 'redblue_triangle_pairs', 'red_id', 'blue_id', 'redblue_triangle_self_pairs', 3 ],
	segtri => [ 'redblue_segment_triangle_pairs', 'segment_id', 'triangle_id', undef, 3 ],
	seg2d => [ 'redblue_segment_pairs', 'red_id', 'blue_id', 'redblue_segment_self_pairs', 2 ]);

# Loads a mesh or lines, once; returns undef if the file is not available.
sub table
{
	my ($name, $dims) = @_;
	return $loaded{$name} if exists $loaded{$name};
	my $path = data_file($name);
	return $loaded{$name} = undef unless $path;
	(my $table = $name) =~ s{.*/|\.(off|csv).*}{}g;
	if ($name =~ /\.csv/) { load_lines($node, $table, $path, $dims) }
	else { load_off($node, $table, $path) }
	return $loaded{$name} = $table;
}

# The corners of a table's objects
sub corners
{
	my ($table) = @_;
	return $node->safe_psql('postgres', "SELECT count(*) FROM pg_attribute WHERE attrelid = '$table'::regclass AND attname = 'cx'")
	  ? qw(a b c) : qw(a b);
}

# Moves blue by one double addition per coordinate.
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

# The pairs of a function, with the column names that the checksum expects
sub pairs
{
	my ($kind, $red, $blue) = @_;
	my ($function, $a, $b) = @{ $join{$kind} };
	return "(SELECT $a AS red_id, $b AS blue_id FROM $function('$red', '$blue')) p";
}

sub expect_boxes
{
	my ($kind, $red, $blue, $boxes, $name) = @_;
	my $pairs = pairs($kind, $red, $blue);
	my $got = $node->safe_psql('postgres', <<"SQL");
DO \$\$ BEGIN PERFORM count(*) FROM $pairs; END \$\$;
SELECT count FROM redblue_last_run() WHERE stage = 'candidates';
SQL
	is($got, $boxes, "$name: pairs of overlapping boxes");
	return;
}

# The bounding boxes of a table's objects
sub boxes_of
{
	my ($table, $dims, $view) = @_;
	my @corners = corners($table);
	my $list = join ', ', map {
		my $axis = (qw(x y z))[$_];
		my $all = join ', ', map { "$_$axis" } @corners;
		("least($all) AS l$axis", "greatest($all) AS h$axis")
	} 0 .. $dims - 1;
	$node->safe_psql('postgres', "DROP VIEW IF EXISTS $view; CREATE VIEW $view AS SELECT id, $list FROM $table");
	return $view;
}

# Joins consecutive pieces into lines; returns a table of the lines, and one with the line of each piece.
sub chained
{
	my ($table, $dims) = @_;
	my ($lines, $line_of) = ("${table}_lines", "${table}_line_of");
	my @axes = (qw(x y z))[ 0 .. $dims - 1 ];
	my $from = join ', ', map { "a$_" } @axes;
	my $to = join ', ', map { "b$_" } @axes;
	my $before = join ', ', map { "lag(b$_) OVER w" } @axes;
	return ($lines, $line_of) if $loaded{$lines}++;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $line_of AS SELECT id, sum(starts::int) OVER (ORDER BY id) AS line
FROM (SELECT id, ($from) IS DISTINCT FROM ($before) AS starts FROM $table WINDOW w AS (ORDER BY id)) s;
CREATE TABLE $lines AS
SELECT line AS id, ST_MakeLine((array_agg(ST_MakePoint($from) ORDER BY id))[1:1] || array_agg(ST_MakePoint($to) ORDER BY id)) AS geom
FROM $table JOIN $line_of USING (id) GROUP BY line;
ANALYZE $lines, $line_of;
SQL
	return ($lines, $line_of);
}

# Checks that the planner's estimate is within a factor of ten. For a view, the planner has no information.
sub expect_rows
{
	my ($function, $red, $blue, $count, $name) = @_;
	my $sql = '';
	for ($red, $blue)
	{
		next unless /_shifted$|_boxes$/;
		$sql .= "CREATE TABLE IF NOT EXISTS expect_$_ AS TABLE $_;\n";
		$_ = "expect_$_";
	}
	my ($rows) = $node->safe_psql('postgres', "SET client_min_messages = warning;\n${sql}EXPLAIN SELECT * FROM $function('$red', '$blue')") =~ /rows=(\d+)/;
	cmp_ok($rows, '<=', 10 * $count, "$name: not many more rows are expected: $rows");
	cmp_ok($rows, '>=', $count / 10, "$name: and not many fewer");
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS expect_red_boxes, expect_blue_boxes');
	return;
}

# Compares rows of many pieces with one row per piece.
sub expect_lines
{
	my ($kind, $red, $blue, $name) = @_;
	my $dims = $join{$kind}[4];
	my ($lines, $line_of) = chained($red, $dims);
	my ($blue_lines, $blue_line_of) = ($blue, undef);
	my $pieces = pairs($kind, $red, $blue);
	($blue_lines, $blue_line_of) = chained($blue, $dims) if $kind eq 'seg2d';
	my $blue_id = $blue_line_of ? 'b.line' : 'blue_id';
	my $blue_join = $blue_line_of ? "JOIN $blue_line_of b ON b.id = blue_id" : '';
	is(count_and_sum($node, pairs($kind, $lines, $blue_lines)),
		count_and_sum($node,
			"(SELECT DISTINCT r.line AS red_id, $blue_id AS blue_id FROM $pieces JOIN $line_of r ON r.id = red_id $blue_join) objects"),
		"$name: rows of many pieces");
	cmp_ok($node->safe_psql('postgres', "SELECT max(ST_NPoints(geom)) FROM $lines"), '>', 10, "$name: they have many");
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
	my $kind = $row{kind};
	next unless $join{$kind};
  SKIP:
	{
		skip "$row{name}: left to make test-long", 1
		  if $row{red_count} + $row{blue_count} > $biggest;
		my ($function, undef, undef, $self, $dims) = @{ $join{$kind} };
		my $red = table($row{red}, $dims);
		my $blue = table($row{blue}, $dims);
		skip "$row{name}: $row{red} or $row{blue} is not here", 1 unless $red && $blue;

		my $moved = shifted($blue, @row{qw(tx ty tz)});
		my $want = "$row{pairs} $row{checksum}";
		is(count_and_sum($node, pairs($kind, $red, $moved)), $want, "$row{name}: tables");
		expect_rows($function, $red, $moved, $row{pairs}, $row{name});
		my ($red_boxes, $blue_boxes) = (boxes_of($red, $dims, 'red_boxes'), boxes_of($moved, $dims, 'blue_boxes'));
		is(count_and_sum($node, "redblue_box_pairs('$red_boxes', '$blue_boxes')"),
			"$row{box_pairs} $row{box_checksum}", "$row{name}: boxes");
		expect_rows('redblue_box_pairs', $red_boxes, $blue_boxes, $row{box_pairs}, "$row{name}, boxes");
		is($node->safe_psql('postgres', "SELECT redblue_box_pair_count('$red_boxes', '$blue_boxes')"),
			$row{box_pairs}, "$row{name}: number of boxes");
		expect_boxes($kind, $red, $moved, $row{box_pairs}, $row{name});

		# A self join has each pair once, and no object with itself.
		if ($red eq $moved && $self)
		{
			is(count_and_sum($node, <<"SQL"), $want, "$row{name}: self join");
(WITH pairs AS MATERIALIZED (SELECT * FROM $self('$red'))
 SELECT id1 AS red_id, id2 AS blue_id FROM pairs UNION ALL SELECT id2, id1 FROM pairs
 UNION ALL SELECT id, id FROM $red) all_pairs
SQL
		}
		expect_lines($kind, $red, $moved, $row{name}) if $kind ne 'tri' && $postgis;
		next unless $kind eq 'tri';

		is(count_and_sum($node,
				"redblue_triangle_pairs_query('SELECT * FROM $red', 'TABLE $moved')"),
			$want, "$row{name}: queries");
		is($node->safe_psql('postgres', "SELECT redblue_triangle_pair_count('$red', '$moved')"),
			$row{pairs}, "$row{name}: number");
		next if $row{red_count} + $row{blue_count} > 20_000;
		skip "$row{name}: geometry (no PostGIS here)", 1 unless $postgis;
		geometry_table($node, "${red}_geom", $red)
		  unless $node->safe_psql('postgres', "SELECT to_regclass('${red}_geom') IS NOT NULL") eq 't';
		$node->safe_psql('postgres', "DROP TABLE IF EXISTS blue_geom");
		geometry_table($node, 'blue_geom', $moved);
		is(count_and_sum($node, "redblue_triangle_pairs('${red}_geom', 'blue_geom')"),
			$want, "$row{name}: geometry");
		is(count_and_sum($node, "redblue_box_pairs('${red}_geom', 'blue_geom')"),
			"$row{box_pairs} $row{box_checksum}", "$row{name}: boxes of geometry");

		# A row of many triangles is one object.
		$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS red_tin, blue_tin;
CREATE TABLE red_tin AS SELECT id / 50 AS id, ST_Collect(geom ORDER BY id) AS geom FROM ${red}_geom GROUP BY id / 50;
CREATE TABLE blue_tin AS SELECT id / 50 AS id, ST_Collect(geom ORDER BY id) AS geom FROM blue_geom GROUP BY id / 50;
SQL
		is(count_and_sum($node, "redblue_triangle_pairs('red_tin', 'blue_tin')"),
			count_and_sum($node,
				"(SELECT DISTINCT red_id / 50 AS red_id, blue_id / 50 AS blue_id FROM redblue_triangle_pairs('$red', '$moved')) objects"),
			"$row{name}: rows of 50 triangles");
		is($node->safe_psql('postgres', "SELECT redblue_triangle_pair_count('red_tin', 'blue_tin')"),
			$node->safe_psql('postgres', "SELECT count(*) FROM redblue_triangle_pairs('red_tin', 'blue_tin')"),
			"$row{name}: number of rows of 50");
	}
}
close $in;

# Generated volumes: ids from 0, the second one shifted
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
		expect_boxes('tri', 'vol_red', 'vol_blue', $boxes, $name);
	}
}

$node->stop;
done_testing();
