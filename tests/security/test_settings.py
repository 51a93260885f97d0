"""Settings of security: half a configuration is an error, and none is enough only for this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tensorfleet as tf
from tensorfleet.security import settings, tokens
from tensorfleet.security.settings import OPEN, Security, SecurityError, check_server, exposure, load
from tensorfleet_service.server import TaskServer
from tests.security.conftest import SECRET, MakeTasks, Pki, TokenBook


def files(pki: Pki) -> dict[str, str]:
    made = pki.task("worker", 0)
    return {settings.CERT: made.cert, settings.KEY: made.key, settings.CA: made.ca}


def test_nothing_set_is_no_security() -> None:
    assert load({}) is OPEN
    assert not OPEN.authenticates


def test_tls_takes_three_files(pki: Pki) -> None:
    whole = files(pki)
    assert load(whole).authenticates
    for left_out in whole:
        with pytest.raises(SecurityError, match=f"{left_out} is not set"):
            load({name: path for name, path in whole.items() if name != left_out})
        with pytest.raises(SecurityError, match=f"{left_out} is '/nowhere', which is no file"):
            load({**whole, left_out: "/nowhere"})


def test_a_key_of_another_certificate_is_refused(pki: Pki) -> None:
    made, other = pki.task("worker", 0), pki.task("worker", 1)
    mixed = Security(tls=settings.TlsFiles(made.cert, other.key, made.ca))
    with pytest.raises(tf.errors.FailedPreconditionError, match="cannot be used together"):
        TaskServer(tf.train.ClusterSpec({"worker": ["127.0.0.1:0"]}), "worker", 0, security=mixed)


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({settings.TOKEN: "a", settings.TOKEN_FILE: "b"}, "both"),
        ({settings.SECRET: "x" * 16, settings.SECRET_FILE: "b"}, "both"),
        ({settings.SECRET: "short"}, "can be guessed"),
        ({settings.TOKENS: "/nowhere"}, "no file"),
        ({settings.TOKEN_FILE: "/nowhere"}, "cannot be read"),
        ({settings.SECRET_FILE: "/nowhere"}, "cannot be read"),
        ({settings.INSECURE: "1"}, "yes or no"),
        ({settings.METRICS_ACCESS: "token"}, "there are no tokens"),
        ({settings.METRICS_ACCESS: "all"}, "open or token"),
    ],
)
def test_what_contradicts_itself_is_an_error(environ: dict[str, str], why: str) -> None:
    with pytest.raises(SecurityError, match=why):
        load(environ)


def test_errors_do_not_tell_secrets(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(SecurityError) as error:
        load({settings.SECRET: "hush", settings.TOKEN: "tft_hush"})
    assert "hush" not in str(error.value)


@pytest.mark.parametrize("bind", ["0.0.0.0", "[::]", "::", "10.0.0.1", "a-host", ""])
def test_beyond_this_machine_somebody_has_to_be_asked(bind: str, pki: Pki, book: TokenBook) -> None:
    book.add("a")
    tls = Security(tls=pki.task("worker", 0))
    assert check_server(tls, bind, 3) == ""
    assert "does not encrypt" in check_server(Security(secret=SECRET), bind, 3)
    for weak in (OPEN, Security(tokens=str(book.path)), Security(tokens=str(book.path), secret=SECRET)):
        with pytest.raises(SecurityError, match=f"{settings.INSECURE}=yes serves all the same"):
            check_server(weak, bind, 1)
        assert exposure(weak, bind)
        willing = Security(tokens=weak.tokens, secret=weak.secret, insecure=True)
        assert f"{settings.INSECURE}=yes" in check_server(willing, bind, 1)


@pytest.mark.parametrize("bind", ["127.0.0.1", "localhost", "[::1]", "::1", "127.8.8.8"])
def test_this_machine_may_be_alone(bind: str) -> None:
    assert check_server(OPEN, bind, 3) == ""
    assert not exposure(OPEN, bind)


def test_tokens_of_several_tasks_take_what_tasks_know_each_other_by(book: TokenBook) -> None:
    book.add("a")
    with pytest.raises(SecurityError, match="cannot know each other"):
        check_server(Security(tokens=str(book.path)), "127.0.0.1", 2)
    assert check_server(Security(tokens=str(book.path), secret=SECRET), "127.0.0.1", 2) == ""


def test_a_server_in_a_program_refuses_as_well() -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match=settings.INSECURE):
        tf.train.Server({"worker": ["a-host:2222"]}, "worker", 0, start=False)


def test_serve_refuses_and_says_what_to_set() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {
        **os.environ,
        "TENSORFLEET_CLUSTER_SPEC": json.dumps({"worker": [f"127.0.0.1:{port}"]}),
        "TENSORFLEET_JOB_NAME": "worker",
        "TENSORFLEET_TASK_INDEX": "0",
        "TENSORFLEET_BIND_HOST": "0.0.0.0",
    }
    command = [sys.executable, "-m", "tensorfleet.cli.main", "serve"]
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    for name in (settings.CERT, settings.KEY, settings.CA, settings.SECRET_FILE, f"{settings.INSECURE}=yes"):
        assert name in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_metrics_say_who_is_insecure(tasks: MakeTasks, book: TokenBook) -> None:
    made = tasks({"worker:0": Security(insecure=True)}, bind="0.0.0.0")["worker:0"]
    assert made.registry().get_sample_value("tensorfleet_insecure") == 1
    book.add("a")
    made = tasks({"worker:0": Security(tokens=str(book.path), insecure=True)})["worker:0"]
    assert made.registry().get_sample_value("tensorfleet_insecure") == 0
    reason = {"reason": "unauthenticated"}
    assert made.registry().get_sample_value("tensorfleet_refused_total", reason) == 0
    assert "refuses" in made.authorize("")
    assert made.registry().get_sample_value("tensorfleet_refused_total", reason) == 1
    assert made.authorize(f"Bearer {book.texts['a']}") == ""


def test_a_token_is_not_sent_where_others_may_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorfleet.security.calls import check_token_may_go

    shown = Security(token="t")
    check_token_may_go(shown, "127.0.0.1")
    for host in ("10.0.0.1", "a-host", ""):
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not encrypted"):
            check_token_may_go(shown, host)
    check_token_may_go(Security(token="t", insecure=True), "10.0.0.1")


def test_secrets_are_in_no_representation_of_the_settings() -> None:
    security = Security(token="tft_sesame", secret=SECRET)
    assert "sesame" not in repr(security)
    assert SECRET.decode() not in repr(security)


@pytest.mark.parametrize("whose", ["user", "task", "cluster"])
def test_a_task_does_not_start_with_the_certificate_of_somebody_else(pki: Pki, whose: str) -> None:
    found = {
        "user": lambda: (pki.user("alice"), "user alice"),
        "task": lambda: (pki.task("worker", 1), "/job:worker/replica:0/task:1"),
        "cluster": lambda: (pki.issue("odd", "spiffe://example.org/tensorfleet/x"), "invalid identity"),
    }
    made, why = found[whose]()
    with pytest.raises(
        tf.errors.FailedPreconditionError, match=f"{settings.CERT} is '.*' on .*, but .*{why}"
    ):
        TaskServer(
            tf.train.ClusterSpec({"worker": ["127.0.0.1:0", "127.0.0.1:1"]}),
            "worker",
            0,
            security=Security(tls=made),
        )


def test_two_files_that_are_missing_are_told_in_the_plural(pki: Pki) -> None:
    with pytest.raises(
        SecurityError, match=f"{settings.KEY} and {settings.CA} are not set: set them, or none"
    ):
        load({settings.CERT: pki.task("worker", 0).cert})


def test_a_bad_number_among_the_quotas_is_an_error_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORFLEET_MAX_CLIENT_STEPS", "many")
    with pytest.raises(
        tf.errors.FailedPreconditionError, match="MAX_CLIENT_STEPS is 'many': set it to a number"
    ):
        TaskServer(tf.train.ClusterSpec({"worker": ["127.0.0.1:0"]}), "worker", 0)


def test_a_plain_client_is_told_of_tls_and_a_client_with_tls_of_its_absence(
    pki: Pki, tasks: MakeTasks, client: Callable[..., None]
) -> None:
    config = tf.ConfigProto(operation_timeout_in_ms=1500)
    secured = tasks({"worker:0": Security(tls=pki.task("worker", 0))})["worker:0"]
    with pytest.raises(tf.errors.DeadlineExceededError, match=f"takes TLS alone .* set {settings.CERT}"):
        tf.Session(secured.target, config=config).run(tf.constant(1))
    plain = tasks({"worker:0": Security(secret=SECRET)})["worker:0"]
    client(tls=pki.user("alice"))
    with pytest.raises(tf.errors.DeadlineExceededError, match=f"answers without TLS, which {settings.CERT}"):
        tf.Session(plain.target, config=config).run(tf.constant(1))


@pytest.mark.parametrize("name", [settings.TOKEN_FILE, settings.SECRET_FILE, settings.TOKENS, settings.KEY])
@pytest.mark.parametrize(
    "secret",
    [
        tokens.create("alice", "run")[0],
        "3f" * 32,
        "q2Zt/yv3s0Tq9m2cNf0bYw7fFvq6k3l8n5uQhU1rXzE=",
        "-----BEGIN PRIVATE KEY-----\nMIGH/AgEAMBMGByqGSM49\n-----END PRIVATE KEY-----",
    ],
    ids=["token", "hexadecimal", "base64", "key"],
)
def test_a_secret_in_place_of_its_file_is_not_shown(pki: Pki, name: str, secret: str) -> None:
    environ = files(pki) if name == settings.KEY else {}
    with pytest.raises(SecurityError, match=f"{name} is a text of {len(secret)} characters") as caught:
        load({**environ, name: secret})
    assert secret not in str(caught.value)
    assert repr(secret)[1:-1] not in str(caught.value)


@pytest.mark.parametrize("text", ["tft_ä", "tft_a b", "tft_\x01", "tft_" + "x" * 20_000])
def test_a_text_that_is_no_token_is_told_before_it_is_sent(text: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(text)
    for name, value in ((settings.TOKEN, text), (settings.TOKEN_FILE, str(tmp_path / "token"))):
        with pytest.raises(
            SecurityError, match=f"{name} has {len(text)} characters, which are no token"
        ) as caught:
            load({name: value})
        assert text not in str(caught.value)


def test_white_space_around_a_token_and_a_secret_is_not_theirs() -> None:
    assert load({settings.TOKEN: " tft_a\n"}).client_token() == "tft_a"
    assert load({settings.SECRET: SECRET.decode() + "\n"}).secret == SECRET
