"""Links (``gateway.link``): a topic gets further names in other namespaces, and stays in its own.

A link shares a topic: the link's own ACLs decide which principals may read or write the topic under
the link, and no DENY on the topic applies there. So linking needs the rights that moving the topic
needs, and CREATE for the new name. A topic with links has an entry in the catalog, which holds its
flat name even if namespaces are created or deleted. When the topic is deleted, its links dangle
(``inherited.removed_topic``) until they are deleted, too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from gateway.acl_model import Resource, ResourceType
from gateway.catalog.entities import Change, Link, Removal, TopicEntry, key_of
from gateway.catalog.freezes import names_of
from gateway.catalog.schema.table import LINK_FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Decide
from gateway.changes.acls.name_changes import NameChange
from gateway.changes.base import admin_rights
from gateway.changes.base.catalog_limits import CatalogLimits
from gateway.changes.base.context import Context
from gateway.changes.base.inherited import entry_for, settled
from gateway.changes.base.rejected import Rejected, list_names, reject_if, respelled, shown_topic
from gateway.changes.base.resources import APPEND, DELETE, SET, SUBTRACT, Operation, moved_out
from gateway.changes.base.virtual_configs import LINK, link_names
from gateway.changes.topics.move import check_name
from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import LogicalName, encode
from gateway.views.access import DESCRIBE, Access, link_sentence
from gateway.views.view import View

log = logging.getLogger(__name__)

MAX_LINKS: Final = 100
"""Links of one topic."""


async def change_links(
    context: Context, access: Access, name: str, one: Operation, validate_only: bool = False
) -> None:
    """Change the links of the topic that the client calls ``name``: SET, DELETE, APPEND, SUBTRACT
    of a list of names. Links that the client may not describe stay as they are.

    Raises :class:`Rejected` and OSError.
    """
    await context.cluster.refresh()
    attempt = _Linking(context, access, name, one)
    attempt.decide(context.catalog.snapshot)
    if validate_only:
        return
    cut = set(attempt.removed)

    def decide(newest: Snapshot) -> list[Change]:
        changes = attempt.decide(newest)
        if not cut.issuperset(attempt.removed):
            text = f"The links of topic '{name}' have changed in the meantime; try again."
            raise Rejected(REQUEST_TIMED_OUT, text)
        return changes

    await _cut(context, access, cut, decide, lambda newest: names_of(newest, attempt.flat))
    if attempt.made:
        await _check_twins(context, attempt.made)


async def remove_link(
    context: Context, access: Access, name: str, validate_only: bool = False
) -> None:
    """Remove the link that the client calls ``name``, dangling or not; the topic stays. Raises
    :class:`Rejected` and OSError."""

    def decide(newest: Snapshot) -> Sequence[Change]:
        now = access.on(newest)
        link = now.view.link_named(name)
        if link is None:
            raise Rejected(UNKNOWN_TOPIC_OR_PARTITION, f"There is no link '{name}'.")
        reject_if(admin_rights.deletion(now, resource_of(link.name)))
        return removals(newest, [link])

    snapshot = context.catalog.snapshot
    decide(snapshot)
    link = View(access.view.settings, snapshot).link_named(name)
    if not validate_only:
        await _cut(context, access, () if link is None else (link.name,), decide)


async def _cut(
    context: Context,
    access: Access,
    names: Collection[LogicalName],
    decide: Decide,
    leading: Callable[[Snapshot], Iterable[LogicalName]] = lambda newest: (),
) -> None:
    """Change links as soon as no request for ``names`` is in progress; ``names`` are the links that
    are removed. ``leading`` returns the names that lead to the topic by the last decision; while
    another change holds one of them frozen, the links are not changed. Raises :class:`Rejected` and
    OSError."""

    def decide_frozen(newest: Snapshot) -> list[Change]:
        changes = decide(newest)
        return hold.ended(newest, changes, leading(newest))

    tells = access.cluster(DESCRIBE) is None
    async with context.freezer.hold("A link", names, tells=tells) as hold:
        await context.catalog.change(decide_frozen)


def removals(snapshot: Snapshot, links: Iterable[Link]) -> list[Change]:
    """The changes that remove links. A topic's entry is removed with its last link, unless it holds
    other facts of the topic."""
    links = list(links)
    changes: list[Change] = [Removal(key_of(link)) for link in links]
    after = snapshot.apply(changes, snapshot.version)
    for flat in dict.fromkeys(link.flat for link in links if not link.gone):
        entry = snapshot.topics.get(flat)
        if entry is not None and (left := settled(after, entry)) != entry:
            changes.append(left)
    return changes


def shown_links(access: Access, flat: str) -> list[LogicalName]:
    """The links of a topic that the client may describe."""
    return [
        name
        for name in access.view.snapshot.links_of(flat)
        if access.view.spell_name(name) is not None
        and access.denial(DESCRIBE, resource_of(name)) is None
    ]


def resource_of(name: LogicalName) -> Resource:
    """The resource that stands for a link."""
    return Resource(ResourceType.TOPIC, name.namespace, name.topic)


@dataclass(slots=True)
class _Linking:
    """A change of one topic's links."""

    context: Context
    access: Access
    name: str
    one: Operation
    made: list[Link] = field(default_factory=list)
    """The links that the last decision creates."""
    removed: Collection[LogicalName] = ()
    """The links that the last decision removes."""
    flat: str = ""
    """The topic's flat name, by the last decision."""
    ids: dict[LogicalName, bytes] = field(default_factory=dict)
    """The links' virtual topic ids, by name, the same in every decision."""
    _allowed: set[LogicalName] = field(default_factory=set)
    _limits: CatalogLimits = field(init=False)

    def __post_init__(self) -> None:
        self._limits = CatalogLimits(self.context, self.access)

    def decide(self, newest: Snapshot) -> list[Change]:
        """The changes, on a state of the catalog. Raises :class:`Rejected`."""
        access = self.access.on(newest)
        flat = self.flat = self._flat(access)
        named = link_names(access.view, self.one)
        present = newest.links_of(flat)
        added, removed = _difference(self.one.operation, named, present, shown_links(access, flat))
        self.removed = removed
        self._check_rights(access, added)
        if len(present) - len(removed) + len(added) > MAX_LINKS:
            raise Rejected(INVALID_REQUEST, f"A topic has at most {MAX_LINKS} links.")
        index = self.context.cluster.index
        for name in added:
            _check_new(newest, name, lambda stored: index.exists(stored.encode()))
            self._check_name(access.view, name)
        self.made = [Link(name, flat, self.ids.setdefault(name, uuid4().bytes)) for name in added]
        if not self.made:
            return removals(newest, [newest.links[name] for name in removed])
        entry = entry_for(newest, flat, self.context.clock())
        held = [] if newest.topics.get(flat) == entry else [entry]
        gone = (Removal(key_of(newest.links[name])) for name in removed)
        changes: list[Change] = [*held, *gone, *self.made]
        links = list_names([shown_topic(access.view, name) for name in added])
        noun = "link" if len(added) == 1 else "links"
        reject_if(self._limits.why_not(newest, changes, f"{noun} {links}", str(added[0])))
        return changes

    def _check_name(self, view: View, name: LogicalName) -> None:
        """Raise :class:`Rejected` if policies of the link's namespace do not allow its name. Each
        name is judged once, however often the change is decided."""
        if name in self._allowed:
            return
        principal = self.access.principal
        why = self.context.judge.name_denial(
            name.namespace, f"Link '{name}'", name.topic, principal
        )
        reject_if(why and respelled(why, str(name), shown_topic(view, name)))
        self._allowed.add(name)

    def _flat(self, access: Access) -> str:
        """The flat name of the topic. Raises :class:`Rejected` if the view has no such topic."""
        view, name = access.view, self.name
        found = view.resolve(name.encode())
        if isinstance(found, Denied):
            raise Rejected(UNKNOWN_TOPIC_OR_PARTITION, found.message)
        if found.link:
            raise Rejected(INVALID_REQUEST, link_sentence(name), "link")
        flat = found.flat.decode()
        entry: TopicEntry | None = view.snapshot.topics.get(flat)
        making = entry is not None and entry.creating
        if making or not self.context.cluster.index.exists(found.flat):
            raise Rejected(UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist.")
        reject_if(moved_out(view, name, flat))
        return flat

    def _check_rights(self, access: Access, added: Collection[LogicalName]) -> None:
        topic = access.topic_resource(self.name.encode())
        if topic is None or not access.authorizes:
            return
        new = map(resource_of, added)
        reject_if(admin_rights.link(access, self.name.encode(), topic, new))
        former = LogicalName(topic.namespace, topic.name)
        for name in added:
            change = NameChange(access, former, name)
            reject_if(change.why_not(self.name, shown_topic(access.view, name)))


def _difference(
    operation: int,
    named: Collection[LogicalName],
    present: Sequence[LogicalName],
    shown: Collection[LogicalName],
) -> tuple[list[LogicalName], list[LogicalName]]:
    """The names that an operation adds to the ``present`` links, and the names that it removes.
    ``shown``: the links that the client may describe."""
    if operation == SUBTRACT:
        return [], [name for name in present if name in named]
    if operation == DELETE:
        return [], [name for name in present if name in shown]
    if operation not in (SET, APPEND):
        text = f"Operation {operation} on config '{LINK}' is none of Kafka's."
        raise Rejected(INVALID_REQUEST, text)
    added = [name for name in named if name not in present]
    if operation == APPEND:
        return added, []
    return added, [name for name in present if name in shown and name not in named]


def _check_new(snapshot: Snapshot, name: LogicalName, exists: Callable[[str], bool]) -> None:
    """Raise :class:`Rejected` unless a link may have this name."""
    if snapshot.format < LINK_FORMAT:
        raise Rejected(
            INVALID_REQUEST,
            f"Links need format {LINK_FORMAT} of the catalog, which has {snapshot.format}; an"
            f" operator raises it once: kafka-gateway catalog upgrade --format {LINK_FORMAT}",
        )
    missing = snapshot.missing_tier(name.namespace)
    if missing is not None:
        state = "is being deleted" if missing in snapshot.namespaces else "does not exist"
        raise Rejected(
            INVALID_TOPIC_EXCEPTION,
            f"InvalidNamespaceException: namespace '{missing}' {state}, so it can hold no link.",
        )
    check_name(snapshot, "", name, exists)


async def _check_twins(context: Context, made: Sequence[Link]) -> None:
    """Roll back if a topic of a link's name was created at the same time, and raise
    :class:`Rejected`; see ``_check_twin`` of ``move_topics``."""
    await context.cluster.refresh()
    index = context.cluster.index
    twins = [
        link
        for link in made
        if (twin := encode(link.name)) not in context.catalog.snapshot.topics
        and index.exists(twin.encode())
    ]
    if not twins:
        return

    def decide(newest: Snapshot) -> list[Change]:
        return removals(newest, [one for one in twins if newest.links.get(one.name) == one])

    await context.catalog.change(decide)
    log.warning("link '%s' is not made: a topic was made meanwhile", twins[0].name)
    raise Rejected(TOPIC_ALREADY_EXISTS, f"Topic '{twins[0].name}' already exists.")
