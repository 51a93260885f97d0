"""The package's face: every family is on it, it is quick to import, and its small modules work."""

from __future__ import annotations

import importlib
import json
import logging
import operator
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.graph import op_def
from tensorfleet.ops.internal import INTERNAL_OPS

PACKAGE = Path(tf.__file__).parent


def in_fresh_interpreter(expression: str) -> Any:
    program = f"import json, sys, tensorfleet; print(json.dumps({expression}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def op_modules() -> dict[str, Path]:
    """Files below `tensorfleet.ops` by the names of their modules."""
    paths = (path for path in (PACKAGE / "ops").rglob("*.py") if path.stem != "__init__")
    return {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in paths}


def test_every_op_that_programs_can_make_is_known_after_the_import() -> None:
    known = in_fresh_interpreter(
        "__import__('tensorfleet.graph.op_def', fromlist=['registered']).registered()"
    )
    for name in op_modules():
        importlib.import_module(name)
    # Other tests register ops of their own.
    ours = {name for name in op_def.registered() if not name.startswith("Test")}
    assert ours - set(known) - INTERNAL_OPS == set()


def test_import_leaves_out_what_is_slow() -> None:
    loaded = set(in_fresh_interpreter("sorted(sys.modules)"))
    slow = {"grpc", "tensorfleet_service", "argparse", "importlib.metadata", "tensorfleet.proto.summary_pb2"}
    assert loaded & slow == set()


def test_an_op_of_a_family_that_is_not_imported_is_found() -> None:
    lookup = "__import__('tensorfleet.graph.op_def', fromlist=['lookup']).lookup"
    found = in_fresh_interpreter(
        f"['tensorfleet.ops.nn.conv' in sys.modules, {lookup}('Conv2D').name, {lookup}('NoSuchOp')]"
    )
    assert found == [False, "Conv2D", None]


def test_names_can_be_imported_from_namespaces() -> None:
    from tensorfleet.math import add
    from tensorfleet.nn import rnn_cell

    assert add is tf.math.add is tf.add
    assert rnn_cell.LSTMCell is tf.nn.rnn_cell.LSTMCell is tf.contrib.rnn.LSTMCell


@pytest.mark.parametrize(
    "name", ["compat.v1", "contrib.rnn", "data.experimental", "errors", "nn.rnn_cell", "train.queue_runner"]
)
def test_a_namespace_can_be_the_first_import_of_a_program(name: str) -> None:
    program = f"import tensorfleet.{name} as first; import tensorfleet as tf; assert tf.{name} is first"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_namespaces_are_imported_at_their_first_use() -> None:
    names = "('contrib', 'data', 'distribute', 'layers', 'losses', 'metrics', 'nn', 'summary', 'train')"
    loaded = f"[name for name in {names} if f'tensorfleet.{{name}}' in sys.modules]"
    assert in_fresh_interpreter(loaded) == []
    assert in_fresh_interpreter(f"[tensorfleet.losses.huber_loss.__name__, {loaded}]") == [
        "huber_loss",
        ["losses"],
    ]


@pytest.mark.parametrize(
    "name", ["app", "dtypes", "errors", "logging", "losses", "test", "ops.collective_ops"]
)
def test_modules_have_the_names_that_programs_know(name: str) -> None:
    assert importlib.import_module(f"{tf.__name__}.{name}") is operator.attrgetter(name)(tf)


def test_compat_v1_is_the_package_itself() -> None:
    assert importlib.import_module(f"{tf.__name__}.compat.v1") is tf
    tf.disable_v2_behavior()
    tf.disable_eager_execution()
    assert not tf.executing_eagerly()


def test_version_is_that_of_the_api() -> None:
    """Programs compare it to know which names there are; the package's own is in its metadata."""
    assert tf.__version__ == tf.VERSION == tf.version.VERSION == "1.15.5"
    assert tf.__git_version__ == tf.GIT_VERSION == f"tensorfleet-{metadata.version('tensorfleet')}"
    assert tf.COMPILER_VERSION == tf.version.COMPILER_VERSION == tf.__compiler_version__


