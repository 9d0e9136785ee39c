# Rights before locks: who may not use a table neither locks it nor waits for it, and a
# right that goes while the lock is waited for is gone.
# run: quick
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('rights');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE reader;
CREATE SCHEMA closed;
CREATE SCHEMA open;
GRANT USAGE ON SCHEMA open TO reader;
SQL

# a table of one box, and one for pairs, as they are before each case
my $tables = <<'SQL';
CREATE TABLE SCHEMA.boxes AS SELECT 1 AS id, 0::float8 AS lx, 0::float8 AS ly, 1::float8 AS hx, 1::float8 AS hy;
CREATE TABLE SCHEMA.pairs (red_id bigint, blue_id bigint);
SQL
my $owner = session($node);
my $reader = session($node);

# The planner sees no table in it: what is asked here is asked when the call runs.
my %call = (
	boxes => 'SELECT redblue_box_self_pair_count((SELECT OID::oid::regclass))',
	pairs => "SELECT redblue_into((SELECT OID::oid::regclass), 'VALUES (1::bigint, 2::bigint)')");

# makes both tables in a schema, with these rights; the call of one of them
sub fresh
{
	my ($schema, $table, $grant) = @_;
	$owner->ask('DROP TABLE IF EXISTS open.boxes, open.pairs, closed.boxes, closed.pairs, open.moved, open.other');
	(my $sql = $tables) =~ s/SCHEMA/$schema/g;
	$owner->ask($sql);
	$owner->ask("GRANT $grant ON $schema.$table TO reader") if $grant;
	my $oid = $owner->ask("SELECT '$schema.$table'::regclass::oid");
	(my $call = $call{$table}) =~ s/OID/$oid/;
	return $call;
}

sub waits
{
	for (1 .. 6000)
	{
		return 1 if $owner->ask("SELECT count(*) FROM pg_locks WHERE pid = $reader->{pid} AND NOT granted");
		sleep(0.01);
	}
	return 0;
}

# what the reader gets for the call while the owner holds the table, does $meanwhile, and commits
sub behind_a_lock
{
	my ($schema, $table, $call, $meanwhile) = @_;
	$owner->ask("BEGIN; LOCK TABLE $schema.$table IN ACCESS EXCLUSIVE MODE");
	$reader->send($call);
	my $waited = waits();
	$owner->ask($meanwhile) if $meanwhile;
	$owner->ask('COMMIT');
	my ($out, $err) = $reader->wait_for;
	return ($waited, $out, $err);
}

$reader->ask('SET ROLE reader; SET lock_timeout = 30000');

for my $table ('boxes', 'pairs')
{
	my $right = $table eq 'boxes' ? 'SELECT' : 'INSERT';
	my $column = $table eq 'boxes' ? 'SELECT (ly)' : 'INSERT (blue_id)';

	# no right, the wrong one, no way into the schema: the reader is not in the queue, where it would run into its timeout
	for my $case (['open', ''], ['open', 'DELETE'], ['closed', $right])
	{
		my ($schema, $grant) = @$case;
		my $call = fresh($schema, $table, $grant);
		$owner->ask("BEGIN; LOCK TABLE $schema.$table IN ACCESS EXCLUSIVE MODE");
		my (undef, $err) = $reader->ask($call);
		$owner->ask('COMMIT');
		like($err, qr/42501: permission denied for (table $table|schema closed)/,
			"$table in $schema with " . ($grant || 'no right') . ': refused, not queued');
	}

	# with the right it waits, also with the right to one column
	my ($waited, $out, $err) = behind_a_lock('open', $table, fresh('open', $table, $right));
	is("$waited $out", $table eq 'boxes' ? '1 0' : '1 1', "$table with $right: waits, then answers");
	($waited, $out, $err) = behind_a_lock('open', $table, fresh('open', $table, $column));
	ok($waited && $err =~ /42501: permission denied for table $table/, "$table with $column: waits, and needs the others");

	# what changes while it waits counts
	for my $case (
		["REVOKE $right ON open.$table FROM reader", qr/42501: permission denied for table $table/],
		["ALTER TABLE open.$table SET SCHEMA closed", qr/42501: permission denied for schema closed/],
		["DROP TABLE open.$table", qr/42P01: .* does not exist/])
	{
		my ($meanwhile, $error) = @$case;
		($waited, $out, $err) = behind_a_lock('open', $table, fresh('open', $table, $right), $meanwhile);
		ok($waited && $out eq '' && $err =~ $error, "$table: $meanwhile") or diag("waited $waited, out $out, err $err");
	}
	# the relation is meant, not its name
	($waited, $out, $err) = behind_a_lock('open', $table, fresh('open', $table, $right),
		"ALTER TABLE open.$table RENAME TO moved; CREATE TABLE open.$table (nothing int)");
	is("$waited $out", $table eq 'boxes' ? '1 0' : '1 1', "$table renamed: still that one");
}

$owner->quit;
$reader->quit;
$node->stop;
done_testing();
