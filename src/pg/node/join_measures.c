/*
 * join_measures.c
 *	  Measures what the geometries of each pair of a join node share, in batches.
 *
 * The pairs that pass the clauses without measures are collected and sorted by outer row. Each batch of
 * them is a join of its own, of the rows that occur in it: redblue_solid_overlaps or
 * redblue_polygon_overlaps of two sets, which prepares each row once and uses all threads. A pair that
 * is not in its result shares no interior, and its measures are 0.
 *
 * If a batch cannot be measured, because a geometry is not valid or memory does not suffice, the
 * function is called for each of its pairs, when the pair is returned. So the values and the errors are
 * always those of the functions. The first batches are small, because a LIMIT may end the scan.
 */
#include "pg/node/node.h"

#include "core/base/sort.h"
#include "core/join/join.h"

#include "access/sysattr.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#define FIRST_BATCH 64      /* Number of pairs in the first batch */
#define LARGEST_BATCH 65536 /* Maximum number of pairs in a batch */
#define GROWTH 16           /* Factor by which the next batch is larger */
#define FIRST_PAIRS 1024    /* Initial capacity, in pairs */
#define MOST_PAIRS ((Size) 1 << 20)
/* The geometries of a batch take about 1/32 of the memory, since their sets take several times that */
#define SHARE 32

/* A pair of rows, the outer one first */
typedef struct joined_pair
{
	uint64 row[2];
} joined_pair;

/* A measure that is needed, and its column in the scan slot */
typedef struct needed_measure
{
	rb_measure what;
	int column;        /* From 0 */
	const Expr *shown; /* For EXPLAIN */
	ExprState *call;   /* Calls the function for the pair in the scan slot */
} needed_measure;

/* A clause that needs measures, a bit for each */
typedef struct measured_clause
{
	ExprState *state;
	uint32 needs;
} measured_clause;

/* The rows of one input that occur in a batch */
typedef struct batch_side
{
	uint64 *row; /* Ascending */
	uint32 n;
	uint32 *of; /* For each pair of the batch: index of its row in `row` */
	rb_builder builder;
	bool building; /* True if the builder has been initialized */
	const rb_set *set;
} batch_side;

struct rb_join_measures
{
	rb_geometry_join *join;
	needed_measure at[RB_MEASURES];
	int n;
	measured_clause *clauses;
	int nclauses;
	uint32 returned; /* Bits of the measures that the target list needs */

	joined_pair *pairs;
	Size npairs;
	Size cap;
	Size next; /* Pair that is returned next */
	bool sorted;

	/* The current batch: pairs first to end - 1 */
	Size first;
	Size end;
	Size size;             /* Maximum number of pairs of the next batch */
	MemoryContext context; /* Memory of the batch */
	batch_side side[2];
	uint32 *start; /* For each outer row of the batch, its first pair, and the end */
	/* Values of the pairs, or NULL if the functions are to be called */
	double *values[RB_MEASURE_AREA + 1];
	rb_context ctx;
	rb_helper helper;
	rb_predicate predicate; /* Predicate of the job that the helper thread runs */

	/* For EXPLAIN */
	uint64 together; /* Numbers of measures computed in batches, and by one call each */
	uint64 singly;
};

/* ---- begin ---- */

/* Returns the measures, as bits, whose columns an expression of the plan uses. */
static uint32
measures_of_expression(const rb_geometry_join *j, Node *node)
{
	const int first = j->in[1].first + j->in[1].columns;
	Bitmapset *used = NULL;
	uint32 bits = 0;
	int i = -1;

	pull_varattnos(node, INDEX_VAR, &used);
	while ((i = bms_next_member(used, i)) >= 0)
	{
		const int column = i + FirstLowInvalidHeapAttributeNumber - 1;

		if (column >= first)
			bits |= (uint32) 1 << (column - first);
	}
	bms_free(used);
	return bits;
}

