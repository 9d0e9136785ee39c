# Draws objects as SVG, with the intersecting ones highlighted.
#
#	draw.pl cow|mine|contacts|mesh|refined|blocks|services|drives|city <rows >picture
#
# A row of stdin is "thing,hit" followed by the corners of a triangle or the ends of a
# segment.  Thing 0 is red and thing 1 is blue; an object that meets the other thing is
# yellow, or has the color of its kind of contact.  Higher numbers are the ground, which
# has no shading.
#
# Uses the painter's algorithm: seen from a point and lit from the upper left, far
# triangles are drawn first.  If there are segments, the red solid is translucent, so that
# they are visible inside it: first everything behind its front is drawn, then the solid as
# one layer, then the rest.  This is only an illustration; nothing here is exact.
use strict;
use warnings;

# For each scene: the position of the viewer, the point viewed, the magnification, the upward direction
my %scene = (
	cow => { size => [ 900, 760 ], eye => [ -2.75, 1.05, -1.75 ], target => [ 0.0, 0.09, 0.17 ], zoom => 1270, sky => [ 0, 1, 0 ],
		sun => [ -0.25, 0.9, -0.6 ], fill => [ -0.9, 0.0, 0.2 ] },
	mine => { size => [ 900, 640 ], eye => [ -800, -1500, 260 ], target => [ 25, 0, -275 ], zoom => 1680, sky => [ 0, 0, 1 ],
		sun => [ -0.75, -0.25, 0.75 ], fill => [ 0.6, -0.8, -0.1 ] },
	contacts => { size => [ 1000, 520 ], eye => [ 6, -40, 20 ], target => [ 1, 0.2, 0.2 ], zoom => 1650, sky => [ 0, 0, 1 ],
		sun => [ -0.45, -0.5, 0.85 ], fill => [ 0.6, -0.8, -0.1 ], flat => 1, key_at => [ 770, 20 ],
		floor => 0, legend => [ 'does not meet the floor', 'crosses the floor', 'touches it with a face', 'touches it along a line', 'touches it in a point' ] },
	mesh => { size => [ 1000, 620 ], eye => [ -620, -1500, 420 ], target => [ 10, 0, -345 ], zoom => 1680, sky => [ 0, 0, 1 ],
		sun => [ -0.6, -0.5, 0.85 ], fill => [ 0.7, -0.7, -0.1 ], flat => 1, edges => 1,
		kinds => [ [ [ 205, 92, 74 ], [ 255, 208, 84 ] ], [ [ 198, 200, 206 ], [ 190, 206, 228 ] ] ],
		key_at => [ 800, 490 ], key => [ [ 0, 0, 'ore: its surface' ], [ 0, 1, 'ore: cut' ], [ 1, 0, 'rock: the block' ], [ 1, 1, 'rock: cut' ] ] },
	refined => { like => 'mesh', size => [ 1000, 600 ], soft => 1, eye => [ 130, -1600, 1150 ], target => [ 500, 210, -112 ], zoom => 1900, key_at => [ 70, 560 ], key_step => [ 152, 0 ],
		# From blue to orange, and dark where nothing helps; also suitable for color-blind readers
		kinds => [ [ [ 204, 204, 198 ], [ 70, 130, 190 ], [ 150, 200, 226 ], [ 250, 226, 130 ], [ 226, 130, 40 ], [ 90, 20, 60 ] ] ],
		key_title => 'circumradius / shortest edge', key => [ [ 0, 1, 'up to 1.0' ], [ 0, 2, '1.0 to 1.3' ], [ 0, 3, '1.3 to 1.6' ], [ 0, 4, '1.6 to 2.0' ], [ 0, 5, 'above 2.0' ], [ 0, 0, 'surfaces' ] ] },
	blocks => { like => 'mesh', size => [ 1000, 560 ], soft => 1, quadrilaterals => 1, eye => [ -800, -1500, 260 ], target => [ -25, 0, -315 ], zoom => 2250, key_at => [ 790, 50 ], key_title => 'part of the block in ore',
		kinds => [ [ [ 220, 220, 216 ], [ 70, 130, 190 ], [ 150, 200, 226 ], [ 250, 226, 130 ], [ 236, 160, 70 ], [ 205, 92, 74 ] ] ],
		key => [ [ 0, 5, 'all' ], [ 0, 4, '75 % or more' ], [ 0, 3, '50 to 75 %' ], [ 0, 2, '25 to 50 %' ], [ 0, 1, 'less than 25 %' ] ] },
	services => { like => 'mesh', size => [ 1000, 560 ], soft => 1, edges => 0, clear => 1, quadrilaterals => 1, eye => [ -6, -13, 9 ], target => [ 3.5, 3.1, 1.45 ], zoom => 1800, key_at => [ 24, 446 ], key_title => 'depth of the clash',
		kinds => [ [ [ 0, 0, 0 ], [ 70, 130, 190 ], [ 250, 226, 130 ], [ 236, 140, 60 ], [ 190, 50, 40 ] ], [ [ 198, 200, 206 ] ] ],
		key => [ [ 0, 4, '0.2 m or more' ], [ 0, 3, '0.05 to 0.2 m' ], [ 0, 2, 'less than 0.05 m' ], [ 0, 1, 'none' ] ] },
	drives => { like => 'mesh', size => [ 1000, 560 ], soft => 1, edges => 0, cut => 1, eye => [ -700, -1500, 160 ], target => [ 10, 0, -325 ], zoom => 2750, key_at => [ 800, 40 ],
		kinds => [ [ [ 205, 92, 74 ], [ 255, 208, 84 ], [ 150, 170, 196 ] ] ],
		key => [ [ 0, 0, 'surface of the ore' ], [ 0, 1, 'cut' ], [ 0, 2, 'walls of drives' ] ] },
	city => { size => [ 1000, 500 ], eye => [ 222, -160, 175 ], target => [ 326, 106, 0 ], zoom => 1500, sky => [ 0, 0, 1 ],
		sun => [ -0.45, -0.5, 0.85 ], fill => [ 0.6, -0.8, -0.1 ], flat => 1 });
