"""The counted limits: how many topics and partitions a namespace, or a whole tree, may have.

They are asked in the catalog writer's turn, where no other decision is under way, so of many
creations at the same time no one too many is allowed. Pure and quick.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from gateway.config.policies import PolicyBlock, Range
from gateway.names import DELIMITER
from gateway.policies.config_rules import number
from gateway.policies.interface import RequestMetadata
from gateway.policies.tree import Placed, Policies
from gateway.policies.violation import Violation, allowance, near_miss, shown_name, violation


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


_MAX_LONG: Final = (1 << 63) - 1


class Measure(NamedTuple):
    """One end of a range that a number is held to. ``value`` is None where it is no whole number of
    64 bits, as where a retention has no limit."""

    rule: str
    value: int | None
    limit: int
    broken: bool

    @property
    def near(self) -> bool:
        """Whether the number is allowed, and within 20 % of the limit."""
        return not self.broken and self.value is not None and is_near(self.value, self.limit)


def is_near(value: int, limit: int) -> bool:
    """Whether a number is within 20 % of a limit, on whichever side; nothing is near to 0."""
    return limit != 0 and abs(limit - value) * 5 <= abs(limit)


def measures(block: PolicyBlock, metadata: RequestMetadata) -> Iterator[Measure]:
    """All numbers of a topic, or of a namespace, that a block limits and that are known."""
    is_namespace = metadata.topic.endswith(DELIMITER)
    if not is_namespace:
        yield from _ends("partitions", block.partitions, metadata.partitions)
        assignments = metadata.replicas_assignments
        factors = [metadata.replication_factor]
        if assignments is not None:
            factors = [len(assignments[partition]) for partition in sorted(assignments)]
        for factor in factors:
            yield from _ends("replication_factor", block.replication_factor, factor)
    for key, allowed in block.ranges().items():
        text = metadata.configs.get(key)
        if not is_namespace and key in metadata.effective_configs:
            text = metadata.effective_configs[key]
        yield from _ends(key, allowed, None if text is None else number(key, text))


def _ends(name: str, allowed: Range | None, value: float | None) -> Iterator[Measure]:
    if allowed is None or value is None:
        return
    whole = not math.isinf(value) and value == int(value) and abs(value) <= _MAX_LONG
    shown = int(value) if whole else None
    if allowed.min is not None:
        yield Measure(f"{name}.min", shown, allowed.min, value < allowed.min)
    if allowed.max is not None:
        yield Measure(f"{name}.max", shown, allowed.max, value > allowed.max)
