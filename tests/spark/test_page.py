"""spark.page: rows become a page, with every figure once. test_page_in_browser.py tests in a
browser how the page shows them."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import html
import itertools
import json
import re
import subprocess
import sys
import zipfile
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from devkit.paths import PROJECT_ROOT
from spark.page import About, Table, page
from spark.sections import SECTIONS, TOTALS
from tests.spark.report_rows import ABOUT, hostile, sample

ASSETS = PROJECT_ROOT / "spark" / "assets"
ECHARTS_SHA256 = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"
"""dist/echarts.min.js of the npm package echarts 6.1.0."""


class _Elements(HTMLParser):
    """The elements that a browser would find, with their attributes, and the scripts' texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._is_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._is_script = tag == "script"
        if self._is_script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_script = False

    def handle_data(self, data: str) -> None:
        if self._is_script:
            self.scripts[-1] += data


def data_of(text: str) -> Any:
    """The page's JSON block."""
    return json.loads(_Elements(text).scripts[0])


def made(rows: dict[str, Table] | None = None, **about: Any) -> str:
    return page(rows or {}, {}, About("here", dt.datetime(2026, 1, 1, tzinfo=dt.UTC), **about))


def test_every_figure_is_in_the_block_as_it_was_given() -> None:
    tables, totals = sample()
    data = data_of(page(tables, totals, ABOUT))
    assert data["totals"]["row"] == [totals[column.key] for column in TOTALS]
    assert [section["table"] for section in data["sections"]] == [s.table for s in SECTIONS]
    for section, shown in zip(SECTIONS, data["sections"], strict=True):
        given = tables[section.table]
        assert given.rows, section.table
        assert shown["total"] == given.total
        for row, cells in zip(given.rows, shown["rows"], strict=True):
            expected = [row.get(column.key) for column in section.columns]
            if section.table == "over_time" and isinstance(expected[0], dt.datetime):
                expected[0] = expected[0].strftime("%Y-%m-%dT%H:%M:%SZ")
            assert cells == expected


def test_values_become_what_json_has() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    rows = [
        {"period": dt.datetime(2026, 1, 1, 2, tzinfo=zone), "bytes_in": Decimal(7)},
        {"period": dt.datetime(2026, 1, 1), "bytes_in": 2**62},
        {"period": dt.date(2026, 1, 1), "bytes_in": float("nan"), "requests": 1.5},
    ]
    section = data_of(made({"over_time": Table.of(rows)}))["sections"][1]
    assert [row[0] for row in section["rows"]] == [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
        "2026-01-01",
    ]
    assert [row[2] for row in section["rows"]] == [7, str(2**62), None]
    assert section["rows"][2][-1] == 1.5
    assert section["rows"][0][1] is None


def test_what_no_column_shows_is_an_error() -> None:
    with pytest.raises(ValueError, match="no section shows surprise"):
        made({"surprise": Table.of([])})
    with pytest.raises(ValueError, match="latency has no column p42"):
        made({"latency": Table.of([{"api": "Fetch", "p42": 1}])})
    with pytest.raises(TypeError, match="a page cannot show list"):
        made({"latency": Table.of([{"api": ["Fetch"]}])})


def test_a_long_table_is_cut_and_says_how_long_it_was() -> None:
    table = Table.of(({"topic": str(n)} for n in range(5000)), limit=10)
    assert (len(table.rows), table.total) == (10, 5000)
    section = data_of(made({"idle_topics": table}))["sections"][6]
    assert (len(section["rows"]), section["total"]) == (10, 5000)


@pytest.mark.parametrize(
    "name",
    [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]><img src=x onerror=alert(1)>",
        "{{library}}{{data}}",
        "&lt;b&gt;&amp;",
        "\u2028\u2029\u202e\x00'\"\\",
        "__proto__",
    ],
)
def test_no_name_gets_out_of_its_place(name: str) -> None:
    plain = _Elements(made(hostile("plain"), title="plain"))
    text = made(hostile(name), title=name)
    found = _Elements(text)
    # The same elements, except for the title's text and the hash: names add no element.
    assert [tag for tag, _ in found.found] == [tag for tag, _ in plain.found]
    assert found.scripts[1:] == plain.scripts[1:]
    data = json.loads(found.scripts[0])
    assert {row[0] for s in data["sections"] for row in s["rows"] if s["table"] != "over_time"} == {
        name
    }
    assert f"<h1>{html.escape(name)}</h1>" in text


