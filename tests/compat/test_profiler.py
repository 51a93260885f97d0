"""tf.profiler: parameters, counts of operations and traces, beside TensorFlow's profiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet


def model(tf: Any) -> Any:
    image = tf.placeholder(tf.float32, [2, 8, 8, 3], name="image")
    with tf.variable_scope("net"):
        filters = tf.get_variable("filters", [3, 3, 3, 4])
        x = tf.nn.max_pool(
            tf.nn.conv2d(image, filters, [1, 2, 2, 1], "SAME"), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
        )
        w, b = tf.get_variable("w", [16, 5]), tf.get_variable("b", [5])
        logits = tf.nn.bias_add(tf.matmul(tf.reshape(x, [2, 16]), w), b)
        tf.get_variable("steps", [7], trainable=False)
    loss = tf.reduce_mean(tf.nn.softmax(logits) * logits)
    return tf.gradients(loss, [filters, w, b])


def results(tf: Any) -> dict[str, Any]:
    """Totals and groups of a model's costs."""
    builder = tf.profiler.ProfileOptionBuilder
    with tf.Graph().as_default() as graph:
        model(tf)
        params = builder(builder.trainable_variables_parameter()).with_empty_output().build()
        flops = builder(builder.float_operation()).with_empty_output().build()
        scopes = tf.profiler.profile(graph, cmd="scope", options=params)
        ops = tf.profiler.profile(graph, cmd="op", options=flops)
        names = builder(flops).with_node_names(show_name_regexes=["net/.*"]).build()
        counted = {}
        group = ops
        pending = list(ops.children)
        while pending:
            group = pending.pop()
            counted[group.name] = group.float_ops
            pending.extend(group.children)
        return {
            "params": scopes.total_parameters,
            "scopes": [(c.name, c.total_parameters) for c in scopes.children],
            "variables": sorted((c.name, c.parameters) for c in scopes.children[0].children),
            "flops": ops.total_float_ops,
            "by op": counted,
            "of names": tf.profiler.profile(graph, cmd="scope", options=names).total_float_ops,
        }


def test_counts() -> None:
    ours, theirs = results(fleet), results(real)
    assert ours["params"] == 3 * 3 * 3 * 4 + 16 * 5 + 5
    # Gradients and initializers are made of somewhat different ops: what both have costs the same.
    for key in (
        "Conv2D",
        "MaxPool",
        "MatMul",
        "BiasAdd",
        "Softmax",
        "Mean",
        "Conv2DBackpropFilter",
        "MaxPoolGrad",
    ):
        assert ours["by op"][key] == theirs["by op"][key], key
    for key in ("params", "scopes", "variables"):
        assert ours[key] == theirs[key]
    assert abs(ours["flops"] - theirs["flops"]) <= 0.02 * theirs["flops"]


def test_options_are_tensorflows() -> None:
    for make in (
        lambda b: b.trainable_variables_parameter(),
        lambda b: b.float_operation(),
        lambda b: b.time_and_memory(),
        lambda b: (
            b().with_node_names(["a"], ["b"], ["c"], ["d"]).order_by("micros").select(["bytes"]).build()
        ),
        lambda b: b().with_max_depth(3).with_file_output("x").account_displayed_op_only(True).build(),
        lambda b: (
            b().with_min_parameters(2).with_min_float_operations(3).with_accounted_types(["Add"]).build()
        ),
    ):
        assert make(fleet.profiler.ProfileOptionBuilder) == make(real.profiler.ProfileOptionBuilder)


def test_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tf = fleet
    builder = tf.profiler.ProfileOptionBuilder
    profiler = tf.profiler.Profiler()
    gradients = model(tf)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(gradients, {"image:0": np.ones((2, 8, 8, 3))}, options, metadata)
    profiler.add_step(1, metadata)
    timed = (
        builder(builder.time_and_memory(min_micros=0, min_bytes=0))
        .with_file_output(str(tmp_path / "r"))
        .build()
    )
    found = profiler.profile_operations(timed)
    assert found.total_exec_micros > 0
    assert "Conv2D" in {child.name for child in found.children}
    assert "Conv2D" in (tmp_path / "r").read_text()
    line = max(profiler.profile_python(timed).children, key=lambda child: child.total_float_ops)
    assert "test_profiler.py" in line.name
    assert profiler.advise().checkers["ExpensiveOperationChecker"].reports
    graph = profiler.profile_graph(builder(timed).with_timeline_output(str(tmp_path / "t")).build())
    assert {child.name for child in graph.children} >= {"net/MatMul", "net/Conv2D"}
    assert "traceEvents" in (tmp_path / "t").read_text()
    tf.profiler.profile(options=builder.trainable_variables_parameter())
    assert "net/w (80 params)" in capsys.readouterr().out
    with pytest.raises(tf.errors.UnimplementedError, match="pprof"):
        tf.profiler.profile(options=builder().with_pprof_output("x").build())
    with pytest.raises(ValueError, match="cmd must be"):
        tf.profiler.profile(cmd="lines")
