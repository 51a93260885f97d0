"""Internal modules of TensorFlow that public programs import, by `tensorfleet run`."""

from __future__ import annotations

from pathlib import Path

from tests.run.test_hook import run

OPS = """
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import common_shapes, device as pydev, dtypes, ops, tensor_util
from tensorflow.python.ops import control_flow_ops, gen_array_ops, gen_nn_ops, init_ops, inplace_ops
from tensorflow.python.ops import summary_op_util, variable_scope as vs
from tensorflow.python.ops.parallel_for import gradients as parallel_gradients
from tensorflow.python.training import training_ops

assert not context.executing_eagerly() and context.in_graph_mode() and context.context().num_gpus() == 0
assert dtypes.float32_ref.base_dtype is tf.float32 and pydev.canonical_name("/cpu:0") == "/device:CPU:0"
assert ops.uid() < ops.uid() and ops.prepend_name_scope("a", "b") == "b/a"
assert not isinstance(1, ops.EagerTensor)
assert ops.strip_name_scope("b/a", "b") == "a" and ops._get_graph_from_inputs([]) is tf.get_default_graph()
assert "Relu" in ops._gradient_registry._registry and ops.get_gradient_function(tf.nn.relu([1.0]).op)

if "GuidedRelu" not in ops._gradient_registry._registry:
    @ops.RegisterGradient("GuidedRelu")
    def _guided(op, grad):
        return tf.where(grad > 0.0, gen_nn_ops._relu_grad(grad, op.outputs[0]), tf.zeros_like(grad))

x = tf.constant([[1.0, -2.0], [3.0, 4.0]])
with tf.get_default_graph().gradient_override_map({"Relu": "GuidedRelu"}):
    guided = tf.gradients(tf.nn.relu(x) * [[1.0, 1.0], [-1.0, 1.0]], x)[0]
pooled = tf.nn.max_pool(tf.reshape(x, [1, 2, 2, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
unpooled = gen_nn_ops.max_pool_grad(
    tf.reshape(x, [1, 2, 2, 1]), pooled, pooled, [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME")
dead, alive = control_flow_ops.switch(x, tf.constant(True))
merged, which = control_flow_ops.merge([dead * 2.0, alive * 3.0])
v = tf.Variable([1.0, 2.0])
descended = training_ops.apply_gradient_descent(v._ref() if hasattr(v, "_ref") else v, 0.5, [2.0, 2.0])
size = tensor_util.constant_value_as_shape(tf.stack([tf.shape(x)[0], 7]))
assert size.as_list() == [2, 7] and common_shapes.scalar_shape(None)[0].ndims == 0
assert init_ops._compute_fans([3, 3, 4, 8]) == (36, 72)
with vs._pure_variable_scope("pure"):
    assert vs.get_variable("inner", [2]).name == "pure/inner:0" and tf.identity(1.0).name == "Identity:0"
with summary_op_util.summary_scope("my loss", family="train") as (tag, scope):
    assert (tag, scope) == ("train/train/my_loss", "train/my_loss/")
quadratic = tf.square(x)
everything = parallel_gradients.jacobian(quadratic, x)
by_row = parallel_gradients.batch_jacobian(quadratic, x)
rows = inplace_ops.alias_inplace_update(tf.identity(x), 1, [9.0, 9.0])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    assert session.run(guided).tolist() == [[1, 0], [0, 1]]
    assert session.run(unpooled).ravel().tolist() == [0, 0, 0, 4]
    assert session.run([merged, which])[0][1].tolist() == [9, 12] and session.run(which) == 1
    assert session.run(descended).tolist() == [0, 1]
    assert session.run(gen_array_ops.reverse_v2(x, [0]))[0].tolist() == [3, 4]
    assert session.run(rows).tolist() == [[1, -2], [9, 9]]
    assert np.allclose(session.run(by_row), [np.diag([2, -4]), np.diag([6, 8])])
    assert np.allclose(session.run(everything).reshape(4, 4), np.diag([2, -4, 6, 8]))
print("all is there")
"""

UTILITIES = """
import collections
import tensorflow as tf
from tensorflow.python.util import all_util, deprecation, nest, tf_contextlib, tf_decorator, tf_inspect
from tensorflow.python.util.lazy_loader import LazyLoader
from tensorflow.python.util.object_identity import ObjectIdentityDictionary, ObjectIdentitySet
from tensorflow.python.util.tf_export import tf_export
from tensorflow.python.estimator.util import fn_args

deprecation._PRINT_DEPRECATION_WARNINGS = False

@tf_export("mine")
@deprecation.deprecated(None, "use another one")
@deprecation.deprecated_args(None, "use b", "c")
def function(a, b=1, *rest, **more):
    return a

def wrapper(*args, **kwargs):
    return function(*args, **kwargs)

wrapped = tf_decorator.make_decorator(function, wrapper)
assert tf_inspect.getargspec(wrapped) == (["a", "b"], "rest", "more", (1,)) and wrapped(3) == 3
assert tf_inspect.getfullargspec(wrapped).args == ["a", "b"] and fn_args(wrapped) == ("a", "b")

class Model:
    def __call__(self, features, mode): pass
    def method(self, labels): pass

assert fn_args(Model()) == ("features", "mode") and fn_args(Model().method) == ("labels",)

@tf_contextlib.contextmanager
def opened():
    yield 4

with opened() as four:
    assert four == 4
lazy = LazyLoader("lazy", globals(), "colorsys")
assert lazy.rgb_to_hsv(0, 0, 0) == (0, 0, 0) and lazy.__name__ == "colorsys"
one, two = [1], [1]
known = ObjectIdentitySet([one])
table = ObjectIdentityDictionary()
table[one] = 5
assert one in known and two not in known and table[one] == 5 and two not in table
assert deprecation.deprecated_argument_lookup("new", None, "old", 3) == 3
all_util.remove_undocumented(__name__)
print("all is there")
"""

