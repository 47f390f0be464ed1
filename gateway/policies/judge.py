"""The judge: the verdict of all policies together on one topic.

Everything that changes topics calls the judge. It knows which policies apply in which namespace,
and separates violations that reject from violations that only warn. The counted limits are decided
while the catalog's writer decides, when no other decision is in progress. So of many simultaneous
creations exactly as many succeed as the limits allow.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeAlias

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
from gateway.policies.limits import Counts, nearly_over, over
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


AsksClass: TypeAlias = Callable[[Placed, RequestMetadata], Awaitable[Violation | None]]
"""Returns the violation that the class of a block finds (``PolicyRunner.why_not``). Never raises,
because a class that fails is a violation."""


class Judge:
    """Applies the policies of one process. A reload replaces ``policies``. ``ask_class`` may be
    left out if no block names a class."""

    def __init__(
        self, policies: Policies = NO_POLICIES, ask_class: AsksClass | None = None
    ) -> None:
        self.policies = policies
        self._ask_class = ask_class
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

        For an ``alteration`` of configs only violations of declared rules that it causes count;
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
                assert self._ask_class is not None, f"{placed.source} names a class"
                against = await self._ask_class(placed, metadata)
                if against is not None:
                    found.append(against)
        changed = None if alteration is None else alteration.changed
        for placed in blocks:
            found += near_misses(placed, metadata, changed)
        return self.verdict(metadata.namespace, metadata.principal, found, metadata.topic)

    def name_denial(self, namespace: str, subject: str, name: str, principal: str) -> Denied | None:
        """Why a link, or another name that is not a topic's own, may not have this ``name`` in a
        namespace. ``name`` is without the namespace. ``subject`` names the thing in messages:
        ``Link 'org:x'``."""
        found = [
            one
            for placed in self.policies.of(namespace)
            for one in name_violations(placed, subject, name)
        ]
        return self.verdict(namespace, principal, found, f"{namespace}:{name}".lstrip(":"))

    def over_limit(
        self,
        usage: Counts,
        more: Counts,
        topic: str,
        namespace: str,
        *,
        principal: str = "a client",
    ) -> Denied | None:
        """Why a namespace may not have ``more`` topics and partitions.

        ``principal`` requests them. It is passed for the log, because the catalog's writer does not
        know it.
        """
        policies = self.policies
        if not policies.counts:
            return None
        found = over(policies, usage, more, topic, namespace)
        found += nearly_over(policies, usage, more, topic, namespace)
        return self.verdict(namespace, principal, found, topic)

    def take_counters(self) -> list[Row]:
        """Violations since the last call, by namespace, rule and mode, and the number of dropped
        events."""
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
        """Count and report the violations of one topic. Returns the denial, or None if all only
        warn."""
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
