"""gateway.traffic.log: windows, the writer's thread, and slow or broken disks."""

from __future__ import annotations

import errno
import json
import re
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from devkit.waiting import wait_until
from gateway.config.models import TrafficLogSettings
from gateway.flows import NeededAcl, PolicyEvent
from gateway.sinks import record_writer
from gateway.sinks.record_topic import RecordTopic
from gateway.sinks.record_writer import SinkError
from gateway.sinks.rolling_files import RollingFiles
from gateway.traffic.log import Draft, TrafficLog, encode_message
from gateway.traffic.record import Origin
from tests.audit.test_topic import FakePartitions
from tests.gateway.flow_samples import denial, flow, source
from tests.waiting import eventually

START = 1_700_000_000.0


class MemorySink(RollingFiles):
    """Lines in memory. ``gate`` holds the writer up, ``error`` rejects its lines."""

    def __init__(self) -> None:
        self.data = b""
        self.gate = threading.Event()
        self.gate.set()
        self.error: OSError | None = None
        self.tries = 0
        self.closed = False

    def prepare(self) -> None:
        if self.error is not None:
            raise self.error

    def tidy(self) -> None:
        self.prepare()

    def write(self, lines: bytes) -> None:
        self.tries += 1
        self.gate.wait(120)
        if self.error is not None:
            raise self.error
        self.data += lines

    def close(self) -> None:
        self.closed = True

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.data.splitlines()]


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


def made(
    sink: MemorySink | None = None,
    clock: Callable[[], float] = Clock(),  # noqa: B008 - never changed here
    directory: Path = Path("/nowhere"),
    max_queued: int = 1_000,
    topic: RecordTopic[Draft] | None = None,
) -> TrafficLog:
    settings = TrafficLogSettings(directory=directory, max_queued_records=max_queued)
    return TrafficLog(settings, Origin("gw", 0), clock=clock, sink=sink, topic=topic)


def counted(log: TrafficLog) -> dict[str, int]:
    """The counts that are not zero, by family and labels."""
    rows = [(" ".join((family, *map(str, labels))), n) for family, labels, n in log.take_rows()]
    return {name: n for name, n in rows if n and isinstance(n, int)}


def test_flows_are_written_when_their_window_is_over() -> None:
    sink, clock = MemorySink(), Clock()
    clock.now = START + 3.5
    log = made(sink, clock)
    log.start()
    log.add([flow(led=1)], [])
    clock.now = START + 9.999
    log.add([flow(led=2)], [])
    clock.now = START + 10
    log.add([flow(led=4)], [])
    wait_until(lambda: sink.records, "the first window", 120)
    ((first),) = sink.records
    assert (first["time_ms"], first["window_ms"]) == (int(START * 1000), 10_000)
    assert first["led_requests"] == 3
    assert log.close()
    assert [record["led_requests"] for record in sink.records] == [3, 4]
    assert sink.records[1]["time_ms"] == int((START + 10) * 1000)
    assert sink.closed
    assert counted(log) == {"traffic_log_records file": 2}


def test_a_clock_that_is_set_back_loses_nothing() -> None:
    sink, clock = MemorySink(), Clock()
    log = made(sink, clock)
    log.start()
    log.add([flow(led=1)], [])
    clock.now = START - 3600
    log.add([flow(led=2)], [])
    assert log.close()
    assert [record["led_requests"] for record in sink.records] == [1, 2]


def test_denials_do_not_wait_for_the_window() -> None:
    sink, clock = MemorySink(), Clock()
    clock.now = START + 0.123
    log = made(sink, clock)
    log.start()
    log.add([flow(led=1)], [denial(resource="nope:a"), denial(resource="nope:b")])
    wait_until(lambda: len(sink.records) == 2, "both denials", 120)
    assert [record["resource"] for record in sink.records] == ["nope:a", "nope:b"]
    assert {record["time_ms"] for record in sink.records} == {int(START * 1000) + 123}
    assert log.close()


