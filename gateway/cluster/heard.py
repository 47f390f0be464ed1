"""Brokers that answers to clients name, and the last listing does not have there.

Brokers name one that is new, back or has moved before the gateway lists it. Some name what no
listing will ever have: brokers that are fenced (DescribeCluster v2), that left a moment ago, or
at addresses of another listener. What a listing has contradicted is not heard for a while.
Pure: the caller tells the time, in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from gateway.cluster.listing import Address

MOST_CONTRADICTED: Final = 16
"""While so many brokers are contradicted no other is heard: answers that always name new ones cost
as many listings at most in the time for which one is not heard."""

MOST_HEARD: Final = 1024
"""Brokers kept between two listings: an answer may name any number."""


class Named(NamedTuple):
    """An address that an answer gave a broker, and when."""

    address: Address
    at: float


class HeardBrokers:
    """Brokers that answers have named since the last listing began, and those it did not have."""

    def __init__(self, silence: float) -> None:
        """``silence`` is the time, in seconds, for which a contradicted broker is not heard."""
        self._silence = silence
        self._named: dict[int, Named] = {}
        self._contradicted: dict[int, Named] = {}

    def hear(self, node_id: int, address: Address, now: float) -> bool:
        """An answer names a broker where the last listing does not have it: whether to list the
        cluster for that."""
        if self._contradicted:
            self._forget(now)
        if node_id in self._contradicted or len(self._contradicted) >= MOST_CONTRADICTED:
            return False
        if len(self._named) < MOST_HEARD:
            self._named[node_id] = Named(address, now)
        return True

    def take(self) -> dict[int, Named]:
        """A listing begins: what it may confirm. What is heard from here on waits for the next."""
        named, self._named = self._named, {}
        return named

    def compare(self, named: Mapping[int, Named], listed: Mapping[int, Address]) -> None:
        """That listing has come: what it does not have is contradicted."""
        for node_id, each in named.items():
            if listed.get(node_id) == each.address:
                self._contradicted.pop(node_id, None)
            elif len(self._contradicted) < MOST_CONTRADICTED:
                self._contradicted[node_id] = each

    def waiting(self, node_id: int) -> Address | None:
        """The address that an answer has given a broker since the last listing began."""
        named = self._named.get(node_id)
        return None if named is None else named.address

    def named_at(self, node_id: int) -> float | None:
        """When an answer named a broker that no listing has confirmed yet; None: none did, or it
        is forgotten."""
        named = self._named.get(node_id) or self._contradicted.get(node_id)
        return None if named is None else named.at

    def _forget(self, now: float) -> None:
        for node_id, each in list(self._contradicted.items()):
            if now - each.at >= self._silence:
                del self._contradicted[node_id]
