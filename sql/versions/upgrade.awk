# The script from one version to the next, out of the install scripts of both.
#
#	awk -f upgrade.awk redblue--0.1.0.sql redblue--0.1.0--0.2.0.in redblue--0.2.0.sql
#
# The statements of the new version take the place of the line @statements@: types that the old
# version has are left as they are, and functions of its names are replaced where they are, so that
# what depends on them stays.  What has other arguments must be out of the way before.

FILENAME == ARGV[1] {
	if ($1 == "CREATE" && ($2 == "FUNCTION" || $2 == "TYPE"))
		old[$2, name($3)] = 1
	next
}

FILENAME == ARGV[2] {
	if ($0 == "@statements@")
		seen = 1
	else if (seen)
		after = after $0 "\n"
	else
		print
	next
}

# the header of an install script is of that script
FNR == 1 || /^\\echo / || /^-- complain/ { next }

left_out { left_out = !/;[ \t]*$/; next }

$1 == "CREATE" && $2 == "TYPE" && (("TYPE", name($3)) in old) { left_out = !/;[ \t]*$/; next }

$1 == "CREATE" && $2 == "FUNCTION" && (("FUNCTION", name($3)) in old) { sub(/CREATE/, "CREATE OR REPLACE") }

{ print }

END { printf "%s", after }

function name(word)
{
	sub(/\(.*/, "", word)
	return word
}
