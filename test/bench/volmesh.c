/*
 * volmesh.c
 *	  Generates a volumetric mesh of any size, identical on every machine.
 *
 *	  volmesh N SEED [JITTER [SX SY SZ]] [--csv]
 *
 * The published experiments join tetrahedralized volumes: every triangle of every tetrahedron,
 * including inner ones, so that a triangle meets about ten triangles of the other mesh. Here the
 * volume is an N x N x N lattice of cubes, each divided into six tetrahedra by Kuhn's rule. Such a
 * tetrahedron is a path from one corner of a cube to the opposite one along the axes, so every
 * triangle is a chain of lattice points
 *
 *	v  <  v + S1  <  v + S2		S1, S2 nested sets of axis steps
 *
 * and there are twelve different chains (S1, S2) at each point v.
 *
 * Lattice points move by at most JITTER cells on each axis (0.2), by a hash of seed, axis and
 * point; then all points by (SX, SY, SZ) cells; then everything is scaled by 1 / N. Without jitter,
 * nearly every contact of two such meshes is a touch or coplanar.
 *
 * The output is nine native doubles per triangle, or with --csv a row id,ax,ay,az,bx,by,bz,cx,cy,cz
 * with ids from 0. Every operation is correctly rounded, so the doubles do not depend on the
 * compiler unless it fuses multiply-adds (-ffp-contract=off).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chains as axis masks, in the order in which triangles are numbered */
static const struct
{
	int s1;
	int s2;
} chains[12] = {{1, 3}, {2, 3}, {1, 5}, {4, 5}, {2, 6}, {4, 6},
				{1, 7}, {2, 7}, {4, 7}, {3, 7}, {5, 7}, {6, 7}};

/* Performs one step of splitmix64. */
static uint64_t
hash(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Returns a multiple of 2^-52 in [-1, 1). */
static double
noise(uint64_t seed, int axis, uint64_t point)
{
	uint64_t bits = hash(hash(3 * seed + axis) ^ point) >> 11;

	return (double) bits * 0x1p-52 - 1.0;
}

/* Computes the coordinates of all (n+1)^3 lattice points, x fastest. */
static double *
lattice(long n, uint64_t seed, double jitter, const double shift[3])
{
	long m = n + 1;
	double cell = 1.0 / n;
	double *points = malloc(sizeof(double) * 3 * m * m * m);
	long at[3];
	uint64_t point = 0;

	if (points == NULL)
		return NULL;
	for (at[2] = 0; at[2] < m; at[2]++)
		for (at[1] = 0; at[1] < m; at[1]++)
			for (at[0] = 0; at[0] < m; at[0]++, point++)
				for (int axis = 0; axis < 3; axis++)
					points[3 * point + axis] =
						(at[axis] + jitter * noise(seed, axis, point) + shift[axis]) * cell;
	return points;
}

/* Returns the offset of the steps of a mask in the array of points. */
static long
stride(int mask, long m)
{
	return (mask & 1) + ((mask >> 1) & 1) * m + ((mask >> 2) & 1) * m * m;
}

static void
print_triangle(long id, const double corners[9], int csv)
{
	if (!csv)
	{
		fwrite(corners, sizeof(double), 9, stdout);
		return;
	}
	printf("%ld", id);
	for (int k = 0; k < 9; k++)
		printf(",%.17g", corners[k]);
	putchar('\n');
}

static void
print_mesh(const double *points, long n, int csv)
{
	long m = n + 1;
	long id = 0;

	for (long z = 0; z <= n; z++)
		for (long y = 0; y <= n; y++)
			for (long x = 0; x <= n; x++)
			{
				const double *v = points + 3 * ((z * m + y) * m + x);

				for (int c = 0; c < 12; c++)
				{
					int s1 = chains[c].s1;
					int s2 = chains[c].s2;
					double corners[9];

					if (((s2 & 1) && x == n) || ((s2 & 2) && y == n) || ((s2 & 4) && z == n))
						continue;
					memcpy(corners, v, 3 * sizeof(double));
					memcpy(corners + 3, v + 3 * stride(s1, m), 3 * sizeof(double));
					memcpy(corners + 6, v + 3 * stride(s2, m), 3 * sizeof(double));
					print_triangle(id++, corners, csv);
				}
			}
}

int
main(int argc, char **argv)
{
	double arg[6] = {0, 1, 0.2, 0, 0, 0};
	int nargs = 0;
	int csv = 0;
	long n;
	double *points;

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--csv") == 0)
			csv = 1;
		else if (nargs < 6)
			arg[nargs++] = strtod(argv[i], NULL);
	}
	n = (long) arg[0];
	if (n < 1 || n > 400)
	{
		fprintf(stderr, "usage: volmesh N SEED [JITTER [SX SY SZ]] [--csv], 1 <= N <= 400\n");
		return 2;
	}
	points = lattice(n, (uint64_t) arg[1], arg[2], arg + 3);
	if (points == NULL)
	{
		fprintf(stderr, "volmesh: out of memory\n");
		return 1;
	}
	print_mesh(points, n, csv);
	free(points);
	return fflush(stdout) != 0 || ferror(stdout) ? 1 : 0;
}
