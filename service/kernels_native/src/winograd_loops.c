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
#define MOST_TILE 4
#define MOST_SEEN 8    /* rows or columns of an image that a tile sees */
#define MOST_POINTS 11

typedef float vector __attribute__((vector_size(4 * WIDTH)));
typedef float anywhere __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

INLINE vector load(const float *from) { return (vector)(*(const anywhere *)from); }
INLINE void store(float *to, vector v) { *(anywhere *)to = (anywhere)v; }

/* Along one axis, with two outputs y0 and y1 of taps g on d: y = g0 d0 + g1 d1 + g2 d2 and g0 d1 + g1 d2 + g2 d3 by four
 * products, and of two taps on three d by three. */
INLINE void short_image(const long taps, const vector *d, vector *to) {
  to[0] = taps == 3 ? d[0] - d[2] : d[0] - d[1];
  to[1] = taps == 3 ? d[1] + d[2] : d[1];
  to[2] = taps == 3 ? d[2] - d[1] : d[1] - d[2];
  if (taps == 3) to[3] = d[1] - d[3];
}

INLINE void short_filter(const long taps, const vector *g, vector *to) {
  to[0] = g[0];
  to[1] = taps == 3 ? (g[0] + g[1] + g[2]) * 0.5f : g[0] + g[1];
  to[2] = taps == 3 ? (g[0] - g[1] + g[2]) * 0.5f : g[1];
  if (taps == 3) to[3] = g[2];
}

INLINE void short_output(const long taps, const vector *m, vector *y) {
  y[0] = taps == 3 ? m[0] + m[1] + m[2] : m[0] + m[1];
  y[1] = taps == 3 ? m[1] - m[2] - m[3] : m[1] - m[2];
}

/* The two others of a gradient are the transposed ones: of y as points, and of points as taps. */
INLINE void short_gradient(const long taps, const vector *y, vector *to) {
  to[0] = y[0];
  to[1] = y[0] + y[1];
  to[2] = taps == 3 ? y[0] - y[1] : -y[1];
  if (taps == 3) to[3] = -y[1];
}

INLINE void short_taps(const long taps, const vector *s, vector *g) {
  if (taps == 3) {
    const vector both = (s[1] + s[2]) * 0.5f;
    g[0] = s[0] + both;
    g[1] = (s[1] - s[2]) * 0.5f;
    g[2] = both + s[3];
  } else {
    g[0] = s[0] + s[1];
    g[1] = s[1] + s[2];
  }
}

/* Five taps and four outputs are pairs of those: of even taps (a) and of odd ones (b). With e as the even numbers of d, o as the
 * odd ones and f as the even ones from 2 on, the even outputs are a e + b o = (a + b) o + a (e - o), and the odd ones are
 * a o + b f = (a + b) o - b (o - f). */
INLINE void image_of_kind(const enum kind kind, const vector *d, vector *to) {
  vector part[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    if (kind == ALL) part[i] = d[i];
    if (kind == BOTH) part[i] = d[2 * i + 1];
    if (kind == EVEN) part[i] = d[2 * i] - d[2 * i + 1];
    if (kind == ODD && i < 3) part[i] = d[2 * i + 1] - d[2 * i + 2];
  }
  short_image(TAPS_OF_KIND(kind), part, to);
}

INLINE void gradient_of_kind(const enum kind kind, const vector *y, vector *to) {
  vector part[2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; i++) {
    if (kind == ALL) part[i] = y[i];
    if (kind == BOTH) part[i] = y[2 * i] + y[2 * i + 1];
    if (kind == EVEN) part[i] = y[2 * i];
    if (kind == ODD) part[i] = -y[2 * i + 1];
  }
  short_gradient(TAPS_OF_KIND(kind), part, to);
}

/* All points of an axis, kind by kind. */
INLINE void points_of_image(const long taps, const vector *d, vector *to) {
  if (taps == 3) {
    image_of_kind(ALL, d, to);
  } else {
    image_of_kind(BOTH, d, to + FIRST_POINT(BOTH));
    image_of_kind(EVEN, d, to + FIRST_POINT(EVEN));
    image_of_kind(ODD, d, to + FIRST_POINT(ODD));
  }
}

INLINE void points_of_filter(const long taps, const vector *g, vector *to) {
  if (taps == 3) {
    short_filter(3, g, to);
  } else {
    const vector even[3] = {g[0], g[2], g[4]}, odd[2] = {g[1], g[3]}, both[3] = {g[0] + g[1], g[2] + g[3], g[4]};
    short_filter(3, both, to + FIRST_POINT(BOTH));
    short_filter(3, even, to + FIRST_POINT(EVEN));
    short_filter(2, odd, to + FIRST_POINT(ODD));
  }
}

