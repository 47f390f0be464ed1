"""What clients push, made with OpenTelemetry's own classes."""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
DELTA = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA


def attributes(**values: str) -> list[KeyValue]:
    return [KeyValue(key=key, value=AnyValue(string_value=text)) for key, text in values.items()]


def point(value: float, **labels: str) -> NumberDataPoint:
    return NumberDataPoint(as_double=value, attributes=attributes(**labels))


def gauge(name: str, *points: NumberDataPoint) -> Metric:
    return Metric(name=name, gauge=Gauge(data_points=points))


def total(
    name: str,
    *points: NumberDataPoint,
    temporality: AggregationTemporality.ValueType = CUMULATIVE,
    monotonic: bool = True,
) -> Metric:
    data = Sum(data_points=points, aggregation_temporality=temporality, is_monotonic=monotonic)
    return Metric(name=name, sum=data)


def pushed(*metrics: Metric, resource: Iterable[KeyValue] = ()) -> bytes:
    """The bytes of a push, each metric in a resource of its own, as Java's client does it."""
    return MetricsData(
        resource_metrics=[
            ResourceMetrics(
                resource=Resource(attributes=resource),
                scope_metrics=[ScopeMetrics(metrics=[metric])],
            )
            for metric in metrics
        ]
    ).SerializeToString()
