"""Creation of the internal topics of Kafka Streams groups (KIP-1071): repartition and changelog
topics.

A coordinator creates them with the rights of the member whose heartbeat finds them missing, and
does not make the heartbeat wait. So does the gateway, by its own CreateTopics: with the member's
CREATE right, what the namespace hands down, policies and limits. A topology is kept until its
topics exist, because members send it only when they join.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Any, Final

from gateway.catalog.source import ACTOR, Actor
from gateway.changes.base.context import Context
from gateway.changes.base.rejected import MAX_CHANGES
from gateway.changes.topics.create_topics import create_topics
from gateway.changes.topics.internal_partitions import (
    InternalTopic,
    Subtopology,
    Undecided,
    missing_topics,
)
from gateway.error_codes import TOPIC_ALREADY_EXISTS
from gateway.rules.group_members import MemberKey, is_long
from gateway.slices import sliced
from gateway.views.access import Access
from protocol import messages
from protocol.messages import element_class, make
from protocol.pausing import paced

KEPT_BYTES: Final = 16 * 1024 * 1024
"""Bytes of the topologies that a worker keeps; if there are more, the tenant that has most of them
loses its oldest."""

MAX_UNDER_WAY: Final = 16
"""Groups of a worker whose topics are created at the same time. The others' next heartbeats try
again."""

MAX_OF_A_TENANT: Final = 2
"""Groups of a tenant among these."""

KEPT_ERRORS: Final = 3
"""Errors of a topology that are kept; the others are counted."""

AT_ONCE: Final = 100
"""Topics in one CreateTopics request."""

LONGEST_ERROR: Final = 1_000
"""Characters of an error that are kept."""

_SHORTEST: Final = 1.0
_LONGEST: Final = 60.0
_OVERHEAD: Final = 1_000
_VERSION: Final = 7
_BROKERS_DEFAULT: Final = -1
_TIMEOUT: Final = timedelta(seconds=30)
_NOT_NOW: Final = "the cluster or the catalog cannot be reached; the gateway tries again"

Spawn = Callable[[Coroutine[Any, Any, None]], object]
"""Runs a coroutine in the background, until it ends or the worker ends."""


@dataclass(slots=True, eq=False)
class Topology:
    """The topology with which a member joined."""

    internal: Sequence[bytes]
    """The flat names of its internal topics."""
    read: Callable[[], Sequence[Subtopology]]
    """Returns its subtopologies, in flat names. May take several slices."""
    size: int
    """Bytes."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """The first topics that could not be created, as the member spells them, and why."""
    failed: int = 0
    """How many could not be created."""
    retry_at: float = 0.0
    """Until then, in seconds of the clock, nothing is created."""


class InternalTopics:
    """Keeps topologies and creates their topics for the clients of one worker, on one event
    loop."""

    def __init__(
        self, context: Context, spawn: Spawn, *, clock: Callable[[], float] = monotonic
    ) -> None:
        """``clock`` returns seconds from any fixed point."""
        self._context = context
        self._spawn = spawn
        self._clock = clock
        self._kept: OrderedDict[MemberKey, Topology] = OrderedDict()
        self._bytes: Counter[Any] = Counter()
        self._under_way: set[tuple[Any, str]] = set()

    @property
    def bytes_kept(self) -> int:
        """Bytes of the topologies that are kept."""
        return sum(self._bytes.values())

    def keep(self, key: MemberKey, topology: Topology) -> None:
        """Keep the topology of a member that a broker has accepted, until :meth:`forget`."""
        self.forget(key)
        if is_long(key) or topology.size > KEPT_BYTES:
            return
        self._kept[key] = topology
        self._bytes[key[0]] += topology.size + _OVERHEAD
        while self.bytes_kept > KEPT_BYTES:
            most = max(self._bytes, key=self._bytes.__getitem__)
            self.forget(next(kept for kept in self._kept if kept[0] == most))

    def forget(self, key: MemberKey) -> None:
        """Keep a member's topology no longer; does nothing if none is kept."""
        topology = self._kept.pop(key, None)
        if topology is not None:
            self._bytes[key[0]] -= topology.size + _OVERHEAD
            if self._bytes[key[0]] <= 0:
                del self._bytes[key[0]]

    def topology_of(self, key: MemberKey) -> Topology | None:
        """The topology that is kept for a member."""
        topology = self._kept.get(key)
        if topology is not None:
            self._kept.move_to_end(key)
        return topology

    def create(
        self, access: Access, actor: Actor, key: MemberKey, topology: Topology, hold: float
    ) -> None:
        """Create the topics that are missing, in the background, unless that is under way for the
        group, or was done less than ``hold`` seconds ago."""
        group = key[:2]
        if (
            topology.retry_at > self._clock()
            or group in self._under_way
            or len(self._under_way) >= MAX_UNDER_WAY
            or sum(scope == key[0] for scope, _ in self._under_way) >= MAX_OF_A_TENANT
        ):
            return
        self._under_way.add(group)
        topology.retry_at = self._clock() + min(max(hold, _SHORTEST), _LONGEST)
        self._spawn(self._create(access, actor, group, topology))

    async def _create(
        self, access: Access, actor: Actor, group: tuple[Any, str], topology: Topology
    ) -> None:
        ACTOR.set(actor)
        try:
            topology.errors, topology.failed = await self._created(access, topology)
        except Undecided:
            # The coordinator says why, once it knows all topics.
            topology.errors, topology.failed = {}, 0
        except OSError:
            topology.errors, topology.failed = {"": _NOT_NOW}, 1
        finally:
            self._under_way.discard(group)

    async def _created(self, access: Access, topology: Topology) -> tuple[Mapping[str, str], int]:
        """Create what is missing; returns the first errors, and the number of all. Raises OSError
        and Undecided."""
        turns = self._context.beside()
        cluster = self._context.cluster
        await cluster.refresh()
        counts = cluster.index.partitions

        def missing() -> Mapping[str, InternalTopic]:
            return missing_topics(topology.read(), lambda flat: counts.get(flat.encode()))

        wanted = await sliced(turns, missing)
        spelled: dict[str, InternalTopic] = {}
        for flat, topic in wanted.items():
            shown = access.view.spell(flat.encode())
            if shown is not None:
                spelled[shown.decode()] = topic
        errors: dict[str, str] = {}
        failed = 0
        for batch in _batches(spelled):
            body = await sliced(turns, partial(_request, batch))
            answered = await create_topics(self._context, access, _VERSION, body)
            response = messages.parse("CreateTopicsResponse", _VERSION, answered.body)
            for topic in response.topics:
                code = int(topic.error_code)
                if code in (0, TOPIC_ALREADY_EXISTS):
                    continue
                failed += 1
                if len(errors) < KEPT_ERRORS:
                    why = topic.error_message or f"error {code}"
                    errors[topic.name] = why[:LONGEST_ERROR]
        return errors, failed


def _batches(topics: Mapping[str, InternalTopic]) -> Iterator[dict[str, InternalTopic]]:
    """The topics in requests that are not rejected for their number of partitions."""
    batch: dict[str, InternalTopic] = {}
    partitions = 0
    for name, topic in topics.items():
        count = max(1, topic.partitions)
        if batch and (len(batch) >= AT_ONCE or partitions + count > MAX_CHANGES):
            yield batch
            batch, partitions = {}, 0
        batch[name] = topic
        partitions += count
    if batch:
        yield batch


def _request(topics: Mapping[str, InternalTopic]) -> bytes:
    cls = messages.message_class("CreateTopicsRequest", _VERSION)
    topic_class = element_class(cls, "topics")
    config_class = element_class(topic_class, "configs")
    entries: list[Any] = []
    for name, topic in paced(topics.items()):
        configs = [
            make(config_class, {"name": key, "value": value}) for key, value in topic.configs
        ]
        values = {
            "name": name,
            "num_partitions": topic.partitions,
            "replication_factor": topic.replicas or _BROKERS_DEFAULT,
            "configs": tuple(configs),
        }
        entries.append(make(topic_class, values))
    return messages.write(make(cls, {"topics": tuple(entries), "timeout": _TIMEOUT}))
