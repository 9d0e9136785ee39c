# Tests functions that return more of a pair than its ids: contacts, distances, nearest rows, solids. All ways to call
# them give the same rows, cancellation takes effect at once, and after an error about the memory limit the session
# continues.
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('payloads', "max_parallel_workers_per_gather = 2\nmin_parallel_table_scan_size = 64kB\nparallel_setup_cost = 10");

my $postgis = have_postgis($node);
$node->safe_psql('postgres', 'CREATE EXTENSION redblue_postgis') if $postgis;
load_volmesh($node, 'red', 12, 1, 0.2);
load_volmesh($node, 'blue', 12, 2, 0.2, 0.31, 0.17, 0.23);
$node->safe_psql('postgres', <<'SQL');
SET redblue.duplicate_notice = off;
-- balls of triangles: solid b of r rings and m meridians around (x, y, z)
CREATE FUNCTION ball(b int, r int, m int, x float8, y float8, z float8, radius float8)
RETURNS TABLE (solid int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8) LANGUAGE sql AS $$
	WITH p AS (SELECT i, j, x + radius * CASE WHEN i IN (0, r) THEN 0 ELSE sin(pi() * i / r) END * cos(2 * pi() * j / m) AS x,
			y + radius * CASE WHEN i IN (0, r) THEN 0 ELSE sin(pi() * i / r) END * sin(2 * pi() * j / m) AS y, z + radius * cos(pi() * i / r) AS z
		FROM generate_series(0, r) i, generate_series(0, m - 1) j)
	SELECT b, t.* FROM p JOIN p q ON q.i = p.i AND q.j = (p.j + 1) % m JOIN p s ON s.i = p.i + 1 AND s.j = p.j JOIN p u ON u.i = s.i AND u.j = q.j,
		LATERAL (VALUES (p.x, p.y, p.z, s.x, s.y, s.z, u.x, u.y, u.z), (p.x, p.y, p.z, u.x, u.y, u.z, q.x, q.y, q.z)) AS t (ax, ay, az, bx, by, bz, cx, cy, cz)
$$;
CREATE TABLE balls AS SELECT row_number() OVER () AS id, s.* FROM generate_series(1, 60) b, ball(b, 12, 16, b % 5 * 2, b / 5 % 4 * 2, b / 20 * 2, 0.7 + b % 7 * 0.1) s;
CREATE TABLE others AS SELECT row_number() OVER () AS id, s.* FROM generate_series(1, 60) b, ball(b, 9, 11, b % 5 * 2 + b % 3 * 0.5, b / 5 % 4 * 2, b / 20 * 2, 0.3 + b % 5 * 0.3) s;
CREATE TABLE few AS SELECT * FROM balls WHERE solid % 6 = 0;
CREATE TABLE holes AS SELECT i AS id, x AS ax, y AS ay, 8::float8 AS az, x + dx AS bx, y + dy AS by, -4::float8 AS bz
	FROM (SELECT i, (i * 37 % 101) / 10.0 AS x, (i * 53 % 89) / 10.0 AS y, (i % 13 - 6) / 3.0 AS dx, (i % 7 - 3) / 3.0 AS dy FROM generate_series(1, 3000) i) s;
CREATE TABLE points AS SELECT i AS id, (i * 37 % 101) / 10.0::float8 AS x, (i * 53 % 89) / 10.0::float8 AS y, (i % 61) / 10.0::float8 AS z FROM generate_series(1, 5000) i;
CREATE TABLE boxes AS SELECT id, x, y, z, 0.375::float8 AS dx, 0.25::float8 AS dy, 0.7::float8 AS dz FROM points;
CREATE TABLE levels AS SELECT i AS id, 1::float8 AS x, 0::float8 AS y, i / 16.0::float8 AS z, (i % 3 - 1)::float8 AS nx, (i % 5 - 2) / 4.0::float8 AS ny, 1::float8 AS nz FROM generate_series(-20, 80) i;
CHECKPOINT;
SQL
$node->safe_psql('postgres', 'VACUUM ANALYZE');
my $session = session($node);
$session->ask('SET redblue.duplicate_notice = off');

# ---- all ways give the same rows ----

