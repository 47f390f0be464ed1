"""A freeze is no change yet, because it may fail, or last a minute: a KIP-848 member keeps its
topic through it, as a member of a classic group does (``View.subscribed``)."""

from __future__ import annotations

import asyncio

import pytest

from gateway.catalog.entities import PrincipalHome
from gateway.catalog.freezes import Frozen
from protocol import messages
from protocol.messages import element_class, make
from tests.session.pair import Pair, topic_id
from tests.session.test_heartbeat import accept, ask


def freeze(pair: Pair, *names: str) -> None:
    async def change() -> None:
        await pair.catalog.change(lambda _: [PrincipalHome("User:x", "team-a")])

    asyncio.run(change())
    pair.see(pair.view.successor(pair.catalog.snapshot, frozen=Frozen(frozenset(names), ())))


@pytest.mark.parametrize(
    "joining",
    [
        {"regex": "team-a:.*"},
        {"subscribed_topic_names": ("team-a:orders",), "regex": ""},
    ],
)
def test_a_member_stays_through_a_freeze(joining: dict[str, object]) -> None:
    pair = Pair(topics=["team-a..orders"])
    ask(pair, 0, **joining)  # type: ignore[arg-type]
    accept(pair)
    freeze(pair, "team-a:orders")
    sent = ask(pair, 1)
    assert sent is not None, pair.answer("ConsumerGroupHeartbeat", 1).error_message


def test_what_a_member_owns_is_said_through_a_freeze() -> None:
    pair = Pair(topics=["team-a..orders"])
    ask(pair, 0, "team-a:.*")
    accept(pair)
    freeze(pair, "team-a:orders")
    cls = element_class(
        messages.message_class("ConsumerGroupHeartbeatRequest", 1), "topic_partitions"
    )
    owned = (make(cls, {"topic_id": topic_id(1), "partitions": (0,)}),)
    assert ask(pair, 1, topic_partitions=owned).topic_partitions == owned


def test_a_member_that_joins_during_a_freeze_has_its_topic() -> None:
    pair = Pair(topics=["team-a..orders"])
    freeze(pair, "team-a:orders")
    sent = ask(pair, 0, "", subscribed_topic_names=("team-a:orders",))
    assert sent.subscribed_topic_names == ("team-a..orders",)
