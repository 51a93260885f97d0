"""Names of `tf` that few programs use, beside TensorFlow's own: what they do and what they refuse."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

BOTH = pytest.mark.parametrize("tf", [fleet, real], ids=["fleet", "real"])


def outcome(function: Callable[[], Any]) -> Any:
    """What a function returns, or the type and text of its exception."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error)


def in_graph(tf: Any, function: Callable[[Any], Any]) -> Any:
    with tf.Graph().as_default():
        return function(tf)


def same(function: Callable[[Any], Any]) -> Any:
    """What a function gives with both libraries, which is the same."""
    ours, theirs = (outcome(functools.partial(in_graph, tf, function)) for tf in (fleet, real))
    np.testing.assert_equal(ours, theirs)
    return ours


def test_fact() -> None:
    def run(tf: Any) -> Any:
        fact = tf.user_ops.my_fact()
        return fact.op.type, fact.shape.ndims, tf.Session().run(fact)

    assert same(run) == ("Fact", None, b"0! == 1")


def test_kinds_of_numbers() -> None:
    for enum in (*range(1, 24), 101, 107):
        assert fleet.as_dtype(enum).is_numeric == real.as_dtype(enum).is_numeric, enum
    assert same(lambda tf: tf.GraphKeys.TRAINABLE_RESOURCE_VARIABLES)


def test_shapes_of_sparse_tensors() -> None:
    def run(tf: Any) -> Any:
        sparse = tf.sparse_placeholder(tf.float32)
        sparse.set_shape([2, None])
        sparse.set_shape([None, 3])
        return sparse.shape.as_list(), outcome(lambda: sparse.set_shape([3, 3]))

    shape, (kind, _) = in_graph(fleet, run)
    assert (shape, kind) == ([2, 3], "ValueError") == (in_graph(real, run)[0], in_graph(real, run)[1][0])


def test_rows_of_variables() -> None:
    def run(tf: Any, use_resource: bool) -> Any:
        variable = tf.Variable(np.arange(6.0).reshape(2, 3), use_resource=use_resource)
        delta = tf.IndexedSlices(tf.constant([[9.0], [8.0]], tf.float64), tf.constant([[0], [2]]))
        reads = [] if not use_resource else [variable.gather_nd([[0, 1]]), variable.sparse_read([1])]
        with tf.Session() as session:
            session.run(variable.initializer)
            before = session.run(reads)
            session.run(variable.batch_scatter_update(delta))
            refused = outcome(lambda: variable.batch_scatter_update(3))[0]
            return before, session.run(variable.read_value()), refused

    for use_resource in (False, True):
        ours, theirs = (
            in_graph(tf, functools.partial(run, use_resource=use_resource)) for tf in (fleet, real)
        )
        np.testing.assert_equal(ours[:2], theirs[:2])
        np.testing.assert_equal(ours[1], [[9, 1, 2], [3, 4, 8]])
        assert ours[2] == "TypeError"


@BOTH
@pytest.mark.parametrize("method", ["gather_nd", "sparse_read"])
def test_reads_that_only_resources_have(tf: Any, method: str) -> None:
    with tf.Graph().as_default():
        variable = tf.Variable([1.0], use_resource=False)
        with pytest.raises(AttributeError):
            getattr(variable, method)([0])


def test_operations_of_graphs() -> None:
    def run(tf: Any) -> Any:
        tf.add(tf.constant(1.0), 2.0)
        graph = tf.get_default_graph()
        definition = graph.op_def_for_type("Add")
        names = [argument.name for argument in definition.input_arg]
        return graph.num_operations(), [op.name for op in graph.operations], definition.name, names

    assert same(run)[0] == 3


def test_summaries_that_write() -> None:
    def run(tf: Any) -> Any:
        tf.summary.scalar("s", tf.constant(1.0))
        before = tf.summary.all_v2_summary_ops()
        tf.add_to_collection("_SUMMARY_V2", "an op")
        return before, tf.summary.all_v2_summary_ops()

    assert same(run) == ([], ["an op"])


def test_descriptions_of_summaries() -> None:
    def run(tf: Any) -> Any:
        node = tf.NodeDef(op="TensorSummary")
        node.attr["description"].s = b'{"typeHint": "numbers"}'
        refused = outcome(lambda: tf.summary.get_summary_description(tf.NodeDef(op="Add")))
        return tf.summary.get_summary_description(node).type_hint, refused

    assert same(run)[0] == "numbers"


