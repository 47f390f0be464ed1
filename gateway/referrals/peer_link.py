"""Questions to one peer: its connections, and whether it responds.

If a peer does not respond, the link notes that: questions then fail at once, and a probe in the
background finds the peer again. Connections are made on demand and kept, and each carries one
question at a time. The numbers of connections and of waiting questions are limited.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Final

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.brokers.security import BrokerSecurity
from gateway.config.tree import Peer
from gateway.referrals import peer_wire
from gateway.referrals.questions import Answer, Question
from protocol.errors import ProtocolError

log = logging.getLogger(__name__)

PROBE_EVERY: Final = 1.0
"""Seconds from one attempt to find the peer to the next attempt."""

PROBE_SECONDS: Final = 5.0
"""Seconds for such an attempt, and for the response to a ping."""

PING_EVERY: Final = 10.0
"""Seconds for which an idle connection is assumed to be alive."""

PATIENCE: Final = 0.25
"""Seconds without a sign of the peer until it counts as down. A shorter time proves nothing: a
question from another gateway may have a millisecond left, and must not end other questions."""

DOUBT_SECONDS: Final = 0.5
"""Seconds for the response to a ping after a question was not answered in time."""


class PeerUnreachable(Exception):
    """A peer has not answered a question. The text is a sentence for clients; ``reason`` is for
    operators, with addresses. ``sent``: the question may have arrived."""

    def __init__(self, text: str, *, reason: str = "", sent: bool = False) -> None:
        super().__init__(text)
        self.reason = reason
        self.sent = sent


@dataclass(slots=True)
class _Asked:
    """A question that has its turn, until ``deadline`` (the loop's time). ``abandoned``: the caller
    no longer waits for the answer."""

    question: Question
    deadline: float
    abandoned: bool = False


class PeerLink:
    """The connections to one peer, which may be several gateways: the first address that works is
    used.

    Belongs to one event loop.
    """

    def __init__(
        self, peer: Peer, security: BrokerSecurity, *, most: int = 8, queue: int = 256
    ) -> None:
        """``most`` questions are in progress at once, ``queue`` more wait for their turn."""
        self.name = peer.name
        self._peer = peer
        self._security = security
        self._addresses = list(peer.addresses)  # the address that worked last comes first
        self._turns = asyncio.Semaphore(most)
        self._queue = queue
        self._waiting = 0
        self._idle: list[BrokerConnection] = []
        self._held: BrokerConnection | None = None
        self._exchanges: set[asyncio.Task[Answer]] = set()
        self._heard_at = float("-inf")
        self._up = True
        self._reason = ""
        self._doubted = asyncio.Event()

    @property
    def up(self) -> bool:
        """Whether the peer responds, as far as is known; true if it was never tried."""
        return self._up

    async def ask(self, question: Question) -> Answer:
        """The peer's answer. Raises PeerUnreachable within the question's seconds, and at once if
        the peer is known not to respond or too many questions wait.

        If the caller is cancelled, a question that was sent keeps its time: a late answer keeps the
        connection, and a missing answer means that the peer is down.
        """
        deadline = asyncio.get_running_loop().time() + question.seconds
        await self._take_turn(deadline)
        asked = _Asked(question, deadline)
        exchange = asyncio.create_task(self._exchange(asked))
        self._exchanges.add(exchange)
        exchange.add_done_callback(self._exchanged)
        try:
            return await asyncio.shield(exchange)
        except asyncio.CancelledError:
            asked.abandoned = True
            if exchange.cancelled():  # by close(), not by the caller
                raise self._unreachable("closed", sent=True) from None
            raise

    async def watch(self) -> None:
        """Keep a connection open, to notice at once when the peer closes it; while the peer does
        not respond, look for the peer once a second. Runs until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                self._held = await self._connect(began + PROBE_SECONDS)
            except PeerUnreachable:
                pass
            else:
                self._note_up()
                try:
                    await self._until_ended(self._held)
                finally:
                    self._held.close()
                    self._held = None
            await asyncio.sleep(max(0.0, began + PROBE_EVERY - loop.time()))

    def close(self) -> None:
        """Close all connections; questions in progress fail, and so do later questions."""
        self._up = False
        self._reason = "closed"
        self._close_idle()
        for exchange in self._exchanges:
            exchange.cancel()

    async def _take_turn(self, deadline: float) -> None:
        self._check_up()
        if self._turns.locked() and self._waiting >= self._queue:
            text = f"Too many questions wait for gateway '{self.name}'; try again later."
            raise PeerUnreachable(text, reason=f"{self._waiting} questions wait for it")
        self._waiting += 1
        try:
            async with asyncio.timeout_at(deadline):
                await self._turns.acquire()
        except TimeoutError:
            raise self._unreachable("earlier questions were not answered in time") from None
        finally:
            self._waiting -= 1
        try:
            self._check_up()
        except PeerUnreachable:
            self._turns.release()
            raise

    def _check_up(self) -> None:
        if not self._up:
            raise self._unreachable(self._reason)

    def _exchanged(self, exchange: asyncio.Task[Answer]) -> None:
        self._exchanges.discard(exchange)
        self._turns.release()
        if not exchange.cancelled():
            exchange.exception()  # the caller may be gone: this marks it as seen

    async def _exchange(self, asked: _Asked) -> Answer:
        loop = asyncio.get_running_loop()
        connection = self._take_idle() or await self._connect(asked.deadline)
        began = loop.time()
        if asked.abandoned or began >= asked.deadline:
            self._idle.append(connection)
            raise self._unreachable("no time was left when it was connected")
        question = replace(asked.question, seconds=asked.deadline - began)
        try:
            correlation_id, request = peer_wire.question_frame(question)
        except ProtocolError as error:
            self._idle.append(connection)
            text = f"Gateway '{self.name}' cannot be asked this: {error}."
            raise PeerUnreachable(text, reason=str(error)) from None
        try:
            async with asyncio.timeout_at(asked.deadline):
                answer = await peer_wire.ask(connection, correlation_id, request)
        except TimeoutError:
            waited = loop.time() - began
            reason = f"no answer within {waited:.3g} s"
            if waited >= PATIENCE and self._heard_at < began:
                self._doubt(reason)
            raise self._unreachable(reason, sent=True) from None
        except BrokerError as error:
            raise self._unreachable(str(error), sent=True) from None
        self._heard_at = loop.time()
        self._note_up()
        self._idle.append(connection)
        return answer

    def _take_idle(self) -> BrokerConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
            connection.close()
        return None

    async def _connect(self, deadline: float) -> BrokerConnection:
        """A new connection to the first address that accepts; each address gets its share of the
        time. Raises PeerUnreachable; the peer then counts as down, unless the time was too
        short."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        reasons = []
        late = False
        for index, address in enumerate(tuple(self._addresses)):
            share = (deadline - loop.time()) / (len(self._addresses) - index)
            try:
                async with asyncio.timeout(share):
                    connection = await peer_wire.connect(self._peer, address, self._security)
            except TimeoutError:
                late = True
                reasons.append(f"{address}: no connection within {share:.3g} s")
            except BrokerError as error:
                reasons.append(f"{address}: {error}")
            else:
                self._addresses.remove(address)
                self._addresses.insert(0, address)
                return connection
        reason = "; ".join(reasons)
        if not late or deadline - began >= PATIENCE:
            self._note_down(reason)
        raise self._unreachable(reason)

    def _note_up(self) -> None:
        if not self._up:
            log.info("gateway '%s' responds again", self.name)
        self._up = True

    def _doubt(self, reason: str) -> None:
        """Find out why a question was not answered: the peer is down, or the question takes long.
        If a connection is kept, a ping on it decides that."""
        if self._held is None:
            self._note_down(reason)
        else:
            self._reason = reason
            self._doubted.set()

    async def _until_ended(self, connection: BrokerConnection) -> None:
        """Return when the peer has closed an idle connection, or does not respond on it."""
        while True:
            ended = asyncio.create_task(connection.ended())
            doubting = asyncio.create_task(self._doubted.wait())
            try:
                first = asyncio.FIRST_COMPLETED
                await asyncio.wait((ended, doubting), timeout=PING_EVERY, return_when=first)
                if ended.done():
                    return
            finally:
                ended.cancel()
                doubting.cancel()
            doubted = self._doubted.is_set()
            self._doubted.clear()
            try:
                async with asyncio.timeout(DOUBT_SECONDS if doubted else PROBE_SECONDS):
                    await connection.ping()
            except (TimeoutError, BrokerError):
                if doubted:
                    self._note_down(self._reason)
                return

    def _note_down(self, reason: str) -> None:
        if self._up:
            log.warning("gateway '%s' does not respond: %s", self.name, reason)
        self._up = False
        self._reason = reason
        self._close_idle()

    def _close_idle(self) -> None:
        """Close the idle connections; the watch then looks for the peer anew."""
        while self._idle:
            self._idle.pop().close()
        if self._held is not None:
            self._held.close()

    def _unreachable(self, reason: str, *, sent: bool = False) -> PeerUnreachable:
        text = f"Gateway '{self.name}' does not respond; try again later."
        return PeerUnreachable(text, reason=reason, sent=sent)
