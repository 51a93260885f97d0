"""`tensorfleet doctor`: what programs, graphs and checkpoints use, and is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tensorfleet as tf
from tensorfleet.core import public
from tensorfleet.core.public import missing_names
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.saved_model_pb2 import SavedModel
from tensorfleet.run import doctor, paths, reading


def findings(folder: Path, source: str, **others: str) -> list[str]:
    """Line and name of what is missing of a program."""
    for name, text in others.items():
        (folder / f"{name}.py").write_text(text)
    script = folder / "program.py"
    script.write_text(source)
    return [f"{f.place.removeprefix(str(folder) + '/')} {f.name}" for f in reading.read(script).findings]


def test_names_through_aliases(tmp_path: Path) -> None:
    source = """import tensorflow as tf
import tensorflow.contrib.layers as layers
from tensorflow import nn as n, nonsense
from tensorflow.python.ops import math_ops
contrib = tf.contrib
L = contrib.layers
x = tf.nonsense(tf.constant(1), tf.train.AdamOptimizer(), tf.train.nothing)
n.relu(n.unrelu); L.flatten; L.unflatten; layers.none; math_ops.reduce_sum; math_ops.increase_sum
tf.GraphKeys.SUMMARIES; tf.GraphKeys.WINTERS; tf.VERSION.split
"""
    assert findings(tmp_path, source) == [
        "program.py:3 tf.nonsense",
        "program.py:7 tf.nonsense",
        "program.py:7 tf.train.nothing",
        "program.py:8 tf.nn.unrelu",
        "program.py:8 tf.contrib.layers.unflatten",
        "program.py:8 tf.contrib.layers.none",
        "program.py:8 tf.python.ops.math_ops.increase_sum",
        "program.py:9 tf.GraphKeys.WINTERS",
    ]


def test_scopes(tmp_path: Path) -> None:
    source = """import tensorflow as tf
def other(tf):
    return tf.other
def local():
    tf = object()
    return tf.other, [tf.other for tf in ()]
def real():
    return later.missing, (lambda tf: tf.other), lambda: tf.missing
class C:
    tf = object()
    def method(self):
        self.tf.other
        return tf.missing
later = tf.nn
"""
    assert findings(tmp_path, source) == [
        "program.py:8 tf.nn.missing",
        "program.py:8 tf.missing",
        "program.py:13 tf.missing",
    ]


def test_what_a_program_does_without(tmp_path: Path) -> None:
    source = """import tensorflow as tf
try:
    import tensorflow.contrib.nonsense as n
    f = tf.nonsense
except (ImportError, AttributeError):
    f = tf.neither
if hasattr(tf, "nonsense"):
    tf.nonsense()
try:
    tf.missing()
except ValueError:
    pass
"""
    assert findings(tmp_path, source) == ["program.py:6 tf.neither", "program.py:10 tf.missing"]


def test_what_a_program_does_not_need(tmp_path: Path) -> None:
    """A handler of absent names does not run where the names are there; one of all errors may."""
    source = """try:
    from tensorflow.nn import ctc_loss
except ImportError:
    from tensorflow.contrib.nonsense import ctc_loss
import tensorflow as tf
try:
    f = tf.nn.relu
except (AttributeError, ImportError):
    f = tf.missing
try:
    f = tf.nn.relu()
except Exception:
    f = tf.neither
try:
    import tensorflow.contrib.absent
except ImportError:
    f = tf.nowhere
"""
    assert findings(tmp_path, source) == ["program.py:13 tf.neither", "program.py:17 tf.nowhere"]


def test_older_names(tmp_path: Path) -> None:
    """Names of TensorFlow 0.x: all new ones are there, and the doctor and errors tell them."""
    for older, now in public._OLDER.items():
        assert reading.missing_part(older) == older
        assert reading.missing_part(now) is None, now
    script = tmp_path / "program.py"
    script.write_text("import tensorflow as tf\ntf.scalar_summary('loss', 1)\n")
    [found] = reading.read(script).findings
    assert "renamed to tf.summary.scalar" in found.text
    with pytest.raises(
        AttributeError, match=r"tf\.train\.SummaryWriter .* renamed to tf\.summary\.FileWriter"
    ):
        getattr(tf.train, "SummaryWriter")  # noqa: B009


def test_modules_beside(tmp_path: Path) -> None:
    inner = tmp_path / "models"
    inner.mkdir()
    (inner / "__init__.py").write_text("from . import net\n")
    (inner / "net.py").write_text("import tensorflow\ntensorflow.missing\n")
    found = findings(
        tmp_path,
        "import models\nimport helper\nimport absent_package\nimport json\n",
        helper="import program\n",
    )
    assert found == ["program.py:3 absent_package", "models/net.py:2 tf.missing"]


def test_arguments(tmp_path: Path) -> None:
    source = """import tensorflow as tf
