"""Entities of the catalog: states under keys, so that compaction keeps what counts.

Every entity is immutable and small; a change replaces it whole, in one record, so that no reader
ever sees half of a decision. Times are milliseconds since the epoch.

:data:`gateway.catalog.schema.table.KINDS` says how each kind is kept, exported, shown and audited.
A new kind is a dataclass here, and its row there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from gateway.acl_model import AclEntry, ResourcePattern
from gateway.names import LogicalName

NO_CONFIGS: Mapping[str, str] = MappingProxyType({})


class Entity:
    """A state that the catalog keeps under a key: its ``KIND``, and the fields ``KEY`` joined by a
    slash; none: there is only one of its kind."""

    __slots__ = ()

    KIND: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Namespace(Entity):
    """One tier path that exists (KIP-37).

    ``configs`` are its own topic configs, inherited by what is below. ``deleting`` is the time at
    which it was marked for deletion, together with all below it; None while it is in use.
    ``apply`` holds the config keys whose latest change has yet to reach the topics below, as of
    ``apply_since``. ``settings`` are inherited likewise, but are the gateway's own: no broker knows
    them.
    """

    KIND = "namespace"
    KEY = ("path",)

    path: str
    configs: Mapping[str, str] = field(default_factory=lambda: NO_CONFIGS)
    deleting: int | None = None
    apply: tuple[str, ...] = ()
    apply_since: int = 0
    settings: Mapping[str, str] = field(default_factory=lambda: NO_CONFIGS)


@dataclass(frozen=True, slots=True)
class Alias:
    """A former name of a moved topic that works ``until`` then.

    ``topic_id`` is the 16 bytes that clients know the topic by under this name; None: the
    broker's own id.
    """

    name: LogicalName
    until: int
    topic_id: bytes | None = None


@dataclass(frozen=True, slots=True)
class TopicEntry(Entity):
    """A topic of which the flat name does not say everything.

    ``flat`` is what the broker stores it as: the key. ``name`` is the one logical name that
    reaches it, besides its ``aliases``. ``topic_id`` is the virtual topic id (16 bytes) that
    clients know it by since it was moved; None: the broker's own. ``own_configs`` are the config
    keys that were set on the topic itself, so that no namespace overrides them. ``apply``: the
    configs it inherits have yet to reach it, as of ``since``. ``creating``: the entry was written
    before the topic, at ``since``; a topic that never came to be leaves it behind. ``counted``:
    where the number of topics or partitions is limited, the partitions that the topic counts with
    from ``since`` on, whether or not somebody's listing of the cluster has them yet; 0: listings
    tell.
    """

    KIND = "topic"
    KEY = ("flat",)

    flat: str
    name: LogicalName
    topic_id: bytes | None = None
    aliases: tuple[Alias, ...] = ()
    own_configs: tuple[str, ...] = ()
    apply: bool = False
    creating: bool = False
    since: int = 0
    counted: int = 0

    @property
    def names(self) -> tuple[LogicalName, ...]:
        """Every logical name that reaches the topic, its own first."""
        return (self.name, *(alias.name for alias in self.aliases))

    @property
    def ids(self) -> dict[bytes, LogicalName]:
        """Its virtual topic ids, each with the name that goes with it."""
        pairs = [(self.topic_id, self.name), *((one.topic_id, one.name) for one in self.aliases)]
        return {topic_id: name for topic_id, name in pairs if topic_id is not None}

    def names_under(self, topic_id: bytes | None) -> list[LogicalName]:
        """The names that go with a virtual topic id; None: with the broker's own."""
        return [name for name in self.names if self.id_under(name) == topic_id]

    def id_under(self, name: LogicalName) -> bytes | None:
        """The virtual topic id that goes with one of its names; None: the broker's own."""
        for alias in self.aliases:
            if alias.name == name:
                return alias.topic_id
        return self.topic_id


@dataclass(frozen=True, slots=True)
class Link(Entity):
    """A further name of a topic, with ACLs of its own: the topic is shared under it, not moved.

    ``flat`` is what the broker stores the topic as, so that the link follows it where it is moved;
    a topic with links has an entry. ``topic_id`` is the virtual topic id (16 bytes) that clients
    know the topic by under this name. ``gone`` is the name of the topic that the link led to, which
    was deleted since: the link dangles, for good, or empty if the topic is there.
    """

    KIND = "link"
    KEY = ("name",)

    name: LogicalName
    flat: str
    topic_id: bytes
    gone: str = ""


@dataclass(frozen=True, slots=True)
class ResourceAcls(Entity):
    """All entries of one pattern: an entity, because they change one record at a time."""

    KIND = "acl"
    KEY = ("pattern",)

    pattern: ResourcePattern
    entries: frozenset[AclEntry]


