"""bench.many_topics: a relay that adds topics to a broker's response for all topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bench import many_topics
from bench.client import Client, parse_response
from bench.entities import entity, request_frame
from bench.many_topics import Differs, ManyTopics
from protocol.headers import frame
from protocol.messages import write
from tests.bench.scripted_server import correlation_id, scripted_server

VERSION = 12
BROKER = {"node_id": 1, "host": "broker", "port": 9092}


def metadata(request: bytes) -> bytes:
    """A broker's response, with a topic of its own."""
    values = {"brokers": [BROKER], "topics": [{"name": "own"}]}
    return frame(correlation_id(request), b"\0", write(entity("MetadataResponse", VERSION, values)))


@pytest.fixture
def relay() -> Iterator[ManyTopics]:
    with scripted_server(metadata) as broker, ManyTopics() as relay:
        relay.upstream = broker.port
        yield relay


def topics(client: Client, names: list[str] | None = None) -> list[Any]:
    asked = None if names is None else [{"name": name} for name in names]
    request = request_frame("MetadataRequest", VERSION, {"topics": asked})
    return list(parse_response(request, client.exchange(request)).topics)


def test_all_topics_are_those_of_the_broker_and_more(relay: ManyTopics) -> None:
    with Client(relay.port) as client:
        assert [topic.name for topic in topics(client)] == ["own"]
        relay.topics = 3
        listed = topics(client)
        assert [topic.name for topic in listed] == [
            "own",
            "bench..t1",
            "bench..t2",
            "bench..last-00000000",
        ]
        assert [topic.name for topic in topics(client, ["own"])] == ["own"]
        assert topics(client) == listed


def test_responses_differ_as_is_said(relay: ManyTopics) -> None:
    relay.topics = 2
    with Client(relay.port) as client:
        before = topics(client)[-1]
        relay.differs = Differs.EPOCH
        epochs = [topics(client)[-1].partitions[0].leader_epoch for _ in range(2)]
        relay.differs = Differs.TOPIC
        names = [topics(client)[-1].name for _ in range(2)]
    assert len({before.partitions[0].leader_epoch, *epochs}) == 3
    assert len({before.name, *names}) == 3


def test_what_is_shown_is_made_before_of_what_was_listed_last(
    relay: ManyTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway that asks meanwhile gets what there was: it would not wait for the responses."""
    with Client(relay.port) as client:
        topics(client)
        made: list[list[str]] = []
        prepare = many_topics._prepare

        def meanwhile(version: int, count: int, body: bytes) -> Any:
            made.append([topic.name for topic in topics(client)])
            return prepare(version, count, body)

        monkeypatch.setattr(many_topics, "_prepare", meanwhile)
        relay.show(3)
        assert made == [["own"]]
        assert len(topics(client)) == 4
        assert len(made) == 1
