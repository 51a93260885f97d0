/* Tiles of images, of gradients and of filters as points, and back. VARIANT names the table; compiled with contraction,
 * as the sums of products are. */
#include "winograd.h"

#include "winograd_axes.h"

#if defined(__AVX512F__)
#define OUTER_ROWS 8
#else
#define OUTER_ROWS 4
#endif
#define MOST_TAPS 5
#define MOST_TILE 4
#define MOST_SEEN 8 /* rows or columns of an image that a tile sees */
#define MOST_POINTS 11

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

const struct winograd CONCAT(winograd_, VARIANT) = {images, gradient, filters_as_points, output, outer, weights};
