"""The settings that make little input cheap change no row: fewer columns, interpreted
expressions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark import (
    access,
    guarantees,
    inputs,
    latency,
    policies,
    records,
    replication,
    report,
    session,
    usage,
)
from spark.arguments import Command, Tables, parse
from tests.spark import all_kinds

LINES: Final = 600
"""Lines of the log; the ACL that was used comes on top."""


def _of_report(found: DataFrame, options: argparse.Namespace) -> Tables:
    """The report's tables, and the figures that its page begins with."""
    rest = report.facts(found)
    assert rest.totals["requests"] > 0
    return report.tables(found, options, usage.HOUR_MS)


_REPORT: Final = Command("report", "", _of_report, report.options, report.COLUMNS)
JOBS: Final = (
    *(job.COMMAND for job in (usage, access, latency, guarantees, policies, replication)),
    _REPORT,
)
MORE: Final = {"access": ("--catalog",), "report": ("--catalog",)}

Rows = Mapping[str, list[str]]


@pytest.fixture
def log(logs: Path) -> Path:
    """A log with all kinds of records, and beside it an export of the catalog."""
    lines = all_kinds.lines()
    chosen = lines[:LINES] + [line for line in lines[LINES:] if '"kind": "acl"' in line]
    (logs / "a-1.jsonl").write_text("\n".join(chosen) + "\n")
    (logs / "catalog.json").write_text(json.dumps(all_kinds.CATALOG))
    return logs


@pytest.fixture(autouse=True)
def _nothing_is_kept(spark: SparkSession) -> Iterator[None]:
    """Clear the cache, because a test would use a DataFrame persisted by another with other
    settings."""
    spark.catalog.clearCache()
    yield
    spark.catalog.clearCache()


def _rows(spark: SparkSession, log: Path, command: Command, columns: list[str] | None) -> Rows:
    given = [word for flag in MORE.get(command.name, ()) for word in (flag, f"{log}/catalog.json")]
    options = parse(command, ["--input", str(log), *given])
    found = command.tables(inputs.read(spark, options.input, {}, columns), options)
    return {name: sorted(map(repr, table.collect())) for name, table in found.items()}


@pytest.mark.long("spark")
@pytest.mark.parametrize("command", JOBS, ids=lambda job: job.name)
def test_a_job_reads_no_other_columns_than_it_names(
    spark: SparkSession, log: Path, command: Command
) -> None:
    assert command.columns is not None
    # A name that is in no record would be silently ignored.
    assert set(command.columns) <= set(records.kept(None))
    made = _rows(spark, log, command, list(command.columns))
    assert made == _rows(spark, log, command, None)
    assert all(made.values())


@pytest.mark.long("spark")
def test_interpreted_expressions_give_the_same_rows(spark: SparkSession, log: Path) -> None:
    compiled = [_rows(spark, log, command, None) for command in (usage.COMMAND, _REPORT)]
    spark.catalog.clearCache()
    before = {key: spark.conf.get(key) for key in session._TINY}
    for key, value in session._TINY.items():
        spark.conf.set(key, value)
    try:
        made = [_rows(spark, log, command, None) for command in (usage.COMMAND, _REPORT)]
    finally:
        for key, earlier in before.items():
            assert earlier is not None
            spark.conf.set(key, earlier)
    assert made == compiled
