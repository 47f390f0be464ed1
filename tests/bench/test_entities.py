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


def test_a_field_that_a_version_does_not_have_is_left_out() -> None:
    values = {"topics": [{"name": "a"}], "allow_auto_topic_creation": False}
    assert not hasattr(entity("MetadataRequest", 3, values), "allow_auto_topic_creation")


@pytest.mark.parametrize("version", [8, 9])
def test_a_frame_has_the_header_of_its_version(version: int) -> None:
    frame = request_frame("MetadataRequest", version, {"topics": [{"name": "a"}]}, 77)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    key, found, correlation_id, client_id, at = read_request_header(frame, 4, len(frame))
    assert (key, found, correlation_id, client_id) == (3, version, 77, CLIENT_ID)
    assert parse("MetadataRequest", version, frame[at:]).topics[0].name == "a"