MESSAGES = """
    AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto LogMessage MetaGraphDef
    NameAttrList NodeDef OptimizerOptions RunMetadata RunOptions SessionLog Summary SummaryMetadata TensorInfo
"""


@pytest.mark.parametrize("name", MESSAGES.split())
def test_messages(name: str) -> None:
    assert getattr(tf, name)().ByteSize() == 0
    assert name in dir(tf)


def last_line_of(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "name", ["lite", "tpu", "saved_model.save", "train.do_quantize_training_on_graphdef"]
)
def test_a_name_that_only_tensorflow_has_says_so(name: str) -> None:
    said = last_line_of(f"import tensorfleet as tf\ntf.{name}")
    assert said == f"AttributeError: tf.{name} is not part of TensorFleet; see docs/missing.md"


def test_a_misspelt_name_is_an_attribute_error_with_a_guess() -> None:
    said = last_line_of("import tensorfleet as tf\ntf.zeross")
    assert said == "AttributeError: module 'tensorfleet' has no attribute 'zeross'. Did you mean: 'zeros'?"
    said = last_line_of("import tensorfleet as tf\ntf.nn.rellu")
    assert said == "AttributeError: module 'tensorfleet.nn' has no attribute 'rellu'. Did you mean: 'relu'?"


def test_the_names_that_are_missing_are_read_at_such_an_error_only() -> None:
    read = "__import__('tensorfleet.core.public').core.public.missing_names.cache_info().misses"
    assert in_fresh_interpreter(f"[{read}, hasattr(tensorfleet, 'lite'), {read}]") == [0, False, 1]


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    level = tf.logging.get_verbosity()
    try:
        tf.logging.set_verbosity(tf.logging.WARN)
        assert tf.logging.get_verbosity() == logging.WARNING
        tf.logging.info("quiet")
        for _ in range(5):
            tf.logging.log_first_n(tf.logging.ERROR, "first %d", 2, 7)
            tf.logging.log_every_n(tf.logging.ERROR, "every", 3)
        assert [record.getMessage() for record in caplog.records] == [
            "first 7",
            "every",
            "first 7",
            "every",
        ]
    finally:
        tf.logging.set_verbosity(level)


def test_compat_text() -> None:
    assert tf.compat.as_bytes("é") == "é".encode()
    assert tf.compat.as_text(b"a") == tf.compat.as_str("a") == tf.compat.as_str_any(b"a") == "a"
    assert tf.compat.as_str_any(5) == "5"
    assert tf.compat.path_to_str(Path("/a")) == "/a"
    with pytest.raises(TypeError):
        tf.compat.as_text(5)  # type: ignore[arg-type]


FLAGS_PROGRAM = """
import tensorfleet as tf
tf.app.flags.DEFINE_string("job_name", "", "ps or worker")
tf.app.flags.DEFINE_integer("task_index", 0, "100% of them")
tf.flags.DEFINE_boolean("sync", True, "")
tf.flags.DEFINE_list("hosts", "a:1,b:1", "")
tf.flags.DEFINE_float("rate", 0.5, "")
tf.flags.DEFINE_enum("mode", None, ["x", "y"], "")
tf.flags.mark_flag_as_required("rate")
FLAGS = tf.app.flags.FLAGS
def main(argv):
    print(FLAGS.job_name, FLAGS.task_index, FLAGS.sync, FLAGS.hosts, FLAGS.rate, FLAGS.mode, argv[1:])
    FLAGS.rate = 2.0
    print(FLAGS.flag_values_dict()["rate"], "rate" in FLAGS)
    return 3
tf.app.run()
"""


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ([], "['a:1', 'b:1'] 0.5 None []"),
        (["--job_name=ps", "--task_index", "2", "--nosync", "--mode=y", "rest"], "ps 2 False"),
        (["--sync=false", "--hosts=c:1"], "0 False ['c:1']"),
    ],
)
def test_flags(arguments: list[str], printed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FLAGS_PROGRAM, *arguments], capture_output=True, text=True, timeout=60
    )
    assert printed in done.stdout
    assert "2.0 True" in done.stdout
    assert done.returncode == 3, done.stderr


def test_wrong_flag_ends_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FLAGS_PROGRAM, "--task_index=x"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "flag --task_index=x" in done.stderr
