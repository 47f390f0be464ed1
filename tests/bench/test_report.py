"""bench.report: tables and JSON."""

from __future__ import annotations

import json

from bench.codec import CodecRow
from bench.machine import Provenance
from bench.report import as_json, codec_table, table, verdict, wire_table
from bench.results import Row, Samples, rows

_WHERE = Provenance("2025-01-31", "abc1234", 2, 24, "3.11.7", "6.1", 0.0)
_TITLES = {"direct": "direct", "haproxy": "HAProxy", "gateway-ids": "gateway, topic ids"}


def _samples() -> Samples:
    samples = Samples()
    for number, scale in enumerate((1.0, 2.0, 3.0)):
        for load, target, measures in (
            ("bulk fetch", "haproxy", {"cpu": 0.5 * scale, "rate": 800.0, "gib": 1.0}),
            ("bulk fetch", "gateway-ids", {"cpu": 0.7 * scale, "rate": 700.0, "gib": 1.0}),
            ("paced fetch", "direct", {"p50": 90.0, "p99": 1.0}),
            ("paced fetch", "gateway-ids", {"p50": 170.0 + number, "p99": 1.0}),
        ):
            samples.add(load, target, number, measures)
    return samples


def _line(text: str, *parts: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if all(part in line for part in parts)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_says_how_far_from_the_bar() -> None:
    text = wire_table(rows(_samples()), _TITLES)
    assert _line(text, "CPU s/GiB", "gateway") == [
        "bulk fetch",
        "CPU s/GiB",
        "gateway, topic ids",
        "1.4 (0.7 to 2.1)",
        "1.40 x HAProxy",
        "<= 1.3 x HAProxy",
        "MISS by 8%",
    ]
    assert _line(text, "p50 us", "gateway")[4:] == [
        "+81 (+80 to +82) us over direct",
        "<= 100 us over direct",
        "pass by 19%",
    ]


def test_what_only_swings_is_left_to_the_json() -> None:
    text = wire_table(rows(_samples()), _TITLES)
    assert "p99" not in text
    assert "gib" not in text
    assert _line(text, "MB/s", "HAProxy")[4:] == ["", "", ""]


def test_a_metrics_targets_stand_together() -> None:
    text = wire_table(rows(_samples()), _TITLES)
    units = [line.split("|")[2].strip() for line in text.splitlines()[2:]]
    assert units == ["CPU s/GiB", "CPU s/GiB", "MB/s", "MB/s", "p50 us", "p50 us"]


def test_lines_of_a_table_are_of_one_width() -> None:
    text = table(("a", "b"), [("long one", "1"), ("x", "12,345")])
    assert len({len(line) for line in text.splitlines()}) == 1
    assert text.splitlines()[1].endswith("-: |")
    assert text.splitlines()[2] == "| long one |      1 |"


def test_no_bar_no_verdict() -> None:
    row = next(row for row in rows(_samples()) if row.target == "haproxy")
    assert isinstance(row, Row)
    assert verdict(row) == ""


def test_the_codec_table_says_how_many_times() -> None:
    text = codec_table([CodecRow("FetchRequest v15, 16 partitions", 571, 2_000.0, 50_000.0)])
    assert _line(text, "FetchRequest")[1:] == ["571", "2,000", "50,000", "25.0"]


def test_the_json_has_every_round() -> None:
    samples = _samples()
    codec = [CodecRow("m", 1, 2.0, 3.0)]
    versions = {"haproxy": (13, 15)}
    result = json.loads(json.dumps(as_json(_WHERE, codec, samples, rows(samples), versions)))
    assert result["provenance"]["commit"] == "abc1234"
    assert result["codec"] == [{"message": "m", "size": 1, "walk_ns": 2.0, "kio_ns": 3.0}]
    assert result["versions"] == {"haproxy": {"produce": 13, "fetch": 15}}
    (entry,) = [
        row
        for row in result["wire"]
        if (row["load"], row["target"], row["metric"]) == ("bulk fetch", "gateway-ids", "cpu")
    ]
    assert entry["rounds"] == [0.7, 1.4, 0.7 * 3]
    assert (entry["bar"], entry["passed"], entry["relation"]) == (1.3, False, "x HAProxy")


def test_provenance_is_one_line() -> None:
    assert _WHERE.line == (
        "2025-01-31, commit abc1234, 2 cores, 24 GiB, Python 3.11.7, Linux 6.1, load 0.0 before"
    )
