"""Reading what clients push, also what no honest client would."""

from __future__ import annotations

import gzip
import json
import zlib
from random import Random
from time import thread_time
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    DataPointFlags,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
)

from gateway.slices import Slices
from gateway.telemetry import otlp
from gateway.telemetry.limits import (
    MAX_ATTRIBUTES,
    MAX_BYTES,
    MAX_KEPT_BYTES,
    MAX_LABEL,
    MAX_MESSAGES,
    MAX_NAME,
)
from gateway.telemetry.otlp import count_messages, gathered
from gateway.telemetry.series import Family, Gathered, read
from gateway.telemetry.unpacking import PIECE, Unreadable, unpacked
from protocol import pausing
from tests.telemetry.payloads import DELTA, attributes, gauge, point, pushed, total

ALL = ("*",)
LAG = "org.apache.kafka.consumer.fetch.manager.records.lag"
SENT = "org.apache.kafka.producer.record.send"
INVALID_RECORD, TOO_LARGE = 87, 118
EMPTY_RESOURCE = b"\x0a\x00"


def shown(found: Gathered) -> dict[str, list[tuple[dict[str, str], float]]]:
    return {family: list(read(text)) for family, text in found.written().items()}


def test_gauges_and_sums_of_numbers_are_kept() -> None:
    payload = pushed(
        gauge(LAG, point(3.0, topic="orders", partition="0"), point(4.0, topic="orders")),
        total(SENT, NumberDataPoint(as_int=9)),
        total("up.and.down", point(-1.5), monotonic=False),
    )
    assert shown(gathered(payload, ALL, 10)) == {
        "g:kafka_client_consumer_fetch_manager_records_lag": [
            ({"partition": "0", "topic": "orders"}, 3.0),
            ({"topic": "orders"}, 4.0),
        ],
        "c:kafka_client_producer_record_send_total": [({}, 9.0)],
        "g:kafka_client_up_and_down": [({}, -1.5)],
    }


def test_other_types_are_counted() -> None:
    histogram = Metric(name="h", histogram=Histogram(data_points=[HistogramDataPoint()] * 3))
    payload = pushed(histogram, total("d", point(1.0), temporality=DELTA), gauge("g", point(1.0)))
    found = gathered(payload, ALL, 10)
    assert list(shown(found)) == ["g:kafka_client_g"]
    assert found.dropped == {"type": 4}


@pytest.mark.parametrize(
    ("requested", "kept"),
    [
        (("*",), {"a", "ab", "b.c"}),
        (("",), {"a", "ab", "b.c"}),
        (("ab", "b."), {"ab", "b.c"}),
        (("a", "ab", "c"), {"a", "ab"}),
        (("abc", "b.c.d", "0"), set()),
    ],
)
def test_only_requested_metrics_are_kept(requested: tuple[str, ...], kept: set[str]) -> None:
    payload = pushed(*(gauge(name, point(1.0)) for name in ("a", "ab", "b.c")))
    found = gathered(payload, requested, 10)
    names = {f"g:kafka_client_{name.replace('.', '_')}" for name in kept}
    assert shown(found).keys() == names
    assert found.dropped["not_requested"] == 3 - len(kept)


@given(
    st.lists(st.text("ab.", max_size=4), max_size=6),
    st.lists(
        st.text("ab.", min_size=1, max_size=5).filter(lambda name: name.strip(".")), max_size=9
    ),
)
def test_prefixes_are_those_of_strings(prefixes: list[str], names: list[str]) -> None:
    payload = pushed(*(gauge(name, point(1.0)) for name in names))
    found = gathered(payload, tuple(prefixes), 100)
    wanted = [name for name in names if name.startswith(tuple(prefixes))]
    assert found.dropped["not_requested"] == len(names) - len(wanted)


def test_no_attribute_stands_for_a_label_of_the_gateway() -> None:
    ours = {"namespace": "b", "principal": "User:b", "listener": "b", "client_id": "b"}
    forged = {**ours, "client_instance_id": "b", "client.id": "b", "__namespace__": "b"}
    of_client = {"group_id": "theirs", "group-id": "theirs"}
    payload = pushed(gauge("g", point(1.0, **forged, **of_client, topic="t")))
    assert shown(gathered(payload, ALL, 10)) == {"g:kafka_client_g": [({"topic": "t"}, 1.0)]}


def test_labels_of_the_client_itself() -> None:
    resource = attributes(group_id="app", client_rack="r1", group_member_id="m-1", namespace="b")
    found = gathered(pushed(gauge("g", point(1.0)), resource=resource), ALL, 10)
    assert found.of_client == {"group_id": "app", "client_rack": "r1"}


def test_the_later_of_two_equal_points_counts() -> None:
    payload = pushed(gauge("g", point(1.0, a="x")), gauge("g", point(2.0, a="x")))
    found = gathered(payload, ALL, 1)
    assert shown(found) == {"g:kafka_client_g": [({"a": "x"}, 2.0)]}
    assert not found.dropped


