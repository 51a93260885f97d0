/* Tiles of images, of gradients and of filters as points, and back. VARIANT names the table; compiled with contraction,
 * as the sums of products are. */
#include "winograd.h"

#include <string.h>

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)
#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#define WIDTH 16
#define MOST_ROWS 12 /* whose sums, of two vectors each, stay in the registers */
#define OUTER_ROWS 8
#elif defined(__AVX__)
#define WIDTH 8
#define MOST_ROWS 6
#define OUTER_ROWS 4
#else
#define WIDTH 4
#define MOST_ROWS 6
#define OUTER_ROWS 4
#endif
#define COLUMNS (2 * WIDTH)
#define MOST_TAPS 5
#define MOST_POINTS 7

typedef float vector __attribute__((vector_size(4 * WIDTH)));
typedef float anywhere __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

INLINE vector load(const float *from) { return (vector)(*(const anywhere *)from); }
INLINE void store(float *to, vector v) { *(anywhere *)to = (anywhere)v; }

/* Along one axis, with two outputs y0 and y1 of taps g on d:
 * y = g0 d0 + g1 d1 + g2 d2 and g0 d1 + g1 d2 + g2 d3 by four products, and of two taps by three. */
INLINE void points_of_image(const long taps, const vector *d, vector *to) {
  to[0] = d[0] - d[2];
  to[1] = d[1] + d[2];
  to[2] = d[2] - d[1];
  to[3] = d[1] - d[3];
  if (taps == 5) {
    to[4] = d[3] - d[4];
    to[5] = d[4];
    to[6] = d[4] - d[5];
  }
}

INLINE void points_of_filter(const long taps, const vector *g, vector *to) {
  to[0] = g[0];
  to[1] = (g[0] + g[1] + g[2]) * 0.5f;
  to[2] = (g[0] - g[1] + g[2]) * 0.5f;
  to[3] = g[2];
  if (taps == 5) {
    to[4] = g[3];
    to[5] = g[3] + g[4];
    to[6] = g[4];
  }
}

INLINE void output_of_points(const long taps, const vector *m, vector *y) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2] - m[3];
  if (taps == 5) {
    y[0] += m[4] + m[5];
    y[1] += m[5] - m[6];
  }
}

/* The two others of a gradient are the transposed ones: of y as points, and of points as taps. */
INLINE void points_of_gradient(const long taps, const vector *y, vector *to) {
  to[0] = y[0];
  to[1] = y[0] + y[1];
  to[2] = y[0] - y[1];
  to[3] = -y[1];
  if (taps == 5) {
    to[4] = y[0];
    to[5] = y[0] + y[1];
    to[6] = -y[1];
  }
}

INLINE void taps_of_points(const long taps, const vector *s, vector *g) {
  const vector both = (s[1] + s[2]) * 0.5f;
  g[0] = s[0] + both;
  g[1] = (s[1] - s[2]) * 0.5f;
  g[2] = both + s[3];
  if (taps == 5) {
    g[3] = s[4] + s[5];
    g[4] = s[5] + s[6];
  }
}

/* One function for each number of taps, so that all loops over points are unrolled. */
#define BY_TAPS(CALL_OF_3, CALL_OF_5) \
  if (taps == 3)                      \
    CALL_OF_3;                        \
  else                                \
    CALL_OF_5

INLINE void images_of(const long taps, const float *in, long pitch, long depth, long tiles, long channels, float *to,
                      long apart) {
  const long points = POINTS_OF(taps), seen = taps + 1;
  for (long t = 0; t < tiles; t++, in += 2 * depth, to += channels)
    for (long c = 0; c < channels; c += WIDTH) {
      vector columns[MOST_TAPS + 1][MOST_POINTS], rows[MOST_POINTS][MOST_TAPS + 1];
#pragma GCC unroll 6
      for (long j = 0; j < seen; j++) {
        vector d[MOST_TAPS + 1];
#pragma GCC unroll 6
        for (long i = 0; i < seen; i++) d[i] = load(in + i * pitch + j * depth + c);
        points_of_image(taps, d, columns[j]);
#pragma GCC unroll 7
        for (long k = 0; k < points; k++) rows[k][j] = columns[j][k];
      }
#pragma GCC unroll 7
      for (long k = 0; k < points; k++) {
        vector made[MOST_POINTS];
        points_of_image(taps, rows[k], made);
#pragma GCC unroll 7
        for (long l = 0; l < points; l++) store(to + (k * points + l) * apart + c, made[l]);
      }
    }
}

static void images(const float *in, long pitch, long depth, long tiles, long channels, long taps, float *to,
                   long apart) {
  BY_TAPS(images_of(3, in, pitch, depth, tiles, channels, to, apart),
          images_of(5, in, pitch, depth, tiles, channels, to, apart));
}

