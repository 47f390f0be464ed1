"""The judge: the verdict of all policies together on one topic.

It is the one entry point of everything that changes topics: it knows which policies apply where,
and separates violations that reject from those that only warn. The counted limits are decided in
the catalog writer's turn, where no other decision is under way, so that of many creations at the
same time exactly as many succeed as are allowed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from gateway.counts import DEFAULT_NAMESPACE, Labels, Row
from gateway.decision import Denied
from gateway.error_codes import POLICY_VIOLATION
from gateway.flows import PolicyEvent
from gateway.policies.declared import (
    Alteration,
    caused,
    name_violations,
    near_misses,
    violations,
)
from gateway.policies.interface import RequestMetadata
from gateway.policies.limits import Usage, nearly_over, over
from gateway.policies.tree import NO_POLICIES, Placed, Policies
from gateway.policies.violation import Violation, enforced

log = logging.getLogger(__name__)

VIOLATIONS: Final = "policy_violations"
"""The family of the counts of violations."""

POLICIES: Final = "policies"
"""The rule of every denial by policies."""

MAX_NAMED: Final = 10
"""Violations of one topic that a response names."""

MAX_LOGGED: Final = 20
"""Warnings logged between two collections, a second apart; all are counted."""

MAX_EVENTS: Final = 10_000
"""Events for the traffic log kept between two collections (a second apart); more are counted as
dropped."""


class Classes(Protocol):
    """Runs policy classes. ``why_not``: the violation that the class of a block finds; it never
    raises, as a class that fails is a violation."""

    async def why_not(self, placed: Placed, metadata: RequestMetadata) -> Violation | None: ...


class Judge:
    """Applies the policies of one process. A reload replaces ``policies``; ``classes`` may be left
    out if no block names a class."""

    def __init__(self, policies: Policies = NO_POLICIES, classes: Classes | None = None) -> None:
        self.policies = policies
        self._classes = classes
        self._counted: dict[Labels, int] = {}
        self._logged = 0
        self._events: list[PolicyEvent] = []
        self._dropped = 0

    def applies(self, namespace: str) -> bool:
        """Whether the topics of a namespace are subject to any policy."""
        return self.policies.judges and bool(self.policies.of(namespace))

    def counts(self, namespace: str) -> bool:
        """Whether any policy limits the number of topics or partitions of a namespace."""
        blocks = self.policies.of(namespace) if self.policies.counts else ()
        return any(placed.block.counts_topics() for placed in blocks)

    async def why_not(
        self,
        metadata: RequestMetadata,
        alteration: Alteration | None = None,
        *,
        classes: bool = True,
    ) -> Denied | None:
        """Why a topic is rejected: by all declared rules, then by all classes, each from the
        outermost namespace on. Counted limits are not checked.

        For an ``alteration`` of configs the declared rules count only violations that it causes;
        classes validate the result, unless ``classes`` is False.
        """
        blocks = self.policies.of(metadata.namespace)
        found: list[Violation] = []
        for placed in blocks:
            if alteration is None:
                found += violations(placed, metadata)
            else:
                found += caused(placed, metadata, alteration)
        for placed in blocks:
            if classes and placed.block.class_name is not None:
                assert self._classes is not None, f"{placed.source} names a class"
                against = await self._classes.why_not(placed, metadata)
                if against is not None:
                    found.append(against)
        changed = None if alteration is None else alteration.changed
        for placed in blocks:
            found += near_misses(placed, metadata, changed)
        return self.verdict(metadata.namespace, metadata.principal, found, metadata.topic)

    def name_denial(self, namespace: str, subject: str, name: str, principal: str) -> Denied | None:
        """Why nothing in a namespace may have this ``name``, which goes without the namespace; for
        a name that is no topic's own. ``subject`` is what has it: ``Link 'org:x'``."""
        found = [
            one
            for placed in self.policies.of(namespace)
            for one in name_violations(placed, subject, name)
        ]
        return self.verdict(namespace, principal, found, f"{namespace}:{name}".lstrip(":"))

    def over_limit(
        self,
        usage: Usage,
        more: Usage,
        topic: str,
        namespace: str,
        *,
        principal: str = "a client",
    ) -> Denied | None:
        """Why a namespace may not have so many ``more`` topics and partitions.

        ``principal`` requests them; it is passed for the log, as the catalog writer does not know
        it.
        """
        policies = self.policies
        if not policies.counts:
            return None
        found = over(policies, usage, more, topic, namespace)
        found += nearly_over(policies, usage, more, topic, namespace)
        return self.verdict(namespace, principal, found, topic)

    def take_counters(self) -> list[Row]:
        """Violations since the last call, by namespace, rule and mode, and the events dropped."""
        counted, self._counted = self._counted, {}
        dropped, self._dropped = self._dropped, 0
        self._logged = 0
        rows: list[Row] = [(VIOLATIONS, labels, n) for labels, n in counted.items()]
        return [*rows, ("policy_events_dropped", ("",), dropped)] if dropped else rows

    def take_events(self) -> Sequence[PolicyEvent]:
        """The violations and near misses since the last call."""
        events, self._events = self._events, []
        return events

    def verdict(
        self, namespace: str, principal: str, found: Sequence[Violation], topic: str
    ) -> Denied | None:
        """Count and report the violations of one topic; the denial, unless all only warn."""
        messages = [one.message for one in enforced(found)]
        reported = [one for one in found if not (messages and one.near)]
        self._report(namespace, principal, topic, reported)
        self._count(namespace, principal, [one for one in found if not one.near])
        if not messages:
            return None
        named = messages[:MAX_NAMED]
        if len(messages) > MAX_NAMED:
            named.append(f"{len(messages) - MAX_NAMED} more rules are violated.")
        return Denied(POLICY_VIOLATION, " ".join(named), POLICIES)

    def _report(
        self, namespace: str, principal: str, topic: str, found: Iterable[Violation]
    ) -> None:
        for one in found:
            if len(self._events) >= MAX_EVENTS:
                self._dropped += 1
                continue
            outcome = "near" if one.near else "refused" if one.rejects else "warned"
            what = one.rule, one.source, one.mode, outcome, one.message, one.value, one.limit
            self._events.append(PolicyEvent(principal, namespace, topic, *what))

    def _count(self, namespace: str, principal: str, found: Iterable[Violation]) -> None:
        for one in found:
            labels = (namespace or DEFAULT_NAMESPACE, one.rule, one.mode)
            self._counted[labels] = self._counted.get(labels, 0) + 1
            if one.mode == "warn" and self._logged < MAX_LOGGED:
                self._logged += 1
                log.warning("policies warn of what %s asks for: %s", principal, one.message)


NO_JUDGE: Final = Judge()
"""The judge without policies: it allows everything."""
