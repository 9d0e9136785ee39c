/*
 * text_formats.c
 *	  Writes a mesh in formats that consist of text: XDMF and Abaqus input.
 *
 * XDMF: one grid of one kind of cell, as FEniCS reads it, with the numbers in the file itself. The
 * tags of groups are an attribute. Their names are in an element Information, as meshio writes and
 * reads them; other readers ignore this element.
 *
 * Abaqus: nodes, a set of elements C3D4 for each group of tetrahedra, and for each group of faces a
 * set of its nodes and an element surface, under one name. A face between two tetrahedra is that of
 * the one with the smaller number. A name has letters, digits, underscores and hyphens, begins with
 * a letter, and means the same in upper and lower case. If not all labels are distinct names, the
 * names of all groups begin with G and a number, and other characters become underscores. Numbers
 * have at most 20 characters, the width that Abaqus and CalculiX read, which is enough for at least
 * 13 significant digits.
 */
#include "core/base/bucket.h"
#include "core/base/sort.h"
#include "mesh/formats.h"
#include "mesh/plc.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK 4096       /* elements between two reservations of room */
#define NUMBER_ROOM 32   /* upper bound on a number's length, with a separator */
#define ROW_ROOM 128     /* upper bound on the length of a row of numbers */
#define SECTION_ROOM 512 /* upper bound on the length of the tags of a section, without names */

/* Makes room for a chunk of rows before row i, and returns RB_STOPPED if the call should stop. */
static rb_status
begin_text_row(rb_context *ctx, rb_buffer *to, uint32_t i)
{
	const uint64_t need = (uint64_t) CHUNK * ROW_ROOM;

	if (i % CHUNK != 0)
		return RB_OK;
	if (rb_should_stop(ctx))
		return RB_STOPPED;
	if (to->cap - to->n >= need)
		return RB_OK;
	return rb_file_reserve(ctx, to, need > to->cap / 2 ? need : to->cap / 2);
}

/* Appends an unsigned number and a character. */
static void
append_number(rb_buffer *to, uint64_t x, char after)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char) ('0' + x % 10);
	while ((x /= 10) > 0);
	while (n > 0)
		to->bytes[to->n++] = (uint8_t) digits[--n];
	to->bytes[to->n++] = (uint8_t) after;
}

/* Removes the plus sign and leading zeros of an exponent, and returns the length of the text. */
static int
shorten_exponent(char *text)
{
	char *e = strchr(text, 'e');
	char *from, *to;

	if (e == NULL)
		return (int) strlen(text);
	from = to = e + 1;
	if (*from == '-')
		to++;
	from++;
	while (*from == '0')
		from++;
	memmove(to, from, strlen(from) + 1);
	return (int) strlen(text);
}

/*
 * Appends a number and a character. The number has the fewest of 15 to 17 digits that denote it
 * exactly or, if that takes more than `most` characters, as many digits as fit.
 */
static void
append_real_as_text(rb_buffer *to, double x, int most, char after)
{
	char text[NUMBER_ROOM];
	int digits = 15, n;

	snprintf(text, sizeof(text), "%.15g", x);
	while (digits < 17 && strtod(text, NULL) != x)
		snprintf(text, sizeof(text), "%.*g", ++digits, x);
	while ((n = shorten_exponent(text)) > most)
		snprintf(text, sizeof(text), "%.*g", --digits, x);
	memcpy(to->bytes + to->n, text, (size_t) n);
	to->n += (size_t) n;
	to->bytes[to->n++] = (uint8_t) after;
}

/* ---- XDMF ---- */

#define XDMF_NUMBER 24 /* enough for any double */
#define ESCAPED 6      /* upper bound on the length of an escaped character */

/* Appends a text as the value of an XML attribute. */
static void
append_escaped(rb_buffer *to, const char *text)
{
	for (; *text != '\0'; text++)
		switch (*text)
		{
			case '&':
				rb_file_text(to, "&amp;");
				break;
			case '<':
				rb_file_text(to, "&lt;");
				break;
			case '>':
				rb_file_text(to, "&gt;");
				break;
			case '"':
				rb_file_text(to, "&quot;");
				break;
			default:
				to->bytes[to->n++] = (uint8_t) ((unsigned char) *text < ' ' ? ' ' : *text);
		}
}

