"""Plots for the docs, as SVG that a browser draws with no script."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

COLORS: Final = ("#4477aa", "#ee6677", "#228833", "#aa7733", "#66ccee")
"""Told apart with any kind of colour vision (Paul Tol's bright scheme, with a darker yellow)."""

_WIDTH: Final = 960
_HEIGHT: Final = 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 64, 56
_FONT: Final = 'font-family="system-ui, sans-serif"'


@dataclass(frozen=True, slots=True)
class Bars:
    """Groups of bars: a value for each series and group. ``groups_are`` says what the labels below
    the groups mean; a series may lack a group."""

    title: str
    groups_are: str
    series: Mapping[str, Mapping[str, float]]


def svg(bars: Bars) -> str:
    """The picture, 960 by 420 points, on a light ground."""
    labels = [*dict.fromkeys(label for values in bars.series.values() for label in values)]
    top = _round_up(max((v for values in bars.series.values() for v in values.values()), default=1))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(bars.title)}" {_FONT} font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 22, bars.title, size=16),
        *_legend([*bars.series]),
        *_grid(top),
        *_columns(bars, labels, top),
        _text(_WIDTH / 2, _HEIGHT - 8, bars.groups_are, anchor="middle"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


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


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
        f' fill="#222222">{escape(text)}</text>'
    )
