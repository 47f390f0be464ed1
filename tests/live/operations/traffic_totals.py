"""Sums of a traffic log, each made in two ways: of its records, and of what others have counted."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.support import clients

Record: TypeAlias = dict[str, Any]
Counts: TypeAlias = Counter[tuple[str, ...]]
"""A counter's name and its label values, in the order of :data:`_LABELS`, to its count."""

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
"""The metrics that flow records have too."""

_PREFIX = "kafka_gateway_"


def read_files(directory: Path) -> list[Record]:
    """All records: of files that are still written and of compressed ones."""
    records = []
    for path in sorted(directory.glob("*.jsonl*")):
        compressed = path.with_suffix(".jsonl.gz") if path.suffix != ".gz" else path
        try:
            data = path.read_bytes() if path != compressed else gzip.decompress(path.read_bytes())
        except FileNotFoundError:  # it was compressed just now
            data = gzip.decompress(compressed.read_bytes())
        records += [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]
    return list({record["id"]: record for record in records}.values())


def read_topic(kafka: KafkaCluster, topic: str) -> list[tuple[bytes, Record]]:
    """Keys and values of all that is in the topic now, as the brokers themselves give it."""
    settings = clients.settings(kafka.bootstrap_servers, group_id="none", enable_auto_commit=False)
    consumer = Consumer(settings)
    try:
        known = consumer.list_topics(topic, timeout=clients.SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, at, OFFSET_BEGINNING) for at in known])
        count = sum(end_offset(consumer, topic, at) for at in known)
        records = clients.take(consumer, count)
    finally:
        consumer.close()
    return [(record.key() or b"", json.loads(record.value() or b"")) for record in records]


def end_offset(consumer: Consumer, topic: str, partition: int) -> int:
    """The end offset of a partition, which begins at 0."""
    place = TopicPartition(topic, partition)
    low, high = consumer.get_watermark_offsets(place, timeout=clients.SECONDS)
    assert low == 0
    return int(high)


def end_offsets(kafka: KafkaCluster, topics: Iterable[str]) -> dict[str, int]:
    """Topics, by their flat names, to the sum of their partitions' ends, as the brokers tell."""
    consumer = Consumer(clients.settings(kafka.bootstrap_servers, group_id="none"))
    try:
        known = consumer.list_topics(timeout=clients.SECONDS).topics
        return {
            name: sum(end_offset(consumer, name, at) for at in known[name].partitions)
            for name in topics
        }
    finally:
        consumer.close()


def await_ends(kafka: KafkaCluster, ends: Mapping[str, int]) -> None:
    """Wait until the brokers serve these topics, and have so many records in each, or more."""

    def there() -> bool:
        with suppress(KafkaException, KeyError):
            found = end_offsets(kafka, ends)
            return all(found[topic] >= end for topic, end in ends.items())
        return False

    wait_until(there, f"{ends} on the broker", clients.SECONDS)


def of_metrics(text: str) -> Counts:
    """The totals in /metrics."""
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
        namespace, api = _label(one["namespace"]), one["api"]
        counts["requests_total", namespace, api, str(one["api_version"])] += one["led_requests"]
        counts["bytes_total", namespace, "in"] += one["bytes_in"]
        counts["bytes_total", namespace, "out"] += one["bytes_out"]
        counts["records_total", namespace, api] += one["records"] + one["records_out"]
        for error, count in one["errors"].items():
            counts["errors_total", namespace, api, error] += count
        for rule, count in one["denials"].items():
            counts["denials_total", rule] += count
        client = (one["client_id"], one["software_name"] or "(none)")
        for key, count in one["weak_producers"].items():
            weak = key.rpartition("_")
            counts["weak_producer_requests_total", namespace, *client, weak[0], weak[2]] += count
        counts["gateway_seconds_count", api] += sum(one["gateway_us_quarters"].values())
        counts["broker_seconds_count", api] += sum(one["broker_us_quarters"].values())
    return +counts


def added(records: Iterable[Record], field: str, **where: str) -> int:
    """The sum of a field of all flow records that have these values."""
    return sum(
        record[field]
        for record in records
        if record["kind"] == "flow" and where.items() <= record.items()
    )


def _label(namespace: str | None) -> str:
    """The metrics' label for a record's namespace."""
    return "(none)" if namespace is None else namespace or "(default)"
