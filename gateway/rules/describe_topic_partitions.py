"""DescribeTopicPartitions (KIP-966): "all" asked by explicit names, and pages with namespaces.

A page begins at the request's cursor and ends at the response's, in the order of flat names, which
is the broker's. A namespace stands before its topics and counts as one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from gateway.rules.nested import element_class, make
from protocol import messages

_REQUEST = "DescribeTopicPartitionsRequest"
_RESPONSE = "DescribeTopicPartitionsResponse"

MAX_PARTITIONS: Final = 2_000
"""Partitions of a page at most (Kafka's default of max.request.partition.size.limit)."""

_NO_LEADER = -1
_NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class Page:
    """What a request asks for of a list with namespaces.

    ``cursor`` is the name it begins at, None for the beginning, and ``limit`` its partitions at
    most. ``order`` holds the names as they were asked for; empty for "all".
    """

    cursor: str | None
    limit: int
    order: Mapping[str, int]


def wants_all(version: int, body: bytes) -> bool:
    """Whether the request asks for all topics, by an empty array."""
    return not messages.parse(_REQUEST, version, body).topics


def begins_before_all(version: int, body: bytes) -> bool:
    """Whether the cursor is at a partition that cannot be: a broker refuses the whole request,
    whatever it names (DescribeTopicPartitionsRequestHandler)."""
    cursor = messages.parse(_REQUEST, version, body).cursor
    return cursor is not None and cursor.partition_index < 0


def from_cursor(version: int, body: bytes) -> bytes:
    """The same request without an empty name that stands before its cursor, and that a broker does
    not look at for this reason; else it fails at it."""
    request = messages.parse(_REQUEST, version, body)
    if request.cursor is None or not request.cursor.topic_name:
        return body
    topics = tuple(topic for topic in request.topics if topic.name)
    if not topics or len(topics) == len(request.topics):
        return body
    return messages.write(replace(request, topics=topics))


def ask_by_name(version: int, body: bytes, names: Iterable[str]) -> bytes | None:
    """The same request for these topics; None without a name, which would ask for all.

    The broker wants the cursor's topic among the topics, so it stays even when it is not listed
    any more: it is then answered like any topic that was asked for by name.
    """
    request = messages.parse(_REQUEST, version, body)
    chosen = dict.fromkeys(names)
    if request.cursor is not None:
        chosen.setdefault(request.cursor.topic_name)
    if not chosen:
        return None
    topic_class = element_class(type(request), "topics")
    topics = tuple(make(topic_class, {"name": name}) for name in chosen)
    return messages.write(replace(request, topics=topics))


def page(version: int, body: bytes) -> Page:
    """What a request asks for."""
    request = messages.parse(_REQUEST, version, body)
    limit = max(1, min(request.response_partition_limit, MAX_PARTITIONS))
    cursor = None if request.cursor is None else request.cursor.topic_name
    order = {topic.name: at for at, topic in enumerate(request.topics)}
    return Page(cursor, limit, order)


def with_cursor_among(
    version: int, body: bytes, names: Sequence[str], place: Callable[[str], str | None]
) -> bytes:
    """The same request, whose cursor is spelled as in ``names``: in another spelling its topic
    would be asked for, and answered, twice. ``place`` is as in :func:`add_namespaces`."""
    request = messages.parse(_REQUEST, version, body)
    cursor = request.cursor
    if cursor is None or cursor.topic_name in names:
        return body
    at = place(cursor.topic_name)
    listed = None if at is None else next((name for name in names if place(name) == at), None)
    if listed is None:
        return body
    return messages.write(replace(request, cursor=replace(cursor, topic_name=listed)))


def without_cursor(version: int, body: bytes) -> bytes:
    """The same request from the beginning."""
    return messages.write(replace(messages.parse(_REQUEST, version, body), cursor=None))


def no_topics(version: int) -> bytes:
    """The response when there is nothing to describe."""
    return messages.write(messages.build(messages.message_class(_RESPONSE, version)))


def add_namespaces(
    version: int,
    body: bytes,
    asked: Page,
    namespaces: Mapping[str, str],
    place: Callable[[str], str | None],
) -> bytes:
    """The response with those of ``namespaces`` (name to flat prefix) that belong to its page.

    ``place`` gives the flat name of a topic, or a namespace's prefix; what has none is answered
    with an error, on every page.
    """
    response = messages.parse(_RESPONSE, version, body)
    end = response.next_cursor
    start = None if asked.cursor is None else place(asked.cursor)
    stop = None if end is None else place(end.topic_name)
    topic_class = element_class(type(response), "topics")
    placed = [
        (prefix, _namespace(topic_class, name))
        for name, prefix in namespaces.items()
        if (start is None or prefix >= start) and (stop is None or prefix < stop)
    ]
    refused = []
    for topic in response.topics:
        at = place(topic.name)
        if at is None:
            refused.append(topic)
        else:
            placed.append((at, topic))
    shown, rest = _cut(placed, asked.limit)
    if rest is not None:
        name, index = rest
        cursor_class = element_class(type(response), "next_cursor")
        end = make(cursor_class, {"topic_name": name, "partition_index": index})
    topics = [*refused, *shown]
    if asked.order:
        topics.sort(key=lambda topic: asked.order.get(topic.name, len(asked.order)))
    return messages.write(replace(response, topics=tuple(topics), next_cursor=end))


def _namespace(topic_class: type, name: str) -> Any:
    """A namespace's entry. Its one partition is for kafka-topics, which looks at the first one
    of every topic that it describes."""
    partition = make(
        element_class(topic_class, "partitions"),
        {
            "leader_id": _NO_LEADER,
            "leader_epoch": _NO_EPOCH,
            # Java's client takes null lists for lists.
            "eligible_leader_replicas": (),
            "last_known_elr": (),
        },
    )
    return make(topic_class, {"name": name, "is_internal": True, "partitions": (partition,)})


def _cut(placed: list[tuple[str, Any]], limit: int) -> tuple[list[Any], tuple[str, int] | None]:
    """The entries that fit a page, in their order, and the topic and partition that come next.

    Two spellings of one topic are in the same place, and cut alike.
    """
    shown: list[Any] = []
    for _, same in groupby(sorted(placed, key=itemgetter(0)), key=itemgetter(0)):
        entries = [entry for _, entry in same]
        partitions = entries[0].partitions
        if not limit:
            return shown, (entries[0].name, partitions[0].partition_index if partitions else 0)
        shown += [replace(entry, partitions=entry.partitions[:limit]) for entry in entries]
        if len(partitions) > limit:
            return shown, (entries[0].name, partitions[limit].partition_index)
        limit -= len(partitions)
    return shown, None
