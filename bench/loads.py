"""The loads: what is put on every target, and what is measured of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

from bench import generators
from bench.generators import Report
from bench.subject import Subject
from bench.usage import cpu_seconds

GIB: Final = 1 << 30
MB: Final = 1e6

Measures = dict[str, float]
"""What one load on one target gave, by metric."""


@dataclass(frozen=True, slots=True)
class Load(ABC):
    """A load: ``request`` is what is sent, by its name in :class:`bench.subject.Subject`."""

    name: str
    request: str

    def measure(self, subject: Subject, share: float = 1.0) -> Measures:
        """Put it, or a share of it, on ``subject`` once. Raises GeneratorError if anything goes
        wrong."""
        pids = subject.target.processes()
        before = cpu_seconds(pids)
        report = self.run(subject, share)
        measures = self.measures(report, cpu_seconds(pids) - before)
        if not pids:
            del measures["cpu"]
        return measures

    @property
    @abstractmethod
    def kept_apart(self) -> bool:
        """Whether the proxies run on a core of their own during this load (``bench.cores``)."""

    @abstractmethod
    def run(self, subject: Subject, share: float = 1.0) -> Report:
        """Run the generator, with that share of the load's size."""

    @abstractmethod
    def measures(self, report: Report, cpu: float) -> Measures:
        """The metrics that follow from the report and the proxy's CPU seconds."""


@dataclass(frozen=True, slots=True)
class Bulk(Load):
    """Large requests or responses, ``gib`` of them, as fast as they go."""

    gib: float
    connections: int
    depth: int

    @property
    def kept_apart(self) -> bool:
        """Its CPU time counts."""
        return True

    def run(self, subject: Subject, share: float = 1.0) -> Report:
        """Send as many requests as make up the volume."""
        prepared = subject.requests[self.request]
        size = max(prepared.request_size, prepared.response_size)
        return generators.replay(
            subject.leader_port,
            prepared.path,
            count=max(1, round(self.gib * share * GIB / size)),
            connections=self.connections,
            depth=self.depth,
            zero_at=prepared.zero_at,
        )

    def measures(self, report: Report, cpu: float) -> Measures:
        """CPU seconds a GiB, MB a second, and the GiB themselves."""
        moved = report.bytes_out + report.bytes_in
        return {
            "cpu": cpu / (moved / GIB),
            "rate": moved / MB / report.seconds,
            "gib": moved / GIB,
        }


@dataclass(frozen=True, slots=True)
class Pipelined(Load):
    """Small requests, ``depth`` unanswered on each connection; depth 1 is a closed loop."""

    count: int
    connections: int = 1
    depth: int = 1

    @property
    def kept_apart(self) -> bool:
        """The CPU time of a pipeline counts, the latency of a closed loop."""
        return self.depth > 1

    def run(self, subject: Subject, share: float = 1.0) -> Report:
        """``count`` requests."""
        prepared = subject.requests[self.request]
        return generators.replay(
            subject.leader_port,
            prepared.path,
            count=max(1, round(self.count * share)),
            connections=self.connections,
            depth=self.depth,
            zero_at=prepared.zero_at,
        )

    def measures(self, report: Report, cpu: float) -> Measures:
        """CPU microseconds a request, requests a second, latency in microseconds."""
        return _per_request(report, cpu)


@dataclass(frozen=True, slots=True)
class Paced(Load):
    """``rate`` requests a second for ``seconds``, whatever the answers do."""

    rate: int
    seconds: float
    connections: int

    @property
    def kept_apart(self) -> bool:
        """Its latency counts."""
        return False

    def run(self, subject: Subject, share: float = 1.0) -> Report:
        """Send at the same rate for a share of the time."""
        prepared = subject.requests[self.request]
        return generators.paced(
            subject.leader_port,
            prepared.path,
            count=max(1, round(self.rate * self.seconds * share)),
            rate=self.rate,
            connections=self.connections,
            zero_at=prepared.zero_at,
        )

    def measures(self, report: Report, cpu: float) -> Measures:
        """CPU microseconds a request, requests a second, latency in microseconds."""
        return _per_request(report, cpu)


def _per_request(report: Report, cpu: float) -> Measures:
    return {
        "cpu": cpu / report.requests * 1e6,
        "rate": report.requests / report.seconds,
        "p50": report.p50_us,
        "p99": report.p99_us,
    }


BULK: Final = ("bulk produce", "bulk fetch")
PIPELINED: Final = ("pipelined produce", "pipelined fetch")
CLOSED: Final = ("closed-loop produce", "closed-loop fetch")
PACED: Final = ("paced produce", "paced fetch")


def loads(bulk_gib: float) -> tuple[Load, ...]:
    """All loads; each bulk load moves ``bulk_gib`` a round."""
    return (
        Bulk(BULK[0], "bulk produce", bulk_gib, connections=2, depth=3),
        Bulk(BULK[1], "bulk fetch", bulk_gib, connections=2, depth=1),
        Pipelined(PIPELINED[0], "small produce", 20_000, connections=8, depth=16),
        Pipelined(PIPELINED[1], "small fetch", 20_000, connections=8, depth=16),
        Pipelined(CLOSED[0], "small produce", 2_000),
        Pipelined(CLOSED[1], "small fetch", 2_000),
        Paced(PACED[0], "small produce", 2_000, 2.0, connections=8),
        Paced(PACED[1], "small fetch", 2_000, 2.0, connections=8),
    )
