"""Traced requests: what a worker tells an operator's tool of each, in lines of JSON.

The tool sends one line, what it wants (:class:`Wanted`), to the address of a worker. The worker
responds with a line for each request that matches, once its response has been written. Record
bytes are in none of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from protocol.text import text_of

MOST_REQUESTS: Final = 1_000_000
"""The requests of one trace at most."""

MOST_ITEMS: Final = 50
"""The items of a request (topics, groups, and so on) that are told one by one."""


MOST_TEXT: Final = 300
"""Characters of a name that are told; brokers allow topics 249, other names 32767."""

MOST_SENTENCE: Final = 1_000
"""Characters of a sentence, with the names in it, that are told."""

_LONGEST_CHARACTER: Final = 4
"""Bytes of UTF-8."""


def shortened(text: str | bytes, most: int = MOST_TEXT) -> str:
    """A text without what is beyond ``most`` characters, as a broker reads it."""
    if isinstance(text, bytes):
        text = text_of(text[: (most + 1) * _LONGEST_CHARACTER])
    return text if len(text) <= most else f"{text[:most]}..."


class Outcome(StrEnum):
    """The decision on a whole request."""

    FORWARD = "FORWARD"
    """The client's bytes go to the broker, with other names in them if there are edits."""

    REBUILD = "REBUILD"
    """The broker gets a request that the gateway has made: without denied items, or older."""

    STREAM = "STREAM"
    """The request, or the response, passes in pieces while the rest of it still arrives."""

    ANSWER = "ANSWER"
    """The gateway responds itself; no broker gets the request."""

    WORK = "WORK"
    """The gateway carries the request out over its own connections."""

    REFRESH = "REFRESH"
    """The topics, or the catalog, are read first; then the request is decided again."""

    CLOSE = "CLOSE"
    """The connection ends, because no response fits or the bytes are not Kafka's."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requests to trace: those with all the values that are not None, ``count`` of them."""

    listener: str | None = None
    principal: str | None = None
    client_id: str | None = None
    api: str | None = None
    count: int = 10

    def takes(self, listener: str, principal: str, client_id: str, api: str) -> bool:
        """Whether a client's request of an API is wanted."""
        return (
            self.listener in (None, listener)
            and self.principal in (None, principal)
            and self.client_id in (None, client_id)
            and self.api in (None, api)
        )

    def line(self) -> bytes:
        """The line that asks for them."""
        return json.dumps({"trace": asdict(self)}).encode() + b"\n"

    @classmethod
    def of_line(cls, content: Mapping[str, Any]) -> Self:
        """From the content of a line. Raises ValueError."""
        given = content.get("trace")
        if not isinstance(given, dict) or not given.keys() <= cls.__dataclass_fields__.keys():
            raise ValueError("it asks for no trace that this gateway knows")
        count = given.get("count")
        names = [value for key, value in given.items() if key != "count"]
        if not isinstance(count, int) or not 0 < count <= MOST_REQUESTS:
            raise ValueError(f"'count' is no number from 1 to {MOST_REQUESTS}")
        if not all(value is None or isinstance(value, str) for value in names):
            raise ValueError("what it asks for is no text")
        return cls(**given)


def refusal_line(reason: str) -> bytes:
    """The only line of a response if there is no trace."""
    return json.dumps({"refused": reason}).encode() + b"\n"


@dataclass(slots=True)
class Item:
    """One item of a request: a topic, a group, and so on."""

    kind: str
    """``topic``, ``topic id``, ``group``, ``transactional id``, ``coordinator`` or ``resource``."""

    name: str
    """As the client wrote it; a topic id as Kafka's tools show it."""

    at_broker: str | None = None
    """As the broker gets it, or None if the broker does not get it, or not under a name that the
    trace could read."""

    topic: str = ""
    """The flat name of the topic that a topic id stands for, if the client may see it."""

    error: str = ""
    """Kafka's name of the error code, if the item is denied."""

    rule: str = ""
    """The rule that denied it."""

    message: str = ""
    """The sentence for the client."""

    because: str = ""
    """The ACL, or the want of an ACL, for which it was denied; of the first items that are allowed
    the ACL, or the reason, if an authorizer decides."""


@dataclass(slots=True)
class TracedRequest:
    """One request, from the client's bytes to the response that the client got."""

    time_ms: int
    """When it was decided first, or was done if it streamed: milliseconds since 1970."""

    worker: int
    listener: str
    principal: str
    client_id: str
    client_address: str
    api: str
    version: int
    correlation_id: int

    request_bytes: int
    """The frame, with its size."""

    handler: str
    """The file of the function that decides requests of this API."""

    outcomes: list[str] = field(default_factory=list)
    """Its decisions in turn (:class:`Outcome`): after a REFRESH there is another one."""

    items: list[Item] = field(default_factory=list)
    more_items: int = 0
    """The items beyond ``MOST_ITEMS``."""

    edits: int = 0
    """The fields of the client's bytes that were replaced."""

    broker_version: int | None = None
    """The version of the request that the broker got."""

    broker_bytes: int | None = None
    """The broker's response without its header, or None if it passed in pieces or there is none."""

    errors: dict[str, int] = field(default_factory=dict)
    """Kafka's names of the error codes in the broker's response, and how often each is there."""

    response_bytes: int = 0
    """The frame that the client got, with its size."""

    gateway_seconds: float = 0.0
    broker_seconds: float = 0.0
    """The time at the broker, or of the gateway's own work at brokers."""

    reason: str = ""
    """Why the connection was closed."""

    def line(self) -> bytes:
        """The request as a line."""
        content = asdict(self)
        for name in ("principal", "client_id"):
            content[name] = shortened(content[name])
        return json.dumps(content).encode() + b"\n"