def test_nothing_is_fetched_and_only_the_pages_own_scripts_run() -> None:
    tables, totals = sample()
    elements = _Elements(page(tables, totals, ABOUT))
    for tag, attributes in elements.found:
        for key in ("src", "href", "action", "data", "srcset", "poster"):
            assert (attributes.get(key) or "#")[:5] in {"#", "data:", "#cont"}, (tag, attributes)
    policy = next(
        a["content"] or ""
        for _, a in elements.found
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert rules["script-src"].split() == [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in elements.scripts[1:]
    ]
    assert "url(" not in (ASSETS / "report.css").read_text()


def test_the_chart_library_is_the_pinned_one_with_its_licence() -> None:
    library = (ASSETS / "echarts.min.js").read_bytes()
    assert hashlib.sha256(library).hexdigest() == ECHARTS_SHA256
    assert len(library) < 1_500_000
    licence = (ASSETS / "echarts.LICENSE.txt").read_text()
    for part in ("Apache License", "Apache ECharts", "Mike Bostock", "Baidu", "Microsoft"):
        assert part in licence


def test_every_file_of_the_page_is_described() -> None:
    described = (ASSETS / "README.md").read_text()
    for path in ASSETS.iterdir():
        assert path.name == "README.md" or f"`{path.name}`" in described


def test_every_chart_has_a_maker() -> None:
    scripts = (ASSETS / "charts.js").read_text() + (ASSETS / "bars.js").read_text()
    makers = re.findall(r"^CHART_MAKERS\.(\w+) = ", scripts, re.MULTILINE)
    charts = [chart.maker for section in SECTIONS for chart in section.charts]
    assert sorted(makers) == sorted(charts)


def test_a_page_is_made_from_a_zip_file_too(tmp_path: Path) -> None:
    """As ``spark-submit --py-files`` brings the package."""
    archive = tmp_path / "spark.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in [*ASSETS.iterdir(), *(ASSETS.parent / f"{n}.py" for n in ("page", "sections"))]:
            packed.write(path, path.relative_to(PROJECT_ROOT))
        packed.writestr("spark/__init__.py", "")
    script = (
        "import datetime as d; from spark.page import About, page;"
        "print(len(page({}, {}, About('x', d.datetime.now(d.UTC)))))"
    )
    command = [
        sys.executable,
        "-I",
        "-c",
        f"import sys; sys.path[0:0] = [{str(archive)!r}]; {script}",
    ]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(ended.stdout) > 1_000_000


# The look of colours to people who lack a kind of cones (Machado, Oliveira, Fernandes 2009), as
# matrices over linear RGB.
_EYES = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
_JUST_NOTICEABLE = 2.3
"""A difference in CIE L*a*b* that people just notice side by side."""


@pytest.mark.parametrize("eyes", _EYES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_told_apart_by_everybody(scheme: str, eyes: str) -> None:
    style = (ASSETS / "report.css").read_text()
    light, dark = (
        dict(re.findall(r"--(series-\d|other): (#[0-9a-f]{6})", part))
        for part in style.split("prefers-color-scheme: dark")
    )
    colors = light if scheme == "light" else light | dark
    assert len(colors) == 8
    seen = {name: _lab(color, _EYES[eyes]) for name, color in colors.items()}
    for one, other in itertools.combinations(seen, 2):
        assert _distance(seen[one], seen[other]) > 6 * _JUST_NOTICEABLE, (one, other)


def _lab(color: str, eyes: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    values = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    seen = [min(1.0, max(0.0, _product(row, linear))) for row in eyes]
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    scaled = [
        _product(row, seen) / white for row, white in zip(to_xyz, (0.9505, 1, 1.0888), strict=True)
    ]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in scaled)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _product(row: tuple[float, ...], column: list[float]) -> float:
    return sum(a * b for a, b in zip(row, column, strict=True))


def _distance(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5)
