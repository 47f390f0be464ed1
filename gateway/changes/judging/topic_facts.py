"""What existing topics are, for policies that are asked about them (KIP-108).

CreateTopics says itself what a topic is to be; every other way of making or changing one names a
part of it. The rest is read here, at the broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import (
    batches,
    new_topic_configs,
    read_configs,
    set_there,
)
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused
from gateway.changes.base.resources import OWN
from gateway.changes.inheritance.inherited import inherited, own_of
from gateway.error_codes import POLICY_VIOLATION
from gateway.names import LogicalName
from gateway.policies.interface import RequestMetadata
from gateway.policies.judge import POLICIES
from protocol.messages import Request

_METADATA: Final = 12
_LOOKS: Final = 20
_PAUSE: Final = 0.1

Replicas = Mapping[int, Sequence[int]]
"""Partition to the ids of the brokers that hold it."""


MAX_NEW: Final = 10_000
"""Partitions that one request makes at most, in Kafka, too (ReplicationControlManager)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How many partitions with how many replicas each; or the ``assignments`` in place of both,
    where a request makes them, or partitions differ."""

    num_partitions: int | None = None
    replication_factor: int | None = None
    assignments: Replicas | None = None


def layout_of(replicas: Replicas) -> Layout:
    """What these are, in counts if that says everything."""
    factors = {len(brokers) for brokers in replicas.values()}
    if len(factors) == 1:
        return Layout(len(replicas), factors.pop())
    return Layout(assignments=replicas)


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as the broker has it.

    ``dynamic`` is what is set on it there, whether it is its own or inherited; ``defaults`` what
    the configs would be without that (None: the broker does not tell).
    """

    flat: str
    replicas: Replicas
    dynamic: Mapping[str, str]
    defaults: Mapping[str, str | None]

    def own(self, snapshot: Snapshot) -> dict[str, str]:
        """Its own configs, without those that it inherits."""
        keys = own_of(snapshot, self.flat, self.dynamic)
        return {key: self.dynamic[key] for key in sorted(keys) if key in self.dynamic}

    def grown(self, total: int, assigned: Sequence[Sequence[int]] = ()) -> Layout:
        """With ``total`` partitions. What is not ``assigned`` of the new ones gets as many replicas
        as the first partition has, as in Kafka (ReplicationControlManager); which brokers these
        will be nobody knows yet.

        Raises :class:`Refused` for more than :data:`MAX_NEW` where they have to be told apart.
        """
        now = layout_of(self.replicas)
        if not assigned and now.assignments is None:
            return Layout(max(total, len(self.replicas)), now.replication_factor)
        new = range(len(self.replicas), total)
        if len(new) > MAX_NEW:
            message = "Excessively large number of partitions per request."
            raise Refused(POLICY_VIOLATION, message, POLICIES)
        first = self.replicas.get(0, ())
        more = [*assigned, *[first] * (len(new) - len(assigned))]
        return Layout(assignments={**self.replicas, **dict(zip(new, more, strict=False))})


@dataclass(frozen=True, slots=True)
class Asker:
    """On whose behalf, and on which state of the catalog, policies are asked."""

    context: Context
    principal: str
    snapshot: Snapshot

    def about(
        self,
        facts: TopicFacts,
        name: LogicalName,
        own: Mapping[str, str],
        above: Mapping[str, str] | None = None,
        *,
        layout: Layout | None = None,
    ) -> RequestMetadata:
        """What policies are asked about: the topic under ``name``, with these configs of its own.

        ``above`` is what it inherits there, by default what the catalog says; ``layout`` what is to
        be, by default what is.
        """
        if above is None:
            above = inherited(self.snapshot, name.namespace)
        configs = {**above, **own}
        usage = self.context.usage.at(self.snapshot, self.context.cluster.index)
        namespace = name.namespace
        is_there = self.snapshot.owner(facts.flat).namespace == namespace
        itself = usage.partitions_of(facts.flat) if is_there else 0
        layout = layout_of(facts.replicas) if layout is None else layout
        return RequestMetadata(
            topic=str(name),
            num_partitions=layout.num_partitions,
            replication_factor=layout.replication_factor,
            replicas_assignments=layout.assignments,
            configs=configs,
            principal=self.principal,
            namespace=namespace,
            namespace_topics=usage.topics(namespace) - (itself > 0),
            namespace_partitions=usage.partitions(namespace) - itself,
            effective_configs={**facts.defaults, **configs},
        )

    def about_namespace(
        self, path: str, own: Mapping[str, str], above: Mapping[str, str]
    ) -> RequestMetadata:
        """The same of a namespace: its own configs, which its topics inherit; ``above`` is what
        they inherit besides."""
        usage = self.context.usage.at(self.snapshot, self.context.cluster.index)
        return RequestMetadata(
            topic=f"{path}:",
            configs=own,
            principal=self.principal,
            namespace=path,
            namespace_topics=usage.topics(path),
            namespace_partitions=usage.partitions(path),
            effective_configs={**above, **own},
        )


async def read_facts(context: Context, flats: Sequence[str]) -> dict[str, TopicFacts]:
    """The topics as the broker has them, by flat name; those that do not exist are left out.

    A broker that has not heard of a topic yet is asked again for a moment. Raises OSError, and
    :class:`Refused` when the broker does not tell.
    """
    fresh = await new_topic_values(context)
    read: dict[str, TopicFacts] = {}
    left = list(flats)
    for _ in range(_LOOKS):
        for batch in batches(left):
            read |= await _read(context, batch, fresh)
        left = [flat for flat in left if flat not in read]
        if not left:
            break
        await asyncio.sleep(_PAUSE)
    return read


async def new_topic_values(context: Context) -> Mapping[str, str | None]:
    """What the configs of a topic are that sets none. Raises OSError.

    What is set on a topic hides it: synonyms tell what brokers call it, in other units at times
    (``log.retention.hours``).
    """
    return {config.name: config.value for config in await new_topic_configs(context)}


async def _read(
    context: Context, flats: Sequence[str], fresh: Mapping[str, str | None]
) -> dict[str, TopicFacts]:
    replicas = await _read_replicas(context, flats)
    there = [flat for flat in flats if flat in replicas]
    if not there:
        return {}
    return {
        flat: TopicFacts(
            flat,
            replicas[flat],
            set_there(configs),
            {
                each.name: fresh.get(each.name) if each.config_source == OWN else each.value
                for each in configs
            },
        )
        for flat, configs in (await read_configs(context, there)).items()
    }


async def _read_replicas(context: Context, flats: Sequence[str]) -> dict[str, Replicas]:
    values = {"topics": [{"name": flat} for flat in flats], "allow_auto_topic_creation": False}
    answer = await context.admin.ask(Request("MetadataRequest", _METADATA, values), changes=False)
    return {
        topic.name: {
            int(each.partition_index): tuple(map(int, each.replica_nodes))
            for each in sorted(topic.partitions, key=lambda each: int(each.partition_index))
        }
        for topic in answer.topics
        if topic.name is not None and topic.partitions and not topic.error_code
    }
