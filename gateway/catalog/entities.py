"""Entities of the catalog: each is the whole state of a key, so that compaction keeps the latest.

Every entity is immutable and small; a change replaces it whole, in a single record, so that no
reader ever sees half of a decision. Times are milliseconds since the epoch.

:data:`gateway.catalog.schema.table.KINDS` says how each kind is kept, exported, shown and audited.
A new kind is a dataclass here, and its row there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from gateway.acl_model import AclEntry, ResourcePattern
from gateway.names import DELIMITER, LogicalName

NO_CONFIGS: Mapping[str, str] = MappingProxyType({})


class Entity:
    """A state that the catalog keeps under a key: its ``KIND``, and the fields ``KEY`` joined by a
    slash. If ``KEY`` is empty, there is a single entity of the kind."""

    __slots__ = ()

    KIND: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Namespace(Entity):
    """A tier path that exists (KIP-37).

    - ``configs``: the topic configs set on this tier; the tiers and topics below inherit them.
    - ``deleting``: the time at which the namespace was marked for deletion, together with
      everything below it; None while it is in use.
    - ``apply``: the config keys whose latest change, of ``apply_since``, has yet to reach the
      topics below.
    - ``settings``: the gateway's own settings, which are inherited likewise; brokers do not know
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
    """A former name of a moved topic that works ``until`` that time.

    ``topic_id`` is the 16 bytes by which clients know the topic under this name; None: the broker's
    own.
    """

    name: LogicalName
    until: int
    topic_id: bytes | None = None


@dataclass(frozen=True, slots=True)
class TopicEntry(Entity):
    """A topic whose flat name does not give its logical name, or about which more is to be kept.

    - ``flat``: the topic's name at the broker, which is the key.
    - ``name``: the only logical name that reaches it, besides its ``aliases``.
    - ``topic_id``: the virtual topic id (16 bytes) by which clients know the topic since it was
      moved; None: the broker's own.
    - ``own_configs``: the config keys that were set on the topic itself, so no namespace overrides
      them.
    - ``apply``: the configs that the topic inherits have yet to reach it, as of ``since``.
    - ``creating``: the entry was written before the topic, at ``since``; if the topic's creation
      fails, the entry stays.
    - ``counted``: if the number of topics or partitions is limited, the partitions with which the
      topic counts from ``since`` on, even if a gateway's listing of the cluster lacks them; 0:
      listings count.
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
        """Every logical name that reaches the topic: its ``name``, then its aliases."""
        return (self.name, *(alias.name for alias in self.aliases))

    @property
    def ids(self) -> dict[bytes, LogicalName]:
        """Its virtual topic ids, each with the logical name under which clients know it."""
        pairs = [(self.topic_id, self.name), *((one.topic_id, one.name) for one in self.aliases)]
        return {topic_id: name for topic_id, name in pairs if topic_id is not None}

    def names_under(self, topic_id: bytes | None) -> list[LogicalName]:
        """The logical names that go with a virtual topic id, or with the broker's own id (None)."""
        return [name for name in self.names if self.id_under(name) == topic_id]

    def id_under(self, name: LogicalName) -> bytes | None:
        """The virtual topic id that goes with a name of the topic; None: the broker's own."""
        for alias in self.aliases:
            if alias.name == name:
                return alias.topic_id
        return self.topic_id


@dataclass(frozen=True, slots=True)
class Link(Entity):
    """A further name of a topic, with ACLs of its own: the topic is shared under it, not moved.

    - ``flat``: the topic's name at the broker, so that the link follows a moved topic; a topic with
      links has an entry.
    - ``topic_id``: the virtual topic id (16 bytes) by which clients know the topic under this name.
    - ``gone``: the name of the topic to which the link led before the topic was deleted: the link
      dangles for good. Empty while the topic exists.
    """

    KIND = "link"
    KEY = ("name",)

    name: LogicalName
    flat: str
    topic_id: bytes
    gone: str = ""


