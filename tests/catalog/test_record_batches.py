"""Batches that other programs wrote."""

from __future__ import annotations

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.log.kafka_partition import batches, salvaged
from gateway.catalog.log.records import Record

some_bytes = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=8), some_bytes), max_size=3)
records = st.lists(st.tuples(some_bytes, some_bytes, headers), min_size=1, max_size=5)

Content = list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]]


def built(offset: int, content: Content) -> bytes:
    """A batch as a broker stores it."""
    builder = DefaultRecordBatchBuilder(2, 0, True, 7, 0, 0, 100_000)
    for number, (key, value, more) in enumerate(content):
        builder.append(number, 1_000 + number, key, value, more)
    batch = bytearray(builder.build())
    batch[:8] = offset.to_bytes(8, "big")
    return bytes(batch)


@given(records, st.integers(0, 2**40))
def test_it_reads_what_the_library_reads(content: Content, offset: int) -> None:
    assert list(salvaged(built(offset, content))) == [
        Record(key, value, more, offset + number)
        for number, (key, value, more) in enumerate(content)
    ]


@given(records, st.data())
def test_what_cannot_be_read_is_a_record_without_a_key(
    content: Content, data: st.DataObject
) -> None:
    batch = bytearray(built(5, content))
    for _ in range(data.draw(st.integers(1, 5))):
        batch[data.draw(st.integers(57, len(batch) - 1))] = data.draw(st.integers(0, 255))
    found = list(salvaged(bytes(batch[: data.draw(st.integers(61, len(batch)))])))
    assert all(isinstance(one, Record) for one in found)


def test_a_compressed_batch_is_one_record_without_a_key() -> None:
    batch = bytearray(built(5, [(b"a", b"b", [])]))
    batch[22] |= 4
    assert list(salvaged(bytes(batch))) == [Record(None, None, (), 5)]


def test_a_batch_that_is_cut_off_is_left_out() -> None:
    one, two = built(5, [(b"a", b"b", [])]), built(6, [(b"c", b"d", [])])
    assert list(batches(one + two)) == [one, two]
    assert list(batches(one + two[:-1])) == [one]
    assert list(batches(b"")) == []
