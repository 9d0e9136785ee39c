/*
 * file_parts.h
 *	  Declares what the writers of mesh files share: bytes and text in a buffer, and the groups of
 *	  elements by region, by facet or by label.
 */
#ifndef RB_MESH_FILE_PARTS_H
#define RB_MESH_FILE_PARTS_H

#include "mesh/formats.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- bytes and text ---- */

/* Makes room for `more` bytes, so that writing them needs no checks. */
extern rb_status rb_file_reserve(rb_context *ctx, rb_buffer *b, uint64_t more);

/* Appends formatted text to the buffer, which must have room for it. */
extern void rb_file_text(rb_buffer *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes a number of 32 bits with its lowest byte first, and returns the position after it. */
static inline uint8_t *
rb_file_le32(uint8_t *at, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t) (x >> 8 * i);
	return at + 4;
}

/* Writes a number of 64 bits with its lowest byte first, and returns the position after it. */
static inline uint8_t *
rb_file_le64(uint8_t *at, uint64_t x)
{
	for (int i = 0; i < 8; i++)
		at[i] = (uint8_t) (x >> 8 * i);
	return at + 8;
}

/* Writes a double with its lowest byte first, and returns the position after it. */
static inline uint8_t *
rb_file_le_double(uint8_t *at, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return rb_file_le64(at, bits);
}

/* ---- elements ---- */

/* Returns RB_BAD_GEOMETRY if a corner is not a valid point index. */
extern rb_status rb_file_check_corners(rb_context *ctx, const rb_mesh_rows *rows);

/* Hash table that maps ids, given as an array, to their numbers */
#define RB_HASH rb_file_ids
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY int64_t
#define RB_HASH_ARG const int64_t *
#define RB_HASH_OF(ids, wanted) rb_mix((uint64_t) (wanted))
#define RB_HASH_EQUAL(ids, slot, wanted) (ids[slot] == (wanted))
#define RB_HASH_KEY_OF(ids, slot) (ids[slot])
#define RB_HASH_NUMBERED
#include "core/base/hash.h"

/* Groups of the elements of one dimension. Elements without a label are in the last group. */
typedef struct rb_file_groups
{
	const char *word;  /* noun that the name of a group without label begins with */
	const int64_t *of; /* id of each element, or NULL if all are in group 1 */
	const rb_mesh_labels *labels;
	uint32_t n; /* number of elements */
	uint32_t corners;
	const uint32_t *corner;
	int64_t *id;   /* distinct ids, in ascending order, without RB_MESH_NO_LABEL */
	uint32_t nid;  /* number of distinct ids */
	bool has_rest; /* true if some elements have no label; their group has the number nid */
	size_t id_cap;
	rb_file_ids table; /* numbers of the ids */
	bool ids_are_tags;
} rb_file_groups;

/* Returns the groups of faces, by facet or by label, whose ids are not yet numbered. */
extern rb_file_groups rb_file_facet_groups(const rb_mesh_rows *rows);

/* Returns the groups of tetrahedra, by region or by label, whose ids are not yet numbered. */
extern rb_file_groups rb_file_region_groups(const rb_mesh_rows *rows);

/* Numbers the distinct ids in ascending order. With `always`, there is at least one group. */
extern rb_status rb_file_groups_number(rb_context *ctx, rb_file_groups *g, bool always);

/* Frees the arrays of groups of elements. */
extern void rb_file_groups_free(rb_memory *memory, rb_file_groups *g);

/* Returns the number of groups, including that of elements without label. */
static inline uint32_t
rb_file_groups_count(const rb_file_groups *g)
{
	return g->nid + g->has_rest;
}

/* Returns the number of the group of an element. */
static inline uint32_t
rb_file_group_of(const rb_file_groups *g, uint32_t i)
{
	const int64_t id = g->of == NULL ? 1 : g->of[i];

	if (g->labels != NULL && id == RB_MESH_NO_LABEL)
		return g->nid;
	return *rb_file_ids_find(&g->table, g->id, id);
}

/* Returns the tag of a group, from 1 to INT32_MAX. */
extern uint32_t rb_file_group_tag(const rb_file_groups *g, uint32_t k);

/*
 * Returns the label of a group, or NULL if no element has one; that of elements without label is
 * "no group".
 */
extern const char *rb_file_group_label(const rb_file_groups *g, uint32_t k);

/* Returns an upper bound on the total length of all labels. */
extern uint64_t rb_file_groups_label_bytes(const rb_file_groups *g);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_FILE_PARTS_H */
