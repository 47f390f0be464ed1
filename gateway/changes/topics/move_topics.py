"""Moving a topic as a client asks for it: decided by move.py, committed, and applied."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from gateway.acl_model import Resource, ResourceType
from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_moves import carried
from gateway.changes.base import admin_rights
from gateway.changes.base.broker import read_dynamic
from gateway.changes.base.context import ATTEMPTS, Context
from gateway.changes.base.refused import Refused, refuse_if, shown_topic
from gateway.changes.base.resources import moved_out
from gateway.changes.base.virtual_configs import Move, Release
from gateway.changes.inheritance.apply import apply_topic, within_patience
from gateway.changes.inheritance.inherited import Outdated, inherited, later, tiers
from gateway.changes.judging.judged_moves import Arrival, check_growth, check_limits, judge
from gateway.changes.topics.move import Known, Target, move, release
from gateway.changes.topics.moves_taken_back import Decided, Judged, judge_again, look_for_twin
from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import DELIMITER, InvalidName, LogicalName, encode
from gateway.views.access import Access
from gateway.views.view import View

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """One move of one request: ``name`` is the topic's in the client's spelling."""

    context: Context
    access: Access
    name: str
    wanted: Move | Release
    topic_id: bytes

    @property
    def view(self) -> View:
        return self.access.view


async def move_topic(
    context: Context,
    access: Access,
    name: str,
    wanted: Move | Release,
    validate_only: bool = False,
) -> None:
    """Move, adopt or release one topic; returns when it is done, but for configs that take long.

    Where it is done already, by a request before this one, nothing is. Raises :class:`Refused`
    and OSError.
    """
    asked = MoveRequest(context, access, name, wanted, uuid4().bytes)
    for _ in range(ATTEMPTS):
        await context.catalog.refresh()
        listed = context.clock()
        await context.cluster.refresh()
        try:
            flat = await _try_to_move(asked, listed, validate_only)
        except Outdated:
            continue
        if flat is not None:
            await within_patience(apply_topic(context, flat))
        return
    raise Refused(REQUEST_TIMED_OUT, f"Topic '{name}' keeps changing meanwhile; try again.")


async def _try_to_move(asked: MoveRequest, listed: int, validate_only: bool) -> str | None:
    """The flat name of what was moved; None: it was there, or was not to be. The cluster was
    ``listed`` then."""
    context = asked.context
    seen = context.catalog.snapshot
    flat = _source(asked, seen)
    if flat is None:
        return None
    dynamic = (await read_dynamic(context, [flat])).get(flat)
    if dynamic is None:
        raise Refused(UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{asked.name}' does not exist.")

    def exists(stored: str) -> bool:
        return context.cluster.index.exists(stored.encode())

    known = Known(dynamic, seen, exists, context.clock())
    judged = await _judge(asked, flat, known, listed)
    decided: list[Decided] = []

    def decide(newest: Snapshot) -> Sequence[Change]:
        decided.append(_decide(asked, newest, flat, known, judged))
        return decided[-1].changes

    if validate_only:
        decide(seen)
        return None
    await context.catalog.change(decide)
    former = seen.topics.get(flat)
    await look_for_twin(context, former, decided[-1])
    if judged is not None:
        await judge_again(context, asked.access.principal, judged, former, decided[-1])
    return flat


def _decide(
    asked: MoveRequest, newest: Snapshot, flat: str, known: Known, judged: Judged | None = None
) -> Decided:
    records = _records(asked, newest, flat, known)
    if not records:
        return Decided()
    (record,) = records
    name = record.name if isinstance(record, TopicEntry) else newest.spelled(flat)
    if judged is not None:
        record = _limited(asked, newest, judged, record, name)
    acls = carried(newest, newest.owner(flat), name)
    changes = [record] if acls is None else acls.around([record])
    return Decided(changes, record, acls, name)


async def _judge(asked: MoveRequest, flat: str, known: Known, listed: int) -> Judged | None:
    """Ask the policies of where the topic goes, if it may go there at all; None: there are none,
    or it is there already. Raises :class:`Refused`."""
    context = asked.context
    if not context.judge.policies.judges:
        return None
    name = _decide(asked, known.seen, flat, known).name
    if name is None:
        return None
    above = inherited(known.seen, name.namespace)
    arrival = Arrival(flat, name, above, shown_topic(asked.view, name))
    facts = await judge(context, asked.access.principal, known.seen, [arrival])
    return Judged(arrival, facts.get(flat), known.seen, listed)


def _limited(
    asked: MoveRequest, newest: Snapshot, judged: Judged, record: Change, name: LogicalName
) -> Change:
    """The record, by which the topic counts where it is limited how many there may be. Raises
    :class:`Refused`, and Outdated where it goes elsewhere by now."""
    context, arrival = asked.context, judged.arrival
    if name != arrival.name or tiers(newest, name.namespace) != tiers(judged.seen, name.namespace):
        raise Outdated
    moving = [(arrival, judged.partitions)]
    check_growth(newest, moving)
    check_limits(context, asked.access.principal, newest, moving, judged.listed)
    if not judged.partitions or not context.judge.counts(name.namespace):
        return record
    usage = context.usage.at(newest, context.cluster.index)
    counted = max(judged.partitions, usage.partitions_of(arrival.flat))
    if isinstance(record, TopicEntry):
        return replace(record, counted=counted)
    since = later(newest.topics.get(arrival.flat), context.clock())
    return TopicEntry(arrival.flat, name, since=since, counted=counted)


def _records(asked: MoveRequest, newest: Snapshot, flat: str, known: Known) -> Sequence[Change]:
    """The one record of the topic that is to be written; none where it is there already."""
    now_stored = _source(asked, newest)
    if now_stored is None:
        return ()
    if now_stored != flat:
        raise Outdated
    if isinstance(asked.wanted, Release):
        settings = asked.view.settings
        if settings.home and not settings.escape:
            raise Refused(
                INVALID_REQUEST,
                f"Releasing topic '{asked.name}' would take it out of namespace '{settings.home}'"
                " of this listener.",
            )
        _check_rights(asked, newest, newest.spelled(flat))
        return release(newest, flat, known)
    name = _target(asked, asked.wanted, newest, newest.owner(flat))
    _check_rights(asked, newest, name)
    return move(newest, flat, Target(name, asked.topic_id, asked.wanted.alias_until), known)


def _check_rights(asked: MoveRequest, newest: Snapshot, target: LogicalName) -> None:
    """Raise :class:`Refused` unless who asks may move the topic from where it is by now."""
    access = asked.access.over(View(asked.view.settings, newest))
    name = asked.name.encode()
    topic = access.topic_resource(name)
    if topic is not None and access.authorizes:
        goes_to = Resource(ResourceType.TOPIC, target.namespace, target.topic)
        refuse_if(admin_rights.move(access, name, topic, goes_to))


def _source(asked: MoveRequest, snapshot: Snapshot) -> str | None:
    """The flat name of the topic; None when it was moved there already.

    Raises :class:`Refused` when it does not exist, and when it is outside the client's view.
    """
    view = View(asked.view.settings, snapshot)
    found = view.resolve(asked.name.encode())
    if isinstance(found, Denied) or not asked.context.cluster.index.exists(found.flat):
        if _is_adopted(asked, view):
            return None
        missing = f"Topic '{asked.name}' does not exist."
        why = found if isinstance(found, Denied) else None
        raise Refused(UNKNOWN_TOPIC_OR_PARTITION, missing if why is None else why.message)
    flat = found.flat.decode()
    why = moved_out(view, asked.name, flat)
    if why is not None:
        raise Refused(why.code, why.message)
    return flat


def _is_adopted(asked: MoveRequest, view: View) -> bool:
    """Whether the topic that had this name as its flat one is where it is to go."""
    if isinstance(asked.wanted, Release):
        return False
    try:
        former = view.parse(asked.name)
        entry = view.snapshot.topics.get(encode(former))
    except InvalidName:
        return False
    target = _target(asked, asked.wanted, view.snapshot, former)
    return entry is not None and entry.name == target


def _target(
    asked: MoveRequest, wanted: Move, snapshot: Snapshot, present: LogicalName
) -> LogicalName:
    """The logical name to go to. Raises :class:`Refused` for what is outside the view."""
    view = View(asked.view.settings, snapshot)
    topic = present.topic if wanted.topic is None else wanted.topic
    settings = view.settings
    if wanted.namespace == DELIMITER and (settings.escape or not settings.home):
        return LogicalName("", topic)
    if not wanted.namespace:
        return LogicalName(settings.home, topic)
    try:
        namespace = view.namespace_named(wanted.namespace + DELIMITER)
    except InvalidName as error:
        raise Refused(INVALID_TOPIC_EXCEPTION, f"{error}.", "names") from None
    assert namespace is not None
    return LogicalName(namespace, topic)
