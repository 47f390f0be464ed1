"""Which names a pattern covers (KIP-290), with namespaces in them.

Everything here is about whole logical names, as text: ``orders``, ``org:apache:orders``, and
``org:apache:`` for a namespace. Only topics, groups and transactional ids live in namespaces;
names of other types are text without parts, as all are in Kafka.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from gateway.acl_model import WILDCARD, PatternType, Resource, ResourcePattern, ResourceType
from gateway.names import DELIMITER

NAMESPACED: Final = frozenset(
    {ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID}
)
"""The types whose names are in namespaces."""

_TOPIC: Final = ResourceType.TOPIC


class Name(NamedTuple):
    """A name in its parts: ``head`` is the namespace that it is in, with a final ``:`` (empty: the
    default one), ``tail`` what follows. ``itself``: it is a namespace, which is in the one above.
    """

    text: str
    head: str
    tail: str
    itself: bool = False


def name_of(kind: ResourceType, text: str) -> Name:
    """The parts of a whole logical name.

    >>> name_of(ResourceType.TOPIC, "org:apache:")
    Name(text='org:apache:', head='org:', tail='apache:', itself=True)
    """
    at = text.rfind(DELIMITER) + 1
    if not at or kind not in NAMESPACED:
        return Name(text, "", text)
    itself = at == len(text) and kind is _TOPIC
    if itself:
        at = text.rfind(DELIMITER, 0, at - 1) + 1
    return Name(text, text[:at], text[at:], itself)


def anything_in(tier: str) -> Name:
    """A name in a namespace (with its final ``:``) that no pattern is about but those about all of
    it; of ``""`` a name that only LITERAL ``*`` covers."""
    return Name("", tier, "")


def tiers_of(head: str) -> list[str]:
    """A namespace and all above it, outermost first, each with its final ``:``.

    >>> tiers_of("org:apache:")
    ['org:', 'org:apache:']
    """
    found = []
    at = head.find(DELIMITER) + 1
    while at:
        found.append(head[:at])
        at = head.find(DELIMITER, at) + 1
    return found


def is_namespace(pattern: ResourcePattern) -> bool:
    """Whether a pattern has the name of a namespace: it ends in ``:``."""
    return pattern.name.endswith(DELIMITER) and pattern.type in NAMESPACED


def covers(pattern: ResourcePattern, kind: ResourceType, text: str) -> bool:
    """Whether a pattern is about the resource of this type and whole logical name.

    A PREFIXED name that ends in ``:`` covers that namespace and everything below; any other stays
    within its own namespace.
    """
    if pattern.type is not kind:
        return False
    name = pattern.name
    if pattern.pattern_type is PatternType.LITERAL:
        return name in (WILDCARD, text)
    if not text.startswith(name):
        return False
    return kind not in NAMESPACED or name.endswith(DELIMITER) or DELIMITER not in text[len(name) :]


def namespace_of(pattern: ResourcePattern) -> str | None:
    """The innermost namespace that everything a pattern covers is in; None: there is none.

    ``org:apache:`` and ``org:apache:x`` are inside ``org:apache``. LITERAL ``*``, and what is
    shorter than ``org:``, reach beyond any namespace.
    """
    if pattern.type not in NAMESPACED:
        return None
    return pattern.name.rpartition(DELIMITER)[0] or None


def namespace_resource(namespace: str) -> Resource:
    """A namespace as a resource: ``org:apache`` is the TOPIC ``org:apache:``."""
    return Resource(ResourceType.TOPIC, namespace, "")
