/* Convolutions of tiles of 2x2 pixels after Winograd: of 3x3 filters 16 multiplications in place of 36, of 5x5 49 in
 * place of 100. The points of some tiles stay in the second cache while they are multiplied.
 *
 * Sums of points differ from direct sums in the last places of the largest number that a tile sees; sums of integers
 * are exact, as nothing but halves is multiplied by. What is not finite spreads within a tile, and a point may be too
 * large where the sum is not: callers compute anew, directly, what is not finite here. */
#include "winograd.h"

#include <stdlib.h>
#include <string.h>

#include "pool.h"

const struct winograd *winograd = &winograd_base;

#define BLOCK_NUMBERS (1 << 16) /* of points of the tiles that are multiplied at a time */
#define LEAST_BLOCK 12
#define MOST_BLOCK 192
#define LINE 16             /* numbers of a line of the cache: points begin at different ones */
#define MOST_FILTERS (1 << 24) /* numbers of the points of filters, and of their gradients' sums */
#define LEAST_TILES 16      /* for which the filters are brought to points */
#define MOST_GROUPS 16
#define GROUP_SUMS (1 << 21)   /* numbers of all groups' sums together */
#define GROUP_TILES 128        /* that a group has at least: each begins with zeros and ends with a sum */
#define CHUNK 64               /* channels of a part */

struct run {
  struct convolution *c; /* with the output's height and width as those of whole tiles */
  long out_height, out_width;
  long taps, points, wide, block; /* tiles of a row, and at a time */
  float *filters;
  unsigned char *finite;
  int is_finite;
};

int winograd_takes(const struct convolution *c) {
  const long taps = c->window_height;
  if (taps != c->window_width || (taps != 3 && taps != 5) || c->stride_height != 1 || c->stride_width != 1 ||
      c->dilation_height != 1 || c->dilation_width != 1 || c->depth % CHANNELS || c->filters % CHANNELS)
    return 0;
  const long points = POINTS_OF(taps) * POINTS_OF(taps), high = (c->out_height + 1) / 2, wide = (c->out_width + 1) / 2;
  /* The sizes are below 2^30, as are depth and filters. */
  if (c->depth * c->filters > MOST_FILTERS / points) return 0;
  const double tiles = (double)high * (double)wide, pixels = (double)c->out_height * (double)c->out_width;
  return tiles * (double)c->count >= LEAST_TILES && tiles * (double)points * 1.25 < pixels * (double)(taps * taps);
}

/* `whole` as the convolution of whole tiles, in bands of them; 0 where that has no size. */
static int prepare(struct run *run, const struct convolution *c, struct convolution *whole, long most, long channels) {
  *whole = *c;
  whole->out_height += c->out_height % 2;
  whole->out_width += c->out_width % 2;
  if (!make_padding(whole)) return 0;
  make_bands(whole, most);
  whole->band += whole->band % 2;
  whole->bands = (whole->out_height + whole->band - 1) / whole->band;
  const long points = POINTS_OF(c->window_height);
  long block = BLOCK_NUMBERS / (points * points * (channels + c->filters)) / LEAST_BLOCK * LEAST_BLOCK;
  if (block > MOST_BLOCK) block = MOST_BLOCK;
  if (block < LEAST_BLOCK) block = LEAST_BLOCK;
  *run = (struct run){.c = whole,
                      .out_height = c->out_height,
                      .out_width = c->out_width,
                      .taps = c->window_height,
                      .points = points * points,
                      .wide = whole->out_width / 2,
                      .block = block,
                      .is_finite = 1};
  return 1;
}

/* Numbers that are needed next, from `at` on, are on their way from memory while others are multiplied; where it came to. */
static const float *fetch(const float *at, const float *end, long numbers) {
  for (; numbers > 0 && at < end; numbers -= LINE, at += LINE) __builtin_prefetch(at, 0, 2);
  return at;
}

static const float *fetch_to_write(const float *at, const float *end, long numbers) {
  for (; numbers > 0 && at < end; numbers -= LINE, at += LINE) __builtin_prefetch(at, 1, 2);
  return at;
}

static void run_filters(void *context, long begin, long end) {
  const struct run *run = context;
  winograd->filters(run->c->weights, run->c->depth, run->c->filters, run->taps, begin, end, run->filters);
}

