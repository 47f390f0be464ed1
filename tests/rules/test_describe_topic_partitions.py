"""DescribeTopicPartitions: all topics by explicit names."""

from __future__ import annotations

from gateway.rules import describe_topic_partitions
from gateway.rules.nested import element_class, make
from protocol import messages


def request(*names: str, cursor: str | None = None) -> bytes:
    cls = messages.message_class("DescribeTopicPartitionsRequest", 0)
    topic = element_class(cls, "topics")
    values: dict[str, object] = {"topics": tuple(make(topic, {"name": name}) for name in names)}
    if cursor is not None:
        at = {"topic_name": cursor, "partition_index": 7}
        values["cursor"] = make(element_class(cls, "cursor"), at)
    return messages.write(make(cls, values))


def test_an_empty_array_asks_for_all() -> None:
    assert describe_topic_partitions.wants_all(0, request())
    assert not describe_topic_partitions.wants_all(0, request("a:t"))


def test_asked_by_name() -> None:
    assert describe_topic_partitions.ask_by_name(0, request(), ["a:t", "b:u"]) == request(
        "a:t", "b:u"
    )


def test_no_name_would_ask_for_all() -> None:
    assert describe_topic_partitions.ask_by_name(0, request(), []) is None


def test_the_cursors_topic_stays() -> None:
    body = request(cursor="b:u")
    listed = describe_topic_partitions.ask_by_name(0, body, ["a:t", "b:u"])
    assert listed == request("a:t", "b:u", cursor="b:u")
    gone = describe_topic_partitions.ask_by_name(0, body, ["a:t"])
    assert gone == request("a:t", "b:u", cursor="b:u")


def test_no_topics() -> None:
    body = describe_topic_partitions.no_topics(0)
    response = messages.parse("DescribeTopicPartitionsResponse", 0, body)
    assert (response.topics, response.next_cursor) == ((), None)
