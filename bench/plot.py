"""Plots for the docs, as SVG that a browser draws with no script."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

COLORS: Final = ("#4477aa", "#ee6677", "#228833", "#aa7733", "#66ccee", "#aa3377", "#777777")
"""Told apart with any kind of colour vision (Paul Tol's bright scheme, with a darker yellow)."""

_WIDTH: Final = 960
_HEIGHT: Final = 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 64, 56
_INSET: Final = 40
_FONT: Final = 'font-family="system-ui, sans-serif"'


@dataclass(frozen=True, slots=True)
class Bars:
    """Groups of bars: a value for each series and group. ``groups_are`` says what the labels below
    the groups mean; a series may lack a group."""

    title: str
    groups_are: str
    series: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Lines:
    """A line for each series over sizes, both of them above 0 and as logarithms: what is
    proportional to the size is parallel to the dashed line, which is the size itself. ``sizes_are``
    and ``values_are`` say what the labels below and on the left mean."""

    title: str
    sizes_are: str
    values_are: str
    series: Mapping[str, Mapping[int, float]]


def svg(chart: Bars | Lines) -> str:
    """The picture, 960 by 420 points, on a light ground."""
    return _bars(chart) if isinstance(chart, Bars) else _lines(chart)


def _bars(bars: Bars) -> str:
    labels = [*dict.fromkeys(label for values in bars.series.values() for label in values)]
    top = _round_up(max((v for values in bars.series.values() for v in values.values()), default=1))
    return _picture(
        bars.title,
        [
            *_legend([*bars.series]),
            *_grid(top),
            *_columns(bars, labels, top),
            _text(_WIDTH / 2, _HEIGHT - 8, bars.groups_are, anchor="middle"),
        ],
    )


def _picture(title: str, parts: list[str]) -> str:
    frame = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(title)}" {_FONT} font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 22, title, size=16),
    ]
    return "\n".join([*frame, *parts, "</svg>"]) + "\n"


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5 and 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM)


def _grid(top: float) -> list[str]:
    lines = []
    for step in range(5):
        value = top * step / 4
        y = _y(value, top)
        lines.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
            ' stroke="#dddddd"/>'
        )
        lines.append(_text(_LEFT - 6, y + 4, f"{value:g}", anchor="end"))
    return lines


def _legend(titles: list[str]) -> list[str]:
    parts, x = [], float(_LEFT)
    for title, color in zip(titles, COLORS, strict=False):
        parts.append(f'<rect x="{x:.0f}" y="36" width="12" height="12" fill="{color}"/>')
        parts.append(_text(x + 18, 46, title))
        x += 40 + 6.6 * len(title)
    return parts


def _columns(bars: Bars, labels: list[str], top: float) -> list[str]:
    parts = []
    wide = (_WIDTH - _LEFT - _RIGHT) / max(1, len(labels))
    bar = wide * 0.8 / max(1, len(bars.series))
    for place, label in enumerate(labels):
        left = _LEFT + wide * (place + 0.1)
        for number, (title, values) in enumerate(bars.series.items()):
            if label not in values:
                continue
            value, y = values[label], _y(values[label], top)
            parts.append(
                f'<rect x="{left + number * bar:.1f}" y="{y:.1f}" width="{bar * 0.9:.1f}"'
                f' height="{_HEIGHT - _BOTTOM - y:.1f}" fill="{COLORS[number % len(COLORS)]}">'
                f"<title>{escape(title)}, {escape(label)}: {value:.3g}</title></rect>"
            )
        parts.append(_text(left + wide * 0.4, _HEIGHT - _BOTTOM + 18, label, anchor="middle"))
    return parts


class _Plane:
    """Where a size and a value are in a plot of lines: between powers of ten."""

    def __init__(self, lines: Lines) -> None:
        values = [value for series in lines.series.values() for value in series.values()]
        self.sizes = sorted({size for series in lines.series.values() for size in series})
        self._across = math.log10(self.sizes[0]), math.log10(self.sizes[-1])
        low, high = min(*values, self.sizes[0]), max(*values, self.sizes[-1])
        self.powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)

    def x(self, size: float) -> float:
        """The distance from the left edge."""
        low, high = self._across
        wide = _WIDTH - _LEFT - _RIGHT - 2 * _INSET
        return _LEFT + _INSET + (math.log10(size) - low) / ((high - low) or 1) * wide

    def y(self, value: float) -> float:
        """The distance from the upper edge."""
        low = self.powers[0]
        return _y(math.log10(value) - low, max(1, len(self.powers) - 1))


def _lines(lines: Lines) -> str:
    plane = _Plane(lines)
    low, high = plane.sizes[0], plane.sizes[-1]
    parts = [*_powers(plane), _path(plane, {low: low, high: high}, "#999999", dashed=True)]
    for number, (title, series) in enumerate(lines.series.items()):
        color = COLORS[number % len(COLORS)]
        parts.append(_path(plane, series, color))
        for size, value in series.items():
            parts.append(
                f'<circle cx="{plane.x(size):.1f}" cy="{plane.y(value):.1f}" r="3.5"'
                f' fill="{color}"><title>{escape(title)}, {size:,}: {value:.3g}</title></circle>'
            )
        # Above the lines: they begin low on the left, and end high on the right.
        y = _TOP + 8 + 18 * number
        parts.append(
            f'<rect x="{_LEFT + 12}" y="{y}" width="12" height="12" fill="{color}"/>'
            + _text(_LEFT + 30, y + 10, title)
        )
    parts.append(_text(_LEFT, 44, lines.values_are))
    parts.append(_text(_WIDTH / 2, _HEIGHT - 8, lines.sizes_are, anchor="middle"))
    return _picture(lines.title, parts)


def _powers(plane: _Plane) -> list[str]:
    """A line for each power of ten, and the sizes below."""
    parts = []
    for power in plane.powers:
        y = plane.y(10.0**power)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
            ' stroke="#dddddd"/>' + _text(_LEFT - 6, y + 4, _short(10.0**power), anchor="end")
        )
    return parts + [
        _text(plane.x(size), _HEIGHT - _BOTTOM + 18, f"{size:,}", anchor="middle")
        for size in plane.sizes
    ]


def _short(value: float) -> str:
    """A power of ten in a few letters: 10k, 1M."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def _path(plane: _Plane, series: Mapping[int, float], color: str, *, dashed: bool = False) -> str:
    points = " ".join(f"{plane.x(s):.1f},{plane.y(v):.1f}" for s, v in series.items())
    dashes = ' stroke-dasharray="6 4"' if dashed else ""
    return f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
        f' fill="#222222">{escape(text)}</text>'
    )
