"""The rules that a block of the configuration declares, applied to one topic or namespace.

Pure functions. The judge applies the counted limits, on the number of topics and partitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeVar

from gateway.config.policies import (
    UNLIMITED,
    UNLIMITED_KEYS,
    ConfigRules,
    PolicyBlock,
    Range,
    compiled_pattern,
)
from gateway.names import DELIMITER
from gateway.policies.interface import RequestMetadata
from gateway.policies.mirror_topics import config_rules, is_made_by_mirror_maker
from gateway.policies.tree import Placed
from gateway.policies.violation import (
    Finding,
    Violation,
    allowance,
    broken_bound,
    cut,
    ends,
    is_near,
    listed,
    near_miss,
    shown_name,
    violation,
)

SAME_AS: Final = {
    "local.retention.ms": "retention.ms",
    "local.retention.bytes": "retention.bytes",
}
"""Configs (KIP-405) for which :data:`AS_THE_OTHER` stands for the value of another config."""

AS_THE_OTHER: Final = -2

_Value = TypeVar("_Value")

_NUMBER: Final = re.compile(
    r"[+-]?[0-9]{1,40}(?P<fraction>\.[0-9]{0,40})?(?P<power>[eE][+-]?[0-9]{1,4})?"
)

_ABOUT_SEVERAL: Final = frozenset({"configs.allowed", "configs.forbidden"})
"""Rules whose violation names all configs that do not satisfy the rule."""

_MAX_LONG: Final = (1 << 63) - 1


def violations(placed: Placed, metadata: RequestMetadata) -> list[Violation]:
    """Every violation of the declared rules of one block by a topic. For a namespace
    (``metadata.topic`` ends in ``:``) only the rules on configs count."""
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
    """The values that one block allows, within 20 % of a limit. For an alteration of configs, only
    the values that it has ``changed``."""
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


def name_violations(placed: Placed, subject: str, name: str) -> list[Violation]:
    """The violation of one block's ``name_pattern`` by a name that is not a topic's own, but a
    link's."""
    pattern = placed.block.name_pattern
    found = () if pattern is None else _unlike(pattern, name)
    return [violation(placed, rule, f"{subject} {clause}") for rule, clause in found]


def _name(pattern: str, metadata: RequestMetadata) -> Iterator[Finding]:
    name = metadata.topic.rpartition(DELIMITER)[2]
    if not is_made_by_mirror_maker(name):
        yield from _unlike(pattern, name)


def _unlike(pattern: str, name: str) -> Iterator[Finding]:
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
    """Reports only the first partition outside the range, which is enough to correct all
    partitions."""
    assignments = metadata.replicas_assignments
    factors = {"": metadata.replication_factor}
    if assignments is not None:
        factors = {f" in partition {each}": len(assignments[each]) for each in sorted(assignments)}
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


@dataclass(frozen=True, slots=True)
class Alteration:
    """An alteration of configs: the topic, or namespace, as it is ``before``, and the keys whose
    own value is ``changed``."""

    before: RequestMetadata
    changed: Collection[str]


def caused(placed: Placed, after: RequestMetadata, alteration: Alteration) -> list[Violation]:
    """The violations of one block's declared rules that an alteration causes: violations that did
    not exist before, or that are about a changed key.

    A topic may violate a rule because the rule was set, or enforced, later. Other configs of such a
    topic can still be changed, so it can be repaired step by step.
    """
    found = violations(placed, after)
    if not found:
        return found
    before = violations(placed, alteration.before)
    rules_before = {one.rule for one in before}
    changed = replace(
        after,
        configs=_chosen(after.configs, alteration.changed),
        effective_configs=_chosen(after.effective_configs, alteration.changed),
    )
    touched = {one.rule for one in violations(placed, changed)}

    def is_older(one: Violation) -> bool:
        if one.rule in _ABOUT_SEVERAL:
            return one.rule in rules_before and one.rule not in touched
        about_changed = one.rule.removesuffix(".min").removesuffix(".max") in alteration.changed
        return one in before and not about_changed

    return [one for one in found if not is_older(one)]


def _chosen(configs: Mapping[str, _Value], keys: Collection[str]) -> dict[str, _Value]:
    return {key: value for key, value in configs.items() if key in keys}


class Measure(NamedTuple):
    """A number and one end of its range. ``value`` is None if it is not a whole number of 64 bits,
    such as an unlimited retention."""

    rule: str
    value: int | None
    limit: int
    broken: bool

    @property
    def near(self) -> bool:
        """Whether the number is allowed, and within 20 % of the limit."""
        return not self.broken and self.value is not None and is_near(self.value, self.limit)


