# Benchmarks SELECT count(*) over redblue's functions against joins with an index; sourced by run.

sql() { psql -qAtX -v ON_ERROR_STOP=1 "$@"; }

# start_sql EXTENSION...: starts a private server once per run; returns false if an extension is missing.
start_sql()
{
	local extension
	if [ -z "${server_data:-}" ]; then
		. test/lib.sh
		private_install || return 1
		server_start "shared_buffers = 2GB
			work_mem = 256MB
			maintenance_work_mem = 512MB
			max_wal_size = 16GB
			max_parallel_workers_per_gather = 0
			jit = off
			autovacuum = off" || return 1
	fi
	for extension in redblue "$@"; do
		sql -c 'SET client_min_messages = warning' -c "CREATE EXTENSION IF NOT EXISTS $extension" ||
			{ say "$part: skipped, because $extension is not installed"; return 2; }
	done
}

# ---- programs that run in turn; a program is a variable that contains a statement ----

# session PROGRAM...: runs the programs in turn in one session; prints lines "PROGRAM count ms CPU-ms".
session()
{
	local p
	{
		echo "SELECT pg_backend_pid() AS pid \\gset"
		echo "\\setenv BACKEND :pid"
		echo "\\timing on"
		for p; do
			# CPU time of the backend in ticks, user and system
			echo "\\! awk '{ print \"ticks\", \$14 + \$15 }' /proc/\$BACKEND/stat"
			echo "${!p};"
			echo "\\! awk '{ print \"ticks\", \$14 + \$15 }' /proc/\$BACKEND/stat"
			echo "\\echo end $p"
		done
	} | sql | awk -v hz="$(getconf CLK_TCK)" '
		$1 == "ticks" { before = after; after = $2; next }
		$1 == "Time:" { ms = $2; next }
		$1 == "end" { print $2, count, ms, 1000 * (after - before) / hz; next }
		{ count = $1 }'
}

times=build/bench/times.txt

# best NAME COLUMN: prints the minimum of a program's values in $times, in seconds.
best() { awk -v n="$1" -v c="$2" '$1 == n && (m == "" || $c < m) { m = $c } END { printf "%.4f", m / 1000 }' "$times"; }

# take_turns PEER OURS...: runs one warm-up turn and then all programs in each round.  A slow PEER runs in fewer
# rounds, and PEER may be "".  Sets n to the number of rounds of the peer.
take_turns()
{
	local peer=$1 slow=0 turn turns=()
	shift
	session "$@" $peer >"$times"
	[ -z "$peer" ] || slow=$(best "$peer" 3)
	n=$(awk -v s="$slow" -v r="$rounds" 'BEGIN { print (s > 20) ? 1 : (s > 5 && r > 3) ? 3 : r }')
	for turn in $(seq 1 "$rounds"); do
		turns+=("$@")
		[ -z "$peer" ] || [ "$turn" -ge "$n" ] || turns+=("$peer")
	done
	session "${turns[@]}" >>"$times"
}

# ours_right PAIRS OURS...: returns true if redblue's programs returned the right count in every round.
ours_right()
{
	local pairs=$1 p
	shift
	for p; do
		[ "$(awk -v p="$p" -v t="$pairs" '$1 == p && $2 == t' "$times" | wc -l)" -eq $((rounds + 1)) ] || return 1
	done
}

# ---- triangles and segments against PostGIS ----

# For each kind of object: its coordinate columns, and the expression that converts them to WKT
declare -A numbers=(
	[triangle]='ax ay az bx by bz cx cy cz'
	[hole]='ax ay az bx by bz'
	[line]='ax ay bx by')
declare -A wkt=(
	[triangle]="format('TRIANGLE Z((%s %s %s,%s %s %s,%s %s %s,%1\$s %2\$s %3\$s))', ax, ay, az, bx, by, bz, cx, cy, cz)"
	[hole]="format('LINESTRING Z(%s %s %s,%s %s %s)', ax, ay, az, bx, by, bz)"
	[line]="format('LINESTRING(%s %s,%s %s)', ax, ay, bx, by)")

