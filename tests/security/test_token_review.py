"""Tokens of Kubernetes' ServiceAccounts, which a task asks the API server about."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.security import pod_api, settings, tokens
from tensorfleet.security.pod_api import PodApi
from tensorfleet.security.settings import Security, SecurityError
from tensorfleet_service.security import token_review
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.security.token_review import Rules, TokenReviews
from tests.kube.fake_pod_api import FakePodApi, Object, serving
from tests.security.conftest import MakeTasks, Pki, TokenBook
from tests.until import until

Show = Callable[..., None]
RULES = {
    "audience": "tensorfleet",
    "accounts": {"ml/alice": "run", "ml/ops": "admin"},
    "groups": {"system:serviceaccounts:watch": "read"},
    "seconds": 60,
}
ALICE, OPS, WATCH, BOB = ("a.a.a", "o.o.o", "w.w.w", "b.b.b")
USERS = {
    ALICE: ("system:serviceaccount:ml:alice", ["system:serviceaccounts", "system:serviceaccounts:ml"]),
    OPS: ("system:serviceaccount:ml:ops", ["system:serviceaccounts:ml"]),
    WATCH: ("system:serviceaccount:watch:any", ["system:serviceaccounts:watch"]),
    BOB: ("system:serviceaccount:ml:bob", ["system:serviceaccounts:ml"]),
}


def kubernetes(spec: Object) -> Object:
    """What the API server says of a token."""
    assert spec["audiences"] == ["tensorfleet"]
    if spec["token"] not in USERS:
        return {"authenticated": False, "error": "invalid bearer token"}
    name, groups = USERS[spec["token"]]
    return {
        "authenticated": True,
        "audiences": ["tensorfleet"],
        "user": {"username": name, "groups": groups},
    }


@pytest.fixture
def fake() -> FakePodApi:
    made = FakePodApi()
    made.review = kubernetes
    return made


@pytest.fixture
def api(fake: FakePodApi, tmp_path: Path) -> Iterator[PodApi]:
    with serving(fake, tmp_path / "pod") as found:
        yield found


@pytest.fixture
def reviews(api: PodApi) -> Iterator[TokenReviews]:
    made = TokenReviews(Rules.parse(json.dumps(RULES)), api)
    yield made
    made.close()


def test_roles_are_those_of_accounts_and_groups(reviews: TokenReviews) -> None:
    roles = {}
    for text in (ALICE, OPS, WATCH):
        found, why = reviews.find(text)
        assert found is not None, why
        roles[found.name] = found.role
    assert roles == {
        "system:serviceaccount:ml:alice": "run",
        "system:serviceaccount:ml:ops": "admin",
        "system:serviceaccount:watch:any": "read",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOB, "system:serviceaccount:ml:bob has no role here"),
        ("x.y.z", "Kubernetes does not accept the token"),
    ],
)
def test_those_without_a_role_are_refused(reviews: TokenReviews, text: str, why: str) -> None:
    found, reason = reviews.find(text)
    assert found is None
    assert why in reason


@pytest.mark.parametrize(
    "status",
    [
        {"authenticated": True, "user": {"username": "system:serviceaccount:ml:alice"}},  # for no audience
        {"authenticated": True, "audiences": ["other"], "user": {"username": USERS[ALICE][0]}},
        {"authenticated": "true", "audiences": ["tensorfleet"], "user": {"username": USERS[ALICE][0]}},
        {"authenticated": True, "audiences": ["tensorfleet"], "user": {"username": ["system"]}},
        {"authenticated": True, "audiences": ["tensorfleet"], "user": None},
        {},
        403,
        500,
    ],
)
def test_only_a_clear_yes_lets_in(reviews: TokenReviews, fake: FakePodApi, status: Any) -> None:
    fake.review = lambda spec: status
    assert reviews.find(ALICE)[0] is None


def test_an_answer_is_kept_for_its_time_and_no_longer(
    reviews: TokenReviews, fake: FakePodApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(token_review.time, "monotonic", lambda: now[0])
    for _ in range(3):
        assert reviews.find(ALICE)[0] is not None
    assert len(fake.calls) == 1
    now[0] += 59
    assert reviews.find(ALICE)[0] is not None
    assert len(fake.calls) == 1
    now[0] += 2
    fake.review = lambda spec: {"authenticated": False}
    assert reviews.find(ALICE)[0] is None, "it was deleted meanwhile"
    assert len(fake.calls) == 2


def test_connections_end_when_their_token_is_not_accepted_any_more(
    reviews: TokenReviews, fake: FakePodApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(token_review.time, "monotonic", lambda: now[0])
    reviews.find(ALICE)
    hash = tokens.hashed(ALICE)
    assert reviews.holds(hash, "run")
    assert not reviews.holds(hash, "admin")
    assert not reviews.holds(tokens.hashed(OPS), "admin"), "nobody has shown it"
    fake.review = lambda spec: {"authenticated": False}
    now[0] += 61
    assert reviews.holds(hash, "run"), "until there is an answer"
    until(lambda: not reviews.holds(hash, "run"))


def test_without_an_answer_the_last_one_counts_for_a_bounded_time(
    reviews: TokenReviews, fake: FakePodApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(token_review.time, "monotonic", lambda: now[0])
    reviews.find(ALICE)
    hash = tokens.hashed(ALICE)
    fake.review = lambda spec: 503
    now[0] += 100
    assert reviews.find(ALICE)[0] is not None
    assert reviews.holds(hash, "run")
    assert reviews.find(OPS)[0] is None, "it was not accepted before"
    now[0] += 100
    assert reviews.find(ALICE)[0] is None
    assert not reviews.holds(hash, "run")


def test_what_is_no_such_token_is_not_sent(reviews: TokenReviews) -> None:
    for text in ("", "a.b", "a.b.c.d", "a.b.c\n", "a..c", "ä.b.c", tokens.create("x", "run")[0], "a." * 9000):
        assert not reviews.may_be(text), text
    assert reviews.may_be(ALICE)


def test_strangers_cannot_have_many_asked_about_at_once(
    reviews: TokenReviews, fake: FakePodApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def slowly(spec: Object) -> Object:
        go.wait(30)
        return kubernetes(spec)

    fake.review = slowly
    monkeypatch.setattr(token_review, "MAX_WAITING", 8)
    asked = [reviews.ask(f"{i}.x.x") for i in range(8)]
    with pytest.raises(SecurityError, match="too many tokens"):
        reviews.ask("8.x.x")
    assert reviews.ask("0.x.x") is asked[0], "the same question is asked once"
    go.set()
    for future in asked:
        assert future is not None
        future.result(30)
    assert reviews.find(ALICE)[0] is not None


def test_what_is_kept_has_a_limit(reviews: TokenReviews, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_review, "MAX_KEPT", 3)
    for i in range(5):
        reviews.find(f"{i}.x.x")
    assert len(reviews._answers) == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "audience"),
        ("[]", "audience"),
        ('{"audience": "a"}', "nobody is in it"),
        ('{"audience": "", "groups": {"g": "run"}}', "audience"),
        ('{"audience": "a", "groups": {"g": "root"}}', "roles are read, run, admin"),
        ('{"audience": "a", "accounts": {"alice": "run"}}', "NAMESPACE/NAME"),
        ('{"audience": "a", "groups": {"g": "run"}, "seconds": 0}', "1 to 3600"),
        ('{"audience": "a", "groups": {"g": "run"}, "user": {}}', "user"),
    ],
)
def test_rules_that_are_none(text: str, why: str) -> None:
    with pytest.raises(SecurityError, match=why):
        Rules.parse(text)


def test_it_takes_tls() -> None:
    with pytest.raises(SecurityError, match="TENSORFLEET_TOKEN_REVIEW takes TLS"):
        settings.load({settings.TOKEN_REVIEW: json.dumps(RULES)})


def test_outside_of_a_pod_a_task_does_not_start(pki: Pki, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(SecurityError, match="this is no pod of Kubernetes"):
        Guard(Security(tls=pki.task("worker", 0), token_review=json.dumps(RULES)))


@pytest.fixture
def target(
    tasks: MakeTasks, pki: Pki, book: TokenBook, api: PodApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A task that accepts both kinds of tokens."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api._port))
    monkeypatch.setattr(pod_api, "ACCOUNT", str(tmp_path / "pod"))
    book.add("client")
    security = Security(tls=pki.task("worker", 0), tokens=str(book.path), token_review=json.dumps(RULES))
    return tasks({"worker:0": security})["worker:0"].target


def five(target: str) -> int:
    with tf.Graph().as_default():
        five = tf.constant(2) + 3
        with tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=20000)) as session:
            return int(session.run(five))


def test_a_service_account_has_sessions(
    target: str, pki: Pki, client: Show, book: TokenBook, way: str, fake: FakePodApi
) -> None:
    nobody = pki.issue("client", "", "client.ml")
    for token in (ALICE, book.texts["client"]):
        client(tls=nobody, token=token)
        assert five(target) == 5
    assert len(fake.calls) == 1, "every call is of the same token"
    for token, error, why in (
        (WATCH, tf.errors.PermissionDeniedError, "requires the role run"),
        (BOB, tf.errors.UnauthenticatedError, "has no role here"),
        ("x.y.z", tf.errors.UnauthenticatedError, "does not accept the token"),
    ):
        client(tls=nobody, token=token)
        with pytest.raises(error, match=why):
            five(target)


def test_others_are_answered_while_kubernetes_is_not(
    target: str, pki: Pki, client: Show, book: TokenBook, way: str, fake: FakePodApi
) -> None:
    """One thread serves all calls by gRPC: it must not wait for the API server."""
    go, asked = threading.Event(), threading.Event()

    def slowly(spec: Object) -> Object:
        asked.set()
        go.wait(60)
        return kubernetes(spec)

    fake.review = slowly
    nobody = pki.issue("client", "", "client.ml")
    client(tls=nobody, token=ALICE)
    done: list[int] = []
    waiting = threading.Thread(target=lambda: done.append(five(target)))
    waiting.start()
    try:
        assert asked.wait(20)
        client(tls=nobody, token=book.texts["client"])
        assert five(target) == 5
        assert not done
    finally:
        client(tls=nobody, token=ALICE)
        go.set()
        waiting.join(30)
    assert done == [5]
