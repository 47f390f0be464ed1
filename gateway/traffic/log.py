"""The traffic log: flow records and events, in rolling files, a topic of the cluster, or both.

The event loop only adds up flows, once a second, and hands whole windows over. Files are written by
a thread of their own, the topic by a task; neither is waited for.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from gateway.config.models import TrafficLogSettings
from gateway.counts import Row
from gateway.flows import Denial, Flow, PolicyEvent
from gateway.sinks.record_topic import RecordTopic
from gateway.sinks.record_writer import CLOSE_SECONDS, RecordWriter, Sink
from gateway.sinks.rolling_files import RollingFiles
from gateway.sinks.topic_partitions import Message
from gateway.traffic.record import Origin, Record, Window
from gateway.traffic.rows import acl_record, denial_record, flow_record, policy_record
from gateway.traffic.window import FlowWindow

WHAT: Final = "traffic log"

STOP_SECONDS: Final = 3.0
"""For what still waits at the end: a worker is killed 5 s after its drain."""

ACLS_TOLD_AGAIN: Final = 3600
"""Seconds after which an ACL that is still needed is told again."""

MAX_ACLS: Final = 100_000
"""Principals and ACLs that are remembered as told; beyond it they are told again earlier."""

Draft: TypeAlias = Callable[[], Record]
"""A record that is made when it is written: not by the event loop, where there are files."""


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
        topic: RecordTopic[Draft] | None = None,
    ) -> None:
        self._origin = origin
        self._clock = clock
        self._window_ms = settings.window_seconds * 1000
        self._topic = topic
        self._files: RecordWriter[Draft] | None = None
        if sink is None and settings.directory is not None:
            stem = f"traffic-{origin.gateway_id}-w{origin.worker_id}"
            sink = RollingFiles(
                settings.directory, stem, settings.max_file_bytes, settings.max_files, what=WHAT
            )
        if sink is not None:
            self._files = RecordWriter(WHAT, sink, settings.max_queued_records, encode_line)
        # Unique also after a restart, and if the clock was set back in between.
        run = f"{int(clock() * 1000)}{secrets.token_hex(2)}"
        self._ids = f"{origin.gateway_id}-{origin.worker_id}-{run}-"
        self._number = 1
        self._window = FlowWindow()
        self._start_ms = self._window_start()
        self._acls: dict[tuple[str, str], None] = {}
        self._told: set[tuple[str, str]] = set()
        self._told_since = 0.0
        self._folded = 0

    def start(self) -> None:
        """Make the first file and start writing. Raises OSError if there can be no file."""
        if self._files is not None:
            self._files.start()

    async def start_topic(self) -> None:
        """Check the topic, or make it, and start writing it.

        Raises TopicUnusable, and OSError when the cluster does not answer.
        """
        if self._topic is not None:
            await self._topic.start()

    def add(
        self,
        flows: Sequence[Flow],
        denials: Sequence[Denial],
        policies: Sequence[PolicyEvent] = (),
        acls: Collection[tuple[str, str]] = (),
    ) -> None:
        """Add what was counted since the last call, at most about a second ago. ``acls`` are
        principals, each with an ACL that it needs."""
        start_ms = self._window_start()
        if start_ms != self._start_ms:
            self._hand_over()
            self._start_ms = start_ms
        self._window.add(flows)
        self._acls.update(dict.fromkeys(one for one in acls if one not in self._told))
        now = int(self._clock() * 1000)
        self._put(denial_record, ((now, denial) for denial in denials), len(denials))
        self._put(policy_record, ((now, event) for event in policies), len(policies))

    def take_rows(self) -> list[Row]:
        """What happened since the last call, for the metrics."""
        rows: list[Row] = []
        for name, sink in (("file", self._files), ("topic", self._topic)):
            if sink is not None:
                written, dropped = sink.take_counts()
                rows.append(("traffic_log_records", (name,), written))
                rows += [("traffic_log_dropped", (name, why), n) for why, n in dropped.items()]
        folded, self._folded = self._folded, 0
        rows.append(("traffic_log_folded", ("",), folded))
        return rows

    @property
    def queued(self) -> int:
        """Records that wait to be written."""
        return sum(sink.queued for sink in (self._files, self._topic) if sink is not None)

    def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Write what there is into files, for at most ``seconds``; whether all of it was."""
        self._hand_over()
        return self._files is None or self._files.close(seconds)

    async def stop(self) -> None:
        """Write what there is, within a few seconds; the rest is dropped and counted."""
        self._hand_over()
        # Waiting for the thread must not keep the topic's writer from writing meanwhile.
        files = None
        if self._files is not None:
            files = asyncio.create_task(asyncio.to_thread(self._files.close, STOP_SECONDS))
        if self._topic is not None:
            await self._topic.stop(STOP_SECONDS)
        if files is not None:
            await files

    def _hand_over(self) -> None:
        full, self._window = self._window, FlowWindow()
        acls, self._acls = self._acls, {}
        self._note_told(acls)
        window = Window(self._start_ms, self._window_ms)
        self._put(flow_record, ((window, *item) for item in full.sums.items()), len(full.sums))
        self._put(acl_record, ((window.start_ms, *one) for one in acls), len(acls))
        self._folded += full.folded

    def _note_told(self, acls: Collection[tuple[str, str]]) -> None:
        now = self._clock()
        if now - self._told_since >= ACLS_TOLD_AGAIN or len(self._told) >= MAX_ACLS:
            self._told.clear()
            self._told_since = now
        self._told.update(acls)

    def _put(
        self, make: Callable[..., Record], arguments: Iterable[tuple[Any, ...]], count: int
    ) -> None:
        """Hand over records that ``make`` makes; both places get them under the same ids."""
        first, self._number = self._number, self._number + count
        if self._topic is not None:
            arguments = list(arguments)  # both go through it, each in its time

        def drafts(given: Iterable[tuple[Any, ...]]) -> Iterator[Draft]:
            for number, each in enumerate(given, first):
                yield partial(make, self._origin, f"{self._ids}{number}", *each)

        if self._files is not None:
            self._files.put(drafts(arguments), count)
        if self._topic is not None:
            self._topic.put_all(drafts(arguments), count)

    def _window_start(self) -> int:
        now_ms = int(self._clock() * 1000)
        return now_ms - now_ms % self._window_ms


def encode_line(draft: Draft) -> bytes:
    """One line: JSON in ASCII, whatever the names hold."""
    return _json(draft()) + b"\n"


def encode_message(draft: Draft) -> Message:
    """The same for the topic, under the record's id."""
    record = draft()
    return Message(record["id"].encode(), _json(record), record["time_ms"])


def _json(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()
