"""Cells of recurrent networks on a GPU: what is between two products of a step is one kernel.

Products that depend on no step before are made once for all steps: those of the inputs, and the gradients of
the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.devices.cublas import matmul
from tensorfleet_service.kernels.nn.cuda_numbers import C_TYPES, access, compiled
from tensorfleet_service.kernels.nn.lstm_cell import Cell

DTYPES = ("float16", "float32")

THREADS = 256

_MOST_BLOCKS = 4096
"""With more elements than these have threads, a thread computes several."""

_HEAD = """
{access}
__device__ inline float sigmoid(float x) {{ return 1 / (1 + exp(-x)); }}
#define EACH(e) \\
  for (long long e = blockIdx.x * (long long)blockDim.x + threadIdx.x; e < size; e += gridDim.x * blockDim.x)
"""

KERNELS = {
    # From the products of the input and of the last output. `at` is where the step begins in what is made of
    # all steps, `before` where it does in the states.
    "lstm_forward": """
extern "C" __global__ void lstm_forward(
    const {t}* of_x, const {t}* of_h, const {t}* bias, const {t}* cs_prev, const {t}* wci, const {t}* wcf,
    const {t}* wco, {t}* i_made, {t}* cs_made, {t}* f_made, {t}* o_made, {t}* ci_made, {t}* co_made,
    {t}* h_made, float forget_bias, float clip, int peepholes, int ci_place, int f_place, int cells,
    long long size, long long at, long long before) {{
  EACH(e) {{
    long long row = e / cells, c = e % cells, first = row * 4 * cells + c, of_step = 4 * at + first;
    long long ci_at = (long long)ci_place * cells, f_at = (long long)f_place * cells, o_at = 3LL * cells;
    float previous = load(cs_prev, before + e);
    float i = load(of_x, of_step) + load(of_h, first) + load(bias, c);
    float ci = load(of_x, of_step + ci_at) + load(of_h, first + ci_at) + load(bias, c + ci_at);
    float f = load(of_x, of_step + f_at) + load(of_h, first + f_at) + load(bias, c + f_at) + forget_bias;
    float o = load(of_x, of_step + o_at) + load(of_h, first + o_at) + load(bias, c + o_at);
    if (peepholes) {{
      i += previous * load(wci, c);
      f += previous * load(wcf, c);
    }}
    i = sigmoid(i);
    f = sigmoid(f);
    ci = tanh(ci);
    float cs = ci * i + previous * f;
    if (clip > 0) cs = cs < -clip ? -clip : cs > clip ? clip : cs;
    if (peepholes) o += cs * load(wco, c);
    o = sigmoid(o);
    float co = tanh(cs);
    store(i_made, at + e, i);
    store(cs_made, at + e, cs);
    store(f_made, at + e, f);
    store(o_made, at + e, o);
    store(ci_made, at + e, ci);
    store(co_made, at + e, co);
    store(h_made, at + e, co * o);
  }}
}}""",
    # The gradients of the state before, in place of what the step after gave, and of the sums of the gates.
    "lstm_backward": """
extern "C" __global__ void lstm_backward(
    const {t}* cs_prev, const {t}* i_made, const {t}* f_made, const {t}* o_made, const {t}* ci_made,
    const {t}* co_made, const {t}* cs_grad, const {t}* h_grad, const {t}* h_after, const {t}* wci,
    const {t}* wcf, const {t}* wco, {t}* d_state, {t}* d_gates, int is_last, int peepholes, int ci_place,
    int f_place, int cells, long long size, long long at, long long before) {{
  EACH(e) {{
    long long row = e / cells, c = e % cells, first = 4 * at + row * 4 * cells + c;
    float i = load(i_made, at + e), f = load(f_made, at + e), o = load(o_made, at + e);
    float ci = load(ci_made, at + e), co = load(co_made, at + e), previous = load(cs_prev, before + e);
    float d_h = load(h_grad, at + e), d_cs = load(cs_grad, at + e);
    if (!is_last) {{
      d_h += load(h_after, e);
      d_cs += load(d_state, e);
    }}
    float d_o = o * (1 - o) * d_h * co;
    d_cs += (1 - co * co) * d_h * o;
    if (peepholes) d_cs += d_o * load(wco, c);
    float d_ci = (1 - ci * ci) * d_cs * i, d_f = f * (1 - f) * d_cs * previous;
    float d_i = i * (1 - i) * d_cs * ci, d_prev = d_cs * f;
    if (peepholes) d_prev += d_i * load(wci, c) + d_f * load(wcf, c);
    store(d_state, e, d_prev);
    store(d_gates, first, d_i);
    store(d_gates, first + (long long)ci_place * cells, d_ci);
    store(d_gates, first + (long long)f_place * cells, d_f);
    store(d_gates, first + 3LL * cells, d_o);
  }}
}}""",
    # The gates, and the part of the last output that is not reset, in its place beside the input.
    "gru_gates": """
