"""devkit.drawn_dashboards: each panel at its place in the JSON, with the response of Prometheus."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dashboards import files
from devkit.drawn_dashboards import drawn, legend


def panels(name: str, labels: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """The drawn panels of a dashboard, with a single series for each query."""
    asked: list[str] = []

    def ask(expression: str, instant: bool) -> list[tuple[dict[str, str], list[Any]]]:
        asked.append(expression)
        assert instant is ("[5m]" in expression), "of Grafana's range there is one number"
        return [(labels or {}, [(1.0, 1.0)])]

    page = drawn(name, ask)
    assert not [expression for expression in asked if "$" in expression]
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    made: list[dict[str, Any]] = json.loads(found[1])
    return made


@pytest.mark.parametrize("name", files.dashboard_names())
def test_every_panel_is_there(name: str) -> None:
    board = files.dashboard(name)
    found = panels(name)
    assert [one["title"] for one in found] == [one["title"] for one in board["panels"]]
    assert [one["place"] for one in found] == [one["gridPos"] for one in board["panels"]]
    for one, panel in zip(found, board["panels"], strict=True):
        if panel["type"] != "row":
            assert len(one["series"]) == len(panel["targets"])
            assert one["unit"] == panel["fieldConfig"]["defaults"]["unit"]


def test_words_and_names_go_along() -> None:
    found = {one["title"]: one for one in panels("overview", {"version": "</script>1.2"})}
    assert found["Catalog fresh"]["words"]["0"] == {"color": "red", "index": 0, "text": "stale"}
    assert found["Version"]["named"] is True
    assert found["Version"]["series"][0]["name"] == "</script>1.2"


def test_legends() -> None:
    labels = {"api": "Fetch", "version": "15"}
    assert legend("{{api}} {{version}}", labels) == "Fetch 15"
    assert legend("{{instance}} {{cluster}}", {"instance": "gw"}) == "gw"
    assert legend("__auto", labels) == "api=Fetch, version=15"
