"""Medians, their spread, and ratios to another target of the same round."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """Values of several rounds: the median, and the lowest and highest of them."""

    median: float
    low: float
    high: float
    rounds: int


def summarize(values: Sequence[float]) -> Summary:
    """The summary of at least one value."""
    return Summary(statistics.median(values), min(values), max(values), len(values))


def ratios(values: Mapping[int, float], base: Mapping[int, float]) -> list[float]:
    """Each round's value by the base's value of that round; rounds that one lacks are left out.

    A median of such ratios is steadier than the ratio of two medians: what slows a machine down
    for a while slows both.
    """
    return [values[number] / base[number] for number in _common(values, base) if base[number]]


def differences(values: Mapping[int, float], base: Mapping[int, float]) -> list[float]:
    """Each round's value minus the base's value of that round."""
    return [values[number] - base[number] for number in _common(values, base)]


def _common(values: Mapping[int, float], base: Mapping[int, float]) -> list[int]:
    return sorted(values.keys() & base.keys())
