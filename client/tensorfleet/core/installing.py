"""Instructions to install what is missing; they work without a package index that has TensorFleet."""

from __future__ import annotations

import re

_DISTRIBUTION = "tensorfleet"


def the_service() -> str:
    """The command that installs `tensorfleet-service` beside this package."""
    from importlib import metadata  # takes longer to import than all that this package needs of it

    try:
        version = metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:  # run from its source, without an installation
        version = "VERSION"
    return (
        "pip install ./client ./service in a checkout of TensorFleet, or "
        f"pip install tensorfleet_service-{version}-py3-none-any.whl, its wheel"
    )


def the_extra(extra: str, package: str) -> str:
    """The command that installs an extra of this distribution, for `package` above all."""
    from importlib import metadata

    try:
        lines = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        lines = []
    needs = [
        requirement.strip()
        for requirement, _, marker in (line.partition(";") for line in lines)
        if re.search(rf"""extra == ['"]{re.escape(extra)}['"]""", marker)
    ]
    return "pip install " + " ".join(f'"{need}"' for need in needs or [package])
