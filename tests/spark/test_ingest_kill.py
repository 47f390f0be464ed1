"""spark.ingest, killed with SIGKILL while files are being written: no line is lost or doubled.

``INGEST_KILLS`` is how often; ``make soak`` sets ten.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gateway.sinks.rolling_files import RollingFiles
from spark import records
from spark.table import Table
from tests.spark.ingesting import SECONDS, STREAM, await_batch, ingesting, kill, last_batch
from tests.spark.lines import DAY_MS, TIME_MS, line

pytestmark = pytest.mark.long("kills")

_ALL = ("--files-per-batch", "1000")
"""For the last run, because the files that the killed runs have left need not be many batches."""

KILLS = int(os.environ.get("INGEST_KILLS", "3"))


class _Writer:
    """Two workers of a gateway, which write, roll and compress; ``written`` counts the lines by the
    result that each should have."""

    def __init__(self, directory: Path) -> None:
        self._sinks = [
            RollingFiles(directory, f"traffic-g-w{worker}", 70_000, 100_000, what="traffic log")
            for worker in range(2)
        ]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._random = random.Random(7)
        self.records: list[str] = []
        self.late: set[str] = set()
        self.corrupt: list[str] = []

    def start(self) -> None:
        for sink in self._sinks:
            sink.prepare()
        self._thread.start()

    def stop(self) -> None:
        """End as a gateway does: the last files stay plain."""
        self._stop.set()
        self._thread.join()
        for sink in self._sinks:
            sink.close()

    def _write(self) -> None:
        number = 0
        while not self._stop.wait(0.05):
            for worker, sink in enumerate(self._sinks):
                chunk = [self._line(number + i, worker) for i in range(5)]
                number += len(chunk)
                sink.write("".join(f"{one}\n" for one in chunk).encode())

    def _line(self, number: int, worker: int) -> str:
        name = str(number)
        kind = self._random.random()
        if kind < 0.02:
            self.corrupt.append(f"corrupt {name}")
            return self.corrupt[-1]
        self.records.append(name)
        if kind < 0.04 and number > 500:
            self.late.add(name)
            return line(name, worker_id=worker, time_ms=TIME_MS - 3 * DAY_MS)
        return line(name, worker_id=worker, time_ms=TIME_MS + number)


@pytest.mark.timeout(900 + 400 * KILLS)
def test_killed_while_files_are_written_no_line_is_lost_or_doubled(
    spark: SparkSession, tmp_path: Path
) -> None:
    logs, log = tmp_path / "logs", tmp_path / "ingest.log"
    table = Table(spark, str(tmp_path / "table"))
    chance = random.Random(11)
    writer = _Writer(logs)
    writer.start()
    try:
        for _ in range(KILLS):
            before = last_batch(table)
            with ingesting(str(logs), tmp_path / "table", log) as process:
                await_batch(table, before, process, log)
                # At some point in the batches, reads and compactions that follow.
                time.sleep(chance.uniform(0.0, 3.0))
                kill(process)
            _nothing_is_doubled(table)
    finally:
        writer.stop()
    with ingesting(str(logs), tmp_path / "table", log, "--once", *_ALL) as process:
        assert process.wait(SECONDS) == 0, log.read_text()
    rows = records.read_table(spark, table.path).select("client_id", "late").collect()
    assert Counter(row.client_id for row in rows) == Counter(writer.records)
    assert {row.client_id for row in rows if row.late} <= writer.late
    assert any(row.late for row in rows)
    bad = records.read_quarantine(spark, table.path).collect()
    assert Counter(row.line for row in bad) == Counter(writer.corrupt)
    assert {row.reason for row in bad} == {records.CORRUPT}
    _counts_are_those_of_the_rows(table, len(rows), len(bad), sum(row.late for row in rows))


def _nothing_is_doubled(table: Table) -> None:
    """Assert this at any moment, even right after a kill."""
    names = [r.client_id for r in records.read_table(table.spark, table.path).collect()]
    assert len(names) == len(set(names))


def _counts_are_those_of_the_rows(table: Table, good: int, bad: int, late: int) -> None:
    snapshot = table.snapshot()
    counts = snapshot.streams[STREAM].counts
    if STREAM in snapshot.open:
        counts = counts + snapshot.open[STREAM].counts
    assert (counts.records, counts.late, sum(counts.quarantined.values())) == (good, late, bad)
