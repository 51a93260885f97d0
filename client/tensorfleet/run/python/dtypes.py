"""`tensorflow.python.framework.dtypes`: the dtypes of references to variables."""

from __future__ import annotations

from tensorfleet.core import dtypes

bool_ref = dtypes.bool._as_ref
float16_ref = dtypes.float16._as_ref
float32_ref = dtypes.float32._as_ref
float64_ref = dtypes.float64._as_ref
int32_ref = dtypes.int32._as_ref
int64_ref = dtypes.int64._as_ref
string_ref = dtypes.string._as_ref
