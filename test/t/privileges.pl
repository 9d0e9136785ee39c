# Tests that privileges are checked before locking: without a privilege for a table, a role neither locks it nor waits
# for it, and a privilege that is revoked while the lock is awaited does not apply.
# run: quick
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('rights');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE reader;
CREATE SCHEMA closed;
CREATE SCHEMA open;
GRANT USAGE ON SCHEMA open TO reader;
SQL

# A table of one box, and one for pairs, as they are before each case
my $tables = <<'SQL';
CREATE TABLE SCHEMA.boxes AS SELECT 1 AS id, 0::float8 AS lx, 0::float8 AS ly, 1::float8 AS hx, 1::float8 AS hy;
CREATE TABLE SCHEMA.pairs (red_id bigint, blue_id bigint);
SQL
my $owner = session($node);
my $reader = session($node);

# The planner does not see the table in these calls, so the check happens when the call runs.
my %call = (
	boxes => 'SELECT redblue_box_self_pair_count((SELECT OID::oid::regclass))',
	pairs => "SELECT redblue_into((SELECT OID::oid::regclass), 'VALUES (1::bigint, 2::bigint)')");

# Creates both tables in a schema with these privileges; returns the call for one of them.
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
	return waits_for_lock($reader, $owner);
}

# The reader's result for the call while the owner holds a lock on the table, executes $meanwhile, and commits
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

	# Without a privilege, with the wrong one, or without access to the schema, the reader does not wait: it would run
	# into its timeout.
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

	# With the privilege, also for a single column, the reader waits.
	my ($waited, $out, $err) = behind_a_lock('open', $table, fresh('open', $table, $right));
	is("$waited $out", $table eq 'boxes' ? '1 0' : '1 1', "$table with $right: waits, then answers");
	($waited, $out, $err) = behind_a_lock('open', $table, fresh('open', $table, $column));
	ok($waited && $err =~ /42501: permission denied for table $table/, "$table with $column: waits, and needs the others");

	# Changes made while it waits apply.
	for my $case (
		["REVOKE $right ON open.$table FROM reader", qr/42501: permission denied for table $table/],
		["ALTER TABLE open.$table SET SCHEMA closed", qr/42501: permission denied for schema closed/],
		["DROP TABLE open.$table", qr/42P01: .* does not exist/])
	{
		my ($meanwhile, $error) = @$case;
		($waited, $out, $err) = behind_a_lock('open', $table, fresh('open', $table, $right), $meanwhile);
		ok($waited && $out eq '' && $err =~ $error, "$table: $meanwhile") or diag("waited $waited, out $out, err $err");
	}
	# The privilege belongs to the relation, not to its name.
	($waited, $out, $err) = behind_a_lock('open', $table, fresh('open', $table, $right),
		"ALTER TABLE open.$table RENAME TO moved; CREATE TABLE open.$table (nothing int)");
	is("$waited $out", $table eq 'boxes' ? '1 0' : '1 1', "$table renamed: still that one");
}

$owner->quit;
$reader->quit;
$node->stop;
done_testing();