@dataclass(frozen=True, slots=True)
class Gateway(Entity):
    """A gateway that takes part: the newest catalog ``format`` that it can read."""

    KIND = "gateway"
    KEY = ("gateway_id",)

    gateway_id: str
    format: int
    software: str


@dataclass(frozen=True, slots=True)
class Member(Entity):
    """A gateway that other gateways list among the brokers. ``number`` is its own in the fleet,
    from 1, by which its node id is made; ``addresses`` has ``host:port`` for each listener that
    has such a node, by the listener's name. ``brokers`` has where those listeners begin with the
    cluster's brokers: ``host:port`` of the first of ``node_ids`` (ranges such as ``1-3``), or
    ``broker-{node_id}.example:port`` where they have names."""

    KIND = "member"
    KEY = ("gateway_id",)

    gateway_id: str
    number: int
    addresses: Mapping[str, str] = field(default_factory=lambda: NO_CONFIGS)
    brokers: Mapping[str, str] = field(default_factory=lambda: NO_CONFIGS)
    node_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Worker(Entity):
    """A worker process of a gateway, which others wait for before names change: one record for each
    ``run``, an id that no other process has.

    ``number`` is the worker's in its gateway. ``has_read`` are the ids of the freezes that it has
    read, and for which nothing is under way any more. ``gone`` is when it was found to have ended
    without a word (0: it runs): what it had sent may be under way for a while. ``unheard`` is when
    a freeze was begun that it did not answer in time (0: it answers)."""

    KIND = "worker"
    KEY = ("run",)

    run: str
    gateway_id: str
    number: int
    has_read: tuple[str, ...] = ()
    gone: int = 0
    unheard: int = 0


@dataclass(frozen=True, slots=True)
class Freeze(Entity):
    """Names that are about to lead elsewhere, or nowhere: nobody can use them until the change is
    made or given up.

    ``names`` are logical names of topics and links (``org:orders``), ``namespaces`` the paths of
    namespaces with all in and below them. ``run`` is the worker that makes the change; a freeze
    that has lasted longer than ``until`` is ended by any other."""

    KIND = "freeze"
    KEY = ("freeze_id",)

    freeze_id: str
    run: str
    until: int
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogFormat(Entity):
    """The format of the catalog's records: nothing that needs a newer format is written."""

    KIND = "format"

    level: int


@dataclass(frozen=True, slots=True)
class Signing(Entity):
    """Whether records of the catalog have to be signed: ``key`` is the id of the key that gateways
    sign with from now on, or empty if they sign nothing, and need not.

    ``whole``: its decision holds everything that the catalog holds, all of it signed with that key,
    and is all that counts of what was written until then.
    """

    KIND = "signing"

    key: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Volume(Entity):
    """The cluster's ``number`` in the tree, which virtual node ids and producer ids begin with."""

    KIND = "volume"

    number: int


@dataclass(frozen=True, slots=True)
class Seeds(Entity):
    """The namespaces of configuration files that were made once; a deleted one stays deleted."""

    KIND = "seeds"

    namespaces: frozenset[str]


@dataclass(frozen=True, slots=True)
class ScramCredential(Entity):
    """A user's SCRAM credential (RFC 5802); the password is not kept.

    ``mechanism`` is ``SCRAM-SHA-256`` or ``SCRAM-SHA-512``; salt and keys are bytes as the RFC
    makes them.
    """

    KIND = "scram"
    KEY = ("mechanism", "user")

    user: str
    mechanism: str
    iterations: int
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PrincipalHome(Entity):
    """The home namespace of a principal (``User:alice``): bare names are in it, and it confines."""

    KIND = "home"
    KEY = ("principal",)

    principal: str
    namespace: str


Key = tuple[str, str]
"""Kind and identity of an entity: ``("namespace", "org:apache")``, ``("topic", flat name)``,
``("link", logical name)``,
``("acl", pattern as text)``, ``("scram", "SCRAM-SHA-256/alice")``, ``("home", "User:alice")``,
``("gateway", gateway id)``, ``("member", gateway id)``, ``("worker", run)``,
``("freeze", its id)``, ``("format", "")``, ``("signing", "")``, ``("volume", "")``,
``("seeds", "")``."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The entity under ``key`` is no more."""

    key: Key


Change = Entity | Removal


def key_of(change: Change) -> Key:
    """The key under which the catalog keeps an entity."""
    if isinstance(change, Removal):
        return change.key
    return change.KIND, "/".join([str(getattr(change, name)) for name in change.KEY])
