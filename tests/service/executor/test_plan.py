"""Generated code: what it says, what it keeps alive, and which node an error is laid to."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import dtypes, errors
from tensorfleet_service.executor import plan_writer
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.executor.plan import Plan
from tensorfleet_service.kernels import registry
from tensorfleet_service.master.partition import partition
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.tracing.trace import StepTrace
from tests.service.graphs import chain, const, graph

TASKS = [f"/job:worker/replica:0/task:{i}" for i in range(2)]
DEVICES = [f"{TASKS[0]}/device:CPU:0", f"{TASKS[0]}/device:CPU:1", f"{TASKS[1]}/device:CPU:0"]


class Step:
    """A step, as generated code sees it; notes what it is told."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int, Any]] = []
        self.recorder = StepTrace()
        self.trace = self.recorder.record

    def push(self, task: str, edge: int, value: Any) -> None:
        self.sent.append((task, edge, value))

    def deliver(self, edges: Sequence[int], values: Sequence[Any]) -> None:
        self.sent += [("", edge, value) for edge, value in zip(edges, values, strict=True)]


def plans(
    text: str, feeds: Sequence[str] = (), fetches: Sequence[str] = (), targets: Sequence[str] = ()
) -> list[Plan]:
    """The plans of all devices, in the order in which these first appear."""
    nodes = prune(graph(text), feeds, fetches, targets)
    place(nodes, DEVICES, DEVICES[0])
    made = []
    for part in partition(nodes, dict.fromkeys(TASKS, 1)):
        own = task_of(part.device)
        sends = {}
        for node in part.nodes:
            if node.op == "_Send":
                task = task_of(node.attrs["recv_device"].decode())
                sends[int(node.attrs["_edge"])] = "" if task == own else task
        made.append(Plan(part.device, part.nodes, Resources(), np, sends))
    return made


def plan(
    text: str, feeds: Sequence[str] = (), fetches: Sequence[str] = (), targets: Sequence[str] = ()
) -> Plan:
    (made,) = plans(text, feeds, fetches, targets)
    return made


def with_kernel(monkeypatch: pytest.MonkeyPatch, op: str, function: Callable[..., Any]) -> None:
    """Gives an op type another kernel for one test."""
    monkeypatch.setitem(registry._factories, op, lambda node: function)


# ---------------------------------------------------------------------------- golden texts


