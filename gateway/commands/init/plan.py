"""The plan of a configuration: everything that its text is made from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from gateway.commands.init.asked import Asked
from gateway.commands.init.front import Front
from gateway.commands.init.login import Login, absolute
from gateway.commands.init.ports import METRICS_HOST, Ports
from gateway.config.addresses import Address

_REPLICAS: Final = 3
_BOOTSTRAP: Final = 3


class Plan(NamedTuple):
    """A configuration that is to be written to ``output``. ``servers`` are the cluster's addresses,
    ``node_ids`` its ranges."""

    output: Path
    asked: Asked
    servers: Sequence[Address]
    node_ids: Sequence[str]
    login: Login
    namespaces: Sequence[str]
    front: Front
    ports: Ports

    @property
    def traffic(self) -> Path:
        """The directory of the traffic log."""
        return absolute(self.output).parent / "traffic"

    @property
    def catalog_replicas(self) -> int | None:
        """The replicas of the catalog's topic; None if the topic exists, or if
        there is a single broker."""
        count = min(len(self.asked.brokers), _REPLICAS)
        return None if self.asked.has_catalog or count < 2 else count

    def address(self, listener: str) -> Address:
        """The address that clients of a listener have in ``bootstrap.servers``."""
        return Address(self.front.advertised_host, self.ports.listeners[listener])

    @property
    def metrics(self) -> Address:
        """The address of the metrics."""
        return Address(METRICS_HOST, self.ports.metrics)


def listeners_for(namespaces: Sequence[str]) -> tuple[str, ...]:
    """The listeners' names: a listener for each of the two spellings and, if there is a single
    namespace, a listener with that namespace as its home."""
    return ("colon", "home", "legal") if len(namespaces) == 1 else ("colon", "legal")


def bootstrap_servers(given: Sequence[Address], asked: Asked) -> list[Address]:
    """The addresses that were given, and as many of the other brokers as make three addresses."""
    if len(asked.brokers) < 2:
        return list(given)
    up = (one for node, one in asked.brokers.items() if node not in asked.unreachable)
    others = [one for one in up if one not in given]
    return [*given, *others][: max(_BOOTSTRAP, len(given))]
