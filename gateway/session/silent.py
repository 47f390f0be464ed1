"""Requests without a response (Produce with acks=0), which no response shows to be carried out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.apis.records.produce import may_write
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from protocol.pausing import FEW, eased

MAX_SILENT: Final = 1_000
"""Names and transactional ids of requests without a response, above which the gateway first makes
the broker show that it has carried them out."""


class Silent:
    """The requests without a response that the broker may not have carried out yet."""

    __slots__ = (
        "_behind",
        "_spelled",
        "api_key",
        "asked",
        "at",
        "ids",
        "names",
        "transactional_ids",
    )

    def __init__(self, api_key: int) -> None:
        self.api_key = api_key
        # Topics that the requests write to: the flat name, and the client's spelling.
        self.names: set[tuple[bytes, bytes]] = set()
        # The same by topic id: the broker's id, and the client's.
        self.ids: set[tuple[bytes, bytes]] = set()
        # As the client writes them.
        self.transactional_ids: set[bytes] = set()
        # When the last request was sent (monotonic seconds).
        self.at = 0.0
        # Whether a request of the gateway's own, which has a response, was sent behind them.
        self.asked = False
        self._behind: Exchange | None = None
        self._spelled: dict[bytes, bytes] | None = None

    def add(self, exchange: Exchange, behind: Exchange | None) -> None:
        """Add a request that was sent; ``behind`` is the last request before it whose response is
        still to come."""
        if exchange.spelled and exchange.spelled != self._spelled:
            self.names.update(exchange.spelled.items())
            self._spelled = exchange.spelled  # the next request mostly names the same topics
        if exchange.spelled_ids:
            self.ids.update(exchange.spelled_ids.items())
        if exchange.transactional_id is not None:
            self.transactional_ids.add(exchange.transactional_id)
        self.at = exchange.arrived
        self.asked = False
        self._behind = behind

    @property
    def size(self) -> int:
        """The number of names that are remembered."""
        return len(self.names) + len(self.ids) + len(self.transactional_ids)

    @property
    def full(self) -> bool:
        """Whether no more names should be remembered."""
        return self.size >= MAX_SILENT

    @property
    def has_many(self) -> bool:
        """Whether the requests name many topics together."""
        return self.size > FEW

    def topics(self) -> Iterator[bytes]:
        """The topics that the requests write to, by flat name or the broker's id."""
        # Copied: more requests may be sent during a pause.
        yield from (flat for flat, _ in eased([*self.names]))
        yield from (own for own, _ in eased([*self.ids]))

    def left(self, exchange: Exchange) -> bool:
        """Note that a request was answered. Returns whether that shows that all of these requests
        were carried out, because the broker has responded to a request that was sent behind
        them."""
        if self._behind is None:
            return exchange.answer is None
        if self._behind is exchange:
            self._behind = None
        return False

    def may_go_on(self, state: ConnectionState) -> bool:
        """Whether all of the requests may still be written, to the same topics."""
        return may_write(state, self.transactional_ids, self.names, self.ids)
