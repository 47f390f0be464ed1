"""Reasons for which connections close: all are counted, and some are logged only a few times."""

from __future__ import annotations

import logging

import pytest

from gateway.connections.closing import INTERNAL, LOGGED_A_SECOND, LOGGED_FEW_TIMES, CloseLog
from gateway.counts import Counts


def taken(counts: Counts) -> dict[str | int, object]:
    """Closed connections by kind of reason, since the last call."""
    return {label: count for family, (label,), count in counts.take() if family == "closes"}


def levels(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.levelno for record in caplog.records]


def test_reasons_are_counted_by_kind(caplog: pytest.LogCaptureFixture) -> None:
    counts = Counts()
    closes = CloseLog(counts)
    with caplog.at_level(logging.DEBUG):
        closes.note("colon", "127.0.0.1:5000", "broker closed", quietly=True)
        closes.note("colon", "127.0.0.1:5001", "no answer fits: it is late", quietly=False)
        closes.note("colon", "127.0.0.1:5002", "no answer fits: it is early", quietly=False)
    assert taken(counts) == {"broker closed": 1, "no answer fits": 2}
    assert taken(counts) == {}
    assert levels(caplog) == [logging.DEBUG, logging.WARNING, logging.WARNING]
    assert caplog.messages[1] == "127.0.0.1:5001 on colon: no answer fits: it is late"


@pytest.mark.parametrize("kind", sorted(LOGGED_FEW_TIMES))
def test_what_anyone_can_bring_about_does_not_fill_the_log(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    counts = Counts()
    closes = CloseLog(counts)
    with caplog.at_level(logging.DEBUG):
        for number in range(100):
            closes.note("colon", "127.0.0.1:5000", f"{kind}: {number}", quietly=False)
        assert levels(caplog).count(logging.WARNING) == LOGGED_A_SECOND
        assert taken(counts) == {kind: 100}
        closes.note("colon", "127.0.0.1:5000", kind, quietly=False)
    assert levels(caplog).count(logging.WARNING) == LOGGED_A_SECOND + 1


def test_a_defect_is_shown_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """As often as other ends of its kind."""
    counts = Counts()
    closes = CloseLog(counts)
    try:
        raise KeyError("of the gateway")
    except KeyError as error:
        for _ in range(2 * LOGGED_A_SECOND):
            closes.note("colon", "127.0.0.1:5000", INTERNAL, quietly=False, error=error)
    assert levels(caplog) == [logging.ERROR] * LOGGED_A_SECOND
    assert caplog.text.count("KeyError: 'of the gateway'") == LOGGED_A_SECOND
    assert taken(counts) == {INTERNAL: 2 * LOGGED_A_SECOND}