my $scene = $scene{ $ARGV[0] // 'cow' } or die "usage: draw.pl cow|mine|contacts|mesh|refined|blocks|services|drives|city\n";
$scene = { %{ $scene{ $scene->{like} } }, %$scene } if $scene->{like};
my ($width, $height) = @{ $scene->{size} };
my @eye = @{ $scene->{eye} };
my @target = @{ $scene->{target} };
my $zoom = $scene->{zoom};
my @sun = unit(@{ $scene->{sun} });
my @fill = unit(@{ $scene->{fill} });
my @colour = ([ 214, 73, 62 ], [ 66, 116, 189 ], [ 222, 220, 211 ], [ 190, 189, 188 ], [ 156, 192, 214 ], [ 200, 214, 180 ]);
my @lit = ([ 255, 214, 64 ], [ 255, 244, 158 ]);
my @how = ([ 176, 186, 200 ], $lit[0], [ 92, 176, 110 ], [ 236, 140, 60 ], [ 150, 96, 190 ]);

# Returns the color of an object of thing 0 or 1.
sub colour_of
{
	my ($thing, $hit) = @_;
	return $how[$hit] if $scene->{legend};
	return $scene->{kinds}[$thing][$hit] if $scene->{kinds};
	return $hit ? $lit[$thing] : $colour[$thing];
}

sub unit
{
	my $length = sqrt($_[0]**2 + $_[1]**2 + $_[2]**2) || 1;
	return map { $_ / $length } @_;
}
sub cross { return ($_[1] * $_[5] - $_[2] * $_[4], $_[2] * $_[3] - $_[0] * $_[5], $_[0] * $_[4] - $_[1] * $_[3]) }
sub dot { return $_[0] * $_[3] + $_[1] * $_[4] + $_[2] * $_[5] }

my @ahead = unit(map { $target[$_] - $eye[$_] } 0 .. 2);
my @right = unit(cross(@ahead, @{ $scene->{sky} }));
my @up = cross(@right, @ahead);

# Returns x and y on the screen, and the depth.
sub project
{
	my @v = map { $_[$_] - $eye[$_] } 0 .. 2;
	my $depth = dot(@v, @ahead);
	return ($width / 2 + $zoom * dot(@v, @right) / $depth, $height / 2 - $zoom * dot(@v, @up) / $depth, $depth);
}

sub shade
{
	my ($base, $n, $is_soft) = @_;
	my $sun = dot(@$n, @sun);
	my $fill = dot(@$n, @fill);
	my $light = 0.40 + 0.62 * ($sun > 0 ? $sun : 0) + 0.14 * ($fill > 0 ? $fill : 0);
	# Colors that a key explains keep most of their brightness.
	$light = 0.72 + 0.34 * $light if $is_soft;
	my @half = unit(map { $sun[$_] - $ahead[$_] } 0 .. 2);
	my $spot = dot(@$n, @half);
	my $gloss = !$is_soft && $spot > 0 ? 46 * $spot**24 : 0;
	return sprintf '#%02x%02x%02x', map { my $c = $_ * $light + $gloss; $c > 255 ? 255 : $c } @$base;
}

# Normals are averaged over the triangles of a vertex, so that edges are less visible.
my (@face, @segment, %normal);
while (my $line = <STDIN>)
{
	chomp $line;
	my ($mesh, $hit, @p) = split /,/, $line;
	if (@p == 6)
	{
		push @segment, { hit => $hit, from => [ project(@p[ 0 .. 2 ]) ], to => [ project(@p[ 3 .. 5 ]) ] };
		next;
	}
	my @n = cross((map { $p[ 3 + $_ ] - $p[$_] } 0 .. 2), (map { $p[ 6 + $_ ] - $p[$_] } 0 .. 2));
	my @key = map { join ' ', $mesh, map { sprintf '%.6f', $_ } @p[ 3 * $_ .. 3 * $_ + 2 ] } 0 .. 2;
	for my $key (@key)
	{
		$normal{$key}[$_] += $n[$_] for 0 .. 2;
	}
	push @face, { mesh => $mesh, hit => $hit, p => \@p, n => \@n, key => \@key };
}

# Number of triangles of which an edge is the longest, by the name of the edge
my %diagonal;

# Returns a name for an edge of a triangle, equal for the triangle on the other side if both are in one plane.
sub name_of_edge
{
	my ($face, $k) = @_;
	my @n = map { sprintf '%.3f', $_ + 0.0 } unit(@{ $face->{n} });
	return join ' ', $face->{hit}, (map { $_ == 0 ? '0.000' : $_ } @n), sort map { $face->{key}[ $_ % 3 ] } $k, $k + 1;
}

# Returns the number of the longest edge of a triangle; edge k begins at corner k.
sub longest_edge
{
	my ($face) = @_;
	my @p = (@{ $face->{p} }, @{ $face->{p} }[ 0 .. 2 ]);
	my @length = map { my $k = $_; my @v = map { $p[ 3 * $k + 3 + $_ ] - $p[ 3 * $k + $_ ] } 0 .. 2; dot(@v, @v) } 0 .. 2;
	return (sort { $length[$b] <=> $length[$a] } 0 .. 2)[0];
}

# The longest edge of two triangles in one plane is the diagonal of a quadrilateral and is not drawn.
if ($scene->{quadrilaterals})
{
	$diagonal{ name_of_edge($_, longest_edge($_)) }++ for @face;
}

# Returns the part of a polygon that the floor does not hide.
sub above_floor
{
	my @from = @_;
	my @above;
	for my $k (0 .. @from / 3 - 1)
	{
		my @a = @from[ 3 * $k .. 3 * $k + 2 ];
		my $next = ($k + 1) % (@from / 3);
		my @b = @from[ 3 * $next .. 3 * $next + 2 ];
		my ($a, $b) = ($a[2] - $scene->{floor}, $b[2] - $scene->{floor});
		push @above, @a if $a >= 0;
		push @above, map { $a[$_] + ($b[$_] - $a[$_]) * $a / ($a - $b) } 0 .. 2 if $a * $b < 0;
	}
	return @above;
}

my @visible;
for my $face (@face)
{
	my @p = @{ $face->{p} };
	my @centre = map { ($p[$_] + $p[ 3 + $_ ] + $p[ 6 + $_ ]) / 3 } 0 .. 2;
	my $is_ground = $face->{mesh} > 1;
	next if !$is_ground && dot(@{ $face->{n} }, map { $eye[$_] - $centre[$_] } 0 .. 2) <= 0;
	my @n = unit(map { my $axis = $_; $normal{ $face->{key}[0] }[$axis] + $normal{ $face->{key}[1] }[$axis]
			+ $normal{ $face->{key}[2] }[$axis] } 0 .. 2);
	@n = unit(@{ $face->{n} }) if $scene->{flat} && ($face->{mesh} == 0 || $scene->{edges} || $scene->{quadrilaterals});
	@p = above_floor(@p) if defined $scene->{floor} && !$is_ground;
	next if !@p;
	my @corner = map { [ project(@p[ 3 * $_ .. 3 * $_ + 2 ]) ] } 0 .. @p / 3 - 1;
	push @visible,
	  {
		depth => ($corner[0][2] + $corner[1][2] + $corner[2][2]) / 3,
		colour => $is_ground
		? sprintf('#%02x%02x%02x', @{ $colour[ $face->{mesh} ] })
		: shade(colour_of($face->{mesh}, $face->{hit}), \@n, $scene->{soft} && $face->{hit}),
		is_faint => $scene->{soft} && !$face->{hit},
		is_ground => $is_ground ? 1 : 0,
		is_clear => $scene->{clear} && $face->{mesh} == 1 ? 1 : 0,
		is_cut => defined $scene->{cut} && $face->{hit} == $scene->{cut} ? 1 : 0,
		is_outlined => $face->{hit} && !$scene->{flat},
		corner => \@corner,
		edges => $scene->{quadrilaterals} ? [ grep { ($diagonal{ name_of_edge($face, $_) } // 0) < 2 } 0 .. 2 ] : undef,
		points => join(' ', map { sprintf '%.1f,%.1f', $_->[0], $_->[1] } @corner)
	  };
}

# Depth of the front of the solid, for each square of the screen
my $square = 4;
my %front;
for my $face (@segment ? @visible : ())
{
	for my $point (@{ $face->{corner} }, [ map { my $k = $_; ($face->{corner}[0][$k] + $face->{corner}[1][$k] + $face->{corner}[2][$k]) / 3 } 0, 1 ])
	{
		my $key = join ' ', map { int($point->[$_] / $square) } 0, 1;
		$front{$key} = $face->{depth} if !defined $front{$key} || $face->{depth} < $front{$key};
	}
}
sub is_behind
{
	my ($segment) = @_;
	my ($x, $y, $depth) = map { ($segment->{from}[$_] + $segment->{to}[$_]) / 2 } 0 .. 2;
	for my $i (-1 .. 1)
	{
		for my $j (-1 .. 1)
		{
			my $front = $front{ join ' ', int($x / $square) + $i, int($y / $square) + $j };
			return 1 if defined $front && $front < $depth;
		}
	}
	return 0;
}

sub draw_segments
{
	for my $segment (sort { $b->{from}[2] <=> $a->{from}[2] } @_)
	{
		printf qq(<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%.1f" stroke-linecap="round"/>\n),
		  @{ $segment->{from} }[ 0, 1 ], @{ $segment->{to} }[ 0, 1 ], $segment->{hit} ? '#ffd640' : '#4274bd',
		  ($segment->{hit} ? 3.0 : 1.5) * $zoom / $segment->{from}[2];
	}
	return;
}

print qq(<svg xmlns="http://www.w3.org/2000/svg" width="$width" height="$height" viewBox="0 0 $width $height">\n);
print qq(<defs><radialGradient id="g" cx="50%" cy="42%" r="75%"><stop offset="0" stop-color="#ffffff"/><stop offset="1" stop-color="#d9dee6"/></radialGradient></defs>\n);
print qq(<rect width="$width" height="$height" fill="url(#g)"/>\n);
$_->{behind} = is_behind($_) for @segment;
draw_segments(grep { $_->{behind} } @segment);
printf qq(<g stroke-width="%s" stroke-linejoin="round"%s>\n), $scene->{edges} ? 0.4 : 0.6, @segment ? ' opacity="0.6"' : '';
# The ground lies below everything else, what is clear above, and a plane through a solid that is cut open in front.
for my $face (sort { $b->{is_ground} <=> $a->{is_ground} || $a->{is_clear} <=> $b->{is_clear} || $a->{is_cut} <=> $b->{is_cut} || $b->{depth} <=> $a->{depth} } @visible)
{
	# A thin edge of the same color closes the seams between neighbors.
	my $edge = $face->{is_faint} ? '#9a9aa0' : $scene->{edges} ? '#55555f' : $face->{is_outlined} ? '#7a5a00' : $face->{colour};
	my $outline = $face->{edges} ? $face->{is_clear} ? 'none' : $face->{colour} : $edge;
	printf qq(<polygon points="$face->{points}" fill="$face->{colour}" stroke="$outline"%s/>\n), $face->{is_clear} ? ' fill-opacity="0.28"' : '';
	for my $k (@{ $face->{edges} // [] })
	{
		my @end = map { @{ $face->{corner}[ $_ % 3 ] }[ 0, 1 ] } $k, $k + 1;
		printf qq(<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="$edge"/>\n), @end;
	}
}
print "</g>\n";
draw_segments(grep { !$_->{behind} } @segment);
my @key = map { [ $how[$_], $scene->{legend}[$_] ] } 0 .. $#{ $scene->{legend} // [] };
push @key, map { [ $scene->{kinds}[ $_->[0] ][ $_->[1] ], $_->[2] ] } @{ $scene->{key} // [] };
my ($x, $y) = @{ $scene->{key_at} // [ 24, 20 ] };
my ($dx, $dy) = @{ $scene->{key_step} // [ 0, 26 ] };
printf qq(<text x="%d" y="%d" font-family="sans-serif" font-size="16" fill="#222222">%s</text>\n), $x, $y - 12, $_ for $scene->{key_title} // ();
for my $k (0 .. $#key)
{
	printf qq(<rect x="%d" y="%d" width="22" height="16" fill="#%02x%02x%02x"/>\n), $x + $dx * $k, $y + $dy * $k, @{ $key[$k][0] };
	printf qq(<text x="%d" y="%d" font-family="sans-serif" font-size="16" fill="#222222">%s</text>\n), $x + 32 + $dx * $k, $y + 14 + $dy * $k, $key[$k][1];
}
print "</svg>\n";
