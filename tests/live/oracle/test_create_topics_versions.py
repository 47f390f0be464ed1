"""CreateTopics v0 and v1, which Kafka 4 no longer serves, by frames made by hand."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from devkit.broker import KafkaCluster
from tests.live.support import clients
from tests.live.support.wire import Wire, request_frame, response_body

Names = Callable[[str], str]

CREATE_TOPICS = 19
TOPIC_ALREADY_EXISTS = 36


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


def _request(topics: list[str], validate_only: bool | None) -> bytes:
    """A CreateTopics v0 (``validate_only`` None) or v1 body: each topic has one partition and a
    config."""
    body = struct.pack(">i", len(topics))
    for topic in topics:
        body += _string(topic) + struct.pack(">ihi", 1, 1, 0)
        body += struct.pack(">i", 1) + _string("retention.ms") + _string("86400000")
    body += struct.pack(">i", 30_000)
    return body if validate_only is None else body + bytes([validate_only])


def _answer(version: int, body: bytes) -> list[tuple[str, int, str | None]]:
    """The topics of a v0 or v1 response: name, error code, message (None in v0, and for null)."""
    at = 4
    topics = []

    def text() -> str | None:
        nonlocal at
        (length,) = struct.unpack_from(">h", body, at)
        at += 2 + max(length, 0)
        return None if length < 0 else body[at - length : at].decode()

    for _ in range(*struct.unpack_from(">i", body)):
        name = text()
        assert name is not None
        (code,) = struct.unpack_from(">h", body, at)
        at += 2
        topics.append((name, code, text() if version else None))
    assert at == len(body)
    return topics


def _create(
    servers: str, version: int, topics: list[str], validate_only: bool | None
) -> list[tuple[str, int, str | None]]:
    with Wire(servers) as wire:
        wire.send(request_frame(CREATE_TOPICS, version, _request(topics, validate_only), 77))
        return _answer(version, response_body(CREATE_TOPICS, version, 77, wire.frame()))


@pytest.mark.parametrize(("version", "validate_only"), [(0, None), (1, False)])
def test_a_topic_is_made(
    colon: str, kafka: KafkaCluster, unique: Names, version: int, validate_only: bool | None
) -> None:
    topic = unique("old")
    logical, flat = f"org:apache:kafka:{topic}", f"org.apache.kafka..{topic}"
    assert _create(colon, version, [logical], validate_only) == [(logical, 0, None)]
    clients.await_stored(kafka, flat)
    (again,) = _create(colon, version, [logical], validate_only)
    assert again[:2] == (logical, TOPIC_ALREADY_EXISTS)
    if version == 0:
        assert again[2] is None
    else:
        assert again[2] == f"Topic '{logical}' already exists."


def test_validate_only_makes_nothing(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    topic = unique("checked")
    assert _create(colon, 1, [f"team-a:{topic}"], True) == [(f"team-a:{topic}", 0, None)]
    # If the topic had been created, this would fail.
    assert _create(colon, 1, [f"team-a:{topic}"], False) == [(f"team-a:{topic}", 0, None)]
    clients.await_stored(kafka, f"team-a..{topic}")


@pytest.mark.parametrize("version", [0, 1])
def test_a_missing_namespace_rejects_only_its_own_topics(
    colon: str, kafka: KafkaCluster, unique: Names, version: int
) -> None:
    made, rejected = unique("made"), unique("refused")
    topics = [f"nowhere:deep:{rejected}", f"team-a:{made}"]
    answers = _create(colon, version, topics, None if version == 0 else False)
    assert [(name, code) for name, code, _ in answers] == [
        (topics[0], clients.INVALID_TOPIC_EXCEPTION),
        (topics[1], 0),
    ]
    if version:
        assert "namespace 'nowhere' does not exist" in str(answers[0][2])
        assert answers[1][2] is None
    clients.await_stored(kafka, f"team-a..{made}")
    assert not {flat for flat in kafka.topics() if rejected in flat}
