"""``python -m devkit.drawn_dashboards FOLDER``: draws the dashboards as pictures.

Grafana is not needed: a real Prometheus runs the queries of the committed JSON, over two gateways
of a tree under load, and each panel is drawn at its place in the JSON, with its unit, its words and
its colours, in the style of the report. Grafana's own additions are missing.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from dashboards import files
from devkit.browser import open_browser
from devkit.dashboards import filled
from devkit.paths import PROJECT_ROOT
from devkit.prometheus import Prometheus
from devkit.waiting import progress
from devkit.watched import watched
from devkit.watched_traffic import traffic

LOAD_SECONDS: Final = 150.0
_WIDTH: Final = 1_400
_TEMPLATE: Final = Path(__file__).with_suffix(".html")
_ASSETS: Final = PROJECT_ROOT / "spark" / "assets"

Series: TypeAlias = tuple[Mapping[str, str], Sequence[tuple[float, float]]]
"""Labels, and points: seconds since 1970 and values."""

Ask: TypeAlias = Callable[[str, bool], Sequence[Series]]
"""(expression, instant) -> its series, with all points, or only the newest point if ``instant``."""


def main(arguments: Sequence[str]) -> int:
    """Draw all dashboards; returns the exit status."""
    folder = Path(arguments[0] if arguments else "drawn-dashboards")
    folder.mkdir(parents=True, exist_ok=True)
    with (
        watched() as gateways,
        traffic(gateways),
        Prometheus(gateways.metrics_ports, files.RULE_FILES) as prometheus,
    ):
        with progress("letting the gateways work"):
            time.sleep(LOAD_SECONDS)
        end = time.time()
        for name in files.dashboard_names():
            page = drawn(name, lambda query, instant: prometheus.series(query, end, 120, instant))
            (folder / f"{name}.html").write_text(page)
    asyncio.run(_photograph(folder))
    print(f"the dashboards are in {folder}")
    return 0


def drawn(name: str, ask: Ask) -> str:
    """A dashboard as a single HTML file."""
    board = files.dashboard(name)
    rows = sorted({panel["gridPos"]["y"] for panel in board["panels"]})
    panels = [
        {**_panel(panel, ask), "row": 1 + rows.index(panel["gridPos"]["y"])}
        for panel in board["panels"]
    ]
    parts = {
        "title": html.escape(board["title"]),
        "about": html.escape(board["description"]),
        "style": (_ASSETS / "report.css").read_text(),
        "library": (_ASSETS / "echarts.min.js").read_text(),
        "data": json.dumps(panels).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _TEMPLATE.read_text())


def _panel(panel: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    place = {"title": panel["title"], "type": panel["type"], "place": panel["gridPos"]}
    if panel["type"] == "row":
        return place
    defaults = panel["fieldConfig"]["defaults"]
    words = [mapping["options"] for mapping in defaults.get("mappings", ())]
    stacking = defaults.get("custom", {}).get("stacking", {})
    return {
        **place,
        "unit": defaults["unit"],
        "words": words[0] if words else {},
        "steps": defaults.get("thresholds", {}).get("steps", []),
        "named": panel["options"].get("textMode") == "value_and_name",
        "stacked": stacking.get("mode") == "normal",
        "series": [
            {"name": legend(target["legendFormat"], labels), "points": points}
            for target in panel["targets"]
            for labels, points in ask(filled(target["expr"]), bool(target.get("instant")))
        ],
    }


def legend(text: str, labels: Mapping[str, str]) -> str:
    """The name of a series, made from the legend's format as Grafana does."""
    if text == "__auto":
        return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), text).strip()


async def _photograph(folder: Path) -> None:
    async with open_browser(folder) as browser:
        for path in sorted(folder.glob("*.html")):
            async with browser.page() as tab:
                await tab.resize(_WIDTH, 1_000)
                await tab.open(path.resolve().as_uri())
                while not await tab.run("document.documentElement.dataset.ready === 'yes'"):
                    await asyncio.sleep(0.05)
                height = await tab.run("document.documentElement.scrollHeight")
                await tab.resize(_WIDTH, min(height + 10, 8_000))
                await tab.settle()
                path.with_suffix(".png").write_bytes(await tab.screenshot())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
