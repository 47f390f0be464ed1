"""spark.arguments: from the command line to tables."""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark import arguments, batches, report
from spark.arguments import Command, run
from spark.table import Table
from tests.spark.lines import TIME_MS, compressed, finished_file, line, numbered


def _tables(records: DataFrame, options: argparse.Namespace) -> arguments.Tables:
    clients = records.select("client_id", "errors").orderBy(F.col("client_id").try_cast("long"))
    return {"clients": clients.limit(options.most)}


def _more(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--most", type=int, default=1000)


_COMMAND = Command("clients", "Who was there.", _tables, _more)


def _json(directory: Path) -> list[str]:
    parts = sorted((directory / "clients").glob("part-*"))
    lines = [one for part in parts for one in part.read_text().splitlines()]
    return [json.loads(one)["client_id"] for one in lines]


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> str:
    """A directory with three records of one day, and a record of the day before.

    ``spark`` is the session that the job under test takes.
    """
    directory = tmp_path / "log"
    directory.mkdir()
    finished_file(directory / "a.jsonl.gz", [*numbered(1, 2), line("0", time_ms=TIME_MS - 1)])
    (directory / "b.jsonl").write_text(line("3") + "\n")
    return str(directory)


def _run(log: str, tmp_path: Path, *more: str) -> int:
    given = ["--input", log, "--output", str(tmp_path / "out"), "--format", "json", "--quiet"]
    return run(_COMMAND, [*given, *more])


def test_tables_are_written_from_files(log: str, tmp_path: Path) -> None:
    assert _run(log, tmp_path) == 0
    assert _json(tmp_path / "out") == ["0", "1", "2", "3"]
    # Again, and only a part, because a table is replaced.
    assert _run(log, tmp_path, "--from", "2026-01-01", "--most", "2") == 0
    assert _json(tmp_path / "out") == ["1", "2"]


def test_from_a_table_and_files_together(spark: SparkSession, log: str, tmp_path: Path) -> None:
    table = Table(spark, str(tmp_path / "table"))
    more = f"file:{finished_file(tmp_path / 'c.jsonl.gz', numbered(10, 2))}"
    batches.commit(table, "traffic", 0, batches.write_files(table, [more], None), [more])
    assert _run(log, tmp_path, "--input", table.path) == 0
    assert _json(tmp_path / "out") == ["10", "11"]
    assert _run(log, tmp_path, "--input", table.path, log, "--to", "2026-01-01T00:00:00.001") == 0
    assert _json(tmp_path / "out") == ["0", "1", "2", "3", "10", "11"]


def test_tables_are_printed(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_COMMAND, ["--input", log]) == 0
    out = capsys.readouterr().out
    assert out.startswith("clients:\n")
    assert "{NONE -> 2}" in out


def test_csv_holds_maps_as_json(log: str, tmp_path: Path) -> None:
    assert _run(log, tmp_path, "--format", "csv") == 0
    assert _csv(tmp_path / "out")[:2] == [["client_id", "errors"], ["0", '{"NONE":2}']]


def _csv(directory: Path) -> list[list[str]]:
    parts = sorted((directory / "clients").glob("part-*"))
    return list(csv.reader(io.StringIO("".join(part.read_text() for part in parts), newline="")))


def test_csv_is_what_other_programs_read(spark: SparkSession, tmp_path: Path) -> None:
    names = ['a","b', " lead", "lead", "end ", "", "two\nlines", "back\\slash", 'x\\"', "'"]
    log = tmp_path / "names.jsonl"
    log.write_text("".join(f"{line(name, id='x')}\n" for name in names))
    assert _run(str(log), tmp_path, "--format", "csv") == 0
    assert sorted(row[0] for row in _csv(tmp_path / "out")[1:]) == sorted(names)


def test_lines_that_are_no_records_are_told(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(log) / "b.jsonl").write_text("none\nnothing\n" + line("3", schema_version=7) + "\n")
    assert _run(log, tmp_path) == 0
    places = f"  file:{log}/b.jsonl, line"
    *told, newer = capsys.readouterr().err.splitlines()
    assert told == [
        "2 lines are no records: corrupt",
        "1 lines are no records: unknown_version",
        f"{places} 1: corrupt: 'none'",
        f"{places} 2: corrupt: 'nothing'",
    ]
    assert newer.startswith(f"{places} 3: unknown_version: ")
    assert _json(tmp_path / "out") == ["0", "1", "2"]


@pytest.mark.parametrize("lines", [None, "none\nnothing\n"])
@pytest.mark.parametrize(
    "command", ["table", pytest.param("report", marks=pytest.mark.long("spark"))]
)
def test_nothing_takes_the_place_of_results(
    log: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lines: str | None,
    command: str,
) -> None:
    """An empty directory, or a log without any record."""
    page = tmp_path / "report.html"

    def job(source: str, *more: str) -> int:
        if command == "table":
            return _run(source, tmp_path, *more)
        return report.main(["--input", source, "--page", str(page), "--quiet", *more])

    def made() -> object:
        return _json(tmp_path / "out") if command == "table" else page.read_text()

    assert job(log) == 0
    before = made()
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    if lines:
        (nothing / "a.jsonl").write_text(lines)
    capsys.readouterr()
    assert job(str(nothing)) == 2
    assert f"{nothing}: no record is there" in capsys.readouterr().err
    assert made() == before
    assert job(str(nothing), "--allow-empty") == 0
    assert made() != before


def test_a_time_without_records_is_told(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(log, tmp_path, "--from", "2027-01-01") == 2
    assert "no record is there in this time" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_job_tells_what_it_does(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_COMMAND, ["--input", log, "--output", str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    steps = [line.partition(" s  ")[2] for line in told.err.splitlines()]
    assert steps == ["starting Spark", f"reading {log}", "clients (1 of 1)"]
    assert told.out.startswith("clients:\n")


def test_a_torn_file_is_told_and_read_up_to_the_tear(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = compressed(numbered(100, 2000))
    (Path(log) / "c.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    assert _run(log, tmp_path, "--most", "100000") == 0
    assert 100 < len(_json(tmp_path / "out")) < 2000
    assert "c.jsonl.gz: read up to where it is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["nowhere", "kafka://half"])
def test_what_a_user_can_mend_is_one_line(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    assert log
    given = str(tmp_path / source) if "/" not in source else source
    assert run(_COMMAND, ["--input", given, "--quiet"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01", TIME_MS),
        ("2026-01-01T00:00:01", TIME_MS + 1000),
        ("2026-01-01T01:00:00+01:00", TIME_MS),
    ],
)
def test_times_are_utc_unless_they_say_otherwise(text: str, expected: int) -> None:
    assert arguments.time_ms(text) == expected


@pytest.mark.parametrize(
    "more",
    [
        ["--from", "noon"],
        ["--kafka-option", "x"],
        ["--format", "xls"],
        ["--from", "2026-01-02", "--to", "2026-01-01"],
        ["--from", "2026-01-02", "--to", "2026-01-02"],
    ],
)
def test_what_is_no_argument_is_refused(more: list[str]) -> None:
    with pytest.raises(SystemExit):
        arguments.parse(_COMMAND, ["--input", "x", *more])
