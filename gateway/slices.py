"""Slices: long work of a request, which yields to other requests every few milliseconds.

An event loop runs a callback at a time, so a request of 100,000 names would stop every tenant of
its worker while it is decided. Handlers of requests are plain, deeply nested functions; so that
they can be interrupted, they run in a greenlet, which keeps its stack while other requests are
served. It pauses only at the pause points (``protocol.pausing``) of loops that can be long, so
never in the middle of a change to state that connections share. A thread could be interrupted
anywhere, would need locks around all of that state, and would hold the interpreter's lock for 5 ms
at a time against callbacks that need microseconds.

All slices of a worker take turns: one slice per round of its event loop, however many large
requests there are. Most work is done in its first slice, which waits for no turn while first slices
take little time together.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextvars import copy_context
from functools import partial
from time import monotonic, perf_counter
from typing import Any, Final, Generic, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet

from gateway.rotation import Line, Rota, Side
from protocol import pausing

T = TypeVar("T")

SLICE_SECONDS: Final = 0.005
"""The time that work runs before it pauses. The longest slice is this plus the time between two
pause points, and no client waits longer than a few slices."""

FIRST_SECONDS: Final = 0.002
"""The time of the first slice, which waits for no turn, because most work is done in it."""

FIRSTS_SECONDS: Final = 0.005
"""The time of the first slices that may follow each other without a turn."""

FIRSTS_SHARE: Final = 0.5
"""The part of all time that first slices without a turn take at most, besides."""

FEW_PIECES: Final = 16
"""Short pieces of work that are done without a pause even if time is up; each takes up to 0.3
ms."""

_OWN: Final = Line("", "")

MAX_IDLE: Final = 4
"""Greenlets kept for the next work: making a greenlet takes 20 us, switching less than 1 us."""

NEVER: Final = 1 << 30

MAX_SECONDS: Final = 60.0
"""The longest time for which garbage collection is put off when requests follow each other without
a gap."""

_idle: list[greenlet] = []
_until = 0.0


class Firsts:
    """How much time first slices have taken of late: if many clients send long requests at the
    same time, a round of the event loop has a first slice of each, and would take seconds."""

    def __init__(self) -> None:
        self._taken = 0.0
        self._at = 0.0

    def may_begin(self) -> bool:
        """Whether the next piece of work may begin without a turn."""
        now = perf_counter()
        self._taken = max(0.0, self._taken - (now - self._at) * FIRSTS_SHARE)
        self._at = now
        return self._taken < FIRSTS_SECONDS

    def add(self, began: float) -> None:
        """Count a first slice that began then (seconds of ``perf_counter``)."""
        self._taken += perf_counter() - began


FIRSTS: Final = Firsts()
"""The only instance: a process has a single event loop."""


class Collector:
    """Puts off Python's garbage collection of the oldest generation during large requests.

    A collection visits every object at once: 40 ms with the objects of a request of 100,000 names,
    again and again while their number grows. They are in no cycles and are freed with the request,
    so the collection waits for its end, but for ``MAX_SECONDS`` at most.
    """

    def __init__(self) -> None:
        self._held = 0
        self._since = 0.0
        self._usual: tuple[int, int, int] | None = None

    def hold(self) -> None:
        """Put collections off during a request with many objects."""
        if not self._held:
            self._since = monotonic()
        self._held += 1
        if monotonic() - self._since > MAX_SECONDS:
            self._restore()
        elif self._usual is None and self._held == 1:
            self._usual = gc.get_threshold()
            gc.set_threshold(self._usual[0], self._usual[1], NEVER)

    def release(self) -> None:
        """End a :meth:`hold` at the end of its request."""
        self._held -= 1
        if not self._held:
            self._restore()

    def _restore(self) -> None:
        if self._usual is not None:
            gc.set_threshold(*self._usual)
            self._usual = None


COLLECTOR: Final = Collector()
"""The only instance: a process has a single garbage collector."""


class Slices(Generic[T]):
    """A piece of work, done slice by slice; within other sliced work it is done as a part of that.
    ``paused``: it needed more than a slice."""

    __slots__ = ("_error", "_greenlet", "_result", "_thrown", "_work", "done", "paused")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._greenlet: greenlet | None = None
        self._result: T | None = None
        self._error: BaseException | None = None
        self._thrown: BaseException | None = None
        self.done = False
        self.paused = False

    @property
    def begun(self) -> bool:
        """Whether the work has had a slice."""
        return self.done or self._greenlet is not None

    def first(self) -> bool:
        """Begin, unless others have just taken the time for that: then the work waits for its turn,
        and holds nothing but its request until then. Returns whether the work is done."""
        if pausing.may_pause():
            return self.step()
        if not FIRSTS.may_begin():
            return False
        began = perf_counter()
        try:
            return self.step()
        finally:
            FIRSTS.add(began)

    def begin(self) -> bool:
        """Begin in any case, but only up to the first pause point if others have just taken the
        time for more. Returns whether the work is done."""
        if pausing.may_pause():
            return self.step()
        seconds = FIRST_SECONDS if FIRSTS.may_begin() else 0.0
        began = perf_counter()
        try:
            return self.step(seconds)
        finally:
            FIRSTS.add(began)

    def step(self, first_seconds: float | None = None) -> bool:
        """Go on for a slice, or begin with one that takes ``first_seconds``; returns whether the
        work is done."""
        global _until
        runner = self._greenlet
        seconds = SLICE_SECONDS
        if runner is None:
            if pausing.may_pause():
                self.run()
                return True
            runner = self._greenlet = _idle.pop() if _idle else _runner()
            runner.gr_context = copy_context()
            seconds = FIRST_SECONDS if first_seconds is None else first_seconds
        pausing.on_pause(_pause)
        _until = perf_counter() + seconds
        thrown, self._thrown = self._thrown, None
        try:
            if thrown is None:
                runner.switch(self)
            else:
                runner.throw(thrown)
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
        """The result of the work, once it is done. Raises the work's exception."""
        assert self.done
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]

    def interrupt(self, error: BaseException) -> None:
        """Make paused work go on with an exception, which its pause point raises."""
        self._thrown = error

    def abandon(self) -> None:
        """End work that is not done, and free its stack.

        Work that has begun must be ended or abandoned, because nothing else frees the objects on
        its stack.
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
        """Do the work; called in the greenlet."""
        work, self._work = self._work, None
        assert work is not None
        try:
            self._result = work()
        except GreenletExit:
            raise
        except BaseException as error:  # noqa: BLE001 - `result` raises it
            self._error = error
        self.done = True


def _runner() -> greenlet:
    made = greenlet(_serve)
    made.switch()
    return made


def _serve() -> None:
    """Run pieces of work, each passed by a switch to this greenlet."""
    while True:
        caller = getcurrent().parent
        assert caller is not None
        work = caller.switch()
        work.run()
        del work


def _pause() -> None:
    if perf_counter() >= _until:
        parent = getcurrent().parent
        # Pause points are for all threads, and one beside the event loop has nobody to pause for.
        if parent is not None:
            parent.switch()


class Budget:
    """The time for many short pieces of work without a pause, ``seconds`` from now. The first few
    pieces are done in any case, so that a little work is done at once, even on a busy machine."""

    __slots__ = ("_ends", "_left")

    def __init__(self, seconds: float = SLICE_SECONDS, pieces: int = FEW_PIECES) -> None:
        self._ends = monotonic() + seconds
        self._left = pieces

    def is_spent(self) -> bool:
        """Whether the next piece has to wait until after a pause."""
        self._left -= 1
        return self._left < 0 and monotonic() > self._ends


class Turns:
    """The order of slices, a slice per round of the event loop, and the places of work that is
    under way: for the gateway's own work, unless it is :meth:`of` a tenant or of another side.

    Nothing that has a place waits for anything but turns, so no work waits for a place of work that
    waits for it: what runs in slices is a plain function, :class:`InSlices` gives its place back
    whenever its coroutine awaits, and work within sliced work is a part of that.
    """

    def __init__(
        self, rota: Rota | None = None, side: Side | None = None, line: Line = _OWN
    ) -> None:
        self._rota = rota or Rota()
        self._side = side or self._rota.own
        self._line = line

    def of(self, line: Line) -> Turns:
        """The turns of a tenant's requests, in the same event loop."""
        return Turns(self._rota, self._rota.tenants, line)

    def beside(self, line: Line) -> Turns:
        """The turns of what is done for a tenant and must not wait behind its own requests."""
        return Turns(self._rota, self._rota.beside, line)

    def apart(self, purpose: str) -> Turns:
        """The turns of own work that waits in a line apart from the rest of it."""
        return Turns(self._rota, self._rota.own, Line(purpose, purpose))

    def revoked(self) -> Turns:
        """The turns of checks that a change of the catalog requires."""
        return Turns(self._rota, self._rota.revoked)

    async def next(self) -> None:
        """Wait for a turn."""
        await self._rota.turn(self._side, self._line)

    async def take_place(self) -> None:
        """Wait for a place, which has to be given back. If the caller is cancelled, it has none."""
        await self._side.take_place(self._line)

    def give_place_back(self) -> None:
        """Give a place back."""
        self._side.give_place_back(self._line)


