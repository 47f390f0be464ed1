"""Waits until every broker applies a change.

A broker responds to a change as soon as it is committed. Until each broker (this broker, too) has
read the change from the metadata log, it responds with the former configs, topics and partitions.
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
"""Seconds for which a broker may respond with the former state. Usually it is milliseconds."""

AT_ONCE: Final = 2
"""Brokers queried at a time. The gateway's other queries need their turns, too."""

_ANSWER_SECONDS: Final = 2.0
_SHARE: Final = 0.2
"""Seconds in which a broker logs the gateway in and responds, on average over many brokers."""

_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.2

Requests = Callable[[Collection[str]], Sequence[Request]]
"""Takes names and returns the requests about them."""

Late = Callable[[Any], Collection[str]]
"""Takes a response and returns the names for which it has the former state."""


async def late_somewhere(
    context: Context,
    names: Collection[str],
    requests: Requests,
    late: Late,
    patience: float | None = None,
) -> frozenset[str]:
    """Query every broker until it applies a change, for ``patience`` seconds (PATIENCE); returns
    the ``names`` for which some broker still responds with the former state.

    ``requests`` are made anew for each try. Names for which a broker could not be queried, or could
    not respond, in time are late, too. A broker that does not respond is left out: it reads all
    changes that it missed before it serves clients again. A broker that failed lately is left out
    as well, because otherwise each change would wait for it again.
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
    """One broker that is queried until it applies a change."""

    context: Context
    address: tuple[str, int]
    turns: asyncio.Semaphore
    """Shared by all brokers that are queried."""
    left: frozenset[str]
    """The names for which the broker does not apply the change yet."""

    async def ask(self, requests: Requests, late: Late, deadline: float) -> None:
        """Query the broker until no name is left, or until the deadline, but at least once."""
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
