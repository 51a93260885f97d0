"""Internal modules of TensorFlow that libraries import: found by the hook's paths, and what they do."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.run import internal_modules, internal_names
from tensorfleet.run.paths import module


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def of(path: str) -> Any:
    found = module(path)
    assert found is not None, path
    return found


def test_each_module_and_name_of_the_tables_is_there() -> None:
    for path in internal_modules.MODULES:
        of(path)
    for name in internal_names.NAMES:
        path, _, attribute = name.rpartition(".")
        assert getattr(of(path), attribute) is not None, name


def test_modules_tell_all_their_names() -> None:
    """Libraries go through a module's names, such as all optimizers of `tf.train`."""
    train = of("train")
    named = dict(inspect.getmembers(train, inspect.isclass))
    for names in (vars(train), train.__dict__, named):
        assert names["AdamOptimizer"] is tf.train.AdamOptimizer
        assert "QueueRunner" in names
    train.added = 1
    assert vars(train)["added"] == 1
    del train.added
    assert "added" not in vars(train)
    assert {"Tensor", "_gradient_registry", "__name__"} <= vars(of("python.framework.ops")).keys()
    assert {"train", "nn", "contrib", "Session"} <= vars(of("")).keys()


def test_op_types_are_listed_with_their_signatures() -> None:
    registry = of("python.framework.op_def_registry")
    ops = registry.get_registered_ops()
    assert {"MatMul", "Conv2D", "VarHandleOp"} <= ops.keys()
    assert [arg.name for arg in ops["MatMul"].input_arg] == ["a", "b"]
    assert registry.get("MatMul") == ops["MatMul"]
    assert registry.get("NoSuchOp") is None


def test_computations_are_in_no_shards_of_tpus() -> None:
    for path in ("python.tpu.tpu_function", "contrib.tpu.python.tpu.tpu_function"):
        shards = of(path)
        assert shards.get_tpu_context().number_of_shards is None
        with shards.tpu_shard_context(4):
            assert shards.get_tpu_context().number_of_shards == 4
            with pytest.raises(NotImplementedError, match="nested"), shards.tpu_shard_context(2):
                pass
        assert shards.get_tpu_context().number_of_shards is None
    with pytest.raises(AttributeError, match=r"no tensorflow\.python\.tpu\.ops\.tpu_ops\.cross_replica_sum"):
        _ = of("python.tpu.ops.tpu_ops").cross_replica_sum


def test_keras_in_contrib_is_keras() -> None:
    for path in ("contrib.keras.python.keras", "contrib.keras.api.keras"):
        assert of(f"{path}.backend").set_learning_phase is tf.keras.backend.set_learning_phase
        assert of(f"{path}.layers").Dense is of(path).layers.Dense is tf.keras.layers.Dense
    assert of("python.keras.utils.tf_utils").smart_cond(True, lambda: 1, lambda: 2) == 1


def test_modules_that_programs_of_contrib_learn_import() -> None:
    place = "contrib.learn.python.learn"
    assert of(f"{place}.estimators.model_fn").ModelFnOps is tf.contrib.learn.ModelFnOps
    assert of(f"{place}.estimators.estimator").SKCompat is tf.contrib.learn.SKCompat
    assert of(f"{place}.metric_spec").MetricSpec is tf.contrib.learn.MetricSpec
    assert of(f"{place}.monitors").ValidationMonitor is tf.contrib.learn.monitors.ValidationMonitor
    warps = of("contrib.image.python.ops.dense_image_warp")
    assert warps.dense_image_warp is tf.contrib.image.dense_image_warp


