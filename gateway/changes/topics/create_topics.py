"""CreateTopics for namespaces and the topics in them.

The order of steps makes this safe. Policies judge before any step. A topic whose flat name is not
its natural flat name, or that limits count, gets its catalog entry first. Then the broker creates
the topics; it decides which of two creations of a name is first. Then the catalog is read again, or
written. If a namespace was marked for deletion before that, the mark is seen, and the topic is
rolled back; if it is marked later, its deletion finds the topic in its listing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from gateway.catalog.entities import Change, Removal, TopicEntry, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import delete_at_broker
from gateway.changes.base.context import Answered, Context
from gateway.changes.base.rejected import Rejected, too_many_partitions, try_again, unavailable
from gateway.changes.base.usage import Expected
from gateway.changes.namespaces.create_namespaces import create_namespace
from gateway.changes.topics.create_plan import Planned, dangling, plan, reserved, settled
from gateway.changes.topics.creation import (
    Answer,
    Creation,
    are_alike,
    ask_broker,
    contradiction,
    judge,
    over_limits,
    response,
    verdict,
)
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, REQUEST_TIMED_OUT
from gateway.names import InvalidName, LogicalName
from gateway.policies.violation import Violation, enforced
from gateway.views.access import Access
from protocol import messages
from protocol.pausing import paced

log = logging.getLogger(__name__)

AT_ONCE: Final = 100
"""Namespaces of one request that are created together."""

_RELOADED: Final = try_again("The policies have just changed")
"""For a topic that limits count now, but did not count when it was judged."""


async def create_topics(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """The whole response to a whole CreateTopics request (v2 and later), in the client's names.

    Raises ProtocolError for a body that cannot be read.
    """
    request = messages.parse("CreateTopicsRequest", version, body)
    counts = Counter(topic.name for topic in paced(request.topics))
    creation = Creation(context, access, counts, request=request)
    too_many = too_many_partitions(request.topics)
    if too_many is not None:
        creation.reject(too_many)
    else:
        try:
            await context.catalog.refresh()
        except OSError as error:
            creation.reject(unavailable(error))
        else:
            await _create(creation, counts)
    return creation.answered(response(version, creation.results()))


async def _create(creation: Creation, counts: Mapping[str, int]) -> None:
    """Answer all topics and namespaces. ``counts``: how often the request has each name."""
    validate_only = creation.request.validate_only
    creation.follow_catalog()
    for name, count in paced(counts.items()):
        if count > 1:
            creation.answer(name, Denied(INVALID_REQUEST, "Duplicate topic name.", "request"))
    creation.check_acls()
    await _create_namespaces(creation)
    creation.follow_catalog()
    creation.check_acls()
    _plan(creation)
    listed = await judge(creation)
    if not validate_only:
        await _reserve(creation, listed)
    sent = dict(creation.left)
    made = await ask_broker(creation, sent.values(), validate_only=validate_only)
    for spelled, result in paced(made.items()):
        creation.accept(spelled, result)
    if not validate_only:
        await _settle(creation, sent, made)


async def _create_namespaces(creation: Creation) -> None:
    wanted: dict[str, Any] = {}
    for topic in paced(creation.request.topics):
        if not creation.view.ends_as_namespace(topic.name) or topic.name in creation.answers:
            continue
        try:
            path = creation.view.namespace_named(topic.name)
        except InvalidName as error:
            why = Denied(INVALID_TOPIC_EXCEPTION, f"{error}.", "names")
            creation.answer(topic.name, why)
            continue
        assert path is not None
        first = wanted.setdefault(path, topic)
        if first is not topic:
            _note_twin(creation, first, topic, alike=first.configs == topic.configs)
    left = [(topic, path) for path, topic in wanted.items() if topic.name not in creation.answers]
    # They share one transaction, and are decided in the order of the request.
    for start in range(0, len(left), AT_ONCE):
        together = left[start : start + AT_ONCE]
        await asyncio.gather(*(_create_namespace(creation, *each) for each in together))


async def _create_namespace(creation: Creation, topic: Any, path: str) -> None:
    context, access = creation.context, creation.access
    validate_only = creation.request.validate_only
    try:
        answer: Answer = await create_namespace(
            context, access, path, topic, validate_only=validate_only
        )
    except Rejected as rejected:
        answer = rejected.why
    except OSError as error:
        answer = unavailable(error)
    creation.answer(topic.name, answer)


def _plan(creation: Creation) -> None:
    """Plan how every topic is stored, on the view's snapshot."""
    index, now = creation.context.cluster.index, creation.context.clock()
    firsts: dict[LogicalName, Any] = {}
    for topic in paced(creation.request.topics):
        spelled = topic.name
        if not creation.is_open(spelled):
            continue
        try:
            planned = plan(creation.view, topic, now, lambda flat: index.exists(flat.encode()))
        except Rejected as rejected:
            creation.answer(spelled, rejected.why)
            continue
        first = firsts.setdefault(planned.name, topic)
        if first is topic:
            creation.left[spelled] = planned
        else:
            _note_twin(creation, first, topic, alike=are_alike(first, topic))


def _note_twin(creation: Creation, first: Any, second: Any, *, alike: bool) -> None:
    if alike and first.name not in creation.answers:
        creation.twins[second.name] = first.name
        return
    why = contradiction(first.name, second.name)
    for name in (first.name, *(two for two, one in creation.twins.items() if one == first.name)):
        creation.answer(name, why)
        creation.twins.pop(name, None)
    creation.answer(second.name, why)


