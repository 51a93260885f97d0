"""`tf.test.create_local_cluster`, and what tests compare of graphs."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.cluster.server import Server
from tensorfleet.core import errors
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.node_def_pb2 import NodeDef

_ATTEMPTS = 5


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: ConfigProto | None = None,
    ps_config: ConfigProto | None = None,
) -> tuple[list[Server], list[Server]]:
    """Starts workers and ps in this process, at free ports (`tf.test.create_local_cluster`).

    Args:
        num_workers, num_ps: how many.
        protocol: "grpc", or "grpc+stream".
        worker_config, ps_config: their options.

    Returns:
        The servers of the workers and those of the ps.

    Raises:
        OpError: other programs took the ports again and again.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return _cluster(num_workers, num_ps, protocol, worker_config, ps_config)
        except errors.OpError:
            # Another program may have taken a port since it was looked for.
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("no attempt was made")


def _cluster(
    num_workers: int, num_ps: int, protocol: str, worker_config: Any, ps_config: Any
) -> tuple[list[Server], list[Server]]:
    addresses = [f"localhost:{port}" for port in _free_ports(num_workers + num_ps)]
    jobs = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    cluster = ClusterSpec({job: listed for job, listed in jobs.items() if listed})
    with ExitStack() as started:

        def serve(job: str, index: int, config: Any) -> Server:
            server = Server(cluster, job, index, protocol=protocol, config=config, start=False)
            started.callback(server.stop)
            server.start()
            return server

        workers = [serve("worker", i, worker_config) for i in range(num_workers)]
        ps = [serve("ps", i, ps_config) for i in range(num_ps)]
        started.pop_all()
    return workers, ps


def _free_ports(count: int) -> list[int]:
    """Different ports that were free a moment ago."""
    with ExitStack() as bound:
        sockets = [bound.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("localhost", 0))
        return [sock.getsockname()[1] for sock in sockets]


def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Two graphs have the same nodes, in any order (`tf.test.assert_equal_graph_def`).

    Args:
        checkpoint_v2: ignore the random names of temporary checkpoints.
        hash_table_shared_name: ignore the shared names of tables.

    Raises:
        AssertionError: a node is missing, or differs in op, device, inputs or attributes.
        TypeError: one is no GraphDef.
    """
    nodes = []
    for name, graph in (("actual", actual), ("expected", expected)):
        if not isinstance(graph, GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(graph).__name__}")
        nodes.append(
            {node.name: _compared(node, checkpoint_v2, hash_table_shared_name) for node in graph.node}
        )
    got, wanted = nodes
    if missing := sorted(wanted.keys() - got.keys()):
        raise AssertionError(f"the graph lacks the nodes {', '.join(missing[:10])}")
    if other := sorted(got.keys() - wanted.keys()):
        raise AssertionError(f"the graph has the nodes {', '.join(other[:10])}, which are not expected")
    for name, node in wanted.items():
        for what, value in node.items():
            if got[name][what] != value:
                raise AssertionError(f"{what} of the node {name}: {got[name][what]}, expected {value}")


def _compared(node: NodeDef, checkpoint_v2: bool, hash_table_shared_name: bool) -> dict[str, Any]:
    data = [text for text in node.input if not text.startswith("^")]
    attrs = {key: value for key, value in node.attr.items() if not key.startswith("_")}
    value = attrs.get("value")
    if checkpoint_v2 and value is not None and any(b"_temp" in text for text in value.tensor.string_val):
        del attrs["value"]
    if hash_table_shared_name and "HashTable" in node.op:
        attrs.pop("shared_name", None)
    return {
        "op": node.op,
        "device": node.device,
        "inputs": [*data, *sorted(set(node.input) - set(data))],
        **{f"attribute {key}": attr for key, attr in sorted(attrs.items())},
        "names of attributes": sorted(attrs),
    }


def disable_with_predicate(
    pred: Callable[[], bool], skip_message: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that skips a test where `pred` is true (`tf.test.disable_with_predicate`).

    Args:
        pred: asked when the test is to run.
        skip_message: why.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def test(self: Any, *args: Any, **kwargs: Any) -> Any:
            if pred():
                self.skipTest(skip_message)
            return function(self, *args, **kwargs)

        return test

    return decorate
