"""Sessions without a server: whose arrays fetched values are, interrupts, limits, several devices."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet_service import inprocess
from tensorfleet_service.inprocess import InProcessTransport, own
from tensorfleet_service.kernels import registry
from tests.until import Call, until

TIMEOUT = 20.0


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


def transport(session: tf.Session) -> InProcessTransport:
    made = session._transport
    assert isinstance(made, InProcessTransport)
    return made


def config(cpus: int = 1, **fields: Any) -> Any:
    return tf.ConfigProto(device_count={"CPU": cpus, "GPU": 0}, **fields)


# -------------------------------------------------------------------------------------- whose arrays they are


def test_own_leaves_fresh_arrays_alone() -> None:
    values = [np.ones(3), np.arange(6).reshape(2, 3)[:, ::-1], np.float32(1)]
    addresses = [values[0].__array_interface__["data"], values[1].__array_interface__["data"]]
    kept = own(values)
    assert kept is values
    assert [value.__array_interface__["data"] for value in kept[:2]] == addresses


def test_own_copies_what_others_hold() -> None:
    held = np.ones(3)
    keeper = [np.ones(3)]
    assert not np.shares_memory(own([keeper[0]])[0], keeper[0])  # one other reference is enough
    for values in ([held], [held[1:]], [held.reshape(3, 1).T], [np.float32(1), held], [np.empty(2), held]):
        got = own(values)
        assert not any(np.shares_memory(value, held) for value in got)
    twice = [np.ones(3)] * 2
    one, other = own(twice)
    assert not np.shares_memory(one, other)
    base = np.ones((2, 3))
    views = [base[0], base[:, 1]]
    del base
    one, other = own(views)
    assert not np.shares_memory(one, other)


@pytest.mark.parametrize("cpus", [1, 2], ids=["one plan", "two plans"])
@pytest.mark.parametrize("view", [tf.identity, lambda t: tf.reshape(t, [3, 2]), tf.transpose])
def test_fetched_constants_are_copies(cpus: int, view: Callable[[Any], Any]) -> None:
    with tf.device(f"/cpu:{cpus - 1}"):
        constant = tf.constant(np.arange(6.0).reshape(2, 3))
        fetched = view(constant)
    with tf.device("/cpu:0"):
        other = tf.identity(fetched)
    with tf.Session(config=config(cpus)) as session:
        before = [value.copy() for value in session.run([fetched, other, constant])]
        for _ in range(3):
            values = session.run([fetched, other, constant])
            for value, expected in zip(values, before, strict=True):
                assert np.array_equal(value, expected)
            assert not any(np.shares_memory(values[i], values[i - 1]) for i in range(3))
            for value in values:
                value[...] = -1


@pytest.mark.parametrize("view", [tf.identity, lambda t: tf.reshape(t, [3, 2]), tf.transpose])
def test_fetched_variables_are_copies(view: Callable[[Any], Any]) -> None:
    variable = tf.Variable(np.arange(6.0).reshape(2, 3))
    fetched = view(variable)
    with tf.Session(config=config()) as session:
        session.run(variable.initializer)
        for fetches in ([fetched], [variable], [fetched, variable]) * 2:
            for value in session.run(fetches):
                value[...] = -1
        assert session.run(variable).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_fetched_variable_does_not_change_later() -> None:
    variable = tf.Variable(np.zeros(1000))
    update = tf.assign_add(variable, np.ones(1000)).op
    with tf.Session(config=config()) as session:
        session.run(variable.initializer)
        values = []
        for _ in range(5):
            values.append(session.run(variable))
            session.run(update)
        assert [set(value) for value in values] == [{0}, {1}, {2}, {3}, {4}]


@pytest.mark.parametrize(
    "view", [tf.identity, lambda t: tf.reshape(t, [3, 2]), tf.transpose, lambda t: t[1:]]
)
def test_fetched_feeds_are_copies(view: Callable[[Any], Any]) -> None:
    x = tf.placeholder(tf.float64, [2, 3])
    fetched = view(x)
    whole = np.arange(12.0).reshape(4, 3)
    with tf.Session(config=config()) as session:
        for given in (whole[:2], whole[1:3], np.ascontiguousarray(whole[2:])):
            expected = given.copy()
            value = session.run(fetched, {x: given})
            assert not np.shares_memory(value, given)
            value[...] = -1
            assert np.array_equal(given, expected)


def test_a_fed_tensor_that_is_fetched() -> None:
    x = tf.placeholder(tf.float64, [3])
    given = np.arange(3.0)
    with tf.Session(config=config()) as session:
        value, doubled = session.run([x, x + x], {x: given})
    assert value.tolist() == [0, 1, 2]
    assert doubled.tolist() == [0, 2, 4]


@pytest.mark.parametrize("view", [tf.negative, lambda t: tf.reshape(-t, [3, 2]), lambda t: tf.transpose(-t)])
def test_fresh_values_are_not_copied(monkeypatch: pytest.MonkeyPatch, view: Callable[[Any], Any]) -> None:
    made: list[int] = []

    def negative(x: Any) -> Any:
        value = -x
        made.append(value.__array_interface__["data"][0])
        return value

    monkeypatch.setitem(registry._factories, "Neg", lambda node: negative)
    x = tf.placeholder(tf.float64, [2, 3])
    fetched = view(x)
    with tf.Session(config=config()) as session:
        value = session.run(fetched, {x: np.ones((2, 3))})
    assert value.__array_interface__["data"][0] == made[-1]


# ------------------------------------------------------------------------------------- interrupts and limits


def interrupting(monkeypatch: pytest.MonkeyPatch, op: str) -> None:
    """Has the first step that runs the op be interrupted in it."""
    left = [KeyboardInterrupt()]

    def kernel(x: Any) -> Any:
        if left:
            raise left.pop()
        return x

    monkeypatch.setitem(registry._factories, op, lambda node: kernel)


@pytest.mark.parametrize("cpus", [1, 2], ids=["one plan", "two plans"])
@pytest.mark.parametrize("timeout", [0, 60_000], ids=["no limit", "limit"])
def test_an_interrupted_session_goes_on(monkeypatch: pytest.MonkeyPatch, cpus: int, timeout: int) -> None:
    interrupting(monkeypatch, "Square")
    x = tf.placeholder(tf.float32)
    with tf.device("/cpu:0"):
        y = tf.negative(x)
    with tf.device(f"/cpu:{cpus - 1}"):
        z = tf.square(y)
    options = tf.RunOptions(timeout_in_ms=timeout)
    with tf.Session(config=config(cpus)) as session:
        # Once, so that the plans are known to be short and the next step computes on this very thread.
        session.run(y, {x: 1})
        master = transport(session)
        signature = master.prepare(("Placeholder:0",), ("Square:0",), ())._signature
        for part in signature.parts:
            for plan in part.member._graphs[part.handle].plans:  # type: ignore[attr-defined]
                plan.seconds = 0.0
        with pytest.raises(KeyboardInterrupt):
            session.run(z, {x: 1}, options=options)
        assert master._session is not None
        assert not master._session._steps._running
        assert master._worker.steps == 0
        assert session.run(z, {x: 2}, options=options) == -2


class Gate:
    """A kernel that waits until the test lets it go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, op: str) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()
        monkeypatch.setitem(registry._factories, op, lambda node: self._kernel)

    def _kernel(self, x: Any) -> Any:
        self.entered.release()
        assert self.open.wait(TIMEOUT)
        return x


