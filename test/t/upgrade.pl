# Tests that each installable version, updated to this one, has the same catalog entries as a new installation of this
# version, and that objects created by users remain.
# run: quick once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('upgrade');

# Objects of the extension as text: definitions (arguments, defaults, volatility, support functions), columns of types
# and views, casts, current privileges and those in a dump, comments
my $listing = <<'SQL';
SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
	|| coalesce(E'\n' || pg_get_functiondef(p.oid) || coalesce(p.proacl::text, '') || p.proowner::regrole::text, '')
	|| coalesce(E'\n' || CASE WHEN c.relkind = 'v' THEN pg_get_viewdef(c.oid) END || coalesce(c.relacl::text, '') || c.relowner::regrole::text, '')
	|| coalesce(E'\n' || t.typtype::text || t.typlen || coalesce(t.typacl::text, '') || t.typowner::regrole::text, '')
	|| coalesce(E'\n' || (SELECT string_agg(format('%s %s%s', a.attname, format_type(a.atttypid, a.atttypmod),
			col_description(a.attrelid, a.attnum)), ', ' ORDER BY a.attnum)
		FROM pg_attribute a WHERE a.attrelid = coalesce(c.oid, t.typrelid) AND a.attnum > 0), '')
	|| coalesce(E'\n' || k.castsource::regtype::text || k.casttarget::regtype::text || k.castfunc::regproc::text || k.castcontext::text || k.castmethod::text, '')
	|| coalesce(E'\n' || (SELECT string_agg(i.initprivs::text || i.privtype::text, ' ') FROM pg_init_privs i
		WHERE i.classoid = d.classid AND i.objoid = d.objid), '')
	|| coalesce(E'\n' || obj_description(d.objid, d.classid::regclass::text::name), '')
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
	LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
	LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
	LEFT JOIN pg_cast k ON d.classid = 'pg_cast'::regclass AND k.oid = d.objid
WHERE d.deptype = 'e' AND e.extname = 'redblue'
ORDER BY 1
SQL

my $fresh = $node->safe_psql('postgres', $listing);
like($fresh, qr/redblue_triangle_pairs\(red? ?regclass/, 'the listing has the functions');
my $version = $node->safe_psql('postgres', "SELECT extversion FROM pg_extension WHERE extname = 'redblue'");
is($node->safe_psql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'redblue'"),
	$version, "version $version");
like($node->safe_psql('postgres', 'SELECT redblue_version()'), qr/\Q$version\E/, 'the library is of that version');

# An update to the same version changes nothing.
$node->safe_psql('postgres', 'ALTER EXTENSION redblue UPDATE');
is($node->safe_psql('postgres', $listing), $fresh, 'ALTER EXTENSION UPDATE when there is nothing to do');

for my $old (split /\n/, $node->safe_psql('postgres',
		"SELECT version FROM pg_available_extension_versions WHERE name = 'redblue'"))
{
	(my $db = "from_$old") =~ s/\W/_/g;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, "CREATE EXTENSION redblue VERSION '$old'; ALTER EXTENSION redblue UPDATE");
	is($node->safe_psql($db, $listing), $fresh, "$old updated to $version");
}

# ---- objects that users created with 0.1.0 ----

my $cube = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'cube'") > 0;
$node->safe_psql('postgres', 'CREATE DATABASE made');
$node->safe_psql('made', <<'SQL' . ($cube ? <<'CUBE' : ''));
CREATE EXTENSION redblue VERSION '0.1.0';
CREATE ROLE few;
CREATE SCHEMA mine;
CREATE TABLE mine.red AS SELECT g AS gid, g AS id, g::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, g + 1::float8 AS bx, 0::float8 AS by, 0::float8 AS bz,
	g::float8 AS cx, 1::float8 AS cy, 0::float8 AS cz FROM generate_series(1, 20) g;
