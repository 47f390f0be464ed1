"""spark.records: every line is a record or quarantined with the reason."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any, get_args

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gateway.traffic import record as traffic_record
from spark import records, schema
from spark.table import row_schema
from tests.spark.lines import DAY_MS, TIME_MS, line

_WHOLE = line("whole")

RECORDS = {
    "as the gateway writes it": _WHOLE,
    "a field that no version has yet": line("x", tomorrow={"a": [1]}),
    "signs of JSON in a value": line('}{ ],[ \\"},{', namespace='"}'),
    "spaces around it": f"  {_WHOLE}\t ",
    "a value may be null": line("x", namespace=None, errors=None),
    "the first moment": line("x", time_ms=records.OLDEST_MS),
    "the most that is counted": line(
        "x", bytes_in=records.MOST, gateway_us_quarters={"9": records.MOST}
    ),
    "of an earlier gateway": line("x", schema_version=1, gateway_us_log2=[0, 2]),
    "a limit may be any number": line("x", value=-1, limit=2**63 - 1),
}

QUARANTINED = {
    "cut short": (_WHOLE[:60], records.CORRUPT),
    "cut short, and the next one after it": (_WHOLE[:60] + _WHOLE, records.CORRUPT),
    "two records": (_WHOLE + _WHOLE, records.CORRUPT),
    "two records with a comma": (f"{_WHOLE},{_WHOLE}", records.CORRUPT),
    "two records with brackets": (f"{_WHOLE}],[{_WHOLE}", records.CORRUPT),
    "something after it": (f"{_WHOLE} x", records.CORRUPT),
    "one brace too many": (_WHOLE + "}", records.CORRUPT),
    "a list": (f"[{_WHOLE}]", records.CORRUPT),
    "null": ("null", records.CORRUPT),
    "a number": ("5", records.CORRUPT),
    "empty": ("", records.CORRUPT),
    "zeros of a crashed disk": ("\0\0\0\0", records.CORRUPT),
    "a word for a number": (line("x", requests="many"), records.CORRUPT),
    "half a request": (line("x", requests=1.5), records.CORRUPT),
    "more than a long holds": (line("x", requests=2**70), records.CORRUPT),
    "a word in a histogram": (line("x", gateway_us_log2=[1, "x"]), records.CORRUPT),
    "a list for a map": (line("x", errors=[1]), records.CORRUPT),
    "a newer version": (
        line("x", schema_version=schema.SCHEMA_VERSION + 1),
        records.UNKNOWN_VERSION,
    ),
    "no version": (line("x", schema_version=0), records.MISSING_FIELD),
    "no kind": (line("x", kind=None), records.MISSING_FIELD),
    "no id": (line("x", id=None), records.MISSING_FIELD),
    "no time": (line("x", time_ms=None), records.MISSING_FIELD),
    "a kind that nobody knows": (line("x", kind="rumour"), records.UNKNOWN_KIND),
    "too old": (line("x", time_ms=records.OLDEST_MS - 1), records.BAD_TIME),
    "too new": (line("x", time_ms=records.NEWEST_MS), records.BAD_TIME),
    "less than nothing": (line("x", bytes_out=-1), records.BAD_COUNT),
    "more than is counted": (line("x", bytes_in=records.MOST + 1), records.BAD_COUNT),
    "fewer connections than none": (line("x", connections=-1), records.BAD_COUNT),
    "less than nothing in a histogram": (line("x", broker_us_log2=[0, -1]), records.BAD_COUNT),
    "too much in a histogram": (line("x", gateway_us_log2=[2**62, 0]), records.BAD_COUNT),
    "less than nothing in a newer histogram": (
        line("x", broker_us_quarters={"9": -1}),
        records.BAD_COUNT,
    ),
    "less than nothing in a map": (line("x", denials={"acl": -5}), records.BAD_COUNT),
    "quotes that are none": (_WHOLE.replace('"', "'"), records.CORRUPT),
    "no number": (line("x", tomorrow=float("nan")), records.CORRUPT),
    "an end of its own": (f'{_WHOLE},{{"kind":"end of line"}}]', records.CORRUPT),
}


def _lines(spark: SparkSession, *lines: str) -> DataFrame:
    given = F.array(*(F.lit(one) for one in lines))
    return spark.range(1).select(F.explode(given).alias("line"), F.lit("file").alias("source"))


def _good(spark: SparkSession, *lines: str) -> DataFrame:
    """The records, parsed before any query, as the jobs have them."""
    return records.good(records.parse(_lines(spark, *lines)).persist())


@pytest.fixture(scope="module")
def parsed(spark: SparkSession) -> dict[str, Any]:
    """The row of every line above, by the line."""
    given = [*RECORDS.values(), *(one for one, _ in QUARANTINED.values())]
    rows = records.parse(_lines(spark, *given)).collect()
    assert len(rows) == len(given)
    return dict(zip(given, rows, strict=True))


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_one(parsed: dict[str, Any], name: str) -> None:
    row = parsed[RECORDS[name]]
    assert (row.log_reason, row.log_line, row.kind) == (None, None, "flow")
    assert row.date == dt.datetime.fromtimestamp(row.time_ms / 1000, dt.UTC).date()
    assert row.requests == 2


@pytest.mark.parametrize("name", QUARANTINED)
def test_what_is_none_is_quarantined_with_the_reason(parsed: dict[str, Any], name: str) -> None:
    given, reason = QUARANTINED[name]
    row = parsed[given]
    assert (row.log_reason, row.log_line, row.kind) == (reason, given, "quarantine")


def test_the_values_are_those_of_the_line(parsed: dict[str, Any]) -> None:
    row = parsed[_WHOLE]
    assert (row.client_id, row.time_ms, row.worker_id) == ("whole", TIME_MS, 0)
    assert (row.errors, row.gateway_us_quarters) == ({"NONE": 2}, {"4": 2})
    assert (row.rule, row.late, row.date) == (None, False, dt.date(2026, 1, 1))


def test_bytes_that_are_no_text_are_quarantined(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "traffic-g-w0-00000001.jsonl"
    path.write_bytes(b'{"kind":"\xff\xfe"}\n' + _WHOLE.encode() + b"\n")
    lines = spark.read.text(str(path)).select(
        F.col("value").alias("line"), F.lit("").alias("source")
    )
    assert [row.log_reason for row in records.parse(lines).collect()] == [records.CORRUPT, None]


def test_what_is_older_than_the_watermark_is_late_but_a_record(spark: SparkSession) -> None:
    lines = _lines(spark, line("new"), line("old", time_ms=TIME_MS - 1), "none")
    parsed = records.parse(lines, late_before_ms=TIME_MS).collect()
    assert [row.late for row in parsed] == [False, True, False]
    assert [row.log_reason for row in parsed] == [None, None, records.CORRUPT]


def test_a_line_may_stand_for_a_problem_of_a_file(spark: SparkSession) -> None:
    lines = _lines(spark, _WHOLE).withColumn("problem", F.lit(records.TORN_FILE))
    (row,) = records.parse(lines).collect()
    assert (row.log_reason, row.kind, row.log_line) == (records.TORN_FILE, "quarantine", _WHOLE)


def test_good_and_bad_are_all(spark: SparkSession) -> None:
    parsed = records.parse(_lines(spark, line("a"), "b", line("c")))
    assert [row.client_id for row in records.good(parsed).collect()] == ["a", "c"]
    assert [tuple(row) for row in records.bad(parsed).collect()] == [
        (records.CORRUPT, "file", "b", None)
    ]


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "expected"),
    [
        (None, None, ["a", "b", "c"]),
        (TIME_MS, None, ["b", "c"]),
        (None, TIME_MS + DAY_MS, ["a", "b"]),
        (TIME_MS, TIME_MS, []),
    ],
)
def test_between_takes_the_first_moment_and_not_the_last(
    spark: SparkSession, from_ms: int | None, to_ms: int | None, expected: list[str]
) -> None:
    times = {"a": TIME_MS - 1, "b": TIME_MS, "c": TIME_MS + DAY_MS}
    given = _good(spark, *(line(n, time_ms=t) for n, t in times.items()))
    kept = records.between(given, from_ms, to_ms).collect()
    assert [row.client_id for row in kept] == expected


def test_used_acls_are_from_before_too(spark: SparkSession) -> None:
    """A gateway records an ACL that is in use once an hour, so perhaps before the selected time."""
    hour = records.ACLS_TOLD_AGAIN_MS
    times = {"early": -3 * hour, "before": -hour, "within": 0, "after": hour}
    lines = [
        line(f"{kind} {name}", kind=kind, time_ms=TIME_MS + time)
        for kind in ("acl", "flow")
        for name, time in times.items()
    ]
    kept = records.between(_good(spark, *lines), TIME_MS, TIME_MS + hour).collect()
    assert sorted(row.client_id for row in kept) == ["acl before", "acl within", "flow within"]


def test_the_kinds_are_those_that_the_gateway_writes() -> None:
    assert set(records.KINDS) == set(get_args(traffic_record.Kind))


def test_what_is_required_every_record_has() -> None:
    everywhere = {
        field.name
        for field in traffic_record.FIELDS
        if set(field.kinds) == set(records.KINDS) and not field.nullable
    }
    assert set(records.REQUIRED) <= everywhere


def test_no_column_is_there_twice() -> None:
    names = [field.name for field in row_schema().fields]
    assert len(names) == len(set(names))
