"""The rules: every alert names the next step, and has a unit test that promtool runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from dashboards import files
from dashboards.promql import read
from protocol.schema import error_name
from tests.docs import markdown

RULES = list(files.rules())
ALERTS = [rule for rule in RULES if rule.alert]
RUNBOOK = "docs/runbook.md"
_WINDOW = re.compile(r"rate(\d+[mhd])$")


def runbook() -> dict[str, str]:
    """The paragraphs of the runbook, by the alert in their heading."""
    parts = re.split(r"^### (\w+)$", markdown.read(RUNBOOK), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_runbook_has_every_alert_and_no_other() -> None:
    assert list(runbook()) == [alert.name for alert in ALERTS]
    assert all(len(text.split()) >= 30 for text in runbook().values())


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_says_what_is_wrong_and_where_to_read_on(alert: files.Rule) -> None:
    assert set(alert.annotations) == {"summary", "description", "runbook_url"}
    page, _, anchor = alert.annotations["runbook_url"].partition("#")
    assert (page, anchor) == (RUNBOOK, alert.name.lower())
    assert anchor in markdown.anchors(markdown.read(RUNBOOK))
    assert set(alert.labels) == {"severity"}
    assert alert.labels["severity"] in {"critical", "warning"}
    assert alert.annotations["description"].endswith(".")


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_annotations_name_labels_that_the_alert_has(alert: files.Rule) -> None:
    named = set(re.findall(r"\$labels\.(\w+)", " ".join(alert.annotations.values())))
    grouped = re.search(r"by \(([^)]*)\)", alert.expression)
    if grouped is not None:
        assert named <= {label.strip() for label in grouped[1].split(",")}
    elif "kafka_gateway:" in alert.expression:
        assert named <= {"job"}
    else:
        # In a tree the metrics of a cluster have its name; otherwise the label is empty.
        assert named <= {"job", "instance", "cluster"}


def unit_tests() -> list[dict[str, Any]]:
    tests: list[dict[str, Any]] = yaml.safe_load(files.RULE_TESTS.read_text())["tests"]
    return tests


def fired() -> Iterator[str]:
    """The alerts that unit tests expect, once for each time."""
    for test in unit_tests():
        for check in test.get("promql_expr_test", []):
            for sample in check["exp_samples"]:
                yield re.findall(r'alertname="(\w+)"', sample["labels"])[0]


def test_every_alert_has_a_unit_test_in_which_it_fires() -> None:
    assert set(fired()) == {alert.name for alert in ALERTS}


def test_every_metric_of_an_alert_is_there_while_all_is_well() -> None:
    """Otherwise the test in which nothing fires would prove nothing."""
    well = next(test for test in unit_tests() if test["name"] == "nothing fires while all is well")
    there = {re.split(r"[{ ]", given["series"])[0] for given in well["input_series"]}
    asked = {
        selector.metric
        for alert in ALERTS
        for selector in read(alert.expression).selectors
        if not selector.metric.startswith("kafka_gateway:")
    }
    assert asked - there == set()


def test_windows_of_failures_differ_in_nothing_else() -> None:
    failures = [rule for rule in RULES if rule.name.startswith("kafka_gateway:failure")]
    texts: dict[str, set[str]] = {}
    for rule in failures:
        found = _WINDOW.search(rule.name)
        assert found is not None
        window = found[1]
        text = rule.expression.replace(f"[{window}]", "[]").replace(f"rate{window}", "rate")
        text = re.sub(r">= [\d.]+", ">= least", text)
        texts.setdefault(_WINDOW.sub("", rule.name), set()).add(text)
    assert {name: len(text) for name, text in texts.items()} == dict.fromkeys(texts, 1)


def test_a_ratio_of_failures_is_of_thirty_requests_or_more() -> None:
    seconds = {"m": 60, "h": 3_600, "d": 86_400}
    for rule in RULES:
        if rule.name.startswith("kafka_gateway:failure_ratio:"):
            window = _WINDOW.search(rule.name)
            least = re.search(r">= ([\d.]+)", rule.expression)
            assert window is not None and least is not None, rule.name
            number, unit = int(window[1][:-1]), window[1][-1]
            assert float(least[1]) * number * seconds[unit] >= 30, rule.name


def test_failures_are_kafkas_errors() -> None:
    known = {error_name(code) for code in range(-1, 150)}
    codes = {
        code
        for rule in RULES
        for selector in read(rule.expression).selectors
        for matcher in selector.matchers
        if matcher.label == "error"
        for code in matcher.value.split("|")
    }
    assert len(codes) == 10
    assert codes <= known


def test_files_are_read_in_the_order_of_their_names() -> None:
    assert yaml.safe_load(files.RULE_TESTS.read_text())["rule_files"] == [
        path.name for path in files.RULE_FILES
    ]
    assert {path.name for path in files.RULES.iterdir()} == {
        files.RULE_TESTS.name,
        *(path.name for path in files.RULE_FILES),
    }
