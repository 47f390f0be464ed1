"""OTLP, in which clients push their metrics, by OpenTelemetry's own classes.

The only module that knows them and protobuf. It is imported with the first push: both together
take a worker some MiB, and most workers see no push.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Final

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    DataPointFlags,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
)

from gateway.error_codes import INVALID_RECORD
from gateway.telemetry.limits import MAX_ATTRIBUTES, MAX_LABEL, MAX_MESSAGES, MAX_NAME
from gateway.telemetry.prometheus_names import label_name
from gateway.telemetry.series import (
    NAME,
    NOT_REQUESTED,
    OF_CLIENT,
    OTHER_TYPE,
    OWN_LABELS,
    TOO_MANY,
    Gathered,
    Labels,
)
from gateway.telemetry.unpacking import Unreadable
from protocol.pausing import paced, pause_point

_EVERYTHING: Final = ("", "*")
"""Both request all metrics, among others: Kafka's brokers respond with the second."""

_EVERY: Final = 16
"""Points between two pause points: some 0.2 ms."""

_POINTS_OF_A_SERIES: Final = 2
"""Points that are read for each series that may be kept, because one that is not kept takes as long
as one that is. Clients send one of each."""

_LEAST: Final = 2
"""The bytes of the shortest message within another: its tag, and its length of 0."""

_FIELDS: Final = 512
"""Fields between two pause points: some 0.2 ms."""

_Inner = dict[int, "_Inner"]
"""The messages that a message may hold, each by its field's number, with theirs."""


def gathered(payload: bytes, requested: tuple[str, ...], most: int) -> Gathered:
    """The series of a push, ``most`` at most, of the metrics that begin with a requested prefix.

    ``payload`` is a MetricsData, which is read in one go; what is in it may take several slices.
    Raises Unreadable if it is none, or has more than ``MAX_MESSAGES`` messages.
    """
    if len(payload) > MAX_MESSAGES * _LEAST:
        count_messages(payload, MAX_MESSAGES)
    data = MetricsData()
    try:
        data.ParseFromString(payload)
    except DecodeError as error:
        raise Unreadable(INVALID_RECORD) from error
    found = Gathered(most)
    is_requested = _prefixes(requested)
    for resource in paced(data.resource_metrics):
        _note_client(resource, found)
        for scope in paced(resource.scope_metrics):
            for metric in paced(scope.metrics):
                _add(metric, is_requested, found)
    return found


def count_messages(payload: bytes, most: int) -> int:
    """How many messages a MetricsData holds, in it and in one another.

    Protobuf reads all of a push before anybody else has a turn, and its time grows with the
    messages: 30 ms for those of 2 bytes each in 256 KiB. So they are counted before, in slices.
    Raises Unreadable if there are more than ``most``, or a length exceeds what holds it.
    """
    count = fields = 0
    waiting = [(0, len(payload), _inner(MetricsData.DESCRIPTOR))]
    while waiting:
        at, end, messages = waiting.pop()
        while at < end:
            fields += 1
            if fields % _FIELDS == 0:
                pause_point()
            tag, at = _varint(payload, at, end)
            match tag & 7:
                case 2:  # bytes: a message among others
                    length, at = _varint(payload, at, end)
                    held = messages.get(tag >> 3)
                    if held is not None:
                        count += 1
                        waiting.append((at, at + length, held))
                    at += length
                case 0:  # a varint
                    _, at = _varint(payload, at, end)
                case 1:
                    at += 8
                case 5:
                    at += 4
                case _:  # a group, which OTLP does not have
                    raise Unreadable(INVALID_RECORD)
            if at > end or count > most:
                raise Unreadable(INVALID_RECORD)
    return count


