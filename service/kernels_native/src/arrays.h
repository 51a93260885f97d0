/* What calls are given as arrays, and the checks of them. */
#ifndef TENSORFLEET_ARRAYS_H
#define TENSORFLEET_ARRAYS_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define MOST_ARRAYS 24

struct arrays {
  Py_buffer views[MOST_ARRAYS];
  int writable[MOST_ARRAYS];
  int count;
};

/* Lets go of all of them. */
void release(struct arrays *arrays);

/* The memory of an array of `count` elements whose format is one of `formats`; NULL and an exception otherwise. The
 * view has to be released where its `obj` is not NULL, which it is to be before. */
void *view_of(Py_buffer *view, PyObject *object, const char *formats, long count, int writable);

/* The same of an array that is kept among `arrays`. */
void *array(struct arrays *arrays, PyObject *object, const char *formats, long count, int writable);

/* 0 if an output shares memory with another array, with an exception. */
int are_apart(const struct arrays *arrays);

/* rows * width, or -1 with an exception where that is no size of an array. */
long product(long rows, long width);

#endif
