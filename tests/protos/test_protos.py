"""The checked-in messages are those of the .proto files, and importing a few does not import all."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tools_version() -> str:
    try:
        return metadata.version("grpcio-tools")
    except metadata.PackageNotFoundError:
        return "none"


needs_protoc = pytest.mark.skipif(
    tools_version() != "1.76.0", reason=f"needs grpcio-tools 1.76.0, found {tools_version()}"
)


def check(root: Path) -> subprocess.CompletedProcess[str]:
    script = root / "protos" / "generate.py"
    return subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, timeout=100)


@needs_protoc
def test_generated_code_is_current() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


@needs_protoc
def test_check_finds_a_changed_message_and_a_left_over_file(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "protos", tmp_path / "protos")
    generated = tmp_path / "client" / "tensorfleet" / "proto"
    shutil.copytree(ROOT / "client" / "tensorfleet" / "proto", generated)
    versions = tmp_path / "protos" / "tensorfleet" / "proto" / "versions.proto"
    versions.write_text(versions.read_text().replace("int32 producer = 1", "int32 producer = 9"))
    (generated / "gone_pb2.py").touch()

    done = check(tmp_path)

    assert done.returncode == 1
    named = [line.split()[0].rpartition("/")[2] for line in done.stderr.splitlines()]
    assert named == ["gone_pb2.py", "versions_pb2.py"]


@pytest.mark.parametrize("source", sorted((ROOT / "protos").rglob("*.proto")), ids=lambda path: path.stem)
def test_every_proto_file_has_its_module(source: Path) -> None:
    module = importlib.import_module(f"tensorfleet.proto.{source.stem}_pb2")
    assert module.DESCRIPTOR.name == f"tensorfleet/proto/{source.name}"
