/* Rows of elementwise steps. */
#ifndef TENSORFLEET_GROUPS_H
#define TENSORFLEET_GROUPS_H

#include "arrays.h"

PyObject *evaluate(PyObject *self, PyObject *arguments);
PyObject *update_name(PyObject *self, PyObject *arguments);

#endif
