"""Security settings of clients and tasks, from the environment.

An incomplete configuration is an error; there is no fallback to less security than requested.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

CERT = "TENSORFLEET_TLS_CERT"
KEY = "TENSORFLEET_TLS_KEY"
CA = "TENSORFLEET_TLS_CA"
SERVER_NAME = "TENSORFLEET_TLS_SERVER_NAME"
TOKEN = "TENSORFLEET_TOKEN"
TOKEN_FILE = "TENSORFLEET_TOKEN_FILE"
TOKENS = "TENSORFLEET_TOKENS"
SECRET = "TENSORFLEET_CLUSTER_SECRET"
SECRET_FILE = "TENSORFLEET_CLUSTER_SECRET_FILE"
INSECURE = "TENSORFLEET_INSECURE"
AUDIT_LOG = "TENSORFLEET_AUDIT_LOG"
METRICS_ACCESS = "TENSORFLEET_METRICS_ACCESS"
METRICS_TLS = "TENSORFLEET_METRICS_TLS"
TOKEN_REVIEW = "TENSORFLEET_TOKEN_REVIEW"

VARIABLES = (
    *(CERT, KEY, CA, SERVER_NAME, TOKEN, TOKEN_FILE, TOKENS, SECRET, SECRET_FILE),
    *(INSECURE, AUDIT_LOG, METRICS_ACCESS, METRICS_TLS, TOKEN_REVIEW),
)

FILES = (CERT, KEY, CA, TOKEN_FILE, TOKENS, SECRET_FILE, AUDIT_LOG)
"""The settings that name files."""

MIN_SECRET_BYTES = 16
MAX_FILE_BYTES = 1 << 20
ACCESS = ("open", "token")
MAX_TOKEN_CHARACTERS = 8192  # gRPC takes 16 KiB for all metadata of a call

_TOKEN = re.compile(rf"[!-~]{{0,{MAX_TOKEN_CHARACTERS}}}")
_LONG_NAME = 32


class SecurityError(ValueError):
    """Security settings contradict each other, or one of their files cannot be used; the text says which."""


@dataclass(frozen=True)
class TlsFiles:
    """PEM files: the own certificate with the intermediate ones, its key, and the trusted CAs."""

    cert: str
    key: str
    ca: str


@dataclass(frozen=True)
class Security:
    """The credentials by which a process authenticates itself and others.

    Attributes:
        tls: the files for TLS; None for plain connections.
        server_name: the name in the certificate of a client's target, in place of the target's host; "" for a
            task.
        token: a client's token. `token_file` instead is read for each connection, so that it may change.
        tokens: a task's file of hashed tokens.
        secret: the cluster secret, for processes without certificates.
        insecure: whether the user has explicitly requested no security.
        audit_log: the file of the audit log; "-" is standard error, "" the task's own log.
        metrics_access: whether /metrics is open or requires a token.
        metrics_tls: whether the pages are served by HTTPS.
        token_review: the ServiceAccounts whose tokens a task accepts, as JSON; "" for none.
    """

    tls: TlsFiles | None = None
    server_name: str = ""
    token: str = field(default="", repr=False)  # which a log or a traceback may show
    token_file: str = ""
    tokens: str = ""
    secret: bytes = field(default=b"", repr=False)
    insecure: bool = False
    audit_log: str = ""
    metrics_access: str = "open"
    metrics_tls: bool = False
    token_review: str = ""

    def __post_init__(self) -> None:
        if self.tls is not None and self.secret:
            raise SecurityError(
                "a process has TLS or a cluster secret, by which it knows others: it cannot have both"
            )

    @property
    def authenticates(self) -> bool:
        """Whether a task with these settings authenticates its callers."""
        return bool(self.tls or self.tokens or self.secret)

    def client_token(self) -> str:
        """The token of a client.

        Raises:
            SecurityError: its file cannot be read, or is empty; or it is not a token's text.
        """
        text = _secret_text(self.token_file, TOKEN_FILE) if self.token_file else self.token.strip()
        if not _TOKEN.fullmatch(text):
            raise SecurityError(
                f"{TOKEN_FILE if self.token_file else TOKEN} has {len(text)} characters, which are no token: "
                f"a token is printable ASCII without spaces, of {MAX_TOKEN_CHARACTERS} characters at most"
            )
        return text


OPEN = Security()
"""No security at all."""


def load(environ: Mapping[str, str]) -> Security:
    """The settings in an environment.

    Raises:
        SecurityError: a setting is missing, or contradicts another one.
    """
    if not any(environ.get(name) for name in VARIABLES):
        return OPEN
    files = {name: environ.get(name, "") for name in (CERT, KEY, CA)}
    if any(files.values()) and not all(files.values()):
        missing = [name for name, path in files.items() if not path]
        are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise SecurityError(
            "TLS takes a certificate, its key and the CAs to trust, but "
            f"{' and '.join(missing)} {are} not set: set {them}, or none of {CERT}, {KEY} and {CA}"
        )
    if environ.get(SERVER_NAME) and not files[CERT]:
        raise SecurityError(f"{SERVER_NAME} is set, but there is no TLS: set {CERT}, {KEY} and {CA}, too")
    for name, path in files.items():
        if path and not os.path.isfile(path):
            raise SecurityError(f"{name} is {shown(path)}, which is no file")
    for one, other in ((TOKEN, TOKEN_FILE), (SECRET, SECRET_FILE), (CERT, SECRET), (CERT, SECRET_FILE)):
        if environ.get(one) and environ.get(other):
            raise SecurityError(f"both {one} and {other} are set: set one of them")
    tokens = environ.get(TOKENS, "")
    if tokens and not os.path.isfile(tokens):
        raise SecurityError(
            f"{TOKENS} is {shown(tokens)}, which is no file: `tensorfleet token create` makes it"
        )
    insecure = environ.get(INSECURE, "")
    if insecure not in ("", "no", "yes"):
        raise SecurityError(f"{INSECURE} is {insecure!r}: set it to yes or no")
    access = environ.get(METRICS_ACCESS) or "open"
    if access not in ACCESS:
        raise SecurityError(f"{METRICS_ACCESS} is {access!r}: set it to {' or '.join(ACCESS)}")
    pages = environ.get(METRICS_TLS, "")
    if pages not in ("", "no", "yes"):
        raise SecurityError(f"{METRICS_TLS} is {pages!r}: set it to yes or no")
    for name, asked in ((METRICS_TLS, pages == "yes"), (TOKEN_REVIEW, bool(environ.get(TOKEN_REVIEW)))):
        if asked and not files[CERT]:
            raise SecurityError(f"{name} takes TLS, and there is none: set {CERT}, {KEY} and {CA}, too")
    if access == "token" and not (tokens or environ.get(TOKEN_REVIEW)):
        raise SecurityError(f"{METRICS_ACCESS} is token, but there are no tokens: set {TOKENS}")
    found = Security(
        tls=TlsFiles(files[CERT], files[KEY], files[CA]) if files[CERT] else None,
        token=environ.get(TOKEN, ""),
        token_file=environ.get(TOKEN_FILE, ""),
        tokens=tokens,
        secret=_secret(environ),
        insecure=insecure == "yes",
        audit_log=environ.get(AUDIT_LOG, ""),
        metrics_access=access,
        metrics_tls=pages == "yes",
        token_review=environ.get(TOKEN_REVIEW, ""),
    )
    found.client_token()
    return found


def shown(path: str) -> str:
    """The path of a file that is not there, for an error: not if it may be the secret itself, by mistake."""
    if "\n" in path or path.startswith("tft_") or path.endswith("="):
        hidden = True
    else:
        hidden = os.sep not in path and len(path) >= _LONG_NAME
    if hidden and not os.path.exists(path):
        return f"a text of {len(path)} characters (not shown, as it may be a secret itself) and not a path"
    return repr(path)


def _secret(environ: Mapping[str, str]) -> bytes:
    text, name = environ.get(SECRET, "").strip(), SECRET
    if environ.get(SECRET_FILE):
        text, name = _secret_text(environ[SECRET_FILE], SECRET_FILE), SECRET_FILE
    if text and len(text.encode()) < MIN_SECRET_BYTES:
        raise SecurityError(
            f"the secret of {name} has fewer than {MIN_SECRET_BYTES} bytes, which can be guessed: take a "
            "random one, such as that of `openssl rand -hex 32`"
        )
    return text.encode()


def _secret_text(path: str, name: str) -> str:
    """The content of a file without surrounding white space; errors do not show it."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES)
        text = data.decode().strip()
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is no text"
        raise SecurityError(f"{name} is {shown(path)}, which cannot be read: {reason}") from None
    if not text:
        raise SecurityError(f"{name} is {path!r}, which is empty")
    return text


