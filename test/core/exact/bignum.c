/*
 * bignum.c
 *	  Tests numbers of any length against GMP: sums, products, quotients and roots, and their
 *	  roundings.
 */
#include "check.h"
#include "naive.h"
#include "points.h"
#include "core/exact/bignum.h"

#include <float.h>

#define WIDE_BITS 30000

static bool
is_number(const rb_number *x, const mpz_t truth)
{
	mpz_t words;
	bool same;

	/* In units of 2^-6400 */
	mpz_init(words);
	mpz_import(words, (size_t) x->n, -1, sizeof x->word[0], 0, 0, x->word);
	mpz_mul_2exp(words, words, (mp_bitcnt_t) (64 * (x->low + 100)));
	if (x->sign < 0)
		mpz_neg(words, words);
	same = mpz_cmp(words, truth) == 0;
	mpz_clear(words);
	return same && x->sign == mpz_sgn(truth) && (x->n > 0) == (x->sign != 0) &&
		   (x->n == 0 || (x->word[0] != 0 && x->word[x->n - 1] != 0));
}

/*
 * Tests sums and products of word sequences in any relative position: nested, overlapping or apart,
 * with words of all ones, and with the result stored in either operand.
 */
static void
words_in_any_place(void)
{
	for (long i = check_rounds(20000); i > 0; i--)
	{
		rb_number of[2], sum, product;
		mpz_t z[2], truth;

		mpz_init(truth);
		for (int k = 0; k < 2; k++)
		{
			const int n = 1 + check_below(check_below(4) ? 4 : 12);

			of[k].sign = check_below(2) ? 1 : -1;
			of[k].n = n;
			of[k].low = check_below(check_below(2) ? 3 : 20) - 5;
			for (int w = 0; w < n; w++)
				of[k].word[w] = check_below(3) == 0   ? UINT64_MAX
								: check_below(3) == 0 ? (w == 0 || w == n - 1)
													  : check_random() | 1;
			/* An equal number, or one that differs only in its last word */
			if (k == 1 && check_below(4) == 0)
			{
				rb_number_copy(&of[1], &of[0]);
				of[1].word[0] ^= check_below(2) ? 2 : 0;
				of[1].sign = check_below(2) ? 1 : -1;
			}
			mpz_init(z[k]);
			mpz_import(z[k], (size_t) of[k].n, -1, sizeof of[k].word[0], 0, 0, of[k].word);
			mpz_mul_2exp(z[k], z[k], (mp_bitcnt_t) (64 * (of[k].low + 100)));
			if (of[k].sign < 0)
				mpz_neg(z[k], z[k]);
		}
		for (int minus = 0; minus < 2; minus++)
		{
			void (*op)(rb_number *, const rb_number *, const rb_number *) =
				minus ? rb_number_sub : rb_number_add;

			(minus ? mpz_sub : mpz_add)(truth, z[0], z[1]);
			op(&sum, &of[0], &of[1]);
			CHECK(is_number(&sum, truth), "sum");
			rb_number_copy(&sum, &of[0]);
			op(&sum, &sum, &of[1]);
			CHECK(is_number(&sum, truth), "in place of the first");
			rb_number_copy(&sum, &of[1]);
			op(&sum, &of[0], &sum);
			CHECK(is_number(&sum, truth), "in place of the second");
			op(&sum, &of[0], &of[0]);
			mpz_mul_ui(truth, z[0], minus ? 0 : 2);
			CHECK(is_number(&sum, truth), "with itself");
		}
		CHECK(rb_number_compare(&of[0], &of[1]) ==
				  (mpz_cmp(z[0], z[1]) > 0) - (mpz_cmp(z[0], z[1]) < 0),
			  "order");
		rb_number_mul(&product, &of[0], &of[1]);
		mpz_mul(truth, z[0], z[1]);
		mpz_tdiv_q_2exp(truth, truth, 6400);
		CHECK(is_number(&product, truth), "product");
		for (int k = 0; k < 2; k++)
			mpz_clear(z[k]);
		mpz_clear(truth);
	}
}

