/* What the loops of one instruction set offer; loops.c is compiled once for each. */
#ifndef TENSORFLEET_KERNELS_H
#define TENSORFLEET_KERNELS_H

#include <stdint.h>

/* Elements of a block: a dozen of them stay in the first cache. */
#define BLOCK 1024

/* The names of NumPy's ufuncs, in the order of tensorfleet_kernels.STEPS, and erf, lgamma, and steps that are several at
 * once: to += (a - to) b (move), to += a b, to -= a b, to -= a / b, to = sqrt(a) + b. Each part is rounded by itself. */
#define STEPS(X) \
  X(ADD, add) X(SUBTRACT, subtract) X(MULTIPLY, multiply) X(DIVIDE, divide) \
  X(MAXIMUM, maximum) X(MINIMUM, minimum) X(FMIN, fmin) X(FMAX, fmax) X(GREATER, greater) X(LESS, less) \
  X(LOGADDEXP, logaddexp) X(ARCTAN2, arctan2) X(REMAINDER, remainder) \
  X(MOVE, move) X(ADD_PRODUCT, add_product) X(SUBTRACT_PRODUCT, subtract_product) \
  X(SUBTRACT_QUOTIENT, subtract_quotient) X(ADD_TO_ROOT, add_to_root) \
  X(NEGATIVE, negative) X(ABSOLUTE, absolute) X(SIGN, sign) X(SQUARE, square) X(SQRT, sqrt) \
  X(RECIPROCAL, reciprocal) X(EXP, exp) X(EXPM1, expm1) X(LOG, log) X(LOG1P, log1p) X(TANH, tanh) \
  X(CEIL, ceil) X(FLOOR, floor) X(RINT, rint) X(ARCTAN, arctan) X(ERF, erf) X(LGAMMA, lgamma)

#define NAME_STEP(upper, lower) STEP_##upper,
enum step { STEPS(NAME_STEP) STEP_COUNT };
#undef NAME_STEP
#define FIRST_UNARY STEP_NEGATIVE

struct loops {
  /* out = step(a, b); an operand that is one number for all elements has its `is_number` set. */
  void (*step)(enum step step, float *out, const float *a, int a_is_number, const float *b, int b_is_number,
               long n);
  /* Sums of the columns of x [rows, width] and of their squared distances from their means. */
  void (*moments)(const float *x, long rows, long width, float *mean, float *squares);
  /* y = (x - mean) * factor + offset by columns. */
  void (*normalize)(const float *x, float *y, long rows, long width, const float *mean, const float *factor,
                    const float *offset);
  /* Column sums of g, and of g * (x - mean); of g alone where x is NULL. */
  void (*column_sums)(const float *g, const float *x, const float *mean, long rows, long width, float *sums,
                      float *products);
  /* d = (g - shift - (x - mean) * slope) * factor by columns. */
  void (*normalize_grad)(const float *g, const float *x, float *d, long rows, long width, const float *mean,
                         const float *shift, const float *slope, const float *factor);
  /* Sums of squares of `reach` columns to either side and the column itself, from left to right; squares [width + 2
   * reach] is a buffer whose margins are zeros. */
  void (*near_squares)(const float *x, float *out, float *squares, long width, long reach);
  float (*sum)(const float *x, long n);
  float (*maximum)(const float *x, long n);
  float (*multiplied)(const float *x, long n);
  /* out = exp(x - highest) (or not stored, where out is NULL); returns the sum. */
  float (*exp_sum)(const float *x, float *out, float highest, long n);
  /* out = x * factor - y (y may be NULL). */
  void (*scale_less)(const float *x, float *out, float factor, const float *y, long n);
  /* The sum of x * (y - shift). */
  float (*dot)(const float *x, const float *y, float shift, long n);
  /* log of one number, as the steps compute it. */
  float (*log_of)(float x);
  /* The maxima of a window of an image, whose rows and columns are some steps apart, and the gradient that goes to the
   * first of each, with whether one of these is NaN; out and gradient are [depth]. */
  void (*max_window)(const float *x, long y_step, long x_step, long height, long width, float *out, long depth);
  int (*max_window_grad)(float *into, const float *x, long y_step, long x_step, long height, long width,
                         const float *gradient, long depth);
  /* out = condition ? yes : no, of elements of four bytes; an operand that is one number is taken for all. */
  void (*select)(int32_t *out, const unsigned char *condition, const int32_t *yes, int yes_is_number,
                 const int32_t *no, int no_is_number, long n);
  /* How many elements are greater than the limit; -1 where not all of them are finite. */
  long (*count_above)(const float *x, float limit, long n);
  /* out = a + (b - a) * share. */
  void (*blend)(float *out, const float *a, const float *b, float share, long n);
  /* Half precision, of the nearest value; NULL without an instruction for it. */
  void (*to_half)(uint16_t *out, const float *x, long n);
};

/* Those of the best instruction set that the processor has. */
extern const struct loops *loops;

#endif
