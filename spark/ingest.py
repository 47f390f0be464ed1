"""Ingest: the traffic log into a Parquet table, each line exactly once.

    python -m spark.ingest --input /var/log/kafka-gateway --table /data/traffic

Structured Streaming records the contents of a batch before the batch runs, so a batch that a crash
interrupts is repeated with the same lines. A batch's number is committed with its files in one
step (spark/table.py), and a committed batch is not repeated. So each line
is in the table once even if ingest is killed, as a record or quarantined.

The stream reads finished files (``.jsonl.gz``), which never change. Files that are still being
written are read from time to time (spark/open_files.py).
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader

from spark import arguments, batches, compaction, open_files, sources, writing
from spark.arguments import LATE_AFTER, duration
from spark.checkpoint import Checkpoint
from spark.failures import FAILURES, failed
from spark.sources import KafkaTopic, SourceError
from spark.table import Counts, Snapshot, Stream, Table, TableError

FILES_PER_BATCH: Final = 64
RECORDS_PER_BATCH: Final = 1_000_000
"""Files, or records of a topic, in one batch: bounds its memory, and the work lost in a crash."""

# The columns of a directory listing; this stream does not read the files' content.
_LISTING: Final = "path string, modificationTime timestamp, length long, content binary"
_FOREVER: Final = "36500d"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one ingest. Times are in seconds; with ``open_every`` 0 open files are not read.

    ``other_input`` allows a source that differs from the table's previous one."""

    stream: str = "traffic"
    every: float = 10.0
    open_every: float = 60.0
    late_after: float = LATE_AFTER
    compact_every: float = 600.0
    files_per_batch: int = FILES_PER_BATCH
    other_input: bool = False


class Ingest:
    """One stream from one source into one table."""

    def __init__(
        self, table: Table, source: str, topic: KafkaTopic | None, settings: Settings
    ) -> None:
        self._table = table
        self._source = source
        self._topic = topic
        self._settings = settings
        path = f"{table.path}/checkpoints/{settings.stream}"
        self._checkpoint = Checkpoint(table.files, path)
        self.stopping = threading.Event()

    def run(self, *, once: bool) -> None:
        """Ingest until :attr:`stopping` is set or, with ``once``, what the source has now.

        Raises TableError, SourceError, and Spark's error if a batch fails.
        """
        if self._topic is None and not self._table.files.matches(self._source):
            raise SourceError(f"{self._source}: there is nothing")
        self._checkpoint.refuse_another(self._table, self._settings.stream)
        self._claim()
        query = self._start(once)
        next_open = next_compaction = 0.0
        while query.isActive and not self.stopping.is_set():
            query.awaitTermination(1)
            if once:
                continue
            now = time.monotonic()
            if now >= next_open:
                self.read_open_files()
                next_open = time.monotonic() + (self._settings.open_every or float("inf"))
            if now >= next_compaction:
                self.compact()
                next_compaction = time.monotonic() + (self._settings.compact_every or float("inf"))
        query.stop()
        failure = query.exception()
        if failure:
            raise failure
        if once and not self.stopping.is_set():
            self.read_open_files()
            self.compact()

    def read_open_files(self) -> None:
        """Replace the table's rows of files that are still being written."""
        if self._topic is None and self._settings.open_every:
            open_files.refresh(
                self._table, self._settings.stream, self._source, self._late_before()
            )

    def compact(self) -> None:
        """Join small files, and remove files that no reader uses any more."""
        if self._settings.compact_every:
            compaction.compact(self._table)
            compaction.clean(self._table)

    def _claim(self) -> None:
        """Record the stream's source in the table. Raises TableError if the table has another
        source, because files with other paths would be read again."""
        stream = self._settings.stream
        here = self._source if self._topic else self._table.files.qualified(self._source)

        def change(now: Snapshot) -> Snapshot | None:
            known = now.streams.get(stream, Stream())
            if known.source == here:
                return None
            if known.source and not self._settings.other_input:
                raise TableError(
                    f"{self._table.path} has been written from {known.source}. Write to a new "
                    "table; or, if files keep their paths, add --other-input"
                )
            return replace(now, streams={**now.streams, stream: replace(known, source=here)})

        self._table.commit(change)

    def _start(self, once: bool) -> StreamingQuery:
        reader = self._table.spark.readStream
        lines = self._topic_stream(reader) if self._topic else self._file_stream(reader)
        writer = lines.writeStream.queryName(self._settings.stream)
        writer = writer.option("checkpointLocation", self._checkpoint.path)
        writer = writer.foreachBatch(self._batch)
        if once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self._settings.every} seconds").start()

    def _file_stream(self, reader: DataStreamReader) -> DataFrame:
        options = {
            "pathGlobFilter": f"*{sources.COMPRESSED}",
            "recursiveFileLookup": "true",
            "maxFilesPerTrigger": str(self._settings.files_per_batch),
            # By default Spark silently ignores files a week older than the newest one.
            "maxFileAge": _FOREVER,
        }
        listing = reader.format("binaryFile").schema(_LISTING).options(**options)
        return listing.load(self._source).select("path")

    def _topic_stream(self, reader: DataStreamReader) -> DataFrame:
        assert self._topic
        settings = self._topic.settings() | {"maxOffsetsPerTrigger": str(RECORDS_PER_BATCH)}
        return sources.kafka_lines(reader.format("kafka").options(**settings).load())

    def _batch(self, frame: DataFrame, number: int) -> None:
        """Write one batch of Structured Streaming, which may call this again for the same batch."""
        stream, table = self._settings.stream, self._table
        if batches.is_done(table.snapshot(), stream, number):
            return
        if self._topic:
            written = writing.write_topic(table, stream, frame, self._late_before())
            is_new = batches.commit(table, stream, number, written)
            counts = written.counts if is_new else None
        else:
            # If a batch is repeated, Spark leaves out the files that were removed since then.
            there = (row.path for row in frame.collect())
            paths = sorted({*there, *self._checkpoint.files_of(number)})
            counts = batches.take_files(table, stream, number, paths, self._late_before())
        if counts:
            print(f"batch {number}: {_lines(counts)}", file=sys.stderr, flush=True)

    def _late_before(self) -> int | None:
        """The watermark: older records are late; None before the first record.

        It depends only on committed records, so that a batch that is repeated after a crash marks
        the same records late.
        """
        known = self._table.snapshot().streams.get(self._settings.stream)
        if known is None or known.newest_ms is None:
            return None
        return known.newest_ms - round(self._settings.late_after * 1000)


