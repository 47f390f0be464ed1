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
    CollectedResponses,
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
    """The host's name, with characters replaced that an id may not have."""
    return _NOT_IN_NAMES.sub("-", socket.gethostname())[:64] or "gateway"


def _default_advertised_host(listener: dict[str, Any]) -> str:
    return str(listener["bind"])


def _default_broker_base_port(listener: dict[str, Any]) -> int:
    return int(listener["port"]) + 1


class CatalogSettings(StrictModel):
    """Settings of the catalog, which this gateway shares with other gateways."""

    # Seconds for which the last state that was read is valid.
    max_staleness: Annotated[float, Field(ge=1, le=86_400)] = 60.0
    # Of the catalog's topic, if this gateway creates it; -1 is the brokers' default.
    replication_factor: Annotated[int, AfterValidator(replication_factor_of)] = BROKERS_DEFAULT
    # For connections to the catalog's topic, and to the topics of the audit log and the traffic
    # log. If unset, the cluster's security.
    security: ClusterSecurity | None = None
    # The keys that the catalog's records are signed with.
    key_file: Directory | None = None


class Trust(StrictModel):
    """Principals of a listener of another volume that count in this volume."""

    listener: Name
    # Maps the listener's principals to principals here; others do not count. If unset, all count
    # under their own names.
    principals: dict[Principal, Principal] | None = None


class Cluster(StrictModel):
    """A backing cluster."""

    name: Name
    bootstrap_servers: Annotated[tuple[BootstrapServer, ...], Field(min_length=1)]
    # Has a place, and so a port, for every broker that the cluster may get.
    node_ids: NodeIds
    security: ClusterSecurity = ClusterSecurity()
    # Connections of the gateway's clients to each broker, over all workers. If unset, as many as
    # the broker accepts.
    max_connections_per_broker: Annotated[int, Field(ge=1, le=UNLIMITED)] | None = None
    # The part of them that a single principal may have.
    max_connections_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    # Whether topics outside of namespaces may have names that decode to a namespace, such as
    # ``team-b..orders``.
    allow_namespace_like_topics: bool = False
    # The cluster's path in the tree (``la:tracking``; ``""`` is the root). If unset, there is no
    # tree, and a single cluster.
    mount: Mount | None = None
    # The first part of the cluster's virtual node ids and producer ids: unique in the tree, and
    # never used again.
    number: TreeNumber | None = None
    # In a tree, ``catalog``, ``policies`` and ``namespaces`` are the cluster's own.
    catalog: CatalogSettings | None = None
    policies: PolicySettings | None = None
    namespaces: tuple[Namespace, ...] | None = None
    # Principals of other volumes' listeners that count here.
    trust: tuple[Trust, ...] = ()


class Listener(StrictModel):
    """A listener: a bootstrap port, a port for each broker, and the spelling and listing of names
    there. The limits on connections are Kafka's, for each worker."""

    name: Name
    bind: Host = "127.0.0.1"
    port: Port
    advertised_host: Host = Field(default_factory=_default_advertised_host)
    broker_base_port: Port = Field(default_factory=_default_broker_base_port)
    spelling: Literal["colon", "legal", "slash"] = "colon"
    home: Namespace | None = None
    escape: bool = False
    # Whether listings contain namespaces.
    list_namespaces: bool = False
    # Whether listings contain the namespaces below the listener's own. If unset, only if it has no
    # home.
    list_subtree: bool | None = None
    # In a tree: the mount of the cluster that relative names are in.
    volume: Mount | None = None
    # In a tree: the mounts whose brokers the listener's clients see, in the order of their ports.
    # If unset, all mounts.
    reach: Annotated[tuple[Mount, ...], Field(min_length=1, max_length=MAX_CLUSTERS)] | None = None
    # In a tree: whether listings contain the mounts.
    list_tree: bool = False
    security_protocol: SecurityProtocol = "PLAINTEXT"
    tls: ListenerTls | None = None
    sasl: ListenerSasl | None = None
    # SNI: each broker has a host name at the bootstrap port instead of a port, with its node id for
    # ``{node_id}``.
    broker_names: str | None = None
    # Where clients of the cluster's other gateways find this gateway, which lists itself, and is
    # listed there, among the brokers. With broker names, ``gateway_name`` instead.
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
    """How users of the page authenticate. Either key is enough."""

    # A file of users with hashes of their passwords.
    passwords: File | None = None
    # A bearer token.
    token: Secret | None = None


