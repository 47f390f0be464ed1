"""Kafka's ACL model in logical names: resources, patterns, operations, entries.

Codes are those of the wire (org.apache.kafka.common.acl and .resource). A namespace is a TOPIC
resource whose name ends in ``:`` (``org:apache:``), as it is for the tools that manage topics.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from gateway.names import DELIMITER

WILDCARD: Final = "*"
"""As a resource name every resource of its type; as a host every host."""

ANY_USER: Final = "User:*"
"""The principal that stands for every user (KIP-11)."""

CLUSTER_NAME: Final = "kafka-cluster"
"""The one name that a CLUSTER resource has."""


class ResourceType(IntEnum):
    """What a resource is."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How a pattern covers names (KIP-290). MATCH and ANY stand in filters alone."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """What is done with a resource."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """What an entry says. ANY stands in filters alone."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing that an operation is done with.

    ``namespace`` is its tier path (``""``: the default namespace), ``name`` what follows it; an
    empty ``name`` is the namespace itself (of TOPIC alone). The group ``app`` of home ``team-a``
    is ``team-a:app``, as its transactional ids are.
    """

    type: ResourceType
    namespace: str
    name: str

    @property
    def text(self) -> str:
        """The whole logical name: ``org:apache:orders``; a namespace's is ``org:apache:``."""
        return f"{self.namespace}{DELIMITER}{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.type.name} {self.text}"


CLUSTER: Final = Resource(ResourceType.CLUSTER, "", CLUSTER_NAME)


def resource(kind: ResourceType, logical: str) -> Resource:
    """The resource of a logical name: ``org:apache:orders``, or ``org:apache:`` a namespace."""
    namespace, _, name = logical.rpartition(DELIMITER)
    # A leading ``:``, as a group may have one, begins no namespace: it is part of the name.
    return Resource(kind, namespace, name) if namespace else Resource(kind, "", logical)


@dataclass(frozen=True, slots=True)
class ResourcePattern:
    """What an ACL is about: the key under which the catalog keeps it.

    ``name`` is a logical name, ``*``, or for PREFIXED the beginning of one. ``pattern_type`` is
    LITERAL or PREFIXED. A PREFIXED name that ends in ``:`` covers the namespace and all below it;
    any other covers only names in its own namespace. LITERAL ``*`` covers all.
    """

    type: ResourceType
    pattern_type: PatternType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name}:{self.pattern_type.name}:{self.name}"


def pattern_of(text: str) -> ResourcePattern:
    """The reverse of ``str(pattern)``: ``TOPIC:LITERAL:org:orders``. Raises ValueError."""
    try:
        kind, pattern_type, name = text.split(DELIMITER, 2)
        pattern = ResourcePattern(ResourceType[kind], PatternType[pattern_type], name)
    except (ValueError, KeyError):
        raise ValueError(f"{text!r} is no pattern of ACLs") from None
    if pattern.type <= ResourceType.ANY or pattern.pattern_type <= PatternType.MATCH or not name:
        raise ValueError(f"{text!r} is no pattern of ACLs")
    return pattern


@dataclass(frozen=True, slots=True, order=True)
class AclEntry:
    """Who may, or may not, do what from where. ``principal`` is ``User:alice``, ``host`` an IP
    address as text or ``*``."""

    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        host = "" if self.host == WILDCARD else f" from {self.host}"
        return f"{self.permission.name} {self.operation.name} for {self.principal}{host}"


@dataclass(frozen=True, slots=True)
class AclBinding:
    """One ACL, as tools list it."""

    pattern: ResourcePattern
    entry: AclEntry

    def __str__(self) -> str:
        return f"{self.entry} on {self.pattern}"


MAX_ENTRIES: Final = 5_000
"""Entries of one pattern: its record in the catalog stays below 1 MiB, a broker's default limit."""
