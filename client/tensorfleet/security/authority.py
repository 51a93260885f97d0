"""A development CA: certificates for the tasks and users of a cluster (`tensorfleet certs`)."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Key = ec.EllipticCurvePrivateKey

_LATE_CLOCKS = datetime.timedelta(minutes=5)


def new_key() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: Key) -> bytes:
    """A key as PEM without a password, for a file of mode 0600."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


class Authority:
    """A CA: its certificate and key."""

    def __init__(self, certificate: x509.Certificate, key: Key) -> None:
        self.certificate = certificate
        self.key = key

    @classmethod
    def create(cls, name: str, days: float) -> Authority:
        """A new CA, which signs no other CAs."""
        key = new_key()
        subject = _name(name)
        certificate = (
            _builder(subject, subject, key.public_key(), days)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)

    @classmethod
    def load(cls, certificate: bytes, key: bytes) -> Authority:
        """The CA from two PEM files: the first certificate, and its key.

        Raises:
            ValueError: the files are not a certificate and its key, on an elliptic curve.
        """
        loaded = serialization.load_pem_private_key(key, None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise ValueError("the CA's key is not on an elliptic curve")
        found = x509.load_pem_x509_certificate(certificate)
        if found.public_key() != loaded.public_key():
            raise ValueError("the CA's key is of another certificate than the first one of the CA's file")
        return cls(found, loaded)

    def issue(self, uri: str, hosts: Sequence[str], days: float) -> tuple[bytes, bytes]:
        """A certificate for client and server, and its key, as PEM.

        Args:
            uri: the identity; "" for none.
            hosts: DNS names and IP addresses.
            days: the validity in days; negative for an expired certificate.
        """
        key = new_key()
        names = alternative_names(uri, hosts)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        certificate = (
            _builder(_name("tensorfleet"), self.certificate.subject, key.public_key(), days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(authority, critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return pem(certificate), key_pem(key)


def alternative_names(uri: str, hosts: Sequence[str]) -> list[x509.GeneralName]:
    """The names in a certificate of an identity, "" for none, and of DNS names and IP addresses."""
    names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(uri)] if uri else []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host.strip("[]"))))
        except ValueError:
            names.append(x509.DNSName(host))
    return names


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: float
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    end = now + datetime.timedelta(days=days)
    begin = min(now - _LATE_CLOCKS, end - _LATE_CLOCKS)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
