# Tests EvalPlanQual: if another session changes a row while a statement waits for it, the statement evaluates the row
# again and must find the rows that it joins with it, wherever the join is in the plan.
# run: quick long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('recheck');
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
# Each row of a meets the row of b with the same number; row 2 of t changes.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE a AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 0.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 4) i;
CREATE TABLE b AS TABLE a;
CREATE TABLE t (id bigint PRIMARY KEY, n int, more text);
CREATE TABLE parts (LIKE t) PARTITION BY LIST (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1, 3);
CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2, 4);
CREATE TABLE side AS SELECT i AS k FROM generate_series(1, 4) i;
CREATE VIEW joined AS SELECT red_id FROM redblue_box_pairs('a', 'b') UNION ALL SELECT 77::bigint;
CREATE FUNCTION inlined() RETURNS SETOF bigint LANGUAGE sql STABLE AS $$ SELECT red_id FROM redblue_box_pairs('a', 'b') UNION ALL SELECT 77::bigint $$;
SQL
my $one = session($node);
my $two = session($node);

my $pairs = "redblue_box_pairs('a', 'b')";
my $one_join = "(SELECT red_id, blue_id FROM $pairs)";
my $union = "(SELECT red_id FROM $pairs UNION ALL SELECT 77::bigint)";
my $unions = "(SELECT red_id FROM $pairs UNION ALL (SELECT blue_id FROM redblue_box_pairs('b', 'a') WHERE red_id > 2 UNION ALL SELECT 77::bigint))";
my $of_row = "redblue_box_pairs_query(format('SELECT * FROM a WHERE id = %s', %s), 'TABLE b')";
my $of_side = sprintf "(SELECT red_id FROM $of_row UNION ALL SELECT 77::bigint)", '%s', 'side.k';
my $count_of_t = sprintf $of_row, '%s', 't.id';
my $of_t = sprintf "(SELECT red_id FROM $of_row UNION ALL SELECT 77::bigint)", '%s', 't.id';

# The expected result: all four rows, with the other session's change of row 2
my $updated = '1 1,2 11,3 1,4 1';
my $locked = '1 0,2 10,3 0,4 0';
my $back = ' RETURNING t.id, t.n';

