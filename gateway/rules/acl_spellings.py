"""The spellings of an ACL pattern's name in a view, and the volume that owns the pattern."""

from __future__ import annotations

from gateway.acl_model import NAMESPACED, AclFilter, ResourcePattern, ResourceType
from gateway.names import DELIMITER, END_OF_NAMESPACE, flat_prefix
from gateway.views import absolute
from gateway.views.view import View


def spellings(view: View, pattern: ResourcePattern) -> list[str]:
    """The spellings of a pattern's name in this view, the listener's own first."""
    settings, name = view.settings, pattern.name
    if pattern.type not in NAMESPACED:
        return [name]
    namespace, colon, rest = name.rpartition(DELIMITER)
    is_topic = pattern.type is ResourceType.TOPIC
    legal = [flat_prefix(namespace) + rest] if colon and settings.spelling == "legal" else []
    home = settings.home
    if not home:
        if settings.mounts is not None:
            return _in_tree(view, name, [*legal, name], is_topic=is_topic)
        shown = [absolute.shown_as(settings, name)] if is_topic else []
        return [*legal, *shown, name, *([DELIMITER + name] if is_topic else [])]
    prefix = home + DELIMITER
    if name == prefix:
        return [DELIMITER]
    if name.startswith(prefix):
        inside = name.removeprefix(prefix)
        return [absolute.shown_as(settings, inside) if is_topic else inside, inside]
    if not settings.escape or not is_topic:
        return []
    if settings.mounts is not None:
        return absolute.spell_text(settings, name)
    return [*(END_OF_NAMESPACE + text for text in legal), DELIMITER + name]


def _in_tree(view: View, name: str, relative: list[str], *, is_topic: bool) -> list[str]:
    """The spellings of a pattern's name in a tree, for a view that has no home."""
    settings = view.settings
    if is_topic:
        if not settings.is_relative:
            return absolute.spell_text(settings, name)
        shown = [absolute.shown_as(settings, text) for text in relative]
        return [*shown, name, *absolute.spell_text(settings, name)]
    shown_ids = [view.id_to_client(text.encode()) for text in relative]
    return [shown.decode() for shown in shown_ids if shown is not None]


def volume_of_pattern(view: View, kind: ResourceType, name: str | None) -> str:
    """The mount of the volume that owns a client's pattern or filter of one resource type. ``view``
    is any view of the listener."""
    settings = view.settings
    if name is None or kind not in NAMESPACED:
        return settings.listener_volume
    if kind is ResourceType.TOPIC:
        return view.volume_of_topic(name.encode())
    return view.volume_of_group(name.encode())


def volumes_of_filter(view: View, wanted: AclFilter) -> tuple[str, ...]:
    """The mounts of the volumes that resolve a client's filter. There are several if the filter is
    of type ANY and its name belongs to one volume as a topic and to another volume as an id."""
    kinds = sorted(NAMESPACED) if wanted.type is ResourceType.ANY else (wanted.type,)
    found = dict.fromkeys(volume_of_pattern(view, kind, wanted.name) for kind in kinds)
    return tuple(found)
