"""The scripts of k8s-dev, with programs that only write down how they were called."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.k8s.kubernetes import ROOT

SCRIPTS = ROOT / "k8s-dev"
RECORD = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
case "$(basename "$0") $*" in
  "kind get clusters") cat "$STATE" 2>/dev/null ;;
  "kind create"*) echo tensorfleet >"$STATE" ;;
  "kind delete"*) rm -f "$STATE" ;;
  "docker image inspect"*) echo 1 ;;
  "docker info"*) exit "${DOCKER_INFO:-0}" ;;
esac
"""


class Fakes:
    """A PATH on which docker, kind, kubectl and helm do nothing but say how they were called."""

    def __init__(self, directory: Path) -> None:
        self._calls = directory / "calls"
        path = directory / "bin"
        path.mkdir()
        for name in ("docker", "kind", "kubectl", "helm"):
            (path / name).write_text(RECORD)
            (path / name).chmod(0o755)
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("TENSORFLEET_")},
            "PATH": f"{path}:{os.environ['PATH']}",
            "CALLS": str(self._calls),
            "STATE": str(directory / "state"),
        }

    def run(self, script: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPTS / script, *arguments],
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def calls(self) -> list[str]:
        text = self._calls.read_text() if self._calls.exists() else ""
        self._calls.unlink(missing_ok=True)
        return text.splitlines()


@pytest.fixture
def fakes(tmp_path: Path) -> Fakes:
    return Fakes(tmp_path)


def test_up_and_down_with_kind(fakes: Fakes) -> None:
    done = fakes.run("up", "--set", "worker.replicas=3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("export KUBECONFIG=")
    order = [
        "kind create cluster --name tensorfleet --config",
        "kind get kubeconfig --name tensorfleet",
        "docker build -q -t localhost/tensorfleet:dev",
        "kind load docker-image --name tensorfleet localhost/tensorfleet:dev",
        "helm upgrade --install fleet",
        "kubectl -n default rollout restart statefulset",
    ]
    calls = fakes.calls()
    positions = [next(i for i, call in enumerate(calls) if call.startswith(text)) for text in order]
    assert positions == sorted(positions)
    (helm,) = [call for call in calls if call.startswith("helm")]
    assert helm.endswith("--wait --timeout 5m --set worker.replicas=3")
    assert "--set image.tag=dev" in helm

    assert fakes.run("up").returncode == 0
    assert not [call for call in fakes.calls() if call.startswith("kind create")], "it is there already"

    assert fakes.run("down").returncode == 0
    calls = fakes.calls()
    assert any(call.startswith("helm uninstall fleet") for call in calls)
    assert any(call.startswith("docker rmi localhost/tensorfleet:dev") for call in calls)
    assert calls[-1] == "kind delete cluster --name tensorfleet"


@pytest.mark.parametrize("was_up", [False, True])
@pytest.mark.parametrize("code", [0, 1])
def test_e2e_leaves_the_cluster_as_it_was(fakes: Fakes, tmp_path: Path, was_up: bool, code: int) -> None:
    pytest_command = tmp_path / "python"
    pytest_command.write_text(f'#!/bin/sh\necho "pytest $TENSORFLEET_K8S_IMAGE $*" >>"$CALLS"\nexit {code}\n')
    pytest_command.chmod(0o755)
    if was_up:
        (tmp_path / "state").write_text("tensorfleet\n")
    done = fakes.run("e2e", "-k", "submit", TENSORFLEET_K8S_PYTHON=str(pytest_command))
    assert done.returncode == code, done.stderr
    calls = fakes.calls()
    (tests,) = [call for call in calls if call.startswith("pytest")]
    assert tests.startswith("pytest localhost/tensorfleet:e2e -m pytest tests/k8s")
    assert tests.endswith("-k submit")
    after = calls[calls.index(tests) :]
    assert any(call.startswith("kubectl delete namespace tensorfleet-e2e") for call in after)
    assert any(call.startswith("docker rmi") for call in after)
    assert ("kind delete cluster --name tensorfleet" in after) is not was_up


@pytest.mark.parametrize(
    ("script", "code"), [("up", 1), ("down", 1), ("e2e", 3)], ids=lambda value: str(value)
)
def test_without_a_cluster_they_say_what_to_do(fakes: Fakes, script: str, code: int) -> None:
    done = fakes.run(script, DOCKER_INFO="1")
    assert done.returncode == code
    assert "start Docker, with kind, kubectl and helm on PATH, or set TENSORFLEET_K8S_LAB" in done.stderr
    done = fakes.run(script, TENSORFLEET_K8S_LAB="/nowhere")
    assert done.returncode == code
    assert "TENSORFLEET_K8S_LAB is /nowhere, which has no lab.sh" in done.stderr
