"""`tf.function` in graphs: traces, calls, variables, effects, gradients."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def test_a_call_is_one_operation_with_results_in_their_structure() -> None:
    @tf.function
    def f(x: Any, y: float = 2.0, *, k: int = 1) -> Any:
        return {"a": x * y, "b": (x + float(k), None)}

    found = f(tf.constant([1.0, 2.0]))
    assert [op.type for op in tf.get_default_graph().get_operations()] == ["Const", "PartitionedCall"]
    assert found["b"][1] is None
    assert found["a"].shape == [2]
    results = run([found["a"], found["b"][0]])
    np.testing.assert_array_equal(results, [[2, 4], [2, 3]])
    [definition] = tf.get_default_graph().as_graph_def().library.function
    assert definition.signature.name.startswith("__inference_f_")
    assert f.python_function.__name__ == f.__name__ == "f"


def test_traces_by_dtype_shape_and_value() -> None:
    count = []

    @tf.function
    def f(x: Any, t: Any) -> Any:
        count.append(1)
        return x

    x = tf.constant([1.0, 2.0])
    f(x, 1), f(x + 1.0, t=1), f(np.array([3, 4], np.float32), 1)
    assert len(count) == 1
    f(x, 2), f(x, True), f(tf.constant([1.0]), 1), f(tf.constant([1, 2]), 1), f((x,), 1), f([x], 1)
    assert len(count) == 7
    with tf.Graph().as_default():
        f(tf.constant([1.0, 2.0]), 1)
    assert len(count) == 8


def test_graphs_with_traces_are_freed() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x * 2.0

    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        tf.gradients(f(x), x)
        reference = weakref.ref(graph)
    del graph, x
    gc.collect()
    assert reference() is None


def test_methods_have_traces_and_variables_of_their_own() -> None:
    class Layer:
        def __init__(self, value: float) -> None:
            self.value = value
            self.v: Any = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.v is None:
                self.v = tf.Variable(tf.ones([2]) * self.value, name="v")
            return x * self.v

    x = tf.constant([1.0, 2.0])
    first, second = Layer(3.0), Layer(5.0)
    results = [first(x), second(x), first(x)]
    assert [v.name for v in tf.global_variables()] == ["v:0", "v_1:0"]
    np.testing.assert_array_equal(run(results), [[3, 6], [5, 10], [3, 6]])


def test_variables_are_made_by_the_first_call_only() -> None:
    @tf.function
    def each_time(x: Any) -> Any:
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        each_time(2.0)

    @tf.function
    def by_argument(x: Any) -> Any:
        return tf.Variable(x) * x

    with pytest.raises(ValueError, match=r"Unable to lift tensor .*placeholder"):
        by_argument(tf.constant(2.0))


def test_what_acts_does_so_in_the_order_of_statements() -> None:
    w = tf.get_variable("w", [], use_resource=True, initializer=tf.ones_initializer())
    other = tf.get_variable("other", [], use_resource=True, initializer=tf.ones_initializer())

    @tf.function
    def step(x: Any) -> Any:
        before = w + 0.0
        w.assign_add(x)
        w.assign(w * 2.0)
        other.assign(w.read_value())
        return before, w.read_value()

    call = step(tf.constant(3.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(call) == (1, 8)
        assert session.run(call[1]) == 22  # one result has all effects, too
        assert session.run(other) == 22


@pytest.mark.parametrize("sign", [1, -1])
def test_effects_in_conditionals_and_loops(sign: int) -> None:
    w: Any = tf.get_variable("w", [], use_resource=True, initializer=tf.zeros_initializer())

    @tf.function
    def step(x: Any) -> Any:
        w.assign(10.0)

        def positive() -> Any:
            w.assign_add(x)
            return x

        y = tf.cond(x > 0, positive, lambda: -x)
        w.assign(w * 2.0)

        def body(i: Any) -> Any:
            w.assign_add(1.0)
            return i + 1

        tf.while_loop(lambda i: i < 3, body, [0])
        return y, w.read_value()

    y, after = step(tf.constant(sign * 5.0))
    assert run([y, after]) == [5, 33 if sign > 0 else 23]


def test_arrays_that_loops_and_conditionals_hand_on() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def products(x: Any) -> Any:
        written = tf.cond(
            tf.size(x) > 0,
            lambda: tf.TensorArray(tf.float32, 1, element_shape=[]).write(0, x[0]),
            lambda: tf.TensorArray(tf.float32, 1, element_shape=[]).write(0, 7.0),
        )
        return tf.scan(lambda product, each: product * each, x), written.read(0)

    x = tf.constant([2.0, 3.0, 4.0])
    y, first = products(x)
    assert run(y).tolist() == [2, 6, 24]
    assert run(first) == 2
    assert run(tf.gradients(y, x))[0].tolist() == [16, 10, 6]


def test_gradients_use_the_values_of_the_call() -> None:
    """Also where it draws random numbers, which are not drawn again."""
    w = tf.get_variable("w", [3], use_resource=True, initializer=tf.ones_initializer())

    @tf.function
    def f(x: Any) -> Any:
        dropped = tf.nn.dropout(x, 0.5)
        return dropped, tf.reduce_sum(dropped * w * w)

    x = tf.constant(np.arange(1.0, 300.0, dtype=np.float32).reshape(-1, 1))
    dropped, total = f(x)
    call = total.op
    dx, dw = tf.gradients(total, [x, w])
    assert dw.shape == [3]
    assert call.get_attr("f").name.startswith("__forward_f_")
    found, by_x, by_w = run([dropped, dx, dw])
    np.testing.assert_allclose(by_x, np.where(found > 0, 6.0, 0.0))
    np.testing.assert_allclose(by_w, np.full(3, 2 * found.sum()), rtol=1e-5)


def test_gradients_of_gradients_and_of_nested_calls() -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return x * x * x

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x) + tf.sin(x)

    x = tf.constant(2.0)
    first = tf.gradients(outer(x), x)[0]
    second = tf.gradients(first, x)[0]
    np.testing.assert_allclose(run([first, second]), [12 + np.cos(2), 12 - np.sin(2)], rtol=1e-6)


def test_several_gradients_of_one_call() -> None:
    """As of two losses: each uses what the call has computed, and can itself be differentiated."""

    @tf.function
    def f(x: Any) -> Any:
        dropped = tf.nn.dropout(x, 0.5)
        return dropped, tf.reduce_sum(dropped * dropped)

    x = tf.constant(np.arange(1.0, 300.0, dtype=np.float32))
    dropped, total = f(x)
    gradients = [tf.gradients(y, x)[0] for y in (total, 2.0 * total, dropped)]
    assert not [op for op in tf.get_default_graph().get_operations() if op.type == "SymbolicGradient"]
    found, *by_x = run([dropped, *gradients])
    for factor, each in zip((4 * found, 8 * found, np.full(299, 2.0)), by_x, strict=True):
        np.testing.assert_allclose(each, np.where(found > 0, factor, 0.0))

    @tf.function
    def cube(x: Any) -> Any:
        return x * x * x

    x = tf.constant(2.0)
    y = cube(x)
    tf.gradients(y * 2.0, x)
    second = tf.gradients(tf.gradients(y, x)[0], x)[0]
    assert run(second) == 12


def test_gradients_of_loops_and_conditionals_take_their_values() -> None:
    @tf.function
    def power(x: Any) -> Any:
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, 1.0])[1]
        return tf.cond(y > 0, lambda: y, lambda: -y)

    for value in (2.0, -2.0):
        x = tf.constant(value)
        y = power(x)
        assert run([y, *tf.gradients(y, x)]) == [8, 12 if value > 0 else -12]

    @tf.function
    def noisy(x: Any) -> Any:
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.random_uniform([])), [0, x])[1]
        return tf.cond(x > 0, lambda: y * tf.random_uniform([]), lambda: x)

    x = tf.constant(1.0)
    y = noisy(x)
    found, slope = run([y, tf.gradients(y, x)[0]])
    assert 0 < found < 1
    assert slope == pytest.approx(found)


def test_a_function_within_a_conditional_of_another() -> None:
    v = tf.Variable(3.0, use_resource=True)

    @tf.function
    def times(x: Any) -> Any:
        return x * v

    @tf.function
    def noisy(x: Any) -> Any:
        return times(x) * tf.random_uniform([])

    @tf.function
    def choose(x: Any) -> Any:
        return tf.cond(x > 0, lambda: times(x) * x, lambda: times(x))

    for value, slopes in ((2.0, [12, 4]), (-2.0, [3, -2])):
        x = tf.constant(value)
        assert run(tf.gradients(choose(x), [x, v])) == slopes
    x = tf.constant(1.0)
    y = tf.function(lambda x: tf.cond(x > 0, lambda: noisy(x), lambda: x))(x)
    found, slope = run([y, tf.gradients(y, x)[0]])
    assert slope == pytest.approx(found)
    assert 0 < found < 3


def test_training_by_a_function() -> None:
    x = tf.constant(np.linspace(-1, 1, 20, dtype=np.float32).reshape(-1, 1))

    @tf.function
    def model(x: Any) -> Any:
        with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [1, 1])
            b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        return tf.matmul(x, w) + b

    loss = tf.reduce_mean(tf.square(model(x) - (3.0 * x + 1.0)))
    train = tf.train.AdamOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(150):
            session.run(train)
        assert session.run(loss) < 1e-3


def test_input_signatures() -> None:
    signature = [tf.TensorSpec([None], tf.float32, name="values")]
    total = tf.function(lambda x: tf.reduce_sum(x), input_signature=signature)

    assert run([total(tf.constant([1.0])), total(tf.constant([1.0, 2.0])), total([5.0])]) == [1, 3, 5]
    assert len(tf.get_default_graph().as_graph_def().library.function) == 1
    assert total.get_concrete_function().inputs[0].op.name == "values"
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        total(tf.constant([[1.0]]))
    with pytest.raises(TypeError, match="too many positional arguments"):
        total([1.0], 2)
    with pytest.raises(TypeError, match="must be either a tuple or a list"):
        tf.function(lambda x: x, input_signature=tf.TensorSpec([]))


def test_concrete_functions() -> None:
    offset = tf.constant(1.0)
    v = tf.get_variable("v", [], use_resource=True, initializer=tf.ones_initializer())

    @tf.function
    def f(x: Any, y: Any) -> Any:
        return x * y + offset + v, None

    spec = tf.TensorSpec([None], tf.float32)
    concrete = f.get_concrete_function(spec, spec)
    assert [t.op.name for t in concrete.inputs[:2]] == ["x", "y"]
    assert concrete.variables == concrete.trainable_variables == [v]
    assert concrete.output_dtypes == (tf.float32, None)
    assert concrete.output_shapes[0].as_list() == [None]
    assert concrete.structured_input_signature == ((spec, spec), {})
    x = tf.constant([2.0, 3.0])
    assert run(concrete(x, y=x)[0]).tolist() == [6, 11]
    with pytest.raises(TypeError, match="missing required argument: y"):
        concrete(x)
    with pytest.raises(TypeError, match="unexpected keyword arguments: z"):
        concrete(x, x, z=x)
    with pytest.raises(TypeError, match="Cannot pass"):
        concrete(tf.constant(1), x)


def test_functions_travel_with_graphs() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x * x

    f(tf.constant(3.0, name="x"))
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        x, y = tf.import_graph_def(message, return_elements=["x:0", "PartitionedCall:0"], name="")  # type: ignore[misc]
        assert run([y, *tf.gradients(y, x)]) == [9, 6]


def test_calls_may_put_operations_where_they_are() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.exp(x)

    tf.config.experimental_run_functions_eagerly(True)
    try:
        assert f(tf.constant(1.0)).op.type == "Exp"
    finally:
        tf.config.experimental_run_functions_eagerly(False)


def test_control_flow_of_python_is_not_converted() -> None:
    with pytest.raises(TypeError, match="as a Python `bool` is not allowed"):
        tf.function(lambda x: x if x > 0 else -x)(tf.constant(1.0))


def test_gradient_of_a_branch_with_a_captured_variable() -> None:
    """The variable's handle is an argument of the body, whose node has no dtype but resource."""
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [2, 2], tf.float64, tf.ones_initializer(), use_resource=True)
        flag = tf.placeholder(tf.bool, [])
        x = tf.constant([[2.0, 3.0]], tf.float64)

        @tf.function(autograph=False)
        def either(v: Any) -> Any:
            return tf.cond(flag, lambda: tf.reduce_sum(tf.matmul(v, w)), lambda: tf.reduce_sum(v * v))

        gradients = tf.gradients(either(x), [x, w])
        session.run(w.initializer)
        through, weights = session.run(gradients, {flag: True})
        assert through.tolist() == [[2.0, 2.0]]
        assert weights.tolist() == [[2.0, 2.0], [3.0, 3.0]]
        through, weights = session.run(gradients, {flag: False})
        assert through.tolist() == [[4.0, 6.0]]
        assert weights.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_initial_values_of_any_output_of_an_operation_outside() -> None:
    first, second = tf.split(tf.constant([1.0, 2.0]), 2)
    made: list[Any] = []

    @tf.function
    def model(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(second * 3.0))
            made.append(tf.Variable(second))
        return x + made[0] + made[1] + first

    y = model(10.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y) == [19]