def test_points_without_a_value_are_none() -> None:
    unknown = DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK
    payload = pushed(gauge("g", NumberDataPoint(), NumberDataPoint(as_int=1, flags=unknown)))
    assert shown(gathered(payload, ALL, 10)) == {}


def test_bounds() -> None:
    many = gauge("many", *(point(1.0, a=str(number)) for number in range(20)))
    found = gathered(pushed(many), ALL, 7)
    assert len(shown(found)["g:kafka_client_many"]) == 7
    assert found.dropped == {"series": 13}
    found = gathered(pushed(gauge("n" * (MAX_NAME + 1), point(1.0))), ALL, 7)
    assert (shown(found), found.dropped) == ({}, {"name": 1})
    found = gathered(pushed(gauge("g", point(1.0, **{"k" * 500: "v" * 500}))), ALL, 7)
    ((labels, _),) = shown(found)["g:kafka_client_g"]
    assert labels == {"k" * MAX_LABEL: "v" * MAX_LABEL}
    wide = point(1.0, **{f"a{number}": "x" for number in range(1_000)})
    ((labels, _),) = shown(gathered(pushed(gauge("g", wide)), ALL, 7))["g:kafka_client_g"]
    assert len(labels) == MAX_ATTRIBUTES


def test_bytes_that_are_kept_are_bounded() -> None:
    found = Gathered(10_000)
    for number in range(6_000):
        labels = (("a", f"{number:0128}"),)
        found.add(f"g{number % 3}", labels, 1.0, monotonic_sum=False)
    texts = found.written()
    assert sum(len(name) + len(text) for name, text in texts.items()) <= MAX_KEPT_BYTES
    assert found.dropped["series"] == 6_000 - sum(len(list(read(text))) for text in texts.values())
    line = json.dumps({name: text.decode() for name, text in texts.items()})
    assert len(line) < 1024 * 1024, "a line for the supervisor"


def test_names_count_as_bytes_that_are_kept() -> None:
    found = Gathered(10_000)
    for number in range(3_000):
        found.add(f"{number:0200}", (), 1.0, monotonic_sum=False)
    texts = found.written()
    kept = sum(len(name) + len(text) for name, text in texts.items())
    assert MAX_KEPT_BYTES - 300 < kept <= MAX_KEPT_BYTES
    assert found.dropped["series"] == 3_000 - len(texts) > 1_000


@pytest.mark.parametrize(
    "payload", [b"\x0f", b"\x0a\xff", b"\x0a\x05ab", gzip.compress(b"", mtime=0)]
)
def test_what_is_no_otlp_is_an_invalid_record(payload: bytes) -> None:
    with pytest.raises(Unreadable) as raised:
        gathered(payload, ALL, 10)
    assert raised.value.code == INVALID_RECORD


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_rejected(payload: bytes) -> None:
    try:
        found = gathered(payload, ALL, 10)
    except Unreadable:
        return
    assert sum(len(points) for points in found.families.values()) <= 10


def messages_in(message: Message) -> int:
    """The messages that protobuf made of a message's bytes, within it."""
    count = 0
    for field, value in message.ListFields():
        if field.message_type is not None:
            for held in value if field.is_repeated else (value,):
                count += 1 + messages_in(held)
    return count


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_messages_are_counted_as_protobuf_makes_them(sizes: list[int], rng: Random) -> None:
    payload = pushed(
        *(gauge("g", *[point(rng.random(), topic="orders", a="b")] * size) for size in sizes),
        Metric(name="h", histogram=Histogram(data_points=[HistogramDataPoint(bucket_counts=[1])])),
        resource=[
            KeyValue(key="k", value=AnyValue(array_value=ArrayValue(values=[AnyValue()] * size)))
            for size in sizes
        ],
    )
    data = MetricsData.FromString(payload)
    assert count_messages(payload, MAX_MESSAGES) == messages_in(data)


@given(st.binary(max_size=100))
def test_bytes_hold_no_more_messages_than_are_counted(payload: bytes) -> None:
    try:
        data = MetricsData.FromString(payload)
    except DecodeError:
        return
    try:
        count = count_messages(payload, MAX_MESSAGES)
    except Unreadable:
        return  # a group
    assert count >= messages_in(data)


@given(st.lists(st.integers(0, 8), max_size=8), st.integers(1, 5))
def test_points_are_read_up_to_twice_the_series(sizes: list[int], most: int) -> None:
    """Further ones are counted, and cost nothing."""
    metrics = [gauge("g", *[point(1.0, a=str(number)) for number in range(n)]) for n in sizes]
    read = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(otlp, "_add_point", lambda *_, **__: read.append(1))
        found = gathered(pushed(*metrics), ALL, most)
    assert len(read) == min(sum(sizes), 2 * most)
    assert found.dropped["series"] == sum(sizes) - len(read)