def test_generated_functions_take_inputs_and_attributes_in_the_order_of_the_op() -> None:
    math, nn, array = (of(f"python.ops.gen_{name}_ops") for name in ("math", "nn", "array"))
    product = math.mat_mul(tf.ones([2, 3]), tf.ones([2, 3]), True, name="p")
    assert (product.op.type, product.op.name) == ("MatMul", "p")
    assert product.shape == [3, 3]
    assert product.op.get_attr("transpose_a")
    for function, op_type in (
        (nn.l2_loss, "L2Loss"),
        (nn.conv2d_backprop_input, "Conv2DBackpropInput"),
        (nn.top_kv2, "TopKV2"),
        (nn.lrn, "LRN"),
        (nn.fused_batch_norm_v3, "FusedBatchNormV3"),
        (nn._max_pool_grad, "MaxPoolGrad"),
        (array.concat_v2, "ConcatV2"),
    ):
        assert function.__name__ == op_type
    with pytest.raises(TypeError, match="at most"):
        nn.l2_loss(1.0, "name", 3)
    assert not hasattr(nn, "no_such_function")


def test_inspection_sees_through_decorators() -> None:
    inspected, decorator = of("python.util.tf_inspect"), of("python.util.tf_decorator")

    def target(a: int, b: int = 2, *rest: int, key: int = 3) -> int:
        return a + b

    wrapped = decorator.make_decorator(target, lambda *args, **kwargs: target(*args, **kwargs), "plain")
    assert inspected.getfullargspec(wrapped).kwonlyargs == ["key"]
    assert inspected.getargspec(wrapped) == (["a", "b"], "rest", None, (2,))
    assert inspected.getcallargs(wrapped, 5) == {"a": 5, "b": 2}
    assert inspected.isfunction(wrapped)
    assert not inspected.isclass(wrapped)
    functions = of("python.util.function_utils")
    assert functions.fn_args(wrapped) == ("a", "b")
    assert functions.has_kwargs(lambda **any: any)
    assert not functions.has_kwargs(target)


def test_functions_are_inspected_as_those_of_version_1() -> None:
    """Libraries compare them with functions of their own, such as TensorFlow Probability."""
    inspected = of("python.util.tf_inspect")

    def own_concat(values, axis, name="concat"):  # type: ignore[no-untyped-def]
        return values

    def own_ones(shape, dtype=tf.float32, name=None):  # type: ignore[no-untyped-def]
        return shape

    assert inspected.getfullargspec(tf.concat) == inspected.getfullargspec(own_concat)
    assert inspected.getfullargspec(tf.ones) == inspected.getfullargspec(own_ones)
    assert inspected.getargspec(tf.concat).args == ["values", "axis", "name"]


def test_deprecated_functions_warn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    deprecation = of("python.util.deprecation")
    said: list[str] = []
    monkeypatch.setattr("tensorfleet.core.logging.warning", lambda text, *args: said.append(text % args))

    @deprecation.deprecated("2019-01-01", "Use another.")
    def old(value: int) -> int:
        return value + 1

    @deprecation.deprecated_args(None, "Leave it out.", "unused", ("switch", False))
    def function(a: int, unused: Any = None, switch: bool = False) -> int:
        return a

    assert [old(1), old(2)] == [2, 3]
    assert len(said) == 1
    assert "after 2019-01-01" in said[0]
    assert function(1) == function(1, switch=False) == function(1, None) == 1
    assert len(said) == 1
    assert function(1, "x") == 1
    assert function(1, switch=True) == 1
    assert len(said) == 3
    with deprecation.silence():
        assert deprecation.deprecated(None, "No.", warn_once=False)(len)([1]) == 1
    assert len(said) == 3
    lookup = deprecation.deprecated_argument_lookup
    assert lookup("axis", None, "dim", 3) == lookup("axis", 3, "dim", None) == 3
    with pytest.raises(ValueError, match="both"):
        lookup("axis", 1, "dim", 1)
    with pytest.raises(ValueError, match="not present"):
        deprecation.deprecated_args(None, "Which?", "absent")(function)


def test_nothing_is_eager() -> None:
    context = of("python.eager.context")
    assert not context.executing_eagerly()
    assert context.in_graph_mode()
    assert not of("python.tf2").enabled()
    with context.graph_mode():
        assert tf.constant(1).graph is tf.get_default_graph()
    with pytest.raises(tf.errors.UnimplementedError, match="no eager mode"), context.eager_mode():
        pass


