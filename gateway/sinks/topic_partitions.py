"""Partitions of a records topic on a cluster; each partition is written a batch at a time.

Records of a key go to the same partition, by the hash of Kafka's own clients. If a batch was
written but its response was lost, it is written again: consumers recognize duplicates by the
records' ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from aiokafka.partitioner import murmur2
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from gateway.brokers.messages import ClusterAdmin
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.log import topics
from gateway.catalog.log.kafka_connections import Address, Connections, produce_request
from gateway.catalog.log.records import LogError
from gateway.catalog.log.topics import NotInTime, TopicError
from gateway.sinks.record_writer import SinkError
from protocol.schema import error_name

BATCH_BYTES: Final = 512 * 1024
"""Bytes of a batch, half of the brokers' default limit; a larger event is a batch alone."""

WRITE_SECONDS: Final = 10.0

_MAGIC: Final = 2
_NO_PRODUCER: Final = -1
_UNKNOWN_TOPIC: Final = 3
_TOO_LARGE: Final = frozenset({10, 18})  # the message, the batch


class Message(NamedTuple):
    """A record on its way to the topic; ``time`` is milliseconds since 1970."""

    key: bytes
    value: bytes
    time: int


class Written(NamedTuple):
    """The outcome of a write: the number of messages written, the number that brokers rejected as
    too large, the messages ``left``, in order, and why (empty if the batch had no room for
    them)."""

    written: int
    too_large: int
    left: list[Message]
    problem: str


class TopicMissing(LogError):
    """The topic does not exist."""


class _TooLarge(LogError):
    """The broker rejects a batch of this size."""


class TopicPartitions:
    """Writes messages to the partitions of a topic; used by a single event loop, one call at a
    time. ``content_type`` is every record's header ``content-type``."""

    def __init__(
        self,
        bootstrap_servers: Sequence[Address],
        topic: str,
        content_type: bytes,
        security: BrokerSecurity | None = None,
    ) -> None:
        self._headers = [("content-type", content_type)]
        self._connections = Connections(bootstrap_servers, topic, security)
        self._leaders: Mapping[int, Address | None] = {}

    async def write(self, messages: Sequence[Message]) -> Written:
        """Write as many messages as fit into a batch per partition. Raises LogError if no message
        was written."""
        if not self._leaders:
            self._leaders = await self._find_leaders()
        lanes: dict[int, list[Message]] = {}
        for message in messages:
            lanes.setdefault(partition_of(message.key, len(self._leaders)), []).append(message)
        outcomes = await asyncio.gather(*(self._write(*lane) for lane in lanes.items()))
        problems = [outcome.problem for outcome in outcomes if outcome.problem]
        if problems:
            self._leaders = {}
        left = {id(message) for outcome in outcomes for message in outcome.left}
        return Written(
            sum(outcome.written for outcome in outcomes),
            sum(outcome.too_large for outcome in outcomes),
            [message for message in messages if id(message) in left],
            next(iter(problems), ""),
        )

    async def close(self) -> None:
        """Close the connections; the next write opens new ones."""
        self._leaders = {}
        await self._connections.close()

    async def _write(self, partition: int, messages: list[Message]) -> Written:
        most = len(messages)
        while True:
            batch, count = _batch(messages[:most], self._headers)
            try:
                await self._produce(partition, batch)
            except _TooLarge:
                if count == 1:
                    return Written(0, 1, messages[1:], "")
                most = count // 2
            except LogError as error:
                return Written(0, 0, messages, str(error))
            else:
                return Written(count, 0, messages[count:], "")

    async def _produce(self, partition: int, batch: bytes) -> None:
        leader = self._leaders[partition]
        if leader is None:
            raise LogError("a partition has no leader")
        request = produce_request(self._connections.topic, partition, batch, WRITE_SECONDS)
        response = await self._connections.ask(leader, request, "write", WRITE_SECONDS)
        for topic in response.responses:
            for written in topic.partition_responses:
                if written.error_code in _TOO_LARGE:
                    raise _TooLarge(f"writing is refused ({error_name(written.error_code)})")
                if written.error_code:
                    raise LogError(f"writing is refused ({error_name(written.error_code)})")

    async def _find_leaders(self) -> Mapping[int, Address | None]:
        brokers, topic = await self._connections.metadata("ask")
        if topic is not None and topic.error_code == _UNKNOWN_TOPIC:
            raise TopicMissing("the topic is not there")
        if topic is not None and topic.error_code:
            raise LogError(f"the topic cannot be written ({error_name(topic.error_code)})")
        found = () if topic is None else topic.partitions
        leaders = {int(one.partition_index): brokers.get(one.leader_id) for one in found}
        # All partitions are needed: a key's partition depends on their number.
        if leaders and sorted(leaders) == list(range(len(leaders))):
            return leaders
        raise LogError("the topic has no partitions")


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that Kafka's own clients choose for a key."""
    return int(murmur2(key) & 0x7FFFFFFF) % partitions


def _batch(messages: Sequence[Message], headers: list[tuple[str, bytes]]) -> tuple[bytes, int]:
    """A record batch of as many messages as fit, at least one, and their number."""
    builder: Any = DefaultRecordBatchBuilder(
        _MAGIC, 0, False, _NO_PRODUCER, _NO_PRODUCER, _NO_PRODUCER, BATCH_BYTES
    )
    count = 0
    for key, value, time in messages:
        if builder.append(count, time, key, value, headers) is None:
            break
        count += 1
    return bytes(builder.build()), count


CONFIGS: Final = {"cleanup.policy": "delete"}
"""The topic's configs. Compaction would keep only the last record of each key."""

_SETTLE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.2


class TopicUnusable(TopicError, SinkError):
    """The topic that a configuration names cannot be used; the text says why."""


async def ensure_topic(
    key: str, kept: str, admin: ClusterAdmin, topic: str, replication_factor: int
) -> None:
    """Create a topic if it is missing, and check it; several gateways may do so at once.

    ``key`` is the configuration's key for the topic; ``kept`` names the records that compaction
    would leave. Raises TopicUnusable, and OSError if the cluster does not respond.
    """
    try:
        if await _is_there(admin, topic):
            policy = await topics.config_of(admin, topic, "cleanup.policy")
            if policy not in (None, CONFIGS["cleanup.policy"]):
                raise TopicUnusable(
                    f"{key} '{topic}' has cleanup.policy={policy or '(not told)'} and must "
                    f"have exactly 'delete', else the broker keeps {kept}: "
                    f"kafka-configs --alter --entity-type topics --entity-name {topic} "
                    "--add-config cleanup.policy=delete"
                )
        else:
            await topics.create(admin, topic, CONFIGS, replication_factor=replication_factor)
    except TopicUnusable:
        raise
    except NotInTime:
        return  # if it is missing, the next write will fail
    except TopicError as error:
        raise TopicUnusable(
            f"{key} '{topic}' cannot be used: {error}; make it with cleanup.policy=delete, "
            "and let the gateway describe and write it"
        ) from None


async def _is_there(admin: ClusterAdmin, topic: str) -> bool:
    """Whether the topic exists. Errors are retried, because a topic that is being created has no
    leader yet."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _SETTLE_SECONDS
    while True:
        try:
            return await topics.partitions_of(admin, topic) is not None
        except TopicError:
            if loop.time() >= deadline:
                raise
            await asyncio.sleep(_POLL_SECONDS)
