"""`Defun`: definitions, calls and the graph's library. Values against TensorFlow are in tests/compat."""

from __future__ import annotations

from typing import Any, cast

import pytest

import tensorfleet as tf
from tensorfleet.functions.body import get_extra_args, get_extra_inputs, get_extra_vars
from tensorfleet.functions.defun import DefinedFunction, Defun
from tensorfleet.functions.library import from_library
from tensorfleet.proto.function_pb2 import FunctionDefLibrary


def library(graph: Any = None) -> FunctionDefLibrary:
    return (graph or tf.get_default_graph()).as_graph_def().library


def test_a_call_is_an_op_whose_type_is_the_function() -> None:
    @Defun(tf.float32, tf.float32, func_name="Product", noinline=True)
    def product(a: Any, b: Any) -> Any:
        """Multiplies."""
        return a * b

    call = product(2.0, 3.0, name="call")
    assert (call.op.type, call.name) == ("Product", "call:0")
    assert call.op.get_attr("_disable_call_shape_inference")
    assert call.shape.ndims is None
    [definition] = library().function
    assert definition == product.definition
    assert [arg.name for arg in definition.signature.input_arg] == ["a", "b"]
    assert definition.signature.description == "Multiplies."
    assert definition.attr["_noinline"].b
    graph = tf.get_default_graph()
    assert graph._is_function("Product")
    assert graph._get_function("Product") is product
    assert graph.op_def_for_type("Product").input_arg[1].name == "b"
    assert call.op.op_def.output_arg[0].name == "mul"
    with tf.Session() as session:
        assert session.run(call) == 6


def test_functions_that_are_not_called_are_not_in_the_library() -> None:
    @Defun(tf.float32)
    def one(x: Any) -> Any:
        return x + 1.0

    assert one.name.startswith("one_")
    assert not library().function
    one.add_to_graph(tf.get_default_graph())
    assert [each.signature.name for each in library().function] == [one.name]


def test_equal_functions_have_equal_names_and_others_not() -> None:
    def made(factor: float) -> DefinedFunction:
        @Defun(tf.float32)
        def scaled(x: Any) -> Any:
            return x * factor

        assert isinstance(scaled, DefinedFunction)
        return scaled

    assert made(2.0).name == made(2.0).name != made(3.0).name


def test_what_a_function_uses_of_the_graph_becomes_an_argument() -> None:
    c = tf.constant([1.0, 2.0], name="c")
    seen = []

    @Defun(tf.float32)
    def added(x: Any) -> Any:
        result = x + c + c
        seen.append((get_extra_inputs(), [t.op.type for t in get_extra_args()], get_extra_vars()))
        return result

    assert added.captured_inputs == [c]
    assert list(added.declared_input_types) == [tf.float32]
    assert seen == [([c], ["Placeholder"], [])]
    assert get_extra_inputs() == get_extra_args() == get_extra_vars() == []
    assert list(added(1.0).op.inputs)[1:] == [c]
    with tf.Session() as session:
        assert session.run(added(1.0)).tolist() == [3, 5]


def test_capture_by_value_copies_what_has_no_state() -> None:
    c = tf.constant(3.0, name="c") * 2.0
    p = tf.placeholder(tf.float32, [], name="p")
    r = tf.random_uniform([], 1, 2)

    @Defun(tf.float32, capture_by_value=True)
    def added(x: Any) -> Any:
        return x + c

    assert added.captured_inputs == []
    assert {node.op for node in added.definition.node_def} >= {"Const", "Mul"}
    with tf.Session() as session:
        assert session.run(added(1.0)) == 7
    with pytest.raises(
        ValueError, match=r"Cannot capture a placeholder \(name:p, type:Placeholder\) by value"
    ):
        Defun(tf.float32, capture_by_value=True)(lambda x: x + p)(1.0)
    with pytest.raises(ValueError, match=r"Cannot capture a stateful node .*RandomUniform"):
        Defun(tf.float32, capture_by_value=True)(lambda x: x + r)(1.0)
    allowed = {op for op in tf.get_default_graph().get_operations() if op.type == "RandomUniform"}
    copied = Defun(tf.float32, capture_by_value=True, allowlisted_stateful_ops=allowed)(lambda x: x + r)
    assert [kind for _, kind in copied.stateful_ops] == ["RandomUniform"]


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_that_a_function_makes_belong_to_the_graph(use_resource: bool) -> None:
    @Defun(tf.float32)
    def scaled(x: Any) -> Any:
        w = tf.get_variable("w", [], initializer=tf.constant_initializer(3.0), use_resource=use_resource)
        return x * w * tf.Variable(2.0, name="v")

    with tf.variable_scope("layer"):
        y = scaled(5.0)
    with tf.variable_scope("layer", reuse=True):
        w = tf.get_variable("w", [])
    assert [v.op.name for v in tf.trainable_variables()] == ["layer/w", "v"]
    # The value of a resource variable is read outside: there is a gradient of the variable.
    assert tf.resource not in [t.dtype for t in scaled.captured_inputs]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([y, *tf.gradients(y, w)]) == [30, 10]


