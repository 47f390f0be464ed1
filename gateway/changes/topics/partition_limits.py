"""Partitions that are added where their number is limited: decided in the catalog writer's turn.

The topic's entry says what it counts with from then on (``TopicEntry.counted``), until listings of
the cluster tell the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.base.refused import try_again
from gateway.changes.base.usage import LISTING_HOLDS, Expected
from gateway.changes.inheritance.inherited import entry_for, later, settled
from gateway.decision import Denied
from gateway.names import LogicalName

log = logging.getLogger(__name__)

_MOVED = try_again("The topic was moved in the meantime")
_LATE = try_again("It took too long until the partitions could be counted")


@dataclass(frozen=True, slots=True)
class Growth:
    """A topic, stored as ``flat``, that is to have ``total`` partitions."""

    flat: str
    name: LogicalName
    total: int


@dataclass(frozen=True, slots=True)
class Reserved:
    """A topic counts with its growth by its ``entry``; before it did with ``former`` partitions (0:
    with those that are listed)."""

    growth: Growth
    entry: TopicEntry
    former: int


def over_limits(
    context: Context,
    snapshot: Snapshot,
    growing: Iterable[Growth],
    principal: str,
    listed: int,
) -> dict[str, Denied]:
    """Why topics may not grow so, by flat name, on a state of the catalog: one after the other, in
    their order. The cluster was ``listed`` then (milliseconds since the epoch)."""
    usage = context.usage.at(snapshot, context.cluster.index)
    expected = Expected(usage)
    refused: dict[str, Denied] = {}
    for growth in growing:
        flat, namespace = growth.flat, growth.name.namespace
        more = growth.total - usage.partitions_of(flat)
        if context.clock() - listed > LISTING_HOLDS:
            why: Denied | None = _LATE
        elif snapshot.owner(flat) != growth.name:
            why = _MOVED
        else:
            why = context.judge.over_limit(
                expected,
                str(growth.name),
                namespace,
                topics=0,
                partitions=more,
                principal=principal,
            )
        if why is not None:
            refused[flat] = why
        elif more > 0:
            expected.add(namespace, more, topics=0)
    return refused


async def reserve(
    context: Context, growing: Sequence[Growth], principal: str, listed: int
) -> tuple[list[Reserved], dict[str, Denied]]:
    """Let topics count with what they are to have, limited or not: who moves them sees by it that
    they grow. And why of those that may not. Raises OSError."""
    refused: dict[str, Denied] = {}
    reserved: list[Reserved] = []

    def decide(newest: Snapshot) -> list[Change]:
        refused.clear()
        refused.update(over_limits(context, newest, growing, principal, listed))
        reserved[:] = [
            _counting(context, newest, growth) for growth in growing if growth.flat not in refused
        ]
        return [one.entry for one in reserved]

    if growing:
        await context.catalog.change(decide)
    return reserved, refused


async def take_back(context: Context, grown: Sequence[Reserved]) -> None:
    """Let topics count as before again, which have not grown after all. What became of one
    meanwhile, another growth of it for example, may need what it counts with: that ends in time."""

    def decide(newest: Snapshot) -> list[Change]:
        return [
            settled(
                newest,
                replace(one.entry, counted=one.former, since=later(one.entry, context.clock())),
            )
            for one in grown
            if newest.topics.get(one.growth.flat) == one.entry
        ]

    error = await context.tidy(decide)
    if error is not None:
        log.warning("partitions that were not made count for a while: %s", error)


def _counting(context: Context, newest: Snapshot, growth: Growth) -> Reserved:
    entry = entry_for(newest, growth.flat, context.clock())
    counted = max(growth.total, entry.counted)
    counting = replace(entry, counted=counted, since=later(entry, context.clock()))
    return Reserved(growth, counting, entry.counted)
