/* Copies of arrays that are larger than the caches.
 *
 * A plain store reads the line that it is about to overwrite. memcpy of the C library avoids that only from a size on
 * that it derives from the cache as the processor describes it: in virtual machines that is often the whole host's. */
#include "copying.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "pool.h"

#define LINE 64
#define PART (1L << 18) /* bytes: far more than a part's beginning costs */
#define AHEAD 2048      /* bytes that are asked for before they are read */

struct copying {
  char *to;
  const char *from;
  long size;
};

static void copy_past_caches(char *to, const char *from, long size) {
#ifdef __SSE2__
  const long to_line = (long)((LINE - (uintptr_t)to % LINE) % LINE);
  const long head = to_line < size ? to_line : size;
  memcpy(to, from, (size_t)head);
  long at = head;
  for (; at + LINE <= size; at += LINE) {
    _mm_prefetch(from + at + AHEAD, _MM_HINT_NTA);
    const __m128i *read = (const __m128i *)(from + at);
    const __m128i a = _mm_loadu_si128(read), b = _mm_loadu_si128(read + 1), c = _mm_loadu_si128(read + 2),
                  d = _mm_loadu_si128(read + 3);
    __m128i *written = (__m128i *)(to + at);
    _mm_stream_si128(written, a);
    _mm_stream_si128(written + 1, b);
    _mm_stream_si128(written + 2, c);
    _mm_stream_si128(written + 3, d);
  }
  _mm_sfence(); /* whoever is told of the copy afterwards sees it */
  memcpy(to + at, from + at, (size_t)(size - at));
#else
  memcpy(to, from, (size_t)size);
#endif
}

static void run_copy(void *context, long begin, long end) {
  const struct copying *copying = context;
  const long first = begin * PART, last = end * PART < copying->size ? end * PART : copying->size;
  copy_past_caches(copying->to + first, copying->from + first, last - first);
}

PyObject *copy(PyObject *self, PyObject *arguments) {
  (void)self;
  PyObject *from_, *to_;
  long threads;
  struct copying copying;
  if (!PyArg_ParseTuple(arguments, "OOll", &from_, &to_, &copying.size, &threads)) return NULL;
  struct arrays arrays = {.count = 0};
  if ((copying.from = array(&arrays, from_, "B", copying.size, 0)) == NULL ||
      (copying.to = array(&arrays, to_, "B", copying.size, 1)) == NULL || !are_apart(&arrays)) {
    release(&arrays);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  in_parallel(run_copy, &copying, (copying.size + PART - 1) / PART, 1, threads);
  Py_END_ALLOW_THREADS
  release(&arrays);
  Py_RETURN_NONE;
}
