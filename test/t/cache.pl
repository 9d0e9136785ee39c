# Tests that results never depend on the cache: random steps in four sessions, and after each step the same queries with
# redblue.cache on and off, with one snapshot.
#
#	REDBLUE_SEED	the seed that a run printed
#	REDBLUE_STEPS	number of steps (2,000; REDBLUE_LONG=1: 100,000)
#
# Only one session executes a step at a time, so that a seed determines everything; a statement that would wait for a
# lock fails at once. Occasionally all sessions run concurrently, while one of them runs the queries. The log folder
# contains a trace of the run with all statements.
# run: long
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Redblue;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $seed = $ENV{REDBLUE_SEED} || time % 1e9 | 0;
# Everything is slower if several processes read small tables.
my $readers = ($ENV{REDBLUE_SCAN_SIZE} // '') eq '0';
my $steps = $ENV{REDBLUE_STEPS} || (long_run() ? 100_000 : 2_000) / ($readers ? 10 : 1);
srand($seed);
diag("REDBLUE_SEED=$seed");

my $node = new_server('cache', <<'CONF');
max_prepared_transactions = 4
max_connections = 20
log_min_messages = log
synchronous_commit = on
fsync = off
CONF
my $postgis = have_postgis($node);
my $major = $node->safe_psql('postgres', 'SHOW server_version_num') / 10000 | 0;
open(my $trace, '>', "$PostgreSQL::Test::Utils::log_path/cache.trace") or die;

sub pick { return $_[ int rand @_ ] }
sub chance { return rand() < $_[0] }

# ---- tables ----

# Few rows per page, so that there are many pages: pad has 600 bytes.
my %numbers = (
	triangles => [qw(ax ay az bx by bz cx cy cz)],
	segments => [qw(ax ay az bx by bz)],
	segments2d => [qw(ax ay bx by)],
	boxes => [qw(lx ly lz hx hy hz)],
	boxes2d => [qw(lx ly hx hy)]);
my %kind = (a => 'triangles', b => 'triangles', s => 'segments', l => 'segments2d', x => 'boxes', y => 'boxes2d', $postgis ? (g => 'geometry') : ());
my @tables = sort keys %kind;
my $next_id = 1;
my %gone;    # tables that a step has emptied are filled again

sub coordinates
{
	my ($kind) = @_;
	my $n = @{ $numbers{$kind} };
	my $dims = $kind =~ /2d/ ? 2 : 3;
	my @at = map { int rand 24 } 1 .. $dims;
	my @c = map { $at[ ($_ - 1) % $dims ] + int rand 5 } 1 .. $n;
	if ($kind =~ /boxes/) { $c[ $_ + $dims ] += $c[$_] for 0 .. $dims - 1; $_ /= 2 for @c; }
	return @c;
}

# A row as a list of SQL values: id, grp, the coordinates or the geometry
sub row
{
	my ($table, $bad) = @_;
	my $kind = $kind{$table};
	my $id = $next_id++;
	my @c;
	if ($kind eq 'geometry')
	{
		my $face = sub { my @p = coordinates('triangles'); return "(($p[0] $p[1] $p[2],$p[3] $p[4] $p[5],$p[6] $p[7] $p[8],$p[0] $p[1] $p[2]))" };
		my $g = rand;
		my $text = $g < 0.5 ? 'TRIANGLE Z' . $face->()
		  : $g < 0.8 ? 'TIN Z(' . join(',', map { $face->() } 0 .. int rand 4) . ')'
		  : $g < 0.86 ? 'TIN Z EMPTY'
		  : $g < 0.9 ? 'GEOMETRYCOLLECTION Z(TRIANGLE Z' . $face->() . ',TRIANGLE Z' . $face->() . ')'
		  : undef;
		my $srid = $bad ? 4326 : 0;
		$text //= 'POINT Z(1 2 3)' if $bad && chance(0.3);
		@c = (defined $text ? "ST_GeomFromText('$text', $srid)" : 'NULL');
	}
	else
	{
		@c = map { "$_" } coordinates($kind);
		$c[ int rand @c ] = pick("'NaN'", "'Infinity'", 'NULL') if $bad;
	}
	return ($id, int rand 40, @c, $bad ? "'bad'" : "repeat('x', " . (590 + int rand 20) . ')');
}

sub columns_of
{
	my ($table) = @_;
	return ('id', 'grp', $kind{$table} eq 'geometry' ? 'geom' : @{ $numbers{ $kind{$table} } }, 'pad');
}

sub create
{
	my ($table, $how) = @_;
	my ($id, $grp, @c) = columns_of($table);
	pop @c;
	my $key = $table =~ /^[ag]$/ ? ' PRIMARY KEY' : '';
	my $type = $kind{$table} eq 'geometry' ? 'geometry' : 'float8';
	return "CREATE " . ($how // '') . " TABLE $table (id int8$key, grp int4, " . join(', ', map { "$_ $type" } @c)
	  . ", pad text) WITH (fillfactor = " . pick(60, 90, 100) . "); ALTER TABLE $table ALTER pad SET STORAGE plain";
}

sub insert
{
	my ($table, $n, $bad) = @_;
	return "INSERT INTO $table (" . join(', ', columns_of($table)) . ') VALUES '
	  . join(', ', map { '(' . join(', ', row($table, $bad)) . ')' } 1 .. $n);
}

# COPY from a file, because psql would interpret data as commands after an error, and data cannot call a function
my $copies = PostgreSQL::Test::Utils::tempdir();
my $ncopies = 0;
sub copy
{
	my ($table, $n, $option) = @_;
	return insert($table, $n) if $kind{$table} eq 'geometry';
	my @lines;
	for (1 .. $n)
	{
		my @row = row($table);
		$row[-1] = 'y' x (590 + int rand 20);
		push @lines, join "\t", @row;
	}
	my $file = "$copies/" . ++$ncopies;
	append_to_file($file, join "\n", @lines, '');
	unlink "$copies/" . ($ncopies - 20);
	return "COPY $table (" . join(', ', columns_of($table)) . ") FROM '$file'" . ($option // '');
}

# Some consecutive rows, so that most pages remain unchanged
sub some
{
	my ($n) = @_;
	return "ctid = ANY (ARRAY(SELECT ctid FROM TABLE OFFSET " . int(rand 300) . " LIMIT " . (1 + int rand($n // 4)) . '))';
}

my $before = join ";\n", map { create($_) } @tables;
$node->safe_psql('postgres', $before);
for my $contrib (qw(pg_visibility pg_surgery))
{
	$node->psql('postgres', "CREATE EXTENSION $contrib");
}
my $surgery = $node->safe_psql('postgres', "SELECT count(*) FROM pg_extension WHERE extname = 'pg_surgery'");
my $space = PostgreSQL::Test::Utils::tempdir();
$node->safe_psql('postgres', "CREATE TABLESPACE other LOCATION '$space'");

# ---- queries ----

# The differences between redblue.cache on and off. A stable function runs all queries with the snapshot of its caller.
# A row contains the query, the results with off and with on (NULL if they are equal), and the detail of stage "read" in
# redblue_last_run() with on.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION ask(question text, mode text, OUT said text, OUT rows bigint, OUT detail text) LANGUAGE plpgsql STABLE AS $$
DECLARE
	hint text;
	more text;
	stage record;
BEGIN
	PERFORM set_config('redblue.cache', mode, false);
	BEGIN
		EXECUTE question INTO said;
		said := 'answer ' || said;
		SELECT l.count, l.detail INTO rows, detail FROM redblue_last_run() l WHERE l.stage = 'read';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, more = PG_EXCEPTION_DETAIL;
		said := translate(concat_ws(' / ', 'error ' || SQLSTATE, SQLERRM, more, hint), E'|\n', '/ ');
	END;
END $$;
CREATE FUNCTION facts(detail text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(m[1]) FROM regexp_matches(detail, '(\d+ parts?|\d+ rows? skipped|\d+ rows of \w+ have \d+ ids?)', 'g') m
$$;
CREATE FUNCTION differ(questions text[], modes text[], OUT question text, OUT off text, OUT on_ text, OUT detail text)
RETURNS SETOF record LANGUAGE plpgsql STABLE AS $$
DECLARE
	a record;
	b record;
	tables jsonb;
	asked text;
	t text;
BEGIN
	-- a name is looked up without a lock: while a table is renamed it may be that of one, and then of the other
	SELECT jsonb_object_agg(relname, oid) INTO tables FROM pg_class WHERE length(relname) = 1 AND relkind = 'r';
	FOREACH question IN ARRAY questions LOOP
		asked := question;
		FOR t IN SELECT jsonb_object_keys(tables) LOOP
			asked := replace(asked, '''' || t || '''', '''' || (tables ->> t) || '''');
		END LOOP;
		a := ask(asked, modes[1]);
		b := ask(asked, modes[2]);
		off := NULL;
		on_ := NULL;
		-- rows, parts, skipped rows and ids are reported in the same way
		IF (a.said, a.rows, facts(a.detail)) IS DISTINCT FROM (b.said, b.rows, facts(b.detail))
		THEN
			off := concat_ws(' || ', a.said, a.rows, a.detail);
			on_ := concat_ws(' || ', b.said, b.rows, b.detail);
		END IF;
		detail := CASE WHEN modes[2] = 'off' THEN a.detail ELSE b.detail END;
		RETURN NEXT;
	END LOOP;
END $$;
SQL

# An ordered list of ids, red < blue by the order of rows, a count, objects, a query text
sub questions
{
	my $list = 'SELECT array_agg(p)::text FROM';
	my @q;
	my @triangles = ('a', 'b', $postgis ? 'g' : ());
	my ($t, $u) = (pick(@triangles), pick(@triangles));
	push @q, pick("$list redblue_triangle_pairs('$t', '$u') p", "SELECT redblue_triangle_pair_count('$t', '$u')",
		"$list redblue_triangle_pairs('$t', '$u', red_object => 'grp') p");
	push @q, pick("$list redblue_triangle_self_pairs('$t') p", "SELECT redblue_triangle_self_pair_count('$t')",
		"$list redblue_triangle_self_pairs('$t', mesh_object => 'grp') p", "$list redblue_triangle_self_pairs('$t', mesh_id => 'grp') p");
	push @q, pick(
		"$list redblue_segment_triangle_pairs('s', '$t') p", "$list redblue_segment_pairs('l', 'l') p",
		"$list redblue_segment_self_pairs('l') p", "SELECT redblue_segment_self_pair_count('l')",
		"$list redblue_box_self_pairs('x') p", "$list redblue_box_pairs('x', 'x') p", "SELECT redblue_box_pair_count('x', 'x')",
		"$list redblue_box_pairs('x', 'y') p", "$list redblue_box_pairs('y', 'x') p", "$list redblue_box_self_pairs('y') p",
		"$list redblue_segment_pairs('s', 'l') p", "$list redblue_segment_triangle_pairs('a', 'b') p",
		"$list redblue_triangle_pairs('$t', '$u', face_tolerance => 0.5) p",
		"$list redblue_triangle_pairs_by_key('$t', '$u', 'id, grp', 'grp') p(a int8, b int4, c int4)");
	# Aggregates instead of pairs
	my $pairs = pick("redblue_triangle_pairs('$t', '$u')", "redblue_segment_triangle_pairs('s', '$t')", "redblue_box_pairs('x', 'x')");
	my $what = $pairs =~ s/_pairs.*//r;
	my ($sides) = $pairs =~ /(\(.*)/;
	my ($id, $other) = $pairs =~ /segment/ ? ('segment_id', 'triangle_id') : ('red_id', 'blue_id');
	push @q, pick("$list " . counts_of($pairs, $id) . ' p', "$list (SELECT DISTINCT $id FROM $pairs) p", "$list " . groups_of($pairs, $id, $other) . ' p',
		"$list ${what}_pair_blocks$sides p", "SELECT count(*) FROM $pairs", "$list " . counts_of($pairs, $other) . ' p', "$list " . groups_of($pairs, $other, $id) . ' p',
		"SELECT redblue_triangle_self_pair_count('$t')", "$list " . groups_of(both_ways("redblue_triangle_self_pairs('$t', mesh_object => 'grp')"), 'id', 'other') . ' p',
		"$list " . counts_of(both_ways("redblue_box_self_pairs('y')"), 'id') . ' p', "$list (SELECT DISTINCT id FROM " . both_ways("redblue_segment_self_pairs('l')") . ') p');
	return @q;
}

my %count = (looks => 0, kept => 0, part => 0, errors => 0);
my $bad = 0;

# Runs the queries in a session; each difference is a failure.
sub compare
{
	my ($s) = @_;
	my $modes = pick("'{off,on}'", "'{off,on}'", "'{on,off}'", "'{on,on}'", "'{off,auto}'");
	my $sql = 'SELECT * FROM differ(ARRAY[' . join(', ', map { (my $q = $_) =~ s/'/''/g; "'$q'" } questions()) . "], $modes)";
	print $trace "$s->{name}: $sql;\n";
	my $said = $s->{s}->ask($sql);
	judge($s, $said);
	return;
}

sub judge
{
	my ($s, $said) = @_;
	for my $line (split /\n/, $said)
	{
		my ($question, $off, $on, $detail) = split /\|/, $line, 4;
		if ($line =~ /^psql:.*ERROR/ || !defined $detail || $off ne '' || $on ne '')
		{
			next if $line =~ /LOCATION|CONTEXT|^SQL|^PL/;
			# A name is resolved without a lock, so it may belong to a table that has just been dropped.
			next if $line =~ /relation with OID \d+, does not exist/;
			$bad++;
			diag("$s->{name} differs: " . substr($line, 0, 2000)) if $bad < 5;
			print $trace "DIFFERS: $line\n";
			next;
		}
		$count{looks}++;
		$count{errors}++ if $detail eq '';
		$count{kept}++ if $detail =~ /cached [1-9]/;
		$count{part}++ if $detail =~ /cached [1-9][^;]*read [1-9]/;
	}
	return;
}

# ---- steps ----

my @s = map { { name => "s$_", s => session($node), in => 0, save => 0 } } 1 .. 4;
my @prepared;
my $gid = 0;
my $set_up = "SET lock_timeout = '10ms'; SET redblue.threads = 1; SET redblue.duplicate_notice = off; SET client_min_messages = error";
for (@s)
{
	$_->{s}->ask($set_up);
	# A single session is enough for parallel readers.
	$_->{s}->ask("SET min_parallel_table_scan_size = '8MB'") if $_ != $s[0];
}

# Executes a statement, and reports errors.
sub run_sql
{
	my ($s, $sql) = @_;
	print $trace "$s->{name}: $sql;\n";
	my (undef, $err) = $s->{s}->ask($sql);
	print $trace "   $err\n" if $err ne '';
	die "server gone: $err" if $err =~ /server closed|terminating|connection/;
	# XX001: an index cannot be built on a row whose header pg_surgery has killed.
	my $mine = $surgery ? '|XX001' : '';
	if ($err =~ /ERROR/ && $err !~ /ERROR:  (55P03|55000|40001|25P02|40P01|2....|42P01|42P10|42P16|42703|42704|42809$mine)/)
	{
		diag("$s->{name}: $sql: $err");
		$count{wrong}++;
	}
	if ($err =~ /ERROR/)
	{
		$count{lock}++ if $err =~ /55P03/;
		diag("$s->{name}: $sql: $err") if $ENV{REDBLUE_TRACE} && $err !~ /55P03|40001|25P02/;
		# The transaction is lost, or continues from its savepoint.
		if ($s->{in})
		{
			my $back = $s->{save} && chance(0.5) ? 'ROLLBACK TO p' : 'ROLLBACK';
			print $trace "$s->{name}: $back;\n";
			$s->{s}->ask($back);
			if ($back eq 'ROLLBACK') { $s->{in} = $s->{save} = 0; }
		}
	}
	return $err;
}

# Steps whose intermediate states others must not see; half of them end in a rollback.
sub at_once
{
	my ($s, @sql) = @_;
	return run_sql($s, join ";\n", @sql) if $s->{in};
	my $err = run_sql($s, join ";\n", 'BEGIN', @sql, pick('COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK'));
	$s->{s}->ask('ROLLBACK') if $err =~ /ERROR/;
	return $err;
}

sub vacuum
{
	my ($table) = @_;
	return "VACUUM " . pick('', '', '(INDEX_CLEANUP ON)', '(FREEZE)', '(FREEZE, INDEX_CLEANUP ON)', '(TRUNCATE OFF)',
		'(DISABLE_PAGE_SKIPPING)', '(INDEX_CLEANUP OFF)', 'ANALYZE') . " $table";
}

# For each step: a weight, and the function that a session executes on a table
my %step = (
	insert => [ 10, sub { run_sql($_[0], insert($_[1], 1 + int rand 3)) } ],
	insert_many => [ 1, sub { run_sql($_[0], insert($_[1], 40)) } ],
	copy => [ 3, sub { run_sql($_[0], copy($_[1], 1 + int rand 10)) } ],
	conflict => [ 2, sub { $_[1] =~ /[ag]/ ? run_sql($_[0], insert($_[1], 1) . " ON CONFLICT (id) DO " . pick('NOTHING', 'UPDATE SET grp = 7'))
			: run_sql($_[0], insert($_[1], 2)) } ],
	conflict_again => [ 2, sub { run_sql($_[0], "INSERT INTO a (id, grp, ax, ay, az, bx, by, bz, cx, cy, cz, pad) SELECT id, grp, ax, ay, az, bx, by, bz, cx, cy, cz, pad FROM a WHERE "
			. some(2) =~ s/TABLE/a/r . " ON CONFLICT (id) DO UPDATE SET ax = a.ax + 1") } ],
	update_hot => [ 8, sub { run_sql($_[0], "UPDATE $_[1] SET grp = grp + 1 WHERE " . some() =~ s/TABLE/$_[1]/r) } ],
	update => [ 8, sub { my $c = pick((columns_of($_[1]))[ 2 .. 5 ]);
			run_sql($_[0], $kind{$_[1]} eq 'geometry' ? "UPDATE g SET geom = ST_Translate(geom, 1, 0, 0) WHERE " . some() =~ s/TABLE/g/r
				: "UPDATE $_[1] SET $c = $c - 1 WHERE " . some() =~ s/TABLE/$_[1]/r) } ],
	update_key => [ 3, sub { run_sql($_[0], "UPDATE $_[1] SET id = id + 1000000 WHERE " . some() =~ s/TABLE/$_[1]/r) } ],
	update_back => [ 3, sub { run_sql($_[0], "DO \$\$ BEGIN UPDATE $_[1] SET grp = grp + 1 WHERE " . some() =~ s/TABLE/$_[1]/r
			. "; PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END \$\$") } ],
	delete => [ 8, sub { run_sql($_[0], "DELETE FROM $_[1] WHERE " . some() =~ s/TABLE/$_[1]/r) } ],
	delete_many => [ 1, sub { run_sql($_[0], "DELETE FROM $_[1] WHERE id % 3 = " . int rand 3) } ],
	delete_tail => [ 1, sub { run_sql($_[0], "DELETE FROM $_[1] WHERE ctid >= '(" . int(10 + rand 30) . ",1)'") } ],
	lock => [ 5, sub { run_sql($_[0], "SELECT count(*) FROM (SELECT 1 FROM $_[1] WHERE " . some() =~ s/TABLE/$_[1]/r . ' FOR '
			. pick('UPDATE', 'SHARE', 'KEY SHARE', 'NO KEY UPDATE') . ') x') } ],
	vacuum => [ 26, sub { $_[0]{in} ? 0 : run_sql($_[0], vacuum($_[1])) } ],
	vacuum_all => [ 6, sub { $_[0]{in} ? 0 : run_sql($_[0], 'VACUUM ' . pick('', '(FREEZE)', '(INDEX_CLEANUP ON)') . join ', ', @tables) } ],
	analyze => [ 1, sub { run_sql($_[0], "ANALYZE $_[1]") } ],
	checkpoint => [ 0.5, sub { run_sql($_[0], 'CHECKPOINT') } ],
	truncate => [ 1, sub { at_once($_[0], "TRUNCATE $_[1]", insert($_[1], 200)) } ],
	copy_freeze => [ 4, sub { at_once($_[0], pick("TRUNCATE $_[1]", "DROP TABLE $_[1];\n" . create($_[1])), pick((), 'SAVEPOINT p'),
			copy($_[1], 150, ' WITH (FREEZE)'), copy($_[1], 1 + int rand 60, ' WITH (FREEZE)')) } ],
	add_column => [ 1, sub { run_sql($_[0], "ALTER TABLE $_[1] ADD COLUMN more" . int(rand 1e9) . ' ' . pick('int', 'float8 DEFAULT 3', "text DEFAULT 'z'", 'float8 DEFAULT random()')) } ],
	drop_column => [ 1, sub { run_sql($_[0], "ALTER TABLE $_[1] DROP COLUMN grp, ADD COLUMN grp int4 DEFAULT " . int rand 9) } ],
	drop_coordinate => [ 1, sub { my $c = (columns_of($_[1]))[4]; run_sql($_[0], $kind{$_[1]} eq 'geometry' ? 'SELECT 1'
			: "ALTER TABLE $_[1] DROP COLUMN $c, ADD COLUMN $c float8 DEFAULT 1" . int rand 5) } ],
	swap_columns => [ 2, sub { my ($c, $d) = $kind{$_[1]} =~ /boxes/ ? ('lx', 'ly') : ('ax', 'by');
			$kind{$_[1]} eq 'geometry' ? 0
			: at_once($_[0], "ALTER TABLE $_[1] RENAME $c TO was", "ALTER TABLE $_[1] RENAME $d TO $c", "ALTER TABLE $_[1] RENAME was TO $d") } ],
	swap_tables => [ 1, sub { at_once($_[0], 'ALTER TABLE a RENAME TO was', 'ALTER TABLE b RENAME TO a', 'ALTER TABLE was RENAME TO b') } ],
	column_type => [ 1, sub { $kind{$_[1]} eq 'geometry' ? 0
			: run_sql($_[0], "ALTER TABLE $_[1] ALTER " . pick((columns_of($_[1]))[ 2 .. 5 ]) . ' TYPE ' . pick('float4', 'numeric', 'int', 'float8', 'float8')) } ],
	id_type => [ 1, sub { run_sql($_[0], "ALTER TABLE $_[1] ALTER id TYPE " . pick('int8', 'int4', 'numeric')) } ],
	index => [ 1, sub { run_sql($_[0], pick("CREATE INDEX IF NOT EXISTS $_[1]_grp ON $_[1] (grp)", "DROP INDEX IF EXISTS $_[1]_grp", "REINDEX TABLE $_[1]")) } ],
	key => [ 0.5, sub { run_sql($_[0], pick('ALTER TABLE b ADD PRIMARY KEY (id)', 'ALTER TABLE b DROP CONSTRAINT IF EXISTS b_pkey')) } ],
	cluster => [ 1, sub { $_[0]{in} ? 0 : run_sql($_[0], "CREATE INDEX IF NOT EXISTS $_[1]_grp ON $_[1] (grp);\nCLUSTER $_[1] USING $_[1]_grp") } ],
	vacuum_full => [ 1, sub { $_[0]{in} ? 0 : run_sql($_[0], "VACUUM FULL $_[1]") } ],
	tablespace => [ 1, sub { run_sql($_[0], "ALTER TABLE $_[1] SET TABLESPACE " . pick('other', 'pg_default')) } ],
	unlogged => [ 1, sub { run_sql($_[0], "ALTER TABLE $_[1] SET " . pick('UNLOGGED', 'LOGGED', 'LOGGED', 'LOGGED')) } ],
	policy => [ 0.5, sub { run_sql($_[0], "ALTER TABLE $_[1] " . pick('ENABLE', 'DISABLE', 'DISABLE') . ' ROW LEVEL SECURITY') } ],
	child => [ 0.5, sub { run_sql($_[0], pick("CREATE TABLE IF NOT EXISTS child_$_[1] () INHERITS ($_[1])", "DROP TABLE IF EXISTS child_$_[1]", "DROP TABLE IF EXISTS child_$_[1]")) } ],
	map_gone => [ 0.5, sub { run_sql($_[0], "SELECT pg_truncate_visibility_map('$_[1]')") } ],
	surgery => [ $surgery ? 1 : 0, sub { run_sql($_[0], "SELECT heap_force_" . pick('kill', 'freeze') . "('$_[1]', ARRAY['(" . int(rand 40) . ',' . int(1 + rand 8) . ")'::tid])") } ],
	refused => [ 1, sub { run_sql($_[0], insert($_[1], 1, 1)) } ],
	refused_gone => [ 6, sub { my $s = $_[0]; run_sql($s, "DELETE FROM $_ WHERE pad = 'bad'") for $s->{in} ? $_[1] : @tables; } ],
	recreate => [ 0.5, sub { at_once($_[0], "DROP TABLE $_[1]", create($_[1]), insert($_[1], 150)) } ],
	uncache => [ 0.5, sub { run_sql($_[0], pick('SELECT redblue_uncache()', "SELECT redblue_uncache('$_[1]')")) } ],
	cache => [ 1, sub { run_sql($_[0], "SELECT redblue_cache('$_[1]', '" . ({ geometry => 'triangles', boxes2d => 'boxes' }->{ $kind{$_[1]} } // $kind{$_[1]}) . "')") } ],
	discard => [ 0.3, sub { $_[0]{in} ? 0 : run_sql($_[0], "DISCARD ALL;\n$set_up; SET min_parallel_table_scan_size = '8MB'") } ],
	begin => [ 8, sub { my $s = $_[0]; return 0 if $s->{in};
			run_sql($s, 'BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'REPEATABLE READ', 'REPEATABLE READ', 'SERIALIZABLE') . ";\nSELECT 1");
			$s->{in} = 1; } ],
	savepoint => [ 6, sub { my $s = $_[0]; return 0 if !$s->{in}; run_sql($s, 'SAVEPOINT p'); $s->{save}++ if $s->{in}; } ],
	back => [ 5, sub { my $s = $_[0]; return 0 if !$s->{save}; run_sql($s, 'ROLLBACK TO p'); } ],
	release => [ 2, sub { my $s = $_[0]; return 0 if !$s->{save}; run_sql($s, 'RELEASE p'); $s->{save}-- if $s->{save}; } ],
	prepare => [ 3, sub { my $s = $_[0]; return 0 if !$s->{in} || @prepared > 1;
			my $err = run_sql($s, "PREPARE TRANSACTION 'g" . ++$gid . "'");
			$s->{in} = $s->{save} = 0;
			if ($err =~ /ERROR/) { $s->{s}->ask('ROLLBACK'); } else { push @prepared, $gid; } } ],
	finish_prepared => [ 8, sub { my $s = $_[0]; return 0 if $s->{in} || !@prepared;
			run_sql($s, pick('COMMIT', 'ROLLBACK') . " PREPARED 'g" . shift(@prepared) . "'"); } ]);
my $total = 0;
$total += $_->[0] for values %step;

sub random_step
{
	my $at = rand $total;
	for my $name (sort keys %step)
	{
		return $name if ($at -= $step{$name}[0]) < 0;
	}
	return 'insert';
}

# The oldest table is created again if it has become too small or too large, or is not visible.
sub tidy
{
	my ($s) = @_;
	return if $s->{in};
	my @sizes = split /\n/, $s->{s}->ask(join ";\n", map { "SELECT '$_ ' || count(*) || ' ' || pg_relation_size('$_') / 8192 FROM $_" } @tables);
	for (@sizes)
	{
		my ($table, $rows, $pages) = /^(\w+) (\d+) (\d+)$/ or next;
		run_sql($s, insert($table, 100)) if $rows < 150;
		run_sql($s, "DELETE FROM $table WHERE id % 2 = 0") if $rows > 500;
		run_sql($s, "VACUUM FULL $table") if $pages > 150;
		run_sql($s, "DROP TABLE IF EXISTS child_$table; ALTER TABLE $table SET LOGGED, DISABLE ROW LEVEL SECURITY") if chance(0.7);
	}
	return;
}

sub end_all
{
	for my $s (@s)
	{
		run_sql($s, pick('COMMIT', 'ROLLBACK')) if $s->{in};
		$s->{in} = $s->{save} = 0;
	}
	run_sql($s[0], "ROLLBACK PREPARED 'g$_'") for splice @prepared;
	return;
}

run_sql($s[0], insert($_, 250)) for @tables;
my $started = time;
my %did;
for my $n (1 .. $steps)
{
	my $s = pick(@s);
	# Transactions must end, because otherwise VACUUM could not remove anything.
	if ($s->{in} && chance(0.2))
	{
		run_sql($s, pick('COMMIT', 'COMMIT', 'ROLLBACK'));
		$s->{in} = $s->{save} = 0;
	}
	else
	{
		my $name = random_step();
		print $trace "-- $n $name\n";
		$did{$name}++;
		$step{$name}[1]->($s, pick(@tables));
	}
	compare(chance(0.5) ? $s : pick(@s));
	if ($n % 50 == 0)
	{
		end_all() if $n % 100 == 0;
		tidy($s[0]);
	}
	# All sessions at once: three change what the fourth one queries.
	if ($n % 200 == 0)
	{
		end_all();
		for (1 .. 5)
		{
			my @work = map { join ";\n", map { my $t = pick(@tables); pick(insert($t, 3), "DELETE FROM $t WHERE " . some() =~ s/TABLE/$t/r,
					"UPDATE $t SET grp = grp + 1 WHERE " . some() =~ s/TABLE/$t/r, vacuum($t), vacuum($t), "VACUUM $t",
					"BEGIN; UPDATE $t SET id = id + 1000000 WHERE " . some() =~ s/TABLE/$t/r . ";\nROLLBACK") } 1 .. 6 } 1 .. 3;
			# The fourth one waits for locks, such as that of a VACUUM that truncates a table.
			my $asks = join ";\n", "SET lock_timeout = '10min'", (map { "SELECT * FROM differ(ARRAY[" . join(', ', map { s/'/''/gr =~ s/^(.*)$/'$1'/r } questions()) . "], '{off,on}')" } 1 .. 6), "SET lock_timeout = '10ms'";
			print $trace "$s[$_]{name} (at once): $work[$_];\n" for 0 .. 2;
			print $trace "$s[3]{name} (at once): $asks;\n";
			$s[$_]{s}->send($work[$_]) for 0 .. 2;
			$s[3]{s}->send($asks);
			judge($s[3], scalar $s[3]{s}->wait_for);
			$_->{s}->wait_for for @s[ 0 .. 2 ];
		}
	}
	last if $bad > 20;
}
end_all();
diag(sprintf '%d steps, %d looks: %d used what was kept, %d of these read pages as well, %d were errors; %d steps met a lock; %.0f s',
	$steps, @count{qw(looks kept part errors)}, $count{lock} // 0, time - $started);
is($bad, 0, 'redblue.cache on and off: the same answers');
cmp_ok($count{looks}, '>', 2.5 * $steps, 'questions were asked');
cmp_ok($count{kept}, '>', 0.25 * $count{looks}, 'a large part of them used what was kept');
cmp_ok($count{part}, '>', 0.1 * $count{looks}, 'and many of these pages that were not');
cmp_ok($count{errors}, '>', 0.002 * $count{looks}, 'some were errors');
is($count{wrong} // 0, 0, 'steps fail for want of a lock, or not at all');
is(scalar(grep { !$did{$_} && $step{$_}[0] >= 1 } keys %step), 0, 'each step was taken') if $steps >= 2000;
$_->{s}->quit for @s;
$node->stop('fast');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|TRAP/, 'a clean log');

done_testing();