# fill_table NAME OBJECT INDEX FILE [SHIFT]: creates one table with float8 columns and one with an indexed geometry.
fill_table()
{
	local name=$1 object=$2 index=$3
	shift 3
	sql -c "DROP TABLE IF EXISTS $name, ${name}_geom" 2>/dev/null \
		-c "CREATE TABLE $name (id int8 NOT NULL$(printf ', %s float8 NOT NULL' ${numbers[$object]}))" &&
		"$bench" --csv "$@" | sql -c "COPY $name FROM STDIN (FORMAT csv)" &&
		sql <<-SQL
			CREATE TABLE ${name}_geom AS SELECT id, ${wkt[$object]}::geometry AS geom FROM $name;
			CREATE INDEX ON ${name}_geom USING gist (geom $index);
			VACUUM ANALYZE $name;
			VACUUM ANALYZE ${name}_geom;
		SQL
}

measure_sql()
{
	local name=$1 wrong=0 check misses=- extra=- function objects index meet ours_f ours_g postgis join
	case $kind in
		tri) function=redblue_triangle_pairs objects=(triangle triangle) ;;
		segtri) function=redblue_segment_triangle_pairs objects=(hole triangle) ;;
		seg2d) function=redblue_segment_pairs objects=(line line) ;;
	esac
	case $kind in
		seg2d) index=gist_geometry_ops_2d meet='ST_Intersects(r.geom, b.geom)' ;;
		*) index=gist_geometry_ops_nd meet='r.geom &&& b.geom AND ST_3DIntersects(r.geom, b.geom)' ;;
	esac
	join="red_geom r JOIN blue_geom b ON $meet"
	ours_f="SELECT count(*) FROM $function('red', 'blue')"
	ours_g="SELECT count(*) FROM $function('red_geom', 'blue_geom')"
	postgis="SELECT count(*) FROM $join"
	fill_table red "${objects[0]}" $index "${files[0]}" && fill_table blue "${objects[1]}" $index "${files[@]:1}" ||
		{ say "$name: the tables could not be filled"; return 1; }

	take_turns postgis ours_f ours_g
	# redblue's counts must be right in every round, and its pairs must match the checksum.
	# The pairs of PostGIS are compared with them.
	ours_right "$(cut -d, -f2 <<<"$truth")" ours_f ours_g || wrong=1
	for check in "'red', 'blue'" "'red_geom', 'blue_geom'"; do
		[ "$(sql -F, -c "SELECT count(*), sum(y * y % 2147483647 * x % 2147483647) FROM (SELECT x, x * x % 2147483647 AS y
			FROM (SELECT (red * 1000003 + blue * 7919 + 12345) % 2147483647 AS x
			FROM $function($check) p (red, blue)) a) b")" = "$(cut -d, -f2,3 <<<"$truth")" ] || wrong=1
	done
	if awk -v s="$(best postgis 3)" 'BEGIN { exit !(s <= 60) }'; then
		IFS='|' read -r misses extra < <(sql <<-SQL
			CREATE TEMP TABLE ours AS SELECT * FROM $function('red', 'blue');
			CREATE TEMP TABLE theirs AS SELECT r.id, b.id AS other FROM $join;
			SELECT (SELECT count(*) FROM (TABLE ours EXCEPT TABLE theirs) m), (SELECT count(*) FROM (TABLE theirs EXCEPT TABLE ours) e);
		SQL
		)
	fi
	awk -v name="$name" -v objects="$(sql -c "SELECT (SELECT count(*) FROM red) || ' x ' || (SELECT count(*) FROM blue)")" \
		-v truth="$truth" -v n="$n" -v cpu="$(best postgis 4)" -v misses="$misses" -v extra="$extra" \
		-v p="$(best postgis 3)" -v f="$(best ours_f 3)" -v g="$(best ours_g 3)" 'BEGIN {
		split(truth, t, ",")
		printf "| %s | %s | %s | %.2f (%.2f, %d) | %.3f | %.3f | **%.0f** | **%.0f** | %s | %s |\n", name, objects, t[2], p, cpu, n, g, f,
			p / g, p / f, misses, extra }'
	[ $wrong -eq 0 ] || { say "$name: wrong result from SQL:"; cat "$times" >&2; return 1; }
}

# postgis_table DESCRIPTION NAME...: prints the table of a comparison with PostGIS.
postgis_table()
{
	local what=$1
	shift
	start_sql postgis || return $(($? == 1))
	echo
	echo "SQL: seconds for SELECT count(*), best of $rounds rounds after a warm-up, in one session; PostGIS: $what,"
	echo "max_parallel_workers_per_gather = 0, in parentheses CPU seconds and number of rounds; redblue: $(nproc) threads."
	echo
	echo "| load | objects | pairs | PostGIS s | redblue s, geometry | redblue s, float8 | PostGIS / geometry | PostGIS / float8 | PostGIS misses | PostGIS invents |"
	echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
	each measure_sql "$@"
}

