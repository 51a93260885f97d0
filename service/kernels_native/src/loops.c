/* The loops over float32, compiled once for each instruction set: VARIANT names the table.
 *
 * They are plain loops that compilers vectorize; none makes a decision in the middle of one. Contraction is off,
 * so that sums and products are those of NumPy, and where a fused multiply-add is meant, it is written. Nothing
 * here assumes that there is no NaN, infinity, denormal or negative zero. */
#define _DEFAULT_SOURCE /* lgamma_r */
#include "arithmetic.h"
#include "kernels.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)
#define INLINE static inline __attribute__((always_inline))
#if defined(__FMA__) || defined(__aarch64__)
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

INLINE float from_bits(int32_t i) {
  float f;
  memcpy(&f, &i, 4);
  return f;
}

INLINE int32_t to_bits(float f) {
  int32_t i;
  memcpy(&i, &f, 4);
  return i;
}

/* A condition as a mask: selection by masks vectorizes on every instruction set. */
INLINE float choose(int condition, float yes, float no) { return condition ? yes : no; }

#define LOG2_E 1.44269504088896341f
#define LN2_HIGH 0.693145751953125f
#define LN2_LOW 1.42860682030941723e-6f
#define ROUNDER 12582912.0f /* 1.5 * 2^23: added to a float, it leaves the nearest integer in the low bits */

/* x = n ln 2 + r with |r| <= ln 2 / 2; *half and *rest are powers of two whose product is 2^n, as 2^n itself
 * may be no float. */
INLINE float reduce(float x, float *half, float *rest) {
  float shifted = FMA(x, LOG2_E, ROUNDER);
  float n = shifted - ROUNDER;
  int32_t i = to_bits(shifted) - to_bits(ROUNDER);
  int32_t first = i >> 1;
  *half = from_bits((int32_t)((uint32_t)(first + 127) << 23));
  *rest = from_bits((int32_t)((uint32_t)(i - first + 127) << 23));
  return FMA(n, -LN2_LOW, FMA(n, -LN2_HIGH, x));
}

/* (exp(r) - 1 - r) / r^2 by the series: 5e-9 of the whole is what follows. */
INLINE float exp_tail(float r) {
  float p = 1.0f / 5040;
  p = FMA(p, r, 1.0f / 720);
  p = FMA(p, r, 1.0f / 120);
  p = FMA(p, r, 1.0f / 24);
  p = FMA(p, r, 1.0f / 6);
  return FMA(p, r, 0.5f);
}

INLINE float clamp_exponent(float x) {
  x = choose(x > 89.0f, 89.0f, x);
  return choose(x < -104.0f, -104.0f, x);
}

INLINE float exp_(float x) {
  float half, rest, r = reduce(clamp_exponent(x), &half, &rest);
  return (FMA(r * r, exp_tail(r), r) + 1.0f) * half * rest;
}

INLINE float expm1_(float x) {
  float half, rest, r = reduce(clamp_exponent(x), &half, &rest);
  float q = FMA(r * r, exp_tail(r), r);
  /* (1 + q) 2^n - 1, without the loss of small q */
  float inverse = from_bits((int32_t)(254u << 23) - to_bits(rest));
  float y = FMA(q, half, half - inverse) * rest;
  return choose(x == 0.0f, x, y);
}

INLINE float log_(float x) {
  int is_small = x < 1.17549435e-38f;
  float scaled = choose(is_small, x * 8388608.0f, x);
  int32_t bits = to_bits(scaled);
  int32_t exponent = (bits - 0x3f3504f3) >> 23;
  float m = from_bits(bits - (int32_t)((uint32_t)exponent << 23)); /* from sqrt(1/2) to sqrt(2) */
  float e = (float)exponent - choose(is_small, 23.0f, 0.0f);
  float f = m - 1.0f;
  float s = f / (2.0f + f), z = s * s;
  float p = 2.0f / 9;
  p = FMA(p, z, 2.0f / 7);
  p = FMA(p, z, 2.0f / 5);
  p = FMA(p, z, 2.0f / 3);
  float y = FMA(e, LN2_HIGH, FMA(e, LN2_LOW, f - s * FMA(-p, z, f)));
  y = choose(x == 0.0f, -INFINITY, y);
  y = choose(x < 0.0f, NAN, y);
  y = choose(x == INFINITY, x, y);
  return choose(x != x, x, y);
}

