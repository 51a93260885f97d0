/* Convolutions of images [n, height, width, depth] with filters [window height, window width, depth, filters], and the
 * gradients of filters. Windows are read where they lie: with their channels side by side, a row of a window is one
 * piece of memory, so that no patches are copied. Images with padding around are copied once, some rows at a time. */
#include "convolution.h"

#include <stdlib.h>
#include <string.h>

#include "images.h"
#include "pool.h"
#include "tiles.h"
#include "winograd.h"

const struct tiles *tiles = &tiles_base;

#define BAND_PIXELS 256      /* of a gradient that is packed at a time */
#define MOST_TAPS (1 << 16)  /* elements of a window */

/* Where a pixel of the output lies. */
static float *out_pixel(const struct convolution *c, long image, long y, long x) {
  if (!c->is_spread) return c->out + ((image * c->out_height + y) * c->out_width + x) * c->filters;
  const long row = image * c->whole_height + c->first_row + y * c->row_step;
  return c->out + (row * c->whole_width + c->first_column + x * c->column_step) * c->filters;
}

/* A tile whose pixels lie apart, from row y and column x on: those of one row are written where they lie. */
static void spread_tile(const struct convolution *c, const float *const *at, long some, const float *panel, long image,
                        long y, long x, long f, long wanted, float *tile) {
  if (x + some <= c->out_width) {
    tiles->product(at, some, c->offsets, c->offsets_made, c->length, panel, out_pixel(c, image, y, x) + f,
                   c->column_step * c->filters, wanted);
    return;
  }
  tiles->product(at, some, c->offsets, c->offsets_made, c->length, panel, tile, tiles->columns, wanted);
  for (long r = 0; r < some; r++) {
    memcpy(out_pixel(c, image, y, x) + f, tile + r * tiles->columns, sizeof(float) * (size_t)wanted);
    if (++x == c->out_width) {
      x = 0;
      y++;
    }
  }
}

static void run_convolve(void *context, long begin, long end) {
  struct convolution *c = context;
  const long columns = tiles->columns, inner = c->window_height * c->window_width * c->depth;
  float *buffer = band_buffer(c, c->band, (size_t)(TILE_ROWS * columns));
  if (buffer == NULL) return;
  float *tile = buffer + band_size(c, c->band);
  for (long part = begin; part < end; part++) {
    const long image = part / c->bands, first = part % c->bands * c->band;
    const long rows = c->out_height - first < c->band ? c->out_height - first : c->band;
    const float *in = rows_of(c, image, first, rows, buffer);
    float *out = out_pixel(c, image, first, 0);
    const long pitch = c->padded_width * c->depth * c->stride_height, step = c->depth * c->stride_width;
    const long pixels = rows * c->out_width;
    for (long f = 0; f < c->filters; f += columns) {
      const float *panel = c->packed + f * inner;
      const long wanted = c->filters - f < columns ? c->filters - f : columns;
      for (long p = 0, x = 0, y = 0; p < pixels; p += TILE_ROWS) {
        const long some = pixels - p < TILE_ROWS ? pixels - p : TILE_ROWS;
        const float *at[TILE_ROWS];
        const long row = first + y, column = x;
        for (long r = 0; r < some; r++) {
          at[r] = in + y * pitch + x * step;
          if (++x == c->out_width) {
            x = 0;
            y++;
          }
        }
        if (c->is_spread)
          spread_tile(c, at, some, panel, image, row, column, f, wanted, tile);
        else
          tiles->product(at, some, c->offsets, c->offsets_made, c->length, panel, out + p * c->filters + f,
                         c->filters, wanted);
      }
    }
  }
  free(buffer);
}

