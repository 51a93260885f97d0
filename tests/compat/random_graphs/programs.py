"""Programs: random nodes put together into a graph, run by TensorFlow and by TensorFleet, and compared."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from hypothesis import strategies as st

import tensorfleet
from tensorfleet.core import dtypes
from tensorfleet.graph import op_def
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.config_pb2 import ConfigProto
from tests.compat.random_graphs.differences import UNSET_OUTPUTS, excuse
from tests.compat.random_graphs.draws import Call, Draw, Leaf
from tests.compat.random_graphs.table import GENERATORS, LOOSE, SHAPES_ONLY

CONSTRUCTION = "refused at construction"

_variables = itertools.count()


class UncheckedGraph(Graph):
    """A graph that takes every node: TensorFlow says whether what ours refuses is wrong."""

    def _infer_shapes(self, op: Operation) -> None:
        for tensor in op.outputs:
            tensor.dims = None


@dataclass
class Step:
    """A node and where its inputs come from: a tensor, or (Leaf, "const" | "placeholder" | "unknown")."""

    call: Call
    sources: list[Any]


@dataclass
class Outcome:
    """The outcome of a run: values by tensor name, or the kind of its error."""

    values: dict[str, Any]
    error: str = ""
    text: str = ""


@dataclass
class Program:
    """A graph with its feeds and fetches; `refused` is our error's text where our construction refuses it."""

    graph: Graph
    steps: list[Step] = field(default_factory=list)
    feeds: dict[str, Any] = field(default_factory=dict)
    fetches: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    made_by: dict[str, Operation] = field(default_factory=dict)
    refused: str = ""

    def __repr__(self) -> str:
        lines = []
        for step in self.steps:
            inputs = ", ".join(map(_describe, step.sources))
            lines.append(f"{step.call.op}({inputs}) {step.call.attrs}")
        return "\n".join(lines)


def _describe(source: Any) -> str:
    if isinstance(source, list):
        return "[" + ", ".join(map(_describe, source)) + "]"
    if isinstance(source, str):
        return source
    leaf, kind = source
    return (
        f"{kind} {leaf.dtype.name}{list(np.shape(leaf.value))}={np.asarray(leaf.value).ravel()[:6].tolist()}"
    )


def draw_program(draw: Callable[[Any], Any], ops: Sequence[str], faulty: bool) -> Program:
    """A graph of nodes of these op types, in this order, joined where types and shapes let them."""
    program = Program(Graph())
    pool: list[Tensor] = []
    with program.graph.as_default():
        for op in ops:
            known = [(t.dtype.base, t.dims) for t in pool]
            d = Draw(draw, op, known, faulty)
            call = GENERATORS[op](d)
            sources = [_source(draw, item, pool) for item in call.inputs]
            step = Step(call, sources)
            program.steps.append(step)
            try:
                made = _construct(program, step)
            except ValueError as error:
                program.refused = str(error)
                break
            pool += [t for t in made.outputs if t.dims is not None and None not in t.dims and _is_plain(t)]
    if program.refused:
        program.graph = UncheckedGraph()
        program.feeds.clear()
        program.fetches.clear()
        program.targets.clear()
        with program.graph.as_default():
            for step in program.steps:
                _construct(program, step)
    return program


def _is_plain(tensor: Tensor) -> bool:
    return tensor.dtype.np is not None and not tensor.dtype.is_ref


def _source(draw: Callable[[Any], Any], item: Any, pool: Sequence[Tensor]) -> Any:
    if isinstance(item, list):
        return [_source(draw, leaf, pool) for leaf in item]
    assert isinstance(item, Leaf)
    if item.kind in ("ref", "resource"):
        return item, item.kind
    if item.kind == "tensor":
        fitting = [t.name for t in pool if t.dtype is item.dtype and t.dims == np.shape(item.value)]
        if fitting and draw(st.integers(0, 4)):
            return draw(st.sampled_from(fitting))
    return item, draw(st.sampled_from(["const", "const", "placeholder", "unknown"]))


def _construct(program: Program, step: Step) -> Operation:
    graph, call = program.graph, step.call
    controls: list[Operation] = []
    handles: list[tuple[Tensor, Leaf]] = []

    def tensor(source: Any) -> Any:
        if isinstance(source, list):
            return [tensor(item) for item in source]
        if isinstance(source, str):
            return graph.get_tensor_by_name(source)
        leaf, kind = source
        shape = np.shape(leaf.value)
        if kind == "const":
            return apply_op("Const", value=leaf.value, dtype=leaf.dtype)
        if kind in ("placeholder", "unknown"):
            made = apply_op("Placeholder", dtype=leaf.dtype, shape=None if kind == "unknown" else shape)
            program.feeds[made.name] = leaf.value
            return made
        value = apply_op("Const", value=leaf.value, dtype=leaf.dtype)
        names = {"dtype": leaf.dtype, "shape": shape, "shared_name": f"variable_{next(_variables)}"}
        if kind == "ref":
            return apply_op("Assign", apply_op("VariableV2", **names), value)
        handle = apply_op("VarHandleOp", **names)
        controls.append(apply_op("AssignVariableOp", handle, value))
        handles.append((handle, leaf))
        return handle

    inputs = [tensor(source) for source in step.sources]
    with graph.control_dependencies(controls):
        result = apply_op(call.op, *inputs, **call.attrs)
    op = result if isinstance(result, Operation) else _first(result).op
    if call.op != "DestroyResourceOp" and not op.outputs:
        with graph.control_dependencies([op]):
            for handle, leaf in handles:
                _fetch(program, apply_op("ReadVariableOp", handle, dtype=leaf.dtype), op)
    for output in op.outputs[: UNSET_OUTPUTS.get(op.type)]:
        _fetch(program, output, op)
    if not op.outputs:
        program.targets.append(op.name)
    return op


