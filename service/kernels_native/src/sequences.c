/* Where the values of features lie in serialized SequenceExamples.
 *
 * As with Examples, what is read is the form that serializers write: features of the whole sequence, then lists of
 * features, one for each step. The first part is an Example itself, which `scan_examples` reads; here are the lists, and
 * the features of their steps. All others are left to protobuf. */
#include "records.h"

#include <stdlib.h>
#include <string.h>

#include "example_wire.h"
#include "pool.h"

/* A list of features in an item: the span of its entries, and how many steps it has; -1 where it is missing. For
 * Python, three int32. */
struct list {
  int32_t begin, end, steps;
};

/* ---- lists -------------------------------------------------------------------------------------------------- */

struct lists {
  const struct item *items, *keys;
  long count, key_count;
  int64_t *contexts; /* [items], the size of what comes before the lists */
  struct list *found; /* [keys, items] */
  int failed;
};

/* How many steps a list has; -1 where it is no list. */
static long count_steps(const uint8_t *p, const uint8_t *end) {
  long count = 0, size;
  for (; p < end; p += size, count++)
    if (!field(&p, end, 0x0A, &size)) return -1;
  return count;
}

/* Keys are few, and come in the same order mostly: the one after the last is tried first. */
static long key_number(const struct lists *s, const uint8_t *p, long size, long first) {
  for (long i = 0; i < s->key_count; i++) {
    const long k = (first + i) % s->key_count;
    if (s->keys[k].size == size && memcmp(s->keys[k].data, p, (size_t)size) == 0) return k;
  }
  return -1;
}

static int scan_lists(const struct lists *s, long number) {
  const uint8_t *p = s->items[number].data, *begin = p, *end = p + s->items[number].size;
  long size, next = 0;
  for (long k = 0; k < s->key_count; k++) s->found[k * s->count + number] = (struct list){0, 0, -1};
  s->contexts[number] = 0;
  if (end - p > INT32_MAX) return 0; /* longer than messages may be */
  if (field(&p, end, 0x0A, &size)) s->contexts[number] = (p += size) - begin;
  if (p == end) return 1;
  if (!field(&p, end, 0x12, &size) || p + size != end) return 0;
  while (p < end) {
    if (!field(&p, end, 0x0A, &size)) return 0;
    const uint8_t *stop = p + size;
    if (!field(&p, stop, 0x0A, &size)) return 0;
    const long k = key_number(s, p, size, next);
    p += size;
    if (!field(&p, stop, 0x12, &size) || p + size != stop) return 0;
    if (k >= 0) {
      struct list *list = &s->found[k * s->count + number];
      const long steps = count_steps(p, stop);
      if (steps < 0 || list->steps >= 0) return 0; /* of two lists of one name the last counts */
      *list = (struct list){(int32_t)(p - begin), (int32_t)(stop - begin), (int32_t)steps};
      next = k + 1;
    }
    p = stop;
  }
  return 1;
}

static void run_lists(void *context, long begin, long end) {
  struct lists *s = context;
  for (long i = begin; i < end; i++)
    if (!scan_lists(s, i)) __atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
}

/* scan_sequences(items, keys, contexts, lists, threads): the lists of these names, of which contexts [items] and lists
 * [keys, items, 3] say where they are; whether all items have the form that is read here. */
PyObject *scan_sequences(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *items_, *keys_, *contexts_, *lists_, *result = NULL;
  long threads;
  if (!PyArg_ParseTuple(arguments, "O!O!OOl", &PyTuple_Type, &items_, &PyTuple_Type, &keys_, &contexts_, &lists_,
                        &threads))
    return NULL;
  struct arrays arrays = {.count = 0};
  struct lists s = {.count = PyTuple_Size(items_), .key_count = PyTuple_Size(keys_)};
  const long room = product(s.count, s.key_count);
  if (room < 0) return NULL;
  if (room > PY_SSIZE_T_MAX / 16) return PyErr_Format(PyExc_ValueError, "too many keys");
  if ((s.items = contents(items_)) == NULL || (s.keys = contents(keys_)) == NULL ||
      (s.contexts = array(&arrays, contexts_, "lq", s.count, 1)) == NULL ||
      (s.found = array(&arrays, lists_, "i", 3 * room, 1)) == NULL || !are_apart(&arrays))
    goto done;
  Py_BEGIN_ALLOW_THREADS
  in_parallel(run_lists, &s, s.count, 64, threads);
  Py_END_ALLOW_THREADS
  result = PyBool_FromLong(!s.failed);
done:
  free((void *)s.items);
  free((void *)s.keys);
  release(&arrays);
  return result;
}