/* A group of images, and some rows of the gradient of the filters. */
static void run_filter(void *context, long begin, long end) {
  struct convolution *c = context;
  const long columns = tiles->columns, inner = c->window_height * c->window_width * c->depth;
  const long panels = (c->filters + columns - 1) / columns, band_pixels = c->band * c->out_width;
  /* As many filters as one or two vectors have are a panel as they are. */
  const int is_panel = c->filters == columns || 2 * c->filters == columns;
  float *buffer = band_buffer(c, c->band, is_panel ? 0 : (size_t)(panels * band_pixels * columns));
  if (buffer == NULL) return;
  float *packed = buffer + band_size(c, c->band);
  for (long part = begin; part < end; part++) {
    const long group = part / c->chunks, from = part % c->chunks * c->chunk;
    const long to = inner - from < c->chunk ? inner : from + c->chunk;
    float *sums = c->sums + group * panels * inner * columns;
    for (long panel = 0; panel < panels; panel++)
      memset(sums + (panel * inner + from) * columns, 0, sizeof(float) * (size_t)((to - from) * columns));
    for (long image = group * c->count / c->groups; image < (group + 1) * c->count / c->groups; image++)
      for (long first = 0; first < c->out_height; first += c->band) {
        const long rows = c->out_height - first < c->band ? c->out_height - first : c->band;
        const float *in = rows_of(c, image, first, rows, buffer);
        const long pixels = rows * c->out_width;
        const float *gradient = c->gradient + (image * c->out_height + first) * c->out_width * c->filters;
        if (!is_panel) tiles->pack(gradient, c->filters, pixels, c->filters, packed);
        for (long panel = 0; panel < panels; panel++)
          for (long k = from; k < to; k += TILE_ROWS) {
            long offsets[TILE_ROWS];
            const long some = to - k < TILE_ROWS ? to - k : TILE_ROWS;
            for (long r = 0; r < some; r++) offsets[r] = c->offsets[(k + r) / c->length] + (k + r) % c->length;
            tiles->outer(in, offsets, some, rows, c->out_width, c->padded_width * c->depth * c->stride_height,
                         c->depth * c->stride_width, is_panel ? gradient : packed + panel * pixels * columns,
                         is_panel ? c->filters : columns, sums + (panel * inner + k) * columns,
                         c->filters - panel * columns);
          }
      }
  }
  free(buffer);
}

static void run_depthwise(void *context, long begin, long end) {
  struct convolution *c = context;
  float *buffer = band_buffer(c, c->band, 0);
  if (buffer == NULL) return;
  for (long part = begin; part < end; part++) {
    const long image = part / c->bands, first = part % c->bands * c->band;
    const long rows = c->out_height - first < c->band ? c->out_height - first : c->band;
    const float *in = rows_of(c, image, first, rows, buffer);
    float *out = c->out + (image * c->out_height + first) * c->out_width * c->depth;
    for (long y = 0; y < rows; y++)
      for (long x = 0; x < c->out_width; x++, out += c->depth)
        tiles->depthwise(in + (y * c->stride_height * c->padded_width + x * c->stride_width) * c->depth, c->offsets,
                         c->offsets_made, c->weights, out, c->depth);
  }
  free(buffer);
}

/* Groups of images. */
static void run_depthwise_filter(void *context, long begin, long end) {
  struct convolution *c = context;
  float *buffer = band_buffer(c, c->band, 0);
  if (buffer == NULL) return;
  const long taps = c->window_height * c->window_width;
  for (long group = begin; group < end; group++) {
    float *sums = c->sums + group * taps * c->depth;
    memset(sums, 0, sizeof(float) * (size_t)(taps * c->depth));
    for (long image = group * c->count / c->groups; image < (group + 1) * c->count / c->groups; image++)
      for (long first = 0; first < c->out_height; first += c->band) {
        const long rows = c->out_height - first < c->band ? c->out_height - first : c->band;
        const float *in = rows_of(c, image, first, rows, buffer);
        for (long y = 0; y < rows; y++) {
          const float *gradient =
              c->gradient + ((image * c->out_height + first + y) * c->out_width) * c->depth;
          for (long tap = 0; tap < taps; tap++)
            tiles->depthwise_filter(in + y * c->stride_height * c->padded_width * c->depth + c->offsets[tap],
                                    c->stride_width * c->depth, gradient, c->out_width, sums + tap * c->depth,
                                    c->depth);
        }
      }
  }
  free(buffer);
}

/* The sizes that all functions take: (n, height, width, depth), (height, width) of the output, windows, strides,
 * dilations, padding before; 0 with an exception where they are none. */
#define SIZES "(llll)(ll)(ll)(ll)(ll)(ll)"
#define SIZES_OF(c)                                                                                             \
  &(c)->count, &(c)->height, &(c)->width, &(c)->depth, &(c)->out_height, &(c)->out_width, &(c)->window_height, \
      &(c)->window_width, &(c)->stride_height, &(c)->stride_width, &(c)->dilation_height, &(c)->dilation_width, \
      &(c)->top, &(c)->left

