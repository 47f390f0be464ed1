"""Pause points, at which long work over a large message may pause while others are served.

Loops over the items of a message call :func:`pause_point` now and then. It does nothing unless
``gateway.slices`` has set a function to call, so the same code handles small messages in one go and
large messages in slices. State that connections share may change during a pause, so a live view of
it is copied before a loop with pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TypeVar

T = TypeVar("T")

FEW = 256
"""The most items for which :func:`eased` has no pause points."""

MANY = 10_000
"""Items that are freed in one go, which takes 1 ms."""

EVERY = 32
"""Items between two pause points of :func:`paced`: some 0.3 ms for the most costly items."""

LONG = 1024 * 1024
"""Bytes that are copied in one go, which takes 0.5 ms into new memory."""

_pause: Callable[[], None] | None = None


def on_pause(pause: Callable[[], None] | None) -> None:
    """Make every pause point call ``pause`` from now on; None: pause points do nothing."""
    global _pause
    _pause = pause


def pause_point() -> None:
    """Pause here, if work may pause."""
    if _pause is not None:
        _pause()


@contextmanager
def unbroken() -> Iterator[None]:
    """Without pauses, for short work that nobody else may see half done."""
    global _pause
    held, _pause = _pause, None
    try:
        yield
    finally:
        _pause = held


def may_pause() -> bool:
    """Whether the work at hand may be interrupted at all."""
    return _pause is not None


def paced(items: Iterable[T], every: int = EVERY) -> Iterator[T]:
    """The items, with a pause point before the first of each ``every``."""
    left = 0
    for item in items:
        if not left:
            pause_point()
            left = every
        left -= 1
        yield item


def eased(items: Collection[T]) -> Iterable[T]:
    """The items, paced if there are many."""
    return items if len(items) <= FEW else paced(items)


def in_order(texts: Iterable[str]) -> list[str]:
    """The texts sorted: each run is sorted, then a last sort only merges the runs."""
    every = list(texts)
    if len(every) <= MANY:
        return sorted(every)
    merged: list[str] = []
    for run in runs(every):
        merged += sorted(run)
    pause_point()
    merged.sort()
    return merged


def runs(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items in runs of ``MANY``, with a pause point before each run."""
    for start in range(0, len(items), MANY):
        pause_point()
        yield items[start : start + MANY]


def size_of(pieces: Sequence[bytes | memoryview]) -> int:
    """The bytes that the pieces hold together."""
    if len(pieces) <= MANY:
        return sum(map(len, pieces))
    return sum(sum(map(len, run)) for run in runs(pieces))


def joined(pieces: list[bytes | memoryview]) -> bytes:
    """The pieces joined, a few at a time; the list is emptied, also a few at a time, because
    freeing a million pieces takes as long as joining them."""
    if len(pieces) <= FEW and size_of(pieces) <= LONG:
        return b"".join(pieces)
    # getvalue() of a BytesIO returns its own memory, not a copy.
    out = BytesIO()
    for run in runs(pieces):
        if size_of(run) <= LONG:
            out.writelines(run)
            continue
        for piece in run:
            write_long(out, piece)
    let_go(pieces)
    return out.getvalue()


def write_long(out: BytesIO, content: bytes | memoryview) -> None:
    """Write content of any size, ``LONG`` bytes at a time."""
    view = memoryview(content)
    for start in range(0, len(view), LONG):
        pause_point()
        out.write(view[start : start + LONG])


def copied(buf: bytes, start: int, end: int) -> bytes:
    """``buf[start:end]``, copied ``LONG`` bytes at a time."""
    return buf[start:end] if end - start <= LONG else joined([memoryview(buf)[start:end]])


def let_go(items: list[T]) -> None:
    """Empty a list that holds the last references to many items, with pauses, because freeing them
    takes time."""
    while len(items) > MANY:
        pause_point()
        del items[-MANY:]
