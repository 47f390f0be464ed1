"""The report's page in a browser: charts drawn, tables sorted, names harmless, nothing fetched.

test_page_figures.py tests that its figures are right.
"""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pytest

from devkit.browser import kept_browser
from devkit.chromium import chromium
from spark.page import Table, page
from spark.sections import SECTIONS
from tests.spark.opened_page import CHARTS, cells_of, opened
from tests.spark.report_rows import ABOUT, FIRST, hostile, sample

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"


@pytest.fixture(scope="module", autouse=True)
def _browser_is_here() -> None:
    """Fetched once, in the first test's time."""
    chromium()


async def test_every_chart_is_drawn(tmp_path: Path) -> None:
    tables, totals = sample()
    async with opened(tmp_path, tables, totals) as tab:
        drawn = await tab.run(
            "Object.fromEntries([...document.querySelectorAll('[data-chart]')].map(box => "
            "[box.dataset.chart, [box.querySelectorAll('svg path').length, "
            "box.querySelectorAll('svg text').length, box.clientWidth, box.clientHeight]]))"
        )
        assert sorted(drawn) == sorted(CHARTS)
        for name, (paths, texts, width, height) in drawn.items():
            assert paths >= 5 and texts >= 5, (name, paths, texts)
            assert width > 900 and height > 100, (name, width, height)
        contents = await tab.run(
            "[...document.querySelectorAll('nav a')].every(link => "
            "document.querySelector(link.getAttribute('href')).tagName === 'SECTION')"
        )
        assert contents is True
        # Each chart has a name, because some users cannot see it.
        assert await tab.run("document.querySelectorAll('[role=img][aria-label]').length") == len(
            CHARTS
        )


async def test_a_table_is_sorted_by_the_buttons_in_its_head(tmp_path: Path) -> None:
    tables, totals = sample()
    async with opened(tmp_path, tables, totals) as tab:
        await tab.run("document.querySelector('#clients .more').click()")

        async def press(column: int) -> tuple[list[str | None], list[Any]]:
            """Press the button of a column, with the keyboard; returns how all columns are sorted
            then."""
            button = f"document.querySelectorAll('#clients th button')[{column}]"
            await tab.run(f"{button}.focus()")
            for kind in ("keyDown", "keyUp"):
                key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
                await tab.call("Input.dispatchKeyEvent", type=kind, **key)
            sorts = await tab.run(
                "[...document.querySelectorAll('#clients th')].map("
                "head => head.getAttribute('aria-sort'))"
            )
            cells = await cells_of(tab, "clients")
            return sorts, [row[column] for row in cells]

        assert await tab.run("document.querySelectorAll('#clients th[aria-sort]').length") == 0
        bytes_in = [row["bytes_in"] for row in tables["clients"].rows]
        sorts, column = await press(2)
        assert sorts == [None, None, "descending", None, None, None, None]
        assert column == sorted(bytes_in, reverse=True)
        sorts, column = await press(2)
        assert sorts[2] == "ascending"
        assert column == sorted(bytes_in)
        sorts, column = await press(0)
        assert sorts == ["ascending", *[None] * 6]
        assert column == sorted(column, key=str.lower)
        # The page is unchanged.
        assert len(column) == len(tables["clients"].rows)


async def test_numbers_sort_by_value_and_what_is_unknown_comes_last(tmp_path: Path) -> None:
    values = [None, 9, 1000, None, 80]
    rows = [
        {"namespace": "n", "topic": f"t{n}", "rule": "r", "outcome": "near", "count": 1, "value": v}
        for n, v in enumerate(values)
    ]
    async with opened(tmp_path, {"policies": Table.of(rows)}) as tab:
        button = "document.querySelectorAll('#policies th button')[5].click()"
        for expected in ([1000, 80, 9, None, None], [9, 80, 1000, None, None]):
            await tab.run(button)
            cells = await cells_of(tab, "policies")
            assert [row[5] for row in cells] == expected


