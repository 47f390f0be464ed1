"""How a cost grows: a curve over sizes, and the verdict whether it is worse than linear.

A cost that is proportional to ``size ** exponent`` is a line in a plot of logarithms, and the
exponent is its slope. The slope is taken between neighbouring sizes, so that a cost that turns
quadratic late is not hidden by the sizes before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final

WORSE: Final = 1.2
"""A cost with a larger exponent between two neighbouring sizes grows worse than linear."""

LINEAR: Final = 0.8
"""From this exponent on a cost is called linear."""

FLAT: Final = 0.2
"""Below this exponent a cost is called the same at every size."""

APART: Final = 1.5
"""The factor between two sizes that are compared, at least: closer together, noise would decide."""


class Kind(Enum):
    """What a value is of."""

    TOTAL = "total"
    """Of everything: a start, a change, the memory of a process."""

    EACH = "each"
    """Of one of those that are counted (a connection), or of what comes with each of them."""

    RATE = "rate"
    """So many of those that are counted in a second."""

    SHOWN = "shown"
    """Not a cost: it has no verdict."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What is measured at each size."""

    title: str
    unit: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Step:
    """The exponent of a cost between two neighbouring sizes."""

    low: int
    high: int
    exponent: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure's values by size."""

    figure: Figure
    values: Mapping[int, float]

    @property
    def totals(self) -> dict[int, float]:
        """The cost of everything, by size, in the order of sizes: of a value for each, times the
        size. Values of 0 and less (memory that did not grow) have no logarithm and are left out."""
        kind = self.figure.kind
        found = {}
        for size, value in sorted(self.values.items()):
            if value > 0 and kind is not Kind.SHOWN:
                whole = {Kind.TOTAL: value, Kind.EACH: value * size, Kind.RATE: size / value}
                found[size] = whole[kind]
        return found

    @property
    def steps(self) -> list[Step]:
        """The exponents from size to size; a size that is close to the one before is skipped."""
        found: list[tuple[int, float]] = []
        for size, total in self.totals.items():
            if not found or size >= found[-1][0] * APART:
                found.append((size, total))
        return [
            Step(low, high, math.log(after / before) / math.log(high / low))
            for (low, before), (high, after) in pairwise(found)
        ]

    @property
    def worse(self) -> list[Step]:
        """The steps that are worse than linear."""
        return [step for step in self.steps if step.exponent > WORSE]

    @property
    def verdict(self) -> str:
        """In words, with the largest exponent; empty if there is nothing to compare."""
        steps = self.steps
        if not steps:
            return ""
        if worse := self.worse:
            told = ", ".join(f"{s.low:,} to {s.high:,} ({s.exponent:.2f})" for s in worse)
            return f"worse than linear: {told}"
        largest = max(step.exponent for step in steps)
        if largest >= LINEAR:
            return f"linear ({largest:.2f})"
        return f"less than linear ({largest:.2f})" if largest >= FLAT else "the same"

    @property
    def growth(self) -> dict[int, float]:
        """The totals by what the first of them is, times its size: a linear cost is its size."""
        totals = self.totals
        if not totals:
            return {}
        first = next(iter(totals))
        return {size: total / totals[first] * first for size, total in totals.items()}


@dataclass(frozen=True, slots=True)
class Sweep:
    """What was measured over rising sizes.

    - ``name``: the sweep's name in commands, pages and files.
    - ``counted``: what there is more of, such as ``connections``.
    - ``notes``: sentences on sizes that were not measured, and why.
    """

    name: str
    counted: str
    curves: Sequence[Curve]
    notes: Sequence[str] = ()

    @property
    def sizes(self) -> list[int]:
        """The sizes at which anything was measured."""
        return sorted({size for curve in self.curves for size in curve.values})


Values = Mapping[str, float]
"""What was measured at a size, by the titles of figures."""


def curves(figures: Sequence[Figure], measured: Mapping[int, Values]) -> list[Curve]:
    """The curves of figures; what was not measured at a size is left out there. Raises KeyError for
    a title that is none of theirs."""
    titles = {figure.title for figure in figures}
    for values in measured.values():
        if unknown := values.keys() - titles:
            raise KeyError(*unknown)
    return [
        Curve(
            figure,
            {size: got[figure.title] for size, got in measured.items() if figure.title in got},
        )
        for figure in figures
    ]
