"""The dashboards and rules against /metrics of two gateways under load.

Every query finds series with the labels that it names, and every series has a panel. ``make
dashboards`` queries a Prometheus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dashboards import files
from dashboards.promql import Selector, read
from devkit.dashboards import Question, filled, questions
from devkit.prometheus import JOB
from devkit.waiting import DeadlineError, wait_until
from devkit.watched import Watched, watched
from devkit.watched_traffic import traffic
from tests.live.support import clients

Series = list[tuple[str, Mapping[str, str]]]

RECORDED = {rule.name for rule in files.rules() if not rule.alert}
OF_PROMETHEUS = {"up", *RECORDED}
_PART = re.compile(r"_(bucket|sum|count|created)$")


@pytest.fixture(scope="module")
def busy() -> Iterator[Watched]:
    """Both gateways, under load."""
    with watched() as gateways, traffic(gateways):
        yield gateways


def series(gateways: Watched) -> Series:
    """The present series of both gateways, with the labels that Prometheus adds."""
    found: Series = []
    for name, gateway in (("root", gateways.root), ("la", gateways.la)):
        for family in text_string_to_metric_families(gateway.metrics()):
            added = {"job": JOB, "instance": name}
            found += [(one.name, {**one.labels, **added}) for one in family.samples]
    return found


def lacking(question: Question, found: Series) -> list[Selector]:
    """The selectors of a query that no series matches, or no series with the labels it groups
    by."""
    reading = read(question.expression)
    fitting = [
        [
            labels
            for name, labels in found
            if name == selector.metric and all(matcher(labels) for matcher in selector.matchers)
        ]
        for selector in reading.selectors
        if selector.metric not in OF_PROMETHEUS
    ]
    known = {label for one in fitting for labels in one for label in labels}
    asked = [one for one in reading.selectors if one.metric not in OF_PROMETHEUS]
    without = [selector for selector, one in zip(asked, fitting, strict=True) if not one]
    if asked and not without and not reading.labels <= known:
        return asked
    return without


def test_every_query_finds_what_it_asks_for(busy: Watched) -> None:
    without: list[str] = []

    def is_complete() -> bool:
        found = series(busy)
        without[:] = [
            f"{one.place}: {selector}" for one in questions() for selector in lacking(one, found)
        ]
        return not without

    with suppress(DeadlineError):  # the assertion names the missing series
        wait_until(is_complete, "series for every query", clients.SECONDS)
    assert without == []


def test_every_series_has_a_panel(busy: Watched) -> None:
    shown = {
        _PART.sub("", selector.metric)
        for query in files.panel_queries()
        for selector in read(query.expression).selectors
    }
    served = {_PART.sub("", name) for name, _ in series(busy)}
    own = {name for name in served if name.startswith("kafka_gateway_")}
    assert own
    assert own - shown == set()


def test_what_is_not_there_is_found(busy: Watched) -> None:
    found = series(busy)
    for expression in (
        "kafka_gateway_no_such_total",
        'kafka_gateway_requests_total{api="NoSuch"}',
        "sum by (no_such) (kafka_gateway_requests_total)",
    ):
        assert lacking(Question("", filled(expression)), found)
