"""One worker process: a server on its own event loop, and once a second a report.

``python -m gateway.processes.worker`` is started by the supervisor, which gives it a socket
(``worker_channel``) and blocks SIGINT and SIGTERM until the worker can handle them. SIGTERM, or the
end of the supervisor, means: stop accepting, drain, report the last counts, exit.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import uvloop

from gateway import exit_codes
from gateway.acls.authorizer import AuthorizerError
from gateway.auth.exchange import CredentialsError
from gateway.catalog.log.needs import NotServed
from gateway.catalog.log.records import UnreadableCatalog
from gateway.catalog.log.signatures import KeyFileError
from gateway.catalog.log.topics import CatalogTopicError
from gateway.catalog.members import FormatRejected, NumberRejected
from gateway.catalog.source import CatalogUnavailable
from gateway.cluster.link import ClusterUnreachable
from gateway.config.models import Config
from gateway.connections.tenants import Wanted
from gateway.flows import Flow
from gateway.foreign_text import raised_text
from gateway.policies.instance import PolicyError
from gateway.processes.client_telling import ClientTelling
from gateway.processes.held_catalogs import HeldCatalogs
from gateway.processes.logs import set_up_logging
from gateway.processes.observing import PIECE, Observing
from gateway.processes.operator_socket import OperatorSocket
from gateway.processes.server import MountedTwice, Server
from gateway.processes.worker_channel import WorkerChannel, receive_config
from gateway.processes.worker_messages import (
    Failed,
    MakeRoom,
    Ready,
    WorkerReport,
)
from gateway.processes.worker_orders import OrderTaker
from gateway.session.tracing import Tracing
from gateway.sinks.record_writer import SinkError
from gateway.tls.contexts import TlsError
from gateway.tls.principal_mapping import InvalidRules
from gateway.traffic.log import TrafficLog, open_traffic_log

log = logging.getLogger("gateway.processes.worker")

REPORT_SECONDS = 1.0

_HEARD_SECONDS: Final = 0.5
"""Seconds after which counts are sent before all of them are added."""

_UNUSABLE: Final = (
    AuthorizerError,
    CatalogTopicError,
    CredentialsError,
    FormatRejected,
    InvalidRules,
    KeyFileError,
    MountedTwice,
    NotServed,
    NumberRejected,
    PolicyError,
    SinkError,
    TlsError,
    UnreadableCatalog,
)
"""Errors after which a start is not tried again: the configuration has to change."""

_PAGE = resource.getpagesize()
_STATM = Path("/proc/self/statm")


class Worker:
    """Starts a server, reports on it, and ends it. ``traffic_log`` is None if it is turned off."""

    def __init__(
        self,
        server: Server,
        traffic_log: TrafficLog | None,
        channel: WorkerChannel,
        stopping: asyncio.Event,
        observing: Observing | None = None,
    ) -> None:
        self._observing = observing or Observing((), channel.observe)
        self._server = server
        self._traffic_log = traffic_log
        self._channel = channel
        self._stopping = stopping

    async def run(self, drain_seconds: float, report_seconds: float = REPORT_SECONDS) -> int:
        """Serve until the stopping event is set; returns the exit status."""
        failed = await self._start()
        if failed is not None:
            if self._traffic_log is not None:
                await self._traffic_log.stop()
            return failed
        if not self._stopping.is_set():
            self._channel.send(Ready())
        stopping = asyncio.create_task(self._stopping.wait())
        await self._report_until(stopping, report_seconds)
        draining = asyncio.create_task(self._server.drain(drain_seconds))
        await self._report_until(draining, report_seconds)
        await draining
        # Nothing is counted after this; the report includes the records that the log could not
        # write in time.
        last = self._collect()
        if self._traffic_log is not None:
            await self._traffic_log.stop()
        await self._report(last, last.flows)
        return exit_codes.OK

    async def _start(self) -> int | None:
        """Start the server; returns the exit status if it could not start, else None."""
        try:
            if self._traffic_log is not None:
                self._traffic_log.start()
        except SinkError as error:
            return self._fail(str(error), exit_codes.CONFIG)
        starting = asyncio.create_task(self._server.start())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([starting, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not starting.done():
            starting.cancel()
            await asyncio.wait([starting])
            await self._server.stop()
            return exit_codes.OK
        try:
            starting.result()
            if self._traffic_log is not None:
                await self._server.start_topic(self._traffic_log.start_topic)
        except (ClusterUnreachable, CatalogUnavailable) as error:
            return self._fail(str(error), exit_codes.UNAVAILABLE)
        except _UNUSABLE as error:
            return self._fail(str(error), exit_codes.CONFIG)
        except OSError as error:
            return self._fail(f"cannot listen: {error.strerror or error}", exit_codes.CONFIG)
        return None

    def _fail(self, reason: str, status: int) -> int:
        self._channel.send(Failed(reason))
        return status

    async def _report_until(self, done: asyncio.Task[object], seconds: float) -> None:
        while not done.done():
            await self._report(await self._collect_in_pieces(), ())
            await asyncio.wait([done], timeout=seconds)

    def _collect(self) -> WorkerReport:
        """The counts since the last call, which are also added to the traffic log."""
        report = self._server.collect()
        if self._traffic_log is not None:
            self._traffic_log.add(report.flows, report.denials, report.policies, report.acls)
        return report

    async def _collect_in_pieces(self) -> WorkerReport:
        """The counts since the last call, which are also added to the traffic log and the channel.
        Flows are added in pieces: clients wait meanwhile, and each client may have a thousand
        flows. If many clients come at once, each round between two pieces is long, too."""
        report, traffic_log = self._server.collect(), self._traffic_log
        heard = time.monotonic()
        for start in range(0, len(report.flows), PIECE):
            flows = report.flows[start : start + PIECE]
            self._channel.count(flows)
            if traffic_log is not None:
                traffic_log.add(flows, ())
            if time.monotonic() - heard > _HEARD_SECONDS:
                heard = time.monotonic()
                self._channel.send_counts()
            await asyncio.sleep(0)
        if traffic_log is not None:
            traffic_log.add((), report.denials, report.policies, report.acls)
        return report

    async def _report(self, report: WorkerReport, uncounted: Sequence[Flow]) -> None:
        """Send a report. ``uncounted`` are the flows that the channel has not added yet."""
        gauges = {**report.gauges, **process_gauges()}
        rows = list(report.rows)
        if self._traffic_log is not None:
            gauges["traffic_log_queued_records"] = self._traffic_log.queued
            rows += self._traffic_log.take_rows()
        await self._channel.report(replace(report, flows=uncounted, gauges=gauges, rows=rows))
        self._observing.see(report)


def process_gauges() -> dict[str, float]:
    """CPU seconds and, if the system is Linux, resident bytes of this process."""
    gauges = {"cpu_seconds": time.process_time()}
    with suppress(OSError):  # only Linux has it
        gauges["resident_bytes"] = float(_STATM.read_text().split()[1]) * _PAGE
    return gauges


def raise_file_limit() -> None:
    """Raise the soft limit of descriptors to the hard limit, because every client takes two
    descriptors, and the usual soft limit is 1,024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # a system may allow fewer than its hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def serve(
    config: Config, worker_id: int, channel: socket.socket, new_catalogs: Collection[str] = ()
) -> int:
    """Run a worker; returns the exit status. The catalogs of ``new_catalogs``, clusters by their
    names, may begin anew."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    link = await WorkerChannel.open(channel, on_closed=stopping.set)
    try:
        made = _made(config, worker_id, link, stopping, new_catalogs)
        if made is None:
            return exit_codes.CONFIG
        worker, operators = made
        await operators.start()
        try:
            return await worker.run(config.drain_seconds)
        finally:
            await operators.stop()
    finally:
        await link.close()


def _made(
    config: Config,
    worker_id: int,
    link: WorkerChannel,
    stopping: asyncio.Event,
    new_catalogs: Collection[str],
) -> tuple[Worker, OperatorSocket] | None:
    """A worker that has sent no request yet, and its socket for operators' tools; or None if the
    configuration allows none. Then the supervisor gets the reason, because the next worker would
    fail likewise."""
    try:
        server = Server(config, worker_id=worker_id, new_catalogs=new_catalogs)
        traffic_log = open_traffic_log(config, worker_id, server.own_admin)
    except _UNUSABLE as error:
        link.send(Failed(str(error)))
        return None
    except Exception as error:
        log.exception("the worker cannot be made")
        link.send(Failed(f"internal error: {raised_text(error)}"))
        return None
    clusters = [one.described(lambda: server.other_gateways_down) for one in server.served]
    observing = Observing(clusters, link.observe)
    link.on_line = OrderTaker(
        server.policies,
        link.send,
        observing.take,
        lambda order: server.clients.make_room_for(
            Wanted(order.cluster, order.node_id, (order.principal, order.host), order.mine)
        ),
        ClientTelling(server.telemetry.store, link.answer).take,
    )
    server.clients.ask_others = lambda wanted: link.send(
        MakeRoom(wanted.cluster, wanted.node_id, *wanted.tenant, wanted.mine)
    )
    catalogs = {one.cluster.name: one.catalog for one in server.served}
    held = HeldCatalogs(config.gateway_id, catalogs)
    operators = OperatorSocket(config.metrics.port, worker_id, held, Tracing(worker_id))
    return Worker(server, traffic_log, link, stopping, observing), operators


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the worker process; returns its exit status."""
    parser = argparse.ArgumentParser(prog="gateway.processes.worker")
    parser.add_argument("--worker-id", type=int, required=True)
    parser.add_argument("--channel-fd", type=int, required=True)
    parser.add_argument("--log-level", default="INFO")
    parser.add_argument("--log-format", default="text")
    parser.add_argument("--new-catalog", action="append", default=[])
    options = parser.parse_args(arguments)
    supervisor = os.getppid()
    set_up_logging(options.worker_id, options.log_level, form=options.log_format)
    raise_file_limit()
    channel = socket.socket(fileno=options.channel_fd)
    os.set_inheritable(options.channel_fd, False)
    try:
        config = Config.from_json(receive_config(channel))
    except ConnectionError as error:
        log.error("%s", error)
        return exit_codes.FAILED
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        status = runner.run(serve(config, options.worker_id, channel, options.new_catalog))
    if os.getppid() != supervisor and os.getpgrp() == os.getpid():
        # The supervisor is gone, so the processes that this worker has forked are killed here.
        os.killpg(0, signal.SIGKILL)
    return status


if __name__ == "__main__":
    sys.exit(main())
