"""Clients as the chart makes them: a certificate of nobody, a token, and a name of the Service."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tensorfleet as tf
from tensorfleet.security import settings
from tensorfleet.security.settings import Security, SecurityError
from tests.security.conftest import MakeTasks, Pki, TokenBook

Show = Callable[..., None]
SERVICE = "fleet.ml"


@pytest.fixture
def target(tasks: MakeTasks, pki: Pki, book: TokenBook) -> str:
    """A task whose certificate names the Service, and no address at which it is reached here."""
    book.add("client")
    security = Security(tls=pki.task("worker", 0, hosts=(SERVICE,)), tokens=str(book.path))
    return tasks({"worker:0": security})["worker:0"].target


@pytest.fixture
def nobody(pki: Pki, client: Show, book: TokenBook) -> Callable[[str], None]:
    """Has this process show a certificate without an identity, and a token."""
    return lambda token: client(tls=pki.issue("client", "", "client.ml.fleet"), token=token)


def five(target: str) -> int:
    with tf.Graph().as_default():
        five = tf.constant(2) + 3
        config = tf.ConfigProto(operation_timeout_in_ms=5000)
        with tf.Session(target, config=config) as session:
            return int(session.run(five))


def test_a_token_lets_in_through_a_forwarded_port(
    target: str, nobody: Callable[[str], None], book: TokenBook, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody(book.texts["client"])
    monkeypatch.setenv(settings.SERVER_NAME, SERVICE)
    assert five(target) == 5


def test_without_a_token_the_certificate_lets_nobody_in(
    target: str, nobody: Callable[[str], None], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody("")
    monkeypatch.setenv(settings.SERVER_NAME, SERVICE)
    with pytest.raises(tf.errors.UnauthenticatedError, match="shows no token"):
        five(target)


@pytest.mark.parametrize("name", ["", "other.ml"])
def test_a_task_of_another_name_gets_no_token(
    target: str, nobody: Callable[[str], None], book: TokenBook, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody(book.texts["client"])
    if name:
        monkeypatch.setenv(settings.SERVER_NAME, name)
    with pytest.raises(tf.errors.OpError) as caught:
        five(target)
    assert isinstance(caught.value, tf.errors.UnavailableError | tf.errors.DeadlineExceededError)


def test_a_name_without_tls_is_half_a_configuration() -> None:
    with pytest.raises(SecurityError, match="TENSORFLEET_TLS_SERVER_NAME is set, but there is no TLS"):
        settings.load({settings.SERVER_NAME: SERVICE})
