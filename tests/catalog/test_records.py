"""Entities to records and back, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    Gateway,
    Namespace,
    Removal,
    Seeds,
    TopicEntry,
)
from gateway.catalog.records import (
    FORMAT,
    LEVELS,
    Place,
    Record,
    UnreadableCatalog,
    decode,
    encode,
    level_of,
)
from gateway.names import LogicalName
from tests.catalog.strategies import changes

PLACE = Place(7, 9, "0a", "09")
places = st.builds(
    Place,
    st.integers(1, 2**60),
    st.integers(1, 2**60),
    st.text("0123456789abcdef"),
    st.text("0123456789abcdef"),
)


@given(changes, places)
def test_what_is_written_is_read(change: Change, place: Place) -> None:
    assert decode(encode(change, place)) == (change, place)


@given(changes)
def test_every_change_has_a_level_that_this_software_reads(change: Change) -> None:
    assert 1 <= level_of(change) <= FORMAT


@pytest.mark.parametrize(
    ("change", "key", "value"),
    [
        (Namespace("org:apache"), "namespace/org:apache", "{}"),
        (
            Namespace("org", {"b": "2", "a": "1"}, 5, ("a",), 6),
            "namespace/org",
            '{"apply":["a"],"apply_since":6,"configs":{"a":"1","b":"2"},"deleting":5}',
        ),
        (
            TopicEntry(
                "team-a.x",
                LogicalName("team-a", "x"),
                bytes(16),
                (Alias(LogicalName("", "team-a.x"), 8),),
                ("retention.ms",),
            ),
            "topic/team-a.x",
            '{"aliases":[{"namespace":"","topic":"team-a.x","until":8}],'
            '"namespace":"team-a","own_configs":["retention.ms"],"topic":"x",'
            f'"topic_id":"{"00" * 16}"}}',
        ),
        (Gateway("gw-1", 1, "0.1"), "gateway/gw-1", '{"format":1,"software":"0.1"}'),
        (CatalogFormat(1), "format", '{"level":1}'),
        (Seeds(frozenset({"b", "a"})), "seeds", '{"namespaces":["a","b"]}'),
        (Removal(("namespace", "org")), "namespace/org", None),
    ],
)
def test_the_form_of_a_record(change: Change, key: str, value: str | None) -> None:
    record = encode(change, PLACE)
    assert record.key == key.encode()
    assert record.value == (None if value is None else value.encode())
    assert dict(record.headers) == {
        "seq": b"7",
        "last": b"9",
        "decision": b"0a",
        "after": b"09",
    }


def test_every_kind_of_record_has_a_level() -> None:
    assert set(LEVELS) == {"namespace", "topic", "gateway", "format", "seeds"}


def test_a_newer_format_says_what_to_upgrade() -> None:
    record = encode(CatalogFormat(FORMAT + 1), PLACE)
    with pytest.raises(UnreadableCatalog, match=f"format {FORMAT + 1}.*upgrade this gateway"):
        decode(record)


@pytest.mark.parametrize("value", [b"{}", None])
def test_an_unknown_kind_says_what_to_upgrade(value: bytes | None) -> None:
    known = encode(Gateway("a", 1, ""), PLACE)
    with pytest.raises(UnreadableCatalog, match=r"'acl/x'.*upgrade this one"):
        decode(Record(b"acl/x", value, known.headers))


TOPIC = {"namespace": "a", "topic": "x"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("namespace/a", b"nonsense"),
        ("namespace/a", b"[]"),
        ("namespace/a", b"\xff"),
        ("namespace/a", {"quota": 1}),
        ("namespace/a", {"configs": {"a": 1}}),
        ("namespace/a", {"configs": ["a"]}),
        ("namespace/a", {"deleting": "soon"}),
        ("namespace/a", {"apply": "retention.ms"}),
        ("namespace/a", {"apply_since": True}),
        ("topic/x", {"namespace": "a"}),
        ("topic/x", {**TOPIC, "topic_id": 5}),
        ("topic/x", {**TOPIC, "topic_id": "xyz"}),
        ("topic/x", {**TOPIC, "apply": 1}),
        ("topic/x", {**TOPIC, "aliases": [TOPIC]}),
        ("topic/x", {**TOPIC, "aliases": [{**TOPIC, "until": 1, "more": 2}]}),
        ("gateway/a", {"format": 1.5, "software": ""}),
        ("format", {"level": None}),
        ("format/x", {"level": 1}),
        ("seeds", {"namespaces": {"a": 1}}),
        ("seeds/x", {"namespaces": []}),
    ],
)
def test_what_makes_no_sense_is_refused(key: str, value: object) -> None:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    record = Record(key.encode(), data, encode(Namespace("a"), PLACE).headers)
    with pytest.raises(UnreadableCatalog, match=f"{key}.*makes no sense"):
        decode(record)


@pytest.mark.parametrize(
    "headers",
    [[], [("seq", b"1")], [("seq", b"x"), ("last", b"1"), ("decision", b""), ("after", b"")]],
)
def test_a_record_without_its_place_is_refused(headers: list[tuple[str, bytes | None]]) -> None:
    with pytest.raises(UnreadableCatalog, match="something else writes"):
        decode(Record(b"namespace/a", b"{}", headers))


@pytest.mark.parametrize("key", [None, b"\xff", b""])
def test_a_record_without_a_readable_key_is_refused(key: bytes | None) -> None:
    with pytest.raises(UnreadableCatalog):
        decode(Record(key, b"{}", encode(Namespace("a"), PLACE).headers))
