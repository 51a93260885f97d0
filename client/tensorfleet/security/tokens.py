"""Tokens: random keys that identify people and programs to a cluster, each with a name and a role.

A file holds their hashes. As a token has 256 random bits, a SHA-256 without salt suffices: a slow password
hash protects only against guesses of likely passwords.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

from tensorfleet.security.settings import MAX_FILE_BYTES, SecurityError

ROLES = ("read", "run", "admin")
PREFIX = "tft_"  # lets scanners for leaked keys recognize tokens
HASH = "sha256:"

LAST_SECOND = 253_402_300_799  # of the year 9999, the last that dates can show

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_HASH = re.compile(HASH + r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Limits:
    """How much one client may have of each task that is its master; 0: no limit.

    Attributes:
        sessions: at the same time.
        steps, session_steps: that run at the same time, of all its sessions and of each.
        variable_mb: MiB of the variables that its graphs declare.
        step_seconds: that a step may run.
    """

    sessions: int = 0
    steps: int = 0
    session_steps: int = 0
    variable_mb: int = 0
    step_seconds: float = 0.0


NO_LIMITS = Limits()


@dataclass(frozen=True)
class Token:
    """A token as a cluster stores it.

    Attributes:
        name: the name of its owner.
        role: one of ROLES.
        hash: "sha256:" and hexadecimal digits.
        created, expires: seconds since 1970; `expires` 0 for never.
        max_sessions and so on: its `limits`, each in a field of its own as in the file.
    """

    name: str
    role: str
    hash: str
    created: float = 0.0
    expires: float = 0.0
    max_sessions: int = 0
    max_steps: int = 0
    max_session_steps: int = 0
    max_variable_mb: int = 0
    max_step_seconds: float = 0.0

    @property
    def limits(self) -> Limits:
        return Limits(**{field.name: getattr(self, f"max_{field.name}") for field in fields(Limits)})

    def valid(self, now: float) -> bool:
        """Whether the token has not expired."""
        return not self.expires or now < self.expires


def hashed(token: str) -> str:
    """The hash of a token, which is stored in its place."""
    return HASH + hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def create(name: str, role: str, days: float | None = None, limits: Limits = NO_LIMITS) -> tuple[str, Token]:
    """A new token, and the Token to store.

    Raises:
        SecurityError: an unknown role, a limit below 0, or a name with characters other than letters, digits
            and `._@-`.
    """
    text = PREFIX + secrets.token_urlsafe(32)
    now = time.time()
    most = {f"max_{limit}": value for limit, value in asdict(limits).items()}
    token = Token(name, role, hashed(text), now, now + days * 86400 if days else 0.0, **most)
    _check(token)
    return text, token


def find(tokens: Iterable[Token], hash: str) -> Token | None:
    """The token with a hash, compared in constant time."""
    given = hash.encode("utf-8", "surrogatepass")
    found = None
    for token in tokens:
        if hmac.compare_digest(token.hash.encode(), given):
            found = token
    return found


def parse(data: bytes) -> list[Token]:
    """The tokens in the content of a file.

    Raises:
        SecurityError: the content is not that of a file of tokens.
    """
    try:
        content = json.loads(data)
        tokens = [Token(**kept) for kept in content["tokens"]]
        for token in tokens:
            _check(token)
    except SecurityError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError):
        raise SecurityError(
            'it is not a file of tokens: {"tokens": [{"name": …, "role": …, "hash": …}]}'
        ) from None
    names = [token.name for token in tokens]
    if len(set(names)) < len(names):
        raise SecurityError("two tokens have the same name")
    return tokens


def _check(token: Token) -> None:
    if not (isinstance(token.name, str) and _NAME.fullmatch(token.name)):
        raise SecurityError(f"{token.name!r} is not a name of a token: letters, digits and ._@-, 64 at most")
    if token.role not in ROLES:
        raise SecurityError(
            f"the token {token.name} has the role {token.role!r}: roles are {', '.join(ROLES)}"
        )
    if not (isinstance(token.hash, str) and _HASH.fullmatch(token.hash)):
        raise SecurityError(f"the token {token.name} has no hash of the form {HASH}…")
    for at in (token.created, token.expires):
        if not isinstance(at, int | float) or not 0 <= at <= LAST_SECOND:  # NaN is in no range
            raise SecurityError(
                f"the token {token.name} has the time {at!r}: seconds since 1970, until the year 9999"
            )
    for limit, value in asdict(token.limits).items():
        kinds = int | float if limit == "step_seconds" else int
        if not isinstance(value, kinds) or isinstance(value, bool) or not 0 <= value < 1 << 53:
            raise SecurityError(f"the token {token.name} has max_{limit} {value!r}: a number, 0 for no limit")


class UnreadableError(SecurityError):
    """A file of tokens cannot be read at the moment, so its tokens are not known."""


def read(path: str) -> list[Token]:
    """The tokens in a file.

    Raises:
        UnreadableError: the file cannot be read.
        SecurityError: it is not a file of tokens.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as e:
        raise UnreadableError(f"{path} cannot be read: {e.strerror}") from None
    if len(data) > MAX_FILE_BYTES:
        raise SecurityError(f"{path} is larger than {MAX_FILE_BYTES} bytes")
    try:
        return parse(data)
    except SecurityError as e:
        raise SecurityError(f"{path}: {e}") from None


def write(path: str, tokens: Iterable[Token]) -> None:
    """Replaces the file atomically; only its user can read it."""
    kept = [
        {name: value for name, value in asdict(token).items() if value or not name.startswith("max_")}
        for token in tokens
    ]
    text = json.dumps({"tokens": kept}, indent=2) + "\n"
    write_private(path, text)


def write_private(path: str, text: str) -> None:
    """Writes a file atomically that only its user can ever read."""
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".")  # mkstemp's files have mode 0600
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