def test_a_push_of_too_many_messages_is_an_invalid_record() -> None:
    point_of = pushed(gauge("g", NumberDataPoint(as_int=1)))
    held = count_messages(point_of, MAX_MESSAGES)
    most = point_of * ((MAX_MESSAGES - 1) // held)
    left = MAX_MESSAGES - count_messages(most, MAX_MESSAGES)
    gathered(most + EMPTY_RESOURCE * left, ALL, 10)
    with pytest.raises(Unreadable) as raised:
        gathered(most + EMPTY_RESOURCE * (left + 1), ALL, 10)
    assert raised.value.code == INVALID_RECORD


# -- compression -----------------------------------------------------------------------------------


def test_gzip_is_unpacked() -> None:
    assert unpacked(gzip.compress(b"abc"), 1) == b"abc"
    assert unpacked(b"abc", 0) == b"abc"


@pytest.mark.parametrize("of_each", [1, 4, 16, 5_000])
def test_gzip_that_pauses_is_unpacked(of_each: int) -> None:
    """By pieces of packed bytes, however the blocks lie in them."""
    plain = bytes(Random(1).choices(range(64), k=30_000))
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b""
    for start in range(0, len(plain), of_each):
        packed += packing.compress(plain[start : start + of_each])
        packed += packing.flush(zlib.Z_FULL_FLUSH)
    packed += packing.flush()
    assert unpacked(packed, 1) == plain
    pauses = list[int]()
    pausing.on_pause(lambda: pauses.append(1))
    try:
        assert unpacked(packed, 1) == plain
    finally:
        pausing.on_pause(None)
    assert len(pauses) == -(-len(packed) // PIECE)


@pytest.mark.parametrize(
    ("metrics", "code"),
    [
        (gzip.compress(bytes(MAX_BYTES + 1), mtime=0), TOO_LARGE),
        (gzip.compress(bytes(64 * 1024 * 1024), 9, mtime=0), TOO_LARGE),
        (gzip.compress(b"abc", mtime=0)[:-1], INVALID_RECORD),
        (gzip.compress(b"abc", mtime=0)[:-8] + bytes(8), INVALID_RECORD),
        (zlib.compress(b"abc"), INVALID_RECORD),
        (b"", INVALID_RECORD),
    ],
)
def test_what_is_too_large_or_no_gzip_is_rejected(metrics: bytes, code: int) -> None:
    with pytest.raises(Unreadable) as raised:
        unpacked(metrics, 1)
    assert raised.value.code == code


def test_the_largest_payload_is_unpacked() -> None:
    assert len(unpacked(gzip.compress(bytes(MAX_BYTES)), 1)) == MAX_BYTES


# -- time ------------------------------------------------------------------------------------------


def field(number: int, content: bytes) -> bytes:
    """A field of bytes in protobuf's form."""
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def repeated(piece: bytes, *around: int) -> bytes:
    """As many pieces as a push may have bytes, inside fields of these numbers."""
    content = piece * ((MAX_BYTES - 40) // len(piece))
    for number in around:
        content = field(number, content)
    assert len(content) <= MAX_BYTES
    return content


EMPTY_METRIC = field(2, b"")
EMPTY_POINT = field(1, b"")
ONE_POINT = gauge("g", NumberDataPoint(as_int=1)).SerializeToString()
HOSTILE = {
    "empty resources": repeated(field(1, b"")),
    "empty scopes": repeated(field(2, b""), 1),
    "empty metrics": repeated(EMPTY_METRIC, 2, 1),
    "empty points": repeated(EMPTY_POINT, 5, 2, 2, 1),
    "metrics of one point": repeated(field(2, ONE_POINT), 2, 1),
    "empty attributes": repeated(field(7, b""), 1, 5, 2, 2, 1),
    "empty attributes of a resource": repeated(field(1, b""), 1, 1),
    "a long name": field(1, field(2, field(2, field(1, b"n" * (MAX_BYTES - 40))))),
    "points of many series": pushed(
        gauge("g", *(point(1.0, a=f"{number}") for number in range(9_000)))
    )[:MAX_BYTES],
}

LONGEST_SECONDS = 0.015
"""CPU seconds of the longest slice: 5 ms, and what is done in one go before or after."""


def slices_of(payload: bytes) -> list[float]:
    """The CPU seconds of each slice in which a push is read and written."""

    def work() -> Any:
        try:
            found = gathered(payload, ("a", "g", "kafka"), 1_000)
        except Unreadable:
            return None
        return found.written()

    slices, took = Slices(work), []
    while not slices.done:
        before = thread_time()
        slices.step()
        took.append(thread_time() - before)
    slices.result()
    return took


@pytest.mark.alone
@pytest.mark.parametrize("name", HOSTILE)
def test_no_payload_holds_the_event_loop(name: str) -> None:
    payload = HOSTILE[name]
    slices_of(payload)
    longest = min(max(slices_of(payload)) for _ in range(3))
    assert longest < LONGEST_SECONDS


def test_a_family_has_two_parts() -> None:
    assert Family.of(str(Family("g", "kafka_client_x"))) == ("g", "kafka_client_x")
