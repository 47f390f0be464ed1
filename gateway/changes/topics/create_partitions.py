"""CreatePartitions (KIP-195) where policies apply to topics.

As with CreateTopics: the broker validates first, then policies judge the topic as it would be, then
counted limits are decided in the catalog writer's turn, and then the broker makes the partitions.
The topic's entry says what it counts with from the decision on (``TopicEntry.counted``), until
listings of the cluster show the same. Topics without policies have such an entry, too: they could
be moved to if there are some, before they grow.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import broker_time, query_each
from gateway.changes.base.context import (
    MOVED,
    Answered,
    Batch,
    Context,
    error_fields,
    write_response,
)
from gateway.changes.base.inherited import entry_for, later, settled
from gateway.changes.base.rejected import (
    MAX_CHANGES,
    TOO_MANY_CHANGES,
    UNAVAILABLE,
    Rejected,
    respelled,
    try_again,
    unavailable,
)
from gateway.changes.base.resources import TopicResource, in_logical_names
from gateway.changes.base.topic_policies import NOT_TOLD, Metadata, read_facts
from gateway.changes.base.usage import LISTING_HOLDS, Expected
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, REQUEST_TIMED_OUT
from gateway.names import LogicalName
from gateway.rules.topic_entries import second_spelling
from gateway.views.access import ALTER, Access
from protocol import messages
from protocol.messages import Request
from protocol.pausing import eased, paced

log = logging.getLogger(__name__)

_NEWEST: Final = 3
_LATE: Final = try_again("It took too long until the partitions could be counted")


@dataclass(frozen=True, slots=True)
class Growth:
    """A topic, stored as ``flat``, that is to have ``total`` partitions, as its entry of the
    request says, which is ``requested``."""

    flat: str
    name: LogicalName
    total: int
    requested: Any = None


@dataclass(slots=True, kw_only=True)
class _Batch(Batch[str, Growth, None]):
    """One request; the answer None: it is done."""

    request: Any


async def create_partitions(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """A whole CreatePartitions request (the client's names) to its whole response.

    Raises ProtocolError for a body that cannot be read.
    """
    request = messages.parse("CreatePartitionsRequest", version, body)
    counts = Counter(topic.name for topic in paced(request.topics))
    batch = _Batch(context, access, counts, request=request)
    if len(request.topics) > MAX_CHANGES:
        batch.reject(TOO_MANY_CHANGES)
    else:
        try:
            await batch.refresh()
        except OSError as error:
            batch.reject(unavailable(error))
        else:
            _read(batch, counts)
            await _create(batch)
    entries = ({"name": name, **error_fields(answer)} for name, answer in batch.results())
    body = write_response("CreatePartitionsResponse", version, "results", entries)
    return batch.answered(body)


def _read(batch: _Batch, counts: Mapping[str, int]) -> None:
    """Find the topics that may be altered; ``counts`` says how often the request has each name."""
    firsts: dict[str, Any] = {}
    owner = batch.view.snapshot.owner
    for topic in paced(batch.request.topics):
        name = topic.name
        if counts[name] > 1:
            batch.answer(name, Denied(INVALID_REQUEST, "Duplicate topic name.", "request"))
            continue
        found = batch.access.topic(ALTER, name.encode())
        if isinstance(found, Denied):
            batch.answer(name, found)
            continue
        flat = found.flat.decode()
        first = firsts.setdefault(flat, topic)
        if first is topic:
            batch.left[name] = Growth(flat, owner(flat), int(topic.count), topic)
        elif (first.count, first.assignments) == (topic.count, topic.assignments):
            batch.twins[name] = first.name
        else:
            batch.answer(name, second_spelling(name, first.name))


async def _create(batch: _Batch) -> None:
    await _ask_broker(batch, validate_only=True)
    reserved = await _judge(batch)
    if batch.request.validate_only:
        for name in list(batch.left):
            batch.answer(name, None)
        return
    names = {each.flat: name for name, each in batch.left.items()}
    # Noted before it is looked up what may be changed: no freeze comes in between.
    with batch.context.at_work.on(names):
        for flat, why in batch.why_not_now(ALTER, names).items():
            batch.answer(names[flat], why)
        await _ask_broker(batch, validate_only=False)
    # What the broker has rejected in the end does not count. What it did not answer may be made
    # yet: that counts until listings show it.
    answers = {flat: batch.answers[names[flat]] for flat in reserved}
    rejected = {
        flat
        for flat, why in answers.items()
        if why and (why is MOVED or why.code != REQUEST_TIMED_OUT)
    }
    if rejected:
        await roll_back(batch.context, {flat: reserved[flat] for flat in rejected})


async def _ask_broker(batch: _Batch, *, validate_only: bool) -> None:
    """Have the broker validate, or make, what is left. What it does not take is answered, and so is
    what is made."""
    names = {each.flat: name for name, each in batch.left.items()}
    if not names:
        return
    topics = [
        {
            "name": each.flat,
            "count": each.requested.count,
            "assignments": None
            if each.requested.assignments is None
            else [{"broker_ids": one.broker_ids} for one in eased(each.requested.assignments)],
        }
        for each in paced(batch.left.values())
    ]
    values = {
        "topics": topics,
        "timeout": broker_time(batch.request.timeout),
        "validate_only": validate_only,
    }
    request = Request("CreatePartitionsRequest", _NEWEST, values)
    found = await query_each(batch.context, request, names, "results", changes=not validate_only)
    for flat, result in paced(found.items()):
        name = names[flat]
        if not isinstance(result, Denied):
            if not validate_only:
                batch.answer(name, None)
        else:
            batch.answer(name, in_logical_names(batch.access, result, TopicResource(name, flat)))


# -- policies --------------------------------------------------------------------------------------


async def _judge(batch: _Batch) -> Reservations:
    """Reject what a policy does not allow; the others are in the catalog then, unless nothing is
    to be made."""
    context = batch.context
    listed = context.clock()
    await _check_policies(batch)
    names = {each.flat: name for name, each in batch.left.items()}
    growing = list(batch.left.values())
    principal = batch.access.principal
    reserved: Reservations = {}
    try:
        if batch.request.validate_only:
            denied = over_limits(context, context.catalog.snapshot, growing, principal, listed)
        else:
            reserved, denied = await reserve(context, growing, principal, listed)
    except OSError as error:
        denied = dict.fromkeys(names, unavailable(error))
    for flat, why in denied.items():
        name = names[flat]
        batch.answer(name, why if why.rule == UNAVAILABLE else _respelled(batch, name, flat, why))
    return reserved


async def _check_policies(batch: _Batch) -> None:
    """Reject what policies do not allow of the topics that they apply to; the cluster is listed
    then."""
    context = batch.context
    judged = {
        name: each.flat
        for name, each in batch.left.items()
        if context.judge.applies(each.name.namespace)
    }
    if not judged:
        return
    try:
        await context.cluster.refresh()
        facts = await read_facts(context, list(judged.values()))
    except (OSError, Rejected) as error:
        why = error.why if isinstance(error, Rejected) else unavailable(error)
        batch.reject(why, judged)
        return
    snapshot = batch.view.snapshot
    metadata = Metadata(context, batch.access.principal, snapshot)
    for name, flat in judged.items():
        known, growth = facts.get(flat), batch.left[name]
        if known is None:
            batch.answer(name, NOT_TOLD)
            continue
        assigned = [tuple(map(int, each.broker_ids)) for each in growth.requested.assignments or ()]
        try:
            layout = known.grown(growth.total, assigned)
        except Rejected as rejected:
            batch.answer(name, rejected.why)
            continue
        topic = metadata.of_topic(known, growth.name, known.own(snapshot), layout=layout)
        denied = await context.judge.why_not(topic)
        if denied is not None:
            batch.answer(name, _respelled(batch, name, flat, denied))


def _respelled(batch: _Batch, spelled: str, flat: str, why: Denied) -> Denied:
    """A policy's error in the client's names."""
    view = batch.view
    if view.spell(flat.encode()) is not None:
        return respelled(why, str(view.snapshot.owner(flat)), spelled)
    # A client that knows an alias alone does not learn by it where the topic is now.
    text = f"The policies of where topic '{spelled}' is now do not allow that."
    return replace(why, message=text)


# -- counted limits --------------------------------------------------------------------------------

Reservations = dict[str, tuple[TopicEntry, int]]
"""By flat name, the entry by which a topic counts with its growth, and the partitions that it
counted with before (0: those that are listed)."""


def over_limits(
    context: Context,
    snapshot: Snapshot,
    growing: Iterable[Growth],
    principal: str,
    listed: int,
) -> dict[str, Denied]:
    """Why topics may not grow so, by flat name, on a state of the catalog: one after the other, in
    their order. The cluster was ``listed`` then (milliseconds since the epoch)."""
    expected = Expected(context.usage.at(snapshot, context.cluster.index))
    denied: dict[str, Denied] = {}
    for growth in growing:
        flat, name = growth.flat, growth.name
        if context.clock() - listed > LISTING_HOLDS:
            why: Denied | None = _LATE
        elif snapshot.owner(flat) != name:
            why = MOVED
        else:
            more = expected.growth(flat, name, growth.total)
            why = context.judge.over_limit(
                expected, more, str(name), name.namespace, principal=principal
            )
        if why is not None:
            denied[flat] = why
        else:
            expected.expect(flat, name, growth.total)
    return denied


async def reserve(
    context: Context, growing: Sequence[Growth], principal: str, listed: int
) -> tuple[Reservations, dict[str, Denied]]:
    """Let topics count with what they are to have, limited or not: a move of one sees by it that
    it grows. And why of those that may not. Raises OSError."""
    denied: dict[str, Denied] = {}
    reserved: Reservations = {}

    def decide(newest: Snapshot) -> list[Change]:
        denied.clear()
        denied.update(over_limits(context, newest, growing, principal, listed))
        reserved.clear()
        for growth in growing:
            if growth.flat not in denied:
                entry = entry_for(newest, growth.flat, context.clock())
                counted = max(growth.total, entry.counted)
                counting = replace(entry, counted=counted, since=later(entry, context.clock()))
                reserved[growth.flat] = counting, entry.counted
        return [entry for entry, _ in reserved.values()]

    if growing:
        await context.catalog.change(decide)
    return reserved, denied


async def roll_back(context: Context, reserved: Reservations) -> None:
    """Let topics count as before again, which have not grown after all. What became of one
    meanwhile, another growth of it for example, may need what it counts with: that ends in time."""
    former = dict(reserved.values())

    def before(newest: Snapshot, entry: TopicEntry) -> Change:
        since = later(entry, context.clock())
        return settled(newest, replace(entry, counted=former[entry], since=since))

    error = await context.roll_back(former, before)
    if error is not None:
        log.warning("partitions that were not made count for a while: %s", error)