def _lines(counts: Counts) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts.quarantined.items())
    text = f"{counts.records} records, {counts.late} of them late; quarantined: {reasons or 'none'}"
    return f"{text}; left out as repeated: {counts.repeated}" if counts.repeated else text


def _all_lines(snapshot: Snapshot, stream: str) -> str:
    counts = snapshot.streams.get(stream, Stream()).counts
    if stream not in snapshot.open:
        return _lines(counts)
    being_written = snapshot.open[stream].counts
    lines = being_written.records + sum(being_written.quarantined.values())
    return f"{_lines(counts + being_written)}; {lines} lines are of files that are being written"


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    defaults = Settings()
    parser = argparse.ArgumentParser(
        "spark.ingest", description="The traffic log into a Parquet table, each line exactly once."
    )
    arguments.add_input(parser)
    parser.add_argument("--table", metavar="DIR", required=True, help="the table to write")
    parser.add_argument("--once", action="store_true", help="ingest what there is now, and end")
    for name, value, what in (
        ("every", defaults.every, "seconds between batches"),
        ("open-every", defaults.open_every, "seconds between reads of open files, 0: none"),
        ("late-after", defaults.late_after, "seconds behind the newest record that make one late"),
        ("compact-every", defaults.compact_every, "seconds between compactions, 0: none"),
    ):
        parser.add_argument(f"--{name}", metavar="SECONDS", type=duration, default=value, help=what)
    parser.add_argument(
        "--files-per-batch",
        metavar="N",
        type=arguments.positive,
        default=defaults.files_per_batch,
        help="at most",
    )
    parser.add_argument(
        "--other-input",
        action="store_true",
        help="accept another --input than before: files with other paths are read again",
    )
    options = parser.parse_args(argv)
    if len(options.input) != 1:
        parser.error("one stream has one input")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status. SIGTERM and SIGINT end it within about a second;
    the next run repeats an interrupted batch."""
    options = _parse(argv)
    settings = Settings(
        every=options.every,
        open_every=options.open_every,
        late_after=options.late_after,
        compact_every=options.compact_every,
        files_per_batch=options.files_per_batch,
        other_input=options.other_input,
    )
    try:
        topic = sources.kafka_topic(options.input[0], dict(options.kafka_option))
        table = Table(arguments.session("ingest", options), options.table)
        ingest = Ingest(table, options.input[0], topic, settings)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: ingest.stopping.set())
        ingest.run(once=options.once)
        text = _all_lines(table.snapshot(), settings.stream)
    except FAILURES as error:
        return failed("ingest", error)
    print(f"{table.path}: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
