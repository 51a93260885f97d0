"""Fake quantization with ranges that variables keep (`LastValueQuantize`, `MovingAvgQuantize`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.model_variables import model_variable
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.math.reduction import reduce_max, reduce_min
from tensorfleet.ops.nn.quantization import (
    fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_per_channel,
)
from tensorfleet.ops.state.initializers import constant_initializer
from tensorfleet.ops.state.variable_ops import assign
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.train.moving_averages import assign_moving_average


def quantize(
    inputs: Any,
    scope: str,
    moving: bool,
    is_training: bool,
    num_bits: int = 8,
    narrow_range: bool = False,
    symmetric: bool = False,
    init_min: float = -6.0,
    init_max: float = 6.0,
    ema_decay: float = 0.999,
    per_channel: bool = False,
    updates_collection: str = GraphKeys.UPDATE_OPS,
    vars_collection: str = GraphKeys.GLOBAL_VARIABLES,
) -> Any:
    """The values as integers of `num_bits` bits can tell them.

    Variables `min` and `max` in `scope` keep the range, which contains 0.

    Args:
        inputs: float32.
        moving: whether the range is a moving average of those of all steps, or that of the last one.
        is_training: whether the range follows the values.
        narrow_range: whether the lowest integer is not used.
        symmetric: whether the range has 0 in its middle.
        ema_decay: of the moving average.
        per_channel: whether each of the last dimension has a range of its own.

    Raises:
        ValueError: ranges for channels of values of unknown shape.
    """
    with variable_scope(None, default_name=scope, values=[inputs]) if not scope else variable_scope(scope):
        dims = inputs.shape.as_list()
        shape = [dims[-1]] if per_channel else []
        low, high = (
            model_variable(
                name,
                shape,
                initializer=constant_initializer(initial),
                collections=[vars_collection],
                trainable=False,
            )
            for name, initial in (("min", init_min), ("max", init_max))
        )
        if is_training:
            axes = list(range(len(dims) - 1)) if per_channel else None
            lowest = reduce_min(inputs, axes, name="BatchMin")
            highest = reduce_max(inputs, axes, name="BatchMax")
            if symmetric:
                steps = 1 << num_bits
                ratio = -1.0 if narrow_range else -(steps - 2) / steps
                lowest, highest = minimum(lowest, highest / ratio), maximum(highest, lowest * ratio)
            else:
                lowest, highest = minimum(lowest, 0.0), maximum(highest, 0.0)
            if moving:
                low = assign_moving_average(low, lowest, ema_decay, name="AssignMinEma")
                high = assign_moving_average(high, highest, ema_decay, name="AssignMaxEma")
            else:
                low = assign(low, lowest, name="AssignMinLast")
                high = assign(high, highest, name="AssignMaxLast")
            for each in (low, high):
                framework.add_to_collection(updates_collection, each.op)
        fake = fake_quant_with_min_max_vars_per_channel if per_channel else fake_quant_with_min_max_vars
        return fake(inputs, low, high, num_bits=num_bits, narrow_range=narrow_range)
