"""The longest request of every API that the gateway serves, and how long its callbacks take.

A request is made long in each possible way: one of its arrays, at whatever depth, has as many
elements as fit.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from time import thread_time
from typing import Any
from uuid import UUID

from gateway.apis.walking import MAX_SPANS
from gateway.slices import SLICE_SECONDS
from protocol import messages
from tests.session.pair import Pair, topic_id
from tests.session.samples import request

TOPIC = "team-a:t"

MOST_ITEMS = MAX_SPANS - 10
MOST_BYTES = 8 * 1024 * 1024 - 1024
FEW = 10_000
"""A number of elements of any kind that fits."""


TRIES = 3
"""If other processes use the processor's caches, the same work takes up to twice as long, but not
in each try; a callback that is too long is too long in each try."""


@dataclass
class Longest:
    """The CPU seconds of the longest callback so far."""

    seconds: float = 0.0


class TimedPair(Pair):
    """A session whose callbacks are timed by the CPU time that they take."""

    longest: float = 0.0
    callbacks: int = 0
    total: float = 0.0

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.worker.turn_seconds = SLICE_SECONDS

    def callback(self, call: Callable[[], object]) -> None:
        """See :class:`Pair`."""
        before = thread_time()
        call()
        took = thread_time() - before
        self.longest = max(self.longest, took)
        self.total += took
        self.callbacks += 1


def best(measure: Callable[[], TimedPair], seconds: float) -> TimedPair:
    """The first try whose longest callback took less than ``seconds``, or else the last try.

    Each try begins without the objects of the try before, because Python's collector would look at
    them again during the measurement: 100 ms instead of 40 for 90,000 topics.
    """
    pair = measure()
    for _ in range(TRIES - 1):
        if pair.longest < seconds:
            break
        del pair
        gc.collect()
        pair = measure()
    return pair


def ways(api: str, version: int) -> Iterator[str]:
    """The arrays of a request, as paths of attributes."""
    yield from _arrays(request(api, version, TOPIC, topic_id(1), acknowledges=True), "")


@dataclass(frozen=True)
class Elements:
    """How the elements of a long array differ: their names begin with ``name``; there are only
    ``repeats`` different ones (0: all differ); ``spelled``: each is written with colons and in the
    legal spelling in turn; the arrays of each element have ``inner`` elements (0: as in samples).
    """

    name: str = "x:"
    repeats: int = 0
    spelled: bool = False
    inner: int = 0

    def text(self, number: int) -> str:
        """The name of an element."""
        text = f"{self.name}{number % self.repeats if self.repeats else number}"
        return text.replace(":", "..") if self.spelled and number % 2 else text


MOST_INNER = 400_000
"""Elements of all inner arrays together, because they are made one by one."""


def longest_request(
    api: str, version: int, way: str, most: int = MOST_ITEMS, elements: str | Elements = "x:"
) -> bytes:
    """The body of a request whose array at ``way`` has ``most`` such ``elements`` (a text: their
    names begin with it, and all differ), or as many as fit."""
    entity = request(api, version, TOPIC, topic_id(1), acknowledges="acknowledge" in way)
    path = way.split(".")
    how = Elements(elements) if isinstance(elements, str) else elements
    if how.inner:
        most = max(min(most, MOST_INNER // how.inner), 1)
    if most > FEW or (how.inner and most > 1):
        some = 12 if how.inner else 1002
        small = len(messages.write(_long(entity, path, 2, how)))
        grown = len(messages.write(_long(entity, path, some, how))) - small
        most = min(most, int(MOST_BYTES / max(grown / (some - 2), 1)))
    return messages.write(_long(entity, path, max(most, 1), how))


def _arrays(entity: Any, prefix: str) -> Iterator[str]:
    for field in fields(entity):
        value = getattr(entity, field.name)
        path = f"{prefix}.{field.name}" if prefix else field.name
        if isinstance(value, tuple) and value:
            yield path
            if is_dataclass(value[0]):
                yield from _arrays(value[0], path)
        elif is_dataclass(value):
            yield from _arrays(value, path)


def _long(entity: Any, way: list[str], count: int, how: Elements) -> Any:
    name, *rest = way
    elements = getattr(entity, name)
    if is_dataclass(elements):
        return replace(entity, **{name: _long(elements, rest, count, how)})
    if rest:
        return replace(entity, **{name: (_long(elements[0], rest, count, how),)})
    most = _largest(entity, name, count)
    first = _inner(elements[0], how.inner) if how.inner else elements[0]
    many = tuple(_numbered(first, number % most, how) for number in range(count))
    return replace(entity, **{name: many})


def _inner(element: Any, count: int) -> Any:
    """An element whose own arrays have ``count`` elements."""
    if not is_dataclass(element):
        return element
    all_differ, changes = Elements(), {}
    for field in fields(element):
        value = getattr(element, field.name)
        if isinstance(value, tuple) and value:
            most = _largest(element, field.name, count)
            changes[field.name] = tuple(
                _numbered(value[0], number % most, all_differ) for number in range(count)
            )
    return replace(element, **changes)  # type: ignore[type-var]


def _numbered(element: Any, number: int, how: Elements) -> Any:
    """A copy of an element under a name of its own."""
    turn = number % how.repeats if how.repeats else number
    if isinstance(element, str):
        return how.text(number)
    if isinstance(element, UUID):
        return UUID(int=turn + 1000)
    if isinstance(element, int):
        return type(element)(number)
    changes: dict[str, object] = {}
    for field in fields(element):
        value = getattr(element, field.name)
        if isinstance(value, str) and field.name in NAMES:
            changes[field.name] = how.text(number)
        elif isinstance(value, UUID):
            changes[field.name] = UUID(int=turn + 1000)
        elif field.name in NUMBERS:
            changes[field.name] = type(value)(number)
    return replace(element, **changes)


INT8 = 128
INT8_ARRAYS = frozenset({"acknowledge_types", "resource_types"})
INT16 = 32_768
INT16_STRUCTS = frozenset({"CopartitionGroup"})
"""Arrays, and structs with arrays, whose elements are numbers below these, so that they repeat."""


def _largest(entity: Any, array: str, count: int) -> int:
    """The number from which on the elements of an array repeat."""
    if array in INT8_ARRAYS:
        return INT8
    return INT16 if type(entity).__name__ in INT16_STRUCTS else count


NAMES = frozenset(
    {
        "name",
        "topic",
        "topic_name",
        "group_id",
        "resource_name",
        "key",
        "member_id",
        "user",
        "transactional_id",
        "value",
        "protocol_name",
    }
)
NUMBERS = frozenset({"partition", "partition_index", "index"})


def values(entity: Any) -> dict[str, Any]:
    """The fields of an entity."""
    return {field.name: getattr(entity, field.name) for field in fields(entity)}


def longest_listing(answer: Any, flats: list[str]) -> Any:
    """A Metadata response with a copy of its first entry for each flat name."""
    first = answer.topics[0]
    entries = []
    for number, flat in enumerate(flats, start=1):
        changes: dict[str, Any] = {"name": flat, "partitions": first.partitions * 3}
        if hasattr(first, "topic_id"):
            changes["topic_id"] = topic_id(number)
        entries.append(replace(first, **changes))
    return replace(answer, topics=tuple(entries))
