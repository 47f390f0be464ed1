"""The resources of config requests (topics and namespaces), and the operations on their configs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.changes.base.rejected import BROKER
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION
from gateway.names import DELIMITER, InvalidName, below
from gateway.rules.access import check_resource
from gateway.rules.error_text import TextFacts, restored
from gateway.views.access import Access
from gateway.views.view import View
from protocol.pausing import paced

OWN: Final = 1
"""DYNAMIC_TOPIC_CONFIG: set on the topic itself (DescribeConfigsResponse.ConfigSource)."""

INHERITED: Final = 3
"""DYNAMIC_DEFAULT_BROKER_CONFIG: the source shown for configs that a namespace sets."""

DEFAULT: Final = 5
"""DEFAULT_CONFIG."""

STRING_TYPE: Final = 2
LIST_TYPE: Final = 7
"""STRING and LIST (DescribeConfigsResponse.ConfigType)."""

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of one config key (IncrementalAlterConfigs: AlterConfigOp.OpType)."""

    key: str
    operation: int
    value: str | None = None


@dataclass(frozen=True, slots=True)
class TopicResource:
    """A topic, stored as ``flat``, that the client calls ``name``."""

    name: str
    flat: str


@dataclass(frozen=True, slots=True)
class NamespaceResource:
    """A namespace path (``""``: the default one) that the client calls ``name``."""

    name: str
    path: str


Resource = TopicResource | NamespaceResource | Denied


def resource_named(view: View, resource_type: int, name: str) -> Resource:
    """The topic or namespace that a client names. ``:`` alone is the outermost namespace that the
    client sees."""
    why = check_resource(resource_type, name)
    if why is not None:
        return why
    if view.is_outermost(name):
        return NamespaceResource(name, view.settings.home)
    try:
        path = view.namespace_named(name)
    except InvalidName as error:
        return Denied(INVALID_TOPIC_EXCEPTION, f"{error}.", "names")
    if path is not None:
        return NamespaceResource(name, path)
    found = view.resolve(name.encode())
    if isinstance(found, Denied):
        return found.for_description()
    return TopicResource(name, found.flat.decode())


def moved_out(view: View, name: str, flat: str) -> Denied | None:
    """Why a topic may not be changed from this view although an alias in the view's home reaches
    it. The topic was moved out of the home, and the alias only lets clients keep using it."""
    settings = view.settings
    owner = view.snapshot.owner(flat).namespace
    if not settings.home or settings.escape or below(owner, settings.home) is not None:
        return None
    message = (
        f"Topic '{name}' was moved out of namespace '{settings.home}' of this listener, so it"
        " cannot be changed from here."
    )
    return Denied(INVALID_REQUEST, message, "access")


def own_home(view: View, path: str) -> Denied | None:
    """Why the configs of a home itself may not be changed from inside it: they are set for the
    home's tenant, not by the tenant."""
    settings = view.settings
    if not settings.home or settings.escape or path != settings.home:
        return None
    message = (
        f"The configs of namespace '{settings.home}' itself cannot be changed from a listener that"
        " has it as its home."
    )
    return Denied(INVALID_REQUEST, message, "access")


def in_logical_names(access: Access, denied: Denied, topic: TopicResource | None = None) -> Denied:
    """A broker's error in the client's names. The gateway's own errors are in the client's names
    already, so text in them that looks like a flat name is the client's and stays."""
    if denied.rule != BROKER:
        return denied
    facts = text_facts(access, {} if topic is None else {topic.flat: topic.name})
    return Denied(denied.code, restored(denied.message.encode(), facts).decode(), denied.rule)


def text_facts(access: Access, spelled: Mapping[str, str | None]) -> TextFacts:
    """The replacement of flat names in a broker's text.

    ``spelled``: the topics of the request, by flat name, in the client's spelling. All other topics
    (and those with None) are named only if the client may describe them.
    """

    def shown(flat: bytes) -> bytes | None:
        name = spelled.get(flat.decode(errors="replace"))
        return access.shown(flat) if name is None else name.encode()

    return TextFacts(shown, access.view, {flat.encode() for flat in paced(spelled)})


def relative_path(view: View, path: str) -> str | None:
    """A namespace path as ``gateway.namespace`` shows it; None if this view does not reach it.

    The path is relative to the home (``""``: the home itself). Outside of the home it has a leading
    colon. In a volume other than the listener's it is shown from the root of the tree.
    """
    settings = view.settings
    home, escape = settings.home, settings.escape
    if settings.mounts is not None and not (settings.is_relative and not home):
        inside = below(path, home) if settings.is_relative else None
        if inside is not None:
            return inside
        absolute = DELIMITER.join(tier for tier in (settings.volume, path) if tier)
        return DELIMITER + absolute if escape or not settings.is_relative else None
    if not home or path == home:
        return path.removeprefix(home)
    if path.startswith(home + DELIMITER):
        return path.removeprefix(home + DELIMITER)
    return DELIMITER + path if escape else None


def second_spelling(first: str) -> Denied:
    """The error for a resource that is in the request twice, with different operations."""
    message = f"This is already in the request, as '{first}'."
    return Denied(INVALID_REQUEST, message, "spelling")
