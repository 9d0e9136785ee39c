# Tests tables whose rows are not in their pages, because an extension (serve_rows.c) returns others: each function
# reads what a SELECT reads, whichever hook provides it. Rows are inserted into such tables as by INSERT.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('main', "redblue.duplicate_notice = off\n");
my $postgis = have_postgis($node);
$node->safe_psql('postgres', 'CREATE EXTENSION redblue_postgis') if $postgis;
my $load = "LOAD '$ENV{SERVE_ROWS}';";

# ---- tables: those of "there" have rows; those of "here" are served by the extension ----

my $i = 0;
my $corners = join ', ', map { my $p = $_; map { my $k = $i++; "round((cos(g * 7.1 + $k) * 8 + cos(g * 3.3 + $k % 3) * 20)::numeric, 3)::float8 AS $p$_" } qw(x y z) } qw(a b c);
my $box = join ', ', map { ("least(a$_, b$_) AS l$_", "greatest(a$_, b$_) AS h$_") } qw(x y z);
$node->safe_psql('postgres', <<"SQL");
CREATE SCHEMA there;
CREATE TABLE there.red AS SELECT g::int8 AS id, 'red ' || g AS name, $corners FROM generate_series(1, 300) g;
CREATE TABLE there.blue AS SELECT g::int8 AS id, 'blue ' || g AS name, $corners FROM generate_series(301, 600) g;
CREATE TABLE there.stick AS SELECT id, name, ax, ay, az, cx AS bx, cy AS by, cz AS bz FROM there.blue;
CREATE TABLE there.line AS SELECT id, name, ax, ay, cx AS bx, cy AS by FROM there.red;
CREATE TABLE there.line2 AS SELECT id, name, ax, ay, cx AS bx, cy AS by FROM there.blue;
CREATE TABLE there.box AS SELECT id, name, $box FROM there.red;
CREATE TABLE there.box2 AS SELECT id, name, $box FROM there.blue;
CREATE TABLE there.point AS SELECT g::int8 AS id, 'point ' || g AS name, 0.37 * g AS x, 0.5 AS y, 0.25 AS z FROM generate_series(1, 40) g;
CREATE TABLE there.beam AS SELECT g::int8 AS id, -1.0::float8 AS ax, 0.1 * g AS ay, 0.3::float8 AS az, 9.0::float8 AS bx, 0.1 * g AS by, 0.6::float8 AS bz FROM generate_series(1, 9) g;
-- cubes, each of which overlaps with the next one
CREATE TABLE there.wall AS SELECT (12 * n + t.id)::int8 AS id, n::int8 AS solid,
	0.75 * n + t.ax AS ax, t.ay::float8, t.az::float8, 0.75 * n + t.bx AS bx, t.by::float8, t.bz::float8, 0.75 * n + t.cx AS cx, t.cy::float8, t.cz::float8
FROM generate_series(0, 9) n, (VALUES (1, 0,0,0, 0,1,0, 1,1,0), (2, 0,0,0, 1,1,0, 1,0,0), (3, 0,0,1, 1,0,1, 1,1,1), (4, 0,0,1, 1,1,1, 0,1,1),
	(5, 0,0,0, 1,0,0, 1,0,1), (6, 0,0,0, 1,0,1, 0,0,1), (7, 0,1,0, 0,1,1, 1,1,1), (8, 0,1,0, 1,1,1, 1,1,0),
	(9, 0,0,0, 0,0,1, 0,1,1), (10, 0,0,0, 0,1,1, 0,1,0), (11, 1,0,0, 1,1,0, 1,1,1), (12, 1,0,0, 1,1,1, 1,0,1)) t (id, ax, ay, az, bx, by, bz, cx, cy, cz);
