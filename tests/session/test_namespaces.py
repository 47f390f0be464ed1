"""Namespaces in requests for topics: the refresh before the decision, and page after page."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.catalog.entities import Namespace
from gateway.exchanges.exchange import Refresh
from protocol import messages
from protocol.messages import element_class, make
from tests.session.pair import Pair, request_frame

METADATA, DESCRIBE = "Metadata", "DescribeTopicPartitions"
EVERY_VERSION = [*((METADATA, version) for version in range(14)), (DESCRIBE, 0)]
UNKNOWN_TOPIC = 3

# Flat names in the broker's order, and how many partitions each topic has.
TOPICS = {"a": 1, "org..x": 3, "org.apache..x": 2, "plain": 0, "team-a..x": 5, "zebra": 1}
NAMESPACES = ("team-a:sub", "team-b", "org:apache:kafka")


def asking(api: str, version: int, names: list[str] | None, **values: Any) -> Any:
    """A request for these topics, or for all if ``names`` is None."""
    cls = messages.message_class(f"{api}Request", version)
    topic = element_class(cls, "topics")
    if names is None:
        topics = None if api == METADATA and version else ()
    else:
        topics = tuple(make(topic, {"name": name}) for name in names)
    return make(cls, {"topics": topics, "response_partition_limit": 2_000, **values})


def awaited(pair: Pair, api: str, version: int, *names: str) -> Refresh | None:
    """The refresh that the session waits for before it decides the request."""
    pair.session.client_data(request_frame(api, version, asking(api, version, list(names))))
    waiting = pair.session.waiting
    assert waiting is None or isinstance(waiting, Refresh)
    return waiting


@pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
def test_a_namespace_is_not_said_to_be_missing_before_the_catalog_is_read(
    api: str, version: int
) -> None:
    pair = Pair()
    assert awaited(pair, api, version, "late:") in (Refresh.TOPICS, Refresh.CATALOG)
    pair.log.append([Namespace("late")])
    pair.catalog_changed()
    pair.resume()
    assert pair.session.waiting is None
    if api == METADATA:
        assert b"late" not in pair.to_broker()
        (topic,) = pair.reply(api, version, no_topics(api, version)).topics
    else:
        (topic,) = pair.answer(api, version).topics
    assert (topic.name, int(topic.error_code)) == ("late:", 0)


@pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
def test_the_catalog_is_read_once(api: str, version: int) -> None:
    pair = Pair()
    assert awaited(pair, api, version, "nowhere:") in (Refresh.TOPICS, Refresh.CATALOG)
    pair.resume()
    assert pair.session.waiting is None
    if api == METADATA:
        assert b"nowhere" not in pair.to_broker()
        (topic,) = pair.reply(api, version, no_topics(api, version)).topics
    else:
        (topic,) = pair.answer(api, version).topics
    assert (topic.name, int(topic.error_code)) == ("nowhere:", UNKNOWN_TOPIC)


@pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
def test_what_is_known_is_answered_at_once(api: str, version: int) -> None:
    pair = Pair(topics=["plain", "odd.."])
    for name in ("team-a:", "team-a..", "plain", "odd.."):
        assert awaited(pair, api, version, name) is None


@pytest.mark.parametrize("version", range(4, 14))
def test_a_legal_name_that_may_be_a_new_namespace_s_is_not_auto_created(version: int) -> None:
    pair = Pair()
    assert awaited(pair, METADATA, version, "late..") is Refresh.TOPICS
    pair.log.append([Namespace("late")])
    pair.catalog_changed()
    pair.resume()
    assert b"late" not in pair.to_broker()


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("name", ["team-b:", "team-b.."])
def test_a_namespace_that_is_being_deleted_is_unknown(version: int, name: str) -> None:
    pair = Pair()
    pair.log.append([Namespace("team-b", deleting=1)])
    pair.catalog_changed()
    seen = pair.ask(METADATA, version, asking(METADATA, version, [name]))
    assert name not in [topic.name for topic in seen.topics]
    sent = pair.asked_as
    assert sent is not None
    (topic,) = pair.reply(METADATA, version, no_topics(METADATA, sent), sent=sent).topics
    assert (topic.name, int(topic.error_code)) == (name, UNKNOWN_TOPIC)


def test_nor_is_it_described() -> None:
    pair = Pair()
    pair.log.append([Namespace("team-b", deleting=1)])
    pair.catalog_changed()
    assert pair.ask(DESCRIBE, 0, asking(DESCRIBE, 0, ["team-b:"])) is None
    (topic,) = pair.answer(DESCRIBE, 0).topics
    assert (topic.name, int(topic.error_code)) == ("team-b:", UNKNOWN_TOPIC)


def no_topics(api: str, version: int) -> Any:
    return messages.build(messages.message_class(f"{api}Response", version))


def test_the_denial_of_a_missing_namespace_is_an_event() -> None:
    pair = Pair()
    pair.ask(METADATA, 12, asking(METADATA, 12, ["nowhere:", "team-a:"]))
    (event,) = pair.worker.denials
    assert (event.resource, event.code) == ("nowhere:", UNKNOWN_TOPIC)


def broker_page(seen: Any, most: int) -> Any:
    """Kafka's response: topics by flat name, from the cursor on, up to the limit."""
    cls = messages.message_class(f"{DESCRIBE}Response", 0)
    topic_class = element_class(cls, "topics")
    partition_class = element_class(topic_class, "partitions")
    asked = sorted({topic.name for topic in seen.topics})
    first = seen.cursor.topic_name if seen.cursor else ""
    assert not first or first in asked, "Kafka refuses a cursor whose topic is not asked for"
    left = min(seen.response_partition_limit, most)
    topics: list[Any] = []
    end = None
    for name in (name for name in asked if name >= first):
        begin = seen.cursor.partition_index if name == first else 0
        numbers = range(begin, TOPICS[name])
        if not left:
            end = (name, begin)
            break
        partitions = [make(partition_class, {"partition_index": n}) for n in numbers[:left]]
        topics.append(make(topic_class, {"name": name, "partitions": tuple(partitions)}))
        if len(numbers) > left:
            end = (name, begin + left)
            break
        left -= len(numbers)
    values: dict[str, object] = {"topics": tuple(topics)}
    if end is not None:
        at = {"topic_name": end[0], "partition_index": end[1]}
        values["next_cursor"] = make(element_class(cls, "next_cursor"), at)
    return make(cls, values)


