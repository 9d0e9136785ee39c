# Tests redblue_into on a server with few buffers, in a session with few buffers for temporary tables: it does not pin
# the pages from which its rows came.
# run: quick
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('few_buffers', <<'CONF');
shared_buffers = 4MB
temp_buffers = 800kB
CONF
my $session = session($node);

# 1500 pages with one row each, so that the rows of one write come from many pages
my $sparse = <<'SQL';
(red_id bigint, blue_id bigint);
INSERT INTO sparse SELECT i, -i FROM generate_series(1, 1500 * 185) i;
DELETE FROM sparse WHERE (ctid::text::point)[1] <> 1;
SQL
my $same = 'SELECT count(*) FROM (TABLE sparse EXCEPT ALL TABLE pairs) x';

for my $kind ('', 'TEMP')
{
	my $name = lc $kind || 'shared';
	$session->ask("CREATE $kind TABLE sparse $sparse; CREATE $kind TABLE pairs (red_id bigint, blue_id bigint)");
	cmp_ok($session->ask("SELECT count(*) FROM sparse"), '>=', 1500, "$name: the rows");
	my $n = $session->ask('SELECT count(*) FROM sparse');
	is($session->ask("SELECT redblue_into('pairs', 'TABLE sparse')"), $n, "$name: all rows, from few buffers");
	is($session->ask($same), 0, "$name: the same rows");
	is($session->ask("SELECT redblue_into('pairs', 'TABLE pairs')"), $n, "$name: from the target itself");
	is($session->ask("SELECT redblue_into('pairs', 'SELECT * FROM sparse WHERE red_id > 0 ORDER BY red_id DESC LIMIT 1100')"), 1100, "$name: sorted");
	$session->ask('DROP TABLE sparse, pairs');
}

# Several concurrent sessions share these buffers.
$node->safe_psql('postgres', "CREATE TABLE sparse $sparse; CREATE TABLE pairs (red_id bigint, blue_id bigint)");
my @sessions = map { session($node) } 1 .. 6;
$_->send("SELECT redblue_into('pairs', 'TABLE sparse')") for @sessions;
my $n = $node->safe_psql('postgres', 'SELECT count(*) FROM sparse');
is_deeply([ map { scalar $_->wait_for } @sessions ], [ ($n) x 6 ], 'six sessions at once');

# After a cancellation in the middle of a block, no page remains pinned: the next run can use all of them.
my (undef, $err) = $session->ask(under_timeout(50, "SELECT redblue_into('pairs', 'SELECT s.* FROM sparse s, LATERAL (SELECT pg_sleep(0.001) IS NULL AS n WHERE s.red_id > 0) t')"));
like($err, qr/57014/, 'cancelled');
is($session->ask("SELECT redblue_into('pairs', 'TABLE sparse')"), $n, 'and all rows after it');

$_->quit for $session, @sessions;
$node->stop;
done_testing();