async def test_figures_are_right_to_the_last_digit(tmp_path: Path) -> None:
    """A script's numbers have 53 bits, so larger numbers would be rounded."""
    values = [2**53, 2**63 - 1, 2**53 + 1, 5]
    rows = [
        {"principal": "p", "client_id": f"c{n}", "bytes_in": v, "bytes_out": 0, "requests": v}
        for n, v in enumerate(values)
    ]
    async with opened(tmp_path, {"clients": Table.of(rows)}, {"requests": 2**53 + 1}) as tab:
        await tab.run("document.querySelectorAll('#clients th button')[2].click()")
        shown = await tab.run(
            "[...document.querySelectorAll('#clients tbody tr')].map(row => "
            "[row.cells[2].dataset.value, row.cells[2].title, row.cells[6].textContent])"
        )
        expected = sorted(values, reverse=True)
        assert shown[:3] == [[str(v), f"{v:,} bytes", f"{v:,}"] for v in expected[:3]]
        totals = "[...document.querySelectorAll('#totals dd')].map(x => x.textContent)"
        assert f"{2**53 + 1:,}" in await tab.run(totals)
        assert await tab.run("document.querySelectorAll('[data-chart=clients] svg').length") == 1


async def test_names_that_are_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    async with opened(tmp_path, hostile(HOSTILE)) as tab:
        await tab.run("document.querySelectorAll('.more').forEach(button => button.click())")
        for section in SECTIONS:
            cells = await cells_of(tab, section.table)
            assert HOSTILE in cells[0], section.table
        # The library takes a tooltip as markup; here it is made of texts.
        await tab.run(
            "[...document.querySelectorAll('[data-chart]')].forEach(box => {"
            "  const chart = echarts.getInstanceByDom(box);"
            "  for (let series = 0; series < 4; series++)"
            "    chart.dispatchAction({ type: 'showTip', seriesIndex: series, dataIndex: 0 });"
            "})"
        )
        await tab.settle()
        assert HOSTILE in await tab.run(
            "[...document.querySelectorAll('.tip')].map(x => x.textContent).join(' ')"
        )
        assert await tab.run("document.images.length + document.scripts.length") == 3
        assert await tab.run("typeof window.hacked") == "undefined"


@pytest.mark.parametrize(
    "name", ["__proto__", "constructor", "{b}", "a|b", "", "\u2d63" * 249, "\u202eabc"]
)
async def test_odd_names_are_only_names(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path, hostile(name)) as tab:
        assert await tab.run("document.querySelectorAll('figure:not([hidden])').length") == len(
            CHARTS
        )
        assert await tab.run("document.documentElement.scrollWidth <= innerWidth")


async def test_an_empty_report_says_so_in_words(tmp_path: Path) -> None:
    async with opened(tmp_path, {}) as tab:
        said = await tab.run(
            "[...document.querySelectorAll('main .empty')].map(x => x.textContent)"
        )
        assert said == [section.absent or section.empty for section in SECTIONS]
        assert await tab.run("document.querySelectorAll('table, figure').length") == 0


async def test_rows_without_a_figure_are_a_table_without_a_chart(tmp_path: Path) -> None:
    zero = dict.fromkeys(("bytes_in", "bytes_out", "records_in", "records_out", "requests"), 0)
    tables = {
        "namespaces": Table.of([{"tier": "team-a", **zero}]),
        "clients": Table.of([{"principal": "User:a", "client_id": "a", **zero}]),
        "latency": Table.of([{"namespace": "(all)", "api": "(all)", "side": "gateway", "p50": 1}]),
        "flows_graph": Table.of([{"producer": "a", "topic": "t", "consumer": "b", "bytes": 0}]),
        "replication": Table.of([{"topic": "t.internal", "bytes": 0}]),
    }
    async with opened(tmp_path, tables) as tab:
        assert await tab.run("document.querySelectorAll('table').length") == len(tables)
        assert await tab.run("document.querySelectorAll('figure:not([hidden])').length") == 0


async def test_long_tables_open_at_a_button_and_say_what_is_missing(tmp_path: Path) -> None:
    rows = ({"topic": f"t{n}", "reason": "nobody read it"} for n in range(12_345))
    async with opened(tmp_path, {"idle_topics": Table.of(rows)}) as tab:
        count = "document.querySelectorAll('#idle_topics tbody tr').length"
        assert await tab.run(count) == 12
        assert await tab.run("document.querySelector('#idle_topics .more').textContent") == (
            "Show all 1,000 rows"
        )
        await tab.run("document.querySelector('#idle_topics .more').click()")
        assert await tab.run(count) == 1000
        assert await tab.run("document.querySelector('#idle_topics .limit').textContent") == (
            "These are 1,000 of 12,345 rows, by name. The job's own output has them all."
        )


