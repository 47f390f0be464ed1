"""How dashboards and rules read the metrics: rules over every query of the committed files, so that
a panel shows what its title says. Each rule has a counterexample, which it finds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dashboards import files
from dashboards.promql import read
from gateway.processes.metric_families import GAUGES
from tests.dashboards.exposed import types

PER_SECOND = frozenset({"reqps", "Bps", "recps", "eps"})
"""Grafana's units of rates; CPU seconds a second are processors, which have no unit."""

TYPES: Mapping[str, str] = types()
BINARY = frozenset(name for name, gauge in GAUGES.items() if gauge.help.endswith("(0, 1)"))
COUNTED_BY_CLUSTER = frozenset(
    name for name, gauge in GAUGES.items() if gauge.of_cluster and name not in BINARY
)
RULES = list(files.rules())
_RATED = re.compile(r"\b(?:rate|increase|irate)\((\w+)")
_RATIO = re.compile(r" / (?!\([^/]* >=? [\d.]+\))")
_RATE_ALONE = re.compile(r"(?<!\w)rate\(")


def panels() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each query with its panel, and a name of both."""
    for name in files.dashboard_names():
        for panel in files.panels(name):
            for target in panel["targets"]:
                yield f"{name}: {panel['title']}", panel, target["expr"]


PANELS = list(panels())
named = pytest.mark.parametrize(
    ("panel", "query"), [p[1:] for p in PANELS], ids=[p[0] for p in PANELS]
)


def own(metric: str) -> str:
    return metric.removeprefix("kafka_gateway_")


def wrong_types(expression: str) -> list[str]:
    """Metrics under rate() that are no counters, and counters that are not under it."""
    rated = set(_RATED.findall(expression))
    found = [metric for metric in rated if TYPES.get(metric) == "gauge"]
    for selector in read(expression).selectors:
        if TYPES.get(selector.metric) == "counter" and selector.metric not in rated:
            found.append(selector.metric)
    return found


def wrong_unit(unit: str, expression: str) -> bool:
    """Whether a rate has the unit of a count, or a count the unit of a rate."""
    if " / " in expression or "histogram_quantile" in expression or "cpu_seconds" in expression:
        return unit in PER_SECOND
    return ("rate(" in expression) != (unit in PER_SECOND)


def shares_of_little(expression: str) -> bool:
    """Whether a ratio may be of very small numbers: if 1 of 2 requests fails, that is 50 %."""
    return _RATIO.search(expression) is not None


@named
def test_rates_are_of_counters(panel: dict[str, Any], query: str) -> None:
    assert wrong_types(query) == []


@named
def test_rates_have_units_of_rates(panel: dict[str, Any], query: str) -> None:
    assert not wrong_unit(panel["fieldConfig"]["defaults"]["unit"], query)


@named
def test_ratios_have_a_minimum_of_traffic(panel: dict[str, Any], query: str) -> None:
    assert not shares_of_little(query)


@named
def test_what_grew_in_the_time_shown_is_a_number_and_no_curve(
    panel: dict[str, Any], query: str
) -> None:
    if "$__range" in query:
        assert panel["type"] == "stat"
        assert panel["options"]["graphMode"] == "none"
        assert all(target["instant"] and not target["range"] for target in panel["targets"])


@named
def test_what_is_0_or_1_is_said_in_words(panel: dict[str, Any], query: str) -> None:
    asked = {own(selector.metric) for selector in read(query).selectors}
    if asked & BINARY:
        assert panel["type"] in {"stat", "state-timeline"}
        (mapping,) = panel["fieldConfig"]["defaults"]["mappings"]
        assert set(mapping["options"]) == {"0", "1"}
        texts = {one["text"] for one in mapping["options"].values()}
        assert len(texts) == 2 and not any(text.isdigit() for text in texts)
        colors = {one["color"] for one in mapping["options"].values()}
        assert colors == {"green", "red"}
    else:
        assert "mappings" not in panel["fieldConfig"]["defaults"]


@named
def test_what_each_cluster_has_is_told_apart_or_summed_up(
    panel: dict[str, Any], query: str
) -> None:
    """The largest number of several clusters counts nothing: 79 topics of 98."""
    reading = read(query)
    if {own(selector.metric) for selector in reading.selectors} & COUNTED_BY_CLUSTER:
        assert "cluster" in reading.labels


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules_keep_to_it(rule: files.Rule) -> None:
    assert wrong_types(rule.expression) == []
    assert not shares_of_little(rule.expression)


@pytest.mark.parametrize("alert", [one for one in RULES if one.alert], ids=lambda one: one.name)
def test_an_alert_ends_by_itself(alert: files.Rule) -> None:
    """A counter never falls, so an alert on its value ends with the process that counts."""
    for selector in read(alert.expression).selectors:
        assert TYPES.get(selector.metric) != "counter" or re.search(
            rf"(?:rate|increase)\({selector.metric}[^)]*\[\d+[mhd]\]", alert.expression
        )


@pytest.mark.parametrize(
    "expression",
    [
        "rate(kafka_gateway_topics[5m])",
        "increase(kafka_gateway_worker_resident_bytes[5m])",
        "sum (kafka_gateway_requests_total)",
    ],
)
def test_wrong_types_are_found(expression: str) -> None:
    assert wrong_types(expression)


def test_wrong_units_and_ratios_are_found() -> None:
    rate = "sum (rate(kafka_gateway_errors_total[5m]))"
    assert wrong_unit("short", rate) and not wrong_unit("eps", rate)
    assert wrong_unit("reqps", "sum (kafka_gateway_open_connections)")
    assert wrong_unit("eps", "increase(kafka_gateway_errors_total[$__range])")
    assert shares_of_little(f"{rate} / {rate}")
    assert shares_of_little(f"{rate} / ({rate})")
    assert not shares_of_little(f"{rate} / ({rate} >= 0.1)")
