"""TPUEstimator without TPUs, as BERT's programs use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

tpu = tf.contrib.tpu


def test_a_program_for_tpus_trains_evaluates_and_predicts(tmp_path: Path) -> None:
    sizes: list[tuple[str, int]] = []
    x = np.linspace(0, 1, 24, dtype="f").reshape(24, 1)

    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        sizes.append((mode, params["batch_size"]))
        y = tf.layers.dense(features["x"], 1, name="y")
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions={"y": y})
        loss = tf.losses.mean_squared_error(features["target"], y)
        step = tf.train.get_global_step()
        optimizer = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))
        train_op = optimizer.minimize(loss, global_step=step)

        def metrics(target: Any, y: Any) -> Any:
            return {"error": tf.metrics.mean_absolute_error(target, y)}

        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, eval_metrics=(metrics, [features["target"], y])
        )

    def input_fn(params: Any) -> Any:
        data = tf.data.Dataset.from_tensor_slices({"x": x, "target": 3 * x}).repeat(20)
        return data.batch(params["batch_size"], drop_remainder=True)

    config = tpu.RunConfig(
        model_dir=str(tmp_path),
        tf_random_seed=1,
        tpu_config=tpu.TPUConfig(
            iterations_per_loop=5,
            num_shards=8,
            per_host_input_for_training=tpu.InputPipelineConfig.PER_HOST_V2,
        ),
    )
    assert config.tpu_config.num_shards == 8
    estimator = tpu.TPUEstimator(
        model_fn=model_fn,
        config=config,
        use_tpu=False,
        train_batch_size=8,
        eval_batch_size=6,
        predict_batch_size=4,
    )
    estimator.train(input_fn, max_steps=60)
    result = estimator.evaluate(input_fn, steps=4)
    assert result["global_step"] == 60
    assert result["error"] < 0.5
    predictions = estimator.predict(input_fn)
    assert next(predictions)["y"].shape == (1,)
    predictions.close()
    assert sizes == [("train", 8), ("eval", 6), ("infer", 4)]


def test_what_needs_a_tpu_says_so() -> None:
    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        raise AssertionError("not called")

    with pytest.raises(NotImplementedError, match="leave use_tpu at False"):
        tpu.TPUEstimator(model_fn)
    with pytest.raises(ValueError, match="reserved"):
        tpu.TPUEstimator(model_fn, use_tpu=False, params={"batch_size": 3})


def test_bfloat16_scope_keeps_variables_in_float32() -> None:
    with tpu.bfloat16_scope("half"):
        v = tf.get_variable("v", [2], dtype=tf.bfloat16)
    assert (v.dtype, tf.global_variables()[0].dtype.base_dtype) == (tf.bfloat16, tf.float32)
