"""What others have made: `./run audit` and `./run sbom`."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run() -> ModuleType:
    loader = SourceFileLoader("run_script", str(ROOT / "run"))
    spec = spec_from_loader("run_script", loader)
    assert spec is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        loader.exec_module(module)
    return module


def entry(name: str, *vulnerabilities: str) -> dict[str, Any]:
    found = [{"id": id, "fix_versions": ["2.0"]} for id in vulnerabilities]
    return {"name": name, "version": "1.0", "vulns": found}


SKIPPED = {"name": "c", "skip_reason": "Dependency not found on PyPI and could not be audited: c (1.0)"}


@pytest.mark.parametrize(
    ("dependencies", "code", "text"),
    [
        ([entry("a"), entry("b")], 0, "0 of 2 distributions have known vulnerabilities"),
        ([entry("a", "CVE-1", "CVE-2"), entry("b")], 1, "1 of 2 distributions"),
        # pip-audit itself ends with code 0 for these.
        ([entry("a"), SKIPPED], 3, "1 of 2 distributions were not audited"),
        ([entry("a")], 3, "1 of 2 distributions were not audited"),
        (None, 3, "nothing was audited: PyPI, which has the advisories, is not reached"),
    ],
)
def test_what_was_not_audited_is_not_fine(
    run: ModuleType, capsys: pytest.CaptureFixture[str], dependencies: Any, code: int, text: str
) -> None:
    report = "" if dependencies is None else json.dumps({"dependencies": dependencies, "fixes": []})
    assert run.audited(report, "Traceback\nrequests.exceptions.ConnectionError: no", 2) == code
    shown = capsys.readouterr()
    assert text in shown.err
    assert ("a 1.0: CVE-2, fixed in 2.0" in shown.out) is (code == 1)


def test_what_is_audited_is_what_the_image_installs(run: ModuleType) -> None:
    pins = run.image_pins()
    assert all(re.fullmatch(r"[a-z0-9.-]+==[^ ]+", pin) for pin in pins), pins
    names = {pin.partition("==")[0] for pin in pins}
    assert {"numpy", "grpcio", "cryptography", "pillow"} <= names
    (install,) = re.findall(r"install -q --no-compile -r requirements\.lock.*?\n(.*?)\n", DOCKERFILE)
    assert install.split()[-1] == "pillow", "another package besides: image_pins has to know it"


DOCKERFILE = (ROOT / "Dockerfile").read_text()
FILES = {
    "opt/tensorfleet/pyvenv.cfg": "home = /usr/local/bin\nversion = 3.12.1\n",
    "opt/tensorfleet/lib/python3.12/site-packages/tensorfleet-0.1.0.dist-info/METADATA": (
        "Metadata-Version: 2.4\nName: tensorfleet\nVersion: 0.1.0\nLicense-Expression: Apache-2.0\n\nText\n"
    ),
    "opt/tensorfleet/lib/python3.12/site-packages/typing_extensions-4.16.0.dist-info/METADATA": (
        "Metadata-Version: 2.4\nName: typing_extensions\nVersion: 4.16.0\n"
    ),
    "var/lib/dpkg/status": (
        "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-9\n\n"
        "Package: gone\nStatus: deinstall ok not-installed\nArchitecture: amd64\nVersion: 1\n\n"
    ),
    "etc/passwd": "root",
}


def sbom(files: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    pytest.importorskip("cyclonedx", reason="needs the packages of requirements-audit.lock")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    command = [sys.executable, str(ROOT / "k8s-dev" / "sbom.py"), "registry.example/tensorfleet:1"]
    return subprocess.run(command, input=archive.getvalue(), capture_output=True, timeout=60)


def test_an_sbom_has_what_the_image_has() -> None:
    done = sbom(FILES)
    assert done.returncode == 0, done.stderr
    bom = json.loads(done.stdout)
    assert (bom["bomFormat"], bom["metadata"]["component"]["version"]) == ("CycloneDX", "1")
    found = {component["purl"]: component for component in bom["components"]}
    assert set(found) == {
        "pkg:deb/debian/libc6@2.36-9?arch=amd64",
        "pkg:generic/python@3.12.1",
        "pkg:pypi/tensorfleet@0.1.0",
        "pkg:pypi/typing-extensions@4.16.0",
    }
    assert "Apache-2.0" in json.dumps(found["pkg:pypi/tensorfleet@0.1.0"]["licenses"])


def test_another_image_has_no_sbom() -> None:
    done = sbom({"etc/passwd": "root"})
    assert done.returncode == 1
    assert b"has no distribution tensorfleet" in done.stderr
