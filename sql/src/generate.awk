# Writes the install script from the table of its functions.
#
#	awk -f sql/src/generate.awk sql/src/redblue.sql.in >sql/redblue--VERSION.sql
#
# Lines of the table are copied, except these:
#
#	@sides NAME: SIDE [SIDE] / ARGUMENT... / PART
#		declares the sides of a join, the arguments after them, and the kind of their parts
#	@text NAME
#		begins a text for comments, which ends at an empty line
#	@function NAME SIDES RESULT [OPTION...]
#		creates a function.  The lines up to an empty line are its comment; without them, its comment is
#		the text of the option "count", "count_within" or "blocks".
#	@query
#		creates the variant for query texts of the function above, which is written in full.  The lines up to
#		an empty line are its comment.
#
# Arguments are "id", "geom", "object" and "solids" (one for each side), "solid", "face", "on_bad", "contact", "depth",
# "min_volume", "frame" and "tile".
# RESULT is "bigint" or the type of the rows.  Options are "distance", "nearest" and "hits" (arguments after the sides),
# "query" and "key" (also create the variant for query texts, or for keys).
#
# In a text, {A|B} stands for A if the join has two sides, and for B if it has one; %name for the function,
# %pairs for the function that returns its pairs, %red and %blue for the sides, and %part for the kind of parts.

BEGIN { WIDTH = 140 }

/^@sides / { declare_sides(); next }
/^@text / { text_name = $2; text[text_name] = ""; reading = "text"; next }
/^@function / { finish(); begin_function(); next }
/^@query/ { finish(); begin_twin(); next }

reading == "text" {
	if ($0 == "")
		reading = ""
	else
		text[text_name] = text[text_name] (text[text_name] == "" ? "" : " ") $0
	next
}

reading != "" && $0 != "" { comment = comment (comment == "" ? "" : "\n") $0; next }

reading != "" { finish(); next }

# Remember the last function that is written in full, from CREATE to the end of the statement.
/^CREATE FUNCTION / { statement = ""; open = 1 }
open { statement = statement $0 "\n"; open = !/;$/ }

{ print }

END { finish() }

# ---- declarations ----

function declare_sides(name, part, n)
{
	name = $2
	sub(/:$/, "", name)
	n = split(substr($0, index($0, ":") + 1), part, "/")
	sides[name] = trim(part[1])
	arguments[name] = trim(part[2])
	parts[name] = n > 2 ? trim(part[3]) : ""
}

function begin_function(i)
{
	reading = "function"
	name = $2
	join = $3
	result = $4
	comment = ""
	split("", option)
	for (i = 5; i <= NF; i++)
		option[$i] = 1
	if (!(join in sides))
		fail("unknown sides " join)
}

function begin_twin()
{
	reading = "twin"
	comment = ""
}

# Writes what the lines up to here describe.
function finish(kind)
{
	kind = reading
	reading = ""
	if (kind == "function")
		write_functions()
	else if (kind == "twin")
		write_twin()
}

# ---- functions ----

function write_functions(kind, twin)
{
	kind = "count" in option ? "count" : "count_within" in option ? "count_within" : "blocks" in option ? "blocks" : ""
	twin = kind == "" ? "query" : kind == "blocks" ? "blocks_query" : "count_query"
	pairs = name
	sub(/_pair_count$/, "_pairs", pairs)
	sub(/_pair_count_within$/, "_pairs_within", pairs)
	sub(/_pair_blocks$/, "_pairs", pairs)
	write_function(name, "regclass", "id", comment != "" ? quoted(comment) : text_of(kind))
	if ("query" in option)
		write_function(name "_query", "text", "id", text_of(twin))
	if ("key" in option)
		write_function(name "_by_key", "regclass", "key", text_of("key"))
	printf "\n"
}