CELLS = """
import tensorflow as tf
from tensorflow.contrib.rnn.python.ops import core_rnn_cell
from tensorflow.python.layers import base as base_layer, convolutional
from tensorflow.python.ops import rnn, rnn_cell_impl, variable_scope as vs

class Cell(rnn_cell_impl.LayerRNNCell):
    def __init__(self, units):
        super(Cell, self).__init__()
        self._units = units
        self._linear = None

    state_size = output_size = property(lambda self: self._units)

    def call(self, inputs, state):
        if self._linear is None:
            with vs.variable_scope("gates"):
                self._linear = rnn_cell_impl._Linear([inputs, state], self._units, True)
        state = tf.tanh(self._linear([inputs, state]))
        return state, state

assert rnn_cell_impl._like_rnncell(Cell(2)) and not rnn_cell_impl._like_rnncell(3)
assert core_rnn_cell._WEIGHTS_VARIABLE_NAME == "kernel" and convolutional.Convolution2D is tf.layers.Conv2D
x = tf.ones([3, 4, 2])
outputs, state = tf.nn.dynamic_rnn(Cell(5), x, dtype=tf.float32)
assert [v.name for v in tf.trainable_variables()] == ["rnn/cell/gates/kernel:0", "rnn/cell/gates/bias:0"]
assert rnn._transpose_batch_time(x).shape == [4, 3, 2] and rnn._best_effort_input_batch_size([x]) == 4
assert rnn._concat(tf.constant(3), 5, static=True) == [3, 5]
zeros = rnn_cell_impl._zero_state_tensors((2, 3), 4, tf.float32)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    assert session.run(outputs).shape == (3, 4, 5)
    assert session.run(rnn._concat(tf.constant(3), 5)).tolist() == [3, 5]
    assert [z.shape for z in session.run(zeros)] == [(4, 2), (4, 3)]
    steps = [tf.constant([[1.0], [2.0]]), tf.constant([[3.0], [4.0]])]
    backwards = session.run(rnn._reverse_seq(steps, tf.constant([1, 2])))
    assert [b.ravel().tolist() for b in backwards] == [[1, 4], [3, 2]]
print("all is there")
"""

TRAINING = """
import sys
import tensorflow as tf
from tensorflow.core.util import event_pb2
from tensorflow.python import debug as tf_debug, pywrap_tensorflow
from tensorflow.python.training import evaluation, optimizer, training_util
from tensorflow.python.util import compat

folder = sys.argv[1]
writer = pywrap_tensorflow.EventsWriter(compat.as_bytes(folder + "/events"))
event = event_pb2.Event(step=3)
event.summary.value.add(tag="loss", simple_value=0.5)
writer.WriteEvent(event)
writer.Flush()
name = writer.FileName().decode()
writer.Close()
found = list(tf.train.summary_iterator(name))
assert [e.step for e in found] == [0, 3] and found[1].summary.value[0].tag == "loss", found

step = tf.train.get_or_create_global_step()
up = training_util._increment_global_step(2)
rows = tf.constant([[1.0], [2.0], [3.0]])
values, places = optimizer._deduplicate_indexed_slices(rows, tf.constant([4, 5, 4]))
count = tf.get_variable("count", [], tf.float32, tf.zeros_initializer())
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    assert session.run(up) == 2 and session.run([values, places])[0].tolist() == [[4], [2]]
    path = saver.save(session, folder + "/model")
    inspected = tf_debug.LocalCLIDebugWrapperSession(session)
    inspected.add_tensor_filter("has_inf_or_nan", tf_debug.has_inf_or_nan)
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.log(x, name="y") + 1.0
    assert inspected.graph is tf.get_default_graph()
    assert inspected.run(y, {x: [1, 1]}).tolist() == [1, 1]
    assert inspected.run({"y": y}, feed_dict={x: [0, 1]})["y"][1] == 1
last = evaluation._evaluate_once(
    path, eval_ops=tf.identity(count), final_ops={"step": step},
    hooks=[evaluation._StopAfterNEvalsHook(3, log_progress=False)])
assert last == {"step": 2}, last
print("all is there")
"""


def told(text: str, tmp_path: Path) -> str:
    program = tmp_path / "program.py"
    program.write_text(text)
    code, out, err = run(program, tmp_path)
    assert (code, out) == (0, "all is there\n"), err
    return err


def test_ops_and_graphs(tmp_path: Path) -> None:
    told(OPS, tmp_path)


def test_utilities(tmp_path: Path) -> None:
    told(UTILITIES, tmp_path)


def test_cells_of_programs(tmp_path: Path) -> None:
    told(CELLS, tmp_path)


def test_training_and_debugging(tmp_path: Path) -> None:
    err = told(TRAINING, tmp_path)
    assert "tensors that pass has_inf_or_nan: add:0, y:0" in err, err
