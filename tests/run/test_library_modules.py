"""Internal modules of TensorFlow that libraries use: Keras 2.3, TensorFlow Hub, TensorFlow Probability."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.test_hook import run

KERAS = """
import tensorflow as tf
from tensorflow.python.keras import backend
from tensorflow.python.keras.utils import conv_utils, tf_utils
from tensorflow.python.training.tracking import data_structures

assert backend.get_graph() is tf.get_default_graph()
assert conv_utils.conv_output_length(7, 3, "valid", 2) == 3
x = tf.placeholder(tf.float32, [2])
v = tf.Variable([1.0, 2.0], use_resource=True)
y, z, other = x * 2.0, v + 1.0, tf.constant(1.0)
found = tf_utils.get_reachable_from_inputs([x, v])
assert {x, v, y, y.op, z} <= found and other not in found and other.op not in found
assert tf_utils.get_reachable_from_inputs([y.op], targets=[y]) == {y.op, y}


class Own:
    pass


assert tf_utils.is_symbolic_tensor(v) and not tf_utils.is_symbolic_tensor(Own())
tf_utils.register_symbolic_tensor_type(Own)
assert tf_utils.is_symbolic_tensor(Own())


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.kept = [tf.keras.layers.Dense(1)]
        self.plain = data_structures.NoDependency([tf.keras.layers.Dense(1)])


model = Model()
assert type(model.plain) is list and model.layers == model.kept
print("keras")
"""

COLUMNS = """
import tensorflow as tf
from tensorflow.python.feature_column import feature_column as old, feature_column_v2 as new


class Doubled(old._DenseColumn):
    name = "doubled"
    _parse_example_spec = {"x": tf.FixedLenFeature([1], tf.float32)}
    _variable_shape = tf.TensorShape([1])

    def _transform_feature(self, inputs):
        return 2.0 * inputs.get("x")

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return inputs.get(self)


class Both(old._DenseColumn, new.DenseColumn):
    pass


column = Doubled()
assert tf.feature_column.make_parse_example_spec([column]) == column._parse_example_spec
assert isinstance(tf.feature_column.numeric_column("x"), new.DenseColumn)
assert issubclass(Both, new.FeatureColumn)
numbers = tf.feature_column.input_layer({"x": tf.constant([[1.0], [2.0]])}, [column])
manager = new._StateManagerImpl(layer=None, trainable=False)
manager.add_resource(column, "part", "kept")
assert manager.get_resource(column, "part") == "kept" and not manager.has_resource(column, "other")
with tf.Session() as session:
    assert session.run(numbers).tolist() == [[2.0], [4.0]]
print("columns")
"""

GRAPHS = """
import tensorflow as tf

operators = tf.Tensor.OVERLOADABLE_OPERATORS
operators.difference_update({"__eq__", "__ne__"})
assert "__add__" in tf.Tensor.OVERLOADABLE_OPERATORS and "__eq__" not in tf.Tensor.OVERLOADABLE_OPERATORS
graph, contexts = tf.get_default_graph(), []


def body(i):
    contexts.append(graph._get_control_flow_context())
    return i + 1


last = tf.while_loop(lambda i: i < 3, body, [0])
assert graph._get_control_flow_context() is None and contexts[-1].IsWhileContext()


class Part(tf.Module):
    _TF_MODULE_IGNORED_PROPERTIES = tf.Module._TF_MODULE_IGNORED_PROPERTIES | {"hidden"}

    def __init__(self, name=None):
        super().__init__(name=name)
        self.hidden, self.w = tf.Variable(0.0), tf.Variable(1.0)


class Whole(tf.Module):
    def __init__(self):
        super().__init__()
        self.parts, self.size = [Part(), Part()], 7


whole = Whole()
first, second = whole.parts
assert whole.variables == (first.w, second.w) and whole.submodules == (first, second)
assert list(whole._flatten(predicate=lambda value: isinstance(value, int))) == [7]
paths = dict(whole._flatten(predicate=lambda value: isinstance(value, tf.Variable), with_path=True))
assert paths == {("parts", 0, "w"): first.w, ("parts", 1, "w"): second.w}
assert list(whole._flatten(recursive=False, predicate=lambda value: isinstance(value, tf.Variable))) == []
print("graphs")
"""


@pytest.mark.parametrize(("program", "said"), [(KERAS, "keras"), (COLUMNS, "columns"), (GRAPHS, "graphs")])
def test_a_program_that_uses_what_libraries_use(program: str, said: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(program)
    code, output, errors = run(script)
    assert (code, output) == (0, f"{said}\n"), errors
