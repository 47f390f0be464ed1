"""The traffic log that a configuration asks for: its files, its topic, or both."""

from __future__ import annotations

from typing import Final

from gateway.brokers.messages import ClusterAdmin
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.replicated import own_security
from gateway.config.models import Config
from gateway.sinks.record_topic import RecordTopic
from gateway.sinks.topic_partitions import TopicPartitions, ensure_topic
from gateway.traffic.log import WHAT, Draft, TrafficLog, encode_message
from gateway.traffic.record import Origin

CONTENT_TYPE: Final = b"application/json; charset=UTF-8"

_LEFT_BY_COMPACTION: Final = "records for ever"


def open_traffic_log(config: Config, worker_id: int, admin: ClusterAdmin) -> TrafficLog | None:
    """The traffic log of one worker, not started yet; None where it is off."""
    settings, cluster = config.traffic_log, config.clusters[0]
    if not settings.enabled:
        return None
    topic: RecordTopic[Draft] | None = None
    if settings.topic is not None:
        name, replicas = settings.topic, config.catalog.replication_factor
        own = own_security(config, BrokerSecurity(cluster.security))
        topic = RecordTopic(
            f"{WHAT}'s topic",
            "records",
            TopicPartitions(cluster.bootstrap_servers, name, CONTENT_TYPE, own),
            settings.max_queued_records,
            lambda: ensure_topic("traffic_log.topic", _LEFT_BY_COMPACTION, admin, name, replicas),
            encode_message,
        )
    return TrafficLog(settings, Origin(config.gateway_id, worker_id), topic=topic)
