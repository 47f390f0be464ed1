"""One look at the end of the log for everybody who asks meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gateway.catalog.source import CatalogUnavailable


class SharedRefresh:
    """Batches and rate-limits looks. All of it belongs to one event loop."""

    def __init__(self, look: Callable[[], Awaitable[None]], interval: float) -> None:
        """``look`` raises CatalogUnavailable; two begin at least ``interval`` seconds apart."""
        self._look = look
        self._interval = interval
        self._waiting: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0.0

    async def ask(self) -> None:
        """Return when a look that began after this call has ended well.

        One that is under way does not count; all who come meanwhile share the next one. Raises
        CatalogUnavailable.
        """
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="catalog refresh")
        # One caller that is cancelled must not cancel what the others wait for.
        await asyncio.shield(self._waiting)

    async def stop(self) -> None:
        """End the look that is under way; whoever waits gets CatalogUnavailable."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        _answer(self._take_waiting(), _STOPPED)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting is not None:
            await asyncio.sleep(self._not_before - loop.time())
            # Who asks from here on wants the next look, not this one.
            waiting = self._take_waiting()
            self._not_before = loop.time() + self._interval
            try:
                await self._look()
            except asyncio.CancelledError:
                _answer(waiting, _STOPPED)
                raise
            except CatalogUnavailable as failure:
                _answer(waiting, failure)
            else:
                _answer(waiting, None)

    def _take_waiting(self) -> asyncio.Future[None] | None:
        waiting, self._waiting = self._waiting, None
        return waiting


_STOPPED = CatalogUnavailable("The catalog cannot be read any more: the gateway stops.")


def _answer(waiting: asyncio.Future[None] | None, failure: CatalogUnavailable | None) -> None:
    if waiting is None:
        return
    if failure is None:
        waiting.set_result(None)
    else:
        waiting.set_exception(failure)
        waiting.exception()  # it is no news that nobody waits any more
