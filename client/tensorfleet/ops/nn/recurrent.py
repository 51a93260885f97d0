"""Cells of recurrent networks as one op each, and whole sequences of LSTM cells.

Inputs of cells are [batch, inputs], states [batch, cells], sequences [time, batch, …]. The columns of weights
and biases are those of the gates: input, cell, forget and output, in the order of the op.
"""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import with_rank


def _lstm_cell(node: RuleNode) -> list[Dims]:
    x, state = (with_rank(node.inputs[i].dims, 2) for i in (0, 1))
    with_rank(node.inputs[2].dims, 2)
    return [(x[0], state[1])] * 7


def _lstm_cell_grad(node: RuleNode) -> list[Dims]:
    x, state = (with_rank(node.inputs[i].dims, 2) for i in (0, 1))
    gates = None if state[1] is None else 4 * state[1]
    return [(x[0], state[1]), (x[0], gates), *[(state[1],)] * 3]


def _block_lstm(node: RuleNode) -> list[Dims]:
    x = with_rank(node.inputs[1].dims, 3)
    gates = with_rank(node.inputs[8].dims, 1)[0]
    cells = None if gates is None else gates // 4
    return [(x[0], x[1], cells)] * 7


def _block_lstm_grad(node: RuleNode) -> list[Dims]:
    ranks = (3, 2, 2, 2, 1, 1, 1, 1)
    return [with_rank(tensor.dims, rank) for tensor, rank in zip(node.inputs[1:9], ranks, strict=True)]


def _gru_cell(node: RuleNode) -> list[Dims]:
    x, state = (with_rank(node.inputs[i].dims, 2) for i in (0, 1))
    return [(x[0], state[1])] * 4


def _gru_cell_grad(node: RuleNode) -> list[Dims]:
    x, state, weights = (with_rank(node.inputs[i].dims, 2) for i in (0, 1, 2))
    return [x, (x[0], state[1]), (x[0], state[1]), (x[0], weights[1])]


_FLOATS = "T: {float16, float32}"
_WEIGHTS = "w: T, wci: T, wcf: T, wco: T, b: T"
_STATES = "cs_prev: T, h_prev: T"
_GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T"
op(
    f"LSTMBlockCell(x: T, {_STATES}, {_WEIGHTS}) -> ({_GATES}, h: T)",
    "forget_bias: float = 1.0",
    "cell_clip: float = 3.0",
    "use_peephole: bool = false",
    _FLOATS,
    shape=_lstm_cell,
)
op(
    f"LSTMBlockCellGrad(x: T, {_STATES}, {_WEIGHTS}, {_GATES}, cs_grad: T, h_grad: T) -> "
    "(cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T)",
    "use_peephole: bool",
    _FLOATS,
    shape=_lstm_cell_grad,
)
op(
    f"BlockLSTM(seq_len_max: int64, x: T, {_STATES}, {_WEIGHTS}) -> ({_GATES}, h: T)",
    "forget_bias: float = 1.0",
    "cell_clip: float = 3.0",
    "use_peephole: bool = false",
    _FLOATS,
    shape=_block_lstm,
)
op(
    f"BlockLSTMV2(seq_len_max: int64, x: T, {_STATES}, {_WEIGHTS}) -> ({_GATES}, h: T)",
    "cell_clip: float = 0.0",
    "use_peephole: bool = false",
    _FLOATS,
    shape=_block_lstm,
)
for _version in ("", "V2"):
    op(
        f"BlockLSTMGrad{_version}(seq_len_max: int64, x: T, {_STATES}, {_WEIGHTS}, {_GATES}, h: T, "
        "cs_grad: T, h_grad: T) -> (x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, "
        "wcf_grad: T, wco_grad: T, b_grad: T)",
        "use_peephole: bool",
        _FLOATS,
        shape=_block_lstm_grad,
    )
op(
    "GRUBlockCell(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T) -> (r: T, u: T, c: T, h: T)",
    "T: {float32}",
    shape=_gru_cell,
)
op(
    "GRUBlockCellGrad(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T, r: T, u: T, c: T, d_h: T) -> "
    "(d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T)",
    "T: {float32}",
    shape=_gru_cell_grad,
)
