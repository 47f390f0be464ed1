"""The page's side in a worker: it tells what it does, for a few seconds after it was asked to.

The supervisor asks again each second while somebody looks at the page. Whoever stops asking, for
whatever reason, is told nothing more, and the worker does nothing for it any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gateway import flows
from gateway.page.clusters import DescribedCluster
from gateway.page.denials import RecentDenials
from gateway.page.observed import Observed
from gateway.page.sums import errors_of, latency_of, traffic_of
from gateway.processes.worker_messages import Observe, WorkerReport


def form() -> str:
    """``compiled`` if the modules that each request goes through are compiled, else ``pure``."""
    return "pure" if str(flows.__file__).endswith(".py") else "compiled"


class Observing:
    """What a worker tells for the page. ``now`` is a monotonic clock in seconds."""

    def __init__(
        self, clusters: Sequence[DescribedCluster], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._clusters = clusters
        self._now = now
        self._until = float("-inf")
        self._with_clusters = False
        self._last = now()
        self._denials = RecentDenials()

    def take(self, order: Observe) -> None:
        """Somebody looks at the page."""
        self._until = self._now() + order.seconds
        self._with_clusters = order.clusters

    def observed(self, report: WorkerReport) -> Observed | None:
        """What one report has, for the page; None while nobody looks."""
        if report.denials or report.policies:
            self._denials.add(report.denials, report.policies)
        before, self._last = self._last, self._now()
        if self._last > self._until:
            return None
        return Observed(
            seconds=self._last - before,
            traffic=traffic_of(report.flows),
            latency=latency_of(report.flows),
            errors=errors_of(report.flows),
            denials=self._denials.items(),
            clusters=[one.item() for one in self._clusters] if self._with_clusters else None,
            form=form(),
        )
