"""Requests of the gateway's own to a cluster: it creates, deletes and configures topics.

Cold path, over connections of its own. A question that changes something is sent once: whether
it was done is not known when its connection breaks, and only its caller can tell what then.
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
"""Questions that are under way at once; more wait for their turn."""

TURN_TIMEOUT: Final = 20.0
"""Seconds for which a question waits for its turn."""

SILENT_SECONDS: Final = 0.25
"""Seconds after which a broker counts as silent whose answer nobody waits for any more: before that
whoever asks may be gone for reasons of its own."""

MOST_RESTING: Final = 4
"""Connections kept while the broker throttles them; of more, those that rest longest are closed."""

ASK_TIMEOUT: Final = 35.0
"""Seconds for one answer: more than the 30 s that admin clients give a broker by default."""


_KEY_AND_VERSION: Final = (4, 6)
"""Where both begin in a request frame."""


Ready = Callable[[BrokerConnection], Awaitable[None]]
"""Awaited when a connection is about to send a request."""


class Answered(NamedTuple, Generic[_Answer]):
    """An answer, and for how long the broker throttles the connection that it came over."""

    answer: _Answer
    throttle_ms: int


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
        answer, _ = await self._ask_some(lambda at: _ask(at, request, changes))
        return answer

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        """The response entity of the broker at this address, and of no other: what a coordinator
        is asked. Raises ClusterUnreachable, and ProtocolError for an unwritable request.

        A broker that has not answered ``within`` so many seconds is given up. The time until the
        question has its turn does not count: that is not the broker's.
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
        ``ready``; raises what that raises, otherwise as :meth:`ask`."""
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
                link.close()  # the connection is gone; it is not to be asked again
            elif answer.throttle_ms:
                link.rest(answer.throttle_ms)
        except asyncio.CancelledError:
            waited = asyncio.get_running_loop().time() - began
            if link.address is not None and waited >= SILENT_SECONDS:
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
        """The connection used last, or a new one. One that a broker throttles rests: whoever is
        next is not the client whose requests were too many."""
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
