"""TensorFlow loads and serves our SavedModels, and we load TensorFlow's; what both write is the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2
from tensorflow.python.tools import freeze_graph as real_freeze_graph

import tensorfleet as fleet
from tensorfleet.saved_model import freeze_graph as fleet_freeze_graph

real.disable_v2_behavior()

BOTH = pytest.mark.parametrize(
    ("writes", "reads"), [(fleet, real), (real, fleet), (fleet, fleet)], ids=["ours", "theirs", "own"]
)


def write(tf: Any, folder: Path, strip: bool = True) -> str:
    """A model of a reference variable, a resource variable and two tables whose files have one name."""
    for name, words in (("first", "a\nb\n"), ("second", "c\nb\n")):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "words.txt").write_text(words)
    path = str(folder / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        key = tf.placeholder(tf.string, [None], name="key")
        w = tf.Variable([[1.0], [2.0]], name="w")
        b = tf.Variable([0.5], name="b", use_resource=True)
        y = tf.add(tf.matmul(x, w), b, name="y")
        ids = []
        for name in ("first", "second"):
            file = str(folder / name / "words.txt")
            initializer = tf.lookup.TextFileInitializer(file, tf.string, -2, tf.int64, -1)
            ids.append(tf.lookup.StaticHashTable(initializer, -1).lookup(key))
        both = tf.stack(ids, name="ids")
        session.run(tf.global_variables_initializer())
        session.run(w.assign([[3.0], [4.0]]))
        builder = tf.saved_model.Builder(path)
        words = tf.saved_model.predict_signature_def({"key": key}, {"ids": both})
        builder.add_meta_graph_and_variables(
            session,
            [tf.saved_model.SERVING, "other"],
            {"serving_default": tf.saved_model.predict_signature_def({"x": x}, {"y": y}), "words": words},
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.tables_initializer(),
            strip_default_attrs=strip,
        )
        builder.add_meta_graph(["second"], {"only": words})
        assert builder.save() == f"{path}/saved_model.pb".encode()
    # The copies are used, not the files that the model was made of.
    for name in ("first", "second"):
        (folder / name / "words.txt").unlink()
    return path


def served(tf: Any, path: str, scope: str | None = None) -> list[Any]:
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.load(session, ["other", tf.saved_model.SERVING], path, import_scope=scope)
        prefix = f"{scope}/" if scope else ""
        found = []
        for key, feed in (("serving_default", [[1.0, 1.0], [0.0, 2.0]]), ("words", [b"a", b"b", b"c"])):
            signature = loaded.signature_def[key]
            [fed], [fetched] = signature.inputs.values(), signature.outputs.values()
            found.append(session.run(prefix + fetched.name, {prefix + fed.name: feed}).tolist())
        return found


@BOTH
@pytest.mark.parametrize("scope", [None, "inner"])
def test_models_change_sides(writes: Any, reads: Any, scope: str | None, tmp_path: Path) -> None:
    path = write(writes, tmp_path)
    assert served(reads, path, scope) == [[[7.5], [8.5]], [[0, 1, -1], [-1, 1, 0]]]


SERVE = """
import sys
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1], tags=["serve", "other"])
y = loaded.signatures["serving_default"](x=tf.constant([[1.0, 1.0]]))["y"]
ids = loaded.signatures["words"](key=tf.constant(["a", "b", "c"]))["ids"]
[b] = loaded.variables  # of reference variables TensorFlow 2 makes none
print(y.numpy().tolist(), ids.numpy().tolist(), b.name, b.numpy().tolist())
"""


def in_tensorflow_2(program: str, *arguments: str) -> str:
    """The last line that a program prints in a process where TensorFlow is as it comes: eager."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_tensorflow_2_serves_our_model(tmp_path: Path) -> None:
    said = in_tensorflow_2(SERVE, write(fleet, tmp_path))
    assert said == "[[7.5]] [[0, 1, -1], [-1, 1, 0]] b:0 [0.5]"


EXPORT = """
import sys
import tensorflow as tf
class Model(tf.Module):
    def __init__(self):
        self.w = tf.Variable([[3.0], [4.0]])
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def __call__(self, x):
        return {"y": tf.nn.relu(x @ self.w)}
model = Model()
tf.saved_model.save(model, sys.argv[1], signatures=model.__call__)
print("done")
"""