INLINE float log1p_(float x) {
  float u = 1.0f + x;
  float y = log_(u) + (x - (u - 1.0f)) / u;
  y = choose(u == 1.0f, x, y);
  y = choose(u == 0.0f, -INFINITY, y);
  return choose(x == INFINITY, x, y);
}

INLINE float tanh_(float x) {
  float t = choose(x > 9.5f, 9.5f, x);
  t = choose(t < -9.5f, -9.5f, t);
  float y = expm1_(2.0f * t);
  return y / (y + 2.0f);
}

/* x times the series of erf(x) / x in x^2, or 1 less exp(-x^2) / x times that of erfc(x) x exp(x^2) in 1 / x. */
INLINE float erf_(float x) {
  float magnitude = __builtin_fabsf(x);
  float z = choose(magnitude < 1.0f, x * x, 1.0f);
  float p = -9.67359069e-06f;
  p = FMA(p, z, 1.12682539e-04f);
  p = FMA(p, z, -8.48439654e-04f);
  p = FMA(p, z, 5.22105341e-03f);
  p = FMA(p, z, -2.68654383e-02f);
  p = FMA(p, z, 1.12837826e-01f);
  p = FMA(p, z, -3.76126385e-01f);
  p = FMA(p, z, 1.12837917f);
  float far = choose(magnitude > 1.0f, magnitude, 1.0f);
  far = choose(far > 4.1f, 4.1f, far); /* beyond, it is 1 */
  float u = 1.0f / far;
  float q = 5.71560739e-02f;
  q = FMA(q, u, -3.25899242e-01f);
  q = FMA(q, u, 7.88869179e-01f);
  q = FMA(q, u, -1.01500682f);
  q = FMA(q, u, 6.45966777e-01f);
  q = FMA(q, u, 5.33113134e-03f);
  q = FMA(q, u, -2.95517129e-01f);
  q = FMA(q, u, 2.67324715e-03f);
  q = FMA(q, u, 5.64010390e-01f);
  float y = __builtin_copysignf(1.0f - exp_(-far * far) * q * u, x);
  y = choose(magnitude < 1.0f, x * p, y);
  return choose(x != x, x, y);
}

#define HALF_PI_HIGH 1.57079637f
#define HALF_PI_LOW -4.37113883e-08f

/* atan of a number from 0 to 1: x times the series of atan(x) / x in x^2. */
INLINE float small_arctan(float small) {
  float z = small * small;
  float p = 1.08449275e-03f;
  p = FMA(p, z, -7.16616492e-03f);
  p = FMA(p, z, 2.22034550e-02f);
  p = FMA(p, z, -4.42736684e-02f);
  p = FMA(p, z, 6.71011400e-02f);
  p = FMA(p, z, -8.79611756e-02f);
  p = FMA(p, z, 1.10537848e-01f);
  p = FMA(p, z, -1.42790484e-01f);
  p = FMA(p, z, 1.99995959e-01f);
  p = FMA(p, z, -3.33333237e-01f);
  return FMA(p * z, small, small);
}

INLINE float arctan_(float x) {
  float magnitude = __builtin_fabsf(x);
  float y = small_arctan(choose(magnitude > 1.0f, 1.0f / magnitude, magnitude));
  y = choose(magnitude > 1.0f, (HALF_PI_HIGH - y) + HALF_PI_LOW, y);
  return choose(x != x, x, __builtin_copysignf(y, x));
}

