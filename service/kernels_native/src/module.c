/* The Python module: checks what it is given, lets the interpreter go on, and shares the work among threads.
 *
 * Arrays come by the buffer protocol: contiguous, of float32 (labels: int32 or int64), of just the sizes that the
 * other arguments say, and no output may share memory with another array. Whatever is not so is a ValueError, a
 * TypeError or a BufferError before anything is computed. */
#include "arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "convolution.h"
#include "copying.h"
#include "groups.h"
#include "kernels.h"
#include "pool.h"
#include "pooling.h"
#include "product.h"
#include "records.h"
#include "tiles.h"
#include "updates.h"
#include "winograd.h"

extern const struct loops loops_base;
#ifdef X86_VARIANTS
extern const struct loops loops_avx2, loops_avx512;
#endif
const struct loops *loops = &loops_base;
const update_function *updates = updates_base;
static const char *instruction_set = "base";

/* ---- batch normalization and sums by columns --------------------------------------------------------------- */

#define PART_ROWS_BYTES (1 << 18)

/* What computes on [rows, width] by columns; short rows are taken several at a time, as one wide row. */
struct columns {
  const float *x, *g;
  float *y;
  long rows, width; /* of the wide rows */
  long part;        /* rows */
  float *partial;   /* two vectors of the width for each part */
  const float *vectors[4];
};

static long rows_at_once(long rows, long width) {
  long times = 1;
  while (times * width < 64 && rows % (2 * times) == 0) times *= 2;
  return times;
}

static long part_rows(long width) {
  long rows = PART_ROWS_BYTES / 4 / width;
  return rows < 1 ? 1 : rows;
}

static void run_moments(void *context, long begin, long end) {
  struct columns *c = context;
  for (long part = begin; part < end; part++) {
    long first = part * c->part, count = c->rows - first < c->part ? c->rows - first : c->part;
    float *to = c->partial + part * 2 * c->width;
    loops->moments(c->x + first * c->width, count, c->width, to, to + c->width);
  }
}

static void run_sums(void *context, long begin, long end) {
  struct columns *c = context;
  for (long part = begin; part < end; part++) {
    long first = part * c->part, count = c->rows - first < c->part ? c->rows - first : c->part;
    float *to = c->partial + part * 2 * c->width;
    loops->column_sums(c->g + first * c->width, c->x == NULL ? NULL : c->x + first * c->width, c->vectors[0], count,
                       c->width, to, c->x == NULL ? NULL : to + c->width);
  }
}

static void run_normalize(void *context, long begin, long end) {
  struct columns *c = context;
  loops->normalize(c->x + begin * c->width, c->y + begin * c->width, end - begin, c->width, c->vectors[0],
                   c->vectors[1], c->vectors[2]);
}

static void run_normalize_grad(void *context, long begin, long end) {
  struct columns *c = context;
  loops->normalize_grad(c->g + begin * c->width, c->x + begin * c->width, c->y + begin * c->width, end - begin,
                        c->width, c->vectors[0], c->vectors[1], c->vectors[2], c->vectors[3]);
}

static void repeat(float *to, const float *vector, long width, long times) {
  /* `to` may begin with the vector itself. */
  for (long i = 0; i < times; i++) memmove(to + i * width, vector, sizeof(float) * (size_t)width);
}

/* Column sums into sums (and products) of `width`, from the partial ones. */
static void add_partial(const struct columns *c, long width, long parts, float *sums, float *products) {
  for (long i = 0; i < width; i++) {
    double sum = 0, product = 0;
    for (long part = 0; part < parts; part++)
      for (long j = i; j < c->width; j += width) {
        sum += c->partial[part * 2 * c->width + j];
        if (products != NULL) product += c->partial[(part * 2 + 1) * c->width + j];
      }
    sums[i] = (float)sum;
    if (products != NULL) products[i] = (float)product;
  }
}

