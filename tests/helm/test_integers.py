"""Every integer of the values is rendered as one, however large: a file's numbers are floats to Helm."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="needs PyYAML: `./run test` installs it")

CHART = Path(__file__).parents[2] / "helm" / "tensorfleet"
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
LARGE = 20261122
MONITOR = {"enabled": True}
EVERYTHING: dict[str, Any] = {
    "chief": {"enabled": True},
    "evaluator": {"enabled": True},
    "worker": {"slots": 9, "autoscaling": {"enabled": True, "maxReplicas": 5}},
    "defaults": {"persistence": {"enabled": True}},
    "client": {"deployment": {"enabled": True}, "job": {"enabled": True, "script": "1"}},
    "gang": {"kind": "coscheduling"},
    "metrics": {"podMonitor": MONITOR},
    "service": {"type": "NodePort"},
    "workerPools": [{"name": "pool", "replicas": 1, "gpu": {"enabled": True}}],
}
# As many objects or addresses as the number says, or no more than a limit allows.
SMALLER = {"replicas": 3, "slots": 9, "minReplicas": 2, "maxReplicas": 8, "grpc": 30222, "stream": 30223}
SMALLER |= {"certificateDays": 300, "seconds": 300}
FLOAT = re.compile(r"\d(\.\d+)?e\+\d")


def integers(schema: dict[str, Any], path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values that may be an integer."""
    if "$ref" in schema:
        schema = SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("type", ())
    found = [path] if {"integer", "number"} & set([kinds] if isinstance(kinds, str) else kinds) else []
    for key, part in schema.get("properties", {}).items():
        found += integers(part, (*path, key))
    if "properties" in schema.get("items", {}) or "$ref" in schema.get("items", {}):
        found += integers(schema["items"], (*path, 0))
    return found


def with_all(number: Callable[[str], int]) -> dict[str, Any]:
    """Values in which every integer is set."""
    values: dict[str, Any] = json.loads(json.dumps(EVERYTHING))
    for path in PATHS:
        place: Any = values
        for key in path[:-1]:
            place = place[key] if isinstance(key, int) else place.setdefault(key, {})
        name = str(path[-1])
        if name == "minAvailable":
            continue  # Kubernetes takes it or maxUnavailable; it is of one kind with that
        place[name] = number(name)
        if name == "drainSeconds":
            place["terminationGracePeriodSeconds"] = place[name] + 1
    return values


PATHS = integers(SCHEMA)


def test_the_walk_finds_them() -> None:
    assert {("image", "tag"), ("client", "job", "activeDeadlineSeconds"), ("worker", "replicas")} < set(PATHS)
    assert len(PATHS) > 100


@pytest.mark.parametrize("program", ["helm", "helm3"])
def test_rendered_as_integers(
    request: pytest.FixtureRequest,
    template: Callable[..., subprocess.CompletedProcess[str]],
    program: str,
) -> None:
    values = with_all(lambda name: SMALLER.get(name, LARGE))
    done = template(values, request.getfixturevalue(program))
    assert done.returncode == 0, done.stderr
    floats = [line for line in done.stdout.splitlines() if FLOAT.search(line)]
    assert not floats
    assert done.stdout.count(str(LARGE)) > 90


def test_tags_dates_and_users(template: Callable[..., subprocess.CompletedProcess[str]], helm: str) -> None:
    """Numbers within Kubernetes' own objects, too: OpenShift's users have ten digits."""
    user = 1000650000
    values = {
        "image": {"tag": LARGE},
        "defaults": {
            "podSecurityContext": {"runAsUser": user},
            "tolerations": [{"tolerationSeconds": LARGE}],
        },
        "client": {"job": {"enabled": True, "script": "1", "activeDeadlineSeconds": LARGE}},
        "extraDeploy": [{"kind": "ConfigMap", "metadata": {"name": "a", "generation": LARGE}}],
    }
    done = template(values, helm)
    assert done.returncode == 0, done.stderr
    documents = [thing for thing in yaml.safe_load_all(done.stdout) if thing]
    things = {thing["kind"]: thing for thing in documents if "credentials" not in thing["metadata"]["name"]}
    pod = things["StatefulSet"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == f"tensorfleet:{LARGE}"
    assert pod["securityContext"]["runAsUser"] == user
    assert pod["tolerations"] == [{"tolerationSeconds": LARGE}]
    assert things["Job"]["metadata"]["labels"]["app.kubernetes.io/component"] == "job"
    assert things["Job"]["spec"]["activeDeadlineSeconds"] == LARGE
    assert f"generation: {LARGE}\n" in done.stdout