def described(pair: Pair, names: list[str] | None, limit: int, most: int = 2_000) -> list[Any]:
    """Request page after page, as the cursor says; returns the topics of each."""
    pages: list[Any] = []
    cursor = None
    while not pages or cursor is not None:
        assert len(pages) < 100, "the pages do not end"
        request = asking(DESCRIBE, 0, names, response_partition_limit=limit, cursor=cursor)
        seen = pair.ask(DESCRIBE, 0, request)
        if seen is None:
            got = pair.answer(DESCRIBE, 0)
        else:
            got = pair.reply(DESCRIBE, 0, broker_page(seen, most))
        pages.append(got.topics)
        cursor = None
        if got.next_cursor is not None:
            at = got.next_cursor
            values = {"topic_name": at.topic_name, "partition_index": at.partition_index}
            cursor = make(element_class(type(request), "cursor"), values)
    return pages


def partitions(pages: list[Any]) -> list[tuple[str, int]]:
    return [
        (topic.name, partition.partition_index)
        for page in pages
        for topic in page
        for partition in topic.partitions
    ]


ALL = [
    ("a", 0),
    ("org:", 0),
    *(("org:x", number) for number in range(3)),
    ("org:apache:", 0),
    *(("org:apache:x", number) for number in range(2)),
    ("org:apache:kafka:", 0),
    ("team-a:", 0),
    *(("team-a:x", number) for number in range(5)),
    ("team-a:sub:", 0),
    ("team-b:", 0),
    ("zebra", 0),
]
"""Every partition once, in the order of flat names."""


