# Tests that the messages that doc/troubleshooting.md quotes are real: each is raised here, and compared with
# the whole quote, in which "..." stands for any text.
#
# A quote is in backquotes in the first column. The first one of a row is a message, or a line of make; DETAIL, HINT and
# CONTEXT precede the others.
# run: quick once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/..";
my $node = new_server('troubleshooting');
plan skip_all => 'no PostGIS here' unless have_postgis($node);
my ($major) = $node->safe_psql('postgres', 'SHOW server_version') =~ /^(\d+)/;

# ---- errors: a label, and the output ----

my %said;

# Statements that fail; %rename converts names of this test to those of the page.
sub raise
{
	my ($label, $sql, %rename) = @_;
	my (undef, undef, $err) = $node->psql('postgres', "SET client_min_messages = notice; $sql", on_error_stop => 0);
	$err =~ s/\Q$_\E/$rename{$_}/g for keys %rename;
	$err =~ s/^psql:<stdin>:\d+: //mg;
	$said{$label} = $err;
	return;
}

# make, as a user calls it, in a separate folder
my $folder = "$ENV{TESTDIR}/make";
mkdir $folder;
sub call_make
{
	my ($label, @arguments) = @_;
	my $out = '';
	IPC::Run::run([ 'make', '-s', '-C', $folder, '-f', "$top/Makefile", @arguments ], '>', \$out, '2>&1');
	$said{$label} = $out;
	return;
}

# A pg_config that gives the same answers as the real one, except that its headers are in that folder
my $pg_config = "$folder/pg_config";
open(my $script, '>', $pg_config) or die $!;
print $script <<"SH";
#!/bin/sh
[ "\$1" = --includedir-server ] && echo $folder || exec pg_config "\$@"
SH
close $script;
chmod 0755, $pg_config;

my $nine = 'ax float8, ay float8, az float8, bx float8, by float8, bz float8, cx float8, cy float8, cz float8';
my $face = 'TRIANGLE Z ((0 0 0, 4 0 0, 0 4 0, 0 0 0))';
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE building (id int PRIMARY KEY, geom geometry);
INSERT INTO building VALUES (7, '$face');
CREATE TABLE many AS SELECT id, 0.0::float8 ax, 0.0::float8 ay, 0.0::float8 az, 1.0::float8 bx, 0.0::float8 by, 0.0::float8 bz,
	0.0::float8 cx, 1.0::float8 cy, 0.0::float8 cz FROM generate_series(1, 30000) id;
CREATE TABLE imported (ogc_fid int, storeys int, geom geometry);
CREATE TABLE named (id uuid PRIMARY KEY, geom geometry);
CREATE TABLE renamed (id int PRIMARY KEY, x1 float8);
CREATE TABLE flat (id int PRIMARY KEY, geom geometry);
INSERT INTO flat VALUES (7, 'POLYGON ((0 0, 1 0, 0 1, 0 0))');
CREATE TABLE crossed (id int PRIMARY KEY, geom geometry);
INSERT INTO crossed VALUES (7, 'POLYGON Z ((0 0 0, 4 4 0, 4 0 0, 0 3 0, 0 0 0))');
CREATE TABLE here (id int PRIMARY KEY, geom geometry);
INSERT INTO here VALUES (1, 'SRID=25832;$face');
CREATE TABLE there (id int PRIMARY KEY, geom geometry);
INSERT INTO there VALUES (1, 'SRID=4326;$face');
CREATE TABLE broken (id int PRIMARY KEY, $nine);
INSERT INTO broken VALUES (7, 0, 0, 'NaN', 0, 0, 0, 0, 0, 0);
CREATE TABLE dumped (gid int, geom geometry);
INSERT INTO dumped SELECT i % 160, '$face' FROM generate_series(0, 5562) i;
CREATE SCHEMA mixed;
CREATE TABLE mixed."Building" (id int PRIMARY KEY, geom geometry);
CREATE TABLE log (t int);
CREATE FUNCTION writes() RETURNS bool LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (1); RETURN true; END';
SQL

call_make('no headers', "PG_CONFIG=$folder/none");
call_make('no postgres.h', "PG_CONFIG=$pg_config", 'build/checked');
append_to_file("$folder/postgres.h", '');
call_make('no gmp.h', "PG_CONFIG=$pg_config", 'CC=false', 'build/checked');
call_make('no nvcc', "PG_CONFIG=$pg_config", 'NVCC=/none/nvcc', 'CUDA_SRC=backend.cu', 'cuda');
raise('not installed', 'CREATE EXTENSION absent', absent => 'redblue') if $major >= 15;
raise('not created', "SET search_path = pg_catalog; SELECT * FROM redblue_triangle_pairs('building', 'tunnel')");
raise('memory', "SET redblue.memory_limit = '1MB'; SELECT count(*) FROM redblue_triangle_pairs('many', 'many')");
my $gpu = $node->safe_psql('postgres', 'SELECT cuda FROM redblue_info()') eq 't';
my $million = "'SELECT i AS id, i AS lx, 0 AS ly, i + 1 AS hx, 1 AS hy FROM (SELECT generate_series(1, 1000000) AS i) s'";
raise('temp_file_limit', "SET redblue.memory_limit = '20MB'; SET temp_file_limit = '10MB'; SELECT count(*) FROM redblue_box_pairs_query($million, $million)",
	'"temp_file_limit"' => 'temp_file_limit'); # PostgreSQL 18 quotes it