def test_we_serve_a_model_that_tensorflow_2_has_saved(tmp_path: Path) -> None:
    assert in_tensorflow_2(EXPORT, str(tmp_path / "model")) == "done"
    with fleet.Session(graph=fleet.Graph()) as session:
        loaded = fleet.saved_model.load(session, ["serve"], str(tmp_path / "model"))
        signature = loaded.signature_def["serving_default"]
        y = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: [[1.0, 1.0], [-1.0, 0.0]]})
        assert y.tolist() == [[7.0], [0.0]]


def graphs(path: str) -> list[Any]:
    """The MetaGraphDefs in TensorFlow's classes, without what says who wrote them."""
    message = saved_model_pb2.SavedModel.FromString((Path(path) / "saved_model.pb").read_bytes())
    assert message.saved_model_schema_version == 1
    found = []
    for graph in message.meta_graphs:
        info = graph.meta_info_def
        for field in ("tensorflow_version", "tensorflow_git_version", "stripped_op_list"):
            info.ClearField(field)
        found.append(graph)
    return found


@pytest.mark.parametrize("strip", [True, False])
def test_both_write_the_same(strip: bool, tmp_path: Path) -> None:
    files, messages = [], []
    for tf in (real, fleet):
        folder = tmp_path / "of"
        folder.mkdir()
        path = Path(write(tf, folder, strip))
        messages.append(graphs(str(path)))
        files.append({str(f.relative_to(path)): f.stat().st_size for f in path.rglob("*") if f.is_file()})
        folder.rename(tmp_path / tf.__name__)
    theirs, ours = files
    assert ours.keys() == theirs.keys()
    data = "variables/variables.data-00000-of-00001"
    assert ours[data] == theirs[data]
    for expected, got in zip(*messages, strict=True):
        for field in ("signature_def", "collection_def", "saver_def", "meta_info_def"):
            left, right = (getattr(graph, field) for graph in (got, expected))
            if field.endswith("_def") and hasattr(left, "items"):
                assert sorted(left) == sorted(right)
                assert all(left[key] == right[key] for key in left), field
            else:
                assert left == right
        nodes = [{n.name: (n.op, list(n.input)) for n in g.graph_def.node} for g in (got, expected)]
        # The text of a Saver's nodes for files on a bucket is TensorFlow's own.
        assert {k: v for k, v in nodes[0].items() if not k.startswith("save")} == {
            k: v for k, v in nodes[1].items() if not k.startswith("save")
        }


def with_sparse(tf: Any) -> Any:
    sparse = tf.sparse_placeholder(tf.int64, [None, 4], name="sp")
    return tf.saved_model.build_tensor_info(sparse)


def with_variables(tf: Any) -> Any:
    infos = {
        "ref": tf.saved_model.build_tensor_info(tf.Variable([1.0], name="v")),
        "resource": tf.saved_model.build_tensor_info(tf.Variable([1], name="r", use_resource=True)),
    }
    return tf.saved_model.build_signature_def(infos, None, "m", {"ref": tf.constant([3.0])})


def with_examples(tf: Any) -> Any:
    examples, scores = tf.placeholder(tf.string, name="e"), tf.placeholder(tf.float32, [None, 3], name="s")
    return tf.saved_model.classification_signature_def(examples, None, scores)


def with_regression(tf: Any) -> Any:
    return tf.saved_model.regression_signature_def(tf.placeholder(tf.string), tf.placeholder(tf.float32))


@pytest.mark.parametrize("build", [with_sparse, with_variables, with_examples, with_regression])
def test_messages(build: Callable[[Any], Any]) -> None:
    found = []
    for tf in (real, fleet):
        with tf.Graph().as_default():
            found.append(build(tf))
    theirs, ours = found
    assert type(theirs).FromString(ours.SerializeToString()) == theirs
    if isinstance(theirs, meta_graph_pb2.SignatureDef):
        assert fleet.saved_model.is_valid_signature(ours) == real.saved_model.is_valid_signature(theirs)


def no_examples(tf: Any) -> None:
    tf.saved_model.regression_signature_def(None, tf.constant(1.0))


