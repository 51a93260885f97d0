/* Products of small tiles, whose sums stay in registers. VARIANT names the table; compiled with contraction, as
 * products are summed in the order of their inner dimension with fused multiply-adds where the processor has them. */
#include "tiles.h"

#include <string.h>

#include "vectors.h"

/* The tail of a row is written by way of a buffer. */
INLINE void store_some(float *to, vector first, vector second, long wanted) {
  if (wanted >= COLUMNS) {
    store(to, first);
    store(to + WIDTH, second);
  } else if (wanted == WIDTH) {
    store(to, first);
  } else {
    float buffer[COLUMNS];
    store(buffer, first);
    store(buffer + WIDTH, second);
    memcpy(to, buffer, sizeof(float) * (size_t)wanted);
  }
}

/* What there is of a vector, and zeros behind it. */
INLINE vector load_some(const float *from, long there) {
  if (there >= WIDTH) return load(from);
  float buffer[WIDTH] = {0};
  if (there > 0) memcpy(buffer, from, sizeof(float) * (size_t)there);
  return load(buffer);
}

INLINE void product_of(const int rows, const int vectors, const float *const *in, const long *offsets, long segments,
                       long length, const float *panel, float *out, long stride, long wanted) {
  vector sums[TILE_ROWS][2] = {{{0}}};
  for (long s = 0; s < segments; s++) {
    const float *a[TILE_ROWS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) a[r] = in[r] + offsets[s];
    for (long i = 0; i < length; i++, panel += COLUMNS) {
      const vector first = load(panel), second = vectors == 2 ? load(panel + WIDTH) : first;
#pragma GCC unroll 6
      for (int r = 0; r < rows; r++) {
        const float x = a[r][i];
        sums[r][0] += first * x;
        if (vectors == 2) sums[r][1] += second * x;
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) store_some(out + r * stride, sums[r][0], sums[r][1], wanted);
}

static void product(const float *const *in, long rows, const long *offsets, long segments, long length,
                    const float *panel, float *out, long stride, long wanted) {
#define CASE(ROWS)                                                                                  \
  case ROWS:                                                                                        \
    if (wanted > WIDTH)                                                                             \
      product_of(ROWS, 2, in, offsets, segments, length, panel, out, stride, wanted);               \
    else                                                                                            \
      product_of(ROWS, 1, in, offsets, segments, length, panel, out, stride, wanted);               \
    break;
  switch (rows) {
    CASE(1)
    CASE(2)
    CASE(3)
    CASE(4)
    CASE(5)
    CASE(6)
    default:
      break;
  }
#undef CASE
}

INLINE void matrix_of(const int rows, const int vectors, const int adds, const float *in, long row_step, long length,
                      const float *panel, float *out, long stride, long wanted) {
  vector sums[TILE_ROWS][2] = {{{0}}};
  const float *a[TILE_ROWS];
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) a[r] = in + r * row_step;
  for (long i = 0; i < length; i++, panel += COLUMNS) {
    const vector first = load(panel), second = vectors == 2 ? load(panel + WIDTH) : first;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
      const float x = a[r][i];
      sums[r][0] += first * x;
      if (vectors == 2) sums[r][1] += second * x;
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) {
    float *to = out + r * stride;
    if (adds) {
      vector before[2] = {load_some(to, wanted), load_some(to + WIDTH, wanted - WIDTH)};
      sums[r][0] += before[0];
      sums[r][1] += before[1];
    }
    store_some(to, sums[r][0], sums[r][1], wanted);
  }
}

static void matrix(const float *in, long rows, long row_step, long length, const float *panel, int adds, float *out,
                   long stride, long wanted) {
#define CASE(ROWS)                                                                      \
  case ROWS:                                                                            \
    if (wanted <= WIDTH && adds)                                                        \
      matrix_of(ROWS, 1, 1, in, row_step, length, panel, out, stride, wanted);          \
    else if (wanted <= WIDTH)                                                           \
      matrix_of(ROWS, 1, 0, in, row_step, length, panel, out, stride, wanted);          \
    else if (adds)                                                                      \
      matrix_of(ROWS, 2, 1, in, row_step, length, panel, out, stride, wanted);          \
    else                                                                                \
      matrix_of(ROWS, 2, 0, in, row_step, length, panel, out, stride, wanted);          \
    break;
  switch (rows) {
    CASE(1)
    CASE(2)
    CASE(3)
    CASE(4)
    CASE(5)
    CASE(6)
    default:
      break;
  }
#undef CASE
}

#if defined(__AVX__)
#include <immintrin.h>

/* to[i * stride + j] = from[j * step + i] for i, j < 8. */
INLINE void turn(const float *from, long step, float *to, long stride) {
  __m256 a[8], b[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) a[i] = _mm256_loadu_ps(from + i * step);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
    a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
    a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
    a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    _mm256_storeu_ps(to + i * stride, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * stride, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
  }
}
#endif

static void transpose(const float *from, long step, long rows, long columns, float *to, long stride) {
  long r = 0;
#if defined(__AVX__)
  for (; r + 8 <= rows; r += 8) {
    long c = 0;
    for (; c + 8 <= columns; c += 8) turn(from + r * step + c, step, to + c * stride + r, stride);
    for (; c < columns; c++)
      for (long i = r; i < r + 8; i++) to[c * stride + i] = from[i * step + c];
  }
#endif
  for (; r < rows; r++)
    for (long c = 0; c < columns; c++) to[c * stride + r] = from[r * step + c];
}

/* Some rows at a time: panels may lie so far apart that the cache has few places for what is written to all of them. */
#define PACKED_ROWS 8

static void pack(const float *from, long step, long inner, long width, float *to) {
  const long panels = width / COLUMNS, rest = width % COLUMNS;
  for (long begin = 0; begin < inner; begin += PACKED_ROWS) {
    const long end = inner - begin < PACKED_ROWS ? inner : begin + PACKED_ROWS;
    for (long p = 0; p < panels; p++)
      for (long k = begin; k < end; k++) {
        const float *row = from + k * step + p * COLUMNS;
        float *panel = to + (p * inner + k) * COLUMNS;
        store(panel, load(row));
        store(panel + WIDTH, load(row + WIDTH));
      }
    for (long k = begin; rest && k < end; k++) {
      const float *row = from + k * step + panels * COLUMNS;
      float *panel = to + (panels * inner + k) * COLUMNS;
      for (long j = 0; j < COLUMNS; j++) panel[j] = j < rest ? row[j] : 0.0f;
    }
  }
}

INLINE void outer_of(const int rows, const int vectors, const float *in, const long *offsets, long height, long width,
                     long y_step, long x_step, const float *panel, long panel_step, float *to) {
  vector sums[TILE_ROWS][2];
  const float *a[TILE_ROWS];
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) {
    sums[r][0] = load(to + r * COLUMNS);
    if (vectors == 2) sums[r][1] = load(to + r * COLUMNS + WIDTH);
  }
  for (long y = 0; y < height; y++) {
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) a[r] = in + y * y_step + offsets[r];
    for (long x = 0, at = 0; x < width; x++, at += x_step, panel += panel_step) {
      const vector first = load(panel), second = vectors == 2 ? load(panel + WIDTH) : first;
#pragma GCC unroll 6
      for (int r = 0; r < rows; r++) {
        const float value = a[r][at];
        sums[r][0] += first * value;
        if (vectors == 2) sums[r][1] += second * value;
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) {
    store(to + r * COLUMNS, sums[r][0]);
    if (vectors == 2) store(to + r * COLUMNS + WIDTH, sums[r][1]);
  }
}

static void outer(const float *in, const long *offsets, long rows, long height, long width, long y_step, long x_step,
                  const float *panel, long panel_step, float *sums, long wanted) {
#define CASE(ROWS)                                                                                   \
  case ROWS:                                                                                         \
    if (wanted > WIDTH)                                                                              \
      outer_of(ROWS, 2, in, offsets, height, width, y_step, x_step, panel, panel_step, sums);        \
    else                                                                                             \
      outer_of(ROWS, 1, in, offsets, height, width, y_step, x_step, panel, panel_step, sums);        \
    break;
  switch (rows) {
    CASE(1)
    CASE(2)
    CASE(3)
    CASE(4)
    CASE(5)
    CASE(6)
    default:
      break;
  }
#undef CASE
}

#define GROUP 4

INLINE long depthwise_of(const int vectors, const float *in, const long *offsets, long count, const float *weights,
                         float *out, long depth, long c) {
  for (; c + vectors * WIDTH <= depth; c += vectors * WIDTH) {
    vector sums[GROUP] = {{0}};
    for (long k = 0; k < count; k++) {
      const float *x = in + offsets[k] + c, *w = weights + k * depth + c;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; v++) sums[v] += load(x + v * WIDTH) * load(w + v * WIDTH);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) store(out + c + v * WIDTH, sums[v]);
  }
  return c;
}

