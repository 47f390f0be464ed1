from __future__ import annotations

from struct import pack

import pytest

from protocol.records import BATCH_HEADER_SIZE, batch_facts, is_older_format


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