my %call = (
	contacts => [ 'redblue_triangle_contacts', "'red', 'blue'", '' ],
	'self contacts' => [ 'redblue_triangle_self_contacts', "'red'", '' ],
	'self intersections' => [ 'redblue_triangle_self_intersections', "'balls'", '' ],
	'intersections of parts' => [ 'redblue_part_self_intersections', "'others'", ", mesh_object => 'id'" ],
	within => [ 'redblue_triangle_pairs_within', "'red', 'blue'", ', 0.01' ],
	'within, of objects' => [ 'redblue_triangle_pairs_within', "'balls', 'others'", ", 0.2, red_object => 'solid', blue_object => 'solid'" ],
	'segments within' => [ 'redblue_segment_triangle_pairs_within', "'holes', 'balls'", ', 0.05' ],
	nearest => [ 'redblue_triangle_nearest', "'others', 'balls'", ', 3' ],
	'nearest objects' => [ 'redblue_triangle_nearest', "'others', 'balls'", ", 2, 0.5, red_object => 'solid', blue_object => 'solid'" ],
	'first hits' => [ 'redblue_segment_first_hits', "'holes', 'balls'", ', 3' ],
	points => [ 'redblue_points_in_solids', "'points', 'balls'", ", solid => 'solid'" ],
	segments => [ 'redblue_segments_in_solids', "'holes', 'balls'", ", solid => 'solid'" ],
	relations => [ 'redblue_solid_pairs', "'balls', 'others'", ", red_solid => 'solid', blue_solid => 'solid'" ],
	boxes => [ 'redblue_boxes_in_solids', "'boxes', 'balls'", ", solid => 'solid', azimuth => 20" ],
	overlaps => [ 'redblue_solid_overlaps', "'balls', 'others'", ", red_solid => 'solid', blue_solid => 'solid'" ],
	'overlaps within' => [ 'redblue_solid_self_overlaps', "'balls'", ", solid => 'solid'" ],
	depths => [ 'redblue_solid_overlaps', "'balls', 'others'", ", red_solid => 'solid', blue_solid => 'solid', depth => true" ],
	check => [ 'redblue_solid_check', "'balls'", ", solid => 'solid'" ],
	measures => [ 'redblue_solid_measures', "'balls'", ", solid => 'solid'" ]);
if ($postgis)
{
	$call{sections} = [ 'redblue_sections', "'balls', 'levels'", ", solid => 'solid'" ];
	$call{'flat sections'} = [ 'redblue_sections', "'others', 'levels'", ", solid => 'solid', flat => true" ];
	$call{'common solids'} = [ 'redblue_solid_intersections', "'few', 'others'", ", red_solid => 'solid', blue_solid => 'solid'" ];
	$call{differences} = [ 'redblue_solid_differences', "'few', 'others'", ", red_solid => 'solid', blue_solid => 'solid'" ];
}
my %rows;
for my $name (sort keys %call)
{
	my ($function, $tables, $rest) = @{ $call{$name} };
	my $queries = $tables =~ s/'(\w+)'/'TABLE $1'/gr;
	my $digest = "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)";
	my %way = (
		'a scan' => "$digest FROM $function($tables$rest) t",
		'a function' => "SET redblue.custom_scan = off;\n$digest FROM $function($tables$rest) t;\nRESET redblue.custom_scan",
		'a select list' => "$digest FROM (SELECT $function($tables$rest) AS t OFFSET 0) s",
		'queries' => "$digest FROM ${function}_query($queries$rest) t",
		'one reader' => "SET max_parallel_workers_per_gather = 0;\n$digest FROM $function($tables$rest) t;\nRESET max_parallel_workers_per_gather",
		'kept' => "SET redblue.cache = on;\n$digest FROM $function($tables$rest) t;\n$digest FROM $function($tables$rest) t;\nRESET redblue.cache",
		'one thread' => "SET redblue.threads = 1;\n$digest FROM $function($tables$rest) t;\nRESET redblue.threads",
		'a coarse grid' => "SET redblue.grid_resolution = 3;\n$digest FROM $function($tables$rest) t;\nRESET redblue.grid_resolution");
	my $want = $session->ask($way{'a function'});
	like($want, qr/^\d+\|-?\d+$/, "$name: $want");
	$rows{$name} = (split /\|/, $want)[0];
	for my $way (sort keys %way)
	{
		my ($got, $err) = $session->ask($way{$way});
		my @got = split /\n/, $got;
		is($err, '', "$name by $way: no error");
		is($_, $want, "$name by $way") for @got;
		is(scalar(@got), $way eq 'kept' ? 2 : 1, "$name by $way: answers");
	}
}
cmp_ok($rows{$_}, '>', 0, "$_: there are rows") for grep { $_ ne 'self intersections' && $_ ne 'intersections of parts' } sort keys %rows;