def test_shapes_that_tensors_stand_for() -> None:
    as_shape = of("python.framework.tensor_util").constant_value_as_shape
    unknown = tf.placeholder(tf.int32, [])
    assert as_shape(tf.constant([2, -1])).as_list() == [2, None]
    assert as_shape(tf.stack([3, unknown])).as_list() == [3, None]
    assert as_shape(tf.shape(tf.placeholder(tf.float32, [None, 4]))).as_list() == [None, 4]
    assert as_shape(tf.concat([[1], tf.stack([unknown])], 0)).as_list() == [1, None]
    assert as_shape(tf.placeholder(tf.int32, [2])).as_list() == [None, None]


def test_graphs_of_inputs() -> None:
    find = of("python.framework.ops")._get_graph_from_inputs
    here = tf.constant(1)
    assert find([here, 3.0]) is here.graph
    with tf.Graph().as_default() as other:
        there = tf.constant(2)
        assert find([]) is other
    with pytest.raises(ValueError, match="same graph"):
        find([here, there])
    with pytest.raises(ValueError, match="passed-in graph"):
        find([here], graph=other)


def test_settings_that_programs_read_and_set() -> None:
    util = of("python.ops.control_flow_util")
    assert util.ENABLE_CONTROL_FLOW_V2 is False
    util.ENABLE_CONTROL_FLOW_V2 = True
    try:
        assert util.ENABLE_CONTROL_FLOW_V2 is True
        assert tf.control_flow_v2_enabled()
    finally:
        util.ENABLE_CONTROL_FLOW_V2 = False
    assert util.ENABLE_CONTROL_FLOW_V2 is False
    assert not tf.control_flow_v2_enabled()


def test_contexts_of_operations() -> None:
    util = of("python.ops.control_flow_util")
    inside: list[Any] = []

    def body(i: Any) -> Any:
        inside.append((i + 1).op)
        return i + 1

    tf.while_loop(lambda i: i < 3, body, [0])
    tf.cond(tf.placeholder(tf.bool), lambda: inside.append(tf.constant(1).op) or 1, lambda: 2)
    assert [util.IsInWhileLoop(op) for op in inside] == [True, False]
    assert [util.IsInCond(op) for op in inside] == [False, True]


def test_an_evaluation_runs_until_its_hook_ends_it(tmp_path: Any) -> None:
    evaluation = of("python.training.evaluation")
    tf.train.get_or_create_global_step()
    value, update = tf.metrics.mean(tf.placeholder_with_default([1.0, 3.0], [None]))
    found = evaluation._evaluate_once(
        None,
        eval_ops=update,
        final_ops={"mean": value, "step": evaluation._get_or_create_eval_step()},
        hooks=[evaluation._StopAfterNEvalsHook(4)],
    )
    assert found == {"mean": 2.0, "step": 4}


def test_resources_are_initialized_together() -> None:
    resources = of("python.ops.resources")
    made = tf.Variable(0, collections=[])
    resources.register_resource(made, made.initializer, tf.is_variable_initialized(made))
    assert len(resources.shared_resources()) == 1
    report = resources.report_uninitialized_resources()
    with tf.Session() as session:
        assert list(session.run(report)) == [made.name.encode()]
        session.run(resources.initialize_resources(resources.shared_resources()))
        assert session.run(report).size == 0


def test_counts_at_thresholds_of_ones_own_metrics() -> None:
    metrics = of("python.ops.metrics_impl")
    values, updates = metrics._confusion_matrix_at_thresholds(
        tf.constant([True, False, True]), tf.constant([0.9, 0.8, 0.2]), [0.5], includes=("tp", "fp")
    )
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(updates) == {"tp": [1], "fp": [1]}
        assert session.run(values) == {"tp": [1], "fp": [1]}
    with pytest.raises(ValueError, match="Invalid key"):
        metrics._confusion_matrix_at_thresholds(None, None, [0.5], includes=("tq",))


def test_the_value_of_a_metric_of_ones_own_is_a_tensor() -> None:
    metrics = of("python.ops.metrics_impl")
    count = metrics.metric_variable([], tf.float32, name="count")
    value = metrics._aggregate_variable(count, ["values"])
    assert isinstance(value, tf.Tensor)
    assert tf.get_collection("values") == [value]


