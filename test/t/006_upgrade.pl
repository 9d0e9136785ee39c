# Every version that can be installed, updated to this one, gives the same
# catalog entries as this one installed afresh.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('upgrade');

# all that the extension owns, as text: definitions, comments, privileges
my $listing = <<'SQL';
SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
	|| coalesce(E'\n' || CASE d.classid WHEN 'pg_proc'::regclass THEN pg_get_functiondef(d.objid) || p.proacl::text END, '')
	|| coalesce(E'\n' || CASE d.classid WHEN 'pg_proc'::regclass THEN pg_get_functiondef(d.objid)
		|| coalesce(p.proacl::text, '') || p.procost || ' ' || p.prorows || ' ' || p.prosupport END, '')
	|| coalesce(E'\n' || CASE WHEN c.relkind = 'v' THEN pg_get_viewdef(c.oid) || coalesce(c.relacl::text, '') END, '')
	|| coalesce(E'\n' || obj_description(d.objid, d.classid::regclass::text::name), '')
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
	LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
WHERE d.deptype = 'e' AND e.extname = 'redblue'
ORDER BY 1
SQL

my $fresh = $node->safe_psql('postgres', $listing);
like($fresh, qr/redblue_triangle_pairs\(red? ?regclass/, 'the listing has the functions');
my $version = $node->safe_psql('postgres', "SELECT extversion FROM pg_extension WHERE extname = 'redblue'");
is($node->safe_psql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'redblue'"),
	$version, "version $version");
like($node->safe_psql('postgres', 'SELECT redblue_version()'), qr/\Q$version\E/, 'the library is of that version');

# an update to the same version changes nothing
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

# what is dropped is gone
$node->safe_psql('postgres', 'DROP EXTENSION redblue');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_proc WHERE proname LIKE 'redblue%'"), 0, 'DROP EXTENSION');
$node->safe_psql('postgres', 'CREATE EXTENSION redblue');

# every object says what it is for
is($node->safe_psql('postgres', <<'SQL'), '', 'each function has a comment');
SELECT string_agg(p.oid::regprocedure::text, ' ') FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
WHERE d.deptype = 'e' AND e.extname = 'redblue' AND obj_description(p.oid, 'pg_proc') IS NULL
SQL
# an extension script sourced by hand must refuse
my ($rc, $out, $err) = $node->psql('template1', "\\i $FindBin::Bin/../sql/redblue--$version.sql");
like("$out$err", qr/CREATE EXTENSION redblue/, 'the script refuses to be sourced in psql');

$node->stop;
done_testing();