static int check(struct convolution *c, long *image_count, long *out_pixels, long *taps) {
  const long sizes[] = {c->count,           c->height,           c->width,          c->depth,         c->out_height,
                        c->out_width,       c->window_height,    c->window_width,   c->stride_height, c->stride_width,
                        c->dilation_height, c->dilation_width,   c->filters};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i] < 1 || sizes[i] > 1L << 30) goto refuse;
  if (c->top < 0 || c->left < 0 || c->top > 1L << 30 || c->left > 1L << 30) goto refuse;
  *taps = product(c->window_height, c->window_width);
  if (*taps < 0) return 0;
  if (*taps > MOST_TAPS) goto refuse;
  /* Products of three such sizes are below 2^90: each is checked. */
  long pixels = product(c->height, c->width);
  if (pixels < 0 || (*image_count = product(c->count, pixels)) < 0 ||
      (*image_count = product(*image_count, c->depth)) < 0)
    return 0;
  if ((*out_pixels = product(c->out_height, c->out_width)) < 0 || (*out_pixels = product(*out_pixels, c->count)) < 0)
    return 0;
  if (!make_padding(c)) goto refuse;
  const int is_row = c->dilation_width == 1; /* a row of a window is one piece of memory */
  c->length = is_row ? c->window_width * c->depth : c->depth;
  return 1;
refuse:
  PyErr_SetString(PyExc_ValueError, "no sizes of a convolution");
  return 0;
}

/* Where the parts of a window begin: its rows, or its elements. */
static int make_offsets(struct convolution *c, int by_rows) {
  const long across = by_rows ? 1 : c->window_width;
  c->offsets_made = c->window_height * across;
  c->offsets = malloc(sizeof(long) * (size_t)c->offsets_made);
  if (c->offsets == NULL) {
    PyErr_NoMemory();
    return 0;
  }
  for (long y = 0; y < c->window_height; y++)
    for (long x = 0; x < across; x++)
      c->offsets[y * across + x] = (y * c->dilation_height * c->padded_width + x * c->dilation_width) * c->depth;
  return 1;
}

/* The convolution window by window. */
static void convolve_windows(struct convolution *c, long threads) {
  const long columns = tiles->columns, wide = (c->filters + columns - 1) / columns * columns;
  const long inner = c->window_height * c->window_width * c->depth;
  c->packed = malloc(sizeof(float) * (size_t)(inner * wide));
  if (c->packed == NULL) {
    c->failed = 1;
    return;
  }
  make_bands(c, c->out_height);
  tiles->pack(c->weights, c->filters, inner, c->filters, c->packed);
  in_parallel(run_convolve, c, c->count * c->bands, grain_of(c->band * c->out_width * inner / 8 * wide), threads);
  free(c->packed);
}

/* The convolution with fewer multiplications, and window by window for images of which a number is not finite. */
static void convolve_tiles(struct convolution *c, long threads) {
  unsigned char *finite = malloc((size_t)c->count);
  if (finite == NULL) {
    c->failed = 1;
    return;
  }
  winograd_convolve(c, finite, threads);
  for (long image = 0; image < c->count && !c->failed; image++) {
    if (finite[image]) continue;
    struct convolution one = *c;
    one.count = 1;
    one.images += image * c->height * c->width * c->depth;
    one.out += image * c->out_height * c->out_width * c->filters;
    convolve_windows(&one, threads);
    c->failed |= one.failed;
  }
  free(finite);
}

/* The convolution with fewer multiplications, in memory of its own, from where its pixels go to theirs. */
static void convolve_apart(struct convolution *c, long threads) {
  struct convolution own = *c;
  const size_t pixel = (size_t)c->filters;
  own.is_spread = 0;
  own.out = malloc(sizeof(float) * (size_t)(c->count * c->out_height * c->out_width) * pixel);
  if (own.out == NULL) {
    c->failed = 1;
    return;
  }
  convolve_tiles(&own, threads);
  c->failed |= own.failed;
  for (long image = 0; image < c->count && !c->failed; image++)
    for (long y = 0; y < c->out_height; y++)
      for (long x = 0; x < c->out_width; x++)
        memcpy(out_pixel(c, image, y, x), out_pixel(&own, image, y, x), sizeof(float) * pixel);
  free(own.out);
}

/* Takes where the pixels of the output lie in a larger one: its (height, width), of the first pixel and of the steps to
 * the next ones; 0 with an exception where they are not in it. */
