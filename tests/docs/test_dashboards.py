"""docs/dashboards.md: its panels, alerts, variables and rules against the committed files."""

from __future__ import annotations

import re

import yaml

from dashboards import files
from dashboards.pages import PAGES
from tests.docs import markdown

PAGE = markdown.read("docs/dashboards.md")


def section(title: str) -> str:
    """The text below a heading of any level, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}$(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"there is no heading {title!r}"
    return found[1]


def test_every_panel_and_what_it_tells() -> None:
    for name, page in PAGES.items():
        text = section(page.title.removeprefix("Kafka gateway: ").capitalize())
        assert page.about in text
        shown = [(panel["title"], panel["description"]) for panel in files.panels(name)]
        assert [tuple(row) for row in markdown.table(text, "panel")] == shown


def test_every_alert_and_its_severity() -> None:
    rows = markdown.table(PAGE, "alert")
    alerts = [rule for rule in files.rules() if rule.alert]
    shown = [(markdown.code(name), severity) for name, severity, _ in rows]
    assert shown == [(alert.name, alert.labels["severity"]) for alert in alerts]


def test_every_recording_rule() -> None:
    text = section("Alerts").rpartition("Recording rules")[2]
    spans = set(markdown.spans(text))
    windows = {span for span in spans if re.fullmatch(r"\d+[mhd]", span)}
    named = spans - windows
    named |= {name.replace("5m", one) for name in named for one in windows if ":rate5m" in name}
    assert named == {rule.name for rule in files.rules() if not rule.alert}


def test_every_variable() -> None:
    rows = markdown.table(PAGE, "variable")
    shown = {name for row in rows for name in markdown.spans(row[0])}
    assert shown == {
        variable["name"]
        for name in PAGES
        for variable in files.dashboard(name)["templating"]["list"]
    }


def test_the_configuration_loads_the_rule_files() -> None:
    blocks = [yaml.safe_load(block.text) for block in markdown.blocks(PAGE) if block.language]
    (prometheus,) = [block for block in blocks if "scrape_configs" in block]
    names = [path.rpartition("/")[2] for path in prometheus["rule_files"]]
    assert names == [path.name for path in files.RULE_FILES]
