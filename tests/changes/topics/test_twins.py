"""A topic under two spellings in the same CreateTopics: alike, or a contradiction."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.changes.topics.create_topics import create_topics
from gateway.changes.topics.creation import are_alike, contradiction
from gateway.error_codes import INVALID_REQUEST
from protocol import messages
from protocol.messages import element_class, make
from tests.changes.fakes import FakeGateway, World, allowed
from tests.session.pair import Pair, request_frame

VERSION = 7


def request(*topics: tuple[str, int, dict[str, str]]) -> Any:
    """Topics by name, partitions and configs."""
    cls = messages.message_class("CreateTopicsRequest", VERSION)
    topic = element_class(cls, "topics")
    config = element_class(topic, "configs")
    made: tuple[Any, ...] = tuple(
        make(
            topic,
            {
                "name": name,
                "num_partitions": partitions,
                "replication_factor": 1,
                "configs": tuple(make(config, {"name": k, "value": v}) for k, v in configs.items()),
            },
        )
        for name, partitions, configs in topics
    )
    return make(cls, {"topics": made})


async def codes(gateway: FakeGateway, *topics: tuple[str, int, dict[str, str]]) -> dict[str, int]:
    body = messages.write(request(*topics))
    answered = await create_topics(gateway.context, allowed(gateway), VERSION, body)
    response = messages.parse("CreateTopicsResponse", VERSION, answered.body)
    return {topic.name: int(topic.error_code) for topic in response.topics}


async def test_twins_that_differ_are_not_created() -> None:
    gateway = World(["pol"]).gateway()
    told = await codes(gateway, ("pol:d2", 1, {}), ("pol..d2", 9, {}), ("pol:d3", 1, {}))
    assert told == {"pol:d2": INVALID_REQUEST, "pol..d2": INVALID_REQUEST, "pol:d3": 0}
    assert set(gateway.broker.topics) == {"pol..d3"}


async def test_twins_that_are_alike_are_answered_alike() -> None:
    gateway = World(["pol"]).gateway()
    assert await codes(gateway, ("pol:d2", 9, {}), ("pol..d2", 9, {})) == {
        "pol:d2": 0,
        "pol..d2": 0,
    }
    assert gateway.broker.topics["pol..d2"].partitions == 9


async def test_a_third_one_may_be_the_one_that_differs() -> None:
    gateway = World(["pol"]).gateway()
    view = gateway.view("pol", escape=True)
    body = messages.write(request(("d", 1, {}), (":pol:d", 1, {}), ("..pol..d", 2, {})))
    answered = await create_topics(gateway.context, allowed(gateway, view), VERSION, body)
    response = messages.parse("CreateTopicsResponse", VERSION, answered.body)
    assert {int(topic.error_code) for topic in response.topics} == {INVALID_REQUEST}
    assert not gateway.broker.topics


@pytest.mark.parametrize(("second", "code"), [({"retention.ms": "2"}, INVALID_REQUEST), ({}, 0)])
async def test_namespaces(second: dict[str, str], code: int) -> None:
    """Partitions have no meaning there."""
    gateway = World(["pol"]).gateway()
    view = gateway.view("pol", escape=True)
    body = messages.write(request(("sub:", 1, {}), (":pol:sub:", 2, second)))
    answered = await create_topics(gateway.context, allowed(gateway, view), VERSION, body)
    response = messages.parse("CreateTopicsResponse", VERSION, answered.body)
    assert [int(topic.error_code) for topic in response.topics] == [code, code]
    assert ("pol:sub" in gateway.catalog.snapshot.namespaces) is (code == 0)


@pytest.mark.parametrize(("partitions", "code"), [(2, INVALID_REQUEST), (1, 0)])
def test_topics_that_the_broker_creates(partitions: int, code: int) -> None:
    pair = Pair()
    twins = request(("plain", 1, {}), (":plain", partitions, {}), ("other", 1, {}))
    pair.session.client_data(request_frame("CreateTopics", VERSION, twins))
    pair.resume()
    seen = pair.to_broker()
    assert (b"plain" in seen, b"other" in seen) == (code == 0, True)
    cls = messages.message_class("CreateTopicsResponse", VERSION)
    topic = element_class(cls, "topics")
    names = ("plain", "other") if code == 0 else ("other",)
    reply = make(cls, {"topics": tuple(make(topic, {"name": name}) for name in names)})
    answer = pair.reply("CreateTopics", VERSION, reply)
    assert {each.name: int(each.error_code) for each in answer.topics} == {
        "plain": code,
        ":plain": code,
        "other": 0,
    }


def test_what_is_alike() -> None:
    one, same, other = request(("a", 1, {}), ("b", 1, {}), ("c", 1, {"x": "1"})).topics
    assert are_alike(one, same)
    assert not are_alike(one, other)
    assert "'a' and 'c'" in contradiction("a", "c").message
