"""What every broker goes by.

A broker answers a change as soon as it is committed, and until another one, or itself, has read
that, it tells what was before: of configs, topics and partitions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from gateway.changes.base.context import Context
from protocol.messages import Request

PATIENCE: Final = 5.0
"""Seconds for which a broker may tell what was before. They are milliseconds as a rule."""

AT_ONCE: Final = 2
"""Brokers that are waited for at a time: the gateway's other questions have their turns, too."""

_ANSWER_SECONDS: Final = 2.0
_SHARE: Final = 0.2
"""Seconds in which a broker is logged in to and answers, where all of many do."""

_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.2

Requests = Callable[[Collection[str]], Sequence[Request]]
"""The requests about names."""

Late = Callable[[Any], Collection[str]]
"""The names of which a response tells what was before."""


async def late_somewhere(
    context: Context,
    names: Collection[str],
    requests: Requests,
    late: Late,
    patience: float | None = None,
) -> frozenset[str]:
    """Ask every broker until it tells of a change, for ``patience`` seconds (PATIENCE); returns the
    ``names`` of which one still tells what was before.

    ``requests`` are made anew for each try. What there was no time to ask a broker, or for it to
    answer, is late, too.

    A broker that does not answer is left out: before it serves clients again it reads all that it
    has missed. So is one that has failed lately, for which each change would wait again.
    """
    patience = PATIENCE if patience is None else patience
    deadline = asyncio.get_running_loop().time() + patience
    cluster, turns = context.cluster, asyncio.Semaphore(AT_ONCE)
    brokers = list(cluster.brokers.values())
    if len(brokers) > 1:
        brokers = [address for address in brokers if not cluster.lately_failed(address)]
    asked = [_Broker(context, address, turns, frozenset(names)) for address in brokers]
    with suppress(TimeoutError):
        async with asyncio.timeout(patience + _ANSWER_SECONDS + _SHARE * len(brokers)):
            await asyncio.gather(*(one.ask(requests, late, deadline) for one in asked))
    return frozenset[str]().union(*(one.left for one in asked))


@dataclass(slots=True)
class _Broker:
    """One broker that is asked until it tells of a change. ``left`` are the names of which it does
    not yet; ``turns`` are those of all brokers that are asked."""

    context: Context
    address: tuple[str, int]
    turns: asyncio.Semaphore
    left: frozenset[str]

    async def ask(self, requests: Requests, late: Late, deadline: float) -> None:
        """Ask until nothing is left, or until the deadline, but once at least."""
        now = asyncio.get_running_loop().time
        pause = _FIRST_PAUSE
        while self.left:
            async with self.turns:
                self.left = await self._look(requests(self.left), late)
            if not self.left or now() >= deadline:
                return
            await asyncio.sleep(max(0.0, min(pause, deadline - now())))
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _look(self, requests: Sequence[Request], late: Late) -> frozenset[str]:
        found = set[str]()
        for request in requests:
            try:
                found.update(late(await self._response(request)))
            except OSError:  # it does not answer
                return frozenset()
        return frozenset(found)

    async def _response(self, request: Request) -> Any:
        admin = self.context.admin
        if len(self.context.cluster.brokers) == 1:  # by a connection that is open already
            return await admin.ask(request, changes=False)
        return await admin.ask_at(self.address, request, within=_ANSWER_SECONDS)
