#include "pooling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "pool.h"

struct pool {
  const float *x, *gradient;
  float *out;
  long height, width, depth, out_height, out_width;
  long window_height, window_width, stride_height, stride_width, top, left;
  int failed, to_nan;
};

/* The part of a window that lies in the image: [*from, *to). */
static void inside(long at, long stride, long before, long window, long size, long *from, long *to) {
  *from = at * stride - before;
  *to = *from + window;
  if (*from < 0) *from = 0;
  if (*to > size) *to = size;
}

static void run_max_pool(void *context, long begin, long end) {
  struct pool *p = context;
  for (long row = begin; row < end; row++) {
    const float *image = p->x + row / p->out_height * p->height * p->width * p->depth;
    long y0, y1, x0, x1;
    inside(row % p->out_height, p->stride_height, p->top, p->window_height, p->height, &y0, &y1);
    for (long column = 0; column < p->out_width; column++) {
      float *out = p->out + (row * p->out_width + column) * p->depth;
      inside(column, p->stride_width, p->left, p->window_width, p->width, &x0, &x1);
      loops->max_window(image + (y0 * p->width + x0) * p->depth, p->width * p->depth, p->depth, y1 - y0, x1 - x0, out,
                        p->depth);
    }
  }
}

/* Whole images, as windows may overlap. */
static void run_max_pool_grad(void *context, long begin, long end) {
  struct pool *p = context;
  int to_nan = 0;
  for (long n = begin; n < end; n++) {
    const long at = n * p->height * p->width * p->depth, from = n * p->out_height * p->out_width * p->depth;
    memset(p->out + at, 0, sizeof(float) * (size_t)(p->height * p->width * p->depth));
    for (long row = 0; row < p->out_height; row++) {
      long y0, y1, x0, x1;
      inside(row, p->stride_height, p->top, p->window_height, p->height, &y0, &y1);
      for (long column = 0; column < p->out_width; column++) {
        const long window = from + (row * p->out_width + column) * p->depth;
        inside(column, p->stride_width, p->left, p->window_width, p->width, &x0, &x1);
        const long first = at + (y0 * p->width + x0) * p->depth;
        to_nan |= loops->max_window_grad(p->out + first, p->x + first, p->width * p->depth, p->depth, y1 - y0,
                                         x1 - x0, p->gradient + window, p->depth);
      }
    }
  }
  if (to_nan) __atomic_store_n(&p->to_nan, 1, __ATOMIC_RELAXED);
}

static void run_average_pool(void *context, long begin, long end) {
  struct pool *p = context;
  for (long row = begin; row < end; row++) {
    const float *image = p->x + row / p->out_height * p->height * p->width * p->depth;
    long y0, y1, x0, x1;
    inside(row % p->out_height, p->stride_height, p->top, p->window_height, p->height, &y0, &y1);
    for (long column = 0; column < p->out_width; column++) {
      float *out = p->out + (row * p->out_width + column) * p->depth;
      inside(column, p->stride_width, p->left, p->window_width, p->width, &x0, &x1);
      memset(out, 0, sizeof(float) * (size_t)p->depth);
      for (long y = y0; y < y1; y++)
        for (long x = x0; x < x1; x++)
          loops->step(STEP_ADD, out, out, 0, image + (y * p->width + x) * p->depth, 0, p->depth);
      const float count = y1 > y0 && x1 > x0 ? (float)((y1 - y0) * (x1 - x0)) : 0.0f;
      loops->step(STEP_DIVIDE, out, out, 0, &count, 1, p->depth);
    }
  }
}

/* Whole images, as windows may overlap; the last window first, so that what a pixel gets is added in the order of
 * the places it has in the windows. */
