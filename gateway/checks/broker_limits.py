"""``kafka-gateway check --cluster``: the brokers' connection limits for one address, which all
clients share.

To a broker, every client of a gateway has the gateway's address. If a broker accepts fewer
connections than the listeners do, clients lose connections that the gateway has accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.cluster.listing import Address
from gateway.commands.output import shortened
from gateway.config.errors import Problem
from gateway.config.models import Config, Listener
from gateway.config.values import UNLIMITED
from protocol.errors import ProtocolError

AT_ONCE: Final = ("max.connections", "max.connections.per.ip")
A_SECOND: Final = "max.connection.creation.rate"
"""Configs of a broker (KIP-402, KIP-612). Without a limit they are ``UNLIMITED``. A listener of
the broker has limits of its own beside them, with ``listener.name.<name>.`` before the key."""

_LISTENERS: Final = ("advertised.listeners", "listeners")
"""Configs that have the names of the broker's listeners, ``NAME://host:port``."""

_MEANING: Final = {
    AT_ONCE[0]: "connections",
    AT_ONCE[1]: "connections of one address",
    A_SECOND: "new connections a second",
}

MOST_ASKED: Final = 32
"""Brokers that are queried. The brokers of one cluster usually have the same configs."""

OF_CLUSTER: Final = "max_connections_per_broker of this cluster"

_BROKER: Final = 4
_SHOWN: Final = 8


async def limit_warnings(
    config: Config, admin: ClusterAdmin, brokers: Mapping[int, Address]
) -> list[Problem]:
    """A warning for each limit of brokers below the connections that this gateway accepts. Brokers
    are left out if they cannot be reached, respond with errors, or do not describe their configs
    (DescribeConfigs on the cluster)."""
    found: dict[tuple[str, int], list[int]] = {}
    for node_id, address in islice(sorted(brokers.items()), MOST_ASKED):
        # All configs, because the name of the listener is not known before.
        request = describe_configs([str(node_id)], None, resource_type=_BROKER)
        with suppress(OSError, ProtocolError):
            answer = await admin.ask_at(address, request)
            configs = {
                one.name: str(one.value or "")
                for result in answer.results
                for one in result.configs or ()
            }
            for key in _limits_at(address, configs):
                if configs.get(key, "").isdecimal():
                    found.setdefault((key, int(configs[key])), []).append(node_id)
    return [
        problem
        for (key, limit), nodes in sorted(found.items())
        for problem in _judged(config, key, limit, nodes)
    ]


def _limits_at(address: Address, configs: Mapping[str, str]) -> list[str]:
    """The configs that limit connections to a broker at this address, which one of its listeners
    has."""
    keys = [*AT_ONCE, A_SECOND]
    for listener in ",".join(configs.get(each, "") for each in _LISTENERS).split(","):
        name, _, bound = listener.strip().partition("://")
        host, _, port = bound.rpartition(":")
        if (host.strip("[]"), port) == (address[0], str(address[1])):
            prefix = f"listener.name.{name.lower()}."
            return keys + [prefix + key for key in (AT_ONCE[0], A_SECOND)]
    return keys


def _judged(config: Config, key: str, limit: int, nodes: Sequence[int]) -> Iterator[Problem]:
    cluster = config.clusters[0]
    mine = [one for one in config.listeners if one.volume in (None, cluster.mount)]
    kind = next(each for each in (AT_ONCE[1], AT_ONCE[0], A_SECOND) if key.endswith(each))
    let_in = sum(_let_in(one, kind) for one in mine) * config.workers
    if kind in AT_ONCE and cluster.max_connections_per_broker is not None:
        let_in = min(let_in, cluster.max_connections_per_broker)
    if limit >= min(let_in, UNLIMITED):
        return
    brokers, accept = f"brokers {shortened(map(str, nodes), _SHOWN)}", "accept"
    if len(nodes) == 1:
        brokers, accept = f"broker {nodes[0]}", "accepts"
    yield Problem(
        config.cluster_key,
        f"{brokers} {accept} {limit:,} {_MEANING[kind]} ({key}), which all clients and the gateway"
        " itself share, and the listeners let more in; ask who runs the brokers for more, or set"
        f" {A_SECOND + ' of the listeners' if kind == A_SECOND else OF_CLUSTER} below it",
    )


def _let_in(listener: Listener, key: str) -> int:
    """Connections, or new connections a second, that a worker accepts at a listener."""
    if key == A_SECOND:
        return listener.max_connection_creation_rate
    return listener.max_connections
