/* Where the values of features lie in serialized Examples, and what they are.
 *
 * An Example is read as serializers write it: one field of features, in it entries of a key and a feature each. Any
 * other that is valid perhaps (unknown fields, parts that are merged) is left to protobuf. What is read lies inside
 * of the Example, whatever it says: each length is compared with what is left. */
#include "records.h"

#include <stdlib.h>
#include <string.h>

#include "example_wire.h"
#include "pool.h"

/* Whether more than nine bytes of a packed list go on, one after the other. */
static int is_overlong(const uint8_t *p, const uint8_t *end) {
  int run = 0;
  for (; p < end; p++)
    if ((run = *p < 0x80 ? 0 : run + 1) > 9) return 1;
  return 0;
}

/* The highest bits of the first `size` of eight bytes, as the lowest ones; of all if there are more. */
static inline uint64_t going_on(const uint8_t *p, long size) {
  uint64_t word;
  memcpy(&word, p, 8);
  const uint64_t all = 0x0101010101010101u;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return word >> 7 & (size >= 8 ? all : all & ((1ull << 8 * size) - 1));
#else
  return word >> 7 & (size >= 8 ? all : all & ~(~0ull >> 8 * size));
#endif
}

/* How many varints a packed list has; -1: one has no end, -2: one is too long. What follows it may be read up to
 * `limit`: lists are short and of any length, and a branch on that is often wrong. */
static long count_varints(const uint8_t *p, const uint8_t *end, const uint8_t *limit) {
  if (p < end && end[-1] >= 0x80) return -1;
  const uint8_t *begin = p;
  const long size = end - p;
  long more = 0; /* bytes that go on */
  int may_be_long = 0;
  while (p < end) {
    if (limit - p < 16) {
      for (; p < end; p++) more += *p >> 7;
      may_be_long = 1;
      break;
    }
    const uint64_t first = going_on(p, end - p), second = going_on(p + 8, end - p < 8 ? 0 : end - p - 8);
    more += (long)((first + second) * 0x0101010101010101u >> 56);
    /* Ten bytes that go on fill half of a word at least. */
    may_be_long |= (uint32_t)first == 0x01010101u || first >> 32 == 0x01010101u || (uint32_t)second == 0x01010101u ||
                   second >> 32 == 0x01010101u;
    p += 16;
  }
  return may_be_long && size > 10 && is_overlong(begin, end) ? -2 : size - more;
}

long loose_numbers(const uint8_t *p, const uint8_t *end, int is_float, void *out, long room) {
  long count = 0;
  while (p < end) {
    long size;
    const uint8_t *stop;
    if (*p == 0x0A) {
      if (!field(&p, end, 0x0A, &size) || (is_float && size % 4)) return -1;
      stop = p + size;
    } else if (is_float && *p == 0x0D && end - p >= 5) {
      stop = ++p + 4;
    } else if (!is_float && *p == 0x08) {
      p++;
      stop = NULL; /* one number, whose end is to be found */
    } else {
      return -1;
    }
    if (is_float) {
      if ((stop - p) / 4 > room - count) return -1;
      if (out != NULL) memcpy((float *)out + count, p, (size_t)(stop - p));
      count += (stop - p) / 4;
      p = stop;
    } else {
      do {
        uint64_t value;
        if (stop != NULL && p == stop) break;
        if (!varint(&p, stop == NULL ? end : stop, 10, &value) || count == room) return -1;
        if (out != NULL) ((int64_t *)out)[count] = (int64_t)value;
        count++;
      } while (stop != NULL);
    }
  }
  return count;
}

/* How many strings a list has, and the last of them; -1 where it is none. */
static long count_strings(const uint8_t *p, const uint8_t *end, const uint8_t **last) {
  long count = 0, size;
  for (; p < end; p += size, count++) {
    if (!field(&p, end, 0x0A, &size)) return -1;
    *last = p;
  }
  return count;
}

int feature(const uint8_t **at, const uint8_t *end, const uint8_t *limit, long *count) {
  const uint8_t *p = *at;
  *count = 0;
  if (p == end) return MISSING;
  const uint8_t tag = *p;
  long size;
  if ((tag != 0x0A && tag != 0x12 && tag != 0x1A) || !field(&p, end, tag, &size) || p + size != end) return -1;
  *at = p;
  if (tag == 0x0A) {
    *count = count_strings(p, end, at);
    return *count < 0 ? -1 : *count == 1 ? BYTES : (*at = p, MANY_BYTES);
  }
  const int is_float = tag == 0x12;
  if (p == end) return is_float ? FLOATS : INTS;
  if (field(&p, end, 0x0A, &size) && p + size == end && !(is_float && size % 4)) {
    *at = p;
    if (is_float) return *count = size / 4, FLOATS;
    const long found = count_varints(p, end, limit);
    if (found == -2) return OVERLONG;
    if (found == -1) return -1;
    return *count = found, INTS;
  }
  *count = loose_numbers(*at, end, is_float, NULL, end - *at);
  return *count < 0 ? -1 : is_float ? LOOSE_FLOATS : LOOSE_INTS;
}

