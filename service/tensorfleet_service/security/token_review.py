"""Tokens of Kubernetes' ServiceAccounts, verified by the API server's TokenReview."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any

from tensorfleet.security.pod_api import ApiError, PodApi
from tensorfleet.security.settings import SecurityError
from tensorfleet.security.tokens import PREFIX, ROLES, Token, hashed

log = logging.getLogger(__name__)

PATH = "/apis/authentication.k8s.io/v1/tokenreviews"
MAX_TOKEN_CHARACTERS = 16 * 1024
MAX_KEPT = 1000
MAX_WAITING = 64
THREADS = 4
ANSWER_SECONDS = 15.0  # time for an answer
REFUSED_SECONDS = 10.0  # time for which a refusal is kept, or that of an acceptance if that is less

_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):([^:]+)")


@dataclass(frozen=True)
class Rules:
    """The rules of which tokens are accepted.

    Attributes:
        audience: the audience that a token must have.
        accounts, groups: the role of each ServiceAccount, as `namespace/name`, and of each group.
        seconds: time for which an answer is valid.
    """

    audience: str
    accounts: Mapping[str, str]
    groups: Mapping[str, str]
    seconds: float = 60.0

    @classmethod
    def parse(cls, text: str) -> Rules:
        """The rules in JSON: {"audience": …, "accounts": {"ml/alice": "run"}, "groups": {…}, "seconds": 60}.

        Raises:
            SecurityError: the text has another form.
        """
        try:
            found = json.loads(text)
            unknown = set(found) - {"audience", "accounts", "groups", "seconds"}
            rules = cls(
                found["audience"],
                dict(found.get("accounts", {})),
                dict(found.get("groups", {})),
                float(found.get("seconds", 60)),
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise SecurityError(f"{_FORM}, not {text[:200]!r}") from None
        if unknown or not (isinstance(rules.audience, str) and rules.audience):
            raise SecurityError(
                f"{_FORM}, with an audience, and not {', '.join(map(str, unknown)) or 'empty'}"
            )
        for who, role in {**rules.accounts, **rules.groups}.items():
            if role not in ROLES:
                raise SecurityError(f"{who} has the role {role!r}: roles are {', '.join(ROLES)}")
        wrong = [who for who in rules.accounts if len(who.split("/")) != 2]
        if wrong:
            raise SecurityError(f"{wrong[0]!r} is no ServiceAccount: NAMESPACE/NAME")
        if not (rules.accounts or rules.groups):
            raise SecurityError(f"{_FORM}; nobody is in it")
        if not 1 <= rules.seconds <= 3600:
            raise SecurityError(f"reviews count for {rules.seconds:g} seconds: 1 to 3600")
        return rules

    def role(self, user: str, groups: Sequence[str]) -> str:
        """The highest role of a user; "" for none."""
        found = _ACCOUNT.fullmatch(user)
        roles = [self.accounts.get(f"{found[1]}/{found[2]}", "")] if found else []
        roles += [self.groups.get(group, "") for group in groups]
        return max(roles, key=("", *ROLES).index, default="")


_FORM = 'it is {"audience": …, "accounts": {"NAMESPACE/NAME": ROLE}, "groups": {NAME: ROLE}, "seconds": …}'


@dataclass(frozen=True)
class _Answer:
    token: Token | None
    why: str
    at: float
    text: str


class TokenReviews:
    """Asks the API server for the holders of tokens, at most once in `seconds` for each token.

    While the server does not answer, accepted tokens stay valid for the same time again. Concurrent questions
    and kept answers are limited; a text without the form of such a token is not sent.
    """

    def __init__(self, rules: Rules, api: PodApi) -> None:
        self._rules, self._api = rules, api
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._asked: dict[str, Future[None]] = {}
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="token-review")

    def close(self) -> None:
        """Stops asking."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def may_be(text: str) -> bool:
        """Whether a text has the form of a ServiceAccount's token."""
        return (
            not text.startswith(PREFIX)
            and len(text) <= MAX_TOKEN_CHARACTERS
            and _SHAPE.fullmatch(text) is not None
        )

    def ask(self, text: str) -> Future[None] | None:
        """The running question about a token; None if its answer is known.

        Raises:
            SecurityError: too many questions are running.
        """
        hash = hashed(text)
        with self._lock:
            if self._fresh(self._answers.get(hash)):
                return None
            found = self._asked.get(hash)
            if found is None:
                if len(self._asked) >= MAX_WAITING:
                    raise SecurityError("too many tokens are being reviewed; try again")
                # Its end takes the lock, so it cannot come before this thread releases that.
                found = self._asked[hash] = self._threads.submit(self._review, hash, text)
            return found

    def find(self, text: str) -> tuple[Token | None, str]:
        """(the token with its holder, the reason why it is not accepted); waits for the answer."""
        try:
            asked = self.ask(text)
            if asked is not None:
                asked.result(ANSWER_SECONDS)
        except SecurityError as e:
            return None, str(e)
        except FutureTimeoutError:
            return None, "Kubernetes does not answer about the token"
        return self.known(text)

    def known(self, text: str) -> tuple[Token | None, str]:
        """Like `find`, without waiting."""
        with self._lock:
            found = self._answers.get(hashed(text))
            if found is None or not (self._fresh(found) or (found.token and not self._late(found))):
                return None, "Kubernetes has not answered about the token"
            return found.token, found.why

    def holds(self, hash: str, role: str) -> bool:
        """Whether an accepted token is still valid, with the same role; asks again when its time is over."""
        with self._lock:
            found = self._answers.get(hash)
            if found is None or found.token is None or found.token.role != role:
                return False
            if self._fresh(found):
                return True
            if self._late(found):
                return False
        try:
            self.ask(found.text)
        except SecurityError:
            log.warning("a token is not reviewed again yet: too many are")
        return True

    def _fresh(self, answer: _Answer | None) -> bool:
        if answer is None:
            return False
        seconds = self._rules.seconds if answer.token else min(REFUSED_SECONDS, self._rules.seconds)
        return time.monotonic() - answer.at < seconds

    def _late(self, answer: _Answer) -> bool:
        """Whether an answer is too old to be used even without a newer one."""
        return time.monotonic() - answer.at > 2 * self._rules.seconds + ANSWER_SECONDS

    def _review(self, hash: str, text: str) -> None:
        answer = None
        try:
            answer = self._answer(hash, text)
        finally:
            with self._lock:
                del self._asked[hash]
                before = self._answers.pop(hash, None)
                if answer is None and before is not None and before.token and not self._late(before):
                    answer = before
                # Without an answer, the next call asks again.
                if answer is not None:
                    self._answers[hash] = answer
                while len(self._answers) > MAX_KEPT:
                    self._answers.popitem(last=False)

    def _answer(self, hash: str, text: str) -> _Answer | None:
        """The API server's answer; None if there is none."""

        def refused(why: str) -> _Answer:
            return _Answer(None, why, time.monotonic(), "")

        spec = {"token": text, "audiences": [self._rules.audience]}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        try:
            status = self._api.call("POST", PATH, body).get("status")
        except ApiError as e:
            log.error("a token cannot be reviewed: %s", e)
            return None
        if not isinstance(status, dict) or status.get("authenticated") is not True:
            return refused("Kubernetes does not accept the token: it is wrong, or has expired")
        audiences = status.get("audiences")
        if not isinstance(audiences, list) or self._rules.audience not in audiences:
            return refused(f"the token is not for the audience {self._rules.audience}")
        name, groups = _user(status)
        role = self._rules.role(name, groups)
        if not role:
            return refused(f"{name} has no role here")
        return _Answer(Token(name, role, hash), "", time.monotonic(), text)


def _user(status: Mapping[str, Any]) -> tuple[str, list[str]]:
    user = status.get("user")
    user = user if isinstance(user, dict) else {}
    name, groups = user.get("username"), user.get("groups")
    groups = groups if isinstance(groups, list) else []
    return name if isinstance(name, str) else "", [group for group in groups if isinstance(group, str)]
