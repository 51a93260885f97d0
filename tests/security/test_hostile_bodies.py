"""Ops that touch files or Python in the bodies of functions, and for other tasks: what they may elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core import dtypes, tensor_util
from tensorfleet.proto.types_pb2 import DT_BOOL, DT_FLOAT, DT_STRING
from tensorfleet_service.server import TaskServer
from tensorfleet_service.state.files import ConfinedFiles
from tests.ports import free_ports
from tests.security.test_hostile_functions import Hostile, Stranger, add, func

STRING, FLOAT = dtypes.string, dtypes.float32
ALLOWED, OUTSIDE, KEPT = "allowed", "outside", "as it was"
DEVICES = ("", "/job:ps/task:0", "/job:worker/task:0/device:CPU:0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a directory that ops may use, one beside it, and ways from the first to the second."""
    made = tmp_path_factory.mktemp("files")
    for name in (ALLOWED, OUTSIDE):
        (made / name).mkdir()
        (made / name / "file").write_text(KEPT)
    (made / ALLOWED / "link").symlink_to(made / OUTSIDE)
    (made / ALLOWED / "itself").symlink_to(made / OUTSIDE / "file")
    return made


@pytest.fixture(scope="module")
def stranger(folder: Path) -> Iterator[Stranger]:
    """A client of the worker, beside which there is a ps; both have the same settings."""
    ports = iter(free_ports(2))
    spec = ClusterSpec({job: [f"127.0.0.1:{next(ports)}"] for job in ("ps", "worker")})
    files = ConfinedFiles([], [str(folder / ALLOWED)])
    servers = [TaskServer(spec, job, 0, files=files) for job in ("ps", "worker")]
    for server in servers:
        server.start()
    made = Stranger(servers[1].address)
    yield made
    made.channel.close()
    for server in servers:
        server.stop(1)


def constant(where: Any, name: str, value: Any) -> None:
    made = where.add(name=name, op="Const")
    tensor = tensor_util.make_tensor_proto(value)
    made.attr["dtype"].type = tensor.dtype
    made.attr["value"].tensor.CopyFrom(tensor)


Body = Callable[[Any, str], None]


def reads(nodes: Any, device: str) -> None:
    add(nodes, "done", "ReadFile", ["a"], {})


def writes(nodes: Any, device: str) -> None:
    constant(nodes, "text", b"other")
    add(nodes, "write", "WriteFile", ["a", "text:output:0"], {})
    add(nodes, "done", "Identity", ["a", "^write"], {"T": STRING})


def saves(nodes: Any, device: str) -> None:
    constant(nodes, "names", [b"x"])
    constant(nodes, "specs", [b""])
    constant(nodes, "value", 1.0)
    inputs = ["a", "names:output:0", "specs:output:0", "value:output:0"]
    add(nodes, "save", "SaveV2", inputs, {"dtypes": [FLOAT]})
    add(nodes, "done", "Identity", ["a", "^save"], {"T": STRING})


