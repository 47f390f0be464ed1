"""The timeouts that the broker gets from a client's timeout."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gateway.changes.base.broker import broker_time


@pytest.mark.parametrize(("asked", "given"), [(-1, 5), (0, 5), (12, 12), (3600, 30)])
def test_the_broker_gets_time_enough_and_no_more_than_is_waited_for(asked: int, given: int) -> None:
    assert broker_time(timedelta(seconds=asked)) == timedelta(seconds=given)
