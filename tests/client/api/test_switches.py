"""Names that say what there is not, what lies beside programs, and what modules and scopes hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("enable_eager_execution", "has no eager execution, as its tasks run graphs"),
        ("enable_v2_behavior", "graphs and sessions"),
        ("enable_tensor_equality", r"use tf\.equal"),
        ("enable_v2_tensorshape", r"use shape\.as_list"),
    ],
)
def test_other_behaviours_are_refused_in_one_sentence(name: str, text: str) -> None:
    with pytest.raises(NotImplementedError, match=text) as caught:
        getattr(tf, name)()
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize("leave", ["disable_control_flow_v2", "disable_v2_behavior"])
def test_control_flow_computes_the_same(leave: str) -> None:
    x = tf.constant(True)
    tf.enable_control_flow_v2()
    try:
        first = tf.cond(x, lambda: 1, lambda: 2)
        assert tf.control_flow_v2_enabled()
    finally:
        getattr(tf, leave)()
    assert not tf.control_flow_v2_enabled()
    second = tf.cond(x, lambda: 1, lambda: 2)
    assert [first.op.inputs[0].op.type, second.op.type] == ["StatelessIf", "Merge"]
    with tf.Session() as session:
        assert session.run([first, second]) == [1, 1]


def test_compiled_libraries_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ops.so").write_bytes(b"")
    with pytest.raises(tf.errors.UnimplementedError, match=r"compiled against TensorFlow's runtime"):
        tf.load_op_library(str(tmp_path / "ops.so"))
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        tf.load_library(str(tmp_path / "other.so"))
    with pytest.raises(tf.errors.UnimplementedError, match="no C\\+\\+ headers"):
        tf.sysconfig.get_include()
    assert tf.sysconfig.get_compile_flags() == []
    assert not tf.sysconfig.get_build_info()["is_cuda_build"]


def test_files_beside_a_module() -> None:
    here = Path(__file__).resolve().parent
    assert tf.resource_loader.get_data_files_path() == str(here)
    assert tf.resource_loader.get_path_to_datafile("x.txt") == str(here / "x.txt")


def test_seeds_scopes_and_tensors() -> None:
    assert tf.get_seed(3) == (87654321, 3)
    x = tf.constant(1.0)
    with tf.name_scope("inner"), tf.control_dependencies([x]), tf.init_scope():
        outside = tf.constant(2.0) + 1.0
    assert outside.op.name == "inner/add"
    assert outside.op.control_inputs == []
    assert [tf.is_symbolic_tensor(item) for item in (x, tf.Variable(1.0), 1.0, x.op)] == [
        True,
        True,
        False,
        False,
    ]


def test_modules_find_their_variables() -> None:
    class Layer(tf.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            with self.name_scope:
                self.w = tf.Variable(tf.ones([size]), name="w")
                self.b = tf.Variable(0.0, trainable=False, name="b")

        @tf.Module.with_name_scope
        def __call__(self, x: Any) -> Any:
            return tf.add(x * self.w, self.b, name="sum")

    class TwoLayers(tf.Module):
        def __init__(self) -> None:
            super().__init__(name="net")
            self.layers = [Layer(2), {"last": Layer(2)}]
            self.again = self.layers

    net = TwoLayers()
    assert (net.name, net.layers[0].name, type(net)().name) == ("net", "layer", "net")
    assert [v.op.name for v in net.variables] == ["layer/b", "layer/w", "layer_1/b", "layer_1/w"]
    assert [v.op.name for v in net.trainable_variables] == ["layer/w", "layer_1/w"]
    assert len(net.non_trainable_variables) == len(net.submodules) == 2
    assert net.layers[0](1.0).op.name == "layer/sum"
    with pytest.raises(ValueError, match="not a valid module name"):
        tf.Module("a b")


@pytest.mark.parametrize("use_resource", [False, True])
def test_batch_scatter_update(use_resource: bool) -> None:
    v = tf.Variable(tf.zeros([2, 3, 2]), use_resource=use_resource)
    updated = tf.batch_scatter_update(v, [[0, 2], [1, 0]], [[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]])
    line = tf.Variable(tf.zeros([3]), use_resource=use_resource)
    plain = tf.batch_scatter_update(line, [2], [4.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([updated, plain])
        assert session.run(v).tolist() == [[[1, 2], [0, 0], [3, 4]], [[7, 8], [5, 6], [0, 0]]]
        assert session.run(line).tolist() == [0, 0, 4]
