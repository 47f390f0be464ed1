"""spark.open_files: a file that is still being written counts once, before and after it is
finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark import batches, open_files, records
from spark.filesystem import FileSystem
from spark.table import Counts, Table
from tests.spark.lines import TIME_MS, finished_file, ids_in, numbered

_STREAM = "traffic"


def _append(path: Path, lines: list[str]) -> None:
    with path.open("a") as file:
        file.writelines(f"{one}\n" for one in lines)


def _read(table: Table, logs: Path) -> bool:
    return open_files.refresh(table, _STREAM, str(logs), None)


def _batch(table: Table, number: int, path: Path) -> None:
    name = f"file:{path}"
    batches.commit(table, _STREAM, number, batches.write_files(table, [name], None), [name])


def test_each_look_replaces_the_one_before(table: Table, logs: Path) -> None:
    _append(logs / "a.jsonl", numbered(1, 2))
    assert _read(table, logs)
    assert ids_in(table) == [1, 2]
    _append(logs / "a.jsonl", numbered(3, 2))
    assert _read(table, logs)
    assert ids_in(table) == [1, 2, 3, 4]


def test_a_read_that_finds_nothing_new_changes_nothing(table: Table, logs: Path) -> None:
    assert _read(table, logs)
    assert not table.exists()
    _append(logs / "a.jsonl", numbered(1, 2))
    (logs / "empty.jsonl").touch()
    _read(table, logs)
    before = table.snapshot()
    assert _read(table, logs)
    assert table.snapshot() == before


@pytest.mark.long("spark")
def test_files_that_have_gone_on_stay_until_their_batch(table: Table, logs: Path) -> None:
    _append(logs / "a.jsonl", numbered(1, 2))
    _read(table, logs)
    finished_file(logs / "a.jsonl.gz", numbered(1, 4))
    _append(logs / "b.jsonl", numbered(10, 1))
    # For a moment both files exist.
    _read(table, logs)
    assert ids_in(table) == [1, 2, 10]
    (logs / "a.jsonl").unlink()
    _append(logs / "b.jsonl", numbered(11, 1))
    _read(table, logs)
    assert ids_in(table) == [1, 2, 10, 11]
    _batch(table, 0, logs / "a.jsonl.gz")
    assert ids_in(table) == [1, 2, 3, 4, 10, 11]
    _read(table, logs)
    assert ids_in(table) == [1, 2, 3, 4, 10, 11]


def test_a_plain_file_that_is_left_over_is_not_taken_for_an_open_one(
    table: Table, logs: Path
) -> None:
    _append(logs / "a.jsonl", numbered(1, 2))
    _batch(table, 0, finished_file(logs / "a.jsonl.gz", numbered(1, 2)))
    assert _read(table, logs)
    assert ids_in(table) == [1, 2]


@pytest.mark.long("spark")
def test_a_read_that_a_batch_overtakes_is_made_again(
    table: Table, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _append(logs / "a.jsonl", numbered(1, 2))
    _append(logs / "b.jsonl", numbered(10, 1))
    read = open_files._read
    overtaken: list[bool] = []

    def slow(*args: object) -> open_files.Part:
        made = read(*args)  # type: ignore[arg-type]
        if not overtaken:
            overtaken.append(True)
            (logs / "a.jsonl").unlink()
            _batch(table, 0, finished_file(logs / "a.jsonl.gz", numbered(1, 3)))
        return made

    monkeypatch.setattr(open_files, "_read", slow)
    assert _read(table, logs)
    assert overtaken
    assert ids_in(table) == [1, 2, 3, 10]


def test_a_file_that_is_gone_before_it_is_read_costs_another_read(
    table: Table, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _append(logs / "a.jsonl", numbered(1, 2))
    _append(logs / "b.jsonl", numbered(10, 1))
    found = open_files.being_written
    asked: list[dict[str, int]] = []

    def being_written(files: FileSystem, source: str) -> dict[str, int]:
        now = found(files, source)
        if not asked:
            (logs / "a.jsonl").unlink()
        asked.append(now)
        return now

    monkeypatch.setattr(open_files, "being_written", being_written)
    assert _read(table, logs)
    assert len(asked) == 2
    assert ids_in(table) == [10]


@pytest.mark.long("spark")
def test_a_file_without_a_record_is_known_all_the_same(table: Table, logs: Path) -> None:
    _append(logs / "a.jsonl", ["none"])
    _read(table, logs)
    part = table.snapshot().open[_STREAM]
    assert part.counts.quarantined == {records.CORRUPT: 1}
    _batch(table, 0, finished_file(logs / "a.jsonl.gz", ["none"]))
    assert _STREAM not in table.snapshot().open
    assert records.read_quarantine(table.spark, table.path).count() == 1


@pytest.mark.long("spark")
def test_what_was_in_time_stays_so(table: Table, logs: Path) -> None:
    def late() -> list[tuple[str, bool]]:
        rows = records.read_table(table.spark, table.path).collect()
        return sorted((row.client_id, row.late) for row in rows)

    (slow,), more = numbered(1, 1), numbered(2, 1)
    _append(logs / "a.jsonl", [slow])
    _read(table, logs)
    # The watermark passes; then a line comes behind it.
    _append(logs / "a.jsonl", more)
    open_files.refresh(table, _STREAM, str(logs), TIME_MS + 1)
    assert late() == [("1", False), ("2", True)]
    (logs / "a.jsonl").unlink()
    name = f"file:{finished_file(logs / 'a.jsonl.gz', [slow, *more, *numbered(3, 1)])}"
    counts = batches.take_files(table, _STREAM, 0, [name], TIME_MS + 1)
    assert counts == Counts(3, 2)
    assert late() == [("1", False), ("2", True), ("3", True)]


def test_hidden_directories_are_left_out(table: Table, logs: Path) -> None:
    for hidden in ("_old", ".old"):
        (logs / hidden).mkdir()
        _append(logs / hidden / "a.jsonl", numbered(1, 1))
    _append(logs / "a.jsonl", numbered(2, 1))
    _read(table, logs)
    assert ids_in(table) == [2]
    assert open_files.being_written(table.files, str(logs / "none")) == {}
