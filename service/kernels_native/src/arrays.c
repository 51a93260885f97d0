#include "arrays.h"

#include <string.h>

void release(struct arrays *arrays) {
  for (int i = 0; i < arrays->count; i++) PyBuffer_Release(&arrays->views[i]);
}

void *view_of(Py_buffer *view, PyObject *object, const char *formats, long count, int writable) {
  if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)) < 0)
    return NULL;
  const char *format = view->format == NULL ? "B" : view->format;
  if (strlen(format) != 1 || strchr(formats, format[0]) == NULL) {
    PyErr_Format(PyExc_TypeError, "an array of format %s instead of one of %s", format, formats);
    return NULL;
  }
  if (count < 0 || view->len / view->itemsize != count) {
    PyErr_Format(PyExc_ValueError, "an array of %zd elements instead of %ld", view->len / view->itemsize, count);
    return NULL;
  }
  return view->buf;
}

void *array(struct arrays *arrays, PyObject *object, const char *formats, long count, int writable) {
  if (arrays->count == MOST_ARRAYS) {
    PyErr_SetString(PyExc_ValueError, "too many arrays");
    return NULL;
  }
  Py_buffer *view = &arrays->views[arrays->count];
  view->obj = NULL;
  void *memory = view_of(view, object, formats, count, writable);
  arrays->writable[arrays->count] = writable;
  if (view->obj != NULL) arrays->count++; /* to be released, also where it does not fit */
  return memory;
}

int are_apart(const struct arrays *arrays) {
  for (int i = 0; i < arrays->count; i++) {
    if (!arrays->writable[i]) continue;
    const char *begin = arrays->views[i].buf, *end = begin + arrays->views[i].len;
    for (int j = 0; j < arrays->count; j++) {
      const char *other = arrays->views[j].buf;
      if (j != i && other < end && begin < other + arrays->views[j].len) {
        PyErr_SetString(PyExc_ValueError, "an output shares memory with another array");
        return 0;
      }
    }
  }
  return 1;
}

long product(long rows, long width) {
  long count;
  if (rows < 0 || width < 0 || __builtin_mul_overflow(rows, width, &count) || count > PY_SSIZE_T_MAX / 8) {
    PyErr_SetString(PyExc_ValueError, "no size of an array");
    return -1;
  }
  return count;
}
