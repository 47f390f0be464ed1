"""spark.checkpoint: files that a batch was planned with, and checkpoints of another time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spark import batches, records
from spark.checkpoint import Checkpoint
from spark.ingest import main
from spark.table import Stream, Table, TableError
from tests.spark.lines import finished_file, ids_in, numbered

_COMPACT_INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A directory for the traffic log, with a name that has to be escaped."""
    directory = tmp_path / "logs %20 [1]"
    directory.mkdir()
    return directory


@pytest.fixture
def checkpoint(table: Table) -> Path:
    """The place of the stream's checkpoint."""
    return Path(f"{table.path}/checkpoints/traffic".removeprefix("file:"))


def _once(table: Table, *more: str) -> int:
    source = str(Path(table.path.removeprefix("file:")).parent / "logs*")
    given = ["--input", source, "--table", table.path, "--once", "--master", "local[2]"]
    return main([*given, *more])


@pytest.mark.long("spark")
def test_files_that_were_planned_and_removed_are_accounted_for(
    table: Table, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (logs / "a-1.jsonl").write_text("".join(f"{one}\n" for one in numbered(1, 2)))
    assert _once(table) == 0
    (logs / "a-1.jsonl").unlink()
    for number in (1, 2):
        finished_file(logs / f"a-{number}.jsonl.gz", numbered(10 * number, 2))

    def die(*_args: object) -> None:
        raise TableError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(batches, "take_files", die)
        assert _once(table) == 2
    for number in (1, 2):
        (logs / f"a-{number}.jsonl.gz").unlink()
    assert _once(table) == 0
    # The table still has its lines of a removed file.
    assert ids_in(table) == [1, 2]
    bad = records.read_quarantine(table.spark, table.path).collect()
    assert sorted((row.reason, row.source) for row in bad) == [
        (records.MISSING_FILE, f"file:{logs}/a-{number}.jsonl.gz") for number in (1, 2)
    ]


def test_the_files_of_every_batch_are_known(table: Table, logs: Path, checkpoint: Path) -> None:
    names = [f"file:{logs}/{number}.jsonl.gz" for number in range(3)]
    for number in range(3):
        finished_file(logs / f"{number}.jsonl.gz", numbered(number, 1))
    table.spark.conf.set(_COMPACT_INTERVAL, "2")
    try:
        assert _once(table, "--files-per-batch", "1") == 0
    finally:
        table.spark.conf.unset(_COMPACT_INTERVAL)
    # Spark has written the entries of two batches into one file, and removes the first file later.
    assert (checkpoint / "sources" / "0" / "1.compact").exists()
    (checkpoint / "sources" / "0" / "0").unlink()
    made = Checkpoint(table.files, str(checkpoint))
    found = [made.files_of(number) for number in range(3)]
    assert sorted(one for (one,) in found) == names
    (checkpoint / "sources" / "0" / "2").unlink()
    with pytest.raises(TableError, match=r"sources/0/2 is gone"):
        made.files_of(2)


@pytest.mark.long("spark")
def test_a_checkpoint_that_has_not_come_as_far_is_refused(
    table: Table, logs: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished_file(logs / "a-1.jsonl.gz", numbered(1, 2))
    assert _once(table) == 0
    older = shutil.copytree(checkpoint, checkpoint.with_name("older"))
    finished_file(logs / "a-2.jsonl.gz", numbered(3, 1))
    assert _once(table) == 0
    newest = shutil.move(checkpoint, checkpoint.with_name("newest"))
    finished_file(logs / "a-3.jsonl.gz", numbered(4, 1))
    for lost in ("everything", "offsets", "sources"):
        shutil.copytree(newest, checkpoint)
        shutil.rmtree(checkpoint if lost == "everything" else checkpoint / lost)
        assert _once(table) == 2, lost
        assert "is gone, or older than the table" in capsys.readouterr().err
        shutil.rmtree(checkpoint, ignore_errors=True)
    shutil.copytree(older, checkpoint)
    assert _once(table) == 2
    shutil.rmtree(checkpoint)
    shutil.move(newest, checkpoint)
    assert _once(table) == 0
    assert ids_in(table) == [1, 2, 3, 4]


@pytest.mark.long("spark")
def test_a_table_that_has_lost_its_last_batch_gets_it_again(
    table: Table, logs: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        finished_file(logs / f"a-{number}.jsonl.gz", numbered(number, 1))
        assert _once(table, "--compact-every", "0") == 0
    newest = table.versions()[-1]
    Path(table.version_path(newest).removeprefix("file:")).write_text("")
    assert _once(table) == 2
    assert "move it away" in capsys.readouterr().err
    Path(table.version_path(newest).removeprefix("file:")).unlink()
    assert _once(table) == 2
    said = f"Remove file:{checkpoint}/commits/2, and .2.crc beside it"
    assert said in capsys.readouterr().err
    for name in ("2", ".2.crc"):
        (checkpoint / "commits" / name).unlink()
    assert _once(table) == 0
    assert ids_in(table) == [0, 1, 2]


def test_of_a_topic_only_the_numbers_are_compared(table: Table, checkpoint: Path) -> None:
    made = Checkpoint(table.files, str(checkpoint))
    made.refuse_another(table, "traffic")
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True)
        (checkpoint / log / "0").write_text('v1\n{}\n{"topic":{"0":500}}')
    table.commit(lambda now: now.__class__(streams={"traffic": Stream(batch=0)}))
    made.refuse_another(table, "traffic")
    with pytest.raises(TableError, match="another Spark"):
        made.files_of(0)
