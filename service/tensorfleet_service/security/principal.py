"""Principals: users and tasks with a proven identity, and their rights."""

from __future__ import annotations

from dataclasses import dataclass

from tensorfleet.security.tokens import NO_LIMITS, Limits

_MAY = {
    "read": ("status", "read"),
    "run": ("status", "run"),
    "admin": ("status", "read", "run", "admin"),
    "task": ("status", "read", "run", "task"),
    "anybody": ("status", "read", "run", "admin", "task"),
}


@dataclass(frozen=True)
class Principal:
    """A user or a task.

    Attributes:
        kind: the means of its authentication: "token", "certificate", "secret", or "task" for a task of the
            cluster; "anybody" without authentication.
        name: unique among principals of one kind.
        role: "read", "run", "admin", "task" or "anybody".
        token: the hash of its token, by which it is known whether that is still accepted.
        limits: those of its token.
    """

    kind: str
    name: str
    role: str
    token: str = ""
    limits: Limits = NO_LIMITS

    @property
    def id(self) -> str:
        """Kind and name, as in the owner of a session. Empty for anybody."""
        return f"{self.kind}:{self.name}" if self.name else ""

    @property
    def own_name(self) -> str:
        """Its id if that is unique; empty for anybody, and for those who share a secret."""
        return "" if self.kind == "secret" else self.id

    def may(self, what: str) -> bool:
        """Whether its role includes "read", "run", "admin" or "task".

        All include "status", the calls that show those without "read" only what is theirs.
        """
        return what in _MAY[self.role]

    def may_use(self, owner: str) -> bool:
        """Whether it may use sessions of the principal with id `owner`."""
        return self.may("admin") or (self.id == owner and self.may("run"))


ANYBODY = Principal("anybody", "", "anybody")
