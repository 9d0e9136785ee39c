# The examples of README.md and doc/ work and print what the page says; its table
# of PostGIS's errors is the one that a run gives; every function is documented.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::Bin/..";
my $node = PostgreSQL::Test::Cluster->new('readme');
$node->init;
$node->append_conf('postgresql.conf', "search_path = 'public'");
$node->start;
plan skip_all => 'no PostGIS here' unless have_postgis($node);

sub tidy { my $text = shift; $text =~ s/[ \t]+$//mg; $text =~ s/\s+\z//; return $text }

# A page's ```sql blocks run one after the other in a database of their own; a
# ```text block behind one is what psql prints.
my $pages = 0;
for my $page ('README.md', 'doc/reference.md')
{
	my $text = slurp_file("$top/$page");
	my $db = 'page' . $pages++;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	my @blocks = $text =~ /^```(sql|text)\n(.*?)^```$/msg;
	my ($n, $ran) = (0, '');
	while (my ($kind, $body) = splice(@blocks, 0, 2))
	{
		if ($kind eq 'sql')
		{
			$n++;
			my $out = '';
			my $err = '';
			# aligned output, as a reader sees it
			IPC::Run::run([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($db), '-f', '-' ],
				'<', \$body, '>', \$out, '2>', \$err);
			# the first line that failed is in the name
			is($?, 0, "$page, example $n runs") or diag($err);
			$ran = $out;
		}
		else
		{
			is(tidy($ran), tidy($body), "$page, example $n prints what the page says");
		}
	}
	cmp_ok($n, '>', 3, "$page has examples");
}

# the table of wrong answers, and redblue right about all of them
my ($shown) = slurp_file("$top/README.md") =~ /^<!-- cases -->\n.*?\n\|---.*?\n(.*?)^<!-- end -->/ms;
my $out = '';
$node->safe_psql('postgres', 'CREATE EXTENSION redblue; CREATE EXTENSION postgis');
IPC::Run::run([ 'psql', '-Xq', '-d', $node->connstr('postgres'), '-f', "$top/data/postgis_wrong_cases.sql",
		'-f', "$top/data/postgis_wrong_table.sql" ], '>', \$out);
my @rows = split /\n/, $out;
is(scalar(@rows), 20, 'twenty cases');
is(scalar(grep { (split /\s*\|\s*/)[3] ne (split /\s*\|\s*/)[7] } @rows), 0, 'redblue is right about all twenty');
# another PostGIS may have mended some
my $postgis = $node->safe_psql('postgres', 'SELECT postgis_lib_version()');
SKIP:
{
	skip "the table shows PostGIS 3.3, here is $postgis", 1 unless $postgis =~ /^3\.3\./;
	is(tidy($out), tidy($shown // ''), 'the table of README.md is what a run gives');
}

# nothing undocumented
my $reference = slurp_file("$top/doc/reference.md");
for my $function (split /\n/, $node->safe_psql('postgres',
		"SELECT DISTINCT proname FROM pg_proc WHERE proname LIKE 'redblue%' AND prorettype <> 'internal'::regtype ORDER BY 1"))
{
	like($reference, qr/\b$function\b/, "doc/reference.md has $function");
}
my $readme = slurp_file("$top/README.md");
for my $setting (split /\n/, $node->safe_psql('postgres', "LOAD 'redblue'; SELECT name FROM pg_settings WHERE name LIKE 'redblue.%' ORDER BY 1"))
{
	like($readme, qr/`\Q$setting\E`/, "README.md has $setting");
}

$node->stop;
done_testing();
