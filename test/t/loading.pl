# Tests the recipe for CityJSON in doc/loading.md, with files of other versions and all types of geometry, and with a
# level of detail that the file does not contain.
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use Pages;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use JSON::PP;
use Test::More;

my $top = "$FindBin::Bin/..";
my $node = PostgreSQL::Test::Cluster->new('loading');
$node->init;
$node->append_conf('postgresql.conf', "search_path = 'public'");
$node->start;
plan skip_all => 'no PostGIS here' unless have_postgis($node);
mkdir "$ENV{TESTDIR}/cities";
chdir "$ENV{TESTDIR}/cities" or die;
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
my @recipe = grep { ($_->[0] eq 'CityJSON' || $_->[0] eq 'Loading data') && $_->[1] ne 'text' } page_blocks("$top/doc/loading.md");

# ---- files ----

my @vertices;

# The six faces of a box, each a list of one ring, with normals that point outward or inward
sub box
{
	my ($x, $y, $z, $size, $inward) = @_;
	my $first = @vertices;
	push @vertices, map { [ $x + $size * ($_ & 1), $y + $size * ($_ >> 1 & 1), $z + $size * ($_ >> 2) ] } 0 .. 7;
	my @rings = ([ 0, 2, 3, 1 ], [ 4, 5, 7, 6 ], [ 0, 1, 5, 4 ], [ 2, 6, 7, 3 ], [ 0, 4, 6, 2 ], [ 1, 3, 7, 5 ]);
	return [ map { my @ring = map { $_ + $first } @$_; [ $inward ? [ reverse @ring ] : \@ring ] } @rings ];
}

# Loads the file into a new database with the page's blocks; returns the errors of the blocks.
sub load_city
{
	my ($db, $city, $lod) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	local $ENV{PGDATABASE} = $db;
	open my $file, '>', 'town.city.json' or die;
	print $file JSON::PP->new->pretty->canonical->encode($city);
	close $file;
	my ($out, $err) = ('', '');
	for (@recipe)
	{
		my ($kind, $block) = @$_[ 1, 2 ];
		$block =~ s/'2\.2'/'$lod'/g;
		# As if pasted into psql: an error does not stop it.
		my (undef, $said, $complaint) = $kind eq 'sql' ? run_block($kind, "\\set ON_ERROR_STOP 0\n$block") : run_block($kind, $block);
		$out .= $said;
		$err .= $complaint;
	}
	return ($out, $err);
}

# ---- each type of geometry, in version 2.0 ----

sub surfaces { return [ map { { type => $_ } } @_ ] }
my $left = box(0, 0, 0, 10);
my $right = box(10, 0, 0, 10);
my ($hall, $hollow) = (box(100, 0, 0, 30), box(110, 10, 10, 10, 1));
my $apart = box(200, 0, 0, 10);
my $plate = box(300, 0, 0, 30)->[1];
push @$plate, box(310, 10, 20, 10)->[1][0];
my $sheet = box(400, 0, 0, 10);
my $origin = push(@vertices, [ 500, 0, 0 ], [ 600, 0, 0 ]) - 2;
my @templates = @{ box(0, 0, 0, 2) };
my @template_vertices = splice @vertices, -8;
my $base = @vertices;
$_->[0] = [ map { $_ - $base } @{ $_->[0] } ] for @templates;
my %every = (
	type => 'CityJSON', version => '2.0',
	transform => { scale => [ 0.1, 0.1, 0.1 ], translate => [ 1000, 2000, 0 ] },
	metadata => { referenceSystem => 'https://www.opengis.net/def/crs/EPSG/0/7415' },
	'geometry-templates' => { 'vertices-templates' => \@template_vertices, templates => [
			{ type => 'MultiPoint', lod => '2.2', boundaries => [0] },
			{ type => 'Solid', lod => '2.2', boundaries => [ \@templates ] } ] },
	CityObjects => {
		twins => { type => 'Building', geometry => [ { type => 'CompositeSolid', lod => '2.2', boundaries => [ [$left], [$right] ],
				semantics => { surfaces => surfaces('WallSurface', 'RoofSurface'), values => [ [ [ 0, 1, 0, 0, undef, 0 ] ], undef ] } } ] },
		halls => { type => 'Building', children => ['hall'] },
		hall => { type => 'BuildingPart', parents => [ 'quarter', 'halls' ], children => ['room'] },
		room => { type => 'BuildingRoom', parents => ['hall'], geometry => [
				{ type => 'MultiSolid', lod => '2.2', boundaries => [ [ $hall, $hollow ], [$apart] ],
					semantics => { surfaces => surfaces('CeilingSurface', 'InteriorWallSurface'), values => [ [ undef, [ (1) x 6 ] ], [ [ (0) x 6 ] ] ] } } ] },
		plate => { type => 'Road', geometry => [ { type => 'MultiSurface', lod => '2.2', boundaries => [$plate] },
				{ type => 'MultiLineString', lod => '2.2', boundaries => [ [ 0, 1 ] ] } ] },
		sheet => { type => 'TINRelief', geometry => [ { type => 'CompositeSurface', lod => '2.2', boundaries => [ @$sheet, [ [ 0, 1 ] ], [] ],
				semantics => { surfaces => surfaces('Ground'), values => undef } } ] },
		tree => { type => 'SolitaryVegetationObject', geometry => [ map { { type => 'GeometryInstance', template => 1, boundaries => [$_],
						transformationMatrix => [ 0, -3, 0, 7, 3, 0, 0, 0, 0, 0, 3, 5, 0, 0, 0, 1 ] } } $origin, $origin + 1 ] },
		post => { type => 'CityFurniture', geometry => [ { type => 'GeometryInstance', template => 0, boundaries => [0], transformationMatrix => [ 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 ] } ] },
		rough => { type => 'Building', geometry => [ { type => 'Solid', lod => '1', boundaries => [ box(700, 0, 0, 10) ] } ] },
		quarter => { type => 'CityObjectGroup', children => ['hall'] } });
