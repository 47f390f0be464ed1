"""spark.inputs: every record once, even if files are compressed meanwhile, and losses are
reported."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark import batches, inputs, sources
from spark.local_rows import local_rows
from spark.table import Table
from tests.spark.lines import compressed, finished_file, line, numbered


def _names(spark: SparkSession, *given: str) -> list[str]:
    found = inputs.read(spark, given, {})
    return sorted(row.client_id for row in found.select("client_id").collect())


def _written(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{one}\n" for one in lines))
    return path


def _during_a_read(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[], object], *, planned: bool
) -> None:
    """Change the files once, before Spark looks at them or, if ``planned``, right after it has."""
    real = sources.read_files
    todo = [change]

    def read_files(*given: Any, **more: Any) -> DataFrame:
        if todo and not planned:
            todo.pop()()
        found = real(*given, **more)
        if todo:
            todo.pop()()
        return found

    monkeypatch.setattr(sources, "read_files", read_files)


def test_both_forms_of_a_file_named_one_by_one_are_read_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    plain = _written(tmp_path / "a-1.jsonl", numbered(0, 3))
    finished = finished_file(tmp_path / "a-1.jsonl.gz", numbered(0, 3))
    assert _names(spark, str(plain), str(finished)) == ["0", "1", "2"]
    assert _names(spark, str(tmp_path), f"file:{tmp_path}/a-1.*") == ["0", "1", "2"]


def test_a_table_named_twice_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, str(tmp_path / "table"))
    path = f"file:{finished_file(tmp_path / 'c.jsonl.gz', numbered(0, 2))}"
    batches.commit(table, "traffic", 0, batches.write_files(table, [path], None), [path])
    assert _names(spark, str(tmp_path / "table"), f"{table.path}/", table.path) == ["0", "1"]


@pytest.mark.parametrize("planned", [False, True])
def test_a_file_that_is_compressed_meanwhile_is_read_as_it_is_then(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    planned: bool,
) -> None:
    log = tmp_path / "log"
    log.mkdir()
    plain = _written(log / "a-1.jsonl", numbered(0, 3))
    finished_file(log / "b-1.jsonl.gz", numbered(10, 2))

    def compress() -> None:
        finished_file(log / "a-1.jsonl.gz", numbered(0, 3))
        plain.unlink()

    _during_a_read(monkeypatch, compress, planned=planned)
    assert _names(spark, str(log)) == ["0", "1", "10", "11", "2"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("planned", [False, True])
def test_a_file_that_is_removed_meanwhile_is_told(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    planned: bool,
) -> None:
    old = finished_file(tmp_path / "a-1.jsonl.gz", numbered(0, 3))
    finished_file(tmp_path / "b-1.jsonl.gz", numbered(10, 2))
    torn = tmp_path / "c-1.jsonl.gz"
    torn.write_bytes(compressed(numbered(100, 2000))[:-40])
    _during_a_read(monkeypatch, old.unlink, planned=planned)
    found = _names(spark, str(tmp_path))
    assert {"10", "11", "100"} <= set(found)
    assert "0" not in found
    told = capsys.readouterr().err
    assert "a-1.jsonl.gz: removed before it was read\n" in told
    assert "c-1.jsonl.gz: read up to where it is damaged" in told


@pytest.mark.long("spark")
def test_files_that_go_on_vanishing_end_in_an_answer(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number in range(9):
        finished_file(tmp_path / f"a-{number}.jsonl.gz", [line(str(number))])
    left = sorted(tmp_path.iterdir())
    real = sources.read_files

    def read_files(*given: Any, **more: Any) -> DataFrame:
        found = real(*given, **more)
        left.pop().unlink()
        return found

    monkeypatch.setattr(sources, "read_files", read_files)
    assert _names(spark, str(tmp_path)) == [path.name[2] for path in left]
    assert capsys.readouterr().err.count("removed before it was read") == 9 - len(left)
    shutil.rmtree(tmp_path)


def test_a_record_that_came_twice_into_a_topic_counts_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        line("a"),
        line("b"),
        line("a"),
        "none",
        line("c"),
        "none",
        line("b", schema_version=7),
    ]
    rows = [{"line": one, "source": f"t-0@{place}"} for place, one in enumerate(lines)]
    topic = local_rows(spark, "line string, source string", rows)
    monkeypatch.setattr(sources, "read_topic", lambda _spark, _topic: topic)
    assert _names(spark, "kafka://h:1/t", "kafka://h:1/t") == ["a", "b", "c"]
    *told, newer = capsys.readouterr().err.splitlines()
    assert told == [
        "2 lines are no records: corrupt",
        "1 lines are no records: unknown_version",
        "  t-0@3: corrupt: 'none'",
        "  t-0@5: corrupt: 'none'",
    ]
    assert newer.startswith("  t-0@6: unknown_version: ")


def test_the_places_of_many_bad_lines_are_told_of_the_first_ones(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if lines are equal, in a compressed file, or in a file that is read in several parts."""
    _written(tmp_path / "a-1.jsonl", [*numbered(0, 40), "", line("x"), ""])
    finished_file(tmp_path / "b-1.jsonl.gz", [line("y"), "cut", *["later"] * 20])
    spark.conf.set("spark.sql.files.maxPartitionBytes", "2000")
    try:
        assert len(_names(spark, str(tmp_path))) == 42
        assert spark.conf.get("spark.sql.files.maxPartitionBytes") == "2000"
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    count, *places = capsys.readouterr().err.splitlines()
    assert count == "23 lines are no records: corrupt"
    assert len(places) == inputs._SHOWN_BAD
    first = f"  file:{tmp_path}"
    assert places[:2] == [f"{first}/a-1.jsonl, line {n}: corrupt: ''" for n in (41, 43)]
    assert f"{first}/b-1.jsonl.gz, line 3: corrupt: 'later'" in places


def test_where_there_is_no_log_is_told(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.txt").write_text("x")
    assert _names(spark, str(tmp_path)) == []
    assert capsys.readouterr().err == f"{tmp_path}: no file of the traffic log is there\n"
