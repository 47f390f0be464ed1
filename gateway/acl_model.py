"""Kafka's ACL model in logical names: resources, patterns, operations, entries.

Codes are the codes of the wire (org.apache.kafka.common.acl and .resource). A namespace is a TOPIC
resource whose name ends in ``:`` (``org:apache:``), as for the tools that manage topics.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, TypeVar

from gateway.names import DELIMITER, owner_of_id

WILDCARD: Final = "*"
"""As a resource name, every resource of its type; as a host, every host."""

ANY_USER: Final = "User:*"
"""The principal that stands for every user (KIP-11)."""

CLUSTER_NAME: Final = "kafka-cluster"
"""The only name of a CLUSTER resource."""


class ResourceType(IntEnum):
    """Kafka's types of resources."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """The type of a pattern (KIP-290). MATCH and ANY occur in filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """Operations on a resource."""

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
    """Whether an entry allows or denies. ANY occurs in filters only."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


_Code = TypeVar("_Code", ResourceType, PatternType, Operation, Permission)


def code_of(kind: type[_Code], value: int) -> _Code:
    """A code of the wire, or UNKNOWN (0) for a code that Kafka 4.3 lacks, as in Kafka."""
    try:
        return kind(value)
    except ValueError:
        return kind(0)


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that an operation concerns.

    ``namespace`` is its tier path (``""``: the default namespace), ``name`` the name within it. If
    ``name`` is empty, the resource is the namespace itself (TOPIC only). The group ``app`` of home
    ``team-a`` is ``team-a:app``; transactional ids likewise.
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


NAMESPACED: Final = frozenset(
    {ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID}
)
"""The types whose names are in namespaces; names of other types have no parts, as in Kafka."""

CLUSTER: Final = Resource(ResourceType.CLUSTER, "", CLUSTER_NAME)


def resource(kind: ResourceType, logical: str) -> Resource:
    """The resource of a logical name: ``org:apache:orders``, or a namespace as ``org:apache:``."""
    namespace, _, name = logical.rpartition(DELIMITER)
    # A leading ``:``, as a group may have one, begins no namespace: it is part of the name.
    return Resource(kind, namespace, name) if namespace else Resource(kind, "", logical)


@dataclass(frozen=True, slots=True)
class ResourcePattern:
    """The pattern of an ACL: the key under which the catalog keeps it.

    ``name`` is a logical name, ``*``, or for PREFIXED the beginning of a logical name.
    ``pattern_type`` is LITERAL or PREFIXED. If a PREFIXED name ends in ``:``, it covers the
    namespace and all below it, else only names in its own namespace. LITERAL ``*`` covers all.
    """

    type: ResourceType
    pattern_type: PatternType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name}:{self.pattern_type.name}:{self.name}"


_IDS: Final = frozenset({ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID})
_REST: Final = "t"
"""Stands for the rest of an id, because the beginning of an id cannot be read without a rest."""


def decided_as(pattern: ResourcePattern) -> ResourcePattern:
    """The pattern by which the authorizer decides on ids. A pattern in the brokers' spelling,
    ``team-a..app``, is decided as ``team-a:app``, which is how :func:`gateway.names.owner_of_id`
    reads such ids; every other pattern is decided as itself. The namespace may not have existed
    when the pattern was written."""
    if pattern.type not in _IDS:
        return pattern
    prefixed = pattern.pattern_type is PatternType.PREFIXED
    owned = owner_of_id(pattern.name + _REST if prefixed else pattern.name)
    if owned is None:
        return pattern
    name = DELIMITER.join(owned)
    name = name.removesuffix(_REST) if prefixed else name
    return ResourcePattern(pattern.type, pattern.pattern_type, name)


def pattern_of(text: str) -> ResourcePattern:
    """The pattern that ``str(pattern)`` wrote: ``TOPIC:LITERAL:org:orders``. Raises ValueError."""
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
    """An operation that is allowed or denied to a ``principal`` (``User:alice``) at a ``host``, an
    IP address as text or ``*``."""

    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        host = "" if self.host == WILDCARD else f" from {self.host}"
        return f"{self.permission.name} {self.operation.name} for {self.principal}{host}"


@dataclass(frozen=True, slots=True)
class AclBinding:
    """An ACL, as tools list it: a pattern and an entry."""

    pattern: ResourcePattern
    entry: AclEntry

    def __str__(self) -> str:
        return f"{self.entry} on {self.pattern}"


MAX_ENTRIES: Final = 5_000
"""Entries of a pattern, so that its record in the catalog stays below 1 MiB, brokers' default
limit."""


class Name(NamedTuple):
    """A name in its parts: ``head`` is its namespace, with a final ``:`` (empty: the default
    namespace), ``tail`` the rest. ``itself``: the name is a namespace, and ``head`` its parent."""

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
    itself = at == len(text) and kind is ResourceType.TOPIC
    if itself:
        at = text.rfind(DELIMITER, 0, at - 1) + 1
    return Name(text, text[:at], text[at:], itself)


def anything_in(tier: str) -> Name:
    """A name in a namespace (with its final ``:``) that only patterns of the whole namespace cover;
    in ``""``, a name that only LITERAL ``*`` covers."""
    return Name("", tier, "")


def tiers_of(head: str) -> list[str]:
    """A namespace and all namespaces above it, outermost first, each with its final ``:``.

    >>> tiers_of("org:apache:")
    ['org:', 'org:apache:']
    """
    found = []
    at = head.find(DELIMITER) + 1
    while at:
        found.append(head[:at])
        at = head.find(DELIMITER, at) + 1
    return found


@dataclass(frozen=True, slots=True)
class AclFilter:
    """A filter of ACLs (KIP-290); a part that is None or ANY matches every ACL.

    With MATCH, ``name`` is the name of a resource, and the filter matches every pattern that covers
    it.
    """

    type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY


def is_namespace(pattern: ResourcePattern) -> bool:
    """Whether a pattern has the name of a namespace, which ends in ``:``."""
    return pattern.name.endswith(DELIMITER) and pattern.type in NAMESPACED


def covers(pattern: ResourcePattern, kind: ResourceType, text: str) -> bool:
    """Whether a pattern covers the resource of this type and whole logical name (KIP-290).

    If a PREFIXED name ends in ``:``, it covers that namespace and everything below, else only names
    in its own namespace.
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
    """The innermost namespace that contains every name that a pattern covers, or None.

    ``org:apache:`` and ``org:apache:x`` are inside ``org:apache``. LITERAL ``*``, and names shorter
    than ``org:``, cover more than any namespace.
    """
    if pattern.type not in NAMESPACED:
        return None
    return pattern.name.rpartition(DELIMITER)[0] or None


