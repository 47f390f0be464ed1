"""spark.table: only files that a version lists count."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark import records, schema
from spark.table import Counts, DataFile, OpenFiles, Snapshot, Stream, Table, TableError
from tests.spark.lines import TIME_MS, numbered

_OLD = DataFile("commit=1/date=2026-01-01/kind=flow/a.parquet", 10)
_NEW = DataFile("commit=2/date=2026-01-01/kind=quarantine/b.parquet", 20)


def _rows(spark: SparkSession, lines: list[str]) -> DataFrame:
    given = F.array(*(F.lit(one) for one in lines))
    return records.parse(
        spark.range(1).select(F.explode(given).alias("line"), F.lit("file").alias("source"))
    )


def test_a_snapshot_is_read_as_it_was_written() -> None:
    snapshot = Snapshot(
        version=3,
        made_ms=5,
        files=(_OLD, _NEW),
        removed=(("commit=0/x", 4),),
        streams={
            "traffic": Stream(7, TIME_MS, Counts(5, 1, {records.CORRUPT: 2}, 4), "file:/in", 6)
        },
        open={"traffic": OpenFiles("2", {"file:/a.jsonl": 12}, Counts(1))},
    )
    assert Snapshot.from_json(snapshot.to_json()) == snapshot


def test_a_file_knows_its_write_and_its_partition() -> None:
    assert (_OLD.commit, _OLD.partition) == ("1", "date=2026-01-01/kind=flow")
    assert not _OLD.is_quarantine
    assert _NEW.is_quarantine


def test_counts_add_up() -> None:
    added = Counts(1, 2, {"b": 1}, 5) + Counts(10, 20, {"b": 2, "a": 3}, 6)
    assert added == Counts(11, 22, {"a": 3, "b": 3}, 11)


def test_files_that_are_dropped_are_remembered_as_removed() -> None:
    after = Snapshot(files=(_OLD,)).with_files(added=[_NEW], dropped=[_OLD.path])
    assert after.files == (_NEW,)
    assert [path for path, _ in after.removed] == [_OLD.path]


def test_open_files_replace_those_of_the_same_stream() -> None:
    first = Snapshot(files=(_OLD,)).with_open("traffic", OpenFiles("2", {"f": 1}), [_NEW])
    assert first.files == (_OLD, _NEW)
    assert first.open_commits() == {"2"}
    other = first.with_open("other", OpenFiles("9", {"g": 1}), [])
    assert other.open_commits() == {"2", "9"}
    second = other.with_open("traffic", None, [])
    assert second.files == (_OLD,)
    assert set(second.open) == {"other"}


def test_a_new_table_has_nothing(table: Table) -> None:
    assert not table.exists()
    assert table.snapshot() == Snapshot()
    assert records.read_table(table.spark, table.path).count() == 0


def test_rows_count_once_they_are_committed(table: Table) -> None:
    spark = table.spark
    began = int(time.time() * 1000)
    files = table.write(_rows(spark, [*numbered(1, 2), "none"]))
    assert all(began <= file.made_ms <= time.time() * 1000 for file in files)
    assert {file.partition for file in files} == {
        "date=2026-01-01/kind=flow",
        "date=__HIVE_DEFAULT_PARTITION__/kind=quarantine",
    }
    assert records.read_table(spark, table.path).count() == 0
    table.commit(lambda now: now.with_files(added=files))
    found = records.read_table(spark, table.path)
    assert sorted((r.client_id, r.kind, str(r.date)) for r in found.collect()) == [
        ("1", "flow", "2026-01-01"),
        ("2", "flow", "2026-01-01"),
    ]
    assert found.columns == [*(n for n, _ in schema.COLUMNS), "late", "date"]
    assert [r.line for r in records.read_quarantine(spark, table.path).collect()] == ["none"]


def test_who_is_slower_decides_again(table: Table) -> None:
    seen = []

    def change(now: Snapshot) -> Snapshot:
        seen.append(now.version)
        if len(seen) == 1:
            table.commit(lambda other: other.with_files(added=[_OLD]))
        return now.with_files(added=[_NEW])

    made = table.commit(change)
    assert seen == [0, 1]
    assert made is not None
    assert (made.version, made.files) == (2, (_OLD, _NEW))
    assert table.snapshot() == made


def test_a_change_may_turn_out_to_be_none(table: Table) -> None:
    assert table.commit(lambda _now: None) is None
    assert not table.exists()


def test_a_version_that_cannot_be_read_is_said(table: Table) -> None:
    table.commit(lambda now: now)
    path = Path(table.version_path(1).removeprefix("file:"))
    whole = path.read_text()
    path.write_text(whole[:20])
    with pytest.raises(TableError, match=r"cannot be read.*move it away"):
        table.snapshot()
    path.write_text(json.dumps({**json.loads(whole), "format": 2}))
    with pytest.raises(TableError, match="newer version"):
        table.snapshot()


def test_versions_are_in_order(table: Table) -> None:
    for _ in range(11):
        table.commit(lambda now: replace(now))
    assert table.versions() == list(range(1, 12))
    assert table.at(3).version == 3


def test_a_path_that_looks_like_a_pattern(spark: SparkSession, tmp_path: Path) -> None:
    odd = Table(spark, f"{tmp_path}/[a]{{b}}")
    files = odd.write(_rows(spark, numbered(1, 2)))
    assert odd.read(files).count() == 2
