"""Counted limits: how many topics and partitions a namespace, or a tree of namespaces, may have.

A limit is compared with the numbers after a change, under whatever name a topic counted before, and
only with numbers that the change increases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from gateway.config.policies import Range
from gateway.names import parents
from gateway.policies.tree import Placed, Policies
from gateway.policies.violation import (
    Violation,
    allowance,
    is_near,
    near_miss,
    shown_name,
    violation,
)


class Scope(NamedTuple):
    """The topics that one limit counts together: the topics of the namespace ``path`` by itself, or
    ``in_tree`` with all namespaces below it (None: all namespaces)."""

    path: str | None
    in_tree: bool


EVERYTHING: Final = Scope(None, in_tree=True)


@lru_cache(maxsize=10_000)
def scopes(namespace: str) -> tuple[Scope, ...]:
    """The scopes that count a topic of a namespace."""
    trees = (Scope(tier, in_tree=True) for tier in parents(namespace))
    return (Scope(namespace, in_tree=False), EVERYTHING, *trees)


class Part(NamedTuple):
    """Topics and partitions that are added to a scope, or removed if they are negative."""

    scope: Scope
    topics: int
    partitions: int


class Counts:
    """Numbers of topics and partitions by scope: the present numbers, or the numbers that a change
    adds."""

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self._topics: Counter[Scope] = Counter()
        self._partitions: Counter[Scope] = Counter()
        self.include(parts)

    def include(self, parts: Iterable[Part]) -> None:
        """Count these parts, too."""
        for scope, topics, partitions in parts:
            self._topics[scope] += topics
            self._partitions[scope] += partitions

    def add(self, namespace: str, partitions: int, topics: int = 1) -> None:
        """Count further partitions, and topics, in a namespace."""
        self.include(Part(scope, topics, partitions) for scope in scopes(namespace))

    def topics(self, path: str) -> int:
        """Topics of one namespace (``""``: the default one), without those of namespaces below
        it."""
        return self._topics[Scope(path, in_tree=False)]

    def partitions(self, path: str) -> int:
        """Partitions of the topics of one namespace."""
        return self._partitions[Scope(path, in_tree=False)]

    def tree_topics(self, path: str | None) -> int:
        """Topics of a namespace and all below it; None: of all namespaces, the default one too."""
        return self._topics[Scope(path, in_tree=True)]

    def tree_partitions(self, path: str | None) -> int:
        """Partitions of the topics of a namespace and all below it."""
        return self._partitions[Scope(path, in_tree=True)]


@dataclass(frozen=True, slots=True)
class Limit:
    """One counted limit: ``most`` are allowed, and after the change ``where`` would have
    ``would_be``."""

    rule: str
    most: int
    would_be: int
    noun: str
    where: str

    def sentence(self, subject: str) -> str:
        """The violation, without its full stop; ``subject`` is the thing that exceeds the limit."""
        allowed = allowance(Range(max=self.most), countable=True)
        return f"With {subject}, {self.where} would have {self.would_be} {self.noun}, and {allowed}"


def over(
    policies: Policies, usage: Counts, more: Counts, topic: str, namespace: str
) -> list[Violation]:
    """The limits of a namespace that ``more`` topics and partitions would exceed.

    Messages name ``topic``; ``org:`` is the namespace ``org``. A limit on a number that does not
    grow is not checked, so topics can still be changed after a limit was lowered below the present
    number.
    """
    return [
        violation(placed, limit.rule, limit.sentence(shown_name(topic)), limit.would_be, limit.most)
        for placed in policies.of(namespace)
        for limit in _limits(placed, usage, more, namespace)
        if limit.would_be > limit.most
    ]


def nearly_over(
    policies: Policies, usage: Counts, more: Counts, topic: str, namespace: str
) -> list[Violation]:
    """The limits that are not exceeded, but with less than 20 % left."""
    return [
        near_miss(placed, limit.rule, topic, limit.would_be, limit.most)
        for placed in policies.of(namespace)
        for limit in _limits(placed, usage, more, namespace)
        if limit.would_be <= limit.most and is_near(limit.would_be, limit.most)
    ]


def tree_text(path: str | None) -> str:
    """The tree of a block's namespace in a sentence; the default namespace has no namespaces below
    it."""
    if path is None:
        return "all namespaces together"
    return f"namespace '{path}' and all below it" if path else "the default namespace"


def _limits(placed: Placed, usage: Counts, more: Counts, namespace: str) -> Iterator[Limit]:
    """The limits of a block on the numbers that grow."""
    block, path = placed.block, placed.namespace
    here = f"namespace '{namespace}'" if namespace else "the default namespace"
    if block.max_topics is not None and (added := more.topics(namespace)) > 0:
        would_be = usage.topics(namespace) + added
        yield Limit("max_topics", block.max_topics, would_be, "topics", here)
    if block.max_partitions is not None and (added := more.partitions(namespace)) > 0:
        would_be = usage.partitions(namespace) + added
        yield Limit("max_partitions", block.max_partitions, would_be, "partitions", here)
    # The default namespace has no namespaces below it, though every path is below the empty path.
    alone = path == ""
    if block.max_topics_in_tree is not None:
        added = more.topics("") if alone else more.tree_topics(path)
        if added > 0:
            there = usage.topics("") if alone else usage.tree_topics(path)
            most, would_be = block.max_topics_in_tree, there + added
            yield Limit("max_topics_in_tree", most, would_be, "topics", tree_text(path))
    if block.max_partitions_in_tree is not None:
        added = more.partitions("") if alone else more.tree_partitions(path)
        if added > 0:
            there = usage.partitions("") if alone else usage.tree_partitions(path)
            most, would_be = block.max_partitions_in_tree, there + added
            yield Limit("max_partitions_in_tree", most, would_be, "partitions", tree_text(path))
