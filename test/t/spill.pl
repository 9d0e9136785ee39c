# Tests joins that do not fit into redblue.memory_limit: they run tile by tile and give the same pairs. Also tests what
# they hold in memory and in files, and what remains after their end.
# run: once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;

my $device = place_for_device();
my $node = new_server('beyond', "redblue.duplicate_notice = off\nmax_worker_processes = 8\nlog_temp_files = 0\n");
add_stopwatch($node);
my $s = session($node);
my $watch = session($node);
$s->ask('SET client_min_messages = warning');

load_volmesh($node, 'red', 20, 1, 0.2);
load_volmesh($node, 'blue', 20, 2, 0.2, 0.31, 0.17, 0.23);
load_boxes($node, 'gauss', 'gauss', 150000, 1);
load_boxes($node, 'uniform', 'uniform', 150000, 2);
$s->ask(<<'SQL');
CREATE VIEW flat AS SELECT id, lx, ly, hx, hy FROM gauss;
CREATE TABLE line AS SELECT id, lx AS ax, ly AS ay, hx AS bx, hy AS by FROM gauss WHERE id % 2 = 0;
CREATE TABLE street AS SELECT id, hx AS ax, ly AS ay, lx AS bx, hy AS by FROM gauss WHERE id % 2 = 1;
CREATE TABLE hole AS SELECT id, ax, ay, az, bx, by, bz FROM blue;
CREATE TABLE named AS SELECT md5(id::text)::uuid AS key, id / 10 AS house, id % 10 AS wall, ax, ay, az, bx, by, bz, cx, cy, cz FROM blue WHERE id < 30000;
CREATE TABLE skew AS SELECT id, lx, ly, lz, CASE WHEN id % 20000 = 0 THEN 20000 ELSE hx END AS hx, hy, hz FROM uniform;
CREATE TABLE far AS SELECT id, ax + 500000 AS ax, ay + 5000000 AS ay, az, bx + 500000 AS bx, by + 5000000 AS by, bz, cx + 500000 AS cx, cy + 5000000 AS cy, cz FROM red WHERE id < 90000;
CREATE TABLE heap1 AS SELECT id, 0::float8 AS lx, 0::float8 AS ly, 1::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 400000) id;
CREATE TABLE heap2 AS SELECT id, 1::float8 AS lx, 1::float8 AS ly, 2::float8 AS hx, 2::float8 AS hy FROM generate_series(1, 400000) id;
VACUUM ANALYZE;
SQL

sub detail { return scalar $s->ask("SELECT detail FROM redblue_last_run() WHERE stage = 'read'") }

sub tiles { return detail() =~ /; (\d+) tiles?, \d+ kB in temporary files/ ? $1 : 0 }

sub temp_files { return scalar $watch->ask('SELECT count(*) FROM pg_ls_tmpdir()') }

# ---- equal rows ----

