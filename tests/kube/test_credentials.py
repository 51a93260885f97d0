"""The credentials that a release's Job keeps in its Secrets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from tensorfleet.kube import credentials
from tensorfleet.kube.credentials import Secrets, Wanted, ensure
from tensorfleet.security import identity, tokens
from tensorfleet.security.authority import pem
from tensorfleet.security.pod_api import ApiError, PodApi
from tensorfleet.security.settings import SecurityError
from tests.kube.fake_pod_api import FakePodApi, serving

NAMES = ("ca", "workers", "ps", "client", "tokens", "metrics", "secret")
WANTED = Wanted(
    ca="ca",
    tasks={"worker": "workers", "ps": "ps"},
    jobs={"worker": ["w-0.w.ml:2222", "w-1.w.ml:2222"], "ps": ["p-0.p.ml:2222"]},
    client="client",
    tokens="tokens",
    readers={"metrics": "metrics"},
    cluster="ml.fleet",
    trust_domain="cluster.local",
    hosts=("fleet", "127.0.0.1"),
)

Run = Callable[[Wanted], list[str]]


@pytest.fixture
def fake() -> FakePodApi:
    return FakePodApi(*NAMES)


@pytest.fixture
def pod(fake: FakePodApi, tmp_path: Path) -> Iterator[PodApi]:
    with serving(fake, tmp_path) as found:
        yield found


@pytest.fixture
def run(pod: PodApi) -> Run:
    def once(wanted: Wanted) -> list[str]:
        said: list[str] = []
        ensure(Secrets(pod, pod.namespace()), wanted, said.append)
        return said

    return once


def certificate(fake: FakePodApi, secret: str, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(fake.data(secret)[f"{name}.pem"])


def names(found: x509.Certificate) -> tuple[list[str], list[str]]:
    """URIs and hosts."""
    alternative = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = map(str, alternative.get_values_for_type(x509.IPAddress))
    uris = alternative.get_values_for_type(x509.UniformResourceIdentifier)
    return uris, [*alternative.get_values_for_type(x509.DNSName), *addresses]


def test_each_task_gets_a_certificate_that_says_which_it_is(fake: FakePodApi, run: Run) -> None:
    run(WANTED)
    uris, hosts = names(certificate(fake, "workers", "worker-1"))
    assert uris == ["spiffe://cluster.local/tensorfleet/ml.fleet/worker/1"]
    assert hosts == ["w-1.w.ml", "fleet", "127.0.0.1"]
    assert identity.of_names(uris, hosts).task == "/job:worker/replica:0/task:1"
    assert set(fake.data("ps")) == {"ca.pem", "ps-0.pem", "ps-0-key.pem"}, "no other role's keys"
    assert b"PRIVATE KEY" in fake.data("workers")["worker-1-key.pem"]
    ca = x509.load_pem_x509_certificate(fake.data("ca")["ca.pem"])
    for secret, name in (("workers", "worker-0"), ("ps", "ps-0"), ("client", "client")):
        certificate(fake, secret, name).verify_directly_issued_by(ca)
        assert fake.data(secret)["ca.pem"] == fake.data("ca")["ca.pem"]
    assert [secret for secret in NAMES if "ca-key.pem" in fake.data(secret)] == ["ca"]


def test_clients_get_a_certificate_of_nobody_and_a_token(fake: FakePodApi, run: Run) -> None:
    run(WANTED)
    uris, hosts = names(certificate(fake, "client", "client"))
    assert identity.of_names(uris, hosts) == identity.Identity(hosts=("client.ml.fleet",))
    known = {token.name: token for token in tokens.parse(fake.data("tokens")["tokens.json"])}
    assert {name: token.role for name, token in known.items()} == {"client": "run", "metrics": "read"}
    for name in known:
        token = fake.data(name)["token"].decode()
        assert tokens.find(known.values(), tokens.hashed(token)) == known[name]
        assert token.encode() not in fake.data("tokens")["tokens.json"]


def test_another_time_changes_nothing(fake: FakePodApi, run: Run) -> None:
    assert run(WANTED)
    before = {name: fake.data(name) for name in NAMES}
    fake.calls.clear()
    assert run(WANTED) == []
    assert {name: fake.data(name) for name in NAMES} == before
    assert all(call.startswith("GET") for call in fake.calls)


def test_another_task_gets_one_and_the_others_keep_theirs(fake: FakePodApi, run: Run) -> None:
    run(WANTED)
    before = fake.data("workers")
    more = {"worker": [*WANTED.jobs["worker"], "w-2.w.ml:2222"], "ps": WANTED.jobs["ps"]}
    assert run(replace(WANTED, jobs=more)) == ["workers: worker-2.pem, worker-2-key.pem"]
    assert {key: value for key, value in fake.data("workers").items() if key in before} == before
    assert run(WANTED) == [], "fewer tasks: pods that still stop have theirs"


@pytest.mark.parametrize(
    ("changed", "again"),
    [({"rotation": "2"}, True), ({"hosts": ("fleet", "more")}, True), ({"days": 10.0}, True), ({}, False)],
)
def test_what_renews_the_certificates(
    fake: FakePodApi, run: Run, changed: dict[str, object], again: bool
) -> None:
    run(WANTED)
    before = {secret: fake.data(secret) for secret in NAMES}
    run(replace(WANTED, **changed))  # type: ignore[arg-type]
    assert (fake.data("workers")["worker-0.pem"] != before["workers"]["worker-0.pem"]) is again
    for kept in ("ca", "tokens", "metrics"):
        assert fake.data(kept) == before[kept]
    assert run(replace(WANTED, **changed)) == []  # type: ignore[arg-type]


def test_certificates_near_their_end_are_renewed(fake: FakePodApi, run: Run) -> None:
    """A clock would have to be moved; those of 40 s are past two thirds of their time from the beginning.

    For they are valid since five minutes ago.
    """
    short = replace(WANTED, days=40 / 86400)
    run(short)
    before = fake.data("ps")["ps-0.pem"]
    assert "ps: ps-0.pem, ps-0-key.pem" in run(short)
    assert fake.data("ps")["ps-0.pem"] != before


def test_those_of_another_ca_are_replaced(fake: FakePodApi, run: Run) -> None:
    run(WANTED)
    del fake.secrets["ca"]["data"]
    said = run(WANTED)
    assert "ca: a new CA" in said
    ca = x509.load_pem_x509_certificate(fake.data("ca")["ca.pem"])
    certificate(fake, "workers", "worker-0").verify_directly_issued_by(ca)
    assert fake.data("client")["ca.pem"] == fake.data("ca")["ca.pem"]


def test_a_ca_is_rotated_in_steps(fake: FakePodApi, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has the Secrets of one step trusts the certificates of the one before and of the one after."""
    issued = {"workers": "worker-0", "ps": "ps-0", "client": "client"}

    def trusted() -> list[bytes]:
        """The CAs in all Secrets, which are the same."""
        found = {fake.data(secret)["ca.pem"] for secret in ("ca", "metrics", *issued)}
        assert len(found) == 1
        return [pem(certificate) for certificate in x509.load_pem_x509_certificates(found.pop())]

    def signers() -> set[int]:
        """The places among the trusted CAs of those that have signed."""
        roots = x509.load_pem_x509_certificates(fake.data("ca")["ca.pem"])
        found = set()
        for secret, name in issued.items():
            for place, root in enumerate(roots):
                with contextlib.suppress(InvalidSignature):
                    certificate(fake, secret, name).verify_directly_issued_by(root)
                    found.add(place)
        return found

    run(WANTED)
    (old,) = trusted()
    fake.secrets["ca"]["data"]["rotate"] = "eWVz"
    assert "ca: the next CA is trusted" in run(WANTED)
    assert trusted()[0] == old
    _, new = trusted()
    assert signers() == {0}, "certificates of the old one, as not everybody trusts the new one yet"
    assert run(WANTED) == [], "too early"
    monkeypatch.setattr(credentials, "STEP_SECONDS", 0.0)
    assert "ca: the next CA signs" in run(WANTED)
    assert trusted() == [new, old]
    assert signers() == {0}
    assert "ca: the former CA is not trusted any more" in run(WANTED)
    assert trusted() == [new]
    assert signers() == {0}
    assert run(WANTED) == []
    assert not fake.data("ca")["next-key.pem"]