def test_sizes_of_layers() -> None:
    utils = of("python.layers.utils")
    assert utils.conv_output_length(7, 3, "valid", 2) == 3
    assert utils.conv_output_length(7, 3, "same", 2) == 4
    assert utils.conv_output_length(None, 3, "same", 2) is None
    assert utils.deconv_output_length(3, 3, "valid", 2) == 7
    assert utils.convert_data_format("channels_first", 4) == "NCHW"
    assert utils.normalize_tuple(2, 3, "strides") == (2, 2, 2)
    with pytest.raises(ValueError, match="3 integers"):
        utils.normalize_tuple([1, 2], 3, "strides")


def test_sizes_of_windows_from_shapes_and_numpy() -> None:
    x = tf.placeholder(tf.float32, [2, 7, 8, 3])
    assert tf.layers.average_pooling2d(x, x.shape[1:3], 1).shape == [2, 1, 1, 3]
    assert tf.layers.conv2d(x, 4, np.array([3, 3]), strides=np.int64(2)).shape == [2, 3, 3, 4]
    with pytest.raises(ValueError, match="2 integers"):
        tf.layers.conv2d(x, 4, 2.5)


def test_libraries_keep_attributes_on_tensors_and_operations() -> None:
    x: Any = tf.constant(1)
    x.aliases = ["one"]
    x.op.note = np.float32(2)
    assert tf.get_default_graph().get_tensor_by_name("Const:0").aliases == ["one"]
    assert tf.get_default_graph().get_operation_by_name("Const").note == 2


def test_functions_with_gradients_of_their_own() -> None:
    defun = of("python.framework.function").Defun

    @defun(tf.float32, tf.float32, python_grad_func=lambda op, dy: [dy * op.inputs[1], dy * op.outputs[0]])
    def product(x: Any, y: Any) -> Any:
        return x * y

    @defun(tf.float32, tf.float32, func_name="Twice", grad_func=product)
    def other(x: Any, y: Any) -> Any:
        return x + y

    @defun(tf.float32, tf.float32)
    def plain(x: Any, y: Any) -> Any:
        return x * y, x + y

    @defun(shape_func=lambda op: [[2]])
    def shaped(x: Any) -> Any:
        return tf.identity(x)

    a, b = tf.constant(3.0), tf.constant(5.0)
    with tf.Session() as session:
        assert session.run([product(a, b), *tf.gradients(product(a, b), [a, b])]) == [15, 5, 15]
        assert session.run(plain(a, 5.0)) == (15, 8)
        assert session.run(tf.gradients(plain(a, b)[0], [a, b])) == [5, 3]
    assert shaped(tf.placeholder(tf.float32)).shape == [2]
    with pytest.raises(ValueError, match="number of arguments"):
        product(a)
    with pytest.raises(ValueError, match=" 1 "):
        tf.gradients(
            defun(tf.float32, tf.float32, python_grad_func=lambda op, dy: dy)(lambda x, y: x + y)(a, b), a
        )
    with pytest.raises(ValueError, match="twice"):
        defun(tf.float32, grad_func=plain, python_grad_func=len)(lambda x: x + 1)(a)


def test_gradients_of_functions_as_contrib_eager_has_them() -> None:
    eager = of("contrib.eager")
    value, both = eager.value_and_gradients_function(lambda x, y: x * x * y)(3.0, tf.constant(2.0), dy=1.0)
    only = eager.gradients_function(lambda x, y: x * x * y, params=["y"])(3.0, 2.0)
    with tf.Session() as session:
        assert session.run([value, *both, *only]) == [18, 12, 9, 9]
    assert not eager.executing_eagerly()


def test_families_whose_parameters_softplus_makes_positive() -> None:
    families = of("python.ops.distributions.student_t")
    made = families.StudentTWithAbsDfSoftplusScale(df=-3.5, loc=1.0, scale=0.0)
    normal = of("python.ops.distributions.normal").NormalWithSoftplusScale(0.0, [0.0, -2.0])
    with tf.Session() as session:
        assert session.run([made.df, made.scale]) == pytest.approx([3, np.log(2)])
        assert session.run(normal.stddev()) == pytest.approx(np.log1p(np.exp([0.0, -2.0])))


