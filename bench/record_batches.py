"""Record batches as a producer makes them; the broker checks their CRC."""

from __future__ import annotations

import datetime
import io
import random

from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

_NO_PRODUCER = -1
_TIME = TZAwareMicros.parse(datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC))


def record_batch(records: int, value_size: int, seed: int = 0) -> bytes:
    """A batch (magic 2) of ``records`` records with random values of ``value_size`` bytes.

    Neither compressed nor idempotent, so that the broker takes it any number of times.
    """
    values = random.Random(seed)
    batch = NewRecordBatch(
        producer_id=i64(_NO_PRODUCER),
        producer_epoch=i16(_NO_PRODUCER),
        base_sequence=i32(_NO_PRODUCER),
        attributes=i16(0),
        records=tuple(
            Record(
                attributes=i8(0),
                timestamp=_TIME,
                offset=i64(index),
                key=None,
                value=values.randbytes(value_size),
                headers=(),
            )
            for index in range(records)
        ),
    )
    out = io.BytesIO()
    write_batch(out, batch)
    return out.getvalue()
