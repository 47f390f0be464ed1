"""A race: a question is sent to several peers, and the first good answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, NamedTuple

from gateway.referrals.questions import Answer, Outcome

MARGIN: Final = 0.01
"""Seconds of a question that a gateway keeps for itself, to pass the answer back in time."""

HEAD_START: Final = 1 / 3
"""The part of the time that the first peer has to itself before the other peers are asked."""

_WORST_LAST: Final = (
    Outcome.DENIED,
    Outcome.REJECTED,
    Outcome.NO_SUCH_MOUNT,
    Outcome.UNREACHABLE,
)


class Winner(NamedTuple):
    """The peer whose answer counts."""

    peer: str
    answer: Answer


class Race:
    """A question sent to several peers. ``failures`` has the answers other than ANSWERED, by peer;
    ``late`` has the peers that had not answered at the end."""

    def __init__(
        self,
        peers: Sequence[str],
        ask: Callable[[str], Awaitable[Answer]],
        *,
        at_once: bool,
        ends: float,
    ) -> None:
        """``peers`` has at least one peer. Unless ``at_once``, the first peer has a head start: the
        others are asked if it fails or takes long. ``ends`` is the loop's time."""
        self._peers = peers
        self._ask = ask
        self._at_once = at_once
        self._ends = ends
        self._running: dict[asyncio.Future[Answer], str] = {}
        self.failures: dict[str, Answer] = {}
        self.late: tuple[str, ...] = ()

    async def run(self) -> Winner | None:
        """The first peer with ANSWERED, as soon as it has answered; the other peers' queries are
        cancelled. None: no peer has answered so in time."""
        now = asyncio.get_running_loop().time()
        try:
            if self._at_once:
                self._start(self._peers)
                return await self._winner(self._ends)
            self._start(self._peers[:1])
            winner = await self._winner(now + (self._ends - now) * HEAD_START)
            if winner is None:
                self._start(self._peers[1:])
                winner = await self._winner(self._ends)
            return winner
        finally:
            self.late = tuple(self._running.values())
            for running in self._running:
                running.cancel()

    def _start(self, peers: Iterable[str]) -> None:
        for peer in peers:
            self._running[asyncio.ensure_future(self._ask(peer))] = peer

    async def _winner(self, until: float) -> Winner | None:
        """The first started peer that answers; None: no started peer has answered by ``until``."""
        loop = asyncio.get_running_loop()
        while self._running:
            left = max(until - loop.time(), 0.0)
            done, _ = await asyncio.wait(
                self._running, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                return None
            # In the order of asking, in case several have answered at once.
            for running in [each for each in self._running if each in done]:
                peer, answer = self._running.pop(running), running.result()
                if answer.outcome is Outcome.ANSWERED:
                    return Winner(peer, answer)
                self.failures[peer] = answer
        return None


def best(failures: Sequence[Answer]) -> Answer:
    """The failure that explains best why there is no answer: a denial, else a faulty question, else
    a missing mount, else a gateway that does not respond."""
    return min(failures, key=lambda failure: _WORST_LAST.index(failure.outcome))