/* Appends the names of groups. */
static rb_status
append_xdmf_names(rb_context *ctx, rb_buffer *to, const rb_file_groups *g)
{
	const uint32_t ngroups = rb_file_groups_count(g);

	RB_TRY(rb_file_reserve(ctx, to,
						   SECTION_ROOM + (uint64_t) SECTION_ROOM * ngroups +
							   ESCAPED * rb_file_groups_label_bytes(g)));
	rb_file_text(to, "<Information Name=\"groups\"><![CDATA[<main>");
	for (uint32_t i = 0; i < ngroups; i++)
	{
		const char *label = rb_file_group_label(g, i);

		rb_file_text(to, "<map key=\"");
		if (label == NULL)
			rb_file_text(to, "%s %lld", g->word, (long long) g->id[i]);
		else
			append_escaped(to, label);
		rb_file_text(to, "\" dim=\"%u\">%u</map>", g->corners - 1, rb_file_group_tag(g, i));
	}
	rb_file_text(to, "</main>]]></Information>\n");
	return RB_OK;
}

/* Appends all sections of an XDMF file. */
static rb_status
write_xdmf(rb_context *ctx, const rb_mesh_rows *rows, rb_file_groups *g, rb_buffer *to)
{
	RB_TRY(rb_file_groups_number(ctx, g, false));
	RB_TRY(rb_file_reserve(ctx, to, SECTION_ROOM));
	rb_file_text(to,
				 "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n<Domain>\n"
				 "<Grid Name=\"mesh\" GridType=\"Uniform\">\n<Geometry GeometryType=\"XYZ\">\n"
				 "<DataItem Dimensions=\"%u 3\" NumberType=\"Float\" Precision=\"8\" "
				 "Format=\"XML\">\n",
				 rows->npoints);
	for (uint32_t i = 0; i < rows->npoints; i++)
	{
		RB_TRY(begin_text_row(ctx, to, i));
		for (int j = 0; j < 3; j++)
			append_real_as_text(to, rows->points[3 * (size_t) i + (size_t) j], XDMF_NUMBER,
								j < 2 ? ' ' : '\n');
	}
	RB_TRY(rb_file_reserve(ctx, to, SECTION_ROOM));
	rb_file_text(to,
				 "</DataItem>\n</Geometry>\n<Topology TopologyType=\"%s\" "
				 "NumberOfElements=\"%u\" NodesPerElement=\"%u\">\n<DataItem Dimensions=\"%u %u\" "
				 "NumberType=\"Int\" Precision=\"8\" Format=\"XML\">\n",
				 g->corners == 4 ? "Tetrahedron" : "Triangle", g->n, g->corners, g->n, g->corners);
	for (uint32_t i = 0; i < g->n; i++)
	{
		RB_TRY(begin_text_row(ctx, to, i));
		for (uint32_t c = 0; c < g->corners; c++)
			append_number(to, g->corner[(size_t) g->corners * i + c],
						  c + 1 < g->corners ? ' ' : '\n');
	}
	RB_TRY(rb_file_reserve(ctx, to, SECTION_ROOM));
	rb_file_text(to,
				 "</DataItem>\n</Topology>\n<Attribute Name=\"%s\" AttributeType=\"Scalar\" "
				 "Center=\"Cell\">\n<DataItem Dimensions=\"%u 1\" NumberType=\"Int\" "
				 "Precision=\"4\" Format=\"XML\">\n",
				 g->word, g->n);
	for (uint32_t i = 0; i < g->n; i++)
	{
		RB_TRY(begin_text_row(ctx, to, i));
		append_number(to, rb_file_group_tag(g, rb_file_group_of(g, i)), '\n');
	}
	RB_TRY(rb_file_reserve(ctx, to, SECTION_ROOM));
	rb_file_text(to, "</DataItem>\n</Attribute>\n");
	RB_TRY(append_xdmf_names(ctx, to, g));
	RB_TRY(rb_file_reserve(ctx, to, SECTION_ROOM));
	rb_file_text(to, "</Grid>\n</Domain>\n</Xdmf>\n");
	return RB_OK;
}

