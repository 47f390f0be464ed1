"""What the jobs' command lines have in common, from the input to the tables that come out.

A job is a function from records to named tables; :func:`run` does the rest.
"""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from spark import inputs, records
from spark.failures import FAILURES, failed
from spark.session import make_session

FORMATS: Final = ("parquet", "json", "csv")
SHOWN_ROWS: Final = 20

# As RFC 4180 has it, which every spreadsheet reads: a quote in a value is doubled, and spaces at
# its ends belong to it.
_CSV: Final = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}

Tables = Mapping[str, DataFrame]
Job = Callable[[DataFrame, argparse.Namespace], Tables]


@dataclass(frozen=True, slots=True)
class Command:
    """A job as a command. ``tables`` is the job; ``options`` adds arguments of its own."""

    name: str
    description: str
    tables: Job
    options: Callable[[argparse.ArgumentParser], None] = lambda _parser: None


def run(command: Command, argv: Sequence[str] | None = None) -> int:
    """Run a job as a command; returns its exit status. What a user can mend is one line."""
    options = parse(command, argv)
    try:
        spark = session(f"kafka-gateway {command.name}", options)
        found = command.tables(read_records(spark, options), options)
        for name, table in found.items():
            finish(name, table, options)
    except FAILURES as error:
        return failed(command.name, error)
    return 0


def parse(command: Command, argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The arguments of a job, with those that all jobs have."""
    parser = argparse.ArgumentParser(f"spark.{command.name}", description=command.description)
    add_input(parser)
    parser.add_argument("--output", metavar="DIR", help="write each table to DIR/TABLE, anew")
    parser.add_argument("--format", choices=FORMATS, default="parquet", help="of the output")
    parser.add_argument("--quiet", action="store_true", help="print no tables")
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
    """Where records come from, and where the job runs."""
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
    """The session that the arguments ask for. Raises SetupError."""
    kafka = any(source.startswith("kafka://") for source in options.input)
    return make_session(name, master=options.master, kafka=kafka)


def read_records(spark: SparkSession, options: argparse.Namespace) -> DataFrame:
    """The records of all inputs, between the times asked for: the schema's columns, ``late``,
    ``date``. Raises SourceError and TableError; what cannot be read is told on stderr."""
    found = inputs.read(spark, options.input, dict(options.kafka_option))
    return records.between(found, options.from_ms, options.to_ms)


def finish(name: str, table: DataFrame, options: argparse.Namespace) -> None:
    """Write a table where the arguments say, and print its beginning unless they say not to."""
    if options.output:
        target = f"{options.output.rstrip('/')}/{name}"
        writer = (_flat(table) if options.format == "csv" else table).write.mode("overwrite")
        if options.format == "csv":
            writer = writer.options(**_CSV)
        writer.format(options.format).save(target)
    if not options.quiet:
        print(f"{name}:")
        table.show(SHOWN_ROWS, truncate=60)


def time_ms(text: str) -> int:
    """ms since 1970 of ``2026-11-21`` or ``2026-11-21T10:00``, in UTC if it names no offset."""
    try:
        parsed = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: not like 2026-11-21T10:00") from error
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=dt.UTC)
    return round(aware.timestamp() * 1000)


def positive(text: str) -> int:
    """A whole number from 1 on."""
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


def _flat(table: DataFrame) -> DataFrame:
    """With what CSV has no form for, such as lists, as JSON."""
    nested = (ArrayType, MapType, StructType)
    return table.select(
        *(
            F.to_json(field.name).alias(field.name)
            if isinstance(field.dataType, nested)
            else F.col(field.name)
            for field in table.schema.fields
        )
    )