/* Where the rows of an image from `first` of the output on begin, or the next image. */
static const float *images_from(const struct convolution *c, long image, long first) {
  const long row = first < c->out_height ? first + c->window_height - 1 - c->top : c->height;
  return c->images + (image * c->height + (row < c->height ? row : c->height)) * c->width * c->depth;
}

/* Bands of images. */
static void run_convolve(void *context, long begin, long end) {
  struct run *run = context;
  struct convolution *c = run->c;
  const long apart = run->block * c->depth + LINE, sums_apart = run->block * c->filters + LINE;
  float *buffer = band_buffer(c, c->band, (size_t)(run->points * (apart + sums_apart)));
  if (buffer == NULL) return;
  float *images = buffer + band_size(c, c->band), *sums = images + run->points * apart;
  const long pitch = c->padded_width * c->depth, out_pitch = run->out_width * c->filters;
  const long panels = (c->filters + winograd->columns - 1) / winograd->columns * winograd->columns * c->depth;
  const float *images_end = c->images + c->count * c->height * c->width * c->depth;
  const float *out_end = c->out + c->count * run->out_height * out_pitch;
  for (long part = begin; part < end; part++) {
    const long image = part / c->bands, first = part % c->bands * c->band;
    const long rows = c->out_height - first < c->band ? c->out_height - first : c->band;
    const float *in = rows_of(c, image, first, rows, buffer);
    float *out = c->out + (image * run->out_height + first) * out_pitch;
    const long all = rows / 2 * run->wide;
    int is_finite = 1;
    const float *next = images_from(c, image, first + rows), *next_out = out;
    for (long from = 0; from < all; from += run->block) {
      const long to = all - from < run->block ? all : from + run->block;
      for (long t = from, some; t < to; t += some) {
        const long y = t / run->wide, x = t % run->wide;
        some = to - t < run->wide - x ? to - t : run->wide - x;
        winograd->images(in + 2 * y * pitch + 2 * x * c->depth, pitch, c->depth, some, c->depth, run->taps,
                         images + (t - from) * c->depth, apart);
      }
      for (long p = 0; p < run->points; p++) {
        next = fetch(next, images_end, 4 * run->block * c->depth / run->points);
        next_out = fetch_to_write(next_out, out_end, 4 * run->block * c->filters / run->points);
        winograd->product(images + p * apart, to - from, c->depth, run->filters + p * panels, c->filters,
                          sums + p * sums_apart);
      }
      for (long t = from, some; t < to; t += some) {
        const long y = t / run->wide, x = t % run->wide;
        some = to - t < run->wide - x ? to - t : run->wide - x;
        is_finite &= winograd->output(sums + (t - from) * c->filters, sums_apart, some, c->filters, run->taps,
                                      out + 2 * y * out_pitch + 2 * x * c->filters, out_pitch,
                                      run->out_height - first - 2 * y, run->out_width - 2 * x);
      }
    }
    if (!is_finite) __atomic_store_n(&run->finite[image], 0, __ATOMIC_RELAXED);
  }
  free(buffer);
}

void winograd_convolve(struct convolution *c, unsigned char *finite, long threads) {
  struct convolution whole;
  struct run run;
  memset(finite, 1, (size_t)c->count);
  if (!prepare(&run, c, &whole, c->out_height, c->depth)) goto failed;
  run.finite = finite;
  const long panels = (c->filters + winograd->columns - 1) / winograd->columns;
  const long size = run.points * panels * winograd->columns * c->depth;
  run.filters = malloc(sizeof(float) * (size_t)size);
  if (run.filters == NULL) goto failed;
  in_parallel(run_filters, &run, c->depth, grain_of(run.points * c->filters / 4), threads);
  const long cost = whole.band * run.wide * run.points * c->depth * c->filters / 16;
  in_parallel(run_convolve, &run, c->count * whole.bands, grain_of(cost), threads);
  free(run.filters);
  c->failed |= whole.failed;
  return;
failed:
  c->failed = 1;
}

