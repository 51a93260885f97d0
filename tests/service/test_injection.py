"""Strings of a graph never become code: plans are generated, and names and attributes may be hostile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.proto import config_pb2, graph_pb2
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.members import LocalMember
from tensorfleet_service.master.step_future import StepFuture
from tensorfleet_service.worker.worker import Worker

STEP_SECONDS = 20.0
TASK = "/job:worker/replica:0/task:0"
FORMS = [
    "');{code}#",
    "\n {code}\n",
    "'+{code}+'",
    '"\n{code}\n"',
    "{{0}}{{1}}{code}",
    "x\u2028{code}",
    "(yield {code})",
    "0,), (0,)); {code}; ((",
    "0\n {code}\n #",
    "\\');{code}#",
]


@pytest.fixture
def master() -> Iterator[Master]:
    worker = Worker(TASK, task_devices(TASK, 1, cpus=1, gpus=0), 1)
    yield Master(lambda handle, _: [LocalMember(worker, handle, False)], lambda _: None)
    worker.close()


def program() -> tuple[graph_pb2.GraphDef, list[str]]:
    """A graph whose plans have groups, a loop, a conditional, strings and a cast; and what to fetch."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        y = tf.nn.relu(tf.matmul(x, tf.ones([4, 4])) + 1.0, name="y")
        z = tf.cast(tf.nn.leaky_relu(y, 0.3), tf.int32, name="z")
        loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.constant(1.0), lambda: tf.constant(2.0))
        text = tf.as_string(z)
        joined = tf.string_join([text, text], name="joined")
        group = tf.clip_by_value(tf.nn.relu6(y * 2 + 1) * 3, 0.0, 5.0)
        fetches = [z, loop, chosen, joined, tf.equal(text, joined), group]
        return graph.as_graph_def(), [fetch.name for fetch in fetches]


def rename(graph: graph_pb2.GraphDef, old: str, new: str) -> None:
    for node in graph.node:
        if node.name == old:
            node.name = new
        for i, name in enumerate(node.input):
            if name.lstrip("^").split(":")[0] == old:
                node.input[i] = name.replace(old, new, 1)


def attributes(graph: graph_pb2.GraphDef, index: int, payload: str) -> None:
    node = graph.node[index]
    for name, value in node.attr.items():
        if value.WhichOneof("value") == "s":
            node.attr[name].s = payload.encode()
    for name in ("_kernel", "_edge", "frame_name", payload):
        node.attr[name].s = payload.encode()


def device(graph: graph_pb2.GraphDef, index: int, payload: str) -> None:
    graph.node[index].device = payload if index % 2 else f"{TASK}/device:CPU:0{payload}"


def op(graph: graph_pb2.GraphDef, index: int, payload: str) -> None:
    graph.node[index].op = payload


def colocation(graph: graph_pb2.GraphDef, index: int, payload: str) -> None:
    graph.node[index].attr["_class"].list.s.append(b"loc:@" + payload.encode())


def run(master: Master, graph: graph_pb2.GraphDef, fetches: list[str], feed: str) -> bool:
    """Whether the graph runs; otherwise it is refused."""
    session = None
    try:
        session = master.create_session(graph, config_pb2.ConfigProto())
        prepared = session.prepare((feed,), tuple(fetches), ())
        future = StepFuture()
        step = master.run_step(session, prepared, [np.ones([2, 4], np.float32)], future.done, None, None)
        future.wait(step, STEP_SECONDS)
    except errors.OpError:
        return False
    finally:
        if session is not None:
            session.close()
    return True


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", [attributes, device, op, colocation], ids=lambda change: change.__name__)
def test_strings_of_a_node(
    master: Master,
    tmp_path: Path,
    form: str,
    change: Callable[[graph_pb2.GraphDef, int, str], None],
) -> None:
    marker = tmp_path / "marker"
    payload = form.format(code=f"open('{marker}','w')")
    good, fetches = program()
    assert run(master, good, fetches, "x:0")
    for index in range(0, len(good.node), 3):
        graph = graph_pb2.GraphDef.FromString(good.SerializeToString())
        change(graph, index, payload)
        run(master, graph, fetches, "x:0")
        assert not marker.exists(), graph.node[index]


@pytest.mark.parametrize("form", FORMS)
def test_names_of_nodes(master: Master, tmp_path: Path, form: str) -> None:
    marker = tmp_path / "marker"
    payload = form.format(code=f"open('{marker}','w')")
    good, fetches = program()
    for node in good.node[::2]:
        graph = graph_pb2.GraphDef.FromString(good.SerializeToString())
        rename(graph, node.name, payload)
        names = [payload + ":0" if name.rpartition(":")[0] == node.name else name for name in fetches]
        run(master, graph, names, payload + ":0" if node.name == "x" else "x:0")
        assert not marker.exists(), node.name
