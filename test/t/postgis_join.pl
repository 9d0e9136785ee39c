# Tests redblue_postgis: joins as one node of the plan, in situations that need several sessions: rows that others
# change (EvalPlanQual), snapshots, cancellation, lack of memory and disk space, repeated failures, parallel plans below
# and above the node; and random queries (test/join_random).
# run: quick long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('join');
plan skip_all => 'no PostGIS' if !have_postgis($node);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION redblue_postgis;
-- crosses in a row, 1 to 10, and lines through them
CREATE TABLE spot (id int PRIMARY KEY, kind int, geom geometry);
CREATE TABLE way (id int PRIMARY KEY, kind int, geom geometry);
INSERT INTO spot SELECT i, i % 3, ST_MakePoint(i, 0) FROM generate_series(1, 10) i;
INSERT INTO way SELECT i, i % 2, ST_MakeLine(ST_MakePoint(i, -1), ST_MakePoint(i, 1)) FROM generate_series(1, 10) i;
-- rows of which some are in one child, some in another one with other columns; a trigger moves them, too
CREATE TABLE place (id int, part int, kind int, geom geometry, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE place_0 PARTITION OF place FOR VALUES IN (0);
CREATE TABLE place_1 (gone text, geom geometry, kind int, part int NOT NULL, id int NOT NULL);
ALTER TABLE place_1 DROP gone;
ALTER TABLE place ATTACH PARTITION place_1 FOR VALUES IN (1);
INSERT INTO place SELECT i, i % 2, i % 3, ST_MakePoint(i, 0) FROM generate_series(1, 10) i;
CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.geom := ST_Translate(NEW.geom, 0, 0.25); NEW.kind := NEW.kind + 100; RETURN CASE WHEN NEW.id <> 7 THEN NEW END; END $$;
CREATE TRIGGER move BEFORE UPDATE ON place FOR EACH ROW EXECUTE FUNCTION move();
-- many lines side by side, of 59 pieces each
CREATE TABLE line AS SELECT i AS id, ST_MakeLine(ARRAY(SELECT ST_MakePoint(x, i + 0.4 * (x % 2), (x * i) % 3) FROM generate_series(1, 60) x)) AS geom FROM generate_series(1, 20000) i;
CREATE TABLE far AS SELECT id, ST_Translate(geom, 0, 0.5) AS geom, repeat(md5(id::text), 4) AS name FROM line;
-- all of these meet all of those
-- a millisecond or so, in which nothing looks for interrupts
CREATE FUNCTION hashed(int, int) RETURNS text LANGUAGE sql IMMUTABLE RETURN md5(lpad(($1 # $2)::text, 600000, 'x'));
CREATE TABLE fan AS SELECT i AS id, ST_MakeLine(ST_MakePoint(i, -10000), ST_MakePoint(-i, 10000)) AS geom FROM generate_series(1, 6000) i;
-- a box: a solid
CREATE FUNCTION box(x float8, y float8, z float8, size float8) RETURNS geometry LANGUAGE sql IMMUTABLE AS $$
SELECT ST_Translate(ST_Scale('POLYHEDRALSURFACE Z (((0 0 0, 0 1 0, 1 1 0, 1 0 0, 0 0 0)), ((0 0 1, 1 0 1, 1 1 1, 0 1 1, 0 0 1)), ((0 0 0, 1 0 0, 1 0 1, 0 0 1, 0 0 0)), ((1 0 0, 1 1 0, 1 1 1, 1 0 1, 1 0 0)), ((1 1 0, 0 1 0, 0 1 1, 1 1 1, 1 1 0)), ((0 1 0, 0 0 0, 0 0 1, 0 1 1, 0 1 0)))', size, size, size), x, y, z) $$;
-- one around the middle of a line of way
CREATE FUNCTION around(way geometry) RETURNS geometry LANGUAGE sql IMMUTABLE AS $$ SELECT box(ST_XMin(way) - 0.25, ST_YMin(way) + 0.75, -0.25, 0.5) $$;
CREATE TABLE room AS SELECT i AS id, box(i * 0.25, i * 0.25, -1, 20100) AS geom FROM generate_series(1, 20) i;
ANALYZE;
SQL
add_stopwatch($node);
my $session = session($node);
my $watch = session($node);
my $taken = 0;

# Checks whether the plan has the node.
sub planned
{
	my ($who, $query) = @_;
	my $plan = $who->ask("EXPLAIN (COSTS OFF) $query");
	$taken++ if $plan =~ /Custom Scan \(redblue join\)/;
	return $plan;
}

# ---- rows that another session changes while this one waits for them ----

my $merge = $node->safe_psql('postgres', 'SHOW server_version_num') >= 150000;
my %waits = (
	'UPDATE FROM' => ["UPDATE spot s SET kind = s.kind + 10 * w.id FROM way w WHERE redblue_intersects(s.geom, w.geom)", 'SELECT id, kind FROM spot ORDER BY id'],
	'UPDATE FROM with a condition' => ["UPDATE spot s SET kind = s.kind + 10 * w.id FROM way w WHERE redblue_intersects(s.geom, w.geom) AND s.kind <= w.id AND s.kind < 7", 'SELECT id, kind FROM spot ORDER BY id'],
	'UPDATE of a left join' => ["UPDATE spot s SET kind = q.n FROM (SELECT t.id, coalesce(w.id, -1) AS n FROM spot t LEFT JOIN way w ON redblue_intersects(t.geom, w.geom)) q WHERE q.id = s.id", 'SELECT id, kind FROM spot ORDER BY id'],
	'UPDATE where none' => ["UPDATE spot s SET kind = -5 WHERE NOT EXISTS (SELECT FROM way w WHERE redblue_intersects(s.geom, w.geom) AND w.kind = 0)", 'SELECT id, kind FROM spot ORDER BY id'],
	'DELETE where some' => ["DELETE FROM spot s WHERE EXISTS (SELECT FROM way w WHERE redblue_dwithin(s.geom, w.geom, 0.5) AND w.kind = 0)", 'SELECT id, kind FROM spot ORDER BY id'],
	'FOR UPDATE' => ["SELECT s.id, s.kind, w.id FROM spot s JOIN way w ON redblue_crosses(w.geom, ST_Expand(s.geom, 0.25)) ORDER BY s.id, w.id FOR UPDATE OF s", 'SELECT 1'],
	'FOR UPDATE of both' => ["SELECT s.id, s.kind, w.id FROM spot s JOIN way w ON redblue_intersects(s.geom, w.geom) ORDER BY s.id, w.id FOR UPDATE", 'SELECT 1'],
	'FOR SHARE of a left join' => ["SELECT s.id, s.kind, w.id FROM spot s LEFT JOIN way w ON redblue_intersects(s.geom, w.geom) AND w.kind = 1 ORDER BY s.id, w.id FOR SHARE OF s", 'SELECT 1'],
	'UPDATE of partitions with a trigger' => ["UPDATE place p SET kind = p.kind + 10 * w.id FROM way w WHERE redblue_intersects(p.geom, w.geom) AND p.kind <= w.id", 'SELECT id, kind, part, tableoid::regclass, ST_AsText(geom) FROM place ORDER BY id'],
	'UPDATE to another partition' => ["UPDATE place p SET part = 1 - p.part, kind = w.id FROM way w WHERE redblue_dwithin(p.geom, w.geom, 0.1)", 'SELECT id, kind, part, tableoid::regclass, ST_AsText(geom) FROM place ORDER BY id'],
	'DELETE of partitions where none' => ["DELETE FROM place p WHERE NOT EXISTS (SELECT FROM way w WHERE redblue_intersects(p.geom, w.geom) AND (p.id, p.kind) <> (w.id, w.kind))", 'SELECT id, kind, part FROM place ORDER BY id'],
	'MERGE' => [$merge ? "MERGE INTO place p USING way w ON redblue_intersects(p.geom, w.geom) WHEN MATCHED AND p.kind < 2 THEN UPDATE SET kind = p.kind + 10 * w.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (100 + w.id, 0, w.kind)" : "DELETE FROM place p USING way w WHERE redblue_intersects(p.geom, w.geom)", 'SELECT id, kind, part FROM place ORDER BY id'],
	'whole rows' => ["SELECT s, w.kind, p, p.tableoid::regclass, s.ctid = s.ctid AND w.xmin IS NOT NULL FROM spot s JOIN way w ON redblue_intersects(s.geom, w.geom) LEFT JOIN place p ON redblue_intersects(p.geom, w.geom) AND (p.id, p.kind) = (s.id, s.kind) ORDER BY s.id, w.id FOR UPDATE OF s, w", 'SELECT 1'],
	'solids' => ["SELECT s.id, s.kind, w.id FROM spot s JOIN way w ON redblue_inside(ST_Force3D(s.geom), around(w.geom)) ORDER BY s.id, w.id FOR UPDATE OF s", 'SELECT 1'],
	'DELETE of what is in no solid' => ["DELETE FROM spot s WHERE NOT EXISTS (SELECT FROM way w WHERE redblue_inside(ST_Force3D(s.geom), around(w.geom)) AND w.kind + s.kind < 3)", 'SELECT id, kind FROM spot ORDER BY id'],
	'three of them' => ["SELECT s.id, s.kind, w.id, v.id FROM spot s JOIN way w ON redblue_intersects(s.geom, w.geom) JOIN way v ON redblue_dwithin(s.geom, v.geom, 1) ORDER BY s.id, w.id, v.id FOR UPDATE OF s, w", 'SELECT 1']);
# Fills the tables.
my $fill = 'INSERT INTO spot SELECT i, i % 3, ST_MakePoint(i, 0) FROM generate_series(1, 10) i; INSERT INTO way SELECT i, i % 2, ST_MakeLine(ST_MakePoint(i, -1), ST_MakePoint(i, 1)) FROM generate_series(1, 10) i; INSERT INTO place SELECT i, i % 2, i % 3, ST_MakePoint(i, 0) FROM generate_series(1, 10) i';
# Row by row: it moves away, it moves to another one, it moves to where nothing is, it is deleted, it remains
my $change = "UPDATE spot SET geom = ST_Translate(geom, 4, 0) WHERE id = 3; UPDATE spot SET geom = ST_Translate(geom, 0, 50) WHERE id = 4; UPDATE spot SET kind = 7 WHERE id = 5; DELETE FROM spot WHERE id = 6; "
  . "UPDATE way SET geom = ST_Translate(geom, 0, 90) WHERE id = 8; UPDATE spot SET geom = NULL WHERE id = 9; "
  . "UPDATE place SET geom = ST_Translate(geom, 4, 0) WHERE id = 2; UPDATE place SET kind = 1 WHERE id = 3; DELETE FROM place WHERE id = 6; UPDATE place SET geom = ST_Translate(geom, 0, 90) WHERE id = 10; UPDATE place SET geom = NULL WHERE id = 9; UPDATE place SET kind = 1 WHERE id = 7";
for my $name (sort keys %waits)
{
	my ($query, $seen) = @{ $waits{$name} };
	my @answers;
	for my $switch ('on', 'off')
	{
		$session->ask("SET redblue.\"join\" = $switch; SET enable_nestloop = " . ($switch eq 'on' ? 'off' : 'on'));
		my $plan = planned($session, $query);
		is($plan =~ /redblue join/ ? 'on' : 'off', $switch, "the plan of $name, $switch") if $switch eq 'on';
		$watch->ask("BEGIN; $change");
		$session->ask('BEGIN');
		$session->send($query);
		ok(waits_for_lock($session, $watch), "$name waits");
		$watch->ask('COMMIT');
		my ($out, $err) = $session->wait_for;
		push @answers, "$out $err\n" . $session->ask($seen);
		$session->ask('ROLLBACK');
		$watch->ask("TRUNCATE spot, way, place; $fill");
	}
	is($answers[0], $answers[1], "$name, of rows that changed: the same");
	unlike($answers[0], qr/ERROR/, 'and no error');
}
$session->ask("RESET redblue.\"join\"; SET enable_nestloop = off");

# ---- snapshots ----

my $count = 'SELECT count(*) FROM spot s JOIN way w ON redblue_intersects(s.geom, w.geom)';
$session->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
planned($session, $count);
is($session->ask($count), 10, 'a snapshot');
$session->ask("DECLARE c CURSOR FOR SELECT s.id FROM spot s JOIN way w ON redblue_intersects(s.geom, w.geom)");
$watch->ask('DELETE FROM spot WHERE id > 4');
is($session->ask($count), 10, 'sees nothing of what came later');
is(scalar(split /\n/, $session->ask('FETCH ALL FROM c')), 10, 'nor does a cursor');
$session->ask('COMMIT');
is($session->ask($count), 4, 'the next one does');
$session->ask('BEGIN; DECLARE c CURSOR FOR SELECT s.id FROM spot s JOIN way w ON redblue_intersects(s.geom, w.geom); DELETE FROM spot WHERE id = 1');
is($session->ask($count) . ' ' . scalar(split /\n/, $session->ask('FETCH ALL FROM c')), '3 4', 'what the session did itself, before and after');
$session->ask('ROLLBACK');

# ---- cancel ----

my %query = (
	'reading' => "SELECT count(*) FROM (SELECT l.id, geom FROM line l, generate_series(1, 20)) a JOIN far b ON redblue_intersects(a.geom, b.geom)",
	'joining' => "SELECT count(*) FROM line a JOIN far b ON redblue_dwithin(a.geom, b.geom, 40) AND a.id < 0 - b.id",
	'solids' => "SELECT count(*) FROM (SELECT l.id, geom FROM line l, generate_series(1, 10)) a JOIN room b ON redblue_inside(a.geom, b.geom)",
	'handing out' => "SELECT count(*) FROM fan a JOIN fan b ON redblue_intersects(a.geom, b.geom)",
	'what is slow is asked' => "SELECT count(*) FROM fan a JOIN fan b ON redblue_intersects(a.geom, b.geom) AND hashed(a.id, b.id) = 'x'",
	'rows that are not wanted' => "SELECT count(*) FROM fan a WHERE NOT EXISTS (SELECT FROM fan b WHERE redblue_intersects(a.geom, b.geom) AND a.id + b.id < 0)",
	'again and again' => "SELECT sum((SELECT count(*) FROM (SELECT * FROM line WHERE id < 200) a JOIN (SELECT * FROM far WHERE id < 200) b ON redblue_intersects(a.geom, b.geom) WHERE a.id > i)) FROM generate_series(1, 100000) i");
for my $name (sort keys %query)
{
	like(planned($session, $query{$name}), qr/redblue join/, "the plan of $name");
	stops_soon($session, $watch, $name, $query{$name}, 0.1, 0.4, 0.8);
}
is($session->ask($count), 4, 'and the session answers');

# ---- memory, disk ----

my $wide = 'SELECT count(*), sum(length(b.name)) FROM line a JOIN far b ON redblue_intersects(a.geom, b.geom) WHERE a.id < 2000';
my $answer = $session->ask($wide);
my ($out, $err) = $session->ask("SET redblue.memory_limit = '1MB'; $wide");
like($err, qr/53200.*redblue_intersects: out of memory.*redblue.memory_limit is 1024 kB/s, 'more geometries than there is room for');
$session->ask('RESET redblue.memory_limit');
is($session->ask("SET work_mem = '64kB'; $wide"), $answer, 'rows in a file');
($out, $err) = $session->ask("SET temp_file_limit = '256kB'; $wide");
like($err, qr/53400.*temporary file size exceeds "?temp_file_limit/, 'which has a limit');
$session->ask('RESET temp_file_limit');
is($session->ask($wide), $answer, 'and the session answers');
is($watch->ask("SELECT count(*) FROM pg_ls_tmpdir()"), 0, 'no file is left');
$session->ask('RESET work_mem');

# A statement releases what it holds, also if it fails in the middle, thousands of times.
my $again = <<'SQL';
DO $$
DECLARE n bigint;
BEGIN
	FOR i IN 1 .. 1500 LOOP
		BEGIN
			SELECT count(*) INTO n FROM spot s JOIN way w ON redblue_intersects(s.geom, w.geom) AND 1 / (s.id - 2) < 5;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
		BEGIN
			SELECT count(*) INTO n FROM spot s LEFT JOIN way w ON redblue_intersects(CASE s.id WHEN 2 THEN 'CIRCULARSTRING (0 0, 1 1, 2 0)' ELSE s.geom END, w.geom);
		EXCEPTION WHEN feature_not_supported THEN NULL;
		END;
	END LOOP;
END $$
SQL
$session->ask($again);
my $before = emptied_rss_kb($session);
my $fds = backend_fds($session->{pid});
$session->ask($again) for 1 .. 2;
my $grown = emptied_rss_kb($session) - $before;
cmp_ok($grown, '<', 2048, "6000 statements that fail leave nothing: $grown kB");
is(backend_fds($session->{pid}), $fds, 'and no file open');

# ---- parallel plans ----

my $parallel = "SELECT count(*), sum(a.id + b.id) FROM line a JOIN far b ON redblue_intersects(a.geom, b.geom) WHERE a.id % 3 = 0 AND b.id % 2 = 0";
my $serial = $session->ask("SET max_parallel_workers_per_gather = 0; $parallel");
my $settings = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2';
$session->ask($settings);
like(planned($session, $parallel), qr/redblue join.*Gather.*Parallel Seq Scan on line/s, 'processes below it');
is($session->ask($parallel), $serial, 'have the same rows');
my $above = "SELECT sum(id), sum(n) FROM (SELECT id, (SELECT count(*) FROM spot s JOIN way w ON redblue_intersects(s.geom, w.geom)) AS n FROM line WHERE id % 7 = 1) q";
is($session->ask($above), $session->ask("SET max_parallel_workers_per_gather = 0; $above"), 'processes beside it');
$session->ask("RESET max_parallel_workers_per_gather; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size");
cmp_ok($taken, '>=', 15, "the node was in $taken plans");

# ---- random queries ----

my $queries = long_run() ? 10000 : 300;
my $script = "$PostgreSQL::Test::Utils::tmp_check/random.sql";
system("$FindBin::Bin/../join_random $queries 1 > $script") == 0 or die 'join_random';
$out = $node->safe_psql('postgres', slurp_file($script));
my ($with_node) = $out =~ /^$queries queries, (\d+) with the node/m;
note $out;
unlike($out, qr/DIFFERS/, "$queries random queries: the same rows");
cmp_ok($with_node // 0, '>', $queries * 0.7, ($with_node // 0) . ' of them with the node');
$session->quit;
$watch->quit;
done_testing();
