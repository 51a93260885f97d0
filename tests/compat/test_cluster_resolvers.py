"""Cluster resolvers answer as TensorFlow's do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

real = pytest.importorskip("tensorflow")

import tensorfleet as tf  # noqa: E402

TASKS = {"ps": ["p0:1"], "worker": ["w0:2", "w1:2"]}


class Pods:
    """A CoreV1Api of nodes that pods listen on."""

    def __init__(self, phase: str = "Running") -> None:
        self._phase = phase

    def list_pod_for_all_namespaces(self, label_selector: str) -> Any:
        names = ["b-1", "b-0"] if label_selector.endswith(("tensorflow", "w")) else ["c-0"]
        pods = [
            SimpleNamespace(
                metadata=SimpleNamespace(name=name),
                status=SimpleNamespace(
                    phase=self._phase, host_ip=f"10.0.0.{name[2:]}", pod_ip=f"10.0.0.{name[2:]}"
                ),
            )
            for name in names
        ]
        return SimpleNamespace(items=pods)


Make = Callable[[Any], Any]


def simple(lib: Any, **settings: Any) -> Any:
    return lib.distribute.cluster_resolver.SimpleClusterResolver(lib.train.ClusterSpec(TASKS), **settings)


def union(lib: Any, *clusters: Any, **settings: Any) -> Any:
    resolvers = [
        lib.distribute.cluster_resolver.SimpleClusterResolver(lib.train.ClusterSpec(cluster), task_id=index)
        for index, cluster in enumerate(clusters)
    ]
    return lib.distribute.cluster_resolver.UnionResolver(*resolvers, **settings)


def pods(lib: Any, *args: Any, phase: str = "Running", **settings: Any) -> Any:
    return lib.distribute.cluster_resolver.KubernetesClusterResolver(
        *args, override_client=Pods(phase), **settings
    )


MAKERS: dict[str, Make] = {
    "simple": simple,
    "simple with all": lambda lib: simple(
        lib,
        master="m:1",
        task_type="worker",
        task_id=0,
        environment="e",
        num_accelerators={"GPU": 2},
        rpc_layer="grpc",
    ),
    "simple of a dict": lambda lib: lib.distribute.cluster_resolver.SimpleClusterResolver(TASKS),
    "TF_CONFIG": lambda lib: lib.distribute.cluster_resolver.TFConfigClusterResolver(),
    "TF_CONFIG with all": lambda lib: lib.distribute.cluster_resolver.TFConfigClusterResolver(
        task_type="ps", task_id=0, rpc_layer="grpc", environment="e"
    ),
    "union": lambda lib: union(lib, TASKS, {"worker": ["z:1"], "chief": ["c:1"]}),
    "union of indices": lambda lib: union(lib, {"worker": {1: "a:1"}}, {"worker": ["b:1"]}),
    "union of the same task": lambda lib: union(lib, {"worker": {1: "a:1"}}, {"worker": {1: "b:1"}}),
    "union with all": lambda lib: union(lib, TASKS, task_type="worker", task_id=1, rpc_layer="grpc"),
    "union of none": lambda lib: union(lib),
    "union with more": lambda lib: union(lib, TASKS, more=1),
    "union of a number": lambda lib: lib.distribute.cluster_resolver.UnionResolver(1),
    "pods": pods,
    "pods of jobs": lambda lib: pods(lib, {"worker": ["n=w", "n=v"], "ps": ["n=p"]}, 1234, None),
    "pods that wait": lambda lib: pods(lib, phase="Pending"),
    "abstract": lambda lib: lib.distribute.cluster_resolver.ClusterResolver(),
}

CONFIGS = {
    "none": None,
    "one task": {"cluster": {"worker": ["w:1"]}, "task": {"type": "worker", "index": 0}},
    "full": {"cluster": TASKS, "task": {"type": "worker", "index": "1"}, "rpc_layer": "zz"},
    "without a task": {"cluster": TASKS},
    "a master": {"cluster": TASKS, "session_master": "m:1"},
}

QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "cluster_spec": lambda r: r.cluster_spec().as_dict(),
    "master": lambda r: r.master(),
    "master of a task": lambda r: r.master("worker", 1),
    "master by a layer": lambda r: r.master("worker", 1, "layer"),
    "master of half a task": lambda r: r.master("ps"),
    "master of no task": lambda r: r.master("worker", 9),
    "environment": lambda r: r.environment,
    "task_type": lambda r: r.task_type,
    "task_id": lambda r: r.task_id,
    "rpc_layer": lambda r: r.rpc_layer,
}


def change(resolver: Any) -> Any:
    resolver.task_type, resolver.task_id, resolver.rpc_layer = "ps", 0, "changed"
    return resolver


def answers(make: Make, lib: Any) -> dict[str, Any]:
    """The answers of a resolver to each question, before and after its attributes were changed."""
    try:
        resolver = make(lib)
    except Exception as error:
        return {"made": type(error).__name__}
    found: dict[str, Any] = {}
    for state in (lambda r: r, change):
        changed = state(resolver)
        for name, ask in QUESTIONS.items():
            try:
                found[f"{name} {state.__name__}"] = ask(changed)
            except Exception as error:
                # Ours says more than TensorFlow: which jobs and tasks there are.
                text = re.sub(r"(, which has [\d, ]+|\. It has .*)$", "", str(error))
                found[f"{name} {state.__name__}"] = (type(error).__name__, text)
    return found


@pytest.mark.parametrize(
    ("maker", "config"),
    [(m, c) for m in MAKERS for c in CONFIGS if c == "none" or m.startswith("TF_CONFIG")],
)
def test_answers_are_tensorflows(maker: str, config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if CONFIGS[config]:
        monkeypatch.setenv("TF_CONFIG", json.dumps(CONFIGS[config]))
    make = MAKERS[maker]
    assert answers(make, tf) == answers(make, real)


@pytest.mark.parametrize("task", [(None, None), ("ps", 0)])
def test_accelerators_are_counted_as_a_session_lists_them(
    task: tuple[str | None, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    given = {"GPU": 2}
    assert simple(tf, num_accelerators=given).num_accelerators(*task) == given
    assert simple(tf).num_accelerators(*task) == simple(real).num_accelerators(*task)
    ours = tf.distribute.cluster_resolver.TFConfigClusterResolver().num_accelerators(*task)
    with real.Graph().as_default():  # not eagerly
        theirs = real.distribute.cluster_resolver.TFConfigClusterResolver().num_accelerators(*task)
    assert {k: v for k, v in ours.items() if k != "GPU"} == {k: v for k, v in theirs.items() if k != "GPU"}
