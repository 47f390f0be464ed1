"""The supervisor's log texts of a gateway that starts: its clusters, its peers in the tree, and the
addresses of its listeners."""

from __future__ import annotations

from collections.abc import Iterator

from gateway import version
from gateway.config.addresses import Address
from gateway.config.models import Cluster, Config, Listener
from gateway.config.reach import broker_places, gateway_address
from gateway.config.tree import TreeSettings
from gateway.hot_path import running_form
from gateway.names import DELIMITER


def start_text(config: Config) -> str:
    """The version that starts, its form (``compiled``, ``pure``), its workers and its clusters."""
    count = config.workers
    workers = "1 worker" if count == 1 else f"{count} workers"
    metrics = Address(config.metrics.host, config.metrics.port)
    return (
        f"kafka-gateway {version()} ({running_form()}) with {workers}, "
        f"{', '.join(map(_cluster_text, config.clusters))}, "
        f"metrics at http://{metrics}/metrics"
        + (f", page at http://{metrics}/" if config.metrics.has_page else "")
        + ("" if config.tree is None else f", {_peers_text(config.tree)}")
    )


def ready_text(config: Config) -> str:
    """The addresses of each listener, of its brokers and of this gateway, and the address for
    peers."""
    found = [_listener_text(config, listener) for listener in config.listeners]
    if config.tree is not None and config.tree.listener is not None:
        port = config.tree.listener
        found.append(f"other gateways of the tree at {Address(port.bind, port.port)}")
    return "; ".join(found)


def _peers_text(tree: TreeSettings) -> str:
    """The other gateways, ``parent 'root' at root.example:9500``."""
    texts = [f"parent '{one.name}' at {', '.join(map(str, one.addresses))}" for one in tree.parents]
    texts += [
        f"child '{one.name}' at {', '.join(map(str, one.addresses))} "
        f"(mounted at '{DELIMITER}{one.mount}')"
        for one in tree.children
    ]
    return ", ".join(texts) or "no other gateway of the tree"


def _listener_text(config: Config, listener: Listener) -> str:
    bootstrap = Address(listener.advertised_host, listener.port)
    own = gateway_address(listener)
    gateway = "" if own is None else f", this gateway at {own}"
    if listener.broker_names is not None:
        return f"{listener.name} at {bootstrap} (brokers as {listener.broker_names}{gateway})"
    brokers = ", ".join(_ports_text(config, listener))
    return f"{listener.name} at {bootstrap} (brokers on {brokers}{gateway})"


def _cluster_text(cluster: Cluster) -> str:
    servers = ", ".join(map(str, cluster.bootstrap_servers))
    text = f"cluster '{cluster.name}' at {servers}"
    if cluster.mount is None:
        return text
    return f"{text} (mounted at '{DELIMITER}{cluster.mount}', number {cluster.number})"


def _ports_text(config: Config, listener: Listener) -> Iterator[str]:
    """The ports of each cluster's brokers, ``9193-9200``; in a tree with the cluster's name."""
    ports: dict[str, list[int]] = {}
    for place in broker_places(config, listener):
        ports.setdefault(place.cluster.name, []).append(place.port)
    in_tree = any(cluster.mount is not None for cluster in config.clusters)
    for name, found in ports.items():
        yield f"{found[0]}-{found[-1]}" + (f" for '{name}'" if in_tree else "")
