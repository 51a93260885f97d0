"""`tf.ragged`: tensors whose rows have different lengths."""

import typing as _typing

from tensorfleet.ops.ragged.arrays import boolean_mask as boolean_mask
from tensorfleet.ops.ragged.crossing import cross as cross, cross_hashed as cross_hashed
from tensorfleet.ops.ragged.factory import (
    constant as constant,
    placeholder as placeholder,
    ragged_range as range,
)
from tensorfleet.ops.ragged.functional import (
    map_flat_values as map_flat_values,
    row_splits_to_segment_ids as row_splits_to_segment_ids,
    segment_ids_to_row_splits as segment_ids_to_row_splits,
)
from tensorfleet.ops.ragged.joining import (
    stack as stack,
    stack_dynamic_partitions as stack_dynamic_partitions,
)
from tensorfleet.ops.ragged.value import (
    RaggedTensorValue as RaggedTensorValue,
    constant_value as constant_value,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "RaggedTensorValue",
    "boolean_mask",
    "constant",
    "constant_value",
    "cross",
    "cross_hashed",
    "map_flat_values",
    "placeholder",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
    "stack_dynamic_partitions",
]