def test_a_step_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, "Square")
    x = tf.placeholder(tf.float32)
    with tf.device("/cpu:1"):
        y = tf.square(x)
    with tf.device("/cpu:0"):
        z = tf.negative(y)
    with tf.Session(config=config(2)) as session:
        with pytest.raises(errors.DeadlineExceededError, match=r"did not end within 0\.02 s"):
            session.run(z, {x: 1}, options=tf.RunOptions(timeout_in_ms=20))
        gate.open.set()
        assert session.run(z, {x: 2}) == -2
        master = transport(session)
        assert master._session is not None
        assert not master._session._steps._running


def test_the_limit_of_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, "Square")
    x = tf.placeholder(tf.float32)
    with tf.device("/cpu:1"):
        y = tf.square(x)
    with tf.device("/cpu:0"):
        z = tf.negative(y)
    with tf.Session(config=config(2, operation_timeout_in_ms=20)) as session:
        with pytest.raises(errors.DeadlineExceededError, match=r"did not end within 0\.02 s"):
            session.run(z, {x: 1})
        gate.open.set()


def test_closing_a_session_ends_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, "Square")
    x = tf.placeholder(tf.float32)
    with tf.device("/cpu:1"):
        y = tf.square(x)
    with tf.device("/cpu:0"):
        z = tf.negative(y)
    session = tf.Session(config=config(2))
    caught: list[Exception] = []

    def run() -> None:
        try:
            session.run(z, {x: 1})
        except Exception as e:
            caught.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    assert gate.entered.acquire(timeout=TIMEOUT)
    session.close()
    gate.open.set()
    thread.join(TIMEOUT)
    assert not thread.is_alive()
    assert [type(e) for e in caught] == [errors.CancelledError]
    with pytest.raises(RuntimeError, match="closed"):
        session.run(z, {x: 1})


