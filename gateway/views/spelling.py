"""Spelling: parses the names that clients write, and spells the names that they are shown.

Pure functions of a listener's settings and a catalog snapshot; ``view`` caches their results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from gateway.catalog.snapshot import Snapshot
from gateway.mounts import Mounts
from gateway.names import (
    DELIMITER,
    END_OF_NAMESPACE,
    MAX_FLAT_LENGTH,
    InvalidName,
    LogicalName,
    NoTopicHere,
    check_namespace,
    decode,
    encode,
    flat_prefix,
    is_reserved,
)

Spelling = Literal["colon", "legal", "slash"]

_ANY_TOPIC: Final = "t"

MAX_SPELLED: Final = 1000
"""Characters of the longest name that is parsed: far more than any name has (see ``names``), so
that longer ones cost nothing."""


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """A listener's part of a view.

    ``home`` is the namespace that bare names resolve in and that confines the view (``""``: none).
    ``escape`` lets a name with a leading ``:`` (legal: ``..``) reach the root all the same.
    ``list_subtree``: listings, and subscriptions by regular expression, reach the namespaces
    below the view's own, not only that one. ``list_namespaces``: they hold namespaces, too.
    ``namespace_like``: topics of the default namespace may be created under names that read as a
    namespace's.
    ``mounts`` are those of the tree (None: there is no tree), ``volume`` is the mount of the
    cluster that the view is of, ``listener_volume`` that which relative names are in.
    """

    listener: str
    spelling: Spelling = "colon"
    home: str = ""
    escape: bool = False
    list_subtree: bool = True
    list_namespaces: bool = False
    namespace_like: bool = False
    mounts: Mounts | None = None
    volume: str = ""
    listener_volume: str = ""

    @property
    def scope(self) -> str:
        """The scope in which a group id is unique: a listener and a home."""
        return f"{self.listener}/{self.home}"


def parse(settings: ViewSettings, snapshot: Snapshot, spelled: str) -> LogicalName:
    """The logical name a spelling stands for, whether or not its namespace exists.

    Raises :class:`gateway.names.InvalidName` for what names no topic, or none in this view.
    """
    _check_length(spelled)
    home = settings.home
    outside = spelled.startswith(DELIMITER) or (home and spelled.startswith(END_OF_NAMESPACE))
    if home and outside and not settings.escape:
        raise _outside(settings, spelled)
    if spelled.startswith(DELIMITER):
        rest = spelled.removeprefix(DELIMITER)
        return LogicalName(*_split(rest)) if DELIMITER in rest else LogicalName("", rest)
    if not home or outside:
        rest = spelled.removeprefix(END_OF_NAMESPACE) if home else spelled
        return LogicalName(*_split(rest)) if DELIMITER in rest else snapshot.spelled(rest)
    namespace, topic = _split(spelled)
    return LogicalName(f"{home}{DELIMITER}{namespace}" if namespace else home, topic)


def parse_namespace(settings: ViewSettings, snapshot: Snapshot, spelled: str) -> str | None:
    """The namespace that a name denotes; None for a name that denotes a topic.

    A name that ends in ``:`` always denotes one, whether or not it exists; a legal spelling
    (``org.apache..``) only one that does. Raises :class:`gateway.names.InvalidName` for a
    malformed path and for one that is outside this view.
    """
    _check_length(spelled)
    if spelled.endswith(DELIMITER):
        path = from_home(settings, spelled.removesuffix(DELIMITER))
        check_namespace(path)
        return path
    if not spelled.endswith(END_OF_NAMESPACE):
        return None
    try:
        # Any topic will do: what counts is the namespace before it.
        name = parse(settings, snapshot, spelled + _ANY_TOPIC)
    except InvalidName:
        return None
    return name.namespace if name.namespace and name.topic == _ANY_TOPIC else None


def from_home(settings: ViewSettings, path: str) -> str:
    """A tier path as a client writes it, as one from the root.

    Raises :class:`gateway.names.InvalidName` where a home does not let it out.
    """
    home = settings.home
    outside = path.startswith(DELIMITER) or (home and path.startswith(END_OF_NAMESPACE))
    if not outside:
        return f"{home}{DELIMITER}{path}" if home else path
    if home and not settings.escape:
        raise _outside(settings, path)
    return path.removeprefix(DELIMITER)


def spell(settings: ViewSettings, snapshot: Snapshot, flat: str) -> str | None:
    """A flat name in the listener's spelling; None if this view may not see it, or its namespace
    is being deleted. Where the view does not reach the topic's own name, its first link there."""
    if is_reserved(flat):
        return None
    name = snapshot.owner(flat)
    reached = snapshot.entry_of(name)
    if reached is not None and reached.flat != flat:
        return None  # another topic has the name that this one's flat name spells
    if flat not in snapshot.topics and name in snapshot.links:
        return None  # a link has it
    shown = spell_name(settings, snapshot, name)
    if shown is not None or snapshot.missing_tier(name.namespace) is not None:
        return shown
    links = (spell_name(settings, snapshot, link) for link in snapshot.links_of(flat))
    return next((link for link in links if link is not None), None)