/* The angle of (x, y), from its place in an eighth of the circle. */
INLINE float arctan2_(float y, float x) {
  float up = __builtin_fabsf(y), along = __builtin_fabsf(x);
  float more = choose(up > along, up, along), less = choose(up > along, along, up);
  float quotient = choose(less == more, choose(more == 0.0f, 0.0f, 1.0f), less / more);
  float angle = small_arctan(quotient);
  angle = choose(up > along, (HALF_PI_HIGH - angle) + HALF_PI_LOW, angle);
  angle = choose(to_bits(x) < 0, (2.0f * HALF_PI_HIGH - angle) + 2.0f * HALF_PI_LOW, angle);
  angle = __builtin_copysignf(angle, y);
  return choose((x != x) | (y != y), x + y, angle);
}

INLINE float maximum_(float a, float b) { return choose((a > b) | (a != a), a, b); }
INLINE float minimum_(float a, float b) { return choose((a < b) | (a != a), a, b); }
INLINE float fmax_(float a, float b) { return choose((a > b) | (b != b), a, b); }
INLINE float fmin_(float a, float b) { return choose((a < b) | (b != b), a, b); }

INLINE float sign_(float x) { return choose(x != x, x, choose(x > 0.0f, 1.0f, choose(x < 0.0f, -1.0f, 0.0f))); }

INLINE float logaddexp_(float a, float b) {
  float d = a - b;
  float y = maximum_(a, b) + log1p_(exp_(-__builtin_fabsf(d)));
  y = choose(a == b, a + 0.693147181f, y); /* two infinities as well */
  return choose(d != d, a + b, y);
}

/* Python's x % y: the rest that has the sign of y. */
static float exact_remainder(float x, float y) {
  float rest = fmodf(x, y);
  if (y == 0.0f || rest != rest) return rest;
  if (rest == 0.0f) return __builtin_copysignf(0.0f, y);
  return (y < 0.0f) != (rest < 0.0f) ? rest + y : rest;
}

/* By the quotient where that is small: with one rounding, x - n y is exact, or what the rest and y are together. */
INLINE void remainders_of(const int a_is_number, const int b_is_number, float *out, const float *a, const float *b,
                          long n) {
#if defined(__FMA__) || defined(__aarch64__)
  int32_t hard = out == a || out == b;
  if (!hard) {
    INDEPENDENT for (long i = 0; i < n; i++) {
      const float x = a_is_number ? *a : a[i], y = b_is_number ? *b : b[i], quotient = x / y;
      float rest = FMA(-__builtin_floorf(quotient), y, x);
      rest = choose((rest != 0.0f) & ((rest < 0.0f) != (y < 0.0f)), rest + y, rest);
      out[i] = choose(rest == 0.0f, __builtin_copysignf(0.0f, y), rest);
      hard |= !((__builtin_fabsf(quotient) < 4194304.0f) & (__builtin_fabsf(y) <= 3.402823466e38f));
    }
    if (!hard) return;
  }
#endif
  for (long i = 0; i < n; i++) out[i] = exact_remainder(a_is_number ? *a : a[i], b_is_number ? *b : b[i]);
}

static void remainders(float *out, const float *a, int a_is_number, const float *b, int b_is_number, long n) {
  if (a_is_number)
    remainders_of(1, 0, out, a, b, n);
  else if (b_is_number)
    remainders_of(0, 1, out, a, b, n);
  else
    remainders_of(0, 0, out, a, b, n);
}

static float lgamma_(float x) {
  int sign;
  return (float)lgamma_r((double)x, &sign);
}

