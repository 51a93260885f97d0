"""Advice about names of TensorFlow that are missing."""

from __future__ import annotations

from tensorfleet.core.public import older_name

PAGE = "docs/missing.md"

_EAGER = "eager mode is outside of what TensorFleet is for; build a graph, and run it in a session"
_KERAS = "tf.keras has the layers and functions that docs/keras.md lists; write this one with them"

# By the beginning of the name; the longest match counts.
_ADVICE = {
    "GradientTape": "it is part of eager mode, which is not here; tf.gradients differentiates a graph",
    "Module": "keep variables in a tf.variable_scope, or in a tf.layers.Layer",
    "audio": "decode the sound before the graph is fed, with a library such as soundfile",
    "autograph": "nothing is converted here: write loops and conditions with tf.while_loop and tf.cond",
    "contrib.eager": _EAGER,
    "contrib.tpu": "there are no TPUs; TPUEstimator(use_tpu=False) trains on CPUs and GPUs",
    "contrib.lite": "export a frozen graph, and convert it where TensorFlow is installed",
    "enable_eager_execution": _EAGER,
    "enable_v2_behavior": "TensorFlow 2's behaviour is outside of what TensorFleet is for",
    "wrap_function": "tf.function, or tf.import_graph_def for a GraphDef",
    "image": "prepare images with NumPy or Pillow before they are fed, or in tf.py_func",
    "keras": _KERAS,
    "keras.wrappers": "there is no wrapper for scikit-learn; call fit and predict themselves",
    "lite": "export a frozen graph, and convert it where TensorFlow is installed",
    "load_op_library": "ops of other libraries cannot be loaded; tf.py_func calls Python",
    "profiler": "tf.RunMetadata and tf.RunOptions(trace_level=…) trace a step; docs/observability.md",
    "py_function": "use tf.py_func",
    "estimator.tpu": "there are no TPUs; TPUEstimator(use_tpu=False) trains on CPUs and GPUs",
    "raw_ops": "docs/missing_ops.txt says why ops are absent",
    "tpu": "there are no TPUs; tf.train.Optimizer and tf.distribute train on CPUs and GPUs",
    "tools.graph_transforms": "its transforms are TensorFlow's own; tensorflow.python.tools has "
    "freeze_graph, optimize_for_inference_lib and strip_unused_lib",
    "tools.compatibility": "tf_upgrade_v2 rewrites programs for TensorFlow 2, where TensorFlow is installed",
    "xla": "leave it out: there is no compiler to choose",
    "python.debug": "tf.Print and tf.check_numerics look into a graph; docs/observability.md",
    "python.keras": _KERAS,
    "contrib.keras": "use tf.keras, whose names are those of tf.contrib.keras.api.keras",
}

BUILT_ON_TENSORFLOW = {
    **dict.fromkeys(
        ("horovod", "byteps"),
        "train on parameter servers, with tf.train.SyncReplicasOptimizer, or reduce gradients with "
        "tensorfleet.distribute.CollectiveOptimizer (docs/collectives.md)",
    ),
    "tensorflow_io": "read files with tf.data, or in Python",
    "tensorflow_text": "prepare texts in Python before they are fed, or with tf.strings",
}
"""Packages whose compiled ops need TensorFlow's own library, and what to do without them."""


def advice(name: str) -> str:
    """The way to do without `tf.<name>`, and where to read on."""
    if (now := older_name(name)) is not None:
        return f"it has been renamed to tf.{now} in TensorFlow 1.0"
    known = [begin for begin in _ADVICE if name == begin or name.startswith(f"{begin}.")]
    text = _ADVICE[max(known, key=len)] if known else "write it with the ops there are (docs/ops.md)"
    return f"{text}; see {link(name)}"


def link(name: str) -> str:
    """The part of docs/missing.md that has the name; for an op the page with those there are."""
    if name.startswith("raw_ops."):
        return "docs/ops.md"
    namespace = name.rpartition(".")[0]
    return f"{PAGE}#tf{namespace.replace('.', '')}"
