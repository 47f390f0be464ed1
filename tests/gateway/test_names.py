"""Names: the encoding is total, reversible, and keeps namespaces apart even after folding."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.names import (
    MAX_FLAT_LENGTH,
    InvalidName,
    LogicalName,
    check_topic,
    decode,
    encode,
    flat_prefix,
    fold,
    is_reserved,
    is_reserved_id,
    parents,
)

tiers = st.text(alphabet="aB1.-", min_size=1, max_size=6)
namespaces = st.lists(tiers, min_size=0, max_size=3).map(":".join)
topics = st.text(alphabet="aB1._-", min_size=1, max_size=6).filter(lambda t: t not in {".", ".."})
names = st.builds(LogicalName, namespaces, topics)


@pytest.mark.parametrize(
    ("logical", "flat"),
    [
        (LogicalName("org:apache:kafka", "orders"), "org.apache.kafka..orders"),
        (LogicalName("team-a", "orders"), "team-a..orders"),
        (LogicalName("v1.2", "x"), "v1-.2..x"),
        (LogicalName("c-", "x"), "c--..x"),
        (LogicalName("a--b", "x"), "a----b..x"),
        (LogicalName("a-.b", "x"), "a---.b..x"),
        (LogicalName("a", ".x"), "a...x"),
        (LogicalName("", "orders"), "orders"),
    ],
)
def test_the_encoding_by_example(logical: LogicalName, flat: str) -> None:
    assert encode(logical) == flat
    assert decode(flat) == logical


@given(names)
def test_decoding_an_encoded_name_gives_it_back(name: LogicalName) -> None:
    if not name.namespace and decode(name.topic) != name:
        return  # a default-namespace name may spell another namespace's topic: see the catalog
    assert decode(encode(name)) == name


@given(st.text(alphabet="aB1._-", min_size=1, max_size=20))
def test_every_flat_name_decodes_to_what_encodes_to_it(flat: str) -> None:
    name = decode(flat)
    if flat not in {".", ".."}:
        assert encode(name) == flat


@given(names, names)
def test_different_names_have_different_flat_names(one: LogicalName, other: LogicalName) -> None:
    if one != other and one.namespace and other.namespace:
        assert encode(one) != encode(other)


def test_names_of_two_namespaces_stay_apart_after_folding() -> None:
    short = ["".join(t) for n in (1, 2, 3) for t in product("a.-", repeat=n)]
    owner: dict[str, str] = {}
    for namespace in [*short, *(f"{one}:{two}" for one in short for two in short)]:
        for topic in ("a", ".a", "_a", "-a", "a..a", "-", "_"):
            folded = fold(encode(LogicalName(namespace, topic)))
            assert owner.setdefault(folded, namespace) == namespace


def test_look_alike_namespaces_coexist() -> None:
    prefixes = [flat_prefix(namespace) for namespace in ("a", "a-b", "a.b", "a:b")]
    assert prefixes == ["a..", "a-b..", "a-.b..", "a.b.."]
    assert len({fold(prefix) for prefix in prefixes}) == len(prefixes)


def test_a_name_that_is_too_long_says_what_is_left_for_the_topic() -> None:
    with pytest.raises(InvalidName, match="namespace 'org:apache' leaves 237 of Kafka's 249"):
        encode(LogicalName("org:apache", "x" * 238))
    assert len(encode(LogicalName("org:apache", "x" * 237))) == MAX_FLAT_LENGTH


@pytest.mark.parametrize("namespace", ["", "a::b", "a:", ":a", "a_b", "a b", "ä"])
def test_malformed_tiers_are_rejected(namespace: str) -> None:
    with pytest.raises(InvalidName, match=r"tier|empty|not"):
        encode(LogicalName(namespace or ":", "x"))


@pytest.mark.parametrize("topic", ["", ".", "..", "a b", "a/b", "a:b", "ä", "a\n"])
def test_malformed_topics_are_rejected(topic: str) -> None:
    with pytest.raises(InvalidName):
        check_topic(topic)


def test_parents_are_outermost_first() -> None:
    assert parents("org:apache:kafka") == ["org", "org:apache", "org:apache:kafka"]
    assert parents("") == []


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("__consumer_offsets", True),
        ("__transaction_state", True),
        ("__share_group_state", True),
        ("__kafka_gateway_catalog", True),
        ("__kafka_gatewa", False),
        ("orders", False),
        ("org..__kafka_gateway_end_1700000000000", True),
        ("org.a..__kafka_gateway_end_5", True),
        ("org..__kafka_gateway_end_", False),
        ("org..__kafka_gateway_end_5a", False),
        ("org.__kafka_gateway_end_5", False),
        ("org..a__kafka_gateway_end_5", False),
    ],
)
def test_reserved_names(name: str, reserved: bool) -> None:
    assert is_reserved(name) is reserved


def test_a_group_of_a_home_may_be_called_as_an_end_topic() -> None:
    assert not is_reserved_id("team-a..__kafka_gateway_end_5")