static int take_places(struct convolution *c, PyObject *places) {
  c->is_spread = places != NULL && places != Py_None;
  if (!c->is_spread) return 1;
  if (!PyTuple_Check(places)) {
    PyErr_SetString(PyExc_TypeError, "places are a tuple");
    return 0;
  }
  if (!PyArg_ParseTuple(places, "llllll", &c->whole_height, &c->whole_width, &c->first_row, &c->first_column,
                        &c->row_step, &c->column_step))
    return 0;
  /* All are below 2^30, and so are the output's sizes. */
  const long most = 1L << 30;
  if (c->whole_height > most || c->whole_width > most || c->first_row < 0 || c->first_column < 0 ||
      c->first_row > most || c->first_column > most || c->row_step < 1 || c->column_step < 1 || c->row_step > most ||
      c->column_step > most || c->first_row + (c->out_height - 1) * c->row_step >= c->whole_height ||
      c->first_column + (c->out_width - 1) * c->column_step >= c->whole_width) {
    PyErr_SetString(PyExc_ValueError, "no places of a convolution's output");
    return 0;
  }
  return 1;
}

/* With `is_turned`, the filters are [height, width, filters, depth], and go from the last to the first: the convolution
 * is the gradient of the images of another one. With `places`, the output is some pixels of a larger one. */
PyObject *convolve(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *images, *weights, *out, *places = NULL, *answer = NULL;
  struct convolution c = {.failed = 0};
  float *turned = NULL;
  long threads, count, pixels, taps;
  int is_turned = 0;
  if (!PyArg_ParseTuple(arguments, "OOO" SIZES "ll|pO", &images, &weights, &out, SIZES_OF(&c), &c.filters, &threads,
                        &is_turned, &places))
    return NULL;
  if (!check(&c, &count, &pixels, &taps) || !take_places(&c, places)) return NULL;
  if (c.is_spread && ((pixels = product(c.whole_height, c.whole_width)) < 0 || (pixels = product(pixels, c.count)) < 0))
    return NULL;
  const long inner = product(taps, c.depth), out_count = product(pixels, c.filters);
  if (inner < 0 || out_count < 0) return NULL;
  const long columns = tiles->columns, wide = (c.filters + columns - 1) / columns * columns;
  const long weight_count = product(inner, c.filters);
  if (weight_count < 0 || product(inner, wide) < 0) return NULL;
  struct arrays arrays = {.count = 0};
  if ((c.images = array(&arrays, images, "f", count, 0)) == NULL ||
      (c.weights = array(&arrays, weights, "f", weight_count, 0)) == NULL ||
      (c.out = array(&arrays, out, "f", out_count, 1)) == NULL || !are_apart(&arrays) ||
      !make_offsets(&c, c.dilation_width == 1))
    goto done;
  if (is_turned && (turned = malloc(sizeof(float) * (size_t)weight_count)) == NULL) {
    PyErr_NoMemory();
    goto done;
  }
  Py_BEGIN_ALLOW_THREADS
  if (is_turned) {
    for (long tap = 0; tap < taps; tap++)
      tiles->transpose(c.weights + (taps - 1 - tap) * c.depth * c.filters, c.depth, c.filters, c.depth,
                       turned + tap * c.depth * c.filters, c.filters);
    c.weights = turned;
  }
  if (winograd_takes(&c))
    (c.is_spread ? convolve_apart : convolve_tiles)(&c, threads);
  else
    convolve_windows(&c, threads);
  Py_END_ALLOW_THREADS
  answer = c.failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
done:
  free(turned);
  free(c.offsets);
  release(&arrays);
  return answer;
}

#define MOST_GROUPS 16
#define GROUP_SUMS (1 << 21) /* floats of all groups' sums together */
#define LEAST_PARTS 16

