"""Broker names: all brokers share a port, and each has a host name, which SNI tells (RFC 6066).

Pure: no sockets. A pattern such as ``broker-{node_id}.kafka.example`` gives each broker its name.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Final

from gateway.node_ids import FIRST_GATEWAY_ID, NodeIdRanges

NODE_ID: Final = "{node_id}"
_MAX_LABEL = 63
_LABEL = re.compile(rf"[a-z0-9]([a-z0-9-]{{0,{_MAX_LABEL - 2}}}[a-z0-9])?\Z")
# Only in the gateway's own form: 1, never 01 or +1.
_NUMBER = re.compile(r"(0|[1-9][0-9]{0,9})\Z")


class UnknownName(Exception):
    """Neither a broker of the listener nor its bootstrap has this name."""


class BrokerNames:
    """The names of a listener: ``bootstrap``, a name for each node id of the ranges (virtual node
    ids in a tree), and ``gateway``, if the gateway itself is listed as a node."""

    __slots__ = ("_after", "_before", "_bootstrap", "_gateway", "_ranges")

    def __init__(
        self, pattern: str, bootstrap: str, ranges: NodeIdRanges, gateway: str | None = None
    ) -> None:
        """Raises ValueError, with a sentence, for a pattern that gives no host names."""
        before, found, after = pattern.casefold().partition(NODE_ID)
        if not found or NODE_ID in after:
            raise ValueError(
                f"'{pattern}' must hold {NODE_ID} once; write it like broker-{NODE_ID}"
            )
        longest = f"{before}{ranges.highest}{after}"
        if not is_host_name(longest):
            raise ValueError(
                f"'{pattern}' gives no host names: letters, digits and '-' in labels of at most "
                f"{_MAX_LABEL} characters, joined by '.'; correct it"
            )
        self._before = before
        self._after = after
        self._ranges = ranges
        self._bootstrap = bootstrap.casefold().removesuffix(".")
        node_id = self._number(self._bootstrap)
        if node_id is not None and ranges.place(node_id) is not None:
            raise ValueError(
                f"'{bootstrap}' is the name of broker {node_id} too; the bootstrap needs its own"
            )
        self._gateway = None if gateway is None else gateway.casefold().removesuffix(".")
        if self._gateway is not None:
            self._check_gateway(self._gateway)

    def host(self, node_id: int) -> str:
        """The name of a broker."""
        return f"{self._before}{node_id}{self._after}"

    def hosts(self) -> Iterator[str]:
        """The names of all brokers."""
        return map(self.host, self._ranges)

    def node_id(self, name: str | None) -> int | None:
        """The node id of the broker that a client names by SNI; None for the bootstrap, or without
        a name; ``FIRST_GATEWAY_ID`` for the gateway.

        Raises UnknownName for every other name.
        """
        if name is None:
            return None
        plain = name.casefold().removesuffix(".")
        if plain == self._bootstrap:
            return None
        if plain == self._gateway:
            return FIRST_GATEWAY_ID
        node_id = self._number(plain)
        if node_id is None or self._ranges.place(node_id) is None:
            raise UnknownName(name)
        return node_id

    def admits(self, name: str | None) -> bool:
        """Whether the listener has this name."""
        try:
            self.node_id(name)
        except UnknownName:
            return False
        return True

    def _check_gateway(self, name: str) -> None:
        if not is_host_name(name):
            raise ValueError(f"'{name}' is no host name; correct it")
        if name == self._bootstrap:
            raise ValueError(f"'{name}' is the bootstrap's name too; the gateway needs its own")
        if self._number(name) is not None:
            raise ValueError(f"'{name}' is the name of a broker too; the gateway needs its own")

    def _number(self, name: str) -> int | None:
        """The node id in a name of the pattern, even if there is no such broker."""
        if not name.startswith(self._before) or not name.endswith(self._after):
            return None
        digits = name[len(self._before) : len(name) - len(self._after)]
        return int(digits) if _NUMBER.match(digits) else None


def is_host_name(name: str) -> bool:
    """Whether a name, in lower case, is valid in DNS and in SNI, which excludes IP addresses."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return len(name) <= 253 and all(_LABEL.match(label) for label in name.split("."))
    return False
