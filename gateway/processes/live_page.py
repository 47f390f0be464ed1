"""The page's part in the supervisor: it makes workers report while the page is open."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from gateway import version
from gateway.config.models import Config
from gateway.counts import Row
from gateway.page.auth import PageAuth
from gateway.page.feed import Feed
from gateway.page.fleet import FleetFigures
from gateway.page.history import History
from gateway.page.observed import Item, Observed
from gateway.page.serving import add_no_page, add_page
from gateway.page.state import Facts, WorkerFacts, build_state
from gateway.page.window import Window
from gateway.processes.http_endpoints import Health
from gateway.processes.metrics import Metrics
from gateway.processes.worker_messages import Observe, State
from gateway.processes.worker_process import WorkerSlot
from gateway.slices import Turns

LEASE_SECONDS: Final = 3.0
"""Seconds for which a worker goes on reporting flows after the supervisor's last Observe."""


class LivePage:
    """The page of this gateway."""

    def __init__(
        self,
        config: Config,
        slots: Sequence[WorkerSlot],
        metrics: Metrics,
        health: Callable[[], Health],
        now: Callable[[], float] = time.monotonic,
        turns: Turns | None = None,
    ) -> None:
        self._config = config
        self._slots = slots
        self._metrics = metrics
        self._health = health
        self._now = now
        self._window = Window()
        self._history = History(now, _wall_ms)
        url = config.metrics.fleet_url
        self._fleet = None if url is None else FleetFigures(url, config.gateway_id, now)
        self._started_ms = _wall_ms()
        self._cpu: dict[int, tuple[State, float]] = {}
        self.feed = Feed(self._begin, self.ask, self.state, self._history.to_json, turns=turns)

    def add_to(self, app: web.Application) -> None:
        """Add the page to the HTTP port, or, if there is no page, a text that says why."""
        settings = self._config.metrics
        if settings.has_page:
            add_page(app, self.feed, PageAuth(settings))
        else:
            add_no_page(app, turned_off=settings.page is False)

    def received(self, worker_id: int, observed: Observed) -> None:
        """Add a worker's observations to the page."""
        self._window.add(worker_id, observed)

    def counted(self, worker_id: int, rows: Sequence[Row]) -> None:
        """Add a worker's counts, even if no page is open."""
        self._history.count(worker_id, rows)

    def reported(self, worker_id: int, state: State) -> None:
        """A worker's report is complete."""
        self._history.reported(worker_id, state.made_at)

    def ended(self, worker_id: int) -> None:
        """Forget a worker that has ended."""
        self._history.ended(worker_id)
        self._window.forget(worker_id)
        self._cpu.pop(worker_id, None)

    def ask(self) -> None:
        """Send Observe to every ready worker; the first of them reports the clusters, too."""
        first = True
        for slot in self._slots:
            if slot.process is not None and slot.ready:
                slot.process.send(Observe(LEASE_SECONDS, first))
                first = False
        if self._fleet is not None:
            clusters = self._window.clusters()
            self._fleet.look(one["id"] for each in clusters for one in each["gateways"])

    def state(self) -> Mapping[str, Any]:
        """The page's content at the time of the call; may be called in slices."""
        window = self._window.copied()
        health = self._health()
        errors, recent_errors, error_seconds = self._history.errors()
        return build_state(
            self._config,
            window,
            Facts(
                version=version(),
                started_ms=self._started_ms,
                time_ms=_wall_ms(),
                workers=[self._worker(slot) for slot in self._slots],
                connections=self._metrics.connections(),
                problems=[*health.not_live, *health.not_ready],
                warnings=list(health.degraded),
                errors=errors,
                recent_errors=recent_errors,
                error_seconds=error_seconds,
                fleet=self._figures_of_fleet(),
            ),
        )

    def summary(self) -> Mapping[str, Any]:
        """This gateway's traffic and health in a few figures, for the pages of other gateways."""
        health, last = self._health(), self._history.last
        return {
            "id": self._config.gateway_id,
            "ready": not (health.not_live or health.not_ready),
            "connections": sum(self._metrics.connections().values()),
            "second": {} if last is None else last._asdict(),
        }

    def _figures_of_fleet(self) -> Mapping[str, Item]:
        if self._fleet is None:
            return {}
        return {**self._fleet.items(), self._config.gateway_id: self.summary()}

    def _begin(self) -> None:
        self._window.begin()
        self._cpu.clear()
        if self._fleet is not None:
            self._fleet.begin()

    def _worker(self, slot: WorkerSlot) -> WorkerFacts:
        if slot.process is None:
            return WorkerFacts(slot.worker_id, "is not running")
        state = self._metrics.state_of(slot.worker_id)
        if state is None:
            return WorkerFacts(slot.worker_id, "is starting", slot.process.pid)
        serves = "is cut off" if state.gauges.get("cut_off") else "serves"
        return WorkerFacts(
            slot.worker_id,
            serves if slot.ready else "is not ready",
            slot.process.pid,
            round(max(0.0, self._now() - state.made_at), 1),
            self._cpu_share(slot.worker_id, state),
            state.gauges.get("resident_bytes"),
            sum(state.connections.values()),
        )

    def _cpu_share(self, worker_id: int, state: State) -> float | None:
        """The share of a processor that a worker used between its last two reports."""
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


def _wall_ms() -> int:
    return int(time.time() * 1000)
