"""Questions and answers between gateways as bytes: Kafka's Envelope v0 (KIP-590) and one tag.

Kafka's own fields are a request or response with its header, the client's principal (an int16
version and DefaultPrincipalData, as ``DefaultKafkaPrincipalBuilder`` writes it) and its IP address.
All other fields are in tag 10000 of the body, which is always its only tag. There a byte 0, the
version, precedes these fields; numbers are unsigned varints, strings and arrays compact (KIP-482):

- request: kind, the asker's volume, target, ids of the path, hops, milliseconds that are left;
- response: outcome, text, mount, number, hops: each an id, microseconds and 0 or 1 for cached.

The writer and the reader have the same limits; both raise ProtocolError.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.identity import InvalidPrincipal, check_principal
from gateway.mounts import MAX_NUMBER
from gateway.referrals.envelope_fields import (
    CONTENT_VERSION,
    Content,
    checked,
    clamped,
    count_bytes,
    hop_bytes,
    id_bytes,
    number_bytes,
    path_bytes,
    reject,
)
from gateway.referrals.questions import MAX_HOPS, MAX_TEXT, Answer, Kind, Outcome, Question
from protocol import messages
from protocol.errors import TruncatedError
from protocol.primitives import (
    MAX_INT32,
    compact_string,
    nullable_compact,
    read_uvarint,
    write_uvarint,
)

API_KEY: Final = 58
"""The API key of Envelope."""

VERSION: Final = 0
"""The version of the API and of DefaultPrincipalData."""

TAG: Final = 10_000
"""A number far above the tags that Kafka numbers from 0."""

ERROR_CODES: Final = {
    Outcome.ANSWERED: 0,
    Outcome.NO_SUCH_MOUNT: UNKNOWN_TOPIC_OR_PARTITION,
    Outcome.DENIED: CLUSTER_AUTHORIZATION_FAILED,
    Outcome.UNREACHABLE: REQUEST_TIMED_OUT,
    Outcome.REJECTED: INVALID_REQUEST,
}
"""Outcome -> error code of the envelope."""

_REQUEST: Final = "EnvelopeRequest"
_RESPONSE: Final = "EnvelopeResponse"
_PRINCIPAL: Final = "DefaultPrincipalData"
_VERSION_BYTES: Final = VERSION.to_bytes(2, "big")
_REQUEST_BYTES_FIELDS: Final = 3
_ERROR_CODE_BYTES: Final = 2
_NO_TAGS: Final = b"\x00"
_IP_ADDRESS_BYTES: Final = (4, 16)


def request_body(question: Question) -> bytes:
    """The body of an EnvelopeRequest. Raises ProtocolError if no gateway reads the question."""
    values = {
        "request_data": question.request,
        "request_principal": _principal_bytes(question.principal),
        "client_host_address": _address_bytes(question.host),
    }
    content = (
        number_bytes(question.kind),
        path_bytes(question.volume, "the asker's volume"),
        path_bytes(question.target, "the target"),
        count_bytes(len(question.path), "the path"),
        *map(id_bytes, question.path),
        number_bytes(checked(question.hops, MAX_HOPS, "the hops")),
        number_bytes(clamped(question.seconds * 1_000)),
    )
    return _with_tag(messages.made(_REQUEST, VERSION, values), content)


def read_request(body: bytes) -> Question:
    """The question in the body of an EnvelopeRequest. Raises ProtocolError."""
    pos = 0
    for _ in range(_REQUEST_BYTES_FIELDS):
        pos = _bytes_end(body, pos)
    without_tag, content = _cut(body, pos)
    fields = messages.parse(_REQUEST, VERSION, without_tag)
    question = Question(
        kind=content.member(Kind),
        volume=content.path("the asker's volume"),
        target=content.path("the target"),
        path=content.array(content.gateway_id, "the path"),
        hops=content.number(MAX_HOPS, "the hops"),
        seconds=content.number(MAX_INT32, "the time") / 1_000,
        principal=_read_principal(fields.request_principal),
        host=_read_address(fields.client_host_address),
        request=fields.request_data,
    )
    content.expect_end()
    return question


def response_body(answer: Answer) -> bytes:
    """The body of an EnvelopeResponse. A text that is too long is cut, and characters that UTF-8
    lacks become question marks. Raises ProtocolError if no gateway reads the answer."""
    values = {"response_data": answer.response or None, "error_code": ERROR_CODES[answer.outcome]}
    text = answer.text[:MAX_TEXT].encode(errors="replace")
    content = (
        number_bytes(answer.outcome),
        compact_string(text),
        path_bytes(answer.mount, "the mount"),
        number_bytes(checked(answer.number, MAX_NUMBER, "the number")),
        count_bytes(len(answer.hops), "the hops"),
        *map(hop_bytes, answer.hops),
    )
    return _with_tag(messages.made(_RESPONSE, VERSION, values), content)


def read_response(body: bytes) -> Answer:
    """The answer in the body of an EnvelopeResponse. Raises ProtocolError, also if the error code
    contradicts the outcome."""
    pos = _bytes_end(body, 0) + _ERROR_CODE_BYTES
    without_tag, content = _cut(body, pos)
    fields = messages.parse(_RESPONSE, VERSION, without_tag)
    answer = Answer(
        outcome=content.member(Outcome),
        text=content.string(MAX_TEXT, "the text"),
        mount=content.path("the mount"),
        number=content.number(MAX_NUMBER, "the number"),
        hops=content.array(content.hop, "the hops"),
        response=fields.response_data or b"",
    )
    content.expect_end()
    if fields.error_code != ERROR_CODES[answer.outcome]:
        reject(f"has error code {int(fields.error_code)} for {answer.outcome.name}")
    return answer


def _cut(body: bytes, pos: int) -> tuple[bytes, Content]:
    """A body without its tagged fields, which begin at ``pos``, and the content of the tag."""
    end = len(body)
    count, at = read_uvarint(body, pos, end)
    if count != 1:
        reject(f"has {count} tags; there must be one, {TAG}")
    tag, at = read_uvarint(body, at, end)
    if tag != TAG:
        reject(f"has tag {tag}; it must be {TAG}")
    size, at = read_uvarint(body, at, end)
    if size > end - at:
        raise TruncatedError("An envelope between gateways ends inside its tag")
    if size < end - at:
        reject(f"has {end - at - size} bytes after its tag")
    return body[:pos] + _NO_TAGS, Content(body, at)


def _with_tag(body: bytes, fields: tuple[bytes, ...]) -> bytes:
    content = bytes((CONTENT_VERSION,)) + b"".join(fields)
    tag = write_uvarint(1) + write_uvarint(TAG) + write_uvarint(len(content)) + content
    return body.removesuffix(_NO_TAGS) + tag


def _bytes_end(body: bytes, pos: int) -> int:
    """The end of a compact bytes field, null or not. Raises ProtocolError."""
    length, pos = nullable_compact(body, pos, len(body), "a field of an envelope")
    pos += max(length, 0)
    if pos > len(body):
        raise TruncatedError("An envelope between gateways ends inside a field")
    return pos


def _principal_bytes(principal: str) -> bytes:
    kind, colon, name = principal.partition(":")
    if not (kind and colon):
        reject(f"has principal {principal!r}, which is not like User:alice")
    values = {"type_": kind, "name": name, "token_authenticated": False}
    return _VERSION_BYTES + messages.made(_PRINCIPAL, VERSION, values)


def _read_principal(data: bytes | None) -> str:
    if data is None or data[: len(_VERSION_BYTES)] != _VERSION_BYTES:
        reject(f"has no principal of version {VERSION}")
    fields = messages.parse(_PRINCIPAL, VERSION, data[len(_VERSION_BYTES) :])
    if not fields.type_ or ":" in fields.type_:
        reject(f"has a principal of type {fields.type_!r}")
    if fields.token_authenticated:
        reject("has a principal of a delegation token, which is not passed on")
    principal = f"{fields.type_}:{fields.name}"
    try:
        check_principal(principal)
    except InvalidPrincipal as error:
        reject(f"has a principal that no client may be: {error}")
    return principal


def _address_bytes(host: str) -> bytes:
    if not host:
        return b""
    try:
        return ip_address(host).packed
    except ValueError:
        reject(f"has host {host!r}, which is no IP address")


def _read_address(data: bytes) -> str:
    if not data:
        return ""
    if len(data) not in _IP_ADDRESS_BYTES:
        reject(f"has an IP address of {len(data)} bytes")
    return str(ip_address(data))
