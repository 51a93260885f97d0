"""Kernels of `tensorfleet.ops.nn.recurrent`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.nn import cuda_recurrent
from tensorfleet_service.kernels.nn.lstm_cell import Cell, sigmoid
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.threads.running import check as check_step

_ICFO, _IFCO = (0, 1, 2, 3), (0, 2, 1, 3)


def _cell(node: KernelNode, x: Any, cs_prev: Any, h_prev: Any, *parameters: Any) -> Cell:
    """The cell of a node. Raises InvalidArgumentError where shapes do not fit."""
    weights, wci, wcf, wco, bias = parameters
    attrs = node.attrs
    if x.ndim != 2 or cs_prev.ndim != 2 or h_prev.ndim != 2 or weights.ndim != 2 or bias.ndim != 1:
        raise invalid("x, cs_prev, h_prev and w must be matrices, and b a vector")
    cells = cs_prev.shape[1]
    if not (len(x) == len(cs_prev) == len(h_prev)) or h_prev.shape[1] != cells:
        raise invalid(
            f"The shapes of x, cs_prev and h_prev do not fit: {shape_text(x.shape)}, "
            f"{shape_text(cs_prev.shape)}, {shape_text(h_prev.shape)}"
        )
    if weights.shape != (x.shape[1] + cells, 4 * cells) or bias.shape != (4 * cells,):
        raise invalid(
            f"w and b must have shapes {[x.shape[1] + cells, 4 * cells]} and {[4 * cells]}, got "
            f"{shape_text(weights.shape)} and {shape_text(bias.shape)}"
        )
    if attrs["use_peephole"] and any(peephole.shape != (cells,) for peephole in (wci, wcf, wco)):
        raise invalid(f"wci, wcf and wco must have shape {[cells]}")
    order = _IFCO if node.op.endswith("V2") else _ICFO
    peepholes = (wci, wcf, wco) if attrs["use_peephole"] else None
    bias_of_forget, clip = attrs.get("forget_bias", 0.0), attrs.get("cell_clip", 0.0)
    return Cell(node.xp, order, bias_of_forget, clip, weights, bias, peepholes)


@kernel("LSTMBlockCell")
def lstm_cell(node: KernelNode) -> Kernel:
    def run(x: Any, cs_prev: Any, h_prev: Any, *parameters: Any) -> Any:
        cell = _cell(node, x, cs_prev, h_prev, *parameters)
        if _is_on_gpu(node, x, cs_prev, *parameters):
            made = cuda_recurrent.lstm_forward(cell, x[None], cs_prev, h_prev, 1)
            return tuple(value[0] for value in made)
        return cell.forward(x, cs_prev, h_prev)

    return run


def _is_on_gpu(node: KernelNode, *arrays: Any) -> bool:
    """Whether it is computed by kernels of `cuda_recurrent`; peepholes that are not used may be empty."""
    if node.attrs.get("use_peephole") is False:
        arrays = (*arrays[:-4], arrays[-1])
    return node.xp is not np and cuda_recurrent.takes(*arrays)


@kernel("LSTMBlockCellGrad")
def lstm_cell_grad(node: KernelNode) -> Kernel:
    def run(*inputs: Any) -> Any:
        cell, made = _cell(node, *inputs[:8]), inputs[8:14]
        if _is_on_gpu(node, inputs[0], *inputs[8:], *inputs[1:8]):
            arrays = (tuple(value[None] for value in made), inputs[14][None], inputs[15][None])
            state, _, d_gates = cuda_recurrent.lstm_backward(cell, inputs[1], *arrays, 1)
            d_gates = d_gates[0]
            return (state, d_gates, *cuda_recurrent.peephole_gradients(cell, d_gates, inputs[1], made[1]))
        previous, gates, peepholes = cell.backward(inputs[1], made, *inputs[14:])
        return (previous, gates, *peepholes)

    return run


def _steps(seq_len_max: Any, x: Any) -> int:
    """The number of steps that are computed. Raises InvalidArgumentError where x is not a sequence of it."""
    if x.ndim != 3:
        raise invalid(f"x must be rank 3 but is rank {x.ndim}")
    if np.ndim(seq_len_max):
        raise invalid("seq_len_max must be a scalar")
    steps = int(seq_len_max)
    if not 0 <= steps <= len(x):
        raise invalid(f"seq_len_max must be between 0 and the {len(x)} steps of x, got {steps}")
    return steps


@kernel("BlockLSTM", "BlockLSTMV2")
def block_lstm(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(seq_len_max: Any, x: Any, cs_prev: Any, h_prev: Any, *parameters: Any) -> Any:
        steps = _steps(seq_len_max, x)
        first = x[0] if len(x) else xp.zeros(x.shape[1:], x.dtype)
        cell = _cell(node, first, cs_prev, h_prev, *parameters)
        if steps and _is_on_gpu(node, x, cs_prev, *parameters):
            return cuda_recurrent.lstm_forward(cell, x, cs_prev, h_prev, steps)
        outputs = tuple(xp.zeros((*x.shape[:2], cs_prev.shape[1]), x.dtype) for _ in range(7))
        cs, h = cs_prev, h_prev
        for step in range(steps):
            check_step()
            made = cell.forward(x[step], cs, h)
            for output, value in zip(outputs, made, strict=True):
                output[step] = value
            cs, h = made[1], made[6]
        return outputs

    return run


@kernel("BlockLSTMGrad", "BlockLSTMGradV2")
def block_lstm_grad(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(seq_len_max: Any, x: Any, cs_prev: Any, h_prev: Any, *rest: Any) -> Any:
        parameters, gates, (h, cs_grad, h_grad) = rest[:5], rest[5:11], rest[11:]
        steps = _steps(seq_len_max, x)
        first = x[0] if len(x) else xp.zeros(x.shape[1:], x.dtype)
        cell = _cell(node, first, cs_prev, h_prev, *parameters)
        if steps and _is_on_gpu(node, x, *rest[5:], cs_prev, *parameters):
            given = (cs_grad, h_grad)
            return cuda_recurrent.sequence_gradients(cell, x, cs_prev, h_prev, (*gates, h), given, steps)
        inputs = x.shape[2]
        x_grad, sums = xp.zeros_like(x), [xp.zeros_like(value) for value in parameters]
        d_cs, d_h = xp.zeros_like(cs_prev), xp.zeros_like(h_prev)
        for step in reversed(range(steps)):
            check_step()
            before = (gates[1][step - 1], h[step - 1]) if step else (cs_prev, h_prev)
            made = tuple(gate[step] for gate in gates)
            d_cs, d_gates, peepholes = cell.backward(
                before[0], made, cs_grad[step] + d_cs, h_grad[step] + d_h
            )
            both = d_gates @ cell.weights.T
            x_grad[step], d_h = both[:, :inputs], both[:, inputs:]
            sums[0] += xp.concatenate([x[step], before[1]], 1).T @ d_gates
            for total, peephole in zip(sums[1:4], peepholes, strict=True):
                if cell.peepholes is not None:
                    total += peephole
            sums[4] += d_gates.sum(0)
        return (x_grad, d_cs, d_h, *sums)

    return run


@kernel("GRUBlockCell")
def gru_cell(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> Any:
        _check_gru(x, h_prev, w_ru, w_c, b_ru, b_c)
        if _is_on_gpu(node, x, h_prev, w_ru, w_c, b_ru, b_c):
            return cuda_recurrent.gru_forward(xp, x, h_prev, w_ru, w_c, b_ru, b_c)
        cells = h_prev.shape[1]
        gates = sigmoid(xp, xp.concatenate([x, h_prev], 1) @ w_ru + b_ru)
        r, u = gates[:, :cells], gates[:, cells:]
        c = xp.tanh(xp.concatenate([x, h_prev * r], 1) @ w_c + b_c)
        return r, u, c, (1 - u) * c + u * h_prev

    return run


def _check_gru(x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> None:
    if x.ndim != 2 or h_prev.ndim != 2 or len(x) != len(h_prev):
        raise invalid(
            f"x and h_prev must be matrices of one batch, got {shape_text(x.shape)}, "
            f"{shape_text(h_prev.shape)}"
        )
    inputs, cells = x.shape[1], h_prev.shape[1]
    wanted: dict[str, tuple[int, ...]] = {
        "w_ru": (inputs + cells, 2 * cells),
        "w_c": (inputs + cells, cells),
        "b_ru": (2 * cells,),
        "b_c": (cells,),
    }
    for (name, shape), value in zip(wanted.items(), (w_ru, w_c, b_ru, b_c), strict=True):
        if value.shape != shape:
            raise invalid(f"{name} must have shape {shape_text(shape)}, got {shape_text(value.shape)}")


@kernel("GRUBlockCellGrad")
def gru_cell_grad(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, *rest: Any) -> Any:
        _check_gru(x, h_prev, w_ru, w_c, b_ru, b_c)
        r, u, c, d_h = rest
        if _is_on_gpu(node, x, h_prev, w_ru, w_c, *rest):
            return cuda_recurrent.gru_backward(xp, x, h_prev, w_ru, w_c, *rest)
        inputs = x.shape[1]
        d_c_bar = d_h * (1 - u) * (1 - c * c)
        d_u_bar = d_h * (h_prev - c) * u * (1 - u)
        second = d_c_bar @ w_c.T
        d_reset = second[:, inputs:]
        d_r_bar = d_reset * h_prev * r * (1 - r)
        both = xp.concatenate([d_r_bar, d_u_bar], 1)
        first = both @ w_ru.T
        d_x = first[:, :inputs] + second[:, :inputs]
        return d_x, first[:, inputs:] + d_reset * r + d_h * u, d_c_bar, both

    return run
