"""Brokers that responses to clients name, while the last listing lacks them at that address.

Brokers name a broker that is new, back or has moved before the gateway lists it. Some responses
name brokers that no listing will ever have: brokers that are fenced (DescribeCluster v2), that left
a moment ago, or at addresses of another listener. A broker that a listing has contradicted causes
no listing for a while, and listings that confirm no broker are few. Neither hides a broker that is
really new: it is noted, so that a client that connects to it waits for a listing, and what is
noted is bounded by dropping the broker that was named the longest ago. Pure: the caller passes the
time, in seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple

from gateway.cluster.listing import Address

MOST_FRUITLESS: Final = 16
"""Listings that confirm no broker, at most, in the time for which a contradicted broker causes no
listing: responses that always name new brokers would cause any number."""

MOST_HEARD: Final = 1024
"""Brokers kept that were named since the last listing began, and brokers kept that a listing has
contradicted: a response may name any number."""


class Named(NamedTuple):
    """An address that a response gave a broker, and when."""

    address: Address
    at: float


class HeardBrokers:
    """Brokers that responses have named since the last listing began, and brokers that it
    lacked."""

    def __init__(self, silence: float) -> None:
        """``silence`` is the time, in seconds, for which a contradicted broker causes no
        listing."""
        self._silence = silence
        # Both by node id, and the broker that was named the longest ago comes first.
        self._named: dict[int, Named] = {}
        self._contradicted: dict[int, Named] = {}
        # When brokers were named for which a listing was made that confirmed no broker.
        self._fruitless: deque[float] = deque(maxlen=MOST_FRUITLESS)

    def hear(self, node_id: int, address: Address, now: float) -> bool:
        """Note that a response names a broker at an address where the last listing lacks it;
        returns whether to list the cluster for that."""
        contradicted = self._contradicted.get(node_id)
        if contradicted is not None and now - contradicted.at >= self._silence:
            del self._contradicted[node_id]
            contradicted = None
        if contradicted is not None and contradicted.address == address:
            return False
        _keep(self._named, node_id, Named(address, now))
        return contradicted is None and not self._is_spent(now)

    def take(self) -> dict[int, Named]:
        """The brokers that a listing which begins now may confirm. Brokers heard from here on wait
        for the next listing."""
        named, self._named = self._named, {}
        return named

    def compare(self, named: Mapping[int, Named], listed: Mapping[int, Address]) -> None:
        """Compare the brokers of :meth:`take` with the listing, which contradicts brokers that it
        lacks."""
        confirms = False
        for node_id, each in named.items():
            if listed.get(node_id) == each.address:
                confirms = True
                self._contradicted.pop(node_id, None)
            else:
                _keep(self._contradicted, node_id, each)
        if named and not confirms:
            self._fruitless.append(max(each.at for each in named.values()))

    def waiting(self, node_id: int) -> Address | None:
        """The address that a response has given a broker since the last listing began."""
        named = self._named.get(node_id)
        return None if named is None else named.address

    def named_at(self, node_id: int) -> float | None:
        """When a response named a broker that no listing has confirmed yet, unless it is
        forgotten."""
        named = self._named.get(node_id) or self._contradicted.get(node_id)
        return None if named is None else named.at

    def _is_spent(self, now: float) -> bool:
        """Whether as many listings as may be have confirmed no broker lately."""
        spent = self._fruitless
        return len(spent) == MOST_FRUITLESS and now - spent[0] < self._silence


def _keep(brokers: dict[int, Named], node_id: int, named: Named) -> None:
    """Keep a broker as the last, and drop the first broker if there are too many."""
    brokers.pop(node_id, None)
    if len(brokers) >= MOST_HEARD:
        del brokers[next(iter(brokers))]
    brokers[node_id] = named
