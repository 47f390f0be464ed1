"""When a cluster is listed next, and the callers that wait for the next listing."""

from __future__ import annotations

import asyncio
import random

from gateway.cluster.link import ClusterUnreachable

_FIRST_BACKOFF = 0.1
# Listings take a quarter of the time at most: if they are much work, for the broker or for this
# process, they are made less often than the rate limit alone would let them.
_REST_PER_WORK = 4


class ListingSchedule:
    """The times of a cluster's listings: every ``poll_interval`` and on request, but not more often
    than every ``min_interval``. All times are seconds; it belongs to one event loop."""

    def __init__(self, poll_interval: float, min_interval: float) -> None:
        self._poll_interval = poll_interval
        self._min_interval = min_interval
        self._requested = asyncio.Event()
        self._waiting: asyncio.Future[None] | None = None
        self._not_before = 0.0
        self._waited = 0.0
        # Listings that failed since the last listing that succeeded.
        self.failures = 0

    def request(self) -> None:
        """Make the next listing as soon as the rate limit allows."""
        self._requested.set()

    async def next_listing(self) -> None:
        """Request a listing, and return when it is in; a listing in progress does not count. Raises
        the failure of the listing."""
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_future()
        self._requested.set()
        # A caller that is cancelled must not cancel the future of the other callers.
        await asyncio.shield(self._waiting)

    def take_waiting(self) -> asyncio.Future[None] | None:
        """The future of the callers that wait; a caller from here on waits for a later listing."""
        waiting, self._waiting = self._waiting, None
        return waiting

    async def due(self) -> None:
        """Wait until a listing is due or requested, and then for the rate limit.

        If the cluster does not respond, it is tried after a back-off that no request shortens.
        """
        if self.failures:
            await asyncio.sleep(self.backoff())
        else:
            try:
                async with asyncio.timeout(self._poll_interval * _jitter()):
                    await self._requested.wait()
            except TimeoutError:
                pass
        await asyncio.sleep(self._not_before - asyncio.get_running_loop().time())
        self._requested.clear()

    def rest(self, began: float, waited: float, worked: float) -> None:
        """Put the next listing off after a listing that ``began`` then: it ``waited`` for the
        broker, and ``worked`` seconds of this process's CPU time.

        Only work puts it off. A broker's response time counts as work as far as it is needed each
        time: a broker that was stopped has not worked meanwhile. Work of this process is its CPU
        time, for the same reason.
        """
        work = min(waited, self._waited) + worked
        self._waited = waited
        self._not_before = began + max(self._min_interval, _REST_PER_WORK * work)

    def backoff(self) -> float:
        """Seconds to the next try: doubling up to the poll interval, with jitter."""
        exponent = min(self.failures - 1, 16)
        return min(_FIRST_BACKOFF * 2.0**exponent, self._poll_interval) * _jitter()


def settle(waiting: asyncio.Future[None] | None, failure: ClusterUnreachable | None) -> None:
    """Give the callers that wait the outcome of their listing."""
    if waiting is None:
        return
    if failure is None:
        waiting.set_result(None)
    else:
        waiting.set_exception(failure)
        waiting.exception()  # mark it retrieved: the callers may have stopped waiting


def _jitter() -> float:
    """Jitter that keeps gateways and workers from sending requests all at the same moment."""
    return random.uniform(0.75, 1.25)  # noqa: S311 - nothing secret
