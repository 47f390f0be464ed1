"""Pages of all topics where topics have links: together they are the listing, each partition once,
and they end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

import pytest

from gateway.catalog.entities import CatalogFormat, Link, TopicEntry
from gateway.names import LogicalName
from tests.session.far import message
from tests.session.pair import Pair, topic_id

API = "DescribeTopicPartitions"
MOST_PAGES = 200

Place = tuple[str, int]
"""A name, or a flat name, and a partition."""


def world(links: dict[str, int], **settings: Any) -> Pair:
    """A session with topics of ``team-a`` and the number of links of each, in ``team-b``."""
    pair = Pair(topics=[f"team-a..{topic}" for topic in links], **settings)
    number = count(500)
    changes: list[Any] = [CatalogFormat(3)]
    for topic, linked in links.items():
        changes.append(TopicEntry(f"team-a..{topic}", LogicalName("team-a", topic)))
        for at in range(linked):
            name = LogicalName("team-b", f"{topic}-{at}")
            changes.append(Link(name, f"team-a..{topic}", topic_id(next(number)).bytes))
    pair.log.append(changes)
    pair.catalog_changed()
    return pair


def broker_page(request: Any, counts: dict[str, int], limit: int) -> Any:
    """A broker's page (DescribeTopicPartitionsRequestHandler, KRaftMetadataCache): topics in the
    order of their names, from the cursor, until the partitions reach the limit."""
    cursor, topics, end = request.cursor, [], None
    names = sorted({topic.name for topic in request.topics})
    assert cursor is None or cursor.topic_name in names
    left = min(limit, request.response_partition_limit)
    for name in names:
        if cursor is not None and name < cursor.topic_name:
            continue
        at = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        if not left:
            end = {"topic_name": name, "partition_index": at}
            break
        indexes = range(at, min(counts[name], at + left))
        partitions = [{"partition_index": index} for index in indexes]
        topics.append({"name": name, "topic_id": topic_id(1).int, "partitions": partitions})
        left -= len(indexes)
        if indexes.stop < counts[name]:
            end = {"topic_name": name, "partition_index": indexes.stop}
            break
    return message(f"{API}Response", 0, topics=topics, next_cursor=end)


def pages(pair: Pair, counts: dict[str, int], limit: int, of_broker: int = 2_000) -> Iterator[Any]:
    """The pages that a client gets, from the first to the last."""
    cursor = None
    for _ in range(MOST_PAGES):
        values = {"topics": [], "response_partition_limit": limit, "cursor": cursor}
        sent = pair.ask(API, 0, message(f"{API}Request", 0, **values))
        if sent is None:
            page = pair.answer(API, 0)
        else:
            page = pair.reply(API, 0, broker_page(sent, counts, of_broker))
        yield page
        if page.next_cursor is None:
            return
        name, index = page.next_cursor.topic_name, page.next_cursor.partition_index
        cursor = {"topic_name": name, "partition_index": index}
    raise AssertionError("The pages do not end.")


def shown(page: Any) -> list[Place]:
    return [
        (topic.name, part.partition_index) for topic in page.topics for part in topic.partitions
    ]


def names_of(links: dict[str, int], topic: str) -> list[str]:
    return [f"team-a:{topic}", *(f"team-b:{topic}-{at}" for at in range(links[topic]))]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 2_000])
@pytest.mark.parametrize("linked", [1, 3, 4])
def test_a_topic_with_as_many_names_as_a_page_has_partitions(linked: int, limit: int) -> None:
    links, counts = {"a": 0, "b": linked, "c": 0}, {f"team-a..{topic}": 1 for topic in "abc"}
    got = [place for page in pages(world(links), counts, limit) for place in shown(page)]
    assert got == [(name, 0) for topic in links for name in names_of(links, topic)]


@pytest.mark.parametrize("seed", range(30))
def test_the_pages_together_are_the_listing(seed: int) -> None:
    random = Random(seed)
    links = {f"t{at}": random.choice((0, 0, 1, 2, 5)) for at in range(random.randint(1, 6))}
    partitions = {topic: random.randint(1, 7) for topic in links}
    counts = {f"team-a..{topic}": number for topic, number in partitions.items()}
    limit, of_broker = random.randint(1, 9), random.choice((1, 3, 2_000))
    namespaces = random.choice((True, False))
    listed = [
        (name, index)
        for topic in links
        for name in names_of(links, topic)
        for index in range(partitions[topic])
    ]
    got = []
    for page in pages(world(links, list_namespaces=namespaces), counts, limit, of_broker):
        assert len(shown(page)) <= limit
        got += shown(page)
    of_topics = [place for place in got if not place[0].endswith(":")]
    assert of_topics == listed
    assert len(set(got)) == len(got)
    assert {name for name, _ in got if name.endswith(":")} >= (
        {"team-a:", "team-b:"} if namespaces else set()
    )


def test_a_cursor_in_another_spelling_goes_on_with_its_name() -> None:
    pair, counts = world({"a": 2}), {"team-a..a": 4}
    for name, rest in (("team-b..a-0", "team-b:a-0"), ("team-b:a-1", "team-b:a-1")):
        cursor = {"topic_name": name, "partition_index": 3}
        values = {"topics": [], "response_partition_limit": 9, "cursor": cursor}
        sent = pair.ask(API, 0, message(f"{API}Request", 0, **values))
        page = pair.reply(API, 0, broker_page(sent, counts, 9))
        assert shown(page) == [(rest, 3)]
        assert (page.next_cursor is None) == (rest == "team-b:a-1")
