/* Convolutions and gradients of filters of 3x3 and 5x5 elements with fewer multiplications, after Winograd. */
#ifndef TENSORFLEET_WINOGRAD_H
#define TENSORFLEET_WINOGRAD_H

#include "images.h"

/* Tiles of 2x2 pixels of the output see (taps + 1)^2 of the image. Each becomes `points` numbers along both axes, for
 * which the filters and the gradient have as many: 4 of 3 taps, 7 of 5, which are 3 and 2 taps. Numbers are multiplied
 * point by point, and only channels are summed in between. Everything but that is a sum or half of one. */
#define POINTS_OF(taps) ((taps) == 3 ? 4 : 7)

/* Its loops, compiled once for each instruction set by winograd_loops.c. Channels and filters are multiples of
 * CHANNELS; the numbers of a point are `apart` from those of the one before. */
#define CHANNELS 16
struct winograd {
  long columns; /* of a panel of filters */
  /* `tiles` tiles side by side, whose rows are `pitch` apart and pixels `depth`, as points of [tiles, channels]. */
  void (*images)(const float *in, long pitch, long depth, long tiles, long channels, long taps, float *to, long apart);
  /* Of the gradient of the output, with as many of its rows and columns as there are; the others are zeros. */
  void (*gradient)(const float *in, long pitch, long tiles, long filters, long taps, long rows, long columns, float *to,
                   long apart);
  /* Filters [taps, taps, depth, filters], of channels [from, to), as points of panels [depth, columns]. */
  void (*filters)(const float *weights, long depth, long filters, long taps, long from, long to, float *panels);
  /* sums [tiles, filters] = in [tiles, depth] times the panels, of one point. */
  void (*product)(const float *in, long tiles, long depth, const float *panels, long filters, float *sums);
  /* Tiles of the output; 0 where one of its numbers is not finite. */
  int (*output)(const float *sums, long apart, long tiles, long filters, long taps, float *out, long pitch, long rows,
                long columns);
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