CREATE TABLE there.cube AS SELECT * FROM there.wall WHERE solid = 0;
SQL
$node->safe_psql('postgres', <<'SQL') if $postgis;
CREATE TABLE there.g_red AS SELECT id, ST_MakePolygon(ST_MakeLine(ARRAY[ST_MakePoint(ax, ay, az), ST_MakePoint(bx, by, bz), ST_MakePoint(cx, cy, cz), ST_MakePoint(ax, ay, az)])) AS geom FROM there.red;
CREATE TABLE there.g_blue AS SELECT id, ST_MakePolygon(ST_MakeLine(ARRAY[ST_MakePoint(ax, ay, az), ST_MakePoint(bx, by, bz), ST_MakePoint(cx, cy, cz), ST_MakePoint(ax, ay, az)])) AS geom FROM there.blue;
SQL
my @tables = split /\n/, $node->safe_psql('postgres', "SELECT relname FROM pg_class WHERE relnamespace = 'there'::regnamespace AND relkind = 'r' ORDER BY 1");

# Creates a schema with the same tables, filled with the served rows in the same order; an UPDATE could change the order,
# on which samples and the first id of a self join depend.
sub copy_tables
{
	my ($schema, $id, $where) = @_;
	$node->safe_psql('postgres', join ';', "CREATE SCHEMA $schema",
		map { ("CREATE TABLE $schema.$_ AS SELECT * FROM there.$_ WHERE $where", "ALTER TABLE $schema.$_ ALTER id TYPE int8 USING $id", "ALTER TABLE $schema.$_ ADD PRIMARY KEY (id)") } @tables);
	$node->safe_psql('postgres', "VACUUM ANALYZE $schema.$_") for @tables;
	return;
}
$node->safe_psql('postgres', "ALTER TABLE there.$_ ADD PRIMARY KEY (id); ANALYZE there.$_") for @tables;
copy_tables('here', 'id', 'false');

# ---- calls: S is the schema; each returns one row of text ----

