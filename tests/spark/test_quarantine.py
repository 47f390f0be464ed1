"""spark.quarantine: newer jobs turn lines that older jobs did not know into records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark import batches, compaction, open_files, quarantine, records, schema
from spark.table import Table
from spark.writing import Written, write_new
from tests.spark.lines import DAY_MS, TIME_MS, compressed, finished_file, line, numbered
from tests.spark.tables import copy_of

_STREAM = "traffic"

NEWER = schema.SCHEMA_VERSION + 1

_NEWER = (
    line("newer", schema_version=NEWER),
    line("newer-late", schema_version=NEWER, time_ms=TIME_MS - 3 * DAY_MS),
    line("newer-kind", schema_version=NEWER, kind="hint"),
)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table with lines of a newer gateway, a torn file, and an open file."""
    directory = tmp_path_factory.mktemp("written")
    made = Table(spark, str(directory / "table"))
    logs = directory / "logs"
    logs.mkdir()
    finished_file(logs / "a-1.jsonl.gz", [*numbered(1, 3), *_NEWER, "none"])
    (logs / "a-2.jsonl.gz").write_bytes(compressed(numbered(100, 500))[:500])
    paths = sorted(f"file:{path}" for path in logs.iterdir())
    batches.commit(made, _STREAM, 0, batches.write_files(made, paths, None), paths)
    (logs / "a-3.jsonl").write_text(line("open", schema_version=NEWER) + "\n")
    open_files.refresh(made, _STREAM, str(logs), None)
    return made


@pytest.fixture
def table(written: Table, tmp_path: Path) -> Table:
    """A copy of that table."""
    return copy_of(written, tmp_path)


def _names(table: Table) -> Counter[str]:
    rows = records.read_table(table.spark, table.path).collect()
    return Counter(row.client_id for row in rows)


def _reasons(table: Table) -> Counter[str]:
    return Counter(row.reason for row in records.read_quarantine(table.spark, table.path).collect())


def _late(table: Table) -> list[str]:
    rows = records.read_table(table.spark, table.path).where("late").collect()
    return [row.client_id for row in rows]


@pytest.mark.long("spark")
def test_what_newer_jobs_know_is_in_the_table_once(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, files = _names(table), table.snapshot().files
    assert _reasons(table) == {"unknown_version": 4, "corrupt": 1, "torn_file": 1}
    assert quarantine.parse_again(table) == 0
    assert table.snapshot().files == files

    monkeypatch.setattr(schema, "SCHEMA_VERSION", NEWER)
    for expected in (2, 0):
        assert quarantine.parse_again(table) == expected
        assert _names(table) == before + Counter(["newer", "newer-late"])
        assert _reasons(table) == {
            "unknown_version": 1,  # the open file's
            "unknown_kind": 1,
            "corrupt": 1,
            "torn_file": 1,
        }
    assert _late(table) == ["newer-late"]


def test_the_counts_are_those_of_the_rows(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "SCHEMA_VERSION", NEWER)
    quarantine.parse_again(table)
    snapshot = table.snapshot()
    counts = snapshot.streams[_STREAM].counts + snapshot.open[_STREAM].counts
    assert counts.records == _names(table).total()
    assert counts.quarantined == _reasons(table)
    assert counts.late == 1


@pytest.mark.long("spark")
def test_a_compaction_that_was_faster_wins(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "SCHEMA_VERSION", NEWER)

    def meanwhile(*args: object) -> Written:
        made = write_new(*args)  # type: ignore[arg-type]
        compaction.compact(table, least_files=2)
        return made

    more = f"file:{finished_file(Path(table.path[5:]).parent / 'logs' / 'b.jsonl.gz', ['none'])}"
    batches.commit(table, _STREAM, 1, batches.write_files(table, [more], None), [more])
    with monkeypatch.context() as patch:
        patch.setattr("spark.quarantine.write_new", meanwhile)
        assert quarantine.parse_again(table) is None
    assert _reasons(table)["unknown_version"] == 4
    assert quarantine.parse_again(table) == 2


def test_the_command_says_how_many(
    table: Table, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schema, "SCHEMA_VERSION", NEWER)
    assert quarantine.main(["--table", table.path, "--master", "local[2]"]) == 0
    assert capsys.readouterr().out == "2 lines are records now\n"
    assert quarantine.main(["--table", f"{table.path}/none", "--master", "local[2]"]) == 2
    assert "no table of spark.ingest" in capsys.readouterr().err
