"""What applies to the topics of a namespace, in rows that people and programs are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gateway.config.policies import Mode, PolicyBlock, Range
from gateway.policies.instance import KEY
from gateway.policies.tree import BUILT_IN, Placed, Policies

ACKS: Final = "producer.acks"
IDEMPOTENCE: Final = "producer.idempotence"

MIN_ISR: Final = "min.insync.replicas"
HOLLOW_BELOW: Final = 2
"""With fewer replicas in sync than that a broker answers acks=all where the leader alone has a
record."""

NOTHING: Final = "nothing"
"""What ``configs.allowed`` says where it is an empty list."""

_COUNTED: Final = (
    "max_topics",
    "max_partitions",
    "max_topics_in_tree",
    "max_partitions_in_tree",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A rule that applies, by the name that violations have for it, or a class
    (``create.topic.policy.class.name``), or half of the producer guarantee.

    ``mode`` is that of the rule's block; None: the producer guarantee has none. ``source`` is the
    place in the configuration, or "the default".
    """

    rule: str
    limit: str
    mode: Mode | None
    source: str


def rows(policies: Policies, namespace: str) -> list[Row]:
    """Everything that applies in a namespace (``""``: the default one): its blocks from the
    outermost one on, then the producer guarantee, which always is something."""
    found = [row for placed in policies.of(namespace) for row in _of_block(placed)]
    guarantee = policies.guarantee(namespace)
    found.append(Row(ACKS, guarantee.acks, None, guarantee.acks_source))
    found.append(Row(IDEMPOTENCE, guarantee.idempotence, None, guarantee.idempotence_source))
    return found


def is_hollow(policies: Policies, namespace: str, replicas: str) -> bool:
    """Whether producers of a namespace are held to acks=all, and a topic in it with so many
    ``min.insync.replicas`` makes little of that."""
    held = policies.guarantee(namespace).acks != "observe"
    return held and replicas.isdigit() and int(replicas) < HOLLOW_BELOW


def anything_set(found: list[Row]) -> bool:
    """Whether the configuration has set any of it; what else there is are the defaults."""
    return any(row.source != BUILT_IN for row in found)


def _of_block(placed: Placed) -> Iterator[Row]:
    for rule, limit in _rules(placed.block):
        yield Row(rule, limit, placed.block.mode, placed.source)


def _rules(block: PolicyBlock) -> Iterator[tuple[str, str]]:
    """Rules and limits, in the order of docs/policies.md; the class, which is asked last, last."""
    yield from _ends("partitions", block.partitions)
    yield from _ends("replication_factor", block.replication_factor)
    for key, allowed in block.ranges().items():
        yield from _ends(key, allowed)
    for key, value in block.configs.required.items():
        yield "configs.required", key if value is None else f"{key}={value}"
    if block.configs.allowed is not None:
        yield "configs.allowed", ", ".join(block.configs.allowed) or NOTHING
    if block.configs.forbidden:
        yield "configs.forbidden", ", ".join(block.configs.forbidden)
    if block.name_pattern is not None:
        yield "name_pattern", block.name_pattern
    for rule in _COUNTED:
        limit = getattr(block, rule)
        if limit is not None:
            yield rule, str(limit)
    if block.class_name is not None:
        yield KEY, block.class_name


def _ends(rule: str, allowed: Range | None) -> Iterator[tuple[str, str]]:
    if allowed is None:
        return
    if allowed.min is not None:
        yield f"{rule}.min", str(allowed.min)
    if allowed.max is not None:
        yield f"{rule}.max", str(allowed.max)
