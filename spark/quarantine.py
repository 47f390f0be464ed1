"""Parses quarantined lines again, because newer jobs can read lines of a newer gateway.

    python -m spark.quarantine --table /data/traffic

In one version of the table the lines are quarantined, in the next version they are records. So a
line is in the table once, even if this job is killed, or runs twice.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import functions as F

from spark import records
from spark.arguments import LATE_AFTER, duration
from spark.failures import FAILURES, failed
from spark.session import make_session
from spark.table import LINE, REASON, SOURCE, Counts, Snapshot, Stream, Table, TableError
from spark.writing import Written, write_new

CURABLE: Final = (records.UNKNOWN_VERSION, records.UNKNOWN_KIND)
"""Reasons that may not apply if the jobs are newer. All others are defects of the line itself."""


def parse_again(table: Table, late_after: float = LATE_AFTER) -> int | None:
    """Turn quarantined lines that these jobs can read into records; returns their number.

    Records ``late_after`` seconds behind the newest record are late; a record that a topic has
    twice counts once. Lines of files that are still being written stay, because they are read again
    anyway. Returns None, and changes nothing, if a compaction was faster.
    """
    base = table.snapshot()
    replaced = base.open_commits()
    files = tuple(f for f in base.files if f.is_quarantine and f.commit not in replaced)
    rows = table.read(files)
    before = {row[REASON]: row["count"] for row in rows.groupBy(REASON).count().collect()}
    if not before.keys() & set(CURABLE):
        return 0
    is_curable = F.col(REASON).isin(*CURABLE)
    lines = rows.where(is_curable).select(F.col(LINE).alias("line"), F.col(SOURCE).alias("source"))
    again = records.parse(lines, late_before_ms=_late_before_ms(base, late_after))
    known = [file for file in base.files if not file.is_quarantine]
    written = write_new(table, again, known, rows.where(~is_curable).drop("commit"))
    if written.counts.quarantined == before:
        return 0
    old = {file.path for file in files}

    def change(now: Snapshot) -> Snapshot | None:
        made = now.in_place_of(old, written.files)
        return made and replace(made, streams=_counted(now.streams, before, written))

    return written.counts.records if table.commit(change) else None


def _late_before_ms(snapshot: Snapshot, late_after: float) -> int | None:
    times = [s.newest_ms for s in snapshot.streams.values() if s.newest_ms is not None]
    return max(times) - round(late_after * 1000) if times else None


def _counted(
    streams: Mapping[str, Stream], before: Mapping[str, int], written: Written
) -> Mapping[str, Stream]:
    """The streams' counts, with the lines counted as ``written`` rather than as ``before``.

    Only the first stream's counts change, because a line does not tell its stream.
    """
    if not streams:
        return streams
    name = min(streams)
    away = Counts(quarantined={reason: -count for reason, count in before.items()})
    counts = streams[name].counts + away + written.counts
    left = {reason: count for reason, count in counts.quarantined.items() if count}
    return {**streams, name: replace(streams[name], counts=replace(counts, quarantined=left))}


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        "spark.quarantine", description="Make records of lines that older jobs did not know."
    )
    parser.add_argument("--table", metavar="DIR", required=True, help="what spark.ingest wrote")
    parser.add_argument("--master", help="Spark's master; by default all cores of this machine")
    parser.add_argument(
        "--late-after",
        metavar="SECONDS",
        type=duration,
        default=LATE_AFTER,
        help="seconds behind the newest record that make one late",
    )
    options = parser.parse_args(argv)
    try:
        table = Table(
            make_session("kafka-gateway quarantine", master=options.master), options.table
        )
        if not table.exists():
            raise TableError(f"{options.table}: no table of spark.ingest")
        found = parse_again(table, options.late_after)
        if found is None:
            raise TableError(f"{options.table}: a compaction was faster: run this again")
    except FAILURES as error:
        return failed("quarantine", error)
    print(f"{found} lines are records now")
    return 0


if __name__ == "__main__":
    sys.exit(main())
