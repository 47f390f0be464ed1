"""Policies (KIP-108) and existing topics: the metadata that policies judge, and whether they allow
topics to be moved to, or adopted by, another namespace.

A CreateTopics request describes its topics itself. Every other request that creates or changes a
topic names only a part of the topic, so the rest is read here, from the broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import (
    batches,
    dynamic_configs,
    new_topic_configs,
    read_configs,
)
from gateway.changes.base.context import Context
from gateway.changes.base.inherited import inherited, own_of
from gateway.changes.base.rejected import Rejected, reject_if, respelled, try_again
from gateway.changes.base.resources import OWN
from gateway.changes.base.usage import LISTING_HOLDS, Expected
from gateway.decision import Denied
from gateway.error_codes import POLICY_VIOLATION
from gateway.names import LogicalName
from gateway.policies.interface import RequestMetadata
from gateway.policies.judge import POLICIES
from protocol.messages import Request

MAX_NEW: Final = 10_000
"""Partitions that one request may create, as in Kafka (ReplicationControlManager)."""

MAX_SHOWN: Final = 10
"""Topics in one error message, which gives the number of the further topics."""

NOT_TOLD: Final = try_again(
    "The broker does not describe the topic now, so policies cannot judge it"
)
_LATE: Final = try_again("It took too long until the topics could be counted")
_GROWING: Final = try_again("Partitions are just being added to the topic")

_METADATA: Final = 12
_LOOKS: Final = 20
_PAUSE: Final = 0.1

Replicas = Mapping[int, Sequence[int]]
"""Partition to the ids of the brokers that hold it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The number of partitions and of replicas of each; or the ``assignments`` in place of both, if
    a request gives assignments or partitions differ in their number of replicas."""

    num_partitions: int | None = None
    replication_factor: int | None = None
    assignments: Replicas | None = None

    @classmethod
    def of(cls, replicas: Replicas) -> Layout:
        """The layout of these replicas, in counts if all partitions have as many replicas."""
        factors = {len(brokers) for brokers in replicas.values()}
        if len(factors) == 1:
            return cls(len(replicas), factors.pop())
        return cls(assignments=replicas)


_NO_LAYOUT: Final = Layout()


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as the broker has it."""

    flat: str
    replicas: Replicas
    dynamic: Mapping[str, str]
    """The configs set on the topic at the broker, whether its own or inherited."""
    defaults: Mapping[str, str | None]
    """The configs that it would have without these; None if the broker does not return a value."""

    def own(self, snapshot: Snapshot) -> dict[str, str]:
        """Its own configs, without the inherited configs."""
        keys = own_of(snapshot, self.flat, self.dynamic)
        return {key: self.dynamic[key] for key in sorted(keys) if key in self.dynamic}

    def grown(self, total: int, assigned: Sequence[Sequence[int]] = ()) -> Layout:
        """The layout with ``total`` partitions.

        New partitions that are not ``assigned`` get as many replicas as the first partition has, as
        in Kafka (ReplicationControlManager); their brokers are not known yet. Raises
        :class:`Rejected` for more than :data:`MAX_NEW` new partitions if each needs its own
        assignment.
        """
        now = Layout.of(self.replicas)
        if not assigned and now.assignments is None:
            return Layout(max(total, len(self.replicas)), now.replication_factor)
        new = range(len(self.replicas), total)
        if len(new) > MAX_NEW:
            message = "Excessively large number of partitions per request."
            raise Rejected(POLICY_VIOLATION, message, POLICIES)
        more = [*assigned, *[self.replicas.get(0, ())] * (len(new) - len(assigned))]
        return Layout(assignments={**self.replicas, **dict(zip(new, more, strict=False))})


async def read_facts(context: Context, flats: Sequence[str]) -> dict[str, TopicFacts]:
    """The topics as the broker has them, by flat name; topics that do not exist are left out.

    A broker that has not learnt of a topic yet is queried again for a moment. Raises OSError, and
    :class:`Rejected` if the broker does not describe a topic.
    """
    fresh = await new_topic_values(context)
    read: dict[str, TopicFacts] = {}
    left = list(flats)
    for _ in range(_LOOKS):
        for batch in batches(left):
            replicas = await _read_replicas(context, batch)
            there = [flat for flat in batch if flat in replicas]
            for flat, configs in (await read_configs(context, there)).items():
                defaults = {
                    each.name: fresh.get(each.name) if each.config_source == OWN else each.value
                    for each in configs
                }
                dynamic = dynamic_configs(configs)
                read[flat] = TopicFacts(flat, replicas[flat], dynamic, defaults)
        left = [flat for flat in left if flat not in read]
        if not left:
            break
        await asyncio.sleep(_PAUSE)
    return read


async def new_topic_values(context: Context) -> Mapping[str, str | None]:
    """The configs of a topic that sets none. Raises OSError.

    They cannot be read from a topic that sets configs, because its synonyms have the brokers' keys,
    some of which have other units (``log.retention.hours``).
    """
    return {config.name: config.value for config in await new_topic_configs(context)}


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


