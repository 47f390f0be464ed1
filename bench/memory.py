"""Resident memory: what an idle connection costs, and what bulk traffic leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench import generators
from bench.loads import Bulk, Measures
from bench.subject import Subject
from bench.usage import resident_kib

IDLE_CONNECTIONS: Final = 1_500
_WARM_UP: Final = 50


def idle_connections(subject: Subject) -> Measures:
    """KiB of resident memory for each of 1,500 connections that have each asked ApiVersions and
    Metadata once, over what the proxy takes without them.

    What a first few connections bring about once is not counted. Raises GeneratorError.
    """
    port, greeting = subject.leader_port, subject.greeting
    pids = subject.target.processes()
    with generators.idle(port, greeting, _WARM_UP):
        before = sum(resident_kib(pids))
        with generators.idle(port, greeting, IDLE_CONNECTIONS):
            after = sum(resident_kib(pids))
    return {"kib": (after - before) / IDLE_CONNECTIONS}


def after_bulk(subject: Subject, moved: float, gib: float, loads: Sequence[Bulk]) -> Measures:
    """MiB of the proxy's largest process once ``gib`` GiB have gone through it in bulk.

    ``moved`` GiB have before; the loads take turns with what is missing. Raises GeneratorError.
    """
    turn = 0
    while moved < gib:
        load = loads[turn % len(loads)]
        share = min(1.0, (gib - moved) / load.gib)
        report = load.run(subject, share)
        moved += load.measures(report, 0.0)["gib"]
        turn += 1
    return {"rss": max(resident_kib(subject.target.processes())) / 1024, "gib": moved}
