"""The configuration's models: every key, its type and its default, as frozen pydantic models.

docs/configuration.md describes every key; ``config_file/rules.py`` has the rules between keys.
"""

# No `from __future__ import annotations`: pydantic reads the annotations at run time.

import re
import socket
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PrivateAttr

from gateway.config.errors import Key
from gateway.config.policies import PolicySettings
from gateway.config.security import (
    AuditSettings,
    Authorization,
    ClusterSecurity,
    File,
    IncompleteRequests,
    ListenerSasl,
    ListenerTls,
    Principal,
    PrincipalSettings,
    Secret,
    SecurityProtocol,
    StrictModel,
    TrafficTopicName,
    Unauthenticated,
)
from gateway.config.tree import TreeSettings
from gateway.config.values import (
    BROKERS_DEFAULT,
    UNLIMITED,
    BootstrapServer,
    ConnectionCount,
    Directory,
    FleetUrl,
    Host,
    IpAddress,
    Mount,
    Name,
    Namespace,
    NodeIds,
    Port,
    TreeNumber,
    is_loopback,
    replication_factor_of,
)

MAX_LISTENERS = 1_000
MAX_CLUSTERS = 1_000

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9._-]")


def default_gateway_id() -> str:
    """The host's name, as far as it can be an id."""
    return _NOT_IN_NAMES.sub("-", socket.gethostname())[:64] or "gateway"


def _default_advertised_host(listener: dict[str, Any]) -> str:
    return str(listener["bind"])


def _default_broker_base_port(listener: dict[str, Any]) -> int:
    return int(listener["port"]) + 1


class CatalogSettings(StrictModel):
    """Settings of the catalog, which this gateway shares with others.

    ``max_staleness``: seconds for which the last read is valid. ``replication_factor``: of its
    topic, when this gateway creates it; -1 is the brokers' default. ``security``: of connections
    for it, and for the topics of the audit log and the traffic log; None: that of the cluster.
    ``key_file``: the keys that its records are signed with.
    """

    max_staleness: Annotated[float, Field(ge=1, le=86_400)] = 60.0
    replication_factor: Annotated[int, AfterValidator(replication_factor_of)] = BROKERS_DEFAULT
    security: ClusterSecurity | None = None
    key_file: Directory | None = None


class Trust(StrictModel):
    """Principals of a listener of another volume that count in this one.

    ``principals`` maps them to those that they are here, and no other one counts; None: all count
    as what they are there.
    """

    listener: Name
    principals: dict[Principal, Principal] | None = None


class Cluster(StrictModel):
    """One backing cluster. ``node_ids`` has a place, hence a port, for every broker it may get.

    ``allow_namespace_like_topics``: topics outside of namespaces may have names that decode to a
    namespace, such as ``team-b..orders``.
    ``mount`` is its path in the tree (``la:tracking``; ``""``: the root) and ``number`` what its
    virtual node ids and producer ids begin with, unique in the tree and never used again; without
    them there is no tree, and one cluster. With them ``catalog``, ``policies`` and ``namespaces``
    are its own, and ``trust`` says whom of other volumes' listeners it knows.
    ``max_connections_per_broker`` is how many connections the gateway has for its clients to each
    broker, over all workers (None: as many as the broker accepts), and ``max_connections_share``
    the part of them that one principal may have.
    """

    name: Name
    bootstrap_servers: Annotated[tuple[BootstrapServer, ...], Field(min_length=1)]
    node_ids: NodeIds
    security: ClusterSecurity = ClusterSecurity()
    max_connections_per_broker: Annotated[int, Field(ge=1, le=UNLIMITED)] | None = None
    max_connections_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    allow_namespace_like_topics: bool = False
    mount: Mount | None = None
    number: TreeNumber | None = None
    catalog: CatalogSettings | None = None
    policies: PolicySettings | None = None
    namespaces: tuple[Namespace, ...] | None = None
    trust: tuple[Trust, ...] = ()


class Listener(StrictModel):
    """A listener: a bootstrap port, a port per broker, how names look there and what is listed.

    ``list_namespaces``: listings hold namespaces, too. ``list_subtree``: they reach the namespaces
    below the listener's own; None: only without a home. ``broker_names`` (SNI): every broker has
    a name at the bootstrap port instead of a port, with its node id for ``{node_id}``.
    ``gateway_port``, or with broker names ``gateway_name``, is where clients of other gateways of
    the cluster find this one: it is listed among the brokers there, and here. The limits
    of connections are Kafka's, for each worker.
    In a tree ``volume`` is the mount of the cluster that relative names are in, ``reach`` are the
    mounts whose brokers its clients see (None: all), in the order of their ports, and
    ``list_tree`` makes listings hold the mounts.
    """

    name: Name
    bind: Host = "127.0.0.1"
    port: Port
    advertised_host: Host = Field(default_factory=_default_advertised_host)
    broker_base_port: Port = Field(default_factory=_default_broker_base_port)
    spelling: Literal["colon", "legal", "slash"] = "colon"
    home: Namespace | None = None
    escape: bool = False
    list_namespaces: bool = False
    list_subtree: bool | None = None
    volume: Mount | None = None
    reach: Annotated[tuple[Mount, ...], Field(min_length=1, max_length=MAX_CLUSTERS)] | None = None
    list_tree: bool = False
    security_protocol: SecurityProtocol = "PLAINTEXT"
    tls: ListenerTls | None = None
    sasl: ListenerSasl | None = None
    broker_names: str | None = None
    gateway_port: Port | None = None
    gateway_name: str | None = None
    max_connections: Annotated[int, Field(ge=1, le=UNLIMITED)] = Field(
        default=UNLIMITED, alias="max.connections"
    )
    max_connections_per_ip: Annotated[int, Field(ge=0, le=UNLIMITED)] = Field(
        default=UNLIMITED, alias="max.connections.per.ip"
    )
    max_connections_per_ip_overrides: dict[IpAddress, ConnectionCount] = Field(
        default_factory=dict, alias="max.connections.per.ip.overrides"
    )
    max_connection_creation_rate: Annotated[int, Field(ge=1, le=UNLIMITED)] = Field(
        default=UNLIMITED, alias="max.connection.creation.rate"
    )