def name_shown(settings: ViewSettings, snapshot: Snapshot, flat: str) -> LogicalName:
    """The name that :func:`spell` spells, under which this view's clients are authorized: the
    topic's own, or where the view does not reach that its first link there."""
    name = snapshot.owner(flat)
    links = snapshot.links_of(flat)
    if not links or spell_name(settings, snapshot, name) is not None:
        return name
    shown = (link for link in links if spell_name(settings, snapshot, link) is not None)
    return next(shown, name)


def spell_name(settings: ViewSettings, snapshot: Snapshot, name: LogicalName) -> str | None:
    """A topic's name, or an alias of it, in the listener's spelling; None as for :func:`spell`."""
    if snapshot.missing_tier(name.namespace) is not None:
        return None
    home, legal = settings.home, settings.spelling == "legal"
    if home:
        inside = below(name.namespace, home)
        shown = "" if inside is None else str(LogicalName(inside, name.topic))
        # A topic that begins with ".." reads as one outside the home: it has no name here.
        if shown and not shown.startswith(END_OF_NAMESPACE):
            return shown
        if not settings.escape:
            return None
    try:
        shown = encode(name) if legal else str(name)
    except InvalidName:
        return None
    if home:
        return (END_OF_NAMESPACE if legal else DELIMITER) + shown
    if not name.namespace and snapshot.spelled(shown) != name:
        return DELIMITER + shown
    return shown


def spell_namespace(settings: ViewSettings, path: str) -> str | None:
    """A namespace as :func:`parse_namespace` reads it: ``org:apache:``, legal ``org.apache..``;
    None where the view does not reach it."""
    home = settings.home
    if home:
        inside = below(path, home)
        if inside:
            return inside + DELIMITER
        if not settings.escape:
            return None
    if settings.spelling == "legal":
        return (END_OF_NAMESPACE if home else "") + flat_prefix(path)
    return (DELIMITER if home else "") + path + DELIMITER


def below(namespace: str, home: str) -> str | None:
    """``namespace`` relative to ``home`` (``""``: the root); None when it is not in its subtree."""
    if not home or namespace == home:
        return namespace if not home else ""
    inside = namespace.removeprefix(home + DELIMITER)
    return inside if inside != namespace else None


def id_owner(snapshot: Snapshot, text: str) -> tuple[str, str] | None:
    """Namespace and rest of an absolute group or transactional id: ``team-a..app`` is ``app`` of
    home team-a. Ids may hold any character, so only the prefix is parsed."""
    at = text.find(END_OF_NAMESPACE, 0, MAX_FLAT_LENGTH)
    while at > 0:
        prefix, rest = text[: at + len(END_OF_NAMESPACE)], text[at + len(END_OF_NAMESPACE) :]
        # A tier may end in a dot, so the first two dots are not always the end.
        namespace = decode(prefix + _ANY_TOPIC).namespace
        if rest and namespace in snapshot.namespaces and flat_prefix(namespace) == prefix:
            return namespace, rest
        at = text.find(END_OF_NAMESPACE, at + 1, MAX_FLAT_LENGTH)
    return None


def _check_length(spelled: str) -> None:
    if len(spelled) > MAX_SPELLED:
        raise InvalidName(f"a name of {len(spelled)} characters is longer than any name can be")


def _split(spelled: str) -> tuple[str, str]:
    namespace, _, topic = spelled.rpartition(DELIMITER)
    if not topic:
        check_namespace(namespace)
        raise NoTopicHere(f"'{spelled}' names a namespace, not a topic in it")
    return namespace, topic


def _outside(settings: ViewSettings, spelled: str) -> InvalidName:
    return NoTopicHere(f"'{spelled}' is outside namespace '{settings.home}' of this listener")
