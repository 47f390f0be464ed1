"""A thread for code that is not ours: it may block, raise anything, or never come back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from gateway.foreign_text import raised_text

_Answer = TypeVar("_Answer")


class TooSlow(Exception):
    """There was no answer in time. ``begun``: the call was under way; else it never had its turn,
    and will have none."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__("no answer in time")
        self.begun = begun


@dataclass(frozen=True, slots=True)
class Raised:
    """What a call raised, as the last line of its traceback tells it."""

    text: str


@dataclass(frozen=True, slots=True)
class _Call(Generic[_Answer]):
    run: Callable[[], _Answer]
    answer: Future[_Answer | Raised]


_Calls: TypeAlias = "SimpleQueue[_Call[Any] | None]"


class OwnThread:
    """Does one call after the other; at most ``max_waiting`` of them wait for their turn."""

    def __init__(self, name: str, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._calls: _Calls = SimpleQueue()
        # A daemon: what never comes back must not keep the process.
        threading.Thread(target=_work, args=(self._calls,), name=name, daemon=True).start()

    async def ask(self, run: Callable[[], _Answer], seconds: float) -> _Answer | Raised:
        """What ``run`` returns or raises. Raises TooSlow after ``seconds``, waiting included, and
        at once where too many wait."""
        if self._calls.qsize() >= self._max_waiting:
            raise TooSlow(begun=False)
        answer = self._put(run)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            raise TooSlow(begun=not answer.cancel()) from None

    async def finish(self, run: Callable[[], _Answer], seconds: float) -> _Answer | Raised:
        """The last call, after all that were asked before. Raises TooSlow after ``seconds``; it is
        made nevertheless, when those before it have ended."""
        answer = asyncio.wrap_future(self._put(run))
        self._calls.put(None)
        await asyncio.wait([answer], timeout=seconds)
        if not answer.done():
            raise TooSlow(begun=True)
        return answer.result()

    def _put(self, run: Callable[[], _Answer]) -> Future[_Answer | Raised]:
        call = _Call(run, Future[_Answer | Raised]())
        self._calls.put(call)
        return call.answer


def _work(calls: _Calls) -> None:
    while (call := calls.get()) is not None:
        if not call.answer.set_running_or_notify_cancel():
            continue  # nobody waits for it any more
        try:
            answer = call.run()
        # SystemExit as well: neither this thread nor the worker ends because a call wants it.
        except BaseException as error:  # noqa: BLE001
            answer = Raised(raised_text(error))
        call.answer.set_result(answer)