INLINE void gradient_of(const long taps, const float *in, long pitch, long tiles, long filters, long rows, long columns,
                        float *to, long apart) {
  const long points = POINTS_OF(taps);
  const vector zero = {0};
  for (long t = 0; t < tiles; t++, in += 2 * filters, to += filters) {
    const int is_wide = 2 * t + 1 < columns;
    for (long f = 0; f < filters; f += WIDTH) {
      vector left[MOST_POINTS], right[MOST_POINTS];
      const vector first[2] = {load(in + f), rows > 1 ? load(in + pitch + f) : zero};
      const vector second[2] = {is_wide ? load(in + filters + f) : zero,
                                is_wide && rows > 1 ? load(in + pitch + filters + f) : zero};
      points_of_gradient(taps, first, left);
      points_of_gradient(taps, second, right);
#pragma GCC unroll 7
      for (long k = 0; k < points; k++) {
        const vector both[2] = {left[k], right[k]};
        vector made[MOST_POINTS];
        points_of_gradient(taps, both, made);
#pragma GCC unroll 7
        for (long l = 0; l < points; l++) store(to + (k * points + l) * apart + f, made[l]);
      }
    }
  }
}

static void gradient(const float *in, long pitch, long tiles, long filters, long taps, long rows, long columns,
                     float *to, long apart) {
  BY_TAPS(gradient_of(3, in, pitch, tiles, filters, rows, columns, to, apart),
          gradient_of(5, in, pitch, tiles, filters, rows, columns, to, apart));
}

INLINE void filters_of(const long taps, const float *weights, long depth, long filters, long from, long to_channel,
                       float *panels) {
  const long points = POINTS_OF(taps), panel_count = (filters + COLUMNS - 1) / COLUMNS;
  for (long c = from; c < to_channel; c++)
    for (long f = 0; f < filters; f += WIDTH) {
      vector rows[MOST_POINTS][MOST_TAPS];
      for (long j = 0; j < taps; j++) {
        vector g[MOST_TAPS], made[MOST_POINTS];
        for (long i = 0; i < taps; i++) g[i] = load(weights + ((i * taps + j) * depth + c) * filters + f);
        points_of_filter(taps, g, made);
        for (long k = 0; k < points; k++) rows[k][j] = made[k];
      }
      float *to = panels + (f / COLUMNS * depth + c) * COLUMNS + f % COLUMNS;
      for (long k = 0; k < points; k++) {
        vector made[MOST_POINTS];
        points_of_filter(taps, rows[k], made);
        for (long l = 0; l < points; l++) store(to + (k * points + l) * panel_count * depth * COLUMNS, made[l]);
      }
    }
}

static void filters_as_points(const float *weights, long depth, long filters, long taps, long from, long to,
                              float *panels) {
  BY_TAPS(filters_of(3, weights, depth, filters, from, to, panels),
          filters_of(5, weights, depth, filters, from, to, panels));
}

INLINE void rows_of_product(const int rows, const int vectors, const float *in, long depth, const float *panel,
                            float *out, long stride) {
  vector sums[MOST_ROWS][2] = {{{0}}};
  const float *a[MOST_ROWS];
#pragma GCC unroll 12
  for (int r = 0; r < rows; r++) a[r] = in + r * depth;
  for (long i = 0; i < depth; i++, panel += COLUMNS) {
    const vector first = load(panel), second = vectors == 2 ? load(panel + WIDTH) : first;
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
      const float x = a[r][i];
      sums[r][0] += first * x;
      if (vectors == 2) sums[r][1] += second * x;
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; r++) {
    store(out + r * stride, sums[r][0]);
    if (vectors == 2) store(out + r * stride + WIDTH, sums[r][1]);
  }
}

static void product(const float *in, long tiles, long depth, const float *panels, long filters, float *sums) {
  /* Of nearly equal height: in a low one, the sums wait for each other. */
  const long made = (tiles + MOST_ROWS - 1) / MOST_ROWS, low = tiles / made, higher = tiles % made;
  for (long f = 0; f < filters; f += COLUMNS, panels += depth * COLUMNS)
    for (long i = 0, t = 0, rows; i < made; i++, t += rows) {
      rows = low + (i < higher);
#define CASE(ROWS)                                                                              \
  case ROWS:                                                                                    \
    if (filters - f > WIDTH)                                                                    \
      rows_of_product(ROWS, 2, in + t * depth, depth, panels, sums + t * filters + f, filters); \
    else                                                                                        \
      rows_of_product(ROWS, 1, in + t * depth, depth, panels, sums + t * filters + f, filters); \
    break;
      switch (rows) {
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)
#if MOST_ROWS == 12
        CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
#endif
        default:
          break;
      }
#undef CASE
    }
}

INLINE int is_finite(vector zeros) {
  float sum = 0;
  for (int i = 0; i < WIDTH; i++) sum += zeros[i];
  return sum == 0;
}

