"""Cells and unrolling against their formulas in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

BATCH, TIME, DEPTH, UNITS = 3, 6, 2, 4
INPUTS = np.random.default_rng(0).normal(size=(BATCH, TIME, DEPTH)).astype(np.float32)
LENGTHS = [6, 0, 3]
cells = tf.nn.rnn_cell


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def basic(w: dict[str, Any], x: Any, state: Any) -> Any:
    h = np.tanh(np.hstack([x, state[0]]) @ w["kernel"] + w["bias"])
    return h, (h,)


def gru(w: dict[str, Any], x: Any, state: Any) -> Any:
    (h,) = state
    gates = sigmoid(np.hstack([x, h]) @ w["gates/kernel"] + w["gates/bias"])
    reset, update = np.split(gates, 2, 1)
    candidate = np.tanh(np.hstack([x, reset * h]) @ w["candidate/kernel"] + w["candidate/bias"])
    h = update * h + (1 - update) * candidate
    return h, (h,)


def lstm(w: dict[str, Any], x: Any, state: Any) -> Any:
    c, h = state
    i, j, f, o = np.split(np.hstack([x, h]) @ w["kernel"] + w["bias"], 4, 1)
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    h = sigmoid(o) * np.tanh(c)
    return h, (c, h)


def lstm_with_peepholes(w: dict[str, Any], x: Any, state: Any) -> Any:
    c, h = state
    i, j, f, o = np.split(np.hstack([x, h]) @ w["kernel"] + w["bias"], 4, 1)
    c = sigmoid(f + 1 + w["w_f_diag"] * c) * c + sigmoid(i + w["w_i_diag"] * c) * np.tanh(j)
    c = np.clip(c, -0.5, 0.5)
    h = np.clip(sigmoid(o + w["w_o_diag"] * c) * np.tanh(c) @ w["projection/kernel"], -0.2, 0.2)
    return h, (c, h)


Formula = Callable[[dict[str, Any], Any, Any], Any]
CASES: dict[str, tuple[Callable[[], Any], Formula, list[int]]] = {
    "basic_rnn_cell": (lambda: cells.BasicRNNCell(UNITS), basic, [UNITS]),
    "gru_cell": (lambda: cells.GRUCell(UNITS), gru, [UNITS]),
    "basic_lstm_cell": (lambda: cells.BasicLSTMCell(UNITS), lstm, [UNITS, UNITS]),
    "lstm_cell": (
        lambda: cells.LSTMCell(UNITS, use_peepholes=True, cell_clip=0.5, num_proj=3, proj_clip=0.2),
        lstm_with_peepholes,
        [UNITS, 3],
    ),
}


def unrolled(formula: Formula, weights: dict[str, Any], sizes: list[int], lengths: list[int]) -> Any:
    state: Any = tuple(np.zeros((BATCH, n)) for n in sizes)
    outputs = []
    for t in range(TIME):
        output, new = formula(weights, INPUTS[:, t], state)
        on = (np.array(lengths) > t)[:, None]
        outputs.append(np.where(on, output, 0))
        state = tuple(np.where(on, b, a) for a, b in zip(state, new, strict=True))
    return np.stack(outputs, 1), state


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("name", list(CASES))
def test_unrolling(name: str, lengths: list[int] | None, session: tf.Session) -> None:
    make, formula, sizes = CASES[name]
    steps = tf.unstack(tf.constant(INPUTS), axis=1)
    static, static_state = tf.nn.static_rnn(make(), steps, dtype=tf.float32, sequence_length=lengths)
    with tf.variable_scope("", reuse=True):
        dynamic, dynamic_state = tf.nn.dynamic_rnn(make(), tf.constant(INPUTS), lengths, dtype=tf.float32)
    rng = np.random.default_rng(4)
    for variable in tf.trainable_variables():
        variable.load(rng.uniform(-1, 1, variable.shape.as_list()), session)
    prefix = f"rnn/{name}/"
    weights = {v.op.name.removeprefix(prefix): session.run(v) for v in tf.trainable_variables()}
    assert not any(key.startswith("rnn/") for key in weights)
    outputs, state = unrolled(formula, weights, sizes, lengths or [TIME] * BATCH)
    for got_outputs, got_state in (
        (tf.stack(static, 1), static_state),
        (dynamic, dynamic_state),
    ):
        values, parts = session.run(
            [got_outputs, got_state if isinstance(got_state, tuple) else (got_state,)]
        )
        np.testing.assert_allclose(values, outputs, rtol=1e-4, atol=1e-6)
        for got, expected in zip(parts, state, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_gradients_of_static_and_dynamic_unrolling_agree(session: tf.Session) -> None:
    losses = []
    x = tf.constant(INPUTS)
    for reuse, unroll in (
        (None, lambda c: tf.stack(tf.nn.static_rnn(c, tf.unstack(x, axis=1), dtype=tf.float32)[0], 1)),
        (True, lambda c: tf.nn.dynamic_rnn(c, x, dtype=tf.float32)[0]),
    ):
        with tf.variable_scope("", reuse=reuse):
            outputs = unroll(cells.MultiRNNCell([cells.GRUCell(UNITS), cells.LSTMCell(3)]))
        losses.append(tf.reduce_sum(outputs * tf.constant(np.cos(np.arange(3)), tf.float32)))
    session.run(tf.global_variables_initializer())
    first, second = session.run([tf.gradients(loss, tf.trainable_variables()) for loss in losses])
    for a, b in zip(first, second, strict=True):
        assert abs(a).max() > 1e-3
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_cells_share_variables_only_where_they_are_one_object(session: tf.Session) -> None:
    x = tf.zeros([1, 2])
    one = cells.GRUCell(2)
    one(x, tf.zeros([1, 2]))
    one(x, tf.ones([1, 2]))
    assert len(tf.global_variables()) == 4
    cells.GRUCell(2)(x, tf.zeros([1, 2]))
    assert [v.op.name for v in tf.global_variables()][4:] == [
        f"gru_cell_1/{part}" for part in ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
    ]
    with pytest.raises(ValueError, match="does not exist"):
        cells.GRUCell(2, reuse=True, name="nowhere")(x, tf.zeros([1, 2]))


def test_layers_of_cells_have_scopes_of_their_own() -> None:
    stack = cells.MultiRNNCell([cells.BasicRNNCell(2), cells.DropoutWrapper(cells.BasicRNNCell(2), 0.5)])
    tf.nn.dynamic_rnn(stack, tf.constant(INPUTS), dtype=tf.float32)
    assert [v.op.name for v in tf.trainable_variables()] == [
        f"rnn/multi_rnn_cell/cell_{i}/basic_rnn_cell/{part}" for i in (0, 1) for part in ("kernel", "bias")
    ]
    assert stack.trainable_variables == tf.trainable_variables()


def test_state_that_is_saved_from_run_to_run(session: tf.Session) -> None:
    class Saver:
        def __init__(self) -> None:
            self.kept = {name: tf.Variable(tf.zeros([BATCH, UNITS]), trainable=False) for name in "ch"}

        def state(self, name: str) -> Any:
            return self.kept[name].value()

        def save_state(self, name: str, value: Any) -> Any:
            return self.kept[name].assign(value).op

    cell, saver = cells.BasicLSTMCell(UNITS), Saver()
    steps = tf.unstack(tf.constant(INPUTS), axis=1)
    half, _ = tf.nn.static_state_saving_rnn(cell, steps[:3], saver, ("c", "h"))
    whole, _ = tf.nn.static_rnn(cell, steps[:3] * 2, dtype=tf.float32)
    session.run(tf.global_variables_initializer())
    expected = session.run(whole)
    for run in range(2):
        np.testing.assert_allclose(session.run(half), expected[3 * run : 3 * run + 3], rtol=1e-5, atol=1e-6)


def test_raw_rnn_may_feed_back_its_output(session: tf.Session) -> None:
    cell = cells.BasicRNNCell(2)

    def loop(time: Any, output: Any, state: Any, _: Any) -> Any:
        start = output is None
        return (
            tf.fill([1], tf.greater_equal(time, 4)),
            tf.ones([1, 2]) if start else output,
            cell.zero_state(1, tf.float32) if start else state,
            None if start else output,
            None,
        )

    emitted, state, loop_state = tf.nn.raw_rnn(cell, loop)
    assert loop_state is None
    values = emitted.stack()
    session.run(tf.global_variables_initializer())
    got, last, kernel = session.run([values, state, tf.trainable_variables()[0]])
    x, h = np.ones((1, 2)), np.zeros((1, 2))
    for t in range(4):
        x = h = np.tanh(np.hstack([x, h]) @ kernel)
        np.testing.assert_allclose(got[t], h, rtol=1e-5, atol=1e-6)
    assert len(got) == 4
    np.testing.assert_allclose(last, h, rtol=1e-5)


def test_arrays_of_a_loop_go_where_its_values_are() -> None:
    with tf.device("/job:ps/task:0"):
        cell = cells.DeviceWrapper(cells.GRUCell(2), "/job:worker/task:1")
        tf.nn.dynamic_rnn(cell, tf.constant(INPUTS), dtype=tf.float32)
    ops = tf.get_default_graph().get_operations()
    assert [op.device for op in ops if op.type == "TensorArrayV3"] == ["", ""]
    (write,) = (op for op in ops if op.type == "TensorArrayWriteV3")
    assert write.device == "/job:worker/task:1"


def test_dropout_follows_its_seed(session: tf.Session) -> None:
    def dropped(seed: int) -> Any:
        with tf.variable_scope("same", reuse=tf.AUTO_REUSE):
            wrapped = cells.DropoutWrapper(cells.GRUCell(UNITS), 0.5, 0.5, seed=seed)
            return tf.nn.static_rnn(wrapped, tf.unstack(tf.constant(INPUTS), axis=1), dtype=tf.float32)[0]

    def first_run(seed: int) -> Any:
        with tf.Graph().as_default(), tf.Session() as own:
            tf.set_random_seed(1)
            outputs = dropped(seed)
            for variable in tf.global_variables():
                variable.load(np.full(variable.shape.as_list(), 0.3), own)
            return np.stack(own.run(outputs))

    np.testing.assert_array_equal(first_run(1), first_run(1))
    assert (first_run(1) != first_run(2)).any()


def test_messages() -> None:
    with pytest.raises(TypeError, match="is not an RNNCell"):
        tf.nn.dynamic_rnn(object(), tf.constant(INPUTS), dtype=tf.float32)
    with pytest.raises(ValueError, match="dtype"):
        tf.nn.dynamic_rnn(cells.GRUCell(2), tf.constant(INPUTS))


class Counter(tf.keras.layers.Layer):
    """A cell with the interface of Keras: its state, of one tensor, comes and goes in a list."""

    state_size = output_size = DEPTH

    def call(self, inputs: Any, states: Any) -> Any:
        assert isinstance(states, (list, tuple)), "Keras's cells take a list"
        return inputs + states[0], [states[0] + 1.0]

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        return tf.zeros([batch_size, DEPTH], dtype)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("given", [False, True])
def test_cells_of_keras_have_a_lone_state_as_a_list_inside_only(
    given: bool, lengths: list[int] | None, session: tf.Session
) -> None:
    start = tf.fill([BATCH, DEPTH], 5.0) if given else None
    more: dict[str, Any] = {"sequence_length": lengths, "initial_state": start, "dtype": tf.float32}
    steps = tf.unstack(tf.constant(INPUTS), axis=1)
    static, static_state = tf.nn.static_rnn(Counter(), steps, **more)
    dynamic, dynamic_state = tf.nn.dynamic_rnn(Counter(), tf.constant(INPUTS), **more)
    counts = np.array(lengths or [TIME] * BATCH)
    first = 5.0 if given else 0.0
    going = np.arange(TIME)[None, :, None] < counts[:, None, None]
    expected = np.where(going, INPUTS + first + np.arange(TIME)[None, :, None], 0)
    for outputs, state in ((tf.stack(static, 1), static_state), (dynamic, dynamic_state)):
        assert isinstance(state, tf.Tensor)
        values, last = session.run([outputs, state])
        np.testing.assert_allclose(values, expected, rtol=1e-6)
        np.testing.assert_allclose(last, np.tile(first + counts[:, None], DEPTH))


@pytest.mark.parametrize("kind", ["SimpleRNNCell", "GRUCell", "LSTMCell"])
def test_cells_of_keras_in_both_directions(kind: str, session: tf.Session) -> None:
    make = getattr(tf.keras.layers, kind)
    tensors = tf.unstack(tf.constant(INPUTS), axis=1)
    forward, backward = make(UNITS), make(UNITS)
    found = tf.nn.bidirectional_dynamic_rnn(forward, backward, tf.constant(INPUTS), LENGTHS, dtype=tf.float32)
    (outputs, _), (state, _) = found
    static = tf.nn.static_bidirectional_rnn(
        forward, backward, tensors, dtype=tf.float32, sequence_length=LENGTHS
    )
    session.run(tf.global_variables_initializer())
    values, unrolled_values, ends, unrolled_ends = session.run(
        [outputs, tf.stack(static[0], 1)[..., :UNITS], state, static[1]]
    )
    np.testing.assert_allclose(values, unrolled_values, rtol=1e-5)
    np.testing.assert_allclose(ends, unrolled_ends, rtol=1e-5)
