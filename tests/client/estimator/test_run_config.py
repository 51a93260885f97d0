"""tf.estimator.RunConfig: the cluster of TF_CONFIG, options and their checks."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.estimator.run_config import chosen_device_fn

CLUSTER = {"chief": ["a:1"], "ps": ["b:1", "b:2"], "worker": ["c:1", "c:2"]}
WITH_MASTER = {"master": ["a:1"], "ps": ["b:1"], "worker": ["c:1"]}


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(value: Any, **options: Any) -> Any:
        monkeypatch.setenv("TF_CONFIG", value if isinstance(value, str) else json.dumps(value))
        return tf.estimator.RunConfig(**options)

    return make


def told(config: Any) -> tuple[Any, ...]:
    return (
        *(config.task_type, config.task_id, config.master, config.evaluation_master, config.is_chief),
        *(config.num_ps_replicas, config.num_worker_replicas, config.global_id_in_cluster),
    )


@pytest.mark.parametrize(
    ("cluster", "job", "index", "expected", "filters"),
    [
        (CLUSTER, "chief", 0, ("grpc://a:1", "", True, 2, 3, 0), ["/job:ps", "/job:chief"]),
        (CLUSTER, "worker", 1, ("grpc://c:2", "", False, 2, 3, 2), ["/job:ps", "/job:worker/task:1"]),
        (
            *(CLUSTER, "ps", 1, ("grpc://b:2", "", False, 2, 3, 4)),
            ["/job:ps", "/job:worker", "/job:chief", "/job:master"],
        ),
        (WITH_MASTER, "master", 0, ("grpc://a:1", "", True, 1, 2, 0), ["/job:ps", "/job:master"]),
        (WITH_MASTER, "worker", 0, ("grpc://c:1", "", False, 1, 2, 1), ["/job:ps", "/job:worker/task:0"]),
        ({"chief": ["a:1"]}, "chief", 0, ("", "", True, 0, 1, 0), ["/job:ps", "/job:chief"]),
    ],
)
def test_a_task_of_a_cluster(
    cluster: Any, job: str, index: int, expected: tuple[Any, ...], filters: list[str], configured: Any
) -> None:
    config = configured({"cluster": cluster, "task": {"type": job, "index": index}})
    assert told(config) == (job, index, *expected)
    assert config.cluster_spec == tf.train.ClusterSpec(cluster)
    assert list(config.session_config.device_filters) == filters
    assert config.session_config.allow_soft_placement


def test_the_first_of_workers_that_keep_in_step_is_the_chief(
    configured: Any,
) -> None:
    for index in range(2):
        value = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": index}}
        with pytest.raises(ValueError, match='must have one "chief" node'):
            configured(value)
        spread = tf.distribute.experimental.MultiWorkerMirroredStrategy()
        config = configured(value, train_distribute=spread)
        expected = ("worker", index, f"grpc://{'ab'[index]}:1", "", not index, 0, 2, index)
        assert told(config) == expected
        assert told(config.replace(train_distribute=spread)) == expected


def test_an_evaluator_stands_outside(configured: Any) -> None:
    config = configured({"cluster": CLUSTER, "task": {"type": "evaluator", "index": 1}})
    assert told(config) == ("evaluator", 1, "", "", False, 0, 0, None)
    assert not config.cluster_spec
    assert config.session_config is None


def test_alone(configured: Any) -> None:
    assert told(configured({})) == ("worker", 0, "", "", True, 0, 1, 0)
    config = configured({"session_master": "grpc://x", "service": {"a": 1}, "model_dir": "m"})
    assert told(config)[2:5] == ("grpc://x", "grpc://x", True)
    assert (config.service, config.model_dir) == ({"a": 1}, "m")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("{", "TF_CONFIG is no JSON"),
        ("[]", "JSON object"),
        ({"cluster": [1]}, '"cluster" in TF_CONFIG has to be a JSON object'),
        ({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}, 'must have one "chief" node'),
        ({"cluster": {**CLUSTER, "chief": ["a:1", "a:2"]}, "task": {}}, 'only one "chief" node'),
        ({"cluster": CLUSTER}, "task type must be set"),
        ({"cluster": CLUSTER, "task": {"type": "worker"}}, "task index must be set"),
        ({"cluster": CLUSTER, "task": {"type": "worker", "index": -1}}, "must be non-negative"),
        ({"cluster": CLUSTER, "task": {"type": "worker", "index": 5}}, "5 is not a valid task_id"),
        ({"cluster": CLUSTER, "task": {"type": "nope", "index": 0}}, "nope is not a valid task_type"),
        ({"task": {"type": "ps", "index": 0}}, "task type must be WORKER"),
        ({"task": {"type": "worker", "index": 1}}, "task index must be 0"),
        ({"cluster": {**WITH_MASTER, "chief": ["x:1"]}, "task": {}}, "job `chief` is not supported"),
        ({"cluster": WITH_MASTER, "task": {"type": "evaluator", "index": 0}}, "`evaluator` is not supported"),
        ({"model_dir": ""}, "model_dir in TF_CONFIG should be non-empty"),
    ],
)
def test_what_contradicts_itself(value: Any, text: str, configured: Any) -> None:
    with pytest.raises(ValueError, match=text):
        configured(value)


def test_a_service_is_a_dict(configured: Any) -> None:
    with pytest.raises(TypeError, match='"service"'):
        configured({"service": 3})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"model_dir": ""}, "model_dir should be non-empty"),
        ({"model_dir": "other"}, "must have the same value as the model_dir in TF_CONFIG"),
        ({"tf_random_seed": 1.5}, "tf_random_seed must be integer"),
        ({"save_checkpoints_steps": 5, "save_checkpoints_secs": 3}, "cannot be both set"),
        ({"save_summary_steps": -1}, "save_summary_steps should be >= 0"),
        ({"keep_checkpoint_max": -1}, "keep_checkpoint_max should be >= 0"),
        ({"keep_checkpoint_every_n_hours": 0}, "keep_checkpoint_every_n_hours should be > 0"),
        ({"session_config": 3}, "must be instance of ConfigProto"),
        ({"device_fn": 3}, 'callable with exactly one argument "op"'),
        ({"device_fn": lambda x: ""}, 'callable with exactly one argument "op"'),
        ({"protocol": "carrier pigeon"}, "protocol should be grpc"),
    ],
)
def test_options_are_checked(options: dict[str, Any], text: str, configured: Any) -> None:
    with pytest.raises(ValueError, match=text):
        configured({"model_dir": "m"}, **options)


def test_strategies_are_checked(configured: Any) -> None:
    with pytest.raises(ValueError, match=r"train_distribute must be a tf\.distribute\.Strategy"):
        configured({}, train_distribute=object())
    with pytest.raises(NotImplementedError, match="pass train_distribute"):
        configured({}, experimental_distribute=object())


def test_replace(configured: Any) -> None:
    config = configured({})
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (None, 600)
    assert (config.keep_checkpoint_max, config.log_step_count_steps) == (5, 100)
    by_steps = config.replace(save_checkpoints_steps=5, tf_random_seed=3)
    assert (by_steps.save_checkpoints_steps, by_steps.save_checkpoints_secs) == (5, None)
    assert (by_steps.tf_random_seed, config.tf_random_seed) == (3, None)
    assert by_steps.replace(save_checkpoints_secs=7).save_checkpoints_steps is None
    with pytest.raises(ValueError, match="Replacing master is not supported"):
        config.replace(master="x")
    with pytest.raises(ValueError, match="cannot be both set"):
        config.replace(save_checkpoints_steps=5, save_checkpoints_secs=3)


def test_variables_are_spread_over_the_parameter_servers(configured: Any) -> None:
    config = configured({"cluster": CLUSTER, "task": {"type": "worker", "index": 1}})
    with tf.device(chosen_device_fn(config)):
        a, b = tf.get_variable("a", []), tf.get_variable("b", [])
        c = tf.add(a, b)
    assert [a.device, b.device, c.device] == ["/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:1"]
    assert chosen_device_fn(configured({})) is None
    given = configured({}, device_fn=lambda op: "/cpu:0")
    assert chosen_device_fn(given)(None) == "/cpu:0"
