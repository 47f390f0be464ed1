"""Certificates for tests and benchmarks: authorities, servers, clients, as PEM files.

Everything is made anew, with ECDSA keys (P-256), which are made quickly, and written to the given
directory. Private keys are PKCS #8.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOOPBACK = ("localhost", "127.0.0.1")
VALID = timedelta(days=365)

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_AGO = timedelta(days=1)  # clocks of other machines may be behind


@dataclass(frozen=True, slots=True)
class Credentials:
    """A certificate chain and its private key, as PEM files; ``both`` is a file with the two."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """A certificate authority. ``file`` is its own certificate, in PEM."""

    def __init__(self, directory: Path, name: str = "ca", *, valid: timedelta = VALID) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            self._builder(self._name, self._key.public_key(), valid)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_ca_usage(), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def server(
        self, name: str = "server", hosts: Sequence[str] = LOOPBACK, *, valid: timedelta = VALID
    ) -> Credentials:
        """A server's credentials, for these host names and addresses; see :meth:`client`."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(name, subject, (ExtendedKeyUsageOID.SERVER_AUTH,), hosts, valid, None)

    def client(
        self,
        name: str,
        subject: x509.Name | None = None,
        *,
        valid: timedelta = VALID,
        password: str | None = None,
    ) -> Credentials:
        """A client's credentials: ``CN=name``, or another subject; files are named by ``name``.

        If ``valid`` is negative, the certificate has expired. If there is a ``password``, the key
        is encrypted with it.
        """
        if subject is None:
            subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(name, subject, (ExtendedKeyUsageOID.CLIENT_AUTH,), (), valid, password)

    def peer(self, name: str, hosts: Sequence[str] = LOOPBACK) -> Credentials:
        """The credentials, ``CN=name``, of a program that is both a server and a client."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        both = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
        return self._issue(name, subject, both, hosts, VALID, None)

    def weak(self, name: str) -> Credentials:
        """A server's credentials with a key that is too short for today's TLS."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        key = rsa.generate_private_key(65_537, 1_024)  # noqa: S505
        return self._issue(
            name, subject, (ExtendedKeyUsageOID.SERVER_AUTH,), LOOPBACK, VALID, None, key
        )

    def _issue(
        self,
        name: str,
        subject: x509.Name,
        uses: Sequence[x509.ObjectIdentifier],
        hosts: Sequence[str],
        valid: timedelta,
        password: str | None,
        key: PrivateKey | None = None,
    ) -> Credentials:
        key = key or ec.generate_private_key(ec.SECP256R1())
        builder = (
            self._builder(subject, key.public_key(), valid)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if hosts:
            names = x509.SubjectAlternativeName(map(_general_name, hosts))
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)
        encryption: KeySerializationEncryption = NoEncryption()
        if password is not None:
            encryption = BestAvailableEncryption(password.encode())
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        made = Credentials(
            self._directory / f"{name}.crt",
            self._directory / f"{name}.key",
            self._directory / f"{name}.both.pem",
        )
        made.certificate.write_bytes(certificate)
        made.key.write_bytes(private)
        made.both.write_bytes(private + certificate)
        return made

    def _builder(
        self,
        subject: x509.Name,
        public: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
        valid: timedelta,
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now, now + valid) - _AGO)
            .not_valid_after(now + valid)
        )


def subject(*attributes: tuple[x509.ObjectIdentifier, str]) -> x509.Name:
    """A subject of these attributes, in this order; Java shows the last attribute first."""
    return x509.Name([x509.NameAttribute(kind, value) for kind, value in attributes])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _ca_usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