def test_collections_of_ones_own_messages_go_through_meta_graphs() -> None:
    ops = of("python.framework.ops")
    from tensorfleet.proto.variable_pb2 import SaveSliceInfoDef

    ops.register_proto_function(
        "notes",
        SaveSliceInfoDef,
        lambda item, export_scope=None: SaveSliceInfoDef(full_name=item[0]),
        lambda message, import_scope=None: (message.full_name,),
    )
    tf.add_to_collection("notes", ("one",))
    exported = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(exported)
        assert tf.get_collection("notes") == [("one",)]
    with pytest.raises(TypeError, match="Both"):
        ops.register_proto_function("others", SaveSliceInfoDef, to_proto=len)


def test_cases_whose_predicates_are_known() -> None:
    smart_case = of("python.framework.smart_cond").smart_case
    assert smart_case([(False, lambda: 1), (tf.constant(True), lambda: 2)]) == 2
    assert smart_case({False: lambda: 1}, default=lambda: 3) == 3
    fed = tf.placeholder(tf.bool)
    found = smart_case([(fed, lambda: tf.constant(1))], default=lambda: tf.constant(2))
    with tf.Session() as session:
        assert session.run(found, {fed: False}) == 2


def test_modules_that_others_import_are_their_names() -> None:
    assert of("python.ops.rnn").rnn_cell_impl is of("python.ops.rnn_cell_impl")
    assert of("python.ops.nn_ops").tensor_shape is of("python.framework.tensor_shape")


def test_libraries_find_the_current_device() -> None:
    class Found:
        device: Any = None

        def _set_device(self, device: Any) -> None:
            self.device = device

    graph, outside, inside = tf.get_default_graph(), Found(), Found()
    graph._apply_device_functions(outside)
    with tf.device("/job:worker"), tf.device(lambda op: "/gpu:1"):
        graph._apply_device_functions(inside)
    assert outside.device is None
    assert (inside.device.job, inside.device.device_type, inside.device.device_index) == ("worker", "GPU", 1)


def test_directories_of_slim_that_libraries_import() -> None:
    slim: Any = tf.contrib.slim
    for name in ("data_decoder", "tfexample_decoder", "dataset_data_provider", "parallel_reader"):
        inner = of(f"contrib.slim.python.slim.data.{name}")
        outer = getattr(slim, name)
        shared = [public for public in dir(outer) if not public.startswith("_")]
        assert shared
        assert all(getattr(inner, public) is getattr(outer, public) for public in shared)


def test_graphs_of_inputs_within_functions() -> None:
    find = of("python.framework.ops")._get_graph_from_inputs
    outside, found = tf.constant(1.0), []

    @of("python.framework.function").Defun(tf.float32)
    def function(x: Any) -> Any:
        found.append(find([outside, x]) is x.graph)
        return x

    function(outside)
    assert found == [True]


def test_numbers_that_stand_for_shapes() -> None:
    as_shape = of("python.framework.tensor_util").constant_value_as_shape
    assert as_shape(tf.constant(-1)).ndims is None
    for number in (tf.constant(3), tf.placeholder(tf.int32, [])):
        with pytest.raises(ValueError, match="stands for no shape"):
            as_shape(number)
    with pytest.raises(ValueError, match="rank 2"):
        as_shape(tf.placeholder(tf.int32, [1, 1]))


def test_rows_are_changed_in_place_of_one_and_of_all() -> None:
    inplace = of("python.ops.inplace_ops")
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.Session() as session:
        assert session.run(inplace.inplace_add(tf.identity(x), None, x)).tolist() == [[2, 4], [6, 8]]
        assert session.run(inplace.inplace_update(tf.identity(x), 1, [9.0, 9.0])).tolist() == [[1, 2], [9, 9]]
        assert session.run(inplace.empty_like(x, init=True)).tolist() == [[0, 0], [0, 0]]


def test_names_of_modules_are_before_what_they_import() -> None:
    assert of("python.ops.inplace_ops").dtypes is tf.dtypes
    assert of("python.ops.control_flow_util").ops is of("python.framework.ops")