INLINE void output_of_points(const long taps, const vector *m, vector *y) {
  if (taps == 3) {
    short_output(3, m, y);
  } else {
    vector both[2], even[2], odd[2];
    short_output(3, m + FIRST_POINT(BOTH), both);
    short_output(3, m + FIRST_POINT(EVEN), even);
    short_output(2, m + FIRST_POINT(ODD), odd);
    y[0] = both[0] + even[0];
    y[1] = both[0] - odd[0];
    y[2] = both[1] + even[1];
    y[3] = both[1] - odd[1];
  }
}

INLINE void points_of_gradient(const long taps, const vector *y, vector *to) {
  if (taps == 3) {
    gradient_of_kind(ALL, y, to);
  } else {
    gradient_of_kind(BOTH, y, to + FIRST_POINT(BOTH));
    gradient_of_kind(EVEN, y, to + FIRST_POINT(EVEN));
    gradient_of_kind(ODD, y, to + FIRST_POINT(ODD));
  }
}

INLINE void taps_of_points(const long taps, const vector *s, vector *g) {
  if (taps == 3) {
    short_taps(3, s, g);
  } else {
    vector both[3], even[3], odd[2];
    short_taps(3, s + FIRST_POINT(BOTH), both);
    short_taps(3, s + FIRST_POINT(EVEN), even);
    short_taps(2, s + FIRST_POINT(ODD), odd);
    g[0] = both[0] + even[0];
    g[1] = both[0] + odd[0];
    g[2] = both[1] + even[1];
    g[3] = both[1] + odd[1];
    g[4] = both[2] + even[2];
  }
}

/* One function for each number of taps, or each kind, so that all loops over points are unrolled. */
#define BY_TAPS(CALL_OF_3, CALL_OF_5) \
  if (taps == 3)                      \
    CALL_OF_3;                        \
  else                                \
    CALL_OF_5

#define BY_KIND(CALL) \
  switch (kind) {     \
    case ALL:         \
      CALL(ALL);      \
      break;          \
    case BOTH:        \
      CALL(BOTH);     \
      break;          \
    case EVEN:        \
      CALL(EVEN);     \
      break;          \
    case ODD:         \
      CALL(ODD);      \
      break;          \
    default:          \
      break;          \
  }

INLINE void columns_of(const enum kind kind, const float *in, long pitch, long depth, const long from, const long to,
                       vector columns[][MOST_DOWN]) {
  const long seen = SEEN_OF(TAPS_OF(kind));
#pragma GCC unroll 8
  for (long j = from; j < to; j++) {
    vector d[MOST_SEEN];
#pragma GCC unroll 8
    for (long i = 0; i < seen; i++)
      if (IS_SEEN(kind, i)) d[i] = load(in + i * pitch + j * depth);
    image_of_kind(kind, d, columns[j]);
  }
}

INLINE void images_of(const enum kind kind, const float *in, long pitch, long depth, long tiles, long channels,
                      float *to, long apart) {
  const long taps = TAPS_OF(kind), points = POINTS_OF(taps), down = DOWN_OF(kind), tile = TILE_OF(taps), seen = SEEN_OF(taps);
  for (long c = 0; c < channels; c += WIDTH) {
    /* Each tile sees all but `tile` columns of the one before it. */
    vector columns[MOST_SEEN][MOST_DOWN];
    columns_of(kind, in + c, pitch, depth, 0, seen - tile, columns);
    for (long t = 0; t < tiles; t++) {
      columns_of(kind, in + tile * t * depth + c, pitch, depth, seen - tile, seen, columns);
#pragma GCC unroll 4
      for (long k = 0; k < down; k++) {
        vector row[MOST_SEEN], made[MOST_POINTS];
#pragma GCC unroll 8
        for (long j = 0; j < seen; j++) row[j] = columns[j][k];
        points_of_image(taps, row, made);
#pragma GCC unroll 11
        for (long l = 0; l < points; l++) store(to + (k * points + l) * apart + t * channels + c, made[l]);
      }
#pragma GCC unroll 4
      for (long j = 0; j < seen - tile; j++)
#pragma GCC unroll 4
        for (long k = 0; k < down; k++) columns[j][k] = columns[j + tile][k];
    }
  }
}

static void images(const float *in, long pitch, long depth, long tiles, long channels, enum kind kind, float *to,
                   long apart) {
#define CALL(KIND) images_of(KIND, in, pitch, depth, tiles, channels, to, apart)
  BY_KIND(CALL)
#undef CALL
}

