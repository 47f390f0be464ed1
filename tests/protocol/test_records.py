from __future__ import annotations

from struct import pack

import pytest

from protocol.records import BATCH_HEADER_SIZE, batch_facts, is_older_format, walk_batches


def batch(records: int = 3, attributes: int = 0, producer_id: int = -1, magic: int = 2) -> bytes:
    """A batch's header: https://kafka.apache.org/documentation/#recordbatch."""
    header = pack(">qiibI", 0, 49, 0, magic, 0)
    header += pack(">hiqqqhii", attributes, records - 1, 0, 0, producer_id, 0, 0, records)
    return header


def test_the_header_has_its_size() -> None:
    assert len(batch()) == BATCH_HEADER_SIZE


@pytest.mark.parametrize("producer_id", [-1, 0, 2**40])
@pytest.mark.parametrize("attributes", [0, 0x10, 0x17, 0x0F])
def test_facts(producer_id: int, attributes: int) -> None:
    data = b"before" + batch(7, attributes, producer_id) + b"records"
    facts = batch_facts(data, 6, len(data))
    assert facts == (7, producer_id >= 0, bool(attributes & 0x10))


def test_a_header_that_is_not_whole_tells_nothing() -> None:
    data = batch() + b"records"
    assert batch_facts(data, 0, BATCH_HEADER_SIZE) is not None
    assert batch_facts(data, 0, BATCH_HEADER_SIZE - 1) is None
    assert batch_facts(b"", 0, 0) is None


@pytest.mark.parametrize("magic", [0, 1])
def test_older_formats_tell_nothing(magic: int) -> None:
    assert batch_facts(batch(magic=magic), 0, BATCH_HEADER_SIZE) is None


@pytest.mark.parametrize(("magic", "older"), [(0, True), (1, True), (2, False), (3, False)])
def test_older_formats_have_their_magic_at_the_same_place(magic: int, older: bool) -> None:
    buf = b"before" + bytes(16) + bytes([magic])
    assert is_older_format(buf, 6, len(buf)) is older
    assert not is_older_format(buf, 6, len(buf) - 1)


def walked(records: int, size: int = 100, *, attributes: int = 0, magic: int = 2) -> bytes:
    """A batch of ``size`` bytes, as far as :func:`walk_batches` reads."""
    header = bytes(8) + (size - 12).to_bytes(4, "big") + bytes(4) + bytes([magic]) + bytes(4)
    header += attributes.to_bytes(2, "big") + bytes(34) + records.to_bytes(4, "big")
    return header + bytes(size - len(header))


def test_batches_are_walked_by_their_lengths() -> None:
    data = b"xyz" + walked(3) + walked(70_000, 61) + walked(9, attributes=0x20) + walked(5, magic=1)
    end = len(data)
    assert walk_batches(data, 3, end, end) == (end, 70_003, 2)
    assert walk_batches(data, 3, end - 1, end - 1) == (end - 1, 70_003, 2)
    assert walk_batches(data, 3, 3, 3) == (3, 0, 0)


def test_a_header_that_has_not_arrived_is_where_to_go_on() -> None:
    data = walked(3) + walked(4) + walked(5)
    assert walk_batches(data, 0, 160, 300) == (100, 3, 1)
    assert walk_batches(data, 0, 161, 300) == (200, 7, 2)
    assert walk_batches(data, 200, 161, 300) == (200, 0, 0)


def test_what_is_no_batch_ends_the_walk() -> None:
    data = b"\xff" * 200
    assert walk_batches(data, 0, 200, 200) == (200, 0, 0)
    lie = walked(0x80000000)
    assert walk_batches(lie, 0, 100, 100) == (100, 0, 1)
