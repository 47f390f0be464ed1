"""The part of the command line that all jobs share, from their input to their tables.

A job is a function from records to named tables; :func:`run` does the rest.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from spark import inputs, records
from spark.failures import FAILURES, failed
from spark.output import FORMATS, Output
from spark.session import is_small, is_tiny, make_session
from spark.sources import SourceError

SHOWN_ROWS: Final = 20
LATE_AFTER: Final = 86_400.0
"""Seconds behind the newest record from which on a record is late, by default."""

Tables = Mapping[str, DataFrame]
Job = Callable[[DataFrame, argparse.Namespace], Tables]


class Progress:
    """Reports the steps of one job on stderr as they begin, with the seconds since its start."""

    def __init__(self, job: str, *, quiet: bool = False) -> None:
        self._job = job
        self._quiet = quiet
        self._started = time.monotonic()

    def step(self, what: str) -> None:
        """Report that the step ``what`` begins."""
        if not self._quiet:
            seconds = time.monotonic() - self._started
            print(f"spark.{self._job}: {seconds:4.0f} s  {what}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Command:
    """A job as a command. ``tables`` is the job; ``options`` adds the job's own arguments;
    ``columns`` are the columns of the records that it reads, None for all of them."""

    name: str
    description: str
    tables: Job
    options: Callable[[argparse.ArgumentParser], None] = lambda _parser: None
    columns: Sequence[str] | None = None


def run(command: Command, argv: Sequence[str] | None = None) -> int:
    """Run a job as a command; returns its exit status. An error that a user can correct is reported
    in a line."""
    options = parse(command, argv)
    progress = Progress(command.name, quiet=options.quiet)
    try:
        progress.step("starting Spark")
        spark = session(f"kafka-gateway {command.name}", options)
        progress.step(f"reading {', '.join(options.input)}")
        read = read_records(spark, options, command.columns)
        found = command.tables(read, options)
        write(spark, found, options, progress)
        if not options.quiet:
            _show(spark, found, options)
    except FAILURES as error:
        return failed(command.name, error)
    return 0


def parse(command: Command, argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments of a job, including the arguments that all jobs have."""
    parser = argparse.ArgumentParser(f"spark.{command.name}", description=command.description)
    add_input(parser)
    parser.add_argument(
        "--output",
        metavar="DIR",
        help="write each table to DIR/TABLE; existing ones are replaced when all are complete",
    )
    parser.add_argument("--format", choices=FORMATS, default="parquet", help="of the output")
    parser.add_argument("--quiet", action="store_true", help="print no tables, and no progress")
    parser.add_argument(
        "--allow-empty",
        action="store_true",
        help="continue without any record: tables of an earlier run become empty",
    )
    parser.add_argument(
        "--from", dest="from_ms", metavar="TIME", type=time_ms, help="records from this time on"
    )
    parser.add_argument(
        "--to", dest="to_ms", metavar="TIME", type=time_ms, help="records before this time"
    )
    command.options(parser)
    options = parser.parse_args(argv)
    if None not in (options.from_ms, options.to_ms) and options.from_ms >= options.to_ms:
        parser.error("--from has to be before --to")
    return options


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the records' sources and for Spark's master."""
    parser.add_argument(
        "--input",
        metavar="SOURCE",
        nargs="+",
        required=True,
        help="a table of spark.ingest, files of the traffic log (a path, with wildcards or "
        "without), or kafka://HOST:PORT/TOPIC",
    )
    parser.add_argument(
        "--kafka-option",
        metavar="KEY=VALUE",
        type=_key_value,
        action="append",
        default=[],
        help="a Kafka client's setting, such as security.protocol=SASL_SSL; may be repeated",
    )
    parser.add_argument("--master", help="Spark's master; by default all cores of this machine")


def session(name: str, options: argparse.Namespace) -> SparkSession:
    """The session for these arguments. Raises SetupError."""
    kafka = any(source.startswith("kafka://") for source in options.input)
    small, tiny = is_small(options.input), is_tiny(options.input)
    return make_session(name, master=options.master, kafka=kafka, small=small, tiny=tiny)


def read_records(
    spark: SparkSession, options: argparse.Namespace, columns: Sequence[str] | None = None
) -> DataFrame:
    """The records of all inputs in the selected time: ``columns`` of the schema's columns (None:
    all), ``late``, ``date``. Files that cannot be read are reported on stderr.

    Raises SourceError and TableError; also SourceError if there is no record, unless
    ``--allow-empty`` is given, because a missing input would empty an earlier run's tables.
    """
    found = inputs.read(spark, options.input, dict(options.kafka_option), columns)
    found = records.between(found, options.from_ms, options.to_ms)
    if not options.allow_empty and found.isEmpty():
        when = "" if options.from_ms is options.to_ms is None else " in this time"
        raise SourceError(
            f"{', '.join(options.input)}: no record is there{when}, so no table was written, and "
            "those of an earlier run stay; --allow-empty writes tables without rows"
        )
    return found


def write(
    spark: SparkSession, found: Tables, options: argparse.Namespace, progress: Progress
) -> None:
    """Write the tables to ``--output``, if it is given. Raises OutputError."""
    if options.output:
        output = Output(spark, options.output, options.format)
        numbers = {name: number for number, name in enumerate(found, 1)}
        output.write(found, lambda name: progress.step(f"{name} ({numbers[name]} of {len(found)})"))


def _show(spark: SparkSession, found: Tables, options: argparse.Namespace) -> None:
    """Print the first rows of each table; read them from the output if that saves computing
    them."""
    for name, table in found.items():
        if options.output and options.format == "parquet":
            table = spark.read.parquet(f"{options.output.rstrip('/')}/{name}")
        print(f"{name}:")
        table.show(SHOWN_ROWS, truncate=60)


def time_ms(text: str) -> int:
    """ms since 1970 of ``2026-11-21`` or ``2026-11-21T10:00``, in UTC if it has no offset."""
    try:
        parsed = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: not like 2026-11-21T10:00") from error
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=dt.UTC)
    return round(aware.timestamp() * 1000)


def positive(text: str) -> int:
    """A whole number, 1 or more. Raises ArgumentTypeError."""
    try:
        number = int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: no whole number") from error
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: has to be 1 or more")
    return number


def _key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text}: not like KEY=VALUE")
    return key, value


def duration(text: str) -> float:
    """A number of seconds or hours, 0 or more. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: no number") from error
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: has to be 0 or more")
    return number
