"""Workers of one gateway: what they serve, the CPU of a request, and the memory of each.

Gateway, broker and clients share the machine's processors, so requests a second say little of
workers here; the CPU of a request says whether workers get in each other's way.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from typing import Final

import psutil

from bench import generators
from bench.client import port_of
from bench.growth.connections import LOAD
from bench.growth.curves import Figure, Kind, Sweep, Values, curves
from bench.growth.plan import Plan, Say, climb
from bench.subject import BROKER_SETTINGS, Subject, prepare_small
from bench.targets.gateway import gateway_with_topic_ids, install
from bench.usage import cpu_seconds, resident_kib
from devkit.broker import KafkaCluster

_RATE: Final = Figure("requests served, on one machine with broker and clients", "1/s", Kind.SHOWN)
_REQUEST: Final = Figure("CPU of a request", "us", Kind.EACH)
_WORKER: Final = Figure("memory of a worker, each", "MiB", Kind.EACH)
_OWN: Final = Figure("connections of its own to a broker, each", "", Kind.EACH)
_SUPERVISOR: Final = Figure("memory of the supervisor", "MiB", Kind.TOTAL)
FIGURES: Final = (_RATE, _REQUEST, _WORKER, _OWN, _SUPERVISOR)

_CONNECTIONS: Final = 64
"""So many that each worker has about as many: the kernel spreads them by their ports."""

_DEPTH: Final = 4
_SETTLE: Final = 2.0
"""Seconds after which the connections of former clients are closed at the broker, too."""

_PILOT: Final = 5_000
"""Requests that show how many the seconds of the plan are."""


def measure(plan: Plan, say: Say) -> Sweep:
    """Measure. Raises GeneratorError, or what a broker and a gateway raise."""
    notes: list[str] = []
    measured: dict[int, Values] = {}
    install(compiled=plan.compiled)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-bench-")))
        broker = KafkaCluster(overrides=BROKER_SETTINGS, heap="1g", quick_start=False)
        stack.enter_context(broker)
        for size in climb(plan, "workers", notes, say):
            with gateway_with_topic_ids(compiled=plan.compiled, workers=size) as target:
                target.start(broker.bootstrap_servers)
                values = _point(prepare_small(target, directory), plan)
                time.sleep(_SETTLE)
                own = _broker_connections(target.processes(), port_of(broker.bootstrap_servers))
                measured[size] = {_OWN.title: own / size, **values}
    return Sweep("workers", "workers", curves(FIGURES, measured), notes)


def _point(subject: Subject, plan: Plan) -> Values:
    pids = subject.target.processes()
    load = subject.requests[LOAD]

    def run(count: int) -> generators.Report:
        return generators.replay(
            subject.leader_port,
            load.path,
            count=count,
            connections=_CONNECTIONS,
            depth=_DEPTH,
            zero_at=load.zero_at,
            deadline=max(1, round(plan.limit)),
        )

    pilot = run(_PILOT)
    count = max(_PILOT, round(_PILOT / pilot.seconds * plan.seconds))
    cpu = cpu_seconds(pids)
    report = run(count)
    cpu = cpu_seconds(pids) - cpu
    supervisor, *workers = (kib / 1024 for kib in resident_kib(pids))
    return {
        _RATE.title: report.requests / report.seconds,
        _REQUEST.title: cpu / report.requests * 1e6,
        _WORKER.title: fmean(workers),
        _SUPERVISOR.title: supervisor,
    }


def _broker_connections(pids: Iterable[int], port: int) -> int:
    """The connections of processes to the broker's port."""
    return sum(
        each.status == psutil.CONN_ESTABLISHED and each.raddr.port == port
        for pid in pids
        for each in psutil.Process(pid).net_connections("tcp")
    )
