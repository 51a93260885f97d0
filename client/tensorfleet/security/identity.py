"""Identities in certificates.

The certificate of a task has a URI `spiffe://<trust domain>/tensorfleet/<cluster>/<job>/<index>`, that of a
user `spiffe://<trust domain>/tensorfleet/<cluster>/user/<role>/<name>`. Certificates without such a URI
stand for the hosts that they name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tensorfleet.security.tokens import ROLES

_TASK = re.compile(r"(spiffe://[^/]+/tensorfleet/[^/]+)/([^/]+)/(\d+)")
_USER = re.compile(r"(spiffe://[^/]+/tensorfleet/[^/]+)/user/([a-z]+)/([^/]+)")
_CANONICAL = re.compile(r"/job:([^/]+)/replica:0/task:(\d+)")
_OURS = re.compile(r"spiffe://[^/]+/tensorfleet/")


def task_uri(trust_domain: str, cluster: str, job: str, index: int) -> str:
    """The URI of a task's certificate."""
    return f"spiffe://{trust_domain}/tensorfleet/{cluster}/{job}/{index}"


def user_uri(trust_domain: str, cluster: str, role: str, name: str) -> str:
    """The URI of a user's certificate."""
    return f"spiffe://{trust_domain}/tensorfleet/{cluster}/user/{role}/{name}"


@dataclass(frozen=True)
class Identity:
    """The identity in a certificate whose chain was verified.

    Attributes:
        cluster: "spiffe://<trust domain>/tensorfleet/<cluster>", or "" if there is none.
        task: the canonical name of the task, or "".
        user, role: the user's name and role, or "".
        hosts: DNS names and IP addresses.
        wrong: the reason why the certificate identifies nobody, or "".
    """

    cluster: str = ""
    task: str = ""
    user: str = ""
    role: str = ""
    hosts: tuple[str, ...] = ()
    wrong: str = ""

    def why_not_task(self, task: str, host: str, own: Identity) -> str:
        """The reason why this is not the task `task` at `host` in the cluster of `own`; "" if it is."""
        if self.wrong:
            return self.wrong
        if own.cluster and self.cluster != own.cluster and (self.cluster or not own.hosts):
            return f"its certificate is of {self.cluster or 'no cluster'}, not of {own.cluster}"
        if self.user:
            return f"its certificate is that of the user {self.user}, not of a task"
        if self.task:
            return "" if self.task == task else f"its certificate is that of {self.task}"
        if own.task:
            # Else whoever has a certificate for a task's host, such as a client there, would be the task.
            return f"its certificate names no task, as that of {own.task} does"
        if host.strip("[]").lower() in self.hosts:
            return ""
        return (
            f"its certificate names neither {task} nor the host {host}, but {', '.join(self.hosts) or 'none'}"
        )


def of_names(uris: Iterable[str], hosts: Iterable[str]) -> Identity:
    """The identity in a certificate's alternative names."""
    names = tuple(host.lower() for host in hosts)
    ours = [uri for uri in uris if _OURS.match(uri)]
    if not ours:
        return Identity(hosts=names)
    if len(ours) > 1:
        return Identity(hosts=names, wrong="its certificate has several identities")
    if found := _USER.fullmatch(ours[0]):
        if found[2] not in ROLES:
            return Identity(hosts=names, wrong=f"its certificate has the unknown role {found[2]}")
        return Identity(found[1], "", found[3], found[2], names)
    if found := _TASK.fullmatch(ours[0]):
        return Identity(found[1], f"/job:{found[2]}/replica:0/task:{int(found[3])}", "", "", names)
    return Identity(hosts=names, wrong=f"its certificate has the invalid identity {ours[0]!r}")


def of_ssl(certificate: Mapping[str, Any] | None) -> Identity:
    """The identity in the result of `SSLObject.getpeercert`."""
    names: Iterable[tuple[str, str]] = (certificate or {}).get("subjectAltName", ())
    kinds = [(kind, value) for kind, value in names]
    return of_names(
        [value for kind, value in kinds if kind == "URI"],
        [value for kind, value in kinds if kind in ("DNS", "IP Address")],
    )


def of_grpc(auth_context: Mapping[str, Iterable[bytes]]) -> Identity | None:
    """The identity in gRPC's `auth_context`; None if the other side has no certificate."""
    if not auth_context.get("x509_pem_cert"):
        return None

    def names(kind: str) -> list[str]:
        return [name.decode("utf-8", "replace") for name in auth_context.get(kind, ())]

    return of_names(names("peer_uri"), [*names("peer_dns"), *names("peer_ip")])
