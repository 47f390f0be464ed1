"""Pairs of worlds that differ only in resources that the client, User:alice, may not see: she is
allowed everything in namespace ``team-a``, and some operations on ``plain`` topics and groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    ClientMetrics,
    Link,
    Namespace,
    TopicEntry,
)
from gateway.names import LogicalName
from tests.changes.acl_requests import entities
from tests.session.pair import Pair, topic_id

OWN: Final = "team-a..orders"
PLAIN: Final = "plain"
BOTH: Final = (OWN, PLAIN)
"""The topics that the client may describe: they have the same ids in both worlds."""

RIGHTS: Final = (
    "ALLOW ALL User:alice TOPIC:PREFIXED:team-a:",
    "ALLOW ALL User:alice GROUP:PREFIXED:team-a:",
    "ALLOW ALL User:alice TRANSACTIONAL_ID:PREFIXED:team-a:",
    "ALLOW ALL User:alice TOPIC:LITERAL:plain",
    "ALLOW ALL User:alice GROUP:LITERAL:app",
    "ALLOW ALL User:alice TRANSACTIONAL_ID:LITERAL:app",
)


@dataclass(frozen=True)
class World:
    """A world beside the client's own topics: ``topics`` are flat names, each with an id;
    ``groups`` are groups and transactional ids."""

    namespaces: tuple[str, ...] = ("team-a",)
    topics: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    acls: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def pair(self, **settings: Any) -> Pair:
        """A session of the client in this world."""
        authorizer = StandardAuthorizer()
        topics = (*BOTH, *self.topics)
        pair = Pair(namespaces=self.namespaces, topics=topics, authorizer=authorizer, **settings)
        pair.broker.new_id = map(topic_id, count(1_000)).__next__
        pair.log.append([CatalogFormat(3), *entities((*RIGHTS, *self.acls)), *self.changes])
        pair.catalog_changed()
        return pair


@dataclass(frozen=True)
class Twins:
    """Two worlds, and names that an attacker would try to tell them apart, of ``topics`` and of
    ``groups`` (and transactional ids)."""

    title: str
    one: World
    other: World
    topics: tuple[str, ...]
    groups: tuple[str, ...] = ("hid..app", "hid:app")
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def worlds(self) -> tuple[World, World]:
        """Both worlds."""
        return self.one, self.other

    @property
    def from_root(self) -> tuple[str, ...]:
        """The names of topics as a client writes them at a home that lets it reach the root."""
        return from_root(self.topics)


def from_root(names: Iterable[str]) -> tuple[str, ...]:
    """Names with what leads out of a home before them, in both spellings: ``:hid:x`` and
    ``..hid..x``."""
    return tuple(f"{leading}{each}" for each in names for leading in (":", ".."))


def name(namespace: str, topic: str) -> LogicalName:
    """A logical name."""
    return LogicalName(namespace, topic)


_NOTHING: Final = World()
_EMPTY: Final = World(namespaces=("team-a", "hid"))
_HAS: Final = World(namespaces=("team-a", "hid"), topics=("hid..x",))
_NAMES: Final = ("hid:x", "hid..x", "hid:", "hid..")
_OWN_ENTRY: Final = TopicEntry(OWN, name("team-a", "orders"))


def _linked(to: str, *entries: TopicEntry) -> World:
    link = Link(name("hid", "l"), to, topic_id(78).bytes)
    return replace(_HAS, changes=(*entries, link))


def _moved(*aliases: str) -> World:
    names = tuple(Alias(name("hid", each), 2**62) for each in aliases)
    return replace(
        _HAS, changes=(TopicEntry("hid..x", name("hid", "y"), topic_id(79).bytes, names),)
    )


def _twins() -> Iterator[Twins]:
    yield Twins("a namespace", _NOTHING, _EMPTY, _NAMES)
    yield Twins("a namespace with a topic", _NOTHING, _HAS, _NAMES)
    deleting = replace(_HAS, changes=(Namespace("hid", deleting=1),))
    yield Twins("a namespace that is being deleted", _NOTHING, deleting, _NAMES)
    last = replace(_NOTHING, namespaces=("team-a", "zed"))
    yield Twins("a namespace that is listed last", _NOTHING, last, ("zed:x", "zed..x", "zed:"))
    yield Twins("a topic", _EMPTY, _HAS, _NAMES)
    yield Twins("a topic of the default namespace", _NOTHING, World(topics=("hid",)), ("hid",))
    nested = World(namespaces=("team-a", "hid", "hid:in"))
    names = ("hid:in:x", "hid.in..x", "hid:in:")
    yield Twins("a nested namespace", _EMPTY, nested, names, ("hid.in..app",))
    linked = _linked("hid..x", TopicEntry("hid..x", name("hid", "x")))
    yield Twins("a link to another's topic", _HAS, linked, ("hid:l", "hid..l", "hid:x"))
    # The entry is the client's own and in both worlds, because only an entry may be linked.
    owned = replace(_HAS, changes=(_OWN_ENTRY,))
    linked = _linked(OWN, _OWN_ENTRY)
    yield Twins("a link to the asker's topic", owned, linked, ("hid:l", "hid..l"))
    moved = ("hid:y", "hid:x", "hid..y", "hid..x", "hid:z")
    renamed = replace(_EMPTY, topics=("hid..x",))
    yield Twins("a topic under its old name", renamed, _moved("x"), moved)
    yield Twins("a topic under two old names", renamed, _moved("x", "z"), moved)
    yield Twins("a topic that was moved", renamed, _moved(), moved)
    yield Twins(
        "a group and a transactional id",
        _EMPTY,
        replace(_EMPTY, groups=("hid..app", "hid")),
        _NAMES,
    )
    others = (
        "ALLOW READ User:bob TOPIC:LITERAL:hid:x",
        "ALLOW READ User:alice_ GROUP:PREFIXED:hid:",
        "ALLOW READ User:bob TOPIC:LITERAL:hid",
    )
    beginnings = tuple(
        f"ALLOW ALL User:alice {kind}:PREFIXED:{beginning}"
        for kind in ("GROUP", "TRANSACTIONAL_ID")
        for beginning in ("h", "hid.")
    )
    named = tuple(
        f"ALLOW ALL User:alice {kind}:LITERAL:hid..app" for kind in ("GROUP", "TRANSACTIONAL_ID")
    )
    for title, acls in (("a beginning of ids", beginnings), ("an id", named)):
        one, other = (replace(world, acls=acls) for world in (_NOTHING, _EMPTY))
        ids = ("hid..app", "hid..other", "hid:app", "happy")
        yield Twins(f"a namespace, with rights for {title}", one, other, _NAMES, ids)
    dying = replace(_EMPTY, changes=(Namespace("hid", deleting=1),))
    yield Twins("a namespace that is deleted", _EMPTY, dying, _NAMES)
    measured = (ClientMetrics("hid:app", {"metrics": "*"}), ClientMetrics("app", {"match": "x=y"}))
    yield Twins("client metrics", _EMPTY, replace(_EMPTY, changes=measured), _NAMES)
    yield Twins("the rights of others", _HAS, replace(_HAS, acls=others), _NAMES)


TWINS: Final = tuple(_twins())

SETTINGS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"spelling": "legal"},
    {"home": "team-a"},
    {"home": "team-a", "escape": True},
    {"home": "team-a", "escape": True, "spelling": "legal"},
    {"list_namespaces": True},
)
"""Settings of the client's listener."""
