"""Envelopes between gateways for tests: a valid envelope of each kind, and some that are not
valid."""

from __future__ import annotations

from io import BytesIO
from ipaddress import ip_address
from typing import Any

from kio.schema.default_principal_data.v0.data import DefaultPrincipalData
from kio.serial import entity_writer

from gateway.referrals.envelope import (
    TAG,
    VERSION,
)
from gateway.referrals.questions import (
    Answer,
    Hop,
    Kind,
    Outcome,
    Question,
)
from protocol.primitives import write_uvarint
from protocol.schema import message_class

QUESTION = Question(
    kind=Kind.REQUEST,
    volume="la:tracking",
    target="ny",
    path=("gateway-la", "gateway-top"),
    hops=14,
    seconds=1.5,
    principal="User:alice",
    host="192.0.2.7",
    request=b"a header and a body",
)
ANSWER = Answer(
    outcome=Outcome.ANSWERED,
    text="Grüße",
    mount="ny",
    number=7,
    hops=(Hop("gateway-top", 1_500, cached=True), Hop("gateway-ny", 300)),
    response=b"a header and a body",
)

QUESTION_BODY = (
    b"\x14a header and a body"
    b"\x10\x00\x00\x05User\x06alice\x00\x00"
    b"\x05\xc0\x00\x02\x07"
    # A single tag, its number, its size; then its content.
    b"\x01\x90\x4e\x2c"
    b"\x00\x00\x0cla:tracking\x03ny\x03\x0bgateway-la\x0cgateway-top\x0e\xdc\x0b"
)
ANSWER_BODY = (
    b"\x14a header and a body\x00\x00"
    b"\x01\x90\x4e\x2c"
    b"\x00\x00\x08Gr\xc3\xbc\xc3\x9fe\x03ny\x07\x03\x0cgateway-top\xdc\x0b\x01\x0bgateway-ny\xac\x02\x00"
)

EnvelopeRequest: Any = message_class("EnvelopeRequest", VERSION)
EnvelopeResponse: Any = message_class("EnvelopeResponse", VERSION)
KIO_REQUEST = entity_writer(EnvelopeRequest)
KIO_RESPONSE = entity_writer(EnvelopeResponse)
KIO_PRINCIPAL = entity_writer(DefaultPrincipalData)


def kio_bytes(writer: Any, entity: object) -> bytes:
    out = BytesIO()
    writer(out, entity)
    return out.getvalue()


def principal_data(kind: str, name: str, token_authenticated: bool = False) -> bytes:
    data = DefaultPrincipalData(type_=kind, name=name, token_authenticated=token_authenticated)
    return b"\x00\x00" + kio_bytes(KIO_PRINCIPAL, data)


def packed(host: str) -> bytes:
    return ip_address(host).packed if host else b""


def content_of(body: bytes) -> tuple[bytes, bytes]:
    """A body up to its tags, and the content of its only tag, which is not longer than 127."""
    head, mark, rest = body.partition(b"\x01\x90\x4e")
    assert mark
    assert rest[0] == len(rest) - 1
    return head, rest[1:]


def tagged(head: bytes, content: bytes, tag: int = TAG) -> bytes:
    return head + b"\x01" + write_uvarint(tag) + write_uvarint(len(content)) + content


def with_content(body: bytes, old: bytes, new: bytes) -> bytes:
    """A body in which the content of its tag has other bytes at one place, with a right size."""
    head, content = content_of(body)
    assert content.count(old) == 1
    return tagged(head, content.replace(old, new))


def envelope(
    *, data: bytes = b"", principal: bytes | None = None, host: bytes = b"\x7f\x00\x00\x01"
) -> bytes:
    """The body of :data:`QUESTION` with other fields of Kafka's."""
    request = EnvelopeRequest(
        request_data=data, request_principal=principal, client_host_address=host
    )
    return tagged(kio_bytes(KIO_REQUEST, request)[:-1], content_of(QUESTION_BODY)[1])
