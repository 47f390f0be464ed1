"""Requests without a response (Produce with acks=0), which nothing shows to be carried out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.apis.records.produce import may_write
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from protocol.pausing import FEW, eased

MAX_SILENT: Final = 1_000
"""Names, and transactional ids, of such requests at which the broker is asked first whether it has
carried them out."""


class Silent:
    """The requests without a response that the broker may not have carried out yet: ``names`` are
    the topics that they reach (flat name, the client's spelling), ``ids`` the same (the broker's
    id, the client's), ``transactional_ids`` as the client writes them. The last was sent ``at``
    (monotonic seconds). ``asked``: a request of the gateway's own is under way behind them.
    """

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
        self.names: set[tuple[bytes, bytes]] = set()
        self.ids: set[tuple[bytes, bytes]] = set()
        self.transactional_ids: set[bytes] = set()
        self.at = 0.0
        self.asked = False
        self._behind: Exchange | None = None
        self._spelled: dict[bytes, bytes] | None = None

    def add(self, exchange: Exchange, behind: Exchange | None) -> None:
        """One more was sent, ``behind`` this one whose response is still to come."""
        if exchange.spelled and exchange.spelled != self._spelled:
            self.names.update(exchange.spelled.items())
            self._spelled = exchange.spelled  # mostly the next one names the same
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
        """Whether no more should be remembered."""
        return self.size >= MAX_SILENT

    @property
    def has_many(self) -> bool:
        """Whether they are about many names together."""
        return self.size > FEW

    def topics(self) -> Iterator[bytes]:
        """The topics that they reach, by flat name or the broker's id."""
        # Copied, since more may be sent during a pause.
        yield from (flat for flat, _ in eased([*self.names]))
        yield from (own for own, _ in eased([*self.ids]))

    def left(self, exchange: Exchange) -> bool:
        """A request has been answered; whether that shows that all of these were carried out: the
        broker has responded to one that was sent behind them."""
        if self._behind is None:
            return exchange.answer is None
        if self._behind is exchange:
            self._behind = None
        return False

    def may_go_on(self, state: ConnectionState) -> bool:
        """Whether all of them may still be written, to the same topics."""
        return may_write(state, self.transactional_ids, self.names, self.ids)