/* The gradient of the filters, each of its elements by itself. */
static void filter_windows(struct convolution *c, long threads) {
  const long columns = tiles->columns, panels = (c->filters + columns - 1) / columns;
  const long inner = c->window_height * c->window_width * c->depth, size = inner * panels * columns;
  /* All of it depends on sizes alone, so that the sums do not depend on the number of threads. */
  c->groups = GROUP_SUMS / size;
  if (c->groups < 1) c->groups = 1;
  if (c->groups > MOST_GROUPS) c->groups = MOST_GROUPS;
  if (c->groups > c->count) c->groups = c->count;
  const long wanted = (LEAST_PARTS + c->groups - 1) / c->groups;
  c->chunk = ((inner + wanted - 1) / wanted + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
  if (c->chunk < 8 * TILE_ROWS) c->chunk = 8 * TILE_ROWS;
  c->chunks = (inner + c->chunk - 1) / c->chunk;
  c->sums = malloc(sizeof(float) * (size_t)(c->groups * size));
  if (c->sums == NULL) {
    c->failed = 1;
    return;
  }
  make_bands(c, (BAND_PIXELS + c->out_width - 1) / c->out_width);
  const long cost = c->count * c->out_height * c->out_width / c->groups * c->chunk / 8 * panels * columns;
  in_parallel(run_filter, c, c->groups * c->chunks, grain_of(cost), threads);
  for (long k = 0; !c->failed && k < inner; k++)
    for (long panel = 0; panel < panels; panel++) {
      const float *from = c->sums + (panel * inner + k) * columns;
      float *to = c->out + k * c->filters + panel * columns;
      const long some = c->filters - panel * columns < columns ? c->filters - panel * columns : columns;
      for (long f = 0; f < some; f++) to[f] = from[f];
      for (long group = 1; group < c->groups; group++)
        for (long f = 0; f < some; f++) to[f] += from[group * size + f];
    }
  free(c->sums);
}

PyObject *convolve_filter(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *images, *gradient, *out, *answer = NULL;
  struct convolution c = {.failed = 0};
  long threads, count, pixels, taps;
  if (!PyArg_ParseTuple(arguments, "OOO" SIZES "ll", &images, &gradient, &out, SIZES_OF(&c), &c.filters, &threads))
    return NULL;
  if (!check(&c, &count, &pixels, &taps)) return NULL;
  const long inner = product(taps, c.depth), gradient_count = product(pixels, c.filters);
  if (inner < 0 || gradient_count < 0) return NULL;
  const long columns = tiles->columns, panels = (c.filters + columns - 1) / columns;
  const long size = product(inner, panels * columns), weight_count = product(inner, c.filters);
  if (size < 0 || weight_count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  if ((c.images = array(&arrays, images, "f", count, 0)) == NULL ||
      (c.gradient = array(&arrays, gradient, "f", gradient_count, 0)) == NULL ||
      (c.out = array(&arrays, out, "f", weight_count, 1)) == NULL || !are_apart(&arrays) ||
      !make_offsets(&c, c.dilation_width == 1))
    goto done;
  Py_BEGIN_ALLOW_THREADS
  if (!winograd_takes(&c) || !winograd_filter(&c, threads)) filter_windows(&c, threads);
  Py_END_ALLOW_THREADS
  answer = c.failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
done:
  free(c.offsets);
  release(&arrays);
  return answer;
}

/* depthwise(images, weights, out, …) with one filter for each channel, and depthwise_filter(images, gradient, out, …). */
static PyObject *by_depth(PyObject *arguments, int is_filter) {
  PyObject *images, *other, *out, *answer = NULL;
  struct convolution c = {.failed = 0, .filters = 1};
  long threads, count, pixels, taps;
  if (!PyArg_ParseTuple(arguments, "OOO" SIZES "l", &images, &other, &out, SIZES_OF(&c), &threads)) return NULL;
  if (!check(&c, &count, &pixels, &taps)) return NULL;
  const long weight_count = product(taps, c.depth), out_count = product(pixels, c.depth);
  if (weight_count < 0 || out_count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  const float *given;
  if ((c.images = array(&arrays, images, "f", count, 0)) == NULL ||
      (given = array(&arrays, other, "f", is_filter ? out_count : weight_count, 0)) == NULL ||
      (c.out = array(&arrays, out, "f", is_filter ? weight_count : out_count, 1)) == NULL || !are_apart(&arrays) ||
      !make_offsets(&c, 0))
    goto done;
  c.weights = c.gradient = given;
  c.groups = c.count < LEAST_PARTS ? c.count : LEAST_PARTS;
  if (is_filter && (c.sums = malloc(sizeof(float) * (size_t)(c.groups * weight_count))) == NULL) {
    PyErr_NoMemory();
    goto done;
  }
  make_bands(&c, c.out_height);
  Py_BEGIN_ALLOW_THREADS
  if (is_filter) {
    in_parallel(run_depthwise_filter, &c, c.groups, grain_of(out_count / c.groups * taps / 4), threads);
    if (!c.failed)
      for (long i = 0; i < weight_count; i++) {
        float sum = c.sums[i];
        for (long group = 1; group < c.groups; group++) sum += c.sums[group * weight_count + i];
        c.out[i] = sum;
      }
  } else {
    in_parallel(run_depthwise, &c, c.count * c.bands, grain_of(c.band * c.out_width * c.depth * taps / 4), threads);
  }
  Py_END_ALLOW_THREADS
  answer = c.failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
done:
  free(c.sums);
  free(c.offsets);
  release(&arrays);
  return answer;
}

PyObject *depthwise(PyObject *self, PyObject *arguments) {
  (void)self;
  return by_depth(arguments, 0);
}

PyObject *depthwise_filter(PyObject *self, PyObject *arguments) {
  (void)self;
  return by_depth(arguments, 1);
}
