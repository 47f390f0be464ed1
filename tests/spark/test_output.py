"""spark.output: tables are written whole or not at all, and the former tables stay until then."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark import output
from spark.filesystem import FileSystem
from spark.output import Output, OutputError


def _table(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(count).select(F.col("id"), F.lit("x").alias("name"))


def _count(spark: SparkSession, directory: Path, name: str) -> int:
    return int(spark.read.parquet(str(directory / name)).count())


def _broken(spark: SparkSession) -> DataFrame:
    """A table that fails in its second half, when some of its files are written already."""
    half = F.when(F.col("id") < 500, F.col("id")).otherwise(F.raise_error(F.lit("in the middle")))
    return spark.range(0, 1_000, 1, 4).select(half.cast("long").alias("id"))


@pytest.fixture
def made(spark: SparkSession, tmp_path: Path) -> Path:
    """A directory with the tables ``a`` and ``b`` of an earlier run, of 17 rows each."""
    Output(spark, str(tmp_path), "parquet").write({"a": _table(spark, 17), "b": _table(spark, 17)})
    return tmp_path


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_table_takes_the_place_of_the_one_before(spark: SparkSession, made: Path) -> None:
    Output(spark, str(made), "parquet").write({"a": _table(spark, 5)})
    assert (_count(spark, made, "a"), _count(spark, made, "b")) == (5, 17)
    assert _names(made) == ["a", "b"]


def test_where_two_directories_cannot_be_exchanged_it_does_so_by_renames(
    spark: SparkSession, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_exchanged", lambda _place, _target: False)
    Output(spark, str(made), "parquet").write({"a": _table(spark, 5)})
    assert _count(spark, made, "a") == 5
    assert _names(made) == ["a", "b"]


def test_a_job_that_fails_in_the_middle_leaves_all_tables_as_they_were(
    spark: SparkSession, made: Path
) -> None:
    tables = {"a": _table(spark, 5), "b": _broken(spark)}
    with pytest.raises(Exception, match="in the middle"):
        Output(spark, str(made), "parquet").write(tables)
    assert (_count(spark, made, "a"), _count(spark, made, "b")) == (17, 17)
    assert _names(made) == ["a", "b"]


def test_a_rename_that_fails_brings_back_what_was_there(
    spark: SparkSession, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_exchanged", lambda _place, _target: False)
    real = FileSystem.rename

    def rename(self: FileSystem, source: str, target: str) -> bool:
        is_new = not source.endswith((".before", "/a"))
        return False if is_new else real(self, source, target)

    monkeypatch.setattr(FileSystem, "rename", rename)
    with pytest.raises(OutputError, match="cannot be moved"):
        Output(spark, str(made), "parquet").write({"a": _table(spark, 5)})
    assert _count(spark, made, "a") == 17
    assert _names(made) == ["a", "b"]


def test_what_a_crash_between_two_renames_left_comes_back_with_the_next_run(
    spark: SparkSession, made: Path
) -> None:
    (made / "a").rename(made / ".a.before")
    with pytest.raises(Exception, match="in the middle"):
        Output(spark, str(made), "parquet").write({"a": _broken(spark)})
    assert _count(spark, made, "a") == 17
    assert _names(made) == ["a", "b"]


def test_what_a_killed_job_left_is_removed_after_a_day(
    spark: SparkSession, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made / ".a.0123").mkdir()
    (made / ".other.0123").mkdir()
    Output(spark, str(made), "parquet").write({"a": _table(spark, 5)})
    assert ".a.0123" in _names(made), "its job may be at work"
    monkeypatch.setattr(output, "LEFT_BEHIND_MS", -60_000)
    Output(spark, str(made), "parquet").write({"a": _table(spark, 5)})
    assert _names(made) == [".other.0123", "a", "b"]


def test_each_table_is_told_before_it_is_made(spark: SparkSession, tmp_path: Path) -> None:
    told: list[str] = []
    tables = {"a": _table(spark, 1), "b": _table(spark, 2)}
    Output(spark, str(tmp_path), "json").write(tables, told.append)
    assert told == ["a", "b"]


def test_csv_has_what_it_has_no_form_for_as_json(spark: SparkSession, tmp_path: Path) -> None:
    table = spark.range(0, 1, 1, 1).select("id", F.array(F.lit(1), F.lit(2)).alias("list"))
    Output(spark, str(tmp_path), "csv").write({"a": table})
    (part,) = (tmp_path / "a").glob("part-*")
    text = io.StringIO(part.read_text(), newline="")
    assert list(csv.reader(text)) == [["id", "list"], ["0", "[1,2]"]]
