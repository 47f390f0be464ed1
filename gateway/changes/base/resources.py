"""The resources of a config request, as what they are: topics, namespaces, or rejected; and the
operations on their configs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION
from gateway.names import DELIMITER, InvalidName
from gateway.rules.access import check_resource
from gateway.rules.error_text import TextFacts, restored
from gateway.views.spelling import below
from gateway.views.view import View
from protocol.pausing import paced

OWN: Final = 1
"""DYNAMIC_TOPIC_CONFIG: set on the topic itself (DescribeConfigsResponse.ConfigSource)."""

INHERITED: Final = 3
"""DYNAMIC_DEFAULT_BROKER_CONFIG: how what a namespace sets is told."""

DEFAULT: Final = 5
"""DEFAULT_CONFIG."""

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
    """What a client means by a resource. ``:`` alone is the outermost namespace it sees."""
    why = check_resource(resource_type, name)
    if why is not None:
        return why
    if name == DELIMITER:
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
    """Why a topic may not be changed from here although one of its names reaches it: it belongs
    elsewhere, and an alias inside this view's home is only there so that clients go on."""
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
    """Why the configs of a home itself may not be changed from inside: they are what its tenant
    was given."""
    settings = view.settings
    if not settings.home or settings.escape or path != settings.home:
        return None
    message = (
        f"The configs of namespace '{settings.home}' itself cannot be changed from a listener that"
        " has it as its home."
    )
    return Denied(INVALID_REQUEST, message, "access")


def in_logical_names(view: View, denied: Denied, topic: TopicResource | None = None) -> Denied:
    """A broker's error as it is told to the client."""
    facts = text_facts(view, {} if topic is None else {topic.flat: topic.name})
    return Denied(denied.code, restored(denied.message.encode(), facts).decode(), denied.rule)


def text_facts(view: View, spelled: Mapping[str, str | None]) -> TextFacts:
    """What a broker's text is read by. ``spelled`` are the topics that were asked for, by flat
    name: these are told as they were spelled, all others (and None) as the view spells them."""

    def shown(flat: bytes) -> bytes | None:
        name = spelled.get(flat.decode(errors="replace"))
        return view.spell(flat) if name is None else name.encode()

    return TextFacts(shown, view, {flat.encode() for flat in paced(spelled)})


def relative_path(view: View, path: str) -> str | None:
    """A namespace path as ``gateway.namespace`` tells it: relative to a home (``""``: the home
    itself), with a leading colon outside of it; None where this view does not reach."""
    home, escape = view.settings.home, view.settings.escape
    if not home or path == home:
        return path.removeprefix(home)
    if path.startswith(home + DELIMITER):
        return path.removeprefix(home + DELIMITER)
    return DELIMITER + path if escape else None


def second_spelling(first: str) -> Denied:
    """The error for a resource that is asked to become two different things."""
    message = f"This is already in the request, as '{first}'."
    return Denied(INVALID_REQUEST, message, "spelling")