# ---- the functions agree with each other ----

my $pairs = $session->ask("SELECT count(*) FROM redblue_triangle_pairs('red', 'blue')");
is($session->ask("SELECT count(*) FROM redblue_triangle_contacts('red', 'blue')"), $pairs, 'contacts are the pairs');
is($session->ask("SELECT count(*) FROM redblue_triangle_pairs_within('red', 'blue', 0) WHERE distance = 0"), $pairs, 'and so are those within 0');
is($session->ask(<<'SQL'), 0, 'the nearest one is as near as the least of those within');
SELECT count(*) FROM (SELECT red_id, min(distance) AS least FROM redblue_triangle_pairs_within('others', 'balls', 0.3) GROUP BY 1) w
	FULL JOIN (SELECT red_id, distance FROM redblue_triangle_nearest('others', 'balls', 1, 0.3)) n USING (red_id) WHERE least IS DISTINCT FROM distance
SQL
is($session->ask(<<'SQL'), 't', 'stretches inside have points inside');
WITH s AS MATERIALIZED (SELECT segment_id, solid_id, row_number() OVER (ORDER BY segment_id, solid_id, from_fraction) AS n, ax + (bx - ax) * f AS x, ay + (by - ay) * f AS y, az + (bz - az) * f AS z
	FROM (SELECT *, (from_fraction + to_fraction) / 2 AS f FROM redblue_segments_in_solids('holes', 'balls', solid => 'solid') WHERE NOT on_boundary AND length > 0.01) t JOIN holes ON id = segment_id)
