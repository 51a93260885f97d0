/* Images as convolutions read them: where they lie, or with padding around as a copy of some rows. */
#include "images.h"

#include <stdlib.h>
#include <string.h>

#define BAND_BYTES (1 << 17) /* of the rows of an image that a part reads: half of them stay in the second cache */

int make_padding(struct convolution *c) {
  long size;
  const long high = (c->out_height - 1) * c->stride_height + (c->window_height - 1) * c->dilation_height + 1;
  const long wide = (c->out_width - 1) * c->stride_width + (c->window_width - 1) * c->dilation_width + 1;
  c->is_padded = c->top || c->left || high > c->height || wide > c->width;
  c->padded_width = c->is_padded ? (wide > c->left + c->width ? wide : c->left + c->width) : c->width;
  return !__builtin_mul_overflow(high, c->padded_width, &size) && !__builtin_mul_overflow(size, c->depth, &size) &&
         size < 1L << 60;
}

void make_bands(struct convolution *c, long most) {
  /* Rows of an image are at most of 2^62 bytes, but with large strides or windows products of them are of any size. */
  const long row = (long)sizeof(float) * c->padded_width * c->depth;
  long rows = (BAND_BYTES / row - c->window_height) / c->stride_height;
  if (rows > most) rows = most;
  if (rows < 1) rows = 1;
  if (rows > c->out_height) rows = c->out_height;
  c->bands = (c->out_height + rows - 1) / rows;
  c->band = (c->out_height + c->bands - 1) / c->bands; /* of nearly equal size */
  c->bands = (c->out_height + c->band - 1) / c->band;
}

long rows_read(const struct convolution *c, long rows) {
  return (rows - 1) * c->stride_height + (c->window_height - 1) * c->dilation_height + 1;
}

size_t band_size(const struct convolution *c, long rows) {
  return c->is_padded ? (size_t)(rows_read(c, rows) * c->padded_width * c->depth) : 0;
}

float *band_buffer(struct convolution *c, long rows, size_t more) {
  float *buffer = malloc(sizeof(float) * (band_size(c, rows) + more + 1));
  if (buffer == NULL) __atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
  return buffer;
}

const float *rows_of(const struct convolution *c, long image, long first, long rows, float *buffer) {
  const float *from = c->images + image * c->height * c->width * c->depth;
  const long top = first * c->stride_height - c->top;
  if (!c->is_padded) return from + top * c->width * c->depth;
  const size_t pitch = (size_t)(c->padded_width * c->depth);
  for (long y = 0; y < rows_read(c, rows); y++) {
    float *to = buffer + (size_t)y * pitch;
    if (top + y < 0 || top + y >= c->height) {
      memset(to, 0, sizeof(float) * pitch);
      continue;
    }
    const size_t head = (size_t)(c->left * c->depth), body = (size_t)(c->width * c->depth);
    memset(to, 0, sizeof(float) * head);
    memcpy(to + head, from + (top + y) * c->width * c->depth, sizeof(float) * body);
    memset(to + head + body, 0, sizeof(float) * (pitch - head - body));
  }
  return buffer;
}