#define BINARY(STEP, EXPRESSION)                                   \
  case STEP:                                                       \
    if (a_is_number) {                                             \
      const float x = *a;                                          \
      INDEPENDENT for (long i = 0; i < n; i++) {                   \
        const float y = b[i];                                      \
        out[i] = EXPRESSION;                                       \
      }                                                            \
    } else if (b_is_number) {                                      \
      const float y = *b;                                          \
      INDEPENDENT for (long i = 0; i < n; i++) {                   \
        const float x = a[i];                                      \
        out[i] = EXPRESSION;                                       \
      }                                                            \
    } else {                                                       \
      INDEPENDENT for (long i = 0; i < n; i++) {                   \
        const float x = a[i], y = b[i];                            \
        out[i] = EXPRESSION;                                       \
      }                                                            \
    }                                                              \
    break;

#define UNARY(STEP, EXPRESSION)                  \
  case STEP:                                     \
    INDEPENDENT for (long i = 0; i < n; i++) {   \
      const float x = a[i];                      \
      out[i] = EXPRESSION;                       \
    }                                            \
    break;

static void step(enum step which, float *out, const float *a, int a_is_number, const float *b, int b_is_number,
                 long n) {
  switch (which) {
    BINARY(STEP_ADD, DO_ADD(, x, y))
    BINARY(STEP_SUBTRACT, DO_SUBTRACT(, x, y))
    BINARY(STEP_MULTIPLY, DO_MULTIPLY(, x, y))
    BINARY(STEP_DIVIDE, DO_DIVIDE(, x, y))
    BINARY(STEP_MAXIMUM, maximum_(x, y))
    BINARY(STEP_MINIMUM, minimum_(x, y))
    BINARY(STEP_FMIN, fmin_(x, y))
    BINARY(STEP_FMAX, fmax_(x, y))
    BINARY(STEP_GREATER, choose(x > y, 1.0f, 0.0f))
    BINARY(STEP_LESS, choose(x < y, 1.0f, 0.0f))
    BINARY(STEP_LOGADDEXP, logaddexp_(x, y))
    BINARY(STEP_ARCTAN2, arctan2_(x, y))
    BINARY(STEP_MOVE, DO_MOVE(out[i], x, y))
    BINARY(STEP_ADD_PRODUCT, DO_ADD_PRODUCT(out[i], x, y))
    BINARY(STEP_SUBTRACT_PRODUCT, DO_SUBTRACT_PRODUCT(out[i], x, y))
    BINARY(STEP_SUBTRACT_QUOTIENT, DO_SUBTRACT_QUOTIENT(out[i], x, y))
    BINARY(STEP_ADD_TO_ROOT, DO_ADD_TO_ROOT(, x, y))
    case STEP_REMAINDER:
      remainders(out, a, a_is_number, b, b_is_number, n);
      break;
    case STEP_LGAMMA:
      for (long i = 0; i < n; i++) out[i] = lgamma_(a[i]);
      break;
    UNARY(STEP_NEGATIVE, -x)
    UNARY(STEP_ABSOLUTE, __builtin_fabsf(x))
    UNARY(STEP_SIGN, sign_(x))
    UNARY(STEP_SQUARE, x *x)
    UNARY(STEP_SQRT, DO_SQRT(, x, ))
    UNARY(STEP_RECIPROCAL, 1.0f / x)
    UNARY(STEP_EXP, exp_(x))
    UNARY(STEP_EXPM1, expm1_(x))
    UNARY(STEP_LOG, log_(x))
    UNARY(STEP_LOG1P, log1p_(x))
    UNARY(STEP_TANH, tanh_(x))
    UNARY(STEP_CEIL, __builtin_ceilf(x))
    UNARY(STEP_FLOOR, __builtin_floorf(x))
    UNARY(STEP_RINT, __builtin_rintf(x))
    UNARY(STEP_ARCTAN, arctan_(x))
    UNARY(STEP_ERF, erf_(x))
    case STEP_COUNT:
      break;
  }
}

/* Sums over columns go by groups of LANES columns at a time, whose accumulators stay in registers. */
#define LANES 32

