"""All jobs in one driver: ``python -m tests.spark.all_jobs --input … --output … --page …``.

Takes the arguments of all jobs. Each table goes to ``DIR/TABLE``, the report's page to the file.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame

from spark import page, report, usage
from spark.arguments import Command, Progress, Tables, parse, read_records, write
from spark.page import About
from spark.sections import SECTIONS
from spark.session import make_session
from tests.spark import quick_java

NOW: Final = dt.datetime(2026, 2, 1, tzinfo=dt.UTC)
"""The time of making that the page shows."""

SMALL: Final = {
    "spark.driver.memory": "768m",
    "spark.executor.memory": "640m",
    "spark.sql.shuffle.partitions": "3",
    quick_java.DRIVER: quick_java.OPTIONS,
    quick_java.EXECUTOR: quick_java.OPTIONS,
}
"""Settings for a few thousand records."""


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of all jobs, including the tables of the report's page."""
    return {
        **usage.tables(records, options),
        **report.tables(records, options, usage.HOUR_MS),
    }


def _options(parser: argparse.ArgumentParser) -> None:
    usage.options(parser)
    report.options(parser)


COMMAND: Final = Command("all_jobs", "all jobs in one driver", tables, _options)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the jobs; returns the exit status."""
    options = parse(COMMAND, argv)
    kafka = any(source.startswith("kafka://") for source in options.input)
    spark = make_session("all jobs", master=options.master, kafka=kafka, conf=SMALL)
    records = read_records(spark, options)
    # Persisted, so that the page does not compute them all again.
    found = {name: table.persist() for name, table in tables(records, options).items()}
    write(spark, found, options, Progress("all_jobs", quiet=options.quiet))
    shown = {section.table for section in SECTIONS}
    rows = report.collected({name: found[name] for name in shown & found.keys()}, options.rows)
    # Each driver has another input with the same records, so the page names no input.
    report.write(options.page, page.page(rows, report.facts(records).totals, About("the log", NOW)))
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
