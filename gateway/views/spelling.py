"""Spelling: parses the names that clients write, and spells the names that clients get.

Pure functions of a listener's settings and a catalog snapshot; ``view`` caches their results.
"""

from __future__ import annotations

from typing import Final

from gateway.catalog.snapshot import Snapshot
from gateway.mounts import Mount, Mounts, OtherVolume
from gateway.names import (
    DELIMITER,
    END_OF_NAMESPACE,
    SLASH,
    InvalidName,
    LogicalName,
    NoTopicHere,
    below,
    check_namespace,
    encode,
    flat_prefix,
    is_reserved_name,
    owner_of_id,
)
from gateway.views import absolute
from gateway.views.absolute import hidden_by
from gateway.views.view_settings import Spelling, ViewSettings

__all__ = ["Spelling", "ViewSettings", "below", "hidden_by"]

_ANY_TOPIC: Final = "t"

MAX_SPELLED: Final = 1000
"""Characters of the longest name that is parsed: far longer than any name (see ``names``), so that
a client's longer names cost nothing."""


def parse(settings: ViewSettings, snapshot: Snapshot, spelled: str) -> LogicalName:
    """The logical name that a spelling stands for, even if its namespace does not exist.

    Raises :class:`gateway.names.InvalidName` for a spelling that names no topic of this view, and
    :class:`gateway.mounts.OtherVolume` for a name of another volume.
    """
    _check_length(spelled)
    written, spelled = spelled, with_colons(settings, spelled)
    home = settings.home
    if settings.mounts is not None:
        if _is_absolute(settings, settings.mounts, spelled, written):
            return absolute.parse_topic(settings, settings.mounts, spelled, written)
    elif spelled.startswith(DELIMITER) or (home and spelled.startswith(END_OF_NAMESPACE)):
        if home and not settings.escape:
            raise _outside(home, written)
        if spelled.startswith(DELIMITER):
            rest = spelled.removeprefix(DELIMITER)
            return LogicalName(*_split(rest)) if DELIMITER in rest else LogicalName("", rest)
        return _from_root(snapshot, spelled.removeprefix(END_OF_NAMESPACE))
    if not home:
        return _from_root(snapshot, spelled)
    namespace, topic = _split(spelled)
    return LogicalName(f"{home}{DELIMITER}{namespace}" if namespace else home, topic)


def parse_namespace(
    settings: ViewSettings, snapshot: Snapshot, spelled: str, *, existing: bool = True
) -> str | None:
    """The namespace that a name denotes; None for a name that denotes a topic.

    A name that ends in ``:`` always denotes a namespace, even one that does not exist. A legal
    spelling (``org.apache..``) denotes a namespace only if the namespace exists. Unless
    ``existing``, one from the root of a tree (``..la.org..``) always does: it can be no topic's.
    Raises :class:`gateway.names.InvalidName` for a malformed path and for a path outside this view.
    """
    _check_length(spelled)
    written, spelled = spelled, with_colons(settings, spelled)
    if spelled.endswith(DELIMITER):
        path = _from_home(settings, spelled.removesuffix(DELIMITER), written)
        check_namespace(path)
        return path
    if not spelled.endswith(END_OF_NAMESPACE):
        return None
    try:
        # Any topic will do, because only the namespace before the topic counts.
        name = parse(settings, snapshot, spelled + _ANY_TOPIC)
    except InvalidName:
        return None
    namespace = name.namespace if name.topic == _ANY_TOPIC else ""
    if existing and settings.mounts is not None and namespace not in snapshot.namespaces:
        return None
    return namespace or None


def _from_home(settings: ViewSettings, path: str, written: str) -> str:
    """A client's tier path, with colons, as a path from the root of the volume.

    Raises :class:`gateway.names.InvalidName` if the path leaves a home that has no escape.
    """
    home = settings.home
    if settings.mounts is not None:
        if path and _is_absolute(settings, settings.mounts, path + DELIMITER, written):
            if not path.startswith(DELIMITER):
                raise absolute.mixed(written)
            path = path.removeprefix(DELIMITER)
            return absolute.parse_path(settings, settings.mounts, path, written)
    elif path.startswith(DELIMITER) or (home and path.startswith(END_OF_NAMESPACE)):
        if home and not settings.escape:
            raise _outside(home, written.removesuffix(DELIMITER))
        return path.removeprefix(DELIMITER)
    return f"{home}{DELIMITER}{path}" if home else path


