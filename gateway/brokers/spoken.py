"""Finds the security protocol of an address that does not speak the configured protocol.

Kafka's listeners do not announce it: a listener with TLS closes a connection that begins without
TLS, a listener without TLS closes a connection that begins with it, and a listener with SASL
responds to ApiVersions and then closes. Here each is tried, without a certificate and a password.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import (
    BrokerError,
    LoginError,
    NotSpoken,
    SecurityError,
    Unanswered,
)
from gateway.brokers.login_exchange import HANDSHAKE, HANDSHAKE_VERSION
from gateway.brokers.security import BrokerSecurity
from gateway.error_codes import ILLEGAL_SASL_STATE
from protocol import messages

_TLS_ALERT: Final = "alert"  # OpenSSL's word for an error sent by the other end of a TLS handshake
_METADATA_KEY: Final = 3

NO_BROKER: Final = (
    "is no broker, and may be a controller: it does not answer Metadata; give the address of a"
    " broker's listener for clients"
)
"""The text for an address whose server is no broker."""


class Spoken(NamedTuple):
    """The security protocol of a broker at an address.

    ``mechanisms``: its SASL mechanisms, empty without SASL, or None if unknown: the broker requires
    a client certificate first.
    ``is_broker``: it responds to Metadata, which KRaft's controllers do not.
    """

    has_tls: bool
    mechanisms: tuple[str, ...] | None
    is_broker: bool = True

    @property
    def protocols(self) -> tuple[str, ...]:
        """The security protocols (Kafka's names) that the listener may have; a single protocol once
        ``mechanisms`` are known."""
        plain, sasl = ("SSL", "SASL_SSL") if self.has_tls else ("PLAINTEXT", "SASL_PLAINTEXT")
        if self.mechanisms is None:
            return plain, sasl
        return (sasl,) if self.mechanisms else (plain,)

    def __str__(self) -> str:
        """``speaks TLS there, and asks for a login by SCRAM-SHA-512``."""
        tls = "speaks TLS there" if self.has_tls else "speaks no TLS there"
        if self.mechanisms is None:
            return f"{tls}, and asks for a certificate"
        if self.mechanisms:
            return f"{tls}, and asks for a login by {' or '.join(self.mechanisms)}"
        return f"{tls}, and has no login"


class _Unverified(BrokerSecurity):
    """TLS without verification, because only ApiVersions and SaslHandshake are sent."""

    def socket_options(self, host: str) -> Mapping[str, Any]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return {"ssl": context, "server_hostname": host}


async def spoken_at(host: str, port: int, timeout: float) -> Spoken | None:
    """The protocol of an address, or None if it does not speak Kafka's. ``timeout`` is for each of
    several steps, in seconds."""
    for has_tls, security in ((False, BrokerSecurity()), (True, _Unverified())):
        try:
            connection = await BrokerConnection.connect(
                host, port, timeout=timeout, security=security
            )
        except Unanswered:
            continue
        except NotSpoken:
            if has_tls:  # the handshake came through; TLS 1.3 rejects certificates after it
                return Spoken(True, None)
        except SecurityError as error:
            if has_tls and _TLS_ALERT in str(error):
                return Spoken(True, None)
        except BrokerError:
            continue
        else:
            try:
                return await _spoken(connection, has_tls)
            finally:
                connection.close()
    return None


async def _spoken(connection: BrokerConnection, has_tls: bool) -> Spoken:
    is_broker = _METADATA_KEY in connection.api_versions
    request = messages.build(
        messages.message_class(HANDSHAKE, HANDSHAKE_VERSION), mechanism="PLAIN"
    )
    try:
        response = await connection.request(HANDSHAKE, HANDSHAKE_VERSION, request)
    except BrokerError:
        return Spoken(has_tls, (), is_broker)
    if int(response.error_code) == ILLEGAL_SASL_STATE:
        return Spoken(has_tls, (), is_broker)
    return Spoken(has_tls, tuple(map(str, response.mechanisms)), is_broker)


async def mismatch(
    host: str, port: int, protocol: str, error: BrokerError, timeout: float
) -> Spoken | None:
    """The protocol of an address, if it is not ``protocol`` (Kafka's name) and that may explain
    ``error``; else None."""
    text = str(error)
    # A listener without TLS takes a TLS handshake for a long request, and may wait for the rest.
    is_silent = text.startswith("no connection") and protocol not in ("SSL", "SASL_SSL")
    if is_silent or isinstance(error, LoginError) or "certificate is" in text:
        return None
    found = await spoken_at(host, port, timeout)
    if found is None or (found.is_broker and protocol in found.protocols):
        return None
    return found
