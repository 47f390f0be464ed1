"""The topics that a request asks for, one by one: which go on, and what each is answered with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from uuid import UUID

from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_REQUEST,
    OPERATION_NOT_ATTEMPTED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.rules.declaration import TOPIC_ID, Topics, TopicShape
from protocol.pausing import paced, pause_point

NO_ALIASES: Mapping[bytes, bytes] = MappingProxyType({})

NOT_ATTEMPTED = Denied(
    OPERATION_NOT_ATTEMPTED, "Another topic of this request was refused.", "all_or_nothing"
)


@dataclass(frozen=True, slots=True)
class AskedTopic:
    """One topic of a request, under ``name`` or ``topic_id`` (a name that is not in the request
    is None, and so is an id).

    ``partitions`` are the numbers asked for, in order. A topic that is not ``denied`` is answered
    with the broker's entry for ``forwarded``, a name, or with that for its id. ``refused`` are
    partitions answered with an error of their own, and ``shared`` says that the broker's entry may
    hold partitions of another spelling.
    """

    name: str | None
    topic_id: UUID | None
    partitions: tuple[int, ...]
    denied: Denied | None = None
    forwarded: str | None = None
    refused: Mapping[int, Denied] = field(default_factory=dict)
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is refused: ``everything`` for one reason, or the names and ids in ``denied``.

    ``aliases`` maps the second spelling of a topic to the first. The keys of both are raw bytes.
    """

    shape: TopicShape
    denied: Mapping[bytes, Denied] = field(default_factory=dict)
    aliases: Mapping[bytes, bytes] = field(default_factory=dict)
    everything: Denied | None = None

    def of(self, name: str | None, topic_id: UUID | None) -> Denied | None:
        """Why the topic is refused, with the code that this API gives for it; None if it is not."""
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
        return twice(name, first) if first != name and self.shape.one_spelling else None

    def has(self, name: str) -> bool:
        """Whether the topic of this name is refused."""
        return self.of(name, None) is not None

    def first_spelling(self, name: str) -> str:
        """The spelling that is forwarded for this one: mostly itself."""
        raw = name.encode()
        return self.aliases.get(raw, raw).decode()


def twice(name: str, first: str) -> Denied:
    """A second spelling that cannot be served along with the first."""
    message = f"Topic '{name}' is already in this request, as '{first}'."
    return Denied(INVALID_REQUEST, message, "spelling")


def divide(
    entries: Sequence[Any], refusal: Refusal
) -> tuple[tuple[Any, ...], tuple[AskedTopic, ...]]:
    """Divide the topic entries of a request into those to forward and what is to be answered.

    A second spelling is forwarded as a part of the first one's entry.
    """
    topics = refusal.shape.request
    asked = [_asked(entry, topics, refusal) for entry in entries]
    if refusal.shape.all_or_nothing and any(topic.denied for topic in asked):
        asked = [replace(topic, denied=topic.denied or NOT_ATTEMPTED) for topic in paced(asked)]
    forwarded: dict[int, Any] = {}
    first_at: dict[str, int] = {}
    for at, (topic, entry) in paced(enumerate(zip(asked, entries, strict=True))):
        if topic.denied is None and topic.name == topic.forwarded:
            forwarded[at] = entry
            if topic.name is not None:
                first_at.setdefault(topic.name, at)
    for at, (topic, entry) in paced(enumerate(zip(asked, entries, strict=True))):
        if topic.denied is not None or topic.name is None or at in forwarded:
            continue
        spelling = refusal.first_spelling(topic.name)
        entry = _renamed(entry, topics, spelling)
        first = first_at.setdefault(spelling, at)
        conflict = twice(topic.name, spelling)
        there = forwarded.get(first, entry)
        forwarded[first], asked[at] = _joined(there, entry, topic, topics, conflict)
        if first != at:
            asked[first] = replace(asked[first], shared=True)
    return tuple(forwarded[at] for at in sorted(forwarded)), tuple(asked)


def _asked(entry: Any, topics: Topics, refusal: Refusal) -> AskedTopic:
    name: str | None = getattr(entry, topics.name, None) if topics.name else entry
    topic_id: UUID | None = getattr(entry, TOPIC_ID, None)
    if topic_id is not None:
        name = name or None  # Java's client puts an empty one beside an id
    return AskedTopic(
        name,
        topic_id,
        tuple(_by_index(entry, topics)),
        denied=refusal.of(name, topic_id),
        forwarded=None if name is None else refusal.first_spelling(name),
    )


def _joined(
    first: Any, second: Any, topic: AskedTopic, topics: Topics, conflict: Denied
) -> tuple[Any, AskedTopic]:
    """The forwarded entry of two spellings, and how the second, ``topic``, is answered.

    ``first`` and ``second`` have the same name here. ``conflict`` answers what differs.
    """
    if topics.partitions is None:
        return first, topic if first == second else replace(topic, denied=conflict)
    there, more = _by_index(first, topics), _by_index(second, topics)
    refused = {
        index: conflict
        for index, partition in more.items()
        if there.get(index, partition) != partition
    }
    union = tuple((there | more | there).values())
    return (
        replace(first, **{topics.partitions: union}),
        replace(topic, refused=refused, shared=True),
    )


def _by_index(entry: Any, topics: Topics) -> dict[int, Any]:
    """The partitions of an entry by number; empty where the API knows no partitions."""
    if topics.partitions is None:
        return {}
    partitions = getattr(entry, topics.partitions)
    if not topics.index:
        return {number: number for number in partitions}
    return {getattr(partition, topics.index): partition for partition in paced(partitions)}


def _renamed(entry: Any, topics: Topics, name: str) -> Any:
    return replace(entry, **{topics.name: name}) if topics.name else name
