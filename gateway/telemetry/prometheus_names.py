"""Prometheus' names for what OpenTelemetry names otherwise.

The rules are those of Prometheus for OTLP: characters that a name may not have become underscores,
a run of them becomes one, and a monotonic sum ends in ``_total``. Units are not appended, because
Kafka's clients set none.
"""

from __future__ import annotations

import re
from typing import Final

PREFIX: Final = "kafka_client_"
"""Every pushed metric begins so, whatever its client calls it: none passes for a metric of the
gateway."""

_KAFKA: Final = "org.apache.kafka."
"""What the names of Kafka's own clients begin with; it is left out."""

_TOTAL: Final = "_total"
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9]+")


def metric_name(name: str, *, monotonic_sum: bool) -> str:
    """The name of a metric; empty if nothing of the name can be shown.

    >>> metric_name("org.apache.kafka.consumer.fetch.manager.records.lag.max", monotonic_sum=False)
    'kafka_client_consumer_fetch_manager_records_lag_max'
    >>> metric_name("com.example.hits", monotonic_sum=True)
    'kafka_client_com_example_hits_total'
    """
    legal = _NOT_IN_NAMES.sub("_", name.removeprefix(_KAFKA)).strip("_")
    if not legal:
        return ""
    if monotonic_sum:
        legal = legal.removesuffix(_TOTAL) + _TOTAL
    return PREFIX + legal


def label_name(name: str) -> str:
    """The name of a label; empty if nothing of the name can be shown. A name that begins with two
    underscores would be Prometheus' own.

    >>> label_name("client-id"), label_name("__name__"), label_name("2nd")
    ('client_id', 'name', 'key_2nd')
    """
    legal = _NOT_IN_NAMES.sub("_", name).strip("_")
    return f"key_{legal}" if legal[:1].isdigit() else legal
