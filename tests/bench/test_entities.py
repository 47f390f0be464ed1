"""bench.entities."""

from __future__ import annotations

import pytest

from bench.entities import CLIENT_ID, entity, request_frame
from protocol.headers import read_request_header
from protocol.messages import parse


def test_structs_are_given_as_mappings() -> None:
    values = {"topics": [{"name": "a"}, {"name": "b"}], "allow_auto_topic_creation": False}
    message = entity("MetadataRequest", 12, values)
    assert [topic.name for topic in message.topics] == ["a", "b"]  # type: ignore[attr-defined]


def test_an_unknown_field_is_rejected() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        entity("MetadataRequest", 12, {"topics": [{"nonsense": 1}]})


def test_a_field_of_another_version_is_rejected() -> None:
    with pytest.raises(TypeError, match="allow_auto_topic_creation"):
        entity("MetadataRequest", 3, {"topics": [], "allow_auto_topic_creation": False})


@pytest.mark.parametrize("version", [8, 9])
def test_a_frame_has_the_header_of_its_version(version: int) -> None:
    frame = request_frame("MetadataRequest", version, {"topics": [{"name": "a"}]}, 77)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    key, found, correlation_id, client_id, at = read_request_header(frame, 4, len(frame))
    assert (key, found, correlation_id, client_id) == (3, version, 77, CLIENT_ID)
    assert parse("MetadataRequest", version, frame[at:]).topics[0].name == "a"
