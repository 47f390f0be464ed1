"""The audit log that a configuration asks for: its files, its topic, or none of them."""

from __future__ import annotations

from typing import Final

from gateway.audit.files import AuditFiles, rolling
from gateway.audit.hub import AuditHub, EventSink
from gateway.audit.interface import NO_AUDIT, Audit
from gateway.audit.topic import CONTENT_TYPE, AuditTopic
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.own_topic import Admin
from gateway.config.models import Config
from gateway.sinks import topic_setup
from gateway.sinks.topic_partitions import TopicPartitions

COMMANDS: Final = "commands"
"""The process name of operators' commands, which end soon and may run side by side."""

_KEEP_ALL: Final = 1_000_000


def open_audit(
    config: Config, process: str, admin: Admin, security: BrokerSecurity | None = None
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


async def ensure_topic(admin: Admin, topic: str, replication_factor: int) -> None:
    """Make the audit topic if it is missing, and check it; several gateways may do so at once.

    Raises TopicUnusable, and OSError when the cluster does not answer.
    """
    kept = "one event of each principal"
    await topic_setup.ensure_topic("audit.topic", kept, admin, topic, replication_factor)
