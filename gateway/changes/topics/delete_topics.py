"""DeleteTopics for namespaces and their topics: topics at the broker first, then the catalog.

Topics are deleted before namespaces are marked, so that a request may name both. An entry goes
once the broker has said that its topic is gone; a crash in between leaves one that says nothing
any more, and the next deletion or creation of the topic puts that right.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from gateway.catalog.entities import Removal, TopicEntry, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base import admin_rights
from gateway.changes.base.batch import Answered
from gateway.changes.base.broker import Outcome, broker_time, delete_at_broker
from gateway.changes.base.context import Context
from gateway.changes.base.refused import unavailable
from gateway.changes.base.resources import moved_out
from gateway.changes.namespaces import delete_namespaces
from gateway.changes.topics.create_plan import is_left_over
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_ID
from gateway.names import InvalidName
from gateway.rules.error_text import TextFacts, restored
from gateway.rules.nested import element_class, make
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.pausing import paced

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client names a topic by: its spelling or an id (16 bytes), seldom both or neither."""

    name: str | None
    topic_id: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    code: int = 0
    message: str | None = None
    name: str | None = None
    topic_id: bytes | None = None


@dataclass(slots=True)
class _Deletion:
    """One request on its way: its ``answers``, the flat names of the ``topics`` that the broker is
    asked to delete, and the paths of the ``namespaces``, each by what the client asked for;
    ``denied`` is what ACLs deny."""

    access: Access
    asked: list[Asked]
    answers: dict[Asked, _Answer] = field(default_factory=dict)
    denied: dict[str, Denied] = field(default_factory=dict)
    topics: dict[Asked, str] = field(default_factory=dict)
    first: dict[str, Asked] = field(default_factory=dict)
    namespaces: dict[Asked, str] = field(default_factory=dict)

    @property
    def view(self) -> View:
        return self.access.view

    def deny(self, asked: Asked, why: Denied) -> None:
        self.answers[asked] = _Answer(why.code, why.message, asked.name, asked.topic_id)


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
    asked = list(_asked(request))
    deletion = _Deletion(access, asked)
    try:
        await context.catalog.refresh()
        deletion.access = access.over(View(access.view.settings, context.catalog.snapshot))
        await _sort(context, deletion)
        _forbid(context, deletion)
    except OSError as error:
        for item in asked:
            deletion.deny(item, unavailable(error))
        return Answered(_response(version, deletion))
    await _delete_topics(context, deletion, broker_time(request.timeout))
    await _delete_namespaces(context, deletion, began)
    return Answered(_response(version, deletion), deletion.denied)


def _forbid(context: Context, deletion: _Deletion) -> None:
    """Refuse what ACLs deny."""
    access = deletion.access
    wanted = [*deletion.topics, *deletion.namespaces]
    names = [asked.name.encode() for asked in paced(wanted) if asked.name is not None]
    by_name = admin_rights.deletions(access, names, context.cluster.index.names())
    for asked in paced(wanted):
        if asked.name is not None:
            why = by_name.get(asked.name.encode())
        else:
            flat = deletion.topics[asked].encode()
            why = admin_rights.deletion(access, access.flat_resource(flat))
        if why is not None:
            deletion.deny(asked, why)
            deletion.denied[asked.name or str(UUID(bytes=asked.topic_id))] = why
            deletion.topics.pop(asked, None)
            deletion.namespaces.pop(asked, None)


def _asked(request: Any) -> Iterator[Asked]:
    for name in paced(getattr(request, "topic_names", ())):
        yield Asked(name)
    for topic in paced(getattr(request, "topics", ())):
        yield Asked(topic.name, None if topic.topic_id is None else topic.topic_id.bytes)


async def _sort(context: Context, deletion: _Deletion) -> None:
    """Tell topics from namespaces, and refuse what names neither or twice the same.

    Raises OSError when an id is not known and the cluster cannot be asked.
    """
    view, index = deletion.view, context.cluster.index
    ids = [asked.topic_id for asked in paced(deletion.asked) if asked.topic_id is not None]
    if any(view.flat_of_id(topic_id, index) is None for topic_id in paced(ids)):
        await context.cluster.refresh()
    for asked, count in Counter(paced(deletion.asked)).items():
        if count > 1:
            what = "id" if asked.name is None else "name"
            deletion.deny(asked, _invalid(f"Duplicate topic {what}."))
        elif asked.topic_id is None:
            _sort_name(deletion, asked)
        elif asked.name is not None:
            deletion.deny(asked, _invalid("You may not specify both topic name and topic id."))
        else:
            flat = view.flat_of_id(asked.topic_id, index)
            if flat is None:
                deletion.deny(asked, _UNKNOWN_ID)
            else:
                _take(deletion, asked, flat.decode())