/* Groups of images, and some of their channels. */
static void run_filter(void *context, long begin, long end) {
  struct run *run = context;
  struct convolution *c = run->c;
  const long chunk = c->chunk, apart = run->block * chunk + LINE, gradient_apart = run->block * c->filters + LINE;
  float *buffer = band_buffer(c, c->band, (size_t)(run->points * (apart + gradient_apart)));
  if (buffer == NULL) return;
  float *images = buffer + band_size(c, c->band), *points = images + run->points * apart;
  const long pitch = c->padded_width * c->depth, gradient_pitch = run->out_width * c->filters;
  const long matrix = c->depth * c->filters;
  const float *images_end = c->images + c->count * c->height * c->width * c->depth;
  const float *gradient_end = c->gradient + c->count * run->out_height * gradient_pitch;
  for (long part = begin; part < end; part++) {
    const long group = part / c->chunks, channel = part % c->chunks * chunk;
    const long channels = c->depth - channel < chunk ? c->depth - channel : chunk;
    float *sums = c->sums + group * run->points * matrix + channel * c->filters;
    for (long p = 0; p < run->points; p++)
      memset(sums + p * matrix, 0, sizeof(float) * (size_t)(channels * c->filters));
    long filled = 0;
    const float *next = NULL;
    for (long image = group * c->count / c->groups; image < (group + 1) * c->count / c->groups; image++)
      for (long first = 0; first < c->out_height; first += c->band) {
        const long rows = c->out_height - first < c->band ? c->out_height - first : c->band;
        const float *in = rows_of(c, image, first, rows, buffer) + channel;
        const float *gradient = c->gradient + (image * run->out_height + first) * gradient_pitch;
        const float *next_gradient, *band_end = images_from(c, image, first + rows);
        if (next < band_end) next = band_end;
        for (long t = 0, some; t < rows / 2 * run->wide; t += some) {
          const long y = t / run->wide, x = t % run->wide;
          some = run->wide - x < run->block - filled ? run->wide - x : run->block - filled;
          winograd->images(in + 2 * y * pitch + 2 * x * c->depth, pitch, c->depth, some, channels, run->taps,
                           images + filled * channels, apart);
          winograd->gradient(gradient + 2 * y * gradient_pitch + 2 * x * c->filters, gradient_pitch, some, c->filters,
                             run->taps, run->out_height - first - 2 * y, run->out_width - 2 * x,
                             points + filled * c->filters, gradient_apart);
          filled += some;
          if (filled < run->block) continue;
          next_gradient = gradient + 2 * y * gradient_pitch + 2 * (x + some) * c->filters;
          for (long p = 0; p < run->points; p++) {
            next = fetch(next, images_end, 4 * run->block * c->depth / run->points);
            next_gradient = fetch(next_gradient, gradient_end, 4 * run->block * c->filters / run->points);
            winograd->outer(images + p * apart, points + p * gradient_apart, filled, channels, c->filters,
                            sums + p * matrix);
          }
          filled = 0;
        }
      }
    for (long p = 0; p < run->points; p++)
      winograd->outer(images + p * apart, points + p * gradient_apart, filled, channels, c->filters, sums + p * matrix);
  }
  free(buffer);
}

/* Channels of the gradient of the filters. */
static void run_weights(void *context, long begin, long end) {
  struct run *run = context;
  const struct convolution *c = run->c;
  if (!winograd->weights(c->sums, c->groups, c->depth, c->filters, run->taps, begin, end, c->out))
    __atomic_store_n(&run->is_finite, 0, __ATOMIC_RELAXED);
}

int winograd_filter(struct convolution *c, long threads) {
  struct convolution whole;
  struct run run;
  const long chunk = c->depth < CHUNK ? c->depth : CHUNK;
  if (!prepare(&run, c, &whole, c->out_height, chunk)) goto failed;
  /* All of it depends on sizes alone, so that the sums do not depend on the number of threads. */
  const long size = run.points * c->depth * c->filters;
  whole.chunk = chunk;
  whole.chunks = (c->depth + chunk - 1) / chunk;
  const double tiles = (double)whole.out_height * (double)whole.out_width / 4 * (double)c->count;
  whole.groups = tiles / GROUP_TILES < MOST_GROUPS ? (long)(tiles / GROUP_TILES) : MOST_GROUPS;
  if (whole.groups > GROUP_SUMS / size) whole.groups = GROUP_SUMS / size;
  if (whole.groups > c->count) whole.groups = c->count;
  if (whole.groups < 1) whole.groups = 1;
  whole.sums = malloc(sizeof(float) * (size_t)(whole.groups * size));
  if (whole.sums == NULL) goto failed;
  in_parallel(run_filter, &run, whole.groups * whole.chunks, 1, threads);
  if (!whole.failed)
    in_parallel(run_weights, &run, c->depth, grain_of(run.points * c->filters * whole.groups / 8), threads);
  free(whole.sums);
  c->failed |= whole.failed;
  return run.is_finite;
failed:
  c->failed = 1;
  return 1;
}
