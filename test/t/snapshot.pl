# Tests that a join reads what a SELECT in its place would read: with concurrent sessions, at each isolation level.
# run: quick
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('snapshot');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE a AS SELECT i AS id, 0::float8 AS ax, 0::float8 AS ay, 0::float8 AS az, 1::float8 AS bx, 0::float8 AS by, 0::float8 AS bz,
	0::float8 AS cx, 1::float8 AS cy, 1::float8 AS cz FROM generate_series(1, 100::int8) i;
CREATE TABLE b AS TABLE a;
CREATE TABLE empty AS SELECT * FROM a LIMIT 0;
VACUUM ANALYZE;
SQL
my $count = "SELECT count(*) FROM redblue_triangle_pairs('a', 'b')";
my $one = session($node);
my $two = session($node);

# Changes by others, before and after they commit
$two->ask('BEGIN; DELETE FROM a WHERE id <= 50; INSERT INTO b SELECT id + 100, ax, ay, az, bx, by, bz, cx, cy, cz FROM b');
is($one->ask($count), 10000, 'uncommitted changes of others are not seen');
is($two->ask($count), 10000, 'the own ones are');
$one->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM a');
$two->ask('COMMIT');
is($one->ask($count), 10000, 'REPEATABLE READ keeps its snapshot');
$one->ask('COMMIT');
is($one->ask("SELECT count(*) FROM redblue_triangle_pairs('a', 'a')"), 2500, 'a new one sees what was committed');

# A cursor uses the snapshot of its declaration, whenever it is read.
$one->ask("BEGIN; DECLARE c CURSOR FOR $count; DECLARE d CURSOR FOR SELECT * FROM redblue_triangle_pairs('a', 'b')");
$two->ask('DELETE FROM b WHERE id > 100');
is($one->ask('FETCH c'), 10000, 'the snapshot of a cursor is that of its declaration');
like($one->ask('\\set QUIET off' . "\nMOVE ALL IN d;\n" . '\\set QUIET on' . "\nSELECT 1"), qr/MOVE 10000/, 'when its rows stream, too');
$one->ask('COMMIT');
is($one->ask($count), 5000, 'the next statement sees the change');

# A table that is rewritten or truncated after the snapshot was taken
$one->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM empty');
$two->ask("VACUUM FULL a;\nCREATE INDEX a_id ON a (id); CLUSTER a USING a_id");
is($one->ask($count), 5000, 'after VACUUM FULL and CLUSTER');
$one->ask('COMMIT');

# A unique index that is newer than the snapshot proves nothing about the rows that the snapshot sees.
$one->ask('CREATE TABLE twice AS SELECT 1 + i % 2 AS id, 0::float8 AS ax, 0::float8 AS ay, i::float8 AS az, 1::float8 AS bx, 0::float8 AS by, i::float8 AS bz, '
	  . '0::float8 AS cx, 1::float8 AS cy, i::float8 AS cz FROM generate_series(1, 3) i');
my $grouped = "SELECT string_agg(red_id || ':' || n, ' ' ORDER BY red_id, n) FROM (SELECT red_id, count(*) AS n FROM redblue_triangle_pairs('twice', 'twice') GROUP BY red_id) x";
my $hits = "SELECT count(*) FROM (SELECT DISTINCT red_id FROM redblue_triangle_pairs('twice', 'twice')) h";
$one->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM twice');
$two->ask("DELETE FROM twice WHERE az = 3;\nCREATE UNIQUE INDEX ON twice (id)");
is($one->ask($grouped), '1:1 2:2', 'groups under a unique index that is younger than the snapshot');
is($one->ask($hits), 2, 'and hits');
$one->ask('COMMIT');
is($one->ask($grouped), '1:1 2:1', 'groups afterwards');

# A table is locked as by SELECT, until the end of the transaction.
$one->ask("BEGIN; $count");
like($two->ask("SET lock_timeout = '100ms';\nTRUNCATE a;\nRESET lock_timeout"), qr/55P03/, 'a table that was read is not truncated');
$one->ask('COMMIT');

# Write skew: each transaction reads what the other one writes.
for my $way ('direct', 'query')
{
	my %read = map {
		$_ => $way eq 'direct' ? "SELECT count(*) FROM redblue_triangle_pairs('$_', '$_')"
		  : "SELECT count(*) FROM redblue_triangle_pairs_query('TABLE $_', 'TABLE $_')"
	} ('a', 'b');
	$_->ask('BEGIN ISOLATION LEVEL SERIALIZABLE') for $one, $two;
	$one->ask($read{a});
	$two->ask($read{b});
	my $said = $one->ask('INSERT INTO b SELECT 1000, ax, ay, az, bx, by, bz, cx, cy, cz FROM empty UNION ALL SELECT 1000, 0,0,0, 1,0,0, 0,1,1');
	$said .= $two->ask('INSERT INTO a SELECT 1000, 0,0,0, 1,0,0, 0,1,1');
	$said .= $one->ask('COMMIT');
	$said .= $two->ask('COMMIT');
	like($said, qr/40001/, "SERIALIZABLE finds write skew, $way");
	$one->ask('DELETE FROM a WHERE id = 1000; DELETE FROM b WHERE id = 1000');
}
$one->quit;
$two->quit;
$node->stop('fast');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|leak/, 'a clean log');

done_testing();
