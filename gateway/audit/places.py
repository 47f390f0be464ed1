"""The places that audit events go to, and which of them a configuration asks for.

Files are JSON Lines, one event a line; the topic is one of the backing cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from gateway.audit.event import AuditEvent, encode, principal_of
from gateway.audit.hub import AuditHub, EventSink
from gateway.audit.interface import NO_AUDIT, Audit, AuditError
from gateway.brokers.messages import ClusterAdmin
from gateway.brokers.security import BrokerSecurity
from gateway.config.models import Config
from gateway.sinks import topic_partitions
from gateway.sinks.record_topic import Partitions, RecordTopic
from gateway.sinks.record_writer import RecordWriter, Sink
from gateway.sinks.rolling_files import RollingFiles
from gateway.sinks.topic_partitions import Message, TopicPartitions, TopicUnusable

WHAT: Final = "audit log"
_OWNER_AND_GROUP: Final = 0o640


class AuditFiles:
    """See :class:`gateway.audit.hub.EventSink`. ``source`` is the events'."""

    name = "file"

    def __init__(self, source: str, files: Sink, max_queued: int) -> None:
        self._writer: RecordWriter[AuditEvent] = RecordWriter(
            WHAT, files, max_queued, lambda event: encode(source, event) + b"\n"
        )

    async def start(self) -> None:
        """Make the directory and the first file. Raises AuditError."""
        try:
            self._writer.start()
        except OSError as error:
            raise AuditError(f"the audit log cannot be written: {error}") from error

    def put(self, event: AuditEvent) -> None:
        """See :class:`gateway.audit.hub.EventSink`."""
        self._writer.put((event,), 1)

    async def stop(self, seconds: float) -> None:
        """See :class:`gateway.audit.hub.EventSink`."""
        # Waiting for the thread must not keep the topic's writer from writing meanwhile.
        await asyncio.to_thread(self._writer.close, seconds)

    @property
    def queued(self) -> int:
        """See :class:`gateway.audit.hub.EventSink`."""
        return self._writer.queued

    def take_counts(self) -> tuple[int, Mapping[str, int]]:
        """See :class:`gateway.audit.hub.EventSink`."""
        return self._writer.take_counts()


def rolling(directory: Path, stem: str, max_file_bytes: int, max_files: int) -> RollingFiles:
    """Files that only the gateway's user and group may read."""
    return RollingFiles(
        directory, stem, max_file_bytes, max_files, what=WHAT, mode=_OWNER_AND_GROUP
    )


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


COMMANDS: Final = "commands"
"""The process name of operators' commands, which end soon and may run side by side."""

_KEEP_ALL: Final = 1_000_000


def open_audit(
    config: Config, process: str, admin: ClusterAdmin, security: BrokerSecurity | None = None
) -> Audit:
    """The audit log of one process, not started yet. ``process`` names it among its gateway's:
    ``w0``, or :data:`COMMANDS`."""
    settings = config.audit
    source = f"/kafka-gateway/{config.gateway_id}/{process}"
    sinks: list[EventSink] = []
    if settings.directory is not None:
        stem = f"audit-{config.gateway_id}-{process}"
        # Each command leaves a file of its own: to remove the oldest would remove recent events.
        most = _KEEP_ALL if process == COMMANDS else settings.max_files
        files = rolling(settings.directory, stem, settings.max_file_bytes, most)
        sinks.append(AuditFiles(source, files, settings.max_queued_events))
    topic = settings.topic
    if topic is not None:
        replicas = config.catalog.replication_factor
        servers = config.clusters[0].bootstrap_servers
        partitions = TopicPartitions(servers, topic, CONTENT_TYPE, security)
        sinks.append(
            AuditTopic(
                source,
                partitions,
                settings.max_queued_events,
                lambda: ensure_topic(admin, topic, replicas),
            )
        )
    return AuditHub(sinks) if sinks else NO_AUDIT


async def ensure_topic(admin: ClusterAdmin, topic: str, replication_factor: int) -> None:
    """Make the audit topic if it is missing, and check it; several gateways may do so at once.

    Raises TopicUnusable, and OSError when the cluster does not answer.
    """
    kept = "one event of each principal"
    await topic_partitions.ensure_topic("audit.topic", kept, admin, topic, replication_factor)
