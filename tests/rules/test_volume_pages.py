"""DescribeTopicPartitions over several volumes: the pages show every partition exactly once.

The clusters here page as a broker does (DescribeTopicPartitionsRequestHandler): by sorted names,
from the cursor on, up to the limit, and a cursor whose topic is not requested is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tree.volume_parts import divide, merge
from protocol import messages
from tests.rules.apis import api_named
from tests.rules.volume_cases import LA, OSLO, OWN, ByPrefix, answer, answered, asked, sent

API = api_named("DescribeTopicPartitions")
NAMES = ByPrefix()

UNKNOWN, INVALID = 3, 42
Seen = dict[str, list[int]]

TOPICS = [
    f"{volume}{name}" for volume in ("", "oslo/", "la:tracking/") for name in ["ab", "az", "ba"]
]
"""Reversed, as their clusters sort them, they are in another order."""


def place(name: str) -> bytes:
    flat = NAMES.flat(name.encode())
    assert flat is not None
    return flat


def broker(body: bytes, counts: Mapping[str, int]) -> bytes:
    """A broker's response; ``counts`` are the partitions of topics that exist."""
    request = sent(API, 0, body)
    cursor, left = request.cursor, max(1, request.response_partition_limit)
    names = sorted({topic.name for topic in request.topics}, key=place)
    if cursor is not None:
        if cursor.partition_index < 0 or cursor.topic_name not in names:
            rejected = [{"name": name, "error_code": INVALID} for name in names]
            return answer(API, 0, "topics", rejected)
        names = [name for name in names if place(name) >= place(cursor.topic_name)]
    topics: list[dict[str, object]] = []
    for name in names:
        start = cursor.partition_index if cursor and cursor.topic_name == name else 0
        if not left:
            return page(topics, name, 0)
        if name not in counts:
            topics.append({"name": name, "error_code": UNKNOWN})
            continue
        stop = min(counts[name], start + left)
        numbers = range(start, stop)
        topics.append({"name": name, "partitions": [{"partition_index": n} for n in numbers]})
        if stop < counts[name]:
            return page(topics, name, stop)
        left -= len(numbers)
    return answer(API, 0, "topics", topics)


def page(topics: list[dict[str, object]], name: str, index: int) -> bytes:
    return answer(
        API, 0, "topics", topics, next_cursor={"topic_name": name, "partition_index": index}
    )


def session(body: bytes, counts: Mapping[str, int]) -> bytes:
    """The broker's response with its topics in the order of the request, as after the gateway has
    merged errors or namespaces into it."""
    order = [topic.name for topic in sent(API, 0, body).topics]
    response = answered(API, 0, broker(body, counts))
    topics = sorted(response.topics, key=lambda topic: order.index(topic.name))
    return messages.write(messages.changed(response, {"topics": topics}))


def request(topics: list[str], limit: int, cursor: Any = None) -> bytes:
    values = {"topics": [{"name": name} for name in topics], "cursor": cursor}
    return asked(API, 0, {**values, "response_partition_limit": limit})


def pages(
    topics: list[str], limit: int, counts: Mapping[str, int], *, forgets: bool = False
) -> Iterator[Any]:
    """All pages, as a client requests them.

    If ``forgets``, like Java's Admin client, which does not request a complete topic again, and
    sends a cursor only within a topic (KafkaAdminClient, KIP-966).
    """
    left, cursor = list(topics), None
    for _ in range(500):
        body = request(left, limit, cursor)
        parts = divide(API, 0, body, NAMES)
        if parts is None:
            response = answered(API, 0, broker(body, counts))
        else:
            answers = {each: session(part, counts) for each, part in parts.bodies.items()}
            response = answered(API, 0, merge(API, parts, answers))
        yield response
        end = response.next_cursor
        cursor = end and {"topic_name": end.topic_name, "partition_index": end.partition_index}
        if forgets:
            shown = {topic.name for topic in response.topics}
            left = [name for name in left if name not in shown or (end and name == end.topic_name)]
            cursor = cursor if end and end.topic_name in shown else None
            if not left:
                return
        elif end is None:
            return
    raise AssertionError("the pages have no end")


def seen(responses: Iterator[Any]) -> Seen:
    found: Seen = {}
    for topic in chain.from_iterable(response.topics for response in responses):
        numbers = [int(partition.partition_index) for partition in topic.partitions]
        # A topic without partitions, because it does not exist, is noted by a negative number.
        found.setdefault(topic.name, []).extend(numbers or [-int(topic.error_code)])
    return found


@given(
    topics=st.permutations(TOPICS).flatmap(
        lambda names: st.integers(1, len(names)).map(lambda count: names[:count])
    ),
    counts=st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 7)),
    limit=st.integers(1, 12),
    forgets=st.booleans(),
)
def test_every_partition_is_shown_once(
    topics: list[str], counts: Mapping[str, int], limit: int, *, forgets: bool
) -> None:
    expected = {
        name: list(range(counts[name])) if name in counts else [-UNKNOWN] for name in topics
    }
    assert seen(pages(topics, limit, counts, forgets=forgets)) == expected