def _first(result: Any) -> Tensor:
    while not isinstance(result, Tensor):
        result = result[0]
    return result


def _fetch(program: Program, tensor: Tensor, op: Operation) -> None:
    program.fetches.append(tensor.name)
    program.made_by[tensor.name] = op


# Running


def run_tensorflow(program: Program) -> Outcome:
    """TensorFlow's own session, without its graph optimizer: each node as it is."""
    graph = tf.Graph()
    with graph.as_default():
        graph_def = tf.GraphDef.FromString(program.graph.as_graph_def().SerializeToString())
        try:
            tf.import_graph_def(graph_def, name="")
        except ValueError as error:
            return Outcome({}, CONSTRUCTION, str(error))
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    with tf.Session(graph=graph, config=config) as session:
        try:
            values = session.run([program.fetches, program.targets], program.feeds)[0]
        except tf.errors.OpError as error:
            return Outcome({}, type(error).__name__, error.message)
    return Outcome(dict(zip(program.fetches, values, strict=True)))


def run_ours(program: Program, target: str = "", config: ConfigProto | None = None) -> Outcome:
    """Our session, in this process or on servers of either library."""
    if program.refused:
        return Outcome({}, CONSTRUCTION, program.refused)
    with tensorfleet.Session(target, graph=program.graph, config=config) as session:
        try:
            values = session.run([program.fetches, program.targets], program.feeds)[0]
        except tensorfleet.errors.OpError as error:
            return Outcome({}, type(error).__name__, error.message)
    return Outcome(dict(zip(program.fetches, values, strict=True)))


def run_node(program: Program, op: Operation, values: dict[str, Any]) -> Outcome:
    """One node alone in our session, on the values that TensorFlow's inputs had."""
    for node in program.graph.get_operations():
        node._set_device("")
    feeds = {t.name: values[t.name] for t in op.inputs if t.name in values}
    feeds |= {name: value for name, value in program.feeds.items() if name not in feeds}
    with tensorfleet.Session(graph=program.graph) as session:
        outputs = [t.name for t in op.outputs]
        return Outcome(dict(zip(outputs, session.run(outputs, feeds), strict=True)))


# Comparing


def compare(program: Program, ours: Outcome, theirs: Outcome) -> None:
    """Both gave the same values, shapes and types, or an error of the same class.

    A value that differs by more than its op may is computed once more from TensorFlow's own inputs: a
    function with a step in it may turn a rounding difference of its input into any difference.
    """
    if any(excuse(step.call, theirs.error, theirs.text) for step in program.steps):
        return
    if ours.error or theirs.error:
        assert ours.error == theirs.error, (
            f"TensorFlow: {theirs.error or 'no error'}: {theirs.text[:600]}\n"
            f"TensorFleet: {ours.error or 'no error'}: {ours.text[:600]}\n{program!r}"
        )
        return
    for name in program.fetches:
        problem = difference(program.made_by[name].type, ours.values[name], theirs.values[name])
        if problem and len(program.steps) > 1:
            again = run_node(program, program.made_by[name], theirs.values)
            problem = difference(program.made_by[name].type, again.values[name], theirs.values[name])
        assert not problem, f"{name}: {problem}\n{program!r}"


def difference(op: str, ours: Any, theirs: Any) -> str:
    """How our value differs from TensorFlow's; empty if it does not."""
    if isinstance(theirs, bytes) or isinstance(ours, bytes):
        same = type(ours) is type(theirs) and ours == theirs
        return "" if same else f"TensorFlow {theirs!r}, TensorFleet {ours!r}"
    if isinstance(ours, np.generic) is not isinstance(theirs, np.generic):
        return f"TensorFlow {type(theirs)}, TensorFleet {type(ours)}"
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return f"TensorFlow {theirs.dtype} {theirs.shape}, TensorFleet {ours.dtype} {ours.shape}"
    if op in SHAPES_ONLY:
        return ""
    if ours.dtype.hasobject or not ours.size:
        same = ours.tolist() == theirs.tolist()
    else:
        same = _close(op, ours, theirs)
    return "" if same else f"TensorFlow\n{theirs!r}\nTensorFleet\n{ours!r}"


_EPSILON = {dtypes.float16: 1e-3, dtypes.bfloat16: 8e-3, dtypes.float32: 1.2e-7, dtypes.complex64: 1.2e-7}


def _close(op: str, ours: Any, theirs: Any) -> bool:
    dtype = dtypes.from_numpy(ours.dtype)
    if not (dtype.is_floating or dtype.is_complex):
        return bool(np.array_equal(ours, theirs))
    epsilon = _EPSILON.get(dtype, 2.3e-16)
    tolerance = max(4 * epsilon, LOOSE.get(op, 0) * epsilon / 1.2e-7)
    wide = np.complex128 if dtype.is_complex else np.float64
    left, right = np.asarray(ours).astype(wide), np.asarray(theirs).astype(wide)
    finite = np.abs(right[np.isfinite(right)])
    scale = finite.max() if finite.size else 0.0
    return bool(np.allclose(left, right, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def covered() -> set[str]:
    """The op types that have a generator and a definition."""
    return {op for op in GENERATORS if op_def.lookup(op) is not None}
