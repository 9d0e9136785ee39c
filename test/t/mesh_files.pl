# Tests mesh files with readers of other projects, those of meshio, VTK, Gmsh and CalculiX that are installed.
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
my %installed = map { $_ => system("$python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec(\"$_\") is None)' >/dev/null 2>&1") == 0 }
  qw(meshio vtk gmsh h5py);
# meshio reads no XDMF file without h5py, not even one whose numbers are text.
$installed{'meshio with h5py'} = $installed{meshio} && delete $installed{h5py};
$installed{ccx} = system('ccx -v >/dev/null 2>&1') >> 8 == 0 || -x '/usr/bin/ccx';
plan skip_all => 'neither meshio nor VTK nor Gmsh' unless grep $_, values %installed;

my $node = new_server('mesh_files');
$node->safe_psql('postgres', <<'SQL');
-- two regions, and points
CREATE TABLE wall AS SELECT * FROM (VALUES
	(1, 0., 0., 0., 1., 0., 0., 0., 1., 0.), (2, 0., 0., 0., 1., 0., 0., 0., 0., 1.), (3, 0., 0., 0., 0., 1., 0., 0., 0., 1.), (4, 1., 0., 0., 0., 1., 0., 0., 0., 1.),
	(5, 0., 0., 0., 1., 0., 0., 0., 0., -1.), (6, 0., 0., 0., 0., 1., 0., 0., 0., -1.), (7, 1., 0., 0., 0., 1., 0., 0., 0., -1.)) w (id, ax, ay, az, bx, by, bz, cx, cy, cz);
CREATE TABLE inner_points AS SELECT 1 AS id, 0.2 AS x, 0.2 AS y, 0.2 AS z;
SELECT tets FROM redblue_tetrahedralize('wall', 'two', 'inner_points');
-- a box with an inner square, each of whose sides is a fault
CREATE TABLE fault AS WITH corner (i, x, y, z) AS (SELECT i, 10. * (i & 1), 10. * (i >> 1 & 1), 10. * (i >> 2) FROM generate_series(0, 7) i
	UNION ALL SELECT 8 + i, 3. + 4. * (i & 1), 3. + 4. * (i >> 1), 5. FROM generate_series(0, 3) i),
	face (id, a, b, c) AS (VALUES (1, 0, 2, 3), (2, 0, 3, 1), (3, 4, 5, 7), (4, 4, 7, 6), (5, 0, 1, 5), (6, 0, 5, 4), (7, 1, 3, 7), (8, 1, 7, 5),
		(9, 3, 2, 6), (10, 3, 6, 7), (11, 2, 0, 4), (12, 2, 4, 6), (13, 8, 9, 10), (14, 9, 10, 11))
	SELECT id, a.x AS ax, a.y AS ay, a.z AS az, b.x AS bx, b.y AS "by", b.z AS bz, c.x AS cx, c.y AS cy, c.z AS cz
	FROM face f JOIN corner a ON a.i = f.a JOIN corner b ON b.i = f.b JOIN corner c ON c.i = f.c;
SELECT tets FROM redblue_refine('fault', 'rift', max_volume => 0.2);
SELECT setseed(0.5);
CREATE TABLE many AS SELECT i AS id, x, y, z FROM (SELECT i, random() AS x, random() AS y, random() AS z FROM generate_series(1, 6000) i) r WHERE x + y + z < 1;
SELECT tets FROM redblue_tetrahedralize('wall', 'm', 'many');
SQL

# Facts that each program reports on a line per file: points, tetrahedra, volume, whether all are positive, distinct
# regions, faces, distinct facets, distinct materials of tetrahedra, and whether all qualities are positive
my $reader = <<'PYTHON';
import numpy, sys

def facts(points, tets, faces, of_tets, of_faces):
    a, b, c, d = (points[tets[:, i]] for i in range(4))
    volume = numpy.einsum('ij,ij->i', b - a, numpy.cross(c - a, d - a)) / 6
    distinct = lambda of, *names: next((len(numpy.unique(of[k])) for k in names if k in of), 0)
    good = all((of_tets[k] > 0).all() for k in ('radius_edge', 'min_dihedral') if k in of_tets)
    print('facts', len(points), len(tets), '%.9g' % volume.sum(), volume.min() > 0,
          distinct(of_tets, 'region', 'gmsh:physical'), len(faces), distinct(of_faces, 'facet', 'gmsh:physical'),
          distinct(of_tets, 'MaterialIDs'), good)

