"""`tf.gradients` on graphs: structure, placement, IndexedSlices, custom gradients, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.graph import gradient_registry
from tensorfleet.graph.apply import apply_op
from tensorfleet.ops.control_flow import gradient_control_flow


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def types_under(prefix: str) -> list[str]:
    return [op.type for op in tf.get_default_graph().get_operations() if op.name.startswith(prefix)]


def test_attribute_of_the_package_is_the_function() -> None:
    import tensorfleet.autodiff.gradients  # noqa: F401 - must not put the module in its place

    assert callable(tf.gradients)


@pytest.mark.parametrize("use_resource", [False, True])
def test_linear_regression(use_resource: bool) -> None:
    x = np.random.RandomState(0).normal(size=(5, 3))
    y = np.random.RandomState(1).normal(size=(5, 1))
    start = np.array([[0.5], [-1.0], [2.0]])
    w = tf.get_variable("w", initializer=tf.constant(start), use_resource=use_resource)
    b = tf.get_variable("b", initializer=tf.constant(0.25, tf.float64), use_resource=use_resource)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    w_grad, b_grad = run(tf.gradients(loss, [w, b]))
    residual = x @ start + 0.25 - y
    np.testing.assert_allclose(w_grad, 2 * x.T @ residual / 5)
    np.testing.assert_allclose(b_grad, 2 * residual.mean())


def test_equal_static_shapes_need_no_reduction() -> None:
    x, y = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [2, 3])
    tf.gradients(x * y - x, [x, y])
    assert set(types_under("gradients/mul")) == {"Mul"}
    assert types_under("gradients/sub") == ["Neg"]


def test_the_master_is_told_what_shapes_say_of_broadcasting() -> None:
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3])
    tf.gradients(x + y, [x, y])
    operation = tf.get_default_graph().get_operation_by_name
    axes = operation("gradients/add_grad/BroadcastGradientArgs")
    assert (axes.get_attr("_known_0"), axes.get_attr("_known_1")) == ([], [0])
    for name in ("Reshape", "Reshape_1"):
        assert operation(f"gradients/add_grad/{name}").get_attr("_unchanged")


def test_unknown_shapes_are_compared_in_the_run() -> None:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    grads = tf.gradients(x * y, [x, y])
    a, b = np.array([[1.0], [2.0]]), np.array([3.0, 4.0, 5.0])
    x_grad, y_grad = run(grads, {x: a, y: b})
    np.testing.assert_allclose(x_grad, [[12.0], [12.0]])
    np.testing.assert_allclose(y_grad, [3.0, 3.0, 3.0])


def test_unconnected_and_integer_xs_have_none() -> None:
    x, i = tf.constant(2.0), tf.constant(3)
    assert tf.gradients(tf.cast(i, tf.float32) * 2.0, [x, i]) == [None, None]
    zero = tf.gradients(x * 2.0, [tf.constant([1.0, 2.0])], unconnected_gradients="zero")[0]
    np.testing.assert_array_equal(run(zero), [0.0, 0.0])


def test_unconnected_variable_has_zeros_of_its_shape() -> None:
    v = tf.get_variable("v", [2, 3], use_resource=True)
    grad = tf.gradients(tf.constant(1.0), v, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
    np.testing.assert_array_equal(run(grad), np.zeros((2, 3)))


def test_x_itself() -> None:
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(run(tf.gradients(x, x)[0]), [1.0, 1.0])


def test_gradients_are_colocated_where_asked() -> None:
    with tf.device("/job:ps/task:1"):
        x = tf.constant([1.0, 2.0])
        y = tf.tanh(x, name="y")
    tf.gradients(y, x, colocate_gradients_with_ops=True)
    tf.gradients(y, x)
    graph = tf.get_default_graph()
    beside = graph.get_operation_by_name("gradients/y_grad/TanhGrad")
    assert beside.colocation_groups() == [b"loc:@y"]
    assert beside.device == "/job:ps/task:1"
    assert graph.get_operation_by_name("gradients_1/y_grad/TanhGrad").device == ""


def test_sums_of_several_devices_are_made_on_each() -> None:
    x = tf.constant([1.0, 2.0])
    ys = []
    for task in (0, 0, 1, 1):
        with tf.device(f"/job:worker/task:{task}"):
            ys.append(tf.tanh(x))
    tf.gradients(ys, x, colocate_gradients_with_ops=True)
    sums = [op for op in tf.get_default_graph().get_operations() if op.type == "AddN"]
    assert sorted(op.device for op in sums) == ["", "/job:worker/task:0", "/job:worker/task:1"]


def test_gated_gradients_wait_for_each_other() -> None:
    x, y = tf.constant(2.0), tf.constant(3.0)
    grads = tf.gradients(x * y, [x, y], gate_gradients=True)
    assert all(g.op.type == "Identity" and g.op.control_inputs for g in grads)
    assert run(grads) == [3.0, 2.0]


# IndexedSlices


def test_gather_gives_rows_and_adds_up_when_made_dense() -> None:
    table = tf.constant(np.arange(8.0).reshape(4, 2))
    rows = tf.gather(table, [3, 1, 3])
    grad = tf.gradients(rows * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], table)[0]
    assert isinstance(grad, tf.IndexedSlices)
    assert grad.shape.as_list() == [4, 2]
    value = run(grad)
    assert isinstance(value, tf.IndexedSlicesValue)
    np.testing.assert_array_equal(value.indices, [3, 1, 3])
    np.testing.assert_array_equal(value.values, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(run(tf.convert_to_tensor(grad)), [[0, 0], [3, 4], [0, 0], [6, 8]])


def test_gathers_are_concatenated_and_a_dense_gradient_makes_all_dense() -> None:
    table = tf.constant(np.arange(8.0).reshape(4, 2))
    a, b = tf.gather(table, [0]), tf.gather(table, tf.constant([2, 3], tf.int64))
    both = tf.gradients([a, b], table)[0]
    assert both.indices.dtype == tf.int64
    np.testing.assert_array_equal(run(both).indices, [0, 2, 3])
    dense = tf.gradients([a, table * 2.0], table)[0]
    np.testing.assert_array_equal(run(dense), [[3, 3], [2, 2], [2, 2], [2, 2]])


def test_slices_as_grad_ys_go_on_through_rules() -> None:
    x = tf.constant(np.ones((3, 2)))
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]], tf.float64), tf.constant([1]), tf.constant([3, 2]))
    through = tf.gradients(tf.identity(x), x, grad_ys=slices)[0]
    assert isinstance(through, tf.IndexedSlices)
    product = tf.gradients(x * 3.0, x, grad_ys=slices)[0]
    np.testing.assert_array_equal(run(product), [[0, 0], [3, 6], [0, 0]])


def test_slices_can_be_fed_and_negated() -> None:
    slices = tf.IndexedSlices(tf.placeholder(tf.float32), tf.placeholder(tf.int32), tf.constant([3]))
    negative = tf.convert_to_tensor(-slices)
    fed = {slices: (np.array([1.0, 2.0]), np.array([2, 2]), np.array([3]))}
    np.testing.assert_array_equal(run(negative, fed), [0, 0, -3])


def test_slices_without_a_shape_cannot_be_made_dense() -> None:
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    with pytest.raises(ValueError, match="requires a dense_shape"):
        tf.convert_to_tensor(slices)


def test_large_dense_gradient_warns() -> None:
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]), tf.constant([200_000_000]))
    with pytest.warns(UserWarning, match="200000000 elements"):
        tf.convert_to_tensor(slices)


# Functions of one's own


def test_custom_gradient() -> None:
    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        return tf.identity(x), lambda dy: tf.clip_by_value(dy, -0.1, 0.1)

    x = tf.constant(3.0)
    assert run(tf.gradients(clipped(x) * 5.0, x)[0]) == np.float32(0.1)


def test_custom_gradient_with_a_variable() -> None:
    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        v = tf.get_variable("v", initializer=4.0, use_resource=True)

        def grad(dy: Any, variables: Any) -> Any:
            assert [w.name for w in variables] == ["v:0"]
            return dy * 7.0, [dy * 9.0]

        return x * v, grad

    x = tf.constant(3.0)
    y = scaled(x)
    assert run(tf.gradients(y, [x, tf.global_variables()[0]])) == [7.0, 9.0]


def test_custom_gradient_that_ignores_its_variable_is_refused() -> None:
    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        return x * tf.get_variable("v", initializer=4.0, use_resource=True), lambda dy: dy

    with pytest.raises(TypeError, match="'variables' keyword argument"):
        scaled(tf.constant(1.0))


def test_custom_gradient_of_the_wrong_number_is_refused() -> None:
    @tf.custom_gradient
    def two(x: Any, y: Any) -> Any:
        return x * y, lambda dy: dy

    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="expected to return 2 gradients, but returned 1"):
        tf.gradients(two(x, tf.constant(2.0)), x)


def test_grad_pass_through() -> None:
    x = tf.constant(2.0)
    assert run(tf.gradients(tf.grad_pass_through(tf.square)(x), x)[0]) == 1.0


def test_gradient_override_map() -> None:
    name = "SquareOfTestGradientOverrideMap"
    if name not in gradient_registry.registered():

        @tf.RegisterGradient(name)
        def _(op: Any, grad: Any) -> Any:
            return grad * 100.0

    x = tf.constant(3.0)
    with tf.get_default_graph().gradient_override_map({"Square": name}):
        other = tf.square(x)
    assert run(tf.gradients([other, tf.square(x)], x)[0]) == 106.0
    with (
        pytest.raises(TypeError, match="mapping strings to strings"),
        tf.get_default_graph().gradient_override_map(
            {"Square": 1}  # type: ignore[dict-item]
        ),
    ):
        pass


def test_registering_twice_is_refused() -> None:
    with pytest.raises(KeyError, match="Registering two gradient with name 'MatMul'"):
        tf.RegisterGradient("MatMul")(lambda op, grad: [None, None])
    with pytest.raises(KeyError, match="'Shape'"):
        tf.NotDifferentiable("Shape")
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(3)  # type: ignore[arg-type]


# Errors


def test_op_without_gradient_is_named_with_its_line() -> None:
    x = tf.constant([1.0, 1.0, 2.0])
    y = tf.unique(x, name="distinct").y
    with pytest.raises(LookupError) as caught:
        tf.gradients(y * 2.0, x)
    message = str(caught.value)
    assert "No gradient defined for operation 'distinct' (op type: Unique)" in message
    assert "test_gradients.py" in message
    assert "tf.stop_gradient" in message


def test_op_without_gradient_is_no_trouble_beside_the_path() -> None:
    x = tf.constant([1.0, 1.0, 2.0])
    y = tf.stop_gradient(tf.unique(x).y[0]) * x
    np.testing.assert_array_equal(run(tf.gradients(y, x)[0]), [1.0, 1.0, 1.0])


def test_prevented_gradient() -> None:
    x = tf.constant(1.0)
    with pytest.raises(LookupError, match="Reason: not here"):
        tf.gradients(apply_op("PreventGradient", x, message="not here"), x)


@pytest.mark.parametrize(
    ("y", "grad_y", "error", "message"),
    [
        (tf.complex64, None, TypeError, "must set grad_ys"),
        (tf.complex64, 1.0, TypeError, "must be complex"),
        (tf.float32, 1j, TypeError, "must be real or integer"),
        (tf.string, 1.0, TypeError, "must be numeric"),
    ],
)
def test_grad_ys_must_fit(y: Any, grad_y: Any, error: type[Exception], message: str) -> None:
    tensor = tf.placeholder(y, [])
    with pytest.raises(error, match=message):
        tf.gradients(tensor, tensor, grad_ys=None if grad_y is None else [tf.constant(grad_y)])


def test_arguments_that_do_not_fit() -> None:
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="Passed 2 grad_ys for 1 ys"):
        tf.gradients(x, x, grad_ys=[x, x])
    with pytest.raises(ValueError, match="Invalid `aggregation_method` specified 7"):
        tf.gradients(x, x, aggregation_method=7)
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'one'"):
        tf.gradients(x, x, unconnected_gradients="one")  # type: ignore[arg-type]


def test_wrong_rules_are_named() -> None:
    name = "WrongOfTestWrongRules"
    if name not in gradient_registry.registered():
        tf.RegisterGradient(name)(
            lambda op, grad: [grad, grad] if "number" in op.name else tf.constant([1.0])
        )
    x = tf.constant(1.0)
    with tf.get_default_graph().gradient_override_map({"Tanh": name}):
        with pytest.raises(ValueError, match="Num gradients 2 generated for op"):
            tf.gradients(tf.tanh(x, name="number"), x)
        with pytest.raises(
            ValueError, match="Incompatible shapes between op input and calculated input gradient"
        ):
            tf.gradients(tf.tanh(x, name="shape"), x)


# Second derivatives, and the checker of `tf.test`


def test_hessians() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    value = run(tf.hessians(tf.reduce_sum(x**3), x)[0])
    expected = np.zeros((2, 2, 2, 2))
    for i in range(2):
        for j in range(2):
            expected[i, j, i, j] = 6 * (2 * i + j + 1)
    np.testing.assert_allclose(value, expected)


def test_hessians_of_what_is_not_known() -> None:
    x = tf.placeholder(tf.float32, [None])
    with pytest.raises(ValueError, match="Hessians need the shape of x"):
        tf.hessians(x * x, x)
    y = tf.constant(1.0)
    with pytest.raises(ValueError, match="they do not depend on"):
        tf.hessians(tf.constant(2.0), y)


def test_compute_gradient() -> None:
    x = tf.constant(np.array([1.0, 2.0, 3.0]))
    y = tf.reshape(tf.stack([x * x, x * x[0]]), [6])
    with tf.Session():
        symbolic, numeric = tf.test.compute_gradient(x, [3], y, [6], np.array([1.0, 2.0, 3.0]))
        assert tf.test.compute_gradient_error(x, [3], y, [6]) < 1e-8
        pairs = tf.test.compute_gradient([x], [[3]], y, [6])
    assert symbolic.shape == (3, 6)
    np.testing.assert_allclose(symbolic, numeric, atol=1e-8)
    np.testing.assert_allclose(symbolic[:, 3:], [[2, 2, 3], [0, 1, 0], [0, 0, 1]])
    assert len(pairs) == 1


def test_compute_gradient_finds_a_wrong_one() -> None:
    @tf.custom_gradient
    def wrong(x: Any) -> Any:
        return x * x, lambda dy: dy * x

    x = tf.constant(np.array([1.0, 2.0]))
    y = wrong(x)
    with tf.Session():
        assert tf.test.compute_gradient_error(x, [2], y, [2], np.array([1.0, 2.0])) > 1.5


def test_compute_gradient_of_complex_numbers() -> None:
    x = tf.placeholder_with_default(tf.constant(np.array([1.0 + 2.0j, 0.5 - 1.0j])), [2])
    with tf.Session():
        assert tf.test.compute_gradient_error(x, [2], tf.exp(x), [2], np.array([1 + 1j, 0.5 - 1j])) < 1e-4
        assert tf.test.compute_gradient_error(x, [2], tf.real(x * x), [2], np.array([1 + 1j, 2j])) < 1e-8


def test_compute_gradient_needs_a_session() -> None:
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="needs a default session"):
        tf.test.compute_gradient(x, [], x, [])


# Clipping


def test_clipping_refuses_limits_that_enlarge() -> None:
    with pytest.raises(ValueError, match="incompatible"):
        tf.clip_by_value(tf.constant([1.0, 2.0]), [[0.0], [1.0]], 3.0)
    with pytest.raises(TypeError, match="should be a sequence"):
        tf.clip_by_global_norm(tf.constant(1.0), 1.0)


def test_norm_that_is_not_finite_makes_all_nan() -> None:
    clipped, norm = run(tf.clip_by_global_norm([tf.constant([1.0, np.inf]), tf.constant(2.0)], 1.0))
    assert norm == np.inf
    assert np.isnan(clipped[0]).all()
    assert np.isnan(clipped[1])


def test_gradient_of_a_norm_of_zero_is_finite() -> None:
    x = tf.constant([0.0, 0.0])
    np.testing.assert_array_equal(run(tf.gradients(tf.clip_by_norm(x, 1.0), x)[0]), [1.0, 1.0])


# Where control flow takes part


def test_control_flow_is_asked_about_each_op(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Listening(gradient_control_flow.ControlFlow):
        def differentiating(self, op: Any) -> Any:
            asked.append(op.name)
            return super().differentiating(op)

        def finish(self) -> None:
            asked.append("finished")

    monkeypatch.setattr(gradient_control_flow, "_factory", Listening)
    x = tf.constant(2.0, name="x")
    tf.gradients(tf.tanh(tf.square(x, name="a"), name="b"), x)
    assert asked == ["b", "a", "finished"]