static void run_average_pool_grad(void *context, long begin, long end) {
  struct pool *p = context;
  float *share = malloc(sizeof(float) * (size_t)p->depth);
  if (share == NULL) {
    __atomic_store_n(&p->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  for (long n = begin; n < end; n++) {
    float *image = p->out + n * p->height * p->width * p->depth;
    const float *gradient = p->gradient + n * p->out_height * p->out_width * p->depth;
    memset(image, 0, sizeof(float) * (size_t)(p->height * p->width * p->depth));
    for (long row = p->out_height - 1; row >= 0; row--) {
      long y0, y1, x0, x1;
      inside(row, p->stride_height, p->top, p->window_height, p->height, &y0, &y1);
      for (long column = p->out_width - 1; column >= 0; column--) {
        inside(column, p->stride_width, p->left, p->window_width, p->width, &x0, &x1);
        if (y1 <= y0 || x1 <= x0) continue;
        const float count = (float)((y1 - y0) * (x1 - x0));
        loops->step(STEP_DIVIDE, share, gradient + (row * p->out_width + column) * p->depth, 0, &count, 1, p->depth);
        for (long y = y0; y < y1; y++)
          for (long x = x0; x < x1; x++) {
            float *pixel = image + (y * p->width + x) * p->depth;
            loops->step(STEP_ADD, pixel, pixel, 0, share, 0, p->depth);
          }
      }
    }
  }
  free(share);
}

enum pooling { MAX, MAX_GRAD, AVERAGE, AVERAGE_GRAD };

/* max_pool(x, out, shape of x, (height, width) of out, windows, strides, padding before, threads);
 * max_pool_grad(x, out, gradient, …), where out has the shape of x: whether a gradient went to a NaN; average_pool as
 * max_pool; and average_pool_grad(gradient, out, shape of out, …). */
static PyObject *pool(PyObject *arguments, enum pooling what) {
  const int is_gradient = what == MAX_GRAD;
  PyObject *x_, *out_, *gradient_ = NULL;
  struct pool p = {.failed = 0, .to_nan = 0};
  long images, threads;
  if (is_gradient ? !PyArg_ParseTuple(arguments, "OOO(llll)(ll)(ll)(ll)(ll)l", &x_, &out_, &gradient_,
                                      &images, &p.height, &p.width, &p.depth, &p.out_height, &p.out_width,
                                      &p.window_height, &p.window_width, &p.stride_height, &p.stride_width, &p.top,
                                      &p.left, &threads)
                  : !PyArg_ParseTuple(arguments, "OO(llll)(ll)(ll)(ll)(ll)l", &x_, &out_, &images, &p.height, &p.width,
                                      &p.depth, &p.out_height, &p.out_width, &p.window_height, &p.window_width,
                                      &p.stride_height, &p.stride_width, &p.top, &p.left, &threads))
    return NULL;
  const long most = 1L << 31;
  if (p.window_height < 1 || p.window_width < 1 || p.stride_height < 1 || p.stride_width < 1 || p.top < 0 ||
      p.left < 0 || p.window_height > most || p.window_width > most || p.stride_height > most ||
      p.stride_width > most || p.top > most || p.left > most)
    return PyErr_Format(PyExc_ValueError, "no windows");
  long count = product(images, p.height), out_count = product(images, p.out_height);
  if (count < 0 || (count = product(count, p.width)) < 0 || (count = product(count, p.depth)) < 0) return NULL;
  if (out_count < 0 || (out_count = product(out_count, p.out_width)) < 0 ||
      (out_count = product(out_count, p.depth)) < 0)
    return NULL;
  struct arrays arrays = {.count = 0};
  const long x_count = what == AVERAGE_GRAD ? out_count : count;
  const long result_count = is_gradient || what == AVERAGE_GRAD ? count : out_count;
  if ((p.x = array(&arrays, x_, "f", x_count, 0)) == NULL ||
      (p.out = array(&arrays, out_, "f", result_count, 1)) == NULL ||
      (is_gradient && (p.gradient = array(&arrays, gradient_, "f", out_count, 0)) == NULL) ||
      !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  if (what == AVERAGE_GRAD) p.gradient = p.x;
  Py_BEGIN_ALLOW_THREADS
  if ((is_gradient || what == AVERAGE_GRAD) && count) {
    in_parallel(is_gradient ? run_max_pool_grad : run_average_pool_grad, &p, images, grain_of(3 * count / images), threads);
  } else if (out_count) {
    const long rows = images * p.out_height;
    in_parallel(what == MAX ? run_max_pool : run_average_pool, &p, rows,
                grain_of(p.out_width * p.depth * p.window_height * p.window_width), threads);
  }
  Py_END_ALLOW_THREADS
  release(&arrays);
  if (p.failed) return PyErr_NoMemory();
  if (is_gradient) return PyBool_FromLong(p.to_nan);
  Py_RETURN_NONE;
}

PyObject *max_pool(PyObject *self, PyObject *arguments) {
  (void)self;
  return pool(arguments, MAX);
}

PyObject *max_pool_grad(PyObject *self, PyObject *arguments) {
  (void)self;
  return pool(arguments, MAX_GRAD);
}

PyObject *average_pool(PyObject *self, PyObject *arguments) {
  (void)self;
  return pool(arguments, AVERAGE);
}

PyObject *average_pool_grad(PyObject *self, PyObject *arguments) {
  (void)self;
  return pool(arguments, AVERAGE_GRAD);
}

struct resizing {
  const float *x;
  float *out;
  long height, width, depth, out_height, out_width;
  const int64_t *rows, *columns; /* the pixels before and after each new one */
  const float *row_shares, *column_shares;
  int failed;
};

/* Rows of the output; the two rows that they lie between are resized first, and kept while they are needed. */
static void run_resize(void *context, long begin, long end) {
  struct resizing *r = context;
  const long length = r->out_width * r->depth;
  float *buffer = malloc(sizeof(float) * (size_t)(2 * length));
  if (buffer == NULL) {
    __atomic_store_n(&r->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  long known[2] = {-1, -1};
  for (long row = begin; row < end; row++) {
    const long image = row / r->out_height, y = row % r->out_height;
    const float *parts[2];
    for (int k = 0; k < 2; k++) {
      const long source = image * r->height + r->rows[k * r->out_height + y];
      int slot = known[1] == source;
      if (known[slot] != source) {
        /* Not the one that the other row is in. */
        slot = k == 1 && parts[0] == buffer;
        known[slot] = source;
        const float *from = r->x + source * r->width * r->depth;
        for (long x = 0; x < r->out_width; x++)
          loops->blend(buffer + slot * length + x * r->depth, from + r->columns[x] * r->depth,
                       from + r->columns[r->out_width + x] * r->depth, r->column_shares[x], r->depth);
      }
      parts[k] = buffer + slot * length;
    }
    loops->blend(r->out + row * length, parts[0], parts[1], r->row_shares[y], length);
  }
  free(buffer);
}

/* resize_linear(x, out, shape of x, (height, width) of out, rows [2, height], their shares [height], columns [2, width],
 * their shares [width], threads) */
PyObject *resize_linear(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x, *out, *rows, *row_shares, *columns, *column_shares;
  struct resizing r = {.failed = 0};
  long images, threads;
  if (!PyArg_ParseTuple(arguments, "OO(llll)(ll)OOOOl", &x, &out, &images, &r.height, &r.width, &r.depth, &r.out_height,
                        &r.out_width, &rows, &row_shares, &columns, &column_shares, &threads))
    return NULL;
  long count = product(images, r.height), out_count = product(images, r.out_height);
  if (count < 0 || (count = product(count, r.width)) < 0 || (count = product(count, r.depth)) < 0) return NULL;
  if (out_count < 0 || (out_count = product(out_count, r.out_width)) < 0 ||
      (out_count = product(out_count, r.depth)) < 0 || product(2, r.out_height) < 0 || product(2, r.out_width) < 0)
    return NULL;
  struct arrays arrays = {.count = 0};
  if ((r.x = array(&arrays, x, "f", count, 0)) == NULL || (r.out = array(&arrays, out, "f", out_count, 1)) == NULL ||
      (r.rows = array(&arrays, rows, "lq", 2 * r.out_height, 0)) == NULL ||
      (r.row_shares = array(&arrays, row_shares, "f", r.out_height, 0)) == NULL ||
      (r.columns = array(&arrays, columns, "lq", 2 * r.out_width, 0)) == NULL ||
      (r.column_shares = array(&arrays, column_shares, "f", r.out_width, 0)) == NULL || !are_apart(&arrays))
    goto refuse;
  for (long i = 0; i < 2 * r.out_height; i++)
    if (r.rows[i] < 0 || r.rows[i] >= r.height) goto outside;
  for (long i = 0; i < 2 * r.out_width; i++)
    if (r.columns[i] < 0 || r.columns[i] >= r.width) goto outside;
  if (out_count) {
    Py_BEGIN_ALLOW_THREADS
    in_parallel(run_resize, &r, images * r.out_height, grain_of(6 * r.out_width * r.depth), threads);
    Py_END_ALLOW_THREADS
  }
  release(&arrays);
  if (r.failed) return PyErr_NoMemory();
  Py_RETURN_NONE;
outside:
  PyErr_SetString(PyExc_ValueError, "a place that is no pixel");
refuse:
  release(&arrays);
  return NULL;
}

struct additions {
  float *table;
  const float *updates;
  const int64_t *places;
  long count, width;
  enum step step;
};

/* Additions to the rows whose first place is in [begin, end): of sorted places, each row is of one part. */
static void run_add_rows(void *context, long begin, long end) {
  struct additions *a = context;
  while (begin > 0 && begin < a->count && a->places[begin] == a->places[begin - 1]) begin++;
  while (end > 0 && end < a->count && a->places[end] == a->places[end - 1]) end++;
  for (long i = begin; i < end; i++) {
    float *row = a->table + a->places[i] * a->width;
    loops->step(a->step, row, row, 0, a->updates + i * a->width, 0, a->width);
  }
}

/* add_rows(table, places, updates, rows, count, width, subtracted, threads): table[places[i]] += updates[i], or -=, for
 * each row of the table one after the other. */
PyObject *add_rows(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *table_, *places_, *updates_;
  struct additions a;
  long rows, threads;
  int subtracted;
  if (!PyArg_ParseTuple(arguments, "OOOlllpl", &table_, &places_, &updates_, &rows, &a.count, &a.width, &subtracted,
                        &threads))
    return NULL;
  a.step = subtracted ? STEP_SUBTRACT : STEP_ADD;
  const long table_size = product(rows, a.width), update_size = product(a.count, a.width);
  if (table_size < 0 || update_size < 0) return NULL;
  struct arrays arrays = {.count = 0};
  if ((a.table = array(&arrays, table_, "f", table_size, 1)) == NULL ||
      (a.places = array(&arrays, places_, "lq", a.count, 0)) == NULL ||
      (a.updates = array(&arrays, updates_, "f", update_size, 0)) == NULL || !are_apart(&arrays))
    goto refuse;
  int is_sorted = 1;
  for (long i = 0; i < a.count; i++) {
    if (a.places[i] < 0 || a.places[i] >= rows) {
      PyErr_SetString(PyExc_ValueError, "a place that is no row");
      goto refuse;
    }
    is_sorted &= i == 0 || a.places[i - 1] <= a.places[i];
  }
  Py_BEGIN_ALLOW_THREADS
  in_parallel(run_add_rows, &a, a.count, is_sorted ? grain_of(a.width + 8) : a.count, threads);
  Py_END_ALLOW_THREADS
  release(&arrays);
  Py_RETURN_NONE;
refuse:
  release(&arrays);
  return NULL;
}
