"""A connection to "some broker" of a cluster, which moves on when that broker is gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError, NotSpoken, Unanswered
from gateway.brokers.security import BrokerSecurity
from gateway.brokers.staggered import first_of
from gateway.cluster.listing import Address

log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
# Seconds for which an address that rejected a connection is left out while there are others.
_AVOID_SECONDS = 5.0


class ClusterUnreachable(ConnectionError):
    """No address of a cluster responds. The text names every address tried, and why each failed.

    It is an OSError, like the error of a single broker that cannot be reached.
    """

    def __init__(self, cluster: str, reasons: Mapping[Address, str] | str) -> None:
        if not isinstance(reasons, str):
            reasons = "; ".join(
                f"{_text_of(address)}: {reason}" for address, reason in reasons.items()
            )
        super().__init__(f"cluster {cluster!r} is not reachable: {reasons}")


class ClusterLink:
    """At most one open connection, to a broker or bootstrap server of a cluster.

    It stays at its broker as long as that works. Otherwise the other addresses are tried: first
    addresses that have never failed, then by the longest time since their failure.
    """

    def __init__(
        self,
        cluster: str,
        bootstrap_servers: Sequence[Address],
        *,
        timeout: float,
        security: BrokerSecurity | None = None,
    ) -> None:
        """``timeout``, in seconds, is for each step: connecting, and each request."""
        self._cluster = cluster
        self._bootstrap_servers = tuple(bootstrap_servers)
        self._brokers: tuple[Address, ...] = ()
        self._timeout = timeout
        self._security = security or BrokerSecurity()
        self._connection: BrokerConnection | None = None
        self._address: Address | None = None
        self._failed_at: dict[Address, float] = {}
        self._rests_until = 0.0

    def know(self, brokers: Collection[Address]) -> None:
        """Set the addresses to try before the bootstrap servers."""
        self._brokers = tuple(brokers)
        known = {*self._brokers, *self._bootstrap_servers}
        self._failed_at = {a: when for a, when in self._failed_at.items() if a in known}

    @property
    def address(self) -> Address | None:
        """The address of the connection, or of the last try if the caller was cancelled."""
        return self._address

    def rest(self, ms: int) -> None:
        """Note that the broker throttles this connection: it reads nothing for so long."""
        self._rests_until = asyncio.get_running_loop().time() + ms / 1000

    @property
    def rests(self) -> bool:
        """Whether a request on this connection would wait for the end of a throttle time."""
        return asyncio.get_running_loop().time() < self._rests_until

    def note_failure(self, address: Address) -> None:
        """Note that this address did not take a connection, now."""
        self._failed_at[address] = asyncio.get_running_loop().time()

    def lately_failed(self, address: Address) -> bool:
        """True if the address did not take a connection in the last few seconds."""
        failed_at = self._failed_at.get(address)
        if failed_at is None:
            return False
        return asyncio.get_running_loop().time() - failed_at < _AVOID_SECONDS

    async def ask(self, question: Callable[[BrokerConnection], Awaitable[_Answer]]) -> _Answer:
        """The result of ``question`` with the first broker that gives any.

        ``question`` raises a BrokerError if this broker's response will not do. Raises
        ClusterUnreachable if no address is left. One caller at a time.
        """
        reasons: dict[Address, str] = {}
        if self._connection is not None and not self._connection.is_open:
            self.close()  # the broker has ended the idle connection, or will soon: no failure
        if self._connection is not None and self._address is not None:
            try:
                return await question(self._connection)
            except BrokerError as error:
                self._failed(self._address, error, reasons)
        left = self._in_order()
        while (made := await self._first_connected(left, reasons)) is not None:
            address, connection = self._address, self._connection = made
            try:
                answer = await question(connection)
            except BrokerError as error:
                left.remove(address)
                self._failed(address, error, reasons)
            else:
                self._failed_at.pop(address, None)
                self._log_move(reasons)
                return answer
        raise ClusterUnreachable(self._cluster, reasons)

    def close(self) -> None:
        """Close any open connection; ``ask`` would open another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._address = None
        self._rests_until = 0.0  # another connection is not throttled

    async def _first_connected(
        self, left: list[Address], reasons: dict[Address, str]
    ) -> tuple[Address, BrokerConnection] | None:
        """A connection to the first address of ``left`` that gives one, unless all fail. Addresses
        that fail are removed from ``left``. The next address is tried beside a silent address,
        because many brokers are often silent at once."""

        def failed(address: Address, error: Exception) -> None:
            if not isinstance(error, BrokerError):
                raise error
            left.remove(address)
            self._failed(address, error, reasons)
            self._address = left[0] if left else None

        self._address = left[0] if left else None
        return await first_of(
            tuple(left),
            self._connect,
            timeout=self._timeout,
            failed=failed,
            discard=lambda late: late[1].close(),
        )

    async def _connect(self, address: Address) -> tuple[Address, BrokerConnection]:
        return address, await BrokerConnection.connect(
            *address, timeout=self._timeout, security=self._security
        )

    def _failed(self, address: Address, error: BrokerError, reasons: dict[Address, str]) -> None:
        self.close()
        self.note_failure(address)
        reasons[address] = str(error)
        if isinstance(error, Unanswered):
            reasons[address] += f"; {self._security.hint_for_unanswered}"
        elif isinstance(error, NotSpoken):
            reasons[address] += f"; is {self._security.key}.protocol what it speaks there?"

    def _in_order(self) -> list[Address]:
        addresses = dict.fromkeys((*self._brokers, *self._bootstrap_servers))
        return sorted(addresses, key=lambda address: self._failed_at.get(address, 0.0))

    def _log_move(self, reasons: Mapping[Address, str]) -> None:
        if reasons and self._address is not None:
            log.warning(
                "cluster %r is asked at %s now: %s",
                self._cluster,
                _text_of(self._address),
                "; ".join(f"{_text_of(address)}: {reason}" for address, reason in reasons.items()),
            )


def _text_of(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