/* ---- scanning ------------------------------------------------------------------------------------------- */

struct scan {
  struct item *items;
  const struct item *keys;
  long count, key_count;
  int32_t *slots; /* a hash table of the keys' numbers, -1 where there is none */
  uint32_t slot_mask;
  struct place *places; /* [keys, stride] */
  long stride;          /* at least the number of items */
  uint8_t *irregular; /* [items] */
  struct totals *totals; /* [keys] */
};

static uint32_t hash(const uint8_t *p, long size) {
  uint32_t value = 2166136261u;
  for (long i = 0; i < size; i++) value = (value ^ p[i]) * 16777619u;
  return value ^ value >> 15;
}

static inline int is_key(const struct item *key, const uint8_t *p, long size) {
  if (key->size != size) return 0;
  if (size < 8) return memcmp(key->data, p, (size_t)size) == 0;
  /* Eight bytes at a time, the last ones once more: a call takes longer than that. */
  for (long at = 0;; at = at + 16 <= size ? at + 8 : size - 8) {
    uint64_t a, b;
    memcpy(&a, key->data + at, 8);
    memcpy(&b, p + at, 8);
    if (a != b) return 0;
    if (at == size - 8) return 1;
  }
}

static long key_number(const struct scan *s, const uint8_t *p, long size) {
  for (uint32_t slot = hash(p, size);; slot++) {
    const int32_t number = s->slots[slot & s->slot_mask];
    if (number < 0 || is_key(&s->keys[number], p, size)) return number;
  }
}

/* What a range of items has learnt: which key came after which in the Example before, as most have them in the same
 * order, and in which Example, counted from 1, each key was last. */
struct learnt {
  int32_t *follows;
  long *seen;
};

/* The features that are there, of one Example, and how many; 0 where protobuf has to read it. */
static int scan_entries(const struct scan *s, long number, const struct learnt *learnt, long *found) {
  const uint8_t *p = s->items[number].data, *end = p + s->items[number].size, *begin = p;
  long size, before = s->key_count;
  *found = 0;
  if (p == end) return 1;
  if (end - p > INT32_MAX) return 0; /* longer than messages may be */
  if (!field(&p, end, 0x0A, &size) || p + size != end) return 0;
  while (p < end) {
    if (!field(&p, end, 0x0A, &size)) return 0;
    const uint8_t *stop = p + size;
    if (!field(&p, stop, 0x0A, &size)) return 0;
    const uint8_t *key = p;
    const long key_size = size;
    p += size;
    if (!field(&p, stop, 0x12, &size) || p + size != stop) return 0;
    long index = learnt->follows[before];
    if (index < 0 || !is_key(&s->keys[index], key, key_size)) {
      index = key_number(s, key, key_size);
      if (index >= 0) learnt->follows[before] = (int32_t)index;
    }
    if (index >= 0) {
      long count;
      const int kind = feature(&p, stop, end, &count);
      if (kind < 0) return 0;
      s->places[index * s->stride + number] =
          kind == MISSING ? (struct place){MISSING, 0, 0, 0}
                          : (struct place){kind, (int32_t)(p - begin), (int32_t)(stop - begin), (int32_t)count};
      *found += learnt->seen[index] != number + 1;
      learnt->seen[index] = number + 1;
      before = index;
    }
    p = stop;
  }
  return 1;
}

void add_range(const struct totals *range, struct totals *all) {
  __atomic_fetch_or(&all->kinds, range->kinds, __ATOMIC_RELAXED);
  __atomic_fetch_add(&all->count, range->count, __ATOMIC_RELAXED);
  int64_t longest = __atomic_load_n(&all->longest, __ATOMIC_RELAXED);
  while (longest < range->longest && !__atomic_compare_exchange_n(&all->longest, &longest, range->longest, 1,
                                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
}

/* Adds the counts of a range of items to those of all. */
static void add_totals(const struct scan *s, long begin, long end) {
  for (long k = 0; k < s->key_count; k++) {
    const struct place *places = s->places + k * s->stride;
    struct totals range = {0, 0, 0};
    for (long i = begin; i < end; i++) {
      range.kinds |= 1 << places[i].kind;
      range.count += places[i].count;
      range.longest = places[i].count > range.longest ? places[i].count : range.longest;
    }
    add_range(&range, &s->totals[k]);
  }
}

static void run_scan(void *context, long begin, long end) {
  const struct scan *s = context;
  struct learnt learnt = {.follows = malloc(sizeof(int32_t) * (size_t)(s->key_count + 1)),
                          .seen = calloc((size_t)s->key_count + 1, sizeof(long))};
  const int has_memory = learnt.follows != NULL && learnt.seen != NULL;
  for (long k = 0; has_memory && k <= s->key_count; k++) learnt.follows[k] = -1;
  for (long i = begin; i < end; i++) {
    long found = 0;
    s->irregular[i] = !has_memory || !scan_entries(s, i, &learnt, &found);
    for (long k = 0; found < s->key_count && k < s->key_count; k++) {
      if (has_memory && learnt.seen[k] == i + 1) continue;
      s->places[k * s->stride + i] = (struct place){MISSING, 0, 0, 0};
    }
  }
  add_totals(s, begin, end);
  free(learnt.follows);
  free(learnt.seen);
}

struct item *contents(PyObject *tuple) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  struct item *items = malloc(sizeof(struct item) * (size_t)(count + 1));
  if (items == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(PyTuple_GetItem(tuple, i), &data, &size) < 0) {
      free(items);
      return NULL;
    }
    items[i] = (struct item){(const uint8_t *)data, size};
  }
  return items;
}

