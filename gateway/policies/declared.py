"""The rules that a block of the configuration declares, asked about one topic.

Pure functions of what is asked for. How many topics there may be is the business of ``limits``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gateway.config.policies import Range, compiled_pattern
from gateway.names import DELIMITER
from gateway.policies.config_rules import config_findings
from gateway.policies.interface import RequestMetadata
from gateway.policies.limits import measures
from gateway.policies.tree import Placed
from gateway.policies.violation import (
    Finding,
    Violation,
    allowance,
    broken_bound,
    near_miss,
    shown_name,
    violation,
)


def violations(placed: Placed, metadata: RequestMetadata) -> list[Violation]:
    """Everything that a topic violates of the declared rules of one block.

    Of a namespace (``metadata.topic`` ends in ``:``) only the rules on configs are asked. Classes
    and counted limits are not looked at.
    """
    subject = shown_name(metadata.topic)
    subject = subject[0].upper() + subject[1:]
    found = list(_findings(placed, metadata))
    if not found:
        return []
    numbers: dict[str, tuple[int | None, int]] = {}
    for one in measures(placed.block, metadata):
        if one.broken:
            numbers.setdefault(one.rule, (one.value, one.limit))
    return [
        violation(placed, rule, f"{subject} {clause}", *numbers.get(rule, (None, None)))
        for rule, clause in found
    ]


def near_misses(
    placed: Placed, metadata: RequestMetadata, changed: Collection[str] | None = None
) -> list[Violation]:
    """What is allowed by one block, within 20 % of a limit; of an alteration of configs only what
    it has ``changed``."""
    return [
        near_miss(placed, rule, metadata.topic, value, limit)
        for rule, value, limit in dict.fromkeys(
            (one.rule, one.value, one.limit)
            for one in measures(placed.block, metadata)
            if one.near and (changed is None or one.rule.rpartition(".")[0] in changed)
        )
        if value is not None
    ]


def _findings(placed: Placed, metadata: RequestMetadata) -> Iterator[Finding]:
    block = placed.block
    if not metadata.topic.endswith(DELIMITER):
        if block.name_pattern is not None:
            yield from _name(block.name_pattern, metadata)
        if block.partitions is not None:
            yield from _partitions(block.partitions, metadata)
        if block.replication_factor is not None:
            yield from _replication_factor(block.replication_factor, metadata)
    yield from config_findings(block, metadata)


def _name(pattern: str, metadata: RequestMetadata) -> Iterator[Finding]:
    name = metadata.topic.rpartition(DELIMITER)[2]
    if compiled_pattern(pattern).fullmatch(name) is None:
        yield "name_pattern", f"has the name '{name}', and a name has to match {pattern} here"


def _partitions(allowed: Range, metadata: RequestMetadata) -> Iterator[Finding]:
    count = metadata.partitions
    if count is None:
        limit = allowance(allowed, countable=True)
        yield "partitions", f"has an unknown number of partitions, and {limit} here"
        return
    bound = broken_bound(allowed, count)
    if bound is not None:
        noun = "partition" if count == 1 else "partitions"
        limit = allowance(allowed, bound, countable=True)
        yield f"partitions.{bound}", f"has {count} {noun}, and {limit} here"


def _replication_factor(allowed: Range, metadata: RequestMetadata) -> Iterator[Finding]:
    """The first partition that is outside is told: one is enough to correct them all."""
    assignments = metadata.replicas_assignments
    if assignments is None:
        factors = {"": metadata.replication_factor}
    else:
        factors = {
            f" in partition {partition}": len(brokers)
            for partition, brokers in sorted(assignments.items())
        }
    for where, factor in factors.items():
        if factor is None:
            clause = f"has an unknown replication factor, and {allowance(allowed)} here"
            yield "replication_factor", clause
            return
        bound = broken_bound(allowed, factor)
        if bound is not None:
            clause = f"has replication factor {factor}{where}, and {allowance(allowed, bound)} here"
            yield f"replication_factor.{bound}", clause
            return
