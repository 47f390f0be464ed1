"""Which policies apply where: blocks of the configuration, inherited down the tree of namespaces.

All blocks from the outermost on have to allow what is asked for, so nobody loosens a limit further
in. Only the producer guarantee is the innermost's.
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
    """A block and where it is set: ``source`` is its place in the configuration, ``setter`` what
    messages say of it; ``namespace`` is the path it is set for, None for one that is not set for a
    namespace of its own (everywhere); ``""`` is the default namespace."""

    source: str
    setter: str
    namespace: str | None
    block: PolicyBlock


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What producers are held to, and where each half was set."""

    acks: AcksGuarantee
    idempotence: IdempotenceGuarantee
    acks_source: str = BUILT_IN
    idempotence_source: str = BUILT_IN

    @property
    def flags(self) -> int:
        """For the hot path: those of all topics of a request are or-ed together."""
        acks = {"observe": 0, "upgrade": UPGRADE_ACKS, "require": REQUIRE_ACKS}[self.acks]
        return acks | (REQUIRE_IDEMPOTENCE if self.idempotence == "require" else 0)


class Policies:
    """The policies of one configuration. ``counts`` says whether any limits a number of topics or
    partitions, ``judges`` whether any has a say in topics at all."""

    def __init__(self, settings: PolicySettings | None = None) -> None:
        self.settings = PolicySettings() if settings is None else settings
        blocks = [self.settings.everywhere, self.settings.default_namespace]
        blocks += self.settings.namespaces.values()
        self.judges = any(block.judges_topics() for block in blocks)
        self.counts = any(block.counts_topics() for block in blocks)
        self._placed: dict[str, tuple[Placed, ...]] = {}
        self._guarantees: dict[str, Guarantee] = {}

    def of(self, namespace: str) -> tuple[Placed, ...]:
        """The blocks that have a say in the topics of a namespace, outermost first."""
        found = self._placed.get(namespace)
        if found is None:
            found = tuple(one for one in self._all(namespace) if one.block.judges_topics())
            if len(self._placed) >= CACHE_LIMIT:
                self._placed.clear()
            self._placed[namespace] = found
        return found

    def judge(self, namespace: str) -> bool:
        """Whether any policy has a say in the topics of a namespace."""
        return self.judges and bool(self.of(namespace))

    def guarantee(self, namespace: str) -> Guarantee:
        """What the producers of a namespace are held to: the innermost block that says so."""
        found = self._guarantees.get(namespace)
        if found is None:
            if len(self._guarantees) >= CACHE_LIMIT:
                self._guarantees.clear()
            found = self._guarantees[namespace] = self._guarantee(namespace)
        return found

    def _all(self, namespace: str) -> list[Placed]:
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
        for one in self._all(namespace):
            said = one.block.producer
            if said.acks is not None:
                acks, acks_source = said.acks, one.source
            if said.idempotence is not None:
                idempotence, idempotence_source = said.idempotence, one.source
        return Guarantee(acks, idempotence, acks_source, idempotence_source)


NO_POLICIES: Final = Policies()
