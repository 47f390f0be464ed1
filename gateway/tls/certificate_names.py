"""The hosts that a certificate is valid for."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509


def names_of(certificate: x509.Certificate) -> tuple[str, ...]:
    """Its subject alternative names: host names, then addresses."""
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return ()
    addresses = map(str, found.value.get_values_for_type(x509.IPAddress))
    return (*found.value.get_values_for_type(x509.DNSName), *addresses)


def covers(names: tuple[str, ...], host: str) -> bool:
    """Whether a certificate with these names is valid for a host (RFC 9525, 6.3): ``*`` stands for
    exactly one label, the first; addresses are matched as addresses."""
    plain = host.casefold().removesuffix(".")
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        _, _, parent = plain.partition(".")
        return any(name.casefold() in (plain, f"*.{parent}" if parent else plain) for name in names)
    return str(address) in names
