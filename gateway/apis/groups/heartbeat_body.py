"""Removal of names and partitions from heartbeats before they are forwarded:
ConsumerGroupHeartbeat (KIP-848) and ShareGroupHeartbeat (KIP-932).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from protocol import messages
from protocol.messages import changed
from protocol.pausing import eased


def without_names(api: str, version: int, body: bytes, unknown: Callable[[str], bool]) -> bytes:
    """A heartbeat of ``api`` (Kafka's name) without the ``unknown`` subscribed names and without an
    expression, which a broker would evaluate over the topics of all tenants. The expression becomes
    null ("unchanged"), so a member that its broker lacks is still answered UNKNOWN_MEMBER_ID, and a
    member that another connection joined meanwhile subscribes to nothing more. Raises
    ProtocolError."""
    request = messages.parse(f"{api}Request", version, body)
    names = request.subscribed_topic_names or ()
    known = tuple(name for name in eased(names) if not unknown(name))
    values: dict[str, object] = {}
    if len(known) != len(names):
        values["subscribed_topic_names"] = known
    if getattr(request, "subscribed_topic_regex", None):
        values["subscribed_topic_regex"] = None
    return messages.write(changed(request, values)) if values else body


def without_partitions(version: int, body: bytes, topic_ids: Collection[bytes]) -> bytes:
    """A heartbeat without owned partitions of these topics (16 bytes each). Raises
    ProtocolError."""
    request = messages.parse("ConsumerGroupHeartbeatRequest", version, body)
    owned = tuple(
        topic
        for topic in request.topic_partitions or ()
        if topic.topic_id is None or topic.topic_id.bytes not in topic_ids
    )
    return messages.write(replace(request, topic_partitions=owned))
