"""Certificates of listeners, and of the gateway among its peers: when they expire, and for which
names and uses they were issued."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.broker_names import NODE_ID
from gateway.commands.output import shortened
from gateway.config.addresses import Address
from gateway.config.errors import Key, Problem
from gateway.config.models import Config, Listener
from gateway.config.reach import BrokerPlace, broker_places
from gateway.config.tree import TreeSettings
from gateway.tls.certificate_names import covers, names_of
from gateway.tls.contexts import TlsError, read_certificates, seconds_left
from gateway.tls.listener import EXPIRES_SOON, expiry_text

if TYPE_CHECKING:
    from cryptography import x509

MAX_SHOWN: Final = 4
"""Names that a problem lists."""

_PEER_KEY: Final[Key] = ("tree", "tls", "certificate")


class CertificateFacts(NamedTuple):
    """``names``: the host names and addresses of the first certificate. ``expires``: when the first
    certificate of the chain to expire does."""

    names: tuple[str, ...]
    expires: datetime
    seconds_left: float


def certificate_facts(listener: Listener) -> CertificateFacts | None:
    """The facts of a listener's certificate; None without TLS. Raises TlsError."""
    if listener.tls is None:
        return None
    chain = read_certificates("certificate", listener.tls.certificate)
    expires = min(each.not_valid_after_utc for each in chain)
    return CertificateFacts(names_of(chain[0]), expires, seconds_left(chain))


def certificate_problems(config: Config) -> Iterator[Problem]:
    """Certificates that clients with Kafka's defaults reject."""
    for key, listener, facts in _found(config):
        path = f"'{_path(listener)}'"
        if facts.seconds_left <= 0:
            text = f"{path} has expired, on {facts.expires:%Y-%m-%d}; renew it"
            yield Problem(key, text)
        missing = [host for host in _hosts(config, listener) if not covers(facts.names, host)]
        if missing:
            shown = shortened((f"'{host}'" for host in missing), MAX_SHOWN)
            text = (
                f"{path} is not for {shown}, which clients are told to connect to; "
                "get one with these subject alternative names"
            )
            yield Problem(key, text)
    chain = _peer_chain(config)
    if chain is None or config.tree is None:
        return
    path = f"'{config.tree.tls.certificate}'"
    if seconds_left(chain) <= 0:
        expired = min(each.not_valid_after_utc for each in chain)
        yield Problem(_PEER_KEY, f"{path} has expired, on {expired:%Y-%m-%d}; renew it")
    use = _missing_use(config.tree, chain[0])
    if use:
        text = f"{path} is not for {use}, and it is shown to gateways that are asked and that ask"
        yield Problem(_PEER_KEY, f"{text}; get one for servers and clients")


def certificate_warnings(config: Config) -> Iterator[Problem]:
    """Certificates that expire soon."""
    for key, listener, facts in _found(config):
        if 0 < facts.seconds_left < EXPIRES_SOON:
            text = f"'{_path(listener)}' {expiry_text(facts.seconds_left)}; renew it"
            yield Problem(key, text)
    chain = _peer_chain(config)
    if chain is not None and config.tree is not None and 0 < seconds_left(chain) < EXPIRES_SOON:
        text = f"'{config.tree.tls.certificate}' {expiry_text(seconds_left(chain))}; renew it"
        yield Problem(_PEER_KEY, text)


def advertised(config: Config, listener: Listener) -> Iterator[tuple[BrokerPlace, Address]]:
    """The address that the listener advertises for each place of a broker."""
    for place in broker_places(config, listener):
        host = listener.advertised_host
        if listener.broker_names is not None:
            host = listener.broker_names.casefold().replace(NODE_ID, str(place.client_id))
        yield place, Address(host, place.port)


def _found(config: Config) -> Iterator[tuple[Key, Listener, CertificateFacts]]:
    for index, listener in enumerate(config.listeners):
        try:
            facts = certificate_facts(listener)
        except TlsError:  # reported when the file was loaded
            continue
        if facts is not None:
            yield ("listeners", index, "tls", "certificate"), listener, facts


def _peer_chain(config: Config) -> tuple[x509.Certificate, ...] | None:
    """The certificate that this gateway shows its peers, with its chain, or None if it has none."""
    if config.tree is None or config.tree.tls.certificate is None:
        return None
    try:
        return read_certificates("certificate", config.tree.tls.certificate)
    except TlsError:  # reported when the file was loaded
        return None


def _missing_use(tree: TreeSettings, certificate: x509.Certificate) -> str:
    """The use among peers for which a certificate is needed but was not issued (RFC 5280,
    4.2.1.12)."""
    # Imported by the first certificate, as in tls/contexts.py: most files have no certificates.
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        uses = set(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except (x509.ExtensionNotFound, ValueError):
        return ""
    if ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in uses:
        return ""
    if tree.peers and ExtendedKeyUsageOID.CLIENT_AUTH not in uses:
        return "clients (extended key usage clientAuth)"
    if tree.listener is not None and ExtendedKeyUsageOID.SERVER_AUTH not in uses:
        return "servers (extended key usage serverAuth)"
    return ""


def _hosts(config: Config, listener: Listener) -> Iterator[str]:
    """Every host that the listener advertises."""
    yield listener.advertised_host
    if listener.broker_names is not None:
        yield from (address.host for _, address in advertised(config, listener))
    if listener.gateway_name is not None:
        yield listener.gateway_name


def _path(listener: Listener) -> str:
    assert listener.tls is not None
    return str(listener.tls.certificate)
