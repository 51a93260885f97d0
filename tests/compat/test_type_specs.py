"""Specs of values, beside TensorFlow's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet


def values(tf: Any) -> dict[str, Any]:
    rows = tf.zeros([2, 3])
    return {
        "tensor": tf.zeros([2, 3]),
        "number": 3.0,
        "list": [[1, 2]],
        "text": "x",
        "none": None,
        "sparse": tf.SparseTensor([[0, 1]], [1], [2, 2]),
        "rows": tf.IndexedSlices(rows, tf.constant([0, 1])),
        "rows of": tf.IndexedSlices(rows, tf.constant([0, 1]), tf.constant([4, 3])),
        "array": tf.TensorArray(tf.float32, 3, dynamic_size=True, element_shape=[2]),
        "optional": tf.data.experimental.Optional.from_value({"a": 1}),
        "dataset": tf.data.Dataset.range(3).batch(2),
        "object": object(),
    }


def specs(tf: Any) -> dict[str, Any]:
    return {
        "any": tf.TensorSpec(None),
        "matrix": tf.TensorSpec([2, None], tf.float32),
        "other matrix": tf.TensorSpec([2, 3], tf.float32),
        "integers": tf.TensorSpec([2, 3], tf.int32),
        "named": tf.TensorSpec([2, 3], tf.float32, "a"),
        "sparse": tf.SparseTensorSpec([2, 3]),
        "other sparse": tf.SparseTensorSpec([2, 4]),
        "integers in sparse": tf.SparseTensorSpec([2, 2], tf.int32),
        "rows": tf.IndexedSlicesSpec([2, None], tf.float32),
        "other rows": tf.IndexedSlicesSpec([None, 3], tf.float32, tf.int32),
        "array": tf.TensorArraySpec([2], tf.float32, True),
        "other array": tf.TensorArraySpec([3], tf.float32, True),
        "dataset": tf.data.DatasetSpec(tf.TensorSpec([2], tf.int64)),
        "other dataset": tf.data.DatasetSpec(tf.TensorSpec([None], tf.int64)),
        "optional": tf.OptionalSpec({"a": tf.TensorSpec([], tf.int32)}),
        "none": tf.NoneTensorSpec(),
        "structure": tf.data.experimental.TensorStructure(tf.float32, [2]),
        "old array": tf.data.experimental.TensorArrayStructure(tf.float32, [2], True, False),
    }


def outcome(call: Callable[[], Any]) -> Any:
    try:
        # Shapes print as in TensorFlow 1 and 2.
        text = re.sub(r"Dimension\((\w+)\)", r"\1", repr(call()).replace("?", "None"))
        # TensorFlow gives False in place of an error for arrays and other specs.
        return "ValueError" if text == "False" else text.replace(",)", ")")
    except (TypeError, ValueError) as error:
        return type(error).__name__


def test_specs_of_values() -> None:
    seen = []
    for tf in (fleet, real):
        with tf.Graph().as_default():
            seen.append(
                {k: outcome(lambda v=v, tf=tf: tf.type_spec_from_value(v)) for k, v in values(tf).items()}
            )
    assert seen[0] == seen[1]


def test_specs() -> None:
    seen = []
    for tf in (fleet, real):
        found: dict[Any, Any] = {}
        for name, spec in specs(tf).items():
            found[name] = outcome(lambda spec=spec: spec)
            found[name, "type"] = spec.value_type.__name__
            for other_name, other in specs(tf).items():
                found[name, other_name] = (
                    outcome(lambda spec=spec, other=other: spec.most_specific_compatible_type(other)),
                    spec == other,
                    spec.is_compatible_with(other),
                )
        seen.append(found)
    different = {k: (v, seen[1][k]) for k, v in seen[0].items() if v != seen[1][k] and "type" not in k}
    # What describes two arrays has one's shape in TensorFlow, which does not describe the other.
    assert [
        k for k, (a, b) in different.items() if not ("array" in k[0] and "array" in k[1] and a[1:] == b[1:])
    ] == []
    assert {k[0] for k, v in seen[0].items() if "type" in k and v != seen[1][k]} == {
        *("dataset", "other dataset", "optional", "none")
    }


def test_the_base_class_is_abstract() -> None:
    for tf in (fleet, real):
        with pytest.raises(TypeError, match="abstract"):
            tf.TypeSpec()
        assert tf.data.experimental.Structure is tf.TypeSpec
        with tf.Graph().as_default():
            spec = tf.data.experimental.get_structure(tf.data.Dataset.range(3))
        assert repr(spec) == "TensorSpec(shape=(), dtype=tf.int64, name=None)"
        with pytest.raises(TypeError, match=r"Invalid `dataset_or_iterator`"):
            tf.data.experimental.get_structure(3)


def options(tf: Any) -> list[Any]:
    """What is set in options, and what two of them make together."""
    first, second = tf.data.Options(), tf.data.Options()
    first.experimental_slack, first.autotune.enabled = True, False
    first.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    second.threading.private_threadpool_size, second.autotune.cpu_budget = 3, 2
    second.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.WARN
    second.experimental_optimization.map_fusion = True
    both = first.merge(second)
    return [
        both.experimental_slack,
        [both.autotune.enabled, both.autotune.cpu_budget, both.autotune.ram_budget],
        [both.threading.private_threadpool_size, both.experimental_threading.private_threadpool_size],
        [both.experimental_distribute.auto_shard_policy.name, both.experimental_distribute.num_devices],
        [both.experimental_external_state_policy.name, both.experimental_optimization.map_fusion],
        tf.data.experimental.SHARD_HINT,
        [policy.value for policy in tf.data.experimental.AutoShardPolicy],
        [algorithm.value for algorithm in tf.data.experimental.AutotuneAlgorithm],
    ]


def test_options() -> None:
    assert options(fleet) == options(real)


def test_datasets_as_variants() -> None:
    for tf in (fleet, real):
        with tf.Graph().as_default(), tf.Session() as session:
            dataset = tf.data.Dataset.range(3).batch(2)
            variant = tf.data.experimental.to_variant(dataset)
            again = tf.data.experimental.from_variant(variant, dataset.element_spec)
            element = tf.data.make_one_shot_iterator(again).get_next()
            assert [session.run(element).tolist() for _ in range(2)] == [[0, 1], [2]]