GOLDEN = {
    "an input's slot goes to the output": (
        ["x = Placeholder()\ny = Neg(x)\nz = AddV2(y, y)", ["x"], ["z"]],
        ["def run(t, a):\n v0 = a[0]\n v0 = -v0\n v0 = v0 + v0\n return (v0,)\n"],
    ),
    "what is used again stays": (
        ["x = Placeholder()\ny = Neg(x)\nz = Mul(y, x)\nw = Sub(z, y)", ["x"], ["w"]],
        ["def run(t, a):\n v0 = a[0]\n v1 = -v0\n v0 = v1 * v0\n v1 = v0 - v1; del v0\n return (v1,)\n"],
    ),
    "constants are globals": (
        [f"c = {const([1, 2], 'float32')}\nx = Placeholder()\ny = Mul(x, c)", ["x"], ["y", "c"]],
        ["def run(t, a):\n v0 = a[0]\n v0 = v0 * c0\n return (v0, c0,)\n"],
    ),
    "a fetch keeps its slot": (
        ["x = Placeholder()\ny = Neg(x)\nz = Mul(y, y)", ["x"], ["y", "z", "y"]],
        ["def run(t, a):\n v0 = a[0]\n v0 = -v0\n v1 = v0 * v0\n return (v0, v1, v0,)\n"],
    ),
    "unused outputs are dropped": (
        [
            f"x = Placeholder()\naxis = {const(0, 'int32')}\ns = Split(axis, x) num_split=3\ny = Neg(s:1)",
            ["x"],
            ["y"],
        ],
        [
            "def run(t, a):\n v0 = a[0]\n v0, v1, v2, = k2(c0, v0); del v0, v2\n v1 = -v1\n return (v1,)\n",
        ],
    ),
    "targets return nothing": (
        ["x = Placeholder()\ny = Neg(x)\nn = NoOp(^y)", ["x"], [], ["n"]],
        ["def run(t, a):\n v0 = a[0]\n v0 = -v0; del v0\n return ()\n"],
    ),
    "references are read where a value is wanted": (
        ["v = VariableV2()\nx = Placeholder()\na = AssignAdd(v, x)\ny = Mul(a, x)", ["x"], ["y", "v"]],
        [
            "def run(t, a):\n v0 = k0()\n v1 = a[0]\n v2 = k2(v0, v1)\n v1 = v2.read() * v1; del v2\n"
            " v2 = v0.read()\n return (v1, v2,)\n"
        ],
    ),
    "between devices and tasks": (
        [
            """
            x = Placeholder()
            y = Neg(x)
            z = Mul(y, y) @ /task:0/cpu:1
            w = AddV2(z, y) @ /task:1
            u = Sub(w, x)
            """,
            ["x"],
            ["u"],
        ],
        [
            "def run(t, a):\n v0 = a[0]\n v1 = -v0\n t.deliver((0,), (v1,))\n"
            " t.push('/job:worker/replica:0/task:1', 1, v1); del v1\n"
            " v1 = (yield 3)\n v0 = v1 - v0; del v1\n return (v0,)\n",
            "def run(t, a):\n v0 = (yield 0)\n v0 = v0 * v0\n"
            " t.push('/job:worker/replica:0/task:1', 2, v0); del v0\n return ()\n",
            "def run(t, a):\n v0 = (yield 2)\n v1 = (yield 1)\n v1 = v0 + v1; del v0\n"
            " t.push('/job:worker/replica:0/task:0', 3, v1); del v1\n return ()\n",
        ],
    ),
}


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """No op is made one with others, as if they were not elementwise."""
    monkeypatch.setattr(plan_writer, "find_groups", lambda *arguments: [])


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str) -> None:
    arguments, expected = GOLDEN[name]
    assert [made.source for made in plans(*arguments)] == expected  # type: ignore[arg-type]


def test_the_source_is_that_of_the_function() -> None:
    made = plan("x = Placeholder()\ny = Neg(x)", ["x"], ["y"])
    space: dict[str, Any] = {}
    exec(made.source, space)
    assert space["run"].__code__.co_code == made.function.__code__.co_code


# ---------------------------------------------------------------------------- values


def test_values() -> None:
    made = plan(
        "x = Placeholder()\ny = Placeholder()\nz = Sub(x, y)\nw = Neg(z)", ["y", "x"], ["w", "z", "w"]
    )
    assert made.args == [1, 0]
    assert made.rets == [0, 1, 2]
    assert made.function(None, [np.float32(5), np.float32(3)]) == (-2.0, 2.0, -2.0)


def test_a_fed_tensor_passes_through() -> None:
    made = plan("x = Placeholder()\ny = Identity(x)\nz = Neg(x)", ["x"], ["y", "z"])
    value = np.arange(3.0)
    y, z = made.function(None, [value])
    assert y is value
    assert z.tolist() == [0, -1, -2]


def test_strings_of_rank_0_are_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    with_kernel(monkeypatch, "Identity", lambda x: b"bytes")
    made = plan("x = Placeholder() dtype=string\ny = Identity(x) T=string", ["x"], ["y"])
    (value,) = made.function(None, [np.array(b"", object)])
    assert value.shape == ()
    assert value.dtype == object
    assert value[()] == b"bytes"


def test_strings_among_several_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.array([b"a"], object)
    with_kernel(monkeypatch, "IdentityN", lambda *x: (b"one", np.int32(2), array))
    types = "string,int32,string"
    made = plan(
        f"x = Placeholder() dtype=string\ni = Placeholder() dtype=int32\nn = IdentityN(x, i, x) T={types}",
        ["x", "i"],
        ["n:0", "n:1", "n:2"],
    )
    one, two, three = made.function(None, [array, np.int32(1)])
    assert (one.shape, one[()]) == ((), b"one")
    assert two == 2
    assert three is array


@pytest.mark.usefixtures("one_by_one")
def test_names_of_expressions_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    made = iter((3, 5, 7))
    monkeypatch.setitem(
        registry._factories, "Neg", lambda node: registry.Expression("{0} * factor", {"factor": next(made)})
    )
    text = "x = Placeholder()\na = Neg(x)\nb = Neg(a)\nc = Neg(b)"
    assert plan(text, ["x"], ["c"]).function(None, [2]) == (210,)


