"""Places for clients that are not known yet: TLS handshakes and logins, of one listener.

Places are few (``unauthenticated.max_connections``), and whoever connects takes one. So that nobody
locks the others out, one address has a share of them at most, and where there is none left the
client that has been silent the longest gives way: those who mean to log in do it at once. Where
most have sent something it is the first of those, or a single byte of each would do for the crowd,
and whoever has just come would be the only one to go.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final, Protocol

from gateway.config.security import Unauthenticated
from gateway.tls.handshake import FULL

LONGER_ABOUT_IT: Final = f"{FULL}: others are waiting"

_NETWORK_BITS: Final = 64
"""Of an IPv6 address: whoever has one has all of its network."""


class Unknown(Protocol):
    """A client that is not known yet; ``host`` is its IP address."""

    @property
    def host(self) -> str: ...

    def give_way(self, reason: str) -> None:
        """End it; it leaves its place at once."""
        ...


class _Line:
    """Clients in the order in which they came, apart by whether they have sent something."""

    __slots__ = ("silent", "speaking")

    def __init__(self) -> None:
        self.silent: dict[Unknown, None] = {}
        self.speaking: dict[Unknown, None] = {}

    def __len__(self) -> int:
        return len(self.silent) + len(self.speaking)

    def first(self) -> Unknown | None:
        most = self.silent if 2 * len(self.silent) >= len(self) else self.speaking
        return next(iter(most), None)

    def spoke(self, client: Unknown) -> None:
        if client in self.silent:
            del self.silent[client]
            self.speaking[client] = None

    def remove(self, client: Unknown) -> None:
        self.silent.pop(client, None)
        self.speaking.pop(client, None)


class Places:
    """Those of one listener in one worker."""

    def __init__(self, limits: Unauthenticated) -> None:
        self._most = limits.max_connections
        self._share = max(1, int(limits.max_connections * limits.max_share_per_ip))
        self._all = _Line()
        self._by_address: dict[str, _Line] = {}

    def __len__(self) -> int:
        return len(self._all)

    @property
    def speaking(self) -> int:
        """How many of them have sent something."""
        return len(self._all.speaking)

    def enter(self, client: Unknown) -> None:
        """A client begins; where its address has its share, or all places are taken, another one
        gives way."""
        address = _address(client.host)
        line = self._by_address.get(address)
        if line is None:
            line = self._by_address[address] = _Line()
        full = line if len(line) >= self._share else self._all
        gives_way = full.first() if full is line or len(self._all) >= self._most else None
        for each in (line, self._all):
            each.silent[client] = None
        if gives_way is not None:
            gives_way.give_way(LONGER_ABOUT_IT)

    def spoke(self, client: Unknown) -> None:
        """A client has sent something."""
        self._all.spoke(client)
        line = self._by_address.get(_address(client.host))
        if line is not None:
            line.spoke(client)

    def leave(self, client: Unknown) -> None:
        """It is known now, or gone; nothing, if it has left before."""
        self._all.remove(client)
        address = _address(client.host)
        line = self._by_address.get(address)
        if line is not None:
            line.remove(client)
            if not line:
                del self._by_address[address]

    def make_room(self) -> bool:
        """End the client that has been silent the longest; False: none is silent."""
        client = next(iter(self._all.silent), None)
        if client is not None:
            client.give_way(LONGER_ABOUT_IT)
        return client is not None


def _address(host: str) -> str:
    """What counts as one address."""
    if ":" not in host:
        return host
    address = ip_address(host)
    assert isinstance(address, IPv6Address)
    return str(IPv6Address(int(address) >> _NETWORK_BITS << _NETWORK_BITS))
