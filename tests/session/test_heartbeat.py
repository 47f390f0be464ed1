"""KIP-848 heartbeats by regular expression: topics come and go while a member lives."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import messages
from protocol.messages import element_class, make
from tests.session.pair import Pair, topic_id

FENCED_MEMBER_EPOCH = 110
NOT_COORDINATOR = 16
UNKNOWN_MEMBER_ID = 25


def heartbeat(epoch: int, regex: str | None = None, **values: object) -> Any:
    cls = messages.message_class("ConsumerGroupHeartbeatRequest", 1)
    return messages.build(
        cls,
        **{
            "group_id": "app",
            "member_id": "m",
            "member_epoch": epoch,
            "subscribed_topic_regex": regex,
            "subscribed_topic_names": None,
            "topic_partitions": (),
            **values,
        },
    )


def accept(pair: Pair, epoch: int = 1) -> Any:
    cls = messages.message_class("ConsumerGroupHeartbeatResponse", 1)
    entity = messages.build(cls, member_id="m", member_epoch=epoch)
    return pair.reply("ConsumerGroupHeartbeat", 1, entity)


def reject(pair: Pair, code: int) -> Any:
    cls = messages.message_class("ConsumerGroupHeartbeatResponse", 1)
    return pair.reply("ConsumerGroupHeartbeat", 1, make(cls, {"error_code": code}))


def ask(pair: Pair, epoch: int, regex: str | None = None, **values: object) -> Any:
    return pair.ask("ConsumerGroupHeartbeat", 1, heartbeat(epoch, regex, **values))


@pytest.fixture
def joined() -> Pair:
    """A member that joined with an expression over team-a, where a single topic matches."""
    pair = Pair(topics=["team-a..orders", "team-b..orders"])
    sent = ask(pair, 0, "team-a:.*")
    assert sent.subscribed_topic_names == ("team-a..orders",)
    assert sent.subscribed_topic_regex is None
    assert accept(pair).member_epoch == 1
    return pair


def test_a_heartbeat_without_news_passes(joined: Pair) -> None:
    sent = ask(joined, 1)
    assert sent.subscribed_topic_names is None
    assert sent.subscribed_topic_regex is None
    assert accept(joined).error_code == 0


def test_a_new_topic_that_matches_is_subscribed_to(joined: Pair) -> None:
    joined.facts.index.learn(b"team-a..new", topic_id(9).bytes)
    assert ask(joined, 1).subscribed_topic_names == ("team-a..new", "team-a..orders")
    accept(joined)
    assert ask(joined, 1).subscribed_topic_names is None


def test_until_the_broker_accepts_it_is_said_again(joined: Pair) -> None:
    joined.facts.index.learn(b"team-a..new", topic_id(9).bytes)
    assert ask(joined, 1).subscribed_topic_names is not None
    reject(joined, NOT_COORDINATOR)
    assert ask(joined, 1).subscribed_topic_names == ("team-a..new", "team-a..orders")


def test_a_topic_of_another_namespace_changes_nothing(joined: Pair) -> None:
    joined.facts.index.learn(b"team-b..new", topic_id(9).bytes)
    assert ask(joined, 1).subscribed_topic_names is None


def test_a_topic_that_went_is_unsubscribed(joined: Pair) -> None:
    joined.facts.index.forget(b"team-a..orders")
    assert ask(joined, 1).subscribed_topic_names == ()


def test_names_and_an_expression_together() -> None:
    pair = Pair(topics=["team-a..orders", "plain"])
    sent = ask(pair, 0, "team-a:.*", subscribed_topic_names=("plain",))
    assert sent.subscribed_topic_names == ("plain", "team-a..orders")


def test_an_expression_on_a_legal_listener_matches_legal_names() -> None:
    pair = Pair(topics=["team-a..orders", "plain"], spelling="legal")
    assert ask(pair, 0, r"team-a\.\..*").subscribed_topic_names == ("team-a..orders",)


def test_a_member_that_is_not_known_here_is_fenced_once() -> None:
    pair = Pair(topics=["team-a..orders"])
    assert ask(pair, 5) is None
    fenced = pair.answer("ConsumerGroupHeartbeat", 1)
    assert fenced.error_code == FENCED_MEMBER_EPOCH
    assert fenced.error_message
    assert (fenced.member_id, fenced.member_epoch, fenced.assignment) == (None, 0, None)
    sent = ask(pair, 0, "team-a:.*")
    assert sent.subscribed_topic_names == ("team-a..orders",)


def test_a_join_that_the_broker_rejects_makes_no_member() -> None:
    pair = Pair(topics=["team-a..orders"])
    ask(pair, 0, "team-a:.*")
    reject(pair, NOT_COORDINATOR)
    assert len(pair.worker.regexes) == 0
    ask(pair, 0, "team-a:.*")
    accept(pair)
    assert len(pair.worker.regexes) == 1


def test_a_member_that_another_connection_knows_goes_on(joined: Pair) -> None:
    other = joined.another_session(joined.session.state.addresses)
    joined.session = other
    assert ask(joined, 1) is not None


def test_the_broker_ends_the_membership(joined: Pair) -> None:
    ask(joined, 1)
    assert reject(joined, UNKNOWN_MEMBER_ID).error_code == UNKNOWN_MEMBER_ID
    assert ask(joined, 1) is None
    assert joined.answer("ConsumerGroupHeartbeat", 1).error_code == FENCED_MEMBER_EPOCH


def test_partitions_of_a_topic_that_went_are_not_owned(joined: Pair) -> None:
    topic = element_class(type(heartbeat(1)), "topic_partitions")
    owned = tuple(
        make(topic, {"topic_id": topic_id(number), "partitions": (0,)}) for number in (77, 1)
    )
    sent = ask(joined, 1, topic_partitions=owned)
    assert [topic.topic_id for topic in sent.topic_partitions] == [topic_id(1)]


def test_an_expression_stays_in_a_heartbeat_that_knows_of_none(joined: Pair) -> None:
    """Version 0 has no expression field, so the heartbeat does not change the expression
    (KIP-848)."""
    cls = messages.message_class("ConsumerGroupHeartbeatRequest", 0)
    asked = messages.build(
        cls, group_id="app", member_id="m", member_epoch=1, subscribed_topic_names=("plain",)
    )
    sent = joined.ask("ConsumerGroupHeartbeat", 0, asked)
    assert sent.subscribed_topic_names == ("plain", "team-a..orders")