def test_a_long_chain() -> None:
    count = 20_000
    nodes = prune(chain(count), ["x"], [f"s{count - 1}"], [])
    place(nodes, DEVICES[:1], DEVICES[0])
    made = Plan(DEVICES[0], nodes, Resources(), np, {})
    assert made.function(None, [np.float64(1)]) == (count - 2,)
    names = set(re.findall(r"\bv\d+\b", made.source))
    assert len(names) == 4  # x, the running sum, what leaves one group for the next, and the result


# ---------------------------------------------------------------------------- lifetimes


class Big(np.ndarray[Any, Any]):
    """An array that can be watched."""


def big() -> Big:
    return np.zeros(1000).view(Big)


def lifetimes(monkeypatch: pytest.MonkeyPatch) -> list[list[bool]]:
    """Which of the values made so far live, at each Identity of a plan."""
    watched: list[weakref.ref[Any]] = []
    alive: list[list[bool]] = []

    def make(x: Any) -> Any:
        made = big()
        watched.append(weakref.ref(made))
        return made

    def look(x: Any) -> Any:
        alive.append([ref() is not None for ref in watched])
        return x

    with_kernel(monkeypatch, "Square", make)
    with_kernel(monkeypatch, "Identity", look)
    with_kernel(monkeypatch, "AddV2", lambda x, y: np.float32(1))
    text = """
        x = Placeholder()
        a = Square(x)
        i = Identity(x; ^a)
        b = Square(i)
        s = AddV2(a, b)
        j = Identity(s)
        c = Square(j)
        d = Square(j; ^c)
        k = Identity(d; ^c)
        """
    plan(text, ["x"], ["k"]).function(None, [np.float32(0)])
    return alive


@pytest.mark.usefixtures("one_by_one")
def test_a_tensor_dies_after_its_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    # At i a lives; at j none, as a and b were last used by s; c is used by nobody, d by k itself.
    assert lifetimes(monkeypatch) == [[True], [False, False], [False, False, False, True]]


def test_a_received_tensor_does_not_outlive_the_run() -> None:
    text = "x = Placeholder()\ny = Neg(x)\nz = Neg(y) @ /task:1"
    receiver = plans(text, ["x"], ["z"])[1]
    run = receiver.function(Step(), [])
    value = big()
    watched = weakref.ref(value)
    assert next(run) == 0
    with pytest.raises(StopIteration):
        run.send(value)
    del value
    assert watched() is None


def test_closing_a_waiting_run_drops_its_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[weakref.ref[Any]] = []

    def make(x: Any) -> Any:
        made = big()
        watched.append(weakref.ref(made))
        return made

    with_kernel(monkeypatch, "Square", make)
    text = "x = Placeholder()\na = Square(x)\ny = Neg(x) @ /task:1\nz = AddV2(a, y)"
    waiting = next(made for made in plans(text, ["x"], ["z"]) if made.waits)
    run = waiting.function(Step(), [np.float32(1)])
    next(run)
    assert watched[0]() is not None
    run.close()
    assert watched[0]() is None


# ---------------------------------------------------------------------------- errors


def failure(made: Plan, feeds: list[Any]) -> errors.OpError:
    try:
        result = made.function(Step(), feeds)
    except Exception as e:
        return made.explain(e)
    pytest.fail(f"no error, but {result}")


def test_broadcasting_is_explained() -> None:
    made = plan(
        "x = Placeholder()\ny = Placeholder()\na = Neg(x)\nz = AddV2(a, y)\nw = Neg(z)", ["x", "y"], ["w"]
    )
    error = failure(made, [np.ones((2, 3)), np.ones(4)])
    assert type(error) is errors.InvalidArgumentError
    assert error.message == "Incompatible shapes: [2,3] vs. [4]\n\t [[{{node z}}]]"


def test_broadcasting_with_a_constant_is_explained() -> None:
    made = plan(f"x = Placeholder()\nc = {const([1, 2], 'float32')}\nz = Mul(x, c)", ["x"], ["z"])
    assert failure(made, [np.ones(3)]).message == "Incompatible shapes: [3] vs. [2]\n\t [[{{node z}}]]"