def test_reference_variables_cannot_be_changed_in_functions() -> None:
    v = tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"tf.float32_ref.* use_resource=True"):
        Defun(tf.float32)(lambda x: tf.assign_add(v, x))(1.0)


def test_functions_call_functions_in_whatever_graph_they_are_called() -> None:
    @Defun(tf.float32)
    def inner(x: Any) -> Any:
        return x * x

    @Defun(tf.float32)
    def outer(x: Any) -> Any:
        return inner(x) + inner(x + 1.0)

    for _ in range(2):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            y = outer(2.0)
            assert session.run([y, *tf.gradients(y, y.op.inputs[0])]) == [13, 10]
            assert {each.signature.name for each in library(graph).function} == {inner.name, outer.name}


def test_gradient_functions_are_in_the_library() -> None:
    @Defun(tf.float32, tf.float32)
    def slope(x: Any, dy: Any) -> Any:
        return dy * 100.0

    @Defun(tf.float32, grad_func=slope)
    def f(x: Any) -> Any:
        return x * 2.0

    assert (f.grad_func, f.grad_func_name) == (slope, slope.name)
    f(1.0)
    [gradient] = library().gradient
    assert (gradient.function_name, gradient.gradient_func) == (f.name, slope.name)
    with tf.Session() as session:
        x = tf.constant(3.0)
        assert session.run(tf.gradients(f(x), x)) == [100]


def test_an_overloaded_function_is_one_for_each_list_of_dtypes() -> None:
    @Defun(func_name="Sum")
    def total(x: Any, y: Any) -> Any:
        return x + y

    assert [total(1.0, 2.0).op.type, total(1, 2).op.type] == ["Sum_f32f32", "Sum_i32i32"]
    with tf.Session() as session:
        assert session.run([total(1.0, 2.0), total(1, 2)]) == [3, 3]
    with pytest.raises(ValueError, match="Unsupported dtypes"):
        total(tf.placeholder(tf.variant), 1.0)


def test_two_functions_of_one_name_are_refused() -> None:
    Defun(tf.float32, func_name="F")(lambda x: x + 1.0)(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'F' because a different function"):
        Defun(tf.float32, func_name="F")(lambda x: x + 2.0)(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="an op with the same name already exists"):
        Defun(tf.float32, func_name="MatMul")(lambda x: x + 2.0)(1.0)


def test_functions_travel_with_graphs() -> None:
    @Defun(tf.float32, tf.float32)
    def slope(x: Any, dy: Any) -> Any:
        return dy * 7.0

    @Defun(tf.float32, func_name="Twice", grad_func=slope)
    def twice(x: Any) -> Any:
        return x * 2.0

    y = twice(3.0, name="y")
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        [again] = cast("list[tf.Tensor]", tf.import_graph_def(message, return_elements=["y:0"]))
        assert again.op.type == "Twice"
        assert session.run([again, *tf.gradients(again, again.op.inputs[0])]) == [6, 7]
        assert library(graph) == message.library
        # The same functions again are no conflict; another one of the name is.
        tf.import_graph_def(message, name="again")
        message.library.function[-1].node_def[-1].op = "AddV2"
        message.library.function[0].node_def[-1].op = "AddV2"
        with pytest.raises(ValueError, match="a different function with the same name"):
            tf.import_graph_def(message, name="other")
    assert y.op.type == "Twice"


def test_functions_of_a_library() -> None:
    @Defun(tf.float32, tf.float32)
    def slope(x: Any, dy: Any) -> Any:
        return dy * 7.0

    @Defun(tf.float32, func_name="Twice", grad_func=slope)
    def twice(x: Any) -> Any:
        return x * 2.0

    twice(1.0)
    found = {each.name: each for each in from_library(library())}
    assert found["Twice"].grad_func is found[slope.name]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(3.0)
        y = found["Twice"](x)
        assert session.run([y, *tf.gradients(y, x)]) == [6, 7]
    assert from_library(FunctionDefLibrary()) == []
    broken = library()
    broken.gradient[0].gradient_func = "Gone"
    with pytest.raises(ValueError, match="missing 'Gone' FunctionDef"):
        from_library(broken)
    broken.gradient[0].gradient_func = slope.name
    broken.gradient.add(function_name=slope.name, gradient_func="Twice")
    with pytest.raises(ValueError, match="cyclic gradient functions"):
        from_library(broken)


def test_stateful_ops_are_told() -> None:
    @Defun(tf.float32)
    def noisy(x: Any) -> Any:
        return x + tf.random_uniform([], name="noise")

    assert noisy.stateful_ops == [("noise/RandomUniform", "RandomUniform")]
    assert noisy.definition.signature.is_stateful


def test_a_function_runs_where_it_was_declared() -> None:
    with tf.device("/cpu:1"):

        @Defun(tf.float32)
        def f(x: Any) -> Any:
            with tf.device("/job:ps"):
                y = x + 1.0
            return y * 2.0

    devices = {node.op: node.device for node in f.definition.node_def if node.op != "Const"}
    assert devices == {"AddV2": "/job:ps/device:CPU:1", "Mul": "/device:CPU:1"}
