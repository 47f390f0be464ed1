"""CreatePartitions (KIP-195) where policies have a say in topics.

As with CreateTopics: the broker validates first, then policies are asked about the topic as it
would be, then counted limits are decided in the catalog writer's turn, where the topic's entry
says what it counts with from then on, and then the broker makes the partitions. Topics without
policies have such an entry, too: they could be moved to where there are some, before they grow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.changes.base.batch import Answered
from gateway.changes.base.broker import broker_time
from gateway.changes.base.context import Context
from gateway.changes.base.refused import (
    MAX_CHANGES,
    TOO_MANY_CHANGES,
    UNANSWERED,
    UNAVAILABLE,
    Refused,
    called,
    unavailable,
)
from gateway.changes.base.resources import TopicResource, in_logical_names, renewed
from gateway.changes.judging.judged_configs import NOT_TOLD
from gateway.changes.judging.topic_facts import Asker, TopicFacts, read_facts
from gateway.changes.topics.partition_limits import (
    Growth,
    Reserved,
    over_limits,
    reserve,
    take_back,
)
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, REQUEST_TIMED_OUT
from gateway.rules.asked_topics import twice
from gateway.rules.nested import element_class, make
from gateway.views.access import ALTER, Access
from protocol import messages
from protocol.pausing import paced

_NEWEST: Final = 3


@dataclass(slots=True)
class _Request:
    """A request on its way. ``left`` are the topics that go on, by flat name: what is asked of
    each. ``names`` are the client's of all that were let in; ``answers`` are by these, None for
    what is done; ``twins`` maps a second spelling to the first; ``denied`` is what rules refuse."""

    context: Context
    access: Access
    request: Any
    left: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Denied | None] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)
    denied: dict[str, Denied] = field(default_factory=dict)

    def answer(self, flat: str, why: Denied | None) -> None:
        """It goes no further."""
        self.answers[self.left.pop(flat).name] = why

    def refuse(self, flat: str, why: Denied) -> None:
        """A rule says no, which is told to the audit log."""
        self.denied[self.left[flat].name] = why
        self.answer(flat, why)


async def create_partitions(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """A whole CreatePartitions request (the client's names) to its whole response.

    Raises ProtocolError for a body that cannot be read.
    """
    request = messages.parse("CreatePartitionsRequest", version, body)
    if len(request.topics) > MAX_CHANGES:
        why = TOO_MANY_CHANGES
        return Answered(_response(version, {topic.name: why for topic in paced(request.topics)}))
    try:
        access = access.over(await renewed(context, access.view))
    except OSError as error:
        why = unavailable(error)
        return Answered(_response(version, {topic.name: why for topic in request.topics}))
    asked = _Request(context, access, request)
    _read(asked)
    if request.validate_only:
        await _ask_broker(asked, list(asked.left), validate_only=True)
        await _judge(asked)
        for flat in list(asked.left):
            asked.answer(flat, None)
    else:
        await _ask_broker(asked, list(asked.left), validate_only=True)
        reserved = await _judge(asked)
        await _ask_broker(asked, list(asked.left), validate_only=False)
        await _settle(asked, reserved)
    for second, first in asked.twins.items():
        asked.answers[second] = asked.answers[first]
    names = dict.fromkeys(topic.name for topic in paced(request.topics))
    return Answered(_response(version, {name: asked.answers[name] for name in names}), asked.denied)


def _read(asked: _Request) -> None:
    """What is asked of which topic, as far as it may be."""
    counts = Counter(topic.name for topic in paced(asked.request.topics))
    for topic in paced(asked.request.topics):
        name = topic.name
        if counts[name] > 1:
            asked.answers[name] = Denied(INVALID_REQUEST, "Duplicate topic name.", "request")
            continue
        found = asked.access.topic(ALTER, name.encode())
        if isinstance(found, Denied):
            asked.answers[name] = asked.denied[name] = found
            continue
        first = asked.left.setdefault(found.flat.decode(), topic)
        if first is topic:
            asked.names[found.flat.decode()] = name
        elif (first.count, first.assignments) == (topic.count, topic.assignments):
            asked.twins[name] = first.name
        else:
            asked.answers[name] = twice(name, first.name)


def _judged(asked: _Request) -> list[str]:
    owner, applies = asked.access.view.snapshot.owner, asked.context.judge.applies
    return [flat for flat in asked.left if applies(owner(flat).namespace)]


async def _ask_broker(asked: _Request, flats: Iterable[str], *, validate_only: bool) -> None:
    """Have the broker validate, or make, what is asked of these topics. What it does not take is
    answered, and so is what is made."""
    waiting = dict.fromkeys(flats)
    if not waiting:
        return

    def request(cls: type) -> Any:
        topics = tuple(
            _broker_topic(element_class(cls, "topics"), flat, asked.left[flat]) for flat in waiting
        )
        values = {"topics": topics, "timeout": broker_time(asked.request.timeout)}
        return make(cls, {**values, "validate_only": validate_only})

    try:
        answer = await asked.context.admin.ask(
            "CreatePartitionsRequest", request, at_most=_NEWEST, changes=not validate_only
        )
    except OSError as error:
        for flat in waiting:
            asked.answer(flat, unavailable(error))
        return
    for result in paced(answer.results):
        flat = result.name
        if flat not in waiting:
            continue
        del waiting[flat]
        if result.error_code:
            topic = TopicResource(asked.left[flat].name, flat)
            why = Denied(int(result.error_code), result.error_message or "", "broker")
            asked.answer(flat, in_logical_names(asked.access.view, why, topic))
        elif not validate_only:
            asked.answer(flat, None)
    for flat in waiting:
        asked.answer(flat, UNANSWERED)


def _broker_topic(cls: type, flat: str, topic: Any) -> Any:
    assignments = None
    if topic.assignments is not None:
        assignment = element_class(cls, "assignments")
        assignments = tuple(
            make(assignment, {"broker_ids": a.broker_ids}) for a in topic.assignments
        )
    return make(cls, {"name": flat, "count": topic.count, "assignments": assignments})


async def _judge(asked: _Request) -> list[Reserved]:
    """Refuse what a policy does not allow; the others are in the catalog then, unless nothing is
    to be made."""
    context = asked.context
    listed = context.clock()
    await _ask_policies(asked, _judged(asked))
    owner = asked.access.view.snapshot.owner
    growing = [Growth(flat, owner(flat), int(one.count)) for flat, one in asked.left.items()]
    principal = asked.access.principal
    reserved: list[Reserved] = []
    try:
        if asked.request.validate_only:
            refused = over_limits(context, context.catalog.snapshot, growing, principal, listed)
        else:
            reserved, refused = await reserve(context, growing, principal, listed)
    except OSError as error:
        refused = dict.fromkeys((growth.flat for growth in growing), unavailable(error))
    for flat, denied in refused.items():
        if denied.rule == UNAVAILABLE:
            asked.answer(flat, denied)
        else:
            asked.refuse(flat, _told(asked, flat, denied))
    return reserved


async def _ask_policies(asked: _Request, flats: Sequence[str]) -> None:
    """Refuse what they do not allow of these topics; the cluster is listed then."""
    if not flats:
        return
    try:
        await asked.context.cluster.refresh()
        facts = await read_facts(asked.context, flats)
    except (OSError, Refused) as error:
        why = error.why if isinstance(error, Refused) else unavailable(error)
        for flat in flats:
            asked.answer(flat, why)
        return
    for flat in flats:
        if flat not in facts:
            asked.answer(flat, NOT_TOLD)
            continue
        denied = await _why_not(asked, facts[flat])
        if denied is not None:
            asked.refuse(flat, denied)


async def _why_not(asked: _Request, facts: TopicFacts) -> Denied | None:
    """What policies have against the topic as it would be."""
    view, topic = asked.access.view, asked.left[facts.flat]
    assigned = [tuple(map(int, each.broker_ids)) for each in topic.assignments or ()]
    asker = Asker(asked.context, asked.access.principal, view.snapshot)
    name, own = view.snapshot.owner(facts.flat), facts.own(view.snapshot)
    try:
        layout = facts.grown(int(topic.count), assigned)
    except Refused as refused:
        return refused.why
    why = await asked.context.judge.why_not(asker.about(facts, name, own, layout=layout))
    return None if why is None else _told(asked, facts.flat, why)


def _told(asked: _Request, flat: str, why: Denied) -> Denied:
    """A refusal as the client is told of it."""
    view, spelled = asked.access.view, asked.left[flat].name
    if view.spell(flat.encode()) is not None:
        return called(why, str(view.snapshot.owner(flat)), spelled)
    # Whoever knows an alias alone is not told by it where the topic is now.
    text = f"The policies of where topic '{spelled}' is now do not allow that."
    return replace(why, message=text)


async def _settle(asked: _Request, reserved: Iterable[Reserved]) -> None:
    """What the broker has refused in the end does not count. What it did not answer may be made
    yet: that counts until listings tell."""
    refused = []
    for one in reserved:
        why = asked.answers[asked.names[one.growth.flat]]
        if why is not None and why.code != REQUEST_TIMED_OUT:
            refused.append(one)
    if refused:
        await take_back(asked.context, refused)


def _response(version: int, answers: Mapping[str, Denied | None]) -> bytes:
    cls = messages.message_class("CreatePartitionsResponse", version)
    result_class = element_class(cls, "results")
    results: tuple[Any, ...] = tuple(
        make(
            result_class,
            {
                "name": name,
                "error_code": 0 if why is None else why.code,
                "error_message": None if why is None else why.message,
            },
        )
        for name, why in answers.items()
    )
    return messages.write(make(cls, {"results": results}))
