# Draws two meshes as SVG: stdin has a line "mesh,hit,ax,ay,az,...,cz" for each
# triangle; mesh 0 is red, 1 blue, and those that meet another are yellow.
#
# A painter's picture: seen from a point, lit from above left, far triangles
# first.  It only shows; nothing here is exact.
use strict;
use warnings;

my ($width, $height) = (900, 760);
my @eye = (-2.75, 1.05, -1.75);
my @target = (0.0, 0.09, 0.17);
my $zoom = 1270;
my @sun = unit(-0.25, 0.9, -0.6);
my @fill = unit(-0.9, 0.0, 0.2);
my @colour = ([ 214, 73, 62 ], [ 66, 116, 189 ]);
my @lit = ([ 255, 214, 64 ], [ 255, 244, 158 ]);

sub unit
{
	my $length = sqrt($_[0]**2 + $_[1]**2 + $_[2]**2) || 1;
	return map { $_ / $length } @_;
}
sub cross { return ($_[1] * $_[5] - $_[2] * $_[4], $_[2] * $_[3] - $_[0] * $_[5], $_[0] * $_[4] - $_[1] * $_[3]) }
sub dot { return $_[0] * $_[3] + $_[1] * $_[4] + $_[2] * $_[5] }

my @ahead = unit(map { $target[$_] - $eye[$_] } 0 .. 2);
my @right = unit(cross(@ahead, 0, 1, 0));
my @up = cross(@right, @ahead);

# screen x, y and depth
sub project
{
	my @v = map { $_[$_] - $eye[$_] } 0 .. 2;
	my $depth = dot(@v, @ahead);
	return ($width / 2 + $zoom * dot(@v, @right) / $depth, $height / 2 - $zoom * dot(@v, @up) / $depth, $depth);
}

sub shade
{
	my ($base, $n) = @_;
	my $sun = dot(@$n, @sun);
	my $fill = dot(@$n, @fill);
	my $light = 0.40 + 0.62 * ($sun > 0 ? $sun : 0) + 0.14 * ($fill > 0 ? $fill : 0);
	my @half = unit(map { $sun[$_] - $ahead[$_] } 0 .. 2);
	my $spot = dot(@$n, @half);
	my $gloss = $spot > 0 ? 46 * $spot**24 : 0;
	return sprintf '#%02x%02x%02x', map { my $c = $_ * $light + $gloss; $c > 255 ? 255 : $c } @$base;
}

# normals are averaged over a vertex's triangles, so that the facets' edges show less
my (@face, %normal);
while (my $line = <STDIN>)
{
	my ($mesh, $hit, @p) = split /,/, $line;
	my @n = cross((map { $p[ 3 + $_ ] - $p[$_] } 0 .. 2), (map { $p[ 6 + $_ ] - $p[$_] } 0 .. 2));
	my @key = map { join ' ', $mesh, map { sprintf '%.6f', $_ } @p[ 3 * $_ .. 3 * $_ + 2 ] } 0 .. 2;
	for my $key (@key)
	{
		$normal{$key}[$_] += $n[$_] for 0 .. 2;
	}
	push @face, { mesh => $mesh, hit => $hit, p => \@p, n => \@n, key => \@key };
}

my @visible;
for my $face (@face)
{
	my @p = @{ $face->{p} };
	my @centre = map { ($p[$_] + $p[ 3 + $_ ] + $p[ 6 + $_ ]) / 3 } 0 .. 2;
	next if dot(@{ $face->{n} }, map { $eye[$_] - $centre[$_] } 0 .. 2) <= 0;
	my @n = unit(map { my $axis = $_; $normal{ $face->{key}[0] }[$axis] + $normal{ $face->{key}[1] }[$axis]
			+ $normal{ $face->{key}[2] }[$axis] } 0 .. 2);
	my @corner = map { [ project(@p[ 3 * $_ .. 3 * $_ + 2 ]) ] } 0 .. 2;
	push @visible,
	  {
		depth => ($corner[0][2] + $corner[1][2] + $corner[2][2]) / 3,
		colour => shade($face->{hit} ? $lit[ $face->{mesh} ] : $colour[ $face->{mesh} ], \@n),
		hit => $face->{hit},
		points => join(' ', map { sprintf '%.1f,%.1f', $_->[0], $_->[1] } @corner)
	  };
}

print qq(<svg xmlns="http://www.w3.org/2000/svg" width="$width" height="$height" viewBox="0 0 $width $height">\n);
print qq(<defs><radialGradient id="g" cx="50%" cy="42%" r="75%"><stop offset="0" stop-color="#ffffff"/><stop offset="1" stop-color="#d9dee6"/></radialGradient></defs>\n);
print qq(<rect width="$width" height="$height" fill="url(#g)"/>\n<g stroke-width="0.6" stroke-linejoin="round">\n);
for my $face (sort { $b->{depth} <=> $a->{depth} } @visible)
{
	# a thin edge of the same colour closes the seams between neighbours
	my $edge = $face->{hit} ? '#7a5a00' : $face->{colour};
	print qq(<polygon points="$face->{points}" fill="$face->{colour}" stroke="$edge"/>\n);
}
print "</g>\n</svg>\n";
