"""Numbers and texts that are not allowed, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from gateway.config.policies import Range

Finding: TypeAlias = tuple[str, str]
"""A rule that is violated, and the rest of a sentence that begins with the topic's name."""

Bound: TypeAlias = Literal["min", "max"]

_MAX_TEXT: Final = 60
_MAX_LISTED: Final = 10


def broken_bound(allowed: Range, value: float) -> Bound | None:
    """Which end of a range a value is beyond; None: it is within."""
    if allowed.allows(value):
        return None
    return "min" if allowed.min is not None and value < allowed.min else "max"


def allowance(allowed: Range, bound: Bound | None = None, *, countable: bool = False) -> str:
    """What a range allows, or one end of it, for the end of a sentence: ``at most 12 is allowed``;
    of things that are counted, ``at most 12 are allowed``."""
    low = allowed.min if bound != "max" else None
    high = allowed.max if bound != "min" else None
    most = low if high is None else high
    verb = "are" if countable and most != 1 else "is"
    if low is None:
        return f"at most {high} {verb} allowed"
    if high is None:
        return f"at least {low} {verb} required"
    return f"{low} to {high} {verb} allowed"


def cut(text: str) -> str:
    """What a client has written, as long as a sentence can bear."""
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."


def listed(names: Sequence[str]) -> str:
    """``a, b and c``; the first ones, where there are many."""
    shown = [cut(name) for name in names[:_MAX_LISTED]]
    more = len(names) - len(shown)
    if more:
        shown.append(f"{more} more")
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last
