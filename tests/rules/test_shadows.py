"""Names of shadow topics."""

from __future__ import annotations

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.mounts import MAX_NUMBER
from gateway.names import is_reserved
from gateway.rules.shadows import Origin, expected_name, is_shadow, origin_of, shadow_name

LEGAL = re.compile(rb"[A-Za-z0-9._-]{1,249}")
NUMBERS = st.integers(1, MAX_NUMBER)
IDS = st.binary(min_size=16, max_size=16)


def test_the_id_is_as_kafka_prints_it() -> None:
    # Uuid.toString of 0x0011223344556677, 0x8899aabbccddeeff in Kafka 4.3.1.
    topic_id = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff").bytes
    assert shadow_name(7, topic_id) == b"__kafka_gateway_far.7.ABEiM0RVZneImaq7zN3u_w"


@given(NUMBERS, IDS)
def test_shadows_are_read_back(number: int, topic_id: bytes) -> None:
    name = shadow_name(number, topic_id)
    assert LEGAL.fullmatch(name)
    assert is_reserved(name.decode())
    assert is_shadow(name)
    assert origin_of(name) == Origin(number, topic_id, b"")


@given(NUMBERS, st.binary(min_size=1, max_size=300))
def test_expected_topics_are_read_back(number: int, flat: bytes) -> None:
    name = expected_name(number, flat)
    assert not LEGAL.fullmatch(name), "no topic can have this name"
    assert is_shadow(name)
    assert origin_of(name) == Origin(number, b"", flat)


@given(st.from_regex(rb"\A__kafka_gateway_far\.[0-9]{0,6}[.:]?[A-Za-z0-9_=-]{0,24}\Z"))
def test_one_name_for_each(name: bytes) -> None:
    found = origin_of(name)
    if found is not None:
        again = (
            shadow_name(found.number, found.topic_id)
            if found.topic_id
            else expected_name(found.number, found.flat)
        )
        assert again == name


@pytest.mark.parametrize(
    "name",
    [
        b"",
        b"orders",
        b"__kafka_gateway_far.",
        b"__kafka_gateway_far.1.",
        b"__kafka_gateway_far.0.ABEiM0RVZneImaq7zN3u_w",
        b"__kafka_gateway_far.01.ABEiM0RVZneImaq7zN3u_w",
        b"__kafka_gateway_far.16384.ABEiM0RVZneImaq7zN3u_w",
        b"__kafka_gateway_far.1.ABEiM0RVZneImaq7zN3u_x",  # bits behind the id
        b"__kafka_gateway_far.1.ABEiM0RVZneImaq7zN3u_w==",
        b"__kafka_gateway_far.1:",
        b"x__kafka_gateway_far.1.ABEiM0RVZneImaq7zN3u_w",
    ],
)
def test_other_names(name: bytes) -> None:
    assert origin_of(name) is None
