"""Requests of the gateway's own to a cluster: it creates, deletes and configures topics.

Cold path, over connections of its own. A request that changes something is sent once: after a
broken connection it is not known whether it was executed, and only its caller can decide what then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.brokers.messages import SIZE_BYTES
from gateway.brokers.security import BrokerSecurity
from gateway.brokers.throttling import throttle_ms
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterLink, ClusterUnreachable
from protocol import messages
from protocol.headers import response_body_pos, response_header_version
from protocol.messages import Request
from protocol.schema import api_key_of, response_name

_Answer = TypeVar("_Answer")

MAX_CONNECTIONS: Final = 4
"""Requests in flight at the same time; more requests wait for their turn."""

TURN_TIMEOUT: Final = 20.0
"""Seconds for which a request waits for its turn."""

SILENT_SECONDS: Final = 0.25
"""Seconds after which a broker counts as silent when a caller stops waiting for its response:
before that, the caller may have stopped for reasons of its own."""

NOT_SILENT: Final = "the request is not to be answered any more"
"""The message of a cancellation that says nothing about the broker, however long it has taken."""

MOST_RESTING: Final = 4
"""Connections kept while the broker throttles them; if there are more, the longest resting are
closed."""

ASK_TIMEOUT: Final = 35.0
"""Seconds for a response: more than the 30 s that admin clients give a broker by default."""


_KEY_AND_VERSION: Final = (4, 6)
"""The positions of the API key and the version in a request frame."""


Ready = Callable[[BrokerConnection], Awaitable[None]]
"""Awaited when a connection is about to send a request."""


class Answered(NamedTuple, Generic[_Answer]):
    """A response, and for how long the broker throttles the connection that it came over."""

    answer: _Answer
    throttle_ms: int


class BrokerAdmin:
    """Sends requests to the cluster's controller, or to a broker that forwards to it. All of it
    belongs to one event loop."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        timeout: float = ASK_TIMEOUT,
        security: BrokerSecurity | None = None,
        most: int = MAX_CONNECTIONS,
    ) -> None:
        """``security`` is the identity of its requests; None: the cluster's own. ``most`` requests
        are in flight at the same time; more requests wait for their turn."""
        self.cluster = cluster
        self._most = most
        self._security = security or cluster.security
        self._timeout = timeout
        self._free: list[ClusterLink] = []
        self._turns = asyncio.Semaphore(most)

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """The response entity to a request, in the newest version that both sides know.

        If the broker is lost, a request that ``changes`` nothing is sent again to another broker.
        If its values are a function, that is called each time a connection is about to send the
        request, after the wait for a turn; its exceptions are raised here, and nothing is sent.
        Raises ClusterUnreachable, and ProtocolError for an unwritable request.
        """
        answer, _ = await self._ask_some(lambda at: _ask(at, request, changes))
        return answer

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        """The response entity of the broker at this address, and of no other, as coordinators need.
        Raises ClusterUnreachable, and ProtocolError for an unwritable request.

        A broker that has not responded ``within`` so many seconds is given up. The time before the
        request has its turn does not count, as the broker does not cause it.
        """
        link = ClusterLink(
            self.cluster.name,
            [address],
            timeout=self._timeout,
            security=self._security,
        )
        await self._take_turn()
        try:
            async with asyncio.timeout(within):
                answered = await link.ask(lambda at: _ask(at, request, False))
            if isinstance(answered, BrokerError):
                raise ClusterUnreachable(self.cluster.name, str(answered))
            return answered.answer
        except TimeoutError:
            self.cluster.note_silent(address)
            reason = {address: f"no answer within {within} s"}
            raise ClusterUnreachable(self.cluster.name, reason) from None
        finally:
            link.close()
            self._turns.release()

    async def forward(self, request: bytes, *, changes: bool, ready: Ready) -> bytes:
        """The response frame to a client's request frame, sent as soon as the connection is
        ``ready``; raises the exceptions of ``ready``, otherwise as :meth:`ask`."""
        answer, _ = await self._ask_some(lambda at: _forward(at, request, changes, ready))
        return answer

    async def _ask_some(
        self, question: Callable[[BrokerConnection], Awaitable[Answered[_Answer] | BrokerError]]
    ) -> Answered[_Answer]:
        await self._take_turn()
        link = self._take_link()
        began = asyncio.get_running_loop().time()
        try:
            self._leave_silent(link)
            link.know(self._in_order())
            answer = await link.ask(question)
            if isinstance(answer, BrokerError):
                link.close()  # the connection is gone; the request is not to be sent again
            elif answer.throttle_ms:
                link.rest(answer.throttle_ms)
        except asyncio.CancelledError as error:
            waited = asyncio.get_running_loop().time() - began
            is_silent = waited >= SILENT_SECONDS and NOT_SILENT not in error.args
            if link.address is not None and is_silent:
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

    def _take_link(self) -> ClusterLink:
        """The connection used last, or a new connection. A connection that a broker throttles
        rests: the next client is not the client that sent too many requests."""
        resting = [link for link in self._free if link.rests]
        ready = [link for link in self._free if not link.rests]
        for link in resting[:-MOST_RESTING]:
            link.close()
            resting.remove(link)
        link = ready.pop() if ready else self._new_link()
        self._free = [*resting, *ready]
        return link

    def _new_link(self) -> ClusterLink:
        return ClusterLink(
            self.cluster.name,
            self.cluster.bootstrap_servers,
            timeout=self._timeout,
            security=self._security,
        )

    def _leave_silent(self, link: ClusterLink) -> None:
        """Close a connection to a broker that lately left others without a response, so that it is
        tried last."""
        silent = link.address is not None and self.cluster.lately_failed(link.address)
        if silent and len(self.cluster.brokers) > 1:
            link.close()

    def _in_order(self) -> list[tuple[str, int]]:
        """The brokers, the controller first, because before KRaft no other broker creates topics.
        Brokers that failed lately are last."""
        cluster = self.cluster
        brokers, controller = cluster.brokers, cluster.controller_id
        failed = {node for node, address in brokers.items() if cluster.lately_failed(address)}
        order = sorted(brokers, key=lambda node: (node in failed, node != controller))
        return [brokers[node] for node in order]


async def _forward(
    connection: BrokerConnection, request: bytes, changes: bool, ready: Ready
) -> Answered[bytes] | BrokerError:
    try:
        response = await connection.forward(request, ready=partial(ready, connection))
    except BrokerError as error:
        if changes:
            return error
        raise
    api_key, version = (int.from_bytes(request[at : at + 2], "big") for at in _KEY_AND_VERSION)
    header = response_header_version(api_key, version)
    body = response[response_body_pos(response, SIZE_BYTES, len(response), header) :]
    return Answered(response, throttle_ms(api_key, version, body))


async def _ask(
    connection: BrokerConnection, request: Request, changes: bool
) -> Answered[Any] | BrokerError:
    name = request.name
    version = connection.version_for(name, request.at_most)
    entity = request.entity(version)
    try:
        body = await connection.exchange(name, version, entity)
    except BrokerError as error:
        if changes:
            return error
        raise
    api_key = api_key_of(name)
    answer = messages.parse(response_name(api_key), version, body)
    return Answered(answer, throttle_ms(api_key, version, body))
