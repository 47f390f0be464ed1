"""A question to a peer over one connection: the check of the peer's certificate, and the frames.

Connections between gateways are like those to brokers (:mod:`gateway.brokers.connection`), over TLS
in which both sides present a certificate. The question is an Envelope request
(:mod:`gateway.referrals.envelope`).
"""

from __future__ import annotations

from itertools import count
from struct import Struct
from typing import Final

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError, SecurityError
from gateway.brokers.messages import CLIENT_ID, MAX_CORRELATION_ID, SIZE_BYTES, response_body
from gateway.brokers.security import BrokerSecurity
from gateway.config.addresses import Address
from gateway.config.tree import Peer
from gateway.referrals import envelope
from gateway.referrals.questions import Answer, Question
from gateway.tls.distinguished_name import UnreadableName, subject_name
from protocol.errors import ProtocolError
from protocol.headers import frame
from protocol.primitives import legacy_string

ENVELOPE: Final = "EnvelopeRequest"

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""Bytes of one answer: Metadata of some 50,000 topics."""

MAX_SECONDS: Final = 300.0
"""Seconds for a step on a connection; callers have bounds of their own, which are shorter."""

_HEADER: Final = Struct(">hhi")
_NO_TAGS: Final = b"\x00"
_ids: Final = count(1)


async def connect(peer: Peer, address: Address, security: BrokerSecurity) -> BrokerConnection:
    """A connection to the peer at one of its addresses. Raises BrokerError if the connection fails,
    if the certificate there is not the peer's, or if the other end does not serve Envelope."""
    connection = await BrokerConnection.connect(
        *address, timeout=MAX_SECONDS, security=security, max_response_bytes=MAX_ANSWER_BYTES
    )
    try:
        _check_subject(peer, connection.certificate)
        connection.version_for(ENVELOPE, envelope.VERSION)
    except BrokerError:
        connection.close()
        raise
    return connection


def question_frame(question: Question) -> tuple[int, bytes]:
    """The correlation id and the request frame of a question. Raises ProtocolError if no gateway
    reads the question."""
    correlation_id = next(_ids) & MAX_CORRELATION_ID
    header = _HEADER.pack(envelope.API_KEY, envelope.VERSION, correlation_id)
    body = envelope.request_body(question)
    return correlation_id, frame(header, legacy_string(CLIENT_ID.encode()), _NO_TAGS, body)


async def ask(connection: BrokerConnection, correlation_id: int, request: bytes) -> Answer:
    """Send a question's frame and return the answer. Raises BrokerError; the connection is then
    closed."""
    response = await connection.forward(request, "a question")
    try:
        body = response_body(ENVELOPE, envelope.VERSION, correlation_id, response[SIZE_BYTES:])
        return envelope.read_response(body)
    except ProtocolError as error:
        connection.close()
        raise BrokerError(f"the answer makes no sense: {error}") from None


def _check_subject(peer: Peer, certificate: bytes | None) -> None:
    try:
        found = None if certificate is None else subject_name(certificate)
    except UnreadableName as error:
        raise SecurityError(f"its certificate names nobody: {error}") from None
    if found != peer.subject:
        whose = f"that of '{found}'" if found else "nobody's"
        raise SecurityError(
            f"its certificate is {whose}, not that of '{peer.subject}'; correct the address, or"
            f" the certificate of peer '{peer.name}'"
        )
