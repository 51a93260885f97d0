"""Quotas: limits on what one client may use of a task.

A client is identified by the name in a token or a certificate. Without a name, each session is a client.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tensorfleet.core import errors
from tensorfleet.core.environment import integer, number
from tensorfleet.security.tokens import NO_LIMITS, Limits
from tensorfleet_service.security.principal import Principal

VARIABLES = {
    "sessions": "TENSORFLEET_MAX_CLIENT_SESSIONS",
    "steps": "TENSORFLEET_MAX_CLIENT_STEPS",
    "session_steps": "TENSORFLEET_MAX_SESSION_STEPS",
    "variable_mb": "TENSORFLEET_MAX_CLIENT_VARIABLE_MB",
    "step_seconds": "TENSORFLEET_MAX_STEP_SECONDS",
}
"""The settings of a task by what they limit, for clients whose tokens have no limits."""

_SECONDS = "step_seconds"
_UNITS = {"variable_mb": " MiB", _SECONDS: " s"}

VariableKey = tuple[str, str]
"""(container, name)"""

After = Callable[[float, Callable[[], None]], object]


def from_environment(environ: Mapping[str, str]) -> Limits:
    """The limits of clients whose tokens have none.

    Raises:
        SettingsError: one of the variables is not a number.
    """
    whole = {name: integer(variable, 0, environ) for name, variable in VARIABLES.items() if name != _SECONDS}
    return Limits(**whole, step_seconds=number(VARIABLES[_SECONDS], 0.0, environ))


class Account:
    """The use and the limits of one client. Safe to use from several threads."""

    def __init__(self, who: str, limits: Limits) -> None:
        self.who = who
        self.limits = limits
        self._lock = threading.Lock()
        self._sessions = 0
        self._steps = 0
        self._variables: dict[VariableKey, int] = {}

    @property
    def has_all_sessions(self) -> bool:
        """Whether one more session would exceed the limit."""
        with self._lock:
            return 0 < self.limits.sessions <= self._sessions

    def open_session(self) -> None:
        """Counts a session. Raises ResourceExhaustedError if it exceeds the limit."""
        with self._lock:
            most = self.limits.sessions
            if most and self._sessions >= most:
                raise self._refusal(f"has {self._sessions} sessions", "sessions", "Close one")
            self._sessions += 1

    def close_session(self) -> None:
        with self._lock:
            self._sessions -= 1

    def begin_step(self, of_session: int) -> None:
        """Counts a step of a session that runs `of_session` steps. Raises ResourceExhaustedError over a
        limit.
        """
        with self._lock:
            limits = self.limits
            if limits.session_steps and of_session >= limits.session_steps:
                what = f"runs {of_session} steps in this session"
                raise self._refusal(what, "session_steps", "Wait for one")
            if limits.steps and self._steps >= limits.steps:
                raise self._refusal(f"runs {self._steps} steps", "steps", "Wait for one")
            self._steps += 1

    def end_step(self) -> None:
        with self._lock:
            self._steps -= 1

    def too_long(self) -> errors.OpError:
        """The error of a step that has used up its time."""
        return self._refusal(
            f"has run a step for {self.limits.step_seconds:g} s", "step_seconds", "Do less in one step"
        )

    def claim(self, variables: Mapping[VariableKey, int]) -> dict[VariableKey, int]:
        """Counts variables by their bytes; returns what each of them adds.

        Of a variable that is declared several times the largest size counts: which of them is made first is
        only known when it runs.

        Raises:
            ResourceExhaustedError: all variables of the client together would exceed the limit.
        """
        with self._lock:
            known = self._variables
            new = {
                key: size - known.get(key, 0) for key, size in variables.items() if size > known.get(key, -1)
            }
            before = sum(known.values())
            most = self.limits.variable_mb << 20
            if most and before + sum(new.values()) > most:
                raise self._refusal(
                    f"has variables of {before} bytes, and wants {sum(new.values())} more",
                    "variable_mb",
                    "Make them smaller, or have an admin clear a container (tf.Session.reset)",
                )
            for key, added in new.items():
                known[key] = known.get(key, 0) + added
            return new

    def release(self, claimed: Mapping[VariableKey, int]) -> None:
        """Takes back what `claim` has returned."""
        with self._lock:
            for key, added in claimed.items():
                left = self._variables.get(key, 0) - added
                if left > 0:
                    self._variables[key] = left
                else:
                    self._variables.pop(key, None)

    def clear(self, containers: Iterable[str]) -> None:
        """Notes that containers were cleared, or all of them if none is named."""
        wanted = set(containers)
        with self._lock:
            self._variables = {
                key: size for key, size in self._variables.items() if wanted and key[0] not in wanted
            }

    def _refusal(self, what: str, limit: str, advice: str) -> errors.OpError:
        most = f"{getattr(self.limits, limit):g}{_UNITS.get(limit, '')}"
        return errors.ResourceExhaustedError(
            None,
            None,
            f"{self.who} {what}, and may have {most}: max_{limit} of the token, or {VARIABLES[limit]} of "
            f"the task. {advice}.",
        )


class Quotas:
    """The accounts of a task's clients.

    Args:
        defaults: the limits of clients whose tokens have none.
    """

    def __init__(self, defaults: Limits = NO_LIMITS) -> None:
        self._defaults = defaults
        self._lock = threading.Lock()
        self._accounts: dict[str, Account] = {}

    def account(self, principal: Principal) -> Account | None:
        """The account of a client, with its current limits; None for one without limits."""
        own = principal.limits
        given = {name: getattr(own, name) for name in VARIABLES if getattr(own, name)}
        limits = replace(self._defaults, **given) if given else self._defaults
        who = principal.own_name
        with self._lock:
            account = self._accounts.get(who) if who else None
            if account is not None:
                account.limits = limits
            elif limits != NO_LIMITS:
                account = Account(who or principal.id or "a client", limits)
                if who:
                    self._accounts[who] = account
            return account

    def clear(self, containers: Iterable[str]) -> None:
        """Notes that containers were cleared on all tasks."""
        with self._lock:
            accounts = list(self._accounts.values())
        for account in accounts:
            account.clear(containers)
