"""The rarer cells of `tf.contrib.rnn` and the layers of `tf.contrib.cudnn_rnn` against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

rnn, cudnn = tf.contrib.rnn, tf.contrib.cudnn_rnn
RNG = np.random.default_rng(7)
X, C, H = (RNG.normal(size=(3, n)).astype("f") for n in (2, 4, 4))
Weights = dict[str, Any]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def normal(x: Any) -> Any:
    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


def nas(w: Weights, x: Any, c: Any, h: Any) -> Any:
    m, i = (np.split(a, 8, 1) for a in (h @ w["recurrent_kernel"] + w["bias"], x @ w["kernel"]))
    one = np.tanh(sigmoid(i[0] + m[0]) * relu(i[1] + m[1]))
    two = np.tanh(sigmoid(i[2] + m[2]) + relu(i[3] * m[3]))
    three = np.tanh(np.tanh(i[4] + m[4]) * sigmoid(i[5] + m[5]))
    four = sigmoid(np.tanh(i[6] + m[6]) + sigmoid(i[7] + m[7]))
    c = np.tanh(one + c) * two
    return np.tanh(c * np.tanh(three + four)), c


def ugrnn(w: Weights, x: Any, c: Any, h: Any) -> Any:
    g, a = np.split(np.hstack([x, h]) @ w["kernel"] + w["bias"], 2, 1)
    g = sigmoid(g + 1)
    return (g * h + (1 - g) * np.tanh(a),) * 2


def intersection(w: Weights, x: Any, c: Any, h: Any) -> Any:
    x = x @ w["in_projection/kernel"] + w["in_projection/bias"]
    gh, a, gy, y = np.split(np.hstack([x, h]) @ w["kernel"] + w["bias"], 4, 1)
    gh, gy = sigmoid(gh + 1), sigmoid(gy + 1)
    return gy * x + (1 - gy) * relu(y), gh * h + (1 - gh) * np.tanh(a)


def sru(w: Weights, x: Any, c: Any, h: Any) -> Any:
    a, f, r, passed = np.split(x @ w["kernel"], 4, 1)
    f, r = sigmoid(f + w["bias"][:4]), sigmoid(r + w["bias"][4:])
    new = f * h + (1 - f) * a
    return r * np.tanh(new) + (1 - r) * passed, new


def indrnn(w: Weights, x: Any, c: Any, h: Any) -> Any:
    return (np.tanh(x @ w["kernel_w"] + h * w["kernel_u"] + w["bias"]),) * 2


def indy_lstm(w: Weights, x: Any, c: Any, h: Any) -> Any:
    gates = x @ w["kernel_w"] + np.tile(h, 4) * w["kernel_u"] + w["bias"]
    i, j, f, o = np.split(gates, 4, 1)
    c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    return np.tanh(c) * sigmoid(o), c


def indy_gru(w: Weights, x: Any, c: Any, h: Any) -> Any:
    gates = x @ w["gates/kernel_w"] + np.tile(h, 2) * w["gates/kernel_u"] + w["gates/bias"]
    r, u = np.split(sigmoid(gates), 2, 1)
    a = np.tanh(x @ w["candidate/kernel"] + r * h * w["candidate/kernel_u"] + w["candidate/bias"])
    return (u * h + (1 - u) * a,) * 2


def coupled(w: Weights, x: Any, c: Any, h: Any) -> Any:
    j, f, o = np.split(np.hstack([x, h]) @ w["W_0"] + w["B"], 3, 1)
    f = sigmoid(f + 1 + w["W_F_diag"] * c)
    c = f * c + (1 - f) * np.tanh(j)
    return sigmoid(o + w["W_O_diag"] * c) * np.tanh(c), c


def layer_norm_lstm(w: Weights, x: Any, c: Any, h: Any) -> Any:
    i, j, f, o = (normal(part) for part in np.split(np.hstack([x, h]) @ w["kernel"], 4, 1))
    c = normal(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j))
    return np.clip(sigmoid(o) * np.tanh(c) @ w["projection/kernel"], -0.1, 0.1), c


def layer_norm_gru(w: Weights, x: Any, c: Any, h: Any) -> Any:
    both = np.hstack([x, h])
    u, r = (sigmoid(normal(both @ w[f"{name}_gate/kernel"])) for name in ("update", "reset"))
    seen, past = normal(x @ w["candidate_linear_x/kernel"]), normal(h @ w["candidate_linear_h/kernel"])
    return ((1 - u) * h + u * np.tanh(seen + r * past),) * 2


def grouped(w: Weights, x: Any, c: Any, h: Any) -> Any:
    parts = [
        np.split(np.hstack([x[:, s], h[:, s]]) @ w[f"group{g}/kernel"], 4, 1)
        for g, s in enumerate((slice(0, 2), slice(2, 4)))
    ]
    i, j, f, o = (np.hstack([p[n] for p in parts]) + w[f"bias_{name}"] for n, name in enumerate("ijfo"))
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    return sigmoid(o) * np.tanh(c), c


CELLS: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "nas": (lambda: rnn.NASCell(4, use_bias=True), nas),
    "ugrnn": (lambda: rnn.UGRNNCell(4), ugrnn),
    "intersection": (lambda: rnn.IntersectionRNNCell(4, num_in_proj=4), intersection),
    "sru": (lambda: rnn.SRUCell(4), sru),
    "indrnn": (lambda: rnn.IndRNNCell(4), indrnn),
    "indy_lstm": (lambda: rnn.IndyLSTMCell(4), indy_lstm),
    "indy_gru": (lambda: rnn.IndyGRUCell(4), indy_gru),
    "coupled": (lambda: rnn.CoupledInputForgetGateLSTMCell(4, use_peepholes=True), coupled),
    "layer_norm_lstm": (
        lambda: rnn.LayerNormLSTMCell(4, num_proj=4, proj_clip=0.1, layer_norm=True),
        layer_norm_lstm,
    ),
    "layer_norm_gru": (lambda: rnn.LayerNormBasicGRUCell(4), layer_norm_gru),
    "grouped": (lambda: rnn.GLSTMCell(4, number_of_groups=2), grouped),
}


# The names of variables in TensorFlow's checkpoints, in the order in which it makes them.
NAMES: dict[str, tuple[Callable[[], Any], str]] = {
    "nas": (
        lambda: rnn.NASCell(4, num_proj=4, use_bias=True, name="cell"),
        "recurrent_kernel kernel bias projection_weights",
    ),
    "indy_gru": (
        lambda: rnn.IndyGRUCell(4, name="cell"),
        "gates/kernel_w gates/kernel_u gates/bias candidate/kernel candidate/kernel_u candidate/bias",
    ),
    "indy_lstm": (lambda: rnn.IndyLSTMCell(4, name="cell"), "kernel_w kernel_u bias"),
    "gru_block": (lambda: rnn.GRUBlockCell(4, name="cell"), "w_ru b_ru w_c b_c"),
    "gru_block_2": (
        lambda: rnn.GRUBlockCellV2(4, name="cell"),
        "gates/kernel gates/bias candidate/kernel candidate/bias",
    ),
    "cudnn_gru": (
        lambda: cudnn.CudnnCompatibleGRUCell(4),
        "gates/kernel gates/bias candidate/input_projection/kernel candidate/hidden_projection/kernel "
        "candidate/input_projection/bias candidate/hidden_projection/bias",
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_and_order_of_the_variables_of_a_cell(name: str) -> None:
    make, expected = NAMES[name]
    cell = make()
    cell(tf.constant(X), cell.zero_state(3, tf.float32))
    scope = "cudnn_compatible_gru_cell/" if name == "cudnn_gru" else "cell/"
    assert [v.op.name for v in tf.trainable_variables()] == [scope + part for part in expected.split()]


@pytest.mark.parametrize("name", CELLS)
def test_a_step_of_a_cell(name: str) -> None:
    make, formula = CELLS[name]
    cell = make()
    is_pair = isinstance(cell.state_size, tuple)
    inputs = C if name == "grouped" else X
    state = rnn.LSTMStateTuple(tf.constant(C), tf.constant(H)) if is_pair else tf.constant(H)
    with tf.variable_scope("root", initializer=tf.random_normal_initializer(seed=1)):
        output, new_state = cell(tf.constant(inputs), state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        scope = tf.trainable_variables()[0].op.name.split("/")[1]
        weights = {v.op.name.removeprefix(f"root/{scope}/"): session.run(v) for v in cell.variables}
        # As random values, which tell one bias from another.
        for variable in cell.variables:
            if variable.op.name.endswith(("bias", "B")):
                key = variable.op.name.removeprefix(f"root/{scope}/")
                weights[key] = RNG.normal(size=weights[key].shape).astype("f")
                variable.load(weights[key], session)
        got, kept = session.run([output, new_state])
    expected, expected_state = formula(weights, inputs, C, H)
    np.testing.assert_allclose(got, expected, rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(kept[0] if is_pair else kept, expected_state, rtol=2e-4, atol=1e-5)


def test_phased_lstm_is_open_in_its_phase_only() -> None:
    cell = rnn.PhasedLSTMCell(4, leak=0.0, ratio_on=0.5)
    times = tf.placeholder(tf.float32, [3, 1])
    state = rnn.LSTMStateTuple(tf.constant(C), tf.constant(H))
    output, _ = cell((times, tf.constant(X)), state)
    period, phase = (
        next(v for v in tf.global_variables() if v.op.name.endswith(n)) for n in ("period", "phase")
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        lengths = session.run(period)
        assert ((lengths >= 1) & (lengths <= 1000)).all()
        period.load([10.0] * 4, session)
        phase.load([0.0, 1.0, 0.0, 1.0], session)
        closed = session.run(output, {times: [[7.0], [17.0], [8.0]]})
        opened = session.run(output, {times: [[2.5], [12.5], [2.5]]})
    np.testing.assert_allclose(closed, H, rtol=1e-5)  # the old state
    assert (np.abs(opened - H) > 1e-4).all()


def test_convolutional_lstm() -> None:
    images, state = RNG.normal(size=(2, 3, 3, 1)).astype("f"), RNG.normal(size=(2, 3, 3, 2)).astype("f")
    cell = rnn.Conv2DLSTMCell(input_shape=[3, 3, 1], output_channels=2, kernel_shape=[1, 1])
    output, new = cell(tf.constant(images), rnn.LSTMStateTuple(tf.constant(state), tf.constant(state)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel = session.run(cell.variables[0])
        got = session.run(output)
    i, j, f, o = np.split(np.concatenate([images, state], -1) @ kernel[0, 0], 4, -1)
    c = sigmoid(f + 1) * state + sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(got, np.tanh(c) * sigmoid(o), rtol=1e-4, atol=1e-5)
    assert cell.output_size.as_list() == new.c.shape.as_list()[1:] == [3, 3, 2]
    with pytest.raises(ValueError, match="Invalid input_shape"):
        rnn.Conv1DLSTMCell(input_shape=[3, 3, 1], output_channels=2, kernel_shape=[1])


def test_fused_lstm_and_reversed_sequences() -> None:
    inputs = RNG.normal(size=(5, 3, 2)).astype("f")
    lengths = [5, 2, 0]
    fused = rnn.LSTMBlockFusedCell(4)
    outputs, (_, hidden) = fused(tf.constant(inputs), dtype=tf.float32, sequence_length=lengths)
    plain, _ = tf.nn.dynamic_rnn(
        rnn.LSTMBlockCell(4, name="lstm_fused_cell", reuse=True),
        tf.constant(inputs),
        sequence_length=lengths,
        dtype=tf.float32,
        time_major=True,
        scope=tf.get_variable_scope(),
    )
    adapted = rnn.FusedRNNCellAdaptor(tf.nn.rnn_cell.BasicRNNCell(4), use_dynamic_rnn=True)
    backward, last = rnn.TimeReversedFusedRNN(adapted)(
        tf.constant(inputs), dtype=tf.float32, sequence_length=lengths
    )
    assert [v.op.name for v in fused.variables] == ["lstm_fused_cell/kernel", "lstm_fused_cell/bias"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, same, h, ahead, end = session.run([outputs, plain, hidden, backward, last])
    np.testing.assert_array_equal(got, same)
    np.testing.assert_array_equal(h, [got[4, 0], got[1, 1], np.zeros(4)])
    np.testing.assert_array_equal(end, [ahead[0, 0], ahead[0, 1], np.zeros(4)])
    assert not ahead[2:, 1].any()


def cudnn_gru(w: Weights, x: Any, h: Any) -> Any:
    r, u = np.split(sigmoid(np.hstack([x, h]) @ w["gates/kernel"] + w["gates/bias"]), 2, 1)
    past = h @ w["candidate/hidden_projection/kernel"] + w["candidate/hidden_projection/bias"]
    seen = x @ w["candidate/input_projection/kernel"] + w["candidate/input_projection/bias"]
    return (1 - u) * np.tanh(seen + r * past) + u * h


def test_cudnn_layers_and_the_names_in_their_checkpoints() -> None:
    inputs = RNG.normal(size=(4, 3, 2)).astype("f")
    start = RNG.normal(size=(4, 3, 5)).astype("f")
    gru = cudnn.CudnnGRU(2, 5, direction="bidirectional", kernel_initializer=tf.random_normal_initializer())
    outputs, (last,) = gru(tf.constant(inputs), initial_state=(tf.constant(start),))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = {v.op.name: session.run(v) for v in tf.global_variables()}
        got, states = session.run([outputs, last])
    below, ends = inputs, []
    for layer in range(2):
        sides = []
        for number, side in enumerate(("fw", "bw")):
            root = f"cudnn_gru/stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn/{side}/"
            root += "cudnn_compatible_gru_cell/"
            weights = {k.removeprefix(root): v for k, v in values.items() if k.startswith(root)}
            state, steps = start[2 * layer + number], []
            for x in below if side == "fw" else below[::-1]:
                state = cudnn_gru(weights, x, state)
                steps.append(state)
            ends.append(state)
            sides.append(np.stack(steps if side == "fw" else steps[::-1]))
        below = np.concatenate(sides, -1)
    np.testing.assert_allclose(got, below, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(states, np.stack(ends), rtol=1e-4, atol=1e-5)


def test_cudnn_lstm_with_the_batch_first() -> None:
    lstm = cudnn.CudnnLSTM(2, 4, dropout=0.5)
    inputs = tf.constant(RNG.normal(size=(3, 6, 2)), tf.float32)
    training = tf.placeholder_with_default(False, [])
    outputs, (hidden, cell) = lstm(inputs, sequence_lengths=[6, 3, 1], time_major=False, training=training)
    root = "cudnn_lstm/rnn/multi_rnn_cell"
    assert [v.op.name for v in tf.trainable_variables()] == [
        f"{root}/cell_{n}/cudnn_compatible_lstm_cell/{part}" for n in (0, 1) for part in ("kernel", "bias")
    ]
    assert (outputs.shape.as_list(), lstm.state_shape(3)) == ([3, 6, 4], ([2, 3, 4], [2, 3, 4]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        out, h, c = session.run([outputs, hidden, cell])
        again = session.run(outputs)
        dropped = session.run(outputs, {training: True})
    assert h.shape == c.shape == (3, 2, 4)
    np.testing.assert_array_equal(out, again)
    assert (dropped != out).any()
    np.testing.assert_array_equal(h[:, 1], [out[0, 5], out[1, 2], out[2, 0]])
    with pytest.raises(ValueError, match="Invalid direction"):
        cudnn.CudnnLSTM(1, 4, direction="up")


def test_the_gradient_of_a_limited_state_passes_the_limit() -> None:
    """Numbers of TensorFlow 1.15, where the fused cell's gradient does not see the limit."""
    with tf.variable_scope("a", initializer=tf.constant_initializer(0.3)):
        cell = rnn.LSTMBlockCell(2, use_peephole=True, cell_clip=0.2)
        x = tf.constant([[1.0, 2.0], [3.0, -4.0]])
        _, state = cell(x, cell.zero_state(2, tf.float32))
        output, _ = cell(x, state)
    names = [v.op.name.rpartition("/")[2] for v in tf.trainable_variables()]
    assert names == ["kernel", "bias", "w_i_diag", "w_f_diag", "w_o_diag"]
    slopes = tf.gradients(output, [x, *tf.trainable_variables()[2:]])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        by_x, *peepholes = session.run(slopes)
    np.testing.assert_allclose(by_x, [[0.48641068] * 2, [0.0763227] * 2], rtol=1e-5)
    np.testing.assert_allclose(peepholes, [[0.02458137] * 2, [0.004231] * 2, [0.01904573] * 2], rtol=1e-4)


def test_fused_cells_get_names_of_their_own_where_they_are_called() -> None:
    x = tf.zeros([5, 2, 3])
    first, backwards = rnn.LSTMBlockFusedCell(4), rnn.LSTMBlockFusedCell(4)
    for _ in range(2):  # a second call takes the variables of the first
        first(x, dtype=tf.float32)
    rnn.TimeReversedFusedRNN(backwards)(x, dtype=tf.float32)
    with tf.variable_scope("s"):
        rnn.LSTMBlockFusedCell(4)(x, dtype=tf.float32)
        rnn.LSTMBlockFusedCell(4)(x, dtype=tf.float32, scope="given")
    assert [variable.op.name for variable in tf.global_variables() if "kernel" in variable.op.name] == [
        *("lstm_fused_cell/kernel", "lstm_fused_cell_1/kernel", "s/lstm_fused_cell/kernel", "s/given/kernel")
    ]