$node->stop;
{
	local $ENV{LD_PRELOAD} = $ENV{REFUSE_SO};
	local $ENV{REFUSE_TEMP_KB} = 10_000;
	$node->start;
}
raise('full', "SET redblue.memory_limit = '20MB'; SELECT count(*) FROM redblue_box_pairs_query($million, $million)", redblue_box_pairs_query => 'redblue_triangle_pairs');
$node->restart;
raise('no GPU', "SET redblue.backend = cuda; SELECT count(*) FROM redblue_triangle_pairs('many', 'many')") unless $gpu;
# The worker is terminated while pairs of a table that it has cached are read.
$node->safe_psql('postgres', 'CREATE TABLE kept AS SELECT * FROM many WHERE id <= 1000; CHECKPOINT; VACUUM kept');
raise('ended', "SET redblue.cache = on; SET max_parallel_workers_per_gather = 0; SELECT count(*) FROM redblue_triangle_pairs('kept', 'kept');
BEGIN; DECLARE c CURSOR FOR SELECT red_id FROM redblue_triangle_pairs('kept', 'kept'); FETCH 1 FROM c;
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'redblue worker';
DO \$\$ BEGIN WHILE EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'redblue worker') LOOP PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot(); END LOOP; END \$\$;
MOVE ALL IN c");
raise('no id', "SELECT * FROM redblue_triangle_pairs('imported', 'imported')");
raise('uuid', "SELECT * FROM redblue_triangle_pairs('named', 'named')");
raise('no list', "SELECT * FROM redblue_triangle_pairs_by_key('named', 'named')");
raise('duplicates', "SELECT count(*) FROM redblue_triangle_self_pairs('dumped', 'gid')");
raise('no coordinates', "SELECT * FROM redblue_triangle_pairs('renamed', 'renamed')");
raise('no Z', "SELECT * FROM redblue_triangle_pairs('flat', 'flat')");
raise('crossing', "SELECT * FROM redblue_triangle_pairs('crossed', 'building')");
raise('SRIDs', "SELECT * FROM redblue_triangle_pairs('here', 'there')");
raise('NaN', "SELECT * FROM redblue_triangle_pairs('building', 'broken')");
raise('no solid', "CREATE VIEW spot AS SELECT 1 AS id, 0::float8 AS x, 0::float8 AS y, 0::float8 AS z; CREATE VIEW lid AS SELECT 7 AS id, '$face'::geometry AS geom;
SELECT * FROM redblue_points_in_solids('spot', 'lid')");
raise('no SELECT', "SELECT * FROM redblue_triangle_pairs_query('DELETE FROM building', 'TABLE building')");
raise('a query for a table', "SELECT * FROM redblue_triangle_pairs('SELECT * FROM building', 'building')");
raise('mixed case', "SET search_path = mixed; SELECT * FROM public.redblue_triangle_pairs('Building', 'Building')");
raise('table name', "SELECT * FROM redblue_triangle_pairs_query('building', 'building')");
raise('writes', "SELECT * FROM redblue_triangle_pairs_query('SELECT * FROM building WHERE writes()', 'TABLE building')");
raise('restored', "SET search_path = ''; SELECT * FROM public.redblue_triangle_pairs_query('TABLE building', 'TABLE building')");

# ---- quotes of the page ----

my $table = slurp_file("$top/doc/troubleshooting.md");
my (%met, $quotes);
for my $row (grep { /^\|.*`/ } split /\n/, $table)
{
	my ($cell) = $row =~ /^\|\s*((?:`[^`]*`|[^`|])*)\|/;
	next unless $cell =~ /`/;
	# [label, quote]...; an alternative ("or") starts a new message.
	for my $alternative (split / or (?=`)/, $cell)
	{
		my @parts = $alternative =~ /(DETAIL|HINT|CONTEXT|)\s*`([^`]*)`/g;
		my ($message, @found) = ($parts[1], keys %said);
		$quotes++;
		while (my ($label, $quote) = splice @parts, 0, 2)
		{
			my $pattern = join '.*', map { quotemeta } split /\.\.\./, $quote, -1;
			$pattern = $label ? qr/^\Q$label\E:\s+$pattern$/m : qr/^(?:(?:ERROR|NOTICE):\s+$pattern|redblue: $pattern|$pattern)$/m;
			@found = grep { $said{$_} =~ $pattern } @found;
		}
	  SKIP:
		{
			skip "$message: not on this server", 1
			  if !@found && (($gpu && $message =~ /GPU/) || ($major < 15 && $message =~ /is not available/));
			cmp_ok(scalar(@found), '>', 0, "raised: $message") or diag(join "\n", map { "$_:\n$said{$_}" } sort keys %said);
			$met{$_} = 1 for @found;
		}
	}
}
cmp_ok($quotes, '>', 10, "$quotes quotes");
is(join(', ', grep { !$met{$_} } sort keys %said), '', 'all that is raised here is on the page');

$node->stop;
done_testing();
