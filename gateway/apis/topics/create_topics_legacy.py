"""CreateTopics v0 and v1 for brokers that serve v2 and later only (Kafka 4, KIP-896).

v1 and v2 requests are the same bytes; v0 has no validate_only. A v2 response has the throttle time
before the topics, and v0 has no error messages.
"""

from __future__ import annotations

from protocol import messages
from protocol.messages import element_class, make

TRANSLATED_TO = 2
"""The version that is on the wire to the broker."""

NOT_VALIDATE_ONLY = b"\x00"
"""The field that v1 added at the end."""


def request_to_v2(version: int, body: bytes) -> bytes:
    """A v0 or v1 CreateTopicsRequest as v2. Raises ProtocolError."""
    messages.parse("CreateTopicsRequest", version, body)
    return body + NOT_VALIDATE_ONLY if version == 0 else body


def response_from_v2(version: int, body: bytes) -> bytes:
    """A v2 CreateTopicsResponse as v0 or v1. Raises ProtocolError."""
    response = messages.parse("CreateTopicsResponse", TRANSLATED_TO, body)
    old_class = messages.message_class("CreateTopicsResponse", version)
    topic_class = element_class(old_class, "topics")
    topics = tuple(
        make(
            topic_class,
            {
                "name": topic.name,
                "error_code": topic.error_code,
                "error_message": topic.error_message,
            },
        )
        for topic in response.topics
    )
    return messages.write(make(old_class, {"topics": topics}))
