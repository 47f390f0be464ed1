"""The page's part in a worker: it reports its flows for a few seconds after each Observe.

The supervisor sends Observe each second while an operator has the page open. If it stops, for
whatever reason, the worker's reports for the page stop, too, and cost nothing any more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from gateway.hot_path import running_form
from gateway.page.clusters import DescribedCluster
from gateway.page.denials import RecentDenials, RecentLogins
from gateway.page.observed import Observed
from gateway.page.sums import FlowsOfSecond
from gateway.processes.worker_messages import Observe, WorkerReport

log = logging.getLogger(__name__)

PIECE: Final = 200
"""Flows that are summed up per round of the event loop: some 1 ms."""


class Observing:
    """Sends a worker's observations for the page by ``send``. ``now`` is a monotonic clock in
    seconds."""

    def __init__(
        self,
        clusters: Sequence[DescribedCluster],
        send: Callable[[Observed], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clusters = clusters
        self._send = send
        self._now = now
        self._until = float("-inf")
        self._with_clusters = False
        self._last = now()
        self._denials = RecentDenials()
        self._logins = RecentLogins()
        self._form = str(running_form())
        self._telling: asyncio.Task[None] | None = None

    def take(self, order: Observe) -> None:
        """Go on observing for the seconds that the order names."""
        self._until = self._now() + order.seconds
        self._with_clusters = order.clusters

    def see(self, report: WorkerReport) -> None:
        """Send the observations of a report, if the page is open. A report is summed up in pieces,
        so that clients do not wait, and is left out if the report before it is still being summed
        up."""
        if report.denials or report.policies:
            self._denials.add(report.denials, report.policies)
        if report.logins:
            self._logins.add(report.logins)
        before, self._last = self._last, self._now()
        if self._last <= self._until and (self._telling is None or self._telling.done()):
            self._telling = asyncio.create_task(self._tell(report, self._last - before))

    async def _tell(self, report: WorkerReport, seconds: float) -> None:
        try:
            sums = FlowsOfSecond()
            for start in range(0, len(report.flows), PIECE):
                sums.add(report.flows[start : start + PIECE])
                await asyncio.sleep(0)
            self._send(
                Observed(
                    seconds=seconds,
                    traffic=sums.traffic(),
                    latency=sums.latency(),
                    denials=self._denials.items(),
                    logins=self._logins.items(),
                    clusters=[one.item() for one in self._clusters]
                    if self._with_clusters
                    else None,
                    form=self._form,
                )
            )
        except Exception:
            log.exception("the page is not told what this worker does")