tf.reduce_sum(x, 1, keep_dims=True, reduction_indices=1)
tf.reduce_sum(x, axes=1)
tf.nn.relu(x, "name", 3)
tf.train.AdamOptimizer(learning_rat=1)
tf.Session(**options)
tf.ConfigProto(allow_soft_placement=True)
"""
    assert findings(tmp_path, source) == [
        "program.py:3 tf.reduce_sum(axes)",
        "program.py:4 tf.nn.relu(number 3)",
        "program.py:5 tf.train.AdamOptimizer(learning_rat)",
    ]


def test_python_2(tmp_path: Path) -> None:
    assert findings(tmp_path, "import tensorflow as tf\nprint tf.VERSION\n") == ["program.py:2 Python 3"]


def test_ops_by_their_names(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import tensorflow as tf\ntf.raw_ops.LSTMBlockCell\ntf.raw_ops.ScaleAndTranslate(images=[0])\n"
    )
    [finding] = reading.read(script).findings
    assert finding.place == f"{script}:3"
    assert finding.text.startswith("tf.raw_ops.ScaleAndTranslate is missing: docs/missing_ops.txt says why")
    assert finding.text.endswith("; see docs/ops.md")


def test_missing_names_are_missing() -> None:
    assert [name for name in sorted(missing_names()) if reading.missing_part(name) is None] == []


def test_tables_name_what_is_there() -> None:
    """A namespace that is missing as a whole may come later; no other path may lead nowhere."""
    for path, places in paths.INTERNAL.items():
        for place in places.split():
            top = place.split(".")[0]
            absent = top in {*missing_names(), "contrib", "estimator"}
            assert paths.namespace(place) is not None or absent, f"{path}: {place}"
    for path in paths.RENAMED:
        module, _, name = path.rpartition(".")
        assert RENAMED_LATER.get(path) in missing_names() or hasattr(paths.module(module), name), path


RENAMED_LATER = {"python.framework.random_seed.get_seed": "get_seed"}


def test_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = GraphDef()
    graph.node.add(name="a", op="Placeholder").attr["dtype"].type = 1
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.SerializeToString())
    assert doctor.main([str(path)]) == 0
    graph.node.add(name="b", op="NoSuchOp", input=["a"])
    graph.node.add(name="c", op="Placeholder").attr["dtype"].type = 77
    path.write_bytes(graph.SerializeToString())
    (tmp_path / "graph.pbtxt").write_text(str(graph))
    capsys.readouterr()
    for file in (path, tmp_path / "graph.pbtxt"):
        assert doctor.main([str(file)]) == 1
        out = capsys.readouterr().out
        assert f"{file}:b: the op type NoSuchOp is missing" in out
        assert f"{file}:c: the dtype number 77 of the attribute dtype is missing" in out
        assert out.endswith(f"{file}: 2 are missing in 3 nodes.\n")


def test_checkpoints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prefix = str(tmp_path / "model.ckpt")
    tf.get_variable("v", [2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, prefix)
    assert doctor.main([prefix]) == doctor.main([f"{prefix}.meta"]) == 0
    assert capsys.readouterr().out.startswith(f"{prefix}: nothing is missing in 1 tensors.\n")


def test_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "graph.pb").write_bytes(b"\xff\xff")
    for name in ("graph.pb", "absent.py", "absent.ckpt"):
        assert doctor.main([str(tmp_path / name)]) == 2
        assert "tensorfleet doctor:" in capsys.readouterr().err


def test_a_saved_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "model"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, name="x")
        v = tf.Variable(1.0)
        session.run(v.initializer)
        tf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": x * v})
    assert doctor.main([str(folder)]) == 0
    assert "nothing is missing in " in capsys.readouterr().out
    path = folder / "saved_model.pb"
    model = SavedModel.FromString(path.read_bytes())
    model.meta_graphs[0].graph_def.node.add(name="odd", op="NoSuchOp")
    path.write_bytes(model.SerializeToString())
    assert doctor.main([str(path)]) == 1
    assert f"{path}:odd: the op type NoSuchOp is missing" in capsys.readouterr().out
    path.write_bytes(b"\xff\xff")
    assert doctor.main([str(folder)]) == 2
    assert "is not a SavedModel" in capsys.readouterr().err


def test_what_is_nearest_to_the_script_is_read_first(tmp_path: Path) -> None:
    near, far = tmp_path / "near.py", tmp_path / "far.py"
    (tmp_path / "program.py").write_text("import near\n")
    near.write_text("import far\n" + "#" * 1000)
    far.touch()
    script = tmp_path / "program.py"
    assert reading.read(script, most_bytes=500).files == [script, near]
    assert reading.read(script, most_bytes=5000).files == [script, near, far]


def test_what_is_installed_is_no_part_of_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = _, target, own = [tmp_path / name for name in ("site-packages", "vendored", "own")]
    for folder in folders:
        folder.mkdir()
        (folder / f"of_{folder.name[:3]}.py").write_text("import tensorflow as tf\ntf.nonsense\n")
    (target / "of_ven-1.0.dist-info").mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", *map(str, folders)]))
    script = tmp_path / "program.py"
    guarded = "try:\n    import of_sit, of_ven\nexcept ImportError:\n    pass\n"
    script.write_text(f"import of_own\n{guarded}")
    assert reading.read(script).files == [script, own / "of_own.py"]


def test_packages_that_need_tensorflows_own_library(tmp_path: Path) -> None:
    source = """import tensorflow as tf
import horovod.tensorflow as hvd
try:
    import byteps.tensorflow as bps
except ImportError:
    bps = None
"""
    assert findings(tmp_path, source) == ["program.py:2 horovod"]
    (found,) = reading.read(tmp_path / "program.py").findings
    assert "needs TensorFlow's own library: train on parameter servers" in found.text


def test_what_only_refuses_is_told_before_the_start(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import tensorflow as tf\nfrom tensorflow.python import debug as tf_debug\n"
        "tf.enable_eager_execution()\n"
        'tf_debug.TensorBoardDebugWrapperSession(tf.Session(), "localhost:6064")\n'
        "tf.disable_eager_execution()\n"
    )
    findings = reading.read(script).findings
    assert [finding.place.rpartition(":")[2] for finding in findings] == ["3", "4"]
    assert "tf.enable_eager_execution only says that it is missing: eager mode" in findings[0].text
    assert (doctor.sentence(str(script)) or "").count("TensorBoardDebugWrapperSession") == 1
