"""`tensorflow.python.framework.dtypes`: the dtypes of references to variables."""

from __future__ import annotations

import numpy as np

from tensorfleet.core import dtypes

bool_ref = dtypes.bool._as_ref
float16_ref = dtypes.float16._as_ref
float32_ref = dtypes.float32._as_ref
float64_ref = dtypes.float64._as_ref
int32_ref = dtypes.int32._as_ref
int64_ref = dtypes.int64._as_ref
string_ref = dtypes.string._as_ref

resource_ref = dtypes.resource._as_ref
variant_ref = dtypes.variant._as_ref
half_ref = float16_ref
double_ref = float64_ref
bfloat16_ref = dtypes.bfloat16._as_ref
complex64_ref = dtypes.complex64._as_ref
complex128_ref = dtypes.complex128._as_ref
int8_ref = dtypes.int8._as_ref
int16_ref = dtypes.int16._as_ref
uint8_ref = dtypes.uint8._as_ref
uint16_ref = dtypes.uint16._as_ref
uint32_ref = dtypes.uint32._as_ref
uint64_ref = dtypes.uint64._as_ref
qint8_ref = dtypes.qint8._as_ref
qint16_ref = dtypes.qint16._as_ref
qint32_ref = dtypes.qint32._as_ref
quint8_ref = dtypes.quint8._as_ref
quint16_ref = dtypes.quint16._as_ref

QUANTIZED_DTYPES = frozenset(
    dtype
    for base in (dtypes.qint8, dtypes.qint16, dtypes.qint32, dtypes.quint8, dtypes.quint16)
    for dtype in (base, base._as_ref)
)

# The dtypes of values, without references.
TF_VALUE_DTYPES = frozenset(
    (
        *(dtypes.bool, dtypes.string, dtypes.resource, dtypes.variant, dtypes.complex64, dtypes.complex128),
        *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
        *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
        *(dtypes.qint8, dtypes.qint16, dtypes.qint32, dtypes.quint8, dtypes.quint16),
    )
)

# The least and the largest value that images of a dtype have.
dtype_range = {
    np.bool_: (False, True),
    np.uint8: (0, 255),
    np.uint16: (0, 65535),
    np.int8: (-128, 127),
    np.int16: (-32768, 32767),
    np.int64: (-(2**63), 2**63 - 1),
    np.uint64: (0, 2**64 - 1),
    np.int32: (-(2**31), 2**31 - 1),
    np.uint32: (0, 2**32 - 1),
    np.float32: (-1, 1),
    np.float64: (-1, 1),
}
