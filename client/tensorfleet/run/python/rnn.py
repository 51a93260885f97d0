"""What is private in `tensorflow.python.ops.rnn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorfleet as tf
from tensorfleet.core import structures


def best_effort_input_batch_size(flat_input: Sequence[Any]) -> Any:
    """The batch size of inputs [time, batch, …]: a number if it is known, else a tensor."""
    for tensor in flat_input:
        if tensor.shape.ndims is not None and tensor.shape.ndims >= 2:
            size = tensor.shape.as_list()[1]
            if size is not None:
                return size
    return tf.shape(flat_input[0])[1]


def reverse_seq(input_seq: Any, lengths: Any) -> list[Any]:
    """The inputs of a static RNN in reverse order, each sequence within its length."""
    if lengths is None:
        return list(reversed(input_seq))
    flat = [structures.flatten(step) for step in input_seq]
    columns = []
    for parts in zip(*flat, strict=True):
        turned = tf.reverse_sequence(tf.stack(parts), lengths, seq_axis=0, batch_axis=1)
        columns.append(tf.unstack(turned, num=len(flat)))
    return [
        structures.pack(step, list(parts))
        for step, parts in zip(input_seq, zip(*columns, strict=True), strict=True)
    ]