@pytest.mark.parametrize("width", [1280, 390])
async def test_nothing_is_cut_off(tmp_path: Path, width: int) -> None:
    """Neither a column of a table nor an entry of the navigation."""
    tables, totals = sample()
    async with opened(tmp_path, tables, totals) as tab:
        await tab.resize(width, 900)
        await tab.settle()
        cut: list[str] = await tab.run(
            "[...document.querySelectorAll('.table, nav ul, main')]"
            ".filter(part => part.scrollWidth > part.clientWidth)"
            ".map(part => part.getAttribute('aria-label') || part.tagName)"
        )
        assert cut == []
        seen: list[bool] = await tab.run(
            "[...document.querySelectorAll('nav a')].map(link => {"
            "  const at = link.getBoundingClientRect();"
            "  return at.left >= 0 && at.right <= document.documentElement.clientWidth; })"
        )
        assert len(seen) == len(SECTIONS) and all(seen)


async def test_headings_are_words_with_the_kip_beside_them(tmp_path: Path) -> None:
    async with opened(tmp_path, sample()[0]) as tab:
        titles: list[str] = await tab.run(
            "[...document.querySelectorAll('h2')].map(title => title.firstChild.data.trim())"
        )
        assert titles == [section.title for section in SECTIONS]
        assert not [title for title in titles if "KIP" in title]
        kips: list[str] = await tab.run(
            "[...document.querySelectorAll('h2 .kip')].map(kip => kip.textContent)"
        )
        assert kips == ["KIP-679", "KIP-1074"]


async def test_time_goes_on_where_nothing_happened(tmp_path: Path) -> None:
    """Four bars for the minutes 0, 1, (2,) 3: not three side by side."""
    rows = [
        {"period": FIRST + dt.timedelta(minutes=n), "tier": "a", "bytes_in": 5} for n in (0, 1, 3)
    ]
    async with opened(tmp_path, {"over_time": Table.of(rows)}) as tab:
        periods: list[str] = await tab.run(
            "everyPeriod(REPORT.sections[1].rows.map(row => row[0]))"
        )
        assert [period[14:16] for period in periods] == ["00", "01", "02", "03"]
        known = ["2026-01-01T00:00:00Z"]
        assert await tab.run(f"everyPeriod({known})") == known


async def test_on_a_phone_nothing_is_wider_than_the_screen(tmp_path: Path) -> None:
    tables, totals = sample()
    async with opened(tmp_path, tables, totals) as tab:
        await tab.resize(360, 740)
        assert await tab.run("document.documentElement.scrollWidth") <= 360
        widest = await tab.run(
            "Math.max(...[...document.querySelectorAll('section *')]"
            ".filter(x => !x.closest('svg') && !x.closest('caption'))"
            ".map(x => x.getBoundingClientRect().right))"
        )
        assert widest <= 360
        label = await tab.run(
            "getComputedStyle(document.querySelector('#latency td.number'), '::before').content"
        )
        assert label == '"p50"'
        # Charts follow, also back.
        narrow = "document.querySelector('[data-chart=time] svg').clientWidth"
        assert await tab.run(narrow) < 360
        await tab.resize(1200, 900)
        assert await tab.run(narrow) > 900


async def test_dark_and_light_and_on_paper(tmp_path: Path) -> None:
    tables, totals = sample()
    look = (
        "(() => { const style = getComputedStyle(document.body);"
        "const text = document.querySelector('[data-chart=denials] svg text');"
        "return [style.backgroundColor, style.color, text.getAttribute('fill'),"
        "document.querySelector('[data-chart=time] svg').clientWidth,"
        "getComputedStyle(document.querySelector('nav')).display]; })()"
    )
    async with opened(tmp_path, tables, totals) as tab:
        await tab.media(scheme="light")
        light = await tab.run(look)
        await tab.media(scheme="dark")
        dark = await tab.run(look)
        for page_color, ink, chart_ink, width, nav in (light, dark):
            assert _contrast(page_color, ink) > 7
            assert _contrast(page_color, chart_ink) > 4.5
            assert width > 900 and nav == "block"
        assert light[0] != dark[0]
        # Paper is white, whatever the screen was.
        await tab.media("print", scheme="dark")
        page_color, ink, chart_ink, width, nav = await tab.run(look)
        assert page_color == "rgb(255, 255, 255)"
        assert _contrast(page_color, ink) > 7 and _contrast(page_color, chart_ink) > 4.5
        assert width <= 680 and nav == "none"
        await tab.media(scheme="light")
        assert await tab.run(look) == light
        assert (await tab.pdf()).startswith(b"%PDF-")


