"""Programs that use `tf.nn.rnn_cell`, `static_rnn` and `dynamic_rnn`: functions of a TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], Any]

_random = np.random.default_rng(23)
BATCH, TIME, DEPTH = 3, 5, 2
INPUTS = _random.normal(size=(BATCH, TIME, DEPTH)).astype(np.float32)
LENGTHS = [5, 0, 3]

CELLS: dict[str, Callable[[Any], Any]] = {
    "basic": lambda c: c.BasicRNNCell(4),
    "gru": lambda c: c.GRUCell(4),
    "basic_lstm": lambda c: c.BasicLSTMCell(4, forget_bias=0.5),
    "basic_lstm_joined": lambda c: c.BasicLSTMCell(4, state_is_tuple=False),
    "lstm": lambda c: c.LSTMCell(4),
    "lstm_all": lambda c: c.LSTMCell(
        4, use_peepholes=True, cell_clip=0.4, num_proj=3, proj_clip=0.3, forget_bias=0.2, name="mine"
    ),
    "lstm_joined": lambda c: c.LSTMCell(4, num_proj=3, state_is_tuple=False),
    "lstm_shards": lambda c: c.LSTMCell(4, num_proj=4, num_unit_shards=2, num_proj_shards=2),
    "multi": lambda c: c.MultiRNNCell([c.GRUCell(3), c.BasicLSTMCell(4)]),
    "multi_joined": lambda c: c.MultiRNNCell([c.GRUCell(3), c.BasicRNNCell(2)], state_is_tuple=False),
    "residual": lambda c: c.ResidualWrapper(c.GRUCell(DEPTH)),
    "device": lambda c: c.DeviceWrapper(c.BasicLSTMCell(2), "/cpu:0"),
    "dropout_none": lambda c: c.DropoutWrapper(c.GRUCell(3), 1.0, 1.0, 1.0),
    "stack": lambda c: c.MultiRNNCell(
        [c.ResidualWrapper(c.DropoutWrapper(c.GRUCell(DEPTH))), c.LSTMCell(4, num_proj=2)]
    ),
}


def _flat(tf: Any, *values: Any) -> list[Any]:
    """The tensors of nested tuples and lists, in order."""
    found: list[Any] = []
    for value in values:
        found += _flat(tf, *value) if isinstance(value, (list, tuple)) else [value]
    return found


def static(cell: str, lengths: bool) -> Program:
    def program(tf: Any) -> list[Any]:
        steps = tf.unstack(tf.constant(INPUTS), axis=1)
        more = {"sequence_length": LENGTHS} if lengths else {}
        return _flat(tf, *tf.nn.static_rnn(CELLS[cell](tf.nn.rnn_cell), steps, dtype=tf.float32, **more))

    return program


def dynamic(cell: str, lengths: bool, time_major: bool = False) -> Program:
    def program(tf: Any) -> list[Any]:
        inputs = INPUTS.transpose(1, 0, 2) if time_major else INPUTS
        more = {"sequence_length": LENGTHS} if lengths else {}
        outputs = tf.nn.dynamic_rnn(
            CELLS[cell](tf.nn.rnn_cell), tf.constant(inputs), dtype=tf.float32, time_major=time_major, **more
        )
        return _flat(tf, *outputs)

    return program


def _bidirectional_static(tf: Any) -> list[Any]:
    c = tf.nn.rnn_cell
    steps = tf.unstack(tf.constant(INPUTS), axis=1)
    outputs = tf.nn.static_bidirectional_rnn(
        c.GRUCell(3), c.BasicLSTMCell(2), steps, dtype=tf.float32, sequence_length=[5, 1, 3]
    )
    return _flat(tf, *outputs)


def _bidirectional_dynamic(lengths: bool) -> Program:
    def program(tf: Any) -> list[Any]:
        c = tf.nn.rnn_cell
        more = {"sequence_length": [5, 1, 3]} if lengths else {}
        outputs = tf.nn.bidirectional_dynamic_rnn(
            c.GRUCell(3), c.BasicLSTMCell(2), tf.constant(INPUTS), dtype=tf.float32, scope="both", **more
        )
        return _flat(tf, *outputs)

    return program


def _initial_state(tf: Any) -> list[Any]:
    c = tf.nn.rnn_cell
    cell = c.BasicLSTMCell(2)
    state = c.LSTMStateTuple(tf.ones([BATCH, 2]), tf.fill([BATCH, 2], 0.5))
    return _flat(tf, *tf.nn.dynamic_rnn(cell, tf.constant(INPUTS), initial_state=state))


def _shared_cell(tf: Any) -> list[Any]:
    cell = tf.nn.rnn_cell.GRUCell(DEPTH)
    with tf.variable_scope("a"):
        first, _ = tf.nn.dynamic_rnn(cell, tf.constant(INPUTS), dtype=tf.float32)
    with tf.variable_scope("b"):
        second, state = tf.nn.dynamic_rnn(cell, first, dtype=tf.float32)
    return [second, state]


def _reused_scope(tf: Any) -> list[Any]:
    outputs = []
    for reuse in (None, True):
        with tf.variable_scope("net", reuse=reuse):
            outputs += _flat(
                tf, *tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(3), tf.constant(INPUTS), dtype=tf.float32)
            )
    return outputs


def _cell_alone(tf: Any) -> list[Any]:
    cell = tf.nn.rnn_cell.LSTMCell(3, initializer=tf.ones_initializer())
    state = cell.zero_state(BATCH, tf.float32)
    outputs = []
    for t in range(2):
        output, state = cell(tf.constant(INPUTS[:, t]), state)
        outputs.append(output)
    with tf.variable_scope("other"):
        output, state = tf.nn.rnn_cell.GRUCell(2)(output, tf.zeros([BATCH, 2]), scope="named")
    return [*outputs, output, state]


def _own_cell(tf: Any) -> list[Any]:
    class Sum(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc]
        state_size = property(lambda self: DEPTH)
        output_size = property(lambda self: DEPTH)

        def call(self, inputs: Any, state: Any) -> Any:
            weight = tf.get_variable("weight", [DEPTH])
            new = state * weight + inputs
            return new, new

    cell = Sum()
    outputs = tf.nn.dynamic_rnn(cell, tf.constant(INPUTS), LENGTHS, dtype=tf.float32)
    assert [v.op.name for v in cell.trainable_variables] == ["rnn/sum/weight"]
    return _flat(tf, *outputs)


def _raw(tf: Any) -> list[Any]:
    cell = tf.nn.rnn_cell.LSTMCell(3)
    steps = tf.constant(INPUTS.transpose(1, 0, 2))
    inputs = tf.TensorArray(tf.float32, TIME).unstack(steps)
    lengths = tf.constant(LENGTHS)

    def loop(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        next_state = cell.zero_state(BATCH, tf.float32) if output is None else state
        finished = time >= lengths
        following = tf.cond(
            tf.reduce_all(finished), lambda: tf.zeros([BATCH, DEPTH]), lambda: inputs.read(time)
        )
        following.set_shape([BATCH, DEPTH])
        return finished, following, next_state, output, None

    emitted, state, _ = tf.nn.raw_rnn(cell, loop)
    return _flat(tf, emitted.stack(), state)


PROGRAMS: dict[str, Program] = {
    **{f"static_{cell}": static(cell, False) for cell in CELLS},
    **{f"static_{cell}_lengths": static(cell, True) for cell in ("gru", "lstm_all", "multi")},
    **{f"dynamic_{cell}": dynamic(cell, False) for cell in CELLS},
    **{f"dynamic_{cell}_lengths": dynamic(cell, True) for cell in ("basic", "lstm_all", "multi")},
    "dynamic_time_major": dynamic("basic_lstm", True, time_major=True),
    "bidirectional_static": _bidirectional_static,
    "bidirectional_dynamic": _bidirectional_dynamic(False),
    "bidirectional_dynamic_lengths": _bidirectional_dynamic(True),
    "initial_state": _initial_state,
    "shared_cell": _shared_cell,
    "reused_scope": _reused_scope,
    "cell_alone": _cell_alone,
    "own_cell": _own_cell,
    "raw": _raw,
}

ERRORS: dict[str, Program] = {
    "no_state": lambda tf: tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), tf.constant(INPUTS)),
    "no_cell": lambda tf: tf.nn.dynamic_rnn(3, tf.constant(INPUTS), dtype=tf.float32),
    "no_list": lambda tf: tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(2), 3, dtype=tf.float32),
    "empty": lambda tf: tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(2), [], dtype=tf.float32),
    "no_cells": lambda tf: tf.nn.rnn_cell.MultiRNNCell([]),
    "cells": lambda tf: tf.nn.rnn_cell.MultiRNNCell(tf.nn.rnn_cell.GRUCell(2)),
    "keep_prob": lambda tf: tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(2), 1.5),
    "integers": lambda tf: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(2), tf.zeros([1, 2, 3], tf.int32), dtype=tf.int32
    ),
    "depth": lambda tf: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(2), tf.placeholder(tf.float32, [1, 2, None]), dtype=tf.float32
    ),
    "lengths": lambda tf: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(2), tf.constant(INPUTS), [[1]], dtype=tf.float32
    ),
    "again": lambda tf: [
        tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), tf.constant(INPUTS), dtype=tf.float32) for _ in "ab"
    ],
}
