"""Topics that come to a namespace, moved or adopted, before its policies (KIP-108).

A topic is judged as it would be there: what is its own, what it inherits there, its partitions and
replicas as they are. What it did not violate where it is does not matter.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused, called, refuse_if, try_again
from gateway.changes.base.usage import LISTING_HOLDS, Expected
from gateway.changes.judging.judged_configs import NOT_TOLD
from gateway.changes.judging.topic_facts import Asker, TopicFacts, read_facts
from gateway.decision import Denied
from gateway.names import DELIMITER, LogicalName
from gateway.policies.judge import Usage

TOLD: Final = 10
"""Topics that one refusal speaks of; of the others it says how many there are."""

_LATE: Final = try_again("It took too long until the topics could be counted")

_GROWING: Final = try_again("Partitions are just being added to the topic")

_ROOM: Final = -sys.maxsize
"""So little that any limit has room for more."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A topic, stored as ``flat``, that is to be ``name``, where it inherits what is ``above``.
    The client is told of it as ``shown``."""

    flat: str
    name: LogicalName
    above: Mapping[str, str]
    shown: str


class Joined:
    """Usage as it matters for topics that come from the namespace ``former``: a tree that holds
    both gets no more by it, so it has room, whatever is there and however big they are."""

    def __init__(self, usage: Usage, former: str) -> None:
        self._usage = usage
        self._former = former

    def topics(self, path: str) -> int:
        """Topics of one namespace."""
        return self._usage.topics(path)

    def partitions(self, path: str) -> int:
        """Their partitions."""
        return self._usage.partitions(path)

    def tree_topics(self, path: str | None) -> int:
        """Topics of a namespace and all below it."""
        return _ROOM if self._is_in(path) else self._usage.tree_topics(path)

    def tree_partitions(self, path: str | None) -> int:
        """Their partitions."""
        return _ROOM if self._is_in(path) else self._usage.tree_partitions(path)

    def _is_in(self, path: str | None) -> bool:
        return path is None or self._former == path or self._former.startswith(path + DELIMITER)


async def judge(
    context: Context, principal: str, snapshot: Snapshot, arrivals: Sequence[Arrival]
) -> dict[str, TopicFacts]:
    """What the topics are, by flat name, whose new namespace has policies.

    Raises :class:`Refused` unless they allow all of them, and OSError.
    """
    judged = [one for one in arrivals if context.judge.applies(one.name.namespace)]
    if not judged:
        return {}
    facts = await read_facts(context, [one.flat for one in judged])
    asker = Asker(context, principal, snapshot)
    refused: list[Denied] = []
    for one in judged:
        known = facts.get(one.flat)
        if known is None:
            raise Refused.of(NOT_TOLD)
        metadata = asker.about(known, one.name, known.own(snapshot), one.above)
        why = await context.judge.why_not(metadata)
        if why is not None:
            refused.append(called(why, str(one.name), one.shown))
    if refused:
        texts = [why.message for why in refused[:TOLD]]
        if len(refused) > TOLD:
            texts.append(f"{len(refused) - TOLD} more topics violate policies.")
        raise Refused(refused[0].code, " ".join(texts), refused[0].rule)
    return facts


def check_growth(newest: Snapshot, arrivals: Sequence[tuple[Arrival, int]]) -> None:
    """Raise :class:`Refused` where a topic is about to have more than the partitions that it was
    judged with: for the catalog writer's turn."""
    for arrival, known in arrivals:
        entry = newest.topics.get(arrival.flat)
        if known and entry is not None and entry.counted > known:
            raise Refused.of(_GROWING)


def check_limits(
    context: Context,
    principal: str,
    newest: Snapshot,
    arrivals: Sequence[tuple[Arrival, int]],
    listed: int,
) -> None:
    """Raise :class:`Refused` unless there is room for all topics, each with its partitions: for the
    catalog writer's turn. The cluster was ``listed`` then (milliseconds since the epoch)."""
    if not arrivals or not context.judge.policies.counts:
        return
    usage = context.usage.at(newest, context.cluster.index)
    expected = Expected(usage)
    for arrival, known in arrivals:
        partitions = max(known, usage.partitions_of(arrival.flat))
        namespace, former = arrival.name.namespace, newest.owner(arrival.flat).namespace
        if former == namespace or not context.judge.counts(namespace):
            continue
        if context.clock() - listed > LISTING_HOLDS:
            raise Refused.of(_LATE)
        why = context.judge.over_limit(
            Joined(expected, former),
            str(arrival.name),
            namespace,
            topics=1,
            partitions=partitions,
            principal=principal,
        )
        refuse_if(why and called(why, str(arrival.name), arrival.shown))
        expected.add(namespace, partitions)
