"""`tensorfleet certs`: a development CA, and certificates for the tasks and users of a cluster."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.security import settings
from tensorfleet.security.identity import task_uri, user_uri
from tensorfleet.security.settings import is_loopback
from tensorfleet.security.tokens import ROLES, write_private

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet certs`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet certs",
        description="Make a CA in a directory, unless it has one, and certificates of it for the tasks of a "
        "cluster and for users. Call it again for new ones: tasks and clients read them when they change.",
        epilog="The CA's key lies in the directory, too: whoever has it can be any task. For clusters that "
        "matter, take the CA that you have, and give its certificates the same names (docs/security.md).",
        allow_abbrev=False,
    )
    p.add_argument("directory", metavar="DIRECTORY", help="for the files; it is made if need be")
    p.add_argument(
        "--cluster-spec",
        default=os.environ.get("TENSORFLEET_CLUSTER_SPEC"),
        metavar="JSON",
        help="the cluster: JSON or @FILE (default: TENSORFLEET_CLUSTER_SPEC)",
    )
    p.add_argument(
        "--user",
        type=_user,
        action="append",
        default=[],
        metavar="NAME[:ROLE]",
        help=f"a certificate for a user, whose role is {', '.join(ROLES)} (default: run); may be repeated",
    )
    p.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="a further name or address of all tasks, such as localhost for forwarded ports; may be repeated",
    )
    p.add_argument(
        "--cluster", type=_label, default="default", metavar="NAME", help="its name (default: default)"
    )
    p.add_argument(
        "--trust-domain",
        type=_label,
        default="tensorfleet.local",
        metavar="NAME",
        help="of the identities (default: tensorfleet.local)",
    )
    rotation = p.add_mutually_exclusive_group()
    rotation.add_argument(
        "--new-ca",
        action="store_true",
        help="make another CA, which signs from now on; ca.pem has both, so that whoever has it trusts the "
        "certificates of either. Give it to everybody before you make new certificates",
    )
    rotation.add_argument(
        "--drop-old-ca",
        action="store_true",
        help="leave the CA that signs alone in ca.pem: for when everybody has a certificate of it",
    )
    p.add_argument("--days", type=_days, default=90.0, metavar="N", help="until they end (default: 90)")
    return p


def main(argv: Sequence[str]) -> int:
    """Makes the files and prints how to use them; returns 0, or 1 with the reason on standard error."""
    p = parser()
    flags = p.parse_args(argv)
    rotates = flags.new_ca or flags.drop_old_ca
    if rotates and flags.user:
        p.error("--new-ca and --drop-old-ca make no certificates: everybody gets ca.pem first")
    if not (flags.cluster_spec or flags.user or rotates):
        p.error("certificates for whom? Give --cluster-spec, --user, or both")
    from tensorfleet.security.authority import Authority, key_pem, pem

    folder = Path(flags.directory)
    certificate, key = folder / "ca.pem", folder / "ca-key.pem"
    try:
        names = {} if rotates else _names(flags)
        folder.mkdir(parents=True, exist_ok=True)
        if certificate.exists() or key.exists():
            authority = Authority.load(certificate.read_bytes(), key.read_bytes())
        elif rotates:
            raise ValueError(f"there is no CA in {folder}")
        else:
            authority = None
        if authority is None or flags.new_ca:
            trusted = certificate.read_bytes() if authority is not None else b""
            authority = Authority.create(f"TensorFleet {flags.cluster}", max(flags.days, 3650.0))
            write_private(str(key), key_pem(authority.key).decode())
            certificate.write_bytes(pem(authority.certificate) + trusted)
        elif flags.drop_old_ca:
            certificate.write_bytes(pem(authority.certificate))
        if rotates:
            print(f"# {certificate.absolute()} is for all tasks and users now")
        for name, (uri, hosts) in names.items():
            chain, private = authority.issue(uri, hosts, flags.days)
            # The key first: a reader in between finds that the two do not fit, and keeps the old ones.
            write_private(str(folder / f"{name}-key.pem"), private.decode())
            (folder / f"{name}.pem").write_bytes(chain)
    except (OSError, ValueError) as error:
        print(f"tensorfleet certs: {error}", file=sys.stderr)
        return 1
    for name in names:
        paths = (folder / f"{name}.pem", folder / f"{name}-key.pem", certificate)
        variables = (settings.CERT, settings.KEY, settings.CA)
        values = " ".join(f"{v}={path.absolute()}" for v, path in zip(variables, paths, strict=True))
        print(f"# {name}\nexport {values}")
    return 0


def _names(flags: argparse.Namespace) -> dict[str, tuple[str, list[str]]]:
    """The certificates to make: from file names to identities and hosts."""
    names: dict[str, tuple[str, list[str]]] = {}
    if flags.cluster_spec:
        text = flags.cluster_spec
        text = Path(text[1:]).read_text() if text.startswith("@") else text
        try:
            spec = ClusterSpec(json.loads(text))
        except (ValueError, TypeError) as e:
            raise ValueError(f"--cluster-spec is not a cluster in JSON, or @FILE with one: {e}") from None
        for job in spec.jobs:
            for index in spec.task_indices(job):
                host = spec.task_address(job, index).rpartition(":")[0].strip("[]")
                hosts = [host, *flags.host]
                if is_loopback(host):
                    hosts += ["localhost", "127.0.0.1", "::1"]
                uri = task_uri(flags.trust_domain, flags.cluster, job, index)
                names[f"{job}-{index}"] = uri, list(dict.fromkeys(hosts))
    for user, role in flags.user:
        names[f"user-{user}"] = user_uri(flags.trust_domain, flags.cluster, role, user), []
    return names


def _user(text: str) -> tuple[str, str]:
    name, _, role = text.partition(":")
    if not _NAME.fullmatch(name) or (role or "run") not in ROLES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME or NAME:ROLE with a role of {', '.join(ROLES)}"
        )
    return name, role or "run"


def _label(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name: letters, digits, dots and dashes")
    return text


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days < 36_500:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days")
    return days
