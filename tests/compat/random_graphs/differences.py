"""Differences between TensorFleet and TensorFlow, and the reasons for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tensorfleet.core import dtypes
from tests.compat.random_graphs.draws import Call, Leaf

UNSET_OUTPUTS = {"SelfAdjointEigV2": 1, "Svd": 1, "FusedBatchNormV3": 5}
"""From this output on, the op's values are not computed (`compute_v`, `compute_uv` are false; no GPU):
TensorFlow hands out tensors of rank 0 there, against its own shape inference, which says [0]."""


@dataclass(frozen=True)
class Difference:
    """One difference: op types ("" for all), when it shows, and why we keep it.

    `applies` sees the node, and class and text of TensorFlow's error ("" where it gave values).
    """

    ops: tuple[str, ...]
    reason: str
    applies: Callable[[Call, str, str], bool]


def _leaves(call: Call) -> list[Leaf]:
    return [leaf for item in call.inputs for leaf in (item if isinstance(item, list) else [item])]


DIFFERENCES = [
    Difference(
        (),
        "TensorFlow's CPU has no kernel for what ours computes",
        lambda call, error, text: error == "UnimplementedError" or "No OpKernel was registered" in text,
    ),
    Difference(
        ("ArgMax",),
        "TensorFlow reads a dimension of type int16 as if it were int32, with what lies behind it in memory",
        lambda call, error, text: call.inputs[1].dtype is dtypes.int16,
    ),
    Difference(
        ("Reverse",),
        "TensorFlow refuses tensors whose first dimension is 0, and reverses those where another one is",
        lambda call, error, text: "Invalid input first dimension. Found 0." in text,
    ),
    Difference(
        ("Round",),
        "TensorFlow's kernel turns integers to 0 (its `tf.round` does not use it for them)",
        lambda call, error, text: call.inputs[0].dtype.is_integer,
    ),
    Difference(
        ("TruncateMod", "Mod", "FloorMod", "TruncateDiv"),
        "TensorFlow reports a division by zero as an error of its own, where it forgot to name it",
        lambda call, error, text: "Unexpected error in binary operator" in text,
    ),
    Difference(
        ("SplitV",),
        "TensorFlow's shape inference takes an axis that is not known yet for the last one",
        lambda call, error, text: "can't split axis of size" in text,
    ),
    Difference(
        ("SplitV",),
        "TensorFlow does not work out the one size that is left open where it is the only one",
        lambda call, error, text: (
            "If there is only one output, it must have the same size as the input" in text
        ),
    ),
    Difference(
        ("ReluGrad", "Relu6Grad"),
        "written into the code of the step, ours broadcast; no graph's own gradient has shapes that differ",
        lambda call, error, text: "must have the same size and shape" in text,
    ),
    Difference(
        ("StringFormat",),
        "TensorFlow writes an ellipsis for the elements that a tensor without elements has not",
        lambda call, error, text: any(not np.size(leaf.value) for leaf in _leaves(call)),
    ),
]


def excuse(call: Call, error: str, text: str) -> str:
    """Why this node may differ; empty if it may not."""
    for difference in DIFFERENCES:
        if (not difference.ops or call.op in difference.ops) and difference.applies(call, error, text):
            return difference.reason
    return ""
