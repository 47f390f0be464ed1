"""The latest denials and failed logins of a worker, kept for operators who open the page because of
them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.audit.event import AuthenticationFailure
from gateway.flows import Denial, PolicyEvent
from gateway.page.observed import Item, cut
from gateway.places import Place
from gateway.policies.judge import POLICIES
from gateway.traffic.rows import host_of
from protocol.schema import api_name, error_name

KEPT: Final = 20
"""Different denials that are kept; denials that clients repeat are counted."""

_IN_A_SECOND: Final = 200
"""The last denials of a report that are looked at: a flood must not cost more."""


@dataclass(slots=True)
class _Kept:
    """A denial, its count, and the time of the last (ms since 1970). ``events`` are the violations
    of policies that caused it, the latest :data:`KEPT`."""

    what: Denial | PolicyEvent
    count: int = 0
    last: int = 0
    events: list[PolicyEvent] = field(default_factory=list)


class RecentDenials:
    """Different denials by ACLs, rules and policies, with their counts and last times.

    A violation of a policy is reported twice, by the judge, which knows the rule, and as a denial,
    which knows the client; it is kept once. A violation has an entry of its own only if no denial
    of a client's request belongs to it.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """``clock`` returns seconds since 1970."""
        self._clock = clock
        self._kept: dict[Hashable, _Kept] = {}

    def add(self, denials: Sequence[Denial], policies: Sequence[PolicyEvent]) -> None:
        """Add the denials and violations of a report. A violation is reported no later than its
        denial."""
        for event in policies[-_IN_A_SECOND:]:
            if event.outcome == "refused" and not self._is_told(event):
                self._keep((event.principal, event.topic, event.rule, event.place), event)
        for denial in denials[-_IN_A_SECOND:]:
            source = denial.source
            client = source.principal, source.client_id, source.listener
            what = denial.api_key, denial.rule, denial.operation, denial.named or denial.resource
            events = self._taken(denial) if denial.rule == POLICIES else []
            # With the message: a policy may give another reason each time.
            message = denial.message if denial.rule == POLICIES else ""
            kept = self._keep((*client, *what, message, source.place), denial)
            new = [each for each in events if each not in kept.events]
            kept.events = [*kept.events, *new][-KEPT:]

    def _is_told(self, event: PolicyEvent) -> bool:
        """Whether a denial has had this violation before, so that its next denial will, too."""
        return any(event in kept.events for kept in self._kept.values())

    def _taken(self, denial: Denial) -> list[PolicyEvent]:
        """The violations that caused a denial; their own entries are removed."""
        found = [
            (key, kept.what)
            for key, kept in self._kept.items()
            if isinstance(kept.what, PolicyEvent)
            and kept.what.principal == denial.source.principal
            and kept.what.place is denial.source.place
            and kept.what.message in denial.message
        ]
        for key, _ in found:
            del self._kept[key]
        return [event for _, event in found]

    def _keep(self, key: Hashable, what: Denial | PolicyEvent) -> _Kept:
        kept = self._kept.pop(key, None) or _Kept(what)
        kept.count, kept.last, kept.what = kept.count + 1, int(self._clock() * 1000), what
        self._kept[key] = kept
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return kept

    def items(self) -> list[Item]:
        """Every kept denial, the latest first."""
        return [
            {"count": kept.count, "time": kept.last, **_item(kept.what, kept.events)}
            for kept in reversed(self._kept.values())
        ]


class RecentLogins:
    """Different failed logins, with their counts and last times."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """``clock`` gives seconds since 1970."""
        self._clock = clock
        self._kept: dict[AuthenticationFailure, tuple[int, int]] = {}

    def add(self, failures: Iterable[AuthenticationFailure]) -> None:
        """Add the failed logins of a report. A client's port, which differs each time, is
        ignored."""
        for failure in failures:
            key = replace(failure, address=host_of(failure.address))
            count, _ = self._kept.pop(key, (0, 0))
            self._kept[key] = count + 1, int(self._clock() * 1000)
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]

    def items(self) -> list[Item]:
        """All of them, the latest first."""
        return [
            {
                "count": count,
                "time": last,
                "listener": failure.listener,
                "address": failure.address,
                "mechanism": failure.mechanism,
                "user": cut(failure.user or ""),
                "reason": cut(failure.reason),
            }
            for failure, (count, last) in reversed(self._kept.items())
        ]


def _item(what: Denial | PolicyEvent, events: Sequence[PolicyEvent]) -> Item:
    if isinstance(what, PolicyEvent):
        # The topic's name begins with its namespace.
        named = f"TOPIC {cut(what.topic)}"
        return {**_common(what.principal, what.place, what), "named": named, **_set_by([what])}
    source = what.source
    return {
        **_common(source.principal, source.place, what),
        "client_id": cut(source.client_id),
        "address": host_of(source.client_address),
        "listener": source.listener,
        "api": api_name(what.api_key),
        "error": error_name(what.code),
        "operation": what.operation,
        "named": cut(what.named),
        "right": cut(what.right),
        "resource": cut(what.resource),
        "because": cut(what.because),
        **_set_by(events),
    }


def _common(principal: str, place: Place, what: Denial | PolicyEvent) -> Item:
    return {
        "principal": cut(principal),
        "cluster": place.cluster,
        "mount": place.mount,
        "rule": what.rule,
        "message": cut(what.message),
    }


def _set_by(events: Sequence[PolicyEvent]) -> Item:
    """The violated rules, and the configuration keys that set them."""
    if not events:
        return {}
    rules = dict.fromkeys(each.rule for each in events)
    sources = dict.fromkeys(each.source for each in events)
    return {"rule": ", ".join(rules), "source": cut(", ".join(sources))}
