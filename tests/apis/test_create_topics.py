"""CreateTopics: configs in the responses of v5 and later, and v0 and v1 as v2."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.table import APIS
from gateway.apis.topics.create_topics import (
    FIRST_WITH_CONFIGS,
    hide_configs,
    request_to_v2,
    response_from_v2,
)
from gateway.catalog.snapshot import Snapshot
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, has_field, make
from tests.session.allowing import Allowing

NAME = "CreateTopicsResponse"
VERSIONS = range(FIRST_WITH_CONFIGS, APIS[19].last + 1)


def access(*allowed: str, home: str = "") -> AuthorizedAccess:
    view = View(ViewSettings("test", home=home), Snapshot.of(["team-a", "team-b"]))
    return AuthorizedAccess(view, "User:alice", "10.0.0.1", Allowing(allowed))


def topic(version: int, name: str, error: int = 0) -> Any:
    cls = element_class(messages.message_class(NAME, version), "topics")
    config = make(element_class(cls, "configs"), {"name": "retention.ms", "value": "1"})
    made = {"num_partitions": 3, "replication_factor": 2, "configs": (config,)}
    return make(cls, {"name": name, "error_code": error, "topic_config_error_code": 0, **made})


def shown(version: int, of: AuthorizedAccess, *topics: Any) -> tuple[Any, ...]:
    body = messages.write(make(messages.message_class(NAME, version), {"topics": topics}))
    found: tuple[Any, ...] = messages.parse(NAME, version, hide_configs(version, body, of)).topics
    return found


def test_the_first_version_is_the_one_that_has_configs() -> None:
    having = [
        version
        for version in range(2, APIS[19].last + 1)
        if has_field(element_class(messages.message_class(NAME, version), "topics"), "configs")
    ]
    assert having == list(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_configs_that_may_not_be_described(version: int) -> None:
    alice = access("CREATE TOPIC team-a:x", "DESCRIBE TOPIC team-a:x")
    (told,) = shown(version, alice, topic(version, "team-a:x"))
    assert (told.error_code, told.topic_config_error_code) == (0, 29)
    assert (told.num_partitions, told.replication_factor, told.configs) == (-1, -1, ())


@pytest.mark.parametrize("version", VERSIONS)
def test_configs_that_may(version: int) -> None:
    made = topic(version, "x"), topic(version, "team-a:x")
    alice = access("DESCRIBE_CONFIGS TOPIC team-a:x", "DESCRIBE_CONFIGS TOPIC team-a:y")
    told = shown(version, alice, *made)
    assert told[0].topic_config_error_code == 29
    assert told[1] == made[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_names_are_the_clients(version: int) -> None:
    made = topic(version, "x")
    at_home = access("DESCRIBE_CONFIGS TOPIC team-a:x", home="team-a")
    assert shown(version, at_home, made) == (made,)
    elsewhere = access("DESCRIBE_CONFIGS TOPIC x", home="team-a")
    assert shown(version, elsewhere, made)[0].configs == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_stays_as_it_is(version: int) -> None:
    failed = topic(version, "x", error=36)
    assert shown(version, access(), failed) == (failed,)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_response_that_cannot_be_read(version: int) -> None:
    with pytest.raises(ProtocolError):
        hide_configs(version, b"\x00\x00", access())


def old_request(version: int, **values: object) -> bytes:
    cls = messages.message_class("CreateTopicsRequest", version)
    topic = element_class(cls, "topics")
    config = make(element_class(topic, "configs"), {"name": "retention.ms", "value": "1"})
    assignment = make(
        element_class(topic, "assignments"), {"partition_index": 0, "broker_ids": (1, 2)}
    )
    topics = (
        make(topic, {"name": "a:t", "num_partitions": 3, "replication_factor": 1}),
        make(
            topic,
            {
                "name": "a:u",
                "num_partitions": -1,
                "replication_factor": -1,
                "configs": (config,),
                "assignments": (assignment,),
            },
        ),
    )
    return messages.write(make(cls, {"topics": topics, **values}))


def response() -> bytes:
    cls = messages.message_class("CreateTopicsResponse", 2)
    topic = element_class(cls, "topics")
    topics = (
        make(topic, {"name": "a:t", "error_code": 36, "error_message": "there is one already"}),
        make(topic, {"name": "a:u", "error_message": None}),
    )
    return messages.write(make(cls, {"topics": topics}))


def as_v2(body: bytes) -> Any:
    return messages.parse("CreateTopicsRequest", 2, body)


@pytest.mark.parametrize("version", [0, 1])
def test_a_request_says_the_same_in_v2(version: int) -> None:
    translated = request_to_v2(version, old_request(version))
    assert translated == old_request(2)
    assert as_v2(translated).validate_only is False


def test_validate_only_is_kept() -> None:
    translated = request_to_v2(1, old_request(1, validate_only=True))
    assert as_v2(translated).validate_only is True


def test_a_v1_response_has_messages_but_no_throttle_time() -> None:
    assert response_from_v2(1, response()) == response()[4:]


def test_a_v0_response_has_no_messages() -> None:
    body = response_from_v2(0, response())
    assert body == b"\x00\x00\x00\x02\x00\x03a:t\x00\x24\x00\x03a:u\x00\x00"
    old = messages.parse("CreateTopicsResponse", 0, body)
    assert [(topic.name, int(topic.error_code)) for topic in old.topics] == [
        ("a:t", 36),
        ("a:u", 0),
    ]


@pytest.mark.parametrize("version", [0, 1])
def test_garbage_is_a_protocol_error(version: int) -> None:
    with pytest.raises(ProtocolError):
        request_to_v2(version, old_request(version)[:-1])
    with pytest.raises(ProtocolError):
        response_from_v2(version, response()[:-1])
