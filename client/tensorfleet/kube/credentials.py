"""The credentials of a release, in its Secrets: what the chart's Job and CronJob run in a pod.

    python -m tensorfleet.kube.credentials FLAGS

The chart makes the Secrets without any data, and a Role that lets this program read and change just these.
What is there stays as it is, unless it is about to end, so it may be run at any time.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from tensorfleet.security import tokens
from tensorfleet.security.authority import Authority, alternative_names, key_pem, pem
from tensorfleet.security.identity import task_uri
from tensorfleet.security.pod_api import MERGE_PATCH, ApiError, PodApi
from tensorfleet.security.settings import SecurityError

CA, CA_KEY = "ca.pem", "ca-key.pem"
ROTATE, NEXT_KEY, SINCE = "rotate", "next-key.pem", "since"
"""Of a CA's rotation: that it is asked for, the key of the next one, and when its last step was."""

STEP_SECONDS = 600.0
"""Between two steps of a CA's rotation: pods have a changed Secret after a minute or two."""

TOKENS, TOKEN, SECRET = "tokens.json", "token", "cluster-secret"
ROTATION = "tensorfleet.io/rotation"
CA_DAYS = 3650.0
TRIES = 5

Data = dict[str, bytes]


@dataclass(frozen=True)
class Wanted:
    """What a release has.

    Attributes:
        ca: the Secret of the CA with its key; "": certificates are made elsewhere.
        tasks: the Secret of each job's tasks.
        jobs: the addresses of each job's tasks.
        client: the Secret that clients mount.
        tokens: the Secret of the hashed tokens; "": none.
        secret: the Secret with the cluster secret; "": none.
        readers: the Secret of each further token, which has the role `read`, by the token's name.
        cluster, trust_domain: in the identities.
        hosts: further names of all tasks, such as that of the Service.
        role: of the clients' token.
        days: how long certificates are valid.
        rotation: another text than that of the last time renews all certificates.
    """

    ca: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    client: str = ""
    tokens: str = ""
    secret: str = ""
    readers: Mapping[str, str] = field(default_factory=dict)
    cluster: str = "default"
    trust_domain: str = "tensorfleet.local"
    hosts: Sequence[str] = ()
    role: str = "run"
    days: float = 90.0
    rotation: str = ""


