"""spark.report: the jobs' tables on one page, and sums computed again in Python."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark import report
from spark.arguments import Progress, parse
from spark.sections import SECTIONS
from tests.spark import samples

NOW = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
SILENT = Progress("report", quiet=True)
VOLUME = ("bytes_in", "bytes_out", "records_in", "records_out", "requests")
_FIELDS = ("bytes_in", "bytes_out", "records", "records_out", "led_requests")
_CATALOG = {
    "format": 1,
    "acls": [
        {
            "type": "TOPIC",
            "pattern": "LITERAL",
            "name": "org:orders",
            "entries": [
                {"permission": "ALLOW", "operation": operation, "principal": "User:alice"}
                for operation in ("READ", "ALTER")
            ],
        }
    ],
}


def rows() -> list[samples.Row]:
    """A few records of every kind."""
    flows = samples.random_flows(3, 300)
    for row in flows:
        if row["led_requests"]:
            row["gateway_us_quarters"] = samples.histogram([90] * row["led_requests"])
            row["broker_us_quarters"] = samples.histogram([2000] * row["led_requests"])
    return [
        *flows,
        samples.flow("org:t.internal", bytes_in=500, records=5, acks_all=1, batches=1),
        samples.flow(None, api="Metadata", bytes_out=70, client_id="</script>"),
        *[samples.denial(principal=f"User:{who}") for who in ("bob", "bob", "eve")],
        samples.policy(outcome="refused", value=12, limit=6),
        samples.used_acl("ALLOW READ for User:alice on TOPIC:LITERAL:org:orders"),
    ]


def options(*more: str) -> Any:
    return parse(report.COMMAND, ["--input", "here", "--quiet", *more])


def sections_of(page: str) -> dict[str, dict[str, Any]]:
    """By table: the page's section, with its rows as objects."""
    block = re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)
    assert block is not None
    found = {}
    for section in json.loads(block[1])["sections"]:
        keys = [column["key"] for column in section["columns"]]
        named = [dict(zip(keys, row, strict=True)) for row in section["rows"]]
        found[section["table"]] = {**section, "rows": named}
    return found


def volume(of: list[samples.Row]) -> tuple[int, ...]:
    return tuple(sum(row[field] or 0 for row in of) for field in _FIELDS)