static PyObject *batch_norm(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x_, *y_, *scale_, *offset_, *mean_, *variance_;
  long rows, width, threads;
  int training;
  float epsilon;
  if (!PyArg_ParseTuple(arguments, "OOOOOOllfpl", &x_, &y_, &scale_, &offset_, &mean_, &variance_, &rows, &width,
                        &epsilon, &training, &threads))
    return NULL;
  const long count = product(rows, width);
  if (count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  float *x, *y, *scale, *offset, *mean, *variance, *memory = NULL;
  if ((x = array(&arrays, x_, "f", count, 0)) == NULL || (y = array(&arrays, y_, "f", count, 1)) == NULL ||
      (scale = array(&arrays, scale_, "f", width, 0)) == NULL ||
      (offset = array(&arrays, offset_, "f", width, 0)) == NULL ||
      (mean = array(&arrays, mean_, "f", width, training)) == NULL ||
      (variance = array(&arrays, variance_, "f", width, training)) == NULL || !are_apart(&arrays))
    goto refuse;
  if (count) {
    const long times = rows_at_once(rows, width), wide = width * times;
    struct columns c = {.x = x, .y = y, .rows = rows / times, .width = wide, .part = part_rows(wide)};
    const long parts = (c.rows + c.part - 1) / c.part;
    memory = malloc(sizeof(float) * (size_t)wide * (size_t)(3 + 2 * parts));
    if (memory == NULL) {
      PyErr_NoMemory();
      goto refuse;
    }
    Py_BEGIN_ALLOW_THREADS
    float *means = memory, *factors = memory + wide, *offsets = memory + 2 * wide;
    if (training) {
      c.partial = memory + 3 * wide;
      in_parallel(run_moments, &c, parts, 1, threads);
      /* The parts' means and squares together: those of a part are about its own mean. */
      for (long i = 0; i < width; i++) {
        double sum = 0, squares = 0;
        for (int again = 0; again < 2; again++)
          for (long part = 0; part < parts; part++) {
            const double n = (double)(c.rows - part * c.part < c.part ? c.rows - part * c.part : c.part);
            for (long j = i; j < wide; j += width) {
              const double own = c.partial[part * 2 * wide + j];
              if (!again) {
                sum += own * n;
              } else {
                const double d = own - sum / (double)rows;
                squares += c.partial[(part * 2 + 1) * wide + j] + n * d * d;
              }
            }
          }
        mean[i] = (float)(sum / (double)rows);
        variance[i] = (float)(squares / (double)rows);
      }
    }
    for (long i = 0; i < width; i++) factors[i] = scale[i] / sqrtf(variance[i] + epsilon);
    repeat(factors, factors, width, times);
    repeat(means, mean, width, times);
    repeat(offsets, offset, width, times);
    c.vectors[0] = means;
    c.vectors[1] = factors;
    c.vectors[2] = offsets;
    in_parallel(run_normalize, &c, c.rows, grain_of(3 * wide), threads);
    Py_END_ALLOW_THREADS
    free(memory);
  }
  release(&arrays);
  Py_RETURN_NONE;
refuse:
  release(&arrays);
  return NULL;
}

static PyObject *batch_norm_grad(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *g_, *x_, *scale_, *mean_, *variance_, *d_, *scale_grad_, *offset_grad_;
  long rows, width, threads;
  int training;
  float epsilon;
  if (!PyArg_ParseTuple(arguments, "OOOOOOOOllfpl", &g_, &x_, &scale_, &mean_, &variance_, &d_, &scale_grad_,
                        &offset_grad_, &rows, &width, &epsilon, &training, &threads))
    return NULL;
  const long count = product(rows, width);
  if (count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  float *g, *x, *scale, *mean, *variance, *d, *scale_grad, *offset_grad, *memory = NULL;
  if ((g = array(&arrays, g_, "f", count, 0)) == NULL || (x = array(&arrays, x_, "f", count, 0)) == NULL ||
      (scale = array(&arrays, scale_, "f", width, 0)) == NULL ||
      (mean = array(&arrays, mean_, "f", width, 0)) == NULL ||
      (variance = array(&arrays, variance_, "f", width, 0)) == NULL ||
      (d = array(&arrays, d_, "f", count, 1)) == NULL ||
      (scale_grad = array(&arrays, scale_grad_, "f", width, 1)) == NULL ||
      (offset_grad = array(&arrays, offset_grad_, "f", width, 1)) == NULL || !are_apart(&arrays))
    goto refuse;
  if (count) {
    const long times = rows_at_once(rows, width), wide = width * times;
    struct columns c = {.x = x, .g = g, .y = d, .rows = rows / times, .width = wide, .part = part_rows(wide)};
    const long parts = (c.rows + c.part - 1) / c.part;
    memory = malloc(sizeof(float) * (size_t)wide * (size_t)(4 + 2 * parts));
    if (memory == NULL) {
      PyErr_NoMemory();
      goto refuse;
    }
    Py_BEGIN_ALLOW_THREADS
    float *means = memory, *shifts = memory + wide, *slopes = memory + 2 * wide, *factors = memory + 3 * wide;
    c.partial = memory + 4 * wide;
    repeat(means, mean, width, times);
    c.vectors[0] = means;
    in_parallel(run_sums, &c, parts, 1, threads);
    add_partial(&c, width, parts, offset_grad, scale_grad);
    for (long i = 0; i < width; i++) {
      const float inverse = 1.0f / sqrtf(variance[i] + epsilon);
      scale_grad[i] *= inverse;
      factors[i] = scale[i] * inverse;
      shifts[i] = training ? offset_grad[i] / (float)rows : 0.0f;
      slopes[i] = training ? scale_grad[i] * inverse / (float)rows : 0.0f;
    }
    repeat(factors, factors, width, times);
    repeat(shifts, shifts, width, times);
    repeat(slopes, slopes, width, times);
    c.vectors[1] = shifts;
    c.vectors[2] = slopes;
    c.vectors[3] = factors;
    in_parallel(run_normalize_grad, &c, c.rows, grain_of(4 * wide), threads);
    Py_END_ALLOW_THREADS
    free(memory);
  }
  release(&arrays);
  Py_RETURN_NONE;
refuse:
  release(&arrays);
  return NULL;
}

static PyObject *column_sums(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *g_, *sums_;
  long rows, width, threads;
  if (!PyArg_ParseTuple(arguments, "OOlll", &g_, &sums_, &rows, &width, &threads)) return NULL;
  const long count = product(rows, width);
  if (count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  float *g, *sums, *memory = NULL;
  if ((g = array(&arrays, g_, "f", count, 0)) == NULL || (sums = array(&arrays, sums_, "f", width, 1)) == NULL ||
      !are_apart(&arrays))
    goto refuse;
  if (count) {
    const long times = rows_at_once(rows, width), wide = width * times;
    struct columns c = {.g = g, .rows = rows / times, .width = wide, .part = part_rows(wide)};
    const long parts = (c.rows + c.part - 1) / c.part;
    memory = malloc(sizeof(float) * (size_t)wide * (size_t)(2 * parts));
    if (memory == NULL) {
      PyErr_NoMemory();
      goto refuse;
    }
    Py_BEGIN_ALLOW_THREADS
    c.partial = memory;
    in_parallel(run_sums, &c, parts, 1, threads);
    add_partial(&c, width, parts, sums, NULL);
    Py_END_ALLOW_THREADS
    free(memory);
  } else {
    memset(sums, 0, sizeof(float) * (size_t)width);
  }
  release(&arrays);
  Py_RETURN_NONE;
refuse:
  release(&arrays);
  return NULL;
}

struct middle {
  const float *x;
  float *out;
  long rows, width;
};

static void run_middle(void *context, long begin, long end) {
  struct middle *m = context;
  for (long i = begin; i < end; i++)
    loops->column_sums(m->x + i * m->rows * m->width, NULL, NULL, m->rows, m->width, m->out + i * m->width, NULL);
}

static PyObject *middle_sums(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x_, *out_;
  struct middle m;
  long outer, threads;
  if (!PyArg_ParseTuple(arguments, "OOllll", &x_, &out_, &outer, &m.rows, &m.width, &threads)) return NULL;
  const long out_count = product(outer, m.width), count = out_count < 0 ? -1 : product(out_count, m.rows);
  if (count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  if ((m.x = array(&arrays, x_, "f", count, 0)) == NULL ||
      (m.out = array(&arrays, out_, "f", out_count, 1)) == NULL || !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  in_parallel(run_middle, &m, outer, grain_of(m.rows * m.width), threads);
  Py_END_ALLOW_THREADS
  release(&arrays);
  Py_RETURN_NONE;
}

/* ---- rows: softmax, cross entropy, sums ----------------------------------------------------------------------- */

struct rows {
  const float *x, *targets;
  const void *labels;
  int labels_are_long;
  float *out, *loss;
  long width, reach;
  int failed;
};

static void run_softmax(void *context, long begin, long end) {
  struct rows *r = context;
  for (long row = begin; row < end; row++) {
    const float *x = r->x + row * r->width;
    float *out = r->out + row * r->width;
    const float highest = loops->maximum(x, r->width);
    loops->scale_less(out, out, 1.0f / loops->exp_sum(x, out, highest, r->width), NULL, r->width);
  }
}

static void run_log_softmax(void *context, long begin, long end) {
  struct rows *r = context;
  for (long row = begin; row < end; row++) {
    const float *x = r->x + row * r->width;
    const float highest = loops->maximum(x, r->width);
    const float total = loops->exp_sum(x, NULL, highest, r->width);
    float *out = r->out + row * r->width;
    loops->step(STEP_SUBTRACT, out, x, 0, &highest, 1, r->width);
    const float log_total = loops->log_of(total);
    loops->step(STEP_SUBTRACT, out, out, 0, &log_total, 1, r->width);
  }
}

static void run_sparse(void *context, long begin, long end) {
  struct rows *r = context;
  for (long row = begin; row < end; row++) {
    const float *x = r->x + row * r->width;
    float *out = r->out == NULL ? NULL : r->out + row * r->width;
    const long label = r->labels_are_long ? (long)((const int64_t *)r->labels)[row] : ((const int32_t *)r->labels)[row];
    const float highest = loops->maximum(x, r->width);
    const float total = loops->exp_sum(x, out, highest, r->width);
    r->loss[row] = loops->log_of(total) - (x[label] - highest);
    if (out != NULL) {
      loops->scale_less(out, out, 1.0f / total, NULL, r->width);
      out[label] -= 1.0f;
    }
  }
}

static void run_dense(void *context, long begin, long end) {
  struct rows *r = context;
  for (long row = begin; row < end; row++) {
    const float *x = r->x + row * r->width, *target = r->targets + row * r->width;
    float *out = r->out == NULL ? NULL : r->out + row * r->width;
    const float highest = loops->maximum(x, r->width);
    const float total = loops->exp_sum(x, out, highest, r->width);
    const float log_total = loops->log_of(total);
    /* sum of target (log total - (x - highest)), whose parts are all positive; a logit of minus infinity does not
     * count where its target is 0 */
    float loss = log_total * loops->sum(target, r->width) - loops->dot(target, x, highest, r->width);
    if (!isfinite(loss)) {
      double exact = 0;
      for (long i = 0; i < r->width; i++)
        if (target[i] != 0.0f) exact += (double)(target[i] * (log_total - (x[i] - highest)));
      loss = (float)exact;
    }
    r->loss[row] = loss;
    if (out != NULL) loops->scale_less(out, out, 1.0f / total, target, r->width);
  }
}

static void run_row_sums(void *context, long begin, long end) {
  struct rows *r = context;
  for (long row = begin; row < end; row++) r->out[row] = loops->sum(r->x + row * r->width, r->width);
}

static void run_row_maxima(void *context, long begin, long end) {
  struct rows *r = context;
  for (long row = begin; row < end; row++) r->out[row] = loops->maximum(r->x + row * r->width, r->width);
}

static void run_row_products(void *context, long begin, long end) {
  struct rows *r = context;
  for (long row = begin; row < end; row++) r->out[row] = loops->multiplied(r->x + row * r->width, r->width);
}

static PyObject *softmax(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x_, *out_;
  long rows, width, threads;
  int logarithm;
  if (!PyArg_ParseTuple(arguments, "OOllpl", &x_, &out_, &rows, &width, &logarithm, &threads)) return NULL;
  const long count = product(rows, width);
  if (count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  struct rows r = {.width = width};
  if ((r.x = array(&arrays, x_, "f", count, 0)) != NULL && (r.out = array(&arrays, out_, "f", count, 1)) != NULL &&
      are_apart(&arrays)) {
    if (count) {
      Py_BEGIN_ALLOW_THREADS
      in_parallel(logarithm ? run_log_softmax : run_softmax, &r, rows, grain_of(12 * width), threads);
      Py_END_ALLOW_THREADS
    }
    release(&arrays);
    Py_RETURN_NONE;
  }
  release(&arrays);
  return NULL;
}

static PyObject *cross_entropy(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x_, *labels_, *loss_, *out_;
  long rows, width, threads;
  int is_sparse;
  if (!PyArg_ParseTuple(arguments, "OOOOllpl", &x_, &labels_, &loss_, &out_, &rows, &width, &is_sparse, &threads))
    return NULL;
  const long count = product(rows, width);
  if (count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  struct rows r = {.width = width};
  if ((r.x = array(&arrays, x_, "f", count, 0)) == NULL) goto refuse;
  if (is_sparse) {
    if ((r.labels = array(&arrays, labels_, "ilq", rows, 0)) == NULL) goto refuse;
    r.labels_are_long = arrays.views[arrays.count - 1].itemsize == 8;
    for (long i = 0; i < rows; i++) {
      const int64_t label = r.labels_are_long ? ((const int64_t *)r.labels)[i] : ((const int32_t *)r.labels)[i];
      if (label < 0 || label >= width) {
        PyErr_SetString(PyExc_ValueError, "a label that is no class");
        goto refuse;
      }
    }
  } else if ((r.targets = array(&arrays, labels_, "f", count, 0)) == NULL) {
    goto refuse;
  }
  if ((r.loss = array(&arrays, loss_, "f", rows, 1)) == NULL) goto refuse;
  if (out_ != Py_None && (r.out = array(&arrays, out_, "f", count, 1)) == NULL) goto refuse;
  if (!are_apart(&arrays)) goto refuse;
  if (count) {
    Py_BEGIN_ALLOW_THREADS
    in_parallel(is_sparse ? run_sparse : run_dense, &r, rows, grain_of(15 * width), threads);
    Py_END_ALLOW_THREADS
  }
  release(&arrays);
  Py_RETURN_NONE;
refuse:
  release(&arrays);
  return NULL;
}

static void run_near(void *context, long begin, long end) {
  struct rows *r = context;
  float *squares = calloc((size_t)(r->width + 2 * r->reach), sizeof(float));
  if (squares == NULL) {
    __atomic_store_n(&r->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  for (long row = begin; row < end; row++)
    loops->near_squares(r->x + row * r->width, r->out + row * r->width, squares, r->width, r->reach);
  free(squares);
}

static PyObject *near_squares(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x_, *out_;
  long rows, threads;
  struct rows r = {.failed = 0};
  if (!PyArg_ParseTuple(arguments, "OOllll", &x_, &out_, &rows, &r.width, &r.reach, &threads)) return NULL;
  const long count = product(rows, r.width);
  if (count < 0) return NULL;
  if (r.reach < 0 || r.reach > r.width)
    return PyErr_Format(PyExc_ValueError, "a reach of %ld in rows of %ld", r.reach, r.width);
  struct arrays arrays = {.count = 0};
  if ((r.x = array(&arrays, x_, "f", count, 0)) == NULL || (r.out = array(&arrays, out_, "f", count, 1)) == NULL ||
      !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  if (count) {
    Py_BEGIN_ALLOW_THREADS
    const long cost = r.width < WORK ? r.width * (r.reach + 1) : WORK;
    in_parallel(run_near, &r, rows, grain_of(cost), threads);
    Py_END_ALLOW_THREADS
  }
  release(&arrays);
  if (r.failed) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static PyObject *row_reduce(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x_, *out_;
  long rows, width, threads;
  int kind;
  if (!PyArg_ParseTuple(arguments, "OOllil", &x_, &out_, &rows, &width, &kind, &threads)) return NULL;
  static const part_function functions[] = {run_row_sums, run_row_maxima, run_row_products};
  if (kind < 0 || kind > 2) return PyErr_Format(PyExc_ValueError, "no kind of reduction");
  const long count = product(rows, width);
  if (count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  struct rows r = {.width = width};
  if ((r.x = array(&arrays, x_, "f", count, 0)) != NULL && (r.out = array(&arrays, out_, "f", rows, 1)) != NULL &&
      are_apart(&arrays)) {
    Py_BEGIN_ALLOW_THREADS
    in_parallel(functions[kind], &r, rows, grain_of(width), threads);
    Py_END_ALLOW_THREADS
    release(&arrays);
    Py_RETURN_NONE;
  }
  release(&arrays);
  return NULL;
}

/* ---- the module ------------------------------------------------------------------------------------------------- */

/* Another number for each change of what the service calls, there as well: devices/native.py. */
#define INTERFACE 10

static PyMethodDef methods[] = {
    {"evaluate", evaluate, METH_VARARGS,
     "evaluate(code, operands, forms, rows, width, temporaries, threads): runs elementwise steps over blocks."},
    {"update_name", update_name, METH_VARARGS,
     "update_name(code, forms): the update that is computed with all its steps at once; None for other steps"},
    {"batch_norm", batch_norm, METH_VARARGS,
     "batch_norm(x, y, scale, offset, mean, variance, rows, width, epsilon, training, threads)"},
    {"batch_norm_grad", batch_norm_grad, METH_VARARGS,
     "batch_norm_grad(g, x, scale, mean, variance, d, scale_grad, offset_grad, rows, width, epsilon, training, "
     "threads)"},
    {"column_sums", column_sums, METH_VARARGS, "column_sums(x, sums, rows, width, threads)"},
    {"softmax", softmax, METH_VARARGS, "softmax(x, out, rows, width, logarithm, threads)"},
    {"cross_entropy", cross_entropy, METH_VARARGS,
     "cross_entropy(logits, labels, loss, gradient or None, rows, width, is_sparse, threads)"},
    {"near_squares", near_squares, METH_VARARGS,
     "near_squares(x, out, rows, width, reach, threads): sums of the squares of `reach` columns to either side"},
    {"row_reduce", row_reduce, METH_VARARGS, "row_reduce(x, out, rows, width, 0 to add, 1 for maxima, 2 to multiply, threads)"},
    {"max_pool", max_pool, METH_VARARGS,
     "max_pool(x, out, (n, height, width, depth), out_size, window, strides, before, threads)"},
    {"max_pool_grad", max_pool_grad, METH_VARARGS,
     "max_pool_grad(x, out, gradient, (n, height, width, depth), out_size, window, strides, before, threads): whether "
     "a NaN is the maximum to which one goes"},
    {"average_pool", average_pool, METH_VARARGS,
     "average_pool(x, out, (n, height, width, depth), out_size, window, strides, before, threads)"},
    {"average_pool_grad", average_pool_grad, METH_VARARGS,
     "average_pool_grad(gradient, out, (n, height, width, depth), out_size, window, strides, before, threads)"},
    {"copy", copy, METH_VARARGS, "copy(from, to, size, threads): bytes of large arrays, which do not go to the caches"},
    {"select", choose_elements, METH_VARARGS,
     "select(condition, yes, no, out, count, yes_is_number, no_is_number, threads), of elements of four bytes"},
    {"top_k", top_k, METH_VARARGS, "top_k(x, values, places, rows, width, k, threads): False where there is a NaN"},
    {"in_top_k", in_top_k, METH_VARARGS, "in_top_k(x, targets, found, rows, width, k, threads)"},
    {"unique", unique, METH_VARARGS, "unique(x, values, places, counts, count): the number of different values"},
    {"to_half", to_half, METH_VARARGS, "to_half(x, out, count, threads): False where the processor cannot"},
    {"resize_linear", resize_linear, METH_VARARGS,
     "resize_linear(x, out, (n, height, width, depth), out_size, rows, row_shares, columns, column_shares, threads)"},
    {"middle_sums", middle_sums, METH_VARARGS, "middle_sums(x, out, outer, rows, width, threads)"},
    {"convolve", convolve, METH_VARARGS,
     "convolve(images, weights, out, (n, height, width, depth), out_size, window, strides, dilations, before, filters, "
     "threads, is_turned=False, places=None)"},
    {"convolve_filter", convolve_filter, METH_VARARGS,
     "convolve_filter(images, gradient, out, (n, height, width, depth), out_size, window, strides, dilations, before, "
     "filters, threads)"},
    {"depthwise", depthwise, METH_VARARGS,
     "depthwise(images, weights, out, (n, height, width, depth), out_size, window, strides, dilations, before, threads)"},
    {"depthwise_filter", depthwise_filter, METH_VARARGS,
     "depthwise_filter(images, gradient, out, (n, height, width, depth), out_size, window, strides, dilations, before, "
     "threads)"},
    {"multiply", multiply, METH_VARARGS,
     "multiply(a, b, out, rows, inner, columns, a_is_turned, form, threads): the product of two matrices; of a form 0, b "
     "is as it is, of 1 transposed, of 2 made by pack_matrix"},
    {"pack_matrix", pack_matrix, METH_VARARGS,
     "pack_matrix(b, out, inner, columns, b_is_turned, threads): a matrix as `multiply` reads it, in panels of "
     "PANEL_COLUMNS columns [panels, inner, PANEL_COLUMNS]"},
    {"add_rows", add_rows, METH_VARARGS,
     "add_rows(table, places, updates, rows, count, width, subtracted, threads): table[places[i]] += updates[i], or -="},
    {"scan_examples", scan_examples, METH_VARARGS,
     "scan_examples(items, keys, places, stride, threads, sizes=None): (items it cannot read, kinds, totals, longest), of "
     "the first `sizes` bytes of each"},
    {"scan_sequences", scan_sequences, METH_VARARGS,
     "scan_sequences(items, keys, contexts, lists, threads): whether it can read all"},
    {"scan_steps", scan_steps, METH_VARARGS,
     "scan_steps(items, lists, count, places, threads): (kinds, total, longest), or None where it cannot read one"},
    {"example_values", example_values, METH_VARARGS,
     "example_values(items, features, places, stride, columns, threads, owners=None), each column as (feature, out, "
     "width or -1, indices or None); owners: the item of each of `stride` places"},
    {"split_records", split_records, METH_VARARGS,
     "split_records(buffer, place): (records, where the next begins, what is wrong with it)"},
    {NULL, NULL, 0, NULL}};

static int fill(PyObject *module) {
  static const char *const names[] = {
#define NAME_STEP(upper, lower) #lower,
      STEPS(NAME_STEP)
#undef NAME_STEP
  };
  PyObject *steps = PyTuple_New(STEP_COUNT);
  if (steps == NULL) return -1;
  for (int i = 0; i < STEP_COUNT; i++) {
    PyObject *name = PyUnicode_FromString(names[i]);
    if (name == NULL || PyTuple_SetItem(steps, i, name) < 0) {
      Py_DECREF(steps);
      return -1;
    }
  }
#ifdef X86_VARIANTS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("f16c")) {
    loops = &loops_avx512;
    tiles = &tiles_avx512;
    updates = updates_avx512;
    winograd = &winograd_avx512;
    instruction_set = "AVX-512";
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    loops = &loops_avx2;
    tiles = &tiles_avx2;
    updates = updates_avx2;
    winograd = &winograd_avx2;
    instruction_set = "AVX2";
  }
#endif
  prepare_checksums();
  if (prepare_pool() != 0) {
    Py_DECREF(steps);
    PyErr_NoMemory();
    return -1;
  }
  const int failed = PyModule_AddObjectRef(module, "STEPS", steps);
  Py_DECREF(steps);
  return failed || PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0 ||
                 PyModule_AddIntConstant(module, "PANEL_COLUMNS", tiles->columns) < 0 ||
                 PyModule_AddStringConstant(module, "INSTRUCTION_SET", instruction_set) < 0
             ? -1
             : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_native", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
