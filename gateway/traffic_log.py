"""The traffic log: flow and denial records in rolling files, written by a thread of its own.

The event loop only adds up flows, once a second, and hands whole windows over. What the writer
cannot take in time is dropped and counted: a slow disk never slows a client.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias

from gateway.config import TrafficLogSettings
from gateway.flows import Denial, Flow
from gateway.traffic_files import RollingFiles
from gateway.traffic_record import Origin, Window, denial_record, flow_record
from gateway.traffic_window import FlowWindow

log = logging.getLogger(__name__)

CHUNK = 50
"""Records written at a time; between chunks the event loop gets the interpreter."""

PAUSE_SECONDS = 0.001
CLOSE_SECONDS = 5.0
RETRY_SECONDS = 1.0
"""How long records are dropped, after a write has failed, before the next one is tried."""

_COMPLAINT_SECONDS = 60.0


class Sink(Protocol):
    """Where lines go. ``write`` takes whole lines and raises OSError; all of it may block."""

    def prepare(self) -> None: ...
    def tidy(self) -> None: ...
    def write(self, lines: bytes) -> None: ...
    def close(self) -> None: ...


Record: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class _Batch:
    """Records that are made only when they are written, and how many they are."""

    records: Iterator[Record]
    left: int


class TrafficLog:
    """One worker's traffic log. All methods belong to the event loop's thread.

    ``clock`` gives seconds since 1970; ``sink`` replaces the files.
    """

    def __init__(
        self,
        settings: TrafficLogSettings,
        origin: Origin,
        *,
        clock: Callable[[], float] = time.time,
        sink: Sink | None = None,
    ) -> None:
        self._origin = origin
        self._clock = clock
        self._window_ms = settings.window_seconds * 1000
        stem = f"traffic-{origin.gateway_id}-w{origin.worker_id}"
        self._sink: Sink = sink or RollingFiles(
            settings.directory, stem, settings.max_file_bytes, settings.max_files
        )
        self._writer = _Writer(self._sink, settings.max_queued_records)
        self._window = FlowWindow()
        self._start_ms = self._window_start()

    def start(self) -> None:
        """Make the first file and start writing. Raises OSError if there can be no file."""
        self._sink.prepare()
        self._writer.start()

    def add(self, flows: Sequence[Flow], denials: Sequence[Denial]) -> None:
        """Add what was counted since the last call, at most about a second ago."""
        start_ms = self._window_start()
        if start_ms != self._start_ms:
            self._hand_over()
            self._start_ms = start_ms
        self._window.add(flows)
        if denials:
            time_ms = int(self._clock() * 1000)
            records = (denial_record(self._origin, time_ms, denial) for denial in denials)
            self._writer.put(records, len(denials))

    def take_counters(self) -> Mapping[str, Mapping[str, int]]:
        """What happened since the last call: family to label to count, as in WorkerReport."""
        return self._writer.take_counters()

    @property
    def queued(self) -> int:
        """Records that wait to be written."""
        return self._writer.queued

    def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Write what there is, for at most ``seconds``; whether all of it was written."""
        self._hand_over()
        return self._writer.close(seconds)

    def _hand_over(self) -> None:
        full, self._window = self._window, FlowWindow()
        window = Window(self._start_ms, self._window_ms)
        records = (flow_record(self._origin, window, key, sums) for key, sums in full.sums.items())
        self._writer.put(records, len(full.sums))
        self._writer.count("traffic_log_folded", "", full.folded)

    def _window_start(self) -> int:
        now_ms = int(self._clock() * 1000)
        return now_ms - now_ms % self._window_ms


class _Writer:
    """The thread, its queue, and what it counts."""

    def __init__(self, sink: Sink, max_queued: int) -> None:
        self._sink = sink
        self._max_queued = max_queued
        self._batches: deque[_Batch] = deque()
        self._queued = 0
        self._counters: dict[str, dict[str, int]] = {}
        self._changed = threading.Condition()
        self._closing = threading.Event()
        # A daemon: a disk that hangs must not keep the process.
        self._thread = threading.Thread(target=self._run, name="traffic log", daemon=True)
        self._failed_at: float | None = None
        self._complained_at: float | None = None

    def start(self) -> None:
        self._thread.start()

    @property
    def queued(self) -> int:
        return self._queued

    def put(self, records: Iterable[Record], count: int) -> None:
        """Queue records; those that do not fit are dropped."""
        if not count:
            return
        with self._changed:
            room = max(0, self._max_queued - self._queued)
            taken = min(count, room)
            if taken:
                self._batches.append(_Batch(islice(iter(records), taken), taken))
                self._queued += taken
                self._changed.notify()
        self.count("traffic_log_dropped", "queue full", count - taken)

    def count(self, family: str, label: str, count: int) -> None:
        if count:
            with self._changed:
                counts = self._counters.setdefault(family, {})
                counts[label] = counts.get(label, 0) + count

    def take_counters(self) -> Mapping[str, Mapping[str, int]]:
        with self._changed:
            counters, self._counters = self._counters, {}
        return counters

    def close(self, seconds: float) -> bool:
        with self._changed:
            self._closing.set()
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(seconds)
        if self._queued:
            log.warning("traffic log: %d records were not written in time", self._queued)
            self.count("traffic_log_dropped", "stopped", self._queued)
        return not self._queued

    def _run(self) -> None:
        try:
            self._sink.tidy()
        except OSError as error:
            self._complain(error)
        while (records := self._take()) is not None:
            self._write(records)
            self._closing.wait(PAUSE_SECONDS)
        self._sink.close()

    def _take(self) -> list[Record] | None:
        """The next records; None when there are none left and no more will come."""
        with self._changed:
            while not self._batches:
                if self._closing.is_set():
                    return None
                self._changed.wait()
            batch = self._batches[0]
        records = list(islice(batch.records, CHUNK))
        with self._changed:
            batch.left -= len(records)
            if batch.left <= 0:
                self._batches.popleft()
        return records

    def _write(self, records: list[Record]) -> None:
        try:
            if self._failed_at is not None and time.monotonic() < self._failed_at + RETRY_SECONDS:
                self.count("traffic_log_dropped", "write failed", len(records))
                return
            self._sink.write(b"".join(map(encode_record, records)))
        except OSError as error:
            self._failed_at = time.monotonic()
            self._complain(error)
            self.count("traffic_log_dropped", "write failed", len(records))
        else:
            self._failed_at = None
            self.count("traffic_log_records", "", len(records))
        finally:
            with self._changed:
                self._queued -= len(records)

    def _complain(self, error: OSError) -> None:
        now = time.monotonic()
        if self._complained_at is None or now - self._complained_at >= _COMPLAINT_SECONDS:
            self._complained_at = now
            log.error("traffic log: records are dropped, writing failed: %s", error)


def encode_record(record: Record) -> bytes:
    """One line: JSON in ASCII, whatever the names hold."""
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