async def test_commands_are_copied_as_they_are(tmp_path: Path) -> None:
    tables, totals = sample()
    async with opened(tmp_path, tables, totals) as tab:
        await tab.run(
            "window.copied = [];"
            "Object.defineProperty(navigator, 'clipboard', {value: "
            "{writeText: async text => { copied.push(text); }}})"
        )
        await tab.run("document.querySelectorAll('#unused_acls .copy').forEach(x => x.click())")
        commands = [row["command"] for row in tables["unused_acls"].rows if row["command"]]
        assert await tab.run("copied") == [*commands, "\n".join(commands)]


async def test_the_page_may_ask_for_nothing(tmp_path: Path) -> None:
    """The content security policy forbids it, if a script ever tries."""
    file = tmp_path / "report.html"
    file.write_text(page({}, {}, ABOUT), encoding="utf-8")
    async with kept_browser() as browser, browser.page() as tab:
        await tab.open(file)
        refused = await tab.run("fetch('http://127.0.0.1:9/').then(() => 'sent', e => e.message)")
        assert refused == "Failed to fetch"
        assert "Content Security Policy" in " ".join(tab.errors)


def _contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    if color.startswith("#"):
        values = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    else:
        values = [int(value) for value in re.findall(r"\d+", color)[:3]]
    linear = [v / 255 / 12.92 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("width", [1280, 1120, 1081, 900, 700])
async def test_nothing_of_the_navigation_is_cut_and_no_tile_stands_alone(
    tmp_path: Path, width: int
) -> None:
    tables, totals = sample()
    async with opened(tmp_path, tables, totals) as tab:
        await tab.resize(width, 900)
        cut = (
            "[...document.querySelectorAll('nav a')].filter((link) => {"
            " const box = link.getBoundingClientRect();"
            " return link.getClientRects().length !== 1 || box.left < 0 || box.right > innerWidth;"
            " }).map((link) => link.textContent)"
        )
        assert await tab.run(cut) == []
        tiles = await tab.run(
            "[...document.querySelectorAll('#totals div')].map((tile) => tile.offsetTop)"
        )
        rows = [tiles.count(top) for top in sorted(set(tiles))]
        assert len(tiles) == 9
        # The last row is short of one tile at most.
        assert rows[0] - rows[-1] <= 1
        assert await tab.run(
            "[...document.querySelectorAll('#totals dd')].every((one) =>"
            " one.scrollWidth <= one.clientWidth)"
        )
        # The heading that a link leads to is not hidden by the navigation, which stays.
        await tab.run("(document.querySelectorAll('nav a')[4].click(), 1)")
        await tab.settle()
        nav, heading = await tab.run(
            "[document.querySelector('nav').getBoundingClientRect().bottom,"
            " document.querySelector(location.hash + ' h2').getBoundingClientRect().top]"
        )
        assert heading >= nav


@pytest.mark.parametrize("width", [1280, 390])
async def test_every_box_of_the_tree_has_its_label(tmp_path: Path, width: int) -> None:
    tables, totals = sample()
    async with opened(tmp_path, tables, totals) as tab:
        await tab.resize(width, 900)
        await tab.settle()
        names, texts = await tab.run(
            "(() => { const box = document.querySelector('[data-chart=tree]');"
            " const [series] = echarts.getInstanceByDom(box).getOption().series;"
            " const names = []; const visit = (one) => { names.push(one.name);"
            " (one.children || []).forEach(visit); }; series.data.forEach(visit);"
            " return [names, [...box.querySelectorAll('svg text')].map((t) => t.textContent)]; })()"
        )
        assert len(names) >= 8
        # A narrow box has the beginning of its name, and no box is empty.
        beginnings = {text[:3] for text in texts}
        assert [name for name in names if name[:3] not in beginnings] == []
        assert any("smaller" in name for name in names) is (width == 390)
