/*
 * input.c
 *	  Reads objects from OFF, CSV and raw files (input.h).
 *
 * A file is read into memory and then scanned once with strtod, so that a coordinate is the double
 * nearest to its decimal text, as in PostgreSQL.
 */
#include "input.h"

#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
complain(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	return false;
}

static bool
ends_with(const char *name, const char *tail)
{
	size_t n = strlen(name);
	size_t t = strlen(tail);

	return n > t && strcmp(name + n - t, tail) == 0;
}

/* Reads a whole file, and appends a zero byte. */
static char *
slurp(const char *path, size_t *size)
{
	bool packed = ends_with(path, ".xz");
	char command[1200];
	FILE *in;
	char *bytes = NULL;
	size_t room = 0;
	size_t got = 0;
	bool failed;

	if (packed)
	{
		if (strchr(path, '\'') != NULL ||
			snprintf(command, sizeof(command), "xz -dc -- '%s'", path) >= (int) sizeof(command))
			return NULL;
		in = popen(command, "r");
	}
	else
		in = fopen(path, "rb");
	if (in == NULL)
		return NULL;
	for (;;)
	{
		size_t n;

		if (room - got < (1 << 20) + 1)
		{
			char *more = realloc(bytes, room = 2 * room + (2 << 20));

			if (more == NULL)
			{
				free(bytes);
				bytes = NULL;
				break;
			}
			bytes = more;
		}
		n = fread(bytes + got, 1, room - got - 1, in);
		if (n == 0)
			break;
		got += n;
	}
	failed = ferror(in) != 0;
	if ((packed ? pclose(in) : fclose(in)) != 0)
		failed = true;
	if (bytes == NULL || failed)
	{
		free(bytes);
		return NULL;
	}
	bytes[got] = '\0';
	*size = got;
	return bytes;
}

/* Reads the next number of the text, after blanks and commas. */
static bool
number(char **at, double *value)
{
	char *end;

	*at += strspn(*at, " \t\r\n,");
	*value = strtod(*at, &end);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

static double *
new_coords(rb_set *objects, rb_kind kind, double n)
{
	double *coords;

	if (!(n >= 0 && n < RB_MAX_OBJECTS))
		return NULL;
	coords = malloc(sizeof(double) * rb_kind_width(kind) * n + 1);
	objects->kind = kind;
	objects->nparts = objects->nrows = (uint32_t) n;
	objects->coords = coords;
	objects->row_of = NULL;
	return coords;
}

static bool
scan_faces(char *at, const double *points, double npoints, double *coords, uint32_t nfaces)
{
	for (uint32_t i = 0; i < nfaces; i++)
	{
		double corners;

		if (!number(&at, &corners) || corners != 3)
			return false;
		for (int k = 0; k < 3; k++)
		{
			double point;

			if (!number(&at, &point) || !(point >= 0 && point < npoints))
				return false;
			memcpy(coords, points + 3 * (size_t) point, 3 * sizeof(double));
			coords += 3;
		}
	}
	return true;
}

static bool
read_off(char *at, rb_set *objects)
{
	double head[3];
	double *points;
	double *coords;
	bool ok = true;

	if (strncmp(at, "OFF", 3) != 0)
		return false;
	at += 3;
	for (int k = 0; k < 3; k++)
		if (!number(&at, &head[k]) || !(head[k] >= 0))
			return false;
	points = malloc(sizeof(double) * 3 * head[0] + 1);
	coords = new_coords(objects, RB_TRIANGLE3, head[1]);
	if (points == NULL || coords == NULL)
		ok = false;
	for (size_t k = 0; ok && k < 3 * (size_t) head[0]; k++)
		ok = number(&at, &points[k]);
	if (ok)
		ok = scan_faces(at, points, head[0], coords, objects->nparts);
	free(points);
	return ok;
}

static bool
read_csv(char *at, rb_set *objects)
{
	char *line = strchr(at, '\n');
	int columns = 1;
	size_t rows = 0;
	double *coords;

	if (line == NULL)
		return false;
	for (char *c = at; c < line; c++)
		columns += *c == ',';
	for (char *c = line; (c = strchr(c, '\n')) != NULL && c[1] != '\0'; c++)
		rows++;
	if (columns != 7 && columns != 5)
		return false;
	coords = new_coords(objects, columns == 7 ? RB_SEGMENT3 : RB_SEGMENT2, rows);
	if (coords == NULL)
		return false;
	at = line;
	for (size_t i = 0; i < rows; i++)
	{
		double id;

		if (!number(&at, &id) || id != i)
			return false;
		for (int k = 1; k < columns; k++)
			if (!number(&at, coords++))
				return false;
	}
	return true;
}

static bool
read_raw(const char *bytes, size_t size, rb_kind kind, rb_set *objects)
{
	size_t object = sizeof(double) * rb_kind_width(kind);
	double *coords = size % object == 0 ? new_coords(objects, kind, size / object) : NULL;

	if (coords == NULL)
		return false;
	memcpy(coords, bytes, size);
	return true;
}

bool
read_objects(const char *path, rb_kind kind, const double shift[3], rb_set *objects)
{
	size_t size = 0;
	char *bytes;
	bool ok;
	int dim;

	if (path[0] == '@')
		return workload_named(path + 1, kind, objects) ||
			   complain(path, "is no workload, or too large");
	memset(objects, 0, sizeof(*objects));
	bytes = slurp(path, &size);
	if (bytes == NULL)
		return complain(path, "cannot be read");
	if (ends_with(path, ".off") || ends_with(path, ".off.xz"))
		ok = read_off(bytes, objects);
	else if (ends_with(path, ".csv") || ends_with(path, ".csv.xz"))
		ok = read_csv(bytes, objects);
	else
		ok = read_raw(bytes, size, kind, objects);
	free(bytes);
	if (!ok)
	{
		free((void *) objects->coords);
		return complain(path, "is malformed or too large");
	}
	dim = objects->kind == RB_SEGMENT2 || objects->kind == RB_BOX2 ? 2 : 3;
	if (shift[0] != 0 || shift[1] != 0 || shift[2] != 0)
	{
		double *coords = (double *) objects->coords;
		size_t n = (size_t) objects->nparts * rb_kind_width(objects->kind);

		for (size_t k = 0; k < n; k++)
			coords[k] += shift[k % dim];
	}
	return true;
}
