"""spark.writing: a record that a topic has twice is in the table once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from pyspark.sql import DataFrame

from spark import batches, compaction, quarantine, records, schema, writing
from spark.local_rows import local_rows
from spark.table import Counts, DataFile, Snapshot, Stream, Table
from tests.spark.lines import TIME_MS, line, numbered

_STREAM = "traffic"

NEWER = schema.SCHEMA_VERSION + 1


def _lines(table: Table, lines: Iterable[str], first: int = 0) -> DataFrame:
    """Lines as they come from a topic, from an offset on."""
    rows = [{"line": one, "source": f"t-0@{first + i}"} for i, one in enumerate(lines)]
    return local_rows(table.spark, "line string, source string", rows)


def _batch(table: Table, number: int, lines: Iterable[str]) -> Counts:
    given = _lines(table, lines, 100 * number)
    written = writing.write_topic(table, _STREAM, given, TIME_MS)
    batches.commit(table, _STREAM, number, written)
    return written.counts


def _names(table: Table) -> Counter[str]:
    rows = records.read_table(table.spark, table.path).collect()
    return Counter(row.client_id for row in rows)


@pytest.mark.long("spark")
def test_a_record_counts_once_in_a_batch_and_in_those_that_follow(table: Table) -> None:
    first = [*numbered(0, 3), *numbered(1, 1), "none", "none", line("late", time_ms=TIME_MS - 1)]
    assert _batch(table, 0, first) == Counts(4, 1, {records.CORRUPT: 2}, 1)
    again = [*numbered(2, 3), line("late", time_ms=TIME_MS - 1)]
    assert _batch(table, 1, again) == Counts(2, 0, {}, 2)
    compaction.compact(table, least_files=2)
    assert _batch(table, 2, numbered(4, 2)) == Counts(1, 0, {}, 1)
    assert set(_names(table).values()) == {1}
    assert sorted(_names(table)) == ["0", "1", "2", "3", "4", "5", "late"]
    assert table.snapshot().streams[_STREAM].counts == Counts(7, 1, {records.CORRUPT: 2}, 4)


def test_only_recent_files_of_records_are_asked() -> None:
    hour = writing.WITHIN_MS
    names = {f"{ms:013}-x": kind for ms, kind in ((hour, "flow"), (2 * hour, "flow"))}
    names[f"{2 * hour:013}-y"] = "quarantine"
    files = tuple(DataFile(f"commit={n}/date=2026-01-01/kind={k}/a", 1) for n, k in names.items())
    snapshot = Snapshot(files=files, streams={_STREAM: Stream(made_ms=2 * hour + 1)})
    assert writing.recent(snapshot, _STREAM) == [files[1]]
    assert writing.recent(snapshot, "other") == list(files[:2])


def test_lines_of_files_share_their_place(table: Table) -> None:
    lines = local_rows(
        table.spark,
        "line string, source string",
        [{"line": one, "source": "file:/a.jsonl"} for one in [*numbered(1, 2), *numbered(1, 1)]],
    )
    written = writing.write_new(table, records.parse(lines), [])
    assert written.counts == Counts(3)


def test_what_was_quarantined_twice_becomes_one_record(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = [line(name, schema_version=NEWER) for name in ("a", "a", "b")]
    assert _batch(table, 0, newer).quarantined == {records.UNKNOWN_VERSION: 3}
    monkeypatch.setattr(schema, "SCHEMA_VERSION", NEWER)
    # Another record that these jobs have taken meanwhile.
    _batch(table, 1, newer[2:])
    assert quarantine.parse_again(table) == 1
    assert _names(table) == {"a": 1, "b": 1}
    assert table.snapshot().streams[_STREAM].counts == Counts(2, 0, {}, 2)
