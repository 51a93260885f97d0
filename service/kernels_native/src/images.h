/* Images as convolutions read them, some rows at a time. */
#ifndef TENSORFLEET_IMAGES_H
#define TENSORFLEET_IMAGES_H

#include <stddef.h>

struct convolution {
  const float *images, *weights, *gradient;
  float *out;
  long count, height, width, depth;
  long out_height, out_width, window_height, window_width, stride_height, stride_width;
  long dilation_height, dilation_width, top, left, filters;
  int is_spread;          /* whether the output is pixels of a larger one that lie apart */
  long whole_height, whole_width, first_row, first_column, row_step, column_step; /* … and which of them */
  int is_padded;
  long padded_width;      /* of an image, or of its copy */
  long *offsets, offsets_made; /* of the parts of a window, in the image */
  long length;            /* of each part */
  float *packed;
  long bands, band;       /* of rows of the output: their number for each image, and rows of each */
  long groups, chunk, chunks; /* of images, and of rows of the gradient of the filters */
  float *sums;
  int failed;
};

/* Sets what follows from the sizes: `is_padded` and `padded_width`; 0 where a copy would have no size. */
int make_padding(struct convolution *c);
/* Bands of so many rows of the output that what they read stays in the second cache; `most` rows at most. */
void make_bands(struct convolution *c, long most);
/* How many rows of an image the windows in so many rows of the output read. */
long rows_read(const struct convolution *c, long rows);
/* A buffer for what bands of so many rows read, and `more` numbers after that; NULL and c->failed without memory. */
float *band_buffer(struct convolution *c, long rows, size_t more);
/* How many numbers of a buffer the rows of a band take. */
size_t band_size(const struct convolution *c, long rows);
/* The rows of an image that windows in `rows` rows from `first` on read; `buffer` may be used for them. */
const float *rows_of(const struct convolution *c, long image, long first, long rows, float *buffer);

#endif
