/* Products of matrices. */
#ifndef TENSORFLEET_PRODUCT_H
#define TENSORFLEET_PRODUCT_H

#include "arrays.h"

PyObject *multiply(PyObject *self, PyObject *arguments);
PyObject *pack_matrix(PyObject *self, PyObject *arguments);

#endif
