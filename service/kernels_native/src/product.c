/* Products of matrices, out [rows, columns] = a [rows, inner] b [inner, columns], either of them given transposed.
 *
 * Some columns of b at a time are copied into panels that stay in the second cache, while the rows of a go by. Each element is one sum in the order of the inner dimension, so results do not depend on how the columns
 * are divided among threads. Nothing is written but the result, once: neither zeros before, nor parts of sums. */
#include "product.h"

#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "tiles.h"

#define PANEL_BYTES (1 << 17) /* of the panels that are used at a time, unless one is larger */
#define MOST_INNER (1 << 12)  /* so that a panel stays in the second cache */

struct product {
  const float *a, *b, *turned; /* a as it was given, if that was transposed */
  float *out;
  long rows, inner, columns;
  int b_is_turned;
  long panels; /* of a part */
  int failed;
};

/* Columns [first, last) of b as panels. */
static void pack_columns(const struct product *p, long first, long last, float *packed) {
  const long width = tiles->columns;
  if (!p->b_is_turned) {
    tiles->pack(p->b + first, p->columns, p->inner, last - first, packed);
    return;
  }
  for (long c = first; c < last; c += width, packed += p->inner * width) {
    const long some = last - c < width ? last - c : width;
    if (some < width) memset(packed, 0, sizeof(float) * (size_t)(p->inner * width));
    tiles->transpose(p->b + c * p->inner, p->inner, some, p->inner, packed, width);
  }
}

static void run_product(void *context, long begin, long end) {
  struct product *p = context;
  const long width = tiles->columns, size = p->inner * width;
  float *packed = malloc(sizeof(float) * (size_t)(p->panels * size));
  if (packed == NULL) {
    __atomic_store_n(&p->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  /* Tiles of nearly equal height: in a low one, the sums wait for each other. */
  const long tiles_made = (p->rows + TILE_ROWS - 1) / TILE_ROWS, low = p->rows / tiles_made, higher = p->rows % tiles_made;
  for (long part = begin; part < end; part++) {
    const long first = part * p->panels * width;
    const long last = p->columns - first < p->panels * width ? p->columns : first + p->panels * width;
    pack_columns(p, first, last, packed);
    for (long tile = 0, row = 0, rows; tile < tiles_made; tile++, row += rows) {
      rows = low + (tile < higher);
      for (long c = first; c < last; c += width)
        tiles->matrix(p->a + row * p->inner, rows, p->inner, p->inner, packed + (c - first) / width * size,
                      p->out + row * p->columns + c, p->columns, last - c < width ? last - c : width);
    }
  }
  free(packed);
}

/* Rows [begin, end) of a, which is given transposed. */
static void run_turn(void *context, long begin, long end) {
  const struct product *p = context;
  tiles->transpose(p->turned + begin, p->rows, p->inner, end - begin, (float *)p->a + begin * p->inner, p->inner);
}

PyObject *multiply(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *a_, *b_, *out_;
  struct product p = {.failed = 0};
  long threads;
  int a_is_turned;
  if (!PyArg_ParseTuple(arguments, "OOOlllppl", &a_, &b_, &out_, &p.rows, &p.inner, &p.columns, &a_is_turned,
                        &p.b_is_turned, &threads))
    return NULL;
  const long left = product(p.rows, p.inner), right = left < 0 ? -1 : product(p.inner, p.columns);
  const long made = right < 0 ? -1 : product(p.rows, p.columns);
  if (made < 0) return NULL;
  if (p.inner < 1 || p.inner > MOST_INNER)
    return PyErr_Format(PyExc_ValueError, "an inner size of %ld, which is not from 1 to %d", p.inner, MOST_INNER);
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
    const long width = tiles->columns, all = p.columns / width + (p.columns % width != 0);
    const long fit = PANEL_BYTES / 4 / (p.inner * width);
    p.panels = fit < 1 ? 1 : fit;
    /* Some parts for each of a few threads; their number does not change the sums. */
    if (threads > 1 && p.panels > (all + 7) / 8) p.panels = (all + 7) / 8;
    in_parallel(run_product, &p, (all + p.panels - 1) / p.panels, 1, threads);
    Py_END_ALLOW_THREADS
    free(rows);
  }
  release(&arrays);
  if (p.failed) return PyErr_NoMemory();
  Py_RETURN_NONE;
}