class PageAuthSettings(StrictModel):
    """How whoever looks at the page authenticates: ``passwords`` is a file of users with hashes of
    their passwords, ``token`` a bearer token; one of both is enough."""

    passwords: File | None = None
    token: Secret | None = None


class MetricsSettings(StrictModel):
    """The HTTP port of /metrics, /livez, /readyz and the page, and a bound for its label values.

    ``max_connections`` are those that are open at a time; fewer where the process has too few
    descriptors. ``page``: whether there is a page at ``/``; None: on loopback, and where there is
    ``auth``. ``fleet_url`` is where the ports of the whole fleet are found: the page links to those
    of other gateways, and sums up what they do.
    """

    host: Host = "127.0.0.1"
    port: Port = 9404
    max_connections: Annotated[int, Field(ge=1, le=10_000)] = 128
    max_namespaces: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    page: bool | None = None
    fleet_url: FleetUrl | None = None
    auth: PageAuthSettings | None = None

    @property
    def has_page(self) -> bool:
        """Whether the page is served: never to other machines without authentication."""
        return self.page is not False and (self.auth is not None or is_loopback(self.host))


class TrafficLogSettings(StrictModel):
    """The sinks of flow records: files, and a topic of the cluster, by its name there; or one.

    Sizes are bytes before compression, counts are per worker.
    """

    enabled: bool = True
    directory: Directory | None = Path("traffic")
    topic: TrafficTopicName | None = None
    window_seconds: Annotated[int, Field(ge=1, le=3_600)] = 10
    max_file_bytes: Annotated[int, Field(ge=4_096)] = 64 * 1024 * 1024
    max_files: Annotated[int, Field(ge=1)] = 24
    max_queued_records: Annotated[int, Field(ge=100)] = 50_000


class LogSettings(StrictModel):
    """What is written to standard error."""

    format: Literal["text", "json"] = "text"


class Config(StrictModel):
    """The configuration of one gateway, shared by its worker processes."""

    gateway_id: Name = Field(default_factory=default_gateway_id)
    clusters: Annotated[tuple[Cluster, ...], Field(min_length=1, max_length=MAX_CLUSTERS)]
    namespaces: tuple[Namespace, ...] = ()
    listeners: Annotated[tuple[Listener, ...], Field(min_length=1, max_length=MAX_LISTENERS)]
    workers: Annotated[int, Field(ge=1, le=256)] = 1
    max_request_bytes: Annotated[int, Field(ge=1_024, le=2**31 - 1)] = Field(
        100 * 1024 * 1024, alias="socket.request.max.bytes"
    )
    drain_seconds: Annotated[float, Field(ge=0, le=3_600)] = 10.0
    catalog: CatalogSettings = CatalogSettings()
    metrics: MetricsSettings = MetricsSettings()
    traffic_log: TrafficLogSettings = TrafficLogSettings()
    principals: dict[Principal, PrincipalSettings] = Field(default_factory=dict)
    unauthenticated: Unauthenticated = Unauthenticated()
    incomplete_requests: IncompleteRequests = IncompleteRequests()
    authorization: Authorization | None = None
    audit: AuditSettings = AuditSettings()
    log: LogSettings = LogSettings()
    policies: PolicySettings = PolicySettings()
    tree: TreeSettings | None = None
    _place: int = PrivateAttr(default=0)
    _whole: "Config | None" = PrivateAttr(default=None)

    def of_volume(self, cluster: Cluster) -> "Config":
        """The same configuration with one of its clusters alone, and what is that cluster's own."""
        config = self.model_copy(
            update={
                "clusters": (cluster,),
                "catalog": cluster.catalog or self.catalog,
                "policies": cluster.policies or self.policies,
                "namespaces": self.namespaces if cluster.namespaces is None else cluster.namespaces,
            }
        )
        config._place = self._place + self.clusters.index(cluster)
        config._whole = self.whole
        return config

    @property
    def whole(self) -> "Config":
        """The configuration with all of its clusters."""
        return self._whole or self

    @property
    def cluster_key(self) -> Key:
        """Where the first cluster stands in the file, ``("clusters", 1)``."""
        return ("clusters", self._place)

    @property
    def security_key(self) -> str:
        """Where the file says how the first cluster is connected to, for error texts."""
        return f"clusters[{self._place}].security"

    def key_of(self, name: Literal["catalog", "policies", "namespaces"]) -> Key:
        """Where the file has what is the first cluster's own in a tree: below it, or at the top."""
        own = getattr(self.clusters[0], name) is not None
        return (*self.cluster_key, name) if own else (name,)

    def to_json(self) -> str:
        """One line of JSON, in which workers get the configuration."""
        return self.model_dump_json(by_alias=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Config":
        """The reverse of :meth:`to_json`."""
        return cls.model_validate_json(text)
