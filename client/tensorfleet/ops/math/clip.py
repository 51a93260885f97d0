"""Clipping of values and of norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, range as array_range
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import rank, size
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.math.reduction import reduce_sum


def _values(t: Any, name: str) -> Tensor:
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=name)


def _as_given(t: Any, values: Tensor) -> Any:
    """The clipped values as an IndexedSlices if `t` is one, else as a tensor."""
    return t.with_values(values) if isinstance(t, IndexedSlices) else values


@takes_composites
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """`t` with its elements limited to [clip_value_min, clip_value_max] (`tf.clip_by_value`).

    Args:
        t: a tensor or IndexedSlices.
        clip_value_min, clip_value_max: of rank 0, or of a shape that is broadcast to that of `t`.

    Raises:
        ValueError: a limit of a larger shape than `t`.

    Example:
        >>> tf.Session().run(tf.clip_by_value([-3, 0, 7], -1, 5))
        array([-1,  0,  5], dtype=int32)
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = _values(t, "t")
        at_most = minimum(values, clip_value_max)
        values.shape.assert_is_compatible_with(at_most.shape)
        clipped = maximum(at_most, clip_value_min, name=scope)
        values.shape.assert_is_compatible_with(clipped.shape)
    return _as_given(t, clipped)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """`t`, scaled down where its Euclidean norm is greater than `clip_norm` (`tf.clip_by_norm`).

    Args:
        t: a tensor or IndexedSlices, floating or complex.
        clip_norm: of rank 0; a negative one counts as 0.
        axes: the axes that norms are taken along, None for all.

    Raises:
        ValueError: `clip_norm` has a larger shape than `t`.
    """
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = _values(t, "t")
        if isinstance(clip_norm, (int, float, np.integer, np.floating)):
            clip_norm = 0 if clip_norm < 0 else clip_norm
        else:
            clip_norm = cast(maximum(clip_norm, 0), values.dtype.base)
        squares = reduce_sum(values * values, axes, keepdims=True)
        # The gradient of the square root is infinite at 0, so its argument is replaced there.
        positive = squares > 0
        safe = where(positive, squares, ones_like(squares))
        norm = where(positive, apply_one("Sqrt", safe), squares)
        scaled = values * clip_norm
        values.shape.assert_is_compatible_with(scaled.shape)
        clipped = apply_one("Identity", scaled / maximum(norm, clip_norm), name=scope)
    return _as_given(t, clipped)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """`t`, scaled down if its norm divided by its size is greater than `clip_norm`
    (`tf.clip_by_average_norm`).
    """
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        values = convert_to_tensor(t, name="t")
        count = cast(size(values), "float32")
        everything = array_range(rank(values))
        inverse = apply_one("Rsqrt", reduce_sum(values * values, everything))
        one = convert_to_tensor(1.0, "float32")
        return apply_one(
            "Identity", values * clip_norm * minimum(inverse * count, one / clip_norm), name=scope
        )


def _list(t_list: Any) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return list(t_list)


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """The Euclidean norm of all elements of several tensors (`tf.global_norm`).

    Args:
        t_list: tensors and IndexedSlices; None is left out.

    Raises:
        TypeError: not a sequence.
    """
    tensors = _list(t_list)
    with name_scope(name, "global_norm", [t for t in tensors if t is not None]):
        halves = []
        for i, t in enumerate(tensors):
            if t is not None:
                values = _values(t, f"t_{i}")
                with get_default_graph().colocate_with(values):
                    halves.append(apply_one("L2Loss", values))
        total = reduce_sum(apply_one("Pack", halves, axis=0, name="stack"))
        return apply_one("Sqrt", total * convert_to_tensor(2.0, total.dtype.base), name="global_norm")


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Tensors, all scaled down by one factor where their common norm is greater than `clip_norm`
    (`tf.clip_by_global_norm`).

    Args:
        t_list: tensors and IndexedSlices; None stays None.
        use_norm: the norm, where it is known already; else `global_norm`.

    Returns:
        (the scaled tensors, the norm). Where the norm is not finite, the tensors are NaN.

    Raises:
        TypeError: not a sequence.

    Example:
        >>> [clipped], norm = tf.clip_by_global_norm([tf.constant([3.0, 4.0])], 1.0)
        >>> tf.Session().run([clipped, norm])
        [array([0.6, 0.8], dtype=float32), np.float32(5.0)]
    """
    tensors = _list(t_list)
    norm = global_norm(tensors, name) if use_norm is None else convert_to_tensor(use_norm)
    with name_scope(name, "clip_by_global_norm", [t for t in tensors if t is not None]) as scope:
        one = convert_to_tensor(1.0, norm.dtype.base)
        # The difference is zero for finite norms, NaN for others.
        scale = clip_norm * minimum(1.0 / norm, one / clip_norm) + (norm - norm)
        clipped: list[Any] = []
        for i, t in enumerate(tensors):
            if t is None:
                clipped.append(None)
                continue
            values = _values(t, f"t_{i}")
            with get_default_graph().colocate_with(values):
                scaled = values * cast(scale, values.dtype.base)
                clipped.append(_as_given(t, apply_one("Identity", scaled, name=f"{scope}_{i}")))
    return clipped, norm
