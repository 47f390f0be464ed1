"""Policies by namespace: blocks of the configuration, inherited down the tree of namespaces.

All blocks from the outermost on have to allow a request, so an inner block cannot loosen a limit.
For the producer guarantee the innermost block counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.config.policies import AcksGuarantee, IdempotenceGuarantee, PolicyBlock, PolicySettings
from gateway.names import parents

EVERYWHERE: Final = "policies.everywhere"
DEFAULT_NAMESPACE: Final = "policies.default_namespace"
BUILT_IN: Final = "the default"

UPGRADE_ACKS: Final = 1
REQUIRE_ACKS: Final = 2
REQUIRE_IDEMPOTENCE: Final = 4

CACHE_LIMIT: Final = 100_000


@dataclass(frozen=True, slots=True)
class Placed:
    """A block and the place where it is set."""

    source: str
    """Its place in the configuration."""
    setter: str
    """The same for messages."""
    namespace: str | None
    """Its path; None for ``everywhere``, ``""`` for the default namespace."""
    block: PolicyBlock


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The acks and idempotence that producers have to use, and where each was set."""

    acks: AcksGuarantee
    idempotence: IdempotenceGuarantee
    acks_source: str = BUILT_IN
    idempotence_source: str = BUILT_IN

    @property
    def flags(self) -> int:
        """The guarantee as bits; the hot path or-s the bits of a request's topics together."""
        acks = {"observe": 0, "upgrade": UPGRADE_ACKS, "require": REQUIRE_ACKS}[self.acks]
        return acks | (REQUIRE_IDEMPOTENCE if self.idempotence == "require" else 0)


class Policies:
    """The policies of one configuration. ``counts``: whether any policy limits the number of topics
    or partitions. ``judges``: whether topics are subject to any policy."""

    def __init__(self, settings: PolicySettings | None = None) -> None:
        self.settings = PolicySettings() if settings is None else settings
        blocks = [self.settings.everywhere, self.settings.default_namespace]
        blocks += self.settings.namespaces.values()
        self.judges = any(block.judges_topics() for block in blocks)
        self.counts = any(block.counts_topics() for block in blocks)
        self._placed: dict[str, tuple[Placed, ...]] = {}
        self._guarantees: dict[str, Guarantee] = {}

    def of(self, namespace: str) -> tuple[Placed, ...]:
        """The blocks to which the topics of a namespace are subject, outermost first."""
        found = self._placed.get(namespace)
        if found is None:
            if len(self._placed) >= CACHE_LIMIT:
                self._placed.clear()
            judging = (one for one in self.blocks(namespace) if one.block.judges_topics())
            found = self._placed[namespace] = tuple(judging)
        return found

    def guarantee(self, namespace: str) -> Guarantee:
        """The guarantee of a namespace: each half from the innermost block that sets it."""
        found = self._guarantees.get(namespace)
        if found is None:
            if len(self._guarantees) >= CACHE_LIMIT:
                self._guarantees.clear()
            found = self._guarantees[namespace] = self._guarantee(namespace)
        return found

    def blocks(self, namespace: str) -> list[Placed]:
        """All blocks that apply in a namespace, outermost first, whatever they set."""
        settings = self.settings
        placed = [Placed(EVERYWHERE, "set for every namespace", None, settings.everywhere)]
        if not namespace:
            block = settings.default_namespace
            placed.append(Placed(DEFAULT_NAMESPACE, "set for the default namespace", "", block))
        for tier in parents(namespace):
            found = settings.namespaces.get(tier)
            if found is not None:
                source = f"policies.namespaces.{tier}"
                placed.append(Placed(source, f"set by namespace '{tier}'", tier, found))
        return placed

    def _guarantee(self, namespace: str) -> Guarantee:
        acks: AcksGuarantee = "upgrade" if namespace else "observe"
        idempotence: IdempotenceGuarantee = "observe"
        acks_source = idempotence_source = BUILT_IN
        for one in self.blocks(namespace):
            block = one.block.producer
            if block.acks is not None:
                acks, acks_source = block.acks, one.source
            if block.idempotence is not None:
                idempotence, idempotence_source = block.idempotence, one.source
        return Guarantee(acks, idempotence, acks_source, idempotence_source)


NO_POLICIES: Final = Policies()
