"""Requests of the gateway's own to a cluster: it creates, deletes and configures topics.

Cold path, over connections of its own. A question that changes something is sent once: whether
it was done is not known when its connection breaks, and only its caller can tell what then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.brokers.security import BrokerSecurity
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterLink, ClusterUnreachable
from protocol import messages
from protocol.messages import Request
from protocol.schema import api_key_of, response_name

_Answer = TypeVar("_Answer")

MAX_CONNECTIONS: Final = 4
"""Questions that are under way at once; more wait for their turn."""

TURN_TIMEOUT: Final = 20.0
"""Seconds for which a question waits for its turn."""

ASK_TIMEOUT: Final = 35.0
"""Seconds for one answer: more than the 30 s that admin clients give a broker by default."""


class BrokerAdmin:
    """Asks the cluster's controller, or whoever forwards to it. All of it belongs to one loop."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        timeout: float = ASK_TIMEOUT,
        security: BrokerSecurity | None = None,
        most: int = MAX_CONNECTIONS,
    ) -> None:
        """``security`` is who it asks as; None: as the cluster is asked for everything else.
        ``most`` questions are under way at once; more wait for their turn."""
        self.cluster = cluster
        self._most = most
        self._security = security or cluster.security
        self._timeout = timeout
        self._free: list[ClusterLink] = []
        self._turns = asyncio.Semaphore(most)

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """The response entity to one request, in the newest version both sides know.

        A question that ``changes`` nothing is asked again elsewhere when its
        broker is lost. Raises ClusterUnreachable, and ProtocolError for an unwritable request.
        """
        return await self._ask_some(lambda at: _ask(at, request, changes))

    async def forward(self, request: bytes, *, changes: bool) -> bytes:
        """The response frame to a client's request frame; otherwise as :meth:`ask`."""
        return await self._ask_some(lambda at: _forward(at, request, changes))

    async def _ask_some(
        self, question: Callable[[BrokerConnection], Awaitable[_Answer | BrokerError]]
    ) -> _Answer:
        await self._take_turn()
        link = self._free.pop() if self._free else self._new_link()
        try:
            self._leave_silent(link)
            link.know(self._in_order())
            answer = await link.ask(question)
            if isinstance(answer, BrokerError):
                link.close()  # the connection is gone; it is not to be asked again
        except asyncio.CancelledError:
            if link.address is not None:
                self.cluster.note_silent(link.address)
            link.close()
            raise
        finally:
            self._free.append(link)
            self._turns.release()
        if isinstance(answer, BrokerError):
            raise ClusterUnreachable(self.cluster.name, str(answer))
        return answer

    async def _take_turn(self) -> None:
        try:
            async with asyncio.timeout(TURN_TIMEOUT):
                await self._turns.acquire()
        except TimeoutError:
            reason = f"{self._most} earlier questions have had no answer for {TURN_TIMEOUT:g} s"
            raise ClusterUnreachable(self.cluster.name, reason) from None

    def close(self) -> None:
        """Close the idle connections."""
        while self._free:
            self._free.pop().close()

    def _new_link(self) -> ClusterLink:
        return ClusterLink(
            self.cluster.name,
            self.cluster.bootstrap_servers,
            timeout=self._timeout,
            security=self._security,
        )

    def _leave_silent(self, link: ClusterLink) -> None:
        """Close a connection to a broker that others have waited for in vain: it is asked last."""
        silent = link.address is not None and self.cluster.lately_failed(link.address)
        if silent and len(self.cluster.brokers) > 1:
            link.close()

    def _in_order(self) -> list[tuple[str, int]]:
        """The brokers, the controller first: before KRaft no other one makes topics. Those that
        failed lately are the last."""
        cluster = self.cluster
        brokers, controller = cluster.brokers, cluster.controller_id
        failed = {node for node, address in brokers.items() if cluster.lately_failed(address)}
        order = sorted(brokers, key=lambda node: (node in failed, node != controller))
        return [brokers[node] for node in order]


async def _forward(
    connection: BrokerConnection, request: bytes, changes: bool
) -> bytes | BrokerError:
    try:
        return await connection.forward(request)
    except BrokerError as error:
        if changes:
            return error
        raise


async def _ask(connection: BrokerConnection, request: Request, changes: bool) -> Any:
    name = request.name
    version = connection.version_for(name, request.at_most)
    entity = request.entity(version)
    try:
        body = await connection.exchange(name, version, entity)
    except BrokerError as error:
        if changes:
            return error
        raise
    return messages.parse(response_name(api_key_of(name)), version, body)
