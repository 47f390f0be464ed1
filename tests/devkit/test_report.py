"""``make report``: the page of real traffic, opened as by a user."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from devkit.browser import open_browser
from devkit.chromium import chromium
from devkit.paths import PROJECT_ROOT
from devkit.report import REFUSED, TEAMS
from spark.sections import TOTALS

pytestmark = [
    pytest.mark.live,
    pytest.mark.spark,
    pytest.mark.timeout(1200),
    pytest.mark.long("brokers"),
]


async def test_the_report_of_the_demo_shows_what_its_clients_did(tmp_path: Path) -> None:
    chromium()
    page = tmp_path / "report.html"
    command = [sys.executable, "-m", "devkit.report", str(page)]
    ended = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    async with open_browser(tmp_path) as browser, browser.page() as tab:
        await tab.resize(1200, 900)
        await tab.open(page)
        assert (tab.errors, tab.console, tab.requests) == ([], [], [page.as_uri()])
        cards = await tab.run(
            "[...document.querySelectorAll('#totals dd')].map(x => Number(x.dataset.value))"
        )
        totals = dict(zip((column.key for column in TOTALS), cards, strict=True))
        produced = sum(team.records for team in TEAMS)
        assert totals["records_in"] == produced
        assert totals["records_out"] == sum(len(t.consumers) * t.records for t in TEAMS)

        async def column(table: str, place: int) -> list[str]:
            await tab.run(
                f"[...document.querySelectorAll('#{table} .more[aria-expanded=false]')]"
                ".forEach(button => button.click())"
            )
            found: list[str] = await tab.run(
                f"[...document.querySelectorAll('#{table} tbody tr')]"
                f".map(row => row.cells[{place}].textContent)"
            )
            return found

        assert {"team-a", "org", "org:apache:kafka", "(default)"} <= set(
            await column("namespaces", 0)
        )
        clients = {team.producer for team in TEAMS} | {c for t in TEAMS for c in t.consumers}
        assert clients <= set(await column("clients", 1))
        assert "org:apache:kafka:audit" in await column("idle_topics", 0)
        assert "team-a:refunds.internal" in await column("replication", 0)
        assert REFUSED in await column("policies", 1)
        breaking = zip(await column("guarantees", 0), await column("guarantees", 4), strict=True)
        weak = {team.producer for team in TEAMS if team.acks != "all"}
        assert {client for client, breaks in breaking if breaks == "yes"} == weak
        drawn = await tab.run(
            "[...document.querySelectorAll('figure:not([hidden]) [data-chart]')]"
            ".filter(box => box.querySelectorAll('svg path').length > 2).length"
        )
        assert drawn >= 8
