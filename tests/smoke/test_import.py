"""The modules that `import tensorfleet` brings in: the quickest sign of a broken or slow installation."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata

import pytest


def modules_after(statement: str) -> set[str]:
    """Returns the top-level modules of a fresh interpreter after `statement`."""
    program = (
        f"import json, sys; {statement}; print(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_client_imports_neither_grpc_nor_the_service() -> None:
    loaded = modules_after("import tensorfleet")
    assert "tensorfleet" in loaded
    assert loaded.isdisjoint({"grpc", "tensorfleet_service", "prometheus_client", "tensorflow"})


def test_client_has_the_public_names_of_a_first_program() -> None:
    names = "tf.constant, tf.placeholder, tf.Variable, tf.device, tf.Session, tf.train.Server"
    assert "numpy" in modules_after(f"import tensorfleet as tf; {names}")


def test_service_imports() -> None:
    assert "tensorfleet_service" in modules_after("import tensorfleet_service")


@pytest.mark.parametrize("distribution", ["tensorfleet", "tensorfleet-service"])
def test_distributions_are_installed_in_the_same_version(distribution: str) -> None:
    assert metadata.version(distribution) == metadata.version("tensorfleet")


def test_command_is_installed() -> None:
    scripts = metadata.entry_points(group="console_scripts", name="tensorfleet")
    assert [script.value for script in scripts] == ["tensorfleet.cli.main:main"]


@pytest.mark.parametrize("distribution", ["tensorfleet", "tensorfleet-service"])
def test_distributions_carry_their_licence_and_a_description(distribution: str) -> None:
    said = metadata.metadata(distribution)
    assert "Apache-2.0" in said["License-Expression"]
    assert said["Author"] == "TensorFleet authors"
    assert "dataflow" in said["Keywords"]
    assert str(said.get_payload()).startswith(f"# {distribution}\n")
    files = {str(path).partition("licenses/")[2]: path for path in metadata.files(distribution) or ()}
    for name in said.get_all("License-File"):
        assert files[name].read_text().strip()
    assert "Apache License" in files["LICENSE"].read_text()