$every{vertices} = [@vertices];
my ($out, $err) = load_city('every', \%every, '2.2');
like($out, qr/^ Building +\| CompositeSolid +\| +1 \| +2 \| +12$/m, 'a composite of two solids');
like($out, qr/^ BuildingRoom +\| MultiSolid +\| +1 \| +2 \| +18$/m, 'two solids, one with a cavity');
like($out, qr/^ Road +\| MultiSurface +\| +1 \| +1 \| +1$/m, 'a surface');
like($out, qr/^ SolitaryVegetationObject +\| Solid +\| +1 \| +2 \| +12$/m, 'two instances of a template');
like($out, qr/^ TINRelief +\| CompositeSurface +\| +1 \| +1 \| +6$/m, 'a composite surface');
like($err, qr/not loaded: geometries of points or lines: 2, objects without a face of lod 2\.2: 2, faces of fewer than 3 corners: 2\n/, 'what was left out is counted');
unlike($err, qr/ERROR/, 'no error');
is($node->safe_psql('every', 'SELECT object, solid, count(DISTINCT shell) FROM city_face WHERE shell IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2'),
	"room|2|2\nroom|3|1\ntree|5|1\ntree|6|1\ntwins|7|1\ntwins|8|1", 'each solid is a solid');
is($node->safe_psql('every', "SELECT DISTINCT building FROM city_face WHERE object = 'room'"), 'halls', 'a room is of the building above its part, not of the group');
is($node->safe_psql('every', 'SELECT object, surface, count(*) FROM city_face WHERE surface IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2'),
	"room|CeilingSurface|6\nroom|InteriorWallSurface|6\ntwins|RoofSurface|1\ntwins|WallSurface|4", 'what a surface is, by solid and shell');
is($node->safe_psql('every', 'SELECT id, faces FROM redblue_solid_check(\'city_face\', solid => \'solid\') WHERE closed AND oriented AND self_intersections = 0 ORDER BY 1'),
	"2|12\n3|6\n4|6\n5|6\n6|6\n7|6\n8|6", 'all closed ones are solids, and turned as the file turns them');
is($node->safe_psql('every', <<'SQL'), "1|2\n3|3\n4|5\n5|8", 'points inside: not in the cavity, nor in the hole of a surface');
SELECT * FROM (SELECT point_id, solid_id FROM redblue_points_in_solids_query(
	'SELECT * FROM (VALUES (1, 1010.5::float8, 2000.5::float8, 0.5::float8), (2, 1011.5, 2001.5, 1.5), (3, 1020.5, 2000.5, 0.5),
		(4, 1053.5, 2000.5, 6), (5, 1001.5, 2000.5, 0.5)) p (id, x, y, z)',
	'SELECT solid, geom FROM city_face WHERE solid <> 1', solid => 'solid')) p ORDER BY 1
SQL
is($node->safe_psql('every', "SELECT round(ST_Area(geom) * 100), ST_NRings(geom), ST_SRID(geom) FROM city_face WHERE object = 'plate'"), '800|2|7415', 'a hole; the SRID of the file');
is($node->safe_psql('every', "SELECT ST_3DExtent(geom) FROM city_face WHERE object = 'tree' AND solid = 5"), 'BOX3D(1051 2000 5,1057 2006 11)', 'an instance is turned, scaled and moved');

# ---- version 1.0: lod is a number; there is neither a transform nor a reference system ----

@vertices = ();
my $small = box(0.1, 0.2, 0.3, 1);
my %old = (type => 'CityJSON', version => '1.0', vertices => \@vertices, CityObjects => {
		hut => { type => 'Building', geometry => [ { type => 'Solid', lod => 2, boundaries => [$small] } ] },
		none => { type => 'Building', geometry => undef },
		bare => { type => 'Building' } });
($out, $err) = load_city('old', \%old, '2');
is($err, '', 'version 1.0 without a warning');
is($node->safe_psql('old', 'SELECT lod, count(*), min(ST_XMin(geom)), min(ST_SRID(geom)) FROM city_face GROUP BY lod'), '2|6|0.1|0', 'version 1.0');
$old{CityObjects}{hut}{geometry}[0]{lod} = 1.3;
($out, $err) = load_city('one_three', \%old, '1.3');
is($node->safe_psql('one_three', 'SELECT lod, count(*) FROM city_face GROUP BY lod'), '1.3|6', 'a number with a fraction');

