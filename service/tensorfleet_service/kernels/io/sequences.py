"""SequenceExamples as arrays: ParseSequenceExampleV2 and its older forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet_service.devices import native
from tensorfleet_service.kernels.io.parsing import check_defaults
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import array_kernel, invalid, shape_text
from tensorfleet_service.records.encoded_sequences import EncodedSequences, Irregular
from tensorfleet_service.records.sequences import Fixed, SequenceBatch, Sequences, Sparse

_Texts = Sequence[str]


def _texts(keys: Sequence[bytes]) -> list[str]:
    return [key.decode("utf-8", "backslashreplace") for key in keys]


def _parse(
    node: KernelNode,
    serialized: Any,
    names: Any,
    keys: tuple[_Texts, _Texts, _Texts, _Texts],
    may_lack: Sequence[bool],
    defaults: Sequence[Any],
    lengths: bool,
) -> Any:
    """The outputs of an op.

    Args:
        keys: of the context's sparse and dense features, and of those of the steps.
        may_lack: which dense features of the steps a sequence may lack.
        lengths: whether the op gives the numbers of steps.
    """
    attrs = node.attrs
    types = [
        attrs[name]
        for name in (
            *("context_sparse_types", "Tcontext_dense"),
            *("feature_list_sparse_types", "feature_list_dense_types"),
        )
    ]
    if any(len(a) != len(b) for a, b in zip(keys, types, strict=True)) or len(may_lack) != len(keys[3]):
        raise invalid(
            f"{node.op} needs as many keys as types: {[len(k) for k in keys]}, {list(map(len, types))}"
        )
    if names.size and names.shape != serialized.shape:
        raise invalid(
            f"debug_name must have the shape of serialized, got {shape_text(names.shape)} and "
            f"{shape_text(serialized.shape)}"
        )
    shapes = attrs["context_dense_shapes"]
    check_defaults(shapes, defaults)
    wanted = (
        [Sparse(*each) for each in zip(keys[0], types[0], strict=True)],
        [Fixed(*each) for each in zip(keys[1], types[1], map(_known, shapes), defaults, strict=True)],
        [Sparse(*each) for each in zip(keys[2], types[2], strict=True)],
        [
            Fixed(key, dtype, dims, None, bool(lacks))
            for key, dtype, dims, lacks in zip(
                keys[3], types[3], map(_known, attrs["feature_list_dense_shapes"]), may_lack, strict=True
            )
        ],
    )
    items = serialized.reshape(-1).tolist()
    single = not serialized.ndim
    try:
        if native.native is None:
            raise Irregular
        encoded = EncodedSequences(items, [*keys[0], *keys[1]], [*keys[2], *keys[3]], single)
        sparse, dense, steps_sparse, steps_dense = _read(encoded, *wanted)
    except Irregular:
        batch = SequenceBatch(items, names.reshape(-1).tolist(), single)
        sparse, dense, steps_sparse, steps_dense = _read(batch, *wanted)
    flat = [
        *(part[i] for i in range(3) for part in sparse),
        *map(_scalar, dense),
        *(part[i] for i in range(3) for part in steps_sparse),
        *(values for values, _ in steps_dense),
        *(count for _, count in steps_dense if lengths),
    ]
    return flat[0] if len(flat) == 1 else tuple(flat) or None


def _read(
    sequences: Sequences,
    sparse: Sequence[Sparse],
    dense: Sequence[Fixed],
    steps_sparse: Sequence[Sparse],
    steps_dense: Sequence[Fixed],
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    found = (
        list(map(sequences.context_sparse, sparse)),
        list(map(sequences.context_dense, dense)),
        list(map(sequences.steps_sparse, steps_sparse)),
        list(map(sequences.steps_dense, steps_dense)),
    )
    sequences.fill()
    return found


def _known(dims: Any) -> tuple[int, ...]:
    if dims is None or None in dims:
        raise invalid("The shapes of the dense features of a SequenceExample must be known")
    return tuple(dims)


def _scalar(value: Any) -> Any:
    return value[()] if isinstance(value, np.ndarray) and not value.ndim and value.dtype != object else value


def _keys(value: Any) -> list[str]:
    return _texts(value.reshape(-1).tolist())


@array_kernel("ParseSequenceExampleV2")
def parse_sequence_example_v2(node: KernelNode) -> Kernel:
    if node.attrs["context_ragged_value_types"] or node.attrs["feature_list_ragged_value_types"]:
        raise invalid("ParseSequenceExampleV2 makes no ragged tensors here: give the features as sparse ones")

    def run(serialized: Any, names: Any, *rest: Any) -> Any:
        context_sparse, context_dense, _, sparse, dense, _, may_lack, *defaults = rest
        keys = _keys(context_sparse), _keys(context_dense), _keys(sparse), _keys(dense)
        return _parse(node, serialized, names, keys, may_lack.reshape(-1).tolist(), defaults, True)

    return run


@array_kernel("ParseSequenceExample")
def parse_sequence_example(node: KernelNode) -> Kernel:
    attrs = node.attrs
    names_of = (
        "context_sparse_keys",
        "context_dense_keys",
        "feature_list_sparse_keys",
        "feature_list_dense_keys",
    )
    sparse, dense, steps_sparse, steps_dense = (_texts(attrs[name]) for name in names_of)
    empty = set(_texts(attrs["feature_list_dense_missing_assumed_empty"]))
    keys = sparse, dense, steps_sparse, steps_dense

    def run(serialized: Any, names: Any, *defaults: Any) -> Any:
        return _parse(node, serialized, names, keys, [key in empty for key in steps_dense], defaults, True)

    return run


@array_kernel("ParseSingleSequenceExample")
def parse_single_sequence_example(node: KernelNode) -> Kernel:
    attrs = node.attrs
    counts = [
        attrs[name]
        for name in ("Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse", "Nfeature_list_dense")
    ]

    def run(serialized: Any, empty: Any, *rest: Any) -> Any:
        *rest_, names = rest
        parts = []
        place = 0
        for count in counts:
            parts.append(_texts([bytes(key.reshape(())[()]) for key in rest_[place : place + count]]))
            place += count
        lacking = set(_keys(empty))
        keys = parts[0], parts[1], parts[2], parts[3]
        may_lack = [key in lacking for key in parts[3]]
        return _parse(node, serialized, names, keys, may_lack, rest_[place:], False)

    return run