SELECT count(*) > 1000 AND count(*) = (SELECT count(*) FROM s JOIN redblue_points_in_solids_query('WITH s AS MATERIALIZED (SELECT segment_id, solid_id, row_number() OVER (ORDER BY segment_id, solid_id, from_fraction) AS n,
		ax + (bx - ax) * f AS x, ay + (by - ay) * f AS y, az + (bz - az) * f AS z FROM (SELECT *, (from_fraction + to_fraction) / 2 AS f FROM redblue_segments_in_solids(''holes'', ''balls'', solid => ''solid'')
		WHERE NOT on_boundary AND length > 0.01) t JOIN holes ON id = segment_id) SELECT n AS id, x, y, z FROM s', 'TABLE balls', solid => 'solid') p ON p.point_id = s.n AND p.solid_id = s.solid_id AND p.side = 'inside') FROM s
SQL

# ---- cancel ----

$node->safe_psql('postgres', <<'SQL');
SET redblue.duplicate_notice = off;
CREATE TABLE mesh AS SELECT row_number() OVER () AS id, s.* FROM generate_series(1, 12) b, ball(b, 60, 80, b * 3, 0, 0, 1.4) s;
CREATE TABLE onion AS SELECT row_number() OVER () AS id, s.* FROM generate_series(1, 80) b, ball(b, 20, 24, 0, 0, 0, b) s;
CREATE TABLE beams AS SELECT i AS id, -200::float8 AS ax, i / 10.0 AS ay, i % 100 AS az, 200::float8 AS bx, -i / 10.0 AS by, -i % 100 AS bz FROM generate_series(1, 20000) i;
CREATE TABLE dots AS SELECT i AS id, (i % 100)::float8 AS x, (i / 100 % 100)::float8 AS y, (i / 10000)::float8 AS z FROM generate_series(1, 300000) i;
-- all in one place, and needles that no box tells apart
CREATE TABLE heap AS SELECT i AS id, i % 7 * 1e-3 AS ax, 0::float8 AS ay, i * 1e-7 AS az, 1::float8 AS bx, i * 1e-7 AS by, 0::float8 AS bz, 0::float8 AS cx, 1::float8 AS cy, 1 + i * 1e-7 AS cz FROM generate_series(1, 20000) i;
ANALYZE;
SQL
add_stopwatch($node);
my %long = (
	contacts => "redblue_triangle_contacts('heap', 'heap')",
	'self intersections' => "redblue_triangle_self_intersections('heap')",
	'intersections of parts' => "redblue_part_self_intersections('heap', mesh_object => 'one')",
	within => "redblue_triangle_pairs_within('heap', 'heap', 5)",
	'pairs within' => "redblue_triangle_pairs_within('mesh', 'mesh', 0.5)",
	nearest => "redblue_triangle_nearest('heap', 'heap', 1000)",
	'the nearest of a mesh' => "redblue_triangle_nearest('mesh', 'mesh', 500)",
	points => "redblue_points_in_solids('dots', 'onion', solid => 'solid')",
	segments => "redblue_segments_in_solids('beams', 'onion', solid => 'solid')",
	relations => "redblue_solid_pairs('mesh', 'mesh', red_solid => 'solid', blue_solid => 'solid')",
	boxes => "redblue_boxes_in_solids_query('SELECT id, x, y, z, 1.5 AS dx, 1.5 AS dy, 1.5 AS dz FROM dots', 'TABLE onion', solid => 'solid')",
	overlaps => "redblue_solid_overlaps('mesh', 'mesh', red_solid => 'solid', blue_solid => 'solid')",
	depths => "redblue_solid_overlaps('mesh', 'mesh', red_solid => 'solid', blue_solid => 'solid', depth => true)",
	'relations of an onion' => "redblue_solid_pairs('onion', 'onion', red_solid => 'solid', blue_solid => 'solid')",
	measures => "redblue_solid_measures_query('SELECT solid + 100 * n AS solid, ax, ay, az, bx, by, bz, cx, cy, cz FROM mesh, generate_series(1, 8) n', solid => 'solid')",
	'measures of one' => "redblue_solid_measures_query('SELECT n AS one, ax, ay, az, bx, by, bz, cx, cy, cz FROM mesh, generate_series(1, 8) n', solid => 'one')",
	check => "redblue_solid_check_query('SELECT m.* FROM mesh m, generate_series(1, 20)', solid => 'solid')",
	'check of one' => "redblue_solid_check_query('SELECT m.* FROM mesh m, generate_series(1, 8)', solid => 'one')");
if ($postgis)
{
	$long{sections} = "redblue_sections_query('TABLE mesh', 'SELECT i AS id, 0 AS x, 0 AS y, i / 1e5 AS z, 0 AS nx, 0 AS ny, 1 AS nz FROM generate_series(-100000, 100000) i', solid => 'solid')";
	$long{'sections of an onion'} = "redblue_sections_query('TABLE onion', 'SELECT i AS id, 0 AS x, 0 AS y, i / 1e5 AS z, 1 AS nx, i / 1e5 AS ny, 1 AS nz FROM generate_series(-100000, 100000) i', solid => 'solid')";
	$long{'common solids'} = "redblue_solid_intersections('mesh', 'mesh', red_solid => 'solid', blue_solid => 'solid')";
	$long{differences} = "redblue_solid_differences('onion', 'onion', red_solid => 'solid', blue_solid => 'solid')";
}
$session->ask('ALTER TABLE heap ADD one int DEFAULT 1; ALTER TABLE mesh ADD one int DEFAULT 1');
my $watch = session($node);
for my $name (sort keys %long)
{
	stops_soon($session, $watch, $name, "SELECT count(*), max(length(t::text)) FROM $long{$name} t", 0.1, 0.5);
	is($session->ask('SELECT pg_backend_pid()'), $session->{pid}, "the session lives after $name");
}

# ---- memory ----

for my $name (sort keys %long)
{
	next if $name =~ /heap|nearest|within|^contacts/; # some of these need little, and would run for long
	my (undef, $err) = $session->ask("SET redblue.memory_limit = '2MB';\nSELECT count(*) FROM $long{$name} t;\nRESET redblue.memory_limit");
	like($err, qr/53200.*redblue\.memory_limit/s, "$name in 2 MB: an error that names the setting");
	$session->ask('RESET redblue.memory_limit');
}
is($session->ask("SELECT count(*) FROM redblue_triangle_contacts('red', 'blue')"), $pairs, 'the session answers');

$session->quit;
$watch->quit;
$node->stop;
done_testing();
