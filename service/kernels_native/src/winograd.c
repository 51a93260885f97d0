/* Convolutions of tiles after Winograd: of 3x3 filters and 2x2 pixels 16 multiplications in place of 36, of 5x5 filters and 4x4
 * pixels 121 in place of 400. The points of some tiles stay in the second cache while they are multiplied.
 *
 * Sums of points differ from direct sums in the last places of the largest number that a tile sees; sums of integers
 * are exact, as nothing but halves is multiplied by. What is not finite spreads within a tile, and a point may be too
 * large where the sum is not: callers compute anew, directly, what is not finite here. */
#include "winograd.h"

#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "tiles.h"

const struct winograd *winograd = &winograd_base;

/* Numbers of points of the tiles that are multiplied at a time. The more, the seldomer the sums of gradients are read. */
#define BLOCK_NUMBERS (1 << 16)
#define GRADIENT_BLOCK_NUMBERS (1 << 17)
#define LEAST_BLOCK 12
#define MOST_BLOCK 96
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
  long taps, tile, points;
  enum kind first_kind, last_kind;
  long wide, block; /* tiles of a row, and at a time */
  float *filters;
  unsigned char *finite;
  int is_finite;
};

int winograd_takes(const struct convolution *c) {
  const long taps = c->window_height;
  if (taps != c->window_width || (taps != 3 && taps != 5) || c->stride_height != 1 || c->stride_width != 1 ||
      c->dilation_height != 1 || c->dilation_width != 1 || c->depth % CHANNELS || c->filters % CHANNELS)
    return 0;
  const long points = POINTS_OF(taps) * POINTS_OF(taps), tile = TILE_OF(taps);
  const long high = (c->out_height + tile - 1) / tile, wide = (c->out_width + tile - 1) / tile;
  /* The sizes are below 2^30, as are depth and filters. */
  if (c->depth * c->filters > MOST_FILTERS / points) return 0;
  const double tiles = (double)high * (double)wide, pixels = (double)c->out_height * (double)c->out_width;
  return tiles * (double)c->count >= LEAST_TILES && tiles * (double)points * 1.25 < pixels * (double)(taps * taps);
}

static long whole_tiles(long size, long tile) { return (size + tile - 1) / tile * tile; }

/* `whole` as the convolution of whole tiles, in bands of them; 0 where that has no size. `each` is how many numbers of a block a
 * point of a tile has. */
