"""Metadata of the two distributions: what their pyproject files say."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"client": "tensorfleet", "service": "tensorfleet_service"}

# Where a module's name is not that of its distribution.
DISTRIBUTIONS = {
    "absl": "absl-py",
    "google.protobuf": "protobuf",
    "grpc": "grpcio",
    "cupyx": "cupy",
    "PIL": "pillow",
    "pynvml": "nvidia-ml-py",
    "re2": "google-re2",
    "cudnn": "nvidia-cudnn-frontend",
    "cuda": "",  # CuPy's
    "tensorfleet_kernels": "",  # optional, and in this repository
    "tensorfleet_service": "",
}


LOADED = {"nvidia-cudnn-cu12"}
"""Distributions with libraries that another one loads."""


def project(directory: str) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / directory / "pyproject.toml").read_text())["project"]
    return table


def declared(directory: str) -> set[str]:
    """The distributions that it asks for, in any extra."""
    needs = project(directory)
    lines = [*needs["dependencies"], *(n for extra in needs["optional-dependencies"].values() for n in extra)]
    names = {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-") for line in lines}
    return {"cupy" if name.startswith("cupy-") else name for name in names} - LOADED


def imported(directory: str) -> set[str]:
    """The distributions of all that its code imports, at any place."""
    found = set()
    for path in (ROOT / directory / PACKAGES[directory]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
                modules = [name.value for name in node.args[:1] if isinstance(name, ast.Constant)]
            for module in modules:
                name = next((n for n in DISTRIBUTIONS if f"{module}.".startswith(f"{n}.")), None)
                top = module.partition(".")[0]
                if top not in sys.stdlib_module_names and top != PACKAGES[directory]:
                    found.add(DISTRIBUTIONS[name] if name else top.lower().replace("_", "-"))
    return found - {""}


@pytest.mark.parametrize("directory", PACKAGES)
def test_all_that_is_imported_is_declared(directory: str) -> None:
    missing = imported(directory) - declared(directory)
    if directory == "service":
        # What the client brings, in the range that it declares, and what both share.
        missing -= declared("client")
    assert not missing


def test_the_check_sees_imports() -> None:
    assert {"numpy", "tqdm", "protobuf", "kubernetes", "google-crc32c", "shtab"} <= imported("client")
    assert {"numpy", "prometheus-client", "cupy", "tensorfleet"} <= imported("service")


@pytest.mark.parametrize("directory", PACKAGES)
def test_nothing_is_declared_in_vain(directory: str) -> None:
    assert declared(directory) <= imported(directory)


@pytest.mark.parametrize("directory", PACKAGES)
def test_each_has_the_licence_of_the_whole(directory: str) -> None:
    """A distribution takes only files below its own directory, so each has a copy."""
    assert (ROOT / directory / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    for name in project(directory)["license-files"]:
        assert (ROOT / directory / name).is_file()


@pytest.mark.parametrize("directory", PACKAGES)
def test_each_has_a_description_without_links_into_the_checkout(directory: str) -> None:
    text = (ROOT / directory / project(directory)["readme"]).read_text()
    assert text.startswith(f"# {project(directory)['name']}\n")
    assert not re.search(r"\]\((?!https?:)", text)