CREATE TABLE mine.blue AS SELECT * FROM mine.red WHERE gid % 3 = 0;
CREATE VIEW pairs AS SELECT * FROM redblue_triangle_pairs('mine.red', 'mine.blue');
CREATE VIEW named AS SELECT red_id, count(*) FROM redblue_triangle_pairs('mine.red', 'mine.blue', blue_id => 'gid') GROUP BY 1;
CREATE VIEW asked AS SELECT * FROM redblue_triangle_pairs_query('SELECT * FROM mine.red', 'SELECT * FROM mine.blue');
CREATE MATERIALIZED VIEW clash AS SELECT row_number() OVER (ORDER BY id1, id2) AS n, * FROM redblue_triangle_self_pairs('mine.red', 'gid');
CREATE VIEW onto AS SELECT id1 FROM clash;
CREATE VIEW number AS SELECT redblue_triangle_pair_count('mine.red', 'mine.blue') AS n, redblue_version() <> '' AS v;
CREATE VIEW last AS SELECT stage, count FROM redblue_last_run();
CREATE TABLE kept (pair redblue_pair);
CREATE TABLE turns (x float8 CHECK (redblue_orient2d(0, 0, 1, 0, 0, x) > 0));
CREATE INDEX ON turns (redblue_orient2d(0, 0, 1, 0, x, x));
INSERT INTO kept SELECT p FROM redblue_triangle_pairs('mine.red', 'mine.blue') p;
CREATE FUNCTION body() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM redblue_triangle_self_pairs_query('SELECT * FROM mine.red'); END;
REVOKE EXECUTE ON FUNCTION redblue_segment_pairs FROM PUBLIC;
GRANT EXECUTE ON FUNCTION redblue_segment_pairs TO few;
SQL
CREATE EXTENSION cube;
CREATE TABLE mine.box AS SELECT g AS gid, cube(ARRAY[g, 0, 0]::float8[], ARRAY[g + 1, 1, 1]::float8[]) AS shape FROM generate_series(1, 9) g;
CREATE VIEW placed AS SELECT * FROM redblue_box_pairs('mine.box', 'mine.box', 'gid', 'shape', 'gid', 'shape');
CREATE VIEW placed_number AS SELECT redblue_box_self_pair_count('mine.box', 'gid', 'shape') AS n;
CUBE

# Contents of these objects
my $ask = join ' UNION ALL ', map { "SELECT '$_', count(*), coalesce(sum(hashtext(t::text)), 0) FROM $_ t" }
  qw(pairs named asked clash onto number kept), ($cube ? qw(placed placed_number) : ());
$ask .= q{ UNION ALL SELECT 'body', body(), 0 ORDER BY 1};
my $said = $node->safe_psql('made', $ask);
like($said, qr/^pairs\|18\|/m, 'the functions of 0.1.0 call the library of this version');
like($said, qr/^placed\|25\|/m, 'in their order') if $cube;
is($node->safe_psql('made', "SELECT * FROM number; SELECT 1 WHERE redblue_triangle_pair_count('mine.red', 'mine.blue') > 5"), "18|t\n1",
	'so do counts');
my $dump = "$ENV{TESTDIR}/made.sql";
$node->command_ok([ 'pg_dump', '-f', $dump, 'made' ], 'a dump of it');