async def in_slices(turns: Turns, work: Slices[T], *, raised_inside: bool = False) -> T:
    """The result of a piece of work, done in slices. Raises the work's exception.

    If the caller is cancelled, the work is abandoned; if ``raised_inside``, the CancelledError is
    raised at the pause point of the work, as in a coroutine that awaits something there, so that a
    timeout of its own ends the work, and not the task that runs it.
    """
    placed = False
    try:
        if not work.begun:
            if raised_inside:
                work.begin()  # as if it were awaited: it may be cancelled only once it has begun
            elif not work.first() and not work.begun:
                await turns.next()
                work.step()
        while not work.done:
            try:
                if not placed:
                    await turns.take_place()
                    placed = True
                await turns.next()
            except asyncio.CancelledError as error:
                if not raised_inside:
                    raise
                work.interrupt(error)
            work.step()
    finally:
        if placed:
            turns.give_place_back()
        work.abandon()
    return work.result()


async def sliced(turns: Turns | None, work: Callable[[], T]) -> T:
    """The result of a piece of work, done in slices, or at once without ``turns``."""
    return work() if turns is None else await in_slices(turns, Slices(work))


class InSlices(Generic[T]):
    """Awaits a coroutine, and does its steps between its own awaits in slices."""

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
                working = in_slices(self._turns, slices, raised_inside=True)
                ended, value = yield from working.__await__()
                if slices.paused and not paused:
                    paused = True
                    COLLECTOR.hold()  # objects that it has read may live until it ends
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


async def all_in_slices(turns: Turns, works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of coroutines that run concurrently, each with its steps in slices, because a new
    task does not inherit the slices of the work that begins it."""
    return await asyncio.gather(*(InSlices(turns, work) for work in works))


def _advance(go_on: Callable[[], Any]) -> tuple[bool, Any]:
    """A coroutine's next step: whether it has ended, and its result or the awaited object."""
    try:
        return False, go_on()
    except StopIteration as end:
        return True, end.value
