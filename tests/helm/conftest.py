"""Common parts of the chart's tests: Helm, and what it renders."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="needs PyYAML: `./run test` installs it")

CHART = Path(__file__).parents[2] / "helm" / "tensorfleet"
OR_LAB = "; or set TENSORFLEET_K8S_LAB (k8s-dev/cluster.sh), once its setup.sh has run"
WITHOUT_HELM = f"needs Helm 4 or 3 on PATH; with Go: go install helm.sh/helm/v4/cmd/helm@latest{OR_LAB}"
WITHOUT_HELM_3 = (
    "needs Helm 3 on PATH as `helm3`, beside `helm`; with Go: GOBIN=DIR go install "
    "helm.sh/helm/v3/cmd/helm@latest, and DIR/helm renamed to helm3"
)
WITHOUT_UNITTEST = (
    "needs helm-unittest on PATH; with Go: go install "
    f"github.com/helm-unittest/helm-unittest/cmd/helm-unittest@latest{OR_LAB}"
)
KUBERNETES = "1.34.0"  # what a Helm without a cluster takes itself for, where it does not know better

Render = Callable[..., list[dict[str, Any]]]
Template = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def chart() -> Path:
    """The chart's directory."""
    return CHART


@pytest.fixture(scope="session")
def tools() -> dict[str, str]:
    """The environment in which the programs are, PATH and KUBE_SCHEMAS: this one, or that of the lab."""
    lab = os.environ.get("TENSORFLEET_K8S_LAB")
    if not lab:
        return dict(os.environ)
    script = 'eval "$("$0/lab.sh" env)"; env -0'
    done = subprocess.run(["bash", "-c", script, lab], capture_output=True, check=True, text=True, timeout=30)
    return dict(item.split("=", 1) for item in done.stdout.split("\0") if item)


@pytest.fixture(scope="session")
def helm(tools: dict[str, str]) -> str:
    """The path of Helm."""
    path = shutil.which("helm", path=tools.get("PATH"))
    if path is None:
        pytest.skip(WITHOUT_HELM)
    return path


@pytest.fixture(scope="session")
def helm3(tools: dict[str, str], helm: str) -> str:
    """The path of Helm 3, beside a newer one."""
    path = shutil.which("helm3", path=tools.get("PATH"))
    if path is None:
        pytest.skip(WITHOUT_HELM_3)
    return path


@pytest.fixture(scope="session")
def helm_unittest(tools: dict[str, str]) -> str:
    """The path of helm-unittest, as a program of its own."""
    path = shutil.which("helm-unittest", path=tools.get("PATH"))
    if path is None:
        pytest.skip(WITHOUT_UNITTEST)
    return path


def run_template(helm: str, text: str) -> subprocess.CompletedProcess[str]:
    """Runs `helm template` with values, as text."""
    return subprocess.run(
        [helm, "template", "fleet", str(CHART), "-n", "ml", "--kube-version", KUBERNETES, "-f", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "KUBECONFIG": os.devnull},
    )


@pytest.fixture(scope="session")
def template(helm: str) -> Template:
    """Runs `helm template` with values, once for the same ones; returns the process as it ended."""
    run_once = functools.cache(run_template)

    def run(values: dict[str, Any] | None = None, program: str = helm) -> subprocess.CompletedProcess[str]:
        return run_once(program, json.dumps(values or {}))

    return run


@pytest.fixture(scope="session")
def render(template: Template) -> Render:
    """Renders the chart with values; returns its objects."""

    def run(values: dict[str, Any] | None = None, *program: str) -> list[dict[str, Any]]:
        done = template(values, *program)
        assert done.returncode == 0, done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    return run