BODIES: dict[str, tuple[Body, str]] = {
    "ReadFile": (reads, "done:contents:0"),
    "WriteFile": (writes, "done:output:0"),
    "SaveV2": (saves, "done:output:0"),
}
CALLS = (
    *("PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "If", "StatelessIf", "Case", "While"),
    *("by its name", "by another function", "MapDataset", "FlatMapDataset"),
)


def hostile(call: str, kind: str, device: str, path: str) -> Hostile:
    """A graph whose `y` calls function `f` of the path, by this way."""
    made = Hostile()
    graph = made.graph
    body, result = BODIES[kind]
    function = graph.library.function.add()
    function.signature.name = "f"
    function.signature.input_arg.add(name="a", type=DT_STRING)
    function.signature.output_arg.add(name="r", type=DT_STRING)
    function.signature.is_stateful = True
    function.ret["r"] = result
    body(function.node_def, device)
    for node in function.node_def:
        node.device = device
    constant(graph.node, "path", path.encode())
    called: dict[str, Any] = {"Tin": [STRING], "Tout": [STRING], "f": func("f")}
    branches = {"Tin": [STRING], "Tout": [STRING], "then_branch": func("f"), "else_branch": func("f")}
    if call == "RemoteCall":
        constant(graph.node, "target", (device or DEVICES[1]).encode())
        made.node("y", call, ["target", "path"], called)
    elif call in ("If", "StatelessIf"):
        constant(graph.node, "which", True)
        made.node("y", call, ["which", "path"], branches | {"Tcond": dtypes.bool})
    elif call == "Case":
        constant(graph.node, "which", 0)
        made.node("y", call, ["which", "path"], {"Tin": [STRING], "Tout": [STRING]})
        graph.node[-1].attr["branches"].list.func.add(name="f")
    elif call == "While":
        once = graph.library.function.add()
        once.signature.name = "once"
        once.signature.input_arg.add(name="a", type=DT_STRING)
        once.signature.output_arg.add(name="r", type=DT_BOOL)
        constant(once.node_def, "given", path.encode())
        add(once.node_def, "same", "Equal", ["a", "given:output:0"], {"T": STRING})
        once.ret["r"] = "same:z:0"
        made.node("y", call, ["path"], {"T": [STRING], "cond": func("once"), "body": func("f")})
    elif call == "by its name":
        made.node("y", "f", ["path"], {})
    elif call == "by another function":
        outer = graph.library.function.add()
        outer.CopyFrom(function)
        outer.signature.name = "outer"
        del outer.node_def[:]
        add(outer.node_def, "inner", "StatefulPartitionedCall", ["a"], called)
        outer.ret["r"] = "inner:output:0"
        made.node("y", "StatefulPartitionedCall", ["path"], called | {"f": func("outer")})
    elif call.endswith("Dataset"):
        types = {"output_types": [STRING], "output_shapes": [()]}
        constant(graph.node, "paths", [path.encode()])
        made.node("all", "TensorSliceDataset", ["paths"], {"Toutput_types": [STRING], "output_shapes": [()]})
        if call == "FlatMapDataset":
            flat = graph.library.function.add()
            flat.CopyFrom(function)
            flat.signature.name = "flat"
            flat.signature.output_arg[0].type = dtypes.variant.enum
            add(
                flat.node_def,
                "one",
                "TensorDataset",
                [result],
                {"Toutput_types": [STRING], "output_shapes": [()]},
            )
            flat.ret["r"] = "one:handle:0"
        name = "f" if call == "MapDataset" else "flat"
        made.node("mapped", call, ["all"], {"f": func(name), "Targuments": []} | types)
        made.node("one", "DatasetToSingleElement", ["mapped"], types)
        made.node("y", "Identity", ["one"], {"T": STRING})
    else:
        made.node("y", call, ["path"], called)
    return made


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("call", CALLS)
def test_a_body_gets_at_no_file_elsewhere(stranger: Stranger, folder: Path, call: str, kind: str) -> None:
    ways = ("outside/file", "allowed/link/file", "allowed/itself", "allowed/../outside/file")
    for device in DEVICES:
        for way in ways:
            if kind == "SaveV2" and way == "allowed/itself":
                continue  # its files have names of their own
            graph = hostile(call, kind, device, f"{folder}/{way}").graph
            with pytest.raises(grpc.RpcError, match=r"may not be (read|written)") as refused:
                stranger.run(graph)
            assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
        if call != "While" or kind == "ReadFile":  # else the path is what the loop goes on with
            stranger.run(hostile(call, kind, device, f"{folder}/allowed/file").graph)
            (folder / ALLOWED / "file").write_text(KEPT)
    assert [path.name for path in (folder / OUTSIDE).iterdir()] == ["file"]
    assert (folder / OUTSIDE / "file").read_text() == KEPT


@pytest.mark.parametrize("call", ["PartitionedCall", "RemoteCall", "MapDataset"])
def test_a_body_calls_no_python(stranger: Stranger, call: str) -> None:
    """Functions of Python are those of the process that made the graph."""
    made = hostile(call, "ReadFile", "", "x")
    function = next(f for f in made.graph.library.function if f.signature.name == "f")
    del function.node_def[:]
    for token in (b"pyfunc_0", b"os.system", b""):
        del function.node_def[:]
        add(
            function.node_def,
            "done",
            "PyFunc",
            ["a"],
            {"token": token, "Tin": [STRING], "Tout": [STRING]},
        )
        function.ret["r"] = "done:output:0"
        with pytest.raises(grpc.RpcError, match=r"callback|py_func|PyFunc|Python"):
            stranger.run(made.graph)


@pytest.mark.parametrize(
    "device", ["/job:nowhere/task:7", "/job:ps/task:9", "/device:CPU:99", "\x1b[2J", "/" * 5000]
)
def test_devices_of_a_body_that_there_are_not(stranger: Stranger, folder: Path, device: str) -> None:
    """They are an error, or are not looked at; nothing else comes of them."""
    for call in CALLS:
        graph = hostile(call, "ReadFile", device, f"{folder}/outside/file").graph
        with pytest.raises(grpc.RpcError) as refused:
            stranger.run(graph)
        assert refused.value.code() in (
            grpc.StatusCode.INVALID_ARGUMENT,
            grpc.StatusCode.PERMISSION_DENIED,
        ), (call, refused.value)
        assert "\x1b" not in refused.value.details()


def test_a_gradient_reads_no_file_elsewhere(stranger: Stranger, folder: Path) -> None:
    made = Hostile()
    function = made.function("f", [], "n:z:0")
    constant(function.node_def, "p", f"{folder}/outside/file".encode())
    add(function.node_def, "r", "ReadFile", ["p:output:0"], {})
    add(function.node_def, "l", "StringLength", ["r:contents:0"], {})
    add(function.node_def, "c", "Cast", ["l:output:0"], {"SrcT": dtypes.int32, "DstT": FLOAT})
    add(function.node_def, "n", "Mul", ["a", "c:y:0"], {"T": FLOAT})
    assert function.signature.input_arg[0].type == DT_FLOAT
    called = {"Tin": [FLOAT, FLOAT], "Tout": [FLOAT], "f": func("f")}
    made.node("y", "SymbolicGradient", ["x", "x"], called)
    with pytest.raises(grpc.RpcError, match="may not be read"):
        stranger.run(made.graph)
    function.node_def[0].attr["value"].tensor.string_val[0] = f"{folder}/allowed/file".encode()
    stranger.run(made.graph)
