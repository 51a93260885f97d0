"""`tensorfleet token`, `tensorfleet certs`, and the credentials of clusters on this machine."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tensorfleet as tf
from tensorfleet.cli import certs, token
from tensorfleet.security import local, tokens
from tensorfleet.security.settings import Security, SecurityError, TlsFiles
from tensorfleet.security.tls import Certificates
from tensorfleet_service.local_cluster import LocalCluster
from tests.security.conftest import MakeTasks, Pki

Capture = pytest.CaptureFixture[str]


def test_tokens_are_made_listed_and_revoked(tmp_path: Path, capsys: Capture) -> None:
    path = str(tmp_path / "tokens.json")
    assert token.main(["create", "alice", "--role", "admin", "--days", "2", "--file", path]) == 0
    text = capsys.readouterr().out.strip()
    assert len(text) > 40
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert text not in Path(path).read_text()
    assert token.main(["create", "bob", "--file", path]) == 0
    found = tokens.find(tokens.read(path), tokens.hashed(text))
    assert found is not None
    assert (found.name, found.role) == ("alice", "admin")
    assert found.expires == pytest.approx(time.time() + 2 * 86400, abs=60)
    capsys.readouterr()
    assert token.main(["list", "--file", path]) == 0
    listed = capsys.readouterr().out
    assert "alice" in listed
    assert "never" in listed
    assert token.main(["create", "alice", "--file", path]) == 1
    assert token.main(["revoke", "alice", "--file", path]) == 0
    assert token.main(["revoke", "alice", "--file", path]) == 1
    assert tokens.find(tokens.read(path), tokens.hashed(text)) is None


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "x" * 65, "../x", "a:b"])
def test_names_that_a_log_would_not_like(name: str, tmp_path: Path, capsys: Capture) -> None:
    assert token.main(["create", "--file", str(tmp_path / "t"), "--", name]) == 1
    assert "name" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"tokens": 1}', '{"tokens": [1]}', '{"tokens": [{"name": "a"}]}', "[" * 100_000]
    + [
        json.dumps({"tokens": [{"name": "a", "role": role, "hash": hash, "expires": expires}]})
        for role, hash, expires in (
            ("root", tokens.hashed("x"), 0),
            ("run", "x", 0),
            ("run", tokens.hashed("x"), "soon"),
            (["run"], tokens.hashed("x"), 0),
        )
    ],
)
def test_files_that_hold_no_tokens(content: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(content)
    with pytest.raises(SecurityError, match=str(path)):
        tokens.read(str(path))


def test_certificates_for_a_cluster(tmp_path: Path, capsys: Capture) -> None:
    spec = json.dumps({"ps": ["ps-0.svc:2222"], "worker": {"3": "127.0.0.1:2223"}})
    folder = tmp_path / "pki"
    command = [str(folder), "--cluster-spec", spec, "--user", "alice:admin", "--host", "localhost"]
    assert certs.main([*command, "--cluster", "one"]) == 0
    assert "export TENSORFLEET_TLS_CERT=" in capsys.readouterr().out
    assert sorted(p.name for p in folder.iterdir()) == [
        *("ca-key.pem", "ca.pem", "ps-0-key.pem", "ps-0.pem"),
        *("user-alice-key.pem", "user-alice.pem", "worker-3-key.pem", "worker-3.pem"),
    ]
    for path in folder.glob("*-key.pem"):
        assert path.stat().st_mode & 0o777 == 0o600

    def own(name: str) -> Certificates:
        return Certificates(TlsFiles(f"{folder}/{name}.pem", f"{folder}/{name}-key.pem", f"{folder}/ca.pem"))

    ps, worker, alice = (own(name).own for name in ("ps-0", "worker-3", "user-alice"))
    assert (ps.task, ps.hosts) == ("/job:ps/replica:0/task:0", ("ps-0.svc", "localhost"))
    assert worker.task == "/job:worker/replica:0/task:3"
    assert "127.0.0.1" in worker.hosts
    assert (alice.user, alice.role, alice.task) == ("alice", "admin", "")
    assert ps.cluster == worker.cluster == alice.cluster == "spiffe://tensorfleet.local/tensorfleet/one"
    ca = (folder / "ca.pem").read_bytes()
    assert certs.main([*command, "--cluster", "one"]) == 0
    assert (folder / "ca.pem").read_bytes() == ca


def test_a_cluster_with_these_certificates(
    tmp_path: Path, tasks: MakeTasks, client: Callable[..., None]
) -> None:
    spec = json.dumps({"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]})
    assert certs.main([str(tmp_path), "--cluster-spec", spec, "--user", "alice"]) == 0

    def files(name: str) -> TlsFiles:
        return TlsFiles(f"{tmp_path}/{name}.pem", f"{tmp_path}/{name}-key.pem", f"{tmp_path}/ca.pem")

    made = tasks({"ps:0": Security(tls=files("ps-0")), "worker:0": Security(tls=files("worker-0"))})
    client(tls=files("user-alice"))
    with tf.device("/job:ps/task:0"):
        x = tf.constant(2.0) * 3.0
    with tf.Session(made["worker:0"].target) as session:
        assert session.run(x) == 6.0


def test_a_ca_is_rotated_while_everybody_stays_connected(
    tmp_path: Path, tasks: MakeTasks, client: Callable[..., None], way: str
) -> None:
    """Whoever has the new files talks with those who still have the old ones, at each step."""
    spec = json.dumps({"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]})
    source = tmp_path / "pki"
    issue = [str(source), "--cluster-spec", spec, "--user", "alice"]
    assert certs.main(issue) == 0

    def give(name: str, *parts: str) -> TlsFiles:
        """Copies somebody's files to where they lie: the key, the certificate, the CA."""
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        for part in parts or ("-key", "", "ca"):
            file = "ca.pem" if part == "ca" else f"{name}{part}.pem"
            (folder / file).write_bytes((source / file).read_bytes())
        return TlsFiles(f"{folder}/{name}.pem", f"{folder}/{name}-key.pem", f"{folder}/ca.pem")

    everybody = ("ps-0", "worker-0", "user-alice")
    ps, worker, alice = (give(name) for name in everybody)
    made = tasks({"ps:0": Security(tls=ps), "worker:0": Security(tls=worker)})
    client(tls=alice)
    with tf.device("/job:ps/task:0"):
        x = tf.constant(2.0) * 3.0

    def works() -> None:
        peers = made["worker:0"]._peers
        with peers._lock:
            known = list(peers._peers.values())
        for peer in known:
            peer.close()
        with tf.Session(made["worker:0"].target) as session:
            assert session.run(x) == 6.0

    works()
    first = (source / "ca.pem").read_bytes()
    assert certs.main([str(source), "--new-ca"]) == 0
    both = (source / "ca.pem").read_bytes()
    assert both.endswith(first)
    assert both.count(b"BEGIN CERTIFICATE") == 2
    for name in everybody:
        give(name, "ca")
        works()
    assert certs.main(issue) == 0
    for name in everybody:
        give(name, "-key", "")
        works()
    assert certs.main([str(source), "--drop-old-ca"]) == 0
    assert (source / "ca.pem").read_bytes() == both.removesuffix(first)
    for name in everybody:
        give(name, "ca")
        works()


