"""Cells of recurrent networks as one op, and sequences of them, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, program

F = np.float32
random = np.random.RandomState(8)
BATCH, INPUTS, CELLS, TIME = 3, 4, 2, 5
X = random.randn(TIME, BATCH, INPUTS).astype(F)
CS, H = random.randn(2, BATCH, CELLS).astype(F)
W = random.randn(INPUTS + CELLS, 4 * CELLS).astype(F)
PEEPHOLES = list(random.randn(3, CELLS).astype(F))
B = random.randn(4 * CELLS).astype(F)
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}


def _cells(peephole: bool, clip: float) -> None:
    def made(make: Maker) -> Any:
        parameters = [W, *PEEPHOLES, B]
        outputs = make(
            *("LSTMBlockCell", X[0], CS, H, *parameters),
            forget_bias=0.5,
            cell_clip=clip,
            use_peephole=peephole,
        )
        # Without peepholes TensorFlow leaves their gradients as they are: what is there is not compared.
        grads = make(
            *("LSTMBlockCellGrad", X[0], CS, H, *parameters, *outputs[:6], CS * 2, H * 3),
            use_peephole=peephole,
        )
        return outputs, grads[: 5 if peephole else 2]

    made.__name__ = f"lstm_cell_{peephole}_{clip}"
    program("LSTMBlockCell", "LSTMBlockCellGrad", **CLOSE)(made)


def _sequences(version: str, peephole: bool, steps: int) -> None:
    def made(make: Maker) -> Any:
        tf = make.tf
        values = [tf.constant(value) for value in (X, CS, H, W, *PEEPHOLES, B)]
        outputs = make(f"BlockLSTM{version}", np.int64(steps), *values, use_peephole=peephole)
        if version:
            # TensorFlow's gradient of V2 is that of the first version, whose gates are in another order.
            parts = [*outputs, tf.ones_like(outputs[1]), 2 * tf.ones_like(outputs[6])]
            return outputs, make("BlockLSTMGradV2", np.int64(steps), *values, *parts, use_peephole=peephole)
        wanted = values if peephole else [*values[:4], values[7]]
        # What is behind the last step may be anything.
        made = [output[:steps] for output in outputs]
        return made, tf.gradients([made[6] * 2, made[1]], wanted)

    made.__name__ = f"block_lstm{version}_{peephole}_{steps}"
    program(f"BlockLSTM{version}", f"BlockLSTMGrad{version}", **CLOSE)(made)


for _peephole in (True, False):
    _cells(_peephole, 3.0)
    _sequences("", _peephole, TIME)
    _sequences("V2", _peephole, TIME)
    _sequences("", _peephole, 3)
_cells(True, 0.1)
_cells(False, -1.0)


@program("BlockLSTM")
def block_lstm_of_another_size(make: Maker) -> Any:
    values = [make.fed(value) for value in (X, CS, H, W[:3], *PEEPHOLES, B)]
    return make("BlockLSTM", np.int64(TIME), *values)[6]


@program("GRUBlockCell", "GRUBlockCellGrad", **CLOSE)
def gru_cell(make: Maker) -> Any:
    w_c = np.ascontiguousarray(W[:, 4:6])
    parameters = [np.ascontiguousarray(W[:, :4]), w_c, B[:4], B[4:6]]
    r, u, c, h = make("GRUBlockCell", X[0], H, *parameters)
    return r, u, c, h, make("GRUBlockCellGrad", X[0], H, *parameters, r, u, c, H * 2)
