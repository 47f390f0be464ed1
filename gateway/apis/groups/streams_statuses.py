"""The statuses in a StreamsGroupHeartbeat response (KIP-1071): what is said of internal topics that
are missing.

The coordinator's sentence ends with the result of its own creation, which always fails
(``streams_topology``); the gateway's result replaces it. The texts are those of KafkaApis 4.3.1
(handleStreamsGroupHeartbeat).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from gateway.rules.error_text import cut
from protocol import messages

STALE_TOPOLOGY: Final = 0
MISSING_SOURCE_TOPICS: Final = 1
INCORRECTLY_PARTITIONED_TOPICS: Final = 2
MISSING_INTERNAL_TOPICS: Final = 3
"""StreamsGroupHeartbeatResponse.Status."""

NOT_READY: Final = frozenset(
    {MISSING_SOURCE_TOPICS, INCORRECTLY_PARTITIONED_TOPICS, MISSING_INTERNAL_TOPICS}
)
"""The statuses of a group that may miss internal topics, now or when its source topics are
there."""

RESPONSE: Final = "StreamsGroupHeartbeatResponse"

NAMED: Final = 3
"""Topics that a status names; the others are counted."""

_MISSING: Final = "Internal topics are missing"
_UNAUTHORIZED: Final = "; Unauthorized to CREATE on topics "


def codes(response: Any) -> frozenset[int]:
    """The codes of the statuses in a response."""
    return frozenset(int(status.status_code) for status in response.status or ())


def says_unauthorized(response: Any) -> bool:
    """Whether the broker says that the principal of the connection may not create the missing
    topics."""
    return any(
        _UNAUTHORIZED in status.status_detail
        for status in response.status or ()
        if int(status.status_code) == MISSING_INTERNAL_TOPICS
    )


def without_creation(response: Any) -> bytes:
    """The body of a response whose sentence about missing topics does not tell what became of the
    coordinator's own creation."""
    return _with_details(response, _cut)


def _cut(detail: str) -> str:
    head = detail.partition(";")[0]
    return head if head.startswith(_MISSING) else f"{_MISSING}."


def with_creation(version: int, body: bytes, result: str) -> bytes:
    """The body of a response whose sentence about missing topics goes on with a ``result`` of the
    gateway's creation. Raises ProtocolError."""
    response = messages.parse(RESPONSE, version, body)
    return _with_details(response, lambda detail: f"{detail}; {result}")


def _with_details(response: Any, change: Any) -> bytes:
    statuses = tuple(
        replace(status, status_detail=cut(change(status.status_detail).encode()).decode())
        if int(status.status_code) == MISSING_INTERNAL_TOPICS
        else status
        for status in response.status
    )
    return messages.write(replace(response, status=statuses))


def unauthorized(names: Sequence[str]) -> str:
    """The result for topics that the client may not create."""
    return f"Unauthorized to CREATE on topics {listed(names)}."


def failed(errors: Mapping[str, str], count: int) -> str:
    """The result for ``count`` topics that could not be created, of which ``errors`` has the first
    with the reasons; an empty name stands for all topics."""
    first = [f"{name} ({why})" if name else why for name, why in islice(errors.items(), NAMED)]
    more = count - NAMED
    return f"Creation failed: {', '.join(first)}{f' and {more} more' if more > 0 else ''}."


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are (InternalTopicManager.summarizeTopics)."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} additional topics" if more > 0 else "")