# ------------------------------------------------------------------------------------- sessions and devices


def test_sessions_do_not_share_variables() -> None:
    variable = tf.Variable(1.0)
    increment = tf.assign_add(variable, 1.0)
    with tf.Session(config=config()) as one, tf.Session(config=config()) as other:
        one.run(variable.initializer)
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized"):
            other.run(variable)
        other.run(variable.initializer)
        one.run(increment)
        assert one.run(increment) == 3
        assert other.run(variable) == 1


def test_devices_exchange_tensors() -> None:
    x = tf.placeholder(tf.float32, [None])
    total, parts = x, []
    for i in range(12):
        with tf.device(f"/cpu:{i % 4}"):
            total = tf.negative(total) + float(i)
            parts.append(total)
    given = np.arange(5, dtype=np.float32)
    expected, value = [], given
    for i in range(12):
        value = -value + i
        expected.append(value)
    with tf.Session(config=config(4)) as session:
        assert len([d for d in session.list_devices() if d.device_type == "CPU"]) == 4
        for _ in range(30):
            for got, want in zip(session.run(parts, {x: given}), expected, strict=True):
                assert np.array_equal(got, want)
        master = transport(session)
        assert master._worker.steps == 0
        signature = next(iter(master._session._signatures._signatures.values()))  # type: ignore[union-attr]
        assert len({device for device, _ in signature.graphs}) == 4
        assert signature.direct is None