def measures(block: PolicyBlock, metadata: RequestMetadata) -> Iterator[Measure]:
    """All known numbers of a topic, or of a namespace, that a block limits."""
    is_namespace = metadata.topic.endswith(DELIMITER)
    if not is_namespace:
        yield from _measured("partitions", block.partitions, metadata.partitions)
        assignments = metadata.replicas_assignments
        factors = [metadata.replication_factor]
        if assignments is not None:
            factors = [len(assignments[partition]) for partition in sorted(assignments)]
        for factor in factors:
            yield from _measured("replication_factor", block.replication_factor, factor)
    for key, allowed in block.ranges().items():
        text = metadata.configs.get(key)
        if not is_namespace and key in metadata.effective_configs:
            text = metadata.effective_configs[key]
        yield from _measured(key, allowed, None if text is None else number(key, text))


def _measured(name: str, allowed: Range | None, value: float | None) -> Iterator[Measure]:
    if value is None:
        return
    whole = not math.isinf(value) and value == int(value) and abs(value) <= _MAX_LONG
    shown = int(value) if whole else None
    for rule, limit in ends(name, allowed):
        broken = value < limit if rule.endswith(".min") else value > limit
        yield Measure(rule, shown, limit, broken)


def config_findings(block: PolicyBlock, metadata: RequestMetadata) -> Iterator[Finding]:
    """The rules on configs that a topic violates. For a namespace only the configs that it sets
    itself count: configs that it leaves open, and required configs, are checked for its topics."""
    is_namespace = metadata.topic.endswith(DELIMITER)
    for key, allowed in block.ranges().items():
        value = metadata.configs.get(key) if is_namespace else _value(metadata, key)
        if value is not None:
            yield from _range(key, allowed, value, metadata)
        elif not is_namespace:
            # The broker's default may be outside of the range.
            clause = f"does not set {key}, and the cluster does not tell its default"
            yield key, f"{clause}; {allowance(allowed)} here, so it has to be set"
    rules = config_rules(block.configs, metadata.topic.rpartition(DELIMITER)[2])
    if not is_namespace:
        yield from _required(rules.required, metadata.configs)
    yield from _settable(rules, metadata.configs)


def number(key: str, value: str) -> float | None:
    """The number in a config's value: infinity for a retention without limit, or None if the value
    is no number."""
    text = value.strip()
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match["fraction"] is not None or match["power"] is not None:
        return float(text)
    whole = int(text)  # exact, as a float would not be for the largest of Kafka's numbers
    return math.inf if key in UNLIMITED_KEYS and whole == UNLIMITED else whole


def _value(metadata: RequestMetadata, key: str) -> str | None:
    if key in metadata.effective_configs:
        return metadata.effective_configs[key]
    return metadata.configs.get(key)


def _range(key: str, allowed: Range, value: str, metadata: RequestMetadata) -> Iterator[Finding]:
    shown, found = key, number(key, value)
    if key in SAME_AS and found == AS_THE_OTHER:
        other = SAME_AS[key]
        same = _value(metadata, other)
        if same is None:
            # A config that a namespace leaves open is checked for its topics.
            if not metadata.topic.endswith(DELIMITER):
                clause = f"has {key}={AS_THE_OTHER}, which is what {other} is"
                clause += ", and the cluster does not tell that"
                yield key, f"{clause}; {allowance(allowed)} here"
            return
        shown, value, found = f"{key}={AS_THE_OTHER}, which is {other}", same, number(other, same)
    if found is None:
        yield key, f"has {shown}='{cut(value)}', which is no number, and {allowance(allowed)} here"
        return
    bound = broken_bound(allowed, found)
    if bound is not None:
        unlimited = " (no limit)" if found == math.inf else ""
        yield (
            f"{key}.{bound}",
            f"has {shown}={cut(value.strip())}{unlimited}, and {allowance(allowed, bound)} here",
        )


def _required(required: Mapping[str, str | None], configs: Mapping[str, str]) -> Iterator[Finding]:
    for key, wanted in required.items():
        found = configs.get(key)
        if found is None:
            to = "" if wanted is None else f" to '{cut(wanted)}'"
            yield "configs.required", f"does not set {key}, which has to be set{to} here"
        elif wanted is not None and found != wanted:
            clause = f"has {key}='{cut(found)}', and '{cut(wanted)}' is required here"
            yield "configs.required", clause


def _settable(rules: ConfigRules, configs: Mapping[str, str]) -> Iterator[Finding]:
    if rules.allowed is not None:
        others = sorted(set(configs).difference(rules.allowed))
        if others:
            only = f"only {listed(rules.allowed)}" if rules.allowed else "no config"
            yield "configs.allowed", f"sets {listed(others)}, and {only} may be set here"
    rejected = sorted(set(configs).intersection(rules.forbidden))
    if rejected:
        yield "configs.forbidden", f"sets {listed(rejected)}, which may not be set here"
