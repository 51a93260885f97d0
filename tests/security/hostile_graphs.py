"""Large and hostile graphs for `request_sweep`: functions of a task, a count of nodes, and of megabytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import grpc

from tensorfleet.core import tensor_util
from tensorfleet.proto import attr_value_pb2, function_pb2, graph_pb2, node_def_pb2, types_pb2
from tests.security.watched_task import Task

FLOAT, STRING = types_pb2.DT_FLOAT, types_pb2.DT_STRING
Case = Callable[[Task, int, int], Any]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def add(graph: Any, name: str, op: str, inputs: Any = (), **attrs: Any) -> node_def_pb2.NodeDef:
    node: node_def_pb2.NodeDef = graph.add(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        if isinstance(value, bytes):
            node.attr[key].s = value
        elif isinstance(value, attr_value_pb2.AttrValue):
            node.attr[key].CopyFrom(value)
        elif key in ("N", "index"):
            node.attr[key].i = value
        else:
            node.attr[key].type = value
    return node


def scalar() -> graph_pb2.GraphDef:
    graph = graph_pb2.GraphDef()
    add(graph.node, "x", "Placeholder", dtype=FLOAT)
    return graph


def feed() -> Any:
    return [("x:0", tensor_util.make_tensor_proto(1.0, FLOAT))]


def chain(nodes: int, op: str = "Neg") -> graph_pb2.GraphDef:
    graph = scalar()
    for i in range(nodes):
        add(graph.node, f"n{i}", op, [f"n{i - 1}" if i else "x"], T=FLOAT)
    return graph


def used(task: Task, graph: graph_pb2.GraphDef, fetches: Any = (), targets: Any = (), **options: Any) -> None:
    """Creates a session, runs a step of it twice, and closes it; says what each did."""
    steps = [("create", lambda: state.append(task.create(graph)))]
    state: list[str] = []
    for name in ("first step", "second step"):
        steps.append((name, lambda: task.run(state[0], fetches, targets, feed(), **options)))
    steps.append(("close", lambda: task.close(state[0])))
    said(task, steps)


def said(task: Task, steps: Any) -> None:
    for name, function in steps:
        task.pauses()
        problem = ""
        began = time.monotonic()
        try:
            function()
        except grpc.RpcError as e:
            problem = f"{e.code().name}: {e.details()[:100]!r}"
        took = time.monotonic() - began
        found = task.pauses()
        print(
            f"  {name:14} {found['longest']:.3f} s, collections {found['collecting']:.3f}, took {took:.2f}, "
            f"{found['megabytes']} MB {problem}",
            flush=True,
        )
        if found["longest"] > 0.05 and found["stack"]:
            print("    |", found["stack"], flush=True)
        if problem and name == "create":
            break


@case
def a_chain(task: Task, nodes: int, size: int) -> None:
    used(task, chain(nodes), [f"n{nodes - 1}:0"])


@case
def many_nodes_traced(task: Task, nodes: int, size: int) -> None:
    used(task, chain(nodes), [f"n{nodes - 1}:0"], trace_level=3, output_partition_graphs=True)


@case
def many_fetches(task: Task, nodes: int, size: int) -> None:
    used(task, chain(nodes), [f"n{i}:0" for i in range(nodes)])


@case
def many_targets(task: Task, nodes: int, size: int) -> None:
    used(task, chain(nodes), (), [f"n{i}" for i in range(nodes)])


@case
def different_nodes(task: Task, nodes: int, size: int) -> None:
    """Each has attributes of its own."""
    graph = chain(nodes)
    for i, node in enumerate(graph.node):
        node.attr["_own"].i = i
    used(task, graph, [f"n{nodes - 1}:0"])


@case
def constants(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    for i in range(nodes // 2):
        node = add(graph.node, f"c{i}", "Const", dtype=FLOAT)
        node.attr["value"].tensor.CopyFrom(tensor_util.make_tensor_proto(float(i), FLOAT))
        add(graph.node, f"n{i}", "Add", [f"n{i - 1}" if i else "x", f"c{i}"], T=FLOAT)
    used(task, graph, [f"n{nodes // 2 - 1}:0"])


@case
def one_node_with_many_inputs(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    add(graph.node, "y", "AddN", ["x"] * nodes, T=FLOAT, N=nodes)
    used(task, graph, ["y:0"])


@case
def one_node_with_many_controls(task: Task, nodes: int, size: int) -> None:
    graph = chain(nodes)
    add(graph.node, "y", "NoOp", [f"^n{i}" for i in range(nodes)])
    used(task, graph, (), ["y"])


@case
def many_attributes(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    for i in range(nodes):
        graph.node[3].attr[f"_a{i}"].i = i
    used(task, graph, ["n9:0"])


@case
def a_long_list(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    graph.node[3].attr["_l"].list.i.extend(range(size << 18))
    used(task, graph, ["n9:0"])


@case
def a_long_list_of_strings(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    graph.node[3].attr["_l"].list.s.extend([b"abcdefgh"] * (size << 17))
    used(task, graph, ["n9:0"])


@case
def groups_of_one_node(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    graph.node[3].attr["_class"].list.s.extend([b"loc:@n%d" % i for i in range(nodes)])
    used(task, graph, ["n9:0"])


@case
def one_group(task: Task, nodes: int, size: int) -> None:
    graph = chain(nodes)
    for node in graph.node[1:]:
        node.attr["_class"].list.s.append(b"loc:@n0")
    used(task, graph, [f"n{nodes - 1}:0"])


@case
def long_names(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    name = "n" * (size << 17)
    for i in range(4):
        add(graph.node, f"{name}{i}", "Neg", ["x"], T=FLOAT)
    used(task, graph, [f"{name}3:0"])


@case
def a_long_device(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    graph.node[3].device = "/job:" + "n" * (size << 20)
    used(task, graph, ["n9:0"])


@case
def a_long_unknown_op(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    add(graph.node, "y", "n" * (size << 20))
    used(task, graph, ["n9:0"])


@case
def an_unknown_input(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    add(graph.node, "y", "Neg", ["n" * (size << 20)], T=FLOAT)
    used(task, graph, ["n9:0"])


@case
def a_wrong_name(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    add(graph.node, "?" * (size << 20), "Neg", ["n9"], T=FLOAT)
    used(task, graph, ["n9:0"])


@case
def one_cycle(task: Task, nodes: int, size: int) -> None:
    graph = chain(nodes)
    graph.node[1].input[0] = f"n{nodes - 1}"
    used(task, graph)


@case
def the_last_node_is_wrong(task: Task, nodes: int, size: int) -> None:
    graph = chain(nodes)
    add(graph.node, "n0", "Neg", ["x"], T=FLOAT)
    used(task, graph)


@case
def nodes_backwards(task: Task, nodes: int, size: int) -> None:
    graph = chain(nodes)
    turned = graph_pb2.GraphDef(node=reversed(graph.node))
    used(task, turned, [f"n{nodes - 1}:0"])


@case
def a_large_constant(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    node = add(graph.node, "c", "Const", dtype=FLOAT)
    node.attr["value"].tensor.dtype = FLOAT
    node.attr["value"].tensor.tensor_shape.dim.add(size=size << 18)
    node.attr["value"].tensor.tensor_content = bytes(size << 20)
    used(task, graph, ["n9:0", "c:0"])


@case
def a_large_constant_by_values(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    node = add(graph.node, "c", "Const", dtype=types_pb2.DT_INT32)
    node.attr["value"].tensor.dtype = types_pb2.DT_INT32
    node.attr["value"].tensor.tensor_shape.dim.add(size=size << 18)
    node.attr["value"].tensor.int_val.extend([1 << 25] * (size << 18))
    used(task, graph, ["n9:0", "c:0"])


@case
def a_large_constant_of_strings(task: Task, nodes: int, size: int) -> None:
    graph = chain(10)
    node = add(graph.node, "c", "Const", dtype=STRING)
    node.attr["value"].tensor.dtype = STRING
    node.attr["value"].tensor.tensor_shape.dim.add(size=size << 17)
    node.attr["value"].tensor.string_val.extend([b"abcdefgh"] * (size << 17))
    used(task, graph, ["n9:0", "c:0"])


def function(library: Any, name: str, nodes: int) -> function_pb2.FunctionDef:
    made: function_pb2.FunctionDef = library.function.add()
    made.signature.name = name
    made.signature.input_arg.add(name="a", type=FLOAT)
    made.signature.output_arg.add(name="r", type=FLOAT)
    for i in range(nodes):
        add(made.node_def, f"n{i}", "Neg", [f"n{i - 1}:y:0" if i else "a"], T=FLOAT)
    made.ret["r"] = f"n{nodes - 1}:y:0"
    return made


def called(name: str) -> dict[str, Any]:
    types = attr_value_pb2.AttrValue()
    types.list.type.append(FLOAT)
    func = attr_value_pb2.AttrValue()
    func.func.name = name
    return {"Tin": types, "Tout": types, "f": func}


@case
def one_large_function(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    function(graph.library, "f", nodes)
    add(graph.node, "y", "PartitionedCall", ["x"], **called("f"))
    used(task, graph, ["y:0"])


@case
def one_large_function_that_stays(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    function(graph.library, "f", min(nodes, 240_000)).attr["_noinline"].b = True
    add(graph.node, "y", "PartitionedCall", ["x"], **called("f"))
    used(task, graph, ["y:0"])


@case
def its_gradient(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    function(graph.library, "f", nodes)
    attrs = called("f")
    types = attr_value_pb2.AttrValue()
    types.list.type.extend([FLOAT, FLOAT])
    attrs["Tin"] = types
    add(graph.node, "y", "SymbolicGradient", ["x", "x"], **attrs)
    used(task, graph, ["y:0"])


@case
def many_functions(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    for i in range(nodes // 5):
        function(graph.library, f"f{i}", 3)
        add(graph.node, f"y{i}", "PartitionedCall", ["x" if not i else f"y{i - 1}"], **called(f"f{i}"))
    used(task, graph, [f"y{nodes // 5 - 1}:0"])


@case
def doubling_functions(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    for i in range(30):
        made = function(graph.library, f"f{i}", 1)
        del made.node_def[:]
        add(made.node_def, "n", "PartitionedCall", ["a"], **called(f"f{i + 1}"))
        add(made.node_def, "n0", "PartitionedCall", ["n:output:0"], **called(f"f{i + 1}"))
        made.ret["r"] = "n0:output:0"
    function(graph.library, "f30", 1)
    add(graph.node, "y", "PartitionedCall", ["x"], **called("f0"))
    used(task, graph, ["y:0"])


@case
def doubling_functions_that_stay(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    for i in range(14):
        made = function(graph.library, f"f{i}", 1)
        made.attr["_noinline"].b = True
        del made.node_def[:]
        add(made.node_def, "n", "PartitionedCall", ["a"], **called(f"f{i + 1}"))
        add(made.node_def, "n0", "PartitionedCall", ["n:output:0"], **called(f"f{i + 1}"))
        made.ret["r"] = "n0:output:0"
    function(graph.library, "f14", 1).attr["_noinline"].b = True
    add(graph.node, "y", "PartitionedCall", ["x"], **called("f0"))
    used(task, graph, ["y:0"])


@case
def a_large_loop(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    add(graph.node, "zero", "Const", dtype=FLOAT).attr["value"].tensor.MergeFrom(feed()[0][1])
    add(graph.node, "enter", "Enter", ["x"], T=FLOAT, frame_name=b"f")
    add(graph.node, "merge", "Merge", ["enter", "next"], T=FLOAT, N=2)
    add(graph.node, "limit", "Enter", ["zero"], T=FLOAT, frame_name=b"f").attr["is_constant"].b = True
    add(graph.node, "less", "Less", ["merge", "limit"], T=FLOAT)
    add(graph.node, "cond", "LoopCond", ["less"])
    add(graph.node, "switch", "Switch", ["merge", "cond"], T=FLOAT)
    add(graph.node, "exit", "Exit", ["switch"], T=FLOAT)
    add(graph.node, "b", "Identity", ["switch:1"], T=FLOAT)
    for i in range(nodes):
        add(graph.node, f"n{i}", "Neg", [f"n{i - 1}" if i else "b"], T=FLOAT)
    add(graph.node, "next", "NextIteration", [f"n{nodes - 1}"], T=FLOAT)
    used(task, graph, ["exit:0"])


@case
def large_branches(task: Task, nodes: int, size: int) -> None:
    graph = scalar()
    add(graph.node, "p", "Placeholder", dtype=types_pb2.DT_BOOL)
    add(graph.node, "less", "Less", ["x", "x"], T=FLOAT)
    add(graph.node, "switch", "Switch", ["x", "less"], T=FLOAT)
    for i in range(nodes):
        add(graph.node, f"n{i}", "Neg", [f"n{i - 1}" if i else "switch:1"], T=FLOAT)
    add(graph.node, "y", "Merge", ["switch", f"n{nodes - 1}"], T=FLOAT, N=2)
    used(task, graph, ["y:0"])


def variables(nodes: int) -> graph_pb2.GraphDef:
    graph = scalar()
    shape = attr_value_pb2.AttrValue()
    shape.shape.SetInParent()
    for i in range(nodes // 2):
        add(graph.node, f"v{i}", "VariableV2", dtype=FLOAT, shape=shape)
        add(graph.node, f"a{i}", "Assign", [f"v{i}", "x"], T=FLOAT)
    return graph


@case
def many_variables(task: Task, nodes: int, size: int) -> None:
    used(task, variables(nodes), (), [f"a{i}" for i in range(nodes // 2)])


@case
def one_variable_that_many_change(task: Task, nodes: int, size: int) -> None:
    graph = variables(2)
    for i in range(nodes):
        add(graph.node, f"n{i}", "AssignAdd", ["v0", "x"], T=FLOAT)
    used(task, graph, (), [f"n{i}" for i in range(nodes)])


@case
def changes_that_wait_for_each_other(task: Task, nodes: int, size: int) -> None:
    graph = variables(2)
    for i in range(nodes // 4):
        add(graph.node, f"n{i}", "AssignAdd", ["v0", "x", *([f"^n{i - 1}"] if i else [])], T=FLOAT)
    used(task, graph, ["v0:0"], [f"n{nodes // 4 - 1}"])


@case
def wide(task: Task, nodes: int, size: int) -> None:
    """Everything takes one tensor, and all of it goes into one node."""
    graph = scalar()
    for i in range(nodes):
        add(graph.node, f"n{i}", ("Neg", "Exp", "Sin", "Tan")[i % 4], ["x"], T=FLOAT).attr["_i"].i = i
    add(graph.node, "y", "AddN", [f"n{i}" for i in range(nodes)], T=FLOAT, N=nodes)
    used(task, graph, ["y:0"])


@case
def placement_told(task: Task, nodes: int, size: int) -> None:
    state: list[str] = []
    said(
        task,
        [
            ("create", lambda: state.append(task.create(chain(nodes), log_device_placement=True))),
            ("step", lambda: task.run(state[0], [f"n{nodes - 1}:0"], (), feed())),
            ("close", lambda: task.close(state[0])),
        ],
    )