/* Prepares the call of a measure for the pair in the scan slot. */
static void
begin_measure(rb_geometry_join *j, needed_measure *m, const FuncExpr *function, bool swapped)
{
	const CustomScan *plan = (const CustomScan *) j->css.ss.ps.plan;
	Node *outer = list_nth(plan->custom_exprs, RB_JOIN_OUTER_GEOMETRY);
	Node *inner = list_nth(plan->custom_exprs, RB_JOIN_INNER_GEOMETRY);
	FuncExpr *call =
		makeFuncExpr(function->funcid, function->funcresulttype,
					 swapped ? list_make2(inner, outer) : list_make2(outer, inner),
					 function->funccollid, function->inputcollid, function->funcformat);

	if (!rb_find_measure(function->funcid, &m->what))
		elog(ERROR, "function %u is not a measure of two geometries", function->funcid);
	m->shown = (const Expr *) function;
	m->call = ExecInitExpr((Expr *) call, &j->css.ss.ps);
}

/* Prepares the clauses that need measures, and returns the other ones. */
static List *
begin_clauses_of_measures(rb_join_measures *m, List *clauses, uint32 *needed)
{
	List *others = NIL;
	ListCell *lc;

	m->clauses = palloc0(list_length(clauses) * sizeof *m->clauses);
	foreach (lc, clauses)
	{
		const uint32 needs = measures_of_expression(m->join, lfirst(lc));
		measured_clause *c = &m->clauses[m->nclauses];

		if (needs == 0)
		{
			others = lappend(others, lfirst(lc));
			continue;
		}
		c->needs = needs;
		c->state = ExecInitQual(list_make1(lfirst(lc)), &m->join->css.ss.ps);
		m->nclauses++;
		*needed |= needs;
	}
	return others;
}

List *
rb_join_measures_begin(rb_geometry_join *j, List *clauses, Bitmapset **wanted)
{
	const CustomScan *plan = (const CustomScan *) j->css.ss.ps.plan;
	const int first = j->in[1].first + j->in[1].columns;
	rb_join_measures *m = palloc0(sizeof *m);
	const List *swapped = list_nth(plan->custom_private, RB_JOIN_MEASURES);
	uint32 needed;
	List *others;

	m->join = j;
	needed = m->returned = measures_of_expression(j, (Node *) plan->scan.plan.targetlist);
	others = begin_clauses_of_measures(m, clauses, &needed);
	m->n = list_length(swapped);
	for (int i = 0; i < m->n; i++)
	{
		const TargetEntry *column = list_nth_node(TargetEntry, plan->custom_scan_tlist, first + i);

		m->at[i].column = first + i;
		if ((needed >> i & 1) != 0)
			begin_measure(j, &m->at[i], castNode(FuncExpr, column->expr),
						  list_nth_int(swapped, i) != 0);
	}
	if (needed == 0)
		return clauses;
	pull_varattnos(list_nth(plan->custom_exprs, RB_JOIN_OUTER_GEOMETRY), INDEX_VAR, wanted);
	pull_varattnos(list_nth(plan->custom_exprs, RB_JOIN_INNER_GEOMETRY), INDEX_VAR, wanted);
	m->context = AllocSetContextCreate(j->css.ss.ps.state->es_query_cxt, "redblue measures",
									   ALLOCSET_DEFAULT_SIZES);
	rb_join_measures_clear(m);
	j->measures = m;
	return others;
}

/* ---- collecting pairs ---- */

void
rb_join_measures_clear(rb_join_measures *m)
{
	m->npairs = m->next = m->first = m->end = 0;
	m->size = FIRST_BATCH;
	m->sorted = false;
}

bool
rb_join_measures_add(rb_join_measures *m, uint64 outer, uint64 inner)
{
	/* All pairs have been returned. */
	if (m->next == m->npairs)
	{
		m->npairs = m->next = m->first = m->end = 0;
		m->sorted = false;
	}
	if (m->npairs == m->cap)
	{
		const Size cap = m->cap == 0 ? FIRST_PAIRS : 2 * m->cap;
		rb_error error;
		rb_status status =
			rb_resize(m->join->memory, (void **) &m->pairs, cap * sizeof *m->pairs, &error);

		if (status != RB_OK)
			rb_raise(m->join->function, status, &error);
		m->cap = cap;
	}
	m->pairs[m->npairs++] = (joined_pair){{outer, inner}};
	return m->npairs < MOST_PAIRS;
}

/* ---- the rows of a batch ---- */

/* Orders pairs by the outer row, then by the inner one. */
static int
by_rows(const void *a, const void *b, const void *arg)
{
	const joined_pair *x = a, *y = b;

	(void) arg;
	for (int i = 0; i < 2; i++)
		if (x->row[i] != y->row[i])
			return x->row[i] < y->row[i] ? -1 : 1;
	return 0;
}

