# Runs what README.md and doc/ show: the ```sql, ```sh and ```text blocks of a page, with the files that they load.
package Pages;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;

our @EXPORT = qw(page_blocks page_folder page_programs run_block);

# Returns the blocks of a page in order: [heading, 'sql' or 'sh' or 'text', body]
sub page_blocks
{
	my ($file) = @_;
	open my $page, '<', $file or die "$file: $!";
	my $text = do { local $/; <$page> };
	my ($heading, @blocks) = ('');
	while ($text =~ /^(?:(#+ [^\n]*)$|```(sql|sh|text)\n(.*?)^```$)/msg)
	{
		if (defined $1) { $heading = $1 =~ s/^#+ //r }
		else { push @blocks, [ $heading, $2, $3 ] }
	}
	return @blocks;
}

# Programs that pages use in addition to psql and basic tools, and where they are installed; and a module of Python
sub page_programs
{
	my @programs = grep { my $name = $_; grep { -x "$_/$name" } split /:/, $ENV{PATH} } 'ogr2ogr', 'python3';
	push @programs, 'ifcopenshell' if grep { $_ eq 'python3' } @programs and system('python3 -c "import ifcopenshell.geom" 2>/dev/null') == 0;
	return @programs;
}

# Creates a folder with the files that pages load, for the tree that contains the given test/data.
sub page_folder
{
	my ($data, $folder) = @_;
	system('cp', '-r', "$data/loading", $folder) == 0 or die;
	chdir $folder or die "$folder: $!";
	return unless grep { $_ eq 'ogr2ogr' } page_programs();
	my @of_wkt = qw(-oo GEOM_POSSIBLE_NAMES=wkt -oo KEEP_GEOM_COLUMNS=NO -a_srs EPSG:25832);
	system('ogr2ogr', '-f', 'ESRI Shapefile', 'solids.shp', 'solids.csv', @of_wkt, qw(-lco SHPT=MULTIPATCH)) == 0 or die 'ogr2ogr made no shapefile';
	# The option suppresses the warning that the GeoPackage standard does not contain surfaces.
	system('ogr2ogr', '--config', 'CPL_LOG', '/dev/null', '-f', 'GPKG', 'quarter.gpkg', 'quarter.csv', '-nln', 'building', @of_wkt) == 0 or die 'ogr2ogr made no GeoPackage';
	return;
}

# Runs a block in a separate session; returns its output, aligned as a reader sees it, and its errors.
sub run_block
{
	my ($kind, $body) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run($kind eq 'sql' ? [ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', '-' ] : [ 'bash', '-e', '-o', 'pipefail' ],
		'<', \$body, '>', \$out, '2>', \$err);
	return ($?, $out, $err);
}

1;
