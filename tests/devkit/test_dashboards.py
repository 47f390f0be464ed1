"""devkit.dashboards: the requests to Prometheus. ``make dashboards`` sends them."""

from __future__ import annotations

import pytest

from dashboards import files
from dashboards.queries import PUSHED
from devkit.dashboards import filled, questions


def test_all_that_is_committed_is_asked() -> None:
    asked = [one.place for one in questions()]
    for query in (*files.panel_queries(), *files.variable_queries()):
        if PUSHED not in query.expression:  # asked where Java's clients push
            assert f"{query.dashboard}: {query.panel}" in asked
    for rule in files.rules():
        assert (f"alert {rule.name}" if rule.alert else rule.name) in asked


def test_no_question_has_a_variable_left() -> None:
    assert not [one for one in questions() if "$" in one.expression]


def test_a_variable_without_a_value_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"a variable has no value: up\{job=\"\$other\"\}"):
        filled('up{job="$other"}')
