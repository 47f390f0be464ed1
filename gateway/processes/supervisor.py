"""The supervisor: ``kafka-gateway serve``. It starts workers, restarts a worker if it dies, sums up
their metrics, and ends them in order. It touches no client traffic."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gateway import exit_codes, version
from gateway.checks.listeners import probe, warn_of_exposures
from gateway.checks.running import instance
from gateway.config.addresses import Address
from gateway.config.models import Config
from gateway.config_file.parts import Parts
from gateway.config_file.rules import port_claims
from gateway.page.observed import Observed
from gateway.processes.http_endpoints import Health, HttpEndpoints
from gateway.processes.http_port import connections_left
from gateway.processes.live_page import LivePage
from gateway.processes.metrics import Metrics
from gateway.processes.policy_reload import PolicyReload
from gateway.processes.pushed_metrics import PushedMetrics
from gateway.processes.readiness import readiness
from gateway.processes.service_manager import ServiceManager
from gateway.processes.silence import end_silent
from gateway.processes.start_texts import ready_text, start_text
from gateway.processes.worker_messages import (
    Failed,
    Increments,
    MakeRoom,
    Message,
    Prepared,
    Ready,
    State,
)
from gateway.processes.worker_process import (
    WorkerCommand,
    WorkerProcess,
    WorkerSlot,
    exit_text,
    worker_command,
)
from gateway.slices import Turns
from gateway.telemetry.told import ClientsTold, ClientTold

log = logging.getLogger(__name__)


class StartError(Exception):
    """The gateway cannot start; the text has a line for each reason."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Delays and timeouts, in seconds.

    ``first_delay``: until a dead worker is started again; doubled each time up to ``last_delay``.
    ``settled``: after a life of so long, the delay begins at ``first_delay`` again.
    ``silent``: a worker that does not report for so long is killed.
    ``margin``: time beyond ``drain_seconds`` that workers get to end by themselves.
    """

    first_delay: float = 0.2
    last_delay: float = 5.0
    settled: float = 30.0
    silent: float = 3.0
    margin: float = 5.0


class Supervisor:
    """The main process of a gateway.

    ``path``: the file from which the configuration is reloaded.
    ``manager``: the service manager that is notified that the gateway is alive.
    ``first_command``: starts workers until a worker was ready; may let them begin a catalog anew.
    ``command``, ``timing``: changed by tests only.
    """

    def __init__(
        self,
        config: Config,
        path: Path | None = None,
        *,
        manager: ServiceManager | None = None,
        command: WorkerCommand = worker_command,
        first_command: WorkerCommand | None = None,
        timing: Timing | None = None,
    ) -> None:
        in_tree = config.clusters[0].mount is not None
        self.metrics = Metrics(version(), config.metrics.max_namespaces, in_tree=in_tree)
        for cluster in config.clusters:
            for reason in ("closed", "share"):
                # From the start: a rate needs a value from before the first refusal.
                self.metrics.count("broker_refusals", (cluster.name, reason), 0)
        for listener in config.listeners:
            for setting in ("max_bytes_per_ip", "max_bytes"):
                self.metrics.count("collected_response_waits", (listener.name, setting), 0)
        self._config = config
        self._manager = manager or ServiceManager()
        self._command = command
        self._first_command = first_command or command
        self._timing = timing or Timing()
        self._slots = [WorkerSlot(worker_id) for worker_id in range(config.workers)]
        self.policies = PolicyReload(
            config,
            path,
            self._slots,
            lambda outcome: self.metrics.count("policy_reloads", (outcome,)),
        )
        turns = Turns()
        self._page = LivePage(config, self._slots, self.metrics, self.health, turns=turns)
        self._pushed = PushedMetrics(self._slots, turns)
        self._http = HttpEndpoints(
            self.metrics,
            self.health,
            self._page.add_to,
            summary=self._page.summary,
            instance=instance(config, path),
            turns=turns,
            clients=self._pushed.pieces,
        )
        self._starting = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._at_once = False
        self._ever_ready = False
        self._announced = False
        self._start_failure: str | None = None
        self._unclean = False

    async def run(self) -> int:
        """Serve until SIGTERM or SIGINT; returns the exit status.

        Raises :class:`StartError` if a port cannot be bound or no worker can ever start.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop, number.name)
        loop.add_signal_handler(signal.SIGHUP, self.policies.start)
        await self._bind()
        log.info("%s", start_text(self._config))
        warn_of_exposures(self._config)
        living = asyncio.create_task(self._manager.keep_alive())
        try:
            await self._run_workers()
        finally:
            living.cancel()
            await self._page.feed.close()
            await self._pushed.stop()
            await self._http.stop()
        if self._start_failure is not None:
            raise StartError(self._start_failure)
        log.info("stopped")
        return exit_codes.FAILED if self._unclean else exit_codes.OK

    def health(self) -> Health:
        """The problems that /livez and /readyz report."""
        dead = [slot.worker_id for slot in self._slots if slot.process is None]
        not_live = [f"worker {worker_id} is not running" for worker_id in dead]
        not_ready = [
            f"worker {slot.worker_id} is not ready" + (f": {slot.failure}" if slot.failure else "")
            for slot in self._slots
            if not slot.ready
        ]
        clusters = readiness(self._config.clusters, self.metrics)
        not_ready += clusters.not_ready
        if self.metrics.gauge("accepting") == 0:
            not_ready.append("a worker cannot accept clients: it lacks file descriptors")
        if self.metrics.gauge("cut_off"):
            not_ready.append("a worker is cut off from its clusters and refuses clients")
        if self._stopping.is_set():
            not_ready.append("the gateway is stopping")
        return Health(not_live, not_ready, clusters.degraded)

    async def _bind(self) -> None:
        claims = port_claims(Parts.of(self._config))
        # The metrics port is not probed: it is bound for good below.
        rejected = probe(claim for claim in claims if claim.key[0] == "listeners")
        if rejected:
            raise StartError("\n".join(problem.text for problem in rejected))
        metrics = self._config.metrics
        try:
            most = connections_left(metrics.max_connections, self._config.workers)
            await self._http.start(metrics.host, metrics.port, most)
        except OSError as error:
            address = Address(metrics.host, metrics.port)
            # The number is negative if the host has no address (gaierror).
            number = error.errno or 0
            reason = os.strerror(number).lower() if number > 0 else error.strerror or error
            raise StartError(f"the metrics port {address} cannot be bound: {reason}") from error

    def stop(self, why: str = "told to") -> None:
        """Drain and end; if called a second time, end at once."""
        if self._stopping.is_set():
            log.warning("%s again: ending at once", why)
            self._kill_all()
            return
        log.info("%s: stopping, with up to %g s to drain", why, self._config.drain_seconds)
        self._stopping.set()
        self._manager.stopping()

    async def _run_workers(self) -> None:
        """Keep the workers until it is time to stop, then drain and end them."""
        keepers = [asyncio.create_task(self._keep(slot)) for slot in self._slots]
        stopping = asyncio.create_task(self._stopping.wait())
        watching = asyncio.create_task(end_silent(self._slots, self._timing.silent))
        # If a keeper ends before that, it failed, which must not go unseen.
        await asyncio.wait([stopping, *keepers], return_when=asyncio.FIRST_COMPLETED)
        watching.cancel()
        self._stopping.set()
        self.policies.stop()
        for process in self._processes():
            process.terminate()
        seconds = self._config.drain_seconds + self._timing.margin
        _, late = await asyncio.wait(keepers, timeout=seconds)
        if late:
            log.error("%d workers did not end in %g s and are killed", len(late), seconds)
            self._kill_all()
        await asyncio.gather(*keepers)

    def _processes(self) -> list[WorkerProcess]:
        return [slot.process for slot in self._slots if slot.process is not None]

    def _kill_all(self) -> None:
        """Kill all workers, and also workers that are being started, as soon as they have a
        process."""
        self._at_once = True
        for process in self._processes():
            process.kill()

    async def _keep(self, slot: WorkerSlot) -> None:
        """Keep a worker running until the gateway stops."""
        loop = asyncio.get_running_loop()
        delay = self._timing.first_delay
        while not self._stopping.is_set():
            started = loop.time()
            status = await self._run_once(slot)
            if self._stopping.is_set():
                # If a worker had no clients yet, it had nothing to drain, so its status does not
                # count.
                self._unclean |= slot.served and status != exit_codes.OK
                return
            if status == exit_codes.CONFIG and not self._ever_ready:
                self._start_failure = slot.failure or "a worker refused the configuration"
                self._stopping.set()
                return
            if loop.time() - started >= self._timing.settled:
                delay = self._timing.first_delay
            log.error(
                "worker %d ended (%s)%s; starting it again in %.1f s",
                slot.worker_id,
                exit_text(status),
                f": {slot.failure}" if slot.failure else "",
                delay,
            )
            self.metrics.count("worker_restarts", ())
            await self._pause(delay)
            delay = min(2 * delay, self._timing.last_delay)

    async def _run_once(self, slot: WorkerSlot) -> int:
        try:
            async with self._starting:
                if self._stopping.is_set():
                    return exit_codes.OK
                config = self.policies.config
                # Not the first command: a restarted worker must not begin a catalog anew that was
                # lost later.
                command = self._command if self._ever_ready else self._first_command
                process = await WorkerProcess.start(slot.worker_id, command, config.to_json())
        except OSError as error:
            slot.failure = f"it cannot be started: {error}"
            return exit_codes.FAILED
        slot.process, slot.policies, slot.served = process, config.policies, False
        log.info("worker %d is process %d", slot.worker_id, process.pid)
        self.policies.started(slot)
        if self._at_once:
            process.kill()
        elif self._stopping.is_set():
            process.terminate()
        try:
            return await process.run(lambda message: self._received(slot, message))
        finally:
            slot.ended()
            self.metrics.forget_state(slot.worker_id)
            self._page.ended(slot.worker_id)
            self._pushed.ended(slot.worker_id)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return

    def _received(self, slot: WorkerSlot, message: Message) -> None:
        slot.unheard = 0
        match message:
            case Ready():
                slot.ready, slot.served, slot.failure = True, True, ""
                self._note_ready()
            case Failed(reason):
                slot.failure = reason
            case State():
                self.metrics.set_state(slot.worker_id, message)
                self._page.reported(slot.worker_id, message)
            case Increments(rows):
                self.metrics.add(rows)
                self._page.counted(slot.worker_id, rows)
            case Prepared():
                slot.prepared(message)
            case Observed():
                self._page.received(slot.worker_id, message)
            case ClientTold() | ClientsTold():
                self._pushed.received(slot.worker_id, message)
            case MakeRoom():
                for other in self._slots:
                    if other is not slot and other.process is not None:
                        other.process.send(message)

    def _note_ready(self) -> None:
        self._ever_ready = True
        if not self._announced and all(slot.ready for slot in self._slots):
            self._announced = True
            self._manager.ready()
            log.info("ready: %s", ready_text(self._config))


def run_supervisor(config: Config, path: Path, new_catalogs: Sequence[str] = ()) -> int:
    """:meth:`Supervisor.run` on an event loop of its own. ``path`` is the configuration's file,
    ``new_catalogs`` are the clusters whose catalogs may begin anew."""

    async def run() -> int:
        return await Supervisor(
            config,
            path,
            manager=ServiceManager.of(os.environ),
            first_command=partial(worker_command, new_catalogs=new_catalogs),
        ).run()

    return asyncio.run(run())