extern "C" __global__ void gru_gates(
    const {t}* sums, const {t}* bias, const {t}* h_prev, {t}* r_made, {t}* u_made, {t}* x_and_h, int inputs,
    int cells, long long size) {{
  EACH(e) {{
    long long row = e / cells, c = e % cells, first = row * 2 * cells + c;
    float r = sigmoid(load(sums, first) + load(bias, c));
    store(r_made, e, r);
    store(u_made, e, sigmoid(load(sums, first + cells) + load(bias, c + cells)));
    store(x_and_h, row * (inputs + cells) + inputs + c, load(h_prev, e) * r);
  }}
}}""",
    "gru_state": """
extern "C" __global__ void gru_state(
    const {t}* sums, const {t}* bias, const {t}* u_made, const {t}* h_prev, {t}* c_made, {t}* h_made,
    int cells, long long size) {{
  EACH(e) {{
    float c = tanh(load(sums, e) + load(bias, e % cells)), u = load(u_made, e);
    store(c_made, e, c);
    store(h_made, e, (1 - u) * c + u * load(h_prev, e));
  }}
}}""",
    "gru_d_update": """
extern "C" __global__ void gru_d_update(
    const {t}* h_prev, const {t}* u_made, const {t}* c_made, const {t}* d_h, {t}* d_c_bar, {t}* d_gates,
    int cells, long long size) {{
  EACH(e) {{
    long long row = e / cells, c = e % cells;
    float u = load(u_made, e), made = load(c_made, e), d = load(d_h, e);
    store(d_c_bar, e, d * (1 - u) * (1 - made * made));
    store(d_gates, row * 2 * cells + cells + c, d * (load(h_prev, e) - made) * u * (1 - u));
  }}
}}""",
    "gru_d_reset": """
extern "C" __global__ void gru_d_reset(
    const {t}* second, const {t}* h_prev, const {t}* r_made, {t}* d_gates, int inputs, int cells,
    long long size) {{
  EACH(e) {{
    long long row = e / cells, c = e % cells;
    float r = load(r_made, e), d_reset = load(second, row * (inputs + cells) + inputs + c);
    store(d_gates, row * 2 * cells + c, d_reset * load(h_prev, e) * r * (1 - r));
  }}
}}""",
    "gru_d_inputs": """
extern "C" __global__ void gru_d_inputs(
    const {t}* first, const {t}* second, const {t}* r_made, const {t}* u_made, const {t}* d_h, {t}* d_x,
    {t}* d_h_prev, int inputs, int cells, long long size) {{
  EACH(e) {{
    long long row = e / (inputs + cells), column = e % (inputs + cells), c = row * cells + column - inputs;
    if (column < inputs)
      store(d_x, row * inputs + column, load(first, e) + load(second, e));
    else
      store(d_h_prev, c, load(first, e) + load(second, e) * load(r_made, c) + load(d_h, c) * load(u_made, c));
  }}
}}""",
}


def source(name: str, dtype: str) -> str:
    """The source of a kernel for arrays of a dtype."""
    return (_HEAD + KERNELS[name]).format(access=access(dtype), t=C_TYPES[dtype])


def _launch(xp: Any, name: str, dtype: Any, *args: Any, size: int, rest: tuple[Any, ...] = ()) -> None:
    """Launches a kernel: arrays and other numbers, then the number of elements and what is behind it."""
    threads = 32
    while threads < THREADS and threads < size:
        threads *= 2
    blocks = min(-(-size // threads), _MOST_BLOCKS)
    kernel = compiled(xp, source, name, dtype.name)
    kernel((blocks,), (threads,), (*args, np.int64(size), *rest))


def takes(*arrays: Any) -> bool:
    """Whether there are kernels for these arrays."""
    dtype = arrays[0].dtype
    return dtype.name in DTYPES and all(a.size and a.dtype == dtype for a in arrays)


def _contiguous(xp: Any, arrays: Any) -> list[Any]:
    return [xp.ascontiguousarray(array) for array in arrays]


def _constants(cell: Cell) -> tuple[tuple[Any, Any, Any], tuple[Any, ...]]:
    """The peepholes, or what takes their place, and the numbers that tell a kernel how a cell's gates lie."""
    _, ci_place, f_place, _ = cell.order
    peepholes = cell.peepholes or (cell.bias, cell.bias, cell.bias)
    wci, wcf, wco = _contiguous(cell.xp, peepholes)
    has_peepholes = np.int32(cell.peepholes is not None)
    return (wci, wcf, wco), (has_peepholes, np.int32(ci_place), np.int32(f_place))


