"""Errors that the unmodified TensorFlow client is told, after which the servers serve on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

from tensorfleet.proto import master_pb2
from tests.compat.cluster import Cluster

tf.disable_v2_behavior()

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

CALL_SECONDS = 20.0


@pytest.fixture(autouse=True)
def _fresh_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture(autouse=True)
def _still_serving(local: Cluster) -> Iterator[None]:
    """After each test both tasks compute."""
    yield
    with tf.Graph().as_default():
        with tf.device("/job:local/task:1"):
            x = tf.constant(2)
        with tf.device("/job:local/task:0"):
            y = x + 300
        with tf.Session(
            local.target("local"), config=tf.ConfigProto(operation_timeout_in_ms=30_000)
        ) as session:
            assert session.run(y) == 302


def failure(target: str, program: Callable[[tf.Session], Any]) -> tf.errors.OpError:
    with tf.Session(target) as session, pytest.raises(tf.errors.OpError) as caught:
        program(session)
    return caught.value


def core(error: tf.errors.OpError) -> str:
    """The sentence of an error's message, without the client's account of where the op was made."""
    lines = error.message.replace("Graph execution error:\n\n", "").splitlines()
    marked = [i for i, line in enumerate(lines) if line.startswith("Node: ")]
    if marked:
        lines = lines[marked[-1] + 1 :]
    sentence = next(line for line in lines if line and not line.startswith("From /job:"))
    # What follows names a type of TensorFlow's runtime, in the form of its compiler.
    return sentence.split(" Debug info: ")[0]


# Programs that fail: each returns what to run, and the feeds.


def uninitialized_reference() -> Any:
    return tf.Variable(1.0, name="v", use_resource=False) + 1, {}


def uninitialized_fetched() -> Any:
    return tf.Variable(1.0, name="v", use_resource=False), {}


def uninitialized_resource() -> Any:
    return tf.Variable(1.0, name="w", use_resource=True) + 1, {}


def unfed_placeholder() -> Any:
    return tf.placeholder(tf.float32, [2]) * 2, {}


def unfed_placeholder_without_shape() -> Any:
    return tf.placeholder(tf.string, name="text"), {}


def different_shapes() -> Any:
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    return tf.add(x, y, name="sum"), {x: [1, 2], y: [1, 2, 3]}


def matrix_sizes() -> Any:
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    return tf.matmul(x, y, name="product"), {x: np.ones((2, 3)), y: np.ones((2, 3))}


def reshape_size() -> Any:
    x = tf.placeholder(tf.float32, name="x")
    return tf.reshape(x, [2, 2], name="square"), {x: [1, 2, 3]}


def division_by_zero() -> Any:
    x = tf.placeholder(tf.int32, [], name="x")
    return tf.floordiv(7, x, name="quotient"), {x: 0}


def index_out_of_range() -> Any:
    x = tf.placeholder(tf.int32, name="i")
    return tf.gather([1.0, 2.0], x, name="chosen"), {x: [0, 5]}


def slice_out_of_range() -> Any:
    size = tf.placeholder(tf.int32, [1], name="size")
    return tf.slice([1.0, 2.0], [0], size, name="part"), {size: [5]}


def failed_check() -> Any:
    x = tf.placeholder(tf.float32, name="x")
    return tf.check_numerics(x, "is it finite", name="check"), {x: [np.nan]}


def wrong_concat() -> Any:
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    return tf.concat([x, y], 0, name="joined"), {x: np.ones((2, 3)), y: np.ones((2, 4))}


PROGRAMS = [
    uninitialized_reference,
    uninitialized_fetched,
    uninitialized_resource,
    unfed_placeholder,
    unfed_placeholder_without_shape,
    different_shapes,
    matrix_sizes,
    reshape_size,
    division_by_zero,
    index_out_of_range,
    slice_out_of_range,
    failed_check,
    wrong_concat,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("task", [0, 1])
def test_failing_ops(local: Cluster, program: Callable[[], Any], task: int) -> None:
    """Class, sentence and op are those of TensorFlow's own session, on the master's task and on another."""
    fetch, feeds = program()
    expected = failure("", lambda session: session.run(fetch, feeds))
    with tf.Graph().as_default(), tf.device(f"/job:local/task:{task}"):
        fetch, feeds = program()
        ours = failure(local.target("local"), lambda session: session.run(fetch, feeds))
    assert type(ours) is type(expected)
    assert core(ours) == core(expected)
    if (
        expected.op is None
    ):  # TensorFlow blames the node that it has made for the fetch, ours the fetched node
        assert ours.op is None or ours.op.name == "v"
    else:
        assert ours.op is not None
        assert ours.op.name == expected.op.name


def test_the_session_goes_on_after_an_error(local: Cluster) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/job:local/task:1"):
        y = x + 1
    with tf.Session(local.target("local")) as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(y)
            assert (
                "You must feed a value for placeholder tensor 'Placeholder' with dtype float and shape [2]"
                in str(caught.value)
            )
            assert caught.value.op is x.op
            np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), [2, 3])


@pytest.mark.parametrize("device", ["/job:worker/task:7", "/job:local/task:9", "/job:local/task:0/gpu:5"])
def test_device_that_is_not_there(local: Cluster, device: str) -> None:
    with tf.device(device):
        x = tf.constant(1, name="far")
    error = failure(local.target("local"), lambda session: session.run(x))
    assert type(error) is tf.errors.InvalidArgumentError
    assert error.op is x.op
    for index in range(2):
        assert f"/job:local/replica:0/task:{index}/device:CPU:0" in error.message


def test_unknown_op_in_a_graph_def(local: Cluster) -> None:
    """A node of an op type that TensorFlow has and our registry lacks."""
    x = tf.raw_ops.UnicodeScript(input=tf.constant([65]), name="s")
    error = failure(local.target("local"), lambda session: session.run(x))
    assert type(error) is tf.errors.NotFoundError
    assert "Op type not registered 'UnicodeScript'" in error.message
    assert error.op is x.op


def test_closed_session(local: Cluster) -> None:
    x = tf.constant(1)
    session = tf.Session(local.target("local"))
    session.run(x)
    session.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(x)


def test_step_with_a_timeout(local: Cluster) -> None:
    """A long step ends at its deadline, and others run beside it."""
    with tf.device("/job:local/task:1"):
        x = tf.constant(1) + 1
    with tf.Session(local.target("local")) as session:
        product = tf.constant(np.ones((3000, 3000), np.float64))
        for _ in range(8):
            product = tf.matmul(product, product) / 3000.0
        with ThreadPoolExecutor(1) as executor:
            step = executor.submit(session.run, product.op, options=tf.RunOptions(timeout_in_ms=300))
            assert session.run(x) == 2
            with pytest.raises(tf.errors.DeadlineExceededError):
                step.result(CALL_SECONDS)


def test_session_creation_without_the_other_task(local: Cluster) -> None:
    """Device filters leave out a task; without them a cluster that lacks a task says which."""
    with tf.device("/job:local/task:1"):
        x = tf.constant(1)
    config = tf.ConfigProto(device_filters=["/job:local/task:0"])
    with tf.Session(local.target("local"), config=config) as session:
        assert [d.name for d in session.list_devices()] == ["/job:local/replica:0/task:0/device:CPU:0"]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(x)


# Raw calls


@pytest.fixture
def channel(local: Cluster) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(local.jobs["local"][0]) as opened:
        yield opened


def call(channel: grpc.Channel, method: str, request: bytes) -> bytes:
    stub = channel.unary_unary(f"/tensorflow.MasterService/{method}")
    answer: bytes = stub(request, timeout=CALL_SECONDS)
    return answer


def refused(channel: grpc.Channel, method: str, request: bytes) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call(channel, method, request)
    return caught.value.code(), caught.value.details()


def create(channel: grpc.Channel) -> str:
    request = master_pb2.CreateSessionRequest()
    request.graph_def.ParseFromString(tf.get_default_graph().as_graph_def().SerializeToString())
    answer = call(channel, "CreateSession", request.SerializeToString())
    return master_pb2.CreateSessionResponse.FromString(answer).session_handle


METHODS = [
    "CreateSession",
    "ExtendSession",
    "RunStep",
    "PartialRunSetup",
    "CloseSession",
    "ListDevices",
    "Reset",
    "MakeCallable",
    "RunCallable",
    "ReleaseCallable",
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\x0a\xff\x01abc"], ids=["tag", "length"])
def test_garbage_bytes(channel: grpc.Channel, method: str, data: bytes) -> None:
    code, _ = refused(channel, method, data)
    assert code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.INVALID_ARGUMENT)


def test_garbage_graph(channel: grpc.Channel) -> None:
    request = master_pb2.CreateSessionRequest()
    request.graph_def.node.add(name="a", op="Identity", input=["b"])
    code, details = refused(channel, "CreateSession", request.SerializeToString())
    assert code is grpc.StatusCode.NOT_FOUND
    assert "No attr named 'T'" in details
    request.graph_def.node[0].attr["T"].type = 1
    code, details = refused(channel, "CreateSession", request.SerializeToString())
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "Unknown input node 'b'" in details
    request.graph_def.node[0].input[0] = "a"
    code, details = refused(channel, "CreateSession", request.SerializeToString())
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "cycle" in details


@pytest.mark.parametrize("handle", ["", "nobody"])
def test_unknown_session_handle(channel: grpc.Channel, handle: str) -> None:
    for method, request in [
        ("ExtendSession", master_pb2.ExtendSessionRequest(session_handle=handle)),
        ("RunStep", master_pb2.RunStepRequest(session_handle=handle)),
        ("PartialRunSetup", master_pb2.PartialRunSetupRequest(session_handle=handle)),
        ("CloseSession", master_pb2.CloseSessionRequest(session_handle=handle)),
        ("MakeCallable", master_pb2.MakeCallableRequest(session_handle=handle)),
        ("RunCallable", master_pb2.RunCallableRequest(session_handle=handle)),
        ("ReleaseCallable", master_pb2.ReleaseCallableRequest(session_handle=handle)),
    ]:
        code, details = refused(channel, method, request.SerializeToString())
        assert code is grpc.StatusCode.ABORTED, method
        assert "is not found" in details, method


def test_wrong_graph_version(channel: grpc.Channel) -> None:
    tf.constant(1)
    handle = create(channel)
    request = master_pb2.ExtendSessionRequest(session_handle=handle, current_graph_version=77)
    code, details = refused(channel, "ExtendSession", request.SerializeToString())
    assert code is grpc.StatusCode.ABORTED
    assert "Expected" in details or "version" in details
    call(channel, "CloseSession", master_pb2.CloseSessionRequest(session_handle=handle).SerializeToString())


def test_repeated_request_id(channel: grpc.Channel) -> None:
    tf.constant(1, name="c")
    handle = create(channel)
    request = master_pb2.RunStepRequest(
        session_handle=handle, fetch=["c:0"], request_id=12345, store_errors_in_response_body=True
    ).SerializeToString()
    first = master_pb2.RunStepResponse.FromString(call(channel, "RunStep", request))
    assert first.tensor[0].name == "c:0"
    second = master_pb2.RunStepResponse.FromString(call(channel, "RunStep", request))
    assert second.status_code == tf.errors.ABORTED
    assert not second.tensor
    callable_request = master_pb2.MakeCallableRequest(session_handle=handle, request_id=777)
    callable_request.options.fetch.append("c:0")
    call(channel, "MakeCallable", callable_request.SerializeToString())
    code, _ = refused(channel, "MakeCallable", callable_request.SerializeToString())
    assert code is grpc.StatusCode.ABORTED


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"fetch": ["nowhere:0"]}, "nowhere"),
        ({"fetch": ["c:7"]}, "c:7"),
        ({"target": ["nowhere"]}, "nowhere"),
        ({"fetch": ["::"]}, "::"),
    ],
)
def test_unknown_names(channel: grpc.Channel, fields: dict[str, Any], text: str) -> None:
    """The message names what is not there: in the body where the client asks for that, else in the status."""
    tf.constant(1, name="c")
    handle = create(channel)
    request = master_pb2.RunStepRequest(session_handle=handle, store_errors_in_response_body=True, **fields)
    answer = master_pb2.RunStepResponse.FromString(call(channel, "RunStep", request.SerializeToString()))
    assert answer.status_code in (tf.errors.INVALID_ARGUMENT, tf.errors.NOT_FOUND)
    assert text in answer.status_error_message
    request.store_errors_in_response_body = False
    code, details = refused(channel, "RunStep", request.SerializeToString())
    assert code.value[0] == answer.status_code
    assert text in details


def test_wrong_feeds(channel: grpc.Channel) -> None:
    tf.multiply(tf.placeholder(tf.float32, [2], name="p"), 2.0, name="q")
    handle = create(channel)
    two = tf.TensorShape([2]).as_proto()
    wrong = [
        tf.make_tensor_proto([1, 2], tf.int32),  # the type
        TensorProto(dtype=1, tensor_content=b"abc", tensor_shape=two),  # the number of bytes
        TensorProto(dtype=99, tensor_shape=two),  # no such type
    ]
    for tensor, fetch in itertools.product(wrong, ["p:0", "q:0"]):
        request = master_pb2.RunStepRequest(
            session_handle=handle, fetch=[fetch], store_errors_in_response_body=True
        )
        request.feed.add(name="p:0").tensor.ParseFromString(tensor.SerializeToString())
        answer = master_pb2.RunStepResponse.FromString(call(channel, "RunStep", request.SerializeToString()))
        assert answer.status_code == tf.errors.INVALID_ARGUMENT
        assert answer.status_error_message


def test_long_error_texts_reach_the_client(local: Cluster) -> None:
    """An error of 20 kB, more than gRPC's metadata may hold, in a status and in a body."""
    name = "n" * 20_000
    x = tf.placeholder(tf.float32, [], name=name)
    error = failure(local.target("local"), lambda session: session.run(x))
    assert type(error) is tf.errors.InvalidArgumentError
    assert error.op is x.op
    y = tf.raw_ops.UnicodeScript(input=tf.constant([65]), name="m" * 20_000)
    error = failure(local.target("local"), lambda session: session.run(y))
    assert type(error) is tf.errors.NotFoundError
    assert "Op type not registered 'UnicodeScript'" in error.message