function write_function(called, type, id, about, list, side, n, arg, i)
{
	n = split(sides[join], side, " ")
	list = "\t" side[1] " " type (n > 1 ? ", " side[2] " " type : "")
	if ("distance" in option)
		list = list ", distance float8"
	if ("nearest" in option)
		list = list ", k int DEFAULT 1, max_distance float8 DEFAULT NULL"
	if ("hits" in option)
		list = list ", limit_hits int DEFAULT 1"
	split(arguments[join], arg, " ")
	for (i = 1; i in arg; i++)
		if (!(arg[i] == "tile" && ("nearest" in option || "hits" in option)))
			list = list ",\n\t" argument(arg[i], side, n, id)
	if (called != name)
		printf "\n"
	printf "CREATE FUNCTION %s(\n%s)\nRETURNS %s\nAS 'MODULE_PATHNAME', '%s'\n", called, list,
		result == "bigint" ? result : "SETOF " (id == "key" ? "record" : result), called
	printf "LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 %sSUPPORT redblue_support;\n",
		result == "bigint" ? "" : "ROWS 1000 "
	printf "COMMENT ON FUNCTION %s IS\n%s;\n", called, about
}

# Returns the declaration of an argument, or of one for each side.
function argument(what, side, n, id, type)
{
	type = "name"
	if (what == "face")
		return "face_tolerance float8 DEFAULT NULL"
	if (what == "frame")
		return "azimuth float8 DEFAULT NULL, dip float8 DEFAULT NULL, plunge float8 DEFAULT NULL,\n\torigin float8[] DEFAULT NULL, rotation float8[] DEFAULT NULL"
	if (what == "on_bad")
		return "on_bad text DEFAULT 'error'"
	if (what == "contact")
		return "contact text DEFAULT 'both'"
	if (what == "depth")
		return "depth boolean DEFAULT false"
	if (what == "min_volume")
		return "min_volume float8 DEFAULT NULL"
	if (what == "tile")
		return "tile_low float8[] DEFAULT NULL, tile_high float8[] DEFAULT NULL"
	if (what == "solid")
		return "solid name DEFAULT NULL"
	if (what == "solids")
		what = "solid"
	if (id == "key" && what != "geom")
		type = "text"
	if (what == "id")
		what = id
	return side[1] "_" what " " type " DEFAULT NULL" (n > 1 ? ", " side[2] "_" what " " type " DEFAULT NULL" : "")
}

# Writes the variant for query texts of the last function that was written in full.
function write_twin(copy, called)
{
	copy = statement
	called = statement
	sub(/^CREATE FUNCTION /, "", called)
	sub(/\(.*/, "", called)
	gsub(/ regclass/, " text", copy)
	sub(called, called "_query", copy)
	sub("'" called "'", "'" called "_query'", copy)
	printf "%sCOMMENT ON FUNCTION %s_query IS\n%s;\n\n", copy, called, quoted(comment)
}

# ---- comments ----

function quoted(s)
{
	gsub(/'/, "''", s)
	return "'" s "'"
}

# Returns a text as a literal, in lines of at most WIDTH characters without the opening quote.
function text_of(which, s, out, side, n, choice, word, line, i)
{
	if (!(which in text))
		fail("unknown text " which)
	s = text[which]
	n = split(sides[join], side, " ")
	out = ""
	while (match(s, /\{[^}]*\}/))
	{
		split(substr(s, RSTART + 1, RLENGTH - 2), choice, "|")
		s = substr(s, 1, RSTART - 1) choice[n == 1 ? 2 : 1] substr(s, RSTART + RLENGTH)
	}
	gsub(/%name/, name, s)
	gsub(/%pairs/, pairs, s)
	gsub(/%red/, side[1], s)
	gsub(/%blue/, side[2], s)
	gsub(/%part/, parts[join], s)
	split(quoted(s) ";", word, " ")
	line = word[1]
	for (i = 2; i in word; i++)
		if (length(line) + 1 + length(word[i]) > WIDTH + (out == ""))
		{
			out = out line "\n"
			line = word[i]
		}
		else
			line = line " " word[i]
	out = out line
	return substr(out, 1, length(out) - 1)
}

function trim(s)
{
	gsub(/^ +| +$/, "", s)
	return s
}

function fail(message)
{
	printf "%s:%d: %s\n", FILENAME, FNR, message >"/dev/stderr"
	exit 1
}