# Returns a query for the number and a hash of a call's rows. In a self join, id1 belongs to the row that was read
# first, and processes that read a table together have no common order. Therefore the smaller id comes first here.
sub rows_of
{
	my ($call) = @_;
	my $row = 'r::text';
	$row = "concat_ws(' ', least(id1, id2), greatest(id1, id2), to_jsonb(r) - 'id1' - 'id2')" if $call =~ /self_(pairs|contacts|pairs_within)\(/;
	$row = "concat_ws(' ', least(a, b), greatest(a, b))" if $call =~ /self_pairs_by_key/;
	$call = "$call AS r" unless $call =~ s/ AS \(/ AS r (/;
	return "SELECT count(*) || ' ' || coalesce(md5(string_agg($row, ',' ORDER BY $row)), '') FROM $call";
}

# Returns a query for the number and a hash of the rows of a query.
sub grouped { return "SELECT count(*) || ' ' || coalesce(md5(string_agg(r::text, ',' ORDER BY r::text)), '') FROM ($_[0]) r" }

my @calls;
my %arguments = (
	triangle => ["'S.red', 'S.blue'", "'S.red'"],
	segment_triangle => ["'S.stick', 'S.red'"],
	segment => ["'S.line', 'S.line2'", "'S.line'"],
	box => ["'S.box', 'S.box2'", "'S.box'"]);
for my $kind (sort keys %arguments)
{
	my ($two, $self) = @{ $arguments{$kind} };
	for my $form (qw(pairs pair_blocks pair_count))
	{
		push @calls, rows_of("redblue_${kind}_$form($two)");
		push @calls, rows_of("redblue_${kind}_self_$form($self)") if defined $self;
	}
	# Groups that the join computes without rows
	push @calls, grouped("SELECT a, count(*), array_agg(b ORDER BY b) FROM redblue_${kind}_pairs($two) AS p (a, b) GROUP BY a");
	push @calls, grouped("SELECT DISTINCT b FROM redblue_${kind}_pairs($two) AS p (a, b)");
	push @calls, grouped("SELECT id, array_agg(other ORDER BY other) FROM redblue_${kind}_self_pairs($self), LATERAL (VALUES (id1, id2), (id2, id1)) AS p (id, other) GROUP BY id") if defined $self;
	push @calls, "SELECT count(*) FROM redblue_${kind}_pairs($two)";
	push @calls, rows_of("redblue_${kind}_pairs_by_key($two) AS (a int8, b int8)");
	push @calls, rows_of("redblue_${kind}_self_pairs_by_key($self) AS (a int8, b int8)") if defined $self;
	next if $kind eq 'box';
	push @calls, rows_of("redblue_${kind}_contacts($two)"), rows_of("redblue_${kind}_pairs_within($two, 1.5)"), rows_of("redblue_${kind}_pair_count_within($two, 1.5)");
	push @calls, rows_of("redblue_${kind}_self_contacts($self)"), rows_of("redblue_${kind}_self_pairs_within($self, 1.5)") if defined $self;
}
# A block has as many pairs as there are, in any order.
@calls = map { s/count\(\*\) .*(redblue_\w+_pair_blocks\(.*\)) AS r$/sum(n) FROM $1/r } @calls;
my $pairs_of_ids = @calls;
push @calls, rows_of("redblue_triangle_self_intersections('S.red')"), rows_of("redblue_triangle_nearest('S.red', 'S.blue', 2)"), rows_of("redblue_segment_first_hits('S.stick', 'S.red', 2)"),
  "SELECT count(DISTINCT red_id) || ' ' || count(*) FROM redblue_triangle_pairs('S.red', 'S.blue')",
  "SELECT count(*) FROM S.red WHERE EXISTS (SELECT FROM redblue_triangle_pairs('S.red', 'S.blue') WHERE red_id = id)",
  rows_of("redblue_tiles('S.red', 'S.blue', 4)"), rows_of("redblue_triangle_pairs_by_key('S.red', 'S.blue', 'name', 'name') AS (a text, b text)"),
  rows_of("redblue_points_in_solids('S.point', 'S.wall', solid => 'solid')"), rows_of("redblue_segments_in_solids('S.beam', 'S.wall', solid => 'solid')"),
  rows_of("redblue_solid_pairs('S.wall', 'S.wall', red_solid => 'solid', blue_solid => 'solid')"), rows_of("redblue_solid_check('S.wall', solid => 'solid')"),
  "SELECT count(*) || ' ' || count(DISTINCT region) FROM redblue_tetrahedra('S.cube')", "SELECT count(*) || ' ' || count(DISTINCT region) FROM redblue_tetrahedra('S.cube', points => 'S.point', keep => 'hull')",
  "BEGIN; SELECT tets FROM redblue_tetrahedralize('S.cube', 'mesh_of_test'); SELECT count(*) FROM redblue_mesh_check('mesh_of_test', 'S.cube'); ROLLBACK",
  "BEGIN; SELECT tets > 0 FROM redblue_refine('S.cube', 'mesh_of_test', max_volume => 0.1); ROLLBACK",
  "BEGIN; SELECT tets FROM redblue_refine('S.wall', 'mesh_of_test', solid => 'solid'); ROLLBACK";
push @calls, "SELECT count(*) FROM S.g_red r JOIN S.g_blue b ON redblue_intersects(r.geom, b.geom)", "SELECT sum(r.id) FROM S.g_red r JOIN S.g_blue b ON redblue_dwithin(r.geom, b.geom, 0.5)",
  "SELECT count(*) FROM S.g_red r, S.g_blue b WHERE redblue_crosses(r.geom, b.geom) AND r.id < 100", rows_of("redblue_triangle_pairs('S.g_red', 'S.g_blue')"),
  rows_of("redblue_triangle_intersections('S.g_red', 'S.g_blue')"), rows_of("redblue_sections('S.g_red', 'S.g_blue')"), rows_of("redblue_box_pairs('S.g_red', 'S.g_blue')"),
  rows_of("redblue_solid_intersections('S.wall', 'S.wall', red_solid => 'solid', blue_solid => 'solid')"),
  rows_of("redblue_solid_differences('S.cube', 'S.wall', red_solid => 'solid', blue_solid => 'solid')")
  if $postgis;

# Without the custom scan, a third of the calls: how it reads the rows does not depend on the kind of join.
my @some = ($ENV{REDBLUE_CUSTOM_SCAN} // 'on') eq 'off' && !long_run() ? @calls[ grep { $_ % 3 == 0 } 0 .. $#calls ] : @calls;

sub call_on { my ($call, $schema) = @_; return $call =~ s/\bS\./$schema./gr }

# Runs each call with these settings, and compares it with the same call on a schema whose tables contain the served
# rows; if a query text can replace each table, also with that call.
sub compare
{
	my ($way, $schema, $settings, @these) = @_;
	my $session = session($node);
	my $plain = session($node);
	$session->ask("$load SET serve_rows.way = $way; $settings");
	$plain->ask($settings);
	my (@differ, @empty);
	for my $call (@these)
	{
		my $expected = $plain->ask(call_on($call, $schema));
		my $got = $session->ask(call_on($call, 'here'));
		push @empty, "$call: $expected" if $expected =~ /^(0?|0 )$|ERROR/;
		push @differ, call_on($call, 'here') . ": $got, not $expected" if $got ne $expected;
		next unless $call =~ /(redblue_\w+)\(('S\.\w+')/ && $call !~ /BEGIN|by_key|_tiles|solid|_tetra/;
		(my $query = $call) =~ s/(redblue_\w+)\(/$1_query(/;
		$query =~ s/'S\.(\w+)'/'SELECT * FROM S.$1'/g;
		$got = $session->ask(call_on($query, 'here'));
		push @differ, call_on($query, 'here') . ": $got, not $expected" if $got ne $expected;
	}
	is(join("\n", @differ), '', "$way, $schema: the answers of " . @these . " calls ($settings)");
	is(join("\n", @empty), '', 'none of which is empty or an error');
	$session->quit;
	$plain->quit;
	return;
}

for my $way (qw(query custom path rewrite))
{
	compare($way, 'there', '', @some);
	compare($way, 'there', 'SET redblue.cache = on', @calls[ 0 .. 9 ]);
	compare($way, 'there', 'SET debug_parallel_query = on', @calls[ 0 .. 9 ]) if $node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'debug_parallel_query'");
	compare($way, 'there', 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0', @calls[ 0 .. 9 ]);
}

# ---- some of the table's own rows, or changed ones ----

$node->safe_psql('postgres', "INSERT INTO here.$_ SELECT * FROM there.$_") for @tables;
$node->safe_psql('postgres', "VACUUM ANALYZE here.$_") for @tables;
copy_tables('masked', '-id', 'true');
copy_tables('filtered', 'id', 'id > 5');
compare('mask', 'masked', '', grep { !/EXISTS|r\.id|solid|mesh_of_test/ } @some);
compare('filter', 'filtered', '', @calls[ 0 .. $pairs_of_ids - 1 ]);
compare('off', 'there', '', @some);

# ---- one session, with a hook that is set and reset ----

my $session = session($node);
my $sum = rows_of("redblue_triangle_pairs('here.red', 'here.blue')");
my $plain = $session->ask($sum);
$session->ask("PREPARE p AS $sum; SET plan_cache_mode = force_generic_plan");
is($session->ask('EXECUTE p'), $plain, 'a prepared statement');
$session->ask("$load SET serve_rows.way = mask");
my $masked = $session->ask($sum);
isnt($masked, $plain, 'a library that is loaded between two calls');
is($masked, $node->safe_psql('postgres', $sum =~ s/here/masked/gr), '... and what it serves');
is($session->ask('EXECUTE p'), $masked, 'the prepared statement, too');
$session->ask('SET serve_rows.way = error');
like($session->ask($sum), qr/ERROR:  0A000: served rows are away/, 'an error of a hook');
like($session->ask('EXECUTE p'), qr/ERROR:  0A000: served rows are away/, '... when a prepared statement runs');
like($session->ask("EXPLAIN SELECT * FROM redblue_triangle_pairs('here.red', 'here.blue')"), qr/ERROR:  0A000: served rows are away/, '... and when it is planned, as of a SELECT');
$session->ask('SET serve_rows.way = off');
is($session->ask($sum), $plain, 'the session is as it was');
is($session->ask('EXECUTE p'), $plain, 'and its statement');

# ---- the cache ----

$session->ask('SET redblue.cache = on');
is($session->ask("SELECT rows, pages = kept FROM redblue_cache('here.red')"), '300|t', 'a table is kept');
is($session->ask($sum), $plain, 'and joined');
for my $way (qw(query custom path rewrite mask filter))
{
	$session->ask("SET serve_rows.way = $way");
	my $wanted = $way eq 'mask' ? 'masked' : $way eq 'filter' ? 'filtered' : 'there';
	is($session->ask($sum), $node->safe_psql('postgres', $sum =~ s/here/$wanted/gr), "$way: what is kept is not what is served");
	like($session->ask("SELECT * FROM redblue_cache('here.blue')"),
		qr/ERROR:  42809: redblue_cache: cannot cache "blue"\nDETAIL:  Only rows read from the pages of a table can be cached: the planner would read it with /,
		"$way: nothing is kept");
}
like($session->ask("SET serve_rows.way = custom; SELECT * FROM redblue_cache('here.blue')"), qr/with a Custom Scan \(Served Rows\)\./, 'the message names the scan that serves the rows');
$session->ask('SET serve_rows.way = off');
is($session->ask($sum), $plain, 'what is kept is there for those who read the table');
is($session->ask("SELECT hits > 0 FROM redblue_cached() WHERE relation = 'here.red'::regclass"), 't', 'and is used');

# ---- estimates ----

# Thousands of triangles in one place have millions of pairs, none of which is served.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE there.crowd (LIKE there.red);
CREATE TABLE here.crowd AS SELECT g::int8 AS id, ''::text AS name, 0::float8 ax, 0::float8 ay, 0::float8 az, 1::float8 bx, 0::float8 AS by, 0::float8 bz, 0::float8 cx, 1::float8 cy, g / 1e9 AS cz FROM generate_series(1, 3000) g;
ANALYZE here.crowd;
SQL
$node->safe_psql('postgres', <<'SQL') if $postgis;
CREATE TABLE there.g_crowd (LIKE there.g_red);
CREATE TABLE here.g_crowd AS SELECT id, ST_MakePolygon(ST_MakeLine(ARRAY[ST_MakePoint(ax, ay, az), ST_MakePoint(bx, by, bz), ST_MakePoint(cx, cy, cz), ST_MakePoint(ax, ay, az)])) AS geom FROM here.crowd;
ANALYZE here.g_crowd;
SQL
my %expected = (crowd => "EXPLAIN SELECT * FROM redblue_triangle_pairs('here.crowd', 'here.crowd')");
$expected{g_crowd} = 'EXPLAIN SELECT * FROM here.g_crowd a JOIN here.g_crowd b ON redblue_intersects(a.geom, b.geom)' if $postgis;
for my $table (sort keys %expected)
{
	my ($rows) = $session->ask($expected{$table}) =~ /rows=(\d+)/;
	cmp_ok($rows, '>', 1e6, "$table: pairs of the table's rows are expected");
	for my $way (qw(custom path mask))
	{
		my ($served) = $session->ask("SET serve_rows.way = $way; $expected{$table}") =~ /rows=(\d+)/;
		cmp_ok($served, '<', 1e6, "$table, $way: they are not looked at");
	}
	$session->ask('SET serve_rows.way = off');
}

# ---- tiles: samples of pages ----

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE there.field AS SELECT g::int8 AS id, g % 400 + 0.0::float8 AS lx, g / 400 + 0.0::float8 AS ly, g % 400 + 1.0::float8 AS hx, g / 400 + 1.0::float8 AS hy FROM generate_series(0, 159999) g;
CREATE TABLE here.field AS SELECT id, lx + 1e6 AS lx, ly + 1e6 AS ly, hx + 1e6 AS hx, hy + 1e6 AS hy FROM there.field;
ANALYZE there.field, here.field;
SQL
my $border = "SELECT bool_and(tile_low[1] < 1000 OR tile_low[1] = '-Infinity') FROM redblue_tiles('here.field', 'here.field', 8)";
$session->ask("SET redblue.memory_limit = '4MB'");
is($session->ask($border), 'f', 'tiles are where the rows of a table are');
for my $way (qw(query custom path rewrite))
{
	is($session->ask("SET serve_rows.way = $way; $border"), 't', "$way: tiles are where the rows are that are served");
}
$session->ask('SET serve_rows.way = off');

$session->ask('RESET redblue.memory_limit');

# ---- rows that are inserted ----

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE there.pair (red_id int8, blue_id int8);
CREATE TABLE here.pair (red_id int8, blue_id int8);
SELECT * FROM redblue_tetrahedralize('there.cube', 'there.mesh');
CREATE TABLE here.mesh_vertices AS TABLE there.mesh_vertices WITH NO DATA;
CREATE TABLE here.mesh_tets AS TABLE there.mesh_tets WITH NO DATA;
CREATE TABLE here.mesh_faces AS TABLE there.mesh_faces WITH NO DATA;
CREATE TABLE here.mesh_segments AS TABLE there.mesh_segments WITH NO DATA;
TRUNCATE there.mesh_vertices, there.mesh_tets, there.mesh_faces, there.mesh_segments;
SQL
my $pairs = $session->ask("SELECT count(*) FROM redblue_triangle_pairs('there.red', 'there.blue')");
for my $way (qw(query rewrite))
{
	$session->ask("SET serve_rows.way = $way");
	is($session->ask("SELECT redblue_into('here.pair', \$\$ SELECT red_id, blue_id FROM redblue_triangle_pairs('there.red', 'there.blue') \$\$)"), $pairs, "$way: rows into a table that is served");
	is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM here.pair), (SELECT count(*) FROM there.pair)'), "0|$pairs", '... are where they are served from');
	my $tets = $session->ask("SELECT tets FROM redblue_tetrahedralize('here.cube', 'here.mesh')");
	is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM here.mesh_tets), (SELECT count(*) FROM there.mesh_tets)'), "0|$tets", '... those of a mesh, too');
	is($session->ask("SELECT count(*) FROM redblue_mesh_check('here.mesh', 'here.cube')"), 0, '... which is right');
	$session->ask('SET serve_rows.way = off');
	$node->safe_psql('postgres', 'TRUNCATE there.pair, there.mesh_vertices, there.mesh_tets, there.mesh_faces, there.mesh_segments');
}
is($session->ask("SELECT redblue_into('here.pair', \$\$ SELECT red_id, blue_id FROM redblue_triangle_pairs('there.red', 'there.blue') \$\$)"), $pairs, 'rows into a table of its own');
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM here.pair), (SELECT count(*) FROM there.pair)'), "$pairs|0", '... are in it');
$session->quit;

# ---- an extension that is loaded before or after redblue, in every session ----

$node->safe_psql('postgres', 'DELETE FROM here.red WHERE id > 5');
for my $libraries ("$ENV{SERVE_ROWS}, redblue", "redblue, $ENV{SERVE_ROWS}")
{
	$node->append_conf('postgresql.conf', "session_preload_libraries = '$libraries'\nserve_rows.way = path\n");
	$node->reload;
	for my $way (qw(query custom path rewrite))
	{
		is($node->safe_psql('postgres', "SET serve_rows.way = $way; $sum"), $node->safe_psql('postgres', $sum =~ s/here/there/gr), "$libraries: $way");
	}
}
done_testing();