def lstm_forward(cell: Cell, x: Any, cs_prev: Any, h_prev: Any, steps: int) -> tuple[Any, ...]:
    """i, cs, f, o, ci, co and h [time, batch, cells] for x [time, batch, inputs].

    What is behind the last step is zeros.
    """
    xp = cell.xp
    x, cs_prev, h_prev, weights, bias = _contiguous(xp, (x, cs_prev, h_prev, cell.weights, cell.bias))
    batch, cells = cs_prev.shape
    size, inputs = batch * cells, x.shape[2]
    empty = xp.empty if steps == len(x) else xp.zeros
    made = tuple(empty((len(x), batch, cells), x.dtype) for _ in range(7))
    of_x = matmul(xp, x[:steps].reshape(steps * batch, inputs), weights[:inputs])
    of_h = xp.empty((batch, 4 * cells), x.dtype)
    peepholes, places = _constants(cell)
    numbers = (np.float32(cell.forget_bias), np.float32(cell.clip), *places, np.int32(cells))
    for step in range(steps):
        states, h = (made[1], made[6][step - 1]) if step else (cs_prev, h_prev)
        matmul(xp, h, weights[inputs:], out=of_h)
        at = np.int64(step * size), np.int64(max(step - 1, 0) * size)
        arrays = (of_x, of_h, bias, states, *peepholes, *made)
        _launch(xp, "lstm_forward", x.dtype, *arrays, *numbers, size=size, rest=at)
    return made


def lstm_backward(
    cell: Cell, cs_prev: Any, made: tuple[Any, ...], cs_grad: Any, h_grad: Any, steps: int
) -> tuple[Any, Any, Any]:
    """The gradients of the first state and output, and of the gates' sums [steps, batch, 4 * cells].

    Args:
        made: i, cs, f, o, ci and co [time, batch, cells].
    """
    xp, dtype = cell.xp, cs_prev.dtype
    batch, cells = cs_prev.shape
    size, inputs = batch * cells, cell.weights.shape[0] - cells
    cs_prev, cs_grad, h_grad, *rest = _contiguous(xp, (cs_prev, cs_grad, h_grad, *made))
    i, cs, f, o, ci, co = rest
    back = cell.weights[inputs:].T
    d_state, d_h = xp.empty((batch, cells), dtype), xp.empty((batch, cells), dtype)
    d_gates = xp.empty((steps, batch, 4 * cells), dtype)
    peepholes, places = _constants(cell)
    for step in reversed(range(steps)):
        arrays = (
            cs if step else cs_prev,
            i,
            f,
            o,
            ci,
            co,
            cs_grad,
            h_grad,
            d_h,
            *peepholes,
            d_state,
            d_gates,
        )
        numbers = (np.int32(step == steps - 1), *places, np.int32(cells))
        at = np.int64(step * size), np.int64(max(step - 1, 0) * size)
        _launch(xp, "lstm_backward", dtype, *arrays, *numbers, size=size, rest=at)
        matmul(xp, d_gates[step], back, out=d_h)
    return d_state, d_h, d_gates


