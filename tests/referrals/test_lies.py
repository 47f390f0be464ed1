"""gateway.referrals.lies: counts and log lines about answers that are not believed."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.counts import Counts
from gateway.referrals.believing import Lie
from gateway.referrals.lies import LOG_SECONDS, Lies
from gateway.referrals.questions import Answer, Outcome

ANSWER = Answer(Outcome.ANSWERED, mount="ny", number=7)


def counted(counts: Counts) -> dict[Any, Any]:
    return {(family, labels): count for family, labels, count in counts.take()}


def test_a_lie_is_its_peers_and_a_conflict_is_of_both_mounts() -> None:
    counts = Counts()
    lies = Lies(counts)
    lies.note("left", ANSWER, Lie("it holds more"))
    lies.note("left", ANSWER, Lie("it has 7, which ':la' has", "la"))
    assert counted(counts) == {
        ("tree_lookups", ("left", "lied")): 1,
        ("tree_lookups", ("left", "number_conflict")): 1,
        ("tree_number_conflicts", ("7", ":ny", ":la")): 1,
    }


def test_one_line_a_minute_for_each_peer_and_reason(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    lies = Lies(None, lambda: now)

    def lines() -> int:
        caplog.clear()
        for peer in ("left", "right"):
            for holder in (None, "la"):
                lies.note(peer, ANSWER, Lie("not so\nfine", holder))
        assert all("\n" not in line for line in caplog.messages)
        return len(caplog.messages)

    assert lines() == 4
    assert lines() == 0
    now = LOG_SECONDS
    assert lines() == 4
