"""The walk over a whole message: the spans of what a handler decides or restores."""

from __future__ import annotations

from typing import Final

from gateway.exchanges.exchange import Exchange, Plan
from protocol.errors import ProtocolError
from protocol.pausing import may_pause
from protocol.walkers import LimitedSpans, Span, Walker

MAX_SPANS: Final = 100_000
"""The most names, topic ids and other spans in one request."""


class TrailingBytes(ProtocolError):
    """A request has bytes after its last field, from ``stop`` on.

    Kafka ignores such bytes and librdkafka 2.x sends some (3 in Metadata v13). The session decides
    the request again without them, so that no unparsed bytes reach the broker.
    """

    def __init__(self, stop: int) -> None:
        super().__init__("a request has bytes after its end")
        self.stop = stop


class ManyItems(ProtocolError):
    """A short request has so many items that it must be decided in slices, like a long request."""

    def __init__(self) -> None:
        super().__init__("a request has many items")


def in_slices(exchange: Exchange) -> None:
    """Require that the request is decided in slices, because it may take a while. Raises ManyItems
    unless the request is decided in slices already, or was decided before."""
    if not exchange.checked and not may_pause():
        raise ManyItems


def request_spans(
    plan: Plan, buf: bytes, start: int, end: int, *, most: int | None = MAX_SPANS
) -> list[Span]:
    """Walk a whole request body.

    Raises TrailingBytes for bytes after the body, and ProtocolError for more than ``most`` spans;
    None: as many as there are.
    """
    long = end - start > plan.request_walked_at_once
    spans: list[Span] = [] if most is None or not long else LimitedSpans(most)
    walk = plan.long_request_walk() if long else plan.request_walk
    stop = walk(buf, start, end, spans)
    if stop != end:
        raise TrailingBytes(stop)
    if most is not None and len(spans) > most:
        raise ProtocolError(f"{plan.name} request names more than {most} items")
    return spans


def response_spans(
    plan: Plan, buf: bytes, start: int, end: int, walk: Walker | None = None
) -> list[Span]:
    """Walk a whole response body with ``walk``, or else with the plan's walker. Raises
    ProtocolError for bytes after the body."""
    spans: list[Span] = []
    if walk is None:
        long = end - start > plan.response_walked_at_once
        walk = plan.long_response_walk() if long else plan.response_walk
    stop = walk(buf, start, end, spans)
    if stop != end:
        raise ProtocolError(
            f"{plan.name} v{plan.version} response has {end - stop} bytes after its end"
        )
    return spans
