"""Cutting the bytes of a MetadataResponse equals reading it, leaving topics out, renaming the
others, and writing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apis.topics import metadata_messages as metadata
from gateway.apis.topics.metadata_messages import Shown
from protocol import messages
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.messages import changed, element_class, make
from protocol.splice import splice
from protocol.walkers import walker

NAMES = st.text("ab.:-", min_size=1, max_size=200)
IDS = st.binary(min_size=16, max_size=16)
CODES = st.sampled_from([0, 0, 3, 5, 29])
PARTITIONS = st.lists(st.tuples(CODES, st.lists(st.integers(0, 9), max_size=3)), max_size=3)
TOPICS = st.dictionaries(NAMES, st.tuples(CODES, IDS, PARTITIONS), max_size=20)
SHOWN = st.lists(st.tuples(NAMES.map(str.encode), st.none() | IDS), max_size=3)


def response(version: int, topics: Mapping[str, tuple[int, bytes, Any]]) -> Any:
    cls = messages.message_class("MetadataResponse", version)
    topic_class, broker_class = element_class(cls, "topics"), element_class(cls, "brokers")
    partition_class = element_class(topic_class, "partitions")
    made = [
        make(
            topic_class,
            {
                "error_code": code,
                "name": name,
                "topic_id": UUID(bytes=topic_id),
                "partitions": tuple(
                    make(partition_class, {"error_code": one, "replica_nodes": tuple(nodes)})
                    for one, nodes in partitions
                ),
            },
        )
        for name, (code, topic_id, partitions) in topics.items()
    ]
    broker = make(broker_class, {"node_id": 1, "host": "kafka-1", "port": 9092})
    return make(cls, {"brokers": (broker,), "cluster_id": "abc", "topics": tuple(made)})


def cut(version: int, body: bytes, shown: Sequence[Sequence[Shown]]) -> bytes:
    spans: list[Any] = []
    walk = walker("MetadataResponse", version, frozenset({Kind.TOPIC_NAME}))
    # Other frames may stand before and behind it.
    buf = b"\x00\x01" + body + b"\x00\x03"
    walk(buf, 2, len(buf) - 2, spans)
    entries = metadata.entries(version, buf, spans, len(buf) - 2)
    edits = metadata.cut_edits(version, buf, entries, shown)
    return splice(buf, 2, len(buf) - 2, edits)


def named(topic: Any, shown: Shown) -> Any:
    name, topic_id = shown
    values: dict[str, object] = {"name": name.decode()}
    if topic_id is not None and messages.has_field(type(topic), "topic_id"):
        values["topic_id"] = UUID(bytes=topic_id)
    return changed(topic, values)


@given(version=st.integers(0, 13), topics=TOPICS, data=st.data())
def test_it_is_the_same_as_reading_and_writing(
    version: int, topics: Mapping[str, tuple[int, bytes, Any]], data: st.DataObject
) -> None:
    plain = response(version, topics)
    shown = data.draw(st.lists(SHOWN, min_size=len(topics), max_size=len(topics)))
    kept = tuple(
        named(topic, one) for topic, ones in zip(plain.topics, shown, strict=True) for one in ones
    )
    expected = messages.write(replace(plain, topics=kept))
    assert cut(version, messages.write(plain), shown) == expected


@pytest.mark.parametrize("version", [1, 12, 13])
@pytest.mark.parametrize("count", [126, 127, 128, 16_384])
def test_a_count_of_another_length(version: int, count: int) -> None:
    plain = response(version, {f"t{n}": (0, bytes(16), []) for n in range(count)})
    shown: list[list[Shown]] = [[(b"one", None)], *([] for _ in range(count - 1))]
    expected = replace(plain, topics=(named(plain.topics[0], (b"one", None)),))
    assert cut(version, messages.write(plain), shown) == messages.write(expected)


def test_a_topic_without_a_name_is_no_listing() -> None:
    plain = response(12, {"t": (0, bytes(16), [])})
    nameless = replace(plain, topics=(changed(plain.topics[0], {"name": None}),))
    with pytest.raises(ProtocolError):
        cut(12, messages.write(nameless), [[]])