/* Writes an XDMF file of groups. */
static rb_status
write_xdmf_groups(rb_context *ctx, const rb_mesh_rows *rows, rb_file_groups g, rb_buffer *to)
{
	const size_t start = to->n;
	rb_status status = rb_file_check_corners(ctx, rows);

	if (status == RB_OK)
		status = write_xdmf(ctx, rows, &g, to);
	rb_file_groups_free(ctx->memory, &g);
	if (status != RB_OK)
		to->n = start;
	return status;
}

rb_status
rb_mesh_xdmf(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	return write_xdmf_groups(ctx, rows, rb_file_region_groups(rows), to);
}

rb_status
rb_mesh_xdmf_facets(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	return write_xdmf_groups(ctx, rows, rb_file_facet_groups(rows), to);
}

/* ---- Abaqus ---- */

#define ABAQUS_NUMBER 20 /* largest number of characters that Abaqus and CalculiX read */
#define ABAQUS_NAME 80   /* largest length of a name */
#define NODES_IN_LINE 12

/* Names of groups: the labels, preceded by G and a number if `prefix` is set */
typedef struct abaqus_names
{
	const rb_file_groups *groups;
	bool prefix;
} abaqus_names;

/* Returns a letter of ASCII in upper case, in any locale. */
static char
upper_abaqus_letter(char c)
{
	return c >= 'a' && c <= 'z' ? (char) (c - 'a' + 'A') : c;
}

/* Returns true if the character is a letter of ASCII. */
static bool
is_abaqus_letter(char c)
{
	return upper_abaqus_letter(c) >= 'A' && upper_abaqus_letter(c) <= 'Z';
}

/* Returns true if the names of sets in an Abaqus file may contain the character. */
static bool
is_name_character(char c)
{
	return is_abaqus_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Returns true if a label is a name. */
static bool
is_abaqus_name(const char *label)
{
	const size_t n = strlen(label);

	for (size_t i = 0; i < n; i++)
		if (!is_name_character(label[i]))
			return false;
	return n > 0 && n <= ABAQUS_NAME && is_abaqus_letter(label[0]);
}

/* Orders the numbers of groups by their labels in upper case. */
static int
by_upper_label(const void *a, const void *b, const void *arg)
{
	const char *x = rb_file_group_label(arg, *(const uint32_t *) a);
	const char *y = rb_file_group_label(arg, *(const uint32_t *) b);

	while (*x != '\0' && upper_abaqus_letter(*x) == upper_abaqus_letter(*y))
		x++, y++;
	return (unsigned char) upper_abaqus_letter(*x) - (unsigned char) upper_abaqus_letter(*y);
}

/* Determines whether the names of groups need a prefix. */
static rb_status
find_abaqus_names(rb_context *ctx, const rb_file_groups *g, abaqus_names *names)
{
	const uint32_t ngroups = rb_file_groups_count(g);
	uint32_t *order = NULL;
	RB_FREE_AT_END(ctx->memory, &order);

	*names = (abaqus_names){g, false};
	if (g->labels == NULL)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(ctx, order, (size_t) ngroups + 1));
	for (uint32_t i = 0; i < ngroups; i++)
	{
		order[i] = i;
		names->prefix |= i < g->nid && !is_abaqus_name(rb_file_group_label(g, i));
	}
	RB_TRY(rb_sort(ctx, order, ngroups, sizeof *order, by_upper_label, g));
	for (uint32_t i = 1; i < ngroups; i++)
		names->prefix |= by_upper_label(&order[i - 1], &order[i], g) == 0;
	return RB_OK;
}

