"""Principals: whoever has said, and proven, who they are, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass

from tensorfleet.security.tokens import NO_LIMITS, Limits

_MAY = {
    "read": ("read",),
    "run": ("read", "run"),
    "admin": ("read", "run", "admin"),
    "task": ("read", "run", "task"),
    "anybody": ("read", "run", "admin", "task"),
}


@dataclass(frozen=True)
class Principal:
    """One who does something.

    Attributes:
        kind: what it has proven it by: "token", "certificate", "secret", or "task" for one of the cluster;
            "anybody" where nobody is asked.
        name: unique among those of one kind.
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
        """Kind and name; of the owner of a session, for instance. Empty for anybody."""
        return f"{self.kind}:{self.name}" if self.name else ""

    @property
    def own_name(self) -> str:
        """Its id where nobody else has the same; empty for anybody, and for those who share a secret."""
        return "" if self.kind == "secret" else self.id

    def may(self, what: str) -> bool:
        """Whether its role includes "read", "run", "admin" or "task"."""
        return what in _MAY[self.role]

    def may_use(self, owner: str) -> bool:
        """Whether it may use what belongs to the principal of an id."""
        return self.may("admin") or (self.id == owner and self.may("run"))


ANYBODY = Principal("anybody", "", "anybody")