def test_threads_of_one_session() -> None:
    x = tf.placeholder(tf.float32)
    with tf.device("/cpu:1"):
        y = x * 2.0
    with tf.device("/cpu:0"):
        z = y + x
    wrong: list[Any] = []
    with tf.Session(config=config(2)) as session:
        session.run(z, {x: 0})

        def run(start: int) -> None:
            wrong.extend(i for i in range(start, start + 100) if session.run(z, {x: i}) != 3 * i)

        threads = [threading.Thread(target=run, args=(1000 * i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
            assert not thread.is_alive()
    assert not wrong


def test_an_error_leads_to_its_op_whatever_its_device() -> None:
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(tf.float32)
    with tf.device("/cpu:1"):
        z = tf.add(x, y, name="sum")
    with tf.device("/cpu:0"):
        w = tf.negative(z)
    with tf.Session(config=config(2)) as session:
        for _ in range(3):
            with pytest.raises(errors.InvalidArgumentError, match=r"\[2\] vs\. \[3\]") as caught:
                session.run(w, {x: np.ones(2), y: np.ones(3)})
            assert caught.value.op is z.op
        assert session.run(w, {x: 1, y: 2}) == -3


def test_a_partial_run() -> None:
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(tf.float32)
    with tf.device("/cpu:1"):
        a = x + 1.0
    b = a * y
    with tf.Session(config=config(2)) as session:
        handle = session.partial_run_setup([a, b], [x, y])
        assert session.partial_run(handle, a, {x: 2}) == 3
        assert session.partial_run(handle, b, {y: 4}) == 12


# ---------------------------------------------------------------------------- a server of this process


def test_a_server_of_this_process_is_reached_without_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    server = tf.train.Server.create_local_server()
    try:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None])
            v = tf.Variable([1.0, 2.0])
            y = v * x
            with tf.Session(server.target) as session:
                session.run(v.initializer)
                assert type(session._transport) is inprocess.MasterTransport
                fed = np.array([3, 4], np.float32)
                assert session.run(y, {x: fed}).tolist() == [3, 8]
                assert [device.name for device in session.list_devices()] == [
                    "/job:local/replica:0/task:0/device:CPU:0"
                ]
                value = session.run(v)
                value[:] = 0  # the caller's own
                assert session.run(v).tolist() == [1, 2]
                with pytest.raises(tf.errors.InvalidArgumentError, match="node mul"):
                    session.run(y, {x: [1, 2, 3]})
            monkeypatch.setenv("TENSORFLEET_TRANSPORT", "stream")
            with tf.Session(server.target) as session:  # another way to the same variables
                assert session.run(v).tolist() == [1, 2]
                assert type(session._transport) is not inprocess.MasterTransport
    finally:
        server.stop(1.0)


def test_a_session_outlives_neither_reset_nor_the_server() -> None:
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
        one = tf.constant(1) + 0
        session = tf.Session(server.target)
        assert session.run(one) == 1
        tf.Session.reset(server.target)
        with pytest.raises(tf.errors.AbortedError):
            session.run(one)
        session.close()
        session = tf.Session(server.target)
        assert session.run(one) == 1
        server.stop(1.0)
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
            session.run(one)
        session.close()
        assert inprocess.own_server(server.target.removeprefix("grpc://")) is None


def test_the_collector_may_free_a_session_while_the_workers_lock_is_held() -> None:
    """As it may run at any allocation, on a thread that holds any lock."""
    session = tf.Session(config=config())
    session.run(tf.constant(1.0))
    worker = transport(session)._worker
    cycle: list[Any] = [session]
    cycle.append(cycle)
    del session

    def collect() -> None:
        nonlocal cycle
        with worker._lock:
            del cycle
            gc.collect()

    Call(collect).result(TIMEOUT)
    until(lambda: worker.graphs == 0)


def test_a_forgotten_session_frees_its_variables_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        session = tf.Session(config=config())
        v = tf.Variable(tf.zeros([100]))
        session.run(v.initializer)
        worker = weakref.ref(transport(session)._worker)
        del session
        until(lambda: worker() is None)
    finally:
        gc.enable()


def test_a_servers_configuration_limits_the_steps_of_sessions_that_bring_none() -> None:
    limit = tf.ConfigProto(operation_timeout_in_ms=200)
    server = tf.train.Server.create_local_server(config=limit)
    try:
        with tf.Graph().as_default():
            never = tf.FIFOQueue(1, tf.float32).dequeue()
            with tf.Session(server.target) as session, pytest.raises(errors.DeadlineExceededError):
                session.run(never)
    finally:
        server.stop(1.0)


def test_what_an_earlier_step_wrote_into_its_metadata_is_gone() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        one, metadata = tf.constant(1), tf.RunMetadata()
        session.run(one, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
        assert len(metadata.partition_graphs) == 1
        session.run(one, run_metadata=metadata)
        assert not metadata.ByteSize()


def test_inputs_from_two_loops_are_told() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        value = tf.placeholder(tf.float32, [])
        one = tf.raw_ops.Enter(data=value, frame_name="one")
        two = tf.raw_ops.Enter(data=value, frame_name="two")
        both = tf.raw_ops.AddV2(x=one, y=two)
        assert graph.is_fetchable(both)
        with pytest.raises(errors.InvalidArgumentError, match="has inputs from different frames"):
            session.run(both, {value: 1.0})


def test_several_interactive_sessions_are_warned_of() -> None:
    first = tf.InteractiveSession()
    try:
        with pytest.warns(UserWarning, match="An interactive session is already active"):
            second = tf.InteractiveSession()
        second.close()
    finally:
        first.close()
