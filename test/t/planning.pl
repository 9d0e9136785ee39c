# Tests that planning neither waits for other sessions nor keeps anything, and that their actions between planning and
# execution cause no error that they would not cause without workers.
# run: quick
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('planning', "wal_level = replica\nmax_wal_senders = 2\nhot_standby = on\n");
$node->append_conf('pg_hba.conf', "local replication all trust\n");
$node->reload;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE a AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 0.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 4) i;
CREATE TABLE b AS TABLE a;
CREATE TABLE parent (LIKE a);
CREATE TABLE child () INHERITS (parent);
INSERT INTO child TABLE a;
CREATE UNLOGGED TABLE unlogged AS TABLE a;
CREATE SEQUENCE numbers;
CREATE ROLE somebody;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO somebody;
GRANT USAGE ON SEQUENCE numbers TO somebody;
ANALYZE;
SQL
my $one = session($node);
my $two = session($node);

# Relations that another session has locked, one of them a child
$one->ask("SET lock_timeout = '2s'");
for my $relation ('a', 'child')
{
	$two->ask("BEGIN; LOCK TABLE $relation");
	(my $sides = "'$relation', 'b'") =~ s/child/parent/;
	like($one->ask("EXPLAIN SELECT * FROM redblue_box_pairs($sides)"), qr/redblue/, "$relation is locked: EXPLAIN");
	like($one->ask("EXPLAIN SELECT redblue_box_pair_count($sides)"), qr/Result/, "$relation is locked: EXPLAIN of a count");
	is($one->ask("PREPARE p AS SELECT * FROM redblue_box_pairs($sides)"), '', "$relation is locked: PREPARE");
	$one->ask('DEALLOCATE p');
	like($one->ask("SELECT count(*) FROM redblue_box_pairs($sides)"), qr/55P03/, "$relation is locked: no one reads it");
	$two->ask('ROLLBACK');
}

# An index that is being rebuilt: planning a SELECT from its table would wait for it.
$one->ask('CREATE INDEX a_id ON a (id)');
$two->ask('BEGIN; REINDEX INDEX a_id');
like($one->ask('EXPLAIN SELECT * FROM a'), qr/55P03/, 'an index is locked: a SELECT is not planned');
like($one->ask("EXPLAIN SELECT * FROM redblue_box_pairs('a', 'b')"), qr/redblue/, 'an index is locked: EXPLAIN');
is($one->ask("PREPARE p AS SELECT * FROM redblue_box_pairs('a', 'b')"), '', 'an index is locked: PREPARE');
$one->ask('DEALLOCATE p');
$two->ask('ROLLBACK');
$one->ask('DROP INDEX a_id; RESET lock_timeout');

# A temporary table of another session
$two->ask('CREATE TEMPORARY TABLE mine AS TABLE a');
my $mine = $two->ask("SELECT 'mine'::regclass::oid");
like($one->ask("EXPLAIN SELECT * FROM redblue_box_pairs($mine, 'b')"), qr/redblue/, 'EXPLAIN of a temporary table of another session');
like($one->ask("SELECT * FROM redblue_box_pairs($mine, 'b')"), qr/0A000: cannot access temporary tables of other sessions/, 'it is not read');
$two->ask('DROP TABLE mine');
like($one->ask("EXPLAIN SELECT * FROM redblue_box_pairs($mine, 'b')"), qr/redblue/, 'EXPLAIN of a table that is gone');
like($one->ask("SELECT * FROM redblue_box_pairs($mine, 'b')"), qr/42P01/, 'it is missed');

