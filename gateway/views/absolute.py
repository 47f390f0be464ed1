"""Absolute names: names that begin at the root of a tree, ``:la:tracking:search:clicks``.

They have two other spellings: ``/la/tracking/search/clicks`` and ``..la.tracking.search..clicks``.
The longest mount that is a prefix of the path owns the name. Pure functions of a listener's
settings, which must hold mounts; ``spelling`` decides whether a name is absolute.
"""

from __future__ import annotations

from typing import Final

from gateway.mounts import Mount, Mounts, OtherVolume, join, prefixes
from gateway.names import (
    DELIMITER,
    END_OF_NAMESPACE,
    SLASH,
    InvalidName,
    LogicalName,
    NoTopicHere,
    below,
    check_namespace,
    decode,
    flat_prefix,
)
from gateway.views.view_settings import ViewSettings

_ANY_TOPIC: Final = "t"


def path_of(name: str) -> str:
    """The path of an absolute name in colon or legal spelling: the namespace of the topic, or the
    namespace that the name denotes. The path may be malformed."""
    return _split(name)[0]


def parse_topic(settings: ViewSettings, mounts: Mounts, name: str, spelled: str) -> LogicalName:
    """The topic of an absolute name in colon or legal spelling, in the volume of ``settings``.
    ``spelled`` is the name as the client wrote it.

    Raises OtherVolume, and InvalidName for a name that denotes no topic.
    """
    path, topic = _split(name)
    if path or not topic or name.startswith(DELIMITER * 2):
        check_namespace(path)
    inside = _inside(settings, mounts, path, spelled)
    if not topic:
        raise NoTopicHere(f"'{spelled}' names a namespace, not a topic in it")
    if not name.startswith(DELIMITER) and END_OF_NAMESPACE in topic:
        advice = DELIMITER + str(LogicalName(path, topic))
        raise NoTopicHere(
            f"'{name}' names no topic: one with '{END_OF_NAMESPACE}' in its own name is written"
            f" with colons, as in '{advice}'"
        )
    return LogicalName(inside, topic)


def parse_path(settings: ViewSettings, mounts: Mounts, path: str, spelled: str) -> str:
    """A path from the root as a path in the volume of ``settings``, below the volume's mount.
    ``spelled`` is the name as the client wrote it.

    Raises OtherVolume, and InvalidName if the path is malformed, is a mount or only leads to
    mounts.
    """
    check_namespace(path)
    inside = _inside(settings, mounts, path, spelled)
    if not inside:
        raise NoTopicHere(f"'{spelled}' is a mount, not a namespace in it")
    return inside


def parse_text(settings: ViewSettings, mounts: Mounts, name: str, spelled: str) -> str:
    """An absolute name, or the beginning of such a name, as a text of the volume of ``settings`` in
    colon spelling: ``search:`` is everything in that namespace, and ``""`` is the volume.

    Raises as :func:`parse_topic`.
    """
    if name.startswith(DELIMITER):
        path, _, rest = name.removeprefix(DELIMITER).rpartition(DELIMITER)
    else:
        path, rest = _split(name + _ANY_TOPIC)
        rest = rest.removesuffix(_ANY_TOPIC)
    if path or name.startswith(DELIMITER * 2):
        check_namespace(path)
    inside = _inside(settings, mounts, path, spelled)
    return f"{inside}{DELIMITER}{rest}" if inside else rest


def spell_text(settings: ViewSettings, text: str) -> list[str]:
    """The absolute spellings of a text of :func:`parse_text`, the listener's own spelling first.
    The list includes spellings that do not read back as the text."""
    namespace, _, rest = text.rpartition(DELIMITER)
    path = join(settings.volume, namespace)
    colon = f"{DELIMITER}{path}{DELIMITER}{rest}" if path else DELIMITER + rest
    first = END_OF_NAMESPACE + flat_prefix(path) + rest
    return [*([first] if settings.spelling == "legal" else []), shown_as(settings, colon), colon]


def spell_mount(settings: ViewSettings) -> str:
    """The mount of ``settings`` with a final delimiter, as the listener spells it."""
    how = ("colon", "slash", "legal").index(settings.spelling)
    return prefixes(settings.volume)[how]


def directory_named(settings: ViewSettings, mounts: Mounts, name: str) -> str | None:
    """The path from the root of a directory, if an absolute name in colon or legal spelling denotes
    a directory that only leads to mounts, or the view's own mount."""
    path, topic = _split(name)
    if topic:
        return None
    owner = mounts.owner(path)
    if owner is None:
        return path if settings.is_relative and mounts.leads_to_mounts(path) else None
    return path if path == owner.path == settings.volume else None


def listed_mounts(settings: ViewSettings, mounts: Mounts) -> dict[str, str]:
    """The mounts in a listing, without a mount at the root: the listener's spelling -> the path."""
    paths = sorted(mount.path for mount in mounts if mount.path)
    return {spell_directory(settings, path): path for path in paths}


