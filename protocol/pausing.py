"""Pause points: where long work over a large message may be interrupted, and others served.

Loops over the items of a message call :func:`pause_point` now and then. It does nothing unless
``gateway.slices`` has set a function to call; so the same code serves small messages in one go and
large ones in slices. State that connections share may change during a pause: a live view of it is
copied before a loop with pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

FEW = 256
"""Items that :func:`eased` has no pause points for."""

MANY = 10_000
"""Items that are freed in one go: 1 ms."""

EVERY = 32
"""Items between two pause points of :func:`paced`: some 0.3 ms of the dearest ones."""

_pause: Callable[[], None] | None = None


def on_pause(pause: Callable[[], None] | None) -> None:
    """Let every pause point call this from now on; None: none does anything."""
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


def eased(items: Sequence[T]) -> Iterable[T]:
    """The items; paced where they are many."""
    return items if len(items) <= FEW else paced(items)


def in_order(texts: Iterable[str]) -> list[str]:
    """The texts sorted: run by run, which the last sorting only merges."""
    every = list(texts)
    if len(every) <= MANY:
        return sorted(every)
    runs: list[str] = []
    for start in range(0, len(every), MANY):
        pause_point()
        runs += sorted(every[start : start + MANY])
    pause_point()
    runs.sort()
    return runs


def let_go(items: list[T]) -> None:
    """Empty a list that holds the last references to many items: freeing them takes time, too."""
    while len(items) > MANY:
        pause_point()
        del items[-MANY:]
