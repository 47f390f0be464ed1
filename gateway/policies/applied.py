"""The rules that apply to the topics of a namespace, as rows; see ``applied_text`` for the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.config.policies import CATALOG_LIMITS, PolicyBlock
from gateway.policies.applied_text import AppliedRule
from gateway.policies.instance import KEY
from gateway.policies.tree import BUILT_IN, Policies
from gateway.policies.violation import ends

ACKS: Final = "producer.acks"
IDEMPOTENCE: Final = "producer.idempotence"

MIN_ISR: Final = "min.insync.replicas"
HOLLOW_BELOW: Final = 2
"""With a lower ``min.insync.replicas`` a broker acknowledges acks=all when the leader alone has a
record."""

NOTHING: Final = "nothing"
"""The limit shown for ``configs.allowed`` if it is an empty list."""

_COUNTED: Final = (
    "max_topics",
    "max_partitions",
    "max_topics_in_tree",
    "max_partitions_in_tree",
    *CATALOG_LIMITS,
)


def applied_rules(policies: Policies, namespace: str) -> list[AppliedRule]:
    """Every rule that applies in a namespace (``""``: the default one): the rules of its blocks,
    the outermost first, then the producer guarantee, which always applies. The defaults of
    ``catalog_limits`` are left out, because they do not limit topics."""
    found = [
        AppliedRule(rule, limit, placed.block.mode, placed.source)
        for placed in policies.blocks(namespace)
        for rule, limit in _rules(placed.block)
    ]
    held = policies.guarantee(namespace)
    found.append(AppliedRule(ACKS, held.acks, None, held.acks_source))
    found.append(AppliedRule(IDEMPOTENCE, held.idempotence, None, held.idempotence_source))
    return found


def is_hollow(policies: Policies, namespace: str, replicas: str) -> bool:
    """Whether a topic's ``min.insync.replicas`` is so low that acks=all, which producers of its
    namespace have to use, has no effect."""
    held = policies.guarantee(namespace).acks != "observe"
    return held and replicas.isdigit() and int(replicas) < HOLLOW_BELOW


def anything_set(found: list[AppliedRule]) -> bool:
    """Whether the configuration sets any of the rules; all other rules are defaults."""
    return any(rule.source != BUILT_IN for rule in found)


def _rules(block: PolicyBlock) -> Iterator[tuple[str, str]]:
    """Rules and limits, in the order of docs/policies.md; the class, which is run last, comes
    last."""
    declared = {"partitions": block.partitions, "replication_factor": block.replication_factor}
    for key, allowed in (declared | block.ranges()).items():
        yield from ((rule, str(limit)) for rule, limit in ends(key, allowed))
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