def peephole_gradients(cell: Cell, d_gates: Any, cs_before: Any, cs: Any) -> list[Any]:
    """The gradients of the peepholes, of all steps together."""
    if cell.peepholes is None:
        return [cell.xp.zeros(cs.shape[-1], cs.dtype) for _ in range(3)]
    cells, (i_place, _, f_place, o_place) = cs.shape[-1], cell.order
    found = []
    for place, states in ((i_place, cs_before), (f_place, cs_before), (o_place, cs)):
        part = d_gates[..., place * cells : (place + 1) * cells]
        found.append((part * states).sum(tuple(range(cs.ndim - 1))))
    return found


def sequence_gradients(
    cell: Cell, x: Any, cs_prev: Any, h_prev: Any, made: tuple[Any, ...], given: tuple[Any, ...], steps: int
) -> tuple[Any, ...]:
    """The gradients of x, the first state and output, the weights, the peepholes and the bias.

    Args:
        made: i, cs, f, o, ci, co and h [time, batch, cells].
        given: the gradients of cs and h.
    """
    xp = cell.xp
    d_state, d_h, d_gates = lstm_backward(cell, cs_prev, made[:6], given[0], given[1], steps)
    inputs, cells = x.shape[2], cs_prev.shape[1]
    flat = d_gates.reshape(-1, 4 * cells)
    x_grad = (xp.empty if steps == len(x) else xp.zeros)(x.shape, x.dtype)
    matmul(xp, flat, cell.weights[:inputs].T, out=x_grad[:steps].reshape(-1, inputs))
    weights = xp.empty(cell.weights.shape, x.dtype)
    matmul(xp, x[:steps].reshape(-1, inputs).T, flat, out=weights[:inputs])
    h_before = xp.concatenate([h_prev[None], made[6][: steps - 1]])
    matmul(xp, h_before.reshape(-1, cells).T, flat, out=weights[inputs:])
    cs_before = made[1]
    if cell.peepholes is not None:
        cs_before = xp.concatenate([cs_prev[None], made[1][: steps - 1]])
    peepholes = peephole_gradients(cell, d_gates, cs_before, made[1][:steps])
    return (x_grad, d_state, d_h, weights, *peepholes, flat.sum(0))


def gru_forward(xp: Any, x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> tuple[Any, ...]:
    """r, u, c and h [batch, cells]."""
    x_and_h = xp.concatenate([x, h_prev], 1)
    h_prev, b_ru, b_c = _contiguous(xp, (h_prev, b_ru, b_c))
    cells, dtype = np.int32(h_prev.shape[1]), x.dtype
    r, u, c, h = (xp.empty(h_prev.shape, dtype) for _ in range(4))
    numbers = (np.int32(x.shape[1]), cells)
    arrays = (matmul(xp, x_and_h, w_ru), b_ru, h_prev, r, u, x_and_h)
    _launch(xp, "gru_gates", dtype, *arrays, *numbers, size=h.size)
    arrays = (matmul(xp, x_and_h, w_c), b_c, u, h_prev, c, h)
    _launch(xp, "gru_state", dtype, *arrays, cells, size=h.size)
    return r, u, c, h


def gru_backward(
    xp: Any, x: Any, h_prev: Any, w_ru: Any, w_c: Any, r: Any, u: Any, c: Any, d_h: Any
) -> tuple[Any, ...]:
    """The gradients of x, of the last output, and of the sums of c, and of r and u."""
    h_prev, r, u, c, d_h = _contiguous(xp, (h_prev, r, u, c, d_h))
    dtype, size, cells = x.dtype, h_prev.size, np.int32(h_prev.shape[1])
    numbers = (np.int32(x.shape[1]), cells)
    d_c_bar, d_gates = xp.empty(h_prev.shape, dtype), xp.empty((len(x), 2 * h_prev.shape[1]), dtype)
    _launch(xp, "gru_d_update", dtype, h_prev, u, c, d_h, d_c_bar, d_gates, cells, size=size)
    second = matmul(xp, d_c_bar, w_c.T)
    _launch(xp, "gru_d_reset", dtype, second, h_prev, r, d_gates, *numbers, size=size)
    first = matmul(xp, d_gates, w_ru.T)
    d_x, d_h_prev = xp.empty(x.shape, dtype), xp.empty(h_prev.shape, dtype)
    arrays = (first, second, r, u, d_h, d_x, d_h_prev)
    _launch(xp, "gru_d_inputs", dtype, *arrays, *numbers, size=first.size)
    return d_x, d_h_prev, d_c_bar, d_gates
