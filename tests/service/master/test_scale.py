"""The graph stages at the size of a large cluster: 100,000 ops over 1,000 tasks without a machine behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tensorfleet.core import gc_pause
from tensorfleet_service.devices.task_devices import null_devices
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.master.partition import Partition, partition
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tests.service.graphs import chain

OPS, TASKS = 100_000, 1_000

Stages = tuple[SessionGraph, list[Node], list[Partition]]


@pytest.fixture(scope="module")
def stages() -> Iterator[Stages]:
    """s0 = Neg(x), s1 = s0 + x, …, by turns on the tasks, through all stages."""
    devices = [device for i in range(TASKS) for device in null_devices(f"/job:worker/replica:0/task:{i}", 1)]
    assert {device.type for device in devices} == {"NULL"}
    names = [device.name for device in devices]
    incarnations = {f"/job:worker/replica:0/task:{i}": i + 1 for i in range(TASKS)}
    with gc_pause.paused():
        graph = chain(OPS, TASKS)
        nodes = prune(graph, ["x"], [f"s{OPS - 1}"], [])
        place(nodes, names, names[0])
        yield graph, nodes, partition(nodes, incarnations)


def test_every_op_is_placed_where_it_asks_to_be(stages: Stages) -> None:
    _, nodes, _ = stages
    for node in nodes:
        if node.name[0] == "s":
            assert node.assigned == f"/job:worker/replica:0/task:{int(node.name[1:]) % TASKS}/device:CPU:0"


def test_every_op_is_in_one_partition(stages: Stages) -> None:
    graph, nodes, parts = stages
    assert len({part.device for part in parts}) == len(parts) == TASKS
    own = Counter(node.name for part in parts for node in part.nodes if not node.op.startswith("_"))
    assert own == Counter(name for name in graph.nodes if name != "x")
    assert all(node.assigned == part.device for part in parts for node in part.nodes)
    assert {node.name for node in nodes if not node.op.startswith("_")} == set(own)


def test_an_edge_that_crosses_is_sent_and_received_once(stages: Stages) -> None:
    _, nodes, parts = stages
    crossing = {
        (source.name, index, node.assigned)
        for node in nodes
        for source, index in node.inputs
        if source.op != "_Arg" and source.assigned != node.assigned
    }
    assert len(crossing) == OPS - 1
    ops = Counter(node.op for part in parts for node in part.nodes)
    assert ops["_Send"] == ops["_Recv"] == len(crossing)
    assert ops["_Arg"] == TASKS  # the fed value is not sent from task to task
    assert ops["_Retval"] == 1
    for op, place_of in (("_Send", "send_device"), ("_Recv", "recv_device")):
        edges = []
        for part in parts:
            for node in part.nodes:
                if node.op == op:
                    edges.append(node.attrs["_edge"])
                    assert node.attrs[place_of].decode() == part.device
        assert sorted(edges) == list(range(len(crossing)))


def test_partitions_keep_the_order_and_know_only_themselves(stages: Stages) -> None:
    _, _, parts = stages
    for part in parts:
        seen: set[Node] = set()
        numbers = []
        for node in part.nodes:
            assert all(source in seen for source, _ in node.inputs)
            seen.add(node)
            if node.name[0] == "s":
                numbers.append(int(node.name[1:]))
        assert numbers == sorted(numbers)
        assert len(part.nodes) <= 3 * OPS // TASKS + 2  # each op with what it receives and sends
