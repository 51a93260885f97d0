"""Writes docs/missing.md, the names and methods of TensorFlow 1.x that TensorFleet lacks.

python docs/generate_missing.py            writes the page
python docs/generate_missing.py --check    exits with 1 if the page is not what this would write
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from tensorfleet import contrib
from tensorfleet.core.public import missing_names

# The namespaces of TensorFlow 1.15's contrib.
CONTRIB = """
    all_reduce autograph batching bayesflow bigtable boosted_trees checkpoint cloud cluster_resolver
    coder compiler constrained_optimization copy_graph crf cudnn_rnn data decision_trees deprecated
    distribute distributions eager estimator factorization feature_column ffmpeg framework
    fused_conv gan graph_editor grid_rnn hadoop hooks image input_pipeline integrate keras
    kernel_methods labeled_tensor layers learn legacy_seq2seq libsvm linalg linear_optimizer lite
    lookup losses memory_stats metrics mixed_precision model_pruning nccl nearest_neighbor nn opt
    optimizer_v2 periodic_resample predictor proto quantization quantize recurrent reduce_slice_ops
    remote_fused_graph resampler rnn rpc saved_model seq2seq session_bundle signal slim solvers
    sparsemax specs staging stat_summarizer stateless summary tensor_forest tensorboard tensorrt
    testing text tfprof timeseries tpu training util
"""

# Why names are missing that are not just still to be written.
REASONS = {
    "eager mode, tracing and functions of TensorFlow 2": (
        "function wrap_function autograph types experimental nondifferentiable_batch_function "
        "test.with_eager_op_as_function train.experimental saved_model.save saved_model.load_v2 "
        "saved_model.SaveOptions saved_model.Asset saved_model.experimental"
    ),
    "other compilers, runtimes and formats of models": (
        "xla tpu mlir lite quantization.experimental train.do_quantize_training_on_graphdef"
    ),
    "Keras, which is a library of its own": "keras mixed_precision",
    "services of other clouds and schedulers": (
        "distribute.cluster_resolver.GCEClusterResolver distribute.cluster_resolver.SlurmClusterResolver "
        "distribute.cluster_resolver.TPUClusterResolver"
    ),
    "services and profiles of TensorFlow's own runtime": (
        "data.experimental.service data.experimental.distributed_save data.experimental.get_model_proto "
        "profiler.OpLogProto profiler.write_op_log check_pinned "
        "debugging.experimental"
    ),
    "kernels for accelerators alone": (
        "approx_top_k math.approx_max_k math.approx_min_k nn.approx_max_k nn.approx_min_k "
        "image.generate_bounding_box_proposals"
    ),
    "libraries of file formats that the service does not have": (
        "LMDBReader image.decode_webp image.decode_jxl io.decode_webp io.decode_jxl"
    ),
}

PAGE = Path(__file__).parent / "missing.md"
METHODS = Path(__file__).parent.parent / "tests/compat/missing_methods.txt"

HEAD = """# Names that TensorFleet lacks

The {count} names of TensorFlow 1.x's API (`tensorflow.compat.v1` of TensorFlow 2.21) that are not part of
TensorFleet. A program that uses one gets an AttributeError that says so. A namespace that is missing as a
whole has one entry, among the names of the namespace that it is in.

Made by `python docs/generate_missing.py` from
[missing_names.txt](../client/tensorfleet/core/missing_names.txt) and
[missing_methods.txt](../tests/compat/missing_methods.txt), which tests/compat compares with TensorFlow.
"""


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print("docs/missing.md is not current: run python docs/generate_missing.py")
        return 1
    PAGE.write_text(text)
    return 0


def page() -> str:
    namespaces = defaultdict(list)
    for name in sorted(missing_names()):
        namespace, _, last = name.rpartition(".")
        namespaces[namespace].append(last)
    parts = [HEAD.format(count=len(missing_names()))]
    for namespace, names in sorted(namespaces.items()):
        title = f"tf.{namespace}" if namespace else "tf"
        parts.append(f"## {title}\n\n{', '.join(f'`{name}`' for name in names)}\n")
    known = missing_names()
    why = [
        f"* {reason}: {', '.join(f'`{name}`' for name in sorted(listed))}\n"
        for reason, text in REASONS.items()
        if (listed := [name for name in text.split() if name in known])
    ]
    parts.append(f"## Why\n\nThese are not meant to come, as they belong to:\n\n{''.join(why)}")
    absent = [name for name in CONTRIB.split() if name not in dir(contrib)]
    listed = ", ".join(f"`{name}`" for name in absent)
    parts.append(
        "## tf.contrib\n\nThese namespaces of TensorFlow 1.15's contrib are missing as a whole; of the "
        "others the names that many programs use are there, and `tensorfleet doctor` tells which of a "
        f"program's are not.\n\n{listed}\n"
    )
    methods = METHODS.read_text().split()
    listed = ", ".join(f"`{name}`" for name in methods)
    parts.append(
        f"## Methods\n\nThese {len(methods)} methods and properties are missing of classes that are there; "
        f"those of a base class are listed there only.\n\n{listed}\n"
    )
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
