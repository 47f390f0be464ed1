"""The traffic log: flow records and events, in rolling files, a topic of the cluster, or both.

The event loop only adds up flows, once a second, and hands whole windows over. A thread writes the
files, and a task writes the topic; the event loop waits for neither.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from gateway.brokers.messages import ClusterAdmin
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.replicated import own_security
from gateway.config.models import Config, TrafficLogSettings
from gateway.counts import Row
from gateway.flows import Denial, Flow, NeededAcl, PolicyEvent
from gateway.sinks.record_topic import RecordTopic
from gateway.sinks.record_writer import CLOSE_SECONDS, RecordSink, RecordWriter
from gateway.sinks.rolling_files import RollingFiles
from gateway.sinks.topic_partitions import Message, TopicPartitions, ensure_topic
from gateway.traffic.record import Origin, Record, Window
from gateway.traffic.rows import (
    FlowWindow,
    acl_record,
    denial_record,
    flow_record,
    policy_record,
)

WHAT: Final = "traffic log"

CONTENT_TYPE: Final = b"application/json; charset=UTF-8"

LEFT_BY_COMPACTION: Final = "records for ever"

STOP_SECONDS: Final = 3.0
"""Seconds to write the waiting records at the end: a worker is killed 5 s after its drain."""

ACL_AGAIN_SECONDS: Final = 3600
"""Seconds after which an ACL that is still needed gets another record."""

MAX_ACLS: Final = 100_000
"""Pairs of a principal and an ACL that are remembered as recorded; more are recorded again
sooner."""

Draft: TypeAlias = Callable[[], Record]
"""A record that is made only when it is written, so that with files a thread makes it."""


class TrafficLog:
    """The traffic log of a worker. All methods belong to the event loop's thread.

    ``clock`` returns seconds since 1970; ``sink`` replaces the files.
    """

    def __init__(
        self,
        settings: TrafficLogSettings,
        origin: Origin,
        *,
        clock: Callable[[], float] = time.time,
        sink: RollingFiles | None = None,
        topic: RecordTopic[Draft] | None = None,
    ) -> None:
        self._origin = origin
        self._clock = clock
        self._window_ms = settings.window_seconds * 1000
        self._topic = topic
        self._files: RecordWriter[Draft] | None = None
        self._sinks: list[RecordSink[Draft]] = []
        if sink is None and settings.directory is not None:
            stem = f"traffic-{origin.gateway_id}-w{origin.worker_id}"
            sink = RollingFiles(
                settings.directory, stem, settings.max_file_bytes, settings.max_files, what=WHAT
            )
        if sink is not None:
            self._files = RecordWriter(WHAT, sink, settings.max_queued_records, encode_line)
            self._sinks.append(self._files)
        if topic is not None:
            self._sinks.append(topic)
        # Unique even after a restart, and if the clock was set back in between.
        run = f"{int(clock() * 1000)}{secrets.token_hex(2)}"
        self._ids = f"{origin.gateway_id}-{origin.worker_id}-{run}-"
        self._number = 1
        self._window = FlowWindow()
        self._start_ms = self._window_start()
        self._acls: dict[NeededAcl, None] = {}
        self._recorded: set[NeededAcl] = set()
        self._recorded_since = 0.0
        self._folded = 0

    def start(self) -> None:
        """Make the first file and start writing. Raises SinkError if no file can be made."""
        if self._files is not None:
            self._files.open()

    async def start_topic(self) -> None:
        """Check the topic, or make it, and start writing to it.

        Raises TopicUnusable, and OSError if the cluster does not answer.
        """
        if self._topic is not None:
            await self._topic.start()

    def add(
        self,
        flows: Sequence[Flow],
        denials: Sequence[Denial],
        policies: Sequence[PolicyEvent] = (),
        acls: Collection[NeededAcl] = (),
    ) -> None:
        """Add the counts since the last call, about a second ago. Denials and policy events become
        records now, flows and needed ACLs when their window (``window_seconds``) is over."""
        start_ms = self._window_start()
        if start_ms != self._start_ms:
            self._hand_over()
            self._start_ms = start_ms
        self._window.add(flows)
        self._acls.update(dict.fromkeys(one for one in acls if one not in self._recorded))
        now = int(self._clock() * 1000)
        self._put(denial_record, ((now, denial) for denial in denials), len(denials))
        self._put(policy_record, ((now, event) for event in policies), len(policies))

    def take_rows(self) -> list[Row]:
        """The log's own counts since the last call, for the metrics."""
        rows = [
            row
            for sink in self._sinks
            for row in sink.take_rows("traffic_log_records", "traffic_log_dropped")
        ]
        folded, self._folded = self._folded, 0
        rows.append(("traffic_log_folded", ("",), folded))
        return rows

    @property
    def queued(self) -> int:
        """The number of records that wait to be written."""
        return sum(sink.queued for sink in self._sinks)

    def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Write the waiting records into files, for at most ``seconds``. Returns whether all were
        written."""
        self._hand_over()
        return self._files is None or self._files.close(seconds)

    async def stop(self) -> None:
        """Write the waiting records, within a few seconds; the rest is dropped and counted."""
        self._hand_over()
        await asyncio.gather(*(sink.stop(STOP_SECONDS) for sink in self._sinks))

    def _hand_over(self) -> None:
        full, self._window = self._window, FlowWindow()
        acls, self._acls = self._acls, {}
        self._note_recorded(acls)
        window = Window(self._start_ms, self._window_ms)
        self._put(flow_record, ((window, *item) for item in full.sums.items()), len(full.sums))
        self._put(acl_record, ((window.start_ms, one) for one in acls), len(acls))
        self._folded += full.folded

    def _note_recorded(self, acls: Collection[NeededAcl]) -> None:
        now = self._clock()
        if now - self._recorded_since >= ACL_AGAIN_SECONDS or len(self._recorded) >= MAX_ACLS:
            self._recorded.clear()
            self._recorded_since = now
        self._recorded.update(acls)

    def _put(
        self, make: Callable[..., Record], arguments: Iterable[tuple[Any, ...]], count: int
    ) -> None:
        """Hand records that ``make`` makes to each sink. If there are files and a topic, a record
        has the same id in both."""
        first, self._number = self._number, self._number + count
        if len(self._sinks) > 1:
            arguments = list(arguments)  # each sink iterates over it, in its own time

        def drafts() -> Iterator[Draft]:
            for number, each in enumerate(arguments, first):
                yield partial(make, self._origin, f"{self._ids}{number}", *each)

        for sink in self._sinks:
            sink.put_all(drafts(), count)

    def _window_start(self) -> int:
        now_ms = int(self._clock() * 1000)
        return now_ms - now_ms % self._window_ms


def encode_line(draft: Draft) -> bytes:
    """A record as a line: JSON in ASCII, because names may hold any characters."""
    return _json(draft()) + b"\n"


def encode_message(draft: Draft) -> Message:
    """A record as a message for the topic, with the record's id as its key."""
    record = draft()
    return Message(record["id"].encode(), _json(record), record["time_ms"])


def _json(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def open_traffic_log(config: Config, worker_id: int, admin: ClusterAdmin) -> TrafficLog | None:
    """The traffic log of a worker, not started yet, or None if it is disabled. Its topic is in the
    first cluster."""
    config = config.of_volume(config.clusters[0])
    settings, cluster = config.traffic_log, config.clusters[0]
    if not settings.enabled:
        return None
    topic: RecordTopic[Draft] | None = None
    if settings.topic is not None:
        name, replicas = settings.topic, config.catalog.replication_factor
        own = own_security(config, BrokerSecurity(cluster.security, config.security_key))
        topic = RecordTopic(
            f"{WHAT}'s topic",
            "records",
            TopicPartitions(cluster.bootstrap_servers, name, CONTENT_TYPE, own),
            settings.max_queued_records,
            lambda: ensure_topic("traffic_log.topic", LEFT_BY_COMPACTION, admin, name, replicas),
            encode_message,
        )
    return TrafficLog(settings, Origin(config.gateway_id, worker_id), topic=topic)
