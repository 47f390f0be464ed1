"""Names for Prometheus. Expected are the rules of OpenTelemetry's specification "Prometheus and
OpenMetrics compatibility", without units."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.telemetry.prometheus_names import label_name, metric_name

LEGAL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@pytest.mark.parametrize(
    ("name", "grows", "shown"),
    [
        (
            "org.apache.kafka.consumer.fetch.manager.records.lag.max",
            False,
            "kafka_client_consumer_fetch_manager_records_lag_max",
        ),
        (
            "org.apache.kafka.producer.connection.creation.total",
            True,
            "kafka_client_producer_connection_creation_total",
        ),
        ("com.example.hits", True, "kafka_client_com_example_hits_total"),
        ("com.example..hits--now", False, "kafka_client_com_example_hits_now"),
        ("org.apache.kafka.", False, ""),
        ("", True, ""),
        ("\u00e9", False, ""),
    ],
)
def test_metrics(name: str, grows: bool, shown: str) -> None:
    assert metric_name(name, monotonic_sum=grows) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [("client.id", "client_id"), ("__name__", "name"), ("2nd", "key_2nd"), ("-", "")],
)
def test_labels(name: str, shown: str) -> None:
    assert label_name(name) == shown


@given(st.text(), st.booleans())
def test_every_name_is_legal_and_none_is_reserved(text: str, grows: bool) -> None:
    metric, label = metric_name(text, monotonic_sum=grows), label_name(text)
    assert not metric or (LEGAL.fullmatch(metric) and metric.startswith("kafka_client_"))
    assert not label or (LEGAL.fullmatch(label) and not label.startswith("__"))
