/*
 * text_formats.c
 *	  Tests mesh files of text, with a reader of its own: XDMF and Abaqus input.
 *
 * With a folder as its argument, the program writes its files there, for other readers.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mesh/formats.h"

static rb_context context;
static const char *folder;

/*
 * Two tetrahedra with a common face, in two regions, and three faces: two outer ones and the common
 * one
 */
static const double points[5][3] = {{0, 0, 0},
									{1.0 / 3, 0, 0},
									{0, 523456.123456789, 0},
									{0, 0, -1.2345678901234567e-300},
									{1e22, 0.1, 4}};
static const uint32_t tets[2][4] = {{0, 1, 2, 3}, {2, 1, 4, 3}};
static const uint32_t faces[3][3] = {{0, 2, 1}, {1, 2, 3}, {4, 3, 1}};
static const int64_t region[2] = {-4, 7};
static const int64_t facet[3] = {10, 12, 10};
static const rb_mesh_rows rows = {.npoints = 5,
								  .ntets = 2,
								  .nfaces = 3,
								  .points = &points[0][0],
								  .tets = tets,
								  .region = region,
								  .faces = faces,
								  .facet = facet};

typedef rb_status (*writer)(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);
static const writer writers[] = {rb_mesh_xdmf, rb_mesh_xdmf_facets, rb_mesh_abaqus};

static void
free_buffer(rb_memory *memory, rb_buffer *b)
{
	rb_free(memory, (void **) &b->bytes);
	b->n = b->cap = 0;
}

/* Writes a file as a text that ends with a zero byte, and that the caller frees. */
static char *
write_text(const char *name, writer write, const rb_mesh_rows *r)
{
	rb_buffer b = {NULL, 0, 0};
	rb_status status = write(&context, r, &b);
	char *text = malloc(b.n + 1);

	CHECK(status == RB_OK, "%s", rb_status_text(status));
	memcpy(text, b.bytes, b.n);
	text[b.n] = 0;
	if (folder != NULL)
	{
		char path[1000];
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", folder, name);
		f = fopen(path, "wb");
		CHECK(f != NULL && fwrite(b.bytes, 1, b.n, f) == b.n && fclose(f) == 0, "%s", path);
	}
	free_buffer(context.memory, &b);
	return text;
}

/* Returns the text behind `tag`, or the empty text. */
static const char *
after(const char *text, const char *tag)
{
	const char *at = strstr(text, tag);

	CHECK(at != NULL, "no %s", tag);
	return at == NULL ? "" : at + strlen(tag);
}

/* Returns the next number, and skips past it and its separator. */
static double
next(const char **at)
{
	char *end;
	double x = strtod(*at, &end);

	CHECK(end != *at, "no number: %.20s", *at);
	*at = *end == ',' || *end == '\n' || *end == ' ' ? end + 1 : end;
	return x;
}

