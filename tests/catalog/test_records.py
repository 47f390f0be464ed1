"""Entities to records and back, and the records that are rejected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import AclEntry, Operation, Permission, pattern_of
from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    ClientMetrics,
    Gateway,
    Namespace,
    PrincipalHome,
    Removal,
    ResourceAcls,
    ScramCredential,
    Seeds,
    Signing,
    TopicEntry,
    Volume,
)
from gateway.catalog.log.records import (
    FORMAT,
    Junk,
    Record,
    UnreadableCatalog,
    decode,
    encode,
)
from gateway.catalog.log.signatures import NOWHERE, Place
from gateway.catalog.schema.table import kind_of
from gateway.names import LogicalName
from tests.catalog.strategies import changes

PLACE = Place(7, 9, "0a", "09")
numbers = st.integers(1, 2**60)
decisions = st.text("0123456789abcdef", max_size=16)
places = st.builds(
    lambda ends, *rest: Place(min(ends), max(ends), *rest),
    st.tuples(numbers, numbers),
    decisions.filter(bool),
    decisions,
    st.just(NOWHERE) | numbers,
    st.just(NOWHERE) | numbers,
)


@given(changes, places)
def test_what_is_written_is_read(change: Change, place: Place) -> None:
    assert decode(encode(change, place)) == (change, place)


@given(changes)
def test_every_change_has_a_level_that_this_software_reads(change: Change) -> None:
    assert 1 <= kind_of(change).level <= FORMAT


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
        (
            ResourceAcls(
                pattern_of("TOPIC:PREFIXED:org:"),
                frozenset(
                    {
                        AclEntry("User:b", "10.0.0.1", Operation.ALL, Permission.DENY),
                        AclEntry("User:a", "*", Operation.READ, Permission.ALLOW),
                    }
                ),
            ),
            "acl/TOPIC:PREFIXED:org:",
            '{"entries":[["ALLOW","READ","User:a","*"],["DENY","ALL","User:b","10.0.0.1"]]}',
        ),
        (
            ScramCredential("al/ice", "SCRAM-SHA-256", 4096, b"\1", b"\2", b"\3"),
            "scram/SCRAM-SHA-256/al/ice",
            '{"iterations":4096,"salt":"01","server_key":"03","stored_key":"02"}',
        ),
        (PrincipalHome("User:a", "team-a"), "home/User:a", '{"namespace":"team-a"}'),
        (
            ClientMetrics("team-a:a/b", {"metrics": "*", "interval.ms": "1000"}),
            "client_metrics/team-a:a/b",
            '{"configs":{"interval.ms":"1000","metrics":"*"}}',
        ),
        (Gateway("gw-1", 1, "0.1"), "gateway/gw-1", '{"format":1,"software":"0.1"}'),
        (CatalogFormat(1), "format", '{"level":1}'),
        (Signing("k1"), "signing", '{"key":"k1"}'),
        (Signing("k1", whole=True), "signing", '{"key":"k1","whole":true}'),
        (Volume(7), "volume", '{"number":7}'),
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


def test_a_newer_format_says_what_to_upgrade() -> None:
    record = encode(CatalogFormat(FORMAT + 1), PLACE)
    with pytest.raises(UnreadableCatalog, match=f"format {FORMAT + 1}.*upgrade this gateway"):
        decode(record)


@pytest.mark.parametrize("value", [b"{}", None])
def test_an_unknown_kind_says_what_to_upgrade(value: bytes | None) -> None:
    known = encode(Gateway("a", 1, ""), PLACE)
    with pytest.raises(UnreadableCatalog, match=r"'quota/x'.*upgrade this one"):
        decode(Record(b"quota/x", value, known.headers))


@pytest.mark.parametrize(
    "value", [b"nonsense", b"[]", b"\xff", b'{"quota": 1}', b"[" * 100_000, b"1" * 5_000]
)
def test_what_makes_no_sense_is_rejected(value: bytes) -> None:
    record = Record(b"namespace/a", value, encode(Namespace("a"), PLACE).headers)
    with pytest.raises(Junk, match=r"makes no sense"):
        decode(record)


def test_a_removal_of_what_is_no_pattern_is_rejected() -> None:
    record = Record(b"acl/SOMETHING:LITERAL:x", None, encode(Namespace("a"), PLACE).headers)
    with pytest.raises(Junk, match=r"makes no sense"):
        decode(record)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("seq", b"1")],
        [("seq", b"x"), ("last", b"1"), ("decision", b"d"), ("after", b"")],
        [("seq", b"1"), ("last", b"1"), ("decision", b""), ("after", b"")],
        [("seq", b"2"), ("last", b"1"), ("decision", b"d"), ("after", b"")],
        [("seq", b"0"), ("last", b"0"), ("decision", b"d"), ("after", b"")],
        [("seq", b"9" * 30), ("last", b"9" * 30), ("decision", b"d"), ("after", b"")],
        [("seq", b"1"), ("last", b"1"), ("decision", b"\xff"), ("after", b"")],
        [("seq", b"1"), ("last", b"1"), ("decision", b"d"), ("after", b""), ("at", None)],
    ],
)
def test_a_record_without_its_place_is_rejected(headers: list[tuple[str, bytes | None]]) -> None:
    with pytest.raises(Junk, match="its headers say no place"):
        decode(Record(b"namespace/a", b"{}", headers))


@pytest.mark.parametrize("key", [None, b"\xff", b""])
def test_a_record_without_a_readable_key_is_rejected(key: bytes | None) -> None:
    with pytest.raises(Junk):
        decode(Record(key, b"{}", encode(Namespace("a"), PLACE).headers))
