"""CreatePartitions (KIP-195) for topics that are subject to policies.

As in CreateTopics, the broker validates first, then policies judge the topic as it would be, then
the catalog's writer checks counted limits, and then the broker creates the partitions. From that
check on the topic's entry records the number of partitions that limits count
(``TopicEntry.counted``), until listings of the cluster show it. Topics without policies have such
an entry, too: they could be moved to a namespace with policies before they grow.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import broker_time, query_allowed
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
    """A topic that is to get more partitions."""

    flat: str
    name: LogicalName
    total: int
    """The number of partitions that the topic is to have."""
    requested: Any = None
    """The topic's entry of the request."""


@dataclass(slots=True, kw_only=True)
class _Batch(Batch[str, Growth, None]):
    """One request; the answer None means that the item is done."""

    request: Any


async def create_partitions(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """The whole response to a whole CreatePartitions request, in the client's names.

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
    """Find the topics that may be altered. ``counts``: how often the request has each name."""
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
    await _ask_broker(batch, validate_only=False)
    # Topics that the broker has rejected do not count. If the broker did not respond, it may still
    # create the partitions, so they count until listings show them.
    answers = {flat: batch.answers[names[flat]] for flat in reserved}
    rejected = {
        flat
        for flat, why in answers.items()
        if why and (why is MOVED or why.code != REQUEST_TIMED_OUT)
    }
    if rejected:
        await roll_back(batch.context, {flat: reserved[flat] for flat in rejected})


async def _ask_broker(batch: _Batch, *, validate_only: bool) -> None:
    """Request the broker to validate, or to create, the partitions of the topics left. Topics that
    it rejects are answered, and so are topics whose partitions it creates."""
    names = {each.flat: name for name, each in batch.left.items()}
    if not names:
        return
    wanted = {each.flat: each.requested for each in paced(batch.left.values())}

    def about(flats: Sequence[str]) -> Request:
        values = {
            "topics": [_broker_topic(flat, wanted[flat]) for flat in paced(flats)],
            "timeout": broker_time(batch.request.timeout),
            "validate_only": validate_only,
        }
        return Request("CreatePartitionsRequest", _NEWEST, values)

    def why_not(flats: Collection[str]) -> Mapping[str, Denied]:
        return batch.why_not_now(ALTER, {flat: names[flat] for flat in flats})

    found = await query_allowed(
        batch.context, about, names, "results", why_not, changes=not validate_only
    )
    for flat, result in paced(found.items()):
        name = names[flat]
        if not isinstance(result, Denied):
            if not validate_only:
                batch.answer(name, None)
        else:
            batch.answer(name, in_logical_names(batch.access, result, TopicResource(name, flat)))


def _broker_topic(flat: str, requested: Any) -> dict[str, object]:
    assignments = requested.assignments
    if assignments is not None:
        assignments = [{"broker_ids": one.broker_ids} for one in eased(assignments)]
    return {"name": flat, "count": requested.count, "assignments": assignments}


# -- policies --------------------------------------------------------------------------------------


async def _judge(batch: _Batch) -> Reservations:
    """Reject topics that policies do not allow. Unless the request only validates, all other topics
    have entries in the catalog then."""
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
    """Reject the topics that policies do not allow. If any topic is subject to policies, the
    cluster is listed first."""
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
    # The message must not tell a client that knows only an alias where the topic is now.
    text = f"The policies of where topic '{spelled}' is now do not allow that."
    return replace(why, message=text)


# -- counted limits --------------------------------------------------------------------------------

Reservations = dict[str, tuple[TopicEntry, int]]
"""By flat name, the entry by which a topic counts with its growth, and the partitions that it
counted with before (0: its listed partitions)."""


def over_limits(
    context: Context,
    snapshot: Snapshot,
    growing: Iterable[Growth],
    principal: str,
    listed: int,
) -> dict[str, Denied]:
    """Why topics may not grow so on a state of the catalog, by flat name. They are decided in their
    order, each on top of the former ones. ``listed``: when the cluster was listed, in milliseconds
    since the epoch."""
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
    """Count topics with the partitions that they are to have, limited or not, because a move sees
    by the entry that its topic grows. Returns the reservations, and the errors of topics that may
    not grow. Raises OSError."""
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
    """Count topics that have not grown as before. If an entry has changed meanwhile, by another
    growth of its topic for example, it stays and expires."""
    former = dict(reserved.values())

    def before(newest: Snapshot, entry: TopicEntry) -> Change:
        since = later(entry, context.clock())
        return settled(newest, replace(entry, counted=former[entry], since=since))

    error = await context.roll_back(former, before)
    if error is not None:
        log.warning("partitions that were not made count for a while: %s", error)
