/* TFRecord files: records between their lengths and checksums (CRC-32C, masked). */
#include "records.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t table[8][256];

/* The CRC of what `crc` is of, followed by `n` bytes, eight at a time by tables. */
static uint32_t extend_by_tables(uint32_t crc, const uint8_t *p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    crc = table[7][crc & 0xff] ^ table[6][crc >> 8 & 0xff] ^ table[5][crc >> 16 & 0xff] ^ table[4][crc >> 24] ^
          table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
  }
  for (; n; p++, n--) crc = table[0][(crc ^ *p) & 0xff] ^ crc >> 8;
  return crc;
}

static uint32_t (*extend)(uint32_t crc, const uint8_t *p, size_t n) = extend_by_tables;

#ifdef X86_VARIANTS
__attribute__((target("sse4.2"))) static uint32_t extend_by_instruction(uint32_t crc, const uint8_t *p, size_t n) {
  uint64_t now = crc;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    now = __builtin_ia32_crc32di(now, word);
  }
  crc = (uint32_t)now;
  for (; n; p++, n--) crc = __builtin_ia32_crc32qi(crc, *p);
  return crc;
}
#endif

void prepare_checksums(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    table[0][i] = crc;
  }
  for (int i = 0; i < 256; i++)
    for (int k = 1; k < 8; k++) table[k][i] = table[0][table[k - 1][i] & 0xff] ^ table[k - 1][i] >> 8;
#ifdef X86_VARIANTS
  if (__builtin_cpu_supports("sse4.2")) extend = extend_by_instruction;
#endif
}

static uint32_t masked(const uint8_t *p, size_t n) {
  const uint32_t crc = ~extend(~0u, p, n);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static uint64_t little_endian(const uint8_t *p, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint64_t)p[i] << 8 * i;
  return value;
}

enum { HEAD = 12, TAIL = 4 };
enum wrong { NOTHING, WRONG_HEAD, WRONG_RECORD };

struct record {
  size_t begin, length;
};

/* split_records(buffer, place) -> (records, place after them, what is wrong there, length of the record there).
 *
 * The records that are whole in the buffer from `place` on, up to the first that is damaged: 1 says that its length
 * is, 2 that it is itself. */
PyObject *split_records(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *owner;
  Py_ssize_t first;
  if (!PyArg_ParseTuple(arguments, "O!n", &PyBytes_Type, &owner, &first)) return NULL;
  char *content;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(owner, &content, &size) < 0) return NULL;
  if (first < 0 || first > size) return PyErr_Format(PyExc_ValueError, "no place in the buffer");
  const uint8_t *buffer = (const uint8_t *)content;
  const size_t end = (size_t)size;
  size_t place = (size_t)first, count = 0, room = 0;
  uint64_t length = 0;
  struct record *found = NULL;
  enum wrong wrong = NOTHING;
  int no_memory = 0;
  Py_BEGIN_ALLOW_THREADS
  while (end - place >= HEAD) {
    if (little_endian(buffer + place + 8, 4) != masked(buffer + place, 8)) {
      wrong = WRONG_HEAD;
      break;
    }
    length = little_endian(buffer + place, 8);
    const size_t begin = place + HEAD, left = end - begin;
    if (left < TAIL || length > left - TAIL) break;
    if (little_endian(buffer + begin + length, 4) != masked(buffer + begin, (size_t)length)) {
      wrong = WRONG_RECORD;
      break;
    }
    if (count == room) {
      room = room ? 2 * room : 256;
      struct record *more = realloc(found, room * sizeof(struct record));
      if (more == NULL) {
        no_memory = 1;
        break;
      }
      found = more;
    }
    found[count++] = (struct record){begin, (size_t)length};
    place = begin + (size_t)length + TAIL;
    length = 0;
  }
  Py_END_ALLOW_THREADS
  PyObject *records = no_memory ? PyErr_NoMemory() : PyList_New((Py_ssize_t)count);
  for (size_t i = 0; records != NULL && i < count; i++) {
    PyObject *record = PyBytes_FromStringAndSize(content + found[i].begin, (Py_ssize_t)found[i].length);
    if (record == NULL || PyList_SetItem(records, (Py_ssize_t)i, record) < 0) {
      Py_DECREF(records);
      records = NULL;
    }
  }
  free(found);
  if (records == NULL) return NULL;
  return Py_BuildValue("NniK", records, (Py_ssize_t)place, (int)wrong, (unsigned long long)length);
}
