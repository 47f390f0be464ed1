"""DeleteTopics for namespaces and their topics: topics at the broker first, then the catalog.

Topics are deleted before namespaces are marked, so a request may name both. An entry is removed
once the broker has responded that its topic is deleted. A crash in between leaves an entry without
a topic, which the next deletion or creation of the topic corrects. All names are frozen first
(``base/freezing.py``), because requests in progress would otherwise write to a topic that is
created under the same name.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Final
from uuid import UUID

from gateway.catalog.entities import Change, Link, Namespace, ResourceAcls
from gateway.catalog.freezes import names_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_moves import without
from gateway.changes.base import admin_rights
from gateway.changes.base.broker import Outcome, broker_time, delete_at_broker
from gateway.changes.base.context import Answered, Context, write_response
from gateway.changes.base.freezing import Hold
from gateway.changes.base.inherited import removed_topic
from gateway.changes.base.rejected import Rejected, unavailable
from gateway.changes.base.resources import TopicResource, text_facts
from gateway.changes.namespaces import delete_namespaces
from gateway.changes.topics.create_plan import is_left_over
from gateway.changes.topics.deletion import (
    CHANGED,
    Deletion,
    DeletionAnswer,
    TopicKey,
    found_again,
    keys_of,
    read_items,
)
from gateway.changes.topics.links import removals, resource_of
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_ID
from gateway.names import LogicalName
from gateway.rules.error_text import TextFacts, restored
from gateway.views.access import DESCRIBE, Access
from gateway.views.view import View
from protocol import messages
from protocol.pausing import paced

log = logging.getLogger(__name__)

FROZEN_AT_ONCE: Final = 1_000
"""Topics in one freeze, which is one record of the catalog."""


async def delete_topics(
    context: Context,
    access: Access,
    version: int,
    body: bytes,
    *,
    marked: Callable[[str], None] | None = None,
) -> Answered:
    """The whole response to a whole DeleteTopics request, in the client's names.

    ``marked`` is called with the path of every namespace that was marked. Raises ProtocolError for
    a body that cannot be read.
    """
    request = messages.parse("DeleteTopicsRequest", version, body)
    counts = Counter(paced(keys_of(request)))
    deletion = Deletion(context, access, counts, spelled=TopicKey.text)
    try:
        await context.catalog.refresh()
        deletion.follow_catalog()
        await read_items(deletion, counts)
        _check_acls(deletion, deletion.left)
    except OSError as error:
        deletion.reject(unavailable(error))
    else:
        await _delete_links(deletion)
        await _delete_topics(deletion, broker_time(request.timeout))
        for path in await _mark_namespaces(deletion):
            if marked is not None:
                marked(path)
    # One entry for an item that the request names twice, as in Kafka.
    entries = (_entry(key, answer) for key, answer in deletion.results())
    body = write_response("DeleteTopicsResponse", version, "responses", entries)
    return deletion.answered(body)


def _check_acls(deletion: Deletion, keys: Iterable[TopicKey]) -> None:
    """Reject the items that ACLs deny."""
    for key, why in paced(_denied(deletion, deletion.access, keys).items()):
        deletion.answer(key, why)


def _denied(deletion: Deletion, access: Access, keys: Iterable[TopicKey]) -> dict[TopicKey, Denied]:
    """Why the items may not be deleted by the rights of ``access``."""
    denied: dict[TopicKey, Denied] = {}
    wanted = {key: deletion.left[key] for key in paced(list(keys))}
    names = [key.name.encode() for key in paced(wanted) if key.name is not None]
    by_name = admin_rights.deletions(access, names, deletion.context.cluster.index.names())
    for key, what in paced(wanted.items()):
        why = None
        if key.name is not None:
            why = by_name.get(key.name.encode())
        elif isinstance(what, Link):
            why = admin_rights.deletion_by_id(access, resource_of(what.name))
        elif isinstance(what, TopicResource):
            topic = access.flat_resource(what.flat.encode())
            why = admin_rights.deletion_by_id(access, topic)
        if why is not None:
            denied[key] = why
    return denied


async def _check_again(deletion: Deletion, keys: Iterable[TopicKey], hold: Hold) -> None:
    """Reject items that lead to another topic or link by now, or that may not be deleted any more:
    while the request waited, a topic may have been moved, or a right revoked. From now on the
    freeze keeps each topic in its place. Raises :class:`Rejected` if the freeze has ended, and
    OSError."""
    catalog = deletion.context.catalog
    await catalog.refresh()
    hold.check(catalog.snapshot)
    deletion.follow_catalog()
    view, index = deletion.view, deletion.context.cluster.index
    for key in paced(list(keys)):
        what = deletion.left[key]
        why = found_again(view, key, what, index)
        if why is None and isinstance(what, TopicResource) and index.exists(what.flat.encode()):
            # A name that has led to the topic only since the freeze is not frozen.
            why = None if hold.holds(names_of(view.snapshot, what.flat)) else CHANGED
        if why is not None:
            deletion.answer(key, why)
    _check_acls(deletion, [key for key in paced(list(keys)) if key in deletion.left])


async def _delete_links(deletion: Deletion) -> None:
    """Delete the links that are left; their topics stay."""
    links = deletion.links
    if not links:
        return

    denied: dict[TopicKey, Denied] = {}

    def decide(snapshot: Snapshot) -> list[Change]:
        nonlocal denied
        left = deletion.links
        denied = _denied(deletion, deletion.access.on(snapshot), left)
        there = {link.name: link for key, link in paced(left.items()) if key not in denied}
        return removals(
            snapshot, [one for name, one in there.items() if snapshot.links.get(name) == one]
        )

    names = {link.name for link in links.values()}
    try:
        async with _hold(deletion, names) as hold:
            await _check_again(deletion, links, hold)
            await deletion.context.catalog.change(lambda newest: hold.ended(newest, decide(newest)))
    except Rejected as error:
        deletion.reject(error.why, deletion.links)
        return
    except OSError as error:
        deletion.reject(unavailable(error), deletion.links)
        return
    for key, why in denied.items():
        deletion.answer(key, why)
    for key, link in paced(deletion.links.items()):
        name = key.name
        if name is None:
            shown = deletion.view.spell_name(link.name)
            name = None if shown is None else shown.decode()
        deletion.answer(key, DeletionAnswer(name=name, topic_id=link.topic_id))


def _parts(topics: Mapping[TopicKey, str], most: int) -> Iterator[dict[TopicKey, str]]:
    """The topics in parts of at most ``most`` topics."""
    items = iter(topics.items())
    while part := dict(islice(items, most)):
        yield part


def _hold(
    deletion: Deletion, names: Iterable[LogicalName] = (), namespaces: Iterable[str] = ()
) -> Hold:
    """A freeze of the names or namespaces that are being deleted."""
    what = "What you delete"
    tells = deletion.access.cluster(DESCRIBE) is None
    return deletion.context.freezer.hold(what, names, namespaces, tells=tells)


async def _delete_topics(deletion: Deletion, timeout: timedelta) -> None:
    for topics in _parts(deletion.topics, FROZEN_AT_ONCE):
        exists = deletion.context.cluster.index.exists
        snapshot = deletion.view.snapshot
        names = {
            name
            for flat in paced(topics.values())
            if exists(flat.encode())
            for name in names_of(snapshot, flat)
        }
        try:
            async with _hold(deletion, names) as hold:
                await _check_again(deletion, topics, hold)
                left = {key: flat for key, flat in topics.items() if key in deletion.left}
                await _delete_frozen(deletion, left, timeout, hold)
        except Rejected as error:
            deletion.reject(error.why, [key for key in topics if key in deletion.left])
        except OSError as error:
            deletion.reject(unavailable(error), [key for key in topics if key in deletion.left])


async def _delete_frozen(
    deletion: Deletion, topics: Mapping[TopicKey, str], timeout: timedelta, hold: Hold
) -> None:
    """Delete topics for which no request is in progress. Raises OSError if it is unknown whether
    they were deleted."""
    context, view = deletion.context, deletion.view
    index, before = context.cluster.index, view.snapshot
    ids = {
        flat: None if key.topic_id is None else view.id_to_broker(key.topic_id, index)
        for key, flat in paced(topics.items())
    }
    denied: dict[TopicKey, Denied] = {}

    def by_flat(found: Mapping[TopicKey, Denied]) -> dict[str, Denied]:
        allowed = {flat for key, flat in topics.items() if key not in found}
        return {topics[key]: why for key, why in found.items() if topics[key] not in allowed}

    def why_not(_: Collection[str]) -> dict[str, Denied]:
        # The freeze keeps each topic in its place, but rights may be revoked meanwhile.
        newest = context.catalog.snapshot
        hold.check(newest)
        denied.clear()
        denied.update(_denied(deletion, deletion.access.on(newest), topics))
        return by_flat(denied)

    def still(_: Collection[str]) -> dict[str, Denied]:
        newest = context.catalog.snapshot
        return by_flat(_denied(deletion, deletion.access.on(newest), topics))

    outcomes = await delete_at_broker(context, ids, timeout, why_not, still)
    facts = text_facts(deletion.access, {flat: key.name for key, flat in paced(topics.items())})
    for key, flat in paced(topics.items()):
        why = denied.get(key)
        deletion.answer(key, why or _answer(view, key, flat, outcomes[flat], facts))
    now = context.clock()

    def decide(snapshot: Snapshot) -> list[Change]:
        # An entry that has changed meanwhile belongs to another topic.
        changes: list[Change] = []
        for flat, outcome in paced(outcomes.items()):
            entry = snapshot.topics.get(flat)
            if entry is None or entry != before.topics.get(flat) or not outcome.gone:
                continue
            # A topic that is about to be created does not exist yet either, so its entry stays.
            if not outcome.code or not entry.creating or is_left_over(entry, now):
                changes += removed_topic(snapshot, entry)
        return hold.thawed(snapshot, changes)

    # The topics are deleted, so the request succeeds even when this fails.
    failure = await context.tidy(decide)
    if failure is not None:
        log.warning("entries of deleted topics stay in the catalog: %s", failure)


async def _mark_namespaces(deletion: Deletion) -> list[str]:
    """Mark the namespaces that are left for deletion; returns the paths of the marked
    namespaces."""
    namespaces = deletion.namespaces
    if not namespaces:
        return []
    paths, now = set(namespaces.values()), deletion.context.clock()
    by_name = {str(key.name).encode(): key for key in namespaces}
    index = deletion.context.cluster.index
    decided, forbidden = delete_namespaces.Deletion(), dict[bytes, Denied]()
    acls: list[ResourceAcls] = []
    at_once = delete_namespaces.ACLS_AT_ONCE

    def decide(snapshot: Snapshot) -> list[Namespace]:
        nonlocal decided, forbidden
        access = deletion.access.on(snapshot)
        forbidden = admin_rights.deletions(access, by_name, index.names())
        kept = paths - {namespaces[by_name[name]] for name in forbidden}
        decided = delete_namespaces.decide(access, kept, now)
        return decided.marked

    # Decided before the freeze, so no namespace is frozen for a deletion that is rejected.
    marked = {one.path for one in decide(deletion.context.catalog.snapshot)}

    def decide_frozen(newest: Snapshot) -> list[Change]:
        changes: list[Change] = [*decide(newest)]
        if not hold.holds((), [one.path for one in decided.marked]):
            raise Rejected.of(CHANGED)
        acls[:] = delete_namespaces.acls_inside(deletion.access.on(newest), decided.marked)
        # Removing them later grants no rights, because clients cannot reach a marked namespace.
        changes += without(newest, acls[:at_once])
        return hold.ended(newest, changes)

    try:
        if marked:
            async with _hold(deletion, namespaces=marked) as hold:
                await _list_again(deletion)
                await deletion.context.catalog.change(decide_frozen)
    except Rejected as error:
        deletion.reject(error.why, namespaces)
        return []
    except OSError as error:
        deletion.reject(unavailable(error), namespaces)
        return []
    for start in range(at_once, len(acls), at_once):
        some = acls[start : start + at_once]
        failure = await deletion.context.tidy(partial(without, acls=some))
        if failure is not None:
            log.warning("ACLs of deleted namespaces stay in the catalog: %s", failure)
    for name, why in forbidden.items():
        deletion.answer(by_name[name], why)
    for key, path in paced(deletion.namespaces.items()):
        deletion.answer(key, decided.denied.get(path) or DeletionAnswer(name=key.name))
    return [namespace.path for namespace in decided.marked]


async def _list_again(deletion: Deletion) -> None:
    """List all topics that would be deleted with a namespace, because each needs the right and
    another gateway may have created a topic. Raises OSError."""
    if deletion.access.authorizes:
        await deletion.context.cluster.refresh()


def _answer(
    view: View, key: TopicKey, flat: str, outcome: Outcome, facts: TextFacts
) -> DeletionAnswer:
    """The broker's result for a topic, with the client's name and id of the topic."""
    message = outcome.message
    if message is not None:
        message = restored(message.encode(), facts).decode()
    if key.name is not None:
        spelled = key.name.encode()
        topic_id = view.id_to_show(flat.encode(), spelled) or outcome.topic_id
        return DeletionAnswer(outcome.code, message, key.name, topic_id)
    shown = None if outcome.code == UNKNOWN_TOPIC_ID else view.spell(flat.encode())
    name = None if shown is None else shown.decode()
    return DeletionAnswer(outcome.code, message, name, key.topic_id)


def _entry(key: TopicKey, answer: DeletionAnswer | Denied) -> dict[str, object]:
    if isinstance(answer, Denied):
        answer = DeletionAnswer(answer.code, answer.message, key.name, key.topic_id)
    return {
        "name": answer.name,
        "topic_id": None if answer.topic_id is None else UUID(bytes=answer.topic_id),
        "error_code": answer.code,
        "error_message": answer.message if answer.code else None,
    }