@dataclass(frozen=True, slots=True)
class Metadata:
    """Makes the metadata that policies judge, for one principal, on one state of the catalog."""

    context: Context
    principal: str
    snapshot: Snapshot

    def of_topic(
        self,
        facts: TopicFacts,
        name: LogicalName,
        own: Mapping[str, str],
        above: Mapping[str, str] | None = None,
        *,
        layout: Layout | None = None,
    ) -> RequestMetadata:
        """The topic under ``name``, with these configs of its own.

        ``above``: the configs that it inherits there, by default as in the catalog. ``layout``: its
        layout after the change, by default its present layout.
        """
        if above is None:
            above = inherited(self.snapshot, name.namespace)
        configs = {**above, **own}
        layout = Layout.of(facts.replicas) if layout is None else layout
        effective = {**facts.defaults, **configs}
        return self.of(str(name), name.namespace, configs, effective, layout, facts.flat)

    def of_namespace(
        self, path: str, own: Mapping[str, str], above: Mapping[str, str]
    ) -> RequestMetadata:
        """A namespace with these configs of its own, which its topics inherit. ``above``: the
        configs that its topics inherit besides."""
        return self.of(f"{path}:", path, own, {**above, **own})

    def of(
        self,
        topic: str,
        namespace: str,
        configs: Mapping[str, str],
        effective: Mapping[str, str | None],
        layout: Layout = _NO_LAYOUT,
        flat: str | None = None,
    ) -> RequestMetadata:
        """The topic named ``topic`` in a namespace. The topic ``flat`` is not counted among the
        namespace's topics."""
        usage = self.context.usage.at(self.snapshot, self.context.cluster.index)
        is_there = flat is not None and self.snapshot.owner(flat).namespace == namespace
        counted = flat is not None and is_there and usage.is_counted(flat)
        itself = usage.partitions_of(flat) if flat is not None and counted else 0
        return RequestMetadata(
            topic,
            layout.num_partitions,
            layout.replication_factor,
            layout.assignments,
            configs,
            self.principal,
            namespace,
            namespace_topics=usage.topics(namespace) - counted,
            namespace_partitions=usage.partitions(namespace) - itself,
            effective_configs=effective,
        )


# -- topics that come to a namespace ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arrival:
    """A topic that is to get another name."""

    flat: str
    name: LogicalName
    """The new name."""
    above: Mapping[str, str]
    """The configs that the topic inherits under the new name."""
    shown: str
    """The new name in the client's spelling."""
    facts: TopicFacts | None = None
    """The facts on which policies allowed the topic; None if the new namespace has no policies."""

    @property
    def partitions(self) -> int:
        """The partitions with which policies allowed the topic; 0 if there are no policies."""
        return 0 if self.facts is None else len(self.facts.replicas)


async def check_arrivals(
    context: Context, principal: str, snapshot: Snapshot, arrivals: Sequence[Arrival]
) -> list[Arrival]:
    """Evaluate the policies of the namespaces that topics come to. Returns the arrivals with the
    facts on which they were allowed.

    A topic is judged as it would be in the new namespace: with its own configs, the configs that it
    inherits there, and its present partitions and replicas. Raises :class:`Rejected` unless all
    topics are allowed, and OSError.
    """
    judged = [one for one in arrivals if context.judge.applies(one.name.namespace)]
    if not judged:
        return list(arrivals)
    facts = await read_facts(context, [one.flat for one in judged])
    metadata = Metadata(context, principal, snapshot)
    denied: list[Denied] = []
    for one in judged:
        known = facts.get(one.flat)
        if known is None:
            raise Rejected.of(NOT_TOLD)
        topic = metadata.of_topic(known, one.name, known.own(snapshot), one.above)
        why = await context.judge.why_not(topic)
        if why is not None:
            denied.append(respelled(why, str(one.name), one.shown))
    if denied:
        texts = [why.message for why in denied[:MAX_SHOWN]]
        if len(denied) > MAX_SHOWN:
            texts.append(f"{len(denied) - MAX_SHOWN} more topics violate policies.")
        raise Rejected(denied[0].code, " ".join(texts), denied[0].rule)
    return [replace(one, facts=facts.get(one.flat)) for one in arrivals]


def check_counted_limits(
    context: Context, principal: str, newest: Snapshot, arrivals: Sequence[Arrival], listed: int
) -> None:
    """Raise :class:`Rejected` for topics that exceed a counted limit, and for a topic to which
    partitions are being added since it was judged. Called while the catalog's writer decides.
    ``listed``: when the cluster was listed, in milliseconds since the epoch."""
    for one in arrivals:
        entry = newest.topics.get(one.flat)
        if one.partitions and entry is not None and entry.counted > one.partitions:
            raise Rejected.of(_GROWING)
    if not arrivals or not context.judge.policies.counts:
        return
    expected = Expected(context.usage.at(newest, context.cluster.index))
    for one in arrivals:
        namespace = one.name.namespace
        if not context.judge.counts(namespace):
            continue
        if context.clock() - listed > LISTING_HOLDS:
            raise Rejected.of(_LATE)
        more = expected.growth(one.flat, one.name, one.partitions)
        name = str(one.name)
        why = context.judge.over_limit(expected, more, name, namespace, principal=principal)
        reject_if(why and respelled(why, name, one.shown))
        expected.expect(one.flat, one.name, one.partitions)
