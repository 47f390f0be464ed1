"""gateway.traffic_log: windows, the writer's thread, and slow or broken disks."""

from __future__ import annotations

import errno
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devkit.waiting import wait_until
from gateway import record_writer
from gateway.config import TrafficLogSettings
from gateway.traffic_log import TrafficLog
from gateway.traffic_record import Origin
from tests.gateway.flow_samples import denial, flow, source

START = 1_700_000_000.0


class MemorySink:
    """Lines in memory. ``gate`` holds the writer up, ``error`` refuses what comes."""

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
        self.gate.wait(20)
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
) -> TrafficLog:
    settings = TrafficLogSettings(directory=directory, max_queued_records=max_queued)
    return TrafficLog(settings, Origin("gw", 0), clock=clock, sink=sink)


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
    wait_until(lambda: sink.records, "the first window", 10)
    ((first),) = sink.records
    assert (first["time_ms"], first["window_ms"]) == (int(START * 1000), 10_000)
    assert first["led_requests"] == 3
    assert log.close()
    assert [record["led_requests"] for record in sink.records] == [3, 4]
    assert sink.records[1]["time_ms"] == int((START + 10) * 1000)
    assert sink.closed
    assert log.take_counters() == {"traffic_log_records": {"": 2}}


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
    wait_until(lambda: len(sink.records) == 2, "both denials", 10)
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
    dropped = log.take_counters()["traffic_log_dropped"]["queue full"]
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
    wait_until(lambda: sink.tries, "a write", 10)
    assert not log.close(0.01)
    assert log.take_counters() == {"traffic_log_dropped": {"stopped": 1}}
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
    wait_until(lambda: log.queued == 0, "three failures", 10)
    assert sink.tries >= 1
    sink.error = None
    log.add([], [denial(resource="after")])
    assert log.close()
    assert [record["resource"] for record in sink.records] == ["after"]
    assert log.take_counters() == {
        "traffic_log_dropped": {"write failed": 3},
        "traffic_log_records": {"": 1},
    }
    assert caplog.text.count("No space left on device") == 1


def test_after_an_error_the_disk_is_left_alone_for_a_while() -> None:
    sink = MemorySink()
    log = made(sink)
    log.start()
    sink.error = OSError(errno.ENOSPC, "No space left on device")
    log.add([], [denial()])
    wait_until(lambda: log.queued == 0, "a failure", 10)
    log.add([], [denial() for _ in range(10)])
    wait_until(lambda: log.queued == 0, "ten more", 10)
    assert sink.tries == 1
    assert log.take_counters() == {"traffic_log_dropped": {"write failed": 11}}
    assert log.close()


def test_clients_beyond_the_bound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = MemorySink()
    log = made(sink)
    monkeypatch.setattr(log._window, "_max_keys", 2)
    log.start()
    log.add([flow(source(client_id=f"c{number}"), led=1) for number in range(5)], [])
    assert log.close()
    assert log.take_counters()["traffic_log_folded"] == {"": 3}
    assert sum(record["led_requests"] for record in sink.records) == 5


def test_a_log_that_cannot_be_written_does_not_start() -> None:
    sink = MemorySink()
    sink.error = OSError(errno.EACCES, "Permission denied")
    log = made(sink)
    with pytest.raises(OSError, match="Permission denied"):
        log.start()
    assert log.close()


def test_files_that_cannot_be_tidied_do_not_stop_the_writer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = MemorySink()

    def refuse() -> None:
        raise OSError(errno.EIO, "Input/output error")

    sink.tidy = refuse  # type: ignore[method-assign]
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
    assert path.name == "traffic-gw-w0-00000001.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [record["kind"] for record in records] == ["denial", "flow"]
    assert {record["client_id"] for record in records} == {'"é\n\ud800\x00'}
