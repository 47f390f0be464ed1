"""Verifies signatures of tokens in threads.

A signature by RSA or elliptic curves takes up to milliseconds, and a client may send useless tokens
on as many connections as it has. Addresses take turns, so an address that sends many tokens delays
each other address by a single token at a time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from gateway.peers import network_of

AT_ONCE: Final = 2
"""The number of threads, which share the processor with the threads of the event loops."""

_Waiting = tuple[Callable[[], None], asyncio.Future[None]]


class Signatures:
    """The verifications of signatures in a worker."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._running = 0
        self._threads: ThreadPoolExecutor | None = None

    async def run(self, host: str, verify: Callable[[], None]) -> None:
        """Run ``verify`` in a thread, in the turn of the address. Raises the exception that it
        raises."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(network_of(host), deque()).append((verify, done))
        self._begin()
        await done

    def stop(self) -> None:
        """Begin no more verifications."""
        self._waiting.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self) -> None:
        while self._waiting and self._running < AT_ONCE:
            network = next(iter(self._waiting))
            queue = self._waiting.pop(network)
            verify, done = queue.popleft()
            if queue:
                self._waiting[network] = queue  # behind all others
            if done.done():
                continue  # its client has gone
            if self._threads is None:
                self._threads = ThreadPoolExecutor(AT_ONCE, "signatures")
            self._running += 1
            running = asyncio.get_running_loop().run_in_executor(self._threads, verify)
            running.add_done_callback(partial(self._ended, done))

    def _ended(self, done: asyncio.Future[None], running: asyncio.Future[None]) -> None:
        self._running -= 1
        failure = None if running.cancelled() else running.exception()
        if done.done():
            pass  # its client has gone
        elif running.cancelled():
            done.cancel()
        elif failure is not None:
            done.set_exception(failure)
        else:
            done.set_result(None)
        self._begin()