static void depthwise(const float *in, const long *offsets, long count, const float *weights, float *out, long depth) {
  long c = depthwise_of(GROUP, in, offsets, count, weights, out, depth, 0);
  for (c = depthwise_of(1, in, offsets, count, weights, out, depth, c); c < depth; c++) {
    float sum = 0;
    for (long k = 0; k < count; k++) sum += in[offsets[k] + c] * weights[k * depth + c];
    out[c] = sum;
  }
}

INLINE long filter_of(const int vectors, const float *in, long step, const float *gradient, long width, float *to,
                      long depth, long c) {
  for (; c + vectors * WIDTH <= depth; c += vectors * WIDTH) {
    vector sums[GROUP];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) sums[v] = load(to + c + v * WIDTH);
    for (long i = 0; i < width; i++) {
      const float *x = in + i * step + c, *g = gradient + i * depth + c;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; v++) sums[v] += load(x + v * WIDTH) * load(g + v * WIDTH);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) store(to + c + v * WIDTH, sums[v]);
  }
  return c;
}

static void depthwise_filter(const float *in, long step, const float *gradient, long width, float *sums, long depth) {
  long c = filter_of(GROUP, in, step, gradient, width, sums, depth, 0);
  for (c = filter_of(1, in, step, gradient, width, sums, depth, c); c < depth; c++)
    for (long i = 0; i < width; i++) sums[c] += in[i * step + c] * gradient[i * depth + c];
}

const struct tiles CONCAT(tiles_, VARIANT) = {COLUMNS, product, outer, depthwise, depthwise_filter, matrix, transpose, pack};