def is_loopback(host: str) -> bool:
    """Whether a host to listen on, or to connect to, is the loopback interface."""
    host = host.strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def exposure(security: Security, bind: str) -> str:
    """The risk for a task that listens at a host with these settings; "" for none."""
    if is_loopback(bind) or security.tls:
        return ""
    if not security.authenticates:
        return f"listens at {bind} and asks nobody who they are: whoever reaches it may run programs"
    if security.tokens:
        return f"listens at {bind} without TLS: tokens and tensors can be read on their way"
    return ""


def check_server(security: Security, bind: str, tasks: int) -> str:
    """Checks whether a task may serve with these settings.

    Args:
        bind: the host that it listens at.
        tasks: the number of tasks of the cluster.

    Returns:
        A warning; "" for none.

    Raises:
        SecurityError: others could use the task, or the tasks could not authenticate each other.
    """
    if security.tokens and tasks > 1 and not (security.tls or security.secret):
        raise SecurityError(
            f"{TOKENS} says who the clients are, but the cluster's {tasks} tasks cannot know each other: set "
            f"{CERT}, {KEY} and {CA}, or {SECRET_FILE}"
        )
    problem = exposure(security, bind)
    if problem and security.insecure:
        return f"{INSECURE}=yes: this task {problem}"
    if problem:
        weaker = "" if security.tokens else f"or at least {SECRET_FILE}, "
        raise SecurityError(
            f"this task {problem}. Set {CERT}, {KEY} and {CA} (`tensorfleet certs` makes them), {weaker}"
            f"or have it listen at loopback alone. {INSECURE}=yes serves all the same."
        )
    if security.secret and not is_loopback(bind):
        return (
            f"this task listens at {bind} without TLS: the cluster secret authenticates, but does not encrypt"
        )
    return ""
