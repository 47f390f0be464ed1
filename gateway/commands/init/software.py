"""The Kafka release that the brokers run. Brokers do not report their release, but the levels of
``metadata.version`` (KIP-584, KIP-778) that they support, and the level in use."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

FEATURE: Final = "metadata.version"

_FIRST_LEVELS: Final = (
    # org.apache.kafka.server.common.MetadataVersion of Kafka 4.3: 3.3-IV3 is 7, and so on.
    (7, "3.3"),
    (8, "3.4"),
    (9, "3.5"),
    (12, "3.6"),
    (15, "3.7"),
    (20, "3.8"),
    (21, "3.9"),
    (22, "4.0"),
    (26, "4.1"),
    (28, "4.2"),
    (30, "4.3"),
)
_LAST_LEVEL: Final = 30


def software_of(served: Any) -> str:
    """The release as text, from an ApiVersions response: ``Kafka 4.3 (metadata.version 30)``."""
    supported = _level(getattr(served, "supported_features", None), "max_version")
    finalized = _level(getattr(served, "finalized_features", None), "max_version_level")
    if supported is None:
        return "Kafka before 3.3, or with ZooKeeper"
    used = "" if finalized is None else f" ({FEATURE} {finalized})"
    return f"Kafka {_release(supported)}{used}"


def _release(level: int) -> str:
    if level > _LAST_LEVEL:
        return f"{_FIRST_LEVELS[-1][1]} or later"
    place = bisect_right([first for first, _ in _FIRST_LEVELS], level)
    return _FIRST_LEVELS[place - 1][1] if place else "before 3.3"


def _level(features: Sequence[Any] | None, key: str) -> int | None:
    for feature in features or ():
        if str(feature.name) == FEATURE:
            return int(getattr(feature, key))
    return None
