"""Every query uses metrics and labels that the gateway has, and every metric has a panel."""

from __future__ import annotations

import re

import pytest

from dashboards import files
from dashboards.promql import read
from gateway.catalog.log import records, replay
from gateway.processes.metric_families import ZEROS
from tests.dashboards.exposed import OF_TARGET, PUSHED, series

SERIES = series()
QUERIES = [*files.panel_queries(), *files.variable_queries()]
RULES = list(files.rules())
RECORDED = {rule.name: frozenset({"job"}) for rule in RULES if not rule.alert}
KNOWN = {**SERIES, **PUSHED, **RECORDED, "up": OF_TARGET}
_PART = re.compile(r"_(bucket|sum|count)$")


def unknown(expression: str) -> set[str]:
    """Metrics and labels in the expression that do not exist."""
    reading = read(expression)
    assert reading.selectors, f"nothing is asked for: {expression}"
    found: set[str] = set()
    labels: set[str] = set()
    for selector in reading.selectors:
        if selector.metric not in KNOWN:
            found.add(selector.metric)
            continue
        labels |= KNOWN[selector.metric]
        asked = {matcher.label for matcher in selector.matchers}
        found |= {f"{selector.metric}: {one}" for one in asked - KNOWN[selector.metric]}
    return found | (reading.labels - labels)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: f"{query.dashboard}: {query.panel}")
def test_a_query_is_of_metrics_and_labels_that_exist(query: files.PanelQuery) -> None:
    assert unknown(query.expression) == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_of_metrics_and_labels_that_exist(rule: files.Rule) -> None:
    assert unknown(rule.expression) == set()


def test_every_metric_has_a_panel() -> None:
    shown = {
        _PART.sub("", selector.metric)
        for query in files.panel_queries()
        for selector in read(query.expression).selectors
    }
    assert {_PART.sub("", name) for name in (*SERIES, *PUSHED)} == shown


@pytest.mark.parametrize("name", files.dashboard_names())
def test_legends_are_of_labels_that_the_query_has(name: str) -> None:
    for panel in files.panels(name):
        for target in panel["targets"]:
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            reading = read(target["expr"])
            kept = reading.labels
            if " by (" not in target["expr"]:
                kept = frozenset().union(*(KNOWN[one.metric] for one in reading.selectors))
            assert shown <= kept, panel["title"]


def test_what_does_not_exist_is_found() -> None:
    assert unknown("kafka_gateway_no_such_total") == {"kafka_gateway_no_such_total"}
    wrong = 'sum by (api, topic) (kafka_gateway_errors_total{code="1"})'
    assert unknown(wrong) == {"kafka_gateway_errors_total: code", "topic"}
    assert unknown("sum by (le) (kafka_gateway_topics)") == {"le"}


def test_an_alert_on_skipped_records_sees_the_first_one() -> None:
    """Prometheus cannot tell by how much a counter has grown that it sees for the first time."""
    reasons = {records.MALFORMED, replay.MISPLACED, replay.OUT_OF_SEQUENCE}
    reasons |= {replay.UNSIGNED, replay.FORGED, replay.UNKNOWN_KEY}
    assert set(ZEROS["catalog_skipped_records"]) == {(reason,) for reason in reasons}
