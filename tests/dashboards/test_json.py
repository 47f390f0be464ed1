"""The committed JSON of the dashboards: the code makes it, and Grafana can lay it out."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from dashboards import files
from dashboards.__main__ import main
from dashboards.pages import PAGES
from dashboards.panels import GATEWAYS, to_json
from dashboards.queries import PUSHED


@pytest.mark.parametrize("name", PAGES)
def test_what_is_committed_is_what_the_code_makes(name: str) -> None:
    assert files.json_path(name).read_text() == to_json(PAGES[name]), "run: python -m dashboards"


def test_the_command_writes_what_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    main()
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    monkeypatch.undo()
    assert written == {f"{name}.json": files.json_path(name).read_text() for name in PAGES}


def test_there_are_no_others() -> None:
    assert files.dashboard_names() == sorted(PAGES)


def test_dashboards_can_be_imported_side_by_side() -> None:
    boards = [files.dashboard(name) for name in PAGES]
    for key in ("uid", "title"):
        assert len({board[key] for board in boards}) == len(PAGES)
    for board in boards:
        assert "id" not in board, "Grafana would overwrite another dashboard of that id"
        assert board["tags"] == ["kafka-gateway"]


@pytest.mark.parametrize("name", PAGES)
def test_panels_fill_the_grid_and_do_not_overlap(name: str) -> None:
    panels = files.dashboard(name)["panels"]
    assert max(Counter(panel["id"] for panel in panels).values()) == 1
    cells = [_cells(panel["gridPos"]) for panel in panels]
    assert all(one.isdisjoint(other) for one, other in combinations(cells, 2))
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)


def _cells(place: dict[str, int]) -> set[tuple[int, int]]:
    return {
        (x, y)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    }


@pytest.mark.parametrize("name", PAGES)
def test_every_panel_says_what_it_tells_and_has_a_unit(name: str) -> None:
    panels = files.panels(name)
    titles = [panel["title"] for panel in panels]
    assert len(titles) == len(set(titles)), "docs name panels by their titles"
    for panel in panels:
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        refs = [target["refId"] for target in panel["targets"]]
        assert refs == [chr(ord("A") + index) for index in range(len(refs))]


@pytest.mark.parametrize("name", PAGES)
def test_every_query_is_of_the_chosen_gateways(name: str) -> None:
    """Otherwise two fleets in one Prometheus would be summed up."""
    page = PAGES[name]
    own = ["datasource", *(one.name for one in (*GATEWAYS, *page.variables))]
    variables: list[dict[str, Any]] = files.dashboard(name)["templating"]["list"]
    assert [variable["name"] for variable in variables] == own
    expressions = [query.expression for query in files.panel_queries() if query.dashboard == name]
    for expression in expressions:
        if PUSHED in expression:  # from a job of its own; namespaces are the same everywhere
            assert "kafka_gateway_" not in expression
            continue
        chosen = expression.count('job=~"$job",instance=~"$instance"')
        assert chosen == expression.count("kafka_gateway_") > 0
    used = "".join(expressions)
    assert all(f"${variable.name}" in used for variable in page.variables)
