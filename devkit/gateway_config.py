"""Gateway configurations on a single machine, for the demo, the tests and the bench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from devkit.certificates import Credentials
from devkit.ports import block_at, free_ports

HOST = "127.0.0.1"
# Node ids with a port of their own: three brokers, a fourth that joins, and some more.
NODE_IDS = range(1, 9)
PORTS_APART = 100
"""The distance between the ports of two listeners, if ports are preferred."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener: its configuration, and a description in a few words.

    ``list_namespaces`` and ``list_subtree`` have the gateway's default if they are None.
    ``in_fleet``: it lists the gateways of the cluster. ``security`` has further keys of the
    listener's configuration: ``security_protocol``, ``tls``, ...
    """

    name: str
    about: str
    spelling: str = "colon"
    home: str = ""
    escape: bool = False
    list_namespaces: bool | None = None
    list_subtree: bool | None = None
    in_fleet: bool = False
    security: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MountedCluster:
    """A cluster of a tree: ``brokers`` is ``host:port`` joined by commas, ``settings`` has further
    keys of its configuration."""

    mount: str
    number: int
    brokers: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PeerGateway:
    """Another gateway of a tree in its peer's configuration: a child if it has a ``mount``, else a
    parent.

    ``name`` is the CN of its certificate, ``port`` the port of its peer listener; ``principals``
    are the principals for which it may send requests.
    """

    name: str
    port: int
    mount: str | None = None
    principals: Mapping[str, str] | Literal["all"] = "all"

    def entry(self) -> dict[str, Any]:
        """The peer's entry in the configuration."""
        mounted = {} if self.mount is None else {"mount": self.mount}
        principals = self.principals if self.principals == "all" else dict(self.principals)
        addresses = [f"{HOST}:{self.port}"]
        return {"name": self.name, **mounted, "addresses": addresses, "principals": principals}


@dataclass(frozen=True, slots=True)
class TreePlace:
    """A gateway's place in a tree of gateways. ``name`` is its gateway id, ``port`` the port of its
    peer listener.

    ``credentials`` are for both directions, ``ca`` is the certificate of its peers' authority;
    ``settings`` has further keys of ``tree``.
    """

    name: str
    port: int
    credentials: Credentials
    ca: Path
    peers: Sequence[PeerGateway] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def section(self, directory: Path) -> dict[str, Any]:
        """The configuration's ``tree``; ``directory`` is for data that is kept over a restart."""
        tls = {
            "certificate": str(self.credentials.certificate),
            "key": str(self.credentials.key),
            "ca": str(self.ca),
        }
        return {
            "tls": tls,
            "listener": {"bind": HOST, "port": self.port},
            "parents": [each.entry() for each in self.peers if each.mount is None],
            "children": [each.entry() for each in self.peers if each.mount is not None],
            "directory": str(directory),
            **self.settings,
        }


@dataclass(frozen=True, slots=True)
class GatewayPlan:
    """A configuration, and its addresses that clients and Prometheus need."""

    config: dict[str, Any]
    bootstrap_servers: Mapping[str, str]
    metrics_port: int


def plan_gateway(
    brokers: str | Sequence[MountedCluster],
    listeners: Sequence[Listener],
    namespaces: Sequence[str],
    *,
    traffic_log_directory: str,
    workers: int = 1,
    cluster_security: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    first_port: int | None = None,
) -> GatewayPlan:
    """Make a configuration with free ports; ``brokers`` is ``host:port`` joined by commas, or the
    clusters of a tree.

    ``namespaces`` are created at the first start; ``cluster_security`` is the gateway's security to
    the brokers; ``overrides`` replace top-level keys, and single keys of ``metrics``. If they are
    free, listeners get the ports from ``first_port`` on, 100 apart, and the metrics the port after
    them.
    """
    overrides = dict(overrides or {})
    clusters = _clusters(brokers, cluster_security)
    entries = []
    for number, listener in enumerate(listeners):
        # The first port is the bootstrap address; each other port stands for a broker.
        count = 1 + len(NODE_IDS) * len(clusters) + listener.in_fleet
        ports = _ports(count, first_port, number)
        entry: dict[str, Any] = {
            "name": listener.name,
            "bind": HOST,
            "port": ports[0],
            "broker_base_port": ports[1],
            "advertised_host": HOST,
            "spelling": listener.spelling,
        }
        if listener.in_fleet:
            entry["gateway_port"] = ports[-1]
        if listener.home:
            entry |= {"home": listener.home, "escape": listener.escape}
        entry |= {key: value for key, value in _listed(listener).items() if value is not None}
        if "broker_names" in listener.security:
            del entry["broker_base_port"]  # all brokers share a port
        entries.append(entry | dict(listener.security))
    (metrics_port,) = _ports(1, first_port, len(listeners))
    metrics = {"host": HOST, "port": metrics_port, **overrides.pop("metrics", {})}
    config: dict[str, Any] = {
        "clusters": clusters,
        **({"namespaces": list(namespaces)} if isinstance(brokers, str) else {}),
        "listeners": entries,
        "workers": workers,
        "metrics": metrics,
        # Short: a test that waits for a flow record waits for the end of a window.
        "traffic_log": {"directory": traffic_log_directory, "window_seconds": 1},
        **overrides,
    }
    addresses = {entry["name"]: f"{HOST}:{entry['port']}" for entry in entries}
    return GatewayPlan(config, addresses, metrics["port"])


def _ports(count: int, first: int | None, place: int) -> range:
    preferred = None if first is None else block_at(first + PORTS_APART * place, count)
    return preferred or free_ports(count)


def _clusters(
    brokers: str | Sequence[MountedCluster], security: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    secured = {} if security is None else {"security": dict(security)}
    node_ids = [f"{NODE_IDS[0]}-{NODE_IDS[-1]}"]
    if isinstance(brokers, str):
        servers = brokers.split(",")
        return [{"name": "main", "bootstrap_servers": servers, "node_ids": node_ids, **secured}]
    return [
        {
            "name": each.mount.replace(":", "-").strip("-") or "root",
            "bootstrap_servers": each.brokers.split(","),
            "node_ids": node_ids,
            "mount": each.mount,
            "number": each.number,
            **secured,
            **each.settings,
        }
        for each in brokers
    ]


def _listed(listener: Listener) -> dict[str, bool | None]:
    return {"list_namespaces": listener.list_namespaces, "list_subtree": listener.list_subtree}
