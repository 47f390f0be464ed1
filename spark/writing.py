"""Lines and rows into files of a table, counted on the way. No version lists the files yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from spark import records
from spark.table import REASON, Counts, DataFile, Table, TableError

_OBSERVED_SECONDS: Final = 60.0
"""What was counted comes within moments of the write's end, by an event, unless Spark drops it."""


@dataclass(frozen=True, slots=True)
class Written:
    """Files, and what is in them. ``newest_ms`` is the newest record's time, of those that are
    not in the future: a clock that is ahead makes nobody else late. ``kept`` are open files whose
    rows are in there, too, and their sizes."""

    files: tuple[DataFile, ...]
    counts: Counts
    newest_ms: int | None
    kept: Mapping[str, int] = field(default_factory=dict)


def write_rows(table: Table, rows: DataFrame) -> Written:
    """Write rows that :func:`spark.records.parse` made, or that were read from a table."""
    is_record = F.col(REASON).isNull()
    now_ms = int(time.time() * 1000)
    past = F.when(is_record & (F.col("time_ms") <= now_ms), F.col("time_ms"))
    seen = Observation()
    observed = rows.drop("commit").observe(
        seen,
        F.count_if(is_record).alias("records"),
        F.count_if("late").alias("late"),
        F.max(past).alias("newest_ms"),
        *(F.count_if(F.col(REASON) == reason).alias(reason) for reason in records.REASONS),
    )
    files = table.write(observed)
    got = _observed(seen)
    quarantined = {reason: got[reason] for reason in records.REASONS if got[reason]}
    return Written(files, Counts(got["records"], got["late"], quarantined), got["newest_ms"])


def _observed(seen: Observation) -> dict[str, Any]:
    """What Spark has counted. Raises TableError if it does not come.

    A driver with too much to do drops events, and ``Observation.get`` would wait for ever. The
    files that were written count nowhere then: the batch is made again.
    """
    got: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: got.append(seen.get), daemon=True)
    asking.start()
    asking.join(_OBSERVED_SECONDS)
    if not got:
        raise TableError(
            "Spark did not say what it has written: its driver is overloaded and has dropped the "
            "event. Nothing was committed; start again"
        )
    return got[0]
