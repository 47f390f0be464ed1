"""gateway.sinks.record_writer: the part that traffic log and audit log share (their tests have
more)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from devkit.waiting import wait_until
from gateway.sinks.record_writer import CHUNK, RecordWriter
from tests.traffic.test_log import MemorySink


def line(number: int) -> bytes:
    return b"%d\n" % number


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 2 * CHUNK), max_size=6), st.integers(1, 4 * CHUNK))
def test_everything_is_written_in_order_or_counted(sizes: list[int], most: int) -> None:
    disk = MemorySink()
    disk.gate.clear()
    writer: RecordWriter[int] = RecordWriter("test", disk, most, line)
    writer.open()
    start = 0
    expected: list[int] = []
    for size in sizes:
        room = most - len(expected)
        expected += range(start, start + min(size, room))
        writer.put_all(range(start, start + size), size)
        start += size
    assert writer.queued == len(expected)
    disk.gate.set()
    assert writer.close(20)
    assert [int(text) for text in disk.data.split()] == expected
    written, dropped = writer.take_counts()
    assert written == len(expected)
    assert sum(dropped.values()) == start - len(expected)
    assert set(dropped) <= {"queue full"}


def test_single_records_share_writes() -> None:
    disk = MemorySink()
    disk.gate.clear()
    writer: RecordWriter[int] = RecordWriter("test", disk, 1_000, line)
    writer.open()
    writer.put_all((0,), 1)
    wait_until(lambda: disk.tries, "the first write", 120)
    for number in range(1, 1 + 2 * CHUNK):
        writer.put_all((number,), 1)
    disk.gate.set()
    assert writer.close(20)
    assert disk.tries == 3
    assert len(disk.records) == 1 + 2 * CHUNK


def test_what_comes_after_the_end_is_counted() -> None:
    writer: RecordWriter[int] = RecordWriter("test", MemorySink(), 1_000, line)
    writer.open()
    assert writer.close()
    writer.put_all((1, 2), 2)
    assert writer.take_counts() == (0, {"stopped": 2})
    assert writer.queued == 0
