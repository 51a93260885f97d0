"""Batches of tensors that differ in shape, as ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.data.structure import RaggedKind, Structure
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor

if TYPE_CHECKING:
    from tensorfleet.data.dataset import Dataset


def with_ragged(dataset: Dataset, row_splits_dtype: Any) -> Dataset:
    """The dataset, with tensors of which a size is unknown as ragged components."""
    given = dataset._structure
    splits = dtypes.as_dtype(row_splits_dtype)
    kinds = [
        kind if kind or spec is not None else _kind(dims, splits)
        for kind, dims, spec in zip(given.sparse, given.dims, given.nested, strict=True)
    ]
    structure = Structure(given.shape_of, given.types, given.dims, kinds, given.nested)

    def encode(*arguments: Any) -> Any:
        element = arguments[0] if type(given.shape_of) is not tuple else arguments
        values = [
            _encoded(value, kind, dims) if kind is not old and isinstance(kind, RaggedKind) else value
            for value, kind, old, dims in zip(
                nest.flatten(element), kinds, given.sparse, given.dims, strict=True
            )
        ]
        return given.pack(values)

    return dataset._of(dataset.map(encode)._variant_tensor, structure, dataset._options)


def _kind(dims: Dims, splits: DType) -> bool | RaggedKind:
    unknown = [axis for axis, size in enumerate(dims or ()) if size is None]
    return RaggedKind(len(dims or ()) - 1 - unknown[-1], splits) if unknown else False


def _encoded(value: Tensor, kind: RaggedKind, dims: Dims) -> Tensor:
    rank = kind.ragged_rank(dims)
    ragged = RaggedTensor.from_tensor(value, ragged_rank=rank, row_splits_dtype=kind.splits) if rank else None
    encoded: Tensor = apply_op(
        "RaggedTensorToVariant",
        [] if ragged is None else list(ragged.nested_row_splits),
        value if ragged is None else ragged.flat_values,
        Tsplits=kind.splits,
        batched_input=False,
    )
    return encoded
