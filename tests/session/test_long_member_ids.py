"""Ids that a client invents do not fill a connection's memory."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

import pytest

from tests.session.pair import Pair
from tests.session.test_heartbeat import ask, reject

NOT_COORDINATOR = 16
MAX_KEPT = 4 * 1024 * 1024
MAX_HEARD = 256 * 1024


def kept(pair: Pair) -> int:
    heard = pair.session.state.heard
    assert heard
    return getsizeof(heard) + sum(map(getsizeof, heard))


@pytest.mark.parametrize("length", [470, 32_000])
def test_members_that_were_rejected_take_little_memory(length: int) -> None:
    async def nobody(*_: Any) -> Any:
        raise AssertionError

    pair = Pair(topics=["team-a..orders"])
    pair.session.state.ask_broker = nobody
    names = ("team-a:orders",)
    for number in range(1_000 if length < 1_000 else 200):
        ids = {"group_id": f"{'g' * length}{number}", "member_id": f"{'m' * length}{number}"}
        ask(pair, 0, None, subscribed_topic_names=names, **ids)
        reject(pair, NOT_COORDINATOR)
    assert kept(pair) < MAX_HEARD


def test_members_that_were_fenced_take_little_memory() -> None:
    """If no broker is involved, an unknown member is fenced at once."""
    pair = Pair(topics=["team-a..orders"])
    for number in range(200):
        ask(pair, 5, None, group_id="g" * 32_000, member_id="m" * 32_000 + str(number))
    scopes = pair.worker.regexes._members._scopes.values()
    fenced = [key for scope in scopes for key in scope.fenced]
    assert sum(len(group) + len(member) for _, group, member in fenced) < MAX_KEPT
