"""The public names as people, editors and type checkers see them."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tensorfleet as tf
from tests.client.api.public import functions_and_classes, namespaces, public

CLIENT = Path(tf.__file__).parents[1]

PROGRAM = """
import tensorfleet as tf
import tensorfleet.compat.v1 as tf1
from tensorfleet.train import AdamOptimizer

x = tf.placeholder(tf.float32, [None, 3])
w = tf.get_variable("w", [3, 1])
loss = tf.reduce_mean(tf.nn.relu(tf.matmul(x, w)))
step = AdamOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run([step, loss], {x: [[1.0, 2.0, 3.0]]})
reveal_type(tf.nn.relu(x))
reveal_type(tf1.train.AdamOptimizer(0.1))
tf.nope
tf1.nope
tf.nn.rellu(x)
tf.errors.NotFondError
tf.nn.relu(x, nam="y")
tf.Variable(1.0, trainabel=True)
"""
SAID = [
    'note: Revealed type is "tensorfleet.graph.tensor.Tensor"',
    'note: Revealed type is "tensorfleet.train.adam.AdamOptimizer"',
    *['error: Module has no attribute "nope"'] * 2,
    'error: Module has no attribute "rellu"; maybe "relu"',
    'error: Module has no attribute "NotFondError"; maybe "NotFoundError"',
    'error: Unexpected keyword argument "nam" for "relu"',
    'error: Unexpected keyword argument "trainabel" for "Variable"',
]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_type_checker_sees_names_arguments_and_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is a tool of development, and not installed here")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nstrict = true\nfollow_imports = silent\nmypy_path = {CLIENT}\n"
        "[mypy-tensorfleet.proto.*]\nignore_errors = true\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
    )
    lines = [line for line in done.stdout.splitlines() if "defined in" not in line]
    assert len(lines) == len(SAID), done.stdout + done.stderr
    for line, expected in zip(lines, SAID, strict=True):
        assert expected in line


def test_an_editor_completes_names_and_shows_signatures() -> None:
    jedi: Any = pytest.importorskip("jedi", reason="jedi is a tool of development, and not installed here")
    project = jedi.Project(CLIENT)

    def completed(code: str) -> set[str]:
        return {found.name for found in jedi.Script(code, project=project).complete()}

    assert {"AdamOptimizer", "Saver", "MonitoredTrainingSession"} <= completed(
        "import tensorfleet as tf\ntf.train."
    )
    assert {"train", "nn", "placeholder", "Session"} <= completed("import tensorfleet as tf\ntf.")
    assert "LSTMCell" in completed("import tensorfleet.compat.v1 as tf\ntf.nn.rnn_cell.")
    assert "get_shape" in completed("import tensorfleet as tf\ntf.nn.relu(1.0).")
    [shown] = jedi.Script("import tensorfleet as tf\ntf.Variable(", project=project).get_signatures()
    assert [parameter.name for parameter in shown.params][:2] == ["initial_value", "trainable"]


def test_public_classes_and_values_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(tf.errors.NotFoundError(None, None, "no such file")))
    assert type(error) is tf.errors.NotFoundError
    assert error.message == "no such file"
    for value in (
        tf.float32,
        tf.nn.relu,
        tf.train.AdamOptimizer,
        tf.nn.rnn_cell.LSTMStateTuple,
        tf.TensorShape([2]),
    ):
        assert pickle.loads(pickle.dumps(value)) == value


def test_a_variable_shows_its_signature() -> None:
    parameters = list(inspect.signature(tf.Variable).parameters)
    assert parameters[:3] == ["initial_value", "trainable", "collections"]
    assert parameters == list(inspect.signature(tf.Variable.__init__).parameters)[1:]


@pytest.mark.parametrize(("name", "module"), [pytest.param(*pair, id=pair[0]) for pair in namespaces()])
def test_nothing_private_is_in_a_namespace(name: str, module: ModuleType) -> None:
    file = Path(module.__file__ or "")
    tree = ast.parse(file.read_text())
    imported = {
        alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assigned = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    names = dict(public(module))
    # What is there is written there, and what is written there is there.
    assert set(names) == {key for key in imported | assigned if key and not key.startswith("_")}
    assert not {"Any", "annotations"} & set(names)
    for value in names.values():
        if isinstance(value, ModuleType) and value is not tf:
            assert value is importlib.import_module(value.__name__)


def test_the_names_of_a_star_import_are_those_of_the_namespace() -> None:
    for _, module in namespaces():
        if (names := getattr(module, "__all__", None)) is not None:
            assert sorted(names) == [key for key, _ in public(module)], module


def test_every_public_function_and_class_has_a_docstring() -> None:
    without = []
    for name, value in functions_and_classes().items():
        if value.__module__.startswith("absl."):
            continue  # tf.flags are that library's
        if inspect.isclass(value):
            without += [f"{name}.{key}" for key in methods(value) if not inspect.getdoc(getattr(value, key))]
        if not (vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__):
            without.append(name)
    assert without == []


def methods(cls: type) -> list[str]:
    """The public methods and properties that a class defines itself."""
    kinds = (property, classmethod, staticmethod)
    return [
        key
        for key, value in vars(cls).items()
        if not key.startswith("_") and (isinstance(value, kinds) or inspect.isfunction(value))
    ]
