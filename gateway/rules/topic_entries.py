"""The topics of one request and of its response, entry by entry.

``divide`` decides which topics of a request are forwarded and how each is answered;
``merge_topics`` puts the broker's entries and the kept errors in the request's order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_REQUEST,
    OPERATION_NOT_ATTEMPTED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.rules.declaration import TOPIC_ID, Topics, TopicShape
from protocol.messages import element_class, make
from protocol.pausing import eased, paced, pause_point

NO_ALIASES: Mapping[bytes, bytes] = MappingProxyType({})

SPELLING: Final = "spelling"
"""The rule that denies a name if the request has the same topic under another spelling."""

NOT_ATTEMPTED = Denied(
    OPERATION_NOT_ATTEMPTED, "Another topic of this request was refused.", "all_or_nothing"
)


@dataclass(frozen=True, slots=True)
class RequestedTopic:
    """One topic of a request, under ``name`` or ``topic_id``; the other is None.

    ``partitions`` are the requested numbers, in order. If the topic is not ``denied``, the broker's
    entry for ``forwarded`` (a name), or else for the id, answers it. ``rejected`` has the
    partitions that are answered with errors of their own. ``shared``: the broker's entry may also
    hold partitions of another spelling.
    """

    name: str | None
    topic_id: UUID | None
    partitions: tuple[int, ...]
    denied: Denied | None = None
    forwarded: str | None = None
    rejected: Mapping[int, Denied] = field(default_factory=dict)
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Rejection:
    """The rejected topics of a request: all of them for one reason (``everything``), or the names
    and ids in ``denied``.

    ``aliases`` maps the second spelling of a topic to the first. The keys of both are raw bytes.
    """

    shape: TopicShape
    denied: Mapping[bytes, Denied] = field(default_factory=dict)
    aliases: Mapping[bytes, bytes] = field(default_factory=dict)
    everything: Denied | None = None

    def of(self, name: str | None, topic_id: UUID | None) -> Denied | None:
        """The topic's denial, with this API's code for it; None if the topic is not rejected."""
        pause_point()
        if self.everything is not None:
            return self.everything
        if topic_id is not None and (why := self.denied.get(topic_id.bytes)) is not None:
            if why.code == UNKNOWN_TOPIC_OR_PARTITION:
                why = replace(why, code=UNKNOWN_TOPIC_ID)
            return why
        if name is None:
            return None
        first = self.first_spelling(name)
        why = self.denied.get(name.encode()) or self.denied.get(first.encode())
        if why is not None:
            return replace(why, code=self.shape.codes.get(why.code, why.code))
        return second_spelling(name, first) if first != name and self.shape.one_spelling else None

    def has(self, name: str) -> bool:
        """Whether the topic of this name is rejected."""
        return self.of(name, None) is not None

    def first_spelling(self, name: str) -> str:
        """The spelling that is forwarded for this spelling; mostly the same."""
        raw = name.encode()
        return self.aliases.get(raw, raw).decode()


def second_spelling(name: str, first: str) -> Denied:
    """The denial of a second spelling that cannot be served together with the first."""
    message = f"Topic '{name}' is already in this request, as '{first}'."
    return Denied(INVALID_REQUEST, message, SPELLING)


def divide(
    entries: Sequence[Any], rejection: Rejection
) -> tuple[tuple[Any, ...], tuple[RequestedTopic, ...]]:
    """Divide a request's topics into the entries to forward and the answer for each topic.

    A second spelling is forwarded as a part of the first spelling's entry.
    """
    topics = rejection.shape.request
    requested = [_requested(entry, topics, rejection) for entry in eased(entries)]
    if rejection.shape.all_or_nothing and any(topic.denied for topic in eased(requested)):
        requested = [
            replace(topic, denied=topic.denied or NOT_ATTEMPTED) for topic in paced(requested)
        ]
    forwarded: dict[int, Any] = {}
    first_at: dict[str, int] = {}
    for at, (topic, entry) in paced(enumerate(zip(requested, entries, strict=True))):
        if topic.denied is None and topic.name == topic.forwarded:
            forwarded[at] = entry
            if topic.name is not None:
                first_at.setdefault(topic.name, at)
    joined: dict[int, dict[int, Any]] = {}  # the partitions of entries that stand for several
    for at, (topic, entry) in paced(enumerate(zip(requested, entries, strict=True))):
        if topic.denied is not None or topic.name is None or at in forwarded:
            continue
        spelling = rejection.first_spelling(topic.name)
        entry = _renamed(entry, topics, spelling)
        first = first_at.setdefault(spelling, at)
        conflict = second_spelling(topic.name, spelling)
        there = forwarded.setdefault(first, entry)
        if topics.partitions is None:
            requested[at] = topic if there == entry else replace(topic, denied=conflict)
        else:
            if first not in joined:
                joined[first] = partitions_of(there, topics)
            requested[at] = _joined(joined[first], partitions_of(entry, topics), topic, conflict)
        if first != at:
            requested[first] = replace(requested[first], shared=True)
    for first, partitions in paced(joined.items()):
        union = tuple(partitions.values())
        forwarded[first] = replace(forwarded[first], **{topics.partitions or "": union})
    return tuple(forwarded[at] for at in sorted(forwarded)), tuple(requested)


def _requested(entry: Any, topics: Topics, rejection: Rejection) -> RequestedTopic:
    name: str | None = getattr(entry, topics.name, None) if topics.name else entry
    topic_id: UUID | None = getattr(entry, TOPIC_ID, None)
    if topic_id is not None:
        name = name or None  # Java's client sends an empty name beside an id
    return RequestedTopic(
        name,
        topic_id,
        tuple(partitions_of(entry, topics)),
        denied=rejection.of(name, topic_id),
        forwarded=None if name is None else rejection.first_spelling(name),
    )


def _joined(
    there: dict[int, Any], more: Mapping[int, Any], topic: RequestedTopic, conflict: Denied
) -> RequestedTopic:
    """How the second spelling, ``topic``, is answered; its partitions, ``more``, are added to those
    that are forwarded, ``there``. ``conflict`` answers the partitions that differ."""
    rejected = {
        index: conflict
        for index, partition in eased(more.items())
        if there.setdefault(index, partition) != partition
    }
    return replace(topic, rejected=rejected, shared=True)


def partitions_of(entry: Any, topics: Topics) -> dict[int, Any]:
    """The partitions of an entry by number; empty for an API without partitions."""
    if topics.partitions is None:
        return {}
    partitions = getattr(entry, topics.partitions)
    if not topics.index:
        return {number: number for number in partitions}
    return {getattr(partition, topics.index): partition for partition in paced(partitions)}


def _renamed(entry: Any, topics: Topics, name: str) -> Any:
    return replace(entry, **{topics.name: name}) if topics.name else name


def merge_topics(
    shape: TopicShape, requested: tuple[RequestedTopic, ...] | None, holder: Any
) -> Any:
    """``holder`` (a response, or a group in a response) with an answer for every requested topic.

    A topic that the broker left out stays out (a fetch session, a further page). Topics that were
    not requested stay at the end. ``requested`` is None if the request was for all topics.
    """
    if requested is None:
        return holder
    topics = shape.response
    answers = _Answers(getattr(holder, topics.array), topics)
    topic_class = element_class(type(holder), topics.array)
    merged: list[Any] = []
    for topic in paced(requested):
        if topic.denied is not None:
            merged.append(_error_entry(shape, topic_class, topic, topic.denied))
        elif (place := answers.take(topic)) is not None:
            merged.append(_entry_of_spelling(shape, topic_class, topic, answers, place))
    return replace(holder, **{topics.array: (*merged, *answers.left())})


class _Answers:
    """The broker's entries, by name and by id."""

    def __init__(self, entries: tuple[Any, ...], topics: Topics) -> None:
        self._entries = entries
        self._places: dict[object, list[int]] = {}
        self._given: Counter[object] = Counter()
        self._taken: set[int] = set()
        self._topics = topics
        self._partitions: dict[int, dict[int, list[tuple[int, Any]]]] = {}
        for place, entry in paced(enumerate(entries)):
            for key in (getattr(entry, topics.name, None), getattr(entry, TOPIC_ID, None)):
                if key:
                    self._places.setdefault(key, []).append(place)

    def entry(self, place: int) -> Any:
        """The entry at a place."""
        return self._entries[place]

    def partitions(self, place: int, indexes: Collection[int]) -> list[Any]:
        """The partitions of an entry with these numbers, in the broker's order. Those of the whole
        entry are looked up once, because many spellings may share it."""
        by_index = self._partitions.get(place)
        if by_index is None:
            by_index = self._partitions[place] = {}
            array = getattr(self._entries[place], self._topics.partitions or "")
            for at, partition in paced(enumerate(array)):
                index = getattr(partition, self._topics.index)
                by_index.setdefault(index, []).append((at, partition))
        found = [each for index in eased(indexes) for each in by_index.get(index, ())]
        found.sort(key=_place)
        return [partition for _, partition in eased(found)]

    def take(self, topic: RequestedTopic) -> int | None:
        """The place of the entry for a topic; a second spelling gets the first spelling's entry.

        If a topic was requested twice in the same spelling, each request gets an entry of its own.
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
        return places[turn]

    def left(self) -> tuple[Any, ...]:
        """The entries that were not requested."""
        return tuple(e for place, e in enumerate(eased(self._entries)) if place not in self._taken)


def _error_entry(shape: TopicShape, topic_class: type, topic: RequestedTopic, why: Denied) -> Any:
    topics = shape.response
    values: dict[str, object] = {topics.name: topic.name, TOPIC_ID: topic.topic_id}
    if topics.partitions is None:
        return make(topic_class, values | _error(shape, why))
    partition_class = element_class(topic_class, topics.partitions)
    values[topics.partitions] = tuple(
        _error_partition(shape, partition_class, index, why) for index in eased(topic.partitions)
    )
    return make(topic_class, values)


def _error_partition(shape: TopicShape, partition_class: type, index: int, why: Denied) -> Any:
    return make(partition_class, {shape.response.index: index} | _error(shape, why))


def _error(shape: TopicShape, why: Denied) -> dict[str, object]:
    return {**shape.error_values, shape.error_code: why.code, "error_message": why.message or None}


def _entry_of_spelling(
    shape: TopicShape, topic_class: type, topic: RequestedTopic, answers: _Answers, place: int
) -> Any:
    """The broker's entry, cut to the name and partitions of one spelling if several share it."""
    topics, entry = shape.response, answers.entry(place)
    name = topic.name if topic.name != topic.forwarded else None
    if not topic.shared or topics.partitions is None:
        return entry if name is None else replace(entry, **{topics.name: name})
    partition_class = element_class(topic_class, topics.partitions)
    left = (
        dict.fromkeys(topic.partitions)
        if not topic.rejected
        else {index: None for index in eased(topic.partitions) if index not in topic.rejected}
    )
    wanted = answers.partitions(place, left)
    wanted += [
        _error_partition(shape, partition_class, index, why)
        for index, why in eased(topic.rejected.items())
    ]
    changes: dict[str, object] = {topics.partitions: tuple(wanted)}
    return replace(entry, **(changes if name is None else {**changes, topics.name: name}))


def _place(item: tuple[int, Any]) -> int:
    return item[0]
