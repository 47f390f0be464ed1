"""protocol.long_messages: messages that kio reads and writes, in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from io import BytesIO
from typing import Any

import pytest

from protocol import long_messages, messages, pausing
from protocol.errors import ProtocolError
from protocol.kio_types import Records
from protocol.schema import message_class
from tests.session.pair import topic_id
from tests.session.samples import decided, request, response

APIS = sorted({*decided(), *decided(here=True)})


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Make everything long, so that it may pause; yields an entry for each pause so far."""
    seen: list[int] = []
    monkeypatch.setattr(long_messages, "SHORT", 40)
    monkeypatch.setattr(long_messages, "FEW", 2)
    monkeypatch.setattr(long_messages, "FEW_PLAIN", 2)
    monkeypatch.setattr(messages, "LONG", 10)
    pausing.on_pause(lambda: seen.append(1))
    yield seen
    pausing.on_pause(None)


def repeated(entity: Any, times: int) -> Any:
    """The entity with each array ``times`` as long, at every depth."""
    changes: dict[str, Any] = {}
    for field in fields(entity):
        value = getattr(entity, field.name)
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            changes[field.name] = tuple(repeated(each, 2) for each in value) * times
        elif isinstance(value, tuple):
            changes[field.name] = value * times
        elif is_dataclass(value):
            changes[field.name] = repeated(value, 2)
    return replace(entity, **changes)


@pytest.mark.parametrize(("api", "version"), APIS)
def test_every_message_as_kio_has_it(api: str, version: int, pauses: list[int]) -> None:
    for kind, entity in (
        ("Request", request(api, version, "t", topic_id(1))),
        ("Response", response(api, version, "t", topic_id(1), "")),
    ):
        long = repeated(entity, 6)
        pausing.on_pause(None)
        written = messages.write(long)
        pausing.on_pause(lambda: pauses.append(1))
        assert messages.write(long) == written
        assert messages.parse(f"{api}{kind}", version, written) == long


def test_it_pauses(pauses: list[int]) -> None:
    entity = repeated(request("Metadata", 12, "t", topic_id(1)), 1000)
    out = BytesIO()
    long_messages.write(entity, out)
    written = len(pauses)
    assert written >= 1000 // pausing.EVERY
    assert messages.parse("MetadataRequest", 12, out.getvalue()) == entity
    assert len(pauses) >= 2 * written


def test_it_pauses_in_a_struct_of_a_struct(pauses: list[int]) -> None:
    """A topology is a struct that may be null; it has no array of the message's own above it."""
    cls: Any = message_class("StreamsGroupHeartbeatRequest", 0)
    part: Any = messages.element_class(messages.element_class(cls, "topology"), "subtopologies")
    parts = tuple(messages.build(part, subtopology_id=str(number)) for number in range(2000))
    topology: Any = messages.build(messages.element_class(cls, "topology"), subtopologies=parts)
    entity = messages.build(cls, topology=topology)
    body = messages.write(entity)
    written = len(pauses)
    assert written >= 2000 // pausing.EVERY
    assert messages.parse("StreamsGroupHeartbeatRequest", 0, body) == entity
    assert len(pauses) >= 2 * written
    nothing = messages.build(cls, topology=None)
    assert messages.parse("StreamsGroupHeartbeatRequest", 0, messages.write(nothing)) == nothing


def test_null_and_empty_arrays(pauses: list[int]) -> None:
    for topics in (None, ()):
        entity = messages.build(message_class("MetadataRequest", 12), topics=topics)
        assert messages.parse("MetadataRequest", 12, messages.write(entity)) == entity


def test_unknown_tags_at_any_depth_are_left_out(pauses: list[int]) -> None:
    entity = repeated(request("OffsetFetch", 9, "t", topic_id(1)), 3)
    body = messages.write(entity)
    assert body.endswith(b"\x00")
    tagged = body[:-1] + b"\x01\x64\x02hi"
    assert messages.parse("OffsetFetchRequest", 9, tagged) == entity


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_bytes_that_end_early(cut: int, pauses: list[int]) -> None:
    body = messages.write(repeated(request("OffsetCommit", 8, "t", topic_id(1)), 5))
    with pytest.raises(ProtocolError):
        messages.parse("OffsetCommitRequest", 8, body[:-cut])


RECORDS = [b"", b"r", b"r" * 39, b"r" * 40, b"r" * 41, b"r" * 300_000]


@pytest.mark.parametrize("version", [3, 8, 9, 13])
@pytest.mark.parametrize("content", [*RECORDS, None], ids=lambda one: str(one and len(one)))
def test_records_as_kio_has_them(version: int, content: bytes | None, pauses: list[int]) -> None:
    """Long records are views of the bytes that they were read from, not copies."""
    sample = request("Produce", version, "t", topic_id(1))
    partition = sample.topic_data[0].partition_data[0]
    records = None if content is None else Records(content)
    filled = [replace(partition, records=each) for each in (records, Records(b"other"), records)]
    topic = replace(sample.topic_data[0], partition_data=tuple(filled))
    entity = replace(sample, topic_data=(topic, topic))
    pausing.on_pause(None)
    written = messages.write(entity)
    pausing.on_pause(lambda: pauses.append(1))
    read = messages.parse("ProduceRequest", version, written)
    assert (read, messages.write(read), messages.write(entity)) == (entity, written, written)
    if content is not None and len(content) > 300:
        view = read.topic_data[1].partition_data[2].records
        assert isinstance(view, memoryview)
        assert view.obj is written