def _varint(payload: bytes, at: int, end: int) -> tuple[int, int]:
    """A varint of at most 10 bytes, and where the next field begins. Raises Unreadable."""
    value = shift = 0
    for place in range(at, min(end, at + 10)):
        byte = payload[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise Unreadable(INVALID_RECORD)


@cache
def _inner(message: Descriptor) -> _Inner:
    """The messages that a message may hold. AnyValue holds itself: its table is made once."""
    found: _Inner = {}
    todo, made = [(message, found)], {message.full_name: found}
    while todo:
        holder, table = todo.pop()
        for field in holder.fields:
            held = field.message_type
            if held is not None:
                if held.full_name not in made:
                    made[held.full_name] = {}
                    todo.append((held, made[held.full_name]))
                table[field.number] = made[held.full_name]
    return found


def _note_client(resource: ResourceMetrics, found: Gathered) -> None:
    """Take the labels of the client itself from a resource; clients send the same in each."""
    for attribute in islice(resource.resource.attributes, MAX_ATTRIBUTES):
        if attribute.key in OF_CLIENT and attribute.key not in found.of_client:
            text = _text(attribute.value)
            if text:
                found.of_client[attribute.key] = text


def _add(metric: Metric, is_requested: Callable[[str], bool], found: Gathered) -> None:
    """Add the points of a metric, or count them as dropped."""
    points, monotonic = _points(metric)
    if points is None:
        kind = metric.WhichOneof("data")
        if kind is not None:
            found.dropped[OTHER_TYPE] += len(getattr(metric, kind).data_points)
        return
    if not points:
        return
    if found.points >= found.most * _POINTS_OF_A_SERIES:
        found.dropped[TOO_MANY] += len(points)
    elif len(metric.name) > MAX_NAME:
        found.dropped[NAME] += len(points)
    elif not is_requested(metric.name):
        found.dropped[NOT_REQUESTED] += len(points)
    else:
        left = found.most * _POINTS_OF_A_SERIES - found.points
        found.points += len(points)
        if len(points) > left:
            found.dropped[TOO_MANY] += len(points) - left
        for point in paced(islice(points, left), _EVERY):
            _add_point(metric.name, point, found, monotonic=monotonic)


def _points(metric: Metric) -> tuple[Sequence[NumberDataPoint] | None, bool]:
    """The points of a gauge or a cumulative sum, and whether the sum only grows; None for any other
    metric. Clients are told that the gateway takes no deltas."""
    match metric.WhichOneof("data"):
        case "gauge":
            return metric.gauge.data_points, False
        case "sum":
            cumulative = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
            if metric.sum.aggregation_temporality == cumulative:
                return metric.sum.data_points, metric.sum.is_monotonic
    return None, False


def _add_point(name: str, point: NumberDataPoint, found: Gathered, *, monotonic: bool) -> None:
    kind = point.WhichOneof("value")
    if kind is None or point.flags & DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK:
        return
    value = point.as_double if kind == "as_double" else float(point.as_int)
    found.add(name, _labels(point.attributes), value, monotonic_sum=monotonic)


def _labels(attributes: Iterable[KeyValue]) -> Labels:
    """The labels of a point's attributes, by name. Values of attributes whose names become one are
    joined, as Prometheus does it."""
    labels: dict[str, str] = {}
    for attribute in islice(attributes, MAX_ATTRIBUTES):
        name, text = label_name(attribute.key[:MAX_LABEL]), _text(attribute.value)
        if not name or not text or name in OWN_LABELS or name in OF_CLIENT:
            continue
        before = labels.get(name)
        labels[name] = text if before is None else f"{before};{text}"[:MAX_LABEL]
    return tuple(sorted(labels.items()))


def _text(value: AnyValue) -> str:
    """An attribute's value, cut; empty if it is no text and no number."""
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value[:MAX_LABEL]
        case "int_value":
            return str(value.int_value)
        case "bool_value":
            return str(value.bool_value).lower()
        case "double_value":
            return repr(value.double_value)
    return ""


@lru_cache(maxsize=64)
def _prefixes(requested: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a metric's name begins with one of the prefixes.

    Prefixes that begin with another one are left out, so that among the others only the one that
    sorts right before a name can be its prefix: clients decide how many names there are, and
    tenants how many prefixes.
    """
    if any(one in requested for one in _EVERYTHING):
        return lambda _: True
    shortest: list[str] = []
    for prefix in paced(sorted(set(requested))):
        if not shortest or not prefix.startswith(shortest[-1]):
            shortest.append(prefix)

    def is_requested(name: str) -> bool:
        at = bisect_right(shortest, name)
        return at > 0 and name.startswith(shortest[at - 1])

    pause_point()
    return is_requested


READER: Final = gathered
"""At the end, so that nobody reads with a module that another push's thread is still loading."""
