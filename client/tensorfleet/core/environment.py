"""Numbers and words in environment variables, each described once; a bad one is an error that names it."""

from __future__ import annotations

import os
from collections.abc import Mapping

NUMBERS = {
    "TENSORFLEET_HEARTBEAT_SECONDS": ("a number of seconds, 0 for none", 0, False),
    "TENSORFLEET_BLAS_THREADS": ("a number of threads, 1 or more", 1, True),
    "TENSORFLEET_NATIVE": ("0 for NumPy alone, or 1", 0, True),
    "TENSORFLEET_SESSION_IDLE_SECONDS": ("a number of seconds, more than 0", 1e-9, False),
    "TENSORFLEET_QUOTA_IDLE_SECONDS": ("a number of seconds, 0 or more", 0.0, False),
    "TENSORFLEET_MAX_MESSAGE_MB": ("a number of MiB, 1 or more", 1, True),
    "TENSORFLEET_MAX_TENSORS_MB": ("a number of MiB, 1 or more", 1, True),
    "TENSORFLEET_MAX_THREADS": ("a number of threads, 8 or more", 8, True),
    "TENSORFLEET_MAX_EARLY_MB": ("a number of MiB, 1 or more", 1, True),
    "TENSORFLEET_MAX_CONNECTIONS": ("a number of connections, 1 or more", 1, True),
    "TENSORFLEET_MAX_CLIENT_CONNECTIONS": ("a number of connections, 1 or more", 1, True),
    "TENSORFLEET_MAX_ARRIVING_MB": ("a number of MiB, 1 or more", 1, True),
    "TENSORFLEET_MAX_CLIENT_ARRIVING_MB": ("a number of MiB, 1 or more", 1, True),
    "TENSORFLEET_MAX_CLIENT_SESSIONS": ("a number of sessions, 0 for no limit", 0, True),
    "TENSORFLEET_MAX_CLIENT_STEPS": ("a number of steps, 0 for no limit", 0, True),
    "TENSORFLEET_MAX_SESSION_STEPS": ("a number of steps, 0 for no limit", 0, True),
    "TENSORFLEET_MAX_CLIENT_VARIABLE_MB": ("a number of MiB, 0 for no limit", 0, True),
    "TENSORFLEET_MAX_STEP_SECONDS": ("a number of seconds, 0 for no limit", 0, False),
    "TENSORFLEET_MEMORY_MB": ("a number of MiB, 0 for no budget", 0, True),
    "TENSORFLEET_RECEIVE_BUFFERS_MB": ("a number of MiB, 0 or more", 0, True),
    "TENSORFLEET_SHARED_MEMORY_MB": ("a number of MiB, 0 or more", 0, True),
    "TENSORFLEET_CUDA_IPC_MB": ("a number of MiB, 0 for none", 0, True),
    "TENSORFLEET_STALL_SECONDS": ("a number of seconds, 0 to report no step", 0, False),
    "TENSORFLEET_SPIN_MICROSECONDS": ("a number of microseconds, 0 or more", 0, True),
}
"""The variables that hold a number: (description, least value, whether an integer)."""


CHOICES = {
    "TENSORFLEET_CUDNN": ("auto", "off"),
    "TENSORFLEET_GPU_GRAPHS": ("off", "auto"),
    "TENSORFLEET_UNPLACED": ("own", "first"),
}
"""The variables that hold one of some words; the first one is meant where none is set."""


class SettingsError(ValueError):
    """A setting is missing or invalid; the text names it and says what to set."""


def number(name: str, default: float, environ: Mapping[str, str] = os.environ) -> float:
    """The number in one of NUMBERS; `default` where it is not set, or empty.

    Raises:
        SettingsError: the value is not such a number.
    """
    text = environ.get(name, "")
    if not text:
        return default
    what, least, integer = NUMBERS[name]
    try:
        found = int(text) if integer else float(text)
    except ValueError:
        found = -1
    if not least <= found < float("inf"):
        raise SettingsError(f"{name} is {text!r}: set it to {what}")
    return found


def integer(name: str, default: int, environ: Mapping[str, str] = os.environ) -> int:
    """As `number`, of a variable that holds an integer."""
    return int(number(name, default, environ))


def choice(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """The word in one of CHOICES.

    Raises:
        SettingsError: the value is none of its words.
    """
    words = CHOICES[name]
    found = environ.get(name, "") or words[0]
    if found not in words:
        raise SettingsError(f"{name} is {found!r}: set it to {' or '.join(words)}")
    return found
