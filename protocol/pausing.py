"""Pause points: where long work over a large message may be interrupted, and others served.

Loops over the items of a message call :func:`pause_point` now and then. It does nothing unless
``gateway.slices`` has set a function to call; so the same code serves small messages in one go and
large ones in slices. State that connections share may change during a pause: a live view of it is
copied before a loop with pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from io import BytesIO
from typing import TypeVar

T = TypeVar("T")

FEW = 256
"""Items that :func:`eased` has no pause points for."""

MANY = 10_000
"""Items that are freed in one go: 1 ms."""

EVERY = 32
"""Items between two pause points of :func:`paced`: some 0.3 ms of the dearest ones."""

LONG = 1024 * 1024
"""Bytes that are copied in one go: 0.5 ms, for memory that is new."""

_pause: Callable[[], None] | None = None


def on_pause(pause: Callable[[], None] | None) -> None:
    """Let every pause point call this from now on, or None if none does anything."""
    global _pause
    _pause = pause


def pause_point() -> None:
    """Work may be interrupted here."""
    if _pause is not None:
        _pause()


def may_pause() -> bool:
    """Whether the work at hand may be interrupted at all."""
    return _pause is not None


def paced(items: Iterable[T], every: int = EVERY) -> Iterator[T]:
    """The items, with a pause point before every so many."""
    left = 0
    for item in items:
        if not left:
            pause_point()
            left = every
        left -= 1
        yield item


def eased(items: Collection[T]) -> Iterable[T]:
    """The items; paced where they are many."""
    return items if len(items) <= FEW else paced(items)


def in_order(texts: Iterable[str]) -> list[str]:
    """The texts sorted: run by run, which the last sorting only merges."""
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
    """The items in runs that are short enough for one go, with a pause point before each."""
    for start in range(0, len(items), MANY):
        pause_point()
        yield items[start : start + MANY]


def size_of(pieces: Sequence[bytes | memoryview]) -> int:
    """The bytes that the pieces hold together."""
    if len(pieces) <= MANY:
        return sum(map(len, pieces))
    return sum(sum(map(len, run)) for run in runs(pieces))


def joined(pieces: list[bytes | memoryview]) -> bytes:
    """The bytes of the pieces, a few of them at a time; the list is emptied, also a few at a time,
    because to free a million pieces takes as long as to join them."""
    if len(pieces) <= FEW and size_of(pieces) <= LONG:
        return b"".join(pieces)
    # The value of a BytesIO is its own memory, no copy.
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
    """Write content of any size, some of it at a time."""
    view = memoryview(content)
    for start in range(0, len(view), LONG):
        pause_point()
        out.write(view[start : start + LONG])


def copied(buf: bytes, start: int, end: int) -> bytes:
    """``buf[start:end]``, copied some of it at a time."""
    return buf[start:end] if end - start <= LONG else joined([memoryview(buf)[start:end]])


def let_go(items: list[T]) -> None:
    """Empty a list that holds the last references to many items: freeing them takes time, too."""
    while len(items) > MANY:
        pause_point()
        del items[-MANY:]
