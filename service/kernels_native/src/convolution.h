/* Convolutions of images. */
#ifndef TENSORFLEET_CONVOLUTION_H
#define TENSORFLEET_CONVOLUTION_H

#include "arrays.h"

PyObject *convolve(PyObject *self, PyObject *arguments);
PyObject *convolve_filter(PyObject *self, PyObject *arguments);
PyObject *depthwise(PyObject *self, PyObject *arguments);
PyObject *depthwise_filter(PyObject *self, PyObject *arguments);

#endif
