"""Writes a CycloneDX SBOM of an image, of its file system as a tar archive on standard input: `./run sbom`.

It has the Python distributions with their licenses, the interpreter, and the packages of Debian.
"""

from __future__ import annotations

import argparse
import re
import sys
import tarfile
import warnings
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from typing import IO

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

METADATA = re.compile(r"(\./)?(.*/)?site-packages/[^/]+\.dist-info/METADATA")
DPKG = re.compile(r"(\./)?var/lib/dpkg/(status|status\.d/[^/.]+)")
VENV = re.compile(r"(\./)?opt/tensorfleet/pyvenv\.cfg")


def distribution(data: bytes) -> Component:
    """A Python distribution, of its METADATA."""
    fields = BytesHeaderParser().parsebytes(data)
    name, version = str(fields["Name"]), str(fields["Version"])
    license = fields["License-Expression"]
    if license is None and fields["License"] and "\n" not in fields["License"]:
        license = fields["License"]
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        purl=PackageURL("pypi", None, name.lower().replace("_", "-"), version),
        licenses=[LicenseFactory().make_from_string(str(license))] if license else (),
    )


def packages(data: bytes) -> Iterator[Component]:
    """The installed packages of dpkg's list."""
    for paragraph in data.split(b"\n\n"):
        fields = BytesHeaderParser().parsebytes(paragraph.strip() + b"\n\n")
        name, version = fields["Package"], fields["Version"]
        if name and version and "not-installed" not in str(fields["Status"]).split():
            where = {"arch": str(fields["Architecture"])}
            yield Component(
                name=str(name),
                version=str(version),
                type=ComponentType.LIBRARY,
                purl=PackageURL("deb", "debian", str(name), str(version), where),
            )


def components(archive: IO[bytes]) -> list[Component]:
    """All that the archive of a file system says to have."""
    found: dict[str, Component] = {}
    with tarfile.open(fileobj=archive, mode="r|*") as tar:
        for member in tar:
            kind = next((k for k in (METADATA, DPKG, VENV) if k.fullmatch(member.name)), None)
            file = tar.extractfile(member) if kind and member.isfile() else None
            if file is None:
                continue
            data = file.read()
            if kind is METADATA:
                new = [distribution(data)]
            elif kind is DPKG:
                new = list(packages(data))
            else:
                version = re.search(r"^version = (\S+)", data.decode(), re.M)
                purl = PackageURL("generic", None, "python", version[1] if version else None)
                new = [
                    Component(
                        name="python",
                        version=version[1] if version else None,
                        type=ComponentType.APPLICATION,
                        purl=purl,
                    )
                ]
            found.update((str(component.purl), component) for component in new)
    return list(found.values())


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("image", help="its name, for the SBOM")
    flags = p.parse_args()
    found = components(sys.stdin.buffer)
    if not any(component.name == "tensorfleet" for component in found):
        print(f"sbom: {flags.image} has no distribution tensorfleet", file=sys.stderr)
        return 1
    name, _, version = flags.image.rpartition("/")[2].partition(":")
    bom = Bom(components=found)
    bom.metadata.component = Component(name=name, version=version or None, type=ComponentType.CONTAINER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what depends on what is not said, which the library advises
        text = JsonV1Dot6(bom).output_as_string(indent=2)
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error is not None:
        print(f"sbom: it is not valid: {error!r}", file=sys.stderr)
        return 1
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