INLINE void gradient_of_tile(const enum kind kind, const int is_whole, const float *in, long pitch, long filters, long rows,
                             long columns, float *to, long apart) {
  const long taps = TAPS_OF(kind), points = POINTS_OF(taps), down = DOWN_OF(kind), tile = TILE_OF(taps);
  const vector zero = {0};
  for (long f = 0; f < filters; f += WIDTH) {
    vector by_column[MOST_TILE][MOST_DOWN];
#pragma GCC unroll 4
    for (long j = 0; j < tile; j++) {
      vector y[MOST_TILE];
#pragma GCC unroll 4
      for (long i = 0; i < tile; i++)
        y[i] = is_whole || (i < rows && j < columns) ? load(in + i * pitch + j * filters + f) : zero;
      gradient_of_kind(kind, y, by_column[j]);
    }
#pragma GCC unroll 4
    for (long k = 0; k < down; k++) {
      vector row[MOST_TILE], made[MOST_POINTS];
#pragma GCC unroll 4
      for (long j = 0; j < tile; j++) row[j] = by_column[j][k];
      points_of_gradient(taps, row, made);
#pragma GCC unroll 11
      for (long l = 0; l < points; l++) store(to + (k * points + l) * apart + f, made[l]);
    }
  }
}

INLINE void gradient_of(const enum kind kind, const float *in, long pitch, long tiles, long filters, long rows, long columns,
                        float *to, long apart) {
  const long tile = TILE_OF(TAPS_OF(kind));
  for (long t = 0; t < tiles; t++, in += tile * filters, to += filters, columns -= tile)
    if (rows >= tile && columns >= tile)
      gradient_of_tile(kind, 1, in, pitch, filters, tile, tile, to, apart);
    else
      gradient_of_tile(kind, 0, in, pitch, filters, rows, columns, to, apart);
}

static void gradient(const float *in, long pitch, long tiles, long filters, enum kind kind, long rows, long columns,
                     float *to, long apart) {
#define CALL(KIND) gradient_of(KIND, in, pitch, tiles, filters, rows, columns, to, apart)
  BY_KIND(CALL)
#undef CALL
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

/* A row of a tile is stored, added or subtracted. */
enum way { STORED, ADDED, SUBTRACTED };

INLINE vector put(const enum way way, float *to, vector v) {
  if (way == ADDED) v = load(to) + v;
  if (way == SUBTRACTED) v = load(to) - v;
  store(to, v);
  return v;
}

INLINE vector output_of_tile(const enum kind kind, const int is_whole, const float *sums, long apart, long filters, float *out,
                             long pitch, long rows, long columns, vector zeros) {
  const long taps = TAPS_OF(kind), points = POINTS_OF(taps), down = DOWN_OF(kind), tile = TILE_OF(taps);
  const enum way way = kind == EVEN ? ADDED : kind == ODD ? SUBTRACTED : STORED;
  for (long f = 0; f < filters; f += WIDTH) {
    vector by_column[MOST_TILE][MOST_DOWN];
#pragma GCC unroll 4
    for (long k = 0; k < down; k++) {
      vector m[MOST_POINTS], y[MOST_TILE];
#pragma GCC unroll 11
      for (long l = 0; l < points; l++) m[l] = load(sums + (k * points + l) * apart + f);
      output_of_points(taps, m, y);
#pragma GCC unroll 4
      for (long j = 0; j < tile; j++) by_column[j][k] = y[j];
    }
#pragma GCC unroll 4
    for (long j = 0; j < tile; j++) {
      vector y[2];
      short_output(TAPS_OF_KIND(kind), by_column[j], y);
      float *to = out + j * filters + f;
#pragma GCC unroll 2
      for (long i = 0; i < 2; i++) {
        const long row = kind == ALL ? i : kind == ODD ? 2 * i + 1 : 2 * i;
        if (is_whole || (j < columns && row < rows)) zeros += put(way, to + row * pitch, y[i]) * 0.0f;
        if (kind == BOTH && (is_whole || (j < columns && row + 1 < rows))) put(way, to + (row + 1) * pitch, y[i]);
      }
    }
  }
  return zeros;
}

INLINE int output_of(const enum kind kind, const float *sums, long apart, long tiles, long filters, float *out, long pitch,
                     long rows, long columns) {
  const long tile = TILE_OF(TAPS_OF(kind));
  vector zeros = {0}; /* becomes NaN */
  for (long t = 0; t < tiles; t++, sums += filters, out += tile * filters, columns -= tile)
    if (rows >= tile && columns >= tile)
      zeros = output_of_tile(kind, 1, sums, apart, filters, out, pitch, tile, tile, zeros);
    else
      zeros = output_of_tile(kind, 0, sums, apart, filters, out, pitch, rows, columns, zeros);
  return is_finite(zeros);
}

static int output(const float *sums, long apart, long tiles, long filters, enum kind kind, float *out, long pitch, long rows,
                  long columns) {
#define CALL(KIND) return output_of(KIND, sums, apart, tiles, filters, out, pitch, rows, columns)
  BY_KIND(CALL)
#undef CALL
  return 1;
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