def numbers_as_examples(tf: Any) -> None:
    tf.saved_model.regression_signature_def(tf.constant(1.0), tf.constant(1.0))


def whole_predictions(tf: Any) -> None:
    tf.saved_model.regression_signature_def(tf.constant("a"), tf.constant(1))


def neither_classes_nor_scores(tf: Any) -> None:
    tf.saved_model.classification_signature_def(tf.constant("a"), None, None)


def number_as_class(tf: Any) -> None:
    tf.saved_model.classification_signature_def(tf.constant("a"), tf.constant(1), None)


def text_as_score(tf: Any) -> None:
    tf.saved_model.classification_signature_def(tf.constant("a"), None, tf.constant("a"))


def nothing_to_predict(tf: Any) -> None:
    tf.saved_model.predict_signature_def({"x": tf.constant(1)}, {})


def builder(tf: Any) -> Any:
    tf.Variable(1, name="v")
    return tf.saved_model.Builder("model")


def variables_last(tf: Any) -> None:
    builder(tf).add_meta_graph(["serve"])


def added(tf: Any, **arguments: Any) -> None:
    made = builder(tf)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made.add_meta_graph_and_variables(session, ["serve"], **arguments)
        made.save()


def variables_twice(tf: Any) -> None:
    made = builder(tf)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            made.add_meta_graph_and_variables(session, ["serve"])


def reserved_key(tf: Any) -> None:
    added(tf, signature_def_map={"__saved_model_init_op": tf.saved_model.build_signature_def()})


def no_name(tf: Any) -> None:
    info = {"x": type(tf.saved_model.build_tensor_info(tf.constant(1)))(dtype=1)}
    added(tf, signature_def_map={"k": tf.saved_model.build_signature_def(info)})


def no_dtype(tf: Any) -> None:
    info = {"x": type(tf.saved_model.build_tensor_info(tf.constant(1)))(name="x:0")}
    added(tf, signature_def_map={"k": tf.saved_model.build_signature_def(info)})


def no_operation(tf: Any) -> None:
    added(tf, main_op=3)


def second_main_operation(tf: Any) -> None:
    made = builder(tf)
    with tf.Session() as session:
        tf.get_variable("of_the_graph", [])
        session.run(tf.global_variables_initializer())
        made.add_meta_graph_and_variables(session, ["train"], main_op=tf.no_op())
        made.add_meta_graph(["serve"], main_op=tf.no_op())


def full_directory(tf: Any) -> None:
    added(tf)
    tf.saved_model.Builder("model")


def no_model(tf: Any) -> None:
    tf.saved_model.load(tf.Session(), ["serve"], "nowhere")


def other_tags(tf: Any) -> None:
    added(tf)
    with tf.Session() as session:
        tf.saved_model.load(session, ["serve", "gpu"], "model")


def damaged(tf: Any) -> None:
    Path("model").mkdir()
    Path("model/saved_model.pb").write_bytes(b"\xff\xff")
    tf.saved_model.load(tf.Session(), ["serve"], "model")


