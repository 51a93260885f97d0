"""Frames of a signal, and a signal of frames."""

from __future__ import annotations

import builtins
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import range
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.padding import pad
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import expand_dims, rank, reshape, shape
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.segment import unsorted_segment_sum


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Frames of a signal, which may overlap (`tf.signal.frame`).

    Args:
        signal: [..., samples, ...].
        frame_length: samples of a frame.
        frame_step: samples from the beginning of one frame to that of the next.
        pad_end: give frames that begin within the signal and end beyond it, too, filled up with `pad_value`.
        axis: the dimension of the samples.

    Returns:
        [..., frames, frame_length, ...].
    """
    with framework.name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = convert_to_tensor(signal, name="signal")
        length = convert_to_tensor(frame_length, dtypes.int32, "frame_length")
        step = convert_to_tensor(frame_step, dtypes.int32, "frame_step")
        if signal.shape.ndims is not None:
            if not -signal.shape.ndims <= axis < signal.shape.ndims:
                raise ValueError(f"axis {axis} is out of range for a signal of rank {signal.shape.ndims}")
            axis %= signal.shape.ndims
        samples = shape(signal)[axis]
        if pad_end:
            frames = -(-samples // step)
            missing = maximum(0, length + step * (frames - 1) - samples)
            signal = _padded(signal, missing, pad_value, axis)
        else:
            frames = maximum(0, 1 + (samples - length) // step)
        places = expand_dims(step * range(frames), 1) + expand_dims(range(length), 0)
        framed = gather(signal, places, axis=axis)
        framed.set_shape(_framed_shape(signal.shape, axis, frames, length))
        return framed


def _framed_shape(known: TensorShape, axis: int, frames: Tensor, length: Tensor) -> TensorShape:
    if known.ndims is None:
        return known
    dims = known.as_list()
    dims[axis : axis + 1] = [
        None if (v := static_value(size)) is None else int(v) for size in (frames, length)
    ]
    return TensorShape(dims)


def _padded(signal: Tensor, missing: Tensor, value: Any, axis: int) -> Tensor:
    known = signal.shape.ndims
    if known is not None:
        amounts: Any = [[0, missing if i == axis else 0] for i in builtins.range(known)]
    else:
        before = axis % rank(signal)
        row = concat([range(before) * 0, [missing], range(rank(signal) - before - 1) * 0], 0)
        amounts = expand_dims(row, 1) * [[0, 1]]
    return pad(signal, amounts, constant_values=value)


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """The signal that overlapping frames sum up to (`tf.signal.overlap_and_add`).

    Args:
        signal: [..., frames, frame_length].
        frame_step: samples from the beginning of one frame to that of the next.

    Returns:
        [..., (frames - 1) * frame_step + frame_length].
    """
    with framework.name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = convert_to_tensor(signal, name="signal")
        if signal.shape.ndims is not None and signal.shape.ndims < 2:
            raise ValueError("signal should have rank at least 2.")
        step = convert_to_tensor(frame_step, name="frame_step")
        if step.shape.ndims not in (0, None):
            raise ValueError(f"frame_step should be a scalar, not of shape {step.shape}")
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Found {step.dtype}")
        dims = shape(signal)
        frames, length, outer = dims[-2], dims[-1], dims[:-2]
        total = (frames - 1) * step + length
        places = reshape(expand_dims(step * range(frames), 1) + expand_dims(range(length), 0), [-1])
        # Sums are over the first dimension.
        columns = transpose(reshape(signal, [-1, frames * length]))
        summed = transpose(unsorted_segment_sum(columns, places, total))
        added = reshape(summed, concat([outer, [total]], 0))
        known = static_value(total)
        outer_shape = signal.shape[:-2] if signal.shape.ndims is not None else None
        if outer_shape is not None:
            added.set_shape(outer_shape.concatenate(TensorShape([None if known is None else int(known)])))
        return added
