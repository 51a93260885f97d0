"""Which control edges order nothing, and what goes with them."""

from __future__ import annotations

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.master import ordering
from tensorfleet_service.master.ordering import needless_controls
from tensorfleet_service.master.prune import prune
from tensorfleet_service.master.purity import is_pure
from tests.service.graphs import graph


def needless(text: str, fetches: list[str]) -> list[str]:
    nodes = prune(graph(text), [], fetches, [])
    return sorted(f"{a.name} {b.name}" for a, b in needless_controls(nodes, is_pure))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What only computes can go: nobody sees when it ran.
        ("c = Fill(s, o)\nn = Neg(c)\nm = Neg(c; ^n)", ["n m"]),
        ("c = Fill(s, o)\nn = Neg(c)\ng = NoOp(^n, ^c)\nm = Neg(c; ^g)", ["g m"]),
        # What reads a variable, draws or checks is seen,
        ("v = VariableV2()\nr = Identity(v)\nc = Fill(s, o)\nm = Neg(c; ^r)", []),
        ("v = VariableV2()\nr = Neg(v)\nc = Fill(s, o)\nm = Neg(c; ^r)", []),
        ("r = RandomUniform(s) T=int32\nc = Fill(s, o)\nn = Neg(r)\nm = Neg(c; ^n)", []),
        ("c = Fill(s, o)\nn = CheckNumerics(c) message=x\nm = Neg(c; ^n)", []),
        ("v = VariableV2()\nc = Fill(s, o)\na = Assign(v, c)\ng = NoOp(^a)\nm = Neg(c; ^g)", []),
        # but not where the other waits for it anyway.
        ("v = VariableV2()\nr = Identity(v)\nn = Neg(r)\nk = Neg(n)\nm = Exp(r; ^k)", ["k m"]),
        ("v = VariableV2()\nr = Identity(v)\na = Assign(v, r; ^r)\nm = Neg(o)", ["r a"]),
        ("v = VariableV2()\nw = VariableV2()\nr = Identity(v)\nq = Identity(w)\nm = Exp(r; ^q)", []),
        ("v = VariableV2()\nr = Identity(v)\nm = Exp(o; ^r)\nn = Neg(r; ^m)", ["m n"]),
    ],
)
def test_control_edges(text: str, expected: list[str]) -> None:
    sources = "s = Const() dtype=int32 value=[2]\no = Const() value=1.0\n"
    fetches = [
        line.split(" ")[0] for line in text.splitlines() if "NoOp" not in line and "Variable" not in line
    ]
    assert needless(sources + text, fetches) == expected


def test_large_graphs_keep_their_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "v = VariableV2()\no = Const() value=1.0\nr = Identity(v)\nn = Neg(o)\nm = Neg(o; ^n)"
    assert needless(text, ["m", "r"]) == ["n m"]
    monkeypatch.setattr(ordering, "_MAX_BITS", 1)
    assert needless(text, ["m", "r"]) == []


def test_gradients_that_nobody_asked_for_are_not_computed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        w = tf.Variable(tf.ones([3, 2]))
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(train, {x: np.ones((4, 3))}, options=options, run_metadata=metadata)
        ran = [node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]
        assert len([name for name in ran if "MatMul" in name]) == 2  # forward, and the gradient of w
        np.testing.assert_allclose(session.run(w), np.full((3, 2), 1 - 0.1 * 2 * 3 * 4), rtol=1e-6)


def test_a_read_stays_before_the_update() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        before = v * 1.0
        with tf.control_dependencies([before * 2.0]):
            update = tf.assign_add(v, 1.0)
        session.run(tf.global_variables_initializer())
        for step in range(20):
            assert session.run([before, update]) == [1.0 + step, 2.0 + step]