my @updates = (
	[ 'a join', "UPDATE t SET n = n + 1 FROM $pairs p WHERE p.red_id = t.id" ],
	[ 'a subquery', "UPDATE t SET n = n + 1 FROM $one_join p WHERE p.red_id = t.id" ],
	[ 'a join or a constant', "UPDATE t SET n = n + 1 FROM $union p WHERE p.red_id = t.id" ],
	[ 'two joins', "UPDATE t SET n = n + 1 FROM $unions p WHERE p.red_id = t.id" ],
	[ 'a view', 'UPDATE t SET n = n + 1 FROM joined p WHERE p.red_id = t.id' ],
	[ 'an SQL function', 'UPDATE t SET n = n + 1 FROM inlined() p (red_id) WHERE p.red_id = t.id' ],
	[ 'a CTE', "WITH p AS NOT MATERIALIZED (SELECT * FROM $union u) UPDATE t SET n = n + 1 FROM p WHERE p.red_id = t.id" ],
	[ 'a CTE that is kept', "WITH p AS MATERIALIZED (SELECT * FROM $union u) UPDATE t SET n = n + 1 FROM p WHERE p.red_id = t.id" ],
	[ 'beside another table', "UPDATE t SET n = n + 1 FROM side, $union p WHERE p.red_id = t.id AND side.k = p.red_id" ],
	[ 'of another table\'s row', "UPDATE t SET n = n + 1 FROM side, LATERAL $of_side p WHERE p.red_id = t.id" ],
	[ 'below a filter', "UPDATE t SET n = n + 1 FROM (SELECT * FROM $union u WHERE red_id < 70 OFFSET 0) p WHERE p.red_id = t.id" ],
	[ 'grouped', "UPDATE t SET n = n + p.c FROM (SELECT red_id, count(*) AS c FROM $union u GROUP BY red_id) p WHERE p.red_id = t.id" ],
	[ 'counted', "UPDATE t SET n = n + p.c FROM (SELECT red_id, count(*) AS c FROM $pairs GROUP BY red_id) p WHERE p.red_id = t.id" ],
	[ 'hit', "UPDATE t SET n = n + 1 FROM (SELECT DISTINCT blue_id FROM $pairs) p WHERE p.blue_id = t.id" ],
	[ 'a count', "UPDATE t SET n = n + (SELECT count(*) / 4 FROM $pairs)" ],
	[ 'a count beside it', "UPDATE t SET n = n + c / 4 FROM (SELECT count(*) AS c FROM $pairs) p" ],
	[ 'a count of the row', "UPDATE t SET n = n + (SELECT count(*) FROM $count_of_t p)" ],
	[ 'counts of the row', "UPDATE t SET n = n + 1 WHERE EXISTS (SELECT red_id FROM $count_of_t p GROUP BY red_id HAVING count(*) = 1)" ],
	[ 'LEFT JOIN', "UPDATE t SET n = n + 1 FROM side LEFT JOIN $union p ON p.red_id = side.k WHERE side.k = t.id AND p.red_id IS NOT NULL" ],
	[ 'IN', "UPDATE t SET n = n + 1 WHERE id IN (SELECT red_id FROM $pairs)" ],
	[ 'IN two', "UPDATE t SET n = n + 1 WHERE id IN $unions" ],
	[ 'EXISTS', "UPDATE t SET n = n + 1 WHERE EXISTS (SELECT FROM $pairs WHERE red_id = t.id)" ],
	[ 'EXISTS in two', "UPDATE t SET n = n + 1 WHERE EXISTS (SELECT FROM $unions p WHERE red_id = t.id)" ],
	[ 'NOT EXISTS', "UPDATE t SET n = n + 1 WHERE NOT EXISTS (SELECT FROM $union p WHERE red_id - 76 = t.id AND t.id > 1)" ],
	[ 'correlated', "UPDATE t SET n = n + (SELECT count(*) FROM $pairs WHERE red_id = t.id)" ],
	[ 'correlated with two', "UPDATE t SET n = n + (SELECT count(DISTINCT red_id) FROM $unions p WHERE red_id = t.id)" ],
	[ 'of the row', "UPDATE t SET n = n + (SELECT count(*) FROM $of_t p WHERE red_id = t.id)" ],
	[ 'an initial plan', "UPDATE t SET n = n + 1 WHERE id <= (SELECT max(red_id) FROM $pairs)" ],
	[ 'DELETE', "DELETE FROM t USING $union p WHERE p.red_id = t.id$back", $locked ],
	[ 'DELETE with one', "DELETE FROM t USING $pairs p WHERE p.red_id = t.id$back", $locked ],
	[ 'ON CONFLICT', "INSERT INTO t SELECT red_id, 0 FROM $union p WHERE red_id < 70 ON CONFLICT (id) DO UPDATE SET n = t.n + 1" ],
	[ 'a partitioned table', "UPDATE parts t SET n = n + 1 FROM $union p WHERE p.red_id = t.id" ],
	[ 'two partitions', "UPDATE parts t SET n = n + 1 FROM $unions p WHERE p.red_id = t.id" ],
);
my @locks = (
	[ 'FOR UPDATE', "SELECT t.id, t.n FROM t, $union p WHERE p.red_id = t.id FOR UPDATE OF t", $locked ],
	[ 'FOR UPDATE, one join', "SELECT t.id, t.n FROM t, $pairs p WHERE p.red_id = t.id FOR UPDATE OF t", $locked ],
	[ 'FOR UPDATE, two', "SELECT DISTINCT id, n FROM (SELECT t.id, t.n FROM t, $unions p WHERE p.red_id = t.id FOR UPDATE OF t) s", $locked ],
	[ 'FOR NO KEY UPDATE', "SELECT t.id, t.n FROM t JOIN $union p ON p.red_id = t.id FOR NO KEY UPDATE OF t", $locked ],
	[ 'FOR SHARE', "SELECT t.id, t.n FROM t LEFT JOIN $union p ON p.red_id = t.id FOR SHARE OF t", $locked ],
	[ 'FOR UPDATE, of the row', "SELECT t.id, t.n FROM t, LATERAL $of_t p WHERE p.red_id = t.id FOR UPDATE OF t", $locked ],
	[ 'FOR UPDATE, counted', "SELECT t.id, t.n FROM t, (SELECT red_id, count(*) AS c FROM $pairs GROUP BY red_id) p WHERE p.red_id = t.id AND c = 1 FOR UPDATE OF t", $locked ],
	[ 'FOR UPDATE in a subquery', "SELECT s.id, s.n FROM (SELECT * FROM t FOR UPDATE) s, $union p WHERE p.red_id = s.id", $locked ],
);
my @merges = (
	[ 'MERGE', "MERGE INTO t USING $union p ON p.red_id = t.id WHEN MATCHED THEN UPDATE SET n = t.n + 1" ],
	[ 'MERGE with one', "MERGE INTO t USING $pairs p ON p.red_id = t.id WHEN MATCHED THEN UPDATE SET n = t.n + 1" ],
	[ 'MERGE that deletes', "MERGE INTO t USING $union p ON p.red_id = t.id WHEN MATCHED AND n = 10 THEN UPDATE SET n = 11"
		. ' WHEN MATCHED THEN UPDATE SET n = 1 WHEN NOT MATCHED THEN DO NOTHING' ],
);

