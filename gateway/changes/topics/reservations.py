"""The catalog's part in creations: entries that come before their topics, and what is said of the
topics afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from gateway.catalog.entities import Change, Removal, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import delete_at_broker
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused, try_again, unavailable
from gateway.changes.base.usage import LISTING_HOLDS, Expected
from gateway.changes.topics.create_plan import Planned, reserved
from gateway.changes.topics.creation import Creation
from gateway.decision import Denied
from gateway.policies.judge import nearly_over, over
from gateway.policies.violation import Violation, enforced

log = logging.getLogger(__name__)


_RELOADED: Final = try_again("The policies have just changed")
"""What is counted now was not when it was judged."""


async def reserve(creation: Creation, listed: int) -> None:
    """Commit the entries of topics that need one before they are made: those that get a fresh flat
    name, and those that are counted, which is decided here and by nobody else at the same time.

    The cluster was ``listed`` then (milliseconds since the epoch). What is refused is denied.
    """
    for spelled, each in list(creation.left.items()):
        counted = each.entry is not None and each.reserve and each.entry.counted
        if not counted and creation.context.judge.counts(each.name.namespace):
            creation.answer(spelled, _RELOADED)
    wanted = {spelled: each for spelled, each in creation.left.items() if each.reserve}
    if not wanted:
        return
    found: dict[str, list[Violation]] = {}

    def decide_all(snapshot: Snapshot) -> Callable[[Planned], Change | None]:
        found.clear()
        index = creation.context.cluster.index
        expected = Expected(creation.context.usage.at(snapshot, index))

        def decide(each: Planned) -> Change | None:
            entry = reserved(snapshot, each)
            found[each.spelled] = against = over_limits(creation, each, expected, listed)
            return None if enforced(against) else entry

        return decide

    try:
        refused = await commit(creation.context, wanted, decide_all)
    except OSError as error:
        refused = dict.fromkeys(wanted, unavailable(error))
    for spelled, against in found.items():
        why = verdict(creation, wanted[spelled], against)
        if why is not None and spelled not in refused:
            creation.refuse(spelled, why)
    for spelled, why in refused.items():
        creation.answer(spelled, why)


def over_limits(
    creation: Creation, planned: Planned, expected: Expected, listed: int
) -> list[Violation]:
    """The limits that a topic is too many for; if it is not, it is ``expected`` from now on.

    Pure, since it may be asked more than once of one decision. Raises :class:`Refused` when the
    topics were listed too long ago to be counted by.
    """
    context, namespace = creation.context, planned.name.namespace
    partitions = 0 if planned.entry is None else planned.entry.counted
    if not partitions or not context.judge.counts(namespace):
        return []
    if context.clock() - listed > LISTING_HOLDS:
        raise Refused.of(try_again("It took too long until the topics could be counted"))
    policies, name = context.judge.policies, str(planned.name)
    found = over(policies, expected, name, namespace, topics=1, partitions=partitions)
    found += nearly_over(policies, expected, name, namespace, topics=1, partitions=partitions)
    if not enforced(found):
        expected.add(namespace, partitions)
    return found


def verdict(creation: Creation, planned: Planned, found: Sequence[Violation]) -> Denied | None:
    """Why a topic is refused for what was found against it, once that is final."""
    principal = creation.access.principal
    name = planned.name
    return creation.context.judge.verdict(name.namespace, principal, found, str(name))


async def commit(
    context: Context,
    items: Mapping[str, Planned],
    decide_all: Callable[[Snapshot], Callable[[Planned], Change | None]],
) -> dict[str, Denied]:
    """Commit what is decided of each, in one decision; why of those that are refused.

    ``decide_all`` begins a decision and gives what decides each. When there is nothing to write
    the catalog is read to its end all the same. Raises OSError.
    """
    refused: dict[str, Denied] = {}

    def decide(snapshot: Snapshot) -> list[Change]:
        refused.clear()
        changes = []
        decide_one = decide_all(snapshot)
        for spelled, each in items.items():
            try:
                change = decide_one(each)
            except Refused as why:
                refused[spelled] = why.why
                continue
            if change is not None:
                changes.append(change)
        return changes

    if not decide(context.catalog.snapshot):
        await context.catalog.refresh()
        if not decide(context.catalog.snapshot):
            return refused
    await context.catalog.change(decide)
    return refused


async def take_back(context: Context, ids: Mapping[str, bytes | None]) -> None:
    """Delete topics that were just made: nobody has been told of them."""
    try:
        outcomes = await delete_at_broker(context, ids)
    except OSError as error:
        log.warning("topics %s could not be taken back: %s", ", ".join(ids), error)
        return
    for flat, outcome in outcomes.items():
        if not outcome.gone:
            log.warning("topic %r could not be taken back: error %d", flat, outcome.code)


async def drop_reservations(context: Context, planned: Iterable[Planned]) -> None:
    """Remove the entries of topics that were not made; those that stay are removed in time. Of a
    topic that had been made before there is its former entry again."""
    former = {each.entry: each.before for each in planned if each.reserve and each.entry}

    def present(snapshot: Snapshot) -> list[Change]:
        held = snapshot.topics
        return [
            Removal(key_of(entry)) if before is None or before.creating else before
            for entry, before in former.items()
            if held.get(entry.flat) == entry
        ]

    error = await context.tidy(present)
    if error is not None:
        log.warning("entries of topics that were not made stay for a while: %s", error)