def _sort_name(deletion: _Deletion, asked: Asked) -> None:
    view, name = deletion.view, asked.name
    if name is None:
        deletion.deny(asked, _invalid("Neither topic name nor id were specified."))
        return
    try:
        path = view.namespace_named(name)
    except InvalidName as error:
        deletion.deny(asked, Denied(INVALID_TOPIC_EXCEPTION, f"{error}.", "names"))
        return
    if path is not None:
        deletion.namespaces[asked] = path
        return
    found = view.resolve(name.encode())
    if isinstance(found, Denied):
        deletion.deny(asked, found)
    else:
        _take(deletion, asked, found.flat.decode())


def _by_alias(view: View, asked: Asked, flat: str) -> Denied | None:
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


def _take(deletion: _Deletion, asked: Asked, flat: str) -> None:
    """A topic may be named under two spellings, but not by its name and by an id."""
    why = moved_out(deletion.view, asked.name or "(by its id)", flat)
    why = why or _by_alias(deletion.view, asked, flat)
    if why is not None:
        deletion.deny(asked, why)
        return
    first = deletion.first.setdefault(flat, asked)
    if first != asked and (first.name is None or asked.name is None):
        text = "The topic is already in this request, by its name or under another topic id."
        deletion.deny(asked, _invalid(text))
    else:
        deletion.topics[asked] = flat


async def _delete_topics(context: Context, deletion: _Deletion, timeout: timedelta) -> None:
    index, view = context.cluster.index, deletion.view
    before = view.snapshot
    ids = {
        flat: None if asked.topic_id is None else view.id_to_broker(asked.topic_id, index)
        for asked, flat in paced(deletion.topics.items())
    }
    try:
        outcomes = await delete_at_broker(context, ids, timeout)
    except OSError as error:
        for asked in deletion.topics:
            deletion.deny(asked, unavailable(error))
        return
    spelled = {flat: asked.name for asked, flat in paced(deletion.topics.items())}
    asked_for = {flat.encode() for flat in paced(spelled)}
    facts = TextFacts(lambda flat: _shown(view, spelled, flat), view, asked_for)
    for asked, flat in paced(deletion.topics.items()):
        deletion.answers[asked] = _answer(view, asked, flat, outcomes[flat], facts)
    await _remove_entries(context, before, outcomes)


async def _remove_entries(context: Context, before: Snapshot, outcomes: dict[str, Outcome]) -> None:
    """Remove the entries of topics that are gone, unless they are somebody else's by now."""
    now = context.clock()

    def removable(snapshot: Snapshot) -> Iterator[TopicEntry]:
        for flat, outcome in paced(outcomes.items()):
            entry = snapshot.topics.get(flat)
            if entry is None or entry != before.topics.get(flat) or not outcome.gone:
                continue
            # A topic that is about to be made is not there yet either.
            if not outcome.code or not entry.creating or is_left_over(entry, now):
                yield entry

    if not any(removable(context.catalog.snapshot)):
        return
    try:
        await context.catalog.change(
            lambda newest: [Removal(key_of(entry)) for entry in removable(newest)]
        )
    except OSError as error:
        # The topics are gone, and that is what was asked for.
        log.warning("entries of deleted topics stay in the catalog: %s", error)


async def _delete_namespaces(
    context: Context, deletion: _Deletion, began: Callable[[str], None]
) -> None:
    paths = set(deletion.namespaces.values())
    if not paths:
        return
    settings, now = deletion.view.settings, context.clock()
    decided = delete_namespaces.Deletion()

    def decide(snapshot: Snapshot) -> list[Any]:
        nonlocal decided
        access = deletion.access.over(View(settings, snapshot))
        decided = delete_namespaces.decide(access, paths, now)
        return list(decided.marked)

    try:
        await context.catalog.change(decide)
    except OSError as error:
        for asked in deletion.namespaces:
            deletion.deny(asked, unavailable(error))
        return
    for asked, path in paced(deletion.namespaces.items()):
        why = decided.denied.get(path)
        if why is None:
            deletion.answers[asked] = _Answer(name=asked.name)
        else:
            deletion.deny(asked, why)
    for namespace in decided.marked:
        began(namespace.path)


def _shown(view: View, spelled: dict[str, str | None], flat: bytes) -> bytes | None:
    name = spelled.get(flat.decode(errors="replace"))
    return view.spell(flat) if name is None else name.encode()


def _answer(view: View, asked: Asked, flat: str, outcome: Outcome, facts: TextFacts) -> _Answer:
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


def _response(version: int, deletion: _Deletion) -> bytes:
    """The answers in the order of the request, one for what it names twice (as Kafka does)."""
    cls = messages.message_class("DeleteTopicsResponse", version)
    result_class = element_class(cls, "responses")
    results = []
    for asked in dict.fromkeys(paced(deletion.asked)):
        answer = deletion.answers[asked]
        values: dict[str, object] = {
            "name": answer.name,
            "topic_id": None if answer.topic_id is None else UUID(bytes=answer.topic_id),
            "error_code": answer.code,
            "error_message": answer.message if answer.code else None,
        }
        results.append(make(result_class, values))
    return messages.write(make(cls, {"responses": tuple(results)}))


def _invalid(message: str) -> Denied:
    return Denied(INVALID_REQUEST, message, "request")
