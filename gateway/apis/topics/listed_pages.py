"""All topics, page by page: the topics that DescribeTopicPartitions requests in place of "all".

A page of N partitions holds N names at most, so no more are requested. A topic with links has
several names, and a place in the order is a flat name, a name and a partition: each name has all
partitions of its topic, one after another. The broker knows the topic's flat name alone, and
returns the same partitions under each name of a request. So a page that begins inside a topic has
no other name of this topic, and a page ends where the partitions of a name do. Topics that were
deleted before the broker responds are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.views.view import View
from gateway.views.views import Listing
from protocol import messages
from protocol.messages import element_class, make
from protocol.pausing import paced

_RESPONSE = "DescribeTopicPartitionsResponse"


@dataclass(frozen=True, slots=True)
class ListedPage:
    """The names on a page. ``flats`` maps the names to their topics, in their order; ``following``
    is the name after them (None: no name follows); ``limit`` is the most partitions."""

    flats: dict[str, str]
    following: str | None
    limit: int


def wanted(
    listing: Listing, requested: Any, start: str | None, limit: int
) -> tuple[Any, ListedPage]:
    """The request with the broker's cursor, and the page. ``start`` is the flat name of the
    cursor's topic, or None for a cursor that names nothing that the client may describe: the pages
    then begin anew."""
    placed: Sequence[tuple[str, str]] = listing.placed
    cursor = requested.cursor
    first = 0 if start is None else bisect_left(placed, (start,))
    stop = first + limit
    if cursor is not None and first < len(placed) and placed[first][0] == start:
        first = _place_of(listing.access.view, placed, first, cursor.topic_name)
        has_more_names = first + 1 < len(placed) and placed[first + 1][0] == start
        stop = first + (1 if cursor.partition_index and has_more_names else limit)
        # Spelled as listed: otherwise its topic would be requested, and returned, twice.
        requested = replace(requested, cursor=replace(cursor, topic_name=placed[first][1]))
    elif cursor is not None:
        requested = replace(requested, cursor=None)
    following = placed[stop][1] if len(placed) > stop else None
    return requested, ListedPage(
        {name: flat for flat, name in placed[first:stop]}, following, limit
    )


def _place_of(view: View, placed: Sequence[tuple[str, str]], first: int, called: str) -> int:
    """The position of a cursor's name among the names of its topic, which begin at ``first``. A
    name that is not listed, an alias, counts as the first of them."""
    start, found = placed[first][0], view.subscribed(called.encode())
    logical = None if isinstance(found, Denied) else found.logical
    other = None
    for position in paced(range(first, len(placed))):
        flat, name = placed[position]
        if flat != start:
            break
        if name == called:
            return position
        if other is None:
            listed = view.subscribed(name.encode())
            same = not isinstance(listed, Denied) and listed.logical == logical
            other = position if same else None
    return first if other is None else other


def cut(version: int, body: bytes, page: ListedPage) -> bytes:
    """The response without the topics that no longer exist, cut to the page; its cursor is the
    first partition that is not on the page."""
    response = messages.parse(_RESPONSE, version, body)
    entries = {
        one.name: one
        for one in paced(response.topics)
        if one.error_code != UNKNOWN_TOPIC_OR_PARTITION
    }
    end = response.next_cursor
    rest = None if page.following is None else (page.following, 0)
    within = None if end is None else page.flats.get(end.topic_name)
    if end is not None and within is None:
        rest = (end.topic_name, end.partition_index)
    shown, left = [], page.limit
    for name, flat in paced(page.flats.items()):
        entry = entries.pop(name, None)
        partitions = () if entry is None else entry.partitions
        if len(partitions) > left or (partitions and not left):
            rest = (name, partitions[left].partition_index)
            shown += [replace(entry, partitions=partitions[:left])] if left else []
            break
        left -= len(partitions)
        shown += [] if entry is None else [entry]
        if end is not None and flat == within:
            # The other names of this topic are returned once its first name is complete.
            rest = (name, end.partition_index)
            break
    else:
        shown += entries.values()
    cursor = None
    if rest is not None:
        cursor_class = element_class(type(response), "next_cursor")
        cursor = make(cursor_class, {"topic_name": rest[0], "partition_index": rest[1]})
    return messages.write(replace(response, topics=tuple(shown), next_cursor=cursor))
