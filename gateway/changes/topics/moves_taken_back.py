"""Moves that were committed, looked at once more: two changes at the same time, each of which may
be, can lead to what may not be. Then the move is taken back.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.catalog.entities import Change, Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_moves import Carried
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused
from gateway.changes.judging.judged_moves import Arrival, judge
from gateway.changes.judging.topic_facts import TopicFacts, read_facts
from gateway.error_codes import TOPIC_ALREADY_EXISTS
from gateway.names import LogicalName, encode

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Decided:
    """The changes, of which ``record`` is the topic's own, if any, and ``acls`` what it takes
    along; it is ``name`` then."""

    changes: Sequence[Change] = ()
    record: Change | None = None
    acls: Carried | None = None
    name: LogicalName | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What policies have allowed: the arrival of a topic that the broker has as ``facts`` (None:
    they were not asked), by the catalog that was ``seen``. The cluster was ``listed`` then
    (milliseconds since the epoch)."""

    arrival: Arrival
    facts: TopicFacts | None
    seen: Snapshot
    listed: int

    @property
    def partitions(self) -> int:
        """With how many the topic was judged; 0: it was not."""
        return 0 if self.facts is None else len(self.facts.replicas)


async def look_for_twin(context: Context, former: TopicEntry | None, decided: Decided) -> None:
    """Take a move back if a topic of its new name was made at the same time.

    The name was free when it was decided, and whoever makes a topic looks into the catalog once
    more afterwards; only when both looked too early there are two. Raises :class:`Refused` then.
    """
    change = decided.record
    if not isinstance(change, TopicEntry):
        return
    await context.cluster.refresh()
    twin = encode(change.name)
    snapshot = context.catalog.snapshot
    if twin == change.flat or twin in snapshot.topics:
        return
    if not context.cluster.index.exists(twin.encode()):
        return
    await _take_back(context, change.flat, former, decided)
    log.warning("topic %r is not moved: %r was made meanwhile", change.flat, twin)
    raise Refused(TOPIC_ALREADY_EXISTS, f"Topic '{change.name}' already exists.")


async def judge_again(
    context: Context,
    principal: str,
    judged: Judged,
    former: TopicEntry | None,
    decided: Decided,
) -> None:
    """Take a move back if the topic was changed meanwhile into one that policies do not allow where
    it is now. Raises :class:`Refused` then, and OSError.

    Whoever changes a topic looks where it is both before and afterwards (``judged_again``); what
    was changed before the move is there to be read by now.
    """
    if judged.facts is None or decided.record is None:
        return
    flat = judged.arrival.flat
    now = (await read_facts(context, [flat])).get(flat)
    if now is None or now == judged.facts:
        return
    try:
        await judge(context, principal, judged.seen, [judged.arrival])
    except Refused:
        await _take_back(context, flat, former, decided)
        log.warning("topic %r is not moved: it was changed meanwhile", flat)
        raise


async def _take_back(
    context: Context, flat: str, former: TopicEntry | None, decided: Decided
) -> None:
    """Let the topic be where it was, with its ``former`` entry, unless something has become of it
    since."""
    moved = decided.record if isinstance(decided.record, TopicEntry) else None
    acls = decided.acls

    def decide(newest: Snapshot) -> Sequence[Change]:
        if newest.topics.get(flat) != moved:
            return ()
        record = former or Removal(("topic", flat))
        return [record] if acls is None else acls.back(newest, [record])

    await context.catalog.change(decide)