run_sql()
{
	postgis_table "n-D GiST on both sides, &&& and ST_3DIntersects" \
		volmesh_18 lattice_18 delft_fine_coarse dragon_shifted delft_tin_model volmesh_40
}

run_sql_segments()
{
	postgis_table "2D GiST and ST_Intersects, for drill holes n-D GiST, &&& and ST_3DIntersects" rivers_borders babbitt
}

# ---- boxes against cube ----

# fill_boxes WORKLOAD N: creates tables of boxes as float8 columns, as box3d and as cube.
fill_boxes()
{
	sql -c 'DROP TABLE IF EXISTS box, box_box3d, box_cube' 2>/dev/null \
		-c 'CREATE TABLE box (id int8 NOT NULL, lx float8, ly float8, lz float8, hx float8, hy float8, hz float8)' &&
		build/boxes "$1" "$2" 1 | sql -c 'COPY box FROM STDIN (FORMAT csv)' &&
		sql <<-SQL
			CREATE TABLE box_box3d AS SELECT id, ST_3DMakeBox(ST_MakePoint(lx, ly, lz), ST_MakePoint(hx, hy, hz)) AS b FROM box;
			CREATE TABLE box_cube AS SELECT id, cube(ARRAY[lx, ly, lz], ARRAY[hx, hy, hz]) AS c FROM box;
			VACUUM ANALYZE box;
			VACUUM ANALYZE box_box3d;
			VACUUM ANALYZE box_cube;
		SQL
}

measure_boxes_sql()
{
	local name=$1 workload workload_n peer=cube_join sums
	local ours_f="SELECT count(*) FROM redblue_box_self_pairs('box')"
	local ours_c="SELECT redblue_box_self_pair_count('box')"
	local ours_b="SELECT count(*) FROM redblue_box_self_pairs('box_box3d')"
	local ours_cube="SELECT count(*) FROM redblue_box_self_pairs('box_cube')"
	local cube_join="SELECT count(*) FROM box_cube a JOIN box_cube b ON a.c && b.c AND a.id < b.id"

	IFS=_ read -r _ workload workload_n <<<"$name"
	[ "$workload_n" -lt 1000000 ] || [ -n "$long" ] || peer=
	fill_boxes "$workload" "$workload_n" && { [ -z "$peer" ] || sql -c 'CREATE INDEX ON box_cube USING gist (c)'; } || { say "$name: the tables could not be filled"; return 1; }
	take_turns "$peer" ours_f ours_c ours_b ours_cube
	awk -v name="$name" -v truth="$truth" -v n="$n" -v p="${peer:+$(best cube_join 3)}" -v cpu="$(best cube_join 4)" \
		-v f="$(best ours_f 3)" -v c="$(best ours_c 3)" -v b="$(best ours_b 3)" -v q="$(best ours_cube 3)" 'BEGIN {
		split(truth, t, ",")
		printf "| %s | %s | %s | %.3f | %.3f | %.3f | %.3f | %s | %s |\n", name, t[2],
			p == "" ? "-" : sprintf("%.2f (%.2f, %d)", p, cpu, n), f, c, b, q,
			p == "" ? "-" : sprintf("**%.0f**", p / f), p == "" ? "-" : sprintf("**%.0f**", p / q) }'
	sums=$(sql -c "COPY (SELECT * FROM redblue_box_self_pairs('box_cube')) TO STDOUT (FORMAT csv)" | build/boxes --sum-self)
	[ "${sums// /,}" = "$(cut -d, -f2,4,5 <<<"$truth")" ] && ours_right "${sums%% *}" ours_f ours_c ours_b ours_cube ||
		{ say "$name: wrong result from SQL: $sums instead of $truth"; cat "$times" >&2; return 1; }
}

run_sql_boxes()
{
	start_sql postgis cube || return $(($? == 1))
	make -s build/boxes || return 1
	echo
	echo "SQL: seconds for SELECT count(*) over all pairs of boxes of one table, best of $rounds rounds after a warm-up, in one"
	echo "session; cube: GiST and &&, max_parallel_workers_per_gather = 0, in parentheses CPU seconds and number of rounds; redblue: $(nproc) threads."
	echo
	echo "| load | pairs | cube s | redblue s, float8 | the same, ..._pair_count | redblue s, box3d | redblue s, cube | cube / float8 | cube / cube |"
	echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
	each measure_boxes_sql self_uniform_100000 self_uniform_1000000
}
