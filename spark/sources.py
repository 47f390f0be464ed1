"""Sources of the traffic log's lines: files of any file system, or a Kafka topic.

An input is a path, which may have wildcards, or ``kafka://HOST:PORT,HOST:PORT/TOPIC``. If
``spark.ingest`` has written to the path, it is a table (spark/table.py); if not, it holds
``*.jsonl`` and ``*.jsonl.gz`` files at any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark.filesystem import Entry, FileSystem, literal
from spark.local_rows import local_rows

PLAIN: Final = ".jsonl"
COMPRESSED: Final = ".jsonl.gz"
_KAFKA: Final = "kafka://"


class SourceError(Exception):
    """An input that cannot be read; the text is one line for the user."""


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic; ``options`` are the Kafka client's, such as ``security.protocol``."""

    servers: str
    topic: str
    options: Mapping[str, str] = field(default_factory=dict)

    def settings(self) -> dict[str, str]:
        """The options of Spark's connector. Records that the topic has lost are an error."""
        own = {f"kafka.{key}": value for key, value in self.options.items()}
        return own | {
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.topic,
            "startingOffsets": "earliest",
            "failOnDataLoss": "true",
        }


def kafka_topic(source: str, options: Mapping[str, str] = {}) -> KafkaTopic | None:
    """The topic that an input names, or None if the input is a path. Raises SourceError."""
    if not source.startswith(_KAFKA):
        return None
    servers, _, topic = source.removeprefix(_KAFKA).partition("/")
    if not servers or not topic or "/" in topic:
        raise SourceError(f"{source}: a topic is kafka://HOST:PORT/TOPIC")
    return KafkaTopic(servers, topic, options)


def read_files(
    spark: SparkSession, paths: Sequence[str], *, torn: bool = False, missing: bool = False
) -> DataFrame:
    """The lines of files, with the file's path: columns ``line`` and ``source``.

    A torn file is an error, unless ``torn`` is set: then the lines before the tear are read. A file
    that was removed after it was listed is an error, unless ``missing`` is set: then it has no
    lines.
    """
    if not paths:
        return local_rows(spark, "line string, source string")
    reader = (
        spark.read.option("lineSep", "\n")
        .option("ignoreCorruptFiles", torn)
        .option("ignoreMissingFiles", missing)
    )
    return reader.text([literal(path) for path in paths]).select(
        F.col("value").alias("line"), F.col("_metadata.file_path").alias("source")
    )


def read_topic(spark: SparkSession, topic: KafkaTopic) -> DataFrame:
    """The lines of a topic, from its beginning to its present end."""
    return kafka_lines(spark.read.format("kafka").options(**topic.settings()).load())


def kafka_lines(records: DataFrame) -> DataFrame:
    """The lines of the records of Spark's connector, each with ``topic-partition@offset``."""
    place = F.concat_ws("", "topic", F.lit("-"), "partition", F.lit("@"), "offset")
    return records.select(F.col("value").cast("string").alias("line"), place.alias("source"))


def log_files(files: FileSystem, source: str) -> list[str]:
    """The traffic log's files at a path, each line once: see :func:`each_line_once`.

    Raises SourceError if there is nothing at the path.
    """
    if not files.matches(source):
        raise SourceError(f"{source}: there is nothing")
    return each_line_once(entry.path for entry in entries(files, source))


def entries(files: FileSystem, source: str) -> list[Entry]:
    """The traffic log's files at a path, in both forms.

    Files and directories below it whose names begin with ``_`` or ``.`` are left out, as in
    Spark's streams.
    """
    return [
        entry
        for path in files.matches(source)
        for entry in files.files(path, recursive=True)
        if entry.path.endswith((PLAIN, COMPRESSED)) and not _is_hidden(entry.path, path)
    ]


def _is_hidden(path: str, top: str) -> bool:
    below = path.removeprefix(top).split("/")
    return any(name.startswith(("_", ".")) for name in below)


def each_line_once(paths: Iterable[str]) -> list[str]:
    """The paths, sorted, without plain files whose compressed form exists as well, as both do
    during compression, and after a crash."""
    known = {path for path in paths if path.endswith((PLAIN, COMPRESSED))}
    return sorted(path for path in known if f"{path}.gz" not in known)


def unfinished(path: str) -> str:
    """The path that a compressed file had while it was being written."""
    return path.removesuffix(".gz")


def torn_files(files: FileSystem, paths: Iterable[str]) -> dict[str, str]:
    """The compressed files that cannot be read to their end, and why. Reads all of them.

    Missing files are left out: see :func:`missing_files`.
    """
    compressed = (path for path in paths if path.endswith(COMPRESSED))
    return {path: problem for path in compressed if (problem := files.gzip_error(path))}


def missing_files(files: FileSystem, paths: Iterable[str]) -> list[str]:
    """The files that do not exist, in the given order."""
    return [path for path in paths if not files.exists(path)]
