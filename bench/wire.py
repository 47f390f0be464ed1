"""End to end: rounds in which every load goes to every target in turn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.bars import AFTER_BULK, IDLE
from bench.cores import Cores, place, running_on
from bench.loads import Bulk, Load, loads
from bench.memory import after_bulk, idle_connections
from bench.results import Samples
from bench.subject import BROKER_SETTINGS, Subject, prepare
from bench.targets.direct import Direct
from bench.targets.gateway import gateway_with_names, gateway_with_topic_ids, tree_gateway
from bench.targets.haproxy import HAProxy
from bench.targets.kroxylicious import Kroxylicious
from bench.targets.target import Target
from devkit.broker import KafkaCluster

Say = Callable[[str], None]
"""Told what goes on."""

# A just-in-time compiler needs thousands of calls before it shows what it can.
_WARM_UP_SHARE: Final = 0.5
_WARM_UPS: Final = 2
_BROKER: Final = 1

TARGETS: Final[dict[str, Callable[[Path], Target]]] = {
    "direct": lambda _: Direct(),
    "haproxy": HAProxy,
    "kroxylicious": Kroxylicious,
    "gateway-ids": lambda _: gateway_with_topic_ids(),
    "gateway-names": lambda _: gateway_with_names(),
    "gateway-ids-compiled": lambda _: gateway_with_topic_ids(compiled=True),
    "gateway-names-compiled": lambda _: gateway_with_names(compiled=True),
    "gateway-tree-ids": lambda _: tree_gateway(by_name=False),
    "gateway-tree-names": lambda _: tree_gateway(by_name=True),
    "gateway-tree-ids-compiled": lambda _: tree_gateway(by_name=False, compiled=True),
    "gateway-tree-names-compiled": lambda _: tree_gateway(by_name=True, compiled=True),
}
"""The targets by name, in the order of the table."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: ``bulk_gib`` a load and round, ``rss_gib`` in all before the resident
    set is read (at least what the rounds moved). ``share`` is of every load; less than 1 shows
    that the bench works, and its figures mean nothing."""

    rounds: int
    bulk_gib: float
    rss_gib: float
    targets: Sequence[str]
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The measurements of a run, and their targets."""

    samples: Samples
    titles: dict[str, str]
    versions: dict[str, tuple[int, int]]

    def with_those_of(self, other: Outcome) -> Outcome:
        """Both, of different targets."""
        return Outcome(
            Samples(self.samples.values | other.samples.values),
            self.titles | other.titles,
            self.versions | other.versions,
        )


def run(
    plan: Plan,
    say: Say,
    targets: Mapping[str, Callable[[Path], Target]] = TARGETS,
    all_loads: Sequence[Load] | None = None,
) -> Outcome:
    """Start a broker and the targets, measure, and end all of it.

    ``plan.targets`` are some of ``targets``; without ``all_loads`` they get every load.

    Raises TargetError, AnswerError, GeneratorError, or what devkit.broker raises.
    """
    cores = Cores.of_this_machine()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-bench-")))
        broker = KafkaCluster(overrides=BROKER_SETTINGS, heap="1g", quick_start=False)
        stack.enter_context(broker)
        # One core, one event loop: what each is told by its settings, or sees for itself.
        stack.enter_context(running_on(cores.proxies))
        subjects = []
        for name in plan.targets:
            say(f"starting {name}")
            target = stack.enter_context(targets[name](directory))
            target.start(broker.bootstrap_servers)
            subjects.append(prepare(target, directory))
        measurement = _Measurement(subjects, broker.process_id(_BROKER), cores, say)
        measurement.measure(plan, loads(plan.bulk_gib) if all_loads is None else all_loads)
        return Outcome(
            measurement.samples,
            {subject.target.name: subject.target.title for subject in subjects},
            {subject.target.name: subject.versions for subject in subjects},
        )


class _Measurement:
    """Targets that run, and what was measured of them so far."""

    def __init__(self, subjects: Sequence[Subject], broker: int, cores: Cores, say: Say) -> None:
        self.samples = Samples()
        self._subjects = subjects
        self._proxies = [subject for subject in subjects if subject.target.processes()]
        self._broker = broker
        self._cores = cores
        self._say = say

    def measure(self, plan: Plan, all_loads: Sequence[Load]) -> None:
        # Before anything else: memory that traffic left free would hide what connections take.
        for subject in self._proxies:
            self._say(f"idle connections: {subject.target.name}")
            self.samples.add(IDLE, subject.target.name, 0, idle_connections(subject))
        for subject in self._subjects:
            self._say(f"warming up {subject.target.name}")
            self._warm_up(subject, all_loads, plan.share)
        for number in range(plan.rounds):
            for load in all_loads:
                self._say(f"round {number + 1} of {plan.rounds}: {load.name}")
                self._round(number, load, plan.share)
        self._after_bulk(plan, [load for load in all_loads if isinstance(load, Bulk)])

    def _warm_up(self, subject: Subject, all_loads: Sequence[Load], share: float) -> None:
        for _ in range(_WARM_UPS):
            for load in all_loads:
                load.run(subject, share * _WARM_UP_SHARE)

    def _round(self, number: int, load: Load, share: float) -> None:
        """One load on every target, each round beginning with another one."""
        self._place(apart=load.kept_apart)
        first = number % len(self._subjects)
        for subject in [*self._subjects[first:], *self._subjects[:first]]:
            self.samples.add(load.name, subject.target.name, number, load.measure(subject, share))

    def _place(self, *, apart: bool) -> None:
        cores = self._cores
        proxies = [pid for subject in self._proxies for pid in subject.target.processes()]
        place(proxies, cores.proxies if apart else cores.all)
        helpers = [pid for subject in self._subjects for pid in subject.target.helpers()]
        # The generators take after this process.
        place([self._broker, os.getpid(), *helpers], cores.others if apart else cores.all)

    def _after_bulk(self, plan: Plan, bulk: Sequence[Bulk]) -> None:
        for subject in self._proxies:
            name = subject.target.name
            self._say(f"memory after bulk traffic: {name}")
            volumes = [self.samples.rounds(load.name, name, "gib") for load in bulk]
            moved = sum(sum(volume.values()) for volume in volumes)
            measures = after_bulk(subject, moved, plan.rss_gib, bulk)
            self.samples.add(AFTER_BULK, name, 0, measures)
