"""Gradients of `recurrent`: those of sequences; single cells have no rule, as in TensorFlow."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.gradient_common import given

no_rule("LSTMBlockCell", "LSTMBlockCellGrad", "BlockLSTMGrad", "BlockLSTMGradV2")
no_rule("GRUBlockCell", "GRUBlockCellGrad")


@gradient("BlockLSTM", "BlockLSTMV2")
def _block_lstm(op: Operation, *grads: Tensor | None) -> list[Any]:
    cs, h = (
        zeros_like(y) if grad is None else grad
        for y, grad in ((op.outputs[1], grads[1]), (op.outputs[6], grads[6]))
    )
    made = apply_op(
        op.type.replace("BlockLSTM", "BlockLSTMGrad"),
        *op.inputs,
        *op.outputs,
        cs,
        h,
        **given(op, ("use_peephole",)),
    )
    return [None, *made]