MAX_TEXT: Final = 32_767
"""Bytes of a principal or host: the longest string of the versions before KIP-482."""


def wrong_acl(kind: ResourceType, pattern_type: PatternType, name: str, entry: AclEntry) -> str:
    """The reason why an ACL is not valid, a sentence; empty for a valid ACL."""
    if kind is ResourceType.CLUSTER and name != CLUSTER_NAME:
        return f"A CLUSTER resource has the name '{CLUSTER_NAME}' and no other, such as '{name}'."
    if not name:
        return "The resource name is empty; '*' stands for every resource of the type."
    if kind <= ResourceType.ANY:
        return f"{kind.name} is no type of a resource that can have an ACL."
    if pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"{pattern_type.name} is no pattern type of an ACL; LITERAL and PREFIXED are."
    if entry.operation <= Operation.ANY:
        return f"{entry.operation.name} is no operation that an ACL can be about."
    if entry.permission <= Permission.ANY:
        return f"{entry.permission.name} is no permission of an ACL; ALLOW and DENY are."
    if DELIMITER not in entry.principal:
        return f"'{entry.principal}' is no principal; it is written like User:alice."
    if not entry.host:
        return "The host is empty; '*' stands for every host."
    if max(len(entry.principal.encode()), len(entry.host.encode())) > MAX_TEXT:
        return f"A principal or host is longer than {MAX_TEXT:,} bytes."
    return ""
