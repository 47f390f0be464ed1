"""All topics, page by page: the topics that DescribeTopicPartitions requests in place of "all".

A page of N partitions holds N topics at most, so no more are requested by name. Topics that were
deleted before the broker responds are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.views.views import Listing
from protocol import messages
from protocol.messages import element_class, make

_RESPONSE = "DescribeTopicPartitionsResponse"


def wanted(
    listing: Listing, requested: Any, start: str | None, limit: int
) -> tuple[Any, list[str], str | None]:
    """The request with the broker's cursor, the names of the page's topics, and the name that
    follows them (None: no name follows). ``start`` is the cursor's place, or None for a cursor that
    names nothing that the client may describe: the pages then begin anew."""
    placed: Sequence[tuple[str, str]] = listing.placed
    first = 0 if start is None else bisect_left(placed, (start,))
    names = [name for _, name in placed[first : first + limit]]
    following = placed[first + limit][1] if len(placed) > first + limit else None
    cursor = requested.cursor
    if cursor is None:
        return requested, names, following
    if first < len(placed) and placed[first][0] == start:
        same = [name for flat, name in placed[first : first + limit] if flat == start]
        # Spelled as listed: otherwise its topic would be requested, and answered, twice.
        name = cursor.topic_name if cursor.topic_name in same else same[0]
        return replace(requested, cursor=replace(cursor, topic_name=name)), names, following
    return replace(requested, cursor=None), names, following


def without_gone(version: int, body: bytes, following: str | None) -> bytes:
    """A response without the topics that no longer exist; its next page begins with the topic that
    follows the requested topics."""
    response = messages.parse(_RESPONSE, version, body)
    topics = [one for one in response.topics if one.error_code != UNKNOWN_TOPIC_OR_PARTITION]
    cursor = response.next_cursor
    if cursor is None and following is not None:
        cursor_class = element_class(type(response), "next_cursor")
        cursor = make(cursor_class, {"topic_name": following, "partition_index": 0})
    elif len(topics) == len(response.topics):
        return body
    return messages.write(replace(response, topics=tuple(topics), next_cursor=cursor))