def with_meshio(name):
    import meshio
    m = meshio.read(name)
    part = {'tetra': [], 'triangle': []}
    of = {'tetra': {}, 'triangle': {}}
    for i, c in enumerate(m.cells):
        part[c.type].append(c.data)
        for k in m.cell_data:
            of[c.type].setdefault(k, []).append(numpy.ravel(m.cell_data[k][i]))
    for kind in of:
        of[kind] = {k: numpy.concatenate(v) for k, v in of[kind].items()}
    tets, faces = (numpy.concatenate(part[k]) if part[k] else [] for k in ('tetra', 'triangle'))
    # Abaqus has sets instead of data.
    if name.endswith('.inp'):
        of['tetra']['region'] = numpy.concatenate([numpy.full(len(s[i]), k) for k, s in enumerate(m.cell_sets.values()) for i in range(len(s))])
        of['triangle']['facet'] = range(len(m.point_sets))
    facts(m.points, tets, faces, of['tetra'], of['triangle'])

def with_vtk(name):
    import vtk
    from vtk.util.numpy_support import vtk_to_numpy
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(name)
    reader.Update()
    grid = reader.GetOutput()
    types = vtk_to_numpy(grid.GetCellTypesArray())
    corners = vtk_to_numpy(grid.GetCells().GetConnectivityArray())
    n = 4 * (types == vtk.VTK_TETRA).sum()
    data = grid.GetCellData()
    of = {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays())}
    facts(vtk_to_numpy(grid.GetPoints().GetData()), corners[:n].reshape(-1, 4), corners[n:].reshape(-1, 3),
          {k: v[types == vtk.VTK_TETRA] for k, v in of.items()}, {k: v[types == vtk.VTK_TRIANGLE] for k, v in of.items()})

