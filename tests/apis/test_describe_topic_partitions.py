"""DescribeTopicPartitions: all topics by explicit names, and pages with namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.topics import describe_topic_partitions
from protocol import messages
from protocol.messages import element_class, make


def request(*names: str, cursor: str | None = None, limit: int = 0) -> Any:
    cls = messages.message_class("DescribeTopicPartitionsRequest", 0)
    topic = element_class(cls, "topics")
    topics = tuple(make(topic, {"name": name}) for name in names)
    values: dict[str, object] = {"topics": topics, "response_partition_limit": limit}
    if cursor is not None:
        at = {"topic_name": cursor, "partition_index": 7}
        values["cursor"] = make(element_class(cls, "cursor"), at)
    return make(cls, values)


def test_asked_by_name() -> None:
    asked = describe_topic_partitions.request_by_name(request(), ["a:t", "b:u"])
    assert asked == messages.write(request("a:t", "b:u"))


def test_no_name_would_ask_for_all() -> None:
    assert describe_topic_partitions.request_by_name(request(), []) is None


def test_the_cursors_topic_stays() -> None:
    asked = request(cursor="b:u")
    both = messages.write(request("a:t", "b:u", cursor="b:u"))
    assert describe_topic_partitions.request_by_name(asked, ["a:t", "b:u"]) == both
    assert describe_topic_partitions.request_by_name(asked, ["a:t"]) == both


def test_a_page_as_it_is_asked_for() -> None:
    page = describe_topic_partitions.page(request("b", "a", cursor="b", limit=5))
    assert (page.cursor, page.limit, dict(page.order)) == ("b", 5, {"b": 0, "a": 1})
    assert describe_topic_partitions.page(request(limit=0)).limit == 1
    assert describe_topic_partitions.page(request(limit=9_999)).limit == 2_000


def response(*topics: tuple[str, range], cursor: tuple[str, int] | None = None) -> bytes:
    """Each topic with the partitions of these numbers."""
    cls = messages.message_class("DescribeTopicPartitionsResponse", 0)
    topic_class = element_class(cls, "topics")
    partition = element_class(topic_class, "partitions")
    entries = tuple(
        make(
            topic_class,
            {
                "name": name,
                "partitions": tuple(make(partition, {"partition_index": n}) for n in numbers),
            },
        )
        for name, numbers in topics
    )
    values: dict[str, object] = {"topics": entries}
    if cursor is not None:
        at = {"topic_name": cursor[0], "partition_index": cursor[1]}
        values["next_cursor"] = make(element_class(cls, "next_cursor"), at)
    return messages.write(make(cls, values))


def place(name: str) -> str | None:
    """Names in these tests are in the broker's order; a name that begins with ! is rejected."""
    return None if name.startswith("!") else name.removesuffix("'")


def shown(asked: Any, answer: bytes, *namespaces: str) -> tuple[str, tuple[str, int] | None]:
    """The topics of the page, each with its partitions' numbers, and the cursor."""
    page = describe_topic_partitions.page(asked)
    prefixes = {name: name for name in namespaces}
    body = describe_topic_partitions.add_namespaces(0, answer, page, prefixes, place, 1)
    found = messages.parse("DescribeTopicPartitionsResponse", 0, body)
    texts = (
        f"{topic.name}{''.join(str(part.partition_index) for part in topic.partitions)}"
        for topic in found.topics
    )
    end = found.next_cursor
    return " ".join(texts), None if end is None else (end.topic_name, end.partition_index)


def test_namespaces_stand_among_the_topics() -> None:
    answer = response(("b", range(2)), ("d", range(1)))
    assert shown(request(limit=9), answer, "e:", "a:", "c:") == ("a:0 b01 c:0 d0 e:0", None)


