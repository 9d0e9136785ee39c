# Measures tiles computed from a sample; sourced by run.

# measure_tiles NAME: prints a row of the table.  City models fill the plane (two dimensions), all others space.
measure_tiles()
{
	local fills=3 count=-p
	case $1 in
		delft_*) fills=2 ;;
		# This workload has half a billion pairs: do not count them.
		volmesh_84) count= ;;
	esac
	build/bench/tiles --row "$1" -d $fills $count "${files[@]}"
}

run_tiles()
{
	make -s -j"$(nproc)" -f test/bench/Makefile build/bench/tiles || return 1
	printf '\n%s\n\n' "Tiles computed from a sample: copies of a row, and cost of the heaviest tile / mean."
	build/bench/tiles --head
	each measure_tiles volmesh_{18,40,84} self_{uniform,gauss}_1000000 delft_tin_model delft_fine_coarse synth_mine babbitt
}