# comes_back($db, $dump, $version): restores a dump in a new database that has the extension in some version.
sub comes_back
{
	my ($db, $dump, $version) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, "CREATE EXTENSION redblue VERSION '$version'") if defined $version;
	$node->command_ok([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', $dump, $db ], "$db: the dump is loaded");
	return;
}

comes_back('old', $dump, '0.1.0');
# Operators that a user adds to the schema are not called during the update.
$node->safe_psql('old', "CREATE FUNCTION joined(name, text) RETURNS text AS 'BEGIN RAISE ''trapped''; END' LANGUAGE plpgsql;
	CREATE FUNCTION joined(text, real) RETURNS text AS 'BEGIN RAISE ''trapped''; END' LANGUAGE plpgsql;"
	  . join('', map { "CREATE FUNCTION trap($_) RETURNS bool AS 'BEGIN RAISE ''trapped''; END' LANGUAGE plpgsql;
		CREATE OPERATOR = (LEFTARG = @{[(split /, /)[0]]}, RIGHTARG = @{[(split /, /)[1]]}, FUNCTION = trap);
		CREATE OPERATOR <> (LEFTARG = @{[(split /, /)[0]]}, RIGHTARG = @{[(split /, /)[1]]}, FUNCTION = trap);" }
		  'oid, int', 'regproc, int', 'oid, regprocedure', 'oid, regclass', 'oid, regproc', 'name, text', '"char", text')
	  . 'CREATE OPERATOR || (LEFTARG = name, RIGHTARG = text, FUNCTION = joined); CREATE OPERATOR || (LEFTARG = text, RIGHTARG = real, FUNCTION = joined)');
is($node->safe_psql('old', 'SELECT extversion FROM pg_extension WHERE extname = \'redblue\''), '0.1.0', 'old: 0.1.0');
is($node->safe_psql('old', $ask), $said, 'old: it says the same');
my ($code, undef, $message) = $node->psql('old', 'ALTER EXTENSION redblue UPDATE');
is($code, 0, 'old: ALTER EXTENSION UPDATE');
$node->safe_psql('old', q{SET search_path = pg_catalog; DO 'DECLARE f regprocedure; BEGIN
	FOR f IN SELECT oid FROM pg_proc WHERE proname IN (''trap'', ''joined'') LOOP EXECUTE format(''DROP FUNCTION %s CASCADE'', f); END LOOP; END'});
like($message, qr/WARNING:  function redblue_triangle_pairs of redblue 0\.1\.0 was kept as redblue_triangle_pairs_0_1_0\nDETAIL:  .*view pairs depends on .*HINT: .*DROP FUNCTION redblue_triangle_pairs_0_1_0\(/s,
	'old: what is kept, and for what');
my @kept = sort(qw(triangle_pairs triangle_pairs_query triangle_self_pairs triangle_self_pairs_query triangle_pair_count), $cube ? qw(box_pairs box_self_pair_count) : ());
my $kept = join "\n", map { "redblue_${_}_0_1_0" } @kept;
my $in_old = q{SELECT proname FROM pg_proc WHERE proname LIKE 'redblue%\_0\_1\_0' ORDER BY proname COLLATE "C"};
is($node->safe_psql('old', $in_old), $kept, 'old: nothing else is');
is($node->safe_psql('old', $ask), $said, 'old: views say the same');
is($node->safe_psql('old', "SET search_path = ''; REFRESH MATERIALIZED VIEW public.clash; RESET search_path; $ask"), $said, 'old: REFRESH');
is($node->safe_psql('old', "SELECT red_id, count(*) FROM redblue_triangle_pairs('mine.red', 'mine.blue', 'gid', 'gid') GROUP BY 1 HAVING count(*) > 1; $in_old"),
	$kept, 'old: calls mean the new functions');
is($node->safe_psql('old', "SET redblue.custom_scan = on; EXPLAIN (COSTS OFF) SELECT * FROM pairs") =~ /Custom Scan/, 1, 'old: a view is planned as before');
isnt($node->psql('old', 'INSERT INTO turns VALUES (-1)', stderr => \$message), 0, 'old: what has the same arguments is the same');
like($message, qr/violates check constraint/, 'so that constraints stay');
my $privileges = q{SELECT has_function_privilege('few', p.oid, 'EXECUTE'), EXISTS (SELECT FROM aclexplode(p.proacl) WHERE grantee = 0)
	FROM pg_proc p WHERE proname = 'redblue_segment_pairs'};
is($node->safe_psql('old', $privileges), 't|f', 'old: privileges are those of before');
(my $but = $fresh) =~ s/^function redblue_segment_pairs\(.*?(?=^function )//ms;
(my $old = $node->safe_psql('old', $listing)) =~ s/^function redblue_segment_pairs\(.*?(?=^function )//ms;
is($old, $but, 'old: all else is as if it were installed now');

# A dump of the updated database can be restored. Old functions that remain do not belong to the extension.
$node->command_ok([ 'pg_dump', '-f', "$dump.2", 'old' ], 'a dump of the updated one');
comes_back('again', "$dump.2");
is($node->safe_psql('again', $ask), $said, 'again: it says the same');
is($node->safe_psql('again', $privileges), 't|f', 'again: privileges');
isnt($node->psql('again', 'DROP EXTENSION redblue'), 0, 'again: views keep the extension');
is($node->safe_psql('again', "CREATE OR REPLACE VIEW pairs AS SELECT * FROM redblue_triangle_pairs('mine.red', 'mine.blue');
	DROP FUNCTION redblue_triangle_pairs_0_1_0 CASCADE; SELECT count(*) FROM pairs"), 18, 'again: a view with the new function needs no old one');

# Restored directly from 0.1.0 into this version, only columns given by position and privileges on functions change.
(my $text = slurp_file($dump)) =~ s/^CREATE VIEW public\.placed AS.*?;\n//ms;
$text =~ s/^(ALTER \w+ public\.placed OWNER|REVOKE|GRANT).*//mg;
append_to_file("$dump.3", $text);
comes_back('straight', "$dump.3");
(my $ask_it = $ask) =~ s/SELECT 'placed',.*?UNION ALL //;
(my $want = $said) =~ s/^placed\|.*\n//m;
is($node->safe_psql('straight', $ask_it), $want, 'straight: it says the same');

# In a schema that no search_path contains
$node->safe_psql('postgres', 'CREATE DATABASE elsewhere');
is($node->safe_psql('elsewhere', <<'SQL'), "1|2\n1|2", 'in a schema of its own');
SET client_min_messages = error;
CREATE SCHEMA tools;
CREATE EXTENSION redblue VERSION '0.1.0' SCHEMA tools;
CREATE TABLE line AS SELECT 1 AS id, 0::float8 AS ax, 0::float8 AS ay, 1::float8 AS bx, 1::float8 AS by UNION ALL SELECT 2, 0, 1, 1, 0;
CREATE VIEW cut AS SELECT * FROM tools.redblue_segment_self_pairs('line');
SELECT * FROM cut;
ALTER EXTENSION redblue UPDATE;
SELECT * FROM cut;
SQL

# Each function that joins has as many arguments as the library reads: called with NULLs, it reports NULL arguments.
my $calls = $node->safe_psql('postgres', <<'SQL');
SELECT format('SELECT FROM %s(%s)%s;', p.oid::regproc, (SELECT string_agg('NULL::' || t::regtype, ', ' ORDER BY n) FROM unnest(p.proargtypes) WITH ORDINALITY a(t, n)),
	CASE WHEN p.prorettype = 'record'::regtype AND p.proallargtypes IS NULL THEN ' AS (a int, b int)' END)
FROM pg_proc p JOIN pg_proc s ON s.oid = p.prosupport WHERE s.proname = 'redblue_support' AND p.proname !~ '_0_1_0$'
SQL
cmp_ok(scalar(() = $calls =~ /;/g), '>', 80, 'functions that join');
(undef, undef, $message) = $node->psql('postgres', $calls, on_error_stop => 0);
is(scalar(() = $message =~ /ERROR:  redblue_\w+: argument "\w+" must not be null/g), scalar(() = $calls =~ /;/g), 'functions have the arguments that the library reads');

# A function whose arguments match no version is rejected; its arguments are not read.
$code = $node->psql('postgres', q{CREATE FUNCTION few(regclass) RETURNS bigint AS '$libdir/redblue', 'redblue_triangle_pair_count' LANGUAGE C;
	SELECT few('pg_class')}, stderr => \$message);
like($message, qr/redblue_triangle_pair_count: the SQL function has 1 arguments, but the library expects 11\nHINT:  Run ALTER EXTENSION redblue UPDATE;/,
	'a function of another version');
$node->safe_psql('postgres', 'DROP FUNCTION few');

# ---- privileges to install ----

$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE DATABASE owned OWNER owner');
for my $extension ('redblue', have_postgis($node) ? 'redblue_postgis' : ())
{
	is($node->safe_psql('postgres', "SELECT superuser, trusted FROM pg_available_extension_versions
		WHERE name = '$extension' AND version = (SELECT default_version FROM pg_available_extensions WHERE name = '$extension')"),
		't|f', "$extension is not trusted");
	$node->safe_psql('owned', 'CREATE EXTENSION postgis; CREATE EXTENSION redblue') if $extension eq 'redblue_postgis';
	isnt($node->psql('owned', "SET SESSION AUTHORIZATION owner; CREATE EXTENSION $extension", stderr => \$message), 0,
		"the owner of a database does not create $extension");
	like($message, qr/permission denied to create extension "$extension"\nHINT:  Must be superuser/, 'and the hint says who may');
}
$node->safe_psql('owned', "DROP EXTENSION IF EXISTS redblue; CREATE EXTENSION redblue VERSION '0.1.0'");
isnt($node->psql('owned', 'SET SESSION AUTHORIZATION owner; ALTER EXTENSION redblue UPDATE', stderr => \$message), 0, 'nor updates it');
is($node->safe_psql('owned', q{SET SESSION AUTHORIZATION owner; SELECT redblue_orient2d(0, 0, 1, 0, 0, 1)}), 1, 'but uses it');

# DROP EXTENSION removes everything.
$node->safe_psql('postgres', 'DROP EXTENSION redblue');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_proc WHERE proname LIKE 'redblue%'"), 0, 'DROP EXTENSION');
$node->safe_psql('postgres', 'CREATE EXTENSION redblue');

# Each object has a comment.
is($node->safe_psql('postgres', <<'SQL'), '', 'each function has a comment');
SELECT string_agg(p.oid::regprocedure::text, ' ') FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
WHERE d.deptype = 'e' AND e.extname = 'redblue' AND obj_description(p.oid, 'pg_proc') IS NULL
SQL
# An extension script that is sourced manually reports an error.
my ($rc, $out, $err) = $node->psql('template1', "\\i $FindBin::Bin/../sql/redblue--$version.sql");
like("$out$err", qr/CREATE EXTENSION redblue/, 'the script refuses to be sourced in psql');

$node->stop;
done_testing();