def test_broadcasting_with_a_variable_is_explained() -> None:
    text = "v = VariableV2()\nx = Placeholder()\na = Assign(v, x) validate_shape=False\nz = Mul(a, y)\n"
    made = plan(text.replace("z =", "y = Placeholder()\nz ="), ["x", "y"], ["z"])
    assert failure(made, [np.ones(3), np.ones(2)]).message.startswith("Incompatible shapes: [3] vs. [2]")


DEFECT = "A defect of the kernel of Square: the log of its task has the traceback."


@pytest.mark.parametrize(
    ("raised", "expected", "text"),
    [
        (ValueError("bad"), errors.InternalError, f"ValueError: bad. {DEFECT}"),
        (TypeError("bad"), errors.InternalError, f"TypeError: bad. {DEFECT}"),
        (IndexError("bad"), errors.InternalError, f"IndexError: bad. {DEFECT}"),
        (RuntimeError("odd"), errors.InternalError, f"RuntimeError: odd. {DEFECT}"),
        (errors.OutOfRangeError(None, None, "empty"), errors.OutOfRangeError, "empty"),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"),
            errors.InvalidArgumentError,
            "A string that Square takes as text is not valid utf-8: "
            "'utf-8' codec can't decode byte 0xff in position 0: odd",
        ),
    ],
    ids=repr,
)
def test_what_a_kernel_raises(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, expected: type[errors.OpError], text: str
) -> None:
    def fail(x: Any) -> Any:
        raise raised

    with_kernel(monkeypatch, "Square", fail)
    made = plan("x = Placeholder()\na = Neg(x)\nb = Square(a)\nc = Neg(b)", ["x"], ["c"])
    error = failure(made, [np.float32(1)])
    assert type(error) is expected
    assert error.message == f"{text}\n\t [[{{{{node b}}}}]]"


def test_what_there_is_no_memory_for_names_the_op_and_what_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(x: Any) -> Any:
        raise MemoryError("64 GiB")

    with_kernel(monkeypatch, "Square", fail)
    error = failure(plan("x = Placeholder()\nb = Square(x)", ["x"], ["b"]), [np.float32(1)])
    assert type(error) is errors.ResourceExhaustedError
    use = r"this process uses [\d.]+ [MG]iB\."
    assert re.fullmatch(
        rf"Out of memory in Square: 64 GiB; {use}\n\t \[\[\{{\{{node b\}}\}}\]\]", error.message
    )


def test_a_message_that_names_its_node_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(x: Any) -> Any:
        raise errors.AbortedError(None, None, "elsewhere\n\t [[{{node there}}]]")

    with_kernel(monkeypatch, "Square", fail)
    error = failure(plan("x = Placeholder()\nb = Square(x)", ["x"], ["b"]), [np.float32(1)])
    assert error.message == "elsewhere\n\t [[{{node there}}]]"


def test_the_read_of_a_reference_fails() -> None:
    made = plan("v = VariableV2()\nx = Placeholder()\na = Neg(x)\ny = Mul(a, v)", ["x"], ["y"])
    error = failure(made, [np.float32(1)])
    assert type(error) is errors.FailedPreconditionError
    assert error.message.startswith("Attempting to use uninitialized value v\nGive it a value first: run tf.")
    assert error.message.endswith("\n\t [[{{node y}}]]")


def test_the_fetch_of_a_reference_fails() -> None:
    error = failure(plan("v = VariableV2()", [], ["v"]), [])
    assert error.message.startswith("Attempting to use uninitialized value v\n")
    assert "\n\t [[{{node v}}]]" in error.message


def test_a_send_fails() -> None:
    class Broken(Step):
        def push(self, task: str, edge: int, value: Any) -> None:
            raise errors.UnavailableError(None, None, f"{task} is gone")

    made = plans("x = Placeholder()\ny = Neg(x)\nz = Neg(y) @ /task:1", ["x"], ["z"])[0]
    with pytest.raises(errors.UnavailableError) as caught:
        made.function(Broken(), [np.float32(1)])
    assert made.explain(caught.value).message.startswith(f"{TASKS[1]} is gone\n\t [[{{{{node _send_")


