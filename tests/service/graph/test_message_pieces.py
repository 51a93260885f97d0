"""Messages read and written in pieces are those that protobuf reads and writes at once."""

from __future__ import annotations

import random
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message

from tensorfleet.proto import config_pb2, function_pb2, graph_pb2, master_pb2, tensor_pb2
from tensorfleet_service.graph import message_pieces
from tensorfleet_service.graph.message_pieces import copied, parse, serialize

SEEDS = range(40)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_pieces, "PIECE", 20)
    monkeypatch.setattr(message_pieces, "MANY", 3)


def a_value(choose: random.Random, value: Any, depth: int) -> None:
    kind = choose.randrange(9 if depth else 6)
    count = choose.choice((0, 1, 3, 50))
    if kind == 0:
        value.s = bytes(choose.randrange(256) for _ in range(count))
    elif kind == 1:
        value.list.i.extend(choose.choice((0, 1, -1, 1 << 40)) for _ in range(count))
    elif kind == 2:
        value.list.f.extend(choose.random() for _ in range(count))
        value.list.b.extend([True] * count)
        value.list.s.extend([b"ab"] * count)
    elif kind == 3:
        value.tensor.int_val.extend(choose.choice((5, -7, 1 << 30)) for _ in range(count))
        value.tensor.double_val.extend(choose.random() for _ in range(count))
        value.tensor.tensor_content = b"x" * count
    elif kind == 4:
        value.shape.dim.add(size=count, name="d" * count)
        value.tensor.version_number = 3
    elif kind == 5:
        value.func.SetInParent()
    else:
        value.func.name = "f" * count
        for i in range(count % 7):
            a_value(choose, value.func.attr[f"a{i}"], depth - 1)


def a_request(seed: int) -> master_pb2.CreateSessionRequest:
    choose = random.Random(seed)
    request = master_pb2.CreateSessionRequest()
    for i in range(choose.choice((0, 1, 30))):
        node = request.graph_def.node.add(name=f"n{i}" * choose.choice((1, 1, 30)), op="Neg")
        node.input.extend([f"n{i}"] * choose.choice((0, 1, 40)))
        for k in range(choose.choice((0, 1, 5))):
            a_value(choose, node.attr[f"k{k}"], 2)
    for i in range(choose.randrange(4)):
        function = request.graph_def.library.function.add()
        function.signature.name = f"f{i}"
        function.ret["r"] = "n:0"
        a_value(choose, function.attr["a"], 2)
        function.arg_attr[2].attr["x"].i = 4
        function.resource_arg_unique_id[3] = 5
        for _ in range(choose.randrange(6)):
            function.node_def.add(name="n", op="Neg")
    if choose.random() < 0.5:
        request.config.device_count["CPU"] = 3
        request.config.device_filters.extend(["/job:a"] * 30)
    request.target = "t" * choose.choice((0, 1, 100))
    return request


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_read(seed: int) -> None:
    data = a_request(seed).SerializeToString()
    assert parse(master_pb2.CreateSessionRequest, data) == master_pb2.CreateSessionRequest.FromString(data)


def outcome(read: Any, data: bytes) -> Message | None:
    try:
        found: Message = read(data)
    except DecodeError:
        return None
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_that_are_wrong_somewhere(seed: int) -> None:
    """What protobuf refuses is refused, and what it takes is taken, with the same result."""
    choose = random.Random(seed)
    data = a_request(seed).SerializeToString()
    for _ in range(200):
        compare(broken(choose, data))


