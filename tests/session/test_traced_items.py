"""The items of traced requests: what each is named here and at the broker, and what is denied."""

from __future__ import annotations

import pytest

from gateway.commands.trace import LINE_LIMIT
from gateway.traced import MOST_ITEMS, MOST_TEXT, Item, Outcome
from protocol import messages
from tests.session.allowing import Allowing
from tests.session.pair import CLIENT_ID, Pair, request_frame, response_frame, topic_id
from tests.session.producing import batch, produce, produced
from tests.session.test_tracing import HEAD_AND_MORE, ORDERS, OWN, groups, metadata, traced


def test_many_items() -> None:
    pair = Pair()
    topics: dict[str, list[bytes | None]] = {
        f"team-a:t{number}": [batch(1)] for number in range(MOST_ITEMS + 30)
    }
    with traced() as seen:
        pair.send(request_frame("Produce", 9, produce(topics, 9)))
        answer = {name.replace(":", ".."): [0] for name in topics}
        pair.answered(response_frame("Produce", 9, produced(answer, 9)))
    (one,) = seen
    assert (len(one.items), one.more_items) == (MOST_ITEMS, 30)
    assert one.items[1] == Item("topic", "team-a:t1", "team-a..t1")
    assert one.edits == MOST_ITEMS + 30


def test_many_denied_items() -> None:
    count = MOST_ITEMS + 30
    pair = Pair(authorizer=Allowing([]))
    names = [f"team-a:t{number}" for number in range(count)]
    with traced() as seen:
        pair.send(request_frame("Metadata", 9, metadata(*names)))
        pair.let_answer()
    (one,) = seen
    assert [item.name for item in one.items] == names[:MOST_ITEMS]
    assert {item.error for item in one.items} == {"TOPIC_AUTHORIZATION_FAILED"}
    assert one.more_items == count - MOST_ITEMS


def test_an_answer_of_the_gateway_has_no_names_at_the_broker() -> None:
    pair = Pair(topics=[OWN], authorizer=Allowing([f"WRITE TOPIC {ORDERS}"]))
    entity = messages.message_class("AddPartitionsToTxnRequest", 3)
    topic = messages.element_class(entity, "v3_and_below_topics")
    topics = tuple(
        messages.make(topic, {"name": name, "partitions": (0,)}) for name in (ORDERS, "team-b:x")
    )
    request = messages.make(entity, {"v3_and_below_topics": topics})
    with traced() as seen:
        pair.send(request_frame("AddPartitionsToTxn", 3, request))
    (one,) = seen
    assert one.outcomes == [Outcome.ANSWER]
    assert {item.at_broker for item in one.items} == {None}


def test_what_is_forwarded_as_it_is() -> None:
    pair = Pair()
    with traced() as seen:
        pair.send(request_frame("DescribeGroups", 5, groups("app")))
        pair.let_answer()
    assert seen[0].items == [Item("group", "app", "app")]


@pytest.mark.parametrize(
    ("allowed", "denied"),
    [("READ GROUP same", "topic"), ("READ TOPIC same", "group")],
)
def test_a_group_and_a_topic_of_one_name(allowed: str, denied: str) -> None:
    pair = Pair(authorizer=Allowing([allowed]))
    entity = messages.message_class("OffsetCommitRequest", 8)
    topic = messages.element_class(entity, "topics")
    topics = (messages.make(topic, {"name": "same", "partitions": ()}),)
    request = messages.make(entity, {"group_id": "same", "topics": topics})
    with traced() as seen:
        pair.send(request_frame("OffsetCommit", 8, request))
        pair.let_answer()
    (one,) = seen
    assert [(item.kind, item.name) for item in one.items] == [("group", "same"), ("topic", "same")]
    assert [item.kind for item in one.items if item.error] == [denied]


def test_a_topic_id_whose_topic_may_not_be_deleted() -> None:
    pair = Pair(topics=[OWN], authorizer=Allowing([f"DESCRIBE TOPIC {ORDERS}"]))
    entity = messages.message_class("DeleteTopicsRequest", 6)
    topic = messages.element_class(entity, "topics")
    topics = (messages.make(topic, {"name": None, "topic_id": topic_id(9)}),)
    with traced() as seen:
        request = messages.make(entity, {"topics": topics})
        pair.send(request_frame("DeleteTopics", 6, request))
    (one,) = seen
    assert [(item.kind, item.error) for item in one.items] == [("topic id", "UNKNOWN_TOPIC_ID")]


def test_a_denial_of_a_right_on_the_cluster() -> None:
    """It is about no topic."""
    pair = Pair(authorizer=Allowing([]))
    entity = messages.message_class("DescribeUserScramCredentialsRequest", 0)
    user = messages.element_class(entity, "users")
    request = messages.make(entity, {"users": (messages.make(user, {"name": "sue"}),)})
    with traced() as seen:
        pair.send(request_frame("DescribeUserScramCredentials", 0, request))
    (one,) = seen
    assert {item.kind for item in one.items} <= {"resource"}
    assert one.items[0].error == "CLUSTER_AUTHORIZATION_FAILED"


def test_long_names_are_shortened() -> None:
    """Names of other kinds than topics may have 32 KiB, and an operator's tool reads lines."""
    pair = Pair()
    name = "\U0001f600" * 8_000
    with traced() as seen:
        for number in range(2):
            asked = groups(*(f"{kind}{name}" for kind in range(MOST_ITEMS)))
            client_id = b"c" * 30_000 if number else CLIENT_ID
            pair.send(request_frame("DescribeGroups", 5, asked, number, client_id))
            pair.let_answer()
    assert all(len(item.name) == MOST_TEXT + 3 for one in seen for item in one.items)
    assert max(len(one.line()) for one in seen) < LINE_LIMIT // 2


def test_topics_by_id_whose_records_pass_while_they_arrive() -> None:
    pair = Pair(topics=[OWN])
    frame = request_frame("Produce", 13, produce({"1": [batch(1) + bytes(1000)]}, 13))
    with traced() as seen:
        pair.send(frame[:HEAD_AND_MORE])
        pair.send(frame[HEAD_AND_MORE:])
        pair.answered(response_frame("Produce", 13, produced({"1": [0]}, 13)))
    (one,) = seen
    assert one.outcomes == [Outcome.STREAM]
    assert [item.kind for item in one.items] == ["topic id"]
