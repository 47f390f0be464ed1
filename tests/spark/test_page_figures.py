"""The figures on the report's page are the figures of the rows that it was made of.

The charts' figures are read off the chart library's own model, the tables' figures off the cells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from devkit.browser import Page
from devkit.chromium import chromium
from spark.page import Row
from spark.sections import SECTIONS
from tests.spark.opened_page import cells_of, opened
from tests.spark.report_rows import sample

_MODEL = """
[...document.querySelectorAll("[data-chart]")].map(box => {
  const option = echarts.getInstanceByDom(box).getOption();
  return {
    name: box.dataset.chart,
    labels: (option.yAxis || []).flatMap(axis => axis.data || []),
    ticks: (option.xAxis || []).flatMap(axis => axis.data || []),
    series: option.series.map(({ name, type, data, links }) => ({ name, type, data, links })),
  };
})
"""


@pytest.fixture(scope="module", autouse=True)
def _browser_is_here() -> None:
    """Fetched once, in the first test's time."""
    chromium()


async def model_of(tab: Page) -> dict[str, Any]:
    """By chart: its labels, and its series by name."""
    found = await tab.run(_MODEL)
    return {
        chart["name"]: {**chart, "by_name": {s.get("name"): s for s in chart["series"]}}
        for chart in found
    }


def moved(row: Row) -> int:
    return int(row["bytes_in"]) + int(row["bytes_out"])


def added(rows: list[Row], *keys: str, value: str) -> dict[tuple[Any, ...], int]:
    sums: dict[tuple[Any, ...], int] = defaultdict(int)
    for row in rows:
        sums[tuple(row[key] for key in keys)] += row[value]
    return dict(sums)


def stacked(chart: Mapping[str, Any]) -> dict[tuple[Any, ...], int]:
    """The values of bars that are not 0, by label and series."""
    return {
        (label, series["name"]): value
        for series in chart["series"]
        for label, value in zip(chart["labels"], series["data"], strict=True)
        if value
    }


async def test_the_tables_show_every_figure(tmp_path: Path) -> None:
    tables, totals = sample()
    async with opened(tmp_path, tables, totals) as tab:
        await tab.run("document.querySelectorAll('.more').forEach(button => button.click())")
        for section in SECTIONS:
            cells = await cells_of(tab, section.table)
            rows = tables[section.table].rows
            assert len(cells) == len(rows), section.table
            for row, shown in zip(rows, cells, strict=True):
                for column, value in zip(section.columns, shown, strict=True):
                    if column.kind in {"bytes", "count", "us", "number"}:
                        assert value == row.get(column.key), (section.table, column.key)
                    elif column.kind in {"text", "command"}:
                        assert value == (row.get(column.key) or "\N{EN DASH}")
        figures = await tab.run(
            "[...document.querySelectorAll('#totals dd')].map(x => +x.dataset.value)"
        )
        assert figures == list(totals.values())


@pytest.mark.parametrize("width", [1200, 400])
async def test_the_boxes_are_the_namespaces(tmp_path: Path, width: int) -> None:
    tables, totals = sample()
    rows = tables["namespaces"].rows
    async with opened(tmp_path, tables, totals, width=width) as tab:
        charts = await model_of(tab)

    tree = {row["tier"]: moved(row) for row in rows if row["tier"] != "(all)"}
    roots = charts["tree"]["series"][0]["data"]
    boxes = dict(_boxes(roots))
    own = boxes.pop("shop itself")
    assert boxes.items() <= tree.items()
    assert {path for path in tree if ":" not in path} == _named(roots)
    # A namespace without room for a label stands in a box of several, or has no label inside its
    # parent's.
    assert sum(root["value"] for root in roots) == sum(tree[path] for path in _named(roots))
    for folded in (root for root in roots if root.get("folded")):
        assert folded["value"] == sum(tree[path] for path in folded["path"].split(", "))
    largest = sorted(tree, key=lambda path: tree[path])[-(8 if width > 600 else 4) :]
    assert boxes.keys() >= set(largest)
    assert any(root.get("folded") for root in roots) == (width < 600)
    assert own == tree["shop"] - sum(v for k, v in tree.items() if k.startswith("shop:"))


