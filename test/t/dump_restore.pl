# Tests a materialized view over a table form: its dependencies are known, it can be refreshed with a narrow
# search_path, and it survives dump and restore.
# run: quick long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('dump');
load_volmesh($node, 'red', 6, 1, 0.2);
load_volmesh($node, 'blue', 6, 2, 0.2, 0.31, 0.17, 0.23);
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA mine;
ALTER TABLE red SET SCHEMA mine;
ALTER TABLE blue SET SCHEMA mine;
SET search_path = mine, public;
CREATE MATERIALIZED VIEW clash AS
SELECT row_number() OVER (ORDER BY red_id, blue_id)::int AS qid, red_id, blue_id FROM redblue_triangle_pairs('red', 'blue');
CREATE UNIQUE INDEX ON clash (qid);
CREATE VIEW by_red AS SELECT red_id, count(*) FROM redblue_triangle_pairs('mine.red', 'mine.blue') GROUP BY red_id;
CREATE MATERIALIZED VIEW touching AS SELECT * FROM redblue_triangle_self_pairs('red');
SQL
my $sum = checksum_of('mine.clash');
my $want = $node->safe_psql('postgres', $sum);
like($want, qr/^\d{4,} /, "the view has rows: $want");

is($node->safe_psql('postgres', "SET search_path = ''; REFRESH MATERIALIZED VIEW mine.clash; $sum"),
	$want, 'REFRESH with an empty search_path');
is($node->safe_psql('postgres', "REFRESH MATERIALIZED VIEW CONCURRENTLY mine.clash; $sum"),
	$want, 'REFRESH CONCURRENTLY');
my ($rc, undef, $err) = $node->psql('postgres', 'DROP TABLE mine.red');
isnt($rc, 0, 'the tables cannot be dropped under the view');
like($err, qr/clash depends on table mine\.red/, 'because the view is known to depend on them');
is($node->safe_psql('postgres', "ALTER TABLE mine.red RENAME TO ore; REFRESH MATERIALIZED VIEW mine.clash; $sum"),
	$want, 'the view follows a renamed table');

for my $format ('plain', 'custom')
{
	my $file = "$ENV{TESTDIR}/dump.$format";
	$node->command_ok([ 'pg_dump', "--format=$format", '-f', $file, 'postgres' ], "pg_dump, $format");
	$node->safe_psql('postgres', "CREATE DATABASE restored_$format");
	$node->command_ok(
		$format eq 'plain'
		? [ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', $file, "restored_$format" ]
		: [ 'pg_restore', '--exit-on-error', '-d', "restored_$format", $file ],
		"restore, $format");
	is($node->safe_psql("restored_$format", $sum), $want, "the view is filled again, $format");
	is($node->safe_psql("restored_$format", 'SELECT sum(count) FROM mine.by_red'),
		(split / /, $want)[0], "the plain view answers, $format");
	is( $node->safe_psql("restored_$format", 'SELECT count(*) FROM mine.touching'),
		$node->safe_psql('postgres', 'SELECT count(*) FROM mine.touching'),
		"the self join, $format");
}

# The extension may be in any schema.
$node->safe_psql('postgres', 'CREATE DATABASE elsewhere');
is($node->safe_psql('elsewhere', <<'SQL'), '1', 'in a schema of its own');
CREATE SCHEMA tools;
CREATE EXTENSION redblue SCHEMA tools;
SET search_path = '';
CREATE TABLE public.t (id int, ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8);
INSERT INTO public.t VALUES (1, 0, 0, 0, 1, 0, 0, 0, 1, 0);
SELECT count(*) FROM tools.redblue_triangle_pairs('public.t', 'public.t');
SQL

$node->stop;
done_testing();
