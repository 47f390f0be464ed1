"""Audit events in a topic of the backing cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from gateway.audit.event import AuditEvent, encode, principal_of
from gateway.audit.interface import AuditError
from gateway.sinks.record_topic import Partitions, RecordTopic
from gateway.sinks.topic_partitions import Message
from gateway.sinks.topic_setup import TopicUnusable

CONTENT_TYPE: Final = b"application/cloudevents+json; charset=UTF-8"
"""CloudEvents' Kafka protocol binding, structured content mode."""


class AuditTopic(RecordTopic[AuditEvent]):
    """See :class:`gateway.audit.hub.EventSink`. ``source`` is the events'."""

    def __init__(
        self,
        source: str,
        partitions: Partitions,
        max_queued: int,
        prepare: Callable[[], Awaitable[None]],
    ) -> None:
        def message(event: AuditEvent) -> Message:
            key, value = principal_of(event).encode(), encode(source, event)
            return Message(key, value, int(event.time * 1000))

        super().__init__("audit topic", "events", partitions, max_queued, prepare, message)

    async def start(self) -> None:
        """See :class:`gateway.audit.hub.EventSink`."""
        try:
            await super().start()
        except TopicUnusable as error:
            raise AuditError(str(error)) from None