def test_optimizers_come_directly_from_the_base_class() -> None:
    train = of("python.training.optimizer")
    names = ("Adadelta", "Adagrad", "AdagradDA", "Adam", "Ftrl", "GradientDescent", "Momentum")
    for name in (*names, "ProximalAdagrad", "ProximalGradientDescent", "RMSProp"):
        assert getattr(tf.train, f"{name}Optimizer").__base__ is train.Optimizer, name


def test_functions_take_the_options_of_compilation() -> None:
    options = {"compiled": True, "noinline": True, "separate_compiled_gradients": True}

    @of("python.framework.function").Defun(tf.float32, **options)
    def double(x: Any) -> Any:
        return x + x

    with tf.Session() as session:
        assert session.run(double(3.0)) == 6.0


def test_a_call_of_a_function_without_results_is_run_for_what_it_does() -> None:
    count = tf.Variable(0.0, use_resource=True)

    @of("python.framework.function").Defun(tf.float32)
    def add(x: Any) -> None:
        tf.assign_add(count, x)

    call = add(2.0)
    assert isinstance(call, tf.Operation)
    with tf.Session() as session:
        session.run(count.initializer)
        assert session.run(call) is None
        assert session.run(count) == 2.0


def test_structures_are_compared_as_far_as_the_shallow_one_goes() -> None:
    nest = of("contrib.framework").nest
    nest.assert_shallow_structure([1, {"a": 2}], [(3, 4), {"a": [5]}])
    nest.assert_shallow_structure([1], (2,), check_types=False)
    for shallow, given, error in (
        ([1, [2]], [1, 2], TypeError),
        ([1], (1,), TypeError),
        ([1], [1, 2], ValueError),
        ({"a": 1}, {"b": 1}, ValueError),
    ):
        with pytest.raises(error):
            nest.assert_shallow_structure(shallow, given)
    assert nest.flatten_dict_items({"a": [1], (2, ("b",)): (3, (4,))}) == {"a": [1], 2: 3, "b": 4}
    with pytest.raises(ValueError, match="not unique"):
        nest.flatten_dict_items({"a": 1, ("a", "b"): (2, 3)})
    with pytest.raises(ValueError, match=r"structure|elements"):
        nest.flatten_dict_items({("a", "b"): (2, 3, 4)})


def test_a_convolution_object_convolves_what_it_is_called_with() -> None:
    x, kernel = tf.ones([2, 5, 5, 1]), tf.ones([3, 3, 1, 4])
    convolve = of("python.ops.nn_ops").Convolution(x.shape, kernel.shape, "VALID", strides=[2, 2])
    with tf.Session() as session:
        result = session.run(convolve(x, kernel))
    np.testing.assert_array_equal(result, np.full([2, 2, 2, 4], 9.0))
    with pytest.raises(ValueError, match="rank"):
        of("python.ops.nn_ops").Convolution([1, 2, 3], kernel.shape, "SAME")


def test_truncated_normal_numbers_of_each_batch_lie_between_its_bounds() -> None:
    random_ops = of("python.ops.random_ops")
    numbers = random_ops.parameterized_truncated_normal(
        [2, 50], [0.0, 5.0], [1.0, 2.0], [-1.0, 4.0], [1.0, 6.0], seed=3
    )
    with tf.Session() as session:
        first, second = session.run(numbers)
    assert -1 <= first.min() < first.max() <= 1
    assert 4 <= second.min() < second.max() <= 6


