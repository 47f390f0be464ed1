"""The committed files, as Prometheus and Grafana read them: what they ask of the metrics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

FOLDER: Final = Path(__file__).parent
RULES: Final = FOLDER / "rules"
RULE_FILES: Final = (RULES / "recording.yaml", RULES / "alerts.yaml")
RULE_TESTS: Final = RULES / "tests.yaml"


@dataclass(frozen=True, slots=True)
class PanelQuery:
    """One query of a panel of a dashboard, or of one of its variables, as it is committed."""

    dashboard: str
    panel: str
    expression: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A recording rule, or an alert with what it says; ``name`` is the series or the alert."""

    name: str
    expression: str
    alert: bool
    wait: str
    labels: dict[str, str]
    annotations: dict[str, str]


def dashboard(name: str) -> dict[str, Any]:
    """The committed JSON of a dashboard."""
    content: dict[str, Any] = json.loads(json_path(name).read_text())
    return content


def json_path(name: str) -> Path:
    """Where the JSON of a dashboard is committed."""
    return FOLDER / f"{name}.json"


def dashboard_names() -> list[str]:
    """The dashboards there are."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def panels(name: str) -> list[dict[str, Any]]:
    """The panels of a dashboard that have queries."""
    return [panel for panel in dashboard(name)["panels"] if panel["type"] != "row"]


def panel_queries() -> Iterator[PanelQuery]:
    """Every query of every panel."""
    for name in dashboard_names():
        for panel in panels(name):
            for target in panel["targets"]:
                yield PanelQuery(name, panel["title"], target["expr"])


def variable_queries() -> Iterator[PanelQuery]:
    """The selector of every variable that has one, grouped by the label whose values it lists."""
    for name in dashboard_names():
        for variable in dashboard(name)["templating"]["list"]:
            if variable["type"] == "query":
                text = variable["query"]["query"].removeprefix("label_values(").removesuffix(")")
                selector, _, label = text.rpartition(", ")
                yield PanelQuery(name, f"${variable['name']}", f"count by ({label}) ({selector})")


def rules() -> Iterator[Rule]:
    """Every rule, in order."""
    for path in RULE_FILES:
        for group in yaml.safe_load(path.read_text())["groups"]:
            for rule in group["rules"]:
                yield Rule(
                    rule.get("alert") or rule["record"],
                    " ".join(rule["expr"].split()),
                    "alert" in rule,
                    rule.get("for", "0s"),
                    rule.get("labels", {}),
                    rule.get("annotations", {}),
                )
