# Tests values of settings that are given before the library is loaded. A wrong value that the session itself set is an
# error at the first use, with PostgreSQL's message; one of a role, a database, a connection or the configuration does
# not prevent logins.
# run: quick
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('settings');
# Parameters of new_server are set before the server starts.
$node->append_conf('postgresql.conf', "client_min_messages = warning\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE a AS SELECT i AS id, i::float8 AS lx, 0::float8 AS ly, i + 0.5::float8 AS hx, 1::float8 AS hy FROM generate_series(1, 4) i;
CREATE FUNCTION within() RETURNS bigint LANGUAGE plpgsql SET redblue.backend = 'gpu' AS 'BEGIN RETURN redblue_box_self_pair_count(''a''); END';
CREATE ROLE wrong LOGIN SUPERUSER;
CREATE DATABASE other;
SQL
$node->safe_psql('other', 'CREATE EXTENSION redblue');
my $use = "SELECT redblue_box_self_pair_count('a')";

# Ways to use the library first, and kinds of values
for my $case (
	[ "backend = 'gpu'", qr/ERROR:  22023: invalid value for parameter "redblue\.backend": "gpu"\nHINT:  Available values: auto, cpu, cuda\./, "backend = 'CPU'" ],
	[ "backend = ''", qr/ERROR:  22023: invalid value for parameter "redblue\.backend": ""/, 'backend = auto' ],
	[ "threads = 'many'", qr/ERROR:  22023: invalid value for parameter "redblue\.threads": "many"/, 'threads = 2' ],
	[ 'threads = 257', qr/ERROR:  22023: 257 is outside the valid range for parameter "redblue\.threads" \(0 \.\. 256\)/, 'threads = 256' ],
	[ 'threads = -1', qr/ERROR:  22023: -1 is outside the valid range/, 'threads = 0' ],
	[ "memory_limit = '1kB'", qr/ERROR:  22023: 1 kB is outside the valid range for parameter "redblue\.memory_limit"/, "memory_limit = '64MB'" ],
	[ "memory_limit = '7 apples'", qr/ERROR:  22023: invalid value for parameter "redblue\.memory_limit": "7 apples"\nHINT:  Valid units/, "memory_limit = '0.5GB'" ],
	[ "memory_limit = '9000TB'", qr/ERROR:  22023: invalid value for parameter "redblue\.memory_limit": "9000TB"\nHINT:  Value exceeds integer range/, "memory_limit = '1TB'" ],
	[ "gpu_memory_limit = 'all'", qr/ERROR:  22023: invalid value for parameter "redblue\.gpu_memory_limit": "all"/, "gpu_memory_limit = '1GB'" ],
	[ 'grid_resolution = 1025', qr/ERROR:  22023: 1025 is outside the valid range for parameter "redblue\.grid_resolution"/, 'grid_resolution = 1024' ],
	[ "custom_scan = 'perhaps'", qr/ERROR:  22023: parameter "redblue\.custom_scan" requires a Boolean value/, 'custom_scan = of' ])
{
	my ($wrong, $error, $right) = @$case;
	my $s = session($node);
	is($s->ask("SET redblue.$wrong"), '', "$wrong: SET, before first use");
	for my $first ($use, 'EXPLAIN SELECT * FROM redblue_box_self_pairs(\'a\')', 'SELECT redblue_version()', 'SELECT * FROM redblue_last_run()', $use)
	{
		like($s->ask($first), $error, "$wrong: $first");
	}
	is($s->ask("SET redblue.$right;\n$use"), '0', "$right: a right one will do");
	like($s->ask("SET redblue.$wrong"), qr/ERROR:  22023/, "$wrong: refused at once from now on");
	$s->quit;
}

# Values that are set for a part of the session only
my $s = session($node);
is($s->ask('SELECT 1'), '1', 'a session');
like($s->ask("BEGIN;\nSET LOCAL redblue.backend = 'gpu';\n$use"), qr/22023: invalid value/, 'SET LOCAL');
is($s->ask("ROLLBACK;\n$use"), '0', 'and after it');
$s->quit;
$s = session($node);
like($s->ask('SELECT within()'), qr/22023: invalid value for parameter "redblue\.backend": "gpu"/, 'SET of a function');
is($s->ask($use), '0', 'and outside of it');
$s->quit;
$s = session($node);
is($s->ask("SET redblue.backend = 'gpu';\nRESET redblue.backend;\n$use"), '0', 'RESET');
$s->quit;

# An unknown name: first PostgreSQL's warning, then its error
$s = session($node);
$s->send("SET redblue.no_such = 1;\n$use");
my ($out, $err) = $s->wait_for;
is($out, '0', 'a setting that there is not: the join runs');
like($err, qr/WARNING:  \w+: (invalid configuration parameter name|unrecognized configuration parameter) "redblue\.no_such"/, 'and says so');
$s->quit;

# A user who cannot log in cannot correct the value. Therefore a login gives a warning, and the default applies.
sub logs_in
{
	my ($what, %how) = @_;
	my ($stdout, $stderr);
	my $before = -s $node->logfile;
	my $rc = $node->psql($how{db} // 'postgres', "SELECT redblue_version() IS NOT NULL;\nSHOW redblue.backend", stdout => \$stdout, stderr => \$stderr,
		on_error_stop => 0, extra_params => [ '-q', $how{user} ? ('-U', $how{user}) : () ]);
	is("$rc $stdout", "0 t\nauto", "$what: logs in, and has the default");
	like($stderr . slurp_file($node->logfile, $before), qr/WARNING:  invalid value for parameter "redblue\.backend": "gpu"/, "$what: a warning");
	return;
}
$node->safe_psql('postgres', "ALTER ROLE wrong SET redblue.backend = 'gpu'; ALTER DATABASE other SET redblue.backend = 'gpu'");
logs_in('of a role', user => 'wrong');
logs_in('of a database', db => 'other');
{
	local $ENV{PGOPTIONS} = '-c redblue.backend=gpu';
	logs_in('of a connection');
}
$node->safe_psql('postgres', "ALTER DATABASE other SET session_preload_libraries = 'redblue'; ALTER ROLE wrong SET session_preload_libraries = 'redblue'");
logs_in('of a role, loaded at login', user => 'wrong');
logs_in('of a database, loaded at login', db => 'other');
# SET itself is rejected in the same way.
like((($node->psql('other', "SET redblue.backend = 'cuda-12'"))[2]), qr/invalid value for parameter "redblue\.backend": "cuda-12"/, 'loaded at login: SET is refused');

# In parallel workers, which load the library, too
$s = session($node);
is($s->ask("SET redblue.threads = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;\nSELECT count(*), sum(red_id) FROM redblue_box_pairs('a', 'a')"),
	'4|10', 'workers take what the leader has');
$s->quit;

$node->append_conf('postgresql.conf', "redblue.backend = 'gpu'\n");
$node->reload;
logs_in('of the configuration');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'redblue'\nredblue.backend = 'cpu'\n");
$node->restart;
is($node->safe_psql('postgres', "$use;\nSHOW redblue.backend"), "0\ncpu", 'preloaded by the server');
like((($node->psql('postgres', "SET redblue.backend = 'gpu'"))[2]), qr/invalid value/, 'then SET is refused at once');
$node->stop;
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|TRAP/, 'a clean log');

done_testing();
