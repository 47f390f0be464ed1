"""The counted limits: how many topics and partitions a namespace, or a whole tree, may have.

They are asked in the catalog writer's turn, where no other decision is under way, so of many
creations at the same time no one too many is allowed. Pure and quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from gateway.config.policies import Range
from gateway.policies.findings import allowance
from gateway.policies.measures import is_near
from gateway.policies.tree import Placed, Policies
from gateway.policies.violation import Violation, near_miss, shown_name, violation


class Usage(Protocol):
    """How much there is now. A path is a namespace's, ``""`` the default one's."""

    def topics(self, path: str) -> int:
        """Topics of one namespace, without those below it."""
        ...

    def partitions(self, path: str) -> int:
        """Their partitions."""
        ...

    def tree_topics(self, path: str | None) -> int:
        """Topics of a namespace and all below it; None: of all namespaces, the default one too."""
        ...

    def tree_partitions(self, path: str | None) -> int:
        """Their partitions."""
        ...


@dataclass(frozen=True, slots=True)
class _Limit:
    """One limit that is asked about: ``most`` is what it allows, ``would_be`` what there would be
    ``where``."""

    rule: str
    most: int
    would_be: int
    noun: str
    where: str

    def sentence(self, topic: str) -> str:
        """Why it is exceeded."""
        allowed = allowance(Range(max=self.most), countable=True)
        return (
            f"With {shown_name(topic)}, {self.where} would have {self.would_be} {self.noun},"
            f" and {allowed}"
        )


def over(
    policies: Policies, usage: Usage, topic: str, namespace: str, *, topics: int, partitions: int
) -> list[Violation]:
    """The limits that would be exceeded if so many more topics and partitions came to a namespace.

    ``topic`` is whose they are, in messages; ``org:`` is the namespace ``org``. A limit on what
    does not become more is not asked, so where a limit was lowered below what there is, topics can
    still be changed.
    """
    return [
        violation(placed, limit.rule, limit.sentence(topic), limit.would_be, limit.most)
        for placed in policies.of(namespace)
        for limit in _limits(placed, usage, namespace, topics, partitions)
        if limit.would_be > limit.most
    ]


def nearly_over(
    policies: Policies, usage: Usage, topic: str, namespace: str, *, topics: int, partitions: int
) -> list[Violation]:
    """The limits that hold, and of which less than 20 % would be left."""
    return [
        near_miss(placed, limit.rule, topic, limit.would_be, limit.most)
        for placed in policies.of(namespace)
        for limit in _limits(placed, usage, namespace, topics, partitions)
        if limit.would_be <= limit.most and is_near(limit.would_be, limit.most)
    ]


def _limits(
    placed: Placed, usage: Usage, namespace: str, topics: int, partitions: int
) -> Iterator[_Limit]:
    """Those of a block on what becomes more."""
    block, path = placed.block, placed.namespace
    here = f"namespace '{namespace}'" if namespace else "the default namespace"
    if block.max_topics is not None and topics > 0:
        there = usage.topics(namespace)
        yield _Limit("max_topics", block.max_topics, there + topics, "topics", here)
    if block.max_partitions is not None and partitions > 0:
        there = usage.partitions(namespace)
        yield _Limit("max_partitions", block.max_partitions, there + partitions, "partitions", here)
    tree = "all namespaces together"
    if path is not None:
        tree = f"namespace '{path}' and all below it" if path else here
    if block.max_topics_in_tree is not None and topics > 0:
        # Nothing is below the default namespace, though every path is below the empty one.
        there = usage.topics("") if path == "" else usage.tree_topics(path)
        most = block.max_topics_in_tree
        yield _Limit("max_topics_in_tree", most, there + topics, "topics", tree)
    if block.max_partitions_in_tree is not None and partitions > 0:
        there = usage.partitions("") if path == "" else usage.tree_partitions(path)
        most = block.max_partitions_in_tree
        yield _Limit("max_partitions_in_tree", most, there + partitions, "partitions", tree)