static int make_slots(struct scan *s) {
  uint32_t room = 8;
  while (room < 2 * (uint32_t)s->key_count + 1) room *= 2;
  s->slot_mask = room - 1;
  s->slots = malloc(room * sizeof(int32_t));
  if (s->slots == NULL) return 0;
  memset(s->slots, 0xff, room * sizeof(int32_t));
  for (long k = 0; k < s->key_count; k++) {
    uint32_t slot = hash(s->keys[k].data, s->keys[k].size);
    while (s->slots[slot & s->slot_mask] >= 0) slot++;
    s->slots[slot & s->slot_mask] = (int32_t)k;
  }
  return 1;
}

/* (numbers of the items that protobuf has to read, for each key: the kinds that there are as bits, the sum of the
 * counts, the greatest of them) */
static PyObject *summary(const struct scan *s) {
  PyObject *irregular = PyList_New(0);
  PyObject *parts[3] = {PyList_New(s->key_count), PyList_New(s->key_count), PyList_New(s->key_count)};
  int failed = irregular == NULL || parts[0] == NULL || parts[1] == NULL || parts[2] == NULL;
  for (long i = 0; !failed && i < s->count; i++) {
    if (!s->irregular[i]) continue;
    PyObject *number = PyLong_FromLong(i);
    failed = number == NULL || PyList_Append(irregular, number) < 0;
    Py_XDECREF(number);
  }
  for (long k = 0; !failed && k < s->key_count; k++) {
    const int64_t values[3] = {s->totals[k].kinds, s->totals[k].count, s->totals[k].longest};
    for (int j = 0; j < 3 && !failed; j++) {
      PyObject *value = PyLong_FromLongLong(values[j]);
      failed = value == NULL || PyList_SetItem(parts[j], k, value) < 0;
    }
  }
  if (!failed) return Py_BuildValue("NNNN", irregular, parts[0], parts[1], parts[2]);
  Py_XDECREF(irregular);
  for (int j = 0; j < 3; j++) Py_XDECREF(parts[j]);
  return NULL;
}

/* Leaves of each item what comes before the lists of a SequenceExample, which is an Example; 0 and an exception where it
 * is not as long. */
static int shorten(struct arrays *arrays, struct item *items, long count, PyObject *sizes_) {
  const int64_t *sizes = array(arrays, sizes_, "lq", count, 0);
  if (sizes == NULL) return 0;
  for (long i = 0; i < count; i++) {
    if (sizes[i] < 0 || sizes[i] > items[i].size) {
      PyErr_SetString(PyExc_ValueError, "a part that is longer than its item");
      return 0;
    }
    items[i].size = (long)sizes[i];
  }
  return 1;
}

PyObject *scan_examples(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *items_, *keys_, *places_, *sizes_ = Py_None, *result = NULL;
  long stride, threads;
  if (!PyArg_ParseTuple(arguments, "O!O!Oll|O", &PyTuple_Type, &items_, &PyTuple_Type, &keys_, &places_, &stride,
                        &threads, &sizes_))
    return NULL;
  struct arrays arrays = {.count = 0};
  struct scan s = {.count = PyTuple_Size(items_), .key_count = PyTuple_Size(keys_), .stride = stride};
  const long room = s.count > stride ? -1 : product(stride, s.key_count);
  if (s.count > stride || s.key_count > 1 << 20 || room > PY_SSIZE_T_MAX / 16)
    return PyErr_Format(PyExc_ValueError, "too many keys, or more items than there is room for");
  if (room < 0) return NULL;
  if ((s.items = contents(items_)) == NULL || (s.keys = contents(keys_)) == NULL ||
      (s.places = array(&arrays, places_, "i", 4 * room, 1)) == NULL)
    goto done;
  if (sizes_ != Py_None && !shorten(&arrays, s.items, s.count, sizes_)) goto done;
  s.irregular = malloc((size_t)s.count + 1);
  s.totals = calloc((size_t)s.key_count + 1, sizeof(struct totals));
  if (s.irregular == NULL || s.totals == NULL || !make_slots(&s)) {
    PyErr_NoMemory();
    goto done;
  }
  Py_BEGIN_ALLOW_THREADS
  const long grain = 1 + 2000 / (s.key_count + 1); /* some 40 us */
  in_parallel(run_scan, &s, s.count, grain, threads);
  Py_END_ALLOW_THREADS
  result = summary(&s);
done:
  free(s.irregular);
  free(s.totals);
  free(s.slots);
  free(s.items);
  free((void *)s.keys);
  release(&arrays);
  return result;
}
