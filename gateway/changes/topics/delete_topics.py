"""DeleteTopics for namespaces and their topics: topics at the broker first, then the catalog.

Topics are deleted before namespaces are marked, so that a request may name both. An entry goes
once the broker has said that its topic is gone; a crash in between leaves one that says nothing
any more, and the next deletion or creation of the topic puts that right.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from gateway.catalog.entities import Change, Namespace, Removal, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base import admin_rights
from gateway.changes.base.batch import Answered, Batch, write_response
from gateway.changes.base.broker import Outcome, broker_time, delete_at_broker
from gateway.changes.base.context import Context
from gateway.changes.base.refused import unavailable
from gateway.changes.base.resources import NamespaceResource, TopicResource, moved_out, text_facts
from gateway.changes.namespaces import delete_namespaces
from gateway.changes.topics.create_plan import is_left_over
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_ID
from gateway.names import InvalidName
from gateway.rules.error_text import TextFacts, restored
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.pausing import paced

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TopicKey:
    """What a client names a topic by: its spelling or an id (16 bytes), seldom both or neither."""

    name: str | None
    topic_id: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    code: int = 0
    message: str | None = None
    name: str | None = None
    topic_id: bytes | None = None


class _Deletion(Batch[TopicKey, TopicResource | NamespaceResource, _Answer]):
    """One request on its way: what is left are topics and namespaces that are to be deleted."""

    @property
    def topics(self) -> dict[TopicKey, str]:
        """The flat names of the topics that are left."""
        left = paced(self.left.items())
        return {asked: what.flat for asked, what in left if isinstance(what, TopicResource)}

    @property
    def namespaces(self) -> dict[TopicKey, str]:
        """The paths of the namespaces that are left."""
        left = paced(self.left.items())
        return {asked: what.path for asked, what in left if isinstance(what, NamespaceResource)}


def _nobody(_: str) -> None:
    """No runner of background jobs is told."""


_UNKNOWN_ID: Final = Denied(UNKNOWN_TOPIC_ID, "There is no topic with this id.", "topic_id")


async def delete_topics(
    context: Context,
    access: Access,
    version: int,
    body: bytes,
    *,
    began: Callable[[str], None] = _nobody,
) -> Answered:
    """A whole DeleteTopics request (the client's names) to its whole response.

    ``began`` is told the path of every namespace that was marked. Raises ProtocolError for a body
    that cannot be read.
    """
    request = messages.parse("DeleteTopicsRequest", version, body)
    counts = Counter(paced(_asked(request)))
    deletion = _Deletion(context, access, counts)
    try:
        await context.catalog.refresh()
        deletion.look()
        await _sort(deletion, counts)
        _forbid(deletion)
    except OSError as error:
        deletion.end(unavailable(error))
    else:
        await _delete_topics(deletion, broker_time(request.timeout))
        await _delete_namespaces(deletion, began)
    # One entry for what the request names twice, as Kafka does.
    entries = (_entry(asked, answer) for asked, answer in deletion.results())
    body = write_response("DeleteTopicsResponse", version, "responses", entries)
    return Answered(body, deletion.denied)


def _forbid(deletion: _Deletion) -> None:
    """Reject what ACLs deny."""
    access, topics = deletion.access, deletion.topics
    wanted = [*topics, *deletion.namespaces]
    names = [asked.name.encode() for asked in paced(wanted) if asked.name is not None]
    by_name = admin_rights.deletions(access, names, deletion.context.cluster.index.names())
    for asked in paced(wanted):
        if asked.name is not None:
            why = by_name.get(asked.name.encode())
        else:
            why = admin_rights.deletion(access, access.flat_resource(topics[asked].encode()))
        if why is not None:
            deletion.deny(asked, why, asked.name or str(UUID(bytes=asked.topic_id)))


def _asked(request: Any) -> Iterator[TopicKey]:
    for name in paced(getattr(request, "topic_names", ())):
        yield TopicKey(name)
    for topic in paced(getattr(request, "topics", ())):
        yield TopicKey(topic.name, None if topic.topic_id is None else topic.topic_id.bytes)


async def _sort(deletion: _Deletion, counts: Mapping[TopicKey, int]) -> None:
    """Tell topics from namespaces, and reject what names neither or twice the same; ``counts``
    tells how often the request has each.

    Raises OSError when an id is not known and the cluster cannot be asked.
    """
    view, index = deletion.view, deletion.context.cluster.index
    ids = [asked.topic_id for asked in paced(counts) if asked.topic_id is not None]
    if any(view.flat_of_id(topic_id, index) is None for topic_id in paced(ids)):
        await deletion.context.cluster.refresh()
    firsts: dict[str, TopicKey] = {}
    for asked, count in paced(counts.items()):
        if count > 1:
            what = "id" if asked.name is None else "name"
            found: TopicResource | NamespaceResource | Denied = _invalid(f"Duplicate topic {what}.")
        elif asked.topic_id is None:
            found = _named(view, asked.name)
        elif asked.name is not None:
            found = _invalid("You may not specify both topic name and topic id.")
        else:
            flat = view.flat_of_id(asked.topic_id, index)
            found = _UNKNOWN_ID if flat is None else TopicResource("(by its id)", flat.decode())
        if isinstance(found, TopicResource):
            found = _why_not(view, asked, found, firsts) or found
        if isinstance(found, Denied):
            deletion.answer(asked, found)
        else:
            deletion.left[asked] = found


def _named(view: View, name: str | None) -> TopicResource | NamespaceResource | Denied:
    if name is None:
        return _invalid("Neither topic name nor id were specified.")
    try:
        path = view.namespace_named(name)
    except InvalidName as error:
        return Denied(INVALID_TOPIC_EXCEPTION, f"{error}.", "names")
    if path is not None:
        return NamespaceResource(name, path)
    found = view.resolve(name.encode())
    return found if isinstance(found, Denied) else TopicResource(name, found.flat.decode())


def _by_alias(view: View, asked: TopicKey, flat: str) -> Denied | None:
    """Why a topic is not deleted under a name it has only for clients that do not know better."""
    entry = view.snapshot.topics.get(flat)
    if entry is None:
        return None
    if asked.name is not None:
        former = view.parse(asked.name) != entry.name
    else:
        found = view.snapshot.by_topic_id(asked.topic_id or b"")
        former = entry.topic_id is not None if found is None else found[1] != entry.name
    if not former:
        return None
    present = view.spell(flat.encode())
    shown = str(entry.name) if present is None else present.decode()
    what = "This id" if asked.name is None else f"'{asked.name}'"
    return _invalid(f"{what} is an alias of topic '{shown}', which was moved; delete it as that.")


def _why_not(
    view: View, asked: TopicKey, topic: TopicResource, firsts: dict[str, TopicKey]
) -> Denied | None:
    """Why a topic may not be deleted so. It may be named under two spellings, but not by its name
    and by an id; ``firsts`` are the items that named a topic first, by flat name."""
    why = moved_out(view, topic.name, topic.flat) or _by_alias(view, asked, topic.flat)
    if why is not None:
        return why
    first = firsts.setdefault(topic.flat, asked)
    if first != asked and (first.name is None or asked.name is None):
        text = "The topic is already in this request, by its name or under another topic id."
        return _invalid(text)
    return None


async def _delete_topics(deletion: _Deletion, timeout: timedelta) -> None:
    context, view, topics = deletion.context, deletion.view, deletion.topics
    index, before = context.cluster.index, view.snapshot
    ids = {
        flat: None if asked.topic_id is None else view.id_to_broker(asked.topic_id, index)
        for asked, flat in paced(topics.items())
    }
    try:
        outcomes = await delete_at_broker(context, ids, timeout)
    except OSError as error:
        deletion.end(unavailable(error), topics)
        return
    facts = text_facts(view, {flat: asked.name for asked, flat in paced(topics.items())})
    for asked, flat in paced(topics.items()):
        deletion.answer(asked, _answer(view, asked, flat, outcomes[flat], facts))
    await _remove_entries(context, before, outcomes)


async def _remove_entries(context: Context, before: Snapshot, outcomes: dict[str, Outcome]) -> None:
    """Remove the entries of topics that are gone, unless they are somebody else's by now."""
    now = context.clock()

    def removals(snapshot: Snapshot) -> list[Change]:
        changes: list[Change] = []
        for flat, outcome in paced(outcomes.items()):
            entry = snapshot.topics.get(flat)
            if entry is None or entry != before.topics.get(flat) or not outcome.gone:
                continue
            # A topic that is about to be made is not there yet either.
            if not outcome.code or not entry.creating or is_left_over(entry, now):
                changes.append(Removal(key_of(entry)))
        return changes

    # The topics are gone, and that is what was asked for.
    error = await context.tidy(removals)
    if error is not None:
        log.warning("entries of deleted topics stay in the catalog: %s", error)


async def _delete_namespaces(deletion: _Deletion, began: Callable[[str], None]) -> None:
    namespaces = deletion.namespaces
    if not namespaces:
        return
    paths, now = set(namespaces.values()), deletion.context.clock()
    settings = deletion.view.settings
    decided = delete_namespaces.Deletion()

    def decide(snapshot: Snapshot) -> list[Namespace]:
        nonlocal decided
        access = deletion.access.over(View(settings, snapshot))
        decided = delete_namespaces.decide(access, paths, now)
        return decided.marked

    try:
        await deletion.context.catalog.change(decide)
    except OSError as error:
        deletion.end(unavailable(error), namespaces)
        return
    for asked, path in paced(namespaces.items()):
        deletion.answer(asked, decided.denied.get(path) or _Answer(name=asked.name))
    for namespace in decided.marked:
        began(namespace.path)


def _answer(view: View, asked: TopicKey, flat: str, outcome: Outcome, facts: TextFacts) -> _Answer:
    """What the broker says of a topic, under the name and the id that the client knows it by."""
    message = outcome.message
    if message is not None:
        message = restored(message.encode(), facts).decode()
    if asked.name is not None:
        spelled = asked.name.encode()
        topic_id = view.id_to_show(flat.encode(), spelled) or outcome.topic_id
        return _Answer(outcome.code, message, asked.name, topic_id)
    shown = None if outcome.code == UNKNOWN_TOPIC_ID else view.spell(flat.encode())
    name = None if shown is None else shown.decode()
    return _Answer(outcome.code, message, name, asked.topic_id)


def _entry(asked: TopicKey, answer: _Answer | Denied) -> dict[str, object]:
    if isinstance(answer, Denied):
        answer = _Answer(answer.code, answer.message, asked.name, asked.topic_id)
    return {
        "name": answer.name,
        "topic_id": None if answer.topic_id is None else UUID(bytes=answer.topic_id),
        "error_code": answer.code,
        "error_message": answer.message if answer.code else None,
    }


def _invalid(message: str) -> Denied:
    return Denied(INVALID_REQUEST, message, "request")
