/*
 * scale.c
 *	  Divides a mesh with extreme coordinates by a power of two while it is refined.
 *
 * Refinement measures lengths, volumes and spheres in doubles (measure.h). Their products have up to
 * eight coordinates as factors, so they overflow at coordinates of about 1e38 and underflow at about
 * 1e-24 if the mesh has fine detail. Division by a power of two is exact and changes no sign of an
 * exact predicate, so the same mesh in other units is refined alike.
 */
#include "refine/angles.h"
#include "refine/refining.h"

#include <float.h>

/* Largest exponent of a point of the sizing field, beyond which its squared distance overflows */
#define SIZE_EXPONENT 400

int
rb_refining_exponent(const rb_refine_options *options, const rb_tets *tets)
{
	const size_t n = 3 * (size_t) tets->npoints;
	const int exponent = rb_exponent_to_remove(tets->points, n);

	if (exponent == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (ldexp(ldexp(tets->points[i], -exponent), exponent) != tets->points[i])
			return 0;
	for (uint32_t i = 0; i < options->nsizes; i++)
		for (int k = 0; k < 3; k++)
			if (fabs(ldexp(options->sizes[i].at[k], -exponent)) > ldexp(1, SIZE_EXPONENT))
				return 0;
	return exponent;
}

/* Divides a volume by 2^(3 exponent), but returns no zero, which would be no limit to refinement. */
static double
divide_volume(double volume, int exponent)
{
	return fmax(ldexp(volume, -3 * exponent), DBL_MIN);
}

/* Multiplies the points of a mesh by 2^exponent. */
static void
multiply_points(rb_tets *tets, int exponent)
{
	const size_t n = 3 * (size_t) tets->npoints;

	for (size_t i = 0; i < n && exponent != 0; i++)
		tets->points[i] = ldexp(tets->points[i], exponent);
}

rb_status
rb_refining_scale(rb_context *ctx, const rb_refine_options *options, int exponent,
				  rb_scaled_limits *limits, rb_tets *tets)
{
	*limits = (rb_scaled_limits){.options = *options};
	multiply_points(tets, -exponent);
	if (exponent == 0)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(ctx, limits->region_volumes, options->nregion_volumes + 1));
	RB_TRY(RB_ALLOCATE(ctx, limits->sizes, options->nsizes + 1));
	limits->options.max_volume = divide_volume(options->max_volume, exponent);
	limits->options.region_volumes = limits->region_volumes;
	limits->options.sizes = limits->sizes;
	for (uint32_t i = 0; i < options->nregion_volumes; i++)
	{
		limits->region_volumes[i] = options->region_volumes[i];
		limits->region_volumes[i].volume =
			divide_volume(options->region_volumes[i].volume, exponent);
	}
	for (uint32_t i = 0; i < options->nsizes; i++)
	{
		limits->sizes[i].volume = divide_volume(options->sizes[i].volume, exponent);
		for (int k = 0; k < 3; k++)
			limits->sizes[i].at[k] = ldexp(options->sizes[i].at[k], -exponent);
	}
	return RB_OK;
}

void
rb_refining_unscale(rb_context *ctx, int exponent, rb_scaled_limits *limits, rb_tets *tets)
{
	multiply_points(tets, exponent);
	RB_FREE(ctx->memory, limits->region_volumes);
	RB_FREE(ctx->memory, limits->sizes);
}

bool
rb_refining_is_scale_exact(const rb_refining *r, int exponent)
{
	for (uint32_t i = 0; i < r->nsites && exponent != 0; i++)
		for (int k = 0; k < 3; k++)
		{
			const double x = r->mesh.sites[i].at[k];

			if (ldexp(ldexp(x, exponent), -exponent) != x)
				return false;
		}
	return true;
}
