"""Internal modules that tests for TensorFlow's own parts import: what they do."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from absl.testing import parameterized

import tensorfleet as tf
from tensorfleet.run.paths import module


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def of(path: str) -> Any:
    found = module(path)
    assert found is not None, path
    return found


def result(case: type[unittest.TestCase]) -> unittest.TestResult:
    found = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(found)
    return found


def test_names_of_both_versions_stand_side_by_side() -> None:
    readers = of("python.data.ops.readers")
    assert readers.TextLineDatasetV1 is readers.TextLineDatasetV2 is tf.data.TextLineDataset
    assert of("python.ops.array_ops").where_v2 is tf.where_v2
    assert of("python.ops.nn_impl").l2_normalize_v2 is not None
    assert not hasattr(of("python.ops.array_ops"), "nothing_v1")
    assert not hasattr(of("python.ops.array_ops"), "nothing_v2")
    assert of("python.ops.gen_math_ops").MatMul(a=tf.ones([1, 1]), b=tf.ones([1, 1])).op.type == "MatMul"


def test_assertions_on_datasets() -> None:
    base = of("python.data.kernel_tests.test_base")

    class Case(base.DatasetTestBase):  # type: ignore[misc,name-defined]
        def testElements(self) -> None:
            dataset = tf.data.Dataset.range(3).map(lambda x: (x, {"twice": 2 * x}))
            expected = [(i, {"twice": 2 * i}) for i in range(3)]
            self.assertDatasetProduces(dataset, expected, num_test_iterations=2)
            self.assertDatasetProduces(dataset, expected, requires_initialization=True)
            self.assertDatasetsEqual(dataset, tf.data.Dataset.zip(tuple(self.parts())))

        def parts(self) -> list[Any]:
            counts = tf.data.Dataset.range(3)
            return [counts, counts.map(lambda x: {"twice": 2 * x})]

        def testErrors(self) -> None:
            bad = tf.data.Dataset.range(1).map(lambda x: tf.check_numerics(x / 0, "zero"))
            error = (tf.errors.InvalidArgumentError, "zero")
            names = [("IteratorGetNext", "IteratorGetNext_1", 1)]
            self.assertDatasetsRaiseSameError(bad, bad, error[0], names)
            self.assertDatasetProduces(bad, expected_error=error)

        def testTooFew(self) -> None:
            self.assertDatasetProduces(tf.data.Dataset.range(3), [0, 1])

        def testOthers(self) -> None:
            self.assertDatasetProduces(tf.data.Dataset.range(2), [0, 7])

    found = result(Case)
    assert [str(test).partition(" ")[0] for test, _ in found.failures] == ["testOthers", "testTooFew"]
    assert found.testsRun == 4 + 1  # with `test_session`, which is skipped
    assert not found.errors


def test_elements_as_lists_of_tensors() -> None:
    structure = of("python.data.util.structure")
    sparse = tf.SparseTensor([[0]], [1.0], [4])
    element = {"a": tf.constant([1, 2]), "b": (sparse, tf.constant("x"))}
    specs = structure.type_spec_from_value(element)
    tensors = structure.to_tensor_list(specs, element)
    assert [t.dtype for t in tensors] == [tf.int32, tf.variant, tf.string]
    assert structure.get_flat_tensor_types(specs) == [tf.int32, tf.variant, tf.string]
    again = structure.from_tensor_list(specs, tensors)
    with tf.Session() as session:
        a, (b, c) = session.run([again["a"], again["b"]])
    assert (list(a), list(b.values), c) == ([1, 2], [1.0], b"x")
    with pytest.raises(ValueError, match="Expected 3 tensors but got 2"):
        structure.from_compatible_tensor_list(specs, tensors[:2])
    with pytest.raises(ValueError, match="not convertible"):
        structure.to_tensor_list(tf.TensorSpec([], tf.int32), tf.constant("a"))
    with pytest.raises(ValueError, match="rank >= 1"):
        structure.to_batched_tensor_list(tf.TensorSpec([], tf.string), tf.constant("a"))
    assert structure.are_compatible(specs, specs)
    assert not structure.are_compatible(specs, specs["b"])
    assert structure.convert_legacy_structure(tf.int32, tf.TensorShape([2]), tf.Tensor) == specs["a"]


def test_lists_are_leaves_of_elements() -> None:
    nest = of("python.data.util.nest")
    assert nest.flatten(((1, [2, 3]), {"b": 5, "a": 4})) == [1, [2, 3], 4, 5]
    assert nest.map_structure(lambda x: [x], (1, (2,))) == ([1], ([2],))
    assert not nest.is_sequence([1])
    assert nest.pack_sequence_as((1, (2, 3)), [4, 5, 6]) == (4, (5, 6))
    with pytest.raises(ValueError, match="Structure had 2 elements, but flat_sequence had 3"):
        nest.pack_sequence_as((1, 2), [1, 2, 3])
    with pytest.raises(TypeError, match="must be a sequence"):
        nest.pack_sequence_as((1, 2), 3)


def test_shapes_and_seeds_of_datasets_as_tensors() -> None:
    convert, seeds = of("python.data.util.convert"), of("python.data.util.random_seed")
    with tf.Session() as session:
        assert list(session.run(convert.partial_shape_to_tensor([2, None]))) == [2, -1]
        assert session.run(convert.optional_param_to_tensor("n", None, 7)) == 7
        zero = session.run(seeds.get_seed(None))
        assert zero == (0, 0)
        tf.set_random_seed(0)
        assert session.run(seeds.get_seed(0)) == (0, 2**31 - 1)  # two zeros would be no seed
    with pytest.raises(ValueError, match="must be a 1-D tensor"):
        convert.partial_shape_to_tensor(tf.constant([[1]], tf.int64))
    with pytest.raises(TypeError, match="element type was int32"):
        convert.partial_shape_to_tensor(tf.constant([1]))


def test_tests_run_with_each_combination() -> None:
    combinations = of("python.framework.combinations")
    assert len(combinations.times(combinations.combine(a=[1, 2]), combinations.combine(b=[1, 2, 3]))) == 6
    with pytest.raises(ValueError, match="overlap"):
        combinations.times(combinations.combine(a=1), combinations.combine(a=2))
    seen = []

    class Case(tf.test.TestCase, parameterized.TestCase):
        @combinations.generate(combinations.combine(mode=["graph", "eager"], n=[1, 2], tf_api_version=[1, 2]))
        def testOne(self, n: int, mode: str) -> None:
            seen.append((mode, n))

    found = result(Case)
    # With `test_session`, which is no test.
    assert (found.testsRun, len(found.skipped)) == (8 + 1, 6 + 1)
    assert found.wasSuccessful()
    assert sorted(seen) == [("graph", 1), ("graph", 2)]


def test_a_table_that_savers_save(tmp_path: Any) -> None:
    table = of("python.training.saver_test_utils").CheckpointedOp("table")
    saver = tf.train.Saver([table.saveable])
    with tf.Session() as session:
        session.run(table.insert("k", 30.0))
        path = saver.save(session, str(tmp_path / "model"))
        session.run(table.insert("more", 1.0))
        saver.restore(session, path)
        assert list(session.run(table.keys())) == [b"k"]
        assert list(session.run(table.values())) == [30.0]


def test_scoped_meta_graphs_with_their_variables() -> None:
    meta = of("python.framework.meta_graph")
    with tf.name_scope("a"):
        tf.Variable(1.0, name="v")
    copied = meta.copy_scoped_meta_graph("a", "b")
    assert {name: variable.name for name, variable in copied.items()} == {"v:0": "b/v:0"}
    with pytest.raises(ValueError, match="need to be different"):
        meta.copy_scoped_meta_graph("a", "a")
    assert "VariableV2" in meta.ops_used_by_graph_def(tf.get_default_graph().as_graph_def())
    with pytest.raises(TypeError, match="must be of type SaverDef"):
        meta.create_meta_graph_def(saver_def="x")


def test_stacks_know_who_pushed() -> None:
    stacks = of("python.framework.traceable_stack")
    stack = stacks.TraceableStack()
    assert stack.push_obj("a") == stacks.TraceableObject.SUCCESS
    assert stack.push_obj("b", offset=10_000) == stacks.TraceableObject.HEURISTIC_USED
    assert list(stack.peek_objs()) == ["b", "a"]
    assert list(stack.peek_traceable_objs())[1].filename == __file__
    assert (stack.pop_obj(), len(stack)) == ("b", 1)


def test_a_registry_takes_a_name_once() -> None:
    registry = of("python.framework.registry").Registry("thing")
    registry.register(np.add, "add")
    with pytest.raises(KeyError, match=r"two thing with name 'add'.*test_modules_of_tests"):
        registry.register(np.add, "add")
    assert registry.lookup("add") is np.add
    with pytest.raises(LookupError, match="has no entry for: sub"):
        registry.lookup("sub")


def test_messages_are_compared_by_their_texts() -> None:
    compare = of("python.util.protobuf.compare")

    class Case(unittest.TestCase, compare.ProtoAssertions):  # type: ignore[misc,name-defined]
        def testEqual(self) -> None:
            self.assertProtoEqual("op: 'NoOp'", tf.NodeDef(op="NoOp"))

        def testOther(self) -> None:
            self.assertProtoEqual("op: 'NoOp'", tf.NodeDef(op="Add"))

        def testRounded(self) -> None:
            one, other = (
                tf.train.Feature(float_list=tf.train.FloatList(value=[v])) for v in (0.5, 0.5 + 1e-9)
            )
            self.assertProtoEqual(one, other, normalize_numbers=True)

    assert [str(test).partition(" ")[0] for test, _ in result(Case).failures] == ["testOther"]


def test_contexts_of_loops_and_conditionals() -> None:
    util = of("python.ops.control_flow_util")
    tf.cond(tf.placeholder(tf.bool), lambda: tf.constant(1), lambda: tf.constant(2))
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    operations = tf.get_default_graph().get_operations()
    loop = next(op for op in operations if op.type == "NextIteration")._get_control_flow_context()
    assert [util.IsLoopSwitch(op) for op in operations if util.IsCondSwitch(op)][:1] == [False]
    assert sum(map(util.IsLoopSwitch, operations)) == sum(map(util.IsLoopMerge, operations)) == 1
    assert sum(map(util.IsCondMerge, operations)) == 1
    [leaves] = [op for op in operations if util.IsLoopExit(op)]
    assert util.OpInContext(leaves, loop)
    assert util.GetOutputContext(leaves) is None
    assert util.IsContainingContext(loop, None)
    assert not util.IsContainingContext(None, loop)


def test_saved_iterators_go_on_where_they_were() -> None:
    path = "python.data.experimental.kernel_tests.serialization.dataset_serialization_test_base"
    base = of(path)
    sparse = tf.SparseTensorValue([[0], [2]], [1, 2], [3])

    class Case(base.DatasetSerializationTestBase):  # type: ignore[misc,name-defined]
        def testCore(self) -> None:
            self.run_core_tests(lambda: tf.data.Dataset.range(6).map(lambda x: (x, {"a": x * 2})), 6)

        def testSparse(self) -> None:
            self.verify_multiple_breaks(lambda: tf.data.Dataset.from_tensors(sparse).repeat(3), 3, 2)

        def testShuffled(self) -> None:
            self.verify_run_with_breaks(lambda: tf.data.Dataset.range(6).shuffle(4, seed=1), [2, 5], 6)

        def testMoreThanThereAre(self) -> None:
            self.verify_fully_used_iterator(lambda: tf.data.Dataset.range(3), 2)

    found = result(Case)
    assert [str(test).partition(" ")[0] for test, _ in found.failures] == ["testMoreThanThereAre"]
    assert not found.errors, found.errors
