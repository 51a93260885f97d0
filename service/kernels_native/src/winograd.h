/* Convolutions and gradients of filters of 3x3 and 5x5 elements with fewer multiplications, after Winograd. */
#ifndef TENSORFLEET_WINOGRAD_H
#define TENSORFLEET_WINOGRAD_H

#include "images.h"

/* Tiles of the output, of 2x2 pixels for 3 taps and of 4x4 for 5, see some of the image. That becomes POINTS_OF(taps) numbers
 * along both axes, for which the filters and the gradient have as many. Numbers are multiplied point by point, and only channels
 * are summed in between. Everything but that is a sum or half of one. */
#define TILE_OF(taps) ((taps) == 3 ? 2 : 4)
#define SEEN_OF(taps) (TILE_OF(taps) + (taps) - 1)
#define POINTS_OF(taps) ((taps) == 3 ? 4 : 11)

/* The 121 points of 5x5 filters go by in three kinds, so that those of some tiles and of all filters stay in the second cache: of
 * which rows of the taps the points of a column are. The first of them sets the output, the others add to it. */
enum kind { ALL, BOTH, EVEN, ODD, KIND_COUNT };
#define TAPS_OF(kind) ((kind) == ALL ? 3 : 5)      /* of the filter */
#define TAPS_OF_KIND(kind) ((kind) == ODD ? 2 : 3) /* of its rows that are taken together */
#define MOST_DOWN 4                                /* points along the vertical axis */
#define DOWN_OF(kind) ((kind) == ODD ? 3 : 4)      /* of these, and the first of them */
#define FIRST_POINT(kind) ((kind) == EVEN ? 4 : (kind) == ODD ? 8 : 0)
#define IS_SEEN(kind, row) ((kind) == ALL || (kind) == EVEN || ((kind) == BOTH ? (row) % 2 : (row) > 0 && (row) < 7))

/* Its loops, compiled once for each instruction set by winograd_loops.c. Channels and filters are multiples of
 * CHANNELS; the numbers of a point are `apart` from those of the one before. */
#define CHANNELS 16
struct winograd {
  /* `tiles` tiles side by side, whose rows are `pitch` apart and pixels `depth`, as points of [tiles, channels]. */
  void (*images)(const float *in, long pitch, long depth, long tiles, long channels, enum kind kind, float *to,
                 long apart);
  /* Of the gradient of the output, with as many of its rows and columns as there are; the others are zeros. */
  void (*gradient)(const float *in, long pitch, long tiles, long filters, enum kind kind, long rows, long columns,
                   float *to, long apart);
  /* Filters [taps, taps, depth, filters], of channels [from, to), as points of panels [depth, columns]. */
  void (*filters)(const float *weights, long depth, long filters, long taps, long from, long to, float *panels);
  /* Tiles of the output; 0 where one of its numbers is not finite. */
  int (*output)(const float *sums, long apart, long tiles, long filters, enum kind kind, float *out, long pitch,
                long rows, long columns);
  /* sums [channels, filters] += in [tiles, channels] transposed times gradient [tiles, filters], of one point. */
  void (*outer)(const float *in, const float *gradient, long tiles, long channels, long filters, float *sums);
  /* Channels [from, to) of the gradient of the filters, of the sums of some groups; 0 where one is not finite. */
  int (*weights)(const float *sums, long groups, long depth, long filters, long taps, long from, long to, float *out);
};

extern const struct winograd winograd_base;
#ifdef X86_VARIANTS
extern const struct winograd winograd_avx2, winograd_avx512;
#endif
/* Those of the best instruction set that the processor has. */
extern const struct winograd *winograd;

/* Whether it is for this convolution, and pays: sizes alone decide. */
int winograd_takes(const struct convolution *c);
/* Computes c->out, and sets finite[image] to 0 for images of which a number is not finite; c->failed without memory. */
void winograd_convolve(struct convolution *c, unsigned char *finite, long threads);
/* The gradient of the filters; 0 where a number of it is not finite. */
int winograd_filter(struct convolution *c, long threads);

#endif
