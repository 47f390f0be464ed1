"""The internal topics of a Kafka Streams topology and their partition counts, as a group's
coordinator decides them (KIP-1071; Kafka 4.3.1: InternalTopicManager, RepartitionTopics,
CopartitionedTopicsEnforcer, ChangelogTopics). Pure; names are flat.

A coordinator compares the counts of topics that exist with its own, so the gateway has to come to
the same numbers, even where these follow from the order of Java's hash map. Kafka tries all sinks
of all subtopologies again and again; here each subtopology waits for its first source, so the time
is linear in the topology.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from protocol.pausing import eased, pause_point

_TABLE: Final = 16
"""The size of a new HashMap; it doubles when more than three quarters are used."""
_INT: Final = 0xFFFFFFFF

_Count = Callable[[str], int | None]
"""The partition count of a topic that exists; None: it does not exist."""


class Undecided(Exception):
    """The coordinator would not create the topics of this topology: a source topic is missing, or
    counts contradict each other."""


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """A repartition or changelog topic, as a topology describes it."""

    name: str
    partitions: int = 0
    """0: not fixed."""
    replicas: int = 0
    """0: the brokers' default."""
    configs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of a topology."""

    id: str
    sources: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    """The repartition topics that it writes to."""
    repartitions: tuple[InternalTopic, ...] = ()
    """The repartition topics that it reads."""
    changelogs: tuple[InternalTopic, ...] = ()
    copartitioned: tuple[tuple[str, ...], ...] = ()
    """Groups of its sources that must have equal counts."""

    @property
    def inputs(self) -> Iterator[str]:
        """All topics that it reads."""
        yield from eased(self.sources)
        for topic in eased(self.repartitions):
            yield topic.name


def missing_topics(
    subtopologies: Sequence[Subtopology], existing: _Count
) -> Mapping[str, InternalTopic]:
    """The internal topics to create, by name, with their partition counts. Raises
    :class:`Undecided`."""
    decided = _Counts(in_java_order(subtopologies), existing).decide()
    wanted: dict[str, InternalTopic] = {}
    for part in sorted(eased(subtopologies), key=lambda part: _utf16(part.id)):
        for topic in (*eased(part.repartitions), *eased(part.changelogs)):
            count = topic.partitions or decided.get(topic.name, 0)
            wanted[topic.name] = replace(topic, partitions=count)
    missing = {}
    for name, topic in eased(wanted.items()):
        held = existing(name)
        if held is None:
            missing[name] = topic
        elif held != topic.partitions:
            raise Undecided(f"{name} has {held} partitions, not {topic.partitions}")
    return missing


class _Counts:
    """The counts of one topology; ``parts`` are in the coordinator's order."""

    def __init__(self, parts: Sequence[Subtopology], existing: _Count) -> None:
        self._parts = parts
        self._existing = existing
        self._decided: dict[str, int] = {}
        topics = [topic for part in eased(parts) for topic in eased(part.repartitions)]
        self._fixed = {topic.name: topic.partitions for topic in eased(topics) if topic.partitions}
        self._flexible = {topic.name for topic in eased(topics) if not topic.partitions}

    def decide(self) -> Mapping[str, int]:
        for part in eased(self._parts):
            for name in eased(part.sources):
                if self._existing(name) is None:
                    raise Undecided(f"source topic {name} is missing")
        self._decided.update(self._fixed)
        self._decide_sinks()
        if not self._decided.keys() >= self._flexible:
            raise Undecided("a repartition topic is never written to, or the topology has a loop")
        self._enforce_copartitioning()
        changelogs: dict[str, int] = {}
        for part in eased(self._parts):
            most = max(map(self._count, part.inputs), default=None)
            if most is None:
                raise Undecided(f"subtopology {part.id} has no source topics")
            for topic in eased(part.changelogs):
                changelogs[topic.name] = most
        return self._decided | changelogs

    def _decide_sinks(self) -> None:
        """The count of a repartition topic is that of the largest topic which the writing
        subtopology reads, as far as these counts are decided when its turn comes."""
        readers: dict[str, list[int]] = defaultdict(list)
        for at, part in enumerate(self._parts):
            for topic in eased(part.repartitions):
                readers[topic.name].append(at)
        # A turn is (pass over all subtopologies, position in it).
        turns: list[tuple[int, int]] = []
        scheduled: set[int] = set()
        for at, part in enumerate(self._parts):
            if part.sources or any(topic.name in self._fixed for topic in eased(part.repartitions)):
                turns.append((0, at))
                scheduled.add(at)
        while turns:
            pause_point()
            turn, at = heapq.heappop(turns)
            part = self._parts[at]
            left = [name for name in eased(part.sinks) if name not in self._decided]
            if not left:
                continue
            most = max(self._known(part))
            for name in eased(left):
                self._decided[name] = most
                for reader in eased(readers.get(name, [])):
                    if reader not in scheduled:
                        scheduled.add(reader)
                        heapq.heappush(turns, (turn + (reader <= at), reader))

    def _known(self, part: Subtopology) -> Iterator[int]:
        for topic in eased(part.repartitions):
            count = self._decided.get(topic.name)
            if count is not None:
                yield count
        for name in eased(part.sources):
            yield self._existing(name) or 0

    def _enforce_copartitioning(self) -> None:
        fixed = None
        for part in eased(self._parts):
            for group in eased(part.copartitioned):
                names = dict.fromkeys(eased(group))
                if not names:
                    continue
                repartitions = [
                    name for name in eased(names) if name in self._fixed or name in self._flexible
                ]
                others = [name for name in eased(names) if name not in self._fixed]
                others = [name for name in eased(others) if name not in self._flexible]
                if others:
                    count = _same(self._count(name) for name in eased(others))
                elif self._fixed:
                    # Kafka compares all fixed topics of the topology, not the group's alone.
                    if fixed is None:
                        fixed = _same(self._count(name) for name in eased(self._fixed))
                    count = fixed
                else:
                    count = max(self._count(name) for name in eased(repartitions))
                for name in eased(repartitions):
                    if name in self._fixed and self._count(name) != count:
                        raise Undecided(f"{name} is not as its copartitioned topics")
                    self._decided[name] = count

    def _count(self, name: str) -> int:
        held = self._existing(name)
        count = self._decided.get(name) if held is None else held
        if count is None:
            raise Undecided(f"{name} has no partition count")
        return count


def _same(counts: Iterable[int]) -> int:
    found: int | None = None
    for count in counts:
        if found not in (None, count):
            raise Undecided("copartitioned topics have different partition counts")
        found = count
    assert found is not None
    return found


# -- Java's order ----------------------------------------------------------------------------------


def in_java_order(parts: Sequence[Subtopology]) -> list[Subtopology]:
    """The subtopologies in the order in which a HashMap by their ids, filled in the given order,
    returns them."""
    size = _TABLE
    while len(parts) > size * 3 // 4:
        size *= 2
    return sorted(eased(parts), key=lambda part: _spread(part.id) & (size - 1))


def _spread(text: str) -> int:
    """java.util.HashMap.hash(String)."""
    pause_point()
    code = 0
    units = _utf16(text)
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & _INT
    return code ^ (code >> 16)


def _utf16(text: str) -> bytes:
    """The text as Java compares it: by UTF-16 units, high byte first."""
    return text.encode("utf-16-be", "surrogatepass")