static void
xdmf(void)
{
	char *text = write_text("two.xdmf", rb_mesh_xdmf, &rows);
	const char *at =
		after(text, "<DataItem Dimensions=\"5 3\" NumberType=\"Float\" Precision=\"8\" "
					"Format=\"XML\">\n");

	CHECK(strstr(text, "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">") == text, "!");
	for (int i = 0; i < 15; i++)
		CHECK(next(&at) == points[i / 3][i % 3], "%d", i);
	CHECK(strncmp(at, "</DataItem>\n</Geometry>\n", 24) == 0, "%.30s", at);
	at = after(text, "<Topology TopologyType=\"Tetrahedron\" NumberOfElements=\"2\" "
					 "NodesPerElement=\"4\">\n");
	at = after(at, "\">\n");
	for (int i = 0; i < 8; i++)
		CHECK(next(&at) == tets[i / 4][i % 4], "%d", i);
	at = after(text, "<Attribute Name=\"region\" AttributeType=\"Scalar\" Center=\"Cell\">\n");
	at = after(at, "\">\n");
	CHECK(next(&at) == 1 && next(&at) == 2, "!");
	CHECK(strstr(text, "<map key=\"region -4\" dim=\"3\">1</map>"
					   "<map key=\"region 7\" dim=\"3\">2</map>") != NULL,
		  "!");
	free(text);
	text = write_text("two_facets.xdmf", rb_mesh_xdmf_facets, &rows);
	at = after(text, "<Topology TopologyType=\"Triangle\" NumberOfElements=\"3\" "
					 "NodesPerElement=\"3\">\n");
	at = after(at, "\">\n");
	for (int i = 0; i < 9; i++)
		CHECK(next(&at) == faces[i / 3][i % 3], "%d", i);
	at = after(text, "<Attribute Name=\"facet\"");
	at = after(after(at, "<DataItem"), ">\n");
	CHECK(next(&at) == 10 && next(&at) == 12 && next(&at) == 10, "!");
	free(text);
}

/* Names in XDMF are escaped. */
static void
xdmf_names(void)
{
	const int64_t id[] = {1, 2};
	const char *const label[] = {"a<b & \"c\"]]>", "\tplain"};
	const rb_mesh_labels labels = {(const int64_t[]){2, RB_MESH_NO_LABEL}, 2, id, label};
	rb_mesh_rows r = rows;
	char *text;

	r.region_labels = &labels;
	text = write_text("names.xdmf", rb_mesh_xdmf, &r);
	CHECK(strstr(text, "<map key=\" plain\" dim=\"3\">2</map>"
					   "<map key=\"no group\" dim=\"3\">3</map>") != NULL,
		  "%s", text);
	free(text);
	r.region_labels = &(const rb_mesh_labels){(const int64_t[]){2, 1}, 2, id, label};
	text = write_text("escaped.xdmf", rb_mesh_xdmf, &r);
	CHECK(strstr(text, "<map key=\"a&lt;b &amp; &quot;c&quot;]]&gt;\" dim=\"3\">1</map>") != NULL,
		  "%s", text);
	free(text);
}

static void
abaqus(void)
{
	char *text = write_text("two.inp", rb_mesh_abaqus, &rows);
	const char *at = after(text, "*NODE\n");

	for (int i = 0; i < 5; i++)
	{
		CHECK(next(&at) == i + 1, "%d", i);
		for (int j = 0; j < 3; j++)
		{
			const char *was = at;
			double x = next(&at), p = points[i][j];

			CHECK(at - was <= 21, "%d characters", (int) (at - was));
			CHECK(p == -1.2345678901234567e-300 ? x == -1.234567890123e-300 : x == p, "%.17g", x);
		}
	}
	CHECK(strcmp(at, "*ELEMENT, TYPE=C3D4, ELSET=region_-4\n1,1,2,3,4\n"
					 "*ELEMENT, TYPE=C3D4, ELSET=region_7\n2,3,2,5,4\n"
					 "*NSET, NSET=facet_10\n1,3,2,5,4\n"
					 "*SURFACE, TYPE=ELEMENT, NAME=facet_10\n1,S1\n2,S3\n"
					 "*NSET, NSET=facet_12\n2,3,4\n"
					 "*SURFACE, TYPE=ELEMENT, NAME=facet_12\n1,S3\n") == 0,
		  "%s", at);
	free(text);
}

/* Labels that are distinct names are kept; otherwise all get a prefix. */
static void
abaqus_names(void)
{
	static const char *const labels[][2] = {
		{"Clay", "sand-2"}, {"CLAY", "clay"}, {"2nd", "sand"}, {"top layer", "sand"}, {"", "sand"}};
	static const char *const names[][2] = {{"Clay", "sand-2"},
										   {"G1_CLAY", "G2_clay"},
										   {"G1_2nd", "G2_sand"},
										   {"G1_top_layer", "G2_sand"},
										   {"G1_", "G2_sand"}};
	const int64_t id[] = {1, 2};
	rb_mesh_rows r = rows;

	for (int i = 0; i < 5; i++)
	{
		const rb_mesh_labels l = {(const int64_t[]){1, 2, RB_MESH_NO_LABEL}, 2, id, labels[i]};
		char *text, want[200];

		r.region_labels = r.facet_labels = &l;
		text = write_text("names.inp", rb_mesh_abaqus, &r);
		for (int k = 0; k < 2; k++)
		{
			snprintf(want, sizeof(want), "** %s\n*ELEMENT, TYPE=C3D4, ELSET=%s\n", labels[i][k],
					 names[i][k]);
			CHECK(strstr(text, want) != NULL, "no %s", want);
			snprintf(want, sizeof(want), "*SURFACE, TYPE=ELEMENT, NAME=%s\n", names[i][k]);
			CHECK(k == 1 || strstr(text, want) != NULL, "no %s", want);
			snprintf(want, sizeof(want), "*NSET, NSET=%s\n", names[i][k]);
			CHECK(strstr(text, want) != NULL, "no %s", want);
		}
		CHECK(strstr(text, "no_group") != NULL, "!");
		free(text);
	}
}

/* More elements than a chunk, and more nodes than fit in a line */
static void
many(void)
{
	const uint32_t n = 10000;
	double(*p)[3] = malloc(4 * n * sizeof *p);
	uint32_t(*t)[4] = malloc(n * sizeof *t), (*f)[3] = malloc(n * sizeof *f);
	rb_mesh_rows r = {.npoints = 4 * n,
					  .ntets = n,
					  .nfaces = n,
					  .points = &p[0][0],
					  .tets = (const uint32_t(*)[4]) t,
					  .faces = (const uint32_t(*)[3]) f};
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	const char *at;
	char *text;

	for (uint32_t i = 0; i < 4 * n; i++)
	{
		for (int j = 0; j < 3; j++)
			p[i][j] = (i / 4 + (i % 4 == (uint32_t) j)) / 7.0;
		t[i / 4][i % 4] = i;
		if (i % 4 < 3)
			f[i / 4][i % 4] = i;
	}
	text = write_text("many.inp", rb_mesh_abaqus, &r);
	at = after(text, "*NODE\n");
	for (uint32_t i = 0; i < 4 * n; i++)
	{
		bool same = next(&at) == i + 1;

		for (int j = 0; j < 3; j++)
		{
			double x = next(&at);

			same &= x == p[i][j];
		}
		CHECK(same, "node %u", i);
	}
	at = after(text, "*NSET, NSET=facet_1\n");
	for (uint32_t i = 0; i < 3 * n; i++)
		CHECK(next(&at) == i / 3 * 4 + i % 3 + 1, "%u", i);
	at = after(at, "*SURFACE, TYPE=ELEMENT, NAME=facet_1\n");
	for (uint32_t i = 0; i < n; i++)
		CHECK(next(&at) == i + 1 && *at++ == 'S' && next(&at) == 1, "%u", i);
	CHECK(*at == 0, "%.20s", at);
	free(text);
	/* Refused memory, at each allocation */
	for (size_t w = 0; w < sizeof(writers) / sizeof(*writers); w++)
	{
		rb_status status = RB_OVER_BUDGET;
		rb_buffer b = {NULL, 0, 0};
		rb_context ctx;

		for (uint64_t limit = 0; status == RB_OVER_BUDGET; limit += 100000)
		{
			rb_memory_set_limit(memory, limit);
			rb_context_init(&ctx, memory);
			status = writers[w](&ctx, &r, &b);
			CHECK(status == RB_OK || (status == RB_OVER_BUDGET && b.n == 0), "%s",
				  rb_status_text(status));
			free_buffer(memory, &b);
			CHECK(rb_memory_used(memory) == 0, "%d bytes", (int) rb_memory_used(memory));
		}
		CHECK(status == RB_OK, "%s", rb_status_text(status));
		rb_memory_set_limit(memory, UINT64_MAX);
		rb_context_init(&ctx, memory);
		rb_context_stop(&ctx);
		CHECK(writers[w](&ctx, &r, &b) == RB_STOPPED && b.n == 0, "it goes on");
		free_buffer(memory, &b);
	}
	rb_memory_destroy(memory);
	free(p);
	free(t);
	free(f);
}

static void
refusals(void)
{
	const uint32_t wrong[1][4] = {{0, 1, 2, 5}};
	rb_mesh_rows r = rows;
	rb_buffer b = {NULL, 0, 0};

	r.tets = wrong;
	r.ntets = 1;
	for (size_t w = 0; w < sizeof(writers) / sizeof(*writers); w++)
	{
		rb_context ctx;

		rb_context_init(&ctx, context.memory);
		CHECK(writers[w](&ctx, &r, &b) == RB_BAD_GEOMETRY && b.n == 0, "%d", (int) w);
	}
	r.ntets = r.nfaces = r.npoints = 0;
	for (size_t w = 0; w < sizeof(writers) / sizeof(*writers); w++)
		CHECK(writers[w](&context, &r, &b) == RB_OK, "%d", (int) w);
	free_buffer(context.memory, &b);
}

int
main(int argc, char **argv)
{
	folder = argc > 1 ? argv[1] : NULL;
	rb_context_init(&context, rb_memory_create(UINT64_MAX));
	CHECK_RUN(xdmf);
	CHECK_RUN(xdmf_names);
	CHECK_RUN(abaqus);
	CHECK_RUN(abaqus_names);
	CHECK_RUN(many);
	CHECK_RUN(refusals);
	CHECK(rb_memory_used(context.memory) == 0, "%d bytes", (int) rb_memory_used(context.memory));
	rb_memory_destroy(context.memory);
	return check_done();
}