# -- the catalog -----------------------------------------------------------------------------------

DecideOne = Callable[[Planned], Iterable[Change | None]]


async def _reserve(creation: Creation, listed: int) -> None:
    """Commit the entries of topics that need an entry before they are created: topics with a fresh
    flat name, and topics that limits count, which the catalog's writer checks.

    ``listed``: when the cluster was listed, in milliseconds since the epoch. Rejected topics are
    answered.
    """
    policies = creation.context.judge
    for spelled, each in list(creation.left.items()):
        counted = each.entry is not None and each.reserve and each.entry.counted
        if not counted and policies.counts(each.name.namespace):
            creation.answer(spelled, _RELOADED)
    wanted = {spelled: each for spelled, each in creation.left.items() if each.reserve}
    if not wanted:
        return
    found: dict[str, list[Violation]] = {}

    def begin(snapshot: Snapshot) -> DecideOne:
        found.clear()
        index = creation.context.cluster.index
        expected = Expected(creation.context.usage.at(snapshot, index))

        def decide(each: Planned) -> Iterable[Change | None]:
            entry = reserved(snapshot, each)
            found[each.spelled] = against = over_limits(creation, each, expected, listed)
            return () if enforced(against) else (entry,)

        return decide

    try:
        rejected = await _commit_each(creation.context, wanted, begin)
    except OSError as error:
        rejected = dict.fromkeys(wanted, unavailable(error))
    for spelled, against in found.items():
        why = verdict(creation, wanted[spelled], against)
        if why is not None and spelled not in rejected:
            creation.deny_by_policy(spelled, why)
    for spelled, why in rejected.items():
        creation.answer(spelled, why)


async def _settle(creation: Creation, sent: Mapping[str, Planned], made: Mapping[str, Any]) -> None:
    """Commit the topics that the broker was ``sent`` and has created to the catalog, and roll back
    topics that may not exist."""
    context = creation.context
    ids: dict[str, bytes | None] = {}
    for spelled, result in made.items():
        flat = sent[spelled].flat
        topic_id = getattr(result, "topic_id", None)  # from v7 on
        ids[flat] = None if topic_id is None else topic_id.bytes
        context.cluster.index.learn(flat.encode(), ids[flat])
    # After a timeout it is unknown whether the topic was created, so its entry stays.
    answers = {spelled: creation.answers[spelled] for spelled in sent if spelled not in made}
    await _drop_reservations(
        context,
        [
            sent[spelled]
            for spelled, answer in answers.items()
            if isinstance(answer, Denied) and answer.code != REQUEST_TIMED_OUT
        ],
    )
    checked = {spelled: sent[spelled] for spelled in made if sent[spelled].needs_check}
    if not checked:
        return
    now = context.clock()
    try:
        rejected = await _commit_each(
            context,
            checked,
            lambda newest: lambda each: (settled(newest, each, now), *dangling(newest, each)),
        )
    except OSError as error:
        # It is unknown whether the catalog has the topics, so the response does not confirm them.
        creation.reject(unavailable(error), checked)
        return
    creation.answers |= rejected
    if rejected:
        back = [checked[spelled] for spelled in rejected]
        await _roll_back(context, {each.flat: ids[each.flat] for each in back})
        await _drop_reservations(context, back)


async def _commit_each(
    context: Context, topics: Mapping[str, Planned], begin: Callable[[Snapshot], DecideOne]
) -> dict[str, Denied]:
    """Commit the changes of each topic, in one decision; returns the errors of rejected topics.

    ``begin`` begins a decision and returns the function that decides each topic. If there is no
    change to write, the catalog is read to its end all the same. Raises OSError.
    """
    rejected: dict[str, Denied] = {}

    def decide(snapshot: Snapshot) -> list[Change]:
        rejected.clear()
        changes: list[Change] = []
        decide_one = begin(snapshot)
        for spelled, each in topics.items():
            try:
                changes += filter(None, decide_one(each))
            except Rejected as error:
                rejected[spelled] = error.why
        return changes

    if not decide(context.catalog.snapshot):
        await context.catalog.refresh()
        if not decide(context.catalog.snapshot):
            return rejected
    await context.catalog.change(decide)
    return rejected


async def _roll_back(context: Context, ids: Mapping[str, bytes | None]) -> None:
    """Delete topics that were just created, and that no client has seen yet."""
    try:
        outcomes = await delete_at_broker(context, ids)
    except OSError as error:
        log.warning("topics %s were made and could not be deleted again: %s", ", ".join(ids), error)
        return
    for flat, outcome in outcomes.items():
        if not outcome.gone:
            log.warning(
                "topic %r was made and could not be deleted again: error %d", flat, outcome.code
            )


async def _drop_reservations(context: Context, planned: Iterable[Planned]) -> None:
    """Remove the entries of topics that were not created. If that fails, they expire. A topic that
    had been created before gets its former entry back."""
    former = {each.entry: each.before for each in planned if each.reserve and each.entry}

    def before(_: Snapshot, entry: TopicEntry) -> Change:
        found = former[entry]
        return Removal(key_of(entry)) if found is None or found.creating else found

    error = await context.roll_back(former, before)
    if error is not None:
        log.warning("entries of topics that were not made stay for a while: %s", error)