def test_a_revoked_token_stays_revoked(fake: FakePodApi, run: Run) -> None:
    run(WANTED)
    fake.secrets["tokens"]["data"] = {"tokens.json": "eyJ0b2tlbnMiOiBbXX0="}  # {"tokens": []}
    assert run(WANTED) == []
    assert tokens.parse(fake.data("tokens")["tokens.json"]) == []


def test_a_token_that_is_taken_out_of_its_secret_is_replaced(fake: FakePodApi, run: Run) -> None:
    run(WANTED)
    before = fake.data("client")["token"].decode()
    del fake.secrets["client"]["data"]["token"]
    run(WANTED)
    known = tokens.parse(fake.data("tokens")["tokens.json"])
    assert sorted(token.name for token in known) == ["client", "metrics"]
    assert tokens.find(known, tokens.hashed(before)) is None
    assert tokens.find(known, tokens.hashed(fake.data("client")["token"].decode()))


def test_another_role_is_given_to_the_same_token(fake: FakePodApi, run: Run) -> None:
    run(WANTED)
    before = fake.data("client")["token"]
    run(replace(WANTED, role="admin"))
    roles = {t.name: t.role for t in tokens.parse(fake.data("tokens")["tokens.json"])}
    assert roles == {"client": "admin", "metrics": "read"}
    assert fake.data("client")["token"] == before


