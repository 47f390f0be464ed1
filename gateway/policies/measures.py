"""Numbers that the declared rules limit, and how near they are to their limits.

The traffic log tells them with violations, and tells of what was allowed but near a limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from gateway.config.policies import PolicyBlock, Range
from gateway.names import DELIMITER
from gateway.policies.config_rules import number
from gateway.policies.interface import RequestMetadata

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
