"""Branches that are never taken, and the switches of the rewrites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.graph.apply import apply_op
from tensorfleet.proto import config_pb2
from tensorfleet.proto.rewriter_config_pb2 import RewriterConfig
from tensorfleet_service.executor.evaluate import evaluate_node
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.master.optimize import optimize
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tensorfleet_service.master.rewrites import MAX_FOLDED_BYTES, MAX_FOLDED_TOTAL_BYTES, Rewrites
from tests.service.master.test_optimize import DEVICES
from tests.service.master.test_prune import check_order


def rewritten(
    fetches: list[tf.Tensor], rewrites: Rewrites | None = None, feeds: tuple[str, ...] = ()
) -> list[Node]:
    definition = SessionGraph()
    definition.extend(fetches[0].graph.as_graph_def())
    nodes = prune(definition, feeds, [fetch.name for fetch in fetches], [])
    place(nodes, DEVICES, DEVICES[0])
    result = optimize(nodes, evaluate_node, rewrites or Rewrites())
    check_order(result)
    return result


def ops(nodes: list[Node]) -> set[str]:
    return {node.op for node in nodes} - {"Const", "Placeholder", "_Retval", "_Arg"}


def run(fetch: Any, feed: dict[Any, Any] | None = None, **rewrites: int) -> Any:
    config = config_pb2.ConfigProto()
    for key, value in rewrites.items():
        setattr(config.graph_options.rewrite_options, key, value)
    with tf.Session(config=config) as session:
        return session.run(fetch, feed)


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_that_is_never_taken_is_dropped(taken: bool) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(tf.constant(1) < tf.constant(2 if taken else 0), lambda: tf.exp(x), lambda: tf.sin(x) + 1.0)
    assert ops(rewritten([y])) == ({"Exp"} if taken else {"Sin", "AddV2"})
    expected = np.exp(np.float32(2)) if taken else np.sin(np.float32(2)) + np.float32(1)
    assert run(y, {x: 2.0}) == run(y, {x: 2.0}, disable_meta_optimizer=True) == expected


def test_what_only_the_dropped_branch_needs_is_dropped() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    costly = tf.cos(x)
    y = tf.cond(tf.constant(False), lambda: costly, lambda: x * 2.0)
    assert ops(rewritten([y])) == {"Mul"}


def test_a_branch_inside_of_a_branch_is_decided_after_it() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(
        tf.constant(True),
        lambda: tf.cond(tf.constant(2) > 3, lambda: tf.exp(x), lambda: tf.sin(x)),
        lambda: x,
    )
    assert ops(rewritten([y])) == {"Sin"}


def test_the_branches_of_a_dynamic_predicate_stay_around_a_decided_one() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    inner = tf.constant(True)
    y = tf.cond(x > 0, lambda: tf.cond(inner, lambda: tf.exp(x), lambda: tf.sin(x)), lambda: tf.cos(x))
    for value in (1.0, -1.0):
        assert run(y, {x: value}) == run(y, {x: value}, loop_optimization=RewriterConfig.OFF)


def test_changes_of_the_dropped_branch_do_not_happen_and_those_of_the_other_do() -> None:
    v = tf.get_variable("v", [], tf.int32, tf.zeros_initializer())
    y = tf.cond(tf.constant(True), lambda: tf.assign_add(v, 1), lambda: tf.assign_add(v, 10))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y) == 1
        assert session.run(v) == 1


def test_gradients_through_a_decided_branch() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(tf.constant(True), lambda: x * x, lambda: tf.exp(x))
    grad = tf.gradients(y, x)[0]
    assert "Switch" not in ops(rewritten([grad]))
    assert run(grad, {x: 3.0}) == 6.0


def test_the_index_of_the_merged_input() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    no, yes = apply_op("Switch", x, tf.constant(True))
    value, index = apply_op("Merge", [tf.exp(no), tf.sin(yes)])
    assert ops(rewritten([value, index])) == {"Sin"}
    assert run([value, index], {x: 1.0}) == [np.sin(np.float32(1)), 1]


def test_a_merge_that_waits_for_a_node_that_never_runs_hands_on_its_live_input() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    no, yes = apply_op("Switch", x, tf.constant(True))
    branches = [tf.exp(no), tf.sin(yes)]
    with tf.control_dependencies([tf.cos(no)]):
        value, _ = apply_op("Merge", branches)
    assert ops(rewritten([value])) == {"Sin"}
    assert run(value, {x: 1.0}) == run(value, {x: 1.0}, disable_meta_optimizer=True) == np.sin(np.float32(1))


def test_what_changes_after_such_a_merge_is_not_lost() -> None:
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    no, yes = apply_op("Switch", tf.constant(3.0), tf.constant(True))
    branches = [tf.exp(no), tf.identity(yes)]
    with tf.control_dependencies([tf.cos(no)]):
        value, _ = apply_op("Merge", branches)
    change = tf.assign(v, value).op
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(change)
        assert session.run(v) == 3.0


def test_an_index_that_nobody_needs_leaves_no_node() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(tf.constant(True), lambda: tf.exp(x), lambda: tf.sin(x))
    z = tf.cond(x > 0.0, lambda: x, lambda: -x)  # with which control edges stay as they are
    kept = rewritten([y + z])
    assert not [node.name for node in kept if node.name.startswith("_index_")]
    assert not [node.name for node in kept if node.op == "Identity" and node.name.startswith("cond/")]


def test_constants_that_are_copied_later_have_names_of_their_own() -> None:
    with tf.device(DEVICES[0]):
        c, x = tf.constant(3.0), tf.placeholder(tf.float32, [])
        _, taken = apply_op("Switch", c, tf.constant(True))
    with tf.device(DEVICES[1]):
        a = x + c
    with tf.device(DEVICES[2]):
        b = x + taken  # of the constant itself, once the Switch is gone
    kept = rewritten([a, b])  # which checks that no name occurs twice
    assert len([node.name for node in kept if node.name.startswith("_copy_")]) == 2


def test_the_bound_on_folded_values_holds_for_what_is_folded_later() -> None:
    x = tf.placeholder(tf.float32, [100, 10])
    y = tf.cond(tf.constant(True), lambda: x, lambda: -x)
    kept = rewritten(
        [y, *(tf.fill([100, 10], float(i)) for i in range(20))], Rewrites(max_total_bytes=20_000)
    )
    assert sum(node.attrs["value"].nbytes for node in kept if node.op == "Const") < 25_000


def test_a_fetched_dead_value_is_an_error_as_before() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    dead, _ = apply_op("Switch", x, tf.constant(True))
    with pytest.raises(errors.InvalidArgumentError, match="does not have value"):
        run(tf.exp(dead), {x: 1.0})


def test_a_fed_predicate_decides_in_the_step() -> None:
    x, pred = tf.placeholder(tf.float32, []), tf.constant(True)
    y = tf.cond(pred, lambda: x + 1.0, lambda: x - 1.0)
    with tf.Session() as session:
        assert session.run(y, {x: 1.0}) == 2.0
        assert session.run(y, {x: 1.0, pred: False}) == 0.0


def test_a_loop_beside_a_decided_branch_and_one_inside_of_it() -> None:
    x = tf.placeholder(tf.float32, [], name="x")

    def loop(start: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [0, start])[1]

    y = tf.cond(tf.constant(False), lambda: x, lambda: loop(x)) + loop(x)
    assert run(y, {x: 1.0}) == run(y, {x: 1.0}, disable_meta_optimizer=True) == 16.0
    z = tf.cond(tf.constant(True), lambda: x, lambda: loop(x))
    assert ops(rewritten([z])) <= {"Identity"}
    inside = tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.cond(tf.constant(True), lambda: a + 1.0, lambda: a - 1.0)),
        [0, x],
    )[1]
    assert run(inside, {x: 1.0}) == 4.0


# Folding


def test_folded_values_are_those_of_the_step_nan_included() -> None:
    a = tf.constant([0.0, -0.0, np.nan, np.inf, 1e-40], tf.float32)
    fetches = [a / 0.0, a * -1.0, tf.maximum(a, 0.0), tf.minimum(a, 0.0), tf.sqrt(a), a + 1e-45, tf.tanh(a)]
    assert ops(rewritten(fetches)) == set()
    folded, computed = run(fetches), run(fetches, disable_meta_optimizer=True)
    for one, other in zip(folded, computed, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    "build",
    [
        lambda: tf.random_uniform([2], seed=1),
        lambda: tf.random_normal([2]),
        lambda: tf.random_shuffle(tf.constant([1, 2, 3]), seed=3),
        lambda: tf.py_func(lambda v: v + 1, [tf.constant(1)], tf.int64),
        lambda: tf.Print(tf.constant(1.0), [1.0]),
        lambda: tf.timestamp() if hasattr(tf, "timestamp") else tf.random_uniform([1]),
    ],
)
def test_what_has_effects_or_is_random_is_never_folded(build: Callable[[], tf.Tensor]) -> None:
    fetch = build()
    assert ops(rewritten([fetch]))


def test_random_numbers_differ_from_step_to_step() -> None:
    r = tf.random_uniform([], seed=1) + tf.constant(1.0)
    with tf.Session() as session:
        assert session.run(r) != session.run(r)


def test_control_inputs_with_effects_are_kept() -> None:
    v = tf.get_variable("v", [], tf.int32, tf.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([v.assign_add(1)]):
        folded = tf.constant(1) + tf.constant(2)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(folded) == 3
        assert session.run(v) == 1


def test_folded_nodes_can_be_fed_and_fetched() -> None:
    a = tf.constant(1.0) + tf.constant(2.0)
    b = a * 10.0
    with tf.Session() as session:
        assert session.run([a, b]) == [3.0, 30.0]
        assert session.run(b, {a: 5.0}) == 50.0
        assert session.run([a, b]) == [3.0, 30.0]
    c = tf.placeholder_with_default(tf.constant(2.0), []) + 1.0
    assert run(c) == 3.0
    assert run(c, {c.op.inputs[0]: 4.0}) == 5.0


def test_a_fetched_folded_value_belongs_to_the_caller() -> None:
    a = tf.constant([1.0]) + tf.constant([2.0])
    with tf.Session() as session:
        session.run(a)[0] = 7.0
        assert session.run(a).tolist() == [3.0]


def test_a_failing_constant_fails_in_the_step() -> None:
    bad = tf.gather(tf.constant([1.0, 2.0]), tf.constant(1) + tf.constant(2))
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match="is not in"):
        session.run(bad)


def test_all_folded_values_together_are_bounded() -> None:
    fetches = [tf.fill([100, 10], float(i)) + 1.0 for i in range(10)]
    kept = rewritten(fetches, Rewrites(max_total_bytes=20_000))
    assert sum(node.attrs["value"].nbytes for node in kept if node.op == "Const") < 30_000
    assert {"Fill", "AddV2"} <= ops(kept)
    assert ops(rewritten(fetches)) == set()


def test_each_folded_value_is_bounded_as_asked() -> None:
    y = tf.fill([100], 1.0)
    assert ops(rewritten([y], Rewrites(max_bytes=399))) == {"Fill"}
    assert ops(rewritten([y], Rewrites(max_bytes=400))) == set()


# Switches


def test_the_switches_of_a_configuration() -> None:
    assert Rewrites.of(config_pb2.GraphOptions()) == Rewrites()
    for field, name in (
        ("constant_folding", "fold"),
        ("common_subgraph_elimination", "merge"),
        ("loop_optimization", "branches"),
        ("dependency_optimization", "dependencies"),
        ("arithmetic_optimization", "arithmetic"),
        ("remapping", "fuse"),
    ):
        options = config_pb2.GraphOptions()
        setattr(options.rewrite_options, field, RewriterConfig.OFF)
        assert Rewrites.of(options) == Rewrites(**{name: False})
    options = config_pb2.GraphOptions()
    options.optimizer_options.opt_level = -1
    assert not Rewrites.of(options).any
    options = config_pb2.GraphOptions()
    options.rewrite_options.disable_meta_optimizer = True
    assert not Rewrites.of(options).any
    options = config_pb2.GraphOptions()
    for given, used in ((500, 500), (1 << 60, MAX_FOLDED_TOTAL_BYTES), (-1, MAX_FOLDED_BYTES)):
        options.optimizer_options.max_folded_constant_in_bytes = given
        assert Rewrites.of(options).max_bytes == used


def test_each_switch_leaves_its_nodes_and_the_values() -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    folded = tf.constant(1.0) + tf.constant(2.0)
    twice = tf.exp(x) + tf.exp(x)
    decided = tf.cond(tf.constant(True), lambda: tf.sin(x), lambda: tf.cos(x))
    y = tf.identity(twice * folded) + decided
    everything = rewritten([y])
    assert ops(everything) == {"Exp", "AddV2", "Mul", "Sin"}

    def count(op: str, **switches: bool) -> int:
        return [node.op for node in rewritten([y], Rewrites(**switches))].count(op)

    assert (count("Exp"), count("Exp", merge=False)) == (1, 2)
    assert (count("AddV2"), count("AddV2", fold=False)) == (2, 3)
    assert (count("Switch"), count("Switch", branches=False)) == (0, 2)
    assert (count("Identity"), count("Identity", dependencies=False) > 0) == (0, True)
    value = np.array([1.0, -2.0, 3.0], np.float32)
    expected = run(y, {x: value}).tobytes()
    for field in ("constant_folding", "common_subgraph_elimination", "loop_optimization"):
        assert run(y, {x: value}, **{field: RewriterConfig.OFF}).tobytes() == expected
    for field in ("dependency_optimization", "arithmetic_optimization"):
        assert run(y, {x: value}, **{field: RewriterConfig.OFF}).tobytes() == expected
