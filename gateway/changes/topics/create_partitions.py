"""CreatePartitions (KIP-195) where policies have a say in topics.

As with CreateTopics: the broker validates first, then policies are asked about the topic as it
would be, then counted limits are decided in the catalog writer's turn, where the topic's entry
says what it counts with from then on, and then the broker makes the partitions. Topics without
policies have such an entry, too: they could be moved to where there are some, before they grow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.changes.base.batch import Answered, Batch, error_fields, write_response
from gateway.changes.base.broker import ask_of_each, broker_time
from gateway.changes.base.context import Context
from gateway.changes.base.refused import (
    BROKER,
    MAX_CHANGES,
    TOO_MANY_CHANGES,
    UNAVAILABLE,
    Refused,
    called,
    unavailable,
)
from gateway.changes.base.resources import TopicResource, in_logical_names
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
from gateway.rules.topic_entries import second_spelling
from gateway.views.access import ALTER, Access
from protocol import messages
from protocol.messages import Request
from protocol.pausing import eased, paced

_NEWEST: Final = 3


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic, stored as ``flat``, that is to grow as it is ``asked`` in the request."""

    flat: str
    asked: Any


@dataclass(slots=True, kw_only=True)
class _Batch(Batch[str, _Topic, None]):
    """One request on its way; the answer None: it is done."""

    request: Any

    def broker_request(self, *, validate_only: bool) -> Request:
        """What the broker is asked for the topics that are left."""
        values = {
            "topics": [_broker_topic(each) for each in paced(self.left.values())],
            "timeout": broker_time(self.request.timeout),
            "validate_only": validate_only,
        }
        return Request("CreatePartitionsRequest", _NEWEST, values)


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
        batch.end(TOO_MANY_CHANGES)
    else:
        try:
            await batch.renew()
        except OSError as error:
            batch.end(unavailable(error))
        else:
            _read(batch, counts)
            await _create(batch)
    entries = ({"name": name, **error_fields(answer)} for name, answer in batch.results())
    body = write_response("CreatePartitionsResponse", version, "results", entries)
    return Answered(body, batch.denied)


async def _create(batch: _Batch) -> None:
    await _ask_broker(batch, validate_only=True)
    reserved = await _judge(batch)
    if batch.request.validate_only:
        for name in list(batch.left):
            batch.answer(name, None)
        return
    names = {each.flat: name for name, each in batch.left.items()}
    await _ask_broker(batch, validate_only=False)
    # What the broker has rejected in the end does not count. What it did not answer may be made
    # yet: that counts until listings tell.
    answers = ((one, batch.answers[names[one.growth.flat]]) for one in reserved)
    refused = [one for one, why in answers if why is not None and why.code != REQUEST_TIMED_OUT]
    if refused:
        await take_back(batch.context, refused)


def _read(batch: _Batch, counts: Mapping[str, int]) -> None:
    """What is to become of which topic, as far as it may be; ``counts`` tells how often the request
    has each name."""
    firsts: dict[str, Any] = {}
    for topic in paced(batch.request.topics):
        name = topic.name
        if counts[name] > 1:
            batch.answer(name, Denied(INVALID_REQUEST, "Duplicate topic name.", "request"))
            continue
        found = batch.access.topic(ALTER, name.encode())
        if isinstance(found, Denied):
            batch.deny(name, found)
            continue
        flat = found.flat.decode()
        first = firsts.setdefault(flat, topic)
        if first is topic:
            batch.left[name] = _Topic(flat, topic)
        elif (first.count, first.assignments) == (topic.count, topic.assignments):
            batch.twins[name] = first.name
        else:
            batch.answer(name, second_spelling(name, first.name))


async def _ask_broker(batch: _Batch, *, validate_only: bool) -> None:
    """Have the broker validate, or make, what is left. What it does not take is answered, and so is
    what is made."""
    names = {each.flat: name for name, each in batch.left.items()}
    if not names:
        return
    request = batch.broker_request(validate_only=validate_only)
    told = await ask_of_each(batch.context, request, names, "results", changes=not validate_only)
    for flat, result in paced(told.items()):
        name = names[flat]
        if not isinstance(result, Denied):
            if not validate_only:
                batch.answer(name, None)
        elif result.rule == BROKER:
            batch.answer(name, in_logical_names(batch.view, result, TopicResource(name, flat)))
        else:
            batch.answer(name, result)


def _broker_topic(topic: _Topic) -> dict[str, object]:
    asked, assignments = topic.asked, None
    if asked.assignments is not None:
        assignments = [{"broker_ids": one.broker_ids} for one in eased(asked.assignments)]
    return {"name": topic.flat, "count": asked.count, "assignments": assignments}


async def _judge(batch: _Batch) -> list[Reserved]:
    """Reject what a policy does not allow; the others are in the catalog then, unless nothing is
    to be made."""
    context, owner = batch.context, batch.view.snapshot.owner
    listed = context.clock()
    await _ask_policies(batch)
    names = {each.flat: name for name, each in batch.left.items()}
    growing = [
        Growth(each.flat, owner(each.flat), int(each.asked.count)) for each in batch.left.values()
    ]
    principal = batch.access.principal
    reserved: list[Reserved] = []
    try:
        if batch.request.validate_only:
            refused = over_limits(context, context.catalog.snapshot, growing, principal, listed)
        else:
            reserved, refused = await reserve(context, growing, principal, listed)
    except OSError as error:
        refused = dict.fromkeys(names, unavailable(error))
    for flat, denied in refused.items():
        name = names[flat]
        if denied.rule == UNAVAILABLE:
            batch.answer(name, denied)
        else:
            batch.deny(name, _told(batch, name, flat, denied))
    return reserved


async def _ask_policies(batch: _Batch) -> None:
    """Reject what policies do not allow of the topics that they apply to; the cluster is listed
    then."""
    owner, applies = batch.view.snapshot.owner, batch.context.judge.applies
    judged = {
        name: each.flat for name, each in batch.left.items() if applies(owner(each.flat).namespace)
    }
    if not judged:
        return
    try:
        await batch.context.cluster.refresh()
        facts = await read_facts(batch.context, list(judged.values()))
    except (OSError, Refused) as error:
        why = error.why if isinstance(error, Refused) else unavailable(error)
        batch.end(why, judged)
        return
    for name, flat in judged.items():
        if flat not in facts:
            batch.answer(name, NOT_TOLD)
            continue
        denied = await _why_not(batch, name, facts[flat])
        if denied is not None:
            batch.deny(name, denied)


async def _why_not(batch: _Batch, name: str, facts: TopicFacts) -> Denied | None:
    """What policies have against the topic as it would be."""
    snapshot, topic = batch.view.snapshot, batch.left[name].asked
    assigned = [tuple(map(int, each.broker_ids)) for each in topic.assignments or ()]
    asker = Asker(batch.context, batch.access.principal, snapshot)
    try:
        layout = facts.grown(int(topic.count), assigned)
    except Refused as refused:
        return refused.why
    full_name, own = snapshot.owner(facts.flat), facts.own(snapshot)
    why = await batch.context.judge.why_not(asker.about(facts, full_name, own, layout=layout))
    return None if why is None else _told(batch, name, facts.flat, why)


def _told(batch: _Batch, spelled: str, flat: str, why: Denied) -> Denied:
    """A rejection as the client is told of it."""
    view = batch.view
    if view.spell(flat.encode()) is not None:
        return called(why, str(view.snapshot.owner(flat)), spelled)
    # Whoever knows an alias alone is not told by it where the topic is now.
    text = f"The policies of where topic '{spelled}' is now do not allow that."
    return replace(why, message=text)
