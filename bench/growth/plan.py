"""How long a sweep may take: its sizes, and the seconds at each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

Say = Callable[[str], None]
"""Told what goes on."""

Value = TypeVar("Value")

LEAST: Final = 3
"""How often something is measured at least, however long it takes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sweep measures.

    - ``sizes``: rising.
    - ``seconds``: for a load, and for what is repeated, at each size.
    - ``limit``: the seconds that a size may take altogether: it is left out if the sizes before
      show that it would take longer.
    - ``compiled``: gateways that serve loads run the compiled form, as pip installs it.
    """

    sizes: Sequence[int]
    seconds: float
    limit: float
    compiled: bool = True


def climb(
    plan: Plan,
    counted: str,
    notes: list[str],
    say: Say,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[int]:
    """The sizes, each as soon as the one before is measured.

    It ends before a size that would take longer than ``plan.limit`` if what the last two took goes
    on in a line, and adds a sentence on the sizes that are left out to ``notes``.
    """
    before: tuple[int, float] | None = None
    for place, size in enumerate(plan.sizes):
        say(f"{size:,} {counted}")
        began = now()
        yield size
        took = now() - began
        following = plan.sizes[place + 1 :]
        if before is not None and following:
            known, spent = before
            expected = took + (took - spent) / (size - known) * (following[0] - size)
            if expected > plan.limit:
                left = " and ".join(f"{each:,}" for each in following)
                notes.append(
                    f"{left} {counted} were left out: {following[0]:,} would have taken some"
                    f" {expected:.0f} s, and {plan.limit:.0f} s are the limit of a size."
                )
                say(notes[-1])
                return
        before = (size, took)


def repeated(
    measure: Callable[[], Value], seconds: float, now: Callable[[], float] = time.monotonic
) -> list[Value]:
    """What ``measure`` returns, called until ``seconds`` are over, and :data:`LEAST` times at
    least."""
    found: list[Value] = []
    end = now() + seconds
    while len(found) < LEAST or now() < end:
        found.append(measure())
    return found
