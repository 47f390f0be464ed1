"""Slices: long work of one request that yields to everyone else's every few milliseconds.

An event loop serves one callback at a time, so a request of 100,000 names would stop every tenant
of its worker for as long as it takes to decide. What handles requests are plain functions, called
from callbacks and deep in one another; to interrupt them they run in a greenlet, which keeps its
stack while others are served, and goes on where it was. It does so at the pause points
(``protocol.pausing``) of the loops that can be long and nowhere else, so nothing is interrupted in
the middle of a change to what connections share. A thread could be interrupted anywhere, would
need locks around all of that, and would take the interpreter's lock for 5 ms at a time from
callbacks that need microseconds.

All slices of a worker take turns: one in each round of its event loop, whatever the number of
large requests.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from functools import partial
from time import perf_counter
from typing import Any, Final, Generic, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet

from gateway.collecting import COLLECTOR
from protocol import pausing

T = TypeVar("T")

SLICE_SECONDS: Final = 0.005
"""How long work goes on before it pauses; the longest slice is this and what lies between two pause
points, and no client waits longer than a few of them."""

FIRST_SECONDS: Final = 0.002
"""The same for the first slice, which waits for no turn: most work is done in it."""

MAX_AT_ONCE: Final = 8
"""Pieces of long work of one worker that are under way together, some 100 MB each at worst; the
rest have done their first slice and wait."""

MAX_IDLE: Final = 4
"""Greenlets kept for the next work: making one takes 20 us, switching to it less than one."""

_idle: list[greenlet] = []
_until = 0.0


class Slices(Generic[T]):
    """One piece of work, done slice by slice; within another one it is done as a part of that.
    ``paused`` says that one slice was not enough."""

    __slots__ = ("_error", "_greenlet", "_result", "_work", "done", "paused")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._greenlet: greenlet | None = None
        self._result: T | None = None
        self._error: BaseException | None = None
        self.done = False
        self.paused = False

    def step(self) -> bool:
        """Go on for one slice; whether the work is done."""
        global _until
        runner = self._greenlet
        seconds = SLICE_SECONDS
        if runner is None:
            if pausing.may_pause():
                self.run()
                return True
            runner = self._greenlet = _idle.pop() if _idle else _runner()
            runner.gr_context = copy_context()
            seconds = FIRST_SECONDS
        pausing.on_pause(_pause)
        _until = perf_counter() + seconds
        try:
            runner.switch(self)
        finally:
            pausing.on_pause(None)
        if not self.done and not self.paused:
            self.paused = True
            COLLECTOR.hold()
        if self.done:
            self._end()
            if len(_idle) < MAX_IDLE:
                _idle.append(runner)
        return self.done

    def result(self) -> T:
        """What the work gave, once it is done. Raises what it raised."""
        assert self.done
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]

    def abandon(self) -> None:
        """End work that is not done: what it holds is let go.

        Whoever has begun work ends it or abandons it: nothing else frees what is on its stack.
        """
        runner, self._work = self._greenlet, None
        if runner is not None:
            runner.throw(GreenletExit)
            self._end()

    def _end(self) -> None:
        self._greenlet = None
        if self.paused:
            COLLECTOR.release()

    def run(self) -> None:
        """Do the work, in the greenlet."""
        work, self._work = self._work, None
        assert work is not None
        try:
            self._result = work()
        except GreenletExit:
            raise
        except BaseException as error:  # noqa: BLE001 - it is raised to whoever wants the result
            self._error = error
        self.done = True


def _runner() -> greenlet:
    made = greenlet(_serve)
    made.switch()
    return made


def _serve() -> None:
    """Runs one piece of work after the other, for whoever switches here."""
    while True:
        caller = getcurrent().parent
        assert caller is not None
        work = caller.switch()
        work.run()
        del work


def _pause() -> None:
    if perf_counter() >= _until:
        parent = getcurrent().parent
        assert parent is not None
        parent.switch()


class Turns:
    """Whose slice is next: one in each round of the event loop, in the order of asking. ``places``
    bounds how much work is under way together, and so the memory that it takes."""

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(MAX_AT_ONCE)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ticking = False

    async def next(self) -> None:
        """Wait for a turn."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        if not self._ticking:
            self._ticking = True
            loop.call_soon(self._tick, loop)
        await turn

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        self._ticking = bool(self._waiting)
        if self._ticking:
            loop.call_soon(self._tick, loop)


async def in_slices(turns: Turns, work: Slices[T]) -> T:
    """What a piece of work gives, done in slices. Raises what it raises."""
    try:
        if not work.done and not work.step():
            async with turns.places:
                await turns.next()
                while not work.step():
                    await turns.next()
    finally:
        work.abandon()
    return work.result()


class InSlices(Generic[T]):
    """Awaits a coroutine, whose steps between what it waits for itself are done in slices."""

    __slots__ = ("_coroutine", "_turns")

    def __init__(self, turns: Turns, coroutine: Coroutine[Any, Any, T]) -> None:
        self._turns = turns
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, T]:
        go_on: Callable[[], Any] = partial(self._coroutine.send, None)
        paused = False
        try:
            while True:
                slices = Slices(partial(_advance, go_on))
                ended, value = yield from in_slices(self._turns, slices).__await__()
                if slices.paused and not paused:
                    paused = True
                    COLLECTOR.hold()  # what it has read may be there until it ends
                if ended:
                    return value  # type: ignore[no-any-return]
                try:
                    go_on = partial(self._coroutine.send, (yield value))
                except BaseException as error:  # noqa: BLE001 - it is raised in the coroutine
                    go_on = partial(self._coroutine.throw, error)
        finally:
            self._coroutine.close()
            if paused:
                COLLECTOR.release()


def _advance(go_on: Callable[[], Any]) -> tuple[bool, Any]:
    """A coroutine's next step: whether it has ended, and what it gave or what it awaits."""
    try:
        return False, go_on()
    except StopIteration as end:
        return True, end.value
