# Tests README.md and doc/: their examples run and print what the page shows, their links are valid, the tables of
# PostGIS's errors are those of a run, and each function and setting is documented.
# run: quick once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use Pages;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/..";
my @pages = ('README.md', map { s{^\Q$top\E/}{}r } sort glob "$top/doc/*.md");
my $node = PostgreSQL::Test::Cluster->new('readme');
$node->init;
$node->append_conf('postgresql.conf', "search_path = 'public'");
$node->start;
# A recipe contains a job for pg_cron.
my $cron = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_cron'");
if ($cron)
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_cron'\ncron.database_name = 'doc_recipes_md'\ncron.host = '" . $node->host . "'");
	$node->restart;
}
plan skip_all => 'no PostGIS here' unless have_postgis($node);

# Programs, a module and an extension that ```sh blocks and recipes use and that may be missing
my %missing = map { $_ => 1 } 'ogr2ogr', 'python3', 'ifcopenshell', 'pg_cron';
delete $missing{$_} for page_programs();
delete $missing{pg_cron} if $cron;

page_folder("$top/data", "$ENV{TESTDIR}/loading");
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;

sub tidy { my $text = shift; $text =~ s/[ \t]+$//mg; $text =~ s/\s+\z//; return $text }

# Runs the ```sql and ```sh blocks of a page one after the other in a new database, each in a session of its own; a
# ```text block after a block is its expected output. If a program is missing, the rest of its section is skipped, and
# so are blocks that need its tables. doc/servers.md needs several servers (servers.pl).
my $examples = 0;
for my $page (grep { $_ ne 'doc/servers.md' } @pages)
{
	my $db = lc $page =~ s/\W/_/gr;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	local $ENV{PGDATABASE} = $db;
	my ($n, $ran, $missing, $section, %unmade) = (0, '', '', '');
	for (page_blocks("$top/$page"))
	{
		my ($heading, $kind, $body) = @$_;
		($section, $missing) = ($heading, '') if $heading ne $section;
		$n++ if $kind ne 'text';
		my $name = "$page, $heading, example $n " . ($kind eq 'text' ? 'prints what the page says' : 'runs');
		if ($kind ne 'text' && !$missing)
		{
			($missing) = grep { $body =~ /\b$_\b/ } sort keys %missing;
			$missing ||= $unmade{$_} for grep { $body =~ /\b$_\b/ } sort keys %unmade;
		}
		if ($missing)
		{
			$unmade{$_} = $missing for grep { defined } $body =~ /^CREATE (?:TABLE|VIEW|MATERIALIZED VIEW|FUNCTION) (\w+)|\bgpkg (\w+)/mg;
		}
	  SKIP:
		{
			skip "$name: $missing is not installed", 1 if $missing;
			if ($kind eq 'text')
			{
				is(tidy($ran), tidy($body), $name);
				next;
			}
			(my $status, $ran, my $err) = run_block($kind, $body);
			is($status, 0, $name) or diag($err);
			is($err, '', "$name without a warning");
		}
	}
	my $text = slurp_file("$top/$page");
	# A block of another kind, or an unclosed one, would not run.
	my @fences = $text =~ /^(```.*)$/mg;
	is(scalar(@fences), 2 * (() = $text =~ /^```(?:sql|sh|text)\n.*?^```$/msg), "$page: all blocks are sql, sh or text");
	$examples += $n;
}
cmp_ok($examples, '>', 40, "$examples examples");

# pg_cron runs the job of doc/recipes.md at the next minute, whatever time the page specifies; the end of this script
# checks it. The restart is needed because before 1.6.4 its scheduler could miss a change in the second after the one in
# which it first read the table of jobs.
my $runs = $node->safe_psql('doc_recipes_md', 'SELECT count(*) FROM run');
if ($cron)
{
	$node->safe_psql('doc_recipes_md', "SELECT cron.alter_job(jobid, schedule => '* * * * *') FROM cron.job");
	$node->restart;
}

# Which statements a refresh of doc/recipes.md blocks
SKIP:
{
	skip 'ogr2ogr is not installed', 3 if $missing{ogr2ogr};
	my $reader = session($node);
	$reader->ask('\\connect doc_recipes_md');
	is($reader->ask('BEGIN; SELECT count(*) > 0 FROM contact'), 't', 'somebody reads');
	$node->safe_psql('doc_recipes_md', "SET lock_timeout = '10s'; REFRESH MATERIALIZED VIEW CONCURRENTLY contact");
	pass('a concurrent refresh and a reader do not wait for each other');
	my (undef, undef, $waited) = $node->psql('doc_recipes_md', "SET lock_timeout = '200ms'; REFRESH MATERIALIZED VIEW contact");
	like($waited, qr/lock timeout/, 'any other refresh does');
	$reader->ask('COMMIT');
}

# A dump restores a materialized view over a view, and leaves one over a query form empty. PostgreSQL 17 and newer
# versions reject the latter immediately, because they fill every materialized view with a safe search_path.
my $safe_path = $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000;
my (undef, undef, $refused) = $node->psql('doc_recipes_md', <<'SQL');
CREATE MATERIALIZED VIEW over_query AS SELECT * FROM redblue_triangle_pairs_query('TABLE ore', 'SELECT * FROM tunnel WHERE az < 0')
SQL
my $not_found = qr/relation "ore" does not exist/;
like($refused, $safe_path ? $not_found : qr/^$/, 'a materialized view over a query form is ' . ($safe_path ? 'refused' : 'created'));
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my ($said, $complaint) = ('', '');
IPC::Run::run([ 'pg_dump', 'doc_recipes_md' ], '|', [ 'psql', '-Xq', '-d', 'restored' ], '>', \$said, '2>', \$complaint);
is($complaint =~ $not_found, !$safe_path, 'restoring: the query form ' . ($safe_path ? 'is not there' : 'finds no table'));
is($node->safe_psql('restored', "SELECT string_agg(matviewname, ' ') FROM pg_matviews WHERE NOT ispopulated"),
	$safe_path ? '' : 'over_query', 'all other materialized views are filled');
is($node->safe_psql('restored', 'SELECT count(*) FROM deep_clash'), 2, 'that over a view, too');

# ---- links ----

# The anchors of a page, as GitHub creates them
sub anchors
{
	my ($file) = @_;
	my %anchor;
	my $text = slurp_file($file) =~ s/^```.*?^```$//msgr;
	while ($text =~ /^#+ (.*)$/mg)
	{
		my $title = lc $1;
		$title =~ s/[^\w\- ]//g;
		$title =~ s/ /-/g;
		$anchor{$title} = 1;
	}
	return \%anchor;
}
for my $page (@pages, 'CONTRIBUTING.md', 'CHANGELOG.md')
{
	my ($base) = $page =~ m{^(.*/)?};
	my @dead;
	my $text = slurp_file("$top/$page") =~ s/^```.*?^```$//msgr;
	while ($text =~ /\]\(([^)\s]+)\)/g)
	{
		my ($link, $file, $anchor) = ($1, split /#/, $1, 2);
		next if $link =~ /^https?:/;
		$file = length $file ? ($base // '') . $file : $page;
		# In a copy of the tree, test/ is the parent folder of this script.
		$file =~ s{^(?:doc/\.\./)?test/}{};
		$file =~ s{^doc/\.\./}{};
		push @dead, $link unless -e "$top/$file" && (!defined $anchor || anchors("$top/$file")->{$anchor});
	}
	is("@dead", '', "$page: every link leads somewhere");
}

# ---- the tables of wrong results, and redblue's results, which must be correct ----

my $out = '';
$node->safe_psql('postgres', 'CREATE EXTENSION redblue; CREATE EXTENSION postgis');
IPC::Run::run([ 'psql', '-Xq', '-d', $node->connstr('postgres'), '-f', "$top/data/postgis_wrong_cases.sql",
		'-f', "$top/data/postgis_wrong_table.sql" ], '>', \$out);
my @rows = split /\n/, $out;
is(scalar(@rows), 20, 'twenty cases');
is(scalar(grep { (split /\s*\|\s*/)[3] ne (split /\s*\|\s*/)[7] } @rows), 0, 'redblue is right about all twenty');
# A newer PostGIS may have fixed some.
my $postgis = $node->safe_psql('postgres', 'SELECT postgis_lib_version()');
SKIP:
{
	skip "the tables show PostGIS 3.3, here is $postgis", 2 unless $postgis =~ /^3\.3\./;
	for my $page ('README.md', 'doc/exactness.md')
	{
		my ($wanted, $shown) = slurp_file("$top/$page") =~ /^<!-- cases(.*?) -->\n.*?\n\|---.*?\n(.*?)^<!-- end -->/ms;
		my %wanted = map { $_ => 1 } split ' ', $wanted // '';
		is(tidy($shown // ''), tidy(join "\n", grep { !%wanted || $wanted{ (split /\s*\|\s*/)[1] } } @rows),
			"the table of $page is what a run gives");
	}
}

# ---- everything is documented ----

my $reference = slurp_file("$top/doc/reference.md");
for my $function (split /\n/, $node->safe_psql('postgres',
		"SELECT DISTINCT proname FROM pg_proc WHERE proname LIKE 'redblue%' AND prorettype <> 'internal'::regtype ORDER BY 1"))
{
	like($reference, qr/\b$function\b/, "doc/reference.md has $function");
}
my $settings = slurp_file("$top/doc/settings.md");
for my $setting (split /\n/, $node->safe_psql('postgres', "LOAD 'redblue'; SELECT name FROM pg_settings WHERE name LIKE 'redblue.%' ORDER BY 1"))
{
	like($settings, qr/`\Q$setting\E`/, "doc/settings.md has $setting");
}

# ---- the job ----

SKIP:
{
	skip 'pg_cron is not installed', 2 unless $cron;
	ok($node->poll_query_until('doc_recipes_md', "SELECT count(*) > 0 FROM cron.job_run_details WHERE status = 'succeeded'"), 'pg_cron has run the job')
		or diag($node->safe_psql('doc_recipes_md', 'TABLE cron.job_run_details'));
	is($node->safe_psql('doc_recipes_md', "SELECT pairs, new, back, gone FROM run WHERE run = $runs + 1"), '3|0|0|0', 'it found what was there, and wrote nothing else');
}

$node->stop;
done_testing();
