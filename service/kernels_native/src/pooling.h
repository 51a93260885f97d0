/* Pooling and resizing of images, and rows that are added to those of a table. */
#ifndef TENSORFLEET_POOLING_H
#define TENSORFLEET_POOLING_H

#include "arrays.h"

PyObject *max_pool(PyObject *self, PyObject *arguments);
PyObject *max_pool_grad(PyObject *self, PyObject *arguments);
PyObject *average_pool(PyObject *self, PyObject *arguments);
PyObject *average_pool_grad(PyObject *self, PyObject *arguments);
PyObject *resize_linear(PyObject *self, PyObject *arguments);
PyObject *add_rows(PyObject *self, PyObject *arguments);

#endif
