"""The audit log that a configuration asks for: its files, its topic, or none of them."""

from __future__ import annotations

import asyncio
from typing import Final

from gateway.audit import NO_AUDIT, Audit, AuditError
from gateway.audit_files import AuditFiles, rolling
from gateway.audit_hub import AuditHub, EventSink
from gateway.audit_partitions import AuditPartitions
from gateway.audit_topic import AuditTopic
from gateway.broker_security import BrokerSecurity
from gateway.catalog import own_topic
from gateway.catalog.own_topic import Admin, NotInTime, TopicError
from gateway.config import Config

CONFIGS: Final = {"cleanup.policy": "delete"}
"""The topic's configs. Compaction would keep one event for each principal."""

COMMANDS: Final = "commands"
"""The process name of operators' commands, which end soon and may run side by side."""

_SETTLE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.2
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
        partitions = AuditPartitions(config.clusters[0].bootstrap_servers, topic, security)
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

    Raises AuditError, and OSError when the cluster does not answer.
    """
    try:
        if await _is_there(admin, topic):
            policy = await own_topic.config_of(admin, topic, "cleanup.policy")
            if policy not in (None, CONFIGS["cleanup.policy"]):
                raise AuditError(
                    f"audit.topic '{topic}' has cleanup.policy={policy or '(not told)'} and must "
                    "have exactly 'delete', else the broker keeps one event of each principal: "
                    f"kafka-configs --alter --entity-type topics --entity-name {topic} "
                    "--add-config cleanup.policy=delete"
                )
        else:
            await own_topic.create(admin, topic, CONFIGS, replication_factor=replication_factor)
    except NotInTime:
        return  # if it is missing, the next write will tell
    except TopicError as error:
        raise AuditError(
            f"audit.topic '{topic}' cannot be used: {error}; make it with cleanup.policy=delete, "
            "and let the gateway describe and write it"
        ) from None


async def _is_there(admin: Admin, topic: str) -> bool:
    """What is just being made has no leader for a moment, which passes."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _SETTLE_SECONDS
    while True:
        try:
            return await own_topic.partitions_of(admin, topic) is not None
        except TopicError:
            if loop.time() >= deadline:
                raise
            await asyncio.sleep(_POLL_SECONDS)
