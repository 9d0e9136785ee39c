-- Tests the functions that return exact signs.
\set schema predicates
\i sql/fixtures/prologue.sql

-- Left, right, on the line; above, below, in the plane
SELECT redblue_orient2d(0, 0, 1, 0, 0, 1) AS left, redblue_orient2d(0, 0, 1, 0, 0, -1) AS right, redblue_orient2d(0, 0, 1, 1, 3, 3) AS on;
SELECT redblue_orient3d(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1) AS above, redblue_orient3d(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, -1) AS below,
	redblue_orient3d(0, 0, 0, 1, 0, 0, 0, 1, 0, 5, 5, 0) AS in;
SELECT redblue_incircle(1, 0, 0, 1, -1, 0, 0, 0) AS inside, redblue_incircle(1, 0, 0, 1, -1, 0, 0, -2) AS outside, redblue_incircle(1, 0, 0, 1, -1, 0, 0, -1) AS on;
SELECT redblue_incircle(-1, 0, 0, 1, 1, 0, 0, 0) AS turned;
SELECT redblue_insphere(1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 0, 0, 0) * redblue_orient3d(1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0) AS inside,
	redblue_insphere(1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 0, 0, -2) * redblue_orient3d(1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0) AS outside,
	redblue_insphere(1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 0, 0, -1) AS on;

-- One unit in the last place determines the sign, where float8 arithmetic gives 0.
SELECT redblue_orient2d(0.5, 0.5, 12, 12, 24, 24) AS on, redblue_orient2d(0.5, 0.5, 12, 12, 24, 24.000000000000004) AS left,
	redblue_orient2d(0.5, 0.5, 12, 12, 24, 23.999999999999996) AS right;
SELECT redblue_orient2d(0.50000000000000011, 0.5, 12, 12, 24, 24) AS a, redblue_orient2d(0.5, 0.50000000000000011, 12, 12, 24, 24) AS b;
SELECT redblue_orient3d(0, 0, 0, 1e300, 0, 0, 0, 1e300, 0, 1, 1, 5e-324) AS above, redblue_orient3d(0, 0, 0, 1e300, 0, 0, 0, 1e300, 0, 1, 1, -5e-324) AS below;
SELECT redblue_orient2d(5e-324, 0, 0, 5e-324, 0, 0) AS denormal, redblue_orient2d(-1.7976931348623157e308, -1.7976931348623157e308, 1.7976931348623157e308, 1.7976931348623157e308, 0, 5e-324) AS extreme;
SELECT redblue_incircle(1e200, 0, 0, 1e200, -1e200, 0, 0, -1e200) AS on, redblue_incircle(1e200, 0, 0, 1e200, -1e200, 0, 5e-324, -1e200) AS off;

-- Swapping two points reverses the sign; a rotation of three points does not.
SELECT count(*) FROM generate_series(1, 1000) i,
	LATERAL (SELECT sin(i) a, cos(i * 7) b, sin(i * 3) c, cos(i * 5) d, sin(i * 11) e, cos(i * 13) f) s
WHERE redblue_orient2d(a, b, c, d, e, f) <> -redblue_orient2d(c, d, a, b, e, f) OR redblue_orient2d(a, b, c, d, e, f) <> redblue_orient2d(c, d, e, f, a, b);

-- NULL gives NULL. NaN and infinity are errors that name the argument.
SELECT redblue_orient2d(NULL, 0, 1, 0, 0, 1) IS NULL AS o2, redblue_orient3d(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, NULL) IS NULL AS o3,
	redblue_incircle(1, 0, 0, 1, -1, NULL, 0, 0) IS NULL AS ic, redblue_insphere(1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, NULL, 0, 0) IS NULL AS is;
SELECT redblue_orient2d(0, 0, 1, 'NaN', 0, 1);
SELECT redblue_orient3d(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'Infinity');
SELECT redblue_incircle(1, 0, 0, 1, '-Infinity', 0, 0, 0);
SELECT redblue_insphere(1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 0, 'NaN', 0);
-- Named arguments
SELECT redblue_orient2d(ax => 0, ay => 0, bx => 1, by => 0, cx => 0, cy => 1);
DROP SCHEMA predicates;