# A cached plan with workers. While it waits to be executed, a table that it reads gets a policy that workers may not
# run, or is dropped.
my $kept = "SELECT count(*), sum(red_id) FROM redblue_box_pairs('a', 'b')";
for my $change (
	[ 'a policy', "ALTER TABLE b ENABLE ROW LEVEL SECURITY; CREATE POLICY numbered ON b USING (nextval('numbers') > 0)", qr/^4\|10$/ ],
	[ 'another policy', "DROP POLICY numbered ON b; CREATE POLICY hidden ON b USING (nextval('numbers') > 0 AND id > 1)", qr/^3\|9$/ ],
	[ 'none', 'ALTER TABLE b DISABLE ROW LEVEL SECURITY', qr/^4\|10$/ ],
	[ 'other columns', 'ALTER TABLE b DROP COLUMN hy, ADD COLUMN hy float8 DEFAULT 1', qr/^4\|10$/ ],
	[ 'its end', 'DROP TABLE b CASCADE', qr/42P01/ ])
{
	my ($name, $sql, $expected) = @$change;
	$one->ask(
		'SET ROLE somebody; SET plan_cache_mode = force_generic_plan; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
		  . "PREPARE kept AS $kept");
	like($one->ask('EXPLAIN (COSTS OFF) EXECUTE kept'), qr/redblue_box_pairs/, "a plan before $name");
	$two->ask("BEGIN; $sql");
	$one->send('EXECUTE kept');
	ok(waits_for_lock($one, $two), "it waits for $name");
	$two->ask('COMMIT');
	like(scalar($one->wait_for), $expected, "and is executed with $name");
	$one->ask('DEALLOCATE kept');
}

# Rows are read for an estimate. Nothing remains of this, however often it happens, even while others change the table.
$two->ask('CREATE TABLE many AS SELECT i AS id, (i % 1009)::float8 AS lx, 0::float8 AS ly, i % 1009 + 0.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 50000) i');
my $estimates = q{DO $$ BEGIN FOR i IN 1 .. 500 LOOP EXECUTE 'EXPLAIN SELECT * FROM redblue_box_self_pairs(''many'')'; END LOOP; END $$};
$one->ask('RESET ROLE');
is($one->ask($estimates), '', 'five hundred estimates');
my $before = backend_rss_kb($one->{pid});
my $fds = backend_fds($one->{pid});
is($one->ask($estimates), '', 'and again') for 1 .. 3;
cmp_ok(backend_rss_kb($one->{pid}) - $before, '<', 1000, 'the process has not grown');
cmp_ok(backend_fds($one->{pid}), '<=', $fds + 1, 'and has no more files open');
$one->send($estimates =~ s/500/3000/r);
for my $change ('DELETE FROM many WHERE id % 3 = 0', 'VACUUM many', 'UPDATE many SET hx = hx + 1 WHERE id % 2 = 0', 'DELETE FROM many WHERE id > 9000', 'VACUUM many',
	'VACUUM FULL many', 'TRUNCATE many', 'INSERT INTO many SELECT i, i, 0, i, 1 FROM generate_series(1, 30000) i', 'ALTER TABLE many DROP COLUMN hy', 'ALTER TABLE many ADD COLUMN hy float8 DEFAULT 1', 'CLUSTER many USING many_id')
{
	$two->ask('CREATE INDEX many_id ON many (id)') if $change =~ /CLUSTER/;
	is($two->ask($change), '', "$change, while others estimate");
}
is($one->wait_for, '', 'they all end well');
like($one->ask(under_timeout(30, $estimates =~ s/500/100000000/r)), qr/57014/, 'one that is cancelled');
is($one->ask("SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'redblue%'"), '0', 'nothing is left of it');
$one->quit;
$two->quit;

# On a standby, unlogged tables have no files.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
my $there = session($standby);
like($there->ask("EXPLAIN SELECT * FROM redblue_box_pairs('unlogged', 'a')"), qr/redblue/, 'a standby: EXPLAIN of an unlogged table');
like($there->ask("SELECT * FROM redblue_box_pairs('unlogged', 'a')"), qr/0A000: cannot access temporary or unlogged relations during recovery/, 'it cannot be read');
$there->ask('SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0');
is($there->ask("SELECT count(*) FROM redblue_box_pairs('a', 'parent')"), '4', 'tables are, with workers');
$there->quit;
$standby->stop('fast');
$node->stop('fast');
unlike(slurp_file($_->logfile), qr/terminated by signal|PANIC|leak|TRAP/, 'a clean log') for $node, $standby;

done_testing();
