"""A large catalog as a company might have it: three tiers of namespaces, moved and adopted topics.

Always the same, so that the figures of two runs are of the same thing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import chain
from typing import Final

from gateway.catalog.entities import Alias, Namespace, TopicEntry
from gateway.names import LogicalName, encode

NAMESPACES: Final = 10_000
TOPICS: Final = 50_000

_OUTER: Final = 100
_TEAMS: Final = 9
_ENVIRONMENTS: Final = 110
_FAR_AHEAD_MS: Final = 4_102_444_800_000
"""The end of an alias: the year 2100."""

_STEMS: Final = ("orders", "payments", "clicks.raw", "customer-events", "stock_levels")


def namespaces(count: int = NAMESPACES) -> Iterator[Namespace]:
    """The first ``count`` namespaces, outer ones before inner ones: of 10,000 there are 100 outer
    ones with 9 in each, and 9,000 in those; of 1,000,000 (the most) there are 110 in each of those,
    too. Every tenth has a config of its own."""
    paths = chain(_outer(), _middle(), _inner(), _innermost())
    for number, path in zip(range(count), paths, strict=False):
        configs = {"retention.ms": str(3_600_000 + number)} if number % 10 == 0 else {}
        yield Namespace(path, configs)


def topics(count: int = TOPICS, spaces: int = NAMESPACES) -> Iterator[TopicEntry]:
    """``count`` topics in the first ``spaces`` (at least 2) namespaces, about as many in each.

    Two of five have been moved, a quarter of those has an alias; the others are where their
    names say and have configs of their own.
    """
    paths = [namespace.path for namespace in namespaces(spaces)]
    for number in range(count):
        at = number * 7 % len(paths)
        name = LogicalName(paths[at], f"{_STEMS[number % len(_STEMS)]}-{number}")
        if number % 5 < 2:
            # Never the same one again.
            former = at + 1 + number % (len(paths) - 1)
            yield _moved(number, name, paths[former % len(paths)])
        else:
            yield TopicEntry(encode(name), name, own_configs=("cleanup.policy", "retention.ms"))


def _moved(number: int, name: LogicalName, former_path: str) -> TopicEntry:
    former = LogicalName(former_path, name.topic)
    aliases = (Alias(former, _FAR_AHEAD_MS),) if number % 10 == 0 else ()
    topic_id = hashlib.blake2b(str(name).encode(), digest_size=16).digest()
    return TopicEntry(encode(former), name, topic_id=topic_id, aliases=aliases)


def _outer() -> Iterator[str]:
    return (f"org-{outer:03}" for outer in range(_OUTER))


def _middle() -> Iterator[str]:
    return (f"{outer}:team-{team}" for outer in _outer() for team in range(_TEAMS))


def _inner() -> Iterator[str]:
    return (f"{middle}:app-{app}" for middle in _middle() for app in range(10))


def _innermost() -> Iterator[str]:
    return (f"{inner}:env-{env}" for inner in _inner() for env in range(_ENVIRONMENTS))
