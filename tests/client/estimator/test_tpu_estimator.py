"""`tf.estimator.tpu`: models that are written for TPUs, on CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

tpu = tf.estimator.tpu


def input_fn(params: dict[str, Any]) -> Any:
    x = np.linspace(0, 1, 32, dtype=np.float32).reshape(32, 1)
    data = tf.data.Dataset.from_tensor_slices(({"x": x}, 3 * x))
    return data.repeat(20).batch(params["batch_size"], drop_remainder=True)


def model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> Any:
    assert params["use_tpu"] is False
    assert features["x"].shape[0].value == params["batch_size"]
    y = tf.layers.dense(features["x"], 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tpu.TPUEstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    if mode == tf.estimator.ModeKeys.EVAL:

        def metric_fn(labels: Any, y: Any) -> Any:
            return {"mae": tf.metrics.mean_absolute_error(labels, y)}

        return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [labels, y]))
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(params["rate"]))
    train_op = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    seen = tf.get_variable("seen", [], tf.int32, tf.zeros_initializer(), trainable=False)
    return tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, host_call=(lambda step: [seen.assign_add(1), step], [loss])
    )


def estimator(folder: Path, **more: Any) -> Any:
    # Without a seed some beginnings are too far from the end for so few steps.
    config = tpu.RunConfig(
        model_dir=str(folder), tf_random_seed=1, tpu_config=tpu.TPUConfig(iterations_per_loop=5)
    )
    assert config.tpu_config.iterations_per_loop == 5
    assert config.replace(tf_random_seed=2).tpu_config
    return tpu.TPUEstimator(
        model_fn,
        config=config,
        params={"rate": 0.1},
        use_tpu=False,
        train_batch_size=8,
        eval_batch_size=4,
        predict_batch_size=2,
        **more,
    )


def test_a_model_for_tpus_is_trained_evaluated_and_asked(tmp_path: Path) -> None:
    model = estimator(tmp_path)
    model.train(input_fn, max_steps=60)
    assert model.get_variable_value("seen") == 60
    result = model.evaluate(input_fn, steps=8)
    assert result["global_step"] == 60
    assert result["mae"] < 0.5
    first = next(model.predict(lambda params: input_fn(params).map(lambda features, _: features)))
    assert first["y"].shape == (1,)


def test_what_needs_a_tpu_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="no TPUs: leave use_tpu at False"):
        tpu.TPUEstimator(model_fn)
    with pytest.raises(NotImplementedError, match="no TPUs"):
        tpu.RunConfig(cluster=object())
    with pytest.raises(ValueError, match="reserved keys"):
        tpu.TPUEstimator(model_fn, use_tpu=False, params={"batch_size": 3})
    with pytest.raises(ValueError, match="TF_CONFIG"):
        tpu.RunConfig(master="grpc://localhost:1")


def test_programs_find_it_in_contrib_as_well() -> None:
    assert tf.contrib.tpu.TPUEstimator is tpu.TPUEstimator
    assert tf.contrib.tpu.RunConfig is tpu.RunConfig
    assert tpu.InputPipelineConfig.PER_HOST_V2 == 3


def test_bfloat16_variables_are_kept_as_float32() -> None:
    with tf.Graph().as_default(), tf.contrib.tpu.bfloat16_scope():
        v = tf.get_variable("v", [2], tf.bfloat16)
        w = tf.get_variable("w", [2], tf.float32)
        assert v.dtype is tf.bfloat16
        assert w.dtype.base_dtype is tf.float32
        assert [kept.dtype.base_dtype for kept in tf.global_variables()] == [tf.float32, tf.float32]
