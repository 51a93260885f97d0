"""Every value of the chart counts: another one renders something else."""

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
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

# With one of these, each value has something to change.
MONITOR = {"enabled": True}
EVERYTHING: dict[str, Any] = {
    "chief": {"enabled": True},
    "worker": {"slots": 9, "autoscaling": {"enabled": True, "maxReplicas": 5}},
    "defaults": {"gpu": {"enabled": True}, "persistence": {"enabled": True}},
    "client": {"job": {"enabled": True, "script": "1"}},
    "networkPolicy": {"restrictEgress": True},
    "gang": {"kind": "coscheduling"},
    "metrics": {"podMonitor": MONITOR, "rules": MONITOR, "dashboard": MONITOR},
}
CONTEXTS: tuple[dict[str, Any], ...] = (
    EVERYTHING,
    {
        "metrics": {"serviceMonitor": MONITOR},
        "gang": {"kind": "volcano"},
        "service": {"type": "LoadBalancer"},
        "defaults": {"serviceAccount": {"create": True}},
        "ps": {"updateStrategy": {"type": "RollingUpdate"}},
        "security": {"existingSecrets": {"tasks": "t", "tokens": "u", "client": "v"}},
    },
    {
        "security": {
            "issuerRef": {"name": "i"},
            "tokenReview": {"enabled": True, "groups": {"g": "run"}, "serviceAccounts": {"a/b": "run"}},
        }
    },
)
# What a test cannot make up by the type alone.
OTHERS = {
    "image.digest": "sha256:" + "a" * 64,
    "image.pullSecrets": ["s"],
    "global.imagePullSecrets": ["s"],
    "check.deletePolicy": "hook-failed",
    "client.job.args": ["a"],
    "defaults.persistence.accessModes": ["ReadWriteMany"],
    "defaults.image": {"tag": "x"},
    "workerPools": [{"name": "p", "replicas": 1}],
    "defaults.affinity": {"nodeAffinity": {}},
    "extraDeploy": [{"kind": "ConfigMap"}],
    "defaults.command": ["another"],
    "defaults.extraArgs": ["--another"],
    "defaults.updateStrategy.rollingUpdate.maxUnavailable": 2,
    "defaults.podDisruptionBudget.minAvailable": "10%",
    "defaults.podDisruptionBudget.maxUnavailable": 2,
    "defaults.persistence.size": "9Gi",
    "ps.updateStrategy.rollingUpdate.maxUnavailable": 2,
    "service.loadBalancerSourceRanges": ["10.0.0.0/8"],
    "worker.slots": 10,
    "security.hosts": ["another.example"],
    "security.tokenReview.serviceAccounts": {"c/d": "read"},
    "security.tokenReview.groups": {"h": "read"},
    "security.schedule": "0 0 * * *",
    "worker.autoscaling.maxReplicas": 6,
}


def leaves(
    values: dict[str, Any], schema: dict[str, Any], prefix: str = ""
) -> list[tuple[str, Any, dict[str, Any]]]:
    """Path, value and schema of each value."""
    found = []
    for key, value in values.items():
        part = schema["properties"][key]
        part = SCHEMA["definitions"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        if isinstance(value, dict) and value and "properties" in part:
            found += leaves(value, part, f"{prefix}{key}.")
        else:
            found.append((prefix + key, value, part))
    return found


def another(path: str, value: Any, schema: dict[str, Any]) -> Any:
    """A value that the schema takes, other than the default."""
    if path in OTHERS:
        return OTHERS[path]
    if "enum" in schema:
        return next(choice for choice in schema["enum"] if choice != value and choice)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return "another"
    return [{"name": "another"}] if isinstance(value, list) else {"another": "one"}


def with_value(values: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(json.dumps(values))
    *above, key = path.split(".")
    place = result
    for name in above:
        place = place.setdefault(name, {})
    place[key] = not place[key] if isinstance(value, bool) and key in place else value
    return result


@pytest.mark.parametrize(
    ("path", "value", "schema"),
    [pytest.param(*leaf, id=leaf[0]) for leaf in leaves(VALUES, SCHEMA)],
)
def test_counts(
    template: Callable[..., subprocess.CompletedProcess[str]], path: str, value: Any, schema: dict[str, Any]
) -> None:
    problem = f"{path} changes nothing"
    for context in CONTEXTS:
        before = template(context)
        after = template(with_value(context, path, another(path, value, schema)))
        assert before.returncode == 0, before.stderr
        if after.returncode != 0:  # it may go with the other values of the other context
            problem = after.stderr
            continue
        # A change of the ClusterSpec's checksum alone, or of a Job's name, would say nothing about the value.
        if _plain(before.stdout) != _plain(after.stdout):
            return
    pytest.fail(problem)


def _plain(text: str) -> str:
    return re.sub(r"checksum/.*|-job-[0-9a-f]{8}", "", text)
