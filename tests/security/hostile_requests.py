"""Large and hostile requests for `request_sweep`, about graphs that are as usual."""

from __future__ import annotations

from tensorfleet.proto import graph_pb2, master_pb2, types_pb2
from tests.security.hostile_graphs import CASES as CASES, FLOAT, STRING, add, case, chain, feed, said, scalar
from tests.security.watched_task import SECONDS, Task


@case
def feeds_by_values(task: Task, nodes: int, size: int) -> None:
    graph = graph_pb2.GraphDef()
    add(graph.node, "x", "Placeholder", dtype=types_pb2.DT_INT32)
    add(graph.node, "y", "Neg", ["x"], T=types_pb2.DT_INT32)
    handle = task.create(graph)
    request = master_pb2.RunStepRequest(session_handle=handle, fetch=["y:0"])
    tensor = request.feed.add(name="x:0").tensor
    tensor.dtype = types_pb2.DT_INT32
    tensor.tensor_shape.dim.add(size=size << 18)
    tensor.int_val.extend([1 << 25] * (size << 18))
    said(task, [("step", lambda: task.call("RunStep", request)), ("close", lambda: task.close(handle))])


@case
def feeds_by_bytes(task: Task, nodes: int, size: int) -> None:
    graph = graph_pb2.GraphDef()
    add(graph.node, "x", "Placeholder", dtype=FLOAT)
    add(graph.node, "y", "Neg", ["x"], T=FLOAT)
    handle = task.create(graph)
    request = master_pb2.RunStepRequest(session_handle=handle, fetch=["y:0"])
    tensor = request.feed.add(name="x:0").tensor
    tensor.dtype = FLOAT
    tensor.tensor_shape.dim.add(size=size << 18)
    tensor.tensor_content = bytes(size << 20)
    said(task, [("step", lambda: task.call("RunStep", request)), ("close", lambda: task.close(handle))])


@case
def feeds_of_strings(task: Task, nodes: int, size: int) -> None:
    graph = graph_pb2.GraphDef()
    add(graph.node, "x", "Placeholder", dtype=STRING)
    add(graph.node, "y", "Identity", ["x"], T=STRING)
    handle = task.create(graph)
    request = master_pb2.RunStepRequest(session_handle=handle, fetch=["y:0"])
    tensor = request.feed.add(name="x:0").tensor
    tensor.dtype = STRING
    tensor.tensor_shape.dim.add(size=size << 17)
    tensor.string_val.extend([b"abcdefgh"] * (size << 17))
    said(task, [("step", lambda: task.call("RunStep", request)), ("close", lambda: task.close(handle))])


@case
def many_feeds(task: Task, nodes: int, size: int) -> None:
    graph = graph_pb2.GraphDef()
    for i in range(nodes):
        add(graph.node, f"x{i}", "Placeholder", dtype=FLOAT)
        if i % 10 == 0:
            add(graph.node, f"y{i}", "Neg", [f"x{i}"], T=FLOAT)
    feeds = [(f"x{i}:0", feed()[0][1]) for i in range(nodes)]
    handle = task.create(graph)
    fetches = [f"y{i}:0" for i in range(0, nodes, 10)]
    said(
        task,
        [
            ("step", lambda: task.run(handle, fetches, (), feeds)),
            ("again", lambda: task.run(handle, fetches, (), feeds)),
            ("close", lambda: task.close(handle)),
        ],
    )


@case
def extensions(task: Task, nodes: int, size: int) -> None:
    handle = task.create(scalar())
    request = master_pb2.ExtendSessionRequest(session_handle=handle, current_graph_version=1)
    request.graph_def.node.extend(chain(nodes).node[1:])
    said(
        task,
        [
            ("extend", lambda: task.call("ExtendSession", request)),
            ("close", lambda: task.close(handle)),
        ],
    )


@case
def partial_runs(task: Task, nodes: int, size: int) -> None:
    handle = task.create(chain(nodes))
    names = [f"n{i}:0" for i in range(nodes)]
    request = master_pb2.PartialRunSetupRequest(session_handle=handle, feed=["x:0"], fetch=names)
    call = master_pb2.RunStepRequest(session_handle=handle, fetch=names[-1:])
    call.feed.add(name="x:0").tensor.CopyFrom(feed()[0][1])

    def setup() -> None:
        answer = task.call("PartialRunSetup", request)
        call.partial_run_handle = master_pb2.PartialRunSetupResponse.FromString(answer).partial_run_handle

    said(
        task,
        [
            ("setup", setup),
            ("step", lambda: task.call("RunStep", call)),
            ("close", lambda: task.close(handle)),
        ],
    )


@case
def callables(task: Task, nodes: int, size: int) -> None:
    handle = task.create(chain(nodes))
    request = master_pb2.MakeCallableRequest(session_handle=handle)
    request.options.feed.append("x:0")
    request.options.fetch.extend(f"n{i}:0" for i in range(nodes))
    said(
        task,
        [
            ("make", lambda: task.call("MakeCallable", request)),
            ("close", lambda: task.close(handle)),
        ],
    )


@case
def names_that_are_not_there(task: Task, nodes: int, size: int) -> None:
    handle = task.create(chain(10))
    names = [f"missing{i}:0" for i in range(nodes)]
    said(
        task,
        [
            ("step", lambda: task.run(handle, names)),
            ("long", lambda: task.run(handle, ["n" * (size << 20)])),
            ("close", lambda: task.close(handle)),
        ],
    )


@case
def containers(task: Task, nodes: int, size: int) -> None:
    request = master_pb2.ResetRequest(container=[f"c{i}" for i in range(4 * nodes)])
    said(task, [("reset", lambda: task.call("Reset", request))])


@case
def no_message(task: Task, nodes: int, size: int) -> None:
    """Fields that the task does not know."""
    piece = b"\x82\x7d\x04abcd"  # field 2000
    made = task.channel.unary_unary("/tensorflow.MasterService/CreateSession")
    one = b"\x82\x7d" + _varint(size << 20) + bytes(size << 20)
    said(
        task,
        [
            ("many", lambda: made(piece * (size << 18), timeout=SECONDS)),
            ("one", lambda: made(one, timeout=SECONDS)),
            ("rest", lambda: made(b"\x0a" + _varint(1 << 30), timeout=SECONDS)),
        ],
    )


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


@case
def many_sessions(task: Task, nodes: int, size: int) -> None:
    """Many small ones that stay, and steps meanwhile."""
    handles: list[str] = []

    def make() -> None:
        graph = chain(100)
        for _ in range(nodes // 100):
            handles.append(task.create(graph))
            task.run(handles[-1], ["n99:0"], (), feed())

    def close_all() -> None:
        for handle in handles:
            task.close(handle)

    said(task, [("make", make), ("close", close_all)])