async def test_the_charts_figures_are_the_tables(tmp_path: Path) -> None:
    tables, totals = sample()
    rows = {name: list(table.rows) for name, table in tables.items()}
    async with opened(tmp_path, tables, totals) as tab:
        charts = await model_of(tab)

    time = charts["time"]
    in_time = {
        (tick, series["name"]): value
        for series in time["series"]
        for tick, value in zip(time["ticks"], series["data"], strict=True)
    }
    assert in_time == {
        (row["period"].strftime("%Y-%m-%dT%H:%M:%SZ"), row["tier"]): moved(row)
        for row in rows["over_time"]
    }

    clients = charts["clients"]
    for side in ("in", "out"):
        expected = [row[f"bytes_{side}"] for row in rows["clients"][: len(clients["labels"])]]
        assert clients["by_name"][side]["data"] == expected

    assert stacked(charts["denials"]) == added(rows["denials"], "principal", "rule", value="count")
    assert stacked(charts["policies"]) == added(rows["policies"], "rule", "outcome", value="count")
    replication = stacked(charts["replication"])
    assert {topic: value for (topic, _), value in replication.items()} == {
        row["topic"]: row["bytes"] for row in rows["replication"]
    }
    assert replication.keys() >= {
        ("iot:alarms.internal", "replicated now"),
        ("__stats", "not replicated"),
    }

    guarantees = charts["guarantees"]
    for name, key in (("acks=0", "acks_0"), ("acks=1", "acks_1"), ("acks=all", "acks_all")):
        expected = [row[key] for row in rows["guarantees"]]
        assert guarantees["by_name"][name]["data"] == expected
    breaking = [label.startswith("✗") for label in guarantees["labels"]]
    assert breaking == [row["breaks_idempotence"] for row in rows["guarantees"]]


async def test_the_flows_and_the_percentiles_are_the_tables(tmp_path: Path) -> None:
    tables, totals = sample()
    rows = {name: list(table.rows) for name, table in tables.items()}
    async with opened(tmp_path, tables, totals) as tab:
        charts = await model_of(tab)
    links = charts["flows"]["series"][0]["links"]
    assert {(link["source"], link["target"]): link["value"] for link in links} == {
        (f"0|{one}", f"1|{other}"): value
        for (one, other), value in added(
            rows["flows_graph"], "producer", "topic", value="bytes"
        ).items()
    } | {
        (f"1|{one}", f"2|{other}"): value
        for (one, other), value in added(
            rows["flows_graph"], "topic", "consumer", value="bytes"
        ).items()
    }
    for side in ("gateway", "broker"):
        chart = charts[side]
        for name, key in (("p50", "p50"), ("p95", "p95"), ("p99", "p99"), ("p99.9", "p999")):
            dots = {chart["labels"][place]: x for x, place in chart["by_name"][name]["data"]}
            assert dots == {
                f"{row['api']} · {row['namespace']}": row[key]
                for row in rows["latency"]
                if row["side"] == side
            }
    assert charts["gateway"]["labels"] == charts["broker"]["labels"]


def _boxes(nodes: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """The path and the bytes of each namespace that has a box of its own."""
    return [
        pair
        for node in nodes
        if not node.get("folded")
        for pair in [(node["path"], node["value"]), *_boxes(node.get("children") or [])]
    ]


def _named(nodes: list[dict[str, Any]]) -> set[str]:
    """The namespaces that boxes stand for; a box of several names them all."""
    return {path for node in nodes for path in node["path"].split(", ")}


async def test_figures_are_written_as_people_read_them(tmp_path: Path) -> None:
    wanted = {
        "formatBytes": {0: "0 B", 1023: "1,023 B", 1024: "1 KiB", 1023 * 1024: "1,023 KiB"}
        | {1047961: "1,023 KiB", 1048064: "1 MiB", 1536 * 2**20: "1.5 GiB", 2**63: "8 EiB"},
        "formatMicroseconds": {0: "0 µs", 999: "999 µs", 1024: "1.02 ms", 999_600: "1 s"}
        | {8_388_608: "8.39 s", 600_000_000: "600 s"},
    }
    async with opened(tmp_path, {}) as tab:
        for function, cases in wanted.items():
            for value, text in cases.items():
                shown = await tab.run(f"{function}({value})")
                assert shown.replace("\u00a0", " ") == text
        assert await tab.run("formatValue('count', 1234567)") == "1,234,567"
        assert await tab.run("formatValue('time', '2026-03-02T06:00:00Z')") == "2026-03-02 06:00"
        assert await tab.run("formatValue('flag', false)") == "no"
        assert await tab.run("formatValue('namespace', '')") == "(default)"
