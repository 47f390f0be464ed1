"""CreateTopics for namespaces and the topics in them.

The order of steps is what makes it safe. Policies have their say before anything is done
(``judged_topics``). A topic that is stored elsewhere than its name says, or that is counted, is
reserved in the catalog first. Then the broker makes the topics: it decides who of two is first.
Then the catalog is read again, or written: a namespace that was marked for deletion before that is
seen, and the topic taken back; one that is marked after that finds the topic by its listing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from gateway.changes.base.batch import Answered
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused, too_many_partitions, unavailable
from gateway.changes.namespaces.namespace_creation import create_namespace
from gateway.changes.topics.create_plan import Planned, plan, settled
from gateway.changes.topics.creation import (
    Answer,
    Creation,
    are_alike,
    ask_broker,
    contradiction,
    have_like_configs,
    response,
)
from gateway.changes.topics.judged_topics import judge
from gateway.changes.topics.reservations import commit, drop_reservations, reserve, take_back
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, REQUEST_TIMED_OUT
from gateway.names import DELIMITER, InvalidName, LogicalName
from gateway.policies.judge import POLICIES
from gateway.views.access import Access
from protocol import messages
from protocol.pausing import paced

AT_ONCE: Final = 100
"""Namespaces of one request that are made together."""


async def create_topics(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """A whole CreateTopics request (v2 and later, the client's names) to its whole response.

    Raises ProtocolError for a body that cannot be read.
    """
    request = messages.parse("CreateTopicsRequest", version, body)
    counts = Counter(topic.name for topic in paced(request.topics))
    creation = Creation(context, access, counts, request=request)
    too_many = too_many_partitions(request.topics)
    if too_many is not None:
        creation.end(too_many)
    else:
        try:
            await context.catalog.refresh()
        except OSError as error:
            creation.end(unavailable(error))
        else:
            await _create(creation, counts)
    return Answered(response(version, creation.results()), creation.denied)


async def _create(creation: Creation, counts: Mapping[str, int]) -> None:
    """Answer all that a request asks for; ``counts`` tells how often it has each name."""
    validate_only = creation.request.validate_only
    creation.look()
    for name, count in paced(counts.items()):
        if count > 1:
            creation.answer(name, Denied(INVALID_REQUEST, "Duplicate topic name.", "request"))
    creation.forbid()
    await _create_namespaces(creation)
    creation.look()
    creation.forbid()
    _plan(creation)
    listed = await judge(creation)
    if not validate_only:
        await reserve(creation, listed)
    sent = dict(creation.left)
    made = await ask_broker(creation, sent.values(), validate_only=validate_only)
    for spelled, result in paced(made.items()):
        creation.accept(spelled, result)
    if not validate_only:
        await _settle(creation, sent, made)


async def _create_namespaces(creation: Creation) -> None:
    wanted: dict[str, Any] = {}
    for asked in paced(creation.request.topics):
        if not asked.name.endswith(DELIMITER) or asked.name in creation.answers:
            continue
        try:
            path = creation.view.namespace_named(asked.name)
        except InvalidName as error:
            why = Denied(INVALID_TOPIC_EXCEPTION, f"{error}.", "names")
            creation.answer(asked.name, why)
            continue
        assert path is not None
        first = wanted.setdefault(path, asked)
        if first is not asked:
            _note_twin(creation, first, asked, alike=have_like_configs(first, asked))
    open_ones = [
        (asked, path) for path, asked in wanted.items() if asked.name not in creation.answers
    ]
    # They wait for one transaction together, and are decided in the order they are asked for.
    for start in range(0, len(open_ones), AT_ONCE):
        together = open_ones[start : start + AT_ONCE]
        await asyncio.gather(*(_create_namespace(creation, *each) for each in together))


async def _create_namespace(creation: Creation, asked: Any, path: str) -> None:
    try:
        answer: Answer = await create_namespace(
            creation.context,
            creation.access,
            path,
            asked,
            validate_only=creation.request.validate_only,
        )
    except Refused as refused:
        answer = refused.why
        if refused.why.rule == POLICIES:
            creation.denied[asked.name] = refused.why
    except OSError as error:
        answer = unavailable(error)
    creation.answer(asked.name, answer)


def _plan(creation: Creation) -> None:
    """Decide where every topic goes, by the view's snapshot."""
    index, now = creation.context.cluster.index, creation.context.clock()
    firsts: dict[LogicalName, Any] = {}
    for asked in paced(creation.request.topics):
        spelled = asked.name
        if not creation.is_open(spelled):
            continue
        try:
            planned = plan(creation.view, asked, now, lambda flat: index.exists(flat.encode()))
        except Refused as refused:
            creation.answer(spelled, refused.why)
            continue
        first = firsts.setdefault(planned.name, asked)
        if first is asked:
            creation.left[spelled] = planned
        else:
            _note_twin(creation, first, asked, alike=are_alike(first, asked))


def _note_twin(creation: Creation, first: Any, second: Any, *, alike: bool) -> None:
    if alike and first.name not in creation.answers:
        creation.twins[second.name] = first.name
        return
    why = contradiction(first.name, second.name)
    for name in (first.name, *(two for two, one in creation.twins.items() if one == first.name)):
        creation.answer(name, why)
        creation.twins.pop(name, None)
    creation.answer(second.name, why)


async def _settle(creation: Creation, sent: Mapping[str, Planned], made: Mapping[str, Any]) -> None:
    """Say in the catalog what there is now of the topics that the broker was ``sent``, and take
    back what may not be there."""
    ids: dict[str, bytes | None] = {}
    for spelled, result in made.items():
        flat = sent[spelled].flat
        topic_id = getattr(result, "topic_id", None)  # from v7 on
        ids[flat] = None if topic_id is None else topic_id.bytes
        creation.context.cluster.index.learn(flat.encode(), ids[flat])
    refused_there = [
        each
        for spelled, each in sent.items()
        if spelled not in made and _is_final(creation.answers[spelled])
    ]
    await drop_reservations(creation.context, refused_there)
    checked = {s: sent[s] for s in made if sent[s].needs_check}
    if not checked:
        return
    now = creation.context.clock()
    try:
        refused = await commit(
            creation.context, checked, lambda newest: partial(settled, newest, now=now)
        )
    except OSError as error:
        # What the catalog says of them is not known, so they are not called made.
        creation.end(unavailable(error), checked)
        return
    creation.answers |= refused
    if refused:
        back = [checked[spelled] for spelled in refused]
        await take_back(creation.context, {each.flat: ids[each.flat] for each in back})
        await drop_reservations(creation.context, back)


def _is_final(answer: Answer) -> bool:
    """Whether the broker has refused for good: a timeout leaves open what became of it."""
    return isinstance(answer, Denied) and answer.code != REQUEST_TIMED_OUT
