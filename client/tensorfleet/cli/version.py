"""`tensorfleet version`."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata

DISTRIBUTIONS = ("tensorfleet", "tensorfleet-service", "numpy", "grpcio", "protobuf", "ml_dtypes")


def main(argv: Sequence[str]) -> int:
    """Prints the versions of the relevant packages and of Python; there are no arguments."""
    for name in DISTRIBUTIONS:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = "not installed"
        print(f"{name:<20} {version}")
    print(f"{'python':<20} {platform.python_version()}")
    return 0