static void
quotients_of_sums(void)
{
	long rounds = check_rounds(150);

	for (int family = 0; family < POINTS_FAMILIES; family++)
		for (long i = 0; i < rounds; i++)
		{
			double p[9], got_it;
			rb_number x, y, z, sum, below, root;
			mpq_t q[6], t;
			mpf_t wide;

			points_make(family, 3, 3, p);
			if (check_below(4) == 0)
				p[3] = p[0];
			mpq_init(t);
			for (int k = 0; k < 6; k++)
			{
				mpq_init(q[k]);
				mpq_set_d(q[k], p[k]);
			}
			/* Compute (p0 p1 + p2 p3) / (p4 - p5). */
			rb_number_of(&x, p[0]);
			rb_number_of(&y, p[1]);
			rb_number_mul(&sum, &x, &y);
			rb_number_of(&x, p[2]);
			rb_number_of(&y, p[3]);
			rb_number_mul(&z, &x, &y);
			rb_number_add(&sum, &sum, &z);
			rb_number_difference(&below, p[4], p[5]);
			mpq_mul(q[0], q[0], q[1]);
			mpq_mul(t, q[2], q[3]);
			mpq_add(t, t, q[0]);
			mpq_sub(q[4], q[4], q[5]);
			CHECK(sum.sign == mpq_sgn(t) && below.sign == mpq_sgn(q[4]), "signs");
			mpf_init2(wide, WIDE_BITS);
			if (below.sign != 0)
			{
				got_it = rb_number_round_quotient(&sum, &below);
				mpq_div(t, t, q[4]);
				mpf_set_q(wide, t);
				if (fabs(got_it) < DBL_MAX)
					CHECK(naive_is_nearest(got_it, wide), "%s: quotient %.17g, not %.17g",
						  points_family_name[family], got_it, mpq_get_d(t));
			}
			/* The root of (p0 p1 + p2 p3)^2 is exact. */
			rb_number_mul(&z, &sum, &sum);
			CHECK(rb_number_is_square(&root, &z), "%s: no square", points_family_name[family]);
			sum.sign = abs(sum.sign);
			CHECK(rb_number_compare(&root, &sum) == 0, "%s: another root",
				  points_family_name[family]);
			rb_number_root(&root, &z, 3);
			CHECK(rb_number_round(&root) == rb_number_round(&sum), "%s: root",
				  points_family_name[family]);
			rb_number_of(&y, 2);
			rb_number_mul(&x, &z, &y);
			CHECK(sum.sign == 0 || !rb_number_is_square(&root, &x), "%s: a square",
				  points_family_name[family]);
			for (int k = 0; k < 6; k++)
				mpq_clear(q[k]);
			mpq_clear(t);
			mpf_clear(wide);
		}
}

/*
 * Tests a quotient that is a midpoint between two doubles except for the last words of the divisor.
 */
static void
quotient_beside_the_middle(void)
{
	rb_number three, tiny, below, above, odd;
	double rounded;

	rb_number_of(&three, 3);
	rb_number_of(&tiny, 0x1p-400);
	rb_number_of(&odd, 1);
	rb_number_of(&above, 0x1p53);
	rb_number_add(&odd, &odd, &above);
	rb_number_mul(&above, &odd, &three);
	rounded = rb_number_round_quotient(&above, &three);
	CHECK(rounded == 0x1p53, "%.17g", rounded);
	rb_number_sub(&below, &three, &tiny);
	rounded = rb_number_round_quotient(&above, &below);
	CHECK(rounded == 0x1p53 + 2, "%.17g", rounded);
	rb_number_add(&below, &three, &tiny);
	rounded = rb_number_round_quotient(&above, &below);
	CHECK(rounded == 0x1p53, "%.17g", rounded);
}

/* Tests the room for sums of numbers whose words are far apart. */
static void
room_for_sums(void)
{
	static rb_number low, high, sum;

	for (int by = 9000; by <= 12000; by += 500)
	{
		const bool fits = 2 * by / 64 + 3 <= RB_NUMBER_WORDS;

		rb_number_of_parts(&low, 1, -by);
		rb_number_of_parts(&high, 1, by);
		CHECK(rb_number_has_room_for_sum(&low, &high) == fits &&
				  rb_number_has_room_for_sum(&high, &low) == fits,
			  "2^%d and 2^%d", by, -by);
		if (!fits)
			continue;
		rb_number_add(&sum, &high, &low);
		rb_number_sub(&sum, &sum, &high);
		CHECK(rb_number_compare(&sum, &low) == 0, "2^%d and 2^%d", by, -by);
	}
	rb_number_of(&low, 0);
	CHECK(rb_number_has_room_for_sum(&low, &high) && rb_number_has_room_for_sum(&high, &low), "0");
}

int
main(void)
{
	CHECK_RUN(words_in_any_place);
	CHECK_RUN(quotients_of_sums);
	CHECK_RUN(quotient_beside_the_middle);
	CHECK_RUN(room_for_sums);
	return check_done();
}