INLINE int output_of(const long taps, const float *sums, long apart, long tiles, long filters, float *out, long pitch,
                     long rows, long columns) {
  const long points = POINTS_OF(taps);
  vector zeros = {0}; /* becomes NaN */
  for (long t = 0; t < tiles; t++, sums += filters, out += 2 * filters) {
    const int is_wide = 2 * t + 1 < columns;
    for (long f = 0; f < filters; f += WIDTH) {
      vector by_column[2][MOST_POINTS], y[2];
#pragma GCC unroll 7
      for (long k = 0; k < points; k++) {
        vector m[MOST_POINTS];
#pragma GCC unroll 7
        for (long l = 0; l < points; l++) m[l] = load(sums + (k * points + l) * apart + f);
        output_of_points(taps, m, y);
        by_column[0][k] = y[0];
        by_column[1][k] = y[1];
      }
      output_of_points(taps, by_column[0], y);
      store(out + f, y[0]);
      zeros += y[0] * 0.0f;
      if (rows > 1) {
        store(out + pitch + f, y[1]);
        zeros += y[1] * 0.0f;
      }
      if (!is_wide) continue;
      output_of_points(taps, by_column[1], y);
      store(out + filters + f, y[0]);
      zeros += y[0] * 0.0f;
      if (rows > 1) {
        store(out + pitch + filters + f, y[1]);
        zeros += y[1] * 0.0f;
      }
    }
  }
  return is_finite(zeros);
}

static int output(const float *sums, long apart, long tiles, long filters, long taps, float *out, long pitch, long rows,
                  long columns) {
  BY_TAPS(return output_of(3, sums, apart, tiles, filters, out, pitch, rows, columns),
          return output_of(5, sums, apart, tiles, filters, out, pitch, rows, columns));
}

INLINE void rows_of_outer(const int rows, const int vectors, const float *in, long channels, const float *gradient,
                          long filters, long tiles, float *to) {
  vector sums[2 * OUTER_ROWS][2];
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++) {
    sums[r][0] = load(to + r * filters);
    if (vectors == 2) sums[r][1] = load(to + r * filters + WIDTH);
  }
  for (long t = 0; t < tiles; t++, in += channels, gradient += filters) {
    const vector first = load(gradient), second = vectors == 2 ? load(gradient + WIDTH) : first;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
      const float x = in[r];
      sums[r][0] += first * x;
      if (vectors == 2) sums[r][1] += second * x;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++) {
    store(to + r * filters, sums[r][0]);
    if (vectors == 2) store(to + r * filters + WIDTH, sums[r][1]);
  }
}

static void outer(const float *in, const float *gradient_points, long tiles, long channels, long filters,
                  float *sums) {
  for (long f = 0; f < filters; f += COLUMNS)
    if (filters - f > WIDTH) {
      for (long c = 0; c < channels; c += OUTER_ROWS)
        rows_of_outer(OUTER_ROWS, 2, in + c, channels, gradient_points + f, filters, tiles, sums + c * filters + f);
    } else {
      for (long c = 0; c < channels; c += 2 * OUTER_ROWS)
        rows_of_outer(2 * OUTER_ROWS, 1, in + c, channels, gradient_points + f, filters, tiles, sums + c * filters + f);
    }
}

INLINE int weights_of(const long taps, const float *sums, long groups, long depth, long filters, long from, long to,
                      float *out) {
  const long points = POINTS_OF(taps), size = points * points * depth * filters;
  vector zeros = {0};
  for (long c = from; c < to; c++)
    for (long f = 0; f < filters; f += WIDTH) {
      vector by_row[MOST_TAPS][MOST_POINTS];
      for (long l = 0; l < points; l++) {
        vector s[MOST_POINTS], g[MOST_TAPS];
        for (long k = 0; k < points; k++) {
          const float *at = sums + ((k * points + l) * depth + c) * filters + f;
          s[k] = load(at);
          for (long group = 1; group < groups; group++) s[k] += load(at + group * size);
        }
        taps_of_points(taps, s, g);
        for (long i = 0; i < taps; i++) by_row[i][l] = g[i];
      }
      for (long i = 0; i < taps; i++) {
        vector g[MOST_TAPS];
        taps_of_points(taps, by_row[i], g);
        for (long j = 0; j < taps; j++) {
          store(out + ((i * taps + j) * depth + c) * filters + f, g[j]);
          zeros += g[j] * 0.0f;
        }
      }
    }
  return is_finite(zeros);
}

static int weights(const float *sums, long groups, long depth, long filters, long taps, long from, long to, float *out) {
  BY_TAPS(return weights_of(3, sums, groups, depth, filters, from, to, out),
          return weights_of(5, sums, groups, depth, filters, from, to, out));
}

const struct winograd CONCAT(winograd_, VARIANT) = {COLUMNS, images, gradient, filters_as_points,
                                                    product, output, outer, weights};
