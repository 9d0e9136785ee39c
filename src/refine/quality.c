/*
 * quality.c
 *	  Measures the quality of a tetrahedron in doubles, for reports.
 *
 * Which tetrahedra are bad is decided in criteria.h, with the same formulas on every machine.
 */
#include "refine/measure.h"
#include "refine/refine.h"

#include <math.h>

static void
subtract_points(const double *a, const double *b, double *d)
{
	for (int i = 0; i < 3; i++)
		d[i] = a[i] - b[i];
}

static void
cross_product(const double *a, const double *b, double *n)
{
	n[0] = a[1] * b[2] - a[2] * b[1];
	n[1] = a[2] * b[0] - a[0] * b[2];
	n[2] = a[0] * b[1] - a[1] * b[0];
}

static double
dot_product(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/*
 * Computes the quality of a tetrahedron. With volume6 = 6 V and m of measure.h, the circumradius
 * is R = |m| / 12 V. The dihedral angle at the edge of two faces is 180 degrees minus the angle
 * between their outward normals. It is computed by atan2, which is accurate for flat angles, too.
 */
void
rb_tet_measure(const double *a, const double *b, const double *c, const double *d,
			   rb_tet_quality *quality)
{
	const double *p[4];
	double u[3], v[3], w[3], n[4][3], shortest = INFINITY;
	rb_spans spans = rb_spans_of(a, b, c, d);

	p[0] = a;
	p[1] = b;
	p[2] = c;
	p[3] = d;
	subtract_points(a, d, u);
	subtract_points(b, d, v);
	subtract_points(c, d, w);
	cross_product(v, w, n[0]);
	cross_product(w, u, n[1]);
	cross_product(u, v, n[2]);
	for (int i = 0; i < 3; i++)
		n[3][i] = -(n[0][i] + n[1][i] + n[2][i]);
	quality->volume = fabs(spans.volume6) / 6;
	quality->min_dihedral = 180;
	quality->max_dihedral = 0;
	for (int i = 0; i < 4; i++)
		for (int j = i + 1; j < 4; j++)
		{
			double edge[3], angle;

			subtract_points(p[i], p[j], edge);
			shortest = fmin(shortest, dot_product(edge, edge));
			cross_product(n[i], n[j], edge);
			angle =
				180 - atan2(sqrt(dot_product(edge, edge)), dot_product(n[i], n[j])) * (180 / M_PI);
			quality->min_dihedral = fmin(quality->min_dihedral, angle);
			quality->max_dihedral = fmax(quality->max_dihedral, angle);
		}
	quality->radius_edge =
		sqrt(dot_product(spans.m, spans.m)) / (2 * fabs(spans.volume6)) / sqrt(shortest);
}