/* Returns the index of a row among the ascending rows of a side. */
static uint32
index_of_row(const batch_side *s, uint64 row)
{
	uint32 low = 0, high = s->n;

	while (high - low > 1)
	{
		const uint32 middle = low + (high - low) / 2;

		if (s->row[middle] <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Lists the rows of one side of the batch. */
static void
list_rows_of_side(rb_join_measures *m, int side)
{
	const joined_pair *pairs = m->pairs + m->first;
	const Size n = m->end - m->first;
	batch_side *s = &m->side[side];

	s->row = palloc(n * sizeof *s->row);
	s->of = palloc(n * sizeof *s->of);
	for (Size i = 0; i < n; i++)
		s->row[i] = pairs[i].row[side];
	(void) rb_sort_words(NULL, s->row, n);
	s->n = 0;
	for (Size i = 0; i < n; i++)
		if (s->n == 0 || s->row[s->n - 1] != s->row[i])
			s->row[s->n++] = s->row[i];
	for (Size i = 0; i < n; i++)
		s->of[i] = index_of_row(s, pairs[i].row[side]);
}

/* Lists the rows of the batch, and the pairs of each outer row. */
static void
list_rows_of_batch(rb_join_measures *m)
{
	const Size n = m->end - m->first;

	for (int side = 0; side < 2; side++)
		list_rows_of_side(m, side);
	m->start = palloc((m->side[0].n + (Size) 1) * sizeof *m->start);
	for (Size i = n; i-- > 0;)
		m->start[m->side[0].of[i]] = (uint32) i;
	m->start[m->side[0].n] = (uint32) n;
}

/* Returns the number of pairs whose geometries are expected to take their share of the memory. */
static Size
pairs_within_memory(const rb_geometry_join *j)
{
	const double most = (double) rb_memory_limit(j->memory) / SHARE;
	double bytes = 1;

	/* Each row occurs once in a batch, even if it has many pairs. */
	if ((double) j->in[0].bytes + (double) j->in[1].bytes <= most)
		return LARGEST_BATCH;
	for (int i = 0; i < 2; i++)
		bytes += (double) j->in[i].bytes / (double) Max(j->in[i].n, 1);
	return (Size) Max(most / bytes, 1);
}

/* ---- the sets of a batch ---- */

/* Frees the sets of the batch. */
static void
free_sets_of_batch(rb_join_measures *m)
{
	for (int side = 0; side < 2; side++)
	{
		batch_side *s = &m->side[side];

		if (s->building)
			rb_builder_free(&s->builder);
		s->building = false;
		rb_set_release(&s->set);
	}
}

/* Decodes the geometry of a row as the functions do. Returns false if they would raise an error. */
static bool
decode_row_of_batch(rb_join_measures *m, int side, uint32 i, int32 *srid)
{
	rb_geometry_join *j = m->join;
	rb_join_input *in = &j->in[side];
	batch_side *s = &m->side[side];
	ExprContext *econtext = j->css.ss.ps.ps_ExprContext;
	rb_geometry_info info = {0};
	MemoryContext old;
	rb_geometry_fault fault;
	rb_error error;
	Datum geometry;
	bool null;

	rb_join_reset_slot(j);
	rb_join_load_row(j, in, s->row[i]);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	geometry = ExecEvalExpr(in->geometry, econtext, &null);
	fault = null ? RB_GEOMETRY_UNKNOWN
				 : rb_decode_parts(&in->side.decoder, &s->builder,
								   PG_DETOAST_DATUM_PACKED(geometry), &info, &error);
	MemoryContextSwitchTo(old);
	if (fault != RB_GEOMETRY_OK || (*srid != info.srid && (side > 0 || i > 0)))
		return false;
	*srid = info.srid;
	/* A row without a part is dropped. */
	return rb_builder_end_row(&s->builder, i, &error) == RB_OK && s->builder.nrows == i + 1;
}

/* Builds the sets of the batch. Returns false if the functions have to be called. */
static bool
build_sets_of_batch(rb_join_measures *m)
{
	int32 srid = 0;
	rb_error error;

	for (int side = 0; side < 2; side++)
	{
		batch_side *s = &m->side[side];

		rb_builder_init(&s->builder, m->join->memory,
						m->predicate == RB_AREA ? RB_EDGE2 : RB_TRIANGLE3);
		s->building = true;
		for (uint32 i = 0; i < s->n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (!decode_row_of_batch(m, side, i, &srid))
				return false;
		}
		if (rb_builder_finish(&s->builder, &s->set, &error) != RB_OK)
			return false;
	}
	return true;
}

/* ---- measuring a batch ---- */

/* Returns true if the measure is needed. */
static bool
is_measure_needed(const rb_join_measures *m, rb_measure what)
{
	for (int i = 0; i < m->n; i++)
		if (m->at[i].call != NULL && m->at[i].what == what)
			return true;
	return false;
}

/* Returns the pair of the batch with these rows, or UINT32_MAX. */
static uint32
find_pair_of_batch(const rb_join_measures *m, rb_pair rows)
{
	const uint32 from = m->start[rows.red], to = m->start[rows.red + 1];
	const uint32 *blue = m->side[1].of;
	const uint32 at = from + (uint32) rb_numbers_lower_bound(blue + from, to - from, rows.blue);

	return at < to && blue[at] == rows.blue ? at : UINT32_MAX;
}

/* Receives the measures of pairs of solids or of polygons, on any thread. */
static rb_status
put_measures_of_batch(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	/* Word of each measure in the payload of a pair */
	static const size_t word[] = {
		[RB_MEASURE_VOLUME] = offsetof(rb_overlap, volume) / sizeof(uint64_t),
		[RB_MEASURE_DEPTH] = offsetof(rb_overlap, depth) / sizeof(uint64_t),
		[RB_MEASURE_AREA] = 0};
	rb_join_measures *m = user;
	const bool area = m->predicate == RB_AREA;
	const size_t words = area ? 1 : RB_OVERLAP_WORDS;
	const int first = area ? RB_MEASURE_AREA : RB_MEASURE_VOLUME;
	const int last = area ? RB_MEASURE_AREA : RB_MEASURE_DEPTH;

	for (size_t i = 0; i < n; i++)
	{
		const uint32 pair = find_pair_of_batch(m, rows[i]);

		for (int what = first; what <= last && pair != UINT32_MAX; what++)
			if (m->values[what] != NULL)
				memcpy(&m->values[what][pair], payload + words * i + word[what], sizeof(double));
	}
	return RB_OK;
}

/* Measures the pairs of the batch, on the helper thread. */
static rb_status
measure_pairs_of_sets(void *arg)
{
	rb_join_measures *m = arg;
	const rb_job job = {.red = m->side[0].set,
						.blue = m->side[1].set,
						.predicate = m->predicate,
						.depth = m->values[RB_MEASURE_DEPTH] != NULL};
	const rb_row_sink sink = {.put = put_measures_of_batch, .user = m};

	return m->predicate == RB_AREA ? rb_compose_areas(&m->ctx, &rb_backend_cpu, &job, &sink)
								   : rb_compose_overlaps(&m->ctx, &rb_backend_cpu, &job, &sink);
}

/* Runs one of the two joins of the batch. Returns false if the functions have to be called. */
static bool
join_sets_of_batch(rb_join_measures *m, rb_predicate predicate)
{
	bool done;

	m->predicate = predicate;
	done = build_sets_of_batch(m);
	if (done)
	{
		rb_settings_apply(&m->ctx, m->join->memory);
		m->ctx.threads = rb_threads((uint64) m->side[0].set->nparts + m->side[1].set->nparts);
		m->helper.ctx = &m->ctx;
		m->helper.work = measure_pairs_of_sets;
		m->helper.arg = m;
		done = rb_helper_run(&m->helper) == RB_OK;
	}
	free_sets_of_batch(m);
	return done;
}

/* Prepares the values of a measure of the batch, which are 0. */
static void
clear_values_of_measure(rb_join_measures *m, rb_measure what)
{
	m->values[what] = palloc0((m->end - m->first) * sizeof(double));
}

/* Measures the pairs of the batch as solids, as polygons, or as both, as needed. */
static void
measure_values_of_batch(rb_join_measures *m)
{
	const bool depth = is_measure_needed(m, RB_MEASURE_DEPTH);

	if (depth || is_measure_needed(m, RB_MEASURE_VOLUME))
	{
		clear_values_of_measure(m, RB_MEASURE_VOLUME);
		if (depth)
			clear_values_of_measure(m, RB_MEASURE_DEPTH);
		if (!join_sets_of_batch(m, RB_OVERLAP))
			m->values[RB_MEASURE_VOLUME] = m->values[RB_MEASURE_DEPTH] = NULL;
	}
	if (is_measure_needed(m, RB_MEASURE_AREA))
	{
		clear_values_of_measure(m, RB_MEASURE_AREA);
		if (!join_sets_of_batch(m, RB_AREA))
			m->values[RB_MEASURE_AREA] = NULL;
	}
}

/* Measures the next pairs. */
static void
measure_next_batch(rb_join_measures *m)
{
	const Size n = Min(m->size, pairs_within_memory(m->join));
	MemoryContext old;

	if (!m->sorted)
		(void) rb_sort(NULL, m->pairs, m->npairs, sizeof *m->pairs, by_rows, NULL);
	m->sorted = true;
	m->first = m->end;
	m->end = m->first + Min(n, m->npairs - m->first);
	m->size = Min(m->size * GROWTH, LARGEST_BATCH);
	memset(m->values, 0, sizeof m->values);
	MemoryContextReset(m->context);
	old = MemoryContextSwitchTo(m->context);
	list_rows_of_batch(m);
	measure_values_of_batch(m);
	MemoryContextSwitchTo(old);
}

/* ---- returning pairs ---- */

bool
rb_join_measures_next(rb_join_measures *m, uint64 *outer, uint64 *inner)
{
	if (m->next == m->npairs)
		return false;
	if (m->next == m->end)
		measure_next_batch(m);
	*outer = m->pairs[m->next].row[0];
	*inner = m->pairs[m->next].row[1];
	m->next++;
	return true;
}

/* Stores a measure of the pair in the scan slot. */
static void
store_measure_in_slot(rb_join_measures *m, const needed_measure *at)
{
	TupleTableSlot *scan = m->join->css.ss.ss_ScanTupleSlot;
	ExprContext *econtext = m->join->css.ss.ps.ps_ExprContext;
	const double *values = m->values[at->what];

	if (values != NULL)
	{
		scan->tts_values[at->column] = Float8GetDatum(values[m->next - 1 - m->first]);
		scan->tts_isnull[at->column] = false;
		m->together++;
		return;
	}
	scan->tts_values[at->column] =
		ExecEvalExprSwitchContext(at->call, econtext, &scan->tts_isnull[at->column]);
	m->singly++;
}

/* Stores the measures with these bits, except those that are stored already. */
static void
store_measures_in_slot(rb_join_measures *m, uint32 needs, uint32 *stored)
{
	for (int i = 0; i < m->n; i++)
		if (((needs & ~*stored) >> i & 1) != 0)
			store_measure_in_slot(m, &m->at[i]);
	*stored |= needs;
}

bool
rb_join_measures_store(rb_join_measures *m)
{
	uint32 stored = 0;

	for (int i = 0; i < m->nclauses; i++)
	{
		store_measures_in_slot(m, m->clauses[i].needs, &stored);
		if (!ExecQual(m->clauses[i].state, m->join->css.ss.ps.ps_ExprContext))
			return false;
	}
	store_measures_in_slot(m, m->returned, &stored);
	return true;
}

void
rb_join_measures_set_null(rb_join_measures *m)
{
	TupleTableSlot *scan = m->join->css.ss.ss_ScanTupleSlot;

	for (int i = 0; i < m->n; i++)
	{
		scan->tts_values[m->at[i].column] = (Datum) 0;
		scan->tts_isnull[m->at[i].column] = true;
	}
}

/* ---- end, EXPLAIN ---- */

void
rb_join_measures_free(rb_join_measures *m)
{
	rb_helper_end(&m->helper);
	free_sets_of_batch(m);
	rb_free(m->join->memory, (void **) &m->pairs);
	m->cap = 0;
	rb_join_measures_clear(m);
}

void
rb_join_measures_explain(const rb_join_measures *m, List *deparse, ExplainState *es)
{
	List *shown = NIL;

	for (int i = 0; i < m->n; i++)
		if (m->at[i].call != NULL)
			shown =
				lappend(shown, deparse_expression((Node *) m->at[i].shown, deparse, true, false));
	ExplainPropertyList("Measures in Batches", shown, es);
	if (!es->analyze)
		return;
	ExplainPropertyInteger("Measured in Batches", NULL, (int64) m->together, es);
	ExplainPropertyInteger("Measured One by One", NULL, (int64) m->singly, es);
}
