/* The innermost loops of convolutions, compiled once for each instruction set by tiles.c. */
#ifndef TENSORFLEET_TILES_H
#define TENSORFLEET_TILES_H

/* Rows of a tile: with two vectors for each, they and what they are multiplied with stay in the registers. */
#define TILE_ROWS 6

struct tiles {
  /* Columns of a tile: operands are packed in panels of so many columns. */
  long columns;
  /* out[r * stride + j] = the sum over segments s and i < length of in[r][offsets[s] + i] * panel[(s * length + i) *
   * columns + j], for r < rows and j < wanted, of at most TILE_ROWS rows and `columns` columns. */
  void (*product)(const float *const *in, long rows, const long *offsets, long segments, long length,
                  const float *panel, float *out, long stride, long wanted);
  /* sums[r * columns + j] += the sum over y < height and x < width of in[offsets[r] + y * y_step + x * x_step] *
   * panel[(y * width + x) * panel_step + j], for r < rows and j < wanted; as many columns as fill one or two vectors
   * are read and written. */
  void (*outer)(const float *in, const long *offsets, long rows, long height, long width, long y_step, long x_step,
                const float *panel, long panel_step, float *sums, long wanted);
  /* out[c] = the sum over k < count of in[offsets[k] + c] * weights[k * depth + c]. */
  void (*depthwise)(const float *in, const long *offsets, long count, const float *weights, float *out, long depth);
  /* sums[c] += the sum over x < width of in[x * step + c] * gradient[x * depth + c]. */
  void (*depthwise_filter)(const float *in, long step, const float *gradient, long width, float *sums, long depth);
  /* out[r * stride + j] = the sum over i < length of in[r * row_step + i] * panel[i * columns + j], for r < rows and
   * j < wanted, of at most TILE_ROWS rows and `columns` columns; where `adds` is set, out + the sum. */
  void (*matrix)(const float *in, long rows, long row_step, long length, const float *panel, int adds, float *out,
                 long stride, long wanted);
  /* to[c * stride + r] = from[r * step + c] for r < rows and c < columns. */
  void (*transpose)(const float *from, long step, long rows, long columns, float *to, long stride);
  /* Rows of `width`, `step` apart, as panels [inner, columns], the last one filled up with zeros. */
  void (*pack)(const float *from, long step, long inner, long width, float *to);
};

extern const struct tiles tiles_base;
#ifdef X86_VARIANTS
extern const struct tiles tiles_avx2, tiles_avx512;
#endif
/* Those of the best instruction set that the processor has. */
extern const struct tiles *tiles;

#endif
