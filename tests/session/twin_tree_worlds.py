"""Pairs of trees that differ only in resources that the client, User:alice, may not see: she is
allowed everything in namespace ``team-a`` of the listener's volume, and in some other volumes the
``shared`` topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.catalog.entities import Alias, Link, Namespace, TopicEntry
from tests.session.pair import topic_id
from tests.session.twin_trees import DEEP, FR, LA, NY, SF, TreeWorld
from tests.session.twin_worlds import World, name

SHARES: Final = (
    "ALLOW ALL User:alice TOPIC:PREFIXED:shared:",
    "ALLOW ALL User:alice GROUP:PREFIXED:shared:",
    "ALLOW ALL User:alice TRANSACTIONAL_ID:PREFIXED:shared:",
)
EMPTY: Final = World(namespaces=())
SHARED_ONLY: Final = World(namespaces=(), acls=SHARES)
HAS: Final = World(namespaces=("hid",), topics=("hid..x", "x"), groups=("hid..app",))
SHARES_AND_HAS: Final = replace(HAS, acls=SHARES)


@dataclass(frozen=True)
class TreeTwins:
    """Two trees, and the names that an attacker would try to tell them apart."""

    title: str
    one: TreeWorld
    other: TreeWorld
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    seen: tuple[str, ...] = ()
    """Topics that User:bob, who is allowed everything there, has requested at the same worker."""

    @property
    def worlds(self) -> tuple[TreeWorld, TreeWorld]:
        """Both trees."""
        return self.one, self.other


def names(path: str) -> tuple[str, ...]:
    """Names of topics and namespaces that may be in a volume, in all spellings."""
    legal, slashed = path.replace(":", "."), path.replace(":", "/")
    return (
        f":{path}:hid:x",
        f"/{slashed}/hid/x",
        f"..{legal}.hid..x",
        f":{path}:hid:",
        f"..{legal}.hid..",
        f":{path}:x",
        f":{path}:shared:s",
        f":{path}:shared:new",
        f":{path}:",
    )


def groups(path: str) -> tuple[str, ...]:
    """Groups and transactional ids that may be in a volume."""
    legal = f"..{path.replace(':', '.')}.."
    return f"{legal}app", f"{legal}hid..app", f"{legal}shared..app"


def _twins(title: str, path: str, one: World, other: World, **of_tree: Any) -> TreeTwins:
    trees = [TreeWorld({path: each}, **of_tree) for each in (one, other)]
    return TreeTwins(title, trees[0], trees[1], names(path), groups(path))


def _of_a_volume(path: str, where: str) -> Iterator[TreeTwins]:
    """Pairs of what a volume beside the listener's may have."""
    yield _twins(f"{where}, without rights", path, EMPTY, HAS)
    yield _twins(f"{where}, with some rights", path, SHARED_ONLY, SHARES_AND_HAS)
    silent: Mapping[str, Any] = {"silent": frozenset({path})}
    yield _twins(f"{where}, silent, without rights", path, EMPTY, HAS, **silent)
    yield _twins(f"{where}, silent, with some rights", path, SHARED_ONLY, SHARES_AND_HAS, **silent)


def _all() -> Iterator[TreeTwins]:
    yield from _of_a_volume(NY, "another cluster")
    yield from _of_a_volume(SF, "another gateway's")
    all_bobs = "ALLOW ALL User:bob TOPIC:LITERAL:*"
    worlds = [replace(each, acls=(*SHARES, all_bobs)) for each in (EMPTY, HAS)]
    twins = _twins("another gateway's, known to somebody else", SF, worlds[0], worlds[1])
    yield replace(twins, seen=names(SF)[:1])
    everything = tuple(f"ALLOW ALL User:alice {kind}:LITERAL:*" for kind in ("TOPIC", "GROUP"))
    trusted = replace(HAS, acls=(*everything, "ALLOW ALL User:alice CLUSTER:LITERAL:kafka-cluster"))
    distrust = frozenset({NY})
    yield _twins("another cluster that does not trust", NY, EMPTY, trusted, distrust=distrust)
    yield _twins("the volume of a mount that hides", DEEP, EMPTY, HAS)
    # Names that a mount hides are reached only from a listener of the volume above.
    hidden = World(namespaces=("deep", "deep:hid"), topics=("deep..x", "deep.hid..x"))
    hidden = replace(hidden, acls=SHARES)
    tried = (*names(DEEP), *names(NY))
    below = _twins("what a mount hides", NY, SHARED_ONLY, hidden)
    yield replace(below, topics=tried, groups=(*groups(NY), "..ny..deep..app", *groups(DEEP)))
    directory = _twins("the volume below a directory", FR, EMPTY, HAS)
    yield replace(directory, topics=(*names(FR), ":eu:", ":eu:x", ":eu:hid:x"))
    entry = TopicEntry("hid..x", name("hid", "x"))
    link = Link(name("hid", "l"), "hid..x", topic_id(78).bytes)
    linked = replace(SHARES_AND_HAS, changes=(entry, link))
    twins = _twins("a link in another cluster", NY, SHARES_AND_HAS, linked)
    yield replace(twins, topics=(":ny:hid:l", "..ny.hid..l", *names(NY)))
    alias = Alias(name("hid", "x"), 2**62)
    moved = TopicEntry("hid..x", name("hid", "y"), topic_id(79).bytes, (alias,))
    changed = replace(SHARES_AND_HAS, changes=(moved,))
    twins = _twins("a topic of another cluster that was moved", NY, SHARES_AND_HAS, changed)
    yield replace(twins, topics=(":ny:hid:y", "..ny.hid..y", *names(NY)))
    begins = tuple(
        f"ALLOW ALL User:alice {kind}:PREFIXED:h" for kind in ("GROUP", "TRANSACTIONAL_ID")
    )
    worlds = [replace(each, acls=(*SHARES, *begins)) for each in (EMPTY, HAS)]
    yield _twins(
        "a beginning of another cluster's ids", NY, worlds[0], replace(worlds[1], groups=())
    )
    dying = replace(SHARES_AND_HAS, changes=(Namespace("hid", deleting=1),))
    yield _twins("a namespace of another cluster that is deleted", NY, SHARES_AND_HAS, dying)
    bobs = ("ALLOW ALL User:bob TOPIC:LITERAL:hid:x", "ALLOW ALL User:alice_ GROUP:PREFIXED:hid:")
    more = replace(SHARES_AND_HAS, acls=(*SHARES, *bobs))
    yield _twins("the rights of others in another cluster", NY, SHARES_AND_HAS, more)
    own = [TreeWorld({LA: each}) for each in (World(), replace(HAS, namespaces=("team-a", "hid")))]
    relative = (
        *("hid:x", "hid..x", "hid:", ":la:hid:x", "..la.hid..x", ":la:hid:", "x"),
        *(":hid:x", "..hid..x", ":hid:", ":x", "..la..x", "..la.hid.."),
    )
    ids = ("hid..app", "..la..hid..app", "hid:app")
    yield TreeTwins("the listener's own volume", own[0], own[1], relative, ids)


TREE_TWINS: Final = tuple(_all())

TREE_SETTINGS: Final[tuple[Mapping[str, Any], ...]] = (
    {},
    {"spelling": "legal"},
    {"spelling": "slash"},
    {"list_namespaces": True, "list_tree": True},
    {"home": "team-a"},
    {"home": "team-a", "escape": True},
)
"""Settings of the client's listener."""