def test_a_waiting_run_fails() -> None:
    made = next(
        made
        for made in plans("x = Placeholder()\ny = Neg(x) @ /task:1\nz = AddV2(y, x)", ["x"], ["z"])
        if made.waits
    )
    run = made.function(Step(), [np.ones(2)])
    next(run)
    with pytest.raises(ValueError, match="broadcast") as caught:
        run.send(np.ones(3))
    assert made.explain(caught.value).message.endswith("[3] vs. [2]\n\t [[{{node z}}]]")


def test_errors_from_elsewhere() -> None:
    made = plan("x = Placeholder()\nb = Square(x)", ["x"], ["b"])
    known = errors.AbortedError(None, None, "the step was aborted")
    assert made.explain(known) is known
    assert made.explain(KeyError("k")).message == "KeyError: 'k'"


def test_a_kernel_that_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(registry._factories, "Square")
    with pytest.raises(errors.UnimplementedError, match=r"Op type Square has no kernel on .*CPU:0"):
        plan("x = Placeholder()\nb = Square(x)", ["x"], ["b"])


# ---------------------------------------------------------------------------- state


def test_kernels_of_stateful_ops_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def factory(node: registry.KernelNode) -> Callable[..., Any]:
        made.append(node.name)
        return lambda shape: np.float32(1)

    monkeypatch.setitem(registry._factories, "RandomUniform", factory)
    text = f"shape = {const([2], 'int32')}\nr = RandomUniform(shape) dtype=float32 T=int32"
    nodes = prune(graph(text), [], ["r"], [])
    place(nodes, DEVICES[:1], DEVICES[0])
    stateful: dict[tuple[str, str], Any] = {}
    for _ in range(3):
        Plan(DEVICES[0], nodes, Resources(), np, {}, stateful)
    assert made == ["r"]
    assert list(stateful) == [(DEVICES[0], "r")]


# ---------------------------------------------------------------------------- traces


def test_a_trace_has_every_node_that_runs() -> None:
    text = f"""
        x = Placeholder()
        axis = {const(0, "int32")}
        s = Split(axis, x) num_split=2
        y = Neg(s:1)
        z = Neg(y) @ /task:1
        w = AddV2(z, s)
        """
    made, other = plans(text, ["x"], ["w"])
    step = Step()
    run = made.traced()[0](step, [np.arange(4.0, dtype=np.float32)])
    edge = next(run)
    (sent,) = [value for _, number, value in step.sent if number != edge]
    with pytest.raises(StopIteration) as end:
        run.send(-sent)
    assert end.value.value[0].tolist() == [2, 4]
    (device,) = step.recorder.step_stats().dev_stats
    assert device.device == made.device
    recorded = [stats.node_name for stats in device.node_stats]
    assert recorded == [node.name for node in made.nodes if node.op not in ("Const", "NoOp", "_Retval")]
    split = device.node_stats[recorded.index("s")]
    assert split.timeline_label == "s = Split(axis, _arg_x_0_0)"
    description = split.output[0].tensor_description
    assert [dim.size for dim in description.shape.dim] == [2]
    assert description.dtype == dtypes.float32.enum
    starts = [stats.all_start_nanos for stats in device.node_stats]
    assert starts == sorted(starts)
    assert all(stats.op_end_rel_nanos >= 0 for stats in device.node_stats)
    assert other.traced()[0] is other.traced()[0]  # compiled once


def test_errors_of_traced_code_name_their_node() -> None:
    made = plan("x = Placeholder()\ny = Placeholder()\nz = AddV2(x, y)", ["x", "y"], ["z"])
    function, explain = made.traced()
    with pytest.raises(ValueError, match="broadcast") as caught:
        function(Step(), [np.ones(2), np.ones(3)])
    assert explain(caught.value).message == "Incompatible shapes: [2] vs. [3]\n\t [[{{node z}}]]"


def test_seconds() -> None:
    made = plan("x = Placeholder()\ny = Neg(x)", ["x"], ["y"])
    assert made.seconds == float("inf")
    made.took(2.0)
    assert made.seconds == 2.0
    made.took(12.0)  # the machine was busy with something else
    assert made.seconds == pytest.approx(3.0)
    made.took(1.0)
    assert made.seconds == 1.0
