"""The audit log that a configuration requests: its files, its topic, or both.

Files are JSON Lines, an event a line; the topic is on the backing cluster.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from gateway.audit.audit import NO_AUDIT, Audit
from gateway.audit.event import AuditEvent, encode, principal_of
from gateway.brokers.messages import ClusterAdmin
from gateway.brokers.security import BrokerSecurity
from gateway.config.models import Config
from gateway.sinks import topic_partitions
from gateway.sinks.record_topic import RecordTopic
from gateway.sinks.record_writer import RecordSink, RecordWriter
from gateway.sinks.rolling_files import RollingFiles
from gateway.sinks.topic_partitions import Message, TopicPartitions

WHAT: Final = "audit log"
_OWNER_AND_GROUP: Final = 0o640


def audit_files(source: str, files: RollingFiles, max_queued: int) -> RecordWriter[AuditEvent]:
    """Events in files, an event a line. ``source`` is the CloudEvents attribute of every event."""
    return RecordWriter(WHAT, files, max_queued, lambda event: encode(source, event) + b"\n")


def rolling(directory: Path, stem: str, max_file_bytes: int, max_files: int) -> RollingFiles:
    """Files that only the gateway's user and group may read."""
    return RollingFiles(
        directory, stem, max_file_bytes, max_files, what=WHAT, mode=_OWNER_AND_GROUP
    )


CONTENT_TYPE: Final = b"application/cloudevents+json; charset=UTF-8"
"""CloudEvents' Kafka protocol binding, structured content mode."""


def audit_topic(
    source: str,
    partitions: TopicPartitions,
    max_queued: int,
    prepare: Callable[[], Awaitable[None]],
) -> RecordTopic[AuditEvent]:
    """Events in a topic, with their principals as keys. ``source`` is the CloudEvents attribute of
    every event."""

    def message(event: AuditEvent) -> Message:
        return Message(principal_of(event).encode(), encode(source, event), int(event.time * 1000))

    return RecordTopic("audit topic", "events", partitions, max_queued, prepare, message)


COMMANDS: Final = "commands"
"""The process name of operators' commands, which end soon and may run side by side."""

_KEEP_ALL: Final = 1_000_000


def open_audit(
    config: Config, process: str, admin: ClusterAdmin, security: BrokerSecurity | None = None
) -> Audit:
    """The audit log of a process, not started yet. ``process`` is its name in the gateway: ``w0``,
    or :data:`COMMANDS`."""
    settings = config.audit
    source = f"/kafka-gateway/{config.gateway_id}/{process}"
    sinks: list[RecordSink[AuditEvent]] = []
    if settings.directory is not None:
        stem = f"audit-{config.gateway_id}-{process}"
        # Each command leaves a file of its own: to remove the oldest would remove recent events.
        most = _KEEP_ALL if process == COMMANDS else settings.max_files
        files = rolling(settings.directory, stem, settings.max_file_bytes, most)
        sinks.append(audit_files(source, files, settings.max_queued_events))
    topic = settings.topic
    if topic is not None:
        replicas = config.catalog.replication_factor
        servers = config.clusters[0].bootstrap_servers
        partitions = TopicPartitions(servers, topic, CONTENT_TYPE, security)
        sinks.append(
            audit_topic(
                source,
                partitions,
                settings.max_queued_events,
                lambda: ensure_topic(admin, topic, replicas),
            )
        )
    return Audit(sinks) if sinks else NO_AUDIT


async def ensure_topic(admin: ClusterAdmin, topic: str, replication_factor: int) -> None:
    """Create the audit topic if it is missing, and check it; several gateways may do so at once.

    Raises TopicUnusable, and OSError if the cluster does not respond.
    """
    kept = "one event of each principal"
    await topic_partitions.ensure_topic("audit.topic", kept, admin, topic, replication_factor)
