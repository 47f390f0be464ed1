"""The page's side in the supervisor: it asks workers while somebody looks, and knows the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from gateway import version
from gateway.config.models import Config
from gateway.page.auth import PageAuth
from gateway.page.feed import Feed
from gateway.page.observed import Observed
from gateway.page.serving import add_no_page, add_page
from gateway.page.state import Facts, WorkerFacts, build_state
from gateway.page.window import Window
from gateway.processes.http_endpoints import Health
from gateway.processes.metrics import Metrics
from gateway.processes.worker_messages import Observe, State
from gateway.processes.worker_process import WorkerSlot

LEASE_SECONDS: Final = 3.0
"""For which a worker tells what it does after it was asked last."""


class LivePage:
    """The page of one gateway."""

    def __init__(
        self,
        config: Config,
        slots: Sequence[WorkerSlot],
        metrics: Metrics,
        health: Callable[[], Health],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._slots = slots
        self._metrics = metrics
        self._health = health
        self._now = now
        self._window = Window(now)
        self._started_ms = int(time.time() * 1000)
        self._cpu: dict[int, tuple[State, float]] = {}
        self.feed = Feed(self._begin, self.ask, self.state)

    def add_to(self, app: web.Application) -> None:
        """Add the page to the HTTP port, or a word on why there is none."""
        settings = self._config.metrics
        if settings.has_page:
            add_page(app, self.feed, PageAuth(settings))
        else:
            add_no_page(app, turned_off=settings.page is False)

    def received(self, worker_id: int, observed: Observed) -> None:
        """A worker tells what it did."""
        self._window.add(worker_id, observed)

    def ended(self, worker_id: int) -> None:
        """A worker has ended."""
        self._window.forget(worker_id)
        self._cpu.pop(worker_id, None)

    def ask(self) -> None:
        """Ask all workers to go on telling; the first one that is ready tells of clusters, too."""
        first = True
        for slot in self._slots:
            if slot.process is not None and slot.ready:
                slot.process.send(Observe(LEASE_SECONDS, first))
                first = False

    def state(self) -> Mapping[str, Any]:
        """What the page shows now."""
        health = self._health()
        return build_state(
            self._config,
            self._window,
            Facts(
                version=version(),
                started_ms=self._started_ms,
                time_ms=int(time.time() * 1000),
                workers=[self._worker(slot) for slot in self._slots],
                connections=self._metrics.connections(),
                problems=[*health.not_live, *health.not_ready],
                warnings=list(health.degraded),
                gateways_down=int(self._metrics.gauge("other_gateways_down") or 0),
            ),
        )

    def _begin(self) -> None:
        self._window.begin()
        self._cpu.clear()

    def _worker(self, slot: WorkerSlot) -> WorkerFacts:
        if slot.process is None:
            return WorkerFacts(slot.worker_id, "is not running")
        state = self._metrics.state_of(slot.worker_id)
        if state is None:
            return WorkerFacts(slot.worker_id, "is starting", slot.process.pid)
        return WorkerFacts(
            slot.worker_id,
            "serves" if slot.ready else "is not ready",
            slot.process.pid,
            round(max(0.0, self._now() - state.made_at), 1),
            self._cpu_share(slot.worker_id, state),
            state.gauges.get("resident_bytes"),
            sum(state.connections.values()),
        )

    def _cpu_share(self, worker_id: int, state: State) -> float | None:
        """The share of a processor between its last two reports."""
        before = self._cpu.get(worker_id)
        if before is not None and before[0] is state:
            return before[1]
        share = None
        if before is not None:
            seconds = state.made_at - before[0].made_at
            used = state.gauges.get("cpu_seconds", 0.0) - before[0].gauges.get("cpu_seconds", 0.0)
            share = round(max(0.0, used / seconds), 3) if seconds > 0 else None
        self._cpu[worker_id] = state, share or 0.0
        return share
