"""`tensorfleet token`: makes, lists and revokes the tokens of a cluster's clients."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from tensorfleet.cli.table import table
from tensorfleet.security import settings, tokens
from tensorfleet.security.settings import SecurityError
from tensorfleet.security.tokens import ROLES, Limits, Token

MAX_DAYS = 1_000_000

LIMITS: dict[str, tuple[str, type]] = {
    "sessions": ("sessions that it may have at the same time", int),
    "steps": ("steps that it may run at the same time", int),
    "session_steps": ("steps that each of its sessions may run at the same time", int),
    "variable_mb": ("MiB that the variables of its graphs may have", int),
    "step_seconds": ("seconds that a step of it may run", float),
}
"""What each limit of a token is, and its type."""


def parser() -> argparse.ArgumentParser:
    """The arguments of `tensorfleet token`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet token",
        description="Make, list and revoke tokens. The file has their hashes alone, and tasks read it again "
        "when it has changed.",
        epilog="Roles: read sees status and metrics, run has sessions of its own, admin uses and ends also "
        "those of others. Exit code: 1 if the file cannot be used, or has no such token.",
        allow_abbrev=False,
    )
    commands = p.add_subparsers(dest="command", required=True, metavar="COMMAND")
    create = commands.add_parser("create", help="make a token, and print it: it is not kept anywhere else")
    create.add_argument("name", metavar="NAME", help="who it stands for: in the audit log, and for sessions")
    create.add_argument("--role", choices=ROLES, default="run", help="what it may do (default: run)")
    create.add_argument("--days", type=float, metavar="N", help="until it ends (default: never)")
    for limit, (what, kind) in LIMITS.items():
        metavar = "S" if limit == "step_seconds" else "N"
        create.add_argument(
            f"--max-{limit.replace('_', '-')}", type=kind, default=0, metavar=metavar, help=what
        )
    shown = commands.add_parser("list", help="show names, roles and ends")
    revoke = commands.add_parser("revoke", help="have a token let nobody in any more")
    revoke.add_argument("name", metavar="NAME", help="of the token")
    for command in (create, shown, revoke):
        command.add_argument(
            "--file",
            default=os.environ.get(settings.TOKENS),
            metavar="FILE",
            help=f"of the tokens (default: {settings.TOKENS})",
        )
    return p


def main(argv: Sequence[str]) -> int:
    """Runs the subcommand; returns 0, or 1 with the reason on standard error."""
    p = parser()
    flags = p.parse_args(argv)
    if not flags.file:
        p.error(f"which file? Give --file, or set {settings.TOKENS}")
    try:
        known = tokens.read(flags.file) if os.path.exists(flags.file) or flags.command != "create" else []
        if flags.command == "list":
            print(_listed(known))
        elif flags.command == "create":
            limits = Limits(**{name: getattr(flags, f"max_{name}") for name in LIMITS})
            _create(flags.file, known, flags.name, flags.role, flags.days, limits)
        else:
            _revoke(flags.file, known, flags.name)
    except (SecurityError, OSError) as error:
        print(f"tensorfleet token: {error}", file=sys.stderr)
        return 1
    return 0


def _create(path: str, known: list[Token], name: str, role: str, days: float | None, limits: Limits) -> None:
    if any(token.name == name for token in known):
        raise SecurityError(f"{path} has a token {name} already: revoke it first, or take another name")
    if days is not None and not 0 < days < MAX_DAYS:
        raise SecurityError(f"--days is {days:g}: a token ends later than now, and before {MAX_DAYS:,} days")
    text, token = tokens.create(name, role, days, limits)
    tokens.write(path, [*known, token])
    print(text)


def _revoke(path: str, known: list[Token], name: str) -> None:
    left = [token for token in known if token.name != name]
    if len(left) == len(known):
        raise SecurityError(f"{path} has no token {name}")
    tokens.write(path, left)


def _listed(known: list[Token]) -> str:
    now = time.time()
    rows = [
        (token.name, token.role, _date(token.created), _end(token, now), _limits(token))
        for token in sorted(known, key=lambda token: token.name)
    ]
    return table(("NAME", "ROLE", "CREATED", "EXPIRES", "LIMITS"), rows)


def _limits(token: Token) -> str:
    found = {name: value for name, value in asdict(token.limits).items() if value}
    return " ".join(f"{name}={value:g}" for name, value in found.items()) or "none"


def _end(token: Token, now: float) -> str:
    if not token.expires:
        return "never"
    return _date(token.expires) + ("" if token.valid(now) else " (expired)")


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds)) if seconds else "unknown"
