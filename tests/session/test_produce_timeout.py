"""The time that a broker may wait for its replicas is bounded: moves and deletions wait for it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.session.pair import Pair
from tests.session.producing import batch, produce
from tests.session.test_decided_late import AS_SENT

MOST = timedelta(seconds=60)
ASKED = [0, 1, 30_000, 59_903, 59_904, 59_999, 60_000, 60_001, 65_535, 65_536, 2**31 - 1]


def sent(version: int, timeout: timedelta, acks: int, *names: str, **values: Any) -> Any:
    pair = Pair(topics=["team-a..orders", "plain"], **values)
    named: dict[str, list[bytes | None]] = {name: [batch(1)] for name in names}
    return pair.ask("Produce", version, produce(named, version, acks, timeout=timeout))


@pytest.mark.parametrize("version", [3, 9, 12])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("names", [("team-a:orders",), ("team-a:orders", "nope:x")])
def test_it_is_shortened_to_a_minute(version: int, asked: int, names: tuple[str, ...]) -> None:
    timeout = timedelta(milliseconds=asked)
    seen = sent(version, timeout, -1, *names)
    assert seen.timeout == min(timeout, MOST)
    assert [topic.name for topic in seen.topic_data] == ["team-a..orders"]


@pytest.mark.parametrize("asked", ASKED)
def test_also_where_acks_are_raised(asked: int) -> None:
    timeout = timedelta(milliseconds=asked)
    assert sent(9, timeout, 1, "team-a:orders").timeout <= MOST
    assert sent(9, timeout, 1, "plain", policies=AS_SENT).timeout == min(timeout, MOST)
