"""Violations of one policy's rules by a topic, and their sentences for clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from gateway.config.policies import Range
from gateway.config.policy_modes import Mode
from gateway.names import DELIMITER
from gateway.policies.tree import Placed


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a topic does not satisfy. A near miss (``near``) is no violation: it is allowed,
    and reported to the traffic log."""

    rule: str
    """The rule's name in the configuration (``partitions.max``, ``configs.required``,
    ``create.topic.policy``)."""
    message: str
    """A sentence for the client, in logical names, with the value, the limit and the block that
    sets it."""
    source: str
    """The place in the configuration (``policies.namespaces.org``)."""
    mode: Mode
    """The mode of the block: ``enforce`` rejects; ``warn`` is only counted and logged."""
    value: int | None = None
    """The number that violates the limit, if the rule has one."""
    limit: int | None = None
    near: bool = False

    @property
    def rejects(self) -> bool:
        """Whether the topic is rejected for this violation."""
        return self.mode == "enforce" and not self.near


def enforced(found: Iterable[Violation]) -> list[Violation]:
    """The violations that reject a topic; all others only warn, or are near misses."""
    return [one for one in found if one.rejects]


def violation(
    placed: Placed, rule: str, sentence: str, value: int | None = None, limit: int | None = None
) -> Violation:
    """The violation of a declared rule; ``sentence`` is without its full stop."""
    message = f"{sentence} (policies: {rule}, {placed.setter})."
    return Violation(rule, message, placed.source, placed.block.mode, value, limit)


def near_miss(placed: Placed, rule: str, topic: str, value: int, limit: int) -> Violation:
    """The report of a value that is allowed, within 20 % of a limit."""
    return near_miss_of(placed, rule, shown_name(topic), value, limit)


def near_miss_of(placed: Placed, rule: str, subject: str, value: int, limit: int) -> Violation:
    """The same for any subject, in the form that a sentence needs."""
    sentence = f"For {subject} {value} is allowed, near the limit of {limit}"
    return replace(violation(placed, rule, sentence, value, limit), near=True)


def is_near(value: int, limit: int) -> bool:
    """Whether a number is within 20 % of a limit, on either side; nothing is near 0."""
    return limit != 0 and abs(limit - value) * 5 <= abs(limit)


def shown_name(topic: str) -> str:
    """A topic in a sentence, or a namespace if the name ends in ``:``."""
    if topic.endswith(DELIMITER):
        return f"namespace '{topic.removesuffix(DELIMITER)}'"
    return f"topic '{topic}'"


Finding: TypeAlias = tuple[str, str]
"""A rule that is violated, and the rest of a sentence that begins with the topic's name."""

Bound: TypeAlias = Literal["min", "max"]

_MAX_TEXT: Final = 60
_MAX_LISTED: Final = 10


def ends(rule: str, allowed: Range | None) -> list[tuple[str, int]]:
    """The rules of a range, ``partitions.min`` and ``partitions.max``, each with its limit."""
    if allowed is None:
        return []
    limits = ((f"{rule}.min", allowed.min), (f"{rule}.max", allowed.max))
    return [(name, limit) for name, limit in limits if limit is not None]


def broken_bound(allowed: Range, value: float) -> Bound | None:
    """The end of a range that a value exceeds, or None if it is within the range."""
    if allowed.allows(value):
        return None
    return "min" if allowed.min is not None and value < allowed.min else "max"


def allowance(allowed: Range, bound: Bound | None = None, *, countable: bool = False) -> str:
    """A range, or one end of it, as the end of a sentence: ``at most 12 is allowed``; for countable
    things ``at most 12 are allowed``."""
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
    """A client's text, shortened for a sentence."""
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."


def listed(names: Sequence[str]) -> str:
    """``a, b and c``; only the first names, if there are many."""
    shown = [cut(name) for name in names[:_MAX_LISTED]]
    more = len(names) - len(shown)
    if more:
        shown.append(f"{more} more")
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last