@given(counts=st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 7)), limit=st.integers(1, 12))
def test_no_page_is_longer_than_the_limit(counts: Mapping[str, int], limit: int) -> None:
    for response in pages(TOPICS, limit, counts):
        assert sum(len(topic.partitions) for topic in response.topics) <= limit


def test_what_fits_is_one_page() -> None:
    (only,) = pages(["oslo/ab", "ba", "la:tracking/az"], 2_000, {"ba": 3, "oslo/ab": 4})
    assert [topic.name for topic in only.topics] == ["ba", "la:tracking/az", "oslo/ab"]


def test_at_home_all_topics_are_the_listeners_volumes() -> None:
    assert divide(API, 0, request([], 10), NAMES) is None
    assert divide(API, 0, request(["ab", "ba"], 10), NAMES) is None
    cursor = {"topic_name": "ba", "partition_index": 1}
    assert divide(API, 0, request(["ab", "ba"], 10, cursor), NAMES) is None


def test_one_other_volume_gets_the_request_as_it_is() -> None:
    cursor = {"topic_name": "oslo/ba", "partition_index": 1}
    body = request(["oslo/ba", "oslo/ab"], 10, cursor)
    parts = divide(API, 0, body, NAMES)
    assert parts is not None
    assert (parts.only, parts.bodies) == (OSLO, {OSLO: body})


def test_volumes_before_the_cursor_are_not_asked() -> None:
    cursor = {"topic_name": "la:tracking/ab", "partition_index": 4}
    parts = divide(API, 0, request(["ba", "oslo/ab", "la:tracking/ab"], 10, cursor), NAMES)
    assert parts is not None
    assert list(parts.bodies) == [LA, OSLO]
    assert parts.only is None
    ends = {each: sent(API, 0, part).cursor for each, part in parts.bodies.items()}
    assert ends[LA].topic_name == "la:tracking/ab"
    assert ends[LA].partition_index == 4
    assert ends[OSLO] is None


def test_a_cursor_in_no_requested_topic_is_rejected_by_its_volume() -> None:
    cursor = {"topic_name": "oslo/aa", "partition_index": 0}
    parts = divide(API, 0, request(["ba", "oslo/ab"], 10, cursor), NAMES)
    assert parts is not None
    answers = {each: broker(part, {"ba": 1}) for each, part in parts.bodies.items()}
    topics = answered(API, 0, merge(API, parts, answers)).topics
    assert [(each.name, int(each.error_code)) for each in topics] == [("oslo/ab", INVALID)]


def test_a_cursors_partition_below_0_is_rejected_for_all_topics() -> None:
    cursor = {"topic_name": "oslo/ab", "partition_index": -1}
    parts = divide(API, 0, request(["ba", "oslo/ab"], 10, cursor), NAMES)
    assert parts is not None
    answers = {each: broker(part, {"ba": 1}) for each, part in parts.bodies.items()}
    topics = answered(API, 0, merge(API, parts, answers)).topics
    assert {each.name: int(each.error_code) for each in topics} == {
        "ba": INVALID,
        "oslo/ab": INVALID,
    }


def test_a_name_without_a_place_is_answered_with_its_volume() -> None:
    parts = divide(API, 0, request(["b!", "ba", "oslo/ab", "oslo/b!"], 1), NAMES)
    assert parts is not None
    bad = {"error_code": 17, "partitions": ()}
    one = {"partitions": [{"partition_index": 0}]}
    answers = {
        OWN: answer(API, 0, "topics", [{"name": "ba", **one}, {"name": "b!", **bad}]),
        OSLO: answer(API, 0, "topics", [{"name": "oslo/ab", **one}, {"name": "oslo/b!", **bad}]),
    }
    merged = answered(API, 0, merge(API, parts, answers))
    assert [each.name for each in merged.topics] == ["b!", "ba"]
    assert merged.next_cursor.topic_name == "oslo/ab"


def test_two_spellings_of_a_topic_are_cut_alike() -> None:
    names = ["oslo/la:tracking/ab", "oslo/ab", "ba"]  # the first two are reversed alike
    parts = divide(API, 0, request(names, 2), NAMES)
    assert parts is not None
    three = {"partitions": [{"partition_index": n} for n in range(3)]}
    both = [{"name": name, **three} for name in names[:2]]
    answers = {OWN: answer(API, 0, "topics", []), OSLO: answer(API, 0, "topics", both)}
    merged = answered(API, 0, merge(API, parts, answers))
    assert [(each.name, len(each.partitions)) for each in merged.topics] == [
        (name, 2) for name in names[:2]
    ]
    assert merged.next_cursor.partition_index == 2


@pytest.mark.parametrize(("limit", "most"), [(-1, 1), (0, 1), (5_000, 2_000)])
def test_the_limit_of_a_page_is_what_a_broker_makes_of_it(limit: int, most: int) -> None:
    # max(min(max.request.partition.size.limit, requested), 1), which is 2000 by default.
    first = next(pages(["ab", "oslo/ab"], limit, {"ab": 1_500, "oslo/ab": 1_500}))
    assert sum(len(topic.partitions) for topic in first.topics) == most