@pytest.mark.parametrize("seed", range(10))
def test_many_short_fields(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are passed over quickly."""
    monkeypatch.setattr(message_pieces, "PIECE", 5_000)
    choose = random.Random(seed)
    request = a_request(seed)
    for i in range(2_000):
        node = request.graph_def.node.add(name=f"n{i}" * choose.choice((1, 20, 40)), op="Neg")
        node.input.extend([f"n{i}"] * choose.choice((0, 1, 1, 40)))
    node = request.graph_def.node[choose.randrange(2_000)]
    node.attr["v"].s = b"x" * choose.choice((10_000, 17_000, 40_000))
    data = request.SerializeToString()
    compare(data)
    for _ in range(20):
        compare(broken(choose, data))


def broken(choose: random.Random, data: bytes) -> bytes:
    """The bytes with a few that are others, gone, or added."""
    made = bytearray(data)
    for _ in range(choose.choice((1, 1, 3))):
        place = choose.randrange(len(made) + 1)
        match choose.randrange(4):
            case 0:
                del made[place:]
            case 1:
                made[place:place] = bytes(choose.randrange(256) for _ in range(3))
            case 2:
                del made[place : place + 2]
            case _ if place < len(made):
                made[place] = choose.randrange(256)
    return bytes(made)


def compare(data: bytes) -> None:
    known = outcome(master_pb2.CreateSessionRequest.FromString, data)
    found = outcome(lambda given: parse(master_pb2.CreateSessionRequest, given), data)
    assert (found is None) == (known is None)
    if known is not None:
        assert found is not None
        assert found.SerializeToString(deterministic=True) == known.SerializeToString(deterministic=True)


def test_a_field_that_comes_twice() -> None:
    first, second = a_request(3), a_request(4)
    data = first.SerializeToString() + second.SerializeToString()
    assert parse(master_pb2.CreateSessionRequest, data) == master_pb2.CreateSessionRequest.FromString(data)


def test_an_entry_of_a_map_replaces_another() -> None:
    node = graph_pb2.GraphDef()
    node.node.add(name="n").attr["a"].list.i.extend(range(100))
    other = graph_pb2.GraphDef()
    other.node.add(name="m").attr["a"].list.s.extend([b"x" * 30] * 5)
    one, two = node.node[0].SerializeToString(), other.node[0].SerializeToString()
    joined = b"\x0a" + message_pieces._encoded(len(one + two)) + one + two
    found = parse(graph_pb2.GraphDef, joined)
    assert found == graph_pb2.GraphDef.FromString(joined)
    assert not found.node[0].attr["a"].list.i


def test_pieces_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call of protobuf gets more, but for strings and bytes."""
    monkeypatch.undo()
    request = master_pb2.CreateSessionRequest()
    for i in range(200_000):
        request.graph_def.node.add(name=f"node{i}", op="Neg").input.append(f"node{i - 1}")
    request.graph_def.node[7].attr["list"].list.i.extend([1 << 40] * (1 << 20))
    request.graph_def.node[8].attr["value"].tensor.float_val.extend([1.0] * (1 << 20))
    data = request.SerializeToString()
    sizes = []

    class Counted(bytes):
        def __getitem__(self, item: Any) -> Any:
            found = super().__getitem__(item)
            if isinstance(item, slice):
                sizes.append(len(found))
            return found

    assert parse(master_pb2.CreateSessionRequest, Counted(data)) == request
    assert max(sizes) < 1.1 * message_pieces.PIECE
    assert sum(sizes) < 1.1 * len(data)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_written(seed: int) -> None:
    request = a_request(seed)
    assert master_pb2.CreateSessionRequest.FromString(serialize(request)) == request
    answer = master_pb2.RunStepResponse()
    answer.tensor.add(name="x").tensor.CopyFrom(tensor_pb2.TensorProto(float_val=[1.0, 2.0]))
    answer.metadata.partition_graphs.add().CopyFrom(request.graph_def)
    answer.metadata.partition_graphs.add().CopyFrom(a_request(seed + 1).graph_def)
    stats = answer.metadata.step_stats.dev_stats.add(device="d").node_stats
    for i in range(seed % 7):
        stats.add(node_name=f"n{i}", all_start_micros=i)
    assert master_pb2.RunStepResponse.FromString(serialize(answer)) == answer
    assert config_pb2.RunMetadata.FromString(serialize(answer.metadata)) == answer.metadata


@pytest.mark.parametrize("seed", SEEDS)
def test_copies_of_functions(seed: int) -> None:
    for function in a_request(seed).graph_def.library.function:
        assert copied(function) == function
    whole = function_pb2.FunctionDef()
    whole.signature.name = "f"
    for i in range(10):
        whole.node_def.add(name=f"n{i}")
    whole.attr["a"].i = 1
    whole.control_ret["c"] = "n1"
    assert copied(whole) == whole
