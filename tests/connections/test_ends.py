"""Why connections end: all are counted, some are logged a few times only."""

from __future__ import annotations

import logging

import pytest

from gateway.connections.ends import LOGGED_A_SECOND, LOGGED_FEW_TIMES, ConnectionEnds
from gateway.connections.guarding import INTERNAL


def levels(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.levelno for record in caplog.records]


def test_reasons_are_counted_by_kind(caplog: pytest.LogCaptureFixture) -> None:
    ends = ConnectionEnds()
    with caplog.at_level(logging.DEBUG):
        ends.note("colon", "127.0.0.1:5000", "broker closed", quietly=True)
        ends.note("colon", "127.0.0.1:5001", "no answer fits: it is late", quietly=False)
        ends.note("colon", "127.0.0.1:5002", "no answer fits: it is early", quietly=False)
    assert ends.take() == {"broker closed": 1, "no answer fits": 2}
    assert ends.take() == {}
    assert levels(caplog) == [logging.DEBUG, logging.WARNING, logging.WARNING]
    assert caplog.messages[1] == "127.0.0.1:5001 on colon: no answer fits: it is late"


@pytest.mark.parametrize("kind", sorted(LOGGED_FEW_TIMES))
def test_what_anyone_can_bring_about_does_not_fill_the_log(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    ends = ConnectionEnds()
    with caplog.at_level(logging.DEBUG):
        for number in range(100):
            ends.note("colon", "127.0.0.1:5000", f"{kind}: {number}", quietly=False)
        assert levels(caplog).count(logging.WARNING) == LOGGED_A_SECOND
        assert ends.take() == {kind: 100}
        ends.note("colon", "127.0.0.1:5000", kind, quietly=False)
    assert levels(caplog).count(logging.WARNING) == LOGGED_A_SECOND + 1


def test_a_defect_is_shown_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """As often as other ends of its kind."""
    ends = ConnectionEnds()
    try:
        raise KeyError("of the gateway")
    except KeyError as error:
        for _ in range(2 * LOGGED_A_SECOND):
            ends.note("colon", "127.0.0.1:5000", INTERNAL, quietly=False, error=error)
    assert levels(caplog) == [logging.ERROR] * LOGGED_A_SECOND
    assert caplog.text.count("KeyError: 'of the gateway'") == LOGGED_A_SECOND
    assert ends.take() == {INTERNAL: 2 * LOGGED_A_SECOND}
