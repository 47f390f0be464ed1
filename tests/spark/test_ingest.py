"""spark.ingest: from files to the table, run after run. test_ingest_kill.py has the effects of
kills."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

from spark import batches, records
from spark.ingest import Ingest, Settings, main
from spark.table import Table, TableError
from tests.spark.lines import DAY_MS, TIME_MS, finished_file, ids_in, line, numbered


def _once(table: Table, logs: Path, *more: str) -> int:
    given = ["--input", str(logs), "--table", table.path, "--once", "--master", "local[2]"]
    return main([*given, *more])


def test_each_run_takes_what_is_new(
    table: Table, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished_file(logs / "a-1.jsonl.gz", [*numbered(1, 2), "none"])
    (logs / "a-2.jsonl").write_text("".join(f"{one}\n" for one in numbered(3, 2)))
    assert _once(table, logs) == 0
    assert ids_in(table) == [1, 2, 3, 4]
    assert capsys.readouterr().out.endswith(
        "4 records, 0 of them late; quarantined: 1 corrupt; 2 lines are of files that are being "
        "written\n"
    )
    assert _once(table, logs) == 0
    assert ids_in(table) == [1, 2, 3, 4]
    (logs / "a-2.jsonl").unlink()
    finished_file(logs / "a-2.jsonl.gz", numbered(3, 3))
    below = logs / "below"
    below.mkdir()
    finished_file(below / "b-1.jsonl.gz", numbered(10, 1))
    assert _once(table, logs, "--files-per-batch", "1") == 0
    assert ids_in(table) == [1, 2, 3, 4, 5, 10]
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == f"{table.path}: 6 records, 0 of them late; quarantined: 1 corrupt"


@pytest.mark.long("spark")
def test_a_file_is_not_left_out_because_it_is_old(table: Table, logs: Path) -> None:
    import os

    for number, age in enumerate((0, 30 * 86_400)):
        path = finished_file(logs / f"a-{number}.jsonl.gz", numbered(number, 1))
        then = time.time() - age
        os.utime(path, (then, then))
        assert _once(table, logs) == 0
    assert ids_in(table) == [0, 1]


def test_late_records_are_in_the_table_and_marked(table: Table, logs: Path) -> None:
    finished_file(logs / "a-1.jsonl.gz", numbered(1, 1, time_ms=TIME_MS + DAY_MS))
    assert _once(table, logs, "--late-after", "3600") == 0
    late = [line("2", time_ms=TIME_MS), line("3", time_ms=TIME_MS + DAY_MS - 3_600_000)]
    finished_file(logs / "a-2.jsonl.gz", late)
    assert _once(table, logs, "--late-after", "3600") == 0
    rows = records.read_table(table.spark, table.path).collect()
    assert sorted((row.client_id, row.late) for row in rows) == [
        ("1", False),
        ("2", True),
        ("3", False),
    ]
    assert table.snapshot().streams["traffic"].counts.late == 1


def test_without_its_checkpoint_a_table_is_not_doubled(
    table: Table, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished_file(logs / "a-1.jsonl.gz", numbered(1, 2))
    assert _once(table, logs) == 0
    shutil.rmtree(f"{table.path}/checkpoints".removeprefix("file:"))
    assert _once(table, logs) == 2
    assert "is gone" in capsys.readouterr().err
    assert ids_in(table) == [1, 2]


def test_a_batch_that_was_not_committed_is_made_again(
    table: Table, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finished_file(logs / "a-1.jsonl.gz", numbered(1, 2))

    def fail(*_args: object) -> bool:
        raise TableError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(batches, "commit", fail)
        assert _once(table, logs) == 2
    assert capsys.readouterr().err.endswith("spark.ingest: no room\n")
    assert ids_in(table) == []
    finished_file(logs / "a-2.jsonl.gz", numbered(3, 1))
    assert _once(table, logs) == 0
    assert ids_in(table) == [1, 2, 3]


@pytest.mark.long("spark")
def test_a_batch_that_was_committed_but_not_noted_is_not_made_again(
    table: Table, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_file(logs / "a-1.jsonl.gz", numbered(1, 2))
    commit = batches.commit

    def die(*args: object) -> bool:
        commit(*args)  # type: ignore[arg-type]
        raise TableError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(batches, "commit", die)
        assert _once(table, logs) == 2
    assert ids_in(table) == [1, 2]
    finished_file(logs / "a-2.jsonl.gz", numbered(3, 1))
    assert _once(table, logs) == 0
    assert ids_in(table) == [1, 2, 3]


@pytest.mark.long("spark")
def test_it_goes_on_until_it_is_told_to_stop(table: Table, logs: Path) -> None:
    settings = Settings(every=0.1, open_every=0.5, compact_every=0.5)
    running = Ingest(table, str(logs), None, settings)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            running.run(once=False)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        finished_file(logs / "a-1.jsonl.gz", numbered(1, 2))
        (logs / "a-2.jsonl").write_text(f"{line('3')}\n")
        deadline = time.monotonic() + 400
        while ids_in(table) != [1, 2, 3] and not failures and time.monotonic() < deadline:
            time.sleep(0.2)
    finally:
        running.stopping.set()
        thread.join(400)
    assert not failures
    assert ids_in(table) == [1, 2, 3]


def test_nothing_to_read_is_one_line(
    table: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _once(table, tmp_path / "none") == 2
    assert capsys.readouterr().err == f"spark.ingest: {tmp_path}/none: there is nothing\n"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--files-per-batch", "0"], "1 or more"),
        (["--every", "-1"], "0 or more"),
        (["--late-after", "nan"], "0 or more"),
        (["--open-every", "soon"], "no number"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    wrong: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--input", "/none", "--table", "/none", *wrong])
    assert said in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_one_line(
    table: Table, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished_file(logs / "a-1.jsonl.gz", numbered(1, 1))
    Path(table.path.removeprefix("file:")).write_text("in the way")
    assert _once(table, logs) == 2
    assert capsys.readouterr().err.count("spark.ingest: ") == 1
    assert main(["--input", "nosuch://a/b", "--table", table.path, "--once"]) == 2
    assert "nosuch" in capsys.readouterr().err


@pytest.mark.long("spark")
def test_another_input_is_refused_unless_it_is_meant(
    table: Table, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished_file(logs / "a-1.jsonl.gz", numbered(1, 2))
    assert _once(table, logs) == 0
    other = tmp_path / "other"
    other.mkdir()
    finished_file(other / "b-1.jsonl.gz", numbered(3, 1))
    assert _once(table, other) == 2
    assert f"has been written from file:{logs}." in capsys.readouterr().err
    wider = tmp_path / "[lo]*"
    assert _once(table, wider, "--other-input") == 0
    assert _once(table, wider) == 0
    assert ids_in(table) == [1, 2, 3]
