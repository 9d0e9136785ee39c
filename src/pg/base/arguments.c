/*
 * arguments.c
 *	  Reads the arguments of SQL functions by their names, and opens the relations that they name.
 *
 * A function states its arguments once, as a list of names in the order of its SQL signature
 * (rb_arguments_bind). Code that reads an argument refers to it by name, and need not know its
 * position, which other arguments the function has, or whether it has this one.
 *
 * A point is an array of two or three float8 values, none of them null or NaN. A box or tile is
 * given by its low and high corner. A corner may be null, and its coordinates may be infinite; the
 * box is then unbounded on that side.
 */
#include "pg/base/arguments.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include <float.h>
#include <math.h>

/* ---- names ---- */

void
rb_arguments_append(rb_arguments *a, const char *list, const char *const *sides, int nsides)
{
	while (*list != '\0')
	{
		const size_t length = strcspn(list, " ");
		const char *star = memchr(list, '*', length);

		for (int i = 0; i < (star == NULL ? 1 : nsides); i++)
		{
			if (a->n == RB_MAX_ARGUMENTS)
				elog(ERROR, "%s: too many arguments", a->function);
			a->name[a->n++] = star == NULL
								  ? pnstrdup(list, length)
								  : psprintf("%.*s%s%.*s", (int) (star - list), list, sides[i],
											 (int) (list + length - star - 1), star + 1);
		}
		list += length;
		list += strspn(list, " ");
	}
}

void
rb_arguments_bind(rb_arguments *a, const char *function, const char *list, const char *const *sides,
				  int nsides, const NullableDatum *value)
{
	a->function = function;
	a->value = value;
	a->n = 0;
	rb_arguments_append(a, list, sides, nsides);
}

const NullableDatum *
rb_argument(const rb_arguments *a, const char *name)
{
	static const NullableDatum none[2] = {{0, true}, {0, true}};

	for (int i = 0; i < a->n; i++)
		if (strcmp(a->name[i], name) == 0)
			return &a->value[i];
	return none;
}

/* ---- values ---- */

/* Raises the ERROR that an argument of a function must not be null. */
pg_noreturn static void
refuse_null_argument(const char *function, const char *argument)
{
	ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("%s: argument \"%s\" must not be null", function, argument)));
}

/* Raises an error if the value of an argument is an empty string. */
static void
check_argument_not_empty(const rb_arguments *a, const char *name, const char *value,
						 const char *hint)
{
	if (value[0] != '\0')
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: argument \"%s\" must not be an empty string", a->function, name),
			 hint != NULL ? errhint("%s", hint)
						  : errhint("Omit the argument to have the column chosen automatically.")));
}

Datum
rb_argument_required(const rb_arguments *a, const char *name)
{
	const NullableDatum *arg = rb_argument(a, name);

	if (arg->isnull)
		refuse_null_argument(a->function, name);
	return arg->value;
}

const char *
rb_argument_column(const rb_arguments *a, const char *name, const char *hint)
{
	const NullableDatum *arg = rb_argument(a, name);

	if (arg->isnull)
		return NULL;
	check_argument_not_empty(a, name, NameStr(*DatumGetName(arg->value)), hint);
	return NameStr(*DatumGetName(arg->value));
}

char *
rb_argument_text(const rb_arguments *a, const char *name)
{
	const NullableDatum *arg = rb_argument(a, name);
	char *string;

	if (arg->isnull)
		return NULL;
	string = TextDatumGetCString(arg->value);
	check_argument_not_empty(a, name, string, NULL);
	return string;
}

bool
rb_argument_choice(const rb_arguments *a, const char *name, const char *usual, const char *other)
{
	const NullableDatum *arg = rb_argument(a, name);
	const char *value = arg->isnull ? usual : TextDatumGetCString(arg->value);

	if (strcmp(value, usual) != 0 && strcmp(value, other) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: invalid value for argument \"%s\": \"%s\"", a->function, name, value),
				 errhint("Available values: %s, %s.", usual, other)));
	return strcmp(value, other) == 0;
}

