"""An API needs only its declaration: how the gateway handles it follows from that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.acl_model import Operation
from gateway.apis.table import APIS, PLANS
from gateway.exchanges.api import Api, declare
from gateway.rules import api_versions
from gateway.rules.declaration import Do, Needs, Topics, TopicShape
from protocol import messages
from protocol.messages import element_class, make
from tests.session.allowing import Allowing
from tests.session.pair import Pair, request_frame, response_frame

NAME = "ElectLeaders"
KEY = 43
VERSION = 2
TOPICS = ["team-a..orders", "plain"]

UNKNOWN_TOPIC_OR_PARTITION = 3
UNSUPPORTED_VERSION = 35
TOPIC_AUTHORIZATION_FAILED = 29


@pytest.fixture(autouse=True)
def undeclared() -> Iterator[None]:
    """The API is not served as its own slice has it until the test ends."""
    own = APIS.pop(KEY)
    PLANS.pop(KEY << 16 | VERSION, None)
    yield
    declare(own)


@pytest.fixture
def declared() -> Iterator[Api]:
    """The API, declared for one test."""
    api = declare(
        Api(
            NAME,
            (VERSION, VERSION),
            Do.REWRITE,
            needs=Needs(topic=int(Operation.READ)),
            topics=(
                TopicShape(
                    Topics("topic_partitions", name="topic", partitions="partitions"),
                    Topics("replica_election_results", "topic", "partition_result", "partition_id"),
                ),
            ),
        )
    )
    yield api
    del APIS[api.key]
    PLANS.pop(api.key << 16 | VERSION, None)


def request(*names: str) -> Any:
    cls = messages.message_class(f"{NAME}Request", VERSION)
    topic = element_class(cls, "topic_partitions")
    topics = tuple(make(topic, {"topic": name, "partitions": (0, 3)}) for name in names)
    return make(cls, {"topic_partitions": topics})


def response(*names: str) -> Any:
    cls = messages.message_class(f"{NAME}Response", VERSION)
    topic = element_class(cls, "replica_election_results")
    partition = element_class(topic, "partition_result")
    partitions = tuple(make(partition, {"partition_id": number}) for number in (0, 3))
    topics = tuple(make(topic, {"topic": n, "partition_result": partitions}) for n in names)
    return make(cls, {"replica_election_results": topics})


def names_of(message: Any) -> list[str]:
    return [topic.topic for topic in message.topic_partitions]


def codes_of(answer: Any) -> dict[str, list[tuple[int, int]]]:
    """The partitions of each topic, and their errors."""
    return {
        topic.topic: [(p.partition_id, int(p.error_code)) for p in topic.partition_result]
        for topic in answer.replica_election_results
    }


def advertised(ranges: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """The ranges that ApiVersions returns to a client if the broker serves ``ranges``."""
    cls = messages.message_class("ApiVersionsResponse", 4)
    entry = element_class(cls, "api_keys")
    entries = tuple(
        make(entry, {"api_key": key, "min_version": first, "max_version": last})
        for key, (first, last) in ranges.items()
    )
    body = api_versions.cut(4, messages.write(make(cls, {"api_keys": entries})), APIS)
    keys = messages.parse("ApiVersionsResponse", 4, body).api_keys
    return {e.api_key: (e.min_version, e.max_version) for e in keys if e.api_key in ranges}


def test_what_is_not_declared_is_not_served() -> None:
    assert advertised({KEY: (0, 2)}) == {}
    pair = Pair(topics=TOPICS)
    assert pair.ask(NAME, VERSION, request("team-a:orders")) is None
    assert int(pair.answer(NAME, VERSION).error_code) == UNSUPPORTED_VERSION


def test_it_has_its_key_from_its_name(declared: Api) -> None:
    assert APIS[KEY] is declared


def test_it_is_advertised(declared: Api) -> None:
    assert advertised({KEY: (0, 2)}) == {KEY: (declared.first, declared.last)}
    assert advertised({KEY: (0, 1)}) == {}, "the broker has no version of it that is decided"


@pytest.mark.usefixtures("declared")
def test_its_names_are_rewritten_and_restored() -> None:
    pair = Pair(topics=TOPICS)
    seen = pair.ask(NAME, VERSION, request("team-a:orders", "plain"))
    assert names_of(seen) == ["team-a..orders", "plain"]
    got = pair.reply(NAME, VERSION, response("team-a..orders", "plain"))
    assert got == response("team-a:orders", "plain")


@pytest.mark.usefixtures("declared")
def test_a_topic_of_no_namespace_is_rejected_and_the_others_are_served() -> None:
    pair = Pair(topics=TOPICS)
    seen = pair.ask(NAME, VERSION, request("nowhere:x", "team-a:orders"))
    assert names_of(seen) == ["team-a..orders"]
    got = pair.reply(NAME, VERSION, response("team-a..orders"))
    assert codes_of(got) == {
        "nowhere:x": [(0, UNKNOWN_TOPIC_OR_PARTITION), (3, UNKNOWN_TOPIC_OR_PARTITION)],
        "team-a:orders": [(0, 0), (3, 0)],
    }
    assert got.replica_election_results[1:] == response("team-a:orders").replica_election_results
    assert pair.ask(NAME, VERSION, request("nowhere:x")) is None
    assert list(codes_of(pair.answer(NAME, VERSION))) == ["nowhere:x"]


@pytest.mark.usefixtures("declared")
def test_what_it_needs_has_to_be_allowed() -> None:
    pair = Pair(topics=TOPICS, authorizer=Allowing(["READ TOPIC team-a:orders"]))
    seen = pair.ask(NAME, VERSION, request("plain", "team-a:orders"))
    assert names_of(seen) == ["team-a..orders"]
    got = pair.reply(NAME, VERSION, response("team-a..orders"))
    assert codes_of(got) == {
        "plain": [(0, TOPIC_AUTHORIZATION_FAILED), (3, TOPIC_AUTHORIZATION_FAILED)],
        "team-a:orders": [(0, 0), (3, 0)],
    }
    describing = Pair(topics=TOPICS, authorizer=Allowing(["DESCRIBE TOPIC plain"]))
    assert describing.ask(NAME, VERSION, request("plain")) is None, (
        "another operation is not enough"
    )
    assert set(dict(codes_of(describing.answer(NAME, VERSION))["plain"]).values()) == {
        TOPIC_AUTHORIZATION_FAILED
    }


@pytest.mark.usefixtures("declared")
def test_it_is_counted() -> None:
    pair = Pair(topics=TOPICS)
    sent = request_frame(NAME, VERSION, request("team-a:orders"))
    pair.send(sent)
    pair.to_broker()
    pair.answered(response_frame(NAME, VERSION, response("team-a..orders")))
    got = pair.to_client()
    (flow,) = (flow for flow in pair.session.take_flows() if flow.requests)
    assert (flow.api_key, flow.version, flow.requests) == (KEY, VERSION, 1)
    assert (flow.namespace, flow.logical) == ("team-a", "team-a:orders")
    assert (flow.bytes_in, flow.bytes_out) == (len(sent), len(got))