INLINE void add_columns(const float *g, const float *x, const float *mean, long rows, long width, long lanes,
                        float *sums, float *products) {
  float s[LANES] = {0}, p[LANES] = {0};
  if (x == NULL) {
    for (long r = 0; r < rows; r++)
      for (long c = 0; c < lanes; c++) s[c] += g[r * width + c];
  } else {
    for (long r = 0; r < rows; r++)
      for (long c = 0; c < lanes; c++) {
        float v = g[r * width + c];
        s[c] += v;
        p[c] += v * (x[r * width + c] - mean[c]);
      }
  }
  for (long c = 0; c < lanes; c++) {
    sums[c] += s[c];
    if (products != NULL) products[c] += p[c];
  }
}

static void column_sums(const float *g, const float *x, const float *mean, long rows, long width, float *sums,
                        float *products) {
  /* So many rows at a time that what one group of columns has fetched is still there for the next, and that no
   * sum is of many small numbers to one large. */
  const long step_rows = 128;
  for (long c = 0; c < width; c++) {
    sums[c] = 0;
    if (products != NULL) products[c] = 0;
  }
  for (long r = 0; r < rows; r += step_rows) {
    long count = rows - r < step_rows ? rows - r : step_rows, c = 0;
    const float *rg = g + r * width, *rx = x == NULL ? NULL : x + r * width;
#define GROUP(N)                                                                                    \
  for (; c + N <= width; c += N)                                                                    \
    add_columns(rg + c, x == NULL ? NULL : rx + c, x == NULL ? NULL : mean + c, count, width, N, sums + c, \
                products == NULL ? NULL : products + c);
    GROUP(LANES)
    GROUP(16)
    GROUP(8)
    GROUP(1)
#undef GROUP
  }
}

static void moments(const float *x, long rows, long width, float *mean, float *squares) {
  column_sums(x, NULL, NULL, rows, width, mean, NULL);
  for (long c = 0; c < width; c++) mean[c] /= (float)rows;
  /* The rows are few enough to be in the cache still. */
  for (long c = 0; c < width; c++) squares[c] = 0;
  for (long r = 0; r < rows; r++) {
    const float *row = x + r * width;
    INDEPENDENT for (long c = 0; c < width; c++) {
      float d = row[c] - mean[c];
      squares[c] += d * d;
    }
  }
}

#define BY_COLUMNS(EXPRESSION)                               \
  for (long r = 0; r < rows; r++) {                          \
    const long at = r * width;                               \
    INDEPENDENT for (long c = 0; c < width; c++) EXPRESSION; \
  }

static void normalize(const float *x, float *y, long rows, long width, const float *mean, const float *factor,
                      const float *offset) {
  BY_COLUMNS(y[at + c] = (x[at + c] - mean[c]) * factor[c] + offset[c])
}

static void normalize_grad(const float *g, const float *x, float *d, long rows, long width, const float *mean,
                           const float *shift, const float *slope, const float *factor) {
  BY_COLUMNS(d[at + c] = (g[at + c] - shift[c] - (x[at + c] - mean[c]) * slope[c]) * factor[c])
}

/* The sum of a short row: LANES partial sums, which are then added pair by pair. */
INLINE float fold(float *s) {
  for (long half = LANES / 2; half; half /= 2)
    for (long i = 0; i < half; i++) s[i] += s[i + half];
  return s[0];
}

static float sum(const float *x, long n) {
  float total = 0;
  for (long begin = 0; begin < n; begin += 4 * BLOCK) {
    long end = begin + 4 * BLOCK < n ? begin + 4 * BLOCK : n, i = begin;
    float s[LANES] = {0};
    for (; i + LANES <= end; i += LANES)
      for (long c = 0; c < LANES; c++) s[c] += x[i + c];
    for (; i < end; i++) s[(i - begin) % LANES] += x[i];
    total += fold(s);
  }
  return total;
}

