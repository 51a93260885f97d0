"""Sessions on a master that records what it is asked; and a few steps on the real one in this process."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.session import signatures
from tensorfleet.session.connect import connect
from tests.client.session.fake_transport import FakeTransport
from tests.until import until


@pytest.fixture
def x() -> Any:
    return tf.placeholder(tf.float32, [None, 2], name="x")


@pytest.fixture
def scalar() -> Any:
    return tf.placeholder(tf.int32, [], name="scalar")


def test_master_is_called_by_the_first_run_only(master: FakeTransport) -> None:
    y = tf.constant(1.0, name="y")
    session = tf.Session()
    assert master.calls == []
    assert session.run(y) == 7
    session.run(y)
    assert master.calls == [("create", ["y"])]
    assert master.prepared == [((), ("y:0",), ())]


def test_growth_is_sent_before_the_next_step_and_keeps_old_signatures(master: FakeTransport) -> None:
    y = tf.constant(1.0, name="y")
    session = tf.Session()
    session.run(y)
    z = tf.constant(2.0, name="z")
    session.run(y)
    session.run(z)
    assert master.calls == [("create", ["y"]), ("extend", ["z"])]
    assert master.prepared == [((), ("y:0",), ()), ((), ("z:0",), ())]


def test_order_of_feeds_and_kind_of_names_make_no_new_signature(
    master: FakeTransport, x: Any, scalar: Any
) -> None:
    y = tf.constant(1.0, name="y")
    session = tf.Session()
    ones = np.ones((1, 2), np.float32)
    session.run(y, {x: ones, scalar: 1})
    session.run(y, {scalar: 1, x: ones})
    session.run("y:0", {"scalar:0": 1, "x:0": ones})
    assert master.prepared == [(("scalar:0", "x:0"), ("y:0",), ())]
    assert [step["scalar:0"] for step in master.steps] == [1, 1, 1]
    assert all(step["x:0"] is ones for step in master.steps)


def test_feeds_are_of_the_tensors_dtype(master: FakeTransport, x: Any, scalar: Any) -> None:
    y = tf.constant(1.0)
    text = tf.placeholder(tf.string, [2])
    half = tf.placeholder(tf.bfloat16, [])
    session = tf.Session()
    session.run(y, {x: [[1, 2]], scalar: 2.9, text: ["é", b"b"], half: 1})
    step = master.steps[0]
    assert step["x:0"].dtype == np.float32
    assert step["x:0"].shape == (1, 2)
    assert type(step["scalar:0"]) is np.int32
    assert step["scalar:0"] == 2
    assert step[text.name].tolist() == ["é".encode(), b"b"]
    assert step[half.name].dtype == tf.bfloat16.as_numpy_dtype


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.float64(3), np.array(3), [[3]][0][0], True])
def test_scalars_are_fed_as_scalars_whatever_they_are(master: FakeTransport, value: Any) -> None:
    y, number = tf.constant(1.0), tf.placeholder(tf.float32, [], name="number")
    session = tf.Session()
    for _ in range(2):  # by the long way, and by the signature that is known then
        session.run(y, {number: value})
        assert type(master.steps[-1]["number:0"]) is np.float32
        assert master.steps[-1]["number:0"] == float(value)


def feed_error(fetch: Any, feed: dict[Any, Any]) -> str:
    session = tf.Session()
    with pytest.raises((TypeError, ValueError)) as first:
        session.run(fetch, feed)
    with pytest.raises(first.type) as second:
        session.run(fetch, feed)
    assert str(first.value) == str(second.value)
    return f"{first.type.__name__}: {first.value}"


def test_feed_errors_are_tensorflows(master: FakeTransport, graph: tf.Graph, x: Any, scalar: Any) -> None:
    y = tf.constant(1.0, name="y")
    assert feed_error(y, {x: [1, 2, 3]}) == (
        "ValueError: Cannot feed value of shape (3,) for Tensor x:0, which has shape (?, 2)"
    )
    assert feed_error(y, {x: y}).startswith("TypeError: The value of a feed cannot be a tf.Tensor object. ")
    assert feed_error(y, {scalar: 2**40}).startswith(
        "TypeError: Type of feed value 1099511627776 with type <class 'int'> is not compatible"
    )
    assert feed_error(y, {"nope:0": 1}).startswith(
        "TypeError: Cannot interpret feed_dict key as Tensor: The name 'nope:0' refers to a Tensor which"
    )
    assert feed_error(y, {1.5: 1}) == (
        "TypeError: Cannot interpret feed_dict key as Tensor: Can not convert a float into a Tensor."
    )
    graph.prevent_feeding(scalar)
    assert feed_error(y, {scalar: 1}) == "ValueError: Tensor scalar:0 may not be fed."


def test_nested_keys_are_fed_part_by_part(master: FakeTransport, x: Any, scalar: Any) -> None:
    y = tf.constant(1.0)
    session = tf.Session()
    session.run(y, {(x, (scalar,)): ([[1, 2]], (5,))})
    assert master.steps[0]["scalar:0"] == 5
    with pytest.raises(ValueError, match="Key had 2 elements, but value had 1 elements"):
        session.run(y, {(x, scalar): (1,)})


def test_fed_fetch_comes_back_without_a_step(master: FakeTransport, scalar: Any) -> None:
    y = tf.constant(1.0)
    session = tf.Session()
    fed, other = session.run([scalar, y], {scalar: 4})
    assert (fed.shape, fed, other) == ((), 4, 7)
    assert session.run(scalar, {scalar: 4}) == 4
    assert len(master.steps) == 1


def test_callable_takes_its_feeds_by_position(master: FakeTransport, x: Any, scalar: Any) -> None:
    y = tf.constant(1.0, name="y")
    session = tf.Session()
    run = session.make_callable({"y": y, "op": y.op}, [x, scalar])
    assert run([[1, 2]], 3) == {"y": 7, "op": None}
    assert master.steps[0]["scalar:0"] == 3
    assert session.make_callable(y)() == 7
    assert session.make_callable(y.op)() is None
    with pytest.raises(TypeError, match="Argument `feed_list` must be a list or tuple"):
        session.make_callable(y, {x: 1})  # type: ignore[arg-type]
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        run([[1, 2]], 3)


def test_options_go_along_and_metadata_comes_back(master: FakeTransport) -> None:
    y = tf.constant(1.0)
    session = tf.Session()
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=1500)
    assert session.run(y, options=options, run_metadata=metadata) == 7
    assert ("traced", tf.RunOptions.FULL_TRACE, 1.5) in master.calls
    assert metadata.step_stats.dev_stats[0].device == "fake"


def test_callable_from_options(master: FakeTransport, scalar: Any) -> None:
    from tensorfleet.proto.config_pb2 import CallableOptions

    tf.constant(1.0, name="y")
    session = tf.Session()
    run = session._make_callable_from_options(CallableOptions(feed=["scalar:0"], fetch=["y:0"]))
    assert run(3) == [7]
    assert master.steps[0]["scalar:0"] == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected 1 feed values, but got 0"):
        run()


def test_partial_runs(master: FakeTransport, scalar: Any) -> None:
    y = tf.constant(1.0, name="y")
    session = tf.Session()
    handle = session.partial_run_setup([y, y.op], [scalar])
    assert session.partial_run(handle, y, {scalar: 2}) == 7
    assert master.calls[1:] == [
        ("partial_run_setup", ("scalar:0",), ("y:0",), ("y",)),
        ("partial_run", "handle", {"scalar:0": 2}, ("y:0",)),
    ]
    with pytest.raises(RuntimeError, match="requires empty `target_list`"):
        session.partial_run(handle, y.op)


@pytest.mark.parametrize("names", [["y"], ["a", "y"], ["x", "y"], ["y", "y_S1"]])
def test_failure_names_the_operation_and_the_line_that_made_it(
    master: FakeTransport, names: list[str]
) -> None:
    tf.constant(1.0, name="x")
    y = tf.constant(1.0, name="y")
    session = tf.Session()
    message = "\n\t ".join(["Bad", *(f"[[{{{{node {name}}}}}]]" for name in names)])

    def fail() -> None:
        raise tf.errors.InvalidArgumentError(None, None, message)

    master.fail = fail
    for run in (lambda: session.run(y), session.make_callable(y), lambda: session.run(y)):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            run()
        assert caught.value.op is y.op
        assert caught.value.node_def == y.op.node_def
        assert "tests/client/session/test_session.py" in str(caught.value)


def test_closed_session_and_empty_graph(master: FakeTransport, graph: tf.Graph) -> None:
    with pytest.raises(RuntimeError, match="The Session graph is empty"):
        tf.Session().run("y:0")
    y = tf.constant(1.0)
    session = tf.Session()
    session.run(y)
    session.close()
    session.close()
    assert master.calls[-1] == ("close",)
    for call in (lambda: session.run(y), lambda: session.partial_run_setup(y), session.list_devices):
        with pytest.raises(RuntimeError, match=r"Attempted to use a closed Session\."):
            call()


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_forgotten_session_is_closed_on_another_thread(
    master: FakeTransport, monkeypatch: pytest.MonkeyPatch, no_collector: None
) -> None:
    """Without the collector: a session is no cycle of references."""
    closed: list[threading.Thread] = []
    monkeypatch.setattr(FakeTransport, "close", lambda _: closed.append(threading.current_thread()))
    session = tf.Session()
    session.run(tf.constant(1.0))
    session.run([tf.constant(1.0), tf.constant(2.0)])
    session.make_callable(tf.constant(1.0))()
    del session
    until(lambda: closed)
    assert closed[0] is not threading.current_thread()


def test_a_closed_session_is_not_closed_again(master: FakeTransport, no_collector: None) -> None:
    session = tf.Session()
    session.run(tf.constant(1.0))
    session.close()
    del session
    other = tf.Session()
    other.run(tf.constant(1.0))
    del other
    until(lambda: master.calls.count(("close",)) == 2)


def test_constructor_checks_its_arguments() -> None:
    with pytest.raises(TypeError, match=r'Did you do "Session\(config\)"'):
        tf.Session(tf.ConfigProto())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r'`graph` must be a tf\.Graph, but got "int"'):
        tf.Session(graph=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r'`config` must be a tf\.ConfigProto, but got "int"'):
        tf.Session(config=3)  # type: ignore[arg-type]
    with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
        tf.Session("bad://x")


def test_contexts_make_session_and_graph_the_default(master: FakeTransport) -> None:
    other = tf.Graph()
    assert tf.get_default_session() is None
    with tf.Session(graph=other) as session:
        assert tf.get_default_session() is session
        assert tf.get_default_graph() is other
        assert tf.constant(1.0).eval() == 7
        with pytest.raises(RuntimeError, match="not re-entrant"), session:
            pass
        with tf.Session().as_default() as inner:
            assert tf.get_default_session() is inner
        assert tf.get_default_session() is session
    assert tf.get_default_session() is None
    assert master.calls[-1] == ("close",)


def test_eval_needs_a_session_of_the_same_graph(master: FakeTransport) -> None:
    y = tf.constant(1.0)
    with pytest.raises(ValueError, match=r"using `eval\(\)`: No default session is registered"):
        y.eval()
    with pytest.raises(ValueError, match=r"using `run\(\)`: No default session is registered"):
        y.op.run()
    foreign = tf.Session(graph=tf.Graph())
    with pytest.raises(ValueError, match="Cannot use the given session to evaluate tensor"):
        y.eval(session=foreign)
    with (
        foreign.as_default(),
        pytest.raises(ValueError, match="Cannot use the default session to execute operation"),
    ):
        y.op.run()
    assert y.eval(session=tf.Session()) == 7


def test_interactive_session_is_the_default_until_it_is_closed(master: FakeTransport) -> None:
    session = tf.InteractiveSession()
    try:
        assert tf.get_default_session() is session
        assert tf.constant(1.0).eval() == 7
    finally:
        session.close()
    assert tf.get_default_session() is None


def test_a_session_that_cannot_be_made_is_made_by_a_later_run(master: FakeTransport) -> None:
    y = tf.constant(1.0)
    session = tf.Session()
    create = master.create

    def refuse(*_: Any) -> None:
        raise tf.errors.UnavailableError(None, None, "not yet")

    master.create = refuse  # type: ignore[method-assign]
    with pytest.raises(tf.errors.UnavailableError):
        session.run(y)
    master.create = create  # type: ignore[method-assign]
    assert session.run(y) == 7


def test_many_threads_share_a_session_while_the_graph_grows(master: FakeTransport) -> None:
    fixed = [tf.constant(float(i), name=f"c{i}") for i in range(4)]
    session = tf.Session()
    failures: list[BaseException] = []

    def work(i: int) -> None:
        try:
            for _ in range(200):
                assert session.run(fixed[i]) == 7
                assert session.run([fixed[i], fixed[0]]) == [7, 7]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for i in range(50):
        tf.constant(0.0, name=f"late{i}")
    for thread in threads:
        thread.join(60)
    session.run(fixed[0])
    assert failures == []
    sent = [name for call in master.calls if call[0] in ("create", "extend") for name in call[1]]
    assert sorted(sent) == sorted(f"c{i}" for i in range(4)) + sorted(f"late{i}" for i in range(50))


def test_devices(master: FakeTransport) -> None:
    (device,) = tf.Session().list_devices()
    assert (device.name, device.device_type, device.memory_limit_bytes, device.incarnation) == (
        "/device:CPU:0",
        "CPU",
        5,
        6,
    )
    assert repr(device) == "_DeviceAttributes(/device:CPU:0, CPU, 5, 6)"


def test_unreachable_server_is_an_error_with_its_address() -> None:
    config = tf.ConfigProto(operation_timeout_in_ms=300)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"No answer from 127\.0\.0\.1:9 within 0\.3 s"):
        connect("grpc://127.0.0.1:9", config)


class TestInProcess:
    """The same on the master of this process."""

    pytestmark = pytest.mark.usefixtures("service")

    @pytest.fixture
    def service(self) -> None:
        pytest.importorskip("tensorfleet_service")

    def test_steps(self) -> None:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = x * 2.0 + 1.0
        text = tf.constant("é")
        with tf.Session() as session:
            assert session.run(y, {x: [1, 2]}).tolist() == [3, 5]
            assert session.run({"y": [y, y.op]}, {x: [1]}) == {"y": [np.array([3], np.float32), None]}
            assert session.run(text) == "é".encode()
            assert type(session.run(tf.constant(3))) is np.int32
            assert session.make_callable(y, [x])([4]).tolist() == [9]

    def test_failure_in_a_step_names_the_line(self) -> None:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.add(x, tf.constant([1.0, 2.0]), name="sum")
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(y, {x: [1, 2, 3]})
        assert caught.value.op is y.op
        assert 'name="sum"' in str(caught.value)

    def test_devices(self) -> None:
        with tf.Session() as session:
            assert session.list_devices()[0].device_type == "CPU"


def test_a_session_remembers_so_many_signatures(
    master: FakeTransport, monkeypatch: pytest.MonkeyPatch, no_collector: None
) -> None:
    """A program may run ever other sets of tensors, for days."""
    monkeypatch.setattr(signatures, "REMEMBERED", 3)
    session = tf.Session()
    tensors = [tf.constant(float(i), name=f"c{i}") for i in range(6)]
    for i, tensor in enumerate(tensors):
        master.values[tensor.name] = np.float32(i)
    for _ in range(2):
        for i, tensor in enumerate(tensors):
            assert session.run(tensor) == i
            assert session.run([tensor, tensors[0]]) == [i, 0]
    known = session._signatures
    assert len(known.cache) == len(known._alive) == len(known._signatures) == 3
    assert session.run(tensors[-1]) == 5
    before = len(master.prepared)
    session.run([tensors[-1], tensors[0]])
    assert len(master.prepared) == before, "the last ones are remembered"


def test_what_a_session_forgets_is_not_kept_alive(
    master: FakeTransport, graph: tf.Graph, no_collector: None
) -> None:
    class Table:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def _as_graph_element(self) -> Any:
            return self.tensor

    session = tf.Session()
    table = Table(tf.constant(1.0))
    session.run([table])
    alive = weakref.ref(table)
    del table
    assert alive() is not None, "no other object may have its id"
    graph.prevent_fetching(tf.constant(2.0).op)
    assert alive() is None