@pytest.mark.parametrize("start", [None, "", "b", "n3", "n30:", "zz"])
@pytest.mark.parametrize("limit", [1, 2, 7, 39, 40, 41, 2_000])
def test_a_page_has_no_use_for_more_namespaces(limit: int, start: str | None) -> None:
    """Whatever topics are among them; two spellings of a namespace have the same place."""
    every = {f"n{number}:": f"n{number}" for number in range(40)} | {"n7'": "n7"}
    few = describe_topic_partitions.on_page(every, start, limit)
    assert len(set(few.values())) <= limit + 1
    for topics in ((), ("a", "n1a", "n35a"), ("n39a",)):
        asked = request(cursor=start or None, limit=limit)
        page = describe_topic_partitions.page(asked)
        bodies = [
            describe_topic_partitions.add_namespaces(
                0, response(*((name, range(2)) for name in topics)), page, those, place, 1
            )
            for those in (every, few)
        ]
        assert bodies[0] == bodies[1]


def test_named_ones_come_in_the_order_of_the_request() -> None:
    asked = request("d", "!x", "a:", "b", limit=9)
    answer = response(("b", range(1)), ("!x", range(0)), ("d", range(1)))
    assert shown(asked, answer, "a:") == ("d0 !x a:0 b0", None)


def test_a_page_has_what_is_before_the_brokers_cursor() -> None:
    answer = response(("b", range(2)), cursor=("d", 0))
    assert shown(request(limit=9), answer, "a:", "c:", "e:") == ("a:0 b01 c:0", ("d", 0))


def test_a_page_has_what_is_behind_the_requests_cursor() -> None:
    answer = response(("b", range(1, 3)))
    assert shown(request(cursor="b", limit=9), answer, "a:", "c:") == ("b12 c:0", None)


def test_namespaces_count_as_partitions() -> None:
    answer = response(("b", range(4)), ("d", range(1)))
    assert shown(request(limit=1), answer, "a:", "c:") == ("a:0", ("b", 0))
    assert shown(request(limit=3), answer, "a:", "c:") == ("a:0 b01", ("b", 2))
    assert shown(request(limit=5), answer, "a:", "c:") == ("a:0 b0123", ("c:", 0))
    assert shown(request(limit=6), answer, "a:", "c:") == ("a:0 b0123 c:0", ("d", 0))
    assert shown(request(limit=7), answer, "a:", "c:") == ("a:0 b0123 c:0 d0", None)


def test_a_page_that_is_cut_where_a_topic_was_gone_on_with() -> None:
    answer = response(("b", range(3, 6)), ("d", range(2)))
    asked = request(cursor="b", limit=2)
    assert shown(asked, answer, "a:", "c:") == ("b34", ("b", 5))


def test_two_spellings_of_one_topic_are_cut_alike() -> None:
    answer = response(("b", range(3)), ("b'", range(3)))
    assert shown(request("a:", "b", "b'", limit=3), answer, "a:") == ("a:0 b01 b'01", ("b", 2))


def test_a_topic_with_an_error_takes_no_room() -> None:
    answer = response(("b", range(0)), ("d", range(1)))
    assert shown(request(limit=2), answer, "a:") == ("a:0 b d0", None)
    assert shown(request(limit=1), answer, "a:") == ("a:0", ("b", 0))


@pytest.mark.parametrize(("leader", "replicas"), [(4, (4,)), (-1, ())])
def test_a_namespace_has_one_partition_and_no_nulls(leader: int, replicas: tuple[int, ...]) -> None:
    page, answer = describe_topic_partitions.page(request(limit=9)), response()
    body = describe_topic_partitions.add_namespaces(0, answer, page, {"a:": "a.."}, place, leader)
    (topic,) = messages.parse("DescribeTopicPartitionsResponse", 0, body).topics
    (partition,) = topic.partitions
    assert (topic.is_internal, topic.topic_id, int(topic.error_code)) == (True, None, 0)
    assert (partition.leader_id, partition.leader_epoch) == (leader, -1)
    assert (partition.partition_index, int(partition.error_code)) == (0, 0)
    assert partition.replica_nodes == partition.isr_nodes == replicas
    assert partition.eligible_leader_replicas == partition.last_known_elr == ()
    assert partition.offline_replicas == ()