static void near_squares(const float *x, float *out, float *squares, long width, long reach) {
  float *own = squares + reach;
  INDEPENDENT for (long i = 0; i < width; i++) {
    own[i] = x[i] * x[i];
    out[i] = 0;
  }
  for (long k = 0; k <= 2 * reach; k++) {
    INDEPENDENT for (long i = 0; i < width; i++) out[i] += squares[i + k];
  }
}

static float dot(const float *x, const float *y, float shift, long n) {
  float total = 0;
  for (long begin = 0; begin < n; begin += 4 * BLOCK) {
    long end = begin + 4 * BLOCK < n ? begin + 4 * BLOCK : n, i = begin;
    float s[LANES] = {0};
    for (; i + LANES <= end; i += LANES)
      for (long c = 0; c < LANES; c++) s[c] += x[i + c] * (y[i + c] - shift);
    for (; i < end; i++) s[(i - begin) % LANES] += x[i] * (y[i] - shift);
    total += fold(s);
  }
  return total;
}

static float maximum(const float *x, long n) {
  float s[LANES];
  long i = 0;
  for (long c = 0; c < LANES; c++) s[c] = -INFINITY;
  for (; i + LANES <= n; i += LANES)
    for (long c = 0; c < LANES; c++) s[c] = maximum_(s[c], x[i + c]);
  for (; i < n; i++) s[0] = maximum_(s[0], x[i]);
  for (long c = 1; c < LANES; c++) s[0] = maximum_(s[0], s[c]);
  return s[0];
}

static float multiplied(const float *x, long n) {
  float s[LANES];
  long i = 0;
  for (long c = 0; c < LANES; c++) s[c] = 1.0f;
  for (; i + LANES <= n; i += LANES)
    for (long c = 0; c < LANES; c++) s[c] *= x[i + c];
  for (; i < n; i++) s[0] *= x[i];
  for (long c = 1; c < LANES; c++) s[0] *= s[c];
  return s[0];
}

static float exp_sum(const float *x, float *out, float highest, long n) {
  float total = 0, buffer[BLOCK];
  for (long begin = 0; begin < n; begin += BLOCK) {
    long count = n - begin < BLOCK ? n - begin : BLOCK;
    float *to = out == NULL ? buffer : out + begin;
    const float *from = x + begin;
    INDEPENDENT for (long i = 0; i < count; i++) to[i] = exp_(from[i] - highest);
    total += sum(to, count);
  }
  return total;
}

static void scale_less(const float *x, float *out, float factor, const float *y, long n) {
  if (y == NULL) {
    INDEPENDENT for (long i = 0; i < n; i++) out[i] = x[i] * factor;
  } else {
    INDEPENDENT for (long i = 0; i < n; i++) out[i] = x[i] * factor - y[i];
  }
}

static float log_of(float x) { return log_(x); }

INLINE void max_of(const long lanes, const float *x, long y_step, long x_step, long height, long width, float *out) {
  float highest[LANES];
  for (long c = 0; c < lanes; c++) highest[c] = -FLT_MAX;
  for (long i = 0; i < height; i++)
    for (long j = 0; j < width; j++) {
      const float *at = x + i * y_step + j * x_step;
      /* As in TensorFlow, a NaN is never the greatest, and neither is minus infinity. */
      for (long c = 0; c < lanes; c++) highest[c] = choose(at[c] > highest[c], at[c], highest[c]);
    }
  for (long c = 0; c < lanes; c++) out[c] = highest[c];
}