def spell_topic(settings: ViewSettings, mounts: Mounts, name: LogicalName) -> str | None:
    """The absolute spelling of a topic in the volume of ``settings``; None if a mount hides it.

    If the topic's own name holds ``..``, it has no legal spelling, and is spelled with colons.
    """
    path = _shown(settings, mounts, name.namespace)
    if path is None:
        return None
    if settings.spelling == "legal" and END_OF_NAMESPACE not in name.topic:
        return END_OF_NAMESPACE + flat_prefix(path) + name.topic
    return shown_as(settings, DELIMITER + str(LogicalName(path, name.topic)))


def spell_namespace(settings: ViewSettings, mounts: Mounts, inside: str) -> str | None:
    """The absolute spelling of a namespace in the volume of ``settings``; None if a mount hides
    it."""
    path = _shown(settings, mounts, inside)
    return None if path is None else spell_directory(settings, path)


def spell_directory(settings: ViewSettings, path: str) -> str:
    """The absolute spelling of any path but the root, even if nothing is there."""
    if settings.spelling == "legal":
        return END_OF_NAMESPACE + flat_prefix(path)
    return shown_as(settings, f"{DELIMITER}{path}{DELIMITER}")


def shown_as(settings: ViewSettings, colons: str) -> str:
    """A name in colon spelling, with the listener's delimiter."""
    return colons.replace(DELIMITER, SLASH) if settings.spelling == "slash" else colons


def parse_id(settings: ViewSettings, mounts: Mounts, client_id: bytes) -> tuple[str, bytes]:
    """The mount of the volume that owns a group or transactional id, and the id in that volume.

    Every id is valid. An id that begins with no mount, and every id under a home, belongs to the
    listener's volume unchanged.
    """
    if not (settings.home or settings.home_elsewhere):
        found = mounts.of_id(client_id)
        if found is not None:
            return found[0].path, found[1]
    return settings.listener_volume, client_id


def spell_id(settings: ViewSettings, mounts: Mounts, own_id: bytes) -> bytes:
    """A non-empty id of the volume of ``settings``, without a home, in a spelling that
    :func:`parse_id` reads back: the id itself if possible, else the id behind the mount.

    The beginning of an id can hide the mount in colon or in slash spelling, but not in both.
    """
    if settings.is_relative and mounts.of_id(own_id) is None:
        return own_id
    colon, slash, _ = prefixes(settings.volume)
    for prefix in (spell_mount(settings), colon):
        shown = prefix.encode() + own_id
        found = mounts.of_id(shown)
        if found is not None and found[1] == own_id:
            return shown
    return slash.encode() + own_id


def hidden_by(settings: ViewSettings, namespace: str) -> Mount | None:
    """The mount that hides a namespace of the volume of ``settings``; None if the namespace has an
    absolute name."""
    if settings.mounts is None:
        return None
    owner = settings.mounts.standing(join(settings.volume, namespace))
    return None if owner is None or owner.path == settings.volume else owner


def _split(name: str) -> tuple[str, str]:
    """The path of an absolute name, and its topic (empty: the name denotes a namespace)."""
    if name.startswith(DELIMITER):
        path, _, topic = name.removeprefix(DELIMITER).rpartition(DELIMITER)
        return path, topic
    rest = name.removeprefix(END_OF_NAMESPACE)
    if DELIMITER in rest:
        raise mixed(name)
    if rest.endswith(END_OF_NAMESPACE):
        path, topic = decode(rest + _ANY_TOPIC)
        if path and topic == _ANY_TOPIC:
            return path, ""
    return decode(rest)


def mixed(name: str) -> InvalidName:
    """The error of a name that mixes two spellings."""
    return InvalidName(f"'{name}' mixes spellings; use one delimiter, '{DELIMITER}' or '{SLASH}'")


def _inside(settings: ViewSettings, mounts: Mounts, path: str, spelled: str) -> str:
    owner = mounts.owner(path)
    delimiter = SLASH if SLASH in spelled else DELIMITER
    if owner is None:
        shown = f"{DELIMITER}{path}".replace(DELIMITER, delimiter)
        if mounts.leads_to_mounts(path):
            raise NoTopicHere(
                f"'{shown}' is a directory that leads to mounts; it holds no topics: name one of a"
                " volume below it"
            )
        raise NoTopicHere(f"no cluster is mounted at '{shown}' or above it")
    if owner.path != settings.volume:
        mount = str(owner).replace(DELIMITER, delimiter)
        raise OtherVolume(f"'{spelled}' is in the volume mounted at '{mount}'", owner)
    inside = below(path, owner.path)
    assert inside is not None
    return inside


def _shown(settings: ViewSettings, mounts: Mounts, namespace: str) -> str | None:
    path = join(settings.volume, namespace)
    owner = mounts.owner(path)
    return path if owner is not None and owner.path == settings.volume else None