@pytest.mark.long("spark")
def test_every_section_has_the_jobs_rows(spark: SparkSession, tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.json"
    catalog.write_text(json.dumps(_CATALOG))
    given = rows()
    flows = [row for row in given if row["kind"] == "flow"]
    made = report.make(samples.frame(spark, given), options("--catalog", str(catalog)), NOW, SILENT)
    found = sections_of(made)
    for section in SECTIONS:
        assert found[section.table]["rows"], section.table
        assert found[section.table]["total"] == len(found[section.table]["rows"])

    tiers = {row["tier"]: row for row in found["namespaces"]["rows"]}
    assert tuple(tiers["(all)"][key] for key in VOLUME) == volume(flows)
    org = [row for row in flows if (row["namespace"] or "").partition(":")[0] == "org"]
    assert tuple(tiers["org"][key] for key in VOLUME) == volume(org)
    assert set(tiers) == {"(all)", "(default)", "(none)", "org", "org:apache", "team-a"}

    # Every record is in one outermost tier of one period, and of one client.
    for table in ("over_time", "clients"):
        shown = found[table]["rows"]
        sums = tuple(sum(row[key] for row in shown) for key in VOLUME)
        assert sums == volume(flows), table
    moved = [row["bytes_in"] + row["bytes_out"] for row in found["clients"]["rows"]]
    assert moved == sorted(moved, reverse=True)
    # Three days are shown by the hour.
    assert len({row["period"] for row in found["over_time"]["rows"]}) > 48
    assert "kafka-gateway" not in found["unused_acls"]["empty"], "it was given"

    assert [(row["principal"], row["count"]) for row in found["denials"]["rows"]] == [
        ("User:bob", 2),
        ("User:eve", 1),
    ]
    [unused] = found["unused_acls"]["rows"]
    assert "--operation Alter" in unused["command"]
    assert {row["topic"] for row in found["replication"]["rows"]} == {"org:t.internal"}
    breaking = [
        row["breaks_acks"] or row["breaks_idempotence"] for row in found["guarantees"]["rows"]
    ]
    assert breaking == sorted(breaking, reverse=True)


def test_the_page_begins_with_the_totals(spark: SparkSession) -> None:
    given = rows()
    flows = [row for row in given if row["kind"] == "flow"]
    records = samples.frame(spark, given)
    assert report.facts(records).totals == {
        **dict(zip(VOLUME, volume(flows), strict=True)),
        "namespaces": len({row["namespace"] for row in flows} - {None}),
        "topics": len({row["logical_topic"] for row in flows} - {None}),
        "clients": len({row["client_id"] for row in flows}),
        "denials": 3,
    }


@pytest.mark.long("spark")
def test_small_namespaces_are_summed_up_over_time(spark: SparkSession) -> None:
    given = [
        samples.flow(f"team-{n}:t", bytes_in=n, time_ms=samples.START_MS + day * 86_400_000)
        for n in range(1, 10)
        for day in range(5)
    ]
    found = sections_of(report.make(samples.frame(spark, given), options(), NOW, SILENT))[
        "over_time"
    ]
    largest = {f"team-{n}" for n in range(4, 10)}
    assert {row["tier"] for row in found["rows"]} == largest | {report.OTHERS}
    others = [row["bytes_in"] for row in found["rows"] if row["tier"] == report.OTHERS]
    assert others == [1 + 2 + 3] * 5


@pytest.mark.parametrize(
    ("minutes", "window_ms", "period_ms"),
    [
        (1, 1_000, 1_000),
        (1, 10_000, 10_000),
        (60, 10_000, 60_000),
        (60, 300_000, 300_000),
        (24 * 60, 60_000, 30 * 60_000),
        (3 * 24 * 60, 60_000, 3_600_000),
        (90 * 24 * 60, 60_000, 86_400_000),
        (20_000 * 24 * 60, 60_000, 28 * 86_400_000),
    ],
)
def test_a_bar_over_time_fits_the_time(minutes: int, window_ms: int, period_ms: int) -> None:
    known = report.Facts({}, NOW, NOW + dt.timedelta(minutes=minutes), window_ms)
    assert known.period_ms == period_ms


def test_an_hour_is_shown_by_the_minute(spark: SparkSession) -> None:
    given = [
        samples.flow("a:t", bytes_in=1, time_ms=samples.START_MS + second * 1000, window_ms=10_000)
        for second in range(0, 3600, 10)
    ]
    records = samples.frame(spark, given)
    shown = report.over_time(records, report.facts(records).period_ms).collect()
    assert sorted((row.period.minute, row.bytes_in) for row in shown) == [(n, 6) for n in range(60)]


@pytest.mark.long("spark")
def test_what_nobody_asked_for_is_told_apart_from_what_is_empty(
    spark: SparkSession, tmp_path: Path
) -> None:
    records = samples.frame(spark, [samples.flow("a:t")])
    asked = tmp_path / "catalog.json"
    asked.write_text(json.dumps({"format": 1, "acls": []}))
    told = [
        sections_of(report.make(records, options(*more), NOW, SILENT))["unused_acls"]["empty"]
        for more in ([], ["--catalog", str(asked)])
    ]
    assert "--catalog" in told[0]
    assert told[1] == "Every ACL of the catalog was used in this time."


@pytest.mark.long("spark")
def test_a_long_table_says_how_long_it_is(spark: SparkSession) -> None:
    given = [samples.flow(f"team-a:t{n}") for n in range(30)]
    # There are records of used ACLs from before the selected time.
    given.append(samples.used_acl("x", time_ms=samples.START_MS - 3_600_000))
    made = report.make(samples.frame(spark, given), options("--rows", "7"), NOW, SILENT)
    assert '"first":"2026-01-01T00:00:00Z"' in made
    idle = sections_of(made)["idle_topics"]
    assert (len(idle["rows"]), idle["total"]) == (7, 30)
    assert [row["topic"] for row in idle["rows"]] == sorted(f"team-a:t{n}" for n in range(30))[:7]


def test_no_records_at_all(spark: SparkSession) -> None:
    found = sections_of(report.make(samples.frame(spark, []), options(), NOW, SILENT))
    assert [section["rows"] for section in found.values()] == [[]] * len(SECTIONS)


@pytest.mark.parametrize("rows", ["-1", "0", "many"])
def test_a_page_has_a_row_of_a_table_at_least(rows: str) -> None:
    with pytest.raises(SystemExit):
        options("--rows", rows)


@pytest.mark.long("spark")
def test_the_command_writes_the_page_and_the_tables(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.mkdir()
    lines = (json.dumps(row | {"id": f"g-0-{number}"}) for number, row in enumerate(rows()))
    (log / "traffic-g-w0-000001.jsonl").write_text("\n".join(lines) + "\n")
    page = tmp_path / "made" / "report.html"
    tables = tmp_path / "tables"
    arguments = ["--input", str(log), "--page", str(page), "--title", "Ours & theirs"]
    assert report.main([*arguments, "--output", str(tables), "--format", "json"]) == 0
    assert str(page) in capsys.readouterr().out
    assert "<title>Ours &amp; theirs</title>" in page.read_text()
    assert sections_of(page.read_text())["clients"]["rows"]
    assert [path.name for path in page.parent.iterdir()] == ["report.html"]
    written = spark.read.json(str(tables / "denials"))
    assert {row["principal"] for row in written.collect()} == {"User:bob", "User:eve"}

    blocked = tmp_path / "file"
    blocked.write_text("")
    assert report.main([*arguments, "--page", str(blocked / "report.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err
