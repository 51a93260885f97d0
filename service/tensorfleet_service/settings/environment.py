"""Checks of a task's environment: misspelt variables, invalid values, and the host that it runs on."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core.environment import CHOICES, NUMBERS, SettingsError, choice, number
from tensorfleet.security import settings as security

PREFIX = "TENSORFLEET_"

KNOWN = frozenset({*NUMBERS, *CHOICES, *security.VARIABLES}) | {
    PREFIX + name
    for name in (
        "ADDRESS",
        "BIND_HOST",
        "CLUSTER_SPEC",
        "CONTAINER",
        "DRAIN_SECONDS",
        "GPUS",
        "JOB_NAME",
        "LOG_FORMAT",
        "LOG_LEVEL",
        "METRICS_PORT",
        "PROTOCOL",
        "READ_PATHS",
        "STATE_DIR",
        "STREAM_PORT",
        "TASK_INDEX",
        "TRANSPORT",
        "WRITE_PATHS",
    )
}
"""All variables of TensorFleet, including those of clients, as a task may be started from a client's shell.
"""

RENAMED = {PREFIX + "WATCH_MICROSECONDS": "TENSORFLEET_SPIN_MICROSECONDS"}
"""The current names of settings that had other names in earlier versions."""

# Variables of k8s-dev's scripts, from whose shell a developer may start a task.
_DEVELOPMENT = (PREFIX + "K8S_", PREFIX + "KIND_")

# Kubernetes sets variables for the Services of the namespace in each container. Those of a Service named
# tensorfleet, or tensorfleet-worker, begin with our prefix.
_SERVICE_LINK = re.compile(
    r"TENSORFLEET_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)"
)
_SERVICE_PORT = re.compile(r"TENSORFLEET_(\w+_)?PORT")
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://.*")

_ALIKE = 0.8  # the similarity of names from which one is suggested for the other


def is_service_link(name: str, value: str) -> bool:
    """Whether Kubernetes has made a variable for a Service."""
    if _SERVICE_LINK.fullmatch(name):
        return True
    return bool(_SERVICE_PORT.fullmatch(name) and _SERVICE_ADDRESS.fullmatch(value))


def check(environ: Mapping[str, str]) -> list[str]:
    """Checks all variables of TensorFleet; returns warnings about unknown ones.

    Raises:
        SettingsError: a name is most likely misspelt, or a value is not the number or the word that it must
            be.
    """
    warnings = []
    for name, value in sorted(environ.items()):
        if not name.startswith(PREFIX) or name.startswith(_DEVELOPMENT) or is_service_link(name, value):
            continue
        if name in RENAMED:
            raise SettingsError(f"{name} was renamed to {RENAMED[name]}: set that instead")
        if name not in KNOWN:
            meant = _meant(name)
            if meant:
                raise SettingsError(f"{name} is not a setting: did you mean {' or '.join(meant)}?")
            warnings.append(f"{name} is set, but is not a setting")
        elif name in NUMBERS:
            number(name, 0, environ)
        elif name in CHOICES:
            choice(name, environ)
    return warnings


def _meant(name: str) -> list[str]:
    """The settings that begin with an unknown name, and the most similar one."""
    longer = [known for known in KNOWN if known.startswith(f"{name}_")]
    own = name.removeprefix(PREFIX)
    suffixes = [known.removeprefix(PREFIX) for known in sorted(KNOWN)]
    alike = [PREFIX + suffix for suffix in difflib.get_close_matches(own, suffixes, 1, _ALIKE)]
    return sorted({*longer, *alike})


def check_host(cluster: ClusterSpec, job: str, index: int, host_name: str) -> None:
    """Checks whether the task's address is certainly that of another host.

    In general, names of hosts and Services differ. But if this host's name is the first label of another
    task's address, or differs from that of the task's own address only in the number at its end, as pods of
    one StatefulSet do, then another task belongs on this host.

    Raises:
        SettingsError: another task belongs on this host.
    """
    here = host_name.partition(".")[0].lower()
    address = cluster.task_address(job, index)
    own = _first_label(address)
    if not here or not own or own == here:
        return
    task = f"/job:{job}/task:{index}"
    for other_job in cluster.jobs:
        for other in cluster.task_indices(other_job):
            if _first_label(cluster.task_address(other_job, other)) == here:
                raise SettingsError(
                    f"this host is {host_name!r}, which is /job:{other_job}/task:{other} in the ClusterSpec, "
                    f"but the task is to be {task} at {address!r}: correct TENSORFLEET_JOB_NAME, "
                    "TENSORFLEET_TASK_INDEX or TENSORFLEET_CLUSTER_SPEC"
                )
    if _without_ordinal(own) is not None and _without_ordinal(own) == _without_ordinal(here):
        raise SettingsError(
            f"the ClusterSpec has {task} at {address!r}, but this host is {host_name!r}: the address of this "
            "host is not in TENSORFLEET_CLUSTER_SPEC, or TENSORFLEET_TASK_INDEX is another task's"
        )


def _first_label(address: str) -> str:
    """The first label of the host name in an address; empty for IP addresses, such as 10.0.0.1 or [::1]."""
    host = address.rpartition(":")[0].lower()
    return "" if ":" in host or re.fullmatch(r"[\d.]*", host) else host.partition(".")[0]


def _without_ordinal(label: str) -> str | None:
    found = re.fullmatch(r"(.+)-\d+", label)
    return found[1] if found else None
