/* Copies of large arrays. */
#ifndef TENSORFLEET_COPYING_H
#define TENSORFLEET_COPYING_H

#include "arrays.h"

PyObject *copy(PyObject *self, PyObject *arguments);

#endif
