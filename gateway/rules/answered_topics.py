"""The topics of a response: the broker's entries and the kept errors, in the request's order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from gateway.decision import Denied
from gateway.rules.asked_topics import AskedTopic
from gateway.rules.declaration import TOPIC_ID, Topics, TopicShape
from protocol.messages import element_class, make
from protocol.pausing import paced


def merge_topics(shape: TopicShape, asked: tuple[AskedTopic, ...] | None, holder: Any) -> Any:
    """``holder`` (a response, or a group in one) with every topic answered that was asked for.

    What the broker left out stays out (a fetch session, a further page), what it answered without
    being asked stays, at the end. ``asked`` is None when the request asked for all topics.
    """
    if asked is None:
        return holder
    topics = shape.response
    answers = _Answers(getattr(holder, topics.array), topics)
    topic_class = element_class(type(holder), topics.array)
    merged: list[Any] = []
    for topic in paced(asked):
        if topic.denied is not None:
            merged.append(_error_entry(shape, topic_class, topic, topic.denied))
        elif (entry := answers.take(topic)) is not None:
            merged.append(_own_part(shape, topic_class, topic, entry))
    return replace(holder, **{topics.array: (*merged, *answers.left())})


class _Answers:
    """The broker's entries, found by name or id."""

    def __init__(self, entries: tuple[Any, ...], topics: Topics) -> None:
        self._entries = entries
        self._places: dict[object, list[int]] = {}
        self._given: Counter[object] = Counter()
        self._taken: set[int] = set()
        for place, entry in paced(enumerate(entries)):
            for key in (getattr(entry, topics.name, None), getattr(entry, TOPIC_ID, None)):
                if key:
                    self._places.setdefault(key, []).append(place)

    def take(self, topic: AskedTopic) -> Any | None:
        """The entry for a topic; a second spelling gets the first one's.

        A topic that was asked for twice in one spelling gets one entry after the other.
        """
        key = topic.topic_id or topic.forwarded
        places = self._places.get(key, ())
        turn = 0
        if topic.name == topic.forwarded:
            turn = self._given[key]
            self._given[key] += 1
        if turn >= len(places):
            return None
        self._taken.add(places[turn])
        return self._entries[places[turn]]

    def left(self) -> tuple[Any, ...]:
        """The entries that nobody asked for."""
        return tuple(e for place, e in enumerate(self._entries) if place not in self._taken)


def _error_entry(shape: TopicShape, topic_class: type, topic: AskedTopic, why: Denied) -> Any:
    topics = shape.response
    values: dict[str, object] = {topics.name: topic.name, TOPIC_ID: topic.topic_id}
    if topics.partitions is None:
        return make(topic_class, values | _error(shape, why))
    partition_class = element_class(topic_class, topics.partitions)
    values[topics.partitions] = tuple(
        _error_partition(shape, partition_class, index, why) for index in topic.partitions
    )
    return make(topic_class, values)


def _error_partition(shape: TopicShape, partition_class: type, index: int, why: Denied) -> Any:
    return make(partition_class, {shape.response.index: index} | _error(shape, why))


def _error(shape: TopicShape, why: Denied) -> dict[str, object]:
    return {**shape.error_values, shape.error_code: why.code, "error_message": why.message or None}


def _own_part(shape: TopicShape, topic_class: type, topic: AskedTopic, entry: Any) -> Any:
    """What is one spelling's in an entry that stands for several."""
    topics = shape.response
    if topic.name != topic.forwarded:
        entry = replace(entry, **{topics.name: topic.name})
    if not topic.shared or topics.partitions is None:
        return entry
    partition_class = element_class(topic_class, topics.partitions)
    wanted = [
        partition
        for partition in paced(getattr(entry, topics.partitions))
        if getattr(partition, topics.index) in topic.partitions
        and getattr(partition, topics.index) not in topic.refused
    ]
    wanted += [
        _error_partition(shape, partition_class, index, why) for index, why in topic.refused.items()
    ]
    return replace(entry, **{topics.partitions: tuple(wanted)})