double
rb_argument_tolerance(const rb_arguments *a)
{
	const NullableDatum *arg = rb_argument(a, "face_tolerance");
	double tolerance;

	if (arg->isnull)
		return -1;
	tolerance = DatumGetFloat8(arg->value);
	if (!(tolerance >= 0))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"face_tolerance\": %g", a->function,
					tolerance),
			 errdetail(
				 "The tolerance must be a distance, 0 or more, in the units of the coordinates.")));
	return tolerance;
}

double
rb_distance_read(const NullableDatum *arg, const char *function, const char *name)
{
	double distance;

	if (arg->isnull)
		refuse_null_argument(function, name);
	distance = DatumGetFloat8(arg->value);
	if (!(distance >= 0 && distance <= DBL_MAX))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value for argument \"%s\": %g", function, name, distance),
			 errdetail("The distance must be finite, 0 or more, in the units of the coordinates."),
			 errhint("Specify a distance, such as %s => 0.001.", name)));
	return distance == 0 ? 0 : distance; /* Turn -0 into 0 */
}

/* ---- errors ---- */

void
rb_refuse_null(const char *function, const char *argument)
{
	ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("%s: argument \"%s\" must not contain nulls", function, argument)));
}

void
rb_refuse_dims(const char *function, const char *a, int dims_a, const char *b, int dims_b)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: %s has %d dimensions, but %s has %d", function, a, dims_a, b, dims_b)));
}

void
rb_tile_refuse_dims(const char *function, const rb_box *tile, int dims)
{
	rb_refuse_dims(function, "the tile", tile->dims, "the join", dims);
}

/* ---- points ---- */

typedef enum point_fault
{
	POINT_FINE,
	POINT_SHAPE, /* The array does not have two or three elements */
	POINT_NULL,
	POINT_NAN
} point_fault;

/* Reads a point and its number of dimensions. Returns what is wrong with the point. */
static point_fault
parse_point_argument(Datum value, double *x, int *n)
{
	ArrayType *array = DatumGetArrayTypeP(value);

	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (ARR_NDIM(array) != 1 || (*n != 2 && *n != 3))
		return POINT_SHAPE;
	if (array_contains_nulls(array))
		return POINT_NULL;
	memcpy(x, ARR_DATA_PTR(array), (size_t) *n * sizeof(double));
	for (int a = 0; a < *n; a++)
		if (isnan(x[a]))
			return POINT_NAN;
	return POINT_FINE;
}

/* Reads a point and returns its number of dimensions, or raises an error. */
static int
read_point_argument(const char *function, const char *argument, Datum value, double *x)
{
	int n;

	switch (parse_point_argument(value, x, &n))
	{
		case POINT_SHAPE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg_plural("%s: argument \"%s\" has %d element",
								   "%s: argument \"%s\" has %d elements", (unsigned long) n,
								   function, argument, n),
					 errdetail("The argument must be a point with two or three coordinates.")));
		case POINT_NULL:
			rb_refuse_null(function, argument);
		case POINT_NAN:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: argument \"%s\" must not contain NaN", function, argument)));
		case POINT_FINE:
			break;
	}
	return n;
}

/* ---- boxes ---- */

/* Sets a box to all of space, with dimensions that are not yet known. */
static void
set_box_to_all_of_space(rb_box *e)
{
	e->dims = 0;
	for (int a = 0; a < 3; a++)
	{
		e->low[a] = -INFINITY;
		e->high[a] = INFINITY;
	}
}

/* Reads the box given by two arguments. */
void
rb_ends_read(const NullableDatum *args, const char *function, const char *low, const char *high,
			 rb_box *e)
{
	int dims[2] = {0, 0};

	set_box_to_all_of_space(e);
	if (!args[0].isnull)
		dims[0] = read_point_argument(function, low, args[0].value, e->low);
	if (!args[1].isnull)
		dims[1] = read_point_argument(function, high, args[1].value, e->high);
	if (dims[0] != 0 && dims[1] != 0 && dims[0] != dims[1])
		rb_refuse_dims(function, low, dims[0], high, dims[1]);
	e->dims = Max(dims[0], dims[1]);
}

void
rb_tile_read(const NullableDatum *args, const char *function, rb_box *tile)
{
	rb_ends_read(args, function, "tile_low", "tile_high", tile);
}

