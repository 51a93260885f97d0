/* Files of records, and the Examples that are in them. */
#ifndef TENSORFLEET_RECORDS_H
#define TENSORFLEET_RECORDS_H

#include "arrays.h"

PyObject *scan_examples(PyObject *self, PyObject *arguments);
PyObject *example_values(PyObject *self, PyObject *arguments);
PyObject *scan_sequences(PyObject *self, PyObject *arguments);
PyObject *scan_steps(PyObject *self, PyObject *arguments);
PyObject *split_records(PyObject *self, PyObject *arguments);

/* Before the first call of split_records. */
void prepare_checksums(void);

#endif
