"""The topology in a StreamsGroupHeartbeat (KIP-1071): its bounds, the mark of its internal topics,
and its subtopologies as the creation of these topics needs them.

A coordinator creates missing internal topics itself, at the brokers, where neither namespaces nor
policies count. So each of these topics gets a config that Kafka does not know: the coordinator's
creation then always fails, whatever the group, its coordinator or the brokers' rights become later,
and the gateway creates the topics (``gateway.changes.topics.internal_topics``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.changes.topics.internal_partitions import InternalTopic, Subtopology
from gateway.decision import Denied
from gateway.error_codes import STREAMS_INVALID_TOPOLOGY
from protocol import messages
from protocol.messages import changed, element_class, make
from protocol.pausing import eased

REQUEST: Final = "StreamsGroupHeartbeatRequest"

MARK: Final = "gateway.internal.topic"
"""The config of an internal topic that Kafka does not know: the gateway creates the topic."""

MAX_BYTES: Final = 1024 * 1024
"""Bytes of a heartbeat: a coordinator keeps a topology in one record, which is no longer by default
(message.max.bytes), and all else in a heartbeat is short."""

MAX_TOPICS: Final = 10_000
"""Names in a topology; those in several places count each time."""

MAX_SUBTOPOLOGIES: Final = 10_000

MAX_INTERNAL: Final = 1_000
"""Internal topics of a topology."""

MAX_CONFIGS: Final = 100
"""Configs of an internal topic; Kafka 4.3.1 has 37 configs of topics."""


def invalid(message: str) -> Denied:
    """The denial of a topology, which is fatal to a member: clients show the sentence."""
    return Denied(STREAMS_INVALID_TOPOLOGY, message, "topology")


def too_long(size: int) -> Denied | None:
    """The denial of a heartbeat of ``size`` bytes, before it is read."""
    if size <= MAX_BYTES:
        return None
    return invalid(f"The heartbeat has {size} bytes, and may have {MAX_BYTES}.")


def out_of_bounds(topology: Any) -> Denied | None:
    """The denial of a topology with too many items, or with a config that is the gateway's."""
    parts = topology.subtopologies
    if len(parts) > MAX_SUBTOPOLOGIES:
        return _too_many(len(parts), "subtopologies", MAX_SUBTOPOLOGIES)
    names = internal = 0
    for part in eased(parts):
        own = (*part.repartition_source_topics, *part.state_changelog_topics)
        internal += len(own)
        names += len(own) + len(part.source_topics) + len(part.repartition_sink_topics)
        for topic in eased(own):
            if len(topic.topic_configs) > MAX_CONFIGS:
                what = f"configs of topic '{topic.name}'"
                return _too_many(len(topic.topic_configs), what, MAX_CONFIGS)
            if any(config.key == MARK for config in topic.topic_configs):
                return invalid(f"Config '{MARK}' of topic '{topic.name}' is the gateway's own.")
    if names > MAX_TOPICS:
        return _too_many(names, "names of topics", MAX_TOPICS)
    return _too_many(internal, "internal topics", MAX_INTERNAL) if internal > MAX_INTERNAL else None


def _too_many(count: int, what: str, most: int) -> Denied:
    return invalid(f"The topology has {count} {what}, and may have {most}.")


def marked(request: Any) -> bytes:
    """The body of a heartbeat in whose topology each internal topic has the mark."""
    topology = request.topology
    parts = tuple(_marked(part) for part in eased(topology.subtopologies))
    return messages.write(replace(request, topology=replace(topology, subtopologies=parts)))


def _marked(part: Any) -> Any:
    fields = ("repartition_source_topics", "state_changelog_topics")
    return changed(part, {name: tuple(map(_with_mark, getattr(part, name))) for name in fields})


def _with_mark(topic: Any) -> Any:
    config = make(element_class(type(topic), "topic_configs"), {"key": MARK, "value": ""})
    return replace(topic, topic_configs=(*topic.topic_configs, config))


def without_mark(topic: Any) -> Any:
    """An internal topic of a description without its mark."""
    configs = tuple(each for each in topic.topic_configs if each.key != MARK)
    return replace(topic, topic_configs=configs)


def internal_names(version: int, body: bytes) -> Sequence[bytes]:
    """The names of the internal topics of a heartbeat. Raises ProtocolError."""
    return tuple(
        dict.fromkeys(
            topic.name.encode()
            for part in eased(messages.parse(REQUEST, version, body).topology.subtopologies)
            for topic in (*part.repartition_source_topics, *part.state_changelog_topics)
        )
    )


def subtopologies(version: int, body: bytes) -> Sequence[Subtopology]:
    """The subtopologies of a heartbeat, without marks. Raises ProtocolError."""
    topology = messages.parse(REQUEST, version, body).topology
    return [_subtopology(part) for part in eased(topology.subtopologies)]


def _subtopology(part: Any) -> Subtopology:
    return Subtopology(
        part.subtopology_id,
        tuple(map(str, part.source_topics)),
        tuple(map(str, part.repartition_sink_topics)),
        tuple(map(_internal, part.repartition_source_topics)),
        tuple(map(_internal, part.state_changelog_topics)),
        tuple(tuple(_copartitioned(part, group)) for group in eased(part.copartition_groups)),
    )


def _internal(topic: Any) -> InternalTopic:
    configs = tuple((each.key, each.value) for each in topic.topic_configs if each.key != MARK)
    partitions, replicas = int(topic.partitions), int(topic.replication_factor)
    return InternalTopic(str(topic.name), partitions, replicas, configs)


def _copartitioned(part: Any, group: Any) -> Iterator[str]:
    """The topics of a group of indexes. A coordinator rejects a topology with an index that leads
    nowhere, so such an index is left out."""
    sources, repartitions = part.source_topics, part.repartition_source_topics
    for at in eased(group.source_topics):
        if 0 <= at < len(sources):
            yield str(sources[at])
    for at in eased(group.repartition_source_topics):
        if 0 <= at < len(repartitions):
            yield str(repartitions[at].name)