def parse_absolute(settings: ViewSettings, written: str) -> str | None:
    """An absolute name, or the beginning of such a name, as ``absolute.parse_text`` returns it;
    None for a relative name, and without a tree. Raises as :func:`parse`."""
    if settings.mounts is None:
        return None
    name = with_colons(settings, written)
    if not _is_absolute(settings, settings.mounts, name, written):
        return None
    return absolute.parse_text(settings, settings.mounts, name, written)


def directory_named(settings: ViewSettings, spelled: str) -> str | None:
    """The path from the root of the tree's directory that a name denotes: a directory that only
    leads to mounts, or the view's mount."""
    if settings.mounts is None or len(spelled) > MAX_SPELLED:
        return None
    try:
        name = with_colons(settings, spelled)
        if not _is_absolute(settings, settings.mounts, name, spelled):
            return None
        return absolute.directory_named(settings, settings.mounts, name)
    except InvalidName:
        return None


def volume_of(settings: ViewSettings, spelled: str) -> Mount | None:
    """The mount that owns the name of a topic or namespace, whatever the volume of the view. None:
    no mount owns the name, and the listener's volume answers for it.

    The settings have to hold mounts.
    """
    mounts = settings.mounts
    assert mounts is not None
    try:
        name = with_colons(settings, spelled[:MAX_SPELLED])
        if (settings.home or settings.home_elsewhere) and not settings.escape:
            return mounts.at(settings.listener_volume)
        if _begins_at_root(settings, name):
            return mounts.owner(absolute.path_of(name))
    except InvalidName:
        pass
    return mounts.at(settings.listener_volume)


def spell(settings: ViewSettings, snapshot: Snapshot, flat: str) -> str | None:
    """A flat name in the listener's spelling; None if this view may not see the topic, or if its
    namespace is being deleted. If the view does not reach the topic's own name, the topic's first
    link in the view."""
    name = snapshot.owner(flat)
    reached = snapshot.entry_of(name)
    if reached is not None and reached.flat != flat:
        return None  # another topic has the name that this flat name spells
    if flat not in snapshot.topics and name in snapshot.links:
        return None  # a link has the name
    shown = spell_name(settings, snapshot, name)
    if shown is not None or snapshot.missing_tier(name.namespace) is not None:
        return shown
    links = (spell_name(settings, snapshot, link) for link in snapshot.links_of(flat))
    return next((link for link in links if link is not None), None)


def name_shown(settings: ViewSettings, snapshot: Snapshot, flat: str) -> LogicalName:
    """The name that :func:`spell` spells, under which this view's clients are authorized: the
    topic's own name, or, if the view does not reach it, the topic's first link in the view."""
    name = snapshot.owner(flat)
    links = snapshot.links_of(flat)
    if not links or spell_name(settings, snapshot, name) is not None:
        return name
    shown = (link for link in links if spell_name(settings, snapshot, link) is not None)
    return next(shown, name)


def spell_name(settings: ViewSettings, snapshot: Snapshot, name: LogicalName) -> str | None:
    """A topic's name, or an alias of it, in the listener's spelling; None as for :func:`spell`."""
    if settings.shut or is_reserved_name(name):
        return None
    if snapshot.missing_tier(name.namespace) is not None:
        return None
    return spell_anywhere(settings, snapshot, name)


def spell_anywhere(settings: ViewSettings, snapshot: Snapshot, name: LogicalName) -> str | None:
    """A topic's name in the listener's spelling, even if its namespace does not exist."""
    if not settings.is_relative:
        return _spell_from_root(settings, name)
    home = settings.home
    if home:
        inside = below(name.namespace, home)
        shown = "" if inside is None else str(LogicalName(inside, name.topic))
        # A topic that begins with ".." has no name here: it would read as outside the home.
        if shown and not shown.startswith(END_OF_NAMESPACE):
            return absolute.shown_as(settings, shown)
        return _spell_from_root(settings, name) if settings.escape else None
    try:
        shown = encode(name) if settings.spelling == "legal" else str(name)
    except InvalidName:
        return None
    if not name.namespace and (
        snapshot.spelled(shown) != name
        or (settings.mounts is not None and shown.startswith(END_OF_NAMESPACE))
    ):
        if settings.mounts is not None:
            return absolute.spell_topic(settings, settings.mounts, name)
        shown = DELIMITER + shown
    return absolute.shown_as(settings, shown)