@pytest.mark.parametrize(
    "program",
    [
        *(no_examples, numbers_as_examples, whole_predictions, neither_classes_nor_scores, number_as_class),
        *(text_as_score, nothing_to_predict, variables_last, variables_twice, reserved_key, no_name),
        *(no_dtype, no_operation, second_main_operation, full_directory, no_model, other_tags, damaged),
    ],
)
def test_errors(program: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raised = []
    for tf in (real, fleet):
        folder = tmp_path / tf.__name__
        folder.mkdir()
        monkeypatch.chdir(folder)
        with tf.Graph().as_default():
            try:
                program(tf)
            except Exception as e:
                raised.append(e)
    theirs, ours = raised
    assert type(ours).__name__ == type(theirs).__name__
    assert str(ours)[:18] == str(theirs)[:18]


@BOTH
def test_simple_save(writes: Any, reads: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "1")
    with writes.Graph().as_default(), writes.Session() as session:
        with writes.device("/cpu:0"):
            x = writes.placeholder(writes.float32, [None], name="x")
            w = writes.Variable(3.0, name="w")
            y = writes.multiply(x, w, name="y")
        session.run(w.initializer)
        writes.saved_model.simple_save(session, path, {"in": x}, {"out": y})
    assert reads.saved_model.maybe_saved_model_directory(path)
    with reads.Session(graph=reads.Graph()) as session:
        loaded = reads.saved_model.loader.load(session, ["serve"], path)
        assert {node.device for node in loaded.graph_def.node} == {""}
        assert session.run("y:0", {"x:0": [2.0]}).tolist() == [6.0]
        signature = loaded.signature_def["serving_default"]
        tensor = reads.saved_model.utils.get_tensor_from_tensor_info(signature.outputs["out"])
        assert tensor.name == "y:0"


def test_models_as_text_and_other_methods(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with fleet.Graph().as_default(), fleet.Session() as session:
        x = fleet.placeholder(fleet.float32, name="x")
        v = fleet.Variable(2.0)
        session.run(v.initializer)
        signature = fleet.saved_model.predict_signature_def({"x": x}, {"y": fleet.multiply(x, v, name="y")})
        made = fleet.saved_model.Builder(path)
        made.add_meta_graph_and_variables(session, ["serve"], {"k": signature})
        assert made.save(as_text=True).endswith(b"saved_model.pbtxt")
    with real.Session(graph=real.Graph()) as session:
        assert real.saved_model.load(session, ["serve"], path).signature_def["k"].method_name
        assert session.run("y:0", {"x:0": 4.0}) == 8.0
    updater = fleet.saved_model.signature_def_utils.MethodNameUpdater(path)
    updater.replace_method_name("k", "other", tags="serve")
    with pytest.raises(ValueError, match="could not be found"):
        updater.replace_method_name("nope", "other")
    updater.save(str(tmp_path / "changed"))
    [graph] = graphs(str(tmp_path / "changed"))
    assert graph.signature_def["k"].method_name == "other"


def checkpoint(tf: Any, folder: Path, use_resource: bool) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [2.0]], name="w")
        b = tf.Variable([0.5], name="b", use_resource=use_resource)
        tf.Variable(0, name="step")
        tf.add(tf.matmul(x, w), b, name="y")
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "model"))
        tf.train.write_graph(graph, str(folder), "graph.pbtxt")


@BOTH
@pytest.mark.parametrize("source", ["graph", "meta_graph"])
@pytest.mark.parametrize("denied", ["", "w"])
def test_freeze_graph(writes: Any, reads: Any, source: str, denied: str, tmp_path: Path) -> None:
    # TensorFlow's freeze_graph cannot restore resource variables where there is no SavedModel.
    checkpoint(writes, tmp_path, use_resource=reads is fleet)
    module: Any = {fleet: fleet_freeze_graph, real: real_freeze_graph}[reads]
    output = tmp_path / "frozen.pb"
    is_graph = source == "graph"
    module.freeze_graph(
        str(tmp_path / "graph.pbtxt") if is_graph else "",
        *("", not is_graph, str(tmp_path / "model"), "y", "save/restore_all", "save/Const:0", str(output)),
        *(True, ""),
        variable_names_denylist=denied,
        input_meta_graph=None if is_graph else str(tmp_path / "model.meta"),
    )
    definition = fleet.GraphDef.FromString(output.read_bytes())
    types = {node.name: node.op for node in definition.node}
    assert types["b"] == "Const"
    assert types["w"] == ("VariableV2" if denied else "Const")
    assert "step" not in types
    if not denied:
        for tf in (real, fleet):
            with tf.Graph().as_default(), tf.Session() as session:
                tf.import_graph_def(tf.GraphDef.FromString(output.read_bytes()), name="")
                assert session.run("y:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[3.5]]


def test_a_saved_model_is_frozen_by_the_command(tmp_path: Path) -> None:
    path = write(real, tmp_path)
    output = tmp_path / "frozen.pb"
    arguments = [f"--input_saved_model_dir={path}", "--saved_model_tags=serve,other", "--output_node_names=y"]
    assert fleet_freeze_graph.main([*arguments, f"--output_graph={output}"]) == 0
    with real.Graph().as_default(), real.Session() as session:
        real.import_graph_def(real.GraphDef.FromString(output.read_bytes()), name="")
        assert session.run("y:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[7.5]]
