"""The samples of a run and what they come to, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.bars import Bar, Relation, bar_of, relation_of
from bench.stats import Summary, differences, ratios, summarize

BASE = "haproxy"
DIRECT = "direct"
TLS = "-tls"
"""How the names of targets end whose clients come over TLS: they are compared with each other."""

Rounds = dict[int, float]
"""A metric's value by round."""


@dataclass(slots=True)
class Samples:
    """Every value that was measured, by (load, target, metric)."""

    values: dict[tuple[str, str, str], Rounds] = field(default_factory=dict)

    def add(self, load: str, target: str, number: int, measures: Mapping[str, float]) -> None:
        """Add what one load gave on one target in round ``number``."""
        for metric, value in measures.items():
            self.values.setdefault((load, target, metric), {})[number] = value

    def rounds(self, load: str, target: str, metric: str) -> Rounds:
        """A metric's values; empty if there are none."""
        return self.values.get((load, target, metric), {})


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one target under one load.

    ``relative`` is to another target of the same rounds, in the way that ``relation`` says;
    ``bar`` is what is to be reached, if anything is.
    """

    load: str
    target: str
    metric: str
    value: Summary
    relation: Relation | None
    relative: Summary | None
    bar: Bar | None

    @property
    def judged(self) -> float | None:
        """The value that is compared with the bar."""
        if self.bar is None:
            return None
        if not self.bar.relative:
            return self.value.median
        return self.relative.median if self.relative else None

    @property
    def passed(self) -> bool | None:
        """Whether the row reaches its bar; None without a bar or a value to compare with."""
        if self.bar is None or self.judged is None:
            return None
        return self.judged <= self.bar.limit


def rows(samples: Samples) -> list[Row]:
    """A row for each load, target and metric, in the order of measuring."""
    return [_row(samples, *key) for key in samples.values]


def _row(samples: Samples, load: str, target: str, metric: str) -> Row:
    values = samples.rounds(load, target, metric)
    relation = relation_of(load, metric)
    relative: list[float] = []
    if relation is Relation.TIMES_HAPROXY:
        base = BASE + TLS if target.endswith(TLS) else BASE
        relative = ratios(values, samples.rounds(load, base, metric))
    elif relation is Relation.OVER_DIRECT:
        relative = differences(values, samples.rounds(load, DIRECT, metric))
    return Row(
        load,
        target,
        metric,
        summarize(list(values.values())),
        relation,
        summarize(relative) if relative else None,
        bar_of(load, target, metric),
    )