def test_status() -> None:
    def ours(code: int) -> None:
        with fleet.errors.raise_exception_on_not_ok_status() as status:
            assert status.code == real.errors.OK
            status.code, status.message = code, "why"

    with real.errors.raise_exception_on_not_ok_status():
        assert ours(real.errors.OK) is None  # type: ignore[func-returns-value]
    for code in range(1, 17):
        expected = real.errors.exception_type_from_error_code(code).__name__
        assert outcome(functools.partial(ours, code)) == (expected, "why")


def test_messages_of_tasks(caplog: pytest.LogCaptureFixture) -> None:
    fleet.logging.TaskLevelStatusMessage("half done")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("ERROR", "half done")]


def test_cpu_targets() -> None:
    import platform

    assert fleet.test.is_cpu_target_available(platform.machine())
    assert real.test.is_cpu_target_available(platform.machine())
    for tf in (fleet, real):
        with pytest.raises(AssertionError, match="Unknown CPU target: abacus"):
            tf.test.is_cpu_target_available("abacus")


@BOTH
def test_decorator_of_tests(tf: Any) -> None:
    assert tf.test.with_eager_op_as_function(int) is int
    assert tf.test.with_eager_op_as_function(only_as_function=True)(int) is int


def wrapped(tf: Any, function: Any, name: str | None = None) -> Any:
    def wrapper(*args: Any) -> Any:
        return "wrapped", function(*args)

    return tf.flags.tf_decorator.make_decorator(function, wrapper, name, "says more")


@BOTH
def test_decorators(tf: Any) -> None:
    decorators = tf.app.flags.tf_decorator

    def add(x: int, y: int = 2) -> int:
        return x + y

    add.kept = 1  # type: ignore[attr-defined]
    once = wrapped(tf, add)
    twice = wrapped(tf, once, "outer")
    assert (twice(1), twice.__name__, twice.kept, twice.__doc__) == (
        ("wrapped", ("wrapped", 3)),
        "add",
        1,
        "says more",
    )
    assert inspect.signature(twice) == inspect.signature(add)
    found, target = decorators.unwrap(twice)
    assert ([d.decorator_name for d in found], target) == (["outer", "wrapped"], add)
    assert decorators.unwrap(add) == ([], add)
    assert decorators.rewrap(twice, add, max) is twice
    assert decorators.unwrap(twice)[1] is max
    assert once.__wrapped__ is max
    assert decorators.rewrap(min, min, max) is max


@BOTH
def test_decorators_with_a_state(tf: Any) -> None:
    class Counter(tf.flags.tf_decorator.TFDecorator):  # type: ignore[misc]
        calls = 0

        def __call__(self, *args: Any) -> Any:
            self.calls += 1
            return super().__call__(*args)

    spec = inspect.getfullargspec(lambda a, *, b=1: a)
    counter = Counter("count", max, decorator_argspec=spec)
    assert (counter(1, 2), counter.calls, counter.__name__, counter.__doc__) == (2, 1, "max", max.__doc__)
    assert str(inspect.signature(counter)) == "(a, *, b=1)"
    found, target = tf.flags.tf_decorator.unwrap(counter)
    assert (found, target) == ([counter], max)


def test_op_log(tmp_path: Path) -> None:
    def run(tf: Any) -> Any:
        image = tf.placeholder(tf.float32, [None, 3], name="image")
        w = tf.get_variable("w", [3, 2])
        tf.matmul(tf.ones([2, 3]), w, name="product")
        tf.matmul(image, w, name="unknown")
        own = tf.profiler.OpLogProto()
        own.log_entries.add(name="product", types=["mine"])
        found = {}
        for trace in (False, True):
            tf.profiler.write_op_log(None, str(tmp_path), own, add_trace=trace)
            log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
            entries = {e.name: (e.float_ops, list(e.types)) for e in log.log_entries}
            found[trace] = {name: entries.get(name) for name in ("w", "product", "unknown", "image")}
            [entry] = (e for e in log.log_entries if e.name == "product")
            texts = {log.id_to_string[t.function_id] for t in entry.code_def.traces}
            found[trace]["function"] = "test_op_log" in texts
        return found

    assert same(run)[True]["function"]
    refused = outcome(lambda: fleet.profiler.write_op_log(fleet.Graph(), str(tmp_path / "none")))
    assert refused[0] == "NotFoundError"