/* Adds the gradient at the first of the greatest elements, which a NaN is where it comes first; whether one is. */
INLINE int max_grad_of(const long lanes, float *into, const float *x, long y_step, long x_step, long height,
                       long width, const float *gradient) {
  float highest[LANES], own[LANES];
  int32_t place[LANES], to_nan = 0;
  if (height < 1 || width < 1) return 0;
  for (long c = 0; c < lanes; c++) {
    highest[c] = x[c];
    own[c] = gradient[c];
    place[c] = 0;
  }
  for (long i = 0; i < height; i++)
    for (long j = 0; j < width; j++) {
      const float *at = x + i * y_step + j * x_step;
      const int32_t here = (int32_t)(i * width + j);
      for (long c = 0; c < lanes; c++) {
        place[c] = at[c] > highest[c] ? here : place[c];
        highest[c] = choose(at[c] > highest[c], at[c], highest[c]);
      }
    }
  for (long c = 0; c < lanes; c++) to_nan |= highest[c] != highest[c];
  for (long i = 0; i < height; i++)
    for (long j = 0; j < width; j++) {
      float *to = into + i * y_step + j * x_step;
      const int32_t here = (int32_t)(i * width + j);
      INDEPENDENT for (long c = 0; c < lanes; c++)
        to[c] += from_bits(to_bits(own[c]) & -(int32_t)(place[c] == here));
    }
  return to_nan;
}

/* Some channels at a time, whose numbers stay in registers while a window goes by. */
#define BY_LANES(CALL)                    \
  long c = 0;                             \
  for (; c + LANES <= depth; c += LANES)  \
    CALL(LANES);                          \
  for (; c + 16 <= depth; c += 16)        \
    CALL(16);                             \
  for (; c + 4 <= depth; c += 4)          \
    CALL(4);                              \
  for (; c < depth; c++)                  \
    CALL(1);

static void max_window(const float *x, long y_step, long x_step, long height, long width, float *out, long depth) {
#define CALL(N) max_of(N, x + c, y_step, x_step, height, width, out + c)
  BY_LANES(CALL)
#undef CALL
}

static int max_window_grad(float *into, const float *x, long y_step, long x_step, long height, long width,
                           const float *gradient, long depth) {
  int to_nan = 0;
#define CALL(N) to_nan |= max_grad_of(N, into + c, x + c, y_step, x_step, height, width, gradient + c)
  BY_LANES(CALL)
#undef CALL
  return to_nan;
}

#define SELECT(YES, NO) INDEPENDENT for (long i = 0; i < n; i++) out[i] = condition[i] ? YES : NO;

static void select_elements(int32_t *out, const unsigned char *condition, const int32_t *yes, int yes_is_number,
                   const int32_t *no, int no_is_number, long n) {
  const int32_t one = yes_is_number ? *yes : 0, other = no_is_number ? *no : 0;
  if (yes_is_number && no_is_number) {
    SELECT(one, other)
  } else if (yes_is_number) {
    SELECT(one, no[i])
  } else if (no_is_number) {
    SELECT(yes[i], other)
  } else {
    SELECT(yes[i], no[i])
  }
}

static long count_above(const float *x, float limit, long n) {
  int32_t above = 0, finite = 0;
  long total = 0;
  for (long begin = 0; begin < n; begin += 1 << 20) {
    const long end = n - begin < 1 << 20 ? n : begin + (1 << 20);
    above = finite = 0;
    for (long i = begin; i < end; i++) {
      above += x[i] > limit;
      finite += __builtin_fabsf(x[i]) <= 3.402823466e38f;
    }
    if (finite != end - begin) return -1;
    total += above;
  }
  return total;
}

static void blend(float *out, const float *a, const float *b, float share, long n) {
  INDEPENDENT for (long i = 0; i < n; i++) out[i] = (b[i] - a[i]) * share + a[i];
}

#if defined(__F16C__)
#include <immintrin.h>

static void to_half(uint16_t *out, const float *x, long n) {
  long i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; i++) out[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}
#else
#define to_half NULL
#endif

const struct loops CONCAT(loops_, VARIANT) = {
    step,    moments, normalize, column_sums, normalize_grad, near_squares, sum,      maximum,
    multiplied, exp_sum, scale_less, dot, log_of, max_window, max_window_grad, select_elements, count_above, blend, to_half,
};