class MetricsSettings(StrictModel):
    """The HTTP port of /metrics, /livez, /readyz and the page, and a bound for its label values."""

    host: Host = "127.0.0.1"
    port: Port = 9404
    # Open connections at a time; fewer if the process has too few descriptors.
    max_connections: Annotated[int, Field(ge=1, le=10_000)] = 128
    max_namespaces: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    # Whether there is a page at ``/``. If unset, only on loopback, or with ``auth``.
    page: bool | None = None
    # The URL of each gateway of the fleet: the page links to the other gateways, and adds up their
    # traffic.
    fleet_url: FleetUrl | None = None
    auth: PageAuthSettings | None = None

    @property
    def has_page(self) -> bool:
        """Whether the page is served: never to other machines without authentication."""
        return self.page is not False and (self.auth is not None or is_loopback(self.host))


class TrafficLogSettings(StrictModel):
    """The sinks of flow records: files, a topic of the cluster (by its name there), or both.

    Sizes are bytes before compression, and counts are for each worker.
    """

    enabled: bool = True
    directory: Directory | None = Path("traffic")
    topic: TrafficTopicName | None = None
    window_seconds: Annotated[int, Field(ge=1, le=3_600)] = 10
    max_file_bytes: Annotated[int, Field(ge=4_096)] = 64 * 1024 * 1024
    max_files: Annotated[int, Field(ge=1)] = 24
    max_queued_records: Annotated[int, Field(ge=100)] = 50_000


class ClientTelemetrySettings(StrictModel):
    """Bounds of the metrics that clients push (KIP-714), for each worker."""

    # Clients whose metrics are kept; a client counts once for each 64 KiB.
    max_clients: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    max_series_per_client: Annotated[int, Field(ge=1, le=10_000)] = 1_000


class LogSettings(StrictModel):
    """The lines written to standard error."""

    format: Literal["text", "json"] = "text"


class Config(StrictModel):
    """The configuration of a gateway, shared by its worker processes."""

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
    client_telemetry: ClientTelemetrySettings = ClientTelemetrySettings()
    traffic_log: TrafficLogSettings = TrafficLogSettings()
    principals: dict[Principal, PrincipalSettings] = Field(default_factory=dict)
    unauthenticated: Unauthenticated = Unauthenticated()
    incomplete_requests: IncompleteRequests = IncompleteRequests()
    collected_responses: CollectedResponses = CollectedResponses()
    authorization: Authorization | None = None
    audit: AuditSettings = AuditSettings()
    log: LogSettings = LogSettings()
    policies: PolicySettings = PolicySettings()
    tree: TreeSettings | None = None
    _place: int = PrivateAttr(default=0)
    _whole: "Config | None" = PrivateAttr(default=None)

    def of_volume(self, cluster: Cluster) -> "Config":
        """The same configuration with one of its clusters only, and the keys that are that
        cluster's own."""
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
        """The key of the first cluster in the file, such as ``("clusters", 1)``."""
        return ("clusters", self._place)

    @property
    def security_key(self) -> str:
        """The key of the first cluster's security in the file, for error texts."""
        return f"clusters[{self._place}].security"

    def key_of(self, name: Literal["catalog", "policies", "namespaces"]) -> Key:
        """The key of a setting that is the first cluster's own in a tree: below the cluster, or at
        the top."""
        own = getattr(self.clusters[0], name) is not None
        return (*self.cluster_key, name) if own else (name,)

    def to_json(self) -> str:
        """The configuration as a line of JSON, in which workers get it: what was set, because a
        worker has the same defaults."""
        return self.model_dump_json(by_alias=True, exclude_unset=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Config":
        """The reverse of :meth:`to_json`."""
        return cls.model_validate_json(text)
