"""DescribeTopicPartitions (KIP-966) for topics of several volumes: pages across all volumes.

A broker sorts the topics that a request names, returns partitions up to a limit, and returns a
cursor (topic and partition) where the next page begins; topics before the request's cursor are left
out (DescribeTopicPartitionsRequestHandler, KRaftMetadataCache.describeTopicResponse). The gateway
sorts by mount paths, and within a volume by the names in its cluster, like the volume's brokers. So
a page begins in the cursor's volume and leaves out the volumes before it. Every volume after it is
queried for a whole page, and partitions beyond the page are cut off. A cursor's name alone defines
where the next page begins, so no topic is returned twice or left out.

A name that no topic can have, or that the client may not describe, has no place in the order: its
error is on every page of its volume, because its place would reveal whether there is a namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from gateway.apis.topics.remembered import entry_of, recalled
from gateway.rules.division import OF_LOOKUPS, Division, Item, Names, Parts, Recall, Requested
from gateway.rules.far_answers import MAX_PARTITIONS as MOST_OF_TOPIC
from gateway.rules.far_answers import NotBelieved, check_all, check_keys, shown_keys
from gateway.rules.volume_items import with_all_else
from protocol import messages
from protocol.messages import element_class, made, make
from protocol.pausing import eased, paced

_REQUEST: Final = "DescribeTopicPartitionsRequest"
_RESPONSE: Final = "DescribeTopicPartitionsResponse"

MAX_PARTITIONS: Final = 2_000
"""The most partitions on a page (Kafka's default of max.request.partition.size.limit)."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A topic of a request, and its place in the order of all topics; ``flat`` is None for a topic
    without a place in its volume."""

    topic: Any
    volume: str
    flat: bytes | None


def divide(version: int, body: bytes, request: Any, names: Names) -> Parts | None:
    """Divide a request like ``volume_parts.divide``; ``request`` is the parsed ``body``.

    If the cursor's topic is not requested, the broker of its volume gets the cursor and rejects the
    topics of that volume. If no topic of that volume is left, the page begins with the next volume,
    and after the last volume with the first. A cursor with a partition below 0 goes to all volumes,
    whose brokers all reject it.
    """
    places = [_place(topic, names) for topic in paced(request.topics)]
    cursor = request.cursor
    start = None if cursor is None else _place(cursor, names)
    volumes = sorted({place.volume for place in places})
    merger = partial(merge, names, page_limit(request))
    if volumes in ([], [names.own]) and (start is None or start.volume == names.own):
        return None  # "all" also belongs to the listener's volume
    if not volumes:
        return None
    if len(volumes) == 1 and (start is None or start.volume == volumes[0]):
        items = tuple(_item(place) for place in places)
        return Parts(version, {volumes[0]: body}, names.own, items, volumes[0], merger)
    everywhere = cursor is not None and cursor.partition_index < 0
    if start is not None and not everywhere:
        places = [each for each in places if not _is_before(each, start)] or places
    bodies = {}
    for volume in sorted({place.volume for place in places}):
        has_cursor = everywhere or (start is not None and start.volume == volume)
        topics = tuple(place.topic for place in places if place.volume == volume)
        part = replace(request, topics=topics, cursor=cursor if has_cursor else None)
        bodies[volume] = messages.write(part)
    items = tuple(_item(place) for place in places)
    return Parts(version, bodies, names.own, items, merger=merger)


def merge(names: Names, limit: int, parts: Parts, answers: Mapping[str, bytes]) -> bytes:
    """The page made of all parts' responses; a single response that fits is returned unchanged."""
    found = {each: messages.parse(_RESPONSE, parts.version, answers[each]) for each in parts.bodies}
    if len(found) == 1:
        volume, only = next(iter(found.items()))
        if sum(len(topic.partitions) for topic in only.topics) <= limit:
            return answers[volume]
    shown: list[Any] = []
    cursor = None
    for response in found.values():
        entries, cursor, limit = _cut(names, response, limit)
        shown += entries
        if cursor is not None:
            break
    values = {"topics": shown, "next_cursor": cursor}
    return messages.write(with_all_else(parts.own, found, values))


def page_limit(request: Any) -> int:
    """The most partitions on a page, as a broker would read the request."""
    limit: int = request.response_partition_limit
    return max(1, min(limit, MAX_PARTITIONS))


def when_down(version: int, part_body: bytes, recall: Recall) -> bytes:
    """The response made of remembered topics. It begins at the request's cursor, and may be longer
    than a page: ``merge`` cuts it. Raises ProtocolError."""
    request = messages.parse(_REQUEST, version, part_body)
    remembered, cursor = recalled(request.topics, recall), request.cursor
    topics = []
    for topic in paced(request.topics):
        here = cursor is not None and cursor.topic_name == topic.name
        start = max(0, cursor.partition_index) if here else 0
        topics.append(entry_of(topic, {}, remembered, start))
    return made(_RESPONSE, version, {"topics": topics})


def check(request: Any, response: Any, wanted: Requested) -> None:
    """Raise NotBelieved if a page of another gateway holds items that were not requested, or that
    cannot exist."""
    cursor = response.next_cursor
    if request.topics:
        names = {each.name for each in eased(request.topics)}
        check_keys(sorted(names), response.topics, wanted)
        if cursor is not None and cursor.topic_name not in names:
            raise NotBelieved(
                f"goes on at {shown_keys([cursor.topic_name])}, which was not requested"
            )
    else:
        check_all(response.topics, wanted)
        if cursor is not None and wanted.topic(cursor.topic_name.encode()) != wanted.path:
            raise NotBelieved(f"goes on at {shown_keys([cursor.topic_name])}, not below that mount")
    if cursor is not None and not 0 <= cursor.partition_index < MOST_OF_TOPIC:
        raise NotBelieved(f"goes on at partition {cursor.partition_index}")
    if cursor is not None and cursor == request.cursor:
        raise NotBelieved("goes on where it began")
    partitions = sum(len(topic.partitions) for topic in eased(response.topics))
    # Each spelling of a topic may have a page's partitions.
    if partitions > page_limit(request) * max(len(response.topics), 1):
        raise NotBelieved(f"has {partitions} partitions on one page")


DIVISION: Final = Division(pages=divide, codes=OF_LOOKUPS, when_down=when_down, believed=check)


def _place(topic: Any, names: Names) -> _Place:
    """The place of a topic or of a cursor."""
    name = (topic.topic_name if hasattr(topic, "topic_name") else topic.name).encode()
    return _Place(topic, names.topic(name), names.flat(name))


def _item(place: _Place) -> Item:
    return Item(place.volume, place.topic.name)


def _is_before(place: _Place, start: _Place) -> bool:
    """Whether a topic was on a page before the page that begins at ``start``."""
    if place.volume != start.volume or place.flat is None or start.flat is None:
        return place.volume < start.volume
    return place.flat < start.flat


def _cut(names: Names, response: Any, limit: int) -> tuple[list[Any], Any | None, int]:
    """The entries of one volume that fit a page, the cursor of the next page (None: it begins in
    another volume), and the number of partitions for which there is room left.

    Two spellings of a topic have the same place, and are cut alike.
    """
    cursor_class = element_class(type(response), "next_cursor")
    placed, shown = _sorted(names, response.topics)
    if not limit and placed:
        return [], _beginning(cursor_class, placed[0][1], 0), 0
    for _, same in groupby(placed, key=itemgetter(0)):
        entries = [entry for _, entry in same]
        if not limit:
            return shown, _beginning(cursor_class, entries[0], 0), 0
        shown += [replace(entry, partitions=entry.partitions[:limit]) for entry in entries]
        if len(entries[0].partitions) > limit:
            return shown, _beginning(cursor_class, entries[0], limit), 0
        limit -= len(entries[0].partitions)
    return shown, response.next_cursor, limit


def _sorted(names: Names, topics: Iterable[Any]) -> tuple[list[tuple[bytes, Any]], list[Any]]:
    """The entries with a place, in order, with their places; and the entries without a place."""
    placed, others = [], []
    for entry in paced(topics):
        flat = None if entry.name is None else names.flat(entry.name.encode())
        if flat is None:
            others.append(entry)
        else:
            placed.append((flat, entry))
    return sorted(placed, key=itemgetter(0)), others


def _beginning(cursor_class: type, entry: Any, at: int) -> Any:
    """The cursor to the partition at position ``at`` of an entry."""
    index = entry.partitions[at].partition_index if entry.partitions else 0
    return make(cursor_class, {"topic_name": entry.name, "partition_index": index})
