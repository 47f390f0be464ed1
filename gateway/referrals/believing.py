"""Checks whether an answer is believed: a gateway may answer for its own mounts, with its own
brokers.

Pure, except for the numbers that :class:`gateway.referrals.numbers.Numbers` records.
"""

from __future__ import annotations

from dataclasses import replace
from struct import Struct
from typing import Final, NamedTuple

from gateway.foreign_text import shown_text
from gateway.names import DELIMITER
from gateway.referrals.numbers import Numbers, bears_number
from gateway.referrals.questions import MAX_HOPS, MAX_TEXT, Answer, Kind, Outcome, Question
from gateway.referrals.routing import Routes
from protocol.errors import ProtocolError, TruncatedError
from protocol.headers import read_request_header, response_body_pos, response_header_version
from protocol.kinds import Kind as FieldKind
from protocol.schema import api_name
from protocol.walkers import Span, walker

_NAMES: Final = frozenset({FieldKind.TOPIC_NAME, FieldKind.TOPIC_ID, FieldKind.COORDINATOR_KEY})

_AT_ONCE: Final = 32 * 1024
"""Bytes that are walked in one go; longer messages may take several slices."""

_HEAD: Final = Struct(">hh4s")
_CORRELATION_BYTES: Final = 4


class Inner(NamedTuple):
    """The head of the Kafka request in a question; ``correlation`` is the id's bytes."""

    api_key: int
    version: int
    correlation: bytes
    header_version: int

    def correlated(self, response: bytes) -> bytes:
        """A response to another request with the same content, as the response to this request."""
        return self.correlation + response[_CORRELATION_BYTES:]


def inner_of(question: Question) -> Inner | None:
    """The head of the request in a question; None for a question without a request. Raises
    ProtocolError if the request ends there, or if its API and version are not known."""
    if question.kind is not Kind.REQUEST:
        return None
    if len(question.request) < _HEAD.size:
        raise TruncatedError("it ends inside its header")
    api_key, version, correlation = _HEAD.unpack_from(question.request)
    return Inner(api_key, version, correlation, response_header_version(api_key, version))


class Lie(NamedTuple):
    """The reason why an answer is not believed: a sentence. ``holder`` is the mount that already
    has the number that another mount claims; None for any other reason."""

    text: str
    holder: str | None = None


def lie_of(
    peer: str,
    question: Question,
    inner: Inner | None,
    answer: Answer,
    routes: Routes,
    numbers: Numbers,
) -> Lie | None:
    """The reason why a peer's answer is not believed; None: it is believed.

    If a mount is seen for the first time, its number is recorded after all other checks.
    """
    if answer.outcome is not Outcome.ANSWERED:
        return None
    mount, number = answer.mount, answer.number
    who = f"Gateway '{peer}' answered for ':{mount}'"
    if not routes.may_answer(peer, mount):
        return Lie(f"{who}, which is not mounted behind it; its answer was dropped.")
    if mount != question.target if inner is not None else not _holds(mount, question.target):
        return Lie(f"{who} when asked for ':{question.target}'; its answer was dropped.")
    if inner is not None and not _is_response(inner, answer):
        return Lie(f"{who} with a response that is none, or has brokers of others; it was dropped.")
    if inner is not None and not _is_of_names(inner, question.request, answer.response):
        return Lie(f"{who} with names that were not asked for; its answer was dropped.")
    if not numbers.believes(mount, number):
        return _wrong_number(who, mount, number, numbers)
    return None


def _wrong_number(who: str, mount: str, number: int, numbers: Numbers) -> Lie:
    holder = numbers.holder(number)
    if holder is None:
        before = numbers.of(mount)
        has = "no mount can have" if before is None else f"is not that mount's: it has {before}"
        return Lie(f"{who} with number {number}, which {has}; its answer was dropped.")
    step = "correct the number of one of them, or give both in tree.numbers"
    return Lie(f"{who} with number {number}, which ':{holder}' has; {step}.", holder)


def passed_back(peer: str, answer: Answer) -> Answer:
    """A peer's answer as this gateway passes it back: with room for another hop, with a text that
    is safe to show, and with a response only if there is one."""
    hops = answer.hops[: MAX_HOPS - 1]
    text = shown_text(answer.text, MAX_TEXT)
    if answer.outcome is Outcome.ANSWERED:
        return replace(answer, text=text, hops=hops)
    return Answer(answer.outcome, text or f"Gateway '{peer}' does not say why.", hops=hops)


def _holds(mount: str, path: str) -> bool:
    return not mount or path == mount or path.startswith(f"{mount}{DELIMITER}")


def _is_of_names(inner: Inner, request: bytes, response: bytes) -> bool:
    """Whether the request names every topic and group in the response. Items that were requested by
    id, or as "all", have names of their own, which the client's gateway checks."""
    api = api_name(inner.api_key)
    try:
        *_, start = read_request_header(request, 0, len(request))
        asked = _names(f"{api}Request", inner.version, request, start)
    except ProtocolError:
        return True  # the owner rejects the request
    if not asked or any(kind == FieldKind.TOPIC_ID and any(value) for kind, value in asked):
        return True
    start = response_body_pos(response, 0, len(response), inner.header_version)
    found = _names(f"{api}Response", inner.version, response, start)
    return all(kind == FieldKind.TOPIC_ID or not value for kind, value in found - asked)


def _names(message: str, version: int, body: bytes, start: int) -> set[tuple[int, bytes]]:
    spans: list[Span] = []
    paced = len(body) > _AT_ONCE
    walker(message, version, _NAMES, whole=True, paced=paced)(body, start, len(body), spans)
    return {(kind, value) for kind, _, _, value in spans}


def _is_response(inner: Inner, answer: Answer) -> bool:
    response = answer.response
    if response[:_CORRELATION_BYTES] != inner.correlation:
        return False
    try:
        start = response_body_pos(response, 0, len(response), inner.header_version)
    except ProtocolError:
        return False
    return bears_number(api_name(inner.api_key), inner.version, response[start:], answer.number)
