"""Brokers that responses to clients name, while the last listing lacks them at that address.

Brokers name a broker that is new, back or has moved before the gateway lists it. Some responses
name brokers that no listing will ever have: brokers that are fenced (DescribeCluster v2), that left
a moment ago, or at addresses of another listener. A broker that a listing has contradicted is not
heard for a while. Pure: the caller passes the time, in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from gateway.cluster.listing import Address

MOST_CONTRADICTED: Final = 16
"""While so many brokers are contradicted, no other broker is heard: responses that always name new
brokers cause as many listings at most in the time for which a broker is not heard."""

MOST_HEARD: Final = 1024
"""Brokers kept between two listings: a response may name any number."""


class Named(NamedTuple):
    """An address that a response gave a broker, and when."""

    address: Address
    at: float


class HeardBrokers:
    """Brokers that responses have named since the last listing began, and brokers that it
    lacked."""

    def __init__(self, silence: float) -> None:
        """``silence`` is the time, in seconds, for which a contradicted broker is not heard."""
        self._silence = silence
        self._named: dict[int, Named] = {}
        self._contradicted: dict[int, Named] = {}

    def hear(self, node_id: int, address: Address, now: float) -> bool:
        """Note that a response names a broker at an address where the last listing lacks it;
        returns whether to list the cluster for that."""
        if self._contradicted:
            self._forget(now)
        if node_id in self._contradicted or len(self._contradicted) >= MOST_CONTRADICTED:
            return False
        if len(self._named) < MOST_HEARD:
            self._named[node_id] = Named(address, now)
        return True

    def take(self) -> dict[int, Named]:
        """The brokers that a listing which begins now may confirm. Brokers heard from here on wait
        for the next listing."""
        named, self._named = self._named, {}
        return named

    def compare(self, named: Mapping[int, Named], listed: Mapping[int, Address]) -> None:
        """Compare the brokers of :meth:`take` with the listing, which contradicts brokers that it
        lacks."""
        for node_id, each in named.items():
            if listed.get(node_id) == each.address:
                self._contradicted.pop(node_id, None)
            elif len(self._contradicted) < MOST_CONTRADICTED:
                self._contradicted[node_id] = each

    def waiting(self, node_id: int) -> Address | None:
        """The address that a response has given a broker since the last listing began."""
        named = self._named.get(node_id)
        return None if named is None else named.address

    def named_at(self, node_id: int) -> float | None:
        """When a response named a broker that no listing has confirmed yet, unless it is
        forgotten."""
        named = self._named.get(node_id) or self._contradicted.get(node_id)
        return None if named is None else named.at

    def _forget(self, now: float) -> None:
        for node_id, each in list(self._contradicted.items()):
            if now - each.at >= self._silence:
                del self._contradicted[node_id]
