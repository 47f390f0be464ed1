"""The judge: what all policies together say of one topic, and of one more.

The one entry point of whoever changes topics. It knows which policies apply where, asks them, and
tells apart what refuses from what only warns.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from gateway.counts import DEFAULT_NAMESPACE, Labels, Row
from gateway.decision import Denied
from gateway.error_codes import POLICY_VIOLATION
from gateway.flows import PolicyEvent
from gateway.policies.declared import near_misses, violations
from gateway.policies.interface import RequestMetadata
from gateway.policies.limits import Usage, nearly_over, over
from gateway.policies.standing import Alteration, caused
from gateway.policies.tree import NO_POLICIES, Placed, Policies
from gateway.policies.violation import Violation, enforced

log = logging.getLogger(__name__)

POLICIES: Final = "policies"
"""The rule of every denial by policies."""

MAX_TOLD: Final = 10
"""Violations of one topic that a client is told."""

MAX_LOGGED: Final = 20
"""Violations that only warn which are logged between two collections, a second apart; all are
counted."""


MAX_EVENTS: Final = 10_000
"""Events for the traffic log kept between two collections (a second apart); more are counted as
dropped."""


class Classes(Protocol):
    """Whoever asks the classes (``create.topic.policy.class.name``)."""

    async def why_not(self, placed: Placed, metadata: RequestMetadata) -> Violation | None:
        """What the class of a block has against a topic. It never raises: a class that fails is a
        violation."""
        ...


class Judge:
    """Asks the policies of one process. ``policies`` are the present ones; a reload replaces them.

    ``classes`` may be left out where no block names a class.
    """

    def __init__(self, policies: Policies = NO_POLICIES, classes: Classes | None = None) -> None:
        self.policies = policies
        self._classes = classes
        self._counted: dict[Labels, int] = {}
        self._logged = 0
        self._events: list[PolicyEvent] = []
        self._dropped = 0

    def applies(self, namespace: str) -> bool:
        """Whether any policy has a say in the topics of a namespace."""
        return self.policies.judge(namespace)

    def counts(self, namespace: str) -> bool:
        """Whether any policy limits how many topics or partitions may come to a namespace."""
        policies = self.policies
        return policies.counts and any(
            placed.block.counts_topics() for placed in policies.of(namespace)
        )

    async def why_not(
        self,
        metadata: RequestMetadata,
        alteration: Alteration | None = None,
        *,
        classes: bool = True,
    ) -> Denied | None:
        """Why a topic may not be as it is asked for: all declared rules, then all classes, each
        from the outermost namespace on. The counted limits are not asked.

        Of an ``alteration`` of configs only what it causes is told of the declared rules; classes
        are asked about the result, unless ``classes`` is False.
        """
        blocks = self.policies.of(metadata.namespace)
        found = [one for placed in blocks for one in _declared(placed, metadata, alteration)]
        for placed in blocks:
            if classes and placed.block.class_name is not None:
                against = await self._ask_class(placed, metadata)
                if against is not None:
                    found.append(against)
        changed = None if alteration is None else alteration.changed
        for placed in blocks:
            found += near_misses(placed, metadata, changed)
        return self.verdict(metadata.namespace, metadata.principal, found, metadata.topic)

    def over_limit(
        self,
        usage: Usage,
        topic: str,
        namespace: str,
        *,
        topics: int,
        partitions: int,
        principal: str = "a client",
    ) -> Denied | None:
        """Why so many more topics and partitions may not come to a namespace.

        ``principal`` is who asks for them, for the log: in the catalog writer's turn nothing else
        tells it.
        """
        policies = self.policies
        if not policies.counts:
            return None
        found = over(policies, usage, topic, namespace, topics=topics, partitions=partitions)
        found += nearly_over(
            policies, usage, topic, namespace, topics=topics, partitions=partitions
        )
        return self.verdict(namespace, principal, found, topic)

    def take_counters(self) -> list[Row]:
        """Violations since the last call, by namespace, rule and mode, and how many events there
        was no room for."""
        counted, self._counted = self._counted, {}
        dropped, self._dropped = self._dropped, 0
        self._logged = 0
        rows: list[Row] = [("policy_violations", labels, n) for labels, n in counted.items()]
        return [*rows, ("policy_events_dropped", ("",), dropped)] if dropped else rows

    def take_events(self) -> Sequence[PolicyEvent]:
        """What was violated, or allowed near a limit, since the last call."""
        events, self._events = self._events, []
        return events

    async def _ask_class(self, placed: Placed, metadata: RequestMetadata) -> Violation | None:
        assert self._classes is not None, f"{placed.source} names a class, and nobody asks it"
        return await self._classes.why_not(placed, metadata)

    def verdict(
        self, namespace: str, principal: str, found: Sequence[Violation], topic: str
    ) -> Denied | None:
        """What is made of the violations of one topic, which are counted by it: why it is refused,
        unless all of them only warn."""
        messages = [one.message for one in enforced(found)]
        told_of = [one for one in found if not (messages and one.near)]
        self._tell(namespace, principal, topic, told_of)
        self._count(namespace, principal, [one for one in found if not one.near])
        if not messages:
            return None
        told = messages[:MAX_TOLD]
        if len(messages) > MAX_TOLD:
            told.append(f"{len(messages) - MAX_TOLD} more rules are violated.")
        return Denied(POLICY_VIOLATION, " ".join(told), POLICIES)

    def _tell(self, namespace: str, principal: str, topic: str, found: Iterable[Violation]) -> None:
        for one in found:
            if len(self._events) >= MAX_EVENTS:
                self._dropped += 1
                continue
            outcome = "near" if one.near else "refused" if one.refuses else "warned"
            what = one.rule, one.source, one.mode, outcome, one.message, one.value, one.limit
            self._events.append(PolicyEvent(principal, namespace, topic, *what))

    def _count(self, namespace: str, principal: str, found: Iterable[Violation]) -> None:
        for one in found:
            labels = (namespace or DEFAULT_NAMESPACE, one.rule, one.mode)
            self._counted[labels] = self._counted.get(labels, 0) + 1
            if one.mode == "warn" and self._logged < MAX_LOGGED:
                self._logged += 1
                log.warning("policies warn of what %s asks for: %s", principal, one.message)


def _declared(
    placed: Placed, metadata: RequestMetadata, alteration: Alteration | None
) -> list[Violation]:
    if alteration is None:
        return violations(placed, metadata)
    return caused(placed, metadata, alteration)


NO_JUDGE: Final = Judge()
"""Without policies everything is allowed."""
