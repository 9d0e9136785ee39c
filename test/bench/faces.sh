#!/bin/bash
# Faces of any shape against CGAL (faces.cpp): real ones and random ones.
#
#	test/bench/faces.sh [N]		N random faces, 20000 by default
#
# REDBLUE_DATA (../shared/data) is where the city models are.  Zurich's faces are
# polygons as surveyed.  Delft's model has triangles only: neighbours that lie exactly in
# one plane make a polygon, and what is joined by edges is one object.  Without CGAL's
# headers or without the models that part is left out, with a line that says so.
set -u
cd "$(dirname "$0")/../.." || exit 1
data=${REDBLUE_DATA:-../shared/data}/city
made=build/bench/data
files=()

echo '#include <CGAL/Constrained_Delaunay_triangulation_2.h>' | ${CXX:-g++} -std=c++17 -E -x c++ - >/dev/null 2>&1 ||
	{ echo "faces: CGAL's headers are not there: skipped (Debian: apt-get install g++ libcgal-dev)"; exit 0; }
make -s -f test/bench/Makefile build/bench/faces || exit 1
mkdir -p "$made"

# rows of id,gml_id,"POLYHEDRALSURFACE Z (((x y z,...),(...)),...)"
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

# An OFF file with coordinates in whole thousandths.  Normals are whole numbers below
# 2^63, and two of one direction are equal when divided by what their components share.
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

		# sets of triangles, each with one that stands for it
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
			# the largest ring is the outer one, the others run against it; areas without the steepest axis
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
			# two outer rings that touch in a corner are no polygon: triangles as they are
			if (grep { $area{$_} > 0 == $area{$rings[0]} > 0 } @rings[1 .. $#rings]) {
				put($object, [@$_, $_->[0]]) for map { $t[$_] } @member;
			} else {
				put($object, @rings);
			}
		}'
}

# make NAME COMMAND FILE
make_faces()
{
	[ -e "$data/$3" ] || { echo "$1: skipped, $data/$3 is not there"; return; }
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