@dataclass(frozen=True, slots=True)
class ResourceAcls(Entity):
    """All ACL entries of a resource pattern; together, because they change in a single record."""

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
    """A gateway that other gateways list among the brokers.

    - ``number``: the gateway's number in the fleet, from 1, from which its node id is made.
    - ``addresses``: listener name -> ``host:port`` of the gateway's own node, for listeners with
      such a node.
    - ``brokers``: listener name -> where the listener's nodes of the cluster's brokers begin:
      ``host:port`` of the first of ``node_ids``, or ``broker-{node_id}.example:port`` for named
      brokers.
    - ``node_ids``: ranges of the brokers' node ids, such as ``1-3``.
    """

    KIND = "member"
    KEY = ("gateway_id",)

    gateway_id: str
    number: int
    addresses: Mapping[str, str] = field(default_factory=lambda: NO_CONFIGS)
    brokers: Mapping[str, str] = field(default_factory=lambda: NO_CONFIGS)
    node_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Worker(Entity):
    """A worker process of a gateway, for which others wait before names change: one record for each
    ``run``, an id that no other process has.

    - ``number``: the worker's number in its gateway.
    - ``has_read``: the ids of the freezes that the worker has read, and whose requests in flight
      have ended.
    - ``gone``: when the worker was found to have ended without leaving (0: it runs); requests it
      had sent may be in flight for a while.
    - ``unheard``: when a freeze was begun that the worker did not acknowledge in time (0: it did).
    """

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
    """Names that are about to lead elsewhere, or nowhere: requests for them are rejected until the
    change is made or given up.

    - ``names``: logical names of topics and links (``org:orders``).
    - ``namespaces``: the paths of namespaces, with everything in and below them.
    - ``run``: the worker that makes the change.
    - ``until``: the time after which any other worker ends the freeze.
    """

    KIND = "freeze"
    KEY = ("freeze_id",)

    freeze_id: str
    run: str
    until: int
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogFormat(Entity):
    """The format of the catalog's records: no record that needs a newer format is written."""

    KIND = "format"

    level: int


@dataclass(frozen=True, slots=True)
class Signing(Entity):
    """Whether records of the catalog have to be signed.

    - ``key``: the id of the key with which gateways sign from now on; empty in an unsigned catalog.
    - ``whole``: the decision holds every entity of the catalog, all signed with that key, and
      readers discard every record before it.
    """

    KIND = "signing"

    key: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Volume(Entity):
    """The cluster's ``number`` in the tree, with which virtual node ids and producer ids begin."""

    KIND = "volume"

    number: int


@dataclass(frozen=True, slots=True)
class Seeds(Entity):
    """The namespaces of configuration files that were created once; a deleted namespace stays
    deleted."""

    KIND = "seeds"

    namespaces: frozenset[str]


@dataclass(frozen=True, slots=True)
class ScramCredential(Entity):
    """A user's SCRAM credential (RFC 5802); the password is not kept.

    ``mechanism`` is ``SCRAM-SHA-256`` or ``SCRAM-SHA-512``; salt and keys are bytes as the RFC
    computes them.
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
    """The home namespace of a principal (``User:alice``): its bare names are in it, and it is
    confined to it."""

    KIND = "home"
    KEY = ("principal",)

    principal: str
    namespace: str


@dataclass(frozen=True, slots=True)
class ClientMetrics(Entity):
    """A subscription of client metrics (KIP-714).

    - ``name``: its full name, ``team-a:latencies``: before the last colon is its namespace; a name
      without a colon is in the default namespace.
    - ``configs``: the configs that are set, as the client wrote them; never empty.
    """

    KIND = "client_metrics"
    KEY = ("name",)

    name: str
    configs: Mapping[str, str]

    @property
    def namespace(self) -> str:
        """The path of its namespace; ``""``: the default namespace."""
        return self.name.rpartition(DELIMITER)[0]


Key = tuple[str, str]
"""Kind and identity of an entity: ``("namespace", "org:apache")``, ``("topic", flat name)``,
``("link", logical name)``,
``("acl", pattern as text)``, ``("scram", "SCRAM-SHA-256/alice")``, ``("home", "User:alice")``,
``("gateway", gateway id)``, ``("member", gateway id)``, ``("worker", run)``,
``("freeze", its id)``, ``("client_metrics", full name)``, ``("format", "")``, ``("signing", "")``,
``("volume", "")``, ``("seeds", "")``."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The deletion of the entity under ``key``."""

    key: Key


Change = Entity | Removal


def key_of(change: Change) -> Key:
    """The key under which the catalog keeps the entity of a change."""
    if isinstance(change, Removal):
        return change.key
    return change.KIND, "/".join([str(getattr(change, name)) for name in change.KEY])
