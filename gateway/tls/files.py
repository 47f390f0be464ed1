"""The PEM files of TLS, read and judged, so that what is wrong is told by key, file and reason.

OpenSSL reads them once more for itself; its own errors say little ("PEM lib").
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.config.security import Secret, SecretError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

MAX_FILE_BYTES = 4 * 1024 * 1024
"""More than any chain or bundle of authorities has; what is larger was not meant."""


class TlsError(Exception):
    """Something of TLS cannot be used. ``key`` is the configuration's, ``reason`` what is wrong
    and what to do; neither holds a secret."""

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"{key}: {reason}")


def read_file(key: str, path: Path) -> bytes:
    """The bytes of a file that the configuration names. Raises TlsError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TlsError(key, f"'{path}' cannot be read: {reason}; correct it") from None
    if len(data) > MAX_FILE_BYTES:
        text = f"'{path}' has over {MAX_FILE_BYTES // 1024 // 1024} MiB; give a PEM file"
        raise TlsError(key, text)
    return data


def read_certificates(key: str, path: Path) -> tuple[x509.Certificate, ...]:
    """Every certificate of a PEM file, in order; at least one. Raises TlsError."""
    # Loaded by the first certificate, as it is much for those who have none.
    from cryptography import x509

    data = read_file(key, path)
    if b"-----BEGIN CERTIFICATE-----" not in data:
        raise TlsError(key, f"'{path}' holds no PEM certificate; give one that does")
    try:
        return tuple(x509.load_pem_x509_certificates(data))
    except ValueError:
        text = f"'{path}' holds a certificate that cannot be read; export it again"
        raise TlsError(key, text) from None


def read_password(key: str, secret: Secret | None) -> str | None:
    """What a private key is encrypted with; None: it is not. Raises TlsError."""
    try:
        return None if secret is None else secret.read()
    except SecretError as error:
        raise TlsError(key, str(error)) from None


def read_private_key(key: str, path: Path, password: str | None) -> PrivateKeyTypes:
    """The private key of a PEM file. Raises TlsError, which tells nothing of what is in it."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = read_file(key, path)
    if b"PRIVATE KEY-----" not in data:
        raise TlsError(key, f"'{path}' holds no PEM private key; give one that does")
    try:
        return load_pem_private_key(data, None if password is None else password.encode())
    except TypeError:
        if password is None:
            reason = "is encrypted; give key_password"
        else:
            reason = "is not encrypted; remove key_password"
    except (ValueError, UnsupportedAlgorithm):
        if password is None:
            reason = "cannot be read; export it again"
        else:
            reason = "cannot be decrypted; correct key_password"
    raise TlsError(key, f"'{path}' {reason}") from None


def check_pair(
    key: str, path: Path, private: PrivateKeyTypes, certificate: x509.Certificate
) -> None:
    """Raises TlsError for a private key that is not the certificate's."""
    if _public_bytes(private.public_key()) != _public_bytes(certificate.public_key()):
        text = f"'{path}' is not the key of the certificate; give the two that belong together"
        raise TlsError(key, text)


def certificate_bytes(certificate: x509.Certificate) -> bytes:
    """A certificate as DER."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.DER)


def seconds_left(certificates: Sequence[x509.Certificate]) -> float:
    """Until the first of a chain's certificates expires; negative once one has."""
    now = datetime.now(UTC)
    return min((each.not_valid_after_utc - now).total_seconds() for each in certificates)


def _public_bytes(public: PublicKeyTypes) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