class Secrets:
    """The Secrets of a namespace."""

    def __init__(self, api: PodApi, namespace: str) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/secrets/"

    def read(self, name: str) -> tuple[Data, dict[str, str], str]:
        """(data, annotations, resource version). Raises ApiError, ValueError."""
        found = self._api.call("GET", self._path + name)
        metadata = found["metadata"]
        data = {k: base64.b64decode(v, validate=True) for k, v in (found.get("data") or {}).items()}
        return data, metadata.get("annotations") or {}, metadata["resourceVersion"]

    def change(self, name: str, data: Mapping[str, bytes], version: str, **annotations: str) -> None:
        """Sets keys, if nobody has changed the Secret since `version`. Raises ApiError, with 409 for that."""
        metadata: dict[str, Any] = {"resourceVersion": version}
        if annotations:
            metadata["annotations"] = {ROTATION: annotations["rotation"]}
        body = {
            "metadata": metadata,
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
        self._api.call("PATCH", f"{self._path}{name}?fieldManager=tensorfleet", body, MERGE_PATCH)


def ensure(secrets: Secrets, wanted: Wanted, say: Callable[[str], None]) -> None:
    """Makes what is missing, and renews what is about to end.

    Raises:
        ApiError: the API server refuses, or is not reached.
        ValueError: a Secret holds something else than it should.
    """
    for left in reversed(range(TRIES)):
        try:
            _ensure(secrets, wanted, say)
            return
        except ApiError as error:
            if error.status != 409 or not left:
                raise


def _ensure(secrets: Secrets, wanted: Wanted, say: Callable[[str], None]) -> None:
    if wanted.ca:
        authority, roots = _authority(secrets, wanted, say)
        for job, name in wanted.tasks.items():
            names = {}
            for index, address in enumerate(wanted.jobs[job]):
                hosts = [address.rpartition(":")[0].strip("[]"), *wanted.hosts]
                uri = task_uri(wanted.trust_domain, wanted.cluster, job, index)
                names[f"{job}-{index}"] = uri, list(dict.fromkeys(hosts))
            _certificates(secrets, wanted, authority, roots, name, names, say)
        if wanted.client:
            # Without an identity of its own: it encrypts, and takes a token besides to get in.
            names = {"client": ("", [f"client.{wanted.cluster}"])}
            _certificates(secrets, wanted, authority, roots, wanted.client, names, say)
        for name in wanted.readers.values():
            _certificates(secrets, wanted, authority, roots, name, {}, say)  # the CA alone
    if wanted.tokens:
        for token, (role, name) in {
            **({"client": (wanted.role, wanted.client)} if wanted.client else {}),
            **{reader: ("read", name) for reader, name in wanted.readers.items()},
        }.items():
            _token(secrets, wanted.tokens, token, role, name, say)
    if wanted.secret:
        data, _, version = secrets.read(wanted.secret)
        if not data.get(SECRET):
            secrets.change(wanted.secret, {SECRET: token_hex(32).encode()}, version)
            say(f"{wanted.secret}: a new cluster secret")


def _authority(secrets: Secrets, wanted: Wanted, say: Callable[[str], None]) -> tuple[Authority, bytes]:
    """The CA that signs, and the certificates of all that are trusted."""
    data, _, version = secrets.read(wanted.ca)
    if data.get(CA) and data.get(CA_KEY):
        changed, done = _rotated(data, wanted)
    else:
        authority = _new_authority(wanted)
        changed = {CA: pem(authority.certificate), CA_KEY: key_pem(authority.key)}
        done = "a new CA"
    if changed:
        secrets.change(wanted.ca, changed, version)
        say(f"{wanted.ca}: {done}")
    data |= changed
    return Authority.load(data[CA], data[CA_KEY]), data[CA]


def _new_authority(wanted: Wanted) -> Authority:
    return Authority.create(f"TensorFleet {wanted.cluster}"[:64], max(wanted.days, CA_DAYS))


def _rotated(data: Data, wanted: Wanted) -> tuple[Data, str]:
    """The next step of the CA's rotation, if there is one and it is time for it: changes, and what they are.

    All trust the next CA before it signs, and the former one until everybody has a certificate of the next.
    """
    now = datetime.datetime.now(datetime.UTC)
    since = data.get(SINCE, b"").decode("ascii", "replace")
    if not since:
        if not data.get(ROTATE):
            return {}, ""
        following = _new_authority(wanted)
        roots = data[CA].rstrip() + b"\n" + pem(following.certificate)
        changed = {CA: roots, NEXT_KEY: key_pem(following.key), ROTATE: b""}
        return changed | {SINCE: now.isoformat().encode()}, "the next CA is trusted"
    if now - datetime.datetime.fromisoformat(since) < datetime.timedelta(seconds=STEP_SECONDS):
        return {}, ""
    known = [pem(certificate) for certificate in x509.load_pem_x509_certificates(data[CA])]
    if data.get(NEXT_KEY):
        changed = {CA: known[-1] + b"".join(known[:-1]), CA_KEY: data[NEXT_KEY], NEXT_KEY: b""}
        return changed | {SINCE: now.isoformat().encode()}, "the next CA signs"
    return {CA: known[0], SINCE: b""}, "the former CA is not trusted any more"


def _certificates(
    secrets: Secrets,
    wanted: Wanted,
    authority: Authority,
    roots: bytes,
    secret: str,
    names: Mapping[str, tuple[str, list[str]]],
    say: Callable[[str], None],
) -> None:
    """Sees to the certificates in a Secret: an identity and hosts by name. Those of former tasks stay."""
    data, annotations, version = secrets.read(secret)
    rotated = annotations.get(ROTATION, "") != wanted.rotation
    changed: Data = {}
    for name, (uri, hosts) in names.items():
        certificate, key = f"{name}.pem", f"{name}-key.pem"
        if (
            not rotated
            and data.get(key)
            and _lasts(data.get(certificate, b""), authority, uri, hosts, wanted)
        ):
            continue
        changed[certificate], changed[key] = authority.issue(uri, hosts, wanted.days)
    if data.get(CA) != roots:
        changed[CA] = roots
    if changed or rotated:
        secrets.change(secret, changed, version, rotation=wanted.rotation)
        say(f"{secret}: {', '.join(changed)}")


def _lasts(chain: bytes, authority: Authority, uri: str, hosts: Sequence[str], wanted: Wanted) -> bool:
    """Whether a certificate is as it should be, and for more than a third of its time."""
    try:
        certificate = x509.load_pem_x509_certificate(chain)
        certificate.verify_directly_issued_by(authority.certificate)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    left = certificate.not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    whole = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    as_wanted = set(names) == set(alternative_names(uri, hosts))
    return as_wanted and left > whole / 3 and left <= datetime.timedelta(days=wanted.days)


def _token(
    secrets: Secrets, file: str, name: str, role: str, secret: str, say: Callable[[str], None]
) -> None:
    """A token, once: where its Secret has one, whoever has revoked it meant it."""
    shown, _, shown_version = secrets.read(secret)
    hashes, _, version = secrets.read(file)
    known = tokens.parse(hashes[TOKENS]) if hashes.get(TOKENS) else []
    if shown.get(TOKEN) and hashes.get(TOKENS):
        hash = tokens.hashed(shown[TOKEN].decode("ascii", "replace").strip())
        if any(t.hash == hash and t.role != role for t in known):
            known = [replace(t, role=role) if t.hash == hash else t for t in known]
            secrets.change(file, {TOKENS: _file(known)}, version)
            say(f"{file}: the token {name} has the role {role}")
        return
    text, token = tokens.create(name, role)
    known = [*(t for t in known if t.name != name), token]
    # The hash first: a token that is shown lets somebody in.
    secrets.change(file, {TOKENS: _file(known)}, version)
    secrets.change(secret, {TOKEN: text.encode()}, shown_version)
    say(f"{secret}: a new token {name} with the role {role}")


def _file(known: Sequence[tokens.Token]) -> bytes:
    return (json.dumps({"tokens": [asdict(t) for t in known]}, indent=2) + "\n").encode()


def parser() -> argparse.ArgumentParser:
    """The flags, one for each of `Wanted`."""
    p = argparse.ArgumentParser(prog="python -m tensorfleet.kube.credentials", allow_abbrev=False)
    p.add_argument("--cluster-spec", metavar="FILE", default="", help="the addresses, as JSON")
    p.add_argument("--ca", default="", metavar="SECRET")
    p.add_argument("--tasks", action="append", default=[], metavar="JOB=SECRET")
    p.add_argument("--client", default="", metavar="SECRET")
    p.add_argument("--tokens", default="", metavar="SECRET")
    p.add_argument("--secret", default="", metavar="SECRET")
    p.add_argument("--reader", action="append", default=[], metavar="NAME=SECRET")
    p.add_argument("--cluster", default="default", metavar="NAME")
    p.add_argument("--trust-domain", default="tensorfleet.local", metavar="NAME")
    p.add_argument("--host", action="append", default=[], metavar="HOST")
    p.add_argument("--role", default="run", choices=tokens.ROLES)
    p.add_argument("--days", type=float, default=90.0)
    p.add_argument("--rotation", default="")
    return p


def main(argv: Sequence[str]) -> int:
    """Returns 0, or 1 with the reason on standard error."""
    flags = parser().parse_args(argv)
    try:
        jobs = json.loads(Path(flags.cluster_spec).read_text()) if flags.cluster_spec else {}
        wanted = Wanted(
            ca=flags.ca,
            tasks=_pairs(flags.tasks),
            jobs=jobs,
            client=flags.client,
            tokens=flags.tokens,
            secret=flags.secret,
            readers=_pairs(flags.reader),
            cluster=flags.cluster,
            trust_domain=flags.trust_domain,
            hosts=flags.host,
            role=flags.role,
            days=flags.days,
            rotation=flags.rotation,
        )
        api = PodApi.of_environment()
        ensure(Secrets(api, api.namespace()), wanted, print)
    except (ApiError, SecurityError, OSError, ValueError, KeyError) as error:
        print(f"tensorfleet.kube.credentials: {error}", file=sys.stderr)
        return 1
    return 0


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    return dict(text.split("=", 1) for text in texts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
