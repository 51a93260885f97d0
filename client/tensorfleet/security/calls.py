"""Calls by gRPC: the channel, and the metadata that authenticates the caller."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tensorfleet.core import errors
from tensorfleet.security import local, settings
from tensorfleet.security.secret import call_proof
from tensorfleet.security.settings import Security, SecurityError, is_loopback
from tensorfleet.security.tls import certificates
from tensorfleet.security.tokens import hashed

AUTHORIZATION = "authorization"
PROOF = "tensorfleet-proof"
ENDPOINT = "/tensorfleet.FleetService/GetEndpoint"

Options = Sequence[tuple[str, Any]]

NO_PROXY = (("grpc.enable_http_proxy", 0),)
"""Options of channels without TLS. By default gRPC uses the environment's `http_proxy` even for loopback."""


def for_client(address: str, environ: Mapping[str, str] = os.environ) -> Security:
    """The credentials of clients with these environment variables for a server at `host:port`.

    Raises:
        InvalidArgumentError: the settings of the environment contradict each other.
    """
    try:
        found = settings.load(environ)
        if name := environ.get(settings.SERVER_NAME):
            found = replace(found, server_name=name)
        if not (found.tls or found.token or found.token_file or found.secret) and is_loopback(
            host_of(address)
        ):
            found = local.find(address) or found
        return found
    except SecurityError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None


def host_of(address: str) -> str:
    """The host of `host:port`, which may have one of gRPC's schemes; "" if there is none."""
    return address.rpartition("/")[2].rpartition(":")[0]


def open_channel(address: str, options: Options, security: Security) -> Any:
    """A channel, with TLS if the settings have it."""
    import grpc

    if security.tls is None:
        return grpc.insecure_channel(address, options=(*options, *NO_PROXY))
    if security.server_name:
        options = (*options, ("grpc.ssl_target_name_override", security.server_name))
    return grpc.secure_channel(address, channel_credentials(security), options=options)


def channel_credentials(security: Security) -> Any:
    """The current certificates as gRPC's credentials."""
    import grpc

    assert security.tls is not None
    try:
        key, chain, roots = certificates(security.tls).pem
    except SecurityError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None
    return grpc.ssl_channel_credentials(roots, key, chain)


def check_token_may_go(security: Security, host: str) -> None:
    """Raises InvalidArgumentError if others could read the token on the network."""
    if security.tls or security.insecure or is_loopback(host):
        return
    raise errors.InvalidArgumentError(
        None,
        None,
        f"The token is not sent to {host}, as the connection to it is not encrypted: set {settings.CERT}, "
        f"{settings.KEY} and {settings.CA}, or {settings.INSECURE}=yes if nobody else can see the network.",
    )


def metadata(
    security: Security, address: str, method: str, data: bytes, audience: int, claim: str = ""
) -> tuple[tuple[str, str], ...]:
    """The metadata that authenticates the caller.

    Args:
        data: the request.
        audience: the incarnation of the task that is called.
        claim: the task that calls; "" for a client.

    Raises:
        InvalidArgumentError: others could read the token on the network.
    """
    found: list[tuple[str, str]] = []
    if method == ENDPOINT:
        return ()
    token = ""
    if (security.token or security.token_file) and not claim:
        check_token_may_go(security, host_of(address))
        try:
            token = security.client_token()
        except SecurityError as e:
            raise errors.InvalidArgumentError(None, None, str(e)) from None
    if security.secret:
        # The server is not authenticated, so the token is not sent: the proof covers its hash.
        claim = hashed(token) if token else claim
        found.append((PROOF, call_proof(security.secret, claim, audience, method, data)))
    elif token:
        found.append((AUTHORIZATION, f"Bearer {token}"))
    return tuple(found)