def _spell_from_root(settings: ViewSettings, name: LogicalName) -> str | None:
    if settings.mounts is not None:
        return absolute.spell_topic(settings, settings.mounts, name)
    if settings.spelling != "legal":
        return absolute.shown_as(settings, DELIMITER + str(name))
    try:
        return END_OF_NAMESPACE + encode(name)
    except InvalidName:
        return None


def spell_namespace(settings: ViewSettings, path: str) -> str | None:
    """A namespace in the spelling that :func:`parse_namespace` reads: ``org:apache:``, legal
    ``org.apache..``; None if the view does not reach the namespace."""
    if settings.shut:
        return None
    home = settings.home
    if home:
        inside = below(path, home)
        if inside:
            return absolute.shown_as(settings, inside + DELIMITER)
        if not settings.escape:
            return None
    if settings.mounts is not None and (home or not settings.is_relative):
        return absolute.spell_namespace(settings, settings.mounts, path)
    if settings.spelling == "legal":
        return (END_OF_NAMESPACE if home else "") + flat_prefix(path)
    shown = f"{DELIMITER if home else ''}{path}{DELIMITER}"
    return absolute.shown_as(settings, shown)


def id_owner(snapshot: Snapshot, text: str) -> tuple[str, str] | None:
    """The result of :func:`gateway.names.owner_of_id`, if that namespace exists; else None."""
    owned = owner_of_id(text)
    return owned if owned is not None and owned[0] in snapshot.namespaces else None


def _check_length(spelled: str) -> None:
    if len(spelled) > MAX_SPELLED:
        raise InvalidName(f"a name of {len(spelled)} characters is longer than any name can be")


def with_colons(settings: ViewSettings, spelled: str) -> str:
    """A name with ``:`` in place of ``/``, if the listener's clients may use ``/`` as a delimiter.
    Raises InvalidName for a name with both."""
    if SLASH not in spelled or not settings.reads_slashes:
        return spelled
    if DELIMITER in spelled:
        raise absolute.mixed(spelled)
    return spelled.replace(SLASH, DELIMITER)


def _is_absolute(settings: ViewSettings, mounts: Mounts, name: str, written: str) -> bool:
    """Whether a name in a tree begins at the tree's root. Raises InvalidName if the name leaves a
    home that has no escape, and OtherVolume for a relative name outside this view's volume."""
    home = settings.home or settings.home_elsewhere
    if _begins_at_root(settings, name):
        if home and not settings.escape:
            raise _outside(home, written)
        return True
    if not settings.is_relative:
        volume = settings.listener_volume
        message = (
            f"'{written}' is in volume '{DELIMITER}{volume}', where relative names of this listener"
            f" are, and the request is for '{DELIMITER}{settings.volume}': write the name from the"
            " root, in one volume"
        )
        raise OtherVolume(message, mounts.at(volume))
    return False


def _begins_at_root(settings: ViewSettings, name: str) -> bool:
    """Whether a name begins at the root of the tree: with a leading ``:``, or in legal spelling.
    Without a home ``..a:x`` is a topic of namespace ``..a``."""
    if name.startswith(DELIMITER):
        return True
    home = settings.home or settings.home_elsewhere
    return name.startswith(END_OF_NAMESPACE) and (bool(home) or DELIMITER not in name)


def _from_root(snapshot: Snapshot, name: str) -> LogicalName:
    return LogicalName(*_split(name)) if DELIMITER in name else snapshot.spelled(name)


def _split(spelled: str) -> tuple[str, str]:
    namespace, _, topic = spelled.rpartition(DELIMITER)
    if not topic:
        check_namespace(namespace)
        raise NoTopicHere(f"'{spelled}' names a namespace, not a topic in it")
    return namespace, topic


def _outside(home: str, spelled: str) -> InvalidName:
    return NoTopicHere(f"'{spelled}' is outside namespace '{home}' of this listener")