/* Appends the name of a group. */
static void
append_abaqus_name(rb_buffer *to, const abaqus_names *names, uint32_t k)
{
	const rb_file_groups *g = names->groups;
	const char *label = rb_file_group_label(g, k);
	const size_t start = to->n;

	if (label == NULL)
	{
		rb_file_text(to, "%s_%lld", g->word, (long long) g->id[k]);
		return;
	}
	if (names->prefix)
		rb_file_text(to, "G%u_", k + 1);
	for (; *label != '\0' && to->n - start < ABAQUS_NAME; label++)
		to->bytes[to->n++] = (uint8_t) (is_name_character(*label) ? *label : '_');
}

/* Appends a comment with the label of a group, and the line that begins its set. */
static rb_status
begin_abaqus_set(rb_context *ctx, rb_buffer *to, const abaqus_names *names, uint32_t k,
				 const char *keyword)
{
	const char *label = rb_file_group_label(names->groups, k);

	RB_TRY(rb_file_reserve(ctx, to, SECTION_ROOM));
	/* The line must not be too long. */
	if (label != NULL)
		rb_file_text(to, "** ");
	for (int i = 0; label != NULL && i < 200 && label[i] != '\0'; i++)
		to->bytes[to->n++] = (uint8_t) ((unsigned char) label[i] < ' ' ? ' ' : label[i]);
	rb_file_text(to, "%s*%s=", label != NULL ? "\n" : "", keyword);
	append_abaqus_name(to, names, k);
	rb_file_text(to, "\n");
	return RB_OK;
}

