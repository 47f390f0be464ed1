"""Sizing.java while it runs: a producer and a consumer with Kafka's defaults, for one target."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

from bench.client import HOST
from bench.targets.target import Target
from bench.usage import cpu_seconds
from devkit.java import compile_java, java_command

VALUE_BYTES: Final = 1024
"""Bytes of a message, as in Sizing.java."""

SHARES: Final = ("p50", "p95", "p99", "p99.9", "max")
"""What is told of latencies, in the order of Sizing.java."""

_SOURCE: Final = Path(__file__).parent / "load" / "Sizing.java"
_OPTIONS: Final = ("-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")


class SizingError(Exception):
    """The load did not do what was asked; the text says what."""


@dataclass(frozen=True, slots=True)
class Window:
    """How a target did with messages at a rate, while it was measured.

    ``sent`` messages were due in the window, ``received`` of them came within ten seconds after
    it. Latencies are in milliseconds, from when a message was due, by the names in ``SHARES``:
    ``late`` until it was given to the producer, ``publish`` until it was acknowledged,
    ``end_to_end`` until the consumer had it. ``cpu``: the proxy's seconds (0: there is none).
    """

    rate: int
    topics: int
    seconds: float
    sent: int
    acked: int
    received: int
    failed: int
    late: dict[str, float]
    publish: dict[str, float]
    end_to_end: dict[str, float]
    cpu: float

    @property
    def megabytes_a_second(self) -> float:
        """MB of message values in both directions, a second: each is written, and read once."""
        return (self.acked + self.received) * VALUE_BYTES / 1e6 / self.seconds

    @property
    def millicores(self) -> float:
        """Thousandths of a core for each MB a second."""
        return self.cpu / self.seconds * 1000 / self.megabytes_a_second

    @property
    def sustained(self) -> bool:
        """Whether every message arrived, 99 of 100 within a second."""
        whole = self.sent == self.acked == self.received and not self.failed
        return whole and self.end_to_end["p99"] < 1000


@dataclass(frozen=True, slots=True)
class Measured:
    """A window of a target. ``climbing``: its rate is one of those that rise until the target falls
    behind. ``rss``: MiB of the proxy's largest process behind it (0: there is no proxy)."""

    target: str
    title: str
    climbing: bool
    window: Window
    rss: float


class SizingLoad:
    """The Java program for one target. Raises SizingError if it ends."""

    def __init__(self, target: Target, port: int, directory: Path) -> None:
        classes = compile_java(_SOURCE)
        arguments = [f"{HOST}:{port}", target.topic("sizing-")]
        command = java_command("Sizing", arguments, options=_OPTIONS, classes=classes)
        self._target = target
        self._log = directory / f"{target.name}-sizing.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def process_id(self) -> int:
        """The program's."""
        return self._process.pid

    def run(self, rate: int, topics: int, warmup: float, seconds: float) -> Window:
        """Send ``rate`` messages a second, in turn to the first of the target's topics; measured
        for ``seconds`` behind ``warmup`` seconds. Raises SizingError."""
        asked, printed = self._process.stdin, self._process.stdout
        assert asked is not None
        assert printed is not None
        asked.write(f"{rate} {topics} {round(warmup * 1000)} {round(seconds * 1000)}\n")
        asked.flush()
        pids = self._target.processes()
        self._expect(printed, "begin")
        began, cpu = time.monotonic(), cpu_seconds(pids)
        self._expect(printed, "end")
        lasted, cpu = time.monotonic() - began, cpu_seconds(pids) - cpu
        found = json.loads(self._line(printed))
        late, publish, end_to_end = (
            dict(zip(SHARES, found[name], strict=True))
            for name in ("late", "publish", "end_to_end")
        )
        sent, acked, received, failed = (
            int(found[name]) for name in ("sent", "acked", "received", "failed")
        )
        counts = (sent, acked, received, failed)
        return Window(rate, topics, lasted, *counts, late, publish, end_to_end, cpu)

    def _expect(self, printed: IO[str], wanted: str) -> None:
        line = self._line(printed)
        if line != wanted:
            raise SizingError(f"{self._target.name}: {line} instead of {wanted}")

    def _line(self, printed: IO[str]) -> str:
        line = printed.readline()
        if not line:
            raise SizingError(f"{self._target.name}: the load ended\n{self._log.read_text()}")
        return line.strip()