# ---- another lod ----

($out, $err) = load_city('trap', \%every, '3');
like($err, qr/ERROR:  nothing was loaded: no face has lod 3\nDETAIL:  Geometries with faces in the file: 1 of lod 1, 6 of lod 2\.2\./, 'the error names the lods of the file');
is($node->safe_psql('trap', 'SELECT count(*) FROM city_face'), 0, 'nothing is loaded');
is($node->safe_psql('trap', 'SELECT (SELECT count(*) FROM cityjson), (SELECT count(*) > 0 FROM city_vertex)'), '1|t', 'what was read is still there');
is($node->safe_psql('trap', "SELECT sum(faces) FROM city_load('1')"), 6, 'and another lod can be loaded');
is($node->safe_psql('trap', "SELECT sum(faces) FROM city_load('2.2'); SELECT count(*) FROM city_face"), "49\n49", 'in place of the one before');

# A vertex that the file does not contain
$old{CityObjects}{hut}{geometry}[0]{boundaries}[0][3][0][1] = 99;
($out, $err) = load_city('gap', \%old, '1.3');
like($err, qr/null value in column "geom"/, 'a vertex that is missing is an error');

# ---- the readers of STL and PLY ----

SKIP:
{
	skip 'no python3 here', 9 unless grep { $_ eq 'python3' } page_programs();
	for my $name ('stl', 'ply')
	{
		my ($script) = slurp_file("$top/doc/loading.md") =~ /^cat >$name\.py <<'END'\n(.*?)^END$/ms;
		append_to_file("$name.py", $script);
	}

	# The output of the reader for a file with these bytes, or undef if it fails
	sub read_by
	{
		my ($reader, $bytes) = @_;
		open my $file, '>:raw', 'shape' or die;
		print $file $bytes;
		close $file;
		my ($out, $err) = ('', '');
		return IPC::Run::run([ 'python3', "$reader.py", 'shape' ], '>', \$out, '2>', \$err) ? $out : undef;
	}
	my $facet = pack 'f<12v', 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0.5, 0.1, 0;
	is(read_by('stl', pack('A80V', 'solid by a program that calls a binary file so', 1) . $facet . 'more'), "1,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.5,0.10000000149011612\n", 'a binary STL');
	is(read_by('stl', pack('A80V', '', 2) . $facet), undef, 'a binary STL that is cut off');
	is(read_by('stl', join "\r\n", 'SOLID a', map({ ('FACET NORMAL 0 0 1', 'OUTER LOOP', 'VERTEX 0 0 0', 'VERTEX 1 0 0', "VERTEX 0 $_ 1e-3", 'ENDLOOP', 'ENDFACET') } 1, 2), 'ENDSOLID a', ''),
		"1,0,0,0,1,0,0,0,1,1e-3\n1,0,0,0,1,0,0,0,2,1e-3\n", 'an STL of capitals and two bytes at the end of a line');
	is(read_by('stl', 'solid nothing'), undef, 'an STL without facets');
	is(read_by('stl', join "\n", 'solid a', 'facet normal 0 0 1', 'outer loop', 'vertex 0 0 0', 'vertex 1 0 0', 'endloop'), undef, 'a facet of two corners');
	for (['little', 'f<', 'l<'], ['big', 'f>', 'l>'])
	{
		my ($order, $float, $int) = @$_;
		is(read_by('ply', "ply\nformat binary_${order}_endian 1.0\nelement vertex 4\nproperty float x\nproperty uchar grey\nproperty double y\nproperty float z\n"
					. "element edge 1\nproperty list uchar int ends\nelement face 2\nproperty list uchar int vertex_index\nproperty float quality\nend_header\n"
					. join('', map { pack("${float}C" . ($order eq 'big' ? 'd>' : 'd<') . $float, $_->[0], 10, $_->[1], $_->[2]) } [ 0, 0, 0 ], [ 0.5, 0, 0 ], [ 0.5, 0.1, 0 ], [ 0, 0.1, -2 ])
					. pack("C$int$int", 2, 0, 1) . pack("C$int$int$int$float", 3, 0, 1, 2, 1) . pack("C$int$int$int$int$float", 4, 0, 1, 2, 3, 1)),
			"POLYGON Z((0.0 0.0 0.0, 0.5 0.0 0.0, 0.5 0.1 0.0, 0.0 0.0 0.0))\nPOLYGON Z((0.0 0.0 0.0, 0.5 0.0 0.0, 0.5 0.1 0.0, 0.0 0.1 -2.0, 0.0 0.0 0.0))\n",
			"a binary PLY, $order endian");
	}
	my $text = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n";
	is(read_by('ply', "${text}end_header\n0 0 0\n"), undef, 'a PLY of points');
	is(read_by('ply', "${text}element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n3 0 0 -1\n"), undef, 'a PLY with a corner that it does not have');
}

$node->stop;
done_testing();
