"""spark.failures: an error that a user can correct is reported in a line, a defect of ours with its
traceback."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from pyspark.errors import PySparkException, PySparkTypeError
from pyspark.sql import DataFrame, SparkSession

from spark import access, replication
from spark.arguments import Command, Tables, run
from spark.failures import failed
from tests.spark.lines import finished_file, numbered

_PROXY = (
    "[STREAM_FAILED] Query terminated with exception: An exception was raised by the Python "
    "Proxy. Return Message: Traceback (most recent call last):\n"
    '  File "x.py", line 1, in call\n    raise it\n'
)


def _everything(records: DataFrame, _options: argparse.Namespace) -> Tables:
    return {"everything": records.select("id")}


ALL = Command("all", "Everything.", _everything)


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> str:
    """A directory with a file. ``spark`` is the session that the job under test takes."""
    directory = tmp_path / "log"
    directory.mkdir()
    finished_file(directory / "a-1.jsonl.gz", numbered(0, 3))
    return str(directory)


@pytest.mark.parametrize(
    ("command", "more", "says"),
    [
        (ALL, ["--output", "{file}"], "is not a directory"),
        (ALL, ["--input", "nosuch://a/b"], 'No FileSystem for scheme "nosuch"'),
        (access.COMMAND, ["--topics", "{log}/nowhere"], "nowhere"),
        (replication.COMMAND, ["--topics-exclude", "a, ("], "a, (: no list of patterns"),
        (replication.COMMAND, ["--topics-exclude-before", "["], "[: no list of patterns"),
    ],
)
def test_what_spark_cannot_do_is_one_line(
    log: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: Command,
    more: list[str],
    says: str,
) -> None:
    (tmp_path / "file").write_text("")
    places = {"log": log, "file": tmp_path / "file"}
    given = ["--input", log, "--quiet", *(one.format_map(places) for one in more)]
    assert run(command, given) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"spark.{command.name}: ")
    assert told.count("\n") == 1
    assert says in told


@pytest.mark.parametrize("mistake", [AssertionError, PySparkTypeError])
def test_a_mistake_keeps_its_traceback(log: str, mistake: type[Exception]) -> None:
    def wrong(records: DataFrame, options: argparse.Namespace) -> Tables:
        raise mistake("ours")

    with pytest.raises(mistake):
        run(Command("wrong", "", wrong), ["--input", log])


@pytest.mark.parametrize(
    ("raised", "says"),
    [
        ("spark.table.TableError: /t: written by others\n", "/t: written by others"),
        (
            "py4j.protocol.Py4JJavaError: An error occurred while calling o1.save.\n"
            ": org.apache.spark.SparkException: Job aborted\n\tat a.b(C.java)\n"
            "Caused by: java.io.IOException: No space left on device\n\tat d.e(F.java)\n",
            "java.io.IOException: No space left on device",
        ),
    ],
)
def test_what_fails_in_a_batch_is_one_line(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], raised: str, says: str
) -> None:
    assert spark is not None
    assert failed("ingest", PySparkException(_PROXY + raised)) == 2
    assert capsys.readouterr().err == f"spark.ingest: {says}\n"


def test_a_mistake_in_a_batch_keeps_its_traceback(spark: SparkSession) -> None:
    assert spark is not None
    error = PySparkException(_PROXY + "AssertionError: ours\n")
    with pytest.raises(PySparkException):
        failed("ingest", error)
