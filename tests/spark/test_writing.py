"""spark.writing: the counts are of the rows that are written."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import Observation, SparkSession

from spark import records, sources, writing
from spark.table import Counts, Table, TableError
from spark.writing import write_rows
from tests.spark.lines import DAY_MS, TIME_MS, finished_file, line


def test_every_line_is_counted_once(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, str(tmp_path / "table"))
    given = [
        line("1"),
        line("2", time_ms=TIME_MS - 2),
        line("3", time_ms=TIME_MS + 10_000 * DAY_MS),
        line("4", schema_version=9),
        line("5", time_ms=1),
        "none",
        "nothing",
    ]
    path = finished_file(tmp_path / "a.jsonl.gz", given)
    lines = sources.read_files(spark, [str(path)])
    written = write_rows(table, records.parse(lines, late_before_ms=TIME_MS - 1))
    reasons = {records.CORRUPT: 2, records.UNKNOWN_VERSION: 1, records.BAD_TIME: 1}
    assert written.counts == Counts(3, 1, reasons)
    assert written.newest_ms == TIME_MS
    assert table.read(written.files).count() == len(given)
    again = write_rows(table, table.read(written.files))
    assert (again.counts, again.newest_ms) == (written.counts, written.newest_ms)
    assert {file.commit for file in again.files}.isdisjoint(f.commit for f in written.files)


def test_no_lines_are_no_files(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, str(tmp_path / "table"))
    written = write_rows(table, records.parse(sources.read_files(spark, [])))
    assert (written.files, written.counts, written.newest_ms) == ((), Counts(), None)


def test_a_count_that_never_comes_is_an_error_and_no_wait_for_ever(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark drops events if its driver is overloaded."""

    def never(_: Observation) -> dict[str, object]:
        threading.Event().wait()
        return {}

    monkeypatch.setattr(Observation, "get", property(never))
    monkeypatch.setattr(writing, "_OBSERVED_SECONDS", 0.01)
    table = Table(spark, str(tmp_path / "table"))
    with pytest.raises(TableError, match="has dropped the event"):
        write_rows(table, records.parse(sources.read_files(spark, [])))
    assert not table.exists()
