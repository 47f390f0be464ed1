"""The records of a job's inputs: tables, files and topics, each read once."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from spark import records, sources
from spark.filesystem import FileSystem
from spark.sources import KafkaTopic
from spark.table import LINE, REASON, SOURCE, Table

_TRIES: Final = 5
"""How often files are read if some vanish meanwhile; a gateway compresses a file in a moment."""

_WILDCARDS: Final = "*?[{"

_SHOWN_BAD: Final = 10
"""How many lines that are not records are listed with their places."""

_SHOWN_SIGNS: Final = 60
"""Characters shown of each such line."""

_ENDS: Final = (sources.PLAIN, sources.COMPRESSED)
_MOST_BYTES: Final = "spark.sql.files.maxPartitionBytes"
_FEWEST_PARTITIONS: Final = "spark.sql.files.minPartitionNum"


def read(
    spark: SparkSession,
    inputs: Sequence[str],
    kafka: Mapping[str, str],
    columns: Sequence[str] | None = None,
) -> DataFrame:
    """The records of all ``inputs``: the schema's columns, ``late``, ``date``. ``kafka`` are the
    Kafka client's settings. Raises SourceError and TableError.

    If ``columns`` are given, the result has only these columns of the schema, ``kind`` and
    ``time_ms``; lines are still checked against the whole schema.

    An input that is named twice is read once. Lines that are not records, and files that cannot be
    read, are reported on stderr.
    """
    topics = {one: t for one in inputs if (t := sources.kafka_topic(one, kafka))}
    places = [one for one in dict.fromkeys(inputs) if one not in topics]
    named = {one: _table(spark, one) for one in places}
    tables = dict.fromkeys(path for path in named.values() if path)
    paths = [one for one in places if not named[one]]
    kept = records.kept(columns)
    found = [records.read_table(spark, path).select(*kept) for path in tables]
    if topics:
        found.append(_from_topics(spark, list(topics.values()), kept))
    if paths:
        found.append(_from_files(spark, paths, kept))
    return reduce(DataFrame.unionByName, found)


def _table(spark: SparkSession, source: str) -> str | None:
    """The qualified path of a table, or None if there is no table at the path."""
    if any(sign in source for sign in _WILDCARDS):
        return None
    table = Table(spark, source)
    return table.path if table.exists() else None


def _from_topics(
    spark: SparkSession, topics: Sequence[KafkaTopic], kept: Sequence[str]
) -> DataFrame:
    """The records of topics, each id once: a gateway whose response was lost writes a record
    again."""
    lines = reduce(DataFrame.unionByName, (sources.read_topic(spark, one) for one in topics))
    parsed = records.parse(lines)
    # A line that is not a record has no id, so it is known by its place.
    is_bad = F.col(REASON).isNotNull()
    key = F.struct(is_bad, F.when(is_bad, F.col(SOURCE)).otherwise(F.col("id")))
    return _checked(parsed.withColumn("key", key).dropDuplicates(["key"]), kept)


def _from_files(spark: SparkSession, paths: Sequence[str], kept: Sequence[str]) -> DataFrame:
    """The records of files. If a file is compressed or removed after it was listed, the files are
    read again."""
    files = FileSystem(spark)
    listed = logs = _logs(files, paths)
    torn: Mapping[str, str] = {}
    for left in reversed(range(_TRIES)):
        try:
            lines = sources.read_files(spark, logs, torn=bool(torn), missing=not left)
            found = _checked(records.parse(lines), kept)
        except (Py4JJavaError, PySparkException):
            there = _there(files, logs)
            known, torn = torn, sources.torn_files(files, there)
            if not left or (there == logs and torn.keys() <= known.keys()):
                raise
            logs = there
            continue
        if not left:
            logs = [path for path in logs if path not in sources.missing_files(files, logs)]
        for path, problem in torn.items():
            _report(f"{path}: read up to where it is damaged: {problem}")
        for path in listed:
            if path not in logs and f"{path}.gz" not in logs:
                _report(f"{path}: removed before it was read")
        return found
    raise AssertionError("the last try returns or raises")


def _logs(files: FileSystem, paths: Sequence[str]) -> list[str]:
    """The files at all paths, each line once: a shell that expands wildcards lists both forms of a
    file that is being compressed."""
    found: set[str] = set()
    for path in paths:
        here = sources.log_files(files, path)
        if not here:
            _report(f"{path}: no file of the traffic log is there")
        found.update(here)
    return sources.each_line_once(found)


def _there(files: FileSystem, logs: Sequence[str]) -> list[str]:
    """The files that still exist, and the compressed forms of files that do not."""
    missing = set(sources.missing_files(files, logs))
    compressed = (f"{path}.gz" for path in missing if path.endswith(sources.PLAIN))
    return sources.each_line_once(
        {path for path in logs if path not in missing}
        | {path for path in compressed if files.exists(path)}
    )


def _checked(parsed: DataFrame, kept: Sequence[str]) -> DataFrame:
    """The records of lines, parsed once for all tables; other lines are reported on stderr."""
    # Records are wide, so keeping unused columns costs a quarter of the tasks' time.
    parsed = parsed.select(*kept, SOURCE, REASON, LINE).persist(StorageLevel.DISK_ONLY)
    try:
        counted = records.bad(parsed).groupBy("reason").count().orderBy("reason").collect()
    except BaseException:
        parsed.unpersist()
        raise
    for reason, count in counted:
        _report(f"{count} lines are no records: {reason}")
    if counted:
        for place in _places(parsed):
            _report(f"  {place}")
    return parsed.where(F.col(REASON).isNull()).select(*kept)


def _places(parsed: DataFrame) -> Iterator[str]:
    """The places of the first :data:`_SHOWN_BAD` lines that are not records."""
    columns = ("source", "reason", F.xxhash64("line").alias("hash"), "line")
    bad = records.bad(parsed).orderBy("source").select(*columns).limit(_SHOWN_BAD).collect()
    files = sorted({one.source for one in bad if one.source.endswith(_ENDS)})
    numbers = _numbers(parsed.sparkSession, files, {one.hash for one in bad}) if files else {}
    for one in sorted(bad, key=lambda one: (one.source, numbers.get((one.source, one.hash), [0]))):
        known = numbers.get((one.source, one.hash), [])
        place = f", line {known.pop(0)}" if known else ""
        yield f"{one.source}{place}: {one.reason}: {one.line[:_SHOWN_SIGNS]!r}"


def _numbers(
    spark: SparkSession, files: Sequence[str], hashes: Collection[int]
) -> dict[tuple[str, int], list[int]]:
    """The numbers, from 1 on, of the lines of these files whose hash is in ``hashes``."""
    whole = {_MOST_BYTES: str(2**40), _FEWEST_PARTITIONS: "1"}
    before = {key: spark.conf.get(key) for key in whole}
    for key, value in whole.items():
        spark.conf.set(key, value)
    try:
        # With these settings no file is in two partitions, so ids increase from line to line.
        lines = sources.read_files(spark, files, torn=True, missing=True)
        in_order = Window.partitionBy("source").orderBy("place")
        found = (
            lines.withColumn("place", F.monotonically_increasing_id())
            .withColumn("number", F.row_number().over(in_order))
            .select("source", F.xxhash64("line").alias("hash"), "number")
            .where(F.col("hash").isin(*hashes))
            .orderBy("source", "number")
            .limit(_SHOWN_BAD * len(files))
            .collect()
        )
    finally:
        for key, earlier in before.items():
            spark.conf.set(key, earlier or whole[key])
    numbers: dict[tuple[str, int], list[int]] = {}
    for one in found:
        numbers.setdefault((one.source, one.hash), []).append(one.number)
    return numbers


def _report(text: str) -> None:
    print(text, file=sys.stderr)