bool
rb_tile_try(const NullableDatum *args, rb_box *tile)
{
	int dims[2] = {0, 0};

	set_box_to_all_of_space(tile);
	if ((!args[0].isnull &&
		 parse_point_argument(args[0].value, tile->low, &dims[0]) != POINT_FINE) ||
		(!args[1].isnull &&
		 parse_point_argument(args[1].value, tile->high, &dims[1]) != POINT_FINE) ||
		(dims[0] != 0 && dims[1] != 0 && dims[0] != dims[1]))
		return false;
	tile->dims = Max(dims[0], dims[1]);
	return true;
}

/* ---- axes of a block model ---- */

/*
 * Largest deviation of the scalar product of two rows of a rotation from 0, or of a row with itself
 * from 1
 */
#define MOST_SKEW 1e-6

/* Reads an array of `count` finite numbers, or raises an error. */
static void
read_number_array(const rb_arguments *a, const char *name, int count, double *x)
{
	ArrayType *array = DatumGetArrayTypeP(rb_argument(a, name)->value);
	const int n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (n != count)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg_plural("%s: argument \"%s\" has %d element",
									  "%s: argument \"%s\" has %d elements", (unsigned long) n,
									  a->function, name, n),
						errdetail("The argument must have %d elements.", count)));
	if (array_contains_nulls(array))
		rb_refuse_null(a->function, name);
	memcpy(x, ARR_DATA_PTR(array), (size_t) count * sizeof(double));
	if (!rb_all_finite(x, count))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: elements of argument \"%s\" must be finite", a->function, name)));
}

/*
 * Reads an angle in degrees and stores its cosine and sine. Returns false if the angle is null,
 * which counts as 0.
 */
static bool
read_angle(const rb_arguments *a, const char *name, double *cosine, double *sine)
{
	const NullableDatum *value = rb_argument(a, name);
	const Datum angle = value->isnull ? Float8GetDatum(0) : value->value;

	if (!isfinite(DatumGetFloat8(angle)))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: argument \"%s\" must be finite", a->function, name),
						errdetail("The argument is an angle in degrees.")));
	*cosine = DatumGetFloat8(DirectFunctionCall1(dcosd, angle));
	*sine = DatumGetFloat8(DirectFunctionCall1(dsind, angle));
	return !value->isnull;
}

/*
 * Computes the matrix of three angles, whose rows are the axes of the model. Returns false if all
 * of the angles are null.
 */
static bool
read_angles(const rb_arguments *a, double *r)
{
	double ca, sa, cd, sd, cp, sp;
	bool given = read_angle(a, "azimuth", &ca, &sa);

	given |= read_angle(a, "dip", &cd, &sd);
	given |= read_angle(a, "plunge", &cp, &sp);
	r[0] = cd * ca - sd * sp * sa;
	r[1] = -cd * sa - sd * sp * ca;
	r[2] = -sd * cp;
	r[3] = cp * sa;
	r[4] = cp * ca;
	r[5] = -sp;
	r[6] = sd * ca + cd * sp * sa;
	r[7] = -sd * sa + cd * sp * ca;
	r[8] = cd * cp;
	return given;
}

/* Raises an error unless the rows of a rotation have length 1 and are perpendicular. */
static void
check_rotation(const rb_arguments *a, const double *r)
{
	for (int i = 0; i < 3; i++)
		for (int k = i; k < 3; k++)
		{
			const double dot =
				r[3 * i] * r[3 * k] + r[3 * i + 1] * r[3 * k + 1] + r[3 * i + 2] * r[3 * k + 2];

			if (fabs(dot - (i == k)) <= MOST_SKEW)
				continue;
			ereport(
				ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: argument \"rotation\" is not a rotation", a->function),
				 i == k
					 ? errdetail("The square of the length of row %d is %.9g, not 1.", i + 1, dot)
					 : errdetail("The scalar product of rows %d and %d is %.9g, not 0.", i + 1,
								 k + 1, dot),
				 errhint("Write all digits of the unit vectors along the axes of the model.  Their "
						 "scalar products may be off by at most 1e-6.")));
		}
}

