"""bench.record_batches: batches that a broker accepts."""

from __future__ import annotations

import crc32c

from bench.record_batches import record_batch
from protocol.records import batch_facts

_CRC_AT, _CRC_FROM = 17, 21


def test_a_batch_has_the_length_and_the_crc_that_a_broker_checks() -> None:
    batch = record_batch(3, 100)
    assert int.from_bytes(batch[8:12], "big") == len(batch) - 12
    crc = int.from_bytes(batch[_CRC_AT:_CRC_FROM], "big")
    assert crc == crc32c.crc32c(batch[_CRC_FROM:])
    assert batch_facts(batch, 0, len(batch)) == (3, False, False)


def test_values_are_random_but_the_same_every_time() -> None:
    assert record_batch(2, 50) == record_batch(2, 50)
    assert record_batch(2, 50) != record_batch(2, 50, seed=1)


def test_a_bulk_batch_is_what_a_broker_takes_at_most() -> None:
    size = len(record_batch(960, 1024))
    assert 980_000 < size < 1_048_588