def test_estimators_are_a_package_of_their_own_as_well() -> None:
    program = """
import tensorflow_estimator as package
from tensorflow_estimator.python.estimator import estimator as estimator_lib, util
from tensorflow_estimator.python.estimator.canned import head
from tensorflow_estimator.python.estimator.head import regression_head
import tensorflow as tf
assert package.estimator.Estimator is estimator_lib.Estimator is tf.estimator.Estimator
assert regression_head.RegressionHead is tf.estimator.RegressionHead
"""
    done = subprocess.run(
        [sys.executable, "-c", f"from tensorfleet.run import hook; hook.install()\n{program}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_topologies_are_meshes_without_tpus() -> None:
    topology = of("python.tpu.topology").Topology
    mesh = topology(mesh_shape=[1, 2], device_coordinates=[[[0, 0], [0, 1]]])
    assert (mesh.mesh_rank, mesh.num_tasks, mesh.num_tpus_per_task) == (2, 1, 2)
    with pytest.raises(ValueError, match="outside"):
        topology(mesh_shape=[1, 2], device_coordinates=[[[0, 2]]])
    with pytest.raises(NotImplementedError, match="no TPUs"):
        topology(serialized=b"1")


def test_state_of_optimizers_is_read_from_files_of_keras(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "model.h5", "w") as file:
        part = file.create_group("optimizer_weights")
        part["training/m"] = np.array([1.0, 2.0])
        part.attrs["weight_names"] = [b"training/m"]
        read = of("python.keras.saving.hdf5_format").load_optimizer_weights_from_hdf5_group(file)
    assert [value.tolist() for value in read] == [[1.0, 2.0]]


def test_derivatives_of_functions_are_checked() -> None:
    checker = of("python.ops.gradient_checker_v2")
    with tf.Session().as_default():
        exact, near = checker.compute_gradient(
            lambda x, y: x * x * y, [np.float64([1.0, 2.0]), np.float64(3.0)]
        )
        np.testing.assert_allclose(exact[0], [[6.0, 0.0], [0.0, 12.0]])
        np.testing.assert_allclose(exact[1], [[1.0], [4.0]])
        assert checker.max_error(exact, near) < 1e-6

        @tf.custom_gradient
        def wrong(x: Any) -> Any:
            return x * 2.0, lambda grad: grad * 5.0

        assert abs(checker.max_error(*checker.compute_gradient(wrong, [tf.constant(1.0)])) - 3.0) < 1e-2
        with pytest.raises(ValueError, match="must be a list or tuple"):
            checker.compute_gradient(tf.square, np.float32(1.0))


def test_keys_of_an_estimators_metrics() -> None:
    keys = of("python.estimator.canned.metric_keys").MetricKeys
    head = tf.estimator.BinaryClassHead(thresholds=[0.5])
    spec = head.create_estimator_spec({}, "eval", tf.constant([[1.0]]), tf.constant([[1]]))
    at = (keys.ACCURACY_AT_THRESHOLD % 0.5, keys.PRECISION_AT_THRESHOLD % 0.5, keys.RECALL_AT_THRESHOLD % 0.5)
    told = {
        *(keys.LOSS_MEAN, keys.ACCURACY, keys.PRECISION, keys.RECALL, keys.ACCURACY_BASELINE, keys.AUC),
        *(keys.AUC_PR, keys.LABEL_MEAN, keys.PREDICTION_MEAN, *at),
    }
    assert set(spec.eval_metric_ops) == told


def test_what_functions_with_declared_arguments_refuse() -> None:
    defun = of("python.framework.function").Defun
    x = tf.constant(1.0)
    for function in (lambda x=1: x, lambda **options: x):
        with pytest.raises(ValueError, match="argument defaults or keywords arguments are not supported"):
            defun()(function)
    for types in ([tf.float32], [tf.float32] * 3):
        with pytest.raises(ValueError, match="number of specified input types"):
            defun(*types)(lambda a, b: a)
    with pytest.raises(ValueError, match="Expected number of arguments: 1, received: 2"):
        defun()(lambda: x)(x)  # x is captured
    with pytest.raises(ValueError, match="can not return None"):
        defun()(lambda: (None, x))()
    assert isinstance(defun()(lambda: None)(), tf.Operation)
    with pytest.raises(tf.errors.InvalidArgumentError, match="names size = 2 outputs size = 1"):
        defun(tf.float32, out_names=["a", "b"])(lambda a: a)(x)
    with pytest.raises(ValueError, match="Unsupported attribute type"):
        defun(experimental_tag=[1])(lambda: None)
    with tf.Session() as session:
        assert (
            session.run(defun(tf.float32, experimental_tag="fast", out_names=["y"])(lambda a: a + 1)(x))
            == 2.0
        )
