# Tiles that are cut by a sample: sourced by run.

# measure_tiles NAME: rows of the table; city models fill the ground, all else space
measure_tiles()
{
	local fills=3 count=-p
	case $1 in
		delft_*) fills=2 ;;
		# half a billion pairs
		volmesh_84) count= ;;
	esac
	build/bench/tiles --row "$1" -d $fills $count "${files[@]}"
}

run_tiles()
{
	make -s -j"$(nproc)" -f test/bench/Makefile build/bench/tiles || return 1
	printf '\n%s\n\n' "Tiles by a sample: copies of a row, and how even they are."
	build/bench/tiles --head
	each measure_tiles volmesh_{18,40,84} self_{uniform,gauss}_1000000 delft_tin_model delft_fine_coarse synth_mine babbitt
}
