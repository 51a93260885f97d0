/* Choosing elements, and finding equal ones. */
#ifndef TENSORFLEET_CHOICES_H
#define TENSORFLEET_CHOICES_H

#include "arrays.h"

PyObject *choose_elements(PyObject *self, PyObject *arguments);
PyObject *top_k(PyObject *self, PyObject *arguments);
PyObject *in_top_k(PyObject *self, PyObject *arguments);
PyObject *unique(PyObject *self, PyObject *arguments);
PyObject *to_half(PyObject *self, PyObject *arguments);

#endif
