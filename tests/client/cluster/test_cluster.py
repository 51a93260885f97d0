"""ClusterSpec, and what a Server makes of its arguments before it serves."""

from __future__ import annotations

from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.cluster import server
from tensorfleet.proto.cluster_pb2 import ClusterDef
from tensorfleet.proto.tensorflow_server_pb2 import ServerDef
from tensorfleet.train import ClusterSpec

DENSE = {"worker": ["w0:1", "w1:1"], "ps": ["p0:1"]}


def test_forms_of_a_cluster_are_the_same_cluster() -> None:
    spec = ClusterSpec(DENSE)
    assert spec.as_dict() == DENSE
    assert ClusterSpec(spec) == spec
    assert ClusterSpec(spec.as_cluster_def()) == spec
    assert ClusterSpec({"worker": {1: "w1:1", 0: "w0:1"}, "ps": ("p0:1",)}) == spec
    assert spec == {"worker": {0: "w0:1", 1: "w1:1"}, "ps": {0: "p0:1"}}
    assert spec != DENSE
    assert spec._cluster_spec == {"worker": {0: "w0:1", 1: "w1:1"}, "ps": {0: "p0:1"}}
    assert [job.name for job in spec.as_cluster_def().job] == ["ps", "worker"]
    assert repr(spec) == "ClusterSpec({'ps': ['p0:1'], 'worker': ['w0:1', 'w1:1']})"
    assert spec.jobs == ["worker", "ps"]
    assert not ClusterSpec({})


def test_indices_may_have_gaps() -> None:
    spec = ClusterSpec({"worker": {3: "w3:1", "1": "w1:1"}})
    assert spec.as_dict() == {"worker": {1: "w1:1", 3: "w3:1"}}
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("worker") == [1, 3]
    assert spec.task_address("worker", 3) == "w3:1"
    assert spec.job_tasks("worker") == [None, "w1:1", None, "w3:1"]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ClusterSpec([1]), TypeError, "`cluster` must be a dictionary mapping"),
        (
            lambda: ClusterSpec({"a": "x:1"}),
            TypeError,
            "The tasks for job 'a' must be a list",
        ),
        (lambda: ClusterSpec({"a": {"x": "y:1"}}), TypeError, "'a' must have integers for keys, not ['x']"),
        (lambda: ClusterSpec({"a": [3]}), TypeError, "Task address 3 must be bytes or unicode"),
        (lambda: ClusterSpec({3: ["x:1"]}), TypeError, "Job name 3 must be bytes or unicode"),
        (lambda: ClusterSpec(DENSE).num_tasks("b"), ValueError, "No such job in cluster: 'b'"),
        (lambda: ClusterSpec(DENSE).task_address("ps", 3), ValueError, "No task with index 3 in job 'ps'"),
        (lambda: server._server_def(DENSE, None, None, None, None), ValueError, "explicit `job_name`."),
        (lambda: server._server_def(DENSE, "worker", None, None, None), ValueError, "explicit `task_index`."),
        (
            lambda: server._server_def(5, None, None, None, None),
            TypeError,
            "Could not convert `server_or_clu",
        ),
    ],
)
def test_errors_are_tensorflows(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_server_def_takes_what_is_clear_and_lets_arguments_win() -> None:
    config = tf.ConfigProto(allow_soft_placement=True)
    one = server._server_def({"local": ["h:1"]}, None, None, None, config)
    assert (one.job_name, one.task_index, one.protocol) == ("local", 0, "grpc+stream")
    assert one.default_session_config.allow_soft_placement
    given = ServerDef(cluster=ClusterSpec(DENSE).as_cluster_def(), job_name="ps", protocol="grpc")
    other = server._server_def(given, "worker", 1, None, None)
    assert (other.job_name, other.task_index, other.protocol) == ("worker", 1, "grpc")
    assert given.job_name == "ps"
    assert isinstance(other.cluster, ClusterDef)
