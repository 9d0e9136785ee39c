# Defines the workloads of the benchmarks; sourced by run.  "load NAME" sets
#
#	files	red, blue and the offset of blue for the benchmark program; red alone means a
#			self join
#	truth	CANDIDATES,PAIRS,CHECKSUM[,MIX,IJ] as the program expects them, with a dash for
#			unknown values
#	kind	the kind of join: tri, segtri or seg2d, as in truth.csv, or box

# volmesh NAME N JITTER SX SY SZ: generates the two meshes with the seeds 1 and 2.
volmesh()
{
	[ -e "$made/$1.red.f64" ] || build/volmesh "$2" 1 "$3" >"$made/$1.red.f64"
	[ -e "$made/$1.blue.f64" ] || build/volmesh "$2" 2 "$3" "$4" "$5" "$6" >"$made/$1.blue.f64"
	files=("$made/$1.red.f64" "$made/$1.blue.f64")
}

# Returns false if the files do not exist.
load()
{
	local row join workload n
	kind=tri truth=-,-,-
	case $1 in
		volmesh_18) volmesh "$1" 18 0.2 0.31 0.17 0.23; truth=4652607,838640,899945720207035 ;;
		volmesh_40) volmesh "$1" 40 0.2 0.31 0.17 0.23; truth=53190546,9434144,10132551968125008 ;;
		volmesh_84) volmesh "$1" 84 0.2 0.31 0.17 0.23 ;;
		lattice_18) volmesh "$1" 18 0 0.5 0.25 0; truth=5514844,1036817,1113670983893248 ;;
		# JOIN_WORKLOAD_N: JOIN is as in boxes_truth.tsv, or flat for a self join in the plane
		self_*_* | rb_*_* | flat_*_*)
			kind=box
			IFS=_ read -r join workload n <<<"$1"
			files=("@$workload,$n,1")
			[ "$join" != rb ] || files+=("@$workload,$n,2")
			truth=$(awk -F '\t' -v j="$join" -v w="$workload" -v n="$n" \
				'$1 == j && $2 == w && $3 == n { print $4 "," $4 ",-," $5 "," $6 }' test/data/boxes_truth.tsv)
			truth=${truth:--,-,-}
			;;
		map_self_1000000) kind=seg2d files=(@map,1000000,1) truth=2058708,1399492,1504141467227013 ;;
		map_1000000) kind=seg2d files=(@map,1000000,{1,2}) truth=1213784,461076,494798842930711 ;;
		map_10000000) kind=seg2d files=(@map,10000000,{1,2}) truth=17791723,6741909,7238585723361939 ;;
		# A self join of the map in which each pair is reported once
		rivers_once)
			load rivers_self && files=("${files[0]}") && truth=254692,253461,272256448926783
			;;
		*)
			[ -e "$data/truth.csv" ] || return 1
			# name,kind,red,blue,tx,ty,tz,...
			IFS=, read -ra row < <(grep "^$1," "$data/truth.csv") || return 1
			kind=${row[1]}
			files=("$data/${row[2]}" "$data/${row[3]}" "${row[@]:4:3}")
			truth=${row[11]},${row[13]},${row[14]}
			[ -e "${files[0]}" ] && [ -e "${files[1]}" ]
			;;
	esac
}

wanted()
{
	local - pattern
	set -f
	for pattern in ${LOADS:-*}; do
		case $1 in $pattern) return 0 ;; esac
	done
	return 1
}

# each MEASURE NAME...: calls MEASURE for every selected workload whose files exist.
each()
{
	local measure=$1 name
	shift
	for name; do
		wanted "$name" || continue
		if load "$name"; then
			$measure "$name" || failed=1
		else
			say "$name: skipped, because its files were not found in $data"
		fi
	done
}
