"""DeleteTopics for namespaces and their topics: topics at the broker first, then the catalog.

Topics are deleted before namespaces are marked, so that a request may name both. An entry goes
once the broker has responded that its topic is gone; a crash in between leaves one without a topic,
which the next deletion or creation of the topic puts right.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from gateway.catalog.entities import Change, Link, Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base import admin_rights
from gateway.changes.base.broker import Outcome, broker_time, delete_at_broker
from gateway.changes.base.context import Answered, Batch, Context, write_response
from gateway.changes.base.inherited import removed_topic
from gateway.changes.base.rejected import unavailable
from gateway.changes.base.resources import NamespaceResource, TopicResource, moved_out, text_facts
from gateway.changes.namespaces import delete_namespaces
from gateway.changes.topics.create_plan import is_left_over
from gateway.changes.topics.links import removals, resource_of
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
    """A client's name of a topic: its spelling or an id (16 bytes), seldom both or neither."""

    name: str | None
    topic_id: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    code: int = 0
    message: str | None = None
    name: str | None = None
    topic_id: bytes | None = None


_Found = TopicResource | NamespaceResource | Link


class _Deletion(Batch[TopicKey, _Found, _Answer]):
    """One request: what is left are topics, links and namespaces that are to be deleted."""

    @property
    def topics(self) -> dict[TopicKey, str]:
        """The flat names of the topics that are left."""
        left = paced(self.left.items())
        return {key: what.flat for key, what in left if isinstance(what, TopicResource)}

    @property
    def links(self) -> dict[TopicKey, Link]:
        """The links that are left."""
        left = paced(self.left.items())
        return {key: what for key, what in left if isinstance(what, Link)}

    @property
    def namespaces(self) -> dict[TopicKey, str]:
        """The paths of the namespaces that are left."""
        left = paced(self.left.items())
        return {key: what.path for key, what in left if isinstance(what, NamespaceResource)}


_UNKNOWN_ID: Final = Denied(UNKNOWN_TOPIC_ID, "There is no topic with this id.", "topic_id")


async def delete_topics(
    context: Context,
    access: Access,
    version: int,
    body: bytes,
    *,
    marked: Callable[[str], None] | None = None,
) -> Answered:
    """A whole DeleteTopics request (the client's names) to its whole response.

    ``marked`` is called with the path of every namespace that was marked. Raises ProtocolError for
    a body that cannot be read.
    """
    request = messages.parse("DeleteTopicsRequest", version, body)
    counts = Counter(paced(_keys(request)))
    deletion = _Deletion(context, access, counts)
    try:
        await context.catalog.refresh()
        deletion.follow_catalog()
        await _read(deletion, counts)
        _check_acls(deletion)
    except OSError as error:
        deletion.reject(unavailable(error))
    else:
        await _delete_links(deletion)
        await _delete_topics(deletion, broker_time(request.timeout))
        for path in await _mark_namespaces(deletion):
            if marked is not None:
                marked(path)
    # One entry for what the request names twice, as Kafka does.
    entries = (_entry(key, answer) for key, answer in deletion.results())
    body = write_response("DeleteTopicsResponse", version, "responses", entries)
    return Answered(body, deletion.denied)


def _check_acls(deletion: _Deletion) -> None:
    """Reject what ACLs deny."""
    access, topics, links = deletion.access, deletion.topics, deletion.links
    wanted = [*topics, *links, *deletion.namespaces]
    names = [key.name.encode() for key in paced(wanted) if key.name is not None]
    by_name = admin_rights.deletions(access, names, deletion.context.cluster.index.names())
    for key in paced(wanted):
        if key.name is not None:
            why = by_name.get(key.name.encode())
        elif key in links:
            why = admin_rights.deletion(access, resource_of(links[key].name))
        else:
            why = admin_rights.deletion(access, access.flat_resource(topics[key].encode()))
        if why is not None:
            deletion.deny(key, why, key.name or str(UUID(bytes=key.topic_id)))


def _keys(request: Any) -> Iterator[TopicKey]:
    for name in paced(getattr(request, "topic_names", ())):
        yield TopicKey(name)
    for topic in paced(getattr(request, "topics", ())):
        yield TopicKey(topic.name, None if topic.topic_id is None else topic.topic_id.bytes)


async def _read(deletion: _Deletion, counts: Mapping[TopicKey, int]) -> None:
    """Find the topics and namespaces, and reject what names neither or the same twice; ``counts``
    says how often the request has each.

    Raises OSError when an id is not known and the cluster cannot be queried.
    """
    view, index = deletion.view, deletion.context.cluster.index
    ids = [key.topic_id for key in paced(counts) if key.topic_id is not None]
    if any(view.flat_of_id(topic_id, index) is None for topic_id in paced(ids)):
        await deletion.context.cluster.refresh()
    firsts: dict[str, TopicKey] = {}
    for key, count in paced(counts.items()):
        if count > 1:
            what = "id" if key.name is None else "name"
            found: _Found | Denied = _invalid(f"Duplicate topic {what}.")
        elif key.topic_id is None:
            found = _named(view, key.name)
        elif key.name is not None:
            found = _invalid("You may not specify both topic name and topic id.")
        else:
            found = _identified(view, view.flat_of_id(key.topic_id, index), key.topic_id)
        if isinstance(found, TopicResource):
            found = _why_not(view, key, found, firsts) or found
        if isinstance(found, Denied):
            deletion.answer(key, found)
        else:
            deletion.left[key] = found


def _identified(view: View, flat: bytes | None, topic_id: bytes) -> _Found | Denied:
    if flat is None:
        return _UNKNOWN_ID
    link = view.snapshot.link_under(topic_id)
    return (
        TopicResource("(by its id)", flat.decode()) if link is None else view.snapshot.links[link]
    )


