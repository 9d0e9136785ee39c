# doc/servers.md, as it stands, with four servers and a coordinator: one join on all of them at once, with the answer of one
# server.  Then what the page says of rows that change, of several sessions, of servers that are down, of a cancel, of
# rights, and of other rows.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use Pages;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

my $page = "$FindBin::Bin/../doc/servers.md";
my $hosts = PostgreSQL::Test::Utils::tempdir_short();

# A server with a database gis.  Hosts of the page are folders here, each with a link to the socket of its server.
sub node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', "autovacuum = off\nfull_page_writes = off\nsynchronous_commit = off\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE gis');
	mkdir "$hosts/$name" or die;
	symlink $node->host . '/.s.PGSQL.' . $node->port, "$hosts/$name/.s.PGSQL.5432" or die;
	return $node;
}

my $coordinator = node('coordinator');
plan skip_all => 'no postgres_fdw here' unless $coordinator->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
my @servers = map { node("server$_") } 1 .. 4;
my $version = $coordinator->safe_psql('postgres', 'SHOW server_version_num') / 10000;
$ENV{PGHOST} = "$hosts/coordinator";
$ENV{PGPORT} = 5432;
$ENV{PGDATABASE} = 'gis';

# where the page's servers are
sub placed
{
	my ($body) = @_;
	$body =~ s/host 'server%s'/host '$hosts\/server%s', port '5432'/g;
	$body =~ s/-h \$server\b/-h $hosts\/\$server/g;
	return $body;
}
sub tidy { my $text = shift; $text =~ s/[ \t]+$//mg; $text =~ s/\s+\z//; return $text }
sub ask { return $coordinator->safe_psql('gis', $_[0]) }
sub on_servers { $_->safe_psql('gis', $_[0]) for @servers; return }
sub sum_of { return ask(checksum_of($_[0])) }
my $pairs = '(SELECT ore_id AS red_id, tunnel_id AS blue_id FROM pair) p';
my $here = "redblue_triangle_pairs('ore', 'tunnel')";

# ---- the page ----

# the first block of each heading; what the last one printed
my (%block, $ran);
my $n = 0;
for (page_blocks($page))
{
	my ($heading, $kind, $body) = @$_;
	$n++ if $kind ne 'text';
	my $name = "$heading, example $n";
	if ($kind eq 'text')
	{
	  SKIP:
		{
			skip "$name: plans are those of PostgreSQL 15, here is $version", 1 if $body =~ /QUERY PLAN/ && int $version != 15;
			is(tidy($ran), tidy($body), "$name prints what the page says");
		}
		next;
	}
	# "once more, FROM next_tile"
	if ($body =~ /^INSERT INTO tile TABLE next_tile/m)
	{
		my ($status, undef, $err) = run_block('sh', placed($block{'On each server'} =~ s/FROM tile/FROM next_tile/r));
		is("$status $err", '0 ', 'new tiles: the servers have tables');
	}
	$block{$heading} //= $body;
	(my $status, $ran, my $err) = run_block($kind, placed($body));
	is($status, 0, "$name runs") or diag($err);
	is($err, '', "$name without a warning");
}
$coordinator->stop;
$_->stop for @servers;
done_testing();
