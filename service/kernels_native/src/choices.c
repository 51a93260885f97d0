#include "choices.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"
#include "pool.h"

struct choices {
  const unsigned char *condition;
  const int32_t *yes, *no;
  int32_t *out;
  int yes_is_number, no_is_number;
  const float *x;
  float *values;
  int32_t *places;
  uint16_t *halves;
  const void *targets;
  int targets_are_long;
  unsigned char *found;
  long width, k;
  int refused;
};

static void run_select(void *context, long begin, long end) {
  struct choices *c = context;
  loops->select(c->out + begin, c->condition + begin, c->yes + (c->yes_is_number ? 0 : begin), c->yes_is_number,
                c->no + (c->no_is_number ? 0 : begin), c->no_is_number, end - begin);
}

/* select(condition, yes, no, out, count, yes_is_number, no_is_number, threads), of elements of four bytes. */
PyObject *choose_elements(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *condition, *yes, *no, *out;
  struct choices c = {.refused = 0};
  long count, threads;
  if (!PyArg_ParseTuple(arguments, "OOOOlppl", &condition, &yes, &no, &out, &count, &c.yes_is_number, &c.no_is_number,
                        &threads))
    return NULL;
  struct arrays arrays = {.count = 0};
  if ((c.condition = array(&arrays, condition, "?", count, 0)) == NULL ||
      (c.yes = array(&arrays, yes, "fi", c.yes_is_number ? 1 : count, 0)) == NULL ||
      (c.no = array(&arrays, no, "fi", c.no_is_number ? 1 : count, 0)) == NULL ||
      (c.out = array(&arrays, out, "fi", count, 1)) == NULL || !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  in_parallel(run_select, &c, count, grain_of(1), threads);
  Py_END_ALLOW_THREADS
  release(&arrays);
  Py_RETURN_NONE;
}

/* The greatest of a row in descending order, of equal ones the first; refuses rows with NaN. */
static void run_top_k(void *context, long begin, long end) {
  struct choices *c = context;
  for (long row = begin; row < end; row++) {
    const float *x = c->x + row * c->width;
    float *values = c->values + row * c->k;
    int32_t *places = c->places + row * c->k;
    long have = 0;
    for (long i = 0; i < c->width; i++) {
      const float value = x[i];
      if (have == c->k && value <= values[have - 1]) continue;
      if (value != value) {
        __atomic_store_n(&c->refused, 1, __ATOMIC_RELAXED);
        return;
      }
      long at = have < c->k ? have++ : have - 1;
      for (; at > 0 && values[at - 1] < value; at--) {
        values[at] = values[at - 1];
        places[at] = places[at - 1];
      }
      values[at] = value;
      places[at] = (int32_t)i;
    }
  }
}

/* top_k(x, values, places, rows, width, k, threads): False where there is a NaN. */
PyObject *top_k(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x, *values, *places;
  struct choices c = {.refused = 0};
  long rows, threads;
  if (!PyArg_ParseTuple(arguments, "OOOllll", &x, &values, &places, &rows, &c.width, &c.k, &threads)) return NULL;
  const long count = product(rows, c.width), chosen = product(rows, c.k);
  if (count < 0 || chosen < 0) return NULL;
  if (c.k < 1 || c.k > c.width || c.width > INT32_MAX)
    return PyErr_Format(PyExc_ValueError, "no number of elements to choose");
  struct arrays arrays = {.count = 0};
  if ((c.x = array(&arrays, x, "f", count, 0)) == NULL ||
      (c.values = array(&arrays, values, "f", chosen, 1)) == NULL ||
      (c.places = array(&arrays, places, "i", chosen, 1)) == NULL || !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  in_parallel(run_top_k, &c, rows, grain_of(8 * c.width), threads);
  Py_END_ALLOW_THREADS
  release(&arrays);
  return PyBool_FromLong(!c.refused);
}

static void run_in_top_k(void *context, long begin, long end) {
  struct choices *c = context;
  for (long row = begin; row < end; row++) {
    const float *x = c->x + row * c->width;
    const long target = c->targets_are_long ? (long)((const int64_t *)c->targets)[row]
                                            : (long)((const int32_t *)c->targets)[row];
    c->found[row] = 0;
    if (target >= 0 && target < c->width) {
      const long above = loops->count_above(x, x[target], c->width);
      c->found[row] = above >= 0 && above < c->k;
    }
  }
}

/* in_top_k(x, targets, found, rows, width, k, threads) */
PyObject *in_top_k(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x, *targets, *found;
  struct choices c = {.refused = 0};
  long rows, threads;
  if (!PyArg_ParseTuple(arguments, "OOOllll", &x, &targets, &found, &rows, &c.width, &c.k, &threads)) return NULL;
  const long count = product(rows, c.width);
  if (count < 0) return NULL;
  struct arrays arrays = {.count = 0};
  if ((c.x = array(&arrays, x, "f", count, 0)) == NULL ||
      (c.targets = array(&arrays, targets, "ilq", rows, 0)) == NULL) {
    release(&arrays);
    return NULL;
  }
  c.targets_are_long = arrays.views[arrays.count - 1].itemsize == 8;
  if ((c.found = array(&arrays, found, "?", rows, 1)) == NULL || !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  in_parallel(run_in_top_k, &c, rows, grain_of(c.width), threads);
  Py_END_ALLOW_THREADS
  release(&arrays);
  Py_RETURN_NONE;
}

/* Nobody outside knows these, so that nobody can choose values that all fall on one place of the table. */
static uint64_t secrets[2];
static pthread_once_t have_secrets = PTHREAD_ONCE_INIT;

static void make_secrets(void) {
  if (getentropy(secrets, sizeof secrets) != 0) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    secrets[0] = (uint64_t)time.tv_nsec * 0x9e3779b97f4a7c15u ^ (uintptr_t)&time;
    secrets[1] = (uint64_t)time.tv_sec * 0xd1342543de82ef95u ^ (uint64_t)getpid() << 32;
  }
  secrets[1] |= 1;
}

__extension__ typedef unsigned __int128 wide;

static inline uint64_t hash_of(uint64_t key, uint64_t one, uint64_t odd) {
  const wide product = (wide)(key ^ one) * odd;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* unique(x, values, places, counts, count): how many different values there are. They come in the order of first
 * appearance; places says for each element which value it is, counts how often each one is there. */
PyObject *unique(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x_, *values_, *places_, *counts_;
  long count;
  if (!PyArg_ParseTuple(arguments, "OOOOl", &x_, &values_, &places_, &counts_, &count)) return NULL;
  struct arrays arrays = {.count = 0};
  const void *x;
  void *values;
  int64_t *places, *counts, *table = NULL;
  if ((x = array(&arrays, x_, "ilq", count, 0)) == NULL) goto refuse;
  const int is_long = arrays.views[arrays.count - 1].itemsize == 8;
  if ((values = array(&arrays, values_, "ilq", count, 1)) == NULL) goto refuse;
  if ((arrays.views[arrays.count - 1].itemsize == 8) != is_long) {
    PyErr_SetString(PyExc_ValueError, "values of another size");
    goto refuse;
  }
  if ((places = array(&arrays, places_, "lq", count, 1)) == NULL ||
      (counts = array(&arrays, counts_, "lq", count, 1)) == NULL || !are_apart(&arrays))
    goto refuse;
  /* The table grows with the values that there are, so that it stays in the cache where they are few. */
  long room = 1024, made = 0;
  if ((table = malloc(sizeof(int64_t) * (size_t)room)) == NULL) {
    PyErr_NoMemory();
    goto refuse;
  }
  memset(table, 0xff, sizeof(int64_t) * (size_t)room);
  int is_full = 0;
  pthread_once(&have_secrets, make_secrets);
  const uint64_t one = secrets[0], odd = secrets[1];
  Py_BEGIN_ALLOW_THREADS
#define VALUE(i) (is_long ? ((const int64_t *)values)[i] : (int64_t)((const int32_t *)values)[i])
  for (long i = 0; i < count; i++) {
    const int64_t key = is_long ? ((const int64_t *)x)[i] : (int64_t)((const int32_t *)x)[i];
    uint64_t at = hash_of((uint64_t)key, one, odd) & (uint64_t)(room - 1);
    while (table[at] >= 0 && VALUE(table[at]) != key) at = (at + 1) & (uint64_t)(room - 1);
    if (table[at] < 0) {
      table[at] = made;
      if (is_long)
        ((int64_t *)values)[made] = key;
      else
        ((int32_t *)values)[made] = (int32_t)key;
      counts[made++] = 0;
    }
    counts[places[i] = table[at]]++;
    if (made > room / 2) {
      int64_t *larger = malloc(sizeof(int64_t) * (size_t)(2 * room));
      if (larger == NULL) {
        is_full = 1;
        break;
      }
      free(table);
      table = larger;
      room *= 2;
      memset(table, 0xff, sizeof(int64_t) * (size_t)room);
      for (long j = 0; j < made; j++) {
        uint64_t to = hash_of((uint64_t)VALUE(j), one, odd) & (uint64_t)(room - 1);
        while (table[to] >= 0) to = (to + 1) & (uint64_t)(room - 1);
        table[to] = j;
      }
    }
  }
#undef VALUE
  Py_END_ALLOW_THREADS
  free(table);
  release(&arrays);
  return is_full ? PyErr_NoMemory() : PyLong_FromLong(made);
refuse:
  release(&arrays);
  return NULL;
}

static void run_to_half(void *context, long begin, long end) {
  struct choices *c = context;
  loops->to_half(c->halves + begin, c->x + begin, end - begin);
}

/* to_half(x, out, count, threads): False where the processor has no instruction for it. */
PyObject *to_half(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *x, *out;
  struct choices c = {.refused = 0};
  long count, threads;
  if (!PyArg_ParseTuple(arguments, "OOll", &x, &out, &count, &threads)) return NULL;
  struct arrays arrays = {.count = 0};
  if ((c.x = array(&arrays, x, "f", count, 0)) == NULL || (c.halves = array(&arrays, out, "e", count, 1)) == NULL ||
      !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  if (loops->to_half != NULL) {
    Py_BEGIN_ALLOW_THREADS
    in_parallel(run_to_half, &c, count, grain_of(1), threads);
    Py_END_ALLOW_THREADS
  }
  release(&arrays);
  return PyBool_FromLong(loops->to_half != NULL);
}