# Number, and an order-independent checksum
sub summed
{
	my ($from, $columns) = @_;
	return "SELECT count(*), bit_xor(hash_record_extended(t, 1)) FROM (SELECT * FROM $from AS f " . ($columns // '') . ') t';
}
my $objects = "'SELECT *, id / 24 AS o FROM red', 'SELECT *, id % 5000 AS o FROM blue', red_object => 'o', blue_object => 'o'";
my @joins = (
	[ 'triangles', "redblue_triangle_pairs('red', 'blue')" ],
	[ 'a mesh with itself', "redblue_triangle_self_pairs('red')" ],
	[ 'far from the origin', "redblue_triangle_self_pairs('far')" ],
	[ 'queries', "redblue_triangle_pairs_query('TABLE red', 'SELECT * FROM blue WHERE id % 3 = 0')" ],
	[ 'objects', "redblue_triangle_pairs_query($objects)" ],
	[ 'contacts', "redblue_triangle_contacts('red', 'blue')" ],
	[ 'within a distance', "redblue_triangle_pairs_within('red', 'blue', 0.003)" ],
	[ 'segments in space', "redblue_segment_triangle_pairs('hole', 'red')" ],
	[ 'segments', "redblue_segment_pairs('line', 'street')" ],
	[ 'boxes', "redblue_box_pairs('gauss', 'uniform')" ],
	[ 'boxes of all sizes', "redblue_box_self_pairs('skew')" ],
	[ 'boxes in the plane', "redblue_box_self_pairs_query('SELECT id, lx, ly, (lx + hx) / 2 AS hx, (ly + hy) / 2 AS hy FROM flat')" ],
	[ 'counts', counts_of("redblue_triangle_pairs('red', 'blue')", 'red_id') ],
	[ 'counts of a mesh', counts_of(both_ways("redblue_triangle_self_pairs('red')"), 'id') ],
	[ 'counts of objects', counts_of("redblue_triangle_pairs_query($objects)", 'red_id') ],
	[ 'hits', "(SELECT DISTINCT red_id FROM redblue_box_pairs('gauss', 'uniform'))" ],
	[ 'groups', groups_of("redblue_triangle_pairs('red', 'blue')", 'red_id', 'blue_id') ],
	[ 'groups of blue', groups_of("redblue_triangle_pairs('red', 'blue')", 'blue_id', 'red_id') ],
	[ 'groups of a mesh', groups_of(both_ways("redblue_triangle_self_pairs('far')"), 'id', 'other') ],
	[ 'groups of the first ids', groups_of("redblue_triangle_self_pairs('far')", 'id1', 'id2') ],
	[ 'keys', "redblue_triangle_pairs_by_key('red', 'named', red_key => 'id', blue_key => 'key')", '(red bigint, blue uuid)' ],
	[ 'keys of two columns', "redblue_triangle_pairs_by_key('red', 'named', red_key => 'id', blue_key => 'house, wall')", '(red bigint, house bigint, wall bigint)' ],
	[ 'a tile of its own', "redblue_triangle_pairs('red', 'blue', tile_low => '{0.2,0.1,-1}', tile_high => '{0.9,0.8,Infinity}')" ],
	[ 'their number', "(SELECT redblue_box_pair_count('gauss', 'uniform'))" ],
	[ 'packed', "(SELECT sum(n) FROM redblue_box_pair_blocks('gauss', 'uniform'))" ]);
for (@joins)
{
	my ($name, $from, $columns) = @$_;
	my $query = summed($from, $columns);
	my $whole = $s->ask("SET redblue.memory_limit = '2GB'; $query");
	is(tiles(), 0, "$name: in memory");
	is($s->ask("SET redblue.memory_limit = '15MB'; $query"), $whole, "$name: the same in 15 MB");
	cmp_ok(tiles(), '>', 0, 'by tiles: ' . tiles());
}
is(temp_files(), 0, 'no file is left');

# EXPLAIN and the progress view show it.
my $explained = $s->ask("SET redblue.memory_limit = '20MB'; EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM redblue_triangle_pairs('red', 'blue')");
SKIP:
{
	skip 'without the scan EXPLAIN sees a function', 1 if ($ENV{REDBLUE_CUSTOM_SCAN} // 'on') eq 'off';
	like($explained, qr/Stage read: (\d+), [\d.]+ ms \(\1 parts, 0 rows skipped.*; \d+ tiles?, \d+ kB in temporary files\)/, 'EXPLAIN tells of it');
}
# Rows are written twice, and read twice.
my ($got, $written) = $s->ask("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) SELECT redblue_triangle_pair_count('red', 'blue')") =~ /Result.*\n\s*Buffers: .*temp read=(\d+) written=(\d+)/;
cmp_ok($got // 0, '>=', ($written // 0) * 0.99, 'BUFFERS counts what was read of temporary files ...');
cmp_ok(abs(($written // 0) * 8 - (detail() =~ /(\d+) kB in temporary/)[0]), '<=', 16, '... and written');
like(slurp_file($node->logfile), qr/LOG:  temporary file: path .*, size \d+/, 'so does log_temp_files');

# Cached sides, complete and with some changed pages
$s->ask("SET redblue.memory_limit = '2GB'; SET redblue.cache = on");
$s->ask("SELECT redblue_triangle_pair_count('red', 'blue')") for 1 .. 3;
# Since PostgreSQL 16, up to 64 pages at the end of a table may be unused. VACUUM does not mark them, so they are read.
like(detail(), qr/red: cached \d+ rows?, read (?:0|[1-6]?\d of \d+ pages); blue: cached \d+ rows?, read (?:0|[1-6]?\d of \d+ pages)/, 'both sides are kept');
my $pairs = $s->ask("SELECT redblue_triangle_pair_count('red', 'blue')");
is($s->ask("SET redblue.memory_limit = '20MB'; SELECT redblue_triangle_pair_count('red', 'blue')"), $pairs, 'kept ones have no room either');
cmp_ok(tiles(), '>', 1, 'they are read');
$s->ask('DELETE FROM red WHERE id BETWEEN 1000 AND 1010');
$pairs = $s->ask("SET redblue.memory_limit = '2GB'; SELECT redblue_triangle_pair_count('red', 'blue')");
like(detail(), qr/red: cached \d+ rows?, read [1-9]/, 'partly');
is($s->ask("SET redblue.memory_limit = '20MB'; SELECT redblue_triangle_pair_count('red', 'blue')"), $pairs, 'the same of one that is partly kept');
$s->ask('SET redblue.cache = off');

# Rows of many parts: pairs that have been returned are stored, for which there is room while sides are small.
SKIP:
{
	skip 'no PostGIS here', 2 unless have_postgis($node);
	geometry_table($node, 'faces', 'red');
	$s->ask('CREATE TABLE tins AS SELECT id / 30 AS id, ST_Collect(geom) AS geom FROM faces GROUP BY 1; CREATE TABLE tins2 AS SELECT id, ST_Translate(geom, 0.011, 0.013, 0.017) AS geom FROM tins');
	my $query = summed("redblue_triangle_pairs('tins', 'tins2')");
	my $whole = $s->ask("SET redblue.memory_limit = '2GB'; $query");
	is($s->ask("SET redblue.memory_limit = '20MB'; $query"), $whole, 'rows of thirty faces');
	cmp_ok(tiles(), '>', 1, 'by tiles');
}

# Results of each row need more memory than pairs. If it does not suffice, the pairs are sorted: wherever the ordinary
# plan has enough memory, so has the join that computes groups. Objects of two boxes need a table of their pairs, too.
$s->ask('CREATE TABLE pile AS SELECT i AS id, i / 2 AS object, 0::float8 AS lx, 0::float8 AS ly, 1 + i::float8 AS hx, 1::float8 AS hy FROM generate_series(2, 2401) i');
my $heaps = "redblue_box_pairs('pile', 'pile', red_object => 'object', blue_object => 'object')";
my $counted = "SELECT count FROM redblue_last_run() WHERE stage = 'candidates'";
my %heap = (
	groups => 'SELECT count(*), sum(hashtext(id || ids::text)) FROM ' . groups_of($heaps, 'red_id', 'blue_id') . ' x',
	counts => 'SELECT count(*), sum(id * pairs) FROM ' . counts_of($heaps, 'red_id') . ' x',
	hits => "SELECT count(*), sum(red_id) FROM (SELECT DISTINCT red_id FROM $heaps) x");
for my $what (sort keys %heap)
{
	my $whole = $s->ask("SET redblue.memory_limit = '2GB'; $heap{$what}");
	my $candidates = $s->ask($counted);
	my (@enough, @wrong, @twice);
	for my $mb (40, 54, 56, 58, 60, 64)
	{
		push @enough, $mb if $s->ask("SET redblue.memory_limit = '${mb}MB'; SET redblue.custom_scan = off; $heap{$what}") eq $whole;
		push @wrong, $mb if $s->ask("RESET redblue.custom_scan; $heap{$what}") ne $whole && "@enough" =~ /\b$mb$/;
		push @twice, "$mb: " . $s->ask($counted) if tiles() == 0 && $s->ask($counted) ne $candidates;
	}
	like($whole, qr/^1200\|/, "$what of objects");
	cmp_ok(scalar(@enough), '>', 1, '... have enough memory in the ordinary plan (' . join(', ', @enough) . ' MB)');
	is("@wrong", '', '... and grouped by the join');
	is("@twice", '', '... whose statistics leave out the join that did not fit');
}

# ---- memory ----

my $count = "SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id >= 0";
my $fresh = session($node);
$fresh->ask("SET redblue.memory_limit = '20MB'; SET max_parallel_workers_per_gather = 0; SELECT redblue_triangle_pair_count_query('SELECT * FROM red LIMIT 10', 'SELECT * FROM blue LIMIT 10')");
my ($before, $most) = (backend_rss_kb($fresh->{pid}), 0);
$fresh->send($count);
until ($fresh->ready)
{
	my $rss = backend_rss_kb($fresh->{pid});
	$most = $rss if $rss > $most;
	Time::HiRes::sleep(0.002);
}
cmp_ok($most - $before, '<', 30_000, sprintf('at most %d kB more than before, of a limit of 20 MB', $most - $before));
my $fds = backend_fds($fresh->{pid});
$fresh->ask($count) for 1 .. 5;
is(backend_fds($fresh->{pid}), $fds, 'no descriptor is left open');
$fresh->quit;

# Rows that extend through all of space are in each tile: they are split by rows, and files remain small.
my $log_at = -s $node->logfile;
my $scattered = "'SELECT *, id AS o FROM red', 'SELECT *, id % 3001 AS o FROM blue', red_object => 'o', blue_object => 'o'";
my $unordered = 'SELECT count(*), bit_xor(hash_record_extended(ROW(least(id1, id2), greatest(id1, id2)), 1)) FROM';
my $strewn = "'SELECT *, id % 1009 AS o FROM red', mesh_object => 'o'";
for ([ 'scattered objects', summed("redblue_triangle_pairs_query($scattered)") ],
	[ 'their distances', summed("redblue_triangle_pairs_within_query('SELECT *, id AS o FROM red WHERE id < 40000', 'SELECT *, id % 3001 AS o FROM blue WHERE id > 20000', 0.001, red_object => 'o', blue_object => 'o')") ],
	[ 'with themselves', "$unordered redblue_triangle_self_pairs_query($strewn)" ],
	[ 'contacts with themselves', "SELECT count(*), sum(dimension), sum(crosses::int) FROM redblue_triangle_self_contacts_query($strewn)" ],
	[ 'counts with themselves', summed(counts_of(both_ways("redblue_triangle_self_pairs_query($strewn)"), 'id')) ],
	[ 'some of them', "SELECT count(*) FROM (SELECT FROM redblue_box_pairs('heap1', 'heap2') LIMIT 300000) p" ])
{
	my ($name, $query) = @$_;
	my $whole = $s->ask("SET redblue.memory_limit = '2GB'; $query");
	is($s->ask("SET redblue.memory_limit = '15MB'; $query"), $whole, "$name: the same in 15 MB");
	cmp_ok(tiles(), '>', 1, 'by tiles: ' . tiles()) unless $name eq 'some of them';
}
my ($largest) = sort { $b <=> $a } substr(slurp_file($node->logfile), $log_at) =~ /LOG:  temporary file: path .*, size (\d+)/g;
cmp_ok($largest, '<=', 5 * 2 * 97200 * 80, "files of $largest bytes");
cmp_ok($largest, '>', 0, 'there were some');
is(temp_files(), 0, 'no file is left');

# From end to end of space: their cells do not fit into memory.
$s->ask(<<'SQL');
CREATE TABLE sticks AS SELECT id, CASE WHEN id % 3 = 0 THEN 0 ELSE x END AS lx, CASE WHEN id % 3 = 1 THEN 0 ELSE y END AS ly, CASE WHEN id % 3 = 2 THEN 0 ELSE z END AS lz,
	CASE WHEN id % 3 = 0 THEN 1000 ELSE x + 1 END AS hx, CASE WHEN id % 3 = 1 THEN 1000 ELSE y + 1 END AS hy, CASE WHEN id % 3 = 2 THEN 1000 ELSE z + 1 END AS hz
	FROM (SELECT id, id * 0.618034 % 1 * 1000 AS x, id * 0.754878 % 1 * 1000 AS y, id * 0.56984029 % 1 * 1000 AS z FROM generate_series(1, 120000) id) s;
ANALYZE sticks;
SQL
my $sticks = "SELECT count(*), sum(id1 # id2) FROM redblue_box_self_pairs('sticks')";
my $met = $s->ask("SET redblue.memory_limit = '2GB'; $sticks");
for (18, 20)
{
	is($s->ask("SET redblue.memory_limit = '${_}MB'; $sticks"), $met, "sticks in $_ MB");
	is($s->ask("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; $sticks"), $met, 'below a Gather') if $_ == 18;
	$s->ask('RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size') if $_ == 18;
}

# A row that is too large by itself is reported, and the memory that the error requests is sufficient.
my $err;
for ([ qr/On the red side, a single row has 9\d+ parts\./, "'SELECT *, 1 AS o FROM red', 'SELECT *, id AS o FROM blue WHERE id < 10000', red_object => 'o', blue_object => 'o'" ],
	[ qr/On the blue side, a single object may have \d+ parts\./, "'SELECT *, id AS o FROM red WHERE id < 10000', 'SELECT *, 1 AS o FROM blue UNION ALL SELECT *, 1 AS o FROM red', red_object => 'o', blue_object => 'o'" ])
{
	my ($why, $sides) = @$_;
	my $query = "SELECT count(*) FROM redblue_triangle_pairs_query($sides)";
	(undef, $err) = $s->ask("SET redblue.memory_limit = '14MB'; $query");
	like($err, qr/ERROR:  53200: redblue_triangle_pairs_query: out of memory\nDETAIL:  The join needs about \d+ kB, but redblue\.memory_limit is 14336 kB\.  $why/, 'one row is too large');
	is(temp_files(), 0, 'which leaves no file');
	my ($enough) = $err =~ /about (\d+) kB/;
	like($s->ask("SET redblue.memory_limit = '${enough}kB'; $query"), qr/^[1-9]\d*$/, "$enough kB are enough");
}

# ---- files that cannot be written ----

$s->ask("SET redblue.memory_limit = '20MB'");
my $answer = $s->ask($count);
(undef, $err) = $s->ask("SET temp_file_limit = '10MB'; $count");
like($err, qr/ERROR:  53400: temporary file size exceeds "?temp_file_limit/, 'temp_file_limit is heard');
like($err, qr/CONTEXT:  reading the (red|blue) side of redblue_triangle_pairs/, 'and the CONTEXT says where');
is(temp_files(), 0, 'no file is left');
$s->ask('RESET temp_file_limit');
is($s->ask($count), $answer, 'the session goes on');

# ---- files that cannot be created ----

# A session may hold about 330 descriptors of its own, so 400 failures show whether a failure releases its descriptor.
my $temp = $node->data_dir . '/base/pgsql_tmp';
rename($temp, "$temp.away");
append_to_file($temp, "not a directory\n");
is($s->ask(<<"SQL"), '', 'an error 400 times');
DO \$\$
DECLARE failed int := 0;
BEGIN
	FOR i IN 1 .. 400 LOOP
		BEGIN
			PERFORM redblue_box_pair_count('gauss', 'uniform');
		EXCEPTION WHEN OTHERS THEN
			failed := failed + 1;
			IF SQLERRM !~ 'could not create temporary file' THEN RAISE; END IF;
		END;
	END LOOP;
	IF failed <> 400 THEN RAISE 'failed % times', failed; END IF;
END \$\$
SQL
unlink($temp);
rename("$temp.away", $temp);
is($s->ask($count), $answer, 'the session goes on');

# ---- ways to end it ----

my %ends = (
	'LIMIT' => [ "SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs('red', 'blue') LIMIT 10) p", '10' ],
	'a cursor, left open' => [ "BEGIN; DECLARE c CURSOR FOR SELECT red_id >= 0 FROM redblue_triangle_pairs('red', 'blue'); FETCH 2 FROM c; COMMIT", "t\nt" ],
	'a rollback' => [ "BEGIN; DECLARE c CURSOR FOR SELECT red_id >= 0 FROM redblue_triangle_pairs('red', 'blue'); FETCH 2 FROM c; ROLLBACK", "t\nt" ],
	'a subtransaction' => [ "BEGIN; SAVEPOINT a; DECLARE c CURSOR FOR SELECT red_id >= 0 FROM redblue_triangle_pairs('red', 'blue'); FETCH 2 FROM c; ROLLBACK TO a; SELECT 7; COMMIT", "t\nt\n7" ],
	'an error' => [ "SELECT 1 / (red_id - red_id) FROM redblue_triangle_pairs('red', 'blue')", qr/22012/ ],
	'an error that is caught' => [ "DO \$\$ BEGIN PERFORM 1 / (red_id - red_id) FROM redblue_triangle_pairs('red', 'blue'); EXCEPTION WHEN division_by_zero THEN END \$\$", '' ],
	'groups, LIMIT' => [ "SELECT count(*) FROM (SELECT array_agg(blue_id) FROM redblue_triangle_pairs('red', 'blue') GROUP BY red_id LIMIT 10) p", '10' ],
	'counts, an error' => [ "SELECT count(*) / (red_id - red_id) FROM redblue_triangle_pairs('red', 'blue') GROUP BY red_id", qr/22012/ ]);
for my $how (sort keys %ends)
{
	my ($query, $want) = @{ $ends{$how} };
	my ($out, $said) = $s->ask($query);
	ref $want ? like($said, $want, $how) : is("$out$said", $want, $how);
	is(temp_files(), 0, 'no file is left');
	$s->ask('ROLLBACK') if ref $want;
}
is($s->ask("BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') WHERE red_id >= 0; COMMIT; FETCH h; CLOSE h"), $answer, 'WITH HOLD');
is($s->ask("SELECT sum(n) FROM generate_series(1, 3) i, LATERAL (SELECT count(*) AS n FROM redblue_triangle_pairs('red', 'blue') WHERE red_id >= 0 AND i > 0) p"), 3 * $answer, 'repeated');
is($s->ask("SELECT count(*) FROM redblue_triangle_pairs('red', 'blue') a, redblue_triangle_pairs('blue', 'red') b WHERE a.red_id = b.blue_id AND a.blue_id = b.red_id"), $answer, 'two of them at once');
is($s->ask("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; $count"), $answer, 'below a Gather');
like($s->ask("EXPLAIN (COSTS OFF) $count"), qr/Gather/, 'which there was') unless ($ENV{REDBLUE_CUSTOM_SCAN} // 'on') eq 'off';
is($s->ask("SET parallel_leader_participation = off; $count"), $answer, 'and a leader that only waits');
$s->ask('RESET parallel_leader_participation; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size');

stops_soon($s, $watch, 'joining', $count, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9);
is(temp_files(), 0, 'no file is left');
my $gone = session($node);
$gone->send("SET redblue.memory_limit = '20MB'" . ";\n$count" x 100);
ok(comes_true(sub { temp_files() > 0 }), 'files are there');
$watch->ask("SELECT pg_terminate_backend($gone->{pid})");
ok(comes_true(sub { temp_files() == 0 }), 'and go with the session');

# ---- on a device, by the worker ----

system("cp '$ENV{FAKE_DEVICE}' '$device'") == 0 or die;
fake();
$s = session($node);
$s->ask("SET redblue.memory_limit = '20MB'; SET redblue.backend = cuda");
is($s->ask($count), $answer, 'by the worker');
like($s->ask("SELECT DISTINCT backend FROM redblue_last_run()"), qr/^cuda$/, 'all tiles');
cmp_ok(tiles(), '>', 1, 'of which there are some');
is(scalar(did('joined')) >= tiles() ? 1 : 0, 1, 'a join for each');
is($s->ask("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; $count"), $answer, 'below a Gather');
$s->ask('RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; SET redblue.backend = auto');
fake('fail 1');
is($s->ask("SELECT redblue_box_pair_count('gauss', 'uniform')"), $watch->ask("SELECT redblue_box_pair_count('gauss', 'uniform')"), 'a device that fails is left to the processor, tile by tile');
fake();
$s->quit;

# ---- a disk that is full ----

$watch->quit;
$node->stop;
{
	local $ENV{LD_PRELOAD} = $ENV{REFUSE_SO};
	local $ENV{REFUSE_TEMP_KB} = 8000;
	$node->start;
}
$s = session($node);
$watch = session($node);
(undef, $err) = $s->ask("SET redblue.memory_limit = '20MB'; $count");
like($err, qr/ERROR:  53100: redblue_triangle_pairs: could not write to a temporary file: No space left on device\nDETAIL:  Rows that do not fit in memory are stored there; \d+ kB were written\.\nHINT:  Free disk space, or increase redblue\.memory_limit\./, 'a full disk');
is(temp_files(), 0, 'no file is left');
is($s->ask("SET redblue.memory_limit = '2GB'; $count"), $answer, 'the session goes on');
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|leak/, 'no process died, nothing leaked');
$_->quit for $s, $watch;
$node->stop;
done_testing();
