# Tests mesh files with a reader of another project, meshio, if it is installed.
# run: quick once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use MIME::Base64;

my $python = '/usr/bin/python3'; # Debian's, which has Debian's packages
plan skip_all => 'no meshio'
  if system("$python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec(\"meshio\") is None)' >/dev/null 2>&1") != 0;

my $node = new_server('mesh_files');
$node->safe_psql('postgres', <<'SQL');
-- two regions, and points
CREATE TABLE wall AS SELECT * FROM (VALUES
	(1, 0., 0., 0., 1., 0., 0., 0., 1., 0.), (2, 0., 0., 0., 1., 0., 0., 0., 0., 1.), (3, 0., 0., 0., 0., 1., 0., 0., 0., 1.), (4, 1., 0., 0., 0., 1., 0., 0., 0., 1.),
	(5, 0., 0., 0., 1., 0., 0., 0., 0., -1.), (6, 0., 0., 0., 0., 1., 0., 0., 0., -1.), (7, 1., 0., 0., 0., 1., 0., 0., 0., -1.)) w (id, ax, ay, az, bx, by, bz, cx, cy, cz);
CREATE TABLE inner_points AS SELECT 1 AS id, 0.2 AS x, 0.2 AS y, 0.2 AS z;
SELECT tets FROM redblue_tetrahedralize('wall', 'two', 'inner_points');
SELECT setseed(0.5);
CREATE TABLE many AS SELECT i AS id, x, y, z FROM (SELECT i, random() AS x, random() AS y, random() AS z FROM generate_series(1, 6000) i) r WHERE x + y + z < 1;
SELECT tets FROM redblue_tetrahedralize('wall', 'm', 'many');
SQL

# Facts that meshio reports: points, tetrahedra, volume, distinct regions, distinct facets
my $reader = <<'PYTHON';
import meshio, numpy, sys
for name in sys.argv[1:]:
    m = meshio.read(name)
    tets = numpy.concatenate([c.data for c in m.cells if c.type == 'tetra'])
    faces = [c.data for c in m.cells if c.type == 'triangle']
    p = m.points
    a, b, c, d = (p[tets[:, i]] for i in range(4))
    volume = numpy.einsum('ij,ij->i', b - a, numpy.cross(c - a, d - a)) / 6
    names = [k for k in m.cell_data if k in ('region', 'gmsh:physical', 'gmsh:geometrical')]
    regions = set()
    for k in names[:1]:
        for c, v in zip(m.cells, m.cell_data[k]):
            if c.type == 'tetra':
                regions |= set(int(x) for x in v)
    print(len(p), len(tets), '%.9g' % volume.sum(), volume.min() > 0, len(regions), sum(len(f) for f in faces))
PYTHON
my $dir = PostgreSQL::Test::Utils::tempdir();
PostgreSQL::Test::Utils::append_to_file("$dir/read.py", $reader);

my (%want, @files);
for my $mesh ('m', 'two')
{
	my @counts = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT (SELECT count(*) FROM ${mesh}_vertices), count(*), count(DISTINCT region), (SELECT count(*) FROM ${mesh}_faces),
	sum(((b.x - a.x) * ((c.y - a.y) * (d.z - a.z) - (c.z - a.z) * (d.y - a.y)) - (b.y - a.y) * ((c.x - a.x) * (d.z - a.z) - (c.z - a.z) * (d.x - a.x))
	+ (b.z - a.z) * ((c.x - a.x) * (d.y - a.y) - (c.y - a.y) * (d.x - a.x))) / 6)
FROM ${mesh}_tets t JOIN ${mesh}_vertices a ON a.id = v1 JOIN ${mesh}_vertices b ON b.id = v2 JOIN ${mesh}_vertices c ON c.id = v3 JOIN ${mesh}_vertices d ON d.id = v4
SQL
	for my $kind ('vtu', 'gmsh')
	{
		my $file = "$dir/$mesh." . ($kind eq 'gmsh' ? 'msh' : $kind);
		my $bytes = decode_base64($node->safe_psql('postgres', "SELECT encode(redblue_mesh_$kind('$mesh'), 'base64')"));
		open my $out, '>:raw', $file or die;
		print $out $bytes;
		close $out;
		push @files, $file;
		$want{$file} = \@counts;
	}
}
my ($said, $complaint) = ('', '');
IPC::Run::run([ $python, "$dir/read.py", @files ], '>', \$said, '2>', \$complaint);
if (!is($?, 0, 'meshio reads all files'))
{
	diag($said, $complaint);
	done_testing();
	exit 1;
}
my @said = grep /\S/, split /\n/, $said; # meshio prints empty lines
for my $file (@files)
{
	my ($vertices, $tets, $regions, $faces, $volume) = @{ $want{$file} };
	my @found = split ' ', shift(@said) // '';
	my ($name) = $file =~ m{([^/]*)$};
	is("@found[0, 1, 3, 4]", "$vertices $tets True $regions", "$name: vertices, tetrahedra, all positive, regions");
	cmp_ok(abs($found[2] - $volume), '<', 1e-7 * $volume, "$name: volume");
	is($found[5], $name =~ /msh/ ? $faces : 0, "$name: faces of facets");
}
done_testing();
