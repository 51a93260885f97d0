"""Functions on a task: their bodies as nodes, how they are called, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import errors
from tensorfleet.proto.attr_value_pb2 import AttrValue, NameAttrList
from tensorfleet.proto.function_pb2 import FunctionDef
from tensorfleet.proto.types_pb2 import DT_FLOAT
from tensorfleet_service.executor.functions import Library
from tensorfleet_service.graph.function_graph import body
from tensorfleet_service.graph.graph import describe, needed_functions
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.pool import Pool

DEVICE = "/job:worker/replica:0/task:0/device:CPU:0"
SECONDS = 20.0


def function(text: str) -> FunctionDef:
    return text_format.Parse(text, FunctionDef())


def signature(name: str, inputs: str, outputs: str) -> str:
    """`inputs` and `outputs` are names of float32 arguments."""
    parts = [f'input_arg {{ name: "{i}" type: DT_FLOAT }}' for i in inputs.split()]
    parts += [f'output_arg {{ name: "{o}" type: DT_FLOAT }}' for o in outputs.split()]
    return f'signature {{ name: "{name}" {" ".join(parts)} }}'


def node(name: str, op: str, *inputs: str, attrs: str = 'attr { key: "T" value { type: DT_FLOAT } }') -> str:
    given = " ".join(f'input: "{text}"' for text in inputs)
    return f'node_def {{ name: "{name}" op: "{op}" {given} {attrs} }}'


def ret(**results: str) -> str:
    return " ".join(f'ret {{ key: "{key}" value: "{value}" }}' for key, value in results.items())


def call(name: str) -> str:
    types = "".join(
        f'attr {{ key: "{key}" value {{ list {{ type: DT_FLOAT }} }} }}' for key in ("Tin", "Tout")
    )
    return f'{types} attr {{ key: "f" value {{ func {{ name: "{name}" }} }} }}'


@pytest.fixture
def library() -> Iterator[Library]:
    pool = Pool("functions")
    made = Library(Resources(), pool)
    yield made
    made.close()
    pool.close()


def instantiate(library: Library, name: str) -> Any:
    return library.instantiate(NameAttrList(name=name), DEVICE, np)


SQUARES = function(
    signature("squares", "a b", "sum difference")
    + node("unused", "Neg", "b")
    + node("minus", "Sub", "a2:y:0", "b2:y:0")
    + node("a2", "Square", "a")
    + node("b2", "Square", "b")
    + node("plus", "AddV2", "a2:y:0", "b2:y")
    + ret(sum="plus:z:0", difference="minus:z:0")
)


def test_a_body_has_what_the_results_need_in_order() -> None:
    assert describe(body(SQUARES, {})) == (
        "a = _Arg()\n"
        "b = _Arg()\n"
        "a2 = Square(a)\n"
        "b2 = Square(b)\n"
        "plus = AddV2(a2, b2)\n"
        "minus = Sub(a2, b2)\n"
        "_retval_0 = _Retval(plus)\n"
        "_retval_1 = _Retval(minus)\n"
    )


def test_a_call(library: Library) -> None:
    library.add([SQUARES])
    made = instantiate(library, "squares")
    assert made(np.float32(3), np.float32(2)) == (13, 5)
    assert instantiate(library, "squares") is made


def test_outputs_behind_a_list_and_effects_without_results() -> None:
    split = 'attr { key: "T" value { type: DT_FLOAT } } attr { key: "num_split" value { i: 3 } }'
    text = (
        signature("parts", "x", "last")
        + 'node_def { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } '
        'attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }'
        + node("split", "Split", "axis:output:0", "x", attrs=split)
        + node("checked", "Identity", "split:output:1")
        + ret(last="split:output:2")
        + 'control_ret { key: "checked" value: "checked" }'
    )
    assert describe(body(function(text), {})) == (
        "x = _Arg()\n"
        "axis = Const()\n"
        "split = Split(axis, x)\n"
        "checked = Identity(split:1)\n"
        "_retval_0 = _Retval(split:2)\n"
    )


def test_attributes_of_the_call_stand_for_placeholders() -> None:
    text = (
        'signature { name: "same" input_arg { name: "x" type_attr: "T" } '
        'output_arg { name: "y" type_attr: "T" } '
        'attr { name: "T" type: "type" } }'
        + node("copy", "Identity", "x", attrs='attr { key: "T" value { placeholder: "T" } }')
        + ret(y="copy:output:0")
    )
    nodes = body(function(text), {"T": AttrValue(type=DT_FLOAT)})
    assert [n.attrs["T"].name for n in nodes] == ["float32"] * 3
    with pytest.raises(errors.InvalidArgumentError, match="without its attribute T"):
        body(function(text), {})


@pytest.mark.parametrize(
    ("nodes", "result", "match"),
    [
        (node("y", "Neg", "z"), "y:y:0", "neither an argument nor an output"),
        (node("y", "Neg", "x"), "y:no:0", "neither an argument nor an output"),
        (node("y", "Neg", "z:y:0") + node("z", "Neg", "y:y:0"), "y:y:0", "wait for each other"),
        (node("y", "NoSuchOp", "x"), "y:y:0", "not registered|neither an argument"),
    ],
)
def test_bodies_that_are_wrong(nodes: str, result: str, match: str) -> None:
    with pytest.raises(errors.OpError, match=match):
        body(function(signature("wrong", "x", "y") + nodes + ret(y=result)), {})


def test_errors_name_the_op_in_the_function(library: Library) -> None:
    attrs = 'attr { key: "T" value { type: DT_FLOAT } } attr { key: "message" value { s: "bad" } }'
    library.add(
        [
            function(
                signature("checks", "x", "y")
                + node("c", "CheckNumerics", "x", attrs=attrs)
                + ret(y="c:output:0")
            )
        ]
    )
    with pytest.raises(errors.InvalidArgumentError, match=r"bad.*\n\t \[\[{{node c}}\]\]"):
        instantiate(library, "checks")(np.float32(np.inf))


def test_functions_call_functions_but_not_themselves(library: Library) -> None:
    outer = function(
        signature("outer", "x", "y")
        + node("c", "PartitionedCall", "x", attrs=call("inner"))
        + ret(y="c:output:0")
    )
    inner = function(signature("inner", "x", "y") + node("n", "Neg", "x") + ret(y="n:y:0"))
    endless = function(
        signature("endless", "x", "y")
        + node("c", "PartitionedCall", "x", attrs=call("endless"))
        + ret(y="c:output:0")
    )
    library.add([outer, inner, endless])
    assert instantiate(library, "outer")(np.float32(3)) == (-3,)
    with pytest.raises(errors.UnimplementedError, match="endless -> endless"):
        instantiate(library, "endless")
    with pytest.raises(errors.NotFoundError, match="Function absent is not defined"):
        instantiate(library, "absent")


def test_the_functions_that_a_graph_needs() -> None:
    inner = function(signature("inner", "x", "y") + node("n", "Neg", "x") + ret(y="n:y:0"))
    outer = function(
        signature("outer", "x", "y")
        + node("c", "PartitionedCall", "x", attrs=call("inner"))
        + ret(y="c:output:0")
    )
    other = function(signature("other", "x", "y") + ret(y="x"))
    caller = body(
        function(
            signature("main", "x", "y")
            + node("c", "PartitionedCall", "x", attrs=call("outer"))
            + ret(y="c:output:0")
        ),
        {},
    )
    known = {f.signature.name: f for f in (inner, outer, other)}
    assert {f.signature.name for f in needed_functions(caller, known)} == {"outer", "inner"}
    with pytest.raises(errors.NotFoundError, match="Function outer is not defined"):
        needed_functions(caller, {})


def test_random_ops_have_a_state_in_each_instance(library: Library) -> None:
    attrs = (
        'attr { key: "T" value { type: DT_INT32 } } attr { key: "dtype" value { type: DT_FLOAT } } '
        'attr { key: "seed" value { i: 1 } } attr { key: "seed2" value { i: 2 } }'
    )
    shape = (
        'node_def { name: "shape" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } '
        'attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } '
        "int_val: 4 } } } }"
    )
    library.add(
        [
            function(
                signature("draws", "", "y")
                + shape
                + node("r", "RandomUniform", "shape:output:0", attrs=attrs)
                + ret(y="r:output:0")
            )
        ]
    )
    first, second = instantiate(library, "draws"), instantiate(library, "draws")
    assert first is not second
    drawn = [first()[0].tolist(), first()[0].tolist()]
    assert drawn[0] != drawn[1]
    assert [second()[0].tolist(), second()[0].tolist()] == drawn


def test_a_call_that_waits_has_no_thread(library: Library) -> None:
    queue = (
        'node_def { name: "q" op: "FIFOQueueV2" '
        'attr { key: "component_types" value { list { type: DT_FLOAT } } } '
        'attr { key: "shared_name" value { s: "q" } } }'
    )
    types = 'attr { key: "component_types" value { list { type: DT_FLOAT } } }'
    puts = 'attr { key: "Tcomponents" value { list { type: DT_FLOAT } } }'
    library.add(
        [
            function(
                signature("takes", "x", "y")
                + queue
                + node("d", "QueueDequeueV2", "q:handle:0", attrs=types)
                + node("s", "AddV2", "d:components:0", "x")
                + ret(y="s:z:0")
            ),
            function(
                signature("puts", "x", "y")
                + queue
                + node("e", "QueueEnqueueV2", "q:handle:0", "x", attrs=puts)
                + ret(y="x")
            ),
        ]
    )
    takes, puts_one = instantiate(library, "takes"), instantiate(library, "puts")
    assert takes.waits
    given_up, kept = takes(np.float32(1)), takes(np.float32(2))
    assert isinstance(given_up, Future)
    given_up.cancel()
    results: list[Any] = []

    arrived = threading.Event()
    assert kept.start(lambda future: (results.append(future.result()), arrived.set()))
    puts_one(np.float32(40))
    assert arrived.wait(SECONDS)
    assert results == [(42,)]
