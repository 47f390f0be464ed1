"""Connections of one worker: what each takes, what a request costs among them, and a reconnect of
all at once.

Each size has a gateway of its own, because memory that earlier connections left free would hide
what later ones take. The gateway runs on the last processor, broker and clients on the others.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

import psutil

from bench import generators
from bench.client import AnswerError, Client
from bench.cores import Cores, place, running_on
from bench.crowd import Crowd
from bench.generators import GeneratorError
from bench.growth.curves import APART, Figure, Kind, Sweep, Values, curves
from bench.growth.plan import Plan, Say, climb
from bench.subject import BROKER_SETTINGS, Subject, prepare_small
from bench.targets.gateway import gateway_with_topic_ids, install
from bench.usage import cpu_seconds, resident_kib
from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from gateway.connections.acceptor import DESCRIPTORS_A_CLIENT
from protocol.schema import error_name

_REQUEST: Final = Figure("CPU of a request", "us", Kind.EACH)
_MEMORY: Final = Figure("memory of a connection", "KiB", Kind.EACH)
_CHANGE: Final = Figure("a namespace is created", "CPU ms", Kind.TOTAL)
_OPENING: Final = Figure("CPU of a new connection", "us", Kind.EACH)
_ACCEPTED: Final = Figure("new connections, some at a time", "1/s", Kind.RATE)
_ALL_SERVED: Final = Figure("all at once: until all are served", "s", Kind.TOTAL)
_LONGEST: Final = Figure("all at once: the longest wait", "s", Kind.TOTAL)
FIGURES: Final = (_REQUEST, _MEMORY, _CHANGE, _OPENING, _ACCEPTED, _ALL_SERVED, _LONGEST)

LOAD: Final = "small produce"

_BROKER_SETTINGS: Final = {**BROKER_SETTINGS, "socket.listen.backlog.size": "4096"}
"""The broker's queue of new connections has room for 50 by default: of 100 at once some would wait
for a second, at the broker alone as behind the gateway."""

_UNDER_WAY: Final = 64
"""Connections that open, and requests without a response, at a time where not all are at once."""

_SPARE: Final = 300
"""Descriptors of a worker, or a broker, besides its clients'."""

_FIRST: Final = 50
"""Connections that are open before: what a few bring about once is not counted."""

_PILOT: Final = 2_000
"""Requests that show how many the seconds of the plan are."""

_CHANGES: Final = 3
_SETTLE: Final = 0.3
"""Seconds in which every connection has a view of a changed catalog, or a little longer."""

_CREATE_TOPICS: Final = 7
_CLOSED_SECONDS: Final = 120.0
_HELD_SECONDS: Final = 1_800.0
_BROKER: Final = 1
_LOG_LINES: Final = 20


def measure(plan: Plan, say: Say) -> Sweep:
    """Measure every size that the limit of open files allows. Raises GeneratorError (at the
    first size; at a later one the sweep ends), AnswerError, BrokerError and TargetError."""
    notes: list[str] = []
    most = allow_open_files(max(plan.sizes) * DESCRIPTORS_A_CLIENT + _SPARE)
    sizes = possible(plan.sizes, (most - _SPARE) // DESCRIPTORS_A_CLIENT)
    if sizes != list(plan.sizes):
        notes.append(
            f"The limit of open files (`ulimit -Hn`) is {most:,} here, and a worker needs"
            f" {DESCRIPTORS_A_CLIENT} for each connection: {sizes[-1]:,} were tried at most."
        )
        say(notes[-1])
    measured: dict[int, Values] = {}
    install(compiled=plan.compiled)  # on every processor, and not in the time of a size
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-bench-")))
        broker = KafkaCluster(overrides=_BROKER_SETTINGS, heap="1g", quick_start=False)
        stack.enter_context(broker)
        cores = Cores.of_this_machine()
        stack.callback(place, [os.getpid()], cores.all)
        place([os.getpid(), broker.process_id(_BROKER)], cores.others)
        for size in climb(replace(plan, sizes=sizes), "connections", notes, say):
            with (
                running_on(cores.proxies),
                gateway_with_topic_ids(compiled=plan.compiled) as target,
            ):
                target.start(broker.bootstrap_servers)
                try:
                    with running_on(cores.others):
                        measured[size] = _point(prepare_small(target, directory), size, plan)
                except GeneratorError as error:
                    say("\n".join([*target.log().splitlines()[-_LOG_LINES:], str(error)]))
                    if not measured:
                        raise
                    notes.append(f"{size:,} connections were not served to the end: {error}.")
                    break
    return Sweep("connections", "connections", curves(FIGURES, measured), notes)


def allow_open_files(wanted: int) -> int:
    """Raise the limit of open files of this process, and of its children, as far as it goes;
    returns it, or ``wanted`` if there is no limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        with suppress(OSError, ValueError):  # only a privileged process may raise it
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def possible(sizes: Sequence[int], most: int) -> list[int]:
    """The sizes up to ``most``, and ``most`` in place of those beyond it."""
    within = [size for size in sizes if size <= most]
    if len(within) == len(sizes):
        return within
    return [*(size for size in within if size * APART <= most), most]


def _point(subject: Subject, size: int, plan: Plan) -> Values:
    pids = subject.target.processes()
    load = subject.requests[LOAD]
    deadline = max(1, round(plan.limit))
    with (
        generators.idle(subject.leader_port, subject.greeting, _FIRST, _HELD_SECONDS),
        Crowd(
            subject.leader_port,
            subject.greeting,
            load.path,
            size,
            zero_at=load.zero_at,
            deadline=deadline,
        ) as crowd,
    ):
        descriptors = _descriptors(pids)
        resident, cpu = sum(resident_kib(pids)), cpu_seconds(pids)
        opened = crowd.open(_UNDER_WAY)
        opening = cpu_seconds(pids) - cpu
        memory = sum(resident_kib(pids)) - resident
        pilot = crowd.send(_PILOT, _UNDER_WAY)
        count = max(_PILOT, round(_PILOT / pilot.seconds * plan.seconds))
        cpu = cpu_seconds(pids)
        crowd.send(count, _UNDER_WAY)
        requests = cpu_seconds(pids) - cpu
        changing = _creation(subject, pids, size)
        crowd.close()
        closed = descriptors + _FIRST
        wait_until(lambda: _descriptors(pids) <= closed, "closed connections", _CLOSED_SECONDS)
        again = crowd.open()
    return {
        _REQUEST.title: requests / count * 1e6,
        _MEMORY.title: memory / size,
        _CHANGE.title: changing * 1e3,
        _OPENING.title: opening / size * 1e6,
        _ACCEPTED.title: size / opened.seconds,
        _ALL_SERVED.title: again.seconds,
        _LONGEST.title: again.longest,
    }


def _creation(subject: Subject, pids: Sequence[int], size: int) -> float:
    """CPU seconds of the gateway for a namespace that is created: the catalog's change, and the
    connections that see it. Raises AnswerError."""
    spent = []
    with Client(subject.target.port) as client:
        for number in range(_CHANGES):
            name = f"growth-{size}-{number}:"
            topic = {"name": name, "num_partitions": -1, "replication_factor": -1}
            began = cpu_seconds(pids)
            answer = client.ask("CreateTopicsRequest", _CREATE_TOPICS, {"topics": [topic]})
            time.sleep(_SETTLE)
            spent.append(cpu_seconds(pids) - began)
            if code := answer.topics[0].error_code:
                raise AnswerError(f"creating {name}: {error_name(code)}")
    return median(spent)


def _descriptors(pids: Iterable[int]) -> int:
    return sum(psutil.Process(pid).num_fds() for pid in pids)
