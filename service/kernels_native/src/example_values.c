/* The values of features, written to arrays: of all columns of a batch in one call.
 *
 * What `scan_examples` found says where they lie. It comes by way of Python, so nothing of it is believed: spans are
 * compared with their items, counts with the room that there is, before anything is written. Numbers are read without
 * the interpreter's lock, by the pool's threads, while the calling thread makes the strings, which need it. */
#include "records.h"

#include <stdlib.h>
#include <string.h>

#include "example_wire.h"
#include "pool.h"

#define BLOCK 64 /* items of a part, which stay in the first cache while all columns are read from them */

struct column {
  const struct place *places; /* of its values in each item */
  Py_buffer out, indices; /* `obj` is NULL where there is none */
  int64_t *rows_and_columns; /* [values, 2], or NULL */
  long width;             /* of the rows of `out`; -1: items' values follow each other */
  int64_t total;
  char format; /* f, l or q, O */
  long tries, hits; /* how often strings were looked for among the shared ones, and found */
};

/* Up to BLOCK items of one column, and where their values begin and end in its output. */
struct part {
  struct column *column;
  long first;
  int64_t begin, end;
};

/* A string that was made already: the same bytes are often the value of many Examples. */
struct shared {
  const uint8_t *data;
  long size;
  PyObject *string;
};

enum { FEW = 4 };

enum { SHARED_BITS = 10, SHARED = 1 << SHARED_BITS, LONGEST_SHARED = 64, TRIES = 64 };

struct fill {
  const struct item *items;
  long count, column_count, part_count, string_count;
  struct column *columns;
  struct part *parts, *strings; /* what needs no lock, and the strings */
  struct shared *shared;
  PyThreadState *unlocked;
  int failed;
};

/* ---- numbers, and the places of values ---------------------------------------------------------------------- */

/* The number of up to eight bytes of which the low seven bits count, the lowest first. */
static inline uint64_t joined(uint64_t word) {
  word &= 0x7f7f7f7f7f7f7f7fu;
  word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
  word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
  return (word & 0x0fffffffu) | (word & 0x0fffffff00000000u) >> 4;
}

static inline uint64_t eight_bytes(const uint8_t *p) {
  uint64_t word = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(&word, p, 8);
#else
  for (int i = 0; i < 8; i++) word |= (uint64_t)p[i] << 8 * i;
#endif
  return word;
}

/* The numbers of a packed list; how many there are, or -1 where that is more than `room`. What follows the list may be
 * read up to `limit`: how long the next number is, is anybody's guess, and a branch on it is often wrong. */
