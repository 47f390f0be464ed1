"""The names of ACL patterns: as one view's clients write them, and as the catalog keeps them.

The catalog knows logical names from the root. Under a home names are relative, as all names there:
``orders`` is ``team-a:orders``, and LITERAL ``*``, every resource, is PREFIXED ``team-a:``, every
resource of the home. Either spelling is read; what is shown reads back as the same pattern.
"""

from __future__ import annotations

from typing import Final

from gateway.acl_model import NAMESPACED, WILDCARD, PatternType, ResourcePattern, ResourceType
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST
from gateway.names import DELIMITER, END_OF_NAMESPACE, InvalidName, check_namespace, flat_prefix
from gateway.views.spelling import MAX_SPELLED, id_owner
from gateway.views.view import MAX_ID_BYTES, View

_REST: Final = "t"
"""Stands for what a name goes on with: what a legal spelling spells is known with a topic only."""


def pattern_named(
    view: View, kind: ResourceType, pattern_type: PatternType, name: str
) -> ResourcePattern | Denied:
    """The pattern that a client means. ``pattern_type`` is LITERAL or PREFIXED.

    Namespaces need not exist, as topics need not in Kafka, but to be spelled the legal way.
    """
    home = view.settings.home
    if kind not in NAMESPACED:
        if home:
            what = kind.name.lower().replace("_", " ")
            message = (
                f"ACLs of resources of type {what} are for the whole cluster; they are managed"
                f" where no home namespace is in force, and '{home}' is here."
            )
            return Denied(CLUSTER_AUTHORIZATION_FAILED, message, "access")
        return ResourcePattern(kind, pattern_type, name)
    if name == WILDCARD and pattern_type is PatternType.LITERAL:
        return home_wildcard(view, kind) or ResourcePattern(kind, pattern_type, name)
    try:
        text = _topic(view, name) if kind is ResourceType.TOPIC else _id(view, name)
    except InvalidName as error:
        message = str(error)
        return Denied(INVALID_REQUEST, f"{message[:1].upper()}{message[1:]}.", "names")
    return ResourcePattern(kind, pattern_type, text)


def shown_pattern(view: View, pattern: ResourcePattern) -> ResourcePattern | None:
    """A pattern with its name as the view's clients write it; None for what they do not see."""
    kind, pattern_type, name = pattern.type, pattern.pattern_type, pattern.name
    if pattern == home_wildcard(view, kind):
        return ResourcePattern(kind, PatternType.LITERAL, WILDCARD)
    for text in _spellings(view, pattern):
        if pattern_named(view, kind, pattern_type, text) == pattern:
            return ResourcePattern(kind, pattern_type, text)
    if view.settings.home:
        return None
    # An id that was written before there was the namespace that it spells: it is shown as it is.
    return ResourcePattern(kind, pattern_type, name)


def home_wildcard(view: View, kind: ResourceType) -> ResourcePattern | None:
    """What LITERAL ``*`` stands for under a home; None without one."""
    home = view.settings.home
    if not home or kind not in NAMESPACED:
        return None
    return ResourcePattern(kind, PatternType.PREFIXED, home + DELIMITER)


# -- names that are read ---------------------------------------------------------------------------


def _topic(view: View, name: str) -> str:
    """The catalog's text for a topic's or namespace's name, or the beginning of one.

    Raises InvalidName.
    """
    if len(name) > MAX_SPELLED:
        raise InvalidName(f"a name of {len(name)} characters is longer than any name can be")
    home, escape = view.settings.home, view.settings.escape
    if name == DELIMITER:
        if home:
            return home + DELIMITER
        raise InvalidName(f"'{DELIMITER}' names no namespace; '{WILDCARD}' stands for every topic")
    from_root = name.startswith(DELIMITER)
    if not from_root and not (home and name.startswith(END_OF_NAMESPACE)):
        text = _under(home, name) if home else _spelled(view, name)
    elif home and not escape:
        raise InvalidName(f"'{name}' is outside namespace '{home}', the home here")
    elif from_root:
        text = name.removeprefix(DELIMITER)
    else:
        text = _spelled(view, name.removeprefix(END_OF_NAMESPACE))
    namespace, _, rest = text.rpartition(DELIMITER)
    if namespace:
        check_namespace(namespace)
    elif not text or DELIMITER in text:
        raise InvalidName(f"'{name}' names nothing")
    if namespace and rest == WILDCARD:
        where = name.removesuffix(WILDCARD)
        raise InvalidName(
            f"'{WILDCARD}' in '{name}' is no wildcard; pattern type PREFIXED with the name"
            f" '{where}' covers all in it and below"
        )
    return text


def _id(view: View, name: str) -> str:
    """The same for a group or transactional id: see ``Access.id_resource``."""
    home = view.settings.home
    text = _under(home, name) if home else _spelled_id(view, name)
    if len(text.encode()) > MAX_ID_BYTES:
        raise InvalidName(f"an id of {len(name.encode())} bytes is longer than any id can be")
    return text


def _under(home: str, name: str) -> str:
    return f"{home}{DELIMITER}{name}"


def _spelled(view: View, name: str) -> str:
    """The colon form of a name from the root: ``org..or`` is ``org:or`` if ``org`` exists."""
    if DELIMITER in name:
        return name
    spelled = view.snapshot.spelled(name + _REST)
    return str(spelled).removesuffix(_REST) if spelled.namespace else name


def _spelled_id(view: View, name: str) -> str:
    """The same for an id, which may hold any character: what a request about it is asked by."""
    owned = id_owner(view.snapshot, name + _REST)
    return name if owned is None else DELIMITER.join(owned).removesuffix(_REST)


# -- names that are shown --------------------------------------------------------------------------


def _spellings(view: View, pattern: ResourcePattern) -> list[str]:
    """How a pattern's name may be written in this view, the listener's own way first."""
    settings, name = view.settings, pattern.name
    if pattern.type not in NAMESPACED:
        return [name]
    namespace, colon, rest = name.rpartition(DELIMITER)
    is_topic = pattern.type is ResourceType.TOPIC
    legal = [flat_prefix(namespace) + rest] if colon and settings.spelling == "legal" else []
    home = settings.home
    if not home:
        return [*legal, name, *([DELIMITER + name] if is_topic else [])]
    prefix = home + DELIMITER
    if name == prefix:
        return [DELIMITER]
    if name.startswith(prefix):
        return [name.removeprefix(prefix)]
    if not settings.escape or not is_topic:
        return []
    return [*(END_OF_NAMESPACE + text for text in legal), DELIMITER + name]
