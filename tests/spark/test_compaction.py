"""spark.compaction: fewer files, the same rows, and no file removed that a reader may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark import batches, compaction, open_files, records
from spark.table import DataFile, OpenFiles, Snapshot, Table
from tests.spark.lines import DAY_MS, TIME_MS, finished_file, ids_in, numbered
from tests.spark.tables import copy_of


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table of three batches on two days, and an open file."""
    directory = tmp_path_factory.mktemp("written")
    made = Table(spark, str(directory / "table"))
    logs = directory / "logs"
    logs.mkdir()
    for number in range(3):
        first = 10 * number
        lines = numbered(first, 2) + numbered(first + 2, 2, time_ms=TIME_MS + DAY_MS) + ["none"]
        name = f"file:{finished_file(logs / f'{number}.jsonl.gz', lines)}"
        batches.commit(made, "traffic", number, batches.write_files(made, [name], None), [name])
    (logs / "open.jsonl").write_text(numbered(100, 1)[0] + "\n")
    open_files.refresh(made, "traffic", str(logs), None)
    return made


@pytest.fixture
def table(written: Table, tmp_path: Path) -> Table:
    """A copy of that table."""
    return copy_of(written, tmp_path)


def _on_disk(table: Table) -> set[str]:
    found = table.files.files(table.data, recursive=True)
    return {e.path.removeprefix(f"{table.data}/") for e in found if e.name.endswith(".parquet")}


def _age(table: Table, seconds: float) -> None:
    """Make every file on the disk look that much older."""
    for path in Path(table.path.removeprefix("file:")).rglob("*"):
        then = path.stat().st_mtime - seconds
        os.utime(path, (then, then))


def test_small_files_become_one_a_partition(table: Table) -> None:
    before, files = ids_in(table), len(table.snapshot().files)
    late = records.read_table(table.spark, table.path)
    assert compaction.compact(table, least_files=2) == 6
    after = table.snapshot()
    assert len(after.files) == files - 6
    assert ids_in(table) == before
    assert records.read_quarantine(table.spark, table.path).count() == 3
    # A reader that has begun goes on with the former files.
    assert late.count() == len(before)
    assert compaction.compact(table, least_files=2) == 0


def test_open_files_still_leave_after_a_compaction(table: Table) -> None:
    compaction.compact(table, least_files=2)
    (name,) = table.snapshot().open["traffic"].sources
    path = finished_file(Path(f"{name}.gz".removeprefix("file:")), numbered(100, 2))
    late = batches.write_files(table, [f"file:{path}"], None)
    batches.commit(table, "traffic", 3, late, [f"file:{path}"])
    assert ids_in(table)[-2:] == [100, 101]


@pytest.mark.long("spark")
def test_of_two_compactions_one_counts(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    before, compare = ids_in(table), compaction._compare
    raced: list[bool] = []

    def slow(*args: object) -> None:
        compare(*args)  # type: ignore[arg-type]
        if not raced:
            raced.append(True)
            compaction.compact(table, least_files=2)

    monkeypatch.setattr(compaction, "_compare", slow)
    assert compaction.compact(table, least_files=2) == 0
    assert ids_in(table) == before


def test_what_does_not_count_is_removed_when_it_is_old_enough(table: Table) -> None:
    compaction.compact(table, least_files=2)
    left_behind = table.write(table.read(table.snapshot().files))
    counted = {file.path for file in table.snapshot().files}
    assert compaction.clean(table) == 0
    assert _on_disk(table) > counted
    # A file that no version lists may be a write that is about to be committed.
    assert compaction.clean(table, keep_seconds=0) > 0
    assert _on_disk(table) == counted | {file.path for file in left_behind}
    assert len(table.versions()) > 2
    _age(table, 2 * 86_400)
    assert compaction.clean(table) == len(left_behind)
    assert _on_disk(table) == counted
    assert len(table.versions()) == 1
    assert table.snapshot().removed == ()
    assert len(ids_in(table)) == 13


def _file(commit: int, size: int, day: int = 1) -> DataFile:
    return DataFile(f"commit={commit}/date=2026-01-0{day}/kind=flow/part.parquet", size)


def test_groups_stay_within_the_target_and_the_partition() -> None:
    files = tuple(_file(number, 40) for number in range(5))
    found = compaction.groups(Snapshot(files=files), target_bytes=100, least_files=2)
    assert found == [files[:2], files[2:4]]
    days = tuple(_file(number, 40, day=number) for number in range(1, 5))
    assert compaction.groups(Snapshot(files=days), 100, 2) == []


def test_large_few_and_open_files_stay() -> None:
    small, large = [_file(1, 10), _file(2, 10)], _file(3, 60)
    assert compaction.groups(Snapshot(files=(*small, large)), 100, 2) == [tuple(small)]
    assert compaction.groups(Snapshot(files=(*small, large)), 100, 3) == []
    being_written = {"traffic": OpenFiles("2", {"f": 1})}
    assert compaction.groups(Snapshot(files=tuple(small), open=being_written), 100, 2) == []


def test_the_command_says_what_it_did(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert compaction.main(["--table", table.path, "--master", "local[2]"]) == 0
    assert capsys.readouterr().out == "6 files fewer to read, 0 removed from the disk\n"
    assert compaction.main(["--table", f"{table.path}/none", "--master", "local[2]"]) == 2
    assert "no table" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        compaction.main(["--table", table.path, "--keep-hours", "-1"])
    assert "has to be 0 or more" in capsys.readouterr().err


def test_no_empty_directories_are_left(table: Table) -> None:
    data = Path(table.data.removeprefix("file:"))
    (data / "commit=1-a" / "_temporary").mkdir(parents=True)
    compaction.compact(table, least_files=2)
    compaction.clean(table, keep_seconds=0)
    assert (data / "commit=1-a").exists()
    _age(table, 2 * 86_400)
    compaction.clean(table)
    commits = {f"commit={file.commit}" for file in table.snapshot().files}
    assert {path.name for path in data.glob("commit=*")} == commits
    assert len(ids_in(table)) == 13
