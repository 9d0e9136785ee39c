# Benchmarks the library alone against CGAL; sourced by run.

cgal_head="wall seconds, best of $rounds rounds in turn; CGAL on one thread"

# measure_core NAME [OPTION...]: prints a row of $table, with its heading before the first row.
measure_core()
{
	local name=$1
	shift
	[ -z "$heading" ] || { printf '\n%s\n\n' "$heading"; "$bench" --table "$table" --head; heading=; }
	"$bench" --table "$table" -r "$rounds" -e "$truth" --row "$name" --stages build/bench/stages.txt $cuda "$@" "${files[@]}"
}

heading() { heading=$1 table=$2; }

run_core()
{
	heading "Core: $cgal_head." triangles
	each measure_core volmesh_18 volmesh_40 lattice_18 delft_fine_coarse dragon_shifted delft_tin_model
}

# ---- boxes: section 6 of Lo, Lee, Chung, Chung 2013 ----

# A billion pairs are only counted.  For 10^7 boxes CGAL takes minutes.
measure_boxes()
{
	case $1 in
		*_gauss_10000000) measure_core "$1" -o redblue --count ;;
		*_10000000) measure_core "$1" ${long:--o redblue} ;;
		flat_*) measure_core "$1" -k box2 ;;
		*) measure_core "$1" ;;
	esac
}

run_boxes()
{
	local long=${long:+-r $rounds}
	heading "Boxes: $cgal_head, as its manual shows it and with a cutoff of 1000 (tuned)." boxes
	each measure_boxes {self_uniform,self_gauss}_{1000,10000,100000,1000000,10000000} \
		rb_uniform_{1000,100000,1000000,10000000} rb_gauss_{1000,100000,1000000} flat_uniform_{10000,100000}
	heading "Boxes, from sparse to dense: degrees of coverage." boxes
	each measure_boxes self_doc:{0.001,0.01,0.1,1,10}_1000000 self_doct3:{0.001,0.01,0.1,1,10}_10000000
}

# ---- segments ----

measure_segments()
{
	case $1 in
		*_10000000) measure_core "$1" ${long:--o redblue} ;;
		*) measure_core "$1" ;;
	esac
}

# The stages of one join on the CPU of this machine and on its GPU, if there is one
measure_stages()
{
	local rc cuda=
	measure_core "$1: $(nproc) cores" -o redblue || return 1
	[ -e redblue_cuda.so ] || return 0
	measure_core "$1: GPU" -o redblue --cuda ./redblue_cuda.so
	rc=$?
	[ $rc -eq 3 ] || return $rc
}

run_segments()
{
	local long=${long:+-r $rounds}
	heading "Segments: $cgal_head, as its manual shows it and with a cutoff of 1000 (tuned)." segments
	each measure_segments synth_mine babbitt rivers_borders coast_rivers rivers_self rivers_once map_1000000 \
		map_self_1000000 map_10000000
	heading "Stages of a join, ms, as in Menezes et al. 2020, Table 3; each pair belongs to one cell, so no pair occurs twice." stages
	each measure_stages synth_mine
}