def test_many_records_come_in_order() -> None:
    sink = MemorySink()
    log = made(sink)
    log.start()
    flows = [flow(source(client_id=f"c{number}")) for number in range(500)]
    log.add(flows, [])
    assert log.close(30)
    assert [record["client_id"] for record in sink.records] == [f"c{n}" for n in range(500)]
    assert sink.tries == 500 // record_writer.CHUNK


def test_a_slow_disk_costs_records_and_no_time() -> None:
    sink = MemorySink()
    sink.gate.clear()
    log = made(sink, max_queued=120)
    log.start()
    for _ in range(5):
        log.add([], [denial() for _ in range(100)])
    assert log.queued <= 120
    dropped = counted(log)["traffic_log_dropped file queue full"]
    assert dropped == 500 - 120
    sink.gate.set()
    assert log.close()
    assert len(sink.records) == 120
    assert log.queued == 0


def test_a_disk_that_hangs_does_not_hold_up_the_end() -> None:
    sink = MemorySink()
    sink.gate.clear()
    log = made(sink)
    log.start()
    log.add([], [denial()])
    wait_until(lambda: sink.tries, "a write", 120)
    assert not log.close(0.01)
    assert counted(log) == {"traffic_log_dropped file stopped": 1}
    sink.gate.set()


def test_write_errors_are_counted_and_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_writer, "RETRY_SECONDS", 0.0)
    sink = MemorySink()
    log = made(sink)
    log.start()
    sink.error = OSError(errno.ENOSPC, "No space left on device")
    for _ in range(3):
        log.add([], [denial()])
    wait_until(lambda: log.queued == 0, "three failures", 120)
    assert sink.tries >= 1
    sink.error = None
    log.add([], [denial(resource="after")])
    assert log.close()
    assert [record["resource"] for record in sink.records] == ["after"]
    assert counted(log) == {
        "traffic_log_dropped file write failed": 3,
        "traffic_log_records file": 1,
    }
    assert caplog.text.count("No space left on device") == 1


def test_after_an_error_the_disk_is_left_alone_for_a_while() -> None:
    sink = MemorySink()
    log = made(sink)
    log.start()
    sink.error = OSError(errno.ENOSPC, "No space left on device")
    log.add([], [denial()])
    wait_until(lambda: log.queued == 0, "a failure", 120)
    log.add([], [denial() for _ in range(10)])
    wait_until(lambda: log.queued == 0, "ten more", 120)
    assert sink.tries == 1
    assert counted(log) == {"traffic_log_dropped file write failed": 11}
    assert log.close()


def test_clients_beyond_the_bound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = MemorySink()
    log = made(sink)
    monkeypatch.setattr(log._window, "_max_keys", 2)
    log.start()
    log.add([flow(source(client_id=f"c{number}"), led=1) for number in range(5)], [])
    assert log.close()
    assert counted(log)["traffic_log_folded "] == 3
    assert sum(record["led_requests"] for record in sink.records) == 5


def test_a_log_that_cannot_be_written_does_not_start() -> None:
    sink = MemorySink()
    sink.error = OSError(errno.EACCES, "Permission denied")
    log = made(sink)
    with pytest.raises(SinkError, match=r"traffic log cannot be written: .*Permission denied"):
        log.start()
    assert log.close()


def test_files_that_cannot_be_tidied_do_not_stop_the_writer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = MemorySink()

    def reject() -> None:
        raise OSError(errno.EIO, "Input/output error")

    sink.tidy = reject  # type: ignore[method-assign]
    log = made(sink)
    log.start()
    log.add([], [denial()])
    assert log.close()
    assert len(sink.records) == 1
    assert "Input/output error" in caplog.text


def test_real_files(tmp_path: Path) -> None:
    log = made(directory=tmp_path)
    log.start()
    odd = source(client_id='"é\n\ud800\x00')
    log.add([flow(odd, led=1)], [denial(odd)])
    assert log.close()
    (path,) = tmp_path.iterdir()
    assert re.fullmatch(r"traffic-gw-w0-\d{13}\.jsonl", path.name)
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [record["kind"] for record in records] == ["denial", "flow"]
    assert {record["client_id"] for record in records} == {'"é\n\ud800\x00'}


# -- events, ids and the topic --------------------------------------------------------------------