/* ---- steps -------------------------------------------------------------------------------------------------- */

struct steps {
  const struct item *items;
  const struct list *lists; /* [items] */
  const int64_t *firsts;    /* [items], the place of the first step of each */
  struct place *places;
  struct totals totals;
  int failed;
};

/* The features of the steps of one item; 0 where protobuf has to read them. */
static int scan_steps_of(const struct steps *s, long number, struct totals *totals) {
  const struct list *list = &s->lists[number];
  const struct item *item = &s->items[number];
  if (list->steps <= 0) return 1;
  if (list->begin < 0 || list->begin > list->end || list->end > item->size) return 0;
  const uint8_t *p = item->data + list->begin, *end = item->data + list->end;
  struct place *place = s->places + s->firsts[number];
  long step = 0, size, count;
  for (; p < end && step < list->steps; step++) {
    if (!field(&p, end, 0x0A, &size)) return 0;
    const uint8_t *stop = p + size;
    const int kind = feature(&p, stop, end, &count);
    if (kind < 0) return 0;
    place[step] = kind == MISSING ? (struct place){MISSING, 0, 0, 0}
                                  : (struct place){kind, (int32_t)(p - item->data), (int32_t)(stop - item->data),
                                                   (int32_t)count};
    totals->kinds |= 1 << kind;
    totals->count += count;
    totals->longest = count > totals->longest ? count : totals->longest;
    p = stop;
  }
  return p == end && step == list->steps;
}

static void run_steps(void *context, long begin, long end) {
  struct steps *s = context;
  struct totals range = {0, 0, 0};
  for (long i = begin; i < end; i++)
    if (!scan_steps_of(s, i, &range)) __atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
  add_range(&range, &s->totals);
}

/* scan_steps(items, lists, count, places, threads): the features of the steps of one list, of which `lists` [items, 3] says
 * where it is, to places [count, 4]. The kinds that there are as bits, the sum of the counts and the greatest of them; None
 * where one has another form. */
PyObject *scan_steps(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *items_, *lists_, *places_, *result = NULL;
  long total, threads;
  if (!PyArg_ParseTuple(arguments, "O!OlOl", &PyTuple_Type, &items_, &lists_, &total, &places_, &threads)) return NULL;
  struct arrays arrays = {.count = 0};
  const long count = PyTuple_Size(items_);
  struct steps s = {.failed = 0};
  int64_t *firsts = malloc(sizeof(int64_t) * (size_t)(count + 1)), sum = 0;
  if (firsts == NULL) return PyErr_NoMemory();
  s.firsts = firsts;
  if (total < 0 || total > PY_SSIZE_T_MAX / 16) {
    PyErr_SetString(PyExc_ValueError, "not a number of steps");
    goto done;
  }
  if ((s.items = contents(items_)) == NULL || (s.lists = array(&arrays, lists_, "i", 3 * count, 0)) == NULL ||
      (s.places = array(&arrays, places_, "i", 4 * total, 1)) == NULL || !are_apart(&arrays))
    goto done;
  for (long i = 0; i < count; i++) {
    firsts[i] = sum;
    if (s.lists[i].steps > 0) sum += s.lists[i].steps;
  }
  if (sum != total) {
    PyErr_SetString(PyExc_ValueError, "lists of another number of steps");
    goto done;
  }
  Py_BEGIN_ALLOW_THREADS
  in_parallel(run_steps, &s, count, 1 + 4000 * count / (total + 1), threads); /* some 40 us */
  Py_END_ALLOW_THREADS
  result = s.failed ? Py_NewRef(Py_None)
                    : Py_BuildValue("LLL", (long long)s.totals.kinds, (long long)s.totals.count,
                                    (long long)s.totals.longest);
done:
  free(firsts);
  free((void *)s.items);
  release(&arrays);
  return result;
}
