/* Products of matrices, out [rows, columns] = a [rows, inner] b [inner, columns], either of them given transposed, or b
 * as panels.
 *
 * Some columns of b at a time are copied into panels that stay in the second cache, while the rows of a go by. A long
 * inner dimension goes by in blocks, whose sums are added up in the result. Each element is computed in an order that
 * depends on the sizes alone, so results do not depend on how the columns, or the rows, are divided among threads. */
#include "product.h"

#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "tiles.h"

#define PANEL_BYTES (1 << 17)       /* of the panels that are used at a time, unless one is larger */
#define BLOCK_BYTES (1 << 18)       /* of those of a block of a long inner dimension */
#define MOST_AT_ONCE (1 << 10)      /* rows of a panel that is used at once: longer ones go by in blocks */
#define MOST_OF_LONG (1 << 9)       /* the same where rows of b are long: of more of them, less would be read at a time */
#define LONG_ROW (1 << 10)
#define BLOCK_ROWS 384              /* about so many rows of a panel are such a block */
#define SHARED_BYTES (3 << 17)      /* of a block's panels that each thread packs for itself, and goes by some rows of a */
#define SHARED_ROWS 64              /* the fewest rows of such a part: fewer take less time than the packing */

enum form { AS_IT_IS, TRANSPOSED, PANELS, FORM_COUNT };

struct product {
  const float *a, *b, *turned; /* a as it was given, if that was transposed */
  float *out;
  long rows, inner, columns;
  int form; /* of b */
  long block;  /* rows of b at a time; a's part of it is copied where that is not all of them */
  long panels; /* of a part */
  long row_parts; /* parts that have the same panels */
  int failed;
};

/* Rows [k, k + length) of the columns [first, last) of b as panels. */
static void pack_columns(const struct product *p, long first, long last, long k, long length, float *packed) {
  const long width = tiles->columns;
  if (p->form == AS_IT_IS) {
    tiles->pack(p->b + k * p->columns + first, p->columns, length, last - first, packed);
    return;
  }
  for (long c = first; c < last; c += width, packed += length * width) {
    const long some = last - c < width ? last - c : width;
    if (some < width) memset(packed, 0, sizeof(float) * (size_t)(length * width));
    tiles->transpose(p->b + c * p->inner + k, p->inner, some, length, packed, width);
  }
}

/* Rows [begin, end) of a tile are fetched for later: they are far apart, so that the processor does not foresee them. */
static void fetch(const float *tile, long step, long begin, long end, long length) {
  for (long r = begin; r < end; r++)
    for (long i = 0; i < length; i += 16) __builtin_prefetch(tile + r * step + i, 0, 2);
}