READ = "ALLOW READ for User:alice on TOPIC:LITERAL:x"


def event(outcome: str = "near") -> PolicyEvent:
    where = "org", "org:x", "partitions.max", "policies.namespaces.org", "enforce"
    return PolicyEvent("User:alice", *where, outcome, "Why.", 10, 12)


async def prepare() -> None:
    """Do nothing, because the topic exists."""


def topic_of(partitions: FakePartitions) -> RecordTopic[Draft]:
    return RecordTopic("traffic log's topic", "records", partitions, 100, prepare, encode_message)


def test_no_two_records_have_one_id() -> None:
    found = []
    for _ in range(2):  # the second one is a process that was started again, by a clock that stands
        sink = MemorySink()
        log = made(sink)
        log.start()
        log.add(
            [flow(led=1), flow(topic="x")],
            [denial(), denial()],
            [event()],
            [NeededAcl("alice", READ)],
        )
        assert log.close()
        found += [record["id"] for record in sink.records]
    assert len(set(found)) == len(found) == 12
    assert all(text.startswith("gw-0-") for text in found)


def test_policy_events_do_not_wait_for_the_window() -> None:
    sink = MemorySink()
    log = made(sink)
    log.start()
    log.add([], [], [event("refused"), event("near")])
    wait_until(lambda: len(sink.records) == 2, "both events", 120)
    assert [record["outcome"] for record in sink.records] == ["refused", "near"]
    assert log.close()


def test_an_acl_is_told_once_an_hour() -> None:
    sink, clock = MemorySink(), Clock()
    log = made(sink, clock)
    log.start()
    told = []
    for seconds in range(0, 7_300, 5):
        clock.now = START + seconds
        log.add([], [], [], {NeededAcl("User:alice", READ)})
        told.append(seconds)
    assert log.close()
    acls = [record for record in sink.records if record["kind"] == "acl"]
    assert [(record["principal"], record["acl"]) for record in acls] == [("User:alice", READ)] * 3
    times = [record["time_ms"] // 1000 - int(START) for record in acls]
    assert times[0] == 0
    assert all(3_590 <= later - one <= 3_620 for one, later in pairwise(times))


async def test_files_and_topic_get_the_same_records() -> None:
    sink, partitions = MemorySink(), FakePartitions()
    log = made(sink, topic=topic_of(partitions))
    log.start()
    await log.start_topic()
    log.add([flow(led=1)], [denial()], [event()], [NeededAcl("User:alice", READ)])
    assert log.queued
    await log.stop()
    assert [json.loads(message.value) for message in partitions.messages] == sink.records
    assert [record["kind"] for record in sink.records] == ["denial", "policy", "flow", "acl"]
    for message, record in zip(partitions.messages, sink.records, strict=True):
        assert message.key.decode() == record["id"]
        assert message.time == record["time_ms"]
    assert counted(log) == {"traffic_log_records file": 4, "traffic_log_records topic": 4}
    assert sink.closed
    assert partitions.closed


async def test_a_topic_alone() -> None:
    partitions = FakePartitions()
    settings = TrafficLogSettings(directory=None, topic="__kafka_gateway_traffic")
    log = TrafficLog(settings, Origin("gw", 0), topic=topic_of(partitions))
    log.start()
    await log.start_topic()
    log.add([flow(led=1)], [])
    await log.stop()
    assert len(partitions.messages) == 1


async def test_a_dead_cluster_costs_the_topics_records_alone() -> None:
    sink, partitions = MemorySink(), FakePartitions()
    log = made(sink, topic=topic_of(partitions), max_queued=1_000)
    log.start()
    await log.start_topic()
    partitions.gate.clear()
    log.add([], [denial() for _ in range(150)])
    await eventually(lambda: partitions.writes, "a write that hangs")
    log.add([], [denial() for _ in range(50)])
    wait_until(lambda: len(sink.records) == 200, "the files", 120)
    assert counted(log) == {
        "traffic_log_records file": 200,
        "traffic_log_dropped topic queue full": 100,
    }
    partitions.gate.set()
    await log.stop()
    assert len(partitions.messages) == 100
