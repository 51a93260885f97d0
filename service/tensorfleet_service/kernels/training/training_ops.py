"""Kernels of `tensorfleet.ops.training.training_ops`: updates of a variable and its slots, in place.

The arithmetic is in `optimizer_updates`; here it is applied to whole arrays, or to the rows that a sparse
gradient names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet.graph.graph import lookup_op
from tensorfleet_service.devices.blocks import each_block
from tensorfleet_service.devices.native import takes
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.training.cuda_updates import apply_on_gpu
from tensorfleet_service.kernels.training.optimizer_updates import RULES
from tensorfleet_service.kernels.training.recording import apply_recorded, switches_of
from tensorfleet_service.state.variables import Variable, modify_together
from tensorfleet_service.threads.running import check as check_step

FORMS = tuple(f"{form}Apply{name}" for name in RULES for form in ("", "Sparse", "Resource", "ResourceSparse"))
"""All op types; not every rule has an op of each form."""


@kernel(*FORMS)
def apply_update(node: KernelNode) -> Kernel:
    rule = RULES[node.op.partition("Apply")[2]]
    names = [arg.name for arg in lookup_op(node.op).inputs]
    prepare, switches = rule.build(node.xp, node.attrs), switches_of(node.attrs)
    count, scratch = rule.variables, rule.scratch
    gradient = next(i for i, name in enumerate(names) if name in ("grad", "delta"))
    rows = names.index("indices") if "indices" in names else None
    numbers = [i for i in range(count, len(names)) if i not in (gradient, rows)]
    is_resource = node.op.startswith("Resource")
    state_names = names[:count]

    def run(*inputs: Any) -> Variable | None:
        variables, grad = inputs[:count], inputs[gradient]
        for i in numbers:
            if inputs[i].ndim:
                raise errors.InvalidArgumentError(
                    None, None, f"{names[i]} is not a scalar: {format_dims(inputs[i].shape)}"
                )
        values = [inputs[i] for i in numbers]

        def apply(arrays: list[Any], gradient: Any) -> None:
            if node.xp is np or not apply_on_gpu(node.xp, rule, switches, values, arrays, gradient):
                each_block(prepare(*values), [*arrays, gradient], scratch)

        def dense(arrays: list[Any]) -> None:
            _check_shapes([*arrays, grad], [*state_names, names[gradient]])
            if (
                takes(grad, *arrays, least=1)  # the compiled steps are at hand, and are one call
                and not any(np.may_share_memory(grad, array) for array in arrays)
                and apply_recorded(rule, switches, values, arrays, grad)
            ):
                return
            apply(arrays, np.asarray(grad) if node.xp is np else grad)

        def sparse(arrays: list[Any]) -> None:
            assert rows is not None
            indices = inputs[rows]
            _check_shapes(arrays, state_names)
            _check_rows(arrays[0], grad, indices)
            for which, picked in _distinct(node.xp, indices):
                parts = [array[picked] for array in arrays]
                apply(parts, grad if which is None else grad[which])
                for array, part in zip(arrays, parts, strict=True):
                    array[picked] = part

        modify_together(variables, dense if rows is None else sparse)
        return None if is_resource else variables[0]

    return run


def _check_shapes(arrays: list[Any], names: list[str]) -> None:
    first = arrays[0].shape
    for array, name in zip(arrays, names, strict=True):
        if array.shape != first:
            shapes = f"{format_dims(first)} {format_dims(array.shape)}"
            raise errors.InvalidArgumentError(
                None, None, f"{names[0]} and {name} do not have the same shape{shapes}"
            )


def _check_rows(array: Any, grad: Any, indices: Any) -> None:
    if indices.ndim != 1:
        raise errors.InvalidArgumentError(None, None, "indices must be one-dimensional")
    if not array.ndim:
        raise errors.InvalidArgumentError(None, None, "var must be at least 1 dimensional")
    if grad.shape != (*indices.shape, *array.shape[1:]):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"grad must have the shape of var's rows for each index: var {format_dims(array.shape)}, indices "
            f"{format_dims(indices.shape)}, grad {format_dims(grad.shape)}",
        )
    bad = (indices < 0) | (indices >= array.shape[0])
    if bad.any():
        at = int(bad.argmax())
        raise errors.InvalidArgumentError(
            None, None, f"Index {int(indices[at])} at offset {at} in indices is out of range"
        )


def _distinct(xp: Any, indices: Any) -> Iterator[tuple[Any, Any]]:
    """Groups of (places in `indices`, rows): no row twice in one group, repetitions in later groups.

    So rows that are named repeatedly are updated repeatedly, in order. The places are None for all of them.
    """
    if indices.size < 2 or bool((indices[1:] > indices[:-1]).all()):
        yield None, indices
        return
    order = xp.argsort(indices, kind="stable")
    ordered = indices[order]
    starts = xp.flatnonzero(xp.concatenate((xp.ones(1, bool), ordered[1:] != ordered[:-1])))
    if starts.size == indices.size:
        yield None, indices
        return
    lengths = xp.diff(xp.append(starts, indices.size))
    for turn in range(int(lengths.max())):
        check_step()
        # What is done for good is left out, or many turns would look at many rows.
        kept = lengths > turn
        starts, lengths = starts[kept], lengths[kept]
        places = order[starts + turn]
        yield places, indices[places]
