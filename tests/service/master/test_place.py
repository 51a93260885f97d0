"""Placement: where every node runs, and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tensorfleet.core import errors
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.master.place import place, placement_report
from tensorfleet_service.master.prune import prune
from tests.service.graphs import graph

PS, W0, W1 = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"
CPUS = [f"{task}/device:CPU:0" for task in (PS, W0, W1)]
WITH_GPUS = [*CPUS, f"{W1}/device:GPU:0", f"{W1}/device:GPU:1"]


def placed(
    text: str,
    devices: list[str] = CPUS,
    soft: bool = False,
    has_gpu_kernel: Callable[[Node], bool] | None = None,
) -> dict[str, Node]:
    nodes = list(graph(text).nodes.values())
    place(nodes, devices, f"{W0}/device:CPU:0", soft, has_gpu_kernel)
    return {node.name: node for node in nodes}


GOLDEN = {
    "requests": """
        default = NoOp()
        job = NoOp() @ /job:worker
        other = NoOp() @ /job:ps
        task = NoOp() @ /job:worker/task:1
        kind = NoOp() @ /cpu:0
        short = NoOp() @ /job:ps/cpu:0
        full = NoOp() @ /job:worker/replica:0/task:1/device:CPU:0
    """,
    "references": """
        v = VariableV2() @ /job:ps
        c = Const() value=1.0
        init = Assign(v, c)
        r = Identity(v)
        away = Neg(r) @ /job:worker/task:1
        elsewhere = AssignAdd(v, away) @ /job:worker
        h = VarHandleOp() @ /job:ps
        write = AssignVariableOp(h, away)
        read = ReadVariableOp(h)
    """,
    "class": """
        a = NoOp() @ /job:ps
        b = NoOp() _class=loc:@a
        c = NoOp() _class=loc:@b,other
        d = NoOp() _class=loc:@pruned @ /job:worker/task:1
        e = NoOp() _class=loc:@pruned
    """,
    "heuristics": """
        x = Placeholder() @ /job:worker/task:1
        shape = Shape(x)
        size = Size(x) @ /job:worker
        rank = Rank(x) @ /job:ps
        c = Const() value=1.0
        n = AddV2(x, c) @ /job:ps
        shared = Const() value=1.0
        p = Neg(shared) @ /job:ps
        q = Neg(shared) @ /job:worker/task:1
        partly = Const() value=1.0 @ /job:worker
        r = Neg(partly) @ /job:worker/task:1
        s = Neg(x)
    """,
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(case: str, golden: Callable[[str, str], None]) -> None:
    golden(f"place_{case}", placement_report(placed(GOLDEN[case]).values()))


def test_golden_feeds_and_fetches(golden: Callable[[str, str], None]) -> None:
    session = graph("x = Placeholder()\nn = Neg(x) @ /job:ps\nm = Neg(x) @ /job:worker\n")
    nodes = prune(session, ["x"], ["n", "m"], [])
    place(nodes, CPUS, CPUS[1])
    golden("place_ends", placement_report(nodes))


def test_golden_soft_placement(golden: Callable[[str, str], None]) -> None:
    text = """
        gpu = NoOp() @ /gpu:0
        cpu = NoOp() @ /job:ps/cpu:3
        v = VariableV2() @ /job:ps/gpu:0
        r = Identity(v) @ /job:worker/gpu:1
        a = NoOp() @ /cpu:0
        b = NoOp() _class=loc:@a @ /gpu:0
    """
    golden("place_soft", placement_report(placed(text, soft=True).values()))


def test_golden_gpus(golden: Callable[[str, str], None]) -> None:
    text = """
        default = Neg(x)
        open = Neg(x) @ /job:worker/task:1
        host = StringToNumber(y) @ /job:worker/task:1
        some = Neg(x) @ /gpu:*
        second = Neg(x) @ /gpu:1
        host_on_gpu = StringToNumber(y) @ /gpu:1
        x = Placeholder()
        y = Placeholder() dtype=string
    """
    nodes = placed(text, WITH_GPUS, soft=True, has_gpu_kernel=lambda node: node.op == "Neg")
    golden("place_gpus", placement_report(nodes.values()))
    assert placed(text, WITH_GPUS, soft=True)["open"].assigned == f"{W1}/device:CPU:0"


X = "x = Placeholder()\n"
BAD = {
    "task": (
        X + "add = AddV2(x, x) @ /job:worker/task:7",
        "Cannot assign a device for operation add: {{node add}} was explicitly assigned to /job:worker/task:7"
        f" but available devices are [ {', '.join(CPUS)} ]. Make sure the device specification refers to a "
        "valid device. Job worker has no task 7, only 0 to 1.\n\t [[{{node add}}]]",
    ),
    "gpu": (
        X + "add = AddV2(x, x) @ /gpu:0",
        "Cannot assign a device for operation add: {{node add}} was explicitly assigned to /gpu:0 but "
        f"available devices are [ {', '.join(CPUS)} ]. Make sure the device specification refers to a valid "
        "device. The requested device appears to be a GPU, but CUDA is not enabled.\n\t [[{{node add}}]]",
    ),
    "member": (
        "a = NoOp()\nb = NoOp() _class=loc:@a @ /job:no",
        "Cannot assign a device for operation b: {{node b}} was explicitly assigned to /job:no but ",
    ),
    "class jobs": (
        "a = NoOp() @ /job:ps\nb = NoOp() _class=loc:@a @ /job:worker",
        "Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: Cannot merge devices with "
        "incompatible jobs: '/job:worker' and '/job:ps'\n\t [[{{node b}}]]",
    ),
    "class types": (
        "a = NoOp() @ /cpu:0\nb = NoOp() _class=loc:@a @ /gpu:0",
        "Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: Cannot merge devices with "
        "incompatible types: '/device:GPU:0' and '/device:CPU:0'\n\t [[{{node b}}]]",
    ),
    "malformed": (
        "a = NoOp() @ /jobb:worker",
        "Malformed device specification '/jobb:worker' in node: {{node a}} = NoOp: Unknown attribute 'jobb'",
    ),
    "two variables": (
        "v = VariableV2() @ /job:worker/task:0\nw = VariableV2() @ /job:worker/task:1\n"
        "m = Merge(v, w) N=2\nn = RefMerge(v, w) N=2",
        "Cannot place the graph because a reference or resource edge connects colocation groups with "
        "incompatible resource devices: /job:worker/task:1 vs /job:worker/task:0. The edge src node is "
        "name='w' (op='VariableV2'), and the dst node is name='n' (op='RefMerge').",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_impossible_requests_are_refused_with_tensorflows_words(case: str) -> None:
    text, message = BAD[case]
    with pytest.raises(errors.InvalidArgumentError) as caught:
        placed(text)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("device", "hint"),
    [
        ("/job:wrker", "There is no job wrker, only ps, worker. Did you mean /job:worker?"),
        ("/job:chief/task:0", "There is no job chief, only ps, worker."),
        ("/job:ps/task:1", "Job ps has no task 1, only 0."),
        ("/task:5", "The cluster has no task 5, only 0 to 1."),
    ],
)
def test_a_job_or_a_task_that_is_not_there_is_told_with_those_that_are(device: str, hint: str) -> None:
    for text in (f"a = NoOp() @ {device}", f"a = NoOp() @ {device}\nb = NoOp() _class=loc:@a"):
        with pytest.raises(errors.InvalidArgumentError) as caught:
            placed(text)
        assert hint in caught.value.message
        assert "Did you mean" in hint or "Did you mean" not in caught.value.message


def test_a_session_in_this_process_says_that_it_has_no_jobs() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r'as in tf\.Session\("grpc://host:port"\)'):
        place(
            list(graph("a = NoOp() @ /job:ps").nodes.values()),
            ["/job:localhost/replica:0/task:0/device:CPU:0"],
            "/job:localhost/replica:0/task:0/device:CPU:0",
        )


def test_a_group_that_no_device_fits_is_told_with_its_members() -> None:
    text = "a = NoOp() @ /gpu:0\nb = NoOp() _class=loc:@a @ /job:ps"
    with pytest.raises(errors.InvalidArgumentError) as caught:
        placed(text, WITH_GPUS)
    assert "required incompatible device '/job:ps/device:GPU:0'" in caught.value.message
    assert "\n  a (NoOp) /gpu:0\n  b (NoOp) /job:ps\n" in caught.value.message


def test_an_op_without_a_gpu_kernel_cannot_be_on_one() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="no supported kernel for GPU devices is available"):
        placed("a = NoOp() @ /gpu:0", WITH_GPUS, has_gpu_kernel=lambda node: False)


def test_soft_placement_invents_no_tasks() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="was explicitly assigned to /job:worker/task:7"):
        placed("a = NoOp() @ /job:worker/task:7", soft=True)


def test_long_lists_of_devices_are_cut() -> None:
    devices = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(1000)]
    with pytest.raises(errors.InvalidArgumentError) as caught:
        placed("a = NoOp() @ /job:ps", devices)
    assert "task:19/device:CPU:0, … and 980 more ]" in caught.value.message
    assert "task:20/" not in caught.value.message
    assert len(caught.value.message) < 2_000


def test_what_is_placed_stays() -> None:
    """Placing the whole graph first keeps a variable where all steps look for it."""
    session = graph(
        """
        v = VariableV2()
        c = Const() value=1.0
        init = Assign(v, c)
        far = AssignAdd(v, c) _class=loc:@x
        x = NoOp() @ /job:ps
        """
    )
    place(list(session.nodes.values()), CPUS, CPUS[1])
    assert session.nodes["v"].assigned == CPUS[0]
    nodes = prune(session, [], ["init"], [])
    place(nodes, CPUS, CPUS[1])
    assert {node.assigned for node in nodes} == {CPUS[0]}


def test_a_thousand_tasks() -> None:
    devices = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(1000)]
    text = "x = Placeholder()\n" + "".join(
        f"v{i} = VariableV2() @ /job:worker/task:{i % 1000}\na{i} = AssignAdd(v{i}, x)\n"
        for i in range(20_000)
    )
    session = graph(text)
    nodes = list(session.nodes.values())
    place(nodes, devices, devices[0])
    for i in range(20_000):
        assert session.nodes[f"v{i}"].assigned == session.nodes[f"a{i}"].assigned == devices[i % 1000]


def test_one_group_of_many_nodes() -> None:
    text = "v0 = VariableV2() @ /job:ps\n" + "".join(
        f"n{i} = NoOp() _class=loc:@n{i + 1}\n" for i in range(30_000)
    )
    nodes = placed(text + "n30000 = NoOp() _class=loc:@v0\n")
    assert {node.assigned for node in nodes.values()} == {CPUS[0]}
