"""Sums of a gateway's counts, by its metrics and by the records of its traffic log."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from prometheus_client.parser import text_string_to_metric_families

from gateway.counts import MAX_CLIENT_LABEL
from gateway.mounts import join

Record: TypeAlias = dict[str, Any]
Counts: TypeAlias = Counter[tuple[str, ...]]
"""(a counter's name, its label values in the order of :data:`_LABELS`) -> its count."""

_LABELS = {
    "requests_total": ("namespace", "api", "version"),
    "bytes_total": ("namespace", "direction"),
    "records_total": ("namespace", "api"),
    "errors_total": ("namespace", "api", "error"),
    "denials_total": ("rule",),
    "weak_producer_requests_total": (
        "namespace",
        "client_id",
        "software_name",
        "weakness",
        "decision",
    ),
    "gateway_seconds_count": ("api",),
    "broker_seconds_count": ("api",),
}
"""The metrics that flow records have, too."""

_PREFIX = "kafka_gateway_"


def read_files(directory: Path) -> list[Record]:
    """All records, or events, of files that are still written and of compressed files."""
    records = []
    for path in sorted(directory.glob("*.jsonl*")):
        compressed = path.with_suffix(".jsonl.gz") if path.suffix != ".gz" else path
        try:
            data = path.read_bytes() if path != compressed else gzip.decompress(path.read_bytes())
        except FileNotFoundError:  # it was compressed just now
            data = gzip.decompress(compressed.read_bytes())
        records += [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]
    return list({record["id"]: record for record in records}.values())


def of_metrics(text: str) -> Counts:
    """The totals in the text of /metrics."""
    counts: Counts = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = sample.name.removeprefix(_PREFIX)
            if name in _LABELS:
                values = (sample.labels[label] for label in _LABELS[name])
                counts[name, *values] += round(sample.value)
    return +counts


def of_records(records: Iterable[Record]) -> Counts:
    """The totals of flow records."""
    counts: Counts = Counter()
    for one in records:
        if one["kind"] != "flow":
            continue
        namespace, api = _label(one), one["api"]
        counts["requests_total", namespace, api, str(one["api_version"])] += one["led_requests"]
        counts["bytes_total", namespace, "in"] += one["bytes_in"]
        counts["bytes_total", namespace, "out"] += one["bytes_out"]
        counts["records_total", namespace, api] += one["records"] + one["records_out"]
        for error, count in one["errors"].items():
            counts["errors_total", namespace, api, error] += count
        for rule, count in one["denials"].items():
            counts["denials_total", rule] += count
        shown = (one[name][:MAX_CLIENT_LABEL] for name in ("client_id", "software_name"))
        client = tuple(text or "(none)" for text in shown)
        for key, count in one["weak_producers"].items():
            weak = key.rpartition("_")
            counts["weak_producer_requests_total", namespace, *client, weak[0], weak[2]] += count
        counts["gateway_seconds_count", api] += sum(one["gateway_us_quarters"].values())
        counts["broker_seconds_count", api] += sum(one["broker_us_quarters"].values())
    return +counts


def _label(record: Record) -> str:
    """The metrics' label for a record's namespace; in a tree, its path."""
    namespace, mount = record["namespace"], record["mount"]
    if namespace is None:
        return "(none)"
    return (namespace if mount is None else join(mount, namespace)) or "(default)"