def with_gmsh(name):
    import gmsh
    gmsh.initialize()
    gmsh.option.setNumber('General.Terminal', 0)
    gmsh.open(name)
    tags, points, _ = gmsh.model.mesh.getNodes()
    row = numpy.zeros(int(tags.max()) + 1, dtype=int)
    row[tags.astype(int)] = range(len(tags))
    part = {}
    of = {}
    for dimension, kind, corners in ((3, 4, 4), (2, 2, 3)):
        nodes = [numpy.zeros(0, dtype=int)]
        groups = [numpy.zeros(0, dtype=int)]
        for _, entity in gmsh.model.getEntities(dimension):
            found = gmsh.model.mesh.getElementsByType(kind, entity)[1].astype(int)
            physical = gmsh.model.getPhysicalGroupsForEntity(dimension, entity)
            nodes.append(row[found])
            groups.append(numpy.full(len(found) // corners, physical[0] if len(physical) else 0))
        part[dimension] = numpy.concatenate(nodes).reshape(-1, corners)
        of[dimension] = {'gmsh:physical': numpy.concatenate(groups)}
    facts(points.reshape(-1, 3), part[3], part[2], of[3], of[2])
    gmsh.finalize()

for name in sys.argv[2:]:
    globals()['with_' + sys.argv[1]](name)
PYTHON
my $dir = PostgreSQL::Test::Utils::tempdir();
PostgreSQL::Test::Utils::append_to_file("$dir/read.py", $reader);

# Writes the file that an expression returns.
sub save
{
	my ($file, $expression) = @_;
	open my $out, '>:raw', "$dir/$file" or die;
	print $out decode_base64($node->safe_psql('postgres', "SELECT encode($expression, 'base64')"));
	close $out;
}

# Returns the lines of facts that a program reports about files.
sub read_files
{
	my ($program, @files) = @_;
	my ($said, $complaint) = ('', '');
	IPC::Run::run([ $python, "$dir/read.py", $program, map "$dir/$_", @files ], '>', \$said, '2>', \$complaint);
	is($?, 0, "$program reads @files") or diag($said, $complaint);
	return map { [ split ' ' ] } grep s/^facts //, split /\n/, $said;
}

my %counts = map {
	my $mesh = $_;
	$mesh => [ split /\|/, $node->safe_psql('postgres', <<"SQL") ] } 'm', 'two', 'rift';
SELECT (SELECT count(*) FROM ${mesh}_vertices), count(*), count(DISTINCT region), (SELECT count(*) FROM ${mesh}_faces),
	(SELECT count(DISTINCT facet_id) FROM ${mesh}_faces),
	sum(((b.x - a.x) * ((c.y - a.y) * (d.z - a.z) - (c.z - a.z) * (d.y - a.y)) - (b.y - a.y) * ((c.x - a.x) * (d.z - a.z) - (c.z - a.z) * (d.x - a.x))
	+ (b.z - a.z) * ((c.x - a.x) * (d.y - a.y) - (c.y - a.y) * (d.x - a.x))) / 6)
FROM ${mesh}_tets t JOIN ${mesh}_vertices a ON a.id = v1 JOIN ${mesh}_vertices b ON b.id = v2 JOIN ${mesh}_vertices c ON c.id = v3 JOIN ${mesh}_vertices d ON d.id = v4
SQL

# Checks the facts that a program reports about files of all meshes. The file has faces, only sets of nodes (facets), or
# neither.
sub check_files
{
	my ($program, $end, $materials, $parts, $library) = @_;
	$parts //= 'faces facets';
  SKIP:
	{
		my $needed = $library ? "$program with $library" : $program;
		skip "no $needed", 1 unless $installed{$needed};
		my @meshes = ('m', 'two');
		my @found = read_files($program, map "$_.$end", @meshes);
		for my $mesh (@meshes)
		{
			my ($vertices, $tets, $regions, $faces, $facets, $volume) = @{ $counts{$mesh} };
			my @f = @{ shift @found // [ (0) x 9 ] };
			is("@f[0, 1, 3, 4, 5, 6, 7, 8]", "$vertices $tets True $regions " . ($parts =~ /faces/ ? $faces : 0) . ' ' . ($parts =~ /facets/ ? $facets : 0) . ' ' . ($materials ? $regions : 0) . " True",
				"$program, $mesh.$end: vertices, tetrahedra, all positive, regions, faces, facets, materials, qualities");
			cmp_ok(abs($f[2] - $volume), '<', 1e-7 * $volume, "$program, $mesh.$end: volume");
		}
	}
}

for my $mesh ('m', 'two')
{
	save("$mesh.vtu", "redblue_mesh_vtu('$mesh')");
	save("$mesh.msh", "redblue_mesh_gmsh('$mesh')");
	save("$mesh.xdmf", "redblue_mesh_xdmf('$mesh')");
	save("${mesh}_facets.xdmf", "redblue_mesh_xdmf('$mesh', 'facets')");
	save("$mesh.inp", "redblue_mesh_abaqus('$mesh')");
}
save('ogs.vtu', "redblue_mesh_ogs('two')");
save('ogs_facet.vtu', "redblue_mesh_ogs('two', '1')");
check_files('meshio', 'vtu', 1);
check_files('vtk', 'vtu', 1);
check_files('meshio', 'msh', 0);
check_files('gmsh', 'msh', 0);
check_files('meshio', 'xdmf', 0, '', 'h5py');
check_files('meshio', 'inp', 0, 'facets');

# The facets in XDMF: vertices, faces, facets, and equal points
SKIP:
{
	skip 'no meshio with h5py', 1 unless $installed{'meshio with h5py'};
	my ($said, $complaint) = ('', '');
	IPC::Run::run([ $python, '-c', <<'PYTHON', "$dir/m.xdmf", "$dir/m_facets.xdmf" ], '>', \$said, '2>', \$complaint);
import meshio, numpy, sys
tets, faces = (meshio.read(name) for name in sys.argv[1:])
print('facts', len(faces.points), len(faces.cells_dict['triangle']), len(numpy.unique(faces.cell_data['facet'][0])), (tets.points == faces.points).all())
PYTHON
	my ($vertices, $tets, $regions, $faces, $facets) = @{ $counts{m} };
	is(join(' ', grep s/^facts //, split /\n/, $said), "$vertices $faces $facets True", 'meshio, facets in XDMF') or diag($said, $complaint);
}

# Files for OpenGeoSys: the tetrahedra, and the faces of facet 1 as a boundary mesh, whose ids lead to the same places
my %reading = (meshio => <<'PYTHON', vtk => <<'PYTHON');
import meshio
def read(name):
    m = meshio.read(name)
    return m.points, m.cells[0].data, {k: v.ravel() for k, v in m.point_data.items()}, {k: v[0].ravel() for k, v in m.cell_data.items()}
PYTHON
import vtk
from vtk.util.numpy_support import vtk_to_numpy
def read(name):
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(name)
    reader.Update()
    grid = reader.GetOutput()
    arrays = lambda data: {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays())}
    corners = vtk_to_numpy(grid.GetCells().GetConnectivityArray())
    return vtk_to_numpy(grid.GetPoints().GetData()), corners.reshape(grid.GetNumberOfCells(), -1), arrays(grid.GetPointData()), arrays(grid.GetCellData())
PYTHON
for my $program (sort keys %reading)
{
  SKIP:
	{
		skip "no $program", 1 unless $installed{$program};
		my ($said, $complaint) = ('', '');
		IPC::Run::run([ $python, '-c', "import numpy, sys\n$reading{$program}" . <<'PYTHON', "$dir/ogs.vtu", "$dir/ogs_facet.vtu" ], '>', \$said, '2>', \$complaint);
points, tets, _, of_tets = read(sys.argv[1])
own, faces, of_points, of_faces = read(sys.argv[2])
bulk = of_points['bulk_node_ids']
# Corners of the faces of a tetrahedron in OpenGeoSys
corners = numpy.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])[of_faces['bulk_face_ids']]
sides = numpy.take_along_axis(tets[of_faces['bulk_element_ids']], corners, 1)
print('facts', len(points), len(tets), tets.shape[1], *sorted(of_tets), of_tets['MaterialIDs'].dtype, *numpy.unique(of_tets['MaterialIDs']),
      len(faces), faces.shape[1], bulk.dtype, (points[bulk] == own).all(), (numpy.sort(sides) == numpy.sort(bulk[faces])).all())
PYTHON
		my ($vertices, $tets) = @{ $counts{two} };
		my $faces = $node->safe_psql('postgres', 'SELECT count(*) FROM two_faces WHERE facet_id = 1');
		is(join(' ', grep s/^facts //, split /\n/, $said), "$vertices $tets 4 MaterialIDs int32 0 1 $faces 3 uint64 True True", "$program, OpenGeoSys: tetrahedra, materials, faces, ids in the file of tetrahedra")
		  or diag($said, $complaint);
	}
}

# Doubled vertices along a fault: all but those on its rim, with all faces at these
save('rift.vtu', "redblue_mesh_vtu('rift', split_faults => true)");
save('rift.msh', "redblue_mesh_gmsh('rift', split_faults => true)");
save('rift_ogs.vtu', "redblue_mesh_ogs('rift', split_faults => true)");
my ($inner, $doubled) = split /\|/, $node->safe_psql('postgres', <<'SQL');
WITH face AS (SELECT id, ARRAY[v1, v2, v3] AS v FROM rift_faces WHERE facet_id >= 13),
	edge AS (SELECT least(v[k], v[k % 3 + 1]) AS a, greatest(v[k], v[k % 3 + 1]) AS b FROM face, generate_series(1, 3) k),
	rim AS (SELECT a, b FROM edge GROUP BY 1, 2 HAVING count(*) = 1),
	inner_vertex AS (SELECT DISTINCT u FROM face, unnest(v) u WHERE NOT EXISTS (SELECT FROM rim WHERE u IN (a, b)))
SELECT (SELECT count(*) FROM inner_vertex), count(*) FROM face WHERE EXISTS (SELECT FROM inner_vertex WHERE u = ANY (v))
SQL
cmp_ok($inner, '>', 5, 'the fault has inner vertices');
for my $read ([ 'meshio', 'rift.vtu', 1 ], [ 'vtk', 'rift.vtu', 1 ], [ 'gmsh', 'rift.msh', 1 ], [ 'meshio', 'rift_ogs.vtu', 0 ])
{
	my ($program, $file, $has_faces) = @$read;
  SKIP:
	{
		skip "no $program", 1 unless $installed{$program};
		my ($f) = read_files($program, $file);
		my ($vertices, $tets, $regions, $faces, $facets, $volume) = @{ $counts{rift} };
		is("@$f[0, 1, 3, 5]", $vertices + $inner . " $tets True " . ($has_faces ? $faces + $doubled : 0), "$program, $file: vertices, tetrahedra, all positive, faces");
		cmp_ok(abs($f->[2] - $volume), '<', 1e-7 * $volume, "$program, $file: volume");
	}
}

# CalculiX solves a problem on the mesh: one facet is held, and another one is pulled.
SKIP:
{
	skip 'no CalculiX', 1 unless $installed{ccx};
	my ($said, $complaint) = ('', '');
	my $regions = $node->safe_psql('postgres', "SELECT string_agg(DISTINCT format(E'*SOLID SECTION, ELSET=region_%s, MATERIAL=stone\n', region), '') FROM two_tets");
	PostgreSQL::Test::Utils::append_to_file("$dir/job.inp", <<"END");
*INCLUDE, INPUT=two.inp
*MATERIAL, NAME=stone
*ELASTIC
1000., 0.3
$regions
*BOUNDARY
facet_2, 1, 3
*STEP
*STATIC
*DSLOAD
facet_4, P, -1.
*NODE PRINT, NSET=facet_4
U
*END STEP
END
	IPC::Run::run([ 'sh', '-c', "cd '$dir' && OMP_NUM_THREADS=1 exec ccx job" ], '>', \$said, '2>', \$complaint);
	is($?, 0, 'CalculiX solves') or diag($said, $complaint);
	unlike($said, qr/\*ERROR|\*WARNING/, 'CalculiX finds nothing to complain about') or diag($said);
	my $moved = grep /^\s*\d+\s+\S*[1-9]/, split /\n/, -e "$dir/job.dat" ? PostgreSQL::Test::Utils::slurp_file("$dir/job.dat") : '';
	is($moved, $node->safe_psql('postgres', 'SELECT count(DISTINCT v) FROM two_faces, unnest(ARRAY[v1, v2, v3]) v WHERE facet_id = 4 AND v NOT IN (SELECT unnest(ARRAY[v1, v2, v3]) FROM two_faces WHERE facet_id = 2)'), 'CalculiX moves the free nodes of the facet');
}

# Groups by the values of columns: text with nulls for facets, integers for regions
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE sides AS SELECT id, CASE WHEN id IN (2, 3) THEN 'side' WHEN id <> 1 THEN 'slope ' || id % 2 END AS name FROM wall;
ALTER TABLE two_tets ADD unit int;
UPDATE two_tets SET unit = 40 + region % 2;
SQL
save('groups.msh', "redblue_mesh_gmsh('two', facets => 'sides', facets_group => 'name', regions_group => 'unit')");
my $groups = $node->safe_psql('postgres', <<'SQL');
SELECT string_agg(format('%s %s %s', coalesce(name, 'no group'), rank, n), ', ' ORDER BY rank)
FROM (SELECT name, row_number() OVER (ORDER BY name COLLATE "C" NULLS LAST) AS rank, count(*) AS n FROM two_faces f JOIN sides s ON s.id = facet_id GROUP BY 1) g
SQL
my $units = $node->safe_psql('postgres', "SELECT string_agg(format('%s %s %s', unit, unit, n), ', ' ORDER BY unit) FROM (SELECT unit, count(*) AS n FROM two_tets GROUP BY 1) u");
my %list = (meshio => <<'PYTHON', gmsh => <<'PYTHON');
import meshio, sys
m = meshio.read(sys.argv[1])
for dim, kind in ((2, 'triangle'), (3, 'tetra')):
    tags = [int(x) for c, v in zip(m.cells, m.cell_data['gmsh:physical']) if c.type == kind for x in v]
    print('groups ' + ', '.join('%s %d %d' % (n, t, tags.count(t)) for n, (t, d) in sorted(m.field_data.items(), key=lambda i: i[1][0]) if d == dim))
PYTHON
import gmsh, sys
gmsh.initialize()
gmsh.option.setNumber('General.Terminal', 0)
gmsh.open(sys.argv[1])
for dim in (2, 3):
    print('groups ' + ', '.join('%s %d %d' % (gmsh.model.getPhysicalName(d, t), t,
        sum(len(gmsh.model.mesh.getElements(d, e)[1][0]) for e in gmsh.model.getEntitiesForPhysicalGroup(d, t))) for d, t in gmsh.model.getPhysicalGroups(dim)))
PYTHON
for my $program (sort keys %list)
{
  SKIP:
	{
		skip "no $program", 1 unless $installed{$program};
		my ($said, $complaint) = ('', '');
		IPC::Run::run([ $python, '-c', $list{$program}, "$dir/groups.msh" ], '>', \$said, '2>', \$complaint);
		is(join("\n", grep s/^groups //, split /\n/, $said), "$groups\n$units", "$program: groups with names, tags and sizes") or diag($said, $complaint);
	}
}
done_testing();
