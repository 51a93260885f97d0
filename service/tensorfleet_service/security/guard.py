"""Guard: decides on both transports who may connect or call, and what for."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from tensorfleet.core import errors
from tensorfleet.security import identity as identities, settings
from tensorfleet.security.calls import AUTHORIZATION, PROOF, host_of
from tensorfleet.security.identity import Identity
from tensorfleet.security.pod_api import PodApi
from tensorfleet.security.secret import CallProofs, request_digest, same
from tensorfleet.security.settings import OPEN, Security
from tensorfleet.security.tls import Certificates, certificates
from tensorfleet.security.tokens import HASH, NO_LIMITS, Limits, Token
from tensorfleet.wire.proof import claims
from tensorfleet_service.security.audit import Audit
from tensorfleet_service.security.principal import ANYBODY, Principal
from tensorfleet_service.security.quotas import Quotas
from tensorfleet_service.security.token_file import TokenFile
from tensorfleet_service.security.token_review import Rules, TokenReviews

log = logging.getLogger(__name__)

# The role that a call requires, by the beginning of its name; the first match counts. "": none.
_TAKES = (
    ("/tensorfleet.FleetService/GetEndpoint", ""),
    ("/grpc.health.v1.Health/", ""),
    ("/tensorfleet.FleetService/GetStacks", "read"),
    ("/tensorfleet.FleetService/", "status"),
    ("/tensorflow.MasterService/Reset", "admin"),
    ("/tensorflow.MasterService/", "run"),
    ("/tensorflow.WorkerService/", "task"),
)
_AUDITED = ("GetStatus", "GetStacks", "GetSteps")
"""Calls of which the audit log says that they came; others say themselves what they have done."""


def _taken_by(method: str) -> str:
    return next((role for start, role in _TAKES if method.startswith(start)), "admin")


class Guard:
    """Identifies those who connect to a task or call it, and lets them in or refuses them.

    Args:
        security: the task's settings.
        task, incarnation: of the task.
        addresses: of all tasks, by canonical name.
        limits: of clients whose tokens have none.

    Attributes:
        enabled: whether anybody is asked at all.
        exposure: what others could do to the task as it is set up, or "".
        quotas: how much each of them may have.
        refused: how many were not let in, by the reason's first word: "unauthenticated" or "forbidden".

    Raises:
        SecurityError: a file of the settings cannot be used.
    """

    def __init__(
        self,
        security: Security = OPEN,
        task: str = "",
        incarnation: int = 0,
        addresses: Mapping[str, str] | None = None,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self.security = security
        self.enabled = security.authenticates
        self.exposure = ""
        self.refused: Counter[str] = Counter()
        self._task = task
        self._addresses = addresses or {}
        self._tokens = TokenFile(security.tokens) if security.tokens else None
        self._reviews: TokenReviews | None = None
        if security.token_review:
            try:
                rules = Rules.parse(security.token_review)
            except settings.SecurityError as e:
                raise settings.SecurityError(f"{settings.TOKEN_REVIEW}: {e}") from None
            self._reviews = TokenReviews(rules, PodApi.of_environment())
        self._certificates: Certificates | None = None if security.tls is None else certificates(security.tls)
        if self._certificates is not None:
            self._certificates.bind(self._check_own)
        self._proofs = CallProofs(security.secret, incarnation) if security.secret else None
        self.quotas = Quotas(limits)
        self._lock = threading.Lock()
        try:
            self.audit = Audit(task, security.audit_log)
        except OSError as e:
            raise settings.SecurityError(
                f"{settings.AUDIT_LOG} is {security.audit_log!r}, which cannot be written: {e.strerror}"
            ) from None

    def _check_own(self, own: Identity) -> None:
        """Refuses a certificate of another task, now or later: others would, but only once a step needs it.

        Raises:
            SecurityError: this task cannot use it.
        """
        assert self._certificates is not None
        if why := own.wrong or (own.cluster and own.why_not_task(self._task, "", own)):
            cert = self._certificates.files.cert
            raise settings.SecurityError(f"{settings.CERT} is {cert!r} on {self._task}, but {why}")

    # Streams

    def of_stream(
        self, hello: Mapping[str, Any], identity: Identity | None, proven: Mapping[str, Any] | None
    ) -> Principal:
        """The principal that has opened a connection.

        Args:
            hello: the other side's statement about itself.
            identity: the identity in its certificate, if the connection has TLS.
            proven: its statement about itself that came with a proof of the cluster secret, if any.

        Raises:
            UnauthenticatedError: it is not who it says it is, or does not say.
            PermissionDeniedError: it may not use the stream.
        """
        if not self.enabled:
            return ANYBODY
        if proven is not None and claims(hello) != dict(proven):
            raise self.refusal(f"it has proven to be {dict(proven)}, and says to be {claims(hello)}")
        if "task" in hello:
            return self._task_of(str(hello["task"]), identity, proven is not None)
        hash = hello.get("token_hash") if proven is not None else None
        principal = self._client(hello.get("token"), identity, proven is not None, hash)
        if not principal.may("run"):
            raise self.forbidden(principal, "run", "a session")
        return principal

    def _task_of(self, task: str, identity: Identity | None, proven: bool) -> Principal:
        said = ascii(task)[1:-1]  # not all characters can be logged
        if identity is not None:
            assert self._certificates is not None
            host = host_of(self._addresses.get(task, ""))
            if why := identity.why_not_task(task, host, self._certificates.own):
                raise self.refusal(f"it says to be {said}, but {why}")
        elif not proven:
            raise self.refusal(f"it says to be {said}, and does not prove it")
        return Principal("task", task, "task")

    def _client(
        self, token: Any, identity: Identity | None, proven: bool, hash: Any = None, waits: bool = True
    ) -> Principal:
        """The principal of a client. The hash of a token is accepted only with a proof of the secret.

        With `waits`, the call may wait for Kubernetes' answer about a token.
        """
        if token is None and isinstance(hash, str) and self._tokens is not None:
            return self._holder(*self._tokens.find_hash(hash))
        if isinstance(token, str) and self._reviews is not None and self._reviews.may_be(token):
            return self._holder(*(self._reviews.find(token) if waits else self._reviews.known(token)))
        if token is not None:
            if self._tokens is None:
                if proven or (identity is not None and identity.role):
                    token = None  # a proven or certified client needs no token
                else:
                    raise self.refusal("it shows a token, but this task knows none")
            else:
                found, why = (
                    self._tokens.find(token) if isinstance(token, str) else (None, "its token is not a text")
                )
                return self._holder(found, why)
        if identity is not None:
            assert self._certificates is not None
            own = self._certificates.own
            if identity.wrong or (identity.cluster and identity.cluster != own.cluster):
                mine = own.cluster or "this task's, which names no cluster"
                raise self.refusal(
                    identity.wrong or f"its certificate is of {identity.cluster}, not of {mine}"
                )
            if identity.user:
                return Principal("certificate", identity.user, identity.role)
            if identity.task:
                return Principal("task", identity.task, "task")
        if proven:
            return Principal("secret", "cluster-secret", "admin")
        raise self.refusal(f"it shows no {self._wanted(identity)}")

    def _holder(self, found: Token | None, why: str) -> Principal:
        if found is None:
            raise self.refusal(why)
        return Principal("token", found.name, found.role, found.hash, found.limits)

    def _wanted(self, identity: Identity | None) -> str:
        ways = []
        if self._tokens is not None or self._reviews is not None:
            ways.append(f"token, which {settings.TOKEN_FILE} or {settings.TOKEN} would name")
        if self.security.secret:
            ways.append(f"proof of the cluster secret, which {settings.SECRET_FILE} would name")
        if self.security.tls is not None and identity is None:
            ways.append("certificate")
        elif self.security.tls is not None:
            ways.append("certificate of a user")
        return ", and no ".join(ways)

    # Calls by gRPC

    def of_call(self, method: str, context: Any) -> tuple[Principal, str]:
        """(the caller, the digest that the request must have), before the request is received.

        The digest is "" where the call carries no proof of its request; else see `check_request`.

        Args:
            context: gRPC's.

        Raises:
            UnauthenticatedError: the caller is not known here.
            PermissionDeniedError: the caller's role does not include the call.
        """
        if not self.enabled:
            return ANYBODY, ""
        takes = _taken_by(method)
        if not takes:
            return ANYBODY, ""
        name = method.rpartition("/")[2]
        peer = str(context.peer())
        try:
            principal, digest = self._caller(method, context)
            if not principal.may(takes):
                raise self.forbidden(principal, takes, name)
        except errors.OpError as e:
            self.audit.refused("", peer=peer, call=name, reason=e.message)
            raise
        if name in _AUDITED and principal.kind != "task":
            self.audit.write("call", principal.id, peer=peer, call=name)
        return principal, digest

    def to_ask(self, method: str, context: Any) -> Future[None] | None:
        """What `of_call` needs to know of Kubernetes first, under way; it does not wait itself."""
        if self._reviews is None or not _taken_by(method):
            return None
        for key, value in context.invocation_metadata():
            token = str(value).partition(" ")[2] if key == AUTHORIZATION else ""
            if token and self._reviews.may_be(token):
                try:
                    return self._reviews.ask(token)
                except settings.SecurityError as e:
                    log.warning("%s", e)
        return None

    def reads(self, method: str) -> bool:
        """Whether requests of a method are read, which they are not for methods without authentication.

        Strangers could send messages of the largest size, which gRPC keeps until they are read. The answers
        of such methods do not depend on the request.
        """
        return not self.enabled or _taken_by(method) != ""

    def check_request(self, method: str, data: bytes, digest: str, peer: str) -> None:
        """Raises UnauthenticatedError if a request is not the one that its call's proof is for.

        The call may have ended, so gRPC must not be asked for the name of the other side.
        """
        if same(request_digest(data).encode(), digest.encode("ascii", "replace")):
            return
        error = self.refusal("its request is not the one that its proof is for")
        name = method.rpartition("/")[2]
        self.audit.refused("", peer=peer, call=name, reason=error.message)
        raise error

    def _caller(self, method: str, context: Any) -> tuple[Principal, str]:
        shown: Sequence[tuple[str, Any]] = context.invocation_metadata()
        found = {key: value for key, value in shown if key in (AUTHORIZATION, PROOF)}
        identity = None if self.security.tls is None else identities.of_grpc(context.auth_context())
        proven, claim, digest = False, "", ""
        if PROOF in found and self._proofs is not None:
            claim, digest, why = self._proofs.verify(str(found[PROOF]), method)
            if why:
                raise self.refusal(why)
            proven = True
        if claim.startswith(HASH):
            return self._client(None, identity, proven, claim, waits=False), digest
        if claim or (identity is not None and identity.task):
            task = claim or (identity.task if identity is not None else "")
            return self._task_of(task, identity, proven), digest
        if identity is not None and not identity.user and AUTHORIZATION not in found:
            task = self._task_at(identity)
            if task:
                return Principal("task", task, "task"), digest
        token = None
        if AUTHORIZATION in found:
            scheme, _, token = str(found[AUTHORIZATION]).partition(" ")
            if scheme.lower() != "bearer":
                raise self.refusal("its authorization is not by a token")
        return self._client(token, identity, proven, waits=False), digest

    def _task_at(self, identity: Identity) -> str:
        """The first task whose host a certificate without an identity names; else ""."""
        assert self._certificates is not None
        for task, address in self._addresses.items():
            if not identity.why_not_task(task, host_of(address), self._certificates.own):
                return task
        return ""

    # Tokens alone, for pages by HTTP

    def of_authorization(self, header: str) -> Principal:
        """The principal of a token in an Authorization header.

        Raises:
            UnauthenticatedError: the caller is not known here.
        """
        scheme, _, token = header.partition(" ")
        return self._client(token if scheme.lower() == "bearer" else None, None, False)

    def still(self, principal: Principal) -> bool:
        """Whether a principal that was let in before would still be let in."""
        if not principal.token:
            return True
        return any(
            known is not None and known.holds(principal.token, principal.role)
            for known in (self._tokens, self._reviews)
        )

    def close(self) -> None:
        """Asks nobody any more, and closes the audit log."""
        if self._reviews is not None:
            self._reviews.close()
        self.audit.close()

    # Refusals

    def refusal(self, why: str) -> errors.OpError:
        """The error for somebody who is not let in; counts the refusal."""
        with self._lock:
            self.refused["unauthenticated"] += 1
        return errors.UnauthenticatedError(None, None, f"{self._task} refuses: {why}")

    def forbidden(self, principal: Principal, role: str, what: str) -> errors.OpError:
        """The error for a principal without the required role; counts the refusal."""
        with self._lock:
            self.refused["forbidden"] += 1
        text = (
            f"{self._task} refuses: {what} requires the role {role}, and {principal.id} has {principal.role}"
        )
        return errors.PermissionDeniedError(None, None, text)

    def check_use(self, principal: Principal, owner: str, session: str) -> None:
        """Raises PermissionDeniedError if a principal may not use a session."""
        if principal is ANYBODY or principal.may_use(owner):
            return
        with self._lock:
            self.refused["forbidden"] += 1
        reason = f"{self._task} refuses: session {session} does not belong to {principal.id}"
        self.audit.refused(principal.id, session=session, reason=reason)
        raise errors.PermissionDeniedError(None, None, reason)
