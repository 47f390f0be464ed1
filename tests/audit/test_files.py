"""gateway.audit.setup: events in files, and disks that are slow or full."""

from __future__ import annotations

import asyncio
import errno
import json
import re
import time
from pathlib import Path

import pytest

from devkit.waiting import wait_until
from gateway.audit.audit import Audit
from gateway.audit.event import Happening
from gateway.audit.setup import audit_files, rolling
from gateway.sinks.record_writer import SinkError
from tests.audit import audit_samples as samples
from tests.audit.cloud_events import checked
from tests.traffic.test_log import MemorySink


def lines(directory: Path) -> list[bytes]:
    return [line for path in sorted(directory.iterdir()) for line in path.read_bytes().splitlines()]


async def test_one_event_a_line(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "b"
    sink = audit_files(samples.SOURCE, rolling(directory, "audit-gw-w0", 10_000, 3), 1_000)
    await sink.start()
    happened: list[Happening] = [samples.acl_denial(), samples.failure("\n\u2028é")]
    for number, what in enumerate(happened):
        sink.put(samples.event(what, number))
    await sink.stop(5)
    assert [checked(line)["id"][-2:] for line in lines(directory)] == ["-0", "-1"]
    (path,) = directory.iterdir()
    assert re.fullmatch(r"audit-gw-w0-\d{13}\.jsonl", path.name)
    assert sink.take_counts() == (2, {})
    assert sink.queued == 0


async def test_only_the_gateway_and_its_group_read_them(tmp_path: Path) -> None:
    sink = audit_files(samples.SOURCE, rolling(tmp_path, "audit-gw-w0", 10_000, 3), 1_000)
    await sink.start()
    sink.put(samples.event(samples.failure()))
    await sink.stop(5)
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o007 == 0


async def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sink = audit_files(samples.SOURCE, rolling(tmp_path / "file", "audit", 10_000, 3), 1_000)
    with pytest.raises(SinkError, match=r"the audit log cannot be written: .*file"):
        await sink.start()


async def test_a_disk_that_hangs_slows_nobody_and_every_drop_is_counted() -> None:
    disk = MemorySink()
    disk.gate.clear()
    sink = audit_files(samples.SOURCE, disk, 100)
    hub = Audit([sink])
    await hub.start()
    began = time.process_time()
    for _ in range(10_000):
        hub.denied(samples.acl_denial())
    assert time.process_time() - began < 5
    assert hub.queued == 100
    counts = {(family, *labels): count for family, labels, count in hub.take_rows()}
    assert counts["audit_dropped", "file", "queue full"] == 9_900
    disk.gate.set()
    await sink.stop(20)
    assert sink.take_counts() == (100, {})
    assert len(disk.records) == 100


async def test_a_disk_that_hangs_at_the_end_holds_up_no_one() -> None:
    disk = MemorySink()
    disk.gate.clear()
    sink = audit_files(samples.SOURCE, disk, 100)
    await sink.start()
    for _ in range(7):
        sink.put(samples.event(samples.failure()))
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.01)

    beating = asyncio.create_task(beat())
    await sink.stop(1.0)
    beating.cancel()
    assert beats > 2
    assert sink.take_counts() == (0, {"stopped": 7})
    sink.put(samples.event(samples.failure()))
    assert sink.take_counts() == (0, {"stopped": 1})
    disk.gate.set()


async def test_a_full_disk_is_told_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    disk = MemorySink()
    sink = audit_files(samples.SOURCE, disk, 100)
    await sink.start()
    disk.error = OSError(errno.ENOSPC, "No space left on device")
    sink.put(samples.event(samples.failure()))
    wait_until(lambda: sink.queued == 0, "a failure", 120)
    await sink.stop(5)
    assert sink.take_counts() == (0, {"write failed": 1})
    assert "audit log: records are dropped, writing failed: [Errno 28]" in caplog.text


async def test_many_come_in_order() -> None:
    disk = MemorySink()
    sink = audit_files(samples.SOURCE, disk, 10_000)
    await sink.start()
    for number in range(2_000):
        sink.put(samples.event(samples.failure(), number))
    await sink.stop(20)
    ids = [json.loads(line)["id"] for line in disk.data.splitlines()]
    assert ids == [samples.event(samples.failure(), number).id for number in range(2_000)]
    assert disk.tries < 1_000