@pytest.mark.parametrize("most", [1, 2, 5, 2_000])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 7, 11, 2_000])
def test_pages_of_all_topics_and_namespaces(limit: int, most: int) -> None:
    pair = Pair(list_namespaces=True, namespaces=NAMESPACES, topics=TOPICS)
    pages = described(pair, None, limit, most)
    assert partitions(pages) == ALL
    assert all(sum(len(topic.partitions) for topic in page) <= limit for page in pages)
    assert "plain" in {topic.name for page in pages for topic in page}


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 2_000])
def test_pages_of_named_topics_and_namespaces(limit: int) -> None:
    pair = Pair(namespaces=NAMESPACES, topics=TOPICS)
    names = ["zebra", "team-a:", "team-a:x", "org:apache:", "org..x", "team-b.."]
    pages = described(pair, names, limit)
    flat = {"org:apache:": 1, "org..x": 3, "team-a:": 1, "team-a:x": 5, "team-b..": 1, "zebra": 1}
    wanted = [(name, number) for name, count in flat.items() for number in range(count)]
    found = partitions(pages)
    assert sorted(found) == sorted(wanted)
    if limit == 1:
        assert [name for name, _ in found] == [
            *["org..x"] * 3, "org:apache:", "team-a:", *["team-a:x"] * 5, "team-b..", "zebra"
        ]  # fmt: skip
    if limit == 2_000:
        assert [topic.name for topic in pages[0]] == names


@pytest.mark.parametrize("limit", [1, 2, 3, 2_000])
def test_java_s_admin_client_asks_for_what_is_left(limit: int) -> None:
    """It sends a cursor only within a topic; otherwise it sends the names that have no response
    yet."""
    pair = Pair(namespaces=NAMESPACES, topics=TOPICS)
    left = sorted(["zebra", "team-a:", "team-a:x", "org:", "org:x", "team-b:"])
    found: list[tuple[str, int]] = []
    under_way: tuple[str, int] | None = None
    for _ in range(20):
        if not left:
            break
        cls = messages.message_class(f"{DESCRIBE}Request", 0)
        cursor = None
        if under_way is not None:
            at = {"topic_name": under_way[0], "partition_index": under_way[1]}
            cursor = make(element_class(cls, "cursor"), at)
        request = asking(DESCRIBE, 0, left, response_partition_limit=limit, cursor=cursor)
        seen = pair.ask(DESCRIBE, 0, request)
        got = (
            pair.answer(DESCRIBE, 0)
            if seen is None
            else pair.reply(DESCRIBE, 0, broker_page(seen, 2_000))
        )
        end = got.next_cursor
        found += partitions([got.topics])
        answered = {topic.name for topic in got.topics}
        if end is not None and end.topic_name in answered:
            answered.discard(end.topic_name)
            under_way = (end.topic_name, end.partition_index)
        else:
            under_way = None
        left = [name for name in left if name not in answered]
    assert not left
    assert sorted(found) == sorted(
        [("org:", 0), ("team-a:", 0), ("team-b:", 0), ("zebra", 0)]
        + [("org:x", number) for number in range(3)]
        + [("team-a:x", number) for number in range(5)]
    )


def test_thousands_of_namespaces_are_listed_beside_topics() -> None:
    names = [f"n{number}" for number in range(3_000)]
    pair = Pair(list_namespaces=True, namespaces=names, topics=["plain"])
    seen = pair.ask(METADATA, 12, asking(METADATA, 12, None))
    assert seen.topics is None
    cls = messages.message_class("MetadataResponse", 12)
    plain = make(element_class(cls, "topics"), {"name": "plain"})
    got = pair.reply(METADATA, 12, make(cls, {"topics": (plain,)}))
    assert [topic.name for topic in got.topics] == [*(f"{n}:" for n in sorted(names)), "plain"]


@pytest.mark.parametrize("list_namespaces", [False, True])
@pytest.mark.parametrize("names", [None, ["org:x", "team-a:x"], ["team-a:", "org:x", "team-a:x"]])
@pytest.mark.parametrize("limit", [1, 4, 2_000])
def test_a_cursor_in_the_other_spelling_repeats_no_topic(
    limit: int, names: list[str] | None, list_namespaces: bool
) -> None:
    pair = Pair(list_namespaces=list_namespaces, namespaces=NAMESPACES, topics=TOPICS)
    cls = element_class(messages.message_class(f"{DESCRIBE}Request", 0), "cursor")
    pages: dict[str, Any] = {}
    for spelling in ("org:x", "org..x"):
        cursor = make(cls, {"topic_name": spelling, "partition_index": 1})
        request = asking(DESCRIBE, 0, names, response_partition_limit=limit, cursor=cursor)
        seen = pair.ask(DESCRIBE, 0, request)
        pages[spelling] = pair.reply(DESCRIBE, 0, broker_page(seen, 2_000))
    assert partitions([pages["org..x"].topics]) == partitions([pages["org:x"].topics])
    told = [topic.name for topic in pages["org..x"].topics]
    assert len(told) == len(set(told))