def test_rotations_that_there_are_not(tmp_path: Path, capsys: Capture) -> None:
    assert certs.main([str(tmp_path), "--new-ca"]) == 1
    assert "there is no CA in" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        certs.main([str(tmp_path), "--new-ca", "--user", "alice"])
    assert certs.main([str(tmp_path), "--user", "alice"]) == 0
    key = (tmp_path / "ca-key.pem").read_bytes()
    assert certs.main([str(tmp_path), "--new-ca"]) == 0
    (tmp_path / "ca-key.pem").write_bytes(key)  # as where that was interrupted
    capsys.readouterr()
    assert certs.main([str(tmp_path), "--user", "bob"]) == 1
    assert "key is of another certificate" in capsys.readouterr().err


@pytest.mark.cluster
def test_clients_find_the_credentials_of_a_local_cluster(
    way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with LocalCluster({"ps": 1, "worker": 1}, secured=True) as cluster:
        (path,) = (tmp_path / "clusters").glob("*.json")
        assert path.stat().st_mode & 0o777 == 0o600
        with tf.device("/job:ps/task:0"):
            x = tf.constant(2.0) * 3.0
        with tf.Session(cluster.target) as session:
            assert session.run(x) == 6.0
        with tf.Session(cluster.target.replace("127.0.0.1", "localhost")) as session:
            assert session.run(x) == 6.0
        # Another user of the machine does not see the file.
        monkeypatch.setattr(local, "folder", lambda: tmp_path / "of_another_user")
        with pytest.raises(tf.errors.UnauthenticatedError, match="shows no token"):
            tf.Session(cluster.target).run(x)
    assert not path.exists()


def test_credentials_that_others_can_read_are_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = local.write(["127.0.0.1:1"], "token", "s" * 32)
    assert local.find("127.0.0.1:1") == Security(token="token", secret=b"s" * 32)
    assert local.find("127.0.0.1:2") is None
    path.chmod(0o644)
    assert local.find("127.0.0.1:1") is None
    assert "other users can" in caplog.text
    path.chmod(0o600)
    path.write_text("[]")
    assert local.find("127.0.0.1:1") is None


def test_an_unusable_file_leaves_the_tokens_in_force_and_none_lets_nobody_in(tmp_path: Path) -> None:
    from tensorfleet_service.security.token_file import TokenFile

    path = tmp_path / "t"
    text, kept = tokens.create("a", "run")
    tokens.write(str(path), [kept])
    file = TokenFile(str(path))
    assert file.find(text)[0] == kept
    path.write_text("{")
    assert file.find(text)[0] == kept
    path.unlink()
    assert file.find(text) == (None, "the token is not known here: it is wrong, or was revoked")
    tokens.write(str(path), [kept])
    assert file.find(text)[0] == kept


def test_the_pki_of_these_tests_makes_expired_ones(pki: Pki) -> None:
    from cryptography import x509

    made = pki.task("ps", 0, days=-1)
    found = x509.load_pem_x509_certificate(Path(made.cert).read_bytes())
    assert found.not_valid_before_utc < found.not_valid_after_utc
    assert found.not_valid_after_utc.timestamp() < time.time()


@pytest.mark.parametrize("days", ["nan", "inf", "-1", "1e300"])
def test_a_token_ends_at_a_date(days: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "tokens.json"
    assert token.main(["create", "alice", f"--days={days}", "--file", str(path)]) == 1
    assert "--days is" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize("end", ["NaN", "Infinity", "1e300", "-1"])
def test_a_file_with_a_time_that_is_none_is_refused(end: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "tokens.json"
    hashed = tokens.hashed("x")
    path.write_text(f'{{"tokens": [{{"name": "a", "role": "run", "hash": "{hashed}", "expires": {end}}}]}}')
    assert token.main(["list", "--file", str(path)]) == 1
    assert "the token a has the time" in capsys.readouterr().err


def test_certificates_for_no_cluster(tmp_path: Path, capsys: Capture) -> None:
    assert certs.main([str(tmp_path / "pki"), "--cluster-spec", "{"]) == 1
    assert "--cluster-spec is not a cluster in JSON" in capsys.readouterr().err
    assert not (tmp_path / "pki").exists()