def _named(view: View, name: str | None) -> _Found | Denied:
    if name is None:
        return _invalid("Neither topic name nor id were specified.")
    try:
        path = view.namespace_named(name)
    except InvalidName as error:
        return Denied(INVALID_TOPIC_EXCEPTION, f"{error}.", "names")
    if path is not None:
        return NamespaceResource(name, path)
    found = view.resolve(name.encode())
    link = view.link_named(name)
    if link is not None and (isinstance(found, Denied) or found.link):
        return link
    return found if isinstance(found, Denied) else TopicResource(name, found.flat.decode())


def _by_alias(view: View, key: TopicKey, flat: str) -> Denied | None:
    """Why a topic is not deleted under an alias, which only lets clients go on."""
    entry = view.snapshot.topics.get(flat)
    if entry is None:
        return None
    if key.name is not None:
        former = view.parse(key.name) != entry.name
    else:
        found = view.snapshot.by_topic_id(key.topic_id or b"")
        former = entry.topic_id is not None if found is None else found[1] != entry.name
    if not former:
        return None
    present = view.spell(flat.encode())
    shown = str(entry.name) if present is None else present.decode()
    what = "This id" if key.name is None else f"'{key.name}'"
    return _invalid(f"{what} is an alias of topic '{shown}', which was moved; delete it as that.")


def _why_not(
    view: View, key: TopicKey, topic: TopicResource, firsts: dict[str, TopicKey]
) -> Denied | None:
    """Why a topic may not be deleted so. It may be named under two spellings, but not by its name
    and by an id; ``firsts`` are the items that named a topic first, by flat name."""
    why = moved_out(view, topic.name, topic.flat) or _by_alias(view, key, topic.flat)
    if why is not None:
        return why
    first = firsts.setdefault(topic.flat, key)
    if first != key and (first.name is None or key.name is None):
        text = "The topic is already in this request, by its name or under another topic id."
        return _invalid(text)
    return None


async def _delete_links(deletion: _Deletion) -> None:
    """Delete the links that are left, and no topic."""
    links = deletion.links
    if not links:
        return

    def decide(snapshot: Snapshot) -> list[Change]:
        there = {link.name: link for link in links.values()}
        return removals(
            snapshot, [one for name, one in there.items() if snapshot.links.get(name) == one]
        )

    try:
        await deletion.context.catalog.change(decide)
    except OSError as error:
        deletion.reject(unavailable(error), links)
        return
    for key, link in paced(links.items()):
        name = key.name
        if name is None:
            shown = deletion.view.spell_name(link.name)
            name = None if shown is None else shown.decode()
        deletion.answer(key, _Answer(name=name, topic_id=link.topic_id))


async def _delete_topics(deletion: _Deletion, timeout: timedelta) -> None:
    context, view, topics = deletion.context, deletion.view, deletion.topics
    index, before = context.cluster.index, view.snapshot
    ids = {
        flat: None if key.topic_id is None else view.id_to_broker(key.topic_id, index)
        for key, flat in paced(topics.items())
    }
    try:
        outcomes = await delete_at_broker(context, ids, timeout)
    except OSError as error:
        deletion.reject(unavailable(error), topics)
        return
    facts = text_facts(view, {flat: key.name for key, flat in paced(topics.items())})
    for key, flat in paced(topics.items()):
        deletion.answer(key, _answer(view, key, flat, outcomes[flat], facts))
    now = context.clock()

    def decide(snapshot: Snapshot) -> list[Change]:
        # An entry that has changed meanwhile is another topic's.
        changes: list[Change] = []
        for flat, outcome in paced(outcomes.items()):
            entry = snapshot.topics.get(flat)
            if entry is None or entry != before.topics.get(flat) or not outcome.gone:
                continue
            # A topic that is about to be made is not there yet either.
            if not outcome.code or not entry.creating or is_left_over(entry, now):
                changes += removed_topic(snapshot, entry)
        return changes

    # The topics are gone, and that is what was requested.
    failure = await context.tidy(decide)
    if failure is not None:
        log.warning("entries of deleted topics stay in the catalog: %s", failure)


async def _mark_namespaces(deletion: _Deletion) -> list[str]:
    """Mark the namespaces that are left for deletion; returns the paths of those that are."""
    namespaces = deletion.namespaces
    if not namespaces:
        return []
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
        deletion.reject(unavailable(error), namespaces)
        return []
    for key, path in paced(namespaces.items()):
        deletion.answer(key, decided.denied.get(path) or _Answer(name=key.name))
    return [namespace.path for namespace in decided.marked]


def _answer(view: View, key: TopicKey, flat: str, outcome: Outcome, facts: TextFacts) -> _Answer:
    """The broker's result for a topic, with the name and the id that the client knows it by."""
    message = outcome.message
    if message is not None:
        message = restored(message.encode(), facts).decode()
    if key.name is not None:
        spelled = key.name.encode()
        topic_id = view.id_to_show(flat.encode(), spelled) or outcome.topic_id
        return _Answer(outcome.code, message, key.name, topic_id)
    shown = None if outcome.code == UNKNOWN_TOPIC_ID else view.spell(flat.encode())
    name = None if shown is None else shown.decode()
    return _Answer(outcome.code, message, name, key.topic_id)


def _entry(key: TopicKey, answer: _Answer | Denied) -> dict[str, object]:
    if isinstance(answer, Denied):
        answer = _Answer(answer.code, answer.message, key.name, key.topic_id)
    return {
        "name": answer.name,
        "topic_id": None if answer.topic_id is None else UUID(bytes=answer.topic_id),
        "error_code": answer.code,
        "error_message": answer.message if answer.code else None,
    }


def _invalid(message: str) -> Denied:
    return Denied(INVALID_REQUEST, message, "request")
