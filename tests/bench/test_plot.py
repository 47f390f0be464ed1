"""bench.plot: plots with lines. Those with bars are tested with the page that has them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from bench.plot import Lines, svg

SERIES = {"linear": {1: 1.0, 10: 10.0, 100: 100.0}, "a < b": {1: 1.0, 100: 10_000.0}}


def drawn(lines: Lines) -> tuple[list[list[tuple[float, float]]], list[str]]:
    """The points of each line, the dashed one first, and all texts."""
    root = ElementTree.fromstring(svg(lines))  # noqa: S314
    paths = [
        [(float(x), float(y)) for x, y in (point.split(",") for point in path.split())]
        for path in (each.attrib["points"] for each in root if each.tag.endswith("polyline"))
    ]
    return paths, [each.text or "" for each in root if each.tag.endswith("text")]


def test_what_is_proportional_to_the_size_lies_on_the_dashed_line() -> None:
    (dashed, linear, square), texts = drawn(Lines("growth", "things", "cost", SERIES))
    (x0, y0), (x1, y1), (x2, y2) = linear
    assert dashed == [(x0, y0), (x2, y2)]
    assert (x1 - x0, y1 - y0) == pytest.approx((x2 - x1, y2 - y1), abs=0.11)
    # Twice as steep.
    assert square[1][1] - square[0][1] == pytest.approx(2 * (y2 - y0), abs=0.2)
    assert {"growth", "things", "cost", "1", "10", "100", "a < b", "10k"} <= set(texts)


def test_all_of_it_is_within_the_picture() -> None:
    paths, _ = drawn(Lines("growth", "things", "cost", {"falls": {1: 1.0, 1_000_000: 0.003}}))
    for x, y in (point for path in paths for point in path):
        assert 56 <= x <= 960 - 16
        assert 64 <= y <= 420 - 56


def test_a_single_size() -> None:
    (dashed, only), _ = drawn(Lines("growth", "things", "cost", {"once": {7: 7.0}}))
    assert dashed == only
