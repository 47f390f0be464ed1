"""The traffic log: flow and denial records in rolling files, written by a thread of its own.

The event loop only adds up flows, once a second, and hands whole windows over.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from gateway.config import TrafficLogSettings
from gateway.flows import Denial, Flow
from gateway.record_writer import CLOSE_SECONDS, RecordWriter, Sink
from gateway.rolling_files import RollingFiles
from gateway.traffic_record import Origin, Window, denial_record, flow_record
from gateway.traffic_window import FlowWindow

WHAT = "traffic log"

Record: TypeAlias = dict[str, Any]


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
        sink = sink or RollingFiles(
            settings.directory, stem, settings.max_file_bytes, settings.max_files, what=WHAT
        )
        self._writer: RecordWriter[Record] = RecordWriter(
            WHAT, sink, settings.max_queued_records, encode_record
        )
        self._window = FlowWindow()
        self._start_ms = self._window_start()
        self._folded = 0

    def start(self) -> None:
        """Make the first file and start writing. Raises OSError if there can be no file."""
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
        written, dropped = self._writer.take_counts()
        folded, self._folded = self._folded, 0
        counters = {
            "traffic_log_records": {"": written} if written else {},
            "traffic_log_dropped": dropped,
            "traffic_log_folded": {"": folded} if folded else {},
        }
        return {family: counts for family, counts in counters.items() if counts}

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
        self._folded += full.folded

    def _window_start(self) -> int:
        now_ms = int(self._clock() * 1000)
        return now_ms - now_ms % self._window_ms


def encode_record(record: Record) -> bytes:
    """One line: JSON in ASCII, whatever the names hold."""
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
