"""spark.batches: a batch is in the table once, whatever happens to its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark import batches, open_files, records
from spark.filesystem import FileSystem
from spark.table import Counts, Table
from tests.spark.lines import DAY_MS, TIME_MS, compressed, finished_file, ids_in, line, numbered

_STREAM = "traffic"


def _quarantine(table: Table) -> list[tuple[str, str]]:
    rows = records.read_quarantine(table.spark, table.path).collect()
    return sorted((row.reason, row.source.rpartition("/")[2]) for row in rows)


def _path(path: Path) -> str:
    return f"file:{path}"


def test_a_batch_is_committed_with_its_number(table: Table, logs: Path) -> None:
    path = finished_file(logs / "a.jsonl.gz", [*numbered(1, 3), "none"])
    written = batches.write_files(table, [_path(path)], None)
    assert written.counts == Counts(3, 0, {records.CORRUPT: 1})
    assert written.newest_ms == TIME_MS
    assert not batches.is_done(table.snapshot(), _STREAM, 0)
    assert batches.commit(table, _STREAM, 0, written)
    assert batches.is_done(table.snapshot(), _STREAM, 0)
    assert ids_in(table) == [1, 2, 3]


def test_the_same_batch_again_changes_nothing(table: Table, logs: Path) -> None:
    path = finished_file(logs / "a.jsonl.gz", numbered(1, 3))
    first = batches.write_files(table, [_path(path)], None)
    again = batches.write_files(table, [_path(path)], None)
    assert batches.commit(table, _STREAM, 0, first)
    before = table.snapshot()
    assert not batches.commit(table, _STREAM, 0, again)
    assert table.snapshot() == before
    assert ids_in(table) == [1, 2, 3]


def test_counts_and_the_newest_time_go_on(table: Table, logs: Path) -> None:
    days = {"a": TIME_MS + DAY_MS, "b": TIME_MS}
    for number, (name, time_ms) in enumerate(days.items()):
        path = finished_file(logs / f"{name}.jsonl.gz", numbered(number, 1, time_ms=time_ms))
        written = batches.write_files(table, [_path(path)], TIME_MS + 1 if number else None)
        batches.commit(table, _STREAM, number, written)
    stream = table.snapshot().streams[_STREAM]
    assert (stream.batch, stream.newest_ms) == (1, TIME_MS + DAY_MS)
    assert stream.counts == Counts(2, 1)
    late = records.read_table(table.spark, table.path).where("late").collect()
    assert [row.client_id for row in late] == ["1"]


def test_a_clock_that_is_ahead_makes_nobody_late(table: Table, logs: Path) -> None:
    lines = [line("1"), line("2", time_ms=TIME_MS + 3650 * DAY_MS)]
    path = finished_file(logs / "a.jsonl.gz", lines)
    written = batches.write_files(table, [_path(path)], None)
    assert (written.counts.records, written.newest_ms) == (2, TIME_MS)


def test_of_a_torn_file_the_lines_before_the_tear_are_kept(table: Table, logs: Path) -> None:
    whole = compressed(numbered(100, 2000))
    (logs / "torn.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    sound = finished_file(logs / "sound.jsonl.gz", numbered(1, 3))
    paths = [_path(sound), _path(logs / "torn.jsonl.gz")]
    written = batches.write_files(table, paths, None)
    batches.commit(table, _STREAM, 0, written)
    ids = ids_in(table)
    assert ids[:3] == [1, 2, 3]
    assert 100 < len(ids) < 2000
    assert ids[3:] == list(range(100, 100 + len(ids) - 3))
    assert _quarantine(table) == [(records.TORN_FILE, "torn.jsonl.gz")]


def test_a_file_that_is_gone_is_accounted_for(table: Table, logs: Path) -> None:
    sound = finished_file(logs / "sound.jsonl.gz", numbered(1, 3))
    paths = [_path(sound), _path(logs / "gone.jsonl.gz")]
    batches.commit(table, _STREAM, 0, batches.write_files(table, paths, None))
    assert ids_in(table) == [1, 2, 3]
    assert _quarantine(table) == [(records.MISSING_FILE, "gone.jsonl.gz")]


def test_a_file_that_goes_while_it_is_read_is_accounted_for(
    table: Table, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = finished_file(logs / "sound.jsonl.gz", numbered(1, 3))
    going = finished_file(logs / "going.jsonl.gz", numbered(4, 3))
    asked = FileSystem.size

    def size(self: FileSystem, path: str) -> int | None:
        there = asked(self, path)
        if path == _path(going):
            going.unlink(missing_ok=True)
        return there

    monkeypatch.setattr(FileSystem, "size", size)
    paths = [_path(sound), _path(going)]
    batches.commit(table, _STREAM, 0, batches.write_files(table, paths, None))
    assert ids_in(table) == [1, 2, 3]
    assert _quarantine(table) == [(records.MISSING_FILE, "going.jsonl.gz")]


def test_an_error_that_is_no_files_fault_is_raised(table: Table, logs: Path) -> None:
    path = finished_file(logs / "a.jsonl.gz", numbered(1, 3))
    Path(table.path.removeprefix("file:")).write_text("in the way")
    with pytest.raises(Exception, match=r"(?i)directory|parent"):
        batches.write_files(table, [_path(path)], None)


def test_a_finished_file_takes_the_place_of_the_open_one(table: Table, logs: Path) -> None:
    (logs / "a.jsonl").write_text("\n".join([*numbered(1, 3), "cut sh"]))
    (logs / "b.jsonl").write_text("\n".join(numbered(10, 2)) + "\n")
    open_files.refresh(table, _STREAM, str(logs), None)
    assert ids_in(table) == [1, 2, 3, 10, 11]
    (logs / "a.jsonl").unlink()
    path = finished_file(logs / "a.jsonl.gz", [*numbered(1, 5), "cut short"])
    written = batches.write_files(table, [_path(path)], None)
    batches.commit(table, _STREAM, 0, written, [_path(path)])
    assert ids_in(table) == [1, 2, 3, 4, 5, 10, 11]
    assert _quarantine(table) == [(records.CORRUPT, "a.jsonl.gz")]
    snapshot = table.snapshot()
    assert snapshot.streams[_STREAM].counts == Counts(5, 0, {records.CORRUPT: 1})
    assert set(snapshot.open[_STREAM].sources) == {_path(logs / "b.jsonl")}
    assert snapshot.open[_STREAM].counts == Counts(2)


def test_a_file_with_something_after_its_end_is_torn(table: Table, logs: Path) -> None:
    padded, empty = logs / "a.jsonl.gz", logs / "b.jsonl.gz"
    padded.write_bytes(compressed(numbered(1, 3)) + bytes(512))
    empty.touch()
    paths = [_path(padded), _path(empty)]
    assert batches.take_files(table, _STREAM, 0, paths, None) == Counts(3, 0, {"torn_file": 2})
    assert batches.take_files(table, _STREAM, 0, paths, None) is None
    assert ids_in(table) == [1, 2, 3]
    assert _quarantine(table) == [
        (records.TORN_FILE, "a.jsonl.gz"),
        (records.TORN_FILE, "b.jsonl.gz"),
    ]


def test_what_was_there_of_a_torn_or_missing_file_stays(table: Table, logs: Path) -> None:
    whole = numbered(1000, 2000)
    for name, lines in {"gone": numbered(1, 3), "torn": whole, "short": numbered(10, 1)}.items():
        (logs / f"{name}.jsonl").write_text("".join(f"{one}\n" for one in lines))
    open_files.refresh(table, _STREAM, str(logs), None)
    before = ids_in(table)
    for path in logs.iterdir():
        path.unlink()
    cut = compressed(whole)
    (logs / "torn.jsonl.gz").write_bytes(cut[: len(cut) // 2])
    # This file has more lines than before.
    (logs / "short.jsonl.gz").write_bytes(compressed(numbered(10, 4)) + b"more")
    paths = [_path(logs / f"{name}.jsonl.gz") for name in ("gone", "short", "torn")]
    counts = batches.take_files(table, _STREAM, 0, paths, None)
    assert counts == Counts(2007, 0, {"torn_file": 2, "missing_file": 1})
    assert ids_in(table) == sorted([*before, 11, 12, 13])
    assert _STREAM not in table.snapshot().open


@pytest.mark.long("spark")
def test_a_batch_that_keeps_what_a_look_replaces_is_made_again(
    table: Table, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = logs / "a.jsonl"
    open_file.write_text(f"{line('1')}\n")
    open_files.refresh(table, _STREAM, str(logs), None)
    write = batches.write_files
    made = []

    def overtaken(*args: object) -> object:
        made.append(write(*args))  # type: ignore[arg-type]
        if len(made) == 1:
            open_file.write_text(f"{line('1')}\n{line('2')}\n")
            open_files.refresh(table, _STREAM, str(logs), None)
        return made[-1]

    monkeypatch.setattr(batches, "write_files", overtaken)
    counts = batches.take_files(table, _STREAM, 0, [_path(logs / "a.jsonl.gz")], None)
    assert counts == Counts(2, 0, {"missing_file": 1})
    assert len(made) == 2
    assert ids_in(table) == [1, 2]