void
rb_frame_read(const rb_arguments *a, rb_model_frame *frame)
{
	static const double none[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
	const bool angles = read_angles(a, frame->rotation);

	memset(frame->origin, 0, sizeof frame->origin);
	if (!rb_argument(a, "rotation")->isnull)
	{
		if (angles)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("%s: argument \"rotation\" cannot be combined with angles",
								   a->function),
							errhint("Omit azimuth, dip and plunge.")));
		read_number_array(a, "rotation", 9, frame->rotation);
		check_rotation(a, frame->rotation);
	}
	if (!rb_argument(a, "origin")->isnull)
		read_number_array(a, "origin", 3, frame->origin);
	frame->rotated = false;
	for (int i = 0; i < 12; i++)
		if ((i < 9 ? frame->rotation[i] : frame->origin[i - 9]) != none[i])
			frame->rotated = true;
}

/* ---- relations ---- */

/* Returns the text for a kind of relation that no function accepts, or NULL for other kinds. */
static const char *
text_of_relation_kind(char relkind)
{
	switch (relkind)
	{
		case RELKIND_INDEX:
		case RELKIND_PARTITIONED_INDEX:
			return "an index";
		case RELKIND_SEQUENCE:
			return "a sequence";
		case RELKIND_COMPOSITE_TYPE:
			return "a composite type";
		case RELKIND_TOASTVALUE:
			return "a TOAST table";
		default:
			return NULL;
	}
}

/* Raises the ERROR that the relation of a regclass argument was dropped. */
pg_noreturn static void
raise_missing_relation(Oid relid, const char *function, const char *argument)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
					errmsg("%s: %s, the relation with OID %u, does not exist", function, argument,
						   relid)));
}

/* Raises an ERROR if the relation is of a kind that no function accepts, such as an index. */
static void
refuse_relation_kind(Form_pg_class form, AclMode right, const char *function, const char *argument)
{
	if (text_of_relation_kind(form->relkind) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("%s: %s, \"%s\", is %s", function, argument, NameStr(form->relname),
						text_of_relation_kind(form->relkind)),
				 right == ACL_SELECT
					 ? errhint("Use a table, a view, a materialized view or a foreign table.")
					 : errhint("Use a table, a view or a foreign table.")));
}

/*
 * Returns true if the role has the privilege on the relation or on any of its columns. The reader
 * later checks the columns that it needs.
 */
static bool
has_relation_right(Oid relid, AclMode right)
{
	return pg_class_aclcheck(relid, GetUserId(), right) == ACLCHECK_OK ||
		   pg_attribute_aclcheck_all(relid, GetUserId(), right, ACLMASK_ANY) == ACLCHECK_OK;
}

/* Raises the errors that SQL raises when it looks up the name and uses the table. */
static void
check_relation_rights(Oid relid, AclMode right, const char *function, const char *argument)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	char *schema;

	if (!HeapTupleIsValid(tuple))
		raise_missing_relation(relid, function, argument);
	form = (Form_pg_class) GETSTRUCT(tuple);
	schema = get_namespace_name(form->relnamespace);
	if (schema == NULL)
		raise_missing_relation(relid, function, argument);
	(void) LookupExplicitNamespace(schema, false);
	refuse_relation_kind(form, right, function, argument);
	if (!has_relation_right(relid, right))
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(form->relkind),
					   NameStr(form->relname));
	ReleaseSysCache(tuple);
}

/*
 * SQL finds a table by its name, and looking into a schema requires the privilege USAGE. A regclass
 * may be a bare OID, for which no name was looked up. The privilege on the schema is therefore
 * checked here, at each call, for the calling role.
 *
 * A role that may not use a table must not lock it either: a granted lock blocks other sessions,
 * and a waiting lock blocks all sessions that queue behind it. Therefore, nothing is locked before
 * the privileges are checked. They are checked again after the lock is granted, because the wait
 * may be long.
 */
Relation
rb_relation_open(Oid relid, LOCKMODE lock, AclMode right, const char *function,
				 const char *argument)
{
	Relation rel;

	check_relation_rights(relid, right, function, argument);
	rel = try_relation_open(relid, lock);
	if (rel == NULL)
		raise_missing_relation(relid, function, argument);
	check_relation_rights(relid, right, function, argument);
	return rel;
}
