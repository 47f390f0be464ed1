"""The figures of docs/sizing.md: tables and plots of what ``bench.sizing`` measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from bench.machine import Provenance
from bench.plot import Bars, svg
from bench.report import table
from bench.sizing_load import SHARES, Measured
from devkit.paths import PROJECT_ROOT

LATEST: Final = Path(__file__).parent / "results" / "sizing.json"
PAGE: Final = PROJECT_ROOT / "docs" / "sizing.md"
BEGIN: Final = "<!-- measured by make bench-sizing -->"
END: Final = "<!-- end of what was measured -->"

_TOLD: Final = SHARES[:4]
_RATES_HEAD: Final = (
    "topics",
    "messages/s",
    "target",
    "millicores a MB/s",
    *(f"publish {share}" for share in _TOLD),
    *(f"end to end {share}" for share in _TOLD),
)
_CLIMB_HEAD: Final = (
    "topics",
    "target",
    "keeps up with",
    "falls behind at",
    "millicores a MB/s",
    "publish p99",
    "end to end p99",
)

Windows = list[Measured]
"""Those of one target at one rate: one for each round."""


def write_page(found: Sequence[Measured], where: Provenance, *, record: bool) -> str:
    """The text of what was measured; ``record``: it stands in docs/sizing.md now, with its
    plots."""
    at_rates = [each for each in found if not each.climbing]
    climbed = [each for each in found if each.climbing]
    parts = [f"{where.line}. Latencies are in milliseconds.\n", _rates_table(at_rates)]
    parts += [_climb_table(climbed)] if climbed else []
    parts.append(_memory(found))
    text = "\n".join(parts)
    if record:
        page = PAGE.read_text()
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{after}")
        for name, chart in plots(at_rates).items():
            PAGE.with_name(name).write_text(svg(chart))
    return text


def plots(found: Sequence[Measured]) -> dict[str, Bars]:
    """The plots of the page by their file names."""
    proxies = [each for each in found if each.rss]
    return {
        "sizing-cores.svg": _bars(
            proxies, "Millicores for each MB/s", lambda each: each.window.millicores
        ),
        "sizing-latency.svg": _bars(
            found, "Publish latency in ms, p99", lambda each: each.window.publish["p99"]
        ),
    }


def _bars(found: Sequence[Measured], title: str, value: Callable[[Measured], float]) -> Bars:
    series: dict[str, dict[str, float]] = {}
    for group in _groups(found):
        window = group[0].window
        label = f"{window.rate:,}/s to {window.topics}"
        series.setdefault(group[0].title, {})[label] = median(map(value, group))
    return Bars(title, "messages a second to so many topics", series)


def _groups(found: Iterable[Measured]) -> list[Windows]:
    groups: dict[tuple[int, int, str], Windows] = {}
    for each in found:
        window = each.window
        groups.setdefault((window.topics, window.rate, each.target), []).append(each)
    return [groups[key] for key in sorted(groups, key=lambda key: key[:2])]


def _rates_table(found: Iterable[Measured]) -> str:
    lines = []
    for group in _groups(found):
        window = group[0].window
        latencies = [
            _number(median(getattr(each.window, kind)[share] for each in group))
            for kind in ("publish", "end_to_end")
            for share in _TOLD
        ]
        named = (str(window.topics), f"{window.rate:,}", group[0].title)
        lines.append((*named, _millicores(group), *latencies))
    return table(_RATES_HEAD, lines)


def _climb_table(found: Iterable[Measured]) -> str:
    climbs: dict[tuple[int, str], Windows] = {}
    for each in found:
        climbs.setdefault((each.window.topics, each.title), []).append(each)
    lines = []
    for (topics, title), climb in climbs.items():
        kept = [each for each in climb if each.window.sustained]
        lost = [each for each in climb if not each.window.sustained]
        told = ("", "", "", "")
        if kept:
            window = kept[-1].window
            told = (
                f"{window.rate:,}",
                _millicores(kept[-1:]),
                _number(window.publish["p99"]),
                _number(window.end_to_end["p99"]),
            )
        behind = f"{lost[0].window.rate:,}" if lost else "more than was tried"
        lines.append((str(topics), title, told[0], behind, *told[1:]))
    return table(_CLIMB_HEAD, lines)


def _memory(found: Iterable[Measured]) -> str:
    largest: dict[str, float] = {}
    for each in found:
        if each.rss:
            largest[each.title] = max(largest.get(each.title, 0.0), each.rss)
    told = ", ".join(f"{title} {_number(rss)} MiB" for title, rss in largest.items())
    return f"Resident memory of the largest process, at most: {told}.\n"


def _millicores(group: Windows) -> str:
    return _number(median(each.window.millicores for each in group)) if group[0].rss else ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
