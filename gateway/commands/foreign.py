"""Answers that look like a broker's: the address of the cluster was given, not of the gateway."""

from __future__ import annotations

from typing import Final

from gateway.error_codes import INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER

_INVALID: Final = "ASCII alphanumerics"
"""What every Kafka says of a topic whose name has a colon (internals.Topic.validate)."""

_UNKNOWN: Final = "This server does not host this topic-partition"
"""What DeleteTopics says of one, since it looks for it only."""


def may_be_a_brokers(name: str, code: int, message: str) -> bool:
    """Whether a broker may have said this of a name. Metadata gives no message."""
    if DELIMITER not in name:
        return False
    if code == INVALID_TOPIC_EXCEPTION:
        return not message or _INVALID in message
    return code == UNKNOWN_TOPIC_OR_PARTITION and _UNKNOWN in message