# Runs a statement that waits for row 2, which is changed but not committed, then commits the change.
sub statement_during
{
	my ($change, $statement) = @_;
	$one->ask("BEGIN; $change");
	$two->send($statement);
	waits_for_lock($two, $one) or die "does not wait: $statement";
	$one->ask('COMMIT');
	return scalar $two->wait_for(60);
}

sub fill
{
	my ($table) = @_;
	$one->ask("TRUNCATE $table; INSERT INTO $table SELECT i, 0, repeat('x', 10) FROM generate_series(1, 4) i");
	return;
}

sub look_again
{
	my ($statement) = @_;
	my $table = $statement =~ /parts t/ ? 'parts' : 't';
	fill($table);
	my $out = statement_during("UPDATE $table SET n = n + 10 WHERE id = 2", $statement);
	$out = $two->ask("SELECT id, n FROM $table ORDER BY id") if $out eq '';
	return join ',', sort map { s/\|/ /r } split /\n/, $out;
}

# No plan here has t below the inner side of a nested loop over a UNION ALL: EvalPlanQual loses the row there,
# whatever is appended, including plain tables.
my @settings = ('SET redblue.custom_scan = on; SET enable_nestloop = off', 'SET redblue.custom_scan = off; SET enable_nestloop = off',
	'SET redblue.custom_scan = on; SET enable_hashjoin = off; SET enable_nestloop = off');
for my $setting (@settings)
{
	$two->ask("RESET ALL; $setting");
	for my $form (@updates, @locks, $version >= 150000 ? @merges : ())
	{
		my ($name, $statement, $expected) = @$form;
		is(look_again($statement), $expected // $updated, "$name, $setting");
	}
}
$two->ask('RESET ALL');

my ($update) = map { $_->[1] } grep { $_->[0] eq 'a join or a constant' } @updates;
# A row deleted in the meantime is gone; a row that no longer matches remains unchanged.
for my $change ('DELETE FROM t WHERE id = 2', 'UPDATE t SET id = 50 WHERE id = 2')
{
	fill('t');
	is(join(',', sort split /\n/, statement_during($change, $update . $back)), '1|1,3|1,4|1', $change);
}
# Other isolation levels report an error instead.
fill('t');
$two->ask('SET default_transaction_isolation = \'repeatable read\'');
like(statement_during('UPDATE t SET n = n + 10 WHERE id = 2', $update), qr/40001/, 'REPEATABLE READ');

$one->quit;
$two->quit;
$node->stop('fast');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|leak|TRAP/, 'a clean log');

done_testing();
