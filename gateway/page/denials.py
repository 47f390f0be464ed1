"""The latest denials of a worker, kept for whoever opens the page because of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Final

from gateway.flows import Denial, PolicyEvent
from gateway.page.observed import Item, cut
from gateway.traffic.rows import host_of
from protocol.schema import api_name, error_name

KEPT: Final = 20
"""Different denials that are kept: clients repeat theirs, which are counted."""

_IN_A_SECOND: Final = 200
"""Denials of one report that are looked at, the last ones: a flood must not cost more."""


class RecentDenials:
    """Different denials by ACLs, rules and policies, with how often and when they last came."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """``clock`` gives seconds since 1970."""
        self._clock = clock
        self._kept: dict[Hashable, tuple[int, int, Denial | PolicyEvent]] = {}

    def add(self, denials: Sequence[Denial], policies: Sequence[PolicyEvent]) -> None:
        """Add what one report has."""
        for denial in denials[-_IN_A_SECOND:]:
            source = denial.source
            client = source.principal, source.client_id, source.listener
            what = denial.api_key, denial.rule, denial.operation, denial.named or denial.resource
            self._keep((*client, *what, source.place), denial)
        for event in policies[-_IN_A_SECOND:]:
            if event.outcome == "refused":
                self._keep((event.principal, event.topic, event.rule, event.place), event)

    def _keep(self, key: Hashable, what: Denial | PolicyEvent) -> None:
        count, *_ = self._kept.pop(key, (0,))
        self._kept[key] = count + 1, int(self._clock() * 1000), what
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def items(self) -> list[Item]:
        """All of them, the latest first."""
        return [
            {"count": count, "time": last, **_item(what)}
            for count, last, what in reversed(self._kept.values())
        ]


def _item(what: Denial | PolicyEvent) -> Item:
    place = what.place if isinstance(what, PolicyEvent) else what.source.place
    common = {
        "principal": cut(
            what.principal if isinstance(what, PolicyEvent) else what.source.principal
        ),
        "cluster": place.cluster,
        "mount": place.mount,
        "rule": what.rule,
        "message": cut(what.message),
    }
    if isinstance(what, PolicyEvent):
        # The topic has the namespace in front; which client it was is in the audit log.
        return {**common, "named": f"TOPIC {cut(what.topic)}", "source": cut(what.source)}
    source = what.source
    return {
        **common,
        "client_id": cut(source.client_id),
        "address": host_of(source.client_address),
        "listener": source.listener,
        "api": api_name(what.api_key),
        "error": error_name(what.code),
        "operation": what.operation,
        "named": cut(what.named),
        "resource": cut(what.resource),
        "because": cut(what.because),
    }