static int prepare(struct run *run, const struct convolution *c, struct convolution *whole, long numbers, long each) {
  const long taps = c->window_height, tile = TILE_OF(taps), points = POINTS_OF(taps);
  *whole = *c;
  whole->out_height = whole_tiles(c->out_height, tile);
  whole->out_width = whole_tiles(c->out_width, tile);
  if (!make_padding(whole)) return 0;
  make_bands(whole, whole->out_height);
  whole->band = whole_tiles(whole->band, tile);
  whole->bands = (whole->out_height + whole->band - 1) / whole->band;
  *run = (struct run){.c = whole,
                      .out_height = c->out_height,
                      .out_width = c->out_width,
                      .taps = taps,
                      .tile = tile,
                      .points = points * points,
                      .first_kind = taps == 3 ? ALL : BOTH,
                      .last_kind = taps == 3 ? ALL : ODD,
                      .wide = whole->out_width / tile,
                      .is_finite = 1};
  long block = numbers / (MOST_DOWN * points * each) / LEAST_BLOCK * LEAST_BLOCK;
  if (block > MOST_BLOCK) block = MOST_BLOCK;
  if (block < LEAST_BLOCK) block = LEAST_BLOCK;
  run->block = block;
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

/* sums [count, filters] = in [count, depth] times the panels of one point. */
static void multiply_point(const float *in, long count, long depth, const float *panels, long filters, float *sums) {
  /* Of nearly equal height: in a low one, the sums wait for each other. */
  const long made = (count + TILE_ROWS - 1) / TILE_ROWS, low = count / made, higher = count % made;
  for (long f = 0; f < filters; f += tiles->columns, panels += depth * tiles->columns)
    for (long i = 0, t = 0, rows; i < made; i++, t += rows) {
      rows = low + (i < higher);
      tiles->matrix(in + t * depth, rows, depth, depth, panels, 0, sums + t * filters + f, filters,
                    filters - f < tiles->columns ? filters - f : tiles->columns);
    }
}

/* One kind of points of a band of an image; 0 where a number of the output is not finite. */
static int convolve_band(const struct run *run, enum kind kind, long image, long first, const float *in, float *images,
                         float *sums) {
  const struct convolution *c = run->c;
  const long apart = run->block * c->depth + LINE, sums_apart = run->block * c->filters + LINE, tile = run->tile;
  const long across = POINTS_OF(run->taps), points = DOWN_OF(kind) * across;
  const long pitch = c->padded_width * c->depth, out_pitch = run->out_width * c->filters;
  const long panels = (c->filters + tiles->columns - 1) / tiles->columns * tiles->columns * c->depth;
  const float *filters = run->filters + FIRST_POINT(kind) * across * panels;
  const float *images_end = c->images + c->count * c->height * c->width * c->depth;
  const float *out_end = c->out + c->count * run->out_height * out_pitch;
  const long rows = c->out_height - first < c->band ? c->out_height - first : c->band;
  float *out = c->out + (image * run->out_height + first) * out_pitch;
  const long all = rows / tile * run->wide;
  int is_finite = 1;
  const float *next = images_from(c, image, first + rows), *next_out = out;
  for (long from = 0; from < all; from += run->block) {
    const long to = all - from < run->block ? all : from + run->block;
    for (long t = from, some; t < to; t += some) {
      const long y = t / run->wide * tile, x = t % run->wide;
      some = to - t < run->wide - x ? to - t : run->wide - x;
      winograd->images(in + y * pitch + tile * x * c->depth, pitch, c->depth, some, c->depth, kind,
                       images + (t - from) * c->depth, apart);
    }
    for (long p = 0; p < points; p++) {
      next = fetch(next, images_end, tile * tile * run->block * c->depth / points);
      next_out = fetch_to_write(next_out, out_end, tile * tile * run->block * c->filters / points);
      multiply_point(images + p * apart, to - from, c->depth, filters + p * panels, c->filters, sums + p * sums_apart);
    }
    for (long t = from, some; t < to; t += some) {
      const long y = t / run->wide * tile, x = t % run->wide;
      some = to - t < run->wide - x ? to - t : run->wide - x;
      is_finite &= winograd->output(sums + (t - from) * c->filters, sums_apart, some, c->filters, kind,
                                    out + y * out_pitch + tile * x * c->filters, out_pitch,
                                    run->out_height - first - y, run->out_width - tile * x);
    }
  }
  return is_finite;
}

/* Bands of images. */
static void run_convolve(void *context, long begin, long end) {
  struct run *run = context;
  struct convolution *c = run->c;
  const long points = MOST_DOWN * POINTS_OF(run->taps), apart = run->block * c->depth + LINE;
  float *buffer = band_buffer(c, c->band, (size_t)(points * (apart + run->block * c->filters + LINE)));
  if (buffer == NULL) return;
  float *images = buffer + band_size(c, c->band), *sums = images + points * apart;
  for (long part = begin; part < end; part++) {
    const long image = part / c->bands, first = part % c->bands * c->band;
    const long rows = c->out_height - first < c->band ? c->out_height - first : c->band;
    const float *in = rows_of(c, image, first, rows, buffer);
    for (enum kind kind = run->first_kind; kind <= run->last_kind; kind++)
      if (!convolve_band(run, kind, image, first, in, images, sums))
        __atomic_store_n(&run->finite[image], 0, __ATOMIC_RELAXED);
  }
  free(buffer);
}

void winograd_convolve(struct convolution *c, unsigned char *finite, long threads) {
  struct convolution whole;
  struct run run;
  memset(finite, 1, (size_t)c->count);
  if (!prepare(&run, c, &whole, c->window_height == 3 ? BLOCK_NUMBERS : GRADIENT_BLOCK_NUMBERS, c->depth + c->filters))
    goto failed;
  run.finite = finite;
  const long panels = (c->filters + tiles->columns - 1) / tiles->columns;
  const long size = run.points * panels * tiles->columns * c->depth;
  const long all = whole.band / run.tile * run.wide; /* tiles of a band */
  if (run.last_kind != run.first_kind) {
    /* As many each time, as the points of the filters are read anew. */
    const long times = (all + run.block - 1) / run.block;
    run.block = (all + times - 1) / times;
  }
  run.filters = malloc(sizeof(float) * (size_t)size);
  if (run.filters == NULL) goto failed;
  in_parallel(run_filters, &run, c->depth, grain_of(run.points * c->filters / 4), threads);
  const long cost = all * run.points * c->depth * c->filters / 8;
  in_parallel(run_convolve, &run, c->count * whole.bands, grain_of(cost), threads);
  free(run.filters);
  c->failed |= whole.failed;
  return;
failed:
  c->failed = 1;
}

/* What a part of the gradient of the filters has at hand: the points of some tiles. */
struct points {
  enum kind kind;
  long channels, filled;
  float *images, *gradient;
  long apart, gradient_apart;
  float *sums; /* of the first point of the kind */
};

/* Multiplies the tiles that there are; while this is done, what is next is fetched. */
static void add_points(const struct run *run, struct points *p, const float **next, const float *images_end,
                       const float *next_gradient, const float *gradient_end) {
  const struct convolution *c = run->c;
  const long points = DOWN_OF(p->kind) * POINTS_OF(run->taps), pixels = run->tile * run->tile * run->block;
  for (long k = 0; k < points; k++) {
    *next = fetch(*next, images_end, pixels * c->depth / points);
    next_gradient = fetch(next_gradient, gradient_end, pixels * c->filters / points);
    winograd->outer(p->images + k * p->apart, p->gradient + k * p->gradient_apart, p->filled, p->channels, c->filters,
                    p->sums + k * c->depth * c->filters);
  }
  p->filled = 0;
}

/* One kind of points of a group of images. */
static void add_group(const struct run *run, long group, long channel, struct points *p, float *buffer) {
  const struct convolution *c = run->c;
  const long pitch = c->padded_width * c->depth, gradient_pitch = run->out_width * c->filters, tile = run->tile;
  const float *images_end = c->images + c->count * c->height * c->width * c->depth;
  const float *gradient_end = c->gradient + c->count * run->out_height * gradient_pitch;
  const float *next = NULL;
  for (long image = group * c->count / c->groups; image < (group + 1) * c->count / c->groups; image++)
    for (long first = 0; first < c->out_height; first += c->band) {
      const long rows = c->out_height - first < c->band ? c->out_height - first : c->band;
      const float *in = rows_of(c, image, first, rows, buffer) + channel;
      const float *gradient = c->gradient + (image * run->out_height + first) * gradient_pitch;
      const float *band_end = images_from(c, image, first + rows);
      if (next < band_end) next = band_end;
      for (long t = 0, some; t < rows / tile * run->wide; t += some) {
        const long y = t / run->wide * tile, x = t % run->wide;
        some = run->wide - x < run->block - p->filled ? run->wide - x : run->block - p->filled;
        winograd->images(in + y * pitch + tile * x * c->depth, pitch, c->depth, some, p->channels, p->kind,
                         p->images + p->filled * p->channels, p->apart);
        winograd->gradient(gradient + y * gradient_pitch + tile * x * c->filters, gradient_pitch, some, c->filters, p->kind,
                           run->out_height - first - y, run->out_width - tile * x,
                           p->gradient + p->filled * c->filters, p->gradient_apart);
        p->filled += some;
        if (p->filled == run->block)
          add_points(run, p, &next, images_end, gradient + y * gradient_pitch + tile * (x + some) * c->filters,
                     gradient_end);
      }
    }
  add_points(run, p, &next, next, gradient_end, gradient_end);
}

/* Groups of images, some of their channels, and one kind of points. */
static void run_filter(void *context, long begin, long end) {
  struct run *run = context;
  struct convolution *c = run->c;
  const long across = POINTS_OF(run->taps), points = MOST_DOWN * across, matrix = c->depth * c->filters;
  struct points p = {.apart = run->block * c->chunk + LINE, .gradient_apart = run->block * c->filters + LINE};
  float *buffer = band_buffer(c, c->band, (size_t)(points * (p.apart + p.gradient_apart)));
  if (buffer == NULL) return;
  p.images = buffer + band_size(c, c->band);
  p.gradient = p.images + points * p.apart;
  const long kinds = run->last_kind - run->first_kind + 1;
  for (long part = begin; part < end; part++) {
    const long group = part / kinds / c->chunks, channel = part / kinds % c->chunks * c->chunk;
    p.kind = run->first_kind + (enum kind)(part % kinds);
    p.channels = c->depth - channel < c->chunk ? c->depth - channel : c->chunk;
    p.sums = c->sums + (group * run->points + FIRST_POINT(p.kind) * across) * matrix + channel * c->filters;
    for (long k = 0; k < DOWN_OF(p.kind) * across; k++)
      memset(p.sums + k * matrix, 0, sizeof(float) * (size_t)(p.channels * c->filters));
    add_group(run, group, channel, &p, buffer);
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
  if (!prepare(&run, c, &whole, GRADIENT_BLOCK_NUMBERS, chunk + c->filters)) goto failed;
  /* All of it depends on sizes alone, so that the sums do not depend on the number of threads. */
  const long size = run.points * c->depth * c->filters;
  whole.chunk = chunk;
  whole.chunks = (c->depth + chunk - 1) / chunk;
  const double tiles = (double)whole.out_height * (double)whole.out_width / (double)(run.tile * run.tile) * (double)c->count;
  const long kinds = run.last_kind - run.first_kind + 1, least = kinds == 1 ? GROUP_TILES : 2 * GROUP_TILES;
  whole.groups = tiles / (double)least < MOST_GROUPS ? (long)(tiles / (double)least) : MOST_GROUPS;
  if (whole.groups > GROUP_SUMS / size) whole.groups = GROUP_SUMS / size;
  if (whole.groups > c->count) whole.groups = c->count;
  if (whole.groups < 1) whole.groups = 1;
  whole.sums = malloc(sizeof(float) * (size_t)(whole.groups * size));
  if (whole.sums == NULL) goto failed;
  in_parallel(run_filter, &run, whole.groups * whole.chunks * kinds, 1, threads);
  if (!whole.failed)
    in_parallel(run_weights, &run, c->depth, grain_of(run.points * c->filters * whole.groups / 8), threads);
  free(whole.sums);
  c->failed |= whole.failed;
  return run.is_finite;
failed:
  c->failed = 1;
  return 1;
}
