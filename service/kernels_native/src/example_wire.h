/* What the scanner of Examples and the reader of their values share: the kinds of lists, and tags with lengths. */
#ifndef TENSORFLEET_EXAMPLE_WIRE_H
#define TENSORFLEET_EXAMPLE_WIRE_H

#include <stdint.h>

#include "arrays.h"

/* MISSING, BYTES, FLOATS, INTS, MANY_BYTES of spans.py; LOOSE_*: numbers with their tags, or several packed lists.
 * OVERLONG: with a varint of more than ten bytes. */
enum kind { MISSING, BYTES, FLOATS, INTS, MANY_BYTES, LOOSE_FLOATS, LOOSE_INTS, OVERLONG, KIND_COUNT };

struct item {
  const uint8_t *data;
  long size;
};

/* The values of a feature in an item: their kind, where they lie, how many they are. For Python, four int32. */
struct place {
  int32_t kind, begin, end, count;
};

/* Of all items: the kinds as bits, the sum of the counts, the greatest of them. */
struct totals {
  int64_t kinds, count, longest;
};

/* Adds those of a range of items to those of all, to which other threads add theirs. */
void add_range(const struct totals *range, struct totals *all);

/* The kind and count of a feature, and its span [*at, end) made that of its values; -1 where protobuf has to read it. The
 * item ends at `limit`, or later. */
int feature(const uint8_t **at, const uint8_t *end, const uint8_t *limit, long *count);

/* The contents of a tuple of bytes; NULL and an exception otherwise. */
struct item *contents(PyObject *tuple);

/* The numbers of a list of any form, to `out` where it is given; how many there are, or -1, also where that is more
 * than `room`. */
long loose_numbers(const uint8_t *p, const uint8_t *end, int is_float, void *out, long room);

/* A length or number; 0 where it does not end before `end`, or after `most` bytes. */
static inline int varint(const uint8_t **at, const uint8_t *end, int most, uint64_t *value) {
  const uint8_t *p = *at;
  uint64_t result = 0;
  for (int i = 0; i < most && p < end; i++) {
    const uint8_t byte = *p++;
    result |= (uint64_t)(byte & 0x7f) << 7 * i;
    if (byte < 0x80) {
      *at = p;
      *value = result;
      return 1;
    }
  }
  return 0;
}

/* A tag and a length that stays before `end`; 0 where there is none. */
static inline int field(const uint8_t **at, const uint8_t *end, uint8_t tag, long *size) {
  const uint8_t *p = *at;
  if (end - p < 2 || p[0] != tag) return 0;
  uint64_t value = p[1];
  p += 2;
  if (value >= 0x80) {
    p--;
    if (!varint(&p, end, 5, &value)) return 0;
  }
  if (value > (uint64_t)(end - p)) return 0;
  *at = p;
  *size = (long)value;
  return 1;
}

#endif
