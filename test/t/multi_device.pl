# Tests several devices that share a join: their selection by redblue.gpu_devices, the same results, and failures:
# devices that are full, fail, hang or are missing. The devices are fakes (fake_device.c).
# run: quick once
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# The limit is 200 ms; a loaded machine gets more time.
my $device = place_for_device();
# Two sides of 20,000 rows are divided among three of them.
my @three = ('cards 3', 'share 12000');
fake(@three);
my $node = new_server('cards', "max_worker_processes = 8\nredblue.threads = 2\nlog_min_messages = info\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE a AS SELECT i AS id, x AS ax, y AS ay, z AS az, x + i % 3 AS bx, y + i % 4 AS by, z + i % 2 AS bz, x - i % 5 AS cx, y + i % 3 AS cy, z + i % 7 AS cz
FROM (SELECT i, (i * 7919 % 101)::float8 AS x, (i * 104729 % 97)::float8 AS y, (i * 1299709 % 89)::float8 AS z FROM generate_series(1, 20000::int8) i) s;
CREATE TABLE b AS SELECT id + 7 AS id, ax + 0.5 AS ax, ay, az, bx + 0.5 AS bx, by, bz, cx + 0.5 AS cx, cy, cz, id * 7919 % 5000 AS object FROM a;
CREATE TABLE box AS SELECT id, ax AS lx, ay AS ly, ax + 0.7 AS hx, ay + 0.7 AS hy FROM a;
-- many pairs
CREATE TABLE dense AS SELECT i AS id, x AS ax, y AS ay, z AS az, x + i % 3 AS bx, y + i % 4 AS by, z + i % 2 AS bz, x - i % 5 AS cx, y + i % 3 AS cy, z + i % 7 AS cz
FROM (SELECT i, (i * 7919 % 31)::float8 AS x, (i * 104729 % 29)::float8 AS y, (i * 1299709 % 23)::float8 AS z FROM generate_series(1, 20000::int8) i) s;
CREATE TABLE few AS SELECT * FROM a LIMIT 3000;
CREATE ROLE stranger LOGIN;
VACUUM ANALYZE;
SQL
my $watch = session($node);
sub worker { return scalar $watch->ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'redblue worker'") }
sub is_idle { return $watch->ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'redblue worker' AND state <> 'idle'") eq '0' }

# Starts another process, which does not know about devices that have failed.
sub end_worker
{
	my $old = worker();
	return if $old eq '';
	$watch->ask("SELECT pg_terminate_backend($old)");
	comes_true(sub { worker() ne $old }) or die;
	return;
}

# The devices that joined in the meantime
sub joined_by
{
	my ($do) = @_;
	my $before = scalar(did('card'));
	$do->();
	my @cards = map { (split / /)[2] } did('card');
	return join(',', sort splice @cards, $before);
}

# Returns the answer to a statement during which devices wait, until the condition is true.
sub ask_while_waiting
{
	my ($s, $sql, $so) = @_;
	$s->send($sql);
	ok(comes_true($so), 'other devices wait');
	fake(slurp_file($ENV{REDBLUE_FAKE}), 'awake 1');
	return scalar $s->wait_for;
}

# As above, until each device has begun a join, so that none takes two partitions
sub ask_all_devices
{
	my ($s, $sql, $devices) = @_;
	my $n = did('card');
	fake(@three, 'join_ms 60000');
	return ask_while_waiting($s, $sql, sub { did('card') >= $n + $devices });
}

my $pairs = checksum_of("redblue_triangle_pairs('a', 'b')");
my $count = "SELECT redblue_triangle_pair_count('a', 'b')";
# Each device has many batches of pairs.
my $dense = checksum_of("redblue_triangle_pairs('dense', 'dense')");
my %ask = (
	'many' => $dense,
	'many, a count' => "SELECT redblue_triangle_pair_count('dense', 'dense')",
	'many, counts' => "SELECT count(*), sum(id * pairs) FROM " . counts_of("redblue_triangle_pairs('dense', 'dense')", 'red_id') . ' x',
	'many, hits' => "SELECT count(*), sum(red_id) FROM (SELECT DISTINCT red_id FROM redblue_triangle_pairs('dense', 'dense')) h",
	'triangles' => $pairs,
	'triangles of objects' => checksum_of("redblue_triangle_pairs('a', 'b', blue_id => 'id', blue_object => 'object')"),
	'one table' => checksum_of("(SELECT id1 AS red_id, id2 AS blue_id FROM redblue_triangle_self_pairs('a')) s"),
	'boxes' => checksum_of("redblue_box_pairs('box', 'box')"),
	'within' => "SELECT count(*), sum(red_id * blue_id), sum(distance::numeric) FROM redblue_triangle_pairs_within('a', 'b', 0.1)",
	'contacts' => "SELECT count(*), sum(red_id * blue_id), sum(dimension * red_id), count(*) FILTER (WHERE crosses) FROM redblue_triangle_contacts('a', 'b')",
	'a tile' => checksum_of("redblue_triangle_pairs('a', 'b', tile_low => '{20,-Infinity,10}', tile_high => '{60,50,Infinity}')"),
	'a count' => $count,
	'a count of one table' => "SELECT redblue_box_self_pair_count('box')",
	'counts' => "SELECT count(*), sum(id * pairs) FROM " . counts_of("redblue_triangle_pairs('a', 'b')", 'red_id') . ' x',
	'hits' => "SELECT count(*), sum(red_id) FROM (SELECT DISTINCT red_id FROM redblue_triangle_pairs('a', 'b')) h",
	'groups' => "SELECT count(*), sum(hashtext(id || ids::text)) FROM " . groups_of("redblue_triangle_pairs('a', 'b')", 'red_id', 'blue_id') . ' x',
	'a LIMIT' => "SELECT count(*) FROM (SELECT * FROM redblue_triangle_pairs('a', 'b') LIMIT 3000) s");
my $s = session($node);
$s->ask('SET redblue.duplicate_notice = off; SET redblue.backend = cpu');
my %answer = map { $_ => scalar $s->ask($ask{$_}) } keys %ask;
is(join(', ', map { "$_: $answer{$_}" } grep { $answer{$_} =~ /ERROR/ } keys %ask), '', 'all has an answer');
$s->quit;
system("cp '$ENV{FAKE_DEVICE}' '$device'") == 0 or die;

# The backend and devices of the session's last join
sub device_of { return scalar $_[0]->ask('SELECT backend || \': \' || device FROM redblue_last_run() LIMIT 1') }
sub shares { return scalar $_[0]->ask(q{SELECT string_agg(stage, ',' ORDER BY stage) || ' ' || sum(split_part(detail, ' ', 1)::int) FROM redblue_last_run() WHERE stage LIKE 'device %' OR stage = 'processor'}) }
sub notes { return scalar $_[0]->ask(q{SELECT string_agg(DISTINCT substring(detail FROM 'another device: (.*)'), ',') FROM redblue_last_run() WHERE detail LIKE '%partitions%'}) }

# ---- the setting ----

$s = session($node);
$s->ask('SELECT redblue_version()');
is($s->ask('SHOW redblue.gpu_devices'), 'all', 'all, if nothing is said');
for my $right ('all', 'ALL ', '0', '0,2', ' 1 , 2 ', '15')
{
	is($s->ask("SET redblue.gpu_devices = '$right'; SHOW redblue.gpu_devices"), $right, "'$right'");
}
for my $wrong ('', 'x', '0,', ',0', '16', '-1', '0,0', '1 2', 'all,1', '1.5', '4294967297', '99999999999999999999', 'alle')
{
	like($s->ask("SET redblue.gpu_devices = '$wrong'"), qr/ERROR:  22023: invalid value for parameter "redblue\.gpu_devices": "\Q$wrong\E"\nDETAIL:  \w/, "'$wrong' is refused");
}
is($s->ask('SHOW redblue.gpu_devices'), '15', 'and changes nothing');
like($s->ask("RESET redblue.gpu_devices; SET ROLE stranger; SET redblue.gpu_devices = '0'"), qr/42501/, 'not by everybody');
$s->quit;
$s = session($node);
is($s->ask("SET redblue.gpu_devices = '1;2'"), '', 'a wrong one, before first use');
like($s->ask('SELECT redblue_version()'), qr/ERROR:  22023: invalid value for parameter "redblue\.gpu_devices": "1;2"\nDETAIL:  A comma is missing after 1\./, 'is an error of the first use');
is($s->ask("SET redblue.gpu_devices = '1,2'; SELECT redblue_version() > ''"), 't', 'a right one will do');
$s->quit;

# ---- results ----

for my $set ([ 'all', qr/^cuda: 3 x a fake device$/, 3 ], [ '1', qr/^cuda: a fake device$/, 0 ], [ '0,2', qr/^cuda: 2 x a fake device$/, 2 ])
{
	my ($which, $where, $shares) = @$set;
	$s = session($node);
	$s->ask("SET redblue.duplicate_notice = off; SET redblue.backend = cuda; SET redblue.gpu_devices = '$which'");
	for my $what (sort keys %ask)
	{
		my $cards = joined_by(sub { is($s->ask($ask{$what}), $answer{$what}, "$which: $what") });
		# An abandoned join ends before the next one is measured.
		comes_true(\&is_idle) or die if $what =~ /LIMIT/;
		next if $what =~ /^boxes|one table|LIMIT|tile/;
		like($cards, $which eq 'all' ? qr/^[012],[012],[012]$/ : $which eq '1' ? qr/^1$/ : qr/^[02],[02]$/, "$which: $what: by cards $cards");
	}
	is(joined_by(sub { is(ask_all_devices($s, $count, $shares || 1), $answer{'a count'}, "$which: slowly") }), $which eq 'all' ? '0,1,2' : $which, "$which: one share each");
	fake(@three);
	like(device_of($s), $where, "$which: where");
	is(shares($s), { all => 'device 0,device 1,device 2 3', 1 => '', '0,2' => 'device 0,device 2 2' }->{$which}, "$which: lines of redblue_last_run()");
	$s->quit;
}
$s = session($node);
$s->ask('SET redblue.duplicate_notice = off; SET redblue.backend = cuda');
is($s->ask("SELECT cuda_device FROM redblue_info()"), '3 x a fake device', 'redblue_info knows all');
is($s->ask('SELECT count(*) FROM redblue_last_run()'), '0', 'no join yet');
like(ask_all_devices($s, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM redblue_triangle_pairs('a', 'b')", 3),
	qr/Device: 3 x a fake device.*Stage device 0: \d+ \(1 of 3 partitions\)\s+Stage device 1: \d+ \(1 of 3 partitions\)\s+Stage device 2: /s, 'EXPLAIN')
  if ($ENV{REDBLUE_CUSTOM_SCAN} // 'on') eq 'on';
is($s->ask("SELECT sum(count) = $answer{'a count'} FROM redblue_last_run() WHERE stage LIKE 'device %'"), 't', 'the pairs of all') if $s->ask($count) ne '';
fake(@three);
is(joined_by(sub { $s->ask("SELECT redblue_triangle_self_pair_count('few')") }), '0', 'a small join is one device\'s');
is(shares($s), '', 'and has no shares');
my $pid = worker();

# ---- devices that do not exist ----

$s->ask("SET redblue.gpu_devices = '7'");
like($s->ask($count), qr/ERROR:  58000: .*no usable GPU.*\n.*no fake device 7: there are 3, counted from 0|no fake device 7/s, 'a device that is not there is an error of cuda');
$s->ask("SET redblue.gpu_devices = '1,7'");
like($s->ask($count), qr/ERROR.*no fake device 7/s, 'beside one that is there, too');
$s->ask('SET redblue.backend = auto');
is(joined_by(sub { is($s->ask($count), $answer{'a count'}, 'auto takes the one that is there') }), '1', 'alone');
$s->ask("SET redblue.gpu_devices = '7'");
is(joined_by(sub { is($s->ask($count), $answer{'a count'}, 'or the processor') }), '', 'where there is none');
like(device_of($s), qr/^cpu: \d+ threads?; no GPU used: no fake device 7/, 'and says why');
$s->ask('RESET redblue.gpu_devices');
is(worker(), $pid, 'it is the same process');

# ---- devices that fail ----

for my $way ('auto', 'cuda')
{
	$s->ask("SET redblue.backend = $way; SELECT cuda FROM redblue_info()");
	$pid = worker();
	# Full, not available
	for my $case ([ 'full_1 0', qr/^the fake device is full$/ ], [ 'none_1 1', qr/^$/ ])
	{
		for my $what ('a count', 'triangles', 'counts', 'hits', 'triangles of objects')
		{
			# The others wait until it has refused, so that they have not done its share by then.
			my $refuses = $case->[0] =~ /full/;
			my $n = did('joined');
			fake(@three, $case->[0], $refuses ? 'join_ms 60000' : ());
			unlike(joined_by(sub { is($refuses ? ask_while_waiting($s, $ask{$what}, sub { did('joined') > $n }) : scalar $s->ask($ask{$what}), $answer{$what}, "$way, $case->[0]: $what") }), $case->[0] =~ /none/ ? qr/1/ : qr/^$/, "$way, $case->[0]: $what: by others");
			like(shares($s), qr/^device 0(,device 2)? [23]$|^device 2 [23]$/, "$way, $case->[0]: $what: shares");
			like(notes($s), $case->[1], "$way, $case->[0]: $what: why");
			like(device_of($s), qr/^cuda: (2 x )?a fake device$/, "$way, $case->[0]: $what: where");
		}
	}
	# A small join goes to the next device.
	fake(@three, 'full_0 0');
	is(joined_by(sub { like($s->ask("SELECT redblue_triangle_self_pair_count('few')"), qr/^\d+$/, "$way: a small join") }), '0,1', "$way: by the next one");
	# All are full.
	fake(@three, 'full 0');
	if ($way eq 'cuda')
	{
		like($s->ask("SET statement_timeout = '5min'; $count"), qr/ERROR:  53200: .*out of GPU memory.*the fake device is full/s, 'cuda: all are full');
	}
	else
	{
		is($s->ask($count), $answer{'a count'}, 'auto: all are full');
		like(device_of($s), qr/^cpu: \d+ threads?; no GPU used: the fake device is full$/, 'auto: the processor');
		is(shares($s), 'processor 3', 'auto: its shares');
	}
	$s->ask('RESET statement_timeout');
	# One fails permanently.
	fake(@three, 'fail_2 0', 'join_ms 60000', 'join_ms_2 1');
	my $n = did('joined');
	is(ask_while_waiting($s, $pairs, sub { did('joined') > $n }), $answer{triangles}, "$way: one fails");
	like(notes($s), qr/^the fake device has failed$/, "$way: one fails: why");
	fake(@three);
	is(worker(), $pid, "$way: the process stays");
	unlike(joined_by(sub { is($s->ask($pairs), $answer{triangles}, "$way: then it is left out") }), qr/2/, "$way: by the others");
	is($s->ask("SELECT cuda_device FROM redblue_info()"), '3 x a fake device', "$way: what was found");
	end_worker();
	$s->ask('SELECT cuda FROM redblue_info()');
	is(joined_by(sub { is(ask_all_devices($s, $count, 3), $answer{'a count'}, "$way: another process") }), '0,1,2', "$way: has it again");
	$pid = worker();

	# One fails after pairs of its partition have been returned: counts are delayed, bits may repeat, pairs may not.
	for my $what ('many, a count', 'many, hits', 'many', 'many, counts')
	{
		$s->ask('SELECT cuda FROM redblue_info()');
		fake(@three, 'fail_1 1', 'join_ms 60000', 'join_ms_1 1');
		my $joined = did('joined');
		my $got = ask_while_waiting($s, $ask{$what}, sub { did('joined') > $joined });
		if ($what =~ /a count|hits/)
		{
			is($got, $answer{$what}, "$way, in the middle: $what");
		}
		else
		{
			# While the session has received nothing, auto may start again.
			$got = 'ERROR:  58000: the GPU failed, the fake device has failed' if $way eq 'auto' && $got eq $answer{$what};
			like($got, qr/ERROR:  58000: .*the GPU failed.*the fake device has failed/s, "$way, in the middle: $what: an error");
		}
		fake(@three);
		end_worker();
		is($s->ask($count), $answer{'a count'}, "$way, in the middle: $what: the session goes on");
	}
}

# ---- stops of either side ----

for my $backend ('auto', 'cuda')
{
	for my $slow ('join_ms 60000', 'put_ms 1000', 'join_ms_1 60000')
	{
		my $stop = session($node);
		$stop->ask("SET redblue.duplicate_notice = off; SET redblue.backend = $backend; SELECT cuda FROM redblue_info()");
		fake(@three, $slow);
		my $n = scalar(did('card'));
		$stop->send($dense);
		ok(comes_true(sub { scalar(did('card')) >= $n + 3 }), "$backend, $slow: three are at work");
		like($watch->ask('SELECT stage FROM redblue_progress'), qr/^\w+( \w+)*$/, "$backend, $slow: seen in redblue_progress");
		my $t0 = time();
		$watch->ask("SELECT pg_cancel_backend($stop->{pid})");
		like($stop->wait_for, qr/57014/, "$backend, $slow: cancelled");
		my $ms = (time() - $t0) * 1000;
		cmp_ok($ms, '<', $stop_seconds * 1000, sprintf('%s, %s: after %.0f ms', $backend, $slow, $ms));
		ok(comes_true(\&is_idle), "$backend, $slow: the worker is idle");
		like($stop->ask(under_timeout(500, $dense)), qr/57014.*statement timeout/, "$backend, $slow: statement_timeout");
		fake(@three);
		is($stop->ask($count), $answer{'a count'}, "$backend, $slow: the session goes on");
		$stop->quit;
	}
}
# A session that ends
fake(@three, 'join_ms 20000');
my $gone = session($node);
my $n = scalar(did('card'));
$gone->ask("SET redblue.backend = cuda");
$gone->send($pairs);
ok(comes_true(sub { scalar(did('card')) >= $n + 3 }), 'three are at work');
$watch->ask("SELECT pg_terminate_backend($gone->{pid})");
ok(comes_true(\&is_idle), 'and stop when the session has gone');
fake(@three);
is($watch->ask('SELECT count(*) FROM redblue_progress'), '0', 'nothing runs');

# ---- the session's own devices, if it can have no worker ----

$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
$s->quit;
$watch->quit;
$node->restart;
$s = session($node);
$s->ask('SET redblue.duplicate_notice = off; SET redblue.backend = cuda');
is(joined_by(sub { is(ask_all_devices($s, $pairs, 3), $answer{triangles}, 'a session opens them itself') }), '0,1,2', 'all of them');
is(shares($s), 'device 0,device 1,device 2 3', 'a share each');
$s->ask("SET redblue.gpu_devices = '2'");
is(joined_by(sub { is($s->ask($pairs), $answer{triangles}, 'or the one that is named') }), '2', 'this one');
$s->quit;

done_testing();
