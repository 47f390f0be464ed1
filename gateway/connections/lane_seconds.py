"""Time limits for the parts of a client's request in other volumes of a tree."""

from __future__ import annotations

from typing import Final

from protocol.schema import api_key_of

LOOKUP_SECONDS: Final = 0.5
"""Seconds that a lookup may take in another cluster than the node's, or beside one in another."""

DESCRIBE_SECONDS: Final = 10.0
"""Seconds that a lookup in the node's own cluster may take, and a description for an operator
anywhere: only who requests it waits for it, and its time-out is an error that an operator sees."""

CHANGE_SECONDS: Final = 25.0
"""Seconds that anything else may take: less than the 30 s that admin clients wait by default, so
that they see what the other volumes have answered."""

DESCRIPTIONS: Final = frozenset(
    api_key_of(f"{name}Request")
    for name in ("DescribeConfigs", "DescribeAcls", "DescribeUserScramCredentials")
)
"""APIs of operators that change nothing."""

LOOKUPS: Final = frozenset(
    api_key_of(f"{name}Request")
    for name in (
        "Metadata",
        "DescribeTopicPartitions",
        "FindCoordinator",
        "DescribeCluster",
        "InitProducerId",
        "ApiVersions",
    )
)
"""APIs that every client uses on its way to records. They change nothing, so that they may be sent
again when a broker is lost."""


def changes(api_key: int) -> bool:
    """Whether an API may change something, so that it is sent once."""
    return api_key not in LOOKUPS and api_key not in DESCRIPTIONS


def seconds_for(api_key: int, *, near: bool) -> float:
    """The seconds that one part of a request may take. ``near``: it is all of the request, and of
    the node's own cluster."""
    if api_key in LOOKUPS:
        return DESCRIBE_SECONDS if near else LOOKUP_SECONDS
    return DESCRIBE_SECONDS if api_key in DESCRIPTIONS else CHANGE_SECONDS
