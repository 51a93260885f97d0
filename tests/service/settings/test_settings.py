"""Settings of `tensorfleet serve`: where they come from, and what is said about wrong ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tensorfleet.core.environment import SettingsError
from tensorfleet_service.settings.settings import Settings, load

JOBS = {"ps": ["a:1"], "worker": ["b:2", "c:3"]}
SPEC = json.dumps(JOBS)
COMPLETE = {
    "TENSORFLEET_JOB_NAME": "worker",
    "TENSORFLEET_TASK_INDEX": "1",
    "TENSORFLEET_CLUSTER_SPEC": SPEC,
}


def from_environment(host_name: str = "host", **changes: str) -> Settings:
    return load([], {**COMPLETE, **changes}, host_name)


def test_environment() -> None:
    settings = from_environment(
        TENSORFLEET_PROTOCOL="grpc",
        TENSORFLEET_BIND_HOST="0.0.0.0",
        TENSORFLEET_STREAM_PORT="2223",
        TENSORFLEET_LOG_FORMAT="json",
        TENSORFLEET_LOG_LEVEL="debug",
        TENSORFLEET_DRAIN_SECONDS="1.5",
        TENSORFLEET_METRICS_PORT="8080",
        TENSORFLEET_GPUS="2",
        TENSORFLEET_MOOD="good",
    )
    assert settings.cluster.as_dict() == JOBS
    assert settings == Settings(
        settings.cluster,
        "worker",
        1,
        "grpc",
        "0.0.0.0",
        2223,
        "json",
        "debug",
        1.5,
        stop_with_stdin=False,
        metrics_port=8080,
        gpus=2,
        warnings=("TENSORFLEET_MOOD is set, but is not a setting",),
    )
    assert settings.task == "/job:worker/task:1"


def test_defaults() -> None:
    settings = from_environment()
    assert settings == Settings(settings.cluster, "worker", 1)
    assert (settings.protocol, settings.log_format, settings.drain_seconds) == ("grpc+stream", "text", 20)


def test_a_flag_wins_over_its_variable() -> None:
    flags = ["--job-name=ps", "--task-index", "0", "--drain-seconds", "3", "--stop-with-stdin"]
    settings = load(flags, {**COMPLETE, "TENSORFLEET_DRAIN_SECONDS": "9"}, "host")
    assert (settings.task, settings.drain_seconds) == ("/job:ps/task:0", 3)
    assert settings.stop_with_stdin


@pytest.mark.parametrize("host_name", ["fleet-worker-1", "fleet-worker-1.fleet-worker.default.svc"])
def test_the_task_index_is_the_ordinal_of_the_host_name(host_name: str) -> None:
    assert from_environment(host_name, TENSORFLEET_TASK_INDEX="").task_index == 1


@pytest.mark.parametrize(("text", "gpus"), [("none", 0), ("0", 0), ("auto", None), ("3", 3), ("", None)])
def test_gpus(text: str, gpus: int | None) -> None:
    assert from_environment(TENSORFLEET_GPUS=text).gpus == gpus


def test_a_ps_opens_no_gpu_unless_it_is_told_to() -> None:
    ps = {"TENSORFLEET_JOB_NAME": "ps", "TENSORFLEET_TASK_INDEX": "0"}
    assert from_environment(**ps).gpus == 0
    assert from_environment(**ps, TENSORFLEET_GPUS="auto").gpus is None


@pytest.mark.parametrize(("text", "port"), [("", None), ("0", 0), ("8080", 8080)])
def test_metrics_port(text: str, port: int | None) -> None:
    assert from_environment(TENSORFLEET_METRICS_PORT=text).metrics_port == port


def test_a_service_of_kubernetes_does_not_set_the_ports() -> None:
    links = {"TENSORFLEET_METRICS_PORT": "tcp://10.0.0.1:8080", "TENSORFLEET_STREAM_PORT": "tcp://10.0.0.1:1"}
    settings = from_environment(**links)
    assert (settings.metrics_port, settings.stream_port, settings.warnings) == (None, 0, ())


def test_a_task_at_another_host() -> None:
    with pytest.raises(SettingsError, match="this host is 'b', which is /job:worker/task:0"):
        from_environment("b")


def test_sparse_cluster() -> None:
    spec = '{"worker": {"1": "b:2", "7": "c:3"}}'
    settings = from_environment(TENSORFLEET_CLUSTER_SPEC=spec, TENSORFLEET_TASK_INDEX="7")
    assert settings.cluster.as_dict() == {"worker": {1: "b:2", 7: "c:3"}}


def test_cluster_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(SPEC)
    assert from_environment(TENSORFLEET_CLUSTER_SPEC=f"@{file}").cluster.as_dict() == JOBS


TF_CONFIG = {
    "cluster": {"chief": ["a:1"], "worker": ["b:2"], "ps": ["c:3"]},
    "task": {"type": "chief", "index": 0},
    "environment": "cloud",
}


def test_tf_config() -> None:
    settings = load([], {"TF_CONFIG": json.dumps(TF_CONFIG)}, "host")
    assert settings.task == "/job:chief/task:0"
    assert settings.cluster.as_dict() == TF_CONFIG["cluster"]


def test_variables_win_over_tf_config() -> None:
    settings = load([], {**COMPLETE, "TF_CONFIG": json.dumps(TF_CONFIG)}, "host")
    assert settings.task == "/job:worker/task:1"
    assert settings.cluster.as_dict() == JOBS


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"TENSORFLEET_CLUSTER_SPEC": ""}, ["TENSORFLEET_CLUSTER_SPEC", "--cluster-spec", "TF_CONFIG"]),
        ({"TENSORFLEET_CLUSTER_SPEC": "{"}, ["TENSORFLEET_CLUSTER_SPEC is not JSON"]),
        ({"TENSORFLEET_CLUSTER_SPEC": "[1]"}, ["TENSORFLEET_CLUSTER_SPEC is not a valid cluster"]),
        ({"TENSORFLEET_CLUSTER_SPEC": '{"worker": 3}'}, ["is not a valid cluster", "'worker'"]),
        ({"TENSORFLEET_CLUSTER_SPEC": '{"worker": {"x": "b:2"}}'}, ["is not a valid cluster", "'x'"]),
        ({"TENSORFLEET_CLUSTER_SPEC": "{}"}, ["TENSORFLEET_CLUSTER_SPEC has no tasks"]),
        ({"TENSORFLEET_CLUSTER_SPEC": '{"worker": ["b"]}'}, ["/job:worker/task:0", "'b'", "host:port"]),
        ({"TENSORFLEET_CLUSTER_SPEC": '{"worker": ["b:70000"]}'}, ["'b:70000'", "host:port"]),
        ({"TENSORFLEET_CLUSTER_SPEC": '{"worker": ["b:1", "b:1"]}'}, ["task:0", "task:1", "same address"]),
        ({"TENSORFLEET_CLUSTER_SPEC": "@/no/such/file"}, ["TENSORFLEET_CLUSTER_SPEC", "/no/such/file"]),
        ({"TENSORFLEET_JOB_NAME": ""}, ["TENSORFLEET_JOB_NAME", "ps, worker"]),
        ({"TENSORFLEET_JOB_NAME": "chief"}, ["TENSORFLEET_JOB_NAME is 'chief'", "ps, worker"]),
        ({"TENSORFLEET_TASK_INDEX": ""}, ["TENSORFLEET_TASK_INDEX", "'host'"]),
        ({"TENSORFLEET_TASK_INDEX": "-1"}, ["TENSORFLEET_TASK_INDEX is '-1'"]),
        ({"TENSORFLEET_TASK_INDEX": "2"}, ["TENSORFLEET_TASK_INDEX is 2", "'worker'", "0, 1"]),
        ({"TENSORFLEET_PROTOCOL": "http"}, ["TENSORFLEET_PROTOCOL is 'http'", "grpc+stream or grpc"]),
        ({"TENSORFLEET_STREAM_PORT": "65536"}, ["TENSORFLEET_STREAM_PORT is '65536'"]),
        ({"TENSORFLEET_METRICS_PORT": "x"}, ["TENSORFLEET_METRICS_PORT is 'x'", "port"]),
        ({"TENSORFLEET_GPUS": "one"}, ["TENSORFLEET_GPUS is 'one'", "none", "auto", "number"]),
        ({"TENSORFLEET_GPUS": "-1"}, ["TENSORFLEET_GPUS is '-1'"]),
        ({"TENSORFLEET_BLAS_THREADS": "x"}, ["TENSORFLEET_BLAS_THREADS is 'x'", "number of threads"]),
        ({"TENSORFLEET_TASK_IDX": "1"}, ["TENSORFLEET_TASK_IDX", "did you mean TENSORFLEET_TASK_INDEX?"]),
        ({"TENSORFLEET_LOG_FORMAT": "xml"}, ["TENSORFLEET_LOG_FORMAT is 'xml'", "text or json"]),
        ({"TENSORFLEET_LOG_LEVEL": "loud"}, ["TENSORFLEET_LOG_LEVEL is 'loud'", "debug"]),
        ({"TENSORFLEET_DRAIN_SECONDS": "soon"}, ["TENSORFLEET_DRAIN_SECONDS is 'soon'", "seconds"]),
        ({"TENSORFLEET_DRAIN_SECONDS": "-1"}, ["TENSORFLEET_DRAIN_SECONDS is '-1'"]),
        ({"TENSORFLEET_DRAIN_SECONDS": "nan"}, ["TENSORFLEET_DRAIN_SECONDS is 'nan'"]),
        ({"TF_CONFIG": "{"}, ["TF_CONFIG is not JSON"]),
        ({"TF_CONFIG": "3"}, ["TF_CONFIG must be a JSON object"]),
        ({"TF_CONFIG": '{"task": "worker"}'}, ["TF_CONFIG must be a JSON object"]),
    ],
)
def test_wrong_settings_name_the_variable(changes: dict[str, str], words: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        from_environment(**changes)
    for word in words:
        assert word in str(caught.value)


def test_wrong_tf_config_names_itself() -> None:
    config = {**TF_CONFIG, "task": {"type": "evaluator", "index": 0}}
    with pytest.raises(SettingsError, match=r"TF_CONFIG's task type is 'evaluator'.* chief, worker, ps"):
        load([], {"TF_CONFIG": json.dumps(config)}, "host")


def test_a_wrong_flag_names_the_flag() -> None:
    with pytest.raises(SettingsError, match="--stream-port is 'x'"):
        load(["--stream-port", "x"], COMPLETE, "host")