static void run_product(void *context, long begin, long end) {
  struct product *p = context;
  const long width = tiles->columns, most = TILE_ROWS, in_blocks = p->block < p->inner;
  const size_t panel_size = p->form == PANELS ? 0 : (size_t)(p->panels * p->block * width);
  float *packed = malloc(sizeof(float) * (panel_size + (size_t)(in_blocks ? most * p->block : 1)));
  if (packed == NULL) {
    __atomic_store_n(&p->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  float *copied = packed + panel_size;
  /* Tiles of nearly equal height: in a low one, the sums wait for each other. */
  const long tiles_made = (p->rows + most - 1) / most, low = p->rows / tiles_made, higher = p->rows % tiles_made;
  for (long part = begin; part < end; part++) {
    const long first = part / p->row_parts * p->panels * width, row_part = part % p->row_parts;
    const long first_tile = tiles_made * row_part / p->row_parts;
    const long last_tile = tiles_made * (row_part + 1) / p->row_parts;
    const long first_row = first_tile * low + (first_tile < higher ? first_tile : higher);
    const long last = p->columns - first < p->panels * width ? p->columns : first + p->panels * width;
    for (long k = 0; k < p->inner; k += p->block) {
      const long length = p->inner - k < p->block ? p->inner - k : p->block;
      const float *panels = packed;
      long step = length * width; /* from panel to panel */
      if (p->form == PANELS) {
        panels = p->b + (first / width * p->inner + k) * width;
        step = p->inner * width;
      } else {
        pack_columns(p, first, last, k, length, packed);
      }
      for (long tile = first_tile, row = first_row, rows; tile < last_tile; tile++, row += rows) {
        rows = low + (tile < higher);
        const float *in = p->a + row * p->inner + k;
        long row_step = p->inner;
        const float *next = NULL;
        if (in_blocks) {
          next = tile + 1 < last_tile      ? in + rows * p->inner
                 : k + length < p->inner ? p->a + first_row * p->inner + k + length
                                         : NULL;
          /* Rows that are far apart would take each other's places in the first cache. */
          for (long r = 0; r < rows; r++)
            memcpy(copied + r * length, in + r * p->inner, sizeof(float) * (size_t)length);
          in = copied;
          row_step = length;
        }
        const long next_rows = low + ((tile + 1 < last_tile ? tile + 1 : first_tile) < higher);
        for (long c = first, done = 0; c < last; c += width) {
          if (next != NULL) {
            /* The last block may be shorter: what is fetched beyond it is not wrong. */
            const long fetched = next_rows * (c + width - first < last - first ? c + width - first : last - first) / (last - first);
            fetch(next, p->inner, done, fetched, length);
            done = fetched;
          }
          tiles->matrix(in, rows, row_step, length, panels + (c - first) / width * step, k > 0,
                        p->out + row * p->columns + c, p->columns, last - c < width ? last - c : width);
        }
      }
    }
  }
  free(packed);
}

/* Rows [begin, end) of a, which is given transposed. */
static void run_turn(void *context, long begin, long end) {
  const struct product *p = context;
  tiles->transpose(p->turned + begin, p->rows, p->inner, end - begin, (float *)p->a + begin * p->inner, p->inner);
}

static long panels_of(long columns) { return columns / tiles->columns + (columns % tiles->columns != 0); }

/* The parts of a product with so many panels in all; they do not change the sums. */
static void divide(struct product *p, long all, long blocks, long threads) {
  const long panel_bytes = (long)sizeof(float) * p->block * tiles->columns;
  threads = threads < 1 ? 1 : threads < all ? threads : all; /* for more there are no panels */
  p->row_parts = 1;
  if (blocks == 1) {
    p->panels = PANEL_BYTES / panel_bytes;
    /* Some parts for each of a few threads. */
    if (threads > 1 && p->panels > (all + 7) / 8) p->panels = (all + 7) / 8;
  } else if (threads > 1 && all % threads != 0 && all * panel_bytes <= SHARED_BYTES &&
             p->rows >= SHARED_ROWS * threads) {
    /* A few panels cannot be divided evenly. */
    p->panels = all;
    p->row_parts = threads;
  } else {
    /* As few parts as fit, since each reads all of a, but as many for each thread. */
    const long fit = BLOCK_BYTES / panel_bytes < 1 ? 1 : BLOCK_BYTES / panel_bytes;
    const long turns = (all + fit * threads - 1) / (fit * threads);
    p->panels = (all + turns * threads - 1) / (turns * threads);
  }
  if (p->panels < 1) p->panels = 1;
}

PyObject *multiply(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *a_, *b_, *out_;
  struct product p = {.failed = 0};
  long threads;
  int a_is_turned;
  if (!PyArg_ParseTuple(arguments, "OOOlllpil", &a_, &b_, &out_, &p.rows, &p.inner, &p.columns, &a_is_turned, &p.form,
                        &threads))
    return NULL;
  if (p.form < 0 || p.form >= FORM_COUNT) return PyErr_Format(PyExc_ValueError, "no form of a matrix: %d", p.form);
  const long left = product(p.rows, p.inner), made = left < 0 ? -1 : product(p.rows, p.columns);
  const long right = made < 0 ? -1 : product(p.inner, p.form == PANELS ? product(panels_of(p.columns), tiles->columns) : p.columns);
  if (right < 0) return NULL;
  if (p.inner < 1) return PyErr_Format(PyExc_ValueError, "an inner size of %ld", p.inner);
  struct arrays arrays = {.count = 0};
  if ((p.a = array(&arrays, a_, "f", left, 0)) == NULL || (p.b = array(&arrays, b_, "f", right, 0)) == NULL ||
      (p.out = array(&arrays, out_, "f", made, 1)) == NULL || !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  float *rows = NULL;
  if (a_is_turned && made && (rows = malloc(sizeof(float) * (size_t)left)) == NULL) {
    release(&arrays);
    return PyErr_NoMemory();
  }
  if (made) {
    Py_BEGIN_ALLOW_THREADS
    if (a_is_turned) {
      p.turned = p.a;
      p.a = rows;
      in_parallel(run_turn, &p, p.rows, grain_of(p.inner), threads);
    }
    const long at_once = p.columns > LONG_ROW ? MOST_OF_LONG : MOST_AT_ONCE;
    const long blocks = p.inner <= at_once ? 1 : (p.inner + BLOCK_ROWS - 1) / BLOCK_ROWS;
    p.block = (p.inner + blocks - 1) / blocks;
    const long all = panels_of(p.columns);
    divide(&p, all, blocks, threads);
    in_parallel(run_product, &p, (all + p.panels - 1) / p.panels * p.row_parts, 1, threads);
    Py_END_ALLOW_THREADS
    free(rows);
  }
  release(&arrays);
  if (p.failed) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

/* Panels [begin, end) of b; p->out is where they are to be. */
static void run_pack(void *context, long begin, long end) {
  const struct product *p = context;
  const long width = tiles->columns, last = end * width < p->columns ? end * width : p->columns;
  pack_columns(p, begin * width, last, 0, p->inner, p->out + begin * width * p->inner);
}

PyObject *pack_matrix(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *b_, *out_;
  struct product p = {.failed = 0};
  long threads;
  if (!PyArg_ParseTuple(arguments, "OOllpl", &b_, &out_, &p.inner, &p.columns, &p.form, &threads)) return NULL;
  const long given = product(p.inner, p.columns);
  const long made = given < 0 ? -1 : product(p.inner, product(panels_of(p.columns), tiles->columns));
  if (made < 0) return NULL;
  struct arrays arrays = {.count = 0};
  if ((p.b = array(&arrays, b_, "f", given, 0)) == NULL || (p.out = array(&arrays, out_, "f", made, 1)) == NULL ||
      !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  if (given) {
    Py_BEGIN_ALLOW_THREADS
    in_parallel(run_pack, &p, panels_of(p.columns), grain_of(p.inner * tiles->columns), threads);
    Py_END_ALLOW_THREADS
  }
  release(&arrays);
  Py_RETURN_NONE;
}