def test_two_at_once_agree(fake: FakePodApi, run: Run) -> None:
    """Another one makes the CA between this one's look and its change."""
    intruded: list[str] = []

    def intrude(name: str) -> None:
        if not intruded:
            intruded.append(name)
            run(WANTED)

    fake.before_patch = intrude
    run(WANTED)
    assert intruded == ["ca"]
    ca = x509.load_pem_x509_certificate(fake.data("ca")["ca.pem"])
    certificate(fake, "workers", "worker-0").verify_directly_issued_by(ca)


def test_it_does_not_try_for_ever(fake: FakePodApi, run: Run) -> None:
    fake.before_patch = fake.touch
    with pytest.raises(ApiError, match="the object has been modified"):
        run(WANTED)
    assert len([call for call in fake.calls if call.startswith("PATCH")]) == credentials.TRIES


def test_a_cluster_secret(fake: FakePodApi, run: Run) -> None:
    assert run(Wanted(secret="secret")) == ["secret: a new cluster secret"]
    assert len(fake.data("secret")["cluster-secret"]) == 64
    assert run(Wanted(secret="secret")) == []


def test_a_missing_secret_is_named(fake: FakePodApi, run: Run) -> None:
    with pytest.raises(ApiError, match='secrets "other" not found'):
        run(replace(WANTED, ca="other"))


def test_outside_of_a_pod_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert credentials.main(["--ca=ca"]) == 1
    assert "this is no pod of Kubernetes" in capsys.readouterr().err
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(SecurityError, match="no token for Kubernetes' API"):
        PodApi.of_environment(environ, str(tmp_path))


def test_an_api_server_of_another_ca_gets_no_token(fake: FakePodApi, pod: PodApi, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with serving(FakePodApi(), other):
        (tmp_path / "ca.crt").write_bytes((other / "ca.crt").read_bytes())
    with pytest.raises(ApiError, match="certificate verify failed"):
        pod.call("GET", "/api/v1/namespaces/lab/secrets/ca")
    assert not fake.calls
