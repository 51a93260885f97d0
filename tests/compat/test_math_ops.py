"""Every mathematical op, run by TensorFlow and by our kernels on the same inputs.

The graph is built by our client and imported into TensorFlow, so the signatures are compared as well; values,
dtypes, shapes, error classes and error texts must agree. Static shapes are compared in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
tf = pytest.importorskip("tensorflow").compat.v1

import ml_dtypes  # noqa: E402

from tensorfleet.core import dtypes, errors  # noqa: E402
from tensorfleet.graph.apply import apply_op  # noqa: E402
from tensorfleet.graph.graph import Graph, lookup_op  # noqa: E402
from tensorfleet.ops.array.identity import placeholder  # noqa: E402
from tests.compat.math_cases import CASES, LOOSE, SHAPE_CASES, Case  # noqa: E402
from tests.kernels.harness import call, make_node  # noqa: E402

_NO_KERNEL = ("No OpKernel was registered", "Could not find device", "is not supported on CPU")


def _tensorflow_session(graph: Any) -> Any:
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.place_pruned_graph = True  # an op without a kernel must only fail itself
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return tf.Session(graph=graph, config=config)


def _build(case: Case, index: int, dims: Any = "unknown") -> Any:
    """The op on placeholders; their shapes are unknown, so that errors come from kernels."""

    def feed(value: Any, position: str) -> Any:
        shape = None if dims == "unknown" else dims[int(position)]
        return placeholder(dtypes.from_numpy(value.dtype), shape, name=f"in{index}_{position}")

    inputs: list[Any] = []
    for i, value in enumerate(case.inputs):
        if isinstance(value, list):
            inputs.append([feed(item, f"{i}_{j}") for j, item in enumerate(value)])
        else:
            inputs.append(feed(value, str(i)))
    return apply_op(case.op, *inputs, name=f"op{index}", **case.attrs)


def _import(graph: Graph) -> Any:
    graph_def = tf.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    imported = tf.Graph()
    with imported.as_default():
        tf.import_graph_def(graph_def, name="")
    return imported


def _theirs(session: Any, case: Case, index: int) -> Any:
    feeds = {}
    for i, value in enumerate(case.inputs):
        if isinstance(value, list):
            feeds.update({f"in{index}_{i}_{j}:0": item for j, item in enumerate(value)})
        else:
            feeds[f"in{index}_{i}:0"] = value
    outputs = session.graph.get_operation_by_name(f"op{index}").outputs
    try:
        return session.run(list(outputs), feeds)
    except tf.errors.OpError as e:
        return e


def _ours(case: Case, index: int) -> Any:
    node, values = make_node(case.op, *case.inputs, **case.attrs)
    node.name = f"op{index}"
    try:
        with np.errstate(all="ignore"):
            result = call(_kernel(node), values)
    except errors.OpError as e:
        return e
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def _kernel(node: Any) -> Any:
    from tensorfleet_service.kernels.registry import make_kernel

    return make_kernel(node)


def _compare(case: Case, theirs: Any, ours: Any) -> str | None:
    """The difference, or None."""
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        if type(theirs).__name__ != type(ours).__name__:
            return f"TensorFlow: {theirs!r:.300}\n  ours: {getattr(ours, 'message', ours)!r:.300}"
        if " ".join(ours.message.split()) not in " ".join(theirs.message.split()):
            return f"TensorFlow says {theirs.message[:300]!r}\n  we say {ours.message!r}"
        return None
    for a, b in zip(_canonical(case, theirs), _canonical(case, ours), strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"TensorFlow: {a.dtype}{a.shape}, ours: {b.dtype}{b.shape}"
        difference = _difference(case, a, b)
        if difference:
            return difference
    return None


def _canonical(case: Case, outputs: Any) -> list[Any]:
    """Outputs in which what a decomposition leaves open is settled: the phase of each vector."""
    arrays = [np.asarray(x) for x in outputs]
    if (
        case.op not in ("Qr", "Svd", "SelfAdjointEigV2")
        or not arrays[1].size
        or not np.isfinite(arrays[1]).all()
    ):
        return arrays
    if case.op == "SelfAdjointEigV2":
        return [arrays[0], np.abs(arrays[1])]
    if case.op == "Qr":
        q, r = arrays
        return [np.abs(q[..., : r.shape[-1]]), np.abs(r), q @ r]
    s, u, v = arrays
    rank = s.shape[-1]
    u, v = u[..., :rank], v[..., :rank]
    return [s, np.abs(u), np.abs(v), (u * s[..., None, :]) @ v.conj().swapaxes(-1, -2)]


def _difference(case: Case, a: Any, b: Any) -> str | None:
    if a.dtype.kind in "fc" or a.dtype == ml_dtypes.bfloat16:
        real = a.real.dtype if a.dtype.kind == "c" else a.dtype
        info = ml_dtypes.finfo(real)
        rtol = LOOSE.get(case.op, 4) * float(info.eps)
        # TensorFlow's kernels flush the least numbers of a dtype to zero.
        atol = float(info.tiny) + (rtol if case.op in LOOSE else 0)
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        same = np.isclose(b.astype(wide), a.astype(wide), rtol, atol, equal_nan=True)
    else:
        same = a == b
    if np.all(same):
        return None
    bad = np.argwhere(~np.asarray(same))[0]
    where = tuple(bad)
    return f"at {where}: TensorFlow {a[where]!r}, ours {b[where]!r}"


@pytest.mark.parametrize("op_type", sorted(CASES))
def test_kernel_agrees_with_tensorflow(op_type: str) -> None:
    cases = CASES[op_type]
    graph = Graph()
    with graph.as_default():
        for i, case in enumerate(cases):
            _build(case, i)
    failures, compared = [], 0
    with _tensorflow_session(_import(graph)) as session:
        for i, case in enumerate(cases):
            theirs = _theirs(session, case, i)
            if isinstance(theirs, Exception) and any(text in str(theirs) for text in _NO_KERNEL):
                continue
            compared += 1
            problem = _compare(case, theirs, _ours(case, i))
            if problem:
                failures.append(f"{case}: {problem}")
    assert not failures, f"{len(failures)} of {compared}:\n" + "\n".join(failures[:8])
    assert compared


def _static_shapes(case: Case, dims: Any) -> Iterator[str]:
    graph = Graph()
    with graph.as_default():
        try:
            _build(case, 0, dims)
            ours: Any = [op.dims for op in graph.get_operation_by_name("op0").outputs]
        except ValueError as e:
            ours = str(e).splitlines()[0].split(" for ")[0]
            graph = Graph()
    if isinstance(ours, str):
        theirs: Any = _their_shape_error(case, dims)
        if theirs is None or ours not in theirs:
            yield f"{case.op}{dims}: we say {ours!r}, TensorFlow {theirs!r}"
        return
    try:
        outputs = _import(graph).get_operation_by_name("op0").outputs
    except ValueError as e:
        yield f"{case.op}{dims}: TensorFlow says {e}, ours is {ours}"
        return
    shapes = [None if o.shape.rank is None else tuple(o.shape.as_list()) for o in outputs]
    if shapes != ours:
        yield f"{case.op}{dims}: TensorFlow {shapes}, ours {ours}"


def _their_shape_error(case: Case, dims: Any) -> str | None:
    """TensorFlow's error for a graph that our client refuses to build: its shapes are put in afterwards."""
    graph = Graph()
    with graph.as_default():
        _build(case, 0)
    graph_def = tf.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    for node in graph_def.node:
        if node.op == "Placeholder":
            shape = dims[int(node.name.split("_")[1])]
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
    try:
        with tf.Graph().as_default():
            tf.import_graph_def(graph_def, name="")
    except ValueError as e:
        return str(e)
    return None


@pytest.mark.parametrize("op_type", sorted(SHAPE_CASES))
def test_static_shapes_agree_with_tensorflow(op_type: str) -> None:
    problems = [p for case, dims in SHAPE_CASES[op_type] for p in _static_shapes(case, dims)]
    assert not problems, "\n".join(problems)


def test_every_mathematical_op_is_compared() -> None:
    from tensorfleet_service.kernels.registry import _factories
    from tests.compat.math_cases import FAMILIES

    # What only gradients make is compared by test_random_graphs.
    ops = {
        name
        for name, factory in _factories.items()
        if factory.__module__.rpartition(".")[2] in FAMILIES
        and not name.removesuffix("V2").endswith("Grad")
        and name not in ("Polygamma", "Zeta")
        # Those of op_programs.
        and name not in ("MatrixDiagPartV2", "MatrixDiagV2", "MatrixSetDiagV2")
    }
    assert ops <= set(CASES), sorted(ops - set(CASES))
    assert all(lookup_op(name) for name in CASES)
