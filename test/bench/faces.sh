#!/bin/bash
# Compares the triangulation of faces of any shape with CGAL (faces.cpp), for real and random faces.
#
#	test/bench/faces.sh [N]		N random faces, 20000 by default
#
# REDBLUE_DATA (default ../shared/data) is the folder of the city models.  The faces of Zurich are
# polygons as surveyed.  The model of Delft contains only triangles: adjacent triangles that lie exactly
# in one plane are merged into a polygon, and faces connected by edges are one object.  Without CGAL's
# headers or without the models, the corresponding part is skipped, and the script prints a line.
set -u
cd "$(dirname "$0")/../.." || exit 1
data=${REDBLUE_DATA:-../shared/data}/city
made=build/bench/data
files=()

echo '#include <CGAL/Constrained_Delaunay_triangulation_2.h>' | ${CXX:-g++} -std=c++17 -E -x c++ - >/dev/null 2>&1 ||
	{ echo "faces: skipped, because CGAL's headers were not found (Debian: apt-get install g++ libcgal-dev)"; exit 0; }
make -s -f test/bench/Makefile build/bench/faces || exit 1
mkdir -p "$made"

# polygons: reads rows of id,gml_id,"POLYHEDRALSURFACE Z (((x y z,...),(...)),...)"
polygons()
{
	perl -ne '
		next unless /^(\d+),.*?Z \((.*)\)"?$/;
		my ($id, $faces) = ($1, $2);
		while ($faces =~ /\(((?:\([^()]*\),?\s*)+)\)/g) {
			my @rings = $1 =~ /\(([^()]*)\)/g;
			print join(" ", $id, scalar @rings, map { my @at = split /,/; (scalar @at, @at) } @rings), "\n";
		}'
}

# coplanar: reads an OFF file whose coordinates are multiples of 0.001.  Normals are integers below
# 2^63, and two normals have the same direction if they are equal after division by the gcd of their components.
coplanar()
{
	perl -e '
		use strict;
		use warnings;
		use integer;

		<STDIN>;
		my ($vertices, $triangles) = split " ", <STDIN>;
		my (@text, @at, @same, %first, @t, @normal, %edge, @face, @object);
		for my $i (0 .. $vertices - 1) {
			chomp($text[$i] = <STDIN>);
			$at[$i] = [map { /^(-?)(\d+)\.(\d{3})$/ or die "no thousandths: $_\n"; $1 . "1" > 0 ? $2 * 1000 + $3 : -($2 * 1000 + $3) } split " ", $text[$i]];
			$same[$i] = $first{$text[$i]} //= $i;
		}
		while (<STDIN>) {
			my (undef, @c) = split;
			@c = map { $same[$_] } @c;
			push @t, [@c] if $c[0] != $c[1] && $c[1] != $c[2] && $c[2] != $c[0];
		}

		sub gcd { my ($a, $b) = @_; ($a, $b) = ($b, $a % $b) while $b; return abs $a; }
		for my $i (0 .. $#t) {
			my ($p, $q, $r) = map { $at[$_] } @{$t[$i]};
			my @u = map { $q->[$_] - $p->[$_] } 0 .. 2;
			my @v = map { $r->[$_] - $p->[$_] } 0 .. 2;
			my @n = ($u[1] * $v[2] - $u[2] * $v[1], $u[2] * $v[0] - $u[0] * $v[2], $u[0] * $v[1] - $u[1] * $v[0]);
			my $g = gcd(gcd($n[0], $n[1]), $n[2]);
			$normal[$i] = $g ? [map { $_ / $g } @n] : undef;
			push @{$edge{"$t[$i][$_] $t[$i][($_ + 1) % 3]"}}, $i for 0 .. 2;
		}

		# Disjoint sets of triangles, each with a representative
		sub find { my ($of, $i) = @_; $i = $of->[$i] = $of->[$of->[$i]] while $of->[$i] != $i; return $i; }
		@face = @object = 0 .. $#t;
		for my $e (sort keys %edge) {
			my ($p, $q) = split " ", $e;
			my $here = $edge{$e};
			my $there = $edge{"$q $p"} or next;
			$object[find(\@object, $_)] = find(\@object, $here->[0]) for @$here, @$there;
			next if @$here != 1 || @$there != 1;
			my ($m, $n) = map { $normal[$_->[0]] } $here, $there;
			$face[find(\@face, $here->[0])] = find(\@face, $there->[0]) if $m && $n && "@$m" eq "@$n";
		}
		my %of;
		push @{$of{find(\@face, $_)}}, $_ for 0 .. $#t;

		sub put { my $object = shift; print join(" ", $object, scalar @_, map { my $r = $_; (scalar @$r, map { $text[$_] } @$r) } @_), "\n"; }
		for my $f (sort { $a <=> $b } keys %of) {
			my @member = @{$of{$f}};
			my $object = find(\@object, $member[0]);
			my (%has, %next, @rings);
			for my $c (map { $t[$_] } @member) { $has{"$c->[$_] $c->[($_ + 1) % 3]"} = 1 for 0 .. 2; }
			for my $e (sort keys %has) {
				my ($p, $q) = split " ", $e;
				push @{$next{$p}}, $q unless $has{"$q $p"};
			}
			for my $start (sort { $a <=> $b } keys %next) {
				while (@{$next{$start}}) {
					my @ring = ($start);
					do { push @ring, pop @{$next{$ring[-1]}} } until $ring[-1] == $start;
					push @rings, \@ring;
				}
			}
			# The largest ring is the outer one, and the others have the opposite direction.  Areas are computed without
			# the coordinate along which the normal is largest.
			my $n = $normal[$member[0]] // [0, 0, 1];
			my ($x, $y) = abs $n->[2] >= abs $n->[0] && abs $n->[2] >= abs $n->[1] ? (0, 1) : abs $n->[1] >= abs $n->[0] ? (2, 0) : (1, 2);
			my %area;
			for my $r (@rings) {
				my $o = $at[$r->[0]];
				my $sum = 0;
				for my $i (1 .. $#$r) {
					my ($p, $q) = map { $at[$_] } $r->[$i - 1], $r->[$i];
					$sum += ($p->[$x] - $o->[$x]) * ($q->[$y] - $o->[$y]) - ($p->[$y] - $o->[$y]) * ($q->[$x] - $o->[$x]);
				}
				$area{$r} = $sum;
			}
			@rings = sort { abs $area{$b} <=> abs $area{$a} } @rings;
			# Two outer rings that touch in a vertex are not a polygon: keep the triangles.
			if (grep { $area{$_} > 0 == $area{$rings[0]} > 0 } @rings[1 .. $#rings]) {
				put($object, [@$_, $_->[0]]) for map { $t[$_] } @member;
			} else {
				put($object, @rings);
			}
		}'
}

# make_faces NAME COMMAND FILE: converts a compressed file.
make_faces()
{
	[ -e "$data/$3" ] || { echo "$1: skipped, because $data/$3 was not found"; return; }
	xz -dc "$data/$3" | "$2" >"$made/$1.faces" || exit 1
	files+=("$made/$1.faces")
}
set -o pipefail
make_faces zurich polygons zurich_faces.csv.xz
make_faces delft coplanar delft_model.off.xz

failed=0
build/bench/faces -r "${1:-20000}" || failed=1
[ ${#files[@]} -eq 0 ] || build/bench/faces "${files[@]}" || failed=1
exit $failed