/* Lists the elements of each group. */
static rb_status
list_group_members(rb_context *ctx, const rb_file_groups *g, rb_buckets *members)
{
	uint32_t *group = NULL;
	RB_FREE_AT_END(ctx->memory, &group);

	RB_TRY(RB_ALLOCATE(ctx, group, (size_t) g->n + 1));
	for (uint32_t i = 0; i < g->n; i++)
	{
		group[i] = rb_file_group_of(g, i);
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	return rb_buckets_build(ctx, members, g->n, rb_file_groups_count(g), rb_bucket_in_array, group);
}

/* Appends the nodes and the sets of tetrahedra. */
static rb_status
append_abaqus_tets(rb_context *ctx, const rb_mesh_rows *rows, const abaqus_names *names,
				   const rb_buckets *members, rb_buffer *to)
{
	const uint32_t ngroups = rb_file_groups_count(names->groups);

	RB_TRY(rb_file_reserve(ctx, to, SECTION_ROOM));
	rb_file_text(to, "*HEADING\nMesh of tetrahedra by redblue\n*NODE\n");
	for (uint32_t i = 0; i < rows->npoints; i++)
	{
		RB_TRY(begin_text_row(ctx, to, i));
		append_number(to, (uint64_t) i + 1, ',');
		for (int j = 0; j < 3; j++)
			append_real_as_text(to, rows->points[3 * (size_t) i + (size_t) j], ABAQUS_NUMBER,
								j < 2 ? ',' : '\n');
	}
	for (uint32_t k = 0; k < ngroups; k++)
	{
		if (members->start[k] == members->start[k + 1])
			continue;
		RB_TRY(begin_abaqus_set(ctx, to, names, k, "ELEMENT, TYPE=C3D4, ELSET"));
		for (uint32_t i = members->start[k]; i < members->start[k + 1]; i++)
		{
			const uint32_t tet = members->member[i];

			RB_TRY(begin_text_row(ctx, to, i - members->start[k]));
			append_number(to, (uint64_t) tet + 1, ',');
			for (int j = 0; j < 4; j++)
				append_number(to, (uint64_t) rows->tets[tet][j] + 1, j < 3 ? ',' : '\n');
		}
	}
	return RB_OK;
}

/* Appends the set of the nodes of the faces of one group, in the order of the faces. */
static rb_status
append_abaqus_nodes(rb_context *ctx, const rb_mesh_rows *rows, const abaqus_names *names,
					const rb_buckets *members, uint32_t k, uint32_t *last, rb_buffer *to)
{
	uint32_t in_line = 0;

	RB_TRY(begin_abaqus_set(ctx, to, names, k, "NSET, NSET"));
	for (uint32_t i = members->start[k]; i < members->start[k + 1]; i++)
	{
		RB_TRY(begin_text_row(ctx, to, i - members->start[k]));
		for (int j = 0; j < 3; j++)
		{
			const uint32_t v = rows->faces[members->member[i]][j];

			if (last[v] == k)
				continue;
			last[v] = k;
			if (in_line > 0)
				to->bytes[to->n++] = in_line % NODES_IN_LINE == 0 ? '\n' : ',';
			append_number(to, (uint64_t) v + 1, ' ');
			to->n--;
			in_line++;
		}
	}
	to->bytes[to->n++] = '\n';
	return RB_OK;
}

/* Appends the sets of nodes, and the surfaces. */
static rb_status
append_abaqus_faces(rb_context *ctx, const rb_mesh_rows *rows, const abaqus_names *names,
					const rb_buckets *members, uint32_t *last, uint32_t (*sides)[2], rb_buffer *to)
{
	/* number of a face in Abaqus, by the corner opposite to it */
	static const uint8_t number[4] = {3, 4, 2, 1};
	const uint32_t ngroups = rb_file_groups_count(names->groups);

	memset(last, 0xff, (size_t) rows->npoints * sizeof *last);
	for (uint32_t k = 0; k < ngroups; k++)
	{
		bool any = false;

		if (members->start[k] == members->start[k + 1])
			continue;
		RB_TRY(append_abaqus_nodes(ctx, rows, names, members, k, last, to));
		for (uint32_t i = members->start[k]; i < members->start[k + 1]; i++)
		{
			const uint32_t side = sides[members->member[i]][0];

			RB_TRY(begin_text_row(ctx, to, i - members->start[k]));
			if (side == RB_NONE)
				continue;
			if (!any)
				RB_TRY(begin_abaqus_set(ctx, to, names, k, "SURFACE, TYPE=ELEMENT, NAME"));
			any = true;
			append_number(to, (uint64_t) (side / 4) + 1, ',');
			to->bytes[to->n++] = 'S';
			append_number(to, number[side % 4], '\n');
		}
	}
	return RB_OK;
}

/* Writes an Abaqus file of numbered groups. */
static rb_status
write_abaqus(rb_context *ctx, const rb_mesh_rows *rows, rb_file_groups *regions,
			 rb_file_groups *facets, rb_buckets *members, rb_buffer *to)
{
	uint32_t *last = NULL;
	uint32_t(*sides)[2] = NULL;
	abaqus_names names;
	RB_FREE_AT_END(ctx->memory, &last, &sides);

	RB_TRY(rb_file_check_corners(ctx, rows));
	RB_TRY(rb_file_groups_number(ctx, regions, false));
	RB_TRY(rb_file_groups_number(ctx, facets, false));
	RB_TRY(list_group_members(ctx, regions, members));
	RB_TRY(find_abaqus_names(ctx, regions, &names));
	RB_TRY(append_abaqus_tets(ctx, rows, &names, members, to));
	RB_TRY(RB_ALLOCATE(ctx, last, (size_t) rows->npoints + 1));
	RB_TRY(RB_ALLOCATE(ctx, sides, (size_t) rows->nfaces + 1));
	RB_TRY(rb_mesh_face_sides(ctx, rows, sides));
	RB_TRY(list_group_members(ctx, facets, members));
	RB_TRY(find_abaqus_names(ctx, facets, &names));
	return append_abaqus_faces(ctx, rows, &names, members, last, sides, to);
}

rb_status
rb_mesh_abaqus(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	rb_file_groups regions = rb_file_region_groups(rows), facets = rb_file_facet_groups(rows);
	rb_buckets members = {NULL, NULL};
	const size_t start = to->n;
	const rb_status status = write_abaqus(ctx, rows, &regions, &facets, &members, to);

	rb_file_groups_free(ctx->memory, &regions);
	rb_file_groups_free(ctx->memory, &facets);
	rb_buckets_free(ctx->memory, &members);
	if (status != RB_OK)
		to->n = start;
	return status;
}
