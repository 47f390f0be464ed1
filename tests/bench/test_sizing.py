"""``make bench-sizing``: its figures, its page, and that every message arrives."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bench import sizing_page
from bench.machine import Provenance
from bench.plot import Bars, svg
from bench.sizing import Plan, measure
from bench.sizing_load import SHARES, Measured, Window
from bench.sizing_page import BEGIN, END, PAGE, write_page

WHERE = Provenance("2026-12-01", "abc", 2, 24, "3.11.7", "6.18", 0.1)


def window(
    *,
    rate: int = 1_000,
    topics: int = 1,
    received: int = 10_000,
    p99: float = 9.0,
    cpu: float = 0.2,
) -> Window:
    """Ten seconds of 1,000 messages a second, unless told otherwise."""
    latencies = dict(zip(SHARES, (1.0, 4.0, p99, 20.0, 30.0), strict=True))
    counts = (10_000, 10_000, received, 0)
    return Window(rate, topics, 10.0, *counts, latencies, latencies, latencies, cpu)


def measured(title: str, cpu: float = 0.2, *, climbing: bool = False, **values: float) -> Measured:
    rss = 0.0 if title == "direct" else 66.0
    return Measured(title, title, climbing, window(cpu=cpu, **values), rss)  # type: ignore[arg-type]


def test_bytes_count_in_both_directions() -> None:
    both = window(cpu=0.2)
    assert both.megabytes_a_second == pytest.approx(2 * 1_000 * 1024 / 1e6)
    assert both.millicores == pytest.approx(20 / 2.048)


@pytest.mark.parametrize(
    ("received", "p99", "sustained"),
    [(10_000, 999.0, True), (9_999, 9.0, False), (10_000, 1_000.0, False)],
)
def test_a_rate_is_sustained_if_every_message_arrives_in_time(
    received: int, p99: float, sustained: bool
) -> None:
    assert window(received=received, p99=p99).sustained is sustained


def test_the_tables_have_the_medians_of_the_rounds() -> None:
    found = [
        *(measured("direct") for _ in range(3)),
        *(measured("gateway", cpu) for cpu in (0.2, 0.9, 0.3)),
        measured("gateway", climbing=True, rate=30_000),
        measured("gateway", climbing=True, rate=40_000, received=9_000),
    ]
    lines = write_page(found, WHERE, record=False).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    assert ["1", "1,000", "gateway", "14.6", *2 * ["1", "4", "9", "20"]] in cells
    assert ["1", "1,000", "direct", "", *2 * ["1", "4", "9", "20"]] in cells
    assert ["1", "gateway", "30,000", "40,000", "9.77", "9", "9"] in cells
    assert lines[-1].endswith("gateway 66 MiB.")


def test_recorded_figures_take_the_place_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "sizing.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    monkeypatch.setattr(sizing_page, "PAGE", page)
    for cpu in (0.2, 0.4):
        text = write_page([measured("gateway", cpu)], WHERE, record=True)
    assert page.read_text() == f"before\n{BEGIN}\n{text}{END}\nafter\n"
    for name in ("sizing-cores.svg", "sizing-latency.svg"):
        ElementTree.parse(tmp_path / name)  # noqa: S314


def test_the_page_has_room_for_the_figures() -> None:
    text = PAGE.read_text()
    assert 0 < text.index(BEGIN) < text.index(END)


def test_a_plot_has_a_bar_for_each_value() -> None:
    picture = svg(Bars("a & b", "groups", {"one": {"x": 1.0, "y": 4.0}, "two": {"y": 0.0}}))
    root = ElementTree.fromstring(picture)  # noqa: S314
    drawn = [each for each in root.iter() if each.tag.endswith("title")]
    assert [each.text for each in drawn] == ["one, x: 1", "one, y: 4", "two, y: 0"]
    heights = [
        float(each.attrib["height"]) for each in root if len(each) and each[0].tag.endswith("title")
    ]
    assert heights[0] * 4 == pytest.approx(heights[1], abs=0.5)
    assert heights[2] == 0


@pytest.mark.live
@pytest.mark.long("measures")
def test_every_message_arrives_through_every_target() -> None:
    plan = Plan(topics=(1, 3), rates=(500,), ladder=(), rounds=1, seconds=2.0)
    said: list[str] = []
    found = measure(plan, said.append)
    assert [(each.window.topics, each.target) for each in found] == [
        (topics, target)
        for topics in (1, 3)
        for target in ("direct", "haproxy", "kroxylicious", "gateway-ids-compiled")
    ]
    for each in found:
        got = each.window
        assert got.sent == got.acked == got.received == 1_000
        assert got.failed == 0
        assert 0 < got.publish["p50"] <= got.publish["max"] <= 60_000
        assert (got.cpu > 0) == (each.rss > 0) == (each.target != "direct")