static long packed_integers(const uint8_t *p, const uint8_t *end, const uint8_t *limit, int64_t *out, long room) {
  long count = 0;
  while (p < end) {
    if (count == room) return -1;
    if (limit - p >= 8) {
      const uint64_t word = eight_bytes(p), last = ~word & 0x8080808080808080u;
      if (last != 0) {
        const int bits = __builtin_ctzll(last); /* before the highest bit of the last byte */
        out[count++] = (int64_t)joined(word & ~0ull >> (63 - bits));
        p += (bits >> 3) + 1;
        continue;
      }
    }
    uint64_t value = 0;
    for (int shift = 0; p < end && shift < 64; shift += 7) {
      const uint8_t byte = *p++;
      value |= (uint64_t)(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    out[count++] = (int64_t)value;
  }
  return p == end ? count : -1;
}

/* The numbers in a span, of which there must be `count`. What follows the span is read up to `limit`; what follows the
 * numbers in `out` may be written, up to `room` of them. */
static int numbers(int kind, const uint8_t *p, const uint8_t *end, const uint8_t *limit, int is_float, void *out,
                   long count, long room) {
  if (kind == MISSING) return count == 0;
  if (kind == FLOATS && is_float) {
    if (end - p != 4 * count) return 0;
    if (count <= FEW && room >= FEW && limit - p >= 4 * FEW)
      memcpy(out, p, 4 * FEW); /* the next item's take the place of what is too much */
    else
      memcpy(out, p, (size_t)(end - p));
    return 1;
  }
  if (kind == INTS && !is_float) return packed_integers(p, end, limit, out, count) == count;
  return kind == (is_float ? LOOSE_FLOATS : LOOSE_INTS) && loose_numbers(p, end, is_float, out, count) == count;
}

/* Whether the span of an item lies in it. */
static inline int is_inside(const struct column *c, const struct item *items, long i) {
  const struct place *at = &c->places[i];
  return at->begin >= 0 && at->begin <= at->end && at->end <= items[i].size;
}

/* Writes the row and the column of the values of a part. Few values of any number are written most quickly as FEW,
 * of which those of the next item take the place: a branch on their number is often wrong. */
static void write_places(const struct column *c, const struct part *part, long end) {
  int64_t *place = c->rows_and_columns + 2 * part->begin, *stop = c->rows_and_columns + 2 * part->end;
  for (long i = part->first; i < end; i++) {
    const int64_t count = c->places[i].count;
    int64_t j = 0;
    if (stop - place >= 2 * FEW)
      for (; j < FEW; j++) {
        place[2 * j] = i;
        place[2 * j + 1] = j;
      }
    for (; j < count; j++) {
      place[2 * j] = i;
      place[2 * j + 1] = j;
    }
    place += 2 * count;
  }
}

static int run_part(const struct fill *f, const struct part *part) {
  const struct column *c = part->column;
  const int is_float = c->format == 'f', size = is_float ? 4 : 8;
  const long end = f->count - part->first < BLOCK ? f->count : part->first + BLOCK;
  int64_t begin = part->begin;
  if (c->rows_and_columns != NULL) write_places(c, part, end);
  for (long i = part->first; c->format != 'O' && i < end; i++) {
    if (!is_inside(c, f->items, i)) return 0;
    const uint8_t *data = f->items[i].data;
    const struct place *at = &c->places[i];
    if (!numbers(at->kind, data + at->begin, data + at->end, data + f->items[i].size, is_float,
                 (char *)c->out.buf + begin * size, at->count, c->width < 0 ? part->end - begin : 0))
      return 0;
    begin += c->width < 0 ? c->places[i].count : c->width;
  }
  return 1;
}

static void run_parts(void *context, long begin, long end) {
  struct fill *f = context;
  for (long k = begin; k < end; k++)
    if (!run_part(f, &f->parts[k])) __atomic_store_n(&f->failed, 1, __ATOMIC_RELAXED);
}

/* ---- strings ------------------------------------------------------------------------------------------------ */

/* Where a string of 2 to LONGEST_SHARED bytes is kept: by its ends and its length. */
static inline uint32_t shared_place(const uint8_t *p, long size) {
  uint64_t head = 0, tail = 0;
  if (size >= 8) {
    memcpy(&head, p, 8);
    memcpy(&tail, p + size - 8, 8);
  } else if (size >= 4) {
    memcpy(&head, p, 4);
    memcpy(&tail, p + size - 4, 4);
  } else {
    memcpy(&head, p, 2);
    tail = p[size - 1];
  }
  const uint64_t mixed = (head ^ (tail << 29 | tail >> 35) ^ (uint64_t)size) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(mixed >> (64 - SHARED_BITS)); /* the highest bits depend on all others */
}

/* A new reference to a string of these bytes. */
static PyObject *string_of(struct shared *shared, struct column *c, const uint8_t *p, long size) {
  /* Strings that all differ are not looked for any longer. One byte or none, the interpreter shares itself. */
  if (shared == NULL || size < 2 || size > LONGEST_SHARED || (c->tries >= TRIES && 4 * c->hits < c->tries))
    return PyBytes_FromStringAndSize((const char *)p, size);
  struct shared *kept = &shared[shared_place(p, size)];
  c->tries++;
  if (kept->size == size && memcmp(kept->data, p, (size_t)size) == 0) {
    c->hits++;
    return Py_NewRef(kept->string);
  }
  PyObject *string = PyBytes_FromStringAndSize((const char *)p, size), *before = kept->string;
  if (string == NULL) return NULL;
  *kept = (struct shared){p, size, Py_NewRef(string)};
  Py_XDECREF(before);
  return string;
}

/* The strings in a span, of which there must be `count`, in the place of what `out` holds. */
static int strings_of(const struct fill *f, struct column *c, int kind, const uint8_t *p, const uint8_t *end,
                      PyObject **out, long count) {
  long found = 0, size = end - p;
  if (kind == MISSING) return count == 0;
  if (kind != BYTES && kind != MANY_BYTES) return 0;
  for (; kind == BYTES ? found == 0 : p < end; p += size, found++) {
    if (found == count || (kind == MANY_BYTES && !field(&p, end, 0x0A, &size))) return 0;
    PyObject *value = string_of(f->shared, c, p, size), *before = out[found];
    if (value == NULL) return 0;
    out[found] = value;
    Py_XDECREF(before);
  }
  return found == count;
}

static int run_strings(const struct fill *f, const struct part *part) {
  struct column *c = part->column;
  const long end = f->count - part->first < BLOCK ? f->count : part->first + BLOCK;
  int64_t begin = part->begin;
  for (long i = part->first; i < end; i++) {
    if (!is_inside(c, f->items, i)) return 0;
    const uint8_t *data = f->items[i].data;
    if (!strings_of(f, c, c->places[i].kind, data + c->places[i].begin, data + c->places[i].end,
                    (PyObject **)c->out.buf + begin, c->places[i].count))
      return 0;
    begin += c->width < 0 ? c->places[i].count : c->width;
  }
  return 1;
}

/* What the calling thread does first: all strings; then it lets go of the interpreter's lock. */
static void make_strings(void *context) {
  struct fill *f = context;
  int is_good = 1;
  for (long k = 0; is_good && k < f->string_count; k++) is_good = run_strings(f, &f->strings[k]);
  if (!is_good) __atomic_store_n(&f->failed, 1, __ATOMIC_RELAXED);
  f->unlocked = PyEval_SaveThread();
}

/* ---- the call ------------------------------------------------------------------------------------------------ */

/* The sum of the counts of a column; -1 and an exception where its rows have no room for them. */
static int64_t count_values(const struct column *c, long count) {
  const int64_t most = c->width < 0 ? PY_SSIZE_T_MAX / 16 / (count + 1) : c->width;
  int64_t total = 0;
  for (long i = 0; i < count; i++) {
    if (c->places[i].count < 0 || c->places[i].count > most) {
      PyErr_SetString(PyExc_ValueError, "more values than there is room for");
      return -1;
    }
    total += c->places[i].count;
  }
  return total;
}

/* A column, given as (place among the features, out, width or -1, indices or None); 0 and an exception where it does
 * not fit. */
static int take_column(struct fill *f, struct column *c, PyObject *given, long feature_count,
                       const struct place *places, long stride) {
  PyObject *out, *indices;
  long place;
  if (!PyTuple_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "a column is no tuple");
    return 0;
  }
  if (!PyArg_ParseTuple(given, "lOlO", &place, &out, &c->width, &indices)) return 0;
  if (place < 0 || place >= feature_count) {
    PyErr_SetString(PyExc_ValueError, "a column of no feature");
    return 0;
  }
  c->places = places + place * stride;
  const int64_t total = count_values(c, f->count);
  const long size = c->width < 0 ? (long)total : product(f->count, c->width);
  if (total < 0 || size < 0) return 0;
  c->total = total;
  /* The output's own type says which values are wanted. */
  if (view_of(&c->out, out, "flqO", size, 1) == NULL) return 0;
  c->format = c->out.format[0];
  if (indices == Py_None) return 1;
  if (c->width >= 0) {
    PyErr_SetString(PyExc_ValueError, "indices of rows that are filled up");
    return 0;
  }
  return (c->rows_and_columns = view_of(&c->indices, indices, "lq", 2 * size, 1)) != NULL;
}

struct memory {
  const char *begin;
  Py_ssize_t size;
};

static int by_begin(const void *a, const void *b) {
  const char *one = ((const struct memory *)a)->begin, *other = ((const struct memory *)b)->begin;
  return one < other ? -1 : one > other;
}

/* 0 and an exception where outputs share memory with each other, or with what says where the values are. */
static int columns_are_apart(const struct fill *f, const struct arrays *arrays) {
  struct memory *all = malloc(sizeof(struct memory) * (size_t)(2 * f->column_count + arrays->count));
  if (all == NULL) {
    PyErr_NoMemory();
    return 0;
  }
  long count = 0;
  for (int i = 0; i < arrays->count; i++)
    if (arrays->views[i].len > 0) all[count++] = (struct memory){arrays->views[i].buf, arrays->views[i].len};
  for (long k = 0; k < f->column_count; k++) {
    const Py_buffer *views[2] = {&f->columns[k].out, &f->columns[k].indices};
    for (int j = 0; j < 2; j++)
      if (views[j]->obj != NULL && views[j]->len > 0) all[count++] = (struct memory){views[j]->buf, views[j]->len};
  }
  qsort(all, (size_t)count, sizeof(struct memory), by_begin);
  int are_apart = 1;
  for (long k = 1; k < count; k++) are_apart &= all[k].begin - all[k - 1].begin >= all[k - 1].size;
  free(all);
  if (!are_apart) PyErr_SetString(PyExc_ValueError, "an output shares memory with another array");
  return are_apart;
}

/* Divides the columns into parts; 0 where there is no memory. */
static int divide(struct fill *f, int64_t *value_count) {
  const size_t most = (size_t)(f->column_count * ((f->count + BLOCK - 1) / BLOCK) + 1);
  int64_t strings = 0, *begins = calloc((size_t)f->column_count + 1, sizeof(int64_t));
  f->parts = malloc(sizeof(struct part) * most);
  f->strings = malloc(sizeof(struct part) * most);
  const int has_memory = begins != NULL && f->parts != NULL && f->strings != NULL;
  for (long first = 0; has_memory && first < f->count; first += BLOCK) {
    const long end = f->count - first < BLOCK ? f->count : first + BLOCK;
    for (long k = 0; k < f->column_count; k++) {
      struct column *c = &f->columns[k];
      struct part part = {c, first, begins[k], 0};
      if (c->width >= 0) begins[k] += (end - first) * c->width;
      for (long i = first; c->width < 0 && i < end; i++) begins[k] += c->places[i].count;
      part.end = begins[k];
      if (c->format == 'O') f->strings[f->string_count++] = part;
      if (c->format != 'O' || c->rows_and_columns != NULL) f->parts[f->part_count++] = part;
    }
  }
  free(begins);
  for (long k = 0; k < f->column_count; k++) *(f->columns[k].format == 'O' ? &strings : value_count) += f->columns[k].total;
  /* Without memory for it, no string is shared. */
  if (strings > TRIES) f->shared = calloc(SHARED, sizeof(struct shared));
  return has_memory;
}

static void leave(struct fill *f) {
  for (long k = 0; f->columns != NULL && k < f->column_count; k++) {
    if (f->columns[k].out.obj != NULL) PyBuffer_Release(&f->columns[k].out);
    if (f->columns[k].indices.obj != NULL) PyBuffer_Release(&f->columns[k].indices);
  }
  for (long k = 0; f->shared != NULL && k < SHARED; k++) Py_XDECREF(f->shared[k].string);
  free(f->shared);
  free(f->strings);
  free(f->parts);
  free(f->columns);
  free((void *)f->items);
}

/* The item of each place, where items have several; NULL and an exception where there is no such item. */
static struct item *owned(struct arrays *arrays, PyObject *tuple, PyObject *owners_, long count) {
  const long item_count = PyTuple_Size(tuple);
  const int32_t *owners = array(arrays, owners_, "i", count, 0);
  struct item *items = owners == NULL ? NULL : contents(tuple), *all = NULL;
  if (items == NULL) return NULL;
  if ((all = malloc(sizeof(struct item) * (size_t)(count + 1))) == NULL) PyErr_NoMemory();
  for (long i = 0; all != NULL && i < count; i++) {
    if (owners[i] >= 0 && owners[i] < item_count) {
      all[i] = items[owners[i]];
      continue;
    }
    PyErr_SetString(PyExc_ValueError, "a place in no item");
    free(all);
    all = NULL;
  }
  free(items);
  return all;
}

/* example_values(items, features, places, stride, columns, threads): the values of some of so many features, each column
 * as take_column says: of items one after the other; or those of each in a row of its own of `width`, whose rest is left
 * as it is. With `owners`, which says the item of each of `stride` places, of steps instead of items. */
PyObject *example_values(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *items, *places_, *columns, *owners = Py_None, *result = NULL;
  long feature_count, stride, threads;
  if (!PyArg_ParseTuple(arguments, "O!lOlO!l|O", &PyTuple_Type, &items, &feature_count, &places_, &stride, &PyTuple_Type,
                        &columns, &threads, &owners))
    return NULL;
  struct arrays arrays = {.count = 0};
  struct fill f = {.count = owners == Py_None ? PyTuple_Size(items) : stride, .column_count = PyTuple_Size(columns)};
  const long room = product(feature_count, stride);
  if (room < 0) return NULL;
  if (stride < f.count || room > PY_SSIZE_T_MAX / 16)
    return PyErr_Format(PyExc_ValueError, "more items than there is room for");
  int64_t value_count = 0;
  const struct place *places;
  f.columns = calloc((size_t)f.column_count + 1, sizeof(struct column));
  if (f.columns == NULL) {
    PyErr_NoMemory();
    goto done;
  }
  f.items = owners == Py_None ? contents(items) : owned(&arrays, items, owners, stride);
  if (f.items == NULL || (places = array(&arrays, places_, "i", 4 * room, 0)) == NULL) goto done;
  for (long k = 0; k < f.column_count; k++)
    if (!take_column(&f, &f.columns[k], PyTuple_GetItem(columns, k), feature_count, places, stride)) goto done;
  if (!columns_are_apart(&f, &arrays)) goto done;
  if (!divide(&f, &value_count)) {
    PyErr_NoMemory();
    goto done;
  }
  const int64_t work = value_count + 2 * f.part_count * (f.count < BLOCK ? f.count : BLOCK);
  const long grain = work < 1 ? 1 : (long)(1 + f.part_count * (WORK / 10) / work);
  in_parallel_beside(make_strings, run_parts, &f, f.part_count, grain, work < WORK / 5 ? 1 : threads);
  PyEval_RestoreThread(f.unlocked);
  if (PyErr_Occurred()) goto done;
  if (f.failed)
    PyErr_SetString(PyExc_ValueError, "other values than were counted");
  else
    result = Py_NewRef(Py_None);
done:
  leave(&f);
  release(&arrays);
  return result;
}
